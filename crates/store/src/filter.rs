//! Which questions make sense, and whether a row is an answer.

use std::fmt;

use travertine_value::Value;

use crate::{
    Error,
    view::{Filter, InstanceRow, Query, Row, Table},
};

impl Query {
    /// Refuses what makes no sense, for every store in the same words.
    #[doc(hidden)] // The engine asks, before a store does.
    pub fn check(&self) -> Result<(), Error> {
        if self.limit == 0 {
            return Err(bad(String::from("a page needs room for at least one row")));
        }
        for filter in &self.filters {
            if !filter.fits(self.table) {
                return Err(bad(format!("{} cannot be asked for by {filter}", self.table)));
            }
        }
        Ok(())
    }
}

fn bad(reason: String) -> Error {
    Error::BadQuery { reason }
}

/// What a filter is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The row itself, in these tables.
    Row(&'static [Table]),
    /// The instance that the row is about.
    Instance,
}

impl Filter {
    /// Whether rows of the table can be asked for by it.
    #[doc(hidden)] // The engine asks, before a store does.
    pub fn fits(&self, table: Table) -> bool {
        match self.subject() {
            Subject::Row(tables) => tables.contains(&table),
            // A message is about no instance.
            Subject::Instance => table != Table::Messages,
        }
    }

    /// Whether it is answered from the row of the instance that a row of the table is about.
    pub(crate) fn is_about_instance(&self, table: Table) -> bool {
        // Timers know their definition: those that start instances have no instance. The number of
        // the instance is in every row.
        let known = matches!(self, Self::Instance(_))
            || (table == Table::Timers && matches!(self, Self::Definition(_)));
        !known && self.subject() == Subject::Instance
    }

    fn subject(&self) -> Subject {
        use Table::{Elements, Incidents, Jobs, Messages, Subscriptions, Tasks, Timers, Variables};
        match self {
            Self::Instance(_)
            | Self::Root(_)
            | Self::Parent(_)
            | Self::TopLevel
            | Self::Definition(_)
            | Self::NotDefinition(_)
            | Self::Version(_)
            | Self::State(_)
            | Self::BusinessId(_)
            | Self::Started(..)
            | Self::Ended(..)
            | Self::HasIncidents(_)
            | Self::Variable(..) => Subject::Instance,
            Self::Element(_) => {
                Subject::Row(&[Elements, Jobs, Tasks, Timers, Subscriptions, Incidents])
            }
            Self::Named(_) => Subject::Row(&[Variables, Subscriptions, Messages]),
            Self::JobType(_) | Self::JobState(_) => Subject::Row(&[Jobs]),
            Self::Assignee(_)
            | Self::Unassigned
            | Self::CandidateUser(_)
            | Self::CandidateGroup(_) => Subject::Row(&[Tasks]),
            Self::Due(..) => Subject::Row(&[Tasks, Timers]),
            Self::Kind(_) => Subject::Row(&[Subscriptions]),
            Self::Dead(_) => Subject::Row(&[Messages]),
        }
    }

