use serde_json::json;

use crate::stage::{Stage, one, text, work};

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_started_and_seen_at_once() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let body = json!({
        "processDefinitionId": "p", "processDefinitionVersion": -1, "variables": { "x": 1 }, "tags": ["red", "new"],
        "businessId": "order-1", "tenantId": "<default>", "somethingNew": 1,
    });
    let created = stage.post("/process-instances", body).await;
    assert_eq!((&created["variables"], &created["tags"]), (&json!({}), &json!(["red", "new"])));
    let key = text(&created["processInstanceKey"]);
    let instance = stage.get(&format!("/process-instances/{key}")).await;
    assert_eq!(instance["state"], "ACTIVE");
    assert_eq!(instance["startDate"], "2026-01-01T12:00:00Z");
    assert_eq!(instance["processDefinitionName"], "The p");
    assert_eq!(
        (&instance["tags"], &instance["businessId"]),
        (&json!(["red", "new"]), &json!("order-1"))
    );
    assert_eq!((&instance["endDate"], &instance["hasIncident"]), (&json!(null), &json!(false)));
    assert_eq!(instance["rootProcessInstanceKey"], key.as_str());
    let by_key = json!({ "processDefinitionKey": created["processDefinitionKey"] });
    assert_eq!(stage.post("/process-instances", by_key).await["processDefinitionId"], "p");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_instance_is_waited_for() {
    let stage = Stage::open().await;
    let script = r#"<bpmn:scriptTask id="sum"><bpmn:extensionElements>
        <zeebe:script expression="=a + 0.2" resultVariable="total"/></bpmn:extensionElements></bpmn:scriptTask>"#;
    stage.deploy(&[("p.bpmn", &one("p", "sum", script)), ("q.bpmn", &work("q", "paint"))]).await;
    let body =
        json!({ "processDefinitionId": "p", "variables": { "a": 0.1 }, "awaitCompletion": true });
    assert_eq!(
        stage.post("/process-instances", body).await["variables"],
        json!({ "a": 0.1, "total": 0.3 })
    );
    let body = json!({
        "processDefinitionId": "p", "variables": { "a": 0.1 }, "awaitCompletion": true, "fetchVariables": ["total"],
    });
    assert_eq!(stage.post("/process-instances", body).await["variables"], json!({ "total": 0.3 }));
    let body = json!({ "processDefinitionId": "q", "awaitCompletion": true, "requestTimeout": 1 });
    stage.refused("POST", "/process-instances", body, 504, "DEADLINE_EXCEEDED").await;
    assert_eq!(stage.awaits("paint").await.len(), 1, "it goes on");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_business_id_belongs_to_one_running_instance() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let body = json!({ "processDefinitionId": "p", "businessId": "order-1" });
    let first = text(&stage.post("/process-instances", body.clone()).await["processInstanceKey"]);
    stage.refused("POST", "/process-instances", body.clone(), 409, "ALREADY_EXISTS").await;
    let path = format!("/process-instances/{first}/cancellation");
    assert_eq!(stage.ask("POST", &path, None).await.status, 204);
    stage.post("/process-instances", body).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_cancelled_once() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    for body in [None, Some(json!({})), Some(json!(null)), Some(json!({ "operationReference": 7 }))]
    {
        let key = stage.start("p", json!({})).await;
        let path = format!("/process-instances/{key}/cancellation");
        assert_eq!(stage.ask("POST", &path, body).await.status, 204);
        let instance = stage.get(&format!("/process-instances/{key}")).await;
        assert_eq!(
            (&instance["state"], &instance["endDate"]),
            (&json!("TERMINATED"), &instance["startDate"])
        );
        stage.refused("POST", &path, json!({}), 404, "NOT_FOUND").await;
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_called_instance_knows_its_caller_and_is_cancelled_with_it_only() {
    let stage = Stage::open().await;
    let call = r#"<bpmn:callActivity id="call"><bpmn:extensionElements><zeebe:calledElement processId="child"/>
        </bpmn:extensionElements></bpmn:callActivity>"#;
    let files =
        [("parent.bpmn", &*one("parent", "call", call)), ("child.bpmn", &*work("child", "paint"))];
    stage.deploy(&files).await;
    let parent = stage.start("parent", json!({})).await;
    let found = stage
        .found("/process-instances/search", json!({ "parentProcessInstanceKey": parent }))
        .await;
    let child = text(&found[0]["processInstanceKey"]);
    assert_eq!(found[0]["rootProcessInstanceKey"], parent.as_str());
    let elements = stage.found("/element-instances/search", json!({ "elementId": "call" })).await;
    assert_eq!(found[0]["parentElementInstanceKey"], elements[0]["elementInstanceKey"]);
    let hierarchy = stage.get(&format!("/process-instances/{child}/call-hierarchy")).await;
    assert_eq!(hierarchy[0]["processInstanceKey"], parent.as_str());
    let path = format!("/process-instances/{child}/cancellation");
    stage.refused("POST", &path, json!({}), 409, "INVALID_STATE").await;
    stage.post(&format!("/process-instances/{parent}/cancellation"), json!({})).await;
    assert_eq!(stage.get(&format!("/process-instances/{parent}")).await["state"], "TERMINATED");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_suspended_resumed_and_deleted_when_it_has_ended() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({})).await;
    let path = format!("/process-instances/{key}");
    stage.post(&format!("{path}/suspension"), json!({})).await;
    assert_eq!(stage.get(&path).await["state"], "SUSPENDED");
    assert!(stage.jobs("paint").await.is_empty());
    stage.post(&format!("{path}/resumption"), json!({})).await;
    assert_eq!(stage.get(&path).await["state"], "ACTIVE");
    stage.refused("POST", &format!("{path}/deletion"), json!({}), 409, "INVALID_STATE").await;
    stage.post(&format!("{path}/cancellation"), json!({})).await;
    stage.post(&format!("{path}/deletion"), json!({})).await;
    assert_eq!(stage.ask("GET", &path, None).await.status, 404);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_moved_by_the_keys_of_element_instances() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({})).await;
    let elements = stage
        .found(
            "/element-instances/search",
            json!({ "processInstanceKey": key, "elementId": "work" }),
        )
        .await;
    let element = text(&elements[0]["elementInstanceKey"]);
    assert_eq!(elements[0]["type"], "SERVICE_TASK");
    assert_eq!(elements[0]["elementName"], "Do it");
    assert_eq!(stage.get(&format!("/element-instances/{element}")).await, elements[0]);
    let path = format!("/process-instances/{key}/modification");
    let nowhere = json!({ "activateInstructions": [{ "elementId": "nowhere" }] });
    stage.refused("POST", &path, nowhere, 400, "INVALID_ARGUMENT").await;
    stage.refused("POST", &path, json!({}), 400, "INVALID_ARGUMENT").await;
    let steps = json!({
        "activateInstructions": [{
            "elementId": "end", "variableInstructions": [{ "variables": { "x": 7 } }],
        }],
        "terminateInstructions": [{ "elementInstanceKey": element }],
    });
    stage.post(&path, steps.clone()).await;
    assert_eq!(stage.get(&format!("/process-instances/{key}")).await["state"], "COMPLETED");
    let ended = stage.refused("POST", &path, steps, 404, "NOT_FOUND").await;
    assert!(ended.contains("ended"), "{ended}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_goes_on_by_another_version() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({})).await;
    let second =
        stage.deploy(&[("p.bpmn", &work("p", "paint").replace("\"work\"", "\"draw\""))]).await;
    let to = text(&second["deployments"][0]["processDefinition"]["processDefinitionKey"]);
    let path = format!("/process-instances/{key}/migration");
    let plan = json!({
        "targetProcessDefinitionKey": to,
        "mappingInstructions": [{ "sourceElementId": "work", "targetElementId": "draw" }],
    });
    let wrong = json!({ "targetProcessDefinitionKey": to, "mappingInstructions": [] });
    stage.refused("POST", &path, wrong, 409, "INVALID_STATE").await;
    stage.post(&path, plan).await;
    let instance = stage.get(&format!("/process-instances/{key}")).await;
    assert_eq!(instance["processDefinitionVersion"], 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_are_set_where_they_are_or_in_the_element_alone() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({ "v": 1 })).await;
    let elements = stage.found("/element-instances/search", json!({ "elementId": "work" })).await;
    let element = text(&elements[0]["elementInstanceKey"]);
    let set = |at: &str| format!("/element-instances/{at}/variables");
    stage.did("PUT", &set(&key), json!({ "variables": { "v": 2, "w": [1] } })).await;
    stage.did("PUT", &set(&element), json!({ "variables": { "v": 3 } })).await;
    stage.did("PUT", &set(&element), json!({ "variables": { "own": 1 }, "local": true })).await;
    let found = stage.found("/variables/search", json!({ "processInstanceKey": key })).await;
    let mut all: Vec<(String, String, String)> = found
        .iter()
        .map(|it| (text(&it["name"]), text(&it["value"]), text(&it["scopeKey"])))
        .collect();
    all.sort();
    let of = |name: &str, value: &str, scope: &String| {
        (name.to_owned(), value.to_owned(), scope.clone())
    };
    assert_eq!(all, [of("own", "1", &element), of("v", "3", &key), of("w", "[1]", &key)]);
    let own = found.iter().find(|it| it["name"] == "own").unwrap();
    let variable = stage.get(&format!("/variables/{}", text(&own["variableKey"]))).await;
    assert_eq!(variable["value"], "1");
    let found = stage.found("/variables/search", json!({ "scopeKey": element })).await;
    assert_eq!(found.len(), 1);
    let gone = json!({ "variables": {} });
    stage.refused("PUT", &set("9"), gone, 404, "NOT_FOUND").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_value_is_cut_in_searches_and_whole_by_its_key() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let long = "ä".repeat(10_000);
    let key = stage.start("p", json!({ "long": long })).await;
    let found = stage.found("/variables/search", json!({ "processInstanceKey": key })).await;
    assert_eq!(found[0]["isTruncated"], true);
    assert_eq!(found[0]["value"].as_str().unwrap().chars().count(), 8_191);
    let whole = stage.get(&format!("/variables/{}", text(&found[0]["variableKey"]))).await;
    assert_eq!(whole["value"], format!("\"{long}\""));
    let body = json!({ "filter": { "processInstanceKey": key } });
    let answer = stage.post("/variables/search?truncateValues=false", body).await;
    assert_eq!(answer["items"][0]["isTruncated"], false);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_counts_and_tells_where_it_was() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({})).await;
    let path = format!("/process-instances/{key}");
    let counts = stage.get(&format!("{path}/statistics/element-instances")).await;
    let of = |counts: &serde_json::Value, id: &str| {
        let items = counts["items"].as_array().unwrap();
        items.iter().find(|it| it["elementId"] == id).cloned().unwrap_or_default()
    };
    assert_eq!(of(&counts, "start")["completed"], 1);
    assert_eq!(of(&counts, "work")["active"], 1);
    let flows = stage.get(&format!("{path}/sequence-flows")).await;
    assert_eq!(flows["items"][0]["elementId"], "f1");
    stage.post(&format!("{path}/cancellation"), json!({})).await;
    let counts = stage.get(&format!("{path}/statistics/element-instances")).await;
    assert_eq!(of(&counts, "work")["canceled"], 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_elements_of_an_instance_are_found_also_when_they_are_over() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = stage.start("p", json!({})).await;
    let of = |filter: serde_json::Value| stage.found("/element-instances/search", filter);
    let all = of(json!({ "processInstanceKey": key })).await;
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!((&all[0]["elementId"], &all[0]["state"]), (&json!("start"), &json!("COMPLETED")));
    let running = of(json!({ "processInstanceKey": key, "state": "active" })).await;
    assert_eq!(running, all[1..]);
    stage.post(&format!("/process-instances/{key}/cancellation"), json!({})).await;
    let ended = of(json!({ "processInstanceKey": { "$eq": key }, "state": "TERMINATED" })).await;
    assert_eq!(ended[0]["elementInstanceKey"], all[1]["elementInstanceKey"]);
    assert_eq!(ended[0]["endDate"], "2026-01-01T12:00:00Z");
    let path = format!("/element-instances/{}", text(&ended[0]["elementInstanceKey"]));
    assert_eq!(stage.get(&path).await, ended[0]);
    let none = of(json!({ "processInstanceKey": "12345", "elementId": "start" })).await;
    assert!(none.is_empty());
    let either = json!({ "processInstanceKey": key, "$or": [{ "elementId": "start" }, { "type": "service_task" }] });
    assert_eq!(of(either).await.len(), 2);
    stage.close().await;
}
