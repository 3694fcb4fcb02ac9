//! Boxed expressions of all kinds but tables.

use std::collections::HashMap;

use travertine_lang::feel::{FeelValue, Function, List};
use travertine_value::Name;

use super::{Run, Valued};
use crate::{
    logic::{Boxed, Conditional, Entry, Filter, Invocation, Logic, Loop},
    model::Variable,
    scope::{Growing, Scope},
};

impl Run<'_, '_> {
    pub(super) fn boxed(&mut self, boxed: &Boxed, scope: &Scope) -> Valued {
        self.session.charge(1)?;
        let value = match &boxed.logic {
            Logic::Nothing(reason) => self.null(&boxed.spot, reason.as_str()),
            Logic::Literal(text) => text.evaluate(scope, self.session, &self.world.record)?,
            Logic::Table(table) => self.table(table, scope, &boxed.spot)?,
            Logic::Function(function) => self.closure(function, scope).into(),
            // What contains others counts as depth, as it does within an expression.
            Logic::Context(_)
            | Logic::Invocation(_)
            | Logic::List(_)
            | Logic::Relation { .. }
            | Logic::Conditional(_)
            | Logic::Filter(_)
            | Logic::For(_)
            | Logic::Some(_)
            | Logic::Every(_) => {
                let world = self.world;
                self.session.within(|session| Run { world, session }.compound(boxed, scope))?
            }
        };
        self.coerce(boxed.of, value, Some(&boxed.spot), || "the value".to_owned())
    }

    fn compound(&mut self, boxed: &Boxed, scope: &Scope) -> Valued {
        Ok(match &boxed.logic {
            Logic::Nothing(_) | Logic::Literal(_) | Logic::Table(_) | Logic::Function(_) => {
                unreachable!("these contain no others")
            }
            Logic::Context(entries) => self.context(entries, scope)?,
            Logic::Invocation(invocation) => self.invocation(invocation, scope, boxed)?,
            Logic::List(items) => {
                let items: Result<Vec<_>, _> =
                    items.iter().map(|it| self.boxed(it, scope)).collect();
                items?.into()
            }
            Logic::Relation { columns, rows } => self.relation(columns, rows, scope)?,
            Logic::Conditional(conditional) => self.conditional(conditional, scope)?,
            Logic::Filter(filter) => self.filter(filter, scope, boxed)?,
            Logic::For(over) => self.loop_over(over, scope, boxed)?,
            Logic::Some(over) => self.quantified(over, scope, boxed, true)?,
            Logic::Every(over) => self.quantified(over, scope, boxed, false)?,
        })
    }

    /// Each entry sees those above it; the one without a name is the result.
    fn context(&mut self, entries: &[Entry], scope: &Scope) -> Valued {
        let mut inside = Growing::on(scope);
        let mut values = Vec::new();
        for Entry { variable, value } in entries {
            let spot = &value.spot;
            let value = self.boxed(value, inside.scope())?;
            let Some(Variable { name, of }) = variable else { return Ok(value) };
            let value = self.coerce(*of, value, Some(spot), || format!("the entry '{name}'"))?;
            inside.add(name, value.clone());
            values.push((Name::clone(name), value));
        }
        Ok(FeelValue::Context(values.into_iter().collect()))
    }

    fn invocation(&mut self, invocation: &Invocation, scope: &Scope, boxed: &Boxed) -> Valued {
        let Invocation { callee, bindings } = invocation;
        let function = match self.boxed(callee, scope)? {
            FeelValue::Function(function) => function,
            other => {
                return Ok(self.null(&boxed.spot, format!("{} cannot be called", other.kind())));
            }
        };
        let mut given = Vec::with_capacity(bindings.len());
        for (name, value) in bindings {
            given.push((name, self.boxed(value, scope)?));
        }
        match in_order(&function, given) {
            Ok(arguments) => function.call(arguments, self.session),
            Err(reason) => Ok(self.null(&boxed.spot, reason)),
        }
    }

    fn relation(&mut self, columns: &[Variable], rows: &[Vec<Boxed>], scope: &Scope) -> Valued {
        let mut values = Vec::with_capacity(rows.len());
        for row in rows {
            let mut entries = Vec::with_capacity(columns.len());
            for (Variable { name, of }, cell) in columns.iter().zip(row) {
                let value = self.boxed(cell, scope)?;
                let what = || format!("the cell of '{name}'");
                entries.push((Name::clone(name), self.coerce(*of, value, Some(&cell.spot), what)?));
            }
            values.push(FeelValue::Context(entries.into_iter().collect()));
        }
        Ok(values.into())
    }

