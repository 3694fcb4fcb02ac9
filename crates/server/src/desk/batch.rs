//! Batches: one operation on each of many instances.

use std::sync::Arc;

use travertine_runtime::{
    Batch, BatchCause, BatchOutcome, BatchPage, BatchWork, Error, InstanceId, OWN,
    batch::BATCH_MAX, engine::BatchGuard,
};
use travertine_store::{
    search::{Condition, IncidentColumn, InstanceColumn, LIMIT_MAX, Place, Search, Test},
    view::{InstanceRow, Row, Table},
};
use travertine_value::Name;

use super::{Desk, Refusal, key};
use crate::access::{Gate, Permission};

/// What somebody needs to do this with many instances, which is what they need to do it with one.
pub(crate) fn needed(work: &BatchWork) -> Permission {
    match work {
        BatchWork::Delete => Permission::Admin,
        BatchWork::Cancel
        | BatchWork::Resolve { .. }
        | BatchWork::Suspend
        | BatchWork::Resume
        | BatchWork::Set { .. }
        | BatchWork::Migrate { .. }
        | BatchWork::Modify { .. } => Permission::Operate,
    }
}

/// An instance has an incident with that cause now, where one is named.
fn has_cause(only: &BatchCause) -> Option<Condition> {
    let words = [
        (IncidentColumn::Element, &only.element),
        (IncidentColumn::Kind, &only.kind),
        (IncidentColumn::Code, &only.code),
    ];
    let named = words
        .into_iter()
        .filter_map(|(column, it)| Some(Condition::of(column, Test::eq(it.as_deref()?))));
    let mut all: Vec<Condition> = named.collect();
    if all.is_empty() {
        return None;
    }
    all.push(Condition::of(IncidentColumn::Ended, Test::Exists(false)));
    Some(Condition::Has(Table::Incidents, all))
}

/// Asks for each instance what whoever began a batch may do at that moment.
#[derive(Debug)]
pub(crate) struct Rights(pub(crate) Arc<Gate>);

impl BatchGuard for Rights {
    fn may(&self, who: &str, work: &BatchWork, of: &InstanceRow) -> Result<(), String> {
        self.0.may_later(who, needed(work), &of.definition)
    }
}

impl Desk {
    /// The desk for those who may do this with instances.
    pub(crate) fn for_batch(&self, work: &BatchWork) -> Result<Self, Refusal> {
        self.needing(needed(work))
    }

    /// What must hold for instances of a batch, besides what is asked for: those are left out with which nothing could
    /// be done, and those that the engine keeps for itself.
    pub(crate) fn only_possible(work: &BatchWork, mut search: Search, named: bool) -> Search {
        let has_ended = matches!(work, BatchWork::Delete);
        search.conditions.push(Condition::of(InstanceColumn::Ended, Test::Exists(has_ended)));
        if let BatchWork::Resolve { only, .. } = work {
            search.conditions.extend(has_cause(only));
        }
        // A batch does nothing with batches; with schedules only where they are named.
        let own = if named { &OWN[1..] } else { &OWN[..] };
        let own = own.iter().map(|it| Name::from(*it).into()).collect();
        search.conditions.push(Condition::of(InstanceColumn::Definition, Test::NotIn(own)));
        search
    }

    /// A page of instances for a batch, in the order of their numbers; `None` behind the last one.
    pub(crate) fn first_page(mut search: Search) -> Search {
        search.sort = vec![travertine_store::search::Sort {
            column: InstanceColumn::Id.into(),
            descending: false,
        }];
        search.place = Place::First;
        search.count = false;
        search.relaxed = false;
        search.limit(LIMIT_MAX)
    }

    /// All instances that match now.
    pub(crate) async fn frozen(&self, search: Search) -> Result<Vec<InstanceId>, Refusal> {
        let mut search = Self::first_page(search);
        let mut all = Vec::new();
        loop {
            let found = self.rows(search.clone()).await?;
            all.extend(found.rows.iter().filter_map(number));
            few_enough(&all)?;
            match found.end.filter(|_| found.has_more) {
                Some(end) => search.place = Place::After(end),
                None => return Ok(all),
            }
        }
    }

