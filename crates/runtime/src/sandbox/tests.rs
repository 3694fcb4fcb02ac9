//! The rules of the sandbox, one test each.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use proptest::prelude::{Just, Strategy, prop_assert, prop_oneof, proptest};
use travertine_kernel::{
    Assignments, Ending, NodeId, Phase, Plan,
    plan::{
        Boundary, Call, Catch, Changes, Container, Element, Flow, Message as MessagePlan, Node,
        Payload, Send, Start as StartPlan, Throw, TimerKind, Trigger, Work, WorkKind,
    },
};
use travertine_lang::{Kind, Language, juel::Juel};
use travertine_value::{Name, Program, Value};

use super::*;
use crate::request::{MigrateRequest, ReleaseHaltedRequest, TryMigrationRequest};
use crate::{Address, InstanceId};

const NOON: Timestamp = Timestamp::from_millis(1_000_000);

/// A chain of elements, named `process`, then as given.
fn chain(process: &str, all: Vec<(&str, Element)>) -> (Name, Arc<Plan>) {
    plan(process, all, |_, _| {})
}

/// A chain to which `more` adds nodes and flows.
fn plan(
    process: &str,
    all: Vec<(&str, Element)>,
    more: impl FnOnce(&mut Vec<Node>, &mut Vec<Flow>),
) -> (Name, Arc<Plan>) {
    let root = NodeId(0);
    let mut nodes = vec![Node::new(process, None, Element::Process(Container::default()))];
    nodes.extend(all.into_iter().map(|(name, element)| Node::new(name, Some(root), element)));
    let last = u32::try_from(nodes.len()).unwrap() - 1;
    let mut flows: Vec<Flow> =
        (1..last).map(|from| Flow::new("", NodeId(from), NodeId(from + 1))).collect();
    more(&mut nodes, &mut flows);
    (process.into(), Arc::new(Plan::new(nodes, flows)))
}

fn text(text: &str) -> Program {
    Program::constant(text.into())
}

fn user(name: &str) -> (&str, Element) {
    let (job_type, fields) = (text(name), Vec::new());
    (name, Element::Work(Work { kind: WorkKind::User, job_type, retries: None, fields }))
}

fn begin() -> (&'static str, Element) {
    ("begin", Element::Start(StartPlan::default()))
}

fn begin_on(triggers: Vec<Trigger>) -> (&'static str, Element) {
    ("begin", Element::Start(StartPlan { triggers, all: false, with: Vec::new() }))
}

fn catch(triggers: Vec<Trigger>) -> (&'static str, Element) {
    ("catch", Element::Catch(Catch { triggers, all: false }))
}

fn message(name: &str) -> MessagePlan {
    MessagePlan { name: text(name), correlation: Vec::new() }
}

fn on_message(name: &str) -> Trigger {
    Trigger::Message(message(name))
}

fn on_signal(name: &str) -> Trigger {
    Trigger::Signal { name: text(name) }
}

fn on_timer(kind: TimerKind, when: &str) -> Trigger {
    Trigger::Timer { kind, when: text(when) }
}

fn call(definition: &str) -> (&'static str, Element) {
    let definition = text(definition);
    (
        "call",
        Element::Call(Call {
            definition,
            binding: None,
            computed: None,
            all_in: true,
            all_out: true,
        }),
    )
}

fn vars(all: &[(&str, Value)]) -> Assignments {
    all.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
}

fn world(definitions: &[(Name, Arc<Plan>)]) -> Sandbox {
    let mut sandbox = Sandbox::new(NOON);
    sandbox.deploy(definitions).unwrap();
    sandbox
}

/// Where tokens wait: `instance element`.
fn waiting(sandbox: &Sandbox) -> Vec<String> {
    let mut all = Vec::new();
    for record in sandbox.instances() {
        for wait in record.state.waits.values() {
            let node = record.state.tokens[&wait.token].node;
            all.push(format!("{} {}", record.id, record.plan().node(node).name));
        }
    }
    all
}

/// The only wait of an instance.
fn only_wait(sandbox: &Sandbox, instance: InstanceId) -> Address {
    let waits = &sandbox.instance(instance).unwrap().state.waits;
    assert_eq!(waits.len(), 1);
    Address { instance, wait: *waits.keys().next().unwrap() }
}

