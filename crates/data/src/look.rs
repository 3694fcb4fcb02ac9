//! Where an instance is, and why it waits, as data.

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Branch, FailureKind, Reason, WaitId, Why, plan::WorkKind};
use travertine_runtime::{INSTANCE, InstanceId};
use travertine_value::{Name, Value};

use crate::{events, json, rows, shell, text};

/// What would help a token that rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// Words of a command, without the name of the program.
    Command(Vec<String>),
    /// Something that no command does.
    Text(&'static str),
}

/// The tree of tokens as data.
pub fn tree(branch: Option<&Branch>) -> Value {
    branch.map_or(Value::Null, |it| {
        json::object([
            ("token", json::key(it.token.0)),
            ("element", Name::clone(&it.node).into()),
            ("state", it.state.to_string().into()),
            ("scope", it.hosts.into()),
            ("progress", it.progress.clone().into()),
            ("inside", it.inside.iter().map(|it| tree(Some(it))).collect()),
        ])
    })
}

/// Whether it says more than the tree: that a scope waits for what is inside shows there, but not that it waits for
/// somebody to begin something in it.
pub fn is_telling(it: &Reason) -> bool {
    !matches!(it.why, Why::Inside { tokens: 1.., .. } | Why::Undo | Why::Inner)
}

/// Why a token rested, as data. Nothing helps any more.
pub fn past(instance: InstanceId, it: &Reason) -> Value {
    reason(instance, it, None)
}

/// Why a token rests, as data, with what helps in words.
pub fn reason(instance: InstanceId, it: &Reason, help: Option<String>) -> Value {
    let wait = it.why.wait().map(|wait| rows::address(instance.0, wait.0));
    json::object([
        ("token", json::key(it.token.0)),
        ("element", Name::clone(&it.element).into()),
        ("label", it.label.clone().into()),
        ("operation", it.operation.clone().into()),
        ("kind", kind(&it.why).into()),
        ("wait", wait.into()),
        ("why", it.why.to_string().into()),
        ("way_out", help.into()),
        ("failure", failure(&it.why)),
    ])
}

/// What is wrong, where that is why it rests.
fn failure(why: &Why) -> Value {
    if let Why::Incident { failure, .. } = why { events::of_failure(failure) } else { Value::Null }
}

/// What would help, where anything would.
pub fn way_out(instance: InstanceId, it: &Reason) -> Option<WayOut> {
    let at = |wait: &WaitId| rows::address(instance.0, wait.0);
    let number = || instance.to_string();
    let words = match &it.why {
        Why::Incident { failure, .. }
            if matches!(failure.kind, FailureKind::MissingCode { .. }) =>
        {
            return Some(WayOut::Text("it goes on when a program that has it opens the store"));
        }
        Why::Incident { .. } => {
            vec!["resolve".to_owned(), number(), "--token".to_owned(), it.token.0.to_string()]
        }
        Why::Work { wait, brings_result: true, .. } => {
            vec!["complete".to_owned(), at(wait), "--var".to_owned(), "result=VALUE".to_owned()]
        }
        Why::Work { wait, .. } | Why::Gate { wait, .. } | Why::Choice { wait } => {
            vec!["complete".to_owned(), at(wait)]
        }
        Why::Timer { wait, .. } => vec!["timers".to_owned(), "fire".to_owned(), at(wait)],
        Why::Message { name, correlation, .. } => {
            let mut words = vec!["message".to_owned(), name.to_string()];
            words.extend(["--instance".to_owned(), number()]);
            let keys = correlation.iter().filter(|(name, _)| &**name != INSTANCE);
            words.extend(keys.flat_map(correlate));
            words
        }
        Why::Signal { name, .. } => vec!["signal".to_owned(), name.to_string()],
        Why::Condition { .. } | Why::Data { .. } => {
            vec!["set".to_owned(), number(), "--var".to_owned(), "NAME=VALUE".to_owned()]
        }
        Why::Inside { tokens: 0, .. } => {
            vec!["modify".to_owned(), number(), "--add".to_owned(), "ELEMENT".to_owned()]
        }
        Why::Delivery { .. }
        | Why::Child { .. }
        | Why::Join { .. }
        | Why::Others { .. }
        | Why::Activation { .. }
        | Why::Gather { .. }
        | Why::Branches { .. }
        | Why::Performer { .. }
        | Why::Inside { .. }
        | Why::Race
        | Why::Inner
        | Why::Undo
        | Why::Update
        | Why::Next
        | Why::Unknown => return None,
    };
    Some(WayOut::Command(words))
}

/// The option that has a message agree with who waits for it.
fn correlate((name, value): &(Name, Value)) -> Vec<String> {
    let is_key = &**name == CORRELATION_KEY;
    let value = match value.as_str() {
        // As people type it, where it is not taken for something else then.
        Some(said) if is_key || text::value_of(said).is_ok_and(|it| it == *value) => {
            said.to_owned()
        }
        _ => value.to_json(),
    };
    if is_key {
        shell::option("key", &value)
    } else {
        shell::option("correlate", &format!("{name}={value}"))
    }
}

