//! Questions as SQL.

use rusqlite::types::Value;

use super::rows::{
    OPEN, SHORT, SHORT_MAX, columns, instance_state, job_state, key_columns, key_values, kind,
};
use crate::view::{Cursor, Filter, InstanceState, Query, Table};

/// A statement and its parameters.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

/// The statement for a question that makes sense. It asks for one row more than a page has.
pub(super) fn of(query: &Query) -> Sql {
    let table = query.table;
    let mut it = Conditions { all: Vec::new(), values: Vec::new() };
    let joined = query.filters.iter().any(|filter| filter.is_about_instance(table));
    for filter in &query.filters {
        it.filter(table, filter);
    }
    if let Some(Cursor(key)) = &query.after {
        // Of one instance it goes on behind the rest of the key: SQLite finds that place by index.
        let within = |filter: &Filter| *filter == Filter::Instance(key.instance);
        let skipped = usize::from(key_columns(table).len() > 1 && query.filters.iter().any(within));
        let values = key_values(table, key).into_iter().skip(skipped);
        let places: Vec<String> = values.map(|value| it.place(value)).collect();
        let names: Vec<String> =
            key_columns(table).iter().skip(skipped).map(|name| format!("t.{name}")).collect();
        let sign = if query.descending { "<" } else { ">" };
        it.all.push(format!("({}) {sign} ({})", names.join(", "), places.join(", ")));
    }
    let limit = it.place(Value::Integer(i64::from(query.limit) + 1));
    let names: Vec<String> = columns(table).iter().map(|name| format!("t.{name}")).collect();
    let mut text = format!("SELECT {} FROM {table} t", names.join(", "));
    if joined && table != Table::Instances {
        text.push_str(" JOIN instances i ON i.id = t.instance");
    }
    if !it.all.is_empty() {
        text.push_str(" WHERE ");
        text.push_str(&it.all.join(" AND "));
    }
    let direction = if query.descending { " DESC" } else { "" };
    let order = keys(table, direction);
    Sql { text: format!("{text} ORDER BY {order} LIMIT {limit}"), values: it.values }
}

fn keys(table: Table, direction: &str) -> String {
    let names = key_columns(table).iter().map(|name| format!("t.{name}{direction}"));
    names.collect::<Vec<_>>().join(", ")
}

struct Conditions {
    all: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn place(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn equal(&mut self, column: &str, value: Value) {
        let place = self.place(value);
        self.all.push(format!("{column} = {place}"));
    }

    /// From, to (without).
    fn span(&mut self, column: &str, from: Option<i64>, to: Option<i64>) {
        self.all.push(format!("{column} IS NOT NULL"));
        for (sign, limit) in [(">=", from), ("<", to)] {
            if let Some(limit) = limit {
                let place = self.place(Value::Integer(limit));
                self.all.push(format!("{column} {sign} {place}"));
            }
        }
    }

    fn listed(&mut self, column: &str, name: &str) {
        let place = self.place(text(name));
        self.all.push(format!("EXISTS (SELECT 1 FROM json_each({column}) WHERE value = {place})"));
    }

    fn filter(&mut self, table: Table, filter: &Filter) {
        // The row of the instance is the row itself, or the one joined to it.
        let i = if table == Table::Instances { "t" } else { "i" };
        match filter {
            Filter::Instance(id) => {
                let column = if table == Table::Instances { "t.id" } else { "t.instance" };
                self.equal(column, number(*id));
            }
            Filter::Root(id) => {
                let place = self.place(number(*id));
                // Those that were called are found by index.
                self.all.push(format!(
                    "{i}.id IN (SELECT id FROM instances WHERE root = {place} AND root <> id
                     UNION SELECT id FROM instances WHERE id = {place} AND root = {place})"
                ));
            }
            Filter::Parent(id) => {
                self.all.push(format!("{i}.parent IS NOT NULL"));
                self.equal(&format!("{i}.parent"), number(*id));
            }
            Filter::TopLevel => self.all.push(format!("{i}.parent IS NULL")),
            Filter::Definition(id) => {
                let of = if table == Table::Timers { "t" } else { i };
                self.equal(&format!("{of}.definition"), text(id));
            }
            Filter::NotDefinition(id) => {
                let place = self.place(text(id));
                self.all.push(format!("{i}.definition <> {place}"));
            }
            Filter::Version(version) => {
                self.equal(&format!("{i}.version"), number(u64::from(*version)));
            }
            Filter::State(states) => self.states(i, states),
            Filter::BusinessId(id) => {
                self.all.push(format!("{i}.business_id IS NOT NULL"));
                self.equal(&format!("{i}.business_id"), text(id));
            }
            Filter::Started(from, to) => self.span(&format!("{i}.started"), *from, *to),
            Filter::Ended(from, to) => self.span(&format!("{i}.ended"), *from, *to),
            Filter::HasIncidents(true) => self.all.push(format!("{i}.incidents > 0")),
            Filter::HasIncidents(false) => self.all.push(format!("{i}.incidents = 0")),
            Filter::Variable(name, value) => {
                let short = if value.chars().count() <= SHORT_MAX { SHORT } else { "true" };
                let (name, value) = (self.place(text(name)), self.place(text(value)));
                self.all.push(format!(
                    "{i}.id IN (SELECT instance FROM variables
                     WHERE name = {name} AND value = {value} AND {short})"
                ));
            }
            Filter::Element(id) => self.equal("t.element", text(id)),
            Filter::Named(name) => self.equal("t.name", text(name)),
            Filter::JobType(wanted) => self.equal("t.job_type", text(wanted)),
            Filter::JobState(state) => self.equal("t.state", text(job_state(*state))),
            Filter::Assignee(name) => self.equal("t.assignee", text(name)),
            Filter::Unassigned => self.all.push(String::from("t.assignee IS NULL")),
            Filter::CandidateUser(name) => self.listed("t.candidate_users", name),
            Filter::CandidateGroup(name) => self.listed("t.candidate_groups", name),
            Filter::Due(from, to) => self.span("t.due", *from, *to),
            Filter::Kind(wanted) => self.equal("t.kind", text(kind(*wanted))),
            Filter::Dead(true) => self.all.push(String::from("t.dead IS NOT NULL")),
            Filter::Dead(false) => self.all.push(String::from("t.dead IS NULL")),
        }
    }

    fn states(&mut self, i: &str, states: &[InstanceState]) {
        use InstanceState::{Halted, Running, Suspended};
        if states.iter().all(|it| matches!(it, Running | Suspended | Halted)) {
            self.all.push(format!("{i}.{OPEN}"));
        }
        let words = states.iter().map(|it| format!("'{}'", instance_state(*it)));
        self.all.push(format!("{i}.state IN ({})", words.collect::<Vec<_>>().join(", ")));
    }
}

