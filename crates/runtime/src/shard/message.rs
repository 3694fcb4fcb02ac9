//! Messages and signals find those who wait for them.

use std::sync::Arc;

use travertine_expr::{Name, Value};
use travertine_kernel::{Assignments, Command, WaitFor, WaitId};
use travertine_store::{
    codec::record::{
        Consume, Dead, Delivery, Held, Letter, Message, Record, Shared, Subscription,
        SubscriptionKind,
    },
    view::{Change, Key, Table},
};

use super::{Shard, alarm::Alarm, apart::Apart, turn::Heard};
use crate::{Address, Error, Receipt, StartOn, Timestamp, message::INSTANCE};

/// How long a message for those who wait already is held, in milliseconds: as long as another shard may
/// need to say who does.
const HEARD_OF_BY: i64 = 60_000;

impl Shard {
    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires. One for all goes to all who wait and to the start events,
    /// and is kept for others until it expires. Only the shard that keeps its name may be asked.
    pub fn publish(&mut self, mut message: Message) -> Result<Receipt, Error> {
        self.definitions.correlate(&mut message);
        let now = self.now.as_millis();
        if let Some(id) = &message.id {
            let key = (Name::clone(&message.name), Name::clone(id));
            let known = self.known.get(&key).map(|number| self.known_until[number].1);
            if known.is_some_and(|until| now < until) || self.held.has(&key.0, &key.1) {
                return Ok(Receipt::Known);
            }
        }
        self.check_room(&message)?;
        if let Some(id) = &message.id {
            let key = (Name::clone(&message.name), Name::clone(id));
            let number = self.next_message();
            let until = now.saturating_add(self.settings.known_for.max(message.ttl.unwrap_or(0)));
            let (name, id) = (Name::clone(&key.0), Name::clone(&key.1));
            self.write(&[Record::Known { number, name, id, until }]);
            self.recognise(number, key, until);
        }
        Ok(self.route(message))
    }

    /// Refuses a message that would have to be held while too many are.
    fn check_room(&self, message: &Message) -> Result<(), Error> {
        let (count, most) = (self.held.count(&message.name), self.settings.pending_max);
        let stays = match consume(message) {
            Consume::All => true,
            Consume::One => {
                self.waiting.hear(message, None).next().is_none()
                    && self.start_for(message).is_none()
            }
        };
        if count < most || !stays || message.ttl.is_some_and(|it| it <= 0) {
            return Ok(());
        }
        let name = &message.name;
        let reason = format!(
            "{count} messages {name} are held already, and pending_max is {most}: start what receives them, \
             send them with a time to live, or allow more"
        );
        Err(Error::Busy { reason })
    }

