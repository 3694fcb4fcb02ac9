//! Decisions are deployed, and have versions of their own.

use std::sync::Arc;

use travertine_kernel::{Event, WaitId};
use travertine_runtime::{
    Address, Engine, InstanceId, Timestamp,
    engine::{Deployment, File, Options},
};
use travertine_store::{
    DefinitionKey, Deployed, Deployment as Stored, MemoryStore, Resource, Store,
    record::Record,
    view::{Filter, Row, Table},
};

use crate::world::{World, file, rest};

/// A process that waits for a worker, then makes the decision `approver`.
fn process(id: &str, attributes: &str) -> String {
    format!(
        r#"<process id="{id}" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="d"/>
        <businessRuleTask id="d" tv:decisionRef="approver" tv:resultVariable="who" {attributes}/>
        <sequenceFlow id="f3" sourceRef="d" targetRef="u"/><userTask id="u"/>
        <sequenceFlow id="f4" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#
    )
}

fn bpmn(name: &str, attributes: &str) -> File {
    file(name, &process("p", attributes))
}

fn literal(id: &str, expression: &str) -> String {
    format!(
        r#"<decision id="{id}" name="{id} of someone"><variable name="{id} of someone"/>
           <literalExpression><text>{expression}</text></literalExpression></decision>"#
    )
}

fn dmn(name: &str, namespace: &str, inside: &str) -> File {
    let body = format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" name="rules"
            namespace="{namespace}">{inside}</definitions>"#
    );
    File { name: name.to_owned(), body: body.into_bytes() }
}

fn rules(name: &str, who: &str) -> File {
    dmn(name, "urn:rules", &literal("approver", &format!("\"{who}\"")))
}

fn versions(deployment: &Deployment) -> Vec<(String, u32)> {
    let processes = deployment.definitions.iter().map(|it| (it.id.to_string(), it.version));
    let decisions = deployment.decisions.iter();
    let decisions = decisions.map(|it| (format!("decision {}", it.id), it.version));
    processes.chain(decisions).collect()
}

fn named(all: &[(&str, u32)]) -> Vec<(String, u32)> {
    all.iter().map(|(id, version)| ((*id).to_owned(), *version)).collect()
}

/// Has an instance come to the decision, and says what came of it.
fn decided(engine: &Engine, id: InstanceId) -> String {
    let look = engine.look(id).wait().expect("it is there");
    let wait = look.reasons.iter().find_map(|it| it.why.wait()).expect("it waits");
    let job = Address { instance: id, wait: WaitId(wait.0) };
    engine.complete(job, Vec::new()).wait().expect("the job is done");
    rest(engine);
    let look = engine.look(id).wait().expect("it is there");
    match look.variables.iter().find(|(name, _)| &**name == "who") {
        Some((_, value)) => value.as_str().unwrap_or_default().to_owned(),
        None => look.reasons.iter().map(ToString::to_string).collect(),
    }
}

fn start(engine: &Engine, id: &str) -> InstanceId {
    engine.start(id).wait().expect("it starts")
}

fn who(engine: &Engine) -> String {
    let id = start(engine, "p");
    decided(engine, id)
}

