//! `travertine check`.

use expect_test::expect;
use travertine_value::Value;

use super::{file, model, process, store::Store, travertine};

const EXAMPLES: [&str; 4] = ["hello", "order", "reviews", "batch"];

#[test]
fn a_good_model_is_summed_up() {
    let called = travertine(&["check", "examples/hello.bpmn"]);
    assert_eq!(called.status, 0);
    expect![[r#"
        examples/hello.bpmn
          process hello "Say hello"
          executed    18  definitions, process, startEvent, 6 sequenceFlow, 2 scriptTask, 2 script,
                          userTask, exclusiveGateway, conditionExpression, 2 endEvent
          no effect    0
          rejected     0

        ok: the model can run
    "#]]
    .assert_eq(&called.out);
}

#[test]
fn all_examples_can_run_without_a_word_of_warning() {
    let files = EXAMPLES.map(|it| format!("examples/{it}.bpmn"));
    let mut args = vec!["check"];
    args.extend(files.iter().map(String::as_str));
    let called = travertine(&args);
    assert_eq!(called.status, 0, "{}", called.out);
    assert!(called.out.ends_with("\nok: the 4 models can run\n"), "{}", called.out);
}

#[test]
fn every_element_is_listed_on_demand() {
    let called = travertine(&["check", "--all", "examples/hello.bpmn"]);
    assert_eq!(called.status, 0);
    let line = called.out.lines().find(|it| it.contains("userTask")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>()[1..], ["executed", "userTask", "read"]);
}

#[test]
fn what_is_rejected_is_shown_with_place_reason_and_way_out() {
    let bad = process("<task id=\"it\"><multiInstanceLoopCharacteristics/></task>");
    let path = file("check-bad.bpmn", &bad);
    let called = travertine(&["check", &path]);
    assert_eq!(called.status, 1);
    expect![[r#"
        bad.bpmn
          executed     7  definitions, process, startEvent, 2 sequenceFlow, task, endEvent
          no effect    0
          rejected     1  multiInstanceLoopCharacteristics

        error TV0601: multi-instance task 'it' says neither how often nor for what it runs
         --> bad.bpmn:6:28  (element it)
        6 | <task id="it"><multiInstanceLoopCharacteristics/></task>
          |               ^
          = help: add a loopCardinality or a collection

        rejected: the model cannot run: 1 error
    "#]]
    .assert_eq(&called.out.replace(&path, "bad.bpmn"));
}

#[test]
fn what_is_no_xml_is_shown_where_it_ends_to_be() {
    let path = file("check-broken.bpmn", "<definitions>\n  <process");
    let called = travertine(&["check", &path]);
    assert_eq!(called.status, 1);
    assert!(called.out.contains("check-broken.bpmn:2:3\n2 | <process\n  | ^\n"), "{}", called.out);
}

#[test]
fn every_file_that_cannot_be_read_is_named() {
    let called = travertine(&["check", "no-such.bpmn", "examples", "examples/hello.bpmn"]);
    assert_eq!((called.status, &*called.out), (2, ""));
    expect![[r"
        error: cannot read no-such.bpmn: no such file or directory
        error: cannot read examples: is a directory
    "]]
    .assert_eq(&called.err);
}

#[test]
fn the_whole_report_is_there_as_data() {
    let called = travertine(&["check", "--json", "examples/hello.bpmn"]);
    assert_eq!(called.status, 0);
    let report = called.json();
    assert_eq!(names(&report), ["can_run", "files", "processes", "diagnostics", "elements"]);
    assert_eq!(report.field("can_run"), Some(&true.into()));
    let first = |name: &str| report.field(name).unwrap().as_list().unwrap()[0].clone();
    assert_eq!(
        names(&first("files")),
        ["file", "executed", "no_effect", "rejected", "errors", "warnings", "notes"]
    );
    assert_eq!(names(&first("processes")), ["id", "name", "executable", "file"]);
    assert_eq!(
        names(&first("elements")),
        ["file", "line", "column", "kind", "id", "verdict", "note"]
    );
    let path = file("check-json.bpmn", "<definitions");
    let called = travertine(&["check", "--json", &path]);
    assert_eq!(called.status, 1);
    let report = called.json();
    assert_eq!(report.field("can_run"), Some(&false.into()));
    assert_eq!(
        names(&report.field("diagnostics").unwrap().as_list().unwrap()[0]),
        ["severity", "code", "file", "line", "column", "element", "message", "help"]
    );
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let plain = travertine(&["check", "examples/hello.bpmn"]);
    assert!(!plain.out.contains('\x1b'));
    let painted = travertine(&["check", "--color", "always", "examples/hello.bpmn"]);
    assert!(painted.out.contains("\x1b["));
}

fn names(value: &Value) -> Vec<&str> {
    value.as_map().unwrap().keys().map(|it| &**it).collect()
}

#[test]
fn a_model_that_is_not_executable_is_said_to_be_wherever_it_is_given() {
    let body = "<process id=\"idle\" isExecutable=\"false\"><task id=\"t\"/></process>";
    let path = file("check-idle.bpmn", &model(body));
    let checked = travertine(&["check", &path]);
    assert_eq!(checked.status, 1, "{}", checked.out);
    let says = "process 'idle' is not executable: isExecutable is false";
    assert!(checked.out.contains(says), "{}", checked.out);
    let last = checked.out.lines().last().unwrap();
    assert!(last.starts_with("rejected: the model cannot run: no process is executable"), "{last}");
    let report = travertine(&["check", "--json", &path]).json();
    assert_eq!(report.field("can_run"), Some(&false.into()));

    let run = travertine(&["run", &path]);
    assert_ne!(run.status, 0);
    assert!(run.err.contains("no process in these files is executable: idle"), "{}", run.err);
    let named = travertine(&["run", &path, "--process", "idle"]);
    assert_eq!(named.status, 0, "{}", named.err);

    let store = Store::empty();
    let deployed = store.call(&["deploy", &path]);
    assert_eq!(deployed.status, 1, "{}", deployed.out);
    assert!(deployed.err.contains(says), "{}", deployed.err);
    assert!(deployed.err.contains("nothing was deployed"), "{}", deployed.err);
}

#[test]
fn processes_beside_an_executable_one_are_named_in_one_line() {
    let body = "<process id=\"a\" isExecutable=\"true\"><task id=\"t\"/></process>\
                <process id=\"b\" isExecutable=\"false\"><task id=\"u\"/></process>\
                <process id=\"c\"><task id=\"v\"/></process>";
    let path = file("check-some-idle.bpmn", &model(body));
    let checked = travertine(&["check", &path]);
    assert_eq!(checked.status, 0, "{}", checked.out);
    let says = "processes 'b' and 'c' are not executable: isExecutable is false or not set";
    let lines: Vec<_> = checked.out.lines().filter(|it| it.contains(says)).collect();
    assert_eq!(lines.len(), 1, "{}", checked.out);
    assert!(checked.out.ends_with("ok: the model can run\n"), "{}", checked.out);
    let store = Store::empty();
    let deployed = store.call(&["deploy", &path]);
    assert_eq!((deployed.status, &*deployed.out), (0, "deployed a version 1\n"));
    assert!(deployed.err.contains(says), "{}", deployed.err);
}

#[test]
fn a_process_that_is_alone_and_says_nothing_is_executable() {
    let path = file("check-silent.bpmn", &model("<process id=\"p\"><task id=\"t\"/></process>"));
    assert_eq!(travertine(&["check", &path]).status, 0);
    assert_eq!(travertine(&["run", &path]).status, 0);
    let store = Store::empty();
    let deployed = store.call(&["deploy", &path]);
    assert_eq!(
        (deployed.status, &*deployed.out),
        (0, "deployed p version 1\n"),
        "{}",
        deployed.err
    );
}

#[test]
fn deploying_says_nothing_of_files_that_were_deployed_before() {
    let dmn = "<definitions xmlns=\"https://www.omg.org/spec/DMN/20191111/MODEL/\" id=\"d\" name=\"d\" \
               namespace=\"t\"><decision id=\"x\" name=\"x\"><decisionTable id=\"i\"><input id=\"j\">\
               <inputExpression id=\"k\"><text>a</text></inputExpression></input>\
               <output id=\"o\"/><rule id=\"r\"><inputEntry id=\"e\"><text>1</text></inputEntry>\
               <outputEntry id=\"f\"><text>1 + &quot;a&quot;</text></outputEntry></rule></decisionTable></decision></definitions>";
    let dmn = file("check-before.dmn", dmn);
    let plain = file("check-after.bpmn", &process("<task id=\"it\"/>"));
    let store = Store::empty();
    let first = store.call(&["deploy", &dmn, "--json"]);
    assert_eq!(first.status, 0, "{} {}", first.out, first.err);
    let second = store.call(&["deploy", &plain, "--json"]);
    let said = second.json().field("diagnostics").unwrap().as_list().unwrap().len();
    assert_eq!(said, 0, "{}", second.out);
}

#[test]
fn a_decision_in_another_language_is_reported_once_and_its_task_not_at_all() {
    let dmn = "<definitions xmlns=\"https://www.omg.org/spec/DMN/20191111/MODEL/\" id=\"d\" name=\"d\" \
               namespace=\"t\"><decision id=\"x\" name=\"x\"><literalExpression id=\"l\" \
               expressionLanguage=\"juel\"><text>${a}</text></literalExpression></decision></definitions>";
    let dmn = file("check-juel.dmn", dmn);
    let task =
        file("check-juel.bpmn", &process("<businessRuleTask id=\"it\" tv:decisionRef=\"x\"/>"));
    let report = travertine(&["check", "--json", &task, &dmn]).json();
    let found = report.field("diagnostics").unwrap().as_list().unwrap().to_vec();
    let codes: Vec<_> = found.iter().map(|it| it.field("code").unwrap().to_string()).collect();
    assert_eq!(codes, ["\"TV2103\""]);
}

#[test]
fn a_file_that_is_no_model_is_not_said_to_run() {
    let text = file("check-notes.txt", "some notes");
    let called = travertine(&["check", &text]);
    assert_eq!(called.status, 1, "{}", called.out);
    assert!(called.out.contains("neither BPMN nor DMN"), "{}", called.out);
    assert!(called.out.ends_with("rejected: the file is no model\n"), "{}", called.out);
    let report = travertine(&["check", "--json", &text]).json();
    assert_eq!(report.field("can_run").unwrap().to_string(), "false");
    let form = file("check-ask.form", r#"{"id": "ask", "components": []}"#);
    let called = travertine(&["check", "examples/hello.bpmn", &form]);
    assert_eq!(called.status, 0, "{}", called.out);
    assert!(called.out.contains("a form, which is deployed as it is"), "{}", called.out);
}

#[test]
fn a_file_without_an_end_is_not_deployed_in_part() {
    let store = Store::empty();
    let called = store.call(&["deploy", "/dev/zero"]);
    assert_eq!(called.status, 2, "{}", called.out);
    assert!(called.err.contains("larger than 64 MiB"), "{}", called.err);
    assert_eq!(travertine(&["check", "/dev/zero"]).status, 2);
}
