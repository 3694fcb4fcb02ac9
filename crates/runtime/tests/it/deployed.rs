//! Everything that is deployed has a key, an id and a version; what is retired is used no more.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use travertine_func::Retry;
use travertine_kernel::{Ending, WaitId};
use travertine_runtime::{
    Address, Deployed, DeployedKind, Engine, Error, InstanceId, Message, Receipt,
    engine::{Deployment, File, Options, Target},
};
use travertine_store::{
    DefinitionKey, Deployment as Stored, Error as StoreError, Layer, MemoryStore, Resource, Store,
    view::{Row, Table},
};

use travertine_value::Value;

use crate::world::{World, file};

const TASK: &str = r#"<process id="p" name="Order" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

fn text(name: &str, body: &str) -> File {
    File { name: name.to_owned(), body: body.as_bytes().to_vec() }
}

fn dmn(name: &str, result: &str) -> File {
    let body = format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="pricing"
            name="Pricing" namespace="urn:p"><decision id="price" name="Price">
            <literalExpression><text>{result}</text></literalExpression></decision>
            <decision id="rebate" name="Rebate"><literalExpression><text>1</text>
            </literalExpression></decision></definitions>"#
    );
    text(name, &body)
}

fn all() -> [File; 5] {
    [
        file("C:\\models\\order.bpmn", TASK),
        dmn("/home/ann/pricing.dmn", "12"),
        text("forms/address.form", r#"{"id": "address", "versionTag": "v1", "components": []}"#),
        text("robot.rpa", r#"{"id": "robot", "script": "click"}"#),
        text("terms & conditions.md", "# Terms\n<b>not XML</b>"),
    ]
}

type What<'a> = (&'a str, &'a str, u32, &'a str);

fn what(deployment: &Deployment) -> Vec<What<'_>> {
    deployment.deployed.iter().map(|it| named(it)).collect()
}

fn named(it: &Deployed) -> What<'_> {
    (it.kind.name(), &it.id, it.version, &it.file)
}

fn keys(deployment: &Deployment) -> Vec<DefinitionKey> {
    deployment.deployed.iter().map(|it| it.key).collect()
}

