//! Listeners: what is called around the work of a node, in which order, and what becomes of it.

use travertine_bpmn::Severity;
use travertine_kernel::{State, WaitFor};
use travertine_testkit::Scenario;

/// A process of three nodes, with `task` between.
fn native(task: &str) -> Scenario {
    Scenario::process(&format!(
        r#"<startEvent id="start"/> {task} <endEvent id="end"/> <path>start task end</path>"#
    ))
}

fn in_dialect(declared: &str, inside: &str) -> String {
    format!(r#"<process id="p" isExecutable="true" {declared}>{inside}</process>"#)
}

fn camunda7(inside: &str) -> String {
    in_dialect(r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn""#, inside)
}

fn camunda8(inside: &str) -> String {
    in_dialect(r#"xmlns:zeebe="http://camunda.org/schema/zeebe/1.0""#, inside)
}

/// The types of the jobs that are offered, oldest first.
fn jobs(it: &Scenario) -> Vec<&str> {
    let waits = it.instance.waits.values();
    waits
        .filter_map(|wait| match &*wait.on {
            WaitFor::Work(job) => Some(&*job.job_type),
            _ => None,
        })
        .collect()
}

const AROUND: &str = r#"<tv:input target="in">1</tv:input> <tv:output target="out">work</tv:output>
    <tv:listener on="start" jobType="first"/> <tv:listener on="start" jobType="second"/>
    <tv:listener on="completion" jobType="third"/> <tv:listener on="end" jobType="fourth"/>"#;

#[test]
fn listeners_are_called_one_after_the_other_around_the_work() {
    let mut it = native(&format!(
        r#"<serviceTask id="task" tv:jobType="work"><extensionElements>{AROUND}</extensionElements></serviceTask>"#
    ));
    it.start("{}");
    for (job, results) in [
        ("first", r#"{"a": 1}"#),
        ("second", "{}"),
        ("work", r#"{"work": 7}"#),
        ("third", r#"{"work": 8}"#),
        ("fourth", r#"{"last": true}"#),
    ] {
        assert_eq!(jobs(&it), [job]);
        it.complete("task", results);
    }
    assert!(it.is_completed());
    assert_eq!(it.variables(), r#"{"last":true,"out":8}"#, "what start listeners write is local");
}

#[test]
fn a_start_listener_sees_inputs_and_is_seen_by_the_work() {
    let mut it = native(&format!(
        r#"<userTask id="task"><extensionElements>{AROUND}</extensionElements></userTask>"#
    ));
    it.start("{}");
    assert_eq!(it.seen_at("task", "in").as_deref(), Some("1"));
    assert_eq!(it.state("task"), Some(State::Ready));
    it.complete("task", r#"{"a": 1}"#);
    it.complete("task", r#"{"b": 2}"#);
    assert_eq!(it.seen_at("task", "a").as_deref(), Some("1"));
    assert_eq!(it.state("task"), Some(State::Busy));
}

#[test]
fn an_end_listener_sees_what_was_handed_over() {
    let mut it = native(&format!(
        r#"<userTask id="task"><extensionElements>{AROUND}</extensionElements></userTask>"#
    ));
    it.start("{}");
    it.complete("task", "{}");
    it.complete("task", "{}");
    it.complete("task", r#"{"work": 7}"#);
    assert_eq!(
        it.variables(),
        "{}",
        "before the completion listener is done nothing is handed over"
    );
    it.complete("task", "{}");
    assert_eq!(it.variables(), r#"{"out":7}"#);
    assert_eq!(it.state("task"), Some(State::Completed));
}

#[test]
fn scripts_are_run_without_a_stop() {
    let mut it = native(
        r#"<userTask id="task"><extensionElements>
             <tv:listener on="start" language="javascript">_context.a = 1</tv:listener>
             <tv:listener on="completion" language="javascript">_context.b = a + 1</tv:listener>
           </extensionElements></userTask>"#,
    );
    it.start("{}");
    assert_eq!(it.seen_at("task", "a").as_deref(), Some("1"));
    it.complete("task", "{}");
    assert!(it.is_completed());
    assert_eq!(it.variables(), r#"{"b":2}"#);
}

#[test]
fn boundary_events_are_armed_after_start_listeners_and_stay_until_the_last_one_is_done() {
    let mut it = Scenario::process(
        r#"<startEvent id="start"/> <userTask id="task"><extensionElements>
             <tv:listener on="start" jobType="first"/> <tv:listener on="end" jobType="last"/>
           </extensionElements></userTask> <endEvent id="end"/>
           <boundaryEvent id="late" attachedToRef="task"><timerEventDefinition>
             <timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
           <userTask id="other"/> <path>start task end</path> <path>late other</path>"#,
    );
    it.start("{}");
    assert_eq!(it.armed(), ["task"]);
    it.complete("task", "{}");
    assert_eq!(it.armed(), ["late", "task"]);
    it.complete("task", "{}");
    assert_eq!(jobs(&it), ["last"]);
    it.advance(3_600_000);
    assert_eq!(it.armed(), ["other"], "what is interrupted has no end");
}

#[test]
fn a_listener_that_fails_is_tried_again_and_only_that_one() {
    let mut it = native(&format!(
        r#"<userTask id="task"><extensionElements>{AROUND}</extensionElements></userTask>"#
    ));
    it.start("{}");
    it.complete("task", r#"{"a": 1}"#);
    it.fail("task", 0);
    assert_eq!(it.incident("task").unwrap().message, "it broke");
    it.retry("task");
    assert_eq!(jobs(&it), ["second"]);
    it.complete("task", "{}");
    assert_eq!(it.seen_at("task", "a").as_deref(), Some("1"));
}

#[test]
fn what_fails_after_a_listener_does_not_call_it_again() {
    let mut it = native(
        r#"<userTask id="task" tv:assignee="${nobody.name}"><extensionElements>
             <tv:listener on="start" jobType="first"/> <tv:listener on="end" jobType="last"/>
             <tv:listener on="end" language="javascript">_context.x = missing.name</tv:listener>
           </extensionElements></userTask>"#,
    );
    it.start("{}");
    it.complete("task", "{}");
    assert!(it.incident("task").is_some(), "the assignee cannot be worked out");
    it.set(r#"{"nobody": {"name": "Ada"}}"#);
    it.retry("task");
    assert_eq!(jobs(&it), ["userTask"]);
    it.complete("task", "{}");
    it.complete("task", "{}");
    assert!(it.incident("task").is_some(), "the script cannot be run");
    it.set(r#"{"missing": {"name": "Eve"}}"#);
    it.retry("task");
    assert!(it.is_completed());
}

#[test]
fn a_listener_can_raise_an_error_for_the_model() {
    let mut it = Scenario::process(
        r#"<startEvent id="start"/> <subProcess id="sub"><startEvent id="s"/>
             <userTask id="task"><extensionElements><tv:listener on="start" jobType="first"/>
             </extensionElements></userTask> <endEvent id="e"/> <path>s task e</path></subProcess>
           <boundaryEvent id="failed" attachedToRef="sub"><errorEventDefinition/></boundaryEvent>
           <userTask id="repair"/> <endEvent id="end"/> <path>start sub end</path>
           <path>failed repair</path>"#,
    );
    it.start("{}");
    it.raise("task", "broken");
    assert_eq!(it.waiting(), ["repair"]);
}

#[test]
fn a_process_and_a_sub_process_have_listeners() {
    let mut it = Scenario::process(
        r#"<extensionElements><tv:listener on="start" jobType="open"/>
             <tv:listener on="end" jobType="close"/></extensionElements>
           <startEvent id="start"/> <endEvent id="end"/>
           <subProcess id="sub"><extensionElements><tv:listener on="start" jobType="enter"/>
             <tv:listener on="end" jobType="exit"/></extensionElements><task id="inside"/></subProcess>
           <path>start sub end</path>"#,
    );
    it.start("{}");
    for (at, job, results) in [
        ("p", "open", r#"{"a": 1}"#),
        ("sub", "enter", r#"{"b": 2}"#),
        ("sub", "exit", r#"{"c": 3}"#),
        ("p", "close", r#"{"d": 4}"#),
    ] {
        assert_eq!(jobs(&it), [job]);
        it.complete(at, results);
    }
    assert!(it.is_completed());
    assert_eq!(it.variables(), r#"{"a":1,"c":3,"d":4}"#);
}

#[test]
fn a_process_can_be_cancelled_while_a_listener_is_called() {
    for listener in ["start", "end"] {
        let mut it = Scenario::process(&format!(
            r#"<extensionElements><tv:listener on="{listener}" jobType="x"/></extensionElements>
               <task id="only"/>"#
        ));
        it.start("{}");
        assert_eq!(jobs(&it), ["x"]);
        assert!(it.tree().contains('p'), "{}", it.tree());
        it.cancel();
        assert!(it.instance.tokens.is_empty());
    }
}

#[test]
fn events_and_gateways_have_listeners() {
    let mut it = Scenario::process(
        r#"<startEvent id="start"><extensionElements><tv:listener on="start" jobType="begin"/>
             </extensionElements></startEvent>
           <parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
           <parallelGateway id="join"><extensionElements><tv:listener on="start" jobType="meet"/>
             </extensionElements></parallelGateway>
           <exclusiveGateway id="choose" default="no"><extensionElements>
             <tv:listener on="start" jobType="decide"/></extensionElements></exclusiveGateway>
           <endEvent id="yes"/> <endEvent id="otherwise"><extensionElements>
             <tv:listener on="end" jobType="over"/></extensionElements></endEvent>
           <sequenceFlow id="no" sourceRef="choose" targetRef="otherwise"/>
           <sequenceFlow id="f" sourceRef="choose" targetRef="yes">
             <conditionExpression>go</conditionExpression></sequenceFlow>
           <path>start fork a join choose</path> <path>fork b join</path>"#,
    );
    it.start(r#"{"go": true}"#);
    it.complete("start", "{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"], "a join is not entered before all have come");
    it.complete("b", "{}");
    assert_eq!(jobs(&it), ["meet"]);
    it.complete("join", "{}");
    assert_eq!(jobs(&it), ["decide"]);
    it.complete("choose", r#"{"go": false}"#);
    assert_eq!(jobs(&it), ["over"], "what a listener writes is seen by the conditions");
    it.complete("otherwise", "{}");
    assert!(it.is_completed());
}

#[test]
fn an_event_that_happens_beside_something_calls_its_listeners_then() {
    let timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
    let listeners = r#"<extensionElements><tv:listener on="start" jobType="in"/>
        <tv:listener on="end" jobType="out"/></extensionElements>"#;
    let boundary = format!(
        r#"<startEvent id="start"/> <userTask id="task"/> <endEvent id="end"/>
           <boundaryEvent id="event" attachedToRef="task">{listeners}{timer}</boundaryEvent>
           <path>start task end</path> <path>event end</path>"#
    );
    let behind = format!(
        r#"<startEvent id="start"/> <eventBasedGateway id="race"><extensionElements>
             <tv:listener on="start" jobType="before"/></extensionElements></eventBasedGateway>
           <endEvent id="end"/>
           <intermediateCatchEvent id="event">{listeners}{timer}</intermediateCatchEvent>
           <receiveTask id="other"/> <path>start race event end</path> <path>race other end</path>"#
    );
    for (model, before) in [(boundary, "task"), (behind, "race")] {
        let mut it = Scenario::process(&model);
        it.start("{}");
        if before == "race" {
            it.complete("race", "{}");
        }
        it.advance(3_600_000);
        assert_eq!(jobs(&it), ["in"]);
        it.complete("event", "{}");
        assert_eq!(jobs(&it), ["out"]);
        it.complete("event", "{}");
        assert!(it.is_completed(), "{}", it.tree());
    }
}

#[test]
fn every_run_has_its_listeners_and_all_of_them_one_before() {
    let mut it = native(
        r#"<userTask id="task"><extensionElements>
             <tv:listener on="beforeAll" jobType="all"/> <tv:listener on="start" jobType="each"/>
           </extensionElements>
           <multiInstanceLoopCharacteristics tv:collection="items"/></userTask>"#,
    );
    it.start("{}");
    assert_eq!(jobs(&it), ["all"]);
    it.complete("task", r#"{"items": [1, 2]}"#);
    assert_eq!(jobs(&it), ["each", "each"]);
    it.complete("task", "{}");
    assert_eq!(jobs(&it), ["each", "userTask"]);
    it.complete("task", "{}");
    it.complete("task", "{}");
    it.complete("task", "{}");
    assert!(it.is_completed());
}

#[test]
fn camunda_8_calls_execution_and_task_listeners() {
    let mut it = Scenario::definitions(&camunda8(
        r#"<startEvent id="start"/> <endEvent id="end"/> <path>start task end</path>
           <userTask id="task"><extensionElements> <zeebe:userTask/>
             <zeebe:assignmentDefinition assignee="ada"/>
             <zeebe:taskHeaders><zeebe:header key="k" value="task"/></zeebe:taskHeaders>
             <zeebe:executionListeners>
               <zeebe:executionListener eventType="start" type="EL start" retries="5">
                 <zeebe:taskHeaders><zeebe:header key="k" value="own"/></zeebe:taskHeaders>
               </zeebe:executionListener>
               <zeebe:executionListener eventType="end" type="=&quot;EL &quot; + &quot;end&quot;"/>
             </zeebe:executionListeners>
             <zeebe:taskListeners>
               <zeebe:taskListener eventType="creating" type="TL creating"/>
               <zeebe:taskListener eventType="assigning" type="TL assigning"/>
               <zeebe:taskListener eventType="completing" type="TL completing"/>
             </zeebe:taskListeners>
           </extensionElements></userTask>"#,
    ));
    it.start("{}");
    let trace = it.news();
    assert!(trace.contains("listener"), "{trace}");
    let wait = it.instance.waits.values().next().unwrap();
    let WaitFor::Work(job) = &*wait.on else { panic!() };
    assert_eq!(job.retries, 5);
    let fields: Vec<_> = job.fields.iter().map(|(name, it)| format!("{name}={it}")).collect();
    assert_eq!(fields, [r#"listener="start""#, r#"k="own""#]);
    for job in ["EL start", "TL creating", "TL assigning", "userTask", "TL completing", "EL end"] {
        assert_eq!(jobs(&it), [job]);
        it.complete("task", "{}");
    }
    assert!(it.is_completed());
}

#[test]
fn camunda_7_runs_scripts_and_expressions_and_has_workers_do_the_rest() {
    let model = camunda7(
        r#"<startEvent id="start"/> <endEvent id="end"/> <path>start task end</path>
           <userTask id="task" camunda:assignee="ada"><extensionElements>
             <camunda:executionListener event="end" expression="${execution.setVariable('b', a + 1)}"/>
             <camunda:executionListener event="start">
               <camunda:script scriptFormat="javascript">execution.setVariable('a', 1)</camunda:script>
             </camunda:executionListener>
             <camunda:executionListener event="start" class="org.acme.Audit"/>
             <camunda:taskListener event="create" delegateExpression="${audit}"/>
             <camunda:taskListener event="complete" expression="${bean.notify(task)}"/>
           </extensionElements></userTask>"#,
    );
    let warnings: Vec<_> = Scenario::report(&model)
        .diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Warning)
        .map(|it| it.code)
        .collect();
    assert_eq!(warnings, ["TV0711"; 3]);
    let mut it = Scenario::definitions(&model);
    it.start("{}");
    for job in ["org.acme.Audit", "${audit}", "userTask", "${bean.notify(task)}"] {
        assert_eq!(jobs(&it), [job]);
        it.complete("task", "{}");
    }
    assert!(it.is_completed());
    assert_eq!(it.variables(), r#"{"a":1,"b":2}"#);
}

#[test]
fn what_is_never_called_is_named() {
    let flow = r#"<sequenceFlow id="f" sourceRef="start" targetRef="task"><extensionElements>
        <camunda:executionListener event="take" class="x"/></extensionElements></sequenceFlow>"#;
    let unassigned = r#"<userTask id="task"><extensionElements>
        <camunda:taskListener event="assignment" class="x"/>
        <camunda:taskListener event="delete" class="x"/>
        <camunda:taskListener event="update" class="x"/>
        <camunda:taskListener event="timeout" class="x"/></extensionElements></userTask>"#;
    let seven = camunda7(&format!(r#"<startEvent id="start"/> {unassigned} {flow}"#));
    let eight = camunda8(
        r#"<userTask id="task"><extensionElements><zeebe:taskListeners>
             <zeebe:taskListener eventType="updating" type="x"/>
             <zeebe:taskListener eventType="canceling" type="x"/>
           </zeebe:taskListeners></extensionElements></userTask>"#,
    );
    for (model, named) in [
        (seven, &["4 of this kind", "camunda:executionListener has no effect here"][..]),
        (eight, &["2 of this kind"][..]),
    ] {
        let report = Scenario::report(&model);
        let found: Vec<_> = report.diagnostics.iter().filter(|it| it.code == "TV0702").collect();
        assert_eq!(found.len(), named.len(), "{found:#?}");
        for (it, named) in found.iter().zip(named) {
            assert!(it.message.contains(named), "{found:#?}");
        }
    }
}

#[test]
fn a_listener_that_says_nothing_sensible_is_refused() {
    for listener in [
        r#"<tv:listener jobType="x"/>"#,
        r#"<tv:listener on="sometimes" jobType="x"/>"#,
        r#"<tv:listener on="beforeAll" jobType="x"/>"#,
        r#"<tv:listener on="start"/>"#,
    ] {
        let model = format!(
            r#"<process id="p" isExecutable="true"><task id="t"><extensionElements>{listener}
               </extensionElements></task></process>"#
        );
        assert!(Scenario::report(&model).is_rejected(), "{listener}");
    }
}
