//! What events wait for and throw; messages.

use travertine_lang::bpmnos::Formula;
use travertine_value::Name;
use travertine_xml::Node;

use super::{Sink, extensions, lower::Reader};
use crate::model::{HeaderText, MessageText, Names, Throw, Trigger};

/// What defines an event: the child and what it is, without `EventDefinition`.
pub(super) fn definition<'a>(event: Node<'a>, sink: &mut Sink) -> Option<(Node<'a>, &'a str)> {
    let ends = |it: Node<'a>| Some((it, it.name().strip_suffix("EventDefinition")?));
    let mut all = event.children().filter_map(ends);
    let first = all.next();
    if all.next().is_some() {
        let message = format!("{} has several definitions", event.title());
        sink.error("TV0745", event, message, "here an event has one; part it");
    }
    first
}

impl Reader<'_> {
    /// What an event waits for.
    pub(super) fn trigger(&mut self, event: Node<'_>, names: &Names) -> Option<Trigger> {
        let (definition, kind) = definition(event, self.sink)?;
        Some(match kind {
            "message" => Trigger::Message,
            "signal" => {
                let (name, content) = self.signal(event, definition, names);
                Trigger::Signal { name, content }
            }
            "timer" => Trigger::Timer(self.timer(event, names)),
            "conditional" => Trigger::Condition,
            "error" => Trigger::Error,
            "escalation" => Trigger::Escalation,
            "compensate" => Trigger::Compensation,
            other => {
                self.never(event, other);
                return None;
            }
        })
    }

    /// What an event throws.
    pub(super) fn throw(&mut self, event: Node<'_>, names: &Names) -> Throw {
        let Some((definition, kind)) = definition(event, self.sink) else { return Throw::None };
        match kind {
            "message" => Throw::Message,
            "signal" => {
                let (name, content) = self.signal(event, definition, names);
                Throw::Signal { name, content }
            }
            "error" if event.is("endEvent") => Throw::Error,
            "escalation" => Throw::Escalation,
            "compensate" => Throw::Compensation,
            "terminate" if event.is("endEvent") => Throw::Terminate,
            other => {
                self.never(event, other);
                Throw::None
            }
        }
    }

    fn never(&mut self, event: Node<'_>, kind: &str) {
        let message = format!("{} cannot have a definition of kind {kind} here", event.title());
        self.sink.error(
            "TV0745",
            event,
            message,
            "docs/bpmnos.md lists the events that are executed",
        );
    }

    fn timer(&mut self, event: Node<'_>, names: &Names) -> Option<Formula> {
        let parameters = extended(event, "timer").flat_map(|it| it.parts("parameter"));
        let mut found: Vec<Node<'_>> = parameters.collect();
        found.retain(|it| it.attr("name") == Some("trigger"));
        self.only_one(event, &found, "times");
        let Some(found) = found.first().copied() else {
            let message = format!("{} says no time, so it fires at once", event.title());
            let help = "add a bpmnos:timer with a parameter trigger";
            self.sink.warn("TV0744", event, message, help);
            return None;
        };
        self.formula(found, "value", names)
    }

    fn signal(
        &mut self,
        event: Node<'_>,
        definition: Node<'_>,
        names: &Names,
    ) -> (Name, Vec<(Name, Name)>) {
        let extensions: Vec<Node<'_>> = extended(event, "signal").collect();
        self.only_one(event, &extensions, "signals");
        let extension = extensions.first().copied();
        let own = extension.and_then(|it| it.attr("name"));
        let referred = definition.attr("signalRef").and_then(|it| referred(event, it));
        let Some(name) = own.or(referred).filter(|it| !it.is_empty()) else {
            let message = format!("{} names no signal", event.title());
            self.sink.error("TV0744", event, message, "add a bpmnos:signal with a name");
            return (Name::from(""), Vec::new());
        };
        let content = extension.map(|it| self.content(it, names)).unwrap_or_default();
        (name.into(), content)
    }

    /// Of several none would be the one that is meant.
    fn only_one(&mut self, at: Node<'_>, found: &[Node<'_>], what: &str) {
        if let [_, second, ..] = found {
            let message = format!("{} has several {what}", at.title());
            self.sink.error("TV0741", *second, message, "keep one of them");
        }
    }

    /// The messages that a task or an event sends or waits for.
    pub(super) fn messages(&mut self, node: Node<'_>, names: &Names) -> Vec<MessageText> {
        let listed = extensions(node, "messages").flat_map(|it| it.parts("message"));
        let found: Vec<Node<'_>> = extended(node, "message").chain(listed).collect();
        if node.child("multiInstanceLoopCharacteristics").is_none() {
            self.only_one(node, &found, "messages");
        }
        let definition = node.child("messageEventDefinition").unwrap_or(node);
        let referred = definition.attr("messageRef").and_then(|it| referred(node, it));
        if found.is_empty() {
            let Some(name) = referred else {
                let message = format!("{} names no message", node.title());
                self.sink.error("TV0744", node, message, "add a bpmnos:message with a name");
                return Vec::new();
            };
            return vec![MessageText {
                name: name.into(),
                header: Vec::new(),
                content: Vec::new(),
            }];
        }
        found.into_iter().filter_map(|it| self.message(node, it, referred, names)).collect()
    }

    fn message(
        &mut self,
        node: Node<'_>,
        it: Node<'_>,
        referred: Option<&str>,
        names: &Names,
    ) -> Option<MessageText> {
        let Some(name) = it.attr("name").or(referred).filter(|it| !it.is_empty()) else {
            let message = format!("a message of {} has no name", node.title());
            self.sink.error("TV0744", it, message, "give it a name");
            return None;
        };
        let mut header = Vec::new();
        for parameter in it.parts("parameter") {
            let Some(key) = parameter.attr("name").filter(|it| !it.is_empty()) else {
                let message = format!("a parameter of {} has no name", node.title());
                self.sink.error("TV0744", parameter, message, "give it a name");
                continue;
            };
            let value = parameter.attr("value").unwrap_or_default().trim();
            let text = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            let value = match text {
                Some(text) => HeaderText::Text(text.into()),
                None if value.is_empty() => HeaderText::Any,
                None => {
                    self.is_known(value, parameter, names);
                    HeaderText::Attribute(value.into())
                }
            };
            header.push((Name::from(key), value));
        }
        Some(MessageText { name: name.into(), header, content: self.content(it, names) })
    }

    fn content(&mut self, it: Node<'_>, names: &Names) -> Vec<(Name, Name)> {
        let mut content = Vec::new();
        for part in it.parts("content") {
            let (Some(key), Some(attribute)) = (part.attr("key"), part.attr("attribute")) else {
                let message = "content has a key and an attribute".to_owned();
                self.sink.error("TV0744", part, message, "say both");
                continue;
            };
            self.is_known(attribute, part, names);
            content.push((key.into(), attribute.into()));
        }
        content
    }
}

/// Extensions of an event, or of what defines it.
fn extended<'n>(event: Node<'n>, name: &'n str) -> impl Iterator<Item = Node<'n>> + use<'n> {
    let definitions = event.children().filter(|it| it.name().ends_with("EventDefinition"));
    std::iter::once(event).chain(definitions).flat_map(move |it| extensions(it, name))
}

/// The name of a message or signal of the standard.
fn referred<'n>(at: Node<'n>, id: &str) -> Option<&'n str> {
    let found = at.document().by_id(travertine_xml::local_part(id))?;
    found.attr("name").or_else(|| found.id())
}
