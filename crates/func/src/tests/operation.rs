//! Single operations: what is asked for, how it is called, what comes back.

use std::time::Duration;

use expect_test::expect;
use travertine_kernel::{Backoff, Decision, JobOptions, Post, WaitFor};
use travertine_value::{Value, time::Timestamp};

use super::{Cancel, HOUR, act, driver::Driver, function};
use crate::{
    Arguments, Failure, Identity, Outcome, Retry, SessionSettings, Workflow, WorkflowDefinition,
    run,
};

/// covers: ENGINE-1, ENGINE-2, ENGINE-84
#[test]
fn operations_are_asked_one_after_the_other_and_their_results_are_kept() {
    let mut driver = Driver::new(function!(|cx| {
        let a: u64 = cx.call(act("charge")).await?;
        let b: u64 = cx.call(act("charge")).await?;
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(a + b)
    }));
    driver.done("activity charge", 1);
    driver.evict();
    driver.done("activity charge#2", 2);
    driver.evict();
    driver.fire("sleep");
    expect![[r"
        > began
        ask activity charge
        > activity charge done
        ask activity charge#2
        > activity charge#2 done
        ask sleep
        > sleep done
        completed: 3
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn an_answer_can_be_read_twice() {
    let mut driver = Driver::new(function!(|cx| {
        let mut charge = cx.call(act::<u64>("charge")).start();
        let first = (&mut charge).await?;
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(first + charge.await?)
    }));
    driver.done("activity charge", 2);
    driver.fire("sleep");
    expect![[r"
        > began
        ask activity charge
        > activity charge done
        ask sleep
        > sleep done
        completed: 4
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

/// covers: ENGINE-3, ENGINE-4, ENGINE-6
#[test]
fn a_run_is_a_pure_function_of_its_journal() {
    let nap = function!(|cx| {
        cx.sleep(HOUR).await?;
        Ok::<_, crate::Stop>(7)
    });
    let mut driver = Driver::new(nap);
    let once = |driver: &Driver| {
        let mut journal = driver.journal.clone();
        journal.due = true;
        let identity = Identity { id: "i".into(), seed: 1, run: 0 };
        run(&nap, identity, Arguments::new("f", vec![]), &journal)
    };
    let Ok(Outcome::Suspended { decisions, waits }) = once(&driver) else { panic!() };
    assert_eq!((decisions, waits), (vec![], vec!["sleep".into()]));
    driver.fire("sleep");
    for _ in 0..2 {
        assert_eq!(once(&driver), Ok(Outcome::Completed(7.into())));
    }
}

#[test]
fn an_activity_is_asked_with_everything_a_worker_needs() {
    let mut driver = Driver::new(function!(|cx| {
        cx.sleep(HOUR).await?;
        let pay = act::<()>("pay").argument("cents", &5);
        let call = cx.call(pay).retry(Retry::exponential("2s", 1.5).max(7)).timeout(HOUR);
        call.deadline(2 * HOUR)
            .heartbeat(Duration::from_secs(3))
            .priority(9)
            .limit("card", &7)
            .await?;
        Ok::<_, crate::Stop>(())
    }));
    driver.now = 3_600_000;
    driver.fire("sleep");
    let Some(Decision::Ask { on: WaitFor::Work(job), .. }) = driver.last() else { panic!() };
    assert_eq!((&*job.job_type, job.retries), ("pay", 7));
    assert_eq!(job.fields, [], "headers are the model's");
    let expected = JobOptions {
        input: std::sync::Arc::new([("cents".into(), 5.into())].into_iter().collect()),
        idempotency_key: "i/0/activity pay".into(),
        attempts: 7,
        backoff: Some(Backoff { initial: Duration::from_secs(2), factor: 1.5, max: HOUR }),
        timeout: Some(HOUR),
        deadline: Some(Timestamp::from_millis(10_800_000)),
        heartbeat: Some(Duration::from_secs(3)),
        priority: Some(9),
        limit: Some("card/7".into()),
        brings_variables: false,
    };
    assert_eq!(job.options.as_deref(), Some(&expected));
}

#[test]
fn timers_are_due_from_the_time_of_the_function() {
    let mut driver = Driver::new(function!(|cx| {
        cx.sleep(HOUR).await?;
        let first = cx.now().as_millis();
        cx.sleep(Duration::from_micros(200_500)).await?;
        Ok::<_, crate::Stop>(first)
    }));
    driver.now = 3_600_050;
    driver.fire("sleep");
    let Some(Decision::Ask { on: WaitFor::Timer { due, .. }, .. }) = driver.last() else {
        panic!()
    };
    assert_eq!(*due, Timestamp::from_millis(3_600_251), "never shorter than asked for");
    driver.fire("sleep#2");
    assert_eq!(driver.completed(), 3_600_050.into());
    driver.check();
}

#[test]
fn events_jobs_and_processes_bring_their_variables() {
    #[derive(serde::Deserialize)]
    struct Shipped {
        parcel: String,
    }
    let mut driver = Driver::new(function!(|cx| {
        let event = cx.event::<Cancel>().key(&7).await?;
        let parcel: Shipped = cx.job("pack").variable("why", &event.reason).await?;
        let sum: u64 = cx.process("sum").variable("a", &1).await?;
        Ok::<_, crate::Stop>(format!("{} {sum}", parcel.parcel))
    }));
    let Some(Decision::Ask { on: WaitFor::Message { name, correlation }, .. }) = driver.last()
    else {
        panic!()
    };
    let correlation: Value = correlation.iter().cloned().collect();
    assert_eq!((&**name, correlation.to_json()), ("cancel", r#"{"$to":"i","key":7}"#.to_owned()));
    driver.end("event cancel", Ok(vec![("reason".into(), "rain".into())]));
    driver.end("job pack", Ok(vec![("parcel".into(), "p".into())]));
    let Some(Decision::Ask { on: WaitFor::Child { definition, catches, .. }, .. }) = driver.last()
    else {
        panic!()
    };
    assert_eq!((&**definition, catches.all), ("sum", true));
    driver.end("process sum", Ok(vec![("value".into(), 3.into())]));
    assert_eq!(driver.completed(), "p 3".into());
    driver.check();
}

#[test]
fn what_is_sent_or_started_is_on_its_way_at_once() {
    let driver = Driver::new(function!(|cx| {
        cx.send(Cancel { reason: "no".into() }).to("other").key("k").await?;
        let id = cx.start(Workflow::<()>::new("adder", 1).argument("n", &1)).await?;
        let own = cx.process::<()>("sum").detached().id("mine").await?;
        Ok::<_, crate::Stop>(format!("{id}, {own}"))
    }));
    let posts: Vec<_> = driver
        .decisions()
        .filter_map(|it| if let Decision::Post { what, .. } = it { Some(what) } else { None })
        .collect();
    let [Post::Message { name, correlation, payload }, Post::Start { variables, .. }, _] =
        &posts[..]
    else {
        panic!("{posts:?}")
    };
    let correlation: Value = correlation.iter().cloned().collect();
    assert_eq!((&**name, correlation.to_json()), ("cancel", r#"{"$to":"other","key":"k"}"#.into()));
    assert_eq!(payload, &[("reason".into(), "no".into())]);
    assert_eq!(variables, &[("n".into(), 1.into())]);
    expect![[r#"
        > began
        send cancel
        start adder
        start sum
        completed: "i/0/start adder, mine"
    "#]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn an_answer_of_another_type_is_a_failure_that_names_it() {
    let mut driver =
        Driver::new(function!(|cx| { Ok::<u64, crate::Stop>(cx.call(act("n")).await?) }));
    driver.done("activity n", "many");
    let failure = driver.failed();
    assert_eq!(failure.code.as_deref(), Some("decode"));
    assert!(failure.message.starts_with("the answer of `activity n`: "), "{failure:?}");
}

/// covers: ENGINE-44
#[test]
fn a_failed_child_keeps_its_code_and_can_be_caught() {
    let mut driver = Driver::new(function!(|cx| {
        let child = Workflow::<u64>::new("adder", 1).argument("n", &7);
        match cx.child(child).await {
            Err(failure) if failure.code == "seven" && failure.is_child() => Ok(1000),
            other => Ok::<_, crate::Stop>(other?),
        }
    }));
    driver.fail("child adder", "seven");
    assert_eq!(driver.completed(), 1000.into());
    driver.check();
}

#[test]
fn arguments_come_by_name_and_wrong_ones_fail_the_function() {
    let adder = WorkflowDefinition {
        name: "adder",
        version: 1,
        parameters: &["n"],
        run: |_, mut arguments| {
            Box::pin(async move {
                let n: i64 = arguments.take("n")?;
                Ok((n + 1).into())
            })
        },
    };
    let with =
        |value: Value| Driver::with(adder, SessionSettings::default(), vec![("n".into(), value)]);
    assert_eq!(with(1.into()).completed(), 2.into());
    let wrong = with("x".into());
    assert!(
        wrong.failed().message.starts_with("argument `n` of `adder`: "),
        "{:?}",
        wrong.failed()
    );
}

#[test]
fn a_function_can_begin_anew_with_other_arguments() {
    let driver = Driver::new(function!(|cx| {
        cx.continue_as::<(), ()>(Workflow::new("billing", 1).argument("cycle", &2))
    }));
    let Some(Decision::ContinueAs { definition, variables }) = driver.last() else { panic!() };
    assert_eq!((&**definition, &variables[..]), ("billing", &[("cycle".into(), 2.into())][..]));
    driver.check();
}

#[test]
fn values_are_made_once_and_random_ones_are_the_same_again() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static MADE: AtomicU64 = AtomicU64::new(0);
    let code = function!(|cx| {
        let made = cx.record("made", || MADE.fetch_add(1, Ordering::Relaxed));
        let (uuid, number) = (cx.uuid(), cx.random().next_u64());
        cx.sleep(HOUR).await?;
        assert_ne!(cx.uuid(), uuid, "another place, another number");
        Ok::<_, crate::Stop>((made, uuid, number.to_string()))
    });
    let mut driver = Driver::new(code);
    driver.evict();
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    driver.fire("sleep");
    let one = driver.completed();
    let mut again = Driver::new(code);
    again.fire("sleep");
    assert_eq!(again.completed().as_list().unwrap()[1..], one.as_list().unwrap()[1..]);
}

#[test]
fn a_part_counts_its_operations_apart() {
    let mut driver = Driver::new(function!(|cx| {
        cx.sleep(HOUR).await?;
        for _ in 0..2 {
            cx.gosub("pack", async |cx| {
                cx.sleep(HOUR).await?;
                cx.sleep(HOUR).await
            })
            .await?;
        }
        Ok::<_, crate::Stop>(())
    }));
    for key in ["sleep", "gosub pack/sleep", "gosub pack/sleep#2", "gosub pack#2/sleep"] {
        driver.fire(key);
    }
    assert_eq!(driver.session.waits(), ["gosub pack#2/sleep#2".into()]);
    driver.check();
}

#[test]
fn an_operation_that_is_dropped_is_called_off_and_one_that_is_evicted_is_not() {
    let mut driver = Driver::new(function!(|cx| {
        let first = cx.sleep(HOUR).start();
        let second = cx.sleep(HOUR).start();
        drop(first);
        Ok::<_, crate::Stop>(second.await?)
    }));
    driver.evict();
    expect![[r"
        > began
        ask sleep
        ask sleep#2
        drop sleep
        waits for sleep#2
    "]]
    .assert_eq(&driver.trace());
    driver.check();
}

#[test]
fn time_runs_out_for_what_takes_too_long() {
    let code = function!(|cx| {
        match cx.timeout(HOUR, cx.call(act::<u64>("slow"))).await {
            Ok(answer) => Ok(answer?),
            Err(failure) if failure.code == Failure::TIMEOUT => Ok(0),
            Err(failure) => Err(crate::Stop::from(failure)),
        }
    });
    let mut late = Driver::new(code);
    late.fire("sleep");
    expect![[r"
        > began
        ask activity slow
        ask sleep
        > sleep done
        drop activity slow
        completed: 0
    "]]
    .assert_eq(&late.trace());
    late.check();
    let mut early = Driver::new(code);
    early.done("activity slow", 5);
    assert_eq!(early.completed(), 5.into());
    early.check();
}
