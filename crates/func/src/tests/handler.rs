//! Queries and updates, and conditions over what they change.

use std::{cell::Cell, rc::Rc};

use expect_test::expect;
use travertine_value::Value;

use super::{HOUR, driver::Driver, function};
use crate::{Failure, WorkflowDefinition};

fn counter() -> WorkflowDefinition {
    function!(|cx| {
        let count = Rc::new(Cell::new(0_u64));
        let seen = Rc::clone(&count);
        cx.on_query("count", move |(): ()| seen.get());
        let asking = cx.clone();
        cx.on_query("greedy", move |(): ()| {
            drop(asking.sleep(HOUR).start());
        });
        cx.on_query("broken", |(): ()| -> u64 { panic!("no") });
        let added = Rc::clone(&count);
        cx.on_update(
            "add",
            |n: &u64| if *n < 10 { Ok(()) } else { Err(Failure::terminal("many", "too many")) },
            move |n: u64| {
                added.set(added.get() + n);
                Ok(added.get())
            },
        );
        cx.until(|| count.get() >= 5).await?;
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(count.get())
    })
}

#[test]
fn updates_change_what_the_code_has_and_are_answered() {
    let mut driver = Driver::new(counter());
    driver.update("add", 2);
    driver.evict();
    assert_eq!(driver.session.query("count", &Value::Null), Ok(2.into()));
    driver.update("add", 3);
    driver.update("add", 1);
    driver.fire("sleep");
    let answers: Vec<_> = driver.answers.iter().map(|it| (it.entry, it.result.clone())).collect();
    assert_eq!(answers, [(1, Ok(2.into())), (2, Ok(5.into())), (4, Ok(6.into()))]);
    expect![[r"
        > began
        > add(2)
        > add(3)
        ask sleep
        > add(1)
        > sleep done
        completed: 6
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn updates_are_validated_without_a_trace() {
    let driver = Driver::new(counter());
    assert_eq!(driver.session.validate_update("add", &1.into()), Ok(()));
    assert_eq!(driver.session.validate_update("add", &10.into()).unwrap_err().code, "many");
    assert_eq!(driver.session.validate_update("add", &"x".into()).unwrap_err().code, "decode");
    assert_eq!(driver.session.query("count", &Value::Null), Ok(0.into()));
}

#[test]
fn what_nobody_handles_is_refused_with_what_there_is() {
    let mut driver = Driver::new(counter());
    driver.update("take", 1);
    let failure = driver.answers[0].result.clone().unwrap_err();
    assert_eq!(failure.to_string(), "no-such-update: no update `take`; there is `add`");
    let failure = driver.session.query("sum", &Value::Null).unwrap_err();
    assert_eq!(failure.message, "no query `sum`; there is `broken`, `count`, `greedy`");
    driver.check();
}

#[test]
fn a_query_may_only_look() {
    let mut driver = Driver::new(counter());
    let failure = driver.session.query("greedy", &Value::Null).unwrap_err();
    assert_eq!(failure.message, "handler of `greedy`: it may only look, and asks for `sleep`");
    let failure = driver.session.query("broken", &Value::Null).unwrap_err();
    assert!(failure.message.contains("the code panicked at"), "{failure}");
    driver.update("add", 5);
    assert_eq!(driver.session.waits(), ["sleep".into()], "the code goes on as if nothing had been");
}

#[test]
fn a_condition_sees_what_another_branch_has_just_done() {
    let mut driver = Driver::new(function!(|cx| {
        let open = Cell::new(false);
        let waits = async {
            cx.until(|| open.get()).await?;
            cx.sleep(HOUR).await
        };
        let opens = async {
            cx.sleep(HOUR).await?;
            open.set(true);
            Ok::<_, Failure>(())
        };
        let (waited, opened) = cx.join(waits, opens).await;
        waited?;
        Ok::<_, crate::Stop>(opened?)
    }));
    driver.fire("sleep");
    assert_eq!(driver.session.waits(), ["sleep#2".into()], "in the same step");
    driver.fire("sleep#2");
    driver.completed();
    driver.check();
}
