//! Who may do what over the native API. What must come of it stands here, and not in the table that it is about.

use serde_json::{Value as Json, json};
use travertine_runtime::Named;

use super::{BASE, ROUTES, Takes};
use crate::matrix::{
    self,
    About::{All, Everything, Name, Nothing, Object, Private},
    DEPLOYERS, EVERYBODY, Keys, OPERATORS, READERS, Row, TASK_READERS, TASKS, WORKERS, World,
    process,
};

/// Each operation: what it is about, who may do it, and what is sent.
fn operations() -> Vec<Row> {
    let row = Row::new;
    let get = |operation, about, allowed| row(operation, about, allowed, "");
    let all = "{}";
    vec![
        get("getOpenApi", Nothing, EVERYBODY),
        get("listInstances", All, READERS),
        row("startInstance", Object, OPERATORS, "{'definition': 'SIDE-order'}"),
        get("getInstance", Object, READERS),
        get("getTree", Object, READERS),
        get("getVariables", Object, READERS),
        get("getWhy", Object, READERS),
        get("getHistory", Object, READERS),
        get("listEvents", Object, READERS),
        get("listFrames", Object, READERS),
        get("getMoment", Object, READERS),
        get("getPicture", Object, READERS),
        row("cancelInstance", Object, OPERATORS, all),
        row("suspendInstance", Object, OPERATORS, all),
        row("resumeInstance", Object, OPERATORS, all),
        row("resolveInstance", Object, OPERATORS, all),
        row("setVariables", Object, OPERATORS, "{'variables': {'a': 1}}"),
        row("modifyInstance", Object, OPERATORS, "{'add': [{'element': 'work'}]}"),
        row("migrateInstance", Object, OPERATORS, "{'version': 1, 'dry_run': true}"),
        get("deleteInstance", Object, "admin"),
        get("listDefinitions", All, READERS),
        get("getDefinition", Object, READERS),
        get("getModel", Object, READERS),
        get("getModelPicture", Object, READERS),
        get("getDiagram", Object, READERS),
        get("getStatistics", Object, READERS),
        get("checkDeployed", Object, READERS),
        row("retireDefinition", Object, DEPLOYERS, "{'version': 1}"),
        get("undeployDefinition", Object, DEPLOYERS),
        get("deploy", Name, DEPLOYERS),
        get("checkFiles", Nothing, DEPLOYERS),
        get("drawFile", Nothing, READERS),
        get("listIncidents", All, READERS),
        get("listCauses", All, READERS),
        get("listJobs", All, READERS),
        get("listJobTypes", All, READERS),
        row("activateJobs", Name, WORKERS, "{'type': 'SIDE-work'}"),
        get("getJob", Object, READERS),
        row("completeJob", Object, WORKERS, all),
        row("failJob", Object, WORKERS, all),
        row("raiseError", Object, WORKERS, "{'code': 'x'}"),
        row("setRetries", Object, OPERATORS, "{'retries': 2}"),
        get("listTasks", All, TASK_READERS),
        get("getTask", Object, TASK_READERS),
        get("getTaskForm", Object, TASK_READERS),
        row("claimTask", Object, TASKS, "{'assignee': 'ROLE'}"),
        row("unclaimTask", Object, TASKS, all),
        row("completeTask", Object, TASKS, all),
        row("changeTask", Object, OPERATORS, "{'priority': 3}"),
        get("listTimers", All, READERS),
        row("moveTimer", Object, OPERATORS, "{'to': 'PT1H'}"),
        row("fireTimer", Object, OPERATORS, all),
        row("completeWait", Object, OPERATORS, all),
        get("listMessages", All, OPERATORS).blind("viewer"),
        row("publishMessage", Name, OPERATORS, "{'name': 'SIDE-paid', 'key': 'x'}"),
        row("correlateMessage", Name, OPERATORS, "{'name': 'SIDE-paid', 'key': 'x'}")
            .finds_nobody(),
        get("listSubscriptions", All, READERS),
        row("broadcastSignal", Name, OPERATORS, "{'name': 'SIDE-go'}"),
        row("evaluateConditions", Everything, OPERATORS, all),
        get("listDeadLetters", All, OPERATORS).blind("viewer"),
        get("getDeadLetter", Object, OPERATORS).blind("viewer"),
        row("replayDeadLetter", Object, OPERATORS, all),
        get("discardDeadLetter", Object, OPERATORS),
        row("evaluate", Object, OPERATORS, "{'expression': '1', 'instance': 'INSTANCE'}")
            .and_reads(),
        row("decide", Object, OPERATORS, all),
        get("decideByFiles", Nothing, OPERATORS),
        get("listFunctions", All, READERS),
        row("startFunction", Object, OPERATORS, all),
        get("getRun", Object, READERS),
        get("getRunResult", Object, READERS),
        row("cancelRun", Object, OPERATORS, all),
        row("queryRun", Object, READERS, all),
        row("updateRun", Object, OPERATORS, all),
        row("sendEvent", Name, OPERATORS, "{'name': 'SIDE-event'}"),
        get("listSchedules", All, READERS),
        get("getSchedule", Object, READERS),
        row("putSchedule", Object, OPERATORS, "{'definition': 'SIDE-order', 'every_ms': 60000}"),
        row("pauseSchedule", Object, OPERATORS, all),
        row("resumeSchedule", Object, OPERATORS, all),
        row("triggerSchedule", Object, OPERATORS, all),
        get("removeSchedule", Object, OPERATORS),
        get("listWebhooks", Everything, "admin"),
        get("getWebhook", Everything, "admin"),
        row("putWebhook", Everything, "admin", "{'url': 'http://127.0.0.1:9/'}"),
        row("pauseWebhook", Everything, "admin", all),
        row("resumeWebhook", Everything, "admin", all),
        get("removeWebhook", Everything, "admin"),
        get("listBatches", All, READERS),
        row("beginBatch", Object, OPERATORS, "{'operation': 'cancel', 'instances': ['INSTANCE']}"),
        get("getBatch", Object, READERS),
        get("listBatchItems", Object, READERS),
        row("pauseBatch", Object, OPERATORS, all),
        row("resumeBatch", Object, OPERATORS, all),
        row("cancelBatch", Object, OPERATORS, all),
        get("forgetBatch", Object, OPERATORS),
        get("listSessions", Nothing, DEPLOYERS),
        get("beginSession", Object, DEPLOYERS).and_reads(),
        get("getSession", Private, DEPLOYERS),
        row("doStep", Private, DEPLOYERS, "{'advance': 'PT1M'}"),
        row("rewindSession", Private, DEPLOYERS, "{'steps': 0}"),
        get("getSessionPicture", Private, DEPLOYERS),
        get("getAnswers", Private, DEPLOYERS),
        get("endSession", Private, DEPLOYERS),
        get("live", Object, READERS),
        get("getMe", Nothing, EVERYBODY),
        get("getAccess", Everything, "admin"),
        get("listAudit", Everything, "admin"),
        row("putUser", Everything, "admin", "{'password': 'correct horse'}"),
        get("removeUser", Everything, "admin"),
        row("putGroup", Everything, "admin", all),
        row("addKey", Everything, "admin", all),
        get("removeKey", Everything, "admin"),
        get("getStore", All, READERS),
        row("verifyStore", Everything, "admin", all),
        row("compactStore", Everything, "admin", all),
        get("preflight", Everything, "admin"),
    ]
}

