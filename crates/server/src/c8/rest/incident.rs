//! What someone must look at.

use serde_json::Value as Json;
use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Column, Condition, IncidentColumn, InstanceColumn, Test},
    view::{IncidentRow, Row, Table},
};

use super::{
    Answer, Call,
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer, one_of_words},
    write::Fields,
};
use crate::desk::{Refusal, Seen};

/// What kinds of faults are called. An incident is of the first that it fits.
struct ErrorType {
    name: &'static str,
    fits: fn() -> Condition,
}

fn kind(kinds: &[&str]) -> Condition {
    Condition::of(IncidentColumn::Kind, Test::any_of(kinds.iter().copied()))
}

fn script(parts: &[&str]) -> Condition {
    let part = Condition::of(IncidentColumn::Part, Test::any_of(parts.iter().copied()));
    Condition::All(vec![kind(&["script"]), part])
}

fn listener(test: Test) -> Condition {
    Condition::All(vec![kind(&["work"]), Condition::of(IncidentColumn::Listener, test)])
}

fn none_of(values: &[&str]) -> Test {
    Test::NotIn(values.iter().copied().map(Into::into).collect())
}

/// What listeners around the work of any node are called on; those of user tasks have words of their own.
const EXECUTION: &[&str] = &["start", "end", "before_all", "cancel"];

/// The parts of a script that have a type of their own.
const PARTS: &[&str] = &["condition", "input", "output", "call", "decision"];

/// No two of them fit the same incident.
const TYPES: &[ErrorType] = &[
    ErrorType { name: "JOB_NO_RETRIES", fits: || listener(Test::Exists(false)) },
    ErrorType {
        name: "EXECUTION_LISTENER_NO_RETRIES",
        fits: || listener(Test::any_of(EXECUTION.iter().copied())),
    },
    ErrorType {
        name: "TASK_LISTENER_NO_RETRIES",
        fits: || {
            let exists = Condition::of(IncidentColumn::Listener, Test::Exists(true));
            Condition::All(vec![listener(none_of(EXECUTION)), exists])
        },
    },
    ErrorType { name: "UNHANDLED_ERROR_EVENT", fits: || kind(&["error"]) },
    ErrorType {
        name: "CONDITION_ERROR",
        fits: || Condition::Any(vec![kind(&["no_flow"]), script(&["condition"])]),
    },
    ErrorType { name: "IO_MAPPING_ERROR", fits: || script(&["input", "output"]) },
    ErrorType {
        name: "CALLED_ELEMENT_ERROR",
        fits: || Condition::Any(vec![kind(&["call", "missing_definition"]), script(&["call"])]),
    },
    ErrorType { name: "CALLED_DECISION_ERROR", fits: || kind(&["missing_decision"]) },
    ErrorType { name: "DECISION_EVALUATION_ERROR", fits: || script(&["decision"]) },
    ErrorType {
        name: "EXTRACT_VALUE_ERROR",
        fits: || {
            let part = Condition::of(IncidentColumn::Part, none_of(PARTS));
            let other = Condition::All(vec![kind(&["script"]), part]);
            Condition::Any(vec![kind(&["timer", "repeat"]), other])
        },
    },
    ErrorType { name: "MESSAGE_SIZE_EXCEEDED", fits: || kind(&["oversized"]) },
    ErrorType {
        name: "UNKNOWN",
        fits: || {
            Condition::of(
                IncidentColumn::Kind,
                none_of(&[
                    "work",
                    "error",
                    "no_flow",
                    "script",
                    "call",
                    "missing_definition",
                    "missing_decision",
                    "timer",
                    "repeat",
                    "oversized",
                ]),
            )
        },
    },
    ErrorType { name: "AD_HOC_SUB_PROCESS_NO_RETRIES", fits: nothing },
    ErrorType { name: "FORM_NOT_FOUND", fits: nothing },
    ErrorType { name: "RESOURCE_NOT_FOUND", fits: nothing },
    ErrorType { name: "SECRET_RESOLUTION_ERROR", fits: nothing },
    ErrorType { name: "UNSPECIFIED", fits: nothing },
];

fn nothing() -> Condition {
    Condition::Any(Vec::new())
}

/// The type of an incident, by the same conditions that searches have.
fn error_type(row: &IncidentRow) -> &'static str {
    fn holds(condition: &Condition, row: &IncidentRow) -> bool {
        match condition {
            Condition::All(all) => all.iter().all(|it| holds(it, row)),
            Condition::Any(any) => any.iter().any(|it| holds(it, row)),
            Condition::Is(Column::Incident(IncidentColumn::Kind), test) => {
                test.passes(Some(&(&*row.kind).into()))
            }
            Condition::Is(Column::Incident(IncidentColumn::Part), test) => {
                test.passes(row.part.map(|it| it.name().into()).as_ref())
            }
            Condition::Is(Column::Incident(IncidentColumn::Listener), test) => {
                test.passes(row.listener.as_deref().map(Into::into).as_ref())
            }
            _ => false,
        }
    }
    let found = TYPES.iter().find(|it| holds(&(it.fits)(), row));
    found.map_or("UNKNOWN", |it| it.name)
}

