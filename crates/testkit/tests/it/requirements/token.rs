//! The life cycle of a token at an activity: `TOKEN-1` to `TOKEN-46` of the requirements.

use std::fmt::Write as _;

use travertine_kernel::{Event, FailureKind, Gate, ROOT, Role, State, WaitFor};
use travertine_testkit::Scenario;
use travertine_value::Value;

use super::common::{
    CAUGHT, definitions, event_sub_process, life, lives, on_message, run, run_undoing, status,
    token, undo, visits,
};

use State::{
    Arrived, Busy, Completed, Created, Departed, Done, Entered, Exiting, Failed, Failing, Ready,
    Waiting, Withdrawn,
};

/// An activity between two others.
fn between(activity: &str) -> String {
    format!(r#"<task id="begin"/> {activity} <userTask id="next"/> <path>begin sub next</path>"#)
}

/// The gate at which the only token of a node waits.
fn gate(it: &Scenario, node: &str) -> Option<Gate> {
    let waits = it.waits_at(node);
    assert!(waits.len() < 2);
    match &*it.instance.waits[waits.first()?].on {
        WaitFor::Gate(gate) => Some(*gate),
        _ => None,
    }
}

/// The nodes where tokens stay for compensation, oldest first.
fn undoable(it: &Scenario) -> Vec<&str> {
    let all = it.instance.tokens.iter().filter(|(_, token)| token.role == Role::Compensation);
    all.map(|(id, _)| it.node(*id)).collect()
}

/// The nodes at which tokens were created, in that order, after the first `skip` events.
fn created(it: &Scenario, skip: usize) -> Vec<&str> {
    let new = it.events[skip..].iter().filter_map(|event| match event {
        Event::TokenCreated { node, .. } => Some(&*it.plan.node(*node).name),
        _ => None,
    });
    new.collect()
}

fn failure(it: &Scenario, node: &str) -> Option<FailureKind> {
    it.incident(node).map(|it| it.kind.clone())
}

fn is_rejected(inside: &str) -> bool {
    Scenario::report(&definitions("", inside)).is_rejected()
}

// ---- The arrows

fn gated() -> Scenario {
    run(
        "load=0",
        &between(
            r#"<subProcess id="sub" tv:gate="ready entry exit"><ext>load := load + 1</ext>
                 <userTask id="work"/>
               </subProcess>"#,
        ),
    )
}

// covers: TOKEN-1
#[test]
fn a_token_that_comes_by_a_flow_has_arrived() {
    let it = gated();
    assert_eq!(it.state("sub"), Some(Arrived));
    assert!(it.instance.tokens[&token(&it, "sub")].via.is_some());
    assert_eq!(gate(&it, "sub"), Some(Gate::Ready));
    assert_eq!(it.waiting(), ["sub"]);
}

// covers: TOKEN-2
#[test]
fn the_ready_event_makes_an_arrived_token_ready_and_no_more() {
    let mut it = gated();
    it.complete("sub", "{}");
    assert_eq!(it.state("sub"), Some(Ready));
    assert_eq!(gate(&it, "sub"), Some(Gate::Entry));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("0"));
    assert_eq!(it.instance.tokens.len(), 2, "the process's and this one");
}

// covers: TOKEN-3, TOKEN-4
#[test]
fn the_entry_event_makes_a_ready_token_entered_and_then_busy() {
    let mut it = gated();
    it.complete("sub", "{}");
    it.complete("sub", "{}");
    assert_eq!(it.state("sub"), Some(Busy));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("1"), "its operators are done");
    assert_eq!(it.waiting(), ["work"]);
}

