//! What users ask of an engine.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use travertine_kernel::{Budgets, Ending, Mapping, Rejection, WaitId, plan::WorkKind};
use travertine_runtime::{
    Address, Consume, Error, InstanceId, JobFailure, Message, Receipt, Settings, Timestamp,
    engine::{Options, Outcome, Target, Workers},
};
use travertine_store::view::{Filter, InstanceState, JobState, Row, Table};
use travertine_value::Value;

use crate::world::{World, file, vars, within, within_now};

const ONE_TASK: &str = r#"<process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <serviceTask id="t" tv:jobType="work"/><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
    <endEvent id="e"/></process>"#;

fn address(job: &travertine_store::view::JobRow) -> Address {
    Address { instance: InstanceId(job.instance), wait: WaitId(job.wait) }
}

#[test]
fn an_instance_survives_a_restart_and_goes_on() {
    for shards in [1, 3] {
        let mut world = World::new(shards);
        world.deploy(ONE_TASK);
        let id = world.engine().start("p").id("order-1").variable("x", 1).wait().expect("starts");
        world.restart();
        let again = world.engine().start("p").id("order-1").wait().expect("is recognised");
        assert_eq!(again, id);
        let jobs = world.jobs();
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].instance, &*jobs[0].job_type), (id.0, "work"));
        world.engine().complete(address(&jobs[0]), vars(&[("y", 2.into())])).wait().expect("done");
        let ended = world.ended(id);
        assert_eq!(ended.ending, Ending::Completed);
        assert_eq!(ended.variables, vars(&[("x", 1.into()), ("y", 2.into())]));
        world.check();
        world.restart();
        assert_eq!(world.jobs(), []);
        assert_eq!(world.ended(id).ending, Ending::Completed);
        world.check();
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let world = World::new(1);
    world.deploy(ONE_TASK);
    let nothing = world.engine().start("q").wait();
    assert_eq!(nothing, Err(Error::NoSuchDefinition("q".into())));
    let nobody = InstanceId(77);
    assert_eq!(world.engine().cancel(nobody).wait(), Err(Error::NoSuchInstance(nobody)));
    let id = world.engine().start("p").wait().expect("starts");
    world.engine().cancel(id).wait().expect("it is cancelled");
    assert!(matches!(world.engine().cancel(id).wait(), Err(Error::Rejected(_))));
}

#[test]
fn the_same_files_are_recognised() {
    let mut world = World::new(2);
    world.deploy(ONE_TASK);
    let again = world.engine().deploy(&[file("model.bpmn", ONE_TASK)]).expect("is fine");
    assert_eq!((again.number, again.definitions[0].version), (2, 1));
    let changed = ONE_TASK.replace("work", "other");
    let next = world.engine().deploy(&[file("model.bpmn", &changed)]).expect("is fine");
    assert_eq!((next.number, next.definitions[0].version), (3, 2));
    world.restart();
    let versions = world.engine().definitions().versions("p").len();
    assert_eq!(versions, 2);
    world.engine().undeploy("p", 1).expect("nobody uses it");
    world.restart();
    assert_eq!(world.engine().definitions().versions("p").len(), 1);
    let bad = world.engine().deploy(&[file("bad.bpmn", "<process id='x'><oops/></process>")]);
    assert!(matches!(bad, Err(Error::Refused { .. })), "{bad:?}");
}

#[test]
fn a_timer_that_was_due_while_down_fires_once() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
        <intermediateCatchEvent id="c"><timerEventDefinition>
          <timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>
        <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    assert_eq!(world.rows(Table::Timers, Vec::new()).len(), 1);
    world.clock.set(world.engine().now().after(Duration::from_hours(2)));
    world.restart();
    world.ended(id);
    assert_eq!(world.rows(Table::Timers, Vec::new()), []);
    world.check();
}

#[test]
fn messages_are_held_matched_and_recognised_across_shards() {
    for shards in [1, 4] {
        let mut world = World::new(shards);
        world.deploy(
            r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
            <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
            <receiveTask id="r" messageRef="m"/>
            <sequenceFlow id="f2" sourceRef="r" targetRef="e"/><endEvent id="e"/></process>"#,
        );
        let engine = world.engine();
        let early = Message { id: Some("1".into()), ..Message::new("paid") };
        assert_eq!(engine.publish(early.clone()).wait(), Ok(Receipt::Held));
        assert_eq!(engine.publish(early.clone()).wait(), Ok(Receipt::Known));
        world.restart();
        assert_eq!(world.engine().publish(early).wait(), Ok(Receipt::Known));
        let ids: Vec<InstanceId> =
            (0..6).map(|_| world.engine().start("p").wait().expect("starts")).collect();
        world.ended(ids[0]);
        world.flush();
        assert_eq!(world.rows(Table::Subscriptions, Vec::new()).len(), 5);
        world.restart();
        for _ in 1..6 {
            let receipt = world.engine().publish(Message::new("paid")).wait().expect("is sent");
            assert!(matches!(receipt, Receipt::Received(_)), "{receipt:?}");
        }
        for id in ids {
            world.ended(id);
        }
        world.flush();
        assert_eq!(world.rows(Table::Subscriptions, Vec::new()), []);
        world.check();
    }
}

