//! Process instances.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};
use travertine_kernel::Assignments;
use travertine_runtime::{InstanceId, Named, engine::Target};
use travertine_store::{
    search::{
        Column, Condition, ElementColumn, IncidentColumn, InstanceColumn, JobColumn, Test, Value,
    },
    view::{InstanceRow, InstanceState, Table},
};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{WireKey, names, read, tenant, variables},
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer, flag, tests, text, wrong},
    write::Fields,
};
use crate::desk::{Create, Created, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateBody<'a> {
    process_definition_id: Option<Name>,
    process_definition_key: Option<WireKey>,
    process_definition_version: Option<i64>,
    process_definition_version_tag: Option<Name>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    tenant_id: Option<Name>,
    start_instructions: Option<Vec<StartInstruction>>,
    runtime_instructions: Option<Vec<RuntimeInstruction>>,
    await_completion: Option<bool>,
    fetch_variables: Option<Vec<Name>>,
    request_timeout: Option<i64>,
    tags: Option<Vec<Name>>,
    business_id: Option<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartInstruction {
    element_id: Name,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuntimeInstruction {
    #[serde(rename = "type")]
    kind: Option<Name>,
    after_element_id: Name,
}

impl RuntimeInstruction {
    /// The element after which the instance ends; nothing else can be asked for.
    fn element(self) -> Result<Name, Refusal> {
        match self.kind.as_deref() {
            None | Some("TERMINATE_PROCESS_INSTANCE") => Ok(self.after_element_id),
            Some(other) => Err(Refusal::invalid(format!(
                "{other:?} is no runtime instruction: the only one is TERMINATE_PROCESS_INSTANCE"
            ))),
        }
    }
}

pub(super) async fn create(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: CreateBody<'_> = read(&body)?;
    tenant(body.tenant_id.as_deref())?;
    let tag = body.process_definition_version_tag.filter(|it| !it.is_empty());
    let id = body.process_definition_id.filter(|it| !it.trim().is_empty());
    let target = match (id, body.process_definition_key) {
        (Some(id), None) => match (body.process_definition_version.filter(|it| *it != -1), tag) {
            (None, None) => Target::Latest(id),
            (None, Some(tag)) => Target::Tag(id, tag),
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid(
                    "name the version by one of processDefinitionVersion and processDefinitionVersionTag",
                ));
            }
            (Some(version), None) => {
                let wrong =
                    |_| Refusal::invalid(format!("{version} is no version: they begin at 1"));
                Target::Version(id, u32::try_from(version).map_err(wrong)?)
            }
        },
        (None, Some(WireKey(key))) => Target::Key(call.desk.definition(key)?.key),
        _ => {
            return Err(Refusal::invalid(
                "name what to start by one of processDefinitionId and processDefinitionKey",
            ));
        }
    };
    let create = Create {
        target,
        variables: variables(body.variables)?,
        at: body
            .start_instructions
            .unwrap_or_default()
            .into_iter()
            .map(|it| it.element_id)
            .collect(),
        business_id: body.business_id,
        tags: names(body.tags),
        trace: call.trace(),
        ends_after: body
            .runtime_instructions
            .unwrap_or_default()
            .into_iter()
            .map(RuntimeInstruction::element)
            .collect::<Result<_, _>>()?,
    };
    if body.await_completion != Some(true) {
        let created = call.desk.create(create).await?;
        return Ok(created_answer(&created, &Vec::new()));
    }
    call.waits()?;
    let within = body.request_timeout.and_then(|it| u64::try_from(it).ok());
    let within = within.map(Duration::from_millis);
    let names = names(body.fetch_variables);
    let (created, variables) = call.desk.create_with_result(create, within, &names).await?;
    Ok(created_answer(&created, &variables))
}

fn created_answer(created: &Created, variables: &Assignments) -> Answer {
    let Created { instance, definition, business_id, tags } = created;
    Answer::object(|it| {
        it.text("processDefinitionId", &definition.id);
        it.int("processDefinitionVersion", definition.version);
        it.tenant();
        it.variables("variables", variables);
        it.key("processDefinitionKey", Named::Definition(definition.key));
        it.key("processInstanceKey", Named::Instance(*instance));
        it.texts("tags", tags);
        it.text_or_null("businessId", business_id.as_deref());
    })
}

