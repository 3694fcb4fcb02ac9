//! Batches: one operation on each of many instances.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use travertine_runtime::{Batch, BatchItem, BatchOutcome, BatchStep, BatchWork, InstanceId, Named};
use travertine_store::search::{Condition, InstanceColumn, LIMIT_MAX, Test, Value};

use super::{
    Answer, Call,
    instance::INSTANCES,
    list::{Holds, ListField, key_of},
    read::{WireKey, read},
    search::{Asked, key},
    write::Fields,
};
use crate::desk::{ANONYMOUS, Desk, Refusal, batch_key};

/// How many items a search may find: they are all in memory before a page is picked.
const FOUND_MAX: usize = 100_000;

/// Each kind of batch has a word of its own, except where there is none of ours.
const TYPES: &[&str] = &[
    "ADD_VARIABLE",
    "CANCEL_PROCESS_INSTANCE",
    "DELETE_DECISION_DEFINITION",
    "DELETE_DECISION_INSTANCE",
    "DELETE_PROCESS_DEFINITION",
    "DELETE_PROCESS_INSTANCE",
    "MIGRATE_PROCESS_INSTANCE",
    "MODIFY_PROCESS_INSTANCE",
    "RESOLVE_INCIDENT",
    "RESUME_PROCESS_INSTANCE",
    "SUSPEND_PROCESS_INSTANCE",
    "UPDATE_JOB",
    "UPDATE_VARIABLE",
];

const STATES: &[&str] =
    &["ACTIVE", "CANCELED", "COMPLETED", "CREATED", "FAILED", "PARTIALLY_COMPLETED", "SUSPENDED"];

const ITEM_STATES: &[&str] = &["ACTIVE", "CANCELED", "COMPLETED", "FAILED"];

fn kind(work: &BatchWork) -> &'static str {
    match work {
        BatchWork::Cancel => "CANCEL_PROCESS_INSTANCE",
        BatchWork::Resolve { .. } => "RESOLVE_INCIDENT",
        BatchWork::Suspend => "SUSPEND_PROCESS_INSTANCE",
        BatchWork::Resume => "RESUME_PROCESS_INSTANCE",
        BatchWork::Delete => "DELETE_PROCESS_INSTANCE",
        BatchWork::Set { .. } => "UPDATE_VARIABLE",
        BatchWork::Migrate { .. } => "MIGRATE_PROCESS_INSTANCE",
        BatchWork::Modify { .. } => "MODIFY_PROCESS_INSTANCE",
    }
}

fn state(it: &Batch) -> &'static str {
    match (it.ended, it.cancelled, it.paused) {
        (Some(_), true, _) => "CANCELED",
        (Some(_), false, _) => "COMPLETED",
        (None, false, true) => "SUSPENDED",
        (None, ..) => "ACTIVE",
    }
}

fn item_state(it: &BatchItem) -> &'static str {
    match it.outcome {
        BatchOutcome::Waiting => "ACTIVE",
        BatchOutcome::Done => "COMPLETED",
        BatchOutcome::Refused | BatchOutcome::Gone => "FAILED",
        BatchOutcome::Skipped => "CANCELED",
    }
}

/// Who has begun it, where that was asked.
fn who(it: &Batch) -> Option<&str> {
    it.who.as_deref().filter(|it| *it != ANONYMOUS)
}

fn actor(it: &Batch) -> &'static str {
    if who(it).is_some() { "USER" } else { "ANONYMOUS" }
}

/// Begins a batch with the instances that the filter of a body finds.
async fn begin(
    desk: &Desk,
    body: &[u8],
    work: BatchWork,
    besides: Option<Condition>,
) -> Result<Answer, Refusal> {
    #[derive(Deserialize)]
    struct Filter {
        filter: Option<Map<String, Json>>,
    }
    let Some(filter) = read::<Filter>(body)?.filter else {
        return Err(Refusal::invalid("which instances? say filter; an empty one means all"));
    };
    let mut search = Asked::read(body)?.search(&INSTANCES)?;
    search.conditions.extend(desk.only_processes());
    search.conditions.extend(besides);
    let search = Desk::only_possible(&work, search, true);
    let instances = desk.frozen(search).await?;
    let batch = Batch { filter: Json::Object(filter).to_string(), ..Batch::new(work) };
    let (id, batch) = desk.begin_batch(batch, instances).await?;
    Ok(Answer::object(|it| {
        it.key("batchOperationKey", Named::Instance(id));
        it.text("batchOperationType", kind(&batch.work));
    }))
}

