//! `travertine webhooks`: who is told what happens.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use travertine_server::{HookSettings, HookState, Hooks, Webhook};
use travertine_value::{Name, Value};

use crate::{
    args::webhooks::{Act, Add, Listing, Webhooks},
    json, place,
    screen::Screen,
    status::Status,
    store::grid::{self, Cell, Tone},
};

/// The file of webhooks, in the directory of a store.
const WEBHOOKS: &str = "webhooks.db";

pub(crate) fn webhooks(args: &Webhooks, out: &Screen) -> Result<Status> {
    match &args.act {
        Act::List(args) => list(args, out)?,
        Act::Add(args) => add(args, out)?,
        Act::Pause(args) => {
            open(&args.shared.place.data)?.pause(&args.name)?;
            out.line(format!("webhook {} is told nothing until it is resumed", args.name));
        }
        Act::Resume(args) => {
            open(&args.shared.place.data)?.resume(&args.name)?;
            out.line(format!("webhook {} goes on", args.name));
        }
        Act::Remove(args) => {
            open(&args.shared.place.data)?.remove(&args.name)?;
            out.line(format!("webhook {} is removed", args.name));
        }
    }
    Ok(Status::Done)
}

/// The webhooks of a store, which need not be there yet.
fn open(data: &Path) -> Result<Hooks> {
    place::check(data)?;
    let data = place::local_made(data)
        .and_then(|it| fs::create_dir_all(&it).map(|()| it))
        .with_context(|| format!("cannot make the directory of {}", data.display()))?;
    Ok(Hooks::open(Some(&data.join(WEBHOOKS)))?)
}

fn add(args: &Add, out: &Screen) -> Result<()> {
    let names = |all: &[String]| all.iter().map(|it| Name::from(it.as_str())).collect();
    let wanted = HookSettings {
        url: args.url.as_str().into(),
        definitions: names(&args.definitions),
        kinds: names(&args.kinds),
        secret: None,
    };
    travertine_server::check_url(&args.url).map_err(anyhow::Error::msg)?;
    match open(&args.shared.place.data)?.put(&args.name, &wanted, None)? {
        Some(secret) => {
            out.line(format!(
                "webhook {} is added; its messages are signed with this secret,",
                args.name
            ));
            out.line(format!("which is not shown again: {secret}"));
        }
        None => out.line(format!("webhook {} is changed", args.name)),
    }
    Ok(())
}

fn list(args: &Listing, out: &Screen) -> Result<()> {
    let all = open(&args.shared.place.data)?.all()?;
    if args.shared.json {
        let all: Vec<Value> = all.iter().map(data).collect();
        out.json(&json::object([("webhooks", all.into())]));
        return Ok(());
    }
    if all.is_empty() {
        out.line("no webhooks");
        return Ok(());
    }
    let cells = all.iter().map(cells).collect();
    grid::print(&["webhook", "url", "state", "told", "last", "reason"], cells, out);
    Ok(())
}

fn cells(it: &Webhook) -> Vec<Cell> {
    let tone = match it.state {
        HookState::Active if it.reason.is_some() => Tone::Busy,
        HookState::Active => Tone::Plain,
        HookState::Paused => Tone::Dim,
        HookState::Dead => Tone::Bad,
    };
    vec![
        Cell::new(it.name.to_string(), Tone::Strong),
        it.url.to_string().into(),
        Cell::new(it.state.name(), tone),
        it.told.to_string().into(),
        it.last.map(|it| it.to_string()).unwrap_or_default().into(),
        it.reason.as_deref().unwrap_or_default().to_owned().into(),
    ]
}

fn data(it: &Webhook) -> Value {
    let names = |all: &[Name]| -> Value {
        all.iter().map(|it| Name::clone(it).into()).collect::<Vec<Value>>().into()
    };
    json::object([
        ("webhook", Name::clone(&it.name).into()),
        ("url", Name::clone(&it.url).into()),
        ("definitions", names(&it.definitions)),
        ("kinds", names(&it.kinds)),
        ("state", it.state.name().into()),
        ("reason", it.reason.clone().into()),
        ("attempts", it.attempts.into()),
        ("told", it.told.into()),
        ("last", it.last.map(|it| it.to_string()).into()),
        ("created", it.created.to_string().into()),
    ])
}
