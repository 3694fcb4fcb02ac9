//! What an expression of a model can see: layers of names, innermost first.

use std::sync::Arc;

use travertine_expr::{
    Name,
    feel::{self, FeelValue},
};

/// Layers of names. Cheap to clone; a layer never changes once another lies on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    names: Vec<(Name, FeelValue)>,
    below: Scope,
}

impl Scope {
    /// A layer on top of this one.
    pub(crate) fn with(&self, names: Vec<(Name, FeelValue)>) -> Self {
        Self(Some(Arc::new(Layer { names, below: self.clone() })))
    }

    /// A layer with one name.
    pub(crate) fn with_one(&self, name: &Name, value: FeelValue) -> Self {
        self.with(vec![(Name::clone(name), value)])
    }
}

impl feel::Scope for Scope {
    fn get(&self, name: &str) -> Option<FeelValue> {
        let layers = std::iter::successors(self.0.as_deref(), |it| it.below.0.as_deref());
        layers
            .flat_map(|it| it.names.iter().rev())
            .find(|(known, _)| **known == *name)
            .map(|(_, value)| value.clone())
    }
}
