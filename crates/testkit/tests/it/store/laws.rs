//! Whatever is done to the embedded store, it answers as the store in memory does, also after it was
//! opened again.

use std::path::Path;

use proptest::{collection::vec, option, prelude::*, sample::select};
use travertine_store::{
    Batch, Claim, Entry, Error, Fold, Mail, MailId, MemoryStore, Seq, ShardId, SqliteStore, Store,
    sqlite::Options,
    view::{
        Change, Cursor, ElementRow, Filter, InstanceRow, InstanceState, JobRow, JobState, Key,
        Query, Row, SubscriptionKind, SubscriptionRow, Table, TaskRow, TimerRow, VariableRow,
    },
};
use travertine_testkit::store_suite::rows;
use travertine_value::Name;

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

fn time() -> impl Strategy<Value = i64> {
    0..4_i64
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

fn row() -> impl Strategy<Value = Row> {
    let instance = (id(), option::of(name()), name(), state(), time(), option::of(time()), id())
        .prop_flat_map(|(id, business_id, definition, state, started, ended, root)| {
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
        1 => (id(), id(), name()).prop_map(|(instance, token, element)| {
            Row::Element(ElementRow { element, ..rows::element(instance, token) })
        }),
        2 => (id(), 1..3_u64, name(), json()).prop_map(|(instance, layer, name, value)| {
            Row::Variable(VariableRow { instance, layer, name, value, number: layer, visit: 0 })
        }),
        1 => (id(), id(), name(), any::<bool>()).prop_map(|(instance, wait, job_type, failed)| {
            let state = if failed { JobState::Failed } else { JobState::Available };
            Row::Job(JobRow { job_type, state, ..rows::job(instance, wait) })
        }),
        1 => (id(), id(), option::of(name()), list(), option::of(time())).prop_map(
            |(instance, wait, assignee, candidate_users, due)| {
                let it = rows::task(instance, wait);
                Row::Task(TaskRow { assignee, candidate_users, due, ..it })
            }
        ),
        1 => (0..7_u64, id(), time(), name()).prop_map(|(instance, wait, due, definition)| {
            Row::Timer(TimerRow { definition, ..rows::timer(instance, wait, due) })
        }),
        1 => (id(), id(), 0..SHARDS, name()).prop_map(|(instance, wait, keeper, name)| {
            Row::Subscription(SubscriptionRow { name, ..rows::subscription(instance, wait, keeper) })
        }),
        1 => (id(), id()).prop_map(|(instance, token)| Row::Incident(rows::incident(instance, token))),
        1 => (id(), name()).prop_map(|(id, name)| Row::Message(rows::message(id, &name))),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => row().prop_map(Change::Put),
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
                let before = there.iter().chain(&entries).rfind(|it| it.instance == *instance);
                let previous = before.map_or(0, |it| it.seq);
                let body = vec![7; usize::try_from(seq).unwrap() * 50];
                entries.push(Entry { seq, instance: *instance, previous, at: 0, body });
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
        Step::Forget(None) => store.reset_views(),
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
    for id in 0..8 {
        assert_eq!(found.instance(id), expected.instance(id));
        assert_eq!(found.snapshot(id), expected.snapshot(id));
        assert_eq!(found.called(1, id), expected.called(1, id));
    }
    for query in queries {
        assert_eq!(found.query(query), expected.query(query), "{query:?}");
    }
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, &Options { shards: SHARDS, ..Options::default() }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn the_embedded_store_answers_as_the_one_in_memory(
        steps in vec(step(), 1..40),
        queries in vec(query(), 40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let expected = MemoryStore::new(SHARDS);
        let mut store = open(dir.path());
        let both = |store: &SqliteStore, shard: u16| {
            let claim = store.take(ShardId(shard), "law").unwrap();
            assert_eq!(expected.take(ShardId(shard), "law").unwrap(), claim);
            claim
        };
        let mut claims: Vec<Claim> = (0..SHARDS).map(|shard| both(&store, shard)).collect();
        for step in &steps {
            match step {
                Step::Claim(shard) => claims[usize::from(*shard)] = both(&store, *shard),
                Step::Reopen => {
                    drop(store);
                    store = open(dir.path());
                }
                _ => {}
            }
            let (found, wanted) = (take(&store, &claims, step), take(&expected, &claims, step));
            prop_assert_eq!(found, wanted, "{:?}", step);
        }
        compare(&store, &expected, &queries);
        drop(store);
        compare(&open(dir.path()), &expected, &queries);
    }
}
