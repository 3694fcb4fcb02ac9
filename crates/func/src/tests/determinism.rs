//! Code that does not do what its journal says, or waits for what nobody will tell it.

use std::{
    future::{pending, poll_fn},
    sync::Arc,
    task::Poll,
};

use travertine_kernel::JournalEntry;
use travertine_value::{Name, Value};

use super::{HOUR, act, driver::Driver, function};
use crate::{
    Arguments, Blocked, Identity, Session, SessionSettings, Stop, Workflow, WorkflowDefinition,
};

/// What the code is blocked with at its first step.
fn blocked(definition: &WorkflowDefinition) -> String {
    let waits = Driver::new(function!(|cx| { Ok::<_, Stop>(cx.sleep(HOUR).await?) }));
    let mut journal = waits.journal;
    journal.entries.truncate(1);
    journal.due = true;
    let identity = Identity { id: "i".into(), seed: 1, run: 0 };
    let settings = SessionSettings { operations_max: 100, ..SessionSettings::default() };
    let mut session = Session::new(definition, identity, Arguments::new("f", vec![]), settings);
    let Blocked { message, .. } = session.advance(&journal).unwrap_err();
    assert_eq!(session.advance(&journal).unwrap_err().message, message, "and it stays so");
    message
}

fn journal() -> Driver {
    let mut driver = Driver::new(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        let dropped = cx.sleep(HOUR).start();
        drop(dropped);
        cx.call(act::<()>("charge")).await?;
        Ok::<_, Stop>(cx.sleep(HOUR).await?)
    }));
    driver.done("activity charge", None::<bool>);
    driver.done("activity charge#2", None::<bool>);
    driver
}

#[test]
fn every_disagreement_has_its_words() {
    let driver = journal();
    let other = |definition: WorkflowDefinition| {
        let message = driver.replay(&definition).unwrap_err().message;
        message.split(';').next().unwrap().to_owned()
    };
    let name = other(function!(|cx| { Ok::<_, Stop>(cx.call(act::<()>("refund")).await?) }));
    assert_eq!(name, "the journal has `activity charge` where the code asks for `activity refund`");
    let less = other(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        cx.until(|| false).await?;
        Ok::<_, Stop>(())
    }));
    assert_eq!(less, "the journal has `sleep` where the code asks for nothing more");
    let kept = other(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        let _kept = cx.sleep(HOUR).start();
        Ok::<_, Stop>(cx.call(act::<()>("charge")).await?)
    }));
    assert_eq!(
        kept,
        "the journal has the drop of `sleep` where the code asks for `activity charge#2`"
    );
    let more = other(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        drop(cx.sleep(HOUR).start());
        let (a, b) = cx.join(cx.call(act::<()>("charge")), cx.sleep(HOUR)).await;
        a?;
        Ok::<_, Stop>(b?)
    }));
    assert_eq!(
        more,
        "the code asks for `sleep#2` where the journal goes on with the end of `activity charge#2`"
    );
    let short = other(function!(|cx| { Ok::<_, Stop>(cx.call(act::<()>("charge")).await?) }));
    assert_eq!(short, "the journal has `sleep` where the code asks for nothing more");
    let ended = other(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        drop(cx.sleep(HOUR).start());
        let _open = std::mem::ManuallyDrop::new(cx.call(act::<()>("charge")).start());
        Ok::<_, Stop>(())
    }));
    assert_eq!(
        ended,
        "the code has ended where the journal goes on with the end of `activity charge#2`"
    );
    let beyond = other(function!(|cx| {
        cx.call(act::<()>("charge")).await?;
        drop(cx.sleep(HOUR).start());
        cx.call(act::<()>("charge")).await?;
        let (a, b) = cx.join(cx.sleep(HOUR), cx.sleep(HOUR)).await;
        a?;
        Ok::<_, Stop>(b?)
    }));
    assert_eq!(
        beyond,
        "the code asks for `sleep#3` where it asked for nothing more when it ran before"
    );
}

/// A function that asks for one thing with this argument, and for its clone with another.
macro_rules! asking {
    (|$cx:ident, $it:ident| $ask:expr) => {
        ["one", "other"].map(|it| match it {
            "one" => function!(|$cx| {
                let $it = "one";
                $ask.await?;
                Ok::<_, Stop>($cx.sleep(HOUR).await?)
            }),
            _ => function!(|$cx| {
                let $it = "other";
                $ask.await?;
                Ok::<_, Stop>($cx.sleep(HOUR).await?)
            }),
        })
    };
}

