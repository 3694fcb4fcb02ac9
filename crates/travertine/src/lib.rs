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

#[doc(hidden)]
pub use travertine_func::__macros;
pub use travertine_func::{
    Activity, ActivityContext, ActivityDefinition, ActivityOptions, Arguments, Arms, BoxFuture,
    Call, Child, Consume, Context, Continuation, Delivery, Dependencies, DuplicateFunction, Event,
    EventConfig, EventWait, Failure, Flow, Functions, JobCall, LocalBoxFuture, Operation, Posted,
    ProcessCall, Random, Retry, RunnableActivity, Saga, SendEvent, SessionSettings, Sleep, Spawned,
    Start, Stop, Workflow, WorkflowDefinition, merge, select,
};
pub use travertine_kernel::{
    Assignments, Destination, Ending, FlowId, Mapping, Migration, Modification, NodeId, Reach,
    Reason, TokenId, WaitId, Which,
};
pub use travertine_macros::{Event, activity, workflow};
pub use travertine_runtime::{
    Activated, Address, BadId, Batch, BatchCause, BatchItem, BatchOutcome, BatchPage, BatchStep,
    BatchWork, Correlated, DeadLetter, DecisionDefinition, Definition, DefinitionKey, Definitions,
    Deployed, DeployedKind, Edit, Ended, Engine, Error, FunctionSettings, InstanceId, JobChange,
    JobFailure, Kept, KeptHistory, Key, Limit, Message, Named, Overlap, Published, Receipt,
    Recovered, RequestOutcome, RunStatus, Schedule, Settings, SignalReceipt, TaskChange, Timestamp,
    When,
    engine::{
        Asker, BadPositions, BatchGuard, Clock, Decided, DecisionOf, Deployment, Difference,
        Evaluated, EvaluatedRule, EvaluatedValue, FailedDecision, Feed, File, Gap, History, Job,
        JobAsk, JobStream, Look, MadeBy, Making, ManualClock, MessageRequest, Metrics, News,
        Opened, Options, Outcome, Pace, Pending, Positions, Preflight, Progress, PublishOptions,
        RecoveryReport, Retention, Retired, Run, RunError, Scheduled, Scheduling, Sending,
        Startable, Starting, StartingFunction, Step, Swept, SystemClock, Target, Updating,
        Verified, Worker, Workers,
    },
};
pub use travertine_value::{Excess, JsonError, Map, Name, Number, NumberError, Rounding, Value};

/// What the engine says of the inside of an instance: where its tokens are and why they rest, how it has
/// failed, what it refuses, how much it may have, and what would become of it in another version.
///
/// ```no_run
/// # use travertine::{Engine, Error, InstanceId};
/// use travertine::instance::Why;
///
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for reason in engine.look(InstanceId(12)).await?.reasons {
///     if let Why::Incident { failure, .. } = reason.why {
///         println!("{} needs an operator: {failure}", reason.element);
///     }
/// }
/// # Ok(()) }
/// ```
pub mod instance {
    pub use travertine_kernel::{
        Branch, Budgets, Change, ElementKind, Failure, FailureKind, Fate, Gate, Over, Part, Place,
        PostId, Problem, Rejection, Role, State, Why, plan::WorkKind,
    };
}

/// What goes wrong with the place where an engine keeps things, and where.
///
/// ```
/// use travertine::{Engine, Error, store};
///
/// # let dir = tempfile::tempdir()?;
/// let first = Engine::open(dir.path())?;
/// let second = Engine::open(dir.path());
/// assert!(matches!(second, Err(Error::Store(store::Error::InUse { .. }))));
/// # first.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod store {
    pub use travertine_store::{Error, Seq, ShardId};
}

/// The rows that [`Engine::query`] finds, and the questions that it is asked.
///
/// ```
/// use travertine::view::{Filter, InstanceState, Query, Row, Table};
/// use travertine::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let filters = vec![Filter::State(vec![InstanceState::Running])];
/// let mut query =
///     Query { table: Table::Instances, filters, descending: false, after: None, limit: 100 };
/// loop {
///     let page = engine.query_now(&query)?;
///     for row in page.rows {
///         if let Row::Instance(it) = row {
///             println!("{} has been running since {}", it.id, it.started);
///         }
///     }
///     query.after = page.next;
///     if query.after.is_none() {
///         break;
///     }
/// }
/// # Ok::<(), travertine::Error>(())
/// ```
pub mod view {
    pub use travertine_store::view::{
        Cursor, ElementRow, Filter, IncidentRow, InstanceRow, InstanceState, JobRow, JobState, Key,
        MessageRow, Page, Query, Row, SubscriptionKind, SubscriptionRow, Table, TaskRow, TaskState,
        TimerRow, VariableRow,
    };
}

/// Searches, which [`Engine::search`] answers: conditions, an order, and pages with cursors.
///
/// ```
/// use travertine::search::{Condition, InstanceColumn, Place, Search, Test};
/// use travertine::view::{InstanceState, Table};
/// use travertine::{Engine, Options};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let engine = Engine::in_memory(Options::default())?;
/// let running = Condition::of(InstanceColumn::State, Test::eq(InstanceState::Running));
/// let mut search =
///     Search::of(Table::Instances).with(running).descending(InstanceColumn::Started).limit(50);
/// loop {
///     let found = engine.search(search.clone()).await?;
///     println!("{:?}", found.rows);
///     match found.end.filter(|_| found.has_more) {
///         Some(end) => search.place = Place::After(end),
///         None => break,
///     }
/// }
/// # Ok::<(), travertine::Error>(()) }).unwrap();
/// ```
pub mod search {
    pub use travertine_store::search::{
        Column, Condition, Cursor, ElementColumn, Era, Found, IncidentColumn, InstanceColumn,
        JobColumn, MessageColumn, Pattern, Place, Search, Sort, SubscriptionColumn, Tally,
        TaskColumn, Test, TimerColumn, Total, Value, VariableColumn,
    };
}

/// Variables, from their names and values.
///
/// ```
/// # use travertine::vars;
/// let variables = vars([("name", "Ann".into()), ("cents", 1_200.into())]);
/// assert_eq!(variables[1].1.to_json(), "1200");
/// ```
pub fn vars<const N: usize>(all: [(&str, Value); N]) -> Assignments {
    all.into_iter().map(|(name, value)| (Name::from(name), value)).collect()
}

/// The programs of the tutorial, and of other pages, are run with the tests.
#[cfg(doctest)]
mod tutorial {
    #[doc = include_str!("../../../docs/functions/1-order.md")]
    mod order {}
    #[doc = include_str!("../../../docs/functions/2-waiting.md")]
    mod waiting {}
    #[doc = include_str!("../../../docs/functions/3-living.md")]
    mod living {}
    #[doc = include_str!("../../../docs/sources/workflow-engine.md")]
    mod source {}
}
