//! The views: rows that are derived from the log, and searches in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    pin::pin,
};

use bytes::BytesMut;
use rusqlite::types::{FromSql, ToSqlOutput, ValueRef};
use tokio_postgres::{
    Error as PgError, Row as PgRow,
    types::{IsNull, ToSql, Type as PgType, to_sql_checked},
};
use travertine_value::time::Timestamp;

use super::{
    dialect::{InPostgres, beginning, left},
    fault::{self, Of},
    link::{Lines, Link, Param, Pool, Sent, together, wait},
    log::{self, count, next, number, shard},
    schema::{self, Has, Type},
    text::{escape, unescape},
};
use crate::{
    Address, Advance, Claim, Error, InstanceId, Seq, ShardId, crash_point,
    search::{Column, Found, Place, Search, Tally, Total, Value},
    sql::{Cell, Cells, Places, rows, search},
    sum,
    view::{Change, InstanceRow, Key, Row, Table},
};

/// How long a search may take, in milliseconds.
const SEARCH_MS_MAX: u32 = 5_000;

/// About so many bytes of rows go with one statement; one row may have more. Each must arrive within the time that a
/// transaction may be idle, and the server takes no more than 1 GB at once.
const STATEMENT_BYTES: usize = 8 << 20;

/// A value as a parameter.
#[derive(Debug)]
struct Given(Cell);

impl ToSql for Given {
    fn to_sql(
        &self,
        kind: &PgType,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.0 {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Integer(it) => ToSql::to_sql(it, kind, out),
            Cell::Real(it) => ToSql::to_sql(it, kind, out),
            Cell::Text(it) => ToSql::to_sql(it, kind, out),
            Cell::Blob(it) => ToSql::to_sql(it, kind, out),
        }
    }

    fn accepts(kind: &PgType) -> bool {
        [PgType::INT8, PgType::FLOAT8, PgType::TEXT, PgType::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

/// A value as it is stored.
fn stored(cell: Cell) -> Cell {
    if let Cell::Text(text) = &cell { Cell::Text(escape(text).into_owned()) } else { cell }
}

/// The columns of a row, in the order in which they are written.
#[derive(Default)]
struct Written(Vec<Cell>);

impl Places for Written {
    fn put<T: rusqlite::ToSql>(&mut self, _place: usize, value: &T) -> rusqlite::Result<()> {
        let cell = match value.to_sql()? {
            ToSqlOutput::Borrowed(it) => it
                .try_into()
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?,
            ToSqlOutput::Owned(it) => it,
            _ => return Err(rusqlite::Error::InvalidQuery),
        };
        self.0.push(stored(cell));
        Ok(())
    }
}

/// A row as the database has given it.
struct Read(Vec<Cell>);

impl Read {
    fn new(row: &PgRow) -> Result<Self, PgError> {
        let one = |(at, column): (usize, &tokio_postgres::Column)| {
            let number = |it: Option<i64>| it.map_or(Cell::Null, Cell::Integer);
            Ok(match *column.type_() {
                PgType::INT8 => number(row.try_get(at)?),
                PgType::INT4 => number(row.try_get::<_, Option<i32>>(at)?.map(Into::into)),
                PgType::INT2 => number(row.try_get::<_, Option<i16>>(at)?.map(Into::into)),
                PgType::BYTEA => {
                    row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Cell::Null, Cell::Blob)
                }
                _ => {
                    let text = row.try_get::<_, Option<String>>(at)?;
                    text.map_or(Cell::Null, |it| Cell::Text(unescape(it)))
                }
            })
        };
        row.columns().iter().enumerate().map(one).collect::<Result<_, _>>().map(Self)
    }
}

impl Cells for Read {
    fn get_ref(&self, column: usize) -> rusqlite::Result<ValueRef<'_>> {
        let found = self.0.get(column).ok_or(rusqlite::Error::InvalidColumnIndex(column))?;
        Ok(found.into())
    }

    fn get<T: FromSql>(&self, column: usize) -> rusqlite::Result<T> {
        let cell = self.get_ref(column)?;
        T::column_result(cell).map_err(|error| {
            let error = Box::new(error);
            rusqlite::Error::FromSqlConversionFailure(column, cell.data_type(), error)
        })
    }
}

/// The columns of rows of a table, as arrays; or one number.
enum Columns {
    Number(i64),
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Columns {
    fn new(is: Type) -> Self {
        match is {
            Type::Number => Self::Numbers(Vec::new()),
            Type::Text => Self::Texts(Vec::new()),
            Type::Bytes => Self::Bytes(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Numbers(all), Cell::Integer(it)) => all.push(Some(it)),
            (Self::Texts(all), Cell::Text(it)) => all.push(Some(it)),
            (Self::Bytes(all), Cell::Blob(it)) => all.push(Some(it)),
            (Self::Number(one), Cell::Integer(it)) => *one = it,
            (Self::Number(_), _) => {}
            (Self::Numbers(all), _) => all.push(None),
            (Self::Texts(all), _) => all.push(None),
            (Self::Bytes(all), _) => all.push(None),
        }
    }

    fn param(&self) -> Param<'_> {
        match self {
            Self::Number(one) => one,
            Self::Numbers(all) => all,
            Self::Texts(all) => all,
            Self::Bytes(all) => all,
        }
    }

