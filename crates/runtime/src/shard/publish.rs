//! Messages find those who wait for them, are held, or become dead letters.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use travertine_kernel::{Assignments, View, WaitFor};
use travertine_store::record::{
    Consume, Dead, Delivery, Held, Letter, Message, Record, Shared, Subscription,
};
use travertine_value::{Name, Variables as _};

use super::{Shard, apart::Apart};
use crate::{
    Address, Error, InstanceId, Published, Receipt, SignalReceipt, Timestamp,
    message::{
        MessageKey, PROCESS, START, address, for_process, has_all, is_addressed, is_for_process,
        is_spare, is_to_one, note_awaited, note_spare, take_awaited, variables_wanted,
    },
};

/// How long a message for those who wait already is held: as long as another shard may need to say who does.
const HEARD_OF_BY: Duration = Duration::from_mins(1);

/// Whose variables were looked at for a message, and who of them has those that it wants. Others whose
/// variables count are asked, and have it when they have answered.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// Whose were looked at.
    pub at: BTreeSet<Address>,
    /// Who of them has them.
    pub agreeing: BTreeSet<Address>,
}

/// How far a message has come.
#[derive(Debug)]
pub enum Publishing {
    /// This has become of it.
    Done(Published),
    /// Whether it is for them depends on variables that other shards have.
    Look(Box<Message>, Vec<Candidate>),
}

/// How a message is published.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// How long its id is recognised, and at least as long as it is held; as long as the engine
    /// says where nothing is said.
    pub known_for: Option<Duration>,
    /// Whether its sender waits for what the receiver decides.
    pub awaited: bool,
}

/// Who may receive a message: a wait, and the variables that it must see for that.
pub type Candidate = (Address, Assignments);

impl Shard {
    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires. One for all goes to all who wait and to the start events,
    /// and is kept for others until it expires. Only the shard that keeps its name may be asked. Where it
    /// depends on variables of other shards, it is held until they have answered.
    pub(super) fn publish(&mut self, message: Message) -> Result<Receipt, Error> {
        let how = How::default();
        let published = match self.begin_publishing(message, how)? {
            Publishing::Done(published) => published,
            Publishing::Look(message, _) => self.publish_new(*message, &Looked::default(), how)?,
        };
        Ok(published.receipt)
    }

    /// Sends a message, unless variables of other shards must be looked at first.
    pub(crate) fn begin_publishing(
        &mut self,
        mut message: Message,
        how: How,
    ) -> Result<Publishing, Error> {
        // Who waits may have said so in what is left to do.
        self.handle_letters();
        self.env.definitions.correlate(&mut message);
        if self.is_known(&message) {
            return Ok(Publishing::Done(KNOWN));
        }
        let candidates = self.candidates(&message);
        match self.look_here(&candidates) {
            Some(looked) => self.publish_new(message, &looked, how).map(Publishing::Done),
            None => Ok(Publishing::Look(Box::new(message), candidates)),
        }
    }

    /// Sends a message once variables were looked at.
    pub(crate) fn finish_publishing(
        &mut self,
        message: Message,
        looked: &Looked,
        how: How,
    ) -> Result<Published, Error> {
        if self.is_known(&message) {
            return Ok(KNOWN);
        }
        self.publish_new(message, looked, how)
    }

    /// Those who have a message if they have the right variables.
    fn candidates(&self, message: &Message) -> Vec<Candidate> {
        let all = self
            .messages
            .waiting
            .hear(message, None)
            .map(|it| (it.address(), variables_wanted(&it.correlation, &message.correlation)));
        match consume(message) {
            // Whoever comes after one whose variables do not count does not get it.
            Consume::One => all.take_while(|(_, it)| !it.is_empty()).collect(),
            Consume::All => all.filter(|(_, it)| !it.is_empty()).collect(),
        }
    }

    /// Looks at the variables of all candidates, if they are all here.
    fn look_here(&mut self, candidates: &[Candidate]) -> Option<Looked> {
        let mut at = candidates.iter().map(|(of, _)| *of);
        if !at.clone().all(|it| self.shard_of(it.instance) == self.id()) {
            return None;
        }
        let at = at.by_ref().collect();
        Some(Looked { at, agreeing: self.agreeing(candidates).into_iter().collect() })
    }

