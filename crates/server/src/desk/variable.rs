//! Variables, and what someone must look at.

use std::collections::BTreeSet;

use travertine_kernel::{Assignments, Reach, TokenId};
use travertine_runtime::InstanceId;
use travertine_store::{
    search::{Condition, Found, Search, Test, VariableColumn},
    view::{Row, TaskRow},
};

use super::{Desk, Refusal, Seen, key};

impl Desk {
    /// Sets variables as an element instance sees them: where they are, or in the element alone.
    pub async fn set_variables(
        &self,
        key: i64,
        variables: Assignments,
        local: bool,
    ) -> Result<(), Refusal> {
        let named = key::element(key)?;
        let reach = if local { Reach::Local } else { Reach::Propagate };
        Ok(self.engine.set(named, variables, reach).await?)
    }

    /// Tries again what has failed. A job must have a try left.
    pub async fn resolve(&self, key: i64) -> Result<(), Refusal> {
        let (instance, number) = key::incident(key)?;
        Ok(self.engine.resolve(instance, number, true).await?)
    }

    /// Tries again all that has failed in an instance.
    pub async fn resolve_all(&self, key: i64) -> Result<(), Refusal> {
        self.engine.retry(key::instance(key)?, None).await?;
        Ok(())
    }

    /// The variables that a user task sees, which a search is about.
    pub async fn task_variables(
        &self,
        key: i64,
        mut search: Search,
    ) -> Result<Found<Seen>, Refusal> {
        let task = self.task(key).await?;
        let Row::Task(row) = &task.row else { return Ok(Found::default()) };
        let scopes = self.scopes(row).await?;
        let scopes = scopes.into_iter().map(|visit| (row.instance, visit));
        search.conditions.push(Condition::of(VariableColumn::Visit, Test::any_of(scopes)));
        self.search(search).await
    }

    /// The stays whose variables a user task sees: its own, and those around it.
    async fn scopes(&self, task: &TaskRow) -> Result<BTreeSet<u64>, Refusal> {
        let look = self.engine.look(InstanceId(task.instance)).await?;
        let tokens = &look.state.tokens;
        let first = Some(TokenId(task.token));
        let around = std::iter::successors(first, |it| tokens.get(it).and_then(|it| it.scope));
        let visits = around.filter_map(|it| tokens.get(&it)).map(|it| it.visit);
        Ok(visits.chain([0, task.visit]).collect())
    }
}
