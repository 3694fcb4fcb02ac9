//! Rows of instances that cannot be read: they are made again from the log, and nothing else stops.

use std::{path::Path, sync::Arc, time::Duration};

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::{Ending, WaitId};
use travertine_runtime::{
    Address, Engine, Error, InstanceId, Settings,
    engine::{Options, Retention},
};
use travertine_store::view::{Filter, InstanceRow, InstanceState, Row, Table};
use travertine_value::Value;

use crate::world::World;

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="u"/><serviceTask id="u" tv:jobType="more"/>
    <sequenceFlow id="f3" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#;

/// What makes a row something that no engine has written.
const DAMAGE: [&str; 3] = ["state = x'ff00'", "version = 'new'", "last = -1"];

/// An engine with two instances that keeps none of them in memory.
fn world() -> (World, InstanceId, InstanceId) {
    let settings = Settings { instances_max: 0, ..Settings::default() };
    let world = World::with(Options { shards: 1, settings, ..Options::default() });
    world.deploy(PROCESS);
    let start = |x: i64| {
        let started = world.engine().start("p").id(&format!("b{x}")).variable("x", x);
        started.wait().expect("starts")
    };
    let (bad, good) = (start(1), start(2));
    evict(&world);
    (world, bad, good)
}

/// Has nothing in memory.
fn evict(world: &World) {
    for _ in 0..1_000 {
        world.flush();
        // It has heard that rows are stored by the second time.
        if world.engine().metrics().in_memory == 0 {
            return;
        }
    }
    panic!("instances stay in memory");
}

fn damage(data: &Path, change: &str, id: InstanceId) {
    execute(data, "views.db", &format!("UPDATE instances SET {change} WHERE id = {id}"));
}

fn execute(data: &Path, database: &str, sql: &str) {
    let connection = rusqlite::Connection::open(data.join(database)).expect("it is there");
    assert_ne!(connection.execute(sql, []).expect("it is a table"), 0);
}

fn instances(world: &World) -> Vec<InstanceRow> {
    let rows = world.rows(Table::Instances, Vec::new()).into_iter();
    rows.filter_map(|it| if let Row::Instance(row) = it { Some(row) } else { None }).collect()
}

fn finish(world: &World, id: InstanceId) {
    for _ in 0..2 {
        let job = world.jobs().into_iter().find(|it| it.instance == id.0).expect("it waits");
        let job = Address { instance: id, wait: WaitId(job.wait) };
        world.engine().complete(job, Vec::new()).wait().expect("it goes on");
    }
    let row = instances(world).into_iter().find(|it| it.id == id.0).expect("it is kept");
    assert_eq!(row.state, InstanceState::Completed);
}

#[test]
fn an_instance_whose_row_cannot_be_read_is_found_in_the_log_when_it_is_touched() {
    for change in DAMAGE {
        let (world, bad, good) = world();
        let rows = instances(&world);
        evict(&world);
        damage(&world.data(), change, bad);
        let look = world.engine().look(bad).wait().expect("the log has it");
        assert_eq!(look.variables, [("x".into(), Value::from(1))]);
        assert_eq!(instances(&world), rows, "{change}");
        finish(&world, bad);
        finish(&world, good);
        world.check();
        assert_eq!(world.engine().fault(), None);
    }
}

#[test]
fn the_same_is_so_after_a_restart_and_for_what_has_ended() {
    for change in DAMAGE {
        let (mut world, bad, good) = world();
        finish(&world, bad);
        let rows = instances(&world);
        world.restart_after(|data| damage(data, change, bad));
        let ended = world.engine().result(bad).wait().expect("the log has it");
        assert_eq!(ended.ending, Ending::Completed);
        assert_eq!(instances(&world), rows, "{change}");
        finish(&world, good);
        world.check();
    }
}

