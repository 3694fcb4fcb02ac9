//! The commands on a store.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    sync::Arc,
};

use tempfile::TempDir;
use travertine_runtime::{
    Engine,
    engine::{self, ManualClock, Options},
};
use travertine_value::{Name, Value, time::Timestamp};

use super::{Called, command, file, model, process, travertine_at, travertine_with};

/// A directory with a store in it, and commands on that.
pub(crate) struct Store {
    dir: TempDir,
}

impl Store {
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// With these models deployed.
    pub(crate) fn with(models: &[&str]) -> Self {
        let store = Self::empty();
        store.deploy(models);
        store
    }

    pub(crate) fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    pub(crate) fn deploy(&self, models: &[&str]) {
        let called = self.call(&[&["deploy"][..], models].concat());
        assert_eq!(called.status, 0, "{}{}", called.out, called.err);
    }

    pub(crate) fn call(&self, args: &[&str]) -> Called {
        travertine_at(args, &self.data())
    }

    /// Changes a database behind the back of the engine.
    fn sql(&self, database: &str, sql: &str) {
        let path = Path::new(&self.data()).join(database);
        let changed = rusqlite::Connection::open(path).unwrap().execute(sql, []).unwrap();
        assert!(changed > 0, "{sql}");
    }

    /// The document that a command gives that goes well.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let called = self.call(&[args, &["--json"]].concat());
        assert_eq!(called.status, 0, "{args:?}: {}{}", called.out, called.err);
        called.json()
    }

    /// What a command prints that goes well.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert_eq!(called.status, 0, "{args:?}: {}{}", called.out, called.err);
        called.out
    }

    /// What a command says that is refused.
    pub(crate) fn refusal(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert_eq!((called.status, &*called.out), (2, ""), "{args:?}");
        called.err
    }

    /// The wait of an instance at an element.
    fn wait(&self, instance: &str, element: &str) -> String {
        let shown = self.json(&["show", instance]);
        let waits = shown.field("waits").unwrap().as_list().unwrap().to_vec();
        let found = waits.iter().find(|it| it.field("element") == Some(&element.into()));
        let found = found.unwrap_or_else(|| panic!("nothing waits at {element}: {waits:?}"));
        found.field("wait").unwrap().as_str().unwrap().to_owned()
    }

    fn state(&self, instance: &str) -> String {
        text(&self.json(&["show", instance]), "state")
    }
}

pub(crate) fn text(value: &Value, field: &str) -> String {
    value.field(field).unwrap().as_str().unwrap_or_else(|| panic!("{field}: {value}")).to_owned()
}

pub(crate) fn list(value: &Value, field: &str) -> Vec<Value> {
    value.field(field).unwrap().as_list().unwrap().to_vec()
}

pub(crate) fn fields(values: &[Value], field: &str) -> Vec<String> {
    values.iter().map(|it| text(it, field)).collect()
}