    /// Begins a batch.
    pub(crate) async fn begin_batch(
        &self,
        batch: Batch,
        instances: Vec<InstanceId>,
    ) -> Result<(InstanceId, Batch), Refusal> {
        let id = self.engine.begin_batch(batch, instances).await?;
        Ok((id, self.batch(id).await.map_err(Refusal::once_done)?))
    }

    /// The batches that whoever asks may see, the latest first: all, or their own.
    pub(crate) async fn batches(&self) -> Result<Vec<(InstanceId, Batch)>, Refusal> {
        let mut all = self.engine.batches().await?;
        all.retain(|(id, it)| self.may_batch(*id, it).is_ok());
        Ok(all)
    }

    fn may_batch(&self, id: InstanceId, batch: &Batch) -> Result<(), Refusal> {
        let missing = || no_such_batch(id);
        self.may_begun(batch.who.as_deref(), "batches of others", missing)
    }

    /// A batch.
    pub(crate) async fn batch(&self, id: InstanceId) -> Result<Batch, Refusal> {
        let found = self.engine.find_batch(id).await?.ok_or_else(|| no_such_batch(id))?;
        self.may_batch(id, &found)?;
        Ok(found)
    }

    /// What became of the instances of a batch.
    pub(crate) async fn batch_items(
        &self,
        id: InstanceId,
        after: u64,
        limit: u64,
        only: Option<BatchOutcome>,
    ) -> Result<BatchPage, Refusal> {
        self.batch(id).await?;
        let page = self.engine.batch_items(id, after, limit, only).await?;
        page.ok_or_else(|| no_such_batch(id))
    }

    /// Has a batch stand still, or go on.
    pub(crate) async fn pause_batch(&self, id: InstanceId, paused: bool) -> Result<Batch, Refusal> {
        goes_on(id, &self.batch(id).await?)?;
        self.engine.pause_batch(id, paused).await.map_err(|it| gone(id, it))
    }

    /// Ends a batch.
    pub(crate) async fn cancel_batch(&self, id: InstanceId) -> Result<Batch, Refusal> {
        goes_on(id, &self.batch(id).await?)?;
        self.engine.cancel_batch(id).await.map_err(|it| gone(id, it))
    }

    /// Forgets a batch that is over.
    pub(crate) async fn forget_batch(&self, id: InstanceId) -> Result<Batch, Refusal> {
        self.batch(id).await?;
        self.engine.forget_batch(id).await.map_err(|it| gone(id, it))
    }
}

/// The batch that has this key.
pub(crate) fn batch_key(key: i64) -> Result<InstanceId, Refusal> {
    let no_such = |_| Refusal::not_found(format!("there is no batch operation with the key {key}"));
    key::instance(key).map_err(no_such)
}

/// The number of an instance.
pub(crate) fn number(row: &Row) -> Option<InstanceId> {
    if let Row::Instance(row) = row { Some(InstanceId(row.id)) } else { None }
}

/// Refuses more than a batch can have.
pub(crate) fn few_enough(all: &[InstanceId]) -> Result<(), Refusal> {
    if all.len() <= BATCH_MAX {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "more than {BATCH_MAX} instances match, which is more than a batch can have: narrow the filter"
    )))
}

fn goes_on(id: InstanceId, batch: &Batch) -> Result<(), Refusal> {
    if batch.ended.is_none() {
        return Ok(());
    }
    Err(Refusal::new(super::Outcome::InvalidState, format!("batch {id} is over")))
}

fn gone(id: InstanceId, error: Error) -> Refusal {
    match error {
        Error::NoSuchInstance(_) => no_such_batch(id),
        other => other.into(),
    }
}

fn no_such_batch(id: InstanceId) -> Refusal {
    Refusal::not_found(format!("there is no batch {id}, or it is forgotten"))
}
