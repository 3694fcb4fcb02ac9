//! Commands that list rows, a page at a time.

use anyhow::Result;
use travertine_runtime::OWN;
use travertine_store::view::{Filter, JobState, Query, Table};
use travertine_value::{Name, Value};

use super::{Desk, grid, rows};
use crate::{
    args::{store as args, store::Paging, words},
    json,
    status::Status,
};

/// What a list is called, and its columns.
struct Kind {
    table: Table,
    field: &'static str,
    heads: &'static [&'static str],
    /// Which rows of the table it is about.
    only: Option<Filter>,
}

fn named(text: Option<&String>, filter: impl Fn(Name) -> Filter) -> Option<Filter> {
    text.map(|it| filter(it.as_str().into()))
}

/// Whether schedules and batches are left out, which have lists of their own: unless someone asks for just them.
fn hides_own(args: &args::Instances) -> bool {
    !args.all && args.definition.is_none() && args.id.is_none() && args.caller.is_none()
}

pub(crate) fn instances(args: &args::Instances, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(named(args.definition.as_ref(), Filter::Definition));
    if hides_own(args) {
        filters.extend(OWN.map(|it| Filter::NotDefinition(it.into())));
    }
    filters.extend(args.version.map(Filter::Version));
    filters.extend((!args.state.is_empty()).then(|| Filter::State(args.state.clone())));
    filters.extend(named(args.id.as_ref(), Filter::BusinessId));
    filters.extend(args.incidents.then_some(Filter::HasIncidents(true)));
    filters.extend(desk.instance_of(args.caller.as_ref())?.map(|it| Filter::Parent(it.0)));
    filters.extend(args.top.then_some(Filter::TopLevel));
    filters.extend(args.since.map(|it| Filter::Started(Some(it), None)));
    for (name, value) in &args.vars {
        filters.push(Filter::Variable(Name::clone(name), value.to_json().into()));
    }
    let kind =
        Kind { table: Table::Instances, field: "instances", heads: rows::INSTANCES, only: None };
    page(&kind, filters, !args.oldest, &args.paging, desk)
}

pub(crate) fn jobs(args: &args::Jobs, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(desk.instance_of(args.instance.as_ref())?.map(|it| Filter::Instance(it.0)));
    filters.extend(named(args.definition.as_ref(), Filter::Definition));
    filters.extend(named(args.job_type.as_ref(), Filter::JobType));
    filters.extend(args.state.map(Filter::JobState));
    let past = args.past || args.state.is_some_and(JobState::is_past);
    let table = if past { Table::PastJobs } else { Table::Jobs };
    let kind = Kind { table, field: "jobs", heads: rows::JOBS, only: None };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn tasks(args: &args::Tasks, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(desk.instance_of(args.instance.as_ref())?.map(|it| Filter::Instance(it.0)));
    filters.extend(named(args.definition.as_ref(), Filter::Definition));
    filters.extend(named(args.assignee.as_ref(), Filter::Assignee));
    filters.extend(args.unassigned.then_some(Filter::Unassigned));
    filters.extend(named(args.user.as_ref(), Filter::CandidateUser));
    filters.extend(named(args.group.as_ref(), Filter::CandidateGroup));
    let table = if args.past { Table::PastTasks } else { Table::Tasks };
    let kind = Kind { table, field: "tasks", heads: rows::TASKS, only: None };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn timers(args: &args::TimerList, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(desk.instance_of(args.instance.as_ref())?.map(|it| Filter::Instance(it.0)));
    filters.extend(named(args.definition.as_ref(), Filter::Definition));
    filters.extend(args.before.map(|it| Filter::Due(None, Some(it))));
    let kind = Kind { table: Table::Timers, field: "timers", heads: rows::TIMERS, only: None };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn incidents(args: &args::Incidents, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(desk.instance_of(args.instance.as_ref())?.map(|it| Filter::Instance(it.0)));
    filters.extend(named(args.definition.as_ref(), Filter::Definition));
    let table = if args.past { Table::PastIncidents } else { Table::Incidents };
    let kind = Kind { table, field: "incidents", heads: rows::INCIDENTS, only: None };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn messages(args: &args::Messages, desk: &Desk<'_>) -> Result<Status> {
    let filters = named(args.name.as_ref(), Filter::Named).into_iter().collect();
    let (heads, only) = (rows::MESSAGES, Some(Filter::Dead(false)));
    let kind = Kind { table: Table::Messages, field: "messages", heads, only };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn dead_letters(args: &args::DeadLetterList, desk: &Desk<'_>) -> Result<Status> {
    let filters = named(args.name.as_ref(), Filter::Named).into_iter().collect();
    let (heads, only) = (rows::DEAD_LETTERS, Some(Filter::Dead(true)));
    let kind = Kind { table: Table::Messages, field: "dead_letters", heads, only };
    page(&kind, filters, false, &args.paging, desk)
}

pub(crate) fn subscriptions(args: &args::Subscriptions, desk: &Desk<'_>) -> Result<Status> {
    let mut filters: Vec<Filter> = Vec::new();
    filters.extend(named(args.name.as_ref(), Filter::Named));
    filters.extend(desk.instance_of(args.instance.as_ref())?.map(|it| Filter::Instance(it.0)));
    let heads = rows::SUBSCRIPTIONS;
    let kind = Kind { table: Table::Subscriptions, field: "subscriptions", heads, only: None };
    page(&kind, filters, false, &args.paging, desk)
}

fn page(
    kind: &Kind,
    filters: Vec<Filter>,
    descending: bool,
    paging: &Paging,
    desk: &Desk<'_>,
) -> Result<Status> {
    let after = paging.after.clone();
    let narrows = |it: &Filter| !matches!(it, Filter::NotDefinition(_));
    let is_plain = !filters.iter().any(narrows) && after.is_none();
    let filters = filters.into_iter().chain(kind.only.clone()).collect();
    let query = Query { table: kind.table, filters, descending, after, limit: paging.limit };
    let page = desk.query(&query)?;
    let next = page.next.as_ref().map(words::of_cursor);
    desk.tell(
        || {
            let rows: Value = page.rows.iter().map(rows::data).collect();
            json::object([(kind.field, rows), ("next", next.clone().into())])
        },
        |out| {
            if page.rows.is_empty() {
                let such = if is_plain { "" } else { "such " };
                out.line(format!("no {such}{}", kind.field.replace('_', " ")));
                return;
            }
            let cells = page.rows.iter().map(|it| rows::cells(it, desk.now())).collect();
            grid::print(kind.heads, cells, out);
            if let Some(next) = &next {
                out.line(out.paint.dim(format!("there are more: --after {next}")));
            }
        },
    );
    Ok(Status::Done)
}
