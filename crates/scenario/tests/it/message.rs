//! Messages between processes.

use expect_test::expect;

use super::build::*;

fn two(first: &str, second: &str, more: &str) -> String {
    let start2 = node("startEvent", "S2", "", "");
    let own =
        |name: &str| status(&attributes(&[&format!("{name}|integer"), &format!("{name}s|string")]));
    file(
        &(process("P", &own("x"), &(start() + first))
            + &process("Q", &own("y"), &(start2 + second))
            + more),
    )
}

#[test]
fn a_message_brings_its_content_to_whoever_waits() {
    let sends = node("sendTask", "A", &message("order", &[], &[("n", "x"), ("more", "xs")]), "")
        + &end("E")
        + &chain(&["S", "A", "E"]);
    let takes = node("receiveTask", "B", &message("order", &[], &[("n", "y"), ("none", "ys")]), "")
        + &flow("S2", "B");
    let text = two(&sends, &takes, "");
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY
        3 J Q ENTERED BUSY
        3 J S2 ENTERED DEPARTED
        3 J B ARRIVED READY ENTERED BUSY COMPLETED
        3 I A COMPLETED
        3 J B EXITING DONE
        3 J Q COMPLETED DONE
        3 I A EXITING DEPARTED
        3 I E ARRIVED ENTERED DONE
        3 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P; x := 7", "J; Q; timestamp := 3", "J; Q; ys := \"old\""]));
    assert_eq!(
        result(&text, &["I; P; x := 7", "J; Q; ys := \"old\""]),
        "I completed {\"x\":7}\nJ completed {\"y\":7}"
    );
}

#[test]
fn a_throw_event_does_not_wait_and_what_it_sent_is_held() {
    let throws = event("intermediateThrowEvent", "A", "message", &message("m", &[], &[("n", "x")]))
        + &end("E")
        + &chain(&["S", "A", "E"]);
    let takes = event("intermediateCatchEvent", "B", "message", &message("m", &[], &[("n", "y")]))
        + &flow("S2", "B");
    let told = told(&two(&throws, &takes, ""), &["I; P; x := 7", "J; Q; timestamp := 3"]);
    assert_eq!(states(&told, "A"), "ARRIVED ENTERED DEPARTED");
    assert!(told.contains("3 J B ARRIVED ENTERED BUSY COMPLETED DONE"), "{told}");
}

#[test]
fn headers_must_have_the_same_names_and_no_values_that_differ() {
    let meets = |sent: &[(&str, &str)], wanted: &[(&str, &str)]| {
        let throws = event("endEvent", "A", "message", &message("m", sent, &[])) + &flow("S", "A");
        let takes = event("intermediateCatchEvent", "B", "message", &message("m", wanted, &[]))
            + &flow("S2", "B");
        result(&two(&throws, &takes, ""), &["I; P; x := 7", "J; Q; y := 7"]).contains("J completed")
    };
    assert!(meets(&[], &[]));
    assert!(meets(&[("k", "x")], &[("k", "y")]));
    assert!(meets(&[("k", "x")], &[("k", "")]));
    assert!(meets(&[("k", "\"a\"")], &[("k", "\"a\"")]));
    assert!(!meets(&[("k", "\"a\"")], &[("k", "\"b\"")]));
    assert!(!meets(&[("k", "x")], &[]));
    // In the order of names the last, so that those before are the same.
    assert!(!meets(&[("z", "")], &[]));
    assert!(!meets(&[], &[("z", "")]));
    assert!(!meets(&[], &[("k", "y")]));
    assert!(meets(&[("recipient", "\"J\"")], &[]));
    assert!(!meets(&[("recipient", "\"K\"")], &[]));
    assert!(meets(&[], &[("sender", "\"I\"")]));
    assert!(!meets(&[], &[("sender", "\"K\"")]));
}

#[test]
fn messages_go_along_message_flows_where_there_are_any() {
    let throws = event("endEvent", "A", "message", &message("m", &[], &[])) + &flow("S", "A");
    let takes = event("intermediateCatchEvent", "B", "message", &message("m", &[], &[]))
        + &event("intermediateCatchEvent", "C", "message", &message("m", &[], &[]))
        + &flow("S2", "B")
        + &flow("S2", "C");
    let flows = |to: &str| {
        let more = format!(
            "<bpmn:collaboration id='Co'><bpmn:participant id='PP' processRef='P'/><bpmn:participant id='QQ' processRef='Q'/>\
             <bpmn:messageFlow id='M' sourceRef='A' targetRef='{to}'/></bpmn:collaboration>"
        );
        let told = told(&two(&throws, &takes, &more), &["J; Q;", "I; P; timestamp := 1"]);
        (states(&told, "B").contains("COMPLETED"), states(&told, "C").contains("COMPLETED"))
    };
    assert_eq!(flows("B"), (true, false));
    assert_eq!(flows("C"), (false, true));
    assert_eq!(flows("QQ"), (true, false));
}

