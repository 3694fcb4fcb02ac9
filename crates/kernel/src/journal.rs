//! What a function has asked for and been told.
//!
//! A function is code. Whoever runs it gives the code its journal and says what the code then decides;
//! the kernel writes that down. The same code with the same journal decides the same.

use std::sync::Arc;

use travertine_value::time::Timestamp;
use travertine_value::{Name, Value};

use crate::{
    budget::{Budgets, Over, weight_of_entry},
    run::Run,
    state::{Cue, Instance, InstanceState, Phase, ROOT_LAYER},
    vocabulary::{
        Assignments, Ending, Event, Failure, Post, Rejection, Slot, TokenId, WaitFor, WaitId,
    },
};

/// What a function has asked for and been told, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The token that stands at the function.
    pub token: TokenId,
    /// How often it has begun anew.
    pub run: u32,
    /// What has happened since. Whoever reads it may keep what it says.
    pub entries: Vec<Arc<JournalEntry>>,
    /// Whether it was told something that its code has not thought about.
    pub due: bool,
    /// Its operations, by their numbers.
    asked: Vec<Operation>,
    cancelled: bool,
    /// About how many bytes its entries have.
    bytes: usize,
}

/// An operation of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Operation {
    /// Which of the entries has asked for it.
    entry: usize,
    /// The wait for it, as long as it is open.
    wait: Option<WaitId>,
}

/// One thing that a function has asked for or been told.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalEntry {
    /// It has begun. This is always the first.
    Began {
        /// When.
        at: Timestamp,
    },
    /// Its code has asked for an operation. Operations are numbered from 0, with those recorded and
    /// sent.
    Asked {
        /// What the code calls it.
        key: Name,
        /// Of what it was asked with, where that must be the same again.
        input: Option<Digest>,
    },
    /// An operation that is done as it is asked for.
    Recorded {
        /// What the code calls it.
        key: Name,
        /// What came of it.
        value: Value,
    },
    /// Something was sent, which is done as it is asked for.
    Sent {
        /// What the code calls it.
        key: Name,
        /// Of what was sent, where that must be the same again.
        input: Option<Digest>,
    },
    /// An operation is done.
    Done {
        /// Which.
        operation: u32,
        /// When.
        at: Timestamp,
        /// What came of it.
        outcome: Result<Assignments, Failure>,
    },
    /// The code does not need an operation any more.
    Dropped {
        /// Which.
        operation: u32,
    },
    /// Someone wants it to end.
    Cancelled {
        /// When.
        at: Timestamp,
    },
    /// Someone changes what the code has in hand.
    Updated {
        /// When.
        at: Timestamp,
        /// What the code calls such changes.
        name: Name,
        /// What is given to it.
        input: Value,
        /// What its sender calls it. The same again is not told again.
        id: Option<Name>,
    },
}

/// What an operation was asked with, in eight bytes: the same again gives the same, whatever the
/// version of the program and the machine. Whoever runs the code makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl JournalEntry {
    /// Whether the code was told something, and has to think about it.
    pub fn is_told(&self) -> bool {
        match self {
            Self::Began { .. }
            | Self::Done { .. }
            | Self::Cancelled { .. }
            | Self::Updated { .. } => true,
            Self::Asked { .. }
            | Self::Recorded { .. }
            | Self::Sent { .. }
            | Self::Dropped { .. } => false,
        }
    }

    /// What the code calls the operation that this begins, where it does.
    pub fn key(&self) -> Option<&Name> {
        match self {
            Self::Asked { key, .. } | Self::Recorded { key, .. } | Self::Sent { key, .. } => {
                Some(key)
            }
            Self::Began { .. }
            | Self::Done { .. }
            | Self::Dropped { .. }
            | Self::Cancelled { .. }
            | Self::Updated { .. } => None,
        }
    }
}

impl Journal {
    /// The journal of a function that has just begun.
    pub(crate) fn new(token: TokenId, run: u32, at: Timestamp) -> Self {
        Self::of(token, run, vec![JournalEntry::Began { at }], true)
    }

    /// A journal with these entries.
    pub fn of(
        token: TokenId,
        run: u32,
        entries: Vec<impl Into<Arc<JournalEntry>>>,
        due: bool,
    ) -> Self {
        let room = Vec::with_capacity(entries.len());
        let mut journal =
            Self { token, run, entries: room, due, asked: Vec::new(), cancelled: false, bytes: 0 };
        for entry in entries {
            journal.push(entry.into());
        }
        journal.due = due;
        journal
    }

    pub(crate) fn push(&mut self, entry: Arc<JournalEntry>) {
        self.due |= entry.is_told();
        self.bytes = self.bytes.saturating_add(weight_of_entry(&entry));
        self.cancelled |= matches!(*entry, JournalEntry::Cancelled { .. });
        if entry.key().is_some() {
            self.asked.push(Operation { entry: self.entries.len(), wait: None });
        }
        self.entries.push(entry);
    }

