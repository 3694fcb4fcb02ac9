//! Who may do what: every operation and call, asked by every role, about what it was granted and about what it was
//! not, over sockets. What must come of it stands here, and not in the tables that it is about.

use std::{cmp::Reverse, collections::BTreeMap, net::SocketAddr};

use prost::Message;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};
use tonic::transport::{Channel, Endpoint};
use travertine_kernel::WaitId;
use travertine_runtime::{
    Address, Batch, BatchWork, DeployedKind, Engine, InstanceId, JobFailure, Key, Named,
    engine::{self, File, Target},
};
use travertine_store::{
    search::{Condition, ElementColumn, Search, Test},
    view::{Row, Table},
};

use super::{
    grpc::{entrance::Rpc, gateway::*},
    rest::ROUTES,
};
use crate::{Access, ApiKey, Grant, Options, Permission, Role, Server};

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// Nothing that belongs to anybody.
    Nothing,
    /// Something that is there or not: who may not see it must not learn which.
    Object,
    /// A name, which says nothing about what is there.
    Name,
    /// What there is, of which everybody finds their share.
    All,
}

use About::{All, Name, Nothing, Object};

const EVERYBODY: &str = "admin operator developer worker user viewer";
const READERS: &str = "admin operator developer viewer";
const STARTERS: &str = "admin operator developer";
const OPERATORS: &str = "admin operator developer";
const WORKERS: &str = "admin developer worker";
const TASKS: &str = "admin operator developer user";

/// The instances of a batch.
const MEANT: &str = "{'filter': {'processDefinitionId': 'SIDE-order'}}";

