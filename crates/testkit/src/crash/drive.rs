//! Kills a process under load, again and again.

use std::{
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use super::{Act, Fate, Ledger, Random, check, settle};

/// When the process is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kill {
    /// After so many lines from it.
    After(u64),
    /// By itself, the nth time that it comes to this point; after so many lines, if it never does.
    At(&'static str, u64, u64),
}

/// A store, and the processes that worked on it.
#[derive(Debug)]
pub struct Drive {
    process: PathBuf,
    dir: PathBuf,
    seed: u64,
    /// How many bytes each instance carries.
    pub body: usize,
    /// What the processes have said.
    pub ledger: Ledger,
    /// How many were killed.
    pub kills: u64,
    rounds: u64,
}

impl Drive {
    /// With this program as the process under load, on a store in this directory.
    pub fn new(process: &Path, dir: &Path, seed: u64) -> Self {
        Self {
            process: process.to_owned(),
            dir: dir.to_owned(),
            seed,
            body: 10,
            ledger: Ledger::at(1_000_000),
            kills: 0,
            rounds: 0,
        }
    }

    /// Starts a process and kills it. Says whether it came to the point at which it should die.
    pub fn kill(&mut self, kill: &Kill) -> io::Result<bool> {
        self.rounds += 1;
        let mut command = Command::new(&self.process);
        command.arg("load").arg(&self.dir);
        let numbers = [self.seed, self.rounds * 1_000_000];
        command.args(numbers.map(|it| it.to_string()));
        command.args([self.ledger.time.to_string(), self.body.to_string()]);
        command.args(self.known().iter().map(ToString::to_string));
        let lines_max = match kill {
            Kill::After(lines) => *lines,
            Kill::At(point, nth, lines) => {
                command.env("TRAVERTINE_CRASH", format!("{point}:{nth}"));
                *lines
            }
        };
        let ledger = &mut self.ledger;
        let heard = listen(&mut command, lines_max, |line| ledger.hear(line))?;
        self.kills += 1;
        if !heard.by_signal() {
            let status = heard.status;
            self.ledger.wrong.push(format!("the process has ended by itself: {status}"));
        }
        Ok(!heard.was_killed)
    }

    /// Some of what was acknowledged and is recognised when it is asked for again.
    fn known(&self) -> Vec<Act> {
        let mut random = Random(self.seed ^ self.rounds);
        let mut acts = Vec::new();
        for asked in self.ledger.asked.values() {
            let Fate::Done(answer) = &asked.fate else { continue };
            let instance = answer.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
            let again = match &asked.act {
                Act::Start(_, id) => id.is_some() && !self.ledger.may_be_gone(instance),
                Act::Publish(..) => true,
                _ => false,
            };
            if again {
                acts.push(&asked.act);
            }
        }
        // The latest are those of which only the log can know.
        let latest = acts.iter().rev().take(6).copied();
        let others = (0..4).filter_map(|_| random.of(&acts).copied());
        latest.chain(others).cloned().collect()
    }

    /// A moment to kill at, by chance.
    pub fn any(random: &mut Random) -> Kill {
        // Many die young: while the store is opened, or at the first requests.
        let most = if random.below(4) == 0 { 12 } else { 500 };
        Kill::After(1 + random.below(most))
    }

    /// Opens the store and says what is wrong with it.
    pub fn check(&self) -> Vec<String> {
        check(&self.dir, &self.ledger).unwrap_or_else(|error| vec![error.to_string()])
    }

    /// Opens the store, sees to everything that waits, and says what is wrong with it.
    pub fn settle(&mut self) -> Vec<String> {
        settle(&self.dir, &mut self.ledger).unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// What came of a process.
pub(super) struct Heard {
    /// Whether it was killed because it had said enough.
    pub(super) was_killed: bool,
    pub(super) status: ExitStatus,
}

impl Heard {
    /// Whether it was killed, by itself or by others.
    pub(super) fn by_signal(&self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        self.status.signal() == Some(9)
    }
}

/// Starts a process, hears its lines, and kills it after so many.
pub(super) fn listen(
    command: &mut Command,
    lines_max: u64,
    mut hear: impl FnMut(&str),
) -> io::Result<Heard> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut out = BufReader::new(child.stdout.take().expect("it was asked for"));
    let mut heard = 0;
    let mut was_killed = false;
    let mut line = String::new();
    loop {
        line.clear();
        // What is not a whole line was cut off.
        if out.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            break;
        }
        hear(line.trim_end_matches('\n'));
        heard += 1;
        if heard >= lines_max && !was_killed {
            was_killed = true;
            child.kill()?;
        }
    }
    Ok(Heard { was_killed, status: child.wait()? })
}
