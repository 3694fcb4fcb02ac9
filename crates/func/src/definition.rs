//! Functions and activities as the engine knows them, calls of them that are described but not made,
//! and the arguments that go with a call.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_kernel::Assignments;
use travertine_value::{Name, Value, typed};

use crate::{
    activity::ActivityContext,
    context::Context,
    error::{Failure, Flow},
    retry::Retry,
};

/// A future on the thread of its function.
///
/// ```
/// # use travertine_func::LocalBoxFuture;
/// let later: LocalBoxFuture<'static, u64> = Box::pin(async { 42 });
/// ```
pub type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A future that can move between threads.
///
/// ```
/// # use travertine_func::BoxFuture;
/// let later: BoxFuture<'static, u64> = Box::pin(async { 42 });
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A durable function. `#[workflow]` writes one.
///
/// ```
/// # use travertine_func::WorkflowDefinition;
/// let adder = WorkflowDefinition {
///     name: "adder",
///     version: 1,
///     parameters: &["n"],
///     run: |_, mut arguments| Box::pin(async move {
///         let n: i64 = arguments.take("n")?;
///         Ok((n + 1).into())
///     }),
/// };
/// assert_eq!(format!("{adder:?}"), "workflow adder v1(n)");
/// ```
#[derive(Clone, Copy)]
pub struct WorkflowDefinition {
    /// What it is started by.
    pub name: &'static str,
    /// Which version of that name. Several can be there; new instances get the highest.
    pub version: u32,
    /// The names of its parameters, in order.
    pub parameters: &'static [&'static str],
    /// The code.
    pub run: fn(Context, Arguments) -> LocalBoxFuture<'static, Flow<Value>>,
}

impl fmt::Debug for WorkflowDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow {} v{}({})", self.name, self.version, self.parameters.join(", "))
    }
}

/// Work that functions call: it may do anything, may fail and be tried again. `#[activity]` writes one.
///
/// ```
/// # use travertine_func::{ActivityDefinition, ActivityOptions};
/// let double = ActivityDefinition {
///     name: "double",
///     parameters: &["n"],
///     options: ActivityOptions::DEFAULT,
///     run: |_, mut arguments| Box::pin(async move {
///         let n: i64 = arguments.take("n")?;
///         Ok((2 * n).into())
///     }),
/// };
/// assert_eq!(format!("{double:?}"), "activity double(n)");
/// ```
#[derive(Clone, Copy)]
pub struct ActivityDefinition {
    /// What it is called by: its job type.
    pub name: &'static str,
    /// The names of its parameters, in order.
    pub parameters: &'static [&'static str],
    /// How it is run where the call says nothing else.
    pub options: ActivityOptions,
    /// The code.
    pub run: fn(ActivityContext, Arguments) -> BoxFuture<'static, Result<Value, Failure>>,
}

impl fmt::Debug for ActivityDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "activity {}({})", self.name, self.parameters.join(", "))
    }
}

/// How an activity is run.
///
/// ```
/// # use travertine_func::{ActivityOptions, Retry};
/// # use std::time::Duration;
/// let minute = Duration::from_mins(1);
/// let patient = ActivityOptions { timeout: Some(minute), ..ActivityOptions::DEFAULT };
/// assert_eq!(patient.retry, Retry::DEFAULT);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActivityOptions {
    /// How it is tried again.
    pub retry: Retry,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long all attempts together may take.
    pub deadline: Option<Duration>,
    /// How long it may be silent before its attempt counts as lost.
    pub heartbeat: Option<Duration>,
    /// The class of the limit that all its calls keep together.
    pub limit: Option<&'static str>,
}

impl ActivityOptions {
    /// Three attempts, without limits of time.
    pub const DEFAULT: Self =
        Self { retry: Retry::DEFAULT, timeout: None, deadline: None, heartbeat: None, limit: None };
}

/// A described call of a function: `order(o)` makes one. Nothing runs until a context or an engine
/// takes it.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::Workflow;
///
/// fn adder(n: u64) -> Workflow<u64> {
///     Workflow::new("adder", 1).argument("n", &n)
/// }
/// assert_eq!(adder(1).name(), "adder");
/// ```
#[must_use = "a described call runs when a context or an engine takes it"]
pub struct Workflow<O> {
    name: Name,
    version: u32,
    pinned: bool,
    arguments: Result<Assignments, Failure>,
    pub(crate) may_change: bool,
    output: PhantomData<fn() -> O>,
}