/// Each operation of REST: what it is about, who may do it, and what is sent.
fn operations() -> Vec<(&'static str, About, &'static str, String)> {
    let none = String::new;
    let all = || "{}".to_owned();
    let body = |it: &str| it.replace('\'', "\"");
    vec![
        ("getTopology", Nothing, EVERYBODY, none()),
        ("getStatus", Nothing, EVERYBODY, none()),
        ("getLicense", Nothing, EVERYBODY, none()),
        ("getAuthentication", Nothing, EVERYBODY, none()),
        ("getOpenApi", Nothing, EVERYBODY, none()),
        ("pinClock", Nothing, "admin", body("{'timestamp': 9000000000000}")),
        ("resetClock", Nothing, "admin", none()),
        ("createDeployment", Name, "admin developer", none()),
        ("getResource", Object, READERS, none()),
        ("getResourceContent", Object, READERS, none()),
        ("deleteResource", Object, "admin developer", none()),
        ("searchProcessDefinitions", All, READERS, all()),
        ("getProcessDefinition", Object, READERS, none()),
        ("getProcessDefinitionXML", Object, READERS, none()),
        ("getStartProcessForm", Object, READERS, none()),
        ("getProcessDefinitionStatistics", Object, READERS, all()),
        ("searchDecisionDefinitions", All, READERS, all()),
        ("getDecisionDefinition", Object, READERS, none()),
        ("getDecisionDefinitionXML", Object, READERS, none()),
        (
            "evaluateDecision",
            Object,
            "admin operator developer",
            body("{'decisionDefinitionId': 'SIDE-price'}"),
        ),
        ("searchDecisionRequirements", All, READERS, all()),
        ("getDecisionRequirements", Object, READERS, none()),
        ("getDecisionRequirementsXML", Object, READERS, none()),
        ("getFormByKey", Object, READERS, none()),
        (
            "evaluateExpression",
            Object,
            "admin operator developer",
            body("{'expression': '=1', 'scopeKey': 'INSTANCE'}"),
        ),
        ("createProcessInstance", Object, STARTERS, body("{'processDefinitionId': 'SIDE-order'}")),
        ("searchProcessInstances", All, READERS, all()),
        ("getProcessInstance", Object, READERS, none()),
        ("cancelProcessInstance", Object, OPERATORS, none()),
        (
            "modifyProcessInstance",
            Object,
            OPERATORS,
            body("{'activateInstructions': [{'elementId': 'work'}]}"),
        ),
        (
            "migrateProcessInstance",
            Object,
            OPERATORS,
            body("{'targetProcessDefinitionKey': 'DEFINITION', 'mappingInstructions': []}"),
        ),
        ("suspendProcessInstance", Object, OPERATORS, none()),
        ("resumeProcessInstance", Object, OPERATORS, none()),
        ("deleteProcessInstance", Object, "admin", none()),
        ("searchProcessInstanceIncidents", Object, READERS, all()),
        ("resolveProcessInstanceIncidents", Object, OPERATORS, none()),
        ("getProcessInstanceStatistics", Object, READERS, none()),
        ("getProcessInstanceSequenceFlows", Object, READERS, none()),
        ("getProcessInstanceCallHierarchy", Object, READERS, none()),
        ("cancelProcessInstancesBatchOperation", Nothing, OPERATORS, body(MEANT)),
        ("resolveIncidentsBatchOperation", Nothing, OPERATORS, body(MEANT)),
        (
            "migrateProcessInstancesBatchOperation",
            Nothing,
            OPERATORS,
            body(
                "{'filter': {'processDefinitionId': 'SIDE-order'}, 'migrationPlan':
                    {'targetProcessDefinitionKey': 'DEFINITION', 'mappingInstructions': []}}",
            ),
        ),
        (
            "modifyProcessInstancesBatchOperation",
            Nothing,
            OPERATORS,
            body(
                "{'filter': {'processDefinitionId': 'SIDE-order'}, 'moveInstructions':
                    [{'sourceElementId': 'work', 'targetElementId': 'review'}]}",
            ),
        ),
        ("suspendProcessInstancesBatchOperation", Nothing, OPERATORS, body(MEANT)),
        ("resumeProcessInstancesBatchOperation", Nothing, OPERATORS, body(MEANT)),
        ("deleteProcessInstancesBatchOperation", Nothing, "admin", body(MEANT)),
        ("getBatchOperation", Object, READERS, none()),
        ("searchBatchOperations", All, READERS, all()),
        ("cancelBatchOperation", Object, OPERATORS, none()),
        ("suspendBatchOperation", Object, OPERATORS, none()),
        ("resumeBatchOperation", Object, OPERATORS, none()),
        ("searchBatchOperationItems", All, READERS, all()),
        ("searchElementInstances", All, READERS, all()),
        ("getElementInstance", Object, READERS, none()),
        ("createElementInstanceVariables", Object, OPERATORS, body("{'variables': {'a': 1}}")),
        ("searchElementInstanceIncidents", Object, READERS, all()),
        ("searchVariables", All, READERS, all()),
        ("getVariable", Object, READERS, none()),
        ("searchIncidents", All, READERS, all()),
        ("getIncident", Object, READERS, none()),
        ("resolveIncident", Object, OPERATORS, none()),
        (
            "activateJobs",
            Name,
            WORKERS,
            body(
                "{'type': 'SIDE-work', 'worker': 'w', 'timeout': 1000, 'maxJobsToActivate': 1, 'requestTimeout': -1}",
            ),
        ),
        ("searchJobs", All, READERS, all()),
        ("completeJob", Object, WORKERS, all()),
        ("failJob", Object, WORKERS, body("{'retries': 2}")),
        ("throwJobError", Object, WORKERS, body("{'errorCode': 'x'}")),
        (
            "updateJob",
            Object,
            "admin operator developer worker",
            body("{'changeset': {'retries': 2}}"),
        ),
        ("searchUserTasks", All, "admin operator developer viewer user", all()),
        ("getUserTask", Object, "admin operator developer viewer user", none()),
        ("updateUserTask", Object, OPERATORS, body("{'changeset': {'priority': 3}}")),
        ("updateUserTaskLegacy", Object, OPERATORS, body("{'changeset': {'priority': 3}}")),
        ("assignUserTask", Object, TASKS, body("{'assignee': 'ROLE'}")),
        ("unassignUserTask", Object, TASKS, none()),
        ("completeUserTask", Object, TASKS, all()),
        ("searchUserTaskVariables", Object, "admin operator developer viewer user", all()),
        ("searchUserTaskEffectiveVariables", Object, "admin operator developer viewer user", all()),
        ("getUserTaskForm", Object, "admin operator developer viewer user", none()),
        (
            "publishMessage",
            Name,
            "admin operator developer",
            body("{'name': 'SIDE-paid', 'timeToLive': 0}"),
        ),
        (
            "correlateMessage",
            Name,
            "admin operator developer",
            body("{'name': 'SIDE-paid', 'correlationKey': '1'}"),
        ),
        ("searchMessageSubscriptions", All, READERS, all()),
        ("broadcastSignal", Name, "admin operator developer", body("{'signalName': 'SIDE-go'}")),
    ]
}

