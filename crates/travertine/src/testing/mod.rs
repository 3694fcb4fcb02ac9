//! Tests of durable functions: an engine in memory with a clock that skips, stand-ins for activities,
//! journals to look at, and crashes at every step.
//!
//! ```
//! use std::time::Duration;
//! use travertine::{Context, Failure, Flow, activity, testing::{Setup, TestEngine}, workflow};
//! # extern crate travertine;
//!
//! #[activity(retry = exponential("1m", 2.0, max = 5))]
//! async fn charge(cents: u64) -> Result<String, Failure> {
//!     Err(Failure::terminal("offline", format!("nobody charges {cents} in tests")))
//! }
//!
//! #[workflow]
//! async fn order(cx: Context, cents: u64) -> Flow<String> {
//!     let receipt = cx.call(charge(cents)).await?;
//!     cx.sleep(Duration::from_hours(48)).await?;
//!     Ok(format!("shipped for {receipt}"))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let env = Setup::new()
//!     .activity("charge", |cents: u64| async move { Ok(format!("receipt-{cents}")) })
//!     .open();
//! let run = env.start("order-1", order(7)).await?;
//! // Two days pass in no time.
//! assert_eq!(run.result().await?, "shipped for receipt-7");
//! assert_eq!(env.calls("charge").len(), 1);
//! assert_eq!(env.journal("order-1"), [
//!     "began",
//!     "asks for activity charge",
//!     r#"activity charge done result="receipt-7""#,
//!     "asks for sleep",
//!     "sleep done",
//!     r#"completed result="shipped for receipt-7""#,
//! ]);
//! env.check_replay("order-1")?;
//!
//! // The same through a crash before and after everything that is written.
//! let report = TestEngine::crash_everywhere(async |setup: Setup| {
//!     let env = setup
//!         .activity("charge", |cents: u64| async move { Ok(format!("receipt-{cents}")) })
//!         .open();
//!     env.start("order-1", order(7)).await?.result().await
//! })
//! .await;
//! assert_eq!(report.assert_same()?, "shipped for receipt-7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Time stands still unless a test waits for the end of a run or advances it, and it never passes
//! while an activity is at work. An activity that takes its time does so with [`sleep`], and one that
//! never answers with [`hang`].

mod calls;
mod crash;
mod engine;
mod log;
mod mortal;
mod replay;
mod setup;
mod stand_in;

pub use calls::{Call, context, hang, sleep};
pub use crash::{CrashReport, Repeated};
pub use engine::{TestEngine, TestRun, TestSending};
pub use setup::Setup;
pub use stand_in::StandIn;
