//! Searches see what was acknowledged before them, and cost no more than they must.

use std::time::Duration;

use travertine_runtime::{
    Address, InstanceId, Key, Named,
    engine::{Options, Pace},
};
use travertine_store::{
    DefinitionKey,
    search::{
        Column, Condition, ElementColumn, Found, InstanceColumn, JobColumn, Place, Search,
        TaskColumn, Test, Value, VariableColumn,
    },
    view::{InstanceState, Row, Table},
};

use crate::world::{World, block_on};

const PROCESS: &str = r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="g"/><parallelGateway id="g"/>
    <sequenceFlow id="f1" sourceRef="g" targetRef="u"/><userTask id="u"/>
    <sequenceFlow id="f2" sourceRef="g" targetRef="j"/><serviceTask id="j" tv:jobType="work"/>
    <sequenceFlow id="f3" sourceRef="g" targetRef="r"/><receiveTask id="r" messageRef="m"/>
    <sequenceFlow id="f4" sourceRef="g" targetRef="t"/><intermediateCatchEvent id="t">
    <timerEventDefinition><timeDuration>P1D</timeDuration></timerEventDefinition>
    </intermediateCatchEvent>
    <sequenceFlow id="f5" sourceRef="g" targetRef="b"/>
    <scriptTask id="b" scriptFormat="javascript"><script>throw 1</script></scriptTask>
    <sequenceFlow id="f6" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#;

/// An engine that stores rows only when it must.
fn world() -> World {
    let pace = Pace { interval: Duration::from_hours(1), changed: 100_000, changed_max: 200_000 };
    let world = World::with(Options { shards: 2, pace, ..Options::default() });
    world.deploy(PROCESS);
    world
}

fn start(world: &World) -> InstanceId {
    world.engine().start("p").variable("x", 1).wait().expect("starts")
}

fn search(world: &World, search: Search) -> Found {
    block_on(world.engine().search(search)).expect("it is answered")
}

fn checkpoints(world: &World) -> u64 {
    world.engine().metrics().checkpoints
}

fn instance_column(table: Table) -> Column {
    // The first column of each table that is a number is that of the instance.
    let is_number = |it: &Column| it.kind() == travertine_store::search::Kind::Number;
    Column::all(table).into_iter().find(is_number).expect("it is about instances")
}

fn of_instance(table: Table, id: InstanceId) -> Search {
    Search::of(table).with(Condition::of(instance_column(table), Test::eq(id.0)))
}

const TABLES: [Table; 7] = [
    Table::Instances,
    Table::Elements,
    Table::Variables,
    Table::Jobs,
    Table::Tasks,
    Table::Timers,
    Table::Incidents,
];

#[test]
fn a_search_about_one_instance_sees_its_rows_as_they_would_be_stored_and_stores_none() {
    let world = world();
    let ids = [start(&world), start(&world), start(&world)];
    let before = checkpoints(&world);
    let rows = |id| TABLES.map(|table| search(&world, of_instance(table, id).counted()));
    let found = ids.map(rows);
    assert_eq!(checkpoints(&world), before, "nothing was stored for that");
    for (id, found) in ids.iter().zip(&found) {
        for (table, found) in TABLES.iter().zip(found) {
            assert!(!found.rows.is_empty(), "{table} of {id}");
            // Whoever is not asked the shard, but the store.
            let stored = of_instance(*table, *id).counted().relaxed();
            assert_eq!(search(&world, stored).rows, [], "{table} of {id}");
        }
    }
    world.engine().flush_now().expect("rows are stored");
    let stored = checkpoints(&world);
    for (id, found) in ids.iter().zip(&found) {
        for (table, found) in TABLES.iter().zip(found) {
            let relaxed = of_instance(*table, *id).counted().relaxed();
            assert_eq!(search(&world, relaxed), *found, "{table} of {id}");
            // Also from memory, where since when tokens are there is only stored.
            assert_eq!(search(&world, of_instance(*table, *id).counted()), *found, "{table}");
        }
    }
    assert_eq!(checkpoints(&world), stored);
}