const JSON: &str = "application/json";

/// The names in a path that are of something which was made.
const MADE: [(&str, &str); 8] = [
    ("{instance}", "processInstanceKey"),
    ("{job}", "jobKey"),
    ("{task}", "userTaskKey"),
    ("{timer}", "timerKey"),
    ("{wait}", "jobKey"),
    ("{run}", "runKey"),
    ("{batch}", "batchOperationKey"),
    ("{letter}", "letterKey"),
];

/// What something is called in paths.
fn name(named: Named) -> String {
    match named {
        Named::Instance(it) => it.to_string(),
        Named::Wait(it) => it.to_string(),
        Named::Message(it) | Named::Deployment(it) => it.to_string(),
        other => panic!("{other} stands in no path"),
    }
}

/// Asks for an operation of the table.
async fn operation(world: &World, row: &Row, who: &str, side: &str, keys: &Keys) -> (u16, String) {
    let route = ROUTES.iter().find(|it| it.operation == row.operation);
    let route = route.expect("it is in the table");
    let mut path = format!("{BASE}{}", route.path);
    for (place, key) in MADE.into_iter().filter(|(place, _)| route.path.contains(place)) {
        path = path.replace(place, &name(keys[key]));
    }
    for (place, name) in [
        ("{session}", keys.get("session").map(|it| name(*it)).unwrap_or_default()),
        ("{definition}", format!("{side}-order")),
        ("{decision}", format!("{side}-price")),
        ("{function}", format!("{side}-fun")),
        ("{schedule}", format!("{side}-nightly")),
        ("{webhook}", "hook".to_owned()),
        ("{moment}", "9999999".to_owned()),
        ("{name}", if route.path.contains("query") { "seen" } else { "told" }.to_owned()),
        ("{user}", "nobody".to_owned()),
        ("{group}", "none".to_owned()),
        ("{key}", "none".to_owned()),
    ] {
        path = path.replace(place, &name);
    }
    match row.operation {
        "undeployDefinition" => path += "?version=1",
        "live" => path += &["?instance=", &name(keys["processInstanceKey"])].concat(),
        _ => {}
    }
    let (kind, body) = match (route.takes, row.operation) {
        (Takes::Files(_), "beginSession") => matrix::field("definition", &format!("{side}-order")),
        (Takes::Files(_), "decideByFiles") => {
            matrix::file("files", "a.dmn", &matrix::decision(side))
        }
        (Takes::Files(_), _) => matrix::file("files", "a.bpmn", &process(side)),
        (Takes::Parameters(_) | Takes::List(_) | Takes::Fields(_), _) => {
            (JSON, row.body(who, side, keys))
        }
    };
    world.ask(who, route.method, &path, kind, &body).await
}

