//! The format of a `cases.json`, as types.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use travertine_value::{JsonError, Map, Value};

/// The cases of one file, and what they share.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Where its models are.
    pub folder: PathBuf,
    /// What texts in languages that only this suite uses mean in ours.
    pub expressions: Map,
    /// What scripts in languages that only this suite uses mean in ours.
    pub scripts: Map,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Its id.
    pub id: String,
    /// The models, deployed together before the first step.
    pub files: Vec<String>,
    /// The process that is started where a step names none.
    pub process: Option<String>,
    /// What it is mainly about.
    pub feature: String,
    /// Whether it expects what the standard leaves open.
    pub engine_specific: bool,
    /// Kinds of plain task that wait.
    pub wait_tasks: Vec<String>,
    /// The language of its expressions.
    pub expression_dialect: String,
    /// The language of its scripts.
    pub script_dialect: String,
    /// What it asks of whoever runs it.
    pub needs: Vec<String>,
    /// What is done and expected, in order.
    pub(super) steps: Vec<Step>,
}

/// Something done or something expected.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Something is done.
    Act {
        /// What.
        action: Action,
        /// To which instance, by the name it was given; any where none is named.
        instance: Option<String>,
        /// Whether it must come to nothing.
        refused: bool,
    },
    /// Something is expected.
    Expect {
        /// What.
        expectation: Expectation,
        /// Of which instance; of all where none is named.
        instance: Option<String>,
    },
}

/// Something done from outside.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// An instance is started.
    Start {
        variables: Map,
        process: Option<String>,
        name: Option<String>,
        business_key: Option<String>,
    },
    /// Waiting work is done.
    Complete { element: String, variables: Map, filter: Map },
    /// Waiting work raises an error.
    ThrowError { element: String, code: String, message: String, variables: Map },
    /// Waiting work raises an escalation.
    Escalate { element: String, code: String, variables: Map },
    /// Waiting work fails.
    Fail { element: String, retries: u32, message: String },
    /// A message comes.
    Message(MessageStep),
    /// A signal is sent.
    Signal { name: String, variables: Map },
    /// Time passes.
    Advance(String),
    /// Variables of the process are set.
    SetVars(Map),
    /// Variables are offered to conditional start events.
    EvaluateConditions(Map),
    /// Everything is cancelled.
    Cancel,
    /// The engine stops and comes back.
    Restart,
}

/// A message and whom it is meant for.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageStep {
    /// Its name.
    pub(super) name: String,
    /// The correlation key.
    pub(super) key: Option<Value>,
    /// The element that catches it.
    pub(super) element: Option<String>,
    /// The business key of the instance.
    pub(super) business_key: Option<String>,
    /// Variables that the instance must have.
    pub(super) correlate: Map,
    /// Whether everyone who matches gets it.
    pub(super) all: bool,
    /// What it brings.
    pub(super) variables: Map,
}

/// Something expected.
#[derive(Clone, Debug)]
pub(super) enum Expectation {
    /// Exactly these elements wait.
    Active(Vec<String>),
    /// Whether nothing runs any more.
    Completed(bool),
    /// The process has these variables.
    Vars(Map),
    /// The process does not have these.
    NoVars(Vec<String>),
    /// The process has one of several values for each.
    VarsOneOf(Map),
    /// These elements were completed, at least as often as named.
    Visited(Vec<String>),
    /// These were never entered.
    NotVisited(Vec<String>),
    /// These were completed so often.
    VisitCount(Map),
    /// These were completed in this order, among others.
    Order(Vec<String>),
    /// Scripts have written exactly this, in whatever order.
    Trace(Vec<String>),
    /// Something is stuck here.
    Incident(String),
    /// The instance has ended by an error.
    Outcome(String),
    /// So many instances were started, those called by others apart.
    Started(usize),
    /// The models are refused.
    Rejected,
    /// The models are refused, or running them fails.
    Error,
}

/// Why a file is no suite.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    Read(PathBuf, io::Error),
    /// It is not JSON.
    Json(PathBuf, JsonError),
    /// A case makes no sense.
    Case {
        /// Which.
        id: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Json(path, error) => write!(f, "{} is not JSON: {error}", path.display()),
            Self::Case { id, reason } => write!(f, "case {id}: {reason}"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Json(_, error) => Some(error),
            Self::Case { .. } => None,
        }
    }
}

impl Suite {
    /// Reads a `cases.json`.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text =
            fs::read_to_string(path).map_err(|error| LoadError::Read(path.to_owned(), error))?;
        let json =
            Value::parse_json(&text).map_err(|error| LoadError::Json(path.to_owned(), error))?;
        let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        let dialect = json.field("dialect");
        let table = |name| dialect.and_then(|it| it.field(name)).map(map).unwrap_or_default();
        let cases = json.field("cases").and_then(Value::as_list).unwrap_or_default();
        Ok(Self {
            name: text_of(&json, "suite").unwrap_or_default(),
            folder,
            expressions: table("expressions"),
            scripts: table("scripts"),
            cases: cases.iter().map(case).collect::<Result<_, _>>()?,
        })
    }
}

