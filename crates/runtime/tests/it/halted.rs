//! Instances that the engine has given up, and what operators can do about them.

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::{Budgets, Destination, Ending, Modification, Which};
use travertine_runtime::{Error, InstanceId, Settings, engine::Options};
use travertine_store::view::{InstanceState, Row, Table};
use travertine_value::Value;

use crate::world::{PATIENCE, World};

/// It goes round until `enough`, after it has called something that waits.
const LOOP: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="fork"/><parallelGateway id="fork"/>
    <sequenceFlow id="f2" sourceRef="fork" targetRef="call"/>
    <callActivity id="call" calledElement="q"/>
    <sequenceFlow id="f3" sourceRef="fork" targetRef="round"/>
    <exclusiveGateway id="round" default="again"/>
    <sequenceFlow id="out" sourceRef="round" targetRef="t">
    <conditionExpression>enough</conditionExpression></sequenceFlow>
    <sequenceFlow id="again" sourceRef="round" targetRef="work"/><task id="work"/>
    <sequenceFlow id="back" sourceRef="work" targetRef="round"/><userTask id="t"/>
    <sequenceFlow id="f4" sourceRef="t" targetRef="e"/>
    <sequenceFlow id="f5" sourceRef="call" targetRef="e"/><endEvent id="e"/></process>
    <process id="q" isExecutable="true"><startEvent id="qs"/>
    <sequenceFlow id="qf" sourceRef="qs" targetRef="qt"/><userTask id="qt"/>
    <sequenceFlow id="qg" sourceRef="qt" targetRef="qe"/><endEvent id="qe"/></process>"#;

const SPIN: WorkflowDefinition = WorkflowDefinition {
    name: "spin",
    version: 1,
    parameters: &[],
    run: |cx, _| Box::pin(async move { cx.continue_as(Workflow::<Value>::new("spin", 1)) }),
};

fn short_turns() -> Budgets {
    Budgets { turn_events: 200, ..Budgets::default() }
}

fn world() -> World {
    let settings = Settings { turns_max: 3, budgets: short_turns(), ..Settings::default() };
    let functions = Functions::new().workflow(SPIN);
    World::with(Options { shards: 2, settings, functions, ..Options::default() })
}

/// An instance that is halted because it does not come to rest.
fn restless(world: &World) -> InstanceId {
    world.deploy(LOOP);
    let id = world.engine().start("p").variable("enough", false).wait().expect("it starts");
    world.rest();
    assert_eq!(state(world, id), InstanceState::Halted);
    id
}

fn state(world: &World, id: InstanceId) -> InstanceState {
    world.engine().look(id).wait().expect("it is there").row.state
}

fn open(world: &World) -> usize {
    let rows = world.rows(Table::Instances, Vec::new());
    rows.iter().filter(|it| matches!(it, Row::Instance(it) if it.ended.is_none())).count()
}

#[test]
fn what_is_halted_is_ended_by_whoever_cancels_it_with_all_that_it_has_called() {
    for restarted in [false, true] {
        let mut world = world();
        let id = restless(&world);
        assert_eq!(open(&world), 2, "it has called another");
        if restarted {
            world.restart();
        }
        let waits = world.engine().result(id);
        world.engine().cancel(id).wait().expect("it ends");
        assert_eq!(waits.wait().expect("it has ended").ending, Ending::Cancelled);
        world.rest();
        assert_eq!(open(&world), 0);
        assert_eq!(world.rows(Table::Tasks, Vec::new()), []);
        world.check();
        world.restart();
        assert_eq!((state(&world, id), open(&world)), (InstanceState::Cancelled, 0));
        world.check();
        world.engine().delete(id).expect("it can be forgotten");
    }
}

#[test]
fn a_function_that_begins_anew_for_ever_is_ended_by_whoever_cancels_it() {
    let world = world();
    let run = world.engine().start(Workflow::<Value>::new("spin", 1)).wait().expect("it starts");
    world.rest();
    assert_eq!(state(&world, run.instance()), InstanceState::Halted);
    assert_eq!(run.cancel().wait(), Ok(true));
    assert_eq!(state(&world, run.instance()), InstanceState::Cancelled);
    assert_eq!(run.cancel().wait(), Ok(false));
    world.check();
}

