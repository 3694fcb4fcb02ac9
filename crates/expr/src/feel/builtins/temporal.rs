//! The calendar and the clock.

use super::{
    super::{
        problem::Reason,
        temporal::{Date, DateTime, MONTHS, WEEKDAYS},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("now()", now),
    ("today()", today),
    ("day of year(date)", |args| Ok(day(args)?.day_of_year().into())),
    ("day of week(date)", |args| Ok(name_of(&WEEKDAYS, day(args)?.weekday()).into())),
    ("month of year(date)", |args| Ok(name_of(&MONTHS, day(args)?.month()).into())),
    ("week of year(date)", |args| Ok(day(args)?.week_of_year().into())),
    ("last day of month(date)", |args| Ok(day(args)?.last_of_month().into())),
];

fn name_of<'n>(names: &[&'n str], number: i64) -> &'n str {
    let index = usize::try_from(number - 1).expect("days and months count from 1");
    names[index]
}

fn day(args: &Args<'_, '_, '_>) -> Result<Date, Fault> {
    match args.value(0).unwrap_singleton() {
        FeelValue::Date(date) => Ok(date),
        FeelValue::DateTime(it) => Ok(it.date()),
        other => Err(wrong(&other, "a date or a date and time")),
    }
}

fn clock(args: &Args<'_, '_, '_>) -> Result<DateTime, Fault> {
    let settings = args.run.session.settings();
    let no_clock = || Fault::Null(Reason::NoSource, "there is no clock here".to_owned());
    let now = settings.now.ok_or_else(no_clock)?;
    DateTime::from_timestamp(now, settings.zone.clone())
        .ok_or_else(|| Fault::argument("the time is out of range"))
}

fn now(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(clock(args)?.into())
}

fn today(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(clock(args)?.date().into())
}