#[test]
fn a_process_makes_the_decision_that_is_deployed_with_it_whatever_the_file_is_called() {
    let mut world = World::new(1);
    let first = world.engine().deploy(&[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")]);
    assert_eq!(versions(&first.unwrap()), named(&[("p", 1), ("decision approver", 1)]));
    assert_eq!(who(world.engine()), "team lead");
    for (version, name) in [(2, "v2/a.dmn"), (3, "aa.dmn"), (4, "z.dmn"), (5, "a.xml")] {
        let rules = rules(name, &format!("CEO {version}"));
        let next = world.engine().deploy(&[bpmn("v2/a.bpmn", ""), rules]).unwrap();
        assert_eq!(versions(&next), named(&[("p", 1), ("decision approver", version)]));
        world.restart();
        assert_eq!(who(world.engine()), format!("CEO {version}"));
    }
    world.check();
}

#[test]
fn a_decision_that_is_deployed_alone_takes_effect_also_in_what_has_begun() {
    for shards in [1, 3] {
        let mut world = World::new(shards);
        world.engine().deploy(&[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")]).unwrap();
        let all: Vec<InstanceId> = (0..4).map(|_| start(world.engine(), "p")).collect();
        assert_eq!(decided(world.engine(), all[0]), "team lead");
        world.engine().deploy(&[rules("b.dmn", "CEO")]).unwrap();
        assert_eq!(decided(world.engine(), all[1]), "CEO");
        world.restart();
        assert_eq!(decided(world.engine(), all[2]), "CEO");
        world.engine().deploy(&[rules("a.dmn", "nobody")]).unwrap();
        world.restart();
        assert_eq!(decided(world.engine(), all[3]), "nobody");
        for (id, version) in all.iter().zip([1, 2, 2, 3]) {
            let history = world.engine().history(*id).unwrap();
            let made = history.steps.iter().flat_map(|it| &it.records).find_map(|it| match it {
                Record::Happened(events) => events.iter().find_map(|it| match it {
                    Event::DecisionMade { decision, version, .. } => {
                        Some((decision.to_string(), *version))
                    }
                    _ => None,
                }),
                _ => None,
            });
            assert_eq!(made, Some(("approver".to_owned(), version)));
        }
        world.check();
    }
}

#[test]
fn what_says_the_same_keeps_its_version() {
    let world = World::new(1);
    let engine = world.engine();
    engine.deploy(&[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")]).unwrap();
    let again = engine.deploy(&[bpmn("x/b.bpmn", ""), rules("x/b.dmn", "team lead")]).unwrap();
    assert_eq!(again.number, 2, "each deployment has a number");
    assert_eq!(versions(&again), named(&[("p", 1), ("decision approver", 1)]));
    // What was there once, but is not the latest, is something new.
    engine.deploy(&[rules("a.dmn", "CEO")]).unwrap();
    let back = engine.deploy(&[rules("a.dmn", "team lead")]).unwrap();
    assert_eq!(versions(&back), named(&[("decision approver", 3)]));
    assert_eq!(who(engine), "team lead");
}

#[test]
fn all_decisions_of_a_file_that_has_changed_get_a_version() {
    let mut world = World::new(1);
    let both = |who: &str| {
        let inside = literal("approver", &format!("\"{who}\"")) + &literal("limit", "100");
        dmn("both.dmn", "urn:both", &inside)
    };
    world.engine().deploy(&[bpmn("a.bpmn", ""), both("team lead")]).unwrap();
    let changed = world.engine().deploy(&[both("CEO")]).unwrap();
    let expected = named(&[("decision approver", 2), ("decision limit", 2)]);
    assert_eq!(versions(&changed), expected);
    world.restart();
    let definitions = world.engine().definitions();
    let limit = definitions.decision("limit").expect("it is deployed");
    assert_eq!((limit.version, limit.file()), (2, "both.dmn"));
    assert_eq!(limit.name().as_deref(), Some("limit of someone"));
    assert_eq!(definitions.decision_versions("limit").len(), 2);
}

#[test]
fn a_version_keeps_what_it_imports() {
    let mut world = World::new(1);
    let library = |who: &str| {
        let inside = format!(
            r#"<businessKnowledgeModel id="of" name="of"><variable name="of"/><encapsulatedLogic>
               <literalExpression><text>"{who}"</text></literalExpression></encapsulatedLogic>
               </businessKnowledgeModel>"#
        );
        dmn("lib.dmn", "urn:lib", &inside)
    };
    let inside = r#"<import namespace="urn:lib" name="lib"
            importType="https://www.omg.org/spec/DMN/20191111/MODEL/"/>
        <decision id="approver" name="approver"><variable name="approver"/>
            <knowledgeRequirement><requiredKnowledge href="urn:lib#of"/></knowledgeRequirement>
            <literalExpression><text>lib.of()</text></literalExpression></decision>"#;
    let main = dmn("main.dmn", "urn:main", inside);
    let refused = world.engine().deploy(std::slice::from_ref(&main)).unwrap_err();
    assert!(refused.to_string().contains("urn:lib"), "{refused}");
    world.engine().deploy(&[library("team lead")]).unwrap();
    world.restart();
    world.engine().deploy(&[bpmn("a.bpmn", ""), main.clone()]).unwrap();
    assert_eq!(who(world.engine()), "team lead");
    // The library alone changes nothing yet; the decision deployed again means something else.
    world.engine().deploy(&[library("CEO")]).unwrap();
    world.restart();
    assert_eq!(who(world.engine()), "team lead");
    let changed = world.engine().deploy(&[main]).unwrap();
    assert_eq!(versions(&changed), named(&[("decision approver", 2)]));
    world.restart();
    assert_eq!(who(world.engine()), "CEO");
}

#[test]
fn a_process_that_is_bound_to_its_deployment_changes_with_what_is_deployed_with_it() {
    let bound = r#"tv:binding="deployment""#;
    let mut world = World::new(1);
    world.engine().deploy(&[bpmn("a.bpmn", bound), rules("a.dmn", "team lead")]).unwrap();
    world.engine().deploy(&[rules("a.dmn", "CEO")]).unwrap();
    assert_eq!(who(world.engine()), "team lead");
    // The file of the process is the same, but what it was deployed with is not.
    let together =
        world.engine().deploy(&[bpmn("a.bpmn", bound), rules("a.dmn", "board")]).unwrap();
    assert_eq!(versions(&together), named(&[("p", 2), ("decision approver", 3)]));
    assert_eq!(who(world.engine()), "board");
    // What is deployed with it unchanged is deployed with it all the same.
    let changed = process("p", bound).replace("userTask", "manualTask");
    let files = [file("a.bpmn", &changed), rules("a.dmn", "board")];
    let again = world.engine().deploy(&files).unwrap();
    assert_eq!(versions(&again), named(&[("p", 3), ("decision approver", 3)]));
    world.restart();
    let id = start(world.engine(), "p");
    assert_eq!(decided(world.engine(), id), "board");
}

#[test]
fn calls_that_are_bound_to_their_deployment_find_what_was_deployed_unchanged() {
    let callee = |name: &str| {
        let inside = format!(
            r#"<process id="callee" isExecutable="true"><startEvent id="s"/>
               <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t" name="{name}"/>
               <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#
        );
        file("callee.bpmn", &inside)
    };
    let caller = |name: &str| {
        let inside = format!(
            r#"<process id="caller" name="{name}" isExecutable="true"><startEvent id="s"/>
               <sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
               <callActivity id="c" calledElement="callee" tv:binding="deployment"/>
               <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>"#
        );
        file("caller.bpmn", &inside)
    };
    let world = World::new(1);
    let engine = world.engine();
    engine.deploy(&[caller("one"), callee("one")]).unwrap();
    engine.deploy(&[caller("two"), callee("one")]).unwrap();
    engine.deploy(&[callee("two")]).unwrap();
    let called = |engine: &Engine| {
        let id = start(engine, "caller");
        rest(engine);
        let look = engine.look(id).wait().unwrap();
        let reasons: Vec<String> = look.reasons.iter().map(ToString::to_string).collect();
        assert!(!reasons.iter().any(|it| it.contains("no such")), "{reasons:?}");
        let callees = vec![Filter::Definition("callee".into())];
        let version = |it| if let Row::Instance(it) = it { it.version } else { panic!("{it:?}") };
        world.rows(Table::Instances, callees).into_iter().map(version).collect::<Vec<_>>()
    };
    assert_eq!(called(engine), [1], "what was deployed later is none of its business");
    let together = engine.deploy(&[caller("two"), callee("three")]).unwrap();
    assert_eq!(versions(&together), named(&[("caller", 3), ("callee", 3)]));
    assert_eq!(called(engine), [1, 3]);
}

#[test]
fn a_version_that_is_removed_makes_way_for_the_one_before_it() {
    let mut world = World::new(1);
    world.engine().deploy(&[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")]).unwrap();
    world.engine().deploy(&[rules("a.dmn", "CEO")]).unwrap();
    world.engine().undeploy_decision("approver", 2).unwrap();
    assert_eq!(who(world.engine()), "team lead");
    world.restart();
    assert_eq!(who(world.engine()), "team lead");
    let next = world.engine().deploy(&[rules("a.dmn", "CEO")]).unwrap();
    assert_eq!(versions(&next), named(&[("decision approver", 3)]), "numbers are used once");
    world.engine().undeploy_decision("approver", 1).unwrap();
    world.engine().undeploy_decision("approver", 3).unwrap();
    world.restart();
    let said = who(world.engine());
    assert!(said.contains("no decision 'approver' is deployed"), "{said}");
    assert!(world.engine().undeploy_decision("approver", 3).is_err());
    world.check();
}

#[test]
fn a_version_that_was_deployed_with_a_process_and_is_removed_is_not_replaced_by_an_older_one() {
    let world = World::new(1);
    let engine = world.engine();
    engine.deploy(&[rules("a.dmn", "team lead")]).unwrap();
    let bound = bpmn("a.bpmn", r#"tv:binding="deployment""#);
    engine.deploy(&[bound, rules("a.dmn", "CEO")]).unwrap();
    engine.undeploy_decision("approver", 2).unwrap();
    let said = who(engine);
    assert!(said.contains("no version that was there when version 1 of p was deployed"), "{said}");
}

#[test]
fn a_process_and_a_decision_may_have_the_same_id() {
    let mut world = World::new(1);
    let model = file("a.bpmn", &process("approver", ""));
    let both = world.engine().deploy(&[model, rules("a.dmn", "CEO")]).unwrap();
    assert_eq!(versions(&both), named(&[("approver", 1), ("decision approver", 1)]));
    world.restart();
    let id = start(world.engine(), "approver");
    assert_eq!(decided(world.engine(), id), "CEO");
    world.engine().undeploy_decision("approver", 1).unwrap();
    assert!(world.engine().definitions().find("approver").is_some());
}

#[test]
fn only_the_files_that_are_given_are_spoken_of() {
    let world = World::new(1);
    let engine = world.engine();
    // It calls a function that is not there, which is worth a warning.
    let loose = dmn("loose.dmn", "urn:loose", &literal("loose", "frob(1)"));
    let first = engine.deploy(&[loose]).unwrap();
    assert!(!first.diagnostics.is_empty());
    let next = engine.deploy(&[bpmn("a.bpmn", "")]).unwrap();
    let said: Vec<&str> = next.diagnostics.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("no decision 'approver' is deployed yet"), "{said:?}");
    let known = engine.deploy(&[rules("a.dmn", "CEO")]).unwrap();
    assert_eq!(known.diagnostics, []);
    let again = engine.deploy(&[bpmn("b.bpmn", "")]).unwrap();
    assert_eq!(again.diagnostics, []);
}

#[test]
fn two_decisions_of_one_id_are_refused_with_both_files() {
    let world = World::new(1);
    let both = [rules("a.dmn", "CEO"), rules("b/c.dmn", "team lead")];
    let refused = world.engine().deploy(&both).unwrap_err().to_string();
    assert!(refused.contains("'approver' is in a.dmn and in b/c.dmn"), "{refused}");
    assert_eq!(world.engine().definitions().decisions().count(), 0);
}

#[test]
fn in_a_store_without_versions_of_decisions_each_deployment_of_a_file_is_one() {
    let store = MemoryStore::new(1);
    let resource = |it: &File| Resource { name: it.name.clone(), body: it.body.clone() };
    let deploy = |number: u64, files: &[File], process: bool| {
        let definition = Deployed {
            key: DefinitionKey(1),
            id: "p".into(),
            version: 1,
            tag: None,
            resource: 0,
            removed: false,
            retired: false,
        };
        let definitions = if process { vec![definition] } else { Vec::new() };
        let resources = files.iter().map(resource).collect();
        store.deploy(&Stored { number, at: Timestamp::default(), resources, definitions }).unwrap();
    };
    deploy(1, &[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")], true);
    deploy(2, &[rules("b.dmn", "team lead")], false);
    deploy(3, &[rules("a.dmn", "CEO")], false);
    let store: Arc<dyn Store> = Arc::new(store);
    let open = || Engine::on(&store, Options::default()).expect("it opens");
    let engine = open();
    let versions = |engine: &Engine| -> Vec<(u32, u64)> {
        let definitions = engine.definitions();
        let all = definitions.decision_versions("approver");
        all.iter().map(|it| (it.version, it.deployment)).collect()
    };
    assert_eq!(versions(&engine), [(1, 1), (2, 3)]);
    assert_eq!(who(&engine), "CEO");
    let next = engine.deploy(&[rules("c.dmn", "board")]).unwrap();
    assert_eq!(next.decisions[0].version, 3);
    assert!(engine.undeploy_decision("approver", 1).is_err());
    // Its files stay, though the process that they came with goes.
    let fresh = bpmn("a.bpmn", r#"tv:binding="version:1""#);
    engine.deploy(&[fresh]).unwrap();
    engine.shutdown().unwrap();
    store.undeploy(&[DefinitionKey(1)]).unwrap();
    let engine = open();
    assert_eq!(versions(&engine), [(1, 1), (2, 3), (3, 4)]);
    assert_eq!(who(&engine), "team lead");
    engine.shutdown().unwrap();
}

#[test]
fn deploying_reads_nothing_again_that_is_known() {
    let world = World::new(1);
    let engine = world.engine();
    engine.deploy(&[bpmn("a.bpmn", ""), rules("a.dmn", "team lead")]).unwrap();
    let before = engine.definitions();
    engine.deploy(&[rules("a.dmn", "CEO")]).unwrap();
    let after = engine.definitions();
    let plan = |it: &travertine_runtime::Definitions| Arc::clone(&it.find("p").unwrap().plan);
    assert!(Arc::ptr_eq(&plan(&before), &plan(&after)));
    let first =
        |it: &travertine_runtime::Definitions| Arc::clone(&it.decision_versions("approver")[0]);
    assert!(Arc::ptr_eq(&first(&before), &first(&after)));
}
