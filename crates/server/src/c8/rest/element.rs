//! Stays of instances at elements, and variables.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_kernel::ElementKind;
use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Column, ElementColumn, InstanceColumn, Value, VariableColumn},
    view::{ElementRow, InstanceRow, Row, Table, VariableRow},
};

use super::{
    Answer, Call,
    list::{Holds, ListField, key_of},
    read::{read, variables},
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer},
    write::{Fields, TENANT},
};
use crate::desk::{Outcome, Refusal, Seen, Shadowed, Stay, StayState};

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

const STATES: &[(&str, &[&str])] =
    &[("ACTIVE", &["ACTIVE"]), ("COMPLETED", &[]), ("TERMINATED", &[])];

const KEY: Column = Column::Element(ElementColumn::Visit);

const ELEMENTS: Resource = Resource {
    table: Table::Elements,
    filters: &[
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        ("state", Of::FixedWord("ACTIVE", STATES)),
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
    let asked = Asked::read(&body)?;
    // Rows are of what is there now. The log of one instance knows what was there before, too.
    if let Some(key) = asked.instance_with_past() {
        return search_stays(call, asked, key).await;
    }
    let search = asked.search(&ELEMENTS)?;
    let found = call.desk.search(search).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Element(row) = &seen.row {
            element(it, row, seen);
        }
    }))
}

pub(super) async fn element_by_key(call: Call) -> Result<Answer, Refusal> {
    let key = call.key()?;
    if let Some(seen) = call.desk.element(key).await? {
        return Ok(Answer::object(|it| {
            if let Row::Element(row) = &seen.row {
                element(it, row, &seen);
            }
        }));
    }
    let (about, stay) = call.desk.stay(key).await?;
    let item = Item { stay, about: Arc::new(about) };
    Ok(Answer::object(|it| stayed(it, &item)))
}

/// A stay of an instance at an element, as its log tells it.
struct Item {
    stay: Stay,
    about: Arc<InstanceRow>,
}

impl Item {
    fn named(&self) -> Named {
        search::stay(self.about.id, self.stay.visit)
    }

    fn state(&self) -> &'static str {
        match self.stay.state {
            StayState::Active => "ACTIVE",
            StayState::Completed => "COMPLETED",
            StayState::Terminated => "TERMINATED",
        }
    }

    fn incident(&self) -> Option<Named> {
        self.stay.incident.map(|number| Named::Incident(InstanceId(self.about.id), number))
    }
}

const fn field(
    name: &'static str,
    holds: Holds,
    sorts: bool,
    value: fn(&Item) -> Option<Value>,
) -> ListField<Item> {
    ListField { name, holds, filters: true, sorts, value }
}

const TYPES: &[&str] = &{
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].0;
        at += 1;
    }
    names
};

const STAYS: &[ListField<Item>] = &[
    field("processDefinitionId", Holds::Text, true, |it| Some((&*it.about.definition).into())),
    field("state", Holds::Word(&["ACTIVE", "COMPLETED", "TERMINATED"]), true, |it| {
        Some(it.state().into())
    }),
    field("type", Holds::Word(TYPES), true, |it| Some(kind(it.stay.kind).into())),
    field("elementId", Holds::Text, true, |it| Some((&*it.stay.element).into())),
    field("elementName", Holds::Text, true, |it| it.stay.label.as_deref().map(Into::into)),
    field("hasIncident", Holds::Flag, false, |it| Some(it.stay.incident.is_some().into())),
    field("tenantId", Holds::Text, true, |_| Some(TENANT.into())),
    field("elementInstanceKey", Holds::Key, true, |it| key_of(it.named())),
    field("processInstanceKey", Holds::Key, true, |it| {
        key_of(Named::Instance(InstanceId(it.about.id)))
    }),
    field("processDefinitionKey", Holds::Key, true, |it| {
        key_of(Named::Definition(it.about.definition_key))
    }),
    field("incidentKey", Holds::Key, true, |it| it.incident().and_then(key_of)),
    field("startDate", Holds::Date, true, |it| Some(Value::Time(it.stay.since))),
    field("endDate", Holds::Date, true, |it| it.stay.until.map(Value::Time)),
    field("elementInstanceScopeKey", Holds::Key, false, |it| {
        key_of(search::stay(it.about.id, it.stay.scope))
    }),
];

async fn search_stays(call: Call, asked: Asked, key: i64) -> Result<Answer, Refusal> {
    let desk = call.desk;
    let items = match desk.instance(key).await {
        Ok(about) => {
            let about = Arc::new(about);
            let stays = desk.way(InstanceId(about.id)).await?.stays.into_iter();
            stays.map(|stay| Item { stay, about: Arc::clone(&about) }).collect()
        }
        // No such instance: nothing is found.
        Err(refusal) if refusal.outcome == Outcome::NotFound => Vec::new(),
        Err(refusal) => return Err(refusal),
    };
    Ok(asked.picker(STAYS)?.pick(items, Item::named).await?.answer(stayed))
}

fn stayed(it: &mut Fields<'_>, item: &Item) {
    let Item { stay, about } = item;
    it.text("processDefinitionId", &about.definition);
    it.date("startDate", stay.since);
    it.date_or_null("endDate", stay.until);
    it.text("elementId", &stay.element);
    it.text("elementName", stay.label.as_ref().unwrap_or(&stay.element));
    it.text("type", kind(stay.kind));
    it.text("state", item.state());
    it.flag("hasIncident", stay.incident.is_some());
    it.tenant();
    it.key("elementInstanceKey", item.named());
    it.key("processInstanceKey", Named::Instance(InstanceId(about.id)));
    it.key("rootProcessInstanceKey", Named::Instance(InstanceId(about.root)));
    it.key("processDefinitionKey", Named::Definition(about.definition_key));
    it.key_or_null("incidentKey", item.incident());
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

/// The variables of a user task and of all that is around it.
pub(super) async fn task_variables(call: Call) -> Result<Answer, Refusal> {
    variables_of(call, Shadowed::Shown).await
}

/// The variables that a user task sees, each name once.
pub(super) async fn effective_variables(call: Call) -> Result<Answer, Refusal> {
    variables_of(call, Shadowed::Left).await
}

async fn variables_of(mut call: Call, shadowed: Shadowed) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&VARIABLES)?;
    let cuts = cuts(&call);
    let found = call.desk.task_variables(call.key()?, search, shadowed).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Variable(row) = &seen.row {
            variable(it, row, seen, cuts);
        }
    }))
}
