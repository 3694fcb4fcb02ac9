//! Searches as SQL. What a search brings is bound to parameters; the text is made of our words only.

use travertine_value::Name;

use super::{
    Cell, Cells, Dialect,
    rows::{OPEN, SHORT_MAX, columns, key_columns, key_values},
};
use crate::{
    search::{
        COUNT_MAX, Column, Condition, Cursor, ElementColumn, GROUPS_MAX, InstanceColumn, JobColumn,
        Kind, Place, SORTED_CHARS, Search, Sort, SubscriptionColumn, TaskColumn, Test, Value,
        VariableColumn,
    },
    view::{InstanceState, Table},
};

/// How many steps of SQLite's machine a search may take: a scan of some million rows, about a second.
pub(crate) const STEPS_MAX: u32 = 50_000_000;

/// A statement and its parameters.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) text: String,
    pub(crate) values: Vec<Cell>,
}

/// The statement for a page. It asks for one row more than that has. Behind the columns of the table each row has
/// what it is sorted by; `Place::Before` gives them in reverse.
pub(crate) fn of(dialect: &dyn Dialect, search: &Search) -> Sql {
    let mut it = Writer::new(dialect, search.table);
    let table = search.table;
    let order = order(dialect, search);
    let mut wanted: Vec<String> = columns(table).iter().map(|name| format!("t.{name}")).collect();
    wanted.extend(search.sort.iter().flat_map(|it| ranks(dialect, it.column, table)));
    let mut text = format!("SELECT {} FROM {table} t", wanted.join(", "));
    text.push_str(&it.joined(search));
    let mut all = it.all(&search.conditions);
    if let Place::After(cursor) | Place::Before(cursor) = &search.place {
        all.extend(it.beyond(search, &order, cursor));
    }
    text.push_str(&where_all(&all));
    let order: Vec<String> = order
        .iter()
        .map(|it| {
            let empty = if it.always { "" } else { dialect.empty_first(it.descending) };
            format!("{}{}{empty}", it.text, if it.descending { " DESC" } else { "" })
        })
        .collect();
    let limit = it.place(Cell::Integer(i64::from(search.limit) + 1));
    let offset = if let Place::Skip(rows) = search.place {
        format!(" OFFSET {}", it.place(Cell::Integer(i64::from(rows))))
    } else {
        String::new()
    };
    let text = format!("{text} ORDER BY {} LIMIT {limit}{offset}", order.join(", "));
    Sql { text, values: it.values }
}

/// The statement that counts all rows, as far as they are counted, and one more.
pub(crate) fn count(dialect: &dyn Dialect, search: &Search) -> Sql {
    let mut it = Writer::new(dialect, search.table);
    let mut inner = format!("SELECT 1 FROM {} t", search.table);
    inner.push_str(&it.joined(&Search { sort: Vec::new(), ..search.clone() }));
    let all = it.all(&search.conditions);
    inner.push_str(&where_all(&all));
    let limit = it.place(Cell::Integer(i64::from(COUNT_MAX) + 1));
    Sql { text: format!("SELECT count(*) FROM ({inner} LIMIT {limit}) found"), values: it.values }
}

/// The statement that counts rows by what they have in these columns, which come after the count. It gives one
/// group more than there may be.
pub(crate) fn tally(dialect: &dyn Dialect, search: &Search, by: &[Column]) -> Sql {
    let mut it = Writer::new(dialect, search.table);
    let by_rank = by.iter().map(|it| Sort { column: *it, descending: false }).collect();
    let joined = it.joined(&Search { sort: by_rank, ..search.clone() });
    let all = it.all(&search.conditions);
    let ranks: Vec<String> = by.iter().flat_map(|it| ranks(dialect, *it, search.table)).collect();
    let first = dialect.empty_first(false);
    let order: Vec<String> = ranks.iter().map(|it| format!("{it}{first}")).collect();
    let (ranks, order, table) = (ranks.join(", "), order.join(", "), search.table);
    let limit = it.place(Cell::Integer(i64::from(GROUPS_MAX) + 1));
    let found = where_all(&all);
    let text = format!(
        "SELECT count(*), {ranks} FROM {table} t{joined}{found} GROUP BY {ranks} ORDER BY {order} LIMIT {limit}"
    );
    Sql { text, values: it.values }
}