// covers: TOKEN-6, TOKEN-8, TOKEN-9, TOKEN-35, TOKEN-41
#[test]
fn a_completed_token_departs_on_the_exit_event_and_not_before() {
    let mut it = gated();
    it.complete("sub", "{}");
    it.complete("sub", "{}");
    it.complete("work", r#"{"load": 6}"#);
    assert_eq!(it.state("sub"), Some(Completed));
    assert_eq!(gate(&it, "sub"), Some(Gate::Exit));
    assert_eq!(it.waiting(), ["sub"], "nothing moves before the exit event");
    it.set(r#"{"x": 1}"#);
    it.advance(1_000_000);
    assert_eq!(it.state("sub"), Some(Completed));
    assert_eq!(it.tokens_at("next"), []);
    it.complete("sub", "{}");
    assert_eq!(it.state("next"), Some(Busy));
    let via = it.instance.tokens[&token(&it, "next")].via;
    let via = via.map(|flow| &*it.plan.flow(flow).name);
    assert_eq!(via, Some("sub-next"));
    assert_eq!(status(&it, "next", "load").as_deref(), Some("6"), "with its status");
    assert_eq!(it.tokens_at("sub"), [], "it is there no more");
    assert_eq!(life(&it, "sub"), [Arrived, Ready, Busy, Completed, Departed]);
}

// covers: TOKEN-10
#[test]
fn a_token_without_outgoing_flow_is_done_on_the_exit_event() {
    let mut it = run(
        "load=0",
        r#"<task id="begin"/>
           <subProcess id="sub" tv:gate="exit"><userTask id="work"/></subProcess>
           <path>begin sub</path>"#,
    );
    it.complete("work", "{}");
    assert_eq!(it.state("sub"), Some(Completed));
    assert!(!it.is_completed());
    it.complete("sub", "{}");
    assert_eq!(life(&it, "sub"), [Arrived, Busy, Completed, Done]);
    assert!(it.is_completed());
}

// covers: TOKEN-5, TOKEN-17, TOKEN-22, TOKEN-23, TOKEN-45
#[test]
fn an_infeasible_entry_fails_at_once_and_the_error_boundary_event_catches_it() {
    let restrictions =
        ["entry: load > 0; true", "true; load > 0", "true; entry: load > 0; load == 0"];
    for restrictions in restrictions {
        let mut it = run(
            "load=0",
            &between(&format!(
                r#"<subProcess id="sub" tv:gate="ready entry"><ext>{restrictions}</ext>
                     <userTask id="work"/> {}</subProcess> {CAUGHT}"#,
                event_sub_process("handler", true, "<errorEventDefinition/>")
            )),
        );
        it.complete("sub", "{}");
        assert_eq!(it.waiting(), ["sub"]);
        it.complete("sub", "{}");
        assert_eq!(it.waiting(), ["repair"], "{restrictions}");
        assert_eq!(life(&it, "sub"), [Arrived, Ready, Failed], "not by way of failing");
        assert_eq!(life(&it, "caught").last(), Some(&Departed));
        assert!(!it.trace().contains("at work"), "the inside was never entered");
        it.complete("repair", "{}");
        assert!(it.is_completed());
    }
}

// covers: TOKEN-17
#[test]
fn an_entry_is_feasible_where_all_restrictions_hold() {
    let it = run(
        "load=0",
        &between(
            r#"<subProcess id="sub"><ext>entry: load == 0; load < 1; exit: load > 5</ext>
                 <userTask id="work"/></subProcess>"#,
        ),
    );
    assert_eq!(it.waiting(), ["work"], "those of other points do not count");
}

/// `first` is undone before `sub` has failed.
fn fails_while_busy() -> Scenario {
    let mut it = run_undoing(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub">
                 <userTask id="first"/> {} <userTask id="work"><ext>load := 5</ext></userTask>
                 <userTask id="beside"/> <userTask id="asleep" tv:gate="ready"/>
                 <path>first work</path>
               </subProcess> {CAUGHT}"#,
            undo("first")
        )),
    );
    it.complete("first", "{}");
    it
}

// covers: TOKEN-7, TOKEN-12, TOKEN-30, TOKEN-31, TOKEN-44, TOKEN-45
#[test]
fn a_failure_inside_makes_a_busy_token_failing_and_then_failed() {
    let mut it = fails_while_busy();
    assert_eq!(it.waiting(), ["asleep", "beside", "work"]);
    it.raise("work", "E");
    assert_eq!(it.state("sub"), Some(Failing));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("5"), "the status of who failed");
    assert_eq!(it.waiting(), ["undo-first"], "the error boundary event waits for that");
    it.complete("undo-first", "{}");
    assert_eq!(life(&it, "sub"), [Arrived, Busy, Failing, Failed]);
    assert_eq!(it.waiting(), ["repair"]);
}

// covers: TOKEN-31, TOKEN-44
#[test]
fn all_that_is_inside_is_gone_before_the_token_is_failing() {
    let mut it = fails_while_busy();
    let sub = token(&it, "sub");
    let inside = ["work", "beside", "asleep"].map(|node| token(&it, node));
    let kept = token(&it, "of-first");
    it.raise("work", "E");
    let at = |wanted: &dyn Fn(&Event) -> bool| it.events.iter().position(wanted);
    let failing =
        at(&|event| matches!(event, Event::TokenState { token, state: Failing } if *token == sub))
            .expect("it is failing");
    for inner in inside {
        let gone = at(&|event| matches!(event, Event::TokenGone { token, .. } if *token == inner));
        assert!(gone.expect("it is gone") < failing);
    }
    assert!(it.instance.tokens.contains_key(&kept), "what undoes stays");
    assert_eq!(lives(&it, "beside"), [[Created, Busy, Withdrawn]]);
    assert_eq!(lives(&it, "asleep"), [[Created, Withdrawn]]);
}

/// `work` makes the load 5, with which `sub` may not be left.
fn fails_at_exit(more: &str) -> Scenario {
    let mut it = run_undoing(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"><ext>exit: load < 3</ext>
                 <userTask id="work"><ext>load := 5</ext></userTask> {} {}
               </subProcess> {more}"#,
            undo("work"),
            event_sub_process("handler", true, "<errorEventDefinition/>"),
        )),
    );
    it.complete("work", "{}");
    it
}

