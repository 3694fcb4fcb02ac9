//! Everything has a number of its own, which stays what it is.

use std::collections::BTreeSet;

use travertine_kernel::{ElementKind, Modification, Rejection, WaitId, Which};
use travertine_runtime::{Address, InstanceId, JobFailure, Key, Named, Settings, engine::Options};
use travertine_store::view::{ElementRow, IncidentRow, JobRow, Row, Table, VariableRow};
use travertine_value::Value;

use crate::world::World;

/// A sub-process with a boundary timer, a job for each of three items, and a task with an input of its own.
const PROCESS: &str = r#"<process id="p" name="A process" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="fork"/><parallelGateway id="fork"/>
    <sequenceFlow id="f2" sourceRef="fork" targetRef="sub"/>
    <sequenceFlow id="f3" sourceRef="fork" targetRef="each"/>
    <subProcess id="sub"><startEvent id="ss"/><sequenceFlow id="g1" sourceRef="ss" targetRef="in"/>
      <userTask id="in" name="Look inside"><extensionElements><tv:input target="own">1</tv:input></extensionElements></userTask>
    </subProcess>
    <boundaryEvent id="late" attachedToRef="sub"><timerEventDefinition>
      <timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
    <serviceTask id="each" tv:jobType="work">
      <multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics>
    </serviceTask></process>"#;

fn world() -> (World, InstanceId) {
    let settings = Settings { snapshot_bytes: 1, ..Settings::default() };
    let world = World::with(Options { shards: 1, settings, ..Options::default() });
    world.deploy(PROCESS);
    let start = world.engine().start("p").variable("a", 1).variable("b", 2).tag("urgent");
    let id = start.wait().expect("it starts");
    (world, id)
}

fn elements(world: &World) -> Vec<ElementRow> {
    let rows = world.rows(Table::Elements, Vec::new()).into_iter();
    rows.filter_map(|it| if let Row::Element(it) = it { Some(it) } else { None }).collect()
}

fn element(world: &World, id: &str) -> ElementRow {
    let found = elements(world).into_iter().find(|it| &*it.element == id);
    found.unwrap_or_else(|| panic!("{id} is there"))
}

fn variables(world: &World) -> Vec<VariableRow> {
    let rows = world.rows(Table::Variables, Vec::new()).into_iter();
    rows.filter_map(|it| if let Row::Variable(it) = it { Some(it) } else { None }).collect()
}

fn incidents(world: &World) -> Vec<IncidentRow> {
    let rows = world.rows(Table::Incidents, Vec::new()).into_iter();
    rows.filter_map(|it| if let Row::Incident(it) = it { Some(it) } else { None }).collect()
}

/// The keys of all that there is, each with what it is of.
fn keys(world: &World) -> BTreeSet<(i64, String)> {
    let mut keys = BTreeSet::new();
    let mut note = |of: Named, what: String| {
        let key = Key::of(of).expect("it fits").number();
        assert!(keys.insert((key, what.clone())), "{what}");
    };
    for it in elements(world) {
        note(Named::Visit(InstanceId(it.instance), it.visit), format!("element {}", it.element));
    }
    for it in variables(world) {
        let what = format!("variable {} of {}", it.name, it.visit);
        note(Named::Variable(InstanceId(it.instance), it.number), what);
    }
    for it in incidents(world) {
        note(Named::Incident(InstanceId(it.instance), it.number), format!("incident {}", it.visit));
    }
    for it in world.jobs() {
        let job = Address { instance: InstanceId(it.instance), wait: WaitId(it.wait) };
        note(Named::Wait(job), format!("job of {}", it.visit));
    }
    keys
}

fn fail(world: &World, job: &JobRow, retries: u32) {
    let at = Address { instance: InstanceId(job.instance), wait: WaitId(job.wait) };
    let failure = JobFailure { retries: Some(retries), ..JobFailure::new("no lamps") };
    world.engine().fail(at, failure).wait().expect("it fails");
}

