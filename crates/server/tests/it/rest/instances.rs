use serde_json::json;

use crate::stage::{Stage, model, one, text, work};

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
    let mut absent = plan.clone();
    absent["mappingInstructions"][0]["targetElementId"] = json!("nowhere");
    stage.refused("POST", &path, absent, 400, "INVALID_ARGUMENT").await;
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

/// Two tasks, one after the other.
fn two_tasks(id: &str) -> String {
    let task = |id: &str, job_type: &str| {
        format!(
            r#"<bpmn:serviceTask id="{id}"><bpmn:extensionElements><zeebe:taskDefinition type="{job_type}"/>
            </bpmn:extensionElements></bpmn:serviceTask>"#
        )
    };
    let (first, second) = (task("first", "first"), task("second", "second"));
    model(
        id,
        &format!(
            r#"<bpmn:startEvent id="start"/><bpmn:sequenceFlow id="f1" sourceRef="start" targetRef="first"/>{first}
            <bpmn:sequenceFlow id="f2" sourceRef="first" targetRef="second"/>{second}
            <bpmn:sequenceFlow id="f3" sourceRef="second" targetRef="end"/><bpmn:endEvent id="end"/>"#
        ),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_ends_after_the_element_that_its_starter_names() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &two_tasks("p"))]).await;
    let body = json!({
        "processDefinitionId": "p",
        "runtimeInstructions": [{ "type": "TERMINATE_PROCESS_INSTANCE", "afterElementId": "first" }],
    });
    let key = text(&stage.post("/process-instances", body).await["processInstanceKey"]);
    let job = text(&stage.jobs("first").await[0]["jobKey"]);
    stage.post(&format!("/jobs/{job}/completion"), json!({})).await;
    let instance = stage.get(&format!("/process-instances/{key}")).await;
    assert_eq!(instance["state"], "TERMINATED");
    assert_eq!(stage.jobs("second").await.len(), 0, "what comes after it never began");
    for (instruction, said) in [
        (json!({ "afterElementId": "nothing" }), "nothing"),
        (json!({ "type": "WAIT", "afterElementId": "first" }), "WAIT"),
    ] {
        let body = json!({ "processDefinitionId": "p", "runtimeInstructions": [instruction] });
        let answer = stage
            .send("POST", "/process-instances", "application/json", body.to_string().into())
            .await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(said), "{}", answer.text);
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_named_by_its_tag() {
    let stage = Stage::open().await;
    let tagged = |tag: &str| {
        let tag = format!(
            r#"isExecutable="true"><bpmn:extensionElements><zeebe:versionTag value="{tag}"/></bpmn:extensionElements>"#
        );
        work("p", "paint").replace(r#"isExecutable="true">"#, &tag)
    };
    for tag in ["one", "two"] {
        stage.deploy(&[("p.bpmn", &tagged(tag))]).await;
    }
    let body = json!({ "processDefinitionId": "p", "processDefinitionVersionTag": "one" });
    assert_eq!(stage.post("/process-instances", body).await["processDefinitionVersion"], 1);
    let body = json!({ "processDefinitionId": "p", "processDefinitionVersionTag": "three" });
    let said = stage.refused("POST", "/process-instances", body, 404, "NOT_FOUND").await;
    assert!(said.contains("p tagged three"), "{said}");
    let body = json!({
        "processDefinitionId": "p", "processDefinitionVersionTag": "one", "processDefinitionVersion": 2,
    });
    stage.refused("POST", "/process-instances", body, 400, "INVALID_ARGUMENT").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_definition_are_of_the_instances_that_pass_the_filter() {
    let stage = Stage::open().await;
    let deployed = stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let key = text(&deployed["deployments"][0]["processDefinition"]["processDefinitionKey"]);
    let one = stage.start("p", json!({ "x": 1 })).await;
    stage.start("p", json!({ "x": 2 })).await;
    let job = stage
        .jobs("paint")
        .await
        .into_iter()
        .find(|it| it["processInstanceKey"] == one.as_str())
        .unwrap();
    let path = format!("/jobs/{}/failure", text(&job["jobKey"]));
    stage.post(&path, json!({ "retries": 0, "errorMessage": "no paint" })).await;
    let path = format!("/process-definitions/{key}/statistics/element-instances");
    let all = stage.post(&path, json!({})).await;
    assert_eq!((&all["items"][0]["active"], &all["items"][0]["incidents"]), (&json!(1), &json!(1)));
    for filter in [
        json!({ "processInstanceKey": one }),
        json!({ "hasIncident": true }),
        json!({ "variables": [{ "name": "x", "value": "1" }] }),
    ] {
        let some = stage.post(&path, json!({ "filter": filter })).await;
        let item = &some["items"][0];
        assert_eq!((&item["active"], &item["incidents"]), (&json!(0), &json!(1)), "{filter}");
    }
    let none = stage.post(&path, json!({ "filter": { "state": "COMPLETED" } })).await;
    assert_eq!(none["items"], json!([]));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_of_an_element_are_its_own_and_those_inside_it() {
    let stage = Stage::open().await;
    let inside = r#"<bpmn:startEvent id="start"/><bpmn:sequenceFlow id="f1" sourceRef="start" targetRef="sub"/>
        <bpmn:subProcess id="sub"><bpmn:startEvent id="in"/><bpmn:sequenceFlow id="g" sourceRef="in" targetRef="work"/>
        <bpmn:serviceTask id="work"><bpmn:extensionElements><zeebe:taskDefinition type="paint"/>
        </bpmn:extensionElements></bpmn:serviceTask></bpmn:subProcess>"#;
    stage.deploy(&[("p.bpmn", &model("p", inside))]).await;
    let instance = stage.start("p", json!({})).await;
    let job = text(&stage.jobs("paint").await[0]["jobKey"]);
    let elements =
        stage.found("/element-instances/search", json!({ "processInstanceKey": instance })).await;
    let key = |id: &str| {
        let element = elements.iter().find(|it| it["elementId"] == id).unwrap();
        text(&element["elementInstanceKey"])
    };
    let path = |key: &str| format!("/element-instances/{key}/incidents/search");
    assert_eq!(stage.found(&path(&key("sub")), json!({})).await.len(), 0);
    let failure = json!({ "retries": 0, "errorMessage": "no paint" });
    stage.post(&format!("/jobs/{job}/failure"), failure).await;
    for of in [key("work"), key("sub"), instance] {
        assert_eq!(stage.found(&path(&of), json!({})).await.len(), 1, "{of}");
    }
    assert_eq!(stage.found(&path(&key("in")), json!({})).await.len(), 0, "that is over");
    stage.refused("POST", &path(&job), json!({}), 404, "NOT_FOUND").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_request_is_handed_to_jobs() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (header, wanted) in [(trace, json!(trace)), ("nonsense", json!(null))] {
        let body = json!({ "processDefinitionId": "p" }).to_string();
        let headers = [("content-type", "application/json"), ("traceparent", header)];
        let answer = stage.send_with("POST", "/process-instances", &headers, body.into()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let job = &stage.jobs("paint").await[0];
        assert_eq!(job["customHeaders"].get("traceparent").unwrap_or(&json!(null)), &wanted);
        assert_eq!(job["customHeaders"]["region"], "eu");
    }
    stage.close().await;
}