#[test]
fn called_instances_report_back_across_shards() {
    let mut world = World::new(3);
    world.deploy(&format!(
        r#"{ONE_TASK}<process id="q" isExecutable="true"><startEvent id="s2"/>
        <sequenceFlow id="g1" sourceRef="s2" targetRef="c"/>
        <callActivity id="c" calledElement="p"><multiInstanceLoopCharacteristics>
          <loopCardinality>5</loopCardinality></multiInstanceLoopCharacteristics></callActivity>
        <sequenceFlow id="g2" sourceRef="c" targetRef="e2"/><endEvent id="e2"/></process>"#
    ));
    let parent = world.engine().start("q").wait().expect("starts");
    let cancelled = world.engine().start("q").wait().expect("starts");
    world.rest();
    assert_eq!(world.jobs().len(), 10);
    world.restart();
    world.engine().cancel(cancelled).wait().expect("is cancelled");
    world.rest();
    assert_eq!(world.jobs().len(), 5);
    for job in world.jobs() {
        world.engine().complete(address(&job), Vec::new()).wait().expect("is done");
        world.restart();
    }
    assert_eq!(world.ended(parent).ending, Ending::Completed);
    world.check();
    let children = world.rows(Table::Instances, vec![Filter::Root(parent.0)]);
    assert_eq!(children.len(), 6);
}

#[test]
fn a_suspended_instance_hears_later_what_came_meanwhile() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
        <intermediateCatchEvent id="c"><timerEventDefinition>
          <timeDuration>PT1M</timeDuration></timerEventDefinition></intermediateCatchEvent>
        <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    world.engine().suspend(id).wait().expect("stands still");
    world.advance(120_000);
    world.restart();
    let rows = world.rows(Table::Instances, Vec::new());
    assert!(matches!(&rows[..], [Row::Instance(it)] if it.state == InstanceState::Suspended));
    world.engine().resume(id).wait().expect("goes on");
    world.ended(id);
    world.check();
}

#[test]
fn a_failed_job_is_offered_again_after_a_while_and_then_needs_someone() {
    let mut world = World::new(1);
    world.deploy(&ONE_TASK.replace(r#"tv:jobType="work""#, r#"tv:jobType="work" tv:retries="2""#));
    let id = world.engine().start("p").wait().expect("starts");
    let job = address(&world.jobs()[0]);
    world
        .engine()
        .fail(job, JobFailure { backoff: Duration::from_secs(5), ..JobFailure::new("oops") })
        .wait()
        .expect("is told");
    world.restart();
    let row = &world.jobs()[0];
    assert_eq!(
        (row.retries, row.state, row.until),
        (1, JobState::Available, Some(Timestamp::from_millis(1_005_000)))
    );
    world.advance(5_000);
    assert_eq!(world.jobs()[0].until, None);
    world.engine().fail(job, JobFailure::new("oops again")).wait().expect("is told");
    let incidents = world.rows(Table::Incidents, Vec::new());
    assert!(matches!(&incidents[..], [Row::Incident(it)] if &*it.message == "oops again"));
    world.restart();
    let reasons = world.engine().why(id).wait().expect("it can say why");
    assert!(reasons.iter().any(|it| it.to_string().contains("oops again")), "{reasons:?}");
    assert_eq!(world.engine().retry(id, None).wait(), Ok(1));
    world.engine().complete(job, Vec::new()).wait().expect("is done");
    world.ended(id);
    world.check();
}

#[test]
fn two_engines_cannot_have_the_same_store() {
    let dir = tempfile::tempdir().expect("there is room");
    let first = travertine_runtime::Engine::open(dir.path()).expect("opens");
    let second = travertine_runtime::Engine::open(dir.path());
    assert!(second.unwrap_err().to_string().contains("in use"));
    first.shutdown().expect("shuts down");
    travertine_runtime::Engine::open(dir.path()).expect("opens again");
}

#[test]
fn workers_of_the_same_process_do_jobs() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("threads can be started").block_on(async {
        let world = World::new(2);
        world.deploy(ONE_TASK);
        let worker = world.engine().worker("work", |job| async move {
            let x = job.variables.iter().find(|(name, _)| &**name == "x");
            let x = x.and_then(|(_, value)| value.as_i64()).unwrap_or(0);
            vars(&[("y", (x * 2).into())])
        });
        let worker = worker.start();
        let mut ids = Vec::new();
        for x in 0..50_i64 {
            ids.push(world.engine().start("p").variable("x", x).await.expect("starts"));
        }
        for (x, id) in (0..50_i64).zip(ids) {
            let ended = within(world.engine().result(id)).await.expect("ends");
            let y =
                ended.variables.iter().find(|(name, _)| &**name == "y").map(|(_, it)| it.as_i64());
            assert_eq!(y, Some(Some(x * 2)));
        }
        worker.stop().await;
    });
}

#[test]
fn ended_instances_are_shortened_and_then_forgotten() {
    use travertine_runtime::engine::Retention;
    let mut world = World::new(1);
    world.deploy(ONE_TASK);
    let id = world.engine().start("p").variable("x", 7).wait().expect("starts");
    let job = address(&world.jobs()[0]);
    world.engine().complete(job, Vec::new()).wait().expect("is done");
    assert_eq!(world.engine().history(id).expect("has a history").steps.len(), 2);
    world.advance(10_000);
    let short = Retention { history: Some(Duration::from_secs(5)), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&short).expect("sweeps").folded, 1);
    world.restart();
    assert_eq!(world.engine().history(id).expect("has an end").steps.len(), 1);
    let ended = world.ended(id);
    assert_eq!(ended.variables, vars(&[("x", 7.into())]));
    world.check();
    let gone = Retention { ended: Some(Duration::from_secs(5)), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&gone).expect("sweeps").removed, 1);
    assert!(matches!(world.engine().history(id), Err(Error::NoSuchInstance(_))));
    world.restart();
    assert!(matches!(world.engine().history(id), Err(Error::NoSuchInstance(_))));
    world.check();
}

