//! Whatever happens in whatever order: the same journal, the same decisions.

use std::{cell::Cell, rc::Rc};

use travertine_kernel::Decision;

use super::{Cancel, HOUR, act, driver::Driver, function};
use crate::{Context, Random, Stop, Workflow, WorkflowDefinition, merge, select};

/// A bit of everything.
fn everything() -> WorkflowDefinition {
    function!(|cx| {
        let steps = Rc::new(Cell::new(0_u64));
        let add = Rc::clone(&steps);
        cx.on_update(
            "add",
            |_: &u64| Ok(()),
            move |n: u64| {
                add.set(add.get() + n);
                Ok(add.get())
            },
        );
        let beside = cx.spawn(Workflow::<u64>::new("beside", 1));
        if cx.random().below(2) == 0 {
            cx.send(Cancel { reason: "because".into() }).await?;
        }
        let mut saga = cx.saga();
        let body = async {
            saga.step(cx.call(act::<u64>("charge")), |n| act::<u64>("refund").argument("n", &n))
                .await?;
            let branches = (0..3_u64).map(|n| {
                async move |cx: Context| {
                    let won = select! { cx;
                        it = cx.call(act::<u64>("a")) => it?,
                        it = cx.timeout(HOUR, cx.event::<Cancel>()) => it.map_or(0, |_| 1),
                    };
                    cx.gosub("again", async |cx| cx.call(act::<u64>("b")).await).await?;
                    Ok(won + n)
                }
            });
            let won: Vec<u64> = cx.fan_out(branches, merge::All).await?;
            let seen = Rc::clone(&steps);
            let (waited, slices) = cx
                .join(
                    cx.until(move || seen.get() > 0),
                    cx.batch(0..5_u64, 2, 2, async |cx, slice| {
                        cx.call(act::<u64>("c")).await?;
                        Ok(slice.len())
                    }),
                )
                .await;
            waited?;
            Ok::<_, Stop>((won, slices?.len(), cx.record("steps", || 3)))
        }
        .await;
        let done = saga.finish(body).await?;
        let last = match beside.await {
            Err(failure) if failure.is_cancelled() => return Err(Stop::Cancelled),
            other => other.unwrap_or(0),
        };
        Ok((done, last))
    })
}

#[test]
fn every_order_of_everything_replays() {
    let mut ends = [0; 3];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut driver = Driver::new(everything());
        for _ in 0..80 {
            let open = driver.session.waits();
            let ended = driver.last().is_some_and(|it| {
                matches!(it, Decision::Complete { .. } | Decision::Fail(_) | Decision::Cancel)
            });
            if ended || (open.is_empty() && random.below(3) == 0) {
                break;
            }
            driver.now += 1;
            match (random.below(40), random.pick(&open)) {
                (0, _) => driver.cancel(),
                (1..=4, _) | (_, None) => driver.update("add", 1),
                (5..=9, _) => driver.evict(),
                (10, Some(key)) => driver.fail(key, "no"),
                (_, Some(key)) if key.contains("event") => {
                    driver.end(key, Ok(vec![("reason".into(), "x".into())]));
                }
                (_, Some(key)) => driver.done(key, random.below(10)),
            }
        }
        match driver.last() {
            Some(Decision::Complete { .. }) => ends[0] += 1,
            Some(Decision::Fail(_)) => ends[1] += 1,
            Some(Decision::Cancel) => ends[2] += 1,
            _ => {}
        }
        driver.check();
    }
    assert!(ends.iter().all(|it| *it > 10), "all kinds of ends are tried: {ends:?}");
}
