//! `travertine work`: the engine in the foreground, with a line for each thing that happens.

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context as _, Result};
use travertine_kernel::{Ending, Event};
use travertine_runtime::{Engine, Seen, engine::Observer, trace};

use travertine_store::view::{Filter, JobState, Query, Row, Table};
use travertine_value::Name;

use super::{Full, Store, care, desk, grid, open, patiently, worker::Commands};
use crate::{
    args::store as args,
    control::{Control, Lookers},
    screen::Screen,
    status::Status,
    worker::command::{Program, Settings},
};

/// How often to see whether the engine still works.
const LOOK: Duration = Duration::from_millis(200);

/// How often to see whether commands still have something to do.
const BRIEFLY: Duration = Duration::from_millis(10);

/// How many jobs are looked at for one that is due.
const JOBS_MAX: u32 = 1_000;

pub(crate) fn work(args: &args::Work, out: &Screen, err: &Screen) -> Result<Status> {
    let programs =
        args.workers.iter().map(|(job_type, line)| (job_type.clone(), Program::Line(line.clone())));
    work_with(args, programs.collect(), out, err)
}

/// Does the jobs of the only type that is worked for by a program.
pub(crate) fn work_for(
    args: &args::Work,
    program: &Program,
    out: &Screen,
    err: &Screen,
) -> Result<Status> {
    let programs = args.workers.iter().map(|(job_type, _)| (job_type.clone(), program.clone()));
    work_with(args, programs.collect(), out, err)
}

fn work_with(
    args: &args::Work,
    programs: Vec<(String, Program)>,
    out: &Screen,
    err: &Screen,
) -> Result<Status> {
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Whoever hears it may be gone.
        let _: Result<(), mpsc::SendError<()>> = stop.send(());
    })
    .context("Ctrl-C cannot be heard")?;
    let screen = out.clone();
    let lookers = Lookers::default();
    if !args.quiet {
        lookers.add(Observer(Arc::new(move |seen| show(seen, &screen))));
    }
    let data = &args.place.data;
    let engine = patiently(|| open(data, Store::Known, Full::Waits, Some(lookers.observer())))?;
    // Whoever can run this may do everything with the store.
    engine.guard_batches(None);
    let control = Control::begin_told(data, &engine, &lookers, None, err);
    greet(&engine, args, err);
    let programs = programs.into_iter().map(|(job_type, program)| {
        (job_type, Settings { program, timeout: args.job_timeout, backoff: args.backoff })
    });
    let commands = Commands::start(&engine, programs, args.at_once)?;
    let done = drive(&engine, args, &stopped, out, err);
    commands.stop();
    drop(control);
    let closed = engine.clone().shutdown();
    done.and(closed).map_err(|error| desk::Told::of(&error, data, Some(&engine), false))?;
    Ok(Status::Done)
}

fn greet(engine: &Engine, args: &args::Work, err: &Screen) {
    let found = &engine.opened().shards;
    let sum =
        |count: fn(&travertine_runtime::Recovered) -> u64| found.iter().map(count).sum::<u64>();
    let (jobs, timers) = (sum(|it| it.jobs), sum(|it| it.timers));
    let end = if args.until_idle { "" } else { "; Ctrl-C ends it" };
    let data = args.place.data.display();
    let (jobs, timers) = (grid::count(jobs, "job"), grid::count(timers, "timer"));
    err.line(err.paint.dim(format!("working on {data}: {jobs}, {timers}{end}")));
    for (job_type, command) in &args.workers {
        err.line(err.paint.dim(format!("jobs of type {job_type} are done by: {command}")));
    }
    desk::note_rebuilt(engine, err);
    care::tell_damage(engine.opened(), err);
}

/// Lets the engine do its work until someone stops it, or nothing is left to do.
fn drive(
    engine: &Engine,
    args: &args::Work,
    stopped: &mpsc::Receiver<()>,
    out: &Screen,
    err: &Screen,
) -> Result<(), travertine_runtime::Error> {
    let mut stalls = 0;
    let mut told = BTreeSet::new();
    let mut told_of = BTreeSet::new();
    loop {
        // Those that only use up their turns are told of, each once.
        let restless = engine.restless(LOOK).into_iter();
        let restless: Vec<_> = restless.filter(|it| told.insert(*it)).collect();
        desk::restless(&restless, &args.place.data, err);
        let mut throttled = engine.throttled(LOOK);
        throttled.retain(|(it, _)| told_of.insert(Name::clone(it)));
        desk::throttled(&throttled, &args.place.data, err);
        if args.until_idle && engine.settle(LOOK)? && !has_jobs(engine, args)? {
            return Ok(());
        }
        let pause = if args.until_idle { BRIEFLY } else { LOOK };
        match stopped.recv_timeout(pause) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if let Some(fault) = engine.fault() {
            return Err(fault);
        }
        if out.is_closed() {
            return Ok(());
        }
        let waited = engine.metrics().stalls;
        if stalls == 0 && waited > 0 {
            err.line(err.paint.red("the store has no room left; work goes on as soon as there is"));
        }
        stalls = waited;
    }
}

