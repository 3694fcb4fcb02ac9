//! Messages and signals, those that wait for them, and what nobody has taken.

use std::time::Duration;

use travertine_data::json;
use travertine_runtime::{InstanceId, Key, Named, Receipt, engine::MessageRequest};
use travertine_store::{
    search::{Column, Condition, MessageColumn, Search, SubscriptionColumn, Test, Value as Cell},
    view::{Row, Table},
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    list::Listed,
    problem::{Problem, once_done},
};
use crate::desk::{Desk, Refusal};

pub(super) static LIST: Listed = Listed {
    table: Table::Messages,
    field: "messages",
    columns: &[
        ("name", Column::Message(MessageColumn::Name)),
        ("id", Column::Message(MessageColumn::MessageId)),
        ("published", Column::Message(MessageColumn::Published)),
    ],
    others: &[],
    newest_first: false,
};

pub(super) static DEAD_LETTERS: Listed = Listed {
    table: Table::Messages,
    field: "dead_letters",
    columns: &[
        ("name", Column::Message(MessageColumn::Name)),
        ("id", Column::Message(MessageColumn::MessageId)),
        ("published", Column::Message(MessageColumn::Published)),
        ("died", Column::Message(MessageColumn::Dead)),
    ],
    others: &[],
    newest_first: false,
};

pub(super) static SUBSCRIPTIONS: Listed = Listed {
    table: Table::Subscriptions,
    field: "subscriptions",
    columns: &[
        ("name", Column::Subscription(SubscriptionColumn::Name)),
        ("kind", Column::Subscription(SubscriptionColumn::Kind)),
        ("element", Column::Subscription(SubscriptionColumn::Element)),
        ("key", Column::Subscription(SubscriptionColumn::CorrelationKey)),
        ("created", Column::Subscription(SubscriptionColumn::Created)),
    ],
    others: &["instance"],
    newest_first: false,
};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let search = LIST.search(&call)?.with(Condition::of(MessageColumn::Dead, Test::Exists(false)));
    LIST.answer(&call, search).await
}

pub(super) async fn dead_letters(call: Call) -> Result<Answer, Problem> {
    let search =
        DEAD_LETTERS.search(&call)?.with(Condition::of(MessageColumn::Dead, Test::Exists(true)));
    DEAD_LETTERS.answer(&call, search).await
}

pub(super) async fn subscriptions(call: Call) -> Result<Answer, Problem> {
    let mut search = SUBSCRIPTIONS.search(&call)?;
    if let Some(instance) = call.instance_parameter("instance").await? {
        search.conditions.push(Condition::of(SubscriptionColumn::Instance, Test::eq(instance.0)));
    }
    SUBSCRIPTIONS.answer(&call, search).await
}

/// What has become of a message, and who has it.
pub(super) async fn told(call: &Call, message: Value, receipt: Receipt) -> Result<Value, Problem> {
    let (outcome, instance, wait, count) = match receipt {
        Receipt::Received(at) => ("received", Some(at.instance), Some(at), None),
        Receipt::Shared(count) => ("shared", None, None, Some(count)),
        Receipt::Started(id) => ("started", Some(id), None, None),
        Receipt::Noted => ("noted", None, None, None),
        Receipt::Held => ("held", None, None, None),
        Receipt::Dropped => ("dropped", None, None, None),
        Receipt::Known => ("known", None, None, None),
    };
    let business_key = match instance {
        Some(instance) => once_done(call.desk.engine().look(instance).await)?.row.business_id,
        None => None,
    };
    Ok(json::object([
        ("message", message),
        ("outcome", outcome.into()),
        ("instance", instance.map(|it| json::key(it.0)).into()),
        ("wait", wait.map(|it| it.to_string()).into()),
        ("business_key", business_key.into()),
        ("count", count.into()),
    ]))
}

