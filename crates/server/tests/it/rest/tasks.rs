use serde_json::json;

use crate::stage::{Stage, model, review, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_task_is_found_given_changed_and_done() {
    let stage = Stage::single().await;
    stage.deploy(&[("review.bpmn", &review("review-it"))]).await;
    let instance = stage.start("review-it", json!({ "x": 1 })).await;
    let found = stage.found("/user-tasks/search", json!({ "processInstanceKey": instance })).await;
    let task = &found[0];
    assert_eq!(task["name"], "Review");
    assert_eq!(task["candidateGroups"], json!(["ops"]));
    assert_eq!(task["priority"], 50, "where the model says nothing");
    assert_eq!(task["state"], "CREATED");
    let key = text(&task["userTaskKey"]);
    let path = format!("/user-tasks/{key}");
    stage.post(&format!("{path}/assignment"), json!({ "assignee": "ada" })).await;
    let taken = json!({ "assignee": "bob", "allowOverride": false });
    stage.refused("POST", &format!("{path}/assignment"), taken, 409, "INVALID_STATE").await;
    assert_eq!(stage.get(&path).await["assignee"], "ada");
    assert_eq!(stage.ask("DELETE", &format!("{path}/assignee"), None).await.status, 204);
    assert_eq!(stage.get(&path).await["assignee"], json!(null));
    let change = json!({ "changeset": {
        "priority": 90, "dueDate": "2026-05-17T09:30:00+02:00", "candidateUsers": ["ann"],
    } });
    stage.did("PATCH", &path, change).await;
    stage
        .did(
            "PATCH",
            &format!("{path}/update"),
            json!({ "changeset": { "followUpDate": "2026-05-16T09:30:00Z" } }),
        )
        .await;
    let task = stage.get(&path).await;
    assert_eq!(task["priority"], 90);
    assert_eq!(task["dueDate"], "2026-05-17T07:30:00Z");
    assert_eq!(task["followUpDate"], "2026-05-16T09:30:00Z");
    assert_eq!(task["candidateUsers"], json!(["ann"]));
    stage.did("PATCH", &path, json!({ "changeset": { "dueDate": "" } })).await;
    assert_eq!(stage.get(&path).await["dueDate"], json!(null));
    let variables = stage.found(&format!("{path}/variables/search"), json!({ "name": "x" })).await;
    assert_eq!(variables[0]["value"], "1");
    assert_eq!(stage.ask("GET", &format!("{path}/form"), None).await.status, 204, "it has none");
    stage.post(&format!("{path}/completion"), json!({ "variables": { "approved": true } })).await;
    let found = stage.get(&format!("/process-instances/{instance}")).await;
    assert_eq!(found["state"], "COMPLETED");
    // It is over, and can be found all the same.
    let done = stage.get(&path).await;
    assert_eq!((&done["state"], &done["priority"]), (&json!("COMPLETED"), &json!(90)));
    assert_eq!(done["completionDate"], task["creationDate"], "no time has gone by");
    let states = async |filter| {
        let found = stage.found("/user-tasks/search", filter).await;
        found.iter().map(|it| text(&it["state"])).collect::<Vec<_>>()
    };
    assert_eq!(states(json!({ "processInstanceKey": instance })).await, ["COMPLETED"]);
    assert_eq!(states(json!({ "state": "COMPLETED", "name": "Review" })).await, ["COMPLETED"]);
    assert_eq!(states(json!({ "state": { "$in": ["CREATED", "CANCELED"] } })).await.len(), 0);
    let other = stage.start("review-it", json!({})).await;
    let all = json!({ "processDefinitionId": "review-it" });
    assert_eq!(states(all.clone()).await, ["COMPLETED", "CREATED"]);
    stage.post(&format!("/process-instances/{other}/cancellation"), json!({})).await;
    assert_eq!(states(all).await, ["COMPLETED", "CANCELED"]);
    let never = json!({ "assignee": "ada" });
    stage.refused("POST", &format!("{path}/assignment"), never, 404, "NOT_FOUND").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_priority_beyond_a_hundred_is_refused() {
    let stage = Stage::open().await;
    stage.deploy(&[("review.bpmn", &review("review-it"))]).await;
    stage.start("review-it", json!({})).await;
    let key = text(&stage.found("/user-tasks/search", json!({})).await[0]["userTaskKey"]);
    let path = format!("/user-tasks/{key}");
    for priority in [-1, 101] {
        let change = json!({ "changeset": { "priority": priority } });
        stage.refused("PATCH", &path, change, 400, "INVALID_ARGUMENT").await;
    }
    stage.refused("POST", &format!("/jobs/{key}/completion"), json!({}), 404, "NOT_FOUND").await;
    assert_eq!(stage.get(&path).await["state"], "CREATED", "nothing has changed");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn effective_variables_have_each_name_once_as_the_task_sees_it() {
    let stage = Stage::open().await;
    let inside = r#"<bpmn:startEvent id="start"/><bpmn:sequenceFlow id="f1" sourceRef="start" targetRef="sub"/>
        <bpmn:subProcess id="sub"><bpmn:extensionElements><zeebe:ioMapping>
        <zeebe:input source="=x + 1" target="x"/></zeebe:ioMapping></bpmn:extensionElements>
        <bpmn:startEvent id="in"/><bpmn:sequenceFlow id="g" sourceRef="in" targetRef="review"/>
        <bpmn:userTask id="review"><bpmn:extensionElements><zeebe:userTask/><zeebe:ioMapping>
        <zeebe:input source="=x + 1" target="x"/></zeebe:ioMapping></bpmn:extensionElements></bpmn:userTask>
        </bpmn:subProcess>"#;
    stage.deploy(&[("p.bpmn", &model("p", inside))]).await;
    stage.start("p", json!({ "x": 1, "y": 2 })).await;
    let key = text(&stage.found("/user-tasks/search", json!({})).await[0]["userTaskKey"]);
    let values = |found: Vec<serde_json::Value>| {
        let mut all: Vec<_> =
            found.iter().map(|it| (text(&it["name"]), text(&it["value"]))).collect();
        all.sort();
        all
    };
    let all = stage.found(&format!("/user-tasks/{key}/variables/search"), json!({})).await;
    assert_eq!(values(all).len(), 4);
    let path = format!("/user-tasks/{key}/effective-variables/search");
    let seen = values(stage.found(&path, json!({})).await);
    assert_eq!(seen, [("x".to_owned(), "3".to_owned()), ("y".to_owned(), "2".to_owned())]);
    assert_eq!(stage.found(&path, json!({ "value": "1" })).await.len(), 0, "that one is hidden");
    stage.close().await;
}