#[test]
fn a_row_that_a_power_cut_brings_back_is_no_difference() {
    use travertine_runtime::engine::Retention;
    let mut world = World::new(1);
    world.deploy(ONE_TASK);
    let id = world.engine().start("p").wait().expect("starts");
    world.engine().cancel(id).wait().expect("it is cancelled");
    // Rows are not durable at once, and what is forgotten in the log is with the next entry.
    let mut rows = Vec::new();
    world.restart_after(|data| rows = std::fs::read(data.join("views.db")).expect("it is there"));
    world.advance(10_000);
    let gone = Retention { ended: Some(Duration::from_secs(5)), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&gone).expect("sweeps").removed, 1);
    let other = world.engine().start("p").wait().expect("starts");
    world.restart_after(|data| std::fs::write(data.join("views.db"), &rows).expect("is written"));
    let verified = world.engine().verify().expect("the store can be read");
    assert_eq!((verified.differences, verified.forgotten), (Vec::new(), 1));
    assert!(matches!(world.engine().history(id), Err(Error::NoSuchInstance(_))));
    assert_eq!(world.engine().sweep_with(&gone).expect("sweeps").removed, 1);
    let ids = world.rows(Table::Instances, Vec::new()).into_iter();
    let ids = ids.map(|it| if let Row::Instance(row) = it { row.id } else { 0 });
    assert_eq!(ids.collect::<Vec<_>>(), [other.0]);
    world.check();
}

#[test]
fn an_engine_forgets_by_itself_what_need_not_be_kept_any_more() {
    use travertine_runtime::engine::Retention;
    let retention = Retention { ended: Some(Duration::from_mins(1)), ..Retention::default() };
    let sweep_every = Duration::from_mins(5);
    let mut world = World::with(Options { retention, sweep_every, ..Options::default() });
    world.deploy(ONE_TASK);
    let ids: Vec<_> = (0..3).map(|_| world.engine().start("p").wait().expect("starts")).collect();
    for id in &ids[..2] {
        world.engine().cancel(*id).wait().expect("it is cancelled");
    }
    world.advance(299_999);
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 3, "it is not time yet");
    world.advance(1);
    within_now(|| world.rows(Table::Instances, Vec::new()).len() == 1);
    world.restart();
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 1);
    world.check();
}

#[test]
fn calls_on_other_shards_are_over_when_the_engine_rests() {
    const CALL: &str = r#"<process id="outer" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
        <callActivity id="c" calledElement="inner">
          <multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>20</loopCardinality></multiInstanceLoopCharacteristics>
        </callActivity><sequenceFlow id="f2" sourceRef="c" targetRef="e"/>
        <endEvent id="e"/></process>
      <process id="inner" isExecutable="true">
        <startEvent id="is"/><sequenceFlow id="if1" sourceRef="is" targetRef="ie"/>
        <endEvent id="ie"/></process>"#;
    let world = World::new(3);
    world.deploy(CALL);
    let ids: Vec<_> =
        (0..6).map(|_| world.engine().start("outer").wait().expect("starts")).collect();
    world.rest();
    for id in ids {
        let look = world.engine().look(id).wait().expect("it is there");
        assert_eq!(look.row.state, InstanceState::Completed);
        let file = world.engine().file_of(look.definition.key).expect("it was deployed");
        assert_eq!(file.name, "model.bpmn");
    }
}

#[test]
fn someone_can_look_on() {
    use std::sync::{Arc, Mutex};
    use travertine_runtime::engine::{Engine, Observer, Options};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let look = Observer(Arc::new(move |it| noted.lock().expect("fine").push(it.live.id)));
    let options = Options { observer: Some(look), ..Options::default() };
    let engine = Engine::in_memory(options).expect("it opens");
    engine.deploy(&[file("model.bpmn", ONE_TASK)]).expect("it is deployed");
    let id = engine.start("p").wait().expect("starts");
    engine.cancel(id).wait().expect("is cancelled");
    assert_eq!(*seen.lock().expect("fine"), [id, id]);
}

#[test]
fn a_cycle_that_was_missed_starts_one_instance_and_goes_on() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"><timerEventDefinition>
          <timeCycle>R/PT10S</timeCycle></timerEventDefinition></startEvent>
        <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    world.clock.set(world.engine().now().after(Duration::from_secs(95)));
    world.restart();
    world.flush();
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 1);
    let timers = world.rows(Table::Timers, Vec::new());
    assert!(
        matches!(&timers[..], [Row::Timer(it)] if it.due == Timestamp::from_millis(1_100_000)),
        "{timers:?}"
    );
    world.advance(5_000);
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 2);
    world.check();
}

