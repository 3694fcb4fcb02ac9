//! Stays of instances at elements, and variables.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_kernel::ElementKind;
use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Column, ElementColumn, InstanceColumn, VariableColumn},
    view::{ElementRow, Row, Table, VariableRow},
};

use super::{
    Answer, Call,
    read::{read, variables},
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer},
    write::Fields,
};
use crate::desk::{Refusal, Seen};

/// How much of a value searches show.
const VALUE_CHARS_MAX: usize = 8_191;

/// What kinds of elements are called.
const KINDS: &[(&str, &[&str])] = &[
    ("AD_HOC_SUB_PROCESS", &["ad_hoc_sub_process"]),
    ("AD_HOC_SUB_PROCESS_INNER_INSTANCE", &[]),
    ("BOUNDARY_EVENT", &["boundary_event"]),
    ("BUSINESS_RULE_TASK", &["business_rule_task"]),
    ("CALL_ACTIVITY", &["call_activity"]),
    ("END_EVENT", &["end_event"]),
    ("EVENT_BASED_GATEWAY", &["event_based_gateway"]),
    ("EVENT_SUB_PROCESS", &["event_sub_process"]),
    ("EXCLUSIVE_GATEWAY", &["exclusive_gateway"]),
    ("INCLUSIVE_GATEWAY", &["inclusive_gateway"]),
    ("INTERMEDIATE_CATCH_EVENT", &["intermediate_catch_event"]),
    ("INTERMEDIATE_THROW_EVENT", &["intermediate_throw_event"]),
    ("MANUAL_TASK", &["manual_task"]),
    ("MULTI_INSTANCE_BODY", &["multi_instance_body"]),
    ("PARALLEL_GATEWAY", &["parallel_gateway"]),
    ("PROCESS", &["process"]),
    ("RECEIVE_TASK", &["receive_task"]),
    ("SCRIPT_TASK", &["script_task"]),
    ("SEND_TASK", &["send_task"]),
    ("SEQUENCE_FLOW", &[]),
    ("SERVICE_TASK", &["service_task"]),
    ("START_EVENT", &["start_event"]),
    ("SUB_PROCESS", &["sub_process", "transaction"]),
    ("TASK", &["task"]),
    ("UNKNOWN", &["complex_gateway", "function"]),
    ("UNSPECIFIED", &["unspecified"]),
    ("USER_TASK", &["user_task"]),
];

pub(super) fn kind(kind: ElementKind) -> &'static str {
    let found = KINDS.iter().find(|(_, ours)| ours.contains(&kind.name()));
    found.map_or("UNSPECIFIED", |(theirs, _)| theirs)
}

const KEY: Column = Column::Element(ElementColumn::Visit);

const ELEMENTS: Resource = Resource {
    table: Table::Elements,
    filters: &[
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        ("state", Of::Fixed(Some("ACTIVE"))),
        ("type", Of::Word(Column::Element(ElementColumn::Kind), KINDS)),
        ("elementId", Of::Text(Column::Element(ElementColumn::Element))),
        ("elementName", Of::Text(Column::Element(ElementColumn::Label))),
        ("hasIncident", Of::Some(Column::Element(ElementColumn::Incident))),
        TENANT_FILTER,
        ("elementInstanceKey", Of::Key(KEY, search::visit)),
        ("processInstanceKey", Of::Key(Column::Element(ElementColumn::Instance), search::instance)),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        ("incidentKey", Of::Key(Column::Element(ElementColumn::Incident), search::incident)),
        ("startDate", Of::Date(Column::Element(ElementColumn::Since))),
        ("endDate", Of::Fixed(None)),
        (
            "elementInstanceScopeKey",
            Of::Key(Column::Element(ElementColumn::ScopeVisit), search::visit),
        ),
    ],
    sorts: &[
        ("elementId", Some(Column::Element(ElementColumn::Element))),
        ("elementInstanceKey", Some(KEY)),
        ("elementName", Some(Column::Element(ElementColumn::Label))),
        ("endDate", None),
        ("incidentKey", Some(Column::Element(ElementColumn::Incident))),
        ("processDefinitionId", Some(Column::Instance(InstanceColumn::Definition))),
        ("processDefinitionKey", Some(Column::Instance(InstanceColumn::DefinitionKey))),
        ("processInstanceKey", Some(Column::Element(ElementColumn::Instance))),
        ("startDate", Some(Column::Element(ElementColumn::Since))),
        ("state", None),
        ("tenantId", None),
        ("type", Some(Column::Element(ElementColumn::Kind))),
    ],
};

pub(super) async fn search_elements(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&ELEMENTS)?;
    let found = call.desk.search(search).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Element(row) = &seen.row {
            element(it, row, seen);
        }
    }))
}

