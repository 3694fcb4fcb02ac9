//! Processes that are played.

use serde_json::{Value as Json, json};

use crate::stage::{Stage, text};

fn model(name: &str) -> String {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

async fn begin(stage: &Stage, files: &[(&str, &str)], fields: &[(&str, &str)]) -> Json {
    let answer = stage.api_files("/play", files, fields).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

fn waits(session: &Json) -> Vec<(String, String)> {
    let all = session["instances"][0]["waits"].as_array().unwrap();
    let mut all: Vec<_> = all.iter().map(|it| (text(&it["element"]), text(&it["kind"]))).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_played_step_by_step_and_goes_back_exactly() {
    let stage = Stage::single().await;
    let fields = [("variables", r#"{"amount": 250}"#), ("now", "2026-01-01T12:00:00Z")];
    let first = begin(&stage, &[("order.bpmn", &model("order.bpmn"))], &fields).await;
    let path = format!("/play/{}", text(&first["session"]));
    assert_eq!((&first["outcome"], &first["steps"]), (&json!("waiting"), &json!(0)));
    let job = waits(&first).into_iter().find(|(_, kind)| kind == "job").unwrap().0;
    let does = async |step: Json| stage.does("POST", &format!("{path}/steps"), step).await;
    let second = does(json!({ "complete": job, "vars": { "shelf": "B7" } })).await;
    assert_ne!(waits(&first), waits(&second));
    assert!(!second["trace"].as_array().unwrap().is_empty());
    // What is refused is no step, and changes nothing.
    for (step, says) in [
        (json!({ "complete": "nowhere" }), "nothing waits at nowhere"),
        (json!({ "advance": "soon" }), "soon"),
        (json!({}), "one of these is needed"),
        (json!({ "complet": "x" }), "is complete meant?"),
    ] {
        let refused = stage.api("POST", &format!("{path}/steps"), Some(step)).await;
        assert!(
            refused.status.is_client_error() && refused.text.contains(says),
            "{}",
            refused.text
        );
    }
    let again = stage.looks(&path).await;
    assert_eq!((&again["instances"], &again["steps"]), (&second["instances"], &json!(1)));
    let third = does(json!({ "advance": "next" })).await;
    assert_ne!(third["time"], second["time"]);
    let back = stage.does("POST", &format!("{path}/rewind"), json!({})).await;
    for field in ["instances", "time", "variables", "steps", "next_due", "answers"] {
        assert_eq!(back[field], second[field], "{field}");
    }
    let start = stage.does("POST", &format!("{path}/rewind"), json!({ "steps": 0 })).await;
    assert_eq!(start["instances"], first["instances"]);
    does(json!({ "complete": job })).await;
    let answers = stage.looks(&format!("{path}/answers")).await;
    assert_eq!(answers, json!([{ "complete": job }]));
    let picture = stage.api("GET", &format!("{path}/picture?page=true"), None).await;
    assert!(picture.text.starts_with("<svg"), "{}", picture.text);
    assert_eq!(stage.looks("/play").await["sessions"], json!([first["session"]]));
    stage.does("DELETE", &path, json!({})).await;
    assert_eq!(stage.api("GET", &path, None).await.status, 404);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deployed_is_played_and_what_makes_no_sense_is_refused() {
    let stage = Stage::single().await;
    stage.api_files("/deployments", &[("order.bpmn", &model("order.bpmn"))], &[]).await;
    let played = begin(&stage, &[], &[("definition", "order")]).await;
    assert_eq!(played["process"], "order");
    assert!(
        text(&played["command"]).starts_with("travertine run order.bpmn --process order --now ")
    );
    // Nothing of it is in the store.
    assert!(stage.looks("/instances").await["instances"].as_array().unwrap().is_empty());
    for (files, fields, status, says) in [
        (vec![], vec![], 400, "say definition"),
        (vec![], vec![("definition", "nothing")], 404, "nothing is deployed as nothing"),
        (vec![("a.bpmn", "<x")], vec![], 400, "cannot run"),
        (vec![], vec![("definition", "order"), ("now", "soon")], 400, "the field now"),
        (vec![], vec![("definition", "order"), ("start", "x")], 400, "no such start event"),
    ] {
        let refused = stage.api_files("/play", &files, &fields).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        assert!(refused.text.contains(says), "{}", refused.text);
    }
    // Someone can have only so many, and what never rests is given up.
    let endless = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
        <process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="a" sourceRef="s" targetRef="g"/>
        <exclusiveGateway id="g"/><sequenceFlow id="b" sourceRef="g" targetRef="h"/>
        <exclusiveGateway id="h"/><sequenceFlow id="c" sourceRef="h" targetRef="g"/></process></definitions>"#;
    let given_up = begin(&stage, &[("p.bpmn", endless)], &[]).await;
    assert!(
        ["restless", "incident"].contains(&given_up["outcome"].as_str().unwrap()),
        "{given_up}"
    );
    stage.close().await;
}
