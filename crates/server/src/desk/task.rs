//! Work for people.

use travertine_kernel::Assignments;
use travertine_runtime::{Edit, TaskChange};

use super::{Desk, Refusal, key};

/// The least and the greatest priority of a user task.
const PRIORITY: std::ops::RangeInclusive<i64> = 0..=100;

impl Desk {
    /// Gives a user task to someone; also when it is somebody else's, where that is allowed.
    pub async fn assign_task(&self, key: i64, to: &str, may_override: bool) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if to.is_empty() {
            return Err(Refusal::invalid("the assignee is missing: name who is to do the task"));
        }
        if may_override {
            let change = TaskChange { assignee: Edit::Set(to.into()), ..TaskChange::default() };
            return Ok(self.engine.change_task(task, change).await?);
        }
        Ok(self.engine.claim(task, to).await?)
    }

    /// Takes a user task from whoever has it.
    pub async fn unassign_task(&self, key: i64) -> Result<(), Refusal> {
        Ok(self.engine.unclaim(key::wait(key, "user task")?).await?)
    }

    /// Changes who may do a user task, and until when.
    pub async fn update_task(&self, key: i64, change: TaskChange) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        if let Some(priority) = change.priority.filter(|it| !PRIORITY.contains(it)) {
            let detail = format!("the priority of a user task is from 0 to 100, not {priority}");
            return Err(Refusal::invalid(detail));
        }
        Ok(self.engine.change_task(task, change).await?)
    }

    /// A user task is done.
    pub async fn complete_task(&self, key: i64, variables: Assignments) -> Result<(), Refusal> {
        let task = key::wait(key, "user task")?;
        Ok(self.engine.complete(task, variables).await?)
    }
}
