//! Questions about what there is.

use std::{collections::BTreeSet, future::Future, pin::pin, sync::Arc};

use travertine_store::{
    Error as StoreError, Store,
    search::{Found, Search},
    view::{Page, Query, Row, Table},
};

use super::{Engine, Pending, block_on, router::Router, threads::Common};
use crate::{
    Error, InstanceId,
    request::{Ask, FlushRequest, Look, LookRequest, MendRequest},
};

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

    /// Rows that match, in any order, with cursors and a count. They show everything that was acknowledged before
    /// the search, unless it is [relaxed](Search::relaxed).
    ///
    /// ```no_run
    /// # use travertine_store as travertine;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::search::{Condition, InstanceColumn, Search, Test};
    /// use travertine::view::Table;
    ///
    /// let newest = Search::of(Table::Instances)
    ///     .with(Condition::of(InstanceColumn::Definition, Test::eq("order")))
    ///     .descending(InstanceColumn::Started)
    ///     .limit(20)
    ///     .counted();
    /// let found = engine.search(newest).await?;
    /// println!("{} of {:?} orders", found.rows.len(), found.total);
    /// # Ok(()) }
    /// ```
    pub fn search(
        &self,
        search: Search,
    ) -> impl Future<Output = Result<Found, Error>> + Send + use<> {
        let flushed = (!search.relaxed).then(|| self.flush());
        let common = Arc::clone(&self.inner.common);
        async move {
            search.check()?;
            if let Some(flushed) = flushed {
                flushed.await?;
            }
            mended(&common, |store| Ok(store.search(&search)?)).await
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
        self.router().ask_for(LookRequest { instance }, |reply| *LookRequest::reply(reply))
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
        let router = Router::new(common);
        router.ask(MendRequest { instance }).await?;
        router.ask_at(router.shard_of(instance), FlushRequest {}).await?;
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

    use crate::{Engine, InstanceId, engine::Options, request::IsInMemoryRequest};

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
        let in_memory =
            |instance: InstanceId| engine.ask(IsInMemoryRequest { instance }).wait().unwrap();
        assert!(in_memory(runs) && !in_memory(ended));
        engine.flush_now().unwrap();
        for (id, has_ended) in [(runs, false), (ended, true)] {
            let row = engine.store().instance(id.0).unwrap().unwrap();
            assert_eq!(row.ended.is_some(), has_ended);
        }
    }
}
