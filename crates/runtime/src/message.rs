//! Messages and signals: who waits for which, and what is held for those who do not wait yet.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Assignments, PostId, WaitId, plan::TO};
use travertine_store::record::{Held as HeldMessage, Subscription, SubscriptionKind};
use travertine_value::{Map, Name, Value};

use crate::{
    Address, InstanceId, Timestamp,
    index::{Index, Place, is_same},
};

pub use travertine_store::record::{Consume, Delivery, Message};

/// The property of a message that is for one instance only: its business key, or its number with
/// [`NUMBER`](crate::engine::NUMBER) before it. Nobody else takes it, so it has one receiver whatever
/// else it says.
pub const INSTANCE: &str = "$to";

/// The property of a message that is only for one whose variables are so: an object of names and values. One
/// that is for all is for all such.
pub const WHERE: &str = "$where";

/// The property of a message that is for one process alone, because others have it, too; and of whoever waits for such
/// messages. It is empty where the message is for one of all who have no process of their own.
pub(crate) const PROCESS: &str = "$process";

/// The property of a message for one process that leaves no trace where nobody takes it, because somebody else has it or
/// stands for it.
const SPARE: &str = "$spare";

/// The property of a receiver whose model names none: those of a message are about its variables.
pub(crate) const BY_VARIABLES: &str = "$variables";

/// The property of a receiver that takes no message with another key than its own, and none without a key where it has one.
pub(crate) const KEYED: &str = "$keyed";

/// The property of a message that an instance sends, for others and for who of it had begun to wait by then: the instance,
/// and what it had numbered so far.
const SENDER: &str = "$sender";

/// The name of dead letters that are starts which could not be made. Nobody sends a message of that name: it would
/// start something that its sender need not be allowed to start.
pub(crate) const START: &str = "$start";

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
    /// A message of the same name and id for the same receiver has come before.
    Known,
}

/// A message that was published.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, Message, Published};
/// # use travertine_runtime::engine::PublishOptions;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let how = PublishOptions::default();
/// let Published { number, receipt } = engine.publish_with(Message::new("paid"), how).await?;
/// println!("message {number:?}: {receipt:?}");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its number, which no other message and no signal has; `None` where it was known.
    pub number: Option<u64>,
    /// What became of it.
    pub receipt: Receipt,
}

/// The receiver of a message that was correlated.
///
/// ```no_run
/// # use travertine_runtime::{Correlated, Engine, Error, Message};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// match engine.correlate(Message::new("paid")).await? {
///     Some(Correlated { message, instance }) => println!("instance {instance} has {message}"),
///     None => println!("nobody waits for it"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correlated {
    /// The number of the message.
    pub message: u64,
    /// The instance that has it, or was started by it.
    pub instance: InstanceId,
}

/// The property of a message whose sender waits for what its receiver decides: its number.
const AWAITED: &str = "$awaited";

/// Notes that the sender of a message waits.
pub(crate) fn note_awaited(message: &mut Message, number: Option<u64>) {
    let number = number.and_then(|it| i64::try_from(it).ok());
    message.correlation.extend(number.map(|it| (AWAITED.into(), it.into())));
}

/// The number of a message whose sender waits. It is not among its properties any more.
pub(crate) fn take_awaited(message: &mut Message) -> Option<u64> {
    let at = message.correlation.iter().position(|(name, _)| &**name == AWAITED)?;
    let (_, number) = message.correlation.remove(at);
    number.as_i64().and_then(|it| u64::try_from(it).ok())
}

/// What became of a signal.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, SignalReceipt};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let SignalReceipt { received, started, .. } = engine.signal("shop closes", vec![]).await?;
/// println!("{received} had waited for it, and it has started {started}");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalReceipt {
    /// The number of the signal, which no other signal and no message has.
    pub number: u64,
    /// How many waits for it there were.
    pub received: u64,
    /// How many instances it has started.
    pub started: u64,
}

/// What a message is recognised by when it is sent again: its name, for whom it is, and what its sender
/// calls it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageKey {
    pub(crate) name: Name,
    /// All properties as text; empty for everybody, as older stores have it.
    pub(crate) receiver: Name,
    pub(crate) id: Name,
}

