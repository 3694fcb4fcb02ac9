//! Loops and multi-instance activities.
//!
//! What to repeat over can be said in several ways: by the standard's elements, by the same names
//! as plain attributes, and by the extensions of each dialect. All of them meet here.

use travertine_kernel::plan::{
    Count, Each, Element, Loop, OnEmpty, OutputItem, Repeat, Throw, Trigger, When,
};
use travertine_value::{Name, Program};

use super::{Lowering, camunda8::zeebe_loop, data::name_of_item, is_true};
use crate::{
    dialect::Dialect,
    expression::{Text, is_identifier, variable_named},
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    pub(super) fn repeat(&self, node: Node<'a>, element: &Element) -> Option<Repeat> {
        if let Some(several) = node.child("multiInstanceLoopCharacteristics") {
            return self.each(node, several, element).map(Repeat::Each);
        }
        if named_messages(node) > 0 {
            let message = format!("{} names several messages but runs once", node.title());
            self.error("TV0605", node, message, "make it a multi-instance task, or use messageRef");
        }
        node.child("standardLoopCharacteristics").map(|it| Repeat::Loop(self.looped(it)))
    }

    fn looped(&self, node: Node<'a>) -> Loop {
        let maximum = node.attr("loopMaximum").and_then(|it| it.trim().parse::<i64>().ok());
        Loop {
            condition: node.child("loopCondition").map(|it| self.compiler.expression(Text::of(it))),
            test_before: is_true(node, "testBefore", false),
            maximum: maximum.map(|it| Program::constant(it.into())),
        }
    }

    fn each(&self, node: Node<'a>, several: Node<'a>, element: &Element) -> Option<Each> {
        if self.dialect == Dialect::Fleans {
            return self.fleans_each(node, several);
        }
        let count = self.count(node, several, element)?;
        let on_empty = match (several.ext(&Ns::Travertine, "onEmpty"), self.dialect) {
            (Some("complete"), _)
            | (None, Dialect::Camunda7 | Dialect::Camunda8 | Dialect::Fleans) => OnEmpty::Complete,
            (Some("error"), _) | (None, Dialect::Native) => OnEmpty::Error,
            (Some(other), _) => {
                let message = format!("tv:onEmpty of {} is '{other}'", node.title());
                self.error("TV0703", several, message, "write 'error' or 'complete'");
                OnEmpty::Error
            }
        };
        Some(Each {
            sequential: is_true(several, "isSequential", false),
            count,
            item: item(several),
            index: several.ext(&Ns::Travertine, "loopIndex").map(Name::from),
            output: self.output(node, several),
            completion: several
                .child("completionCondition")
                .map(|it| self.compiler.expression(Text::of(it))),
            on_empty,
            batch: self.batch(several),
            behavior: self.behavior(node, several),
        })
    }

    /// What happens as runs end (BPMN 2.0, 10.2.8): an event for each, for the first, or for those
    /// after which a condition holds.
    fn behavior(&self, node: Node<'a>, several: Node<'a>) -> Vec<(When, Throw)> {
        let behavior = several.attr("behavior").unwrap_or("All");
        if behavior != "Complex"
            && let Some(complex) = several.child("complexBehaviorDefinition")
        {
            let message = format!(
                "{} has a complexBehaviorDefinition, but its behavior is {behavior}",
                node.title()
            );
            self.error("TV0803", complex, message, "write behavior=\"Complex\", or remove it");
        }
        let referred = |name: &str| {
            let reference = several.attr(name)?;
            let definition = self.cx.files.resolve_as(several, reference, "eventDefinition")?;
            self.throw(several, definition)
        };
        match behavior {
            "None" => {
                referred("noneBehaviorEventRef").map(|it| (When::Each, it)).into_iter().collect()
            }
            "One" => {
                referred("oneBehaviorEventRef").map(|it| (When::First, it)).into_iter().collect()
            }
            "Complex" => several
                .all("complexBehaviorDefinition")
                .flat_map(|it| self.complex_behavior(it))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn complex_behavior(&self, node: Node<'a>) -> Vec<(When, Throw)> {
        let Some(condition) = node.child("condition") else { return Vec::new() };
        let when = When::If(self.condition_of(Text::of(condition)));
        let definitions = node.child("event").map(|it| self.definitions(it)).unwrap_or_default();
        let throws = definitions.into_iter().filter_map(|it| self.throw(node, it));
        throws.map(|throw| (when.clone(), throw)).collect()
    }

    fn count(&self, node: Node<'a>, several: Node<'a>, element: &Element) -> Option<Count> {
        let cardinality = several.child("loopCardinality");
        let collection = self.collection(several);
        let messages = named_messages(node);
        if messages > 0 {
            return self.messages_count(node, element, cardinality, collection.is_some());
        }
        match (cardinality, collection) {
            (Some(cardinality), Some(_)) if self.dialect != Dialect::Camunda7 => {
                let message = format!(
                    "{} has both a loop cardinality and a collection to run for",
                    node.title()
                );
                self.error("TV0602", several, message, "keep the one you mean");
                Some(Count::Cardinality(self.cardinality(cardinality)))
            }
            (Some(cardinality), _) => Some(Count::Cardinality(self.cardinality(cardinality))),
            (None, Some(collection)) => Some(Count::Collection(collection)),
            (None, None) => {
                let message = format!(
                    "multi-instance {} says neither how often nor for what it runs",
                    node.title()
                );
                self.error("TV0601", several, message, "add a loopCardinality or a collection");
                None
            }
        }
    }

    fn cardinality(&self, node: Node<'a>) -> Program {
        self.number(Text::of(node))
    }

    /// One run for each message; whatever else says how many must agree.
    fn messages_count(
        &self,
        node: Node<'a>,
        element: &Element,
        cardinality: Option<Node<'a>>,
        collection: bool,
    ) -> Option<Count> {
        let messages = match element {
            Element::Send(send) => send.messages.len(),
            Element::Receive(catch) => {
                catch.triggers.iter().filter(|it| matches!(it, Trigger::Message(_))).count()
            }
            _ => {
                let message =
                    format!("{} names messages but neither sends nor receives", node.title());
                self.error("TV0605", node, message, "remove tv:message");
                return None;
            }
        };
        let agrees = cardinality
            .is_none_or(|it| it.text().trim().parse::<usize>().is_ok_and(|it| it == messages));
        if !agrees || collection {
            let message = format!(
                "{} names {messages} messages, but its loop says otherwise how often it runs",
                node.title()
            );
            self.error("TV0606", node, message, "leave the count to the messages");
        }
        Some(Count::Messages)
    }

    fn collection(&self, several: Node<'a>) -> Option<Program> {
        let attribute = Text::ext(several, &Ns::Travertine, "collection")
            .or_else(|| Text::ext(several, &Ns::Camunda, "collection"))
            .or_else(|| Text::ext(several, &Ns::None, "inputCollection"));
        if let Some(text) = attribute {
            return Some(self.variable_or_expression(text));
        }
        if let Some(reference) = several.child("loopDataInputRef") {
            return Some(self.data_reference(reference));
        }
        zeebe_loop(several, "inputCollection").map(|it| self.compiler.expression(it))
    }

    fn variable_or_expression(&self, text: Text<'a>) -> Program {
        if is_identifier(text.source) {
            variable_named(text.source)
        } else {
            self.compiler.expression(text)
        }
    }

    /// The variable behind a reference to data: the id of something declared, else a plain name.
    fn data_reference(&self, reference: Node<'a>) -> Program {
        let text = Text::of(reference);
        if text.is_marked() {
            return self.compiler.expression(text);
        }
        variable_named(self.data_name(reference))
    }

    fn data_name(&self, reference: Node<'a>) -> &'a str {
        let text = reference.text().trim();
        match self.cx.files.resolve(reference, text) {
            // A data input gets its value from what is associated with it.
            Some(target) => {
                self.data_variable(source_of(self, target).unwrap_or(target)).unwrap_or(text)
            }
            None => text,
        }
    }

    fn output(&self, node: Node<'a>, several: Node<'a>) -> Option<(Name, OutputItem)> {
        let list = several
            .ext(&Ns::Travertine, "outputCollection")
            .or_else(|| several.attr("outputCollection"))
            .or_else(|| several.child("loopDataOutputRef").map(|it| self.data_name(it)))
            .or_else(|| zeebe_loop(several, "outputCollection").map(|it| it.source))
            .map(Name::from);
        let item = Text::ext(several, &Ns::Travertine, "outputElement")
            .or_else(|| Text::ext(several, &Ns::None, "outputDataItem"))
            .map(|text| self.output_item(text))
            .or_else(|| {
                let name = several.child("outputDataItem").and_then(name_of_item)?;
                Some(OutputItem::Variable(Name::from(name)))
            })
            .or_else(|| {
                let text = zeebe_loop(several, "outputElement")?;
                Some(OutputItem::Expression(self.compiler.expression(text)))
            });
        if list.is_some() != item.is_some() {
            let message = format!(
                "{} names only one of output collection and output item, so nothing is collected",
                node.title()
            );
            self.warn("TV0604", several, message, "name both, or neither");
        }
        list.zip(item)
    }

    fn output_item(&self, text: Text<'a>) -> OutputItem {
        if is_identifier(text.source) {
            OutputItem::Variable(Name::from(text.source))
        } else {
            OutputItem::Expression(self.compiler.expression(text))
        }
    }

    fn batch(&self, several: Node<'a>) -> Option<(Program, Program)> {
        let size = Text::ext(several, &Ns::Travertine, "batchSize");
        let parallel = Text::ext(several, &Ns::Travertine, "parallelBatches");
        if size.is_none() && parallel.is_some() {
            let message = "tv:parallelBatches without tv:batchSize".to_owned();
            self.error("TV0607", several, message, "add tv:batchSize");
        }
        let parallel =
            parallel.map_or_else(|| Program::constant(1_i64.into()), |it| self.number(it));
        Some((self.number(size?), parallel))
    }
}

fn named_messages(node: Node<'_>) -> usize {
    node.extensions(&Ns::Travertine, "message").count()
}

/// What an association of the same activity feeds a data input from, or a data output to.
fn source_of<'a>(lowering: &Lowering<'a>, data: Node<'a>) -> Option<Node<'a>> {
    let activity = data.parent()?.parent()?;
    let (association, here, there) = match data.name() {
        "dataInput" => ("dataInputAssociation", "targetRef", "sourceRef"),
        "dataOutput" => ("dataOutputAssociation", "sourceRef", "targetRef"),
        _ => return None,
    };
    let found = activity
        .all(association)
        .find(|it| it.child(here).is_some_and(|it| Some(it.text().trim()) == data.id()))?;
    let reference = found.child(there)?;
    lowering.cx.files.resolve(reference, reference.text())
}

/// The variable that takes the item of each run.
fn item(several: Node<'_>) -> Option<Name> {
    several
        .ext(&Ns::Travertine, "elementVariable")
        .or_else(|| several.ext(&Ns::Camunda, "elementVariable"))
        .or_else(|| several.attr("inputDataItem"))
        .or_else(|| several.child("inputDataItem").and_then(name_of_item))
        .or_else(|| zeebe_loop(several, "inputElement").map(|it| it.source))
        .map(Name::from)
}
