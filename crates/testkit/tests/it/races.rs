//! Races of durable functions, in every order: what is sent, due, done and asked to end at the same time.
//!
//! What could come between two others is a step of its own (see [`travertine_testkit::races`]); these
//! steps are the points at which an order can be forced.
//!
//! The source design guards its state by a coordinator with operations of its own names. Here a shard is
//! the one writer of its runs, and the same guarantees are held by what it does: `registerWorkflow` is a
//! start, `markSuspended` and `registerTimer` are the end of a turn that opens waits, `markResumed` and
//! `getAndRemoveTimer` a wait that is met and closes its rivals, `updateForContinueAs` a new beginning,
//! `findWaitingForEvent` what the keeper of a name knows, `cancelWorkflow` a cancel, `markFinished` an end,
//! `recoverWorkflows` and `shutdown` a crash.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use travertine_func::{
    Activity, ActivityOptions, Event, Functions, Workflow, WorkflowDefinition, encode, select,
};
use travertine_kernel::{Ending, Event as Happened, JournalEntry, Phase};
use travertine_runtime::{Delivery, Live, Message, Receipt};
use travertine_testkit::document;
use travertine_testkit::races::{Answer, Conditions, Request, Scenario, World, explore, replay};
use travertine_value::Value;

const HOUR: Duration = Duration::from_hours(1);

#[derive(Serialize, Deserialize)]
struct News {
    mark: String,
}

impl Event for News {
    /// Kept by another shard than those that ann and eve run on.
    const NAME: &'static str = "word";
}

fn work() -> Activity<String> {
    Activity::new("work", ActivityOptions::DEFAULT)
}

macro_rules! function {
    ($name:literal, |$cx:ident| $body:expr) => {
        WorkflowDefinition {
            name: $name,
            version: 1,
            parameters: &[],
            run: |$cx, _| Box::pin(async move { Ok(encode($name, &$body)?) }),
        }
    };
}

/// Waits for an event.
const WAITER: WorkflowDefinition = function!("waiter", |cx| cx.event::<News>().await?.mark);

/// Waits for an event, but not for ever.
const RACER: WorkflowDefinition = function!("racer", |cx| {
    let first: String = select! { cx;
        news = cx.event::<News>() => news?.mark,
        slept = cx.sleep(HOUR) => { slept?; "slept".to_owned() },
    };
    first
});

/// Sleeps, and sleeps again.
const SLEEPER: WorkflowDefinition = function!("sleeper", |cx| {
    cx.sleep(HOUR).await?;
    cx.sleep(HOUR).await?;
    "slept"
});

/// Has something done.
const WORKER: WorkflowDefinition = function!("worker", |cx| cx.call(work()).await?);

/// Has someone else have something done.
const PARENT: WorkflowDefinition =
    function!("parent", |cx| cx.child(Workflow::<String>::new("worker", 1)).await?);

/// Has someone else wait for an event.
const PATIENT: WorkflowDefinition =
    function!("patient", |cx| cx.child(Workflow::<String>::new("waiter", 1)).await?);

/// Waits for two events, begun anew in between.
const LOOPER: WorkflowDefinition = WorkflowDefinition {
    name: "looper",
    version: 1,
    parameters: &["had"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let had: String = arguments.take("had")?;
            let mark = cx.event::<News>().await?.mark;
            if had.is_empty() {
                return cx.continue_as(Workflow::<String>::new("looper", 1).argument("had", &mark));
            }
            Ok(encode("looper", &format!("{had} {mark}"))?)
        })
    },
};

/// Waits for an event, and has been told who it is.
const KNOWN: WorkflowDefinition = WorkflowDefinition {
    name: "known",
    version: 1,
    parameters: &["who"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let _: i64 = arguments.take("who")?;
            Ok(encode("known", &cx.event::<News>().await?.mark)?)
        })
    },
};

/// Tells another.
const TELLER: WorkflowDefinition = function!("teller", |cx| {
    cx.send(News { mark: "told".to_owned() }).to("ann").await?;
});

/// Lets itself be told until an event comes.
const TALLY: WorkflowDefinition = function!("tally", |cx| {
    let sum = std::rc::Rc::new(std::cell::Cell::new(0_i64));
    let inner = std::rc::Rc::clone(&sum);
    cx.on_update(
        "add",
        |_: &i64| Ok(()),
        move |more: i64| {
            inner.set(inner.get() + more);
            Ok(inner.get())
        },
    );
    cx.event::<News>().await?;
    sum.get()
});