impl MessageKey {
    /// The key of a message that its sender gave an id.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let id = Name::clone(message.id.as_ref()?);
        let mut properties: Vec<(&Name, Cow<'_, Value>)> = Vec::new();
        // What is held for several processes is one message, and so is what an instance sends twice.
        let is_said = |name: &Name| ![PROCESS, SPARE, SENDER].contains(&&**name);
        let said = message.correlation.iter().filter(|(name, it)| !it.is_null() && is_said(name));
        for (name, value) in said {
            properties.push((name, scalar_as_text(value)));
        }
        properties.sort_by_key(|(name, _)| *name);
        let properties =
            properties.into_iter().map(|(name, it)| (Name::clone(name), it.into_owned()));
        let receiver = Value::from(properties.collect::<Map>()).to_json().into();
        Some(Self { name: Name::clone(&message.name), receiver, id })
    }

    /// The key of a message with this name and id for everybody.
    pub(crate) fn for_everybody(&self) -> Self {
        Self { receiver: "".into(), ..self.clone() }
    }
}

/// Values that correlate have the same text.
fn scalar_as_text(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Bool(it) => Cow::Owned(it.to_string().into()),
        Value::Number(it) => Cow::Owned(it.to_string().into()),
        Value::Null | Value::String(_) | Value::List(_) | Value::Map(_) => Cow::Borrowed(value),
    }
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
    pub published: Timestamp,
    /// Since when it is dead.
    pub died: Timestamp,
    /// Why.
    pub reason: Name,
}

/// Whether a receiver and a message mean the same thing: every property that both define is equal, the
/// message is to nobody else, and where message flows say who gets it, they lead to this receiver.
pub fn correlates(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    agrees(receiver, message) && is_to(receiver, message)
}

/// Whether a message is for a wait, as far as that can be told without its variables.
fn hears(wait: &Subscription, message: &Message) -> bool {
    let is_to = numbered(message) == Some(wait.instance.0)
        || is_to(&wait.correlation, &message.correlation);
    is_to && agrees(&wait.correlation, &message.correlation) && !is_own_later(wait, message)
}

/// Notes which instance sends a message, and that it does so before it begins to wait for anything else.
pub(crate) fn note_sender(message: &mut Message, instance: InstanceId, post: PostId) {
    let sender = vec![Value::from(instance.0), Value::from(post.0)];
    message.correlation.push((SENDER.into(), sender.into()));
}

/// Whether a wait is of whoever sent the message, and had not begun then.
fn is_own_later(wait: &Subscription, message: &Message) -> bool {
    let sender = property(&message.correlation, SENDER).and_then(Value::as_list);
    let Some([instance, post]) = sender else { return false };
    let sent = post.as_i64().and_then(|it| u64::try_from(it).ok());
    *instance == Value::from(wait.instance.0) && sent.is_some_and(|it| it < wait.wait.0)
}

fn agrees(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let mut properties = receiver.iter().filter(|(name, _)| is_plain(name));
    let agrees = properties.all(|(name, value)| {
        let theirs = property(message, name);
        value.is_null() || theirs.is_none_or(|it| it.is_null() || is_same(it, value))
    });
    agrees
        && has_key(receiver, message)
        && leads_to(receiver, message)
        && is_of_process(receiver, message)
}

/// Whether a message has a key where its receiver has one, and none where it has none, if that matters to the receiver. What
/// is sent along a message flow, or to one receiver that it names, has found it without.
fn has_key(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let says = |side, name| property(side, name).is_some_and(|it| !it.is_null());
    !says(receiver, KEYED)
        || [TO, INSTANCE, WHERE].iter().any(|it| says(message, it))
        || says(receiver, CORRELATION_KEY) == says(message, CORRELATION_KEY)
}

/// Whether a message is not for one process alone, or for that of the receiver.
fn is_of_process(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let theirs = property(message, PROCESS).and_then(Value::as_str);
    let ours = property(receiver, PROCESS).and_then(Value::as_str).unwrap_or_default();
    theirs.is_none_or(|it| it == ours)
}

/// A message as it is for one process.
pub(crate) fn for_process(message: &Message, process: &Name) -> Message {
    let mut message = message.clone();
    message.correlation.push((PROCESS.into(), Name::clone(process).into()));
    message
}

/// Whether a message is for one process already.
pub(crate) fn is_for_process(message: &Message) -> bool {
    property(&message.correlation, PROCESS).is_some()
}

/// A message will leave no trace where nobody takes it.
pub(crate) fn note_spare(message: &mut Message) {
    message.correlation.push((SPARE.into(), true.into()));
}

/// Whether it leaves none.
pub(crate) fn is_spare(message: &Message) -> bool {
    property(&message.correlation, SPARE).is_some()
}

