//! The arguments of a call, as a function wants to see them.
//!
//! Where a function wants something else than a list, a list of one item stands for the item; where
//! it wants a list, any other value is the only item.

use std::{fmt, sync::Arc};

use travertine_value::{Limit, Number, NumberError, Rounding};

use super::super::{
    collection::{Context, List},
    eval::Run,
    function::Function,
    problem::Reason,
    tree::At,
    value::FeelValue,
};

pub(in super::super) type Answer = Result<FeelValue, Fault>;

/// Why a function has no value.
#[derive(Debug)]
pub(in super::super) enum Fault {
    /// Null, for this reason.
    Null(Reason, String),
    /// It ran into a limit.
    Limit(Limit),
}

impl Fault {
    pub(in super::super) fn argument(message: impl Into<String>) -> Self {
        Self::Null(Reason::BadArgument, message.into())
    }
}

impl From<NumberError> for Fault {
    fn from(error: NumberError) -> Self {
        Self::argument(error.to_string())
    }
}

/// The arguments of a call, and who calls.
pub(in super::super) struct Args<'a, 'r, 's> {
    pub(super) run: &'a mut Run<'r, 's>,
    values: Vec<Option<FeelValue>>,
    pub(super) at: At,
}

impl fmt::Debug for Args<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Args").field("values", &self.values).finish_non_exhaustive()
    }
}

impl<'a, 'r, 's> Args<'a, 'r, 's> {
    pub(in super::super) fn new(
        run: &'a mut Run<'r, 's>,
        values: Vec<Option<FeelValue>>,
        at: At,
    ) -> Self {
        Self { run, values, at }
    }

    /// Whether the argument was given, be it null.
    pub(super) fn is_given(&self, index: usize) -> bool {
        self.values.get(index).is_some_and(Option::is_some)
    }

    /// The argument; null where it was left out.
    pub(super) fn value(&self, index: usize) -> FeelValue {
        self.values.get(index).cloned().flatten().unwrap_or_default()
    }

    /// The argument, where it was given and is not null.
    pub(super) fn given(&self, index: usize) -> Option<FeelValue> {
        self.values.get(index).cloned().flatten().filter(|it| !it.is_null())
    }

    /// All arguments in order.
    pub(super) fn all(&self) -> Vec<FeelValue> {
        self.values.iter().flatten().cloned().collect()
    }

    /// The items of the only argument, or all arguments as items.
    pub(super) fn gathered(&mut self) -> Result<List, Fault> {
        if self.values.len() == 1 { self.list(0) } else { Ok(self.all().into()) }
    }

    pub(super) fn list(&mut self, index: usize) -> Result<List, Fault> {
        match self.value(index) {
            FeelValue::Null => Err(wrong(&FeelValue::Null, "a list")),
            other => {
                let list = other.into_list();
                self.run.session.charge_steps(list.len())?;
                Ok(list)
            }
        }
    }

    pub(super) fn string(&self, index: usize) -> Result<Arc<str>, Fault> {
        match self.value(index).unwrap_singleton() {
            FeelValue::String(text) => Ok(text),
            other => Err(wrong(&other, "a string")),
        }
    }

    pub(super) fn number(&self, index: usize) -> Result<Number, Fault> {
        match self.value(index).unwrap_singleton() {
            FeelValue::Number(number) => Ok(number),
            other => Err(wrong(&other, "a number")),
        }
    }

    /// A whole number; a fraction is dropped.
    pub(super) fn integer(&self, index: usize) -> Result<i64, Fault> {
        let number = self.number(index)?;
        let whole = number.round(0, Rounding::Down)?.to_i64();
        whole.ok_or_else(|| Fault::argument("the number is too large"))
    }

    pub(super) fn boolean(&self, index: usize) -> Result<bool, Fault> {
        match self.value(index).unwrap_singleton() {
            FeelValue::Boolean(it) => Ok(it),
            other => Err(wrong(&other, "a boolean")),
        }
    }

    pub(super) fn context(&self, index: usize) -> Result<Context, Fault> {
        match self.value(index).unwrap_singleton() {
            FeelValue::Context(it) => Ok(it),
            other => Err(wrong(&other, "a context")),
        }
    }

    pub(super) fn function(&self, index: usize) -> Result<Function, Fault> {
        match self.value(index).unwrap_singleton() {
            FeelValue::Function(it) => Ok(it),
            other => Err(wrong(&other, "a function")),
        }
    }

    /// The text that is made from a value, as long as there is room for it.
    pub(super) fn printed(&mut self, value: &FeelValue) -> Result<String, Fault> {
        use fmt::Write;
        struct Bounded {
            text: String,
            bytes_max: usize,
        }
        impl Write for Bounded {
            fn write_str(&mut self, piece: &str) -> fmt::Result {
                self.text.push_str(piece);
                if self.text.len() > self.bytes_max { Err(fmt::Error) } else { Ok(()) }
            }
        }
        let bytes_max = self.run.session.bytes_left();
        let mut bounded = Bounded { text: String::new(), bytes_max };
        write!(bounded, "{value}").map_err(|_| Fault::Limit(Limit::Memory))?;
        self.run.session.charge_steps(bounded.text.len() / 16)?;
        Ok(bounded.text)
    }
}

pub(super) fn wrong(value: &FeelValue, wanted: &str) -> Fault {
    Fault::Null(Reason::WrongType, format!("expected {wanted}, found {}", value.kind()))
}