#[test]
fn an_order_goes_its_way_command_by_command() {
    let store = Store::with(&["examples/order.bpmn"]);
    let started = store.json(&["start", "order", "--id", "ORD-7", "--var", "amount=250"]);
    let order = text(&started, "instance");
    assert_eq!(text(&started, "state"), "running");
    let again = store.json(&["start", "order", "--id", "ORD-7"]);
    assert_eq!(
        (text(&again, "instance"), again.field("known")),
        (order.clone(), Some(&true.into()))
    );

    let jobs = list(&store.json(&["jobs"]), "jobs");
    assert_eq!(fields(&jobs, "element"), ["reserve"]);
    let job = text(&jobs[0], "job");
    let done = store.text(&["complete", &job, "--var", "shelf=B7"]);
    assert!(done.starts_with(&format!("order {order}, running\n")), "{done}");

    let timers = list(&store.json(&["timers"]), "timers");
    assert_eq!(fields(&timers, "element"), ["slow"]);
    store.text(&["timers", "fire", &text(&timers[0], "timer")]);
    let charge = store.wait(&order, "charge");
    store.text(&["fail", &charge, "--error", "card-refused", "--message", "limit exceeded"]);
    // Only the reservation is left to be undone.
    store.text(&["complete", &order]);

    let shown = store.json(&["show", "ORD-7"]);
    assert_eq!(text(&shown, "state"), "completed");
    assert_eq!(text(&shown, "instance"), order);
    let variables = shown.field("variables").unwrap().to_json();
    assert_eq!(variables, r#"{"amount":250,"reminded":true,"shelf":"B7"}"#);
    assert_eq!(
        store.text(&["verify"]).lines().next().unwrap().split(':').next(),
        Some("everything agrees")
    );
}

#[test]
fn a_store_is_made_by_deploying_and_otherwise_must_be_there() {
    let store = Store::empty();
    let refusal = store.refusal(&["instances"]);
    assert!(refusal.contains("there is no store in"), "{refusal}");
    assert!(refusal.contains("travertine deploy FILE"), "{refusal}");
    assert!(!Path::new(&store.data()).exists());

    let called = store.call(&["deploy", "examples/hello.bpmn"]);
    assert_eq!((called.status, &*called.out), (0, "deployed hello version 1\n"), "{}", called.err);
    let again = store.call(&["deploy", "examples/hello.bpmn"]);
    assert_eq!((again.status, &*again.out), (0, "unchanged hello version 1\n"));

    let bad = process("<task id=\"it\"><multiInstanceLoopCharacteristics/></task>");
    let bad = file("store-bad.bpmn", &bad);
    let called = store.call(&["deploy", &bad]);
    assert_eq!((called.status, &*called.out), (1, ""));
    assert!(called.err.contains("error TV0601") && called.err.contains("help:"), "{}", called.err);
    let listed = store.json(&["definitions"]);
    assert_eq!(fields(&list(&listed, "definitions"), "definition"), ["hello"]);
    assert_eq!(store.call(&["undeploy", "hello", "1"]).status, 0);
    assert_eq!(store.text(&["definitions"]), "no definitions\n");
}

#[test]
fn what_is_empty_says_so() {
    let store = Store::with(&["examples/hello.bpmn"]);
    for (command, expected) in [
        (&["instances"][..], "no instances\n"),
        (&["instances", "--state", "failed"], "no such instances\n"),
        (&["jobs"], "no jobs\n"),
        (&["tasks", "--unassigned"], "no such tasks\n"),
        (&["timers"], "no timers\n"),
        (&["incidents"], "no incidents\n"),
        (&["messages"], "no messages\n"),
        (&["dead-letters"], "no dead letters\n"),
        (&["dead-letters", "--name", "paid"], "no such dead letters\n"),
    ] {
        assert_eq!(store.text(command), expected);
    }
    let none = store.json(&["jobs"]);
    assert_eq!(none.to_json(), r#"{"jobs":[],"next":null}"#);
}

#[test]
fn an_id_that_is_a_number_is_told_from_the_number_of_another_instance() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let start = |id: &[&str]| {
        let command = [&["start", "hello", "--var", "name=Ann"], id].concat();
        text(&store.json(&command), "instance")
    };
    let unnamed = start(&[]);
    let named = start(&["--id", &unnamed]);
    let shown = |whose: &str| text(&store.json(&["show", whose]), "instance");
    assert_eq!(shown(&unnamed), named, "what people call it goes first");
    assert_eq!(shown(&format!("number:{unnamed}")), unnamed);
    assert_eq!(shown(&named), named, "nothing is called so");
    let note = format!("note: instance {named} has the id {unnamed}; number:{unnamed} is");
    assert!(store.call(&["show", &unnamed]).err.contains(&note));
    for clear in [&named, &format!("number:{unnamed}")] {
        assert_eq!(store.call(&["show", clear]).err, "");
    }
    store.text(&["cancel", &format!("number:{unnamed}")]);
    let state = |whose: &str| text(&store.json(&["show", whose]), "state");
    assert_eq!(
        (&*state(&unnamed), &*state(&format!("number:{unnamed}"))),
        ("running", "cancelled")
    );
}

#[test]
fn what_is_not_there_is_named_with_the_way_out() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let id = text(&store.json(&["start", "hello", "--var", "name=Ann"]), "instance");
    for (command, expected) in [
        (&["start", "bye"][..], "no such definition: bye; there is hello (version 1)"),
        (&["start", "hello", "--at", "nowhere"], "no such element in hello: nowhere"),
        (&["show", "77"], "no such instance: 77; `travertine instances` lists them"),
        (&["show", "number:77"], "no such instance: 77; `travertine instances` lists them"),
        (&["show", "ORD-9"], "no instance has the number or the id ORD-9"),
        (&["complete", "77"], "no such instance: 77"),
        (&["complete", "1-99"], "`travertine show INSTANCE` lists what waits"),
        (&["modify", "1"], "--move, --add and --withdraw say what"),
        (&["modify", "1", "--move", "read:nowhere"], "no such element in hello: nowhere"),
        (&["migrate", "1", "--to", "9"], "no such definition: hello version 9"),
        (&["resolve", "1"], "instance 1 has no incident"),
        (&["resume", "1"], "instance 1 is not suspended"),
        (&["delete", "1"], "`travertine cancel 1` ends it"),
        (&["undeploy", "hello", "1"], "version 1 of hello still has instances"),
        (&["set", "1"], "write --var NAME=VALUE"),
        (&["timers", "move", "1-3", "soon"], "write it like"),
        (&["history", "1", "--at", "0"], "begins with entry"),
        (&["instances", "--state", "asleep"], "no such state: asleep"),
    ] {
        assert_eq!(id, "1");
        let refusal = store.refusal(command);
        assert!(refusal.contains(expected), "{command:?}: {refusal}");
    }
}

#[test]
fn lists_come_in_pages() {
    let store = Store::with(&["examples/hello.bpmn"]);
    for name in ["Ann", "Bob", "Cid"] {
        store.text(&["start", "hello", "--var", &format!("name={name}"), "--id", name]);
    }
    let first = store.json(&["instances", "--limit", "2"]);
    assert_eq!(fields(&list(&first, "instances"), "business_id"), ["Cid", "Bob"]);
    let next = text(&first, "next");
    let second = store.json(&["instances", "--limit", "2", "--after", &next]);
    assert_eq!(fields(&list(&second, "instances"), "business_id"), ["Ann"]);
    assert_eq!(second.field("next"), Some(&Value::Null));
    let shown = store.text(&["instances", "--limit", "2"]);
    assert!(shown.contains(&format!("there are more: --after {next}")), "{shown}");
    let bob = store.json(&["instances", "--var", "name=Bob"]);
    assert_eq!(fields(&list(&bob, "instances"), "business_id"), ["Bob"]);
    let oldest = store.json(&["instances", "--oldest", "--limit", "1"]);
    assert_eq!(fields(&list(&oldest, "instances"), "business_id"), ["Ann"]);
}

#[test]
fn calls_between_shards_are_over_before_a_command_is() {
    let calls = model(
        r#"<process id="outer" isExecutable="true">
             <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
             <callActivity id="c" calledElement="inner"/><sequenceFlow id="f2" sourceRef="c" targetRef="e"/>
             <endEvent id="e"/>
           </process>
           <process id="inner" isExecutable="true">
             <startEvent id="is"/><sequenceFlow id="g1" sourceRef="is" targetRef="t"/>
             <userTask id="t"/><sequenceFlow id="g2" sourceRef="t" targetRef="ie"/>
             <endEvent id="ie"/>
           </process>"#,
    );
    let store = Store::empty();
    store.text(&["deploy", &file("store-calls.bpmn", &calls), "--shards", "3"]);
    for id in ["a", "b", "c", "d"] {
        store.text(&["start", "outer", "--id", id]);
    }
    let stats = store.json(&["stats"]);
    assert_eq!(stats.field("store").unwrap().field("shards"), Some(&3.into()));
    let tasks = list(&store.json(&["tasks"]), "tasks");
    assert_eq!(tasks.len(), 4);
    for task in fields(&tasks, "task") {
        store.text(&["complete", &task]);
    }
    for id in ["a", "b", "c", "d"] {
        let shown = store.json(&["show", id]);
        assert_eq!(text(&shown, "state"), "completed");
        assert_eq!(fields(&list(&shown, "called"), "state"), ["completed"]);
    }
    assert_eq!(store.call(&["verify"]).status, 0);
}

