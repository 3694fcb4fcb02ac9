//! Calls: which function is meant, and which argument is which parameter.

use travertine_value::Name;

use super::{
    super::{
        builtins::{Builtin, Special},
        tree::{At, Call, Expr},
    },
    Parsed, Parser,
};

type Arguments = Vec<(Option<Name>, Expr)>;

impl Parser<'_> {
    /// A name that is no built-in function.
    pub(super) fn variable(&mut self, name: &Name, at: At) -> Parsed<Expr> {
        if !self.is_sign("(") || self.knows_variable(name) || self.is_in_filter() {
            return Ok(self.resolve(name, at));
        }
        self.arguments()?;
        Ok(self.nothing(format!("there is no function {name}"), at))
    }

    /// A word that names a built-in function but is not called: a variable of that name if there is
    /// one, and else the function.
    pub(super) fn variable_or_builtin(
        &mut self,
        name: &Name,
        builtin: &'static Builtin,
        at: At,
    ) -> Expr {
        let variable = self.resolve(name, at);
        match variable {
            Expr::Global(name, _) => Expr::GlobalOr(name, builtin),
            other => other,
        }
    }

    /// A call of something that is both a variable and a built-in function.
    pub(super) fn call_variable_or(
        &mut self,
        name: &Name,
        builtin: &'static Builtin,
        at: At,
    ) -> Parsed<Expr> {
        let callee = self.resolve(name, at);
        let arguments = self.arguments()?;
        Ok(Expr::Call(Box::new(Call { at, callee, arguments, otherwise: Some(builtin) })))
    }

    pub(super) fn call_builtin(&mut self, builtin: &'static Builtin, at: At) -> Parsed<Expr> {
        let arguments = self.arguments()?;
        let names: Vec<_> = arguments.iter().map(|(name, _)| name.as_deref()).collect();
        let (form, order) = match builtin.form_for(&names) {
            Ok(found) => found,
            Err(message) => return Ok(self.nothing(message, at)),
        };
        let mut arguments: Vec<_> = arguments.into_iter().map(|(_, it)| Some(it)).collect();
        let mut ordered = order.into_iter().map(|it| it.and_then(|it| arguments[it].take()));
        if form.special == Some(Special::IsDefined) {
            let argument = ordered.next().flatten().expect("it has one argument");
            return Ok(Expr::IsDefined(Box::new(argument)));
        }
        let ordered = ordered.collect();
        Ok(Expr::Builtin(form, at, ordered))
    }

    /// Arguments in brackets, with or without names.
    pub(super) fn arguments(&mut self) -> Parsed<Arguments> {
        self.expect_sign("(")?;
        let mut arguments = Arguments::new();
        if self.eat_sign(")") {
            return Ok(arguments);
        }
        loop {
            let name = match self.key_length() {
                Some(words) => {
                    let name = self.take_name(words);
                    self.expect_sign(":")?;
                    Some(name)
                }
                None => None,
            };
            let is_mixed = arguments.first().is_some_and(|it| it.0.is_some() != name.is_some());
            if is_mixed {
                return Err(self.error("either all arguments have names or none has one"));
            }
            arguments.push((name, self.expression()?));
            if self.eat_sign(")") {
                return Ok(arguments);
            }
            self.expect_sign(",")?;
        }
    }
}