/// What the operation is about, as nobody has asked about it before.
async fn fresh(world: &World, row: &Row, side: &'static str, role: &str) -> Keys {
    let route = ROUTES.iter().find(|it| it.operation == row.operation);
    let path = route.expect("it is in the table").path;
    let mut keys = Keys::new();
    let has_batch = path.contains("{batch}");
    if row.about != Everything && (path.contains('{') || row.about == Object) {
        keys = world.fresh(side).await;
    }
    if has_batch {
        world.add_batch(&mut keys, side, role).await;
    }
    if path.contains("{run}") {
        world.add_run(&mut keys, side, row.operation != "getRunResult").await;
    }
    if path.contains("{schedule}") {
        world.add_schedule(side).await;
    }
    if path.contains("{letter}") {
        world.add_letter(&mut keys, side).await;
    }
    if path.contains("{session}") {
        // Who may not begin one is told so, whichever it asks for.
        let begun = match (DEPLOYERS.contains(role), side) {
            (false, _) => Named::Deployment(1),
            (true, "own") => session(world, role).await,
            (true, _) => session(world, "admin-all").await,
        };
        keys.insert("session", begun);
    }
    if path.contains("{webhook}") && row.operation != "putWebhook" {
        let hook = r#"{"url": "http://127.0.0.1:9/"}"#;
        let path = format!("{BASE}/webhooks/hook");
        let (status, text) = world.ask("admin-all", "PUT", &path, JSON, hook).await;
        assert!(status < 300, "{text}");
    }
    keys
}

/// A session that somebody has begun.
async fn session(world: &World, who: &str) -> Named {
    let (kind, body) = matrix::file("files", "a.bpmn", &process("own"));
    let (status, text) = world.ask(who, "POST", &format!("{BASE}/play"), kind, &body).await;
    assert_eq!(status, 201, "{text}");
    let begun = told(&text);
    let number = begun["session"].as_str().and_then(|it| it.parse().ok());
    // It has no key: as in paths, it is a number.
    Named::Deployment(number.expect("it has a number"))
}

/// What an answer says, without its head.
fn told(answer: &str) -> Json {
    let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

#[tokio::test]
async fn every_operation_is_done_for_who_may_and_for_nobody_else() {
    let world = World::new().await;
    let operations = operations();
    let mut named: Vec<&str> = operations.iter().map(|it| it.operation).collect();
    let mut there: Vec<&str> = ROUTES.iter().map(|it| it.operation).collect();
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there, "each route has a line here");
    let fresh =
        async |row: &Row, side: &'static str, role: &str| fresh(&world, row, side, role).await;
    let ask = async |row: &Row, who: &str, side: &str, keys: &Keys| {
        operation(&world, row, who, side, keys).await
    };
    matrix::check(&operations, fresh, ask).await;
    world.end();
}

