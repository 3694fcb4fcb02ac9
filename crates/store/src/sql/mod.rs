//! What all databases that keep the views have in common: the tables, their rows, and searches as SQL.

pub(crate) mod rows;
pub(crate) mod search;

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use travertine_value::time::Timestamp;

use crate::{
    DefinitionKey, InstanceId,
    search::{Column, Pattern, Test},
};

/// What a column of a row holds.
pub(crate) type Cell = rusqlite::types::Value;

/// A row as a database gives it.
pub(crate) trait Cells {
    /// What stands in a column.
    fn get_ref(&self, column: usize) -> rusqlite::Result<ValueRef<'_>>;

    /// What stands in a column, as a value of some type.
    fn get<T: FromSql>(&self, column: usize) -> rusqlite::Result<T>;

    /// The time in a column.
    fn time(&self, column: usize) -> rusqlite::Result<Timestamp> {
        self.get(column).map(Timestamp::from_millis)
    }

    /// The time in a column, where there is one.
    fn maybe_time(&self, column: usize) -> rusqlite::Result<Option<Timestamp>> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp::from_millis))
    }
}

/// Parameters of a statement, by their places from 1.
pub(crate) trait Places {
    /// Puts a value there.
    fn put<T: ToSql>(&mut self, place: usize, value: &T) -> rusqlite::Result<()>;
}

/// Ids that are numbers in a table.
macro_rules! numbers {
    ($($id:ident),*) => {
        $(
            impl ToSql for $id {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    self.0.to_sql()
                }
            }

            impl FromSql for $id {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    u64::column_result(value).map($id)
                }
            }
        )*
    };
}

numbers!(DefinitionKey, InstanceId);

impl Cells for rusqlite::Row<'_> {
    fn get_ref(&self, column: usize) -> rusqlite::Result<ValueRef<'_>> {
        rusqlite::Row::get_ref(self, column)
    }

    fn get<T: FromSql>(&self, column: usize) -> rusqlite::Result<T> {
        rusqlite::Row::get(self, column)
    }
}

impl Places for rusqlite::Statement<'_> {
    fn put<T: ToSql>(&mut self, place: usize, value: &T) -> rusqlite::Result<()> {
        self.raw_bind_parameter(place, value)
    }
}

/// What databases say in words of their own.
pub(crate) trait Dialect: Sync {
    /// The next parameter as it stands in the text, whose value goes to the others.
    fn place(&self, values: &mut Vec<Cell>, value: Cell) -> String;

    /// How the row of a table says what is in a column; two expressions for a key.
    fn columns(&self, column: Column, alias: &str) -> Vec<String> {
        search::expressions(column, alias)
    }

    /// Between two values that are the same, or both empty.
    fn same(&self) -> &'static str;

    /// Between two that are not.
    fn other(&self) -> &'static str;

    /// What is true or not as a number.
    fn truth(&self, expression: &str) -> String;

    /// What has it that empty values come first; last, where it is descending.
    fn empty_first(&self, descending: bool) -> &'static str;

    /// Whether a text in a column is like the pattern.
    fn like(&self, values: &mut Vec<Cell>, column: &str, pattern: &Pattern) -> String;

    /// The texts of a list in a column, as rows with a `value`.
    fn texts(&self, column: &str) -> String;

    /// What else is so where the test holds, and lets the database find an index of its own.
    fn hint(
        &self,
        values: &mut Vec<Cell>,
        column: Column,
        said: &str,
        test: &Test,
    ) -> Option<String> {
        let _ = (values, column, said, test);
        None
    }

    /// How many characters a text has in the database.
    fn length(&self, text: &str) -> usize {
        text.chars().count()
    }
}
