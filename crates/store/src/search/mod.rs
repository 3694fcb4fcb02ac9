//! Searches: which rows, in which order, and which page of them.
//!
//! A search is data. [`Search::check`] refuses what makes no sense, for every store in the same words; what a
//! condition means is said in `evaluate`, which every store is held against.

mod column;
mod cursor;
mod era;
mod evaluate;
mod pattern;
mod query;

use std::fmt;

use travertine_value::{Name, time::Timestamp};

pub use column::{
    Column, ElementColumn, IncidentColumn, InstanceColumn, JobColumn, Kind, MessageColumn,
    SubscriptionColumn, TaskColumn, TimerColumn, VariableColumn,
};
pub use cursor::Cursor;
pub use era::{era_of, find};
pub use pattern::Pattern;

pub(crate) use evaluate::SORTED_CHARS;
pub(crate) use evaluate::tally;
pub use evaluate::{Source, evaluate};

use crate::{
    Address, DefinitionKey, Error, InstanceId,
    view::{Row, Table},
};

/// The most rows of a page.
pub const LIMIT_MAX: u32 = 10_000;
/// The most rows that can be skipped without a cursor.
pub const SKIP_MAX: u32 = 10_000;
/// The most rows that are counted.
pub const COUNT_MAX: u32 = 10_000;
/// The most columns to sort by.
pub const SORT_MAX: usize = 5;
/// The most groups that rows are counted by.
pub const GROUPS_MAX: u32 = 10_000;
/// The most conditions of a search.
pub const CONDITIONS_MAX: usize = 200;
/// The most values that the conditions of a search have, together.
pub const VALUES_MAX: usize = 5_000;
/// How deep conditions can be inside of each other.
const DEPTH_MAX: usize = 8;

/// A search for rows of one table.
///
/// ```
/// # use travertine_store::search::{Condition, InstanceColumn, Place, Search, Test};
/// # use travertine_store::view::{InstanceState, Table};
/// // The 20 newest orders that run.
/// let search = Search::of(Table::Instances)
///     .with(Condition::of(InstanceColumn::Definition, Test::eq("order")))
///     .with(Condition::of(InstanceColumn::State, Test::eq(InstanceState::Running)))
///     .descending(InstanceColumn::Started)
///     .limit(20);
/// assert_eq!(search.place, Place::First);
/// search.check()?;
/// # Ok::<(), travertine_store::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The table.
    pub table: Table,
    /// All of these must hold.
    pub conditions: Vec<Condition>,
    /// The order, the first first. Where rows are the same by all of it, the key decides, in the direction of
    /// the last.
    pub sort: Vec<Sort>,
    /// Where the page is.
    pub place: Place,
    /// The most rows of a page.
    pub limit: u32,
    /// Whether all rows are counted, too.
    pub count: bool,
    /// Whether rows may be a moment behind. It costs less: nothing is waited for.
    pub relaxed: bool,
    /// Whether it is about what is there, or what is over.
    pub era: Era,
    /// Whether it is answered however many rows must be looked at.
    #[doc(hidden)] // Only the engine itself has so much time.
    pub unbounded: bool,
}

/// What a search is about: what is there, what is over, or both in one order.
///
/// ```
/// # use travertine_store::search::{Era, Search};
/// # use travertine_store::view::Table;
/// assert_eq!(Search::of(Table::Tasks).era, Era::Present);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// What is there.
    #[default]
    Present,
    /// What is over, as far as that is kept: of jobs, tasks and incidents.
    Past,
    /// Both.
    Both,
}

/// Something that must hold for a row.
///
/// ```
/// # use travertine_store::search::{Condition, TaskColumn, Test};
/// let for_ann = Condition::Any(vec![
///     Condition::of(TaskColumn::Assignee, Test::eq("ann")),
///     Condition::of(TaskColumn::CandidateUsers, Test::eq("ann")),
/// ]);
/// assert_ne!(for_ann, Condition::Any(Vec::new()), "of nothing, nothing holds");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of these; it holds where there are none.
    All(Vec<Self>),
    /// One of these; it does not hold where there are none.
    Any(Vec<Self>),
    /// What is in the column passes the test. A column of [`Table::Instances`] is that of the instance which the
    /// row is about.
    Is(Column, Test),
    /// Its instance has a row in that table for which all of these hold.
    Has(Table, Vec<Self>),
    /// The visit that it belongs to has a row in that table for which all of these hold.
    At(Table, Vec<Self>),
}

