//! Running instances that go on by another version of their process.

use std::fmt::Write as _;

use travertine_kernel::{Modification, Problem, WaitFor, Which};
use travertine_testkit::{Scenario, assignments};

fn started(inside: &str) -> Scenario {
    let mut it = Scenario::process(inside);
    it.start("{}");
    it
}

fn timer(id: &str, at: &str, duration: &str) -> String {
    format!(
        r#"<boundaryEvent id="{id}" attachedToRef="{at}" cancelActivity="false">
           <timerEventDefinition><timeDuration>{duration}</timeDuration></timerEventDefinition>
           </boundaryEvent> <userTask id="{id}-task"/> <path>{id} {id}-task</path>"#
    )
}

const TWO: &str = r#"<userTask id="a"/> <userTask id="b"/> <path>a b</path>"#;

#[test]
fn what_comes_next_is_what_the_new_process_says() {
    let mut it = started(TWO);
    let to = Scenario::process(
        r#"<userTask id="before"/> <userTask id="a"/> <userTask id="c"/> <path>before a c</path>"#,
    );
    let wait = it.waits_at("a");
    assert_eq!(it.dry_run(&to, &[]), ["token 1 stays at p", "token 2 stays at a"]);
    it.migrate(&to, &[]).unwrap();
    assert_eq!(it.waits_at("a"), wait, "the work goes on");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["c"]);
}

