//! The code of functions, and what it may decide and answer.

use std::sync::Arc;

use travertine_func::{Answer, Blocked, Failure, Functions};
use travertine_kernel::{
    Assignments, Budgets, Decision, Event, FailureKind, Instance, Journal, JournalEntry, Over,
    Post, Turn, WaitFor, check_variables,
};
use travertine_value::{Limits, Map, Name, Value, typed};

use crate::trace;

use crate::RequestOutcome;

/// The code of functions.
pub(super) struct Code {
    /// The functions that this process has.
    pub(super) functions: Arc<Functions>,
    /// What code has answered to an update last.
    pub(super) answer: Option<Result<Value, (Failure, RequestOutcome)>>,
    /// How often code has thought.
    pub(super) thoughts: u64,
}

impl Code {
    pub(super) fn new(functions: Arc<Functions>) -> Self {
        Self { functions, answer: None, thoughts: 0 }
    }
}

/// The first decision in which two runs of the same code differ, without what is the customer's.
pub(super) fn not_deterministic(before: &[Decision], again: &[Decision]) -> String {
    let at = before.iter().zip(again).take_while(|(one, other)| one == other).count();
    let words = |it: &[Decision]| match it.get(at) {
        Some(decision) => format!("`{}`", trace::of_decision(decision)),
        None => "nothing more".to_owned(),
    };
    format!(
        "its code is not deterministic: it decided {}, and from its journal {}{}",
        words(before),
        words(again),
        if words(before) == words(again) { " with something else in it" } else { "" }
    )
}

/// Whether the last thing in a turn is that a function was told of an update.
pub(super) fn brings_update(turn: &Turn) -> bool {
    let is_update = |it: &JournalEntry| matches!(it, JournalEntry::Updated { .. });
    matches!(turn.events.last(), Some(Event::Journaled { entry }) if is_update(entry))
}

/// The answers to updates with an id that are not known yet. A session that is made again tells all.
pub(super) fn new_answers(state: &Instance, journal: &Journal, answers: &[Answer]) -> Assignments {
    let new = answers.iter().filter_map(|it| match &*journal.entries[it.entry] {
        JournalEntry::Updated { id: Some(id), .. } if state.answer(id).is_none() => {
            Some((Name::clone(id), said(&it.result)))
        }
        _ => None,
    });
    new.collect()
}

/// An answer as it is kept.
fn said(answer: &Result<Value, Failure>) -> Value {
    let (name, value) = match answer {
        Ok(value) => (OK, value.clone()),
        Err(failure) => (FAILURE, typed::to_value(failure).expect("a failure is plain text")),
    };
    Map::from_iter([(Name::from(name), value)]).into()
}

/// The answer that was kept.
pub(super) fn answer_of(said: &Value) -> Result<Value, Failure> {
    if let Some(value) = said.field(OK) {
        return Ok(value.clone());
    }
    let failure = said.field(FAILURE).and_then(|it| typed::from_value(it).ok());
    Err(failure
        .unwrap_or_else(|| Failure::terminal(Failure::DECODE, "what it answered is unreadable")))
}

const OK: &str = "ok";
const FAILURE: &str = "failure";

/// Whether the journal of a function has room for what its code asks for. What it has asked for it may still be
/// told, and it may always come to its end or begin anew.
pub(super) fn check_room(
    journal: &Journal,
    decisions: &[Decision],
    budgets: &Budgets,
) -> Result<(), Blocked> {
    let ends = matches!(
        decisions.last(),
        Some(
            Decision::Complete { .. }
                | Decision::ContinueAs { .. }
                | Decision::Fail(_)
                | Decision::Cancel
        )
    );
    let asks = decisions.iter().any(|it| {
        matches!(it, Decision::Ask { .. } | Decision::Record { .. } | Decision::Post { .. })
    });
    let Some(over) = journal.over(budgets).filter(|_| asks && !ends) else { return Ok(()) };
    let field =
        if let Over::JournalEntries(_) = over { "journal_entries" } else { "journal_bytes" };
    let message = format!(
        "{over}: have the code begin anew before that, by `continue_as` (continue-as-new). Code that does so at this \
         point goes on from here; so does this code when `Budgets::{field}` allows more"
    );
    Err(Blocked::of(FailureKind::Budget(Some(over)), message))
}

/// Whether what the code decided is small enough to be kept.
pub(super) fn check_sizes(decisions: &[Decision], limits: &Limits) -> Result<(), String> {
    for decision in decisions {
        let check = |key: &str, variables: &Assignments| {
            let checked = check_variables(variables, limits);
            checked.map_err(|why| format!("`{key}` brings too much: {why}"))
        };
        match decision {
            Decision::Ask { key, on, input: _ } => match on {
                WaitFor::Work(job) => {
                    if let Some(options) = &job.options {
                        let input = Value::Map(Arc::clone(&options.input));
                        check_variables(&[(Name::clone(&job.job_type), input)], limits)
                            .map_err(|why| format!("`{key}` brings too much: {why}"))?;
                    }
                }
                WaitFor::Child { variables, .. } => check(key, variables)?,
                WaitFor::Message { correlation, .. } => check(key, correlation)?,
                WaitFor::Signal { .. }
                | WaitFor::Timer { .. }
                | WaitFor::Condition
                | WaitFor::Data { .. }
                | WaitFor::Delivery(_)
                | WaitFor::Gate(_)
                | WaitFor::Choice => {}
            },
            Decision::Record { key, value } => {
                check(key, &vec![(Name::clone(key), value.clone())])?;
            }
            Decision::Post { key, what, input: _ } => match what {
                Post::Message { correlation, payload, .. } => {
                    check(key, correlation)?;
                    check(key, payload)?;
                }
                Post::Signal { payload: variables, .. }
                | Post::Escalation { variables, .. }
                | Post::Start { variables, .. } => check(key, variables)?,
            },
            Decision::Complete { variables } => check("the end", variables)?,
            Decision::ContinueAs { variables, .. } => check("the next run", variables)?,
            Decision::Drop { .. } | Decision::Fail(_) | Decision::Cancel => {}
        }
    }
    Ok(())
}