#[test]
fn nobody_waits_for_an_instance_that_does_not_come_to_rest() {
    let settings = Settings { turns_max: u32::MAX, budgets: short_turns(), ..Settings::default() };
    let world = World::with(Options { shards: 1, settings, ..Options::default() });
    world.deploy(LOOP);
    let engine = world.engine();
    let restless = engine.start("p").variable("enough", false).wait().expect("it starts");
    let other = engine.start("q").wait().expect("requests are heard meanwhile");
    let settled = engine
        .settle_but_restless(PATIENCE, |all| !all.contains(&other))
        .expect("the engine goes on");
    assert_eq!((settled.rests, &settled.restless[..]), (false, &[restless][..]));
    assert_eq!(engine.restless(PATIENCE), [restless]);
    engine.suspend(restless).wait().expect("it stands still");
    world.rest();
    assert_eq!(engine.restless(PATIENCE), []);
    engine.cancel(restless).wait().expect("it ends");
    assert_eq!(state(&world, other), InstanceState::Running);
    world.check();
}

/// Whenever it hears its signal, it sends it again.
const ECHO: &str = r#"<signal id="g" name="go"/><process id="echo" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="call"/>
    <intermediateThrowEvent id="call"><signalEventDefinition signalRef="g"/></intermediateThrowEvent>
    <sequenceFlow id="f2" sourceRef="call" targetRef="t"/><userTask id="t"/>
    <subProcess id="hear" triggeredByEvent="true"><startEvent id="hs" isInterrupting="false">
    <signalEventDefinition signalRef="g"/></startEvent>
    <sequenceFlow id="h1" sourceRef="hs" targetRef="again"/>
    <intermediateThrowEvent id="again"><signalEventDefinition signalRef="g"/></intermediateThrowEvent>
    <sequenceFlow id="h2" sourceRef="again" targetRef="he"/><endEvent id="he"/></subProcess></process>"#;

#[test]
fn an_instance_that_sends_for_ever_has_no_more_under_way_than_one_turn_sends() {
    let settings = Settings { turns_max: 50, budgets: short_turns(), ..Settings::default() };
    for shards in [1, 3] {
        let settings = settings.clone();
        let world = World::with(Options { shards, settings, ..Options::default() });
        world.deploy(ECHO);
        let id = world.engine().start("echo").wait().expect("it starts");
        world.rest();
        let look = world.engine().look(id).wait().expect("it is there");
        assert_eq!(look.row.state, InstanceState::Halted);
        let (sent, steps) = (look.state.posts.len(), look.state.steps);
        assert!(steps > 1_000, "it had all of its turns: {steps}");
        assert!(sent < short_turns().turn_events, "{sent} signals are under way");
        world.check();
    }
}

#[test]
fn why_it_is_halted_says_how_to_end_that() {
    let world = world();
    let id = restless(&world);
    let reason = world.engine().look(id).wait().expect("it is there").row.reason;
    assert!(reason.as_deref().is_some_and(|it| it.contains("cancel it")), "{reason:?}");
}

#[test]
fn a_restless_instance_comes_to_rest_when_its_variables_are_changed() {
    for restarted in [false, true] {
        let mut world = world();
        let id = restless(&world);
        if restarted {
            world.restart();
        }
        let enough = vec![("enough".into(), true.into())];
        world.engine().set_variables(id, None, enough).wait().expect("its state is known");
        world.rest();
        assert_eq!(state(&world, id), InstanceState::Running);
        assert_eq!(world.rows(Table::Tasks, Vec::new()).len(), 2);
        world.check();
    }
}

#[test]
fn a_restless_instance_comes_to_rest_when_its_tokens_are_moved() {
    let world = world();
    let id = restless(&world);
    let look = world.engine().look(id).wait().expect("it is there");
    let node = |name: &str| look.definition.plan.find(name).expect("it is in the model");
    let token =
        look.state.tokens.iter().find(|(_, it)| [node("round"), node("work")].contains(&it.node));
    let which = Which::Token(*token.expect("it goes round").0);
    let nowhere = vec![Modification::Withdraw(Which::At(node("t")))];
    let refused = world.engine().modify(id, nowhere).wait();
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    assert_eq!(state(&world, id), InstanceState::Halted, "a refused command changes nothing");
    let steps = vec![Modification::Move { which, to: Destination::before(node("t")) }];
    world.engine().modify(id, steps).wait().expect("its state is known");
    world.rest();
    assert_eq!(state(&world, id), InstanceState::Running);
    assert_eq!(world.rows(Table::Tasks, Vec::new()).len(), 2);
    world.check();
}

#[test]
fn what_is_suspended_while_it_is_halted_stands_still_when_it_is_tried_again() {
    let mut world = world();
    let id = restless(&world);
    world.engine().suspend(id).wait().expect("it stands still anyway");
    world.engine().release(id).expect("it is not halted any more");
    world.rest();
    assert_eq!(state(&world, id), InstanceState::Suspended);
    world.restart();
    world.rest();
    assert_eq!(state(&world, id), InstanceState::Suspended);
    world.engine().resume(id).wait().expect("it is suspended");
    world.rest();
    assert_eq!(state(&world, id), InstanceState::Halted, "it goes round again");
}
