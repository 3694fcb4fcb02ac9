//! Programs with more, less and other code on the same store.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Waker},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use travertine_func::{Event, Functions, Workflow, WorkflowDefinition};
use travertine_kernel::Ending;
use travertine_runtime::{
    Error, InstanceId, Receipt, RunStatus,
    engine::{Engine, Options, Retention, RunError},
};
use travertine_store::view::{Row, Table};

use crate::world::{World, block_on, file, within};

#[derive(Serialize, Deserialize, Debug)]
struct Go;

impl Event for Go {
    const NAME: &'static str = "go";
}

fn trip() -> Workflow<String> {
    Workflow::new("trip", 1)
}

/// Two waits, then the end.
const TRIP: WorkflowDefinition = WorkflowDefinition {
    name: "trip",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            cx.event::<Go>().await?;
            Ok("first way".into())
        })
    },
};

/// The next version, which begins in the same way.
const TRIP_2: WorkflowDefinition = WorkflowDefinition {
    version: 2,
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            cx.event::<Go>().await?;
            Ok("second way".into())
        })
    },
    ..TRIP
};

/// One that begins differently.
const TRIP_3: WorkflowDefinition = WorkflowDefinition {
    version: 3,
    run: |cx, _| {
        Box::pin(async move {
            cx.uuid();
            cx.sleep(Duration::from_secs(1)).await?;
            Ok("third way".into())
        })
    },
    ..TRIP
};

fn changed(run: WorkflowDefinition) -> WorkflowDefinition {
    WorkflowDefinition { version: 1, ..run }
}

/// Begins what may not be there.
const GUIDE: WorkflowDefinition = WorkflowDefinition {
    name: "guide",
    version: 1,
    parameters: &["kind"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let kind: String = arguments.take("kind")?;
            Ok(match kind.as_str() {
                "child" => cx.child(Workflow::<String>::new("walk", 1)).await?.into(),
                "start" => cx.start(Workflow::<String>::new("walk", 1)).await?.into(),
                "continue" => return cx.continue_as(Workflow::<String>::new("walk", 1)),
                "process" => {
                    cx.process::<BTreeMap<String, String>>("walk").await?;
                    "walked".into()
                }
                _ => {
                    cx.start(Workflow::<String>::new("walk", 1)).await?;
                    cx.process::<()>("walk").detached().await?.into()
                }
            })
        })
    },
};

const WALK: WorkflowDefinition = WorkflowDefinition {
    name: "walk",
    version: 1,
    parameters: &[],
    run: |_, _| Box::pin(async move { Ok("walked".into()) }),
};

const WALK_PROCESS: &str = r#"<process id="walk" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#;

fn world(functions: Functions) -> World {
    World::with(Options { shards: 2, functions, ..Options::default() })
}

fn just(workflow: WorkflowDefinition) -> Functions {
    Functions::new().workflow(workflow)
}

fn begin(world: &World, call: Workflow<String>, id: &str) -> InstanceId {
    let id = world.engine().start(call).id(id).wait().expect("the engine does so").instance();
    world.rest();
    id
}

fn go(world: &World, id: &str) {
    world.engine().send_event(Go).to(id).wait().expect("the engine does so");
    world.rest();
}

fn result(world: &World, id: InstanceId) -> String {
    let ended = world.ended(id);
    assert_eq!(ended.ending, Ending::Completed);
    ended.variables[0].1.as_str().expect("it is a text").to_owned()
}

fn incidents(world: &World) -> Vec<String> {
    let rows = world.rows(Table::Incidents, Vec::new()).into_iter();
    rows.map(|it| if let Row::Incident(it) = it { it.message.to_string() } else { panic!() })
        .collect()
}

const NONE: [&str; 0] = [];

