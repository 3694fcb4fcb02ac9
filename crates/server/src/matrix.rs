//! Who may do what: operations of all protocols, asked by every role, about what it was granted and about what it was
//! not, over sockets. What must come of it stands in the tables of the protocols' tests, and not in the tables that
//! those are about.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use serde_json::Value as Json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};
use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::WaitId;
use travertine_runtime::{
    Address, Batch, BatchWork, DeployedKind, Engine, InstanceId, JobFailure, Key, Message, Named,
    engine::{self, File, ManualClock, Target},
};
use travertine_store::{
    DefinitionKey,
    search::{Condition, InstanceColumn, MessageColumn, Search, Test},
    view::{Row as Found, Table},
};

use crate::{Access, ApiKey, Grant, Options, Permission, Role, Server};

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Nothing that belongs to anybody.
    Nothing,
    /// Everything that there is: what was granted for some of it is not enough.
    Everything,
    /// Something that is there or not: who may not see it must not learn which.
    Object,
    /// Something that is there or not, and is only for those who have begun it.
    Private,
    /// A name, which says nothing about what is there.
    Name,
    /// What there is, of which everybody finds their share.
    All,
}

/// Whether something foreign is for those as well who may read everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// It is, where that is all it needs.
    All,
    /// It is for those of them who may do this.
    WhoMay,
    No,
}

pub(crate) const EVERYBODY: &str = "admin operator developer worker user viewer";
pub(crate) const READERS: &str = "admin operator developer viewer";
pub(crate) const OPERATORS: &str = "admin operator developer";
pub(crate) const WORKERS: &str = "admin developer worker";
pub(crate) const DEPLOYERS: &str = "admin developer";
pub(crate) const TASKS: &str = "admin operator developer user";
pub(crate) const TASK_READERS: &str = "admin operator developer viewer user";

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) operation: &'static str,
    pub(crate) about: About,
    /// The roles that may do it with what they were granted.
    allowed: &'static str,
    /// Those that are let in, and find nothing.
    blind: &'static str,
    readers: Readers,
    /// Whether nothing is found also where it is allowed.
    finds_nobody: bool,
    /// What is sent, in which SIDE, ROLE, INSTANCE and DEFINITION stand for what is asked about, and `'` for `"`.
    body: &'static str,
}

impl Row {
    pub(crate) fn new(
        operation: &'static str,
        about: About,
        allowed: &'static str,
        body: &'static str,
    ) -> Self {
        let is_read = about == About::Object && allowed.contains("viewer");
        let readers = if is_read { Readers::All } else { Readers::No };
        Self { operation, about, allowed, blind: "", readers, finds_nobody: false, body }
    }

    /// What it needs besides is that one may read it.
    pub(crate) fn and_reads(self) -> Self {
        Self { readers: Readers::WhoMay, ..self }
    }

    /// Who may read everything sees it, whatever these see.
    pub(crate) fn blind(self, roles: &'static str) -> Self {
        Self { blind: roles, readers: Readers::All, ..self }
    }

    pub(crate) fn finds_nobody(self) -> Self {
        Self { finds_nobody: true, ..self }
    }

    fn may(&self, role: &str) -> bool {
        self.allowed.split(' ').any(|it| it == role)
    }

    fn is_blind(&self, role: &str) -> bool {
        self.blind.split(' ').any(|it| it == role)
    }

    /// Whether that status says that it was let through.
    fn passes(&self, status: u16) -> bool {
        ![401, 403].contains(&status) && (status != 404 || self.finds_nobody)
    }

    /// What is sent about something.
    pub(crate) fn body(&self, who: &str, side: &str, keys: &Keys) -> String {
        let number =
            |name: &str| keys.get(name).map(|it| number(*it).to_string()).unwrap_or_default();
        self.body
            .replace('\'', "\"")
            .replace("SIDE", side)
            .replace("ROLE", who)
            .replace("INSTANCE", &number("processInstanceKey"))
            .replace("DEFINITION", &number("processDefinitionKey"))
    }
}

/// What can be asked about, by the names that paths have for it.
pub(crate) type Keys = BTreeMap<&'static str, Named>;

