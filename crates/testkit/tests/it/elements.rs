//! Elements of BPMN that the requirements do not name, each as the standard says.

use travertine_kernel::{Catches, Command, Ending, Event, Post, State, WaitFor};
use travertine_testkit::Scenario;

/// The flows that join two branches of a fork at `join`, with a task in each.
const BRANCHES: &str = r#"<startEvent id="start"/> <parallelGateway id="fork"/>
    <userTask id="a"/> <userTask id="b"/> <userTask id="c"/> <userTask id="after"/>
    <endEvent id="end"/> <path>start fork a join after end</path> <path>fork b join</path> <path>fork c join</path>"#;

fn started(inside: &str) -> Scenario {
    let mut it = Scenario::process(inside);
    it.start("{}");
    it
}

fn complex(condition: &str) -> Scenario {
    started(&format!(
        r#"{BRANCHES} <complexGateway id="join" gatewayDirection="Converging">
             <activationCondition>{condition}</activationCondition></complexGateway>"#
    ))
}

#[test]
fn a_complex_gateway_goes_on_once_its_condition_holds_and_takes_the_rest_of_the_round() {
    let mut it = complex("activationCount >= 2");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["a", "c"], "one is not enough");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["after", "c"]);
    it.complete("c", "{}");
    assert_eq!(it.waiting(), ["after"], "the third token is for the same round");
    it.complete("after", "{}");
    assert!(it.is_completed());
    assert_eq!(it.visits("after"), 1);
}