fn functions() -> Functions {
    [WAITER, RACER, SLEEPER, WORKER, PARENT, PATIENT, LOOPER, TELLER, TALLY, KNOWN]
        .into_iter()
        .fold(Functions::new(), Functions::workflow)
}

fn scenario(name: &'static str) -> Scenario {
    Scenario::new(name, functions())
}

/// An event to a run, known by its mark.
fn send(mark: &str, to: &str) -> Request {
    let Request::Send(mut message) = send_all(mark) else { unreachable!() };
    message.correlation = vec![("$to".into(), to.into())];
    Request::Send(message)
}

/// An event to all who wait, known by its mark.
fn send_all(mark: &str) -> Request {
    Request::Send(Message {
        id: Some(mark.into()),
        variables: vec![("mark".into(), mark.into())],
        delivery: Delivery::All,
        ..Message::new(News::NAME)
    })
}

fn cancel(id: &str) -> Request {
    Request::Cancel(id.into())
}

/// Takes every order, and says how many there were.
#[expect(clippy::print_stdout, reason = "how much was explored is of interest")]
fn every_order(scenario: &Scenario) {
    match explore(scenario) {
        Ok(all) => {
            for (conditions, explored) in all {
                println!("{}, {conditions}: {explored}", scenario.name);
                assert!(explored.orders > 1, "there is nothing to explore");
            }
        }
        Err(broken) => panic!("{}: {broken}", scenario.name),
    }
}