/// What a column is tested for. Tests that deny something are the opposite of those that say it, so they hold
/// where the column is empty. A list passes where one of its texts does, and is denied where none does.
///
/// ```
/// # use travertine_store::search::{Test, Value};
/// # use travertine_value::time::Timestamp;
/// let (now, earlier) = (Timestamp::from_millis(2_000), Timestamp::from_millis(1_000));
/// assert!(Test::Lt(Value::from(now)).passes(Some(&Value::Time(earlier))));
/// assert_eq!(Test::eq(12_u64), Test::Eq(Value::Number(12)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is this.
    Eq(Value),
    /// It is something else, or nothing.
    Neq(Value),
    /// It is one of these.
    In(Vec<Value>),
    /// It is none of these, or nothing.
    NotIn(Vec<Value>),
    /// It is a text like this.
    Like(Pattern),
    /// There is something, or there is not.
    Exists(bool),
    /// It is greater or later.
    Gt(Value),
    /// It is this, or greater or later.
    Gte(Value),
    /// It is less or earlier.
    Lt(Value),
    /// It is this, or less or earlier.
    Lte(Value),
}

/// What a column can hold.
///
/// ```
/// # use travertine_store::search::Value;
/// assert_eq!(Value::from("ann"), Value::Text("ann".into()));
/// assert_eq!(Value::from((12, 7)), Value::Key(12, 7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A text.
    Text(Name),
    /// A time.
    Time(Timestamp),
    /// Yes or no.
    Bool(bool),
    /// An instance, and a number in it.
    Key(u64, u64),
    /// Texts.
    #[doc(hidden)] // No test is for a list as a whole.
    List(Vec<Name>),
}

/// A column to sort by. Rows where it is empty come first; last, where it is descending.
///
/// ```
/// # use travertine_store::search::{Sort, TaskColumn};
/// let most_urgent = Sort { column: TaskColumn::Priority.into(), descending: true };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// Where a page is among the rows.
///
/// ```
/// # use travertine_store::search::{Cursor, Place};
/// fn back(text: &str) -> Result<Place, travertine_store::Error> {
///     Ok(Place::Before(text.parse()?))
/// }
/// assert!(back("not a cursor").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// It is the first one.
    First,
    /// It begins after this row.
    After(Cursor),
    /// It ends before this row.
    Before(Cursor),
    /// It begins after so many rows.
    Skip(u32),
}

/// Rows that were found, in order.
///
/// ```
/// # use travertine_store::search::{Found, Place, Search};
/// fn next(search: &Search, found: &Found) -> Option<Search> {
///     let end = found.end.clone().filter(|_| found.has_more)?;
///     Some(Search { place: Place::After(end), ..search.clone() })
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Found<R = Row> {
    /// The rows.
    pub rows: Vec<R>,
    /// The place of the first of them.
    pub start: Option<Cursor>,
    /// The place of the last of them.
    pub end: Option<Cursor>,
    /// Whether there are rows beyond them, in the direction of the search.
    pub has_more: bool,
    /// How many rows there are on all pages, where that was asked.
    pub total: Option<Total>,
}

/// How many rows there are.
///
/// ```
/// # use travertine_store::search::Total;
/// let total = Total { count: 10_000, has_more: true };
/// assert!(total.has_more, "they were not counted to the end");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// So many were counted.
    pub count: u32,
    /// Whether there are more.
    pub has_more: bool,
}

/// How many of the rows that a search finds have the same in some columns.
///
/// ```
/// # use travertine_store::search::{Tally, Value};
/// let at_pack = Tally { of: vec![Some(Value::from("pack"))], count: 3 };
/// assert_eq!(at_pack.of[0], Some("pack".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What they have in these columns.
    pub of: Vec<Option<Value>>,
    /// How many they are.
    pub count: u64,
}

impl Search {
    /// All rows of a table, in the order of their keys.
    ///
    /// ```
    /// # use travertine_store::search::Search;
    /// # use travertine_store::view::Table;
    /// assert_eq!(Search::of(Table::Jobs).limit, 100);
    /// ```
    pub fn of(table: Table) -> Self {
        Self {
            table,
            conditions: Vec::new(),
            sort: Vec::new(),
            place: Place::First,
            limit: 100,
            count: false,
            relaxed: false,
            era: Era::Present,
            unbounded: false,
        }
    }

