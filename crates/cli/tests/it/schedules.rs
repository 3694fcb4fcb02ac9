//! `travertine schedules`.

use super::{
    functions::store_with_functions,
    store::{Store, fields, list, text},
};

fn two() -> Store {
    let store = Store::with(&["examples/hello.bpmn", "examples/order.bpmn"]);
    let cron = ["--cron", "0 0 2 1 1 * 2099", "--zone", "Europe/Vienna", "--var", "name=Ann"];
    let added = store.text(&[&["schedules", "add", "nightly", "hello"][..], &cron].concat());
    let said = "added nightly: it starts hello at 0 0 2 1 1 * 2099 (Europe/Vienna), next ";
    assert!(added.starts_with(said), "{added}");
    let every = ["--every", "15min", "--jitter", "1min", "--overlap", "queue", "--paused"];
    let added = store.text(&[&["schedules", "add", "often", "order"][..], &every].concat());
    assert_eq!(added, "added often: it starts order every 15min, paused\n");
    store
}

#[test]
fn schedules_are_listed_with_what_they_start_and_when() {
    let store = two();
    let listed = store.text(&["schedules"]);
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|it| it.split("  ").map(str::trim).collect()).collect();
    let row = |row: usize| rows[row].iter().filter(|it| !it.is_empty()).copied();
    assert_eq!(
        row(0).collect::<Vec<_>>(),
        ["SCHEDULE", "STARTS", "WHEN", "ZONE", "OVERLAP", "STATE", "NEXT", "IN", "INSTANCE"]
    );
    let nightly: Vec<&str> = row(1).take(6).collect();
    assert_eq!(
        nightly,
        ["nightly", "hello", "0 0 2 1 1 * 2099", "Europe/Vienna", "skip", "active"]
    );
    let often: Vec<&str> = row(2).collect();
    assert_eq!(often, ["often", "order", "every 15min", "queue", "paused", "2"]);

    let all = list(&store.json(&["schedules", "list"]), "schedules");
    assert_eq!(fields(&all, "schedule"), ["nightly", "often"]);
    assert_eq!(fields(&all, "kind"), ["process", "process"]);
    let [nightly, often] = &all[..] else { panic!("two schedules") };
    assert_eq!(
        (text(nightly, "cron"), text(nightly, "zone")),
        ("0 0 2 1 1 * 2099".into(), "Europe/Vienna".into())
    );
    assert_eq!(nightly.field("variables").unwrap().to_json(), r#"{"name":"Ann"}"#);
    assert!(text(nightly, "next").contains(":00:00Z"), "{nightly}");
    for (field, value) in [("every_ms", 900_000), ("jitter_ms", 60_000), ("started", 0)] {
        assert_eq!(often.field(field), Some(&value.into()), "{field}");
    }
    for field in ["cron", "zone", "next", "last", "problem"] {
        assert_eq!(often.field(field), Some(&travertine_value::Value::Null), "{field}");
    }
}

#[test]
fn a_schedule_is_paused_triggered_resumed_and_removed() {
    let store = two();
    assert_eq!(store.text(&["schedules", "pause", "nightly"]), "nightly, paused\n");
    assert!(store.text(&["schedules", "resume", "nightly"]).starts_with("nightly, next 2099"));
    let triggered = |schedule: &str| store.text(&["schedules", "trigger", schedule]);
    assert_eq!(triggered("nightly"), "nightly has started hello 3\n");
    assert_eq!(triggered("nightly"), "nightly has not started hello: the last one still runs\n");
    assert_eq!(triggered("often"), "often has started order 4\n");
    assert_eq!(triggered("often"), "often starts order when the last one has ended\n");
    let shown = store.json(&["show", "3"]);
    let name = shown.field("variables").and_then(|it| it.field("name"));
    assert_eq!(name, Some(&"Ann".into()), "it begins with the schedule's variables");

    let removed = store.text(&["schedules", "remove", "nightly"]);
    assert_eq!(removed, "removed nightly; it goes when the last hello has ended\n");
    let left = list(&store.json(&["schedules"]), "schedules");
    assert_eq!(fields(&left, "state"), ["removed", "paused"]);
    store.text(&["complete", "3", "--var", "liked=true"]);
    let left = list(&store.json(&["schedules"]), "schedules");
    assert_eq!(fields(&left, "schedule"), ["often"]);
    // Its name is free for another.
    store.text(&["schedules", "add", "nightly", "order", "--every", "1h"]);
    assert_eq!(text(&store.json(&["show", "nightly"]), "instance"), "5");
    assert_eq!(store.text(&["schedules", "remove", "nightly"]), "removed nightly\n");
}