pub(super) async fn element_by_key(call: Call) -> Result<Answer, Refusal> {
    let seen = call.desk.element(call.key()?).await?;
    Ok(Answer::object(|it| {
        if let Row::Element(row) = &seen.row {
            element(it, row, &seen);
        }
    }))
}

fn element(it: &mut Fields<'_>, row: &ElementRow, seen: &Seen) {
    let (about, instance) = (seen.about.as_deref(), InstanceId(row.instance));
    it.text_or_null("processDefinitionId", about.map(|it| &*it.definition));
    it.date("startDate", row.since);
    it.null("endDate");
    it.text("elementId", &row.element);
    it.text("elementName", row.label.as_ref().unwrap_or(&row.element));
    it.text("type", kind(row.kind));
    it.text("state", "ACTIVE");
    it.flag("hasIncident", row.incident.is_some());
    it.tenant();
    it.key("elementInstanceKey", Named::Visit(instance, row.visit));
    it.key("processInstanceKey", Named::Instance(instance));
    it.key_or_null("rootProcessInstanceKey", about.map(|it| Named::Instance(InstanceId(it.root))));
    it.key_or_null("processDefinitionKey", about.map(|it| Named::Definition(it.definition_key)));
    it.key_or_null("incidentKey", row.incident.map(|number| Named::Incident(instance, number)));
}

#[derive(Deserialize)]
struct SetBody<'a> {
    #[serde(borrow)]
    variables: &'a RawValue,
    local: Option<bool>,
}

pub(super) async fn set_variables(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: SetBody<'_> = read(&body)?;
    let variables = variables(Some(body.variables))?;
    call.desk.set_variables(call.key()?, variables, body.local.unwrap_or(false)).await?;
    Ok(Answer::Done)
}

const VARIABLE_KEY: Column = Column::Variable(VariableColumn::Number);

const VARIABLES: Resource = Resource {
    table: Table::Variables,
    filters: &[
        ("name", Of::Text(Column::Variable(VariableColumn::Name))),
        ("value", Of::Text(Column::Variable(VariableColumn::Value))),
        TENANT_FILTER,
        // Only in what is shown.
        ("isTruncated", Of::Ignored),
        ("variableKey", Of::Key(VARIABLE_KEY, search::variable)),
        ("scopeKey", Of::Key(Column::Variable(VariableColumn::Visit), search::visit)),
        (
            "processInstanceKey",
            Of::Key(Column::Variable(VariableColumn::Instance), search::instance),
        ),
    ],
    sorts: &[
        ("name", Some(Column::Variable(VariableColumn::Name))),
        ("processInstanceKey", Some(Column::Variable(VariableColumn::Instance))),
        ("scopeKey", Some(Column::Variable(VariableColumn::Visit))),
        ("tenantId", None),
        ("value", Some(Column::Variable(VariableColumn::Value))),
        ("variableKey", Some(VARIABLE_KEY)),
    ],
};

pub(super) async fn search_variables(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&VARIABLES)?;
    let cuts = cuts(&call);
    let found = call.desk.search(search).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Variable(row) = &seen.row {
            variable(it, row, seen, cuts);
        }
    }))
}

/// Whether long values are cut.
pub(super) fn cuts(call: &Call) -> bool {
    !call.parts.uri.query().unwrap_or_default().split('&').any(|it| it == "truncateValues=false")
}

pub(super) async fn variable_by_key(call: Call) -> Result<Answer, Refusal> {
    let seen = call.desk.variable(call.key()?).await?;
    Ok(Answer::object(|it| {
        if let Row::Variable(row) = &seen.row {
            it.text("value", &row.value);
            named_variable(it, row, &seen);
        }
    }))
}

/// A variable as searches show it.
pub(super) fn variable(it: &mut Fields<'_>, row: &VariableRow, seen: &Seen, cuts: bool) {
    let end = row.value.char_indices().nth(VALUE_CHARS_MAX).map(|(end, _)| end).filter(|_| cuts);
    it.text("value", &row.value[..end.unwrap_or(row.value.len())]);
    it.flag("isTruncated", end.is_some());
    named_variable(it, row, seen);
}

fn named_variable(it: &mut Fields<'_>, row: &VariableRow, seen: &Seen) {
    let instance = InstanceId(row.instance);
    it.text("name", &row.name);
    it.tenant();
    it.key("variableKey", Named::Variable(instance, row.number));
    it.key("scopeKey", search::stay(row.instance, row.visit));
    it.key("processInstanceKey", Named::Instance(instance));
    let root = seen.about.as_deref().map(|it| Named::Instance(InstanceId(it.root)));
    it.key_or_null("rootProcessInstanceKey", root);
}

/// The variables that a user task sees.
pub(super) async fn task_variables(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&VARIABLES)?;
    let cuts = cuts(&call);
    let found = call.desk.task_variables(call.key()?, search).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Variable(row) = &seen.row {
            variable(it, row, seen, cuts);
        }
    }))
}
