//! Code that changes while instances of it run.

use super::{HOUR, act, driver::Driver, function};
use crate::{Context, Failure, WorkflowDefinition};

async fn taxed(cx: &Context) -> Result<u64, Failure> {
    if cx.patched("new-tax") { cx.call(act("tax-2")).await } else { cx.call(act("tax-1")).await }
}

fn old() -> WorkflowDefinition {
    function!(|cx| {
        cx.sleep(HOUR).await?;
        let a: u64 = cx.call(act("tax-1")).await?;
        cx.sleep(HOUR).await?;
        let b: u64 = cx.call(act("tax-1")).await?;
        Ok::<_, crate::Stop>(a + b)
    })
}

fn patched() -> WorkflowDefinition {
    function!(|cx| {
        cx.sleep(HOUR).await?;
        let a = taxed(&cx).await?;
        cx.sleep(HOUR).await?;
        let b = taxed(&cx).await?;
        Ok::<_, crate::Stop>(a + b)
    })
}

fn cleaned() -> WorkflowDefinition {
    function!(|cx| {
        cx.sleep(HOUR).await?;
        let a: u64 = cx.call(act("tax-2")).await?;
        cx.sleep(HOUR).await?;
        let b: u64 = cx.call(act("tax-2")).await?;
        Ok::<_, crate::Stop>(a + b)
    })
}

#[test]
fn an_instance_beyond_the_change_keeps_its_old_way_for_good() {
    let mut driver = Driver::new(old());
    driver.fire("sleep");
    driver.swap(patched());
    driver.done("activity tax-1", 1);
    driver.fire("sleep#2");
    driver.done("activity tax-1#2", 1);
    assert_eq!(driver.completed(), 2.into());
    driver.check();
}

#[test]
fn an_instance_before_the_change_takes_the_new_way() {
    let mut driver = Driver::new(old());
    driver.swap(patched());
    driver.fire("sleep");
    assert_eq!(driver.session.waits(), ["activity tax-2".into()]);
    driver.evict();
    // The mark may leave the code once no old instances are left.
    driver.swap(cleaned());
    driver.done("activity tax-2", 1);
    driver.fire("sleep#2");
    driver.done("activity tax-2#2", 1);
    assert_eq!(driver.completed(), 2.into());
    assert!(driver.trace().contains("record patch new-tax = 1"), "{}", driver.trace());
    driver.check();
}

#[test]
fn a_change_without_a_mark_is_told_in_words() {
    let mut driver = Driver::new(old());
    driver.fire("sleep");
    let blocked = driver.replay(&cleaned()).unwrap_err();
    let said = "the journal has `activity tax-1` where the code asks for `activity tax-2`; ";
    assert!(blocked.message.starts_with(said), "{blocked}");
    assert!(blocked.message.contains("cx.patched"), "{blocked}");
}

#[test]
fn a_version_stays_what_it_was_at_first() {
    fn code<const MIN: u32, const MAX: u32>() -> WorkflowDefinition {
        function!(|cx| {
            cx.sleep(HOUR).await?;
            let one = cx.version("tax", MIN, MAX);
            cx.sleep(HOUR).await?;
            Ok::<_, crate::Stop>((one, cx.version("tax", MIN, MAX)))
        })
    }
    let mut driver = Driver::new(code::<0, 1>());
    driver.fire("sleep");
    driver.swap(code::<0, 2>());
    let blocked = driver.replay(&code::<2, 3>()).unwrap_err();
    assert!(blocked.message.contains("version 1 of `tax`, the code has 2 to 3"), "{blocked}");
    driver.fire("sleep#2");
    assert_eq!(driver.completed().to_json(), "[1,1]");
    driver.check();
}
