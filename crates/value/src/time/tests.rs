use proptest::prelude::*;

use super::*;

const NOW: &str = "2026-01-31T12:00:00Z";

fn now() -> Timestamp {
    date(NOW).unwrap().at
}

fn when(timer: Timer, text: &str) -> String {
    match due(timer, text, now()) {
        Ok(due) => due.at.to_string(),
        Err(error) => error.to_string(),
    }
}

/// The first firings of a cycle.
fn firings(text: &str, most: usize) -> String {
    let mut firings = Vec::new();
    let mut next = match due(Timer::Cycle, text, now()) {
        Ok(due) => Some(due),
        Err(error) => return error.to_string(),
    };
    while let Some(due) = next
        && firings.len() < most
    {
        firings.push(due.at.to_string());
        next = due.repeat.and_then(|it| it.next(due.at));
    }
    firings.join(" ")
}

#[test]
fn durations_count_from_now() {
    for (text, expected) in [
        ("PT5S", "2026-01-31T12:00:05Z"),
        ("PT0.25S", "2026-01-31T12:00:00.25Z"),
        ("P1DT2H", "2026-02-01T14:00:00Z"),
        ("P2W", "2026-02-14T12:00:00Z"),
        ("P1M", "2026-02-28T12:00:00Z"),
        ("P1Y", "2027-01-31T12:00:00Z"),
        (" PT1H ", "2026-01-31T13:00:00Z"),
        ("PT0S", NOW),
        ("-PT5S", NOW),
        ("5 minutes", "not a duration such as PT5M or P1D: 5 minutes"),
        ("P", "not a duration such as PT5M or P1D: P"),
        ("", "not a duration such as PT5M or P1D: nothing is given"),
        ("PT5X", "not a duration such as PT5M or P1D: PT5X"),
        ("P9000Y", "the time is out of range: P9000Y"),
    ] {
        assert_eq!(when(Timer::Duration, text), expected, "{text}");
    }
}

#[test]
fn dates_have_an_offset_a_zone_or_utc() {
    for (text, expected) in [
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00Z"),
        ("2026-03-01T10:00:00.5-05:00", "2026-03-01T15:00:00.5Z"),
        ("2026-07-01T10:00:00[Europe/Berlin]", "2026-07-01T08:00:00Z"),
        ("2026-01-01T10:00:00+01:00[Europe/Berlin]", "2026-01-01T09:00:00Z"),
        ("2026-03-01T10:00:00", "2026-03-01T10:00:00Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2020-03-01", "2020-03-01T00:00:00Z"),
        ("tomorrow", "not a date such as 2026-01-31T12:00:00Z: tomorrow"),
        ("2026-02-30", "not a date such as 2026-01-31T12:00:00Z: 2026-02-30"),
        (
            "2026-01-01T00:00[Mars/Base]",
            "not a date such as 2026-01-31T12:00:00Z: 2026-01-01T00:00[Mars/Base]",
        ),
    ] {
        assert_eq!(when(Timer::Date, text), expected, "{text}");
    }
}

