//! Business rule tasks make decisions in place.

use std::sync::Arc;

use travertine_bpmn::Options;
use travertine_dmn::{Decisions, read};
use travertine_expr::Languages;
use travertine_kernel::FailureKind;
use travertine_testkit::Scenario;

/// Who may approve an amount: up to 100 anyone, up to 1000 a manager.
const RULES: &str = r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/"
    id="rules" name="rules" namespace="urn:rules">
  <inputData id="in" name="amount"><variable name="amount" typeRef="number"/></inputData>
  <decision id="approver" name="Approver"><variable name="Approver" typeRef="string"/>
    <informationRequirement><requiredInput href="#in"/></informationRequirement>
    <decisionTable hitPolicy="UNIQUE">
      <input><inputExpression><text>amount</text></inputExpression></input>
      <output/>
      <rule><inputEntry><text>&lt;= 100</text></inputEntry>
        <outputEntry><text>"anyone"</text></outputEntry></rule>
      <rule><inputEntry><text>(100..1000]</text></inputEntry>
        <outputEntry><text>"manager"</text></outputEntry></rule>
    </decisionTable></decision></definitions>"##;

fn options() -> Options {
    let report = read(&[("rules.dmn", RULES.as_bytes())]);
    assert!(!report.is_rejected(), "{:?}", report.diagnostics);
    let models = report.definitions.into_iter().map(Arc::new).collect();
    Options::new(Languages::standard().with(Arc::new(Decisions::new(models))))
}

fn process(task: &str) -> String {
    format!(
        r#"<process id="p" isExecutable="true"> <startEvent id="start"/> {task}
             <userTask id="approve"/> <endEvent id="end"/> <path>start decide approve end</path>
           </process>"#
    )
}

#[test]
fn the_result_of_the_named_decision_becomes_a_variable() {
    let native =
        r#"<businessRuleTask id="decide" tv:decisionRef="approver" tv:resultVariable="who"/>"#;
    let camunda7 = r#"<businessRuleTask id="decide" camunda:decisionRef="approver"
        camunda:resultVariable="who" camunda:mapDecisionResult="singleEntry"
        xmlns:camunda="http://camunda.org/schema/1.0/bpmn"/>"#;
    let camunda8 = r#"<businessRuleTask id="decide"
        xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"><extensionElements>
        <zeebe:calledDecision decisionId="approver" resultVariable="who"/></extensionElements>
        </businessRuleTask>"#;
    for task in [native, camunda7, camunda8] {
        let mut it = Scenario::read_with(&process(task), &options());
        it.start(r#"{"amount": 250}"#);
        assert_eq!(it.waiting(), ["approve"]);
        assert_eq!(it.variables(), r#"{"amount":250,"who":"manager"}"#);
    }
}

#[test]
fn a_decision_that_falls_through_is_an_incident_which_says_why() {
    let task =
        r#"<businessRuleTask id="decide" tv:decisionRef="Approver" tv:resultVariable="who"/>"#;
    let mut it = Scenario::read_with(&process(task), &options());
    it.start(r#"{"amount": "a lot"}"#);
    let failure = it.incident("decide").expect("it could not be made");
    assert_eq!(failure.kind, FailureKind::Script);
    assert!(failure.message.contains("amount"), "{failure}");
    it.set(r#"{"amount": 5}"#);
    it.retry("decide");
    assert_eq!(it.waiting(), ["approve"]);
}

#[test]
fn a_decision_nobody_knows_is_told_when_the_model_is_read() {
    let task =
        r#"<businessRuleTask id="decide" tv:decisionRef="approver" tv:resultVariable="who"/>"#;
    let report = Scenario::report(&process(task));
    assert!(report.diagnostics.iter().any(|it| it.code == "TV0720"), "{:?}", report.diagnostics);
}
