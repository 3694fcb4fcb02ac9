//! Work for people.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_kernel::{EXTERNAL_FORM, FORM, FORM_BINDING, FORM_KEY};
use travertine_runtime::{Definitions, Edit, InstanceId, Named, TaskChange, Timestamp};
use travertine_store::{
    search::{Column, InstanceColumn, TaskColumn},
    view::{Row, Table, TaskState},
};
use travertine_value::{Map, Name, Value};

use super::{
    Answer, Call, definition,
    instance::with_tags,
    read::{date, read, read_if_any, variables},
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer},
    write::Fields,
};
use crate::desk::{Refusal, Seen, form_of};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssignBody {
    assignee: Option<Name>,
    allow_override: Option<bool>,
}

pub(super) async fn assign(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: AssignBody = read(&body)?;
    let to = body.assignee.unwrap_or_else(|| "".into());
    call.desk.assign_task(call.key()?, &to, body.allow_override.unwrap_or(true)).await?;
    Ok(Answer::Done)
}

pub(super) async fn unassign(call: Call) -> Result<Answer, Refusal> {
    call.desk.unassign_task(call.key()?).await?;
    Ok(Answer::Done)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateBody {
    changeset: Option<Changeset>,
}

/// What is left out stays, and what is empty is taken away.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changeset {
    due_date: Option<Name>,
    follow_up_date: Option<Name>,
    candidate_users: Option<Vec<Name>>,
    candidate_groups: Option<Vec<Name>>,
    priority: Option<i64>,
}

fn edit(text: Option<Name>) -> Result<Edit<Timestamp>, Refusal> {
    match text {
        None => Ok(Edit::Keep),
        Some(text) if text.is_empty() => Ok(Edit::Remove),
        Some(text) => date(&text).map(Edit::Set),
    }
}

pub(super) async fn update(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: UpdateBody = read_if_any(&body)?;
    let change = body.changeset.unwrap_or_default();
    let change = TaskChange {
        assignee: Edit::Keep,
        candidate_users: change.candidate_users,
        candidate_groups: change.candidate_groups,
        due: edit(change.due_date)?,
        follow_up: edit(change.follow_up_date)?,
        priority: change.priority,
    };
    call.desk.update_task(call.key()?, change).await?;
    Ok(Answer::Done)
}

#[derive(Default, Deserialize)]
struct CompleteBody<'a> {
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

pub(super) async fn complete(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: CompleteBody<'_> = read_if_any(&body)?;
    call.desk.complete_task(call.key()?, variables(body.variables)?).await?;
    Ok(Answer::Done)
}

const STATES: &[(&str, &[&str])] = &[
    ("ASSIGNING", &[]),
    ("CANCELED", &["cancelled"]),
    ("CANCELING", &[]),
    ("COMPLETED", &["completed"]),
    ("COMPLETING", &[]),
    ("CREATED", &["open"]),
    ("CREATING", &[]),
    ("FAILED", &[]),
    ("UPDATING", &[]),
];

const TASKS: Resource = Resource {
    table: Table::Tasks,
    filters: &[
        ("state", Of::Word(Column::Task(TaskColumn::State), STATES)),
        ("assignee", Of::Text(Column::Task(TaskColumn::Assignee))),
        ("businessId", Of::Text(Column::Instance(InstanceColumn::BusinessId))),
        ("priority", Of::Int(Column::Task(TaskColumn::Priority))),
        ("elementId", Of::Text(Column::Task(TaskColumn::Element))),
        ("name", Of::Text(Column::Task(TaskColumn::Label))),
        ("candidateGroup", Of::Text(Column::Task(TaskColumn::CandidateGroups))),
        ("candidateUser", Of::Text(Column::Task(TaskColumn::CandidateUsers))),
        TENANT_FILTER,
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        ("creationDate", Of::Date(Column::Task(TaskColumn::Created))),
        ("completionDate", Of::Date(Column::Task(TaskColumn::Ended))),
        ("followUpDate", Of::Date(Column::Task(TaskColumn::FollowUp))),
        ("dueDate", Of::Date(Column::Task(TaskColumn::Due))),
        ("processInstanceVariables", Of::Variables),
        ("localVariables", Of::Variables),
        ("userTaskKey", Of::Key(Column::Task(TaskColumn::Key), search::wait)),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        ("processInstanceKey", Of::Key(Column::Task(TaskColumn::Instance), search::instance)),
        ("elementInstanceKey", Of::Key(Column::Task(TaskColumn::Visit), search::visit)),
        ("tags", Of::Made(with_tags)),
    ],
    sorts: &[
        ("businessId", Some(Column::Instance(InstanceColumn::BusinessId))),
        ("completionDate", Some(Column::Task(TaskColumn::Ended))),
        ("creationDate", Some(Column::Task(TaskColumn::Created))),
        ("dueDate", Some(Column::Task(TaskColumn::Due))),
        ("followUpDate", Some(Column::Task(TaskColumn::FollowUp))),
        ("name", Some(Column::Task(TaskColumn::Label))),
        ("priority", Some(Column::Task(TaskColumn::Priority))),
    ],
};

