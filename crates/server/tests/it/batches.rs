//! Batches, over both protocols.

use serde_json::{Value as Json, json};

use crate::stage::{Stage, review, text};

/// A server with some instances, of which the amounts are 0, 1, 2 and so on.
async fn stage(count: usize) -> Stage {
    let stage = Stage::open().await;
    stage.deploy(&[("review.bpmn", &review("check"))]).await;
    for amount in 0..count {
        let body = json!({ "definition": "check", "variables": { "amount": amount } });
        stage.does("POST", "/instances", body).await;
    }
    stage
}

/// The batch once it is over.
async fn over(stage: &Stage, batch: &Json) -> Json {
    let path = format!("/batches/{}", text(&batch["batch"]));
    loop {
        let found = stage.looks(&path).await;
        if !found["ended"].is_null() {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_of_a_cause_are_resolved_and_no_others() {
    let stage = Stage::open().await;
    let gate = |id: &str| {
        format!(
            r#"<exclusiveGateway id="{id}"/><sequenceFlow id="{id}-e" sourceRef="{id}" targetRef="e"><conditionExpression xsi:type="tFormalExpression">{id}ok</conditionExpression></sequenceFlow><sequenceFlow id="f-{id}" sourceRef="f" targetRef="{id}"/>"#
        )
    };
    let model = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="m" targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="s-f" sourceRef="s" targetRef="f"/><parallelGateway id="f"/>{}{}<endEvent id="e"/></process></definitions>"#,
        gate("a"),
        gate("b")
    );
    stage.deploy(&[("p.bpmn", &*model)]).await;
    for _ in 0..3 {
        let variables = json!({ "aok": false, "bok": false });
        stage
            .does("POST", "/instances", json!({ "definition": "p", "variables": variables }))
            .await;
    }
    let causes = async || {
        let told = stage.looks("/incidents/causes").await;
        let all = told["causes"].as_array().unwrap().clone();
        let mut all: Vec<_> =
            all.iter().map(|it| (text(&it["element"]), it["count"].clone())).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    };
    assert_eq!(causes().await, [("a".to_owned(), json!(3)), ("b".to_owned(), json!(3))]);
    let body = |more: Json| {
        let mut it =
            json!({ "operation": "resolve", "filter": { "definition": "p", "version": 1 } });
        it.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        it
    };
    let counted =
        stage.does("POST", "/batches", body(json!({ "element": "no", "dry_run": true }))).await;
    assert_eq!(counted["count"], 0);
    // What fails again is told, and stays.
    let again = stage.does("POST", "/batches", body(json!({ "element": "a" }))).await;
    assert_eq!(over(&stage, &again).await["refused"], 3);
    let items = stage.looks(&format!("/batches/{}/items", text(&again["batch"]))).await;
    assert_eq!(items["items"][0]["code"], "failed_again");
    let mended = body(json!({ "element": "a", "variables": { "aok": true } }));
    let mended = stage.does("POST", "/batches", mended).await;
    assert_eq!(over(&stage, &mended).await["done"], 3);
    assert_eq!(causes().await, [("b".to_owned(), json!(3))]);
    // What is resolved is none of them any more.
    let gone =
        stage.does("POST", "/batches", body(json!({ "element": "a", "dry_run": true }))).await;
    assert_eq!(gone["count"], 0);
    let wrong = json!({ "operation": "cancel", "q": "", "element": "a" });
    assert_eq!(stage.api("POST", "/batches", Some(wrong)).await.status, 400);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_is_counted_frozen_and_worked_through() {
    let stage = stage(30).await;
    let body = |operation: &str, q: &str| json!({ "operation": operation, "q": q });
    let mut tried = body("suspend", "def:check amount>=20");
    tried["dry_run"] = true.into();
    let counted = stage.does("POST", "/batches", tried.clone()).await;
    assert_eq!(
        (&counted["count"], counted["instances"].as_array().unwrap().len()),
        (&json!(10), 10)
    );
    assert!(stage.looks("/batches").await["batches"].as_array().unwrap().is_empty());

    let begun = stage.does("POST", "/batches", body("suspend", "def:check amount>=20")).await;
    let done = over(&stage, &begun).await;
    assert_eq!((&done["state"], &done["done"]), (&json!("completed"), &json!(10)));
    assert_eq!(done["filter"], "def:check amount>=20");
    let filter = json!({ "operation": "set", "filter": { "definition": "check", "state": "suspended" },
        "variables": { "seen": true }, "paused": true });
    let paused = stage.does("POST", "/batches", filter).await;
    let path = format!("/batches/{}", text(&paused["batch"]));
    assert_eq!((&paused["state"], &paused["total"]), (&json!("paused"), &json!(10)));
    // What is suspended later is not in it.
    let one =
        json!({ "operation": "suspend", "filter": { "definition": "check", "state": "running" } });
    let later = stage.does("POST", "/batches", one).await;
    assert_eq!(over(&stage, &later).await["done"], 20);
    stage.does("POST", &format!("{path}/resume"), json!({})).await;
    assert_eq!(over(&stage, &paused).await["done"], 10);
    let found = stage.looks("/instances?q=seen=true&count=true").await;
    assert_eq!(found["instances"].as_array().unwrap().len(), 10);
    // The batches themselves are not among the instances.
    let all = stage.looks("/instances?count=true").await;
    assert_eq!(all["total"]["count"], 30);

    let names: Vec<String> = (0..2).map(|at| text(&all["instances"][at]["instance"])).collect();
    let named = json!({ "operation": "resume", "instances": names });
    let named = stage.does("POST", "/batches", named).await;
    assert_eq!(over(&stage, &named).await["done"], 2);
    let again =
        stage.does("POST", "/batches", json!({ "operation": "resume", "instances": names })).await;
    over(&stage, &again).await;
    let path = format!("/batches/{}", text(&again["batch"]));
    let items = stage.looks(&format!("{path}/items?outcome=refused&limit=1")).await;
    assert_eq!(items["items"][0]["code"], "not_suspended");
    let next = text(&items["next"]);
    let rest = stage.looks(&format!("{path}/items?outcome=refused&after={next}")).await;
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &Json::Null));
    assert_eq!(stage.looks("/batches").await["batches"].as_array().unwrap().len(), 5);
    stage.does("DELETE", &path, json!({})).await;
    assert_eq!(stage.api("GET", &path, None).await.status, 404);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_begun_and_asked_about_as_clients_of_camunda_8_do() {
    let stage = stage(3).await;
    let over = async |key: &str| loop {
        let found = stage.get(&format!("/batch-operations/{key}")).await;
        if !found["endDate"].is_null() {
            return found;
        }
        tokio::task::yield_now().await;
    };
    let begin = async |path: &str, body: Json| {
        let begun = stage.post(&format!("/process-instances/{path}"), body).await;
        (text(&begun["batchOperationKey"]), text(&begun["batchOperationType"]))
    };
    let all = json!({ "filter": { "processDefinitionId": { "$like": "che*" } } });
    let (key, kind) = begin("suspension", all.clone()).await;
    assert_eq!(kind, "SUSPEND_PROCESS_INSTANCE");
    let found = over(&key).await;
    assert_eq!(
        (&found["state"], &found["operationsCompletedCount"]),
        (&json!("COMPLETED"), &json!(3))
    );
    assert_eq!((&found["actorType"], &found["actorId"]), (&json!("ANONYMOUS"), &Json::Null));
    let (key, _) = begin("suspension", all.clone()).await;
    assert_eq!(over(&key).await["operationsFailedCount"], 3);
    let failed = json!({ "batchOperationKey": key, "state": "FAILED" });
    let items = stage.found("/batch-operation-items/search", failed).await;
    assert_eq!(items.len(), 3);
    assert!(
        text(&items[0]["errorMessage"]).contains("is suspended")
            && !items[0]["processedDate"].is_null()
    );
    begin("resumption", all.clone()).await;
    let definition = &stage.found("/process-definitions/search", json!({})).await[0];
    let plan = json!({ "targetProcessDefinitionKey": definition["processDefinitionKey"], "mappingInstructions": [] });
    let mut migrate = all.clone();
    migrate["migrationPlan"] = plan;
    let (key, kind) = begin("migration", migrate).await;
    assert_eq!(kind, "MIGRATE_PROCESS_INSTANCE");
    over(&key).await;
    let mut modify = all.clone();
    modify["moveInstructions"] = json!([{ "sourceElementId": "no", "targetElementId": "where" }]);
    let (key, _) = begin("modification", modify).await;
    let item = json!({ "batchOperationKey": key });
    over(&key).await;
    let items = stage.found("/batch-operation-items/search", item).await;
    assert!(text(&items[0]["errorMessage"]).contains("no such element"), "{items:?}");
    // Nothing has failed in them.
    let (key, _) = begin("incident-resolution", all.clone()).await;
    assert_eq!(over(&key).await["operationsTotalCount"], 0);
    let (key, _) = begin("cancellation", all.clone()).await;
    assert_eq!(over(&key).await["operationsCompletedCount"], 3);
    let (key, _) = begin("deletion", all.clone()).await;
    assert_eq!(over(&key).await["operationsCompletedCount"], 3);
    assert!(stage.found("/process-instances/search", json!({})).await.is_empty());
    let filter = json!({ "operationType": { "$in": ["CANCEL_PROCESS_INSTANCE", "DELETE_PROCESS_INSTANCE"] } });
    assert_eq!(stage.found("/batch-operations/search", filter).await.len(), 2);
    let path = format!("/batch-operations/{key}/suspension");
    assert_eq!(stage.ask("POST", &path, Some(json!({}))).await.status, 409);
    assert_eq!(
        stage.ask("POST", "/process-instances/cancellation", Some(json!({}))).await.status,
        400
    );
    assert_eq!(stage.ask("GET", "/batch-operations/77", None).await.status, 404);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_with_the_way_out() {
    let stage = stage(1).await;
    let cases = [
        (json!({ "operation": "cancel" }), 400, "an empty filter means all"),
        (json!({ "operation": "cancle", "filter": {} }), 400, "is cancel meant?"),
        (json!({ "operation": "cancel", "filter": { "stat": "running" } }), 400, "is state meant?"),
        (
            json!({ "operation": "cancel", "filter": { "limit": 5 } }),
            400,
            "there is no filter limit",
        ),
        (
            json!({ "operation": "cancel", "filter": {}, "mapping": {} }),
            400,
            "mapping is not for cancel",
        ),
        (json!({ "operation": "cancel", "q": "def:nothing" }), 409, "no instance matches"),
        (json!({ "operation": "cancel", "q": "x=1", "instances": ["1"] }), 400, "not by both"),
        (json!({ "operation": "cancel", "filter": {}, "per_second": 0 }), 400, "say paused"),
        (json!({ "operation": "set", "filter": {} }), 400, "variables is missing"),
        (json!({ "operation": "modify", "filter": {} }), 400, "nothing to do"),
        (
            json!({ "operation": "migrate", "filter": {}, "definition": "check", "version": 9 }),
            404,
            "check version 9",
        ),
    ];
    for (body, status, says) in cases {
        let answer = stage.api("POST", "/batches", Some(body.clone())).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
        assert!(answer.text.contains(says), "{body}: {}", answer.text);
    }
    let one = stage.does("POST", "/batches", json!({ "operation": "cancel", "filter": {} })).await;
    over(&stage, &one).await;
    let path = format!("/batches/{}", text(&one["batch"]));
    let answer = stage.api("POST", &format!("{path}/pause"), Some(json!({}))).await;
    assert_eq!(answer.status, 409, "{}", answer.text);
    assert_eq!(stage.api("GET", "/batches/1", None).await.status, 404, "it is another instance");
    stage.close().await;
}
