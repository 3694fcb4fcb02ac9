//! Work for people.

use std::sync::Arc;

use travertine_kernel::{Assignments, EXTERNAL_FORM, FORM_KEY, plan::WorkKind};
use travertine_runtime::{Definitions, Deployed, DeployedKind, Edit, TaskChange};
use travertine_store::{DefinitionKey, view::Row};
use travertine_value::{Name, Value};

use super::{Desk, Refusal, Seen, key};

/// The least and the greatest priority of a user task.
const PRIORITY: std::ops::RangeInclusive<i64> = 0..=100;

impl Desk {
    /// Gives a user task to someone; also when it is somebody else's, where that is allowed.
    pub async fn assign_task(&self, key: i64, to: &str, may_override: bool) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if to.is_empty() {
            return Err(Refusal::invalid("the assignee is missing: name who is to do the task"));
        }
        let taken = self.own_task(key).await?;
        if let Some((seen, assignee)) = &taken
            && (self.who().is_none_or(|it| **it != *to)
                || assignee.as_ref().is_some_and(|it| **it != *to))
        {
            return Err(self.others_task(seen));
        }
        if may_override && taken.is_none() {
            let change = TaskChange { assignee: Edit::Set(to.into()), ..TaskChange::default() };
            return Ok(self.engine.change_task(task, change).await?);
        }
        Ok(self.engine.claim(task, to).await?)
    }

    /// Takes a user task from whoever has it.
    pub async fn unassign_task(&self, key: i64) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if let Some((seen, assignee)) = self.own_task(key).await?
            && assignee.is_some()
            && assignee.as_ref() != self.who()
        {
            return Err(self.others_task(&seen));
        }
        Ok(self.engine.unclaim(task).await?)
    }

    /// Changes who may do a user task, and until when.
    pub async fn update_task(&self, key: i64, change: TaskChange) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if let Some(priority) = change.priority.filter(|it| !PRIORITY.contains(it)) {
            let detail = format!("the priority of a user task is from 0 to 100, not {priority}");
            return Err(Refusal::invalid(detail));
        }
        if let Some((seen, _)) = self.own_task(key).await? {
            return Err(self.others_task(&seen));
        }
        Ok(self.engine.change_task(task, change).await?)
    }

    /// A task and who has it, where whoever asks may do something with it only because it is assigned or offered to
    /// them; `None` where they may do everything with it.
    async fn own_task(&self, key: i64) -> Result<Option<(Seen, Option<Name>)>, Refusal> {
        if !self.is_limited() {
            return Ok(None);
        }
        let seen = self.task(key).await?;
        let is_theirs = self.may_task(&seen, || key::no_such("user task", key, None))?;
        let assignee = if let Row::Task(row) = &seen.row { row.assignee.clone() } else { None };
        Ok(is_theirs.then_some((seen, assignee)))
    }

    /// A user task is done.
    pub async fn complete_task(&self, key: i64, variables: Assignments) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if let Some((seen, assignee)) = self.own_task(key).await?
            && assignee.is_some()
            && assignee.as_ref() != self.who()
        {
            return Err(self.others_task(&seen));
        }
        Ok(self.engine.complete_work(task, WorkKind::User, true, variables).await?)
    }
}

/// The form of a user task, where it is deployed: the version that was meant when the task began.
pub(crate) fn form_of(task: &Seen, definitions: &Definitions) -> Option<Arc<Deployed>> {
    let Row::Task(row) = &task.row else { return None };
    let fields = Value::parse_json(&row.fields).ok()?;
    let key = fields.field(FORM_KEY).and_then(Value::as_i64);
    if let Some(key) = key.and_then(|it| u64::try_from(it).ok()).map(DefinitionKey) {
        return definitions.deployed_as(key).filter(|it| it.kind == DeployedKind::Form).cloned();
    }
    let is_elsewhere = fields.field(EXTERNAL_FORM).is_some();
    let form = row.form.as_ref().filter(|_| !is_elsewhere)?;
    definitions.latest_deployed(DeployedKind::Form, form).cloned()
}
