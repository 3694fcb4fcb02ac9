//! The tables of a store on PostgreSQL.
//!
//! Those of the views are made of the same description as the embedded ones, so that a new column or table comes
//! here by itself. A column that a search needs and the row has only as JSON is a column of its own here.

use std::{collections::BTreeMap, fmt::Write as _, sync::LazyLock};

use super::dialect::{self, left};
use crate::{
    search::{Column, Kind},
    sql::rows,
    view::Table,
};

/// The format of the log.
pub(super) const FORMAT: u32 = 1;

/// In how many tables the log is kept.
const PARTITIONS: u16 = 16;

/// What a column is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Text,
    Bytes,
}

impl Type {
    /// What PostgreSQL calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number => "bigint",
            Self::Text => "text",
            Self::Bytes => "bytea",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Self::Number => "bigint",
            Self::Text => "text COLLATE \"C\"",
            Self::Bytes => "bytea",
        }
    }
}

/// A column of a table of the views.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) is: Type,
    always: bool,
}

/// A table of the views.
#[derive(Debug)]
pub(super) struct Shape {
    fields: Vec<Field>,
    key: Vec<String>,
    indexes: Vec<Index>,
}

#[derive(Debug)]
struct Index {
    name: String,
    parts: Vec<String>,
    when: Option<String>,
}

/// All tables of the views.
static SHAPES: LazyLock<BTreeMap<Table, Shape>> = LazyLock::new(|| read(&rows::schema()));

/// A table of the views.
pub(super) fn shape(table: Table) -> &'static Shape {
    &SHAPES[&table]
}

impl Shape {
    pub(super) fn is(&self, column: &str) -> Type {
        self.field(column).map_or(Type::Text, |it| it.is)
    }

    fn field(&self, column: &str) -> Option<&Field> {
        self.fields.iter().find(|it| it.name == column)
    }

    /// Whether an index begins with a text in this column.
    pub(super) fn is_sought(&self, column: &str) -> bool {
        self.is(column) == Type::Text
            && self.indexes.iter().any(|it| it.parts.iter().any(|part| part == column))
    }

    /// Whether its key has a text in it, which may be too long for an index.
    pub(super) fn has_text_key(&self) -> bool {
        self.key.iter().any(|it| self.is(it) == Type::Text)
    }

    /// A column as indexes have it.
    fn part(&self, column: &str) -> String {
        let Some(field) = self.field(column) else { return column.to_owned() };
        let said = if field.is == Type::Text { left(column) } else { column.to_owned() };
        let empty = if field.always { "" } else { " NULLS FIRST" };
        format!("({said}){empty}")
    }

    fn parts(&self, columns: &[String]) -> String {
        columns.iter().map(|it| self.part(it)).collect::<Vec<_>>().join(", ")
    }
}

