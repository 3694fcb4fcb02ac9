//! Messages and signals from outside: for anyone who waits, or for one instance that is named.

use std::{
    collections::BTreeMap,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::oneshot;
use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Assignments, check_variables};
use travertine_store::{
    ShardId,
    codec::record::decode_held,
    view::{Cursor, Filter, Key, Query, Row, Table},
};
use travertine_value::{Limits, Map, Name, Value};

use super::{Common, Engine, Pending, block_on, router::Router};
use crate::{
    BadId, Consume, Correlated, DeadLetter, Delivery, Error, INSTANCE, InstanceId, Message,
    Published, Receipt, SignalReceipt, WHERE,
    awaited::Teller,
    id,
    message::START,
    request::{
        Ask, Candidate, DescribeRequest, DiscardRequest, FinishPublishRequest, How, Looked,
        MatchVariablesRequest, Publishing, Relay, ReplayRequest, Reply, SignalRequest,
        TryPublishRequest,
    },
};

/// How many instances a shard is asked about at a time, so that others have their turn in between.
const CHUNK: usize = 256;

/// A message that is about to be sent. Awaiting it, or [`MessageRequest::wait`], sends it.
///
/// It goes to whoever has waited longest and agrees with it, unless it is to one instance:
/// [`to_instance`](Self::to_instance), [`business_key`](Self::business_key) and
/// [`where_variable`](Self::where_variable) say to which, and may be combined. Such a message starts
/// nothing. Where several instances could be meant, or none waits for it and it has no
/// [`ttl`](Self::ttl), it is refused and nobody has it.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, Receipt};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let receipt = engine.message("paid").business_key("order-7").variable("cents", 1_200).await?;
/// if let Receipt::Received(wait) = receipt {
///     println!("instance {} has it", wait.instance);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is sent before it is awaited"]
pub struct MessageRequest<'a> {
    engine: &'a Engine,
    message: Message,
    instance: Option<InstanceId>,
    business_key: Option<Name>,
    variables: Map,
    options: PublishOptions,
}

/// How a message is published.
///
/// ```
/// # use travertine_runtime::engine::PublishOptions;
/// # use std::time::Duration;
/// // Its id is recognised as long as it is held, and no longer.
/// let how = PublishOptions { known_for: Some(Duration::ZERO) };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishOptions {
    /// How long the same message is recognised by its id when it comes again, and at least as long as its time
    /// to live; as long as the engine was told when it was opened where nothing is said.
    pub known_for: Option<Duration>,
}

impl PublishOptions {
    fn how(self, awaited: bool) -> How {
        How { known_for: self.known_for, awaited }
    }
}

