//! Every element of BPMN 2.0, after the schemas of the standard.
//!
//! Abstract types stand among the elements that extend them; `anyEvent` is the standard's `event`,
//! which is also the name of an element.

mod activity;
mod collaboration;
mod data;
mod event;
mod foundation;
mod process;

use super::{AttributeRule, ChildRule, Content, Kind, Type};
use crate::report::Verdict;

/// Every element and abstract type.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    groups().into_iter().flat_map(|(_, kinds)| kinds)
}

/// Every element and abstract type, by what they are about.
pub fn groups() -> [(&'static str, &'static [Kind]); 6] {
    [
        ("Processes, flows and gateways", process::KINDS),
        ("Activities and loops", activity::KINDS),
        ("Events", event::KINDS),
        ("Data and correlation", data::KINDS),
        ("Collaborations, choreographies and artifacts", collaboration::KINDS),
        ("Definitions, expressions, services and resources", foundation::KINDS),
    ]
}

/// Whether an element is about data, correlation or message flows, which models made for Camunda do
/// not mean to do anything. A loop reads its lists there too, and its items are not among these.
pub(crate) fn is_native(name: &str) -> bool {
    data::KINDS.iter().any(|it| it.name == name) || ["messageFlow", "participant"].contains(&name)
}

/// An element that does what the standard says.
const fn executed(name: &'static str, base: &'static str) -> Kind {
    Kind {
        name,
        base,
        verdict: Verdict::Executed,
        note: "",
        attributes: &[],
        children: &[],
        content: Content::Elements,
    }
}

/// An element that changes nothing.
const fn silent(name: &'static str, base: &'static str) -> Kind {
    Kind { verdict: Verdict::NoEffect, ..executed(name, base) }
}

impl Kind {
    const fn attributes(self, attributes: &'static [AttributeRule]) -> Self {
        Self { attributes, ..self }
    }

    const fn children(self, children: &'static [ChildRule]) -> Self {
        Self { children, ..self }
    }

    const fn content(self, content: Content) -> Self {
        Self { content, ..self }
    }

    const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

const fn may(name: &'static str, value: Type) -> AttributeRule {
    AttributeRule { name, required: false, value, verdict: Verdict::Executed }
}

const fn must(name: &'static str, value: Type) -> AttributeRule {
    AttributeRule { required: true, ..may(name, value) }
}

/// An attribute that changes nothing.
const fn idle(name: &'static str, value: Type) -> AttributeRule {
    AttributeRule { verdict: Verdict::NoEffect, ..may(name, value) }
}

const fn one(name: &'static str) -> ChildRule {
    ChildRule { name, min: 1, max: 1 }
}

const fn maybe(name: &'static str) -> ChildRule {
    ChildRule { name, min: 0, max: 1 }
}

const fn some(name: &'static str) -> ChildRule {
    ChildRule { name, min: 1, max: usize::MAX }
}

const fn many(name: &'static str) -> ChildRule {
    ChildRule { name, min: 0, max: usize::MAX }
}
