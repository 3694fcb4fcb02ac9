//! What people stumble over in their first hour.

use std::process::{Command, Stdio};

use travertine_value::Value;

use super::{
    Called, command, file, finish, model, process, store::Store, store::list, store::text,
    travertine, travertine_with,
};

/// A process that waits for a message with a key, one that waits for a person, one that counts to a timer.
fn waits() -> String {
    model(
        r#"<message id="m" name="it's paid"/>
           <process id="p" isExecutable="true">
             <startEvent id="start"/>
             <sequenceFlow id="f1" sourceRef="start" targetRef="it"/>
             <receiveTask id="it" messageRef="m"/>
             <sequenceFlow id="f2" sourceRef="it" targetRef="wait"/>
             <intermediateCatchEvent id="wait"><timerEventDefinition>
               <timeDuration>P1D</timeDuration></timerEventDefinition></intermediateCatchEvent>
             <sequenceFlow id="f3" sourceRef="wait" targetRef="check"/>
             <userTask id="check"/>
             <sequenceFlow id="f4" sourceRef="check" targetRef="end"/>
             <endEvent id="end"/>
           </process>"#,
    )
}

/// Has a shell run a line that was printed.
fn paste(line: &str) -> Called {
    let binary = env!("CARGO_BIN_EXE_travertine");
    let line = line.replacen("travertine", &format!("'{binary}'"), 1);
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).env_remove("TRAVERTINE_DATA");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(shell.spawn().unwrap(), "")
}

#[test]
fn a_printed_command_can_be_pasted_and_does_what_it_says() {
    let store = Store::empty();
    let data = store.path("a store of 'mine'");
    let at = |args: &[&str]| travertine(&[args, &["--data", &data]].concat());
    let models = file("friction-waits.bpmn", &waits());
    assert_eq!(at(&["deploy", &models]).status, 0);
    assert_eq!(at(&["start", "p"]).status, 0);
    for _ in 0..3 {
        let shown = at(&["show", "1", "--json"]).json();
        let waits = list(&shown, "waits");
        let command = waits.iter().find_map(|it| it.field("way_out")?.as_str()).unwrap().to_owned();
        let human = at(&["show", "1"]).out;
        assert!(human.contains(&command), "{command}: {human}");
        let pasted = paste(&command);
        assert_eq!(pasted.status, 0, "{command}: {}{}", pasted.out, pasted.err);
    }
    assert_eq!(text(&at(&["show", "1", "--json"]).json(), "state"), "completed");
    let refusal = at(&["show", "77"]).err;
    let (_, command) = refusal.split_once('`').unwrap();
    let (command, _) = command.split_once("` lists them").unwrap();
    let pasted = paste(command);
    assert!(pasted.status == 0 && pasted.out.contains("completed"), "{command}: {}", pasted.err);
}

#[test]
fn a_printed_command_does_not_name_the_store_that_is_meant_anyway() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let mut start = command(&["start", "hello", "--var", "name=Ann"]);
    let started = finish(start.env("TRAVERTINE_DATA", store.data()).spawn().unwrap(), "");
    assert!(started.out.contains("    travertine complete 1-3\n"), "{}", started.out);
}

#[test]
fn broken_json_is_refused_with_its_place_and_changes_nothing() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    for value in ["x={\"a\":", "x=[1,", "x=\"a", "x=12345678901234567890123456789012345"] {
        let called = store.call(&["complete", "1", "--var", value]);
        assert_eq!((called.status, &*called.out), (2, ""), "{value}");
        assert!(called.err.contains("(line 1, column "), "{}", called.err);
    }
    for vars in ["{\"a\":", "[1]", "\"a\""] {
        let called = store.call(&["complete", "1", "--vars", vars]);
        assert_eq!((called.status, &*called.out), (2, ""), "{vars}");
        assert!(called.err.contains("--vars: "), "{}", called.err);
    }
    assert_eq!(text(&store.json(&["show", "1"]), "state"), "running");
}

