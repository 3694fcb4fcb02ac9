//! What compiles, and what it then is.

use std::{
    pin::pin,
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use travertine::{
    ACTIVITIES, Activity, ActivityContext, ActivityDefinition, Arguments, Consume, Context,
    Delivery, Dependencies, Event as _, EventConfig, Failure, Flow, Retry, Stop, WORKFLOWS,
    Workflow,
};
use travertine_macros::{Event, activity, workflow};
use travertine_value::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: String,
    cents: u64,
}

fn activity_of(name: &str) -> &'static ActivityDefinition {
    ACTIVITIES.iter().find(|it| it.name == name).expect(name)
}

/// Takes an order.
#[workflow]
async fn order(_cx: Context, order: Order, mut times: u32, _unused: Option<u8>) -> Flow<u64> {
    times += 1;
    Ok(order.cents * u64::from(times))
}

mod inner {
    use super::{Context, Order, Stop, workflow};

    #[workflow(name = "order", version = 2)]
    pub(super) async fn order(_: Context, order: Order) -> Result<u64, Stop> {
        Ok(order.cents)
    }
}

#[activity(
    name = "bank.charge",
    retry = exponential("100ms", 1.5, max = 5, max_delay = "1m"),
    timeout = "30s",
    deadline = "1h",
    heartbeat = "10s",
    limit = "bank"
)]
async fn charge(cx: ActivityContext, r#type: String, cents: u64) -> Result<String, Failure> {
    std::future::ready(()).await;
    Ok(format!("{}: {cents} by {}", cx.idempotency_key(), r#type))
}

#[activity(retry = fixed("1s", max = 3))]
async fn ship() -> Result<(), Failure> {
    Err(Failure::new("snow", "the road is closed"))
}

#[activity(retry = never)]
async fn once() -> Result<(), Failure> {
    Ok(())
}

/// Where some crate has put what it needs.
mod elsewhere {
    pub(super) use travertine::*;
}

#[activity(crate = elsewhere)]
async fn found() -> Result<(), Failure> {
    Ok(())
}

/// Macros of others write functions too.
macro_rules! doubling {
    ($name:ident, $number:ty) => {
        #[workflow]
        async fn $name(_cx: Context, it: $number) -> Flow<$number> {
            Ok(it * 2)
        }
    };
}
doubling!(double, u64);

/// Nobody describes a call of this one, and the compiler does not mind.
#[activity]
async fn plain(a: u8, b: u8, _type: u8) -> Result<u8, Failure> {
    Ok(a + b)
}

#[derive(Serialize, Deserialize, Event)]
struct OrderPaid {
    cents: u64,
}

#[derive(Serialize, Deserialize, Event)]
#[event(name = "order.cancel", consume = "all", delivery = "after_wait")]
#[event(expire_after = "7d")]
enum CancelOrder {
    ByCustomer,
    ByShop,
}

#[test]
fn a_function_describes_a_call_with_its_arguments_by_name() {
    let it = Order { id: "o1".into(), cents: 7 };
    let call: Workflow<u64> = order(it.clone(), 2, None);
    assert_eq!((call.name(), call.version()), ("order", 1));
    let arguments = call.into_arguments().unwrap();
    let names: Vec<_> = arguments.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["order", "times", "unused"]);
    assert_eq!(arguments[0].1.to_json(), r#"{"id":"o1","cents":7}"#);

    let call: Workflow<u64> = inner::order(it);
    assert_eq!((call.name(), call.version()), ("order", 2));

    assert_eq!(activity_of("plain").parameters, ["a", "b", "type"]);
    let call: Activity<String> = charge("visa".into(), 5);
    assert_eq!(call.name(), "bank.charge");
    assert_eq!(call.into_arguments().unwrap()[0].0.as_ref(), "type");
}

#[test]
fn functions_may_come_from_macros_and_know_another_path() {
    assert_eq!(double(4).into_arguments().map(|it| it[0].1.to_json()), Ok("4".into()));
    assert_eq!(found().name(), "found");
    let within: Workflow<()> = {
        #[workflow]
        async fn within(_cx: Context) -> Flow<()> {
            Ok(())
        }
        within()
    };
    assert!(WORKFLOWS.iter().any(|it| it.name == within.name()));
}

#[test]
fn a_local_may_have_the_name_of_the_function() {
    let order = order(Order { id: "o1".into(), cents: 7 }, 2, None);
    let charge = charge("visa".into(), 5);
    assert_eq!((order.name(), charge.name()), ("order", "bank.charge"));
}

#[test]
fn functions_are_registered_with_what_their_attributes_say() {
    let versions: Vec<_> = WORKFLOWS.iter().filter(|it| it.name == "order").collect();
    let mut found: Vec<_> = versions.iter().map(|it| (it.version, it.parameters)).collect();
    found.sort_unstable();
    assert_eq!(found, [(1, &["order", "times", "unused"][..]), (2, &["order"][..])]);

    let options = activity_of("bank.charge").options;
    assert_eq!(activity_of("bank.charge").parameters, ["type", "cents"]);
    assert_eq!((options.retry.attempts, options.retry.factor), (5, 1.5));
    assert_eq!(options.retry.initial, Duration::from_millis(100));
    assert_eq!(options.retry.max_delay, Duration::from_mins(1));
    assert_eq!(options.timeout, Some(Duration::from_secs(30)));
    assert_eq!(options.deadline, Some(Duration::from_hours(1)));
    assert_eq!(options.heartbeat, Some(Duration::from_secs(10)));
    assert_eq!(options.limit, Some("bank"));
    assert_eq!(charge(String::new(), 1).options(), &options);

    let fixed = activity_of("ship").options.retry;
    assert_eq!([fixed.delay(1), fixed.delay(2)], [Duration::from_secs(1); 2]);
    assert_eq!((fixed.attempts, activity_of("once").options.retry.attempts), (3, 1));
    assert_eq!(activity_of("plain").options.retry, Retry::DEFAULT);
    assert_eq!(activity_of("plain").options.timeout, None);
}

/// What the activity gives that does not wait for anything.
fn run(name: &str, arguments: Vec<(&str, &str)>) -> Result<String, String> {
    let read =
        |(name, json): (&str, &str)| (name.into(), Value::parse_json(json).expect("it is JSON"));
    let arguments = Arguments::new(name, arguments.into_iter().map(read).collect());
    let cx = ActivityContext::test("key", Dependencies::new());
    let mut future = pin!((activity_of(name).run)(cx, arguments));
    let Poll::Ready(result) = future.as_mut().poll(&mut Task::from_waker(Waker::noop())) else {
        panic!("it waits")
    };
    result.map(|it| it.to_json()).map_err(|it| it.to_string())
}

#[test]
fn an_activity_runs_with_the_arguments_that_are_stored() {
    let arguments = vec![("cents", "5"), ("type", "\"visa\"")];
    assert_eq!(run("bank.charge", arguments), Ok("\"key: 5 by visa\"".into()));
    assert_eq!(run("once", vec![]), Ok("null".into()));
    assert_eq!(run("ship", vec![]), Err("snow: the road is closed".into()));
    let missing = run("bank.charge", vec![("cents", "5")]);
    assert_eq!(missing, Err("decode: `bank.charge` is called without its argument `type`".into()));
}

#[test]
fn events_have_a_name_and_a_way_to_be_delivered() {
    assert_eq!((OrderPaid::NAME, OrderPaid::CONFIG), ("order-paid", EventConfig::DEFAULT));
    let week = Some(Duration::from_hours(7 * 24));
    let expected =
        EventConfig { consume: Consume::All, delivery: Delivery::AfterWait, expire_after: week };
    assert_eq!((CancelOrder::NAME, CancelOrder::CONFIG), ("order.cancel", expected));
}
