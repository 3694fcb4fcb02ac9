//! `travertine batches`: the same with many instances.

use std::{thread, time::Duration};

use anyhow::{Result, bail};
use travertine_data::batch as documents;
use travertine_runtime::{
    Batch, BatchItem, BatchOutcome, BatchStep, BatchWork, InstanceId, OWN, batch::BATCH,
};
use travertine_store::view::{Cursor, Filter, InstanceState, Query, Row, Table};
use travertine_value::{Map, Name, Value};

use super::{
    Desk,
    grid::{self, Cell, Tone},
};
use crate::{
    args::batch::{self as args, Operation},
    screen::Screen,
    status::Status,
};

const BATCHES: &[&str] =
    &["batch", "operation", "state", "seen", "total", "done", "refused", "gone", "who", "filter"];

const ITEMS: &[&str] = &["instance", "outcome", "code", "reason"];

/// How often to see how far a batch is.
const LOOK: Duration = Duration::from_millis(50);

/// How many refused instances people read about.
const LINES_MAX: u64 = 10;

pub(crate) fn list(desk: &Desk<'_>) -> Result<Status> {
    let all = desk.wait(desk.engine.batches())?;
    desk.tell(
        || documents::several(&all),
        |out| {
            if all.is_empty() {
                out.line("no batches");
                return;
            }
            grid::print(BATCHES, all.iter().map(|(id, it)| cells(*id, it)).collect(), out);
        },
    );
    Ok(Status::Done)
}

fn cells(id: InstanceId, it: &Batch) -> Vec<Cell> {
    let state = documents::state(it);
    let tone = match state {
        "completed" if it.refused == 0 => Tone::Good,
        "completed" | "cancelled" => Tone::Bad,
        _ => Tone::Plain,
    };
    let count = |it: u64| Cell::from(it.to_string());
    vec![
        id.to_string().into(),
        it.work.name().into(),
        Cell::new(state, tone),
        count(it.seen),
        count(it.total),
        count(it.done),
        count(it.refused),
        count(it.gone),
        it.who.as_deref().unwrap_or_default().into(),
        it.filter.as_str().into(),
    ]
}

fn found(batch: InstanceId, desk: &Desk<'_>) -> Result<Batch> {
    match desk.wait(desk.engine.find_batch(batch))? {
        Some(found) => Ok(found),
        None => bail!(
            "there is no batch {batch}, or it is forgotten; {} lists them",
            desk.command(&["batches"])
        ),
    }
}

pub(crate) fn show(args: &args::ShowBatch, desk: &Desk<'_>) -> Result<Status> {
    let it = found(args.batch, desk)?;
    let asked = desk.engine.batch_items(args.batch, args.after, args.limit, args.outcome);
    let page = desk.wait(asked)?.unwrap_or_default();
    desk.tell(
        || {
            let mut fields =
                documents::batch(args.batch, &it).as_map().cloned().unwrap_or_default();
            let items = documents::items(args.batch, &page);
            for name in ["items", "next"] {
                fields.insert(name.into(), items.field(name).cloned().unwrap_or(Value::Null));
            }
            fields.into()
        },
        |out| {
            line(args.batch, &it, out);
            if !page.items.is_empty() {
                grid::print(ITEMS, page.items.iter().map(item).collect(), out);
            }
            if let Some(next) = page.next {
                out.line(out.paint.dim(format!("more: --after {next}")));
            }
        },
    );
    Ok(Status::Done)
}

fn item(it: &BatchItem) -> Vec<Cell> {
    let tone = match it.outcome {
        BatchOutcome::Done => Tone::Good,
        BatchOutcome::Refused => Tone::Bad,
        BatchOutcome::Waiting | BatchOutcome::Gone | BatchOutcome::Skipped => Tone::Plain,
    };
    vec![
        it.instance.to_string().into(),
        Cell::new(it.outcome.name(), tone),
        it.code.as_deref().unwrap_or_default().into(),
        it.reason.as_deref().unwrap_or_default().into(),
    ]
}

