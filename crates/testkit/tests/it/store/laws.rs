//! Whatever is done to the embedded store, it answers as the store in memory does, also after it was
//! opened again.

use std::path::Path;
use travertine_kernel::WaitId;
use travertine_store::{Address, InstanceId};

use proptest::{collection::vec, option, prelude::*, sample::select};
use travertine_store::{
    Batch, Claim, Entry, Error, Fold, Mail, MailId, MemoryStore, Seq, ShardId, SqliteStore, Store,
    search::{Column, Condition, Found, InstanceColumn, Kind, Place, Search, Test, Value},
    sqlite::Options,
    view::{
        Change, Cursor, ElementRow, Filter, IncidentRow, InstanceRow, InstanceState, JobRow,
        JobState, Key, Query, Row, SubscriptionKind, SubscriptionRow, Table, TaskRow, TimerRow,
        VariableRow,
    },
};
use travertine_testkit::{postgres::server, store_suite::rows};
use travertine_value::{Name, time::Timestamp};

use super::postgres::open_postgres;

const SHARDS: u16 = 2;

#[derive(Clone, Debug)]
enum Step {
    Claim(u16),
    /// A shard, instances of entries, numbers of mails to shards, numbers of mails that are taken, and
    /// whether by the right of someone before.
    Append(u16, Vec<u64>, Vec<(u64, u16)>, Vec<(u16, u64)>, bool),
    /// A shard, an entry, and whether something is left in its place.
    Fold(u16, Seq, bool),
    Checkpoint(u16, Seq, Vec<Change>),
    /// The views of one shard, or of all.
    Forget(Option<u16>),
    Reopen,
}

fn name() -> impl Strategy<Value = Name> {
    select(vec!["a", "b", "ß'\"%"]).prop_map(Name::from)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_i64).prop_map(Timestamp::from_millis)
}

fn id() -> impl Strategy<Value = u64> {
    1..7_u64
}

fn state() -> impl Strategy<Value = InstanceState> {
    select(vec![
        InstanceState::Running,
        InstanceState::Suspended,
        InstanceState::Halted,
        InstanceState::Completed,
        InstanceState::Failed,
        InstanceState::Cancelled,
    ])
}

fn json() -> impl Strategy<Value = Name> {
    select(vec![String::from("1"), String::from("null"), format!("\"{}\"", "x".repeat(300))])
        .prop_map(Name::from)
}

