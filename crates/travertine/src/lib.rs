//! A durable workflow engine, embedded in your program.
//!
//! ```
//! use travertine::{Engine, File, vars};
//!
//! # let dir = tempfile::tempdir()?;
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let engine = Engine::open(dir.path())?;
//! engine.deploy(&[File {
//!     name: "greet.bpmn".into(),
//!     body: br#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
//!           xmlns:tv="urn:travertine:bpmn:1" targetNamespace="urn:example">
//!         <process id="greet" isExecutable="true">
//!           <startEvent id="start"/>
//!           <sequenceFlow id="a" sourceRef="start" targetRef="say"/>
//!           <serviceTask id="say" tv:jobType="say"/>
//!           <sequenceFlow id="b" sourceRef="say" targetRef="end"/>
//!           <endEvent id="end"/>
//!         </process></definitions>"#.to_vec(),
//! }])?;
//!
//! // Work is done by async functions of this process …
//! let worker = engine.worker("say", |job| async move {
//!     let name = job.variables.iter().find(|(name, _)| &**name == "name");
//!     let name = name.and_then(|(_, value)| value.as_str().map(str::to_owned)).unwrap_or_default();
//!     vars([("greeting", format!("Hello {name}").into())])
//! });
//! let worker = worker.start();
//!
//! // … and an instance that was started is there, whatever happens to the process.
//! let id = engine.start("greet").id("greeting-1").variable("name", "Ann").await?;
//! let ended = engine.result(id).await?;
//! assert_eq!(ended.variables.last().map(|(_, it)| it.to_json()), Some("\"Ann\"".into()));
//! assert_eq!(ended.variables[0].1.to_json(), "\"Hello Ann\"");
//! worker.stop().await;
//! engine.shutdown()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod testing;

pub use travertine_expr::{Map, Name, Number, Value};
#[doc(hidden)]
pub use travertine_func::__macros;
pub use travertine_func::{
    Activity, ActivityContext, ActivityOptions, Consume, Context, Delivery, Dependencies, Event,
    EventConfig, Failure, Flow, Functions, Operation, Random, Retry, Saga, Stop, Workflow, merge,
    select,
};
pub use travertine_kernel::{
    Assignments, Destination, Ending, Mapping, Migration, Modification, Reason, TokenId, WaitId,
    Which,
};
pub use travertine_macros::{Event, activity, workflow};
pub use travertine_runtime::{
    Activated, Address, DeadLetter, Definition, Edit, Ended, Engine, Error, InstanceId, Limit,
    Message, Overlap, Receipt, RunStatus, Schedule, Settings, TaskChange, Timestamp, When,
    engine::{
        Clock, Deployment, File, History, Job, Look, ManualClock, Metrics, Options, Outcome, Pace,
        Pending, Preflight, Progress, Retention, Run, RunError, Scheduled, Scheduling, Sending,
        Startable, Starting, StartingFunction, Swept, SystemClock, Target, Updating, Worker,
        Workers,
    },
};
pub use travertine_store::view;

/// Names and values.
///
/// ```
/// # use travertine::vars;
/// let variables = vars([("name", "Ann".into()), ("cents", 1_200.into())]);
/// assert_eq!(variables[1].1.to_json(), "1200");
/// ```
pub fn vars<const N: usize>(all: [(&str, Value); N]) -> Assignments {
    all.into_iter().map(|(name, value)| (Name::from(name), value)).collect()
}

/// The programs of the tutorial are run with the tests.
#[cfg(doctest)]
mod tutorial {
    #[doc = include_str!("../../../docs/functions/1-order.md")]
    mod order {}
    #[doc = include_str!("../../../docs/functions/2-waiting.md")]
    mod waiting {}
    #[doc = include_str!("../../../docs/functions/3-living.md")]
    mod living {}
}