/// Whether someone outside can complete it.
pub fn completable(why: &Why) -> Option<WaitId> {
    match why {
        Why::Work { wait, .. } | Why::Gate { wait, .. } | Why::Choice { wait } => Some(*wait),
        _ => None,
    }
}

/// The kind of wait.
pub fn kind(why: &Why) -> &'static str {
    match why {
        Why::Incident { .. } => "incident",
        Why::Work { kind: WorkKind::User, .. } => "user_task",
        Why::Work { kind: WorkKind::Job, .. } => "job",
        Why::Timer { .. } => "timer",
        Why::Message { .. } => "message",
        Why::Signal { .. } => "signal",
        Why::Condition { .. } => "condition",
        Why::Data { .. } => "data",
        Why::Delivery { .. } => "delivery",
        Why::Child { .. } => "call",
        Why::Gate { .. } => "gate",
        Why::Choice { .. } => "decision",
        Why::Join { .. } | Why::Others { .. } | Why::Activation { .. } | Why::Gather { .. } => {
            "join"
        }
        Why::Branches { .. } => "branches",
        Why::Performer { .. } => "performer",
        Why::Inside { .. } | Why::Inner => "scope",
        Why::Race => "events",
        Why::Undo => "compensation",
        Why::Update => "update",
        Why::Next | Why::Unknown => "tokens",
    }
}

/// What would help, as operations of the API: each with what stands in its path, and the fields of its body. Where a
/// value is for whoever does it to say, the field is null.
pub fn ways(instance: InstanceId, it: &Reason) -> Value {
    let at = |wait: &WaitId| Value::from(rows::address(instance.0, wait.0));
    let way = |operation: &str, path: (&str, Value), fields: Vec<(&str, Value)>| {
        let fields: Value = fields.into_iter().map(|(name, it)| (Name::from(name), it)).collect();
        json::object([
            ("operation", operation.into()),
            ("path", json::object([path])),
            ("fields", fields),
        ])
    };
    let here = || ("instance", json::key(instance.0));
    let given = |brings_result: bool| {
        let variables =
            if brings_result { json::object([("result", Value::Null)]) } else { json::object([]) };
        vec![("variables", variables)]
    };
    let all = match &it.why {
        Why::Incident { failure, .. }
            if matches!(failure.kind, FailureKind::MissingCode { .. }) =>
        {
            Vec::new()
        }
        Why::Incident { .. } => {
            vec![
                way("resolveInstance", here(), vec![("token", json::key(it.token.0))]),
                way(
                    "setVariables",
                    here(),
                    vec![("token", json::key(it.token.0)), ("variables", json::object([]))],
                ),
            ]
        }
        Why::Work { wait, kind: WorkKind::User, brings_result, .. } => vec![
            way("completeTask", ("task", at(wait)), given(*brings_result)),
            way("claimTask", ("task", at(wait)), vec![("assignee", Value::Null)]),
        ],
        Why::Work { wait, kind: WorkKind::Job, brings_result, .. } => vec![
            way("completeJob", ("job", at(wait)), given(*brings_result)),
            way("failJob", ("job", at(wait)), vec![("message", Value::Null)]),
            way("raiseError", ("job", at(wait)), vec![("code", Value::Null)]),
        ],
        Why::Gate { wait, .. } | Why::Choice { wait } => {
            vec![way("completeWait", ("wait", at(wait)), given(false))]
        }
        Why::Timer { wait, .. } => vec![
            way("fireTimer", ("timer", at(wait)), Vec::new()),
            way("moveTimer", ("timer", at(wait)), vec![("to", Value::Null)]),
        ],
        Why::Message { name, correlation, .. } => {
            let correlate = correlation.iter().filter(|(name, _)| &**name != INSTANCE);
            let correlate: Value = correlate.cloned().collect();
            vec![json::object([
                ("operation", "publishMessage".into()),
                ("path", json::object([])),
                (
                    "fields",
                    json::object([
                        ("name", Name::clone(name).into()),
                        ("instance", json::key(instance.0)),
                        ("correlate", correlate),
                    ]),
                ),
            ])]
        }
        Why::Signal { name, .. } => vec![json::object([
            ("operation", "broadcastSignal".into()),
            ("path", json::object([])),
            ("fields", json::object([("name", Name::clone(name).into())])),
        ])],
        Why::Condition { .. } | Why::Data { .. } => {
            vec![way("setVariables", here(), vec![("variables", json::object([]))])]
        }
        Why::Delivery { .. }
        | Why::Child { .. }
        | Why::Join { .. }
        | Why::Others { .. }
        | Why::Activation { .. }
        | Why::Gather { .. }
        | Why::Branches { .. }
        | Why::Performer { .. }
        | Why::Inside { .. }
        | Why::Race
        | Why::Inner
        | Why::Undo
        | Why::Update
        | Why::Next
        | Why::Unknown => Vec::new(),
    };
    all.into()
}
