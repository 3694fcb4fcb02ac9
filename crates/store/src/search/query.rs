//! The simpler questions, as searches.

use travertine_value::time::Timestamp;

use super::{
    Column, Condition, Cursor, ElementColumn, IncidentColumn, InstanceColumn, JobColumn, LIMIT_MAX,
    MessageColumn, Place, Search, SubscriptionColumn, TaskColumn, Test, TimerColumn, Value,
    VariableColumn,
};
use crate::view::{Filter, Query, Table};

impl From<&Query> for Search {
    fn from(it: &Query) -> Self {
        let mut search = Self::of(it.table).limit(it.limit.min(LIMIT_MAX));
        search.unbounded = true;
        search.conditions = it.filters.iter().map(|filter| filter.condition(it.table)).collect();
        if it.descending {
            let first = Column::instance_of(it.table).unwrap_or_else(|| MessageColumn::Id.into());
            search = search.descending(first);
        }
        if let Some(after) = &it.after {
            let values = search.sort.iter().map(|_| Some(Value::from(after.0.instance))).collect();
            search.place = Place::After(Cursor::new(&search, values, after.0.clone()));
        }
        search
    }
}

impl Filter {
    fn condition(&self, table: Table) -> Condition {
        let is = |column: InstanceColumn, test| Condition::of(column, test);
        // It is about an instance, too, not only about none that is otherwise.
        let about =
            |condition| Condition::All(vec![is(InstanceColumn::Id, Test::Exists(true)), condition]);
        match self {
            Self::Instance(id) => {
                let column =
                    Column::instance_of(table).unwrap_or_else(|| InstanceColumn::Id.into());
                Condition::of(column, Test::eq(*id))
            }
            Self::Root(id) => is(InstanceColumn::Root, Test::eq(*id)),
            Self::Parent(id) => is(InstanceColumn::Parent, Test::eq(*id)),
            Self::TopLevel => about(is(InstanceColumn::Parent, Test::Exists(false))),
            Self::Definition(id) if table == Table::Timers => {
                Condition::of(TimerColumn::Definition, text(id))
            }
            Self::Definition(id) => is(InstanceColumn::Definition, text(id)),
            Self::NotDefinition(id) => {
                about(is(InstanceColumn::Definition, Test::Neq(Value::from(&**id))))
            }
            Self::Version(version) => is(InstanceColumn::Version, Test::eq(u64::from(*version))),
            Self::State(states) => is(InstanceColumn::State, Test::any_of(states.iter().copied())),
            Self::BusinessId(id) => is(InstanceColumn::BusinessId, text(id)),
            Self::Started(from, to) => span(InstanceColumn::Started, *from, *to),
            Self::Ended(from, to) => span(InstanceColumn::Ended, *from, *to),
            Self::HasIncidents(wanted) => is(InstanceColumn::HasIncidents, Test::eq(*wanted)),
            Self::Variable(name, value) => Condition::variable(&**name, text(value)),
            Self::Element(id) => {
                let column: Column = match table {
                    Table::Jobs | Table::PastJobs => JobColumn::Element.into(),
                    Table::Tasks | Table::PastTasks => TaskColumn::Element.into(),
                    Table::Timers => TimerColumn::Element.into(),
                    Table::Subscriptions => SubscriptionColumn::Element.into(),
                    Table::Incidents | Table::PastIncidents => IncidentColumn::Element.into(),
                    Table::Elements | Table::Instances | Table::Variables | Table::Messages => {
                        ElementColumn::Element.into()
                    }
                };
                Condition::of(column, text(id))
            }
            Self::Named(name) => {
                let column: Column = match table {
                    Table::Variables => VariableColumn::Name.into(),
                    Table::Messages => MessageColumn::Name.into(),
                    Table::Subscriptions
                    | Table::Instances
                    | Table::Elements
                    | Table::Jobs
                    | Table::Tasks
                    | Table::Timers
                    | Table::Incidents
                    | Table::PastJobs
                    | Table::PastTasks
                    | Table::PastIncidents => SubscriptionColumn::Name.into(),
                };
                Condition::of(column, text(name))
            }
            Self::JobType(wanted) => Condition::of(JobColumn::JobType, text(wanted)),
            Self::JobState(state) => Condition::of(JobColumn::State, Test::eq(*state)),
            Self::Assignee(name) => Condition::of(TaskColumn::Assignee, text(name)),
            Self::Unassigned => Condition::of(TaskColumn::Assignee, Test::Exists(false)),
            Self::CandidateUser(name) => Condition::of(TaskColumn::CandidateUsers, text(name)),
            Self::CandidateGroup(name) => Condition::of(TaskColumn::CandidateGroups, text(name)),
            Self::Due(from, to) if table == Table::Timers => span(TimerColumn::Due, *from, *to),
            Self::Due(from, to) => span(TaskColumn::Due, *from, *to),
            Self::Kind(kind) => Condition::of(SubscriptionColumn::Kind, Test::eq(*kind)),
            Self::Dead(dead) => Condition::of(MessageColumn::Dead, Test::Exists(*dead)),
        }
    }
}

fn text(it: &str) -> Test {
    Test::eq(it)
}

/// From, to (without).
fn span(column: impl Into<Column>, from: Option<Timestamp>, to: Option<Timestamp>) -> Condition {
    let column = column.into();
    let tests = [
        Some(Test::Exists(true)),
        from.map(|it| Test::Gte(Value::Time(it))),
        to.map(|it| Test::Lt(Value::Time(it))),
    ];
    Condition::All(tests.into_iter().flatten().map(|it| Condition::of(column, it)).collect())
}
