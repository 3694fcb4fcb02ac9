//! What came of a decision, for people and as data.

use travertine_dmn::{DecisionResult, EvaluatedTable, Invocable, MatchedRule};
use travertine_lang::feel::FeelValue;
use travertine_value::{Name, Value};

use crate::{feel, json, paint::Paint, screen::Screen, status::Status};

/// How much of a value is shown in a table.
const CELL_CHARS_MAX: usize = 40;

/// Each table that was evaluated, and then the result.
pub(super) fn text(invocable: &Invocable, result: &DecisionResult, out: &Screen) {
    for decision in result.decisions.iter().filter(|it| !it.tables.is_empty()) {
        out.line(out.paint.bold(&decision.name));
        for it in &decision.tables {
            table(it, out);
        }
        out.line("");
    }
    let name = out.paint.bold(&invocable.name);
    out.lines(format!("{name} = {}", feel::pretty(&result.value)));
}

/// A row for each rule that matched: its number, the inputs, the outputs.
fn table(table: &EvaluatedTable, out: &Screen) {
    let paint = out.paint;
    let outputs: Vec<&Name> = table
        .rules
        .first()
        .map_or_else(Vec::new, |it| it.outputs.iter().map(|it| &it.name).collect());
    let mut head = vec!["rule".to_owned()];
    head.extend(table.inputs.iter().map(|it| cut(&it.name)));
    if !outputs.is_empty() {
        head.push("→".to_owned());
    }
    head.extend(outputs.iter().map(|it| cut(it)));
    let mut rows = vec![head];
    for MatchedRule { number, outputs, .. } in &table.rules {
        let mut row = vec![number.to_string()];
        row.extend(table.inputs.iter().map(|it| cell(&it.value)));
        row.push("→".to_owned());
        row.extend(outputs.iter().map(|it| cell(&it.value)));
        rows.push(row);
    }
    if table.rules.is_empty() {
        let mut row = vec!["none".to_owned()];
        row.extend(table.inputs.iter().map(|it| cell(&it.value)));
        rows.push(row);
    }
    for (index, line) in aligned(&rows).into_iter().enumerate() {
        out.line(if index == 0 { head_line(&line, paint) } else { format!("  {line}") });
    }
}

fn head_line(line: &str, paint: Paint) -> String {
    format!("  {}", paint.dim(line))
}

/// The rows with their cells below each other.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn cell(value: &FeelValue) -> String {
    cut(&feel::line(value))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Everything as data.
pub(super) fn data(invocable: &Invocable, result: &DecisionResult, status: Status) -> Value {
    let outcome = if status == Status::Done { "decided" } else { "failed" };
    json::object([
        ("outcome", outcome.into()),
        ("exit_status", u32::from(status.code()).into()),
        ("decision", Name::clone(&invocable.name).into()),
        ("id", invocable.id.as_deref().into()),
        ("value", result.value.to_value()),
        ("decisions", result.decisions.iter().map(travertine_data::decided::decision).collect()),
        ("problems", result.problems.iter().map(travertine_data::decided::problem).collect()),
    ])
}
