//! Whether two plans define the same thing. Programs are the same where their text is.

use travertine_value::{Name, Program};

use crate::plan::{Catch, Each, Element, Message, Node, Payload, Repeat, Send, Trigger, Work};

fn program(a: &Program, b: &Program) -> bool {
    a.source() == b.source()
}

fn optional(a: Option<&Program>, b: Option<&Program>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => program(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn named(a: &[(Name, Program)], b: &[(Name, Program)]) -> bool {
    all(a, b, |a, b| a.0 == b.0 && program(&a.1, &b.1))
}

fn message(a: &Message, b: &Message) -> bool {
    program(&a.name, &b.name) && named(&a.correlation, &b.correlation)
}

fn trigger(a: &Trigger, b: &Trigger) -> bool {
    match (a, b) {
        (Trigger::Message(a), Trigger::Message(b)) => message(a, b),
        (Trigger::Signal { name: a }, Trigger::Signal { name: b }) => program(a, b),
        (Trigger::Timer { kind: a, when: x }, Trigger::Timer { kind: b, when: y }) => {
            a == b && program(x, y)
        }
        (
            Trigger::Condition { when: a, variables: x, changes },
            Trigger::Condition { when: b, variables: y, changes: others },
        ) => program(a, b) && x == y && changes == others,
        // Nobody waits for these: they are looked up when they are raised.
        (
            Trigger::Error { .. }
            | Trigger::Escalation { .. }
            | Trigger::Compensation
            | Trigger::Cancel,
            Trigger::Error { .. }
            | Trigger::Escalation { .. }
            | Trigger::Compensation
            | Trigger::Cancel,
        ) => true,
        (
            Trigger::Message(_)
            | Trigger::Signal { .. }
            | Trigger::Timer { .. }
            | Trigger::Condition { .. }
            | Trigger::Error { .. }
            | Trigger::Escalation { .. }
            | Trigger::Compensation
            | Trigger::Cancel,
            _,
        ) => false,
    }
}

fn work(a: &Work, b: &Work) -> bool {
    program(&a.job_type, &b.job_type)
        && optional(a.retries.as_ref(), b.retries.as_ref())
        && named(&a.fields, &b.fields)
}

fn payload(a: &Payload, b: &Payload) -> bool {
    let content = |it: &Payload| {
        it.content.as_ref().map(|(name, it)| (Name::clone(name), it.source().to_owned()))
    };
    named(&a.named, &b.named) && content(a) == content(b)
}

fn send(a: &Send, b: &Send) -> bool {
    all(&a.messages, &b.messages, message) && payload(&a.payload, &b.payload)
}

/// Whether a token in the one waits for what a token in the other waits for. A called instance goes
/// on whatever the call says now.
pub(super) fn waits(a: &Element, b: &Element) -> bool {
    if let (Element::Work(a), Element::Work(b)) = (a, b) {
        return work(a, b);
    }
    if let (Element::Send(a), Element::Send(b)) = (a, b) {
        return send(a, b);
    }
    if let (
        Element::Catch(Catch { all: x, .. }) | Element::Receive(Catch { all: x, .. }),
        Element::Catch(Catch { all: y, .. }) | Element::Receive(Catch { all: y, .. }),
    ) = (a, b)
        && x != y
    {
        return false;
    }
    all(a.triggers(), b.triggers(), trigger)
}

/// Whether a token can stand at the one as it stood at the other.
pub(super) fn kind(a: &Node, b: &Node) -> bool {
    if let (Element::Work(a), Element::Work(b)) = (&a.element, &b.element)
        && a.kind != b.kind
    {
        return false;
    }
    if let (Element::Boundary(a), Element::Boundary(b)) = (&a.element, &b.element)
        && a.is_compensation() != b.is_compensation()
    {
        return false;
    }
    std::mem::discriminant(&a.element) == std::mem::discriminant(&b.element)
        && a.for_compensation == b.for_compensation
        && a.start_quantity == b.start_quantity
}

/// Whether what runs several times by the one can go on by the other.
pub(super) fn repeat(a: &Node, b: &Node) -> bool {
    let shape = |it: &Each| (it.sequential, it.output.is_some(), it.batch.is_some());
    match (a.repeat.as_deref(), b.repeat.as_deref()) {
        (None, None) | (Some(Repeat::Loop(_)), Some(Repeat::Loop(_))) => true,
        (Some(Repeat::Each(a)), Some(Repeat::Each(b))) => shape(a) == shape(b),
        (None | Some(Repeat::Each(_) | Repeat::Loop(_)), _) => false,
    }
}