/// Those that were called are ended by whoever has called them.
pub(super) async fn cancel_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let roots = Condition::of(InstanceColumn::Parent, Test::Exists(false));
    begin(&call.desk, &body, BatchWork::Cancel, Some(roots)).await
}

pub(super) async fn resolve_incidents(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let troubled = Condition::Any(vec![
        Condition::of(InstanceColumn::HasIncidents, Test::eq(true)),
        Condition::of(InstanceColumn::State, Test::eq("halted")),
    ]);
    begin(&call.desk, &body, BatchWork::resolve(), Some(troubled)).await
}

pub(super) async fn suspend_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    begin(&call.desk, &body, BatchWork::Suspend, None).await
}

pub(super) async fn resume_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    begin(&call.desk, &body, BatchWork::Resume, None).await
}

pub(super) async fn delete_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    begin(&call.desk, &body, BatchWork::Delete, None).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MigrateBody {
    migration_plan: Plan,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    target_process_definition_key: WireKey,
    mapping_instructions: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    source_element_id: String,
    target_element_id: String,
}

pub(super) async fn migrate_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let MigrateBody { migration_plan: plan } = read(&body)?;
    let WireKey(to) = plan.target_process_definition_key;
    let to = call.desk.definition(to)?;
    let mapping = plan.mapping_instructions.into_iter();
    let work = BatchWork::Migrate {
        definition: to.id.to_string(),
        version: to.version,
        mapping: mapping.map(|it| (it.source_element_id, it.target_element_id)).collect(),
    };
    begin(&call.desk, &body, work, None).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModifyBody {
    move_instructions: Vec<Pair>,
}

pub(super) async fn modify_instances(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let ModifyBody { move_instructions: moves } = read(&body)?;
    if moves.is_empty() {
        return Err(Refusal::invalid("there is nothing to do: say moveInstructions"));
    }
    let steps = moves.into_iter();
    let steps =
        steps.map(|it| BatchStep::Move { from: it.source_element_id, to: it.target_element_id });
    begin(&call.desk, &body, BatchWork::Modify { steps: steps.collect() }, None).await
}

type Item = (InstanceId, Batch);

fn batch(it: &mut Fields<'_>, (id, batch): &Item) {
    it.key("batchOperationKey", Named::Instance(*id));
    it.text("state", state(batch));
    it.text("batchOperationType", kind(&batch.work));
    it.date("startDate", batch.began);
    it.date_or_null("endDate", batch.ended);
    it.text("actorType", actor(batch));
    it.text_or_null("actorId", who(batch));
    let count = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    it.int("operationsTotalCount", count(batch.total));
    it.int("operationsFailedCount", count(batch.refused + batch.gone));
    it.int("operationsCompletedCount", count(batch.done));
    // What is wrong with one instance is told with it; a batch is never wrong as a whole.
    it.list("errors", std::iter::empty::<()>(), |_, ()| {});
}

pub(super) async fn batch_by_key(call: Call) -> Result<Answer, Refusal> {
    let id = batch_key(call.key()?)?;
    let found = (id, call.desk.batch(id).await?);
    Ok(Answer::object(|it| batch(it, &found)))
}

fn word(it: &'static str) -> Value {
    Value::from(it)
}

const BATCHES: &[ListField<Item>] = &[
    ListField {
        name: "batchOperationKey",
        holds: Holds::Key,
        filters: true,
        sorts: true,
        value: |(id, _)| key_of(Named::Instance(*id)),
    },
    ListField {
        name: "operationType",
        holds: Holds::Word(TYPES),
        filters: true,
        sorts: true,
        value: |(_, it)| Some(word(kind(&it.work))),
    },
    ListField {
        name: "state",
        holds: Holds::Word(STATES),
        filters: true,
        sorts: true,
        value: |(_, it)| Some(word(state(it))),
    },
    ListField {
        name: "actorType",
        holds: Holds::Word(&["ANONYMOUS", "CLIENT", "UNKNOWN", "USER"]),
        filters: true,
        sorts: true,
        value: |(_, it)| Some(word(actor(it))),
    },
    ListField {
        name: "actorId",
        holds: Holds::Text,
        filters: true,
        sorts: true,
        value: |(_, it)| who(it).map(Value::from),
    },
    ListField {
        name: "startDate",
        holds: Holds::Date,
        filters: false,
        sorts: true,
        value: |(_, it)| Some(Value::Time(it.began)),
    },
    ListField {
        name: "endDate",
        holds: Holds::Date,
        filters: false,
        sorts: true,
        value: |(_, it)| it.ended.map(Value::Time),
    },
];