#[test]
fn whatever_is_asked_with_other_arguments_than_before_is_found() {
    let all = [
        asking!(|cx, it| cx.call(act::<()>("charge").argument("card", it))),
        asking!(|cx, it| cx.job::<()>("charge").variable("card", it)),
        asking!(|cx, it| cx.child(Workflow::<()>::new("parcel", 1).argument("item", it))),
        asking!(|cx, it| cx.spawn(Workflow::<()>::new("parcel", 1).argument("item", it))),
        asking!(|cx, it| cx.start(Workflow::<()>::new("parcel", 1).argument("item", it))),
        asking!(|cx, it| cx.start(Workflow::<()>::new("parcel", 1)).id(it)),
        asking!(|cx, it| cx.process::<()>("delivery").variable("town", it)),
        asking!(|cx, it| cx.process::<()>("delivery").variable("town", it).detached()),
        asking!(|cx, it| cx.event::<super::Cancel>().key(it)),
        asking!(|cx, it| cx.send(super::Cancel { reason: it.to_owned() })),
        asking!(|cx, it| cx.send(super::Cancel { reason: String::new() }).to(it)),
        asking!(|cx, it| cx.send(super::Cancel { reason: String::new() }).key(it)),
    ];
    for [code, other] in all {
        let driver = Driver::new(code);
        assert!(driver.replay(&code).is_ok());
        let blocked = driver.replay(&other).unwrap_err();
        let expected = "with other arguments than the journal has";
        assert!(blocked.message.contains(expected), "{blocked}");
        assert!(blocked.message.contains("arguments_may_change"), "{blocked}");
    }
}

#[test]
fn arguments_that_may_change_are_not_compared() {
    let all = [
        asking!(|cx, it| cx.call(act::<()>("charge").argument("card", it).arguments_may_change())),
        asking!(|cx, it| cx.job::<()>("charge").variable("card", it).arguments_may_change()),
        asking!(|cx, it| {
            cx.child(Workflow::<()>::new("parcel", 1).argument("item", it).arguments_may_change())
        }),
        asking!(|cx, it| {
            cx.start(Workflow::<()>::new("parcel", 1).argument("item", it).arguments_may_change())
        }),
        asking!(|cx, it| {
            cx.process::<()>("delivery").variable("town", it).arguments_may_change()
        }),
        asking!(|cx, it| cx.send(super::Cancel { reason: it.to_owned() }).arguments_may_change()),
        // How an activity is done is no argument, nor is how long a sleep takes.
        asking!(|cx, it| cx.call(act::<()>("charge")).limit("card", it)),
        asking!(|cx, it| cx.sleep(if it == "one" { HOUR } else { 2 * HOUR })),
        // What is nothing may be missing.
        asking!(|cx, it| {
            let call = act::<()>("charge");
            cx.call(if it == "one" { call } else { call.argument("gift", &None::<u8>) })
        }),
    ];
    for [code, other] in all {
        let driver = Driver::new(code);
        assert!(driver.replay(&other).is_ok(), "{:?}", driver.replay(&other));
    }
}

#[test]
fn code_that_says_so_later_goes_on_with_a_journal_from_before() {
    let [code, _] = asking!(|cx, it| cx.call(act::<()>("charge").argument("card", it)));
    let [_, other] =
        asking!(|cx, it| cx.call(act::<()>("charge").argument("card", it).arguments_may_change()));
    assert!(Driver::new(code).replay(&other).is_ok());
}

#[test]
fn journals_that_do_not_say_what_was_asked_with_are_not_compared() {
    let [code, other] = asking!(|cx, it| {
        cx.send(super::Cancel { reason: it.to_owned() }).await?;
        cx.call(act::<()>("charge").argument("card", it))
    });
    let mut driver = Driver::new(code);
    for entry in &mut driver.journal.entries {
        let old = match &**entry {
            JournalEntry::Asked { key, .. } => {
                JournalEntry::Asked { key: Name::clone(key), input: None }
            }
            JournalEntry::Sent { key, .. } => {
                JournalEntry::Recorded { key: Name::clone(key), value: Value::Null }
            }
            same => same.clone(),
        };
        *entry = old.into();
    }
    assert!(driver.replay(&other).is_ok(), "{:?}", driver.replay(&other));
}

#[test]
fn a_session_does_not_go_on_with_the_journal_of_another() {
    let other = |change: fn(&mut Vec<Arc<JournalEntry>>)| {
        let mut driver = journal();
        change(&mut driver.journal.entries);
        let blocked = driver.session.advance(&driver.journal).unwrap_err();
        assert!(blocked.message.contains("begin again with a new session"), "{blocked}");
    };
    other(|it| drop(it.pop()));
    other(|it| {
        *it.last_mut().unwrap() = JournalEntry::Asked { key: "sleep#3".into(), input: None }.into();
    });
    other(|it| *it.last_mut().unwrap() = JournalEntry::Dropped { operation: 0 }.into());
}

