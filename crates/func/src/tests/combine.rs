//! Races, joins, branches and batches.

use std::cell::{Cell, RefCell};

use expect_test::expect;
use travertine_value::Value;

use super::{Cancel, HOUR, act, driver::Driver, function};
use crate::{Context, Flow, Stop, WorkflowDefinition, merge, select};

/// covers: ENGINE-71
#[test]
fn the_first_in_the_journal_wins_and_the_others_are_dropped() {
    let code = function!(|cx| {
        let result = select! { cx;
            event = cx.event::<Cancel>() => event?.reason,
            slept = cx.sleep(HOUR) => { slept?; "late".to_owned() },
            n = cx.call(act::<u64>("n")) => n?.to_string(),
        };
        cx.sleep(HOUR).await?;
        Ok::<_, Stop>(result)
    });
    let mut driver = Driver::new(code);
    driver.fire("sleep");
    driver.fire("sleep#2");
    expect![[r#"
        > began
        ask event cancel
        ask sleep
        ask activity n
        > sleep done
        drop event cancel
        drop activity n
        ask sleep#2
        > sleep#2 done
        completed: "late"
    "#]]
    .assert_eq(&driver.trace());
    driver.check();
    let mut driver = Driver::new(code);
    driver.done("activity n", 3);
    driver.fire("sleep#2");
    assert_eq!(driver.completed(), "3".into());
    driver.check();
}

/// covers: ENGINE-71
#[test]
fn a_race_that_begins_late_is_won_by_what_was_done_first() {
    let code = function!(|cx| {
        let a = cx.call(act::<()>("a")).start();
        let b = cx.call(act::<()>("b")).start();
        cx.sleep(HOUR).await?;
        let parts = async { cx.join(a, cx.until(|| true)).await };
        Ok::<_, Stop>(select! { cx; _ = parts => "a", _ = b => "b" })
    });
    for (first, second, winner) in
        [("activity a", "activity b", "a"), ("activity b", "activity a", "b")]
    {
        let mut driver = Driver::new(code);
        driver.done(first, Value::Null);
        driver.done(second, Value::Null);
        driver.fire("sleep");
        assert_eq!(driver.completed(), winner.into());
        driver.check();
    }
}

#[test]
fn eight_arms_race() {
    let mut driver = Driver::new(function!(|cx| {
        let call = |name| cx.call(act::<u64>(name));
        let n = select! { cx;
            n = call("a") => n?, n = call("b") => n?, n = call("c") => n?, n = call("d") => n?,
            n = call("e") => n?, n = call("f") => n?, n = call("g") => n?, n = call("h") => n? + 1,
        };
        let (index, last) = cx.race(["x", "y", "z"].map(call)).await;
        Ok::<_, Stop>((n, index, last?))
    }));
    driver.done("activity h", 1);
    driver.done("activity y", 5);
    assert_eq!(driver.completed().to_json(), "[2,1,5]");
    driver.check();
}

#[test]
fn joins_answer_in_the_order_of_their_questions() {
    let mut driver = Driver::new(function!(|cx| {
        let all = cx.join_all((0..3).map(|_| cx.call(act::<u64>("n")))).await;
        Ok::<_, Stop>(all.into_iter().collect::<Result<Vec<_>, _>>()?)
    }));
    driver.done("activity n#3", 3);
    driver.done("activity n", 1);
    driver.evict();
    driver.done("activity n#2", 2);
    assert_eq!(driver.completed().to_json(), "[1,2,3]");
    driver.check();
}

fn fan() -> WorkflowDefinition {
    function!(|cx| {
        let branches = (1..=3).map(|n: u64| {
            async move |cx: Context| {
                let a: u64 = cx.call(act("a").argument("n", &n)).await?;
                let b: u64 = cx.call(act("b")).await?;
                Ok(vec![a, b])
            }
        });
        cx.fan_out(branches, merge::Append).await
    })
}

/// covers: CONTEXT-35
#[test]
fn branches_are_merged_by_their_order_and_not_by_that_of_their_ends() {
    let mut driver = Driver::new(fan());
    driver.done("fan_out[2]/activity a", 5);
    driver.done("fan_out[0]/activity a", 1);
    driver.done("fan_out[2]/activity b", 6);
    driver.evict();
    driver.done("fan_out[1]/activity a", 3);
    driver.done("fan_out[1]/activity b", 4);
    assert_eq!(driver.session.waits(), ["fan_out[0]/activity b".into()], "all must arrive");
    driver.done("fan_out[0]/activity b", 2);
    assert_eq!(driver.completed().to_json(), "[1,2,3,4,5,6]");
    driver.check();
}

#[test]
fn a_failed_branch_ends_the_others() {
    let mut driver = Driver::new(fan());
    driver.done("fan_out[0]/activity a", 1);
    driver.fail("fan_out[1]/activity a", "no");
    expect![[r"
        > began
        ask fan_out[0]/activity a
        ask fan_out[1]/activity a
        ask fan_out[2]/activity a
        > fan_out[0]/activity a done
        ask fan_out[0]/activity b
        > fan_out[1]/activity a failed: it did
        drop fan_out[0]/activity b
        drop fan_out[2]/activity a
        failed: no: it did
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn a_branch_that_must_end_may_clear_up() {
    let mut driver = Driver::new(function!(|cx| {
        let branches = ["x", "y"].map(|name| {
            async move |cx: Context| {
                let mut saga = cx.saga();
                let body = async {
                    saga.step(cx.call(act::<()>("take")), |()| act::<()>("give")).await?;
                    Ok(cx.call(act::<()>(name)).await?)
                }
                .await;
                saga.finish(body).await
            }
        });
        cx.fan_out(branches, merge::All).await
    }));
    driver.done("fan_out[0]/activity take", Value::Null);
    driver.fail("fan_out[1]/activity take", "no");
    expect![[r"
        > began
        ask fan_out[0]/activity take
        ask fan_out[1]/activity take
        > fan_out[0]/activity take done
        ask fan_out[0]/activity x
        > fan_out[1]/activity take failed: it did
        drop fan_out[0]/activity x
        ask fan_out[0]/activity give
        waits for fan_out[0]/activity give
    "]]
    .assert_eq(&driver.trace());
    driver.done("fan_out[0]/activity give", Value::Null);
    assert_eq!(driver.failed().code.as_deref(), Some("no"));
    driver.check();
}

/// covers: CONTEXT-38
#[test]
fn nested_branches_and_batches_do_not_disturb_one_another() {
    let mut driver = Driver::new(function!(|cx| {
        let branches = [10_u64, 20].map(|n| {
            async move |cx: Context| {
                let inner = [1, 2]
                    .map(|m| async move |cx: Context| Ok(n + m + cx.call(act::<u64>("a")).await?));
                let inner =
                    cx.fan_out(inner, merge::With(|all: Vec<u64>| all.iter().sum::<u64>())).await?;
                let sizes = cx.batch([1, 2, 3], 2, 1, async |cx, slice| {
                    cx.call(act::<()>("b")).await?;
                    Ok(slice.len() as u64)
                });
                Ok::<u64, Stop>(inner + sizes.await?.iter().sum::<u64>())
            }
        });
        cx.fan_out(branches, merge::All).await
    }));
    for branch in [1, 0] {
        for inner in [1, 0] {
            driver.done(&format!("fan_out[{branch}]/fan_out[{inner}]/activity a"), 0);
        }
    }
    for slice in [0, 1] {
        for branch in [0, 1] {
            driver.done(&format!("fan_out[{branch}]/batch[{slice}]/activity b"), Value::Null);
        }
    }
    assert_eq!(driver.completed().to_json(), "[26,46]");
    driver.check();
}

thread_local! {
    /// How many slices run, and how many did at most.
    static IN_FLIGHT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static SLICES: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

async fn slice(cx: Context, items: Vec<u32>) -> Flow<u32> {
    let (now, most) = IN_FLIGHT.get();
    IN_FLIGHT.set((now + 1, most.max(now + 1)));
    SLICES.with_borrow_mut(|it| it.push(items.clone()));
    cx.call(act::<()>("work")).await?;
    IN_FLIGHT.set((IN_FLIGHT.get().0 - 1, IN_FLIGHT.get().1));
    Ok(items.into_iter().sum())
}

/// covers: CONTEXT-37
#[test]
fn a_batch_keeps_its_size_and_its_parallelism() {
    for parallel in 1..=4_usize {
        IN_FLIGHT.set((0, 0));
        SLICES.take();
        let definition = match parallel {
            1 => function!(|cx| { cx.batch(1..=7, 2, 1, slice).await }),
            2 => function!(|cx| { cx.batch(1..=7, 2, 2, slice).await }),
            3 => function!(|cx| { cx.batch(1..=7, 2, 3, slice).await }),
            _ => function!(|cx| { cx.batch(1..=7, 2, 9, slice).await }),
        };
        let mut driver = Driver::new(definition);
        let mut ended = 0;
        // The last of those that run ends first.
        while let Some(key) = driver.session.waits().last().cloned() {
            driver.done(&key, Value::Null);
            ended += 1;
        }
        assert_eq!(ended, 4, "as many slices as it takes, rounded up");
        assert_eq!(IN_FLIGHT.get(), (0, parallel));
        let slices = SLICES.take();
        assert_eq!(
            slices,
            [vec![1, 2], vec![3, 4], vec![5, 6], vec![7]],
            "each item once, in order"
        );
        assert_eq!(driver.completed().to_json(), "[3,7,11,7]", "whatever the order of their ends");
        driver.check();
    }
}

#[test]
fn a_batch_without_size_is_refused_and_one_without_items_is_done() {
    let driver = Driver::new(function!(|cx| { cx.batch(1..=7, 0, 1, slice).await }));
    assert_eq!(driver.failed().message, "1 slices of 0 items: both must be at least 1");
    let driver = Driver::new(function!(|cx| { cx.batch(0..0, 5, 1, slice).await }));
    assert_eq!(driver.completed().to_json(), "[]");
}

#[test]
fn no_slice_begins_after_one_has_failed() {
    let mut driver = Driver::new(function!(|cx| { cx.batch(1..=7, 2, 2, slice).await }));
    driver.fail("batch[1]/activity work", "no");
    expect![[r"
        > began
        ask batch[0]/activity work
        ask batch[1]/activity work
        > batch[1]/activity work failed: it did
        drop batch[0]/activity work
        failed: no: it did
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn a_branch_is_polled_only_when_it_can_go_on() {
    thread_local!(static POLLS: Cell<usize> = const { Cell::new(0) });
    let mut driver = Driver::new(function!(|cx| {
        let branches = (0..100).map(|_| {
            async |cx: Context| {
                let mut call = std::pin::pin!(cx.call(act::<()>("a")).start());
                std::future::poll_fn(|task| {
                    POLLS.set(POLLS.get() + 1);
                    call.as_mut().poll(task)
                })
                .await?;
                Ok(())
            }
        });
        cx.fan_out(branches, merge::With(|all: Vec<()>| all.len())).await
    }));
    for branch in (0..100).rev() {
        driver.done(&format!("fan_out[{branch}]/activity a"), Value::Null);
    }
    assert_eq!((POLLS.get(), driver.completed()), (200, 100.into()));
}
