//! Reads whole models.

mod language;
mod suites;
