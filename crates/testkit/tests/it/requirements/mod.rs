//! The lines of the requirements, each held by a test that names it.

mod common;
mod context;
mod flow;
mod multi;
mod scope;
mod token;
