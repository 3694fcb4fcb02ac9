//! What a process under load has said: what it asked for, and what was acknowledged.

use std::{collections::BTreeMap, fmt};

use travertine_runtime::Address;

/// Something asked of the engine. What brings variables brings one that is named after its number,
/// so that it can be found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// An instance of this kind is started; with this id, or none.
    Start(String, Option<String>),
    /// A job or a task is completed.
    Complete(Address),
    /// A job has failed.
    Fail(Address),
    /// A task is claimed by someone.
    Claim(Address, String),
    /// A message with this key and this id is sent.
    Publish(String, String),
    /// A signal is sent.
    Signal,
    /// A variable is set.
    Set(u64),
    /// An instance is cancelled.
    Cancel(u64),
    /// An instance is suspended.
    Suspend(u64),
    /// An instance is resumed.
    Resume(u64),
    /// Tokens of an instance are moved.
    Move(u64),
    /// Incidents of an instance are tried again.
    Retry(u64),
    /// An instance that has ended is forgotten.
    Delete(u64),
    /// Something is deployed.
    Deploy,
    /// A version is removed.
    Undeploy(u32),
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(kind, id) => write!(f, "start {kind} {}", id.as_deref().unwrap_or("-")),
            Self::Complete(at) => write!(f, "complete {at}"),
            Self::Fail(at) => write!(f, "fail {at}"),
            Self::Claim(at, who) => write!(f, "claim {at} {who}"),
            Self::Publish(key, id) => write!(f, "publish {key} {id}"),
            Self::Signal => f.write_str("signal"),
            Self::Set(it) => write!(f, "set {it}"),
            Self::Cancel(it) => write!(f, "cancel {it}"),
            Self::Suspend(it) => write!(f, "suspend {it}"),
            Self::Resume(it) => write!(f, "resume {it}"),
            Self::Move(it) => write!(f, "move {it}"),
            Self::Retry(it) => write!(f, "retry {it}"),
            Self::Delete(it) => write!(f, "delete {it}"),
            Self::Deploy => f.write_str("deploy"),
            Self::Undeploy(version) => write!(f, "undeploy {version}"),
        }
    }
}

impl Act {
    /// What these words say.
    pub fn read(words: &[&str]) -> Option<Self> {
        Some(match *words {
            ["start", kind, "-"] => Self::Start(kind.to_owned(), None),
            ["start", kind, id] => Self::Start(kind.to_owned(), Some(id.to_owned())),
            ["complete", at] => Self::Complete(at.parse().ok()?),
            ["fail", at] => Self::Fail(at.parse().ok()?),
            ["claim", at, who] => Self::Claim(at.parse().ok()?, who.to_owned()),
            ["publish", key, id] => Self::Publish(key.to_owned(), id.to_owned()),
            ["signal"] => Self::Signal,
            ["set", it] => Self::Set(it.parse().ok()?),
            ["cancel", it] => Self::Cancel(it.parse().ok()?),
            ["suspend", it] => Self::Suspend(it.parse().ok()?),
            ["resume", it] => Self::Resume(it.parse().ok()?),
            ["move", it] => Self::Move(it.parse().ok()?),
            ["retry", it] => Self::Retry(it.parse().ok()?),
            ["delete", it] => Self::Delete(it.parse().ok()?),
            ["deploy"] => Self::Deploy,
            ["undeploy", version] => Self::Undeploy(version.parse().ok()?),
            _ => return None,
        })
    }

    /// The instance that it is about, where that is known beforehand.
    pub fn instance(&self) -> Option<u64> {
        match self {
            Self::Complete(at) | Self::Fail(at) | Self::Claim(at, _) => Some(at.instance.0),
            Self::Set(it)
            | Self::Cancel(it)
            | Self::Suspend(it)
            | Self::Resume(it)
            | Self::Move(it)
            | Self::Retry(it)
            | Self::Delete(it) => Some(*it),
            Self::Start(..)
            | Self::Publish(..)
            | Self::Signal
            | Self::Deploy
            | Self::Undeploy(_) => None,
        }
    }
}