#[test]
fn cycles_fire_as_often_as_they_say() {
    for (text, expected) in [
        ("R2/PT10S", "2026-01-31T12:00:10Z 2026-01-31T12:00:20Z"),
        ("PT5H", "2026-01-31T17:00:00Z 2026-01-31T22:00:00Z 2026-02-01T03:00:00Z"),
        ("R1/PT10S", "2026-01-31T12:00:10Z"),
        ("R/PT1H", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z 2026-01-31T15:00:00Z"),
        ("R-1/PT1H", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z 2026-01-31T15:00:00Z"),
        ("R2/2026-02-01T00:00:00Z/PT1H", "2026-02-01T00:00:00Z 2026-02-01T01:00:00Z"),
        ("R5/PT1H/2026-01-31T14:30:00Z", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z"),
        ("R2/2020-01-01T00:00:00Z/PT1H", "2020-01-01T00:00:00Z 2020-01-01T01:00:00Z"),
    ] {
        assert_eq!(firings(text, 3), expected, "{text}");
    }
}

#[test]
fn months_do_not_drift() {
    assert_eq!(
        firings("R/2026-01-31T00:00:00Z/P1M", 3),
        "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z"
    );
}

#[test]
fn days_are_those_of_the_zone() {
    assert_eq!(
        firings("R2/2026-03-28T09:00:00[Europe/Berlin]/P1D", 3),
        "2026-03-28T08:00:00Z 2026-03-29T07:00:00Z"
    );
}

#[test]
fn an_endless_cycle_skips_what_it_missed() {
    assert_eq!(
        firings("R/2000-01-01T00:00:07Z/PT10S", 2),
        "2026-01-31T12:00:07Z 2026-01-31T12:00:17Z"
    );
    assert_eq!(firings(&format!("R/{NOW}/PT10S"), 1), NOW);
}

#[test]
fn a_timer_moved_by_hand_goes_on_from_there() {
    let due = due(Timer::Cycle, "R3/PT1H", now()).unwrap();
    let moved = now().after(Duration::from_hours(24));
    let next = due.repeat.unwrap().next(moved).unwrap();
    assert_eq!(next.at.to_string(), "2026-02-01T13:00:00Z");
    assert_eq!(next.repeat.unwrap().left, Some(1));
}

#[test]
fn what_is_no_cycle_is_refused() {
    for (text, expected) in [
        ("10S", "not a cycle such as R3/PT10S or 0 0 9 * * MON-FRI: 10S"),
        ("PT0S", "the cycle would never fire: PT0S"),
        ("R3", "not a cycle such as R3/PT10S or 0 0 9 * * MON-FRI: R3"),
        ("R/", "not a duration such as PT5M or P1D: nothing is given"),
        ("Rx/PT1S", "not a cycle such as R3/PT10S or 0 0 9 * * MON-FRI: Rx/PT1S"),
        (
            "R3/PT1S/2026-02-01/x",
            "not a cycle such as R3/PT10S or 0 0 9 * * MON-FRI: R3/PT1S/2026-02-01/x",
        ),
        ("R/PT0S", "the cycle would never fire: R/PT0S"),
        ("R/-PT5S", "the cycle would never fire: R/-PT5S"),
        ("R0/PT5S", "the cycle would never fire: R0/PT5S"),
        ("R/PT5S/2020-01-01", "the cycle would never fire: R/PT5S/2020-01-01"),
    ] {
        assert_eq!(firings(text, 1), expected, "{text}");
    }
}

#[test]
fn points_beyond_the_calendar_still_print() {
    assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9223372036854775807 ms after 1970");
}

#[test]
fn cron_expressions_fire_when_the_clock_fits() {
    // The last of January 2026 is a Saturday.
    for (text, expected) in [
        ("0 9 * * *", "2026-02-01T09:00:00Z 2026-02-02T09:00:00Z 2026-02-03T09:00:00Z"),
        ("*/20 * * * *", "2026-01-31T12:20:00Z 2026-01-31T12:40:00Z 2026-01-31T13:00:00Z"),
        ("5/20 * * * *", "2026-01-31T12:05:00Z 2026-01-31T12:25:00Z 2026-01-31T12:45:00Z"),
        ("15,45 0 12 * * *", "2026-01-31T12:00:15Z 2026-01-31T12:00:45Z 2026-02-01T12:00:15Z"),
        ("59 59 23 * * *", "2026-01-31T23:59:59Z 2026-02-01T23:59:59Z 2026-02-02T23:59:59Z"),
        ("0 0 9 ? * MON-FRI", "2026-02-02T09:00:00Z 2026-02-03T09:00:00Z 2026-02-04T09:00:00Z"),
        ("0 0 9 ? * fri-mon", "2026-02-01T09:00:00Z 2026-02-02T09:00:00Z 2026-02-06T09:00:00Z"),
        ("0 22-2/2 * * *", "2026-01-31T22:00:00Z 2026-02-01T00:00:00Z 2026-02-01T02:00:00Z"),
        ("0 0 * * 7", "2026-02-01T00:00:00Z 2026-02-08T00:00:00Z 2026-02-15T00:00:00Z"),
        ("0 0 * * 0-7", "2026-02-01T00:00:00Z 2026-02-02T00:00:00Z 2026-02-03T00:00:00Z"),
        ("0 0 31 * *", "2026-03-31T00:00:00Z 2026-05-31T00:00:00Z 2026-07-31T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z 2036-02-29T00:00:00Z"),
        ("0 0 1 JAN,JUL *", "2026-07-01T00:00:00Z 2027-01-01T00:00:00Z 2027-07-01T00:00:00Z"),
        // Five fields ask for either day, more for both: Friday the 13th.
        ("0 0 13 * FRI", "2026-02-06T00:00:00Z 2026-02-13T00:00:00Z 2026-02-20T00:00:00Z"),
        ("0 0 0 13 * FRI", "2026-02-13T00:00:00Z 2026-03-13T00:00:00Z 2026-11-13T00:00:00Z"),
        ("0 0 0 L * ?", "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z"),
        ("0 0 0 L-3 * ?", "2026-02-25T00:00:00Z 2026-03-28T00:00:00Z 2026-04-27T00:00:00Z"),
        ("0 0 0 LW * ?", "2026-02-27T00:00:00Z 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z"),
        ("0 0 0 1W * ?", "2026-02-02T00:00:00Z 2026-03-02T00:00:00Z 2026-04-01T00:00:00Z"),
        ("0 0 0 15W * ?", "2026-02-16T00:00:00Z 2026-03-16T00:00:00Z 2026-04-15T00:00:00Z"),
        ("0 0 0 ? * MON#1", "2026-02-02T00:00:00Z 2026-03-02T00:00:00Z 2026-04-06T00:00:00Z"),
        ("0 0 0 ? * 5L", "2026-02-27T00:00:00Z 2026-03-27T00:00:00Z 2026-04-24T00:00:00Z"),
        (
            "0 0 0 1 1 ? 2030,2032-2040/4",
            "2030-01-01T00:00:00Z 2032-01-01T00:00:00Z 2036-01-01T00:00:00Z",
        ),
        ("0 0 0 1 1 ? 2030", "2030-01-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z 2029-01-01T00:00:00Z"),
        ("@monthly", "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z 2026-04-01T00:00:00Z"),
        ("@weekly", "2026-02-01T00:00:00Z 2026-02-08T00:00:00Z 2026-02-15T00:00:00Z"),
        ("@Daily", "2026-02-01T00:00:00Z 2026-02-02T00:00:00Z 2026-02-03T00:00:00Z"),
        ("@hourly", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z 2026-01-31T15:00:00Z"),
    ] {
        assert_eq!(firings(text, 3), expected, "{text}");
    }
}

#[test]
fn quartz_counts_weekdays_from_1() {
    for (quartz, named) in [
        ("0 0 9 ? * 2-6", "0 0 9 ? * MON-FRI"),
        ("0 0 9 ? * 1", "0 0 9 ? * SUN"),
        ("0 0 9 ? * 6L", "0 0 9 ? * FRIL"),
        ("0 0 9 ? * 2#1,7/2", "0 0 9 ? * MON#1,SAT/2"),
        ("0 0 9 ? * L", "0 0 9 ? * L"),
    ] {
        let cron = Cron::parse(quartz, Weekdays::From1).unwrap();
        assert_eq!(cron.text(), named);
        assert_eq!(cron, Cron::parse(named, Weekdays::From0).unwrap());
    }
    let due = due(Timer::QuartzCycle, "0 0 9 ? * 2", now()).unwrap();
    assert_eq!(due.at.to_string(), "2026-02-02T09:00:00Z");
}

#[test]
fn cron_expressions_mean_the_clocks_of_their_zone() {
    let expected = "2026-02-01T08:00:00Z 2026-02-02T08:00:00Z";
    assert_eq!(firings("CRON_TZ=Europe/Berlin 0 9 * * *", 2), expected);
    assert_eq!(firings("0 0 9 * * * [Europe/Berlin]", 2), expected);
    assert_eq!(firings("@daily [Asia/Tokyo]", 1), "2026-01-31T15:00:00Z");
}

#[test]
fn what_falls_into_a_skipped_hour_fires_when_it_is_over() {
    // In Berlin 2:00 becomes 3:00 on the 29th of March, at 1:00 in UTC.
    for (text, expected) in [
        (
            "30 2 28-31 3 * [Europe/Berlin]",
            "2026-03-28T01:30:00Z 2026-03-29T01:00:00Z 2026-03-30T00:30:00Z 2026-03-31T00:30:00Z",
        ),
        (
            "0/30 1-3 29 3 * [Europe/Berlin]",
            "2026-03-29T00:00:00Z 2026-03-29T00:30:00Z 2026-03-29T01:00:00Z 2026-03-29T01:30:00Z",
        ),
    ] {
        assert_eq!(firings(text, 4), expected, "{text}");
    }
}

#[test]
fn what_falls_into_a_repeated_hour_fires_once_unless_it_fires_every_hour() {
    // In Berlin 3:00 becomes 2:00 on the 25th of October, at 1:00 in UTC.
    for (text, expected) in [
        (
            "30 2 24-26 10 * [Europe/Berlin]",
            "2026-10-24T00:30:00Z 2026-10-25T00:30:00Z 2026-10-26T01:30:00Z",
        ),
        (
            "0,30 2 25 10 * [Europe/Berlin]",
            "2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2027-10-25T00:00:00Z",
        ),
    ] {
        assert_eq!(firings(text, 3), expected, "{text}");
    }
    let mut at = date("2026-10-24T23:45:00Z").unwrap().at;
    let mut hourly = Vec::new();
    let repeat = due(Timer::Cycle, "*/30 * * * * [Europe/Berlin]", at).unwrap().repeat.unwrap();
    for _ in 0..6 {
        at = repeat.next(at).unwrap().at;
        hourly.push(at.to_string());
    }
    assert_eq!(
        hourly.join(" "),
        "2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2026-10-25T01:00:00Z \
         2026-10-25T01:30:00Z 2026-10-25T02:00:00Z 2026-10-25T02:30:00Z"
    );
}

#[test]
fn what_is_no_cron_expression_is_refused_with_the_reason() {
    for (text, why) in [
        ("60 * * * *", "'60' is no minute (0 to 59)"),
        ("* 24 * * *", "'24' is no hour (0 to 23)"),
        ("0 0 0 32 * *", "'32' is no day of the month (1 to 31)"),
        ("0 0 0 * FOO *", "'FOO' is no month (JAN to DEC, or a number)"),
        ("0 0 0 * * 8", "'8' is no day of the week (0 to 7, from Sunday to Sunday)"),
        ("0 0 0 ? * MON#6", "'6' is no week (1 to 5)"),
        ("0 0/0 * * * *", "the step '0' of a minute is no whole number above 0"),
        ("0 0 0 LX * *", "'LX' is no day of the month (1 to 31)"),
        ("0 0 0 1 1 ? 12345", "'12345' is no year (1970 to 9998)"),
        ("0 +5 * * * *", "'+5' is no minute (0 to 59)"),
        ("0 , * * * *", "'' is no minute (0 to 59)"),
        ("0 0 9 * * * [Mars/Base]", "there is no time zone Mars/Base"),
        (
            "@reboot",
            "there is no @reboot; write one of \
             @yearly @annually @monthly @weekly @daily @midnight @hourly",
        ),
    ] {
        assert_eq!(firings(text, 1), format!("not a cron expression: {text}: {why}"));
    }
    for text in ["0 0 0 30 2 ?", "0 0 0 31 4,6 ?", "0 0 0 1 1 ? 2020"] {
        assert_eq!(firings(text, 1), format!("the cycle would never fire: {text}"));
    }
}

proptest! {
    #[test]
    fn no_text_makes_cron_panic(text in r"([0-9*?LW#/,SUNMO-]{1,5} ){4,6}[0-9*?L#/,SUNMO-]{1,5}") {
        for timer in [Timer::Cycle, Timer::QuartzCycle] {
            if let Ok(Due { at, repeat: Some(repeat) }) = due(timer, &text, now()) {
                prop_assert!(at > now());
                if let Some(next) = repeat.next(at) {
                    prop_assert!(next.at > at);
                }
            }
        }
    }

    #[test]
    fn every_quarter_of_an_hour_is_every_quarter_of_an_hour(start in 0..40_000_000_i64) {
        // Changes of clocks come at quarters of an hour everywhere we look at.
        let quarter = 15 * 60 * 1000;
        let start = Timestamp::from_millis(start * 45_678);
        let first = due(Timer::Cycle, "*/15 * * * * [America/New_York]", start).unwrap();
        let next = first.repeat.unwrap().next(first.at).unwrap();
        prop_assert_eq!(first.at.as_millis() % quarter, 0);
        prop_assert!(first.at.as_millis() - start.as_millis() <= quarter);
        prop_assert_eq!(next.at.as_millis() - first.at.as_millis(), quarter);
    }

    #[test]
    fn no_text_makes_a_timer_panic(text in r"[RPT0-9DHMSYW/:Z+.\[\]aE -]{0,24}") {
        for timer in [Timer::Date, Timer::Duration, Timer::Cycle] {
            if let Ok(Due { at, repeat: Some(repeat) }) = due(timer, &text, now()) {
                let _ = repeat.next(at);
            }
        }
    }

    #[test]
    fn each_firing_comes_after_the_one_before(months in 0..30_i32, days in 0..40_i32, millis in 1..99_999_999_i64) {
        let text = format!("R/P{months}M{days}DT{}.{:03}S", millis / 1000, millis % 1000);
        let first = due(Timer::Cycle, &text, now()).unwrap();
        let second = first.repeat.as_ref().unwrap().next(first.at).unwrap();
        prop_assert!(now() < first.at && first.at < second.at);
    }
}

#[test]
fn firings_that_were_missed_count_as_one() {
    let start = Timestamp::from_millis(1_000_000);
    let after = |ms| start.after(Duration::from_millis(ms));
    let cycle = due(Timer::Cycle, "R/PT10S", start).unwrap();
    let repeat = cycle.repeat.unwrap();
    assert_eq!(cycle.at, after(10_000));
    // In time: as ever.
    assert_eq!(repeat.next_after(cycle.at, cycle.at).unwrap().at, after(20_000));
    // Late, and very late: the next one in the old rhythm.
    assert_eq!(repeat.next_after(cycle.at, after(20_000)).unwrap().at, after(30_000));
    assert_eq!(repeat.next_after(cycle.at, after(47_500)).unwrap().at, after(50_000));
    let year = 31_536_000_000;
    let late = repeat.next_after(cycle.at, after(year)).unwrap();
    assert_eq!(late.at, after(year + 10_000));
    assert_eq!(late.repeat.unwrap().next(late.at).unwrap().at, after(year + 20_000));
    // Those that were missed are gone from those that are left.
    let three = due(Timer::Cycle, "R3/PT10S", start).unwrap();
    let repeat = three.repeat.unwrap();
    assert_eq!(repeat.next_after(three.at, after(25_000)).unwrap().at, after(30_000));
    assert_eq!(repeat.next_after(three.at, after(35_000)), None);
    let monthly = due(Timer::Cycle, "R/P1M", start).unwrap();
    let later = monthly.repeat.unwrap().next_after(monthly.at, after(year)).unwrap();
    assert!(later.at > after(year) && later.at < after(year + 32 * 86_400_000));
    let daily = due(Timer::Cycle, "0 0 * * *", start).unwrap();
    let later = daily.repeat.unwrap().next_after(daily.at, after(year)).unwrap();
    assert!(later.at > after(year) && later.at <= after(year + 86_400_000));
}

#[test]
fn a_short_cycle_can_miss_any_number_of_firings() {
    let (year, ten) = (365 * Duration::from_hours(24), Duration::from_millis(10));
    for (text, years) in [("R/PT0.001S", 1), ("R/PT0.001S", 5_000), ("PT0.01S", 100)] {
        let cycle = due(Timer::Cycle, text, now()).unwrap();
        let late = now().after(years * year);
        let next = cycle.repeat.unwrap().next_after(cycle.at, late).unwrap();
        assert!(next.at > late && next.at <= late.after(ten), "{text}: {}", next.at);
        let again = next.repeat.unwrap().next(next.at).unwrap();
        assert!(again.at > next.at && again.at <= next.at.after(ten), "{text}: {}", again.at);
    }
    // A count that has an end is used up.
    let cycle = due(Timer::Cycle, "R4294967295/PT0.001S", now()).unwrap();
    assert_eq!(cycle.repeat.unwrap().next_after(cycle.at, now().after(year)), None);
    // The start may be long ago, too.
    assert_eq!(when(Timer::Cycle, "R/1600-01-01T00:00:00Z/PT0.001S"), NOW);
}

#[test]
fn a_cycle_that_has_fired_as_often_as_can_be_counted_goes_on() {
    let cycle = due(Timer::Cycle, "R/PT1S", now()).unwrap();
    let repeat = Repeat { fired: u32::MAX, ..cycle.repeat.unwrap() };
    let next = repeat.next(cycle.at).unwrap();
    assert_eq!(next.at, cycle.at.after(Duration::from_secs(1)));
    assert_eq!(
        next.repeat.unwrap().next(next.at).unwrap().at,
        cycle.at.after(Duration::from_secs(2))
    );
}

fn any_millis() -> impl Strategy<Value = i64> {
    let year = 365 * 86_400_000_i64;
    prop_oneof![
        any::<i64>(),
        -10_000 * year..10_000 * year,
        -1_000_i64..1_000,
        prop::sample::select(vec![i64::MIN, i64::MAX, i64::MAX - 1, 0]),
    ]
}

fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0..10_u32, u32::MAX - 2..=u32::MAX]
}

fn any_repeat() -> impl Strategy<Value = Repeat> {
    let part = prop_oneof![Just(0), -3..400_i32, any::<i32>()];
    let rhythm = prop_oneof![
        9 => (part.clone(), part, any_millis())
            .prop_map(|(months, days, millis)| Rhythm::Every(Period { months, days, millis })),
        1 => Just(Rhythm::Cron(Cron::parse("*/7 * * * *", Weekdays::From0).unwrap())),
    ];
    let zone = prop::option::of(Just(Arc::from("Europe/Berlin")));
    let until = prop::option::of(any_millis().prop_map(Timestamp));
    (rhythm, any_millis(), any_count(), prop::option::of(any_count()), until, zone).prop_map(
        |(rhythm, first, fired, left, until, zone)| {
            let first = Timestamp(first);
            Repeat { rhythm, first, fired, left, until, zone }
        },
    )
}

proptest! {
    /// Whatever is stored, and whatever the clock shows.
    #[test]
    fn the_next_firing_is_later_or_there_is_none(
        repeat in any_repeat(), previous in any_millis(), now in any_millis(),
    ) {
        let (previous, now) = (Timestamp(previous), Timestamp(now));
        if let Some(next) = repeat.next(previous) {
            prop_assert!(next.at > previous);
            prop_assert!(repeat.until.is_none_or(|it| next.at <= it));
        }
        if let Some(next) = repeat.next_after(previous, now) {
            prop_assert!(next.at > previous && next.at > now, "{}", next.at);
            prop_assert!(repeat.until.is_none_or(|it| next.at <= it));
            let left = next.repeat.map_or(Some(0), |it| it.left);
            prop_assert!(left.is_none() || repeat.left.is_some_and(|it| left < Some(it)));
        }
    }

    #[test]
    fn any_cycle_can_be_armed_at_any_time(
        count in any::<Option<u32>>(), first in any_millis(), millis in any_millis(),
        end in any_millis(), now in any_millis(),
    ) {
        let (now, first, end) = (Timestamp(now), Timestamp(first), Timestamp(end));
        let count = count.map_or(String::new(), |it| it.to_string());
        let period = format!("PT{}.{:03}S", millis.unsigned_abs() / 1000, millis.unsigned_abs() % 1000);
        for text in [
            format!("R{count}/{period}"),
            format!("R{count}/{first}/{period}"),
            format!("R{count}/{period}/{end}"),
        ] {
            if let Ok(due) = due(Timer::Cycle, &text, now) {
                let next = due.repeat.and_then(|it| it.next_after(due.at, now));
                prop_assert!(next.is_none_or(|it| it.at > now && it.at > due.at), "{text}");
            }
        }
    }

    /// What is worked out at once is what going through all of them gives.
    #[test]
    fn skipping_is_the_same_as_going_through(
        months in 0..3_i32, days in 0..40_i32, millis in 0..100_000_000_i64,
        count in prop::option::of(0..60_u32), late in 0..4_000_000_000_u64,
        zone in prop::option::of(Just(Arc::from("Europe/Berlin"))),
    ) {
        prop_assume!(months + days > 0 || millis > 50_000_000);
        let rhythm = Rhythm::Every(Period { months, days, millis });
        let repeat = Repeat { rhythm, first: now(), fired: 0, left: count, until: None, zone };
        let late = now().after(Duration::from_millis(late));
        let mut next = repeat.next(now());
        while let Some(due) = &next
            && due.at <= late
        {
            next = due.repeat.as_ref().and_then(|it| it.next(due.at));
        }
        prop_assert_eq!(repeat.next_after(now(), late), next);
    }
}