// covers: ENGINE-86
#[test]
fn a_program_without_the_code_says_so_and_one_with_it_goes_on() {
    let mut world = world(just(TRIP));
    let id = begin(&world, trip(), "a");
    go(&world, "a");
    world.restart_with(Functions::new());
    assert_eq!(incidents(&world), NONE, "nobody has asked it for anything");
    let asked = world.engine().look(id).wait().expect("the engine does so");
    assert_eq!(asked.definition.version, 1);
    go(&world, "a");
    assert_eq!(incidents(&world), ["this program has no function trip version 1"]);
    let started = world.engine().start(trip()).id("b").wait();
    let b = started.unwrap().instance();
    world.rest();
    assert_eq!(incidents(&world).len(), 2);
    world.restart_with(Functions::new().workflow(WALK));
    assert_eq!(incidents(&world).len(), 2, "it has other code");
    world.restart_with(just(TRIP));
    world.rest();
    assert_eq!(incidents(&world), NONE);
    assert_eq!(result(&world, id), "first way");
    go(&world, "b");
    go(&world, "b");
    assert_eq!(result(&world, b), "first way");
    world.check();
}

#[test]
fn what_comes_to_a_function_without_code_is_kept_for_it() {
    let mut world = world(just(TRIP).workflow(GUIDE).workflow(WALK));
    let id = begin(&world, trip(), "a");
    world.restart_with(Functions::new());
    go(&world, "a");
    go(&world, "a");
    world.restart();
    world.restart_with(just(TRIP));
    world.rest();
    assert_eq!(result(&world, id), "first way");
    world.check();
}

#[test]
fn a_function_whose_version_is_gone_waits_for_a_program_that_has_it() {
    let mut world = world(just(TRIP));
    let old = begin(&world, trip(), "old");
    go(&world, "old");
    world.restart_with(just(TRIP_2));
    let new = begin(&world, trip(), "new");
    assert_eq!(world.engine().look(new).wait().expect("the engine does so").definition.version, 2);
    for id in ["old", "new", "new"] {
        go(&world, id);
    }
    assert_eq!(result(&world, new), "second way");
    assert_eq!(incidents(&world), ["this program has no function trip version 1"]);
    world.restart_with(just(TRIP_2).workflow(TRIP));
    world.rest();
    assert_eq!(result(&world, old), "first way");
    let newest = begin(&world, trip(), "newest");
    assert_eq!(
        world.engine().look(newest).wait().expect("the engine does so").definition.version,
        2
    );
    world.check();
}

#[test]
fn what_a_function_begins_may_be_deployed_later() {
    for kind in ["child", "start", "continue", "process"] {
        for process in [false, true] {
            if process && matches!(kind, "child" | "continue") {
                continue;
            }
            let mut world = world(just(GUIDE));
            let call = Workflow::<String>::new("guide", 1).argument("kind", kind);
            let id = begin(&world, call, "g");
            let said = "no such definition: walk; it goes on when that is deployed";
            assert_eq!(incidents(&world), [said], "{kind}");
            assert_eq!(world.engine().retry(id, None).wait(), Ok(1));
            assert_eq!(incidents(&world), [said], "{kind}");
            world.restart();
            assert_eq!(incidents(&world), [said], "{kind}");
            if process {
                world.engine().deploy(&[file("walk.bpmn", WALK_PROCESS)]).unwrap();
            } else {
                world.restart_with(just(GUIDE).workflow(WALK));
            }
            world.rest();
            assert_eq!(incidents(&world), NONE, "{kind}");
            let expected = if kind == "start" { "g/0/start walk" } else { "walked" };
            assert_eq!(result(&world, id), expected, "{kind}");
            assert_eq!(
                world.rows(Table::Instances, Vec::new()).len(),
                2 - usize::from(kind == "continue")
            );
            world.check();
        }
    }
}

#[test]
fn a_function_does_not_go_on_as_a_process() {
    let world = world(just(GUIDE));
    world.engine().deploy(&[file("walk.bpmn", WALK_PROCESS)]).unwrap();
    begin(&world, Workflow::<String>::new("guide", 1).argument("kind", "continue"), "g");
    assert_eq!(incidents(&world), ["walk is a process, and a function goes on as a function"]);
}

