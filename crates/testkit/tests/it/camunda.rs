//! Models as Camunda's modelers write them, and what becomes of them here.

use travertine_kernel::{FailureKind, Modification, WaitFor, Which};
use travertine_testkit::Scenario;

fn in_dialect(declared: &str, inside: &str) -> String {
    format!(r#"<process id="p" isExecutable="true" {declared}>{inside}</process>"#)
}

fn camunda7(inside: &str) -> Scenario {
    Scenario::definitions(&in_dialect(
        r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:versionTag="1""#,
        inside,
    ))
}

fn camunda8(inside: &str) -> Scenario {
    let zeebe = r#"xmlns:zeebe="http://camunda.org/schema/zeebe/1.0""#;
    let tag = r#"<extensionElements><zeebe:versionTag value="1"/></extensionElements>"#;
    Scenario::definitions(&in_dialect(zeebe, &format!("{tag}{inside}")))
}

/// What each run of `task` sees under that name, oldest first.
fn seen(it: &Scenario, name: &str) -> Vec<String> {
    let runs = it
        .tokens_at("task")
        .into_iter()
        .filter(|token| it.instance.waits.values().any(|wait| wait.token == *token));
    let view = |token| travertine_kernel::View::new(&it.plan, &it.instance, token);
    let value = |token| travertine_value::Variables::get(&view(token), name);
    runs.map(|it| value(it).map_or_else(|| "nothing".to_owned(), |it| it.to_string())).collect()
}

fn several(sequential: bool, condition: &str) -> String {
    format!(
        r#"<startEvent id="start"/><userTask id="task">
        <multiInstanceLoopCharacteristics isSequential="{sequential}"><extensionElements>
          <zeebe:loopCharacteristics inputCollection="=items" inputElement="item"/>
        </extensionElements>{condition}</multiInstanceLoopCharacteristics></userTask>
        <endEvent id="end"/><path>start task end</path>"#
    )
}

const COUNTS: [&str; 5] = [
    "loopCounter",
    "numberOfInstances",
    "numberOfActiveInstances",
    "numberOfCompletedInstances",
    "numberOfTerminatedInstances",
];

fn counts(it: &Scenario) -> Vec<String> {
    COUNTS.map(|name| seen(it, name).join(" ")).into()
}

#[test]
fn runs_of_camunda_8_count_from_one_and_know_how_many_there_are() {
    let mut it = camunda8(&several(false, ""));
    it.start(r#"{"items": ["a", "b", "c"]}"#);
    assert_eq!(counts(&it), ["1 2 3", "3 3 3", "3 3 3", "0 0 0", "0 0 0"]);
    it.complete_run("task", 1, "{}");
    assert_eq!(counts(&it), ["1 3", "3 3", "2 2", "1 1", "0 0"]);
    let first = it
        .tokens_at("task")
        .into_iter()
        .find(|it_is| it.instance.waits.values().any(|wait| wait.token == *it_is));
    it.modify(vec![Modification::Withdraw(Which::Token(first.expect("it waits")))]);
    assert_eq!(counts(&it), ["3", "3", "1", "1", "1"]);
    assert_eq!(seen(&it, "nrOfInstances"), ["nothing"], "that is Camunda 7's");
    it.complete("task", "{}");
    assert!(it.is_completed());
}

#[test]
fn sequential_runs_of_camunda_8_count_what_has_been_created() {
    let mut it = camunda8(&several(true, ""));
    it.start(r#"{"items": ["a", "b"]}"#);
    assert_eq!(counts(&it), ["1", "1", "1", "0", "0"]);
    it.complete("task", "{}");
    assert_eq!(counts(&it), ["2", "2", "1", "1", "0"]);
    it.complete("task", "{}");
    assert!(it.is_completed());
}

#[test]
fn nothing_to_run_for_is_complete_at_once_in_camunda_8() {
    for sequential in [false, true] {
        let mut it = camunda8(&several(sequential, ""));
        it.start(r#"{"items": []}"#);
        assert!(it.is_completed());
    }
}

#[test]
fn a_completion_condition_of_camunda_8_sees_the_counts_with_the_run_that_has_ended() {
    for (sequential, condition, rounds) in [
        (false, "numberOfCompletedInstances >= 2", 2),
        (true, "numberOfCompletedInstances >= 2", 2),
        (false, "numberOfActiveInstances = 1", 2),
        (true, "numberOfActiveInstances = 0", 1),
        (false, "numberOfInstances = 3 and numberOfTerminatedInstances = 0", 1),
        (true, "numberOfInstances = 2", 2),
        (false, "loopCounter = 2", 2),
    ] {
        let condition = format!("<completionCondition>={condition}</completionCondition>");
        let mut it = camunda8(&several(sequential, &condition));
        it.start(r#"{"items": ["a", "b", "c"]}"#);
        for _ in 0..rounds {
            assert!(!it.is_completed(), "{condition}");
            it.complete("task", "{}");
        }
        assert!(it.is_completed(), "{condition}");
    }
}

#[test]
fn runs_within_runs_see_their_own_counts() {
    let mut it = camunda8(
        r#"<subProcess id="sub"><multiInstanceLoopCharacteristics isSequential="true">
          <extensionElements><zeebe:loopCharacteristics inputCollection="=[1, 2]"/></extensionElements>
        </multiInstanceLoopCharacteristics>
        <userTask id="task"><extensionElements><zeebe:ioMapping>
            <zeebe:input source="=loopCounter" target="own"/></zeebe:ioMapping></extensionElements>
          <multiInstanceLoopCharacteristics>
            <extensionElements><zeebe:loopCharacteristics inputCollection="=[1, 2, 3]"/></extensionElements>
          </multiInstanceLoopCharacteristics></userTask>
        <userTask id="after"/><path>task after</path></subProcess>"#,
    );
    it.start("{}");
    assert_eq!(counts(&it)[..2], ["1 2 3", "3 3 3"]);
    assert_eq!(seen(&it, "own"), ["1", "2", "3"], "mappings see it too");
    (0..3).for_each(|_| it.complete("task", "{}"));
    assert_eq!(it.seen_at("after", "loopCounter").as_deref(), Some("1"), "that of the sub-process");
    assert_eq!(it.seen_at("after", "numberOfInstances").as_deref(), Some("1"));
    it.complete("after", "{}");
    assert_eq!(counts(&it)[..2], ["1 2 3", "3 3 3"]);
}

#[test]
fn runs_of_camunda_7_count_from_zero_under_its_own_names() {
    let mut it = camunda7(
        r#"<userTask id="task"><multiInstanceLoopCharacteristics camunda:collection="items"
           camunda:elementVariable="item"><completionCondition>${nrOfCompletedInstances == 2}
           </completionCondition></multiInstanceLoopCharacteristics></userTask>"#,
    );
    it.start(r#"{"items": ["a", "b", "c"], "numberOfInstances": "mine"}"#);
    assert_eq!(seen(&it, "loopCounter"), ["0", "1", "2"]);
    assert_eq!(seen(&it, "nrOfInstances"), ["3", "3", "3"]);
    assert_eq!(seen(&it, "numberOfInstances")[0], r#""mine""#, "a variable like any other");
    it.complete("task", "{}");
    it.complete("task", "{}");
    assert!(it.is_completed());
}

#[test]
fn runs_without_a_dialect_count_from_zero_and_know_both_kinds_of_names() {
    let mut it = Scenario::process(
        r#"<userTask id="task"><multiInstanceLoopCharacteristics isSequential="true">
           <loopCardinality>3</loopCardinality>
           <completionCondition>numberOfCompletedInstances == 2 &amp;&amp; nrOfInstances == 3</completionCondition>
           </multiInstanceLoopCharacteristics></userTask>"#,
    );
    it.start("{}");
    assert_eq!(counts(&it), ["0", "1", "1", "0", "0"]);
    it.complete("task", "{}");
    it.complete("task", "{}");
    assert!(it.is_completed());
}

#[test]
fn rounds_of_a_loop_are_counted_as_runs_are() {
    let looped = r#"<userTask id="task"><standardLoopCharacteristics loopMaximum="2"/></userTask>"#;
    for (mut it, first) in [(camunda8(looped), 1), (camunda7(looped), 0)] {
        it.start("{}");
        assert_eq!(seen(&it, "loopCounter"), [first.to_string()]);
        assert_eq!(seen(&it, "numberOfInstances"), ["nothing"]);
        it.complete("task", "{}");
        assert_eq!(seen(&it, "loopCounter"), [(first + 1).to_string()]);
    }
}

#[test]
fn counts_of_a_run_can_be_asked_for_when_events_are_thrown() {
    let mut it = Scenario::definitions(
        r#"<signal id="S" name="half"/><process id="p" isExecutable="true">
        <userTask id="task"><multiInstanceLoopCharacteristics behavior="Complex">
          <loopCardinality>2</loopCardinality><complexBehaviorDefinition>
          <condition>numberOfCompletedInstances == 1</condition>
          <event><signalEventDefinition signalRef="S"/></event></complexBehaviorDefinition>
        </multiInstanceLoopCharacteristics></userTask>
        <boundaryEvent id="heard" attachedToRef="task" cancelActivity="false">
          <signalEventDefinition signalRef="S"/></boundaryEvent>
        <userTask id="cheer"/><path>heard cheer</path></process>"#,
    );
    it.start("{}");
    it.complete("task", "{}");
    assert_eq!(it.waiting(), ["cheer", "task"]);
}

/// An ad-hoc sub-process with these activities to begin with.
fn ad_hoc(attributes: &str, active: &str, inside: &str) -> Scenario {
    let active = active.replace('"', "&quot;");
    let extension = if active.is_empty() {
        String::new()
    } else {
        format!(
            r#"<extensionElements><zeebe:adHoc activeElementsCollection="{active}"/></extensionElements>"#
        )
    };
    camunda8(&format!(
        r#"<startEvent id="start"/>
        <adHocSubProcess id="tools" {attributes}>{extension}
          <userTask id="ta"/><userTask id="tb"/><userTask id="tc"/><userTask id="td"/>
          <path>tc td</path>{inside}</adHocSubProcess>
        <userTask id="after"/><path>start tools after</path>"#
    ))
}

#[test]
fn only_the_named_activities_of_an_ad_hoc_sub_process_begin() {
    let mut it = ad_hoc("", r#"=["ta", "tc"]"#, "");
    it.start("{}");
    assert_eq!(it.waiting(), ["ta", "tc"]);
    it.complete("tc", "{}");
    assert_eq!(it.waiting(), ["ta", "td"], "flows lead on");
    it.complete("ta", "{}");
    it.complete("td", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_activity_of_an_ad_hoc_sub_process_begins_as_often_as_it_is_named() {
    let mut it = ad_hoc("", "=which", "");
    it.start(r#"{"which": ["tb", "tb"]}"#);
    assert_eq!(it.waiting(), ["tb", "tb"]);
    it.complete("tb", "{}");
    it.complete("tb", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_an_ad_hoc_sub_process_cannot_begin_with_is_an_incident_until_it_is_mended() {
    for (which, says) in [
        (r#"["nobody"]"#, "names nobody, which is not in it"),
        (r#"["after"]"#, "names after, which is not in it"),
        (r#"["ta", "td"]"#, "names td, which nothing can begin with"),
        (r#""ta""#, "is a text, not a list of ids"),
        ("[7]", "has 7 in it, which is no id"),
        ("null", "is null, not a list of ids"),
    ] {
        let mut it = ad_hoc("", "=which", "");
        it.start(&format!(r#"{{"which": {which}}}"#));
        let failure = it.incident("tools").expect("it cannot begin");
        assert_eq!(failure.kind, FailureKind::AdHoc, "{which}");
        assert!(failure.message.contains(says), "{which}: {}", failure.message);
        assert!(failure.message.ends_with("it can name ta, tb, tc"), "{}", failure.message);
        assert!(it.waiting().is_empty(), "nothing has begun");
        it.set(r#"{"which": ["ta"]}"#);
        it.retry("tools");
        assert_eq!(it.waiting(), ["ta"]);
    }
}

#[test]
fn an_ad_hoc_sub_process_of_camunda_8_with_nothing_to_begin_with_stays_open() {
    for active in ["=[]", ""] {
        let mut it = ad_hoc("", active, "");
        it.start("{}");
        assert!(it.waiting().is_empty() && !it.is_completed());
        assert_eq!(
            it.why()[1],
            "tools is open, and waits for one of its activities to be activated"
        );
        it.modify(vec![Modification::Add { to: it.before("ta"), scope: None }]);
        assert_eq!(it.waiting(), ["ta"]);
        it.complete("ta", "{}");
        assert_eq!(it.waiting(), ["after"]);
    }
}

#[test]
fn an_ad_hoc_sub_process_with_a_condition_is_done_when_that_holds() {
    let condition = "<completionCondition>=done</completionCondition>";
    let mut it = ad_hoc("", r#"=["ta", "tb"]"#, condition);
    it.start(r#"{"done": false}"#);
    it.complete("ta", r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["after"], "the rest is cancelled");

    let mut it = ad_hoc(r#"cancelRemainingInstances="false""#, r#"=["ta", "tb"]"#, condition);
    it.start(r#"{"done": false}"#);
    it.complete("ta", r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["tb"], "the rest comes to its end");
    it.complete("tb", "{}");
    assert_eq!(it.waiting(), ["after"]);

    let mut it = ad_hoc("", r#"=["ta"]"#, condition);
    it.start(r#"{"done": false}"#);
    it.complete("ta", "{}");
    assert!(it.waiting().is_empty() && !it.is_completed(), "it does not hold, so more may come");
    it.modify(vec![Modification::Add { to: it.before("tb"), scope: None }]);
    it.complete("tb", r#"{"done": true}"#);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_ad_hoc_sub_process_with_a_condition_is_undone_and_over_when_that_is_done() {
    let mut it = camunda8(
        r#"<startEvent id="start"/>
        <adHocSubProcess id="tools"><extensionElements><zeebe:adHoc activeElementsCollection="=[&quot;book&quot;]"/>
          </extensionElements><userTask id="book"/>
          <boundaryEvent id="on" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
          <userTask id="unbook" isForCompensation="true"/>
          <association id="a" associationDirection="One" sourceRef="on" targetRef="unbook"/>
          <completionCondition>=true</completionCondition></adHocSubProcess>
        <intermediateThrowEvent id="undo"><compensateEventDefinition/></intermediateThrowEvent>
        <userTask id="after"/><path>start tools undo after</path>"#,
    );
    it.start("{}");
    it.complete("book", "{}");
    assert_eq!(it.waiting(), ["unbook"]);
    it.complete("unbook", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_interrupts_an_open_ad_hoc_sub_process_ends_it() {
    let mut it = ad_hoc(
        "",
        r#"=["ta"]"#,
        r#"<subProcess id="stop" triggeredByEvent="true"><startEvent id="now"><timerEventDefinition>
           <timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent><userTask id="tidy"/>
           <path>now tidy</path></subProcess>
           <completionCondition>=false</completionCondition>"#,
    );
    it.start("{}");
    it.complete("ta", "{}");
    assert!(it.waiting().is_empty(), "it is open, without a token in it");
    it.advance(3_600_000);
    assert_eq!(it.waiting(), ["tidy"]);
    it.complete("tidy", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_multi_instance_activity_ends_an_ad_hoc_sub_process_as_any_other_does() {
    for ordering in ["Parallel", "Sequential"] {
        let mut it = Scenario::process(&format!(
            r#"<startEvent id="start"/>
            <adHocSubProcess id="visit" ordering="{ordering}"><userTask id="ask">
              <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
              </multiInstanceLoopCharacteristics></userTask><userTask id="look"/>
              <completionCondition>enough</completionCondition></adHocSubProcess>
            <userTask id="after"/><path>start visit after</path>"#
        ));
        it.start(r#"{"enough": false}"#);
        it.complete("ask", "{}");
        it.complete("ask", "{}");
        assert_eq!(it.waiting(), ["look"], "{ordering}");
        let mut it = it.again();
        it.start(r#"{"enough": true}"#);
        it.complete("ask", "{}");
        it.complete("ask", "{}");
        assert_eq!(it.waiting(), ["after"], "{ordering}");
    }
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

#[test]
fn message_events_and_send_tasks_of_camunda_8_are_jobs_whatever_they_refer_to() {
    let task = |id: &str| {
        format!(
            r#"<extensionElements><zeebe:taskDefinition type="{id}" retries="5"/></extensionElements>"#
        )
    };
    for reference in ["", r#"messageRef="named""#, r#"messageRef="nameless""#] {
        let process = format!(
            r#"<message id="named" name="n"/><message id="nameless"/>
            <process id="p" isExecutable="true" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
            <startEvent id="start"/>
            <sendTask id="send" {reference}>{}</sendTask>
            <intermediateThrowEvent id="throw">{}<messageEventDefinition {reference}/>
            </intermediateThrowEvent>
            <endEvent id="end">{}<messageEventDefinition {reference}/></endEvent>
            <path>start send throw end</path></process>"#,
            task("a"),
            task("b"),
            task("c")
        );
        let mut it = Scenario::definitions(&process);
        it.start("{}");
        for (node, job) in [("send", "a"), ("throw", "b"), ("end", "c")] {
            assert_eq!(jobs(&it), [job], "{reference}");
            it.complete(node, "{}");
        }
        assert!(it.is_completed());
    }
}

/// The fields of the work at a node.
fn field(it: &Scenario, name: &str) -> Option<String> {
    let field = it.instance.waits.values().find_map(|wait| match &*wait.on {
        WaitFor::Work(job) => job.fields.iter().find(|(it, _)| &**it == name),
        _ => None,
    });
    field.map(|(_, value)| value.to_string())
}

#[test]
fn the_priority_of_a_user_task_is_a_number_however_it_is_written() {
    let zeebe = |priority: &str| {
        let priority = priority.replace('"', "&quot;");
        camunda8(&format!(
            r#"<userTask id="task"><extensionElements><zeebe:priorityDefinition priority="{priority}"/>
               </extensionElements></userTask>"#
        ))
    };
    let native =
        |it: &str| Scenario::process(&format!(r#"<userTask id="task" tv:priority="{it}"/>"#));
    let camunda = |it: &str| camunda7(&format!(r#"<userTask id="task" camunda:priority="{it}"/>"#));
    for (mut it, expected) in [
        (zeebe("80"), Some("80")),
        (zeebe("=p"), Some("7")),
        (zeebe("=string(p)"), Some("7")),
        (camunda8(r#"<userTask id="task"/>"#), Some("50")),
        (camunda("10"), Some("10")),
        (camunda("${p + 1}"), Some("8")),
        (camunda7(r#"<userTask id="task"/>"#), Some("50")),
        (native("-3"), Some("-3")),
        (native("${p}"), Some("7")),
        (Scenario::process(r#"<userTask id="task"/>"#), None),
    ] {
        it.start(r#"{"p": 7}"#);
        assert_eq!(field(&it, "priority").as_deref(), expected);
    }
    for mut it in [zeebe("=p"), camunda("${p}"), native("${p}")] {
        it.start(r#"{"p": "high"}"#);
        let failure = it.incident("task").expect("that is no number");
        assert!(failure.message.contains("not a whole number"), "{}", failure.message);
        it.set(r#"{"p": 1}"#);
        it.retry("task");
        assert_eq!(field(&it, "priority").as_deref(), Some("1"));
    }
    let mut it = zeebe("=101");
    it.start("{}");
    assert!(it.incident("task").expect("too much").message.contains("not between 0 and 100"));
    let wrong = Scenario::report(
        r#"<process id="p" isExecutable="true"><userTask id="t" tv:priority="high"/></process>"#,
    );
    assert_eq!(wrong.diagnostics[0].code, "TV0727");
}

#[test]
fn names_for_people_stand_in_one_line() {
    let it =
        Scenario::process("<userTask id=\"task\" name=\"Assign&#10;  the&#13;&#10;Approver \"/>");
    let label = it.plan.nodes.iter().find(|it| &*it.name == "task").and_then(|it| it.label.clone());
    assert_eq!(label.as_deref(), Some("Assign the Approver"));
}

#[test]
fn a_timer_of_camunda_8_takes_a_cycle() {
    let mut it = camunda8(
        r#"<startEvent id="start"/><userTask id="task"/>
        <boundaryEvent id="tick" attachedToRef="task" cancelActivity="false"><timerEventDefinition>
          <timeCycle>=cycle(n, duration("PT1H"))</timeCycle></timerEventDefinition></boundaryEvent>
        <userTask id="nudge"/><path>start task</path><path>tick nudge</path>"#,
    );
    it.start(r#"{"n": 2}"#);
    (0..3).for_each(|_| it.advance(3_600_000));
    assert_eq!(it.tokens_at("nudge").len(), 2);
}

#[test]
fn expressions_of_camunda_7_know_the_time_and_where_they_are() {
    let mut it = camunda7(
        r#"<startEvent id="start"/><serviceTask id="task" name="The task" camunda:resultVariable="r"
           camunda:expression="${execution.currentActivityName} ${execution.currentActivityId} ${now()}"/>
           <userTask id="after"/><path>start task after</path>"#,
    );
    it.advance(1_000);
    it.start("{}");
    assert_eq!(it.variables(), r#"{"r":"The task task 1970-01-01T00:00:01Z"}"#);
}
