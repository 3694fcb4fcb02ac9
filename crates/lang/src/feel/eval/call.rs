//! Calls of functions: written in FEEL, built in, or offered from outside.

use std::sync::Arc;

use travertine_value::{Limit, Name};

use super::{
    super::{
        builtins::{Args, Builtin, Fault, Form},
        function::{Body, Function, Lambda, Native, Parameter},
        problem::Reason,
        tree::{self, At, Call, Definition, Expr},
        value::FeelValue,
    },
    Nowhere, Run, Session, Valued,
};

impl Function {
    /// Calls it with one argument for each parameter.
    pub fn call(&self, arguments: Vec<FeelValue>, session: &mut Session<'_>) -> Valued {
        let mut run = Run::new(session, &Nowhere, &Name::from(""));
        run.apply(self, arguments, 0)
    }
}

impl Run<'_, '_> {
    /// A function takes along the values it names as they are now.
    pub(super) fn closure(&mut self, definition: &Arc<Definition>) -> Valued {
        let mut captured = Vec::with_capacity(definition.captures.len());
        for capture in &definition.captures {
            captured.push(self.value(capture)?);
        }
        let lambda = Lambda { definition: Arc::clone(definition), captured };
        Ok(Function(Body::Lambda(Arc::new(lambda))).into())
    }

    pub(super) fn builtin(
        &mut self,
        form: &'static Form,
        at: At,
        arguments: &[Option<Expr>],
    ) -> Valued {
        let mut values = Vec::with_capacity(arguments.len());
        let warnings = self.session.warnings_len();
        for argument in arguments {
            values.push(match argument {
                Some(argument) => Some(self.value(argument)?),
                None => None,
            });
        }
        if form.expects_null {
            self.session.forget_warnings(warnings);
        }
        self.apply_form(form, values, at)
    }

    pub(super) fn call(&mut self, call: &Call) -> Valued {
        let warnings = self.session.warnings_len();
        let callee = self.value(&call.callee)?;
        let mut values = Vec::with_capacity(call.arguments.len());
        let names: Vec<_> = call.arguments.iter().map(|(name, _)| name.as_deref()).collect();
        if let (FeelValue::Function(function), _) = (&callee, call.otherwise) {
            for (_, argument) in &call.arguments {
                values.push(self.value(argument)?);
            }
            return self.call_function(function, &names, values, call.at);
        }
        if let Some(builtin) = call.otherwise {
            self.session.forget_warnings(warnings);
            for (_, argument) in &call.arguments {
                values.push(self.value(argument)?);
            }
            return self.call_builtin(builtin, &names, values, call.at);
        }
        Ok(self.null(Reason::NoSuchFunction, call.at, || {
            format!("{} cannot be called", callee.kind())
        }))
    }

    fn call_function(
        &mut self,
        function: &Function,
        names: &[Option<&str>],
        values: Vec<FeelValue>,
        at: At,
    ) -> Valued {
        if let Body::Builtin(builtin) = function.0 {
            return self.call_builtin(builtin, names, values, at);
        }
        match in_order(function.parameters(), names, values) {
            Ok(values) => self.apply(function, values, at),
            Err(message) => Ok(self.null(Reason::NoSuchFunction, at, || message)),
        }
    }

    fn call_builtin(
        &mut self,
        builtin: &'static Builtin,
        names: &[Option<&str>],
        values: Vec<FeelValue>,
        at: At,
    ) -> Valued {
        let (form, order) = match builtin.form_for(names) {
            Ok(found) => found,
            Err(message) => return Ok(self.null(Reason::NoSuchFunction, at, || message)),
        };
        let mut values: Vec<_> = values.into_iter().map(Some).collect();
        let ordered = order.into_iter().map(|it| it.and_then(|it| values[it].take())).collect();
        self.apply_form(form, ordered, at)
    }

    fn apply_form(
        &mut self,
        form: &'static Form,
        values: Vec<Option<FeelValue>>,
        at: At,
    ) -> Valued {
        let mut args = Args::new(self, values, at);
        match (form.run)(&mut args) {
            Ok(value) => self.made(value),
            Err(Fault::Limit(limit)) => Err(limit),
            Err(Fault::Null(reason, message)) => {
                Ok(self.null(reason, at, || format!("{}: {message}", form.name)))
            }
        }
    }