/// The message that a request describes.
fn message<'a>(
    call: &'a Call,
    name: &str,
    instance: Option<InstanceId>,
) -> Result<MessageRequest<'a>, Problem> {
    let mut message = call.desk.engine().message(name).variables(call.variables("variables")?);
    for (name, value) in call.variables("correlate")? {
        message = message.correlate(&name, value);
    }
    if let Some(key) = call.field("key") {
        message = message.key(key.clone());
    }
    if let Some(instance) = instance {
        message = message.to_instance(instance);
    }
    if let Some(key) = call.text("business_key")? {
        message = message.business_key(&key);
    }
    Ok(message)
}

async fn addressee(call: &Call) -> Result<Option<InstanceId>, Problem> {
    match call.text("instance")? {
        Some(text) => call.instance_called(&text).await.map(Some),
        None => Ok(None),
    }
}

pub(super) async fn publish(call: Call) -> Result<Answer, Problem> {
    let name = call.needed("name")?;
    call.desk.may_name(&name)?;
    let instance = addressee(&call).await?;
    let mut message = message(&call, &name, instance)?;
    if let Some(id) = call.text("id")? {
        message = message.id(&id);
    }
    if let Some(ttl) = call.count("ttl_ms")? {
        message = message.ttl(Duration::from_millis(ttl));
    }
    if call.yes("for_all")? {
        message = message.for_all();
    }
    let receipt = message.await?;
    Ok(Answer::Document(told(&call, name.into(), receipt).await?))
}

pub(super) async fn correlate(call: Call) -> Result<Answer, Problem> {
    let name = call.needed("name")?;
    call.desk.may_name(&name)?;
    let instance = addressee(&call).await?;
    let receipt = message(&call, &name, instance)?.ttl(Duration::ZERO).await?;
    if receipt == Receipt::Dropped {
        let detail = format!("nobody waits for message {name} now; nothing was kept");
        return Err(Refusal::not_found(detail).into());
    }
    Ok(Answer::Document(told(&call, name.into(), receipt).await?))
}

pub(super) async fn signal(call: Call) -> Result<Answer, Problem> {
    let (name, variables) = (call.needed("name")?, call.variables("variables")?);
    call.desk.may_name(&name)?;
    let heard = call.desk.engine().signal(&name, variables).await?;
    Ok(Answer::Document(json::object([
        ("signal", name.into()),
        ("outcome", "sent".into()),
        ("received", heard.received.into()),
        ("started", heard.started.into()),
    ])))
}

pub(super) async fn conditions(call: Call) -> Result<Answer, Problem> {
    // Whose conditions hold is not known before.
    call.desk.may_all()?;
    let started = call.desk.engine().evaluate_conditions(call.variables("variables")?).await?;
    let started = started.iter().map(|it| json::key(it.0)).collect();
    Ok(Answer::Document(json::object([("started", started)])))
}

/// The number of the dead letter that the path means.
fn letter(call: &Call) -> Result<u64, Problem> {
    let text = call.path("letter");
    let number = text.parse::<i64>().ok().map(|it| match Key::read(it) {
        Some(Named::Message(number)) => number,
        _ => u64::try_from(it).unwrap_or(0),
    });
    number.ok_or_else(|| Refusal::invalid(format!("{text:?} is no number of a message")).into())
}

/// Refuses a message that whoever asks may not have anything to do with.
async fn may_letter(call: &Call, letter: u64) -> Result<(), Problem> {
    let missing = || Refusal::not_found(format!("there is no dead letter {letter}"));
    Ok(call.desk.may_message(letter, missing).await?)
}

/// How many of those that nearly would have taken a message are told.
const NEAR_MAX: usize = 20;

