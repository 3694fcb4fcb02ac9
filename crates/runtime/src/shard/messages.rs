//! Who waits for messages, which messages are held, and which are recognised when they come again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use travertine_store::record::{self, Subscription};

use super::{
    alarm::{Alarm, Alarms},
    apart::Apart,
    guard::Undo,
    views::Views,
};
use crate::{
    Address, Timestamp,
    message::{Held, MessageKey, Waiting},
};

/// So many numbers are recorded ahead at most. After a restart they are passed over.
const AHEAD_MAX: u64 = 1_023;

/// Messages, and those who wait for them.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) waiting: Waiting,
    pub(super) held: Held,
    /// Messages that are recognised when they come again.
    known: BTreeMap<MessageKey, u64>,
    /// Messages that are recognised, by number, with until when.
    pub(super) known_until: BTreeMap<u64, (MessageKey, Timestamp)>,
    /// Those of them that have no row yet.
    pub(super) fresh_known: BTreeSet<u64>,
    /// Held messages and subscriptions that have no row yet.
    pub(super) fresh_held: BTreeSet<u64>,
    pub(super) fresh_waiting: BTreeSet<Address>,
    /// How many messages and signals have a number.
    pub(super) count: u64,
    /// How many the log tells of: so many are not given again, whatever happens.
    pub(super) recorded: u64,
    /// How many there were when the shard was opened.
    begun: u64,
    /// What one turn has changed.
    pub(super) undo: Undo<Changed>,
}

/// Something that one turn has changed.
#[derive(Debug)]
pub(super) enum Changed {
    /// Someone waits.
    Subscribed(Address),
    /// Someone does not wait any more, and perhaps had no row.
    Unsubscribed(Subscription, bool),
    /// Someone has taken a message that was held, and perhaps had no row.
    Taken(record::Held, bool),
}

impl Messages {
    /// None yet, after so many that there have been.
    pub(super) fn after(count: u64) -> Self {
        Self { count, recorded: count, begun: count, ..Self::default() }
    }

    /// The log tells of so many numbers.
    pub(super) fn numbered(&mut self, count: u64) {
        self.count = self.count.max(count);
        (self.recorded, self.begun) = (self.count, self.count);
    }

    /// The log tells of the number of this message.
    pub(super) fn record(&mut self, nth: u64) {
        self.recorded = self.recorded.max(nth);
    }

    /// Up to where numbers are to be recorded, where some were given that the log does not tell of: the more
    /// often that happens, the more of them at once.
    pub(super) fn unrecorded(&self) -> Option<u64> {
        let ahead = || (self.count - self.begun).saturating_sub(1).min(AHEAD_MAX);
        (self.count > self.recorded).then(|| self.count + ahead())
    }

    /// Keeps a message that nobody waits for, or nobody will. A dead letter is kept for that long.
    pub(super) fn hold(&mut self, held: record::Held, dead_for: Duration, alarms: &mut Alarms) {
        let until = match &held.dead {
            // Nobody else knows of what was to be started.
            Some(_) if Apart::of(&held.message).is_some() => None,
            Some(dead) => Some(dead.at.after(dead_for)),
            None => held.expires,
        };
        if let Some(until) = until {
            alarms.set(until, Alarm::Message(held.number));
        }
        self.fresh_held.insert(held.number);
        self.held.hold(held);
    }

    /// A held message is not held any more.
    pub(super) fn let_go(
        &mut self,
        number: u64,
        alarms: &mut Alarms,
        views: &mut Views,
    ) -> Option<record::Held> {
        let held = self.held.take(number)?;
        alarms.unset(Alarm::Message(number));
        let is_fresh = self.fresh_held.remove(&number);
        if !is_fresh {
            views.delete_message(number);
        }
        self.undo.note(|| Changed::Taken(held.clone(), is_fresh));
        Some(held)
    }

    /// A message will be recognised until then.
    pub(super) fn recognise(
        &mut self,
        number: u64,
        key: MessageKey,
        until: Timestamp,
        alarms: &mut Alarms,
    ) {
        alarms.set(until, Alarm::Message(number));
        self.fresh_known.insert(number);
        self.known.insert(key.clone(), number);
        self.known_until.insert(number, (key, until));
    }