// covers: TOKEN-11, TOKEN-12, TOKEN-36, TOKEN-37, TOKEN-44
#[test]
fn an_infeasible_exit_makes_the_token_failing_and_then_failed() {
    let mut it = fails_at_exit(CAUGHT);
    assert_eq!(it.state("sub"), Some(Completed), "the load was allowed until now");
    it.complete("sub", "{}");
    assert_eq!(it.state("sub"), Some(Failing));
    assert_eq!(it.waiting(), ["undo-work"]);
    it.complete("undo-work", "{}");
    assert_eq!(life(&it, "sub"), [Arrived, Busy, Completed, Failing, Failed]);
    assert_eq!(it.waiting(), ["repair"]);
    assert_eq!(it.visits("handler-start"), 0, "its own event sub-process cannot catch that");
}

// covers: TOKEN-37, TOKEN-46
#[test]
fn an_exit_failure_that_nobody_catches_is_an_incident_of_the_activity() {
    let mut it = fails_at_exit("");
    it.complete("sub", "{}");
    assert_eq!(failure(&it, "sub"), Some(FailureKind::Restriction));
    assert!(!it.waiting().contains(&"handler-work"));
    assert_eq!(it.tokens_at("next"), []);
}

// covers: TOKEN-36
#[test]
fn an_exit_that_is_feasible_by_now_is_not_held_back_by_how_it_was_at_entry() {
    let mut it = run(
        "load=9",
        &between(
            r#"<subProcess id="sub"><ext>exit: load < 3</ext>
                 <userTask id="work"><ext>load := 1</ext></userTask></subProcess>"#,
        ),
    );
    it.complete("work", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

/// Whether one arrow, or several that are granted at once, lead from one state to the other.
fn leads(from: State, to: State) -> bool {
    let arrows = [
        (Created, Arrived),
        (Created, Ready),
        (Created, Entered),
        (Arrived, Ready),
        (Arrived, Waiting),
        (Arrived, Entered),
        (Ready, Entered),
        (Entered, Busy),
        (Entered, Failed),
        (Busy, Completed),
        (Busy, Failing),
        (Completed, Exiting),
        (Exiting, Departed),
        (Exiting, Done),
        (Exiting, Failing),
        (Failing, Failed),
        (Waiting, Departed),
        (Waiting, Done),
        (Waiting, Failing),
    ];
    if matches!(from, Departed | Done | Failed | Withdrawn) {
        return false;
    }
    let step = |(here, next): &(State, State)| *here == from && (*next == to || leads(*next, to));
    to == Withdrawn || arrows.iter().any(step)
}

// covers: TOKEN-13, FLOW-44
#[test]
fn no_token_takes_another_arrow() {
    let mut all = Vec::new();
    let mut failing = fails_while_busy();
    failing.raise("work", "E");
    for mut it in [gated(), failing, fails_at_exit(CAUGHT)] {
        while let Some(node) = it.waiting().first().map(|node| (*node).to_owned()) {
            it.complete(&node, "{}");
        }
        all.push(it);
    }
    for cut in 0..4 {
        let mut it = gated();
        for node in ["sub", "sub", "work"].iter().take(cut) {
            it.complete(node, "{}");
        }
        it.cancel();
        all.push(it);
    }
    for it in &all {
        assert!(it.instance.tokens.is_empty(), "all are at their end");
        for (node, states) in visits(it) {
            for pair in states.windows(2) {
                assert!(leads(pair[0], pair[1]), "{node} went from {:?} to {:?}", pair[0], pair[1]);
            }
            let last = states.last().expect("a visit has states");
            let is_last = matches!(last, Departed | Done | Failed | Withdrawn | Completed);
            assert!(is_last, "{node} ended as {last:?}");
        }
    }
}

// covers: TOKEN-13
#[test]
fn the_states_at_the_end_lead_nowhere() {
    let all = [
        Created, Arrived, Ready, Entered, Busy, Completed, Exiting, Departed, Waiting, Done,
        Failing, Failed, Withdrawn,
    ];
    for from in all {
        for to in all {
            if from.leads_to(to) {
                assert!(!matches!(from, Departed | Done | Failed | Withdrawn), "{from:?} {to:?}");
                assert!(from != Failing || matches!(to, Failed | Withdrawn), "{from:?} {to:?}");
                assert!(from < to || from == Waiting, "{from:?} leads back to {to:?}");
            }
            if leads(from, to) {
                assert!(from.leads_to(to), "{from:?} leads to {to:?}");
            }
        }
    }
}

// covers: TOKEN-14, TOKEN-18
#[test]
fn an_activity_without_incoming_flow_in_an_ad_hoc_sub_process_is_created_and_then_ready() {
    let mut it = run(
        "load=0",
        &between(
            r#"<adHocSubProcess id="sub" tv:gate="entry">
                 <userTask id="one" tv:gate="ready entry"/> <userTask id="two"/>
                 <userTask id="after"/> <path>two after</path>
               </adHocSubProcess>"#,
        ),
    );
    assert_eq!(it.tokens_at("one"), [], "not before the parent is entered");
    it.complete("sub", "{}");
    assert_eq!(it.state("one"), Some(Created));
    assert_eq!(gate(&it, "one"), Some(Gate::Ready));
    it.complete("one", "{}");
    assert_eq!(it.state("one"), Some(Ready));
    assert_eq!(gate(&it, "one"), Some(Gate::Entry));
    it.complete("one", "{}");
    it.complete("one", "{}");
    assert_eq!(life(&it, "one"), [Created, Ready, Busy, Done]);
}

// ---- Entered

// covers: TOKEN-15
#[test]
fn operators_come_before_the_feasibility_check() {
    let entered = |first: u32, operator: &str| {
        run(
            &format!("load={first}"),
            &between(&format!(
                r#"<subProcess id="sub"><ext>{operator}; entry: load < 3</ext>
                     <userTask id="work"/></subProcess>"#
            )),
        )
    };
    assert_eq!(entered(9, "load := 2").waiting(), ["work"], "they make it feasible");
    let it = entered(2, "load := 9");
    assert_eq!(failure(&it, "sub"), Some(FailureKind::Restriction), "they make it infeasible");
    let it = entered(0, "load := load + 1; load := load * 2");
    assert_eq!(status(&it, "work", "load").as_deref(), Some("2"), "one after the other");
}

// covers: TOKEN-16
#[test]
fn an_operator_of_a_sub_process_cannot_change_the_timestamp() {
    for kind in ["subProcess", "adHocSubProcess", "transaction"] {
        let entered = |value: &str| {
            run(
                "timestamp=7",
                &between(&format!(
                    r#"<{kind} id="sub"><ext>timestamp := {value}</ext><userTask id="work"/></{kind}>"#
                )),
            )
        };
        let it = entered("timestamp + 1");
        assert_eq!(failure(&it, "sub"), Some(FailureKind::Operator), "{kind}");
        assert_eq!(it.waiting(), [""; 0], "{kind}");
        assert_eq!(entered("timestamp").waiting(), ["work"], "{kind}");
    }
}

// covers: TOKEN-18, TOKEN-24
#[test]
fn a_token_is_created_at_the_only_start_event() {
    let mut it = run(
        "load=0",
        &between(
            r#"<subProcess id="sub" tv:gate="entry">
                 <startEvent id="in"/> <userTask id="work"/> <endEvent id="out"/>
                 <path>in work out</path>
               </subProcess>"#,
        ),
    );
    let before = it.events.len();
    it.complete("sub", "{}");
    assert_eq!(created(&it, before), ["in"]);
    assert_eq!(it.waiting(), ["work"]);
}

// covers: TOKEN-18, TOKEN-25
#[test]
fn a_token_is_created_at_each_start_node_of_an_ad_hoc_sub_process() {
    let mut it = run(
        "load=0",
        &between(
            r#"<adHocSubProcess id="sub" tv:gate="entry">
                 <userTask id="one"/> <userTask id="two"/> <userTask id="after"/>
                 <path>two after</path>
               </adHocSubProcess>"#,
        ),
    );
    let before = it.events.len();
    it.complete("sub", "{}");
    assert_eq!(created(&it, before), ["one", "two"]);
}

/// A sub-process with event sub-processes and boundary events of all kinds, before its entry.
fn watched() -> Scenario {
    let timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
    let kinds = [
        ("message", on_message("M")),
        ("timer", timer.to_owned()),
        ("error", "<errorEventDefinition/>".to_owned()),
        ("escalation", "<escalationEventDefinition/>".to_owned()),
        ("compensate", "<compensateEventDefinition/>".to_owned()),
    ];
    let mut inside = String::new();
    let mut beside = undo("sub");
    for (kind, definition) in &kinds {
        inside += &event_sub_process(kind, true, definition);
        if *kind != "compensate" {
            write!(
                beside,
                r#"<boundaryEvent id="{kind}-boundary" attachedToRef="sub">{definition}
                   </boundaryEvent> <task id="{kind}-way"/> <path>{kind}-boundary {kind}-way</path>"#
            )
            .expect("text");
        }
    }
    run(
        "load=0 place",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="entry exit"><ext>load := 4</ext>
                 <startEvent id="in"/> <userTask id="work"/> <endEvent id="out"/>
                 <path>in work out</path> {inside}
               </subProcess> {beside}"#
        )),
    )
}

