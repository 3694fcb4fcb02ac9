//! Lists and contexts: FEEL's own, or shared with the process variables they came from.
//!
//! A value can hold another one many times over, so that a small expression can make a value whose
//! text would fill the disk. Each list and context therefore knows its [`Shape`].

use std::{borrow::Cow, sync::Arc};

use indexmap::IndexMap;
use travertine_value::{Map, Name, Value};

use super::value::FeelValue;

/// How deep and how large a value is when everything shared in it is counted each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) depth: u32,
    pub(super) nodes: u64,
}

impl Shape {
    pub(super) fn of(value: &FeelValue) -> Self {
        match value {
            FeelValue::List(list) => list.shape(),
            FeelValue::Context(context) => context.shape(),
            FeelValue::Null
            | FeelValue::Boolean(_)
            | FeelValue::Number(_)
            | FeelValue::String(_)
            | FeelValue::Date(_)
            | FeelValue::Time(_)
            | FeelValue::DateTime(_)
            | FeelValue::DaysDuration(_)
            | FeelValue::YearsDuration(_)
            | FeelValue::Range(_)
            | FeelValue::Function(_) => Self { depth: 0, nodes: 1 },
        }
    }

    fn around<'v>(parts: impl Iterator<Item = &'v FeelValue>) -> Self {
        parts.map(Self::of).fold(Self { depth: 1, nodes: 1 }, |whole, part| Self {
            depth: whole.depth.max(part.depth.saturating_add(1)),
            nodes: whole.nodes.saturating_add(part.nodes),
        })
    }
}

#[derive(Clone, Debug)]
struct Shaped<T> {
    shape: Shape,
    parts: T,
}

/// A list. Cheap to clone.
#[derive(Clone, Debug)]
pub struct List(Items);

#[derive(Clone, Debug)]
enum Items {
    Own(Arc<Shaped<Vec<FeelValue>>>),
    Shared(Arc<Vec<Value>>),
}

impl List {
    /// How many items it has.
    pub fn len(&self) -> usize {
        match &self.0 {
            Items::Own(items) => items.parts.len(),
            Items::Shared(items) => items.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at this index, from 0.
    pub fn get(&self, index: usize) -> Option<FeelValue> {
        match &self.0 {
            Items::Own(items) => items.parts.get(index).cloned(),
            Items::Shared(items) => items.get(index).map(Into::into),
        }
    }

    /// The items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = FeelValue> + ExactSizeIterator + '_ {
        (0..self.len()).map(|index| self.get(index).expect("the index is below the length"))
    }

    /// All items; copied where somebody else has them too.
    pub fn into_vec(self) -> Vec<FeelValue> {
        match self.0 {
            Items::Own(items) => Arc::unwrap_or_clone(items).parts,
            Items::Shared(items) => items.iter().map(Into::into).collect(),
        }
    }

    /// What is shared with a variable counts by its length: the variable was small enough to get in.
    fn shape(&self) -> Shape {
        match &self.0 {
            Items::Own(items) => items.shape,
            Items::Shared(items) => Shape { depth: 1, nodes: items.len() as u64 + 1 },
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match &self.0 {
            Items::Own(items) => items.parts.iter().map(FeelValue::to_value).collect(),
            Items::Shared(items) => Value::List(Arc::clone(items)),
        }
    }
}

impl From<Vec<FeelValue>> for List {
    fn from(items: Vec<FeelValue>) -> Self {
        let shape = Shape::around(items.iter());
        Self(Items::Own(Arc::new(Shaped { shape, parts: items })))
    }
}

impl From<Arc<Vec<Value>>> for List {
    fn from(items: Arc<Vec<Value>>) -> Self {
        Self(Items::Shared(items))
    }
}

impl FromIterator<FeelValue> for List {
    fn from_iter<I: IntoIterator<Item = FeelValue>>(items: I) -> Self {
        items.into_iter().collect::<Vec<_>>().into()
    }
}

/// Named entries in the order they were written. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context(Entries);

#[derive(Clone, Debug)]
enum Entries {
    Own(Arc<Shaped<IndexMap<Name, FeelValue>>>),
    Shared(Arc<Map>),
}

impl Context {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::Own(entries) => entries.parts.len(),
            Entries::Shared(entries) => entries.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<FeelValue> {
        match &self.0 {
            Entries::Own(entries) => entries.parts.get(name).cloned(),
            Entries::Shared(entries) => entries.get(name).map(Into::into),
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, FeelValue)> + '_ {
        (0..self.len()).map(|index| {
            let entry = match &self.0 {
                Entries::Own(entries) => {
                    entries.parts.get_index(index).map(|(k, v)| (k, v.clone()))
                }
                Entries::Shared(entries) => entries.get_index(index).map(|(k, v)| (k, v.into())),
            };
            entry.expect("the index is below the length")
        })
    }

    /// All entries; copied where somebody else has them too.
    pub fn into_entries(self) -> IndexMap<Name, FeelValue> {
        match self.0 {
            Entries::Own(entries) => Arc::unwrap_or_clone(entries).parts,
            Entries::Shared(entries) => {
                entries.iter().map(|(name, value)| (Arc::clone(name), value.into())).collect()
            }
        }
    }

    /// This context with an entry added or replaced.
    #[must_use]
    pub fn with(self, name: Name, value: FeelValue) -> Self {
        let mut entries = self.into_entries();
        entries.insert(name, value);
        entries.into()
    }

    fn shape(&self) -> Shape {
        match &self.0 {
            Entries::Own(entries) => entries.shape,
            Entries::Shared(entries) => Shape { depth: 1, nodes: entries.len() as u64 + 1 },
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match &self.0 {
            Entries::Own(entries) => entries
                .parts
                .iter()
                .map(|(name, value)| (Arc::clone(name), value.to_value()))
                .collect(),
            Entries::Shared(entries) => Value::Map(Arc::clone(entries)),
        }
    }
}

impl Default for Context {
    fn default() -> Self {
        IndexMap::new().into()
    }
}

impl From<IndexMap<Name, FeelValue>> for Context {
    fn from(entries: IndexMap<Name, FeelValue>) -> Self {
        let shape = Shape::around(entries.values());
        Self(Entries::Own(Arc::new(Shaped { shape, parts: entries })))
    }
}

impl From<Arc<Map>> for Context {
    fn from(entries: Arc<Map>) -> Self {
        Self(Entries::Shared(entries))
    }
}

impl FromIterator<(Name, FeelValue)> for Context {
    fn from_iter<I: IntoIterator<Item = (Name, FeelValue)>>(entries: I) -> Self {
        entries.into_iter().collect::<IndexMap<_, _>>().into()
    }
}

/// A name for messages; long ones are cut.
pub(super) fn short(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(60) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}