#[tokio::test]
async fn everybody_finds_their_own_in_lists_and_counts_no_more() {
    let world = World::new().await;
    let sides = ["own", "foreign"];
    let mut all = Vec::new();
    for side in sides {
        let mut keys = world.fresh(side).await;
        world.add_letter(&mut keys, side).await;
        all.push(keys);
    }
    let is_listed = |row: &Row| {
        let route = ROUTES.iter().find(|it| it.operation == row.operation);
        route.is_some_and(|it| matches!(it.takes, Takes::List(_)))
    };
    let mut rows = operations();
    rows.retain(|it| it.about == All);
    // Schedules and batches are instances themselves, so they come after everything else is counted.
    rows.sort_by_key(|it| !is_listed(it));
    let mut has_others = false;
    for row in &rows {
        if !is_listed(row) && !std::mem::replace(&mut has_others, true) {
            for (side, keys) in sides.into_iter().zip(&mut all) {
                world.add_batch(keys, side, "viewer").await;
                world.add_schedule(side).await;
            }
        }
        let route = ROUTES.iter().find(|it| it.operation == row.operation);
        let route = route.expect("it is in the table");
        let is_counted = is_listed(row);
        let path = format!("{BASE}{}{}", route.path, if is_counted { "?count=true" } else { "" });
        // Messages are found by who may send them.
        let who = if row.operation.contains("Messages") || row.operation.contains("Letters") {
            "operator"
        } else {
            "viewer"
        };
        let (status, own) = world.ask(who, "GET", &path, JSON, "").await;
        assert_eq!(status, 200, "{}: {own}", row.operation);
        assert!(own.contains("own-") && !own.contains("foreign"), "{}: {own}", row.operation);
        if !is_counted {
            continue;
        }
        let (_, whole) = world.ask(&format!("{who}-all"), "GET", &path, JSON, "").await;
        let count = |it: &str| told(it)["total"]["count"].as_u64().expect("it is counted");
        let (own, whole) = (count(&own), count(&whole));
        assert!(own > 0 && own * 2 == whole, "{}: {own} of {whole}", row.operation);
    }
    world.end();
}

#[tokio::test]
async fn a_user_does_what_is_offered_to_them_and_nothing_of_others() {
    let world = World::new().await;
    let task = async || {
        let keys = world.fresh("own").await;
        format!("{BASE}/tasks/{}", name(keys["userTaskKey"]))
    };
    let ask = async |who: &str, method: &str, path: String, body: Json| {
        world.ask(who, method, &path, JSON, &body.to_string()).await.0
    };
    let path = task().await;
    let claim = || format!("{path}/claim");
    // Nobody gives a task to somebody else, but an operator.
    assert_eq!(ask("user", "POST", claim(), json!({ "assignee": "bob" })).await, 403);
    assert_eq!(ask("operator", "POST", claim(), json!({ "assignee": "bob" })).await, 200);
    // It is offered to their group still, so they see it, and cannot take it away.
    assert_eq!(world.ask("user", "GET", &path, JSON, "").await.0, 200);
    assert_eq!(ask("user", "POST", claim(), json!({ "assignee": "user" })).await, 403);
    assert_eq!(ask("user", "POST", format!("{path}/unclaim"), json!({})).await, 403);
    assert_eq!(ask("user", "POST", format!("{path}/complete"), json!({})).await, 403);
    assert_eq!(ask("user", "PATCH", path.clone(), json!({ "assignee": "user" })).await, 403);
    assert_eq!(ask("operator", "POST", format!("{path}/unclaim"), json!({})).await, 200);
    assert_eq!(ask("user", "POST", claim(), json!({})).await, 200);
    assert_eq!(ask("user", "POST", format!("{path}/complete"), json!({})).await, 200);
    // What is offered to another group is not there.
    let path = task().await;
    let others = json!({ "candidate_groups": ["others"] });
    assert_eq!(ask("operator", "PATCH", path.clone(), others).await, 200);
    assert_eq!(world.ask("user", "GET", &path, JSON, "").await.0, 404);
    assert_eq!(ask("user", "POST", format!("{path}/complete"), json!({})).await, 404);
    world.end();
}

