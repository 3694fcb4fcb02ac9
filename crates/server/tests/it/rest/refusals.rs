use serde_json::json;
use travertine_runtime::Error;
use travertine_server::desk::{Outcome, Refusal};

use crate::stage::{Stage, text, work};

#[tokio::test(flavor = "multi_thread")]
async fn every_key_that_names_nothing_or_something_else_is_not_found() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let instance = stage.start("p", json!({ "x": 1 })).await;
    let job = text(&stage.found("/jobs/search", json!({})).await[0]["jobKey"]);
    for route in travertine_server::c8::rest::ROUTES {
        let Some((before, rest)) = route.path.split_once('{') else { continue };
        let after = rest.split_once('}').unwrap().1;
        // A job's key is of the same kind as a user task's.
        let other = if before == "/jobs/" || before == "/user-tasks/" { &instance } else { &job };
        for key in ["1125899906842624", "9223372036854775807", "-1", "0", other] {
            let path = format!("{before}{key}{after}");
            let body = match route.operation {
                "modifyProcessInstance" => {
                    json!({ "activateInstructions": [{ "elementId": "end" }] })
                }
                "migrateProcessInstance" => {
                    json!({ "targetProcessDefinitionKey": "1", "mappingInstructions": [] })
                }
                "throwJobError" => json!({ "errorCode": "x" }),
                "updateJob" => json!({ "changeset": { "retries": 1 } }),
                "assignUserTask" => json!({ "assignee": "ann" }),
                "createElementInstanceVariables" => json!({ "variables": {} }),
                _ => json!({}),
            };
            let body = (route.method != "GET" && route.method != "DELETE").then_some(body);
            let answer = stage.ask(route.method, &path, body).await;
            assert_eq!(answer.status, 404, "{} {path}: {}", route.method, answer.text);
            assert_eq!(answer.json()["title"], "NOT_FOUND");
        }
        let path = format!("{before}abc{after}");
        let answer = stage.ask(route.method, &path, None).await;
        assert_eq!(answer.status, 400, "{} {path}: {}", route.method, answer.text);
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_or_no_path_is_refused_as_a_problem() {
    let stage = Stage::open().await;
    for body in [
        "",
        "{",
        "[1]",
        "{\"processDefinitionId\": 1}",
        "{\"processDefinitionId\":\"p\",\"variables\":[1]}",
    ] {
        let answer =
            stage.send("POST", "/process-instances", "application/json", body.into()).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text);
        assert_eq!(answer.json()["title"], "INVALID_ARGUMENT");
    }
    let deep = format!(
        "{{\"processDefinitionId\":\"p\",\"variables\":{{\"x\":{}{}}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let answer = stage.send("POST", "/process-instances", "application/json", deep.into()).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    for (method, path) in
        [("GET", "/nothing"), ("DELETE", "/topology"), ("GET", "/jobs/activation")]
    {
        let answer = stage.send(method, path, "application/json", "".into()).await;
        assert_eq!(answer.status, 404, "{method} {path}");
        assert_eq!(answer.json()["instance"], format!("/v2{path}"));
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_start_is_said() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let cases = [
        (json!({ "processDefinitionId": "nope" }), 404, "NOT_FOUND"),
        (json!({ "processDefinitionKey": "1" }), 404, "NOT_FOUND"),
        (json!({ "processDefinitionId": "p", "processDefinitionVersion": 2 }), 404, "NOT_FOUND"),
        (
            json!({ "processDefinitionId": "p", "processDefinitionVersion": -7 }),
            400,
            "INVALID_ARGUMENT",
        ),
        (json!({}), 400, "INVALID_ARGUMENT"),
        (
            json!({ "processDefinitionId": "p", "processDefinitionKey": "1" }),
            400,
            "INVALID_ARGUMENT",
        ),
        (json!({ "processDefinitionId": "p", "tenantId": "other" }), 400, "INVALID_ARGUMENT"),
        (json!({ "processDefinitionId": "p", "businessId": "" }), 400, "INVALID_ARGUMENT"),
        (
            json!({ "processDefinitionId": "p", "startInstructions": [{ "elementId": "x" }] }),
            400,
            "INVALID_ARGUMENT",
        ),
    ];
    for (body, status, title) in cases {
        stage.refused("POST", "/process-instances", body, status, title).await;
    }
    stage.close().await;
}

#[test]
fn every_error_of_the_engine_has_its_outcome() {
    let cases = [
        (Error::NoSuchDefinition("p".into()), Outcome::NotFound),
        (Error::NoSuchInstance(travertine_runtime::InstanceId(1)), Outcome::NotFound),
        (Error::Rejected(travertine_kernel::Rejection::Ended), Outcome::NotFound),
        (
            Error::Rejected(travertine_kernel::Rejection::NoSuchWait(travertine_kernel::WaitId(1))),
            Outcome::NotFound,
        ),
        (Error::Refused { diagnostics: vec!["x".into()] }, Outcome::Invalid),
        (
            Error::Rejected(travertine_kernel::Rejection::NoRetries(travertine_kernel::WaitId(1))),
            Outcome::Invalid,
        ),
        (Error::Suspended(travertine_runtime::InstanceId(1)), Outcome::InvalidState),
        (Error::InUse { reason: "x".into() }, Outcome::InvalidState),
        (Error::Busy { reason: "x".into() }, Outcome::Overloaded),
        (Error::Closed { reason: "x".into() }, Outcome::Unavailable),
        (
            Error::Unavailable { shard: travertine_store::ShardId(1), reason: "x".into() },
            Outcome::Unavailable,
        ),
        (Error::Unknown { reason: "x".into() }, Outcome::Unknown),
        (Error::Failed { reason: "inside".into() }, Outcome::Internal),
    ];
    for (error, outcome) in cases {
        let refusal = Refusal::from(error.clone());
        assert_eq!(refusal.outcome, outcome, "{error}");
        if outcome == Outcome::Internal {
            assert!(!refusal.detail.contains("inside"), "what is inside is not told");
        }
    }
    assert!(Refusal::from(Error::Busy { reason: "x".into() }).retry_after.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_closed_says_so_and_that_nothing_was_done() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    stage.engine.clone().shutdown().unwrap();
    let body = json!({ "processDefinitionId": "p" });
    stage.refused("POST", "/process-instances", body, 503, "UNAVAILABLE").await;
    stage.close().await;
}
