//! What happens when someone wants a function to end.

use expect_test::expect;
use travertine_kernel::Decision;

use super::{HOUR, act, driver::Driver, function};

#[test]
fn every_operation_answers_that_it_was_cancelled_and_nothing_more_is_asked() {
    let mut driver = Driver::new(function!(|cx| {
        let first = cx.sleep(HOUR).await;
        let second = cx.call(act::<()>("more")).await;
        let third = cx.send(super::Cancel { reason: String::new() }).await;
        assert!(cx.is_cancelled());
        assert!([&first, &second, &third].iter().all(|it| it.as_ref().unwrap_err().is_cancelled()));
        first?;
        Ok::<_, crate::Stop>(())
    }));
    driver.cancel();
    expect![[r"
        > began
        ask sleep
        > cancelled
        drop sleep
        ended: cancelled
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn a_shield_lets_what_is_inside_go_on() {
    let mut driver = Driver::new(function!(|cx| {
        let slept = cx.sleep(HOUR).await;
        cx.shield(async {
            cx.call(act::<()>("tidy")).await?;
            cx.call(act::<()>("lock")).await
        })
        .await?;
        assert!(cx.call(act::<()>("more")).await.is_err());
        slept?;
        Ok::<_, crate::Stop>(())
    }));
    driver.cancel();
    driver.evict();
    driver.done("activity tidy", None::<bool>);
    driver.done("activity lock", None::<bool>);
    expect![[r"
        > began
        ask sleep
        > cancelled
        drop sleep
        ask activity tidy
        > activity tidy done
        ask activity lock
        > activity lock done
        ended: cancelled
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn what_was_shielded_when_it_was_asked_for_is_not_interrupted() {
    let mut driver = Driver::new(function!(|cx| {
        let charged: u64 = cx.shield(cx.call(act("charge"))).await?;
        assert!(cx.sleep(HOUR).await.is_err());
        Ok::<_, crate::Stop>(charged)
    }));
    driver.cancel();
    assert_eq!(driver.session.waits(), ["activity charge".into()]);
    driver.done("activity charge", 5);
    assert_eq!(driver.completed(), 5.into(), "the code may end as it likes");
    driver.check();
}

#[test]
fn what_was_done_before_stays_done() {
    let mut driver = Driver::new(function!(|cx| {
        let charge = cx.call(act::<u64>("charge")).start();
        let slept = cx.sleep(HOUR).await;
        assert!(slept.unwrap_err().is_cancelled());
        Ok::<_, crate::Stop>(charge.await?)
    }));
    driver.done("activity charge", 5);
    driver.cancel();
    assert_eq!(driver.completed(), 5.into());
    driver.check();
}

#[test]
fn conditions_are_cancelled_too() {
    let mut driver = Driver::new(function!(|cx| {
        cx.until(|| false).await?;
        Ok::<_, crate::Stop>(())
    }));
    driver.cancel();
    assert_eq!(driver.last(), Some(&Decision::Cancel));
    driver.check();
}
