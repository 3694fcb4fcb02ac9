//! Reading models: what a check costs must grow with the model, whatever its shape.

use std::fmt::Write;

use travertine_kernel::time::Timestamp;

use crate::Scenario;

/// Models of different shapes, read.
pub(crate) const SCENARIOS: [Scenario; 4] = [
    scenario("check-row", "task in a row, checked", row),
    scenario("check-processes", "process, checked", processes),
    scenario("check-messages", "message sent and awaited, checked", messages),
    scenario("check-decisions", "decision that requires the one before, checked", decisions),
];

const fn scenario(name: &'static str, unit: &'static str, run: crate::Work) -> Scenario {
    Scenario { name, unit, sizes: (500, 5_000), growth_max: 120, average: false, run }
}

fn row(size: u32) -> usize {
    let mut text = String::from("<process id='p' isExecutable='true'><startEvent id='t0'/>");
    for at in 1..=size {
        write!(text, "<task id='t{at}'/>{}", flow(at)).expect("there is room");
    }
    write!(text, "<endEvent id='t{0}'/>{1}</process>", size + 1, flow(size + 1))
        .expect("there is room");
    bpmn(&text)
}

fn processes(size: u32) -> usize {
    let mut text = String::new();
    for at in 0..size {
        write!(
            text,
            "<process id='p{at}' isExecutable='true'><startEvent id='s{at}'/><endEvent id='e{at}'/>\
             <sequenceFlow id='f{at}' sourceRef='s{at}' targetRef='e{at}'/></process>"
        )
        .expect("there is room");
    }
    bpmn(&text)
}

fn messages(size: u32) -> usize {
    let mut text = String::from("<process id='p' isExecutable='true'><startEvent id='t0'/>");
    for at in 1..=size {
        write!(text, "<receiveTask id='t{at}' messageRef='m{at}'/>{}", flow(at))
            .expect("there is room");
    }
    write!(text, "<endEvent id='t{0}'/>{1}</process>", size + 1, flow(size + 1))
        .expect("there is room");
    for at in 1..=size {
        write!(text, "<message id='m{at}' name='m{at}'/>").expect("there is room");
    }
    bpmn(&text)
}

/// The flow to a task from the one before.
fn flow(to: u32) -> String {
    format!("<sequenceFlow id='f{to}' sourceRef='t{}' targetRef='t{to}'/>", to - 1)
}

fn bpmn(inside: &str) -> usize {
    let text = format!(
        "<definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' targetNamespace='x'>{inside}</definitions>"
    );
    let now = Timestamp::from_millis(0);
    let files = [("m.bpmn", text.as_bytes())];
    let report = travertine_runtime::read_models(&files, None, now).report;
    assert!(!report.is_rejected(), "{:?}", report.diagnostics.first());
    report.elements.len()
}

fn decisions(size: u32) -> usize {
    let mut text = String::from(
        "<definitions xmlns='https://www.omg.org/spec/DMN/20230324/MODEL/' name='m' namespace='n'>",
    );
    for at in 0..size {
        let (requirement, before) = match at.checked_sub(1) {
            None => (String::new(), "1".to_owned()),
            Some(before) => (
                format!(
                    "<informationRequirement><requiredDecision href='#d{before}'/></informationRequirement>"
                ),
                format!("d{before} + 1"),
            ),
        };
        write!(
            text,
            "<decision id='d{at}' name='d{at}'>{requirement}<literalExpression><text>{before}</text>\
             </literalExpression></decision>"
        )
        .expect("there is room");
    }
    text.push_str("</definitions>");
    let report = travertine_dmn::read(&[("m.dmn", text.as_bytes())]);
    let definitions = report.definitions.expect("it can be read");
    definitions.main_decisions().len()
}
