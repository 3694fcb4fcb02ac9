//! Correlation as the standard has it: keys of conversations, and what processes subscribe to.

use std::collections::{BTreeSet, HashMap};

use travertine_kernel::plan::{Key, Message};
use travertine_value::Name;

use super::{Lowering, data::name_of_item};
use crate::{
    expression::Text,
    files::Files,
    schema,
    xml::{Node, Ns},
};

/// Where something stands, of all files.
type Place = (usize, usize);

/// What the files say about conversations, gone through once for all processes in them.
#[derive(Debug, Default)]
pub(crate) struct Conversations<'a> {
    keys: Vec<Node<'a>>,
    /// By process and message: the properties that the process is bound to and that the message has,
    /// each with its binding.
    subscribed: HashMap<(Place, Place), Vec<(Node<'a>, Node<'a>)>>,
}

impl<'a> Conversations<'a> {
    pub(crate) fn new(files: &Files<'a>) -> Self {
        let mut found = Self::default();
        for (document, dialect) in &files.documents {
            if dialect.is_camunda() {
                continue;
            }
            for child in document.root().children() {
                if schema::is_a(child.name(), "collaboration") {
                    let keys = child.descendants().filter(|it| it.is("correlationKey"));
                    found.keys.extend(keys);
                } else if child.is("process") {
                    found.subscribe(child, files);
                }
            }
        }
        found
    }

    fn subscribe(&mut self, process: Node<'a>, files: &Files<'a>) {
        let subscriptions = process.all("correlationSubscription");
        for binding in subscriptions.flat_map(|it| it.all("correlationPropertyBinding")) {
            let property = binding
                .attr("correlationPropertyRef")
                .and_then(|it| files.resolve_as(binding, it, "correlationProperty"));
            let Some(property) = property else { continue };
            let messages = property.all("correlationPropertyRetrievalExpression");
            let messages: BTreeSet<Place> = messages
                .filter_map(|it| Some(files.resolve(it, it.attr("messageRef")?)?.key()))
                .collect();
            for message in messages {
                let bound = self.subscribed.entry((process.key(), message)).or_default();
                bound.push((binding, property));
            }
        }
    }
}

impl<'a> Lowering<'a> {
    /// The keys of all conversations of the files: for each property of each, where messages have it.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for key in self.cx.conversations.keys.iter().copied() {
            let Some(name) = name_of_item(key) else { continue };
            for property in self.properties(key) {
                keys.extend(self.paths(name, property));
            }
        }
        keys
    }

    fn properties(&self, key: Node<'a>) -> impl Iterator<Item = Node<'a>> {
        let references = key.all("correlationPropertyRef");
        references.filter_map(|it| self.cx.files.resolve_as(it, it.text(), "correlationProperty"))
    }

    fn paths(&self, name: &str, property: Node<'a>) -> Vec<Key> {
        let Some(own) = name_of_item(property) else { return Vec::new() };
        let found = property.all("correlationPropertyRetrievalExpression").filter_map(|it| {
            let message = self.cx.files.resolve_as(it, it.attr("messageRef")?, "message")?;
            Some(Key {
                name: Name::from(name),
                message: Name::from(message_name(message)?),
                property: Name::from(own),
                path: self.compiler.expression(Text::of(it.child("messagePath")?)),
            })
        });
        found.collect()
    }

    /// Adds to a message that is awaited what its process has subscribed to.
    pub(super) fn subscribed(&self, reference: &str, event: Node<'a>, message: &mut Message) {
        if self.dialect.is_camunda() {
            return;
        }
        let awaited = self.cx.files.resolve_as(event, reference, "message");
        let process = event.ancestors().find(|it| it.is("process"));
        let (Some(awaited), Some(process)) = (awaited, process) else { return };
        let subscribed = self.cx.conversations.subscribed.get(&(process.key(), awaited.key()));
        for (binding, property) in subscribed.into_iter().flatten() {
            let (binding, property) = (*binding, *property);
            let (Some(name), Some(path)) = (name_of_item(property), binding.child("dataPath"))
            else {
                continue;
            };
            if !message.correlation.iter().any(|(it, _)| &**it == name) {
                let path = self.compiler.expression(Text::of(path));
                message.correlation.push((Name::from(name), path));
            }
        }
    }
}

/// The name of a message, where it is no expression; its id where it has no name.
pub(super) fn message_name(message: Node<'_>) -> Option<&str> {
    match message.attribute(&Ns::None, "name").filter(|it| !it.value.is_empty()) {
        Some(name) => {
            let text = Text::attribute(message, name);
            (!text.is_marked()).then_some(text.source)
        }
        None => message.id(),
    }
}