#[test]
fn a_process_and_a_function_cannot_have_the_same_id() {
    let functions = world(just(WALK));
    let refused = functions.engine().deploy(&[file("walk.bpmn", WALK_PROCESS)]).unwrap_err();
    let words = "walk is a process and a function; give one of them another name";
    assert!(
        matches!(&refused, Error::Refused { diagnostics } if *diagnostics == [words]),
        "{refused:?}"
    );

    let dir = tempfile::tempdir().unwrap();
    let options = |functions| Options { shards: 1, functions, ..Options::default() };
    let engine = Engine::open_with(dir.path(), options(Functions::new())).unwrap();
    engine.deploy(&[file("walk.bpmn", WALK_PROCESS)]).unwrap();
    engine.shutdown().unwrap();
    let refused = Engine::open_with(dir.path(), options(just(WALK))).unwrap_err();
    assert!(
        matches!(&refused, Error::Refused { diagnostics } if *diagnostics == [words]),
        "{refused:?}"
    );
}

#[test]
fn code_that_disagrees_with_its_journal_is_an_incident_until_other_code_is_there() {
    let mut world = world(just(TRIP));
    let id = begin(&world, trip(), "a");
    world.restart_with(just(changed(TRIP_3)));
    let preflight = world.engine().preflight().unwrap();
    assert_eq!(preflight.problems.len(), 1, "{preflight:?}");
    assert_eq!(incidents(&world), NONE, "trying changes nothing");
    go(&world, "a");
    let [said] = &incidents(&world)[..] else { panic!("there is one") };
    assert!(said.contains("`event go`") && said.contains("`sleep`"), "{said}");
    assert_eq!(world.engine().retry(id, None).wait(), Ok(1));
    assert_eq!(incidents(&world).len(), 1, "the same code says the same");
    go(&world, "a");
    world.restart_with(just(TRIP));
    world.rest();
    assert_eq!(incidents(&world), NONE, "nobody has to say that it is mended");
    assert_eq!(result(&world, id), "first way");
    world.check();
}

/// It panics at the second step.
const CLUMSY: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            let parts: Vec<String> = Vec::new();
            Ok(parts[3].as_str().into())
        })
    },
    ..TRIP
};

#[test]
fn a_function_that_panicked_goes_on_when_it_is_opened_with_code_that_can() {
    let mut world = world(just(CLUMSY));
    let id = begin(&world, trip(), "a");
    go(&world, "a");
    let since = |world: &World| match &world.rows(Table::Incidents, Vec::new())[..] {
        [Row::Incident(it)] => (it.since, it.message.to_string()),
        other => panic!("there is one: {other:?}"),
    };
    let first = since(&world);
    assert!(first.1.contains("the code panicked at") && first.1.contains("code.rs"), "{first:?}");
    let entries = |world: &World| {
        let history = world.engine().history(id).expect("it is there");
        history.steps.len()
    };
    let before = entries(&world);
    for functions in [just(CLUMSY), just(changed(TRIP_3)), Functions::new(), just(CLUMSY)] {
        world.advance(1_000);
        world.restart_with(functions);
        world.rest();
        assert_eq!(since(&world), first, "it is the same incident");
    }
    let report = world.engine().recover().expect("it can be asked again");
    assert_eq!((report.resumed, report.blocked), (0, 1));
    assert_eq!(entries(&world), before, "nothing is written of a function that stays as it is");
    world.restart_with(just(TRIP));
    assert_eq!(incidents(&world), NONE);
    go(&world, "a");
    assert_eq!(result(&world, id), "first way");
    world.check();
}

#[test]
fn many_blocked_functions_go_on_together() {
    let mut options = Options { shards: 2, functions: just(CLUMSY), ..Options::default() };
    options.settings.functions.prints_incidents = false;
    let mut world = World::with(options);
    let names: Vec<String> = (0..600).map(|it| format!("t{it}")).collect();
    for name in &names {
        let engine = world.engine();
        engine.start(trip()).id(name).begin();
        engine.send_event(Go).to(name).wait().expect("the engine does so");
    }
    world.rest();
    assert_eq!(incidents(&world).len(), names.len());
    world.restart_with(just(TRIP));
    assert_eq!(incidents(&world), NONE);
}

