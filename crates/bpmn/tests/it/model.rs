//! Small models, without the words that every model needs.

use std::sync::Arc;

use travertine_bpmn::{Options, Report, Severity, read};
use travertine_kernel::plan::{Element, Node, Plan, Repeat};

/// A file with one process around `body`.
pub(crate) fn process(body: &str) -> String {
    file(&format!("<process id='p' isExecutable='true'>{body}</process>"))
}

/// A file around `body`.
pub(crate) fn file(body: &str) -> String {
    format!(
        "<definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' \
         xmlns:tv='urn:travertine:bpmn:1' \
         xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' targetNamespace='t'>{body}\
         </definitions>"
    )
}

/// `start`, then `body`, then `end`, connected; `body` is the node `n` and whatever goes with it.
pub(crate) fn around(body: &str) -> String {
    process(&format!(
        "<startEvent id='start'/><sequenceFlow id='in' sourceRef='start' targetRef='n'/>{body}\
         <sequenceFlow id='out' sourceRef='n' targetRef='end'/><endEvent id='end'/>"
    ))
}

/// Reads one file.
pub(crate) fn report(text: &str) -> Report {
    read(&[("model.bpmn", text.as_bytes())], &Options::default())
}

/// The plan of the first process of a file without errors.
pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let report = report(text);
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    Arc::clone(&report.processes[0].plan)
}

/// The codes of all errors of a file, in order.
pub(crate) fn errors(text: &str) -> Vec<&'static str> {
    let diagnostics = report(text).diagnostics;
    diagnostics.iter().filter(|it| it.severity == Severity::Error).map(|it| it.code).collect()
}

/// The node with that id.
pub(crate) fn node<'p>(plan: &'p Plan, id: &str) -> &'p Node {
    plan.node(plan.find(id).unwrap())
}

/// The ids of the nodes directly in the container with that id.
pub(crate) fn inside<'p>(plan: &'p Plan, id: &str) -> Vec<&'p str> {
    let container = plan.find(id);
    plan.nodes.iter().filter(|it| it.parent == container).map(|it| &*it.name).collect()
}

/// The element of the node `n`.
pub(crate) fn element(text: &str) -> Element {
    node(&plan(text), "n").element.clone()
}

/// How the node `n` is repeated.
pub(crate) fn repeat(text: &str) -> Repeat {
    *node(&plan(text), "n").repeat.clone().unwrap()
}