/// What people see of a correlation: not which process it is of, which they see anyway, nor what follows from that.
pub(crate) fn shown(correlation: &Assignments) -> Cow<'_, Assignments> {
    let is_hidden = |name: &str| [PROCESS, SPARE, KEYED, SENDER].contains(&name);
    if !correlation.iter().any(|(name, _)| is_hidden(name)) {
        return Cow::Borrowed(correlation);
    }
    Cow::Owned(correlation.iter().filter(|(name, _)| !is_hidden(name)).cloned().collect())
}

/// Whether a property is one that both sides must agree on, and not one that says who is meant.
fn is_plain(name: &str) -> bool {
    ![TO, INSTANCE, WHERE, BY_VARIABLES, KEYED, SENDER, AWAITED, PROCESS, SPARE].contains(&name)
}

/// Whether a message to one instance is to this receiver.
fn is_to(receiver: &[(Name, Value)], message: &[(Name, Value)]) -> bool {
    let Some(to) = property(message, INSTANCE).filter(|it| !it.is_null()) else { return true };
    property(receiver, INSTANCE).is_some_and(|it| is_same(it, to))
}

/// The instance that a message is to, where it names it by its number.
fn numbered(message: &Message) -> Option<u64> {
    let to = property(&message.correlation, INSTANCE)?;
    InstanceId::numbered(to.as_str()?).map(|it| it.0)
}

/// Whether a message is to one receiver that it names, and starts nothing.
pub(crate) fn is_addressed(message: &Message) -> bool {
    let names = |name| property(&message.correlation, name).is_some_and(|it| !it.is_null());
    names(INSTANCE) || names(WHERE)
}

/// Whether a message has one receiver, whatever else it says.
pub(crate) fn is_to_one(message: &Message) -> bool {
    let to_instance = property(&message.correlation, INSTANCE).is_some_and(|it| !it.is_null());
    to_instance || is_addressed(message) && message.consume == Consume::One
}

/// A message that has found its receiver by its variables, to that instance alone.
pub(crate) fn address(mut message: Message, instance: InstanceId) -> Message {
    if property(&message.correlation, WHERE).is_some() {
        message.correlation.retain(|(name, _)| &**name != WHERE && &**name != INSTANCE);
        let to = instance.unnamed();
        message.correlation.push((INSTANCE.into(), to.into()));
    }
    message
}

/// The variables that the receiver of a message must have: those that the message names, and, where the
/// receiver's model names no properties, all of the message's.
pub(crate) fn variables_wanted(
    receiver: &[(Name, Value)],
    message: &[(Name, Value)],
) -> Assignments {
    let named = property(message, WHERE).and_then(Value::as_map).into_iter().flatten();
    let mut wanted: Assignments = named.map(|(name, it)| (Name::clone(name), it.clone())).collect();
    if property(receiver, BY_VARIABLES).is_some() {
        let plain = |(name, value): &&(Name, Value)| {
            is_plain(name) && !value.is_null() && property(receiver, name).is_none()
        };
        wanted.extend(message.iter().filter(plain).cloned());
    }
    wanted
}

