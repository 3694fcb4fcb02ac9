//! Steps and what undoes them.

use expect_test::expect;
use travertine_kernel::Decision;
use travertine_value::Value;

use super::{HOUR, act, driver::Driver, function};
use crate::{Activity, WorkflowDefinition};

fn undo(name: &'static str) -> impl FnOnce(String) -> Activity<()> {
    move |id| act(name).argument("id", &id)
}

fn order() -> WorkflowDefinition {
    function!(|cx| {
        let mut saga = cx.saga();
        let body = async {
            saga.step(cx.call(act("charge")), undo("refund")).await?;
            saga.step(cx.call(act("reserve")), undo("release")).await?;
            cx.sleep(HOUR).await?;
            Ok(cx.call(act::<String>("ship")).await?)
        }
        .await;
        saga.finish(body).await
    })
}

#[test]
fn steps_are_undone_the_last_one_first() {
    let mut driver = Driver::new(order());
    driver.done("activity charge", "c");
    driver.done("activity reserve", "r");
    driver.fire("sleep");
    driver.fail("activity ship", "lost");
    driver.evict();
    driver.done("activity release", Value::Null);
    driver.done("activity refund", Value::Null);
    expect![[r"
        > began
        ask activity charge
        > activity charge done
        ask activity reserve
        > activity reserve done
        ask sleep
        > sleep done
        ask activity ship
        > activity ship failed: it did
        ask activity release
        > activity release done
        ask activity refund
        > activity refund done
        failed: lost: it did
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn what_was_not_done_is_not_undone() {
    let mut driver = Driver::new(order());
    driver.done("activity charge", "c");
    driver.fail("activity reserve", "no-stock");
    driver.done("activity refund", Value::Null);
    assert_eq!(driver.failed().code.as_deref(), Some("no-stock"));
    driver.check();
}

#[test]
fn a_cancelled_saga_waits_for_its_step_and_undoes_it_too() {
    let mut driver = Driver::new(order());
    driver.done("activity charge", "c");
    driver.cancel();
    assert_eq!(driver.session.waits(), ["activity reserve".into()]);
    driver.done("activity reserve", "r");
    driver.done("activity release", Value::Null);
    driver.done("activity refund", Value::Null);
    expect![[r"
        > began
        ask activity charge
        > activity charge done
        ask activity reserve
        > cancelled
        > activity reserve done
        ask activity release
        > activity release done
        ask activity refund
        > activity refund done
        ended: cancelled
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn what_cannot_be_undone_does_not_keep_the_rest() {
    let mut driver = Driver::new(order());
    driver.done("activity charge", "c");
    driver.done("activity reserve", "r");
    driver.cancel();
    driver.fail("activity release", "stuck");
    driver.done("activity refund", Value::Null);
    let failure = driver.failed();
    expect!["not all could be undone (stuck: it did) after cancelled: the function was cancelled"]
        .assert_eq(&failure.message);
    assert_eq!(failure.code.as_deref(), Some("compensation"));
    driver.check();
}

#[test]
fn a_saga_that_went_well_undoes_nothing() {
    let mut driver = Driver::new(order());
    driver.done("activity charge", "c");
    driver.done("activity reserve", "r");
    driver.fire("sleep");
    driver.done("activity ship", "s");
    assert_eq!(driver.completed(), "s".into());
}

#[test]
fn no_step_begins_once_the_function_is_cancelled() {
    let mut driver = Driver::new(function!(|cx| {
        let slept = cx.sleep(HOUR).await;
        let mut saga = cx.saga();
        let step = saga.step(cx.call(act("charge")), undo("refund")).await;
        assert!(step.unwrap_err().is_cancelled());
        slept?;
        saga.finish(Ok(())).await
    }));
    driver.cancel();
    assert_eq!(driver.last(), Some(&Decision::Cancel));
    driver.check();
}
