//! Several things at once: races, joins, branches and batches.
//!
//! Branches are polled only when something that they wait for has happened, so ten thousand of them
//! cost no more than the one that goes on.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    fmt,
    future::{Future, IntoFuture, poll_fn},
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    task::{self, Poll, Wake, Waker},
    time::Duration,
};

use travertine_value::time::Timestamp;

use crate::{
    context::Context,
    error::{Failure, Flow, Stop},
    merge::Merge,
    scope::Scope,
};

impl Context {
    /// Waits for both.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let (one, other) = cx.join(cx.call(charge(1)), cx.call(charge(2))).await;
    /// let both = (one?, other?);
    /// # Ok(()) }
    /// ```
    pub async fn join<A: IntoFuture, B: IntoFuture>(&self, a: A, b: B) -> (A::Output, B::Output) {
        let (mut a, mut b) = (Box::pin(a.into_future()), Box::pin(b.into_future()));
        let (mut a_done, mut b_done) = (None, None);
        poll_fn(|task| {
            poll_into(&mut a, &mut a_done, task);
            poll_into(&mut b, &mut b_done, task);
            match (a_done.take(), b_done.take()) {
                (Some(a), Some(b)) => Poll::Ready((a, b)),
                (a, b) => {
                    (a_done, b_done) = (a, b);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits for all of them. The answers stand in the order of the questions.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipts = cx.join_all((1..=3).map(|cents| cx.call(charge(cents)))).await;
    /// # Ok(()) }
    /// ```
    pub async fn join_all<I>(&self, all: I) -> Vec<<I::Item as IntoFuture>::Output>
    where
        I: IntoIterator<Item: IntoFuture>,
    {
        let mut branches = Branches::new();
        for (index, it) in all.into_iter().enumerate() {
            branches.push(index, it.into_future());
        }
        let mut answers: Vec<_> = (0..branches.len()).map(|_| None).collect();
        poll_fn(|task| {
            while let Some((index, answer)) = branches.poll_next(task) {
                answers[index] = Some(answer);
            }
            if branches.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        answers.into_iter().map(|it| it.expect("every branch has ended")).collect()
    }

    /// Waits for the first of them, and says which it was. The first is the one whose end comes first
    /// in the journal; all others are dropped.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let (winner, receipt) = cx.race([1, 2].map(|cents| cx.call(charge(cents)))).await;
    /// # Ok(()) }
    /// ```
    pub async fn race<I>(&self, all: I) -> (usize, <I::Item as IntoFuture>::Output)
    where
        I: IntoIterator<Item: IntoFuture>,
    {
        let mut all: Vec<_> = all.into_iter().map(|it| Some(Box::pin(it.into_future()))).collect();
        first(self, |task| {
            for (index, it) in all.iter_mut().enumerate() {
                if let Some(Poll::Ready(answer)) = it.as_mut().map(|it| it.as_mut().poll(task)) {
                    return Poll::Ready((index, answer));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for the first of two to eight things of different kinds. [`select!`](crate::select)
    /// reads better.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Arm, Context, Flow, select};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// match cx.select((cx.call(charge(1)), cx.sleep(Duration::from_mins(1)))).await {
    ///     Arm::A(receipt) => println!("{}", receipt?),
    ///     Arm::B(slept) => slept?,
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn select<A: Arms>(&self, arms: A) -> A::Output {
        let poll = arms.into_poll();
        first(self, poll).await
    }

    /// Waits no longer than this: then the answer is a failure with the code `timeout`, and what was
    /// waited for is dropped.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_func::{Activity, Context, Failure, Flow};
    /// # async fn f(cx: Context, pay: Activity<u64>) -> Flow<Option<u64>> {
    /// match cx.timeout(Duration::from_secs(60), cx.call(pay)).await {
    ///     Ok(paid) => Ok(Some(paid?)),
    ///     Err(failure) if failure.is_timeout() => Ok(None),
    ///     Err(failure) => Err(failure.into()),
    /// }
    /// # }
    /// ```
    pub async fn timeout<F: IntoFuture>(
        &self,
        duration: Duration,
        inner: F,
    ) -> Result<F::Output, Failure> {
        match self.select((inner, self.sleep(duration))).await {
            Arm::A(answer) => Ok(answer),
            Arm::B(slept) => {
                slept.and(Err(Failure::timeout(format!("not done after {duration:?}"))))
            }
        }
    }

    /// Waits no longer than until that time; otherwise as [`timeout`](Self::timeout) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let noon = cx.now().after(Duration::from_hours(1));
    /// let receipt = cx.deadline(noon, cx.call(charge(1))).await??;
    /// # Ok(()) }
    /// ```
    pub async fn deadline<F: IntoFuture>(
        &self,
        due: Timestamp,
        inner: F,
    ) -> Result<F::Output, Failure> {
        match self.select((inner, self.sleep_until(due))).await {
            Arm::A(answer) => Ok(answer),
            Arm::B(slept) => slept.and(Err(Failure::timeout(format!("not done at {due}")))),
        }
    }

    /// Runs branches at the same time and merges what they give, in the order of the branches and
    /// never in that of their ends. When one fails, the others are cancelled: their operations answer
    /// so, they may clear up under a shield, and then the failure is the answer.
    ///
    /// Each branch gets a context of its own; what is asked for through it belongs to the branch.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow, merge};
    /// # fn price(shop: u32) -> Activity<u64> {
    /// #     Activity::new("price", ActivityOptions::DEFAULT).argument("shop", &shop)
    /// # }
    /// async fn cheapest(cx: Context) -> Flow<Option<u64>> {
    ///     let shops = [1, 2, 3].map(|shop| async move |cx: Context| Ok(cx.call(price(shop)).await?));
    ///     let prices = cx.fan_out(shops, merge::All).await?;
    ///     Ok(prices.into_iter().min())
    /// }
    /// ```
    pub async fn fan_out<B, F, T, M>(
        &self,
        branches: impl IntoIterator<Item = B>,
        merge: M,
    ) -> Flow<M::Output>
    where
        B: FnOnce(Self) -> F,
        F: Future<Output = Flow<T>>,
        M: Merge<T>,
    {
        let name = self.numbered("fan_out");
        let branches = branches.into_iter().map(|it| move |cx| it(cx));
        let results = side_by_side(self, &name, usize::MAX, branches).await?;
        Ok(merge.merge(results)?)
    }

    /// Runs over items in slices of `size`, of which `parallel` run at the same time at most; the
    /// last slice may be shorter. The answers stand in the order of the slices. When one fails, the
    /// others are cancelled as in [`fan_out`](Self::fan_out), and no further one begins.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn mail(to: Vec<String>) -> Activity<usize> {
    /// #     Activity::new("mail", ActivityOptions::DEFAULT).argument("to", &to)
    /// # }
    /// async fn newsletter(cx: Context, readers: Vec<String>) -> Flow<usize> {
    ///     let sent = cx.batch(readers, 100, 4, async |cx, slice| Ok(cx.call(mail(slice)).await?));
    ///     Ok(sent.await?.into_iter().sum())
    /// }
    /// ```
    pub async fn batch<I, F, T>(
        &self,
        items: impl IntoIterator<Item = I>,
        size: usize,
        parallel: usize,
        run: impl Fn(Self, Vec<I>) -> F,
    ) -> Flow<Vec<T>>
    where
        F: Future<Output = Flow<T>>,
    {
        if size == 0 || parallel == 0 {
            let text = format!("{parallel} slices of {size} items: both must be at least 1");
            return Err(Failure::terminal("batch", text).into());
        }
        let name = self.numbered("batch");
        let (mut items, run) = (items.into_iter(), &run);
        let slices = std::iter::from_fn(|| {
            let slice: Vec<_> = items.by_ref().take(size).collect();
            (!slice.is_empty()).then_some(move |cx| run(cx, slice))
        });
        side_by_side(self, &name, parallel, slices).await
    }
}

fn poll_into<F: Future>(
    future: &mut Pin<Box<F>>,
    done: &mut Option<F::Output>,
    task: &mut task::Context<'_>,
) {
    if done.is_none()
        && let Poll::Ready(answer) = future.as_mut().poll(task)
    {
        *done = Some(answer);
    }
}

/// Polls arms until one is ready. Where several are, because nobody looked in between, they are shown
/// what happened step by step, so that the first in the journal wins.
async fn first<T>(cx: &Context, mut poll: impl FnMut(&mut task::Context<'_>) -> Poll<T>) -> T {
    let mut seen = 0;
    let winner = poll_fn(|task| {
        let (fresh, last) = cx.core.unclaimed_since(seen);
        for position in fresh {
            let _horizon = cx.core.horizon(position);
            if let Poll::Ready(answer) = poll(task) {
                return Poll::Ready(answer);
            }
        }
        seen = last;
        poll(task)
    });
    winner.await
}

/// Runs branches, so many at a time, until all have ended or one has stopped.
async fn side_by_side<B, F, T>(
    cx: &Context,
    name: &str,
    parallel: usize,
    branches: impl IntoIterator<Item = B>,
) -> Flow<Vec<T>>
where
    B: FnOnce(Context) -> F,
    F: Future<Output = Flow<T>>,
{
    let mut waiting = branches.into_iter().enumerate();
    let mut running = Branches::new();
    let mut scopes: Vec<Option<Rc<Scope>>> = Vec::new();
    let mut answers: Vec<Option<T>> = Vec::new();
    let mut stop: Option<Stop> = None;
    poll_fn(|task| {
        loop {
            while stop.is_none()
                && running.len() < parallel
                && let Some((index, branch)) = waiting.next()
            {
                let inner = cx.inside(&format!("{name}[{index}]"));
                scopes.push(Some(Rc::clone(&inner.scope)));
                answers.push(None);
                running.push(index, branch(inner));
            }
            let Some((index, answer)) = running.poll_next(task) else { break };
            scopes[index] = None;
            match answer {
                Ok(answer) => answers[index] = Some(answer),
                Err(_) if stop.is_some() => {}
                Err(it) => {
                    stop = Some(it);
                    let position = cx.core.position();
                    scopes.iter().flatten().for_each(|it| it.cancel(position));
                    running.wake_all();
                }
            }
        }
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    match stop {
        Some(stop) => Err(stop),
        None => Ok(answers.into_iter().map(|it| it.expect("every branch has ended")).collect()),
    }
}

/// Futures that are polled only when they were woken, in the order of their indices.
struct Branches<F: Future> {
    running: Vec<Option<Pin<Box<F>>>>,
    len: usize,
    woken: Arc<Woken>,
}

/// Which branches were woken, and whom that concerns.
#[derive(Default)]
struct Woken {
    indices: Mutex<BTreeSet<usize>>,
    outer: Mutex<Option<Waker>>,
}

impl Woken {
    fn wake(&self, index: usize) {
        self.indices.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
        let outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }

    fn next(&self) -> Option<usize> {
        self.indices.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }
}

struct BranchWaker {
    index: usize,
    woken: Arc<Woken>,
}

impl Wake for BranchWaker {
    fn wake(self: Arc<Self>) {
        self.woken.wake(self.index);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.wake(self.index);
    }
}

impl<F: Future> Branches<F> {
    fn new() -> Self {
        Self { running: Vec::new(), len: 0, woken: Arc::default() }
    }

    fn push(&mut self, index: usize, future: F) {
        self.running.push(Some(Box::pin(future)));
        self.len += 1;
        self.woken.indices.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
    }

    fn len(&self) -> usize {
        self.len
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn wake_all(&self) {
        let running = self.running.iter().enumerate().filter(|(_, it)| it.is_some());
        let mut woken = self.woken.indices.lock().unwrap_or_else(PoisonError::into_inner);
        woken.extend(running.map(|(index, _)| index));
    }

    /// The next one that ends. `None`: none does for now.
    fn poll_next(&mut self, task: &task::Context<'_>) -> Option<(usize, F::Output)> {
        let outer = task.waker().clone();
        self.woken.outer.lock().unwrap_or_else(PoisonError::into_inner).replace(outer);
        while let Some(index) = self.woken.next() {
            let Some(future) = &mut self.running[index] else { continue };
            let waker =
                Waker::from(Arc::new(BranchWaker { index, woken: Arc::clone(&self.woken) }));
            let polled = future.as_mut().poll(&mut task::Context::from_waker(&waker));
            if let Poll::Ready(answer) = polled {
                self.running[index] = None;
                self.len -= 1;
                return Some((index, answer));
            }
        }
        None
    }
}

impl<F: Future> fmt::Debug for Branches<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} branches", self.len)
    }
}

/// Which arm of a [`select`](Context::select) was first, and its answer.
#[expect(missing_docs, reason = "the arms have no other names than their places")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm<
    A,
    B,
    C = Infallible,
    D = Infallible,
    E = Infallible,
    F = Infallible,
    G = Infallible,
    H = Infallible,
> {
    A(A),
    B(B),
    C(C),
    D(D),
    E(E),
    F(F),
    G(G),
    H(H),
}

/// Two to eight things, in a tuple, of which the first is waited for.
///
/// ```
/// # use travertine_func::{Activity, ActivityOptions, Context, Flow, select};
/// # use std::time::Duration;
/// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
/// # async fn example(cx: Context) -> Flow<()> {
/// // What `select` takes: two of different kinds, here.
/// let arms = (cx.call(charge(1)), cx.sleep(Duration::from_mins(1)));
/// let first = cx.select(arms).await;
/// # Ok(()) }
/// ```
pub trait Arms {
    /// Which it was, and its answer.
    type Output;

    /// Begins them all, in order, and polls them in that order.
    #[doc(hidden)] // Only `select` polls arms.
    fn into_poll(self) -> impl FnMut(&mut task::Context<'_>) -> Poll<Self::Output>;
}

macro_rules! arms {
    ($($arm:ident $name:ident),+) => {
        impl<$($arm: IntoFuture),+> Arms for ($($arm,)+) {
            type Output = Arm<$($arm::Output),+>;

            fn into_poll(self) -> impl FnMut(&mut task::Context<'_>) -> Poll<Self::Output> {
                let ($($name,)+) = self;
                $(let mut $name = Box::pin($name.into_future());)+
                move |task| {
                    $(if let Poll::Ready(answer) = $name.as_mut().poll(task) {
                        return Poll::Ready(Arm::$arm(answer));
                    })+
                    Poll::Pending
                }
            }
        }
    };
}

arms!(A a, B b);
arms!(A a, B b, C c);
arms!(A a, B b, C c, D d);
arms!(A a, B b, C c, D d, E e);
arms!(A a, B b, C c, D d, E e, F f);
arms!(A a, B b, C c, D d, E e, F f, G g);
arms!(A a, B b, C c, D d, E e, F f, G g, H h);

/// Waits for the first of two to eight things and goes on with its arm. The first is the one whose
/// end comes first in the journal, whatever the order of the arms; all others are dropped, which the
/// journal says too, before the arm runs.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_func::{Context, Flow, Workflow, select};
/// # async fn f(cx: Context, quote: Workflow<u64>) -> Flow<u64> {
/// let price = select! { cx;
///     price = cx.child(quote) => price?,
///     _ = cx.sleep(Duration::from_secs(3600)) => 100,
/// };
/// # Ok(price)
/// # }
/// ```
#[macro_export]
macro_rules! select {
    ($cx:expr; $($pattern:pat = $arm:expr => $body:expr),+ $(,)?) => {
        $crate::__select!($cx; [] [A B C D E F G H] $(($pattern, $arm, $body))+)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    ($cx:expr; [$($done:tt)*] [$name:ident $($names:ident)*] ($pattern:pat, $arm:expr, $body:expr) $($rest:tt)*) => {
        $crate::__select!($cx; [$($done)* ($name, $pattern, $arm, $body)] [$($names)*] $($rest)*)
    };
    ($cx:expr; [$(($name:ident, $pattern:pat, $arm:expr, $body:expr))+] [$($names:ident)*]) => {
        match $cx.select(($($arm,)+)).await {
            $($crate::Arm::$name($pattern) => $body,)+
        }
    };
}
