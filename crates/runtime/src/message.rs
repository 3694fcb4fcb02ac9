//! Messages and signals: who waits for which, and what is held for those who do not wait yet.

use std::collections::BTreeMap;

use travertine_expr::{Name, Value};
use travertine_kernel::Assignments;

use crate::{
    Timestamp,
    sandbox::{Address, InstanceId},
};

/// A message on its way to one receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its name.
    pub name: Name,
    /// Named properties that must match where both sides define them.
    pub correlation: Assignments,
    /// What it brings.
    pub variables: Assignments,
    /// How long it is held for a receiver that does not wait yet; for good where nothing is said.
    pub ttl_ms: Option<i64>,
}

impl Message {
    /// A message of that name that brings nothing and is held for good.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), correlation: Vec::new(), variables: Vec::new(), ttl_ms: None }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// A token had waited for it.
    Received(Address),
    /// It has started an instance.
    Started(InstanceId),
    /// It is one of several triggers of a start event that needs them all.
    Noted,
    /// Nobody waits for it yet.
    Held,
    /// Nobody waits for it, and it is not to be held.
    Dropped,
}

/// Whether two sides mean the same thing: every property that both define is equal.
pub fn correlates(one: &[(Name, Value)], other: &[(Name, Value)]) -> bool {
    one.iter().all(|(name, value)| {
        let theirs = other.iter().find(|(it, _)| it == name).map(|(_, value)| value);
        value.is_null() || theirs.is_none_or(|it| it.is_null() || it == value)
    })
}

/// Those who wait for something of a name, in the order in which they began to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    by_name: BTreeMap<Name, BTreeMap<u64, (Address, Assignments)>>,
    places: BTreeMap<Address, (Name, u64)>,
    begun: u64,
}

impl Waiting {
    pub(crate) fn add(&mut self, address: Address, name: &Name, correlation: &Assignments) {
        self.remove(address);
        self.begun += 1;
        let queue = self.by_name.entry(Name::clone(name)).or_default();
        queue.insert(self.begun, (address, correlation.clone()));
        self.places.insert(address, (Name::clone(name), self.begun));
    }

    pub(crate) fn remove(&mut self, address: Address) {
        let Some((name, order)) = self.places.remove(&address) else { return };
        let queue = self.by_name.get_mut(&name).expect("a place is in a queue");
        queue.remove(&order);
        if queue.is_empty() {
            self.by_name.remove(&name);
        }
    }

    /// Takes the first who waits for this.
    pub(crate) fn take(&mut self, name: &str, correlation: &Assignments) -> Option<Address> {
        let queue = self.by_name.get(name)?;
        let mut matching = queue.values().filter(|(_, it)| correlates(it, correlation));
        let address = matching.next()?.0;
        self.remove(address);
        Some(address)
    }

    /// All who wait for this name.
    pub(crate) fn all(&self, name: &str) -> Vec<Address> {
        self.by_name.get(name).into_iter().flat_map(BTreeMap::values).map(|it| it.0).collect()
    }
}

/// Messages that nobody has waited for yet, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    messages: Vec<(Message, Option<Timestamp>)>,
}

impl Held {
    pub(crate) fn hold(&mut self, message: Message, now: Timestamp) {
        let until = message.ttl_ms.map(|ttl| now.after_millis(ttl));
        self.messages.push((message, until));
    }

    /// Drops what has expired.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        self.messages.retain(|(_, until)| until.is_none_or(|it| now < it));
    }

    /// Takes the oldest message that matches.
    pub(crate) fn take(
        &mut self,
        name: &str,
        correlation: &Assignments,
        now: Timestamp,
    ) -> Option<Message> {
        self.expire(now);
        let matches = |it: &Message| &*it.name == name && correlates(&it.correlation, correlation);
        let position = self.messages.iter().position(|(it, _)| matches(it))?;
        Some(self.messages.remove(position).0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().map(|(it, _)| it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn pairs(all: &[(&str, Value)]) -> Assignments {
        all.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    }

    #[test]
    fn only_values_that_both_sides_define_must_be_equal() {
        let wanted = pairs(&[("order", 7.into()), ("shop", Value::Null)]);
        assert!(correlates(&wanted, &pairs(&[("order", 7.into()), ("shop", "x".into())])));
        assert!(correlates(&wanted, &pairs(&[("colour", "red".into())])));
        assert!(correlates(&wanted, &pairs(&[("order", Value::Null)])));
        assert!(!correlates(&wanted, &pairs(&[("order", 8.into())])));
    }

    #[test]
    fn an_expired_message_is_not_taken() {
        let mut held = Held::default();
        held.hold(Message { ttl_ms: Some(10), ..Message::new("paid") }, at(100));
        held.hold(Message::new("paid"), at(100));
        assert_eq!(held.clone().take("paid", &Vec::new(), at(109)).unwrap().ttl_ms, Some(10));
        assert_eq!(held.take("paid", &Vec::new(), at(110)).unwrap().ttl_ms, None);
        assert_eq!(held.take("paid", &Vec::new(), at(110)), None);
    }
}
