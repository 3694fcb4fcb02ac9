//! The elements of BPMN 2.0 as data: what may stand where, and what we do with it.
//!
//! [`kinds`] is the one place that says which element is executed, has no effect or is rejected;
//! checking reads it, and so does whoever writes documentation.

mod answer;
mod check;
mod position;
mod table;
mod value;

use std::{collections::HashMap, sync::LazyLock};

pub(crate) use answer::answers;
pub(crate) use check::check;
pub use position::{EventRule, Position, events};
pub(crate) use position::{INTERRUPTING, may_stand};
pub(crate) use table::is_native;
pub use table::{groups, kinds};
pub(crate) use value::is_uri;

use crate::report::Verdict;

/// An element of BPMN, or an abstract type that elements share.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The local name.
    pub name: &'static str,
    /// The kind whose attributes and children it has too; empty for none.
    pub base: &'static str,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What there is to say about that.
    pub note: &'static str,
    /// Its attributes, besides those of its base.
    pub attributes: &'static [AttributeRule],
    /// Its children, besides those of its base.
    pub children: &'static [ChildRule],
    /// What text it has.
    pub content: Content,
}

/// An attribute an element may have.
#[derive(Clone, Copy, Debug)]
pub struct AttributeRule {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What its value is.
    pub value: Type,
    /// What becomes of it, where its element is executed.
    pub verdict: Verdict,
}

/// A child an element may have.
#[derive(Clone, Copy, Debug)]
pub struct ChildRule {
    /// The kind, or an abstract type that stands for several.
    pub name: &'static str,
    /// How many there must be.
    pub min: usize,
    /// How many there may be.
    pub max: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// An id, unique in the file.
    Id,
    /// Any text.
    Text,
    /// True or false.
    Bool,
    /// A whole number of at least that.
    Int(i64),
    /// A URI.
    Uri,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The id of an element of one of these kinds.
    Ref(&'static [&'static str]),
}

/// What text an element has.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// None.
    Elements,
    /// Text, and nothing else.
    Text,
    /// Text and anything else.
    Any,
    /// The id of an element of one of these kinds.
    Ref(&'static [&'static str]),
}

/// A kind with all that it has from its bases.
#[derive(Debug)]
struct Lineage {
    kind: &'static Kind,
    /// Its own name, then those of its bases.
    names: Vec<&'static str>,
    attributes: Vec<&'static AttributeRule>,
    children: Vec<&'static ChildRule>,
}

static BY_NAME: LazyLock<HashMap<&'static str, Lineage>> = LazyLock::new(|| {
    let by_name: HashMap<_, _> = kinds().map(|it| (it.name, it)).collect();
    let lineage = |kind: &'static Kind| {
        let chain: Vec<_> =
            std::iter::successors(Some(kind), |it| by_name.get(it.base).copied()).collect();
        Lineage {
            kind,
            names: chain.iter().map(|it| it.name).collect(),
            attributes: chain.iter().flat_map(|it| it.attributes).collect(),
            children: chain.iter().flat_map(|it| it.children).collect(),
        }
    };
    kinds().map(|it| (it.name, lineage(it))).collect()
});

/// The kind of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    lineage(name).map(|it| it.kind)
}

/// The attribute of that name that a kind has, from itself or its bases.
pub(crate) fn attribute(kind: &str, name: &str) -> Option<&'static AttributeRule> {
    lineage(kind)?.attributes.iter().copied().find(|it| it.name == name)
}

/// The attributes of a kind, its own and those of its bases.
pub(crate) fn attributes(kind: &str) -> &'static [&'static AttributeRule] {
    lineage(kind).map_or(&[], |it| &it.attributes)
}

/// Whether the kind `name` is `of`, or one of the kinds that `of` stands for.
pub(crate) fn is_a(name: &str, of: &str) -> bool {
    name == of || lineage(name).is_some_and(|it| it.names.contains(&of))
}

fn lineage(name: &str) -> Option<&'static Lineage> {
    BY_NAME.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_table_is_a_kind() {
        for kind in kinds() {
            assert!(kind.base.is_empty() || find(kind.base).is_some(), "{}", kind.base);
            for child in kind.children {
                assert!(find(child.name).is_some(), "{} in {}", child.name, kind.name);
            }
            for attribute in kind.attributes {
                if let Type::Ref(targets) = attribute.value {
                    assert!(targets.iter().all(|it| find(it).is_some()), "{}", attribute.name);
                }
            }
        }
        assert_eq!(BY_NAME.len(), kinds().count(), "each kind stands once in the table");
    }

    #[test]
    fn a_transaction_is_an_activity_and_a_gateway_is_not() {
        assert!(is_a("transaction", "activity"));
        assert!(!is_a("exclusiveGateway", "activity"));
    }
}
