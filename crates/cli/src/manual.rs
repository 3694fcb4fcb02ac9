//! `travertine completions` and `travertine man`: what the arguments say of themselves, for shells and for the
//! manual.

use std::fs;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::{
    args::{Args, Completions, Man},
    screen::Screen,
    status::Status,
};

pub(crate) fn completions(args: &Completions, out: &Screen) -> Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "travertine", &mut script);
    out.raw(String::from_utf8(script)?.trim_end());
    Ok(Status::Done)
}

pub(crate) fn man(args: &Man, out: &Screen) -> Result<Status> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut page)?;
        out.raw(String::from_utf8(page)?.trim_end());
        return Ok(Status::Done);
    };
    let at = || format!("cannot write the manual to {}", dir.display());
    fs::create_dir_all(dir).with_context(at)?;
    clap_mangen::generate_to(Args::command(), dir).with_context(at)?;
    out.line(format!(
        "the manual is in {}; man -M reads it from the directory above",
        dir.display()
    ));
    Ok(Status::Done)
}
