//! What Travertine tells programs: rows, events, reports and pictures of what was done, as documents.
//!
//! The command line prints these documents, and the server answers with them, so that both say the same by
//! construction. `docs/store.md` and `docs/cli.md` promise the names of the fields.

#![forbid(unsafe_code)]

pub mod account;
pub mod batch;
pub mod decided;
pub mod deployed;
pub mod events;
pub mod history;
pub mod journal;
pub mod json;
pub mod look;
pub mod migration;
pub mod places;
pub mod report;
pub mod rows;
pub mod run;
pub mod schedule;
pub mod shell;
pub mod stats;
pub mod text;
pub mod words;
