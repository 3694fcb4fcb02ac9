//! Instances of many shapes, each stopped where it has something particular to keep.

use std::time::Duration;

use travertine_kernel::{Command, Decision, Event, Instance, Plan, WaitFor, handle};
use travertine_testkit::{Scenario, assignments};
use travertine_value::{Name, time::Timestamp};

/// Their names, and everything that happened to them.
pub(crate) fn all() -> Vec<(&'static str, Vec<Event>)> {
    vec![
        ("new", Vec::new()),
        ("parked", parked().events),
        ("multi-instance", multi_instance().events),
        ("sequential", sequential().events),
        ("loop", looping().events),
        ("compensation", compensation().events),
        ("transaction", transaction().events),
        ("fan-out", fan_out().events),
        ("joins", joins().events),
        ("round", round().events),
        ("events", events().events),
        ("incidents", incidents().events),
        ("posts", posts().events),
        ("status", status().events),
        ("bound", bound().events),
        ("unfinished", unfinished()),
        ("completed", completed().events),
        ("failed", failed().events),
        ("function", function()),
        ("answers", answers(false)),
        ("answers-of-ended", answers(true)),
    ]
}

fn function() -> Vec<Event> {
    let plan = Plan::function("order");
    let mut instance = Instance::default();
    let now = Timestamp::from_millis(1_700_000_000_000);
    let mut events = Vec::new();
    let key = |it: &str| -> Name { it.into() };
    let commands = [
        Command::Start { at: Vec::new(), variables: assignments(r#"{"cents": 7}"#), caller: None },
        Command::Decide {
            decisions: vec![
                Decision::Record { key: key("record rnd"), value: 7.into() },
                Decision::Ask {
                    key: key("event order.cancel"),
                    input: None,
                    on: WaitFor::Message { name: "order.cancel".into(), correlation: Vec::new() },
                },
                Decision::Ask {
                    key: key("sleep"),
                    input: None,
                    on: WaitFor::Timer { due: now.after(Duration::from_secs(1)), repeat: None },
                },
                Decision::Drop { operation: 1 },
            ],
            answers: Vec::new(),
        },
        Command::Update { name: key("add"), input: "more".into(), id: None },
        Command::Cancel,
    ];
    for command in commands {
        events.extend(
            handle(&plan, &mut instance, now, command).expect("it is asked in order").events,
        );
    }
    events
}

/// A function that has answered updates, and then ended.
fn answers(ended: bool) -> Vec<Event> {
    let plan = Plan::function("order");
    let mut instance = Instance::default();
    let now = Timestamp::from_millis(1_700_000_000_000);
    let update = |id: &str| Command::Update {
        name: "add".into(),
        input: "more".into(),
        id: Some(id.into()),
    };
    let answer = |id: &str, said: i64| vec![(id.into(), said.into())];
    let wait = Decision::Ask {
        key: "event go".into(),
        input: None,
        on: WaitFor::Message { name: "go".into(), correlation: Vec::new() },
    };
    let end = Decision::Complete { variables: assignments(r#"{"result": 9}"#) };
    let mut commands = vec![
        Command::Start { at: Vec::new(), variables: Vec::new(), caller: None },
        Command::Decide { decisions: vec![wait], answers: Vec::new() },
        update("z"),
        Command::Decide { decisions: Vec::new(), answers: answer("z", 8) },
    ];
    if ended {
        commands.push(update("a"));
        commands.push(Command::Decide { decisions: vec![end], answers: answer("a", 9) });
    }
    let handled = commands.into_iter().flat_map(|command| {
        handle(&plan, &mut instance, now, command).expect("it is asked in order").events
    });
    handled.collect()
}

fn parked() -> Scenario {
    let mut it = Scenario::process(r#"<userTask id="work" tv:assignee="ann"/> "#);
    it.start(r#"{"order": {"id": "A-1", "total": 99.95, "items": [1, 2.50, null, true]}}"#);
    it
}

fn multi_instance() -> Scenario {
    let mut it = Scenario::process(
        r#"<subProcess id="each">
             <multiInstanceLoopCharacteristics tv:collection="items" tv:elementVariable="item"
              tv:outputCollection="results" tv:outputElement="result"/>
             <userTask id="work"/> </subProcess> "#,
    );
    it.start(r#"{"items": ["a", "b", "c", "d"]}"#);
    it.complete_run("work", 2, r#"{"result": 0.1}"#);
    it.complete_run("work", 0, r#"{"result": {"x": []}}"#);
    it
}

fn sequential() -> Scenario {
    let mut it = Scenario::process(
        r#"<userTask id="each">
             <multiInstanceLoopCharacteristics isSequential="true" tv:collection="items"
              tv:elementVariable="item"/>
           </userTask> "#,
    );
    it.start(r#"{"items": [1, 2, 3]}"#);
    it.complete("each", "{}");
    it
}

fn looping() -> Scenario {
    let mut it = Scenario::process(
        r#"<userTask id="again">
             <standardLoopCharacteristics><loopCondition>true</loopCondition>
             </standardLoopCharacteristics>
           </userTask> "#,
    );
    it.start("{}");
    it.complete("again", r#"{"seen": 1}"#);
    it
}

fn undo(activity: &str) -> String {
    format!(
        r#"<boundaryEvent id="of-{activity}" attachedToRef="{activity}"><compensateEventDefinition/>
           </boundaryEvent> <userTask id="undo-{activity}" isForCompensation="true"/>
           <association id="undoing-{activity}" sourceRef="of-{activity}"
            targetRef="undo-{activity}" associationDirection="One"/>"#
    )
}

/// Of three that stay to undo one is at work, one is next, and one is of another container.
fn compensation() -> Scenario {
    let mut it = Scenario::process(&format!(
        r#"<userTask id="before"/> {} <subProcess id="sub">
             <userTask id="a"/> {} <userTask id="b"/> {}
             <intermediateThrowEvent id="back"><compensateEventDefinition/>
             </intermediateThrowEvent> <path>a b back</path>
           </subProcess> <path>before sub</path>"#,
        undo("before"),
        undo("a"),
        undo("b")
    ));
    it.start("{}");
    for task in ["before", "a", "b"] {
        it.complete(task, "{}");
    }
    assert_eq!(it.waiting(), ["undo-b"]);
    it
}

fn transaction() -> Scenario {
    let mut it = Scenario::process(&format!(
        r#"<transaction id="book">
             <userTask id="a"/> {}
             <endEvent id="give-up"><cancelEventDefinition/></endEvent> <startEvent id="in"/>
             <path>in a give-up</path>
           </transaction>
           <boundaryEvent id="cancelled" attachedToRef="book"><cancelEventDefinition/></boundaryEvent>
           <userTask id="apologise"/> <path>cancelled apologise</path>"#,
        undo("a")
    ));
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["undo-a"]);
    it
}

fn fan_out() -> Scenario {
    let mut it = Scenario::process(
        r#"<parallelGateway id="out" tv:fork="isolate"/> <userTask id="a"/>
           <userTask id="b"/> <parallelGateway id="in" tv:merge="last"/> <userTask id="after"/>
           <path>out a in after</path> <path>out b in</path>"#,
    );
    it.start(r#"{"shared": 1}"#);
    it.complete("b", r#"{"own": 2}"#);
    it
}

/// A parallel and an inclusive join, each with a token that came and one that is still to come.
fn joins() -> Scenario {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/>
           <userTask id="a"/> <userTask id="b"/> <parallelGateway id="both"/>
           <userTask id="c"/> <userTask id="d"/> <inclusiveGateway id="any"/>
           <path>fork a both all</path> <path>fork b both</path>
           <path>fork c any all</path> <userTask id="all"/> <path>fork d any</path>"#,
    );
    it.start("{}");
    it.complete("b", "{}");
    it.complete("c", "{}");
    it
}

fn round() -> Scenario {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/>
           <userTask id="b"/> <complexGateway id="join" gatewayDirection="Converging">
             <activationCondition>activationCount >= 1</activationCondition></complexGateway>
           <userTask id="after"/> <path>fork a join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["after", "b"]);
    it
}

/// Everything that can be waited for beside an activity, and an event sub-process at work.
fn events() -> Scenario {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="paid"/> <signal id="S" name="stop"/>
           <process id="p" isExecutable="true">
             <subProcess id="sub">
               <userTask id="work"/> <subProcess id="heard" triggeredByEvent="true">
                 <startEvent id="hear" isInterrupting="false"><signalEventDefinition signalRef="S"/>
                 </startEvent> <userTask id="listen"/> <endEvent id="heard-all"/>
                 <path>hear listen heard-all</path>
               </subProcess>
             </subProcess>
             <boundaryEvent id="tick" attachedToRef="sub" cancelActivity="false">
               <timerEventDefinition><timeCycle>R3/PT1H</timeCycle></timerEventDefinition>
             </boundaryEvent>
             <boundaryEvent id="holds" attachedToRef="sub"><conditionalEventDefinition>
               <condition>late == true</condition></conditionalEventDefinition></boundaryEvent>
             <boundaryEvent id="paid" attachedToRef="sub"><messageEventDefinition messageRef="M"/>
             </boundaryEvent>
             <userTask id="remind"/>
             <path>tick remind</path>
           </process>"#,
    );
    it.start(r#"{"late": false}"#);
    it.advance(3_600_000);
    it.signal("stop", "{}");
    assert_eq!(it.waiting(), ["listen", "remind", "work"]);
    it
}

fn incidents() -> Scenario {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="work"/>
           <exclusiveGateway id="choose"/> <userTask id="never"/>
           <sequenceFlow id="no" sourceRef="choose" targetRef="never">
             <conditionExpression>1 == 2</conditionExpression></sequenceFlow>
           <path>fork work</path> <path>fork choose</path>"#,
    );
    it.start("{}");
    it.fail("work", 0);
    assert_eq!(it.instance.incidents.len(), 2);
    it
}

fn posts() -> Scenario {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="paid"/> <signal id="S" name="stop"/>
           <escalation id="U" escalationCode="up"/>
           <process id="p" isExecutable="true">
             <intermediateThrowEvent id="tell"><messageEventDefinition messageRef="M"/>
             </intermediateThrowEvent>
             <intermediateThrowEvent id="shout"><signalEventDefinition signalRef="S"/>
             </intermediateThrowEvent>
             <intermediateThrowEvent id="up"><escalationEventDefinition escalationRef="U"/>
             </intermediateThrowEvent> <userTask id="work"/>
             <path>tell shout up work</path>
           </process>"#,
    );
    it.start(r#"{"amount": 1E-20}"#);
    assert!(it.instance.posts.len() > 1);
    it
}

/// Tokens with attributes: one done, one at work for the performer, one that waits for it.
fn status() -> Scenario {
    let mut it = Scenario::process(
        r#"<extensionElements><tv:status><tv:attribute name="load">1.5</tv:attribute></tv:status>
           </extensionElements>
           <adHocSubProcess id="any" ordering="Sequential">
             <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
           </adHocSubProcess> "#,
    );
    it.start("{}");
    let first = it.waiting()[0].to_owned();
    it.complete(&first, "{}");
    it
}

/// An operator has sent it inside, and it cannot get there.
fn bound() -> Scenario {
    let mut it = Scenario::process(
        r#"<userTask id="first"/> <subProcess id="sub">
             <extensionElements><tv:input target="local">base + 1</tv:input></extensionElements>
             <userTask id="a"/> <userTask id="b"/> <path>a b</path>
           </subProcess> <path>first sub</path>"#,
    );
    it.start_at("b", "{}");
    assert_eq!((it.instance.incidents.len(), it.instance.bound.len()), (1, 1));
    it
}

/// The turn was used up before all had been done.
fn unfinished() -> Vec<Event> {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/>
           <userTask id="b"/> <path>fork a</path> <path>fork b</path>"#,
    )
    .with_plan(|plan| plan.turn_steps_max = 2);
    let start = Command::Start { at: Vec::new(), variables: assignments("{}"), caller: None };
    let turn = handle(&it.plan, &mut it.instance, it.now, start).expect("it can be started");
    assert!(turn.unfinished);
    turn.events
}

fn completed() -> Scenario {
    let mut it = parked();
    it.complete("work", r#"{"done": true}"#);
    assert!(it.is_completed());
    it
}

fn failed() -> Scenario {
    let mut it = Scenario::definitions(
        r#"<error id="E" errorCode="E"/> <process id="p" isExecutable="true">
             <startEvent id="start"/> <path>start bad</path>
             <endEvent id="bad"><errorEventDefinition errorRef="E"/></endEvent></process>"#,
    )
    .with_plan(|plan| plan.policy.unhandled_error = travertine_kernel::plan::UnhandledError::Fail);
    it.start(r#"{"kept": "yes"}"#);
    assert!(it.instance.ending().is_some());
    it
}