    /// How many rows there are, where there are any.
    fn rows(&self) -> Option<usize> {
        match self {
            Self::Number(_) => None,
            Self::Numbers(all) => Some(all.len()),
            Self::Texts(all) => Some(all.len()),
            Self::Bytes(all) => Some(all.len()),
        }
    }

    /// About how many bytes a row takes.
    fn bytes(&self, row: usize) -> usize {
        let of = |it: Option<usize>| it.unwrap_or(0) + 4;
        match self {
            Self::Number(_) => 0,
            Self::Numbers(all) => of(all[row].map(|_| 8)),
            Self::Texts(all) => of(all[row].as_ref().map(String::len)),
            Self::Bytes(all) => of(all[row].as_ref().map(Vec::len)),
        }
    }

    /// Takes the rows away from this one on.
    fn split_off(&mut self, row: usize) -> Self {
        match self {
            Self::Number(one) => Self::Number(*one),
            Self::Numbers(all) => Self::Numbers(all.split_off(row)),
            Self::Texts(all) => Self::Texts(all.split_off(row)),
            Self::Bytes(all) => Self::Bytes(all.split_off(row)),
        }
    }
}

/// A statement and its columns.
struct Many {
    text: String,
    columns: Vec<Columns>,
}

impl Many {
    /// Cuts it into several statements, where it would be too large.
    fn cut(mut self) -> impl Iterator<Item = Self> {
        let rows = self.columns.iter().find_map(Columns::rows).unwrap_or(0);
        let (mut bytes, mut begins) = (0, Vec::new());
        for row in 0..rows {
            let more: usize = self.columns.iter().map(|it| it.bytes(row)).sum();
            if bytes > 0 && bytes + more > STATEMENT_BYTES {
                begins.push(row);
                bytes = 0;
            }
            bytes += more;
        }
        let mut pieces = Vec::new();
        for row in begins.into_iter().rev() {
            let columns = self.columns.iter_mut().map(|it| it.split_off(row)).collect();
            pieces.push(Self { text: self.text.clone(), columns });
        }
        pieces.push(self);
        pieces.into_iter().rev()
    }
}

/// Changes as what is left of them in the end: first what goes, then what is put.
#[derive(Default)]
struct Net<'a> {
    puts: BTreeMap<(Table, Key), &'a Row>,
    deletes: BTreeSet<(Table, Key)>,
    layers: BTreeSet<(u64, u64)>,
    clears: BTreeSet<u64>,
    removes: BTreeSet<u64>,
    /// What has ended before that goes.
    expires: BTreeMap<Table, Timestamp>,
    snapshots: BTreeMap<u64, (Seq, &'a [u8])>,
}

impl<'a> Net<'a> {
    fn of(changes: &'a [Change]) -> Self {
        let mut net = Self::default();
        for change in changes {
            match change {
                Change::Put(row) => drop(net.puts.insert((row.table(), row.key()), row)),
                Change::Delete(table, key) => {
                    let named = (*table, key.clone());
                    net.puts.remove(&named);
                    net.deletes.insert(named);
                }
                Change::DeleteLayer(instance, layer) => {
                    net.forget(Table::Variables, *instance, Some(*layer));
                    net.layers.insert((*instance, *layer));
                }
                Change::Clear(instance) => net.clear(*instance),
                Change::Remove(instance) => {
                    net.clear(*instance);
                    for table in Table::PAST {
                        net.forget(table, *instance, None);
                    }
                    net.puts.remove(&(Table::Instances, Key::of_instance(*instance)));
                    net.removes.insert(*instance);
                }
                Change::Expire(table, before) => {
                    net.puts.retain(|(of, _), row| {
                        of != table || row.ended().is_none_or(|it| it >= *before)
                    });
                    let latest = net.expires.entry(*table).or_insert(*before);
                    *latest = (*latest).max(*before);
                }
                Change::Snapshot { instance, seq, body } => {
                    net.snapshots.insert(*instance, (*seq, body));
                }
            }
        }
        net
    }

