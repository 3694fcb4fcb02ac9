//! Batches: an operation on all that a filter finds. The filter itself is sent; what it finds is counted, and stays so.

use travertine_data::batch as documents;
use travertine_runtime::{Batch, BatchCause, BatchOutcome, BatchStep, BatchWork, InstanceId};
use travertine_value::{Map, Name, Value};

use super::{
    call::{Answer, Call, known, missing, wrong_field},
    instances,
    modify::{fields, list as listed},
    problem::Problem,
};
use crate::desk::Refusal;

/// What can be done.
const OPERATIONS: [&str; 8] =
    ["cancel", "resolve", "suspend", "resume", "migrate", "modify", "set", "delete"];

/// The most instances that can be named one by one.
const NAMED_MAX: usize = 1_000;

/// The most items of a page.
const ITEMS_MAX: u32 = 1_000;

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    Ok(Answer::Document(documents::several(&call.desk.batches().await?)))
}

fn id(call: &Call) -> Result<InstanceId, Problem> {
    let text = call.path("batch");
    let wrong = || Refusal::not_found(format!("there is no batch {text}, or it is forgotten"));
    Ok(text.parse().map_err(|_| wrong())?)
}

fn told(id: InstanceId, batch: &Batch) -> Answer {
    Answer::Document(documents::batch(id, batch))
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    Ok(told(id, &call.desk.batch(id).await?))
}

pub(super) async fn items(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    let words = BatchOutcome::ALL.map(BatchOutcome::name);
    let only = match call.parameter("outcome") {
        Some(word) => {
            known("outcome", word, &words)?;
            BatchOutcome::ALL.into_iter().find(|it| it.name() == word)
        }
        None => None,
    };
    let after = call.whole("after")?.unwrap_or(0);
    let limit = call.number("limit", 100, ITEMS_MAX)?;
    let page = call.desk.batch_items(id, after, limit.into(), only).await?;
    Ok(Answer::Document(documents::items(id, &page)))
}

pub(super) async fn pause(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    Ok(told(id, &call.desk.pause_batch(id, true).await?))
}

pub(super) async fn resume(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    Ok(told(id, &call.desk.pause_batch(id, false).await?))
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    Ok(told(id, &call.desk.cancel_batch(id).await?))
}

pub(super) async fn forget(call: Call) -> Result<Answer, Problem> {
    let id = id(&call)?;
    Ok(told(id, &call.desk.forget_batch(id).await?))
}

pub(super) async fn begin(mut call: Call) -> Result<Answer, Problem> {
    let work = work(&call)?;
    call.desk = call.desk.for_batch(&work)?;
    if let BatchWork::Migrate { definition, version, .. } = &work {
        call.desk.successor(definition, *version)?;
    }
    let per_second = call.count("per_second")?;
    let per_second = per_second.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    if per_second == Some(0) {
        return Err(Refusal::invalid(
            "the field per_second is a number from 1 on; to wait, say paused",
        )
        .into());
    }
    let (paused, dry_run) = (call.yes("paused")?, call.yes("dry_run")?);
    let (filter, instances, call) = meant(call, &work).await?;
    if dry_run {
        return Ok(Answer::Document(documents::counted(&work, &filter, &instances)));
    }
    if instances.is_empty() {
        let detail = format!("no instance matches with which {} could do something", work.name());
        return Err(Refusal::new(crate::desk::Outcome::InvalidState, detail).into());
    }
    let batch = Batch { filter, per_second, paused, ..Batch::new(work) };
    let (id, batch) = call.desk.begin_batch(batch, instances).await?;
    Ok(Answer::Made(documents::batch(id, &batch)))
}