    /// Whether what was told last is an update.
    pub(crate) fn ends_with_update(&self) -> bool {
        self.entries.last().is_some_and(|it| matches!(**it, JournalEntry::Updated { .. }))
    }

    /// What was told last was not told. The code thinks again: what there was before it may not have
    /// been thought about.
    pub(crate) fn take_back_update(&mut self) {
        assert!(self.ends_with_update(), "only the last thing that was told is taken back");
        let last = self.entries.pop();
        self.bytes -= last.map_or(0, |it| weight_of_entry(&it));
        self.due = true;
    }

    /// Whether it begins as all do.
    pub(crate) fn is_sound(&self) -> bool {
        self.entries.first().is_some_and(|it| matches!(**it, JournalEntry::Began { .. }))
    }

    /// What it has too much of, so that its code is to begin anew.
    pub fn over(&self, budgets: &Budgets) -> Option<Over> {
        if self.entries.len() > budgets.journal_entries {
            return Some(Over::JournalEntries(budgets.journal_entries));
        }
        (self.bytes > budgets.journal_bytes).then_some(Over::JournalBytes(budgets.journal_bytes))
    }

    /// Whether someone wants the function to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// How many operations its code has asked for.
    pub fn operations(&self) -> u32 {
        u32::try_from(self.asked.len()).expect("operations of a run are counted in 32 bits")
    }

    /// What the code calls an operation.
    pub fn key(&self, operation: u32) -> Option<&Name> {
        self.entries.get(self.asked.get(operation as usize)?.entry)?.key()
    }

    /// The wait for an operation, where it is open.
    pub(crate) fn wait_of(&self, operation: u32) -> Option<WaitId> {
        self.asked.get(operation as usize)?.wait
    }

    /// An operation is open from now on, or not any more.
    pub(crate) fn set_wait(&mut self, operation: u32, wait: Option<WaitId>) {
        if let Some(asked) = self.asked.get_mut(operation as usize) {
            asked.wait = wait;
        }
    }
}

impl InstanceState {
    /// Whether it is a function whose code has to think.
    pub fn is_thoughtful(&self) -> bool {
        self.journal.as_ref().is_some_and(|it| {
            it.due && self.phase == Phase::Running && !self.incidents.contains_key(&it.token)
        })
    }
}

impl InstanceState {
    /// Whether there is something to do that needs nothing from outside.
    pub fn has_work(&self) -> bool {
        self.is_unfinished() || self.is_thoughtful()
    }
}

impl Run<'_> {
    /// A token has come to the function.
    pub(crate) fn begin_function(&mut self, token: TokenId) {
        self.emit(Event::FunctionBegan { token, at: self.now });
    }

    fn note(&mut self, entry: JournalEntry) {
        self.emit(Event::Journaled { entry: Arc::new(entry) });
    }

    /// What an operation waited for has happened, or failed.
    pub(crate) fn operation_done(&mut self, operation: u32, outcome: Result<Assignments, Failure>) {
        let at = self.now;
        self.note(JournalEntry::Done { operation, at, outcome });
    }

    /// Someone wants the function to end. Its code may have something to clear up.
    pub(crate) fn cancel_function(&mut self) {
        self.note(JournalEntry::Cancelled { at: self.now });
    }

    pub(crate) fn update_function(&mut self, name: Name, input: Value, id: Option<Name>) {
        self.note(JournalEntry::Updated { at: self.now, name, input, id });
    }

    /// Its code and its journal disagree, or the code cannot be run.
    pub(crate) fn block_function(&mut self, token: TokenId, failure: Failure) {
        self.incident(token, failure, Cue::Think);
    }

    /// Writes down what the code has decided.
    pub(crate) fn decide(
        &mut self,
        token: TokenId,
        decisions: Vec<Decision>,
        answers: Assignments,
    ) {
        self.emit(Event::FunctionThought { token });
        for (id, said) in answers {
            self.emit(Event::UpdateAnswered { id, said });
        }
        for decision in decisions {
            match decision {
                Decision::Ask { key, input, on } => {
                    let slot = Slot::Operation(self.operations());
                    self.note(JournalEntry::Asked { key, input });
                    self.open(token, slot, on);
                }
                Decision::Record { key, value } => {
                    self.note(JournalEntry::Recorded { key, value });
                }
                Decision::Post { key, input, what } => {
                    self.note(JournalEntry::Sent { key, input });
                    self.post(what);
                }
                Decision::Drop { operation } => {
                    let journal = self.instance.journal.as_ref();
                    if let Some(wait) = journal.and_then(|it| it.wait_of(operation)) {
                        self.emit(Event::WaitClosed { wait });
                    }
                    self.note(JournalEntry::Dropped { operation });
                }
                Decision::Complete { variables } => {
                    self.close_waits(token);
                    self.take_results(token, variables);
                    if let Err(failure) = self.work_done(token) {
                        self.fail(token, failure, Cue::Complete);
                    }
                    return;
                }
                Decision::Fail(failure) => {
                    self.close_waits(token);
                    self.fail(token, failure, Cue::Think);
                    return;
                }
                Decision::Cancel => {
                    self.end_process(Ending::Cancelled, crate::state::State::Withdrawn);
                    return;
                }
                Decision::ContinueAs { definition: _, variables } => {
                    self.close_waits(token);
                    let layer = self.instance.token(token).layer;
                    let old: Vec<Name> =
                        self.instance.layers[&layer].variables.keys().cloned().collect();
                    for name in old {
                        if !variables.iter().any(|(it, _)| *it == name) {
                            self.set(layer, name, None);
                        }
                    }
                    for (name, value) in variables {
                        self.set(layer, name, Some(value));
                    }
                    self.begin_function(token);
                    return;
                }
            }
        }
    }

    /// At its end a function keeps what it was started with, so that whoever starts it again can be
    /// recognised. What one that has begun anew was given last is not that.
    pub(crate) fn forget_arguments(&mut self) {
        if self.instance.journal.as_ref().is_none_or(|it| it.run == 0) {
            return;
        }
        let all = self.instance.layers[&ROOT_LAYER].variables.keys();
        let arguments: Vec<Name> = all.filter(|it| &***it != "result").cloned().collect();
        for name in arguments {
            self.set(ROOT_LAYER, name, None);
        }
    }

    fn operations(&self) -> u32 {
        self.instance.journal.as_ref().map_or(0, |it| it.operations())
    }
}

