//! Case runner, traces, virtual clock, generators, oracle, store suite and simulation.

pub mod block;
pub mod cases;
pub mod clock;
pub mod crash;
pub mod faulty;
pub mod hostile;
pub mod oracle;
pub mod page;
pub mod postgres;
pub mod races;
pub mod random;
pub mod simulation;
pub mod store_suite;
pub mod tck;

mod scenario;

pub use scenario::{Scenario, assignments, document};
pub use travertine_runtime::trace;