#[test]
fn a_message_is_recognised_for_an_hour_and_as_long_as_it_is_held() {
    let mut world = World::new(1);
    let message = |id: &str| Message { id: Some(id.into()), ..Message::new("paid") };
    assert_eq!(world.engine().publish(message("1")).wait(), Ok(Receipt::Held));
    let shared = Message { ttl: Some(Duration::ZERO), consume: Consume::All, ..message("2") };
    assert_eq!(world.engine().publish(shared.clone()).wait(), Ok(Receipt::Shared(0)));
    world.restart();
    assert_eq!(world.engine().publish(shared.clone()).wait(), Ok(Receipt::Known));
    world.flush();
    assert_eq!(world.rows(Table::Messages, Vec::new()).len(), 1);
    world.advance(3_600_000);
    world.restart();
    assert_eq!(world.engine().publish(shared).wait(), Ok(Receipt::Shared(0)));
    assert_eq!(world.engine().publish(message("1")).wait(), Ok(Receipt::Known));
}

#[test]
fn who_asks_an_engine_that_was_shut_down_gets_an_answer() {
    let world = World::new(2);
    world.deploy(ONE_TASK);
    let clone = world.engine().clone();
    world.engine().clone().shutdown().expect("it shuts down");
    assert!(matches!(clone.flush_now(), Err(Error::Closed { .. })));
    assert!(matches!(clone.start("p").wait(), Err(Error::Closed { .. })));
}

#[test]
fn what_was_halted_has_its_jobs_and_timers_when_it_goes_on_even_after_a_restart() {
    let settings = Settings { turns_max: 0, ..Settings::default() };
    let mut world = World::with(Options { settings, ..Options::default() });
    // The rounds are more than fits into a turn, so the engine gives up after each.
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="g"/><parallelGateway id="g"/>
        <sequenceFlow id="f2" sourceRef="g" targetRef="c"/>
        <intermediateCatchEvent id="c"><timerEventDefinition>
          <timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>
        <sequenceFlow id="f3" sourceRef="g" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
        <sequenceFlow id="f4" sourceRef="g" targetRef="m"/>
        <task id="m"><multiInstanceLoopCharacteristics>
          <loopCardinality>12000</loopCardinality></multiInstanceLoopCharacteristics></task>
        <sequenceFlow id="f5" sourceRef="c" targetRef="e"/>
        <sequenceFlow id="f6" sourceRef="t" targetRef="e"/>
        <sequenceFlow id="f7" sourceRef="m" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    world.flush();
    world.restart();
    let state = |world: &World| match &world.rows(Table::Instances, Vec::new())[..] {
        [Row::Instance(row)] => row.state,
        other => panic!("{other:?}"),
    };
    assert_eq!(state(&world), InstanceState::Halted);
    for _ in 0..1_000 {
        if state(&world) == InstanceState::Halted {
            world.engine().release(id).expect("it is tried again");
        }
    }
    assert_eq!(state(&world), InstanceState::Running);
    assert_eq!(world.jobs().len(), 1);
    assert_eq!(world.rows(Table::Timers, Vec::new()).len(), 1);
    world.check();
    world.restart();
    let job = address(&world.jobs()[0]);
    world.engine().complete(job, Vec::new()).wait().expect("done");
    world.advance(3_600_000);
    let ended = world.ended(id);
    assert_eq!(ended.ending, Ending::Completed);
    world.check();
}

#[test]
fn a_message_that_is_too_much_is_refused_and_takes_nothing_from_its_receiver() {
    for shards in [1, 4] {
        let world = World::new(shards);
        world.deploy(
            r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
            <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
            <receiveTask id="r" messageRef="m"/>
            <sequenceFlow id="f2" sourceRef="r" targetRef="e"/><endEvent id="e"/></process>"#,
        );
        let engine = world.engine();
        let id = engine.start("p").wait().expect("starts");
        world.flush();
        let large = Value::from("x".repeat(17 << 20).as_str());
        let too_much = Message { variables: vars(&[("x", large)]), ..Message::new("paid") };
        assert!(matches!(engine.publish(too_much).wait(), Err(Error::Rejected(_))));
        engine.publish(Message::new("paid")).wait().expect("is sent");
        world.ended(id);
    }
}

