//! The parts of a function.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

/// Where code stands: in the function itself, a sub-routine, a branch, a slice of a batch. Names of
/// operations are counted in it, and a branch can be cancelled alone.
#[derive(Default)]
pub(crate) struct Scope {
    path: String,
    counts: RefCell<BTreeMap<String, u32>>,
    cancelled: Cell<Option<u64>>,
    parent: Option<Rc<Self>>,
}

impl Scope {
    /// Counts one more use of this name.
    pub(crate) fn count(&self, name: &str) -> u32 {
        let mut counts = self.counts.borrow_mut();
        if let Some(count) = counts.get_mut(name) {
            *count += 1;
            return *count;
        }
        counts.insert(name.to_owned(), 1);
        1
    }

    /// The path of this scope before a name.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// A part of it.
    pub(crate) fn open(self: &Rc<Self>, name: &str) -> Rc<Self> {
        let path = format!("{}{name}/", self.path);
        Rc::new(Self { path, parent: Some(Rc::clone(self)), ..Self::default() })
    }

    pub(crate) fn cancel(&self, position: u64) {
        if self.cancelled.get().is_none() {
            self.cancelled.set(Some(position));
        }
    }

    pub(crate) fn cancelled_at(&self) -> Option<u64> {
        let mut scope = Some(self);
        while let Some(it) = scope {
            if let Some(position) = it.cancelled.get() {
                return Some(position);
            }
            scope = it.parent.as_deref();
        }
        None
    }
}