fn list() -> impl Strategy<Value = Name> {
    select(vec!["[]", r#"["a"]"#, r#"["b","a"]"#]).prop_map(Name::from)
}

fn correlation() -> impl Strategy<Value = Name> {
    let all = ["{}", r#"{"correlationKey":"a"}"#, r#"{"order":1,"correlationKey":1}"#];
    select(all.to_vec()).prop_map(Name::from)
}

fn row() -> impl Strategy<Value = Row> {
    let instance = (id(), option::of(name()), name(), state(), time(), option::of(time()), id())
        .prop_flat_map(|(id, business_id, definition, state, started, ended, root)| {
            use InstanceState::{Cancelled, Completed, Failed};
            // It has ended when its state says so.
            let is_over = matches!(state, Completed | Failed | Cancelled);
            let ended = is_over.then_some(ended.unwrap_or(const { Timestamp::from_millis(2) }));
            let row = InstanceRow {
                business_id,
                definition,
                state,
                started,
                ended,
                root,
                ..rows::instance(id)
            };
            // A wait calls one instance at most.
            (Just(row), any::<bool>(), 0..3_u32, 1..3_u32).prop_map(
                |(row, called, incidents, version)| {
                    let parent = called.then_some((1, row.id));
                    Row::Instance(InstanceRow { parent, incidents, version, ..row })
                },
            )
        });
    prop_oneof![
        4 => instance,
        1 => (id(), id(), name(), 0..4_u64, option::of(id())).prop_map(
            |(instance, token, element, visit, incident)| {
                let it = rows::element(instance, token);
                Row::Element(ElementRow { element, visit, incident, ..it })
            }
        ),
        2 => (id(), 1..3_u64, name(), json()).prop_map(|(instance, layer, name, value)| {
            let (number, visit) = (layer, layer - 1);
            Row::Variable(VariableRow { instance, layer, name, value, number, visit })
        }),
        1 => (id(), id(), name(), any::<bool>(), option::of(json()), 0..4_u64, option::of(time())).prop_map(
            |(instance, wait, job_type, failed, error, visit, ended)| {
                let state = if failed { JobState::Failed } else { JobState::Available };
                let it = rows::job(instance, wait);
                Row::Job(JobRow { job_type, state, error, visit, ended, ..it })
            }
        ),
        1 => (id(), id(), option::of(name()), list(), option::of(time()), option::of(time())).prop_map(
            |(instance, wait, assignee, candidate_users, due, ended)| {
                let it = rows::task(instance, wait);
                let by = assignee.clone();
                Row::Task(TaskRow { assignee, candidate_users, due, ended, by, ..it })
            }
        ),
        1 => (0..7_u64, id(), time(), name()).prop_map(|(instance, wait, due, definition)| {
            Row::Timer(TimerRow { definition, due, ..rows::timer(instance, wait, 0) })
        }),
        1 => (id(), id(), 0..SHARDS, name(), correlation()).prop_map(
            |(instance, wait, keeper, name, correlation)| {
                let it = rows::subscription(instance, wait, keeper);
                Row::Subscription(SubscriptionRow { name, correlation, ..it })
            }
        ),
        1 => (id(), id(), option::of(id()), 0..4_u64, option::of(time())).prop_map(
            |(instance, token, wait, visit, ended)| {
                Row::Incident(IncidentRow { wait, visit, ended, ..rows::incident(instance, token) })
            }
        ),
        1 => (id(), name()).prop_map(|(id, name)| Row::Message(rows::message(id, &name))),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => row().prop_map(Change::Put),
        1 => (select(Table::PAST.to_vec()), time()).prop_map(|(table, at)| Change::Expire(table, at)),
        1 => row().prop_map(|row| Change::Delete(row.table(), row.key())),
        1 => (id(), 1..3_u64).prop_map(|(instance, layer)| Change::DeleteLayer(instance, layer)),
        1 => id().prop_map(Change::Clear),
        1 => id().prop_map(Change::Remove),
        1 => (id(), id()).prop_map(|(instance, seq)| Change::Snapshot { instance, seq, body: vec![1] }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shard = || 0..SHARDS;
    let append = (
        shard(),
        vec(id(), 0..5),
        vec((id(), shard()), 0..2),
        vec((shard(), id()), 0..2),
        prop::bool::weighted(0.1),
    );
    prop_oneof![
        1 => shard().prop_map(Step::Claim),
        6 => append.prop_map(|(shard, entries, sent, taken, stale)| {
            Step::Append(shard, entries, sent, taken, stale)
        }),
        2 => (shard(), 0..20_u64, any::<bool>()).prop_map(|(shard, seq, left)| {
            Step::Fold(shard, seq, left)
        }),
        4 => (shard(), 0..20_u64, vec(change(), 0..12)).prop_map(|(shard, upto, changes)| {
            Step::Checkpoint(shard, upto, changes)
        }),
        1 => option::of(shard()).prop_map(Step::Forget),
        1 => Just(Step::Reopen),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    let span = || (option::of(time()), option::of(time()));
    prop_oneof![
        id().prop_map(Filter::Instance),
        id().prop_map(Filter::Root),
        id().prop_map(Filter::Parent),
        Just(Filter::TopLevel),
        name().prop_map(Filter::Definition),
        name().prop_map(Filter::NotDefinition),
        (1..3_u32).prop_map(Filter::Version),
        vec(state(), 0..4).prop_map(Filter::State),
        name().prop_map(Filter::BusinessId),
        span().prop_map(|(from, to)| Filter::Started(from, to)),
        span().prop_map(|(from, to)| Filter::Ended(from, to)),
        any::<bool>().prop_map(Filter::HasIncidents),
        (name(), json()).prop_map(|(name, value)| Filter::Variable(name, value)),
        name().prop_map(Filter::Element),
        name().prop_map(Filter::Named),
        name().prop_map(Filter::JobType),
        Just(Filter::JobState(JobState::Failed)),
        name().prop_map(Filter::Assignee),
        Just(Filter::Unassigned),
        name().prop_map(Filter::CandidateUser),
        span().prop_map(|(from, to)| Filter::Due(from, to)),
        Just(Filter::Kind(SubscriptionKind::Message)),
    ]
}

fn query() -> impl Strategy<Value = Query> {
    let key = (0..7_u64, 0..7_u64, name()).prop_map(|(instance, number, name)| Key {
        instance,
        number,
        name,
    });
    let after = option::of(key.prop_map(Cursor));
    (select(Table::ALL.to_vec()), vec(filter(), 0..3), any::<bool>(), after, 1..9_u32).prop_map(
        |(table, mut filters, descending, after, limit)| {
            filters.retain(|it| it.fits(table));
            // A cursor is the key of a row, and such keys have no name and perhaps no number.
            let after = after.map(|Cursor(key)| {
                Cursor(match table {
                    Table::Variables => key,
                    Table::Instances | Table::Messages => Key::of_instance(key.instance),
                    _ => Key { name: Name::from(""), ..key },
                })
            });
            Query { table, filters, descending, after, limit }
        },
    )
}

/// Something that any column of these could be tested for.
fn test(kind: Kind) -> BoxedStrategy<Test> {
    let value = match kind {
        Kind::Number => (0..7_i64).prop_map(Value::Number).boxed(),
        Kind::Time => time().prop_map(Value::Time).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Key => (0..7_u64, 0..4_u64).prop_map(Value::from).boxed(),
        Kind::Text | Kind::LongText | Kind::List => {
            let words = ["a", "b", "ß'\"%", "1", "running", "failed", "charge", "", "a\0"];
            prop_oneof![
                4 => select(words.to_vec()).prop_map(Value::from),
                1 => json().prop_map(Value::from),
            ]
            .boxed()
        }
    };
    let pattern = select(vec!["*", "a*", "?", "*a*", "\\*", "[a]", "ß*", "", "*x", "r?nn*", "a\0"])
        .prop_map(|it| Test::like(it).unwrap());
    let said = prop_oneof![
        4 => value.clone().prop_map(Test::Eq),
        2 => value.clone().prop_map(Test::Neq),
        2 => vec(value.clone(), 0..3).prop_map(Test::In),
        1 => vec(value.clone(), 0..3).prop_map(Test::NotIn),
        1 => any::<bool>().prop_map(Test::Exists),
    ];
    let compared = (value, 0..4).prop_map(|(value, sign)| match sign {
        0 => Test::Gt(value),
        1 => Test::Gte(value),
        2 => Test::Lt(value),
        _ => Test::Lte(value),
    });
    match kind {
        Kind::Number | Kind::Time => prop_oneof![3 => said, 1 => compared].boxed(),
        Kind::Bool | Kind::Key => said.boxed(),
        Kind::List => prop_oneof![3 => said, 1 => pattern].boxed(),
        Kind::Text | Kind::LongText => prop_oneof![3 => said, 1 => compared, 1 => pattern].boxed(),
    }
}

/// The columns by which rows of a table can be searched.
fn columns(table: Table) -> Vec<Column> {
    let mut all = Column::all(table);
    if !matches!(table, Table::Instances | Table::Messages) {
        all.extend(InstanceColumn::ALL.iter().map(|it| Column::from(*it)));
    }
    all
}

fn condition(table: Table) -> BoxedStrategy<Condition> {
    let is = |columns: Vec<Column>| {
        select(columns)
            .prop_flat_map(|it| test(it.kind()).prop_map(move |test| Condition::Is(it, test)))
    };
    let leaf = if table == Table::Messages {
        is(columns(table)).boxed()
    } else {
        let others: Vec<Table> = Table::ALL
            .into_iter()
            .filter(|it| !matches!(it, Table::Instances | Table::Messages))
            .collect();
        let beside = |table| !matches!(table, Table::Instances | Table::Subscriptions);
        let has = (select(others), any::<bool>()).prop_flat_map(move |(other, at)| {
            let at = at && beside(table) && beside(other);
            vec(is(Column::all(other)), 0..3).prop_map(move |all| {
                if at { Condition::At(other, all) } else { Condition::Has(other, all) }
            })
        });
        prop_oneof![4 => is(columns(table)), 1 => has].boxed()
    };
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Condition::All),
            vec(inner, 0..3).prop_map(Condition::Any),
        ]
    })
    .boxed()
}

fn search() -> impl Strategy<Value = Search> {
    select(Table::ALL.to_vec()).prop_flat_map(|table| {
        let sortable: Vec<Column> =
            columns(table).into_iter().filter(|it| it.kind() != Kind::List).collect();
        let sort = vec((select(sortable), any::<bool>()), 0..4);
        let place = prop_oneof![3 => Just(Place::First), 1 => (0..4_u32).prop_map(Place::Skip)];
        let conditions = prop_oneof![Just(vec![]), vec(condition(table), 1..3)];
        (conditions, sort, place, 1..5_u32, any::<bool>()).prop_map(
            move |(conditions, sort, place, limit, count)| {
                let search = Search::of(table).at(place).limit(limit);
                let search = Search { conditions, count, ..search };
                sort.into_iter().fold(search, |search, (column, descending)| {
                    if descending { search.descending(column) } else { search.ascending(column) }
                })
            },
        )
    })
}

/// Both stores give the same pages, forth and back, and these hang together.
fn compare_pages(found: &dyn Store, expected: &dyn Store, search: &Search) {
    let both = |search: &Search| -> Found {
        let page = found.search(search).unwrap();
        assert_eq!(page, expected.search(search).unwrap(), "{search:?}");
        page
    };
    let mut there = both(search);
    let mut forth = vec![there.clone()];
    while let Some(end) = there.end.clone().filter(|_| there.has_more) {
        there = both(&search.clone().at(Place::After(end.to_string().parse().unwrap())));
        assert!(!there.rows.is_empty(), "{search:?}");
        forth.push(there.clone());
    }
    let all: Vec<Row> = forth.iter().flat_map(|it| it.rows.clone()).collect();
    // Back from the last row, which the last page of this way does not have.
    let mut back = all.last().cloned().into_iter().collect::<Vec<_>>();
    let mut first = forth.last().and_then(|it| it.end.clone());
    while let Some(cursor) = first.take() {
        let mut page = both(&search.clone().at(Place::Before(cursor)));
        first = page.start.filter(|_| page.has_more);
        page.rows.append(&mut back);
        back = page.rows;
    }
    // What was skipped is met on the way back.
    let whole = both(&search.clone().at(Place::First).limit(1_000));
    assert!(whole.rows.ends_with(&all), "{search:?}");
    assert_eq!(back, whole.rows[..if all.is_empty() { 0 } else { whole.rows.len() }], "{search:?}");
    assert_eq!(
        all.len(),
        whole.rows.len()
            - match search.place {
                Place::Skip(rows) => whole.rows.len().min(rows as usize),
                _ => 0,
            }
    );
    let by: Vec<Column> = search.sort.iter().map(|it| it.column).collect();
    assert_eq!(found.tally(search, &by), expected.tally(search, &by), "{search:?}");
    if let Ok(tallies) = found.tally(search, &by) {
        let counted: u64 = tallies.iter().map(|it| it.count).sum();
        assert_eq!(counted, whole.rows.len() as u64, "{search:?}");
    }
    if let Some(total) = forth[0].total {
        assert_eq!((total.count as usize, total.has_more), (whole.rows.len(), false));
    }
}

fn take(store: &dyn Store, claims: &[Claim], step: &Step) -> Result<(), Error> {
    match step {
        Step::Claim(_) | Step::Reopen => Ok(()),
        Step::Append(shard, instances, sent, taken, stale) => {
            let mut claim = claims[usize::from(*shard)];
            claim.epoch -= u64::from(*stale);
            let last = store.last(claim.shard)?;
            let mut entries: Vec<Entry> = Vec::new();
            let there = store.entries(claim.shard, 0, usize::MAX)?;
            for (seq, instance) in (last + 1..).zip(instances) {
                let before = there.iter().chain(&entries).rfind(|it| it.instance.0 == *instance);
                let previous = before.map_or(0, |it| it.seq);
                let body = vec![7; usize::try_from(seq).unwrap() * 50];
                let (instance, at) = (InstanceId(*instance), Timestamp::default());
                entries.push(Entry { seq, instance, previous, at, body });
            }
            let mail = |(number, to): &(u64, u16)| Mail {
                id: MailId { from: claim.shard, number: *number },
                to: ShardId(*to),
                body: vec![3],
            };
            let sent = sent.iter().map(mail).collect();
            let id = |(from, number): &(u16, u64)| MailId { from: ShardId(*from), number: *number };
            let taken = taken.iter().map(id).collect();
            store.append(&claim, &[Batch { entries, sent, taken }])
        }
        Step::Fold(shard, seq, left) => {
            let claim = claims[usize::from(*shard)];
            let found = store.entries(claim.shard, seq.saturating_sub(1), 1)?;
            let entry = found.first().filter(|it| *left && it.seq == *seq).map(|it| Entry {
                previous: 0,
                body: vec![],
                ..it.clone()
            });
            store.fold(&claim, &[Fold { last: *seq, entry }])
        }
        Step::Checkpoint(shard, upto, changes) => {
            store.checkpoint(&claims[usize::from(*shard)], *upto, &upto.to_le_bytes(), changes)
        }
        Step::Forget(None) => store.reset_views(claims),
        Step::Forget(Some(shard)) => store.forget_views(&claims[usize::from(*shard)]),
    }
}

fn compare(found: &dyn Store, expected: &dyn Store, queries: &[Query]) {
    for shard in (0..SHARDS).map(ShardId) {
        assert_eq!(found.last(shard), expected.last(shard));
        let all = |store: &dyn Store| store.entries(shard, 0, usize::MAX);
        assert_eq!(all(found), all(expected));
        assert_eq!(found.inbox(shard, &[], usize::MAX), expected.inbox(shard, &[], usize::MAX));
        assert_eq!(found.checkpointed(shard), expected.checkpointed(shard));
        for last in 0..20 {
            assert_eq!(found.chain(shard, last, 0), expected.chain(shard, last, 0));
        }
        for name in ["a", "b", "c"] {
            assert_eq!(found.named(shard, name), expected.named(shard, name));
        }
        for table in Table::ALL {
            let scanned = |store: &dyn Store| {
                let mut rows = Vec::new();
                let mut each = |row| {
                    rows.push(row);
                    Ok(())
                };
                store.scan(shard, table, &mut each).map(|()| rows)
            };
            assert_eq!(scanned(found), scanned(expected), "{table}");
        }
    }
    assert_eq!(found.mailed(), expected.mailed());
    assert_eq!(found.owners(), expected.owners());
    let call = |id: InstanceId| Address { instance: InstanceId(1), wait: WaitId(id.0) };
    for id in (0..8).map(InstanceId) {
        assert_eq!(found.instance(id), expected.instance(id));
        assert_eq!(found.snapshot(id), expected.snapshot(id));
        assert_eq!(found.called(call(id)), expected.called(call(id)));
    }
    for query in queries {
        assert_eq!(found.query(query), expected.query(query), "{query:?}");
    }
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, &Options { shards: SHARDS, ..Options::default() }).unwrap()
}

/// Whatever is done to it, a store answers as the one in memory does, also after it was opened again.
fn answers_as_memory<S: Store>(
    open: impl Fn() -> S,
    steps: &[Step],
    queries: &[Query],
    searches: &[Search],
) {
    let expected = MemoryStore::new(SHARDS);
    let mut store = open();
    let both = |store: &S, shard: u16| {
        let claim = store.take(ShardId(shard), "law").unwrap();
        assert_eq!(expected.take(ShardId(shard), "law").unwrap(), claim);
        claim
    };
    let mut claims: Vec<Claim> = (0..SHARDS).map(|shard| both(&store, shard)).collect();
    for step in steps {
        match step {
            Step::Claim(shard) => claims[usize::from(*shard)] = both(&store, *shard),
            Step::Reopen => {
                drop(store);
                store = open();
            }
            _ => {}
        }
        let (found, wanted) = (take(&store, &claims, step), take(&expected, &claims, step));
        assert_eq!(found, wanted, "{step:?}");
    }
    compare(&store, &expected, queries);
    for search in searches {
        compare_pages(&store, &expected, search);
    }
    drop(store);
    compare(&open(), &expected, queries);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn the_embedded_store_answers_as_the_one_in_memory(
        steps in vec(step(), 1..40),
        queries in vec(query(), 40),
        searches in vec(search(), 60),
    ) {
        let dir = tempfile::tempdir().unwrap();
        answers_as_memory(|| open(dir.path()), &steps, &queries, &searches);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 16, ..ProptestConfig::default() })]

    #[test]
    fn the_store_on_postgresql_answers_as_the_one_in_memory(
        steps in vec(step(), 1..40),
        queries in vec(query(), 40),
        searches in vec(search(), 60),
    ) {
        if let Some(server) = server() {
            let url = server.url();
            answers_as_memory(|| open_postgres(&url, SHARDS), &steps, &queries, &searches);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn pages_have_each_row_that_stands_still_once_while_others_come_and_go(
        rows in vec(row(), 1..40),
        between in vec(vec(change(), 0..4), 12),
        search in search(),
        back in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (memory, embedded) = (MemoryStore::new(SHARDS), open(dir.path()));
        let stores: [&dyn Store; 2] = [&memory, &embedded];
        for store in stores {
            let claim = store.take(ShardId(0), "law").unwrap();
            let put: Vec<Change> = rows.iter().cloned().map(Change::Put).collect();
            store.checkpoint(&claim, 0, b"", &put).unwrap();
            let mut search = search.clone().at(Place::First);
            // A row stands still where its own columns do.
            search.sort.retain(|it| Column::all(search.table).contains(&it.column));
            let whole = |search: &Search| {
                store.search(&search.clone().at(Place::First).limit(1_000)).unwrap()
            };
            let mut still = whole(&search).rows;
            let mut seen: Vec<Row> = Vec::new();
            if back {
                // From the last row, backwards.
                let Some(end) = whole(&search).end else { continue };
                seen.extend(still.last().cloned());
                search.place = Place::Before(end);
            }
            for changes in &between {
                let page = store.search(&search).unwrap();
                seen.extend(page.rows);
                let next = if back { page.start } else { page.end };
                let Some(next) = next.filter(|_| page.has_more) else { break };
                search.place = if back { Place::Before(next) } else { Place::After(next) };
                store.checkpoint(&claim, 0, b"", changes).unwrap();
                let there = whole(&search).rows;
                still.retain(|it| there.contains(it));
            }
            // As far as it went: the rest of the way without changes.
            loop {
                let page = store.search(&search).unwrap();
                seen.extend(page.rows.iter().filter(|it| !seen.contains(it)).cloned().collect::<Vec<_>>());
                let next = if back { page.start } else { page.end };
                let Some(next) = next.filter(|_| page.has_more) else { break };
                search.place = if back { Place::Before(next) } else { Place::After(next) };
            }
            for row in &still {
                let times = seen.iter().filter(|it| *it == row).count();
                prop_assert_eq!(times, 1, "{:?} of {:?}", row, search);
            }
        }
    }
}