/// The instances that are meant, and how they were named.
async fn meant(call: Call, work: &BatchWork) -> Result<(String, Vec<InstanceId>, Call), Problem> {
    if let Some(named) = call.field("instances") {
        if call.has("q") || call.has("filter") {
            let detail = "instances are named by filters or one by one, not by both";
            return Err(Refusal::invalid(detail).into());
        }
        let wrong = || wrong_field("instances", "a list of instances", named);
        let all = named.as_list().ok_or_else(wrong)?;
        if all.len() > NAMED_MAX {
            let detail =
                format!("at most {NAMED_MAX} instances are named one by one; say q or filter");
            return Err(Refusal::invalid(detail).into());
        }
        let mut instances = Vec::new();
        for it in all {
            let text = match it {
                Value::String(text) => text.as_ref().to_owned(),
                Value::Number(_) => it.to_json(),
                _ => return Err(wrong()),
            };
            instances.push(call.instance_called(&text).await?);
        }
        let count = instances.len();
        return Ok((format!("{count} instances, by name"), instances, call));
    }
    if !call.has("q") && !call.has("filter") {
        let detail = "which instances? say q, filter or instances; an empty filter means all";
        return Err(Refusal::invalid(detail).into());
    }
    let line = call.text("q")?;
    let filter = call.variables("filter")?;
    let mut words: Vec<String> = line.iter().map(ToString::to_string).collect();
    let shown = |(name, it): &(Name, Value)| {
        let text = it.as_str().map_or_else(|| it.to_json(), ToOwned::to_owned);
        format!("{name}={text}")
    };
    words.extend(filter.iter().map(shown));
    let mut call = call.with_parameters("filter", &instances::filters())?;
    if let Some(line) = line {
        call.set_parameter("q", &line)?;
    }
    let instances = instances::frozen(&call, work).await?;
    Ok((words.join(" "), instances, call))
}

/// What is to be done, with what that needs, and nothing that it does not.
fn work(call: &Call) -> Result<BatchWork, Problem> {
    let operation = call.needed("operation")?;
    known("operation", &operation, &OPERATIONS)?;
    let takes: &[&str] = match &*operation {
        "set" => &["variables"],
        "resolve" => &["variables", "element", "kind", "code"],
        "migrate" => &["definition", "version", "mapping"],
        "modify" => &["move", "add", "withdraw"],
        _ => &[],
    };
    let arguments = [
        "variables",
        "element",
        "kind",
        "code",
        "definition",
        "version",
        "mapping",
        "move",
        "add",
        "withdraw",
    ];
    if let Some(other) = arguments.into_iter().find(|it| call.has(it) && !takes.contains(it)) {
        return Err(Refusal::invalid(format!("the field {other} is not for {operation}")).into());
    }
    Ok(match &*operation {
        "cancel" => BatchWork::Cancel,
        "resolve" => {
            let only = BatchCause {
                element: call.text("element")?.map(|it| it.to_string()),
                kind: call.text("kind")?.map(|it| it.to_string()),
                code: call.text("code")?.map(|it| it.to_string()),
            };
            let variables: Map = call.variables("variables")?.into_iter().collect();
            BatchWork::Resolve { only, variables: Value::from(variables).to_json() }
        }
        "suspend" => BatchWork::Suspend,
        "resume" => BatchWork::Resume,
        "delete" => BatchWork::Delete,
        "set" => {
            let variables = call.variables("variables")?;
            if variables.is_empty() {
                return Err(missing("variables"));
            }
            let variables: Map = variables.into_iter().collect();
            BatchWork::Set { variables: Value::from(variables).to_json() }
        }
        "migrate" => {
            let version = call.count("version")?.ok_or_else(|| missing("version"))?;
            let mut mapping = Vec::new();
            for (from, to) in call.variables("mapping")? {
                let wrong = || wrong_field("mapping", "an object of ids", &to);
                mapping.push((from.to_string(), to.as_str().ok_or_else(wrong)?.to_owned()));
            }
            BatchWork::Migrate {
                definition: call.needed("definition")?.to_string(),
                version: u32::try_from(version).unwrap_or(u32::MAX),
                mapping,
            }
        }
        _ => BatchWork::Modify { steps: steps(call)? },
    })
}

fn steps(call: &Call) -> Result<Vec<BatchStep>, Problem> {
    let mut steps = Vec::new();
    for it in listed(call, "move")? {
        fields("move", it, &["from", "to"])?;
        steps.push(BatchStep::Move { from: element(it, "from")?, to: element(it, "to")? });
    }
    for it in listed(call, "add")? {
        fields("add", it, &["element"])?;
        steps.push(BatchStep::Add { element: element(it, "element")? });
    }
    for it in listed(call, "withdraw")? {
        let wrong = || wrong_field("withdraw", "a list of ids of elements", it);
        steps.push(BatchStep::Withdraw { element: it.as_str().ok_or_else(wrong)?.to_owned() });
    }
    if steps.is_empty() {
        return Err(Refusal::invalid("there is nothing to do: say move, add or withdraw").into());
    }
    Ok(steps)
}

fn element(of: &Value, name: &str) -> Result<String, Problem> {
    let it = of.field(name).ok_or_else(|| missing(name))?;
    let wrong = || wrong_field(name, "the id of an element", it);
    Ok(it.as_str().ok_or_else(wrong)?.to_owned())
}