/// Reads what a row has in these columns, from the place `at` on.
pub(crate) fn ranked(
    columns: impl Iterator<Item = Column>,
    mut at: usize,
    row: &impl Cells,
) -> rusqlite::Result<Vec<Option<Value>>> {
    let mut next = || {
        at += 1;
        at - 1
    };
    let one = |it: Column| {
        Ok(match it.kind() {
            Kind::Number => row.get::<Option<i64>>(next())?.map(Value::Number),
            Kind::Time => row.maybe_time(next())?.map(Value::Time),
            Kind::Bool => row.get::<Option<bool>>(next())?.map(Value::Bool),
            Kind::Text | Kind::LongText => row.get::<Option<Name>>(next())?.map(Value::Text),
            Kind::Key => {
                let (instance, number): (Option<u64>, Option<u64>) =
                    (row.get(next())?, row.get(next())?);
                instance.zip(number).map(Value::from)
            }
            Kind::List => None,
        })
    };
    columns.map(one).collect()
}

/// One expression of the order.
#[derive(Debug)]
struct Term {
    text: String,
    descending: bool,
    /// Whether every row has it.
    always: bool,
}

/// The order of a search, back to front where it goes backwards. The key comes last.
fn order(dialect: &dyn Dialect, search: &Search) -> Vec<Term> {
    let table = search.table;
    let back = matches!(search.place, Place::Before(_));
    let mut terms: Vec<Term> = Vec::new();
    let mut add = |text: String, descending: bool, always: bool| {
        // What was compared already decides nothing.
        if terms.iter().all(|it| it.text != text) {
            terms.push(Term { text, descending: descending != back, always });
        }
    };
    for it in &search.sort {
        let own = it.column.table() == table.present();
        for text in ranks(dialect, it.column, table) {
            add(text, it.descending, own && it.column.spec().always);
        }
    }
    for name in key_columns(table) {
        add(format!("t.{name}"), search.is_key_descending(), true);
    }
    terms
}

/// What rows of a table are compared by where they are sorted by a column.
fn ranks(dialect: &dyn Dialect, column: Column, table: Table) -> Vec<String> {
    let all = dialect.columns(column, alias(column, table));
    match column.kind() {
        Kind::LongText => {
            all.into_iter().map(|it| format!("substr({it}, 1, {SORTED_CHARS})")).collect()
        }
        Kind::Bool => all.into_iter().map(|it| dialect.truth(&it)).collect(),
        // The instance may be there without the rest.
        Kind::Key if !column.spec().always => {
            let (first, last) = (&all[0], &all[1]);
            vec![format!("CASE WHEN {last} IS NULL THEN NULL ELSE {first} END"), last.clone()]
        }
        Kind::Number | Kind::Text | Kind::Time | Kind::Key | Kind::List => all,
    }
}

/// The name under which rows of a table have the column: their own, or that of the instance they are about.
fn alias(column: Column, table: Table) -> &'static str {
    if column.table() == table.present() { "t" } else { "i" }
}

/// How the row of a table says what is in a column; two expressions for a key.
pub(crate) fn expressions(column: Column, alias: &str) -> Vec<String> {
    let all = column.spec().sql.into_iter().filter(|it| !it.is_empty());
    all.map(|it| it.replace("{t}", alias)).collect()
}

fn where_all(all: &[String]) -> String {
    if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
}

