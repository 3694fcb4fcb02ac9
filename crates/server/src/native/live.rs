//! What happens, as it happens: server-sent events out of the durable log.
//!
//! A message says which instances have changed, how, and up to which entry; whoever wants more asks for that. Messages are
//! merged to a few a second. The id of a message is a position in the log, so that a browser which comes back gets
//! what it has missed. Whoever reads too slowly gets `reset`, and reads anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    pin::pin,
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, timeout_at},
};
use tokio_stream::wrappers::ReceiverStream;
use travertine_data::{
    events,
    history::{Part, parts_of},
    json,
};
use travertine_kernel::Event;
use travertine_runtime::engine::{Feed, News, Positions};
use travertine_store::record::Record;
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    problem::Problem,
};
use crate::desk::{Desk, Refusal};

/// How long changes are gathered before they are told.
const MERGED: Duration = Duration::from_millis(250);

/// How often something is said where nothing happens.
const BEAT: Duration = Duration::from_secs(15);

/// How many messages wait for a slow reader before it has to read anew.
const WAITING: usize = 16;

/// How many instances a message names.
const INSTANCES_MAX: usize = 8;

/// How far behind somebody may come back: so many entries are read again.
const BEHIND_MAX: u64 = 10_000;

/// How many entries a message tells of at most.
const READ_MAX: usize = 10_000;

/// What somebody wants to hear of.
#[derive(Debug)]
struct Wanted {
    instances: BTreeSet<u64>,
    definitions: BTreeSet<Name>,
}

impl Wanted {
    fn has(&self, news: &News, desk: &Desk) -> bool {
        let id = news.definition.as_ref().map_or("", |it| &it.id);
        desk.sees(id)
            && (self.instances.is_empty() || self.instances.contains(&news.instance.0))
            && (self.definitions.is_empty() || self.definitions.contains(id))
    }
}

/// What has changed since the last message.
#[derive(Debug, Default)]
struct Changes(BTreeMap<u64, Change>);

#[derive(Debug)]
struct Change {
    definition: Option<Name>,
    version: Option<u32>,
    entry: u64,
    time: String,
    kinds: BTreeSet<&'static str>,
    elements: BTreeSet<Name>,
    has_ended: bool,
}

pub(super) async fn live(call: Call) -> Result<Answer, Problem> {
    let mut instances = BTreeSet::new();
    if let Some(text) = call.parameter("instance") {
        for it in text.split(',') {
            instances.insert(call.instance_called(it.trim()).await?.0);
        }
    }
    let definitions =
        call.parameter("definition").map(|it| it.split(',').map(Name::from).collect());
    let wanted = Wanted { instances, definitions: definitions.unwrap_or_default() };
    let said = call.parts.headers.get("last-event-id").and_then(|it| it.to_str().ok());
    let after = call.parameter("after").or(said).map(str::parse::<Positions>).transpose();
    let after = after.map_err(|it| Refusal::invalid(it.to_string()))?;
    let engine = call.desk.engine();
    let from_now = engine.feed(None).await?.expect("what happens from now on can always be had");
    let (feed, first) = match after {
        None => (from_now, "hello"),
        Some(after) => {
            let is_near = after.behind(from_now.positions()) <= BEHIND_MAX;
            let found = if is_near { engine.feed(Some(after)).await? } else { None };
            // Whoever has been away for long reads anew, and so does who has a position of another time of this store.
            found.map_or((from_now, "reset"), |it| (it, "hello"))
        }
    };
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(WAITING);
    let _: Result<(), _> =
        sender.send(Ok(message(first, feed.positions(), &json::object([])))).await;
    tokio::spawn(tell(call.desk.clone(), feed, wanted, sender));
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(Answer::Stream(response))
}

type Sender = mpsc::Sender<Result<Bytes, Infallible>>;