#[test]
fn tables_are_aligned() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann", "--id", "a"]);
    store.text(&["start", "hello", "--var", "name=Bob", "--id", "another one"]);
    let table = store.text(&["instances"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    let column = lines[0].find("STATE").unwrap();
    assert!(lines[1..].iter().all(|it| it[column..].starts_with("running")), "{table}");
    assert!(!table.contains('\u{1b}'), "{table}");
    // Nobody has called them, and nothing is wrong with them.
    assert!(!lines[0].contains("CALLER") && !lines[0].contains("INCIDENTS"), "{table}");
}

#[test]
fn each_of_very_many_tasks_can_be_claimed_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let model = process(
        r#"<userTask id="it"><multiInstanceLoopCharacteristics>
             <loopCardinality>10100</loopCardinality>
           </multiInstanceLoopCharacteristics></userTask>"#,
    );
    let path = dir.path().join("many.bpmn");
    fs::write(&path, model).unwrap();
    let data = dir.path().join("data").display().to_string();
    let done = |args: &[&str]| {
        let called = travertine_at(args, &data);
        assert_eq!(called.status, 0, "{args:?}: {}{}", called.out, called.err);
        called
    };
    done(&["deploy", path.to_str().unwrap()]);
    done(&["start", "p"]);
    // The last of them.
    let connection = rusqlite::Connection::open(dir.path().join("data/views.db")).unwrap();
    let last: u64 =
        connection.query_row("SELECT max(wait) FROM tasks", [], |row| row.get(0)).unwrap();
    drop(connection);
    let task = format!("1-{last}");
    assert_eq!(done(&["claim", &task, "ann"]).out, format!("{task} it: ann has claimed it\n"));
    assert_eq!(done(&["unclaim", &task]).out, format!("{task} it: nobody has claimed it\n"));
}

#[test]
fn a_task_is_claimed_by_one() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    let tasks = list(&store.json(&["tasks", "--unassigned"]), "tasks");
    let task = text(&tasks[0], "task");
    assert_eq!(store.text(&["claim", &task, "ann"]), format!("{task} read: ann has claimed it\n"));
    let refusal = store.refusal(&["claim", &task, "bob"]);
    assert!(refusal.contains(&format!("`travertine unclaim {task}`")), "{refusal}");
    assert_eq!(list(&store.json(&["tasks", "--assignee", "ann"]), "tasks").len(), 1);
    store.text(&["unclaim", &task]);
    store.text(&["claim", &task, "bob"]);
    store.text(&["complete", &task, "--vars", r#"{"liked": true}"#]);
    assert_eq!(store.state("1"), "completed");
}

#[test]
fn history_tells_what_happened_and_how_it_was() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    store.text(&["complete", "1", "--var", "liked=false"]);
    let told = store.json(&["history", "1"]);
    let steps = list(&told, "steps");
    let events: Vec<String> =
        steps.iter().flat_map(|it| fields(&list(it, "events"), "event")).collect();
    assert_eq!(events.first().unwrap(), "made: hello version 1");
    assert_eq!(events.last().unwrap(), "finished");
    let first = text(&steps[0], "entry");
    let then = store.json(&["history", "1", "--at", &first]);
    assert_eq!(
        then.field("variables").unwrap().to_json(),
        r#"{"greeting":"Hello, Ann!","name":"Ann"}"#
    );
    assert_eq!(fields(&list(&then, "waits"), "kind"), ["scope", "user_task"]);
    let page = store.json(&["history", "1", "--limit", "1"]);
    assert_eq!((list(&page, "steps").len(), text(&page, "next")), (1, first.clone()));
    let rest = store.json(&["history", "1", "--after", &first]);
    assert_eq!(list(&rest, "steps"), steps[1..]);
    let printed = store.text(&["history", "1", "--events"]);
    assert!(printed.lines().any(|it| it.contains("read \"Read the greeting\"")), "{printed}");
}