#[test]
fn a_schedule_is_changed_only_where_that_is_meant() {
    let store = two();
    let again = ["schedules", "add", "nightly", "order", "--every", "1h"];
    assert_eq!(
        store.refusal(&again),
        "error: schedule nightly is there already: it starts hello at 0 0 2 1 1 * 2099 (Europe/Vienna); \
         --replace changes it, `travertine schedules remove nightly` removes it\n"
    );
    let changed = store.text(&[&again[..], &["--replace"]].concat());
    assert!(changed.starts_with("changed nightly: it starts order every 1h, next "), "{changed}");
    let [nightly, _] = &list(&store.json(&["schedules"]), "schedules")[..] else { panic!("two") };
    assert_eq!(
        (text(nightly, "definition"), text(nightly, "overlap")),
        ("order".into(), "skip".into())
    );
    // Changed, it stays the same schedule; paused, it stays paused.
    assert_eq!(text(nightly, "instance"), "1");
    let often = ["schedules", "add", "often", "order", "--every", "1h", "--replace"];
    assert_eq!(store.text(&often), "changed often: it starts order every 1h, paused\n");
}

#[test]
fn a_function_is_started_by_a_schedule_and_waits_for_its_code() {
    let store = store_with_functions(async |_| {});
    store.text(&["schedules", "add", "naps", "nap", "--every", "1h", "--var", "hours=2"]);
    assert_eq!(text(&list(&store.json(&["schedules"]), "schedules")[0], "kind"), "function");
    assert_eq!(store.text(&["schedules", "trigger", "naps"]), "naps has started nap 2\n");
    let incidents = list(&store.json(&["incidents"]), "incidents");
    assert_eq!(fields(&incidents, "message"), ["this program has no function nap version 1"]);
}

#[test]
fn what_cannot_be_scheduled_is_refused_with_the_way_out() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let add = |rest: &[&str]| store.refusal(&[&["schedules", "add", "x", "hello"], rest].concat());
    for (args, said) in [
        (
            &["--cron", "soon"][..],
            "schedule x: not a cron expression such as 0 9 * * MON-FRI: soon",
        ),
        (&["--cron", "0 25 * * *"], "'25' is no hour (0 to 23)"),
        (&["--cron", "0 2 * * *", "--zone", "Mars"], "there is no time zone Mars"),
        (
            &["--cron", "TZ=UTC 0 2 * * *", "--zone", "UTC"],
            "names a time zone already; leave out --zone UTC",
        ),
        (&["--every", "0s"], "schedule x: there must be time between two firings"),
        (&["--every", "soon"], "no span of time: soon"),
        (&[], "<--cron <CRON>|--every <TIME>>"),
        (&["--every", "1h", "--cron", "0 2 * * *"], "cannot be used with"),
    ] {
        let error = add(args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    let missing = store.refusal(&["schedules", "add", "x", "bye", "--every", "1h"]);
    assert_eq!(missing, "error: no such definition: bye; there is hello (version 1)\n");
    let none = store.refusal(&["schedules", "pause", "x"]);
    assert_eq!(none, "error: no such schedule: x; `travertine schedules` lists them\n");
    assert_eq!(store.text(&["schedules"]), "no schedules\n");
}