#[test]
fn who_waits_for_a_function_that_cannot_go_on_is_told() {
    let mut world = world(just(CLUMSY));
    let run = world.engine().start(trip()).id("a").wait().expect("it starts");
    let waits = {
        let run = run.clone();
        std::thread::spawn(move || run.wait())
    };
    go(&world, "a");
    let Err(RunError::Blocked { id, reason }) = waits.join().expect("it is told") else {
        panic!("it cannot have ended")
    };
    assert_eq!(&*id, "a");
    assert!(reason.contains("index out of bounds"), "{reason}");
    // Who asks later is told at once.
    let later = run.wait().unwrap_err();
    let words = later.to_string();
    assert!(words.starts_with("a cannot go on: the code panicked at "), "{words}");
    assert!(words.ends_with("goes on when a program whose code can is started"), "{words}");
    assert_eq!(run.status().wait(), Ok(RunStatus::Blocked));
    drop(run);
    world.restart_with(just(TRIP));
    go(&world, "a");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it is built");
    let run = runtime.block_on(world.engine().run::<String>("a")).expect("it answers");
    assert_eq!(run.expect("it is there").wait(), Ok("first way".to_owned()));
}

/// What calls a guide, which calls a walk.
const AGENCY: WorkflowDefinition = WorkflowDefinition {
    name: "agency",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            let guide = Workflow::<String>::new("guide", 1).argument("kind", "child");
            Ok(cx.child(guide).await?.into())
        })
    },
};

/// A walk that waits before it ends.
const LONG_WALK: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            cx.event::<Go>().await?;
            Ok("walked".into())
        })
    },
    ..WALK
};

/// The same as it was before, with a panic on its way.
const STUMBLE: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            panic!("it stumbles");
        })
    },
    ..WALK
};

/// One that asks for something else first.
const DETOUR: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_secs(1)).await?;
            Ok("walked".into())
        })
    },
    ..WALK
};

#[test]
fn who_waits_for_a_function_is_told_that_what_it_has_called_cannot_go_on() {
    let with = |walk| Functions::new().workflow(AGENCY).workflow(GUIDE).workflow(walk);
    let mut world =
        World::with(Options { shards: 3, functions: with(STUMBLE), ..Options::default() });
    let agency = begin(&world, Workflow::new("agency", 1), "a");
    let called = |world: &World, name: &str| {
        let mut all = world.rows(Table::Instances, Vec::new()).into_iter();
        let found = all.find_map(|it| match it {
            Row::Instance(row) if &*row.definition == name => Some(InstanceId(row.id)),
            _ => None,
        });
        found.expect("it is called")
    };
    let (guide, walk) = (called(&world, "guide"), called(&world, "walk"));
    let name = format!("number:{walk}");
    let run = |world: &World, id: InstanceId| {
        let name = if id == agency { "a".to_owned() } else { format!("number:{id}") };
        let found = block_on(world.engine().run::<String>(&name)).expect("the engine answers");
        found.expect("it is there")
    };
    // Those who wait before it happens, and who have been heard.
    let mut waits: Vec<_> = [agency, guide, walk]
        .map(|id| {
            let run = run(&world, id);
            Box::pin(async move { run.result().await })
        })
        .into();
    let mut patient = {
        let run = run(&world, agency);
        Box::pin(async move { run.result_despite_incidents().await })
    };
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waits.iter_mut().all(|it| it.as_mut().poll(&mut cx).is_pending()));
    assert!(patient.as_mut().poll(&mut cx).is_pending());
    world.rest();
    go(&world, &name);
    let blocked = |told: Result<String, RunError>, with: &str| {
        let Err(RunError::Blocked { id, reason }) = told else { panic!("{told:?}") };
        assert_eq!(*id, *name, "{reason}");
        assert!(reason.contains(with), "{reason}");
    };
    for wait in waits {
        blocked(block_on(within(wait)), "it stumbles");
    }
    assert!(patient.as_mut().poll(&mut cx).is_pending());
    drop(patient);
    // Who asks later is told, too, also by another program whose code cannot go on either.
    let ask = |world: &World, with: &str| {
        for id in [agency, guide, walk] {
            let run = run(world, id);
            blocked(block_on(within(run.result())), with);
        }
    };
    ask(&world, "it stumbles");
    world.restart_with(with(DETOUR));
    ask(&world, "it stumbles");
    // With code that agrees all of it goes on by itself.
    world.restart_with(with(LONG_WALK));
    go(&world, &name);
    assert_eq!(result(&world, agency), "walked");
    assert_eq!(block_on(within(run(&world, agency).result())), Ok("walked".to_owned()));
}