/// Each call of gRPC.
fn calls() -> Vec<(&'static str, About, &'static str)> {
    vec![
        ("ActivateJobs", Name, WORKERS),
        ("BroadcastSignal", Name, "admin operator developer"),
        ("CancelProcessInstance", Object, OPERATORS),
        ("CompleteJob", Object, WORKERS),
        ("CreateProcessInstance", Object, STARTERS),
        ("CreateProcessInstanceWithResult", Object, STARTERS),
        ("DeleteResource", Object, "admin developer"),
        ("DeployProcess", Name, "admin developer"),
        ("DeployResource", Name, "admin developer"),
        ("EvaluateDecision", Object, "admin operator developer"),
        ("FailJob", Object, WORKERS),
        ("MigrateProcessInstance", Object, OPERATORS),
        ("ModifyProcessInstance", Object, OPERATORS),
        ("PublishMessage", Name, "admin operator developer"),
        ("ResolveIncident", Object, OPERATORS),
        ("SetVariables", Object, OPERATORS),
        ("StreamActivatedJobs", Name, WORKERS),
        ("ThrowError", Object, WORKERS),
        ("Topology", Nothing, EVERYBODY),
        ("UpdateJobRetries", Object, "admin operator developer worker"),
        ("UpdateJobTimeout", Object, "admin operator developer worker"),
    ]
}

fn process(side: &str) -> String {
    format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
  <message id="m" name="{side}-paid"><extensionElements><zeebe:subscription correlationKey="=1"/></extensionElements></message>
  <process id="{side}-order" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f0" sourceRef="s" targetRef="fork"/><parallelGateway id="fork"/>
    <sequenceFlow id="f1" sourceRef="fork" targetRef="work"/>
    <serviceTask id="work"><extensionElements><zeebe:taskDefinition type="{side}-work" retries="3"/></extensionElements></serviceTask>
    <sequenceFlow id="f2" sourceRef="fork" targetRef="broken"/>
    <serviceTask id="broken"><extensionElements><zeebe:taskDefinition type="{side}-broken" retries="3"/></extensionElements></serviceTask>
    <sequenceFlow id="f3" sourceRef="fork" targetRef="review"/>
    <userTask id="review"><extensionElements><zeebe:userTask/>
      <zeebe:assignmentDefinition candidateGroups="clerks"/></extensionElements></userTask>
    <sequenceFlow id="f4" sourceRef="fork" targetRef="wait"/>
    <intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
  </process></definitions>"#
    )
}

fn decision(side: &str) -> String {
    format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="{side}-graph" name="{side}" namespace="t">
  <decision id="{side}-price" name="{side} price"><literalExpression><text>1</text></literalExpression></decision></definitions>"#
    )
}

