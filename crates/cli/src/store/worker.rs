//! Workers that are commands: a job's JSON on standard input, its variables as JSON on standard output.
//!
//! Each job is a process group of its own, which ends with the command, with its time, and with the engine. The
//! engine takes a job from the board and holds it as long as this process lives; where that ends before the
//! command does, the job is offered again.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::runtime::Runtime;
use travertine_runtime::{
    Engine,
    engine::{Job, Outcome, Workers},
};
use travertine_value::{Name, Value};

use crate::{args::store as args, json, pairs};

/// The exit status that says: this is an error for the model to catch.
const RAISES: i32 = 100;

/// How much a command may print, as much as the engine takes.
const OUT_BYTES_MAX: u64 = 16 << 20;

/// How much of its complaints is kept: the end, where the reason stands.
const ERR_BYTES_MAX: usize = 4 << 10;

/// How long a command may take to end once it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How often to see whether they have.
const LOOK: Duration = Duration::from_millis(5);

/// The commands at work for an engine.
pub(crate) struct Commands {
    runtime: Runtime,
    workers: Vec<Workers>,
    running: Arc<Running>,
}

/// The process groups that are at work.
#[derive(Default)]
struct Running {
    groups: Mutex<BTreeSet<i32>>,
    stopping: AtomicBool,
}

/// What every job of a worker is done with.
struct Settings {
    command: String,
    timeout: Duration,
    backoff: Duration,
}

impl Commands {
    /// Has the jobs of these types done by their commands.
    pub(crate) fn start(engine: &Engine, args: &args::Work) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.context("workers cannot be started")?;
        let running = Arc::new(Running::default());
        let mut workers = Vec::new();
        for (job_type, command) in &args.workers {
            let settings = Arc::new(Settings {
                command: command.clone(),
                timeout: args.job_timeout,
                backoff: args.backoff,
            });
            let running = Arc::clone(&running);
            let worker = engine.worker(job_type, move |job| {
                let (settings, running) = (Arc::clone(&settings), Arc::clone(&running));
                async move {
                    let stopping = Arc::clone(&running);
                    let done = tokio::task::spawn_blocking(move || run(&settings, &job, &running));
                    let outcome = done.await;
                    if stopping.stopping.load(Ordering::SeqCst) {
                        // It was ended with the engine, which is nobody's failure. Its job is put back.
                        std::future::pending::<()>().await;
                    }
                    outcome.unwrap_or_else(|error| Outcome::Failed {
                        message: format!("the worker failed: {error}"),
                        backoff: Duration::ZERO,
                    })
                }
            });
            let _in_runtime = runtime.enter();
            workers.push(worker.at_once(args.at_once.into()).start());
        }
        Ok(Self { runtime, workers, running })
    }

    /// Ends all commands, and gives their jobs back.
    pub(crate) fn stop(self) {
        let Self { runtime, workers, running } = self;
        running.stopping.store(true, Ordering::SeqCst);
        running.signal_all(Signal::TERM);
        drop(workers);
        let patience = Instant::now() + GRACE;
        while !running.groups().is_empty() && Instant::now() < patience {
            thread::sleep(LOOK);
        }
        running.signal_all(Signal::KILL);
        runtime.shutdown_timeout(GRACE);
    }
}

impl Running {
    fn groups(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal_all(&self, signal: Signal) {
        for group in self.groups().iter() {
            send(*group, signal);
        }
    }

    /// Sends a signal to a group, where its leader is still there: its number may be another's afterwards.
    fn signal(&self, group: i32, signal: Signal) {
        if self.groups().contains(&group) {
            send(group, signal);
        }
    }

    /// Starts a command in a group of its own, unless all are to end.
    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let mut groups = self.groups();
        if self.stopping.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let child = command.spawn()?;
        groups.insert(group_of(&child));
        Ok(child)
    }

    /// Waits for a command, ends what it has left running, and forgets it.
    fn reap(&self, mut child: Child) -> io::Result<ExitStatus> {
        let group = group_of(&child);
        if let Some(pid) = Pid::from_raw(group) {
            // It is looked at only, so that its number stays its own until the group is gone.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        }
        let mut groups = self.groups();
        send(group, Signal::KILL);
        groups.remove(&group);
        child.wait()
    }
}

fn group_of(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or_default()
}

fn send(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group) {
        // A group that is gone needs none.
        let _: rustix::io::Result<()> = kill_process_group(group, signal);
    }
}

/// Runs the command for a job.
fn run(settings: &Settings, job: &Job, running: &Arc<Running>) -> Outcome {
    let failed = |message: String| Outcome::Failed { message, backoff: settings.backoff };
    match call(settings, job, running) {
        Ok(called) => outcome(&called).unwrap_or_else(failed),
        Err(error) => failed(error),
    }
}

