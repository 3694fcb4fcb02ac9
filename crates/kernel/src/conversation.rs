//! Messages of one conversation: they have the same values for the properties of its key.
//!
//! A key is a variable of the process: an object with a field for each property. The first message
//! that is sent or received sets it, and from then on the instance waits for messages that agree.

use std::sync::Arc;

use travertine_value::{Map, Name, Value};

use crate::{
    plan::{Key, Send},
    run::{Run, script_failure},
    state::{ROOT_LAYER, Role, Wait},
    vocabulary::{Assignments, Event, Failure, Part, Post, TokenId, WaitFor, WaitId},
};

impl<'a> Run<'a> {
    /// The message that a token sends: the only one, or the one of its run.
    pub(crate) fn message(&mut self, token: TokenId, send: &Send) -> Result<Post, Failure> {
        let message = match (&send.messages[..], self.instance.token(token).role) {
            ([only], _) => only,
            (several, Role::Run(index)) => &several[index as usize],
            (several, _) => &several[0],
        };
        let name = self.eval_name(token, &message.name).map_err(self.at(token, Part::Name))?;
        let mut correlation = self
            .eval_all(token, &message.correlation)
            .map_err(self.at(token, Part::Correlation))?;
        let payload = self.payload(token, &send.payload)?;
        let content: Map = payload.iter().cloned().collect();
        for key in self.keys(&name) {
            if has(&correlation, &key.property) {
                continue;
            }
            // What the message does not say is what the conversation is about.
            let said = key.path.value(&content, &self.plan.limits);
            let value = match (said, self.known(key)) {
                (Ok(value), _) if !value.is_null() => value,
                (_, Some(known)) => known,
                (Ok(_), None) => continue,
                (Err(error), None) => {
                    let failure = script_failure(&key.path, &error);
                    return Err(self.at(token, Part::Correlation)(failure));
                }
            };
            correlation.push((Arc::clone(&key.property), value));
        }
        self.remember(&name, &correlation);
        Ok(Post::Message { name, correlation, payload })
    }

    /// A message has come: where it is the first of a conversation, it says what that is about.
    pub(crate) fn hear(&mut self, name: &Name, payload: &Assignments) {
        if self.keys(name).next().is_none() {
            return;
        }
        let content: Map = payload.iter().cloned().collect();
        let said = self.keys(name).filter_map(|key| {
            let value = key.path.value(&content, &self.plan.limits).ok()?;
            Some((Arc::clone(&key.property), value))
        });
        let said: Assignments = said.collect();
        self.remember(name, &said);
    }

    /// What a message must agree on with those before it, besides what is said already.
    pub(crate) fn agreed(&self, name: &Name, correlation: &mut Assignments) {
        for key in self.keys(name) {
            if let Some(value) = self.known(key).filter(|_| !has(correlation, &key.property)) {
                correlation.push((Arc::clone(&key.property), value));
            }
        }
    }

    fn keys(&self, message: &Name) -> impl Iterator<Item = &'a Key> + use<'a> {
        let message = Arc::clone(message);
        self.plan.keys.iter().filter(move |it| it.message == message)
    }

    /// The value of a property, where the conversation has one.
    fn known(&self, key: &Key) -> Option<Value> {
        let value = self.instance.layers[&ROOT_LAYER].variables.get(&key.name)?;
        value.field(&key.property).filter(|it| !it.is_null()).cloned()
    }

    fn remember(&mut self, message: &Name, properties: &Assignments) {
        let mut learnt = false;
        for key in self.keys(message) {
            let said = properties.iter().find(|(it, _)| *it == key.property);
            let Some((_, value)) = said.filter(|(_, it)| !it.is_null()) else { continue };
            if self.known(key).is_some() {
                continue;
            }
            let variables = &self.instance.layers[&ROOT_LAYER].variables;
            let mut fields = match variables.get(&key.name) {
                Some(Value::Map(fields)) => Map::clone(fields),
                _ => Map::new(),
            };
            fields.insert(Arc::clone(&key.property), value.clone());
            self.set(ROOT_LAYER, Arc::clone(&key.name), Some(Value::Map(Arc::new(fields))));
            learnt = true;
        }
        if learnt {
            self.ask_again();
        }
    }

    /// Who waits for a message of the conversation waits for one that agrees.
    fn ask_again(&mut self) {
        let waits: Vec<(WaitId, Wait)> =
            self.instance.waits.iter().map(|(id, it)| (*id, it.clone())).collect();
        for (wait, Wait { token, slot, on }) in waits {
            let WaitFor::Message { name, correlation } = &*on else { continue };
            let mut agreed = correlation.clone();
            self.agreed(name, &mut agreed);
            if agreed.len() > correlation.len() {
                self.emit(Event::WaitClosed { wait });
                let name = Arc::clone(name);
                self.open(token, slot, WaitFor::Message { name, correlation: agreed });
            }
        }
    }
}

fn has(correlation: &Assignments, property: &Name) -> bool {
    correlation.iter().any(|(it, _)| it == property)
}
