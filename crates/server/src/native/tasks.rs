//! Work for people.

use travertine_data::json;
use travertine_runtime::{Address, Edit, TaskChange, Timestamp};
use travertine_store::{
    search::{Column, Condition, Era, InstanceColumn, Search, TaskColumn, Test},
    view::Table,
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call, wrong_field},
    list::{self, Listed},
    operate::told,
    problem::{Problem, once_done},
};
use crate::desk::{Refusal, Seen, form_of, off_the_executor};

pub(super) static LIST: Listed = Listed {
    table: Table::Tasks,
    field: "tasks",
    columns: &[
        ("definition", Column::Instance(InstanceColumn::Definition)),
        ("version", Column::Instance(InstanceColumn::Version)),
        ("id", Column::Instance(InstanceColumn::BusinessId)),
        ("element", Column::Task(TaskColumn::Element)),
        ("label", Column::Task(TaskColumn::Label)),
        ("assignee", Column::Task(TaskColumn::Assignee)),
        ("user", Column::Task(TaskColumn::CandidateUsers)),
        ("group", Column::Task(TaskColumn::CandidateGroups)),
        ("form", Column::Task(TaskColumn::Form)),
        ("due", Column::Task(TaskColumn::Due)),
        ("follow_up", Column::Task(TaskColumn::FollowUp)),
        ("created", Column::Task(TaskColumn::Created)),
        ("state", Column::Task(TaskColumn::State)),
        ("ended", Column::Task(TaskColumn::Ended)),
        ("by", Column::Task(TaskColumn::By)),
    ],
    others: &["instance", "unassigned"],
    newest_first: false,
};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut search = LIST.search(&call)?;
    if let Some(instance) = call.instance_parameter("instance").await? {
        search.conditions.push(Condition::of(TaskColumn::Instance, Test::eq(instance.0)));
    }
    if call.flag("unassigned")? {
        search.conditions.push(Condition::of(TaskColumn::Assignee, Test::Exists(false)));
    }
    LIST.answer(&call, search).await
}

async fn found(call: &Call, task: Address) -> Result<Option<Seen>, Problem> {
    let search = Search::of(Table::Tasks)
        .with(Condition::of(TaskColumn::Key, Test::eq((task.instance.0, task.wait.0))))
        .of_era(Era::Both)
        .limit(1);
    Ok(call.desk.search(search).await?.rows.pop())
}

fn missing(task: Address) -> Problem {
    Refusal::not_found(format!("there is no user task {task}, or none any more")).into()
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    let (task, _) = call.task().await?;
    let seen = found(&call, task).await?.ok_or_else(|| missing(task))?;
    let document = list::document(&seen);
    let mut fields = document.as_map().cloned().unwrap_or_default();
    let look = call.desk.engine().look(task.instance).await?;
    let token = fields.get("token").and_then(Value::as_str).and_then(|it| it.parse().ok());
    let token =
        token.map(travertine_kernel::TokenId).filter(|it| look.state.tokens.get(it).is_some());
    let variables = match token {
        Some(token) => {
            travertine_kernel::View::new(&look.definition.plan, &look.state, token).all()
        }
        None => look.variables,
    };
    fields.insert("variables".into(), variables.into_iter().collect());
    Ok(Answer::Document(fields.into()))
}

/// The form of a task, as it was deployed.
pub(super) async fn form(call: Call) -> Result<Answer, Problem> {
    let (task, _) = call.task().await?;
    let seen = found(&call, task).await?.ok_or_else(|| missing(task))?;
    let none = || Refusal::not_found(format!("user task {task} has no form that is deployed"));
    let form = form_of(&seen, &call.desk.definitions()).ok_or_else(none)?;
    let (engine, key) = (call.desk.engine().clone(), form.key);
    let file = off_the_executor(move || Ok(engine.file_of(key)?)).await?;
    let body = String::from_utf8_lossy(&file.body).into_owned();
    let schema = Value::parse_json(&body).unwrap_or(Value::Null);
    Ok(Answer::Document(json::object([
        ("form", Name::clone(&form.id).into()),
        ("version", form.version.into()),
        ("key", json::key(form.key.0)),
        ("schema", schema),
    ])))
}

/// The task as it then is; only its name, where what has followed has ended it.
async fn changed(call: &Call, task: Address) -> Result<Answer, Problem> {
    Ok(Answer::Document(match once_done(found(call, task).await)? {
        Some(seen) => list::document(&seen),
        None => json::object([("task", task.to_string().into())]),
    }))
}

pub(super) async fn claim(call: Call) -> Result<Answer, Problem> {
    let (task, key) = call.task().await?;
    let who = match (call.text("assignee")?, &call.principal.name) {
        (Some(who), _) => who,
        (None, Some(who)) => Name::clone(who),
        (None, None) => {
            return Err(Refusal::invalid("for whom is the task? say assignee").into());
        }
    };
    call.desk.assign_task(key, &who, false).await?;
    changed(&call, task).await
}

pub(super) async fn unclaim(call: Call) -> Result<Answer, Problem> {
    let (task, key) = call.task().await?;
    call.desk.unassign_task(key).await?;
    changed(&call, task).await
}

pub(super) async fn complete(call: Call) -> Result<Answer, Problem> {
    let ((task, key), variables) = (call.task().await?, call.variables("variables")?);
    call.desk.complete_task(key, variables).await?;
    told(&call, task.instance).await
}

pub(super) async fn change(call: Call) -> Result<Answer, Problem> {
    let (task, key) = call.task().await?;
    let time = |name: &str| -> Result<Edit<Timestamp>, Problem> {
        if !call.has(name) {
            return Ok(Edit::Keep);
        }
        let Some(text) = call.text(name)? else { return Ok(Edit::Remove) };
        let at = travertine_value::time::due(
            travertine_value::time::Timer::Date,
            &text,
            Timestamp::default(),
        );
        let wrong = |_| {
            Refusal::invalid(format!(
                "the field {name} is a date such as 2026-05-17T09:30:00Z, not {text:?}"
            ))
        };
        Ok(Edit::Set(at.map_err(wrong)?.at))
    };
    let assignee = match (call.has("assignee"), call.text("assignee")?) {
        (false, _) => Edit::Keep,
        (true, None) => Edit::Remove,
        (true, Some(who)) => Edit::Set(who),
    };
    let names = |name: &str| call.has(name).then(|| call.texts(name)).transpose();
    let priority = match call.field("priority") {
        None => None,
        Some(it) => Some(it.as_i64().ok_or_else(|| wrong_field("priority", "a whole number", it))?),
    };
    let change = TaskChange {
        assignee,
        candidate_users: names("candidate_users")?,
        candidate_groups: names("candidate_groups")?,
        due: time("due")?,
        follow_up: time("follow_up")?,
        priority,
    };
    if change == TaskChange::default() {
        return Err(Refusal::invalid("there is nothing to change: name a field").into());
    }
    call.desk.update_task(key, change).await?;
    changed(&call, task).await
}