static MENDED: AtomicBool = AtomicBool::new(false);

/// It panics until it is mended.
const FRAGILE: WorkflowDefinition = WorkflowDefinition {
    name: "fragile",
    run: |cx, _| {
        Box::pin(async move {
            cx.event::<Go>().await?;
            assert!(MENDED.load(Ordering::SeqCst), "it is not mended");
            Ok("mended".into())
        })
    },
    ..TRIP
};

#[test]
fn who_wants_to_waits_through_incidents() {
    let world = world(just(FRAGILE));
    let started = world.engine().start(Workflow::<String>::new("fragile", 1)).id("a").wait();
    let run = started.expect("it starts");
    let waits = {
        let run = run.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it is built");
        std::thread::spawn(move || runtime.block_on(run.result_despite_incidents()))
    };
    go(&world, "a");
    assert!(matches!(run.wait(), Err(RunError::Blocked { .. })));
    MENDED.store(true, Ordering::SeqCst);
    assert_eq!(world.engine().retry(run.instance(), None).wait(), Ok(1));
    assert_eq!(waits.join().expect("it is told"), Ok("mended".to_owned()));
}

/// What a program says on standard error that listens to no `tracing`: this test in a process of its own.
#[test]
fn a_function_that_cannot_go_on_is_told_on_standard_error() {
    const INSIDE: &str = "TRAVERTINE_TEST_SILENT";
    if let Some(how) = std::env::var_os(INSIDE) {
        let mut options = Options { shards: 1, functions: just(CLUMSY), ..Options::default() };
        options.settings.functions.prints_incidents = how == "printing";
        let engine = Engine::in_memory(options).expect("it opens");
        let run = engine.start(trip()).id("order-7").wait().expect("it starts");
        engine.send_event(Go).to("order-7").wait().expect("it is sent");
        assert!(run.wait().is_err());
        return;
    }
    let said = |how: &str| {
        let name = "code::a_function_that_cannot_go_on_is_told_on_standard_error";
        let mut program = std::process::Command::new(std::env::current_exe().expect("it runs"));
        program.args(["--exact", name, "--nocapture"]).env(INSIDE, how);
        let output = program.output().expect("it can be run again");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let printed = said("printing");
    let expected = "travertine: order-7 (trip) cannot go on: the code panicked at ";
    assert_eq!(printed.matches(expected).count(), 1, "{printed}");
    assert!(!said("silent").contains("cannot go on"));
}

#[test]
fn a_function_goes_on_as_another_version_whose_code_agrees_with_its_journal() {
    for restarts in [false, true] {
        let mut world = world(just(TRIP).workflow(TRIP_2).workflow(TRIP_3));
        let call = Workflow::<String>::new("trip", 1).pinned();
        let id = begin(&world, call, "a");
        go(&world, "a");
        let to = |version| travertine_runtime::engine::Target::Version("trip".into(), version);
        let refused = world.engine().migrate(id, to(3), BTreeMap::new()).wait().unwrap_err();
        assert!(
            matches!(&refused, Error::NotMigrated { problems, .. }
            if problems[0].contains("`event go`")),
            "{refused:?}"
        );
        assert!(world.engine().try_migration(id, to(3), BTreeMap::new()).wait().is_err());
        world
            .engine()
            .try_migration(id, to(2), BTreeMap::new())
            .wait()
            .expect("the engine does so");
        world.engine().migrate(id, to(2), BTreeMap::new()).wait().expect("the engine does so");
        if restarts {
            world.restart();
        }
        assert_eq!(
            world.engine().look(id).wait().expect("the engine does so").definition.version,
            2
        );
        go(&world, "a");
        assert_eq!(result(&world, id), "second way");
        world.check();
    }
}

// covers: ENGINE-12, ENGINE-13
#[test]
fn runs_that_do_not_exist_or_are_of_another_kind_are_told_apart() {
    let world = world(just(TRIP));
    world.engine().deploy(&[file("walk.bpmn", WALK_PROCESS)]).unwrap();
    let engine = world.engine();
    let process = engine.start("walk").id("w").wait().expect("the engine does so");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert_eq!(engine.query_status("nobody").await, Ok(None));
        assert_eq!(engine.query_status("w").await, Ok(None), "a process is no run");
        assert_eq!(engine.query_status(&process.to_string()).await, Ok(None));
        assert_eq!(engine.query_result::<String>("nobody").await, Ok(None));
        assert_eq!(engine.cancel_run("nobody").await, Ok(false));
        let unknown = engine.start(Workflow::<()>::new("nothing", 1)).await.unwrap_err();
        assert_eq!(unknown.to_string(), "no such definition: nothing");
        let process = engine.start(Workflow::<()>::new("walk", 1)).await.unwrap_err();
        assert!(process.to_string().contains("walk is a process"), "{process}");
        let run = engine.start(trip()).id("t").await.unwrap();
        let asked = run.query::<(), u32>("none", &()).await.unwrap_err();
        assert!(asked.to_string().contains("none"), "{asked}");
        assert_eq!(engine.query_status("t").await, Ok(Some(RunStatus::Suspended)));
        assert_eq!(engine.cancel_run("t").await, Ok(true));
        assert_eq!(engine.cancel_run("t").await, Ok(false));
        assert_eq!(engine.query_status("t").await, Ok(Some(RunStatus::Cancelled)));
        assert_eq!(engine.query_result::<String>("t").await, Ok(None));
        let ended = run.query::<(), u32>("none", &()).await.unwrap_err();
        assert!(ended.to_string().contains("ended"), "{ended}");
    });
    let function = engine.start("trip").wait();
    assert!(function.is_ok(), "{function:?}");
}