/// What came of a command.
struct Called {
    status: ExitStatus,
    out: Vec<u8>,
    err: String,
}

fn call(settings: &Settings, job: &Job, running: &Arc<Running>) -> Result<Called, String> {
    let mut command = Command::new("sh");
    command.args(["-c", &settings.command]).env("TRAVERTINE_JOB", job.job.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_group_of_its_own(&mut command);
    let mut child = running
        .spawn(&mut command)
        .map_err(|error| format!("`{}` cannot be started: {error}", settings.command))?;
    let group = group_of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = input(job).to_json();
    let given = thread::spawn(move || {
        // A command that does not read what it is given needs none of it.
        let _: Option<io::Result<()>> = stdin.map(|mut it| it.write_all(input.as_bytes()));
    });
    let out = thread::spawn(move || stdout.map_or_else(|| Ok(Vec::new()), whole));
    let err = thread::spawn(move || stderr.map_or_else(String::new, tail));
    let (tell, told) = mpsc::channel();
    let waiting = Arc::clone(running);
    let waiter = thread::spawn(move || {
        // Whoever hears it waits for it.
        let _: Result<(), mpsc::SendError<_>> = tell.send(waiting.reap(child));
    });
    let mut late = false;
    let status = told.recv_timeout(settings.timeout).unwrap_or_else(|_| {
        late = true;
        running.signal(group, Signal::TERM);
        told.recv_timeout(GRACE).unwrap_or_else(|_| {
            running.signal(group, Signal::KILL);
            told.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })
    });
    let broken = |_| "the worker failed".to_owned();
    waiter.join().map_err(broken)?;
    given.join().map_err(broken)?;
    let out = out.join().map_err(broken)?;
    let err = err.join().map_err(broken)?;
    if late {
        let seconds = settings.timeout.as_secs_f64();
        return Err(format!("it took longer than {seconds} s and was ended{}", behind(&err)));
    }
    let status = status.map_err(|error| format!("it cannot be waited for: {error}"))?;
    Ok(Called { status, out: out?, err })
}

#[cfg(unix)]
fn in_group_of_its_own(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// All that a command prints, unless that is too much.
fn whole(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut from = from.take(OUT_BYTES_MAX + 1);
    from.read_to_end(&mut bytes).map_err(|it| format!("its output cannot be read: {it}"))?;
    if bytes.len() as u64 > OUT_BYTES_MAX {
        return Err(format!("it prints more than {} MiB", OUT_BYTES_MAX >> 20));
    }
    Ok(bytes)
}

/// The end of what a command complains of.
fn tail(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let mut some = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut some) {
        kept.extend_from_slice(&some[..count]);
        let more = kept.len().saturating_sub(ERR_BYTES_MAX);
        kept.drain(..more);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

fn behind(err: &str) -> String {
    if err.is_empty() { String::new() } else { format!(": {err}") }
}

/// What a command reads.
fn input(job: &Job) -> Value {
    json::object([
        ("job", job.job.to_string().into()),
        ("type", Name::clone(&job.job_type).into()),
        ("instance", json::key(job.job.instance.0)),
        ("business_id", job.business_id.clone().into()),
        ("definition", Name::clone(&job.definition).into()),
        ("version", job.version.into()),
        ("element", Name::clone(&job.element).into()),
        ("retries", job.retries.into()),
        ("headers", job.headers.iter().cloned().collect()),
        ("idempotency_key", job.idempotency_key.clone().into()),
        ("variables", job.variables.iter().cloned().collect()),
    ])
}

/// What a command says became of the job; otherwise why it failed.
fn outcome(called: &Called) -> Result<Outcome, String> {
    let Called { status, out, err } = called;
    let text = str::from_utf8(out).map_err(|_| "it prints no UTF-8".to_owned());
    if status.code() == Some(RAISES)
        && let Some(error) = text.as_ref().ok().and_then(|it| raised(it))
    {
        return Ok(error);
    }
    if !status.success() {
        return Err(if err.is_empty() { format!("it ended with {status}") } else { err.clone() });
    }
    let text = text?.trim();
    if text.is_empty() {
        return Ok(Outcome::Done(Vec::new()));
    }
    let variables = pairs::object(text);
    Ok(Outcome::Done(variables.map_err(|it| format!("what it prints cannot be used: {it}"))?))
}

/// The error for the model that a command tells: `{"code": …, "message": …, "variables": {…}}`.
fn raised(text: &str) -> Option<Outcome> {
    let value = Value::parse_json(text.trim()).ok()?;
    let code = value.field("code")?.as_str()?.to_owned();
    let message = value.field("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    let variables = value.field("variables").map(pairs::of_value).transpose().ok()?;
    Some(Outcome::Error { code, message, variables: variables.unwrap_or_default() })
}