/// Whether these are among the variables that someone has.
pub(crate) fn has_all(variables: &[(Name, Value)], wanted: &[(Name, Value)]) -> bool {
    wanted.iter().all(|(name, value)| {
        let theirs = property(variables, name).unwrap_or(&Value::Null);
        is_same(theirs, value)
    })
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
pub fn is_for(wait: &Subscription, delivery: Delivery, published: Timestamp) -> bool {
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
    /// By instance and wait.
    places: BTreeMap<Address, (SubscriptionKind, Name, u64)>,
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
        self.remove(it.address());
        if it.place == 0 {
            it.place = self.begun + 1;
        }
        self.begun = self.begun.max(it.place);
        let place = (it.kind, Name::clone(&it.name), it.place);
        self.places.insert(it.address(), place);
        let queue = self.by_name.entry((it.kind, Name::clone(&it.name))).or_default();
        queue.index.insert(&it.correlation, (Timestamp::default(), it.place));
        queue.by_place.insert(it.place, it);
    }

    pub(crate) fn remove(&mut self, address: Address) -> Option<Subscription> {
        let (kind, name, order) = self.places.remove(&address)?;
        let key = (kind, name);
        let queue = self.by_name.get_mut(&key).expect("a place is in a queue");
        let removed = queue.by_place.remove(&order)?;
        queue.index.remove(&removed.correlation, (Timestamp::default(), order));
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
        published: Option<Timestamp>,
    ) -> impl Iterator<Item = &'a Subscription> {
        let queue = self.by_name.get(&(SubscriptionKind::Message, Name::clone(&message.name)));
        let all = queue.into_iter().flat_map(|queue| {
            let places = self.places_of(queue, message);
            places.map(|place| &queue.by_place[&place])
        });
        all.filter(move |it| {
            hears(it, message) && published.is_none_or(|at| is_for(it, message.delivery, at))
        })
    }

    /// The places of those who may be meant by a message, in order.
    fn places_of<'a>(
        &'a self,
        queue: &'a Queue,
        message: &'a Message,
    ) -> Box<dyn Iterator<Item = u64> + 'a> {
        if let Some(instance) = numbered(message) {
            let waits = self.places.range(waits_of(InstanceId(instance)));
            let meant = waits.filter(|(_, (kind, name, _))| {
                *kind == SubscriptionKind::Message && *name == message.name
            });
            let places: BTreeSet<u64> = meant.map(|(_, (_, _, place))| *place).collect();
            return Box::new(places.into_iter());
        }
        let to_one = property(&message.correlation, INSTANCE).is_some_and(|it| !it.is_null());
        let wanted = move |names: &[Name]| !to_one || names.iter().any(|it| &**it == INSTANCE);
        Box::new(
            queue
                .index
                .candidates(&message.correlation, (Timestamp::default(), 0), wanted)
                .map(|(_, it)| it),
        )
    }

    /// Whether some who wait for messages of this name do not define a property.
    pub(crate) fn some_without(&self, name: &Name, property: &str) -> bool {
        let queue = self.by_name.get(&(SubscriptionKind::Message, Name::clone(name)));
        queue.is_some_and(|it| it.index.some_without(property))
    }

    /// All who wait for signals of this name.
    pub(crate) fn signal(&self, name: &Name) -> Vec<Address> {
        let queue = self.by_name.get(&(SubscriptionKind::Signal, Name::clone(name)));
        let all = queue.into_iter().flat_map(|it| it.by_place.values());
        all.map(Subscription::address).collect()
    }

    pub(crate) fn get(&self, address: Address) -> Option<&Subscription> {
        let (kind, name, order) = self.places.get(&address)?;
        self.by_name.get(&(*kind, Name::clone(name)))?.by_place.get(order)
    }

    /// The waits of one instance.
    pub(crate) fn of(&self, instance: InstanceId) -> Vec<Address> {
        let waits = self.places.range(waits_of(instance));
        waits.map(|(address, _)| *address).collect()
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
    /// What they are recognised by, and their numbers.
    ids: BTreeSet<(MessageKey, u64)>,
    /// What dead letters are recognised by, and their numbers.
    dead_ids: BTreeSet<(MessageKey, u64)>,
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
            Consume::All => (&mut self.shared, (Timestamp::default(), held.number)),
        }
    }
}