#[test]
fn variables_are_json_or_a_file_or_standard_input_everywhere() {
    let object = r#"{"name": "Ann", "a": 1}"#;
    let path = file("friction-vars.json", object);
    let (dmn, run) = ("examples/approval.dmn", "examples/hello.bpmn");
    for (args, expected) in [
        (&["run", run, "--vars"][..], "Hello, Ann!"),
        (&["draw", run, "--vars"], "<svg"),
        (&["eval", "a + 1", "--context"], "2"),
        (&["eval", "a + 1", "--vars"], "2"),
        (&["decide", dmn, "--var", "amount=5", "--vars"], "warning:"),
    ] {
        for vars in [object, &path, "-"] {
            let called = travertine_with(&[args, &[vars]].concat(), object);
            let all = format!("{}{}", called.out, called.err);
            assert!(all.contains(expected), "{args:?} {vars}: {all}");
        }
    }
    let broken = travertine(&["run", run, "--vars", "{\"name\":"]);
    assert_eq!(broken.status, 2);
    assert!(broken.err.contains("--vars: this is not JSON"), "{}", broken.err);
}

#[test]
fn an_id_that_exists_is_not_started_again_and_other_variables_are_not_lost_in_silence() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let start =
        |more: &[&str]| store.call(&[&["start", "hello", "--id", "E-1"][..], more].concat());
    assert_eq!(start(&["--var", "name=Ann", "--var", "n=1"]).status, 0);
    let again = start(&["--vars", r#"{"n": 1.0, "name": "Ann"}"#]);
    assert_eq!(again.status, 0, "{}", again.err);
    assert!(again.out.starts_with("already exists: hello 1, running\n"), "{}", again.out);
    assert_eq!(start(&[]).status, 0, "nothing was given that could be lost");
    for other in [&["--var", "name=Bob", "--var", "n=1"][..], &["--var", "name=Ann"]] {
        let refused = start(other);
        assert_eq!((refused.status, &*refused.out), (6, ""), "{}", refused.err);
        assert!(refused.err.contains("E-1 already exists: instance 1 of hello"), "{}", refused.err);
        assert!(refused.err.contains("other variables"), "{}", refused.err);
    }
    let data = start(&["--var", "name=Bob", "--json"]);
    assert_eq!((data.status, data.json().field("known")), (6, Some(&true.into())));
    store.text(&["set", "1", "--var", "name=Cid"]);
    assert_eq!(start(&["--var", "name=Ann", "--var", "n=1"]).status, 0, "what it was started with");
}

#[test]
fn an_id_that_nobody_could_type_or_read_is_refused() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let long = "x".repeat(100_000);
    for (id, expected) in [
        ("", "an id cannot be empty"),
        (" ", "an id cannot be blank"),
        ("\u{3000}\u{200b}", "an id cannot be blank"),
        (&*long, "an id has at most 1024 bytes, and this one has 100000"),
        ("a\u{1b}[31m", r"an id has no control characters"),
        ("a\nb", r"an id has no control characters"),
        ("a\u{202e}b", r"an id has no control characters"),
    ] {
        for args in [
            &["start", "hello", "--var", "name=Ann", "--id", id][..],
            &["message", "paid", "--id", id],
        ] {
            let refusal = store.refusal(args);
            assert!(refusal.contains(expected), "{refusal}");
            assert!(refusal.len() < 1_000 && !refusal.contains('\u{1b}'), "{refusal:?}");
        }
    }
    assert_eq!(store.text(&["instances"]), "no instances\n");
}

#[test]
fn names_with_line_breaks_and_escape_codes_do_nothing_to_a_terminal() {
    let named =
        process(r#"<userTask id="it" name="Assign&#10;Approver &#x9b;2J&#x202e;" xmlns:x="y"/>"#);
    let named = file("friction-named.bpmn", &named);
    let store = Store::with(&[&named]);
    store.text(&["start", "p", "--var", "x=\u{1b}[31mred\u{9b}"]);
    for args in [
        &["show", "1"][..],
        &["history", "1"],
        &["tasks"],
        &["instances"],
        &["set", "1", "--var", "e\u{1b}]0;t=1"],
        &["show", "\u{1b}[2J"],
        &["show", "1", "--json"],
    ] {
        for color in ["never", "always"] {
            let called = store.call(&[args, &["--color", color]].concat());
            let mut shown = format!("{}{}", called.out, called.err);
            if color == "always" {
                for code in ["1", "2", "1;31", "1;32", "1;33", "36", "0"] {
                    shown = shown.replace(&format!("\u{1b}[{code}m"), "");
                }
            }
            let acts = |it: char| (it.is_control() && it != '\n') || it == '\u{202e}';
            assert!(!shown.contains(acts), "{args:?}: {shown:?}");
        }
    }
    let tasks = store.text(&["tasks"]);
    assert_eq!(tasks.lines().count(), 2, "{tasks}");
    assert!(tasks.contains(r"Assign Approver \u{9b}2J\u{202e}"), "{tasks}");
    let run = travertine(&["run", &named, "--trace"]);
    assert!(run.out.contains("\"Assign Approver"), "{}", run.out);
    let kept = store.json(&["show", "1"]);
    let value = kept.field("variables").and_then(|it| it.field("x")).cloned();
    assert_eq!(value, Some(Value::from("\u{1b}[31mred\u{9b}")), "what is kept is as it came");
}

#[test]
fn the_number_of_an_instance_is_nobodys_id() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let refusal = store.refusal(&["start", "hello", "--var", "name=Ann", "--id", "number:12"]);
    assert!(refusal.contains("choose another id"), "{refusal}");
    assert_eq!(store.text(&["instances"]), "no instances\n");
}

