//! Work for workers.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_runtime::{Activated, Named};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{names, read, read_if_any, tenants, variables},
    write::{Fields, TENANT},
};
use crate::desk::{Ask, Failure, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ActivateBody {
    #[serde(rename = "type")]
    job_type: Name,
    worker: Option<Name>,
    timeout: i64,
    max_jobs_to_activate: i64,
    fetch_variable: Option<Vec<Name>>,
    request_timeout: Option<i64>,
    tenant_ids: Option<Vec<Name>>,
}

pub(super) async fn activate(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: ActivateBody = read(&body)?;
    tenants(body.tenant_ids.as_deref())?;
    let worker = body.worker.unwrap_or_else(|| "".into());
    let ask = Ask {
        job_type: body.job_type,
        worker: Name::clone(&worker),
        lease_ms: body.timeout,
        most: usize::try_from(body.max_jobs_to_activate).unwrap_or(0),
        names: names(body.fetch_variable),
        wait_ms: body.request_timeout.unwrap_or(0),
    };
    let jobs = call.desk.activate(ask).await?;
    Ok(Answer::object(|it| it.list("jobs", &jobs, |it, job| activated(it, job, &worker))))
}

fn activated(it: &mut Fields<'_>, job: &Activated, worker: &str) {
    it.text("type", &job.job_type);
    it.text("processDefinitionId", &job.definition);
    it.int("processDefinitionVersion", job.version);
    it.text("elementId", &job.element);
    it.variables("customHeaders", &job.headers);
    it.text("worker", worker);
    it.int("retries", job.retries);
    it.int("deadline", job.until.map_or(0, travertine_runtime::Timestamp::as_millis));
    it.variables("variables", &job.variables);
    it.tenant();
    it.text("physicalTenantId", TENANT);
    it.key("jobKey", Named::Wait(job.job));
    it.key("processInstanceKey", Named::Instance(job.job.instance));
    it.text_or_null("businessId", job.business_id.as_deref());
    it.int("priority", job.priority);
    it.null("jobLeaseToken");
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompleteBody<'a> {
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

pub(super) async fn complete(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: CompleteBody<'_> = read_if_any(&body)?;
    call.desk.complete_job(call.key()?, variables(body.variables)?).await?;
    Ok(Answer::Done)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailBody<'a> {
    retries: Option<i64>,
    error_message: Option<String>,
    retry_back_off: Option<i64>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

pub(super) async fn fail(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: FailBody<'_> = read_if_any(&body)?;
    let failure = Failure {
        // Fewer than none are none.
        retries: Some(u32::try_from(body.retries.unwrap_or(0).max(0)).unwrap_or(u32::MAX)),
        backoff_ms: body.retry_back_off.unwrap_or(0),
        message: body.error_message.unwrap_or_default(),
        variables: variables(body.variables)?,
    };
    call.desk.fail_job(call.key()?, failure).await?;
    Ok(Answer::Done)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody<'a> {
    error_code: Name,
    error_message: Option<String>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

pub(super) async fn throw_error(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: ErrorBody<'_> = read(&body)?;
    let message = body.error_message.unwrap_or_default();
    let variables = variables(body.variables)?;
    call.desk.throw_error(call.key()?, &body.error_code, &message, variables).await?;
    Ok(Answer::Done)
}