    /// A condition that is null is as good as false.
    fn conditional(&mut self, conditional: &Conditional, scope: &Scope) -> Valued {
        let Conditional { condition, then, otherwise } = conditional;
        match self.boxed(condition, scope)? {
            FeelValue::Boolean(true) => self.boxed(then, scope),
            FeelValue::Boolean(false) | FeelValue::Null => self.boxed(otherwise, scope),
            other => Ok(self.null(&condition.spot, format!("{} is not a condition", other.kind()))),
        }
    }

    fn filter(&mut self, filter: &Filter, scope: &Scope, boxed: &Boxed) -> Valued {
        let Some(items) = self.domain(&filter.domain, scope, boxed)? else {
            return Ok(FeelValue::Null);
        };
        let mut kept = Vec::new();
        for item in items.iter() {
            let mut names = vec![(Name::from("item"), item.clone())];
            if let FeelValue::Context(context) = &item {
                self.session.charge(context.len())?;
                names.splice(0..0, context.iter().map(|(name, value)| (Name::clone(name), value)));
            }
            match self.boxed(&filter.condition, &scope.with(names))? {
                FeelValue::Boolean(true) => kept.push(item),
                FeelValue::Boolean(false) | FeelValue::Null => {}
                other => {
                    let kind = other.kind();
                    return Ok(
                        self.null(&boxed.spot, format!("a filter needs booleans, not {kind}"))
                    );
                }
            }
        }
        Ok(kept.into())
    }

    fn loop_over(&mut self, over: &Loop, scope: &Scope, boxed: &Boxed) -> Valued {
        let Some(items) = self.domain(&over.domain, scope, boxed)? else {
            return Ok(FeelValue::Null);
        };
        let mut results: Vec<FeelValue> = Vec::with_capacity(items.len());
        let partial = Name::from("partial");
        for item in items.iter() {
            let mut names = vec![(Name::clone(&over.variable), item)];
            if over.reads_partial {
                self.session.charge(results.len())?;
                names.insert(0, (Name::clone(&partial), results.clone().into()));
            }
            results.push(self.boxed(&over.body, &scope.with(names))?);
        }
        Ok(results.into())
    }

    fn quantified(&mut self, over: &Loop, scope: &Scope, boxed: &Boxed, deciding: bool) -> Valued {
        let Some(items) = self.domain(&over.domain, scope, boxed)? else {
            return Ok(FeelValue::Null);
        };
        let mut is_unknown = false;
        for item in items.iter() {
            match self.boxed(&over.body, &scope.with_one(&over.variable, item))? {
                FeelValue::Boolean(it) if it == deciding => return Ok(deciding.into()),
                FeelValue::Boolean(_) => {}
                _ => is_unknown = true,
            }
        }
        Ok(if is_unknown {
            self.null(&boxed.spot, "a condition is not a boolean")
        } else {
            (!deciding).into()
        })
    }

    /// What a loop goes over: the items of a list, the numbers of a range, or a single value.
    fn domain(
        &mut self,
        domain: &Boxed,
        scope: &Scope,
        boxed: &Boxed,
    ) -> Result<Option<List>, travertine_value::Limit> {
        Ok(match self.boxed(domain, scope)? {
            FeelValue::Null => {
                self.null(&boxed.spot, "there is nothing to go over");
                None
            }
            value @ FeelValue::Range(_) => {
                let scope = Scope::default().with_one(&Name::from("values"), value);
                let items = self.world.model.helpers.items.evaluate_in(&scope, self.session)?;
                items.as_list().cloned()
            }
            other => Some(other.into_list()),
        })
    }
}

/// The values in the order of the parameters. A function that is built in does not tell its
/// parameters; it takes them as they come.
fn in_order(
    function: &Function,
    mut given: Vec<(&Name, FeelValue)>,
) -> Result<Vec<FeelValue>, String> {
    let parameters = function.parameters();
    if parameters.is_empty() {
        return Ok(given.into_iter().map(|(_, value)| value).collect());
    }
    // The first of two that are the same counts, and the other is one too many.
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (at, (name, _)) in given.iter().enumerate() {
        by_name.entry(name).or_insert(at);
    }
    let mut arguments = Vec::with_capacity(parameters.len());
    let mut is_taken = vec![false; given.len()];
    for parameter in parameters {
        let Some(at) = by_name.get(&*parameter.name).copied().filter(|it| !is_taken[*it]) else {
            return Err(format!("the parameter '{}' is not bound", parameter.name));
        };
        is_taken[at] = true;
        arguments.push(std::mem::take(&mut given[at].1));
    }
    match is_taken.iter().position(|it| !it) {
        Some(at) => Err(format!("there is no parameter '{}'", given[at].0)),
        None => Ok(arguments),
    }
}
