//! Lookup tables: files whose last column is a function of the others.

use std::{collections::HashMap, fmt};

use travertine_lang::bpmnos::Fault;
use travertine_value::{Name, Number, Value};

use crate::{
    model::Model,
    scenario::{Cell, cells},
};

/// The tables of a model.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    all: HashMap<Name, HashMap<Vec<Key>, Value>>,
}

/// A cell that something is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Number(Number),
    Text(String),
}

/// What is wrong with a table, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesError(String);

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TablesError {}

impl Tables {
    /// Reads the tables of a model; `text` gives the content of a file.
    pub fn read(
        model: &Model,
        mut text: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TablesError> {
        let mut all = HashMap::new();
        for (name, source) in &model.tables {
            let failed =
                |what: String| TablesError(format!("table {name}, {}: {what}", source.file));
            let content = text(&source.file).map_err(failed)?;
            let mut lines = content.lines().enumerate().filter(|(_, it)| !it.trim().is_empty());
            let header = lines.next().map(|(_, line)| cells(line)).unwrap_or_default();
            let header: Vec<String> = header.into_iter().map(|it| it.text).collect();
            if header != source.header {
                let (is, wants) = (header.join("; "), source.header.join("; "));
                return Err(failed(format!(
                    "its first line is `{is}`, and the model has `{wants}`"
                )));
            }
            let mut rows = HashMap::new();
            for (position, line) in lines {
                let mut row = cells(line);
                let number = position + 1;
                if row.len() != header.len() {
                    let (has, wants) = (row.len(), header.len());
                    return Err(failed(format!("line {number} has {has} cells, not {wants}")));
                }
                let value = row.pop().expect("a table has two columns or more");
                let keys = row.iter().map(|it| key(&cell(it))).collect();
                if rows.insert(keys, cell(&value)).is_some() {
                    return Err(failed(format!("line {number} has the key of a line before")));
                }
            }
            all.insert(Name::clone(name), rows);
        }
        Ok(Self { all })
    }

    /// What a table has under a key.
    pub(crate) fn look_up(&self, name: &str, keys: &[Value]) -> Result<Value, Fault> {
        let Some(rows) = self.all.get(name) else {
            return Err(Fault(format!("there is no function {name}")));
        };
        let found = rows.get(&keys.iter().map(key).collect::<Vec<_>>());
        found.cloned().ok_or_else(|| {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            Fault(format!("{name} has nothing for {}", keys.join(", ")))
        })
    }
}

/// A text that is a number finds the same as the number, for a file does not always tell them apart.
fn key(value: &Value) -> Key {
    match value {
        Value::Number(number) => Key::Number(*number),
        Value::Bool(holds) => Key::Number(i64::from(*holds).into()),
        Value::String(text) => {
            text.parse().map_or_else(|_| Key::Text(text.to_string()), Key::Number)
        }
        other => Key::Text(other.to_json()),
    }
}

/// A cell is a number, a truth value, or a text, as which it may be quoted.
fn cell(cell: &Cell) -> Value {
    match cell.text.as_str() {
        text if cell.is_quoted => text.into(),
        "true" => 1.into(),
        "false" => 0.into(),
        text => match text.parse::<Number>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
    }
}
