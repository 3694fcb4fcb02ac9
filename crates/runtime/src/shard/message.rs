//! Messages and signals find those who wait for them.

use std::sync::Arc;

use travertine_expr::Name;
use travertine_kernel::{Assignments, Command, WaitFor, WaitId};
use travertine_store::{
    codec::record::{Held, Letter, Message, Record, Subscription, SubscriptionKind},
    view::{Change, Key, Table},
};

use super::{Shard, alarm::Alarm, turn::Heard};
use crate::{Address, Receipt, StartOn, Timestamp};

impl Shard {
    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires. Only the shard that keeps its name may be asked.
    pub fn publish(&mut self, mut message: Message) -> Receipt {
        self.definitions.correlate(&mut message);
        let now = self.now.as_millis();
        if let Some(id) = &message.id {
            let key = (Name::clone(&message.name), Name::clone(id));
            let known = self.known.get(&key).map(|number| self.known_until[number].1);
            if known.is_some_and(|until| now < until) || self.held.has(&key.0, &key.1) {
                return Receipt::Known;
            }
            self.counts.messages += 1;
            let number = self.id().instance(self.counts.messages, self.shards);
            let until = now.saturating_add(self.settings.known_for.max(message.ttl.unwrap_or(0)));
            let (name, id) = (Name::clone(&key.0), Name::clone(&key.1));
            self.write(&[Record::Known { number, name, id, until }]);
            self.recognise(number, key, until);
        }
        let expires = self.expiry(&message);
        self.route(message, expires)
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers. Only the
    /// shard that keeps its name may be asked.
    pub fn signal(&mut self, name: &Name, variables: &Assignments) {
        self.broadcast(name, variables, None);
    }

    /// The messages that are held, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// When a new message is dropped; for good where nothing is said.
    pub(super) fn expiry(&self, message: &Message) -> Option<i64> {
        message.ttl.map(|ttl| self.now.as_millis().saturating_add(ttl))
    }

    /// Finds the one receiver of a message. `expires` is when it is dropped, for one that was on
    /// its way before.
    pub(super) fn route(&mut self, message: Message, expires: Option<i64>) -> Receipt {
        let now = self.now.as_millis();
        if let Some(to) = self.waiting.find(&message) {
            self.forget(to);
            self.send(self.shard_of(to.0), Letter::Deliver { to, message, expires });
            return Receipt::Received(Address::new(to));
        }
        if let Some(start) = self.start_for(&message) {
            return self.trigger_start(start, message.variables);
        }
        if expires.is_some_and(|it| it <= now) {
            return Receipt::Dropped;
        }
        self.counts.messages += 1;
        let number = self.id().instance(self.counts.messages, self.shards);
        let held = Held { number, message, published: now, expires };
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
        Receipt::Held
    }

    /// Keeps a message that nobody waits for.
    pub(super) fn hold(&mut self, held: Held) {
        if let Some(expires) = held.expires {
            self.alarms.set(Timestamp::from_millis(expires), Alarm::Message(held.number));
        }
        self.fresh_messages.insert(held.number);
        self.held.hold(held);
    }

    /// A message will be recognised until then.
    pub(super) fn recognise(&mut self, number: u64, key: (Name, Name), until: i64) {
        self.alarms.set(Timestamp::from_millis(until), Alarm::Message(number));
        self.fresh_known.insert(number);
        self.known.insert(key.clone(), number);
        self.known_until.insert(number, (key, until));
    }

    /// A held message is not held any more.
    pub(super) fn let_go(&mut self, number: u64) -> Option<Held> {
        let held = self.held.take(number)?;
        self.alarms.unset(Alarm::Message(number));
        if !self.fresh_messages.remove(&number) {
            let key = Key { instance: number, number: 0, name: "".into() };
            self.rows.push(Change::Delete(Table::Messages, key));
        }
        Some(held)
    }

    pub(super) fn expire(&mut self, number: u64) {
        if let Some((key, _)) = self.known_until.remove(&number) {
            // After a crash its time is over again, so nobody need know.
            if self.known.get(&key) == Some(&number) {
                self.known.remove(&key);
            }
            if !self.fresh_known.remove(&number) {
                let key = Key { instance: number, number: 0, name: "".into() };
                self.rows.push(Change::Delete(Table::Messages, key));
            }
        } else if self.let_go(number).is_some() {
            self.write(&[Record::Gone { message: number }]);
        }
    }

    /// A message is there for a wait.
    pub(super) fn deliver(&mut self, to: (u64, u64), message: Message, expires: Option<i64>) {
        let variables = message.variables.clone();
        let letter = Letter::Deliver { to, message, expires };
        let command = Command::Complete { wait: WaitId(to.1), variables };
        match self.tell_or_defer(to.0, command, &letter) {
            Heard::Yes => {}
            Heard::No => self.give_back(letter),
            Heard::TooMuch(why) => self.listen_again(to, &why),
        }
    }

    /// Something came that is too much for any instance. Whoever waits goes on waiting.
    fn listen_again(&mut self, to: (u64, u64), why: &str) {
        tracing::error!(instance = to.0, wait = to.1, why, "what has come is dropped");
        let wait = WaitId(to.1);
        let on = self.lives[&to.0].state.waits.get(&wait).map(|it| Arc::clone(&it.on));
        if let Some(on) = on {
            self.subscribe(to.0, wait, &on);
        }
    }

    /// A signal is there for a wait.
    pub(super) fn signalled(&mut self, to: (u64, u64), variables: Assignments) {
        let letter = Letter::Signal { to, variables: variables.clone() };
        let command = Command::Complete { wait: WaitId(to.1), variables };
        if let Heard::TooMuch(why) = self.tell_or_defer(to.0, command, &letter) {
            self.listen_again(to, &why);
        }
    }

    /// Tells all that wait for a signal at this moment, except who sent it.
    pub(super) fn broadcast(&mut self, name: &Name, variables: &Assignments, from: Option<u64>) {
        for to in self.waiting.signal(name) {
            if Some(to.0) == from {
                continue;
            }
            self.forget(to);
            self.send(self.shard_of(to.0), Letter::Signal { to, variables: variables.clone() });
        }
        let wanted = |on: &StartOn| matches!(on, StartOn::Signal(it) if it == name);
        self.trigger_starts(|_, on| wanted(on), variables);
    }

    /// A wait for messages or signals begins.
    pub(super) fn subscribe(&mut self, id: u64, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = self.subscription(id, wait, on) else { return };
        let keeper = self.keeper(&subscription.name);
        if keeper == self.id() {
            self.wait_or_take(subscription);
        } else {
            let live = self.lives.get_mut(&id).expect("it was here a moment ago");
            live.subscribed.insert(wait, keeper);
            self.send(keeper, Letter::Subscribe(subscription));
        }
    }

    /// The same, after the log was read: nobody is told and nothing is taken.
    pub(super) fn subscribe_again(&mut self, id: u64, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = self.subscription(id, wait, on) else { return };
        if self.keeper(&subscription.name) == self.id() {
            self.remember(subscription);
        }
    }

    fn subscription(&self, id: u64, wait: WaitId, on: &WaitFor) -> Option<Subscription> {
        let live = &self.lives[&id];
        let (kind, name, correlation) = match on {
            WaitFor::Message { name, correlation } => {
                (SubscriptionKind::Message, name, correlation.clone())
            }
            WaitFor::Signal { name } => (SubscriptionKind::Signal, name, Vec::new()),
            WaitFor::Work(_)
            | WaitFor::Timer { .. }
            | WaitFor::Condition
            | WaitFor::Data { .. }
            | WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice => return None,
        };
        let token = live.state.waits.get(&wait)?.token;
        let node = live.state.tokens[&token].node;
        Some(Subscription {
            instance: id,
            wait: wait.0,
            kind,
            name: Name::clone(name),
            correlation,
            element: Name::clone(&live.definition.plan.node(node).name),
            since: live.at,
            place: 0,
        })
    }

    /// Someone waits, unless what is waited for is here already.
    fn wait_or_take(&mut self, it: Subscription) {
        let now = self.now.as_millis();
        let found = (it.kind == SubscriptionKind::Message)
            .then(|| self.held.find(&it.name, &it.correlation, now).map(|it| it.number))
            .flatten();
        if let Some(held) = found.and_then(|number| self.let_go(number)) {
            let to = (it.instance, it.wait);
            let mut records = vec![Record::Gone { message: held.number }];
            if self.shard_of(to.0) != self.id() {
                records.push(Record::Unsubscribed { instance: to.0, wait: to.1 });
            }
            self.write(&records);
            let (message, expires) = (held.message, held.expires);
            self.send(self.shard_of(to.0), Letter::Deliver { to, message, expires });
        } else {
            self.remember(it);
        }
    }

    /// Someone waits.
    pub(super) fn remember(&mut self, subscription: Subscription) {
        self.fresh_subscriptions.insert((subscription.instance, subscription.wait));
        self.waiting.add(subscription);
    }

    /// Someone does not wait any more.
    pub(super) fn forget(&mut self, address: (u64, u64)) {
        self.forget_silently(address);
        if self.shard_of(address.0) != self.id() {
            let (instance, wait) = address;
            self.write(&[Record::Unsubscribed { instance, wait }]);
        }
    }

    /// The same, where the log says so already.
    pub(super) fn forget_silently(&mut self, address: (u64, u64)) {
        if self.waiting.remove(address).is_some() && !self.fresh_subscriptions.remove(&address) {
            let key = Key { instance: address.0, number: address.1, name: "".into() };
            self.rows.push(Change::Delete(Table::Subscriptions, key));
        }
    }

    /// A wait for messages or signals is over, if it was one.
    pub(super) fn unsubscribe(&mut self, id: u64, wait: WaitId) {
        let live = self.lives.get_mut(&id).expect("it has just asked");
        if let Some(keeper) = live.subscribed.remove(&wait) {
            self.send(keeper, Letter::Unsubscribe { instance: id, wait: wait.0 });
        } else {
            self.forget((id, wait.0));
        }
    }

    /// An instance of another shard waits.
    pub(super) fn subscribe_remote(&mut self, subscription: Subscription) {
        self.write(&[Record::Subscribed(subscription.clone())]);
        self.wait_or_take(subscription);
    }

    /// An instance of another shard does not wait any more.
    pub(super) fn unsubscribe_remote(&mut self, address: (u64, u64)) {
        if self.waiting.get(address).is_some() {
            self.forget(address);
        }
    }
}
