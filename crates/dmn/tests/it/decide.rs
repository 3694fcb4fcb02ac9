//! What decisions give, and what they say about it.

use expect_test::expect;
use travertine_dmn::{Error, InvocableKind};
use travertine_lang::feel::{Context, FeelValue, Settings};
use travertine_value::{Limit, Limits};

use super::{decide, decision, definitions};

const TABLE: &str = r##"<inputData id="n" name="n"><variable name="n" typeRef="number"/></inputData>
<decision id="size" name="size"><variable name="size" typeRef="string"/>
<informationRequirement><requiredInput href="#n"/></informationRequirement>
<decisionTable hitPolicy="FIRST">
<input label="how many"><inputExpression><text>n</text></inputExpression></input>
<output name="size"/>
<rule><inputEntry><text>&lt; 10</text></inputEntry><outputEntry><text>"small"</text></outputEntry></rule>
<rule><inputEntry><text>&lt; 100</text></inputEntry><outputEntry><text>"large"</text></outputEntry></rule>
</decisionTable></decision>"##;

#[test]
fn a_result_says_which_rule_matched_with_which_inputs() {
    let result = decide(&definitions(TABLE), "size", r#"{"n": 50}"#);
    assert_eq!(result.value, "large".into());
    assert!(result.problems.is_empty(), "{:?}", result.problems);
    let table = &result.decisions[0].tables[0];
    assert_eq!((&*table.inputs[0].name, &table.inputs[0].value), ("how many", &50_i64.into()));
    assert_eq!(table.rules.len(), 1);
    assert_eq!((table.rules[0].number, &table.rules[0].outputs[0].value), (2, &"large".into()));
}

#[test]
fn a_result_says_what_became_null_and_why() {
    let definitions = definitions(TABLE);
    let problems = |inputs| {
        let result = decide(&definitions, "size", inputs);
        assert!(result.value.is_null());
        result.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    expect![[r"
        the input 'n' is missing
        m.dmn:5:1: decision 'size': no rule matches"]]
    .assert_eq(&problems("{}"));
    expect![[r"
        the input 'n' is not of type number: expected number, found a string
        m.dmn:5:1: decision 'size': no rule matches"]]
    .assert_eq(&problems(r#"{"n": "x"}"#));
    expect!["m.dmn:5:1: decision 'size': no rule matches"].assert_eq(&problems(r#"{"n": 1000}"#));
}

#[test]
fn every_decision_on_the_way_is_evaluated_once() {
    let inside = [
        decision("a", &[], "1"),
        decision("b", &["a"], "a + 1"),
        decision("c", &["a", "b"], "a + b"),
    ];
    let result = decide(&definitions(&inside.concat()), "c", "{}");
    let names: Vec<_> = result.decisions.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(result.value, 3_i64.into());
}

#[test]
fn json_becomes_what_the_types_ask_for() {
    let inside = r#"<itemDefinition name="tStay">
        <itemComponent name="from"><typeRef>date</typeRef></itemComponent>
        <itemComponent name="breaks" isCollection="true"><typeRef>days and time duration</typeRef></itemComponent>
      </itemDefinition>
      <inputData id="stay" name="stay"><variable name="stay" typeRef="tStay"/></inputData>"#;
    let inside =
        format!("{inside}{}", decision("d", &["Input stay"], "stay.from + sum(stay.breaks)"));
    let result = decide(
        &definitions(&inside),
        "d",
        r#"{"stay": {"from": "2026-01-05", "breaks": ["P1D", "PT24H"]}}"#,
    );
    assert_eq!(result.value.to_string(), "2026-01-07");
    assert!(matches!(result.value, FeelValue::Date(_)));
}

#[test]
fn a_model_tells_what_can_be_asked_and_what_that_needs() {
    let inside = format!("{TABLE}{}", decision("label", &["size"], "size + unit"));
    let definitions = definitions(&inside);
    let names = |kind| {
        let all = definitions.invocables();
        let all = all.into_iter().filter(|it| it.kind == kind).map(|it| it.name.to_string());
        all.collect::<Vec<_>>()
    };
    assert_eq!(names(InvocableKind::Decision), ["size", "label"]);
    let main = definitions.main_decisions();
    assert_eq!(main.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["label"]);
    let inputs = definitions.inputs("label").unwrap();
    let inputs: Vec<_> = inputs.iter().map(|it| (&*it.name, &*it.type_name)).collect();
    assert_eq!(inputs, [("unit", "Any"), ("n", "number")]);
    assert_eq!(definitions.inputs("nope"), None);
}

#[test]
fn a_name_in_a_filter_may_be_an_entry_or_an_input() {
    let definitions = definitions(&decision("d", &[], "[{price: 1}, {price: 5}][price > limit]"));
    assert_eq!(definitions.inputs("d").unwrap(), []);
    let result = decide(&definitions, "d", r#"{"limit": 3}"#);
    assert_eq!(result.value.to_string(), "[{price: 5}]");
}

#[test]
fn what_does_not_exist_cannot_be_asked_for() {
    let definitions = definitions(TABLE);
    for name in ["nope", "n"] {
        let result = definitions.evaluate(name, &Context::default(), &Settings::default());
        assert_eq!(result.unwrap_err(), Error::NoSuchDecision(name.to_owned()));
    }
}

const ENDLESS: &str = r#"<businessKnowledgeModel id="f" name="f"><encapsulatedLogic>
    <formalParameter name="n"/><literalExpression><text>f(n + 1)</text></literalExpression>
    </encapsulatedLogic></businessKnowledgeModel>"#;

#[test]
fn an_evaluation_that_never_ends_is_ended() {
    let inside = [
        ENDLESS.to_owned(),
        decision("deep", &["Knowledge f"], "f(1)"),
        decision("long", &[], "count(for i in 1..1e9 return i)"),
    ];
    let definitions = definitions(&inside.concat());
    let limits = Limits { steps_max: 100_000, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let ask = |name| definitions.evaluate(name, &Context::default(), &settings).unwrap_err();
    assert_eq!(ask("deep"), Error::Limit(Limit::Depth));
    assert_eq!(ask("long"), Error::Limit(Limit::Steps));
}

#[test]
fn many_threads_can_ask_at_once() {
    let definitions = definitions(TABLE);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let definitions = &definitions;
            scope.spawn(move || {
                let result = decide(definitions, "size", &format!(r#"{{"n": {n}}}"#));
                assert_eq!(result.value, "small".into());
            });
        }
    });
}

#[test]
fn what_is_called_with_an_argument_of_a_wrong_type_is_not_called() {
    let inside = r##"<businessKnowledgeModel id="f" name="f"><variable name="f"/><encapsulatedLogic>
<formalParameter name="n" typeRef="number"/><literalExpression><text>n = null</text></literalExpression>
</encapsulatedLogic></businessKnowledgeModel>
<decision id="n" name="n"><variable name="n" typeRef="number"/><literalExpression><text>1</text>
</literalExpression></decision>
<decision id="asked" name="asked"><variable name="asked"/><informationRequirement>
<requiredDecision href="#n"/></informationRequirement><literalExpression><text>n = null</text>
</literalExpression></decision>
<decisionService id="s" name="s"><variable name="s"/><outputDecision href="#asked"/>
<inputDecision href="#n"/></decisionService>
<decision id="d" name="d"><variable name="d"/><knowledgeRequirement><requiredKnowledge href="#f"/>
</knowledgeRequirement><knowledgeRequirement><requiredKnowledge href="#s"/></knowledgeRequirement>
<literalExpression><text>[f("x"), f(null), f(2), s("x"), s(null)]</text></literalExpression></decision>"##;
    let result = decide(&definitions(inside), "d", "{}");
    assert_eq!(result.value.to_string(), "[null, true, false, null, true]");
    assert_eq!(result.problems.len(), 2, "{:?}", result.problems);
}