impl MessageRequest<'_> {
    /// Sends it only to the instance of this number.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").to_instance(InstanceId(12)).await?;
    /// # Ok(()) }
    /// ```
    #[expect(clippy::wrong_self_convention, reason = "it says where to, and converts nothing")]
    pub fn to_instance(mut self, instance: InstanceId) -> Self {
        self.instance = Some(instance);
        self
    }

    /// Sends it only to the instance with this business key: the id that it was started with.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.start("delivery").id("order-7").await?;
    /// engine.message("paid").business_key("order-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn business_key(mut self, key: &str) -> Self {
        self.business_key = Some(key.into());
        self
    }

    /// Sends it only to the instance whose waiting element sees a variable with this value; may be said again for
    /// several. What this costs grows with how many wait for messages of this name.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").where_variable("orderId", 2).await?;
    /// # Ok(()) }
    /// ```
    pub fn where_variable(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// A property that must agree with the receiver, where both define it. Where a model made for Camunda 7
    /// receives it, that is a variable which must have this value.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").correlate("order", 7).await?;
    /// # Ok(()) }
    /// ```
    pub fn correlate(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.message.correlation.push((name.into(), value.into()));
        self
    }

    /// The correlation key, for models made for Camunda 8.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").key("order-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn key(self, key: impl Into<Value>) -> Self {
        self.correlate(CORRELATION_KEY, key)
    }

    /// A variable that it brings.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").variable("cents", 1_200).variable("currency", "EUR").await?;
    /// # Ok(()) }
    /// ```
    pub fn variable(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.message.variables.push((name.into(), value.into()));
        self
    }

    /// Variables that it brings.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").variables(vec![("cents".into(), 1_200.into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn variables(mut self, variables: Assignments) -> Self {
        self.message.variables.extend(variables);
        self
    }

    /// Sets what the sender calls it. Sent again under the same id, with the same name and for the same receiver,
    /// it is recognised and delivered once.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Receipt};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").key("order-7").id("payment-99").await?;
    /// let again = engine.message("paid").key("order-7").id("payment-99").await?;
    /// assert_eq!(again, Receipt::Known);
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: &str) -> Self {
        self.message.id = Some(id.into());
        self
    }

    /// How long it is held where nobody waits for it yet. Where nothing is said, one that is to one instance
    /// is not held, and any other for good.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").business_key("order-7").ttl(Duration::from_secs(3_600)).await?;
    /// # Ok(()) }
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.message.ttl = Some(ttl);
        self
    }

    /// How long the same message is recognised by its [`id`](Self::id) when it comes again, and at least as long
    /// as its [`ttl`](Self::ttl); an hour where nothing is said here nor when the engine was opened.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").id("payment-99").known_for(Duration::from_hours(24)).await?;
    /// # Ok(()) }
    /// ```
    pub fn known_for(mut self, known_for: Duration) -> Self {
        self.options.known_for = Some(known_for);
        self
    }

    /// Sends it to all who wait for it, and to those who come to wait before it expires; to one alone where it
    /// says to which.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("shop closes").for_all().await?;
    /// # Ok(()) }
    /// ```
    pub fn for_all(mut self) -> Self {
        self.message.consume = Consume::All;
        self
    }

    /// Which waits it is for.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Delivery, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").delivery(Delivery::AfterCreate).await?;
    /// # Ok(()) }
    /// ```
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.message.delivery = delivery;
        self
    }

    /// Sends it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId, Receipt};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let receipt: Receipt = engine.message("paid").to_instance(InstanceId(12)).wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<Receipt, Error> {
        block_on(&mut self.into_future())
    }

    async fn send(self) -> Result<Receipt, Error> {
        let Self { engine, mut message, instance, business_key, variables, options } = self;
        let publish =
            async |message| engine.publish_with(message, options).await.map(|it| it.receipt);
        let whom = whom(instance, business_key.as_deref(), &variables);
        // One that has a number is looked for by it, and its key is looked at.
        let to = instance.map(InstanceId::unnamed).or_else(|| business_key.clone());
        message.correlation.extend(to.map(|it| (INSTANCE.into(), it.into())));
        if !variables.is_empty() {
            message.correlation.push((WHERE.into(), variables.into()));
        }
        let Some(whom) = whom else { return publish(message).await };
        if let (Some(instance), Some(key)) = (instance, &business_key)
            && engine.called(instance).await?.as_ref() != Some(key)
        {
            let reason = format!("instance {instance} does not have the business key {key}");
            return Err(Error::NoReceiver { message: message.name, reason });
        }
        let ttl = message.ttl.unwrap_or_default();
        message.ttl = Some(ttl);
        if let (Some(instance), true) = (instance, !ttl.is_zero()) {
            // Nobody else will ever have that number, so it must be there to be waited for.
            let now = Message { ttl: Some(Duration::ZERO), ..message.clone() };
            match publish(now).await? {
                Receipt::Dropped => engine.check_open(instance, &message.name).await?,
                receipt => return Ok(receipt),
            }
        }
        let name = Name::clone(&message.name);
        match publish(message).await? {
            receipt @ (Receipt::Dropped | Receipt::Shared(0))
                if receipt == Receipt::Dropped || ttl.is_zero() =>
            {
                if let Some(instance) = instance {
                    engine.check_open(instance, &name).await?;
                }
                Err(Error::NoReceiver { message: name, reason: format!("{whom} waits for it") })
            }
            receipt => Ok(receipt),
        }
    }
}