#[test]
fn what_has_changed_since_rows_were_stored_is_seen_at_once() {
    let world = world();
    let id = start(&world);
    world.engine().flush_now().expect("rows are stored");
    let before = checkpoints(&world);
    let Row::Task(task) = &search(&world, of_instance(Table::Tasks, id)).rows[0] else { panic!() };
    let at = Address { instance: id, wait: travertine_kernel::WaitId(task.wait) };
    world.engine().complete(at, vec![("y".into(), 2.into())]).wait().expect("it is done");
    assert_eq!(search(&world, of_instance(Table::Tasks, id)).rows, []);
    let y = Condition::variable("y", Test::eq("2"));
    assert_eq!(search(&world, of_instance(Table::Instances, id).with(y)).rows.len(), 1);
    let at_u = Condition::of(ElementColumn::Element, Test::eq("u"));
    assert_eq!(search(&world, of_instance(Table::Elements, id).with(at_u)).rows, []);
    world.engine().cancel(id).wait().expect("it is cancelled");
    let found = search(&world, of_instance(Table::Instances, id));
    assert!(matches!(&found.rows[..], [Row::Instance(it)] if it.state == InstanceState::Cancelled));
    assert_eq!(search(&world, of_instance(Table::Jobs, id)).rows, []);
    assert_eq!(checkpoints(&world), before);
    // Over all instances rows are stored first, once.
    let ended = Condition::of(InstanceColumn::Ended, Test::Exists(true));
    assert_eq!(search(&world, Search::of(Table::Instances).with(ended)).rows.len(), 1);
    assert!(checkpoints(&world) > before);
    world.engine().delete(id).expect("it is deleted");
    assert_eq!(search(&world, of_instance(Table::Instances, id)).rows, []);
}

#[test]
fn an_engine_at_rest_searches_without_asking_its_shards() {
    let world = world();
    let id = start(&world);
    let all = || search(&world, Search::of(Table::Instances)).rows.len();
    assert_eq!(all(), 1);
    let flushes = || {
        let kinds = world.engine().requests_by_kind();
        kinds.into_iter().find(|(kind, _)| *kind == "Flush").map(|(_, count)| count)
    };
    // A moment after rows are stored its shards know that.
    let quiet = (0..1_000).any(|_| {
        let before = flushes();
        assert_eq!(all(), 1);
        flushes() == before
    });
    assert!(quiet, "each search asks");
    // And what is done then is seen.
    world.engine().cancel(id).wait().expect("it is cancelled");
    let running = Condition::of(InstanceColumn::State, Test::eq(InstanceState::Running));
    assert_eq!(search(&world, Search::of(Table::Instances).with(running)).rows, []);
}

#[test]
fn what_waits_for_messages_is_found_wherever_it_is_kept() {
    let world = world();
    for _ in 0..4 {
        let id = start(&world);
        let found = search(&world, of_instance(Table::Subscriptions, id));
        assert_eq!(found.rows.len(), 1, "{id}");
    }
}

#[test]
fn everything_with_a_key_has_a_row_by_it() {
    let world = world();
    let id = start(&world);
    let before = checkpoints(&world);
    let row = |named| block_on(world.engine().row(named)).expect("it is answered");
    let key = Key::of(Named::Instance(id)).expect("it has one");
    assert!(matches!(row(key.named()), Some(Row::Instance(it)) if it.id == id.0));
    for table in TABLES {
        for found in search(&world, of_instance(table, id)).rows {
            let named = match &found {
                Row::Instance(it) => Named::Instance(InstanceId(it.id)),
                Row::Element(it) => Named::Visit(id, it.visit),
                Row::Variable(it) => Named::Variable(id, it.number),
                Row::Incident(it) => Named::Incident(id, it.number),
                other => Named::Wait(Address {
                    instance: id,
                    wait: travertine_kernel::WaitId(other.key().number),
                }),
            };
            assert_eq!(row(named), Some(found), "{named}");
        }
    }
    assert_eq!(checkpoints(&world), before);
    assert_eq!(row(Named::Instance(InstanceId(99))), None);
    assert_eq!(row(Named::Visit(id, 99)), None);
    assert_eq!(row(Named::Definition(DefinitionKey(1))), None);
}

