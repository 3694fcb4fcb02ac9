//! Messages to one instance: by its number, its business key, or its variables; keys that are text here
//! and numbers there; and by what a message is recognised.

use std::time::Duration;

use travertine_kernel::Ending;
use travertine_runtime::{
    Consume, Error, InstanceId, Message, Receipt, engine::File, engine::Options,
};
use travertine_store::view::Table;
use travertine_value::Value;

use crate::world::{World, vars};

/// A process that waits for `paid` and names no correlation, as people have it for Camunda 7.
const CAMUNDA7: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:camunda="http://camunda.org/schema/1.0/bpmn" targetNamespace="t">
    <message id="m" name="paid"/><process id="recv" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process></definitions>"#;

/// A process that waits for `paid` by a key that is worked out as Camunda 8 does.
const CAMUNDA8: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
    <message id="m" name="paid"><extensionElements>
    <zeebe:subscription correlationKey="=orderId"/></extensionElements></message>
    <process id="recv" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process></definitions>"#;

/// Makes no choice of a dialect, and can be started by the message, too.
const NATIVE: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    targetNamespace="t"><message id="m" name="paid"/><process id="recv" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process><process id="begun" isExecutable="true">
    <startEvent id="by"><messageEventDefinition messageRef="m"/></startEvent>
    <sequenceFlow id="f3" sourceRef="by" targetRef="e2"/><endEvent id="e2"/></process></definitions>"#;

fn deploy(world: &World, model: &str) {
    let file = File { name: "recv.bpmn".to_owned(), body: model.as_bytes().to_vec() };
    world.engine().deploy(&[file]).expect("the model is deployed");
}

fn start(world: &World, id: &str, order: impl Into<Value>) -> InstanceId {
    world.engine().start("recv").id(id).variable("orderId", order).wait().expect("it starts")
}

/// Who has received a message.
fn receiver(receipt: Result<Receipt, Error>) -> InstanceId {
    match receipt {
        Ok(Receipt::Received(at)) => at.instance,
        other => panic!("nobody has received it: {other:?}"),
    }
}

fn is_open(world: &World, id: InstanceId) -> bool {
    world.rest();
    world.engine().look(id).wait().expect("it is there").row.ended.is_none()
}

/// With one shard and several, with and without a restart between one thing and the next.
fn each(model: &str, mut test: impl FnMut(&mut World, &dyn Fn(&mut World))) {
    for shards in [1, 4] {
        for restarts in [false, true] {
            let mut world = World::new(shards);
            deploy(&world, model);
            test(&mut world, &|world: &mut World| {
                if restarts {
                    world.restart();
                }
            });
            world.check();
        }
    }
}

#[test]
fn a_message_goes_to_the_instance_that_is_named_and_to_nobody_else() {
    for model in [CAMUNDA7, NATIVE] {
        each(model, |world, again| {
            let ids: Vec<InstanceId> =
                ["A", "B", "C", "D"].iter().zip(1..).map(|(id, it)| start(world, id, it)).collect();
            again(world);
            let engine = world.engine();
            assert_eq!(receiver(engine.message("paid").to_instance(ids[3]).wait()), ids[3]);
            assert_eq!(receiver(engine.message("paid").business_key("C").wait()), ids[2]);
            again(world);
            let engine = world.engine();
            assert_eq!(
                receiver(engine.message("paid").where_variable("orderId", 2).wait()),
                ids[1]
            );
            assert!(is_open(world, ids[0]));
            let raw = Message { correlation: vars(&[("$to", "A".into())]), ..Message::new("paid") };
            assert_eq!(receiver(world.engine().publish(raw).wait()), ids[0]);
            for id in ids {
                assert_eq!(world.ended(id).ending, Ending::Completed);
            }
            assert_eq!(world.rows(Table::Subscriptions, Vec::new()), []);
        });
    }
}

