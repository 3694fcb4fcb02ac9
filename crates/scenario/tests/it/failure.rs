//! Errors and compensation.

use expect_test::expect;
use travertine_scenario::{Mode, Settings};

use super::build::*;

fn sub(inside: &str, rest: &str) -> String {
    let sub = node("subProcess", "Sub", "", inside);
    with(&["x|integer", "y|integer"], &(start() + &sub + rest + &flow("S", "Sub")))
}

fn boundary(host: &str, definition: &str) -> String {
    node(
        &format!("boundaryEvent attachedToRef='{host}'"),
        &format!("{host}B"),
        "",
        &format!("<bpmn:{definition}EventDefinition/>"),
    )
}

#[test]
fn an_error_is_handled_at_the_boundary_of_what_failed() {
    let error = event("endEvent", "X", "error", "");
    let inside = node("startEvent", "SS", "", "")
        + &does("A", &["x := 5"])
        + &error
        + &chain(&["SS", "A", "X"]);
    let text =
        sub(&inside, &(boundary("Sub", "error") + &does("H", &["y := 1"]) + &flow("SubB", "H")));
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED
        0 I SubB ENTERED BUSY
        0 I Sub BUSY
        0 I SS ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED
        0 I X ARRIVED ENTERED FAILED
        0 I Sub FAILING FAILED
        0 I SubB COMPLETED DEPARTED
        0 I H ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P;"]));
    assert_eq!(result(&text, &["I; P;"]), r#"I completed {"x":5,"y":1}"#);
}

#[test]
fn a_refused_task_is_handled_at_its_own_boundary() {
    let refused = task("A", &status(&restrictions(&["entry|x > 1"])));
    let inner = start()
        + &refused
        + &boundary("A", "error")
        + &does("H", &["y := 1"])
        + &chain(&["S", "A"])
        + &flow("AB", "H");
    let told = told(&with(&["x|integer", "y|integer"], &inner), &["I; P; x := 0"]);
    assert_eq!(states(&told, "A"), "ARRIVED READY ENTERED FAILED");
    assert_eq!(states(&told, "AB"), "ENTERED BUSY COMPLETED DEPARTED");
    assert_eq!(states(&told, "P"), "ENTERED BUSY COMPLETED DONE");
}

#[test]
fn an_event_sub_process_handles_errors_of_its_scope() {
    let typed = event("startEvent", "HS", "error", "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        "",
        &(typed + &does("HA", &["y := x"]) + &flow("HS", "HA")),
    );
    let inner = start()
        + &does("A", &["x := 5"])
        + &event("endEvent", "X", "error", "")
        + &handler
        + &chain(&["S", "A", "X"]);
    let text = with(&["x|integer", "y|integer"], &inner);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED
        0 I HS ENTERED BUSY
        0 I S DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED
        0 I X ARRIVED ENTERED FAILED
        0 I HS COMPLETED DEPARTED
        0 I HA ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P;"]));
    assert_eq!(result(&text, &["I; P;"]), r#"I completed {"x":5,"y":5}"#);
}

#[test]
fn what_handles_an_error_does_not_inherit_restrictions() {
    let typed = event("startEvent", "HS", "error", "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        "",
        &(typed + &task("HA", "") + &flow("HS", "HA")),
    );
    let own = status(&(attributes(&["x|integer"]) + &restrictions(&["x < 3"])));
    let inner = start() + &does("A", &["x := 5"]) + &handler + &chain(&["S", "A"]);
    let told = told(&file(&process("P", &own, &inner)), &["I; P; x := 0"]);
    assert_eq!(states(&told, "HA"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE");
    assert_eq!(states(&told, "P"), "ENTERED BUSY COMPLETED FAILING FAILED");
}

#[test]
fn a_failing_copy_takes_the_others_along() {
    let own = status(
        &(attributes(&["i|integer"])
            + &restrictions(&["entry|i < 2"])
            + &operators(&["timestamp += 5"])),
    ) + &parameters("loopCharacteristics", &[("cardinality", "3"), ("index", "i")]);
    let inner = start()
        + &node("task", "A", &own, "<bpmn:multiInstanceLoopCharacteristics/>")
        + &boundary("A", "error")
        + &does("H", &["y := 1"])
        + &chain(&["S", "A"])
        + &flow("AB", "H");
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED WAITING
        0 I^A#1 A CREATED
        0 I^A#2 A CREATED
        0 I^A#3 A CREATED
        0 I^A#1 A READY
        0 I^A#2 A READY
        0 I^A#3 A READY
        0 I^A#1 A ENTERED
        0 I AB ENTERED BUSY
        0 I^A#1 A BUSY
        0 I^A#2 A ENTERED FAILED
        0 I^A#1 A WITHDRAWN
        0 I^A#3 A WITHDRAWN
        0 I A WITHDRAWN
        0 I AB COMPLETED DEPARTED
        0 I H ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&["y|integer"], &inner), &["I; P;"]));
}

/// A task that can be undone by another, which adds to `d`.
fn undoable(id: &str, undo: &[&str]) -> String {
    let label = format!("task name='{id}'");
    node(&label, id, &status(&operators(&[&format!("x := {}", id.len())])), "")
        + &node(
            &format!("boundaryEvent attachedToRef='{id}'"),
            &format!("{id}C"),
            "",
            "<bpmn:compensateEventDefinition/>",
        )
        + &node("task isForCompensation='true'", &format!("{id}U"), &status(&operators(undo)), "")
        + &format!("<bpmn:association id='{id}As' sourceRef='{id}C' targetRef='{id}U'/>")
}

fn data() -> String {
    node("dataObject", "O", &attributes(&["d|integer"]), "")
}

#[test]
fn compensation_undoes_in_reverse_order() {
    let inner = data()
        + &start()
        + &undoable("A", &["d := d * 10 + 1"])
        + &undoable("B", &["d := d * 10 + 2"])
        + &event("endEvent", "X", "compensate", "")
        + &chain(&["S", "A", "B", "X"]);
    let text = with(&["x|integer"], &inner);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED
        0 I AC BUSY
        0 I A EXITING DEPARTED
        0 I B ARRIVED READY ENTERED BUSY COMPLETED
        0 I BC BUSY
        0 I B EXITING DEPARTED
        0 I X ARRIVED ENTERED BUSY
        0 I BC COMPLETED
        0 I BU ENTERED BUSY COMPLETED
        0 I AC COMPLETED
        0 I AU ENTERED BUSY COMPLETED
        0 I X COMPLETED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P; d := 0"]));
    assert_eq!(result(&text, &["I; P; d := 0"]), r#"I completed {"d":21,"x":1}"#);
}

#[test]
fn a_name_says_what_is_undone() {
    let throw =
        node("intermediateThrowEvent name='A'", "X", "", "<bpmn:compensateEventDefinition/>");
    let inner = data()
        + &start()
        + &undoable("A", &["d := d * 10 + 1"])
        + &undoable("B", &["d := d * 10 + 2"])
        + &throw
        + &end("E")
        + &chain(&["S", "A", "B", "X", "E"]);
    assert_eq!(
        result(&with(&["x|integer"], &inner), &["I; P; d := 0"]),
        r#"I completed {"d":1,"x":1}"#
    );
    let nothing =
        node("intermediateThrowEvent name='C'", "X", "", "<bpmn:compensateEventDefinition/>");
    let inner = start() + &nothing + &end("E") + &chain(&["S", "X", "E"]);
    let told = told(&with(&[], &inner), &["I; P;"]);
    assert_eq!(states(&told, "X"), "ARRIVED ENTERED DEPARTED");
}

#[test]
fn a_failing_scope_undoes_first() {
    let inside = node("startEvent", "SS", "", "")
        + &undoable("A", &["d += 1"])
        + &event("endEvent", "X", "error", "")
        + &chain(&["SS", "A", "X"]);
    let inner = data()
        + &start()
        + &node("subProcess", "Sub", "", &inside)
        + &boundary("Sub", "error")
        + &task("H", "")
        + &flow("S", "Sub")
        + &flow("SubB", "H");
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED
        0 I SubB ENTERED BUSY
        0 I Sub BUSY
        0 I SS ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED
        0 I AC BUSY
        0 I A EXITING DEPARTED
        0 I X ARRIVED ENTERED FAILED
        0 I Sub FAILING
        0 I AC COMPLETED
        0 I AU ENTERED BUSY COMPLETED
        0 I Sub FAILED
        0 I SubB COMPLETED DEPARTED
        0 I H ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&["x|integer"], &inner), &["I; P; d := 0"]));
}

