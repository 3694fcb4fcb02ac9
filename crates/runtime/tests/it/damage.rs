//! Instances of which the store has bytes that cannot be read.

use std::{sync::Arc, time::Duration};

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::WaitId;
use travertine_runtime::{
    Address, Engine, Error, InstanceId, Message, Opening, Receipt, Settings, Shard, Timestamp,
    engine::{Options, Retention},
};
use travertine_store::{
    Batch, Claim, Entry, Fold, Mail, MailId, MemoryStore, ShardId, Store,
    codec::record::{encode_letter, encode_records},
    record::Letter,
    view::{
        Change, Filter, InstanceRow, InstanceState, MessageRow, Query, Row, SubscriptionRow, Table,
    },
};

use crate::world::{block_on, file, rest};

const PROCESS: &str = r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="g"/><parallelGateway id="g"/>
    <sequenceFlow id="f2" sourceRef="g" targetRef="r"/><receiveTask id="r" messageRef="m"/>
    <sequenceFlow id="f3" sourceRef="g" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
    <sequenceFlow id="f4" sourceRef="r" targetRef="e"/>
    <sequenceFlow id="f5" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

/// A store with two instances of which the first cannot be read, as `damage` sees to.
struct World {
    store: Arc<dyn Store>,
    bad: InstanceId,
    good: InstanceId,
}

fn world(damage: impl FnOnce(&dyn Store, &Claim, InstanceRow)) -> World {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    let bad = engine.start("p").variable("x", 1).wait().expect("starts");
    let good = engine.start("p").variable("x", 2).wait().expect("starts");
    engine.shutdown().expect("nothing has failed");
    let claim = store.take(ShardId(0), "who damages it").expect("nobody else has it");
    let row = store.instance(bad).expect("it can be asked").expect("it is there");
    damage(&*store, &claim, row);
    World { store, bad, good }
}

impl World {
    fn open(&self) -> Engine {
        Engine::on(&self.store, Options::default()).expect("it opens all the same")
    }

    fn reopen(&self, engine: Engine) -> Engine {
        engine.shutdown().expect("nothing has failed");
        self.open()
    }

    fn row(&self, engine: &Engine, id: InstanceId) -> InstanceRow {
        engine.flush_now().expect("it goes on");
        self.store.instance(id).expect("it can be asked").expect("it is there")
    }

    fn jobs(engine: &Engine, id: InstanceId) -> Vec<Address> {
        let filters = vec![Filter::Instance(id.0)];
        let query =
            Query { table: Table::Jobs, filters, descending: false, after: None, limit: 10 };
        let rows = engine.query_now(&query).expect("it can be asked").rows;
        rows.iter()
            .map(Row::key)
            .map(|it| Address { instance: id, wait: WaitId(it.number) })
            .collect()
    }

    /// The instance that cannot be read says so, whatever is asked of it; the other one goes on.
    fn check(&self, engine: &Engine) {
        let damaged =
            |it: &Error| it.to_string().contains(&format!("instance {} is damaged", self.bad));
        for _ in 0..2 {
            let asked = engine.retry(self.bad, None).wait();
            assert!(matches!(&asked, Err(it @ Error::Halted { .. }) if damaged(it)), "{asked:?}");
            let looked = engine.look(self.bad).wait().map(drop);
            assert!(
                matches!(&looked, Err(it @ Error::Damaged { .. }) if damaged(it)),
                "{looked:?}"
            );
            let result = engine.result(self.bad).wait();
            assert!(matches!(result, Err(Error::Damaged { .. })), "{result:?}");
            let released = engine.release(self.bad);
            assert!(matches!(released, Err(Error::Damaged { .. })), "{released:?}");
        }
        let row = self.row(engine, self.bad);
        assert_eq!(row.state, InstanceState::Halted);
        assert!(row.reason.as_deref().is_some_and(|it| it.contains("damaged")), "{row:?}");
        let look = engine.look(self.good).wait().expect("it is sound");
        assert_eq!(look.row.state, InstanceState::Running);
        assert!(engine.fault().is_none());
    }
}

