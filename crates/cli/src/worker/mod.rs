//! `travertine worker`: jobs of a server, or of a store, done by a command.

pub(crate) mod command;
mod remote;

use anyhow::Result;

use crate::{
    args::{self, worker::Worker},
    control,
    screen::Screen,
    status::Status,
    store,
};

pub(crate) fn worker(args: &Worker, out: &Screen, err: &Screen) -> Result<Status> {
    let served = || control::address(&args.place.data);
    match args.server.clone().map_or_else(served, |it| Ok(Some(it)))? {
        Some(server) => remote::work(args, &server, out, err),
        None => store::work_for(&as_work(args), &args.program(), out, err),
    }
}

/// What `travertine work` is asked for who does the jobs of a store that nobody has open.
fn as_work(args: &Worker) -> args::store::Work {
    args::store::Work {
        workers: vec![(args.job_type.clone(), args.command.join(" "))],
        at_once: args.at_once,
        job_timeout: args.job_timeout,
        backoff: args.backoff,
        until_idle: args.until_idle,
        quiet: args.quiet,
        place: args::store::Place { data: args.place.data.clone() },
    }
}

impl Worker {
    fn program(&self) -> command::Program {
        command::Program::Words(self.command.clone())
    }
}