pub(super) async fn search_tasks(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let definitions = call.desk.definitions();
    let search = Asked::read(&body)?.search(&TASKS)?;
    let found = call.desk.search(search).await?;
    Ok(answer(&found, |it, seen| task(it, seen, &definitions)))
}

pub(super) async fn by_key(call: Call) -> Result<Answer, Refusal> {
    let seen = call.desk.task(call.key()?).await?;
    Ok(Answer::object(|it| task(it, &seen, &call.desk.definitions())))
}

pub(super) async fn form(call: Call) -> Result<Answer, Refusal> {
    let seen = call.desk.task(call.key()?).await?;
    match form_of(&seen, &call.desk.definitions()) {
        Some(form) => definition::form(&call.desk, &form).await,
        None => Ok(Answer::Done),
    }
}

/// What the model says of a task besides what has a field of its own.
const FIELDS: &[&str] =
    &["assignee", "candidateUsers", "candidateGroups", "dueDate", "followUpDate", "priority"];

/// The headers among what the model says of a task, which are texts.
fn headers(fields: &str) -> Value {
    let Ok(Value::Map(all)) = Value::parse_json(fields) else { return Map::new().into() };
    let is_header = |(name, value): &(&Name, &Value)| {
        value.as_str().is_some()
            && !FIELDS.contains(&&***name)
            && ![FORM, FORM_KEY, FORM_BINDING, EXTERNAL_FORM].contains(&&***name)
    };
    let headers = all.iter().filter(is_header).map(|(name, it)| (Name::clone(name), it.clone()));
    headers.collect::<Map>().into()
}

fn task(it: &mut Fields<'_>, seen: &Seen, definitions: &Definitions) {
    let Row::Task(row) = &seen.row else { return };
    let (about, instance) = (seen.about.as_deref(), InstanceId(row.instance));
    let form = form_of(seen, definitions);
    it.text_or_null("name", row.label.as_deref());
    it.text(
        "state",
        match row.state {
            TaskState::Open => "CREATED",
            TaskState::Completed => "COMPLETED",
            TaskState::Cancelled => "CANCELED",
        },
    );
    it.text_or_null("assignee", row.assignee.as_deref());
    it.text("elementId", &row.element);
    it.json("candidateGroups", &row.candidate_groups);
    it.json("candidateUsers", &row.candidate_users);
    it.text("processDefinitionId", about.map_or("", |it| &it.definition));
    it.date("creationDate", row.created);
    it.date_or_null("completionDate", row.ended);
    it.date_or_null("followUpDate", row.follow_up);
    it.date_or_null("dueDate", row.due);
    it.tenant();
    // What is no form of ours is somebody else's.
    it.text_or_null("externalFormReference", row.form.as_deref().filter(|_| form.is_none()));
    it.int("processDefinitionVersion", about.map_or(0, |it| it.version));
    it.value("customHeaders", &headers(&row.fields));
    it.key("userTaskKey", search::waiting(row.instance, row.wait));
    it.key("elementInstanceKey", search::stay(row.instance, row.visit));
    it.text_or_null("processName", about.and_then(|it| it.definition_name.as_deref()));
    it.key(
        "processDefinitionKey",
        Named::Definition(about.map(|it| it.definition_key).unwrap_or_default()),
    );
    it.key("processInstanceKey", Named::Instance(instance));
    it.key_or_null("rootProcessInstanceKey", about.map(|it| Named::Instance(InstanceId(it.root))));
    it.text_or_null("businessId", about.and_then(|it| it.business_id.as_deref()));
    it.key_or_null("formKey", form.map(|it| it.named()));
    it.json("tags", about.and_then(|it| it.tags.as_deref()).unwrap_or("[]"));
    it.int("priority", row.priority);
}