/// Goes on as another function when it is told to.
const PLAN: WorkflowDefinition = WorkflowDefinition {
    name: "plan",
    version: 1,
    parameters: &["days"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let _days: u32 = arguments.take("days")?;
            cx.event::<Go>().await?;
            cx.continue_as(trip())
        })
    },
};

fn plan(days: u32) -> Workflow<String> {
    Workflow::new("plan", 1).argument("days", &days)
}

#[test]
fn a_run_that_went_on_as_another_function_is_found_by_who_starts_it_again() {
    let functions = || just(PLAN).workflow(TRIP).workflow(WALK);
    let mut world = world(functions());
    let first = begin(&world, plan(3), "p");
    go(&world, "p");
    let found = |world: &World, call: Workflow<String>| {
        world.engine().start(call).id("p").wait().map(|it| it.instance())
    };
    assert_eq!(found(&world, plan(3)), Ok(first));
    go(&world, "p");
    go(&world, "p");
    assert_eq!(result(&world, first), "first way");
    assert_eq!(found(&world, plan(3)), Ok(first), "also at its end");

    // Also when nothing but its end is kept.
    world.advance(10_000);
    let short = Retention { history: Some(Duration::from_secs(5)), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&short).expect("sweeps").folded, 1);
    for _ in 0..2 {
        assert_eq!(found(&world, plan(3)), Ok(first));
        assert_eq!(found(&world, trip()), Ok(first), "as what it was at last, too");
        found(&world, Workflow::new("walk", 1)).expect_err("it never was that");
        world.check();
        world.restart();
    }

    // And when it is forgotten, its id is free.
    world.engine().delete(first).expect("it has ended");
    assert_ne!(found(&world, plan(3)), Ok(first));
    found(&world, plan(4)).expect_err("that is another one");
}

