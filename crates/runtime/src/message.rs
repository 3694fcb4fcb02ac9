//! Messages and signals: who waits for which, and what is held for those who do not wait yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use travertine_expr::{Name, Value};
use travertine_kernel::{Assignments, plan::TO};
use travertine_store::codec::record::{Held as HeldMessage, Subscription, SubscriptionKind};

use crate::{
    Address, InstanceId,
    index::{Index, Place},
};

pub use travertine_store::codec::record::{Consume, Delivery, Message};

/// The property of a message that is for one instance only: its id. Nobody else takes it, so it has one
/// receiver whatever else it says.
pub const INSTANCE: &str = "$to";

/// What became of a message.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, Message, Receipt};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// match engine.publish(Message::new("order.paid")).await? {
///     Receipt::Received(who) => println!("instance {} has it", who.instance),
///     Receipt::Held => println!("nobody waits for it yet"),
///     other => println!("{other:?}"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// A token had waited for it.
    Received(Address),
    /// It is for all, and so many had waited for it or were started by it. Whoever comes to wait for it
    /// before it expires has it too.
    Shared(u64),
    /// It has started an instance.
    Started(InstanceId),
    /// It is one of several triggers of a start event that needs them all.
    Noted,
    /// Nobody waits for it yet.
    Held,
    /// Nobody waits for it, and it is not to be held; or what it was to start cannot begin with it, and
    /// it is a dead letter.
    Dropped,
    /// The same message has come before.
    Known,
}

/// A message that nobody has received before it expired, or that its receiver cannot take.
///
/// ```no_run
/// # use travertine_runtime::{DeadLetter, Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for DeadLetter { number, reason, .. } in engine.dead_letters(None, None, 10)? {
///     println!("{number}: {reason}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// Its number.
    pub number: u64,
    /// The message.
    pub message: Message,
    /// When it was published.
    pub published: i64,
    /// Since when it is dead.
    pub died: i64,
    /// Why.
    pub reason: Name,
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

/// Whether a message that was published at that time is for a wait that may have begun since.
pub fn is_for(wait: &Subscription, delivery: Delivery, published: i64) -> bool {
    match delivery {
        Delivery::All => true,
        Delivery::AfterCreate => wait.created <= published,
        // Within a millisecond nobody knows what came first.
        Delivery::AfterWait => wait.since < published,
    }
}

/// Those who wait for something of a name, in the order in which they began to.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    by_name: BTreeMap<(SubscriptionKind, Name), Queue>,
    places: HashMap<(u64, u64), (SubscriptionKind, Name, u64)>,
    begun: u64,
}

#[derive(Debug, Default)]
struct Queue {
    by_place: BTreeMap<u64, Subscription>,
    index: Index,
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
        queue.index.insert(&it.correlation, (0, it.place));
        queue.by_place.insert(it.place, it);
    }

    pub(crate) fn remove(&mut self, address: (u64, u64)) -> Option<Subscription> {
        let (kind, name, order) = self.places.remove(&address)?;
        let key = (kind, name);
        let queue = self.by_name.get_mut(&key).expect("a place is in a queue");
        let removed = queue.by_place.remove(&order)?;
        queue.index.remove(&removed.correlation, (0, order));
        if queue.by_place.is_empty() {
            self.by_name.remove(&key);
        }
        Some(removed)
    }

    /// Those who wait for a message, the one who has waited longest first. One that was `published`
    /// before has lost those that it was not for.
    pub(crate) fn hear<'a>(
        &'a self,
        message: &'a Message,
        published: Option<i64>,
    ) -> impl Iterator<Item = &'a Subscription> {
        let queue = self.by_name.get(&(SubscriptionKind::Message, Name::clone(&message.name)));
        let all = queue.into_iter().flat_map(|queue| {
            let places = queue.index.candidates(&message.correlation, (0, 0));
            places.map(|(_, place)| &queue.by_place[&place])
        });
        all.filter(move |it| {
            correlates(&it.correlation, &message.correlation)
                && published.is_none_or(|at| is_for(it, message.delivery, at))
        })
    }

    /// All who wait for signals of this name.
    pub(crate) fn signal(&self, name: &Name) -> Vec<(u64, u64)> {
        let queue = self.by_name.get(&(SubscriptionKind::Signal, Name::clone(name)));
        let all = queue.into_iter().flat_map(|it| it.by_place.values());
        all.map(|it| (it.instance, it.wait)).collect()
    }

    pub(crate) fn get(&self, address: (u64, u64)) -> Option<&Subscription> {
        let (kind, name, order) = self.places.get(&address)?;
        self.by_name.get(&(*kind, Name::clone(name)))?.by_place.get(order)
    }

    /// The waits of one instance.
    pub(crate) fn of(&self, instance: u64) -> Vec<(u64, u64)> {
        let waits = self.iter().filter(|it| it.instance == instance);
        waits.map(|it| (it.instance, it.wait)).collect()
    }

    /// All of them, by name in the order in which they began to wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.by_name.values().flat_map(|it| it.by_place.values())
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Messages that nobody has waited for yet, those that are kept for all who come to wait for them, and
/// dead letters.
#[derive(Debug, Default)]
pub(crate) struct Held {
    messages: BTreeMap<u64, HeldMessage>,
    /// Those that nobody receives any more.
    dead: BTreeMap<u64, HeldMessage>,
    by_name: BTreeMap<Name, Kept>,
    /// What senders call them: the name, the id, the number.
    ids: BTreeSet<(Name, Name, u64)>,
}

