//! Instances that start one another, without anyone asking.

use travertine_kernel::{Budgets, WaitId};
use travertine_runtime::{Address, InstanceId, Message, Settings, engine::Options};
use travertine_store::view::{Filter, InstanceState, Row, Table};

use crate::world::World;

const ENDS: [&str; 4] = [
    // A message that starts the process that sends it.
    r#"<process id="p" isExecutable="true"><startEvent id="s"><messageEventDefinition
       messageRef="m"/></startEvent><sequenceFlow id="f" sourceRef="s" targetRef="e"/>
       <endEvent id="e"><messageEventDefinition messageRef="m"/></endEvent></process>"#,
    // A signal that does.
    r#"<process id="p" isExecutable="true"><startEvent id="s"><signalEventDefinition
       signalRef="n"/></startEvent><startEvent id="t"><messageEventDefinition messageRef="m"/>
       </startEvent><sequenceFlow id="f" sourceRef="s" targetRef="e"/>
       <sequenceFlow id="g" sourceRef="t" targetRef="e"/>
       <endEvent id="e"><signalEventDefinition signalRef="n"/></endEvent></process>"#,
    // Two processes that start each other.
    r#"<process id="p" isExecutable="true"><startEvent id="s"><messageEventDefinition
       messageRef="m"/></startEvent><sequenceFlow id="f" sourceRef="s" targetRef="e"/>
       <endEvent id="e"><messageEventDefinition messageRef="o"/></endEvent></process>
       <process id="q" isExecutable="true"><startEvent id="qs"><messageEventDefinition
       messageRef="o"/></startEvent><sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/>
       <endEvent id="qe"><messageEventDefinition messageRef="m"/></endEvent></process>"#,
    // One that has another send it, twice.
    r#"<process id="p" isExecutable="true"><startEvent id="s"><messageEventDefinition
       messageRef="m"/></startEvent><sequenceFlow id="f" sourceRef="s" targetRef="c"/>
       <callActivity id="c" calledElement="q"/><sequenceFlow id="g" sourceRef="c" targetRef="e"/>
       <endEvent id="e"><messageEventDefinition messageRef="m"/></endEvent></process>
       <process id="q" isExecutable="true"><startEvent id="qs"/>
       <sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/>
       <endEvent id="qe"><messageEventDefinition messageRef="m"/></endEvent></process>"#,
];

fn world(settings: Settings) -> World {
    World::with(Options { shards: 1, settings, ..Options::default() })
}

#[test]
fn instances_that_start_one_another_for_ever_end_in_dead_letters() {
    // On two shards, each of these names is kept by another one than the name before it.
    for (shards, model) in [1, 2].into_iter().flat_map(|it| ENDS.map(|model| (it, model))) {
        let settings = Settings { generations_max: 10, ..Settings::default() };
        let world = World::with(Options { shards, settings, ..Options::default() });
        world.deploy(&format!(
            r#"<message id="m" name="m"/><message id="o" name="n"/><signal id="n" name="o"/>{model}"#
        ));
        world.engine().publish(Message::new("m")).wait().expect("it is routed");
        world.rest();
        let count = world.rows(Table::Instances, Vec::new()).len();
        assert!((10..=400).contains(&count), "{count} of {model}");
        let dead = world.engine().dead_letters(None, None, 1_000).expect("they can be read");
        assert!(!dead.is_empty() && dead.len() < 400, "{} of {model}", dead.len());
        assert!(dead[0].reason.contains("started one another"), "{}", dead[0].reason);
        world.check();
    }
}

#[test]
fn instances_that_start_one_another_now_and_then_may_do_so_for_ever() {
    let world = world(Settings { generations_max: 5, ..Settings::default() });
    world.deploy(
        r#"<message id="m" name="m"/><process id="p" isExecutable="true"><startEvent id="s">
        <messageEventDefinition messageRef="m"/></startEvent>
        <sequenceFlow id="f" sourceRef="s" targetRef="t"/><intermediateCatchEvent id="t">
        <timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>
        </intermediateCatchEvent><sequenceFlow id="g" sourceRef="t" targetRef="e"/>
        <endEvent id="e"><messageEventDefinition messageRef="m"/></endEvent></process>"#,
    );
    world.engine().publish(Message::new("m")).wait().expect("it is routed");
    for _ in 0..10 {
        world.advance(60_000);
        world.rest();
    }
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 11);
    assert_eq!(world.engine().dead_letters(None, None, 10).expect("they can be read").len(), 0);
}

