//! Calls over real connections.

mod calls;
mod generated;
