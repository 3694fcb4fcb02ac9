//! What came of a decision, as data.

use travertine_dmn::{EvaluatedColumn, EvaluatedDecision, EvaluatedTable, MatchedRule, Problem};
use travertine_value::{Name, Value};

use crate::json;

/// A decision that was made on the way.
pub fn decision(decision: &EvaluatedDecision) -> Value {
    json::object([
        ("name", Name::clone(&decision.name).into()),
        ("id", decision.id.as_deref().into()),
        ("value", decision.value.to_value()),
        ("tables", decision.tables.iter().map(table_data).collect()),
    ])
}

fn table_data(table: &EvaluatedTable) -> Value {
    let rule = |it: &MatchedRule| {
        json::object([("rule", it.number.into()), ("outputs", named(&it.outputs))])
    };
    json::object([
        ("inputs", named(&table.inputs)),
        ("rules", table.rules.iter().map(rule).collect()),
    ])
}

fn named(values: &[EvaluatedColumn]) -> Value {
    values.iter().map(|it| (Name::clone(&it.name), it.value.to_value())).collect()
}

/// What became null, and why.
pub fn problem(problem: &Problem) -> Value {
    let Problem { decision, file, line, column, message } = problem;
    json::object([
        ("decision", decision.clone().into()),
        ("file", file.clone().into()),
        ("line", (*line).into()),
        ("column", (*column).into()),
        ("message", message.as_str().into()),
    ])
}