/// Who does not wait, of those whom a message is to, in words; nothing where it is to anyone.
fn whom(instance: Option<InstanceId>, key: Option<&str>, variables: &Map) -> Option<String> {
    let variables: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name} = {}", value.to_json())).collect();
    let variables = variables.join(" and ");
    let with =
        |what: String| if variables.is_empty() { what } else { format!("{what} with {variables}") };
    match (instance, key) {
        (Some(instance), _) => {
            Some(format!("no element of {}", with(format!("instance {instance}"))))
        }
        (None, Some(key)) => Some(with(format!("no instance called {key}"))),
        (None, None) if variables.is_empty() => None,
        (None, None) => Some(with("no instance".to_owned())),
    }
}

impl<'a> IntoFuture for MessageRequest<'a> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Who publishes a message, and goes on where that depends on variables which other shards have.
#[derive(Debug)]
struct Publisher {
    common: Weak<Common>,
    how: How,
    end: End,
}

/// Who is told what has become of a message.
#[derive(Debug)]
enum End {
    /// Whoever has published it.
    Caller(oneshot::Sender<Result<Reply, Error>>),
    /// Whoever waits for what its receiver decides.
    Awaits(Teller),
}

impl End {
    /// The message is published, or refused.
    fn published(self, common: Option<&Arc<Common>>, reply: Result<Reply, Error>) {
        match self {
            Self::Caller(sender) => {
                // Whoever asked may not wait any more.
                let _: Result<(), Result<Reply, Error>> = sender.send(reply);
            }
            Self::Awaits(teller) => match reply.map(published) {
                Err(error) => {
                    let _: Result<(), Result<Option<Correlated>, Error>> = teller.send(Err(error));
                }
                Ok(Published { number: Some(number), .. }) => {
                    // Where the engine has ended, whoever waits for the answer is told that.
                    if let Some(common) = common {
                        common.board.awaited.wait(number, teller);
                    }
                }
                Ok(Published { number: None, .. }) => {
                    let _: Result<(), Result<Option<Correlated>, Error>> = teller.send(Ok(None));
                }
            },
        }
    }
}

impl Relay for Publisher {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        let Self { common, how, end } = *self;
        let common = common.upgrade();
        match reply {
            Ok(Reply::TryPublish(Publishing::Look(message, candidates))) => {
                // Where the engine has ended, whoever waits for the answer is told that.
                if let Some(common) = common {
                    let looked = Looked::default();
                    let lookup = Lookup { message: *message, how, end, looked };
                    lookup.begin(&common, candidates);
                }
            }
            reply => end.published(common.as_ref(), reply),
        }
    }
}

/// Someone who waits for what the receiver of a message decides, whose message is published now.
#[derive(Debug)]
struct Finisher {
    common: Weak<Common>,
    end: End,
}

impl Relay for Finisher {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        self.end.published(self.common.upgrade().as_ref(), reply);
    }
}

/// What has become of a message in the end.
fn published(reply: Reply) -> Published {
    match reply {
        Reply::TryPublish(Publishing::Done(published)) => published,
        reply => FinishPublishRequest::reply(reply),
    }
}

fn receipt(reply: Reply) -> Receipt {
    published(reply).receipt
}

/// A message that depends on variables which other shards have.
#[derive(Debug)]
struct Lookup {
    message: Message,
    how: How,
    end: End,
    looked: Looked,
}

impl Lookup {
    /// Has each shard look at its own, and then the message sent.
    fn begin(mut self, common: &Arc<Common>, candidates: Vec<Candidate>) {
        self.looked.at = candidates.iter().map(|(of, _)| *of).collect();
        let router = Router::new(common);
        let mut by_shard: BTreeMap<ShardId, Vec<Candidate>> = BTreeMap::new();
        for it in candidates {
            by_shard.entry(router.shard_of(it.0.instance)).or_default().push(it);
        }
        let chunks: Vec<Vec<Candidate>> =
            by_shard.values().flat_map(|all| all.chunks(CHUNK)).map(<[_]>::to_vec).collect();
        let left = Arc::new(Mutex::new((chunks.len(), Some(self))));
        for candidates in chunks {
            let part = Part { left: Arc::clone(&left), common: Arc::downgrade(common) };
            let asked = MatchVariablesRequest { candidates };
            // Where the engine has failed, whoever waits for the answer is told that.
            let _: Result<(), Error> = router.relay(asked, Box::new(part));
        }
    }

