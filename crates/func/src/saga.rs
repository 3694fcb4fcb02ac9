//! Steps with what undoes them.

use std::{
    fmt,
    future::{Future, IntoFuture},
};

use serde::de::DeserializeOwned;

use crate::{
    context::Context,
    definition::{Activity, LocalBoxFuture},
    error::{Failure, Flow, Stop},
};

/// Steps of which each knows how it is undone. If what they are part of fails or is cancelled, those
/// that were done are undone, the last one first, and nothing interrupts that.
///
/// ```
/// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
/// # fn charge(cents: u64) -> Activity<String> {
/// #     Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents)
/// # }
/// # fn refund(id: String) -> Activity<()> {
/// #     Activity::new("refund", ActivityOptions::DEFAULT).argument("id", &id)
/// # }
/// # fn ship() -> Activity<String> { Activity::new("ship", ActivityOptions::DEFAULT) }
/// async fn order(cx: Context, cents: u64) -> Flow<String> {
///     let mut saga = cx.saga();
///     let body = async {
///         saga.step(cx.call(charge(cents)), refund).await?;
///         Ok(cx.call(ship()).await?)
///     }
///     .await;
///     saga.finish(body).await
/// }
/// ```
#[must_use = "a saga undoes nothing before it is finished"]
pub struct Saga {
    cx: Context,
    undo: Vec<Undo>,
}

type Undo = Box<dyn FnOnce(Context) -> LocalBoxFuture<'static, Result<(), Failure>>>;

impl Saga {
    pub(crate) fn new(cx: &Context) -> Self {
        Self { cx: cx.clone(), undo: Vec::new() }
    }

    /// Does a step and remembers the activity that undoes it.
    ///
    /// A step that has begun is waited for even if the function is cancelled meanwhile: otherwise
    /// nobody would know whether there is something to undo.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # fn refund(receipt: String) -> Activity<()> { Activity::new("refund", ActivityOptions::DEFAULT).argument("receipt", &receipt) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let mut saga = cx.saga();
    /// // Whatever goes wrong later, the receipt of this is given to `refund`.
    /// let receipt = saga.step(cx.call(charge(1_200)), refund).await?;
    /// # Ok(()) }
    /// ```
    pub async fn step<T: Clone + 'static, U: DeserializeOwned + 'static>(
        &mut self,
        step: impl IntoFuture<Output = Result<T, Failure>>,
        undo: impl FnOnce(T) -> Activity<U> + 'static,
    ) -> Result<T, Failure> {
        self.step_with(step, async move |cx: Context, value| cx.call(undo(value)).await.map(|_| ()))
            .await
    }

    /// Does a step and remembers the code that undoes it.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # fn refund(receipt: String) -> Activity<()> { Activity::new("refund", ActivityOptions::DEFAULT).argument("receipt", &receipt) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let mut saga = cx.saga();
    /// let reserved = cx.call(charge(1_200));
    /// saga.step_with(reserved, async |cx: Context, receipt| {
    ///     cx.sleep(Duration::from_mins(5)).await?;
    ///     cx.call(refund(receipt)).await
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub async fn step_with<
        T: Clone + 'static,
        F: Future<Output = Result<(), Failure>> + 'static,
    >(
        &mut self,
        step: impl IntoFuture<Output = Result<T, Failure>>,
        undo: impl FnOnce(Context, T) -> F + 'static,
    ) -> Result<T, Failure> {
        if self.cx.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let value = self.cx.shield(step).await?;
        let kept = value.clone();
        self.undo_with(move |cx| undo(cx, kept));
        Ok(value)
    }

    /// Remembers code that undoes something that was done without [`step`](Self::step).
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # fn refund(receipt: String) -> Activity<()> { Activity::new("refund", ActivityOptions::DEFAULT).argument("receipt", &receipt) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let mut saga = cx.saga();
    /// let receipt = cx.call(charge(1_200)).await?;
    /// saga.undo_with(async move |cx: Context| cx.call(refund(receipt)).await);
    /// # Ok(()) }
    /// ```
    pub fn undo_with<F: Future<Output = Result<(), Failure>> + 'static>(
        &mut self,
        undo: impl FnOnce(Context) -> F + 'static,
    ) {
        self.undo.push(Box::new(move |cx| Box::pin(undo(cx))));
    }

    /// Ends the saga with the result of what its steps are part of. If that has failed or was
    /// cancelled, everything is undone first. What cannot be undone does not keep the rest from being
    /// undone; then the failure has the code `compensation`, and its message names both.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # fn refund(receipt: String) -> Activity<()> { Activity::new("refund", ActivityOptions::DEFAULT).argument("receipt", &receipt) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let mut saga = cx.saga();
    /// let body = async {
    ///     saga.step(cx.call(charge(1_200)), refund).await?;
    ///     Ok(cx.call(charge(5)).await?)
    /// }
    /// .await;
    /// // The first charge is refunded where the second has failed.
    /// let tip = saga.finish(body).await?;
    /// # Ok(()) }
    /// ```
    pub async fn finish<T>(self, result: Flow<T>) -> Flow<T> {
        let why = match &result {
            Ok(_) | Err(Stop::ContinueAs(_)) => return result,
            Err(Stop::Failed(failure)) => failure.to_string(),
            Err(Stop::Cancelled) => Failure::cancelled().to_string(),
        };
        let Self { cx, undo } = self;
        let mut problems = Vec::new();
        cx.shield(async {
            for undo in undo.into_iter().rev() {
                if let Err(failure) = undo(cx.clone()).await {
                    problems.push(failure.to_string());
                }
            }
        })
        .await;
        if problems.is_empty() {
            return result;
        }
        let text = format!("not all could be undone ({}) after {why}", problems.join("; "));
        Err(Failure::terminal("compensation", text).into())
    }
}

impl fmt::Debug for Saga {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "saga with {} steps done", self.undo.len())
    }
}
