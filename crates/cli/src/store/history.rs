//! `travertine history`: what has happened to an instance, and how it was at any point.

use std::borrow::Cow;

use anyhow::{Result, bail};
use travertine_data::{
    account::{self, Account, What},
    history::{Happened, Page, story},
    look,
};
use travertine_kernel::{Assignments, tree, why};
use travertine_runtime::{
    Definition, Error,
    engine::{self, Step},
};
use travertine_store::record::Record;
use travertine_value::Name;

use super::{Desk, rows, show};
use crate::{args::store as args, json, run::line, screen::Screen, status::Status};

pub(crate) fn history(args: &args::History, desk: &Desk<'_>) -> Result<Status> {
    let history = desk.ok(desk.engine.history(desk.instance(&args.instance)?))?;
    if let Some(seq) = args.at {
        return state_at(&history, seq, args.full, desk);
    }
    let definitions = desk.engine.definitions();
    let account = account::account(&history, &definitions);
    let story = story(&history, &definitions);
    let page = Page::of(&history, args.after.unwrap_or_default(), args.limit);
    desk.tell(
        || travertine_data::history::history(&history, &story, &account, &page),
        |out| {
            if args.events {
                events(&story, &page, args.full, out);
            } else {
                activities(&account, &page, out);
            }
            if let Some(next) = page.next {
                out.line(out.paint.dim(format!("there are more: --after {next}")));
            }
        },
    );
    Ok(Status::Done)
}

/// What happened to the process, for people.
fn activities(account: &Account, page: &Page, out: &Screen) {
    for it in account.lines.iter().filter(|it| page.has(it.moment.entry)) {
        let text = match &it.what {
            What::Began(activity) => match account.activities[*activity].began() {
                Some(text) => text,
                None => continue,
            },
            What::Ended(activity) => match account.activities[*activity].ended() {
                Some((text, true)) => text,
                Some((text, false)) => out.paint.red(text),
                None => continue,
            },
            What::Note(text) => text.clone(),
            What::Fault(text) => out.paint.red(text),
        };
        out.line(format!("{}  {text}", out.paint.dim(rows::at(it.moment.at))));
    }
}

/// What the engine did, event by event.
fn events(story: &[(&Step, &Definition, Vec<Happened>)], page: &Page, full: bool, out: &Screen) {
    for (step, definition, told) in story.iter().filter(|(step, ..)| page.has(step.seq)) {
        let head = format!("#{}", step.seq);
        out.line(format!("{}  {}", out.paint.bold(head), out.paint.dim(step.at)));
        for it in told {
            let text = if full { Cow::Borrowed(&*it.text) } else { json::brief(&it.text) };
            out.line(line(&definition.plan, &text, it.element, out));
        }
    }
}

/// How the instance was after an entry.
fn state_at(history: &engine::History, seq: u64, full: bool, desk: &Desk<'_>) -> Result<Status> {
    let step = history.steps.iter().rfind(|it| it.seq <= seq);
    let (Some(step), Some(first)) = (step, history.steps.first()) else {
        let first = history.steps.first().map(|it| it.seq).unwrap_or_default();
        bail!("instance {} begins with entry {first}, after {seq}", history.instance);
    };
    if first.records.iter().any(|it| matches!(it, Record::Folded(_))) {
        bail!(
            "what happened to instance {} is not kept any more; {} says how it ended",
            history.instance,
            desk.command(&["show", &history.instance.to_string()])
        );
    }
    let definitions = desk.engine.definitions();
    let definition = desk.ok(definitions
        .get(step.definition)
        .ok_or_else(|| Error::NoSuchDefinition(Name::clone(&history.definition.id))))?;
    let state = history.state_at(seq);
    let plan = &definition.plan;
    let variables: Assignments = state
        .variables()
        .into_iter()
        .flatten()
        .map(|(name, value)| (Name::clone(name), value.clone()))
        .collect();
    let (branch, reasons) = (tree(plan, &state), why(plan, &state));
    desk.tell(
        || {
            json::object([
                ("instance", json::key(history.instance.0)),
                ("entry", json::key(step.seq)),
                ("time", step.at.to_string().into()),
                ("definition", Name::clone(&definition.id).into()),
                ("version", definition.version.into()),
                ("variables", variables.iter().cloned().collect()),
                ("tree", look::tree(branch.as_ref())),
                ("waits", reasons.iter().map(|it| look::past(history.instance, it)).collect()),
            ])
        },
        |out| {
            let title = format!("{} {} after entry {}", definition.id, history.instance, step.seq);
            out.line(format!("{}, {}", out.paint.bold(title), step.at));
            show::state(show::shown_tree(definition, branch.as_ref()), &variables, full, out);
            for it in reasons.iter().filter(|it| !definition.is_function() || look::is_telling(it))
            {
                out.line(format!("  {it}"));
            }
        },
    );
    Ok(Status::Done)
}
