//! The names that are known where an expression stands.
//!
//! Names of FEEL may have spaces and operators in them (`monthly rate`, `debt-to-income`), so whether
//! `a-b` is a name or a subtraction depends on which names there are. The longest known one wins.

use std::{collections::BTreeMap, sync::Arc};

use crate::value::Name;

use super::{lexer, types::Type};

/// The names that an expression can refer to, and the types it can name.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By their first word, longest first.
    by_first: BTreeMap<String, Vec<Known>>,
    types: BTreeMap<Name, Type>,
}

#[derive(Clone, Debug)]
struct Known {
    words: Vec<String>,
    name: Name,
    is_variable: bool,
}

impl Names {
    /// None at all: every word is a name of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a variable known: input data, a decision, a function, an entry of a boxed context.
    pub fn add(&mut self, name: &str) {
        self.insert(name, true);
    }

    /// Makes a name known that stands behind a dot or in a filter: a component of a type.
    pub fn add_component(&mut self, name: &str) {
        self.insert(name, false);
    }

    /// Makes a type known, and the names of its entries.
    pub fn add_type(&mut self, name: &str, of: Type) {
        self.add_components_of(&of);
        self.types.insert(Arc::from(name), of);
    }

    /// Whether there is a variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.by_first.values().flatten().any(|known| known.is_variable && &*known.name == name)
    }

    pub(super) fn type_named(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// The longest known name that these words begin with: its words, itself, and whether it is a
    /// variable.
    pub(super) fn longest<'w>(
        &self,
        first: &str,
        word: impl Fn(usize) -> Option<&'w str>,
    ) -> Option<(usize, &Name, bool)> {
        let candidates = self.by_first.get(first)?;
        let fits = |known: &&Known| {
            known.words.iter().enumerate().skip(1).all(|(index, it)| word(index) == Some(it))
        };
        candidates.iter().find(fits).map(|it| (it.words.len(), &it.name, it.is_variable))
    }

    fn insert(&mut self, name: &str, is_variable: bool) {
        let words = lexer::words(name);
        let Some(first) = words.first() else { return };
        let known = self.by_first.entry(first.clone()).or_default();
        if let Some(there) = known.iter_mut().find(|it| it.words == words) {
            there.is_variable |= is_variable;
        } else {
            known.push(Known { words, name: Arc::from(name), is_variable });
            known.sort_by_key(|it| std::cmp::Reverse(it.words.len()));
        }
    }

    fn add_components_of(&mut self, of: &Type) {
        match of {
            Type::Context(entries) => {
                for (name, of) in entries.iter() {
                    self.add_component(name);
                    self.add_components_of(of);
                }
            }
            Type::List(of) | Type::Range(of) => self.add_components_of(of),
            Type::Any
            | Type::Null
            | Type::Boolean
            | Type::Number
            | Type::String
            | Type::Date
            | Type::Time
            | Type::DateTime
            | Type::DaysDuration
            | Type::YearsDuration
            | Type::Function(..)
            | Type::Unknown(_) => {}
        }
    }
}
