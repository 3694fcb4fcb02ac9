//! Dates, times and durations.

use super::{
    super::{Expression, Names, Settings, temporal::Zone},
    check, scope, settings,
};

#[test]
fn times_and_durations_add_up() {
    check(&[
        ("@\"2024-01-31\" + @\"P1M\"", "2024-02-29"),
        ("@\"2024-03-10\" - @\"2024-03-01\"", "P9D"),
        ("@\"2021-01-02\" - @\"PT1H\"", "2021-01-01"),
        ("@\"2021-01-01T24:00:00\"", "2021-01-02T00:00:00"),
        ("@\"23:30:00\" + @\"PT1H\"", "00:30:00"),
        ("@\"P10Y11M\" / 2.5", "P4Y4M"),
        ("1.5 * @\"P4DT1H\"", "P6DT1H30M"),
        ("@\"P1D\" / @\"PT6H\"", "4"),
        ("@\"P1D\" + @\"P1Y\"", "null"),
        ("@\"2021-01-02T10:10:10@Europe/Paris\" - @\"2021-01-01T10:10:10\"", "null"),
        ("@\"2021-01-02T10:10:10@Europe/Paris\" - @\"2021-01-01\"", "P1DT9H10M10S"),
        ("@\"999999999-12-31\" + @\"P1D\"", "null"),
        ("-@\"P1D\"", "-P1D"),
    ]);
}

#[test]
fn points_in_time_compare_across_offsets() {
    check(&[
        ("@\"2024-01-01T12:00:00+02:00\" = @\"2024-01-01T10:00:00Z\"", "true"),
        ("@\"2024-01-01T12:00:00+02:00\" < @\"2024-01-01T11:00:00Z\"", "true"),
        ("is(@\"10:00:00Z\", @\"10:00:00+00:00\")", "true"),
        ("is(@\"2024-01-01T12:00:00+02:00\", @\"2024-01-01T10:00:00Z\")", "false"),
    ]);
}

#[test]
fn times_have_properties() {
    check(&[
        ("@\"2024-03-10T10:20:30.5+01:00\".second", "30.5"),
        ("@\"2024-03-10T10:20:30+01:00\".time offset", "PT1H"),
        ("@\"2024-07-10T10:20:30@Europe/Paris\".time offset", "PT2H"),
        ("@\"2024-07-10T10:20:30@Europe/Paris\".timezone", "Europe/Paris"),
        ("@\"2024-03-10\".weekday", "7"),
        ("@\"-P1DT2H\".hours", "-2"),
        ("@\"P14M\".years", "1"),
        ("day of week(@\"2024-03-10\")", "Sunday"),
        ("week of year(@\"2005-01-01\")", "53"),
        ("last day of month(@\"2024-02-10\")", "2024-02-29"),
        ("years and months duration(@\"2020-01-31\", @\"2024-03-10\")", "P4Y1M"),
        (
            "date and time(@\"2024-03-10T10:00:00Z\", \"Europe/Berlin\")",
            "2024-03-10T11:00:00@Europe/Berlin",
        ),
    ]);
}

#[test]
fn the_clock_comes_from_outside() {
    check(&[("now()", "2024-03-10T10:00:00Z"), ("today()", "2024-03-10")]);
    check(&[
        ("cycle(3, duration(\"PT1H\"))", "R3/PT1H"),
        ("cycle(duration(\"P1D\"))", "R/P1D"),
        ("cycle(null, duration(\"P2M\"))", "R/P2M"),
        ("cycle(repetitions: 1, interval: duration(\"PT5M\"))", "R1/PT5M"),
        ("cycle(-1, duration(\"PT5M\"))", "null"),
        ("cycle(2, \"PT5M\")", "null"),
    ]);
    let berlin = Settings { zone: Zone::from_name("Europe/Berlin").unwrap(), ..settings() };
    let now = Expression::parse("now()", &Names::new()).unwrap();
    let value = now.evaluate(&scope(), &berlin).unwrap().value;
    assert_eq!(value.to_string(), "2024-03-10T11:00:00@Europe/Berlin");
    let without = now.evaluate(&scope(), &Settings::default()).unwrap();
    assert!(without.value.is_null());
    assert_eq!(without.warnings[0].message, "now: there is no clock here");
}