#[test]
fn a_message_to_whoever_has_ended_is_withdrawn() {
    let throws = event("endEvent", "A", "message", &message("m", &[("recipient", "\"J\"")], &[]))
        + &flow("S", "A");
    let takes = end("B") + &flow("S2", "B");
    let text = two(&throws, &takes, "");
    for rows in [["I; P;", "J; Q; timestamp := 2"], ["I; P; timestamp := 2", "J; Q;"]] {
        let mut run = begun(&text, &rows, settings(travertine_scenario::Mode::First));
        run.run().unwrap();
        assert!(run.held().is_empty());
    }
    let mut run = begun(&text, &["I; P;"], settings(travertine_scenario::Mode::First));
    run.run().unwrap();
    assert_eq!(run.held().len(), 1);
}

#[test]
fn the_message_of_a_send_task_that_is_left_is_withdrawn() {
    let sends = node("sendTask", "A", &message("m", &[], &[]), "")
        + &node(
            "boundaryEvent attachedToRef='A'",
            "T",
            &parameters("timer", &[("trigger", "2")]),
            "<bpmn:timerEventDefinition/>",
        )
        + &end("E")
        + &flow("S", "A")
        + &flow("T", "E");
    let takes =
        event("intermediateCatchEvent", "B", "message", &message("m", &[], &[])) + &flow("S2", "B");
    let text = two(&sends, &takes, "");
    let result = result(&text, &["I; P;", "J; Q; timestamp := 3"]);
    assert!(result.contains("I completed") && result.contains("J waiting"), "{result}");
}

#[test]
fn each_copy_of_a_task_has_a_message_of_its_own() {
    let all = format!(
        "<bpmnos:messages>{}{}</bpmnos:messages>",
        message("a", &[], &[]),
        message("b", &[], &[])
    );
    let sends = node(
        "sendTask",
        "A",
        &(all + &parameters("loopCharacteristics", &[("cardinality", "2")])),
        "<bpmn:multiInstanceLoopCharacteristics/>",
    ) + &flow("S", "A");
    let takes = event("intermediateCatchEvent", "B", "message", &message("a", &[], &[]))
        + &event("intermediateCatchEvent", "C", "message", &message("b", &[("sender", "ys")], &[]))
        + &chain(&["S2", "B", "C"]);
    let text = two(&sends, &takes, "");
    let ended = result(&text, &["I; P;", "J; Q; ys := \"I^A#2\""]);
    assert!(ended.contains("I completed") && ended.contains("J completed"), "{ended}");
}

