//! `travertine stats`, `compact`, `verify` and `backup`.

use std::{path::Path, time::Duration};

use anyhow::{Result, bail};
use travertine_data::stats::{self as documents, Counts, STATES, damaged};
use travertine_runtime::engine::{Opened, Retention};
use travertine_store::{
    sqlite,
    view::{Filter, Query, Row, Table},
};
use travertine_value::{Name, Value};

use super::{Desk, desk, grid, grid::Cell, grid::Tone};
use crate::{
    args::{store as args, words},
    json, place,
    screen::Screen,
    status::Status,
};

/// How long to wait for what the shards say.
const LOOK: Duration = Duration::from_secs(1);

/// How many rows are counted at once.
const PAGE: u32 = 10_000;

/// Says what could not be read when a store was opened, and what came of that.
pub(crate) fn tell_damage(opened: &Opened, out: &Screen) {
    for it in damaged(opened) {
        out.line(out.paint.red(format!("{it}; it is passed over")));
    }
}

pub(crate) fn stats(desk: &Desk<'_>) -> Result<Status> {
    let mut counts = Counts::new();
    for it in desk.engine.definitions().all() {
        counts.insert((Name::clone(&it.id), it.version), [0; 6]);
    }
    each(Table::Instances, desk, &mut |row| {
        let Row::Instance(it) = row else { return };
        let place = STATES.iter().position(|state| *state == it.state).unwrap_or_default();
        counts.entry((it.definition, it.version)).or_default()[place] += 1;
    })?;
    let mut others = Vec::new();
    for (field, table) in [
        ("jobs", Table::Jobs),
        ("tasks", Table::Tasks),
        ("timers", Table::Timers),
        ("subscriptions", Table::Subscriptions),
        ("incidents", Table::Incidents),
        ("messages", Table::Messages),
    ] {
        let (mut count, mut dead) = (0_u64, 0_u64);
        each(table, desk, &mut |row| match row {
            Row::Message(it) if it.dead.is_some() => dead += 1,
            _ => count += 1,
        })?;
        others.push((field, count));
        if table == Table::Messages {
            others.push(("dead_letters", dead));
        }
    }
    let throttled = desk.engine.throttled(LOOK);
    let (used, free) = desk.ok(desk.engine.store().size().map_err(Into::into))?;
    let metrics = desk.engine.metrics();
    let opened = desk.engine.opened();
    let damaged: Vec<&String> = damaged(opened).collect();
    desk.tell(
        || {
            let store = json::object([
                ("directory", desk.data.display().to_string().into()),
                ("shards", u32::from(desk.engine.store().shards()).into()),
                ("bytes", used.into()),
                ("bytes_free", free.into()),
                (
                    "views_rebuilt",
                    desk.engine.store().rebuilt().as_deref().map_or(Value::Null, Into::into),
                ),
                ("damaged", damaged.iter().map(|it| Value::from(it.as_str())).collect()),
            ]);
            documents::stats(&counts, &others, &throttled, store, &metrics)
        },
        |out| {
            let shards = desk.engine.store().shards();
            let shards = grid::count(shards.into(), "shard");
            let room = format!("{} of them free", bytes(free));
            out.line(format!("{}: {}, {room}, {shards}", desk.data.display(), bytes(used)));
            let took = opened.took.as_millis();
            let read: u64 = opened.shards.iter().map(|it| it.entries).sum();
            let read = grid::count(read, "entry");
            out.line(format!("opened in {took} ms, {read} replayed"));
            tell_damage(opened, out);
            let others: Vec<String> = others
                .iter()
                .map(|(field, count)| {
                    grid::count(*count, &field.trim_end_matches('s').replace('_', " "))
                })
                .collect();
            out.line(others.join(", "));
            for (definition, count) in &throttled {
                out.line(out.paint.red(format!(
                    "definition {definition} does not come to rest: {} on the way",
                    grid::count(*count, "start")
                )));
            }
            if counts.is_empty() {
                out.line("nothing is deployed");
                return;
            }
            out.line("");
            let heads: Vec<&str> =
                ["definition", "version"].into_iter().chain(STATES.map(words::of_state)).collect();
            let rows = counts.iter().map(|((id, version), all)| {
                let first = [Cell::new(id.to_string(), Tone::Strong), version.to_string().into()];
                let counts = all.iter().map(|it| Cell::from(it.to_string()));
                first.into_iter().chain(counts).collect()
            });
            grid::print(&heads, rows.collect(), out);
        },
    );
    Ok(Status::Done)
}

