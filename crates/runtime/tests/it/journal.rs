//! Functions whose journals grow.

use travertine_func::{Event, Functions, Workflow, WorkflowDefinition};
use travertine_kernel::Budgets;
use travertine_runtime::{Error, InstanceId, Settings, engine::Options};
use travertine_store::view::{Row, Table};
use travertine_value::Value;

use crate::world::World;

#[derive(serde::Serialize, serde::Deserialize, Debug)]
struct Tick {
    text: String,
}

impl Event for Tick {
    const NAME: &'static str = "tick";
}

/// Hears events for ever.
const HEARS: WorkflowDefinition = WorkflowDefinition {
    name: "hears",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            loop {
                cx.event::<Tick>().await?;
            }
        })
    },
};

/// Hears events, and begins anew after so many.
const BEGINS_ANEW: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            for _ in 0..10 {
                cx.event::<Tick>().await?;
            }
            cx.continue_as(Workflow::<Value>::new("hears", 1))
        })
    },
    ..HEARS
};

fn world(budgets: Budgets) -> World {
    let settings = Settings { budgets, ..Settings::default() };
    let functions = Functions::new().workflow(HEARS);
    World::with(Options { shards: 1, settings, functions, ..Options::default() })
}

fn begin(world: &World) -> InstanceId {
    let started = world.engine().start(Workflow::<Value>::new("hears", 1)).id("a").wait();
    started.expect("it starts").instance()
}

fn tick(world: &World, text: &str) {
    let text = text.to_owned();
    world.engine().send_event(Tick { text }).to("a").wait().expect("it is sent");
    world.rest();
}

fn incident(world: &World) -> Option<String> {
    let rows = world.rows(Table::Incidents, Vec::new());
    let row = rows.first()?;
    let Row::Incident(it) = row else { panic!("{row:?}") };
    Some(it.message.to_string())
}

#[test]
fn a_journal_with_too_many_entries_or_bytes_is_an_incident_that_names_the_way_out() {
    let entries = Budgets { journal_entries: 20, ..Budgets::default() };
    let bytes = Budgets { journal_bytes: 4_000, ..Budgets::default() };
    for (budgets, text, field) in
        [(entries, String::new(), "journal_entries"), (bytes, "x".repeat(300), "journal_bytes")]
    {
        let mut world = world(budgets);
        let id = begin(&world);
        for _ in 0..20 {
            tick(&world, &text);
        }
        let message = incident(&world).expect("it has grown too much");
        for part in ["continue_as", "continue-as-new", field] {
            assert!(message.contains(part), "{message}");
        }
        world.check();
        // The same code cannot go on, and nothing is written about that.
        let before = world.engine().metrics().entries;
        world.restart();
        world.rest();
        assert!(incident(&world).is_some());
        assert!(world.engine().metrics().entries <= before);
        // Code that begins anew can, and hears what came meanwhile.
        world.restart_with(Functions::new().workflow(BEGINS_ANEW));
        world.rest();
        assert_eq!(incident(&world), None);
        tick(&world, "it hears what comes now");
        world.engine().cancel(id).wait().expect("it ends");
        world.check();
    }
}

#[test]
fn a_function_whose_journal_is_full_can_still_be_cancelled() {
    let world = world(Budgets { journal_entries: 0, ..Budgets::default() });
    let started = world.engine().start(Workflow::<Value>::new("hears", 1)).id("a").wait();
    let id = started.expect("it starts").instance();
    world.rest();
    // It could not ask for its first event.
    assert!(incident(&world).is_some());
    let cancelled = world.engine().cancel(id).wait();
    assert!(matches!(cancelled, Ok(()) | Err(Error::Rejected(_))), "{cancelled:?}");
}
