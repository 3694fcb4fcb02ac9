//! Durable functions: started, asked, told.

use std::time::Duration;

use travertine_data::{json, rows};
use travertine_runtime::{
    Message, RunStatus,
    engine::{Run, RunError, Target},
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    jobs::WAIT_MAX,
    problem::{Problem, once_done},
};
use crate::desk::{Create, Outcome, Refusal};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let definitions = call.desk.definitions();
    let functions = call.desk.engine().functions();
    let all = definitions.all().filter(|it| it.is_function() && call.desk.sees(&it.id));
    let documents = all.map(|it| {
        let here = functions.find_workflow(&it.id, Some(it.version));
        let parameters: Value =
            here.iter().flat_map(|it| it.parameters).map(|it| Value::from(*it)).collect();
        json::object([
            ("function", Name::clone(&it.id).into()),
            ("version", it.version.into()),
            ("key", json::key(it.key.0)),
            ("has_code", here.is_some().into()),
            ("parameters", parameters),
        ])
    });
    Ok(Answer::Document(json::object([("functions", documents.collect())])))
}

/// The run that the path means, by what it is called or its number.
async fn run(call: &Call) -> Result<Run<Value>, Problem> {
    let id = call.path("run");
    let found = call.desk.engine().run::<Value>(id).await?;
    let missing = || Refusal::not_found(format!("no function is called {id}"));
    let found = found.ok_or_else(missing)?;
    call.desk.may_instance(found.instance(), missing).await?;
    Ok(found)
}

pub(super) async fn start(call: Call) -> Result<Answer, Problem> {
    let id = Name::from(call.path("function"));
    let found = call.desk.function(&match call.count("version")? {
        None => Target::Latest(Name::clone(&id)),
        Some(version) => {
            Target::Version(Name::clone(&id), u32::try_from(version).unwrap_or(u32::MAX))
        }
    })?;
    let arguments = call.variables("arguments")?;
    if let Some(code) = call.desk.engine().functions().find_workflow(&id, Some(found.version)) {
        for (name, _) in &arguments {
            super::call::known("argument", name, code.parameters)?;
        }
    }
    let (target, business_id) = (Target::Key(found.key), call.text("id")?);
    let start = Create { variables: arguments, business_id, ..Create::of(target) };
    let (instance, is_known) = call.desk.start(start).await?;
    let look = once_done(call.desk.engine().look(instance).await)?;
    let row = rows::instance(&look.row);
    let mut fields = row.as_map().cloned().unwrap_or_default();
    fields.insert("known".into(), is_known.into());
    let document = fields.into();
    Ok(if is_known { Answer::Document(document) } else { Answer::Made(document) })
}

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Suspended => "waiting",
        RunStatus::Blocked => "blocked",
        RunStatus::Succeeded => "succeeded",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
    }
}

pub(super) async fn status(call: Call) -> Result<Answer, Problem> {
    let run = run(&call).await?;
    let status = run.status().await?;
    let look = call.desk.engine().look(run.instance()).await?;
    let row = rows::instance(&look.row);
    let mut fields = row.as_map().cloned().unwrap_or_default();
    fields.insert("status".into(), word(status).into());
    fields.insert("variables".into(), look.variables.iter().cloned().collect());
    Ok(Answer::Document(fields.into()))
}

/// What a function has come to; waited for, as long as that is asked.
pub(super) async fn result(call: Call) -> Result<Answer, Problem> {
    let wait = Duration::from_millis(call.whole("wait_ms")?.unwrap_or(0)).min(WAIT_MAX);
    let run = run(&call).await?;
    let is_open = |it: RunStatus| matches!(it, RunStatus::Running | RunStatus::Suspended);
    if wait.is_zero() && is_open(run.status().await?) {
        let detail = format!("{} has not ended; it goes on", run.id());
        return Err(Refusal::new(Outcome::TimedOut, detail).into());
    }
    let id = run.id().to_owned();
    let ended = tokio::time::timeout(wait.max(Duration::from_secs(1)), run.result()).await;
    let Ok(ended) = ended else {
        let detail = format!("{id} has not ended within {} ms; it goes on", wait.as_millis());
        return Err(Refusal::new(Outcome::TimedOut, detail).into());
    };
    match ended {
        Ok(value) => Ok(Answer::Document(json::object([
            ("outcome", "succeeded".into()),
            ("result", value),
            ("failure", Value::Null),
        ]))),
        Err(RunError::Failed(failure)) => Ok(Answer::Document(json::object([
            ("outcome", "failed".into()),
            ("result", Value::Null),
            (
                "failure",
                json::object([
                    ("code", failure.code.as_str().into()),
                    ("message", failure.message.as_str().into()),
                ]),
            ),
        ]))),
        Err(RunError::Cancelled) => Ok(Answer::Document(json::object([
            ("outcome", "cancelled".into()),
            ("result", Value::Null),
            ("failure", Value::Null),
        ]))),
        Err(RunError::Blocked { id, reason }) => {
            Err(Refusal::new(Outcome::InvalidState, format!("{id} cannot go on: {reason}")).into())
        }
        Err(RunError::Engine(error)) => Err(error.into()),
    }
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Problem> {
    let run = run(&call).await?;
    let was_open = run.cancel().await?;
    let look = once_done(call.desk.engine().look(run.instance()).await)?;
    let row = rows::instance(&look.row);
    let mut fields = row.as_map().cloned().unwrap_or_default();
    fields.insert("cancelled".into(), was_open.into());
    Ok(Answer::Document(fields.into()))
}

fn input(call: &Call) -> Value {
    call.field("input").cloned().unwrap_or(Value::Null)
}

pub(super) async fn query(call: Call) -> Result<Answer, Problem> {
    let run = run(&call).await?;
    let value: Value = run.query(call.path("name"), &input(&call)).await?;
    Ok(Answer::Document(json::object([("value", value)])))
}

pub(super) async fn update(call: Call) -> Result<Answer, Problem> {
    let run = run(&call).await?;
    call.desk.may_tell(run.instance()).await?;
    let mut updating = run.update::<Value, Value>(call.path("name"), &input(&call));
    if let Some(id) = call.text("id")? {
        updating = updating.id(&id);
    }
    let answered = tokio::time::timeout(WAIT_MAX, updating.into_future()).await;
    let Ok(value) = answered else {
        let detail = format!(
            "{} has not answered within {} ms; it goes on: ask again with the same id",
            run.id(),
            WAIT_MAX.as_millis()
        );
        return Err(Refusal::new(Outcome::TimedOut, detail).into());
    };
    let value = value?;
    Ok(Answer::Document(json::object([("value", value)])))
}

/// An event for functions that wait for it, kept for an hour where none does.
pub(super) async fn event(call: Call) -> Result<Answer, Problem> {
    const KEPT: Duration = Duration::from_hours(1);
    let name = call.needed("name")?;
    call.desk.may_name(&name)?;
    let mut message =
        Message { variables: call.variables("data")?, ttl: Some(KEPT), ..Message::new(&name) };
    if let Some(key) = call.field("key") {
        message.correlation.push((travertine_bpmn::CORRELATION_KEY.into(), key.clone()));
    }
    if let Some(to) = call.text("to")? {
        let to = call.desk.engine().address(&to).await?;
        message.correlation.push((travertine_runtime::INSTANCE.into(), to.into()));
    }
    message.id = call.text("id")?;
    let receipt = call.desk.engine().publish(message).await?;
    Ok(Answer::Document(super::messages::told(&call, name.into(), receipt).await?))
}