// covers: ENGINE-33
#[test]
fn dead_letters_are_listed_sent_again_and_dropped() {
    let waits = model(
        r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
             <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="first"/>
             <receiveTask id="first" messageRef="m"/>
             <sequenceFlow id="f2" sourceRef="first" targetRef="end"/><endEvent id="end"/>
           </process>"#,
    );
    let store = Store::with(&[&file("store-dead-letters.bpmn", &waits)]);
    for order in ["order=1", "order=2"] {
        // It is over before the next command begins.
        let command = ["message", "paid", "--correlate", order, "--ttl", "1ms", "--var", order];
        store.text(&command);
    }
    let listed = list(&store.json(&["dead-letters"]), "dead_letters");
    assert_eq!(fields(&listed, "reason"), ["nobody has taken it before it expired"; 2]);
    assert_eq!(list(&store.json(&["messages"]), "messages").len(), 0);
    let (first, second) = (text(&listed[0], "message"), text(&listed[1], "message"));
    let printed = store.text(&["dead-letters", "list", "--name", "paid"]);
    assert!(printed.starts_with("MESSAGE  NAME  CORRELATION  PUBLISHED"), "{printed}");
    assert_eq!(
        store.text(&["dead-letters", "discard", &first]),
        format!("message {first} dropped\n")
    );
    let gone = store.call(&["dead-letters", "replay", &first]);
    assert_eq!(gone.status, 2);
    assert!(gone.err.contains(&format!("no such dead letter: {first}")), "{}", gone.err);
    store.text(&["start", "p"]);
    let replayed = store.json(&["dead-letters", "replay", &second]);
    assert_eq!(fields(&list(&replayed, "replayed"), "outcome"), ["received"]);
    let shown = store.json(&["show", "1"]);
    assert_eq!(shown.field("variables").unwrap().to_json(), r#"{"order":2}"#);
    assert_eq!(store.text(&["dead-letters"]), "no dead letters\n");
}

// covers: ENGINE-31, ENGINE-32
#[test]
fn a_message_goes_to_all_where_that_is_said() {
    let waits = model(
        r#"<message id="m" name="news"/><process id="p" isExecutable="true">
             <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="first"/>
             <receiveTask id="first" messageRef="m"/>
             <sequenceFlow id="f2" sourceRef="first" targetRef="end"/><endEvent id="end"/>
           </process>"#,
    );
    let store = Store::with(&[&file("store-news.bpmn", &waits)]);
    store.text(&["start", "p"]);
    store.text(&["start", "p"]);
    assert_eq!(
        store.text(&["message", "news", "--all", "--delivery", "after-create"]),
        "message news received by 2, and buffered for others until it expires\n"
    );
    assert_eq!(list(&store.json(&["messages"]), "messages").len(), 1);
    store.text(&["start", "p"]);
    assert_eq!(text(&store.json(&["show", "3"]), "state"), "running");
}

#[test]
fn messages_and_signals_find_who_waits() {
    let waits = model(
        r#"<message id="m" name="paid"/><signal id="s" name="open"/>
           <process id="p" isExecutable="true">
             <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="first"/>
             <intermediateCatchEvent id="first"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
             <sequenceFlow id="f2" sourceRef="first" targetRef="second"/>
             <intermediateCatchEvent id="second"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>
             <sequenceFlow id="f3" sourceRef="second" targetRef="end"/><endEvent id="end"/>
           </process>"#,
    );
    let store = Store::with(&[&file("store-messages.bpmn", &waits)]);
    let held = store.json(&["message", "paid", "--id", "m-1", "--var", "a=1"]);
    assert_eq!(text(&held, "outcome"), "held");
    assert_eq!(text(&store.json(&["message", "paid", "--id", "m-1"]), "outcome"), "known");
    assert_eq!(list(&store.json(&["messages"]), "messages").len(), 1);
    let dropped = store.json(&["message", "paid", "--ttl", "0s"]);
    assert_eq!(text(&dropped, "outcome"), "dropped");
    store.text(&["start", "p"]);
    assert_eq!(list(&store.json(&["messages"]), "messages").len(), 0);
    let waits = list(&store.json(&["subscriptions"]), "subscriptions");
    assert_eq!(
        (fields(&waits, "kind"), fields(&waits, "name")),
        (vec!["signal".into()], vec!["open".into()])
    );
    let shown = store.text(&["show", "1"]);
    assert!(shown.contains("waits for signal open\n    travertine signal open"), "{shown}");
    store.text(&["signal", "open", "--var", "b=2"]);
    let shown = store.json(&["show", "1"]);
    assert_eq!(text(&shown, "state"), "completed");
    assert_eq!(shown.field("variables").unwrap().to_json(), r#"{"a":1,"b":2}"#);
}

/// Waits for `paid` and names no correlation, as models made for Camunda 7 do.
const CAMUNDA7: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:camunda="http://camunda.org/schema/1.0/bpmn" targetNamespace="t">
    <message id="m" name="paid"/><process id="recv" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process></definitions>"#;

#[test]
fn a_message_goes_to_the_instance_that_is_named() {
    let store = Store::with(&[&file("store-address.bpmn", CAMUNDA7)]);
    for (id, order) in
        [("A", "orderId=1"), ("B", "orderId=2"), ("C", "orderId=3"), ("D", "orderId=3")]
    {
        store.text(&["start", "recv", "--id", id, "--var", order]);
    }
    let nobody = store.call(&["message", "paid", "--where", "orderId=9"]);
    assert_eq!((nobody.status, &*nobody.out), (2, ""));
    assert!(nobody.err.contains("no instance with orderId = 9 waits for it"), "{}", nobody.err);
    let several = store.call(&["message", "paid", "--where", "orderId=3"]);
    assert_eq!(several.status, 2);
    assert!(several.err.contains("could be meant wait for it: 3, 4;"), "{}", several.err);
    assert!(several.err.contains("--instance says which one"), "{}", several.err);
    // What is shown to help an instance helps that one.
    let shown = store.text(&["show", "B"]);
    assert!(shown.contains("\n    travertine message paid --instance 2\n"), "{shown}");
    let received = store.json(&["message", "paid", "--instance", "2"]);
    assert_eq!(
        received.to_json(),
        r#"{"message":"paid","outcome":"received","instance":"2","wait":"2-3","business_key":"B","count":null}"#
    );
    assert_eq!((&*store.state("A"), &*store.state("B")), ("running", "completed"));
    assert_eq!(
        store.text(&["message", "paid", "--correlate", "orderId=1"]),
        "message paid received by 1-3 (A)\n"
    );
    assert_eq!(
        store.text(&["message", "paid", "--correlate", "$to=D"]),
        "message paid received by 4-3 (D)\n"
    );
    assert_eq!(
        store.text(&["message", "paid", "--business-key", "C"]),
        "message paid received by 3-3 (C)\n"
    );
    let ended = store.call(&["message", "paid", "--instance", "C"]);
    assert!(ended.err.contains("instance 3 has ended"), "{}", ended.err);
    let held = store.text(&["message", "paid", "--business-key", "E", "--ttl", "1h"]);
    assert_eq!(held, "message paid buffered: nobody waits for it yet\n");
    store.text(&["start", "recv", "--id", "E"]);
    assert_eq!(store.state("E"), "completed");
}

#[test]
fn the_key_that_is_shown_finds_who_waits_with_a_number() {
    let model = CAMUNDA7
        .replace(
            r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn""#,
            r#"xmlns:zeebe="http://camunda.org/schema/zeebe/1.0""#,
        )
        .replace(
            r#"name="paid"/>"#,
            r#"name="paid"><extensionElements>
            <zeebe:subscription correlationKey="=id"/></extensionElements></message>"#,
        );
    let store = Store::with(&[&file("store-key.bpmn", &model)]);
    store.text(&["start", "recv", "--var", "id=7"]);
    let shown = store.text(&["show", "1"]);
    assert!(shown.contains("travertine message paid --instance 1 --key 7\n"), "{shown}");
    assert_eq!(store.text(&["message", "paid", "--key", "7"]), "message paid received by 1-3\n");
}

#[test]
fn a_signal_tells_how_many_have_heard_it() {
    let waits = process(
        r#"<intermediateCatchEvent id="it"><signalEventDefinition signalRef="g"/></intermediateCatchEvent>"#,
    );
    let waits = waits.replacen("<process", r#"<signal id="g" name="go"/><process"#, 1);
    let store = Store::with(&[&file("store-signal.bpmn", &waits)]);
    assert_eq!(
        store.text(&["signal", "go"]),
        "signal go sent: nobody waits for it, and it is not buffered\n"
    );
    store.text(&["start", "p"]);
    store.text(&["start", "p"]);
    let sent = store.json(&["signal", "go"]);
    assert_eq!(sent.to_json(), r#"{"signal":"go","outcome":"sent","received":2,"started":0}"#);
}

#[test]
fn incidents_are_resolved_alone_and_together() {
    let divides = process(
        r#"<scriptTask id="it" scriptFormat="javascript"><script>_context.y = x.length</script></scriptTask>"#,
    );
    let store = Store::with(&[&file("store-incident.bpmn", &divides)]);
    for _ in 0..3 {
        store.text(&["start", "p"]);
    }
    let waited = store.call(&["start", "p", "--wait"]);
    assert_eq!(waited.status, 4, "{}{}", waited.out, waited.err);
    assert_eq!(list(&store.json(&["incidents"]), "incidents").len(), 4);
    let again = store.call(&["resolve", "1"]);
    assert_eq!(again.status, 4, "{}{}", again.out, again.err);
    store.text(&["resolve", "1", "--var", "x=abc"]);
    assert_eq!(store.state("1"), "completed");
    for id in ["2", "3", "4"] {
        store.text(&["set", id, "--var", "x=ab"]);
    }
    let resolved = store.json(&["resolve", "--all"]);
    assert_eq!(resolved.to_json(), r#"{"retried":3,"still":[]}"#);
    assert_eq!(store.text(&["incidents"]), "no incidents\n");
}

#[test]
fn a_job_gets_more_tries() {
    let store = Store::with(&["examples/order.bpmn"]);
    store.text(&["start", "order"]);
    store.text(&["retries", "1-3", "9"]);
    store.text(&["fail", "1-3", "--message", "no net", "--backoff", "1h"]);
    let jobs = list(&store.json(&["jobs"]), "jobs");
    assert_eq!(jobs[0].field("retries"), Some(&8.into()));
    assert!(jobs[0].field("until").unwrap().as_str().is_some(), "{}", jobs[0]);
    store.text(&["fail", "1-3", "--retries", "0", "--message", "gone"]);
    let incidents = list(&store.json(&["incidents", "--definition", "order"]), "incidents");
    assert_eq!(fields(&incidents, "message"), ["gone"]);
}

#[test]
fn a_condition_that_holds_starts_an_instance() {
    let conditional = model(
        r#"<process id="p" isExecutable="true">
             <startEvent id="start"><conditionalEventDefinition><condition>${stock &lt; 5}</condition></conditionalEventDefinition></startEvent>
             <sequenceFlow id="f" sourceRef="start" targetRef="t"/><userTask id="t"/>
             <sequenceFlow id="g" sourceRef="t" targetRef="end"/><endEvent id="end"/>
           </process>"#,
    );
    let store = Store::with(&[&file("store-conditions.bpmn", &conditional)]);
    assert_eq!(store.text(&["conditions", "--var", "stock=9"]), "no condition holds\n");
    assert_eq!(store.text(&["conditions", "--var", "stock=3"]), "started instance 1\n");
}

#[test]
fn an_instance_stands_still_ends_and_is_forgotten() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    assert_eq!(store.text(&["suspend", "1"]), "hello 1, suspended\n");
    let refusal = store.refusal(&["complete", "1"]);
    assert!(refusal.contains("`travertine resume 1`"), "{refusal}");
    assert_eq!(store.text(&["resume", "1"]), "hello 1, running\n");
    assert_eq!(store.text(&["cancel", "1"]), "hello 1, cancelled\n");
    assert_eq!(store.text(&["delete", "1"]), "deleted 1\n");
    assert_eq!(store.text(&["instances"]), "no instances\n");
}

#[test]
fn tokens_are_moved_added_and_withdrawn() {
    let store = Store::with(&["examples/order.bpmn"]);
    store.text(&["start", "order"]);
    store.text(&["modify", "1", "--move", "reserve:pack"]);
    let pack = store.wait("1", "pack");
    store.text(&["modify", "1", "--add", "reserve"]);
    let token = text(&list(&store.json(&["jobs"]), "jobs")[0], "token");
    store.text(&["modify", "1", "--withdraw", &token]);
    assert_eq!(store.text(&["jobs"]), "no jobs\n");
    store.text(&["complete", &pack]);
    assert_eq!(store.state("1"), "completed");
    store.text(&["start", "order", "--at", "pack"]);
    store.wait("2", "pack");
}

#[test]
fn an_instance_goes_on_by_another_version() {
    let of = |name: &str| process(&format!(r#"<userTask id="it" name="{name}"/>"#));
    let store = Store::empty();
    let path = file("store-migrate.bpmn", &of("old"));
    store.deploy(&[&path]);
    store.text(&["start", "p"]);
    fs::write(&path, of("new")).unwrap();
    store.deploy(&[&path]);
    fs::write(&path, of("newest").replace("\"it\"", "\"other\"")).unwrap();
    store.deploy(&[&path]);
    let tried = store.json(&["migrate", "1", "--to", "2", "--dry-run"]);
    assert_eq!(tried.field("possible"), Some(&true.into()));
    let refused = store.call(&["migrate", "1", "--to", "3"]);
    assert_eq!(refused.status, 1, "{}{}", refused.out, refused.err);
    assert!(refused.out.contains("it, which the new process has not: map it"), "{}", refused.out);
    store.text(&["migrate", "1", "--to", "3", "--map", "it=other"]);
    let shown = store.json(&["show", "1"]);
    assert_eq!(shown.field("version"), Some(&3.into()));
    assert_eq!(store.text(&["history", "1"]).matches("migrated to p version 3").count(), 1);
    store.text(&["complete", "1"]);
    assert_eq!(store.state("1"), "completed");
}

const SLEEPS: &str = r#"<intermediateCatchEvent id="it">
    <timerEventDefinition><timeDuration>${span}</timeDuration></timerEventDefinition>
  </intermediateCatchEvent>"#;

#[test]
fn timers_ring_when_a_command_runs_or_someone_works() {
    let store = Store::with(&[&file("store-timer.bpmn", &process(SLEEPS))]);
    store.text(&["start", "p", "--var", "span=P1D"]);
    let timer = store.wait("1", "it");
    let moved = store.json(&["timers", "move", &timer, "2030-01-01T00:00:00Z"]);
    assert_eq!(text(&moved, "due"), "2030-01-01T00:00:00Z");
    let shown = store.text(&["show", "1"]);
    assert!(shown.contains("waits until 2030-01-01T00:00:00Z"), "{shown}");
    let timers =
        list(&store.json(&["timers", "list", "--before", "2031-01-01T00:00:00Z"]), "timers");
    assert_eq!(fields(&timers, "due"), ["2030-01-01T00:00:00Z"]);
    store.text(&["timers", "move", &timer, "2020-01-01T00:00:00Z"]);
    assert_eq!(store.state("1"), "completed");

    let waited = store.json(&["start", "p", "--var", "span=PT0.05S", "--wait"]);
    assert_eq!(text(&waited, "state"), "completed");
    let gave_up = store.call(&["start", "p", "--var", "span=P1D", "--wait", "--timeout", "10ms"]);
    assert_eq!(gave_up.status, 3, "{}{}", gave_up.out, gave_up.err);
    let worked = store.call(&["work", "--until-idle"]);
    assert_eq!((worked.status, &*worked.out), (0, ""), "{}", worked.err);
    assert!(worked.err.contains("0 jobs, 1 timer"), "{}", worked.err);
}

#[test]
fn an_operator_reaches_an_instance_before_what_is_due() {
    let store = Store::empty();
    // What was to be done a minute after then is long due.
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
    let engine = Engine::open_with(store.data(), Options { clock, ..Options::default() }).unwrap();
    let body = fs::read(file("store-due.bpmn", &process(SLEEPS))).unwrap();
    engine.deploy(&[engine::File { name: "store-due.bpmn".to_owned(), body }]).unwrap();
    for id in ["suspended", "cancelled", "modified", "other"] {
        engine.start("p").id(id).variable("span", "PT1M").wait().unwrap();
    }
    engine.shutdown().unwrap();
    store.text(&["suspend", "suspended"]);
    store.text(&["cancel", "cancelled"]);
    store.text(&["modify", "modified", "--withdraw", "it"]);
    for (id, state) in [
        ("suspended", "suspended"),
        ("cancelled", "cancelled"),
        ("modified", "cancelled"),
        ("other", "running"),
    ] {
        assert_eq!(store.state(id), state, "{id}");
    }
    store.text(&["resume", "suspended"]);
    assert_eq!(store.state("suspended"), "completed", "it was due");
    assert_eq!(store.state("other"), "running", "nobody has asked anything of it");
    store.text(&["start", "p", "--var", "span=P1D"]);
    assert_eq!(store.state("other"), "completed", "what is due comes before what is new");
}

#[test]
fn of_many_tokens_the_first_are_shown_and_the_others_counted() {
    let each = r#"<userTask id="it"><multiInstanceLoopCharacteristics>
        <loopCardinality>5000</loopCardinality></multiInstanceLoopCharacteristics></userTask>"#;
    let store = Store::with(&[&file("store-tokens.bpmn", &process(each))]);
    store.text(&["start", "p"]);
    let shown = store.text(&["show", "1"]);
    assert!(shown.lines().count() < 400, "{} lines", shown.lines().count());
    assert!(shown.contains("tokens more; --json has them all"), "{shown}");
}

/// A command on a store that has little memory.
#[cfg(target_os = "linux")]
fn with_little_memory(store: &Store, args: &str) -> std::process::Output {
    let limited = format!("ulimit -v 2000000; exec \"$0\" {args} --data \"$1\"");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_travertine"), &store.data()]);
    command.output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn what_would_take_all_memory_is_an_incident_and_can_be_cancelled() {
    let each = r#"<userTask id="it"><multiInstanceLoopCharacteristics>
        <loopCardinality>n</loopCardinality></multiInstanceLoopCharacteristics></userTask>"#;
    let many = r#"<task id="it" completionQuantity="1000000000"/>"#;
    for (name, element) in [("each", each), ("many", many)] {
        let store = Store::with(&[&file(&format!("store-{name}.bpmn"), &process(element))]);
        for (args, said) in [
            ("start p --id X --var n=1000000000", "tokens more"),
            ("instances", "X"),
            ("stats", "1"),
            ("verify", "agree"),
            ("show X", "tokens more"),
            ("cancel X", "cancelled"),
        ] {
            let done = with_little_memory(&store, args);
            let out = String::from_utf8_lossy(&done.stdout);
            let err = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{args}: {out}{err}");
            assert!(out.contains(said), "{args}: {out}{err}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_store_that_is_worked_on_is_looked_at_and_copied_meanwhile() {
    let store = Store::with(&[&file("store-work.bpmn", &process(SLEEPS))]);
    store.text(&["start", "p", "--var", "span=PT0.01S", "--id", "soon"]);
    store.text(&["start", "p", "--var", "span=P1D", "--id", "late"]);
    let mut works = command(&["work", "--data", &store.data()]).spawn().unwrap();
    let mut lines = BufReader::new(works.stderr.take().unwrap()).lines();
    let greeting = lines.next().unwrap().unwrap();
    assert!(greeting.contains("Ctrl-C ends it"), "{greeting}");

    let shown = store.json(&["instances"]);
    assert_eq!(fields(&list(&shown, "instances"), "business_id"), ["late", "soon"]);
    let refusal = store.refusal(&["work"]);
    assert!(refusal.contains(&format!("in use by process {}", works.id())), "{refusal}");
    assert!(refusal.contains("travertine backup"), "{refusal}");
    let copy = store.path("copy");
    assert!(store.text(&["backup", &copy]).starts_with("copied "));
    let refusal = store.refusal(&["backup", &copy]);
    assert!(refusal.contains("not empty"), "{refusal}");
    let copied = travertine_with(&["instances", "--data", &copy, "--json"], "").json();
    assert_eq!(fields(&list(&copied, "instances"), "business_id"), ["late", "soon"]);
    let verified = travertine_with(&["verify", "--data", &copy], "");
    assert_eq!(verified.status, 0, "{}", verified.out);

    rustix::process::kill_process(
        rustix::process::Pid::from_child(&works),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(works.wait().unwrap().code(), Some(0));
    assert_eq!(store.state("1"), "completed");
}

/// A script that takes longer than anyone waits for, and cannot be interrupted from within.
const SLOW: &str = "let a = 2n ** 500000n - 1n, b; for (let i = 0; i &lt; 1e6; i++) b = a * a";

#[cfg(unix)]
#[test]
fn a_script_that_takes_long_does_not_hold_up_the_end_and_is_begun_anew() {
    let model = model(&format!(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
        <intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>PT1M</timeDuration>
        </timerEventDefinition></intermediateCatchEvent>
        <sequenceFlow id="f2" sourceRef="t" targetRef="script"/>
        <scriptTask id="script" scriptFormat="javascript"><script>{SLOW}</script>
        </scriptTask><sequenceFlow id="f3" sourceRef="script" targetRef="e"/><endEvent id="e"/></process>"#
    ));
    let store = Store::empty();
    // What was to be done a minute after then is long due.
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
    let engine = Engine::open_with(store.data(), Options { clock, ..Options::default() }).unwrap();
    let body = model.into_bytes();
    engine.deploy(&[engine::File { name: "slow.bpmn".to_owned(), body }]).unwrap();
    engine.start("p").wait().unwrap();
    engine.shutdown().unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut works = command(&["work", "--data", &store.data()]).spawn().unwrap();
        let mut lines = BufReader::new(works.stderr.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("Ctrl-C ends it"));
        rustix::process::kill_process(rustix::process::Pid::from_child(&works), signal).unwrap();
        assert_eq!(works.wait().unwrap().code(), Some(0));
        // Nothing of it is written: neither an end, nor that it took too long, nor that the process died of it.
        assert_eq!(list(&store.json(&["incidents"]), "incidents").len(), 0);
        assert_eq!(store.state("1"), "running");
    }
    assert_eq!(store.call(&["verify"]).status, 0);
    store.text(&["cancel", "1"]);
}

#[test]
fn a_definition_of_which_too_many_begin_is_named() {
    let models = model(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="c"/><callActivity id="c" calledElement="q">
        <multiInstanceLoopCharacteristics><loopCardinality>500</loopCardinality>
        </multiInstanceLoopCharacteristics></callActivity>
        <sequenceFlow id="g" sourceRef="c" targetRef="e"/><endEvent id="e"/></process>
        <process id="q" isExecutable="true" tv:startLimit="2"><startEvent id="qs"/>
        <sequenceFlow id="qf" sourceRef="qs" targetRef="qe"/><endEvent id="qe"/></process>"#,
    );
    let models = file("store-throttled.bpmn", &models);
    let store = Store::with(&[&models]);
    let started = store.call(&["start", "p"]);
    assert_eq!(started.status, 0, "{}", started.err);
    assert!(started.err.contains("definition q does not come to rest"), "{}", started.err);
    assert!(store.text(&["stats"]).contains("definition q does not come to rest"));
    let starts = store.json(&["stats"]).field("starts").and_then(|it| it.field("q").cloned());
    let starts = starts.and_then(|it| it.to_string().parse::<u64>().ok());
    assert!(starts.is_some_and(|it| it > 400), "{starts:?}");
    store.text(&["cancel", "1"]);
    assert_eq!(
        store.json(&["stats"]).field("starts"),
        Some(&Value::from_iter([] as [(Name, Value); 0]))
    );
    // Where time does not pass by itself, as much of it passes as they need.
    let run = travertine_with(&["run", &models, "--process", "p"], "");
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(run.err.contains("definition q does not come to rest"), "{}", run.err);
}

#[test]
fn ended_instances_are_shortened_and_forgotten() {
    let store = Store::with(&["examples/hello.bpmn"]);
    for _ in 0..4 {
        store.text(&["start", "hello", "--var", "name=Ann"]);
    }
    for id in ["1", "2", "3"] {
        store.text(&["complete", id, "--var", "liked=true"]);
    }
    let kept = store.json(&["compact", "--keep", "2"]);
    assert_eq!(kept.field("forgotten"), Some(&1.into()));
    let folded = store.json(&["compact", "--history", "0s"]);
    assert_eq!(folded.field("shortened"), Some(&2.into()));
    let told = store.text(&["history", "3", "--events"]);
    assert!(told.contains("what happened between is not kept"), "{told}");
    let refusal = store.refusal(&["history", "3", "--at", "9999"]);
    assert!(refusal.contains("is not kept any more"), "{refusal}");
    let gone = store.json(&["compact", "--ended", "0s"]);
    assert_eq!(gone.field("forgotten"), Some(&2.into()));
    assert_eq!(list(&store.json(&["instances"]), "instances").len(), 1);
    assert_eq!(store.call(&["verify"]).status, 0);
}

#[test]
fn a_store_is_counted() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    store.text(&["start", "hello", "--var", "name=Bob"]);
    store.text(&["cancel", "2"]);
    let stats = store.json(&["stats"]);
    let instances = stats.field("instances").unwrap();
    assert_eq!(instances.field("running"), Some(&1.into()));
    assert_eq!(instances.field("cancelled"), Some(&1.into()));
    assert_eq!(stats.field("waiting").unwrap().field("tasks"), Some(&1.into()));
    assert!(stats.field("store").unwrap().field("bytes").unwrap().as_i64().unwrap() > 0);
    let shown = store.text(&["stats"]);
    assert!(shown.contains("1 task,") && shown.contains("hello"), "{shown}");
}

#[test]
fn an_instance_in_a_store_is_drawn() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    let waiting = store.text(&["draw", "--instance", "1"]);
    assert!(waiting.starts_with("<svg ") && waiting.contains("tokens here now"), "{waiting}");
    store.text(&["complete", "1", "--var", "liked=true"]);
    let ended = store.text(&["draw", "--instance", "1"]);
    assert!(ended.contains("flow taken") && !ended.contains("tokens here now"), "{ended}");
    let both = store.refusal(&["draw", "examples/hello.bpmn", "--instance", "1"]);
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn what_differs_is_found() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    store.sql("views.db", "UPDATE instances SET definition = 'bye'");
    let verified = store.call(&["verify", "--json"]);
    assert_eq!(verified.status, 1, "{}{}", verified.out, verified.err);
    assert_eq!(verified.json().field("agrees"), Some(&false.into()));
}

#[test]
fn what_cannot_be_read_is_named_and_stops_nothing_else() {
    let store = Store::with(&["examples/hello.bpmn"]);
    // One without a checksum, as older versions have written them, counts with its number.
    store.sql(
        "log.db",
        "INSERT INTO inbox(receiver, sender, number, body) VALUES(0, 0, 1, x'4d01')",
    );
    store.sql("log.db", "UPDATE shards SET mails = mails + 2844319735");
    store.text(&["start", "hello", "--var", "name=Ann"]);
    assert_eq!(list(&store.json(&["tasks"]), "tasks").len(), 1);
    let mail = "mail 1 from shard 0";
    let stats = store.json(&["stats"]);
    let damaged = list(stats.field("store").unwrap(), "damaged");
    assert!(damaged.len() == 1 && damaged[0].as_str().unwrap().contains(mail), "{damaged:?}");
    assert!(store.text(&["stats"]).contains(mail));
    let verified = store.call(&["verify"]);
    assert_eq!(verified.status, 1, "{}{}", verified.out, verified.err);
    assert!(verified.out.contains(mail), "{}", verified.out);
}

#[test]
fn damaged_rows_are_made_again_but_not_for_a_log_that_cannot_be_read() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["message", "paid", "--ttl", "1h"]);
    store.sql("views.db", "UPDATE messages SET body = x'4d' WHERE body <> x''");
    store.sql("log.db", "UPDATE log_0 SET at = 'never' || at WHERE seq = 1");
    let refusal = store.refusal(&["stats"]);
    assert!(refusal.contains("log.db is damaged"), "{refusal}");
    // The row is still there.
    store.sql("views.db", "UPDATE messages SET name = 'lost'");
    store.sql("log.db", "UPDATE log_0 SET at = CAST(substr(at, 6) AS INTEGER) WHERE seq = 1");
    assert_eq!(list(&store.json(&["messages"]), "messages").len(), 1, "it is there again");
    store.sql("views.db", "UPDATE messages SET body = x'4d' WHERE body <> x''");
    let shown = store.call(&["stats"]).err;
    assert!(shown.contains("made again from the log") && shown.contains("the message"), "{shown}");
    assert_eq!(store.call(&["verify"]).status, 0);
}

#[test]
fn a_model_that_cannot_be_read_any_more_halts_its_instances_and_no_others() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    store.text(&["deploy", "examples/order.bpmn"]);
    store.sql(
        "log.db",
        "UPDATE resources SET body = CAST('x' || body AS BLOB) WHERE name LIKE '%hello%'",
    );
    let stats = store.text(&["stats"]);
    assert!(stats.contains("version 1 of hello, deployment 1, cannot be read"), "{stats}");
    store.text(&["start", "order", "--var", "amount=5"]);
    let refusal = store.refusal(&["complete", "1"]);
    assert!(refusal.contains("instance 1 is damaged"), "{refusal}");
    assert!(refusal.contains("`travertine delete 1` forgets it"), "{refusal}");
    store.sql("log.db", "UPDATE resources SET body = substr(body, 2) WHERE name LIKE '%hello%'");
    store.text(&["resolve", "1"]);
    assert_eq!(store.text(&["complete", "1", "--var", "liked=true"]).lines().count(), 1);
    assert_eq!(store.call(&["verify"]).status, 0);
}

#[test]
fn what_a_worker_says_does_not_change_what_helps() {
    let task = process(r#"<serviceTask id="it" tv:jobType="work"/>"#);
    let store = Store::with(&[&file("sentences.bpmn", &task)]);
    store.text(&["start", "p"]);
    let says = "this program has no function p version 1";
    store.text(&["fail", "1-3", "--retries", "0", "--message", says]);
    let shown = store.text(&["show", "1"]);
    assert!(shown.contains("travertine resolve 1 --token 2\n"), "{shown}");
    let shown = store.json(&["show", "1"]);
    let waits = shown.field("waits").unwrap().as_list().unwrap();
    let failures = waits.iter().filter_map(|it| it.field("failure")).filter(|it| !it.is_null());
    let expected =
        format!(r#"{{"kind":"work","code":null,"message":"{says}","part":null,"element":null}}"#);
    assert_eq!(failures.map(Value::to_json).collect::<Vec<_>>(), [expected]);
}

#[test]
fn an_error_is_data_where_data_was_asked_for() {
    let store = Store::with(&[&file("coded.bpmn", &process(r#"<userTask id="it"/>"#))]);
    let called = store.call(&["show", "77", "--json"]);
    assert_eq!((called.status, &*called.out), (2, ""));
    let told = Value::parse_json(&called.err).expect("it is JSON");
    let error = told.field("error").expect("there is an error");
    let fields = ["code", "outcome"].map(|it| error.field(it).and_then(Value::as_str));
    assert_eq!(fields, [Some("no_such_instance"), Some("not_done")]);
}
