//! Questions about what there is.

use std::{collections::BTreeSet, future::Future, pin::pin, sync::Arc};

use travertine_kernel::{Branch, tree};
use travertine_store::{
    Error as StoreError, ShardId, Store,
    view::{InstanceRow, Page, Query, Row, Table},
};
use travertine_value::Name;

use super::{
    Engine, Pending, ask_common, block_on, tell_all,
    threads::{Common, Input},
};
use crate::{Definition, Error, InstanceId};

/// An instance in full.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, InstanceId};
/// # use travertine_runtime::engine::Look;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let look: Look = engine.look(InstanceId(12)).await?;
/// println!("{} with {} variables", look.definition.id, look.variables.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Look {
    /// Its row.
    pub row: InstanceRow,
    /// Its scopes and tokens, where it has any.
    pub tree: Option<Branch>,
    /// Why its tokens rest.
    pub reasons: Vec<travertine_kernel::Reason>,
    /// The variables of the process; what a function was begun with, and its result.
    pub variables: travertine_kernel::Assignments,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// The kernel's state.
    #[doc(hidden)] // For the command line; programs have its tree, reasons and variables.
    pub state: travertine_kernel::Instance,
}

impl Engine {
    /// Rows that match. They show everything that was acknowledged before the question.
    ///
    /// ```no_run
    /// # use travertine_store as travertine;
    /// # use travertine_runtime::{Definition, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::view::{Filter, Query, Table};
    ///
    /// let filters = vec![Filter::Definition("order".into()), Filter::HasIncidents(true)];
    /// let query = Query { table: Table::Instances, filters, descending: true, after: None, limit: 100 };
    /// println!("{} orders have incidents", engine.query(query).await?.rows.len());
    /// # Ok(()) }
    /// ```
    pub fn query(&self, query: Query) -> impl Future<Output = Result<Page, Error>> + Send + use<> {
        let flushed = self.flush();
        let common = Arc::clone(&self.inner.common);
        async move {
            flushed.await?;
            mended(&common, |store| page(store, query.clone())).await
        }
    }

    /// The same, on a thread that may be blocked.
    ///
    /// ```
    /// # use travertine_store as travertine;
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// use travertine::view::{Query, Table};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let all = Query { table: Table::Instances, filters: vec![], descending: false, after: None, limit: 10 };
    /// assert_eq!(engine.query_now(&all)?.rows.len(), 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn query_now(&self, query: &Query) -> Result<Page, Error> {
        self.flush_now()?;
        self.read_views(|store| page(store, query.clone()))
    }

    /// Reads views, on a thread that may be blocked. A row of an instance that cannot be read is made again
    /// first.
    pub(super) fn read_views<T>(
        &self,
        read: impl Fn(&dyn Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        block_on(&mut pin!(mended(&self.inner.common, read)))
    }

    /// An instance in full, as it is now.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).await?;
    /// println!("{:?}", engine.look(run.instance()).await?.reasons);
    /// # Ok(()) }
    /// ```
    pub fn look(&self, instance: InstanceId) -> Pending<Look> {
        self.ask(self.shard_of(instance), move |shard| {
            let row = shard.row(instance)?;
            let live = shard.look(instance)?;
            Ok(Look {
                row,
                tree: tree(&live.definition.plan, &live.state),
                reasons: live.reasons(),
                variables: live
                    .variables()
                    .map(|(name, it)| (Name::clone(name), it.clone()))
                    .collect(),
                definition: Arc::clone(&live.definition),
                state: live.state.clone(),
            })
        })
    }
}

/// Reads views. A row of an instance that cannot be read is made again from the log by its shard first.
async fn mended<T>(
    common: &Arc<Common>,
    read: impl Fn(&dyn Store) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut done = BTreeSet::new();
    loop {
        let instance =
            match read(&*common.store) {
                Err(Error::Store(StoreError::DamagedRow {
                    table: Table::Instances, key, ..
                })) if done.insert(key.instance) => InstanceId(key.instance),
                other => return other,
            };
        let shard = ShardId::of(instance.0, common.store.shards());
        ask_common(common, shard, false, move |shard| shard.mend(instance)).await?;
        tell_all(common, Input::Flush).remove(usize::from(shard.0)).await?;
    }
}

/// A whole page, without the rows of messages that are only recognised, which nobody asks for.
fn page(store: &dyn Store, mut query: Query) -> Result<Page, Error> {
    let mut rows = Vec::new();
    loop {
        let mut page = store.query(&query)?;
        page.rows.retain(|it| !matches!(it, Row::Message(message) if message.body.is_empty()));
        query.limit -= u32::try_from(page.rows.len()).expect("a page has no more than its limit");
        rows.append(&mut page.rows);
        if query.limit == 0 || page.next.is_none() {
            return Ok(Page { rows, next: page.next });
        }
        query.after = page.next;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use travertine_func::{Functions, WorkflowDefinition};
    use travertine_store::ShardId;

    use crate::{Engine, InstanceId, engine::Options};

    const SLEEP: WorkflowDefinition = WorkflowDefinition {
        name: "sleep",
        version: 1,
        parameters: &["hours"],
        run: |cx, mut arguments| {
            Box::pin(async move {
                let hours: u64 = arguments.take("hours")?;
                if hours > 0 {
                    cx.sleep(Duration::from_hours(hours)).await?;
                }
                Ok(hours.into())
            })
        },
    };

    // covers: ENGINE-20, ENGINE-22
    #[test]
    fn what_runs_is_in_memory_and_stored_and_what_has_ended_is_only_stored() {
        let functions = Functions::new().workflow(SLEEP);
        let options = Options { shards: 1, functions, ..Options::default() };
        let engine = Engine::in_memory(options).unwrap();
        let start = |hours: u64| {
            let call = travertine_func::Workflow::<u64>::new("sleep", 1).argument("hours", &hours);
            engine.start(call).wait().unwrap().instance()
        };
        let (ended, runs) = (start(0), start(1));
        let in_memory = |id: InstanceId| {
            let asked = engine.ask(ShardId(0), move |it| Ok(it.in_memory_at(id).is_some()));
            asked.wait().unwrap()
        };
        assert!(in_memory(runs) && !in_memory(ended));
        engine.flush_now().unwrap();
        for (id, has_ended) in [(runs, false), (ended, true)] {
            let row = engine.store().instance(id.0).unwrap().unwrap();
            assert_eq!(row.ended.is_some(), has_ended);
        }
    }
}