fn deploy(engine: &Engine, side: &str) {
    let file =
        |name: &str, body: String| File { name: format!("{side}-{name}"), body: body.into() };
    let files = [
        file("order.bpmn", process(side)),
        file("price.dmn", decision(side)),
        file("form.form", format!(r#"{{"id": "{side}-form", "components": []}}"#)),
        file("notes.txt", "notes".to_owned()),
    ];
    engine.deploy(&files).expect("the models can run");
}

/// What can be asked about, by the names that the paths of operations have for it.
type Keys = BTreeMap<&'static str, i64>;

fn key(named: Named) -> i64 {
    Key::of(named).expect("its numbers are small").number()
}

/// The same, and a batch that somebody has begun and that stands still.
async fn fresh_with_batch(engine: &Engine, side: &str, who: &str) -> Keys {
    let mut keys = fresh(engine, side).await;
    let instance = Key::read(keys["processInstanceKey"]).expect("it is a key");
    let Named::Instance(instance) = instance else { panic!("it is of an instance") };
    let who = if side == "own" { who } else { "somebody" };
    let batch = Batch { paused: true, ..Batch::new(BatchWork::Suspend) };
    let begun = engine.by(who).begin_batch(batch, vec![instance]).await.expect("it begins");
    keys.insert("batchOperationKey", key(Named::Instance(begun)));
    keys
}

/// Something of that side that nobody has asked about before.
async fn fresh(engine: &Engine, side: &str) -> Keys {
    // What somebody has deleted is there again.
    deploy(engine, side);
    let definitions = engine.definitions();
    let latest = |kind: DeployedKind, id: &str| {
        let found = definitions.latest_deployed(kind, &format!("{side}-{id}"));
        key(found.unwrap_or_else(|| panic!("{id} is deployed")).named())
    };
    let order = definitions.find(&format!("{side}-order")).expect("it is deployed");
    let variables = vec![(format!("{side}-variable").into(), 1.into())];
    let (instance, _) =
        engine.start(Target::Key(order.key)).variables(variables).begin().await.expect("it starts");
    let rows = |table| {
        let column = travertine_store::search::InstanceColumn::Id;
        let search = Search::of(table).with(Condition::of(column, Test::eq(instance.0)));
        async { engine.search(search).await.expect("it is answered").rows }
    };
    let job = |rows: Vec<Row>, element: &str| {
        let found = rows.into_iter().find_map(|it| match it {
            Row::Job(it) if &*it.element == element => Some(it.wait),
            _ => None,
        });
        Address { instance, wait: WaitId(found.expect("it waits for a worker")) }
    };
    let broken = job(rows(Table::Jobs).await, "broken");
    let failure = JobFailure { retries: Some(0), ..JobFailure::new("broken") };
    engine.fail(broken, failure).await.expect("it fails");
    let work = job(rows(Table::Jobs).await, "work");
    let first = |rows: Vec<Row>| rows.into_iter().next().expect("there is one");
    let Row::Task(task) = first(rows(Table::Tasks).await) else { panic!("it is a task") };
    let Row::Incident(incident) = first(rows(Table::Incidents).await) else { panic!("it is one") };
    let Row::Variable(variable) = first(rows(Table::Variables).await) else { panic!("it is one") };
    let Row::Element(element) = first(rows(Table::Elements).await) else { panic!("it is one") };
    let task = Address { instance, wait: WaitId(task.wait) };
    BTreeMap::from([
        ("processInstanceKey", key(Named::Instance(instance))),
        ("elementInstanceKey", key(Named::Visit(instance, element.visit))),
        ("variableKey", key(Named::Variable(instance, variable.number))),
        ("incidentKey", key(Named::Incident(instance, incident.number))),
        ("jobKey", key(Named::Wait(work))),
        ("userTaskKey", key(Named::Wait(task))),
        ("processDefinitionKey", key(Named::Definition(order.key))),
        ("decisionDefinitionKey", latest(DeployedKind::Decision, "price")),
        ("decisionRequirementsKey", latest(DeployedKind::Requirements, "graph")),
        ("formKey", latest(DeployedKind::Form, "form")),
        ("resourceKey", latest(DeployedKind::Resource, "notes.txt")),
    ])
}

/// What there is once nothing is asked any more.
fn missing(keys: &Keys) -> Keys {
    let far = InstanceId(1 << 30);
    keys.iter()
        .map(|(name, number)| {
            let named = match Key::read(*number).expect("it is a key") {
                Named::Instance(_) => Named::Instance(far),
                Named::Visit(_, it) => Named::Visit(far, it),
                Named::Variable(_, it) => Named::Variable(far, it),
                Named::Incident(_, it) => Named::Incident(far, it),
                Named::Wait(it) => Named::Wait(Address { instance: far, wait: it.wait }),
                Named::Definition(_) => Named::Definition(1 << 30),
                Named::Decision(_) => Named::Decision(1 << 30),
                Named::DecisionRequirements(_) => Named::DecisionRequirements(1 << 30),
                Named::Form(_) => Named::Form(1 << 30),
                _ => Named::Resource(1 << 30),
            };
            (*name, key(named))
        })
        .collect()
}

/// A server, with a key for each role: `ROLE` for its own alone, and `ROLE-reads`, who may also read everything.
struct World {
    engine: Engine,
    at: SocketAddr,
    keys: BTreeMap<String, String>,
    stop: oneshot::Sender<()>,
}

impl World {
    async fn new() -> Self {
        let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
        let mut access = Access::default();
        let mut keys = BTreeMap::new();
        for role in Role::ALL {
            let own = Grant::role(role).of("own-*").expect("it is a pattern");
            for (name, grants) in [
                (role.name().to_owned(), vec![own.clone()]),
                (format!("{role}-reads"), vec![own, Grant::permission(Permission::Read)]),
            ] {
                let (key, text) = ApiKey::draw(&name);
                access = access.key(&name, key, None).grant(&name, grants).member(&name, "clerks");
                keys.insert(name, text);
            }
        }
        let options = Options {
            listen: "127.0.0.1:0".to_owned(),
            grpc_listen: None,
            manage: None,
            access,
            ..Options::default()
        };
        let listening =
            Server::new(engine.clone(), options).bind().await.expect("addresses are free");
        let at = listening.addresses().rest[0];
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(listening.serve(async {
            let _ = stopped.await;
        }));
        for side in ["own", "foreign"] {
            deploy(&engine, side);
        }
        Self { engine, at, keys, stop }
    }

    /// Asks, and answers with the status and the text.
    async fn ask(
        &self,
        who: &str,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> (u16, String) {
        let (key, length) = (&self.keys[who], body.len());
        let request = format!(
            "{method} /v2{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.at).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it can be sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it is answered");
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.unwrap_or_else(|| panic!("{answer}")), answer)
    }

    async fn operation(
        &self,
        operation: &str,
        body: &str,
        who: &str,
        side: &str,
        keys: &Keys,
    ) -> (u16, String) {
        let route = ROUTES.iter().find(|it| it.operation == operation).expect("it is in the table");
        let mut path = route.path.to_owned();
        for (name, key) in keys {
            path = path.replace(&format!("{{{name}}}"), &key.to_string());
        }
        if operation == "createDeployment" {
            let kind = "multipart/form-data; boundary=xxx";
            let model = process(side);
            let body = format!(
                "--xxx\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"a.bpmn\"\r\n\r\n{model}\r\n--xxx--\r\n"
            );
            return self.ask(who, route.method, &path, kind, &body).await;
        }
        let body = body
            .replace("SIDE", side)
            .replace("ROLE", who)
            .replace("INSTANCE", &keys["processInstanceKey"].to_string())
            .replace("DEFINITION", &keys["processDefinitionKey"].to_string());
        self.ask(who, route.method, &path, "application/json", &body).await
    }

    async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.at)).expect("it is one");
        endpoint.connect().await.expect("it listens")
    }
}

