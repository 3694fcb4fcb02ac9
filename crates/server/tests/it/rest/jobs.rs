use serde_json::json;

use crate::stage::{BEGIN, Stage, one, text, work};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gets_a_job_with_all_it_needs_and_does_it() {
    let stage = Stage::open().await;
    stage.deploy(&[("work.bpmn", &work("p", "paint"))]).await;
    let body = json!({
        "processDefinitionId": "p", "variables": { "a": 0.1, "b": 2 }, "tags": ["red"], "businessId": "b-1",
    });
    let started = stage.post("/process-instances", body).await;
    let body = json!({
        "type": "paint", "worker": "ann", "timeout": 30_000, "maxJobsToActivate": 1, "fetchVariable": ["a"],
        "requestTimeout": -1, "somethingNew": true,
    });
    let answer =
        stage.send("POST", "/jobs/activation", "application/json", body.to_string().into()).await;
    assert!(answer.text.contains("\"a\":0.1"), "decimals stay exact: {}", answer.text);
    let job = &answer.json()["jobs"][0];
    assert_eq!(job["processInstanceKey"], started["processInstanceKey"]);
    assert_eq!(job["processDefinitionKey"], started["processDefinitionKey"]);
    assert_eq!(job["rootProcessInstanceKey"], started["processInstanceKey"]);
    assert_eq!(job["variables"], json!({ "a": 0.1 }));
    assert_eq!(job["customHeaders"], json!({ "region": "eu" }));
    assert_eq!((&job["worker"], &job["retries"]), (&json!("ann"), &json!(3)));
    assert_eq!(job["deadline"], BEGIN + 30_000);
    assert_eq!(
        (&job["kind"], &job["listenerEventType"]),
        (&json!("BPMN_ELEMENT"), &json!("UNSPECIFIED"))
    );
    assert_eq!((&job["tags"], &job["businessId"]), (&json!(["red"]), &json!("b-1")));
    let elements = stage.found("/element-instances/search", json!({ "elementId": "work" })).await;
    assert_eq!(job["elementInstanceKey"], elements[0]["elementInstanceKey"]);
    assert!(stage.jobs("paint").await.is_empty(), "nobody else has it");
    let path = format!("/jobs/{}/completion", text(&job["jobKey"]));
    assert_eq!(stage.ask("POST", &path, None).await.status, 204);
    let again = stage.refused("POST", &path, json!({}), 404, "NOT_FOUND").await;
    assert!(again.contains("wait") || again.contains("ended"), "{again}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_waits_until_there_is_a_job() {
    let stage = Stage::open().await;
    stage.deploy(&[("work.bpmn", &work("p", "paint"))]).await;
    let body = json!({ "type": "paint", "timeout": 1_000, "maxJobsToActivate": 5, "requestTimeout": 60_000 });
    let (jobs, _) = tokio::join!(stage.post("/jobs/activation", body), stage.start("p", json!({})));
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_for_good_is_an_incident_until_it_may_be_tried_again() {
    let stage = Stage::open().await;
    stage.deploy(&[("work.bpmn", &work("p", "paint"))]).await;
    let instance = stage.start("p", json!({})).await;
    let job = text(&stage.awaits("paint").await[0]["jobKey"]);
    let failure = json!({ "retries": 1, "errorMessage": "no paint", "retryBackOff": 5_000, "variables": { "color": "red" } });
    stage.post(&format!("/jobs/{job}/failure"), failure).await;
    assert!(stage.jobs("paint").await.is_empty(), "it is too early");
    stage.pass(5_000);
    let again = stage.awaits("paint").await;
    assert_eq!((&again[0]["retries"], &again[0]["variables"]["color"]), (&json!(1), &json!("red")));
    stage
        .post(&format!("/jobs/{job}/failure"), json!({ "retries": 0, "errorMessage": "no paint" }))
        .await;
    let found = stage.found("/jobs/search", json!({ "processInstanceKey": instance })).await;
    assert_eq!((&found[0]["state"], &found[0]["retries"]), (&json!("FAILED"), &json!(0)));
    let incidents = stage
        .found("/incidents/search", json!({ "processInstanceKey": instance, "state": "active" }))
        .await;
    let incident = &incidents[0];
    assert_eq!(incident["errorType"], "JOB_NO_RETRIES");
    assert_eq!(incident["errorMessage"], "no paint");
    assert_eq!(incident["jobKey"], job.as_str());
    let key = text(&incident["incidentKey"]);
    assert_eq!(stage.get(&format!("/incidents/{key}")).await, *incident);
    assert_eq!(stage.get(&format!("/process-instances/{instance}")).await["hasIncident"], true);
    let resolve = format!("/incidents/{key}/resolution");
    stage.refused("POST", &resolve, json!({}), 409, "INVALID_STATE").await;
    for (what, body) in [
        ("completion", json!({})),
        ("failure", json!({ "retries": 3 })),
        ("error", json!({ "errorCode": "no" })),
    ] {
        let path = format!("/jobs/{job}/{what}");
        stage.refused("POST", &path, body, 409, "INVALID_STATE").await;
    }
    stage.did("PATCH", &format!("/jobs/{job}"), json!({ "changeset": { "retries": 2 } })).await;
    assert_eq!(stage.ask("POST", &resolve, None).await.status, 204);
    let gone = stage.ask("POST", &resolve, None).await;
    assert_eq!(gone.status, 404);
    // It is resolved, and can be found all the same.
    assert_eq!(stage.get(&format!("/incidents/{key}")).await["state"], "RESOLVED");
    let of = |state: &str| json!({ "processInstanceKey": instance, "state": state });
    assert_eq!(stage.found("/incidents/search", of("ACTIVE")).await.len(), 0);
    let resolved = stage.found("/incidents/search", of("RESOLVED")).await;
    assert_eq!((resolved.len(), &resolved[0]["jobKey"]), (1, &json!(job)));
    assert_eq!(stage.awaits("paint").await[0]["retries"], 2);
    stage.post(&format!("/jobs/{job}/completion"), json!(null)).await;
    let done = stage.found("/jobs/search", of("COMPLETED")).await;
    assert_eq!((done.len(), &done[0]["jobKey"]), (1, &json!(job)));
    assert!(done[0]["endTime"].is_string());
    assert_eq!(stage.found("/jobs/search", of("CREATED")).await.len(), 0);
    assert_eq!(stage.get(&format!("/process-instances/{instance}")).await["state"], "COMPLETED");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_raises_an_error_that_the_model_catches() {
    let stage = Stage::open().await;
    let of = r#"<bpmn:serviceTask id="pay"><bpmn:extensionElements><zeebe:taskDefinition type="pay"/>
        </bpmn:extensionElements></bpmn:serviceTask>
        <bpmn:boundaryEvent id="no" attachedToRef="pay"><bpmn:errorEventDefinition errorRef="declined"/>
        </bpmn:boundaryEvent><bpmn:sequenceFlow id="f3" sourceRef="no" targetRef="sorry"/>
        <bpmn:endEvent id="sorry"/>"#;
    stage.deploy(&[("pay.bpmn", &one("p", "pay", of))]).await;
    let caught = stage.start("p", json!({})).await;
    let job = text(&stage.awaits("pay").await[0]["jobKey"]);
    let error =
        json!({ "errorCode": "declined", "errorMessage": "no money", "variables": { "x": 1 } });
    stage.post(&format!("/jobs/{job}/error"), error).await;
    assert_eq!(stage.get(&format!("/process-instances/{caught}")).await["state"], "COMPLETED");
    let thrown = stage.found("/jobs/search", json!({ "state": "ERROR_THROWN" })).await;
    assert_eq!((thrown.len(), &thrown[0]["jobKey"]), (1, &json!(job)));
    let instance = stage.start("p", json!({})).await;
    let job = text(&stage.awaits("pay").await[0]["jobKey"]);
    stage.post(&format!("/jobs/{job}/error"), json!({ "errorCode": "other" })).await;
    let incidents =
        stage.found("/incidents/search", json!({ "processInstanceKey": instance })).await;
    assert_eq!(incidents[0]["errorType"], "UNHANDLED_ERROR_EVENT");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_changed_while_a_worker_has_it_and_only_then_its_time() {
    let stage = Stage::open().await;
    stage.deploy(&[("work.bpmn", &work("p", "paint"))]).await;
    stage.start("p", json!({})).await;
    let found = stage.found("/jobs/search", json!({ "type": "paint" })).await;
    assert_eq!(found[0]["state"], "CREATED");
    let key = text(&found[0]["jobKey"]);
    let path = format!("/jobs/{key}");
    let longer = json!({ "changeset": { "timeout": 90_000 } });
    stage.refused("PATCH", &path, longer.clone(), 409, "INVALID_STATE").await;
    stage
        .refused("PATCH", &path, json!({ "changeset": { "retries": 0 } }), 400, "INVALID_ARGUMENT")
        .await;
    stage.refused("PATCH", &path, json!({ "changeset": {} }), 400, "INVALID_ARGUMENT").await;
    assert_eq!(stage.awaits("paint").await.len(), 1);
    stage.did("PATCH", &path, json!({ "changeset": { "timeout": 90_000, "retries": 7 } })).await;
    let found = stage.found("/jobs/search", json!({ "jobKey": key })).await;
    assert_eq!(found[0]["deadline"], "2026-01-01T12:01:30Z");
    assert_eq!(found[0]["retries"], 7);
    assert_eq!(found[0]["worker"], "w");
    stage.pass(90_001);
    assert_eq!(stage.awaits("paint").await.len(), 1, "its time is over");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_not_polled_for() {
    let stage = Stage::open().await;
    let good =
        json!({ "type": "paint", "timeout": 1_000, "maxJobsToActivate": 5, "requestTimeout": -1 });
    for (field, wrong) in [
        ("type", json!("")),
        ("timeout", json!(0)),
        ("maxJobsToActivate", json!(0)),
        ("tenantIds", json!(["other"])),
    ] {
        let mut body = good.clone();
        body[field] = wrong;
        stage.refused("POST", "/jobs/activation", body, 400, "INVALID_ARGUMENT").await;
    }
    stage.post("/jobs/activation", json!({
        "type": "paint", "timeout": 1_000, "maxJobsToActivate": 5, "requestTimeout": -1, "tenantIds": ["<default>"],
    })).await;
    stage.close().await;
}
