//! What a durable function sees of the engine.

use std::{
    fmt,
    future::{Future, IntoFuture},
    rc::Rc,
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_value::{Name, time::Timestamp, typed};

use crate::{
    core::Core,
    definition::{Activity, Continuation, Workflow},
    error::{Failure, Flow, Stop},
    event::Event,
    operation::{
        self, Call, Child, EventWait, JobCall, ProcessCall, SendEvent, Sleep, Spawned, Start,
    },
    random::{self, Random},
    saga::Saga,
    scope::Scope,
    text,
};

/// The surroundings of a durable function: everything that it may ask of the world.
///
/// What goes through the context is written into the journal of the function, so that after a crash,
/// or years later, the code runs again up to where it was and gets the same answers. Between two
/// calls of its context a function computes; it reads no clock, no file and no network, which is what
/// activities are for.
///
/// ```
/// # use travertine_func as travertine;
/// use std::time::Duration;
/// use travertine::{Activity, ActivityOptions, Context, Flow, select};
/// # use serde::{Deserialize, Serialize};
/// # use travertine_func::Event;
/// # #[derive(Serialize, Deserialize)]
/// # struct CancelOrder { reason: String }
/// # impl Event for CancelOrder { const NAME: &'static str = "order.cancel"; }
/// # fn ship(order: &str) -> Activity<String> {
/// #     Activity::new("ship", ActivityOptions::DEFAULT).argument("order", order)
/// # }
///
/// async fn order(cx: Context, order: String) -> Flow<String> {
///     Ok(select! { cx;
///         event = cx.event::<CancelOrder>() => format!("cancelled: {}", event?.reason),
///         _ = cx.sleep(Duration::from_secs(2 * 86_400)) => cx.call(ship(&order)).await?,
///     })
/// }
/// ```
///
/// It stays on the thread of its function; what would take it elsewhere does not compile.
///
/// ```compile_fail,E0277
/// fn elsewhere<T: Send>(_: T) {}
/// fn wrong(cx: travertine_func::Context) {
///     elsewhere(cx)
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) core: Rc<Core>,
    pub(crate) scope: Rc<Scope>,
}

impl Context {
    pub(crate) fn new(core: &Rc<Core>) -> Self {
        Self { core: Rc::clone(core), scope: Rc::default() }
    }

    /// The context of a part of the function.
    pub(crate) fn inside(&self, name: &str) -> Self {
        Self { core: Rc::clone(&self.core), scope: self.scope.open(name) }
    }

    /// How often this name was used in this part of the function, with this time.
    fn count(&self, name: &str) -> u32 {
        // Who only looks leaves no trace, not even in what later operations are called.
        if self.core.is_reading() { 1 } else { self.scope.count(name) }
    }

    /// This name, with a number from its second use on in this part of the function.
    pub(crate) fn numbered(&self, name: &str) -> String {
        match self.count(name) {
            1 => name.to_owned(),
            count => format!("{name}#{count}"),
        }
    }

    /// What the journal calls an operation whose name has these parts: that name with its number,
    /// behind the path of this part of the function.
    pub(crate) fn key(&self, name: &[&str]) -> Name {
        let path = self.scope.path();
        text::name(|key| {
            key.push_str(path);
            key.extend(name.iter().copied());
            let count = self.count(&key[path.len()..]);
            if count > 1 {
                key.push('#');
                text::push_number(key, count);
            }
        })
    }

    pub(crate) fn name(&self) -> &Name {
        &self.core.identity.id
    }

    /// A text that belongs to one operation of one run of one instance.
    pub(crate) fn unique(&self, key: &str) -> Name {
        text::name(|it| {
            it.extend([self.id(), "/"]);
            text::push_number(it, self.run());
            it.extend(["/", key]);
        })
    }

    // What is known.

    /// The id of the instance; `number:12` where it was given none.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = format!("receipt of {}", cx.id());
    /// # Ok(()) }
    /// ```
    pub fn id(&self) -> &str {
        &self.core.identity.id
    }

    /// How often the function has begun anew.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let first = cx.run() == 0;
    /// # Ok(()) }
    /// ```
    pub fn run(&self) -> u32 {
        self.core.identity.run
    }