fn ending(sandbox: &Sandbox, instance: InstanceId) -> Option<&Ending> {
    sandbox.instance(instance).unwrap().state.ending()
}

fn variable(sandbox: &Sandbox, instance: InstanceId, name: &str) -> Option<Value> {
    let variables = sandbox.instance(instance).unwrap().variables();
    variables.filter(|(it, _)| &***it == name).map(|(_, value)| value.clone()).next()
}

#[test]
fn work_is_listed_until_it_is_done() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a"), user("b")])]);
    let id = sandbox.start(Start::of("p").with(vars(&[("x", 1.into())]))).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a"]);
    sandbox.complete(only_wait(&sandbox, id), vars(&[("x", 2.into())])).unwrap();
    assert_eq!(waiting(&sandbox), ["1 b"]);
    sandbox.complete(only_wait(&sandbox, id), Vec::new()).unwrap();
    assert_eq!(ending(&sandbox, id), Some(&Ending::Completed));
    assert_eq!(variable(&sandbox, id, "x"), Some(2.into()));
}

#[test]
fn what_is_not_there_is_refused() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a")])]);
    assert_eq!(sandbox.start(Start::of("q")), Err(Error::NoSuchDefinition("q".into())));
    let nowhere = Start { at: Some("c"), ..Start::of("p") };
    let (definition, element) = ("p".into(), "c".into());
    assert_eq!(sandbox.start(nowhere), Err(Error::NoSuchElement { definition, element }));
    let nobody = InstanceId(7);
    assert_eq!(sandbox.cancel(nobody), Err(Error::NoSuchInstance(nobody)));
    assert_eq!(sandbox.instances().count(), 0);
}

#[test]
fn the_latest_version_is_started() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("old")])]);
    let added = sandbox.deploy(&[chain("p", vec![begin(), user("new")])]).unwrap();
    assert_eq!((added[0].version, added[0].deployment), (2, 2));
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 new"]);
}

#[test]
fn timers_fire_in_the_order_they_are_due_each_at_its_time() {
    let due = |duration| catch(vec![on_timer(TimerKind::Duration, duration)]);
    let fired = Arc::new(Mutex::new(Vec::new()));
    let mut sandbox = world(&[
        chain("slow", vec![begin(), due("PT3S")]),
        chain("quick", vec![begin(), due("PT1S"), ("again", due("PT1S").1)]),
    ]);
    sandbox.start(Start::of("slow")).unwrap();
    sandbox.start(Start::of("quick")).unwrap();
    let seen = Arc::clone(&fired);
    sandbox.observe(move |it| {
        seen.lock()
            .expect("nobody fails while looking on")
            .push((it.instance, it.now.as_millis() - NOON.as_millis()));
    });
    sandbox.advance_by(Duration::from_millis(999)).unwrap();
    assert_eq!(fired.lock().expect("nobody fails while looking on").len(), 0);
    sandbox.advance_by(Duration::from_secs(9)).unwrap();
    assert_eq!(
        *fired.lock().expect("nobody fails while looking on"),
        [(2, 1_000), (2, 2_000), (1, 3_000)].map(|(id, at)| (InstanceId(id), at))
    );
    assert_eq!(sandbox.now(), NOON.after(Duration::from_millis(9_999)));
}

#[test]
fn what_is_written_is_counted_for_each_request() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a")])]);
    let mut written = |size: usize| {
        let x = "x".repeat(size);
        sandbox.start(Start::of("p").with(vars(&[("x", x.as_str().into())]))).unwrap();
        // Nothing has to wait for its turn.
        sandbox.start_throttled().unwrap();
        sandbox.written()
    };
    let little = written(1);
    // Lengths take more bytes, too.
    assert!((1_000..1_010).contains(&(written(1_001) - little)));
    assert_eq!(written(1), little);
    sandbox.advance_by(Duration::from_secs(1)).unwrap();
    assert_eq!(sandbox.written(), 0);
}

#[test]
fn a_timer_that_is_due_at_once_needs_no_push() {
    let past = catch(vec![on_timer(TimerKind::Date, "1970-01-01T00:00:00Z")]);
    let mut sandbox = world(&[chain("p", vec![begin(), past])]);
    let id = sandbox.start(Start::of("p")).unwrap();
    assert_eq!(ending(&sandbox, id), Some(&Ending::Completed));
}

