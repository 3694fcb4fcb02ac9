//! How functions and activities fail, and how a function stops early.

use std::fmt;

use serde::{Deserialize, Serialize};
use travertine_kernel as kernel;

use crate::definition::Continuation;

/// Something went wrong, in words that code can tell apart.
///
/// Activities return it, operations answer with it, and functions end with it. The `code` is for
/// code, the `message` for people.
///
/// `?` makes one of every error: its code is `error`, its message has the error and what caused it, and
/// the activity is tried again. Where trying again cannot help, say so with [`Failure::terminal`].
///
/// It is no [`std::error::Error`] itself; that is what lets `?` take all the others.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::Failure;
///
/// fn cents(text: &str) -> Result<u64, Failure> {
///     let cents: u64 = text.trim().parse()?; // an error of the standard library
///     if cents == 0 {
///         return Err(Failure::terminal("nothing", "nothing to pay"));
///     }
///     Ok(cents)
/// }
/// let unreadable = cents("x").unwrap_err();
/// assert!(unreadable.retryable);
/// assert_eq!(unreadable.to_string(), "error: invalid digit found in string");
/// assert_eq!(cents("0").unwrap_err().to_string(), "nothing: nothing to pay");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure, for code that handles it.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// Whether trying again can help. Where it cannot, an activity is not tried again.
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Origin::is_own")]
    origin: Origin,
}

/// Where a failure came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Origin {
    /// From the code that returns it.
    #[default]
    Own,
    /// From an operation: an activity, a job.
    Operation,
    /// From a child.
    Child,
    /// From the wish that this function end.
    Cancel,
}

impl Origin {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

impl Failure {
    /// The code of what took longer than it may.
    pub const TIMEOUT: &'static str = "timeout";
    /// The code of what was cancelled.
    pub const CANCELLED: &'static str = "cancelled";
    /// The code of a value that does not have the type it is asked for as.
    pub const DECODE: &'static str = "decode";
    /// The code of a value that cannot be kept.
    pub const ENCODE: &'static str = "encode";
    /// The code of an error that says no other.
    pub const ERROR: &'static str = "error";
    /// The code where what was called could not begin.
    pub const NOT_STARTED: &'static str = "not-started";

    /// A failure that may go away when it is tried again.
    ///
    /// ```
    /// # use travertine_func::Failure;
    /// assert!(Failure::new("busy", "the bank is busy").retryable);
    /// ```
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self { code, message, retryable: true, origin: Origin::Own }
    }

    /// A failure that stays, however often it is tried.
    ///
    /// ```
    /// # use travertine_func::Failure;
    /// assert!(!Failure::terminal("no-address", "nobody knows where to").retryable);
    /// ```
    pub fn terminal(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { retryable: false, ..Self::new(code, message) }
    }

    /// An error and what caused it, which may go away when it is tried again: what `?` does, for errors
    /// in a box and those of `anyhow`, which `?` cannot take.
    ///
    /// ```
    /// # use travertine_func::Failure;
    /// # fn read() -> Result<String, Box<dyn std::error::Error>> { Err("no such page".into()) }
    /// let page = read().map_err(|error| Failure::from_error(&*error));
    /// assert_eq!(page.unwrap_err().to_string(), "error: no such page");
    /// ```
    pub fn from_error(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(Self::ERROR, chain(error))
    }