// covers: TOKEN-19, TOKEN-20, TOKEN-21
#[test]
fn entry_creates_tokens_at_boundary_events_and_event_sub_processes_but_not_for_compensation() {
    let mut it = watched();
    let before = it.events.len();
    it.complete("sub", "{}");
    let mut new = created(&it, before);
    new.sort_unstable();
    let expected = [
        "error-boundary",
        "error-start",
        "escalation-boundary",
        "escalation-start",
        "in",
        "message-boundary",
        "message-start",
        "timer-boundary",
        "timer-start",
    ];
    assert_eq!(new, expected);
    let sub = token(&it, "sub");
    for node in expected.into_iter().filter(|it| *it != "in").chain(["work"]) {
        let inherited = &it.instance.tokens[&token(&it, node)];
        assert_eq!(inherited.status, it.instance.tokens[&sub].status, "{node}");
        assert_eq!(inherited.state, Busy, "{node}");
        let role = if node.ends_with("boundary") {
            Role::Guard(sub)
        } else if node.ends_with("start") {
            Role::Start
        } else {
            Role::Flow
        };
        assert_eq!(inherited.role, role, "{node}");
    }
    assert_eq!(status(&it, "work", "load").as_deref(), Some("4"), "as the operators left it");
}

// covers: TOKEN-20
#[test]
fn no_token_stands_at_a_boundary_event_before_the_entry() {
    let it = watched();
    assert_eq!(it.armed(), ["sub"]);
    assert_eq!(it.instance.tokens.len(), 2);
}

