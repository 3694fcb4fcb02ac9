//! What expressions read from outside.

use std::collections::BTreeMap;

use travertine_value::Name;

/// Names that expressions read from outside. Each is needed, or may be something else: a name in a
/// filter can be an entry of the items.
#[derive(Debug, Default)]
pub(super) struct Reads(BTreeMap<Name, bool>);

impl Reads {
    /// Adds what an expression may read, and of that what it needs.
    pub(super) fn add(&mut self, reads: &[Name], needs: &[Name]) {
        for name in reads {
            self.0.entry(Name::clone(name)).or_default();
        }
        for name in needs {
            self.0.insert(Name::clone(name), true);
        }
    }

    /// Whether something of that name may be read.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds what is read inside of something that has names of its own.
    pub(super) fn add_from(&mut self, inner: Self, is_own: impl Fn(&Name) -> bool) {
        for (name, is_needed) in inner.0.into_iter().filter(|(name, _)| !is_own(name)) {
            *self.0.entry(name).or_default() |= is_needed;
        }
    }

    /// Adds what is read inside a filter.
    pub(super) fn add_from_filter(&mut self, inner: Self) {
        for name in inner.0.into_keys() {
            self.0.entry(name).or_default();
        }
    }

    /// The names, each with whether it is needed.
    pub(super) fn into_names(self) -> impl Iterator<Item = (Name, bool)> {
        self.0.into_iter()
    }
}