fn text(it: &str) -> Value {
    Value::Text(it.to_owned())
}

/// What is greater than any number was never written.
fn number(it: u64) -> Value {
    Value::Integer(i64::try_from(it).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};
    use travertine_value::Name;

    use super::*;
    use crate::sqlite::rows;

    /// How SQLite goes about a question.
    fn plan(table: Table, filters: Vec<Filter>) -> String {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&rows::schema()).unwrap();
        let sql = of(&Query { table, filters, descending: true, after: None, limit: 10 });
        let text = format!("EXPLAIN QUERY PLAN {}", sql.text);
        let mut statement = connection.prepare(&text).unwrap();
        let steps = statement.query_map(params_from_iter(sql.values), |row| row.get(3)).unwrap();
        steps.collect::<Result<Vec<String>, _>>().unwrap().join("; ")
    }

    #[test]
    fn questions_about_few_rows_are_answered_by_index() {
        use Table::{Elements, Instances, Jobs, Messages, Subscriptions, Tasks, Timers};
        let a = || Name::from("a");
        let running = || Filter::State(vec![InstanceState::Running]);
        for (table, filters, index) in [
            (Instances, vec![running()], "instances_open"),
            (Instances, vec![running(), Filter::Definition(a())], "instances_open_by_definition"),
            (Instances, vec![Filter::BusinessId(a())], "instances_by_business_id"),
            (Instances, vec![Filter::Parent(4)], "instances_by_parent"),
            (Instances, vec![Filter::Root(4)], "instances_by_root"),
            (Instances, vec![Filter::Ended(Some(1), Some(2))], "instances_by_end"),
            (Instances, vec![Filter::HasIncidents(true)], "instances_with_incidents"),
            (Instances, vec![Filter::Variable(a(), a())], "variables_by_value"),
            (Instances, vec![running(), Filter::Variable(a(), a())], "variables_by_value"),
            (Jobs, vec![Filter::Variable(a(), a())], "variables_by_value"),
            (Jobs, vec![Filter::BusinessId(a())], "instances_by_business_id"),
            (Jobs, vec![Filter::JobType(a())], "jobs_by_type"),
            (Elements, vec![Filter::Element(a())], "elements_by_element"),
            (Tasks, vec![Filter::Assignee(a())], "tasks_by_assignee"),
            (Tasks, vec![Filter::Unassigned], "tasks_by_assignee"),
            (Tasks, vec![Filter::Due(None, Some(1))], "tasks_by_due"),
            (Timers, vec![Filter::Due(Some(0), Some(1))], "timers_by_due"),
            (Subscriptions, vec![Filter::Named(a())], "subscriptions_by_name"),
            (Messages, vec![Filter::Named(a())], "messages_by_name"),
            (Messages, vec![Filter::Dead(true)], "messages_dead"),
        ] {
            let steps = plan(table, filters.clone());
            assert!(steps.contains(index), "{table} by {filters:?}: {steps}");
        }
    }
}
