//! Messages and signals find those who wait for them.

use std::{collections::BTreeSet, sync::Arc};

use travertine_kernel::{Assignments, Command, View, WaitFor, WaitId, plan::Correlation};
use travertine_store::codec::record::{
    Consume, Dead, Delivery, Held, Letter, Message, Record, Shared, Subscription, SubscriptionKind,
};
use travertine_value::{Name, Variables as _};

use super::{Live, Shard, apart::Apart, guard::Heard};
use crate::{
    Address, Error, InstanceId, Receipt, SignalReceipt, StartOn, Timestamp,
    message::{
        BY_VARIABLES, INSTANCE, MessageKey, address, has_all, is_addressed, variables_wanted,
    },
};

/// How long a message for those who wait already is held, in milliseconds: as long as another shard may
/// need to say who does.
const HEARD_OF_BY: i64 = 60_000;

/// Whose variables were looked at for a message, and who of them has those that it wants. Others whose
/// variables count are asked, and have it when they have answered.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// Whose were looked at.
    pub at: BTreeSet<(u64, u64)>,
    /// Who of them has them.
    pub agreeing: BTreeSet<(u64, u64)>,
}

/// How far a message has come.
#[derive(Debug)]
pub enum Publishing {
    /// This has become of it.
    Done(Receipt),
    /// Whether it is for them depends on variables that other shards have.
    Look(Box<Message>, Vec<Candidate>),
}

/// Who may receive a message: a wait, and the variables that it must see for that.
pub type Candidate = ((u64, u64), Assignments);

impl Shard {
    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires. One for all goes to all who wait and to the start events,
    /// and is kept for others until it expires. Only the shard that keeps its name may be asked. Where it
    /// depends on variables of other shards, it is held until they have answered.
    pub fn publish(&mut self, message: Message) -> Result<Receipt, Error> {
        match self.begin_publishing(message)? {
            Publishing::Done(receipt) => Ok(receipt),
            Publishing::Look(message, _) => self.publish_new(*message, &Looked::default()),
        }
    }

    /// The same, unless variables of other shards must be looked at first.
    pub(crate) fn begin_publishing(&mut self, mut message: Message) -> Result<Publishing, Error> {
        // Who waits may have said so in what is left to do.
        self.settle();
        self.env.definitions.correlate(&mut message);
        if self.is_known(&message) {
            return Ok(Publishing::Done(Receipt::Known));
        }
        let candidates = self.candidates(&message);
        match self.look_here(&candidates) {
            Some(looked) => self.publish_new(message, &looked).map(Publishing::Done),
            None => Ok(Publishing::Look(Box::new(message), candidates)),
        }
    }

    /// The same, once variables were looked at.
    pub(crate) fn finish_publishing(
        &mut self,
        message: Message,
        looked: &Looked,
    ) -> Result<Receipt, Error> {
        if self.is_known(&message) {
            return Ok(Receipt::Known);
        }
        self.publish_new(message, looked)
    }

    /// Those who have a message if they have the right variables.
    fn candidates(&self, message: &Message) -> Vec<Candidate> {
        let all = self.messages.waiting.hear(message, None).map(|it| {
            ((it.instance, it.wait), variables_wanted(&it.correlation, &message.correlation))
        });
        match consume(message) {
            // Whoever comes after one whose variables do not count does not get it.
            Consume::One => all.take_while(|(_, it)| !it.is_empty()).collect(),
            Consume::All => all.filter(|(_, it)| !it.is_empty()).collect(),
        }
    }

    /// Looks at the variables of all candidates, if they are all here.
    fn look_here(&mut self, candidates: &[Candidate]) -> Option<Looked> {
        let mut at = candidates.iter().map(|(of, _)| *of);
        if !at.clone().all(|(instance, _)| self.shard_of(instance) == self.id()) {
            return None;
        }
        let at = at.by_ref().collect();
        Some(Looked { at, agreeing: self.agreeing(candidates).into_iter().collect() })
    }

