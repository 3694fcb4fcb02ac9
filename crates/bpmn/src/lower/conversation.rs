//! Correlation as the standard has it: keys of conversations, and what processes subscribe to.

use travertine_expr::Name;
use travertine_kernel::plan::{Key, Message};

use super::{Lowering, data::name_of_item};
use crate::{
    dialect::Dialect,
    expression::Text,
    schema,
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    /// The keys of all conversations of the files: for each property of each, where messages have it.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (document, dialect) in &self.cx.files.documents {
            if *dialect != Dialect::Native {
                continue;
            }
            let conversations =
                document.root().children().filter(|it| schema::is_a(it.name(), "collaboration"));
            let nodes = conversations.flat_map(Node::descendants);
            for key in nodes.filter(|it| it.is("correlationKey")) {
                let Some(name) = name_of_item(key) else { continue };
                for property in self.properties(key) {
                    keys.extend(self.paths(name, property));
                }
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
        if self.dialect != Dialect::Native {
            return;
        }
        let awaited = self.cx.files.resolve_as(event, reference, "message");
        let process = event.ancestors().find(|it| it.is("process"));
        let (Some(awaited), Some(process)) = (awaited, process) else { return };
        let is_told = |property: Node<'a>| {
            property.all("correlationPropertyRetrievalExpression").any(|it| {
                let reference = it.attr("messageRef");
                reference.and_then(|reference| self.cx.files.resolve(it, reference))
                    == Some(awaited)
            })
        };
        for binding in process
            .all("correlationSubscription")
            .flat_map(|it| it.all("correlationPropertyBinding"))
        {
            let property = binding
                .attr("correlationPropertyRef")
                .and_then(|it| self.cx.files.resolve_as(binding, it, "correlationProperty"));
            let Some(property) = property.filter(|it| is_told(*it)) else { continue };
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