// covers: TOKEN-22
#[test]
fn an_entry_failure_is_not_for_the_event_sub_process_of_the_activity() {
    let handler = event_sub_process("handler", true, "<errorEventDefinition/>");
    let entering = |inside: &str, beside: &str| {
        run(
            "load=0",
            &between(&format!(
                r#"<subProcess id="sub"><ext>entry: load > 0</ext>
                     <userTask id="work"/> {inside}</subProcess> {beside}"#
            )),
        )
    };
    let it = entering(&handler, "");
    assert_eq!(failure(&it, "sub"), Some(FailureKind::Restriction));
    assert_eq!(it.waiting(), [""; 0]);
    let it = entering("", &handler);
    assert_eq!(it.waiting(), ["handler-work"], "that of the scope around it can");
}

// ---- Well-formedness

// covers: TOKEN-24
#[test]
fn a_sub_process_with_two_blank_start_events_is_rejected() {
    let with = |starts: &str| {
        is_rejected(&between(&format!(
            r#"<subProcess id="sub">{starts}<userTask id="work"/> <endEvent id="out"/>
               <path>work out</path></subProcess>"#
        )))
    };
    let one = r#"<startEvent id="in"/> <path>in work</path>"#;
    let other = r#"<startEvent id="too"/> <path>too work</path>"#;
    assert!(!with(one));
    assert!(with(&format!("{one}{other}")));
}

// covers: TOKEN-24
#[test]
fn a_sub_process_without_start_event_starts_at_every_node_without_incoming_flow() {
    let mut it = run(
        "",
        &between(
            r#"<subProcess id="sub" tv:gate="entry"><userTask id="one"/> <userTask id="two"/>
                 <userTask id="after"/> <path>two after</path></subProcess>"#,
        ),
    );
    let before = it.events.len();
    it.complete("sub", "{}");
    assert_eq!(created(&it, before), ["one", "two"]);
}

