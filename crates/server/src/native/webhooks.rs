//! Webhooks: who is told what happens.

use travertine_data::json;
use travertine_runtime::Timestamp;
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    problem::{Problem, once_done},
};
use crate::{
    desk::{Outcome, Refusal},
    hooks::{HookError, HookSettings, Webhook},
};

fn refused(error: HookError) -> Problem {
    match error {
        HookError::NoSuch { .. } => Refusal::not_found(error.to_string()),
        HookError::Bad { reason } => Refusal::invalid(reason),
        HookError::Failed { .. } => Refusal::new(Outcome::Overloaded, error.to_string()),
    }
    .into()
}

/// A webhook, without its secret.
pub(super) fn document(it: &Webhook) -> Value {
    let names = |all: &[Name]| -> Value {
        all.iter().map(|it| Name::clone(it).into()).collect::<Vec<Value>>().into()
    };
    let time = |it: Timestamp| Value::from(it.to_string().as_str());
    json::object([
        ("webhook", Name::clone(&it.name).into()),
        ("url", Name::clone(&it.url).into()),
        ("definitions", names(&it.definitions)),
        ("kinds", names(&it.kinds)),
        ("state", it.state.name().into()),
        ("reason", it.reason.clone().into()),
        ("attempts", it.attempts.into()),
        ("positions", it.positions.clone().into()),
        ("told", it.told.into()),
        ("last", it.last.map(time).into()),
        ("created", time(it.created)),
    ])
}

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let all = call.desk.teller()?.hooks.all().map_err(refused)?;
    let all: Vec<Value> = all.iter().map(document).collect();
    Ok(Answer::Document(json::object([("webhooks", all.into())])))
}

fn found(call: &Call) -> Result<Webhook, Problem> {
    call.desk.teller()?.hooks.get(call.path("webhook")).map_err(refused)
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    Ok(Answer::Document(document(&found(&call)?)))
}

/// Makes a webhook, or changes the one of that name. A secret that was drawn is shown here and nowhere else.
pub(super) async fn put(call: Call) -> Result<Answer, Problem> {
    let url = call.needed("url")?;
    let teller = call.desk.teller()?;
    let wrong =
        |why: crate::outbound::Unanswered| Refusal::invalid(format!("the field url: {why}"));
    teller.outbound.check(&url).map_err(wrong)?;
    let wanted = HookSettings {
        url,
        definitions: call.texts("definitions")?,
        kinds: call.texts("kinds")?,
        secret: call.text("secret")?,
    };
    let is_new = found(&call).is_err();
    // It hears of everything that happens once this is answered.
    let now = call.desk.engine().feed(None).await?.map(|it| it.positions().to_string());
    let drawn = teller.hooks.put(call.path("webhook"), &wanted, now.as_deref()).map_err(refused)?;
    teller.changed();
    let found = once_done(found(&call))?;
    let mut fields = document(&found).as_map().cloned().unwrap_or_default();
    if let Some(secret) = drawn {
        fields.insert("secret".into(), secret.into());
    }
    let document = Value::from(fields);
    Ok(if is_new { Answer::Made(document) } else { Answer::Document(document) })
}

pub(super) async fn pause(call: Call) -> Result<Answer, Problem> {
    let teller = call.desk.teller()?;
    teller.hooks.pause(call.path("webhook")).map_err(refused)?;
    teller.changed();
    once_done(one(call).await)
}

pub(super) async fn resume(call: Call) -> Result<Answer, Problem> {
    let teller = call.desk.teller()?;
    teller.hooks.resume(call.path("webhook")).map_err(refused)?;
    teller.changed();
    once_done(one(call).await)
}

pub(super) async fn remove(call: Call) -> Result<Answer, Problem> {
    let teller = call.desk.teller()?;
    let gone = document(&found(&call)?);
    teller.hooks.remove(call.path("webhook")).map_err(refused)?;
    teller.changed();
    Ok(Answer::Document(gone))
}
