//! The types of a model: those of FEEL, and what item definitions make of them.
//!
//! A type of DMN is a type of FEEL and more: it can say which values are allowed. `compile` reads
//! them, `conform` holds values against them, `json` makes values of them from JSON.

mod compile;
mod conform;
mod json;

use std::sync::Arc;

use travertine_expr::{Name, feel::Type};

use crate::text::Tests;

pub(crate) use compile::TypeNames;
pub(crate) use conform::Conform;
pub(crate) use json::from_json;

/// A type of [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(usize);

impl TypeId {
    /// The type of everything.
    pub(crate) const ANY: Self = Self(0);
}

/// All types of all files.
#[derive(Debug)]
pub(crate) struct Types(Vec<ItemType>);

/// A type.
#[derive(Debug)]
pub(crate) struct ItemType {
    /// What people call it.
    pub(crate) name: Name,
    pub(crate) shape: Shape,
    /// What a value must pass to be of this type.
    pub(crate) allowed: Option<Tests>,
}

#[derive(Debug)]
pub(crate) enum Shape {
    /// A type that FEEL knows.
    Plain(Type),
    /// The same as another, but for the allowed values.
    Same(TypeId),
    List(TypeId),
    Context(Vec<(Name, TypeId)>),
    Function {
        parameters: Vec<TypeId>,
        result: TypeId,
    },
}

impl Types {
    /// Only the type of everything.
    pub(crate) fn new() -> Self {
        let any = ItemType { name: "Any".into(), shape: Shape::Plain(Type::Any), allowed: None };
        Self(vec![any])
    }

    pub(crate) fn add(&mut self, of: ItemType) -> TypeId {
        self.0.push(of);
        TypeId(self.0.len() - 1)
    }

    pub(crate) fn get(&self, id: TypeId) -> &ItemType {
        &self.0[id.0]
    }

    pub(crate) fn set(&mut self, id: TypeId, of: ItemType) {
        self.0[id.0] = of;
    }

    /// The type of FEEL's own with that name.
    pub(crate) fn plain(&mut self, name: &str, of: Type) -> TypeId {
        let same = |it: &ItemType| {
            it.allowed.is_none() && matches!(&it.shape, Shape::Plain(known) if *known == of)
        };
        match self.0.iter().position(same) {
            Some(known) => TypeId(known),
            None => {
                self.add(ItemType { name: name.into(), shape: Shape::Plain(of), allowed: None })
            }
        }
    }

    /// The type without its own name and allowed values: what FEEL knows of it.
    pub(crate) fn feel(&self, id: TypeId) -> Type {
        self.feel_within(id, &mut Vec::new())
    }

    /// A type that contains itself ends in one that takes everything.
    fn feel_within(&self, id: TypeId, within: &mut Vec<TypeId>) -> Type {
        if within.contains(&id) {
            return Type::Any;
        }
        within.push(id);
        let of = match &self.get(id).shape {
            Shape::Plain(of) => of.clone(),
            Shape::Same(other) => self.feel_within(*other, within),
            Shape::List(item) => Type::List(Arc::new(self.feel_within(*item, within))),
            Shape::Context(entries) => {
                let entry = |(name, of): &(Name, TypeId), within: &mut Vec<TypeId>| {
                    (Name::clone(name), self.feel_within(*of, within))
                };
                Type::Context(Arc::new(entries.iter().map(|it| entry(it, within)).collect()))
            }
            Shape::Function { parameters, result } => {
                let parameters = parameters.iter().map(|it| self.feel_within(*it, within));
                let parameters = Arc::new(parameters.collect());
                Type::Function(parameters, Arc::new(self.feel_within(*result, within)))
            }
        };
        within.pop();
        of
    }

    /// What it gives when it is called, where it is the type of a function.
    pub(crate) fn result_of(&self, id: TypeId) -> Option<TypeId> {
        match &self.get(id).shape {
            Shape::Function { result, .. } => Some(*result),
            Shape::Same(other) => self.result_of(*other),
            Shape::Plain(_) | Shape::List(_) | Shape::Context(_) => None,
        }
    }

    /// The names of the entries of all types.
    pub(crate) fn entry_names(&self) -> impl Iterator<Item = String> {
        let entries = self.0.iter().filter_map(|it| match &it.shape {
            Shape::Context(entries) => Some(entries),
            Shape::Plain(_) | Shape::Same(_) | Shape::List(_) | Shape::Function { .. } => None,
        });
        entries.flatten().map(|(name, _)| name.to_string())
    }
}
