//! What a report says.

use travertine_bpmn::{Answer, Options, Severity, Verdict, read};

use crate::model::{around, errors, file, process, report};

#[test]
fn all_problems_are_reported_errors_first_and_then_in_document_order() {
    let text = process(
        "\n<startEvent id='a' colour='red'/>\n<sequenceFlow id='f' sourceRef='a' targetRef='x'/>\
         \n<banana/>\n<task id='a'/>",
    );
    let found = report(&text).diagnostics;
    let places: Vec<_> = found.iter().map(|it| (it.line, it.code)).collect();
    assert_eq!(
        places,
        [(2, "TV0203"), (3, "TV0302"), (4, "TV0201"), (5, "TV0301"), (5, "TV0409"), (1, "TV0412")]
    );
    assert_eq!(found[0].element.as_deref(), Some("a"));
    assert_eq!(found[0].column, 20);
}

#[test]
fn a_broken_expression_is_reported_where_it_stands() {
    let text = around(
        "<scriptTask id='n' scriptFormat='javascript'>\n<script>\n  let x = ;\n</script></scriptTask>",
    );
    let found = report(&text).diagnostics;
    assert_eq!((found[0].code, found[0].line), ("TV0503", 3));
}

#[test]
fn a_file_that_is_not_xml_is_reported_and_the_others_are_read() {
    let good = around("<task id='n'/>");
    let files = [("a.bpmn", b"<definitions".as_slice()), ("b.bpmn", good.as_bytes())];
    let report = read(&files, &Options::default());
    assert_eq!(report.diagnostics[0].code, "TV0101");
    assert_eq!(report.diagnostics[0].file, "a.bpmn");
    assert!(report.processes.is_empty());
    assert!(report.elements.iter().any(|it| it.file == "b.bpmn"));
}

fn answer(answers: &[Answer], kind: &str) -> Verdict {
    answers.iter().find(|it| it.kind == kind).unwrap().verdict
}

#[test]
fn every_element_is_answered_for() {
    let text = around(
        "<userTask id='n' tv:assignee='x' other:thing='y'><documentation>why</documentation>\
         <extensionElements><other:data/></extensionElements></userTask>\
         <textAnnotation id='t'><text>note</text></textAnnotation>",
    )
    .replacen("targetNamespace", "xmlns:other='urn:other' targetNamespace", 1);
    let report = report(&text);
    assert!(!report.is_rejected());
    let answers = &report.elements;
    assert_eq!(answer(answers, "userTask"), Verdict::Executed);
    assert_eq!(answer(answers, "@tv:assignee"), Verdict::Executed);
    assert_eq!(answer(answers, "@other:thing"), Verdict::NoEffect);
    assert_eq!(answer(answers, "other:data"), Verdict::NoEffect);
    assert_eq!(answer(answers, "documentation"), Verdict::NoEffect);
    assert_eq!(answer(answers, "textAnnotation"), Verdict::NoEffect);
    let notes = report.diagnostics.iter().filter(|it| it.severity == Severity::Note);
    assert_eq!(notes.map(|it| it.code).collect::<Vec<_>>(), ["TV0702", "TV0702"]);
}

#[test]
fn what_is_rejected_is_answered_so() {
    let report = report(&around("<callActivity id='n'/>"));
    assert_eq!(answer(&report.elements, "callActivity"), Verdict::Rejected);
    assert_eq!(answer(&report.elements, "startEvent"), Verdict::Executed);
}

#[test]
fn files_without_a_process_are_refused() {
    assert_eq!(errors(&file("<message id='m'/>")), ["TV0401"]);
    assert_eq!(errors("<a/>"), ["TV0105"]);
}