    /// Has the message published, now that it is known who agrees.
    fn finish(self, common: &Arc<Common>) {
        let Self { message, how, end, looked } = self;
        let (router, finish) =
            (Router::new(common), FinishPublishRequest { message, looked: Box::new(looked), how });
        match end {
            End::Caller(sender) => router.answer(finish, sender),
            end @ End::Awaits(_) => {
                let finisher = Finisher { common: Arc::downgrade(common), end };
                // Where the engine has failed, whoever waits for the answer is told that.
                let _: Result<(), Error> = router.relay(finish, Box::new(finisher));
            }
        }
    }
}

/// A part of a look-up: what one shard has found.
#[derive(Debug)]
struct Part {
    /// How many parts are still to come, and what they are for.
    left: Arc<Mutex<(usize, Option<Lookup>)>>,
    common: Weak<Common>,
}

impl Relay for Part {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.0 -= 1;
        if let (Some(lookup), Ok(reply)) = (&mut left.1, reply) {
            lookup.looked.agreeing.extend(MatchVariablesRequest::reply(reply));
        }
        let done = if left.0 == 0 { left.1.take() } else { None };
        drop(left);
        // Where the engine has ended, whoever waits for the answer is told that.
        if let (Some(lookup), Some(common)) = (done, self.common.upgrade()) {
            lookup.finish(&common);
        }
    }
}

