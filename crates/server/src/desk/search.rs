//! Questions about what there is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_kernel::WaitId;
use travertine_runtime::{Address, InstanceId, Named};
use travertine_store::{
    DefinitionKey,
    search::{
        Column, Condition, ElementColumn, Era, Found, IncidentColumn, InstanceColumn, LIMIT_MAX,
        Search, Tally, TaskColumn, Test, VariableColumn,
    },
    view::{InstanceRow, Row, Table},
};

use super::{Desk, Refusal, Stay, key};

/// A row, and the instance that it is about.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The row.
    pub row: Row,
    /// The instance; `None` where there is none, or none any more.
    pub about: Option<Arc<InstanceRow>>,
}

impl Seen {
    /// The row, where it is that of an instance.
    pub fn instance(&self) -> Option<&InstanceRow> {
        if let Row::Instance(row) = &self.row { Some(row) } else { None }
    }
}

impl Desk {
    /// The rows that match, with the instances that they are about.
    pub async fn search(&self, search: Search) -> Result<Found<Seen>, Refusal> {
        self.all(self.narrowed(search)).await
    }

    /// The rows that match, whoever may see them.
    pub(super) async fn all(&self, search: Search) -> Result<Found<Seen>, Refusal> {
        let Found { rows, start, end, has_more, total } = self.engine.search(search).await?;
        let rows = self.seen(rows).await?;
        Ok(Found { rows, start, end, has_more, total })
    }

    /// How many rows match, by what they have in these columns.
    pub async fn tally(&self, search: Search, by: Vec<Column>) -> Result<Vec<Tally>, Refusal> {
        Ok(self.engine.tally(self.narrowed(search), by).await?)
    }

    /// The rows that match, alone.
    pub(crate) async fn rows(&self, search: Search) -> Result<Found, Refusal> {
        Ok(self.engine.search(self.narrowed(search)).await?)
    }

    /// Finds the instances that rows are about, all at once.
    async fn seen(&self, rows: Vec<Row>) -> Result<Vec<Seen>, Refusal> {
        let of = |row: &Row| match row {
            Row::Instance(_) | Row::Message(_) => None,
            other => Some(other.key().instance).filter(|it| *it > 0),
        };
        let ids: BTreeSet<u64> = rows.iter().filter_map(of).collect();
        let mut about: BTreeMap<u64, Arc<InstanceRow>> = BTreeMap::new();
        let ids: Vec<u64> = ids.into_iter().collect();
        // As many as one search may name.
        for ids in ids.chunks(1_000) {
            let test = match ids {
                [one] => Test::eq(*one),
                several => Test::any_of(several.iter().copied()),
            };
            let mut search = Search::of(Table::Instances)
                .with(Condition::of(InstanceColumn::Id, test))
                .limit(LIMIT_MAX);
            // What the rows follow from is stored by now.
            search.relaxed = ids.len() > 1;
            for row in self.engine.search(search).await?.rows {
                if let Row::Instance(row) = row {
                    about.insert(row.id, Arc::new(row));
                }
            }
        }
        let seen = |row: Row| {
            let about = of(&row).and_then(|id| about.get(&id)).cloned();
            Seen { row, about }
        };
        Ok(rows.into_iter().map(seen).collect())
    }

    /// The one row that has this in a column that tells rows apart, where whoever asks may do with it what they were
    /// admitted for.
    pub(crate) async fn only(
        &self,
        table: Table,
        column: Column,
        value: travertine_store::search::Value,
        missing: impl Fn() -> Refusal,
    ) -> Result<Seen, Refusal> {
        let found = self.whoever(table, column, value).await?.ok_or_else(&missing)?;
        self.may_row(&found, missing)?;
        Ok(found)
    }

    /// The one row that has this in a column that tells rows apart, whoever may see it.
    pub(super) async fn whoever(
        &self,
        table: Table,
        column: Column,
        value: travertine_store::search::Value,
    ) -> Result<Option<Seen>, Refusal> {
        let search = Search::of(table).with(Condition::Is(column, Test::Eq(value))).limit(1);
        Ok(self.all(search).await?.rows.pop())
    }

    /// The one row that has this in a column that tells rows apart, also where it is over.
    pub(super) async fn ever(
        &self,
        table: Table,
        column: Column,
        value: travertine_store::search::Value,
    ) -> Result<Option<Seen>, Refusal> {
        let search = Search::of(table).with(Condition::Is(column, Test::Eq(value))).limit(1);
        Ok(self.all(search.of_era(Era::Both)).await?.rows.pop())
    }

