//! Nodes that no token ever comes to.

use travertine_kernel::plan::{Element, NodeId};

use super::{
    Subject,
    scope::{Scope, reversed},
};

/// How many nodes are named.
const NAMES_MAX: usize = 12;

const HELP: &str = "connect it with what should lead to it, or remove it";

/// Reports what is never reached, and answers with all of it.
pub(super) fn check(subject: Subject<'_, '_>, scope: &Scope) -> Vec<NodeId> {
    let mut next = scope.next.clone();
    let plan = subject.plan();
    // What undoes is reached by no flow, but by what it undoes.
    for &member in &scope.members {
        if let Some(boundary) = plan.node(member).compensation {
            let at = scope.position(boundary);
            next[scope.position(member)].push(at);
            if let Element::Boundary(it) = &plan.node(boundary).element {
                next[at].extend(it.handler.map(|it| scope.position(it)));
            }
        }
    }
    let waiting = plan.node(scope.host).element.container().map_or(&[][..], |it| &it.events);
    let mut from: Vec<_> = waiting.iter().map(|it| scope.position(*it)).collect();
    from.push(0);
    let reached = Scope::reached(&next, &from, None);
    let lost = (1..scope.exit()).filter(|it| !reached[*it]).map(|it| scope.node(it)).collect();
    report(subject, scope, &next, reached);
    lost
}

/// One warning for each place where something begins that nothing leads to.
fn report(subject: Subject<'_, '_>, scope: &Scope, next: &[Vec<usize>], mut reached: Vec<bool>) {
    let back = reversed(next);
    let is_head = |it: usize| back[it].is_empty();
    let members = 1..scope.exit();
    // What nothing at all leads to comes first; what is left then goes round in circles.
    for head in members.clone().filter(|it| is_head(*it)).chain(members) {
        if reached[head] || is_instantiating(subject, scope.node(head)) {
            continue;
        }
        let region = Scope::reached(next, &[head], None);
        let lost = |it: &usize| region[*it] && !reached[*it];
        let lost: Vec<_> = (1..scope.exit()).filter(lost).collect();
        for &it in &lost {
            reached[it] = true;
        }
        let node = scope.node(head);
        // That nothing leads to it is said by the rules about flows.
        let known = is_head(head) && !subject.plan().node(node).for_compensation;
        let rest: Vec<_> =
            lost.iter().filter(|it| **it != head).map(|it| scope.node(*it)).collect();
        if !known || !rest.is_empty() {
            warn(subject, node, &rest);
        }
    }
}

fn warn(subject: Subject<'_, '_>, node: NodeId, rest: &[NodeId]) {
    let mut message = format!("{} is never reached", subject.title(node));
    if subject.plan().node(node).for_compensation {
        message += ": no compensation event leads to it";
    }
    if !rest.is_empty() {
        let name = |it: &NodeId| subject.plan().node(*it).name.to_string();
        let mut names: Vec<_> = rest.iter().take(NAMES_MAX).map(name).collect();
        if rest.len() > NAMES_MAX {
            names.push(format!("and {} more", rest.len() - NAMES_MAX));
        }
        message += ", nor is what lies behind it: ";
        message += &names.join(", ");
    }
    subject.warn("TV0920", node, message, HELP);
}

/// The events behind an instantiating gateway begin in its place.
fn is_instantiating(subject: Subject<'_, '_>, node: NodeId) -> bool {
    let source = subject.source(node);
    source.is("eventBasedGateway") && crate::lower::is_true(source, "instantiate", false)
}
