//! What a model will do that its author cannot have meant.
//!
//! Everything here is a warning, and each says what proves it: the way through the model, or the
//! values for which it happens. Where there is doubt, nothing is said; `docs/analysis.md` has an
//! example of each. It runs on plans, after everything that is an error has been reported.

mod choice;
mod concurrency;
mod condition;
mod deadlock;
mod dominators;
mod endless;
mod past;
mod reach;
mod receivers;
mod scope;
mod shadow;
mod surplus;

use std::fmt::Write;

use travertine_kernel::plan::{FlowId, NodeId, Plan};

use crate::{
    Options,
    files::Files,
    lower::Lowered,
    report::Sink,
    xml::{Node, Severity},
};
use scope::Scope;

/// Warns about the processes that are meant to be run.
pub(crate) fn analyse<'a>(
    processes: &[(Node<'a>, Lowered<'a>)],
    files: &Files<'a>,
    options: &Options,
    sink: &Sink,
) {
    for (process, lowered) in processes {
        if sink.is_drawing(*process) {
            continue;
        }
        let subject = Subject { lowered, sink };
        let mut lost = Vec::new();
        for scope in &Scope::all(&lowered.plan) {
            lost.extend(reach::check(subject, scope));
            deadlock::check(subject, scope);
            surplus::check(subject, scope);
        }
        choice::check(subject);
        endless::check(subject, &lost);
        shadow::check(subject);
        past::check(subject, options.now);
    }
    receivers::check(processes, files, sink);
}

/// A plan, and where to say what is odd about it.
#[derive(Clone, Copy, Debug)]
struct Subject<'s, 'a> {
    lowered: &'s Lowered<'a>,
    sink: &'s Sink,
}

impl<'s, 'a> Subject<'s, 'a> {
    fn plan(self) -> &'s Plan {
        &self.lowered.plan
    }

    /// Every node.
    fn nodes(self) -> impl Iterator<Item = NodeId> {
        (0..self.lowered.nodes.len()).map(node_id)
    }

    /// The element that a node came from.
    fn source(self, node: NodeId) -> Node<'a> {
        self.lowered.nodes[node.0 as usize]
    }

    /// The element that a flow came from.
    fn flow_source(self, flow: FlowId) -> Node<'a> {
        self.lowered.flows[flow.0 as usize]
    }

    /// How messages call a node.
    fn title(self, node: NodeId) -> String {
        self.source(node).title()
    }

    /// A way through the model: the ids of its nodes.
    fn path(self, nodes: &[NodeId]) -> String {
        let name = |it: &NodeId| &*self.plan().node(*it).name;
        let mut text = String::new();
        for (position, node) in nodes.iter().enumerate() {
            let skipped = nodes.len() > PATH_MAX && position >= PATH_MAX / 2;
            if skipped && position < nodes.len() - PATH_MAX / 2 {
                if position == PATH_MAX / 2 {
                    text += " → …";
                }
                continue;
            }
            let arrow = if position == 0 { "" } else { " → " };
            write!(text, "{arrow}{}", name(node)).expect("a text takes everything");
        }
        text
    }

    fn warn(self, code: &'static str, node: NodeId, message: String, help: &str) {
        self.sink.warn(code, self.source(node), message, help);
    }

    fn warn_at(self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.sink.add(Severity::Warning, code, at, at.place(), message, help);
    }
}

/// A longer way is shown by its beginning and its end.
const PATH_MAX: usize = 12;

fn node_id(position: usize) -> NodeId {
    NodeId(u32::try_from(position).expect("a plan has fewer than 2^32 nodes"))
}
