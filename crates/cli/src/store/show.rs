//! `travertine show`: an instance, where it is, and why it waits.

use std::path::Path;

use anyhow::Result;
use travertine_data::look::{self, WayOut};
use travertine_kernel::{Assignments, Branch, Ending, Phase, Reason, Why};
use travertine_runtime::{Definition, InstanceId, engine::Look, trace};
use travertine_store::view::{Filter, Query, Row, Table};
use travertine_value::Value;

use super::{Desk, rows};
use crate::{args::store as args, json, screen::Screen, shell, status::Status};

/// The most rows of each kind that are shown of one instance.
const ROWS_MAX: u32 = 1_000;

/// How many lines of the tree of tokens people read.
const TREE_LINES_MAX: usize = 200;

/// How many lines people read about what waits, where they have asked for it.
const LINES_MAX: usize = 40;

/// And where they have not.
const LINES_FEW: usize = 8;

pub(crate) fn show(args: &args::Show, desk: &Desk<'_>) -> Result<Status> {
    let instance = desk.instance(&args.instance)?;
    let look = desk.look(instance)?;
    let about = |table, filter| -> Result<Vec<Row>> {
        let query =
            Query { table, filters: vec![filter], descending: false, after: None, limit: ROWS_MAX };
        Ok(desk.query(&query)?.rows)
    };
    let of = Filter::Instance(instance.0);
    let jobs = about(Table::Jobs, of.clone())?;
    let tasks = about(Table::Tasks, of.clone())?;
    let timers = about(Table::Timers, of.clone())?;
    let incidents = about(Table::Incidents, of)?;
    let called = about(Table::Instances, Filter::Parent(instance.0))?;
    let list = |rows: &[Row]| -> Value { rows.iter().map(rows::data).collect() };
    desk.tell(
        || {
            let row = rows::instance(&look.row);
            let mut fields = row.as_map().cloned().unwrap_or_default();
            fields.shift_remove("result");
            let more = [
                ("incidents", list(&incidents)),
                ("variables", look.variables.iter().cloned().collect()),
                ("tree", look::tree(look.tree.as_ref())),
                ("waits", look.reasons.iter().map(|it| reason(instance, it, desk.data)).collect()),
                ("jobs", list(&jobs)),
                ("tasks", list(&tasks)),
                ("timers", list(&timers)),
                ("called", list(&called)),
            ];
            for (name, value) in more {
                fields.insert(name.into(), value);
            }
            fields.into()
        },
        |out| {
            heading(&look, out);
            state(
                shown_tree(&look.definition, look.tree.as_ref()),
                &look.variables,
                args.full,
                out,
            );
            reasons(&look, LINES_MAX, desk, out);
            for row in called.iter().take(LINES_FEW) {
                let Row::Instance(it) = row else { continue };
                let state = rows::state_painted(it.state, out.paint);
                out.line(format!("  called {} {}, {state}", it.definition, it.id));
            }
            if called.len() > LINES_FEW {
                let list = desk.command(&["instances", "--caller", &instance.to_string()]);
                out.line(format!("  and called more; {list} lists them"));
            }
        },
    );
    Ok(Status::Done)
}

fn heading(look: &Look, out: &Screen) {
    let row = &look.row;
    let title = out.paint.bold(format!("{} {}", row.definition, row.id));
    let id = row.business_id.as_ref().map(|it| format!(" \"{it}\"")).unwrap_or_default();
    out.line(format!("{title}{id}, {}", rows::state_painted(row.state, out.paint)));
    let ended = row.ended.map(|it| format!(", ended {}", rows::at(it))).unwrap_or_default();
    let kind = if look.definition.is_function() { "function, " } else { "" };
    let anew = match look.state.journal.as_ref().map_or(0, |it| it.run) {
        0 => String::new(),
        1 => ", begun anew once".to_owned(),
        times => format!(", begun anew {times} times"),
    };
    let (version, started) = (row.version, rows::at(row.started));
    out.line(format!("  {kind}version {version}, started {started}{anew}{ended}"));
    if row.ended.is_none() && look.state.journal.as_ref().is_some_and(|it| it.is_cancelled()) {
        out.line("  someone has cancelled it; its code clears up");
    }
    if let Some((caller, wait)) = row.parent {
        out.line(format!("  called by {}", rows::address(caller, wait)));
    }
    let reason = match &look.state.phase {
        Phase::Ended(Ending::Failed(failure)) => {
            Some(trace::of_failure(&look.definition.plan, failure))
        }
        Phase::New | Phase::Running | Phase::Ended(_) => {
            row.reason.as_ref().map(ToString::to_string)
        }
    };
    if let Some(reason) = reason {
        out.line(format!("  {}", out.paint.red(reason)));
    }
}

/// The tree of an instance, where it tells something: a function is only ever at its code.
pub(crate) fn shown_tree<'a>(
    definition: &Definition,
    tree: Option<&'a Branch>,
) -> Option<&'a Branch> {
    tree.filter(|_| !definition.is_function())
}

/// Where tokens are, and the variables of the process.
pub(crate) fn state(tree: Option<&Branch>, variables: &Assignments, full: bool, out: &Screen) {
    if let Some(tree) = tree {
        let tree = tree.to_string();
        for line in tree.lines().take(TREE_LINES_MAX) {
            out.line(format!("  {}", out.paint.cyan(line)));
        }
        let more = tree.lines().count().saturating_sub(TREE_LINES_MAX);
        if more > 0 {
            out.line(format!("  and {more} tokens more; --json has them all"));
        }
    }
    out.variables(variables, full);
}

/// Why the first tokens rest, with the commands that help.
pub(crate) fn few_reasons(look: &Look, desk: &Desk<'_>, out: &Screen) {
    reasons(look, LINES_FEW, desk, out);
}

fn reasons(look: &Look, lines_max: usize, desk: &Desk<'_>, out: &Screen) {
    let instance = InstanceId(look.row.id);
    let all: Vec<&Reason> = look.reasons.iter().filter(|it| look::is_telling(it)).collect();
    for it in all.iter().take(lines_max) {
        let text = json::brief(&it.to_string()).into_owned();
        let text = if matches!(it.why, Why::Incident { .. }) { out.paint.red(text) } else { text };
        let whose = it.why.wait().map(|wait| format!("{} ", rows::address(instance.0, wait.0)));
        out.line(format!("  {}{text}", out.paint.bold(whose.unwrap_or_default())));
        if let Some(help) = help(instance, it, desk.data) {
            out.line(format!("    {}", out.paint.dim(help)));
        }
    }
    if all.len() > lines_max {
        let more = all.len() - lines_max;
        let whole = desk.command(&["show", &instance.to_string(), "--json"]);
        out.line(format!("  and {more} more; {whole} has them all"));
    }
}

/// Why a token rests, as data.
fn reason(instance: InstanceId, it: &Reason, store: &Path) -> Value {
    look::reason(instance, it, help(instance, it, store))
}

/// What would help: a command that can be copied, where there is one.
fn help(instance: InstanceId, it: &Reason, store: &Path) -> Option<String> {
    Some(match look::way_out(instance, it)? {
        WayOut::Command(words) => shell::command(&words, store),
        WayOut::Text(text) => text.to_owned(),
    })
}
