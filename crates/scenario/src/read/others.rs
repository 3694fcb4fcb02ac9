//! What a model says besides the extension: settings of BPMN that would change how it runs, and what other
//! engines read.

use std::collections::BTreeSet;

use travertine_xml::{Diagnostic, Node, Ns, Severity};

use super::{Sink, is_ours};

const EITHER: &[&str] = &["true", "1", "false", "0"];

/// Attributes of BPMN with another meaning than that which is executed: where, which, and the values that
/// are.
const SETTINGS: &[(&str, &str, &[&str])] = &[
    ("", "startQuantity", &["1"]),
    ("", "completionQuantity", &["1"]),
    ("", "triggeredByEvent", EITHER),
    ("", "isForCompensation", EITHER),
    ("", "isInterrupting", EITHER),
    ("", "cancelActivity", EITHER),
    ("", "isSequential", EITHER),
    ("receiveTask", "instantiate", &["false", "0"]),
    ("eventBasedGateway", "instantiate", &["false", "0"]),
    ("eventBasedGateway", "eventGatewayType", &["Exclusive"]),
    ("standardLoopCharacteristics", "testBefore", &["false", "0"]),
    ("standardLoopCharacteristics", "loopMaximum", &[]),
    ("multiInstanceLoopCharacteristics", "behavior", &["All"]),
    ("compensateEventDefinition", "waitForCompletion", &["true", "1"]),
    ("compensateEventDefinition", "activityRef", &[]),
];

/// The way out, where there is a better one than leaving it away.
const INSTEAD: &[(&str, &str)] = &[
    ("testBefore", "a loop is asked after each round; put an exclusive gateway before it"),
    ("loopMaximum", "say it by the parameter maximum of bpmnos:loopCharacteristics"),
    ("activityRef", "give the event the name of the activity that is to be undone"),
];

/// Attributes of an element of BPMN.
pub(super) fn of_standard(
    node: Node<'_>,
    sink: &mut Sink,
    hinted: &mut BTreeSet<(String, String)>,
) {
    for it in node.attributes() {
        if it.ns == Ns::None {
            let differs = |(on, name, executed): &&(&str, &str, &[&str])| {
                (on.is_empty() || node.is(on))
                    && it.name == *name
                    && !executed.contains(&it.value.trim())
            };
            if SETTINGS.iter().any(|it| differs(&it)) {
                let message = format!(
                    "{}=\"{}\" of {} is not executed in models made for BPMNOS",
                    it.name,
                    it.value,
                    node.title()
                );
                let help = INSTEAD.iter().find(|(name, _)| it.name == *name);
                sink.error("TV0745", node, message, help.map_or("leave it away", |it| it.1));
            }
        } else if is_foreign(&it.ns) {
            let message =
                format!("{}{} of {} has no effect", node.prefix_of(&it.ns), it.name, node.title());
            tell(node, &it.ns, &it.name, &message, sink, hinted);
        }
    }
}

/// An element of neither BPMN nor the extension.
pub(super) fn element(node: Node<'_>, sink: &mut Sink, hinted: &mut BTreeSet<(String, String)>) {
    for it in node.attributes().iter().filter(|it| is_ours(&it.ns)) {
        let message = format!("bpmnos:{} of {} is not executed here", it.name, node.title());
        sink.error("TV0741", node, message, "only bpmnos:type of a task is known");
    }
    let extends = node.parent().is_some_and(|it| it.is("extensionElements"));
    if extends && is_foreign(node.ns()) {
        let message = format!("{}{} has no effect", node.prefix_of(node.ns()), node.name());
        tell(node, node.ns(), node.name(), &message, sink, hinted);
    }
}

/// Says once of each kind that it has no effect. What is written for this engine must not be lost.
fn tell(
    node: Node<'_>,
    ns: &Ns,
    name: &str,
    message: &str,
    sink: &mut Sink,
    hinted: &mut BTreeSet<(String, String)>,
) {
    let message = format!("{message} in models made for BPMNOS");
    let severity = match ns {
        Ns::Travertine => Severity::Error,
        Ns::Camunda | Ns::Zeebe => Severity::Warning,
        _ => Severity::Note,
    };
    if severity == Severity::Error || hinted.insert((format!("{ns:?}"), name.to_owned())) {
        let help = "docs/bpmnos.md lists what is executed";
        sink.found.push(Diagnostic::about(severity, "TV0747", node, node.place(), message, help));
    }
}

fn is_foreign(ns: &Ns) -> bool {
    match ns {
        Ns::Dmn | Ns::Travertine | Ns::Camunda | Ns::Zeebe => true,
        Ns::Other(_) => !is_ours(ns),
        Ns::None | Ns::Bpmn | Ns::Modeler | Ns::Xsi | Ns::Tool => false,
    }
}