impl<O> Workflow<O> {
    /// A call of this function, without arguments.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// // A function of another program, of which only the name is known.
    /// let report: Workflow<String> = Workflow::new("report", 1);
    /// assert_eq!(report.name(), "report");
    /// ```
    pub fn new(name: impl Into<Name>, version: u32) -> Self {
        let (name, arguments) = (name.into(), Ok(Vec::new()));
        let (pinned, may_change) = (false, false);
        Self { name, version, pinned, arguments, may_change, output: PhantomData }
    }

    /// Adds an argument. One that cannot be kept is refused when the call is made.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// let adder = Workflow::<u64>::new("adder", 1).argument("n", &41);
    /// assert_eq!(adder.into_arguments().unwrap()[0].1.to_json(), "41");
    /// ```
    pub fn argument<T: Serialize + ?Sized>(mut self, parameter: &'static str, value: &T) -> Self {
        add(&mut self.arguments, &self.name, parameter, value);
        self
    }

    /// Its arguments are not compared when the function that calls it runs again from its journal. See
    /// [`Activity::arguments_may_change`].
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// let login = Workflow::<()>::new("login", 1).argument("token", "t-17").arguments_may_change();
    /// ```
    pub fn arguments_may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Insists on the version that this call was written for, instead of the highest there is.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// let adder = Workflow::<u64>::new("adder", 1).pinned();
    /// assert_eq!(adder.binding(), Some(1));
    /// ```
    pub fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Which function.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// assert_eq!(Workflow::<u64>::new("adder", 1).name(), "adder");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which version the call was written for.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// assert_eq!(Workflow::<u64>::new("adder", 2).version(), 2);
    /// ```
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The version that it insists on, where it does.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// let adder = Workflow::<u64>::new("adder", 2);
    /// assert_eq!(adder.binding(), None);
    /// assert_eq!(adder.pinned().binding(), Some(2));
    /// ```
    pub fn binding(&self) -> Option<u32> {
        self.pinned.then_some(self.version)
    }

    /// The arguments by the names of their parameters, or why there are none.
    ///
    /// ```
    /// # use travertine_func::{Failure, Workflow};
    /// let arguments = Workflow::<u64>::new("adder", 1).argument("n", &41).into_arguments()?;
    /// assert_eq!(&*arguments[0].0, "n");
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn into_arguments(self) -> Result<Assignments, Failure> {
        self.arguments
    }
}

/// A call that is described and not made. It is a type of its own so that the compiler says what the
/// bound on it says: of a bound on the call itself it says only that this is no future.
#[doc(hidden)] // It stands in bounds that never hold.
#[derive(Debug)]
pub struct Described<T>(PhantomData<T>);

/// Holds of nothing: whoever awaits a workflow is told what to write instead.
#[doc(hidden)] // It stands in bounds that never hold.
#[diagnostic::on_unimplemented(
    message = "a workflow is not awaited itself: write `cx.child(…).await` in a workflow, or \
               `engine.start(…).await` elsewhere",
    label = "this only describes the call; hand it to a context or an engine"
)]
pub trait AwaitedWorkflow {}

impl<O> Future for Workflow<O>
where
    Described<Self>: AwaitedWorkflow,
{
    type Output = Result<O, Failure>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        unreachable!("it cannot be awaited")
    }
}

impl<O> Clone for Workflow<O> {
    fn clone(&self) -> Self {
        Self {
            name: Name::clone(&self.name),
            version: self.version,
            pinned: self.pinned,
            arguments: self.arguments.clone(),
            may_change: self.may_change,
            output: PhantomData,
        }
    }
}

impl<O> fmt::Debug for Workflow<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow {} v{} {:?}", self.name, self.version, self.arguments)
    }
}

/// A described call of an activity: `charge(card, cents)` makes one. Nothing runs until a function's
/// context takes it.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::{Activity, ActivityOptions};
///
/// fn charge(cents: u64) -> Activity<String> {
///     Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents)
/// }
/// assert_eq!(charge(5).name(), "charge");
/// ```
#[must_use = "a described call runs when a context takes it"]
pub struct Activity<O> {
    pub(crate) name: Name,
    pub(crate) options: ActivityOptions,
    pub(crate) arguments: Result<Assignments, Failure>,
    pub(crate) may_change: bool,
    output: PhantomData<fn() -> O>,
}

impl<O> Activity<O> {
    /// A call of this activity, without arguments.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions};
    /// // An activity of another program, of which only the name is known.
    /// let print: Activity<()> = Activity::new("print", ActivityOptions::DEFAULT);
    /// assert_eq!(print.name(), "print");
    /// ```
    pub fn new(name: impl Into<Name>, options: ActivityOptions) -> Self {
        let (name, arguments) = (name.into(), Ok(Vec::new()));
        Self { name, options, arguments, may_change: false, output: PhantomData }
    }

