//! `travertine tail`: what happens, as it happens, or from a position of the log on.

use std::{pin::pin, time::Duration};

use anyhow::{Result, anyhow};
use tokio::time::timeout;
use travertine_data::{
    events,
    history::{Part, parts_of},
    json,
};
use travertine_kernel::Event;
use travertine_runtime::{
    InstanceId,
    engine::{News, Positions},
    trace,
};
use travertine_value::{Name, Value};

use super::Desk;
use crate::{args::store as args, json::brief, status::Status};

/// How often to see whether whoever reads this has gone.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn tail(args: &args::Tail, desk: &Desk<'_>) -> Result<Status> {
    let only = desk.instance_of(args.instance.as_ref())?;
    let after = if args.from_start {
        let shards = usize::from(desk.engine.store().shards());
        Some(vec!["0"; shards].join(".").parse().map_err(|it| anyhow!("{it}"))?)
    } else {
        args.after.clone()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(follow(args, after, only, desk))
}

async fn follow(
    args: &args::Tail,
    after: Option<Positions>,
    only: Option<InstanceId>,
    desk: &Desk<'_>,
) -> Result<Status> {
    let said = after.clone();
    let Some(mut feed) = desk.ok(desk.engine.feed(after).await)? else {
        let said = said.map(|it| it.to_string()).unwrap_or_default();
        return Err(anyhow!(
            "the log does not go to the position {said}; take one that this store has told"
        ));
    };
    if !desk.is_shared() && args.after.is_none() && !args.from_start {
        desk.err.line(
            "note: nobody has the store open, so nothing happens; --from-start shows what has happened",
        );
    }
    let mut left = args.count.unwrap_or(u64::MAX);
    let is_over = || desk.is_left() || desk.out.is_closed();
    while left > 0 && !is_over() {
        let before = feed.positions().clone();
        let news = if desk.is_shared() {
            unless(LOOK, is_over, feed.next()).await.transpose()
        } else {
            // Where nobody else has the store, nothing more comes than what is there.
            feed.ready().await
        };
        let Some(news) = desk.ok(news)? else { break };
        let meant = |it: &&News| {
            only.is_none_or(|only| it.instance == only)
                && args
                    .definition
                    .as_ref()
                    .is_none_or(|id| it.definition.as_ref().is_some_and(|it| *it.id == **id))
        };
        let told: Vec<&News> = news.iter().filter(meant).collect();
        for (at, it) in told.iter().enumerate() {
            // Whoever goes on from a position gets nothing less than what came after it.
            let position = if at + 1 == told.len() { feed.positions() } else { &before };
            for (kind, text, fields, element) in parts(it) {
                if left == 0 {
                    return Ok(Status::Done);
                }
                left -= 1;
                let told = Told { news: it, kind, text, fields, element };
                told.tell(position, desk);
            }
        }
    }
    Ok(Status::Done)
}

/// What comes of something, unless it is over by then, which is asked now and then. What has begun goes on meanwhile.
async fn unless<T>(
    every: Duration,
    is_over: impl Fn() -> bool,
    what: impl Future<Output = T>,
) -> Option<T> {
    let mut what = pin!(what);
    loop {
        match timeout(every, what.as_mut()).await {
            Ok(done) => return Some(done),
            Err(_) if is_over() => return None,
            Err(_) => {}
        }
    }
}

/// One event.
struct Told<'a> {
    news: &'a News,
    kind: &'static str,
    text: String,
    fields: Vec<(&'static str, Value)>,
    element: Option<Name>,
}

type Parted = (&'static str, String, Vec<(&'static str, Value)>, Option<Name>);

/// The events of an entry: what kind each is, it in words, its fields, and the element that it brings a token to.
fn parts(news: &News) -> Vec<Parted> {
    let part = |part: Part<'_>| match (part, &news.definition) {
        (Part::Event(event), Some(definition)) => {
            let plan = &definition.plan;
            let (kind, fields) = events::of_event(plan, event);
            let node = match event {
                Event::TokenCreated { node, .. } | Event::TokenMoved { to: node, .. } => {
                    Some(*node)
                }
                _ => None,
            };
            let element = node.map(|it| Name::clone(&plan.node(it).name));
            Some((kind, trace::of_event(plan, event), fields, element))
        }
        // What it runs is not known any more.
        (Part::Event(_), None) => None,
        (Part::Record(record), _) => {
            let (kind, fields) = events::of_record(record);
            Some((kind, kind.replace('_', " "), fields, None))
        }
    };
    parts_of(&news.records).filter_map(part).collect()
}

impl Told<'_> {
    fn tell(&self, position: &Positions, desk: &Desk<'_>) {
        let News { shard, entry, at, instance, definition, .. } = self.news;
        let id = definition.as_ref().map(|it| Name::clone(&it.id));
        if desk.json {
            let document = json::object([
                ("position", position.to_string().into()),
                ("time", at.to_string().into()),
                ("instance", json::key(instance.0)),
                ("definition", id.into()),
                ("version", definition.as_ref().map(|it| it.version).into()),
                ("shard", u32::from(*shard).into()),
                ("entry", json::key(*entry)),
                ("kind", self.kind.into()),
                ("element", self.element.clone().into()),
            ]);
            let mut fields = document.as_map().cloned().unwrap_or_default();
            for (name, value) in &self.fields {
                fields.entry(Name::from(*name)).or_insert_with(|| value.clone());
            }
            desk.out.line(Value::from(fields).to_json());
            return;
        }
        let paint = desk.out.paint;
        let id = id.unwrap_or_else(|| "?".into());
        let whose = paint.bold(format!("{id} {instance}"));
        let time = paint.dim(at);
        desk.out.line(format!("{time}  {whose}  {}", brief(&self.text)));
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::poll_fn, task::Poll};

    use super::*;

    fn run<T>(what: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("there is a clock").block_on(what)
    }

    #[test]
    fn what_takes_longer_than_a_look_is_not_begun_anew() {
        let (begun, looks) = (Cell::new(0), Cell::new(0));
        let what = async {
            begun.set(begun.get() + 1);
            // Nothing else than a look has it go on.
            poll_fn(|_| if looks.get() < 3 { Poll::Pending } else { Poll::Ready(7) }).await
        };
        let is_over = || {
            looks.set(looks.get() + 1);
            false
        };
        assert_eq!(run(unless(Duration::from_millis(1), is_over, what)), Some(7));
        assert_eq!(begun.get(), 1);
    }

    #[test]
    fn what_does_not_come_is_waited_for_until_it_is_over() {
        let never = std::future::pending::<()>();
        assert_eq!(run(unless(Duration::from_millis(1), || true, never)), None);
    }
}
