use serde_json::{Value as Json, json};

use crate::stage::{Stage, review, text, work};

async fn keys(stage: &Stage, body: Json) -> Vec<String> {
    let found = stage.post("/process-instances/search", body).await;
    let items = found["items"].as_array().unwrap();
    items.iter().map(|it| text(&it["processInstanceKey"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_found_by_plain_values_and_operators() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint")), ("q.bpmn", &review("q"))]).await;
    let mut all = Vec::new();
    for (process, town) in [("p", "Rome"), ("p", "Oslo"), ("q", "Rome")] {
        all.push(stage.start(process, json!({ "town": town })).await);
        stage.pass(1_000);
    }
    stage.post(&format!("/process-instances/{}/cancellation", all[1]), json!({})).await;
    let cases = [
        (json!({}), vec![0, 1, 2]),
        (json!({ "processDefinitionId": "p" }), vec![0, 1]),
        (json!({ "processDefinitionId": { "$neq": "p" } }), vec![2]),
        (json!({ "processDefinitionId": { "$in": ["p", "x"] } }), vec![0, 1]),
        (json!({ "processDefinitionName": { "$like": "The ?" }, "state": "terminated" }), vec![1]),
        (json!({ "state": { "$in": ["ACTIVE", "Completed"] } }), vec![0, 2]),
        (json!({ "state": { "$like": "TERM*" } }), vec![1]),
        (json!({ "endDate": { "$exists": true } }), vec![1]),
        (
            json!({ "startDate": { "$gt": "2026-01-01T12:00:00Z", "$lte": "2026-01-01T12:00:01Z" } }),
            vec![1],
        ),
        (json!({ "processInstanceKey": { "$in": [all[0], all[2]] } }), vec![0, 2]),
        (json!({ "variables": [{ "name": "town", "value": "\"Rome\"" }] }), vec![0, 2]),
        (json!({ "hasIncident": true }), vec![]),
        (
            json!({ "tenantId": "<default>", "processDefinitionVersion": { "$gte": 1 } }),
            vec![0, 1, 2],
        ),
        (json!({ "tenantId": "other" }), vec![]),
        (
            json!({ "processDefinitionId": "p", "$or": [{ "state": "TERMINATED" }, { "endDate": { "$exists": false } }] }),
            vec![0, 1],
        ),
        (json!({ "elementId": "review" }), vec![2]),
        (json!({ "parentProcessInstanceKey": { "$exists": true } }), vec![]),
        (json!({ "processDefinitionKey": all[0] }), vec![]),
        (json!({ "state": null }), vec![0, 1, 2]),
    ];
    for (filter, wanted) in cases {
        let wanted: Vec<String> = wanted.into_iter().map(|it: usize| all[it].clone()).collect();
        let body = json!({ "filter": filter, "sort": [{ "field": "startDate", "order": "asc" }] });
        assert_eq!(keys(&stage, body).await, wanted, "{filter}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_forth_and_back_and_are_counted() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(stage.start("p", json!({})).await);
        stage.pass(1_000);
    }
    all.reverse();
    let sort = json!([{ "field": "startDate", "order": "DESC" }]);
    let first = stage
        .post("/process-instances/search", json!({ "sort": sort, "page": { "limit": 2 } }))
        .await;
    let page = &first["page"];
    assert_eq!((&page["totalItems"], &page["hasMoreTotalItems"]), (&json!(5), &json!(false)));
    let cursor = text(&page["endCursor"]);
    assert!(cursor.len() >= 4 && cursor.len().is_multiple_of(4), "{cursor}");
    assert!(
        cursor.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it)),
        "{cursor}"
    );
    let body = json!({ "sort": sort, "page": { "limit": 2, "after": cursor } });
    let second = stage.post("/process-instances/search", body).await;
    assert_eq!(second["items"][0]["processInstanceKey"], all[2].as_str());
    let body =
        json!({ "sort": sort, "page": { "limit": 2, "before": second["page"]["startCursor"] } });
    assert_eq!(stage.post("/process-instances/search", body).await["items"], first["items"]);
    let body = json!({ "sort": sort, "page": { "from": 3 } });
    assert_eq!(keys(&stage, body).await, all[3..]);
    let beyond = json!({ "page": { "from": 100 } });
    let beyond = stage.post("/process-instances/search", beyond).await;
    assert_eq!((&beyond["items"], &beyond["page"]["endCursor"]), (&json!([]), &json!(null)));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_that_can_be_sorted_by_is_taken_by_every_search() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    stage.start("p", json!({ "x": 1 })).await;
    let schemas = &crate::schema::C8.json()["components"]["schemas"];
    for (path, item) in crate::schema::C8.json()["paths"].as_object().unwrap() {
        if !path.ends_with("/search") || path.contains('{') {
            continue;
        }
        let body = &item["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
            [0]["$ref"];
        let name = body.as_str().unwrap().rsplit('/').next().unwrap();
        let fields = &schemas[name]["properties"]["sort"]["items"]["properties"]["field"]["enum"];
        for field in fields.as_array().unwrap() {
            for order in ["ASC", "desc"] {
                let body = json!({ "sort": [{ "field": field, "order": order }] });
                stage.post(path, body).await;
            }
        }
        for (field, schema) in
            schemas[name]["properties"]["filter"]["properties"].as_object().unwrap()
        {
            let of = schema.to_string();
            let value = if field == "$or" {
                json!([{}])
            } else if of.contains("TextFilter") {
                if ["tate", "type", "kind", "Type"].iter().any(|it| field.ends_with(it)) {
                    json!({ "$exists": true })
                } else {
                    json!({ "$like": "a*", "$neq": "b" })
                }
            } else if of.contains("NumberFilter") {
                json!({ "$gte": 1, "$in": [1, 2] })
            } else if of.contains("KeyFilter") {
                json!({ "$in": ["1", "2"], "$exists": true })
            } else if of.contains("DateFilter") {
                json!({ "$gt": "2026-01-01T00:00:00Z" })
            } else if of.contains("boolean") {
                json!(true)
            } else if ["tags"].contains(&field.as_str()) {
                json!(["a"])
            } else {
                json!([{ "name": "x", "value": "1" }])
            };
            let mut filter = serde_json::Map::new();
            filter.insert(field.clone(), value);
            stage.post(path, json!({ "filter": filter })).await;
        }
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_makes_no_sense_is_refused_with_the_way_out() {
    let stage = Stage::open().await;
    let path = "/process-instances/search";
    let cases = [
        json!({ "filter": { "nothing": 1 } }),
        json!({ "filter": { "state": "FLYING" } }),
        json!({ "filter": { "startDate": "yesterday" } }),
        json!({ "filter": { "processInstanceKey": "abc" } }),
        json!({ "filter": { "processDefinitionId": { "$regex": "a" } } }),
        json!({ "filter": { "processDefinitionVersion": "one" } }),
        json!({ "filter": { "$or": {} } }),
        json!({ "sort": [{ "field": "nothing" }] }),
        json!({ "sort": [{ "field": "state", "order": "up" }] }),
        json!({ "page": { "limit": 0 } }),
        json!({ "page": { "limit": 10_001 } }),
        json!({ "page": { "from": 10_001 } }),
        json!({ "page": { "from": -1 } }),
        json!({ "page": { "after": "AAAA" } }),
        json!({ "page": { "after": "!" } }),
        json!({ "filter": { "processInstanceKey": { "$in": (0..1_001).map(|it| it.to_string()).collect::<Vec<_>>() } } }),
        json!([]),
    ];
    for body in cases {
        let detail = stage.refused("POST", path, body.clone(), 400, "INVALID_ARGUMENT").await;
        assert!(!detail.is_empty(), "{body}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_in_memory_have_the_limits_of_searches() {
    let stage = Stage::open().await;
    stage.deploy(&[("p.bpmn", &work("p", "paint"))]).await;
    let clause = json!({ "processDefinitionId": "p" });
    let many = |count: usize, clause: &Json| json!({ "filter": { "$or": vec![clause; count] } });
    let found = async |body: Json| {
        let path = "/process-definitions/search";
        stage.send("POST", path, "application/json", body.to_string().into()).await
    };
    assert_eq!(found(many(50, &clause)).await.json()["items"].as_array().unwrap().len(), 1);
    for wrong in [
        many(51, &clause),
        many(51, &json!({})),
        json!({ "sort": vec![json!({ "field": "version" }); 6] }),
    ] {
        let refused = found(wrong).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    stage.close().await;
}