#[test]
fn what_cannot_fail_any_more_says_so() {
    let store = Store::with(&["examples/order.bpmn"]);
    store.text(&["start", "order"]);
    store.text(&["fail", "1-3", "--retries", "0", "--message", "no shelf"]);
    let refusal = store.refusal(&["fail", "1-3", "--message", "still none"]);
    assert!(refusal.contains("job 1-3 has failed as often as it may"), "{refusal}");
    for way_out in ["travertine retries 1-3 1", "travertine resolve 1"] {
        assert!(refusal.contains(way_out), "{refusal}");
    }
    // It is the incident that keeps it from being tried again, not its retries.
    store.text(&["retries", "1-3", "1"]);
    let refusal = store.refusal(&["fail", "1-3", "--retries", "5"]);
    assert!(refusal.contains("has an incident, resolve it first"), "{refusal}");
    assert!(store.text(&["incidents"]).contains("no shelf"), "nothing has changed");
    store.text(&["resolve", "1"]);
    store.text(&["fail", "1-3", "--retries", "5"]);
}

#[test]
fn a_history_tells_what_happened_to_the_process() {
    let store = Store::with(&["examples/order.bpmn"]);
    store.text(&["start", "order", "--id", "ORD-7", "--var", "amount=250"]);
    store.text(&["complete", "1-3", "--var", "shelf=B7"]);
    store.text(&["timers", "fire", "1-6"]);
    store.text(&["fail", "1-10", "--message", "no net"]);
    store.text(&["fail", "1-10", "--error", "card-refused", "--message", "the limit"]);
    store.text(&["complete", "1"]);
    let told = store.text(&["history", "1"]);
    let told: Vec<&str> = told.lines().map(|it| it.split_once("  ").unwrap().1).collect();
    let told: Vec<&str> = told.iter().map(|it| it.split(" after ").next().unwrap()).collect();
    let expected = [
        "started, amount = 250",
        "\"Reserve stock\" started, waits for a worker of type reserve",
        "\"Reserve stock\" completed",
        "\"Charge the card\" failed, 2 retries left: no net",
        "\"Pay\" failed",
        "\"Card refused\" occurred",
        "completed",
    ];
    let mut rest = told.iter();
    for it in expected {
        assert!(rest.any(|line| *line == it), "{it}: {told:?}");
    }
    assert!(!told.iter().any(|it| it.contains("token") || it.contains("layer")), "{told:?}");
    assert!(store.text(&["history", "1", "--events"]).contains("token 2 to reserve"));
}

