//! Starts that are more than may begin in a second.

use travertine_runtime::{InstanceId, Message, Settings, engine::Options};
use travertine_store::view::{Filter, InstanceState, Table};

use crate::world::{PATIENCE, World};

fn world(settings: Settings) -> World {
    World::with(Options { shards: 1, settings, ..Options::default() })
}

fn count(world: &World, definition: &str) -> usize {
    world.rows(Table::Instances, vec![Filter::Definition(definition.into())]).len()
}

/// Lets everything go on that need not wait for another second. Says what waits.
fn rest(world: &World) -> Vec<(String, u64)> {
    let settled = world.engine().settle_but_restless(PATIENCE, |_| true).expect("it goes on");
    settled.throttled.iter().map(|(it, count)| (it.to_string(), *count)).collect()
}

fn waits(count: u64) -> Vec<(String, u64)> {
    vec![("q".to_owned(), count)]
}

/// A process that has eight instances of `q` begin, each in its own way.
const WAYS: [(&str, &str); 3] = [
    (r#"<callActivity id="t" calledElement="q">MANY</callActivity>"#, r#"<startEvent id="qs"/>"#),
    (
        r#"<subProcess id="t">MANY<startEvent id="a"/><sequenceFlow id="h" sourceRef="a" targetRef="b"/>
        <endEvent id="b"><messageEventDefinition messageRef="m"/></endEvent></subProcess>"#,
        r#"<startEvent id="qs"><messageEventDefinition messageRef="m"/></startEvent>"#,
    ),
    (
        r#"<subProcess id="t">MANY<startEvent id="a"/><sequenceFlow id="h" sourceRef="a" targetRef="b"/>
        <endEvent id="b"><signalEventDefinition signalRef="n"/></endEvent></subProcess>"#,
        r#"<startEvent id="qs"><signalEventDefinition signalRef="n"/></startEvent>"#,
    ),
];

fn deploy(world: &World, way: (&str, &str), limit: &str) {
    let many = "<multiInstanceLoopCharacteristics><loopCardinality>8</loopCardinality>
        </multiInstanceLoopCharacteristics>";
    let (starter, start) = (way.0.replace("MANY", many), way.1);
    world.deploy(&format!(
        r#"<message id="m" name="m"/><signal id="n" name="n"/>
        <process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="t"/>{starter}
        <sequenceFlow id="g" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true" {limit}>{start}
        <sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/><endEvent id="qe"/></process>"#
    ));
}

fn state(world: &World, id: InstanceId) -> InstanceState {
    world.engine().look(id).wait().expect("it is there").row.state
}

#[test]
fn starts_beyond_what_a_second_allows_wait_for_the_next_and_none_is_lost() {
    for (way, restarts) in WAYS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let mut world = world(Settings::default());
        deploy(&world, way, r#"tv:startLimit="3""#);
        let id = world.engine().start("p").wait().expect("it starts");
        assert_eq!((rest(&world), count(&world, "q")), (waits(5), 3), "{way:?}");
        world.check();
        world.advance(999);
        assert_eq!((rest(&world), count(&world, "q")), (waits(5), 3), "not before the next second");
        world.advance(1);
        assert_eq!((rest(&world), count(&world, "q")), (waits(2), 6));
        if restarts {
            // What has begun is not counted any more, and nothing that waited is gone.
            world.restart();
            world.rest();
        } else {
            world.advance(1_000);
            world.rest();
        }
        assert_eq!(count(&world, "q"), 8);
        assert_eq!(state(&world, id), InstanceState::Completed);
        assert_eq!(world.engine().dead_letters(None, None, 10).expect("they can be read").len(), 0);
        world.check();
    }
}

#[test]
fn an_engine_allows_as_many_of_each_definition_as_its_settings_say() {
    let world = world(Settings { starts_per_second: 4, ..Settings::default() });
    deploy(&world, WAYS[0], "");
    world.engine().start("p").wait().expect("it starts");
    assert_eq!((rest(&world), count(&world, "q")), (waits(4), 4));
    world.advance(1_000);
    world.rest();
    assert_eq!(count(&world, "q"), 8);
}

#[test]
fn a_call_that_waits_for_its_turn_is_called_off_with_its_caller() {
    for restarts in [false, true] {
        let mut world = world(Settings::default());
        deploy(&world, WAYS[0], r#"tv:startLimit="3""#);
        let id = world.engine().start("p").wait().expect("it starts");
        assert_eq!(rest(&world), waits(5));
        world.engine().cancel(id).wait().expect("it ends");
        assert_eq!(rest(&world), []);
        if restarts {
            world.restart();
        }
        world.advance(60_000);
        world.rest();
        assert_eq!(count(&world, "q"), 3);
        world.check();
    }
}

#[test]
fn what_clients_ask_for_is_not_held_up() {
    let world = world(Settings::default());
    deploy(&world, WAYS[1], r#"tv:startLimit="3""#);
    world.engine().start("p").wait().expect("it starts");
    assert_eq!(rest(&world), waits(5));
    for _ in 0..5 {
        world.engine().publish(Message::new("m")).wait().expect("it is routed");
    }
    assert_eq!((rest(&world), count(&world, "q")), (waits(5), 8));
}

#[test]
fn a_timer_that_starts_instances_rings_no_more_often_than_they_may_begin() {
    let world = world(Settings::default());
    world.deploy(
        r#"<process id="q" isExecutable="true" tv:startLimit="2"><startEvent id="s">
        <timerEventDefinition><timeCycle>R/PT0.1S</timeCycle></timerEventDefinition></startEvent>
        <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    for _ in 0..30 {
        world.advance(100);
    }
    world.rest();
    let count = count(&world, "q");
    assert!((6..=8).contains(&count), "{count} instances in three seconds");
    world.check();
}

#[test]
fn what_waits_for_its_turn_is_told_of_at_rest() {
    let mut world = world(Settings::default());
    deploy(&world, WAYS[0], r#"tv:startLimit="3""#);
    world.engine().start("p").wait().expect("it starts");
    assert_eq!(rest(&world), waits(5));
    world.restart_at_rest(true);
    let throttled = world.engine().throttled(PATIENCE);
    assert_eq!(throttled, [("q".into(), 5)]);
}