    fn next_message(&mut self) -> u64 {
        self.counts.messages += 1;
        self.id().instance(self.counts.messages, self.shards)
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers. Only the
    /// shard that keeps its name may be asked.
    pub fn signal(&mut self, name: &Name, variables: &Assignments) {
        self.broadcast(name, variables, None);
    }

    /// Those who wait for messages and signals whose names it keeps.
    pub fn waiting(&self) -> impl Iterator<Item = &Subscription> {
        self.waiting.iter()
    }

    /// The messages that are held, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Messages that nobody has taken before they expired, by number.
    pub fn dead_letters(&self) -> impl Iterator<Item = &Held> {
        self.held.all_dead()
    }

    /// When a new message is dropped; for good where nothing is said.
    fn expiry(&self, message: &Message) -> Option<i64> {
        let ttl = match message.delivery {
            Delivery::AfterWait => Some(message.ttl.map_or(HEARD_OF_BY, |it| it.min(HEARD_OF_BY))),
            Delivery::AfterCreate | Delivery::All => message.ttl,
        };
        ttl.map(|ttl| self.now.as_millis().saturating_add(ttl))
    }

    /// Finds those who receive a new message.
    pub(super) fn route(&mut self, mut message: Message) -> Receipt {
        message.consume = consume(&message);
        let expires = self.expiry(&message);
        match message.consume {
            Consume::All => self.share(message, expires),
            Consume::One => self.give(message, self.now.as_millis(), expires, false),
        }
    }

    /// Finds the one receiver of a message, perhaps `again`, if whoever had it did not want it.
    pub(super) fn give(
        &mut self,
        message: Message,
        published: i64,
        expires: Option<i64>,
        again: bool,
    ) -> Receipt {
        let found = self.waiting.hear(&message, again.then_some(published)).next();
        if let Some(to) = found.map(|it| (it.instance, it.wait)) {
            self.forget(to);
            let letter = Letter::Deliver { to, message, published, expires, shared: None };
            self.send(self.shard_of(to.0), letter);
            return Receipt::Received(Address::new(to));
        }
        if let Some(start) = self.start_for(&message) {
            let variables = message.variables.clone();
            return self.trigger_start(start, variables).unwrap_or_else(|error| {
                self.bury_new(message, published, expires, &error.to_string());
                Receipt::Dropped
            });
        }
        let late = expires.is_some_and(|it| it <= self.now.as_millis());
        if late && !again {
            return Receipt::Dropped;
        }
        if late {
            // Its sender was told that someone has it.
            let reason = "whoever was to have it was gone, and then it had expired";
            self.bury_new(message, published, expires, reason);
            return Receipt::Dropped;
        }
        let number = self.next_message();
        let held = Held { number, message, published, expires, dead: None };
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
        Receipt::Held
    }

    /// Gives a new message to all who wait for it and to the start events that hear it, and keeps it for
    /// others.
    fn share(&mut self, message: Message, expires: Option<i64>) -> Receipt {
        let published = self.now.as_millis();
        let kept = expires.is_none_or(|it| published < it);
        let number = self.next_message();
        let receivers: Vec<Subscription> = self.waiting.hear(&message, None).cloned().collect();
        for it in &receivers {
            let to = (it.instance, it.wait);
            // One that is not kept cannot come again.
            let shared = kept.then(|| Shared { number, upto: self.held.had_upto(it, number) });
            self.forget(to);
            let letter =
                Letter::Deliver { to, message: message.clone(), published, expires, shared };
            self.send(self.shard_of(to.0), letter);
        }
        let mut received = receivers.len() as u64;
        for start in self.starts_for(&message) {
            let receipt = self.trigger_start_or_log(start, message.variables.clone());
            if let Some(Receipt::Started(id)) = receipt {
                received += 1;
                // It has not been held while the instance began, so nobody else can have told it.
                let live = &self.lives[&id.0];
                if kept && !live.has_ended() && live.halted.is_none() {
                    let heard = live.after_hearing(&message.name, Shared { number, upto: 0 });
                    self.learn(id.0, &[heard]);
                }
            }
        }
        if kept {
            let held = Held { number, message, published, expires, dead: None };
            self.write(&[Record::Held(held.clone())]);
            self.hold(held);
        }
        Receipt::Shared(received)
    }

    /// Keeps a message that nobody waits for, or nobody will.
    pub(super) fn hold(&mut self, held: Held) {
        let until = match &held.dead {
            // Nobody else knows of what was to be started.
            Some(_) if Apart::of(&held.message).is_some() => None,
            Some(dead) => Some(dead.at.saturating_add(self.settings.dead_for)),
            None => held.expires,
        };
        if let Some(until) = until {
            self.alarms.set(Timestamp::from_millis(until), Alarm::Message(held.number));
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
        } else if let Some(held) = self.let_go(number) {
            match (&held.dead, held.message.consume) {
                (None, Consume::One) => self.bury(held, "nobody has taken it before it expired"),
                (None, Consume::All) | (Some(_), _) => {
                    self.write(&[Record::Gone { message: number }]);
                }
            }
        }
    }

    /// Makes a dead letter of a message that is not held.
    pub(super) fn bury_new(
        &mut self,
        message: Message,
        published: i64,
        expires: Option<i64>,
        reason: &str,
    ) {
        let number = self.next_message();
        self.bury(Held { number, message, published, expires, dead: None }, reason);
    }

    /// Makes a dead letter of a message, where any are kept.
    pub(super) fn bury(&mut self, mut held: Held, reason: &str) {
        if self.settings.dead_for <= 0 && Apart::of(&held.message).is_none() {
            self.write(&[Record::Gone { message: held.number }]);
            return;
        }
        held.dead = Some(Dead { at: self.now.as_millis(), reason: reason.into() });
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
    }

    /// Publishes a dead letter again, with a new time to live; starts what it was to start.
    pub fn replay_message(&mut self, number: u64) -> Result<Receipt, Error> {
        let dead = self.held.dead(number).ok_or(Error::NoSuchDeadLetter(number))?;
        let message = dead.message.clone();
        if let Some(apart) = Apart::of(&message) {
            let started = self.try_apart(&apart)?;
            self.discard(number)?;
            return Ok(Receipt::Started(started));
        }
        self.check_room(&message)?;
        self.discard(number)?;
        Ok(self.route(message))
    }

    /// Drops a dead letter.
    pub fn discard(&mut self, number: u64) -> Result<(), Error> {
        if self.held.dead(number).is_none() {
            return Err(Error::NoSuchDeadLetter(number));
        }
        self.let_go(number);
        self.write(&[Record::Gone { message: number }]);
        Ok(())
    }

    /// A message is there for a wait.
    pub(super) fn deliver(&mut self, letter: Letter) {
        let Letter::Deliver { to, message, shared, .. } = &letter else { return };
        let (to, variables) = (*to, message.variables.clone());
        let live = self.live(to.0);
        let heard =
            (*shared).zip(live.ok()).map(|(it, live)| live.after_hearing(&message.name, it));
        let records: Vec<Record> = heard.into_iter().collect();
        let command = Command::Complete { wait: WaitId(to.1), variables };
        match self.tell_with_or_defer(to.0, command, records.clone(), &letter) {
            Heard::Yes => {}
            Heard::No => self.give_back(letter),
            Heard::TooMuch(why) => {
                if !records.is_empty() {
                    self.learn(to.0, &records);
                }
                self.listen_again(to);
                self.return_to_keeper(letter, &why);
            }
        }
    }

    /// A message cannot be taken by its receiver, and by no other.
    fn return_to_keeper(&mut self, letter: Letter, why: &str) {
        let Letter::Deliver { to, message, published, expires, shared, .. } = letter else {
            return;
        };
        let name = &message.name;
        tracing::error!(instance = to.0, %name, why, "a message is too much for its receiver");
        // One for all is among the messages still.
        if shared.is_none() {
            let reason = format!("instance {} waited for it, but {why}", to.0).into();
            let keeper = self.keeper(name);
            self.send(keeper, Letter::Bury { message, published, expires, reason });
        }
    }

    /// Something came that is too much for any instance. Whoever waits goes on waiting.
    fn listen_again(&mut self, to: (u64, u64)) {
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
            tracing::error!(
                instance = to.0,
                wait = to.1,
                why,
                "a signal is too much for its receiver"
            );
            self.listen_again(to);
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
        let heard = live.heard.get(name).filter(|_| kind == SubscriptionKind::Message);
        Some(Subscription {
            instance: id,
            wait: wait.0,
            kind,
            name: Name::clone(name),
            correlation,
            element: Name::clone(&live.definition.plan.node(node).name),
            since: live.at,
            place: 0,
            created: live.state.started.map_or(live.at, Timestamp::as_millis),
            after: heard.map_or(0, |it| it.after),
            had: heard.map_or_else(Vec::new, |it| it.had.clone()),
        })
    }

    /// Someone waits, unless what is waited for is here already.
    fn wait_or_take(&mut self, it: Subscription) {
        let now = self.now.as_millis();
        let found = match it.kind {
            SubscriptionKind::Message => self.held.find(&it, now).cloned(),
            SubscriptionKind::Signal => None,
        };
        let Some(Held { number, message, published, expires, .. }) = found else {
            self.remember(it);
            return;
        };
        let to = (it.instance, it.wait);
        let mut records = Vec::new();
        let shared = match message.consume {
            Consume::One => {
                self.let_go(number);
                records.push(Record::Gone { message: number });
                None
            }
            Consume::All => Some(Shared { number, upto: self.held.had_upto(&it, number) }),
        };
        if self.shard_of(to.0) != self.id() {
            records.push(Record::Unsubscribed { instance: to.0, wait: to.1 });
        }
        if !records.is_empty() {
            self.write(&records);
        }
        let letter = Letter::Deliver { to, message, published, expires, shared };
        self.send(self.shard_of(to.0), letter);
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

/// Who receives a message. One to an instance has one receiver.
fn consume(message: &Message) -> Consume {
    let is_to = |(name, value): &(Name, Value)| &**name == INSTANCE && !value.is_null();
    if message.correlation.iter().any(is_to) { Consume::One } else { message.consume }
}