#[tokio::test]
async fn every_operation_of_rest_is_done_for_who_may_and_for_nobody_else() {
    let world = World::new().await;
    let operations = operations();
    let mut named: Vec<&str> = operations.iter().map(|it| it.0).collect();
    let mut there: Vec<&str> = ROUTES.iter().map(|it| it.operation).collect();
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there, "each route has a line here");
    for (operation, about, allowed, body) in &operations {
        for role in Role::ALL.map(Role::name) {
            let may = allowed.split(' ').any(|it| it == role);
            let fresh = async |side| {
                if operation.contains("atchOperation") && *about != Nothing {
                    fresh_with_batch(&world.engine, side, role).await
                } else {
                    fresh(&world.engine, side).await
                }
            };
            let own = fresh("own").await;
            let (status, text) = world.operation(operation, body, role, "own", &own).await;
            // A message that nobody waits for is not found, either.
            let passes = ![401, 403].contains(&status)
                && (status != 404 || *operation == "correlateMessage");
            assert_eq!(passes, may, "{operation} {role} own: {text}");
            assert!(may || status == 403, "{operation} {role} own: {text}");
            assert!(status < 500, "{operation} {role} own: {text}");
            if status == 403 {
                assert!(text.contains("needs the permission"), "{operation} {role}: {text}");
            }

            let foreign = fresh("foreign").await;
            let (status, text) = world.operation(operation, body, role, "foreign", &foreign).await;
            let wanted = match about {
                Nothing => 0,
                _ if !may => 403,
                Object => 404,
                Name => 403,
                All => 200,
            };
            assert!(wanted == 0 || status == wanted, "{operation} {role} foreign {status}: {text}");
            if *about == All && may {
                assert!(!text.contains("foreign"), "{operation} {role} finds: {text}");
                assert!(text.contains("\"totalItems\""), "{operation}");
            }
            if *about == Object && may {
                // Nobody learns whether it is there.
                let (_, gone) =
                    world.operation(operation, body, role, "missing", &missing(&foreign)).await;
                let said = |text: &str, keys: &Keys, side: &str| {
                    let text = text.split("\r\n\r\n").nth(1).unwrap_or_default();
                    let mut keys: Vec<String> = keys.values().map(i64::to_string).collect();
                    // One may begin with another.
                    keys.sort_by_key(|it| Reverse(it.len()));
                    keys.iter().fold(text.replace(side, ""), |it, key| it.replace(key, ""))
                };
                let (here, there) =
                    (said(&text, &foreign, "foreign"), said(&gone, &missing(&foreign), "missing"));
                assert_eq!(here, there, "{operation} {role}");
            }

            // Who may read it learns what is needed to do more.
            let reads = format!("{role}-reads");
            let (status, text) =
                world.operation(operation, body, &reads, "foreign", &foreign).await;
            // Of its scope an expression only reads.
            let may_read =
                allowed.contains("viewer") || (*operation == "evaluateExpression" && may);
            if *about == Object && may_read {
                assert!(status < 300, "{operation} {reads} foreign: {text}");
            } else if *about != Nothing && *about != All {
                assert_eq!(status, 403, "{operation} {reads} foreign: {text}");
            }
        }
    }
    let _ = world.stop.send(());
}

