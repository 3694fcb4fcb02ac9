//! Messages and signals that are sent, and that nobody in the deployed files waits for.
//!
//! What waits for a message nobody sends is not worth a word: most messages come from outside.

use std::collections::BTreeSet;

use travertine_kernel::plan::{Element, Node as PlanNode, Repeat, Send, Throw, Trigger};
use travertine_value::{Limits, Map, Program};

use crate::{files::Files, lower::Lowered, report::Sink, xml::Node};

/// What the files wait for.
#[derive(Default)]
struct Awaited {
    messages: BTreeSet<String>,
    signals: BTreeSet<String>,
    /// Whether there are names that are only known at run time.
    any_message: bool,
    any_signal: bool,
}

pub(super) fn check<'a>(processes: &[(Node<'a>, Lowered<'a>)], files: &Files<'a>, sink: &Sink) {
    let mut awaited = Awaited::default();
    for node in processes.iter().flat_map(|(_, it)| &it.plan.nodes) {
        for trigger in triggers(&node.element) {
            awaited.add(trigger);
        }
    }
    let outside = sends_outside(files);
    for (process, lowered) in processes {
        if sink.is_drawing(*process) {
            continue;
        }
        for (node, source) in lowered.plan.nodes.iter().zip(&lowered.nodes) {
            if !outside.contains(&source.key()) {
                awaited.check(node, *source, sink);
            }
        }
    }
}

impl Awaited {
    fn add(&mut self, trigger: &Trigger) {
        let (name, names, any) = match trigger {
            Trigger::Message(it) => (&it.name, &mut self.messages, &mut self.any_message),
            Trigger::Signal { name } => (name, &mut self.signals, &mut self.any_signal),
            Trigger::Timer { .. }
            | Trigger::Condition { .. }
            | Trigger::Error { .. }
            | Trigger::Escalation { .. }
            | Trigger::Compensation
            | Trigger::Cancel => return,
        };
        let name = fixed(name);
        *any |= name.is_none();
        names.extend(name);
    }

    fn check(&self, node: &PlanNode, source: Node<'_>, sink: &Sink) {
        let mut sent: Vec<&Send> = Vec::new();
        let mut thrown: Vec<&Program> = Vec::new();
        if let Element::Send(send) = &node.element {
            sent.push(send);
        }
        for throw in throws(node) {
            match throw {
                Throw::Message(send) => sent.push(send),
                Throw::Signal { name, .. } => thrown.push(name),
                Throw::Escalation { .. }
                | Throw::Error { .. }
                | Throw::Compensation { .. }
                | Throw::Cancel
                | Throw::Terminate => {}
            }
        }
        let messages =
            sent.into_iter().flat_map(|it| &it.messages).filter_map(|it| fixed(&it.name));
        for name in messages.filter(|it| !self.any_message && !self.messages.contains(it)) {
            let message = format!(
                "{} sends message '{name}', which nothing in these files receives",
                source.title()
            );
            let help = "deploy what receives it, or draw a message flow to whom it is for";
            sink.warn("TV0926", source, message, help);
        }
        let signals = thrown.into_iter().filter_map(fixed);
        for name in signals.filter(|it| !self.any_signal && !self.signals.contains(it)) {
            let message = format!(
                "{} sends signal '{name}', which nothing in these files waits for",
                source.title()
            );
            sink.warn("TV0927", source, message, "deploy what waits for it, or remove it");
        }
    }
}

/// A name that is the same in every run.
fn fixed(name: &Program) -> Option<String> {
    if name.reads() != Some(&[]) {
        return None;
    }
    let value = name.value(&Map::new(), &Limits::default()).ok()?;
    value.as_str().filter(|it| !it.is_empty()).map(str::to_owned)
}

fn triggers(element: &Element) -> &[Trigger] {
    match element {
        Element::Start(it) => &it.triggers,
        Element::Catch(it) | Element::Receive(it) => &it.triggers,
        Element::Boundary(it) => &it.triggers,
        _ => &[],
    }
}

fn throws(node: &PlanNode) -> Vec<&Throw> {
    let mut throws: Vec<_> = match &node.element {
        Element::Throw(throws) => throws.iter().collect(),
        _ => Vec::new(),
    };
    if let Some(Repeat::Each(each)) = node.repeat.as_deref() {
        throws.extend(each.behavior.iter().map(|(_, throw)| throw));
    }
    throws
}

/// What sends along a drawn flow to a participant whose process is not here.
fn sends_outside(files: &Files<'_>) -> BTreeSet<(usize, usize)> {
    let roots = files.documents.iter().map(|(it, _)| it.root());
    let flows = roots.flat_map(|it| it.all("collaboration").collect::<Vec<_>>());
    let flows = flows.flat_map(|it| it.all("messageFlow").collect::<Vec<_>>());
    flows
        .filter_map(|flow| {
            let target = files.resolve(flow, flow.attr("targetRef")?)?;
            let source = files.resolve(flow, flow.attr("sourceRef")?)?;
            target.is("participant").then(|| source.key())
        })
        .collect()
}