#[test]
fn a_history_is_data_with_activities_and_events_that_have_fields() {
    let store = Store::with(&["examples/order.bpmn"]);
    store.text(&["start", "order", "--var", "amount=250"]);
    store.text(&["complete", "1-3", "--var", "shelf=B7"]);
    store.text(&["fail", "1-10", "--message", "no net"]);
    store.text(&["fail", "1-10", "--error", "card-refused", "--message", "the limit"]);
    let told = store.json(&["history", "1"]);
    let activities = list(&told, "activities");
    let of = |element: &str| {
        let found = activities.iter().find(|it| it.field("element") == Some(&element.into()));
        found.unwrap_or_else(|| panic!("{element}: {told}")).clone()
    };
    let reserve = of("reserve");
    assert_eq!(text(&reserve, "outcome"), "completed");
    assert_eq!(
        (text(&reserve, "kind"), text(&reserve, "wait")),
        ("service_task".into(), "1-3".into())
    );
    assert!(reserve.field("duration_ms").unwrap().as_i64().unwrap() >= 0);
    // Whole seconds are printed without a fraction: as texts the end would seem to come first.
    let moment = |field: &str| text(&reserve, field).trim_end_matches('Z').to_owned();
    assert!(moment("started") <= moment("ended"));
    assert_eq!(reserve.field("variables").unwrap().to_json(), r#"{"shelf":"B7"}"#);
    let charge = of("charge");
    assert_eq!(text(&charge, "outcome"), "failed");
    assert_eq!(text(&charge, "failure"), "error card-refused: the limit");
    assert_eq!(charge.field("failures"), Some(&1.into()));
    let release = of("release");
    assert_eq!(
        (text(&release, "outcome"), release.field("ended")),
        ("active".into(), Some(&Value::Null))
    );

    let steps = list(&told, "steps");
    let events: Vec<Value> = steps.iter().flat_map(|it| list(it, "events")).collect();
    let find = |kind: &str| events.iter().find(|it| text(it, "kind") == kind).unwrap().clone();
    let set = find("variable_set");
    assert_eq!((text(&set, "name"), set.field("value")), ("amount".into(), Some(&250.into())));
    let failed = find("work_failed");
    assert_eq!(
        (text(&failed, "message"), failed.field("retries")),
        ("no net".into(), Some(&2.into()))
    );
    assert_eq!(text(&failed, "element"), "charge");
    let opened = find("wait_opened");
    assert_eq!((text(&opened, "for"), text(&opened, "name")), ("job".into(), "reserve".into()));
}

#[test]
fn a_history_says_who_did_a_task_and_what_an_operator_did() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    store.text(&["claim", "1-3", "ann"]);
    store.text(&["set", "1", "--var", "note=kept"]);
    store.text(&["suspend", "1"]);
    store.text(&["resume", "1"]);
    store.text(&["complete", "1-3", "--var", "liked=true"]);
    let told = store.text(&["history", "1"]);
    for expected in [
        "\"Read the greeting\" changed: assignee ann",
        "variables set: note = \"kept\"",
        "suspended",
        "resumed",
        "\"Read the greeting\" completed by ann after ",
        ", liked = true",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let activities = list(&store.json(&["history", "1"]), "activities");
    let read = activities.iter().find(|it| text(it, "element") == "read").unwrap();
    assert_eq!(text(read, "assignee"), "ann");
}

#[test]
fn an_error_that_nobody_catches_says_its_code_and_that() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["start", "hello", "--var", "name=Ann"]);
    let failed = store.text(&["fail", "1-3", "--error", "NOPE", "--message", "hm"]);
    let expected = "error NOPE, which nobody catches: hm";
    assert!(failed.contains(expected), "{failed}");
    assert!(store.text(&["show", "1"]).contains(expected));
    assert!(store.text(&["history", "1"]).contains(expected));
    let answers = r#"[{"throw_error": "read", "code": "NOPE", "error_message": "hm"}]"#;
    let run = ["run", "examples/hello.bpmn", "--var", "name=Ann", "--answers", "-"];
    let run = travertine_with(&run, answers);
    assert_eq!(run.status, 4);
    assert!(run.out.contains(expected), "{}", run.out);
}

#[test]
fn who_waits_for_an_instance_is_told_at_once_which_one_it_is() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let called = store.call(&["start", "hello", "--var", "name=Ann", "--wait"]);
    assert_eq!(called.status, 3);
    assert!(called.err.starts_with("started hello 1, waiting for it\n"), "{}", called.err);
    assert!(called.out.starts_with("hello 1, running\n"), "{}", called.out);
    let data = store.call(&["start", "hello", "--var", "name=Ann", "--wait", "--json"]);
    assert!(data.err.starts_with("started hello 2"), "{}", data.err);
    assert_eq!(text(&data.json(), "instance"), "2");
    let timed = process(
        r#"<intermediateCatchEvent id="it"><timerEventDefinition>
             <timeDuration>PT0.2S</timeDuration></timerEventDefinition></intermediateCatchEvent>"#,
    );
    store.deploy(&[&file("friction-timed.bpmn", &timed)]);
    let called = store.call(&["start", "p", "--wait"]);
    assert_eq!((called.status, &*called.out), (0, "p 3, completed\n{}\n"), "{}", called.err);
    let progress: Vec<&str> = called.err.lines().collect();
    assert_eq!(progress[0], "started p 3, waiting for it");
    assert!(progress.last().unwrap().ends_with("p 3  to end; completed"), "{progress:?}");
    // Nobody could do the task while it waits for the timer.
    let reminded = process(
        r#"<userTask id="it"/>
           <boundaryEvent id="late" attachedToRef="it" cancelActivity="false"><timerEventDefinition>
             <timeDuration>P2D</timeDuration></timerEventDefinition></boundaryEvent>"#,
    );
    store.deploy(&[&file("friction-reminded.bpmn", &reminded)]);
    let called = store.call(&["start", "p", "--wait"]);
    assert_eq!(called.status, 3, "{}{}", called.out, called.err);
    assert_eq!(list(&store.json(&["tasks"]), "tasks").len(), 3);
}

