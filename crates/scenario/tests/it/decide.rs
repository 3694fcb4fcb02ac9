//! Decisions from outside.

use std::collections::BTreeMap;

use travertine_scenario::{Answer, DecisionKind, Mode, Simulation};
use travertine_value::Value;

use super::build::*;

fn asked() -> Simulation {
    let own = status(
        &(attributes(&["y|integer maximize 1"])
            + &choices(&["1 <= y <= 3"])
            + &restrictions(&["completion|y != 2"])),
    );
    let decides = node("task bpmnos:type='Decision'", "D", &own, "");
    let refused = task("R", &status(&restrictions(&["entry|x > 1"])));
    let inner = start() + &refused + &decides + &flow("S", "R") + &flow("S", "D");
    let mut run = begun(&with(&["x|integer"], &inner), &["I; P; x := 0"], settings(Mode::Ask));
    run.run().unwrap();
    run
}

fn answer(kind: DecisionKind, node: &str, values: &[(&str, i64)]) -> Answer {
    let values = values.iter().map(|(name, it)| ((*name).to_owned(), Value::from(*it)));
    let values: BTreeMap<String, Value> = values.collect();
    Answer { kind, instance: "I".to_owned(), node: node.to_owned(), values, sender: None }
}

fn open(run: &Simulation) -> Vec<String> {
    let told = run.decisions().into_iter().map(|it| {
        let ways = it.effects.iter().map(|it| {
            let values: Value = it.values.clone().into_iter().collect();
            format!("{}{}{}", values.to_json(), if it.feasible { "+" } else { "-" }, it.objective)
        });
        format!("{} {} {}", it.kind.name(), it.node, ways.collect::<Vec<_>>().join(" "))
    });
    told.collect()
}

#[test]
fn open_decisions_are_listed_with_what_they_would_do() {
    let mut run = asked();
    assert_eq!(open(&run), ["entry R {}-0", "entry D {}+0"]);
    // Asking changes nothing.
    assert_eq!(open(&run), ["entry R {}-0", "entry D {}+0"]);
    assert_eq!(run.take_entries().iter().filter(|it| it.node.as_ref() == "R").count(), 2);
    assert_eq!(run.decide(&answer(DecisionKind::Entry, "D", &[])), Ok(true));
    run.run().unwrap();
    assert_eq!(open(&run), ["entry R {}-0", r#"choice D {"y":1}+0 {"y":2}-0 {"y":3}+0"#]);
    assert!(run.decide(&answer(DecisionKind::Choice, "D", &[("y", 4)])).is_err());
    assert!(run.decide(&answer(DecisionKind::Choice, "D", &[])).is_err());
    assert_eq!(run.decide(&answer(DecisionKind::Exit, "D", &[])), Ok(false));
    assert_eq!(run.decide(&answer(DecisionKind::Choice, "D", &[("y", 3)])), Ok(true));
    run.run().unwrap();
    assert_eq!(open(&run), ["entry R {}-0", "exit D {}+3"]);
    assert_eq!(run.objective(), 0.into());
    assert_eq!(run.decide(&answer(DecisionKind::Exit, "D", &[])), Ok(true));
    run.run().unwrap();
    assert_eq!(run.objective(), 3.into());
    assert_eq!(run.decide(&answer(DecisionKind::Entry, "R", &[])), Ok(true));
    run.run().unwrap();
    assert_eq!(summary(&run), r#"I failed {"x":0}"#);
}

#[test]
fn the_best_choice_is_the_one_that_the_objective_likes() {
    for (mode, expected) in [(Mode::First, 1), (Mode::Best, 3)] {
        let own = status(&(attributes(&["y|integer maximize 1"]) + &choices(&["y in [1, 2, 3]"])));
        let decides = node("task bpmnos:type='Decision'", "D", &own, "");
        let mut run =
            begun(&with(&[], &(start() + &decides + &flow("S", "D"))), &["I; P;"], settings(mode));
        run.run().unwrap();
        assert_eq!(run.objective(), expected.into());
    }
}

#[test]
fn time_passes_on_request_while_decisions_are_open() {
    let mut run = asked();
    assert!(!run.pass(None));
    assert!(run.pass(Some(4.into())));
    assert_eq!(run.decide(&answer(DecisionKind::Entry, "D", &[])), Ok(true));
    let told = tell(&mut run);
    assert!(told.contains("4 I D ENTERED BUSY"), "{told}");
}

#[test]
fn a_message_is_delivered_when_somebody_says_so() {
    let throws = process(
        "P",
        "",
        &(start() + &event("endEvent", "A", "message", &message("m", &[], &[])) + &flow("S", "A")),
    );
    let takes = event("intermediateCatchEvent", "B", "message", &message("m", &[], &[]));
    let takes = process("Q", "", &(node("startEvent", "S2", "", "") + &takes + &flow("S2", "B")));
    let mut run =
        begun(&file(&(throws + &takes)), &["I; P;", "K; P;", "J; Q;"], settings(Mode::Ask));
    run.run().unwrap();
    let [decision] = &run.decisions()[..] else { panic!("one decision is open") };
    let senders: Vec<_> = decision.effects.iter().map(|it| it.sender.as_deref().unwrap()).collect();
    assert_eq!(senders, ["I", "K"]);
    let answer = Answer {
        instance: "J".to_owned(),
        sender: Some("K".to_owned()),
        ..answer(DecisionKind::Message, "B", &[])
    };
    assert_eq!(run.decide(&answer), Ok(true));
    run.run().unwrap();
    assert!(summary(&run).contains("J completed"));
    assert_eq!(run.held().len(), 1);
}

#[test]
fn a_task_that_can_never_go_on_is_failed_on_request() {
    let own = status(&(attributes(&["y|integer"]) + &choices(&["5 <= y <= 3"])));
    let decides = node("task bpmnos:type='Decision'", "D", &own, "");
    let caught = node("boundaryEvent attachedToRef='D'", "B", "", "<bpmn:errorEventDefinition/>");
    let inner = start() + &decides + &caught + &does("H", &["x := 7"]) + &chain(&["S", "D"]);
    let text = with(&["x|integer"], &(inner + &flow("B", "H")));
    for mode in [Mode::First, Mode::Ask] {
        let mut run = begun(&text, &["I; P; x := 0"], settings(mode));
        run.run().unwrap();
        if mode == Mode::Ask {
            assert_eq!(run.decide(&answer(DecisionKind::Entry, "D", &[])), Ok(true));
            run.run().unwrap();
        }
        assert!(!run.give_up("I", "H"));
        assert!(!run.give_up("J", "D"));
        assert!(run.give_up("I", "D"));
        assert!(!run.give_up("I", "D"));
        run.run().unwrap();
        for kind in [DecisionKind::Entry, DecisionKind::Exit] {
            if mode == Mode::Ask {
                assert_eq!(run.decide(&answer(kind, "H", &[])), Ok(true));
                run.run().unwrap();
            }
        }
        assert_eq!(summary(&run), r#"I completed {"x":7}"#);
    }
}
