use std::collections::BTreeSet;

use travertine_server::c8::rest::ROUTES;

use crate::{schema::C8, stage::Stage};

#[test]
fn the_table_of_routes_and_the_description_have_the_same_operations() {
    let routes: BTreeSet<(String, String, String)> = ROUTES
        .iter()
        .map(|it| (it.method.to_owned(), it.path.to_owned(), it.operation.to_owned()))
        .collect();
    assert_eq!(routes.len(), ROUTES.len(), "no route is there twice");
    let mut described = BTreeSet::new();
    for (path, item) in C8.json()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if method != "parameters" {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                described.insert((method.to_uppercase(), path.clone(), id));
            }
        }
    }
    let missing: Vec<_> = routes.symmetric_difference(&described).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The fields that clients know, by what the description calls them.
#[test]
fn every_field_that_clients_know_is_described() {
    let schemas = &C8.json()["components"]["schemas"];
    for line in include_str!("../fields.txt").lines() {
        let (schema, fields) = line.split_once(": ").unwrap();
        for field in fields.split(' ') {
            assert!(schemas[schema]["properties"].get(field).is_some(), "{schema} has no {field}");
        }
    }
}

#[test]
fn every_reference_in_the_description_leads_somewhere() {
    fn walk(it: &serde_json::Value) {
        match it {
            serde_json::Value::Object(fields) => {
                if let Some(to) = fields.get("$ref").and_then(|it| it.as_str()) {
                    let to = to.strip_prefix('#').unwrap();
                    assert!(C8.json().pointer(to).is_some(), "{to}");
                }
                fields.values().for_each(walk);
            }
            serde_json::Value::Array(items) => items.iter().for_each(walk),
            _ => {}
        }
    }
    walk(C8.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_serves_its_description() {
    let stage = Stage::open().await;
    let answer = stage.ask("GET", "/openapi.yaml", None).await;
    assert_eq!(answer.headers["content-type"], "application/yaml");
    assert!(answer.text.starts_with("openapi: 3.1.0"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_what_it_is() {
    let stage = Stage::open().await;
    let topology = stage.get("/topology").await;
    assert_eq!(topology["gatewayVersion"], "8.8.0");
    assert_eq!(topology["partitionsCount"], 2);
    assert_eq!(topology["brokers"][0]["partitions"][1]["role"], "leader");
    assert_eq!(stage.ask("GET", "/status", None).await.status, 204);
    assert_eq!(stage.get("/license").await["isCommercial"], false);
    assert_eq!(stage.get("/authentication/me").await["tenants"][0]["tenantId"], "<default>");
    stage.close().await;
}