#[test]
fn a_mapping_says_what_has_become_of_an_element() {
    let mut it = started(TWO);
    let to = Scenario::process(r#"<userTask id="x"/> <userTask id="b"/> <path>x b</path>"#);
    assert_eq!(
        it.dry_run(&to, &[]),
        ["token 1 stays at p", "! token 2 is at a, which the new process has not: map it"]
    );
    assert!(it.migrate(&to, &[]).is_err());
    assert_eq!(
        it.dry_run(&to, &[("a", "y"), ("q", "b")]),
        [
            "! the mapping leads to y, which the new process has not",
            "! the mapping names q, which is not there"
        ]
    );
    let mapping = [("a", "x")];
    assert_eq!(it.dry_run(&to, &mapping)[1], "token 2 goes from a to x");
    it.migrate(&to, &mapping).unwrap();
    assert_eq!(it.waiting(), ["x"]);
    it.complete("x", "{}");
    assert_eq!(it.waiting(), ["b"]);
}

#[test]
fn work_that_is_defined_differently_is_offered_anew() {
    let task = |kind: &str| format!(r#"<serviceTask id="job" tv:jobType="{kind}"/>"#);
    let mut it = started(&task("old"));
    let to = Scenario::process(&task("new"));
    it.fail("job", 0);
    let wait = it.waits_at("job")[0];
    assert_eq!(
        it.dry_run(&to, &[])[2],
        "token 2 at job waits anew: its work is defined differently"
    );
    it.migrate(&to, &[]).unwrap();
    let renewed = it.waits_at("job")[0];
    assert_ne!(renewed, wait);
    assert!(
        matches!(&*it.instance.waits[&renewed].on, WaitFor::Work(it) if &*it.job_type == "new")
    );
    assert!(it.instance.incidents.is_empty(), "what failed was something else");
    it.complete("job", "{}");
    assert!(it.is_completed());
}

#[test]
fn work_that_has_other_retries_is_offered_anew() {
    let task = |retries: &str| format!(r#"<serviceTask id="job" tv:jobType="work" {retries}/>"#);
    let all = ["", r#"tv:retries="2""#, r#"tv:retries="5""#];
    for from in all {
        for to in all {
            let mut it = started(&task(from));
            let wait = it.waits_at("job");
            it.migrate(&Scenario::process(&task(to)), &[]).unwrap();
            assert_eq!(it.waits_at("job") == wait, from == to, "{from} {to}");
        }
    }
}

#[test]
fn a_called_process_must_be_called_by_the_new_process_too() {
    let model = |called: &str, other: &str| {
        let process = |id: &str| {
            format!(
                r#"<process id="{id}" isExecutable="true"><startEvent id="{id}_start"/><userTask id="{id}_work"/>
                   <path>{id}_start {id}_work</path></process>"#
            )
        };
        Scenario::definitions(&format!(
            r#"<process id="p" isExecutable="true"><startEvent id="start"/>
               <callActivity id="call" calledElement="{called}" tv:gosub="true"/>
               <callActivity id="later" calledElement="{other}" tv:gosub="true"/> <path>start call later</path></process>
               {}{}"#,
            process("q"),
            process("r")
        ))
    };
    let mut it = model("q", "r");
    it.start("{}");
    assert_eq!(it.waiting(), ["q_work"]);
    let refused = it.migrate(&model("r", "q"), &[]).unwrap_err();
    assert!(
        matches!(&refused[..], [Problem::OtherKind { element, to, .. }] if **element == *"q" && **to == *"q"),
        "{refused:?}"
    );
    it.migrate(&model("q", "q"), &[]).unwrap();
    for _ in 0..2 {
        it.complete("q_work", "{}");
    }
    assert!(it.is_completed());
}

#[test]
fn timers_run_on_unless_they_are_defined_differently() {
    let model = |duration: &str| format!(r#"<userTask id="a"/> {}"#, timer("late", "a", duration));
    let mut it = started(&model("PT1H"));
    it.advance(30 * 60_000);
    it.migrate(&Scenario::process(&model("PT1H")), &[]).unwrap();
    it.advance(30 * 60_000);
    assert_eq!(it.waiting(), ["a", "late-task"]);
    // It has gone off and does not come back.
    it.migrate(&Scenario::process(&model("PT1H")), &[]).unwrap();
    assert_eq!(it.armed(), ["a", "late-task"]);

    let mut it = started(&model("PT1H"));
    it.advance(30 * 60_000);
    it.migrate(&Scenario::process(&model("PT2H")), &[]).unwrap();
    it.advance(90 * 60_000);
    assert_eq!(it.waiting(), ["a"]);
    it.advance(30 * 60_000);
    assert_eq!(it.waiting(), ["a", "late-task"]);
}

#[test]
fn boundary_events_come_and_go() {
    let mut it = started(&format!(r#"<userTask id="a"/> {}"#, timer("old", "a", "PT1H")));
    let to = Scenario::process(&format!(r#"<userTask id="a"/> {}"#, timer("new", "a", "PT5H")));
    assert_eq!(
        it.dry_run(&to, &[]),
        [
            "token 1 stays at p",
            "token 2 stays at a",
            "token 2 at a: new is armed",
            "token 3: old is not there any more",
        ]
    );
    it.migrate(&to, &[]).unwrap();
    assert_eq!(it.armed(), ["a", "new"]);
    it.advance(5 * 3_600_000);
    assert_eq!(it.waiting(), ["a", "new-task"]);
}

#[test]
fn a_boundary_event_that_is_new_is_armed_once_for_all_runs_at_work() {
    let runs = r#"<userTask id="a"><multiInstanceLoopCharacteristics>
        <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></userTask>"#;
    let mut it = started(runs);
    let to = Scenario::process(&format!("{runs} {}", timer("late", "a", "PT1H")));
    it.migrate(&to, &[]).unwrap();
    assert_eq!(it.armed(), ["a", "a", "late"]);
    it.advance(3_600_000);
    assert_eq!(it.waiting(), ["a", "a", "late-task"]);
}

#[test]
fn event_sub_processes_come_and_go() {
    let model = |id: &str| {
        format!(
            r#"<signal id="S" name="S"/><process id="p" isExecutable="true"><userTask id="a"/>
               <subProcess id="{id}" triggeredByEvent="true"><startEvent id="{id}-start">
               <signalEventDefinition signalRef="S"/></startEvent><userTask id="{id}-task"/>
               <path>{id}-start {id}-task</path></subProcess></process>"#
        )
    };
    let mut it = Scenario::definitions(&model("one"));
    it.start("{}");
    it.migrate(&Scenario::definitions(&model("two")), &[]).unwrap();
    assert_eq!(it.armed(), ["a", "two-start"]);
    // By another name it is the same one, and goes on listening.
    let listening = it.waits_at("two-start");
    it.migrate(&Scenario::definitions(&model("three")), &[("two", "three")]).unwrap();
    assert_eq!(it.waits_at("three-start"), listening);
    it.signal("S", "{}");
    assert_eq!(it.waiting(), ["three-task"]);
}

#[test]
fn nothing_new_is_armed_in_a_scope_where_only_event_sub_processes_go_on() {
    let event = |id: &str| {
        format!(
            r#"<subProcess id="{id}" triggeredByEvent="true"><startEvent id="{id}-start" isInterrupting="false">
               <signalEventDefinition signalRef="S"/></startEvent><userTask id="{id}-task"/>
               <path>{id}-start {id}-task</path></subProcess>"#
        )
    };
    let model = |events: &str| {
        Scenario::definitions(&format!(
            r#"<signal id="S" name="S"/><process id="p" isExecutable="true"><userTask id="a"/> {events}</process>"#
        ))
    };
    let to = model(&format!("{}{}", event("one"), event("two")));
    for is_closing in [false, true] {
        let mut it = model(&event("one"));
        it.start("{}");
        it.signal("S", "{}");
        if is_closing {
            it.complete("a", "{}");
        }
        it.migrate(&to, &[]).unwrap();
        assert_eq!(it.armed().contains(&"two-start"), !is_closing, "{:?}", it.armed());
    }
}

#[test]
fn events_behind_a_gateway_come_and_go() {
    let model = |names: &[&str]| {
        let mut inside = r#"<eventBasedGateway id="g"/>"#.to_owned();
        for name in names {
            write!(
                inside,
                r#"<intermediateCatchEvent id="{name}"><timerEventDefinition>
                   <timeDuration>PT{}H</timeDuration></timerEventDefinition></intermediateCatchEvent>
                   <path>g {name}</path>"#,
                name.len()
            )
            .unwrap();
        }
        inside
    };
    let mut it = started(&model(&["x", "yy"]));
    it.migrate(&Scenario::process(&model(&["yy", "zzz"])), &[]).unwrap();
    assert_eq!(it.armed(), ["yy", "zzz"]);
    let problems = it.migrate(&Scenario::process(&model(&["qqqq", "rrrrr"])), &[]);
    assert_eq!(problems, Ok(()), "a new one takes the place of those that are gone");
    it.advance(4 * 3_600_000);
    assert!(it.is_completed());
}

#[test]
fn everything_that_stands_against_it_is_said_at_once() {
    let old = r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
        <subProcess id="s"> <userTask id="inside"/> </subProcess>
        <userTask id="m"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
          </multiInstanceLoopCharacteristics></userTask>
        <path>fork a</path> <path>fork b</path> <path>fork s</path> <path>fork m</path>"#;
    let new = r#"<parallelGateway id="fork"/> <receiveTask id="b" messageRef="M"/>
        <subProcess id="s"> <task id="else"/> </subProcess> <userTask id="inside"/>
        <userTask id="m"><multiInstanceLoopCharacteristics isSequential="true">
          <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></userTask>
        <path>fork b</path> <path>fork s</path> <path>fork m</path> <path>fork inside</path>"#;
    let mut it = started(old);
    let to = Scenario::definitions(&format!(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">{new}</process>"#
    ));
    let problems = it.migrate(&to, &[]).unwrap_err();
    let kinds: Vec<&str> = problems
        .iter()
        .map(|it| match it {
            Problem::NoSuchElement { .. } => "none",
            Problem::OtherKind { .. } => "kind",
            Problem::OtherParent { .. } => "parent",
            Problem::OtherRepeat { .. } => "repeat",
            _ => "?",
        })
        .collect();
    assert_eq!(kinds, ["none", "kind", "repeat", "parent", "repeat", "repeat"], "{problems:?}");
    it.complete("a", "{}");
    it.cancel();
    assert_eq!(it.migrate(&to, &[]), Err(vec![Problem::NotRunning]));
}

fn fork(kind: &str, branches: &[&str]) -> String {
    let mut inside = format!(r#"<{kind} id="fork"/> <{kind} id="join"/> <userTask id="after"/>"#);
    for name in branches {
        write!(inside, r#"<userTask id="{name}"/> <path>fork {name} join</path>"#).expect("text");
    }
    inside + "<path>join after</path>"
}

#[test]
fn a_join_waits_for_the_flows_of_the_new_process() {
    let mut it = started(&fork("parallelGateway", &["a", "b"]));
    it.complete("a", "{}");
    // One more flow leads to the join: the token that waits there waits for that, too.
    let more = Scenario::process(&fork("parallelGateway", &["c", "b", "a"]));
    it.migrate(&more, &[]).unwrap();
    it.complete("b", "{}");
    assert_eq!(it.waiting(), [""; 0]);
    assert_eq!(it.tokens_at("join").len(), 2);
    // Now it has all it needs.
    let fewer = Scenario::process(&fork("parallelGateway", &["b", "a"]));
    it.migrate(&fewer, &[]).unwrap();
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_token_at_a_join_must_have_come_by_a_flow() {
    let mut it = started(&fork("parallelGateway", &["a", "b"]));
    it.complete("a", "{}");
    let to = Scenario::process(&fork("parallelGateway", &["c", "b"]));
    let problems = it.migrate(&to, &[]).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "token 2 waits for others and came by a-join, which the new process has not: map it"
    );
    it.migrate(&to, &[("a-join", "c-join")]).unwrap();
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_inclusive_join_that_is_new_knows_who_is_on_the_way() {
    let mut it = started(
        &fork("parallelGateway", &["a", "b"])
            .replace(r#"<parallelGateway id="join"/>"#, r#"<exclusiveGateway id="join"/>"#),
    );
    let to = Scenario::process(
        &fork("parallelGateway", &["a", "b"])
            .replace(r#"<parallelGateway id="join"/>"#, r#"<inclusiveGateway id="join"/>"#),
    );
    it.migrate(&to, &[]).unwrap();
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"]);
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_failed_is_tried_again_as_the_new_process_says() {
    let script = |text: &str| {
        format!(
            r#"<scriptTask id="s" scriptFormat="javascript"><script>{text}</script>
               </scriptTask> <userTask id="after"/> <path>s after</path>"#
        )
    };
    let mut it = started(&script("missing.field"));
    assert!(it.incident("s").is_some());
    it.migrate(&Scenario::process(&script("1 + 1")), &[]).unwrap();
    it.retry("s");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn what_was_done_is_undone_as_the_new_process_says() {
    let model = |undo: &str| {
        format!(
            r#"<userTask id="book"/> <userTask id="next"/>
               <boundaryEvent id="on" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
               <userTask id="{undo}" isForCompensation="true"/>
               <association id="a1" sourceRef="on" targetRef="{undo}" associationDirection="One"/>
               <intermediateThrowEvent id="throw"><compensateEventDefinition/>
               </intermediateThrowEvent> <path>book next throw</path>"#
        )
    };
    let mut it = started(&model("unbook"));
    it.complete("book", "{}");
    it.migrate(&Scenario::process(&model("refund")), &[]).unwrap();
    it.complete("next", "{}");
    assert_eq!(it.waiting(), ["refund"]);
    let problems = it.migrate(&Scenario::process(TWO), &[]).unwrap_err();
    assert!(problems.iter().all(|it| matches!(it, Problem::NoSuchElement { .. })), "{problems:?}");
    it.complete("refund", "{}");
    assert!(it.is_completed());
}

#[test]
fn runs_go_on_one_by_one() {
    let model = |name: &str| {
        format!(
            r#"<subProcess id="each"> <userTask id="{name}"/> <userTask id="second"/>
                 <path>{name} second</path>
               <multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>2</loopCardinality>
               </multiInstanceLoopCharacteristics></subProcess>"#
        )
    };
    let mut it = started(&model("first"));
    it.migrate(&Scenario::process(&model("other")), &[("first", "other")]).unwrap();
    for _ in 0..2 {
        it.complete("other", "{}");
        it.complete("second", "{}");
    }
    assert!(it.is_completed());
}

/// A process in which something called `it` waits.
fn with(it: &str) -> Scenario {
    Scenario::definitions(&format!(
        r#"<message id="M" name="M"/> <message id="N" name="N"/> <signal id="S" name="S"/>
           <signal id="T" name="T"/> <process id="p" isExecutable="true"><startEvent id="start"/>
           {it} <path>start it</path></process>"#
    ))
}

#[test]
fn whoever_waits_for_what_is_defined_differently_waits_anew() {
    let catch = |definition: &str| {
        format!(r#"<intermediateCatchEvent id="it">{definition}</intermediateCatchEvent>"#)
    };
    let message = |name: &str, correlation: &str| {
        catch(&format!(
            r#"<extensionElements>{correlation}</extensionElements><messageEventDefinition messageRef="{name}"/>"#
        ))
    };
    let key = |name: &str, value: &str| {
        format!(r#"<tv:correlation name="{name}">{value}</tv:correlation>"#)
    };
    let signal = |name: &str| catch(&format!(r#"<signalEventDefinition signalRef="{name}"/>"#));
    let timer = |kind: &str, when: &str| {
        catch(&format!("<timerEventDefinition><{kind}>{when}</{kind}></timerEventDefinition>"))
    };
    let condition = |options: &str, when: &str| {
        catch(&format!(
            "<conditionalEventDefinition {options}><condition>{when}</condition></conditionalEventDefinition>"
        ))
    };
    let both = |parallel: bool| {
        format!(
            r#"<intermediateCatchEvent id="it" parallelMultiple="{parallel}"><signalEventDefinition signalRef="S"/>
               <messageEventDefinition messageRef="M"/></intermediateCatchEvent>"#
        )
    };
    let send = |name: &str, payload: &str| {
        format!(
            r#"<sendTask id="it" messageRef="{name}"><extensionElements>{payload}</extensionElements></sendTask>"#
        )
    };
    let input =
        |name: &str, value: &str| format!(r#"<tv:payload name="{name}">{value}</tv:payload>"#);
    for kinds in [
        vec![
            message("M", ""),
            message("N", ""),
            message("M", &key("order", "1")),
            message("M", &key("client", "1")),
            message("M", &key("order", "2")),
        ],
        vec![signal("S"), signal("T")],
        vec![
            timer("timeDuration", "PT1H"),
            timer("timeDuration", "PT2H"),
            timer("timeDate", "2030-01-01T00:00:00Z"),
        ],
        vec![
            condition("", "x == 1"),
            condition("", "x == 2"),
            condition(r#"tv:variables="x""#, "x == 1"),
            condition(r#"tv:changes="create""#, "x == 1"),
        ],
        vec![both(true), both(false)],
        vec![
            send("M", ""),
            send("N", ""),
            send("M", &input("a", "1")),
            send("M", &input("b", "1")),
            send("M", &input("a", "2")),
        ],
    ] {
        for (from, old) in kinds.iter().enumerate() {
            for (to, new) in kinds.iter().enumerate() {
                let mut it = with(old);
                it.start("{}");
                let before = it.waits_at("it");
                assert!(!before.is_empty(), "{old}");
                it.migrate(&with(new), &[]).unwrap();
                let kept = it.waits_at("it") == before;
                assert_eq!(kept, from == to, "{old} becomes {new}");
            }
        }
    }
}

#[test]
fn two_events_cannot_become_one() {
    let beside = |names: &[&str]| {
        let mut inside = r#"<userTask id="a"/>"#.to_owned();
        for name in names {
            write!(
                inside,
                r#"<boundaryEvent id="{name}" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H
                   </timeDuration></timerEventDefinition></boundaryEvent>
                   <userTask id="{name}-task"/> <path>{name} {name}-task</path>"#
            )
            .unwrap();
        }
        inside
    };
    let mut it = started(&beside(&["x", "y"]));
    let to = Scenario::process(&beside(&["x"]));
    let problems = it.migrate(&to, &[("y", "x")]).unwrap_err();
    assert!(matches!(problems[..], [Problem::Twice { .. }]), "{problems:?}");
    it.migrate(&to, &[]).unwrap();
    assert_eq!(it.armed(), ["a", "x"]);
}

#[test]
fn how_a_token_came_to_a_task_is_of_no_consequence() {
    let mut it = started(r#"<userTask id="a"/> <userTask id="b"/> <path>a b</path>"#);
    it.complete("a", "{}");
    let to = Scenario::process(r#"<userTask id="x"/> <userTask id="b"/> <path>x b</path>"#);
    it.migrate(&to, &[]).unwrap();
    assert_eq!(it.waiting(), ["b"]);
    it.complete("b", "{}");
    assert!(it.is_completed());
}

#[test]
fn a_flow_of_the_same_name_that_leads_elsewhere_is_another_one() {
    let model = |into_join: &str, aside: &str| {
        format!(
            r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
               <parallelGateway id="join"/> <userTask id="after"/>
               <sequenceFlow id="{into_join}" sourceRef="a" targetRef="join"/>
               <sequenceFlow id="{aside}" sourceRef="c" targetRef="after"/>
               <path>fork a</path> <path>fork b join after</path> <path>fork c</path>"#
        )
    };
    let mut it = started(&model("one", "two"));
    it.complete("a", "{}");
    it.migrate(&Scenario::process(&model("two", "one")), &[]).unwrap();
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after", "c"]);
}

#[test]
fn who_is_on_the_way_in_goes_to_what_the_element_has_become() {
    let model = |deep: &str, first: &str| {
        format!(
            r#"<userTask id="first"/> <subProcess id="sub">
                 <extensionElements><tv:input target="local">base + 1</tv:input></extensionElements>
                 <subProcess id="{deep}"> <userTask id="{first}"/> <userTask id="second"/>
                   <path>{first} second</path> </subProcess> </subProcess> <path>first sub</path>"#
        )
    };
    let mut it = Scenario::process(&model("deep", "a"));
    it.start_at("second", "{}");
    let mut more = it.before("a");
    more.variables = vec![(it.plan.find("deep").unwrap(), assignments(r#"{"own": 7}"#))];
    it.modify(vec![Modification::Add { to: more, scope: None }]);
    assert!(it.incident("sub").is_some(), "it cannot be entered yet");
    let to = Scenario::process(&format!(r#"<task id="other"/> {}"#, model("inner", "b")));
    let problems = it.migrate(&to, &[("deep", "inner")]).unwrap_err();
    assert!(!problems.is_empty(), "nobody has said what becomes of a");
    it.migrate(&to, &[("deep", "inner"), ("a", "b")]).unwrap();
    it.set(r#"{"base": 1}"#);
    it.retry("sub");
    assert_eq!(it.waiting(), ["b", "second"]);
    assert_eq!(it.seen_at("b", "own").as_deref(), Some("7"));
}

#[test]
fn branches_that_have_arrived_go_on_at_what_their_join_has_become() {
    let model = |join: &str, kind: &str| {
        format!(
            r#"<task id="{join}-before"/> <parallelGateway id="fork" tv:fork="isolate"/> <userTask id="a"/> <userTask id="b"/>
               <{kind} id="{join}" tv:merge="append" tv:path="all"/> <userTask id="after"/>
               <path>{join}-before fork a {join} after</path> <path>fork b {join}</path>"#
        )
    };
    let mut it = started(&model("join", "parallelGateway"));
    it.complete("a", r#"{"x": 1}"#);
    assert!(it.migrate(&Scenario::process(&model("other", "parallelGateway")), &[]).is_err());
    it.migrate(&Scenario::process(&model("other", "parallelGateway")), &[("join", "other")])
        .unwrap();
    it.complete("b", r#"{"y": 2}"#);
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.variables(), r#"{"all":[{"x":1},{"y":2}]}"#);
}

#[test]
fn an_event_that_cannot_be_armed_stands_against_it() {
    let mut it = started(r#"<userTask id="a"/>"#);
    let to = Scenario::process(
        r#"<userTask id="a"/> <boundaryEvent id="late" attachedToRef="a"><timerEventDefinition>
           <timeDuration>=missing.field</timeDuration></timerEventDefinition></boundaryEvent>
           <userTask id="hurry"/> <path>late hurry</path>"#,
    );
    let problems = it.migrate(&to, &[]).unwrap_err();
    assert!(matches!(problems[..], [Problem::CannotArm { .. }]), "{problems:?}");
    assert_eq!(it.armed(), ["a"]);
}

#[test]
fn who_waits_for_data_begins_where_the_new_process_needs_none() {
    let model = |needs: &str| {
        format!(
            r#"<dataObject id="o"/> <dataObjectReference id="paper" dataObjectRef="o"/>
               <userTask id="t">{needs}</userTask>"#
        )
    };
    let needs = r#"<ioSpecification><dataInput id="x"/><inputSet><dataInputRefs>x</dataInputRefs></inputSet>
        <outputSet/></ioSpecification>
        <dataInputAssociation><sourceRef>paper</sourceRef><targetRef>x</targetRef></dataInputAssociation>"#;
    let mut it = started(&model(needs));
    let waits =
        |it: &Scenario| matches!(*it.instance.waits[&it.waits_at("t")[0]].on, WaitFor::Data { .. });
    assert!(waits(&it), "{}", it.trace());
    it.migrate(&Scenario::process(&model(needs)), &[]).unwrap();
    assert!(waits(&it));
    it.migrate(&Scenario::process(&model("")), &[]).unwrap();
    assert!(!waits(&it));
    it.complete("t", "{}");
    assert!(it.is_completed());
}

#[test]
fn every_join_that_has_all_it_needs_goes_on() {
    let model = |more: bool| {
        let third = |n: u32| {
            if more {
                format!(r#"<userTask id="c{n}"/> <path>fork c{n} join{n}</path>"#)
            } else {
                String::new()
            }
        };
        format!(
            r#"<parallelGateway id="fork"/> <parallelGateway id="join1"/> <parallelGateway id="join2"/>
               <userTask id="a1"/> <userTask id="b1"/> <userTask id="a2"/> <userTask id="b2"/>
               <userTask id="after1"/> <userTask id="after2"/> {} {}
               <path>fork a1 join1 after1</path> <path>fork b1 join1</path>
               <path>fork a2 join2 after2</path> <path>fork b2 join2</path>"#,
            third(1),
            third(2)
        )
    };
    let mut it = started(&model(true));
    it.modify(vec![
        Modification::Withdraw(Which::At(it.plan.find("c1").unwrap())),
        Modification::Withdraw(Which::At(it.plan.find("c2").unwrap())),
    ]);
    for name in ["a1", "b1", "a2", "b2"] {
        it.complete(name, "{}");
    }
    assert_eq!(it.waiting(), [""; 0]);
    it.migrate(&Scenario::process(&model(false)), &[]).unwrap();
    assert_eq!(it.waiting(), ["after1", "after2"]);
}

#[test]
fn a_boundary_event_that_stands_beside_another_activity_is_another_one() {
    let model = |host: &str| {
        format!(
            r#"<userTask id="a"/> <userTask id="b"/> <path>a b</path>
               <boundaryEvent id="late" attachedToRef="{host}"><timerEventDefinition><timeDuration>PT1H</timeDuration>
               </timerEventDefinition></boundaryEvent> <userTask id="hurry"/> <path>late hurry</path>"#
        )
    };
    let mut it = started(&model("a"));
    it.migrate(&Scenario::process(&model("b")), &[]).unwrap();
    assert_eq!(it.armed(), ["a"]);
    it.complete("a", "{}");
    assert_eq!(it.armed(), ["b", "late"]);
}

#[test]
fn what_undoes_one_activity_does_not_come_to_undo_another() {
    let model = |host: &str| {
        format!(
            r#"<userTask id="book"/> <userTask id="pay"/> <userTask id="next"/> <path>book pay next</path>
               <boundaryEvent id="on" attachedToRef="{host}"><compensateEventDefinition/></boundaryEvent>
               <userTask id="undo" isForCompensation="true"/>
               <association id="a1" sourceRef="on" targetRef="undo" associationDirection="One"/>"#
        )
    };
    let mut it = started(&model("book"));
    it.complete("book", "{}");
    let problems = it.migrate(&Scenario::process(&model("pay")), &[]).unwrap_err();
    assert!(matches!(problems[..], [Problem::OtherParent { .. }]), "{problems:?}");
}

#[test]
fn what_is_waited_for_anew_must_be_possible() {
    let model = |duration: &str| {
        format!(
            r#"<intermediateCatchEvent id="a"><timerEventDefinition><timeDuration>{duration}</timeDuration>
               </timerEventDefinition></intermediateCatchEvent>"#
        )
    };
    let mut it = started(&model("PT1H"));
    let problems = it.migrate(&Scenario::process(&model("=missing.field")), &[]).unwrap_err();
    assert!(matches!(problems[..], [Problem::CannotArm { .. }]), "{problems:?}");
    it.advance(3_600_000);
    assert!(it.is_completed());
}

#[test]
fn scopes_and_what_they_wait_for_are_found_in_the_new_process() {
    let model = |more: &str| {
        Scenario::definitions(&format!(
            r#"<escalation id="U" escalationCode="U"/> <process id="p" isExecutable="true"> {more}
                 <subProcess id="sub"> <serviceTask id="a"/> <userTask id="b"/> <path>a b</path>
                   <subProcess id="on" triggeredByEvent="true"><startEvent id="s" isInterrupting="false">
                     <escalationEventDefinition escalationRef="U"/></startEvent>
                     <userTask id="look"/> <path>s look</path></subProcess>
                 </subProcess></process>"#
        ))
    };
    let mut it = model("");
    it.start("{}");
    it.migrate(&model(r#"<subProcess id="x"> <task id="y"/> <task id="z"/> </subProcess>"#), &[])
        .unwrap();
    it.modify(vec![Modification::Add { to: it.before("b"), scope: None }]);
    assert_eq!(it.waiting(), ["a", "b"]);
    assert_eq!(it.tokens_at("sub").len(), 1);
    it.escalate("a", "U");
    assert_eq!(it.waiting(), ["a", "b", "look"]);
}

#[test]
fn a_round_of_a_complex_join_goes_on_by_the_flows_of_the_new_process() {
    let model = |more: &str| {
        format!(
            r#"{more} <parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
               <complexGateway id="join"><activationCondition>activationCount &gt; 0</activationCondition></complexGateway>
               <userTask id="after"/> <path>fork a join after</path> <path>fork b join</path> <path>fork c join</path>"#
        )
    };
    let mut it = started(&model(""));
    it.complete("a", "{}");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["after", "c"]);
    it.migrate(
        &Scenario::process(&model(r#"<task id="x"/> <task id="y"/> <path>x y</path>"#)),
        &[],
    )
    .unwrap();
    it.complete("c", "{}");
    assert_eq!(it.waiting(), ["after"], "it is for the round that has gone on already");
}
