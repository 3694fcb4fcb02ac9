//! Sub-processes, copies, rounds, ad-hoc sub-processes, decision tasks.

use expect_test::expect;
use travertine_scenario::{Mode, Settings};

use super::build::*;

fn loop_of(all: &[(&str, &str)]) -> String {
    parameters("loopCharacteristics", all)
}

const EACH: &str = "<bpmn:multiInstanceLoopCharacteristics/>";
const IN_TURN: &str = "<bpmn:multiInstanceLoopCharacteristics isSequential='true'/>";
const ROUNDS: &str = "<bpmn:standardLoopCharacteristics/>";

#[test]
fn a_sub_process_ends_when_all_in_it_has() {
    let inside = node("startEvent", "SS", "", "")
        + &does("A", &["x := 1", "timestamp += 2"])
        + &does("B", &["x := 1"])
        + &flow("SS", "A")
        + &flow("SS", "B");
    let inner =
        start() + &node("subProcess", "Sub", "", &inside) + &end("E") + &chain(&["S", "Sub", "E"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I Sub ARRIVED READY ENTERED BUSY
        0 I SS ENTERED DEPARTED DEPARTED
        0 I A ARRIVED
        0 I B ARRIVED
        0 I A READY
        0 I B READY
        0 I A ENTERED BUSY
        0 I B ENTERED BUSY COMPLETED EXITING DONE
        2 I A COMPLETED EXITING DONE
        2 I Sub COMPLETED EXITING DEPARTED
        2 I E ARRIVED ENTERED DONE
        2 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&["x|integer"], &inner), &["I; P;"]));
}

