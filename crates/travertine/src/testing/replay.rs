//! Code against the journals that it has left.

use std::sync::Arc;

use travertine_func::{Arguments, Functions, Identity, Session, SessionSettings};
use travertine_kernel::{Decision, Journal, JournalEntry, TokenId};
use travertine_runtime::{Definitions, trace};

use super::log::{Story, Told, with};
use crate::{Ending, Name, Value};

/// The code of this program, and what it is called by.
pub(super) struct Code<'a> {
    pub(super) functions: &'a Functions,
    pub(super) definitions: &'a Definitions,
    pub(super) settings: SessionSettings,
}

impl Code<'_> {
    /// Whether the code decides again what it has decided, at each thing that it was told: it gets the
    /// journal as it was then, and nothing else.
    pub(super) fn check(&self, id: u64, story: &Story) -> Result<(), String> {
        let last = story.runs.len().saturating_sub(1);
        for (run, told) in story.runs.iter().enumerate() {
            let end = if run < last { End::Anew } else { End::of(story) };
            let number = u32::try_from(run).map_err(|_| "it has begun anew too often")?;
            let identity = Identity { id: Name::clone(&story.name), seed: id, run: number };
            self.check_run(&identity, told, &end).map_err(|it| format!("{}: {it}", story.name))?;
        }
        Ok(())
    }

    fn check_run(&self, identity: &Identity, told: &Told, end: &End) -> Result<(), String> {
        let entries = &told.journal;
        let lines = trace::of_journal(entries);
        for (at, _) in entries.iter().enumerate().filter(|(_, it)| it.is_told()) {
            let said_from = at + entries[at..].iter().take_while(|it| it.is_told()).count();
            let count = entries[said_from..].iter().take_while(|it| !it.is_told()).count();
            let said = said_from..said_from + count;
            let thought_here = said_from == at + 1;
            let is_last = said.end == entries.len();
            if is_last && *end == End::Blocked {
                continue;
            }
            let place = format!("after `{}`", lines[at]);
            let mut decisions = self
                .decide(identity, told, &entries[..=at])
                .map_err(|it| format!("{place} the code is at odds with its journal: {it}"))?;
            let ends = decisions.pop_if(|it| End::decided(it).is_some());
            // What the code is told before it has thought may be thought about together.
            let is_whole = thought_here || ends.is_some();
            for (index, decision) in decisions.iter().enumerate() {
                let expected = said.clone().nth(index);
                if !expected.is_some_and(|it| agrees(decision, it, told)) {
                    let expected =
                        expected.map_or_else(|| "nothing more".to_owned(), |it| lines[it].clone());
                    let found = in_words(decision);
                    return Err(format!(
                        "{place} the journal has `{expected}` where the code decides `{found}` when it \
                         is run again"
                    ));
                }
            }
            if is_whole && decisions.len() < said.len() {
                let missing = &lines[said.start + decisions.len()];
                return Err(format!(
                    "{place} the journal has `{missing}` where the code decides nothing more when it is \
                     run again"
                ));
            }
            let ended = ends.as_ref().and_then(End::decided);
            let expected = (is_last && *end != End::Open).then_some(end);
            if is_whole && ended.as_ref() != expected {
                let words = |it: Option<&End>| it.map_or_else(|| "waits".to_owned(), End::words);
                return Err(format!(
                    "{place} it {} before, and {} when it is run again",
                    words(expected),
                    words(ended.as_ref())
                ));
            }
        }
        Ok(())
    }

    fn decide(
        &self,
        identity: &Identity,
        told: &Told,
        entries: &[Arc<JournalEntry>],
    ) -> Result<Vec<Decision>, String> {
        let definition = self.definitions.get(told.definition).ok_or("its definition is gone")?;
        let (name, version) = (&definition.id, definition.version);
        let function = self.functions.find_workflow(name, Some(version));
        let function =
            function.ok_or_else(|| format!("this program has no {name} version {version}"))?;
        let journal = Journal::of(TokenId(0), identity.run, entries.to_vec(), true);
        let arguments = Arguments::new(Name::clone(name), told.arguments.clone());
        let mut session = Session::new(function, identity.clone(), arguments, self.settings);
        Ok(session.advance(&journal).map_err(|it| it.message)?.decisions)
    }
}

