//! What someone must look at: one by one, and by what has caused it.

use travertine_data::json;
use travertine_store::{
    search::{Column, Condition, IncidentColumn, InstanceColumn, Search, Test, Value as Cell},
    view::Table,
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    list::Listed,
    problem::Problem,
};

pub(super) static LIST: Listed = Listed {
    table: Table::Incidents,
    field: "incidents",
    columns: &[
        ("definition", Column::Instance(InstanceColumn::Definition)),
        ("version", Column::Instance(InstanceColumn::Version)),
        ("element", Column::Incident(IncidentColumn::Element)),
        ("kind", Column::Incident(IncidentColumn::Kind)),
        ("code", Column::Incident(IncidentColumn::Code)),
        ("message", Column::Incident(IncidentColumn::Message)),
        ("since", Column::Incident(IncidentColumn::Since)),
        ("ended", Column::Incident(IncidentColumn::Ended)),
        ("by", Column::Incident(IncidentColumn::By)),
    ],
    others: &["instance"],
    newest_first: false,
};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut search = LIST.search(&call)?;
    if let Some(instance) = call.instance_parameter("instance").await? {
        search.conditions.push(Condition::of(IncidentColumn::Instance, Test::eq(instance.0)));
    }
    LIST.answer(&call, search).await
}

/// Incidents that are alike: of the same element of the same definition, with the same kind and code. Each cause
/// has the message of one of them.
pub(super) async fn causes(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 100, 1_000)? as usize;
    let mut search = Search::of(Table::Incidents);
    if let Some(definition) = call.parameter("definition") {
        search.conditions.push(Condition::of(InstanceColumn::Definition, Test::eq(definition)));
    }
    let columns = [
        Column::Instance(InstanceColumn::Definition),
        Column::Instance(InstanceColumn::Version),
        Column::Incident(IncidentColumn::Element),
        Column::Incident(IncidentColumn::Kind),
        Column::Incident(IncidentColumn::Code),
    ];
    let mut groups = call.desk.tally(search.clone(), columns.to_vec()).await?;
    groups.sort_by_key(|it| std::cmp::Reverse(it.count));
    let count = groups.len() as u64;
    let mut documents = Vec::new();
    for group in groups.into_iter().take(limit) {
        let mut one = search.clone().limit(1).descending(IncidentColumn::Since);
        for (column, cell) in columns.iter().zip(&group.of) {
            let test = cell.clone().map_or(Test::Exists(false), Test::Eq);
            one.conditions.push(Condition::Is(*column, test));
        }
        let newest = call.desk.search(one).await?.rows.pop();
        let newest = newest.map_or(Value::Null, |it| super::list::document(&it));
        let text = |at: usize| match group.of.get(at) {
            Some(Some(Cell::Text(text))) => Value::from(Name::clone(text)),
            Some(Some(Cell::Number(number))) => (*number).into(),
            _ => Value::Null,
        };
        documents.push(json::object([
            ("definition", text(0)),
            ("version", text(1)),
            ("element", text(2)),
            ("kind", text(3)),
            ("code", text(4)),
            ("count", group.count.into()),
            ("newest", newest),
        ]));
    }
    Ok(Answer::Document(json::object([("causes", documents.into()), ("count", count.into())])))
}