fn append(store: &dyn Store, claim: &Claim, row: &InstanceRow, body: &[u8]) -> u64 {
    let seq = store.last(ShardId(0)).expect("it can be asked") + 1;
    let (instance, previous) = (row.id, row.last);
    let entries = vec![Entry {
        seq,
        instance: InstanceId(instance),
        previous,
        at: Timestamp::default(),
        body: body.to_vec(),
    }];
    store.append(claim, &[Batch { entries, ..Batch::default() }]).expect("there is room");
    seq
}

/// An entry that cannot be read, before the last checkpoint.
fn stored(store: &dyn Store, claim: &Claim, row: InstanceRow) {
    let last = append(store, claim, &row, &[77, 1, 2, 3]);
    let (_, state) = store.checkpointed(ShardId(0)).expect("it can be asked");
    let row = Change::Put(Row::Instance(InstanceRow { last, ..row }));
    store.checkpoint(claim, last, &state, &[row]).expect("there is room");
}

/// Waits for a long time.
const NAP: WorkflowDefinition = WorkflowDefinition {
    name: "nap",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_hours(1)).await?;
            Ok("rested".into())
        })
    },
};

#[test]
fn a_function_that_cannot_be_read_is_ended_by_whoever_cancels_it() {
    let options = || Options { functions: Functions::new().workflow(NAP), ..Options::default() };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
    let engine = Engine::on(&store, options()).expect("it opens");
    let nap = Workflow::<String>::new("nap", 1);
    let id = engine.start(nap).id("nap").wait().expect("it starts").instance();
    engine.shutdown().expect("nothing has failed");
    let claim = store.take(ShardId(0), "who damages it").expect("nobody else has it");
    let row = || store.instance(id).expect("it can be asked").expect("it is there");
    stored(&*store, &claim, row());
    let engine = Engine::on(&store, options()).expect("it opens all the same");
    let run = block_on(engine.run::<String>("nap")).expect("it answers").expect("it is there");
    assert_eq!(run.cancel().wait(), Ok(true));
    engine.flush_now().expect("it goes on");
    assert_eq!(row().state, InstanceState::Cancelled);
}

#[test]
fn an_instance_with_an_entry_that_cannot_be_read_is_halted_and_the_rest_goes_on() {
    let world = world(stored);
    for _ in 0..3 {
        let engine = world.open();
        world.check(&engine);
        engine.shutdown().expect("nothing has failed");
    }
}

#[test]
fn an_instance_that_cannot_be_read_is_ended_by_whoever_cancels_it() {
    let after: fn(&dyn Store, &Claim, InstanceRow) = |store, claim, row| {
        append(store, claim, &row, &[77, 1, 2, 3]);
    };
    for damage in [stored, after] {
        let world = world(damage);
        let engine = world.open();
        engine.cancel(world.bad).wait().expect("it need not be read for that");
        let check = |engine: &Engine| {
            let row = world.row(engine, world.bad);
            assert_eq!((row.state, row.reason), (InstanceState::Cancelled, None));
            assert_eq!(World::jobs(engine, world.bad), []);
            let look = engine.look(world.bad).wait().expect("what is left of it can be read");
            assert_eq!(look.row.state, InstanceState::Cancelled);
        };
        check(&engine);
        let engine = world.reopen(engine);
        check(&engine);
        let paid = engine.publish(Message::new("paid")).wait().expect("it is routed");
        assert!(
            matches!(paid, Receipt::Received(it) if it.instance == world.good),
            "{paid:?}: nobody else waits"
        );
    }
}

#[test]
fn the_same_is_so_where_the_entry_comes_after_the_last_checkpoint() {
    let world = world(|store, claim, row| {
        append(store, claim, &row, &[77, 1, 2, 3]);
    });
    for _ in 0..3 {
        let engine = world.open();
        world.check(&engine);
        engine.shutdown().expect("nothing has failed");
    }
}

