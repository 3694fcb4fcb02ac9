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
    ("cycle(interval)", |args| cycle(&FeelValue::Null, &args.value(0))),
    ("cycle(repetitions, interval)", |args| cycle(&args.value(0), &args.value(1))),
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

/// A cycle of ISO 8601, for timers: so many times, or for ever.
fn cycle(repetitions: &FeelValue, interval: &FeelValue) -> Answer {
    let interval = match interval.clone().unwrap_singleton() {
        FeelValue::DaysDuration(it) => it.to_string(),
        FeelValue::YearsDuration(it) => it.to_string(),
        other => return Err(wrong(&other, "a duration")),
    };
    let times = match repetitions.clone().unwrap_singleton() {
        FeelValue::Null => String::new(),
        FeelValue::Number(it) => match it.to_i64().filter(|it| *it >= 0) {
            Some(times) => times.to_string(),
            None => return Err(Fault::argument("repetitions are a whole number of 0 or more")),
        },
        other => return Err(wrong(&other, "a number of repetitions")),
    };
    Ok(format!("R{times}/{interval}").into())
}

fn today(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(clock(args)?.date().into())
}
