//! What SQLite says in words of its own.

use crate::{
    search::Pattern,
    sql::{Cell, Dialect},
};

/// The words of SQLite.
#[derive(Debug)]
pub(super) struct InSqlite;

impl Dialect for InSqlite {
    fn place(&self, values: &mut Vec<Cell>, value: Cell) -> String {
        values.push(value);
        format!("?{}", values.len())
    }

    fn same(&self) -> &'static str {
        "IS"
    }

    fn other(&self) -> &'static str {
        "IS NOT"
    }

    fn truth(&self, expression: &str) -> String {
        format!("({expression})")
    }

    fn empty_first(&self, _descending: bool) -> &'static str {
        // They do anyway.
        ""
    }

    fn like(&self, values: &mut Vec<Cell>, column: &str, pattern: &Pattern) -> String {
        let place = self.place(values, Cell::Text(pattern.to_glob()));
        // SQLite reads texts up to the first NUL here.
        format!("({column} GLOB {place} AND instr({column}, char(0)) = 0)")
    }

    fn texts(&self, column: &str) -> String {
        format!("(SELECT value FROM json_each({column}) WHERE type = 'text')")
    }
}