// covers: TOKEN-25
#[test]
fn an_ad_hoc_sub_process_with_a_start_event_is_rejected() {
    let with = |start: &str| {
        let inside = format!(r#"{start}<userTask id="work"/>"#);
        is_rejected(&between(&format!(r#"<adHocSubProcess id="sub">{inside}</adHocSubProcess>"#)))
    };
    assert!(!with(""));
    assert!(with(r#"<startEvent id="in"/> <path>in work</path>"#));
}

// covers: TOKEN-26
#[test]
fn an_event_sub_process_needs_one_typed_start_event() {
    let with = |starts: &[&str]| {
        let mut inside = String::new();
        for (number, trigger) in starts.iter().enumerate() {
            write!(
                inside,
                r#"<startEvent id="s{number}">{trigger}</startEvent> <path>s{number} work</path>"#
            )
            .expect("text");
        }
        is_rejected(&between(&format!(
            r#"<subProcess id="sub"><userTask id="x"/>
                 <subProcess id="handler" triggeredByEvent="true">{inside}
                   <task id="work"/> <endEvent id="out"/> <path>work out</path></subProcess>
               </subProcess>"#
        )))
    };
    let (error, message) = ("<errorEventDefinition/>", on_message("M"));
    assert!(!with(&[error]));
    assert!(with(&[]), "none");
    assert!(with(&[""]), "a blank one");
    assert!(with(&[error, &message]), "two");
}

// ---- Busy

// covers: TOKEN-27
#[test]
fn only_the_last_token_inside_ends_busy() {
    let mut it = run(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"><userTask id="one"/> <userTask id="two"/>
                 <intermediateThrowEvent id="tell">
                   <escalationEventDefinition escalationRef="U"/></intermediateThrowEvent>
                 <userTask id="three"/> <path>two tell three</path></subProcess>
               <boundaryEvent id="note" attachedToRef="sub" cancelActivity="false">{}</boundaryEvent>
               <userTask id="noted"/> <path>note noted</path>"#,
            on_message("M")
        )),
    );
    it.complete("one", "{}");
    assert_eq!(it.state("sub"), Some(Busy), "others are there");
    it.complete("two", "{}");
    assert_eq!(it.state("sub"), Some(Busy), "an escalation that nobody catches does no harm");
    it.message("M", "{}");
    assert_eq!(it.state("sub"), Some(Busy), "what does not interrupt does not");
    assert_eq!(it.waiting(), ["noted", "three"]);
    it.complete("three", "{}");
    assert_eq!(it.state("sub"), Some(Completed));
}

// covers: TOKEN-27
#[test]
fn an_interrupting_boundary_event_ends_busy() {
    let mut it = watched();
    it.complete("sub", "{}");
    let boundary = it.waits_at("message-boundary")[0];
    let command = travertine_kernel::Command::Complete { wait: boundary, variables: Vec::new() };
    it.ask(command).expect("it waits for that");
    assert_eq!(life(&it, "sub"), [Arrived, Ready, Busy, Withdrawn]);
    assert_eq!(it.tokens_at("work"), []);
    assert_eq!(it.visits("message-way"), 1);
    assert!(it.is_completed());
}

// covers: TOKEN-27
#[test]
fn an_incident_inside_does_not_end_busy() {
    let mut it = run("", &between(r#"<subProcess id="sub"><userTask id="work"/></subProcess>"#));
    it.raise("work", "E");
    assert_eq!(failure(&it, "work"), Some(FailureKind::Error));
    assert_eq!(it.state("sub"), Some(Busy));
}

// covers: TOKEN-28
#[test]
fn an_escalation_inside_updates_the_status_of_a_busy_token() {
    let mut it = run(
        "load=0",
        &between(
            r#"<subProcess id="sub"><userTask id="work"><ext>load := 7</ext></userTask>
                 <intermediateThrowEvent id="tell">
                   <escalationEventDefinition escalationRef="U"/></intermediateThrowEvent>
                 <userTask id="more"><ext>load := 8</ext></userTask> <path>work tell more</path>
               </subProcess>"#,
        ),
    );
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("0"), "not by the operator");
    it.complete("work", "{}");
    assert_eq!(it.state("sub"), Some(Busy));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("7"));
    assert_eq!(status(&it, "more", "load").as_deref(), Some("8"));
}

// covers: TOKEN-29
#[test]
fn a_performer_has_the_status_of_the_last_child_that_was_left() {
    let mut it = run(
        "load=0",
        &between(
            r#"<subProcess id="sub"><performer name="Sequential"/>
                 <adHocSubProcess id="tour" ordering="Sequential">
                   <userTask id="one"><ext>load := load + 1</ext></userTask>
                   <userTask id="two" tv:gate="exit"><ext>load := load + 10</ext></userTask>
                   <userTask id="three"><ext>load := load + 100</ext></userTask>
                 </adHocSubProcess>
               </subProcess>"#,
        ),
    );
    let load = |it: &Scenario| status(it, "sub", "load").expect("it has a load");
    assert_eq!(load(&it), "0", "entering a child is not leaving it");
    it.complete("one", "{}");
    assert_eq!(load(&it), "1");
    it.complete("two", "{}");
    assert_eq!(load(&it), "1", "completing a child is not leaving it");
    it.complete("two", "{}");
    assert_eq!(load(&it), "11");
    assert_eq!(status(&it, "three", "load").as_deref(), Some("111"));
    it.complete("three", "{}");
    assert_eq!(status(&it, "next", "load").as_deref(), Some("111"));
}

// covers: TOKEN-32
#[test]
fn an_error_event_sub_process_catches_a_failure_while_busy() {
    let mut it = run(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"><userTask id="work"/> <userTask id="beside"/> {}
               </subProcess> {CAUGHT}"#,
            event_sub_process("handler", true, "<errorEventDefinition/>")
        )),
    );
    it.raise("work", "E");
    assert_eq!(it.state("sub"), Some(Busy));
    assert_eq!(it.waiting(), ["handler-work"]);
    it.complete("handler-work", "{}");
    assert_eq!(it.state("sub"), Some(Completed));
    it.complete("sub", "{}");
    assert_eq!(it.waiting(), ["next"], "the boundary event has nothing to do with it");
}

// covers: TOKEN-33
#[test]
fn a_token_completes_when_all_inside_are_done_and_no_event_sub_process_runs() {
    let mut it = run(
        "load=0 place way",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"> {} {}
                 <userTask id="one"><ext>load := 1; place := "x"; way := "up"</ext></userTask>
                 <userTask id="two"><ext>load := 2; way := "up"</ext></userTask>
               </subProcess>"#,
            event_sub_process("extra", false, &on_message("M")),
            event_sub_process("other", true, &on_message("N"))
        )),
    );
    it.message("M", "{}");
    it.complete("one", "{}");
    it.complete("two", "{}");
    assert_eq!(it.state("sub"), Some(Busy), "an event sub-process runs");
    assert_eq!(it.armed(), ["extra-work"], "and no other can be triggered any more");
    it.complete("extra-work", "{}");
    assert_eq!(it.state("sub"), Some(Completed));
    assert_eq!(it.instance.tokens.len(), 2, "only the process's and the activity's token are left");
}