/// What became of something that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody knows: the process was killed before there was an answer.
    Open,
    /// It was acknowledged, with this answer.
    Done(String),
    /// It was refused.
    Refused,
}

/// Something that was asked, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What.
    pub act: Act,
    /// What became of it.
    pub fate: Fate,
    /// The line in which it was asked, and the one in which it was answered: what overlaps may have
    /// happened in any order.
    pub lines: (u64, u64),
}

/// Everything that was said.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// What was asked, by its number.
    pub asked: BTreeMap<u64, Asked>,
    /// How many acknowledgements there were.
    pub acknowledged: u64,
    /// Instances that were seen to have ended, and how.
    pub ended: BTreeMap<u64, String>,
    /// Until when jobs are with a worker.
    pub leases: BTreeMap<Address, i64>,
    /// The time.
    pub time: i64,
    /// What the process itself found wrong.
    pub wrong: Vec<String>,
    by_instance: BTreeMap<u64, Vec<u64>>,
    lines: u64,
}

impl Ledger {
    /// Nothing was said yet, and it is this late.
    pub fn at(time: i64) -> Self {
        Self { time, ..Self::default() }
    }

    /// Hears a line.
    pub fn hear(&mut self, line: &str) {
        self.lines += 1;
        let words: Vec<&str> = line.split(' ').collect();
        let heard = match words[..] {
            ["open"] => Some(()),
            ["ask", number, ref act @ ..] => self.ask(number, act),
            ["ok", number, ref answer @ ..] => self.done(number, Fate::Done(answer.join(" "))),
            ["no", number, ..] => self.done(number, Fate::Refused),
            ["ended", instance, how] => self.saw_end(instance, how),
            ["lease", job, until, now] => self.leased(job, until, now),
            ["time", now] => now.parse().ok().map(|now: i64| self.time = self.time.max(now)),
            _ => None,
        };
        if heard.is_none() {
            self.wrong.push(line.to_owned());
        }
    }

    fn ask(&mut self, number: &str, act: &[&str]) -> Option<()> {
        let act = Act::read(act)?;
        let number = number.parse().ok()?;
        if let Some(instance) = act.instance() {
            self.by_instance.entry(instance).or_default().push(number);
        }
        let lines = (self.lines, u64::MAX);
        self.asked.insert(number, Asked { act, fate: Fate::Open, lines });
        Some(())
    }

    fn done(&mut self, number: &str, fate: Fate) -> Option<()> {
        let asked = self.asked.get_mut(&number.parse().ok()?)?;
        if matches!(fate, Fate::Done(_)) {
            self.acknowledged += 1;
        }
        asked.fate = fate;
        asked.lines.1 = self.lines;
        Some(())
    }

    fn saw_end(&mut self, instance: &str, how: &str) -> Option<()> {
        let before = self.ended.insert(instance.parse().ok()?, how.to_owned());
        before.is_none_or(|it| it == how).then_some(())
    }

    /// A job that is with a worker is given to nobody else, unless it was given back.
    fn leased(&mut self, job: &str, until: &str, now: &str) -> Option<()> {
        let (job, until, now): (Address, i64, i64) =
            (job.parse().ok()?, until.parse().ok()?, now.parse().ok()?);
        let before = self.leases.get(&job).copied();
        self.leases.insert(job, before.map_or(until, |it| it.max(until)));
        let again = |it: &Act| matches!(it, Act::Fail(_) | Act::Retry(_));
        let given_back = self.about(job.instance.0).any(|it| again(&it.act));
        (before.is_none_or(|it| it <= now) || until <= now || given_back).then_some(())
    }

    /// What was asked of an instance, in order.
    pub fn about(&self, instance: u64) -> impl Iterator<Item = &Asked> {
        self.by_instance.get(&instance).into_iter().flatten().map(|it| &self.asked[it])
    }

    /// Whether anybody asked for an instance to be forgotten.
    pub fn may_be_gone(&self, instance: u64) -> bool {
        self.about(instance).any(|it| matches!(it.act, Act::Delete(_)))
    }
}