#[test]
fn the_oldest_message_goes_to_whoever_waited_longest() {
    let throws =
        event("endEvent", "A", "message", &message("m", &[], &[("n", "x")])) + &flow("S", "A");
    let takes = event("intermediateCatchEvent", "B", "message", &message("m", &[], &[("n", "y")]))
        + &flow("S2", "B");
    let text = two(&throws, &takes, "");
    let rows = [
        "J1; Q;",
        "J2; Q; timestamp := 1",
        "I1; P; timestamp := 2",
        "I1; P; x := 1",
        "I2; P; timestamp := 3",
        "I2; P; x := 2",
    ];
    let ended = result(&text, &rows);
    assert!(ended.contains(r#"J1 completed {"y":1}"#), "{ended}");
    assert!(ended.contains(r#"J2 completed {"y":2}"#), "{ended}");
}

#[test]
fn each_message_flow_is_a_way_of_its_own() {
    let throws = |id: &str, value: &str| {
        does(&format!("{id}T"), &[&format!("x := {value}")])
            + &event("intermediateThrowEvent", id, "message", &message("m", &[], &[("n", "x")]))
    };
    let takes = |id: &str, to: &str| {
        event("intermediateCatchEvent", id, "message", &message("m", &[], &[("n", "y")]))
            + &does(&format!("{id}T"), &[to])
    };
    let first = throws("A", "1") + &throws("B", "2") + &chain(&["S", "AT", "A", "BT", "B"]);
    let second = takes("C", "ys := \"C had\"")
        + &takes("D", "y := y * 10")
        + &chain(&["S2", "D", "DT", "C", "CT"]);
    let flows = "<bpmn:collaboration id='Co'><bpmn:messageFlow id='M' sourceRef='A' targetRef='C'/>\
                 <bpmn:messageFlow id='N' sourceRef='B' targetRef='D'/></bpmn:collaboration>";
    let rows = ["I; P;", "J; Q;"];
    // What was sent second goes to who waits first.
    let crossed = result(&two(&first, &second, flows), &rows);
    assert!(crossed.ends_with(r#"J completed {"y":1,"ys":"C had"}"#), "{crossed}");
    let direct = result(&two(&first, &second, ""), &rows);
    assert!(direct.ends_with(r#"J completed {"y":2,"ys":"C had"}"#), "{direct}");
}

const EACH: &str = "<bpmn:multiInstanceLoopCharacteristics/>";
const IN_TURN: &str = "<bpmn:multiInstanceLoopCharacteristics isSequential='true'/>";

/// A process with a task of that kind that is done in copies, and one that throws or catches `a`, then the
/// last of its messages.
fn in_copies(kind: &str, marker: &str, names: &[&str], more: &str) -> String {
    let (other, content) = match kind {
        "sendTask" => ("intermediateCatchEvent", ("y", "i")),
        _ => ("intermediateThrowEvent", ("y", "x")),
    };
    let all: String = names.iter().map(|it| message(it, &[], &[("n", content.1)])).collect();
    let own = status(&attributes(&["i|integer"]))
        + &format!("<bpmnos:messages>{all}</bpmnos:messages>")
        + &parameters("loopCharacteristics", &[("index", "i")])
        + more;
    let inner = node(kind, "A", &own, marker) + &end("E") + &chain(&["S", "A", "E"]);
    let event = |id: &str, name: &str| {
        event(other, id, "message", &message(name, &[], &[("n", content.0)]))
    };
    let second = event("B", "a") + &event("C", names.last().unwrap()) + &chain(&["S2", "B", "C"]);
    two(&inner, &second, "")
}

#[test]
fn there_are_as_many_copies_as_messages() {
    let rows = ["I; P;", "J; Q; y := 5"];
    for marker in [EACH, IN_TURN] {
        let sends = in_copies("sendTask", marker, &["a", "b"], "");
        assert_eq!(result(&sends, &rows), "I completed {}\nJ completed {\"y\":2}");
        let takes = in_copies("receiveTask", marker, &["a", "b"], "");
        assert_eq!(
            result(&takes, &rows),
            "I completed {\"x\":5}\nJ completed {\"y\":5}",
            "{marker}"
        );
        let told = told(&takes, &rows);
        assert!(told.contains("I^A#2 A CREATED") && !told.contains("I^A#3"), "{told}");
    }
}

#[test]
fn another_number_of_copies_than_messages_fails_the_run() {
    let number = |it: &str| parameters("loopCharacteristics", &[("cardinality", it)]);
    for (names, copies, expected) in [
        (&["a", "b"][..], "3", "failed: I, A: there are 2 messages, and the number of copies is 3"),
        (&["a", "b"], "1", "failed: I, A: there are 2 messages, and the number of copies is 1"),
        (&["a", "b"], "2", "I completed {}\nJ completed {\"y\":2}"),
        // One is that of all copies.
        (&["a"], "2", "I completed {}\nJ completed {\"y\":2}"),
    ] {
        let text = in_copies("sendTask", EACH, names, &number(copies));
        assert_eq!(result(&text, &["I; P;", "J; Q;"]), expected);
    }
}

#[test]
fn a_copy_and_what_does_not_interrupt_are_instances_of_their_own() {
    let own = status(
        &(attributes(&["w := instance|string"]) + &operators(&["d := if d == \"\" then w else d"])),
    ) + &parameters("loopCharacteristics", &[("cardinality", "2")]);
    let typed = event(
        "startEvent isInterrupting='false'",
        "HS",
        "timer",
        &parameters("timer", &[("trigger", "1")]),
    );
    let handler = node(
        "subProcess triggeredByEvent='true'",
        "H",
        "",
        &(typed + &does("HA", &["h := instance"]) + &flow("HS", "HA")),
    );
    let data = node("dataObject", "O", &attributes(&["d|string", "h|string", "l|string"]), "");
    let inner = data
        + &start()
        + &node("task", "A", &own, EACH)
        + &does("B", &["l := instance", "timestamp += 3"])
        + &handler
        + &chain(&["S", "A", "B"]);
    assert_eq!(
        result(&with(&[], &inner), &["I; P; d := \"\""]),
        r#"I completed {"d":"I^A#1","h":"I^H#1","l":"I"}"#
    );
}

#[test]
fn a_message_to_a_copy_of_who_has_ended_is_not_held() {
    let text = |to: &str| {
        let throws = event("endEvent", "A", "message", &message("m", &[("recipient", to)], &[]))
            + &flow("S", "A");
        two(&throws, &(end("B") + &flow("S2", "B")), "")
    };
    for (to, held) in [("\"J^B#1\"", 0), ("\"J\"", 0), ("\"J2\"", 1)] {
        let mode = settings(travertine_scenario::Mode::First);
        let mut run = begun(&text(to), &["I; P; timestamp := 2", "J; Q;"], mode);
        run.run().unwrap();
        assert_eq!(run.held().len(), held, "{to}");
    }
}

#[test]
fn each_copy_that_waits_tells_its_own_message() {
    let text = in_copies("receiveTask", EACH, &["a", "b"], "");
    let mut run = begun(&text, &["I; P;"], settings(travertine_scenario::Mode::First));
    run.run().unwrap();
    let names: Vec<_> = run.waiting().into_iter().filter_map(|it| it.name).collect();
    assert_eq!(names, ["a".into(), "b".into()]);
}
