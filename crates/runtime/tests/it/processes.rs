//! Messages to models for Camunda 8: one instance of each process has them.

use std::time::Duration;

use travertine_runtime::{Engine, InstanceId, Message, Receipt, engine::File};
use travertine_value::Value;

use crate::world::{World, vars};

fn file(name: &str, text: String) -> File {
    File { name: name.to_owned(), body: text.into_bytes() }
}

/// A process that waits for the message `paid` with the key in its variable `order`.
fn waits(id: &str) -> File {
    file(
        &format!("{id}.bpmn"),
        format!(
            r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
            <message id="m" name="paid"><extensionElements><zeebe:subscription correlationKey="=order"/>
            </extensionElements></message>
            <process id="{id}" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
            <intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
            <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process></definitions>"#
        ),
    )
}

/// A process that the message `paid` starts, and that then waits for work.
fn begins(id: &str) -> File {
    file(
        &format!("{id}.bpmn"),
        format!(
            r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
            <message id="m" name="paid"/>
            <process id="{id}" isExecutable="true">
            <startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent>
            <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
            <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements>
            </serviceTask></process></definitions>"#
        ),
    )
}

/// A process of our own that waits for it.
fn native(id: &str) -> File {
    file(
        &format!("{id}.bpmn"),
        format!(
            r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
            <message id="m" name="paid"/><process id="{id}" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
            <intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
            </process></definitions>"#
        ),
    )
}

fn paid(key: &str, ttl: Option<Duration>) -> Message {
    let correlation = vars(&[("correlationKey", Value::from(key))]);
    Message { correlation, ttl, ..Message::new("paid") }
}

fn start(engine: &Engine, id: &str, order: &str) -> InstanceId {
    engine.start(id).variable("order", order).wait().expect("it starts")
}

fn dead(world: &World) -> usize {
    world.engine().dead_letters(None, None, 10).expect("they are read").len()
}

fn has_ended(world: &World, instance: InstanceId) -> bool {
    world.engine().look(instance).wait().expect("it is there").state.ending().is_some()
}

#[test]
fn a_message_has_one_receiver_of_each_process_and_one_of_all_others() {
    let world = World::new(3);
    let files = [waits("a"), waits("b"), native("n"), native("o")];
    world.engine().deploy(&files).expect("they are deployed");
    // Another version of the same process is the same process.
    let engine = world.engine();
    let first = [start(engine, "a", "1"), start(engine, "b", "1"), start(engine, "n", "1")];
    let newer = waits("a");
    let body = String::from_utf8(newer.body).expect("text").replace("id=\"e\"", "id=\"end\"");
    let body = body.replace("targetRef=\"e\"", "targetRef=\"end\"");
    engine.deploy(&[file("a.bpmn", body)]).expect("it is deployed");
    let second = [start(engine, "a", "1"), start(engine, "b", "1"), start(engine, "o", "1")];
    let other = start(engine, "a", "2");
    world.rest();
    let receipt = engine.publish(paid("1", Some(Duration::ZERO))).wait().expect("it is published");
    assert!(matches!(receipt, Receipt::Received(_)), "{receipt:?}");
    world.rest();
    for (first, second) in first.into_iter().zip(second) {
        assert!(has_ended(&world, first) && !has_ended(&world, second));
    }
    assert!(!has_ended(&world, other), "it waits with another key");
    engine.publish(paid("1", Some(Duration::ZERO))).wait().expect("it is published");
    world.rest();
    assert!(second.into_iter().all(|it| has_ended(&world, it)));
    let dropped = engine.publish(paid("1", Some(Duration::ZERO))).wait().expect("nobody waits");
    assert_eq!(dropped, Receipt::Dropped);
    assert_eq!(dead(&world), 0);
    world.check();
}

#[test]
fn a_message_is_kept_for_each_process_until_it_expires() {
    let mut world = World::new(2);
    world.engine().deploy(&[waits("a"), waits("b"), waits("d")]).expect("they are deployed");
    let first = start(world.engine(), "a", "1");
    world.rest();
    let message = Message { id: Some("m1".into()), ..paid("1", Some(Duration::from_mins(1))) };
    world.engine().publish(message.clone()).wait().expect("it is published");
    world.rest();
    assert!(has_ended(&world, first));
    world.restart();
    let again = world.engine().publish(message).wait().expect("it is recognised");
    assert_eq!(again, Receipt::Known);
    let later = ["a", "b", "b"].map(|id| start(world.engine(), id, "1"));
    world.rest();
    assert_eq!(later.map(|it| has_ended(&world, it)), [false, true, false]);
    world.advance(60_001);
    let late = start(world.engine(), "d", "1");
    world.rest();
    assert!(!has_ended(&world, late));
    assert_eq!(dead(&world), 0, "two have had it");
    // What nobody has had is one dead letter.
    world
        .engine()
        .publish(paid("9", Some(Duration::from_millis(10))))
        .wait()
        .expect("it is published");
    world.advance(11);
    assert_eq!(dead(&world), 1);
    world.check();
}

#[test]
fn a_message_that_lives_for_good_is_kept_for_nobody_else_once_it_is_taken() {
    let world = World::new(1);
    world.engine().deploy(&[waits("a"), waits("b")]).expect("they are deployed");
    let first = start(world.engine(), "a", "1");
    world.rest();
    world.engine().publish(paid("1", None)).wait().expect("it is published");
    let later = start(world.engine(), "b", "1");
    world.rest();
    assert!(has_ended(&world, first) && !has_ended(&world, later));
    world.check();
}

#[test]
fn a_message_starts_an_instance_of_each_process() {
    let world = World::new(2);
    let engine = world.engine();
    engine.deploy(&[begins("x"), begins("y"), waits("a")]).expect("they are deployed");
    let waiting = start(engine, "a", "1");
    world.rest();
    let taken = engine.correlate(paid("1", Some(Duration::ZERO))).wait().expect("it is sent");
    assert!(taken.is_some());
    world.rest();
    assert!(has_ended(&world, waiting));
    world.flush();
    assert_eq!(world.jobs().len(), 2);
    assert_eq!(engine.correlate(Message::new("unheard")).wait(), Ok(None));
    world.check();
}

#[test]
fn who_would_wait_without_a_key_is_an_incident() {
    let world = World::new(1);
    let engine = world.engine();
    engine.deploy(&[waits("a")]).expect("it is deployed");
    for (nth, key) in
        [Value::Null, Value::from(true), Value::from(vec![Value::from(1)])].into_iter().enumerate()
    {
        let instance = engine.start("a").variable("order", key).wait().expect("it starts");
        world.rest();
        let incidents = engine.look(instance).wait().expect("it is there").state.incidents.clone();
        let (token, incident) = incidents.iter().next().expect("it has an incident");
        let message = &incident.failure.message;
        assert!(message.contains("the correlationKey of message paid"), "{message}");
        engine
            .set_variables(instance, None, vars(&[("order", nth.into())]))
            .wait()
            .expect("it runs");
        engine.retry(instance, Some(*token)).wait().expect("it has an incident");
        engine
            .publish(paid(&nth.to_string(), Some(Duration::ZERO)))
            .wait()
            .expect("it is published");
        world.rest();
        assert!(has_ended(&world, instance));
    }
    world.check();
}
