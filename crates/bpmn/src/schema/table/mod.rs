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
    let tables = [
        foundation::KINDS,
        process::KINDS,
        activity::KINDS,
        event::KINDS,
        data::KINDS,
        collaboration::KINDS,
    ];
    tables.into_iter().flatten()
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
    AttributeRule { name, required: false, value }
}

const fn must(name: &'static str, value: Type) -> AttributeRule {
    AttributeRule { name, required: true, value }
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