#[tokio::test]
async fn what_an_operation_touches_besides_must_be_theirs_too() {
    let world = World::new().await;
    let own = world.fresh("own").await;
    let instance = name(own["processInstanceKey"]);
    let ask = async |who: &str, method: &str, path: &str, body: Json| {
        world.ask(who, method, &format!("{BASE}{path}"), JSON, &body.to_string()).await
    };
    // Nobody has an instance go on by what is not theirs.
    let migrate = format!("/instances/{instance}/migrate");
    let to = json!({ "definition": "foreign-order", "version": 1 });
    assert_eq!(ask("operator", "POST", &migrate, to.clone()).await.0, 404);
    assert_eq!(ask("operator-reads", "POST", &migrate, to).await.0, 403);
    let batch = json!({ "operation": "migrate", "instances": [instance],
        "definition": "foreign-order", "version": 1 });
    assert_eq!(ask("operator", "POST", "/batches", batch).await.0, 404);
    // Nobody tells a schedule to start something but through the operations of schedules.
    world.add_schedule("own").await;
    let told =
        ask("admin-all", "POST", "/functions/runs/own-nightly/update/start", json!({})).await;
    assert_eq!(told.0, 403, "{}", told.1);
    // Who may take something out of use may not forget what has ended with it.
    let retire = json!({ "version": 1, "delete_history": true });
    let (status, text) =
        ask("developer", "POST", "/definitions/own-order/retire", retire.clone()).await;
    assert!(status == 403 && text.contains("permission admin"), "{text}");
    assert_eq!(ask("admin", "POST", "/definitions/own-order/retire", retire).await.0, 200);
    // Who only sends messages does not learn who waits for them.
    let mut keys = world.fresh("foreign").await;
    world.add_letter(&mut keys, "foreign").await;
    let path = format!("{BASE}/dead-letters/{}", name(keys["letterKey"]));
    for (who, names) in [("sender", json!([])), ("operator-all", json!(["foreign-paid"]))] {
        let (status, text) = world.ask(who, "GET", &path, JSON, "").await;
        assert_eq!((status, &self::told(&text)["similar_names"]), (200, &names), "{who}");
    }
    world.end();
}

#[tokio::test]
async fn nobody_gets_more_than_they_have_through_the_engines_own_definitions() {
    let world = World::new().await;
    let keys = world.fresh("foreign").await;
    let Named::Instance(foreign) = keys["processInstanceKey"] else { panic!("it is one") };
    // The engine works on batches from now on.
    let mut keys = keys;
    world.add_batch(&mut keys, "foreign", "somebody").await;
    let ask = async |who: &str, path: &str, body: Json| {
        world.ask(who, "POST", &format!("{BASE}{path}"), JSON, &body.to_string()).await
    };
    // A task that says what only batches may say.
    let model = process("own").replace("\"own-work\"", "\"travertine.batch\"");
    let (kind, body) = matrix::file("files", "a.bpmn", &model);
    let (status, text) =
        world.ask("developer", "POST", &format!("{BASE}/deployments"), kind, &body).await;
    assert_eq!(status, 201, "{text}");
    let order = json!({ "work": "cancel", "who": null, "per_second": null, "at": 0,
        "instances": [foreign.0] });
    let start = json!({ "definition": "own-order", "variables": { "order": order } });
    let (status, text) = ask("developer", "/instances", start).await;
    assert_eq!(status, 201, "{text}");
    let started = told(&text)["instance"].as_str().expect("it has a number").to_owned();
    let path = format!("{BASE}/instances/{started}");
    let incidents = async || {
        let (_, text) = world.ask("developer", "GET", &path, JSON, "").await;
        told(&text)["incident_count"].as_u64().expect("they are counted")
    };
    while incidents().await == 0 {
        tokio::task::yield_now().await;
    }
    // Runs of what the engine has for itself.
    let batch = json!({ "work": "cancel", "who": null, "filter": "", "per_second": null,
        "paused": false, "cancelled": false, "total": 0, "seen": 0, "done": 0, "refused": 0,
        "gone": 0, "began": 0, "ended": null });
    let arguments = json!({ "batch": batch, "instances": format!("{} ", foreign.0) });
    let every =
        json!({ "definition": "travertine.batch", "variables": arguments, "every_ms": 60_000 });
    for (path, body) in [
        ("/functions/travertine.batch/runs", json!({ "arguments": arguments })),
        ("/instances", json!({ "definition": "travertine.batch", "variables": arguments })),
    ] {
        let (status, text) = ask("developer-all", path, body).await;
        assert_eq!(status, 404, "{path}: {text}");
    }
    let path = format!("{BASE}/schedules/mine");
    let (status, text) = world.ask("developer-all", "PUT", &path, JSON, &every.to_string()).await;
    assert_eq!(status, 404, "{text}");
    // Jobs that the engine does itself.
    let jobs = json!({ "type": "travertine.batch" });
    assert_eq!(ask("worker-all", "/jobs/activate", jobs).await.0, 403);
    // Whom that would have struck is as it was.
    let row = world.engine.look(foreign).await.expect("it is there").row;
    assert_eq!(row.ended, None);
    world.end();
}