#[test]
fn a_question_about_all_instances_is_answered_where_one_has_a_row_that_cannot_be_read() {
    let (mut world, bad, good) = world();
    let rows = instances(&world);
    evict(&world);
    damage(&world.data(), DAMAGE[0], bad);
    damage(&world.data(), DAMAGE[0], good);
    assert_eq!(instances(&world), rows);
    world.restart_after(|data| damage(data, DAMAGE[1], bad));
    assert_eq!(world.engine().history(bad).expect("the log has it").steps.len(), 1);
    assert_eq!(instances(&world), rows);
    // Those in memory have their rows written again, too.
    damage(&world.data(), DAMAGE[1], bad);
    let query = world.engine().query(travertine_store::view::Query {
        table: Table::Instances,
        filters: vec![Filter::Definition("p".into())],
        descending: false,
        after: None,
        limit: 10,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
    assert_eq!(runtime.block_on(query).expect("it is answered").rows.len(), 2);
    world.check();
}

#[test]
fn verifying_tells_of_a_row_that_cannot_be_read() {
    let (world, bad, _) = world();
    damage(&world.data(), DAMAGE[0], bad);
    let found = world.engine().verify().expect("it can be asked").differences;
    assert_eq!(found.iter().map(|it| it.instance).collect::<Vec<_>>(), [bad]);
    assert!(found[0].to_string().contains("row 1 of instances is damaged"), "{found:?}");
}

#[test]
fn a_name_stays_taken_where_the_row_of_who_has_it_cannot_be_read() {
    let (world, bad, _) = world();
    damage(&world.data(), DAMAGE[0], bad);
    let again = world.engine().start("p").id("b1").variable("x", 1).wait();
    assert_eq!(again.expect("it is the same"), bad);
    world.check();
}

#[test]
fn an_instance_that_neither_row_nor_log_tells_of_is_halted_alone() {
    let (mut world, bad, good) = world();
    world.restart_after(|data| {
        damage(data, DAMAGE[0], bad);
        let sql = format!("UPDATE log_0 SET body = x'4d01' WHERE instance = {bad}");
        execute(data, "log.db", &sql);
    });
    let looked = world.engine().look(bad).wait().map(drop);
    assert!(matches!(looked, Err(Error::Damaged { .. })), "{looked:?}");
    let halted = instances(&world).into_iter().find(|it| it.id == bad.0).expect("it is there");
    assert_eq!(halted.state, InstanceState::Halted);
    finish(&world, good);
    world.engine().delete(bad).expect("nobody can use it");
    world.check();
    let swept = Retention { ended_max: Some(0), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&swept).expect("sweeps").removed, 1);
}

#[test]
fn a_row_of_which_the_log_knows_nothing_goes() {
    let (world, bad, good) = world();
    damage(&world.data(), DAMAGE[0], bad);
    execute(&world.data(), "log.db", &format!("DELETE FROM log_0 WHERE instance = {bad}"));
    assert_eq!(instances(&world).iter().map(|it| it.id).collect::<Vec<_>>(), [good.0]);
    finish(&world, good);
}

#[test]
fn a_snapshot_that_is_no_bytes_at_all_is_passed_over() {
    let settings = Settings { instances_max: 0, snapshot_bytes: 0, ..Settings::default() };
    let mut world = World::with(Options { shards: 1, settings, ..Options::default() });
    world.deploy(PROCESS);
    let id = world.engine().start("p").variable("x", 1).wait().expect("starts");
    world.restart_after(|data| execute(data, "views.db", "UPDATE snapshots SET body = 'text'"));
    let look = world.engine().look(id).wait().expect("the log has it");
    assert_eq!(look.variables, [("x".into(), Value::from(1))]);
    finish(&world, id);
}

const WAIT: WorkflowDefinition = WorkflowDefinition {
    name: "wait",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_hours(1)).await?;
            Ok("waited".into())
        })
    },
};

#[test]
fn a_preflight_that_meets_a_row_that_cannot_be_read_says_what_to_do() {
    let functions = Functions::new().workflow(WAIT);
    let options = Options { shards: 1, functions, ..Options::default() };
    let mut world = World::with(options.clone());
    let call = Workflow::<String>::new("wait", 1);
    let id = world.engine().start(call).wait().expect("it starts").instance();
    let clock = Arc::clone(&world.clock) as Arc<_>;
    let cautious = Options { preflight: true, clock, ..options };
    world.restart_after(|data| {
        damage(data, "incidents = 'none'", id);
        let refused = Engine::open_with(data, cautious.clone()).map(drop);
        let told =
            |it: &String| it.contains("row 1 of instances") && it.contains("without preflight");
        assert!(
            matches!(&refused, Err(Error::Refused { diagnostics }) if diagnostics.iter().any(told)),
            "{refused:?}"
        );
    });
    assert_eq!(world.engine().preflight().expect("it can be asked").tried, 1);
    world.restart_after(|data| {
        Engine::open_with(data, cautious).expect("it is made again").shutdown().expect("closes");
    });
    world.check();
}

#[test]
fn instances_of_a_model_that_is_refused_today_are_halted_with_the_reason_and_can_be_ended() {
    for broken in [
        // A rule of today, another process, and no model at all.
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
           <process id="p" isExecutable="true"><startEvent id="s"/><boundaryEvent id="b"
           attachedToRef="nobody"/></process></definitions>"#,
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
           <process id="other" isExecutable="true"><startEvent id="s"/></process></definitions>"#,
        "what nobody can read",
    ] {
        let mut world = World::new(2);
        world.deploy(
            r#"<process id="p" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/></process>
            <process id="q" isExecutable="true"><startEvent id="qs"/>
            <sequenceFlow id="qf" sourceRef="qs" targetRef="qt"/><userTask id="qt"/></process>"#,
        );
        let one = world.engine().start("p").wait().expect("it starts");
        let other = world.engine().start("p").wait().expect("it starts");
        world.restart_after(|data| {
            let connection = rusqlite::Connection::open(data.join("log.db")).expect("it is there");
            // Older stores have no checksums.
            connection
                .execute("UPDATE resources SET body = ?1, sum = NULL", [broken.as_bytes()])
                .expect("it can be written");
            connection.execute("UPDATE deployments SET sum = NULL", []).expect("it can be written");
        });
        let told = world.engine().opened().unreadable.join("; ");
        assert!(told.contains("version 1 of p, deployment 1, cannot be read"), "{told}");
        let refused = world.engine().look(one).wait().expect_err("nobody knows what it runs");
        let why = refused.to_string();
        assert!(why.contains("version 1 of p, deployment 1, cannot be read"), "{why}");
        // Something else is deployed and runs beside them.
        world.deploy(
            r#"<process id="r" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/></process>"#,
        );
        world.engine().start("r").wait().expect("it starts");
        assert!(world.engine().start("p").wait().is_err(), "what cannot be read is not started");
        for id in [one, other] {
            world.engine().cancel(id).wait().expect("it can be ended");
            world.engine().delete(id).expect("it can be forgotten");
        }
        let rows = world.rows(Table::Instances, Vec::new());
        assert_eq!(rows.len(), 1, "{rows:?}");
    }
}
