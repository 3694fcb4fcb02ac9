//! Runs models made for BPMNOS: a simulation in which tokens carry attributes, activities have
//! restrictions, and somebody decides when to enter, to leave, what to choose and who gets a message.
//!
//! [`read`] makes a [`Model`] of a file, [`Scenario::read`] says which instances there are, and a
//! [`Simulation`] runs them on a clock of its own. It is another machine than the kernel, because it is
//! another kind of run: every state of every token is told, all instances are in memory and share a
//! clock, and what would happen can be tried without it happening.

#![forbid(unsafe_code)]

mod model;
mod random;
mod read;
mod run;
mod scenario;
mod tables;

pub use model::Model;
pub use read::{Element, Fate, Owner, Report, WORDS, Word, is_meant, read};
pub use run::{
    Answer, Decision, DecisionKind, Effect, Entry, Failed, Instance, Mode, Outcome, Settings,
    Simulation, State, Waiting,
};
pub use scenario::{Scenario, ScenarioError};
pub use tables::{Tables, TablesError};
