//! Events: messages with a type, to functions and processes that wait for them.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

use travertine_func::Event;
use travertine_value::{Name, Value, typed};

use super::{Engine, block_on};
use crate::{Error, INSTANCE, Message, Receipt, shard::configure};

/// An event that is about to be sent. Awaiting it sends it.
///
/// ```no_run
/// # use travertine_func::{Event, EventConfig};
/// # use travertine_runtime::{Engine, Error};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Paid { cents: u64 }
/// # impl Event for Paid {
/// #     const NAME: &'static str = "order.paid";
/// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
/// # }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// engine.send_event(Paid { cents: 5 }).to("order-1").message_id("click-17").await?;
/// engine.send_event(Paid { cents: 5 }).key("customer-7").await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is sent before it is awaited"]
#[derive(Debug)]
pub struct Sending<'a> {
    engine: &'a Engine,
    message: Result<Message, Error>,
    to: Option<Name>,
}

impl Sending<'_> {
    fn change(mut self, change: impl FnOnce(&mut Message)) -> Self {
        if let Ok(message) = &mut self.message {
            change(message);
        }
        self
    }

    /// Sends it only to the run of this id, or to the one called so later. A number is an id where a run is called
    /// so; otherwise it is that of a run without an id, if there is one when the event is sent.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).to("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn to(mut self, id: &str) -> Self {
        self.to = Some(id.into());
        self
    }

    /// Sends it only to those who wait with this key, or with none.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // For those who wait with `cx.event::<Paid>().key("customer-7")`.
    /// engine.send_event(Paid { cents: 1_200 }).key("customer-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn key(self, key: impl Into<Value>) -> Self {
        let key = key.into();
        self.change(|it| it.correlation.push(("key".into(), key)))
    }

    /// Sets what the sender calls it. Sent again under the same id, it is recognised and delivered once.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Receipt};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).message_id("click-17").await?;
    /// let again = engine.send_event(Paid { cents: 1_200 }).message_id("click-17").await?;
    /// assert_eq!(again, Receipt::Known);
    /// # Ok(()) }
    /// ```
    pub fn message_id(self, id: &str) -> Self {
        self.change(|it| it.id = Some(id.into()))
    }

    /// What would be sent, for [`Engine::publish`]. It is for the run of exactly that id: one that was
    /// given none has [`Run::id`](super::Run::id).
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Message};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let message: Message = engine.send_event(Paid { cents: 1_200 }).to("order-1").into_message()?;
    /// let receipt = engine.publish(message).await?;
    /// # Ok(()) }
    /// ```
    pub fn into_message(self) -> Result<Message, Error> {
        let to = self.to;
        self.message.map(|it| sent_to(it, to))
    }

    /// Sends it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Receipt};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let receipt: Receipt = engine.send_event(Paid { cents: 1_200 }).to("order-1").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<Receipt, Error> {
        block_on(&mut self.into_future())
    }
}

/// A message, to the run of an id alone where there is one.
fn sent_to(mut message: Message, to: Option<Name>) -> Message {
    message.correlation.extend(to.map(|it| (INSTANCE.into(), it.into())));
    message
}

impl<'a> IntoFuture for Sending<'a> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { engine, message, to } = self;
        Box::pin(async move {
            let to = match to {
                Some(to) => Some(engine.address(&to).await?),
                None => None,
            };
            engine.publish(sent_to(message?, to)).await
        })
    }
}

impl Engine {
    /// Sends an event to the functions, and processes, that wait for it, as its type says.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).await?;
    /// # Ok(()) }
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "who sends an event has no use for it any more"
    )]
    pub fn send_event<E: Event>(&self, event: E) -> Sending<'_> {
        let variables = typed::to_assignments(&event);
        let message = variables.map_err(|error| Error::Failed { reason: error.to_string() });
        let retention = self.inner.event_retention;
        let message = message.map(|variables| {
            let mut config = E::CONFIG;
            config.expire_after.get_or_insert(retention);
            let mut message = Message { variables, ..Message::new(E::NAME) };
            configure(&mut message, config);
            message
        });
        Sending { engine: self, message, to: None }
    }
}