// covers: TOKEN-33, TOKEN-42, TOKEN-43
#[test]
fn the_status_of_a_completed_token_is_merged_from_those_inside() {
    for order in [["one", "two"], ["two", "one"]] {
        let mut it = run(
            "load=0 place way",
            &between(&format!(
                r#"<subProcess id="sub" tv:gate="exit"> {}
                     <userTask id="one"><ext>load := 1; place := "x"; way := "up"</ext></userTask>
                     <userTask id="two"><ext>load := 2; way := "up"</ext></userTask>
                   </subProcess>"#,
                event_sub_process("other", true, &on_message("N"))
            )),
        );
        it.complete(order[0], "{}");
        let sub = token(&it, "sub");
        let way = &it.instance.scopes[&sub].done.values["way"];
        assert_eq!(way.as_ref().map(Value::to_json).as_deref(), Some(r#""up""#), "it is kept");
        assert_eq!(status(&it, "sub", "way"), None, "but the parent knows nothing of it yet");
        assert_eq!(it.state("sub"), Some(Busy));
        it.complete(order[1], "{}");
        assert_eq!(it.state("sub"), Some(Completed));
        assert_eq!(status(&it, "sub", "load"), None, "they do not agree");
        assert_eq!(status(&it, "sub", "place").as_deref(), Some(r#""x""#), "one does not know");
        assert_eq!(status(&it, "sub", "way").as_deref(), Some(r#""up""#), "they agree");
        assert_eq!(it.armed(), ["sub"], "what could be triggered is gone");
    }
}

// covers: TOKEN-34
#[test]
fn an_interrupting_event_sub_process_completes_the_activity_with_its_own_status() {
    let mut it = run(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit">
                 <userTask id="one"><ext>load := 1</ext></userTask> <userTask id="two"/>
                 <subProcess id="handler" triggeredByEvent="true">
                   <startEvent id="now">{}</startEvent>
                   <userTask id="left"><ext>load := 9</ext></userTask>
                   <userTask id="right"><ext>load := 9</ext></userTask>
                   <endEvent id="over"/>
                   <path>now left over</path> <path>now right over</path>
                 </subProcess>
               </subProcess>"#,
            on_message("M")
        )),
    );
    it.complete("one", "{}");
    it.message("M", "{}");
    assert_eq!(it.waiting(), ["left", "right"]);
    it.complete("left", "{}");
    assert_eq!(it.state("sub"), Some(Busy));
    it.complete("right", "{}");
    assert_eq!(it.state("sub"), Some(Completed));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("9"), "of the event sub-process alone");
    assert_eq!(it.instance.tokens.len(), 2, "all inside are gone");
}

// ---- Completed, exiting

// covers: TOKEN-38
#[test]
fn an_activity_with_a_compensate_event_sub_process_can_be_undone_once_it_was_left() {
    let mut it = run(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"><userTask id="work"/> {}</subProcess>
               <intermediateThrowEvent id="back"><compensateEventDefinition/>
               </intermediateThrowEvent> <userTask id="last"/> <path>next back last</path>"#,
            event_sub_process("handler", true, "<compensateEventDefinition/>")
        )),
    );
    it.complete("work", r#"{"load": 6}"#);
    assert_eq!(undoable(&it), [""; 0], "not before the exit event");
    it.complete("sub", "{}");
    assert_eq!(undoable(&it).len(), 1);
    it.complete("next", r#"{"load": 7}"#);
    assert_eq!(it.waiting(), ["handler-work"]);
    assert_eq!(status(&it, "handler-work", "load").as_deref(), Some("6"), "as it was left");
    it.complete("handler-work", "{}");
    assert_eq!(it.waiting(), ["last"]);
}

// covers: TOKEN-39
#[test]
fn an_activity_with_a_compensate_boundary_event_can_be_undone_once_it_was_left() {
    let mut it = run(
        "load=0",
        &between(&format!(
            r#"<subProcess id="sub" tv:gate="exit"><userTask id="work"/></subProcess> {}
               <intermediateThrowEvent id="back"><compensateEventDefinition/>
               </intermediateThrowEvent> <userTask id="last"/> <path>next back last</path>"#,
            undo("sub")
        )),
    );
    it.complete("work", "{}");
    assert_eq!(undoable(&it), [""; 0], "not before the exit event");
    it.complete("sub", "{}");
    assert_eq!(undoable(&it).len(), 1);
    it.complete("next", "{}");
    assert_eq!(it.waiting(), ["undo-sub"]);
    it.complete("undo-sub", "{}");
    assert_eq!(it.waiting(), ["last"]);
}

// covers: TOKEN-40
#[test]
fn what_failed_cannot_be_undone() {
    let handler = event_sub_process("handler", true, "<compensateEventDefinition/>");
    for (inside, beside) in [(handler, String::new()), (String::new(), undo("sub"))] {
        for (restriction, code) in [("exit: load > 0", None), ("load == 0", Some("E"))] {
            let mut it = run(
                "load=0",
                &between(&format!(
                    r#"<subProcess id="sub"><ext>{restriction}</ext>
                         <userTask id="work"/> {inside}</subProcess> {beside} {CAUGHT}
                       <intermediateThrowEvent id="back"><compensateEventDefinition/>
                       </intermediateThrowEvent> <userTask id="last"/> <path>repair back last</path>"#
                )),
            );
            match code {
                Some(code) => it.raise("work", code),
                None => it.complete("work", "{}"),
            }
            assert_eq!(it.waiting(), ["repair"]);
            assert_eq!(undoable(&it), [""; 0]);
            it.complete("repair", "{}");
            assert_eq!(it.waiting(), ["last"], "there is nothing to undo");
        }
    }
}

// ---- Done

// covers: TOKEN-42
#[test]
fn what_is_done_counts_for_nothing_after_a_failure() {
    let mut it = run_undoing(
        "load=0 place",
        &between(&format!(
            r#"<subProcess id="sub"><userTask id="one"><ext>load := 1; place := "x"</ext></userTask>
                 {} <userTask id="two"><ext>load := 2</ext></userTask>
               </subProcess> {CAUGHT}"#,
            undo("one")
        )),
    );
    it.complete("one", "{}");
    assert_eq!(it.state("sub"), Some(Busy));
    it.raise("two", "E");
    assert_eq!(it.state("sub"), Some(Failing));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("2"));
    assert_eq!(status(&it, "sub", "place"), None);
}

// covers: TOKEN-43
#[test]
fn the_parent_completes_with_the_last_token_through_every_level() {
    let mut it = run(
        "",
        &between(
            r#"<subProcess id="sub" tv:gate="exit"><userTask id="one"/>
                 <subProcess id="inner" tv:gate="exit"><userTask id="two"/></subProcess>
               </subProcess>"#,
        ),
    );
    it.complete("two", "{}");
    it.complete("one", "{}");
    assert_eq!((it.state("sub"), it.state("inner")), (Some(Busy), Some(Completed)));
    it.complete("inner", "{}");
    assert_eq!((it.state("sub"), it.state("inner")), (Some(Completed), None));
}

// ---- Failing, failed

// covers: TOKEN-44
#[test]
fn a_token_has_failed_only_after_everything_inside_was_undone() {
    let mut it = run_undoing(
        "",
        &between(&format!(
            r#"<subProcess id="sub">
                 <userTask id="a"/> <userTask id="b"/> <userTask id="c"/> {} {}
                 <userTask id="work"/> <path>a b c work</path>
               </subProcess> {CAUGHT}"#,
            undo("a"),
            undo("c")
        )),
    );
    for node in ["a", "b", "c"] {
        it.complete(node, "{}");
    }
    it.raise("work", "E");
    for node in ["undo-c", "undo-a"] {
        assert_eq!(it.waiting(), [node], "one at a time, the last one first");
        assert_eq!(it.state("sub"), Some(Failing));
        it.complete(node, "{}");
    }
    assert_eq!(life(&it, "sub").last(), Some(&Failed));
    assert_eq!(it.waiting(), ["repair"]);
}

// covers: TOKEN-45
#[test]
fn the_error_boundary_event_goes_on_when_the_activity_has_failed() {
    let mut it = fails_while_busy();
    let (sub, caught) = (token(&it, "sub"), token(&it, "caught"));
    assert_eq!(it.state("caught"), Some(Busy));
    it.raise("work", "E");
    assert_eq!(it.state("caught"), Some(Busy), "the activity has not failed yet");
    it.complete("undo-first", "{}");
    let failed = it.events.iter().position(
        |event| matches!(event, Event::TokenGone { token, state: Failed } if *token == sub),
    );
    let left = it
        .events
        .iter()
        .position(|event| matches!(event, Event::TokenMoved { token, .. } if *token == caught));
    assert!(failed.expect("it failed") < left.expect("it was left"));
    assert_eq!(life(&it, "caught"), [Created, Busy, Departed]);
}

// covers: TOKEN-30, TOKEN-46
#[test]
fn an_error_without_boundary_event_goes_to_the_parent_with_its_status() {
    let mut it = run_undoing(
        "load=0 place",
        &format!(
            r#"<task id="begin"/>
               <subProcess id="sub"><userTask id="first"/> {}
                 <subProcess id="inner">
                   <userTask id="work"><ext>load := 5; place := "deep"</ext></userTask>
                   <userTask id="beside"/>
                 </subProcess>
                 <userTask id="aside"/> <path>first inner</path>
               </subProcess> {CAUGHT} <path>begin sub</path>"#,
            undo("first")
        ),
    );
    it.complete("first", "{}");
    it.raise("work", "E");
    assert_eq!(lives(&it, "inner").last().and_then(|it| it.last()), Some(&Failed));
    assert_eq!(it.state("sub"), Some(Failing));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("5"));
    assert_eq!(status(&it, "sub", "place").as_deref(), Some(r#""deep""#));
    assert_eq!(it.waiting(), ["undo-first"]);
    it.complete("undo-first", "{}");
    assert_eq!(it.waiting(), ["repair"]);
    assert_eq!(it.visits("beside") + it.visits("aside"), 0);
}

// covers: TOKEN-46
#[test]
fn an_error_that_nobody_catches_withdraws_nothing() {
    let mut it = run(
        "load=0",
        &between(
            r#"<subProcess id="sub"><subProcess id="inner"><userTask id="work"/></subProcess>
                 <userTask id="beside"/></subProcess>"#,
        ),
    );
    it.raise("work", "E");
    assert_eq!(failure(&it, "work"), Some(FailureKind::Error));
    assert_eq!((it.state("sub"), it.state("inner")), (Some(Busy), Some(Busy)));
    assert!(it.waiting().contains(&"beside"));
    assert_eq!(it.instance.ending(), None);
    assert!(it.instance.tokens.contains_key(&ROOT));
}
