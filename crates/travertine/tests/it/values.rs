//! Functions that do not know what they get.

use serde::{Deserialize, Serialize};
use travertine::{Context, Event, Failure, Flow, Value, activity, testing::Setup, workflow};

#[derive(Event, Serialize, Deserialize)]
#[event(name = "parcel.changed")]
struct Changed {
    to: Value,
}

#[activity]
async fn wrap_anything(content: Value) -> Result<Value, Failure> {
    Ok([content, Value::Null].into_iter().collect())
}

#[workflow]
async fn parcel(cx: Context, content: Value, foreign: serde_json::Value) -> Flow<Value> {
    let wrapped = cx.call(wrap_anything(content)).await?;
    let changed = cx.event::<Changed>().await?.to;
    let foreign = foreign["size"].as_u64().unwrap_or_default();
    Ok([wrapped, changed, Value::from(i64::try_from(foreign).unwrap_or_default())]
        .into_iter()
        .collect())
}

#[tokio::test]
async fn any_value_is_an_argument_an_answer_and_a_part_of_an_event() {
    let env = Setup::new().open();
    let content = r#"{"price":1.234567890123456789012345678901234,"tags":["a",null]}"#;
    let json = serde_json::json!({"size": 7});
    let content = Value::parse_json(content).expect("it is JSON");
    let run = env.start("parcel-1", parcel(content, json)).await.expect("it starts");
    env.crash();
    let to = Value::parse_json("[true]").expect("it is JSON");
    env.send_event(Changed { to }).to("parcel-1").await.expect("it is sent");
    let result = run.result().await.expect("it ends");
    let whole =
        r#"[[{"price":1.234567890123456789012345678901234,"tags":["a",null]},null],[true],7]"#;
    assert_eq!(result.to_json(), whole);
}
