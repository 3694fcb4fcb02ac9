//! Business rule tasks make decisions, by the version that they are bound to.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use travertine_kernel::{Failure, FailureKind};
use travertine_runtime::{InstanceId, Sandbox, Start, Timestamp, read_models};
use travertine_testkit::{Scenario, document};
use travertine_value::Value;

/// Who may approve an amount: up to 100 anyone, up to 1000 someone.
fn rules(tag: &str, who: &str) -> String {
    format!(
        r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/"
    xmlns:camunda="http://camunda.org/schema/1.0/dmn" id="rules" name="rules" namespace="urn:rules">
  <inputData id="in" name="amount"><variable name="amount" typeRef="number"/></inputData>
  <decision id="approver" name="Who approves" {tag}>
    <variable name="Who approves" typeRef="string"/>
    <informationRequirement><requiredInput href="#in"/></informationRequirement>
    <decisionTable hitPolicy="UNIQUE">
      <input><inputExpression><text>amount</text></inputExpression></input>
      <output/>
      <rule><inputEntry><text>&lt;= 100</text></inputEntry>
        <outputEntry><text>"anyone"</text></outputEntry></rule>
      <rule><inputEntry><text>(100..1000]</text></inputEntry>
        <outputEntry><text>"{who}"</text></outputEntry></rule>
    </decisionTable></decision></definitions>"##
    )
}

/// A process that makes the decision of a task after a wait.
fn process(id: &str, task: &str) -> String {
    document(&format!(
        r#"<process id="{id}" isExecutable="true"> <startEvent id="start"/> <userTask id="wait"/> {task}
             <userTask id="approve"/> <endEvent id="end"/> <path>start wait decide approve end</path>
           </process>"#
    ))
}

fn native(attributes: &str) -> String {
    let more = format!(r#"tv:resultVariable="who" {attributes}"#);
    format!(r#"<businessRuleTask id="decide" tv:decisionRef="approver" {more}/>"#)
}

fn camunda7(attributes: &str) -> String {
    format!(
        r#"<businessRuleTask id="decide" camunda:decisionRef="approver" camunda:resultVariable="who"
            camunda:mapDecisionResult="singleEntry" {attributes}
            xmlns:camunda="http://camunda.org/schema/1.0/bpmn"/>"#
    )
}

fn camunda8(attributes: &str) -> String {
    format!(
        r#"<businessRuleTask id="decide" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
            <extensionElements><zeebe:calledDecision decisionId="approver" resultVariable="who"
            {attributes}/></extensionElements></businessRuleTask>"#
    )
}

struct World(Sandbox);

impl World {
    fn new() -> Self {
        Self(Sandbox::new(Timestamp::default()))
    }

    fn deploy(&mut self, files: &[(&str, &str)]) -> &mut Self {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, it)| (*name, it.as_bytes())).collect();
        let models = read_models(&files, Some(self.0.definitions()), Timestamp::default());
        assert!(!models.report.is_rejected(), "{:?}", models.report.diagnostics);
        self.0.deploy_decisions(&models.decisions).unwrap();
        let processes = models.report.processes.iter();
        let all: Vec<_> =
            processes.map(|it| (it.id.as_str().into(), Arc::clone(&it.plan))).collect();
        if !all.is_empty() {
            self.0.deploy(&all).unwrap();
        }
        self
    }

    fn start(&mut self, process: &str) -> InstanceId {
        let variables = vec![("amount".into(), 500.into()), ("which".into(), "approver".into())];
        self.0.start(Start::of(process).with(variables)).unwrap()
    }

    /// Has an instance come to the decision.
    fn decide(&mut self, id: InstanceId) {
        let live = self.0.instance(id).unwrap();
        let wait = *live.state.waits.iter().next().expect("it waits").0;
        self.0.complete(travertine_runtime::Address { instance: id, wait }, Vec::new()).unwrap();
    }

    fn variable(&self, id: InstanceId, name: &str) -> Option<Value> {
        let variables = self.0.instance(id).unwrap().state.variables().unwrap();
        variables.get(name).cloned()
    }

    fn failure(&self, id: InstanceId) -> Failure {
        let state = &self.0.instance(id).unwrap().state;
        state.incidents.values().next().expect("it has an incident").failure.clone()
    }

    fn who(&mut self, process: &str) -> String {
        let id = self.start(process);
        self.decide(id);
        match self.variable(id, "who") {
            Some(value) => value.to_string(),
            None => self.failure(id).message,
        }
    }
}

