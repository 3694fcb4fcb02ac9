//! Promises about the views and the questions about them.

use travertine_kernel::Part;
use travertine_kernel::WaitId;
use travertine_store::{Address, DefinitionKey, InstanceId};
use travertine_store::{
    Claim, Error, Loaded, ShardId, Store,
    search::{
        Condition, Era, Found, InstanceColumn, Place, Search, Sort, SubscriptionColumn, TaskColumn,
        Test, Total, find,
    },
    view::{
        Change, Cursor, ElementRow, Filter, IncidentRow, InstanceRow, InstanceState, JobRow,
        JobState, Key, MessageRow, Query, Row, SubscriptionKind, SubscriptionRow, Table, TaskRow,
        TaskState, VariableRow,
    },
};
use travertine_value::{Name, Value, time::Timestamp};

use super::{Promise, batch, claim, entry, rows, rows::time};
use crate::random::Random;

pub(super) const PROMISES: &[Promise] = &[
    ("rows of every table are read back as they were", reads_back),
    ("a checkpoint tells how far the views are", checkpoints),
    ("a checkpoint beyond the log is refused", beyond),
    ("a row that is put again is replaced", replaces),
    ("changes are made in their order", in_order),
    ("a layer's variables go together", layers),
    ("clearing takes the rows about an instance, and no others", clears),
    ("a removed instance is gone", removes),
    ("what was over before some time goes, of one shard and table", expires),
    ("what is there and what is over are found together, in one order", eras),
    ("a correlation is asked for by all of it and by its key at once", correlations),
    ("snapshots are kept and go with their instance", snapshots),
    ("instances are found by what people call them, newest first", named),
    ("instances are found by who called them", called),
    ("a scan gives the rows of one shard in the order of keys", scans),
    ("a scan ends with the error of whom it tells", scan_errors),
    ("whoever has all shards can throw all views away and nothing else", forgets),
    ("the views of one shard are forgotten alone, by its owner", forgets_one),
    ("what there is of many instances is loaded at once, as it is alone", loads),
    ("many are found by name or caller at once, as each is alone", finds_many),
    ("names of any characters are kept and found", any_characters),
    ("names of any length are kept and found", any_lengths),
    ("every filter finds what it says", filters),
    ("filters hold together", filters_together),
    ("senseless questions are refused by name", senseless),
    ("pages follow each other without holes, both ways", pages),
    ("a cursor stays meaningful when rows come and go", cursors),
];

fn name(text: &str) -> Name {
    Name::from(text)
}

/// The only writer of a shard, with so many entries in its log.
fn ready(store: &dyn Store, shard: u16, entries: u64) -> Claim {
    let claim = claim(store, shard);
    let all = (1..=entries).map(|seq| entry(seq, 0, 0)).collect();
    store.append(&claim, &[batch(all)]).unwrap();
    claim
}

fn change(store: &dyn Store, claim: &Claim, changes: &[Change]) {
    store.checkpoint(claim, 1, b"", changes).unwrap();
}

fn put(store: &dyn Store, claim: &Claim, rows: &[Row]) {
    let changes: Vec<Change> = rows.iter().cloned().map(Change::Put).collect();
    change(store, claim, &changes);
}

fn ask(store: &dyn Store, table: Table, filters: Vec<Filter>) -> Vec<Row> {
    let query = Query { table, filters, descending: false, after: None, limit: 1_000 };
    let page = store.query(&query).unwrap();
    assert_eq!(page.next, None);
    page.rows
}

fn all(store: &dyn Store, table: Table) -> Vec<Row> {
    ask(store, table, vec![])
}

/// A row of every table about an instance, with a message of the same number.
fn one_of_each(id: u64) -> Vec<Row> {
    vec![
        Row::Instance(rows::instance(id)),
        Row::Element(rows::element(id, 2)),
        Row::Variable(rows::variable(id, "total", "12.50")),
        Row::Job(rows::job(id, 3)),
        Row::Task(rows::task(id, 4)),
        Row::Timer(rows::timer(id, 5, 900)),
        Row::Subscription(rows::subscription(id, 6, 0)),
        Row::Incident(rows::incident(id, 2)),
        Row::Message(rows::message(id, "paid")),
        Row::Job(rows::past_job(id, 13)),
        Row::Task(rows::past_task(id, 14)),
        Row::Incident(rows::past_incident(id, 1)),
    ]
}