#[test]
fn events_that_do_not_follow_on_each_other_are_damage_too() {
    use travertine_kernel::{Event, TokenId};
    use travertine_store::record::Record;
    let nonsense = vec![Event::TokenRetired { token: TokenId(999) }];
    let mut body = Vec::new();
    encode_records(&[Record::Happened(nonsense)], &mut body).expect("it can be stored");
    let world = world(|store, claim, row| {
        append(store, claim, &row, &body);
    });
    let engine = world.open();
    world.check(&engine);
}

#[test]
fn an_instance_whose_first_entry_cannot_be_read_is_there_too() {
    let world = world(|store, claim, row| {
        let row = InstanceRow { id: 77, last: 0, ..row };
        append(store, claim, &row, &[77]);
    });
    let world = World { bad: InstanceId(77), ..world };
    for _ in 0..2 {
        let engine = world.open();
        world.check(&engine);
        let next = engine.start("p").wait().expect("others start");
        assert!(next > world.bad, "no number is used twice");
        engine.shutdown().expect("nothing has failed");
    }
}

#[test]
fn an_instance_of_which_an_entry_is_missing_is_halted_once() {
    let lose = |store: &dyn Store, claim: &Claim, row: &InstanceRow| {
        let mut body = Vec::new();
        encode_records(&[], &mut body).expect("it can be stored");
        let last = append(store, claim, row, &body);
        store.fold(claim, &[Fold { last: row.last, entry: None }]).expect("it is there");
        last
    };
    let seen = world(|store, claim, row| {
        let last = lose(store, claim, &row);
        let (_, state) = store.checkpointed(ShardId(0)).expect("it can be asked");
        let row = Change::Put(Row::Instance(InstanceRow { last, ..row }));
        store.checkpoint(claim, last, &state, &[row]).expect("there is room");
    });
    let unseen = world(|store, claim, row| {
        lose(store, claim, &row);
    });
    let without_views = world(|store, claim, row| {
        lose(store, claim, &row);
    });
    for (world, views) in [(seen, true), (unseen, true), (without_views, false)] {
        for _ in 0..3 {
            if !views {
                crate::world::reset_views(&*world.store);
            }
            let engine = world.open();
            world.check(&engine);
            let found = engine.verify().expect("it can be asked").differences;
            assert!(!found.is_empty() && found.iter().all(|it| it.instance == world.bad));
            engine.shutdown().expect("nothing has failed");
        }
        let about = || {
            let entries = world.store.entries(ShardId(0), 0, 1_000).expect("it can be asked");
            entries.iter().filter(|it| it.instance == world.bad).count()
        };
        assert_eq!(about(), 2, "the one that is left, and that it is halted");
        let engine = world.open();
        engine.delete(world.bad).expect("nobody can use it");
        engine.shutdown().expect("nothing has failed");
        assert_eq!(about(), 0, "what is left of it goes");
        let engine = world.open();
        assert_eq!(engine.verify().expect("it can be asked").differences, []);
    }
}

#[test]
fn where_a_snapshot_cannot_be_read_the_log_says_the_same() {
    let world = world(|store, claim, row| {
        let (upto, state) = store.checkpointed(ShardId(0)).expect("it can be asked");
        let snapshot = Change::Snapshot { instance: row.id, seq: row.last, body: vec![77] };
        store.checkpoint(claim, upto, &state, &[snapshot]).expect("there is room");
    });
    let engine = world.open();
    let look = engine.look(world.bad).wait().expect("it can be read");
    assert_eq!(look.variables, [("x".into(), 1.into())]);
    assert_eq!(engine.verify().expect("it can be asked").differences, []);
}

#[test]
fn what_comes_for_an_instance_that_cannot_be_read_is_kept() {
    let world = world(stored);
    let engine = world.open();
    engine.publish(Message::new("paid")).wait().expect("the first has waited longest");
    engine.publish(Message::new("paid")).wait().expect("the second has waited, too");
    let job = World::jobs(&engine, world.good)[0];
    engine.complete(job, Vec::new()).wait().expect("it goes on");
    rest(&engine);
    assert_eq!(world.row(&engine, world.good).state, InstanceState::Completed);
    assert_eq!(world.row(&engine, world.bad).state, InstanceState::Halted);
    let verified = engine.verify().expect("it can be asked");
    assert!(verified.differences.iter().all(|it| it.instance == world.bad), "{verified:?}");
    assert_ne!(verified.differences, []);
}