#[test]
fn a_signal_says_who_has_heard_it() {
    let waits = model(
        r#"<signal id="s" name="go"/>
           <process id="p" isExecutable="true">
             <startEvent id="start"/>
             <sequenceFlow id="f1" sourceRef="start" targetRef="it"/>
             <intermediateCatchEvent id="it"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>
             <sequenceFlow id="f2" sourceRef="it" targetRef="end"/>
             <endEvent id="end"/>
           </process>
           <process id="q" isExecutable="true">
             <startEvent id="begin"><signalEventDefinition signalRef="s"/></startEvent>
             <sequenceFlow id="g1" sourceRef="begin" targetRef="done"/>
             <userTask id="done"/>
             <sequenceFlow id="g2" sourceRef="done" targetRef="over"/>
             <endEvent id="over"/>
           </process>"#,
    );
    let store = Store::with(&[&file("friction-signal.bpmn", &waits)]);
    let nobody = store.text(&["signal", "nobody"]);
    assert_eq!(nobody, "signal nobody sent: nobody waits for it, and it is not buffered\n");
    store.text(&["start", "p"]);
    store.text(&["start", "p"]);
    let sent = store.text(&["signal", "go"]);
    assert_eq!(sent, "signal go sent: received by 2, started 1 instance\n");
    let again = store.json(&["signal", "go"]);
    assert_eq!(again.field("received"), Some(&0.into()));
    assert_eq!(again.field("started"), Some(&1.into()));
}

#[test]
fn schedules_are_not_among_the_instances_unless_someone_asks() {
    let store = Store::with(&["examples/hello.bpmn"]);
    store.text(&["schedules", "add", "daily", "hello", "--cron", "0 6 * * *"]);
    assert_eq!(store.text(&["instances"]), "no instances\n");
    for asked in [&["--all"][..], &["--definition", "travertine.schedule"], &["--id", "daily"]] {
        let found = store.json(&[&["instances"][..], asked].concat());
        assert_eq!(list(&found, "instances").len(), 1, "{asked:?}");
    }
    assert!(store.text(&["schedules"]).contains("daily"));
}

#[test]
fn a_value_of_megabytes_is_shown_by_its_beginning_unless_it_is_wanted_in_full() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let large = format!(r#"{{"name": "Ann", "large": "{}"}}"#, "x".repeat(2_000_000));
    let vars = file("friction-large.json", &large);
    store.text(&["start", "hello", "--vars", &vars]);
    for args in [&["show", "1"][..], &["history", "1"], &["history", "1", "--events"]] {
        let shown = store.text(args);
        assert!(shown.len() < 10_000, "{args:?}: {}", shown.len());
        assert!(shown.contains("… 2.0 MB"), "{args:?}: {shown}");
    }
    let run = travertine(&["run", "examples/hello.bpmn", "--vars", &vars]);
    assert!(run.out.len() < 10_000 && run.out.contains("… 2.0 MB"), "{}", run.out.len());
    for args in [&["show", "1", "--full"][..], &["history", "1", "--events", "--full"]] {
        assert!(store.text(args).len() > 2_000_000, "{args:?}");
    }
    let data = store.json(&["show", "1"]);
    let value = data.field("variables").unwrap().field("large").unwrap().as_str().unwrap().len();
    assert_eq!(value, 2_000_000);
}

