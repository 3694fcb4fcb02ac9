//! Which questions make sense.

use std::fmt;

use crate::{
    Error,
    view::{Filter, Query, Table},
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
            Subject::Row(tables) => tables.contains(&table.present()),
            // A message is about no instance.
            Subject::Instance => table != Table::Messages,
        }
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
            Self::PastJobs => "past_jobs",
            Self::PastTasks => "past_tasks",
            Self::PastIncidents => "past_incidents",
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