fn each(table: Table, desk: &Desk<'_>, see: &mut dyn FnMut(Row)) -> Result<()> {
    let mut after = None;
    loop {
        let filters: Vec<Filter> = Vec::new();
        let page = desk.query(&Query {
            table,
            filters,
            descending: false,
            after: after.take(),
            limit: PAGE,
        })?;
        page.rows.into_iter().for_each(&mut *see);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// A size for people.
fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, size) in UNITS {
        if count >= size {
            let tenths = count / (size / 10).max(1);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{count} bytes")
}

pub(crate) fn compact(args: &args::Compact, desk: &Desk<'_>) -> Result<Status> {
    let size = || -> Result<u64> { Ok(desk.ok(desk.engine.store().size().map_err(Into::into))?.0) };
    desk.settle()?;
    desk.ok(desk.engine.flush_now())?;
    let before = size()?;
    let retention = Retention { history: args.history, ended: args.ended, ended_max: args.keep };
    let swept = desk.ok(desk.engine.sweep_with(&retention))?;
    desk.ok(desk.engine.flush_now())?;
    desk.ok(desk.engine.store().compact().map_err(Into::into))?;
    let after = size()?;
    desk.tell(
        || {
            json::object([
                ("shortened", swept.folded.into()),
                ("forgotten", swept.removed.into()),
                ("bytes_before", before.into()),
                ("bytes", after.into()),
            ])
        },
        |out| {
            let (folded, removed) = (swept.folded, swept.removed);
            let folded = grid::count(folded, "instance");
            out.line(format!("{folded} shortened, {removed} forgotten"));
            out.line(format!("{} before, {} now", bytes(before), bytes(after)));
        },
    );
    Ok(Status::Done)
}

/// Takes a log as it is that has lost something.
pub(crate) fn accept_loss(data: &Path, err: &Screen) -> Result<()> {
    if place::is_url(data) {
        bail!("what a store on PostgreSQL has lost comes back with a backup of the database only");
    }
    let lost = sqlite::accept_loss(data)
        .map_err(|error| desk::Told::of(&error.into(), data, None, false))?;
    for it in &lost {
        err.line(err.paint.yellow(format!("accepted: {it}")));
    }
    if lost.is_empty() {
        err.line("nothing was lost: the log has all that was written to it");
    }
    Ok(())
}

pub(crate) fn verify(desk: &Desk<'_>) -> Result<Status> {
    let (progress, clear) = desk.progress("verifying");
    let verified = match &progress {
        Some(progress) => desk.engine.verify_told(progress),
        None => desk.engine.verify(),
    };
    clear();
    let verified = desk.ok(verified)?;
    let agrees = verified.differences.is_empty();
    desk.tell(
        || documents::verified(&verified),
        |out| {
            verified.differences.iter().for_each(|it| out.line(it));
            let word = match verified.differences.len() {
                0 => out.paint.green("everything agrees"),
                many => out.paint.red(grid::count(many as u64, "difference")),
            };
            let entries = grid::count(verified.entries, "entry");
            let instances = grid::count(verified.instances, "instance");
            let rows = grid::count(verified.rows, "row");
            out.line(format!("{word}: {entries} replayed, {instances} and {rows} compared"));
        },
    );
    Ok(if agrees { Status::Done } else { Status::Rejected })
}

pub(crate) fn backup(args: &args::Backup, out: &Screen) -> Result<Status> {
    let data = &args.shared.place.data;
    place::backup(data, &args.to)
        .map_err(|error| desk::Told::of(&error.into(), data, None, false))?;
    let (from, to) = (data.display().to_string(), args.to.display().to_string());
    if args.shared.json {
        let data = json::object([("from", from.into()), ("to", to.into())]);
        out.json(&data);
    } else {
        out.line(format!("copied {from} to {}", out.paint.bold(to)));
    }
    Ok(Status::Done)
}