/// How it stands with a batch.
fn line(id: InstanceId, it: &Batch, out: &Screen) {
    let title = out.paint.bold(format!("batch {id}"));
    let Batch { total, seen, done, refused, gone, .. } = it;
    let operation = it.work.name();
    let state = documents::state(it);
    out.line(format!(
        "{title}, {operation}: {state}, {seen} of {total}: {done} done, {refused} refused, {gone} gone"
    ));
}

pub(crate) fn pause(args: &args::OneBatch, desk: &Desk<'_>) -> Result<Status> {
    goes_on(args.batch, desk)?;
    let it = desk.wait(desk.engine.pause_batch(args.batch, true))?;
    told(args.batch, &it, desk)
}

pub(crate) fn resume(args: &args::OneBatch, desk: &Desk<'_>) -> Result<Status> {
    goes_on(args.batch, desk)?;
    let it = desk.wait(desk.engine.pause_batch(args.batch, false))?;
    if desk.is_shared() { told(args.batch, &it, desk) } else { over(args.batch, desk) }
}

pub(crate) fn cancel(args: &args::OneBatch, desk: &Desk<'_>) -> Result<Status> {
    goes_on(args.batch, desk)?;
    let it = desk.wait(desk.engine.cancel_batch(args.batch))?;
    told(args.batch, &it, desk)
}

pub(crate) fn forget(args: &args::OneBatch, desk: &Desk<'_>) -> Result<Status> {
    found(args.batch, desk)?;
    let it = desk.wait(desk.engine.forget_batch(args.batch))?;
    told(args.batch, &it, desk)
}

fn goes_on(batch: InstanceId, desk: &Desk<'_>) -> Result<()> {
    if found(batch, desk)?.ended.is_some() {
        bail!("batch {batch} is over");
    }
    Ok(())
}

fn told(id: InstanceId, it: &Batch, desk: &Desk<'_>) -> Result<Status> {
    desk.settle()?;
    desk.tell(|| documents::batch(id, it), |out| line(id, it, out));
    Ok(Status::Done)
}

pub(crate) fn begin(args: &args::BeginBatch, desk: &Desk<'_>) -> Result<Status> {
    let work = work(args, desk)?;
    let filter = args.filter.words();
    if filter.is_empty() && !args.filter.all {
        bail!("which instances? say --definition, --where or the like; --all means all");
    }
    let instances = meant(&work, &args.filter, desk)?;
    if args.dry_run {
        desk.tell(
            || documents::counted(&work, &filter, &instances),
            |out| {
                let count = grid::count(instances.len() as u64, "instance");
                out.line(format!("{} would be done with {count}", work.name()));
            },
        );
        return Ok(Status::Done);
    }
    if instances.is_empty() {
        bail!("no instance matches with which {} could do something", work.name());
    }
    let (per_second, paused) = (args.per_second, args.paused);
    let batch = Batch { filter, per_second, paused, ..Batch::new(work) };
    let id = desk.wait(desk.engine.begin_batch(batch, instances))?;
    // Where nobody else has the store open, nobody else would go on with it.
    if args.wait || !(desk.is_shared() || paused) {
        return over(id, desk);
    }
    told(id, &found(id, desk)?, desk)
}

/// Stays until a batch is over.
fn over(id: InstanceId, desk: &Desk<'_>) -> Result<Status> {
    let it = loop {
        let it = found(id, desk)?;
        if it.ended.is_some() || desk.is_left() {
            break it;
        }
        thread::sleep(LOOK);
    };
    let asked = desk.engine.batch_items(id, 0, LINES_MAX, Some(BatchOutcome::Refused));
    let refused = desk.wait(asked)?.unwrap_or_default();
    desk.tell(
        || documents::batch(id, &it),
        |out| {
            line(id, &it, out);
            for it in &refused.items {
                let reason = it.reason.as_deref().unwrap_or_default();
                out.line(format!("  {}: {reason}", out.paint.bold(it.instance)));
            }
            if it.refused > LINES_MAX {
                let more =
                    desk.command(&["batches", "show", &id.to_string(), "--outcome", "refused"]);
                out.line(out.paint.dim(format!("  and more; {more}")));
            }
        },
    );
    Ok(if it.refused > 0 { Status::Rejected } else { Status::Done })
}