fn cells(value: &Value) -> Vec<Cell> {
    // What is greater than any number was never written.
    let number = |it: u64| Cell::Integer(i64::try_from(it).unwrap_or(i64::MAX));
    match value {
        Value::Number(it) => vec![Cell::Integer(*it)],
        Value::Time(it) => vec![Cell::Integer(it.as_millis())],
        Value::Text(it) => vec![Cell::Text(it.to_string())],
        Value::Bool(it) => vec![Cell::Integer(i64::from(*it))],
        Value::Key(instance, number_in_it) => vec![number(*instance), number(*number_in_it)],
        // No test is for a list.
        Value::List(_) => vec![Cell::Null],
    }
}

struct Writer<'a> {
    dialect: &'a dyn Dialect,
    table: Table,
    values: Vec<Cell>,
}

impl<'a> Writer<'a> {
    fn new(dialect: &'a dyn Dialect, table: Table) -> Self {
        Self { dialect, table, values: Vec::new() }
    }

    fn place(&mut self, value: Cell) -> String {
        self.dialect.place(&mut self.values, value)
    }

    fn places(&mut self, value: &Value) -> Vec<String> {
        cells(value).into_iter().map(|it| self.place(it)).collect()
    }

    /// The instances that rows are about, where something is asked of these.
    fn joined(&self, search: &Search) -> String {
        fn asks(condition: &Condition) -> bool {
            match condition {
                Condition::All(all) | Condition::Any(all) => all.iter().any(asks),
                Condition::Is(column, _) => column.table() == Table::Instances,
                Condition::Has(..) | Condition::At(..) => false,
            }
        }
        let sorts = search.sort.iter().any(|it| it.column.table() == Table::Instances);
        if self.table != Table::Instances && (sorts || search.conditions.iter().any(asks)) {
            // SQLite takes it for a plain join where a condition wants an instance.
            String::from(" LEFT JOIN instances i ON i.id = t.instance")
        } else {
            String::new()
        }
    }