#[tokio::test]
async fn totals_do_not_tell_of_what_is_foreign() {
    let world = World::new().await;
    for _ in 0..3 {
        fresh(&world.engine, "own").await;
        fresh(&world.engine, "foreign").await;
    }
    let total = async |who: &str, path: &str| {
        let (_, text) = world.ask(who, "POST", path, "application/json", "{}").await;
        let (_, rest) = text.split_once("\"totalItems\":").unwrap_or_else(|| panic!("{text}"));
        rest.split([',', '}']).next().and_then(|it| it.parse::<u32>().ok()).expect("it is a number")
    };
    let mut all = operations();
    all.retain(|it| it.1 == All);
    // A batch is an instance itself, so batches come after everything else is counted.
    all.sort_by_key(|it| it.0.contains("BatchOperation"));
    let mut has_batches = false;
    for operation in &all {
        if operation.0.contains("BatchOperation") && !std::mem::replace(&mut has_batches, true) {
            fresh_with_batch(&world.engine, "own", "viewer").await;
            fresh_with_batch(&world.engine, "foreign", "viewer").await;
        }
        let route = ROUTES.iter().find(|it| it.operation == operation.0).expect("it is there");
        let (own, all) =
            (total("viewer", route.path).await, total("viewer-reads", route.path).await);
        assert!(own > 0 && own * 2 == all, "{}: {own} of {all}", operation.0);
    }
    let _ = world.stop.send(());
}