    /// The failure of what takes longer than it may; it is not tried again.
    ///
    /// ```
    /// # use travertine_func::Failure;
    /// let late = Failure::timeout("no answer after 30 s");
    /// assert_eq!((late.code.as_str(), late.retryable), (Failure::TIMEOUT, false));
    /// ```
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::terminal(Self::TIMEOUT, message)
    }

    /// What every unshielded operation answers once the function is to end.
    pub(crate) fn cancelled() -> Self {
        let failure = Self::terminal(Self::CANCELLED, "the function was cancelled");
        Self { origin: Origin::Cancel, ..failure }
    }

    /// This failure as a parent sees it.
    pub(crate) fn of_child(self) -> Self {
        Self { origin: Origin::Child, ..self }
    }

    /// Whether a child failed so. Its code and message are those of the child.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// match cx.child(parcel("teapot")).await {
    ///     Err(failure) if failure.is_child() => println!("no parcel: {}", failure.message),
    ///     parcel => println!("{}", parcel?),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn is_child(&self) -> bool {
        self.origin == Origin::Child
    }

    /// Whether it says that this function was cancelled. `?` then makes it [`Stop::Cancelled`].
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// if let Err(failure) = cx.sleep(Duration::from_hours(1)).await {
    ///     // Someone has ended this function, or the sleep went wrong.
    ///     println!("{}", if failure.is_cancelled() { "ended" } else { "failed" });
    /// }
    /// # Ok(()) }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.origin == Origin::Cancel
    }

    /// Whether something took longer than it may.
    ///
    /// ```
    /// # use travertine_func::Failure;
    /// assert!(Failure::timeout("it took too long").is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        self.code == Self::TIMEOUT
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_child() {
            f.write_str("child failed: ")?;
        }
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_error(&error)
    }
}

/// A failure where an error is wanted, as `main` does.
#[derive(Debug)]
struct Told(Failure);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Told {}

impl From<Failure> for Box<dyn std::error::Error + Send + Sync> {
    fn from(failure: Failure) -> Self {
        Box::new(Told(failure))
    }
}

impl From<Failure> for Box<dyn std::error::Error> {
    fn from(failure: Failure) -> Self {
        Box::new(Told(failure))
    }
}

impl From<Failure> for kernel::Failure {
    fn from(it: Failure) -> Self {
        let code = Some(it.code.into());
        Self { code, ..Self::new(kernel::FailureKind::Error, it.message) }
    }
}

impl Failure {
    /// What the kernel says in the words of functions. What the engine has given up on is not tried again.
    #[doc(hidden)] // The kernel's words are not for programs.
    pub fn of_kernel(it: &kernel::Failure) -> Self {
        use kernel::FailureKind as Kind;
        let code = it.code.as_deref().unwrap_or(match it.kind {
            Kind::Error => "error",
            Kind::Script => "script",
            Kind::Timer => "timer",
            Kind::Work => "work",
            Kind::Steps => "steps",
            Kind::Depth => "depth",
            Kind::Code | Kind::Panic | Kind::Nondeterminism | Kind::MissingCode { .. } => "code",
            Kind::Budget(_) => "budget",
            Kind::Call | Kind::MissingDefinition { .. } => Self::NOT_STARTED,
            // Faults of a process that was called.
            Kind::NoFlow
            | Kind::Restriction
            | Kind::Operator
            | Kind::Repeat
            | Kind::FanIn
            | Kind::AdHoc
            | Kind::MissingDecision { .. }
            | Kind::Oversized { .. } => "process",
        });
        Self { origin: Origin::Operation, ..Self::terminal(code, it.message.clone()) }
    }
}

/// How a function stops before its end. `?` makes one of every error.
///
/// It is no [`std::error::Error`] itself; that is what lets `?` take all the others.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::{Failure, Flow, Stop};
///
/// fn cents(text: &str) -> Flow<u64> {
///     let cents = text.parse()?; // an error of the standard library
///     if cents == 0 {
///         return Err(Failure::terminal("nothing", "nothing to pay").into());
///     }
///     Ok(cents)
/// }
/// assert_eq!(cents("12").unwrap(), 12);
/// let Err(Stop::Failed(failure)) = cents("x") else { panic!() };
/// assert_eq!(failure.code, "error");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// It fails.
    Failed(Failure),
    /// It ends because it was cancelled.
    Cancelled,
    /// It begins anew, with an empty journal.
    ContinueAs(Continuation),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        if failure.is_cancelled() { Self::Cancelled } else { Self::Failed(failure) }
    }
}