/// How a function came to the end of a journal.
#[derive(Clone, Debug, PartialEq)]
enum End {
    /// It waits.
    Open,
    /// It has not thought about what it was told last.
    Blocked,
    Completed(crate::Assignments),
    Failed(String),
    Cancelled,
    Anew,
}

impl End {
    fn of(story: &Story) -> Self {
        match story.ending() {
            Some(Ending::Completed) => Self::Completed(story.result()),
            Some(Ending::Failed(failure)) => Self::Failed(failure.to_string()),
            Some(Ending::Cancelled) => Self::Cancelled,
            None if story.state.journal.as_ref().is_some_and(|it| it.due) => Self::Blocked,
            None => Self::Open,
        }
    }

    fn decided(decision: &Decision) -> Option<Self> {
        match decision {
            Decision::Complete { variables } => Some(Self::Completed(variables.clone())),
            Decision::Fail(failure) => Some(Self::Failed(failure.to_string())),
            Decision::Cancel => Some(Self::Cancelled),
            Decision::ContinueAs { .. } => Some(Self::Anew),
            Decision::Ask { .. }
            | Decision::Record { .. }
            | Decision::Post { .. }
            | Decision::Drop { .. } => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Open => "waits".to_owned(),
            Self::Blocked => "stands still".to_owned(),
            Self::Completed(result) => format!("completes{}", with(result)),
            Self::Failed(failure) => format!("fails: {failure}"),
            Self::Cancelled => "is cancelled".to_owned(),
            Self::Anew => "begins anew".to_owned(),
        }
    }
}

/// Whether a decision is what stands at that place of the journal.
fn agrees(decision: &Decision, at: usize, told: &Told) -> bool {
    match (decision, &*told.journal[at]) {
        (Decision::Ask { key, on, .. }, JournalEntry::Asked { key: asked, .. }) => {
            let operation = told.journal[..at].iter().filter_map(|it| it.key()).count();
            let waited = u32::try_from(operation).ok().and_then(|it| told.waits.get(&it));
            key == asked && waited.is_none_or(|it| **it == *on)
        }
        (Decision::Record { key, value }, JournalEntry::Recorded { key: kept, value: it }) => {
            key == kept && value == it
        }
        (Decision::Post { key, input, .. }, JournalEntry::Sent { key: sent, input: was }) => {
            key == sent && input == was
        }
        (Decision::Drop { operation }, JournalEntry::Dropped { operation: it }) => operation == it,
        _ => false,
    }
}

fn in_words(decision: &Decision) -> String {
    match decision {
        Decision::Ask { key, on, .. } => format!("asks for {key}, {}", ask_in_words(on)),
        Decision::Record { key, value } => format!("{key} = {value}"),
        Decision::Post { key, .. } => key.to_string(),
        Decision::Drop { operation } => format!("operation {operation} called off"),
        Decision::Complete { .. }
        | Decision::Fail(_)
        | Decision::Cancel
        | Decision::ContinueAs { .. } => {
            End::decided(decision).as_ref().map_or_else(String::new, End::words)
        }
    }
}

/// What is asked for, with what makes two questions of one name differ.
fn ask_in_words(on: &travertine_kernel::WaitFor) -> String {
    match on {
        travertine_kernel::WaitFor::Work(job) => {
            let input = job.options.as_ref().map(|it| Value::Map(Arc::clone(&it.input)));
            let input = input.map_or_else(String::new, |input| format!(" with {input}"));
            format!("{}{input}", trace::of_wait(on))
        }
        other => trace::of_wait(other),
    }
}