/// Splits at commas that are not in parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_u32, 0, Vec::new());
    for (at, it) in text.char_indices() {
        match it {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// What stands in the outermost parentheses, and what comes after them.
fn inside(text: &str) -> (&str, &str) {
    let from = text.find('(').map_or(0, |it| it + 1);
    let mut depth = 1_u32;
    for (at, it) in text[from..].char_indices() {
        match it {
            '(' => depth += 1,
            ')' if depth == 1 => return (&text[from..from + at], &text[from + at + 1..]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    (&text[from..], "")
}

fn names(list: &str) -> Vec<String> {
    split(list).into_iter().map(str::to_owned).collect()
}

/// Reads the description of the embedded views.
fn read(schema: &str) -> BTreeMap<Table, Shape> {
    let table_of = |name: &str| Table::ALL.into_iter().find(|it| it.to_string() == name);
    let mut shapes = BTreeMap::new();
    for statement in schema.split(';').map(str::trim) {
        if let Some(rest) = statement.strip_prefix("CREATE TABLE ") {
            let name = rest.split('(').next().unwrap_or_default().trim();
            let Some(table) = table_of(name) else { continue };
            shapes.insert(table, read_table(inside(rest).0));
        } else if let Some(rest) = statement.strip_prefix("CREATE INDEX ") {
            let mut words = rest.split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            let on = words.nth(1).unwrap_or_default();
            let Some(table) = table_of(on.split('(').next().unwrap_or_default()) else { continue };
            let (list, rest) = inside(rest);
            let when = rest.trim().strip_prefix("WHERE ").map(|it| it.trim().to_owned());
            let index = Index { name, parts: names(list), when };
            shapes.get_mut(&table).expect("an index comes after its table").indexes.push(index);
        }
    }
    shapes
}

fn read_table(text: &str) -> Shape {
    let mut shape = Shape { fields: Vec::new(), key: Vec::new(), indexes: Vec::new() };
    for part in split(text) {
        if part.starts_with("PRIMARY KEY") {
            shape.key = names(inside(part).0);
            continue;
        }
        let mut words = part.split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        let is = match words.next() {
            Some("INTEGER") => Type::Number,
            Some("BLOB") => Type::Bytes,
            _ => Type::Text,
        };
        let is_key = part.contains("PRIMARY KEY");
        if is_key {
            shape.key = vec![name.clone()];
        }
        shape.fields.push(Field { name, is, always: is_key || part.contains("NOT NULL") });
    }
    shape
}

/// A column that is worked out from the row when it is written.
#[derive(Debug)]
pub(super) struct Worked {
    pub(super) column: Column,
    pub(super) name: String,
    pub(super) has: Has,
}

/// What a column has that is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Has {
    Text,
    /// A list of texts.
    List,
    /// The beginnings of a list of texts, for an index: a text may be longer than what fits into it.
    Beginnings,
}

/// The columns of a table that are worked out.
pub(super) fn worked(table: Table) -> Vec<Worked> {
    let all = Column::all(table).into_iter();
    let one = |column: Column| {
        let Some(name) = dialect::worked_out(column) else { return Vec::new() };
        if column.kind() != Kind::List {
            return vec![Worked { column, name, has: Has::Text }];
        }
        let sought = dialect::beginnings(&name);
        vec![
            Worked { column, name, has: Has::List },
            Worked { column, name: sought, has: Has::Beginnings },
        ]
    };
    all.flat_map(one).collect()
}

/// Tables whose rows a shard reads when it is claimed.
const READ_BY_SHARD: [Table; 4] =
    [Table::Jobs, Table::Timers, Table::Subscriptions, Table::Messages];

fn view(table: Table, sql: &mut Vec<String>) {
    let shape = shape(table);
    let mut columns: Vec<String> = shape
        .fields
        .iter()
        .map(|it| {
            let always = if it.always { " NOT NULL" } else { "" };
            format!("{} {}{always}", it.name, it.is.column())
        })
        .collect();
    let worked = worked(table);
    columns.extend(worked.iter().map(|it| {
        let kind = if it.has == Has::Text { "text" } else { "text[]" };
        format!("{} {kind} COLLATE \"C\"", it.name)
    }));
    columns.push(String::from("shard smallint NOT NULL"));
    if !shape.has_text_key() {
        columns.push(format!("PRIMARY KEY ({})", shape.key.join(", ")));
    }
    sql.push(format!("CREATE TABLE {table} (\n    {}\n)", columns.join(",\n    ")));
    if shape.has_text_key() {
        // A text may be longer than what fits into an index.
        sql.push(format!("CREATE INDEX {table}_by_key ON {table} ({})", shape.parts(&shape.key)));
    }
    for it in &shape.indexes {
        let when = it.when.as_ref().map_or_else(String::new, |it| format!(" WHERE {it}"));
        sql.push(format!("CREATE INDEX {} ON {table} ({}){when}", it.name, shape.parts(&it.parts)));
    }
    for it in worked.iter().filter(|it| it.has == Has::Beginnings) {
        sql.push(format!("CREATE INDEX {table}_{0} ON {table} USING gin ({0})", it.name));
    }
    if READ_BY_SHARD.contains(&table) {
        sql.push(format!(
            "CREATE INDEX {table}_by_shard ON {table} (shard, {})",
            shape.parts(&shape.key)
        ));
    }
}

/// The tables of the views, all of which can be made again.
pub(super) fn views() -> Vec<String> {
    let mut sql = vec![
        String::from(
            "CREATE TABLE checkpoints (\n    shard smallint PRIMARY KEY,\n    upto bigint NOT NULL,\n    \
             state bytea NOT NULL,\n    sum bigint NOT NULL\n)",
        ),
        String::from(
            "CREATE TABLE snapshots (\n    instance bigint PRIMARY KEY,\n    shard smallint NOT NULL,\n    \
             seq bigint NOT NULL,\n    body bytea NOT NULL\n)",
        ),
    ];
    for it in Table::ALL {
        view(it, &mut sql);
    }
    sql
}

/// What takes the views away.
pub(super) fn drop_views() -> String {
    let tables: Vec<String> = view_tables();
    format!("DROP TABLE IF EXISTS {}", tables.join(", "))
}

/// The names of the tables of the views.
pub(super) fn view_tables() -> Vec<String> {
    let own = ["checkpoints", "snapshots"].map(str::to_owned);
    own.into_iter().chain(Table::ALL.map(|it| it.to_string())).collect()
}

/// The format of the views: another one for other tables.
pub(super) fn views_format() -> String {
    format!("{:08x}", crc32fast::hash(views().join(";\n").as_bytes()))
}

/// The tables of the log.
pub(super) fn log() -> Vec<String> {
    let mut sql: Vec<String> = [
        "CREATE TABLE meta (\n    name text PRIMARY KEY,\n    value text NOT NULL\n)",
        "CREATE TABLE shards (\n    shard smallint PRIMARY KEY,\n    epoch bigint NOT NULL DEFAULT 0,\n    \
         owner text,\n    last bigint NOT NULL DEFAULT 0,\n    mails bigint NOT NULL DEFAULT 0,\n    \
         entries bigint NOT NULL DEFAULT 0,\n    digest bigint NOT NULL DEFAULT 0,\n    \
         nonce bigint NOT NULL DEFAULT 0,\n    claimed timestamptz,\n    UNIQUE (shard, epoch)\n) WITH \
         (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
        "CREATE TABLE log (\n    shard smallint NOT NULL,\n    seq bigint NOT NULL,\n    \
         instance bigint NOT NULL,\n    previous bigint NOT NULL,\n    at bigint NOT NULL,\n    \
         sum bigint NOT NULL,\n    body bytea NOT NULL,\n    PRIMARY KEY (shard, seq)\n) \
         PARTITION BY HASH (shard)",
        "ALTER TABLE log ALTER COLUMN body SET STORAGE EXTERNAL",
        "CREATE TABLE inbox (\n    receiver smallint NOT NULL,\n    sender smallint NOT NULL,\n    \
         number bigint NOT NULL,\n    sum bigint NOT NULL,\n    body bytea NOT NULL,\n    \
         PRIMARY KEY (receiver, sender, number)\n) WITH (autovacuum_vacuum_scale_factor = 0, \
         autovacuum_vacuum_threshold = 1000)",
        "CREATE TABLE deployments (\n    number bigint PRIMARY KEY,\n    at bigint NOT NULL,\n    \
         sum bigint NOT NULL\n)",
        "CREATE TABLE resources (\n    deployment bigint NOT NULL,\n    position bigint NOT NULL,\n    \
         name text NOT NULL,\n    sum bigint NOT NULL,\n    body bytea NOT NULL,\n    \
         PRIMARY KEY (deployment, position)\n)",
        "CREATE TABLE definitions (\n    key bigint PRIMARY KEY,\n    deployment bigint NOT NULL,\n    \
         position bigint NOT NULL,\n    id text COLLATE \"C\" NOT NULL,\n    version bigint NOT NULL,\n    \
         tag text,\n    resource bigint NOT NULL,\n    standing smallint NOT NULL,\n    \
         UNIQUE (id, version)\n)",
        "CREATE INDEX definitions_by_deployment ON definitions (deployment, position)",
    ]
    .map(str::to_owned)
    .into();
    for nth in 0..PARTITIONS {
        sql.push(format!(
            "CREATE TABLE log_{nth} PARTITION OF log FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {nth}) \
             WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.05)"
        ));
    }
    sql
}

/// What is in a new store of so many shards.
pub(super) fn contents(shards: u16) -> Vec<String> {
    vec![
        format!("INSERT INTO shards (shard) SELECT generate_series(0, {shards} - 1)"),
        format!(
            "INSERT INTO meta VALUES ('format', '{FORMAT}'), ('views', '{}'), ('shards', '{shards}'), \
             ('revision', '0'), ('id', replace(gen_random_uuid()::text, '-', ''))",
            views_format()
        ),
    ]
}

/// All of it as a script that an administrator can read and run.
pub(super) fn script(schema: &str, shards: u16) -> String {
    let mut text = format!(
        "-- The tables of a Travertine store of {shards} shards, format {FORMAT}.\n\
         -- Whoever runs this owns them. The role that nodes run as needs no more than\n\
         --   GRANT USAGE ON SCHEMA {schema} TO role;\n\
         --   GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO role;\n\
         BEGIN;\nCREATE SCHEMA IF NOT EXISTS {schema};\nSET LOCAL search_path = {schema};\n"
    );
    for it in log().into_iter().chain(views()).chain(contents(shards)) {
        writeln!(text, "{it};").expect("a string takes every text");
    }
    text.push_str("COMMIT;\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_every_table_is_there() {
        for table in Table::ALL {
            let shape = shape(table);
            for name in rows::columns(table) {
                assert!(shape.field(name).is_some(), "{table} {name}");
            }
            assert_eq!(rows::columns(table).len(), shape.fields.len(), "{table}");
            assert_eq!(shape.key, rows::key_columns(table), "{table}");
        }
        let instances = shape(Table::Instances);
        assert_eq!(instances.is("business_id"), Type::Text);
        assert_eq!(instances.is("started"), Type::Number);
        assert!(instances.is_sought("business_id") && !instances.is_sought("reason"));
        assert!(shape(Table::Variables).has_text_key());
        let text = views().join(";");
        assert!(text.contains("WHERE business_id IS NOT NULL"), "{text}");
        assert!(text.contains("x_candidate_user text[]"), "{text}");
        assert!(!text.contains("INTEGER") && !text.contains("BLOB"), "{text}");
    }
}