#[test]
fn an_instance_that_cannot_be_read_can_be_deleted() {
    let world = world(stored);
    let engine = world.open();
    let refused = engine.delete(world.good);
    assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
    engine.delete(world.bad).expect("nobody can use it");
    engine.publish(Message::new("paid")).wait().expect("it is for the other one");
    let job = World::jobs(&engine, world.good)[0];
    engine.complete(job, Vec::new()).wait().expect("it goes on");
    rest(&engine);
    assert_eq!(world.row(&engine, world.good).state, InstanceState::Completed);
    let swept = Retention { ended_max: Some(0), ..Retention::default() };
    assert_eq!(engine.sweep_with(&swept).expect("sweeps").removed, 1);
    engine.shutdown().expect("nothing has failed");
    let engine = world.open();
    assert_eq!(engine.verify().expect("it can be asked").differences, []);
}

/// A store of two shards with an instance on the first, as `damage` leaves it.
fn two_shards(
    damage: impl FnOnce(&dyn Store, &[Claim; 2], InstanceId),
) -> (Arc<dyn Store>, InstanceId) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(2));
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    let started = [(); 2].map(|()| engine.start("p").wait().expect("starts"));
    let id = started.into_iter().find(|it| ShardId::of(it.0, 2) == ShardId(0));
    let id = id.expect("they are spread");
    let held = engine.publish(Message::new("early")).wait().expect("it is kept");
    assert_eq!(held, Receipt::Held);
    engine.shutdown().expect("nothing has failed");
    let claims = [ShardId(0), ShardId(1)].map(|it| store.take(it, "who damages it").expect("free"));
    damage(&*store, &claims, id);
    (store, id)
}

fn send(store: &dyn Store, claim: &Claim, bodies: &[&[u8]]) {
    let mails = (1..).zip(bodies).map(|(number, body)| Mail {
        id: MailId { from: claim.shard, number },
        to: ShardId(0),
        body: body.to_vec(),
    });
    store
        .append(claim, &[Batch { sent: mails.collect(), ..Batch::default() }])
        .expect("there is room");
}

fn told(engine: &Engine) -> Vec<String> {
    engine.verify().expect("it can be asked").differences.iter().map(ToString::to_string).collect()
}

#[test]
fn a_mail_that_cannot_be_read_stays_in_the_store_and_those_behind_it_are_carried_out() {
    let (store, id) = two_shards(|store, claims, id| {
        let mut cancel = Vec::new();
        encode_letter(&Letter::Cancel { instance: id }, &mut cancel).expect("it can be stored");
        send(store, &claims[1], &[&[77, 1], &cancel]);
    });
    for _ in 0..2 {
        let engine = Engine::on(&store, Options::default()).expect("it opens all the same");
        rest(&engine);
        engine.flush_now().expect("it goes on");
        let row = store.instance(id).expect("it can be asked").expect("it is there");
        assert_eq!(row.state, InstanceState::Cancelled);
        let damaged = &engine.opened().shards[0].damaged;
        assert!(matches!(&damaged[..], [it] if it.contains("mail 1 from shard 1")), "{damaged:?}");
        assert_eq!(engine.opened().shards[1].damaged, [""; 0]);
        let report = engine.recover().expect("it goes on");
        assert_eq!((report.rebuilt, report.unreadable, report.damaged), (0, 0, 1));
        assert!(matches!(&told(&engine)[..], [it] if it.contains("mail 1 from shard 1")));
        engine.shutdown().expect("nothing has failed");
        assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).expect("it can be asked").len(), 1);
    }
}