/// Tells what happens, until whoever listens has gone or must log in anew, or the server ends.
async fn tell(desk: Desk, mut feed: Feed, wanted: Wanted, sender: Sender) {
    let mut over = pin!(desk.is_over());
    let mut beat = interval_at(Instant::now() + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let news = {
            let mut next = pin!(feed.next());
            loop {
                tokio::select! {
                    news = &mut next => break news,
                    // Whoever has gone is noticed where nothing happens that they want to hear of.
                    _ = beat.tick() => {
                        let _: Result<(), _> = sender.try_send(Ok(Bytes::from_static(b": beat\n\n")));
                    }
                    () = &mut over => return,
                    () = sender.closed() => return,
                }
            }
        };
        let Ok(news) = news else { return };
        let mut changes = Changes::default();
        let mut read = news.len();
        changes.add(&news, &wanted, &desk);
        // What follows soon is told with it.
        let until = Instant::now() + MERGED;
        while let Ok(more) = timeout_at(until, feed.next()).await {
            let Ok(more) = more else { return };
            read += more.len();
            changes.add(&more, &wanted, &desk);
            if read > READ_MAX {
                break;
            }
        }
        if changes.0.is_empty() {
            continue;
        }
        let told = message("change", feed.positions(), &changes.document());
        if sender.try_send(Ok(told)).is_err() {
            // What was not read is not told: only that there was more.
            let reset = message("reset", feed.positions(), &json::object([]));
            tokio::select! {
                sent = sender.send(Ok(reset)) => if sent.is_err() { return },
                () = &mut over => return,
            }
        }
    }
}

impl Changes {
    fn add(&mut self, news: &[News], wanted: &Wanted, desk: &Desk) {
        for it in news.iter().filter(|it| wanted.has(it, desk)) {
            let change = self.0.entry(it.instance.0).or_insert_with(|| Change {
                definition: None,
                version: None,
                entry: 0,
                time: String::new(),
                kinds: BTreeSet::new(),
                elements: BTreeSet::new(),
                has_ended: false,
            });
            change.definition = it.definition.as_ref().map(|it| Name::clone(&it.id));
            change.version = it.definition.as_ref().map(|it| it.version);
            change.entry = it.entry;
            change.time = it.at.to_string();
            for part in parts_of(&it.records) {
                match (part, &it.definition) {
                    (Part::Event(event), Some(definition)) => {
                        change.kinds.insert(events::of_event(&definition.plan, event).0);
                        let node = match event {
                            Event::TokenCreated { node, .. }
                            | Event::TokenMoved { to: node, .. } => Some(*node),
                            _ => None,
                        };
                        let name = |it| Name::clone(&definition.plan.node(it).name);
                        change.elements.extend(node.map(name));
                        change.has_ended |= matches!(event, Event::Finished { .. });
                    }
                    (Part::Event(_), None) => {}
                    (Part::Record(record), _) => {
                        change.kinds.insert(events::of_record(record).0);
                        change.has_ended |= matches!(record, Record::Ended(_) | Record::Folded(_));
                    }
                }
            }
        }
    }

    /// The changes: of a few instances each, of many only by what they run.
    fn document(&self) -> Value {
        let mut definitions: BTreeMap<Name, u64> = BTreeMap::new();
        for it in self.0.values() {
            *definitions.entry(it.definition.clone().unwrap_or_else(|| "".into())).or_default() +=
                1;
        }
        let few = self.0.iter().take(INSTANCES_MAX).map(|(id, it)| {
            let names = |all: &BTreeSet<Name>| -> Value {
                all.iter().take(5).map(|it| Value::from(Name::clone(it))).collect()
            };
            let kinds: Value = it.kinds.iter().take(8).map(|it| Value::from(*it)).collect();
            json::object([
                ("instance", json::key(*id)),
                ("definition", it.definition.clone().into()),
                ("version", it.version.into()),
                ("entry", json::key(it.entry)),
                ("time", it.time.as_str().into()),
                ("kinds", kinds),
                ("elements", names(&it.elements)),
                ("ended", it.has_ended.into()),
            ])
        });
        let is_many = self.0.len() > INSTANCES_MAX;
        let few: Vec<Value> = if is_many { Vec::new() } else { few.collect() };
        let definitions =
            definitions.into_iter().take(INSTANCES_MAX).map(|(it, count)| (it, count.into()));
        json::object([
            ("instances", few.into()),
            ("count", (self.0.len() as u64).into()),
            ("definitions", definitions.collect()),
        ])
    }
}

fn message(event: &str, positions: &Positions, data: &Value) -> Bytes {
    format!("id: {positions}\nevent: {event}\ndata: {}\n\n", data.to_json()).into()
}