#[test]
fn the_result_of_the_named_decision_becomes_a_variable() {
    let by_name = r#"<businessRuleTask id="decide" tv:decisionRef="Who approves"
        tv:resultVariable="who"/>"#;
    let by_expression = r#"<businessRuleTask id="decide" tv:decisionRef="${which}"
        tv:resultVariable="who"/>"#;
    for task in [&native(""), &camunda7(""), &camunda8(""), by_name, by_expression] {
        let (model, rules) = (process("p", task), rules("", "manager"));
        let mut world = World::new();
        world.deploy(&[("p.bpmn", &model), ("rules.dmn", &rules)]);
        assert_eq!(world.who("p"), "\"manager\"", "{task}");
    }
}

#[test]
fn a_task_makes_the_latest_version_when_it_is_entered() {
    for task in [native(""), camunda7(""), camunda8(""), native(r#"tv:binding="latest""#)] {
        let mut world = World::new();
        let model = process("p", &task);
        world.deploy(&[("p.bpmn", &model), ("a.dmn", &rules("", "manager"))]);
        let under_way = world.start("p");
        world.deploy(&[("other/b.dmn", &rules("", "CEO"))]);
        world.decide(under_way);
        assert_eq!(world.variable(under_way, "who"), Some("CEO".into()), "{task}");
        // What was decided stays so, also where it is read again.
        world.deploy(&[("a.dmn", &rules("", "nobody"))]);
        world.0.restart().unwrap();
        assert_eq!(world.variable(under_way, "who"), Some("CEO".into()));
    }
}

#[test]
fn a_task_can_be_bound_to_a_version_a_tag_or_its_deployment() {
    let tag = |it: &str| format!(r#"camunda:versionTag="{it}""#);
    let tasks = [
        (native(r#"tv:binding="version:1""#), "first"),
        (native(r#"tv:binding="v2""#), "second"),
        (native(r#"tv:binding="deployment""#), "second"),
        (camunda7(r#"camunda:decisionRefBinding="latest""#), "third"),
        (camunda7(r#"camunda:decisionRefBinding="deployment""#), "second"),
        (
            camunda7(r#"camunda:decisionRefBinding="version" camunda:decisionRefVersion="1""#),
            "first",
        ),
        (
            camunda7(
                r#"camunda:decisionRefBinding="versionTag" camunda:decisionRefVersionTag="v2""#,
            ),
            "second",
        ),
        (camunda8(r#"bindingType="latest""#), "third"),
        (camunda8(r#"bindingType="deployment""#), "second"),
        (camunda8(r#"bindingType="versionTag" versionTag="v2""#), "second"),
        // A tag may look like a number, and a number is not a tag.
        (camunda8(r#"bindingType="versionTag" versionTag="1""#), "third"),
    ];
    for (task, expected) in tasks {
        let mut world = World::new();
        let model = process("p", &task);
        world.deploy(&[("a.dmn", &rules("", "first"))]);
        world.deploy(&[("p.bpmn", &model), ("a.dmn", &rules(&tag("v2"), "second"))]);
        world.deploy(&[("a.dmn", &rules(&tag("1"), "third"))]);
        assert_eq!(world.who("p"), format!("\"{expected}\""), "{task}");
    }
}

#[test]
fn a_missing_decision_is_an_incident_that_says_what_to_do_and_can_be_mended() {
    let mut world = World::new();
    world.deploy(&[("p.bpmn", &process("p", &native("")))]);
    let id = world.start("p");
    world.decide(id);
    let failure = world.failure(id);
    let missing = FailureKind::MissingDecision { decision: "approver".into(), version: None };
    assert_eq!(failure.kind, missing);
    let said = "no decision 'approver' is deployed; deploy its DMN file, then try again";
    assert_eq!(failure.message, said);
    world.deploy(&[("rules.dmn", &rules("", "manager"))]);
    let token = *world.0.instance(id).unwrap().state.incidents.keys().next().unwrap();
    world.0.retry(id, token).unwrap();
    assert_eq!(world.variable(id, "who"), Some("manager".into()));

    let missing = [
        (native(r#"tv:binding="7""#), "decision 'approver' has no version '7', only 1 (v1), 2"),
        (native(r#"tv:binding="deployment""#), "that was there when version 1 of p was deployed"),
        (
            camunda8(r#"bindingType="versionTag" versionTag="2""#),
            "no version with the tag '2', only",
        ),
        (
            camunda7(r#"camunda:decisionRefBinding="version" camunda:decisionRefVersion="3""#),
            "has no version 3, only 1 (v1), 2",
        ),
    ];
    for (task, expected) in missing {
        let mut world = World::new();
        world.deploy(&[("p.bpmn", &process("p", &task))]);
        world.deploy(&[("a.dmn", &rules(r#"camunda:versionTag="v1""#, "first"))]);
        world.deploy(&[("a.dmn", &rules("", "second"))]);
        let said = world.who("p");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_decision_that_falls_through_is_an_incident_which_says_why() {
    let mut world = World::new();
    let model = process("p", &native(""));
    world.deploy(&[("p.bpmn", &model), ("rules.dmn", &rules("", "manager"))]);
    let id = world.start("p");
    world.0.set_variables(id, None, vec![("amount".into(), "a lot".into())]).unwrap();
    world.decide(id);
    let failure = world.failure(id);
    assert_eq!(failure.kind, FailureKind::Script);
    assert!(failure.message.starts_with("decision 'approver', version 1: "), "{failure}");
    assert!(failure.message.contains("amount"), "{failure}");
}

#[test]
fn a_decision_nobody_knows_is_told_when_the_model_is_read() {
    for task in [native(""), camunda7(""), camunda8("")] {
        let model = format!(
            r#"<process id="p" isExecutable="true"> <startEvent id="start"/> {task} <endEvent id="end"/>
               <path>start decide end</path></process>"#
        );
        let report = Scenario::report(&model);
        let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["TV0720"], "{:?}", report.diagnostics);
        assert!(!report.is_rejected());
        let message = &report.diagnostics[0].message;
        assert!(message.starts_with("no decision 'approver' is in these files"), "{message}");
    }
}

#[test]
fn a_binding_that_names_no_version_is_refused() {
    let tasks = [
        camunda7(r#"camunda:decisionRefBinding="version""#),
        camunda7(r#"camunda:decisionRefBinding="version" camunda:decisionRefVersion="one""#),
        camunda7(r#"camunda:decisionRefBinding="versionTag""#),
        camunda7(r#"camunda:decisionRefBinding="newest""#),
        camunda8(r#"bindingType="versionTag""#),
        camunda8(r#"bindingType="newest""#),
        r#"<callActivity id="decide" calledElement="q" camunda:calledElementBinding="version"
            xmlns:camunda="http://camunda.org/schema/1.0/bpmn"/>"#
            .to_owned(),
    ];
    for task in tasks {
        let report = Scenario::report(&format!(
            r#"<process id="p" isExecutable="true"> <startEvent id="start"/> {task} <endEvent id="end"/>
               <path>start decide end</path></process>"#
        ));
        assert!(
            report.diagnostics.iter().any(|it| it.code == "TV0719"),
            "{:?}",
            report.diagnostics
        );
    }
}

#[test]
fn two_files_with_the_same_decision_are_refused_together() {
    let (one, two) = (rules("", "manager"), rules("", "CEO"));
    let files = [("one.dmn", one.as_bytes()), ("v2/two.dmn", two.as_bytes())];
    let models = read_models(&files, None, Timestamp::default());
    assert!(models.report.is_rejected());
    let said = models.report.diagnostics.iter().map(|it| it.message.as_str()).collect::<Vec<_>>();
    assert_eq!(said, ["the decision 'approver' is in one.dmn and in v2/two.dmn"]);
}
