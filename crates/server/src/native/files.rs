//! Files that come with a request, as `multipart/form-data`.

use std::collections::BTreeMap;

use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart};
use travertine_runtime::engine::File;
use travertine_value::{Map, Value};

use super::{
    call::{Call, known},
    problem::Problem,
};
use crate::desk::{Desk, Outcome, Refusal};

/// How many files a request brings at most.
const FILES_MAX: usize = 1_000;

/// What a request brings in parts.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) desk: Desk,
    pub(super) files: Vec<File>,
    fields: BTreeMap<String, String>,
}

impl Parts {
    /// Reads files, of which there must be one, and these fields beside them.
    pub(super) async fn read(call: Call, fields: &[&str]) -> Result<Self, Problem> {
        let all = Self::read_any(call, fields).await?;
        if all.files.is_empty() {
            return Err(
                Refusal::invalid("there is no file: send them as parts called files").into()
            );
        }
        Ok(all)
    }

    /// Reads files, where there are any, and these fields beside them.
    pub(super) async fn read_any(call: Call, fields: &[&str]) -> Result<Self, Problem> {
        let desk = call.desk.clone();
        let mut request = call.into_request();
        // The front has counted its bytes.
        DefaultBodyLimit::disable().apply(&mut request);
        let parts = Multipart::from_request(request, &()).await;
        let mut parts = parts.map_err(|error| {
            Refusal::invalid(format!("files are sent as multipart/form-data: {error}"))
        })?;
        let broken = |error: axum::extract::multipart::MultipartError| {
            Refusal::invalid(format!("the files cannot be read: {}", error.body_text()))
        };
        let mut all = Self { desk, files: Vec::new(), fields: BTreeMap::new() };
        while let Some(part) = parts.next_field().await.map_err(broken)? {
            let field = part.name().unwrap_or_default().to_owned();
            known("field", &field, fields)?;
            if field != "files" {
                all.fields.insert(field, part.text().await.map_err(broken)?);
                continue;
            }
            if all.files.len() == FILES_MAX {
                let detail = format!("more than {FILES_MAX} files: send them in several calls");
                return Err(Refusal::new(Outcome::TooLarge, detail).into());
            }
            let Some(name) = part.file_name().filter(|it| !it.is_empty()).map(str::to_owned) else {
                return Err(Refusal::invalid("a part called files has no file name").into());
            };
            let body = part.bytes().await.map_err(broken)?.to_vec();
            all.files.push(File { name, body });
        }
        Ok(all)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false" | "") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                Err(Refusal::invalid(format!("the field {name} is true or false, not {other:?}"))
                    .into())
            }
        }
    }

    /// A field that is a JSON object.
    pub(super) fn object(&self, name: &str) -> Result<Map, Problem> {
        let Some(text) = self.text(name) else { return Ok(Map::default()) };
        let value = Value::parse_json(text);
        let value =
            value.map_err(|error| Refusal::invalid(format!("the field {name}: {error}")))?;
        let wrong =
            || Refusal::invalid(format!("the field {name} is a JSON object, not {}", value.kind()));
        Ok(value.as_map().ok_or_else(wrong)?.clone())
    }
}