    fn clear(&mut self, instance: u64) {
        for table in Table::OF_INSTANCES {
            self.forget(table, instance, None);
        }
        self.snapshots.remove(&instance);
        self.clears.insert(instance);
    }

    fn forget(&mut self, table: Table, instance: u64, number: Option<u64>) {
        let first = Key { number: number.unwrap_or(0), ..Key::of_instance(instance) };
        let range = self.puts.range((table, first)..).map(|(it, _)| it);
        let of = range
            .take_while(|(it, key)| {
                *it == table && key.instance == instance && number.is_none_or(|it| key.number == it)
            })
            .cloned()
            .collect::<Vec<_>>();
        for it in of {
            self.puts.remove(&it);
        }
    }

    /// What is to be done, in order, as statements that are not too large.
    fn statements(&self, own: ShardId, shards: u16) -> rusqlite::Result<Vec<Many>> {
        let mut all = Vec::new();
        let ids =
            |of: &BTreeSet<u64>| Columns::Numbers(of.iter().map(|it| Some(number(*it))).collect());
        if !self.clears.is_empty() {
            let tables = Table::OF_INSTANCES.map(|it| it.to_string());
            for table in tables.into_iter().chain([String::from("snapshots")]) {
                let text = format!("DELETE FROM {table} WHERE instance = ANY($1::bigint[])");
                all.push(Many { text, columns: vec![ids(&self.clears)] });
            }
        }
        for (table, before) in &self.expires {
            let text =
                format!("DELETE FROM {table} WHERE shard = $1::bigint AND ended < $2::bigint");
            all.push(Many {
                text,
                columns: vec![Columns::Number(own.0.into()), Columns::Number(before.as_millis())],
            });
        }
        if !self.removes.is_empty() {
            for table in Table::PAST {
                let text = format!("DELETE FROM {table} WHERE instance = ANY($1::bigint[])");
                all.push(Many { text, columns: vec![ids(&self.removes)] });
            }
            let text = String::from("DELETE FROM instances WHERE id = ANY($1::bigint[])");
            all.push(Many { text, columns: vec![ids(&self.removes)] });
        }
        if !self.layers.is_empty() {
            let text = String::from(
                "DELETE FROM variables t USING unnest($1::bigint[], $2::bigint[]) AS k(a, b)
                 WHERE t.instance = k.a AND t.layer = k.b",
            );
            let side = |of: fn(&(u64, u64)) -> u64| {
                Columns::Numbers(self.layers.iter().map(|it| Some(number(of(it)))).collect())
            };
            all.push(Many { text, columns: vec![side(|it| it.0), side(|it| it.1)] });
        }
        for table in Table::ALL {
            let replaced = schema::shape(table).has_text_key();
            let gone = self.deletes.iter().filter(|it| it.0 == table).map(|it| &it.1);
            // Rows whose key is no key of the database go before they come.
            let puts = || self.puts.iter().filter(|((it, _), _)| *it == table);
            let again = puts().filter(|_| replaced).map(|((_, key), _)| key);
            let keys: BTreeSet<&Key> = gone.chain(again).collect();
            if !keys.is_empty() {
                all.push(delete(table, &keys));
            }
            let rows: Vec<&Row> = puts().map(|(_, row)| *row).collect();
            if !rows.is_empty() {
                all.push(put(table, &rows, shards)?);
            }
        }
        if !self.snapshots.is_empty() {
            let text = String::from(
                "INSERT INTO snapshots (instance, shard, seq, body)
                 SELECT k.instance, k.shard::smallint, k.seq, k.body
                 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS k(instance, shard, seq, body)
                 ON CONFLICT (instance) DO UPDATE SET seq = excluded.seq, body = excluded.body",
            );
            let mut columns =
                [Type::Number, Type::Number, Type::Number, Type::Bytes].map(Columns::new);
            for (instance, (seq, body)) in &self.snapshots {
                columns[0].push(Cell::Integer(number(*instance)));
                columns[1].push(Cell::Integer(ShardId::of(*instance, shards).0.into()));
                columns[2].push(Cell::Integer(number(*seq)));
                columns[3].push(Cell::Blob(body.to_vec()));
            }
            all.push(Many { text, columns: columns.into() });
        }
        Ok(all.into_iter().flat_map(Many::cut).collect())
    }
}

/// Deletes rows by their keys.
fn delete(table: Table, keys: &BTreeSet<&Key>) -> Many {
    let names = rows::key_columns(table);
    let shape = schema::shape(table);
    let kinds: Vec<Type> = names.iter().map(|it| shape.is(it)).collect();
    let mut columns: Vec<Columns> = kinds.iter().copied().map(Columns::new).collect();
    for key in keys {
        for (column, cell) in columns.iter_mut().zip(rows::key_values(table, key)) {
            column.push(stored(cell));
        }
    }
    let arrays: Vec<String> =
        kinds.iter().enumerate().map(|(at, it)| format!("${}::{}[]", at + 1, it.name())).collect();
    let mut terms: Vec<String> = names.iter().map(|it| format!("t.{it} = k.{it}")).collect();
    for (name, _) in names.iter().zip(&kinds).filter(|it| *it.1 == Type::Text) {
        terms.push(format!("{} = {}", left(&format!("t.{name}")), left(&format!("k.{name}"))));
    }
    let text = format!(
        "DELETE FROM {table} t USING unnest({}) AS k({}) WHERE {}",
        arrays.join(", "),
        names.join(", "),
        terms.join(" AND ")
    );
    Many { text, columns }
}

/// Puts rows of a table.
fn put(table: Table, all: &[&Row], shards: u16) -> rusqlite::Result<Many> {
    let (names, shape, worked) =
        (rows::columns(table), schema::shape(table), schema::worked(table));
    let mut kinds: Vec<Type> = names.iter().map(|it| shape.is(it)).collect();
    kinds.extend(worked.iter().map(|_| Type::Text));
    kinds.push(Type::Number);
    let mut columns: Vec<Columns> = kinds.iter().copied().map(Columns::new).collect();
    for row in all {
        let mut written = Written::default();
        rows::bind(&mut written, 0, row)?;
        let mut cells = written.0;
        for it in &worked {
            cells.push(match it.column.cell(row, None) {
                Some(Value::List(texts)) if it.has == Has::Beginnings => {
                    Cell::Text(array(texts.iter().map(|it| beginning(it))))
                }
                Some(Value::List(texts)) => Cell::Text(array(texts.iter().map(|it| escape(it)))),
                Some(Value::Text(text)) => Cell::Text(escape(&text).into_owned()),
                _ => Cell::Null,
            });
        }
        cells.push(Cell::Integer(row.shard(shards).0.into()));
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    let arrays: Vec<String> =
        kinds.iter().enumerate().map(|(at, it)| format!("${}::{}[]", at + 1, it.name())).collect();
    let own = names.iter().map(|it| (*it).to_owned());
    let names: Vec<String> =
        own.chain(worked.iter().map(|it| it.name.clone())).chain([String::from("shard")]).collect();
    let lists: BTreeSet<&str> =
        worked.iter().filter(|it| it.has != Has::Text).map(|it| it.name.as_str()).collect();
    let given: Vec<String> = names
        .iter()
        .map(|it| match it.as_str() {
            "shard" => String::from("k.shard::smallint"),
            list if lists.contains(list) => format!("k.{it}::text[]"),
            _ => format!("k.{it}"),
        })
        .collect();
    let mut text = format!(
        "INSERT INTO {table} ({0}) SELECT {1} FROM unnest({2}) AS k({0})",
        names.join(", "),
        given.join(", "),
        arrays.join(", ")
    );
    if !shape.has_text_key() {
        let key = rows::key_columns(table);
        let set: Vec<String> = names
            .iter()
            .filter(|it| !key.contains(&it.as_str()))
            .map(|it| format!("{it} = excluded.{it}"))
            .collect();
        write!(text, " ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", "))
            .expect("a string takes every text");
    }
    Ok(Many { text, columns })
}

/// A list of texts, as they are stored, in PostgreSQL's notation.
fn array(texts: impl Iterator<Item = impl AsRef<str>>) -> String {
    let mut list = String::from("{");
    for (nth, text) in texts.enumerate() {
        list.push_str(if nth == 0 { "\"" } else { ",\"" });
        for it in text.as_ref().chars() {
            if matches!(it, '"' | '\\') {
                list.push('\\');
            }
            list.push(it);
        }
        list.push('"');
    }
    list.push('}');
    list
}

/// The views of all shards.
#[derive(Debug)]
pub(super) struct Views {
    /// Those that write; a shard always goes by the same one.
    pub(super) writers: Vec<Pool>,
    pub(super) readers: Pool,
    /// Those that search, no longer than they may.
    searchers: Pool,
    /// Those that give rows one by one, as long as somebody takes them.
    scans: Pool,
    shards: u16,
}

impl Views {
    pub(super) fn new(shards: u16) -> Self {
        Self {
            writers: vec![Pool::new("views 0", 1), Pool::new("views 1", 1)],
            readers: Pool::new("reader", 8),
            searchers: Pool::new("search", 4),
            scans: Pool::new("scan", 8),
            shards,
        }
    }

    pub(super) fn writer(&self, shard: ShardId) -> &Pool {
        &self.writers[usize::from(shard.0) % self.writers.len()]
    }

    pub(super) fn checkpoint(&self, lines: &Lines, advance: &Advance<'_>) -> Result<(), Error> {
        let Advance { claim: Claim { shard: own, epoch }, upto, state, changes } = *advance;
        let failed = |error: rusqlite::Error| Error::Failed { reason: error.to_string() };
        let mut all = Net::of(changes).statements(own, self.shards).map_err(failed)?;
        let text = String::from(
            "INSERT INTO checkpoints (shard, upto, state, sum) SELECT k.shard::smallint, k.upto, k.state, k.sum
             FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) AS k(shard, upto, state, sum)
             ON CONFLICT (shard) DO UPDATE SET upto = excluded.upto, state = excluded.state, sum = excluded.sum",
        );
        let sum = sum::checkpoint(own, upto, state);
        let columns = vec![
            Columns::Numbers(vec![Some(own.0.into())]),
            Columns::Numbers(vec![Some(number(upto))]),
            Columns::Bytes(vec![Some(state.to_vec())]),
            Columns::Numbers(vec![Some(sum.into())]),
        ];
        all.push(Many { text, columns });
        self.transact(lines, own, epoch, upto, &all)
    }

    /// All of it or nothing, where the claim holds and the log reaches so far. It is sent at once, so that somebody who
    /// stands still leaves no half of it.
    fn transact(
        &self,
        lines: &Lines,
        own: ShardId,
        epoch: u64,
        upto: Seq,
        all: &[Many],
    ) -> Result<(), Error> {
        let mut lent = self.writer(own).lend(lines)?;
        let link = lent.link();
        let (own_shard, epoch_number, upto_number) = (shard(own), number(epoch), number(upto));
        let done = wait(async {
            let fence = link.prepare(log::FENCE).await?;
            let mut prepared = Vec::new();
            for it in all {
                prepared.push(link.prepare(&it.text).await?);
            }
            link.count();
            let client = &link.client;
            let fenced: [Param<'_>; 3] = [&own_shard, &epoch_number, &upto_number];
            let params: Vec<Vec<Param<'_>>> =
                all.iter().map(|it| it.columns.iter().map(Columns::param).collect()).collect();
            let script = |text: &'static str| -> Sent<'_> {
                Box::pin(async move { client.batch_execute(text).await.map(|()| 0) })
            };
            let mut sent: Vec<Sent<'_>> =
                vec![script(log::BEGIN_LATER), Box::pin(client.execute(&fence, &fenced))];
            for (statement, params) in prepared.iter().zip(&params) {
                sent.push(Box::pin(client.execute(statement, params)));
            }
            crash_point("checkpoint.changed");
            sent.push(script("COMMIT"));
            let done = together(sent).await;
            crash_point("checkpoint.committed");
            done
        });
        let Err(error) = done else { return Ok(()) };
        if fault::is_lost(&error) {
            lent.lose();
        }
        if error.as_db_error().is_some_and(|it| it.code().code() == "22012") {
            drop(lent);
            return Err(self.refused(lines, own, epoch, upto)?);
        }
        Err(fault::told_of_write(&error, Of::Views))
    }

    /// Why a claim was not good enough.
    fn refused(&self, lines: &Lines, own: ShardId, epoch: u64, upto: Seq) -> Result<Error, Error> {
        let row = self.readers.read(lines, Of::Log, async |link| {
            link.row("SELECT epoch, last FROM shards WHERE shard = $1", &[&shard(own)]).await
        })?;
        Ok(match row {
            Some(row) if count(&row, 0) == epoch && count(&row, 1) < upto => {
                Error::NoSuchEntry { shard: own, seq: upto }
            }
            _ => Error::Stale { shard: own },
        })
    }

    pub(super) fn forget(&self, lines: &Lines, claim: &Claim) -> Result<(), Error> {
        let all: Vec<Many> = schema::view_tables()
            .into_iter()
            .map(|table| Many {
                text: format!("DELETE FROM {table} WHERE shard = ANY($1::bigint[])"),
                columns: vec![Columns::Numbers(vec![Some(claim.shard.0.into())])],
            })
            .collect();
        self.transact(lines, claim.shard, claim.epoch, 0, &all)
    }

    /// Reads, where what is wrong is wrong with the views.
    fn read<T>(
        &self,
        lines: &Lines,
        act: impl AsyncFnMut(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, Error> {
        self.readers.read(lines, Of::Views, act)
    }

    pub(super) fn checkpointed(
        &self,
        lines: &Lines,
        own: ShardId,
    ) -> Result<(Seq, Vec<u8>), Error> {
        let sql = "SELECT upto, state, sum FROM checkpoints WHERE shard = $1";
        let row = self.read(lines, async |link| link.row(sql, &[&shard(own)]).await)?;
        let Some(row) = row else { return Ok((0, Vec::new())) };
        let (upto, state): (Seq, Vec<u8>) = (count(&row, 0), row.get(1));
        if row.get::<_, i64>(2) != i64::from(sum::checkpoint(own, upto, &state)) {
            let reason = format!("the checksum of the checkpoint of shard {own} is wrong");
            return Err(Error::DamagedViews { place: lines.target.to_string(), reason });
        }
        Ok((upto, state))
    }

    /// A row of all columns.
    fn row(lines: &Lines, table: Table, row: &PgRow) -> Result<Row, Error> {
        let damaged =
            |reason: String| Error::DamagedViews { place: lines.target.to_string(), reason };
        let cells = Read::new(row).map_err(|error| damaged(error.to_string()))?;
        rows::read(table, &cells).map_err(|error| Self::damaged(lines, table, &cells, &error))
    }

    /// A row that cannot be read, by its key where that can be.
    fn damaged(lines: &Lines, table: Table, cells: &Read, error: &rusqlite::Error) -> Error {
        let reason = error.to_string();
        match rows::key(table, cells) {
            Ok(key) => Error::DamagedRow { table, key, reason },
            Err(_) => Error::DamagedViews { place: lines.target.to_string(), reason },
        }
    }

    fn instance_of(lines: &Lines, row: &PgRow) -> Result<InstanceRow, Error> {
        let Row::Instance(it) = Self::row(lines, Table::Instances, row)? else {
            unreachable!("rows of instances are instances")
        };
        Ok(it)
    }

    pub(super) fn instance(
        &self,
        lines: &Lines,
        id: InstanceId,
    ) -> Result<Option<InstanceRow>, Error> {
        let columns = rows::columns(Table::Instances).join(", ");
        let sql = format!("SELECT {columns} FROM instances WHERE id = $1");
        let row = self.read(lines, async |link| link.row(&sql, &[&number(id.0)]).await)?;
        row.map(|it| Self::instance_of(lines, &it)).transpose()
    }

    /// The rows and snapshots of several instances, with one wait for both.
    #[expect(clippy::type_complexity, reason = "it is taken apart where it is asked for")]
    pub(super) fn instances(
        &self,
        lines: &Lines,
        ids: &[InstanceId],
    ) -> Result<Vec<(Result<Option<InstanceRow>, Error>, Option<(Seq, Vec<u8>)>)>, Error> {
        let columns = rows::columns(Table::Instances).join(", ");
        let of_rows = format!("SELECT {columns} FROM instances WHERE id = ANY($1)");
        let of_snapshots = "SELECT instance, seq, body FROM snapshots WHERE instance = ANY($1)";
        let wanted: Vec<i64> = ids.iter().map(|it| number(it.0)).collect();
        let (found, snapshots) = self.read(lines, async |link| {
            let one = link.prepare(&of_rows).await?;
            let other = link.prepare(of_snapshots).await?;
            link.count();
            let params: [Param<'_>; 1] = [&wanted];
            let client = &link.client;
            let mut first = pin!(client.query(&one, &params));
            let mut second = pin!(client.query(&other, &params));
            // Both are sent before either is waited for.
            let (mut here, mut there) = (None, None);
            std::future::poll_fn(|context| {
                if here.is_none()
                    && let std::task::Poll::Ready(done) = first.as_mut().poll(context)
                {
                    here = Some(done);
                }
                if there.is_none()
                    && let std::task::Poll::Ready(done) = second.as_mut().poll(context)
                {
                    there = Some(done);
                }
                match (here.take(), there.take()) {
                    (Some(one), Some(other)) => std::task::Poll::Ready((one, other)),
                    (one, other) => {
                        (here, there) = (one, other);
                        std::task::Poll::Pending
                    }
                }
            })
            .await
            .pair()
        })?;
        let mut by_id: BTreeMap<u64, &PgRow> = found.iter().map(|it| (count(it, 0), it)).collect();
        let mut taken: BTreeMap<u64, (Seq, Vec<u8>)> =
            snapshots.iter().map(|it| (count(it, 0), (count(it, 1), it.get(2)))).collect();
        let again: BTreeSet<u64> = {
            let mut seen = BTreeSet::new();
            ids.iter().map(|it| it.0).filter(|it| !seen.insert(*it)).collect()
        };
        let one = |InstanceId(id): &InstanceId| {
            let (row, snapshot) = if again.contains(id) {
                (by_id.get(id).copied(), taken.get(id).cloned())
            } else {
                (by_id.remove(id), taken.remove(id))
            };
            (row.map(|it| Self::instance_of(lines, it)).transpose(), snapshot)
        };
        Ok(ids.iter().map(one).collect())
    }

    pub(super) fn named_many(
        &self,
        lines: &Lines,
        own: ShardId,
        names: &[&str],
    ) -> Result<Vec<Vec<InstanceId>>, Error> {
        let wanted: Vec<String> = names.iter().map(|it| escape(it).into_owned()).collect();
        let beginnings: Vec<String> = names.iter().map(|it| beginning(it)).collect();
        let sql = "SELECT k.nth, i.id FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k(name, beginning, nth)
            JOIN instances i ON left(i.business_id, 200) = k.beginning AND i.business_id = k.name
                AND i.business_id IS NOT NULL AND i.shard = $3
            ORDER BY k.nth, i.id DESC";
        let rows = self
            .read(lines, async |link| link.rows(sql, &[&wanted, &beginnings, &shard(own)]).await)?;
        let mut found = vec![Vec::new(); names.len()];
        for row in rows {
            let nth = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(0);
            found[nth].push(InstanceId(count(&row, 1)));
        }
        Ok(found)
    }

    pub(super) fn called_many(
        &self,
        lines: &Lines,
        calls: &[Address],
    ) -> Result<Vec<Option<InstanceId>>, Error> {
        let callers: Vec<i64> = calls.iter().map(|it| number(it.instance.0)).collect();
        let waits: Vec<i64> = calls.iter().map(|it| number(it.wait.0)).collect();
        let sql = "SELECT k.nth, i.id FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k(caller, wait, nth)
            JOIN instances i ON i.parent = k.caller AND i.parent_wait = k.wait AND i.parent IS NOT NULL";
        let rows = self.read(lines, async |link| link.rows(sql, &[&callers, &waits]).await)?;
        let mut found = vec![None; calls.len()];
        for row in rows {
            let nth = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(0);
            found[nth] = Some(InstanceId(count(&row, 1)));
        }
        Ok(found)
    }

    pub(super) fn snapshot(
        &self,
        lines: &Lines,
        instance: InstanceId,
    ) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        let sql = "SELECT seq, body FROM snapshots WHERE instance = $1";
        let row = self.read(lines, async |link| link.row(sql, &[&number(instance.0)]).await)?;
        Ok(row.map(|it| (count(&it, 0), it.get(1))))
    }

    pub(super) fn scan(
        &self,
        lines: &Lines,
        own: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = format!(
            "SELECT {} FROM {table} WHERE shard = $1 ORDER BY {}",
            rows::columns(table).join(", "),
            rows::key_columns(table).join(", ")
        );
        let mut begun = false;
        let mut told = Ok(());
        self.scans.read(lines, Of::Views, async |link| {
            if begun {
                // Nobody gets a row twice: whoever asks begins anew.
                return Ok(());
            }
            let statement = link.prepare(&sql).await?;
            link.count();
            let own = shard(own);
            let params: [Param<'_>; 1] = [&own];
            let mut found = pin!(link.client.query_raw(&statement, params).await?);
            while let Some(row) = next(found.as_mut()).await {
                let row = match row {
                    Err(error) if begun && fault::is_lost(&error) => {
                        told = Err(fault::told(&error, Of::Views));
                        return Err(error);
                    }
                    row => row?,
                };
                begun = true;
                told = Self::row(lines, table, &row).and_then(&mut *each);
                if told.is_err() {
                    return Ok(());
                }
            }
            Ok(())
        })?;
        told
    }

    /// Reads for a search, within a time where it is bounded.
    fn searched(
        &self,
        lines: &Lines,
        search: &Search,
        sql: &search::Sql,
    ) -> Result<Vec<PgRow>, Error> {
        let within = if search.unbounded { 0 } else { SEARCH_MS_MAX };
        let values: Vec<Given> = sql.values.iter().cloned().map(Given).collect();
        let params: Vec<Param<'_>> = values.iter().map(|it| it as Param<'_>).collect();
        let rows = self.searchers.read(lines, Of::Views, async |link| {
            link.limit(within).await?;
            match link.rows(&sql.text, &params).await {
                Err(error) if within > 0 && fault::is_cancelled(&error) => Ok(None),
                rows => rows.map(Some),
            }
        })?;
        rows.ok_or_else(|| search.too_broad())
    }

    pub(super) fn search(&self, lines: &Lines, search: &Search) -> Result<Found, Error> {
        let page = search::of(&InPostgres, search);
        let width = rows::columns(search.table).len();
        let mut found = Vec::new();
        for row in self.searched(lines, search, &page)? {
            let whole = Self::row(lines, search.table, &row)?;
            let cells = Read::new(&row).map_err(|error| fault::told(&error, Of::Views))?;
            let columns = search.sort.iter().map(|it| it.column);
            let ranks = search::ranked(columns, width, &cells)
                .map_err(|error| Self::damaged(lines, search.table, &cells, &error))?;
            found.push((whole, ranks));
        }
        let total = if search.count { Some(self.count(lines, search, found.len())?) } else { None };
        let limit = search.limit as usize;
        let has_more = found.len() > limit;
        found.truncate(limit);
        if matches!(search.place, Place::Before(_)) {
            found.reverse();
        }
        let cursor = |it: Option<&(Row, Vec<Option<Value>>)>| {
            it.map(|(row, ranks)| search.cursor(row, ranks.clone()))
        };
        let (start, end) = (cursor(found.first()), cursor(found.last()));
        let rows = found.into_iter().map(|(row, _)| row).collect();
        Ok(Found { rows, start, end, has_more, total })
    }

    fn count(&self, lines: &Lines, search: &Search, read: usize) -> Result<Total, Error> {
        // The first page has them all, where there is no other.
        if search.place == Place::First && read <= search.limit as usize {
            return Ok(Total::of(read));
        }
        let rows = self.searched(lines, search, &search::count(&InPostgres, search))?;
        let counted = rows.first().map_or(0, |it| count(it, 0));
        Ok(Total::of(usize::try_from(counted).unwrap_or(usize::MAX)))
    }

    pub(super) fn tally(
        &self,
        lines: &Lines,
        search: &Search,
        by: &[Column],
    ) -> Result<Vec<Tally>, Error> {
        let sql = search::tally(&InPostgres, search, by);
        let mut groups = Vec::new();
        for row in self.searched(lines, search, &sql)? {
            let cells = Read::new(&row).map_err(|error| fault::told(&error, Of::Views))?;
            let damaged = |error: rusqlite::Error| Error::DamagedViews {
                place: lines.target.to_string(),
                reason: error.to_string(),
            };
            let count = cells.get(0).map_err(damaged)?;
            let of = search::ranked(by.iter().copied(), 1, &cells).map_err(damaged)?;
            groups.push(Tally { of, count });
        }
        Ok(groups)
    }

    /// Whether all rows can be read.
    pub(super) fn check(&self, lines: &Lines) -> Result<(), Error> {
        for table in schema::view_tables() {
            let sql = format!("SELECT count(*), sum(length(t::text)) FROM {table} t");
            self.read(lines, async |link| link.rows(&sql, &[]).await)?;
        }
        Ok(())
    }
}

/// Two answers as one.
trait Pair<A, B> {
    fn pair(self) -> Result<(A, B), PgError>;
}

impl<A, B> Pair<A, B> for (Result<A, PgError>, Result<B, PgError>) {
    fn pair(self) -> Result<(A, B), PgError> {
        Ok((self.0?, self.1?))
    }
}

#[cfg(test)]
mod tests {
    use travertine_value::Name;

    use super::*;
    use crate::view::VariableRow;

    #[test]
    fn what_is_stored_at_once_goes_with_statements_that_are_not_too_large() {
        let variable = |instance: u64| {
            Row::Variable(VariableRow {
                instance,
                layer: 1,
                name: Name::from("v"),
                value: "x".repeat(3 << 20).into(),
                number: 1,
                visit: 0,
            })
        };
        let snapshot = |instance: u64| {
            // One has more than what goes with a statement.
            let body = vec![0; if instance == 2 { 9 << 20 } else { 1 << 20 }];
            Change::Snapshot { instance, seq: 1, body }
        };
        let mut changes: Vec<Change> = (0..7).map(|it| Change::Put(variable(it))).collect();
        changes.extend((0..5).map(snapshot));
        changes.push(Change::Expire(Table::Jobs, Timestamp::from_millis(4)));
        let all = Net::of(&changes).statements(ShardId(0), 1).unwrap();
        let of = |what: &str| {
            let one = |it: &Many| {
                let rows: BTreeSet<_> = it.columns.iter().map(Columns::rows).collect();
                assert_eq!(rows.len(), 1, "all columns have as many");
                let Columns::Numbers(instances) = &it.columns[0] else { panic!("{}", it.text) };
                (instances[0].unwrap(), instances.len())
            };
            all.iter().filter(|it| it.text.starts_with(what)).map(one).collect::<Vec<_>>()
        };
        assert_eq!(of("INSERT INTO variables"), [(0, 2), (2, 2), (4, 2), (6, 1)]);
        assert_eq!(of("INSERT INTO snapshots"), [(0, 2), (2, 1), (3, 2)]);
        assert_eq!(all.iter().filter(|it| it.text.starts_with("DELETE FROM jobs")).count(), 1);
    }
}