#[test]
fn the_clock_does_not_go_backwards() {
    let mut sandbox = Sandbox::new(NOON);
    let earlier = NOON.before(Duration::from_millis(1));
    assert_eq!(sandbox.advance(earlier), Err(Error::Backwards { now: NOON }));
}

#[test]
fn a_message_goes_to_the_one_who_has_waited_longest() {
    let mut sandbox = world(&[chain("p", vec![begin(), catch(vec![on_message("m")]), user("a")])]);
    let first = sandbox.start(Start::of("p")).unwrap();
    sandbox.start(Start::of("p")).unwrap();
    let to = only_wait(&sandbox, first);
    assert_eq!(sandbox.publish(Message::new("m")), Ok(Receipt::Received(to)));
    assert_eq!(waiting(&sandbox), ["1 a", "2 catch"]);
}

#[test]
fn a_message_is_held_until_someone_waits() {
    let mut sandbox = world(&[chain("p", vec![begin(), catch(vec![on_message("m")]), user("a")])]);
    let brings = Message { variables: vars(&[("x", 1.into())]), ..Message::new("m") };
    assert_eq!(sandbox.publish(brings), Ok(Receipt::Held));
    assert_eq!(sandbox.held().count(), 1);
    let id = sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a"]);
    assert_eq!(variable(&sandbox, id, "x"), Some(1.into()));
    assert_eq!(sandbox.held().count(), 0);
}

#[test]
fn a_held_message_expires() {
    let mut sandbox = world(&[chain("p", vec![begin(), catch(vec![on_message("m")])])]);
    sandbox.publish(Message { ttl: Some(Duration::from_secs(1)), ..Message::new("m") }).unwrap();
    sandbox.advance_by(Duration::from_secs(1)).unwrap();
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 catch"]);
    let dropped = Message { ttl: Some(Duration::ZERO), ..Message::new("other") };
    assert_eq!(sandbox.publish(dropped), Ok(Receipt::Dropped));
}

