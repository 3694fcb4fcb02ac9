//! Declared attributes: what they are called, of what type they are, and what they count.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::bpmnos::Assignment;
use travertine_value::{Name, Number};
use travertine_xml::Node;

use super::{Sink, listed};
use crate::model::{
    Attribute, AttributeId, AttributeKind, INSTANCE, Names, NodeId, OBJECTIVE, TIMESTAMP, Type,
};

/// Attributes of a model while they are read.
#[derive(Debug)]
pub(super) struct Attributes {
    pub(super) all: Vec<Attribute>,
}

impl Attributes {
    /// Those that every model has.
    pub(super) fn new() -> Self {
        let fixed = |name: &str, kind, of| Attribute {
            name: name.into(),
            kind,
            of,
            weight: Number::ZERO,
            formula: None,
            owner: None,
            carriers: Vec::new(),
        };
        Self {
            all: vec![
                fixed("timestamp", AttributeKind::Status, Type::Decimal),
                fixed("instance", AttributeKind::Data, Type::Text),
                fixed("objective", AttributeKind::Global, Type::Decimal),
            ],
        }
    }

    /// Reads what an element declares: each attribute, under the name that formulas call it by.
    pub(super) fn declare(
        &mut self,
        node: Node<'_>,
        kind: AttributeKind,
        owner: Option<NodeId>,
        sink: &mut Sink,
    ) -> Vec<(Name, AttributeId)> {
        let mut declared = Vec::new();
        for it in listed(node, "attributes", "attribute") {
            let Some(text) = it.attr("name").filter(|it| !it.trim().is_empty()) else {
                let message = format!("an attribute of {} has no name", node.title());
                sink.error("TV0744", it, message, "give it a name");
                continue;
            };
            let (name, formula) = match Assignment::parse_declared(text) {
                Ok(declared) => declared,
                Err(error) => {
                    let message = format!("`{text}` declares no attribute: {}", error.message);
                    sink.error("TV0742", it, message, "write a name, or a name := and a formula");
                    continue;
                }
            };
            let fixed = match (it.id(), kind) {
                (Some("Timestamp"), AttributeKind::Status) => Some(TIMESTAMP),
                // Wherever it is declared, it names the instance that a token belongs to.
                (Some("Instance"), _) => Some(INSTANCE),
                (Some("Objective"), AttributeKind::Global) => Some(OBJECTIVE),
                _ => None,
            };
            let of = match it.attr("type").unwrap_or("string").to_lowercase().as_str() {
                "string" => Type::Text,
                "integer" => Type::Whole,
                "decimal" => Type::Decimal,
                "boolean" => Type::Truth,
                "collection" => Type::Collection,
                other => {
                    let message = format!("there is no type {other}");
                    let help = "the types are string, integer, decimal, boolean and collection";
                    sink.error("TV0744", it, message, help);
                    continue;
                }
            };
            let weight = weight(it, sink);
            let carriers = node.id().map(str::to_owned).into_iter().collect();
            let attribute =
                Attribute { name: Name::clone(&name), kind, of, weight, formula, owner, carriers };
            let id = if let Some(id) = fixed {
                let known = &mut self.all[id];
                *known = Attribute { of: known.of, kind: known.kind, ..attribute };
                id
            } else {
                self.all.push(attribute);
                self.all.len() - 1
            };
            declared.push((name, id));
        }
        declared
    }
}

/// What an attribute counts: its weight, or the opposite of it where it is to become small.
fn weight(it: Node<'_>, sink: &mut Sink) -> Number {
    let sign = match it.attr("objective").unwrap_or("none") {
        "maximize" => Number::from(1),
        "minimize" => Number::from(-1),
        "none" | "" => {
            if it.attr("weight").is_some_and(|it| !it.trim().is_empty()) {
                let message = "a weight without an objective counts nothing".to_owned();
                sink.warn("TV0747", it, message, "say objective=\"maximize\" or \"minimize\"");
            }
            return Number::ZERO;
        }
        other => {
            let message = format!("there is no objective {other}");
            sink.error("TV0744", it, message, "it is maximize, minimize or none");
            return Number::ZERO;
        }
    };
    let text = it.attr("weight").filter(|it| !it.trim().is_empty()).unwrap_or("1");
    let weight = Number::parse_rounded(text.trim()).and_then(|it| it.checked_mul(sign));
    weight.unwrap_or_else(|_| {
        let message = format!("the weight `{text}` is no number");
        sink.error("TV0744", it, message, "write a number, such as 1 or 2.5");
        Number::ZERO
    })
}

/// The names of a scope: those around it and its own, which must be new.
pub(super) fn within(
    around: &Names,
    own: &[(Name, AttributeId)],
    at: Node<'_>,
    sink: &mut Sink,
) -> Names {
    if own.is_empty() {
        return Arc::clone(around);
    }
    let mut names: BTreeMap<_, _> = (**around).clone();
    for (name, id) in own {
        let known = names.insert(Name::clone(name), *id);
        // The fixed attributes are known before they are declared.
        if let Some(fixed) = known.filter(|it| *it <= OBJECTIVE && it != id) {
            let ids = ["Timestamp", "Instance", "Objective"];
            let message = format!("'{name}' of {} hides the attribute of that name", at.title());
            let help = format!("give it another name, or the id {} if it is meant", ids[fixed]);
            sink.warn("TV0743", at, message, &help);
        }
        if known.is_some_and(|known| known > OBJECTIVE && known != *id) {
            let message = format!("{} declares '{name}', which is declared around it", at.title());
            sink.error("TV0743", at, message, "attributes have different names along the scopes");
        }
    }
    Arc::new(names)
}
