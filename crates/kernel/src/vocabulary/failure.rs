//! What goes wrong: of what kind it is, what that is about, and in which part of the model.

use std::fmt;

use travertine_value::Name;

use crate::budget::Over;

/// What went wrong with a token.
///
/// Its kind says what can be done about it. The message is for people: nothing is decided by it.
///
/// ```
/// # use travertine_kernel::{Failure, FailureKind};
/// let failure = Failure {
///     code: Some("out-of-stock".into()),
///     ..Failure::new(FailureKind::Error, "there are no lamps")
/// };
/// assert_eq!(failure.to_string(), "there are no lamps");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of fault.
    pub kind: FailureKind,
    /// The code, where it is an error of the model.
    pub code: Option<Name>,
    /// What it says to people.
    pub message: String,
    /// The part of the model that it happened in, where there is one.
    pub place: Option<Box<Place>>,
}

/// The kind of a fault.
///
/// ```
/// # use travertine_kernel::FailureKind;
/// fn is_of_the_model(kind: &FailureKind) -> bool {
///     matches!(kind, FailureKind::Error | FailureKind::NoFlow | FailureKind::Script)
/// }
/// assert!(!is_of_the_model(&FailureKind::Work));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An error that the model raised.
    Error,
    /// An expression or a script failed.
    Script,
    /// A gateway found no flow to take and has no default.
    NoFlow,
    /// A restriction is violated.
    Restriction,
    /// An operator did what it may not.
    Operator,
    /// A multi-instance activity or a loop cannot be run as asked.
    Repeat,
    /// A timer's text is no time.
    Timer,
    /// A branch came to the wrong place.
    FanIn,
    /// Work failed too often.
    Work,
    /// Too many steps.
    Steps,
    /// Scopes or calls are nested too deeply.
    Depth,
    /// The code of a function cannot go on, for a reason without a kind of its own.
    Code,
    /// What an ad-hoc sub-process is to begin with is not known in it.
    AdHoc,
    /// The instance has, or would have, too much of something: of what, where that is known.
    Budget(Option<Over>),
    /// What was called could not begin, or was cancelled.
    Call,
    /// The code of a function panicked.
    Panic,
    /// The code of a function does not do what its journal has.
    Nondeterminism,
    /// The program has no code for a function.
    MissingCode {
        /// The function.
        function: Name,
        /// Which version of it.
        version: u32,
    },
    /// What is to be called or started is not deployed.
    MissingDefinition {
        /// The definition.
        definition: Name,
        /// Which version was asked for; any would do where none was.
        version: Option<Name>,
    },
    /// The decision that a business rule task makes is not deployed.
    MissingDecision {
        /// The decision.
        decision: Name,
        /// Which version was asked for; any would do where none was.
        version: Option<Name>,
    },
    /// A job is larger than any answer to the worker that asks for it may be.
    Oversized {
        /// How many bytes it has.
        bytes: u64,
        /// How many an answer may have.
        max: u64,
    },
}

/// Where in a model something went wrong.
///
/// ```
/// # use travertine_kernel::{Part, Place};
/// let place = Place { part: Part::Condition, element: "is-paid".into() };
/// assert_eq!(place.to_string(), "condition of is-paid");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The part of the element.
    pub part: Part,
    /// The id of the element, or of the sequence flow.
    pub element: Name,
}

/// A part of an element that is evaluated while an instance runs.
///
/// ```
/// # use travertine_kernel::Part;
/// assert_eq!(Part::Input.name(), "input");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A condition: of a sequence flow, a loop, a complex gateway.
    Condition,
    /// The script of a script task.
    Script,
    /// The mappings into it.
    Input,
    /// The mappings out of it.
    Output,
    /// When a timer is due.
    Timer,
    /// What it calls.
    Call,
    /// The decision that it makes.
    Decision,
    /// One of its listeners.
    Listener,
    /// The name of the message or signal.
    Name,
    /// What a message agrees on with who waits for it.
    Correlation,
    /// What goes with what it sends or raises.
    Payload,
    /// What the work is: its type, its retries, its headers.
    Work,
    /// How often it is repeated, and over what.
    Repeat,
    /// The data that it declares.
    Data,
    /// A status attribute, or an operator on one.
    Status,
    /// A restriction.
    Restriction,
    /// The activities that an ad-hoc sub-process begins with.
    Activation,
}

impl Part {
    /// All of them.
    ///
    /// ```
    /// # use travertine_kernel::Part;
    /// assert!(Part::ALL.contains(&Part::Timer));
    /// ```
    pub const ALL: [Self; 17] = [
        Self::Condition,
        Self::Script,
        Self::Input,
        Self::Output,
        Self::Timer,
        Self::Call,
        Self::Decision,
        Self::Listener,
        Self::Name,
        Self::Correlation,
        Self::Payload,
        Self::Work,
        Self::Repeat,
        Self::Data,
        Self::Status,
        Self::Restriction,
        Self::Activation,
    ];

    /// What it is called wherever it is data. That never changes.
    ///
    /// ```
    /// # use travertine_kernel::Part;
    /// assert_eq!(Part::Condition.name(), "condition");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Condition => "condition",
            Self::Script => "script",
            Self::Input => "input",
            Self::Output => "output",
            Self::Timer => "timer",
            Self::Call => "call",
            Self::Decision => "decision",
            Self::Listener => "listener",
            Self::Name => "name",
            Self::Correlation => "correlation",
            Self::Payload => "payload",
            Self::Work => "work",
            Self::Repeat => "repeat",
            Self::Data => "data",
            Self::Status => "status",
            Self::Restriction => "restriction",
            Self::Activation => "activation",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.part.name(), self.element)
    }
}

