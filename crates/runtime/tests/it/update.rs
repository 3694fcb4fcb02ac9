//! Updates: once for each id, and all of it or nothing.

use std::{cell::Cell, rc::Rc, time::Duration};

use serde::{Deserialize, Serialize};
use travertine_func::{Event, Failure, Functions, Workflow, WorkflowDefinition, select};
use travertine_kernel::JournalEntry;
use travertine_runtime::{
    Error, RunStatus,
    engine::{Options, Retention, Run},
};
use travertine_value::Value;

use travertine_store::view::Table;

use crate::world::World;

#[derive(Serialize, Deserialize, Debug)]
struct Go {
    how: String,
}

impl Event for Go {
    const NAME: &'static str = "go";
}

/// Adds up what it is told, until it is to begin anew with that, or to end.
const TALLY: WorkflowDefinition = WorkflowDefinition {
    name: "tally",
    version: 1,
    parameters: &["sum"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let sum = Rc::new(Cell::new(arguments.take::<i64>("sum")?));
            let (changed, seen, filled) = (Rc::clone(&sum), Rc::clone(&sum), Rc::clone(&sum));
            cx.on_query("sum", move |(): ()| seen.get());
            cx.on_update(
                "add",
                |_: &i64| Ok(()),
                move |more: i64| {
                    changed.set(changed.get() + more);
                    assert!(more != 13, "unlucky");
                    if more < 0 {
                        return Err(Failure::new("negative", "it grew smaller"));
                    }
                    Ok(changed.get())
                },
            );
            // More is answered than can be kept.
            cx.on_update(
                "fill",
                |(): &()| Ok(()),
                move |(): ()| {
                    filled.set(0);
                    Ok("x".repeat(17 << 20))
                },
            );
            let stumbles = cx.until(|| {
                assert!(sum.get() != 99, "so much");
                false
            });
            let go = select! { cx;
                go = cx.event::<Go>() => go?,
                stumbled = stumbles => { stumbled?; return Ok(Value::Null) },
            };
            if go.how == "anew" {
                return cx.continue_as(tally(sum.get()));
            }
            Ok(sum.get().into())
        })
    },
};

fn tally(sum: i64) -> Workflow<i64> {
    Workflow::new("tally", 1).argument("sum", &sum)
}

fn world() -> World {
    World::with(Options {
        shards: 2,
        functions: Functions::new().workflow(TALLY),
        ..Options::default()
    })
}

fn run(world: &World) -> Run<i64> {
    let run = world.engine().start(tally(0)).id("ann").wait();
    run.expect("it starts, or is there")
}

fn add(world: &World, more: i64, id: &str) -> Result<i64, Error> {
    run(world).update("add", &more).id(id).wait()
}

fn go(world: &World, how: &str) {
    let sent = world.engine().send_event(Go { how: how.to_owned() }).to("ann").wait();
    sent.expect("it is sent");
    world.rest();
}

#[test]
fn an_update_that_is_sent_again_changes_nothing_and_has_the_same_answer() {
    let mut world = world();
    assert_eq!(add(&world, 1, "a"), Ok(1));
    assert_eq!(add(&world, 5, "b"), Ok(6));
    assert_eq!(add(&world, 1, "a"), Ok(1));
    world.restart();
    assert_eq!(add(&world, 5, "b"), Ok(6), "also after a restart");
    assert_eq!(run(&world).update("add", &1).wait(), Ok(7), "without an id it is another one");

    // A failure is an answer too, and what was changed before it stays.
    let failed = add(&world, -3, "c").expect_err("it fails");
    let Error::Function { failure, .. } = &failed else { panic!("{failed}") };
    assert!(failure.code == "negative" && failure.retryable);
    assert_eq!(add(&world, -3, "c"), Err(failed));

    go(&world, "anew");
    assert_eq!(add(&world, 5, "b"), Ok(6), "also after it has begun anew");
    assert_eq!(add(&world, 1, "d"), Ok(5));
    world.restart();
    go(&world, "end");
    assert_eq!(add(&world, 1, "d"), Ok(5), "also after its end");
    assert!(add(&world, 1, "e").expect_err("it has ended").to_string().contains("ended"));
    world.check();
    world.restart();
    assert_eq!(add(&world, 1, "a"), Ok(1));
    assert_eq!(result(&world), 5);

    world.advance(10_000);
    let short = Retention { history: Some(Duration::from_secs(5)), ..Retention::default() };
    assert_eq!(world.engine().sweep_with(&short).expect("sweeps").folded, 1);
    assert_eq!(add(&world, 5, "b"), Ok(6), "also when its history is gone");
    world.check();
    world.restart();
    assert_eq!(add(&world, 1, "d"), Ok(5));
}

#[test]
fn an_update_whose_handler_panics_is_refused_and_changes_nothing() {
    let mut world = world();
    assert_eq!(add(&world, 1, "a"), Ok(1));
    for again in 0..2 {
        let refused = add(&world, 13, "b").expect_err("the handler panics");
        let Error::Function { failure, .. } = &refused else { panic!("{refused}") };
        assert_eq!(failure.code, "handler");
        let said = failure.message.as_str();
        assert!(said.starts_with("update `add`: the code panicked at "), "{said}");
        assert!(said.ends_with(": unlucky; nothing has changed"), "{said}");

        // What was changed before it panicked is not there, and the run goes on.
        assert_eq!(sum(&world), 1);
        assert_eq!(world.rows(Table::Incidents, Vec::new()), []);
        assert_eq!(run(&world).status().wait(), Ok(RunStatus::Suspended));
        assert_eq!(updates(&world), [1], "and it does not stand in the journal");
        if again == 0 {
            world.restart();
        }
    }
    // Its id is not taken.
    assert_eq!(add(&world, 2, "b"), Ok(3));

    // The same goes for an answer that cannot be kept.
    let filled: Result<String, Error> = run(&world).update("fill", &()).id("c").wait();
    let refused = filled.expect_err("the answer is too big");
    assert!(refused.to_string().contains("an update is answered with too much"), "{refused}");
    assert_eq!((sum(&world), updates(&world)), (3, vec![1, 2]));
    world.check();
    go(&world, "end");
    assert_eq!(result(&world), 3);
}

/// A panic in the code that the update has woken is no fault of the update.
#[test]
fn an_update_after_which_the_code_panics_is_kept() {
    let world = world();
    let stuck = add(&world, 99, "a").expect_err("the code panics");
    assert!(stuck.to_string().contains("see its incident"), "{stuck}");
    assert_eq!(updates(&world), [99]);
    let again = add(&world, 99, "a").expect_err("it stands still");
    assert!(again.to_string().contains("blocked"), "{again}");
    assert_eq!(updates(&world), [99]);
}

fn sum(world: &World) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it is small");
    runtime.block_on(run(world).query("sum", &())).expect("it answers")
}

/// The updates that stand in the journal.
fn updates(world: &World) -> Vec<i64> {
    let live = world.engine().look(run(world).instance()).wait().expect("it is there");
    let entries = live.state.journal.as_ref().map_or(&[][..], |it| &it.entries);
    let updates = entries.iter().filter_map(|it| match &**it {
        JournalEntry::Updated { input, .. } => input.as_i64(),
        _ => None,
    });
    updates.collect()
}

fn result(world: &World) -> i64 {
    run(world).wait().expect("it has a result")
}