#[test]
fn a_shell_takes_the_script_that_completes_commands_and_options() {
    let script = travertine(&["completions", "bash"]);
    assert_eq!(script.status, 0, "{}", script.err);
    let mut shell = Command::new("bash");
    // What bash would offer after these words.
    shell.args(["-c", "source /dev/stdin; COMP_WORDS=(travertine sta); COMP_CWORD=1; _travertine travertine sta travertine; echo ${COMPREPLY[*]}"]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let offered = finish(shell.spawn().unwrap(), &script.out);
    assert_eq!(offered.out, "start stats\n", "{}", offered.err);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(travertine(&["completions", shell]).out.contains("incidents"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let page = travertine(&["man"]).out;
    assert!(page.contains(".TH travertine 1"), "{page}");
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    let written = travertine(&["man", "--dir", pages.to_str().unwrap()]);
    assert_eq!(written.status, 0, "{}", written.err);
    for name in ["travertine.1", "travertine-start.1", "travertine-timers-move.1"] {
        assert!(pages.join(name).is_file(), "{name}");
    }
}

#[test]
fn a_mistyped_option_is_answered_with_the_one_that_was_meant() {
    for (given, meant) in [
        ("--nwo", "--now"),
        ("--no", "--now"),
        ("--colr", "--color"),
        ("--vra", "--var"),
        ("--variable", "--var"),
        ("--answer", "--answers"),
    ] {
        let called = travertine(&["run", "examples/order.bpmn", given, "x=1"]);
        assert_eq!(called.status, 2);
        let tip = format!("a similar argument exists: '{meant}'");
        assert!(called.err.contains(&tip), "{given}: {}", called.err);
        assert!(!called.err.contains("as a value"), "{}", called.err);
    }
    for args in [
        &["run", "examples/order.bpmn", "--quickly"][..],
        &["deploy", "examples/order.bpmn", "--force"],
    ] {
        let called = travertine(args);
        assert!(!called.err.contains("similar"), "{}", called.err);
        let usage = format!("Usage: travertine {} [OPTIONS] <FILE>...", args[0]);
        assert!(called.err.contains(&usage), "{}", called.err);
    }
}

#[test]
fn a_name_or_a_value_of_any_length_is_not_repeated_whole() {
    let long = "N".repeat(100_000);
    let store = Store::with(&["examples/hello.bpmn"]);
    let data = &*store.data();
    let (json, number) = (format!("x=[{long}"), format!("x={}", "9".repeat(100_000)));
    for args in [
        &["start", &*long, "--data", data][..],
        &["show", &long, "--data", data],
        &["start", "hello", "--var", &json, "--data", data],
        &["start", "hello", "--var", &number, "--data", data],
        &["check", &long],
        &["eval", "1", &format!("--{long}")],
        &[&long],
    ] {
        let called = travertine(args);
        assert_ne!(called.status, 0);
        assert!(called.err.starts_with("error") && called.err.len() < 5_000, "{}", called.err);
    }
}

#[test]
fn a_run_that_does_not_come_to_rest_says_so_and_how_to_end_it() {
    let model = model(
        r#"<process id="p" isExecutable="true" tv:stepLimit="200000">
             <startEvent id="start"/>
             <sequenceFlow id="f1" sourceRef="start" targetRef="a"/> <task id="a"/>
             <sequenceFlow id="f2" sourceRef="a" targetRef="b"/> <task id="b"/>
             <sequenceFlow id="f3" sourceRef="b" targetRef="a"/>
           </process>"#,
    );
    let called = travertine(&["run", &file("restless.bpmn", &model)]);
    let said = "note: it has not come to rest after ";
    assert_eq!(called.err.matches(said).count(), 1, "{}", called.err);
    assert!(called.err.contains("Ctrl-C ends it"), "{}", called.err);
}

#[test]
fn a_sub_process_in_which_nothing_has_begun_says_what_it_waits_for() {
    let model = process(
        r#"<adHocSubProcess id="it" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
             <extensionElements><zeebe:adHoc activeElementsCollection="=[]"/></extensionElements>
             <userTask id="a"/>
           </adHocSubProcess>"#,
    );
    let store = Store::empty();
    let model = file("friction-adhoc.bpmn", &model);
    store.deploy(&[&model]);
    let started = store.call(&["start", "p"]);
    let said = "it is open, and waits for one of its activities to be activated";
    let run = travertine(&["run", &model]);
    assert!(run.out.contains(said), "{}", run.out);
    assert!(started.out.contains(said), "{}", started.out);
    assert!(started.out.contains("travertine modify 1 --add ELEMENT"), "{}", started.out);
    assert_eq!(store.call(&["modify", "1", "--add", "a"]).status, 0);
    assert!(!store.call(&["show", "1"]).out.contains(said));
}
