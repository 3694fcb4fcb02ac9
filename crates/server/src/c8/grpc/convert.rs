//! Between messages of the protocol and words of the desk.

use std::time::Duration;

use tonic::{Code, Status};
use travertine_kernel::Assignments;
use travertine_runtime::{Activated, Deployed, DeployedKind, Key, Named, Timestamp};
use travertine_value::{Name, Value, brief::abridged};

use super::gateway::{
    ActivatedJob, DecisionMetadata, DecisionRequirementsMetadata, FormMetadata, ProcessMetadata,
    deployment::Metadata,
};
use crate::{
    c8::headers_of,
    desk::{Outcome, Refusal},
};

/// How much a status tells: it is a header, of which clients take 8 KiB, and three bytes may stand for one there.
const STATUS_BYTES_MAX: usize = 2_000;

/// The one tenant there is.
pub(super) const TENANT: &str = "<default>";

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.outcome {
            Outcome::NotFound => Code::NotFound,
            Outcome::Invalid | Outcome::TooLarge => Code::InvalidArgument,
            Outcome::InvalidState => Code::FailedPrecondition,
            Outcome::AlreadyExists => Code::AlreadyExists,
            Outcome::Unauthenticated => Code::Unauthenticated,
            Outcome::Forbidden => Code::PermissionDenied,
            // Clients try these two again by themselves: nothing was done.
            Outcome::Overloaded => Code::ResourceExhausted,
            Outcome::Unavailable => Code::Unavailable,
            Outcome::Unknown => Code::Aborted,
            Outcome::TimedOut => Code::DeadlineExceeded,
            Outcome::Internal => Code::Internal,
        };
        Self::new(code, abridged(&refusal.detail, STATUS_BYTES_MAX))
    }
}

/// The key of something. What has none, because its number is too large, is 0.
pub(super) fn key(it: Named) -> i64 {
    Key::of(it).map_or(0, Key::number)
}

/// A version, a count. Nothing real is too large.
pub(super) fn int(it: impl TryInto<i32>) -> i32 {
    it.try_into().unwrap_or(i32::MAX)
}

/// Reads variables out of a JSON object in a text. An empty text is none.
pub(super) fn variables(text: &str) -> Result<Assignments, Status> {
    if text.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let invalid = |detail: String| Status::invalid_argument(detail);
    match Value::parse_json(text).map_err(|error| invalid(format!("the variables: {error}")))? {
        Value::Null => Ok(Vec::new()),
        Value::Map(map) => {
            Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
        }
        other => Err(invalid(format!("variables are a JSON object, not {}", other.kind()))),
    }
}

/// Writes variables as a JSON object.
pub(super) fn object(variables: &[(Name, Value)]) -> String {
    let mut text = String::from("{");
    for (nth, (name, value)) in variables.iter().enumerate() {
        if nth > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(Name::clone(name)).to_json());
        text.push(':');
        text.push_str(&value.to_json());
    }
    text.push('}');
    text
}

/// There is one tenant.
pub(super) fn tenant(name: &str) -> Result<(), Status> {
    match name {
        "" | TENANT => Ok(()),
        other => Err(Status::invalid_argument(format!(
            "there is no tenant {other}: leave the tenant out, or say {TENANT}"
        ))),
    }
}

pub(super) fn tenants(names: &[String]) -> Result<(), Status> {
    names.iter().try_for_each(|it| tenant(it))
}

pub(super) fn names(all: Vec<String>) -> Vec<Name> {
    all.into_iter().map(Name::from).collect()
}

/// A time that may be left out.
pub(super) fn millis(it: i64) -> Option<Duration> {
    u64::try_from(it).ok().filter(|it| *it > 0).map(Duration::from_millis)
}

/// A key that need not be named: −1 and 0 say that there is none.
pub(super) fn key_if_any(it: i64) -> Option<i64> {
    (it > 0).then_some(it)
}

pub(super) fn activated(job: &Activated, worker: &str) -> ActivatedJob {
    ActivatedJob {
        key: key(Named::Wait(job.job)),
        r#type: job.job_type.to_string(),
        process_instance_key: key(Named::Instance(job.job.instance)),
        bpmn_process_id: job.definition.to_string(),
        process_definition_version: int(job.version),
        process_definition_key: key(Named::Definition(job.definition_key)),
        element_id: job.element.to_string(),
        element_instance_key: key(Named::Visit(job.job.instance, job.visit)),
        custom_headers: object(&headers_of(job)),
        worker: worker.to_owned(),
        retries: int(job.retries),
        deadline: job.until.map_or(0, Timestamp::as_millis),
        variables: object(&job.variables),
        tenant_id: TENANT.to_owned(),
    }
}

/// One thing that was deployed. The protocol has no word for functions and plain files.
pub(super) fn metadata(it: &Deployed, graph: Option<&Deployed>) -> Option<Metadata> {
    let (id, version, at) = (it.id.to_string(), int(it.version), key(it.named()));
    let name = it.name.as_ref().unwrap_or(&it.id).to_string();
    let (resource_name, tenant_id) = (it.file.to_string(), TENANT.to_owned());
    Some(match it.kind {
        DeployedKind::Process => Metadata::Process(ProcessMetadata {
            bpmn_process_id: id,
            version,
            process_definition_key: at,
            resource_name,
            tenant_id,
        }),
        DeployedKind::Decision => Metadata::Decision(DecisionMetadata {
            dmn_decision_id: id,
            dmn_decision_name: name,
            version,
            decision_key: at,
            dmn_decision_requirements_id: graph.map(|it| it.id.to_string()).unwrap_or_default(),
            decision_requirements_key: graph.map_or(0, |it| key(it.named())),
            tenant_id,
        }),
        DeployedKind::Requirements => {
            Metadata::DecisionRequirements(DecisionRequirementsMetadata {
                dmn_decision_requirements_id: id,
                dmn_decision_requirements_name: name,
                version,
                decision_requirements_key: at,
                resource_name,
                tenant_id,
            })
        }
        DeployedKind::Form => Metadata::Form(FormMetadata {
            form_id: id,
            version,
            form_key: at,
            resource_name,
            tenant_id,
        }),
        _ => return None,
    })
}