fn result(live: &Live) -> Option<String> {
    let found = live.result().into_iter().find(|(name, _)| &**name == "result");
    found.map(|(_, it)| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
}

/// Ended, cancelled where someone was told so, and with a result otherwise.
fn ended_as_told(world: &mut World, id: &str) -> Result<(), String> {
    let told = world.answer(|it| matches!(it, Request::Cancel(_))).cloned();
    let live = world.run(id)?;
    match (&live.state.phase, told) {
        // Where the first answer was lost, the second says that it had ended before.
        (Phase::Ended(Ending::Cancelled), Some(Answer::Cancelled(_)))
        | (Phase::Ended(Ending::Completed), Some(Answer::Cancelled(false)) | None) => Ok(()),
        (phase, told) => Err(format!("{id} is {phase:?}, and {told:?} was told")),
    }
}

/// What the journal of a run says of its operations: those done, and those that were dropped.
fn operations(world: &World) -> (Vec<u32>, Vec<u32>) {
    let (mut done, mut dropped) = (Vec::new(), Vec::new());
    for (_, event) in &world.happened {
        let Happened::Journaled { entry } = event else { continue };
        match **entry {
            JournalEntry::Done { operation, .. } => done.push(operation),
            JournalEntry::Dropped { operation } => dropped.push(operation),
            _ => {}
        }
    }
    (done, dropped)
}

#[test]
fn an_event_for_whoever_has_such_variables_finds_that_one() {
    let start = |id: &str, who: i64| {
        let (definition, arguments) = ("known".into(), vec![("who".into(), who.into())]);
        Request::Start { definition, id: id.into(), arguments }
    };
    let Request::Send(mut message) = send_all("a") else { unreachable!() };
    let wanted = Value::parse_json(r#"{"who": 2}"#).expect("it is JSON");
    message.correlation = vec![("$where".into(), wanted)];
    let it = scenario("send by variables or wait").actor([start("ann", 1)]);
    let it = it.actor([start("eve", 2)]).actor([Request::Send(message)]);
    every_order(&it.check(|world| match (result(world.run("ann")?), result(world.run("eve")?)) {
        (None, Some(mark)) if mark == "a" => Ok(()),
        other => Err(format!("they have heard {other:?}")),
    }));
}

// covers: ENGINE-68, ENGINE-25, ENGINE-35, ENGINE-60
#[test]
fn an_event_and_one_who_begins_to_wait_for_it_always_meet() {
    let it = scenario("send or wait").actor([Request::start("waiter", "ann")]);
    every_order(&it.actor([send("a", "ann")]).crashes(2));
    let it = scenario("two to send, two to wait")
        .actor([Request::start("waiter", "ann")])
        .actor([Request::start("waiter", "eve")])
        .actor([send_all("a")])
        .actor([send_all("b")]);
    every_order(&it.crashes(0));
    // One function tells another, and ends.
    let it = scenario("function to function").actor([Request::start("waiter", "ann")]);
    every_order(&it.actor([Request::start("teller", "tom")]));
}

// covers: ENGINE-69, ENGINE-26, ENGINE-27, ENGINE-41, ENGINE-67
#[test]
fn one_who_was_cancelled_never_wakes() {
    let it = scenario("sleep or cancel").actor([Request::start("sleeper", "ann")]);
    every_order(&it.actor([cancel("ann"), cancel("ann")]).check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
    // Nobody sends what is waited for, so all that is known of the wait must go with it.
    let it = scenario("wait, sleep or cancel").actor([Request::start("racer", "ann")]);
    every_order(&it.actor([cancel("ann")]).check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
}

// covers: ENGINE-70, ENGINE-27
#[test]
fn an_event_for_one_who_has_ended_is_kept_and_changes_nothing() {
    let it = scenario("complete or send").actor([Request::start("waiter", "ann")]);
    let it = it.actor([send("a", "ann")]).actor([send("b", "ann")]);
    every_order(&it.check(|world| {
        world.all_ended()?;
        let live = world.run("ann")?;
        match result(live).as_deref() {
            Some("a" | "b") => Ok(()),
            other => Err(format!("ann has heard {other:?}")),
        }
    }));
}

// covers: ENGINE-71, ENGINE-66
#[test]
fn of_an_event_and_a_time_one_wins_and_the_other_is_forgotten() {
    let it = scenario("event or time").actor([Request::start("racer", "ann")]);
    every_order(&it.actor([send("a", "ann")]).check(|world| {
        world.all_ended()?;
        let (done, dropped) = operations(world);
        let live = world.run("ann")?;
        match (result(live).as_deref(), &*done, &*dropped) {
            (Some("a"), [0], [1]) | (Some("slept"), [1], [0]) => Ok(()),
            other => Err(format!("ann says {other:?}")),
        }
    }));
}

// covers: ENGINE-65, ENGINE-69, ENGINE-71
#[test]
fn of_an_event_a_time_and_a_cancel_one_wins() {
    let it = scenario("event, time or cancel").actor([Request::start("racer", "ann")]);
    every_order(&it.actor([send("a", "ann")]).actor([cancel("ann")]).check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
}

// covers: ENGINE-27, ENGINE-64
#[test]
fn what_an_activity_brings_after_a_cancel_counts_for_nothing() {
    let it = scenario("activity or cancel").actor([Request::start("worker", "ann")]);
    every_order(&it.actor([cancel("ann")]).crashes(2).check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
    let mut it = scenario("an activity that fails at first, or cancel")
        .actor([Request::start("worker", "ann")])
        .actor([cancel("ann")]);
    it.outcome = |given| match given.number {
        1 => Err(travertine_func::Failure::new("503", "try again")),
        _ => Ok("done".into()),
    };
    every_order(&it.check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
}

// covers: ENGINE-27, ENGINE-43
#[test]
fn a_child_that_ends_and_a_parent_that_is_cancelled_agree() {
    let it = scenario("child or cancel").actor([Request::start("parent", "ann")]);
    every_order(&it.actor([cancel("ann")]).check(|world| {
        world.all_ended()?;
        ended_as_told(world, "ann")
    }));
    // A child that nobody tells anything ends with its parent.
    let it = scenario("a patient child and cancel");
    every_order(&it.actor([Request::start("patient", "ann"), cancel("ann")]));
    let it = scenario("a patient child, event or cancel");
    let it = it.actor([Request::start("patient", "ann"), cancel("ann")]).actor([send_all("a")]);
    every_order(&it);
}

/// Calls the function twice, on two shards.
const CROWD: &str = r#"<process id="crowd" isExecutable="true"><startEvent id="start"/>
  <callActivity id="each" calledElement="worker" tv:allIn="false" tv:allOut="false">
    <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
    </multiInstanceLoopCharacteristics></callActivity>
  <endEvent id="end"/> <path>start each end</path></process>"#;

// covers: ENGINE-27, ENGINE-43
#[test]
fn children_on_other_shards_and_a_caller_that_is_cancelled_agree() {
    let xml = document(CROWD);
    let read = travertine_bpmn::read(
        &[("crowd.bpmn", xml.as_bytes())],
        &travertine_bpmn::Options::default(),
    );
    let plan = std::sync::Arc::clone(&read.processes[0].plan);
    let mut it = scenario("children or cancel").actor([Request::start("crowd", "ann")]);
    it.processes = vec![("crowd".into(), plan)];
    every_order(&it.actor([cancel("ann")]).crashes(0).check(World::all_ended));
}

// Where an answer is lost in a crash the update is sent again, under its id.
#[test]
fn an_update_that_was_answered_is_part_of_the_result_once() {
    let update = |input: i64| Request::Update {
        id: "ann".into(),
        name: "add".into(),
        input: Value::from(input),
        sent_as: Some(format!("add-{input}").into()),
    };
    let it = scenario("update or complete")
        .actor([Request::start("tally", "ann"), update(1), update(10)])
        .actor([send("a", "ann")]);
    every_order(&it.check(|world| {
        world.all_ended()?;
        let mut sum = 0;
        for (request, answer) in &world.answers {
            match (request, answer) {
                (Request::Update { input, .. }, Answer::Updated(said)) => {
                    sum += input.as_i64().unwrap_or(0);
                    if said.as_i64() != Some(sum) {
                        return Err(format!("{said} was answered instead of {sum}"));
                    }
                }
                (Request::Update { .. }, Answer::Refused(why)) if why.contains("ended") => {}
                (Request::Update { .. }, other) => return Err(format!("{other:?}")),
                _ => {}
            }
        }
        let found = result(world.run("ann")?);
        if found == Some(sum.to_string()) { Ok(()) } else { Err(format!("{sum}, not {found:?}")) }
    }));
}

// covers: ENGINE-62
#[test]
fn no_event_is_lost_where_a_function_begins_anew() {
    let start = Request::Start {
        definition: "looper".into(),
        id: "ann".into(),
        arguments: vec![("had".into(), "".into())],
    };
    let it = scenario("anew or send").actor([start]).actor([send("a", "ann")]);
    every_order(&it.actor([send("b", "ann")]).check(|world| {
        world.all_ended()?;
        match result(world.run("ann")?).as_deref() {
            Some("a b" | "b a") => Ok(()),
            other => Err(format!("ann has heard {other:?}")),
        }
    }));
}

// covers: ENGINE-10
#[test]
fn two_who_start_the_same_get_the_same() {
    let it = scenario("start or start").actor([Request::start("waiter", "ann")]);
    let it = it.actor([Request::start("waiter", "ann")]).actor([Request::start("racer", "ann")]);
    every_order(&it.check(|world| {
        if world.instances.len() != 1 {
            return Err(format!("there are {:?}", world.instances));
        }
        let refused = world.answers.iter().filter(|(_, it)| matches!(it, Answer::Refused(_)));
        if refused.count() == 0 { Err("all were started".to_owned()) } else { Ok(()) }
    }));
}

#[test]
fn what_comes_while_a_run_stands_still_is_kept_for_it() {
    let it = scenario("suspend, event or time")
        .actor([
            Request::start("racer", "ann"),
            Request::Suspend("ann".into()),
            Request::Resume("ann".into()),
        ])
        .actor([send("a", "ann")]);
    every_order(&it);
}

// covers: ENGINE-68, ENGINE-72
#[test]
fn one_order_can_be_forced() {
    let it =
        scenario("forced").actor([Request::start("waiter", "ann"), send("a", "ann")]).crashes(0);
    let [plain, ..] = Conditions::all();
    // Started, sent while nobody knows that it waits, then the rest.
    let (outcome, trace) = replay(&it, &plain, &[0, 0]);
    outcome.expect("it ends well");
    assert!(trace.iter().any(|it| it.contains(&format!("{:?}", Answer::Sent(Receipt::Held)))));
    // Sent when that is known.
    let (outcome, trace) = replay(&it, &plain, &[0, 1, 0]);
    outcome.expect("it ends well");
    assert!(trace.iter().any(|it| it.contains("Sent(Received")), "{trace:#?}");
}