/// The number that something has.
pub(crate) fn number(named: Named) -> i64 {
    Key::of(named).expect("its numbers are small").number()
}

/// What there is once nothing is asked any more.
fn missing(keys: &Keys) -> Keys {
    const FAR: u64 = 1 << 30;
    let far = InstanceId(FAR);
    let gone = |it: &Named| match *it {
        Named::Instance(_) => Named::Instance(far),
        Named::Visit(_, it) => Named::Visit(far, it),
        Named::Variable(_, it) => Named::Variable(far, it),
        Named::Incident(_, it) => Named::Incident(far, it),
        Named::Wait(it) => Named::Wait(Address { instance: far, wait: it.wait }),
        Named::Definition(_) => Named::Definition(DefinitionKey(FAR)),
        Named::Decision(_) => Named::Decision(DefinitionKey(FAR)),
        Named::DecisionRequirements(_) => Named::DecisionRequirements(DefinitionKey(FAR)),
        Named::Form(_) => Named::Form(DefinitionKey(FAR)),
        Named::Message(_) => Named::Message(FAR),
        Named::Deployment(_) => Named::Deployment(FAR),
        _ => Named::Resource(DefinitionKey(FAR)),
    };
    keys.iter().map(|(name, it)| (*name, gone(it))).collect()
}

/// Why something is refused, without what it is called.
fn said(answer: &str, keys: &Keys, side: &str) -> String {
    let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
    let problem: Json = serde_json::from_str(body).unwrap_or_default();
    let names: Vec<String> = keys
        .values()
        .flat_map(|it| {
            let inside = if let Named::Wait(at) = it { Some(at.to_string()) } else { None };
            let instance = it.instance().map(|it| it.0.to_string());
            let plain = if let Named::Message(it) | Named::Deployment(it) = it {
                Some(it.to_string())
            } else {
                None
            };
            [Some(number(*it).to_string()), inside, instance, plain].into_iter().flatten()
        })
        .collect();
    let detail = problem["detail"].as_str().unwrap_or_default().replace(side, "");
    let is_part = |it: char| it.is_alphanumeric() || it == '-';
    let words = detail.split(|it: char| !is_part(it));
    let words = words.map(|it| if names.iter().any(|name| name == it) { "#" } else { it });
    format!("{} {}", problem["code"], words.collect::<Vec<_>>().join(" "))
}

/// The process of a side.
pub(crate) fn process(side: &str) -> String {
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
    <userTask id="review"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="{side}-form"/>
      <zeebe:assignmentDefinition candidateGroups="clerks"/></extensionElements></userTask>
    <sequenceFlow id="f4" sourceRef="fork" targetRef="wait"/>
    <intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
    <sequenceFlow id="f5" sourceRef="fork" targetRef="later"/>
    <intermediateCatchEvent id="later"><timerEventDefinition><timeDuration>P9D</timeDuration></timerEventDefinition></intermediateCatchEvent>
  </process></definitions>"#
    )
}

/// The decision of a side.
pub(crate) fn decision(side: &str) -> String {
    format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="{side}-graph" name="{side}" namespace="t">
  <decision id="{side}-price" name="{side} price"><literalExpression><text>1</text></literalExpression></decision></definitions>"#
    )
}

/// A function that is asked and told something until it is cancelled.
const fn rests(name: &'static str) -> WorkflowDefinition {
    WorkflowDefinition {
        name,
        version: 1,
        parameters: &[],
        run: |cx, _| {
            Box::pin(async move {
                cx.on_query("seen", |(): ()| 1);
                cx.on_update("told", |(): &()| Ok(()), |(): ()| Ok(1));
                cx.until(|| false).await?;
                Ok(1.into())
            })
        },
    }
}