    /// Calls a function with its arguments in order.
    pub(in super::super) fn apply(
        &mut self,
        function: &Function,
        values: Vec<FeelValue>,
        at: At,
    ) -> Valued {
        self.session.go_deeper()?;
        let value = match &function.0 {
            Body::Builtin(builtin) => {
                let names = vec![None; values.len()];
                self.call_builtin(builtin, &names, values, at)
            }
            Body::Lambda(lambda) => self.apply_lambda(lambda, values, at),
            Body::Native(native) => self.apply_native(native, values, at),
        };
        self.session.come_back();
        value
    }

    fn apply_lambda(&mut self, lambda: &Arc<Lambda>, values: Vec<FeelValue>, at: At) -> Valued {
        let definition = &lambda.definition;
        let values = match coerced(&definition.parameters, values) {
            Ok(values) => values,
            Err(message) => return Ok(self.null(Reason::BadArgument, at, || message)),
        };
        let tree::Body::Feel(body) = &definition.body else {
            return Ok(self.null(Reason::External, at, || {
                "functions outside of FEEL are not supported".to_owned()
            }));
        };
        let base = std::mem::replace(&mut self.base, self.locals.len());
        let this = self.this.replace(Arc::clone(lambda));
        let source = std::mem::replace(&mut self.source, Name::clone(&definition.source));
        self.locals.extend(values);
        let value = self.value(body);
        self.locals.truncate(self.base);
        self.base = base;
        self.this = this;
        self.source = source;
        value
    }

    fn apply_native(&mut self, native: &Native, values: Vec<FeelValue>, at: At) -> Valued {
        let values = match coerced(&native.parameters, values) {
            Ok(values) => values,
            Err(message) => return Ok(self.null(Reason::BadArgument, at, || message)),
        };
        let value = (native.call)(&values, self.session)?;
        let kind = value.kind();
        Ok(match native.result.coerce(value) {
            Some(value) => value,
            None => self.null(Reason::WrongType, at, || {
                format!("the result of {} is {kind}, not {}", native.name, native.result)
            }),
        })
    }

    /// Calls a function that takes this many arguments; a fault where it takes another number.
    pub(in super::super) fn apply_checked(
        &mut self,
        function: &Function,
        values: Vec<FeelValue>,
        at: At,
    ) -> Result<FeelValue, Fault> {
        let is_builtin = matches!(function.0, Body::Builtin(_));
        if !is_builtin && function.parameters().len() != values.len() {
            let (takes, gets) = (function.parameters().len(), values.len());
            return Err(Fault::argument(format!(
                "the function takes {takes} arguments, not {gets}"
            )));
        }
        self.apply(function, values, at).map_err(Fault::Limit)
    }
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

/// The arguments in the order of the parameters.
fn in_order(
    parameters: &[Parameter],
    names: &[Option<&str>],
    values: Vec<FeelValue>,
) -> Result<Vec<FeelValue>, String> {
    if parameters.len() != values.len() {
        return Err(format!(
            "the function takes {} arguments, not {}",
            parameters.len(),
            values.len()
        ));
    }
    if names.iter().all(Option::is_none) {
        return Ok(values);
    }
    let mut ordered = vec![None; parameters.len()];
    for (name, value) in names.iter().zip(values) {
        let index = parameters.iter().position(|it| Some(&*it.name) == *name);
        match index {
            Some(index) => ordered[index] = Some(value),
            None => return Err(format!("there is no parameter {}", name.unwrap_or_default())),
        }
    }
    let complete: Option<Vec<_>> = ordered.into_iter().collect();
    complete.ok_or_else(|| "a parameter has two arguments".to_owned())
}

fn coerced(parameters: &[Parameter], values: Vec<FeelValue>) -> Result<Vec<FeelValue>, String> {
    if parameters.len() != values.len() {
        return Err(format!(
            "the function takes {} arguments, not {}",
            parameters.len(),
            values.len()
        ));
    }
    let coerce = |(value, parameter): (FeelValue, &Parameter)| {
        let kind = value.kind();
        let message = || format!("{} is {kind}, not {}", parameter.name, parameter.of);
        parameter.of.coerce(value).ok_or_else(message)
    };
    values.into_iter().zip(parameters).map(coerce).collect()
}