impl FailureKind {
    /// What it is called wherever it is data. That never changes.
    ///
    /// ```
    /// # use travertine_kernel::FailureKind;
    /// assert_eq!(FailureKind::NoFlow.name(), "no_flow");
    /// let missing = FailureKind::MissingCode { function: "order".into(), version: 2 };
    /// assert_eq!(missing.name(), "missing_code");
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Script => "script",
            Self::NoFlow => "no_flow",
            Self::Restriction => "restriction",
            Self::Operator => "operator",
            Self::Repeat => "repeat",
            Self::Timer => "timer",
            Self::FanIn => "fan_in",
            Self::Work => "work",
            Self::Steps => "steps",
            Self::Depth => "depth",
            Self::Code => "code",
            Self::AdHoc => "ad_hoc",
            Self::Budget(_) => "budget",
            Self::Call => "call",
            Self::Panic => "panic",
            Self::Nondeterminism => "nondeterminism",
            Self::MissingCode { .. } => "missing_code",
            Self::MissingDefinition { .. } => "missing_definition",
            Self::MissingDecision { .. } => "missing_decision",
            Self::Oversized { .. } => "oversized",
        }
    }

    /// Whether other code, or something deployed, lets a function go on that has stopped for this.
    ///
    /// ```
    /// # use travertine_kernel::FailureKind;
    /// assert!(FailureKind::Panic.is_of_code());
    /// assert!(!FailureKind::Work.is_of_code());
    /// ```
    pub fn is_of_code(&self) -> bool {
        matches!(
            self,
            Self::Code
                | Self::Panic
                | Self::Nondeterminism
                | Self::MissingCode { .. }
                | Self::MissingDefinition { .. }
                | Self::Budget(Some(Over::JournalEntries(_) | Over::JournalBytes(_)))
        )
    }
}

/// The sentence that a kind with data makes; the name of any other.
impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingCode { function, version } => {
                write!(f, "this program has no function {function} version {version}")
            }
            Self::MissingDefinition { definition, version: None } => {
                write!(f, "no such definition: {definition}")
            }
            Self::MissingDefinition { definition, version: Some(version) } => {
                write!(f, "no such version of definition {definition}: {version}")
            }
            Self::MissingDecision { decision, version: None } => {
                write!(f, "no decision '{decision}' is deployed")
            }
            Self::MissingDecision { decision, version: Some(version) } => {
                write!(f, "decision '{decision}' has no version {version}")
            }
            Self::Oversized { bytes, max } => write!(
                f,
                "the job has {bytes} bytes, and an answer to its worker at most {max}: make its variables \
                 smaller, or have the worker ask for fewer of them"
            ),
            Self::Budget(Some(over)) => over.fmt(f),
            Self::Error
            | Self::Script
            | Self::NoFlow
            | Self::Restriction
            | Self::Operator
            | Self::Repeat
            | Self::Timer
            | Self::FanIn
            | Self::Work
            | Self::Steps
            | Self::Depth
            | Self::Code
            | Self::AdHoc
            | Self::Budget(None)
            | Self::Call
            | Self::Panic
            | Self::Nondeterminism => f.write_str(self.name()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Failure {
    /// A failure of a kind, in words for people.
    ///
    /// ```
    /// # use travertine_kernel::{Failure, FailureKind};
    /// let failure = Failure::new(FailureKind::Work, "no connection");
    /// assert_eq!(failure.to_string(), "no connection");
    /// ```
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: message.into(), place: None }
    }

    /// What an incident says of it: an error of the model has a code, and nobody has caught it.
    ///
    /// ```
    /// # use travertine_kernel::{Failure, FailureKind};
    /// let failure = Failure::new(FailureKind::Error, "none left");
    /// let failure = Failure { code: Some("no-stock".into()), ..failure };
    /// assert_eq!(failure.uncaught(), "error no-stock, which nobody catches: none left");
    /// ```
    pub fn uncaught(&self) -> String {
        let is_error = self.kind == FailureKind::Error;
        match &self.code {
            Some(code) if is_error && self.message.is_empty() => {
                format!("error {code}, which nobody catches")
            }
            Some(code) if is_error => {
                format!("error {code}, which nobody catches: {}", self.message)
            }
            Some(_) | None => self.message.clone(),
        }
    }

    /// A failure that says all that its kind knows.
    ///
    /// ```
    /// # use travertine_kernel::{Failure, FailureKind};
    /// let missing = FailureKind::MissingCode { function: "order".into(), version: 2 };
    /// assert_eq!(Failure::of(missing).to_string(), "this program has no function order version 2");
    /// ```
    pub fn of(kind: FailureKind) -> Self {
        let message = kind.to_string();
        Self::new(kind, message)
    }

    /// It happened there. Whoever is further outside knows better.
    pub(crate) fn at(self, part: Part, element: &Name) -> Self {
        Self { place: Some(Box::new(Place { part, element: Name::clone(element) })), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_nobody_catches_is_told_by_its_code_and_what_it_says() {
        let error =
            Failure { code: Some("no-stock".into()), ..Failure::new(FailureKind::Error, "") };
        assert_eq!(error.uncaught(), "error no-stock, which nobody catches");
        let more = Failure { message: "none left".into(), ..error };
        assert_eq!(more.uncaught(), "error no-stock, which nobody catches: none left");
        let work = Failure { kind: FailureKind::Work, ..more };
        assert_eq!(work.uncaught(), "none left");
        let plain = Failure { code: None, ..Failure::new(FailureKind::Error, "none left") };
        assert_eq!(plain.uncaught(), "none left");
    }
}