#[test]
fn an_entry_of_the_shard_itself_that_cannot_be_read_is_passed_over() {
    let (store, id) = two_shards(|store, claims, _| {
        let row = InstanceRow { id: 0, last: 0, ..store.instance(InstanceId(2)).unwrap().unwrap() };
        append(store, &claims[0], &row, &[77]);
    });
    for _ in 0..2 {
        let engine = Engine::on(&store, Options::default()).expect("it opens all the same");
        assert!(matches!(&told(&engine)[..], [it] if it.contains("cannot be read")));
        engine.cancel(id).wait().map_or_else(|it| assert!(matches!(it, Error::Rejected(_))), drop);
        engine.shutdown().expect("nothing has failed");
    }
}

#[test]
fn rows_that_cannot_be_read_are_made_again_from_the_log() {
    type Damage = fn(Row) -> Option<Row>;
    let damages: [(Table, Damage); 2] = [
        (Table::Subscriptions, |row| match row {
            Row::Subscription(it) => {
                Some(Row::Subscription(SubscriptionRow { body: vec![77], ..it }))
            }
            _ => None,
        }),
        (Table::Messages, |row| match row {
            Row::Message(it) => Some(Row::Message(MessageRow { body: vec![77], ..it })),
            _ => None,
        }),
    ];
    for (table, damage) in damages {
        let (store, _) = two_shards(|store, claims, _| {
            let query =
                Query { table, filters: Vec::new(), descending: false, after: None, limit: 1 };
            let row = store.query(&query).expect("it can be asked").rows.remove(0);
            let row = damage(row).expect("it is of that table");
            let claim = claims[usize::from(row.shard(2).0)];
            let (upto, state) = store.checkpointed(claim.shard).expect("it can be asked");
            store.checkpoint(&claim, upto, &state, &[Change::Put(row)]).expect("there is room");
        });
        let engine = Engine::on(&store, Options::default()).expect("it opens all the same");
        let why = engine.opened().rebuilt.as_deref().expect("it says so");
        assert!(why.contains("the subscription") || why.contains("the message"), "{why}");
        let report = engine.recover().expect("it goes on");
        // Of the shard alone that has it: the other one keeps its rows.
        assert_eq!((report.rebuilt, report.unreadable, report.damaged), (1, 0, 0));
        let paid = engine.publish(Message::new("paid")).wait();
        assert!(matches!(paid, Ok(Receipt::Received(_))), "{paid:?}");
        let query = Query {
            table: Table::Messages,
            filters: Vec::new(),
            descending: false,
            after: None,
            limit: 9,
        };
        assert_eq!(engine.query_now(&query).expect("it can be asked").rows.len(), 1);
        assert_eq!(told(&engine), [""; 0]);
        engine.shutdown().expect("nothing has failed");
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        assert_eq!(engine.opened().rebuilt, None);
    }
}

#[test]
fn what_a_checkpoint_says_of_a_shard_is_made_again_too() {
    let (store, _) = two_shards(|store, claims, _| {
        let (upto, _) = store.checkpointed(ShardId(0)).expect("it can be asked");
        store.checkpoint(&claims[0], upto, &[77], &[]).expect("there is room");
    });
    let engine = Engine::on(&store, Options::default()).expect("it opens all the same");
    assert!(engine.opened().rebuilt.is_some());
    let next = engine.start("p").wait().expect("others start");
    assert!(next.0 > 3, "no number is used twice: {next}");
    rest(&engine);
    assert_eq!(told(&engine), [""; 0]);
}

#[test]
fn a_mail_that_comes_and_cannot_be_read_is_not_taken() {
    let (store, id) = two_shards(|_, _, _| {});
    let opening = Opening {
        store: Arc::clone(&store),
        definitions: Arc::default(),
        functions: Arc::default(),
        board: Arc::default(),
        settings: Settings::default(),
        now: Timestamp::from_millis(0),
    };
    let claim = store.take(ShardId(0), "a test").expect("it can be claimed");
    let (mut shard, _) = Shard::recover(claim, opening, &mut |_, _| {}).expect("it opens");
    let from = MailId { from: ShardId(1), number: 1 };
    shard.receive(&Mail { id: from, to: ShardId(0), body: vec![77] });
    shard.work();
    assert!(shard.seal().is_none_or(|it| it.batch.taken.is_empty()), "{id}");
}