impl Held {
    pub(crate) fn hold(&mut self, held: HeldMessage) {
        self.take(held.number);
        if held.dead.is_some() {
            self.dead_ids.extend(MessageKey::of(&held.message).map(|key| (key, held.number)));
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
        self.ids.extend(MessageKey::of(&held.message).map(|key| (key, held.number)));
        self.messages.insert(held.number, held);
    }

    /// The oldest message for a wait, of which these variables are known.
    pub(crate) fn find<'a>(
        &'a self,
        wait: &'a Subscription,
        variables: &Assignments,
        now: Timestamp,
    ) -> Option<&'a HeldMessage> {
        let is_it = |held: &&HeldMessage| {
            let wanted = variables_wanted(&wait.correlation, &held.message.correlation);
            has_all(variables, &wanted)
        };
        let mut correlation = Cow::Borrowed(&wait.correlation);
        if property(&wait.correlation, BY_VARIABLES).is_some() && !variables.is_empty() {
            correlation.to_mut().extend(variables.iter().cloned());
        }
        let [once, numbered, shared] = self.for_wait(wait, &correlation, now)?;
        let oldest = [once, numbered, shared].into_iter().filter_map(|mut it| it.find(is_it));
        oldest.min_by_key(|it| (it.published, it.number))
    }

    /// Which variables of a wait would have to be known to find all messages for it.
    pub(crate) fn variables_asked(&self, wait: &Subscription, now: Timestamp) -> BTreeSet<Name> {
        let by_variables = property(&wait.correlation, BY_VARIABLES).is_some();
        let kept = self.by_name.get(&wait.name);
        if !by_variables && !kept.is_some_and(|it| it.once.defines(WHERE)) {
            return BTreeSet::new();
        }
        let all = self.for_wait(wait, &wait.correlation, now).into_iter().flatten().flatten();
        let wanted =
            all.flat_map(|it| variables_wanted(&wait.correlation, &it.message.correlation));
        wanted.map(|(name, _)| name).collect()
    }

    /// The messages for a wait, as far as that can be told without its variables: those for one receiver,
    /// those of them to the instance by its number, and those for all that it has not had.
    fn for_wait<'a>(
        &'a self,
        wait: &'a Subscription,
        correlation: &Assignments,
        now: Timestamp,
    ) -> Option<[Box<dyn Iterator<Item = &'a HeldMessage> + 'a>; 3]> {
        let kept = self.by_name.get(&wait.name)?;
        let is_it = move |held: &&HeldMessage| {
            held.expires.is_none_or(|until| now < until)
                && hears(wait, &held.message)
                && is_for(wait, held.message.delivery, held.published)
        };
        let has_id = property(correlation, INSTANCE).is_some();
        let wanted = move |names: &[Name]| has_id || !names.iter().any(|it| &**it == INSTANCE);
        let once = kept.once.candidates(correlation, (Timestamp::MIN, 0), wanted);
        let shared = (Timestamp::default(), wait.after.saturating_add(1));
        let shared = kept.shared.candidates(correlation, shared, |_| true);
        let unheard = shared.filter(|(_, number)| wait.had.binary_search(number).is_err());
        let held = |(_, number): Place| &self.messages[&number];
        let numbered: Box<dyn Iterator<Item = &HeldMessage>> = if kept.once.defines(INSTANCE) {
            let mut correlation = correlation.clone();
            correlation.retain(|(name, _)| &**name != INSTANCE);
            correlation.push((INSTANCE.into(), wait.instance.unnamed().into()));
            let to_one = |names: &[Name]| names.iter().any(|it| &**it == INSTANCE);
            let found = kept.once.candidates(&correlation, (Timestamp::MIN, 0), to_one);
            Box::new(found.map(held).filter(is_it))
        } else {
            Box::new(std::iter::empty())
        };
        Some([
            Box::new(once.map(held).filter(is_it)),
            numbered,
            Box::new(unheard.map(held).filter(is_it)),
        ])
    }

    /// The oldest message that starts what was not there when it was published.
    pub(crate) fn find_for_start(
        &self,
        name: &Name,
        correlation: &Assignments,
        now: Timestamp,
    ) -> Option<&HeldMessage> {
        let kept = self.by_name.get(name)?;
        let places = kept.once.candidates(correlation, (Timestamp::MIN, 0), |_| true);
        let mut held = places.map(|(_, number)| &self.messages[&number]);
        held.find(|it| {
            it.message.delivery == Delivery::All
                && !is_addressed(&it.message)
                && it.expires.is_none_or(|until| now < until)
                && correlates(correlation, &it.message.correlation)
        })
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
            if let Some(key) = MessageKey::of(&dead.message) {
                self.dead_ids.remove(&(key, number));
            }
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
        if let Some(key) = MessageKey::of(&held.message) {
            self.ids.remove(&(key, number));
        }
        Some(held)
    }

    /// Whether such a message is held.
    pub(crate) fn has(&self, key: &MessageKey) -> bool {
        numbers(&self.ids, key).next().is_some()
    }

    /// The dead letters that are such a message.
    pub(crate) fn dead_with(&self, key: &MessageKey) -> Vec<u64> {
        numbers(&self.dead_ids, key).collect()
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

fn numbers(ids: &BTreeSet<(MessageKey, u64)>, key: &MessageKey) -> impl Iterator<Item = u64> {
    ids.range((key.clone(), 0)..=(key.clone(), u64::MAX)).map(|(_, number)| *number)
}
/// All waits that an instance may have.
fn waits_of(instance: InstanceId) -> RangeInclusive<Address> {
    let at = |wait: u64| Address { instance, wait: WaitId(wait) };
    at(0)..=at(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_instance_sends_twice_is_recognised_by_its_id() {
        let message = Message { id: Some("1".into()), ..Message::new("paid") };
        let sent = |post| {
            let mut message = message.clone();
            note_sender(&mut message, InstanceId(7), PostId(post));
            MessageKey::of(&message)
        };
        assert_eq!([sent(3), sent(9)], [(); 2].map(|()| MessageKey::of(&message)));
    }
}