fn reads_back(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let mut full = one_of_each(4);
    full.extend([
        Row::Instance(InstanceRow {
            business_id: Some(name("order-8 \u{1f4e6} '\"")),
            definition_key: DefinitionKey(7),
            version: 3,
            state: InstanceState::Failed,
            started: time(-1),
            ended: Some(Timestamp::MAX),
            parent: Some((4, 9)),
            root: 4,
            incidents: 2,
            reason: Some(name("no stock")),
            result: Some(name(r#"{"a":[1,2]}"#)),
            last: 77,
            definition_name: None,
            version_tag: Some(name("2026-11")),
            tags: Some(name(r#"["urgent","team:north"]"#)),
            ..rows::instance(8)
        }),
        Row::Element(ElementRow {
            label: None,
            scope: Some(1),
            scope_visit: 6,
            incident: Some(9),
            ..rows::element(8, 3)
        }),
        Row::Variable(VariableRow { layer: 9, visit: 4, ..rows::variable(8, "", "null") }),
        Row::Incident(IncidentRow {
            part: Some(Part::Listener),
            wait: None,
            listener: Some(name("start")),
            ..rows::incident(8, 3)
        }),
        Row::Job(JobRow {
            state: JobState::Leased,
            until: Some(time(5)),
            worker: Some(name("w")),
            priority: -3,
            listener: Some(name("end")),
            error: Some(name("no answer")),
            error_code: Some(name("E1")),
            ..rows::job(8, 1)
        }),
        Row::Task(TaskRow {
            label: Some(name("Approve")),
            assignee: Some(name("ann")),
            due: Some(time(1)),
            follow_up: Some(time(2)),
            form: Some(name("f")),
            ..rows::task(8, 2)
        }),
        Row::Subscription(SubscriptionRow {
            kind: SubscriptionKind::Signal,
            ..rows::subscription(8, 3, 0)
        }),
    ]);
    put(store, &claim, &full);
    let found: Vec<Row> = Table::ALL.iter().flat_map(|it| all(store, *it)).collect();
    full.sort_by_key(|it| (it.table(), it.key()));
    assert_eq!(found, full);
    assert_eq!(store.instance(InstanceId(8)).unwrap().map(Row::Instance), full.get(1).cloned());
    assert_eq!(store.instance(InstanceId(12)).unwrap(), None);
    assert_eq!(store.instance(InstanceId(u64::MAX)).unwrap(), None);
}

fn checkpoints(store: &dyn Store) {
    let one = ready(store, 1, 3);
    store.checkpoint(&one, 2, b"state", &[]).unwrap();
    assert_eq!(store.checkpointed(ShardId(1)).unwrap(), (2, b"state".to_vec()));
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    store.checkpoint(&one, 3, b"", &[]).unwrap();
    assert_eq!(store.checkpointed(ShardId(1)).unwrap(), (3, vec![]));
}

fn beyond(store: &dyn Store) {
    let one = ready(store, 1, 3);
    let changes = [Change::Put(Row::Instance(rows::instance(1)))];
    let refused = store.checkpoint(&one, 4, b"", &changes);
    assert_eq!(refused, Err(Error::NoSuchEntry { shard: ShardId(1), seq: 4 }));
    assert_eq!(store.instance(InstanceId(1)).unwrap(), None);
}

fn replaces(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    put(store, &claim, &one_of_each(4));
    let ended = InstanceRow {
        state: InstanceState::Completed,
        ended: Some(time(500)),
        business_id: Some(name("x")),
        ..rows::instance(4)
    };
    let other = Row::Variable(rows::variable(4, "total", "13"));
    put(store, &claim, &[Row::Instance(ended.clone()), other.clone()]);
    assert_eq!(all(store, Table::Instances), [Row::Instance(ended)]);
    assert_eq!(all(store, Table::Variables), [other]);
    assert_eq!(ask(store, Table::Instances, vec![Filter::State(vec![InstanceState::Running])]), []);
    let old = vec![Filter::Variable(name("total"), name("12.50"))];
    assert_eq!(ask(store, Table::Instances, old), []);
}

fn in_order(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let job = || Row::Job(rows::job(4, 3));
    let leased = Row::Job(JobRow { state: JobState::Leased, ..rows::job(4, 3) });
    let delete = || Change::Delete(Table::Jobs, job().key());
    change(store, &claim, &[Change::Put(job()), delete()]);
    assert_eq!(all(store, Table::Jobs), []);
    change(store, &claim, &[delete(), Change::Put(job()), Change::Put(leased.clone())]);
    assert_eq!(all(store, Table::Jobs), [leased]);
    change(store, &claim, &[Change::Put(job()), Change::Clear(4)]);
    assert_eq!(all(store, Table::Jobs), []);
}

fn layers(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let variable = |instance, layer, of: &str| {
        Row::Variable(VariableRow { layer, ..rows::variable(instance, of, "1") })
    };
    let there =
        [variable(4, 1, "a"), variable(4, 2, "a"), variable(4, 2, "b"), variable(8, 2, "a")];
    put(store, &claim, &there);
    change(store, &claim, &[Change::DeleteLayer(4, 2)]);
    assert_eq!(all(store, Table::Variables), [there[0].clone(), there[3].clone()]);
    change(store, &claim, &[Change::Delete(Table::Variables, there[3].key())]);
    assert_eq!(all(store, Table::Variables), there[..1]);
}

fn clears(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    put(store, &claim, &[one_of_each(4), one_of_each(8)].concat());
    change(store, &claim, &[Change::Clear(4)]);
    for table in Table::ALL {
        let left: Vec<u64> = all(store, table).iter().map(|it| it.key().instance).collect();
        match table {
            // A keeper takes its subscriptions away itself, and messages are about no instance.
            Table::Instances | Table::Subscriptions | Table::Messages => assert_eq!(left, [4, 8]),
            // What is over stays after the end.
            past if Table::PAST.contains(&past) => assert_eq!(left, [4, 8]),
            _ => assert_eq!(left, [8], "{table}"),
        }
    }
}

fn removes(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let called = InstanceRow {
        business_id: Some(name("b")),
        parent: Some((8, 1)),
        root: 8,
        ..rows::instance(4)
    };
    put(store, &claim, &[one_of_each(4), vec![Row::Instance(called)]].concat());
    change(store, &claim, &[Change::Remove(4)]);
    for table in Table::ALL {
        let kept = matches!(table, Table::Subscriptions | Table::Messages);
        assert_eq!(all(store, table).len(), usize::from(kept), "{table}");
    }
    assert_eq!(store.instance(InstanceId(4)).unwrap(), None);
    assert_eq!(store.named(ShardId(0), "b").unwrap(), []);
    assert_eq!(store.called(call(8, 1)).unwrap(), None);
}

fn expires(store: &dyn Store) {
    let (zero, one) = (ready(store, 0, 1), ready(store, 1, 1));
    let ended = |instance, wait, at| {
        Row::Task(TaskRow { ended: Some(time(at)), ..rows::past_task(instance, wait) })
    };
    put(store, &zero, &[ended(4, 1, 100), ended(4, 2, 200), ended(8, 1, 99)]);
    put(store, &one, &[ended(5, 1, 50)]);
    put(store, &zero, &[Row::Job(rows::past_job(4, 3)), Row::Task(rows::task(4, 9))]);
    // What was put just before goes, too; what another shard has does not.
    let changes = [Change::Put(ended(4, 5, 10)), Change::Expire(Table::PastTasks, time(200))];
    change(store, &zero, &changes);
    assert_eq!(all(store, Table::PastTasks), [ended(4, 2, 200), ended(5, 1, 50)]);
    assert_eq!(all(store, Table::Tasks).len(), 1);
    assert_eq!(all(store, Table::PastJobs).len(), 1);
}

fn eras(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let task = |wait, at| Row::Task(TaskRow { created: time(at), ..rows::task(4, wait) });
    let past = |wait, at| Row::Task(TaskRow { created: time(at), ..rows::past_task(4, wait) });
    put(store, &claim, &[task(1, 10), past(2, 20), task(3, 30), past(4, 40), past(5, 50)]);
    put(store, &claim, &[Row::Instance(rows::instance(4))]);
    let search = |era| Search::of(Table::Tasks).of_era(era).counted().limit(2);
    let waits = |found: &Found| found.rows.iter().map(|it| it.key().number).collect::<Vec<_>>();
    for (era, expected) in
        [(Era::Present, vec![1, 3]), (Era::Past, vec![2, 4, 5]), (Era::Both, vec![1, 2, 3, 4, 5])]
    {
        for descending in [false, true] {
            let mut next = search(era);
            next.sort.push(Sort { column: TaskColumn::Created.into(), descending });
            let mut expected = expected.clone();
            if descending {
                expected.reverse();
            }
            let mut seen = Vec::new();
            loop {
                let found = find(store, &next).unwrap();
                let total =
                    Total { count: u32::try_from(expected.len()).unwrap(), has_more: false };
                assert_eq!(found.total, Some(total), "{era:?}");
                seen.extend(waits(&found));
                if !found.has_more {
                    break;
                }
                next.place = Place::After(found.end.unwrap());
            }
            assert_eq!(seen, expected, "{era:?}");
            next.place = Place::Skip(1);
            let found = find(store, &next).unwrap();
            assert_eq!(waits(&found), expected[1..].iter().copied().take(2).collect::<Vec<_>>());
            if expected.len() > 2 {
                next.place = Place::Before(find(store, &next).unwrap().end.unwrap());
                assert_eq!(waits(&find(store, &next).unwrap()), expected[..2]);
            }
        }
    }
    // Of the rows of both tables, also by what their instance is.
    let mut by = search(Era::Both).limit(9);
    by.sort.push(Sort { column: InstanceColumn::Started.into(), descending: false });
    by.conditions.push(Condition::of(TaskColumn::State, Test::neq(TaskState::Cancelled)));
    assert_eq!(waits(&find(store, &by).unwrap()), [1, 2, 3, 4, 5]);
    let done = Condition::of(TaskColumn::By, Test::eq("bob"));
    assert_eq!(waits(&find(store, &search(Era::Both).with(done)).unwrap()), [2, 4]);
    let none = Search::of(Table::Timers).of_era(Era::Both);
    assert!(matches!(find(store, &none), Err(Error::BadQuery { .. })));
}

fn correlations(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let correlation = Name::from(r#"{"correlationKey":"a"}"#);
    let it =
        SubscriptionRow { correlation: Name::clone(&correlation), ..rows::subscription(4, 1, 0) };
    put(store, &claim, &[Row::Subscription(it)]);
    let found = |all: &str| {
        let key = Condition::of(SubscriptionColumn::CorrelationKey, Test::eq("a"));
        let all = Condition::of(SubscriptionColumn::Correlation, Test::eq(all));
        find(store, &Search::of(Table::Subscriptions).with(key).with(all)).unwrap().rows.len()
    };
    // What is no JSON is nobody's correlation.
    assert_eq!([found(&correlation), found("a")], [1, 0]);
}

fn snapshots(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let snapshot =
        |instance, seq, body: &[u8]| Change::Snapshot { instance, seq, body: body.to_vec() };
    assert_eq!(store.snapshot(InstanceId(4)).unwrap(), None);
    change(store, &claim, &[snapshot(4, 1, b"one"), snapshot(8, 2, b"")]);
    assert_eq!(store.snapshot(InstanceId(4)).unwrap(), Some((1, b"one".to_vec())));
    assert_eq!(store.snapshot(InstanceId(8)).unwrap(), Some((2, vec![])));
    change(store, &claim, &[snapshot(4, 3, b"two"), Change::Remove(8)]);
    assert_eq!(store.snapshot(InstanceId(4)).unwrap(), Some((3, b"two".to_vec())));
    assert_eq!(store.snapshot(InstanceId(8)).unwrap(), None);
    change(store, &claim, &[Change::Clear(4)]);
    assert_eq!(store.snapshot(InstanceId(4)).unwrap(), None);
}

fn named(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let of = |id, text: &str| InstanceRow { business_id: Some(name(text)), ..rows::instance(id) };
    // 5 is in another shard.
    let there = [of(4, "a"), of(5, "a"), of(8, "b"), of(12, "a")];
    put(store, &claim, &there.map(Row::Instance));
    assert_eq!(store.named(ShardId(0), "a").unwrap(), [12, 4].map(InstanceId));
    assert_eq!(store.named(ShardId(1), "a").unwrap(), [InstanceId(5)]);
    assert_eq!(store.named(ShardId(0), "").unwrap(), []);
    // One that is called otherwise is not found by its old name.
    put(store, &claim, &[Row::Instance(of(12, "c"))]);
    assert_eq!(store.named(ShardId(0), "a").unwrap(), [InstanceId(4)]);
    assert_eq!(store.named(ShardId(0), "c").unwrap(), [InstanceId(12)]);
}

fn call(instance: u64, wait: u64) -> Address {
    Address { instance: InstanceId(instance), wait: WaitId(wait) }
}

fn called(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let child = InstanceRow { parent: Some((4, 9)), root: 4, ..rows::instance(8) };
    put(store, &claim, &[Row::Instance(rows::instance(4)), Row::Instance(child)]);
    assert_eq!(store.called(call(4, 9)).unwrap(), Some(InstanceId(8)));
    assert_eq!(store.called(call(4, 8)).unwrap(), None);
    assert_eq!(store.called(call(8, 9)).unwrap(), None);
}

fn scans(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let mut there: Vec<Row> = [4, 5, 12, 8].into_iter().flat_map(one_of_each).collect();
    // Those that start instances are numbered like instances, and subscriptions have a keeper.
    there.push(Row::Timer(rows::timer(0, 16, 1)));
    there.push(Row::Timer(rows::timer(0, 17, 1)));
    there.push(Row::Subscription(rows::subscription(4, 60, 1)));
    put(store, &claim, &there);
    there.sort_by_key(|it| (it.table(), it.key()));
    for shard in (0..store.shards()).map(ShardId) {
        let mut found = Vec::new();
        for table in Table::ALL {
            let mut each = |row: Row| {
                // Who is told may ask.
                assert_eq!(store.instance(InstanceId(99)).unwrap(), None);
                found.push(row);
                Ok(())
            };
            store.scan(shard, table, &mut each).unwrap();
        }
        let expected = there.iter().filter(|it| it.shard(store.shards()) == shard);
        assert_eq!(found, expected.cloned().collect::<Vec<_>>(), "shard {shard}");
    }
}

fn scan_errors(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    put(store, &claim, &[Row::Instance(rows::instance(4)), Row::Instance(rows::instance(8))]);
    let error = Error::BadQuery { reason: String::from("enough") };
    let mut seen = 0;
    let mut each = |_| {
        seen += 1;
        Err(error.clone())
    };
    assert_eq!(store.scan(ShardId(0), Table::Instances, &mut each), Err(error.clone()));
    assert_eq!(seen, 1);
}

fn forgets(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    put(store, &claim, &one_of_each(4));
    change(store, &claim, &[Change::Snapshot { instance: 4, seq: 1, body: vec![1] }]);
    let mut claims = [vec![claim], (1..4).map(|it| super::claim(store, it)).collect()].concat();
    // Somebody else may count on them.
    let stale = Err(Error::Stale { shard: ShardId(3) });
    assert_eq!(store.reset_views(&claims[..3]), stale);
    claims[3].epoch += 1;
    assert_eq!(store.reset_views(&claims), stale);
    assert!(store.instance(InstanceId(4)).unwrap().is_some());
    claims[3].epoch -= 1;
    store.reset_views(&claims).unwrap();
    for table in Table::ALL {
        assert_eq!(all(store, table), []);
    }
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    assert_eq!(store.snapshot(InstanceId(4)).unwrap(), None);
    assert_eq!(store.last(ShardId(0)).unwrap(), 1);
    put(store, &claim, &one_of_each(4));
}

fn forgets_one(store: &dyn Store) {
    let (zero, one) = (ready(store, 0, 1), ready(store, 1, 1));
    let snapshot = |instance| Change::Snapshot { instance, seq: 1, body: vec![1] };
    let all_of = |id, keeper| {
        let mut rows = one_of_each(id);
        rows.push(Row::Subscription(rows::subscription(id, 60, keeper)));
        rows.push(Row::Timer(rows::timer(0, id + 4, 1)));
        rows
    };
    let named = |id| InstanceRow {
        business_id: Some(name("a")),
        parent: Some((3, id)),
        ..rows::instance(id)
    };
    put(store, &zero, &[all_of(4, 0), vec![Row::Instance(named(4))]].concat());
    change(store, &zero, &[snapshot(4)]);
    put(store, &one, &[all_of(5, 1), vec![Row::Instance(named(5))]].concat());
    change(store, &one, &[snapshot(5)]);
    store.checkpoint(&one, 1, b"one", &[]).unwrap();
    // One of instance 5 is kept by shard 0, and goes with it.
    let kept: Vec<Row> = Table::ALL
        .iter()
        .flat_map(|it| all(store, *it))
        .filter(|it| it.shard(store.shards()) != ShardId(0))
        .collect();

    let stale = Claim { epoch: zero.epoch + 1, ..zero };
    assert_eq!(store.forget_views(&stale), Err(Error::Stale { shard: ShardId(0) }));
    assert!(store.instance(InstanceId(4)).unwrap().is_some());
    store.forget_views(&zero).unwrap();
    let left: Vec<Row> = Table::ALL.iter().flat_map(|it| all(store, *it)).collect();
    assert_eq!(left, kept);
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    assert_eq!(store.checkpointed(ShardId(1)).unwrap(), (1, b"one".to_vec()));
    assert_eq!(
        (store.snapshot(InstanceId(4)).unwrap(), store.snapshot(InstanceId(5)).unwrap().is_some()),
        (None, true)
    );
    assert_eq!(store.named(ShardId(0), "a").unwrap(), []);
    assert_eq!(store.named(ShardId(1), "a").unwrap(), [InstanceId(5)]);
    assert_eq!(
        (store.called(call(3, 4)).unwrap(), store.called(call(3, 5)).unwrap()),
        (None, Some(InstanceId(5)))
    );
    assert_eq!(store.last(ShardId(0)).unwrap(), 1);
    put(store, &zero, &one_of_each(4));
}

fn loads(store: &dyn Store) {
    let claim = claim(store, 0);
    let entries = vec![
        entry(1, 4, 0),
        entry(2, 8, 0),
        entry(3, 4, 1),
        entry(4, 12, 0),
        entry(5, 4, 3),
        entry(6, 8, 2),
    ];
    store.append(&claim, &[batch(entries.clone())]).unwrap();
    let row = |id, last| InstanceRow { last, ..rows::instance(id) };
    put(store, &claim, &[(4, 5), (8, 6), (12, 9)].map(|(id, last)| Row::Instance(row(id, last))));
    let snapshot = |instance, seq| Change::Snapshot { instance, seq, body: vec![7] };
    change(store, &claim, &[snapshot(4, 3), snapshot(8, 6)]);
    let loaded = store.load(
        ShardId(0),
        &[InstanceId(8), InstanceId(99), InstanceId(4), InstanceId(12), InstanceId(8)],
    );
    assert_eq!(loaded.len(), 5);
    assert_eq!(loaded[0], loaded[4]);
    assert_eq!(loaded[0].row, Ok(Some(row(8, 6))));
    assert_eq!(loaded[0].snapshot, Ok(Some((6, vec![7]))));
    // That the last entry is there tells that the instance is kept.
    assert_eq!(loaded[0].chain, Ok(vec![entries[5].clone()]));
    assert_eq!(loaded[1], Loaded { row: Ok(None), snapshot: Ok(None), chain: Ok(vec![]) });
    assert_eq!(loaded[2].snapshot, Ok(Some((3, vec![7]))));
    assert_eq!(loaded[2].chain, Ok(vec![entries[4].clone()]));
    // What is wrong with one is told of that one.
    assert_eq!(loaded[3].row, Ok(Some(row(12, 9))));
    assert_eq!(loaded[3].chain, Err(Error::NoSuchEntry { shard: ShardId(0), seq: 9 }));
    assert_eq!(store.load(ShardId(0), &[]), []);
}

fn finds_many(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    let of = |id, text: &str| InstanceRow {
        business_id: Some(name(text)),
        parent: Some((4, id)),
        ..rows::instance(id)
    };
    let there = [of(4, "a"), of(5, "a"), of(8, "b"), of(12, "a")];
    put(store, &claim, &there.map(Row::Instance));
    let found = store.named_many(ShardId(0), &["b", "", "a", "b"]).unwrap();
    assert_eq!(
        found,
        [vec![8], vec![], vec![12, 4], vec![8]]
            .map(|it| it.into_iter().map(InstanceId).collect::<Vec<_>>())
    );
    assert_eq!(store.named_many(ShardId(1), &["a"]).unwrap(), [[InstanceId(5)]]);
    assert_eq!(store.named_many(ShardId(0), &[]).unwrap(), Vec::<Vec<InstanceId>>::new());
    let found = store.called_many(&[call(4, 8), call(4, 9), call(4, 4)]).unwrap();
    assert_eq!(found, [Some(InstanceId(8)), None, Some(InstanceId(4))]);
    assert_eq!(store.called_many(&[]).unwrap(), []);
}

/// Texts that begin alike, for a store that cuts them.
const TEXTS: [&str; 8] = [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "a\0b",
    "\u{feff}\u{202e}\u{7f}\u{85} '\"\\%_?:$1",
    "\u{10ffff}\u{e000}e\u{301}\u{e9}\r\n",
];

fn any_characters(store: &dyn Store) {
    kept_and_found(store, &TEXTS);
}

fn any_lengths(store: &dyn Store) {
    // What does not become shorter by packing, and says what it is only at its end.
    let mut random = Random(7);
    let mut letter = || char::from(b'0' + u8::try_from(random.below(75)).expect("it is small"));
    let text: String = (0..9_000).map(|_| letter()).collect();
    kept_and_found(store, &[&text, &format!("{text}a"), &format!("{text}b"), "a"]);
}

/// Whatever has a name keeps these, and is found by each alone.
fn kept_and_found(store: &dyn Store, texts: &[&str]) {
    let claim = ready(store, 0, 1);
    let mut there = Vec::new();
    for (id, text) in (1..).map(|it| it * 4).zip(texts.iter().copied()) {
        there.push(Row::Instance(InstanceRow {
            business_id: Some(name(text)),
            definition: name(text),
            reason: Some(name(text)),
            ..rows::instance(id)
        }));
        there.push(Row::Variable(rows::variable(id, text, "1")));
        there.push(Row::Variable(rows::variable(id, "value", text)));
        there.push(Row::Job(JobRow { job_type: name(text), ..rows::job(id, 3) }));
        let json = Value::from(text).to_string();
        let task = TaskRow {
            assignee: Some(name(text)),
            candidate_users: Name::from(format!("[{json},\"b\"]")),
            candidate_groups: Name::from(format!("[\"g\",{json}]")),
            ..rows::task(id, 4)
        };
        there.push(Row::Task(task));
        there.push(Row::Message(rows::message(id, text)));
    }
    put(store, &claim, &there);
    there.sort_by_key(|it| (it.table(), it.key()));
    let found: Vec<Row> = Table::ALL.iter().flat_map(|it| all(store, *it)).collect();
    assert_eq!(found, there);
    for (id, text) in (1..).map(|it| it * 4).zip(texts.iter().copied()) {
        assert_eq!(store.named(ShardId(0), text).unwrap(), [InstanceId(id)], "{text:?}");
        let only = |table, filter: Filter| {
            let ids: Vec<u64> =
                ask(store, table, vec![filter]).iter().map(|it| it.key().instance).collect();
            assert_eq!(ids, [id], "{text:?} in {table}");
        };
        only(Table::Instances, Filter::BusinessId(name(text)));
        only(Table::Instances, Filter::Definition(name(text)));
        only(Table::Instances, Filter::Variable(name(text), name("1")));
        only(Table::Instances, Filter::Variable(name("value"), name(text)));
        only(Table::Jobs, Filter::JobType(name(text)));
        only(Table::Tasks, Filter::Assignee(name(text)));
        only(Table::Tasks, Filter::CandidateUser(name(text)));
        only(Table::Tasks, Filter::CandidateGroup(name(text)));
        only(Table::Messages, Filter::Named(name(text)));
        let variable = rows::variable(id, text, "1");
        let delete = Change::Delete(Table::Variables, Row::Variable(variable).key());
        change(store, &claim, &[delete]);
        assert_eq!(ask(store, Table::Variables, vec![Filter::Instance(id)]).len(), 1, "{text:?}");
    }
}

/// Four instances: 4 runs, 8 was called by it and has failed, 12 is suspended, 16 completed.
fn many(store: &dyn Store) -> Claim {
    let claim = ready(store, 0, 1);
    let mut there = [4, 8, 12].into_iter().flat_map(one_of_each).collect::<Vec<_>>();
    there.extend([
        Row::Instance(InstanceRow {
            incidents: 1,
            business_id: Some(name("a")),
            ..rows::instance(4)
        }),
        Row::Instance(InstanceRow {
            state: InstanceState::Failed,
            definition: name("refund"),
            version: 2,
            started: time(200),
            ended: Some(time(300)),
            parent: Some((4, 1)),
            root: 4,
            ..rows::instance(8)
        }),
        Row::Instance(InstanceRow { state: InstanceState::Suspended, ..rows::instance(12) }),
        Row::Instance(InstanceRow {
            state: InstanceState::Completed,
            ended: Some(time(400)),
            ..rows::instance(16)
        }),
        Row::Element(ElementRow { element: name("pack"), ..rows::element(12, 2) }),
        Row::Variable(rows::variable(12, "total", &format!("\"{}\"", "long".repeat(200)))),
        Row::Job(JobRow { state: JobState::Failed, job_type: name("mail"), ..rows::job(8, 3) }),
        Row::Task(TaskRow {
            assignee: Some(name("ann")),
            due: Some(time(50)),
            candidate_users: name(r#"["bob","\u0063y"]"#),
            candidate_groups: name(r#"["staff"]"#),
            ..rows::task(8, 4)
        }),
        Row::Timer(rows::timer(12, 5, 950)),
        Row::Timer(rows::timer(0, 20, 990)),
        Row::Subscription(SubscriptionRow {
            kind: SubscriptionKind::Signal,
            name: name("stop"),
            ..rows::subscription(12, 6, 0)
        }),
        Row::Message(MessageRow {
            dead: Some(time(500)),
            reason: Some(name("late")),
            ..rows::message(12, "stop")
        }),
    ]);
    put(store, &claim, &there);
    claim
}

fn filters(store: &dyn Store) {
    use InstanceState::{Completed, Failed, Running, Suspended};
    many(store);
    let found = |table, filter: &Filter| -> Vec<u64> {
        ask(store, table, vec![filter.clone()]).iter().map(|it| it.key().instance).collect()
    };
    let long = format!("\"{}\"", "long".repeat(200));
    // What is found among instances, among jobs (of 4, 8 and 12), and among timers.
    let of_instances: &[(Filter, &[u64])] = &[
        (Filter::Instance(8), &[8]),
        (Filter::Instance(u64::MAX), &[]),
        (Filter::Root(4), &[4, 8]),
        (Filter::Root(8), &[]),
        (Filter::Root(12), &[12]),
        (Filter::Parent(4), &[8]),
        (Filter::TopLevel, &[4, 12, 16]),
        (Filter::NotDefinition("nothing".into()), &[4, 8, 12, 16]),
        (Filter::Version(2), &[8]),
        (Filter::State(vec![Running]), &[4]),
        (Filter::State(vec![Running, Suspended]), &[4, 12]),
        (Filter::State(vec![Suspended, Completed]), &[12, 16]),
        (Filter::State(vec![Failed]), &[8]),
        (Filter::State(vec![]), &[]),
        (Filter::BusinessId(name("a")), &[4]),
        (Filter::BusinessId(name("")), &[]),
        (Filter::Started(None, Some(time(200))), &[4, 12, 16]),
        (Filter::Started(Some(time(200)), None), &[8]),
        (Filter::Started(None, None), &[4, 8, 12, 16]),
        (Filter::Ended(None, None), &[8, 16]),
        (Filter::Ended(Some(time(300)), Some(time(400))), &[8]),
        (Filter::Ended(Some(time(301)), None), &[16]),
        (Filter::HasIncidents(true), &[4]),
        (Filter::HasIncidents(false), &[8, 12, 16]),
        (Filter::Variable(name("total"), name("12.50")), &[4, 8]),
        (Filter::Variable(name("total"), name("12.5")), &[]),
        (Filter::Variable(name("total"), name(&long)), &[12]),
        (Filter::Variable(name("12.50"), name("total")), &[]),
    ];
    for (filter, expected) in of_instances {
        assert_eq!(found(Table::Instances, filter), *expected, "{filter:?}");
        let with_rows: Vec<u64> = expected.iter().copied().filter(|it| *it < 16).collect();
        for table in Table::ALL {
            if !matches!(table, Table::Instances | Table::Messages) {
                assert_eq!(found(table, filter), with_rows, "{filter:?} {table}");
            }
        }
    }
    let others: &[(Table, Filter, &[u64])] = &[
        (Table::Instances, Filter::Definition(name("order")), &[4, 12, 16]),
        (Table::Jobs, Filter::Definition(name("refund")), &[8]),
        // Timers know the definition themselves, so that those without an instance are found too.
        (Table::Timers, Filter::Definition(name("order")), &[0, 4, 8, 12]),
        (Table::Timers, Filter::Instance(0), &[0]),
        (Table::Elements, Filter::Element(name("charge")), &[4, 8]),
        (Table::Elements, Filter::Element(name("pack")), &[12]),
        (Table::Jobs, Filter::Element(name("charge")), &[4, 8, 12]),
        (Table::Tasks, Filter::Element(name("approve")), &[4, 8, 12]),
        (Table::Timers, Filter::Element(name("late")), &[0, 4, 8, 12]),
        (Table::Subscriptions, Filter::Element(name("receive")), &[4, 8, 12]),
        (Table::Incidents, Filter::Element(name("charge")), &[4, 8, 12]),
        (Table::Variables, Filter::Named(name("total")), &[4, 8, 12]),
        (Table::Variables, Filter::Named(name("other")), &[]),
        (Table::Subscriptions, Filter::Named(name("stop")), &[12]),
        (Table::Messages, Filter::Named(name("paid")), &[4, 8]),
        (Table::Messages, Filter::Dead(true), &[12]),
        (Table::Messages, Filter::Dead(false), &[4, 8]),
        (Table::Jobs, Filter::JobType(name("payment")), &[4, 12]),
        (Table::Jobs, Filter::JobState(JobState::Failed), &[8]),
        (Table::Tasks, Filter::Assignee(name("ann")), &[8]),
        (Table::Tasks, Filter::Unassigned, &[4, 12]),
        (Table::Tasks, Filter::CandidateUser(name("bob")), &[8]),
        (Table::Tasks, Filter::CandidateUser(name("cy")), &[8]),
        (Table::Tasks, Filter::CandidateUser(name("staff")), &[]),
        (Table::Tasks, Filter::CandidateGroup(name("staff")), &[8]),
        (Table::Tasks, Filter::Due(None, None), &[8]),
        (Table::Tasks, Filter::Due(None, Some(time(50))), &[]),
        (Table::Timers, Filter::Due(Some(time(900)), Some(time(950))), &[4, 8]),
        (Table::Timers, Filter::Due(Some(time(950)), None), &[0, 12]),
        (Table::Subscriptions, Filter::Kind(SubscriptionKind::Signal), &[12]),
    ];
    for (table, filter, expected) in others {
        assert_eq!(found(*table, filter), *expected, "{filter:?} {table}");
    }
}

fn filters_together(store: &dyn Store) {
    many(store);
    let total = || Filter::Variable(name("total"), name("12.50"));
    let running = || Filter::State(vec![InstanceState::Running]);
    let found = |table, filters| -> Vec<u64> {
        ask(store, table, filters).iter().map(|it| it.key().instance).collect()
    };
    assert_eq!(found(Table::Instances, vec![running(), total()]), [4]);
    assert_eq!(found(Table::Instances, vec![Filter::Parent(4), Filter::TopLevel]), [0; 0]);
    let jobs = vec![total(), Filter::JobType(name("payment")), Filter::Root(4)];
    assert_eq!(found(Table::Jobs, jobs), [4]);
    let twice = vec![running(), Filter::State(vec![InstanceState::Suspended])];
    assert_eq!(found(Table::Instances, twice), [0; 0]);
}

fn senseless(store: &dyn Store) {
    let refused = |table, filter: Filter| {
        let filters = vec![filter];
        let query = Query { table, filters, descending: false, after: None, limit: 10 };
        match store.query(&query) {
            Err(Error::BadQuery { reason }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let reason = refused(Table::Messages, Filter::BusinessId(name("a")));
    assert!(reason.contains("messages") && reason.contains("business id"), "{reason}");
    let reason = refused(Table::Instances, Filter::JobType(name("a")));
    assert!(reason.contains("instances") && reason.contains("job type"), "{reason}");
    refused(Table::Variables, Filter::Element(name("a")));
    refused(Table::Jobs, Filter::Due(None, None));
    refused(Table::Timers, Filter::Unassigned);
    let query =
        Query { table: Table::Jobs, filters: vec![], descending: false, after: None, limit: 0 };
    assert!(matches!(store.query(&query), Err(Error::BadQuery { .. })));
}

/// Reads all pages of so many rows.
fn paged(
    store: &dyn Store,
    table: Table,
    filters: &[Filter],
    descending: bool,
    limit: u32,
) -> Vec<Row> {
    let mut query = Query { table, filters: filters.to_vec(), descending, after: None, limit };
    let mut found = Vec::new();
    loop {
        let page = store.query(&query).unwrap();
        assert!(page.rows.len() <= limit as usize);
        found.extend(page.rows);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

fn pages(store: &dyn Store) {
    many(store);
    let claim = claim(store, 0);
    let variable =
        |layer, of: &str| Row::Variable(VariableRow { layer, ..rows::variable(4, of, "1") });
    put(store, &claim, &[variable(1, "a"), variable(1, "z"), variable(2, "a"), variable(10, "a")]);
    for table in Table::ALL {
        let filters: &[&[Filter]] = if table == Table::Messages {
            &[&[]]
        } else {
            &[&[], &[Filter::Started(None, None)], &[Filter::Root(4)]]
        };
        for filters in filters {
            let whole = ask(store, table, filters.to_vec());
            for limit in [1, 2, 3, u32::MAX] {
                assert_eq!(paged(store, table, filters, false, limit), whole, "{table}");
                let mut back = paged(store, table, filters, true, limit);
                back.reverse();
                assert_eq!(back, whole, "{table} {filters:?} {limit}");
            }
        }
    }
}

fn cursors(store: &dyn Store) {
    let claim = ready(store, 0, 1);
    put(store, &claim, &[4, 8, 12, 16].map(|id| Row::Instance(rows::instance(id))));
    let mut query = Query {
        table: Table::Instances,
        filters: vec![],
        descending: false,
        after: None,
        limit: 2,
    };
    let page = store.query(&query).unwrap();
    assert_eq!(page.next, Some(Cursor(Key::of_instance(8))));
    // The row at the cursor goes, one before it comes, one after it goes.
    change(
        store,
        &claim,
        &[Change::Remove(8), Change::Put(Row::Instance(rows::instance(5))), Change::Remove(12)],
    );
    query.after = page.next;
    let page = store.query(&query).unwrap();
    assert_eq!(page.rows, [Row::Instance(rows::instance(16))]);
    assert_eq!(page.next, None);
    query.after = Some(Cursor(Key::of_instance(u64::MAX)));
    assert_eq!(store.query(&query).unwrap().rows, []);
}