    /// The time: when the function was last told something. It stands still in between.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let tomorrow = cx.now().after(Duration::from_hours(24));
    /// cx.sleep_until(tomorrow).await?;
    /// # Ok(()) }
    /// ```
    pub fn now(&self) -> Timestamp {
        self.core.now()
    }

    /// A generator of random numbers, which are the same when the function runs again.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let winner = cx.random().below(100);
    /// # Ok(()) }
    /// ```
    pub fn random(&self) -> Random {
        Random::new(random::seed(self.digest("random")))
    }

    /// A UUID that no other place in any function gets, and the same when this one runs again.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let parcel = cx.uuid();
    /// # Ok(()) }
    /// ```
    pub fn uuid(&self) -> String {
        random::uuid(self.digest("uuid"))
    }

    fn digest(&self, name: &str) -> u128 {
        let identity = &self.core.identity;
        let key = self.key(&[name]);
        random::digest(&[&identity.id, &identity.seed.to_string(), &identity.run.to_string(), &key])
    }

    /// Whether the function was told to end.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// if cx.is_cancelled() {
    ///     return Ok(());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.core.is_cancelled(&self.scope)
    }

    /// Makes a value once and keeps it: for what is not the same every time and too small for an
    /// activity.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let host: Option<String> = cx.record("host", || std::env::var("HOSTNAME").ok());
    /// # Ok(()) }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// // It cannot ask for operations meanwhile.
    /// fn wrong(cx: travertine_func::Context) {
    ///     let inner = cx.clone();
    ///     cx.record("x", move || inner.uuid());
    /// }
    /// ```
    pub fn record<T, F>(&self, name: &str, make: F) -> T
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> T + Send,
    {
        let key = self.key(&["record ", name]);
        let mut make = Some(make);
        let mut made = None;
        let value = self.core.record(&key, || {
            let it = make.take().map(|make| make()).expect("a value is made once");
            let value = typed::to_value(&it).map_err(|it| it.to_string());
            made = Some(it);
            value
        });
        // What was just made is read back too: what is not kept must not be relied on.
        match value.map(|it| typed::from_value(&it)) {
            Some(Ok(value)) => return value,
            Some(Err(error)) => {
                self.core.block(format!("the value that was kept as `{key}`: {error}"));
            }
            None => {}
        }
        // The session is blocked, but the code needs something to go on with until it waits.
        made.or_else(|| make.take().map(|make| make())).expect("it is made now, if not before")
    }

    /// Whether this instance runs with a change of the code. Old instances, which were beyond this
    /// point before the change, answer no for good; all others yes. When no old ones are left the
    /// call can be taken out.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn wrap() -> Activity<()> { Activity::new("wrap", ActivityOptions::DEFAULT) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// if cx.patched("wrap in paper") {
    ///     cx.call(wrap()).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn patched(&self, id: &str) -> bool {
        self.core.mark(&format!("patch {id}").into(), 1) > 0
    }

    /// Which version of some part of the code this instance runs with: `max` where it comes here
    /// first, later the same as then, and 0 where it was here before there was such a part. A version
    /// below `min` is no longer in the code, and the instance is blocked.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let pause = match cx.version("pause", 1, 2) {
    ///     1 => Duration::from_secs(60),
    ///     _ => Duration::from_secs(10),
    /// };
    /// cx.sleep(pause).await?;
    /// # Ok(()) }
    /// ```
    pub fn version(&self, id: &str, min: u32, max: u32) -> u32 {
        let version = self.core.mark(&format!("version {id}").into(), max);
        if !(min..=max).contains(&version) {
            self.core.block(format!(
                "the instance runs with version {version} of `{id}`, the code has {min} to {max}; \
                 go back to code that has it, and it goes on by itself"
            ));
        }
        version
    }

    // What is waited for.

    /// Calls an activity.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt: String = cx.call(charge(1_200)).timeout(Duration::from_secs(30)).await?;
    /// # Ok(()) }
    /// ```
    pub fn call<T: DeserializeOwned>(&self, activity: Activity<T>) -> Call<T> {
        Call::new(self, activity)
    }

    /// Offers work to workers of this type, wherever they are. What they say at its end is the result.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let colour: String = cx.job("paint").variable("colour", "red").await?;
    /// # Ok(()) }
    /// ```
    pub fn job<T: DeserializeOwned>(&self, job_type: &str) -> JobCall<T> {
        JobCall::new(self, job_type)
    }

    /// Sleeps so long.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.sleep(Duration::from_hours(48)).await?;
    /// # Ok(()) }
    /// ```
    pub fn sleep(&self, duration: Duration) -> Sleep {
        // Not shorter than asked for: what is less than a millisecond counts as one.
        let is_whole = duration.subsec_nanos().is_multiple_of(1_000_000);
        let more = if is_whole { Duration::ZERO } else { Duration::from_millis(1) };
        self.sleep_until(self.now().after(duration.saturating_add(more)))
    }

    /// Sleeps until then. A time that has passed is over at once.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let midnight = (cx.now().as_millis() / 86_400_000 + 1) * 86_400_000;
    /// cx.sleep_until(travertine_value::time::Timestamp::from_millis(midnight)).await?;
    /// # Ok(()) }
    /// ```
    pub fn sleep_until(&self, due: Timestamp) -> Sleep {
        let soonest = self.now().after(self.core.settings.timer_resolution);
        let due = if due > self.now() { due.max(soonest) } else { due };
        Sleep::new(self, due)
    }

    /// Waits for an event that is sent to this function, or to everyone.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, EventConfig, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid {
    /// #     const NAME: &'static str = "order.paid";
    /// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
    /// # }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let cents = cx.event::<Paid>().await?.cents;
    /// # Ok(()) }
    /// ```
    pub fn event<E: Event>(&self) -> EventWait<E> {
        EventWait::new(self)
    }

    /// Waits until a condition over what the code has in hand is true. It is looked at whenever the
    /// function is told something.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::{cell::Cell, rc::Rc};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let seen = Rc::new(Cell::new(0));
    /// let counted = Rc::clone(&seen);
    /// cx.on_update("add", |_: &u32| Ok(()), move |it| Ok(counted.set(counted.get() + it)));
    /// cx.until(|| seen.get() >= 10).await?;
    /// # Ok(()) }
    /// ```
    pub async fn until(&self, condition: impl FnMut() -> bool) -> Result<(), Failure> {
        operation::until(self, condition).await
    }

    // Others.

    /// Sends an event.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, EventConfig, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid {
    /// #     const NAME: &'static str = "order.paid";
    /// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
    /// # }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.send(Paid { cents: 1_200 }).to("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn send<E: Event>(&self, event: E) -> SendEvent<E> {
        SendEvent::new(self, event)
    }

    /// Calls another function and waits for its result. It ends with this one.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let parcel: String = cx.child(parcel("teapot")).await?;
    /// # Ok(()) }
    /// ```
    pub fn child<T: DeserializeOwned>(&self, workflow: Workflow<T>) -> Child<T> {
        Child::new(self, workflow)
    }

    /// Lets another function run beside this one. See [`Spawned`].
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # use std::time::Duration;
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let beside = cx.spawn(parcel("teapot"));
    /// cx.sleep(Duration::from_secs(60)).await?;
    /// let parcel: String = beside.await?;
    /// # Ok(()) }
    /// ```
    pub fn spawn<T: DeserializeOwned>(&self, workflow: Workflow<T>) -> Spawned<T> {
        Spawned::new(self, workflow)
    }

    /// Starts another function, which goes its own way.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let id = cx.start(parcel("teapot")).id("parcel-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn start<T>(&self, workflow: Workflow<T>) -> Start {
        let (definition, may_change) = (Name::from(workflow.name()), workflow.may_change);
        Start::new(self, definition, workflow.into_arguments(), may_change)
    }

    /// Calls a process. See [`ProcessCall`].
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// #[derive(serde::Deserialize)]
    /// struct Delivered { price: u64 }
    ///
    /// let price = cx.process::<Delivered>("delivery").variable("town", "Rome").await?.price;
    /// # Ok(()) }
    /// ```
    pub fn process<T: DeserializeOwned>(&self, id: &str) -> ProcessCall<T> {
        ProcessCall::new(self, id)
    }

    // Parts.

    /// Runs a part of the function under a name of its own: what it asks for is counted apart.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// for item in ["pot", "lid"] {
    ///     // Both ask for `sleep`, each within its own part.
    ///     cx.gosub(item, async |cx| cx.sleep(Duration::from_secs(1)).await).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn gosub<F: Future>(&self, name: &str, run: impl FnOnce(Self) -> F) -> F::Output {
        let name = self.numbered(&format!("gosub {name}"));
        run(self.inside(&name)).await
    }

    /// Lets what is inside go on although the function was told to end: for clearing up.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let waited = cx.sleep(Duration::from_hours(1)).await;
    /// if waited.is_err() {
    ///     // Whoever ends this function waits for that.
    ///     cx.shield(cx.call(charge(100))).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn shield<F: IntoFuture>(&self, inner: F) -> F::Output {
        let inner = async move { inner.into_future().await };
        operation::shield(self, inner).await
    }

    /// Steps with what undoes them.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # fn refund(receipt: String) -> Activity<()> { Activity::new("refund", ActivityOptions::DEFAULT).argument("receipt", &receipt) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let mut saga = cx.saga();
    /// let paid = saga.step(cx.call(charge(1_200)), refund).await;
    /// let receipt = saga.finish(paid.map_err(Into::into)).await?;
    /// # Ok(()) }
    /// ```
    pub fn saga(&self) -> Saga {
        Saga::new(self)
    }

    /// Ends this run and begins anew with an empty journal, as the same instance: for functions that
    /// go on for long.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn billing(cycle: u32) -> Workflow<()> { Workflow::new("billing", 1).argument("cycle", &cycle) }
    /// async fn billing_body(cx: Context, cycle: u32) -> Flow<()> {
    ///     if cycle == 12 {
    ///         return Ok(());
    ///     }
    ///     cx.sleep(Duration::from_secs(30 * 86_400)).await?;
    ///     cx.continue_as(billing(cycle + 1))
    /// }
    /// ```
    #[expect(clippy::unused_self, reason = "only a function that runs can continue")]
    pub fn continue_as<T, O>(&self, workflow: Workflow<O>) -> Flow<T> {
        let definition = Name::from(workflow.name());
        let arguments = workflow.into_arguments()?;
        Err(Stop::ContinueAs(Continuation { definition, arguments }))
    }

    // What others ask of it.

    /// Answers those who look into the function. The handler may only look.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::{cell::Cell, rc::Rc};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let steps = Rc::new(Cell::new(0));
    /// let seen = Rc::clone(&steps);
    /// cx.on_query("steps", move |()| seen.get());
    /// # Ok(()) }
    /// ```
    pub fn on_query<I, O>(&self, name: &str, answer: impl Fn(I) -> O + 'static)
    where
        I: DeserializeOwned,
        O: Serialize,
    {
        self.core.handlers.borrow_mut().add_query(name, answer);
    }

    /// Lets others change what the code has in hand, and answers them. `validate` may only look; what
    /// it refuses does not become part of the journal. Register updates before the first wait: one
    /// that comes earlier is refused.
    ///
    /// ```
    /// # use travertine_func::{Context, Failure, Flow};
    /// # use std::{cell::RefCell, rc::Rc};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let address = Rc::new(RefCell::new("Rome".to_owned()));
    /// let changed = Rc::clone(&address);
    /// let nowhere = || Failure::terminal("no-address", "an address has letters");
    /// cx.on_update(
    ///     "move",
    ///     move |to: &String| if to.is_empty() { Err(nowhere()) } else { Ok(()) },
    ///     move |to: String| Ok(changed.replace(to)),
    /// );
    /// # Ok(()) }
    /// ```
    pub fn on_update<I, O>(
        &self,
        name: &str,
        validate: impl Fn(&I) -> Result<(), Failure> + 'static,
        apply: impl FnMut(I) -> Result<O, Failure> + 'static,
    ) where
        I: DeserializeOwned,
        O: Serialize,
    {
        self.core.handlers.borrow_mut().add_update(name, validate, apply);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context of {} run {}", self.id(), self.run())
    }
}