    /// About what is there, or what is over.
    ///
    /// ```
    /// # use travertine_store::search::{Era, Search};
    /// # use travertine_store::view::Table;
    /// let all = Search::of(Table::Tasks).of_era(Era::Both);
    /// assert_eq!(all.era, Era::Both);
    /// ```
    #[must_use]
    pub fn of_era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Adds a condition: only rows for which it holds, too, are found.
    ///
    /// ```
    /// # use travertine_store::search::{Condition, JobColumn, Search, Test};
    /// # use travertine_store::view::Table;
    /// let mail = Search::of(Table::Jobs).with(Condition::of(JobColumn::JobType, Test::eq("mail")));
    /// assert_eq!(mail.conditions.len(), 1);
    /// ```
    #[must_use]
    pub fn with(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Sorted by this column, after those before.
    ///
    /// ```
    /// # use travertine_store::search::{Search, TaskColumn};
    /// # use travertine_store::view::Table;
    /// let next = Search::of(Table::Tasks).ascending(TaskColumn::Due);
    /// assert!(!next.sort[0].descending);
    /// ```
    #[must_use]
    pub fn ascending(mut self, column: impl Into<Column>) -> Self {
        self.sort.push(Sort { column: column.into(), descending: false });
        self
    }

    /// Sorted by this column, after those before, the greatest first.
    ///
    /// ```
    /// # use travertine_store::search::{Search, TaskColumn};
    /// # use travertine_store::view::Table;
    /// let newest = Search::of(Table::Tasks).descending(TaskColumn::Created);
    /// assert!(newest.sort[0].descending);
    /// ```
    #[must_use]
    pub fn descending(mut self, column: impl Into<Column>) -> Self {
        self.sort.push(Sort { column: column.into(), descending: true });
        self
    }

    /// Limits the page to so many rows.
    ///
    /// ```
    /// # use travertine_store::search::Search;
    /// # use travertine_store::view::Table;
    /// assert_eq!(Search::of(Table::Jobs).limit(5).limit, 5);
    /// ```
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// The page at that place.
    ///
    /// ```
    /// # use travertine_store::search::{Place, Search};
    /// # use travertine_store::view::Table;
    /// assert_eq!(Search::of(Table::Jobs).at(Place::Skip(100)).place, Place::Skip(100));
    /// ```
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Counts all rows, too.
    ///
    /// ```
    /// # use travertine_store::search::Search;
    /// # use travertine_store::view::Table;
    /// assert!(Search::of(Table::Jobs).counted().count);
    /// ```
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.count = true;
        self
    }