#[test]
fn keys_stay_what_they_are_over_a_restart_and_without_the_views() {
    let (mut world, _) = world();
    fail(&world, &world.jobs()[1], 0);
    let before = keys(&world);
    let numbers: BTreeSet<i64> = before.iter().map(|(key, _)| *key).collect();
    assert_eq!(numbers.len(), before.len(), "no two things have the same key");
    world.restart();
    assert_eq!(keys(&world), before);
    world.restart_after(|data| {
        for file in ["views.db", "views.db-wal", "views.db-shm"] {
            if data.join(file).exists() {
                std::fs::remove_file(data.join(file)).expect("it can go");
            }
        }
    });
    assert_eq!(keys(&world), before);
    world.check();
}

#[test]
fn rows_tell_which_stay_at_which_kind_of_element_they_belong_to() {
    let (world, id) = world();
    let sub = element(&world, "sub");
    assert_eq!((sub.kind, sub.scope_visit), (ElementKind::SubProcess, 0));
    let inside = element(&world, "in");
    assert_eq!((inside.kind, inside.scope_visit), (ElementKind::UserTask, sub.visit));
    let each: Vec<ElementRow> =
        elements(&world).into_iter().filter(|it| &*it.element == "each").collect();
    assert_eq!(each[0].kind, ElementKind::MultiInstanceBody);
    assert!(each[1..].iter().all(|it| it.kind == ElementKind::ServiceTask));
    assert!(each[1..].iter().all(|it| it.scope_visit == each[0].visit));
    for (job, run) in world.jobs().iter().zip(&each[1..]) {
        assert_eq!(job.visit, run.visit);
    }
    for it in variables(&world) {
        let owner = if &*it.name == "own" { inside.visit } else { 0 };
        let of_run = each[1..].iter().any(|run| run.visit == it.visit);
        assert!(it.visit == owner || of_run, "{it:?}");
    }
    let timers = world.rows(Table::Timers, Vec::new());
    let Some(Row::Timer(timer)) = timers.first() else { panic!("{timers:?}") };
    assert_eq!(timer.visit, sub.visit, "a boundary event belongs to its activity");
    let task = world.rows(Table::Tasks, Vec::new());
    let Some(Row::Task(task)) = task.first() else { panic!("{task:?}") };
    assert_eq!(task.visit, inside.visit);
    let address = Address { instance: id, wait: WaitId(task.wait) };
    assert_eq!(world.engine().visit_of(address).wait(), Ok(Some(inside.visit)));
    let Some(Row::Instance(row)) = world.rows(Table::Instances, Vec::new()).pop() else { panic!() };
    assert_eq!(row.definition_name.as_deref(), Some("A process"));
    assert_eq!(row.tags.as_deref(), Some(r#"["urgent"]"#));
}

#[test]
fn the_next_incident_of_a_token_is_another_one() {
    let (world, id) = world();
    let job = world.jobs()[0].clone();
    fail(&world, &job, 0);
    let first = incidents(&world)[0].clone();
    assert_eq!((first.wait, first.visit), (Some(job.wait), job.visit));
    world.engine().resolve(id, first.number, false).wait().expect("it is resolved");
    let again = world.engine().resolve(id, first.number, false).wait();
    assert_eq!(again, Err(Rejection::NoSuchIncident(first.number).into()));
    fail(&world, &job, 0);
    let second = incidents(&world)[0].clone();
    assert_eq!((second.token, second.visit), (first.token, first.visit));
    assert_ne!(second.number, first.number);
}

#[test]
fn a_strict_caller_sets_retries_before_an_incident_is_resolved() {
    let (world, id) = world();
    let job = world.jobs()[0].clone();
    fail(&world, &job, 0);
    let incident = incidents(&world)[0].number;
    let refused = world.engine().resolve(id, incident, true).wait();
    assert_eq!(refused, Err(Rejection::Exhausted(WaitId(job.wait)).into()));
    assert_eq!(incidents(&world).len(), 1, "nothing has changed");
    let at = Address { instance: id, wait: WaitId(job.wait) };
    world.engine().set_retries(at, 2).wait().expect("it may be tried again");
    world.engine().resolve(id, incident, true).wait().expect("it is resolved");
    assert_eq!(incidents(&world), []);
    assert_eq!(world.jobs()[0].retries, 2);
}

#[test]
fn a_token_is_withdrawn_by_its_visit_as_long_as_it_is_on_it() {
    let (world, id) = world();
    let inside = element(&world, "in").visit;
    let sub = element(&world, "sub").visit;
    let definitions = world.engine().definitions();
    let plan = definitions.find("p").expect("it is deployed");
    let to = || {
        let at = plan.plan.find("in").expect("the model has it");
        travertine_kernel::Destination::before(at)
    };
    let add = vec![Modification::AddWithin { to: to(), visit: sub }];
    world.engine().modify(id, add).wait().expect("it is put there");
    let withdraw = || vec![Modification::Withdraw(Which::Visit(inside))];
    world.engine().modify(id, withdraw()).wait().expect("it is there");
    let left = element(&world, "in");
    assert!(left.visit != inside && left.scope_visit == sub);
    let gone = world.engine().modify(id, withdraw()).wait();
    assert_eq!(gone, Err(Rejection::NoSuchVisit(inside).into()));
    let add = vec![Modification::AddWithin { to: to(), visit: inside }];
    let gone = world.engine().modify(id, add).wait();
    assert_eq!(gone, Err(Rejection::NoSuchVisit(inside).into()));
}

#[test]
fn a_variable_keeps_its_number_until_it_is_gone() {
    let (world, id) = world();
    let number = |world: &World, name: &str| {
        let found = variables(world).into_iter().find(|it| &*it.name == name && it.visit == 0);
        found.map(|it| it.number)
    };
    let before = number(&world, "a");
    let set = |name: &str, value: Value| {
        world
            .engine()
            .set_variables(id, None, vec![(name.into(), value)])
            .wait()
            .expect("it is set");
    };
    set("a", 7.into());
    assert_eq!(number(&world, "a"), before);
    set("c", 7.into());
    assert!(number(&world, "c") > before);
}

#[test]
fn what_undoes_is_an_element_that_the_instance_is_at() {
    let world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="book"/><task id="book"/>
        <boundaryEvent id="undo" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
        <association sourceRef="undo" targetRef="unbook" associationDirection="One"/>
        <serviceTask id="unbook" tv:jobType="unbook" isForCompensation="true"/>
        <sequenceFlow id="f2" sourceRef="book" targetRef="e"/>
        <endEvent id="e"><compensateEventDefinition/></endEvent></process>"#,
    );
    let id = world.engine().start("p").wait().expect("it starts");
    let job = world.jobs()[0].clone();
    let at = element(&world, "unbook");
    assert_eq!((at.visit, at.kind), (job.visit, ElementKind::ServiceTask));
    world.check();
    let job = Address { instance: id, wait: WaitId(job.wait) };
    world.engine().complete(job, Vec::new()).wait().expect("it is undone");
    assert_eq!(elements(&world), []);
}

#[test]
fn a_job_tells_what_went_wrong_when_it_was_last_tried() {
    let (world, id) = world();
    let job = world.jobs()[0].clone();
    assert_eq!((&job.error, &job.error_code, &job.listener), (&None, &None, &None));
    for retries in [2, 0] {
        fail(&world, &job, retries);
        assert_eq!(world.jobs()[0].error.as_deref(), Some("no lamps"), "{retries} retries");
    }
    let at = Address { instance: id, wait: WaitId(world.jobs()[1].wait) };
    let thrown = world.engine().throw_error(at, "no-stock", "none left", Vec::new());
    thrown.wait().expect("nobody catches it");
    let row = world.jobs()[1].clone();
    assert_eq!(row.error_code.as_deref(), Some("no-stock"));
    let wait = Some(row.wait);
    assert!(incidents(&world).iter().any(|it| it.wait == wait && &*it.kind == "error"));
    world.check();
}

#[test]
fn the_job_of_a_listener_says_what_it_is_called_on() {
    let world = World::new(1);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
        <userTask id="t"><extensionElements><tv:listener on="start" jobType="audit"/></extensionElements></userTask>
        </process>"#,
    );
    world.engine().start("p").wait().expect("it starts");
    let job = world.jobs()[0].clone();
    assert_eq!(job.listener.as_deref(), Some("start"));
    fail(&world, &job, 0);
    let incident = incidents(&world)[0].clone();
    assert_eq!((incident.wait, incident.listener.as_deref()), (Some(job.wait), Some("start")));
}
