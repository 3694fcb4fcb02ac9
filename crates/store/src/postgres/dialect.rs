//! What PostgreSQL says in words of its own.

use super::{
    schema,
    text::{escape, one},
};
use crate::{
    search::{Column, Kind, Pattern, Test, Value},
    sql::{Cell, Dialect, search},
};

/// So many characters of a text are in an index.
const SOUGHT: usize = 200;

/// A text as indexes have it: its beginning, because an entry of an index has a greatest size.
pub(super) fn left(column: &str) -> String {
    format!("left({column}, {SOUGHT})")
}

/// The beginning of a text as indexes have it.
pub(super) fn beginning(text: &str) -> String {
    escape(text).chars().take(SOUGHT).collect()
}

/// The name of the column that has the beginnings of the texts of a list, as an index has them.
pub(super) fn beginnings(list: &str) -> String {
    format!("{list}_sought")
}

/// The name of the column that has what only JSON says in a row; nothing where the row says it itself.
pub(super) fn worked_out(column: Column) -> Option<String> {
    let spec = column.spec();
    let is = spec.kind == Kind::List || spec.sql[0].contains("json");
    is.then(|| format!("x_{}", spec.name.replace([' ', '-'], "_")))
}

/// The words of PostgreSQL.
#[derive(Debug)]
pub(super) struct InPostgres;

impl Dialect for InPostgres {
    fn place(&self, values: &mut Vec<Cell>, value: Cell) -> String {
        let (kind, value) = match value {
            Cell::Null => return String::from("NULL"),
            Cell::Text(text) => ("text", Cell::Text(escape(&text).into_owned())),
            Cell::Blob(bytes) => ("bytea", Cell::Blob(bytes)),
            number @ (Cell::Integer(_) | Cell::Real(_)) => ("bigint", number),
        };
        values.push(value);
        format!("${}::{kind}", values.len())
    }

    fn columns(&self, column: Column, alias: &str) -> Vec<String> {
        match worked_out(column) {
            Some(name) => vec![format!("{alias}.{name}")],
            None => search::expressions(column, alias),
        }
    }

    fn same(&self) -> &'static str {
        "IS NOT DISTINCT FROM"
    }

    fn other(&self) -> &'static str {
        "IS DISTINCT FROM"
    }

    fn truth(&self, expression: &str) -> String {
        format!("({expression})::int")
    }

    fn empty_first(&self, descending: bool) -> &'static str {
        if descending { " NULLS LAST" } else { " NULLS FIRST" }
    }

    fn like(&self, values: &mut Vec<Cell>, column: &str, pattern: &Pattern) -> String {
        let mut place = |text: String| {
            values.push(Cell::Text(text));
            format!("${}::text", values.len())
        };
        let sound = format!("position(chr(1) || chr(1) IN {column}) = 0");
        if pattern.has_one() {
            // What leaves a character open must not count what stands for one as two.
            let place = place(pattern.to_like(String::from));
            format!("({sound} AND replace({column}, chr(1) || chr(2), chr(1)) LIKE {place})")
        } else {
            let place = place(pattern.to_like(one));
            format!("({column} LIKE {place} AND {sound})")
        }
    }

    fn texts(&self, column: &str) -> String {
        format!("unnest({column}) AS list(value)")
    }

    fn hint(
        &self,
        values: &mut Vec<Cell>,
        column: Column,
        said: &str,
        test: &Test,
    ) -> Option<String> {
        let mut place = |text: String| {
            values.push(Cell::Text(text));
            format!("${}::text", values.len())
        };
        if column.kind() == Kind::List {
            let Test::Eq(Value::Text(text)) = test else { return None };
            return Some(format!("{} @> ARRAY[{}]", beginnings(said), place(beginning(text))));
        }
        let name = said.split_once('.')?.1;
        if !matches!(column.kind(), Kind::Text | Kind::LongText)
            || !schema::shape(column.table()).is_sought(name)
        {
            return None;
        }
        let said = left(said);
        let text = |it: &Value| if let Value::Text(it) = it { Some(beginning(it)) } else { None };
        match test {
            Test::Eq(value) => Some(format!("{said} = {}", place(text(value)?))),
            Test::In(values) if !values.is_empty() => {
                let places: Option<Vec<String>> =
                    values.iter().map(|it| Some(place(text(it)?))).collect();
                Some(format!("{said} IN ({})", places?.join(", ")))
            }
            Test::Like(pattern) => {
                Some(format!("{said} LIKE {}", place(pattern.begins_like(SOUGHT / 2, one)?)))
            }
            Test::Exists(true) => Some(format!("{said} IS NOT NULL")),
            Test::Exists(false) => Some(format!("{said} IS NULL")),
            Test::Neq(_)
            | Test::NotIn(_)
            | Test::In(_)
            | Test::Gt(_)
            | Test::Gte(_)
            | Test::Lt(_)
            | Test::Lte(_) => None,
        }
    }

    fn length(&self, text: &str) -> usize {
        escape(text).chars().count()
    }
}