    /// An instance.
    pub async fn instance(&self, key: i64) -> Result<InstanceRow, Refusal> {
        let InstanceId(id) = key::instance(key)?;
        let missing = || key::no_such("process instance", key, None);
        let found =
            self.only(Table::Instances, InstanceColumn::Id.into(), id.into(), missing).await?;
        match found.row {
            Row::Instance(row) => Ok(row),
            _ => Err(missing()),
        }
    }

    /// What must hold for instances that are of processes, where there are others.
    pub(crate) fn only_processes(&self) -> Option<Condition> {
        let definitions = self.engine.definitions();
        let functions: Vec<DefinitionKey> =
            definitions.all().filter(|it| it.is_function()).map(|it| it.key).collect();
        let test = || Test::NotIn(functions.iter().map(|it| (*it).into()).collect());
        (!functions.is_empty()).then(|| Condition::of(InstanceColumn::DefinitionKey, test()))
    }

    /// The stay at an element that each wait belongs to. One that is over is not known any more.
    pub(crate) async fn visits(
        &self,
        waits: impl IntoIterator<Item = (u64, u64)>,
    ) -> BTreeMap<(u64, u64), u64> {
        let waits: BTreeSet<(u64, u64)> = waits.into_iter().collect();
        let at = |(id, wait)| Address { instance: InstanceId(id), wait: WaitId(wait) };
        // All are asked before the first is waited for.
        let asked: Vec<_> =
            waits.into_iter().map(|it| (it, self.engine.visit_of(at(it)))).collect();
        let mut found = BTreeMap::new();
        for (wait, visit) in asked {
            if let Ok(Some(visit)) = visit.await {
                found.insert(wait, visit);
            }
        }
        found
    }

    /// The callers of an instance, the outermost first; itself at the end.
    pub(crate) async fn callers(&self, key: i64) -> Result<Vec<InstanceRow>, Refusal> {
        let mut way = vec![self.instance(key).await?];
        while let Some((parent, _)) = way.last().and_then(|it| it.parent) {
            let Some(row) = self.about(InstanceId(parent)).await? else { break };
            way.push(row);
        }
        way.retain(|it| self.sees(&it.definition));
        way.reverse();
        Ok(way)
    }

    /// A stay at an element that goes on; `None` where it does not.
    pub(crate) async fn element(&self, key: i64) -> Result<Option<Seen>, Refusal> {
        let Named::Visit(InstanceId(id), visit) = key::element(key)? else { return Ok(None) };
        let found = self.whoever(Table::Elements, ElementColumn::Visit.into(), (id, visit).into());
        let Some(found) = found.await? else { return Ok(None) };
        self.may_row(&found, || key::no_such("element instance", key, None))?;
        Ok(Some(found))
    }

    /// A stay at an element, as the log of its instance tells it, and the instance.
    pub(crate) async fn stay(&self, key: i64) -> Result<(InstanceRow, Stay), Refusal> {
        let missing = || key::no_such("element instance", key, None);
        let Named::Visit(InstanceId(id), visit) = key::element(key)? else { return Err(missing()) };
        let about = self.about(InstanceId(id)).await?.ok_or_else(missing)?;
        self.may(&about.definition, missing)?;
        let way = self.way(InstanceId(id)).await?;
        let stay = way.stays.into_iter().find(|it| it.visit == visit).ok_or_else(missing)?;
        Ok((about, stay))
    }

    /// A variable.
    pub async fn variable(&self, key: i64) -> Result<Seen, Refusal> {
        let (InstanceId(id), number) = key::variable(key)?;
        let missing = || key::no_such("variable", key, None);
        let column = VariableColumn::Number.into();
        self.only(Table::Variables, column, (id, number).into(), missing).await
    }

    /// An incident.
    pub async fn incident(&self, key: i64) -> Result<Seen, Refusal> {
        let (InstanceId(id), number) = key::incident(key)?;
        let missing = || key::no_such("incident", key, None);
        let column = IncidentColumn::Number.into();
        let found = self.ever(Table::Incidents, column, (id, number).into()).await?;
        let found = found.ok_or_else(missing)?;
        self.may_row(&found, missing)?;
        Ok(found)
    }

    /// A user task.
    pub async fn task(&self, key: i64) -> Result<Seen, Refusal> {
        let at = key::wait(key, "user task")?;
        self.task_at(at, || key::no_such("user task", key, None)).await
    }

    /// A user task, by its address.
    pub(crate) async fn task_at(
        &self,
        at: Address,
        missing: impl Fn() -> Refusal,
    ) -> Result<Seen, Refusal> {
        let place = (at.instance.0, at.wait.0);
        let found = self.ever(Table::Tasks, TaskColumn::Key.into(), place.into()).await?;
        let found = found.ok_or_else(&missing)?;
        self.may_task(&found, missing)?;
        Ok(found)
    }
}