#[test]
fn a_message_goes_only_where_its_correlation_matches() {
    let order = Juel.compile(Kind::Expression, "${order}").unwrap();
    let wanted = MessagePlan { correlation: vec![("order".into(), order)], ..message("m") };
    let element = catch(vec![Trigger::Message(wanted)]);
    let mut sandbox = world(&[chain("p", vec![begin(), element, user("a")])]);
    for order in [1, 2] {
        let start = Start::of("p").with(vars(&[("order", order.into())]));
        sandbox.start(start).unwrap();
    }
    let of =
        |order: i32| Message { correlation: vars(&[("order", order.into())]), ..Message::new("m") };
    assert_eq!(sandbox.publish(of(3)), Ok(Receipt::Held));
    sandbox.publish(of(2)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 catch", "2 a"]);
}

#[test]
fn a_message_that_nobody_waits_for_starts_an_instance() {
    let p = chain("p", vec![begin_on(vec![on_message("m")]), catch(vec![on_message("m")])]);
    let mut sandbox = world(&[p]);
    assert_eq!(sandbox.publish(Message::new("m")), Ok(Receipt::Started(InstanceId(1))));
    assert!(matches!(sandbox.publish(Message::new("m")), Ok(Receipt::Received(_))));
    assert_eq!(sandbox.instances().count(), 1);
}

#[test]
fn a_held_message_starts_what_is_deployed_later() {
    let mut sandbox = Sandbox::new(NOON);
    sandbox.publish(Message::new("m")).unwrap();
    sandbox.deploy(&[chain("p", vec![begin_on(vec![on_message("m")]), user("a")])]).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a"]);
}

#[test]
fn a_start_that_needs_several_triggers_waits_for_the_last() {
    let triggers = vec![on_message("m"), on_signal("s")];
    let both = ("begin", Element::Start(StartPlan { triggers, all: true, with: Vec::new() }));
    let mut sandbox = world(&[chain("p", vec![both, user("a")])]);
    sandbox.signal("s", &vars(&[("x", 1.into())])).unwrap();
    sandbox.signal("s", &vars(&[("x", 2.into())])).unwrap();
    assert_eq!(sandbox.instances().count(), 0);
    for (id, y) in [(InstanceId(1), 3), (InstanceId(2), 4)] {
        let variables = vars(&[("y", y.into())]);
        let receipt = sandbox.publish(Message { variables, ..Message::new("m") });
        assert_eq!(receipt, Ok(Receipt::Started(id)));
        assert_eq!(variable(&sandbox, id, "y"), Some(y.into()));
    }
    assert_eq!(variable(&sandbox, InstanceId(1), "x"), Some(1.into()));
    assert_eq!(variable(&sandbox, InstanceId(2), "x"), Some(2.into()));
    let receipt = sandbox.publish(Message::new("m"));
    assert_eq!(receipt, Ok(Receipt::Noted));
}

#[test]
fn a_signal_goes_to_all_that_wait_and_to_start_events() {
    let mut sandbox = world(&[
        chain("p", vec![begin(), catch(vec![on_signal("s")]), user("a")]),
        chain("q", vec![begin_on(vec![on_signal("s")]), user("b")]),
    ]);
    sandbox.start(Start::of("p")).unwrap();
    sandbox.start(Start::of("p")).unwrap();
    sandbox.signal("s", &Vec::new()).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a", "2 a", "3 b"]);
}

#[test]
fn a_signal_is_not_held() {
    let mut sandbox = world(&[chain("p", vec![begin(), catch(vec![on_signal("s")])])]);
    sandbox.signal("s", &Vec::new()).unwrap();
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 catch"]);
}

#[test]
fn an_instance_sends_to_others() {
    let sends =
        Send { messages: vec![message("m")], payload: vec![("x".into(), text("hello"))].into() };
    let mut sandbox = world(&[
        chain("from", vec![begin(), ("send", Element::Send(sends)), user("sent")]),
        chain("to", vec![begin(), catch(vec![on_message("m")]), user("got")]),
    ]);
    let to = sandbox.start(Start::of("to")).unwrap();
    sandbox.start(Start::of("from")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 got", "2 sent"]);
    assert_eq!(variable(&sandbox, to, "x"), Some("hello".into()));
}

#[test]
fn a_thrown_signal_reaches_others() {
    let throw =
        Element::Throw(vec![Throw::Signal { name: text("s"), payload: Payload::default() }]);
    let mut sandbox = world(&[
        chain("from", vec![begin(), ("throw", throw)]),
        chain("to", vec![begin(), catch(vec![on_signal("s")]), user("got")]),
    ]);
    sandbox.start(Start::of("to")).unwrap();
    let from = sandbox.start(Start::of("from")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 got"]);
    assert_eq!(ending(&sandbox, from), Some(&Ending::Completed));
}

#[test]
fn a_timer_starts_instances_as_often_as_it_says() {
    let every = begin_on(vec![on_timer(TimerKind::Cycle, "R2/PT1S")]);
    let mut sandbox = world(&[chain("p", vec![every, user("a")])]);
    assert_eq!(sandbox.next_due(), Some(NOON.after(Duration::from_secs(1))));
    sandbox.advance_by(Duration::from_mins(1)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a", "2 a"]);
    assert_eq!(sandbox.next_due(), None);
}

#[test]
fn a_cron_expression_starts_an_instance_each_time() {
    let daily = begin_on(vec![on_timer(TimerKind::Cycle, "0 18 * * * [Europe/Berlin]")]);
    let mut sandbox = world(&[chain("p", vec![daily, user("a")])]);
    let first = sandbox.next_due().unwrap();
    sandbox.advance_by(first.since(NOON)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a"]);
    assert_eq!(sandbox.next_due(), Some(first.after(Duration::from_hours(24))));
    sandbox.advance_by(Duration::from_hours(48)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a", "2 a", "3 a"]);
}

#[test]
fn a_call_bound_to_a_tag_calls_that_version() {
    let tagged = |tag: &str, task: &'static str| {
        let (id, mut plan) = chain("child", vec![begin(), user(task)]);
        Arc::make_mut(&mut plan).version_tag = Some(tag.into());
        (id, plan)
    };
    let bound = Element::Call(Call {
        definition: text("child"),
        binding: Some("v1".into()),
        computed: None,
        all_in: true,
        all_out: true,
    });
    let mut sandbox = world(&[tagged("v1", "old")]);
    sandbox.deploy(&[tagged("v2", "new")]).unwrap();
    sandbox.deploy(&[chain("parent", vec![begin(), ("call", bound)])]).unwrap();
    sandbox.start(Start::of("parent")).unwrap();
    assert!(waiting(&sandbox).iter().any(|it| it.ends_with(" old")), "{:?}", waiting(&sandbox));
}

#[test]
fn a_new_version_takes_over_the_start_timer() {
    let soon = || begin_on(vec![on_timer(TimerKind::Duration, "PT1S")]);
    let mut sandbox = world(&[chain("p", vec![soon(), user("old")])]);
    sandbox.deploy(&[chain("p", vec![soon(), user("new")])]).unwrap();
    sandbox.advance_by(Duration::from_secs(1)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 new"]);
}

#[test]
fn a_start_timer_that_is_no_time_is_refused_and_nothing_is_deployed() {
    let never = begin_on(vec![on_timer(TimerKind::Date, "tomorrow")]);
    let mut sandbox = Sandbox::new(NOON);
    let refused = sandbox.deploy(&[chain("ok", vec![begin()]), chain("p", vec![never])]);
    assert!(matches!(refused, Err(Error::BadStart { .. })), "{refused:?}");
    assert_eq!(sandbox.definitions().latest().count(), 0);
}

#[test]
fn conditional_starts_look_at_what_is_offered() {
    let when = Juel.compile(Kind::Expression, "${x > 1}").unwrap();
    let start =
        begin_on(vec![Trigger::Condition { when, variables: Vec::new(), changes: Changes::ALL }]);
    let mut sandbox = world(&[chain("p", vec![start, user("a")])]);
    assert_eq!(sandbox.evaluate_conditions(&vars(&[("x", 1.into())])), Ok(vec![]));
    assert_eq!(sandbox.evaluate_conditions(&vars(&[])), Ok(vec![]));
    let started = sandbox.evaluate_conditions(&vars(&[("x", 2.into())])).unwrap();
    assert_eq!(variable(&sandbox, started[0], "x"), Some(2.into()));
}

#[test]
fn a_call_starts_a_child_whose_end_completes_it() {
    let mut sandbox = world(&[
        chain("p", vec![begin(), call("q"), user("after")]),
        chain("q", vec![begin(), user("inside")]),
    ]);
    let parent = sandbox.start(Start::of("p").with(vars(&[("x", 1.into())]))).unwrap();
    assert_eq!(waiting(&sandbox), ["1 call", "2 inside"]);
    let child = sandbox.instance(InstanceId(2)).unwrap();
    assert_eq!(child.caller().map(|it| it.instance), Some(parent));
    assert_eq!(variable(&sandbox, InstanceId(2), "x"), Some(1.into()));
    sandbox.complete(only_wait(&sandbox, InstanceId(2)), vars(&[("y", 2.into())])).unwrap();
    assert_eq!(waiting(&sandbox), ["1 after"]);
    assert_eq!(variable(&sandbox, parent, "y"), Some(2.into()));
}

#[test]
fn who_is_cancelled_cancels_what_it_called() {
    let mut sandbox =
        world(&[chain("p", vec![begin(), call("q")]), chain("q", vec![begin(), user("inside")])]);
    let parent = sandbox.start(Start::of("p")).unwrap();
    sandbox.cancel(parent).unwrap();
    assert_eq!(ending(&sandbox, InstanceId(2)), Some(&Ending::Cancelled));
}

#[test]
fn a_call_of_nothing_can_be_tried_again_once_it_is_deployed() {
    let mut sandbox = world(&[chain("p", vec![begin(), call("q")])]);
    let parent = sandbox.start(Start::of("p")).unwrap();
    let troubles = sandbox.instance(parent).unwrap().troubles();
    assert_eq!(troubles[0].message, "no such definition: q");
    sandbox.deploy(&[chain("q", vec![begin()])]).unwrap();
    sandbox.retry(parent, troubles[0].token).unwrap();
    assert_eq!(ending(&sandbox, parent), Some(&Ending::Completed));
}

/// A process that calls `q` and catches its error `E`.
fn catcher() -> (Name, Arc<Plan>) {
    plan("p", vec![begin(), call("q")], |nodes, flows| {
        let trigger =
            Trigger::Error { code: Some("E".into()), code_variable: None, message_variable: None };
        let boundary = Boundary {
            attached_to: NodeId(2),
            triggers: vec![trigger],
            all: false,
            interrupting: true,
            handler: None,
        };
        nodes.push(Node::new("caught", Some(NodeId(0)), Element::Boundary(boundary)));
        let (name, element) = user("repair");
        nodes.push(Node::new(name, Some(NodeId(0)), element));
        flows.push(Flow::new("", NodeId(3), NodeId(4)));
    })
}

#[test]
fn an_error_of_a_child_is_caught_by_its_caller() {
    let throw = Element::Throw(vec![Throw::Error {
        code: Some("E".into()),
        message: None,
        payload: Payload::default(),
    }]);
    let q = chain("q", vec![begin(), ("throw", throw)]);
    let mut sandbox = world(&[catcher(), q]);
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 repair"]);
    assert!(matches!(ending(&sandbox, InstanceId(2)), Some(Ending::Failed(_))));
}

#[test]
fn work_that_fails_for_good_is_trouble_until_it_is_retried() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a")])]);
    let id = sandbox.start(Start::of("p")).unwrap();
    sandbox.fail(only_wait(&sandbox, id), 0, "no connection").unwrap();
    let troubles = sandbox.instance(id).unwrap().troubles();
    assert_eq!(troubles[0].message, "no connection");
    sandbox.retry(id, troubles[0].token).unwrap();
    assert_eq!(sandbox.instance(id).unwrap().troubles(), []);
    assert_eq!(waiting(&sandbox), ["1 a"]);
}

#[test]
fn after_a_restart_everything_is_waited_for_again() {
    let all = |trigger| vec![begin(), catch(vec![trigger]), user("a")];
    let mut sandbox = world(&[
        chain("t", all(on_timer(TimerKind::Duration, "PT1S"))),
        chain("m", all(on_message("m"))),
        chain("s", all(on_signal("s"))),
        chain("c", vec![begin(), call("t")]),
    ]);
    for definition in ["t", "m", "s", "c"] {
        sandbox.start(Start::of(definition)).unwrap();
    }
    let before = waiting(&sandbox);
    sandbox.restart().unwrap();
    assert_eq!(waiting(&sandbox), before);
    sandbox.publish(Message::new("m")).unwrap();
    sandbox.signal("s", &Vec::new()).unwrap();
    sandbox.advance_by(Duration::from_secs(1)).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a", "2 a", "3 a", "4 call", "5 a"]);
}

#[test]
fn what_never_rests_is_given_up() {
    let endless =
        plan("p", vec![begin(), ("a", Element::Task), ("b", Element::Task)], |_, flows| {
            flows.push(Flow::new("", NodeId(3), NodeId(2)));
        });
    let mut sandbox = world(&[endless]);
    sandbox.limit_events(50_000);
    assert!(matches!(sandbox.start(Start::of("p")), Err(Error::Restless { .. })));
    // It has been started all the same, and can be stopped.
    assert_eq!(sandbox.cancel(InstanceId(1)), Ok(()));
    assert_eq!(*sandbox.instance(InstanceId(1)).unwrap().phase(), Phase::Ended(Ending::Cancelled));
}

#[test]
fn what_never_rests_is_given_up_before_it_takes_all_memory() {
    let endless =
        plan("p", vec![begin(), ("a", Element::Task), ("b", Element::Task)], |_, flows| {
            flows.push(Flow::new("", NodeId(3), NodeId(2)));
        });
    let mut sandbox = world(&[endless]);
    sandbox.bytes_max = 100_000;
    let given_up = sandbox.start(Start::of("p"));
    let Err(Error::Restless { bytes, .. }) = given_up else { panic!("{given_up:?}") };
    assert!(bytes > 100_000, "{bytes}");
    assert_eq!(sandbox.cancel(InstanceId(1)), Ok(()));
}

#[test]
fn processes_that_call_each_other_for_ever_are_given_up() {
    let mut sandbox = world(&[chain("p", vec![begin(), call("p")])]);
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(sandbox.instances().count(), 257);
    let troubles: Vec<_> = sandbox.instances().flat_map(Live::troubles).collect();
    assert_eq!(troubles.len(), 1);
    assert_eq!(troubles[0].message, "more than 256 calls within one another");
}

#[test]
fn an_instance_whose_first_entry_cannot_be_stored_is_refused_and_leaves_nothing() {
    let deep = (0..2_000).fold(Value::Null, |it, _| vec![it].into());
    let (id, plan) = chain("p", vec![begin_on(vec![Trigger::Message(message("go"))]), user("t")]);
    let mut plan = Arc::unwrap_or_clone(plan);
    let (name, message) = ("conversation".into(), "go".into());
    let path = Program::constant(deep);
    plan.keys = vec![travertine_kernel::plan::Key { name, message, property: "x".into(), path }];
    let mut world = Sandbox::new(NOON);
    world.deploy(&[(id, Arc::new(plan)), chain("q", vec![begin(), user("t")])]).unwrap();
    let business_id = Some("one".into());
    let start = Start { at: Some("begin"), business_id, ..Start::of("p") };
    for _ in 0..2 {
        let refused = world.start(start.clone());
        assert!(
            matches!(&refused, Err(Error::Failed { reason }) if reason.contains("cannot be stored")),
            "{refused:?}"
        );
        assert_eq!(world.instances().count(), 0);
    }
    let other = world.start(Start::of("q")).unwrap();
    assert_eq!(other, InstanceId(1), "no number is lost");
    world.checkpoint().unwrap();
    world.restart().unwrap();
    assert_eq!(world.instances().map(|it| it.id).collect::<Vec<_>>(), [other]);
}

/// A program that the engine did not expect.
#[derive(Debug)]
struct Explodes;

impl travertine_value::Evaluate for Explodes {
    fn run(
        &self,
        _: &dyn travertine_value::Variables,
        _: &travertine_value::Limits,
    ) -> Result<travertine_value::Outcome, travertine_value::EvalError> {
        panic!("nobody expects this")
    }
}

#[test]
fn where_the_engine_fails_to_migrate_an_instance_only_that_one_is_halted() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a")])]);
    let ids = [(); 2].map(|()| sandbox.start(Start::of("p")).unwrap());
    let late = Trigger::Timer {
        kind: TimerKind::Duration,
        when: Program::new("explodes", Arc::new(Explodes)),
    };
    let next = plan("p", vec![begin(), user("a")], |nodes, _| {
        let boundary = Boundary {
            attached_to: NodeId(2),
            triggers: vec![late],
            all: false,
            interrupting: true,
            handler: None,
        };
        nodes.push(Node::new("late", Some(NodeId(0)), Element::Boundary(boundary)));
    });
    let to = sandbox.deploy(&[next]).unwrap()[0].key;
    let mapping = travertine_kernel::Mapping::default();
    let instance = ids[0];
    let tried = sandbox.ask(TryMigrationRequest { instance, to, mapping: mapping.clone() });
    assert!(matches!(tried, Err(Error::Failed { .. })), "{tried:?}");
    let halted = sandbox.ask(MigrateRequest { instance, to, mapping: mapping.clone() });
    assert!(matches!(halted, Err(Error::Halted { .. })), "{halted:?}");
    sandbox.checkpoint().unwrap();
    sandbox.ask(ReleaseHaltedRequest { instance }).unwrap();
    assert_eq!(waiting(&sandbox), ["1 a", "2 a"]);
    let halted = sandbox.ask(MigrateRequest { instance, to, mapping });
    assert!(matches!(halted, Err(Error::Halted { .. })), "{halted:?}");
    sandbox.cancel(instance).unwrap();
    assert_eq!(waiting(&sandbox), ["2 a"], "it ends, whatever its state is");
}

#[test]
fn a_shard_starts_what_others_have_before_it_has_it_itself() {
    let mut sandbox = world(&[chain("p", vec![begin(), user("a")])]);
    let mut next = sandbox.definitions().clone();
    let key = next.add(&[chain("p", vec![begin(), user("b")])], NOON).unwrap()[0].key;
    let begin = Begin { definition: key, ..Begin::default() };
    let early = sandbox.ask(StartRequest { begin: begin.clone() });
    assert!(matches!(early, Err(Error::NoSuchDefinition(_))), "{early:?}");
    let next = Arc::new(next);
    sandbox.shard.expect(&next);
    sandbox.ask(StartRequest { begin }).unwrap();
    sandbox.start(Start::of("p")).unwrap();
    assert_eq!(waiting(&sandbox), ["1 b", "2 a"]);
    sandbox.shard.adopt(&next);
    assert_eq!(waiting(&sandbox), ["1 b", "2 a"]);
}

#[test]
fn what_comes_for_a_version_that_is_about_to_be_removed_waits_until_it_is_gone_or_stays() {
    let timer = Trigger::Timer { kind: TimerKind::Duration, when: text("PT1M") };
    for stays in [true, false] {
        let on_both = || begin_on(vec![on_message("m"), timer.clone()]);
        let mut sandbox = world(&[chain("p", vec![begin_on(vec![on_message("m")]), user("a")])]);
        let added = sandbox.deploy(&[chain("p", vec![on_both(), user("b")])]).unwrap();
        let definitions = sandbox.definitions().clone();
        sandbox.shard.adopt(&Arc::new(definitions.leaving(added[0].key)));
        assert_eq!(sandbox.publish(Message::new("m")), Ok(Receipt::Held));
        sandbox.advance_by(Duration::from_mins(1)).unwrap();
        assert_eq!(waiting(&sandbox), [""; 0]);
        let after = if stays {
            definitions
        } else {
            let mut older = Definitions::default();
            older.insert((*definitions.versions("p")[0]).clone());
            older
        };
        sandbox.shard.adopt(&Arc::new(after));
        sandbox.settle().unwrap();
        assert_eq!(waiting(&sandbox), if stays { vec!["1 b", "2 b"] } else { vec!["1 a"] });
    }
}

/// What someone does who sends messages.
#[derive(Clone, Debug)]
enum Sends {
    /// Someone begins to wait with this key.
    Wait(Value),
    /// A message with this key and id is sent, and held for so long.
    Send(Value, &'static str, Option<Duration>),
    Advance(Duration),
    Checkpoint,
    Restart,
}

fn sends() -> impl Strategy<Value = Sends> {
    let key = || prop_oneof![Just(Value::from(1)), Just(Value::from("1")), Just(Value::from("b"))];
    let ttl =
        prop_oneof![Just(None), Just(Some(Duration::ZERO)), Just(Some(Duration::from_secs(1)))];
    prop_oneof![
        3 => key().prop_map(Sends::Wait),
        6 => (key(), prop_oneof![Just("x"), Just("y")], ttl)
            .prop_map(|(key, id, ttl)| Sends::Send(key, id, ttl)),
        1 => Just(Sends::Advance(Duration::from_secs(1))),
        1 => Just(Sends::Checkpoint),
        1 => Just(Sends::Restart),
    ]
}

proptest! {
    #[test]
    fn a_message_is_received_at_most_once_per_id_and_receiver(
        all in proptest::collection::vec(sends(), 0..40),
    ) {
        let order = Juel.compile(Kind::Expression, "${order}").unwrap();
        let wanted = MessagePlan { correlation: vec![("order".into(), order)], ..message("m") };
        let element = catch(vec![Trigger::Message(wanted)]);
        let settings = Settings { keeps_ended: true, ..Settings::default() };
        let mut sandbox = Sandbox::on(Arc::new(MemoryStore::new(1)), settings, NOON).unwrap();
        sandbox.deploy(&[chain("p", vec![begin(), element, user("a")])]).unwrap();
        let text = |key: &Value| key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        let mut sent = std::collections::BTreeSet::new();
        for it in all {
            match it {
                Sends::Wait(key) => {
                    sandbox.start(Start::of("p").with(vars(&[("order", key)]))).unwrap();
                }
                Sends::Send(key, id, ttl) => {
                    let mark = format!("{} {id}", text(&key));
                    let message = Message {
                        variables: vars(&[("mark", mark.as_str().into())]),
                        correlation: vars(&[("order", key)]),
                        id: Some(id.into()),
                        ttl,
                        ..Message::new("m")
                    };
                    match sandbox.publish(message).unwrap() {
                        Receipt::Known => prop_assert!(sent.contains(&mark), "{mark} is new"),
                        Receipt::Dropped => {}
                        _ => {
                            sent.insert(mark);
                        }
                    }
                }
                Sends::Advance(span) => sandbox.advance_by(span).unwrap(),
                Sends::Checkpoint => sandbox.checkpoint().unwrap(),
                Sends::Restart => sandbox.restart().unwrap(),
            }
        }
        let mut received = std::collections::BTreeSet::new();
        for live in sandbox.instances() {
            let value = |name: &str| {
                let mut all = live.variables().filter(|(it, _)| &***it == name);
                all.next().map(|(_, it)| text(it))
            };
            let Some(mark) = value("mark") else { continue };
            let order = value("order").unwrap();
            prop_assert!(mark.starts_with(&format!("{order} ")), "{mark} is not for {order}");
            prop_assert!(received.insert(mark.clone()), "{mark} was received twice");
        }
    }
}