#[tokio::test]
async fn a_user_does_what_is_offered_to_them_and_nothing_of_others() {
    let world = World::new().await;
    let keys = fresh(&world.engine, "own").await;
    let path = format!("/user-tasks/{}", keys["userTaskKey"]);
    let json = "application/json";
    let ask = async |who: &str, method: &str, path: &str, body: &str| {
        world.ask(who, method, path, json, body).await.0
    };
    // Nobody gives a task to somebody else, but an operator.
    let assign = format!("{path}/assignment");
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "bob"}"#).await, 403);
    assert_eq!(ask("operator", "POST", &assign, r#"{"assignee": "bob"}"#).await, 204);
    // It is offered to their group still, so they see it, and cannot take it away.
    assert_eq!(ask("user", "GET", &path, "").await, 200);
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "user"}"#).await, 403);
    assert_eq!(ask("user", "DELETE", &format!("{path}/assignee"), "").await, 403);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 403);
    assert_eq!(ask("operator", "DELETE", &format!("{path}/assignee"), "").await, 204);
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "user"}"#).await, 204);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 204);
    // What is offered to another group is not there.
    let found = world.engine.search(
        Search::of(Table::Elements).with(Condition::of(ElementColumn::Element, Test::eq("review"))),
    );
    assert!(found.await.expect("it is answered").rows.is_empty());
    let keys = fresh(&world.engine, "own").await;
    let path = format!("/user-tasks/{}", keys["userTaskKey"]);
    let body = r#"{"changeset": {"candidateGroups": ["others"]}}"#;
    assert_eq!(ask("operator", "PATCH", &path, body).await, 204);
    assert_eq!(ask("user", "GET", &path, "").await, 404);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 404);
    let _ = world.stop.send(());
}

/// How a call ends that is asked with this key.
#[expect(clippy::needless_update, reason = "some messages have no field more")]
async fn call(channel: &Channel, key: &str, rpc: Rpc, side: &str, keys: &Keys) -> tonic::Code {
    async fn unary(
        channel: &Channel,
        key: &str,
        rpc: Rpc,
        message: impl Message + Default + 'static,
    ) -> tonic::Code {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.expect("it is there");
        let mut request = tonic::Request::new(message);
        let bearer = format!("Bearer {key}").parse().expect("it is plain");
        request.metadata_mut().insert("authorization", bearer);
        let path = format!("/gateway_protocol.Gateway/{}", rpc.name());
        let path = path.parse().expect("it is a path");
        let codec = tonic_prost::ProstCodec::<_, ()>::default();
        match client.server_streaming(request, path, codec).await {
            Ok(answer) if rpc == Rpc::StreamActivatedJobs => {
                drop(answer);
                tonic::Code::Ok
            }
            Ok(mut answer) => {
                answer.get_mut().message().await.map_or_else(|it| it.code(), |_| tonic::Code::Ok)
            }
            Err(status) => status.code(),
        }
    }
    let of = |name: &str| keys[name];
    let name = |it: &str| format!("{side}-{it}");
    let json = || "{}".to_owned();
    macro_rules! ask {
        ($message:ident { $($field:ident: $value:expr),* $(,)? }) => {
            unary(channel, key, rpc, $message { $($field: $value,)* ..Default::default() }).await
        };
    }
    let create = || CreateProcessInstanceRequest {
        bpmn_process_id: name("order"),
        version: -1,
        ..Default::default()
    };
    match rpc {
        Rpc::ActivateJobs => ask!(ActivateJobsRequest {
            r#type: name("work"),
            worker: "w".to_owned(),
            timeout: 1_000,
            max_jobs_to_activate: 1,
            request_timeout: -1,
        }),
        Rpc::BroadcastSignal => {
            ask!(BroadcastSignalRequest { signal_name: name("go"), variables: json() })
        }
        Rpc::CancelProcessInstance => {
            ask!(CancelProcessInstanceRequest { process_instance_key: of("processInstanceKey") })
        }
        Rpc::CompleteJob => ask!(CompleteJobRequest { job_key: of("jobKey"), variables: json() }),
        Rpc::CreateProcessInstance => unary(channel, key, rpc, create()).await,
        Rpc::CreateProcessInstanceWithResult => ask!(CreateProcessInstanceWithResultRequest {
            request: Some(create()),
            request_timeout: 1,
        }),
        Rpc::DeleteResource => ask!(DeleteResourceRequest { resource_key: of("resourceKey") }),
        Rpc::DeployProcess => ask!(DeployProcessRequest {
            processes: vec![ProcessRequestObject {
                name: "a.bpmn".to_owned(),
                definition: process(side).into()
            }],
        }),
        Rpc::DeployResource => ask!(DeployResourceRequest {
            resources: vec![Resource { name: "a.bpmn".to_owned(), content: process(side).into() }],
        }),
        Rpc::EvaluateDecision => {
            ask!(EvaluateDecisionRequest { decision_id: name("price"), variables: json() })
        }
        Rpc::FailJob => {
            ask!(FailJobRequest { job_key: of("jobKey"), retries: 2, variables: json() })
        }
        Rpc::MigrateProcessInstance => ask!(MigrateProcessInstanceRequest {
            process_instance_key: of("processInstanceKey"),
            migration_plan: Some(migrate_process_instance_request::MigrationPlan {
                target_process_definition_key: of("processDefinitionKey"),
                mapping_instructions: Vec::new(),
            }),
        }),
        Rpc::ModifyProcessInstance => ask!(ModifyProcessInstanceRequest {
            process_instance_key: of("processInstanceKey"),
            activate_instructions: vec![modify_process_instance_request::ActivateInstruction {
                element_id: "work".to_owned(),
                ..Default::default()
            }],
        }),
        Rpc::PublishMessage => {
            ask!(PublishMessageRequest { name: name("paid"), variables: json() })
        }
        Rpc::ResolveIncident => ask!(ResolveIncidentRequest { incident_key: of("incidentKey") }),
        Rpc::SetVariables => ask!(SetVariablesRequest {
            element_instance_key: of("elementInstanceKey"),
            variables: json(),
        }),
        Rpc::StreamActivatedJobs => ask!(StreamActivatedJobsRequest {
            r#type: name("work"),
            worker: "w".to_owned(),
            timeout: 1_000,
        }),
        Rpc::ThrowError => ask!(ThrowErrorRequest {
            job_key: of("jobKey"),
            error_code: "x".to_owned(),
            variables: json()
        }),
        Rpc::Topology => ask!(TopologyRequest {}),
        Rpc::UpdateJobRetries => {
            ask!(UpdateJobRetriesRequest { job_key: of("jobKey"), retries: 2 })
        }
        Rpc::UpdateJobTimeout => {
            ask!(UpdateJobTimeoutRequest { job_key: of("jobKey"), timeout: 1_000 })
        }
    }
}