/// Incidents of these types.
fn of_type(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    one_of_words(name, wanted, TYPES.iter().map(|it| (it.name, (it.fits)())))
}

/// Incidents in these states.
fn in_state(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let ended = |it| Condition::of(IncidentColumn::Ended, Test::Exists(it));
    let states = [
        ("ACTIVE", ended(false)),
        ("MIGRATED", nothing()),
        ("PENDING", nothing()),
        ("RESOLVED", ended(true)),
        ("UNKNOWN", nothing()),
    ];
    one_of_words(name, wanted, states)
}

const INCIDENTS: Resource = Resource {
    table: Table::Incidents,
    filters: &[
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        ("errorType", Of::Made(of_type)),
        ("errorMessage", Of::Text(Column::Incident(IncidentColumn::Message))),
        ("elementId", Of::Text(Column::Incident(IncidentColumn::Element))),
        ("creationTime", Of::Date(Column::Incident(IncidentColumn::Since))),
        ("state", Of::Made(in_state)),
        TENANT_FILTER,
        ("incidentKey", Of::Key(Column::Incident(IncidentColumn::Number), search::incident)),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        (
            "processInstanceKey",
            Of::Key(Column::Incident(IncidentColumn::Instance), search::instance),
        ),
        ("elementInstanceKey", Of::Key(Column::Incident(IncidentColumn::Visit), search::visit)),
        ("jobKey", Of::Key(Column::Incident(IncidentColumn::Wait), search::wait)),
    ],
    sorts: &[
        ("creationTime", Some(Column::Incident(IncidentColumn::Since))),
        ("elementId", Some(Column::Incident(IncidentColumn::Element))),
        ("elementInstanceKey", Some(Column::Incident(IncidentColumn::Visit))),
        ("errorType", Some(Column::Incident(IncidentColumn::Kind))),
        ("incidentKey", Some(Column::Incident(IncidentColumn::Number))),
        ("jobKey", Some(Column::Incident(IncidentColumn::Wait))),
        ("processDefinitionId", Some(Column::Instance(InstanceColumn::Definition))),
        ("processDefinitionKey", Some(Column::Instance(InstanceColumn::DefinitionKey))),
        ("processInstanceKey", Some(Column::Incident(IncidentColumn::Instance))),
        ("state", Some(Column::Incident(IncidentColumn::Ended))),
        ("tenantId", None),
    ],
};

pub(super) async fn search(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&INCIDENTS)?;
    let found = call.desk.search(search).await?;
    Ok(answer(&found, write))
}

/// Those of an instance, and of what it has called.
pub(super) async fn search_of_instance(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let mut search = Asked::read(&body)?.search(&INCIDENTS)?;
    let instance = call.desk.instance(call.key()?).await?;
    let of = if instance.parent.is_none() { InstanceColumn::Root } else { InstanceColumn::Id };
    search.conditions.push(Condition::of(of, Test::eq(instance.id)));
    let found = call.desk.search(search).await?;
    Ok(answer(&found, write))
}

/// Those of an element instance, and of what is inside it.
pub(super) async fn search_of_element(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let mut search = Asked::read(&body)?.search(&INCIDENTS)?;
    let within = call.desk.failing_inside(call.key()?).await?;
    search.conditions.push(Condition::of(IncidentColumn::Visit, Test::any_of(within)));
    let found = call.desk.search(search).await?;
    Ok(answer(&found, write))
}

pub(super) async fn by_key(call: Call) -> Result<Answer, Refusal> {
    let seen = call.desk.incident(call.key()?).await?;
    Ok(Answer::object(|it| write(it, &seen)))
}

pub(super) async fn resolve(call: Call) -> Result<Answer, Refusal> {
    call.desk.resolve(call.key()?).await?;
    Ok(Answer::Done)
}

pub(super) async fn resolve_all(call: Call) -> Result<Answer, Refusal> {
    call.desk.resolve_all(call.key()?).await?;
    Ok(Answer::Done)
}

fn write(it: &mut Fields<'_>, seen: &Seen) {
    let Row::Incident(row) = &seen.row else { return };
    let (about, instance) = (seen.about.as_deref(), InstanceId(row.instance));
    it.text("processDefinitionId", about.map_or("", |it| &it.definition));
    it.text("errorType", error_type(row));
    it.text("errorMessage", &row.message);
    it.text("elementId", &row.element);
    it.date("creationTime", row.since);
    it.text("state", if row.ended.is_some() { "RESOLVED" } else { "ACTIVE" });
    it.tenant();
    it.key("incidentKey", Named::Incident(instance, row.number));
    it.key(
        "processDefinitionKey",
        Named::Definition(about.map(|it| it.definition_key).unwrap_or_default()),
    );
    it.key("processInstanceKey", Named::Instance(instance));
    it.key_or_null("rootProcessInstanceKey", about.map(|it| Named::Instance(InstanceId(it.root))));
    it.key("elementInstanceKey", search::stay(row.instance, row.visit));
    it.key_or_null("jobKey", row.wait.map(|wait| search::waiting(row.instance, wait)));
}
