//! Handlers of errors and escalations that others always come before.

use std::collections::BTreeMap;

use travertine_kernel::plan::{Element, NodeId, Trigger};
use travertine_value::Name;

use super::Subject;

/// What a handler catches: errors or escalations, of one code or of any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Catches {
    what: &'static str,
    code: Option<Name>,
}

pub(super) fn check(subject: Subject<'_, '_>) {
    for id in subject.nodes() {
        let node = subject.plan().node(id);
        twice(subject, &node.boundary, &format!("of {}", subject.title(id)));
        let Some(container) = node.element.container() else { continue };
        let starts: Vec<_> =
            container.events.iter().filter_map(|it| start_of(subject, *it)).collect();
        twice(subject, &starts, &format!("in {}", subject.title(id)));
        for &start in &starts {
            for &boundary in &node.boundary {
                inside_first(subject, id, start, boundary);
            }
        }
    }
}

fn start_of(subject: Subject<'_, '_>, event: NodeId) -> Option<NodeId> {
    match &subject.plan().node(event).element {
        Element::EventSubProcess(it) => Some(it.start),
        _ => None,
    }
}

fn catches(subject: Subject<'_, '_>, handler: NodeId) -> Vec<Catches> {
    let triggers = match &subject.plan().node(handler).element {
        Element::Boundary(it) => &it.triggers,
        Element::Start(it) => &it.triggers,
        _ => return Vec::new(),
    };
    let caught = triggers.iter().filter_map(|it| match it {
        Trigger::Error { code, .. } => Some(Catches { what: "error", code: code.clone() }),
        Trigger::Escalation { code, .. } => {
            Some(Catches { what: "escalation", code: code.clone() })
        }
        Trigger::Message(_)
        | Trigger::Signal { .. }
        | Trigger::Timer { .. }
        | Trigger::Condition { .. }
        | Trigger::Compensation
        | Trigger::Cancel => None,
    });
    caught.collect()
}

fn name(caught: &Catches) -> String {
    match &caught.code {
        Some(code) => format!("{} '{code}'", caught.what),
        None => format!("every {}", caught.what),
    }
}

/// Of two handlers side by side that catch the same, the second never does.
fn twice(subject: Subject<'_, '_>, handlers: &[NodeId], place: &str) {
    let mut first: BTreeMap<Catches, NodeId> = BTreeMap::new();
    for &handler in handlers {
        let all = catches(subject, handler);
        let taken: Vec<_> = all.iter().filter_map(|it| Some((name(it), *first.get(it)?))).collect();
        let nothing_is_left = taken.len() == all.len();
        for (what, earlier) in taken {
            let never = if nothing_is_left { "anything" } else { "all it names" };
            let message = format!(
                "{} never catches {never}: {what} {place} goes to {} before it: {}",
                subject.title(handler),
                subject.title(earlier),
                subject.path(&[earlier, handler])
            );
            subject.warn("TV0928", handler, message, "keep one of them, or give each a code");
        }
        for caught in all {
            first.entry(caught).or_insert(handler);
        }
    }
}

/// What an event sub-process catches does not come to the border of what it lies in.
fn inside_first(subject: Subject<'_, '_>, host: NodeId, start: NodeId, boundary: NodeId) {
    let inside = catches(subject, start);
    for caught in catches(subject, boundary) {
        let covers =
            |it: &&Catches| it.what == caught.what && (it.code.is_none() || it.code == caught.code);
        let Some(covering) = inside.iter().find(covers) else { continue };
        let event = subject.plan().node(start).parent.unwrap_or(start);
        let message = format!(
            "{} in {} catches {} before {}, which is left with what {0} raises itself: {}",
            subject.title(event),
            subject.title(host),
            name(covering),
            subject.title(boundary),
            subject.path(&[event, boundary])
        );
        let help = "give the inner one a code, or let it raise what is meant for the outer one";
        subject.warn("TV0928", boundary, message, help);
    }
}
