//! Batches as data.

use travertine_runtime::{Batch, BatchItem, BatchPage, BatchStep, BatchWork, InstanceId};
use travertine_value::{Name, Value};

use crate::{json, rows};

/// Several batches.
pub fn several(all: &[(InstanceId, Batch)]) -> Value {
    json::object([("batches", all.iter().map(|(id, it)| batch(*id, it)).collect())])
}

/// A batch.
pub fn batch(id: InstanceId, it: &Batch) -> Value {
    json::object([
        ("batch", json::key(id.0)),
        ("operation", it.work.name().into()),
        ("arguments", arguments(&it.work)),
        ("filter", it.filter.as_str().into()),
        ("who", it.who.as_deref().into()),
        ("state", state(it).into()),
        ("total", it.total.into()),
        ("seen", it.seen.into()),
        ("done", it.done.into()),
        ("refused", it.refused.into()),
        ("gone", it.gone.into()),
        ("per_second", it.per_second.map(u64::from).into()),
        ("began", rows::time(it.began)),
        ("ended", it.ended.map(rows::time).into()),
    ])
}

/// How it stands with a batch, in a word.
pub fn state(it: &Batch) -> &'static str {
    match (it.ended, it.cancelled, it.paused) {
        (Some(_), false, _) => "completed",
        (Some(_), true, _) => "cancelled",
        (None, true, _) => "ending",
        (None, false, true) => "paused",
        (None, false, false) => "running",
    }
}

/// What besides the operation says what is done.
fn arguments(work: &BatchWork) -> Value {
    match work {
        BatchWork::Cancel | BatchWork::Suspend | BatchWork::Resume | BatchWork::Delete => {
            json::object([])
        }
        BatchWork::Resolve { only, variables } => {
            let words = [("element", &only.element), ("kind", &only.kind), ("code", &only.code)];
            let words = words
                .into_iter()
                .filter_map(|(name, it)| Some((Name::from(name), Value::from(it.as_deref()?))));
            let set = (variables != "{}").then(|| {
                let variables = Value::parse_json(variables).unwrap_or(Value::Null);
                (Name::from("variables"), variables)
            });
            words.chain(set).collect()
        }
        BatchWork::Set { variables } => {
            let variables = Value::parse_json(variables).unwrap_or(Value::Null);
            json::object([("variables", variables)])
        }
        BatchWork::Migrate { definition, version, mapping } => {
            let mapping = mapping.iter();
            let mapping = mapping.map(|(from, to)| (Name::from(from.as_str()), to.as_str().into()));
            json::object([
                ("definition", definition.as_str().into()),
                ("version", u64::from(*version).into()),
                ("mapping", mapping.collect()),
            ])
        }
        BatchWork::Modify { steps } => json::object([("steps", steps.iter().map(step).collect())]),
    }
}

fn step(step: &BatchStep) -> Value {
    match step {
        BatchStep::Move { from, to } => {
            json::object([("move", from.as_str().into()), ("to", to.as_str().into())])
        }
        BatchStep::Add { element } => json::object([("add", element.as_str().into())]),
        BatchStep::Withdraw { element } => json::object([("withdraw", element.as_str().into())]),
    }
}

/// What became of the instances of a batch.
pub fn items(id: InstanceId, page: &BatchPage) -> Value {
    json::object([
        ("batch", json::key(id.0)),
        ("items", page.items.iter().map(item).collect()),
        ("next", page.next.map(|it| it.to_string()).into()),
    ])
}

fn item(it: &BatchItem) -> Value {
    json::object([
        ("instance", json::key(it.instance)),
        ("outcome", it.outcome.name().into()),
        ("code", it.code.as_deref().into()),
        ("reason", it.reason.as_deref().into()),
        ("at", it.at.map(rows::time).into()),
    ])
}

/// What a batch would be.
pub fn counted(work: &BatchWork, filter: &str, instances: &[InstanceId]) -> Value {
    const SHOWN: usize = 10;
    let first = instances.iter().take(SHOWN).map(|it| json::key(it.0));
    json::object([
        ("operation", work.name().into()),
        ("arguments", arguments(work)),
        ("filter", filter.into()),
        ("count", (instances.len() as u64).into()),
        ("instances", first.collect()),
    ])
}
