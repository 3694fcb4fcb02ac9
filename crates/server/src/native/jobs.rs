//! Jobs, by type and one by one.

use std::{collections::BTreeMap, time::Duration};

use travertine_data::json;
use travertine_kernel::plan::WorkKind;
use travertine_runtime::{Activated, Address, JobFailure};
use travertine_store::{
    search::{Column, Condition, Era, InstanceColumn, JobColumn, Search, Test, Value as Cell},
    view::Table,
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call, missing},
    list::{self, Listed},
    operate::told,
    problem::Problem,
};
use crate::desk::{Ask, Refusal};

pub(super) static LIST: Listed = Listed {
    table: Table::Jobs,
    field: "jobs",
    columns: &[
        ("definition", Column::Instance(InstanceColumn::Definition)),
        ("version", Column::Instance(InstanceColumn::Version)),
        ("type", Column::Job(JobColumn::JobType)),
        ("state", Column::Job(JobColumn::State)),
        ("element", Column::Job(JobColumn::Element)),
        ("worker", Column::Job(JobColumn::Worker)),
        ("retries", Column::Job(JobColumn::Retries)),
        ("priority", Column::Job(JobColumn::Priority)),
        ("created", Column::Job(JobColumn::Created)),
        ("ended", Column::Job(JobColumn::Ended)),
        ("by", Column::Job(JobColumn::By)),
    ],
    others: &["instance"],
    newest_first: false,
};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut search = LIST.search(&call)?;
    if let Some(instance) = call.instance_parameter("instance").await? {
        search.conditions.push(Condition::of(JobColumn::Instance, Test::eq(instance.0)));
    }
    LIST.answer(&call, search).await
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    let job = call.job().await?;
    let search = Search::of(Table::Jobs)
        .with(Condition::of(JobColumn::Key, Test::eq((job.instance.0, job.wait.0))))
        .of_era(Era::Both)
        .limit(1);
    let found = call.desk.search(search).await?.rows.pop();
    let missing = || Refusal::not_found(format!("there is no job {job}, or none any more"));
    Ok(Answer::Document(list::document(&found.ok_or_else(missing)?)))
}

/// Types of jobs: how many there are in each state, and who has asked for them.
pub(super) async fn types(call: Call) -> Result<Answer, Problem> {
    let by = vec![JobColumn::JobType.into(), JobColumn::State.into()];
    let mut types: BTreeMap<Name, BTreeMap<Name, u64>> = BTreeMap::new();
    for it in call.desk.tally(Search::of(Table::Jobs), by).await? {
        if let [Some(Cell::Text(job_type)), Some(Cell::Text(state))] = &it.of[..] {
            types.entry(Name::clone(job_type)).or_default().insert(Name::clone(state), it.count);
        }
    }
    let askers = call.desk.engine().askers();
    // Whoever may not see all types sees no workers of others.
    for it in askers.iter().filter(|_| !call.desk.is_limited()) {
        types.entry(Name::clone(&it.job_type)).or_default();
    }
    let documents = types.into_iter().map(|(job_type, states)| {
        let count = |state: &str| Value::from(states.get(state).copied().unwrap_or(0));
        let own = askers.iter().filter(|it| it.job_type == job_type);
        let workers = own.map(|it| {
            json::object([
                ("worker", Name::clone(&it.worker).into()),
                ("last", it.last.to_string().into()),
                ("waiting", (it.waiting as u64).into()),
            ])
        });
        json::object([
            ("type", Name::clone(&job_type).into()),
            ("available", count("available")),
            ("leased", count("leased")),
            ("failed", count("failed")),
            ("workers", workers.collect()),
        ])
    });
    Ok(Answer::Document(json::object([("types", documents.collect())])))
}

/// A job, as a worker reads it.
fn activated(it: &Activated) -> Value {
    json::object([
        ("job", it.job.to_string().into()),
        ("type", Name::clone(&it.job_type).into()),
        ("retries", it.retries.into()),
        ("headers", it.headers.iter().cloned().collect()),
        ("idempotency_key", it.idempotency_key.clone().into()),
        ("instance", json::key(it.job.instance.0)),
        ("business_id", it.business_id.clone().into()),
        ("definition", Name::clone(&it.definition).into()),
        ("version", it.version.into()),
        ("element", Name::clone(&it.element).into()),
        ("priority", it.priority.into()),
        ("until", it.until.map(|it| it.to_string()).into()),
        ("variables", it.variables.iter().cloned().collect()),
    ])
}

pub(super) async fn activate(call: Call) -> Result<Answer, Problem> {
    let number =
        |name: &str, otherwise: u64| Ok::<_, Problem>(call.count(name)?.unwrap_or(otherwise));
    let ask = Ask {
        job_type: call.needed("type")?,
        worker: call.text("worker")?.unwrap_or_else(|| "api".into()),
        lease: Duration::from_millis(number("lease_ms", 60_000)?),
        most: usize::try_from(number("limit", 1)?).unwrap_or(usize::MAX).min(1_000),
        names: call.texts("variables")?,
        wait: Some(Duration::from_millis(number("wait_ms", 0)?)),
    };
    let jobs = call.desk.activate(ask).await?;
    Ok(Answer::Document(json::object([("jobs", jobs.iter().map(activated).collect())])))
}

/// How it stands with the instance of what was done.
async fn done(call: &Call, at: Address) -> Result<Answer, Problem> {
    told(call, at.instance).await
}

pub(super) async fn complete(call: Call) -> Result<Answer, Problem> {
    let (job, variables) = (call.job().await?, call.variables("variables")?);
    call.desk.engine().complete_work(job, WorkKind::Job, false, variables).await?;
    done(&call, job).await
}

pub(super) async fn complete_wait(call: Call) -> Result<Answer, Problem> {
    let (wait, variables) = (call.wait().await?, call.variables("variables")?);
    call.desk.engine().complete(wait, variables).await?;
    done(&call, wait).await
}

pub(super) async fn fail(call: Call) -> Result<Answer, Problem> {
    let job = call.job().await?;
    let retries = call.count("retries")?.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    let backoff = Duration::from_millis(call.count("backoff_ms")?.unwrap_or(0));
    let message = call.text("message")?.map(|it| it.to_string()).unwrap_or_default();
    let variables = call.variables("variables")?;
    let failure = JobFailure { retries, backoff, message, variables, strict: true };
    call.desk.engine().fail(job, failure).await?;
    done(&call, job).await
}

pub(super) async fn error(call: Call) -> Result<Answer, Problem> {
    let (job, code) = (call.job().await?, call.needed("code")?);
    let message = call.text("message")?.unwrap_or_default();
    let variables = call.variables("variables")?;
    call.desk.engine().throw_error(job, &code, &message, variables).await?;
    done(&call, job).await
}

pub(super) async fn retries(call: Call) -> Result<Answer, Problem> {
    let job = call.job().await?;
    let retries = call.count("retries")?.ok_or_else(|| missing("retries"))?;
    let retries = u32::try_from(retries).unwrap_or(u32::MAX);
    call.desk.engine().set_retries(job, retries).await?;
    done(&call, job).await
}

/// How long somebody may wait for something.
pub(super) const WAIT_MAX: Duration = Duration::from_mins(1);