#[test]
fn an_event_sub_process_undoes_its_sub_process_and_what_is_inside() {
    let typed = event("startEvent", "US", "compensate", "");
    let throw = event("intermediateThrowEvent", "UX", "compensate", "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "U",
        "",
        &(typed + &throw + &does("UA", &["d := d * 10 + 9"]) + &chain(&["US", "UX", "UA"])),
    );
    let inside = node("startEvent", "SS", "", "")
        + &undoable("A", &["d := d * 10 + 1"])
        + &chain(&["SS", "A"])
        + &handler;
    let inner = data()
        + &start()
        + &node("subProcess", "Sub", "", &inside)
        + &event("endEvent", "X", "compensate", "")
        + &chain(&["S", "Sub", "X"]);
    let text = with(&["x|integer"], &inner);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED BUSY
        0 I SS ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED
        0 I AC BUSY
        0 I A EXITING DONE
        0 I Sub COMPLETED
        0 I US BUSY
        0 I Sub EXITING DEPARTED
        0 I X ARRIVED ENTERED BUSY
        0 I US COMPLETED DEPARTED
        0 I UX ARRIVED ENTERED BUSY
        0 I AC COMPLETED
        0 I AU ENTERED BUSY COMPLETED
        0 I UX COMPLETED DEPARTED
        0 I UA ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I X COMPLETED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P; d := 0"]));
    assert_eq!(result(&text, &["I; P; d := 0"]), r#"I completed {"d":19,"x":1}"#);
}

#[test]
fn what_is_inside_a_sub_process_is_undone_with_it() {
    let inside = node("startEvent", "SS", "", "")
        + &undoable("A", &["d := d * 10 + 1"])
        + &undoable("B", &["d := d * 10 + 2"])
        + &chain(&["SS", "A", "B"]);
    let inner = data()
        + &start()
        + &node("subProcess", "Sub", "", &inside)
        + &event("endEvent", "X", "compensate", "")
        + &chain(&["S", "Sub", "X"]);
    assert_eq!(
        result(&with(&["x|integer"], &inner), &["I; P; d := 0"]),
        r#"I completed {"d":21,"x":1}"#
    );
}

/// An event sub-process with restrictions of its own, beside a task that throws an escalation.
fn restricted_handler(own: &str, does_inside: &str) -> String {
    let typed = event("startEvent isInterrupting='false'", "HS", "escalation", "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        &status(&restrictions(&[own])),
        &(typed + &does("HA", &[does_inside]) + &flow("HS", "HA")),
    );
    let inner = start()
        + &event("intermediateThrowEvent", "T", "escalation", "")
        + &task("A", "")
        + &handler
        + &chain(&["S", "T", "A"]);
    with(&["x|integer", "y|integer"], &inner)
}

#[test]
fn an_event_sub_process_checks_what_it_asks_for_when_it_is_triggered_and_at_its_end() {
    for (own, holds) in [
        ("entry|x > 1", true),
        ("entry|x > 5", false),
        ("completion|x > 5", true),
        ("completion|x > 9", false),
        ("x < 5", false),
        ("x < 9", true),
    ] {
        let text = restricted_handler(own, "x := 8");
        let told = result(&text, &["I; P; x := 3"]);
        let ends = if holds { "I completed" } else { "I failed" };
        assert!(told.starts_with(ends), "{own}: {told}");
    }
    let told = told(&restricted_handler("entry|x > 5", "x := 8"), &["I; P; x := 3"]);
    assert_eq!(states(&told, "HS"), "ENTERED BUSY COMPLETED ENTERED BUSY FAILED WITHDRAWN");
    assert_eq!(states(&told, "P"), "ENTERED BUSY FAILING FAILED");
}

/// One token goes through several activities, and each is remembered by itself.
#[test]
fn a_refused_activity_does_not_take_from_the_undoing_of_those_before() {
    let undone = does("U", &["d += 3"])
        + &boundary("U", "compensate")
        + &node("task isForCompensation='true'", "C", &status(&operators(&["d := d * 2"])), "")
        + "<bpmn:association sourceRef='UB' targetRef='C'/>";
    for point in ["completion", "exit"] {
        let refused = task("G", &status(&restrictions(&[&format!("{point}|x < 0")])));
        let inside = node("startEvent", "SS", "", "") + &undone + &chain(&["SS", "U"]);
        let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
        for (before, first) in
            [(node("subProcess", "Sub", "", &inside), "Sub"), (undone.clone(), "U")]
        {
            let inner = data.clone() + &start() + &before + &refused + &chain(&["S", first, "G"]);
            let rows = ["I; P; x := 0", "I; P; d := 0"];
            let text = with(&["x|integer"], &inner);
            assert_eq!(result(&text, &rows), r#"I failed {"d":6,"x":0}"#, "{point} {first}");
        }
    }
}

#[test]
fn what_undoes_checks_what_it_asks_for() {
    for (own, outcome) in
        [("entry|x > 5", "failed"), ("entry|x < 5", "completed"), ("completion|d < 5", "failed")]
    {
        let handler = node(
            "subProcess triggeredByEvent='true'",
            "U",
            &status(&restrictions(&[own])),
            &(event("startEvent", "US", "compensate", "")
                + &does("UA", &["d := 9"])
                + &flow("US", "UA")),
        );
        let inside = node("startEvent", "SS", "", "") + &does("A", &["d := 1"]) + &flow("SS", "A");
        let inner = data()
            + &start()
            + &node("subProcess", "Sub", "", &(inside + &handler))
            + &event("endEvent", "X", "compensate", "")
            + &chain(&["S", "Sub", "X"]);
        let told = result(&with(&["x|integer"], &inner), &["I; P; x := 1", "I; P; d := 0"]);
        assert!(told.starts_with(&format!("I {outcome}")), "{own}: {told}");
    }
}

/// An activity that is done in copies, and what undoes it.
fn undone_in_copies(marker: &str, more: &str) -> String {
    let each = "<bpmn:multiInstanceLoopCharacteristics/>";
    let own = status(&(attributes(&["i|integer"]) + &restrictions(&["completion|i < most"])))
        + &parameters("loopCharacteristics", &[("cardinality", "3"), ("index", "i")]);
    let undoes = status(&(attributes(&["u|integer"]) + &operators(&["d := d * 10 + u"])))
        + &if marker.is_empty() {
            String::new()
        } else {
            parameters("loopCharacteristics", &[("index", "u")])
        };
    let inner = data()
        + &start()
        + &node("task", "A", &own, each)
        + &boundary("A", "compensate")
        + &node("task isForCompensation='true'", "U", &undoes, marker)
        + "<bpmn:association id='As' sourceRef='AB' targetRef='U'/>"
        + more;
    with(&["most|integer"], &inner)
}

#[test]
fn each_copy_is_undone_by_itself() {
    let throw = event("endEvent", "X", "compensate", "") + &chain(&["S", "A", "X"]);
    for marker in [
        "<bpmn:multiInstanceLoopCharacteristics/>",
        "<bpmn:multiInstanceLoopCharacteristics isSequential='true'/>",
    ] {
        let text = undone_in_copies(marker, &throw);
        let rows = ["I; P; d := 0", "I; P; most := 9"];
        assert_eq!(errors(&text), "");
        assert_eq!(result(&text, &rows), r#"I completed {"d":321,"most":9}"#);
        let told = told(&text, &rows);
        assert!(told.contains("I^A#3 AB COMPLETED\n0 I^A#3 U ENTERED BUSY COMPLETED"), "{told}");
        // Only those that are completed.
        let rows = ["I; P; d := 0", "I; P; most := 3"];
        assert_eq!(result(&text, &rows), r#"I failed {"d":21,"most":3}"#);
    }
}

#[test]
fn what_undoes_once_cannot_undo_copies() {
    let text = undone_in_copies("", &flow("S", "A"));
    assert_eq!(
        errors(&text),
        "TV0746: task 'A' is done in copies, which task 'U' alone cannot undo: the run will fail"
    );
    assert_eq!(
        result(&text, &["I; P; d := 0", "I; P; most := 9"]),
        "failed: I, A: it is done in copies, which U alone cannot undo"
    );
}

#[test]
fn how_often_something_is_undone_follows_from_what_was_done() {
    let each = "<bpmn:multiInstanceLoopCharacteristics/>";
    let number = parameters("loopCharacteristics", &[("cardinality", "2")]);
    let undone = |extension: &str, marker: &str, more: &str| {
        let undoes = node("task isForCompensation='true'", "U", extension, marker);
        let inner = start()
            + &node("task", "A", &number, more)
            + &boundary("A", "compensate")
            + &undoes
            + "<bpmn:association id='As' sourceRef='AB' targetRef='U'/>"
            + &chain(&["S", "A"]);
        errors(&with(&[], &inner))
    };
    let rounds = "<bpmn:standardLoopCharacteristics/>";
    let most = parameters("loopCharacteristics", &[("maximum", "2")]);
    assert_eq!(undone("", each, each), "");
    assert_eq!(
        undone(&number, each, each),
        "TV0741: the parameter cardinality of task 'U' means nothing here"
    );
    assert!(
        undone(&most, rounds, each).contains("TV0745: task 'U' undoes something, and is a loop")
    );
    let of_one = start()
        + &task("A", "")
        + &boundary("A", "compensate")
        + &node("task isForCompensation='true'", "U", "", each)
        + "<bpmn:association id='As' sourceRef='AB' targetRef='U'/>"
        + &chain(&["S", "A"]);
    assert_eq!(
        errors(&with(&[], &of_one)),
        "TV0746: task 'U' undoes copies, and task 'A' has none"
    );
}

/// Who is failed while at work is ahead of the clock; who handles it is not.
#[test]
fn a_task_at_work_that_is_failed_is_handled_now() {
    let inner = start()
        + &does("A", &["timestamp += 9"])
        + &boundary("A", "error")
        + &does("H", &["y := 1"])
        + &chain(&["S", "A"])
        + &flow("AB", "H");
    let until = Settings { until: Some(2.into()), ..settings(Mode::First) };
    let mut run = begun(&with(&["y|integer"], &inner), &["I; P;"], until);
    run.run().unwrap();
    assert!(run.give_up("I", "A"));
    run.run().unwrap();
    assert_eq!(summary(&run), r#"I completed {"y":1}"#);
}

#[test]
fn what_begins_without_a_start_event_is_handled_too() {
    let typed = event("startEvent", "HS", "error", "");
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        "",
        &(typed + &does("HA", &["y := 1"]) + &flow("HS", "HA")),
    );
    let inner = event("endEvent", "X", "error", "") + &task("A", "") + &handler;
    expect![[r"
        0 I P ENTERED BUSY
        0 I HS ENTERED BUSY
        0 I X ARRIVED ENTERED FAILED
        0 I HS COMPLETED DEPARTED
        0 I HA ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&["y|integer"], &inner), &["I; P;"]));
    let ends = event("endEvent", "X", "terminate", "") + &task("A", "");
    expect![[r"
        0 I P ENTERED BUSY
        0 I X ARRIVED ENTERED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&[], &ends), &["I; P;"]));
}
