//! Updates: once for each id, and all of it or nothing.

use std::{cell::Cell, rc::Rc};

use serde::{Deserialize, Serialize};
use travertine_func::{Event, Failure, Functions, Workflow, WorkflowDefinition};
use travertine_runtime::{
    Error,
    engine::{Options, Run},
};

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
            let (changed, seen) = (Rc::clone(&sum), Rc::clone(&sum));
            cx.on_query("sum", move |(): ()| seen.get());
            cx.on_update(
                "add",
                |_: &i64| Ok(()),
                move |more: i64| {
                    changed.set(changed.get() + more);
                    if more < 0 {
                        return Err(Failure::new("negative", "it grew smaller"));
                    }
                    Ok(changed.get())
                },
            );
            let go = cx.event::<Go>().await?;
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
}

fn result(world: &World) -> i64 {
    run(world).wait().expect("it has a result")
}