    /// Rows may be a moment behind.
    ///
    /// ```
    /// # use travertine_store::search::Search;
    /// # use travertine_store::view::Table;
    /// assert!(Search::of(Table::Jobs).relaxed().relaxed);
    /// ```
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        self.relaxed = true;
        self
    }

    /// Refuses what makes no sense, or asks for too much.
    ///
    /// ```
    /// # use travertine_store::search::{JobColumn, Search};
    /// # use travertine_store::view::Table;
    /// let wrong = Search::of(Table::Tasks).ascending(JobColumn::Worker);
    /// assert_eq!(wrong.check().unwrap_err().to_string(), "tasks cannot be sorted by worker");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        if self.limit == 0 {
            return Err(bad("a page needs room for at least one row"));
        }
        if self.era != Era::Present && self.table.past().is_none() {
            return Err(bad(format!("{} that are over are not kept", self.table)));
        }
        if self.limit > LIMIT_MAX {
            return Err(bad(format!("a page has at most {LIMIT_MAX} rows; ask for the next page")));
        }
        if matches!(self.place, Place::Skip(rows) if rows > SKIP_MAX) {
            return Err(bad(format!(
                "at most {SKIP_MAX} rows can be skipped; go on from the cursor of a page instead"
            )));
        }
        if self.sort.len() > SORT_MAX {
            return Err(bad(format!("rows are sorted by at most {SORT_MAX} columns")));
        }
        for Sort { column, .. } in &self.sort {
            if !self.has(*column) || column.kind() == Kind::List {
                return Err(bad(format!("{} cannot be sorted by {column}", self.table)));
            }
        }
        if let Place::After(cursor) | Place::Before(cursor) = &self.place {
            cursor.fits(self)?;
        }
        let mut size = Size::default();
        self.conditions.iter().try_for_each(|it| it.check(self.table, false, 0, &mut size))
    }

    /// Refuses columns by which its rows cannot be counted.
    pub(crate) fn check_tally(&self, by: &[Column]) -> Result<(), Error> {
        self.check()?;
        if by.is_empty() || by.len() > SORT_MAX {
            return Err(bad(format!("rows are counted by 1 to {SORT_MAX} columns")));
        }
        let wrong =
            |it: &&Column| !self.has(**it) || matches!(it.kind(), Kind::List | Kind::LongText);
        match by.iter().find(wrong) {
            Some(column) => Err(bad(format!("{} cannot be counted by {column}", self.table))),
            None => Ok(()),
        }
    }

    /// The groups, unless there are too many.
    pub(crate) fn tallied(&self, groups: Vec<Tally>) -> Result<Vec<Tally>, Error> {
        if groups.len() > GROUPS_MAX as usize {
            let reason = format!(
                "the {} are of more than {GROUPS_MAX} groups; narrow the search, or count by less",
                self.table
            );
            return Err(Error::TooBroad { reason });
        }
        Ok(groups)
    }

    /// Too many rows would have to be looked at.
    pub(crate) fn too_broad(&self) -> Error {
        let reason = format!(
            "the search looks at too many {}; name an instance, a definition or another thing that fewer of them have, or sort by nothing",
            self.table
        );
        Error::TooBroad { reason }
    }

    /// Whether rows of its table have the column, or the instances that they are about.
    fn has(&self, column: Column) -> bool {
        fits(column, self.table)
    }

    /// The instance that all rows must be about, where the conditions name one.
    #[doc(hidden)] // The engine asks, to know which shard has the rows.
    pub fn instance(&self) -> Option<u64> {
        fn of(condition: &Condition, table: Table) -> Option<u64> {
            match condition {
                Condition::All(all) => all.iter().find_map(|it| of(it, table)),
                Condition::Any(any) => match &any[..] {
                    [one] => of(one, table),
                    _ => None,
                },
                Condition::Is(column, Test::Eq(value)) => named(*column, value, table),
                Condition::Is(column, Test::In(values)) => match &values[..] {
                    [one] => named(*column, one, table),
                    _ => None,
                },
                Condition::Is(..) | Condition::Has(..) | Condition::At(..) => None,
            }
        }
        fn named(column: Column, value: &Value, table: Table) -> Option<u64> {
            let own = Column::instance_of(table) == Some(column)
                || (column == InstanceColumn::Id.into() && table != Table::Messages);
            let inside = column.table() == table.present() && table != Table::Instances;
            if let Value::Number(number) = value {
                return u64::try_from(*number).ok().filter(|_| own);
            }
            if let Value::Key(instance, _) = value { inside.then_some(*instance) } else { None }
        }
        self.conditions.iter().find_map(|it| of(it, self.table))
    }

    /// The tables that it reads.
    #[doc(hidden)] // The engine asks, to know which rows it needs.
    pub fn tables(&self) -> std::collections::BTreeSet<Table> {
        fn of(condition: &Condition, all: &mut std::collections::BTreeSet<Table>) {
            match condition {
                Condition::All(inner) | Condition::Any(inner) => {
                    for it in inner {
                        of(it, all);
                    }
                }
                Condition::Is(column, _) => drop(all.insert(column.table())),
                Condition::Has(table, inner) | Condition::At(table, inner) => {
                    all.insert(*table);
                    for it in inner {
                        of(it, all);
                    }
                }
            }
        }
        let mut all = std::collections::BTreeSet::from([self.table]);
        all.extend(self.sort.iter().map(|it| it.column.table()));
        self.conditions.iter().for_each(|it| of(it, &mut all));
        all
    }

    /// Whether rows come in the order of their keys, and then whether the greatest comes first.
    pub(crate) fn by_key(&self) -> Option<bool> {
        let whole = Column::instance_of(self.table).unwrap_or_else(|| MessageColumn::Id.into());
        match &self.sort[..] {
            [] => Some(false),
            [one] if one.column == whole => Some(one.descending),
            _ => None,
        }
    }

    /// The direction in which the key decides.
    pub(crate) fn is_key_descending(&self) -> bool {
        self.sort.last().is_some_and(|it| it.descending)
    }
}