    /// Adds an argument. One that cannot be kept is refused when the call is made.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions};
    /// let double = Activity::<u64>::new("double", ActivityOptions::DEFAULT).argument("n", &4);
    /// assert_eq!(double.into_arguments().unwrap()[0].1.to_json(), "4");
    /// ```
    pub fn argument<T: Serialize + ?Sized>(mut self, parameter: &'static str, value: &T) -> Self {
        add(&mut self.arguments, &self.name, parameter, value);
        self
    }

    /// Its arguments are not compared when the function that calls it runs again from its journal.
    ///
    /// A function that hands over other arguments than before is stopped with an incident, for it would
    /// get the answers of other questions. That is not meant for arguments which may rightly differ and
    /// do not matter to the answer: a token that is fetched anew, the address of a host. The call that
    /// was made counts.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn fetch(page: u32, token: &str) -> Activity<String> { Activity::new("fetch", ActivityOptions::DEFAULT).argument("page", &page).argument("token", token) }
    /// # fn token() -> String { String::new() }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let page = cx.call(fetch(1, &token()).arguments_may_change()).await?;
    /// # Ok(()) }
    /// ```
    pub fn arguments_may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Which activity.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions};
    /// assert_eq!(Activity::<u64>::new("double", ActivityOptions::DEFAULT).name(), "double");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is run.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions};
    /// let double = Activity::<u64>::new("double", ActivityOptions::DEFAULT);
    /// assert_eq!(double.options().retry.attempts, 3);
    /// ```
    pub fn options(&self) -> &ActivityOptions {
        &self.options
    }

    /// The arguments by the names of their parameters, or why there are none.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Failure};
    /// let double = Activity::<u64>::new("double", ActivityOptions::DEFAULT).argument("n", &4);
    /// assert_eq!(&*double.into_arguments()?[0].0, "n");
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn into_arguments(self) -> Result<Assignments, Failure> {
        self.arguments
    }
}

/// As [`AwaitedWorkflow`], of an activity.
#[doc(hidden)] // It stands in bounds that never hold.
#[diagnostic::on_unimplemented(
    message = "an activity is not awaited itself: write `cx.call(…).await`",
    label = "this only describes the call; hand it to the context of a workflow"
)]
pub trait AwaitedActivity {}

impl<O> Future for Activity<O>
where
    Described<Self>: AwaitedActivity,
{
    type Output = Result<O, Failure>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        unreachable!("it cannot be awaited")
    }
}

impl<O> Clone for Activity<O> {
    fn clone(&self) -> Self {
        Self {
            name: Name::clone(&self.name),
            options: self.options,
            arguments: self.arguments.clone(),
            may_change: self.may_change,
            output: PhantomData,
        }
    }
}

impl<O> fmt::Debug for Activity<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "activity {} {:?}", self.name, self.arguments)
    }
}

fn add<T: Serialize + ?Sized>(
    arguments: &mut Result<Assignments, Failure>,
    function: &str,
    parameter: &'static str,
    value: &T,
) {
    // The first argument that cannot be kept is the one that is told.
    let Ok(list) = arguments else { return };
    match typed::to_value(value) {
        Ok(value) => list.push((parameter.into(), value)),
        Err(error) => {
            let text = format!("argument `{parameter}` of `{function}` cannot be kept: {error}");
            *arguments = Err(Failure::terminal(Failure::ENCODE, text));
        }
    }
}

/// The arguments of one call, by the names of their parameters.
///
/// ```
/// use travertine_func::Arguments;
///
/// let mut arguments = Arguments::new("adder", vec![("n".into(), 41.into())]);
/// let n: u64 = arguments.take("n").unwrap();
/// assert_eq!(n + 1, 42);
/// let missing = arguments.take::<String>("name").unwrap_err();
/// assert_eq!(missing.message, "`adder` is called without its argument `name`");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    function: Name,
    values: Assignments,
}

impl Arguments {
    /// These arguments of this function or activity.
    ///
    /// ```
    /// # use travertine_func::Arguments;
    /// let arguments = Arguments::new("adder", vec![("n".into(), 41.into())]);
    /// assert_eq!(arguments.values().len(), 1);
    /// ```
    pub fn new(function: impl Into<Name>, values: Assignments) -> Self {
        Self { function: function.into(), values }
    }