#[test]
fn a_version_that_the_history_of_an_instance_needs_stays() {
    let mut world = World::new(1);
    world.deploy(ONE_TASK);
    let id = world.engine().start("p").wait().expect("starts");
    world.deploy(&ONE_TASK.replace("isExecutable", "name='two' isExecutable"));
    world.engine().migrate(id, "p", Mapping::default()).wait().expect("goes on by version 2");
    let reason = |version: u32| match world.engine().undeploy("p", version) {
        Err(Error::InUse { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(2), "version 2 of p still has instances");
    let needs = "ran version 1 of p once, and its history needs it";
    assert_eq!(reason(1), format!("instance {id} {needs}"));
    world.engine().start(Target::Version("p".into(), 1)).wait().expect("it is as before");
    world.restart();
    let job = world.jobs().into_iter().find(|it| it.instance == id.0).expect("it is there");
    world.engine().complete(address(&job), Vec::new()).wait().expect("done");
    assert_eq!(world.ended(id).ending, Ending::Completed);
}

#[test]
fn a_timer_that_rang_before_a_restart_is_kept_once_for_who_is_suspended() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
        <intermediateCatchEvent id="c"><timerEventDefinition>
          <timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>
        <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    world.engine().suspend(id).wait().expect("stands still");
    world.advance(3_600_000);
    let before = world.engine().history(id).expect("is known").steps.len();
    world.restart();
    world.flush();
    assert_eq!(world.engine().history(id).expect("is known").steps.len(), before);
    world.engine().resume(id).wait().expect("goes on");
    world.ended(id);
}

const CALLER: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="c"/><callActivity id="c" calledElement="q"/>
    <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#;

#[test]
fn a_call_is_called_off_also_where_the_called_instance_is_halted() {
    let settings = Settings { turns_max: 0, ..Settings::default() };
    let world = World::with(Options { settings, ..Options::default() });
    let called = r#"<process id="q" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="m"/>
        <task id="m"><multiInstanceLoopCharacteristics>
          <loopCardinality>12000</loopCardinality></multiInstanceLoopCharacteristics></task>
        <sequenceFlow id="f2" sourceRef="m" targetRef="e"/><endEvent id="e"/></process>"#;
    world.deploy(called);
    world.engine().deploy(&[file("caller.bpmn", CALLER)]).expect("is fine");
    let id = world.engine().start("p").wait().expect("starts");
    let rows = world.rows(Table::Instances, vec![Filter::Definition("q".into())]);
    let [Row::Instance(child)] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(child.state, InstanceState::Halted);
    world.engine().cancel(id).wait().expect("it is cancelled");
    let child = InstanceId(child.id);
    let ended = world.ended(child);
    assert_eq!(ended.ending, Ending::Cancelled);
    world.check();
}

#[tokio::test]
async fn workers_do_their_jobs_however_much_waits() {
    let world = World::with(Options { shards: 1, requests_max: 0, ..Options::default() });
    let engine = world.engine();
    assert!(matches!(engine.start("p").wait(), Err(Error::NoSuchDefinition(_))));
    world.deploy(&ONE_TASK.replace(
        r#"<startEvent id="s"/>"#,
        r#"<startEvent id="s"><timerEventDefinition>
        <timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent>"#,
    ));
    assert!(matches!(engine.start("p").at("s").wait(), Err(Error::Busy { .. })));
    world.advance(3_600_000);
    assert_eq!(world.jobs().len(), 1);
    let (done, told) = oneshot::channel();
    let done = std::sync::Mutex::new(Some(done));
    let worker = engine.worker("work", move |_| {
        let done = done.lock().expect("nobody has failed").take();
        async move {
            done.expect("it is done once").send(()).expect("someone waits");
            Outcome::Done(Vec::new())
        }
    });
    let workers = worker.start();
    within(told).await.expect("it does the job");
    workers.stop().await;
    assert_eq!(world.jobs(), []);
}

#[test]
fn metrics_count_over_all_shards_and_say_how_far_the_views_are_behind() {
    let mut world = World::new(2);
    world.deploy(ONE_TASK);
    for round in 1..=2 {
        for _ in 0..6 {
            world.engine().start("p").wait().expect("starts");
        }
        world.flush();
        let metrics = world.engine().metrics();
        assert_eq!((metrics.requests, metrics.entries, metrics.view_lag), (6, 6, 0));
        assert_eq!(metrics.jobs, round * 6);
        // After a restart only what is used comes into memory.
        assert_eq!(metrics.in_memory, 6);
        world.restart();
    }
}

#[test]
fn a_start_event_that_needs_all_its_triggers_gets_each_of_them_once_from_every_shard() {
    for shards in [1, 4] {
        let mut world = World::new(shards);
        world.deploy(
            r#"<message id="ma" name="a"/><message id="mb" name="b"/><message id="mc" name="c"/>
            <process id="p" isExecutable="true"><startEvent id="s" parallelMultiple="true">
              <messageEventDefinition messageRef="ma"/><messageEventDefinition messageRef="mb"/>
              <messageEventDefinition messageRef="mc"/></startEvent>
            <sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/>
            <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#,
        );
        let publish = |world: &World, name: &str, n: i64| {
            let message = Message { variables: vars(&[(name, n.into())]), ..Message::new(name) };
            world.engine().publish(message).wait().expect("is sent");
            world.rest();
        };
        for (name, n) in [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 3)] {
            publish(&world, name, n);
        }
        world.restart();
        assert_eq!(world.rows(Table::Instances, Vec::new()), []);
        for n in 1..=2 {
            publish(&world, "c", n);
            let started = world.rows(Table::Instances, Vec::new());
            assert_eq!(started.len(), usize::try_from(n).expect("it is small"));
        }
        world.restart();
        let mut brought = Vec::new();
        for row in world.rows(Table::Instances, Vec::new()) {
            let look =
                world.engine().look(InstanceId(row.key().instance)).wait().expect("is there");
            brought.push(look.variables);
        }
        let round = |n: i64| vars(&[("a", n.into()), ("b", n.into()), ("c", n.into())]);
        assert_eq!(brought, [round(1), round(2)]);
        publish(&world, "c", 3);
        publish(&world, "b", 3);
        assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 3);
        world.check();
    }
}