pub(super) async fn search_batches(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let all = call.desk.batches().await?;
    let picker = Asked::read(&body)?.picker(BATCHES)?;
    let listed = picker.pick(all, |(id, _)| Named::Instance(*id)).await?;
    Ok(listed.answer(batch))
}

pub(super) async fn cancel_batch(call: Call) -> Result<Answer, Refusal> {
    call.desk.cancel_batch(batch_key(call.key()?)?).await?;
    Ok(Answer::Done)
}

pub(super) async fn suspend_batch(call: Call) -> Result<Answer, Refusal> {
    call.desk.pause_batch(batch_key(call.key()?)?, true).await?;
    Ok(Answer::Done)
}

pub(super) async fn resume_batch(call: Call) -> Result<Answer, Refusal> {
    call.desk.pause_batch(batch_key(call.key()?)?, false).await?;
    Ok(Answer::Done)
}

/// One instance of a batch.
struct Of {
    batch: InstanceId,
    kind: &'static str,
    item: BatchItem,
}

fn instance(it: &Of) -> Option<Value> {
    key_of(Named::Instance(InstanceId(it.item.instance)))
}

const ITEMS: &[ListField<Of>] = &[
    ListField {
        name: "batchOperationKey",
        holds: Holds::Key,
        filters: true,
        sorts: true,
        value: |it| key_of(Named::Instance(it.batch)),
    },
    ListField { name: "itemKey", holds: Holds::Key, filters: true, sorts: true, value: instance },
    ListField {
        name: "processInstanceKey",
        holds: Holds::Key,
        filters: true,
        sorts: true,
        value: instance,
    },
    ListField {
        name: "state",
        holds: Holds::Word(ITEM_STATES),
        filters: true,
        sorts: true,
        value: |it| Some(word(item_state(&it.item))),
    },
    ListField {
        name: "operationType",
        holds: Holds::Word(TYPES),
        filters: true,
        sorts: false,
        value: |it| Some(word(it.kind)),
    },
    ListField {
        name: "processedDate",
        holds: Holds::Date,
        filters: false,
        sorts: true,
        value: |it| it.item.at.map(Value::Time),
    },
];

/// The batch that a filter is about; all, where it names none.
fn named(body: &[u8]) -> Result<Option<InstanceId>, Refusal> {
    #[derive(Default, Deserialize)]
    struct Body {
        filter: Option<Map<String, Json>>,
    }
    let Body { filter } = super::read::read_if_any(body)?;
    let wanted = filter.as_ref().and_then(|it| it.get("batchOperationKey"));
    let wanted = match wanted {
        Some(Json::Object(operators)) => operators.get("$eq"),
        other => other,
    };
    let Some(wanted) = wanted.filter(|it| !it.is_null()) else { return Ok(None) };
    key("batchOperationKey", wanted).map(|it| batch_key(it).ok())
}

pub(super) async fn search_items(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let picker = Asked::read(&body)?.picker(ITEMS)?;
    let mut batches = call.desk.batches().await?;
    if let Some(only) = named(&body)? {
        batches.retain(|(id, _)| *id == only);
    }
    let mut all = Vec::new();
    for (id, batch) in batches {
        let mut after = Some(0);
        while let Some(from) = after {
            let page = call.desk.batch_items(id, from, LIMIT_MAX.into(), None).await?;
            let kind = kind(&batch.work);
            let items = page.items.into_iter().map(|item| Of { batch: id, kind, item });
            all.extend(items.filter(|it| picker.has(it)));
            if all.len() > FOUND_MAX {
                return Err(Refusal::invalid(format!(
                    "more than {FOUND_MAX} items match: name the batchOperationKey and a state, or read them in pages \
                     at /api/1/batches/{id}/items"
                )));
            }
            after = page.next;
        }
    }
    let listed = picker.pick(all, |it| Named::Visit(it.batch, it.item.instance)).await?;
    Ok(listed.answer(|it, of: &Of| {
        let instance = Named::Instance(InstanceId(of.item.instance));
        it.text("operationType", of.kind);
        it.key("batchOperationKey", Named::Instance(of.batch));
        it.key("itemKey", instance);
        it.key("processInstanceKey", instance);
        it.null("rootProcessInstanceKey");
        it.text("state", item_state(&of.item));
        it.date_or_null("processedDate", of.item.at);
        it.text_or_null("errorMessage", of.item.reason.as_deref());
    }))
}