const STATES: &[(&str, &[&str])] = &[
    ("ACTIVE", &["running", "halted"]),
    ("COMPLETED", &["completed"]),
    ("SUSPENDED", &["suspended"]),
    ("TERMINATED", &["failed", "cancelled"]),
];

const ID: Column = Column::Instance(InstanceColumn::Id);

pub(super) const INSTANCES: Resource = Resource {
    table: Table::Instances,
    filters: &[
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        ("processDefinitionName", Of::Text(Column::Instance(InstanceColumn::DefinitionName))),
        ("processDefinitionVersion", Of::Int(Column::Instance(InstanceColumn::Version))),
        ("processDefinitionVersionTag", Of::Text(Column::Instance(InstanceColumn::VersionTag))),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        ("startDate", Of::Date(Column::Instance(InstanceColumn::Started))),
        ("endDate", Of::Date(Column::Instance(InstanceColumn::Ended))),
        ("state", Of::Word(Column::Instance(InstanceColumn::State), STATES)),
        ("hasIncident", Of::Flag(Column::Instance(InstanceColumn::HasIncidents))),
        ("suspendedDate", Of::Fixed(None)),
        TENANT_FILTER,
        ("variables", Of::Variables),
        ("processInstanceKey", Of::Key(ID, search::instance)),
        (
            "parentProcessInstanceKey",
            Of::Key(Column::Instance(InstanceColumn::Parent), search::instance),
        ),
        ("parentElementInstanceKey", Of::Fixed(None)),
        ("batchOperationId", Of::Fixed(None)),
        ("batchOperationKey", Of::Fixed(None)),
        ("errorMessage", Of::Made(with_incident)),
        ("hasRetriesLeft", Of::Made(with_retries)),
        ("elementInstanceState", Of::Made(with_element_state)),
        ("elementId", Of::Made(with_element)),
        ("hasElementInstanceIncident", Of::Flag(Column::Instance(InstanceColumn::HasIncidents))),
        ("incidentErrorHashCode", Of::Fixed(None)),
        ("tags", Of::Made(with_tags)),
        ("businessId", Of::Text(Column::Instance(InstanceColumn::BusinessId))),
    ],
    sorts: &[
        ("businessId", Some(Column::Instance(InstanceColumn::BusinessId))),
        ("endDate", Some(Column::Instance(InstanceColumn::Ended))),
        ("hasIncident", Some(Column::Instance(InstanceColumn::HasIncidents))),
        ("parentElementInstanceKey", Some(Column::Instance(InstanceColumn::ParentWait))),
        ("parentProcessInstanceKey", Some(Column::Instance(InstanceColumn::Parent))),
        ("processDefinitionId", Some(Column::Instance(InstanceColumn::Definition))),
        ("processDefinitionKey", Some(Column::Instance(InstanceColumn::DefinitionKey))),
        ("processDefinitionName", Some(Column::Instance(InstanceColumn::DefinitionName))),
        ("processDefinitionVersion", Some(Column::Instance(InstanceColumn::Version))),
        ("processDefinitionVersionTag", Some(Column::Instance(InstanceColumn::VersionTag))),
        ("processInstanceKey", Some(ID)),
        ("startDate", Some(Column::Instance(InstanceColumn::Started))),
        ("state", Some(Column::Instance(InstanceColumn::State))),
        ("suspendedDate", None),
        ("tenantId", None),
    ],
};

fn texts(name: &str, wanted: Json) -> Result<Vec<Test>, Refusal> {
    tests(name, wanted, &|it| text(name, it).map(|it| vec![it.into()]))
}

/// Instances with an incident that says this.
fn with_incident(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let tests = texts(name, wanted)?.into_iter();
    let has = tests.map(|it| Condition::of(IncidentColumn::Message, it)).collect();
    Ok(vec![Condition::Has(Table::Incidents, has)])
}

/// Instances that are at such an element.
fn with_element(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let tests = texts(name, wanted)?.into_iter();
    let has = tests.map(|it| Condition::of(ElementColumn::Element, it)).collect();
    Ok(vec![Condition::Has(Table::Elements, has)])
}

/// Instances with all of these tags.
pub(super) fn with_tags(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let Json::Array(tags) = wanted else { return Err(wrong(name, &wanted, "a list of texts")) };
    let tags = tags.iter().map(|it| text(name, it));
    tags.map(|it| Ok(Condition::of(InstanceColumn::Tag, Test::Eq(it?.into())))).collect()
}

