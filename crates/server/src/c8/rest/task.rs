//! Work for people.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_runtime::{Edit, TaskChange};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{date, read, read_if_any, variables},
};
use crate::desk::Refusal;

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

fn edit(text: Option<Name>) -> Result<Edit<i64>, Refusal> {
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
