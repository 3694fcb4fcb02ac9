//! How often, and where: counts of stays at elements, and the flows that were taken.

use std::collections::BTreeMap;

use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Condition, ElementColumn, InstanceColumn, Tally, Test, Value},
    view::Table,
};
use travertine_value::Name;

use super::{
    Answer, Call,
    instance::INSTANCES,
    search::{Asked, Resource},
};
use crate::desk::{Refusal, Stay, StayState};

#[derive(Default)]
struct Count {
    active: i64,
    canceled: i64,
    incidents: i64,
    completed: i64,
}

fn answer(counts: &BTreeMap<Name, Count>) -> Answer {
    Answer::object(|it| {
        it.list("items", counts, |it, (element, count)| {
            it.text("elementId", element);
            it.int("active", count.active);
            it.int("canceled", count.canceled);
            it.int("incidents", count.incidents);
            it.int("completed", count.completed);
        });
    })
}

/// What an instance does and has done.
pub(super) async fn of_instance(call: Call) -> Result<Answer, Refusal> {
    let row = call.desk.instance(call.key()?).await?;
    let way = call.desk.way(InstanceId(row.id)).await?;
    let mut counts: BTreeMap<Name, Count> = BTreeMap::new();
    for Stay { element, state, incident, .. } in way.stays {
        let count = counts.entry(element).or_default();
        match state {
            StayState::Active if incident.is_some() => count.incidents += 1,
            StayState::Active => count.active += 1,
            StayState::Completed => count.completed += 1,
            StayState::Terminated => count.canceled += 1,
        }
    }
    Ok(answer(&counts))
}

/// What the running instances of a definition do: those that pass a filter of instances.
pub(super) async fn of_definition(mut call: Call) -> Result<Answer, Refusal> {
    let definition = call.desk.definition(call.key()?)?;
    let body = call.body().await?;
    let of = Resource { table: Table::Elements, filters: INSTANCES.filters, sorts: &[] };
    let of = Asked::read(&body)?.search(&of)?;
    let of = of.with(Condition::of(InstanceColumn::DefinitionKey, Test::eq(definition.key)));
    let mut counts: BTreeMap<Name, Count> = BTreeMap::new();
    for with_incident in [false, true] {
        let has = Condition::of(ElementColumn::Incident, Test::Exists(with_incident));
        let by = vec![ElementColumn::Element.into()];
        for Tally { of, count } in call.desk.tally(of.clone().with(has), by).await? {
            let Some(Some(Value::Text(element))) = of.into_iter().next() else { continue };
            let counts = counts.entry(element).or_default();
            let which = if with_incident { &mut counts.incidents } else { &mut counts.active };
            *which += i64::try_from(count).unwrap_or(i64::MAX);
        }
    }
    Ok(answer(&counts))
}

/// The flows that an instance has taken.
pub(super) async fn flows(call: Call) -> Result<Answer, Refusal> {
    let row = call.desk.instance(call.key()?).await?;
    let way = call.desk.way(InstanceId(row.id)).await?;
    Ok(Answer::object(|it| {
        it.list("items", &way.flows, |it, flow| {
            it.text("sequenceFlowId", &format!("{}_{flow}", row.id));
            it.key("processInstanceKey", Named::Instance(InstanceId(row.id)));
            it.key("rootProcessInstanceKey", Named::Instance(InstanceId(row.root)));
            it.key("processDefinitionKey", Named::Definition(row.definition_key));
            it.text("processDefinitionId", &row.definition);
            it.text("elementId", flow);
            it.tenant();
        });
    }))
}
