//! The native API.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use travertine_server::native::{ROUTES, Takes};

use crate::{
    schema::NATIVE,
    stage::{Stage, review, text, work},
};

#[test]
fn the_table_of_routes_and_the_description_have_the_same_operations_and_names() {
    let mut described = BTreeSet::new();
    for (path, item) in NATIVE.json()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            let mut names: BTreeSet<String> = BTreeSet::new();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            names.extend(parameters.iter().map(|it| text(&it["name"])));
            let content = &operation["requestBody"]["content"];
            for kind in ["application/json", "multipart/form-data"] {
                let fields = content[kind]["schema"]["properties"].as_object();
                names.extend(fields.into_iter().flatten().map(|(name, _)| name.clone()));
            }
            let needs = operation["x-needs"].as_array().cloned().unwrap_or_default();
            let needs: Vec<String> = needs.iter().map(text).collect();
            let id = text(&operation["operationId"]);
            described.insert((method.to_uppercase(), path.clone(), id, names, needs));
        }
    }
    let routes: BTreeSet<_> = ROUTES
        .iter()
        .map(|it| {
            let names = match it.takes {
                Takes::Fields(names) | Takes::Files(names) => names.to_vec(),
                Takes::Parameters(_) | Takes::List(_) => it.takes.parameters(),
            };
            let names = names.iter().map(|it| (*it).to_owned()).collect();
            let needs = it.needs.iter().map(|it| it.name().to_owned()).collect();
            (it.method.to_owned(), it.path.to_owned(), it.operation.to_owned(), names, needs)
        })
        .collect();
    let other: Vec<_> = routes.symmetric_difference(&described).collect();
    assert!(other.is_empty(), "{other:#?}");
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap()
}

