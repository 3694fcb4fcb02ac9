//! What is there and what is over, in one order.
//!
//! They are rows of two tables with the same columns. A store searches each of them; here they become one page.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    COUNT_MAX, Column, Condition, Era, Found, IncidentColumn, JobColumn, Place, Search, Source,
    TaskColumn, Total, Value, evaluate,
};
use crate::{
    Error, InstanceId, Store,
    view::{InstanceRow, JobState, Key, Row, Table, TaskState},
};

/// What a search must look at: what is over only where its conditions are about that, and of what is there and over
/// only that for which they can hold.
#[doc(hidden)] // For servers: it says nothing that conditions do not say.
pub fn era_of(conditions: &[Condition]) -> Option<Era> {
    let asks = conditions.iter().any(asks);
    let can = |past| conditions.iter().all(|it| can_hold(it, past));
    asks.then(|| match (can(false), can(true)) {
        (true, true) => Era::Both,
        (false, true) => Era::Past,
        (_, false) => Era::Present,
    })
}

/// Whether a condition is about how something is over.
fn asks(condition: &Condition) -> bool {
    match condition {
        Condition::All(all) | Condition::Any(all) => all.iter().any(asks),
        Condition::Is(column, _) => states(*column, false).is_some() || is_of_past(*column),
        Condition::Has(..) | Condition::At(..) => false,
    }
}

/// Whether a condition can hold for a row of what is there, or of what is over.
fn can_hold(condition: &Condition, past: bool) -> bool {
    match condition {
        Condition::All(all) => all.iter().all(|it| can_hold(it, past)),
        Condition::Any(any) => any.iter().any(|it| can_hold(it, past)),
        Condition::Is(column, test) => match states(*column, past) {
            Some(states) => states.iter().any(|it| test.passes(Some(it))),
            // What is there has not ended.
            None if is_of_past(*column) => past || test.passes(None),
            None => true,
        },
        Condition::Has(..) | Condition::At(..) => true,
    }
}

fn is_of_past(column: Column) -> bool {
    [
        Column::from(JobColumn::Ended),
        JobColumn::By.into(),
        TaskColumn::Ended.into(),
        TaskColumn::By.into(),
        IncidentColumn::Ended.into(),
        IncidentColumn::By.into(),
    ]
    .contains(&column)
}

/// The states that rows of what is there or over are in, where the column is that.
fn states(column: Column, past: bool) -> Option<Vec<Value>> {
    if column == JobColumn::State.into() {
        let all = JobState::ALL.into_iter().filter(|it| it.is_past() == past);
        return Some(all.map(Value::from).collect());
    }
    if column == TaskColumn::State.into() {
        let all = TaskState::ALL.into_iter().filter(|it| (*it != TaskState::Open) == past);
        return Some(all.map(Value::from).collect());
    }
    None
}

/// Rows that someone searches for, of the era that is asked for.
#[doc(hidden)] // The engine asks, and adds what is not stored yet.
pub fn find(store: &dyn Store, search: &Search) -> Result<Found, Error> {
    search.check()?;
    let of = |table| Search { table, era: Era::Present, ..search.clone() };
    match (search.era, search.table.past()) {
        (Era::Present, _) | (_, None) => store.search(search),
        (Era::Past, Some(past)) => store.search(&of(past)),
        (Era::Both, Some(past)) => both(store, search, &of(search.table), &of(past)),
    }
}

fn both(
    store: &dyn Store,
    search: &Search,
    present: &Search,
    past: &Search,
) -> Result<Found, Error> {
    let whole = |it: &Search| {
        let mut it = it.clone();
        if let Place::Skip(rows) = it.place {
            it.place = Place::First;
            // How many of each are passed over is known once both are there.
            it.limit = it.limit.saturating_add(rows);
        }
        it
    };
    // In this order: what comes to be over between the two is found twice and not missed.
    let there = pages(store, &whole(present))?;
    let over = pages(store, &whole(past))?;
    let seen: BTreeSet<Key> = over.rows.iter().map(Row::key).collect();
    let mut rows: Vec<Row> =
        there.rows.into_iter().filter(|it| !seen.contains(&it.key())).collect();
    rows.extend(over.rows);
    let by_instance = search.sort.iter().any(|it| it.column.table() == Table::Instances);
    let mut about = About::default();
    if by_instance {
        for id in rows.iter().map(|it| it.key().instance).collect::<BTreeSet<u64>>() {
            about.0.extend(store.instance(InstanceId(id))?.map(|it| (id, it)));
        }
    }
    // What must hold does, of all of them.
    let page = Search { conditions: Vec::new(), count: false, ..search.clone() };
    let mut found = evaluate(&page, &rows, &about);
    found.has_more |= there.has_more || over.has_more;
    if let (Some(one), Some(other)) = (there.total, over.total) {
        let count = one.count.saturating_add(other.count);
        let has_more = one.has_more || other.has_more || count > COUNT_MAX;
        found.total = Some(Total { count: count.min(COUNT_MAX), has_more });
    }
    Ok(found)
}

/// The rows of a search, however many one page may have.
fn pages(store: &dyn Store, search: &Search) -> Result<Found, Error> {
    let wanted = search.limit;
    let mut next = Search { limit: wanted.min(super::LIMIT_MAX), ..search.clone() };
    let mut found = store.search(&next)?;
    while found.has_more && found.rows.len() < wanted as usize {
        let Some(end) = found.end.clone() else { break };
        next.place = Place::After(end);
        next.count = false;
        let more = store.search(&next)?;
        found.rows.extend(more.rows);
        (found.end, found.has_more) = (more.end, more.has_more);
    }
    Ok(found)
}

/// The instances that rows are about.
#[derive(Default)]
struct About(BTreeMap<u64, InstanceRow>);

impl Source for About {
    fn instance(&self, id: u64) -> Option<&InstanceRow> {
        self.0.get(&id)
    }

    fn any(&self, _: Table, _: u64, _: &dyn Fn(&Row) -> bool) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Test;

    #[test]
    fn what_is_over_is_looked_at_where_conditions_are_about_that() {
        let state = |it: TaskState| Condition::of(TaskColumn::State, Test::eq(it));
        let open = || state(TaskState::Open);
        let done = || state(TaskState::Completed);
        let mine = || Condition::of(TaskColumn::Assignee, Test::eq("ann"));
        assert_eq!(era_of(&[mine()]), None);
        assert_eq!(era_of(&[mine(), open()]), Some(Era::Present));
        assert_eq!(era_of(&[mine(), done()]), Some(Era::Past));
        assert_eq!(era_of(&[Condition::Any(vec![open(), done()])]), Some(Era::Both));
        assert_eq!(era_of(&[Condition::All(vec![open(), done()])]), Some(Era::Present));
        let ended = |it| Condition::of(IncidentColumn::Ended, Test::Exists(it));
        assert_eq!(era_of(&[ended(true)]), Some(Era::Past));
        assert_eq!(era_of(&[ended(false)]), Some(Era::Both));
        let job = Condition::of(JobColumn::State, Test::neq(JobState::Completed));
        assert_eq!(era_of(&[job]), Some(Era::Both));
    }
}