/// Whether rows of a table have the column, or the instances that they are about.
fn fits(column: Column, table: Table) -> bool {
    column.table() == table.present()
        // A message is about no instance.
        || (column.table() == Table::Instances && table != Table::Messages)
}

/// Whether rows of a table belong to visits.
fn has_visits(table: Table) -> bool {
    match table {
        Table::Elements
        | Table::Variables
        | Table::Jobs
        | Table::Tasks
        | Table::Timers
        | Table::Incidents
        | Table::PastJobs
        | Table::PastTasks
        | Table::PastIncidents => true,
        Table::Instances | Table::Subscriptions | Table::Messages => false,
    }
}

pub(crate) fn bad(reason: impl Into<String>) -> Error {
    Error::BadQuery { reason: reason.into() }
}

/// How much a search asks for.
#[derive(Default)]
struct Size {
    conditions: usize,
    values: usize,
}

impl Condition {
    /// What is in the column passes the test.
    ///
    /// ```
    /// # use travertine_store::search::{Condition, JobColumn, Test};
    /// let mail = Condition::of(JobColumn::JobType, Test::eq("mail"));
    /// assert_eq!(mail, Condition::Is(JobColumn::JobType.into(), Test::eq("mail")));
    /// ```
    pub fn of(column: impl Into<Column>, test: Test) -> Self {
        Self::Is(column.into(), test)
    }

    /// Its instance has a row in that table for which this holds.
    ///
    /// ```
    /// # use travertine_store::search::{Condition, ElementColumn, Test};
    /// # use travertine_store::view::Table;
    /// let pack = Condition::of(ElementColumn::Element, Test::eq("pack"));
    /// let packing = Condition::has(Table::Elements, pack);
    /// ```
    pub fn has(table: Table, condition: Self) -> Self {
        Self::Has(table, vec![condition])
    }

    /// Its instance runs and has a variable of that name whose value, as JSON, passes the test.
    ///
    /// ```
    /// # use travertine_store::search::{Condition, Test};
    /// let in_rome = Condition::variable("town", Test::eq(r#""Rome""#));
    /// assert_ne!(in_rome, Condition::variable("town", Test::Exists(true)));
    /// ```
    pub fn variable(name: impl Into<Name>, test: Test) -> Self {
        let name = Test::Eq(Value::Text(name.into()));
        Self::Has(
            Table::Variables,
            vec![Self::of(VariableColumn::Name, name), Self::of(VariableColumn::Value, test)],
        )
    }

    fn check(
        &self,
        table: Table,
        inside: bool,
        depth: usize,
        size: &mut Size,
    ) -> Result<(), Error> {
        size.conditions += 1;
        if size.conditions > CONDITIONS_MAX {
            return Err(bad(format!("a search has at most {CONDITIONS_MAX} conditions")));
        }
        if depth > DEPTH_MAX {
            return Err(bad(format!("conditions are at most {DEPTH_MAX} levels deep")));
        }
        match self {
            Self::All(all) | Self::Any(all) => {
                all.iter().try_for_each(|it| it.check(table, inside, depth + 1, size))
            }
            Self::Is(column, test) => {
                let here =
                    if inside { column.table() == table.present() } else { fits(*column, table) };
                if !here {
                    return Err(bad(format!("{table} cannot be asked for by {column}")));
                }
                test.check(*column, size)
            }
            Self::Has(other, all) | Self::At(other, all) => {
                let at = matches!(self, Self::At(..));
                let about = |it| if at { has_visits(it) } else { it != Table::Messages };
                if inside || !about(table) || !about(*other) || *other == Table::Instances {
                    return Err(bad(format!("{table} cannot be asked for by {other}")));
                }
                all.iter().try_for_each(|it| it.check(*other, true, depth + 1, size))
            }
        }
    }
}

impl Test {
    /// Whether a value is this.
    ///
    /// ```
    /// # use travertine_store::search::{Test, Value};
    /// assert_eq!(Test::eq("ann"), Test::Eq(Value::Text("ann".into())));
    /// ```
    pub fn eq(value: impl Into<Value>) -> Self {
        Self::Eq(value.into())
    }

    /// Whether a value is something else, or there is none.
    ///
    /// ```
    /// # use travertine_store::search::{Test, Value};
    /// assert_eq!(Test::neq(3_u64), Test::Neq(Value::Number(3)));
    /// ```
    pub fn neq(value: impl Into<Value>) -> Self {
        Self::Neq(value.into())
    }

