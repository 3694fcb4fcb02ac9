//! What is deployed.

use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, multipart::MultipartError};
use http::StatusCode;
use travertine_runtime::{Named, engine::File};

use super::{Answer, Call, read::tenant};
use crate::desk::{Outcome, Refusal};

/// How large all files of a deployment may be together.
const BYTES_MAX: usize = 64 << 20;

/// How many files.
const FILES_MAX: usize = 1_000;

pub(super) async fn create(call: Call) -> Result<Answer, Refusal> {
    let desk = call.desk.clone();
    let mut request = call.into_request();
    DefaultBodyLimit::max(BYTES_MAX).apply(&mut request);
    let mut parts = Multipart::from_request(request, &()).await.map_err(|error| {
        Refusal::invalid(format!("files are sent as multipart/form-data: {error}"))
    })?;
    let mut files = Vec::new();
    while let Some(part) = parts.next_field().await.map_err(|error| broken(&error))? {
        match part.name() {
            Some("tenantId") => {
                let name = part.text().await.map_err(|error| broken(&error))?;
                tenant(Some(&name))?;
            }
            Some("resources") => {
                if files.len() == FILES_MAX {
                    let detail =
                        format!("more than {FILES_MAX} files: deploy them in several calls");
                    return Err(Refusal::new(Outcome::TooLarge, detail));
                }
                let Some(name) = part.file_name().filter(|it| !it.is_empty()).map(str::to_owned)
                else {
                    return Err(Refusal::invalid("a part called resources has no file name"));
                };
                let body = part.bytes().await.map_err(|error| broken(&error))?.to_vec();
                files.push(File { name, body });
            }
            // Newer clients may say more.
            _ => {}
        }
    }
    let deployment = desk.deploy(files).await?;
    Ok(Answer::object(|it| {
        it.key("deploymentKey", Named::Deployment(deployment.number));
        it.tenant();
        it.list("deployments", &deployment.definitions, |it, one| {
            it.object("processDefinition", |it| {
                it.text("processDefinitionId", &one.id);
                it.int("processDefinitionVersion", one.version);
                it.text("resourceName", "");
                it.tenant();
                it.key("processDefinitionKey", Named::Definition(one.key));
            });
            it.null("decisionDefinition");
            it.null("decisionRequirements");
            it.null("form");
            it.null("resource");
        });
    }))
}

fn broken(error: &MultipartError) -> Refusal {
    let detail = error.body_text();
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let most = BYTES_MAX >> 20;
        return Refusal::new(
            Outcome::TooLarge,
            format!("the files are larger than {most} MiB: {detail}"),
        );
    }
    Refusal::invalid(format!("the files cannot be read: {detail}"))
}
