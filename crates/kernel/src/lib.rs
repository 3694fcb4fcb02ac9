//! The rules of execution, as one pure function.
//!
//! [`handle`] takes a plan, an instance and a command, and answers with events. An event is a fact
//! about tokens, scopes, waits and variables; applying it is the only way an instance changes. So the
//! live path and recovery run the same code, and the log of events is the whole truth.
//!
//! ```text
//! command ──> handle ──> events ──> apply ──> instance
//!                          │
//!                          └──> effects      what the runtime does once the events are stored
//! ```
//!
//! There is no clock, no randomness and no I/O here: time and results arrive in commands, requests
//! leave as effects. Start reading at `handle`, then `run`, `lifecycle`, `scope`, then whatever you
//! came for.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod about;
mod answer;
mod budget;
mod compensation;
mod conversation;
mod data;
mod effect;
mod element;
mod failure;
mod fan;
mod handle;
mod join;
mod journal;
mod leave;
mod lifecycle;
mod listener;
mod mapping;
mod migrate;
mod modify;
mod performer;
mod place;
pub mod plan;
mod repeat;
mod restriction;
mod rules;
mod run;
mod scope;
mod scribe;
mod state;
mod status;
mod table;
mod tree;
mod trigger;
mod view;
mod vocabulary;
mod why;

pub use answer::{Answer, Answers};
pub use budget::{Budgets, Over};
pub use effect::{Effect, effects, outstanding};
pub use handle::{check_variables, handle, handle_in, handle_with};
pub use journal::{Decision, Digest, Journal, JournalEntry};
pub use migrate::{
    Change, Fate, Mapping, Migration, Problem, dry_run, dry_run_with, migrate, migrate_with,
};
pub use plan::{ElementKind, FlowId, NodeId, Plan};
pub use rules::{EXTERNAL_FORM, FORM, FORM_BINDING, FORM_KEY, NoRules, Rule, Rules};
pub use run::Turn;
pub use state::{
    Cue, Each, Failing, FanOut, Identity, Instance, InstanceState, Layer, Merged, Parts, Past,
    Performer, Phase, ROOT, ROOT_LAYER, Raised, Remains, Role, Scope, ScopeKind, ScopePart, State,
    Status, Token, TokenPart, Unsound, VariableIter, Variables, Wait, Wanted, apply, check,
    check_at_rest, replay,
};
pub use status::TIMESTAMP;
pub use table::{Iter, Key, Table};
pub use travertine_value::time;
pub use tree::{Branch, address, tree};
pub use view::View;
pub use vocabulary::{
    Assignments, Backoff, Catches, Command, Consume, Delivery, Destination, Ending, Event, Failure,
    FailureKind, Gate, Incident, Job, JobOptions, LayerId, Modification, Part, Place, Post, PostId,
    Reach, Reads, Rejection, Slot, TokenId, WaitFor, WaitId, Which,
};
pub use why::{Reason, Why, why};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