    fn all(&mut self, conditions: &[Condition]) -> Vec<String> {
        conditions.iter().map(|it| self.condition(it)).collect()
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::All(all) if all.is_empty() => String::from("true"),
            Condition::Any(any) if any.is_empty() => String::from("false"),
            Condition::All(all) => format!("({})", self.all(all).join(" AND ")),
            Condition::Any(any) => format!("({})", self.all(any).join(" OR ")),
            Condition::Is(column, test) => {
                let alias = alias(*column, self.table);
                self.test(*column, alias, test)
            }
            Condition::Has(table, all) => self.has(*table, all),
            Condition::At(table, all) => {
                let mut inside = self.inside_of(*table, all);
                inside.insert(0, String::from("s.instance = t.instance AND s.visit = t.visit"));
                format!("EXISTS (SELECT 1 FROM {table} s{})", where_all(&inside))
            }
        }
    }

    /// An instance has a row in a table.
    fn has(&mut self, table: Table, all: &[Condition]) -> String {
        let instance = if self.table == Table::Instances { "t.id" } else { "t.instance" };
        let few = few(table, all);
        let mut inside = self.inside_of(table, all);
        if few {
            // They are found by an index first, and decide which instances are looked at.
            return format!(
                "{instance} IN (SELECT s.instance FROM {table} s{})",
                where_all(&inside)
            );
        }
        inside.insert(0, format!("s.instance = {instance}"));
        format!("EXISTS (SELECT 1 FROM {table} s{})", where_all(&inside))
    }

    fn inside_of(&mut self, table: Table, all: &[Condition]) -> Vec<String> {
        let outside = std::mem::replace(&mut self.table, table);
        let inside = self.inside(all);
        self.table = outside;
        inside
    }

    fn inside(&mut self, all: &[Condition]) -> Vec<String> {
        let one = |it: &Condition| match it {
            Condition::All(all) if all.is_empty() => String::from("true"),
            Condition::Any(any) if any.is_empty() => String::from("false"),
            Condition::All(all) => format!("({})", self.inside(all).join(" AND ")),
            Condition::Any(any) => format!("({})", self.inside(any).join(" OR ")),
            Condition::Is(column, test) => self.test(*column, "s", test),
            // There is none inside of another.
            Condition::Has(..) | Condition::At(..) => String::from("false"),
        };
        all.iter().map(one).collect()
    }

    fn test(&mut self, column: Column, alias: &str, test: &Test) -> String {
        let said = self.dialect.columns(column, alias);
        let mut hints: Vec<String> = hint(self.dialect, column, alias, test).into_iter().collect();
        hints.extend(self.dialect.hint(&mut self.values, column, &said[0], test));
        let text = match column.kind() {
            Kind::List => self.list(&said[0], test),
            Kind::Key => self.key(&said, test),
            Kind::Bool => self.truth(&said[0], test),
            Kind::Number | Kind::Text | Kind::LongText | Kind::Time
                if column == InstanceColumn::Root.into() && matches!(test, Test::Eq(_)) =>
            {
                self.root(alias, test)
            }
            Kind::Number | Kind::Text | Kind::LongText | Kind::Time => self.scalar(&said[0], test),
        };
        if hints.is_empty() { text } else { format!("({} AND {text})", hints.join(" AND ")) }
    }

    fn scalar(&mut self, column: &str, test: &Test) -> String {
        let compared = |it: &mut Self, sign: &str, value: &Value| {
            let place = it.places(value).join(", ");
            format!("{column} {sign} {place}")
        };
        match test {
            Test::Eq(value) => compared(self, "=", value),
            Test::Neq(value) => compared(self, self.dialect.other(), value),
            Test::Gt(value) => compared(self, ">", value),
            Test::Gte(value) => compared(self, ">=", value),
            Test::Lt(value) => compared(self, "<", value),
            Test::Lte(value) => compared(self, "<=", value),
            Test::In(values) if values.is_empty() => String::from("false"),
            Test::NotIn(values) if values.is_empty() => String::from("true"),
            Test::In(values) => format!("{column} IN ({})", self.listed(values)),
            Test::NotIn(values) => {
                format!("({column} IS NULL OR {column} NOT IN ({}))", self.listed(values))
            }
            Test::Exists(true) => format!("{column} IS NOT NULL"),
            Test::Exists(false) => format!("{column} IS NULL"),
            Test::Like(pattern) if pattern.is_in_vain() => String::from("false"),
            Test::Like(pattern) => self.dialect.like(&mut self.values, column, pattern),
        }
    }

    fn listed(&mut self, values: &[Value]) -> String {
        values.iter().flat_map(|it| self.places(it)).collect::<Vec<_>>().join(", ")
    }

    /// Yes or no.
    fn truth(&mut self, expression: &str, test: &Test) -> String {
        if let Test::Eq(Value::Bool(wanted)) = test {
            // As indexes say it.
            return if *wanted { expression.to_owned() } else { format!("NOT ({expression})") };
        }
        let expression = self.dialect.truth(expression);
        self.scalar(&expression, test)
    }

    /// Two columns, which are both there or not.
    fn key(&mut self, columns: &[String], test: &Test) -> String {
        let equal = |it: &mut Self, value: &Value| {
            let places = it.places(value);
            let pairs = columns.iter().zip(&places);
            let all: Vec<String> =
                pairs.map(|(column, place)| format!("{column} = {place}")).collect();
            format!("({})", all.join(" AND "))
        };
        let sign = self.dialect.other();
        let other = |it: &mut Self, value: &Value| {
            let places = it.places(value);
            let pairs = columns.iter().zip(&places);
            let any: Vec<String> =
                pairs.map(|(column, place)| format!("{column} {sign} {place}")).collect();
            format!("({})", any.join(" OR "))
        };
        let pairs = |it: &mut Self, values: &[Value]| {
            let pairs = values.iter().map(|value| format!("({})", it.places(value).join(", ")));
            pairs.collect::<Vec<_>>().join(", ")
        };
        let both = format!("({})", columns.join(", "));
        // The instance may be there without the rest.
        let last = columns.last().map_or("", String::as_str);
        match test {
            Test::Eq(value) => equal(self, value),
            Test::Neq(value) => other(self, value),
            Test::In(values) if values.is_empty() => String::from("false"),
            Test::NotIn(values) if values.is_empty() => String::from("true"),
            Test::In(values) => format!("{both} IN (VALUES {})", pairs(self, values)),
            Test::NotIn(values) => {
                format!("({last} IS NULL OR {both} NOT IN (VALUES {}))", pairs(self, values))
            }
            Test::Exists(wanted) => {
                let is = if *wanted { "IS NOT NULL" } else { "IS NULL" };
                format!("{last} {is}")
            }
            // Refused before.
            Test::Like(_) | Test::Gt(_) | Test::Gte(_) | Test::Lt(_) | Test::Lte(_) => {
                String::from("false")
            }
        }
    }

    /// A list of texts.
    fn list(&mut self, column: &str, test: &Test) -> String {
        let (denies, said) = match test {
            Test::Neq(value) => (true, Test::Eq(value.clone())),
            Test::NotIn(values) => (true, Test::In(values.clone())),
            Test::Exists(wanted) => (!wanted, Test::Exists(true)),
            Test::Eq(_)
            | Test::In(_)
            | Test::Like(_)
            | Test::Gt(_)
            | Test::Gte(_)
            | Test::Lt(_)
            | Test::Lte(_) => (false, test.clone()),
        };
        let some = self.scalar("value", &said);
        let not = if denies { "NOT " } else { "" };
        let texts = self.dialect.texts(column);
        format!("{not}EXISTS (SELECT 1 FROM {texts} WHERE {some})")
    }

    /// Those that were called are found by index; nobody calls most.
    fn root(&mut self, alias: &str, test: &Test) -> String {
        let Test::Eq(value) = test else { return String::from("false") };
        let place = self.places(value).join("");
        format!(
            "{alias}.id IN (SELECT id FROM instances WHERE root = {place} AND root <> id
             UNION SELECT id FROM instances WHERE id = {place} AND root = {place})"
        )
    }

    /// Only what comes after a cursor, in this order.
    fn beyond(&mut self, search: &Search, order: &[Term], cursor: &Cursor) -> Vec<String> {
        let mut values: Vec<(String, Cell)> = Vec::new();
        for (it, value) in search.sort.iter().zip(&cursor.values) {
            let texts = ranks(self.dialect, it.column, search.table);
            let cells = value.as_ref().map_or_else(|| vec![Cell::Null; texts.len()], cells);
            values.extend(texts.into_iter().zip(cells));
        }
        let key = key_values(search.table, &cursor.key);
        let names = key_columns(search.table).iter().map(|name| format!("t.{name}"));
        values.extend(names.zip(key));
        let pinned = pinned(self.dialect, search);
        // What must be the same anyway decides nothing, and SQLite finds the place by index without it.
        let terms: Vec<(&Term, Cell)> = order
            .iter()
            .filter_map(|term| {
                let value = values.iter().find(|(text, _)| *text == term.text)?.1.clone();
                (!pinned.contains(&(term.text.clone(), value.clone()))).then_some((term, value))
            })
            .collect();
        let Some((first, value)) = terms.first() else { return vec![String::from("false")] };
        let alike = terms.iter().all(|(it, _)| it.always && it.descending == first.descending);
        if alike {
            let texts: Vec<&str> = terms.iter().map(|(it, _)| it.text.as_str()).collect();
            let places: Vec<String> =
                terms.iter().map(|(_, value)| self.place(value.clone())).collect();
            let sign = if first.descending { "<" } else { ">" };
            return vec![format!("({}) {sign} ({})", texts.join(", "), places.join(", "))];
        }
        let mut all = Vec::new();
        // For an index: the rest says more.
        if *value != Cell::Null && (first.always || !first.descending) {
            let sign = if first.descending { "<=" } else { ">=" };
            let place = self.place(value.clone());
            all.push(format!("{} {sign} {place}", first.text));
        }
        all.push(self.after(&terms));
        all
    }

    fn after(&mut self, terms: &[(&Term, Cell)]) -> String {
        let Some(((term, value), rest)) = terms.split_first() else {
            return String::from("false");
        };
        let place = self.place(value.clone());
        let text = &term.text;
        // What is empty comes first; last, where it is descending.
        let beyond = match (term.descending, *value == Cell::Null) {
            (false, false) => format!("{text} > {place}"),
            (false, true) => format!("{text} IS NOT NULL"),
            (true, false) => format!("({text} < {place} OR {text} IS NULL)"),
            (true, true) => String::from("false"),
        };
        let same = self.dialect.same();
        format!("({beyond} OR ({text} {same} {place} AND {}))", self.after(rest))
    }
}