    /// The arguments that were not taken yet.
    ///
    /// ```
    /// # use travertine_func::{Arguments, Failure};
    /// let mut arguments = Arguments::new("adder", vec![("n".into(), 1.into()), ("m".into(), 2.into())]);
    /// arguments.take::<u64>("n")?;
    /// assert_eq!(&*arguments.values()[0].0, "m");
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn values(&self) -> &Assignments {
        &self.values
    }

    /// Takes the first argument that was not taken yet, whatever its parameter is called.
    ///
    /// ```
    /// # use travertine_func::{Arguments, Failure};
    /// let mut arguments = Arguments::new("adder", vec![("n".into(), 1.into()), ("m".into(), 2.into())]);
    /// let (first, second): (u64, u64) = (arguments.take_next()?, arguments.take_next()?);
    /// assert_eq!((first, second), (1, 2));
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn take_next<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let Some((parameter, _)) = self.values.first() else {
            let text =
                format!("`{}` is called with fewer arguments than are asked for", self.function);
            return Err(Failure::terminal(Failure::DECODE, text));
        };
        let parameter = Name::clone(parameter);
        self.take(&parameter)
    }

    /// The argument of this parameter. What may be nothing (an `Option`, a `()`) may be missing.
    ///
    /// ```
    /// # use travertine_func::{Arguments, Failure};
    /// let mut arguments = Arguments::new("adder", vec![("n".into(), 41.into())]);
    /// assert_eq!(arguments.take::<u64>("n")?, 41);
    /// assert_eq!(arguments.take::<Option<u64>>("m")?, None);
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn take<T: DeserializeOwned>(&mut self, parameter: &str) -> Result<T, Failure> {
        let function = &self.function;
        let Some(at) = self.values.iter().position(|(name, _)| &**name == parameter) else {
            return typed::from_value(&Value::Null).map_err(|_| {
                let text = format!("`{function}` is called without its argument `{parameter}`");
                Failure::terminal(Failure::DECODE, text)
            });
        };
        let (_, value) = self.values.remove(at);
        typed::from_value(&value).map_err(|error| {
            let text = format!("argument `{parameter}` of `{function}`: {error}");
            Failure::terminal(Failure::DECODE, text)
        })
    }
}

/// The result of a function or activity as it is kept.
pub fn encode<T: Serialize + ?Sized>(function: &str, result: &T) -> Result<Value, Failure> {
    typed::to_value(result).map_err(|error| {
        let text = format!("the result of `{function}` cannot be kept: {error}");
        Failure::terminal(Failure::ENCODE, text)
    })
}

/// What a function begins anew with.
///
/// ```
/// # use travertine_func::{Context, Continuation, Flow, Stop, Workflow};
/// async fn billing(cx: Context) -> Flow<()> {
///     let stop = cx.continue_as::<(), ()>(Workflow::new("billing", 1));
///     if let Err(Stop::ContinueAs(Continuation { definition, .. })) = &stop {
///         println!("on with {definition}");
///     }
///     stop
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// Which function.
    pub definition: Name,
    /// Its arguments by the names of their parameters.
    pub arguments: Assignments,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_function_and_the_parameter() {
        let mut arguments = Arguments::new("adder", vec![("n".into(), "x".into())]);
        let failure = arguments.take::<u64>("n").unwrap_err();
        assert!(failure.message.starts_with("argument `n` of `adder`: "), "{failure}");
        assert_eq!(arguments.take::<Option<u64>>("m"), Ok(None));
    }

    #[test]
    fn arguments_are_taken_in_order_too() {
        let values = vec![("n".into(), 1.into()), ("m".into(), 2.into())];
        let mut arguments = Arguments::new("adder", values);
        assert_eq!(arguments.take_next::<u64>(), Ok(1));
        assert_eq!(arguments.values(), &vec![("m".into(), 2.into())]);
        assert_eq!(arguments.take_next::<u64>(), Ok(2));
        let failure = arguments.take_next::<u64>().unwrap_err();
        assert!(failure.message.contains("fewer arguments"), "{failure}");
    }

    #[test]
    fn an_argument_that_cannot_be_kept_is_told_when_the_call_is_made() {
        struct Never;
        impl Serialize for Never {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("it will not"))
            }
        }
        let call = Workflow::<()>::new("f", 1).argument("n", &1).argument("it", &Never);
        let failure = call.into_arguments().unwrap_err();
        assert!(failure.message.contains("argument `it` of `f` cannot be kept"), "{failure}");
    }
}
