//! Questions about what there is.

use std::{collections::BTreeSet, future::Future, pin::pin, sync::Arc};

use travertine_store::{
    Error as StoreError, Store,
    search::{
        Column, Condition, ElementColumn, Era, Found, IncidentColumn, InstanceColumn, JobColumn,
        LIMIT_MAX, MessageColumn, Search, Source, SubscriptionColumn, Tally, TaskColumn, Test,
        TimerColumn, Value, VariableColumn, evaluate, find,
    },
    view::{ElementRow, InstanceRow, Page, Query, Row, Table},
};

use super::{Engine, Inner, Pending, block_on, readers::Readers, router::Router, threads::Common};
use crate::{
    Error, InstanceId, Named,
    request::{Ask, FlushRequest, Look, LookRequest, MendRequest, Rows, RowsRequest},
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
        let reading = self.reading();
        async move {
            flushed.await?;
            reading.read(move |store| page(store, &query)).await
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
        let reading = self.reading();
        async move { reading.search(search).await }
    }

    /// The row of something that has a key, as it is now; `None` where there is none any more. What is deployed
    /// has no row, nor has what was evaluated.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId, Key, Named};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let key: Key = "12".parse().map_err(|reason| Error::Failed { reason })?;
    /// println!("{:?}", engine.row(key.named()).await?);
    /// # Ok(()) }
    /// ```
    pub fn row(
        &self,
        of: Named,
    ) -> impl Future<Output = Result<Option<Row>, Error>> + Send + use<> {
        let reading = self.reading();
        async move {
            for search in searches_for(of) {
                if let Some(row) = reading.search(search).await?.rows.pop() {
                    return Ok(Some(row));
                }
            }
            Ok(None)
        }
    }

    /// How many rows a search finds, by what they have in these columns. Its order, place and limit do not matter.
    ///
    /// ```no_run
    /// # use travertine_store as travertine;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::search::{Condition, ElementColumn, InstanceColumn, Search, Test};
    /// use travertine::view::Table;
    ///
    /// let order = Condition::of(InstanceColumn::Definition, Test::eq("order"));
    /// let search = Search::of(Table::Elements).with(order);
    /// for it in engine.tally(search, vec![ElementColumn::Element.into()]).await? {
    ///     println!("{} tokens are at {:?}", it.count, it.of);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn tally(
        &self,
        search: Search,
        by: Vec<Column>,
    ) -> impl Future<Output = Result<Vec<Tally>, Error>> + Send + use<> {
        let reading = self.reading();
        async move {
            if !search.relaxed {
                reading.readers.fresh(&reading.common).await?;
            }
            reading.read(move |store| Ok(store.tally(&search, &by)?)).await
        }
    }

    pub(super) fn reading(&self) -> Reading {
        let Inner { common, readers, .. } = &*self.inner;
        Reading { common: Arc::clone(common), readers: Arc::clone(readers) }
    }

    /// Reads a page of rows as they are now, on a thread that may be blocked.
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
        self.read_views(|store| page(store, query))
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

/// What is searched to find something by its name: where it may be, and nothing else.
fn searches_for(of: Named) -> Vec<Search> {
    let one = |table, column: Column, value: Value| {
        Search::of(table).with(Condition::of(column, Test::Eq(value))).limit(1)
    };
    let inside = |table, column: Column, instance: InstanceId, number: u64| {
        vec![one(table, column, Value::from((instance.0, number)))]
    };
    match of {
        Named::Instance(id) => vec![one(Table::Instances, InstanceColumn::Id.into(), id.into())],
        Named::Visit(id, number) => {
            inside(Table::Elements, ElementColumn::Visit.into(), id, number)
        }
        Named::Variable(id, number) => {
            inside(Table::Variables, VariableColumn::Number.into(), id, number)
        }
        Named::Incident(id, number) => {
            inside(Table::Incidents, IncidentColumn::Number.into(), id, number)
        }
        Named::Wait(at) => {
            let tables: [(Table, Column); 4] = [
                (Table::Jobs, JobColumn::Key.into()),
                (Table::Tasks, TaskColumn::Key.into()),
                (Table::Timers, TimerColumn::Key.into()),
                (Table::Subscriptions, SubscriptionColumn::Key.into()),
            ];
            let at = Value::from(at);
            tables.into_iter().map(|(table, column)| one(table, column, at.clone())).collect()
        }
        Named::Message(number) => {
            vec![one(Table::Messages, MessageColumn::Id.into(), number.into())]
        }
        Named::Evaluation(..)
        | Named::Deployment(_)
        | Named::Definition(_)
        | Named::Decision(_)
        | Named::DecisionRequirements(_)
        | Named::Form(_)
        | Named::Resource(_)
        | Named::StartEvent(..) => Vec::new(),
    }
}

/// What reads rows.
pub(super) struct Reading {
    common: Arc<Common>,
    readers: Arc<Readers>,
}

impl Reading {
    async fn search(&self, mut search: Search) -> Result<Found, Error> {
        search.check()?;
        if search.table == Table::Messages {
            search.conditions.push(Condition::of(MessageColumn::IsHeld, Test::eq(true)));
        }
        let is_past = search.era != Era::Present;
        if is_past && !search.relaxed {
            // Shards have no rows of what is over.
            match search.instance().filter(|it| *it > 0) {
                Some(instance) => {
                    let router = Router::new(&self.common);
                    let shard = router.shard_of(InstanceId(instance));
                    router.ask_at(shard, FlushRequest {}).await?;
                }
                None => self.readers.fresh(&self.common).await?,
            }
        } else if !search.relaxed {
            match search.instance().filter(|it| *it > 0 && is_of_one(&search)) {
                Some(instance) => {
                    if let Some(found) = self.search_one(InstanceId(instance), &search).await? {
                        return Ok(found);
                    }
                }
                None => self.readers.fresh(&self.common).await?,
            }
        }
        self.read(move |store| Ok(find(store, &search)?)).await
    }

