//! Whether a value is of a type, and what makes it so.

use travertine_lang::feel::{FeelValue, Session, Type};
use travertine_value::Limit;

use super::{Shape, TypeId, Types};
use crate::{eval::Record, scope::Scope};

/// Holds values against types.
pub(crate) struct Conform<'c, 's> {
    pub(crate) types: &'c Types,
    pub(crate) session: &'c mut Session<'s>,
    pub(crate) record: &'c Record,
}

/// Why a value is not of a type.
type Mismatch = String;

/// What a value is; of a function also how many arguments it takes, which is what mostly differs.
fn describe(value: &FeelValue) -> String {
    match value {
        FeelValue::Function(function) if !function.parameters().is_empty() => {
            format!("a function of {}", function.parameters().len())
        }
        _ => value.kind().to_owned(),
    }
}

impl Conform<'_, '_> {
    /// The value as one of this type: as it is, the only item of a list, a list of the only item, or
    /// a date as its midnight. Null is of every type.
    pub(crate) fn coerce(
        &mut self,
        of: TypeId,
        value: FeelValue,
    ) -> Result<Result<FeelValue, Mismatch>, Limit> {
        if of == TypeId::ANY || value.is_null() {
            return Ok(Ok(value));
        }
        let Some(mismatch) = self.mismatch(of, &value)? else { return Ok(Ok(value)) };
        if let Some(other) = self.converted(of, value)
            && self.mismatch(of, &other)?.is_none()
        {
            return Ok(Ok(other));
        }
        Ok(Err(mismatch))
    }

    fn converted(&self, of: TypeId, value: FeelValue) -> Option<FeelValue> {
        match (self.types.feel(of), value) {
            (Type::List(_), FeelValue::List(_)) => None,
            (Type::List(_), value) => Some(vec![value].into()),
            (_, FeelValue::List(items)) if items.len() == 1 => items.get(0),
            (of @ Type::DateTime, value @ FeelValue::Date(_)) => of.coerce(value),
            _ => None,
        }
    }

    /// Why a value is not of this type; `None` where it is. It goes as deep as the value does, and
    /// each part of the value costs a step for each type that it must be of.
    fn mismatch(&mut self, of: TypeId, value: &FeelValue) -> Result<Option<Mismatch>, Limit> {
        if value.is_null() {
            return Ok(None);
        }
        let types = self.types;
        // Another name for a type can allow less, never more: what it is a name for comes first.
        let chain: Vec<_> = types.chain(of).collect();
        self.session.charge(chain.len())?;
        let base = *chain.last().expect("at least the type itself");
        if let Some(mismatch) = self.base_mismatch(base, value)? {
            return Ok(Some(mismatch));
        }
        for tests in chain.iter().rev().filter_map(|it| types.get(*it).allowed.as_ref()) {
            if !tests.pass(value, &Scope::default(), self.session, self.record)? {
                let (value, tests) = (crate::show::short(value), tests.source());
                return Ok(Some(format!("{value} is not one of the values allowed: {tests}")));
            }
        }
        Ok(None)
    }

    fn base_mismatch(&mut self, of: TypeId, value: &FeelValue) -> Result<Option<Mismatch>, Limit> {
        let types = self.types;
        Ok(match &types.get(of).shape {
            Shape::Plain(plain) if plain.accepts(value) => None,
            Shape::Plain(plain) => Some(format!("expected {plain}, found {}", value.kind())),
            Shape::Same(_) => unreachable!("it is no other name for another"),
            Shape::List(item) => match value {
                FeelValue::List(items) => self.item_mismatch(*item, items)?,
                other => Some(format!("expected a list, found {}", other.kind())),
            },
            Shape::Context(entries) => match value {
                FeelValue::Context(context) => self.entry_mismatch(entries, context)?,
                other => Some(format!("expected a context, found {}", other.kind())),
            },
            Shape::Function { .. } if types.feel(of).includes(value) => None,
            Shape::Function { .. } => {
                Some(format!("expected {}, found {}", types.feel(of), describe(value)))
            }
        })
    }

    fn item_mismatch(
        &mut self,
        of: TypeId,
        items: &travertine_lang::feel::List,
    ) -> Result<Option<Mismatch>, Limit> {
        for (index, item) in items.iter().enumerate() {
            if let Some(mismatch) = self.mismatch(of, &item)? {
                return Ok(Some(format!("item {}: {mismatch}", index + 1)));
            }
        }
        Ok(None)
    }

    fn entry_mismatch(
        &mut self,
        entries: &[(travertine_value::Name, TypeId)],
        context: &travertine_lang::feel::Context,
    ) -> Result<Option<Mismatch>, Limit> {
        for (name, of) in entries {
            let Some(value) = context.get(name) else {
                return Ok(Some(format!("there is no entry '{name}'")));
            };
            if let Some(mismatch) = self.mismatch(*of, &value)? {
                return Ok(Some(format!("entry '{name}': {mismatch}")));
            }
        }
        Ok(None)
    }
}
