//! The types of a model: those of FEEL, and what item definitions make of them.
//!
//! A type of DMN is a type of FEEL and more: it can say which values are allowed. `compile` reads
//! them, `conform` holds values against them, `json` makes values of them from JSON.

mod compile;
mod conform;
mod json;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use travertine_lang::feel::Type;
use travertine_value::Name;

use crate::text::Tests;

pub(crate) use compile::TypeNames;
pub(crate) use conform::Conform;
pub(crate) use json::from_json;

/// A type of [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeId(usize);

impl TypeId {
    /// The type of everything.
    pub(crate) const ANY: Self = Self(0);
}

/// Types within each other. No value can be nested deeper.
const DEPTH_MAX: usize = 256;

/// All types of all files. They refer to each other, so that a type that is used often is there once.
#[derive(Debug)]
pub(crate) struct Types {
    all: Vec<ItemType>,
    /// What FEEL knows of each. Their parts are shared, too.
    feel: Vec<Type>,
    /// Those that no item definition makes, by their names.
    plain: BTreeMap<String, TypeId>,
}

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
    /// Another type, but for the allowed values.
    Same(TypeId),
    List(TypeId),
    Context(Vec<(Name, TypeId)>),
    Function {
        parameters: Vec<TypeId>,
        result: TypeId,
    },
}

/// A type of FEEL whose parts are known by their numbers: equal ones become the same.
#[derive(PartialEq, Eq, Hash)]
enum Made {
    /// By how it is written.
    Plain(String),
    List(usize),
    Context(Vec<(Name, usize)>),
    Function(Vec<usize>, usize),
}

/// How far [`Types::settle`] is with a type.
#[derive(Clone, Copy)]
enum State {
    New,
    /// Its parts are being looked at.
    Open,
    /// Where it stands among the types of FEEL, and how deep it is.
    Done(usize, usize),
}

impl Types {
    /// Only the type of everything.
    pub(crate) fn new() -> Self {
        let mut types = Self { all: Vec::new(), feel: Vec::new(), plain: BTreeMap::new() };
        types.plain("Any", Type::Any);
        types
    }

    pub(crate) fn add(&mut self, of: ItemType) -> TypeId {
        self.feel.push(match &of.shape {
            Shape::Plain(of) => of.clone(),
            Shape::Same(_) | Shape::List(_) | Shape::Context(_) | Shape::Function { .. } => {
                Type::Any
            }
        });
        self.all.push(of);
        TypeId(self.all.len() - 1)
    }

    pub(crate) fn get(&self, id: TypeId) -> &ItemType {
        &self.all[id.0]
    }

    pub(crate) fn set(&mut self, id: TypeId, of: ItemType) {
        self.all[id.0] = of;
    }

    /// The type of FEEL's own with that name.
    pub(crate) fn plain(&mut self, name: &str, of: Type) -> TypeId {
        if let Some(known) = self.plain.get(name) {
            return *known;
        }
        let id = self.add(ItemType { name: name.into(), shape: Shape::Plain(of), allowed: None });
        self.plain.insert(name.to_owned(), id);
        id
    }

    /// The type without its own name and allowed values: what FEEL knows of it.
    pub(crate) fn feel(&self, id: TypeId) -> Type {
        self.feel[id.0].clone()
    }

