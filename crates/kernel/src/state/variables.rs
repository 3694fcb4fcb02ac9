//! The variables of one layer, each with its number.

use std::collections::btree_map::{self, BTreeMap, Entry};

use travertine_value::{Name, Value};

/// Variables by name. Each has a number, which it got when its name was first set here and which no
/// other variable of the instance ever has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables {
    all: BTreeMap<Name, Variable>,
}

#[derive(Clone, Debug, PartialEq)]
struct Variable {
    value: Value,
    number: u64,
}

impl Variables {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.all.get(name).map(|it| &it.value)
    }

    /// The number of a variable.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.all.get(name).map(|it| it.number)
    }

    /// The numbers, in the order of the names.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.all.values().map(|it| it.number)
    }

    /// Whether there is a variable of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.all.contains_key(name)
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Name> {
        self.all.keys()
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> VariableIter<'_> {
        VariableIter { all: self.all.iter() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A variable has a value; with that number, where there was none of its name. Answers whether that was
    /// so.
    pub(super) fn set(&mut self, name: Name, value: Value, number: u64) -> bool {
        match self.all.entry(name) {
            Entry::Occupied(mut it) => {
                it.get_mut().value = value;
                false
            }
            Entry::Vacant(it) => {
                it.insert(Variable { value, number });
                true
            }
        }
    }

    /// Each gets the next of these numbers, in the order of the names.
    pub fn renumber(&mut self, numbers: &mut impl Iterator<Item = u64>) {
        for (it, number) in self.all.values_mut().zip(numbers) {
            it.number = number;
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.all.remove(name);
    }
}

/// From names, values and numbers.
impl FromIterator<(Name, Value, u64)> for Variables {
    fn from_iter<I: IntoIterator<Item = (Name, Value, u64)>>(all: I) -> Self {
        let all = all.into_iter().map(|(name, value, number)| (name, Variable { value, number }));
        Self { all: all.collect() }
    }
}

impl<'a> IntoIterator for &'a Variables {
    type Item = (&'a Name, &'a Value);
    type IntoIter = VariableIter<'a>;

    fn into_iter(self) -> VariableIter<'a> {
        self.iter()
    }
}

/// Names and values of [`Variables`].
#[derive(Clone, Debug)]
pub struct VariableIter<'a> {
    all: btree_map::Iter<'a, Name, Variable>,
}

impl<'a> Iterator for VariableIter<'a> {
    type Item = (&'a Name, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.all.next().map(|(name, it)| (name, &it.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.all.size_hint()
    }
}

impl ExactSizeIterator for VariableIter<'_> {}