/// A function that has ended as soon as it begins.
const fn ends(name: &'static str) -> WorkflowDefinition {
    WorkflowDefinition {
        name,
        version: 1,
        parameters: &[],
        run: |_, _| Box::pin(async move { Ok(1.into()) }),
    }
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

/// A server, with keys for each role: `ROLE` for its own alone, `ROLE-reads`, who may also read everything, and
/// `ROLE-all`, for everything; `sender`, who only sends messages, and `mixed-up`, whose pattern of types of jobs is the id
/// of a definition.
pub(crate) struct World {
    pub(crate) engine: Engine,
    at: SocketAddr,
    clock: Arc<ManualClock>,
    pub(crate) keys: BTreeMap<String, String>,
    stop: oneshot::Sender<()>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let functions = Functions::new().workflow(rests("own-fun")).workflow(rests("foreign-fun"));
        let functions = functions.workflow(ends("own-done")).workflow(ends("foreign-done"));
        let options = engine::Options {
            clock: Arc::clone(&clock) as Arc<_>,
            functions,
            ..engine::Options::default()
        };
        let engine = Engine::in_memory(options).expect("an engine opens");
        let mut access = Access::default();
        let mut keys = BTreeMap::new();
        let of = |grant: Grant, pattern: &str| grant.of(pattern).expect("it is a pattern");
        let mut all = vec![
            ("sender".to_owned(), vec![Grant::permission(Permission::Message)]),
            ("mixed-up".to_owned(), vec![of(Grant::permission(Permission::Work), "own-order")]),
        ];
        for role in Role::ALL {
            let own = of(Grant::role(role), "own-*");
            all.push((role.name().to_owned(), vec![own.clone()]));
            all.push((format!("{role}-reads"), vec![own, Grant::permission(Permission::Read)]));
            all.push((format!("{role}-all"), vec![Grant::role(role)]));
        }
        for (name, grants) in all {
            let (key, text) = ApiKey::draw(&name);
            access = access.key(&name, key, None).grant(&name, grants).member(&name, "clerks");
            keys.insert(name, text);
        }
        let options = Options {
            listen: "127.0.0.1:0".to_owned(),
            grpc_listen: None,
            manage: None,
            access,
            connect_allow: vec!["127.0.0.1/32".parse().expect("it is a network")],
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
        Self { engine, at, clock, keys, stop }
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.at
    }

    pub(crate) fn end(self) {
        let _ = self.stop.send(());
    }

    /// Asks, and answers with the status and the text; of what goes on for ever, with its head.
    pub(crate) async fn ask(
        &self,
        who: &str,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> (u16, String) {
        let (key, length) = (&self.keys[who], body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.at).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it can be sent");
        let mut answer = Vec::new();
        while stream.read_buf(&mut answer).await.expect("it is answered") > 0 {
            let text = String::from_utf8_lossy(&answer);
            if text.contains("\r\ncontent-type: text/event-stream\r\n") {
                break;
            }
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.unwrap_or_else(|| panic!("{answer}")), answer)
    }

    /// Something of that side that nobody has asked about before.
    pub(crate) async fn fresh(&self, side: &str) -> Keys {
        let engine = &self.engine;
        // What somebody has deleted is there again.
        deploy(engine, side);
        let definitions = engine.definitions();
        let latest = |kind: DeployedKind, id: &str| {
            let found = definitions.latest_deployed(kind, &format!("{side}-{id}"));
            found.unwrap_or_else(|| panic!("{id} is deployed")).named()
        };
        let order = definitions.find(&format!("{side}-order")).expect("it is deployed");
        let variables = vec![(format!("{side}-variable").into(), 1.into())];
        let starting = engine.start(Target::Key(order.key)).variables(variables);
        let (instance, _) = starting.begin().await.expect("it starts");
        let rows = |table| {
            let of = Condition::of(InstanceColumn::Id, Test::eq(instance.0));
            let search = engine.search(Search::of(table).with(of));
            async { search.await.expect("it is answered").rows }
        };
        let job = |rows: Vec<Found>, element: &str| {
            let found = rows.into_iter().find_map(|it| match it {
                Found::Job(it) if &*it.element == element => Some(it.wait),
                _ => None,
            });
            Address { instance, wait: WaitId(found.expect("it waits for a worker")) }
        };
        let broken = job(rows(Table::Jobs).await, "broken");
        let failure = JobFailure { retries: Some(0), ..JobFailure::new("broken") };
        engine.fail(broken, failure).await.expect("it fails");
        let work = job(rows(Table::Jobs).await, "work");
        let first = |rows: Vec<Found>| rows.into_iter().next().expect("there is one");
        let Found::Task(task) = first(rows(Table::Tasks).await) else { panic!("it is a task") };
        let Found::Incident(incident) = first(rows(Table::Incidents).await) else {
            panic!("it is one")
        };
        let Found::Variable(variable) = first(rows(Table::Variables).await) else {
            panic!("it is one")
        };
        let Found::Element(element) = first(rows(Table::Elements).await) else {
            panic!("it is one")
        };
        let Found::Timer(timer) = first(rows(Table::Timers).await) else { panic!("it is one") };
        let wait = |wait| Named::Wait(Address { instance, wait: WaitId(wait) });
        BTreeMap::from([
            ("processInstanceKey", Named::Instance(instance)),
            ("elementInstanceKey", Named::Visit(instance, element.visit)),
            ("variableKey", Named::Variable(instance, variable.number)),
            ("incidentKey", Named::Incident(instance, incident.number)),
            ("jobKey", Named::Wait(work)),
            ("userTaskKey", wait(task.wait)),
            ("timerKey", wait(timer.wait)),
            ("processDefinitionKey", Named::Definition(order.key)),
            ("decisionDefinitionKey", latest(DeployedKind::Decision, "price")),
            ("decisionRequirementsKey", latest(DeployedKind::Requirements, "graph")),
            ("formKey", latest(DeployedKind::Form, "form")),
            ("resourceKey", latest(DeployedKind::Resource, "notes.txt")),
        ])
    }

    /// A batch that somebody has begun and that stands still; what is foreign, nobody of ours has.
    pub(crate) async fn add_batch(&self, keys: &mut Keys, side: &str, who: &str) {
        let Named::Instance(instance) = keys["processInstanceKey"] else {
            panic!("it is of an instance")
        };
        let who = if side == "own" { who } else { "somebody" };
        let filter = format!("{side}-batch");
        let batch = Batch { paused: true, filter, ..Batch::new(BatchWork::Suspend) };
        let begun = self.engine.by(who).begin_batch(batch, vec![instance]).await;
        keys.insert("batchOperationKey", Named::Instance(begun.expect("it begins")));
    }

    /// A run of a function: of one that rests, or of one that has ended.
    pub(crate) async fn add_run(&self, keys: &mut Keys, side: &str, rests: bool) {
        let name = format!("{side}-{}", if rests { "fun" } else { "done" });
        let (run, _) =
            self.engine.start(Workflow::<i64>::new(name, 1)).begin().await.expect("it starts");
        if !rests {
            self.engine.result(run).await.expect("it ends");
        }
        keys.insert("runKey", Named::Instance(run));
    }

    /// A schedule, which has a name of its own.
    pub(crate) async fn add_schedule(&self, side: &str) {
        let name = format!("{side}-nightly");
        let schedule = self.engine.schedule(&name).every(Duration::from_hours(1));
        schedule.process(&format!("{side}-order"), Vec::new()).await.expect("it is made");
    }

    /// A message that is held, and one that nobody has taken before it expired.
    pub(crate) async fn add_letter(&self, keys: &mut Keys, side: &str) {
        let engine = &self.engine;
        let held = Message {
            ttl: Some(Duration::from_millis(1 << 40)),
            ..Message::new(&format!("{side}-held"))
        };
        engine.publish(held).await.expect("it is held");
        let lost = Message {
            ttl: Some(Duration::from_millis(1)),
            ..Message::new(&format!("{side}-lost"))
        };
        let number = engine.publish_with(lost, engine::PublishOptions::default()).await;
        let number = number.expect("it is held").number.expect("it is new");
        self.clock.set(engine.now().after(Duration::from_millis(2)));
        engine.wake();
        let dead = Search::of(Table::Messages)
            .with(Condition::of(MessageColumn::Id, Test::eq(number)))
            .with(Condition::of(MessageColumn::Dead, Test::Exists(true)));
        while engine.search(dead.clone()).await.expect("it is answered").rows.is_empty() {
            tokio::task::yield_now().await;
        }
        keys.insert("letterKey", Named::Message(number));
    }
}

/// Has every role do everything, with what is its own, with what is foreign, and with what is not there.
pub(crate) async fn check(
    rows: &[Row],
    fresh: impl AsyncFn(&Row, &'static str, &str) -> Keys,
    ask: impl AsyncFn(&Row, &str, &str, &Keys) -> (u16, String),
) {
    for row in rows {
        for role in Role::ALL.map(Role::name) {
            each(row, role, &fresh, &ask).await;
        }
    }
}

async fn each(
    row: &Row,
    role: &'static str,
    fresh: &impl AsyncFn(&Row, &'static str, &str) -> Keys,
    ask: &impl AsyncFn(&Row, &str, &str, &Keys) -> (u16, String),
) {
    let (operation, may, is_blind) = (row.operation, row.may(role), row.is_blind(role));
    let own = fresh(row, "own", role).await;
    let (status, text) = ask(row, role, "own", &own).await;
    assert!(status < 500, "{operation} {role} own: {text}");
    if row.about == About::Everything {
        assert_eq!(status, 403, "{operation} {role} own: {text}");
        let all = format!("{role}-all");
        let (status, text) = ask(row, &all, "own", &own).await;
        assert_eq!(row.passes(status), may, "{operation} {all}: {text}");
        assert!(status < 500 && (may || status == 403), "{operation} {all}: {text}");
        return;
    }
    let refused = if is_blind && row.about == About::Object { 404 } else { 403 };
    assert_eq!(
        row.passes(status),
        may || (is_blind && row.about == About::All),
        "{operation} {role} own: {text}"
    );
    assert!(row.passes(status) || status == refused, "{operation} {role} own: {text}");
    if status == 403 {
        assert!(text.contains("needs the permission"), "{operation} {role}: {text}");
    }

    let foreign = fresh(row, "foreign", role).await;
    let (status, text) = ask(row, role, "foreign", &foreign).await;
    let is_let_in = may || is_blind;
    let wanted = match row.about {
        About::Nothing | About::Everything => None,
        _ if !is_let_in => Some(403),
        About::Object | About::Private => Some(404),
        About::Name => Some(403),
        About::All => Some(200),
    };
    assert!(wanted.is_none_or(|it| it == status), "{operation} {role} foreign {status}: {text}");
    if row.about == About::All && is_let_in {
        assert!(!text.contains("foreign"), "{operation} {role} finds: {text}");
    }
    if matches!(row.about, About::Object | About::Private) && is_let_in {
        // Nobody learns whether it is there.
        let gone = missing(&foreign);
        let (_, other) = ask(row, role, "missing", &gone).await;
        let (here, there) = (said(&text, &foreign, "foreign"), said(&other, &gone, "missing"));
        assert_eq!(here, there, "{operation} {role}");
    }

    // Who may read it learns what is needed to do more.
    let reads = format!("{role}-reads");
    let (status, text) = ask(row, &reads, "foreign", &foreign).await;
    let may_read = match row.readers {
        Readers::All => true,
        Readers::WhoMay => may,
        Readers::No => false,
    };
    let told = || format!("{operation} {reads} foreign: {text}");
    match row.about {
        About::Nothing | About::Everything | About::All => {}
        About::Private => assert_eq!(status, if may { 404 } else { 403 }, "{}", told()),
        About::Object if may_read => assert!(status < 300, "{}", told()),
        About::Object | About::Name => assert_eq!(status, 403, "{}", told()),
    }
}

/// A form with one file in it, and the type of that body.
pub(crate) fn file(field: &str, name: &str, body: &str) -> (&'static str, String) {
    let body = format!(
        "--xxx\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\r\n{body}\r\n--xxx--\r\n"
    );
    ("multipart/form-data; boundary=xxx", body)
}

/// A form with one field.
pub(crate) fn field(name: &str, text: &str) -> (&'static str, String) {
    let body = format!(
        "--xxx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n--xxx--\r\n"
    );
    ("multipart/form-data; boundary=xxx", body)
}