    /// A message is not recognised any more. Says whether it was.
    pub(super) fn unrecognise(
        &mut self,
        number: u64,
        alarms: &mut Alarms,
        views: &mut Views,
    ) -> bool {
        let Some((key, _)) = self.known_until.remove(&number) else { return false };
        alarms.unset(Alarm::Message(number));
        if self.known.get(&key) == Some(&number) {
            self.known.remove(&key);
        }
        if !self.fresh_known.remove(&number) {
            views.delete_message(number);
        }
        true
    }

    /// The number under which messages of that key are recognised.
    pub(super) fn known(&self, key: &MessageKey) -> Option<u64> {
        self.known.get(key).copied()
    }

    /// Whether the same message has come before.
    pub(super) fn is_known(&self, key: &MessageKey, now: Timestamp) -> bool {
        let lasts = |key: &MessageKey| {
            let until = self.known.get(key).and_then(|it| self.known_until.get(it));
            until.is_some_and(|(_, until)| now < *until)
        };
        lasts(key) || lasts(&key.for_everybody()) || self.held.has(key)
    }

    /// Someone waits.
    pub(super) fn subscribe(&mut self, subscription: Subscription) {
        let address = subscription.address();
        self.undo.note(|| Changed::Subscribed(address));
        self.fresh_waiting.insert(address);
        self.waiting.add(subscription);
    }

    /// Someone does not wait any more.
    pub(super) fn unsubscribe(&mut self, address: Address, views: &mut Views) {
        let Some(removed) = self.waiting.remove(address) else { return };
        let is_fresh = self.fresh_waiting.remove(&address);
        if !is_fresh {
            views.delete_subscription(address);
        }
        self.undo.note(|| Changed::Unsubscribed(removed, is_fresh));
    }

    /// Takes back what one turn has changed.
    pub(super) fn roll_back(&mut self) {
        for changed in self.undo.take() {
            match changed {
                Changed::Subscribed(address) => {
                    self.waiting.remove(address);
                    self.fresh_waiting.remove(&address);
                }
                Changed::Unsubscribed(subscription, is_fresh) => {
                    if is_fresh {
                        self.fresh_waiting.insert(subscription.address());
                    }
                    self.waiting.add(subscription);
                }
                Changed::Taken(held, is_fresh) => {
                    if is_fresh {
                        self.fresh_held.insert(held.number);
                    }
                    self.held.hold(held);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> MessageKey {
        MessageKey { name: "paid".into(), receiver: "".into(), id: id.into() }
    }

    #[test]
    fn a_message_is_recognised_until_its_time_is_over() {
        let (mut messages, mut alarms, mut views) =
            (Messages::default(), Alarms::default(), Views::default());
        let at = Timestamp::from_millis;
        messages.recognise(4, key("a"), at(100), &mut alarms);
        assert!(messages.is_known(&key("a"), at(99)));
        assert!(!messages.is_known(&key("a"), at(100)));
        assert!(!messages.is_known(&key("b"), at(99)));
        assert!(messages.unrecognise(4, &mut alarms, &mut views));
        assert!(!messages.is_known(&key("a"), at(99)));
        assert!(alarms.next().is_none());
        assert!(views.rows.is_empty(), "what has no row needs none deleted");
    }

    #[test]
    fn a_newer_number_of_the_same_message_stays_recognised_when_the_older_one_goes() {
        let (mut messages, mut alarms, mut views) =
            (Messages::default(), Alarms::default(), Views::default());
        let at = Timestamp::from_millis;
        messages.recognise(4, key("a"), at(100), &mut alarms);
        messages.fresh_known.clear();
        messages.recognise(5, key("a"), at(200), &mut alarms);
        assert!(messages.unrecognise(4, &mut alarms, &mut views));
        assert_eq!(messages.known(&key("a")), Some(5));
        assert_eq!(views.rows.len(), 1);
    }
}
