//! Any text as a cursor: it is read and written as it was, or refused. Any search made of bytes: it is answered or
//! refused, and its pages hang together.

#![no_main]

use libfuzzer_sys::fuzz_target;
use travertine_store::{
    MemoryStore, ShardId, Store,
    search::{Column, Condition, Cursor, Kind, Pattern, Place, Search, Test, Value},
    view::{Change, Row, Table, VariableRow},
};
use travertine_value::time::Timestamp;

/// Bytes, one after the other; zeros after the last.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.next()) % end.max(1)
    }

    fn table(&mut self) -> Table {
        Table::ALL[self.below(Table::ALL.len())]
    }

    fn column(&mut self, table: Table) -> Column {
        let all = Column::all(if self.below(4) == 0 { Table::Instances } else { table });
        all[self.below(all.len())]
    }

    fn text(&mut self) -> String {
        let length = self.below(8);
        (0..length).map(|_| char::from(self.next())).collect()
    }

    fn value(&mut self, kind: Kind) -> Value {
        match kind {
            _ if self.below(16) == 0 => Value::Bool(false),
            Kind::Number => Value::Number(i64::from(self.next())),
            Kind::Time => Value::Time(Timestamp::from_millis(self.next().into())),
            Kind::Bool => Value::Bool(self.next() > 127),
            Kind::Key => Value::Key(self.next().into(), self.next().into()),
            Kind::Text | Kind::LongText | Kind::List => Value::from(&*self.text()),
        }
    }

    fn condition(&mut self, table: Table, depth: usize) -> Condition {
        match self.below(8) {
            0 if depth < 12 => {
                Condition::All((0..self.below(4)).map(|_| self.condition(table, depth + 1)).collect())
            }
            1 if depth < 12 => {
                Condition::Any((0..self.below(4)).map(|_| self.condition(table, depth + 1)).collect())
            }
            2 | 3 if depth < 12 => {
                let other = self.table();
                let all = vec![self.condition(other, depth + 1)];
                if self.next() > 127 { Condition::Has(other, all) } else { Condition::At(other, all) }
            }
            _ => {
                let column = self.column(table);
                let kind = column.kind();
                Condition::Is(column, match self.below(10) {
                    0 => Test::Neq(self.value(kind)),
                    1 => Test::In((0..self.below(5)).map(|_| self.value(kind)).collect()),
                    2 => Test::NotIn((0..self.below(5)).map(|_| self.value(kind)).collect()),
                    3 => Test::Exists(self.next() > 127),
                    4 => Test::like(self.text()).unwrap_or(Test::Exists(true)),
                    5 => Test::Gt(self.value(kind)),
                    6 => Test::Gte(self.value(kind)),
                    7 => Test::Lt(self.value(kind)),
                    8 => Test::Lte(self.value(kind)),
                    _ => Test::Eq(self.value(kind)),
                })
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(cursor) = text.parse::<Cursor>() {
            assert_eq!(cursor.to_string().parse::<Cursor>().ok().as_ref(), Some(&cursor));
            for table in Table::ALL {
                let _ = Search::of(table).at(Place::After(cursor.clone())).check();
            }
        }
        if let Ok(pattern) = Pattern::parse(text) {
            pattern.matches(text);
        }
    }
    let mut bytes = Bytes(bytes.iter());
    let store = MemoryStore::new(1);
    let claim = store.take(ShardId(0), "fuzz").expect("nobody else has it");
    let rows = (0..bytes.below(12)).map(|_| {
        let (name, value) = (bytes.text().into(), bytes.text().into());
        let (instance, layer) = (bytes.next().into(), bytes.next().into());
        Change::Put(Row::Variable(VariableRow { instance, layer, name, value, number: layer, visit: layer }))
    });
    let rows: Vec<Change> = rows.collect();
    store.checkpoint(&claim, 0, b"", &rows).expect("they are stored");
    let table = if bytes.below(2) == 0 { Table::Variables } else { bytes.table() };
    let mut search = Search::of(table).limit(u32::from(bytes.next()) % 4 + 1);
    for _ in 0..bytes.below(3) {
        search = search.with(bytes.condition(table, 0));
    }
    for _ in 0..bytes.below(3) {
        let column = bytes.column(table);
        search = if bytes.next() > 127 { search.ascending(column) } else { search.descending(column) };
    }
    let Ok(whole) = store.search(&search.clone().limit(1_000)) else {
        assert!(search.check().is_err());
        return;
    };
    let mut seen = Vec::new();
    loop {
        let found = store.search(&search).expect("it makes sense");
        seen.extend(found.rows);
        match found.end.filter(|_| found.has_more) {
            Some(end) => search.place = Place::After(end),
            None => break,
        }
    }
    assert_eq!(seen, whole.rows);
});
