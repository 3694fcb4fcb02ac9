//! `travertine run`.

use expect_test::expect;
use travertine_value::Value;

use super::{Called, command, file, model, process, travertine, travertine_with};

fn variables(called: &Called) -> String {
    called.json().field("variables").unwrap().to_json()
}

fn run_example(name: &str, vars: &[&str]) -> Called {
    let (model, answers) =
        (format!("examples/{name}.bpmn"), format!("examples/{name}.answers.json"));
    let mut args = vec!["run", &model, "--answers", &answers, "--json"];
    for it in vars {
        args.extend(["--var", it]);
    }
    let called = travertine(&args);
    assert_eq!(called.status, 0, "{}{}", called.out, called.err);
    assert_eq!(called.json().field("outcome"), Some(&"completed".into()));
    called
}

#[test]
fn hello_completes() {
    let called = run_example("hello", &["name=Ann"]);
    assert_eq!(variables(&called), r#"{"greeting":"Sorry, Ann.","liked":false,"name":"Ann"}"#);
}

#[test]
fn order_reminds_and_undoes() {
    let called = run_example("order", &[]);
    assert_eq!(variables(&called), r#"{"reminded":true,"shelf":"B7"}"#);
}

#[test]
fn reviews_are_collected_in_order() {
    let called = run_example("reviews", &[r#"items=["a","b","c"]"#]);
    let results = called.json().field("variables").unwrap().field("results").unwrap().to_json();
    assert_eq!(results, r#"["reviewed-a","reviewed-b","reviewed-c"]"#);
}

#[test]
fn batch_works_in_slices_and_branches() {
    let called = run_example("batch", &["numbers=[1,2,3,4,5]"]);
    let variables = called.json().field("variables").unwrap().clone();
    assert_eq!(variables.field("sums").unwrap().to_json(), "[3,7,5]");
    assert_eq!(variables.field("answers").unwrap().to_json(), r#"[{"answer":3},{"answer":7}]"#);
}

#[test]
fn what_happens_is_told_line_by_line() {
    let called = travertine(&[
        "run",
        "examples/hello.bpmn",
        "--var=name=Ann",
        "--now=2026-01-05T09:00:00Z",
        "--answers=examples/hello.answers.json",
        "--trace",
    ]);
    assert_eq!(called.status, 0, "{}", called.err);
    let lines: Vec<String> =
        called.out.lines().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "> start name=\"Ann\" (hello 1, 2026-01-05T09:00:00Z)",
        "token 2 to read read \"Read the greeting\"",
        "> complete 3 liked=false read \"Read the greeting\" (hello 1, 2026-01-05T09:00:00Z)",
        "finished",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line}\n{}", called.out);
    }
}

#[test]
fn the_tree_is_shown_after_each_command() {
    let called = travertine(&[
        "run",
        "examples/order.bpmn",
        "--now=2026-01-05T09:00:00Z",
        "--answers=examples/order.answers.json",
        "--tree",
    ]);
    assert_eq!(called.status, 0, "{}", called.err);
    expect![[r#"
        > start  (order 1, 2026-01-05T09:00:00Z)
            process order [1 busy]
              reserve [2 busy]
        > complete 3 shelf="B7"  reserve "Reserve stock"  (order 1, 2026-01-05T09:00:00Z)
            process order [1 busy]
              sub-process pay [2 busy]
                charge [9 busy]
              undo-reserve (compensation) [4 created]
        > complete 6  slow "After an hour"  (order 1, 2026-01-05T10:00:00Z)
            process order [1 busy]
              sub-process pay [2 busy]
                charge [9 busy]
              undo-reserve (compensation) [4 created]
        > raise error card-refused at 10  charge "Charge the card"  (order 1, 2026-01-05T10:00:00Z)
            process order [1 busy]
              compensation undo [7 busy]
                release (compensation) [4 busy]
        > complete 11  release "Release stock"  (order 1, 2026-01-05T10:00:00Z)

        completed order 1
        {
          "reminded": true,
          "shelf": "B7"
        }
    "#]]
    .assert_eq(&called.out);
}

#[test]
fn what_waits_is_told_with_a_status_of_its_own() {
    let called = travertine(&["run", "examples/hello.bpmn", "--var", "name=Ann"]);
    assert_eq!(called.status, 3);
    expect![[r#"
        waiting hello 1
          user task read "Read the greeting": waits for a person
        {
          "greeting": "Hello, Ann!",
          "name": "Ann"
        }
    "#]]
    .assert_eq(&called.out);
}

#[test]
fn what_waits_is_there_as_data() {
    let called = travertine(&["run", "examples/hello.bpmn", "--var", "name=Ann", "--json"]);
    assert_eq!(called.status, 3);
    let told = called.json();
    let wait = told.field("instances").unwrap().as_list().unwrap()[0].field("waits").unwrap();
    let wait = &wait.as_list().unwrap()[0];
    expect![[r#"{"kind":"user_task","element":"read","label":"Read the greeting","instance":"1","token":"2","wait":"3","place":"hello^read","beside":null,"name":"userTask","fields":{},"due":null,"why":"waits for a person","way_out":null,"visible":{"greeting":"Hello, Ann!","name":"Ann"}}"#]].assert_eq(&wait.to_json());
    assert_eq!(told.field("exit_status"), Some(&3.into()));
    assert_eq!(told.field("instance"), Some(&"1".into()));
}

#[test]
fn an_incident_is_told_with_its_cause_and_the_way_out() {
    let spin = "<scriptTask id=\"it\" name=\"Spin\" scriptFormat=\"javascript\">
                <script>while (true) {}</script></scriptTask>";
    let path = file("run-spin.bpmn", &process(spin));
    let called = travertine(&["run", &path]);
    assert_eq!(called.status, 4);
    expect![[r#"
        incident p 1
          incident it "Spin": `while (true) {}`: the step limit was exceeded
            way out: set the variables it needs and retry, or correct the expression or script
        {}
    "#]]
    .assert_eq(&called.out);
}

#[test]
fn a_failed_instance_has_a_status_of_its_own() {
    let failing = r#"<error id="no" errorCode="no-stock"/>
        <process id="p" isExecutable="true" tv:unhandledError="fail">
          <startEvent id="start"/>
          <sequenceFlow id="in" sourceRef="start" targetRef="end"/>
          <endEvent id="end"><errorEventDefinition errorRef="no"/></endEvent>
        </process>"#;
    let path = file("run-failing.bpmn", &model(failing));
    let called = travertine(&["run", &path]);
    assert_eq!(called.status, 5, "{}{}", called.out, called.err);
    assert!(called.out.contains("failed p 1"), "{}", called.out);
}

#[test]
fn a_call_of_what_is_not_there_is_an_incident_until_it_is_given_too() {
    let caller =
        file("run-caller.bpmn", &process("<callActivity id=\"it\" calledElement=\"other\"/>"));
    let called = travertine(&["run", &caller]);
    assert_eq!(called.status, 4, "{}{}", called.out, called.err);
    assert!(called.out.contains("no such definition: other"), "{}", called.out);
    let other = process("<userTask id=\"it\"/>").replace("\"p\"", "\"other\"");
    let other = file("run-called.bpmn", &other);
    let called = travertine(&["run", &caller, &other, "--process", "p"]);
    assert_eq!(called.status, 3, "{}{}", called.out, called.err);
    assert!(called.out.contains("waiting other 2\n  user task it"), "{}", called.out);
}

#[test]
fn a_rejected_model_does_not_run() {
    let bad = process("<task id=\"it\"><multiInstanceLoopCharacteristics/></task>");
    let path = file("run-bad.bpmn", &bad);
    let called = travertine(&["run", &path]);
    assert_eq!((called.status, &*called.out), (1, ""));
    assert!(called.err.contains("error TV0601"), "{}", called.err);
    let called = travertine(&["run", &path, "--json"]);
    assert_eq!(called.status, 1);
    assert_eq!(called.json().field("outcome"), Some(&"rejected".into()));
}

#[test]
fn which_process_is_meant_must_be_clear() {
    let files = ["run", "examples/hello.bpmn", "examples/order.bpmn"];
    let called = travertine(&files);
    assert_eq!(called.status, 2);
    expect![[r#"
        error: there are 2 processes: hello "Say hello", order "Order"; say which one to start with --process ID
    "#]].assert_eq(&called.err);
    let called = travertine(&[&files[..], &["--process", "invoice"]].concat());
    assert_eq!(called.status, 2);
    expect![[r#"
        error: no such process: invoice; there are 2 processes: hello "Say hello", order "Order"
    "#]]
    .assert_eq(&called.err);
    let called = travertine(&[&files[..], &["--process", "order"]].concat());
    assert_eq!(called.status, 3);
}

#[test]
fn a_start_event_that_waits_for_something_can_be_chosen() {
    let two = r#"<message id="m" name="paid"/><signal id="s" name="opened"/>
        <process id="p" isExecutable="true">
          <startEvent id="by-message"><messageEventDefinition messageRef="m"/></startEvent>
          <startEvent id="by-signal"><signalEventDefinition signalRef="s"/></startEvent>
          <sequenceFlow id="one" sourceRef="by-message" targetRef="end"/>
          <sequenceFlow id="two" sourceRef="by-signal" targetRef="end"/>
          <endEvent id="end"/>
        </process>"#;
    let path = file("run-starts.bpmn", &model(two));
    let called = travertine(&["run", &path]);
    assert_eq!(called.status, 2);
    expect![[r#"
        warning: 1 warning about the model; `travertine check` shows them
        error: process p has several start events: by-message (message "paid"), by-signal (signal "opened"); say which one with --start ID
    "#]].assert_eq(&called.err);
    assert_eq!(travertine(&["run", &path, "--start", "by-signal"]).status, 0);
}

#[test]
fn variables_come_from_arguments_files_and_standard_input() {
    let args = ["run", "examples/hello.bpmn", "--json", "--vars"];
    let name = |called: &Called| called.json().field("variables").unwrap().field("name").cloned();
    let path = file("run-vars.json", r#"{"name": "Ann"}"#);
    assert_eq!(name(&travertine(&[&args[..], &[&path]].concat())), Some("Ann".into()));
    let called = travertine_with(&[&args[..], &["-"]].concat(), r#"{"name": 7}"#);
    assert_eq!(name(&called), Some(7.into()));
    let called = travertine(&[&args[..], &[&path, "--var", "name=Bob"]].concat());
    assert_eq!(name(&called), Some("Bob".into()));
}

#[test]
fn variables_that_make_no_sense_are_refused() {
    let called = travertine(&["run", "examples/hello.bpmn", "--var", "name"]);
    assert_eq!(called.status, 2);
    assert!(called.err.contains("`name` has no `=`; write name=value"), "{}", called.err);
    let path = file("run-vars-list.json", "[1]");
    let called = travertine(&["run", "examples/hello.bpmn", "--vars", &path]);
    assert_eq!(called.status, 2);
    assert!(called.err.contains("an object such as {\"name\": 1} is expected, not a list"));
    let called = travertine(&["run", "examples/hello.bpmn", "--vars=-", "--answers=-"]);
    assert_eq!(called.status, 2);
}

#[test]
fn answers_that_do_not_fit_are_refused_with_what_would() {
    let faults: Vec<String> = [
        r#"{"complete": "read"}"#,
        r#"["read"]"#,
        r#"[{"complete": "raed"}]"#,
        r#"[{"complete": "read", "variables": {}}]"#,
        r#"[{"finish": "read"}]"#,
        r#"[{"complete": "read", "signal": "x"}]"#,
        r#"[{"throw_error": "read"}]"#,
        r#"[{"retry": "read"}]"#,
        r#"[{"complete": "read", "where": {"loopCounter": 7}}]"#,
        r#"[{"advance": "an hour"}]"#,
        r#"[{"advance": "next"}]"#,
        r#"[{"complete": "read"}, {"complete": "read"}]"#,
    ]
    .iter()
    .map(|answers| {
        let called = travertine_with(
            &["run", "examples/hello.bpmn", "--var", "name=Ann", "--answers", "-"],
            answers,
        );
        assert_eq!(called.status, 2, "{answers}: {}", called.out);
        called.err
    })
    .collect();
    expect![[r#"
        error: standard input holds an object, not a list of answers; see docs/cli.md
        error: standard input: answer 1, "read": an answer is an object, not a text
        error: standard input: answer 1, {"complete":"raed"}: nothing waits at raed; what waits is read (user task)
        error: standard input: answer 1, {"complete":"read","variables":{}}: complete knows no field variables
        error: standard input: answer 1, {"finish":"read"}: it says nothing to do; one of these is needed: complete, throw_error, escalate, fail, retry, message, signal, advance, set_vars, cancel
        error: standard input: answer 1, {"complete":"read","signal":"x"}: it says both complete and signal; make two answers of it
        error: standard input: answer 1, {"throw_error":"read"}: code is missing
        error: standard input: answer 1, {"retry":"read"}: read cannot be retried: it waits for a person
        error: standard input: answer 1, {"complete":"read","where":{"loopCounter":7}}: none of what waits at read sees loopCounter=7
        error: standard input: answer 1, {"advance":"an hour"}: not a duration such as PT5M or P1D: an hour
        error: standard input: answer 1, {"advance":"next"}: no timer is set
        error: standard input: answer 2, {"complete":"read"}: nothing waits at read; what waits is liked (incident)
    "#]].assert_eq(&faults.concat());
}

#[test]
fn messages_signals_and_incidents_are_answered_too() {
    let waits = r#"<message id="m" name="paid"/><signal id="s" name="opened"/>
        <process id="p" isExecutable="true">
          <startEvent id="start"/>
          <sequenceFlow id="a" sourceRef="start" targetRef="message"/>
          <intermediateCatchEvent id="message">
            <messageEventDefinition messageRef="m"/></intermediateCatchEvent>
          <sequenceFlow id="b" sourceRef="message" targetRef="signal"/>
          <intermediateCatchEvent id="signal">
            <signalEventDefinition signalRef="s"/></intermediateCatchEvent>
          <sequenceFlow id="c" sourceRef="signal" targetRef="work"/>
          <serviceTask id="work"/>
          <sequenceFlow id="d" sourceRef="work" targetRef="end"/>
          <endEvent id="end"/>
        </process>"#;
    let path = file("run-waits.bpmn", &model(waits));
    let answers = r#"[
        {"message": "paid", "vars": {"cents": 100}},
        {"signal": "opened"},
        {"fail": "work", "retries": 0, "error_message": "no connection"},
        {"retry": "work"},
        {"set_vars": {"note": "again"}},
        {"complete": "work"}
    ]"#;
    let called = travertine_with(&["run", &path, "--answers", "-", "--json"], answers);
    assert_eq!(called.status, 0, "{}{}", called.out, called.err);
    assert_eq!(variables(&called), r#"{"cents":100,"note":"again"}"#);
    let called = travertine_with(
        &["run", &path, "--answers", "-"],
        r#"[{"message": "x"}, {"cancel": true}]"#,
    );
    assert_eq!(called.status, 5);
    assert!(called.out.contains("buffered message x: nobody received it"), "{}", called.out);
}

#[test]
fn the_trace_is_there_as_data() {
    let called = travertine(&["run", "examples/hello.bpmn", "--json", "--trace", "--tree"]);
    let told = called.json();
    let first = &told.field("trace").unwrap().as_list().unwrap()[0];
    let names: Vec<&str> = first.as_map().unwrap().keys().map(|it| &**it).collect();
    assert_eq!(names, ["time", "instance", "process", "command", "events", "tree"]);
    assert_eq!(first.field("tree").and_then(Value::as_list).map(<[Value]>::len), Some(2));
}

#[test]
fn a_trace_that_nobody_reads_ends_quietly() {
    let args = ["run", "examples/order.bpmn", "--trace", "--answers=examples/order.answers.json"];
    let mut child = command(&args).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.code().is_some_and(|it| it != 101));
}

#[test]
fn a_business_rule_task_makes_the_decision_of_a_file_given_along_with_the_model() {
    let both = ["examples/approval.bpmn", "examples/approval.dmn"];
    let answers = "examples/approval.answers.json";
    let small = travertine(&["run", both[0], both[1], "--var", "amount=50"]);
    assert_eq!((small.status, small.out.contains("\"nobody\"")), (0, true), "{}", small.out);
    let large = ["run", both[0], both[1], "--var", "amount=500", "--answers", answers];
    let large = travertine(&large);
    assert_eq!((large.status, large.out.contains("\"team lead\"")), (0, true), "{}", large.out);
    let alone = travertine(&["run", both[0], "--var", "amount=50"]);
    assert_eq!((alone.status, alone.err.contains("TV0720")), (1, true), "{}", alone.err);
    let checked = travertine(&["check", both[0], both[1]]);
    assert_eq!(checked.status, 0, "{}", checked.out);
}

#[test]
fn an_event_based_gateway_is_said_to_wait_for_its_events() {
    let body = "<signal id=\"S\" name=\"go\"/><process id=\"p\" isExecutable=\"true\">\
        <startEvent id=\"s\"/><eventBasedGateway id=\"race\"/>\
        <intermediateCatchEvent id=\"go\"><signalEventDefinition signalRef=\"S\"/></intermediateCatchEvent>\
        <intermediateCatchEvent id=\"late\"><timerEventDefinition><timeDuration>PT1H</timeDuration>\
        </timerEventDefinition></intermediateCatchEvent>\
        <sequenceFlow id=\"a\" sourceRef=\"s\" targetRef=\"race\"/>\
        <sequenceFlow id=\"b\" sourceRef=\"race\" targetRef=\"go\"/>\
        <sequenceFlow id=\"c\" sourceRef=\"race\" targetRef=\"late\"/></process>";
    let path = file("run-race.bpmn", &model(body));
    let called = travertine(&["run", &path]);
    assert_eq!(called.status, 3, "{}", called.err);
    assert!(called.out.contains("waits for the first of the events behind it"), "{}", called.out);
    assert!(!called.out.contains("other tokens"), "{}", called.out);
}

/// A model for scenarios: a decision, whose restriction allows the second of three values.
const SHOP: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:bpmnos="https://bpmnos.telematique.eu"><process id="Shop"><extensionElements><bpmnos:status><bpmnos:attributes>
    <bpmnos:attribute id="x" name="x" type="integer" objective="maximize" weight="2"/></bpmnos:attributes></bpmnos:status>
    </extensionElements><task id="Choose" bpmnos:type="Decision"><extensionElements><bpmnos:status><bpmnos:restrictions>
    <bpmnos:restriction id="r" expression="x != 1" scope="completion"/></bpmnos:restrictions><bpmnos:decisions>
    <bpmnos:decision id="d" condition="x in [1, 2, 3]"/></bpmnos:decisions></bpmnos:status></extensionElements></task>
    </process></definitions>"#;

#[test]
fn a_scenario_tells_every_state() {
    let model = file("shop.bpmn", SHOP);
    let scenario =
        file("shop.csv", "INSTANCE_ID; NODE_ID; INITIALIZATION\nA; Shop; timestamp := 2\n");
    let called = travertine(&["run", &model, "--scenario", &scenario, "--states"]);
    assert_eq!(called.status, 0, "{}", called.err);
    expect![[r#"
        2 A Shop ENTERED {"timestamp":2}
        2 A Shop BUSY {"timestamp":2}
        2 A Choose CREATED {"timestamp":2}
        2 A Choose READY {"timestamp":2}
        2 A Choose ENTERED {"timestamp":2}
        2 A Choose BUSY {"timestamp":2}
        2 A Choose COMPLETED {"timestamp":2,"x":2}
        2 A Choose EXITING {"timestamp":2,"x":2}
        2 A Choose DONE {"timestamp":2,"x":2}
        2 A Shop COMPLETED {"timestamp":2,"x":2}
        2 A Shop DONE {"timestamp":2,"x":2}

        completed Shop A
        {
          "timestamp": 2,
          "x": 2
        }

        time 2, objective 4
    "#]]
    .assert_eq(&called.out);
    let best = travertine(&["run", &model, "--scenario", &scenario, "--decide=best", "--json"]);
    assert_eq!(best.json().field("objective"), Some(&6.into()));
}

#[test]
fn decisions_of_a_scenario_are_answered_from_outside() {
    let model = file("asked.bpmn", SHOP);
    let scenario = file("asked.csv", "INSTANCE_ID; NODE_ID; INITIALIZATION\nA; Shop;\n");
    let run = |answers: &str| {
        let answers = file("asked.answers.json", answers);
        let args = [
            "run",
            &model,
            "--scenario",
            &scenario,
            "--decide=ask",
            "--answers",
            &answers,
            "--json",
        ];
        travertine(&args)
    };
    let entry = r#"{"decision": "entry", "instance": "A", "node": "Choose"}"#;
    let called = run(&format!("[{entry}]"));
    assert_eq!(called.status, 3);
    let pending = called.json().field("pending").unwrap().to_json();
    for part in [r#""waits_for":"choice""#, r#""values":{"x":1},"sender":null,"feasible":false"#] {
        assert!(pending.contains(part), "{part}: {pending}");
    }
    let choice = r#"{"decision": "choice", "instance": "A", "node": "Choose", "values": {"x": 3}, "time": 4}"#;
    let exit = r#"{"decision": "exit", "instance": "A", "node": "Choose"}"#;
    let called = run(&format!("[{entry}, {choice}, {exit}]"));
    assert_eq!(called.status, 0, "{}", called.err);
    assert_eq!(called.json().field("time"), Some(&4.into()));
    let called = run(&format!("[{exit}]"));
    assert_eq!(called.status, 2);
    assert!(called.err.contains("open decisions: entry of Choose in A"), "{}", called.err);
}

#[test]
fn models_for_scenarios_are_checked_and_run_as_such_alone() {
    let model = file("checked.bpmn", SHOP);
    let called = travertine(&["check", &model]);
    assert_eq!(called.status, 0, "{}", called.out);
    assert!(called.out.contains("can run as a scenario"), "{}", called.out);
    assert!(called.out.contains("executed"), "{}", called.out);
    let told = travertine(&["check", &model, "--json"]).json();
    let elements = told.field("elements").and_then(Value::as_list).unwrap();
    assert_eq!(elements.len(), SHOP.matches("</").count() + SHOP.matches("/>").count());
    let plain = travertine(&["run", &model]);
    assert_eq!(plain.status, 1);
    assert!(plain.err.contains("TV0730") && plain.err.contains("--scenario"), "{}", plain.err);
    let bad = file("bad-scenario.bpmn", &SHOP.replace("x in [", "y in ["));
    let called = travertine(&["check", &bad, "--json"]);
    assert_eq!(called.status, 1);
    assert!(called.out.contains("TV0743"), "{}", called.out);
}
