//! What is started again and again.

use std::time::Duration;

use travertine_data::{json, schedule as documents};
use travertine_runtime::{Error, Overlap, engine::Scheduled};
use travertine_value::time;

use super::{
    call::{Answer, Call, known},
    problem::{Problem, once_done},
};
use crate::desk::Refusal;

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut all = call.desk.engine().schedules().await?;
    all.retain(|it| call.desk.sees(&it.schedule.definition));
    Ok(Answer::Document(documents::several(&all, call.desk.engine())))
}

async fn found(call: &Call) -> Result<Scheduled, Problem> {
    let name = call.path("schedule");
    let found = call.desk.engine().find_schedule(name).await?;
    let missing = || Refusal::from(Error::NoSuchSchedule(name.into()));
    let found = found.ok_or_else(missing)?;
    call.desk.may(&found.schedule.definition, missing)?;
    Ok(found)
}

async fn told(call: &Call) -> Result<Answer, Problem> {
    Ok(Answer::Document(documents::schedule(&found(call).await?, call.desk.engine())))
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    told(&call).await
}

/// Makes a schedule, or changes the one of that name.
pub(super) async fn put(call: Call) -> Result<Answer, Problem> {
    let name = call.path("schedule").to_owned();
    let definition = call.needed("definition")?;
    call.desk.may_start(&definition)?;
    let overlap = call.text("overlap")?.unwrap_or_else(|| "skip".into());
    known("overlap", &overlap, &["skip", "queue", "replace", "allow"])?;
    let engine = call.desk.engine();
    let before = engine.find_schedule(&name).await?.filter(|it| !it.schedule.removed);
    if let Some(before) = &before {
        let missing = || Refusal::not_found(format!("the name {name} is taken"));
        call.desk.may(&before.schedule.definition, missing)?;
    }
    let mut schedule = engine.schedule(&name).overlap(match &*overlap {
        "queue" => Overlap::Queue,
        "replace" => Overlap::Replace,
        "allow" => Overlap::Allow,
        _ => Overlap::Skip,
    });
    let (cron, every) = (call.text("cron")?, call.count("every_ms")?);
    schedule = match (cron, every, call.text("zone")?) {
        (Some(cron), None, None) => schedule.cron(&cron),
        (Some(cron), None, Some(zone)) if time::split_zone(&cron).0.is_none() => {
            schedule.cron(&format!("CRON_TZ={zone} {cron}"))
        }
        (Some(_), None, Some(_)) => {
            return Err(Refusal::invalid(
                "the cron line names a time zone already; leave out zone",
            )
            .into());
        }
        (None, Some(every), None) => schedule.every(Duration::from_millis(every)),
        (None, Some(_), Some(_)) => {
            return Err(Refusal::invalid("a zone is for a cron line; leave out zone").into());
        }
        (Some(_), Some(_), _) => {
            return Err(Refusal::invalid("a schedule has a cron line or a period, not both").into());
        }
        (None, None, _) => {
            return Err(Refusal::invalid("the field cron is missing; or say every_ms").into());
        }
    };
    if let Some(jitter) = call.count("jitter_ms")? {
        schedule = schedule.jitter(Duration::from_millis(jitter));
    }
    let is_paused = call.yes("paused")?;
    if is_paused {
        schedule = schedule.paused();
    }
    let made = schedule.process(&definition, call.variables("variables")?);
    made.into_future().await?;
    if is_paused && before.is_some() {
        once_done(engine.pause_schedule(&name).await)?;
    }
    let document = documents::schedule(&once_done(found(&call).await)?, engine);
    Ok(if before.is_none() { Answer::Made(document) } else { Answer::Document(document) })
}

pub(super) async fn pause(call: Call) -> Result<Answer, Problem> {
    found(&call).await?;
    call.desk.engine().pause_schedule(call.path("schedule")).await?;
    once_done(told(&call).await)
}

pub(super) async fn resume(call: Call) -> Result<Answer, Problem> {
    found(&call).await?;
    call.desk.engine().resume_schedule(call.path("schedule")).await?;
    once_done(told(&call).await)
}

pub(super) async fn trigger(call: Call) -> Result<Answer, Problem> {
    found(&call).await?;
    call.desk.engine().trigger_schedule(call.path("schedule")).await?;
    once_done(told(&call).await)
}

pub(super) async fn remove(call: Call) -> Result<Answer, Problem> {
    let found = found(&call).await?;
    call.desk.engine().remove_schedule(call.path("schedule")).await?;
    let removed = travertine_value::Value::from(vec![found.name.into()]);
    Ok(Answer::Document(json::object([("removed", removed)])))
}