/// A dead letter, with those that wait for messages of its name and what about it is not as they want it; where there
/// are none, with names like its own that somebody waits for.
pub(super) async fn dead_letter(call: Call) -> Result<Answer, Problem> {
    let letter = letter(&call)?;
    may_letter(&call, letter).await?;
    let search = Search::of(Table::Messages)
        .with(Condition::of(MessageColumn::Id, Test::eq(letter)))
        .with(Condition::of(MessageColumn::Dead, Test::Exists(true)))
        .limit(1);
    let found = call.desk.search(search).await?.rows.pop();
    let missing =
        || Refusal::not_found(format!("there is no dead letter {letter}, or none any more"));
    let seen = found.ok_or_else(missing)?;
    let Row::Message(message) = &seen.row else { return Err(missing().into()) };
    let sent = Value::parse_json(&message.correlation).unwrap_or(Value::Null);
    // Who waits is for those to see who see definitions.
    let (near, similar) = match call.desk.reading() {
        Some(desk) => around(&desk, &message.name, &sent).await?,
        None => (Vec::new(), Vec::new()),
    };
    let document = super::list::document(&seen);
    let mut fields = document.as_map().cloned().unwrap_or_default();
    fields.insert("near".into(), near.into());
    fields.insert("similar_names".into(), similar.into());
    Ok(Answer::Document(fields.into()))
}

/// Those that wait for messages of that name, the nearest first; where there are none, names like it that somebody waits
/// for.
async fn around(
    desk: &Desk,
    name: &Name,
    sent: &Value,
) -> Result<(Vec<Value>, Vec<Value>), Problem> {
    let waiting = Search::of(Table::Subscriptions)
        .with(Condition::of(SubscriptionColumn::Name, Test::eq(&**name)))
        .limit(1_000);
    let mut near: Vec<(usize, Value)> = Vec::new();
    for it in desk.search(waiting).await?.rows {
        let Row::Subscription(row) = &it.row else { continue };
        let wanted = Value::parse_json(&row.correlation).unwrap_or(Value::Null);
        let differs = differences(&wanted, sent);
        let document = super::list::document(&it);
        let mut fields = document.as_map().cloned().unwrap_or_default();
        let count = differs.len();
        fields.insert("differs".into(), differs.into());
        near.push((count, fields.into()));
    }
    near.sort_by_key(|(count, _)| *count);
    near.truncate(NEAR_MAX);
    let similar = if near.is_empty() { similar(desk, name).await? } else { Vec::new() };
    Ok((near.into_iter().map(|(_, it)| it).collect(), similar))
}

/// The properties that somebody waits for with another value than was sent.
fn differences(wanted: &Value, sent: &Value) -> Vec<Value> {
    let Some(wanted) = wanted.as_map() else { return Vec::new() };
    let differing = wanted.iter().filter_map(|(name, value)| {
        let theirs = sent.field(name)?;
        let is_same =
            value == theirs || matches!((value, theirs), (Value::Null, _) | (_, Value::Null));
        (!is_same).then(|| {
            json::object([
                ("property", Value::from(Name::clone(name))),
                ("wanted", value.clone()),
                ("sent", theirs.clone()),
            ])
        })
    });
    differing.collect()
}

/// Names like this one that somebody waits for.
async fn similar(desk: &Desk, name: &str) -> Result<Vec<Value>, Problem> {
    let by = vec![SubscriptionColumn::Name.into()];
    let tally = desk.tally(Search::of(Table::Subscriptions), by).await?;
    let mut names: Vec<(f64, Name)> = tally
        .into_iter()
        .filter_map(|it| match it.of.into_iter().next() {
            Some(Some(Cell::Text(other))) => Some((strsim::jaro_winkler(&other, name), other)),
            _ => None,
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(names.into_iter().take(5).map(|(_, it)| it.into()).collect())
}

pub(super) async fn replay(call: Call) -> Result<Answer, Problem> {
    let letter = letter(&call)?;
    may_letter(&call, letter).await?;
    let receipt = call.desk.engine().replay(letter).await?;
    Ok(Answer::Document(told(&call, json::key(letter), receipt).await?))
}

pub(super) async fn discard(call: Call) -> Result<Answer, Problem> {
    let letter = letter(&call)?;
    may_letter(&call, letter).await?;
    call.desk.engine().discard(letter).await?;
    let discarded = Value::from(vec![json::key(letter)]);
    Ok(Answer::Document(json::object([("discarded", discarded)])))
}
