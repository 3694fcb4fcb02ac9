//! Variables, and what someone must look at.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, btree_map::Entry},
};

use travertine_kernel::{Assignments, Instance, Reach, Token, TokenId};
use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Condition, Found, LIMIT_MAX, Place, Search, Test, Value, VariableColumn},
    view::{Row, Table, TaskRow},
};
use travertine_value::Name;

use super::{Desk, Refusal, Seen, key};

/// What becomes of variables that another one of the same name hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadowed {
    /// They are among what is found.
    Shown,
    /// They are left out.
    Left,
}

/// A token and those around it, outwards.
fn around(state: &Instance, token: TokenId) -> impl Iterator<Item = &Token> {
    std::iter::successors(state.tokens.get(&token), |it| state.tokens.get(&it.scope?))
}

impl Desk {
    /// Sets variables as an element instance sees them: where they are, or in the element alone.
    pub async fn set_variables(
        &self,
        key: i64,
        variables: Assignments,
        local: bool,
    ) -> Result<(), Refusal> {
        let named = key::element(key)?;
        let missing = || key::no_such("element instance", key, None);
        self.may_instance(named.instance().ok_or_else(missing)?, missing).await?;
        let reach = if local { Reach::Local } else { Reach::Propagate };
        Ok(self.engine.set(named, variables, reach).await?)
    }

    /// Tries again what has failed. A job must have a try left.
    pub async fn resolve(&self, key: i64) -> Result<(), Refusal> {
        let (instance, number) = key::incident(key)?;
        self.may_instance(instance, || key::no_such("incident", key, None)).await?;
        Ok(self.engine.resolve(instance, number, true).await?)
    }

    /// Tries again all that has failed in an instance.
    pub async fn resolve_all(&self, key: i64) -> Result<(), Refusal> {
        let instance = key::instance(key)?;
        self.may_instance(instance, || key::no_such("process instance", key, None)).await?;
        self.engine.retry(instance, None).await?;
        Ok(())
    }

    /// The variables of a user task and of what is around it, which a search is about.
    pub async fn task_variables(
        &self,
        key: i64,
        mut search: Search,
        shadowed: Shadowed,
    ) -> Result<Found<Seen>, Refusal> {
        let task = self.task(key).await?;
        let Row::Task(row) = &task.row else { return Ok(Found::default()) };
        let scopes = self.scopes(row).await?;
        let of = |visits: &[u64]| {
            let visits = visits.iter().map(|visit| (row.instance, *visit));
            Condition::of(VariableColumn::Visit, Test::any_of(visits))
        };
        if shadowed == Shadowed::Left {
            let hidden = self.hidden(of(&scopes), &scopes).await?;
            search.conditions.push(Condition::of(VariableColumn::Number, Test::NotIn(hidden)));
        }
        search.conditions.push(of(&scopes));
        // Whoever may see the task may see these.
        self.all(search).await
    }

    /// The variables in these scopes, the innermost first, that another of the same name hides.
    async fn hidden(&self, of: Condition, scopes: &[u64]) -> Result<Vec<Value>, Refusal> {
        let mut search = Search::of(Table::Variables).with(of).limit(LIMIT_MAX);
        let mut seen: BTreeMap<Name, ((usize, Reverse<u64>), Value)> = BTreeMap::new();
        let mut hidden = Vec::new();
        loop {
            let found = self.engine.search(search.clone()).await?;
            for row in found.rows {
                let Row::Variable(it) = row else { continue };
                let scope = scopes.iter().position(|visit| *visit == it.visit);
                // Where a stay has several layers, the newer one is inside the older.
                let place = (scope.unwrap_or(usize::MAX), Reverse(it.layer));
                let number = Value::from((it.instance, it.number));
                match seen.entry(it.name) {
                    Entry::Vacant(entry) => {
                        entry.insert((place, number));
                    }
                    Entry::Occupied(mut entry) if place < entry.get().0 => {
                        hidden.push(entry.insert((place, number)).1);
                    }
                    Entry::Occupied(_) => hidden.push(number),
                }
            }
            match found.end.filter(|_| found.has_more) {
                Some(end) => search.place = Place::After(end),
                None => return Ok(hidden),
            }
        }
    }

    /// The stays whose variables a user task sees: its own, and those around it, outwards.
    async fn scopes(&self, task: &TaskRow) -> Result<Vec<u64>, Refusal> {
        let look = self.engine.look(InstanceId(task.instance)).await?;
        let mut scopes = vec![task.visit];
        for token in around(&look.state, TokenId(task.token)) {
            if !scopes.contains(&token.visit) && token.visit != 0 {
                scopes.push(token.visit);
            }
        }
        scopes.push(0);
        Ok(scopes)
    }

    /// The stays with an incident in an element instance, itself and all that is inside it.
    pub(crate) async fn failing_inside(&self, key: i64) -> Result<Vec<(u64, u64)>, Refusal> {
        let named = key::element(key)?;
        let missing = || key::no_such("element instance", key, None);
        let instance = named.instance().ok_or_else(missing)?;
        let visit = if let Named::Visit(_, visit) = named { visit } else { 0 };
        self.may_instance(instance, missing).await?;
        let look = self.engine.look(instance).await?;
        if visit != 0 && look.state.token_on(visit).is_none() {
            // One that is over has none; one that never was is nobody's.
            self.stay(key).await?;
        }
        let state = &look.state;
        let inside = state
            .incidents
            .keys()
            .filter(|token| around(state, **token).any(|it| it.visit == visit));
        let visits = inside.filter_map(|it| state.tokens.get(it)).map(|it| (instance.0, it.visit));
        Ok(visits.collect())
    }
}