#[test]
fn everything_in_a_deployment_has_a_key_and_an_unchanged_one_keeps_it() {
    let mut world = World::new(2);
    let first = world.engine().deploy(&all()).unwrap();
    let expected = [
        ("process", "p", 1, "C:\\models\\order.bpmn"),
        ("requirements", "pricing", 1, "/home/ann/pricing.dmn"),
        ("decision", "price", 1, "/home/ann/pricing.dmn"),
        ("decision", "rebate", 1, "/home/ann/pricing.dmn"),
        ("form", "address", 1, "forms/address.form"),
        ("resource", "robot", 1, "robot.rpa"),
        ("resource", "terms & conditions.md", 1, "terms & conditions.md"),
    ];
    assert_eq!(what(&first), expected);
    let mut distinct = keys(&first);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), expected.len(), "one series of keys for all");
    assert!(first.deployed.iter().all(|it| it.deployment == first.number && !it.retired));
    let named = |at: usize| first.deployed[at].name.as_deref();
    assert_eq!([named(0), named(1), named(2)], [Some("Order"), Some("Pricing"), Some("Price")]);
    let graph = Some(first.deployed[1].key);
    assert_eq!([first.deployed[2].requirements, first.deployed[3].requirements], [graph, graph]);
    assert_eq!(first.deployed[4].tag.as_deref(), Some("v1"));

    world.restart();
    let again = world.engine().deploy(&all()).unwrap();
    assert!(again.number > first.number, "each deployment has a number of its own");
    assert_eq!((what(&again), keys(&again)), (what(&first), keys(&first)));
    world.restart();
    for it in &first.deployed {
        assert_eq!(world.engine().definitions().deployed_as(it.key), Some(it));
        let given = all().into_iter().find(|file| file.name == *it.file);
        assert_eq!(world.engine().file_of(it.key).ok(), given);
    }

    let changed = [dmn("pricing.dmn", "13"), text("a.form", r#"{"id": "address"}"#)];
    let next = world.engine().deploy(&changed).unwrap();
    let expected = [
        ("requirements", "pricing", 2, "pricing.dmn"),
        ("decision", "price", 2, "pricing.dmn"),
        ("decision", "rebate", 2, "pricing.dmn"),
        ("form", "address", 2, "a.form"),
    ];
    assert_eq!(what(&next), expected);
    assert!(next.deployed.iter().all(|it| !keys(&first).contains(&it.key)));
    world.check();
}

#[test]
fn one_broken_file_refuses_all_and_everything_that_is_wrong_is_said() {
    let world = World::new(1);
    let mut files = all().to_vec();
    files.push(text("no-json.form", "{oops"));
    files.push(text("no-id.form", "{}"));
    files.push(text("same.form", r#"{"id": "address"}"#));
    files.push(text("broken.dmn", "<definitions"));
    files.push(text("broken.bpmn", "<oops"));
    let Err(Error::Refused { diagnostics }) = world.engine().deploy(&files) else {
        panic!("it is refused")
    };
    for name in ["no-json.form", "no-id.form", "same.form", "broken.dmn", "broken.bpmn"] {
        assert!(diagnostics.iter().any(|it| it.contains(name)), "{name}: {diagnostics:?}");
    }
    assert_eq!(world.engine().definitions().deployed().count(), 0);
    assert_eq!(world.engine().store().deployments(0).unwrap(), []);
    assert!(matches!(world.engine().deploy(&[]), Err(Error::Refused { .. })));
}

#[test]
fn a_model_is_one_whatever_its_file_is_called() {
    let world = World::new(1);
    let names = [("order", TASK), ("order.xml", TASK), ("order.txt", TASK)];
    for (name, process) in names {
        let deployed = world.engine().deploy(&[file(name, process)]).unwrap();
        assert_eq!(deployed.deployed[0].kind, DeployedKind::Process, "{name}");
    }
    let picture = [text("logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")];
    let deployed = world.engine().deploy(&picture).unwrap();
    assert_eq!(deployed.deployed[0].kind, DeployedKind::Resource);
    // What is called a function is none.
    let deployed = world.engine().deploy(&[text("p.1.function", "x")]).unwrap();
    assert_eq!(deployed.deployed[0].kind, DeployedKind::Resource);
    world.engine().deploy(&[file("q.bpmn", &TASK.replace("\"p\"", "\"q\""))]).unwrap();
}

/// A store that counts the files that are read from it.
#[derive(Debug)]
struct Counting {
    store: MemoryStore,
    read: AtomicUsize,
}

impl Layer for Counting {
    fn behind(&self) -> &dyn Store {
        &self.store
    }

    fn deployments(&self, after: u64) -> Result<Vec<Stored>, StoreError> {
        let found = self.store.deployments(after)?;
        let all = found.iter().map(|it| it.resources.len() + it.definitions.len()).sum();
        self.read.fetch_add(all, Ordering::SeqCst);
        Ok(found)
    }

    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, StoreError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.store.resource(key)
    }
}

#[test]
fn the_thousandth_deployment_reads_no_more_than_the_second() {
    let store = Arc::new(Counting { store: MemoryStore::new(1), read: AtomicUsize::new(0) });
    let options = Options::default();
    let engine = Engine::on(&(Arc::clone(&store) as Arc<dyn Store>), options).unwrap();
    let mut read = Vec::new();
    for at in 0..1_000 {
        let before = store.read.load(Ordering::SeqCst);
        let form = format!(r#"{{"id": "form {}", "text": "{at}"}}"#, at % 10);
        let process = TASK.replace("work", &format!("work {at}"));
        let process = process.replace("\"p\"", &format!("\"p{}\"", at % 100));
        let files =
            [file("p.bpmn", &process), dmn("p.dmn", &at.to_string()), text("a.form", &form)];
        engine.deploy(&files).unwrap();
        read.push(store.read.load(Ordering::SeqCst) - before);
    }
    assert_eq!(engine.definitions().deployed().count(), 5_000);
    // The first of an id has nothing to be compared with.
    assert!(read[999] <= read[0] + 3, "{} files and rows, not {}", read[999], read[0]);
    assert_eq!(read[999], read[200]);
}

#[test]
fn what_is_retired_is_not_started_and_not_the_latest_and_what_runs_goes_on() {
    for shards in [1, 3] {
        let mut world = World::new(shards);
        world.deploy(TASK);
        world.deploy(&TASK.replace("work", "other"));
        let engine = world.engine();
        let [one, two] = [1, 2].map(|at| engine.definitions().versions("p")[at - 1].key);
        let runs = engine.start("p").wait().unwrap();
        let retired = engine.retire(two, false).unwrap();
        assert_eq!((retired.keys, retired.deleted), (vec![two], 0));
        for _ in 0..2 {
            let engine = world.engine();
            let definitions = engine.definitions();
            assert_eq!(definitions.find("p").map(|it| it.key), Some(one));
            assert!(definitions.is_retired(two) && !definitions.is_retired(one));
            assert_eq!(definitions.versions("p").len(), 2, "it is still there");
            let refused = engine.start(Target::Version("p".into(), 2)).wait();
            assert!(matches!(refused, Err(Error::NoSuchDefinition(_))), "{refused:?}");
            assert_eq!(engine.look(runs).wait().unwrap().definition.version, 2);
            assert_eq!(engine.file_of(two).unwrap().name, "model.bpmn");
            engine.retire(two, false).expect("it stays so");
            world.restart();
        }
        let engine = world.engine();
        engine.retire(one, false).unwrap();
        assert_eq!(engine.start("p").wait(), Err(Error::NoSuchDefinition("p".into())));
        // The same again is something new.
        let again = engine.deploy(&[file("model.bpmn", TASK)]).unwrap();
        assert_eq!(again.definitions[0].version, 3);
        world.restart();
        let job = world.jobs()[0].clone();
        let job = Address { instance: InstanceId(job.instance), wait: WaitId(job.wait) };
        world.engine().complete(job, Vec::new()).wait().unwrap();
        assert_eq!(world.ended(runs).ending, Ending::Completed);
        assert!(world.engine().history(runs).is_ok());
        assert_eq!(world.engine().retire(two, true).unwrap().deleted, 1);
        assert!(matches!(world.engine().history(runs), Err(Error::NoSuchInstance(_))));
        world.engine().undeploy("p", 2).expect("no instance needs it");
        world.restart();
        assert!(world.engine().file_of(two).is_err());
        world.check();
    }
}

#[test]
fn messages_and_timers_start_what_is_the_latest_after_the_newer_one_is_retired() {
    let process = |label: &str| {
        format!(
            r#"<message id="m" name="go"/><process id="p" name="{label}" isExecutable="true">
            <startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent>
            <startEvent id="c"><timerEventDefinition><timeCycle>R/PT1H</timeCycle>
            </timerEventDefinition></startEvent>
            <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
            <sequenceFlow id="f2" sourceRef="c" targetRef="t"/><userTask id="t"/></process>"#
        )
    };
    let mut world = World::new(2);
    world.deploy(&process("one"));
    world.deploy(&process("two"));
    let two = world.engine().definitions().find("p").unwrap().key;
    world.engine().retire(two, false).unwrap();
    let version = |receipt| {
        let Receipt::Started(id) = receipt else { panic!("nothing has started: {receipt:?}") };
        world.engine().look(id).wait().unwrap().definition.version
    };
    assert_eq!(version(world.engine().publish(Message::new("go")).wait().unwrap()), 1);
    assert_eq!(world.rows(Table::Timers, Vec::new()).len(), 1);
    let one = world.engine().definitions().find("p").unwrap().key;
    world.engine().retire(one, false).unwrap();
    assert_eq!(world.engine().publish(Message::new("go")).wait(), Ok(Receipt::Held));
    assert_eq!(world.rows(Table::Timers, Vec::new()), []);
    world.advance(7_200_000);
    assert_eq!(world.rows(Table::Instances, Vec::new()).len(), 1);
    world.restart();
    assert_eq!(world.rows(Table::Timers, Vec::new()), []);
    world.check();
}

#[test]
fn a_call_of_what_is_retired_is_an_incident_that_goes_on_with_the_next_version() {
    let caller = r#"<process id="c" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><callActivity id="t" calledElement="p"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;
    let called = r#"<process id="p" isExecutable="true"><startEvent id="s"/></process>"#;
    let world = World::new(2);
    world.deploy(caller);
    world.deploy(called);
    let key = world.engine().definitions().find("p").unwrap().key;
    world.engine().retire(key, false).unwrap();
    let id = world.engine().start("c").wait().unwrap();
    world.rest();
    assert_eq!(world.rows(Table::Incidents, Vec::new()).len(), 1);
    world.deploy(called);
    world.engine().retry(id, None).wait().unwrap();
    assert_eq!(world.ended(id).ending, Ending::Completed);
    world.check();
}

#[test]
fn a_graph_is_retired_with_its_decisions_and_goes_with_the_last_of_them() {
    let mut world = World::new(1);
    let first = world.engine().deploy(&[dmn("a.dmn", "1")]).unwrap();
    let graph = first.deployed[0].key;
    let retired = world.engine().retire(graph, true).unwrap();
    assert_eq!(retired.keys, keys(&first));
    world.restart();
    assert!(world.engine().definitions().decision("price").is_none());
    let next = world.engine().deploy(&[dmn("a.dmn", "1")]).unwrap();
    assert!(next.deployed.iter().all(|it| it.version == 2));
    for (id, left) in [("price", 2), ("rebate", 0)] {
        world.engine().undeploy_decision(id, 2).unwrap();
        for _ in 0..2 {
            let definitions = world.engine().definitions();
            assert_eq!(definitions.deployed().filter(|it| it.version == 2).count(), left);
            world.restart();
        }
    }
    assert!(world.engine().file_of(next.deployed[0].key).is_err());
    world.check();
}

#[test]
fn a_function_cannot_be_retired_and_what_is_not_there_neither() {
    let world = World::new(1);
    let unknown = world.engine().retire(DefinitionKey(99), false);
    assert_eq!(unknown, Err(Error::NoSuchDefinition("key 99".into())));
}

/// A process of Camunda 8 with a form at its start and at its task.
fn with_forms(start: &str, task: &str) -> File {
    let body = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"><process id="f" isExecutable="true">
            <startEvent id="s"><extensionElements><zeebe:formDefinition {start}/></extensionElements>
            </startEvent><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
            <userTask id="t"><extensionElements><zeebe:userTask/><zeebe:formDefinition {task}/>
            </extensionElements></userTask></process></definitions>"#
    );
    text("f.bpmn", &body)
}

fn form(version: u32) -> File {
    let body = format!(r#"{{"id": "address", "versionTag": "v{version}", "at": {version}}}"#);
    text("address.form", &body)
}

#[test]
fn a_user_task_keeps_the_version_of_its_form_that_was_meant_when_it_began() {
    let cases = [
        ("formId='address'", Some(2)),
        ("formId='address' bindingType='deployment'", Some(1)),
        ("formId='address' bindingType='versionTag' versionTag='v1'", Some(1)),
        ("formId='address' bindingType='versionTag' versionTag='v9'", None),
        ("formId='other'", None),
        ("externalReference='address'", None),
    ];
    for (attributes, expected) in cases {
        let mut world = World::new(2);
        let process = with_forms("formId='address'", attributes);
        world.engine().deploy(&[process.clone(), form(1)]).unwrap();
        world.engine().deploy(&[form(2)]).unwrap();
        world.engine().start("f").wait().unwrap();
        world.engine().deploy(&[form(3)]).unwrap();
        for _ in 0..2 {
            let definitions = world.engine().definitions();
            let rows = world.rows(Table::Tasks, Vec::new());
            let [Row::Task(task)] = rows.as_slice() else { panic!("{rows:?}") };
            let fields = Value::parse_json(&task.fields).unwrap();
            let field = |name: &str| fields.as_map().and_then(|it| it.get(name).cloned());
            let key = field("formKey").and_then(|it| u64::try_from(it.as_i64()?).ok());
            let found =
                key.and_then(|it| definitions.deployed_as(DefinitionKey(it))).map(|it| it.version);
            assert_eq!(found, expected, "{attributes}");
            let external = field("externalForm").is_some();
            assert_eq!(external, attributes.starts_with("external"), "{attributes}");
            let starts = definitions.find("f").and_then(|it| definitions.start_form(it));
            assert_eq!(starts.map(|it| it.version), Some(3));
            world.restart_after(|data| {
                std::fs::remove_file(data.join("views.db")).expect("rows can be made again");
            });
        }
        world.check();
    }
}

#[test]
fn a_process_that_is_bound_to_its_form_changes_with_it() {
    let bound = "formId='address' bindingType='deployment'";
    for process in [with_forms(bound, "formId='other'"), with_forms("formId='other'", bound)] {
        let world = World::new(1);
        let versions = [form(1), form(1), form(2)].map(|it| {
            let deployed = world.engine().deploy(&[process.clone(), it]).unwrap();
            (deployed.deployed[0].version, deployed.deployed[1].version)
        });
        assert_eq!(versions, [(1, 1), (1, 1), (2, 2)]);
    }
}

/// A store that does what it is told, and whose answer does not come so many times.
#[derive(Debug)]
struct Mute {
    inner: MemoryStore,
    left: AtomicUsize,
}

impl Mute {
    fn answer(&self, done: Result<(), StoreError>) -> Result<(), StoreError> {
        done?;
        let next = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) {
            Ok(_) => Err(StoreError::Unknown { reason: "no answer".to_owned() }),
            Err(_) => Ok(()),
        }
    }
}

impl Layer for Mute {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), StoreError> {
        self.answer(self.inner.undeploy(keys))
    }

    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), StoreError> {
        self.answer(self.inner.retire(keys))
    }
}

