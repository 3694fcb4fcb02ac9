//! Messages: sent, matched, delivered, withdrawn.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Name, Value};

use super::{
    Cue, DecisionKind, Done, Outcome, Simulation,
    state::{Message, MessageId, Token, TokenId},
};
use crate::model::{HeaderText, Kind, MessageText};

impl Simulation {
    /// The message of a token's node; where there are several, each copy of a multi-instance task has one of its own.
    pub(super) fn text_of(&self, token: TokenId) -> Option<MessageText> {
        let all = &self.node_of(token).messages;
        let own = all.get(self.token(token).number.saturating_sub(1));
        own.or_else(|| all.first()).cloned()
    }

    fn header(&self, token: TokenId, text: &MessageText, own: &str) -> BTreeMap<Name, Value> {
        let mut header = BTreeMap::from([
            ("name".into(), Value::String(Arc::clone(&text.name))),
            ("sender".into(), Value::Null),
            ("recipient".into(), Value::Null),
        ]);
        for (key, value) in &text.header {
            let value = match value {
                HeaderText::Any => Value::Null,
                HeaderText::Text(text) => Value::String(Arc::clone(text)),
                HeaderText::Attribute(name) => self.read(token, name),
            };
            header.insert(Name::clone(key), value);
        }
        header.insert(own.into(), Value::String(Arc::clone(&self.token(token).label)));
        header
    }

    /// A token sends its message, and perhaps waits until it is delivered.
    pub(super) fn send(&mut self, token: TokenId, waits: bool) {
        let Some(text) = self.text_of(token) else { return };
        let header = self.header(token, &text, "sender");
        let content = text.content.iter();
        let content =
            content.map(|(key, attribute)| (Name::clone(key), self.read(token, attribute)));
        let content = content.collect();
        if waits {
            self.ticket(token);
        }
        // Whoever has ended takes nothing any more.
        if let Some(Value::String(recipient)) = header.get("recipient") {
            let ended = |it: &super::Instance| {
                is_part(recipient, &it.id)
                    && matches!(it.outcome, Outcome::Completed | Outcome::Failed)
            };
            if self.instances.iter().any(ended) {
                return;
            }
        }
        let at = self.token(token);
        let message = Message {
            header,
            content,
            from: at.node,
            sender: Name::clone(&at.label),
            task: waits.then_some(token),
        };
        let id = self.number();
        if waits {
            self.token_mut(token).message = Some(id);
        }
        self.messages.entry(Name::clone(&text.name)).or_default().insert(id, message);
        self.unmatched.insert(text.name);
    }

    /// A token waits for a message. What it wants is fixed from now on.
    pub(super) fn receive(&mut self, token: TokenId) {
        let Some(text) = self.text_of(token) else { return };
        let header = self.header(token, &text, "recipient");
        let ticket = self.ticket(token);
        let at = self.token_mut(token);
        at.header = header;
        at.asks = Some(DecisionKind::Message);
        self.receivers.entry(Name::clone(&text.name)).or_default().insert(ticket, token);
        self.unmatched.insert(text.name);
    }

    fn fits(&self, message: &Message, receiver: &Token) -> bool {
        let same_keys = message.header.keys().eq(receiver.header.keys());
        let agree = |(a, b): (&Value, &Value)| a.is_null() || b.is_null() || a == b;
        same_keys
            && message.header.values().zip(receiver.header.values()).all(agree)
            && self.model.connects(message.from, receiver.node)
    }

    /// The messages that a receiver may have, oldest first, each with who sent it.
    pub(super) fn messages_for(&self, token: TokenId) -> Vec<(MessageId, Name)> {
        let Some(text) = self.text_of(token) else { return Vec::new() };
        let receiver = self.token(token);
        let all = self.messages.get(&text.name).into_iter().flatten();
        let fit = all.filter(|(_, it)| self.fits(it, receiver));
        fit.map(|(id, it)| (*id, Name::clone(&it.sender))).collect()
    }

    /// Who waits for a message now.
    pub(super) fn receiving(&self) -> impl Iterator<Item = TokenId> {
        let mut all: Vec<(u64, TokenId)> =
            self.receivers.values().flatten().map(|(ticket, it)| (*ticket, *it)).collect();
        all.sort_unstable();
        all.into_iter().filter(|(ticket, it)| self.is_current(*it, *ticket)).map(|(_, it)| it)
    }

    pub(super) fn is_current(&self, token: TokenId, ticket: u64) -> bool {
        self.tokens.get(&token).is_some_and(|it| it.ticket == ticket)
    }

    /// Delivers the oldest message that fits to whoever has waited longest; whether there was one.
    pub(super) fn deliver_one(&mut self) -> Result<bool, super::Failed> {
        while let Some(name) = self.unmatched.first().cloned() {
            let receivers = self.receivers.get(&name).cloned().unwrap_or_default();
            for (ticket, token) in receivers {
                if !self.is_current(token, ticket) {
                    self.forget_receiver(&name, ticket);
                    continue;
                }
                if let Some((message, _)) = self.messages_for(token).first().cloned() {
                    self.deliver(&name, message, token)?;
                    return Ok(true);
                }
            }
            self.unmatched.remove(&name);
        }
        Ok(false)
    }

    fn forget_receiver(&mut self, name: &Name, ticket: u64) {
        if let Some(all) = self.receivers.get_mut(name) {
            all.remove(&ticket);
        }
    }

    /// A receiver has a message.
    pub(super) fn deliver(&mut self, name: &Name, id: MessageId, token: TokenId) -> Done {
        let all = self.messages.get_mut(name).expect("the message is there");
        let message = all.remove(&id).expect("the message is there");
        let ticket = self.token(token).ticket;
        self.forget_receiver(name, ticket);
        let at = self.token_mut(token);
        at.ticket = 0;
        at.asks = None;
        if let Some(text) = self.text_of(token) {
            self.take_content(token, &text.content, &message.content)?;
        }
        if let Kind::Receive = self.node_of(token).kind {
            self.operate(token)?;
            self.work_done(token)?;
        } else {
            self.agenda.push_back((token, Cue::Fire));
        }
        if let Some(task) = message.task.filter(|it| self.tokens.contains_key(it)) {
            let at = self.token_mut(task);
            at.message = None;
            at.ticket = 0;
            self.work_done(task)?;
        }
        Ok(())
    }

    /// Whoever sent it is left otherwise.
    pub(super) fn withdraw_message_of(&mut self, token: TokenId) {
        let Some(id) = self.token_mut(token).message.take() else { return };
        let name = self.text_of(token).map(|it| it.name);
        if let Some(all) = name.and_then(|it| self.messages.get_mut(&it)) {
            all.remove(&id);
        }
    }

    /// Messages to an instance that has ended reach nobody.
    pub(super) fn withdraw_messages_to(&mut self, instance: &Name) {
        let is_to = |it: &Message| match it.header.get("recipient") {
            Some(Value::String(to)) => is_part(to, instance),
            _ => false,
        };
        for all in self.messages.values_mut() {
            all.retain(|_, it| !is_to(it));
        }
    }
}

/// Whether a name is that of an instance, or of a copy or handler in it.
fn is_part(name: &str, instance: &str) -> bool {
    let rest = name.strip_prefix(instance);
    rest.is_some_and(|it| it.is_empty() || it.starts_with('^'))
}
