//! Messages and signals have numbers; who correlates hears what the receiver has decided.

use std::{collections::BTreeSet, thread, time::Duration};

use travertine_kernel::Ending;
use travertine_runtime::{
    Correlated, Engine, Error, InstanceId, Message, Published, Receipt,
    engine::{Options, PublishOptions},
};
use travertine_store::{ShardId, codec::record::decode_records, record::Record};

use crate::world::{World, rest, vars};

/// Waits for `paid`, started plainly or by `order`.
const RECEIVER: &str = r#"<message id="m" name="paid"/><message id="o" name="order"/>
    <signal id="b" name="bell"/><process id="p" isExecutable="true"><startEvent id="s"/>
    <startEvent id="n"><messageEventDefinition messageRef="o"/></startEvent>
    <sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <sequenceFlow id="f2" sourceRef="n" targetRef="r"/><receiveTask id="r" messageRef="m"/>
    <sequenceFlow id="f3" sourceRef="r" targetRef="e"/><endEvent id="e"/></process>"#;

fn dropped(name: &str) -> Message {
    Message { ttl: Some(Duration::ZERO), ..Message::new(name) }
}

fn publish(engine: &Engine, message: Message) -> Published {
    engine.publish_with(message, PublishOptions::default()).wait().expect("it is published")
}

fn start(engine: &Engine) -> InstanceId {
    engine.start("p").wait().expect("it starts")
}

#[test]
fn the_number_of_a_message_that_the_log_tells_of_anyway_is_not_written_by_itself() {
    let world = World::new(1);
    world.deploy(RECEIVER);
    let engine = world.engine();
    let numbered = || {
        let entries = engine.store().entries(ShardId(0), 0, 1_000).expect("it can be read");
        let records = entries.iter().flat_map(|it| decode_records(&it.body).expect("it is sound"));
        records.filter(|it| matches!(it, Record::Numbered { .. })).count()
    };
    publish(engine, Message { id: Some("held".into()), ..Message::new("other") });
    start(engine);
    let known = Message { id: Some("known".into()), ..Message::new("paid") };
    assert!(matches!(publish(engine, known).receipt, Receipt::Received(_)));
    assert_eq!(numbered(), 0);
    publish(engine, dropped("paid"));
    assert_eq!(numbered(), 1, "nothing else tells of this one");
}

#[test]
fn each_message_and_signal_has_a_number_that_nothing_else_ever_has() {
    for shards in [1, 3] {
        let mut world = World::new(shards);
        world.deploy(RECEIVER);
        let mut seen = BTreeSet::new();
        for round in 0..4 {
            let engine = world.engine();
            let mut numbers = Vec::new();
            let mut sent = |message: Message, expected: fn(Receipt) -> bool| {
                let Published { number, receipt } = publish(engine, message);
                assert!(expected(receipt), "{receipt:?}");
                numbers.push(number.expect("it is new"));
            };
            sent(dropped("paid"), |it| it == Receipt::Dropped);
            sent(dropped("other"), |it| it == Receipt::Dropped);
            sent(Message::new("other"), |it| it == Receipt::Held);
            sent(Message::new("order"), |it| matches!(it, Receipt::Started(_)));
            let id = format!("id {round}");
            let named = Message { id: Some(id.as_str().into()), ..Message::new("paid") };
            sent(named.clone(), |it| matches!(it, Receipt::Received(_)));
            for _ in 0..5 {
                start(engine);
                sent(Message::new("paid"), |it| matches!(it, Receipt::Received(_)));
            }
            assert_eq!(publish(engine, named).number, None, "it is known");
            for name in ["bell", "paid"] {
                numbers.push(engine.signal(name, Vec::new()).wait().unwrap().number);
            }
            for number in numbers {
                assert!(number > 0 && seen.insert(number), "{number} was given twice");
            }
            world.restart_after(|data| {
                if round % 2 == 0 {
                    std::fs::remove_file(data.join("views.db")).expect("rows can be made again");
                }
            });
        }
        world.check();
    }
}

#[test]
fn a_held_message_keeps_the_number_that_its_sender_was_told() {
    let world = World::new(2);
    let told = publish(
        world.engine(),
        Message { ttl: Some(Duration::from_secs(1)), ..Message::new("paid") },
    );
    world.advance(2_000);
    let dead = world.engine().dead_letters(None, None, 10).unwrap();
    assert_eq!(dead.iter().map(|it| Some(it.number)).collect::<Vec<_>>(), [told.number]);
}

#[test]
fn numbers_of_messages_that_leave_nothing_are_recorded_many_at_once() {
    let world = World::new(1);
    world.deploy(RECEIVER);
    let engine = world.engine();
    for _ in 0..2_000 {
        assert_eq!(publish(engine, dropped("paid")).receipt, Receipt::Dropped);
    }
    let entries = engine.store().entries(ShardId(0), 0, 10_000).unwrap();
    let numbered = entries.iter().flat_map(|it| decode_records(&it.body).unwrap());
    let numbered = numbered.filter(|it| matches!(it, Record::Numbered { .. })).count();
    assert!(numbered <= 12, "{numbered} entries for numbers");
}

