//! How often, and where: counts of stays at elements, and the flows that were taken.

use std::collections::BTreeMap;

use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Condition, InstanceColumn, LIMIT_MAX, Place, Search, Test},
    view::{Row, Table},
};
use travertine_value::Name;

use super::{Answer, Call};
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

/// What the running instances of a definition do.
pub(super) async fn of_definition(call: Call) -> Result<Answer, Refusal> {
    let definition = call.desk.definition(call.key()?)?;
    let mut counts: BTreeMap<Name, Count> = BTreeMap::new();
    let mut search = Search::of(Table::Elements)
        .with(Condition::of(InstanceColumn::DefinitionKey, Test::eq(definition.key)))
        .limit(LIMIT_MAX);
    loop {
        let found = call.desk.rows(search.clone()).await?;
        for row in &found.rows {
            let Row::Element(row) = row else { continue };
            let count = counts.entry(Name::clone(&row.element)).or_default();
            let which =
                if row.incident.is_some() { &mut count.incidents } else { &mut count.active };
            *which += 1;
        }
        match found.end.filter(|_| found.has_more) {
            Some(end) => search.place = Place::After(end),
            None => return Ok(answer(&counts)),
        }
    }
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