    /// Works out what FEEL knows of each type, once all are there, each once and without recursion:
    /// they may be nested deeply. A type that contains itself ends in one that takes everything.
    /// Returns those that are nested too deeply.
    pub(crate) fn settle(&mut self) -> Vec<TypeId> {
        let mut state = vec![State::New; self.all.len()];
        let mut made: Vec<Type> = vec![Type::Any];
        let mut known: HashMap<Made, usize> = HashMap::new();
        let mut too_deep = Vec::new();
        for root in 0..self.all.len() {
            let mut open = vec![root];
            while let Some(&at) = open.last() {
                let parts = parts(&self.all[at].shape);
                if matches!(state[at], State::New) {
                    state[at] = State::Open;
                    let new = parts.iter().filter(|it| matches!(state[it.0], State::New));
                    open.extend(new.map(|it| it.0).rev());
                    continue;
                }
                open.pop();
                if matches!(state[at], State::Done(..)) {
                    continue;
                }
                let part = |it: &TypeId| match state[it.0] {
                    State::Done(index, depth) => (index, depth),
                    State::New | State::Open => (0, 0),
                };
                let depth = parts.iter().map(|it| part(it).1).max().unwrap_or(0);
                let depth = match self.all[at].shape {
                    Shape::Plain(_) | Shape::Same(_) => depth,
                    Shape::List(_) | Shape::Context(_) | Shape::Function { .. } => depth + 1,
                };
                if depth > DEPTH_MAX {
                    too_deep.push(TypeId(at));
                    state[at] = State::Done(0, 0);
                    continue;
                }
                let index = |it: &TypeId| part(it).0;
                let shape = match &self.all[at].shape {
                    Shape::Same(other) => {
                        let index = index(other);
                        state[at] = State::Done(index, depth);
                        self.feel[at] = made[index].clone();
                        continue;
                    }
                    Shape::Plain(of) => Made::Plain(of.to_string()),
                    Shape::List(item) => Made::List(index(item)),
                    Shape::Context(entries) => {
                        let entry = |(name, of): &(Name, TypeId)| (Name::clone(name), index(of));
                        Made::Context(entries.iter().map(entry).collect())
                    }
                    Shape::Function { parameters, result } => {
                        Made::Function(parameters.iter().map(index).collect(), index(result))
                    }
                };
                let index = known.get(&shape).copied().unwrap_or_else(|| {
                    made.push(match (&shape, &self.all[at].shape) {
                        (_, Shape::Plain(of)) => of.clone(),
                        _ => feel(&shape, &made),
                    });
                    known.insert(shape, made.len() - 1);
                    made.len() - 1
                });
                state[at] = State::Done(index, depth);
                self.feel[at] = made[index].clone();
            }
        }
        too_deep
    }

    /// What it gives when it is called, where it is the type of a function.
    pub(crate) fn result_of(&self, id: TypeId) -> Option<TypeId> {
        self.chain(id).find_map(|it| match self.get(it).shape {
            Shape::Function { result, .. } => Some(result),
            Shape::Same(_) | Shape::Plain(_) | Shape::List(_) | Shape::Context(_) => None,
        })
    }

    /// A type, what it is another name for, and so on.
    pub(crate) fn chain(&self, id: TypeId) -> impl Iterator<Item = TypeId> {
        std::iter::successors(Some(id), |it| match self.get(*it).shape {
            Shape::Same(other) => Some(other),
            Shape::Plain(_) | Shape::List(_) | Shape::Context(_) | Shape::Function { .. } => None,
        })
    }

    /// The names of the entries of all types.
    pub(crate) fn entry_names(&self) -> impl Iterator<Item = String> {
        let entries = self.all.iter().filter_map(|it| match &it.shape {
            Shape::Context(entries) => Some(entries),
            Shape::Plain(_) | Shape::Same(_) | Shape::List(_) | Shape::Function { .. } => None,
        });
        entries.flatten().map(|(name, _)| name.to_string())
    }
}

/// The types that a type consists of.
fn parts(shape: &Shape) -> Vec<TypeId> {
    match shape {
        Shape::Plain(_) => Vec::new(),
        Shape::Same(of) | Shape::List(of) => vec![*of],
        Shape::Context(entries) => entries.iter().map(|(_, of)| *of).collect(),
        Shape::Function { parameters, result } => {
            parameters.iter().chain([result]).copied().collect()
        }
    }
}

fn feel(shape: &Made, made: &[Type]) -> Type {
    let part = |it: &usize| made[*it].clone();
    match shape {
        Made::Plain(_) => unreachable!("it has no parts"),
        Made::List(item) => Type::List(Arc::new(part(item))),
        Made::Context(entries) => {
            let entry = |(name, of): &(Name, usize)| (Name::clone(name), part(of));
            Type::Context(Arc::new(entries.iter().map(entry).collect()))
        }
        Made::Function(parameters, result) => {
            let parameters = parameters.iter().map(part).collect();
            Type::Function(Arc::new(parameters), Arc::new(part(result)))
        }
    }
}