#[test]
fn nodes_that_nothing_leads_to_are_created() {
    let inner = task("A", "") + &task("B", "") + &flow("A", "B");
    let told = told(&with(&[], &inner), &["I; P;"]);
    assert_eq!(states(&told, "A"), "CREATED READY ENTERED BUSY COMPLETED EXITING DEPARTED");
    assert_eq!(states(&told, "B"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE");
}

fn copies(kind: &str, rows: &[&str]) -> (String, String) {
    let own = status(&(attributes(&["i|integer"]) + &operators(&["d += i", "x := i"])))
        + &loop_of(&[("cardinality", "n"), ("index", "i")]);
    let inner = node("dataObject", "O", &attributes(&["d|integer"]), "")
        + &start()
        + &node("task", "A", &own, kind)
        + &end("E")
        + &chain(&["S", "A", "E"]);
    let text = with(&["n|integer", "x|integer"], &inner);
    (told(&text, rows), result(&text, rows))
}

#[test]
fn copies_run_at_once_and_merge() {
    let (told, result) = copies(EACH, &["I; P; n := 2", "I; P; d := 0"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED WAITING
        0 I^A#1 A CREATED
        0 I^A#2 A CREATED
        0 I^A#1 A READY
        0 I^A#2 A READY
        0 I^A#1 A ENTERED BUSY COMPLETED
        0 I^A#2 A ENTERED BUSY COMPLETED
        0 I^A#1 A EXITING DONE
        0 I^A#2 A EXITING DONE
        0 I A DEPARTED
        0 I E ARRIVED ENTERED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told);
    assert_eq!(result, r#"I completed {"d":3,"n":2}"#);
}

#[test]
fn sequential_copies_run_in_turn() {
    let (told, _) = copies(IN_TURN, &["I; P; n := 2", "I; P; d := 0"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED WAITING
        0 I^A#1 A CREATED
        0 I^A#2 A CREATED
        0 I^A#1 A READY ENTERED BUSY COMPLETED EXITING DONE
        0 I^A#2 A READY ENTERED BUSY COMPLETED EXITING DONE
        0 I A DEPARTED
        0 I E ARRIVED ENTERED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told);
}

#[test]
fn a_number_of_copies_must_be_one() {
    for n in ["0", "-1", "undefined"] {
        let (told, _) = copies(EACH, &[&format!("I; P; n := {n}"), "I; P; d := 0"]);
        assert!(told.contains("failed: I, A: `n` is no number of copies"), "{told}");
    }
}

#[test]
fn a_loop_goes_round_while_its_condition_holds() {
    let rounds = |parameters: &[(&str, &str)]| {
        let own =
            status(&(attributes(&["i|integer"]) + &operators(&["x += i"]))) + &loop_of(parameters);
        let inner =
            start() + &node("task", "A", &own, ROUNDS) + &end("E") + &chain(&["S", "A", "E"]);
        let text = with(&["x|integer"], &inner);
        (told(&text, &["I; P; x := 0"]), result(&text, &["I; P; x := 0"]))
    };
    let (told, x) = rounds(&[("index", "i"), ("condition", "x < 6"), ("maximum", "9")]);
    assert_eq!(x, r#"I completed {"x":6}"#);
    let round = "ENTERED BUSY COMPLETED EXITING";
    assert_eq!(states(&told, "A"), format!("ARRIVED READY {round} {round} {round} DEPARTED"));
    assert_eq!(rounds(&[("index", "i"), ("maximum", "2")]).1, r#"I completed {"x":3}"#);
    assert_eq!(rounds(&[("index", "i"), ("condition", "x < 2")]).1, r#"I completed {"x":3}"#);
}

#[test]
fn a_performer_does_one_child_at_a_time() {
    let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
    let inside =
        data + &does("A", &["x := 1", "d := 1", "timestamp += 2"]) + &does("B", &["d += 1"]);
    let ad_hoc = node("adHocSubProcess ordering='Sequential'", "H", "", &inside);
    let inner = start() + &ad_hoc + &end("E") + &chain(&["S", "H", "E"]);
    let text = with(&["x|integer"], &inner);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I H ARRIVED READY ENTERED BUSY
        0 I A CREATED
        0 I B CREATED
        0 I A READY
        0 I B READY
        0 I A ENTERED BUSY
        2 I A COMPLETED EXITING DONE
        2 I B ENTERED BUSY COMPLETED EXITING DONE
        2 I H COMPLETED EXITING DEPARTED
        2 I E ARRIVED ENTERED DONE
        2 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P;"]));
    // What a child carried is not handed on.
    assert_eq!(result(&text, &["I; P;"]), "I completed {}");
}

#[test]
fn a_performer_around_serves_several_ad_hoc_sub_processes() {
    let ad_hoc = |id: &str, task: &str| {
        node("adHocSubProcess ordering='Sequential'", id, "", &does(task, &["timestamp += 2"]))
    };
    let inner = "<bpmn:performer name='Sequential'/>".to_owned()
        + &start()
        + &ad_hoc("H1", "A")
        + &ad_hoc("H2", "B")
        + &flow("S", "H1")
        + &flow("S", "H2");
    let told = told(&with(&[], &inner), &["I; P;"]);
    let entered: Vec<&str> = told
        .lines()
        .filter(|it| it.contains("ENTERED") && (it.contains(" A ") || it.contains(" B ")))
        .collect();
    assert_eq!(entered.len(), 2);
    assert!(entered[0].starts_with("0 I A") && entered[1].starts_with("2 I B"), "{told}");
}

#[test]
fn a_decision_task_takes_the_first_choice_that_can_be_made() {
    let decides = |all: &[&str], checks: &[&str]| {
        let own = status(
            &(attributes(&["y|decimal"])
                + &choices(all)
                + &restrictions(checks)
                + &operators(&["x := y"])),
        );
        let task = node("task bpmnos:type='Decision'", "D", &own, "");
        let inner = start() + &task + &end("E") + &chain(&["S", "D", "E"]);
        result(&with(&["x|decimal", "k|integer"], &inner), &["I; P; k := 2"])
    };
    assert_eq!(decides(&["y in [5, 1, k]"], &["completion|y < 5"]), r#"I completed {"k":2,"x":1}"#);
    assert_eq!(decides(&["k <= y < 9, 4 | y"], &[]), r#"I completed {"k":2,"x":4}"#);
    assert_eq!(decides(&["0.5 < y < 1"], &[]), r#"I completed {"k":2,"x":0.75}"#);
    // Later choices see earlier ones; earlier ones give way.
    assert_eq!(
        decides(&["k in [1, 2, 3]", "k < y <= k + 1, 1 | y"], &["completion|y == 4"]),
        r#"I completed {"k":3,"x":4}"#
    );
    assert_eq!(decides(&["y in [1, 2]"], &["completion|y > 5"]), r#"I waiting {"k":2}"#);
}

#[test]
fn an_own_attribute_may_say_the_number_of_copies() {
    let counted = |declared: &str, rows: &[&str]| {
        let own = status(&(attributes(&[declared]) + &operators(&["d += n"])))
            + &loop_of(&[("cardinality", "n")]);
        let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
        let inner = data + &start() + &node("task", "A", &own, EACH) + &chain(&["S", "A"]);
        let text = with(&["x|integer"], &inner);
        (result(&text, rows), told(&text, rows))
    };
    let (given, told) = counted("n|integer", &["I; P; d := 0", "I; A; n := 3"]);
    assert_eq!(given, r#"I completed {"d":9}"#);
    assert!(told.contains("0 I A ARRIVED WAITING\n"), "{told}");
    let (worked_out, _) = counted("n := x * 2|integer", &["I; P; d := 0", "I; P; x := 1"]);
    assert_eq!(worked_out, r#"I completed {"d":4,"x":1}"#);
    // What is not known yet says nothing yet.
    let header = "INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE";
    let (_, told) = counted("n|integer", &[header, "I; P; d := 0", "I; A; n := 2; 4"]);
    assert!(told.contains("0 I A ARRIVED\n4 I A WAITING\n4 I^A#1 A CREATED"), "{told}");
}

#[test]
fn a_copy_whose_turn_has_not_come_waits_for_the_others() {
    let own = status(&operators(&["timestamp += 5"])) + &loop_of(&[("cardinality", "3")]);
    let inner = start() + &node("task", "A", &own, IN_TURN) + &chain(&["S", "A"]);
    let until = Settings { until: Some(2.into()), ..settings(Mode::First) };
    let mut run = begun(&with(&[], &inner), &["I; P;"], until);
    run.run().unwrap();
    let waits: Vec<_> = run.waiting().into_iter().map(|it| (it.label, it.what)).collect();
    let expected = [("I^A#1", "time"), ("I^A#2", "tokens"), ("I^A#3", "tokens")];
    assert_eq!(waits, expected.map(|(label, what)| (label.into(), what)));
}

#[test]
fn an_index_may_be_data() {
    let own =
        status(&operators(&["x := x * 10 + d"])) + &loop_of(&[("maximum", "3"), ("index", "d")]);
    let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
    let inner = data.clone() + &start() + &node("task", "A", &own, ROUNDS) + &chain(&["S", "A"]);
    assert_eq!(
        result(&with(&["x|integer"], &inner), &["I; P; x := 0"]),
        r#"I completed {"d":3,"x":123}"#
    );
    // That of a sub-process is its own, each time.
    let sum = node("dataObject", "Sum", &attributes(&["sum|integer"]), "");
    let inside =
        data + &node("startEvent", "SS", "", "") + &does("A", &["sum += d"]) + &flow("SS", "A");
    for (marker, number) in [(ROUNDS, "maximum"), (EACH, "cardinality"), (IN_TURN, "cardinality")] {
        let repeats = loop_of(&[(number, "3"), ("index", "d")]);
        let sub = node("subProcess", "Sub", &repeats, &(marker.to_owned() + &inside));
        let inner = sum.clone() + &start() + &sub + &flow("S", "Sub");
        assert_eq!(result(&with(&[], &inner), &["I; P; sum := 0"]), r#"I completed {"sum":6}"#);
    }
}
