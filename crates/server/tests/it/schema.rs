//! The descriptions of the APIs: everything that is said in tests is held against them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use serde_json::{Value as Json, json};

/// What one API says of itself.
#[derive(Debug)]
pub(crate) struct Description {
    text: &'static str,
    read: OnceLock<Json>,
    kept: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>>,
}

/// The API of existing clients.
pub(crate) static C8: Description = Description::of(include_str!("../../openapi/c8.yaml"));

/// Our own.
pub(crate) static NATIVE: Description = Description::of(include_str!("../../openapi/native.yaml"));

impl Description {
    const fn of(text: &'static str) -> Self {
        Self { text, read: OnceLock::new(), kept: Mutex::new(BTreeMap::new()) }
    }

    /// It, as JSON.
    pub(crate) fn json(&self) -> &Json {
        self.read
            .get_or_init(|| serde_yaml_ng::from_str(self.text).expect("the description is YAML"))
    }

    /// The operation that answers a method at a path below `/v2`.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Option<&Json> {
        let said: Vec<&str> = path.split('?').next().unwrap_or_default().split('/').collect();
        let fits = |template: &str| {
            let template: Vec<&str> = template.split('/').collect();
            template.len() == said.len()
                && template
                    .iter()
                    .zip(&said)
                    .all(|(one, other)| one.starts_with('{') || one == other)
        };
        let exact = |template: &&String| template.matches('{').count();
        let paths = self.json()["paths"].as_object().expect("paths are an object");
        let path = paths.keys().filter(|it| fits(it)).min_by_key(exact)?;
        paths[path].get(method.to_lowercase())
    }

    /// Everything that is wrong with a value by a schema of the description.
    pub(crate) fn faults(&self, schema: &Json, value: &Json, is_answer: bool) -> Vec<String> {
        let name = format!("{is_answer} {schema}");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = kept.entry(name).or_insert_with(|| {
            let mut whole = schema.clone();
            let mut components = self.json()["components"].clone();
            if is_answer {
                close(&mut components);
            }
            whole["components"] = components;
            Arc::new(jsonschema::validator_for(&whole).expect("it is a schema"))
        });
        let validator = Arc::clone(validator);
        drop(kept);
        validator.iter_errors(value).map(|it| format!("{}: {it}", it.instance_path)).collect()
    }

    /// The schema of an answer; `Err` where the operation never answers so.
    pub(crate) fn answer_schema<'a>(
        &'a self,
        operation: &'a Json,
        status: u16,
    ) -> Result<Option<&'a Json>, String> {
        let responses = &operation["responses"];
        if let Some(response) = responses.get(status.to_string()) {
            let content = response.get("content").and_then(|it| it.get("application/json"));
            return Ok(content.map(|it| &it["schema"]));
        }
        if status < 400 {
            return Err(format!("{} never answers with {status}", operation["operationId"]));
        }
        let problem = &self.json()["components"]["responses"]["Problem"]["content"];
        Ok(Some(&problem["application/problem+json"]["schema"]))
    }
}

/// An answer says nothing that is not described.
fn close(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            fields.values_mut().for_each(close);
        }
        Json::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// What must be said with a request.
pub(crate) fn request_schema(operation: &Json) -> Option<&Json> {
    Some(&operation.get("requestBody")?["content"].get("application/json")?["schema"])
}
