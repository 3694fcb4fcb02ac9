//! A command that does a job: the job's JSON on standard input, its variables as JSON on standard output.
//!
//! Each job is a process group of its own, which ends with the command, with its time, and with whoever has the
//! job.

use std::{
    collections::BTreeSet,
    fmt,
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

use anyhow::Result;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use travertine_runtime::engine::Outcome;
use travertine_value::Value;

use crate::pairs;

/// The exit status that says: this is an error for the model to catch.
const RAISES: i32 = 100;

/// The exit status that says: it is no use to try again, someone must look at it.
const GIVES_UP: i32 = 101;

/// How much a command may print, as much as the engine takes.
const OUT_BYTES_MAX: u64 = 16 << 20;

/// How much of its complaints is kept: the end, where the reason stands.
const ERR_BYTES_MAX: usize = 4 << 10;

/// How long a command may take to end once it is asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How often to see whether they have.
const LOOK: Duration = Duration::from_millis(5);

/// The process groups that are at work.
#[derive(Default)]
pub(crate) struct Running {
    groups: Mutex<BTreeSet<i32>>,
    stopping: AtomicBool,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// A line for a shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Program {
    fn command(&self) -> Command {
        let mut command;
        match self {
            Self::Line(line) => {
                command = Command::new("sh");
                command.args(["-c", line]);
            }
            Self::Words(words) => {
                command = Command::new(words.first().map_or("", String::as_str));
                command.args(words.iter().skip(1));
            }
        }
        command
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// What every job of a worker is done with.
pub(crate) struct Settings {
    pub(crate) program: Program,
    pub(crate) timeout: Duration,
    pub(crate) backoff: Duration,
}

impl Running {
    /// Whether all are to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Asks all commands to end, and no more to begin.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.signal_all(Signal::TERM);
    }

    /// Waits until they have ended, as long as is decent, and ends the rest.
    pub(crate) fn end(&self) {
        let patience = Instant::now() + GRACE;
        while !self.groups().is_empty() && Instant::now() < patience {
            thread::sleep(LOOK);
        }
        self.signal_all(Signal::KILL);
    }

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

/// Runs the command for a job, whose key is `job` and which it reads as `input`.
pub(crate) fn run(
    settings: &Settings,
    job: &str,
    input: &Value,
    running: &Arc<Running>,
) -> Outcome {
    let failed = |message: String| Outcome::Failed { message, backoff: settings.backoff };
    match call(settings, job, input, running) {
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

fn call(
    settings: &Settings,
    job: &str,
    input: &Value,
    running: &Arc<Running>,
) -> Result<Called, String> {
    let mut command = settings.program.command();
    command.env("TRAVERTINE_JOB", job);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_group_of_its_own(&mut command);
    let mut child = running
        .spawn(&mut command)
        .map_err(|error| format!("`{}` cannot be started: {error}", settings.program))?;
    let group = group_of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = input.to_json();
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

/// What a command says became of the job; otherwise why it failed.
fn outcome(called: &Called) -> Result<Outcome, String> {
    let Called { status, out, err } = called;
    let text = str::from_utf8(out).map_err(|_| "it prints no UTF-8".to_owned());
    if status.code() == Some(RAISES)
        && let Some(error) = text.as_ref().ok().and_then(|it| raised(it))
    {
        return Ok(error);
    }
    if status.code() == Some(GIVES_UP) {
        let message = if err.is_empty() { format!("it ended with {status}") } else { err.clone() };
        return Ok(Outcome::Incident { message });
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
