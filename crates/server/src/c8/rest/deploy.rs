//! What is deployed.

use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, multipart::MultipartError};
use http::StatusCode;
use travertine_runtime::{DefinitionKey, Deployed, DeployedKind, Named, engine::File};

use super::{Answer, Call, read::tenant, write::Fields};
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
    let definitions = desk.definitions();
    Ok(Answer::object(|it| {
        it.key("deploymentKey", Named::Deployment(deployment.number));
        it.tenant();
        it.list("deployments", &deployment.deployed, |it, one| {
            let graph = one.requirements.and_then(|key| definitions.deployed_as(key));
            deployed(it, one, graph.map(|it| &**it));
        });
    }))
}

/// One thing that was deployed. One field says what it is, and the others are null.
fn deployed(it: &mut Fields<'_>, one: &Deployed, graph: Option<&Deployed>) {
    let name = one.name.as_ref().unwrap_or(&one.id);
    let mut write = |field: &str, kind: DeployedKind, write: &dyn Fn(&mut Fields<'_>)| {
        if one.kind == kind { it.object(field, write) } else { it.null(field) }
    };
    write("processDefinition", DeployedKind::Process, &|it| {
        it.text("processDefinitionId", &one.id);
        it.int("processDefinitionVersion", one.version);
        it.text("resourceName", &one.file);
        it.tenant();
        it.key("processDefinitionKey", one.named());
    });
    write("decisionDefinition", DeployedKind::Decision, &|it| {
        it.text("decisionDefinitionId", &one.id);
        it.int("version", one.version);
        it.text("name", name);
        it.tenant();
        it.text("decisionRequirementsId", graph.map_or("", |it| &it.id));
        it.key("decisionDefinitionKey", one.named());
        let graph = graph.map_or(Named::DecisionRequirements(DefinitionKey::NONE), Deployed::named);
        it.key("decisionRequirementsKey", graph);
    });
    write("decisionRequirements", DeployedKind::Requirements, &|it| {
        it.text("decisionRequirementsId", &one.id);
        it.text("decisionRequirementsName", name);
        it.int("version", one.version);
        it.text("resourceName", &one.file);
        it.tenant();
        it.key("decisionRequirementsKey", one.named());
    });
    write("form", DeployedKind::Form, &|it| {
        it.text("formId", &one.id);
        it.int("version", one.version);
        it.text("resourceName", &one.file);
        it.tenant();
        it.key("formKey", one.named());
    });
    write("resource", DeployedKind::Resource, &|it| {
        it.text("resourceId", &one.id);
        it.text("resourceName", &one.file);
        it.int("version", one.version);
        it.tenant();
        it.key("resourceKey", one.named());
    });
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