fn work(args: &args::BeginBatch, desk: &Desk<'_>) -> Result<BatchWork> {
    let takes = |given: bool, operation: Operation, what: &str| {
        if given && args.operation != operation {
            bail!("{what} is not for this operation");
        }
        Ok(())
    };
    takes(args.variables.is_given(), Operation::Set, "--var")?;
    takes(args.to.is_some() || !args.map.is_empty(), Operation::Migrate, "--to or --map")?;
    let changes = !(args.moves.is_empty() && args.add.is_empty() && args.withdraw.is_empty());
    takes(changes, Operation::Modify, "--move, --add or --withdraw")?;
    Ok(match args.operation {
        Operation::Cancel => BatchWork::Cancel,
        Operation::Resolve => BatchWork::resolve(),
        Operation::Suspend => BatchWork::Suspend,
        Operation::Resume => BatchWork::Resume,
        Operation::Delete => BatchWork::Delete,
        Operation::Set => {
            let variables: Map = args.variables.given()?.into_iter().collect();
            if variables.is_empty() {
                bail!("there is nothing to set; write --var NAME=VALUE");
            }
            BatchWork::Set { variables: Value::from(variables).to_json() }
        }
        Operation::Migrate => {
            let Some(version) = args.to else { bail!("which version? write --to VERSION") };
            let named = args.to_definition.as_ref().or(args.filter.definition.as_ref());
            let Some(definition) = named else {
                bail!("of which definition? write --to-definition ID")
            };
            let definitions = desk.engine.definitions();
            if !definitions.versions(definition).iter().any(|it| it.version == version) {
                bail!("nothing is deployed as {definition} version {version}");
            }
            let mapping = args.map.iter();
            let mapping = mapping.map(|(from, to)| (from.to_string(), to.to_string())).collect();
            BatchWork::Migrate { definition: definition.clone(), version, mapping }
        }
        Operation::Modify => {
            if !changes {
                bail!("there is nothing to do; write --move, --add or --withdraw");
            }
            let moves = args.moves.iter().cloned();
            let moves = moves.map(|(from, to)| BatchStep::Move { from, to });
            let add = args.add.iter().cloned().map(|element| BatchStep::Add { element });
            let withdraw = args.withdraw.iter().cloned();
            let withdraw = withdraw.map(|element| BatchStep::Withdraw { element });
            BatchWork::Modify { steps: moves.chain(add).chain(withdraw).collect() }
        }
    })
}

/// The instances that match now.
fn meant(work: &BatchWork, args: &args::BatchFilter, desk: &Desk<'_>) -> Result<Vec<InstanceId>> {
    use InstanceState::{Cancelled, Completed, Failed, Halted, Running, Suspended};
    let possible = match work {
        BatchWork::Delete => vec![Completed, Failed, Cancelled],
        _ => vec![Running, Suspended, Halted],
    };
    let mut states = args.state.clone();
    states.retain(|it| possible.contains(it));
    if args.state.is_empty() {
        states = possible;
    }
    let mut filters = vec![Filter::State(states), Filter::NotDefinition(BATCH.into())];
    match &args.definition {
        Some(id) => filters.push(Filter::Definition(id.as_str().into())),
        None => filters.extend(OWN.map(|it| Filter::NotDefinition(it.into()))),
    }
    filters.extend(args.version.map(Filter::Version));
    filters.extend(args.incidents.then_some(Filter::HasIncidents(true)));
    filters.extend(desk.instance_of(args.caller.as_ref())?.map(|it| Filter::Parent(it.0)));
    filters.extend(args.top.then_some(Filter::TopLevel));
    filters.extend(args.since.map(|it| Filter::Started(Some(it), None)));
    for (name, value) in &args.holds {
        filters.push(Filter::Variable(Name::clone(name), value.to_json().into()));
    }
    let (mut all, mut after): (Vec<InstanceId>, Option<Cursor>) = (Vec::new(), None);
    loop {
        let query = Query {
            table: Table::Instances,
            filters: filters.clone(),
            descending: false,
            after: after.take(),
            limit: 1_000,
        };
        let page = desk.query(&query)?;
        all.extend(page.rows.iter().filter_map(|it| match it {
            Row::Instance(it) => Some(InstanceId(it.id)),
            _ => None,
        }));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}