impl<E: std::error::Error + 'static> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(Failure::terminal(Failure::ERROR, chain(&error)))
    }
}

/// An error and what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text.push_str(": ");
        text.push_str(&it.to_string());
        cause = it.source();
    }
    text
}

/// What a function returns: its result, or how it stopped.
///
/// ```
/// # use travertine_func::{Failure, Flow};
/// fn half(n: u64) -> Flow<u64> {
///     if n % 2 == 1 {
///         return Err(Failure::terminal("odd", format!("{n} has no half")).into());
///     }
///     Ok(n / 2)
/// }
/// assert_eq!(half(4), Ok(2));
/// ```
pub type Flow<T> = Result<T, Stop>;

/// Why a function cannot go on: its journal and its code disagree, it panicked, it waits for
/// something that nobody will tell it. Nothing is decided; with other code it can be tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// What kind of fault it is.
    pub kind: kernel::FailureKind,
    /// What is wrong, and the way out.
    pub message: String,
    /// The entry of the journal that is an update whose handler is to blame, where one is. Without that
    /// entry the function could go on.
    pub update: Option<usize>,
}

impl Blocked {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::of(kernel::FailureKind::Code, message)
    }

    /// A fault of this kind, in words.
    #[doc(hidden)] // For the runtime, which knows what is deployed.
    pub fn of(kind: kernel::FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), update: None }
    }

    /// The code does not do what the journal has.
    pub(crate) fn nondeterministic(message: impl Into<String>) -> Self {
        Self::of(kernel::FailureKind::Nondeterminism, message)
    }

    /// The code panicked.
    pub(crate) fn panicked(message: impl Into<String>) -> Self {
        Self::of(kernel::FailureKind::Panic, message)
    }

    /// Says that the handler of an update has caused it.
    pub(crate) fn in_update(self, name: &str, entry: usize) -> Self {
        let message = format!("update `{name}`: {}", self.message);
        Self { kind: self.kind, message, update: Some(entry) }
    }
}

impl From<String> for Blocked {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Blocked {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_a_child_keeps_its_code() {
        let child = kernel::Failure::from(Failure::terminal("seven", "no"));
        let seen = Failure::of_kernel(&child).of_child();
        assert_eq!((seen.code.as_str(), seen.is_child()), ("seven", true));
        assert_eq!(seen.to_string(), "child failed: seven: no");
    }

    #[test]
    fn any_error_is_a_failure_with_its_causes_that_may_go_away() {
        #[derive(Debug)]
        struct Unread(std::num::ParseIntError);
        impl fmt::Display for Unread {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the price is unreadable")
            }
        }
        impl std::error::Error for Unread {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let price = || -> Result<u64, Failure> { Ok("x".parse().map_err(Unread)?) };
        let failure = price().unwrap_err();
        let message = "the price is unreadable: invalid digit found in string";
        assert_eq!(failure, Failure::new("error", message));
        let told = || -> Result<(), Box<dyn std::error::Error>> { Err(price().unwrap_err())? };
        assert_eq!(told().unwrap_err().to_string(), format!("error: {message}"));
    }

    #[test]
    fn only_the_own_cancellation_cancels() {
        assert_eq!(Stop::from(Failure::cancelled()), Stop::Cancelled);
        let child = Failure::terminal(Failure::CANCELLED, "someone did").of_child();
        assert_eq!(Stop::from(child.clone()), Stop::Failed(child));
    }

    #[test]
    fn a_failure_without_code_gets_that_of_its_kind() {
        let kind = kernel::FailureKind::Work;
        let failure = kernel::Failure::new(kind, "too often");
        assert_eq!(
            Failure::of_kernel(&failure),
            Failure { origin: Origin::Operation, ..Failure::terminal("work", "too often") }
        );
    }
}