/// Only what is there now is in rows, so an element that is not active is not found.
fn with_element_state(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let upper = |it: &Json| Ok(vec![text(name, it)?.to_uppercase().as_str().into()]);
    let holds = tests(name, wanted, &upper)?.iter().all(|it| it.passes(Some(&"ACTIVE".into())));
    let has = Condition::Has(Table::Elements, Vec::new());
    Ok(vec![if holds { has } else { Condition::Any(Vec::new()) }])
}

/// Instances with a job that has failed and is tried again.
fn with_retries(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let tests = tests(name, wanted, &|it| flag(name, it))?;
    let left = vec![
        Condition::of(JobColumn::Retries, Test::Gt(Value::Number(0))),
        Condition::of(JobColumn::Error, Test::Exists(true)),
    ];
    let holds = |it: bool| tests.iter().all(|test| test.passes(Some(&it.into())));
    Ok(match (holds(true), holds(false)) {
        (true, true) => Vec::new(),
        (true, false) => vec![Condition::Has(Table::Jobs, left)],
        // Who has none cannot be asked for.
        (false, _) => vec![Condition::Any(Vec::new())],
    })
}

pub(super) async fn search_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let mut search = Asked::read(&body)?.search(&INSTANCES)?;
    // Functions are no processes.
    search.conditions.extend(call.desk.only_processes());
    let found = call.desk.search(search).await?;
    let callers = found.rows.iter().filter_map(|it| it.instance()?.parent);
    let parents = call.desk.visits(callers).await;
    Ok(answer(&found, |it, seen| {
        if let Some(row) = seen.instance() {
            instance(it, row, &parents);
        }
    }))
}

pub(super) async fn by_key(call: Call) -> Result<Answer, Refusal> {
    let row = call.desk.instance(call.key()?).await?;
    let parents = call.desk.visits(row.parent).await;
    Ok(Answer::object(|it| instance(it, &row, &parents)))
}

fn instance(it: &mut Fields<'_>, row: &InstanceRow, parents: &BTreeMap<(u64, u64), u64>) {
    it.text("processDefinitionId", &row.definition);
    it.text_or_null("processDefinitionName", row.definition_name.as_deref());
    it.int("processDefinitionVersion", row.version);
    it.text_or_null("processDefinitionVersionTag", row.version_tag.as_deref());
    it.date("startDate", row.started);
    it.date_or_null("endDate", row.ended);
    it.text(
        "state",
        match row.state {
            InstanceState::Running | InstanceState::Halted => "ACTIVE",
            InstanceState::Suspended => "SUSPENDED",
            InstanceState::Completed => "COMPLETED",
            InstanceState::Failed | InstanceState::Cancelled => "TERMINATED",
        },
    );
    it.null("suspendedDate");
    it.flag("hasIncident", row.incidents > 0 || row.state == InstanceState::Halted);
    it.tenant();
    it.key("processInstanceKey", Named::Instance(InstanceId(row.id)));
    it.key("processDefinitionKey", Named::Definition(row.definition_key));
    let parent = row.parent.map(|(id, _)| InstanceId(id));
    it.key_or_null("parentProcessInstanceKey", parent.map(Named::Instance));
    let visit = row.parent.and_then(|it| parents.get(&it).copied());
    let visit = parent.zip(visit).map(|(id, visit)| Named::Visit(id, visit));
    it.key_or_null("parentElementInstanceKey", visit);
    it.key("rootProcessInstanceKey", Named::Instance(InstanceId(row.root)));
    it.json("tags", row.tags.as_deref().unwrap_or("[]"));
    it.text_or_null("businessId", row.business_id.as_deref());
}

/// The instances on the way from the outermost caller to this one.
pub(super) async fn call_hierarchy(call: Call) -> Result<Answer, Refusal> {
    let way = call.desk.callers(call.key()?).await?;
    Ok(Answer::array(&way, |it, row| {
        it.key("processInstanceKey", Named::Instance(InstanceId(row.id)));
        it.key("processDefinitionKey", Named::Definition(row.definition_key));
        it.text("processDefinitionName", row.definition_name.as_ref().unwrap_or(&row.definition));
    }))
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Refusal> {
    call.desk.cancel(call.key()?).await?;
    Ok(Answer::Done)
}
