//! Case runner, traces, virtual clock, generators and oracle.

pub mod block;
pub mod cases;
pub mod clock;
pub mod oracle;

pub use travertine_runtime::trace;
