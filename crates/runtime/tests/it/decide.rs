//! Programs make decisions without a process.

use travertine_runtime::{
    Engine, Error,
    engine::{Decided, File, MadeBy, Options, Target},
};
use travertine_value::Value;

use crate::world::vars;

fn dmn(name: &str, large: &str) -> File {
    let body = format!(
        r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="drg" name="Sizes"
            namespace="urn:s" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
            <inputData id="i" name="n"><variable name="n"/></inputData>
            <decision id="double" name="Double"><variable name="Double"/>
              <informationRequirement><requiredInput href="#i"/></informationRequirement>
              <literalExpression><text>n * 2</text></literalExpression></decision>
            <decision id="size" name="Size"><extensionElements><zeebe:versionTag value="{large}"/>
              </extensionElements><variable name="Size"/>
              <informationRequirement><requiredDecision href="#double"/></informationRequirement>
              <decisionTable hitPolicy="UNIQUE">
                <input id="in" label="twice"><inputExpression><text>Double</text></inputExpression></input>
                <output id="out" name="size"/>
                <rule id="r1"><inputEntry><text>&lt; 10</text></inputEntry>
                  <outputEntry><text>"small"</text></outputEntry></rule>
                <rule id="r2"><inputEntry><text>[10..100]</text></inputEntry>
                  <outputEntry><text>"{large}"</text></outputEntry></rule>
              </decisionTable></decision></definitions>"##
    );
    File { name: name.to_owned(), body: body.into_bytes() }
}

fn decide(engine: &Engine, target: impl Into<Target>, n: impl Into<Value>) -> Decided {
    engine.decide(target, vars(&[("n", n.into())])).wait().expect("there is an answer")
}

#[test]
fn a_decision_says_what_was_evaluated_for_it_and_which_rules_matched() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let deployed = engine.deploy(&[dmn("a.dmn", "large")]).unwrap();
    let decided = decide(&engine, "size", 20);
    assert_eq!((decided.output, decided.failed), ("large".into(), None));
    assert_eq!((&*decided.decision.id, decided.decision.version), ("size", 1));
    assert_eq!(decided.requirements.as_deref(), Some(&*deployed.deployed[0]));
    let [double, size] = decided.evaluated.as_slice() else { panic!("two were evaluated") };
    let key = |id: &str| deployed.decisions.iter().find(|it| &*it.id == id).map(|it| it.key);
    assert_eq!((Some(double.decision.key), double.made_by), (key("double"), MadeBy::Literal));
    assert_eq!((double.output.as_i64(), double.rules.len()), (Some(40), 0));
    assert_eq!((Some(size.decision.key), size.made_by), (key("size"), MadeBy::Table));
    assert_eq!(size.decision.name.as_deref(), Some("Size"));
    let [input] = size.inputs.as_slice() else { panic!("there is one input") };
    assert_eq!((input.id.as_deref(), &*input.name), (Some("in"), "twice"));
    assert_eq!(input.value.as_i64(), Some(40));
    let [rule] = size.rules.as_slice() else { panic!("one rule matches") };
    assert_eq!((rule.id.as_deref(), rule.index), (Some("r2"), 2));
    let [output] = rule.outputs.as_slice() else { panic!("there is one output") };
    assert_eq!((output.id.as_deref(), &*output.name), (Some("out"), "size"));
    assert_eq!(output.value, "large".into());
}

#[test]
fn a_decision_is_found_by_id_version_tag_and_key() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let first = engine.deploy(&[dmn("a.dmn", "large")]).unwrap();
    engine.deploy(&[dmn("b.dmn", "huge")]).unwrap();
    let key = first.decisions.iter().find(|it| &*it.id == "size").unwrap().key;
    let cases: [(Target, &str); 5] = [
        ("size".into(), "huge"),
        ("Size".into(), "huge"),
        (Target::Version("size".into(), 1), "large"),
        (Target::Tag("size".into(), "large".into()), "large"),
        (Target::Key(key), "large"),
    ];
    for (target, expected) in cases {
        assert_eq!(decide(&engine, target.clone(), 20).output, expected.into(), "{target:?}");
    }
    let graph = first.deployed[0].key;
    engine.retire(key, false).unwrap();
    for unknown in [
        "other".into(),
        Target::Version("size".into(), 9),
        Target::Tag("size".into(), "tiny".into()),
        Target::Key(graph),
        Target::Key(key),
        Target::Version("size".into(), 1),
    ] {
        let answer = engine.decide(unknown.clone(), Vec::new()).wait();
        assert!(matches!(answer, Err(Error::NoSuchDefinition(_))), "{unknown:?}: {answer:?}");
    }
}

#[test]
fn a_decision_that_cannot_be_made_says_which_one_failed_and_why() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    engine.deploy(&[dmn("a.dmn", "large")]).unwrap();
    let nothing = decide(&engine, "size", 2_000);
    let failed = nothing.failed.expect("no rule matches");
    assert_eq!((&*failed.decision, nothing.output), ("size", Value::Null));
    assert!(failed.message.contains("no rule matches"), "{}", failed.message);
    assert_eq!(nothing.evaluated.len(), 2);
    let wrong = decide(&engine, "size", "twenty").failed.expect("a text cannot be doubled");
    assert_eq!(&*wrong.decision, "double");
}
