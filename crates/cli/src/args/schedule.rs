//! What can be asked of the schedules of a store.

use std::time::Duration;

use clap::{ArgGroup, Subcommand, builder::NonEmptyStringValueParser};

use super::{
    store::{Shared, Variables},
    words,
};

/// List, add, pause, trigger and remove schedules
///
/// A schedule starts a process or a function again and again: as a cron expression says, or every so
/// much time. It is kept in the store, and fires while an engine runs on that: `travertine work`, or a
/// program. Of what was due while nobody ran, one is started when the next engine opens the store.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  travertine schedules
  travertine schedules add nightly cleanup --cron '0 2 * * *' --zone Europe/Vienna
  travertine schedules add sync import --every 15min --var source=shop --overlap queue
  travertine schedules pause nightly
  travertine schedules trigger nightly         start one now
  travertine schedules remove nightly"
)]
pub(crate) struct Schedules {
    #[command(subcommand)]
    pub(crate) act: Option<ScheduleAct>,

    #[command(flatten)]
    pub(crate) list: ScheduleList,
}

impl Schedules {
    pub(crate) fn shared(&self) -> &Shared {
        match &self.act {
            None => &self.list.shared,
            Some(ScheduleAct::List(it)) => &it.shared,
            Some(ScheduleAct::Add(it)) => &it.shared,
            Some(
                ScheduleAct::Pause(it)
                | ScheduleAct::Resume(it)
                | ScheduleAct::Trigger(it)
                | ScheduleAct::Remove(it),
            ) => &it.shared,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleAct {
    /// List schedules, by name
    List(ScheduleList),
    Add(AddSchedule),
    /// Have schedules start nothing until they are resumed
    Pause(NamedSchedules),
    /// Let paused schedules go on; what they have missed is not made up for
    Resume(NamedSchedules),
    /// Have schedules start one now, also when they are paused
    ///
    /// When the last one still runs, their rule of overlap holds.
    Trigger(NamedSchedules),
    /// Remove schedules; what they have started last comes to its end
    Remove(NamedSchedules),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ScheduleList {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NamedSchedules {
    /// Their names
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Add a schedule, or change one
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("rhythm").required(true).args(["cron", "every"]),
    after_help = "\
A cron expression has five fields: minute, hour, day of the month, month, day of the week (0 or \
SUN is Sunday). Six begin with the second, and @daily, @hourly and the like are known, too.

Examples:
  travertine schedules add nightly cleanup --cron '0 2 * * *' --zone Europe/Vienna
  travertine schedules add report monthly-report --cron '0 6 1 * *' --var format=pdf
  travertine schedules add sync import --every 15min --jitter 1min --overlap queue
  travertine schedules add sync import --every 5min --replace"
)]
pub(crate) struct AddSchedule {
    /// What it is called
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,

    /// What it starts: the id of a process or the name of a function
    #[arg(value_name = "DEFINITION")]
    pub(crate) definition: String,

    /// When, as a cron expression
    #[arg(long, value_name = "CRON")]
    pub(crate) cron: Option<String>,

    /// The time zone whose clocks the cron expression means, instead of UTC
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub(crate) zone: Option<String>,

    /// Every so much time from now on, such as 15min or PT1H
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) every: Option<Duration>,

    /// Start late by up to so much, by chance, so that not everything happens at once
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) jitter: Option<Duration>,

    /// When the last one still runs: start nothing (skip), start one when it has ended (queue), cancel it (replace), start another beside it (allow)
    #[arg(long, value_name = "RULE", value_enum, default_value_t = Overlap::Skip, hide_possible_values = true)]
    pub(crate) overlap: Overlap,

    /// Start nothing before it is resumed
    #[arg(long)]
    pub(crate) paused: bool,

    /// Change the schedule that has the name already
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// What to do when the last one still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Overlap {
    Skip,
    Queue,
    Replace,
    Allow,
}
