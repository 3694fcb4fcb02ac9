use serde_json::json;

use crate::stage::{Stage, one, text, work};

const DISH: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="dishes" name="Dishes" namespace="urn:test">
  <decision id="dish" name="Dish">
    <decisionTable id="table" hitPolicy="UNIQUE">
      <input id="season-in" label="Season"><inputExpression id="e1" typeRef="string"><text>season</text></inputExpression></input>
      <output id="dish-out" label="Dish" name="dish" typeRef="string"/>
      <rule id="r1"><inputEntry id="i1"><text>"winter"</text></inputEntry><outputEntry id="o1"><text>"soup"</text></outputEntry></rule>
      <rule id="r2"><inputEntry id="i2"><text>"summer"</text></inputEntry><outputEntry id="o2"><text>"salad"</text></outputEntry></rule>
    </decisionTable>
  </decision>
</definitions>"#;

const FORM: &str = r#"{"id": "address", "type": "default", "components": []}"#;

#[tokio::test(flavor = "multi_thread")]
async fn files_of_all_kinds_are_deployed_together_and_found() {
    let stage = Stage::open().await;
    let model = work("p", "paint");
    let files = [
        ("dir/p.bpmn", &*model),
        ("dish.dmn", DISH),
        ("address.form", FORM),
        ("notes.md", "# Notes"),
    ];
    let deployed = stage.deploy(&files).await;
    let all = deployed["deployments"].as_array().unwrap();
    let of = |what: &str| {
        let found = all.iter().find(|it| !it[what].is_null());
        found.unwrap_or_else(|| panic!("no {what} in {all:#?}"))[what].clone()
    };
    let process = of("processDefinition");
    assert_eq!(process["resourceName"], "dir/p.bpmn");
    assert_eq!(process["processDefinitionVersion"], 1);
    let key = text(&process["processDefinitionKey"]);
    let path = format!("/process-definitions/{key}");
    let got = stage.get(&path).await;
    assert_eq!((&got["name"], &got["state"]), (&json!("The p"), &json!("ACTIVE")));
    assert_eq!(stage.ask("GET", &format!("{path}/xml"), None).await.text, model);
    assert_eq!(stage.ask("GET", &format!("{path}/form"), None).await.status, 204);
    let found =
        stage.found("/process-definitions/search", json!({ "isLatestVersion": true })).await;
    assert_eq!(found, [got]);

    let decision = of("decisionDefinition");
    let key = text(&decision["decisionDefinitionKey"]);
    let got = stage.get(&format!("/decision-definitions/{key}")).await;
    assert_eq!((&got["name"], &got["decisionRequirementsId"]), (&json!("Dish"), &json!("dishes")));
    let found = stage
        .found("/decision-definitions/search", json!({ "decisionDefinitionId": "dish" }))
        .await;
    assert_eq!(found, std::slice::from_ref(&got));
    assert_eq!(
        stage.ask("GET", &format!("/decision-definitions/{key}/xml"), None).await.text,
        DISH
    );

    let graph = of("decisionRequirements");
    let key = text(&graph["decisionRequirementsKey"]);
    assert_eq!(got["decisionRequirementsKey"], key.as_str());
    let got = stage.get(&format!("/decision-requirements/{key}")).await;
    assert_eq!(got["decisionRequirementsName"], "Dishes");
    assert_eq!(stage.found("/decision-requirements/search", json!({})).await, [got]);
    assert_eq!(
        stage.ask("GET", &format!("/decision-requirements/{key}/xml"), None).await.text,
        DISH
    );

    let form = stage.get(&format!("/forms/{}", text(&of("form")["formKey"]))).await;
    assert_eq!((&form["formId"], &form["schema"]), (&json!("address"), &json!(FORM)));

    let resource = of("resource");
    let key = text(&resource["resourceKey"]);
    assert_eq!(stage.get(&format!("/resources/{key}")).await["resourceName"], "notes.md");
    assert_eq!(stage.ask("GET", &format!("/resources/{key}/content"), None).await.text, "# Notes");

    let again = stage.deploy(&files).await;
    assert_eq!(again["deployments"], deployed["deployments"], "nothing has changed");
    assert_ne!(again["deploymentKey"], deployed["deploymentKey"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_made_by_id_and_by_key() {
    let stage = Stage::open().await;
    stage.deploy(&[("dish.dmn", DISH)]).await;
    let body = json!({ "decisionDefinitionId": "dish", "variables": { "season": "summer" } });
    let made = stage.post("/decision-definitions/evaluation", body).await;
    assert_eq!(made["output"], "\"salad\"");
    let evaluated = &made["evaluatedDecisions"][0];
    assert_eq!(evaluated["matchedRules"][0]["ruleId"], "r2");
    assert_eq!(evaluated["matchedRules"][0]["ruleIndex"], 2);
    assert_eq!(evaluated["matchedRules"][0]["evaluatedOutputs"][0]["outputId"], "dish-out");
    assert_eq!(evaluated["evaluatedInputs"][0]["inputId"], "season-in");
    assert_eq!(evaluated["evaluatedInputs"][0]["inputValue"], "\"summer\"");
    let body = json!({ "decisionDefinitionKey": made["decisionDefinitionKey"], "variables": { "season": "winter" } });
    let again = stage.post("/decision-definitions/evaluation", body).await;
    assert_eq!(again["output"], "\"soup\"");
    // No two have one key, and those inside have it with their number.
    assert_ne!(again["decisionEvaluationKey"], made["decisionEvaluationKey"]);
    let inside = format!("{}-1", text(&made["decisionEvaluationKey"]));
    assert_eq!(evaluated["decisionEvaluationInstanceKey"], inside.as_str());
    let body = json!({ "decisionDefinitionId": "nope" });
    stage.refused("POST", "/decision-definitions/evaluation", body, 404, "NOT_FOUND").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_run_is_refused_with_all_that_is_wrong_and_nothing_is_deployed() {
    let stage = Stage::open().await;
    let good = work("good", "paint");
    let bad = one("bad", "nowhere", "");
    let answer = stage.send_files(&[("good.bpmn", &good), ("bad.bpmn", &bad)], None).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    assert_eq!(answer.json()["title"], "INVALID_ARGUMENT");
    assert!(answer.json()["detail"].as_str().unwrap().contains("bad.bpmn"), "{}", answer.text);
    assert!(stage.found("/process-definitions/search", json!({})).await.is_empty());
    let answer = stage.send_files(&[], None).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let answer = stage.send_files(&[("good.bpmn", &good)], Some("other")).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let answer = stage.send("POST", "/deployments", "application/json", "{}".into()).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let answer = stage.send_files(&[("good.bpmn", &good)], Some("<default>")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_version_is_not_started_any_more() {
    let stage = Stage::open().await;
    let first = stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let running = stage.start("p", json!({})).await;
    let key = text(&first["deployments"][0]["processDefinition"]["processDefinitionKey"]);
    let gone = stage.post(&format!("/resources/{key}/deletion"), json!({})).await;
    assert_eq!(gone["resourceKey"], key.as_str());
    let body = json!({ "processDefinitionId": "p" });
    stage.refused("POST", "/process-instances", body, 404, "NOT_FOUND").await;
    assert_eq!(stage.get(&format!("/process-instances/{running}")).await["state"], "ACTIVE");
    let found = stage.found("/process-definitions/search", json!({ "state": "ACTIVE" })).await;
    assert!(found.is_empty(), "{found:#?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_is_evaluated_with_limits_and_warnings() {
    let stage = Stage::open().await;
    let body = json!({ "expression": "=a + b * 0.1", "variables": { "a": 1, "b": 2 } });
    let gave = stage.post("/expression/evaluation", body).await;
    assert_eq!(gave["result"], 1.2);
    assert_eq!(gave["warnings"], json!([]));
    let gave = stage.post("/expression/evaluation", json!({ "expression": "missing + 1" })).await;
    assert_eq!(gave["result"], json!(null));
    assert!(gave["warnings"][0]["message"].as_str().unwrap().contains("missing"));
    let body = json!({ "expression": "=1 +" });
    stage.refused("POST", "/expression/evaluation", body, 400, "INVALID_ARGUMENT").await;
    let body = json!({ "expression": "=count(for a in 1..100000, b in 1..100000 return a)" });
    stage.refused("POST", "/expression/evaluation", body, 400, "INVALID_ARGUMENT").await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let instance = stage.start("p", json!({ "x": 20 })).await;
    let body = json!({ "expression": "=x + y", "scopeKey": instance, "variables": { "y": 2 } });
    assert_eq!(stage.post("/expression/evaluation", body).await["result"], 22);
    stage.close().await;
}