/// covers: ENGINE-76
#[test]
fn what_was_told_while_the_code_was_blocked_is_thought_about_in_order() {
    let code = function!(|cx| {
        let second = cx.sleep(HOUR).start();
        cx.sleep(HOUR).await?;
        cx.call(act::<()>("one")).await?;
        second.await?;
        Ok::<_, Stop>(cx.call(act::<()>("two")).await?)
    });
    let mut driver = Driver::new(code);
    let at = travertine_value::time::Timestamp::from_millis(5);
    // Nobody could run the code when this was told.
    let done = JournalEntry::Done { operation: driver.number("sleep#2"), at, outcome: Ok(vec![]) };
    driver.journal.entries.push(done.into());
    driver.fire("sleep");
    assert_eq!(driver.session.waits(), ["activity one".into()]);
    driver.evict();
    driver.done("activity one", None::<bool>);
    driver.evict();
    assert_eq!(driver.session.waits(), ["activity two".into()]);
}

#[test]
fn an_await_of_something_else_is_found_at_the_first_poll() {
    let message = blocked(&function!(|cx| {
        let _ = &cx;
        pending::<()>().await;
        Ok::<_, Stop>(())
    }));
    assert!(
        message.contains("for no durable operation") && message.contains("cx.call"),
        "{message}"
    );
    let message = blocked(&function!(|cx| {
        let _started = cx.sleep(HOUR).start();
        pending::<()>().await;
        Ok::<_, Stop>(())
    }));
    assert!(message.contains("for no durable operation"), "{message}");
}

#[test]
fn a_wake_from_elsewhere_is_found() {
    let message = blocked(&function!(|cx| {
        let foreign = poll_fn(|task| {
            let waker = task.waker().clone();
            std::thread::spawn(move || waker.wake()).join().unwrap();
            Poll::<()>::Pending
        });
        cx.race([
            Box::pin(foreign) as crate::LocalBoxFuture<'_, ()>,
            Box::pin(async { drop(cx.sleep(HOUR).await) }),
        ])
        .await;
        Ok::<_, Stop>(())
    }));
    assert!(message.contains("woken by something that is no durable operation"), "{message}");
}

#[test]
fn a_panic_blocks_with_its_text_and_place() {
    let message = blocked(&function!(|cx| {
        let _open = cx.sleep(HOUR).start();
        assert!(cx.run() > 0, "one of {}", 3);
        Ok::<_, Stop>(())
    }));
    assert!(message.contains("determinism.rs:") && message.ends_with(": one of 3"), "{message}");
}

#[test]
fn a_loop_that_never_waits_is_found() {
    let loops = [
        function!(|cx| {
            loop {
                cx.send(super::Cancel { reason: String::new() }).await?;
            }
            #[expect(unreachable_code, reason = "it says what the function returns")]
            Ok::<_, Stop>(())
        }),
        function!(|cx| {
            loop {
                cx.record("again", || 1);
            }
            #[expect(unreachable_code, reason = "it says what the function returns")]
            Ok::<_, Stop>(())
        }),
    ];
    for it in loops {
        let message = blocked(&it);
        assert!(message.contains("more than 100 operations without waiting"), "{message}");
    }
    let mut driver = Driver::with(
        function!(|cx| {
            loop {
                drop(cx.sleep(HOUR).await);
            }
            #[expect(unreachable_code, reason = "it says what the function returns")]
            Ok::<_, Stop>(())
        }),
        SessionSettings { operations_max: 100, ..SessionSettings::default() },
        vec![],
    );
    let at = travertine_value::time::Timestamp::from_millis(5);
    driver.journal.entries.push(JournalEntry::Cancelled { at }.into());
    driver.journal.due = true;
    let blocked = driver.session.advance(&driver.journal).unwrap_err();
    assert!(blocked.message.contains("without waiting, `sleep#"), "{blocked}");
}

#[test]
fn handlers_do_not_keep_a_session_in_memory() {
    let mut driver = Driver::new(function!(|cx| {
        let inner = cx.clone();
        cx.on_query("id", move |(): ()| inner.id().to_owned());
        Ok::<_, Stop>(cx.sleep(HOUR).await?)
    }));
    let core = driver.session.core();
    driver.evict();
    assert_eq!(core.strong_count(), 0);
}
