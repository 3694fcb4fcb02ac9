//! The names that are known where an expression stands.
//!
//! Names of FEEL may have spaces and operators in them (`monthly rate`, `debt-to-income`), so whether
//! `a-b` is a name or a subtraction depends on which names there are. The longest known one wins.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use travertine_value::Name;

use super::{lexer, types::Type};

/// A name of more words is known only in backticks: what is looked for at each word of an expression
/// must not grow with the longest name.
const WORDS_MAX: usize = 64;

/// The names that an expression can refer to, and the types it can name.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names word by word: a tree, its root first. What comes behind a word is found in one step,
    /// however many names begin alike.
    steps: Vec<Step>,
    /// What each name was before it was added, to take names back.
    added: Vec<(usize, Option<Known>)>,
    /// Whether entries of contexts count as variables here.
    is_in_filter: bool,
    types: BTreeMap<Name, Type>,
}

/// The names that begin with the same words.
#[derive(Clone, Debug, Default)]
struct Step {
    next: BTreeMap<String, usize>,
    /// The name that these words are.
    known: Option<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    name: Name,
    is_variable: bool,
}

/// How many names there were; see [`Names::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    added: usize,
    is_in_filter: bool,
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
        self.add_type_alone(name, of);
    }

    /// Makes a type known to a caller who sees to the names of its entries.
    pub fn add_type_alone(&mut self, name: &str, of: Type) {
        self.types.insert(Arc::from(name), of);
    }

    /// What is known now, to come back to: names that are known inside something only need no copy
    /// of all others.
    pub fn mark(&self) -> Mark {
        Mark { added: self.added.len(), is_in_filter: self.is_in_filter }
    }

    /// Takes back the names that were added since.
    pub fn back_to(&mut self, mark: Mark) {
        for (step, before) in self.added.drain(mark.added..).rev() {
            self.steps[step].known = before;
        }
        self.is_in_filter = mark.is_in_filter;
    }

    /// From here on, what can stand behind a dot can stand alone, too: the entries of an item.
    pub fn enter_filter(&mut self) {
        self.is_in_filter = true;
    }

    /// Whether there is a variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        let mut step = 0;
        for word in lexer::words(name) {
            match self.steps.get(step).and_then(|it| it.next.get(&word)) {
                Some(next) => step = *next,
                None => return false,
            }
        }
        let known = self.steps.get(step).and_then(|it| it.known.as_ref());
        known.is_some_and(|it| self.is_variable(it) && &*it.name == name)
    }

    pub(super) fn type_named(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// The longest known name that these words begin with: how many they are, itself, and whether it
    /// is a variable.
    pub(super) fn longest<'w>(
        &self,
        first: &str,
        word: impl Fn(usize) -> Option<&'w str>,
    ) -> Option<(usize, &Name, bool)> {
        let mut step = self.steps.first()?.next.get(first).copied();
        let mut longest = None;
        let mut words = 1;
        while let Some(found) = step {
            let found = &self.steps[found];
            if let Some(known) = &found.known {
                longest = Some((words, &known.name, self.is_variable(known)));
            }
            step = word(words).and_then(|it| found.next.get(it).copied());
            words += 1;
        }
        longest
    }

    fn is_variable(&self, known: &Known) -> bool {
        known.is_variable || self.is_in_filter
    }

    fn insert(&mut self, name: &str, is_variable: bool) {
        let words = lexer::words(name);
        if words.is_empty() || words.len() > WORDS_MAX {
            return;
        }
        if self.steps.is_empty() {
            self.steps.push(Step::default());
        }
        let mut step = 0;
        for word in words {
            let new = self.steps.len();
            step = *self.steps[step].next.entry(word).or_insert(new);
            if step == new {
                self.steps.push(Step::default());
            }
        }
        let known = &mut self.steps[step].known;
        match known {
            Some(known) if known.is_variable || !is_variable => {}
            Some(Known { name, .. }) => {
                let name = Arc::clone(name);
                self.added.push((step, known.replace(Known { name, is_variable })));
            }
            None => {
                *known = Some(Known { name: Arc::from(name), is_variable });
                self.added.push((step, None));
            }
        }
    }

    /// Parts of a type may be shared, so that written out it would be far larger than it is: each is
    /// looked at once.
    fn add_components_of(&mut self, of: &Type) {
        let mut seen = HashSet::new();
        let mut open = vec![of];
        while let Some(of) = open.pop() {
            match of {
                Type::Context(entries) if seen.insert(Arc::as_ptr(entries).addr()) => {
                    for (name, of) in entries.iter() {
                        self.add_component(name);
                        open.push(of);
                    }
                }
                Type::List(of) | Type::Range(of) if seen.insert(Arc::as_ptr(of).addr()) => {
                    open.push(of);
                }
                Type::Context(_)
                | Type::List(_)
                | Type::Range(_)
                | Type::Any
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
}