#[test]
fn calls_that_multiply_end_in_incidents_and_can_be_cancelled() {
    let world = world(Settings { descendants_max: 100, ..Settings::default() });
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="c"/><callActivity id="c" calledElement="p">
        <multiInstanceLoopCharacteristics><loopCardinality>10</loopCardinality>
        </multiInstanceLoopCharacteristics></callActivity>
        <sequenceFlow id="g" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let root = world.engine().start("p").wait().expect("it starts");
    world.rest();
    let open = world.rows(Table::Instances, Vec::new()).len();
    assert!((11..=250).contains(&open), "{open} instances");
    let incidents = world.rows(Table::Incidents, Vec::new());
    let [Row::Incident(first), ..] = &incidents[..] else { panic!("{incidents:?}") };
    assert!(first.message.contains("open below instance"), "{}", first.message);
    world.engine().cancel(root).wait().expect("it ends");
    world.rest();
    let running = vec![Filter::State(vec![InstanceState::Running])];
    assert_eq!(world.rows(Table::Instances, running), []);
    world.check();
}

#[test]
fn open_calls_are_counted_over_all_shards_and_after_opening() {
    let settings = Settings { descendants_max: 200, ..Settings::default() };
    let mut world = World::with(Options { shards: 4, settings, ..Options::default() });
    let many = |count: u8| {
        format!(
            "<multiInstanceLoopCharacteristics><loopCardinality>{count}</loopCardinality>\
             </multiInstanceLoopCharacteristics>"
        )
    };
    let (ten, fifteen) = (many(10), many(15));
    world.deploy(&format!(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="c"/>
        <callActivity id="c" calledElement="q">{ten}</callActivity>
        <sequenceFlow id="g" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true"><startEvent id="qs"/>
        <sequenceFlow id="q1" sourceRef="qs" targetRef="at_once"/>
        <sequenceFlow id="q2" sourceRef="qs" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="q3" sourceRef="t" targetRef="later"/>
        <callActivity id="at_once" calledElement="r">{fifteen}</callActivity>
        <callActivity id="later" calledElement="r">{fifteen}</callActivity>
        <sequenceFlow id="q4" sourceRef="at_once" targetRef="qe"/>
        <sequenceFlow id="q5" sourceRef="later" targetRef="qe"/><endEvent id="qe"/></process>
        <process id="r" isExecutable="true"><startEvent id="rs"/>
        <sequenceFlow id="r1" sourceRef="rs" targetRef="rests"/><userTask id="rests"/>
        <sequenceFlow id="r2" sourceRef="rests" targetRef="re"/><endEvent id="re"/></process>"#
    ));
    let root = world.engine().start("p").wait().expect("it starts");
    world.rest();
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 161);
    assert_eq!(world.rows(Table::Incidents, Vec::new()), []);
    world.restart();
    // No shard has more than 200 by itself, and no more than 200 have begun since.
    for row in world.rows(Table::Tasks, vec![Filter::Element("t".into())]) {
        let Row::Task(row) = row else { panic!("{row:?}") };
        let task = Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) };
        world.engine().complete(task, Vec::new()).wait().expect("it waits");
    }
    world.rest();
    let incidents = world.rows(Table::Incidents, Vec::new());
    let [Row::Incident(first), ..] = &incidents[..] else { panic!("{incidents:?}") };
    assert!(first.message.contains("more than 200 instances are open"), "{}", first.message);
    world.engine().cancel(root).wait().expect("it ends");
    world.rest();
    let running = vec![Filter::State(vec![InstanceState::Running])];
    assert_eq!(world.rows(Table::Instances, running), []);
    world.check();
}

