//! What happens, as `CloudEvents`.

use travertine_data::{
    events,
    history::{Part, parts_of},
    json,
};
use travertine_runtime::engine::{Gap, News};
use travertine_value::{Name, Value};

use super::Webhook;

/// The kinds of events that can be asked for, and are what people look for. Those that a webhook is told of where it
/// names none come first.
pub const KINDS: &[&str] = &[
    "created",
    "started",
    "ended",
    "suspended",
    "resumed",
    "halted",
    "released",
    "migrated",
    "token_created",
    "token_moved",
    "token_ended",
    "wait_opened",
    "wait_closed",
    "task_changed",
    "work_failed",
    "incident_raised",
    "incident_resolved",
    "decision_made",
    // Only where somebody names them.
    "variable_set",
    "variable_removed",
    "leased",
    "offered_again",
    "retries_set",
    "timer_moved",
    "posted",
    "token_state",
    "token_triggered",
    "token_retired",
    "token_recalled",
    "run_ended",
    "run_terminated",
    "operation_asked",
    "operation_done",
    "operation_failed",
    "operation_cancelled",
    "update_requested",
    "by",
];

/// How many of them are the usual ones.
const USUAL: usize = 18;

/// Whether a webhook is told of such events.
fn wants(hook: &Webhook, kind: &str) -> bool {
    if hook.kinds.is_empty() {
        KINDS.iter().take(USUAL).any(|it| *it == kind)
    } else {
        hook.kinds.iter().any(|it| **it == *kind)
    }
}

/// What an entry of the log tells a webhook.
pub(super) fn of_news(hook: &Webhook, news: &News) -> Vec<Value> {
    let definition = news.definition.as_deref();
    let id = definition.map(|it| &it.id);
    if !hook.definitions.is_empty() && !id.is_some_and(|it| hook.definitions.contains(it)) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (index, part) in parts_of(&news.records).enumerate() {
        let (kind, fields) = match (part, definition) {
            (Part::Event(event), Some(definition)) => events::of_event(&definition.plan, event),
            // What it runs is not known any more, so nobody can say where that was.
            (Part::Event(_), None) => continue,
            (Part::Record(record), _) => events::of_record(record),
        };
        if !wants(hook, kind) {
            continue;
        }
        let about: [(&str, Value); 4] = [
            ("instance", json::key(news.instance.0)),
            ("definition", id.cloned().into()),
            ("version", definition.map(|it| it.version).into()),
            ("entry", json::key(news.entry)),
        ];
        let data: Value = about
            .into_iter()
            .chain(fields)
            .map(|(name, value)| (Name::from(name), value))
            .collect();
        let number = format!("{}-{}-{index}", news.shard, news.entry);
        let source = format!("/instances/{}", news.instance.0);
        all.push(event(kind, &number, &source, Some(&news.at.to_string()), data));
    }
    all
}

/// That something was forgotten before it was told.
pub(super) fn of_gap(gap: &Gap) -> Value {
    let number = format!("{}-{}-gap", gap.shard, gap.last);
    let data = json::object([
        ("shard", u32::from(gap.shard).into()),
        ("first", json::key(gap.first)),
        ("last", json::key(gap.last)),
        ("reason", "these entries were forgotten before they were told".into()),
    ]);
    event("gap", &number, &format!("/shards/{}", gap.shard), None, data)
}

/// That nobody knows what was missed.
pub(super) fn of_reset(positions: &str) -> Value {
    let data = json::object([
        ("first", Value::Null),
        ("last", Value::Null),
        (
            "reason",
            "the store is another one than that which was told, or an older copy; it is told from here on".into(),
        ),
    ]);
    event("gap", &format!("reset-{positions}"), "/store", None, data)
}

fn event(kind: &str, id: &str, source: &str, time: Option<&str>, data: Value) -> Value {
    let mut all = vec![
        ("specversion", "1.0".into()),
        ("id", id.into()),
        ("source", source.into()),
        ("type", format!("travertine.{kind}").as_str().into()),
        ("datacontenttype", "application/json".into()),
    ];
    all.extend(time.map(|it| ("time", it.into())));
    all.push(("data", data));
    all.into_iter().map(|(name, value): (&str, Value)| (Name::from(name), value)).collect()
}