/// The messages of a name.
#[derive(Debug, Default)]
struct Kept {
    count: usize,
    /// Those for one receiver, by when they were published: one that comes back after others were held
    /// is older than they are.
    once: Index,
    /// Those for all, by number.
    shared: Index,
    /// The numbers of those.
    numbers: BTreeSet<u64>,
}

impl Kept {
    fn index_of(&mut self, held: &HeldMessage) -> (&mut Index, Place) {
        match held.message.consume {
            Consume::One => (&mut self.once, (held.published, held.number)),
            Consume::All => (&mut self.shared, (0, held.number)),
        }
    }
}

impl Held {
    pub(crate) fn hold(&mut self, held: HeldMessage) {
        self.take(held.number);
        if held.dead.is_some() {
            self.dead.insert(held.number, held);
            return;
        }
        let kept = self.by_name.entry(Name::clone(&held.message.name)).or_default();
        kept.count += 1;
        let (index, place) = kept.index_of(&held);
        index.insert(&held.message.correlation, place);
        if held.message.consume == Consume::All {
            kept.numbers.insert(held.number);
        }
        self.ids.extend(id_of(&held));
        self.messages.insert(held.number, held);
    }

    /// The oldest message for a wait.
    pub(crate) fn find(&self, wait: &Subscription, now: i64) -> Option<&HeldMessage> {
        let kept = self.by_name.get(&wait.name)?;
        let is_it = |held: &&HeldMessage| {
            fits(held, &wait.correlation, now)
                && is_for(wait, held.message.delivery, held.published)
        };
        let once = kept.once.candidates(&wait.correlation, (i64::MIN, 0));
        let shared = kept.shared.candidates(&wait.correlation, (0, wait.after.saturating_add(1)));
        let unheard = shared.filter(|(_, number)| wait.had.binary_search(number).is_err());
        let once = once.map(|(_, number)| &self.messages[&number]).find(is_it);
        let shared = unheard.map(|(_, number)| &self.messages[&number]).find(is_it);
        once.into_iter().chain(shared).min_by_key(|it| (it.published, it.number))
    }

    /// The oldest message that starts what was not there when it was published.
    pub(crate) fn find_for_start(
        &self,
        name: &Name,
        correlation: &Assignments,
        now: i64,
    ) -> Option<&HeldMessage> {
        let kept = self.by_name.get(name)?;
        let places = kept.once.candidates(correlation, (i64::MIN, 0));
        let mut held = places.map(|(_, number)| &self.messages[&number]);
        held.find(|it| it.message.delivery == Delivery::All && fits(it, correlation, now))
    }

    /// Up to which number whoever waits so has had all messages for all, once it has `number` as well.
    pub(crate) fn had_upto(&self, wait: &Subscription, number: u64) -> u64 {
        let numbers = self.by_name.get(&wait.name).map(|it| it.numbers.range(wait.after + 1..));
        let missed = |it: &&u64| **it != number && wait.had.binary_search(it).is_err();
        let missed = numbers.into_iter().flatten().find(missed);
        missed.map_or(number, |it| it - 1)
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<HeldMessage> {
        if let Some(dead) = self.dead.remove(&number) {
            return Some(dead);
        }
        let held = self.messages.remove(&number)?;
        let name = &held.message.name;
        let kept = self.by_name.get_mut(name).expect("it is held by name");
        kept.count -= 1;
        kept.numbers.remove(&number);
        let (index, place) = kept.index_of(&held);
        index.remove(&held.message.correlation, place);
        if kept.count == 0 {
            self.by_name.remove(name);
        }
        if let Some(id) = id_of(&held) {
            self.ids.remove(&id);
        }
        Some(held)
    }

    /// Whether a message of that name is held that its sender calls so.
    pub(crate) fn has(&self, name: &Name, id: &Name) -> bool {
        let key = |number| (Name::clone(name), Name::clone(id), number);
        self.ids.range(key(0)..=key(u64::MAX)).next().is_some()
    }

    /// How many of that name are held.
    pub(crate) fn count(&self, name: &Name) -> usize {
        self.by_name.get(name).map_or(0, |it| it.count)
    }

    /// The message of that number, held or dead.
    pub(crate) fn get(&self, number: u64) -> Option<&HeldMessage> {
        self.messages.get(&number).or_else(|| self.dead(number))
    }

    /// The dead letter of that number.
    pub(crate) fn dead(&self, number: u64) -> Option<&HeldMessage> {
        self.dead.get(&number)
    }

    /// All dead letters.
    pub(crate) fn all_dead(&self) -> impl Iterator<Item = &HeldMessage> {
        self.dead.values()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldMessage> {
        self.messages.values()
    }
}

fn id_of(held: &HeldMessage) -> Option<(Name, Name, u64)> {
    let id = held.message.id.as_ref()?;
    Some((Name::clone(&held.message.name), Name::clone(id), held.number))
}

fn fits(held: &HeldMessage, correlation: &Assignments, now: i64) -> bool {
    held.expires.is_none_or(|until| now < until)
        && correlates(correlation, &held.message.correlation)
}