#[test]
fn a_chain_of_gosubs_cannot_ask_for_the_square_of_its_file() {
    let body: String = (0..500).fold(String::new(), |text, it| {
        let next = it + 1;
        text + &format!(
            "<process id='q{it}' isExecutable='true'><startEvent id='s{it}'/><callActivity id='c{it}' \
             calledElement='q{next}' t:gosub='true'/></process>"
        )
    });
    let xml = format!(
        "<definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' \
         xmlns:t='urn:travertine:bpmn:1' targetNamespace='urn:x'>{body}\
         <process id='q500' isExecutable='true'><startEvent id='s'/></process></definitions>"
    );
    let report = read(&[("chain.bpmn", xml.as_bytes())], &Options::default());
    assert!(
        report.diagnostics.iter().any(|it| it.code == "TV0433"),
        "{:?}",
        report.diagnostics.len()
    );
}

#[test]
fn an_extension_without_a_namespace_of_its_own_is_warned_about_and_harmless() {
    let text = process(
        "<task id='n'><extensionElements><Grid spacing='15'><Ruler/></Grid></extensionElements></task>",
    );
    let report = report(&text);
    assert!(!report.is_rejected());
    let warned: Vec<_> = report.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(warned, ["TV0702"]);
    let answers = report.elements.iter().filter(|it| ["Grid", "Ruler"].contains(&it.kind.as_str()));
    let verdicts: Vec<_> = answers.map(|it| it.verdict).collect();
    assert_eq!(verdicts, [Verdict::NoEffect; 2]);
}

#[test]
fn extensions_of_other_tools_are_said_once_a_kind_under_the_prefix_of_the_file() {
    let task = |id: &str| {
        format!(
            "<task id='{id}' v:size='1'><extensionElements><v:meta/><v:meta/><w:meta/>\
             </extensionElements></task>"
        )
    };
    let text = process(&(task("a") + &task("b") + "<callActivity id='c'/>")).replacen(
        "targetNamespace",
        "xmlns:v='urn:vendor' xmlns:w='urn:other' targetNamespace",
        1,
    );
    let found = report(&text).diagnostics;
    let said: Vec<_> = found.iter().map(|it| (it.severity, it.message.as_str())).collect();
    assert_eq!(said[0].0, Severity::Error, "errors come first");
    let kind = "of this kind, of which this is the first";
    assert_eq!(
        said[1..],
        [
            (Severity::Note, &*format!("v:size has no effect on task 'a'; there are 2 {kind}")),
            (Severity::Note, &*format!("v:meta has no effect here; there are 4 {kind}")),
            (Severity::Note, &*format!("w:meta has no effect here; there are 2 {kind}")),
        ]
    );
}

#[test]
fn what_an_engine_would_do_and_we_do_not_is_a_warning_once_a_kind() {
    let text = around(
        "<userTask id='n'><extensionElements><camunda:connector/><camunda:connector/>\
         </extensionElements></userTask>",
    )
    .replacen(
        "targetNamespace",
        "xmlns:camunda='http://camunda.org/schema/1.0/bpmn' targetNamespace",
        1,
    );
    let found = report(&text).diagnostics;
    let said: Vec<_> = found.iter().map(|it| (it.severity, it.code)).collect();
    assert_eq!(said, [(Severity::Warning, "TV0702")]);
}

#[test]
fn a_path_may_end_without_an_end_event_and_lists_of_flows_may_be_incomplete() {
    let text = process(
        "<startEvent id='s'><outgoing>f</outgoing></startEvent><userTask id='n'><incoming>gone</incoming>\
         </userTask><sequenceFlow id='f' sourceRef='s' targetRef='n'/>",
    );
    let said = |report: travertine_bpmn::Report| -> Vec<_> {
        report.diagnostics.iter().map(|it| (it.severity, it.code)).collect()
    };
    let warned = Severity::Warning;
    assert_eq!(
        said(report(&text)),
        [(warned, "TV0412"), (warned, "TV0405"), (warned, "TV0302")],
        "the flows decide"
    );
    let strict = Options { strict: true, ..Options::default() };
    let strict = read(&[("model.bpmn", text.as_bytes())], &strict);
    assert!(strict.is_rejected(), "where only conforming models are wanted");
}