/// The token of the function, where it can be told something.
pub(crate) fn function_token(instance: &Instance) -> Result<TokenId, Rejection> {
    let journal = instance.journal.as_ref().ok_or(Rejection::NotAFunction)?;
    if instance.incidents.contains_key(&journal.token) {
        return Err(Rejection::HasIncident(journal.token));
    }
    Ok(journal.token)
}

/// What the code of a function has decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Wait for something.
    Ask {
        /// What the code calls it.
        key: Name,
        /// Of what it is asked with, where that must be the same again.
        input: Option<Digest>,
        /// For what.
        on: WaitFor,
    },
    /// Keep a value.
    Record {
        /// What the code calls it.
        key: Name,
        /// The value.
        value: Value,
    },
    /// Send something, and go on.
    Post {
        /// What the code calls it.
        key: Name,
        /// Of what is sent, where that must be the same again.
        input: Option<Digest>,
        /// What is sent.
        what: Post,
    },
    /// Wait for an operation no more.
    Drop {
        /// Which.
        operation: u32,
    },
    /// It is done.
    Complete {
        /// With these variables.
        variables: Assignments,
    },
    /// It has failed.
    Fail(Failure),
    /// It ends because someone wanted it to.
    Cancel,
    /// It begins anew, with an empty journal.
    ContinueAs {
        /// What it is from now on.
        definition: Name,
        /// What it begins with.
        variables: Assignments,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{handle, plan::Plan, vocabulary::Command};

    fn tell(instance: &mut Instance, command: Command) {
        let now = Timestamp::from_millis(7);
        handle(&Plan::function("f"), instance, now, command).expect("it is asked in order");
    }

    fn decide(instance: &mut Instance, decisions: Vec<Decision>) {
        tell(instance, Command::Decide { decisions, answers: Vec::new() });
    }

    fn ask(key: &str) -> Decision {
        let on = WaitFor::Signal { name: "go".into() };
        Decision::Ask { key: key.into(), input: None, on }
    }

    #[test]
    fn an_operation_is_known_by_its_number_and_dropped_alone() {
        let mut it = Instance::default();
        tell(&mut it, Command::Start { at: Vec::new(), variables: Vec::new(), caller: None });
        let kept = Decision::Record { key: "kept".into(), value: 5.into() };
        decide(&mut it, vec![ask("a"), kept, ask("b"), ask("c"), ask("d")]);
        let key = |it: &Instance, operation| it.journal.as_ref().unwrap().key(operation).cloned();
        let keys: Vec<_> = (0..6).map(|operation| key(&it, operation)).collect();
        let known = ["a", "kept", "b", "c", "d"].map(|it| Some(Name::from(it)));
        assert_eq!(keys, [&known[..], &[None]].concat());

        let drop = |operation| Decision::Drop { operation };
        // Again, of one that never waited, and of one that never was.
        decide(&mut it, vec![drop(3), drop(0), drop(3), drop(1), drop(9)]);
        let open = |it: &Instance| -> Vec<Slot> { it.waits.values().map(|it| it.slot).collect() };
        assert_eq!(open(&it), [Slot::Operation(2), Slot::Operation(4)]);
        assert_eq!(it.parts().assemble().as_ref(), Ok(&it));

        assert!(!it.journal.as_ref().unwrap().is_cancelled());
        tell(&mut it, Command::Cancel);
        assert!(it.journal.as_ref().unwrap().is_cancelled());
        decide(&mut it, vec![drop(2), drop(4)]);
        assert_eq!(open(&it), []);
    }
}
