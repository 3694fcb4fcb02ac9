//! Case runner, traces, virtual clock, generators and oracle.

pub mod block;
pub mod oracle;