impl Case {
    /// Whether any of its steps asks for an instance. Offering variables to conditions does not.
    pub(super) fn starts_instances(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Act { action, .. } => match action {
                Action::Start { .. } | Action::Message(_) | Action::Signal { .. } => true,
                Action::Complete { .. }
                | Action::ThrowError { .. }
                | Action::Escalate { .. }
                | Action::Fail { .. }
                | Action::Advance(_)
                | Action::SetVars(_)
                | Action::EvaluateConditions(_)
                | Action::Cancel
                | Action::Restart => false,
            },
            Step::Expect { .. } => false,
        })
    }
}

fn case(json: &Value) -> Result<Case, LoadError> {
    let id = text_of(json, "id").unwrap_or_default();
    let steps = json.field("steps").and_then(Value::as_list).unwrap_or_default();
    let steps: Result<_, String> = steps.iter().map(step).collect();
    Ok(Case {
        files: texts(json.field("files")),
        process: text_of(json, "process"),
        feature: text_of(json, "feature").unwrap_or_default(),
        engine_specific: json.field("engine_specific").is_some_and(is_set),
        wait_tasks: texts(json.field("wait_tasks")),
        expression_dialect: text_of(json, "expression_dialect").unwrap_or_default(),
        script_dialect: text_of(json, "script_dialect").unwrap_or_default(),
        needs: texts(json.field("needs")),
        steps: steps.map_err(|reason| LoadError::Case { id: id.clone(), reason })?,
        id,
    })
}

/// The first field of a step says what it is.
fn step(json: &Value) -> Result<Step, String> {
    let Some((kind, value)) = json.as_map().and_then(|it| it.first()) else {
        return Err(format!("this is no step: {json}"));
    };
    let instance = text_of(json, "instance");
    if let Some(expectation) = expectation(kind, value) {
        return Ok(Step::Expect { expectation, instance });
    }
    let refused = json.field("refused").is_some_and(is_set);
    let action = action(kind, value, json).ok_or_else(|| format!("no such step: {json}"))?;
    Ok(Step::Act { action, instance, refused })
}

fn action(kind: &str, value: &Value, json: &Value) -> Option<Action> {
    let variables = json.field("vars").map(map).unwrap_or_default();
    let element = || value.as_str().map(str::to_owned);
    let text = |name| text_of(json, name);
    Some(match kind {
        "start" => Action::Start {
            variables: map(value),
            process: text("process"),
            name: text("as"),
            business_key: text("business_key"),
        },
        "complete" => Action::Complete {
            element: element()?,
            variables,
            filter: json.field("where").map(map).unwrap_or_default(),
        },
        "throw_error" => Action::ThrowError {
            element: element()?,
            code: text("code").unwrap_or_default(),
            message: text("error_message").unwrap_or_default(),
            variables,
        },
        "escalate" => Action::Escalate {
            element: element()?,
            code: text("code").unwrap_or_default(),
            variables,
        },
        "fail" => Action::Fail {
            element: element()?,
            retries: json.field("retries").and_then(Value::as_i64)?.try_into().ok()?,
            message: text("error_message").unwrap_or_default(),
        },
        "message" => Action::Message(MessageStep {
            name: element()?,
            key: json.field("key").cloned(),
            element: text("element"),
            business_key: text("business_key"),
            correlate: json.field("correlate").map(map).unwrap_or_default(),
            all: json.field("all").is_some_and(is_set),
            variables,
        }),
        "signal" => Action::Signal { name: element()?, variables },
        "advance" => Action::Advance(element()?),
        "set_vars" => Action::SetVars(map(value)),
        "evaluate_conditions" => Action::EvaluateConditions(map(value)),
        "cancel" => Action::Cancel,
        "restart" => Action::Restart,
        _ => return None,
    })
}

fn expectation(kind: &str, value: &Value) -> Option<Expectation> {
    let all = || texts(Some(value));
    Some(match kind {
        "expect_active" => Expectation::Active(all()),
        "expect_completed" => Expectation::Completed(value.as_bool()?),
        "expect_vars" => Expectation::Vars(map(value)),
        "expect_no_vars" => Expectation::NoVars(all()),
        "expect_vars_one_of" => Expectation::VarsOneOf(map(value)),
        "expect_visited" => Expectation::Visited(all()),
        "expect_not_visited" => Expectation::NotVisited(all()),
        "expect_visit_count" => Expectation::VisitCount(map(value)),
        "expect_order" => Expectation::Order(all()),
        "expect_trace" => Expectation::Trace(all()),
        "expect_incident" => Expectation::Incident(value.as_str()?.to_owned()),
        "expect_outcome" => Expectation::Outcome(value.as_str()?.to_owned()),
        "expect_started" => Expectation::Started(value.as_i64()?.try_into().ok()?),
        "expect_rejected" => Expectation::Rejected,
        "expect_error" => Expectation::Error,
        _ => return None,
    })
}

fn map(json: &Value) -> Map {
    json.as_map().cloned().unwrap_or_default()
}

fn text_of(json: &Value, name: &str) -> Option<String> {
    json.field(name)?.as_str().map(str::to_owned)
}

/// A list of texts, or one of them.
fn texts(json: Option<&Value>) -> Vec<String> {
    match json {
        Some(Value::String(text)) => vec![text.to_string()],
        Some(Value::List(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Marks are `true`, or a text that says why.
fn is_set(json: &Value) -> bool {
    !matches!(json, Value::Null | Value::Bool(false))
}