#[test]
fn an_instance_hears_that_what_it_sent_has_arrived_though_it_was_halted_then() {
    let settings = Settings { turns_max: 0, ..Settings::default() };
    let world = World::with(Options { settings, ..Options::default() });
    world.deploy(
        r#"<signal id="g" name="gone"/><process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="i"/>
        <intermediateThrowEvent id="i"><signalEventDefinition signalRef="g"/></intermediateThrowEvent>
        <sequenceFlow id="f2" sourceRef="i" targetRef="m"/>
        <task id="m"><multiInstanceLoopCharacteristics>
          <loopCardinality>12000</loopCardinality></multiInstanceLoopCharacteristics></task>
        <sequenceFlow id="f3" sourceRef="m" targetRef="e"/><endEvent id="e"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    for _ in 0..1_000 {
        match world.engine().release(id) {
            Ok(()) => {}
            Err(Error::NotHalted(_)) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.ended(id).ending, Ending::Completed);
    world.engine().delete(id).expect("nothing of it is on its way");
}

/// A worker that says when it has a job, and does it when it is told to.
fn slow_worker(world: &World) -> (Workers, mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
    let (has, jobs) = mpsc::unbounded_channel();
    let worker = world.engine().worker("work", move |_| {
        let (done, told) = oneshot::channel();
        has.send(done).expect("someone waits");
        async move {
            told.await.expect("it is told to go on");
            Outcome::Done(Vec::new())
        }
    });
    (worker.start(), jobs)
}

#[tokio::test]
async fn a_job_that_a_worker_has_is_not_offered_again_when_its_instance_goes_on() {
    let world = World::new(1);
    world.deploy(ONE_TASK);
    let (workers, mut jobs) = slow_worker(&world);
    let id = world.engine().start("p").await.expect("starts");
    let done = within(jobs.recv()).await.expect("it has the job");
    world.engine().suspend(id).await.expect("stands still");
    world.engine().resume(id).await.expect("goes on");
    assert_eq!(world.engine().metrics().jobs, 0);
    done.send(()).expect("it waits");
    within(world.engine().result(id)).await.expect("ends");
    workers.stop().await;
    assert!(jobs.try_recv().is_err(), "nobody has done it twice");
}

#[test]
fn a_job_whose_worker_was_ended_in_the_middle_is_offered_again() {
    let world = World::new(1);
    world.deploy(ONE_TASK);
    world.engine().start("p").wait().expect("starts");
    let runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("it can be built")
    };
    for _ in 0..2 {
        let _not_done = runtime().block_on(async {
            let (_workers, mut jobs) = slow_worker(&world);
            within(jobs.recv()).await.expect("it has the job")
        });
        world.rest();
        assert_eq!(world.engine().metrics().jobs, 1);
    }
}

#[tokio::test]
async fn a_job_that_brings_too_much_has_failed() {
    let world = World::new(1);
    world.deploy(&ONE_TASK.replace(r#"tv:jobType="work""#, r#"tv:jobType="work" tv:retries="1""#));
    let worker = world
        .engine()
        .worker("work", |_| async { vars(&[("x", "x".repeat(17 << 20).as_str().into())]) });
    let workers = worker.start();
    let id = world.engine().start("p").await.expect("starts");
    within(async {
        while world.rows(Table::Incidents, Vec::new()).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let why = world.engine().why(id).await.expect("it can say why");
    assert!(why.iter().any(|it| it.to_string().contains("brings too much")), "{why:?}");
    workers.stop().await;
}

#[test]
fn the_start_timers_of_an_older_version_go_on_and_do_not_fire_again() {
    let timer = |id: &str, when: &str| {
        format!(
            r#"<process id="{id}" isExecutable="true"><startEvent id="s"><timerEventDefinition>
            {when}</timerEventDefinition></startEvent><sequenceFlow id="f" sourceRef="s"
            targetRef="e"/><endEvent id="e"/></process>"#
        )
    };
    let (once, cycle) = ("<timeDuration>PT1M</timeDuration>", "<timeCycle>R/PT1M</timeCycle>");
    let mut world = World::new(2);
    let deploy = |world: &World, once: &str, cycle: &str| {
        let files =
            [file("once.bpmn", &timer("once", once)), file("cycle.bpmn", &timer("cycle", cycle))];
        world.engine().deploy(&files).expect("is fine");
    };
    let started = |world: &World, id: &str| {
        world.rows(Table::Instances, vec![Filter::Definition(id.into())]).len()
    };
    deploy(&world, once, cycle);
    world.advance(60_000);
    world.rest();
    assert_eq!((started(&world, "once"), started(&world, "cycle")), (1, 1));
    let later = "<timeDuration>P1D</timeDuration>";
    deploy(&world, later, later);
    world.advance(90_000);
    assert_eq!((started(&world, "once"), started(&world, "cycle")), (1, 1));
    world.restart();
    world.engine().undeploy("once", 2).expect("nobody uses it");
    world.engine().undeploy("cycle", 2).expect("nobody uses it");
    world.rest();
    assert_eq!((started(&world, "once"), started(&world, "cycle")), (1, 1));
    let timers = world.rows(Table::Timers, Vec::new());
    assert!(
        matches!(&timers[..], [Row::Timer(it)] if it.due == Timestamp::from_millis(1_180_000)),
        "{timers:?}"
    );
    world.advance(30_000);
    world.rest();
    assert_eq!((started(&world, "once"), started(&world, "cycle")), (1, 2));
    world.check();
}

#[test]
fn timers_that_start_instances_can_be_listed_moved_and_fired() {
    const HOUR: Duration = Duration::from_hours(1);
    let (second_more, start) = (Duration::from_secs(1), Timestamp::default());
    let mut world = World::new(3);
    for id in ["a", "b"] {
        let process = format!(
            r#"<process id="{id}" isExecutable="true"><startEvent id="s"><timerEventDefinition>
            <timeCycle>0 0 * * * *</timeCycle></timerEventDefinition></startEvent>
            <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#
        );
        world.engine().deploy(&[file(&format!("{id}.bpmn"), &process)]).expect("is fine");
    }
    let named = |instance, wait| Address { instance: InstanceId(instance), wait: WaitId(wait) };
    let timers = |world: &World| -> Vec<(Address, Timestamp)> {
        let rows = world.rows(Table::Timers, Vec::new());
        let timer = |it: &Row| match it {
            Row::Timer(it) => (named(it.instance, it.wait), it.due),
            other => panic!("{other:?}"),
        };
        rows.iter().map(timer).collect()
    };
    let [(first, due), (second, other)] = timers(&world)[..] else { panic!("there are two") };
    assert_eq!(
        (due, other),
        (start.after(HOUR), start.after(HOUR)),
        "the hour after the beginning"
    );
    world.engine().move_timer(first, due.after(second_more)).wait().expect("is there");
    world.engine().fire_timer(second).wait().expect("is there");
    world.restart();
    assert_eq!(timers(&world), [(first, due.after(second_more)), (second, due.after(HOUR))]);
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 1);
    world.clock.set(due.after(second_more));
    world.advance(0);
    world.rest();
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 2);
    assert_eq!(timers(&world), [(first, due.after(HOUR)), (second, due.after(HOUR))]);
    let nothing = world.engine().fire_timer(named(0, 77)).wait();
    assert!(matches!(nothing, Err(Error::Rejected(_))), "{nothing:?}");
    world.check();
}

#[test]
fn two_files_of_one_name_are_refused() {
    let world = World::new(1);
    let other = ONE_TASK.replace(r#"id="p""#, r#"id="q""#);
    let refused = world.engine().deploy(&[file("m.bpmn", ONE_TASK), file("m.bpmn", &other)]);
    let Err(Error::Refused { diagnostics }) = refused else { panic!("{refused:?}") };
    assert_eq!(diagnostics, ["two files are called m.bpmn; rename one of them"]);
    assert!(world.engine().definitions().all().all(|it| it.is_function()));
}

#[test]
fn the_report_of_opening_counts_each_job_once() {
    let mut world = World::new(3);
    world.deploy(ONE_TASK);
    for _ in 0..7 {
        world.engine().start("p").wait().expect("starts");
    }
    world.restart();
    assert_eq!(world.engine().recover().expect("it can be asked").jobs, 7);
}

#[test]
fn views_have_nothing_of_what_is_over() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
           <sequenceFlow id="f1" sourceRef="s" targetRef="sub"/>
           <subProcess id="sub"><extensionElements><tv:input target="around">1</tv:input></extensionElements>
             <serviceTask id="a" tv:jobType="work"><extensionElements><tv:input target="own">2</tv:input>
             </extensionElements></serviceTask></subProcess>
           <sequenceFlow id="f2" sourceRef="sub" targetRef="b"/><serviceTask id="b" tv:jobType="work"/></process>"#,
    );
    let id = world.engine().start("p").variable("x", 0).wait().expect("starts");
    let elements = |world: &World| -> Vec<String> {
        let rows = world.rows(Table::Elements, Vec::new()).into_iter();
        let names = rows.filter_map(|it| match it {
            Row::Element(row) => Some(row.element.to_string()),
            _ => None,
        });
        names.collect()
    };
    let variables = |world: &World| -> Vec<String> {
        let rows = world.rows(Table::Variables, vec![Filter::Instance(id.0)]).into_iter();
        let names = rows.filter_map(|it| match it {
            Row::Variable(row) => Some(row.name.to_string()),
            _ => None,
        });
        names.collect()
    };
    assert_eq!(elements(&world), ["sub", "a"]);
    assert_eq!(variables(&world), ["x", "around", "own"]);
    world.engine().complete(address(&world.jobs()[0]), Vec::new()).wait().expect("done");
    for _ in 0..2 {
        assert_eq!(elements(&world), ["b"]);
        assert_eq!(variables(&world), ["x"]);
        world.restart();
    }
    world.check();
}

#[test]
fn a_message_that_was_taken_is_not_found_by_any_of_its_properties() {
    let world = World::new(1);
    world.deploy(
        r#"<message id="m" name="news"/><process id="p" isExecutable="true"><startEvent id="s"/>
           <sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
           <receiveTask id="r" messageRef="m"><extensionElements><tv:correlation name="a">1</tv:correlation>
           <tv:correlation name="b">b</tv:correlation></extensionElements></receiveTask></process>"#,
    );
    let send = |b: i64| {
        let correlation = vars(&[("a", 1.into()), ("b", b.into())]);
        let message = Message { correlation, ..Message::new("news") };
        world.engine().publish(message).wait().expect("it is sent")
    };
    assert_eq!([2, 3, 4].map(send), [Receipt::Held, Receipt::Held, Receipt::Held]);
    let start = || world.engine().start("p").variable("b", 2).wait().expect("starts");
    let first = start();
    assert_eq!(world.ended(first).ending, Ending::Completed);
    let second = start();
    world.rest();
    assert!(matches!(send(2), Receipt::Received(_)));
    assert_eq!(world.ended(second).ending, Ending::Completed);
}

#[test]
fn variables_that_become_too_many_are_an_incident() {
    let settings =
        Settings { budgets: Budgets { names: 3, ..Budgets::default() }, ..Settings::default() };
    let world = World::with(Options { shards: 1, settings, ..Options::default() });
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
           <sequenceFlow id="f1" sourceRef="s" targetRef="a"/><serviceTask id="a" tv:jobType="work"/>
           <sequenceFlow id="f2" sourceRef="a" targetRef="b"/><serviceTask id="b" tv:jobType="work"/>
           <sequenceFlow id="f3" sourceRef="b" targetRef="c"/><userTask id="c"/></process>"#,
    );
    world.engine().start("p").wait().expect("starts");
    let said: Vec<String> = [["x", "y"], ["z", "w"]]
        .into_iter()
        .flat_map(|names| {
            let variables = names.iter().map(|it| ((*it).into(), 1.into())).collect();
            world.engine().complete(address(&world.jobs()[0]), variables).wait().expect("done");
            world.rows(Table::Incidents, Vec::new())
        })
        .map(|it| if let Row::Incident(it) = it { it.message.to_string() } else { panic!() })
        .collect();
    let [said] = &said[..] else { panic!("{said:?}") };
    assert!(said.contains("more than 3 variables in one place"), "{said}");
}

#[test]
fn jobs_user_tasks_and_timers_are_not_taken_for_each_other() {
    let world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
           <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
           <sequenceFlow id="f2" sourceRef="s" targetRef="j"/><serviceTask id="j" tv:jobType="work"/></process>"#,
    );
    let engine = world.engine();
    let instance = engine.start("p").wait().expect("starts");
    let rows = world.rows(Table::Tasks, Vec::new());
    let [Row::Task(task)] = &rows[..] else { panic!("{rows:?}") };
    let (job, task) = (address(&world.jobs()[0]), Address { instance, wait: WaitId(task.wait) });
    let failed = engine.fail(task, JobFailure::new("no")).wait();
    assert_eq!(failed, Err(Error::WrongKind { work: task, is: WorkKind::User }));
    let not_there = |it: Address| Err(Rejection::NoSuchWait(it.wait).into());
    assert_eq!(engine.extend(task, Duration::from_secs(1)).wait(), not_there(task));
    assert_eq!(engine.claim(job, "ann").wait(), not_there(job));
    assert_eq!(engine.unclaim(job).wait(), not_there(job));
    assert_eq!(engine.fire_timer(job).wait(), not_there(job));
    assert_eq!(engine.move_timer(job, engine.now()).wait(), not_there(job));
    assert_eq!(world.rows(Table::Incidents, Vec::new()), []);
}

