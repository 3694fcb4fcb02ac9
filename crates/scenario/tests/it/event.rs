//! Timers, conditions, signals, boundary events, event sub-processes, escalations.

use expect_test::expect;

use super::build::*;

fn timer(time: &str) -> String {
    parameters("timer", &[("trigger", time)])
}

#[test]
fn a_timer_fires_when_it_is_time() {
    let after = |time: &str| {
        let inner = start()
            + &event("intermediateCatchEvent", "T", "timer", &timer(time))
            + &end("E")
            + &chain(&["S", "T", "E"]);
        told(&with(&["x|decimal"], &inner), &["I; P; timestamp := 1"])
    };
    expect![[r"
        1 I P ENTERED BUSY
        1 I S ENTERED DEPARTED
        1 I T ARRIVED ENTERED BUSY
        4 I T COMPLETED DEPARTED
        4 I E ARRIVED ENTERED DONE
        4 I P COMPLETED DONE"]]
    .assert_eq(&after("timestamp + 2.5"));
    assert!(after("0").contains("1 I T ARRIVED ENTERED BUSY COMPLETED DEPARTED"));
    assert!(after("x").contains("1 I T ARRIVED ENTERED BUSY COMPLETED DEPARTED"));
}

#[test]
fn a_condition_fires_at_once_or_when_what_it_reads_changes() {
    let store = node("dataStore", "Store", &attributes(&["g|integer"]), "");
    let waits =
        event("intermediateCatchEvent", "C", "conditional", &restrictions(&["g > 1", "g < 9"]));
    let one = process("P", "", &(start() + &waits + &chain(&["S", "C"])));
    let other = node(
        "process",
        "Q",
        "",
        &(node("startEvent", "S2", "", "") + &does("A", &["g += 1"]) + &flow("S2", "A")),
    );
    let text = file(&(store + &one + &other));
    let rows = [
        ";; g := 0",
        "I; P;",
        "J; Q; timestamp := 1",
        "K; Q; timestamp := 2",
        "L; P; timestamp := 3",
    ];
    let told = told(&text, &rows);
    assert!(told.contains("0 I C ARRIVED ENTERED BUSY\n"), "{told}");
    assert!(told.contains("2 I C COMPLETED"), "{told}");
    assert!(told.contains("3 L C ARRIVED ENTERED BUSY COMPLETED"), "{told}");
}

#[test]
fn a_signal_goes_to_all_who_wait_and_is_not_held() {
    let own = status(&attributes(&["x|integer"]));
    let signal = |content: &str| {
        format!(
            "<bpmnos:signal name='go'><bpmnos:content key='k' attribute='{content}'/></bpmnos:signal>"
        )
    };
    let waits = process(
        "P",
        &own,
        &(start()
            + &event("intermediateCatchEvent", "C", "signal", &signal("x"))
            + &chain(&["S", "C"])),
    );
    let own = status(&attributes(&["y|integer"]));
    let throws = process(
        "Q",
        &own,
        &(node("startEvent", "S2", "", "")
            + &event("endEvent", "T", "signal", &signal("y"))
            + &flow("S2", "T")),
    );
    let text = file(&(waits + &throws));
    let rows = ["I; P;", "J; P;", "K; Q; timestamp := 1", "K; Q; y := 7", "L; P; timestamp := 2"];
    expect![[r#"
        I completed {"x":7}
        J completed {"x":7}
        K completed {"y":7}
        L waiting {}"#]]
    .assert_eq(&result(&text, &rows));
}

#[test]
fn an_event_based_gateway_goes_on_with_what_comes_first() {
    let inner = start()
        + &node("eventBasedGateway", "G", "", "")
        + &event("intermediateCatchEvent", "T1", "timer", &timer("3"))
        + &event("intermediateCatchEvent", "T2", "timer", &timer("2"))
        + &end("E1")
        + &end("E2")
        + &chain(&["S", "G", "T1", "E1"])
        + &chain(&["G", "T2", "E2"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I G ARRIVED ENTERED BUSY DEPARTED DEPARTED
        0 I T1 ARRIVED ENTERED BUSY
        0 I T2 ARRIVED ENTERED BUSY
        2 I T2 COMPLETED
        2 I G COMPLETED
        2 I T1 WITHDRAWN
        2 I T2 DEPARTED
        2 I E2 ARRIVED ENTERED DONE
        2 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&[], &inner), &["I; P;"]));
}

fn guarded(attributes: &str, definition: &str, extension: &str, task: &[&str]) -> String {
    let inside = node("startEvent", "SS", "", "") + &does("A", task) + &flow("SS", "A");
    let sub = node("subProcess", "Sub", "", &inside);
    let boundary = node(
        &format!("boundaryEvent attachedToRef='Sub' {attributes}"),
        "B",
        extension,
        &format!("<bpmn:{definition}EventDefinition/>"),
    );
    let inner = start()
        + &sub
        + &boundary
        + &end("E")
        + &does("H", &["x := 1"])
        + &chain(&["S", "Sub", "E"])
        + &flow("B", "H");
    with(&["x|integer"], &inner)
}

#[test]
fn a_boundary_event_that_interrupts_takes_all_away() {
    let text = guarded("", "timer", &timer("2"), &["timestamp := 5"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED
        0 I B ENTERED BUSY
        0 I Sub BUSY
        0 I SS ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY
        2 I B COMPLETED
        2 I A WITHDRAWN
        2 I Sub WITHDRAWN
        2 I B DEPARTED
        2 I H ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        2 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P;"]));
}

#[test]
fn a_boundary_event_that_does_not_interrupt_goes_beside() {
    let text = guarded("cancelActivity='false'", "timer", &timer("2"), &["timestamp := 5"]);
    let told = told(&text, &["I; P;"]);
    assert_eq!(states(&told, "Sub"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED");
    assert_eq!(states(&told, "B"), "ENTERED BUSY COMPLETED DEPARTED");
    assert_eq!(states(&told, "H"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE");
}

#[test]
fn a_boundary_event_that_has_not_happened_is_withdrawn() {
    let text = guarded("", "timer", &timer("9"), &["timestamp := 5"]);
    let told = told(&text, &["I; P;"]);
    assert_eq!(states(&told, "B"), "ENTERED BUSY WITHDRAWN");
    assert_eq!(states(&told, "P"), "ENTERED BUSY COMPLETED DONE");
}

fn handled(interrupting: bool, definition: &str, extension: &str, main: &str) -> String {
    let typed = node(
        &format!("startEvent isInterrupting='{interrupting}'"),
        "HS",
        extension,
        &format!("<bpmn:{definition}EventDefinition/>"),
    );
    let own = status(&(attributes(&["h|integer"]) + &operators(&["h := 3"])));
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        &own,
        &(typed + &does("HA", &["x := h", "d += 1"]) + &flow("HS", "HA")),
    );
    let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
    let inner = data + &start() + main + &handler + &chain(&["S", "A"]);
    with(&["x|integer"], &inner)
}

#[test]
fn an_event_sub_process_that_interrupts_ends_its_scope() {
    let text = handled(true, "timer", &timer("2"), &does("A", &["timestamp := 5"]));
    let rows = ["I; P; d := 0"];
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED
        0 I HS ENTERED BUSY
        0 I S DEPARTED
        0 I A ARRIVED READY ENTERED BUSY
        2 I HS COMPLETED
        2 I A WITHDRAWN
        2 I HS DEPARTED
        2 I HA ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        2 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &rows));
    assert_eq!(result(&text, &rows), r#"I completed {"d":1,"x":3}"#);
}

#[test]
fn an_event_sub_process_that_does_not_is_awaited() {
    let text = handled(false, "timer", &timer("2"), &does("A", &["timestamp := 5"]));
    let rows = ["I; P; d := 0"];
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED
        0 I^H#1 HS ENTERED BUSY
        0 I S DEPARTED
        0 I A ARRIVED READY ENTERED BUSY
        2 I^H#1 HS COMPLETED DEPARTED
        2 I^H#1 HA ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        5 I A COMPLETED EXITING DONE
        5 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &rows));
    assert_eq!(result(&text, &rows), r#"I completed {"d":1}"#);
}

#[test]
fn a_condition_fires_again_only_after_it_was_false() {
    let main = does("A", &["d := 5"])
        + &does("A2", &["d := 6"])
        + &does("A3", &["d := 0"])
        + &does("A4", &["d := 7"])
        + &chain(&["A", "A2", "A3", "A4"]);
    let text = handled(false, "conditional", &restrictions(&["d >= 5"]), &main);
    let told = told(&text, &["I; P; d := 0"]);
    let fired = told.lines().filter(|it| it.contains(" HS ") && it.contains("COMPLETED")).count();
    assert_eq!(fired, 2, "{told}");
}

#[test]
fn an_escalation_is_handled_outside_or_does_no_harm() {
    let inside = |thrown: &str| {
        node("startEvent", "SS", "", "")
            + &does("A", &["x := 4"])
            + thrown
            + &end("EE")
            + &chain(&["SS", "A", "X", "EE"])
    };
    let thrown = event("intermediateThrowEvent", "X", "escalation", "");
    let sub = node("subProcess", "Sub", "", &inside(&thrown));
    let boundary = |interrupting: bool| {
        node(
            &format!("boundaryEvent attachedToRef='Sub' cancelActivity='{interrupting}'"),
            "B",
            "",
            "<bpmn:escalationEventDefinition/>",
        )
    };
    let text = |boundary: &str| {
        with(
            &["x|integer", "y|integer"],
            &(start()
                + &sub
                + boundary
                + &end("E")
                + &chain(&["S", "Sub", "E"])
                + &if boundary.is_empty() {
                    String::new()
                } else {
                    does("H", &["y := x"]) + &flow("B", "H")
                }),
        )
    };
    let told1 = told(&text(&boundary(true)), &["I; P;"]);
    assert_eq!(states(&told1, "Sub"), "ARRIVED READY ENTERED BUSY WITHDRAWN");
    assert_eq!(result(&text(&boundary(true)), &["I; P;"]), r#"I completed {"x":4,"y":4}"#);
    let told2 = told(&text(&boundary(false)), &["I; P;"]);
    assert_eq!(states(&told2, "Sub"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED");
    assert_eq!(states(&told2, "B"), "ENTERED BUSY COMPLETED ENTERED BUSY DEPARTED WITHDRAWN");
    assert_eq!(result(&text(""), &["I; P;"]), r#"I completed {"x":4}"#);
}

#[test]
fn a_terminate_end_event_takes_the_rest_of_its_scope_away() {
    let inner = start()
        + &does("A", &["timestamp := 9"])
        + &event("endEvent", "T", "terminate", "")
        + &flow("S", "A")
        + &flow("S", "T");
    let told = told(&with(&[], &inner), &["I; P;"]);
    assert_eq!(states(&told, "P"), "ENTERED BUSY COMPLETED DONE");
    assert!(!told.contains("9 I"), "{told}");
}

#[test]
fn who_does_not_handle_an_escalation_takes_over_what_its_thrower_knew() {
    let inside = node("startEvent", "SS", "", "")
        + &does("A", &["x := 5"])
        + &event("intermediateThrowEvent", "X", "escalation", "")
        + &does("W", &["timestamp += 9"])
        + &chain(&["SS", "A", "X", "W"]);
    let timer = node(
        "boundaryEvent attachedToRef='Sub'",
        "B",
        &parameters("timer", &[("trigger", "3")]),
        "<bpmn:timerEventDefinition/>",
    );
    let text = with(
        &["x|integer"],
        &(start() + &node("subProcess", "Sub", "", &inside) + &timer + &flow("S", "Sub")),
    );
    let mut run = begun(&text, &["I; P; x := 1"], settings(travertine_scenario::Mode::First));
    run.run().unwrap();
    let entries = run.take_entries();
    let of_sub = entries.iter().filter(|it| &*it.node == "Sub");
    let knew: Vec<_> =
        of_sub.map(|it| (it.state.name(), run.status(it).get("x").cloned().unwrap())).collect();
    assert_eq!(knew.last(), Some(&("WITHDRAWN", 5.into())));
    assert!(knew.contains(&("BUSY", 1.into())), "{knew:?}");
}

#[test]
fn what_is_disclosed_of_an_event_sub_process_counts_for_what_is_inside() {
    let typed = event("startEvent isInterrupting='false'", "HS", "escalation", "");
    let own = status(&attributes(&["a|integer"]));
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        &own,
        &(typed + &task("HA", "") + &flow("HS", "HA")),
    );
    let inner = start() + &event("endEvent", "T", "escalation", "") + &handler + &flow("S", "T");
    let rows = ["INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE", "I; P;", "I; H; a := 1; 6"];
    let told = told(&with(&[], &inner), &rows);
    assert!(told.contains("0 I^H#1 HA ARRIVED\n6 I^H#1 HA READY"), "{told}");
}

/// A task that takes nine, with a boundary event that does not interrupt, and other instances that change `g` or
/// throw a signal.
#[test]
fn a_boundary_event_happens_again_while_a_task_is_at_work() {
    let store = node("dataStore", "Store", &attributes(&["g|integer", "n|integer"]), "");
    let signal = "<bpmnos:signal name='go'/>";
    for (definition, extension, other) in [
        ("signal", signal.to_owned(), event("intermediateThrowEvent", "R", "signal", signal)),
        ("conditional", restrictions(&["g > 0"]), does("R", &["g := v"])),
    ] {
        let guard = node(
            "boundaryEvent attachedToRef='A' cancelActivity='false'",
            "B",
            &extension,
            &format!("<bpmn:{definition}EventDefinition/>"),
        );
        let own = status(&attributes(&["x|integer"]));
        let inner = start()
            + &does("A", &["timestamp += 9", "x := 7"])
            + &guard
            + &does("H", &["n += x"])
            + &chain(&["S", "A"])
            + &flow("B", "H");
        let second = node("startEvent", "S2", "", "") + &other + &flow("S2", "R");
        let text = file(
            &(store.clone()
                + &process("P", &own, &inner)
                + &process("Q", &status(&attributes(&["v|integer"])), &second)),
        );
        let rows = [
            "; ; g := 0",
            "; ; n := 0",
            "I; P; x := 1",
            "J; Q; timestamp := 1",
            "J; Q; v := 1",
            "K; Q; timestamp := 2",
            "K; Q; v := 0",
            "L; Q; timestamp := 3",
            "L; Q; v := 1",
        ];
        let mut run = begun(&text, &rows, settings(travertine_scenario::Mode::First));
        run.run().unwrap();
        let times = if definition == "signal" { 3 } else { 2 };
        // Each begins with what the first was placed with.
        assert_eq!(run.globals()["n"], times.into(), "{definition}");
        assert_eq!(run.instances()[0].outcome.name(), "completed");
        assert_eq!(run.now(), 9.into());
    }
}

#[test]
fn what_an_event_sub_process_weighs_counts_when_it_has_ended() {
    let worth = |start: &str, definition: &str, extension: &str, main: &str| {
        let own = status(
            &(attributes(&["h|integer maximize 2", "k|integer minimize 1"])
                + &operators(&["h := 5", "k := 1"])),
        );
        let typed = event(start, "HS", definition, extension);
        let handler = node(
            "subProcess triggeredByEvent='true'",
            "H",
            &own,
            &(typed + &does("HA", &["h += 1"]) + &flow("HS", "HA")),
        );
        let text = with(&[], &main.replace("<handler/>", &handler));
        let mut run = begun(&text, &["I; P;"], settings(travertine_scenario::Mode::First));
        run.run().unwrap();
        run.objective()
    };
    let main = start() + &does("A", &["timestamp := 5"]) + "<handler/>" + &chain(&["S", "A"]);
    for interrupting in [false, true] {
        let typed = format!("startEvent isInterrupting='{interrupting}'");
        assert_eq!(worth(&typed, "timer", &timer("2"), &main), 11.into());
    }
    let inside = node("startEvent", "SS", "", "") + "<handler/>";
    let undone = start()
        + &node("subProcess", "Sub", "", &inside)
        + &event("endEvent", "X", "compensate", "")
        + &chain(&["S", "Sub", "X"]);
    assert_eq!(worth("startEvent", "compensate", "", &undone), 11.into());
}

#[test]
fn an_event_sub_process_works_its_attributes_out_when_it_is_triggered() {
    let own = status(
        &(attributes(&["v|integer", "k := v + d|integer", "given|integer"])
            + &operators(&["k += 1"])),
    );
    let signal = |content: &str| {
        format!(
            "<bpmnos:signal name='go'><bpmnos:content key='v' attribute='{content}'/></bpmnos:signal>"
        )
    };
    let typed = event("startEvent isInterrupting='false'", "HS", "signal", &signal("v"));
    let inside = node("dataObject", "O2", &attributes(&["e := k * 100|integer"]), "")
        + &typed
        + &does("HA", &["r := e + k + given"])
        + &flow("HS", "HA");
    let handler = node("subProcess triggeredByEvent='true'", "H", &own, &inside);
    let data = node("dataObject", "O", &attributes(&["d|integer", "r|integer"]), "");
    let inner = data
        + &start()
        + &does("A", &["d := 20", "x := 3", "timestamp += 1"])
        + &event("intermediateThrowEvent", "T", "signal", &signal("x"))
        + &handler
        + &chain(&["S", "A", "T"]);
    let text = with(&["x|integer"], &inner);
    // 23 · 100, then 24, for the operator comes last.
    assert_eq!(
        result(&text, &["I; P; d := 0", "I; H; given := 1"]),
        r#"I completed {"d":20,"r":2325,"x":3}"#
    );
}

#[test]
fn a_scope_ends_once_and_when_all_in_it_has_begun() {
    let two = node("startEvent", "S1", "", "") + &node("startEvent", "S2", "", "");
    let inside = two + &does("A", &["x := 1"]) + &flow("S2", "A");
    let inner = start() + &node("subProcess", "Sub", "", &inside) + &flow("S", "Sub");
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED BUSY
        0 I S1 ENTERED DONE
        0 I S2 ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I Sub COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&["x|integer"], &inner), &["I; P;"]));
    let inside = node("startEvent", "SS", "", "");
    let inner = start() + &node("subProcess", "Sub", "", &inside) + &flow("S", "Sub");
    let told = told(&with(&[], &inner), &["I; P;"]);
    assert_eq!(states(&told, "Sub"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE");
}

#[test]
fn a_signal_of_the_last_token_reaches_the_event_sub_process_of_its_scope() {
    let signal = "<bpmnos:signal name='go'/>";
    for interrupting in [true, false] {
        let main = event("endEvent", "A", "signal", signal);
        let text = handled(interrupting, "signal", signal, &main);
        assert!(result(&text, &["I; P; d := 0"]).contains(r#""d":1"#), "{interrupting}");
    }
}

#[test]
fn given_data_of_an_event_sub_process_counts_each_time_it_is_triggered() {
    let typed = event("startEvent isInterrupting='false'", "HS", "escalation", "");
    let own = node("dataObject", "O", &attributes(&["e|integer maximize 1"]), "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        "",
        &(own + &typed + &does("HA", &["e += 1"]) + &flow("HS", "HA")),
    );
    let thrown = |id: &str| event("intermediateThrowEvent", id, "escalation", "");
    for (threw, worth) in [(&[][..], 0), (&["T"], 5), (&["T", "U"], 10)] {
        let mut all = vec!["S"];
        all.extend(threw);
        let thrown: String = threw.iter().map(|it| thrown(it)).collect();
        let inner = start() + &thrown + &handler + &chain(&all);
        let mode = settings(travertine_scenario::Mode::First);
        let mut run = begun(&with(&[], &inner), &["I; P;", "I; O; e := 4"], mode);
        run.run().unwrap();
        assert_eq!(run.objective(), worth.into());
    }
}

#[test]
fn settings_are_read_in_both_spellings() {
    let text = guarded("cancelActivity='0'", "timer", &timer("2"), &["timestamp := 5"]);
    let told1 = told(&text, &["I; P;"]);
    assert_eq!(states(&told1, "Sub"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED");
    let text = handled(false, "timer", &timer("2"), &does("A", &["timestamp := 5"]));
    let text = text.replace("='false'", "='0'").replace("='true'", "='1'");
    assert_eq!(result(&text, &["I; P; d := 0"]), r#"I completed {"d":1}"#);
}
