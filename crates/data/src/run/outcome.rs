//! How far the instances of a run came, as data.

use travertine_bpmn::Report;
use travertine_kernel::{Ending, Phase, tree};
use travertine_value::{Name, Value};

use super::{
    Record, Run,
    pending::{self, Pending, What},
};
use crate::{json, report};

/// How far an instance came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named after what they are")]
pub enum Outcome {
    Completed,
    Failed,
    Cancelled,
    Incident,
    Waiting,
    Restless,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Incident => "incident",
            Self::Waiting => "waiting",
            Self::Restless => "restless",
        }
    }
}

/// How far an instance of a run came.
pub fn outcome_of(record: Record<'_>, run: &impl Run) -> Outcome {
    match record.phase() {
        Phase::Ended(Ending::Completed) => Outcome::Completed,
        Phase::Ended(Ending::Failed(_)) => Outcome::Failed,
        Phase::Ended(Ending::Cancelled) => Outcome::Cancelled,
        Phase::New | Phase::Running if record.is_troubled() => Outcome::Incident,
        Phase::New | Phase::Running if run.restless().is_some() => Outcome::Restless,
        Phase::New | Phase::Running => Outcome::Waiting,
    }
}

/// All of it as data. `docs/cli.md` promises the names of the fields.
pub fn document(run: &impl Run, exit_status: u8, report: &Report, trace: Vec<Value>) -> Value {
    let main = run.main();
    json::object([
        ("outcome", outcome_of(main, run).word().into()),
        ("exit_status", u32::from(exit_status).into()),
        ("process", Name::clone(&main.definition.id).into()),
        ("instance", json::key(main.id.0)),
        ("time", run.now().to_string().into()),
        ("variables", json::variables(main.variables())),
        ("instances", run.instances().map(|it| instance(it, run)).collect()),
        ("held_messages", run.held().into_iter().map(Value::from).collect()),
        ("diagnostics", report.diagnostics.iter().map(report::diagnostic).collect()),
        ("trace", trace.into()),
    ])
}

/// What there is to say of a model that cannot run.
pub fn rejected(report: &Report, exit_status: u8) -> Value {
    json::object([
        ("outcome", "rejected".into()),
        ("exit_status", u32::from(exit_status).into()),
        ("diagnostics", report.diagnostics.iter().map(report::diagnostic).collect()),
    ])
}

fn instance(record: Record<'_>, run: &impl Run) -> Value {
    let failure = match record.phase() {
        Phase::Ended(Ending::Failed(failure)) => Some(json::object([
            ("code", failure.code.clone().into()),
            ("message", failure.message.as_str().into()),
        ])),
        Phase::New | Phase::Running | Phase::Ended(Ending::Completed | Ending::Cancelled) => None,
    };
    let now = run.now();
    let pending = pending::of(record);
    let data = |it: &Pending| it.data(now, &run.visible(it));
    let is_trouble = |it: &&Pending| matches!(it.what, What::Incident(_));
    let tree = tree(record.plan(), record.state).map(|it| it.to_string()).unwrap_or_default();
    json::object([
        ("instance", json::key(record.id.0)),
        ("process", Name::clone(&record.definition.id).into()),
        ("caller", record.caller.map(|it| json::key(it.instance.0)).into()),
        ("outcome", outcome_of(record, run).word().into()),
        ("failure", failure.into()),
        ("variables", json::variables(record.variables())),
        ("incidents", pending.iter().filter(is_trouble).map(data).collect()),
        ("waits", pending.iter().filter(|it| !is_trouble(it)).map(data).collect()),
        ("tree", tree.lines().map(Value::from).collect()),
    ])
}
