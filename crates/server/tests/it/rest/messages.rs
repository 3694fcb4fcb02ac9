use serde_json::json;

use crate::stage::{Stage, model, one, text};

fn waits(id: &str) -> String {
    one(
        id,
        "pay",
        r#"<bpmn:intermediateCatchEvent id="pay"><bpmn:messageEventDefinition messageRef="paid"/>
        </bpmn:intermediateCatchEvent>"#,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_finds_who_waits_with_its_key_and_nobody_else() {
    let stage = Stage::open().await;
    stage.deploy(&[("wait.bpmn", &waits("wait"))]).await;
    let instance = stage.start("wait", json!({ "order": "a" })).await;
    let other = stage.start("wait", json!({ "order": "b" })).await;
    let body = json!({ "name": "paid", "correlationKey": "a", "variables": { "sum": 12.50 } });
    let taken = stage.post("/messages/correlation", body.clone()).await;
    assert_eq!(taken["processInstanceKey"], instance.as_str());
    assert_eq!(stage.get(&format!("/process-instances/{instance}")).await["state"], "COMPLETED");
    assert_eq!(stage.get(&format!("/process-instances/{other}")).await["state"], "ACTIVE");
    let again = stage.refused("POST", "/messages/correlation", body, 404, "NOT_FOUND").await;
    assert!(again.contains("paid"), "{again}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_kept_as_long_as_it_lives() {
    let stage = Stage::open().await;
    stage.deploy(&[("wait.bpmn", &waits("wait"))]).await;
    let body = json!({
        "name": "paid", "correlationKey": "a", "timeToLive": 60_000, "messageId": "m1", "variables": { "sum": 3 },
    });
    let first = text(&stage.post("/messages/publication", body.clone()).await["messageKey"]);
    stage.refused("POST", "/messages/publication", body.clone(), 409, "ALREADY_EXISTS").await;
    let body = json!({
        "processDefinitionId": "wait", "variables": { "order": "a" }, "awaitCompletion": true,
    });
    let done = stage.post("/process-instances", body).await;
    assert_eq!(done["variables"]["sum"], 3);
    let other = json!({ "name": "paid", "correlationKey": "b" });
    let second = text(&stage.post("/messages/publication", other).await["messageKey"]);
    assert_ne!(first, second);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_starts_an_instance() {
    let stage = Stage::open().await;
    let inside = r#"<bpmn:startEvent id="start"><bpmn:messageEventDefinition messageRef="begun"/></bpmn:startEvent>
        <bpmn:sequenceFlow id="f" sourceRef="start" targetRef="end"/><bpmn:endEvent id="end"/>"#;
    stage.deploy(&[("begin.bpmn", &model("begin", inside))]).await;
    let body = json!({ "name": "begun", "variables": { "x": 1 } });
    let taken = stage.post("/messages/correlation", body).await;
    let instance = text(&taken["processInstanceKey"]);
    let found = stage.get(&format!("/process-instances/{instance}")).await;
    assert_eq!(found["processDefinitionId"], "begin");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reaches_all_who_wait_for_it() {
    let stage = Stage::open().await;
    let of = r#"<bpmn:intermediateCatchEvent id="go"><bpmn:signalEventDefinition signalRef="go"/>
        </bpmn:intermediateCatchEvent>"#;
    stage
        .deploy(&[(
            "s.bpmn",
            &one("s", "go", of)
                .replace("signal id=\"go\"", "signal id=\"go-signal\"")
                .replace("signalRef=\"go\"", "signalRef=\"go-signal\""),
        )])
        .await;
    let (one, two) = (stage.start("s", json!({})).await, stage.start("s", json!({})).await);
    let body = json!({ "signalName": "go", "variables": { "x": 1 } });
    let first = stage.post("/signals/broadcast", body.clone()).await;
    for instance in [one, two] {
        let ended = stage.engine.result(travertine_runtime::InstanceId(instance.parse().unwrap()));
        ended.await.unwrap();
    }
    let second = stage.post("/signals/broadcast", body).await;
    assert_ne!(first["signalKey"], second["signalKey"], "each has a number of its own");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_messages_is_found() {
    let stage = Stage::open().await;
    stage.deploy(&[("wait.bpmn", &waits("wait"))]).await;
    let instance = stage.start("wait", json!({ "order": "a" })).await;
    let found = stage
        .found("/message-subscriptions/search", json!({ "processInstanceKey": instance }))
        .await;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["messageName"], "paid");
    assert_eq!(found[0]["correlationKey"], "a");
    assert_eq!(found[0]["elementId"], "pay");
    assert_eq!(found[0]["messageSubscriptionState"], "CREATED");
    let found = stage
        .found("/message-subscriptions/search", json!({ "messageName": { "$like": "p?id" } }))
        .await;
    assert_eq!(found.len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_events_wait_for_messages_too() {
    let stage = Stage::open().await;
    let begin = |id: &str| {
        let inside = r#"<bpmn:startEvent id="start"><bpmn:messageEventDefinition messageRef="begun"/></bpmn:startEvent>
            <bpmn:sequenceFlow id="f" sourceRef="start" targetRef="end"/><bpmn:endEvent id="end"/>"#;
        model(id, inside)
    };
    let files = [("a.bpmn", &*begin("a")), ("b.bpmn", &*begin("b")), ("w.bpmn", &*waits("wait"))];
    stage.deploy(&files).await;
    stage.deploy(&[("a.bpmn", &begin("a").replace("The a", "Another"))]).await;
    for order in ["x", "y", "z"] {
        stage.start("wait", json!({ "order": order })).await;
    }
    let path = "/message-subscriptions/search";
    let starts = stage.found(path, json!({ "messageSubscriptionType": "START_EVENT" })).await;
    assert_eq!(starts.len(), 2, "of the latest versions alone: {starts:#?}");
    let of_a = starts.iter().find(|it| it["processDefinitionId"] == "a").unwrap();
    assert_eq!((&of_a["messageName"], &of_a["elementId"]), (&json!("begun"), &json!("start")));
    assert_eq!(of_a["processDefinitionVersion"], 2);
    assert_eq!(of_a["processInstanceKey"], json!(null));
    let same = json!({ "messageSubscriptionKey": of_a["messageSubscriptionKey"] });
    assert_eq!(stage.found(path, same).await, std::slice::from_ref(of_a));
    let others = stage.found(path, json!({ "messageSubscriptionType": "PROCESS_EVENT" })).await;
    assert_eq!(others.len(), 3);

    // All together, in any order and page by page, forth and by skipping.
    let sort =
        json!([{ "field": "messageName", "order": "DESC" }, { "field": "processDefinitionId" }]);
    let body = json!({ "sort": sort });
    let all = stage.post(path, body).await;
    assert_eq!(all["page"]["totalItems"], 5);
    let names: Vec<_> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| text(&it["processDefinitionId"]))
        .collect();
    assert_eq!(names, ["wait", "wait", "wait", "a", "b"]);
    let (mut by_cursor, mut by_place, mut after) = (Vec::new(), Vec::new(), json!(null));
    for from in [0, 2, 4] {
        let page =
            stage.post(path, json!({ "sort": sort, "page": { "limit": 2, "after": after } })).await;
        by_cursor.extend(page["items"].as_array().unwrap().clone());
        after = page["page"]["endCursor"].clone();
        let page =
            stage.post(path, json!({ "sort": sort, "page": { "limit": 2, "from": from } })).await;
        by_place.extend(page["items"].as_array().unwrap().clone());
    }
    assert_eq!(&by_cursor, all["items"].as_array().unwrap());
    assert_eq!(&by_place, all["items"].as_array().unwrap());
    let page = json!({ "limit": 2, "before": all["page"]["endCursor"] });
    let before = stage.post(path, json!({ "sort": sort, "page": page })).await;
    assert_eq!(before["items"].as_array().unwrap()[..], all["items"].as_array().unwrap()[2..4]);
    stage.close().await;
}
