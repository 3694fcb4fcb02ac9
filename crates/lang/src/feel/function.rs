//! Functions as values: built in, written in FEEL, or offered by the caller.

use std::{fmt, sync::Arc};

use travertine_value::{Limit, Name};

use super::{builtins::Builtin, eval::Session, tree::Definition, types::Type, value::FeelValue};

/// A function. Cheap to clone.
#[derive(Clone)]
pub struct Function(pub(super) Body);

#[derive(Clone)]
pub(super) enum Body {
    Builtin(&'static Builtin),
    Lambda(Arc<Lambda>),
    Native(Arc<Native>),
}

/// A function written in FEEL, with the values it has taken from where it was written.
#[derive(Debug)]
pub(super) struct Lambda {
    pub(super) definition: Arc<Definition>,
    pub(super) captured: Vec<FeelValue>,
}

/// What a function of the caller does with its arguments.
pub type NativeCall =
    dyn Fn(&[FeelValue], &mut Session<'_>) -> Result<FeelValue, Limit> + Send + Sync;

pub(super) struct Native {
    pub(super) name: Name,
    pub(super) parameters: Vec<Parameter>,
    pub(super) result: Type,
    pub(super) call: Box<NativeCall>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// The type of its arguments.
    pub of: Type,
}

impl Function {
    /// A function that the caller offers: it gets one argument for each parameter, coerced to its
    /// type, and its result is coerced too.
    pub fn native(
        name: Name,
        parameters: Vec<Parameter>,
        result: Type,
        call: Box<NativeCall>,
    ) -> Self {
        Self(Body::Native(Arc::new(Native { name, parameters, result, call })))
    }

    /// The names and types of its parameters; none for a built-in function, which can have several
    /// forms.
    pub fn parameters(&self) -> &[Parameter] {
        match &self.0 {
            Body::Builtin(_) => &[],
            Body::Lambda(lambda) => &lambda.definition.parameters,
            Body::Native(native) => &native.parameters,
        }
    }

    /// Whether it is built in and takes so many arguments.
    pub(super) fn is_builtin_of(&self, arguments: usize) -> bool {
        matches!(self.0, Body::Builtin(it) if it.form_for(&vec![None; arguments]).is_ok())
    }

    /// The type of its result, where it is known.
    pub fn result(&self) -> &Type {
        match &self.0 {
            Body::Builtin(_) | Body::Lambda(_) => &Type::Any,
            Body::Native(native) => &native.result,
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Body::Builtin(builtin) => write!(f, "function {}", builtin.name),
            Body::Lambda(_) => f.write_str("function"),
            Body::Native(native) => write!(f, "function {}", native.name),
        }
    }
}

impl PartialEq for Function {
    /// A function equals only itself.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Body::Builtin(a), Body::Builtin(b)) => std::ptr::eq(*a, *b),
            (Body::Lambda(a), Body::Lambda(b)) => Arc::ptr_eq(a, b),
            (Body::Native(a), Body::Native(b)) => Arc::ptr_eq(a, b),
            (Body::Builtin(_) | Body::Lambda(_) | Body::Native(_), _) => false,
        }
    }
}