#[test]
fn what_may_be_gone_from_the_store_is_used_no_more() {
    let is_unknown =
        |done: &Result<(), Error>| matches!(done, Err(Error::Store(StoreError::Unknown { .. })));
    for (mute, is_told) in [(3, true), (usize::MAX, false)] {
        let store = Arc::new(Mute { inner: MemoryStore::new(2), left: AtomicUsize::new(0) });
        let storage_retry = Retry::every("1ms");
        let options = Options { storage_retry, ..Options::default() };
        let engine = Engine::on(&(Arc::clone(&store) as Arc<dyn Store>), options).unwrap();
        engine.deploy(&[file("p.bpmn", TASK), dmn("a.dmn", "1")]).unwrap();
        let other = TASK.replace(r#"id="p""#, r#"id="q""#);
        let key = engine.deploy(&[file("q.bpmn", &other)]).unwrap().definitions[0].key;
        let removals: [&dyn Fn() -> Result<(), Error>; 3] =
            [&|| engine.undeploy("p", 1), &|| engine.undeploy_decision("price", 1), &|| {
                engine.retire(key, false).map(drop)
            }];
        for remove in removals {
            store.left.store(mute, Ordering::SeqCst);
            let done = remove();
            assert!(if is_told { done.is_ok() } else { is_unknown(&done) }, "{done:?}");
        }
        for id in ["p", "q"] {
            let started = engine.start(id).wait();
            assert!(matches!(started, Err(Error::NoSuchDefinition(_))), "{started:?}");
        }
        assert!(engine.definitions().decision("price").is_none());
        engine.shutdown().unwrap();
    }
}