#[test]
fn pages_of_one_instance_have_cursors_as_stored_rows_have() {
    let world = world();
    let id = start(&world);
    let mut seen = Vec::new();
    let mut next = of_instance(Table::Elements, id).descending(ElementColumn::Element).limit(2);
    loop {
        let found = search(&world, next.clone());
        seen.extend(found.rows);
        // Every other page is read from the store.
        world.engine().flush_now().expect("rows are stored");
        next.relaxed = !next.relaxed;
        match found.end.filter(|_| found.has_more) {
            Some(end) => next.place = Place::After(end),
            None => break,
        }
    }
    let all = search(&world, of_instance(Table::Elements, id).descending(ElementColumn::Element));
    assert_eq!(seen, all.rows);
    assert_eq!(seen.len(), 5);
}

#[test]
fn searches_are_refused_by_what_is_wrong_with_them() {
    let world = world();
    let refused = |search| block_on(world.engine().search(search)).unwrap_err().to_string();
    let wrong = Search::of(Table::Tasks).with(Condition::of(JobColumn::Worker, Test::eq("a")));
    assert!(refused(wrong).contains("tasks cannot be asked for by worker"));
    let wrong = Search::of(Table::Tasks).with(Condition::of(TaskColumn::Due, Test::eq("a")));
    assert!(refused(wrong).contains("due date is never a text"));
    let late = VariableColumn::Number;
    let wrong = Search::of(Table::Variables).with(Condition::of(late, Test::Gt(Value::Key(1, 1))));
    assert!(refused(wrong).contains("cannot be compared"));
}

#[test]
fn searches_that_come_together_have_rows_stored_together() {
    let world = world();
    start(&world);
    let flushes = || {
        let kinds = world.engine().requests_by_kind();
        kinds.into_iter().find(|(kind, _)| *kind == "Flush").map_or(0, |(_, count)| count)
    };
    let before = flushes();
    let found = block_on(async {
        let mut all = tokio::task::JoinSet::new();
        // Local tasks begin one after the other, and wait together.
        let local = tokio::task::LocalSet::new();
        for _ in 0..100 {
            all.spawn_local_on(world.engine().search(Search::of(Table::Instances)), &local);
        }
        local.await;
        all.join_all().await
    });
    assert_eq!(found.len(), 100);
    for it in found {
        assert_eq!(it.expect("it is answered").rows.len(), 1);
    }
    // Each alone would ask both shards.
    assert!(flushes() - before < 100, "{} flushes", flushes() - before);
}

#[test]
fn rows_are_counted_by_what_they_have_in_columns() {
    let world = world();
    let ids = [start(&world), start(&world), start(&world)];
    world.engine().cancel(ids[0]).wait().expect("it is cancelled");
    let count = |search: Search, by: Vec<Column>| {
        let found = block_on(world.engine().tally(search, by)).expect("it is answered");
        found.into_iter().map(|it| (it.of, it.count)).collect::<Vec<_>>()
    };
    let text = |it: &str| Some(Value::from(it));
    let by_state = count(Search::of(Table::Instances), vec![InstanceColumn::State.into()]);
    assert_eq!(by_state, [(vec![text("cancelled")], 1), (vec![text("running")], 2)]);
    let here = Condition::of(InstanceColumn::Definition, Test::eq("p"));
    let at = vec![ElementColumn::Element.into(), ElementColumn::HasIncident.into()];
    let counted = count(Search::of(Table::Elements).with(here), at);
    let row = |element, incident| (vec![text(element), Some(Value::Bool(incident))], 2);
    let expected =
        [row("b", true), row("j", false), row("r", false), row("t", false), row("u", false)];
    assert_eq!(counted, expected);
    let wrong = world.engine().tally(Search::of(Table::Tasks), vec![JobColumn::Worker.into()]);
    let error = block_on(wrong).unwrap_err().to_string();
    assert_eq!(error, "tasks cannot be counted by worker");
}