    /// Searches among the rows of one instance, as its shard has them. `None` where those that are stored are
    /// right.
    async fn search_one(
        &self,
        instance: InstanceId,
        search: &Search,
    ) -> Result<Option<Found>, Error> {
        let router = Router::new(&self.common);
        let tables = search.tables().into_iter().collect();
        let asked = router.ask(RowsRequest { instance, tables });
        match asked.await? {
            Rows::Here { mut rows, undated } => {
                if undated.is_empty() || self.date(instance, &mut rows, &undated).await? {
                    let of = rows.iter().filter(|it| it.table() == search.table);
                    return Ok(Some(evaluate(search, of, &Beside(&rows))));
                }
            }
            Rows::Stored => return Ok(None),
            Rows::Gone => return Ok(Some(evaluate(search, [], &Beside(&[])))),
            Rows::Behind => {}
        }
        let flushed = Router::new(&self.common);
        let shard = flushed.shard_of(instance);
        flushed.ask_at(shard, FlushRequest {}).await?;
        Ok(None)
    }

    /// Finds out since when tokens are where they are, from stored rows. Says whether these tell.
    async fn date(
        &self,
        instance: InstanceId,
        rows: &mut [Row],
        undated: &[u64],
    ) -> Result<bool, Error> {
        let all = Search::of(Table::Elements)
            .with(Condition::of(ElementColumn::Instance, Test::eq(instance)))
            .limit(LIMIT_MAX);
        let stored = self.read(move |store| Ok(store.search(&all)?)).await?;
        let mut left = undated.len();
        for row in rows {
            let Row::Element(row) = row else { continue };
            if !undated.contains(&row.token) {
                continue;
            }
            let known = stored.rows.iter().find_map(|it| match it {
                // As it stands there now, not as it was before rows that are being stored.
                Row::Element(it) if it.token == row.token => {
                    let same = ElementRow { since: row.since, ..it.clone() } == *row;
                    same.then_some(it.since)
                }
                _ => None,
            });
            let Some(since) = known else { return Ok(false) };
            row.since = since;
            left -= 1;
        }
        Ok(left == 0)
    }

    /// Reads stored rows. A row of an instance that cannot be read is made again from the log by its shard first.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&dyn Store) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let read = Arc::new(read);
        let mut done = BTreeSet::new();
        loop {
            let once = Arc::clone(&read);
            let found = self.readers.read(&self.common, move |store| once(store)).await;
            match to_mend(found, &mut done) {
                Ok(answer) => return answer,
                Err(instance) => mend(&self.common, instance).await?,
            }
        }
    }
}

/// Whether all rows that a search needs are about one instance, and its shard has them.
fn is_of_one(search: &Search) -> bool {
    let tables = search.tables();
    !tables.contains(&Table::Messages) && !tables.contains(&Table::Subscriptions)
}

/// The rows of one instance.
struct Beside<'a>(&'a [Row]);

impl Source for Beside<'_> {
    fn instance(&self, id: u64) -> Option<&InstanceRow> {
        self.0.iter().find_map(|it| match it {
            Row::Instance(it) if it.id == id => Some(it),
            _ => None,
        })
    }

    fn any(&self, table: Table, instance: u64, passes: &dyn Fn(&Row) -> bool) -> bool {
        let of = self.0.iter().filter(|it| it.table() == table);
        of.into_iter().any(|it| it.key().instance == instance && passes(it))
    }
}

/// What was read, or the instance whose row must be made again first.
fn to_mend<T>(
    found: Result<T, Error>,
    done: &mut BTreeSet<u64>,
) -> Result<Result<T, Error>, InstanceId> {
    match found {
        Err(Error::Store(StoreError::DamagedRow { table: Table::Instances, key, .. }))
            if done.insert(key.instance) =>
        {
            Err(InstanceId(key.instance))
        }
        other => Ok(other),
    }
}

/// Makes the row of an instance again from the log.
async fn mend(common: &Arc<Common>, instance: InstanceId) -> Result<(), Error> {
    let asked = Router::new(common).ask(MendRequest { instance });
    asked.await?;
    let router = Router::new(common);
    let flushed = router.ask_at(router.shard_of(instance), FlushRequest {});
    flushed.await
}

/// Reads views on this thread. A row of an instance that cannot be read is made again from the log by its shard
/// first.
async fn mended<T>(
    common: &Arc<Common>,
    read: impl Fn(&dyn Store) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut done = BTreeSet::new();
    loop {
        match to_mend(read(&*common.store), &mut done) {
            Ok(answer) => return answer,
            Err(instance) => mend(common, instance).await?,
        }
    }
}

/// A whole page, without the rows of messages that are only recognised, which nobody asks for.
fn page(store: &dyn Store, query: &Query) -> Result<Page, Error> {
    let mut query = query.clone();
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
            let row = engine.store().instance(id).unwrap().unwrap();
            assert_eq!(row.ended.is_some(), has_ended);
        }
    }
}
