//! Messages and signals: who waits for which, and what is held for those who do not wait yet.

use std::collections::{BTreeMap, HashMap};

use travertine_expr::{Name, Value};
use travertine_kernel::plan::TO;
use travertine_store::codec::record::{Held as HeldMessage, Subscription, SubscriptionKind};

use crate::{Address, InstanceId};

pub use travertine_store::codec::record::Message;

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
    /// The same message has come before.
    Known,
}

/// Whether a receiver and a message mean the same thing: every property that both define is equal,
/// and where message flows say who gets it, they lead to this receiver.
pub fn correlates(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let agrees = receiver.iter().filter(|(name, _)| &**name != TO).all(|(name, value)| {
        let theirs = property(message, name);
        value.is_null() || theirs.is_none_or(|it| it.is_null() || it == value)
    });
    agrees && leads_to(receiver, message)
}

/// Whether a message goes to a receiver, by the flows that it is sent along.
fn leads_to(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let ends = |side| property(side, TO).and_then(Value::as_list);
    let Some(to) = ends(message) else { return true };
    ends(receiver).is_some_and(|it| it.iter().any(|end| to.contains(end)))
}

fn property<'a>(side: &'a [(Name, Value)], name: &str) -> Option<&'a Value> {
    side.iter().find(|(it, _)| &**it == name).map(|(_, value)| value)
}

/// Those who wait for something of a name, in the order in which they began to.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    by_name: BTreeMap<(SubscriptionKind, Name), BTreeMap<u64, Subscription>>,
    places: HashMap<(u64, u64), (SubscriptionKind, Name, u64)>,
    begun: u64,
}

impl Waiting {
    /// Someone waits: last of all, unless a place was given before.
    pub(crate) fn add(&mut self, mut it: Subscription) {
        self.remove((it.instance, it.wait));
        if it.place == 0 {
            it.place = self.begun + 1;
        }
        self.begun = self.begun.max(it.place);
        let place = (it.kind, Name::clone(&it.name), it.place);
        self.places.insert((it.instance, it.wait), place);
        let queue = self.by_name.entry((it.kind, Name::clone(&it.name))).or_default();
        queue.insert(it.place, it);
    }

    pub(crate) fn remove(&mut self, address: (u64, u64)) -> Option<Subscription> {
        let (kind, name, order) = self.places.remove(&address)?;
        let key = (kind, name);
        let queue = self.by_name.get_mut(&key).expect("a place is in a queue");
        let removed = queue.remove(&order);
        if queue.is_empty() {
            self.by_name.remove(&key);
        }
        removed
    }

    /// The one who has waited longest for a message that matches.
    pub(crate) fn find(&self, message: &Message) -> Option<(u64, u64)> {
        let queue = self.by_name.get(&(SubscriptionKind::Message, Name::clone(&message.name)))?;
        let wanted = |it: &&Subscription| correlates(&it.correlation, &message.correlation);
        queue.values().find(wanted).map(|it| (it.instance, it.wait))
    }

    /// All who wait for signals of this name.
    pub(crate) fn signal(&self, name: &Name) -> Vec<(u64, u64)> {
        let queue = self.by_name.get(&(SubscriptionKind::Signal, Name::clone(name)));
        queue.into_iter().flat_map(BTreeMap::values).map(|it| (it.instance, it.wait)).collect()
    }

    pub(crate) fn get(&self, address: (u64, u64)) -> Option<&Subscription> {
        let (kind, name, order) = self.places.get(&address)?;
        self.by_name.get(&(*kind, Name::clone(name)))?.get(order)
    }

    /// The waits of one instance.
    pub(crate) fn of(&self, instance: u64) -> Vec<(u64, u64)> {
        let waits = self.iter().filter(|it| it.instance == instance);
        waits.map(|it| (it.instance, it.wait)).collect()
    }

    /// All of them, by name in the order in which they began to wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.by_name.values().flat_map(BTreeMap::values)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Messages that nobody has waited for yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held {
    messages: BTreeMap<u64, HeldMessage>,
    by_name: BTreeMap<Name, Vec<u64>>,
}

impl Held {
    pub(crate) fn hold(&mut self, held: HeldMessage) {
        self.by_name.entry(Name::clone(&held.message.name)).or_default().push(held.number);
        self.messages.insert(held.number, held);
    }

    /// The oldest message that matches.
    pub(crate) fn find(
        &self,
        name: &Name,
        correlation: &[(Name, Value)],
        now: i64,
    ) -> Option<&HeldMessage> {
        let numbers = self.by_name.get(name)?;
        numbers.iter().map(|it| &self.messages[it]).find(|it| {
            it.expires.is_none_or(|until| now < until)
                && correlates(correlation, &it.message.correlation)
        })
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<HeldMessage> {
        let held = self.messages.remove(&number)?;
        let queue = self.by_name.get_mut(&held.message.name).expect("it is held by name");
        queue.retain(|it| *it != number);
        if queue.is_empty() {
            self.by_name.remove(&held.message.name);
        }
        Some(held)
    }

    /// Whether a message of that name is held that its sender calls so.
    pub(crate) fn has(&self, name: &Name, id: &Name) -> bool {
        let numbers = self.by_name.get(name).into_iter().flatten();
        let mut ids = numbers.map(|it| self.messages[it].message.id.as_ref());
        ids.any(|it| it == Some(id))
    }

    pub(crate) fn get(&self, number: u64) -> Option<&HeldMessage> {
        self.messages.get(&number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldMessage> {
        self.messages.values()
    }
}