#[test]
fn who_correlates_is_told_who_has_taken_the_message() {
    for shards in [1, 4] {
        let world = World::new(shards);
        world.deploy(RECEIVER);
        let engine = world.engine();
        assert_eq!(engine.correlate(Message::new("paid")).wait(), Ok(None));
        assert_eq!(engine.correlate(Message::new("paid")).wait(), Ok(None), "it is not held");
        let all: Vec<InstanceId> = (0..8).map(|_| start(engine)).collect();
        rest(engine);
        let mut taken = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for _ in &all {
            let answer = engine.correlate(Message::new("paid")).wait().unwrap();
            let Correlated { message, instance } = answer.expect("somebody waits");
            assert!(taken.insert(instance) && numbers.insert(message));
            assert_eq!(world.ended(instance).ending, Ending::Completed);
        }
        assert_eq!(taken, all.into_iter().collect());
        assert_eq!(engine.correlate(Message::new("paid")).wait(), Ok(None));
        let started = engine.correlate(Message::new("order")).wait().unwrap();
        let started = started.expect("it starts something").instance;
        assert!(engine.look(started).wait().is_ok());
        // One that stands still has it, and goes on with it later.
        engine.suspend(started).wait().unwrap();
        let taken = engine.correlate(Message::new("paid")).wait().unwrap();
        assert_eq!(taken.map(|it| it.instance), Some(started));
        engine.resume(started).wait().unwrap();
        assert_eq!(world.ended(started).ending, Ending::Completed);
        assert_eq!(engine.dead_letters(None, None, 10), Ok(Vec::new()));
        world.check();
    }
}

#[test]
fn a_message_that_somebody_correlates_is_taken_by_exactly_whom_it_says() {
    let world = World::new(4);
    world.deploy(RECEIVER);
    let engine = world.engine();
    let all: Vec<InstanceId> = (0..40).map(|_| start(engine)).collect();
    rest(engine);
    let taken: Vec<InstanceId> = thread::scope(|scope| {
        let cancels = scope.spawn(|| {
            for id in all.iter().rev().step_by(2) {
                // It may have ended by a message.
                let _: Result<(), Error> = engine.cancel(*id).wait();
            }
        });
        let asked: Vec<_> = all.iter().map(|_| engine.correlate(Message::new("paid"))).collect();
        cancels.join().expect("nothing panics");
        let answers = asked.into_iter().map(|it| it.wait().expect("there is an answer"));
        answers.flatten().map(|it| it.instance).collect()
    });
    rest(engine);
    let mut completed: Vec<InstanceId> = Vec::new();
    for id in &all {
        let look = engine.look(*id).wait().unwrap();
        if look.row.state == travertine_store::view::InstanceState::Completed {
            completed.push(*id);
        }
    }
    let (mut taken, distinct) = (taken.clone(), taken.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(distinct, taken.len(), "no instance has two");
    taken.sort_unstable();
    assert_eq!(taken, completed);
    world.check();
}

#[test]
fn who_waits_for_a_receiver_is_told_when_the_engine_ends() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let clone = engine.clone();
    engine.shutdown().unwrap();
    assert!(clone.correlate(Message::new("paid")).wait().is_err());
}

#[test]
fn an_id_is_recognised_as_long_as_its_sender_says() {
    let world = World::new(2);
    world.deploy(RECEIVER);
    let send = |known_for, ttl: u64| {
        let (id, correlation) = (Some("one".into()), vars(&[("ttl", ttl.into())]));
        let message = Message {
            id,
            ttl: Some(Duration::from_millis(ttl)),
            correlation,
            ..Message::new("paid")
        };
        let published = world.engine().publish_with(message, PublishOptions { known_for });
        published.wait().unwrap().receipt
    };
    let taken = |known_for, ttl| {
        start(world.engine());
        matches!(send(known_for, ttl), Receipt::Received(_))
    };
    let zero = Some(Duration::ZERO);
    assert!(taken(zero, 0) && taken(zero, 0), "it is not recognised at all");
    assert!(taken(zero, 60_000));
    assert_eq!(send(zero, 60_000), Receipt::Known);
    world.advance(59_999);
    assert_eq!(send(zero, 60_000), Receipt::Known);
    world.advance(1);
    assert!(taken(zero, 60_000), "its time is over");
    assert!(taken(None, 5));
    world.advance(60_000);
    assert_eq!(send(None, 5), Receipt::Known, "as the engine was told");
    let day = Some(Duration::from_hours(24));
    assert!(taken(day, 6));
    world.advance(23 * 3_600_000);
    assert_eq!(send(None, 6), Receipt::Known);
    world.check();
}
