//! Reads whole models.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and say why")]

mod analysis;
mod dialects;
mod documentation;
mod fleans;
mod kinds;
mod language;
mod loops;
mod model;
mod native;
mod report;
mod rules;
mod scopes;
mod shapes;
mod suites;
mod support;
