//! `travertine check`.

use expect_test::expect;
use travertine_expr::Value;

use super::{file, process, travertine};

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
        ["file", "executed", "no_effect", "rejected", "errors", "warnings"]
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