#[test]
fn as_many_calls_as_may_be_open_are_and_those_of_the_outermost_caller_do_not_count() {
    let world = world(Settings { descendants_max: 5, ..Settings::default() });
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="many"/><callActivity id="many" calledElement="q"/>
        <sequenceFlow id="f2" sourceRef="s" targetRef="quick"/><userTask id="quick"/>
        <sequenceFlow id="f3" sourceRef="quick" targetRef="one"/><callActivity id="one" calledElement="t"/></process>
        <process id="q" isExecutable="true"><startEvent id="qs"/>
        <sequenceFlow id="q1" sourceRef="qs" targetRef="five"/>
        <callActivity id="five" calledElement="r"><multiInstanceLoopCharacteristics><loopCardinality>5</loopCardinality>
        </multiInstanceLoopCharacteristics></callActivity>
        <sequenceFlow id="q2" sourceRef="qs" targetRef="more"/><userTask id="more"/>
        <sequenceFlow id="q3" sourceRef="more" targetRef="sixth"/><callActivity id="sixth" calledElement="r"/></process>
        <process id="r" isExecutable="true"><startEvent id="rs"/>
        <sequenceFlow id="r1" sourceRef="rs" targetRef="rests"/><userTask id="rests"/></process>
        <process id="t" isExecutable="true"><startEvent id="ts"/></process>"#,
    );
    world.engine().start("p").wait().expect("it starts");
    world.rest();
    let complete = |element: &str| {
        let rows = world.rows(Table::Tasks, vec![Filter::Element(element.into())]);
        let [Row::Task(row)] = &rows[..] else { panic!("{rows:?}") };
        let task = Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) };
        world.engine().complete(task, Vec::new()).wait().expect("it waits");
        world.rest();
        world.rows(Table::Incidents, Vec::new()).len()
    };
    assert_eq!(complete("quick"), 0, "what has ended was none of them");
    assert_eq!(complete("more"), 1, "there are five");
}

#[test]
fn calls_that_have_ended_do_not_count_as_open() {
    let world = world(Settings { descendants_max: 5, ..Settings::default() });
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="c"/><callActivity id="c" calledElement="q"/>
        <sequenceFlow id="g" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true"><startEvent id="qs"/>
        <sequenceFlow id="qf" sourceRef="qs" targetRef="qc"/>
        <callActivity id="qc" calledElement="r"><multiInstanceLoopCharacteristics
        isSequential="true"><loopCardinality>50</loopCardinality>
        </multiInstanceLoopCharacteristics></callActivity>
        <sequenceFlow id="qg" sourceRef="qc" targetRef="qe"/><endEvent id="qe"/></process>
        <process id="r" isExecutable="true"><startEvent id="rs"/>
        <sequenceFlow id="rf" sourceRef="rs" targetRef="re"/><endEvent id="re"/></process>"#,
    );
    let root = world.engine().start("p").wait().expect("it starts");
    world.rest();
    assert_eq!(world.rows(Table::Incidents, Vec::new()), []);
    let row = world.engine().look(root).wait().expect("it is there").row;
    assert_eq!(row.state, InstanceState::Completed);
    world.check();
}

#[test]
fn an_instance_whose_timers_are_always_due_is_halted_and_can_be_cancelled() {
    let budgets = Budgets { turn_events: 200, ..Budgets::default() };
    let settings = Settings { instant_timers_max: 50, budgets, ..Settings::default() };
    let world = world(settings);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="in"/><exclusiveGateway id="in"/>
        <sequenceFlow id="g" sourceRef="in" targetRef="t"/><userTask id="t"/>
        <boundaryEvent id="b" attachedToRef="t"><timerEventDefinition>
        <timeDuration>PT0S</timeDuration></timerEventDefinition></boundaryEvent>
        <sequenceFlow id="h" sourceRef="b" targetRef="in"/>
        <sequenceFlow id="i" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("it starts");
    world.rest();
    let row = world.engine().look(id).wait().expect("it is there").row;
    assert_eq!(row.state, InstanceState::Halted);
    assert!(row.reason.is_some_and(|it| it.contains("cancel it")));
    world.engine().cancel(id).wait().expect("it ends");
    assert_eq!(world.rows(Table::Tasks, Vec::new()), []);
    world.check();
}