    /// Whether it holds for a row. `about` is the row of its instance, and `has` says whether that
    /// instance has a variable of this name and value.
    pub(crate) fn holds(
        &self,
        row: &Row,
        about: Option<&InstanceRow>,
        has: &dyn Fn(u64, &str, &str) -> bool,
    ) -> bool {
        let of = |test: &dyn Fn(&InstanceRow) -> bool| about.is_some_and(test);
        match self {
            Self::Instance(id) => row.key().instance == *id,
            Self::Root(root) => of(&|it| it.root == *root),
            Self::Parent(parent) => of(&|it| it.parent.is_some_and(|(id, _)| id == *parent)),
            Self::TopLevel => of(&|it| it.parent.is_none()),
            Self::Definition(id) => {
                if let Row::Timer(it) = row {
                    it.definition == *id
                } else {
                    of(&|it| it.definition == *id)
                }
            }
            Self::NotDefinition(id) => of(&|it| it.definition != *id),
            Self::Version(version) => of(&|it| it.version == *version),
            Self::State(states) => of(&|it| states.contains(&it.state)),
            Self::BusinessId(id) => of(&|it| it.business_id.as_ref() == Some(id)),
            Self::Started(from, to) => of(&|it| within(Some(it.started), *from, *to)),
            Self::Ended(from, to) => of(&|it| within(it.ended, *from, *to)),
            Self::HasIncidents(wanted) => of(&|it| (it.incidents > 0) == *wanted),
            Self::Variable(name, value) => of(&|it| has(it.id, name, value)),
            Self::Element(id) => match row {
                Row::Element(it) => it.element == *id,
                Row::Job(it) => it.element == *id,
                Row::Task(it) => it.element == *id,
                Row::Timer(it) => it.element == *id,
                Row::Subscription(it) => it.element == *id,
                Row::Incident(it) => it.element == *id,
                Row::Instance(_) | Row::Variable(_) | Row::Message(_) => false,
            },
            Self::Named(name) => match row {
                Row::Variable(it) => it.name == *name,
                Row::Subscription(it) => it.name == *name,
                Row::Message(it) => it.name == *name,
                Row::Instance(_)
                | Row::Element(_)
                | Row::Job(_)
                | Row::Task(_)
                | Row::Timer(_)
                | Row::Incident(_) => false,
            },
            Self::JobType(wanted) => matches!(row, Row::Job(it) if it.job_type == *wanted),
            Self::JobState(state) => matches!(row, Row::Job(it) if it.state == *state),
            Self::Assignee(name) => {
                matches!(row, Row::Task(it) if it.assignee.as_ref() == Some(name))
            }
            Self::Unassigned => matches!(row, Row::Task(it) if it.assignee.is_none()),
            Self::CandidateUser(name) => {
                matches!(row, Row::Task(it) if lists(&it.candidate_users, name))
            }
            Self::CandidateGroup(name) => {
                matches!(row, Row::Task(it) if lists(&it.candidate_groups, name))
            }
            Self::Due(from, to) => {
                if let Row::Timer(it) = row {
                    within(Some(it.due), *from, *to)
                } else {
                    matches!(row, Row::Task(it) if within(it.due, *from, *to))
                }
            }
            Self::Kind(kind) => matches!(row, Row::Subscription(it) if it.kind == *kind),
            Self::Dead(dead) => matches!(row, Row::Message(it) if it.dead.is_some() == *dead),
        }
    }
}

/// Whether a time is there and in the span, without its end.
fn within(at: Option<i64>, from: Option<i64>, to: Option<i64>) -> bool {
    at.is_some_and(|at| from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to))
}

/// Whether a JSON list has this text in it.
fn lists(list: &str, name: &str) -> bool {
    let Ok(Value::List(items)) = Value::parse_json(list) else { return false };
    items.iter().any(|it| matches!(it, Value::String(text) if **text == *name))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instances => "instances",
            Self::Elements => "elements",
            Self::Variables => "variables",
            Self::Jobs => "jobs",
            Self::Tasks => "tasks",
            Self::Timers => "timers",
            Self::Subscriptions => "subscriptions",
            Self::Incidents => "incidents",
            Self::Messages => "messages",
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instance(_) => "instance",
            Self::Root(_) => "root",
            Self::Parent(_) => "parent",
            Self::TopLevel => "top level",
            Self::Definition(_) | Self::NotDefinition(_) => "definition",
            Self::Version(_) => "version",
            Self::State(_) => "state",
            Self::BusinessId(_) => "business id",
            Self::Started(..) => "start",
            Self::Ended(..) => "end",
            Self::HasIncidents(_) => "incidents",
            Self::Variable(..) => "variable",
            Self::Element(_) => "element",
            Self::Named(_) => "name",
            Self::JobType(_) => "job type",
            Self::JobState(_) => "job state",
            Self::Assignee(_) => "assignee",
            Self::Unassigned => "having no assignee",
            Self::CandidateUser(_) => "candidate user",
            Self::CandidateGroup(_) => "candidate group",
            Self::Due(..) => "due date",
            Self::Kind(_) => "kind",
            Self::Dead(_) => "dead letters",
        })
    }
}