#[tokio::test]
async fn every_call_of_grpc_is_done_for_who_may_and_for_nobody_else() {
    use tonic::Code::{NotFound, PermissionDenied, Unauthenticated};
    let world = World::new().await;
    let channel = world.channel().await;
    let calls = calls();
    assert_eq!(calls.len(), Rpc::ALL.len(), "each call has a line here");
    for rpc in Rpc::ALL {
        let (_, about, allowed) =
            calls.iter().find(|it| it.0 == rpc.name()).expect("each call has a line here");
        for role in Role::ALL.map(Role::name) {
            let may = allowed.split(' ').any(|it| it == role);
            let own = fresh(&world.engine, "own").await;
            let key = &world.keys[role];
            let code = call(&channel, key, *rpc, "own", &own).await;
            let passes = ![Unauthenticated, PermissionDenied, NotFound].contains(&code);
            assert_eq!(passes, may, "{rpc:?} {role} own: {code:?}");
            let foreign = fresh(&world.engine, "foreign").await;
            let code = call(&channel, key, *rpc, "foreign", &foreign).await;
            let wanted = match about {
                Nothing | All => continue,
                Object if may => NotFound,
                Object | Name => PermissionDenied,
            };
            assert_eq!(code, wanted, "{rpc:?} {role} foreign");
            let reads = &world.keys[&format!("{role}-reads")];
            let code = call(&channel, reads, *rpc, "foreign", &foreign).await;
            assert_eq!(code, PermissionDenied, "{rpc:?} {role}-reads foreign");
        }
    }
    let _ = world.stop.send(());
}
