//! The seam between the engine and the languages people write expressions in.

use std::{fmt, sync::Arc};

use crate::{
    time::Timestamp,
    value::{Map, Name, Value},
};

/// What a program can see of the process: the merged variables of the place where it runs.
pub trait Variables {
    /// The value of `name`, nearest layer first; `None` where no layer has it.
    fn get(&self, name: &str) -> Option<Value>;

    /// Every visible name once, in a stable order.
    fn names(&self) -> Vec<Name>;

    /// What there is to know of the instance besides its variables; `None` where nobody knows.
    fn fact(&self, _: Fact) -> Option<Name> {
        None
    }

    /// The time to tell a program that asks for it; `None` where there is no clock.
    fn now(&self) -> Option<Timestamp> {
        None
    }
}

/// What a program can ask about the instance that it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The id of the instance.
    Instance,
    /// What people call the instance.
    BusinessKey,
    /// The id of the process.
    Process,
    /// The id of the element.
    Element,
    /// The name of the element.
    ElementName,
}

impl Fact {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Instance, Self::BusinessKey, Self::Process, Self::Element, Self::ElementName];
}

/// The simplest variables: one layer.
impl Variables for Map {
    fn get(&self, name: &str) -> Option<Value> {
        Self::get(self, name).cloned()
    }

    fn names(&self) -> Vec<Name> {
        self.keys().cloned().collect()
    }
}

/// What a run leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The value of the expression, or of the script's last statement.
    pub value: Value,
    /// What was written, in order of writing; `None` removes the variable.
    pub writes: Vec<(Name, Option<Value>)>,
}

/// How much one run may cost. The defaults suit a shared server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "limits say so last, after the unit")]
pub struct Limits {
    /// Roughly how many operations: counted, not timed, so that a run is the same on every machine.
    pub steps_max: u64,
    /// Bytes that the run may hold at once.
    pub memory_bytes_max: usize,
    /// Nesting of calls and of values.
    pub depth_max: usize,
    /// Milliseconds by the clock, for what cannot be counted in steps; `None` for any time. It is far
    /// beyond what the steps take, so that it never decides between two results: what is stopped by it
    /// has none.
    pub time_ms_max: Option<u64>,
    /// Bytes of one value that is kept, about as it is stored. Runs do not heed it, whoever keeps
    /// their results does.
    pub value_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: 10_000_000,
            memory_bytes_max: 64 << 20,
            depth_max: 256,
            time_ms_max: Some(10_000),
            value_bytes_max: 16 << 20,
        }
    }
}

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::steps_max`].
    Steps,
    /// [`Limits::memory_bytes_max`].
    Memory,
    /// [`Limits::depth_max`].
    Depth,
    /// [`Limits::time_ms_max`]: it was stopped by the clock. The same run may well end in time on
    /// another day.
    Time,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "step",
            Self::Memory => "memory",
            Self::Depth => "depth",
            Self::Time => "time",
        })
    }
}

/// Why a run gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// It ran into a limit.
    Limit(Limit),
    /// It failed: a type error, an exception, an unknown name.
    Failed(String),
    /// It raised a BPMN error on purpose, for the model to catch.
    Thrown {
        /// The error code.
        code: String,
        /// What it says to people.
        message: String,
    },
    /// There is nothing that it could give. A mapping leaves out what it is for.
    Absent,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => write!(f, "the {limit} limit was exceeded"),
            Self::Failed(message) => f.write_str(message),
            Self::Thrown { code, message } => write!(f, "error {code} was thrown: {message}"),
            Self::Absent => f.write_str("there is nothing to give"),
        }
    }
}

impl std::error::Error for EvalError {}

impl From<Limit> for EvalError {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

/// A compiled expression or script.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// Runs it once. Running leaves no trace for the next run.
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError>;

    /// The names it may read, or `None` where that cannot be known before running.
    fn reads(&self) -> Option<&[Name]> {
        None
    }
}

/// A compiled expression or script, with the text it came from. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Program {
    source: Name,
    compiled: Arc<dyn Evaluate>,
}

impl Program {
    /// Wraps what a language has compiled from `source`.
    pub fn new(source: &str, compiled: Arc<dyn Evaluate>) -> Self {
        Self { source: Arc::from(source), compiled }
    }

    /// A program whose value is always `value`.
    pub fn constant(value: Value) -> Self {
        let source = value.to_string();
        Self::new(&source, Arc::new(Constant(value)))
    }

    /// The text, for people.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text for messages: of a long one only the beginning, which tells which it is.
    ///
    /// ```
    /// # use travertine_value::{Program, Value};
    /// let program = Program::constant(Value::from("a".repeat(1_000_000)));
    /// assert_eq!(program.quoted().chars().count(), 200);
    /// ```
    pub fn quoted(&self) -> String {
        const CHARS_MAX: usize = 200;
        if self.source.chars().nth(CHARS_MAX).is_none() {
            return self.source.to_string();
        }
        self.source.chars().take(CHARS_MAX - 1).chain(['…']).collect()
    }

    /// Runs it for everything it leaves behind.
    pub fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        self.compiled.run(variables, limits)
    }

    /// Runs it for its value; what it writes is dropped.
    pub fn value(&self, variables: &dyn Variables, limits: &Limits) -> Result<Value, EvalError> {
        self.run(variables, limits).map(|outcome| outcome.value)
    }

    /// The names it may read, or `None` where that cannot be known before running.
    pub fn reads(&self) -> Option<&[Name]> {
        self.compiled.reads()
    }
}

#[derive(Debug)]
struct Constant(Value);

impl Evaluate for Constant {
    fn run(&self, _: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        Ok(Outcome { value: self.0.clone(), writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(&[])
    }
}
