//! The store: what is in it, whether it agrees with itself, and how it is made smaller.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use travertine_data::{json, stats, words};
use travertine_runtime::engine::{Progress, Retention};
use travertine_store::{
    search::{Condition, InstanceColumn, MessageColumn, Search, Test, Value as Cell},
    view::Table,
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    problem::Problem,
};
use crate::desk::{Refusal, off_the_executor};

/// The description of this API.
const DESCRIPTION: &str = include_str!("../../openapi/native.yaml");

pub(super) async fn description(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::Text("application/yaml", Bytes::from_static(DESCRIPTION.as_bytes())))
}

/// How many rows of each kind there are, and how the store is.
pub(super) async fn stats(call: Call) -> Result<Answer, Problem> {
    let by = vec![
        InstanceColumn::Definition.into(),
        InstanceColumn::Version.into(),
        InstanceColumn::State.into(),
    ];
    let mut counts: stats::Counts = BTreeMap::new();
    for it in call.desk.definitions().all().filter(|it| call.desk.sees(&it.id)) {
        counts.insert((Name::clone(&it.id), it.version), [0; 6]);
    }
    for it in call.desk.tally(Search::of(Table::Instances), by).await? {
        let [Some(Cell::Text(id)), Some(Cell::Number(version)), Some(Cell::Text(state))] =
            &it.of[..]
        else {
            continue;
        };
        let version = u32::try_from(*version).unwrap_or(u32::MAX);
        let at = words::state(state).ok().and_then(stats::place);
        if let Some(at) = at {
            counts.entry((Name::clone(id), version)).or_default()[at] += it.count;
        }
    }
    let mut waiting = Vec::new();
    for (field, table) in [
        ("jobs", Table::Jobs),
        ("tasks", Table::Tasks),
        ("timers", Table::Timers),
        ("subscriptions", Table::Subscriptions),
        ("incidents", Table::Incidents),
    ] {
        waiting.push((field, total(&call, Search::of(table)).await?));
    }
    for (field, dead) in [("messages", false), ("dead_letters", true)] {
        let is_dead = Condition::of(MessageColumn::Dead, Test::Exists(dead));
        waiting.push((field, total(&call, Search::of(Table::Messages).with(is_dead)).await?));
    }
    let (engine, desk) = (call.desk.engine().clone(), call.desk.clone());
    let document = off_the_executor(move || {
        let mut throttled = engine.throttled(Duration::from_secs(1));
        throttled.retain(|(id, _)| desk.sees(id));
        let store = engine.store();
        let (used, free) = store.size().map_err(travertine_runtime::Error::from)?;
        let opened = engine.opened();
        let damaged = stats::damaged(opened).map(|it| Value::from(it.as_str())).collect();
        let rebuilt = store.rebuilt().as_deref().map_or(Value::Null, Into::into);
        let store = json::object([
            ("shards", u32::from(store.shards()).into()),
            ("bytes", used.into()),
            ("bytes_free", free.into()),
            ("views_rebuilt", rebuilt),
            ("damaged", damaged),
        ]);
        Ok(stats::stats(&counts, &waiting, &throttled, store, &engine.metrics()))
    });
    Ok(Answer::Document(document.await?))
}

async fn total(call: &Call, search: Search) -> Result<u64, Problem> {
    let search = search.limit(1).counted();
    Ok(call.desk.rows(search).await?.total.map_or(0, |it| u64::from(it.count)))
}

/// Compares the log with the views. A line of JSON says now and then how far that is, and the last one what came of
/// it.
pub(super) async fn verify(call: Call) -> Result<Answer, Problem> {
    call.desk.may_all()?;
    let engine = call.desk.engine().clone();
    let (lines, reader) = mpsc::channel::<Result<Bytes, std::convert::Infallible>>(16);
    tokio::task::spawn_blocking(move || {
        let (told, last) = (lines.clone(), AtomicU64::new(u64::MAX));
        let progress = Progress(Arc::new(move |shard, done, total| {
            let percent = done.saturating_mul(100) / total.max(1);
            if last.swap(percent, Ordering::Relaxed) != percent {
                let document = json::object([
                    ("shard", u32::from(shard.0).into()),
                    ("done", done.into()),
                    ("total", total.into()),
                ]);
                // Who reads slowly misses some.
                let _: Result<(), _> =
                    told.try_send(Ok(line(&json::object([("progress", document)]))));
            }
        }));
        let document = match engine.verify_told(&progress) {
            Ok(verified) => stats::verified(&verified),
            Err(error) => {
                let refusal = Refusal::from(error);
                json::object([(
                    "error",
                    json::object([
                        ("code", refusal.code.into()),
                        ("message", refusal.detail.as_str().into()),
                    ]),
                )])
            }
        };
        // Nobody is told who has gone.
        let _: Result<(), _> = lines.blocking_send(Ok(line(&document)));
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(reader)));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(Answer::Stream(response))
}

fn line(document: &Value) -> Bytes {
    Bytes::from(document.to_json() + "\n")
}

pub(super) async fn compact(call: Call) -> Result<Answer, Problem> {
    call.desk.may_all()?;
    let span = |name: &str| -> Result<Option<Duration>, Problem> {
        let Some(text) = call.text(name)? else { return Ok(None) };
        let read = words::span(&text);
        Ok(Some(read.map_err(|it| Refusal::invalid(format!("the field {name}: {it}")))?))
    };
    let retention = Retention {
        history: span("history")?,
        ended: span("ended")?,
        ended_max: call.count("keep")?,
    };
    let engine = call.desk.engine().clone();
    let document = off_the_executor(move || {
        engine.flush_now()?;
        let size = || engine.store().size().map_err(travertine_runtime::Error::from);
        let before = size()?.0;
        let swept = engine.sweep_with(&retention)?;
        engine.flush_now()?;
        engine.store().compact().map_err(travertine_runtime::Error::from)?;
        Ok(json::object([
            ("shortened", swept.folded.into()),
            ("forgotten", swept.removed.into()),
            ("bytes_before", before.into()),
            ("bytes", size()?.0.into()),
        ]))
    });
    Ok(Answer::Document(document.await?))
}

pub(super) async fn preflight(call: Call) -> Result<Answer, Problem> {
    call.desk.may_all()?;
    let engine = call.desk.engine().clone();
    let report = off_the_executor(move || Ok(engine.preflight()?)).await?;
    let problems = report.problems.iter().map(|(instance, problem)| {
        json::object([("instance", json::key(instance.0)), ("problem", problem.as_str().into())])
    });
    Ok(Answer::Document(json::object([
        ("tried", (report.tried as u64).into()),
        ("problems", problems.collect()),
    ])))
}
