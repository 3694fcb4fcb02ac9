//! Engines that are opened by someone who only looks.

use std::time::Duration;

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::WaitId;
use travertine_runtime::{
    Address, Error, InstanceId, Message, Receipt, Timestamp, engine::Options,
};
use travertine_store::{
    Seq, ShardId,
    view::{Filter, InstanceState, Row, Table},
};

use crate::world::World;

const NAP: WorkflowDefinition = WorkflowDefinition {
    name: "nap",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_secs(1)).await?;
            Ok("rested".into())
        })
    },
};

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><intermediateCatchEvent id="t">
    <timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition>
    </intermediateCatchEvent><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
    <endEvent id="e"/></process>
    <process id="q" isExecutable="true"><startEvent id="qs">
    <timerEventDefinition><timeCycle>R/PT1S</timeCycle></timerEventDefinition></startEvent>
    <sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/><endEvent id="qe"/></process>"#;

fn states(world: &World) -> Vec<InstanceState> {
    let rows = world.rows(Table::Instances, Vec::new()).into_iter();
    rows.filter_map(|it| if let Row::Instance(it) = it { Some(it.state) } else { None }).collect()
}

fn last(world: &World) -> Seq {
    world.engine().store().last(ShardId(0)).expect("it can be asked")
}

#[test]
fn nothing_goes_on_in_an_engine_at_rest_until_it_is_opened_otherwise() {
    let functions = Functions::new().workflow(NAP);
    let mut world = World::with(Options { shards: 1, functions, ..Options::default() });
    let nap = Workflow::<String>::new("nap", 1);
    let run = world.engine().start(nap).wait().expect("it starts").instance();
    world.deploy(PROCESS);
    let id = world.engine().start("p").wait().expect("starts");
    assert_eq!([run, id], [InstanceId(1), InstanceId(2)]);
    world.restart_with(Functions::new());
    world.restart_at_rest(true);
    let before = last(&world);
    world.advance(5_000);
    world.rest();
    assert_eq!(states(&world), [InstanceState::Running; 2]);
    for id in [run, id] {
        let why = world.engine().why(id).wait().expect("it can say why");
        assert!(matches!(&why[..], [_, it] if it.to_string().contains("waits until")), "{why:?}");
    }
    assert_eq!(world.rows(Table::Incidents, Vec::new()), []);
    assert_eq!(world.rows(Table::Timers, Vec::new()).len(), 3, "they are overdue");
    assert_eq!(last(&world), before, "nothing was written");
    world.restart_at_rest(false);
    world.rest();
    let states = states(&world);
    assert_eq!(states[1..], [InstanceState::Completed; 2], "the timers have rung");
    assert_eq!(states[0], InstanceState::Running, "its code is missing");
    assert_eq!(world.rows(Table::Incidents, Vec::new()).len(), 1);
    world.check();
    world.restart_at_rest(true);
    world.restart_with(Functions::new().workflow(NAP));
    assert_eq!(
        world.rows(Table::Incidents, Vec::new()).len(),
        1,
        "whoever looks lets nobody go on"
    );
    world.restart_at_rest(false);
    let ended = world.ended(run);
    assert_eq!(ended.variables, [("result".into(), "rested".into())]);
}

#[test]
fn what_is_asked_of_an_engine_at_rest_is_done_when_it_is_opened_otherwise() {
    let mut world = World::new(2);
    world.deploy(
        r#"<message id="m" name="go"/><process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><callActivity id="t" calledElement="q"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true"><startEvent id="qs"/>
        <sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/><endEvent id="qe"/></process>"#,
    );
    world.restart_at_rest(true);
    let ids = [(); 2].map(|()| world.engine().start("p").wait().expect("starts"));
    world.rest();
    assert_eq!(states(&world), [InstanceState::Running; 2]);
    world.restart_at_rest(false);
    for id in ids {
        world.ended(id);
    }
    world.check();
}

#[test]
fn an_operator_comes_before_what_is_due_and_what_follows_from_it_happens() {
    let mut world = World::new(2);
    world.deploy(PROCESS);
    world.deploy(
        r#"<process id="c" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><callActivity id="t" calledElement="w"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/>
        </process><process id="w" isExecutable="true"><startEvent id="ws"/>
        <sequenceFlow id="wf" sourceRef="ws" targetRef="wt"/><userTask id="wt"/>
        <sequenceFlow id="wg" sourceRef="wt" targetRef="we"/><endEvent id="we"/></process>"#,
    );
    let due = [(); 3].map(|()| world.engine().start("p").wait().expect("starts"));
    let caller = world.engine().start("c").wait().expect("starts");
    world.rest();
    world.restart_at_rest(true);
    world.advance(5_000);
    // It is due when this one is opened.
    world.restart_at_rest(true);
    world.engine().suspend(due[0]).wait().expect("nothing was due for it before");
    world.engine().cancel(caller).wait().expect("it ends");
    let timer = world.rows(Table::Timers, vec![Filter::Instance(due[1].0)]);
    let timer = Address { instance: due[1], wait: WaitId(timer[0].key().number) };
    world.engine().move_timer(timer, Timestamp::default()).wait().expect("it has not rung");
    world.engine().follow().expect("it goes on");
    world.rest();
    let state = |id: InstanceId| world.engine().look(id).wait().expect("is there").row.state;
    assert_eq!(
        due.map(state),
        [InstanceState::Suspended, InstanceState::Completed, InstanceState::Running,]
    );
    assert_eq!(state(caller), InstanceState::Cancelled);
    assert_eq!(world.rows(Table::Tasks, Vec::new()), [], "what it has called has ended with it");
    world.check();
    world.restart_at_rest(false);
    world.rest();
    world.engine().resume(due[0]).wait().expect("it is suspended");
    for id in due {
        world.ended(id);
    }
    world.check();
}

#[test]
fn messages_that_are_kept_are_not_counted_as_timers() {
    let mut world = World::new(1);
    world.deploy(PROCESS);
    world.engine().start("p").wait().expect("starts");
    let message = Message {
        id: Some("m-1".into()),
        ttl: Some(Duration::from_mins(1)),
        ..Message::new("news")
    };
    assert_eq!(world.engine().publish(message).wait().expect("it is taken"), Receipt::Held);
    world.restart();
    // The one of the instance, and the one that starts others.
    assert_eq!(world.engine().opened().shards[0].timers, 2);
}

#[test]
fn whoever_waits_for_rest_is_not_refused_because_much_is_under_way() {
    let world = World::with(Options { requests_max: 0, ..Options::default() });
    let refused = world.engine().signal("go", Vec::new()).wait();
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    world.rest();
}