#[test]
fn a_complex_gateway_begins_a_new_round_when_the_last_one_is_over() {
    let again = r#"<exclusiveGateway id="back"/> <exclusiveGateway id="more" default="done"/>
        <sequenceFlow id="again" sourceRef="more" targetRef="back">
          <conditionExpression>again</conditionExpression></sequenceFlow>
        <endEvent id="end"/> <sequenceFlow id="done" sourceRef="more" targetRef="end"/>"#;
    let mut it = started(&format!(
        r#"<startEvent id="start"/> <parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
           <complexGateway id="join" gatewayDirection="Converging">
             <activationCondition>activationCount >= 1</activationCondition></complexGateway>
           <userTask id="after"/> {again}
           <path>start back fork a join after more</path> <path>fork b join</path>"#
    ));
    for again in [true, false] {
        it.complete("a", "{}");
        assert_eq!(it.waiting(), ["after", "b"]);
        it.complete("b", "{}");
        assert_eq!(it.waiting(), ["after"]);
        it.complete("after", &format!(r#"{{"again": {again}}}"#));
    }
    assert!(it.is_completed());
    assert_eq!(it.visits("after"), 2);
}

#[test]
fn an_activity_gives_and_takes_as_many_tokens_as_it_says() {
    let mut it = started(
        r#"<startEvent id="start"/> <task id="give" completionQuantity="3"/> <userTask id="each"/>
           <userTask id="take" startQuantity="2"/> <endEvent id="end"/>
           <path>start give each take end</path>"#,
    );
    assert_eq!(it.waiting(), ["each", "each", "each"]);
    it.complete("each", "{}");
    assert_eq!(it.waiting(), ["each", "each"], "one token does not begin it");
    it.complete("each", "{}");
    assert_eq!(it.waiting(), ["each", "take"]);
    it.complete("each", "{}");
    it.complete("take", "{}");
    assert_eq!(it.state("take"), Some(State::Waiting), "the third waits for a fourth");
    assert!(!it.is_completed());
}

fn runs_that_tell(behavior: &str, more: &str) -> Scenario {
    Scenario::definitions(&format!(
        r#"<signal id="S" name="S"/> <signalEventDefinition id="tell" signalRef="S"/>
           <process id="p" isExecutable="true">
             <startEvent id="start"/> <userTask id="work"><multiInstanceLoopCharacteristics {behavior}>
               <loopCardinality>3</loopCardinality>{more}</multiInstanceLoopCharacteristics></userTask>
             <boundaryEvent id="heard" attachedToRef="work"><signalEventDefinition signalRef="S"/>
             </boundaryEvent>
             <task id="note"/> <endEvent id="end"/>
             <path>start work end</path> <path>heard note noted</path> <endEvent id="noted"/>
           </process>"#
    ))
}

#[test]
fn runs_tell_of_their_end_as_the_behavior_says_and_none_is_interrupted() {
    let complex = r#"<complexBehaviorDefinition><condition>loopCounter == 1</condition>
        <event id="told"><signalEventDefinition signalRef="S"/></event>
        </complexBehaviorDefinition>"#;
    for (behavior, more, told) in [
        (r#"behavior="None" noneBehaviorEventRef="tell""#, "", 3),
        (r#"behavior="One" oneBehaviorEventRef="tell""#, "", 1),
        (r#"behavior="Complex""#, complex, 1),
        (r#"behavior="All""#, "", 0),
    ] {
        let mut it = runs_that_tell(behavior, more);
        it.start("{}");
        for _ in 0..3 {
            it.complete("work", "{}");
        }
        assert!(it.is_completed(), "{behavior}");
        assert_eq!(it.visits("note"), told, "{behavior}");
        assert_eq!(it.visits("end"), 1, "{behavior}");
    }
}

#[test]
fn who_is_on_the_way_to_a_signal_hears_it() {
    // The branch that throws comes first, the one that catches has more nodes to pass.
    let mut it = Scenario::definitions(
        r#"<signal id="S" name="S"/> <process id="p" isExecutable="true">
             <startEvent id="start"/> <parallelGateway id="fork"/>
             <intermediateThrowEvent id="throw"><signalEventDefinition signalRef="S"/>
             </intermediateThrowEvent>
             <task id="t1"/> <task id="t2"/> <task id="t3"/>
             <intermediateCatchEvent id="catch"><signalEventDefinition signalRef="S"/>
             </intermediateCatchEvent> <endEvent id="end"/>
             <path>start fork throw end</path> <path>fork t1 t2 t3 catch end</path>
           </process>"#,
    );
    it.start("{}");
    assert!(it.is_completed(), "{}", it.tree());
}

#[test]
fn a_signal_that_ends_the_scope_of_its_thrower_keeps_it_from_going_on() {
    let mut it = Scenario::definitions(
        r#"<signal id="S" name="S"/> <process id="p" isExecutable="true">
             <startEvent id="start"/>
             <subProcess id="sub"> <startEvent id="in"/>
               <intermediateThrowEvent id="throw"><signalEventDefinition signalRef="S"/>
               </intermediateThrowEvent> <userTask id="never"/> <endEvent id="in-end"/>
               <path>in throw never in-end</path>
             </subProcess>
             <boundaryEvent id="out" attachedToRef="sub"><signalEventDefinition signalRef="S"/>
             </boundaryEvent> <userTask id="rest"/> <endEvent id="end"/>
             <path>start sub end</path> <path>out rest end</path>
           </process>"#,
    );
    it.start("{}");
    assert_eq!(it.waiting(), ["rest"]);
    assert_eq!(it.visits("throw"), 0, "it was taken away while it threw");
}

#[test]
fn several_events_need_one_of_them_or_all_as_they_are_drawn() {
    for (parallel, after_first) in [(false, vec!["after"]), (true, vec!["catch"])] {
        let mut it = Scenario::definitions(&format!(
            r#"<signal id="S" name="S"/> <message id="M" name="M"/>
               <process id="p" isExecutable="true"> <startEvent id="start"/>
                 <intermediateCatchEvent id="catch" parallelMultiple="{parallel}">
                   <signalEventDefinition signalRef="S"/> <messageEventDefinition messageRef="M"/>
                 </intermediateCatchEvent> <userTask id="after"/>
                 <endEvent id="end"/> <path>start catch after end</path>
               </process>"#
        ));
        it.start("{}");
        it.message("M", "{}");
        assert_eq!(it.waiting(), after_first, "parallel: {parallel}");
        if parallel {
            it.signal("S", "{}");
            assert_eq!(it.waiting(), ["after"]);
        }
    }
}

#[test]
fn a_cancelled_transaction_undoes_what_it_did_before_its_boundary_event_happens() {
    let mut it = started(
        r#"<startEvent id="start"/>
           <transaction id="booking"> <startEvent id="in"/> <userTask id="hotel"/>
             <boundaryEvent id="of-hotel" attachedToRef="hotel"><compensateEventDefinition/>
             </boundaryEvent> <userTask id="undo-hotel" isForCompensation="true"/>
             <association id="undoing" sourceRef="of-hotel" targetRef="undo-hotel"
              associationDirection="One"/>
             <userTask id="pay"/> <endEvent id="no"><cancelEventDefinition/></endEvent>
             <path>in hotel pay no</path>
           </transaction>
           <boundaryEvent id="cancelled" attachedToRef="booking"><cancelEventDefinition/>
           </boundaryEvent>
           <userTask id="sorry"/> <userTask id="booked"/> <endEvent id="end"/>
           <path>start booking booked end</path> <path>cancelled sorry end</path>"#,
    );
    it.complete("hotel", "{}");
    it.complete("pay", "{}");
    assert_eq!(it.waiting(), ["undo-hotel"]);
    assert_eq!(it.state("booking"), Some(State::Failing));
    it.complete("undo-hotel", "{}");
    assert_eq!(it.waiting(), ["sorry"]);
}

#[test]
fn a_condition_at_the_boundary_sees_what_the_activity_sees() {
    let mut it = started(
        r#"<startEvent id="start"/>
           <userTask id="work"><extensionElements><tv:input target="level">3</tv:input>
             </extensionElements></userTask>
           <boundaryEvent id="high" attachedToRef="work"><conditionalEventDefinition>
             <condition>level > limit</condition></conditionalEventDefinition></boundaryEvent>
           <userTask id="alarm"/> <endEvent id="end"/>
           <path>start work end</path> <path>high alarm end</path>"#,
    );
    assert_eq!(it.waiting(), ["work"], "nobody knows the limit yet");
    it.set(r#"{"limit": 5}"#);
    assert_eq!(it.waiting(), ["work"]);
    it.set(r#"{"limit": 2}"#);
    assert_eq!(it.waiting(), ["alarm"]);
}

#[test]
fn compensation_runs_in_turn_and_in_camunda_models_all_at_once() {
    let camunda = r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:versionTag="1""#;
    for (dialect, undone) in [("", vec!["undo-b"]), (camunda, vec!["undo-a", "undo-b"])] {
        let step = |id: &str| {
            format!(
                r#"<task id="{id}"/> <boundaryEvent id="of-{id}" attachedToRef="{id}">
                     <compensateEventDefinition/></boundaryEvent>
                   <userTask id="undo-{id}" isForCompensation="true"/>
                   <association id="undoing-{id}" sourceRef="of-{id}" targetRef="undo-{id}"
                    associationDirection="One"/>"#
            )
        };
        let mut it = Scenario::definitions(&format!(
            r#"<process id="p" isExecutable="true" {dialect}> <startEvent id="start"/> {} {}
                 <intermediateThrowEvent id="undo"><compensateEventDefinition/>
                 </intermediateThrowEvent> <userTask id="after"/> <endEvent id="end"/>
                 <path>start a b undo after end</path></process>"#,
            step("a"),
            step("b")
        ));
        it.start("{}");
        assert_eq!(it.waiting(), undone);
        it.complete("undo-b", "{}");
        it.complete("undo-a", "{}");
        assert_eq!(it.waiting(), ["after"]);
    }
}

#[test]
fn the_handler_of_the_very_error_comes_before_the_one_of_any() {
    // The catch-all is drawn first, at the boundary and in the event sub-processes alike.
    let event = |id: &str, code: &str| {
        format!(
            r#"<subProcess id="{id}" triggeredByEvent="true"><startEvent id="{id}-start">
                 <errorEventDefinition {code}/></startEvent> <userTask id="{id}-work"/>
                 <endEvent id="{id}-end"/> <path>{id}-start {id}-work {id}-end</path></subProcess>"#
        )
    };
    let boundary = |id: &str, code: &str| {
        format!(
            r#"<boundaryEvent id="{id}-at" attachedToRef="work"><errorEventDefinition {code}/>
               </boundaryEvent> <userTask id="{id}-work"/> <path>{id}-at {id}-work end</path>"#
        )
    };
    let exact = r#"errorRef="E""#;
    let drawn = [
        boundary("any", "") + &boundary("exact", exact),
        event("any", "") + &event("exact", exact),
    ];
    for handlers in drawn {
        let mut it = Scenario::definitions(&format!(
            r#"<error id="E" errorCode="E"/> <process id="p" isExecutable="true">
                 <startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/> {handlers}
                 <path>start work end</path>
               </process>"#
        ));
        it.start("{}");
        it.raise("work", "E");
        assert_eq!(it.waiting(), ["exact-work"]);
        let mut it = it.again();
        it.start("{}");
        it.raise("work", "other");
        assert_eq!(it.waiting(), ["any-work"]);
    }
}

#[test]
fn an_event_with_several_codes_catches_each_of_them() {
    let model = |kind: &str, reference: &str| {
        format!(
            r#"<error id="A" errorCode="A"/> <error id="B" errorCode="B"/>
               <escalation id="U" escalationCode="A"/> <escalation id="V" escalationCode="B"/>
               <process id="p" isExecutable="true">
                 <startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/>
                 <boundaryEvent id="caught" attachedToRef="work">
                   <{kind}EventDefinition {kind}Ref="{}" tv:codeVariable="first"/>
                   <{kind}EventDefinition {kind}Ref="{}" tv:codeVariable="second"/>
                 </boundaryEvent>
                 <userTask id="repair"/> <path>start work end</path> <path>caught repair end</path>
               </process>"#,
            &reference[..1],
            &reference[1..]
        )
    };
    let raise = |it: &mut Scenario, kind: &str, code: &str| match kind {
        "error" => it.raise("work", code),
        _ => it.escalate("work", code),
    };
    for (kind, reference) in [("error", "AB"), ("escalation", "UV")] {
        let fresh = Scenario::definitions(&model(kind, reference));
        for (code, variables) in [("A", r#"{"first":"A"}"#), ("B", r#"{"second":"B"}"#)] {
            let mut it = fresh.again();
            it.start("{}");
            raise(&mut it, kind, code);
            assert_eq!(it.waiting(), ["repair"], "{kind} {code}");
            assert_eq!(it.variables(), variables);
        }
        let mut it = fresh.again();
        it.start("{}");
        raise(&mut it, kind, "C");
        assert_ne!(it.waiting(), ["repair"], "{kind} C is none of them");
    }
}

#[test]
fn an_inclusive_join_waits_for_who_can_still_come_by_a_boundary_event() {
    let mut it = Scenario::definitions(
        r#"<signal id="S" name="S"/> <process id="p" isExecutable="true">
             <startEvent id="start"/> <inclusiveGateway id="fork"/> <userTask id="a"/>
             <userTask id="b"/> <inclusiveGateway id="join"/> <userTask id="after"/>
             <endEvent id="end"/>
             <boundaryEvent id="late" attachedToRef="a"><signalEventDefinition signalRef="S"/>
             </boundaryEvent>
             <path>start fork a end</path> <path>fork b join after end</path> <path>late join</path>
           </process>"#,
    );
    it.start("{}");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["a"], "the boundary event of a can still happen");
    let mut other = it.again();
    it.signal("S", "{}");
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.visits("join"), 1);

    other.start("{}");
    other.complete("b", "{}");
    other.complete("a", "{}");
    assert_eq!(other.waiting(), ["after"], "now it cannot");
}

#[test]
fn a_call_whose_error_nobody_caught_is_made_again_when_it_is_retried() {
    let mut it = started(
        r#"<startEvent id="start"/> <callActivity id="call" calledElement="other"/>
           <endEvent id="end"/> <path>start call end</path>"#,
    );
    let first = it.waits_at("call");
    it.raise("call", "E");
    assert!(it.incident("call").is_some());
    it.retry("call");
    let second = it.waits_at("call");
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(first, second, "another instance is asked for");
    it.complete("call", r#"{"done": true}"#);
    assert!(it.is_completed());
}

#[test]
fn an_error_of_what_was_called_is_caught_though_it_made_nothing_to_map() {
    let mut it = Scenario::definitions(
        r#"<process id="p" isExecutable="true"> <startEvent id="start"/>
             <callActivity id="call" calledElement="other"><extensionElements>
               <tv:output target="parcel">number</tv:output></extensionElements></callActivity>
             <boundaryEvent id="failed" attachedToRef="call"><errorEventDefinition/></boundaryEvent>
             <userTask id="repair"/> <endEvent id="end"/>
             <path>start call end</path> <path>failed repair end</path></process>"#,
    );
    it.start("{}");
    it.raise("call", "E");
    assert_eq!(it.waiting(), ["repair"]);
    assert!(!it.events.iter().any(|it| matches!(it, Event::IncidentRaised { .. })));
}

#[test]
fn who_raises_an_escalation_that_ends_the_call_goes_no_further() {
    let model = r#"<escalation id="U" escalationCode="U"/> <process id="p" isExecutable="true">
        <startEvent id="start"/> <intermediateThrowEvent id="throw">
          <escalationEventDefinition escalationRef="U"/></intermediateThrowEvent>
        <userTask id="next"/> <endEvent id="end"/> <path>start throw next end</path></process>"#;
    let by = |code: &str| Catches { ended_by: vec![code.into()], ..Catches::default() };
    let by_all = Catches { ended_by_all: true, ..Catches::default() };
    for (code, caller, waits) in
        [("U", by("U"), "throw"), ("other", by("other"), "next"), ("any", by_all, "throw")]
    {
        let mut it = Scenario::definitions(model);
        let caller = Some(caller);
        it.ask(Command::Start { at: Vec::new(), variables: Vec::new(), caller })
            .expect("it is new");
        assert_eq!(it.waiting(), [waits], "the caller ends it for {code}");
        assert_eq!(it.instance.posts.len(), usize::from(code == "other"), "it is told either way");
    }
}

#[test]
fn each_run_is_undone_in_camunda_models_but_not_before_all_are_complete() {
    let model = |throw: &str| {
        format!(
            r#"<process id="p" isExecutable="true" camunda:versionTag="1"
                xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
                 <startEvent id="start"/> <parallelGateway id="fork"/>
                 <userTask id="work"><multiInstanceLoopCharacteristics>
                   <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></userTask>
                 <boundaryEvent id="of-work" attachedToRef="work"><compensateEventDefinition/>
                 </boundaryEvent> <userTask id="undo" isForCompensation="true"/>
                 <association id="undoing" sourceRef="of-work" targetRef="undo"
                  associationDirection="One"/>
                 <userTask id="beside"/> <parallelGateway id="join"/> <userTask id="after"/>
                 <intermediateThrowEvent id="throw"><compensateEventDefinition activityRef="work"/>
                 </intermediateThrowEvent> <endEvent id="end"/> {throw} <path>start fork</path>
               </process>"#
        )
    };
    let late = model("<path>fork work join throw after end</path> <path>fork beside join</path>");
    let mut it = Scenario::definitions(&late);
    it.start("{}");
    it.complete("beside", "{}");
    it.complete("work", "{}");
    it.complete("work", "{}");
    assert_eq!(it.waiting(), ["undo", "undo"]);
    it.complete("undo", "{}");
    it.complete("undo", "{}");
    assert_eq!(it.waiting(), ["after"]);

    let early = model("<path>fork work join after end</path> <path>fork beside throw join</path>");
    let mut it = Scenario::definitions(&early);
    it.start("{}");
    it.complete("work", "{}");
    it.complete("beside", "{}");
    assert_eq!(it.waiting(), ["work"], "there is nothing to undo yet");
    it.complete("work", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

fn every_hour(cron: &str) -> String {
    format!("<timerEventDefinition><timeCycle>{cron}</timeCycle></timerEventDefinition>")
}

#[test]
fn a_cron_expression_beside_an_activity_fires_again_and_again() {
    let hourly = every_hour("0 0 * * * *");
    let mut it = started(&format!(
        r#"<startEvent id="start"/> <userTask id="a"/> <endEvent id="end"/>
           <boundaryEvent id="remind" attachedToRef="a" cancelActivity="false">{hourly}</boundaryEvent>
           <userTask id="reminder"/> <path>start a end</path> <path>remind reminder</path>"#
    ));
    it.advance(3 * 3_600_000);
    assert_eq!(it.waiting(), ["a", "reminder", "reminder", "reminder"]);
    it.complete("a", "{}");
    assert_eq!(it.armed(), ["reminder", "reminder", "reminder"], "nothing is left to remind of");
}

#[test]
fn a_cron_expression_starts_an_event_sub_process_again_and_again() {
    let every_other = every_hour("0 0/30 * * * ?");
    let mut it = started(&format!(
        r#"<startEvent id="start"/> <userTask id="a"/> <endEvent id="end"/> <path>start a end</path>
           <subProcess id="event" triggeredByEvent="true">
             <startEvent id="tick" isInterrupting="false">{every_other}</startEvent>
             <userTask id="b"/> <path>tick b</path></subProcess>"#
    ));
    it.advance(3_600_000);
    assert_eq!(it.waiting(), ["a", "b", "b"]);
}

#[test]
fn an_interrupting_cron_expression_fires_once() {
    let hourly = every_hour("@hourly");
    let mut it = started(&format!(
        r#"<startEvent id="start"/> <userTask id="a"/> <endEvent id="end"/> <userTask id="late"/>
           <boundaryEvent id="timeout" attachedToRef="a">{hourly}</boundaryEvent>
           <path>start a end</path> <path>timeout late</path>"#
    ));
    it.advance(5 * 3_600_000);
    assert_eq!(it.armed(), ["late"]);
}

#[test]
fn a_cron_expression_can_come_from_a_variable_and_be_wrong_there() {
    let text = every_hour("${every}");
    let mut it = Scenario::process(&format!(
        r#"<startEvent id="start"/> <intermediateCatchEvent id="wait">{text}</intermediateCatchEvent>
           <endEvent id="end"/> <path>start wait end</path>"#
    ));
    it.start(r#"{"every": "0 61 * * * *"}"#);
    let failure = it.incident("wait").unwrap();
    assert!(failure.message.contains("'61' is no minute (0 to 59)"), "{}", failure.message);
    it.set(r#"{"every": "0 59 * * * *"}"#);
    it.retry("wait");
    assert_eq!(it.armed(), ["wait"]);
}

/// A task with a condition beside it that does not end it, and leads to another task.
fn watched(definition: &str) -> String {
    format!(
        r#"<process id="p" isExecutable="true" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"
             xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
           <startEvent id="start"/> <userTask id="task"/> <endEvent id="end"/>
           <boundaryEvent id="event" attachedToRef="task" cancelActivity="false">{definition}</boundaryEvent>
           <userTask id="seen"/> <path>start task end</path> <path>event seen</path></process>"#
    )
}

#[test]
fn conditions_are_looked_at_on_the_changes_that_they_name() {
    for definition in [
        r#"<conditionalEventDefinition tv:variables="x" tv:changes="update">
             <condition>${y > 0}</condition></conditionalEventDefinition>"#,
        r#"<conditionalEventDefinition camunda:variableName="x" camunda:variableEvents="update">
             <condition>${y > 0}</condition></conditionalEventDefinition>"#,
        r#"<conditionalEventDefinition><extensionElements>
             <zeebe:conditionalFilter variableNames="x" variableEvents="update"/></extensionElements>
             <condition>= y &gt; 0</condition></conditionalEventDefinition>"#,
    ] {
        let mut it = Scenario::definitions(&watched(definition));
        it.start(r#"{"y": 0}"#);
        it.set(r#"{"y": 1}"#);
        assert_eq!(it.waiting(), ["task"], "y is not looked at");
        it.set(r#"{"x": 1}"#);
        assert_eq!(it.waiting(), ["task"], "x is new");
        it.set(r#"{"x": 2}"#);
        assert_eq!(it.waiting(), ["seen", "task"]);
    }
}

#[test]
fn a_condition_can_be_looked_at_when_a_variable_is_gone() {
    let definition = |changes: &str| {
        format!(
            r#"<conditionalEventDefinition tv:variables="x" tv:changes="{changes}">
               <condition>${{y > 0}}</condition></conditionalEventDefinition>"#
        )
    };
    for (changes, waiting) in [("delete", &["seen", "task"][..]), ("create update", &["task"][..])]
    {
        let more = r#"<parallelGateway id="fork"/> <userTask id="first"/>
            <scriptTask id="s" scriptFormat="javascript">
              <script>_context.y = 1; delete _context.x</script></scriptTask>
            <path>fork first s end</path></process>"#;
        let model = watched(&definition(changes)).replace("</process>", more);
        let mut it = Scenario::definitions(&model.replace("start task", "start fork task"));
        it.start(r#"{"x": 1, "y": 0}"#);
        it.complete("first", "{}");
        assert_eq!(it.waiting(), waiting, "{changes}");
    }
}

/// Two messages that start an instance behind a gateway, and what joins them.
fn begun_by_messages(kind: &str, join: &str) -> Scenario {
    let event = |id: &str| {
        format!(
            r#"<intermediateCatchEvent id="{id}"><messageEventDefinition messageRef="m-{id}"/>
               </intermediateCatchEvent>"#
        )
    };
    let message = |id: &str| {
        format!(
            r#"<message id="m-{id}" name="{id}"><extensionElements>
               <tv:correlation name="order">order</tv:correlation></extensionElements></message>"#
        )
    };
    Scenario::definitions(&format!(
        r#"{}{}<process id="p" isExecutable="true">
             <eventBasedGateway id="begin" instantiate="true" eventGatewayType="{kind}"/>
             {}{} <{join} id="join"/> <userTask id="after"/> <endEvent id="end"/>
             <path>begin paid join after end</path> <path>begin packed join</path></process>"#,
        message("paid"),
        message("packed"),
        event("paid"),
        event("packed"),
    ))
}

#[test]
fn an_instance_begun_by_several_events_waits_for_those_that_are_missing() {
    for (first, second) in [("paid", "packed"), ("packed", "paid")] {
        let mut it = begun_by_messages("Parallel", "parallelGateway");
        it.start_at(first, r#"{"order": 7}"#);
        assert_eq!(it.waiting(), [second]);
        let wait = it.instance.waits.values().next().unwrap();
        let WaitFor::Message { name, correlation } = &*wait.on else { panic!() };
        assert_eq!(&**name, second);
        assert_eq!(correlation[..], [("order".into(), 7_i64.into())], "it is for this order");
        it.message(second, "{}");
        assert_eq!(it.waiting(), ["after"]);
        it.complete("after", "{}");
        assert!(it.is_completed());
    }
}

#[test]
fn an_instance_begun_by_one_of_several_events_waits_for_no_other() {
    let mut it = begun_by_messages("Exclusive", "exclusiveGateway");
    it.start_at("packed", r#"{"order": 7}"#);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_receive_task_that_instantiates_starts_an_instance() {
    let mut it = Scenario::definitions(
        r#"<message id="m" name="order"/><process id="p" isExecutable="true">
             <receiveTask id="receive" instantiate="true" messageRef="m"/> <userTask id="after"/>
             <endEvent id="end"/> <path>receive after end</path></process>"#,
    );
    it.start_at("receive", r#"{"x": 1}"#);
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.variables(), r#"{"x":1}"#);
}

#[test]
fn a_timer_beside_several_runs_is_armed_once_for_all_of_them() {
    let mut it = started(
        r#"<startEvent id="start"/> <userTask id="lap"><multiInstanceLoopCharacteristics
             isSequential="true"><loopCardinality>3</loopCardinality>
             </multiInstanceLoopCharacteristics></userTask>
           <boundaryEvent id="late" attachedToRef="lap" cancelActivity="false">
             <timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition>
           </boundaryEvent> <task id="note"/> <endEvent id="noted"/> <endEvent id="end"/>
           <path>start lap end</path> <path>late note noted</path>"#,
    );
    it.advance(1000);
    it.complete("lap", "{}");
    assert_eq!(it.armed(), ["lap"], "it has happened");
    it.advance(1000);
    assert_eq!(it.visits("note"), 1);
}

#[test]
fn work_that_breaks_is_for_an_operator_and_not_for_the_model() {
    let mut it = started(
        r#"<startEvent id="start"/> <serviceTask id="work"/> <endEvent id="end"/>
           <boundaryEvent id="any" attachedToRef="work"><errorEventDefinition/></boundaryEvent>
           <userTask id="repair"/> <path>start work end</path> <path>any repair end</path>"#,
    );
    it.fail("work", 0);
    assert!(it.incident("work").is_some());
    it.retry("work");
    it.complete("work", "{}");
    assert!(it.is_completed());
}

#[test]
fn a_call_brings_back_everything_unless_its_outputs_are_named() {
    let call = |attribute: &str, output: &str| {
        let mut it = started(&format!(
            r#"<startEvent id="start"/> <callActivity id="call" calledElement="other" {attribute}>
                 <extensionElements>{output}</extensionElements></callActivity> <endEvent id="end"/>
               <path>start call end</path>"#
        ));
        it.complete("call", r#"{"a": 1, "b": 2}"#);
        it.variables()
    };
    let output = r#"<tv:output target="c">a + b</tv:output>"#;
    assert_eq!(call("", ""), r#"{"a":1,"b":2}"#);
    assert_eq!(call("", output), r#"{"c":3}"#);
    assert_eq!(call(r#"tv:allOut="true""#, output), r#"{"a":1,"b":2,"c":3}"#);
}

#[test]
fn an_inclusive_join_does_not_wait_for_who_can_come_by_a_flow_that_has_a_token() {
    // A token before the join, in a loop that leads to both of its flows, is no reason to wait.
    let mut it = started(
        r#"<startEvent id="start"/> <parallelGateway id="fork"/> <userTask id="a"/>
           <exclusiveGateway id="merge"/> <userTask id="b"/>
           <exclusiveGateway id="which" default="which-join"/> <userTask id="c"/>
           <inclusiveGateway id="join"/> <userTask id="after"/> <endEvent id="end"/>
           <path>start fork a join after end</path> <path>fork b merge which join</path>
           <sequenceFlow id="to-c" sourceRef="which" targetRef="c">
             <conditionExpression>false</conditionExpression></sequenceFlow>
           <path>c join</path>"#,
    );
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"], "it can come by a flow that has no token yet");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
    let mut it = started(
        r#"<startEvent id="start"/> <parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
           <exclusiveGateway id="which" default="which-left"/> <task id="left"/> <task id="right"/>
           <inclusiveGateway id="join"/> <userTask id="after"/> <endEvent id="end"/>
           <path>start fork a which left join after end</path> <path>fork b which</path>
           <sequenceFlow id="to-right" sourceRef="which" targetRef="right">
             <conditionExpression>right</conditionExpression></sequenceFlow>
           <path>right join</path>"#,
    );
    it.complete("a", r#"{"right": false}"#);
    assert_eq!(it.waiting(), ["after", "b"], "who is at b could come by the same flow");
    it.complete("after", "{}");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_undoes_is_not_undone_itself() {
    let it = started(
        r#"<startEvent id="start"/> <task id="work"/>
           <boundaryEvent id="of-work" attachedToRef="work"><compensateEventDefinition/>
           </boundaryEvent>
           <subProcess id="undo" isForCompensation="true"> <startEvent id="in"/> <task id="inner"/>
             <boundaryEvent id="of-inner" attachedToRef="inner"><compensateEventDefinition/>
             </boundaryEvent> <userTask id="undo-inner" isForCompensation="true"/>
             <association id="undoing-inner" sourceRef="of-inner" targetRef="undo-inner"
              associationDirection="One"/>
             <endEvent id="out"/> <path>in inner out</path></subProcess>
           <association id="undoing" sourceRef="of-work" targetRef="undo"
            associationDirection="One"/>
           <intermediateThrowEvent id="back"><compensateEventDefinition/></intermediateThrowEvent>
           <intermediateThrowEvent id="again"><compensateEventDefinition/></intermediateThrowEvent>
           <endEvent id="end"/> <path>start work back again end</path>"#,
    );
    assert!(it.is_completed(), "{}", it.tree());
    assert_eq!((it.visits("inner"), it.visits("undo-inner")), (1, 0));
}

#[test]
fn a_cycle_at_a_catch_event_goes_on_again_and_again() {
    let mut it = started(
        r#"<startEvent id="start"/> <intermediateCatchEvent id="tick"><timerEventDefinition>
             <timeCycle>R3/PT1S</timeCycle></timerEventDefinition></intermediateCatchEvent>
           <task id="note"/> <endEvent id="end"/> <path>start tick note end</path>"#,
    );
    it.advance(2000);
    assert_eq!(it.visits("note"), 2);
    it.advance(9000);
    assert_eq!(it.visits("note"), 3);
    assert!(it.is_completed());
}

#[test]
fn what_two_throw_events_would_undo_is_undone_once_and_in_order() {
    let undoable = |id: &str| {
        format!(
            r#"<task id="{id}"/> <boundaryEvent id="of-{id}" attachedToRef="{id}">
                 <compensateEventDefinition/></boundaryEvent>
               <userTask id="undo-{id}" isForCompensation="true"/>
               <association id="undoing-{id}" sourceRef="of-{id}" targetRef="undo-{id}"
                associationDirection="One"/>"#
        )
    };
    let throw = |id: &str| {
        format!(
            r#"<intermediateThrowEvent id="{id}"><compensateEventDefinition/>
               </intermediateThrowEvent>"#
        )
    };
    let mut it = started(&format!(
        r#"<startEvent id="start"/> {}{} <parallelGateway id="fork"/> {}{} <userTask id="x"/>
           <userTask id="y"/> <endEvent id="end"/>
           <path>start a b fork one x end</path> <path>fork two y end</path>"#,
        undoable("a"),
        undoable("b"),
        throw("one"),
        throw("two"),
    ));
    assert_eq!(it.waiting(), ["undo-b", "y"], "the second finds nothing left to undo");
    it.complete("undo-b", "{}");
    assert_eq!(it.waiting(), ["undo-a", "y"]);
    it.complete("undo-a", "{}");
    assert_eq!(it.waiting(), ["x", "y"]);
    it.complete("x", "{}");
    it.complete("y", "{}");
    assert!(it.is_completed());
}

#[test]
fn a_call_says_what_is_caught_anywhere_around_it() {
    let mut it = Scenario::definitions(
        r#"<error id="E" errorCode="E"/> <error id="F" errorCode="F"/>
           <escalation id="U" escalationCode="U"/> <process id="p" isExecutable="true">
             <startEvent id="start"/>
             <subProcess id="sub"> <callActivity id="call" calledElement="other"/>
               <boundaryEvent id="near" attachedToRef="call"><errorEventDefinition errorRef="E"/>
               </boundaryEvent> <task id="repair"/> <path>near repair</path></subProcess>
             <boundaryEvent id="far" attachedToRef="sub"><errorEventDefinition errorRef="F"/>
             </boundaryEvent>
             <boundaryEvent id="told" attachedToRef="sub"><escalationEventDefinition
              escalationRef="U"/></boundaryEvent>
             <endEvent id="end"/> <path>start sub end</path> <path>far end</path>
             <path>told end</path></process>"#,
    );
    it.start("{}");
    let wait = it.waits_at("call")[0];
    let WaitFor::Child { catches, .. } = &*it.instance.waits[&wait].on else { panic!() };
    let expected = Catches {
        codes: vec!["E".into(), "F".into()],
        ended_by: vec!["U".into()],
        ..Catches::default()
    };
    assert_eq!(*catches, expected);
    it.raise("call", "F");
    assert!(it.is_completed());
}

#[test]
fn an_error_without_a_code_has_its_id_for_one() {
    let model = r#"<error id="E"/> <process id="p" isExecutable="true">
        <startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/>
        <boundaryEvent id="caught" attachedToRef="work"><errorEventDefinition errorRef="E"/>
        </boundaryEvent> <userTask id="repair"/>
        <path>start work end</path> <path>caught repair end</path></process>"#;
    for (code, waits) in [("E", "repair"), ("other", "work")] {
        let mut it = Scenario::definitions(model);
        it.start("{}");
        it.raise("work", code);
        assert_eq!(it.waiting(), [waits], "{code}");
    }
}

#[test]
fn what_isolated_branches_did_can_be_undone_after_they_are_one_again() {
    let undoable = |id: &str| {
        format!(
            r#"<userTask id="{id}"/> <boundaryEvent id="of-{id}" attachedToRef="{id}">
                 <compensateEventDefinition/></boundaryEvent>
               <userTask id="undo-{id}" isForCompensation="true"/>
               <association id="undoing-{id}" sourceRef="of-{id}" targetRef="undo-{id}"
                associationDirection="One"/>"#
        )
    };
    let mut it = started(&format!(
        r#"<startEvent id="start"/> <parallelGateway id="out" tv:fork="isolate"/> {}{}
           <parallelGateway id="in" tv:merge="last"/>
           <intermediateThrowEvent id="back"><compensateEventDefinition/></intermediateThrowEvent>
           <endEvent id="end"/> <path>start out a in back end</path> <path>out b in</path>"#,
        undoable("a"),
        undoable("b"),
    ));
    it.complete("b", "{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["undo-a"], "the one that was done last");
    it.complete("undo-a", "{}");
    it.complete("undo-b", "{}");
    assert!(it.is_completed());
}

fn transactions(boundary: &str) -> Scenario {
    let mut it = Scenario::process(&format!(
        r#"<transaction id="t"> <startEvent id="begin"/> <userTask id="try"/> <userTask id="more"/>
             <exclusiveGateway id="which" default="go"/>
             <sequenceFlow id="go" sourceRef="which" targetRef="more"/>
             <sequenceFlow id="stop" sourceRef="which" targetRef="cancel">
               <conditionExpression>bad</conditionExpression></sequenceFlow>
             <endEvent id="cancel"><cancelEventDefinition/></endEvent> <path>begin try which</path>
             <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
             </multiInstanceLoopCharacteristics></transaction>
           {boundary} <userTask id="after"/> <path>t after</path>"#
    ));
    it.start("{}");
    it
}

#[test]
fn a_transaction_that_is_cancelled_as_one_of_several_runs_leaves_the_others() {
    let mut it = transactions("");
    it.complete("try", r#"{"bad": true}"#);
    assert_eq!(it.waiting(), ["try"]);
    it.complete("try", r#"{"bad": false}"#);
    it.complete("more", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_cancel_boundary_event_ends_all_runs_of_a_transaction() {
    let mut it = transactions(
        r#"<boundaryEvent id="cancelled" attachedToRef="t"><cancelEventDefinition/></boundaryEvent>
           <userTask id="sorry"/> <path>cancelled sorry</path>"#,
    );
    it.complete("try", r#"{"bad": true}"#);
    assert_eq!(it.waiting(), ["sorry"]);
    assert!(it.tokens_at("t").is_empty());
}

#[test]
fn only_what_the_caller_catches_ends_a_called_process() {
    let called = || {
        let mut it = Scenario::process(r#"<serviceTask id="a"/>"#);
        let caller = Some(Catches { codes: vec!["caught".into()], ..Catches::default() });
        it.ask(Command::Start { at: Vec::new(), variables: Vec::new(), caller }).unwrap();
        it
    };
    let mut it = called();
    it.raise("a", "other");
    assert!(it.incident("a").is_some(), "nobody would hear of it");
    let mut it = called();
    it.raise("a", "caught");
    assert!(matches!(it.instance.ending(), Some(Ending::Failed(_))));
}

#[test]
fn an_ad_hoc_sub_process_that_is_complete_lets_go_of_what_has_not_begun() {
    let model = |ordering: &str| {
        let mut it = Scenario::process(&format!(
            r#"<adHocSubProcess id="any" ordering="{ordering}" cancelRemainingInstances="false">
                 <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
                 <completionCondition>done</completionCondition></adHocSubProcess>
               <userTask id="after"/> <path>any after</path>"#
        ));
        it.start(r#"{"done": false}"#);
        it
    };
    // One at a time: the others have not begun.
    let mut it = model("Sequential");
    assert_eq!(it.waiting(), ["a"]);
    it.complete("a", r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["after"]);
    // All at once: the others have begun and are completed.
    let mut it = model("Parallel");
    it.complete("a", r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["b", "c"]);
    it.complete("b", "{}");
    it.complete("c", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_activity_that_fails_on_its_turn_keeps_it() {
    let mut it = Scenario::process(
        r#"<adHocSubProcess id="any" ordering="Sequential">
             <userTask id="a"><extensionElements><tv:input target="local">base + 1</tv:input></extensionElements></userTask>
             <userTask id="b"/></adHocSubProcess>"#,
    );
    it.start("{}");
    assert!(it.incident("a").is_some());
    assert_eq!(it.waiting(), [""; 0]);
    it.set(r#"{"base": 1}"#);
    it.retry("a");
    assert_eq!(it.waiting(), ["a"]);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"]);
}

#[test]
fn only_the_end_of_an_activity_can_complete_an_ad_hoc_sub_process() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">
           <adHocSubProcess id="any"> <userTask id="a"/>
             <intermediateCatchEvent id="hear"><messageEventDefinition messageRef="M"/></intermediateCatchEvent>
             <userTask id="b"/> <path>hear b</path>
             <completionCondition>done</completionCondition></adHocSubProcess>
           <userTask id="after"/> <path>any after</path></process>"#,
    );
    it.start(r#"{"done": false}"#);
    it.set(r#"{"done": true}"#);
    it.message("M", "{}");
    assert_eq!(it.waiting(), ["a", "b"]);
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_condition_is_weighed_again_only_when_what_it_reads_has_changed() {
    let mut it = Scenario::process(
        r#"<userTask id="a"/> <boundaryEvent id="high" attachedToRef="a" cancelActivity="false">
             <conditionalEventDefinition><condition>x &gt; 1</condition></conditionalEventDefinition></boundaryEvent>
           <userTask id="look"/> <path>high look</path>"#,
    );
    it.start(r#"{"x": 0, "y": 0}"#);
    it.set(r#"{"x": 2}"#);
    assert_eq!(it.waiting(), ["a", "look"]);
    it.set(r#"{"y": 1}"#);
    assert_eq!(it.waiting(), ["a", "look"], "that is none of its business");
    it.set(r#"{"x": 3}"#);
    assert_eq!(it.waiting(), ["a", "look", "look"]);
}

#[test]
fn a_timer_that_starts_an_event_sub_process_once_leaves_nothing_behind() {
    let mut it = Scenario::process(
        r#"<userTask id="a"/> <subProcess id="on" triggeredByEvent="true">
             <startEvent id="late" isInterrupting="false"><timerEventDefinition><timeDuration>PT1H</timeDuration>
             </timerEventDefinition></startEvent> <userTask id="hurry"/> <path>late hurry</path></subProcess>"#,
    );
    it.start("{}");
    it.advance(3_600_000);
    assert_eq!(it.armed(), ["a", "hurry"]);
    assert_eq!(it.tokens_at("late"), []);
}

#[test]
fn an_activity_is_completed_once_before_it_waits_to_be_left() {
    let mut it = Scenario::process(
        r#"<userTask id="a" tv:gate="exit"><extensionElements><tv:listener on="end" jobType="note"/>
           </extensionElements></userTask> <userTask id="after"/> <path>a after</path>"#,
    );
    it.start("{}");
    let token = it.tokens_at("a")[0];
    it.complete("a", "{}");
    it.complete("a", "{}");
    assert_eq!(it.state("a"), Some(State::Completed));
    let completed = Event::TokenState { token, state: State::Completed };
    assert_eq!(it.events.iter().filter(|it| **it == completed).count(), 1);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_the_end_of_a_run_makes_happen_is_heard_beside_the_activity() {
    let model = |raised: &str, heard: &str| {
        Scenario::definitions(&format!(
            r#"<message id="M" name="M"/> <message id="N" name="N"/>
               <escalation id="U" escalationCode="U"/> <escalation id="V" escalationCode="V"/>
               <process id="p" isExecutable="true"><userTask id="each">
                 <multiInstanceLoopCharacteristics isSequential="true" behavior="Complex">
                   <loopCardinality>3</loopCardinality>
                   <complexBehaviorDefinition><condition>loopCounter == 1</condition>
                     <event>{raised}</event></complexBehaviorDefinition>
                 </multiInstanceLoopCharacteristics></userTask>
               <boundaryEvent id="on" attachedToRef="each" cancelActivity="false">{heard}</boundaryEvent>
               <userTask id="look"/> <path>on look</path></process>"#
        ))
    };
    let kinds = |name: &str, other: &str, tag: &str| {
        let of = |it: &str| format!(r#"<{tag}EventDefinition {tag}Ref="{it}"/>"#);
        (of(name), of(other))
    };
    for (it, other) in [kinds("M", "N", "message"), kinds("U", "V", "escalation")] {
        for heard in [&it, &other] {
            let mut scenario = model(&it, heard);
            scenario.start("{}");
            scenario.complete("each", "{}");
            scenario.complete("each", "{}");
            let looks = scenario.waiting().contains(&"look");
            assert_eq!(looks, *heard == it, "{it} for {heard}: {}", scenario.trace());
        }
    }
}

#[test]
fn tokens_that_come_by_one_flow_count_once_for_a_complex_join() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
           <exclusiveGateway id="merge"/>
           <complexGateway id="join"><activationCondition>activationCount &gt; 1</activationCondition></complexGateway>
           <userTask id="after"/> <path>fork a merge join after</path> <path>fork b merge</path>
           <path>fork c join</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["c"]);
    it.complete("c", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_event_sub_process_that_handles_an_error_has_the_status_of_what_failed() {
    let mut it = Scenario::definitions(
        r#"<error id="E" errorCode="E"/><process id="p" isExecutable="true"><extensionElements>
             <tv:status><tv:attribute name="load">0</tv:attribute></tv:status></extensionElements>
           <userTask id="a"><extensionElements><tv:operator attribute="load">load + 1</tv:operator>
             </extensionElements></userTask>
           <subProcess id="on" triggeredByEvent="true"><startEvent id="s"><errorEventDefinition errorRef="E"/>
             </startEvent><userTask id="repair"/><endEvent id="e"/><path>s repair e</path></subProcess></process>"#,
    );
    it.start("{}");
    it.raise("a", "E");
    assert_eq!(it.status_at("repair", "load").as_deref(), Some("1"));
}

#[test]
fn a_loop_does_its_first_round_before_or_after_it_looks_at_its_condition() {
    let rounds = |attribute: &str, holds: bool| {
        let mut it = Scenario::process(&format!(
            r#"<userTask id="a"><standardLoopCharacteristics {attribute}><loopCondition>more</loopCondition>
               </standardLoopCharacteristics></userTask> <userTask id="after"/> <path>a after</path>"#
        ));
        it.start(&format!(r#"{{"more": {holds}}}"#));
        it.waiting().concat()
    };
    for (attribute, without) in
        [("", "a"), (r#"testBefore="false""#, "a"), (r#"testBefore="true""#, "after")]
    {
        assert_eq!(rounds(attribute, true), "a", "{attribute}");
        assert_eq!(rounds(attribute, false), without, "{attribute}");
    }
}

#[test]
fn a_condition_is_looked_at_when_a_status_changes() {
    for options in ["", r#"tv:variables="load" tv:changes="update""#] {
        let mut it = Scenario::definitions(&format!(
            r#"<process id="p" isExecutable="true"><extensionElements>
                 <tv:status><tv:attribute name="load">0</tv:attribute></tv:status></extensionElements>
               <userTask id="a"><extensionElements><tv:listener on="completion" jobType="look"/>
               <tv:listener on="completion" jobType="look again"/></extensionElements>
               </userTask> <boundaryEvent id="high" attachedToRef="a" cancelActivity="false">
               <conditionalEventDefinition {options}><condition>load &gt; 0</condition></conditionalEventDefinition>
               </boundaryEvent> <userTask id="told"/> <path>high told</path></process>"#
        ));
        it.start("{}");
        it.complete("a", "{}");
        it.complete("a", r#"{"load": 1}"#);
        assert!(it.waiting().contains(&"told"), "{options}: {:?}", it.waiting());
    }
}

#[test]
fn events_take_no_turn_in_a_sequential_ad_hoc_sub_process() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">
           <adHocSubProcess id="any" ordering="Sequential">
             <intermediateCatchEvent id="hear"><messageEventDefinition messageRef="M"/></intermediateCatchEvent>
             <userTask id="a"/></adHocSubProcess></process>"#,
    );
    it.start("{}");
    assert_eq!(it.waiting(), ["a", "hear"]);
}

#[test]
fn a_condition_looks_at_the_variables_and_the_changes_it_names() {
    let fires = |options: &str, set: &str| {
        let mut it = Scenario::process(&format!(
            r#"<userTask id="a"/> <boundaryEvent id="on" attachedToRef="a" cancelActivity="false">
                 <conditionalEventDefinition {options}><condition>x &gt; 1</condition></conditionalEventDefinition>
               </boundaryEvent> <userTask id="look"/> <path>on look</path>"#
        ));
        it.start(r#"{"x": 2, "y": 0}"#);
        let before = it.waiting().len();
        it.set(set);
        it.waiting().len() - before
    };
    let (x, y, z) = (r#"{"x": 3}"#, r#"{"y": 1}"#, r#"{"z": 1}"#);
    for (options, expected) in [
        ("", [1, 0, 0]),
        (r#"tv:variables="y""#, [0, 1, 0]),
        (r#"tv:variables="x z""#, [1, 0, 1]),
        (r#"tv:changes="create""#, [0, 0, 1]),
        (r#"tv:changes="update""#, [1, 1, 0]),
        (r#"tv:variables="x z" tv:changes="create""#, [0, 0, 1]),
        (r#"tv:variables="x z" tv:changes="update""#, [1, 0, 0]),
    ] {
        assert_eq!([x, y, z].map(|set| fires(options, set)), expected, "{options}");
    }
}

#[test]
fn a_task_that_moves_the_time_of_its_token_is_at_work_until_then() {
    let mut it = Scenario::definitions(
        r#"<process id="p" isExecutable="true"><extensionElements>
             <tv:status><tv:attribute name="timestamp"/></tv:status></extensionElements>
           <task id="t"><extensionElements><tv:operator attribute="timestamp">timestamp + 60000</tv:operator>
             </extensionElements></task> <userTask id="after"/> <path>t after</path></process>"#,
    );
    it.start("{}");
    assert_eq!(it.waiting(), ["t"]);
    it.advance(59_999);
    assert_eq!(it.waiting(), ["t"]);
    it.advance(1);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_isolated_fork_whose_branches_all_end_ends_with_them() {
    let mut it = Scenario::process(
        r#"<startEvent id="start"/> <parallelGateway id="fork" tv:fork="isolate"/>
           <userTask id="a"/> <exclusiveGateway id="or" default="or-end"/> <userTask id="b"/>
           <parallelGateway id="join" tv:merge="append" tv:path="all"/> <userTask id="after"/> <endEvent id="end"/>
           <sequenceFlow id="on" sourceRef="or" targetRef="join"><conditionExpression>go</conditionExpression>
           </sequenceFlow> <path>start fork a or end</path> <path>fork b or</path> <path>join after end</path>"#,
    );
    it.start(r#"{"go": false}"#);
    it.complete("a", r#"{"x": 1}"#);
    assert_eq!(it.waiting(), ["b"]);
    it.complete("b", "{}");
    assert!(it.is_completed());
    assert_eq!(it.variables(), r#"{"go":false}"#);
}

#[test]
fn a_cancel_end_event_cancels_the_transaction_around_its_sub_process() {
    let mut it = Scenario::process(
        r#"<transaction id="t"> <startEvent id="s"/> <subProcess id="sub"> <startEvent id="s2"/> <userTask id="a"/>
             <endEvent id="cancel"><cancelEventDefinition/></endEvent> <path>s2 a cancel</path> </subProcess>
             <userTask id="b"/> <path>s sub</path> <path>s b</path> </transaction>
           <boundaryEvent id="on" attachedToRef="t"><cancelEventDefinition/></boundaryEvent>
           <userTask id="sorry"/> <path>on sorry</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["sorry"]);
}

#[test]
fn a_catch_event_with_a_cycle_sends_a_token_by_each_of_its_flows_each_time() {
    let mut it = Scenario::process(
        r#"<intermediateCatchEvent id="tick"><timerEventDefinition><timeCycle>R2/PT1H</timeCycle>
           </timerEventDefinition></intermediateCatchEvent> <userTask id="a"/> <userTask id="b"/>
           <path>tick a</path> <path>tick b</path>"#,
    );
    it.start("{}");
    it.advance(3_600_000);
    assert_eq!(it.waiting(), ["a", "b", "tick"]);
    it.advance(3_600_000);
    assert_eq!(it.waiting(), ["a", "a", "b", "b"]);
}

#[test]
fn an_event_sub_process_that_can_be_undone_is_over_when_it_is_complete() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true"> <userTask id="a"/>
           <subProcess id="on" triggeredByEvent="true"><startEvent id="s" isInterrupting="false">
             <messageEventDefinition messageRef="M"/></startEvent> <userTask id="book"/>
             <boundaryEvent id="of" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
             <userTask id="unbook" isForCompensation="true"/>
             <association id="a1" sourceRef="of" targetRef="unbook" associationDirection="One"/>
             <path>s book</path></subProcess>
           <intermediateThrowEvent id="undo"><compensateEventDefinition/></intermediateThrowEvent>
           <userTask id="after"/> <path>a undo after</path></process>"#,
    );
    it.start("{}");
    it.message("M", "{}");
    it.complete("book", "{}");
    assert_eq!(it.waiting(), ["a"]);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["unbook"]);
    it.complete("unbook", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn inclusive_gateways_join_within_an_isolated_branch() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork" tv:fork="isolate"/> <userTask id="b"/>
           <inclusiveGateway id="any"/> <userTask id="x"/> <userTask id="y"/> <inclusiveGateway id="all"/>
           <parallelGateway id="join" tv:merge="append" tv:path="all"/> <userTask id="after"/>
           <path>fork any x all join after</path> <path>any y all</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("x", r#"{"x": 1}"#);
    it.complete("b", r#"{"b": 2}"#);
    assert_eq!(it.waiting(), ["y"]);
    it.complete("y", r#"{"y": 3}"#);
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.variables(), r#"{"all":[{"x":1,"y":3},{"b":2}]}"#);
}

#[test]
fn a_plain_task_that_needs_two_tokens_waits_for_the_second() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <task id="t" startQuantity="2"/>
           <userTask id="after"/> <path>fork a t after</path> <path>fork b t</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"]);
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn plain_tasks_of_an_ad_hoc_sub_process_complete_it_where_its_condition_holds() {
    let mut it = Scenario::process(
        r#"<adHocSubProcess id="any"> <task id="a"/> <userTask id="b"/> <userTask id="c"/> <path>a b</path>
             <completionCondition>done</completionCondition></adHocSubProcess>
           <userTask id="after"/> <path>any after</path>"#,
    );
    it.start(r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_task_that_leaves_the_time_of_its_token_alone_takes_none() {
    let mut it = Scenario::definitions(
        r#"<process id="p" isExecutable="true"><extensionElements>
             <tv:status><tv:attribute name="timestamp"/></tv:status></extensionElements>
           <task id="t"><extensionElements><tv:operator attribute="timestamp">timestamp + 0</tv:operator>
             </extensionElements></task> <userTask id="after"/> <path>t after</path></process>"#,
    );
    it.start("{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn the_end_of_a_run_makes_everything_happen_whose_condition_holds() {
    let event = |name: &str| {
        format!(
            r#"<complexBehaviorDefinition><condition>loopCounter == 0</condition>
               <event><signalEventDefinition signalRef="{name}"/></event></complexBehaviorDefinition>"#
        )
    };
    let mut it = Scenario::definitions(&format!(
        r#"<signal id="S" name="S"/> <signal id="T" name="T"/> <process id="p" isExecutable="true">
             <userTask id="each"><multiInstanceLoopCharacteristics isSequential="true" behavior="Complex">
               <loopCardinality>2</loopCardinality> {} {}</multiInstanceLoopCharacteristics></userTask></process>"#,
        event("S"),
        event("T")
    ));
    it.start("{}");
    it.complete("each", "{}");
    it.complete("each", "{}");
    let signals: Vec<&str> = it
        .events
        .iter()
        .filter_map(|it| match it {
            Event::Posted { what, .. } => match &**what {
                Post::Signal { name, .. } => Some(&**name),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(signals, ["S", "T"]);
}