    /// Whether a value is one of these.
    ///
    /// ```
    /// # use travertine_store::search::{Test, Value};
    /// assert_eq!(Test::any_of(["ann"]), Test::In(vec![Value::from("ann")]));
    /// ```
    pub fn any_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::In(values.into_iter().map(Into::into).collect())
    }

    /// Whether a value is a text like this: `*` stands for any characters, `?` for one, and a backslash before them,
    /// or before another one, for themselves.
    ///
    /// ```
    /// # use travertine_store::search::Test;
    /// assert!(Test::like("order-*").is_ok());
    /// assert!(Test::like("*".repeat(10_000)).is_err(), "that is too long");
    /// ```
    pub fn like(pattern: impl AsRef<str>) -> Result<Self, Error> {
        Ok(Self::Like(Pattern::parse(pattern.as_ref())?))
    }

    fn check(&self, column: Column, size: &mut Size) -> Result<(), Error> {
        let kind = column.kind();
        let values = match self {
            Self::Exists(_) => return Ok(()),
            Self::Like(_) => {
                return if matches!(kind, Kind::Text | Kind::LongText | Kind::List) {
                    Ok(())
                } else {
                    Err(bad(format!("{column} is no text, so it cannot be like one")))
                };
            }
            Self::Gt(value) | Self::Gte(value) | Self::Lt(value) | Self::Lte(value) => {
                if matches!(kind, Kind::Bool | Kind::Key | Kind::List) {
                    return Err(bad(format!("{column} cannot be compared by greater and less")));
                }
                std::slice::from_ref(value)
            }
            Self::Eq(value) | Self::Neq(value) => std::slice::from_ref(value),
            Self::In(values) | Self::NotIn(values) => &values[..],
        };
        size.values += values.len();
        if size.values > VALUES_MAX {
            return Err(bad(format!("a search has at most {VALUES_MAX} values")));
        }
        match values.iter().find(|it| !it.is_for(kind)) {
            Some(wrong) => Err(bad(format!("{column} is never {}", wrong.what()))),
            None => Ok(()),
        }
    }
}

impl Value {
    /// Texts of a JSON list.
    fn list(json: &str) -> Self {
        let Ok(travertine_value::Value::List(items)) = travertine_value::Value::parse_json(json)
        else {
            return Self::List(Vec::new());
        };
        let texts = items.iter().filter_map(|it| {
            if let travertine_value::Value::String(text) = it {
                Some(Name::clone(text))
            } else {
                None
            }
        });
        Self::List(texts.collect())
    }

    fn is_for(&self, kind: Kind) -> bool {
        match self {
            Self::Number(_) => kind == Kind::Number,
            Self::Text(_) => matches!(kind, Kind::Text | Kind::LongText | Kind::List),
            Self::Time(_) => kind == Kind::Time,
            Self::Bool(_) => kind == Kind::Bool,
            Self::Key(..) => kind == Kind::Key,
            Self::List(_) => false,
        }
    }

    fn what(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Time(_) => "a time",
            Self::Bool(_) => "true or false",
            Self::Key(..) => "a key",
            Self::List(_) => "a list",
        }
    }
}

impl From<&str> for Value {
    fn from(it: &str) -> Self {
        Self::Text(it.into())
    }
}

impl From<Name> for Value {
    fn from(it: Name) -> Self {
        Self::Text(it)
    }
}

impl From<u64> for Value {
    fn from(it: u64) -> Self {
        // What is greater than any number was never written.
        Self::Number(i64::try_from(it).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for Value {
    fn from(it: Timestamp) -> Self {
        Self::Time(it)
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Bool(it)
    }
}

impl From<InstanceId> for Value {
    fn from(it: InstanceId) -> Self {
        it.0.into()
    }
}

impl From<DefinitionKey> for Value {
    fn from(it: DefinitionKey) -> Self {
        it.0.into()
    }
}

impl From<Address> for Value {
    fn from(it: Address) -> Self {
        Self::Key(it.instance.0, it.wait.0)
    }
}

impl From<(u64, u64)> for Value {
    fn from((instance, number): (u64, u64)) -> Self {
        Self::Key(instance, number)
    }
}

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), start: None, end: None, has_more: false, total: None }
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.has_more { " and more" } else { "" };
        write!(f, "{}{more}", self.count)
    }
}

#[cfg(test)]
mod tests;