#[test]
fn a_message_to_one_who_does_not_wait_is_refused_unless_it_may_be_held() {
    each(NATIVE, |world, again| {
        let other = start(world, "other", 1);
        let engine = world.engine();
        let reason = |refused: Result<Receipt, Error>| match refused {
            Err(error @ Error::NoReceiver { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let begins = "nobody has received message paid: ";
        let by_key = engine.message("paid").business_key("B").id("1");
        assert_eq!(reason(by_key.wait()), format!("{begins}no instance called B waits for it"));
        let by_variable = engine.message("paid").where_variable("orderId", 2).wait();
        let expected = format!("{begins}no instance with orderId = 2 waits for it");
        assert_eq!(reason(by_variable), expected);
        let unknown = InstanceId(4_000);
        let by_number = engine.message("paid").to_instance(unknown);
        assert_eq!(by_number.wait(), Err(Error::NoSuchInstance(unknown)));
        let hour = Duration::from_hours(1);
        let held = engine.message("paid").to_instance(unknown).ttl(hour).wait();
        assert_eq!(held, Err(Error::NoSuchInstance(unknown)));
        let wrong = engine.message("nothing").to_instance(other).wait();
        let expected = format!(
            "nobody has received message nothing: no element of instance {other} waits for it"
        );
        assert_eq!(reason(wrong), expected);
        assert_eq!(world.rows(Table::Messages, Vec::new()), []);
        // It says for how long it may be held, and its id is free.
        let by_key = engine.message("paid").business_key("B").id("1").ttl(hour);
        assert_eq!(by_key.wait(), Ok(Receipt::Held));
        let by_variable = engine.message("paid").where_variable("orderId", 3).ttl(hour);
        assert_eq!(by_variable.wait(), Ok(Receipt::Held));
        again(world);
        let (c, b) = (start(world, "C", 3), start(world, "B", 2));
        assert_eq!(world.ended(b).ending, Ending::Completed);
        assert_eq!(world.ended(c).ending, Ending::Completed);
        assert!(is_open(world, other));
        assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 3);
    });
}

#[test]
fn a_message_that_could_be_for_several_instances_is_refused_and_names_them() {
    each(CAMUNDA7, |world, again| {
        let second = CAMUNDA7.replace(r#"id="recv""#, r#"id="other""#);
        let file = File { name: "other.bpmn".to_owned(), body: second.into_bytes() };
        world.engine().deploy(&[file]).expect("it is deployed");
        let (a, b) = (start(world, "A", 7), start(world, "B", 7));
        let namesake = world.engine().start("other").id("A").variable("orderId", 8).wait();
        let namesake = namesake.expect("it starts");
        again(world);
        let engine = world.engine();
        let several = |mut instances: Vec<InstanceId>| {
            instances.sort_unstable();
            Err(Error::SeveralReceivers { message: "paid".into(), instances })
        };
        let by_variable = || engine.message("paid").where_variable("orderId", 7).id("1");
        assert_eq!(by_variable().wait(), several(vec![a, b]));
        assert_eq!(engine.message("paid").business_key("A").wait(), several(vec![a, namesake]));
        for id in [a, b, namesake] {
            assert!(is_open(world, id));
        }
        // Together they say who is meant.
        let both = engine.message("paid").business_key("A").where_variable("orderId", 8).wait();
        assert_eq!(receiver(both), namesake);
        assert_eq!(receiver(engine.message("paid").business_key("A").wait()), a);
        world.rest();
        assert_eq!(receiver(by_variable().wait()), b);
        assert_eq!(by_variable().wait(), Ok(Receipt::Known));
    });
}

#[test]
fn a_message_for_all_is_for_all_who_have_such_variables() {
    each(CAMUNDA7, |world, again| {
        let (a, b, c) = (start(world, "A", 7), start(world, "B", 7), start(world, "C", 8));
        again(world);
        let engine = world.engine();
        let none = engine.message("paid").where_variable("orderId", 9).for_all().wait();
        assert!(matches!(none, Err(Error::NoReceiver { .. })), "{none:?}");
        let some = engine.message("paid").where_variable("orderId", 7).for_all().wait();
        assert_eq!(some, Ok(Receipt::Shared(2)));
        world.rest();
        assert_eq!([a, b, c].map(|it| is_open(world, it)), [false, false, true]);
    });
}

#[test]
fn the_properties_of_a_message_are_variables_where_a_model_for_camunda_7_names_none() {
    each(CAMUNDA7, |world, again| {
        let of = |order: i64| Message {
            correlation: vars(&[("orderId", order.into())]),
            ..Message::new("paid")
        };
        let (a, b) = (start(world, "A", 1), start(world, "B", 2));
        again(world);
        assert_eq!(receiver(world.engine().publish(of(2)).wait()), b);
        // It comes before who has that variable, and is not for those who have it otherwise.
        assert_eq!(world.engine().publish(of(3)).wait(), Ok(Receipt::Held));
        again(world);
        let d = start(world, "D", 4);
        let c = start(world, "C", 3);
        assert_eq!(world.ended(c).ending, Ending::Completed);
        assert!(is_open(world, a));
        assert!(is_open(world, d));
        let for_all = Message { consume: Consume::All, ttl: Some(Duration::ZERO), ..of(4) };
        assert_eq!(world.engine().publish(for_all).wait(), Ok(Receipt::Shared(1)));
        assert_eq!(world.ended(d).ending, Ending::Completed);
        // One that says nothing is for whoever has waited longest.
        assert_eq!(receiver(world.engine().publish(Message::new("paid")).wait()), a);
    });
}

#[test]
fn what_an_instance_sends_finds_who_has_such_variables() {
    each(CAMUNDA7, |world, again| {
        world.deploy(
            r#"<message id="m" name="paid"/><process id="writer" isExecutable="true">
            <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="w"/>
            <sendTask id="w" messageRef="m"><extensionElements>
            <tv:correlation name="orderId">orderId</tv:correlation></extensionElements></sendTask>
            <sequenceFlow id="f2" sourceRef="w" targetRef="e"/><endEvent id="e"/></process>"#,
        );
        let write = |world: &World, order: i64| {
            let writer = world.engine().start("writer").variable("orderId", order).wait();
            assert_eq!(world.ended(writer.expect("it starts")).ending, Ending::Completed);
        };
        let (a, b) = (start(world, "A", 1), start(world, "B", 2));
        write(world, 2);
        assert_eq!(world.ended(b).ending, Ending::Completed);
        write(world, 3);
        again(world);
        let c = start(world, "C", 3);
        assert_eq!(world.ended(c).ending, Ending::Completed);
        assert!(is_open(world, a));
        assert_eq!(world.rows(Table::Messages, Vec::new()), []);
    });
}

#[test]
fn what_was_received_by_one_is_not_given_to_another_with_such_variables() {
    each(CAMUNDA7, |world, again| {
        let a = start(world, "A", 7);
        world.engine().suspend(a).wait().expect("it is suspended");
        let message = world.engine().message("paid").where_variable("orderId", 7);
        assert_eq!(receiver(message.wait()), a);
        again(world);
        let b = start(world, "B", 7);
        world.rest();
        world.engine().cancel(a).wait().expect("it ends");
        assert!(is_open(world, b));
        let dead = world.engine().dead_letters(None, None, 10).expect("they are read");
        assert_eq!(dead.len(), 1);
        let to = format!("number:{a}");
        assert_eq!(dead[0].message.correlation, vars(&[("$to", to.as_str().into())]));
        // Nobody waits there any more, and it is not lost for that.
        assert_eq!(world.engine().replay(dead[0].number).wait(), Ok(Receipt::Dropped));
        again(world);
        assert_eq!(world.engine().dead_letters(None, None, 10), Ok(dead));
    });
}

#[test]
fn a_number_and_its_text_are_the_same_key() {
    let key = |key: Value| Message {
        correlation: vars(&[("correlationKey", key)]),
        ..Message::new("paid")
    };
    each(CAMUNDA8, |world, again| {
        for (variable, sent) in [
            (Value::from(7), Value::from("7")),
            (Value::from("7"), Value::from(7)),
            (Value::parse_json("7.0").unwrap(), Value::from("7")),
            (Value::from(7), Value::from(7)),
            (Value::from("x"), Value::from("x")),
        ] {
            let id = world.engine().start("recv").variable("orderId", variable.clone()).wait();
            let id = id.expect("it starts");
            again(world);
            let other = Message { ttl: Some(Duration::ZERO), ..key("8".into()) };
            assert_eq!(world.engine().publish(other).wait(), Ok(Receipt::Dropped));
            assert_eq!(receiver(world.engine().publish(key(sent.clone())).wait()), id);
            // Also the other way round, where the message comes first.
            assert_eq!(world.engine().publish(key(sent)).wait(), Ok(Receipt::Held));
            again(world);
            let id = world.engine().start("recv").variable("orderId", variable).wait();
            assert_eq!(world.ended(id.expect("it starts")).ending, Ending::Completed);
        }
        let engine = world.engine();
        let early = engine.message("paid").key(9).id("1").wait();
        assert_eq!(early, Ok(Receipt::Held));
        // They are the same message, too.
        assert_eq!(engine.message("paid").key("9").id("1").wait(), Ok(Receipt::Known));
    });
}

#[test]
fn an_id_counts_for_each_receiver_of_a_name() {
    each(CAMUNDA8, |world, again| {
        let send = |world: &World, key: &str, id: &str| {
            world.engine().message("paid").key(key).id(id).wait()
        };
        let (a, b) = (start(world, "A", "a"), start(world, "B", "b"));
        assert_eq!(receiver(send(world, "a", "1")), a);
        again(world);
        assert_eq!(receiver(send(world, "b", "1")), b);
        again(world);
        for key in ["a", "b"] {
            assert_eq!(send(world, key, "1"), Ok(Receipt::Known));
        }
        assert_eq!(send(world, "c", "1"), Ok(Receipt::Held));
        again(world);
        assert_eq!(send(world, "c", "1"), Ok(Receipt::Known));
        assert_eq!(send(world, "c", "2"), Ok(Receipt::Held));
        world.advance(3_600_000);
        again(world);
        // Those that are held are known for longer.
        assert_eq!(send(world, "a", "1"), Ok(Receipt::Held));
        assert_eq!(send(world, "c", "1"), Ok(Receipt::Known));
    });
}

#[test]
fn the_id_of_a_message_that_nobody_has_received_is_free() {
    each(CAMUNDA8, |world, again| {
        let send = |world: &World, ttl: u64| {
            let ttl = Duration::from_millis(ttl);
            world.engine().message("paid").key("a").id("1").ttl(ttl).wait()
        };
        let dead = |world: &World| {
            let all = world.engine().dead_letters(None, None, 10).expect("they are read");
            all.iter().map(|it| it.number).collect::<Vec<_>>()
        };
        assert_eq!(send(world, 0), Ok(Receipt::Dropped));
        again(world);
        assert_eq!(send(world, 1_000), Ok(Receipt::Held));
        again(world);
        world.advance(1_000);
        again(world);
        let first = dead(world);
        assert_eq!(first.len(), 1);
        // The same once more: it takes the place of the dead letter.
        assert_eq!(send(world, 0), Ok(Receipt::Dropped));
        assert_eq!(dead(world), first);
        assert_eq!(send(world, 1_000), Ok(Receipt::Held));
        assert_eq!(dead(world), Vec::<u64>::new());
        again(world);
        world.advance(1_000);
        let second = dead(world);
        assert_eq!(second.len(), 1);
        again(world);
        let id = start(world, "A", "a");
        world.rest();
        assert_eq!(receiver(world.engine().replay(second[0]).wait()), id);
        again(world);
        // Now it has been received, and counts once.
        assert_eq!(send(world, 1_000), Ok(Receipt::Known));
        start(world, "B", "a");
        assert_eq!(send(world, 1_000), Ok(Receipt::Known));
    });
}

#[test]
fn whoever_has_been_told_of_a_start_can_send_to_it_at_once() {
    let world = World::new(4);
    deploy(&world, CAMUNDA7);
    for nth in 0..200 {
        let key = format!("order-{nth}");
        let id = start(&world, &key, nth);
        let message = world.engine().message("paid");
        let message = match nth % 3 {
            0 => message.to_instance(id),
            1 => message.business_key(&key),
            _ => message.where_variable("orderId", nth),
        };
        assert_eq!(receiver(message.wait()), id);
    }
}

#[test]
fn a_signal_says_how_many_have_heard_it() {
    let world = World::new(4);
    world.deploy(
        r#"<signal id="g" name="go"/><process id="p" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
        <intermediateCatchEvent id="c"><signalEventDefinition signalRef="g"/></intermediateCatchEvent>
        <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true"><startEvent id="s2">
        <signalEventDefinition signalRef="g"/></startEvent>
        <sequenceFlow id="f3" sourceRef="s2" targetRef="e2"/><endEvent id="e2"/></process>"#,
    );
    let heard = |name: &str| {
        let heard = world.engine().signal(name, Vec::new()).wait().expect("it is sent");
        (heard.received, heard.started)
    };
    for _ in 0..3 {
        world.engine().start("p").wait().expect("it starts");
    }
    assert_eq!(heard("go"), (3, 1));
    assert_eq!(heard("go"), (0, 1));
    assert_eq!(heard("nobody"), (0, 0));
}

#[test]
fn a_message_that_a_model_will_not_have_held_is_refused() {
    let model = include_str!("../../../../conformance/models/fleans-unheard-opens.bpmn");
    let world = World::with(Options::default());
    let file = File { name: "opens.bpmn".to_owned(), body: model.as_bytes().to_vec() };
    world.engine().deploy(&[file]).expect("it is deployed");
    let engine = world.engine();
    let refused = engine.message("closed").key("k").wait();
    assert!(matches!(refused, Err(Error::NoReceiver { .. })), "{refused:?}");
    let held = engine.message("closed").key("k").ttl(Duration::from_hours(1)).wait();
    assert_eq!(held, Ok(Receipt::Held));
    let started = engine.message("opened").key("any").variable("order", "k").wait();
    assert!(matches!(started, Ok(Receipt::Started(_))), "{started:?}");
    assert_eq!(engine.message("other").wait(), Ok(Receipt::Held));
}