fn model(name: &str) -> String {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A server with the order of the examples deployed, and one that has begun.
async fn ordered() -> Stage {
    let stage = Stage::single().await;
    let answer =
        stage.api_files("/deployments", &[("order.bpmn", &model("order.bpmn"))], &[]).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let body = json!({ "definition": "order", "id": "ORD-7", "variables": { "amount": 250 } });
    let started = stage.does("POST", "/instances", body.clone()).await;
    assert_eq!((&started["instance"], &started["known"]), (&json!("1"), &json!(false)));
    assert_eq!(stage.does("POST", "/instances", body).await["known"], true);
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_looked_at_from_all_sides_and_brought_to_its_end() {
    let stage = ordered().await;
    let one = stage.looks("/instances/ORD-7").await;
    assert_eq!((&one["state"], &one["variables"]["amount"]), (&json!("running"), &json!(250)));
    let why = stage.looks("/instances/ORD-7/why").await;
    let wait =
        why["waits"].as_array().unwrap().iter().find(|it| it["kind"] == "job").unwrap().clone();
    assert_eq!(wait["way_out"], "travertine complete 1-3");
    assert_eq!(wait["ways"][0]["operation"], "completeJob");
    assert_eq!(wait["ways"][0]["path"]["job"], "1-3");
    stage.does("POST", "/jobs/1-3/complete", json!({ "variables": { "shelf": "B7" } })).await;
    let layers = stage.looks("/instances/1/variables").await;
    assert_eq!(layers["layers"][0]["variables"].as_array().unwrap().len(), 2);
    let moment = stage.looks("/instances/1/at/1").await;
    assert_eq!(moment["variables"], json!({ "amount": 250 }));
    // After its first event nothing has begun.
    assert_eq!(stage.looks("/instances/1/at/1.1").await["tree"], Json::Null);
    let timers = stage.looks("/timers?instance=ORD-7").await;
    let timer = text(&timers["timers"][0]["timer"]);
    let moved = stage.does("POST", &format!("/timers/{timer}/move"), json!({ "to": "PT2H" })).await;
    assert_eq!(moved["due"], "2026-01-01T14:00:00Z");
    stage.does("POST", &format!("/timers/{timer}/fire"), json!({})).await;
    let charge = text(&stage.looks("/jobs?type=charge").await["jobs"][0]["job"]);
    stage.does("POST", &format!("/jobs/{charge}/complete"), json!({})).await;
    let history = stage.looks("/instances/1/history").await;
    assert!(history["activities"].as_array().unwrap().len() > 3);
    // All events in pages are all events.
    let (mut after, mut count) = (String::new(), 0);
    loop {
        let page = stage.looks(&format!("/instances/1/events?limit=7{after}")).await;
        count += page["events"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let frames = stage.looks("/instances/1/frames?limit=500").await;
    assert_eq!(frames["count"], count);
    assert_eq!(frames["frames"].as_array().unwrap().len(), count);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_at_every_event_agrees_with_the_frames() {
    let stage = ordered().await;
    stage.does("POST", "/jobs/1-3/complete", json!({ "variables": { "shelf": "B7" } })).await;
    let frames = stage.looks("/instances/1/frames?limit=500").await;
    let mut now = serde_json::Map::new();
    for frame in frames["frames"].as_array().unwrap() {
        for (element, count) in frame["tokens"].as_object().unwrap() {
            if *count == json!(0) {
                now.remove(element)
            } else {
                now.insert(element.clone(), count.clone())
            };
        }
        let at = text(&frame["at"]);
        let moment = stage.looks(&format!("/instances/1/at/{at}")).await;
        let mut counted = serde_json::Map::new();
        count(&moment["tree"], &mut counted);
        for (element, tokens) in &now {
            assert!(counted.contains_key(element), "{at}: {element} {tokens} {counted:?}");
        }
    }
    stage.close().await;
}

fn count(branch: &Json, all: &mut serde_json::Map<String, Json>) {
    if branch.is_null() {
        return;
    }
    let element = text(&branch["element"]);
    let before = all.get(&element).and_then(Json::as_u64).unwrap_or(0);
    all.insert(element, json!(before + 1));
    for it in branch["inside"].as_array().unwrap() {
        count(it, all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_show_any_moment_and_pages_can_style_them() {
    let stage = ordered().await;
    let picture = stage.api("GET", "/instances/1/picture", None).await;
    assert_eq!(picture.headers["content-type"], "image/svg+xml");
    assert!(picture.headers["content-security-policy"].to_str().unwrap().contains("'none'"));
    assert!(picture.text.starts_with("<svg"));
    let page = stage.api("GET", "/instances/1/picture?page=true", None).await.text;
    assert!(page.contains("var(--tv-ink, #2b2f38)"), "{page}");
    assert!(
        page.contains(r#"aria-label="Reserve stock, service task, 1 token, entered 1×""#),
        "{page}"
    );
    assert!(page.contains(r#"data-element="reserve" role="button""#), "{page}");
    let early = stage.api("GET", "/instances/1/picture?page=true&at=1.2", None).await.text;
    assert!(!early.contains("1 token"), "{early}");
    let model = stage.api("GET", "/definitions/order/picture", None).await;
    assert!(model.text.starts_with("<svg"));
    let diagram = stage.looks("/definitions/order/diagram").await;
    let shapes = diagram["shapes"].as_array().unwrap();
    assert!(
        shapes.iter().any(|it| it["element"] == "reserve" && it["width"].as_f64().unwrap() > 0.0)
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_found_by_the_query_line() {
    let stage = Stage::single().await;
    let files = [("p.bpmn", &*work("p", "paint")), ("q.bpmn", &*review("q"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    for (definition, amount, country) in
        [("p", 50, "AT"), ("p", 150, "AT"), ("p", 250, "DE"), ("q", 300, "AT")]
    {
        let variables = json!({ "amount": amount, "customer": { "country": country } });
        stage
            .does("POST", "/instances", json!({ "definition": definition, "variables": variables }))
            .await;
    }
    stage.does("POST", "/instances/1/cancel", json!({})).await;
    let found = async |line: &str| {
        let line: String = line.bytes().flat_map(|it| ['%', hex(it >> 4), hex(it & 15)]).collect();
        let page = stage.looks(&format!("/instances?q={line}&sort=instance")).await;
        assert_eq!(page["complete"], true);
        let all = page["instances"].as_array().unwrap();
        all.iter().map(|it| text(&it["instance"])).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("state:running").await, "2 3 4");
    assert_eq!(found("def:p amount>100").await, "2 3");
    assert_eq!(found("amount>=150 customer.country=\"AT\"").await, "2 4");
    assert_eq!(found("at:review or amount<100").await, "1 4");
    assert_eq!(found("not (state:running) or amount=250").await, "1 3");
    assert_eq!(found("at:work not amount=150").await, "3");
    assert_eq!(found("exists:customer.country amount=50,300").await, "1 4");
    assert_eq!(found("waiting>1h").await, "");
    stage.pass(7_200_000);
    assert_eq!(found("waiting>1h").await, "2 3 4");
    assert_eq!(found("at:review waiting>1h").await, "4");
    for (line, why) in [
        ("stat%3Arunning", "is state meant?"),
        ("state%3Aoff", "there are running"),
        ("(amount%3E1", "a bracket is not closed"),
        ("amount%3E%22x", "not closed"),
    ] {
        let answer = stage.api("GET", &format!("/instances?q={line}"), None).await;
        assert_eq!(answer.status, 400);
        assert!(text(&answer.json()["detail"]).contains(why), "{}", answer.text);
    }
    // Pages of what only the server can find, one row each, are all rows.
    let (mut after, mut all) = (String::new(), Vec::new());
    loop {
        let page = stage.looks(&format!("/instances?q=amount%3E100&limit=1{after}")).await;
        all.extend(page["instances"].as_array().unwrap().iter().map(|it| text(&it["instance"])));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(all, ["4", "3", "2"]);
    let page = stage.looks("/instances?columns=amount,customer.country&count=true&limit=2").await;
    assert_eq!(
        page["instances"][0]["variables"],
        json!({ "amount": 300, "customer.country": "AT" })
    );
    assert_eq!(page["total"], json!({ "count": 4, "exact": true }));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_refused_with_a_suggestion() {
    let stage = ordered().await;
    for (method, path, body, why) in [
        ("GET", "/instances?stat=running", None, "is state meant?"),
        ("GET", "/instances?limit=0", None, "from 1 to 1000"),
        ("GET", "/instances?sort=-startd", None, "is started meant?"),
        ("POST", "/instances", Some(json!({ "definiton": "order" })), "is definition meant?"),
        ("POST", "/instances", Some(json!({})), "the field definition is missing"),
        ("POST", "/jobs/1-3/complete", Some(json!({ "variables": [1] })), "an object"),
        ("GET", "/instances/1/at/x", None, "is no moment"),
    ] {
        let answer = stage.api(method, path, body).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text);
        assert!(text(&answer.json()["detail"]).contains(why), "{}", answer.text);
    }
    for path in ["/instances/nobody", "/instances/1/at/1.999", "/definitions/ordr", "/tasks/1-99"] {
        assert_eq!(stage.api("GET", path, None).await.status, 404, "{path}");
    }
    let answer = stage.send_to("GET", "/api/1/instance", "", "".into(), &[]).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text.contains("is GET /api/1/instances meant?"), "{}", answer.text);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_the_same_key_is_done_once_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let stage = Stage::open_in(1, Some(directory.path())).await;
    let files = [("p.bpmn", &*work("p", "paint"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    let start = json!({ "definition": "p" });
    let key = [("idempotency-key", "first")];
    let first = stage.api_with("POST", "/instances", Some(start.clone()), &key).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let again = stage.api_with("POST", "/instances", Some(start.clone()), &key).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = json!({ "definition": "p", "id": "x" });
    let other = stage.api_with("POST", "/instances", Some(other), &key).await;
    assert_eq!(other.status, 409);
    // What was refused was not done, and can be sent again.
    let wrong = [("idempotency-key", "second")];
    let refused =
        stage.api_with("POST", "/instances", Some(json!({ "definition": "none" })), &wrong).await;
    assert_eq!(refused.status, 404);
    assert_eq!(stage.looks("/instances?count=true").await["total"]["count"], 1);
    stage.close().await;
    let stage = Stage::open_in(1, Some(directory.path())).await;
    let again = stage.api_with("POST", "/instances", Some(start), &key).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(
        stage.looks("/instances?count=true").await["total"]["count"],
        0,
        "it was not done here"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_tokens_come_in_pages_of_a_hundred_kilobytes() {
    let stage = Stage::single().await;
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:t">
      <process id="many" isExecutable="true"><startEvent id="s"/><sequenceFlow id="a" sourceRef="s" targetRef="w"/>
      <userTask id="w"><multiInstanceLoopCharacteristics><loopCardinality>10000</loopCardinality>
      </multiInstanceLoopCharacteristics></userTask></process></definitions>"#;
    assert_eq!(stage.api_files("/deployments", &[("many.bpmn", model)], &[]).await.status, 201);
    stage.does("POST", "/instances", json!({ "definition": "many" })).await;
    let top = stage.api("GET", "/instances/1/tree", None).await;
    let main = text(&top.json()["tokens"][0]["token"]);
    let (mut after, mut count) = (String::new(), 0);
    loop {
        let page = stage
            .api("GET", &format!("/instances/1/tree?under={main}&limit=1000{after}"), None)
            .await;
        assert!(page.text.len() <= 100_000, "{}", page.text.len());
        let page = page.json();
        count += page["tokens"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(count, 10_000);
    let one = stage.api("GET", "/instances/1", None).await;
    assert!(one.text.len() <= 100_000 && one.json()["tokens"].as_u64().unwrap() > 10_000);
    for path in [
        "/instances/1/why?limit=200",
        "/instances/1/variables",
        "/instances/1/frames",
        "/instances/1/events",
    ] {
        let page = stage.api("GET", path, None).await;
        assert!(page.text.len() <= 100_000, "{path}: {}", page.text.len());
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_are_told_by_cause_and_resolved_with_what_truly_came_of_it() {
    let stage = Stage::single().await;
    let files = [("p.bpmn", &*work("p", "paint"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    for _ in 0..3 {
        stage.does("POST", "/instances", json!({ "definition": "p" })).await;
    }
    let taken = json!({ "type": "paint", "worker": "painter", "limit": 3, "lease_ms": 60_000 });
    let taken = stage.does("POST", "/jobs/activate", taken).await;
    let types = stage.looks("/jobs/types").await;
    assert_eq!(types["types"][0]["workers"][0]["worker"], "painter");
    assert_eq!(types["types"][0]["leased"], 3);
    for job in taken["jobs"].as_array().unwrap() {
        let path = format!("/jobs/{}/fail", text(&job["job"]));
        stage.does("POST", &path, json!({ "message": "no paint", "retries": 0 })).await;
    }
    let causes = stage.looks("/incidents/causes").await;
    assert_eq!(causes["count"], 1);
    assert_eq!(causes["causes"][0]["count"], 3);
    assert_eq!(causes["causes"][0]["newest"]["message"], "no paint");
    let resolved =
        stage.does("POST", "/instances/2/resolve", json!({ "variables": { "x": 1 } })).await;
    assert_eq!((&resolved["retried"], &resolved["still"]), (&json!(1), &json!([])));
    assert_eq!(stage.api("POST", "/instances/2/resolve", Some(json!({}))).await.status, 409);
    assert_eq!(stage.looks("/incidents?definition=p&count=true").await["total"]["count"], 2);
    let statistics = stage.looks("/definitions/p/statistics").await;
    let at_work =
        statistics["elements"].as_array().unwrap().iter().find(|it| it["element"] == "work");
    assert_eq!(at_work.unwrap()["incidents"], 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_modify_migrate_suspend_and_delete() {
    let stage = Stage::single().await;
    let files = [("p.bpmn", &*work("p", "paint"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    stage.does("POST", "/instances", json!({ "definition": "p" })).await;
    let steps = json!({ "move": [{ "from": "work", "to": "end" }], "dry_run": true });
    let tried = stage.does("POST", "/instances/1/modify", steps).await;
    assert_eq!(tried["possible"], true);
    assert_eq!(stage.looks("/instances/1").await["state"], "running");
    let next = work("p", "paint").replace("Do it", "Do it well");
    assert_eq!(stage.api_files("/deployments", &[("p.bpmn", &*next)], &[]).await.status, 201);
    let tried = json!({ "version": 2, "dry_run": true });
    assert_eq!(stage.does("POST", "/instances/1/migrate", tried).await["possible"], true);
    assert_eq!(
        stage.does("POST", "/instances/1/migrate", json!({ "version": 2 })).await["version"],
        2
    );
    assert_eq!(stage.does("POST", "/instances/1/suspend", json!({})).await["state"], "suspended");
    assert_eq!(stage.does("POST", "/instances/1/resume", json!({})).await["state"], "running");
    let set = json!({ "variables": { "a": { "b": 12.50 } } });
    stage.does("POST", "/instances/1/variables", set).await;
    let steps = json!({ "move": [{ "from": "work", "to": "end" }] });
    assert_eq!(stage.does("POST", "/instances/1/modify", steps).await["state"], "completed");
    assert_eq!(stage.api("DELETE", "/instances/1", None).await.json()["deleted"], "1");
    assert_eq!(stage.api("GET", "/instances/1", None).await.status, 404);
    let retired = stage.does("POST", "/definitions/p/retire", json!({ "version": 2 })).await;
    assert_eq!(retired["retired"], true);
    assert_eq!(stage.looks("/definitions/p").await["version"], 1);
    let gone = stage.api("DELETE", "/definitions/p?version=1", None).await;
    assert_eq!(gone.json()["removed"], true, "{}", gone.text);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_messages_signals_and_schedules_are_worked_with() {
    let stage = Stage::single().await;
    let paid = crate::stage::one(
        "m",
        "wait",
        r#"<bpmn:intermediateCatchEvent id="wait"><bpmn:messageEventDefinition messageRef="paid"/></bpmn:intermediateCatchEvent>"#,
    );
    let files = [("q.bpmn", &*review("q")), ("m.bpmn", &*paid)];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    stage.does("POST", "/instances", json!({ "definition": "q", "variables": { "x": 1 } })).await;
    let task = text(&stage.looks("/tasks?group=ops").await["tasks"][0]["task"]);
    let claimed =
        stage.does("POST", &format!("/tasks/{task}/claim"), json!({ "assignee": "ann" })).await;
    assert_eq!(claimed["assignee"], "ann");
    let other = stage
        .api("POST", &format!("/tasks/{task}/claim"), Some(json!({ "assignee": "bob" })))
        .await;
    assert_eq!((other.status.as_u16(), &other.json()["code"]), (409, &json!("claimed")));
    let changed = json!({ "due": "2026-02-01T00:00:00Z", "priority": 7 });
    let changed = stage.does("PATCH", &format!("/tasks/{task}"), changed).await;
    assert_eq!(changed["due"], "2026-02-01T00:00:00Z");
    assert_eq!(stage.looks(&format!("/tasks/{task}")).await["variables"]["x"], 1);
    stage.does("POST", &format!("/tasks/{task}/unclaim"), json!({})).await;
    stage.does("POST", &format!("/tasks/{task}/complete"), json!({})).await;
    stage
        .does("POST", "/instances", json!({ "definition": "m", "variables": { "order": "A" } }))
        .await;
    assert_eq!(
        stage.looks("/subscriptions?name=paid").await["subscriptions"][0]["element"],
        "wait"
    );
    let nobody = json!({ "name": "paid", "key": "B" });
    assert_eq!(stage.api("POST", "/messages/correlate", Some(nobody)).await.status, 404);
    let held = json!({ "name": "paid", "key": "C", "ttl_ms": 3_600_000, "id": "c" });
    assert_eq!(stage.does("POST", "/messages", held).await["outcome"], "held");
    assert_eq!(stage.looks("/messages").await["messages"][0]["id"], "c");
    let sent = json!({ "name": "paid", "key": "A" });
    assert_eq!(stage.does("POST", "/messages", sent).await["outcome"], "received");
    assert_eq!(stage.does("POST", "/signals", json!({ "name": "go" })).await["outcome"], "sent");
    let schedule = json!({ "definition": "q", "every_ms": 3_600_000 });
    let made = stage.api("PUT", "/schedules/hourly", Some(schedule)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let paused = stage.does("POST", "/schedules/hourly/pause", json!({})).await;
    assert_eq!(paused["state"], "paused");
    assert_eq!(stage.looks("/schedules").await["schedules"].as_array().unwrap().len(), 1);
    stage.does("DELETE", "/schedules/hourly", json!({})).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_expressions_and_decisions_are_tried_without_a_store() {
    let stage = Stage::single().await;
    let checked = stage.api_files("/check", &[("order.bpmn", &*model("order.bpmn"))], &[]).await;
    assert_eq!(checked.json()["can_run"], true, "{}", checked.text);
    let broken = model("order.bpmn").replace("PT1H", "an hour");
    let refused = stage.api_files("/deployments", &[("order.bpmn", &*broken)], &[]).await;
    assert_eq!(refused.status, 400);
    assert!(!refused.json()["report"]["diagnostics"].as_array().unwrap().is_empty());
    let drawn = stage
        .api_files("/draw", &[("order.bpmn", &*model("order.bpmn"))], &[("layout", "true")])
        .await;
    assert!(drawn.text.starts_with("<svg"));
    let eval = json!({ "expression": "a + 1", "variables": { "a": 2 } });
    assert_eq!(stage.does("POST", "/eval", eval).await["value"], 3);
    let eval = json!({ "expression": "a + 1", "language": "js", "variables": { "a": 2 } });
    assert_eq!(stage.does("POST", "/eval", eval).await["value"], 3);
    let eval = json!({ "expression": "name + 1", "variables": { "name": "x" } });
    let eval = stage.does("POST", "/eval", eval).await;
    assert_eq!((&eval["value"], eval["warnings"].as_array().unwrap().len()), (&Json::Null, 1));
    let files = [("approval.dmn", &*model("approval.dmn"))];
    let decided = stage.api_files("/decide", &files, &[("variables", r#"{"amount": 10}"#)]).await;
    assert_eq!(decided.status, 200, "{}", decided.text);
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    let by_id = stage
        .does("POST", "/decisions/approver/decide", json!({ "variables": { "amount": 10 } }))
        .await;
    assert_eq!(by_id["value"], decided.json()["value"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_told_of_verified_and_made_smaller() {
    let stage = ordered().await;
    let store = stage.looks("/store").await;
    assert_eq!(store["instances"]["running"], 1);
    assert_eq!(store["waiting"]["jobs"], 1);
    let verified = stage.api("POST", "/store/verify", Some(json!({}))).await;
    let last: Json = serde_json::from_str(verified.text.lines().last().unwrap()).unwrap();
    assert_eq!(last["agrees"], true, "{}", verified.text);
    stage.does("POST", "/instances/1/cancel", json!({})).await;
    let compacted = stage.does("POST", "/store/compact", json!({ "keep": 0 })).await;
    assert_eq!(compacted["forgotten"], 1);
    assert_eq!(stage.looks("/store/preflight").await["tried"], 0);
    let answer = stage.api("GET", "/openapi.yaml", None).await;
    assert!(answer.text.starts_with("openapi: 3.1.0"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_told_live_and_whoever_comes_back_misses_nothing() {
    let stage = ordered().await;
    let hello = stage.hears("/live", "event: hello", &[]).await;
    let id = hello.lines().find_map(|it| it.strip_prefix("id: ")).unwrap().to_owned();
    // Nobody listens now.
    stage.does("POST", "/jobs/1-3/complete", json!({ "variables": { "shelf": "B7" } })).await;
    let missed = stage.hears("/live", "event: change", &[("last-event-id", &id)]).await;
    let data = missed.lines().rev().find_map(|it| it.strip_prefix("data: ")).unwrap();
    let data: Json = serde_json::from_str(data).unwrap();
    let change = &data["instances"][0];
    assert_eq!((&change["instance"], &change["definition"]), (&json!("1"), &json!("order")));
    assert!(change["elements"].as_array().unwrap().contains(&json!("charge")), "{change}");
    assert!(missed.len() < 1_500, "{missed}");
    // Somebody listens to another instance, and hears only of that.
    let start = json!({ "definition": "order", "id": "ORD-8" });
    stage.does("POST", "/instances", start).await;
    let other =
        stage.hears(&format!("/live?instance=ORD-8&after={id}"), "event: change", &[]).await;
    assert!(!other.contains(r#""instance":"1""#), "{other}");
    // What happens while somebody listens is told, too.
    let path = format!("/live?instance=1&after={id}");
    let (heard, ()) = tokio::join!(stage.hears(&path, r#""ended":true"#, &[]), async {
        stage.does("POST", "/instances/1/cancel", json!({})).await;
        let mut rest = stage.looks("/instances/1").await;
        while rest["state"] == "running" {
            let jobs = stage.looks("/jobs?instance=1").await;
            for it in jobs["jobs"].as_array().unwrap() {
                let path = format!("/jobs/{}/complete", text(&it["job"]));
                stage.does("POST", &path, json!({})).await;
            }
            rest = stage.looks("/instances/1").await;
        }
    });
    assert!(heard.contains("event: change"));
    let foreign = stage.hears("/live?after=999999", "event: reset", &[]).await;
    assert!(foreign.starts_with("id: "));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_listed_where_somebody_asks_for_it() {
    let stage = Stage::single().await;
    let files = [("p.bpmn", &*work("p", "paint")), ("q.bpmn", &*review("q"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    for definition in ["p", "q", "q"] {
        stage.does("POST", "/instances", json!({ "definition": definition })).await;
    }
    let task = text(&stage.looks("/tasks").await["tasks"][0]["task"]);
    stage.does("POST", &format!("/tasks/{task}/complete"), json!({})).await;
    let job = text(&stage.looks("/jobs").await["jobs"][0]["job"]);
    stage.does("POST", &format!("/jobs/{job}/complete"), json!({})).await;
    let count =
        async |path: &str, field: &str| stage.looks(path).await[field].as_array().unwrap().len();
    assert_eq!(count("/tasks", "tasks").await, 1);
    assert_eq!(count("/tasks?past=true", "tasks").await, 2);
    assert_eq!(count("/tasks?past=only", "tasks").await, 1);
    assert_eq!(count("/tasks?state=open,completed", "tasks").await, 2);
    assert_eq!(count("/tasks?ended_after=1h", "tasks").await, 1);
    assert_eq!(count("/tasks?state=completed&past=false", "tasks").await, 0);
    assert_eq!(count("/jobs", "jobs").await, 0);
    let done = stage.looks("/jobs?state=completed&count=true").await;
    assert_eq!((&done["jobs"][0]["job"], &done["total"]["count"]), (&json!(job), &json!(1)));
    assert!(done["jobs"][0]["ended"].is_string());
    let over = stage.looks(&format!("/tasks/{task}")).await;
    assert_eq!(over["state"], "completed");
    // Pages go through what is there and what is over in one order.
    let first = stage.looks("/tasks?past=true&sort=-created&limit=1").await;
    let next = text(&first["next"]);
    let second = stage.looks(&format!("/tasks?past=true&sort=-created&limit=1&after={next}")).await;
    assert_ne!(first["tasks"][0]["task"], second["tasks"][0]["task"]);
    assert_eq!(second["next"], Json::Null);
    let wrong = stage.api("GET", "/tasks?past=maybe", None).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("true, false or only"), "{}", wrong.text);
    stage.close().await;
}

/// A process that waits for `paid` with its order.
fn waits(name: &str) -> String {
    format!(
        r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
        <bpmn:message id="m" name="{name}"><bpmn:extensionElements><zeebe:subscription correlationKey="=order"/>
        </bpmn:extensionElements></bpmn:message>
        <bpmn:process id="p" isExecutable="true"><bpmn:startEvent id="s"/>
        <bpmn:sequenceFlow id="f" sourceRef="s" targetRef="wait"/>
        <bpmn:receiveTask id="wait" messageRef="m"/></bpmn:process></bpmn:definitions>"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_says_who_nearly_would_have_taken_it() {
    let stage = Stage::single().await;
    assert_eq!(
        stage.api_files("/deployments", &[("p.bpmn", &*waits("paid"))], &[]).await.status,
        201
    );
    let variables = json!({ "order": "A-1" });
    stage.does("POST", "/instances", json!({ "definition": "p", "variables": variables })).await;
    for (name, key) in [("paid", "A-2"), ("payed", "A-1")] {
        let message = json!({ "name": name, "key": key, "ttl_ms": 1_000 });
        stage.does("POST", "/messages", message).await;
    }
    stage.pass(2_000);
    let letters = stage.looks("/dead-letters?sort=name").await["dead_letters"].clone();
    let near = stage.looks(&format!("/dead-letters/{}", text(&letters[0]["message"]))).await;
    assert_eq!(near["near"][0]["instance"], "1");
    let differs = &near["near"][0]["differs"];
    assert_eq!((&differs[0]["wanted"], &differs[0]["sent"]), (&json!("A-1"), &json!("A-2")));
    let other = stage.looks(&format!("/dead-letters/{}", text(&letters[1]["message"]))).await;
    assert_eq!((&other["near"], &other["similar_names"]), (&json!([]), &json!(["paid"])));
    assert_eq!(stage.api("GET", "/dead-letters/999", None).await.status, 404);
    stage.close().await;
}