    /// Those of this shard who see the variables that a message wants.
    pub(crate) fn agreeing(&mut self, candidates: &[Candidate]) -> Vec<(u64, u64)> {
        let mut agreeing = Vec::new();
        for (of, wanted) in candidates {
            let names = wanted.iter().map(|(name, _)| name);
            if self.seen_by(*of, names).is_some_and(|(_, seen)| has_all(&seen, wanted)) {
                agreeing.push(*of);
            }
        }
        // Looking has brought them into memory.
        self.evict();
        agreeing
    }

    /// Which of these variables a wait for messages sees, and for what it waits.
    fn seen_by<'a>(
        &mut self,
        (instance, wait): (u64, u64),
        names: impl Iterator<Item = &'a Name>,
    ) -> Option<(Name, Assignments)> {
        let live = self.live(instance).ok()?;
        let open = live.state.waits.get(&WaitId(wait))?;
        let WaitFor::Message { name, .. } = &*open.on else { return None };
        let view = View::new(&live.definition.plan, &live.state, open.token);
        let seen = names.filter_map(|it| Some((Name::clone(it), view.get(it)?)));
        Some((Name::clone(name), seen.collect()))
    }

    /// Whether the same message has come before.
    fn is_known(&self, message: &Message) -> bool {
        let Some(key) = MessageKey::of(message) else { return false };
        self.messages.is_known(&key, self.now)
    }

    /// Publishes a message that has not come before.
    fn publish_new(&mut self, message: Message, looked: &Looked) -> Result<Receipt, Error> {
        self.check_one(&message, looked)?;
        self.check_room(&message, looked)?;
        let key = MessageKey::of(&message);
        let dead = key.as_ref().map_or_else(Vec::new, |it| self.messages.held.dead_with(it));
        let until = self.env.settings.known_for.max(message.ttl.unwrap_or(0));
        let numbered = self.messages.count;
        let receipt = self.route(message, looked);
        let Some(key) = key else { return Ok(receipt) };
        if receipt != Receipt::Dropped {
            let number = self.next_message();
            let until = self.now.as_millis().saturating_add(until);
            let MessageKey { name, receiver, id } = key.clone();
            self.write(&[Record::Recognised { number, name, receiver, id, until }]);
            self.recognise(number, key, until);
        } else if self.messages.count == numbered {
            // Nothing is left of it, so whoever sends it again sends it for the first time.
            return Ok(receipt);
        }
        // This one stands for those that nobody has received.
        for number in dead {
            self.discard(number)?;
        }
        Ok(receipt)
    }

    /// Refuses a message to one instance that several could receive.
    fn check_one(&self, message: &Message, looked: &Looked) -> Result<(), Error> {
        if !is_addressed(message) {
            return Ok(());
        }
        let all = self.messages.waiting.hear(message, None);
        let instances: BTreeSet<InstanceId> = all
            .filter(|it| has_variables(it, message, looked))
            .map(|it| InstanceId(it.instance))
            .collect();
        if instances.len() < 2 {
            return Ok(());
        }
        let (message, instances) = (Name::clone(&message.name), instances.into_iter().collect());
        Err(Error::SeveralReceivers { message, instances })
    }

    /// Refuses a message that would have to be held while too many are.
    fn check_room(&self, message: &Message, looked: &Looked) -> Result<(), Error> {
        let (count, most) =
            (self.messages.held.count(&message.name), self.env.settings.pending_max);
        let stays = match consume(message) {
            Consume::All => true,
            Consume::One => {
                let mut all = self.messages.waiting.hear(message, None);
                !all.any(|it| has_variables(it, message, looked))
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
        self.messages.count += 1;
        self.id().instance(self.messages.count, self.env.shards)
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers. Only the
    /// shard that keeps its name may be asked.
    pub fn signal(&mut self, name: &Name, variables: &Assignments) -> SignalReceipt {
        self.broadcast(name, variables, None)
    }

    /// Those who wait for messages and signals whose names it keeps.
    pub fn waiting(&self) -> impl Iterator<Item = &Subscription> {
        self.messages.waiting.iter()
    }

    /// The messages that are held, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        self.messages.held.iter()
    }

    /// Messages that nobody has taken before they expired, by number.
    pub fn dead_letters(&self) -> impl Iterator<Item = &Held> {
        self.messages.held.all_dead()
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
    pub(super) fn route(&mut self, mut message: Message, looked: &Looked) -> Receipt {
        message.consume = consume(&message);
        let expires = self.expiry(&message);
        match message.consume {
            Consume::All => self.share(message, expires, looked),
            Consume::One => self.give(message, self.now.as_millis(), expires, false, looked),
        }
    }

    /// Finds the one receiver of a message, perhaps `again`, if whoever had it did not want it.
    pub(super) fn give(
        &mut self,
        message: Message,
        published: i64,
        expires: Option<i64>,
        again: bool,
        looked: &Looked,
    ) -> Receipt {
        let found = {
            let mut all = self.messages.waiting.hear(&message, again.then_some(published));
            all.find(|it| has_variables(it, &message, looked)).map(|it| (it.instance, it.wait))
        };
        if let Some(to) = found {
            let message = address(message, to.0);
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
        let mut asked = self.candidates(&message);
        asked.retain(|(of, _)| !looked.at.contains(of));
        let number = self.next_message();
        let held = Held { number, message, published, expires, dead: None };
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
        for (of, wanted) in asked {
            let names = wanted.into_iter().map(|(name, _)| name).collect();
            self.send(self.shard_of(of.0), Letter::AskVariables { of, names });
        }
        Receipt::Held
    }

    /// Gives a new message to all who wait for it and to the start events that hear it, and keeps it for
    /// others.
    fn share(&mut self, message: Message, expires: Option<i64>, looked: &Looked) -> Receipt {
        let published = self.now.as_millis();
        let kept = expires.is_none_or(|it| published < it);
        let number = self.next_message();
        let all = self.messages.waiting.hear(&message, None);
        let receivers: Vec<Subscription> =
            all.filter(|it| has_variables(it, &message, looked)).cloned().collect();
        for it in &receivers {
            let to = (it.instance, it.wait);
            // One that is not kept cannot come again.
            let shared =
                kept.then(|| Shared { number, upto: self.messages.held.had_upto(it, number) });
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
                self.with_any(id.0, |shard, live| {
                    if kept && !live.has_ended() && live.halted.is_none() {
                        let heard = live.after_hearing(&message.name, Shared { number, upto: 0 });
                        shard.learn(live, &[heard]);
                    }
                });
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
        self.messages.hold(held, self.env.settings.dead_for, &mut self.alarms);
    }

    /// A message will be recognised until then.
    pub(super) fn recognise(&mut self, number: u64, key: MessageKey, until: i64) {
        self.messages.recognise(number, key, until, &mut self.alarms);
    }

    /// A held message is not held any more.
    pub(super) fn let_go(&mut self, number: u64) -> Option<Held> {
        self.messages.let_go(number, &mut self.alarms, &mut self.views)
    }

    /// A message is not recognised any more. Says whether it was.
    pub(super) fn unrecognise(&mut self, number: u64) -> bool {
        self.messages.unrecognise(number, &mut self.alarms, &mut self.views)
    }

    pub(super) fn expire(&mut self, number: u64) {
        if self.unrecognise(number) {
            // After a crash its time is over again, so nobody need know.
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
        // Nobody has received it, so it may be sent again.
        let known = MessageKey::of(&held.message).and_then(|it| self.messages.known(&it));
        if let Some(number) = known {
            self.unrecognise(number);
            self.write(&[Record::Gone { message: number }]);
        }
        if self.env.settings.dead_for <= 0 && Apart::of(&held.message).is_none() {
            self.write(&[Record::Gone { message: held.number }]);
            return;
        }
        held.dead = Some(Dead { at: self.now.as_millis(), reason: reason.into() });
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
    }

    /// Publishes a dead letter again, with a new time to live; starts what it was to start.
    pub fn replay_message(&mut self, number: u64) -> Result<Receipt, Error> {
        let dead = self.messages.held.dead(number).ok_or(Error::NoSuchDeadLetter(number))?;
        let message = dead.message.clone();
        if let Some(apart) = Apart::of(&message) {
            let started = self.try_apart(&apart)?;
            self.discard(number)?;
            return Ok(Receipt::Started(started));
        }
        let candidates = self.candidates(&message);
        let looked = self.look_here(&candidates).unwrap_or_default();
        let numbered = self.messages.count;
        let receipt = self.publish_new(message, &looked)?;
        let is_kept = receipt != Receipt::Dropped || self.messages.count > numbered;
        if is_kept && self.messages.held.dead(number).is_some() {
            self.discard(number)?;
        }
        Ok(receipt)
    }

    /// Drops a dead letter.
    pub fn discard(&mut self, number: u64) -> Result<(), Error> {
        if self.messages.held.dead(number).is_none() {
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
        let wait = WaitId(to.1);
        let heard = |live: &Live| -> Vec<Record> {
            shared.iter().map(|it| live.after_hearing(&message.name, *it)).collect()
        };
        let told = self.tell_or_defer(to.0, &letter, |shard, live| {
            let records = heard(live);
            shard.turn_with(live, Command::Complete { wait, variables }, records)
        });
        match told {
            Heard::Yes => {}
            Heard::No => self.give_back(letter),
            Heard::TooMuch(why) => {
                self.with_any(to.0, |shard, live| {
                    let records = heard(live);
                    if !records.is_empty() {
                        shard.learn(live, &records);
                    }
                    shard.listen_again(live, wait);
                });
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
    fn listen_again(&mut self, live: &mut Live, wait: WaitId) {
        let on = live.state.waits.get(&wait).map(|it| Arc::clone(&it.on));
        if let Some(on) = on {
            self.subscribe(live, wait, &on);
        }
    }

    /// A signal is there for a wait.
    pub(super) fn signalled(&mut self, to: (u64, u64), variables: Assignments) {
        let letter = Letter::Signal { to, variables: variables.clone() };
        let wait = WaitId(to.1);
        let command = Command::Complete { wait, variables };
        let heard = self.tell_or_defer(to.0, &letter, |shard, live| shard.turn(live, command));
        if let Heard::TooMuch(why) = heard {
            tracing::error!(
                instance = to.0,
                wait = to.1,
                why,
                "a signal is too much for its receiver"
            );
            self.with_any(to.0, |shard, live| shard.listen_again(live, wait));
        }
    }

    /// Tells all that wait for a signal at this moment, except who sent it.
    pub(super) fn broadcast(
        &mut self,
        name: &Name,
        variables: &Assignments,
        from: Option<u64>,
    ) -> SignalReceipt {
        let mut received = 0;
        for to in self.messages.waiting.signal(name) {
            if Some(to.0) == from {
                continue;
            }
            received += 1;
            self.forget(to);
            self.send(self.shard_of(to.0), Letter::Signal { to, variables: variables.clone() });
        }
        let wanted = |on: &StartOn| matches!(on, StartOn::Signal(it) if it == name);
        let started = self.trigger_starts(|_, on| wanted(on), variables).len() as u64;
        SignalReceipt { received, started }
    }

    /// A wait for messages or signals begins.
    pub(super) fn subscribe(&mut self, live: &mut Live, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = live.subscription(wait, on) else { return };
        let keeper = self.keeper(&subscription.name);
        if keeper == self.id() {
            self.wait_or_take(subscription);
        } else {
            live.subscribed.insert(wait, keeper);
            self.send(keeper, Letter::Subscribe(subscription));
        }
    }

    /// The same, after the log was read: nobody is told and nothing is taken.
    pub(super) fn subscribe_again(&mut self, live: &Live, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = live.subscription(wait, on) else { return };
        if self.keeper(&subscription.name) == self.id() {
            self.messages.subscribe(subscription);
        }
    }

    /// Someone waits, unless what is waited for is here already.
    fn wait_or_take(&mut self, it: Subscription) {
        if it.kind == SubscriptionKind::Signal {
            self.messages.subscribe(it);
            return;
        }
        if self.take(&it, &Vec::new()) {
            return;
        }
        let names = self.messages.held.variables_asked(&it, self.now.as_millis());
        let of = (it.instance, it.wait);
        self.messages.subscribe(it);
        if !names.is_empty() {
            let names = names.into_iter().collect();
            self.send(self.shard_of(of.0), Letter::AskVariables { of, names });
        }
    }

    /// The shard that finds receivers wants to know what a wait sees.
    pub(super) fn tell_variables(&mut self, of: (u64, u64), names: &[Name]) {
        let Some((name, values)) = self.seen_by(of, names.iter()) else { return };
        self.send(self.keeper(&name), Letter::Variables { of, values });
    }

    /// Some variables of a wait are known now, and so perhaps which message is for it.
    pub(super) fn variables_told(&mut self, of: (u64, u64), values: &Assignments) {
        let Some(it) = self.messages.waiting.get(of).cloned() else { return };
        if self.take(&it, values) {
            self.forget_silently(of);
        }
    }

    /// Takes the oldest message that is held for a wait, some of whose variables are known. Says whether
    /// there is one.
    fn take(&mut self, it: &Subscription, variables: &Assignments) -> bool {
        let now = self.now.as_millis();
        let Some(held) = self.messages.held.find(it, variables, now).cloned() else { return false };
        let Held { number, message, published, expires, .. } = held;
        let to = (it.instance, it.wait);
        let mut records = Vec::new();
        let shared = match message.consume {
            Consume::One => {
                self.let_go(number);
                records.push(Record::Gone { message: number });
                None
            }
            Consume::All => Some(Shared { number, upto: self.messages.held.had_upto(it, number) }),
        };
        if self.shard_of(to.0) != self.id() {
            records.push(Record::Unsubscribed { instance: to.0, wait: to.1 });
        }
        if !records.is_empty() {
            self.write(&records);
        }
        let message = address(message, to.0);
        let letter = Letter::Deliver { to, message, published, expires, shared };
        self.send(self.shard_of(to.0), letter);
        true
    }

    /// Someone does not wait any more.
    pub(super) fn forget(&mut self, address: (u64, u64)) {
        self.forget_silently(address);
        if self.shard_of(address.0) != self.id() {
            let (instance, wait) = address;
            self.write(&[Record::Unsubscribed { instance, wait }]);
        }
    }

    /// Someone does not wait any more, and the log says so already.
    pub(super) fn forget_silently(&mut self, address: (u64, u64)) {
        self.messages.unsubscribe(address, &mut self.views);
    }

    /// A wait for messages or signals is over, if it was one.
    pub(super) fn unsubscribe(&mut self, live: &mut Live, wait: WaitId) {
        let id = live.id.0;
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
        if self.messages.waiting.get(address).is_some() {
            self.forget(address);
        }
    }
}

/// Who receives a message. One to an instance has one receiver.
fn consume(message: &Message) -> Consume {
    if is_addressed(message) { Consume::One } else { message.consume }
}

/// Whether someone has the variables that a message wants, as far as they were looked at.
fn has_variables(it: &Subscription, message: &Message, looked: &Looked) -> bool {
    looked.agreeing.contains(&(it.instance, it.wait))
        || variables_wanted(&it.correlation, &message.correlation).is_empty()
}

impl Live {
    /// How it waits for a message or a signal.
    fn subscription(&self, wait: WaitId, on: &WaitFor) -> Option<Subscription> {
        let (kind, name, correlation) = match on {
            WaitFor::Message { name, correlation } => {
                (SubscriptionKind::Message, name, self.as_receiver(correlation))
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
        let token = self.state.waits.get(&wait)?.token;
        let node = self.state.tokens[&token].node;
        let heard = self.heard.get(name).filter(|_| kind == SubscriptionKind::Message);
        Some(Subscription {
            instance: self.id.0,
            wait: wait.0,
            kind,
            name: Name::clone(name),
            correlation,
            element: Name::clone(&self.definition.plan.node(node).name),
            since: self.at,
            place: 0,
            created: self.state.started.map_or(self.at, Timestamp::as_millis),
            after: heard.map_or(0, |it| it.after),
            had: heard.map_or_else(Vec::new, |it| it.had.clone()),
        })
    }

    /// The properties of a wait for messages: those of its model, and what the instance is called.
    fn as_receiver(&self, correlation: &Assignments) -> Assignments {
        let mut all = correlation.clone();
        let policy = self.definition.plan.policy.correlation;
        if policy == Correlation::Variables && all.is_empty() {
            all.push((BY_VARIABLES.into(), true.into()));
        }
        if let Some(id) = &self.created.business_id
            && !all.iter().any(|(name, _)| &**name == INSTANCE)
        {
            all.push((INSTANCE.into(), Name::clone(id).into()));
        }
        all
    }
}
