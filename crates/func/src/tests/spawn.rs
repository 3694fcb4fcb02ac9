//! Children beside their parents.

use expect_test::expect;

use super::{HOUR, act, driver::Driver, function};
use crate::{Context, SessionSettings, Workflow, WorkflowDefinition, merge};

fn child() -> Workflow<u64> {
    Workflow::new("child", 1)
}

fn parent() -> WorkflowDefinition {
    function!(|cx| {
        cx.spawn(child());
        match cx.sleep(HOUR).await {
            Ok(()) => Ok::<_, crate::Stop>("slept".to_owned()),
            Err(failure) if failure.is_child() => {
                cx.call(act::<()>("report")).await?;
                Ok(failure.to_string())
            }
            Err(failure) => Err(failure.into()),
        }
    })
}

/// covers: ENGINE-47, ENGINE-75
#[test]
fn a_failed_child_interrupts_what_is_open_and_nothing_later() {
    let mut driver = Driver::new(parent());
    driver.fail("child child", "lost");
    driver.done("activity report", None::<bool>);
    expect![[r#"
        > began
        ask child child
        ask sleep
        > child child failed: it did
        drop sleep
        ask activity report
        > activity report done
        completed: "child failed: lost: it did"
    "#]]
    .assert_eq(&driver.trace());
    driver.check();
}

/// covers: ENGINE-47, ENGINE-81
#[test]
fn where_failures_are_isolated_nobody_is_interrupted() {
    let settings =
        SessionSettings { propagate_child_failures: false, ..SessionSettings::default() };
    let mut driver = Driver::with(parent(), settings, vec![]);
    driver.fail("child child", "lost");
    driver.fire("sleep");
    assert_eq!(driver.completed(), "slept".into());
    driver.check();

    let mut driver = Driver::new(function!(|cx| {
        let beside = cx.spawn(child()).isolated();
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(beside.await.is_err())
    }));
    driver.fail("child child", "lost");
    driver.fire("sleep");
    assert_eq!(driver.completed(), true.into());
    driver.check();
}

#[test]
fn a_shielded_parent_learns_of_it_afterwards() {
    let mut driver = Driver::new(function!(|cx| {
        cx.spawn(child());
        cx.shield(cx.call(act::<()>("write"))).await?;
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(())
    }));
    driver.fail("child child", "lost");
    assert_eq!(driver.session.waits(), ["activity write".into()]);
    driver.done("activity write", None::<bool>);
    assert_eq!(driver.failed().code.as_deref(), Some("lost"));
    driver.check();
}

#[test]
fn a_spawned_child_goes_on_when_its_handle_is_dropped_and_ends_when_it_is_cancelled() {
    let mut driver = Driver::new(function!(|cx| {
        drop(cx.spawn(child()));
        let second = cx.spawn(child());
        let third = cx.spawn(child());
        second.cancel();
        Ok::<_, crate::Stop>(third.await?)
    }));
    driver.done("child child#3", 5);
    expect![[r"
        > began
        ask child child
        ask child child#2
        ask child child#3
        drop child child#2
        > child child#3 done
        completed: 5
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn branches_are_interrupted_too() {
    let mut driver = Driver::new(function!(|cx| {
        cx.spawn(child());
        let branches = [1, 2].map(|_| async |cx: Context| Ok(cx.sleep(HOUR).await?));
        cx.fan_out(branches, merge::All).await
    }));
    driver.fail("child child", "lost");
    assert_eq!(driver.failed().code.as_deref(), Some("lost"));
    driver.check();
}
