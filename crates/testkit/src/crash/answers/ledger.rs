//! What a process has said: what it asked for, and what it was answered.

use std::collections::{BTreeMap, BTreeSet};

use travertine_runtime::request::Kind;

/// What is known of something that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// There was no answer, or one that says that nobody knows.
    Unknown,
    /// It was done.
    Done,
    /// It was not done.
    NotDone,
}

/// What is to be found where something was done.
pub(super) type Trace = (Kind, u64, u64);

/// Something that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What.
    pub kind: Kind,
    /// Of which instance, where that is known; otherwise 0.
    pub instance: u64,
    /// What it is told by; 0 where the instance is enough.
    pub mark: u64,
    /// What is known of it.
    pub fate: Fate,
    /// The instance that the answer names.
    pub answer: Option<u64>,
}

impl Asked {
    pub(super) fn trace(&self) -> Trace {
        (self.kind, self.instance, self.mark)
    }
}

/// Everything that was said.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// What was asked, by its number.
    pub asked: BTreeMap<u64, Asked>,
    /// The kinds of requests that an engine has accepted.
    pub accepted: BTreeSet<Kind>,
    /// What is wrong with what was said.
    pub wrong: Vec<String>,
}

impl Ledger {
    /// Takes note of a line.
    pub fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let heard = match words[..] {
            ["ask", number, kind, instance, mark] => self.ask(number, kind, instance, mark),
            ["done", number] => self.answer(number, Fate::Done, None),
            ["done", number, instance] => self.answer(number, Fate::Done, Some(instance)),
            ["not", number, ..] => self.answer(number, Fate::NotDone, None),
            ["unknown", number, ..] => self.answer(number, Fate::Unknown, None),
            ["accepted", kind] => self.accept(kind),
            _ => None,
        };
        if heard.is_none() {
            self.wrong.push(line.to_owned());
        }
    }

    fn accept(&mut self, kind: &str) -> Option<()> {
        self.accepted.insert(named(kind)?);
        Some(())
    }

    fn ask(&mut self, number: &str, kind: &str, instance: &str, mark: &str) -> Option<()> {
        let asked = Asked {
            kind: named(kind)?,
            instance: instance.parse().ok()?,
            mark: mark.parse().ok()?,
            fate: Fate::Unknown,
            answer: None,
        };
        self.asked.insert(number.parse().ok()?, asked);
        Some(())
    }

    fn answer(&mut self, number: &str, fate: Fate, instance: Option<&str>) -> Option<()> {
        let asked = self.asked.get_mut(&number.parse().ok()?)?;
        asked.fate = fate;
        asked.answer = instance.map(str::parse).transpose().ok()?;
        Some(())
    }

    /// How often something of a kind was asked for, and that became of it.
    pub fn count(&self, kind: Kind, fate: Fate) -> usize {
        self.asked.values().filter(|it| it.kind == kind && it.fate == fate).count()
    }
}

fn named(kind: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|it| it.name() == kind)
}