/// The expressions that have one value in all rows.
fn pinned(dialect: &dyn Dialect, search: &Search) -> Vec<(String, Cell)> {
    fn add(
        dialect: &dyn Dialect,
        condition: &Condition,
        table: Table,
        pinned: &mut Vec<(String, Cell)>,
    ) {
        match condition {
            Condition::All(all) => all.iter().for_each(|it| add(dialect, it, table, pinned)),
            Condition::Is(column, Test::Eq(value)) => {
                if !matches!(column.kind(), Kind::List | Kind::LongText) {
                    pinned.extend(ranks(dialect, *column, table).into_iter().zip(cells(value)));
                }
            }
            Condition::Is(..) | Condition::Any(_) | Condition::Has(..) | Condition::At(..) => {}
        }
    }
    let mut all = Vec::new();
    search.conditions.iter().for_each(|it| add(dialect, it, search.table, &mut all));
    all
}

/// What else is so where the test holds, and lets a database find an index that is only for such rows.
fn hint(dialect: &dyn Dialect, column: Column, alias: &str, test: &Test) -> Option<String> {
    let values = if let Test::Eq(value) = test {
        std::slice::from_ref(value)
    } else if let Test::In(values) = test {
        &values[..]
    } else {
        return None;
    };
    if column == InstanceColumn::State.into() {
        use InstanceState::{Halted, Running, Suspended};
        let open = [Running, Suspended, Halted].map(Value::from);
        return values.iter().all(|it| open.contains(it)).then(|| format!("{alias}.{OPEN}"));
    }
    if column == VariableColumn::Value.into() {
        let short = |it: &Value| matches!(it, Value::Text(it) if dialect.length(it) <= SHORT_MAX);
        return values.iter().all(short).then(|| format!("length({alias}.value) <= {SHORT_MAX}"));
    }
    None
}

/// Whether an index finds the rows of a table for which all of these hold, and there are few of them.
fn few(table: Table, all: &[Condition]) -> bool {
    let named = |column: Column| {
        all.iter()
            .any(|it| matches!(it, Condition::Is(of, Test::Eq(_) | Test::In(_)) if *of == column))
    };
    match table {
        Table::Variables => {
            named(VariableColumn::Name.into()) && named(VariableColumn::Value.into())
        }
        Table::Elements => named(ElementColumn::Element.into()),
        Table::Jobs => named(JobColumn::JobType.into()),
        Table::Tasks => named(TaskColumn::Assignee.into()),
        Table::Subscriptions => named(SubscriptionColumn::Name.into()),
        Table::Incidents => true,
        Table::Instances
        | Table::Timers
        | Table::Messages
        | Table::PastJobs
        | Table::PastTasks
        | Table::PastIncidents => false,
    }
}