impl Engine {
    /// Sends a message: awaiting what this answers with sends it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.message("paid").business_key("order-7").variable("cents", 1_200).await?;
    /// # Ok(()) }
    /// ```
    pub fn message(&self, name: &str) -> MessageRequest<'_> {
        let (message, variables) = (Message::new(name), Map::new());
        let options = PublishOptions::default();
        let (instance, business_key) = (None, None);
        MessageRequest { engine: self, message, instance, business_key, variables, options }
    }

    /// What people call an instance.
    async fn called(&self, instance: InstanceId) -> Result<Option<Name>, Error> {
        Ok(self.ask(DescribeRequest { instance }).await?.business_id)
    }

    /// Refuses a message to an instance that is not there, or has ended.
    async fn check_open(&self, instance: InstanceId, message: &Name) -> Result<(), Error> {
        if self.ask(DescribeRequest { instance }).await?.has_ended {
            let (message, reason) =
                (Name::clone(message), format!("instance {instance} has ended"));
            return Err(Error::NoReceiver { message, reason });
        }
        Ok(())
    }

    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever comes to
    /// wait for it before it expires. One for all goes to all who wait and to the start events, and is kept
    /// for others until it expires. One that would have to be held while too many of its name are is
    /// refused.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Message};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let variables = vec![("cents".into(), 1_200.into())];
    /// let receipt = engine.publish(Message { variables, ..Message::new("order.paid") }).await?;
    /// # Ok(()) }
    /// ```
    pub fn publish(&self, message: Message) -> Pending<Receipt> {
        let (sender, receiver) = oneshot::channel();
        match self.publish_to(message, PublishOptions::default().how(false), End::Caller(sender)) {
            Ok(()) => Pending::new(receiver, &self.inner.common, receipt),
            Err(error) => Pending::refused(error),
        }
    }

    /// Sends a message as [`Engine::publish`] does, with these options, and answers its number, too.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Message};
    /// # use travertine_runtime::engine::PublishOptions;
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let message = Message { id: Some("payment-99".into()), ..Message::new("order.paid") };
    /// let how = PublishOptions { known_for: Some(Duration::from_hours(24)) };
    /// let published = engine.publish_with(message, how).await?;
    /// println!("message {:?}: {:?}", published.number, published.receipt);
    /// # Ok(()) }
    /// ```
    pub fn publish_with(&self, message: Message, options: PublishOptions) -> Pending<Published> {
        let (sender, receiver) = oneshot::channel();
        match self.publish_to(message, options.how(false), End::Caller(sender)) {
            Ok(()) => Pending::new(receiver, &self.inner.common, published),
            Err(error) => Pending::refused(error),
        }
    }

    /// Sends a message to one receiver who waits for it now, or has it start something, and answers once the
    /// receiver has taken it: `None` where nobody has. It is not held. A receiver that is suspended has it, and
    /// goes on with it when it is resumed.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Message};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(taken) = engine.correlate(Message::new("order.paid")).await? {
    ///     println!("instance {} has it", taken.instance);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn correlate(&self, message: Message) -> Pending<Option<Correlated>> {
        let message = Message { ttl: Some(Duration::ZERO), consume: Consume::One, ..message };
        let (teller, receiver) = oneshot::channel();
        match self.publish_to(message, PublishOptions::default().how(true), End::Awaits(teller)) {
            Ok(()) => Pending::aside(receiver, &self.inner.common),
            Err(error) => Pending::refused(error),
        }
    }

    fn publish_to(&self, message: Message, how: How, end: End) -> Result<(), Error> {
        let all = message.variables.iter().chain(&message.correlation);
        check_variables(all, &Limits::default())?;
        if &*message.name == START {
            return Err(Error::BadId { id: message.name, reason: BadId::Reserved });
        }
        message.id.as_ref().map_or(Ok(()), id::check)?;
        let publisher = Publisher { common: Arc::downgrade(&self.inner.common), how, end };
        self.router().relay(TryPublishRequest { message, how }, Box::new(publisher))
    }

    /// Dead letters, the oldest first: messages for one receiver that nobody has taken before they expired.
    /// Those of a name, where one is given; `after` the number of the last one seen; at most so many.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.dead_letters(Some("order.paid"), None, 100)? {
    ///     println!("{}: {}", it.number, it.reason);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn dead_letters(
        &self,
        name: Option<&str>,
        after: Option<u64>,
        most: u32,
    ) -> Result<Vec<DeadLetter>, Error> {
        let mut filters = vec![Filter::Dead(true)];
        filters.extend(name.map(|it| Filter::Named(it.into())));
        let after = after.map(|it| Cursor(Key::of_instance(it)));
        let table = Table::Messages;
        let query = Query { table, filters, descending: false, after, limit: most };
        let rows = self.query_now(&query)?.rows.into_iter();
        let letter = |row| {
            let Row::Message(row) = row else { return None };
            let held = match decode_held(&row.body) {
                Ok(held) => held,
                Err(error) => {
                    return Some(Err(Error::damaged(format!("message {}", row.id), &error)));
                }
            };
            let dead = held.dead?;
            Some(Ok(DeadLetter {
                number: held.number,
                message: held.message,
                published: held.published,
                died: dead.at,
                reason: dead.reason,
            }))
        };
        rows.filter_map(letter).collect()
    }

    /// Publishes a dead letter again, with a new time to live.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.dead_letters(None, None, 100)? {
    ///     engine.replay(it.number).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn replay(&self, dead_letter: u64) -> Pending<Receipt> {
        self.ask(ReplayRequest { dead_letter })
    }

    /// Drops a dead letter.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.dead_letters(None, None, 100)? {
    ///     engine.discard(it.number).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn discard(&self, dead_letter: u64) -> Pending<()> {
        self.ask(DiscardRequest { dead_letter })
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers. Answers with how
    /// many have heard it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let heard = engine.signal("shop closes", vec![]).await?;
    /// println!("{} had waited for it", heard.received);
    /// # Ok(()) }
    /// ```
    pub fn signal(&self, name: &str, variables: Assignments) -> Pending<SignalReceipt> {
        if let Err(error) = check_variables(&variables, &Limits::default()) {
            return Pending::refused(error);
        }
        self.ask(SignalRequest { name: name.into(), variables })
    }
}