#[test]
fn the_id_of_a_run_is_free_once_it_is_deleted_whatever_it_was_at_last() {
    let world = world(just(PLAN).workflow(TRIP));
    let first = begin(&world, plan(3), "p");
    (0..3).for_each(|_| go(&world, "p"));
    assert_eq!(result(&world, first), "first way");
    world.engine().delete(first).expect("it has ended");
    let next = world.engine().start(plan(4)).id("p").wait().expect("nobody has that id");
    assert_ne!(next.instance(), first);
}

#[test]
fn an_id_that_is_a_number_is_told_from_the_number_of_another_run() {
    let world = world(just(TRIP));
    let engine = world.engine();
    let unnamed = engine.start(trip()).wait().expect("it starts");
    let number = unnamed.instance().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found = |id: &str| {
        let run = runtime.block_on(engine.run::<String>(id)).expect("it can be asked");
        run.map(|it| (it.instance(), it.id().to_owned()))
    };
    let by_number = |id: InstanceId| found(&format!("number:{id}"));
    let first = Some((unnamed.instance(), format!("number:{number}")));
    assert_eq!(unnamed.id(), format!("number:{number}"));
    assert_eq!(found(&number), first);
    let named = engine.start(trip()).id(&number).wait().expect("nobody has that id").instance();
    assert_eq!(found(&number), Some((named, number.clone())), "an id goes first");
    assert_eq!(by_number(unnamed.instance()), first);
    assert_eq!(by_number(named), Some((named, number.clone())));
    assert_eq!(found(&named.to_string()), None, "one that has an id goes by that");
    assert_eq!(runtime.block_on(engine.cancel_run(&format!("number:{number}"))), Ok(true));
    assert_eq!(runtime.block_on(engine.query_status(&number)), Ok(Some(RunStatus::Suspended)));
}

#[test]
fn an_event_to_a_number_is_for_who_is_called_so_and_else_for_the_run_of_that_number() {
    let world = world(just(TRIP));
    let engine = world.engine();
    let send = |id: &str| {
        let sent = engine.send_event(Go).to(id).wait().expect("the engine does so");
        world.rest();
        sent
    };
    let received = |sent: Receipt| match sent {
        Receipt::Received(by) => Some(by.instance),
        _ => None,
    };
    let unnamed = engine.start(trip()).wait().expect("it starts");
    let (first, number) = (unnamed.instance(), unnamed.instance().to_string());
    world.rest();
    assert_eq!(received(send(&number)), Some(first), "nobody is called so");
    let named = engine.start(trip()).id(&number).wait().expect("nobody has that id").instance();
    world.rest();
    for _ in 0..2 {
        assert_eq!(received(send(&number)), Some(named), "though the other one has waited longer");
    }
    assert_eq!(result(&world, named), "first way");
    // It has ended, and is called so still.
    assert_eq!(send(&number), Receipt::Held);
    assert_eq!(unnamed.status().wait(), Ok(RunStatus::Suspended));
    assert_eq!(received(send(unnamed.id())), Some(first));
    assert_eq!(result(&world, first), "first way");
}

#[test]
fn an_event_is_kept_for_who_is_called_by_a_number_later() {
    let world = world(just(TRIP));
    let engine = world.engine();
    let send = |id: &str| engine.send_event(Go).to(id).wait().expect("the engine does so");
    for _ in 0..2 {
        assert_eq!(send("1000"), Receipt::Held);
    }
    let other = engine.start(trip()).id("other").wait().expect("it starts").instance();
    let named = engine.start(trip()).id("1000").wait().expect("it starts").instance();
    assert_eq!(result(&world, named), "first way");
    // Who has an id is found by number as well.
    world.rest();
    for _ in 0..2 {
        assert!(matches!(send(&format!("number:{other}")), Receipt::Received(_)));
        world.rest();
    }
    assert_eq!(result(&world, other), "first way");
}

#[test]
fn no_run_can_be_called_like_one_without_an_id() {
    let world = world(just(TRIP));
    let refused = world.engine().start(trip()).id("number:12").wait().map(|it| it.instance());
    let reserved = Error::ReservedId("number:12".into());
    assert!(reserved.to_string().ends_with("choose another id"), "{reserved}");
    assert_eq!(refused, Err(reserved));
}
