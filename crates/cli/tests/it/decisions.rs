//! Decisions on a store.

use super::{file, model, store::Store, travertine};

const RULES: &str = include_str!("../../../../examples/approval.dmn");
const PROCESS: &str = "examples/approval.bpmn";

/// Writes the rules with someone else instead of the team lead.
fn rules(store: &Store, name: &str, who: &str) -> String {
    let path = store.path(name);
    if let Some(dir) = std::path::Path::new(&path).parent() {
        std::fs::create_dir_all(dir).unwrap();
    }
    std::fs::write(&path, RULES.replace("team lead", who)).unwrap();
    path
}

fn approver(store: &Store) -> String {
    let started = store.json(&["start", "approval", "--var", "amount=500"]);
    let id = started.field("instance").unwrap().as_str().unwrap().to_owned();
    let shown = store.json(&["show", &id]);
    shown.field("variables").unwrap().field("approver").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn the_decision_that_was_deployed_last_is_made_whatever_its_file_is_called() {
    let store = Store::empty();
    let first = rules(&store, "approval.dmn", "team lead");
    assert_eq!(
        store.text(&["deploy", PROCESS, &first]),
        "deployed approval version 1\ndeployed decision approver version 1\n"
    );
    assert_eq!(approver(&store), "team lead");
    let second = rules(&store, "v2/approval.dmn", "CEO");
    assert_eq!(
        store.text(&["deploy", PROCESS, &second]),
        "unchanged approval version 1\ndeployed decision approver version 2\n"
    );
    assert_eq!(approver(&store), "CEO");
    let third = rules(&store, "rules.dmn", "board member");
    assert_eq!(store.text(&["deploy", &third]), "deployed decision approver version 3\n");
    assert_eq!(approver(&store), "board member");
    assert_eq!(
        store.text(&["deploy", PROCESS, &third]),
        "unchanged approval version 1\nunchanged decision approver version 3\n"
    );
    let history = store.text(&["history", "2"]);
    assert!(history.contains("decision approver version 2"), "{history}");
}

#[test]
fn decisions_are_listed_removed_and_tried() {
    let store = Store::empty();
    let path = rules(&store, "approval.dmn", "team lead");
    store.deploy(&[PROCESS, &path]);
    store.deploy(&[&rules(&store, "approval.dmn", "CEO")]);
    let listed = store.json(&["definitions", "approver"]);
    let all = listed.field("definitions").unwrap().as_list().unwrap().to_vec();
    assert_eq!(all.len(), 2);
    for (it, version) in all.iter().zip(1..) {
        assert_eq!(it.field("kind"), Some(&"decision".into()));
        assert_eq!(it.field("version"), Some(&version.into()));
        assert_eq!(it.field("name"), Some(&"Who approves".into()));
        assert_eq!(it.field("file"), Some(&path.as_str().into()));
    }
    let listed = store.text(&["definitions"]);
    assert!(listed.contains("approver    2        decision"), "{listed}");

    let tried = |more: &[&str]| {
        let data = store.data();
        let args = ["decide", "approver", "--data", &data, "--var", "amount=500"];
        store.text(&[&args[..], more].concat()).lines().last().unwrap().to_owned()
    };
    assert_eq!(tried(&[]), "Who approves = \"CEO\"");
    assert_eq!(tried(&["--version", "1"]), "Who approves = \"team lead\"");
    assert!(
        store
            .refusal(&["decide", "other", "--data", &store.data()])
            .contains("no decision 'other' is deployed")
    );

    assert_eq!(store.text(&["undeploy", "approver", "2"]), "removed decision approver version 2\n");
    assert_eq!(approver(&store), "team lead");
    assert_eq!(store.text(&["undeploy", "approver", "1"]), "removed decision approver version 1\n");
    let started = store.call(&["start", "approval", "--var", "amount=500"]);
    let said = format!("{}{}", started.out, started.err);
    assert!(said.contains("no decision 'approver' is deployed"), "{said}");
    store.deploy(&[&path]);
    let resolved = store.call(&["resolve", "2"]);
    assert_eq!(resolved.status, 0, "{}{}", resolved.out, resolved.err);
    let shown = store.json(&["show", "2"]);
    assert_eq!(shown.field("variables").unwrap().field("approver"), Some(&"CEO".into()));
}

#[test]
fn a_decision_that_is_nowhere_is_told_when_a_process_is_deployed() {
    let store = Store::empty();
    let called = store.call(&["deploy", PROCESS]);
    assert_eq!(called.status, 0);
    assert!(called.err.contains("no decision 'approver' is deployed yet"), "{}", called.err);
    assert!(called.err.contains("\n  = help: deploy its DMN file too"), "{}", called.err);
    assert!(!called.err.contains("travertine check"), "{}", called.err);
    let rules = rules(&store, "approval.dmn", "team lead");
    assert_eq!(store.call(&["deploy", &rules]).err, "");
    let called = store.call(&["deploy", PROCESS]);
    assert_eq!((called.out.as_str(), called.err.as_str()), ("unchanged approval version 1\n", ""));
    // On its own a model is checked with the files that are given.
    let checked = travertine(&["check", PROCESS]);
    assert_eq!(checked.status, 0);
    assert!(checked.out.contains("no decision 'approver' is in these files"), "{}", checked.out);
    let checked = travertine(&["check", PROCESS, "examples/approval.dmn"]);
    assert!(!checked.out.contains("TV0720"), "{}", checked.out);
}

#[test]
fn a_process_and_a_decision_of_one_id_are_told_apart() {
    let store = Store::empty();
    let process = file(
        "approver.bpmn",
        &model(
            r#"<process id="approver" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#,
        ),
    );
    store.deploy(&[&process, "examples/approval.dmn"]);
    let refused = store.refusal(&["undeploy", "approver", "1"]);
    assert!(refused.contains("--process or --decision"), "{refused}");
    let removed = store.text(&["undeploy", "approver", "1", "--decision"]);
    assert_eq!(removed, "removed decision approver version 1\n");
    assert_eq!(store.text(&["undeploy", "approver", "1"]), "removed approver version 1\n");
}
