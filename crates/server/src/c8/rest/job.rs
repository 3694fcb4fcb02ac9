//! Work for workers.

use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};
use travertine_runtime::{Activated, InstanceId, JobChange, Named};
use travertine_store::{
    search::{Column, Condition, InstanceColumn, JobColumn, Test, Value},
    view::{JobRow, JobState, Row, Table},
};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{names, read, read_if_any, tenants, variables},
    search::{self, Asked, Of, Resource, TENANT_FILTER, answer, flag, one_of_words, tests},
    write::{Fields, TENANT},
};
use crate::{
    c8::{headers_of, span},
    desk::{Ask, Failure, Refusal, Seen},
};

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
        lease: span(body.timeout),
        most: usize::try_from(body.max_jobs_to_activate).unwrap_or(0),
        names: names(body.fetch_variable),
        wait: body.request_timeout.filter(|it| *it != 0).map(span),
    };
    let jobs = call.desk.activate(ask).await?;
    Ok(Answer::object(|it| it.list("jobs", &jobs, |it, job| activated(it, job, &worker))))
}

fn activated(it: &mut Fields<'_>, job: &Activated, worker: &str) {
    let (kind, event) = kind(job.listener.as_deref());
    it.text("type", &job.job_type);
    it.text("processDefinitionId", &job.definition);
    it.int("processDefinitionVersion", job.version);
    it.text("elementId", &job.element);
    it.variables("customHeaders", &headers_of(job));
    it.text("worker", worker);
    it.int("retries", job.retries);
    it.int("deadline", job.until.map_or(0, travertine_runtime::Timestamp::as_millis));
    it.variables("variables", &job.variables);
    it.tenant();
    it.text("physicalTenantId", TENANT);
    it.key("jobKey", Named::Wait(job.job));
    it.key("processInstanceKey", Named::Instance(job.job.instance));
    it.key("processDefinitionKey", Named::Definition(job.definition_key));
    it.key("elementInstanceKey", search::stay(job.job.instance.0, job.visit));
    it.text("kind", kind);
    it.text("listenerEventType", event);
    it.null("userTask");
    it.texts("tags", &job.tags);
    it.key("rootProcessInstanceKey", Named::Instance(job.root));
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
        backoff: span(body.retry_back_off.unwrap_or(0)),
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

const STATES: &[(&str, &[&str])] = &[
    ("CANCELED", &["cancelled"]),
    ("COMPLETED", &["completed"]),
    ("CREATED", &["available", "leased"]),
    ("ERROR_THROWN", &["raised"]),
    ("FAILED", &["failed"]),
    ("MIGRATED", &[]),
    ("PRIORITY_UPDATED", &[]),
    ("RETRIES_UPDATED", &[]),
    ("TIMED_OUT", &[]),
    ("TIMEOUT_UPDATED", &[]),
];

const KEY: Column = Column::Job(JobColumn::Key);
const INSTANCE: Column = Column::Job(JobColumn::Instance);
const LISTENER: Column = Column::Job(JobColumn::Listener);

/// What listeners are called on, in their words and in ours.
const EVENTS: &[(&str, &[&str])] = &[
    ("ASSIGNING", &["assigning"]),
    ("BEFORE_ALL", &["before_all"]),
    ("CANCEL", &["cancel"]),
    ("CANCELING", &["canceling"]),
    ("COMPLETING", &["completing"]),
    ("CREATING", &["creating"]),
    ("END", &["end"]),
    ("START", &["start"]),
    ("UNSPECIFIED", &[]),
    ("UPDATING", &["updating"]),
];

/// Those of any element; the others are of user tasks.
const EXECUTION: &[&str] = &["before_all", "cancel", "end", "start"];

/// What a job is for, and on what it is called where it is a listener's.
pub(super) fn kind(listener: Option<&str>) -> (&'static str, &'static str) {
    let Some(listener) = listener else { return ("BPMN_ELEMENT", "UNSPECIFIED") };
    let event = EVENTS.iter().find(|(_, ours)| ours.contains(&listener));
    let kind = if EXECUTION.contains(&listener) { "EXECUTION_LISTENER" } else { "TASK_LISTENER" };
    (kind, event.map_or("UNSPECIFIED", |(theirs, _)| theirs))
}

/// Jobs of such kinds.
fn of_kind(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let is = |test: Test| Condition::Is(LISTENER, test);
    let ours = || Test::any_of(EXECUTION.iter().copied());
    let others = || Test::NotIn(EXECUTION.iter().map(|it| (*it).into()).collect());
    let kinds: [(&str, Condition); 4] = [
        ("AD_HOC_SUB_PROCESS", Condition::Any(Vec::new())),
        ("BPMN_ELEMENT", is(Test::Exists(false))),
        ("EXECUTION_LISTENER", is(ours())),
        ("TASK_LISTENER", Condition::All(vec![is(Test::Exists(true)), is(others())])),
    ];
    one_of_words(name, wanted, kinds)
}

/// Jobs that are called on such events.
fn of_event(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let events = EVENTS.iter().map(|(theirs, ours)| {
        let test =
            if ours.is_empty() { Test::Exists(false) } else { Test::any_of(ours.iter().copied()) };
        (*theirs, Condition::Is(LISTENER, test))
    });
    one_of_words(name, wanted, events)
}

/// Jobs that have failed and are tried again.
fn has_failed(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let tests = tests(name, wanted, &|it| flag(name, it))?;
    let left = || Condition::of(JobColumn::Retries, Test::Gt(Value::Number(0)));
    let failed = |it: bool| Condition::of(JobColumn::Error, Test::Exists(it));
    let none = Condition::of(JobColumn::Retries, Test::eq(0_u64));
    let holds = |it: bool| tests.iter().all(|test| test.passes(Some(&it.into())));
    Ok(match (holds(true), holds(false)) {
        (true, true) => Vec::new(),
        (true, false) => vec![left(), failed(true)],
        (false, true) => vec![Condition::Any(vec![none, failed(false)])],
        (false, false) => vec![Condition::Any(Vec::new())],
    })
}

const JOBS: Resource = Resource {
    table: Table::Jobs,
    filters: &[
        ("deadline", Of::Date(Column::Job(JobColumn::Until))),
        ("deniedReason", Of::Fixed(None)),
        ("elementId", Of::Text(Column::Job(JobColumn::Element))),
        ("elementInstanceKey", Of::Key(Column::Job(JobColumn::Visit), search::visit)),
        ("endTime", Of::Date(Column::Job(JobColumn::Ended))),
        ("errorCode", Of::Text(Column::Job(JobColumn::ErrorCode))),
        ("errorMessage", Of::Text(Column::Job(JobColumn::Error))),
        ("hasFailedWithRetriesLeft", Of::Made(has_failed)),
        ("isDenied", Of::Never),
        ("jobKey", Of::Key(KEY, search::wait)),
        ("kind", Of::Made(of_kind)),
        ("listenerEventType", Of::Made(of_event)),
        ("priority", Of::Int(Column::Job(JobColumn::Priority))),
        ("processDefinitionId", Of::Text(Column::Instance(InstanceColumn::Definition))),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        ("processInstanceKey", Of::Key(INSTANCE, search::instance)),
        ("retries", Of::Int(Column::Job(JobColumn::Retries))),
        ("state", Of::Word(Column::Job(JobColumn::State), STATES)),
        TENANT_FILTER,
        ("type", Of::Text(Column::Job(JobColumn::JobType))),
        ("worker", Of::Text(Column::Job(JobColumn::Worker))),
        ("creationTime", Of::Date(Column::Job(JobColumn::Created))),
        ("lastUpdateTime", Of::Fixed(None)),
    ],
    sorts: &[
        ("creationTime", Some(Column::Job(JobColumn::Created))),
        ("deadline", Some(Column::Job(JobColumn::Until))),
        ("deniedReason", None),
        ("elementId", Some(Column::Job(JobColumn::Element))),
        ("elementInstanceKey", Some(Column::Job(JobColumn::Visit))),
        ("endTime", Some(Column::Job(JobColumn::Ended))),
        ("errorCode", Some(Column::Job(JobColumn::ErrorCode))),
        ("errorMessage", Some(Column::Job(JobColumn::Error))),
        ("hasFailedWithRetriesLeft", Some(Column::Job(JobColumn::Error))),
        ("isDenied", None),
        ("jobKey", Some(KEY)),
        ("kind", Some(LISTENER)),
        ("listenerEventType", Some(LISTENER)),
        ("priority", Some(Column::Job(JobColumn::Priority))),
        ("processDefinitionId", Some(Column::Instance(InstanceColumn::Definition))),
        ("processDefinitionKey", Some(Column::Instance(InstanceColumn::DefinitionKey))),
        ("processInstanceKey", Some(INSTANCE)),
        ("retries", Some(Column::Job(JobColumn::Retries))),
        ("state", Some(Column::Job(JobColumn::State))),
        ("tenantId", None),
        ("type", Some(Column::Job(JobColumn::JobType))),
        ("worker", Some(Column::Job(JobColumn::Worker))),
    ],
};

pub(super) async fn search_jobs(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let search = Asked::read(&body)?.search(&JOBS)?;
    let found = call.desk.search(search).await?;
    Ok(answer(&found, |it, seen| {
        if let Row::Job(row) = &seen.row {
            job(it, row, seen);
        }
    }))
}

fn job(it: &mut Fields<'_>, row: &JobRow, seen: &Seen) {
    let (about, instance) = (seen.about.as_deref(), InstanceId(row.instance));
    let (kind, event) = kind(row.listener.as_deref());
    it.json("customHeaders", &row.headers);
    it.date_or_null("deadline", row.until.filter(|_| row.state == JobState::Leased));
    it.null("deniedReason");
    it.text("elementId", &row.element);
    it.key("elementInstanceKey", search::stay(row.instance, row.visit));
    it.date_or_null("endTime", row.ended);
    it.text_or_null("errorCode", row.error_code.as_deref());
    it.text_or_null("errorMessage", row.error.as_deref());
    it.flag("hasFailedWithRetriesLeft", row.error.is_some() && row.retries > 0);
    it.flag("isDenied", false);
    it.key("jobKey", search::waiting(row.instance, row.wait));
    it.text("kind", kind);
    it.text("listenerEventType", event);
    it.text_or_null("processDefinitionId", about.map(|it| &*it.definition));
    it.key_or_null("processDefinitionKey", about.map(|it| Named::Definition(it.definition_key)));
    it.key("processInstanceKey", Named::Instance(instance));
    it.key_or_null("rootProcessInstanceKey", about.map(|it| Named::Instance(InstanceId(it.root))));
    it.text_or_null("businessId", about.and_then(|it| it.business_id.as_deref()));
    it.int("retries", row.retries);
    it.text(
        "state",
        match row.state {
            JobState::Available | JobState::Leased => "CREATED",
            JobState::Failed => "FAILED",
            JobState::Completed => "COMPLETED",
            JobState::Cancelled => "CANCELED",
            JobState::Raised => "ERROR_THROWN",
        },
    );
    it.tenant();
    it.text("type", &row.job_type);
    it.text("worker", row.worker.as_deref().unwrap_or_default());
    it.date("creationTime", row.created);
    it.date("lastUpdateTime", row.ended.unwrap_or(row.created));
    it.int("priority", row.priority);
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateBody {
    changeset: Changeset,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changeset {
    retries: Option<i64>,
    timeout: Option<i64>,
    priority: Option<i64>,
}

pub(super) async fn update(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let UpdateBody { changeset: Changeset { retries, timeout, priority } } = read(&body)?;
    let retries = match retries {
        None => None,
        Some(it) => {
            let wrong = || Refusal::invalid(format!("{it} tries are none: say 1 or more"));
            Some(u32::try_from(it).ok().filter(|it| *it > 0).ok_or_else(wrong)?)
        }
    };
    call.desk
        .update_job(call.key()?, JobChange { retries, lease: timeout.map(span), priority })
        .await?;
    Ok(Answer::Done)
}