/// Whether the commands have something to do now.
fn has_jobs(engine: &Engine, args: &args::Work) -> Result<bool, travertine_runtime::Error> {
    let now = engine.now();
    for (job_type, _) in &args.workers {
        let filters =
            vec![Filter::JobType(job_type.as_str().into()), Filter::JobState(JobState::Available)];
        let query =
            Query { table: Table::Jobs, filters, descending: false, after: None, limit: JOBS_MAX };
        let is_due = |it: &Row| matches!(it, Row::Job(it) if it.until.is_none_or(|it| it <= now));
        if engine.query_now(&query)?.rows.iter().any(is_due) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A line for what has happened to an instance at once.
pub(crate) fn show(seen: Seen<'_>, out: &Screen) {
    let plan = &seen.live.definition.plan;
    let mut way = Vec::new();
    let mut rest = Vec::new();
    for event in seen.events {
        match event {
            Event::TokenMoved { to, .. } => way.push(plan.node(*to).name.to_string()),
            Event::WaitOpened { token, on, .. } => {
                let at = seen.live.state.tokens.get(token).map(|it| &plan.node(it.node).name);
                let at = at.map(|it| format!("{it} ")).unwrap_or_default();
                rest.push(format!("{at}waits for {}", trace::of_wait(on)));
            }
            Event::IncidentRaised { incident, .. } => {
                rest.push(out.paint.red(format!("incident: {}", incident.failure.uncaught())));
            }
            Event::Finished { ending } => rest.push(match ending {
                Ending::Completed => out.paint.green("completed"),
                Ending::Failed(failure) => {
                    out.paint.red(format!("failed: {}", trace::of_failure(plan, failure)))
                }
                Ending::Cancelled => out.paint.red("cancelled"),
            }),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    if !way.is_empty() {
        parts.push(format!("to {}", way.join(", ")));
    }
    parts.append(&mut rest);
    if parts.is_empty() {
        parts.push(trace::of_command(plan, seen.command));
    }
    let title = out.paint.bold(format!("{} {}", seen.live.definition.id, seen.live.id));
    out.line(format!("{}  {title}  {}", out.paint.dim(seen.now), parts.join("; ")));
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Mutex, PoisonError},
    };

    use expect_test::expect;
    use travertine_kernel::WaitId;
    use travertine_runtime::{
        Address, JobFailure,
        engine::{File, ManualClock, Options},
    };

    use super::*;
    use crate::{clock, paint::Paint};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_thing_that_happens_has_a_line() {
        let paper = Paper::default();
        let screen = Screen::new(Box::new(paper.clone()), Paint::plain());
        let now = clock::date("2026-01-05T09:00:00Z").unwrap();
        let options = Options {
            shards: 1,
            clock: Arc::new(ManualClock::new(now)),
            observer: Some(Observer(Arc::new(move |seen| show(seen, &screen)))),
            ..Options::default()
        };
        let engine = Engine::in_memory(options).unwrap();
        let body = include_str!("../../../../examples/order.bpmn").as_bytes().to_vec();
        engine.deploy(&[File { name: "order.bpmn".to_owned(), body }]).unwrap();
        let instance = engine.start("order").at("pack").wait().unwrap();
        engine.set_variables(instance, None, vec![("a".into(), 1.into())]).wait().unwrap();
        engine.complete(Address { instance, wait: WaitId(3) }, Vec::new()).wait().unwrap();
        let other = engine.start("order").wait().unwrap();
        let job = Address { instance: other, wait: WaitId(3) };
        engine
            .fail(job, JobFailure { retries: Some(0), ..JobFailure::new("no net") })
            .wait()
            .unwrap();
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        expect![[r"
            2026-01-05T09:00:00Z  order 1  pack waits for work userTask
            2026-01-05T09:00:00Z  order 1  set a=1
            2026-01-05T09:00:00Z  order 1  to shipped; completed
            2026-01-05T09:00:00Z  order 2  to reserve; reserve waits for work reserve
            2026-01-05T09:00:00Z  order 2  incident: no net
        "]]
        .assert_eq(&text);
    }
}