    /// Those of this shard who see the variables that a message wants.
    pub(crate) fn agreeing(&mut self, candidates: &[Candidate]) -> Vec<Address> {
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
    pub(super) fn seen_by<'a>(
        &mut self,
        Address { instance, wait }: Address,
        names: impl Iterator<Item = &'a Name>,
    ) -> Option<(Name, Assignments)> {
        let live = self.live(instance).ok()?;
        let open = live.state.waits.get(&wait)?;
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
    fn publish_new(
        &mut self,
        mut message: Message,
        looked: &Looked,
        how: How,
    ) -> Result<Published, Error> {
        self.check_one(&message, looked)?;
        let name = Name::clone(&message.name);
        let refuses = message.ttl.is_none() && self.env.definitions.refuses(&name);
        if !refuses {
            self.check_room(&message, looked)?;
        }
        let key = MessageKey::of(&message);
        let dead = key.as_ref().map_or_else(Vec::new, |it| self.messages.held.dead_with(it));
        let known_for = how.known_for.unwrap_or(self.env.settings.known_for);
        let known_for = known_for.max(message.ttl.unwrap_or_default());
        let number = self.next_message();
        if how.awaited {
            self.env.board.awaited.expect(number);
            note_awaited(&mut message, Some(number));
        }
        let receipt = self.route(message, looked, Some(number));
        let is_left = receipt != Receipt::Dropped || self.messages.held.get(number).is_some();
        if let Some(key) = key.filter(|_| is_left) {
            self.remember(key, receipt, known_for, dead)?;
        }
        self.record_numbers();
        if refuses && !is_left {
            let reason =
                "nobody waits for it, and who receives such messages does not have them held";
            return Err(Error::NoReceiver { message: name, reason: reason.to_owned() });
        }
        Ok(Published { number: Some(number), receipt })
    }

    /// Recognises a message by its id when it comes again. It stands for those that nobody has received.
    fn remember(
        &mut self,
        key: MessageKey,
        receipt: Receipt,
        known_for: Duration,
        dead: Vec<u64>,
    ) -> Result<(), Error> {
        if receipt != Receipt::Dropped && !known_for.is_zero() {
            let number = self.next_message();
            let until = self.now.after(known_for);
            let MessageKey { name, receiver, id } = key.clone();
            self.write(&[Record::Recognised { number, name, receiver, id, until }]);
            self.recognise(number, key, until);
        }
        for number in dead {
            self.discard(number)?;
        }
        Ok(())
    }

    /// Has the log tell of the numbers that were given.
    fn record_numbers(&mut self) {
        if let Some(messages) = self.messages.unrecorded() {
            self.write(&[Record::Numbered { messages }]);
            self.messages.record(messages);
        }
    }

    /// It is decided who has a message whose sender waits for that.
    pub(super) fn decided(&mut self, awaited: Option<u64>, by: Option<InstanceId>) {
        if let Some(number) = awaited {
            let board = Arc::clone(&self.env.board);
            self.outbox.notice(move || board.awaited.decide(number, by));
        }
    }

    /// Refuses a message to one instance that several could receive.
    fn check_one(&self, message: &Message, looked: &Looked) -> Result<(), Error> {
        if !is_addressed(message) || consume(message) == Consume::All {
            return Ok(());
        }
        let all = self.messages.waiting.hear(message, None);
        let instances: BTreeSet<InstanceId> =
            all.filter(|it| has_variables(it, message, looked)).map(|it| it.instance).collect();
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
        if count < most || !stays || message.ttl.is_some_and(|it| it.is_zero()) {
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
    pub(super) fn signal(&mut self, name: &Name, variables: &Assignments) -> SignalReceipt {
        let number = self.next_message();
        let heard = self.broadcast(name, variables, None);
        self.record_numbers();
        SignalReceipt { number, ..heard }
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
    fn expiry(&self, message: &Message) -> Option<Timestamp> {
        // One that an instance sends comes here first.
        let refused = || self.env.definitions.refuses(&message.name).then_some(Duration::ZERO);
        let ttl = message.ttl.or_else(refused);
        let ttl = match message.delivery {
            Delivery::AfterWait => Some(ttl.map_or(HEARD_OF_BY, |it| it.min(HEARD_OF_BY))),
            Delivery::AfterCreate | Delivery::All => ttl,
        };
        ttl.map(|ttl| self.now.after(ttl))
    }

    /// Finds those who receive a new message.
    pub(super) fn route(
        &mut self,
        mut message: Message,
        looked: &Looked,
        number: Option<u64>,
    ) -> Receipt {
        if &*message.name == START {
            return Receipt::Dropped;
        }
        message.consume = consume(&message);
        let expires = self.expiry(&message);
        match message.consume {
            Consume::All => self.share(message, expires, looked, number),
            Consume::One => {
                let given = Given { published: self.now, expires, number, again: false };
                let processes = self.processes(&message);
                if processes.len() > 1 {
                    self.give_each(message, given, looked, &processes)
                } else {
                    self.give(message, given, looked)
                }
            }
        }
    }

    /// The processes of which one instance each is to have a message; an empty id stands for all others.
    fn processes(&self, message: &Message) -> BTreeSet<Name> {
        if is_addressed(message) || is_for_process(message) {
            return BTreeSet::new();
        }
        let mut all: BTreeSet<Name> =
            self.env.definitions.hearing(&message.name).cloned().collect();
        if !all.is_empty() && self.messages.waiting.some_without(&message.name, PROCESS) {
            all.insert("".into());
        }
        all
    }

    /// Finds a receiver of each process. Who is there has it first: a message that lives for good is held for nobody else
    /// then. Of those that are held one at most becomes a dead letter.
    fn give_each(
        &mut self,
        mut message: Message,
        given: Given,
        looked: &Looked,
        processes: &BTreeSet<Name>,
    ) -> Receipt {
        let mut awaited = take_awaited(&mut message);
        let each = processes.iter().map(|it| for_process(&message, it));
        let (there, others): (Vec<_>, Vec<_>) = each.partition(|it| {
            let mut waiting = self.messages.waiting.hear(it, None);
            waiting.any(|wait| has_variables(wait, it, looked)) || self.start_for(it).is_some()
        });
        let mut given = given;
        let mut best = Receipt::Dropped;
        for message in there {
            let receipt = self.give_awaited(message, given, looked, awaited);
            match receipt {
                // The receiver decides.
                Receipt::Received(_) => awaited = None,
                Receipt::Started(id) => self.decided(awaited.take(), Some(id)),
                _ => {}
            }
            given.number = self.unused(given.number);
            best = nearer(best, receipt);
        }
        self.decided(awaited, None);
        let is_taken = best != Receipt::Dropped;
        if is_taken && given.expires.is_none() {
            return best;
        }
        for (nth, mut message) in others.into_iter().enumerate() {
            if is_taken || nth > 0 {
                note_spare(&mut message);
            }
            best = nearer(best, self.give_awaited(message, given, looked, None));
            given.number = self.unused(given.number);
        }
        best
    }

    /// The number of a message, unless what is held has it already.
    fn unused(&self, number: Option<u64>) -> Option<u64> {
        number.filter(|it| self.messages.held.get(*it).is_none())
    }

    /// Finds the one receiver of a message, perhaps `again`, if whoever had it did not want it.
    pub(super) fn give(&mut self, mut message: Message, given: Given, looked: &Looked) -> Receipt {
        let awaited = take_awaited(&mut message);
        let receipt = self.give_awaited(message, given, looked, awaited);
        match receipt {
            // The receiver decides.
            Receipt::Received(_) => {}
            Receipt::Started(id) => self.decided(awaited, Some(id)),
            _ => self.decided(awaited, None),
        }
        receipt
    }

    fn give_awaited(
        &mut self,
        message: Message,
        given: Given,
        looked: &Looked,
        awaited: Option<u64>,
    ) -> Receipt {
        let Given { published, expires, number, again } = given;
        let found = {
            let mut all = self.messages.waiting.hear(&message, again.then_some(published));
            all.find(|it| has_variables(it, &message, looked)).map(Subscription::address)
        };
        if let Some(to) = found {
            let mut message = address(message, to.instance);
            note_awaited(&mut message, awaited);
            self.forget(to);
            let letter = Letter::Deliver { to, message, published, expires, shared: None };
            self.send(self.shard_of(to.instance), letter);
            return Receipt::Received(to);
        }
        if let Some(start) = self.start_for(&message) {
            let variables = message.variables.clone();
            return self.trigger_start(start, variables).unwrap_or_else(|error| {
                let number = number.unwrap_or_else(|| self.next_message());
                let held = Held { number, message, published, expires, dead: None };
                self.bury(held, &error.to_string());
                Receipt::Dropped
            });
        }
        let late = expires.is_some_and(|it| it <= self.now);
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
        let number = number.unwrap_or_else(|| self.next_message());
        let held = Held { number, message, published, expires, dead: None };
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
        for (of, wanted) in asked {
            let names = wanted.into_iter().map(|(name, _)| name).collect();
            self.send(self.shard_of(of.instance), Letter::AskVariables { of, names });
        }
        Receipt::Held
    }

    /// Gives a new message to all who wait for it and to the start events that hear it, and keeps it for
    /// others.
    fn share(
        &mut self,
        message: Message,
        expires: Option<Timestamp>,
        looked: &Looked,
        number: Option<u64>,
    ) -> Receipt {
        let published = self.now;
        let kept = expires.is_none_or(|it| published < it);
        let number = number.unwrap_or_else(|| self.next_message());
        let all = self.messages.waiting.hear(&message, None);
        let receivers: Vec<Subscription> =
            all.filter(|it| has_variables(it, &message, looked)).cloned().collect();
        for it in &receivers {
            let to = it.address();
            // One that is not kept cannot come again.
            let shared =
                kept.then(|| Shared { number, upto: self.messages.held.had_upto(it, number) });
            self.forget(to);
            let letter =
                Letter::Deliver { to, message: message.clone(), published, expires, shared };
            self.send(self.shard_of(to.instance), letter);
        }
        let mut received = receivers.len() as u64;
        for start in self.starts_for(&message) {
            let receipt = self.trigger_start_or_log(start, message.variables.clone());
            if let Some(Receipt::Started(id)) = receipt {
                received += 1;
                // It has not been held while the instance began, so nobody else can have told it.
                self.with_any(id, |shard, live| {
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
        self.messages.record(held.number / u64::from(self.env.shards));
        self.messages.hold(held, self.env.settings.dead_for, &mut self.alarms);
    }

    /// A message will be recognised until then.
    pub(super) fn recognise(&mut self, number: u64, key: MessageKey, until: Timestamp) {
        self.messages.record(number / u64::from(self.env.shards));
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
                (None, Consume::One) if !is_spare(&held.message) => {
                    self.bury(held, "nobody has taken it before it expired");
                }
                (None, Consume::One | Consume::All) | (Some(_), _) => {
                    self.write(&[Record::Gone { message: number }]);
                }
            }
        }
    }

    /// Makes a dead letter of a message that is not held.
    pub(super) fn bury_new(
        &mut self,
        message: Message,
        published: Timestamp,
        expires: Option<Timestamp>,
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
        if self.env.settings.dead_for.is_zero() && Apart::of(&held.message).is_none() {
            self.write(&[Record::Gone { message: held.number }]);
            return;
        }
        held.dead = Some(Dead { at: self.now, reason: reason.into() });
        self.write(&[Record::Held(held.clone())]);
        self.hold(held);
    }

    /// Publishes a dead letter again, with a new time to live; starts what it was to start.
    pub(super) fn replay_message(&mut self, number: u64) -> Result<Receipt, Error> {
        let dead = self.messages.held.dead(number).ok_or(Error::NoSuchDeadLetter(number))?;
        let message = dead.message.clone();
        if let Some(apart) = Apart::of(&message) {
            let started = self.try_apart(&apart)?;
            self.discard(number)?;
            return Ok(Receipt::Started(started));
        }
        let candidates = self.candidates(&message);
        let looked = self.look_here(&candidates).unwrap_or_default();
        let Published { number: new, receipt } =
            self.publish_new(message, &looked, How::default())?;
        let is_buried = new.is_some_and(|it| self.messages.held.get(it).is_some());
        let is_kept = receipt != Receipt::Dropped || is_buried;
        if is_kept && self.messages.held.dead(number).is_some() {
            self.discard(number)?;
        }
        Ok(receipt)
    }

    /// Drops a dead letter.
    pub(super) fn discard(&mut self, number: u64) -> Result<(), Error> {
        if self.messages.held.dead(number).is_none() {
            return Err(Error::NoSuchDeadLetter(number));
        }
        self.let_go(number);
        self.write(&[Record::Gone { message: number }]);
        Ok(())
    }
}

/// A message that came before.
const KNOWN: Published = Published { number: None, receipt: Receipt::Known };

/// A message that is to have a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// When it was published.
    pub(super) published: Timestamp,
    /// When it is dropped.
    pub(super) expires: Option<Timestamp>,
    /// Its number, where it has one.
    pub(super) number: Option<u64>,
    /// Whether someone has had it who did not want it.
    pub(super) again: bool,
}

/// Of what became of a message for two processes, what its sender is told: who has it, rather than that it waits.
fn nearer(one: Receipt, other: Receipt) -> Receipt {
    let far = |it: &Receipt| match it {
        Receipt::Received(_) | Receipt::Shared(_) => 0,
        Receipt::Started(_) => 1,
        Receipt::Noted => 2,
        Receipt::Held => 3,
        Receipt::Known => 4,
        Receipt::Dropped => 5,
    };
    if far(&other) < far(&one) { other } else { one }
}

/// Who receives a message. One to an instance has one receiver, whatever it says; one to those who have some
/// variables may be for all of them.
fn consume(message: &Message) -> Consume {
    if is_to_one(message) { Consume::One } else { message.consume }
}

/// Whether someone has the variables that a message wants, as far as they were looked at.
fn has_variables(it: &Subscription, message: &Message, looked: &Looked) -> bool {
    looked.agreeing.contains(&it.address())
        || variables_wanted(&it.correlation, &message.correlation).is_empty()
}