#[test]
fn a_timer_that_was_moved_is_shown_when_it_is_due_now() {
    let mut world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
           <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><intermediateCatchEvent id="t">
           <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>
           </intermediateCatchEvent></process>"#,
    );
    let id = world.engine().start("p").wait().expect("starts");
    let timers = |world: &World| -> Vec<(u64, Timestamp)> {
        let rows = world.rows(Table::Timers, Vec::new()).into_iter();
        let timers = rows.filter_map(|it| match it {
            Row::Timer(row) => Some((row.wait, row.due)),
            _ => None,
        });
        timers.collect()
    };
    let [(wait, due)] = timers(&world)[..] else { panic!("there is one timer") };
    let timer = Address { instance: id, wait: WaitId(wait) };
    let later = due.after(Duration::from_secs(5));
    world.engine().move_timer(timer, later).wait().expect("it is there");
    for _ in 0..2 {
        assert_eq!(timers(&world), [(wait, later)]);
        world.restart();
    }
    // The log alone says so, too.
    world.restart_after(|data| std::fs::remove_file(data.join("views.db")).expect("it is there"));
    assert_eq!(timers(&world), [(wait, later)]);
    world.advance(3_600_000);
    assert_eq!(timers(&world).len(), 1, "it is not due yet");
    world.advance(5_000);
    assert_eq!(world.ended(id).ending, Ending::Completed);
}
