//! What an expression of a model can see: layers of names, innermost first.

use std::sync::Arc;

use travertine_lang::feel::{self, FeelValue};
use travertine_value::Name;

/// Layers of names. Cheap to clone; a layer never changes once another lies on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    /// In the order of names, each once.
    names: Vec<(Name, FeelValue)>,
    below: Scope,
}

impl Scope {
    /// A layer on top of this one. Of names that are the same, the last counts.
    pub(crate) fn with(&self, mut names: Vec<(Name, FeelValue)>) -> Self {
        names.reverse();
        names.sort_by(|(a, _), (b, _)| a.cmp(b));
        names.dedup_by(|(a, _), (b, _)| a == b);
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
        let mut found = layers.filter_map(|it| {
            let at = it.names.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
            Some(it.names[at].1.clone())
        });
        found.next()
    }
}

/// A scope that gets one name after the other, each state of which may be kept.
///
/// Layers of about the same size are put together, so that there are few of them: with `n` names, a
/// name is looked for in `log n` layers, and has been copied as often.
#[derive(Debug)]
pub(crate) struct Growing {
    scope: Scope,
    /// How many names were put into each of its own layers, lowest first.
    sizes: Vec<usize>,
}

impl Growing {
    pub(crate) fn on(scope: &Scope) -> Self {
        Self { scope: scope.clone(), sizes: Vec::new() }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn add(&mut self, name: &Name, value: FeelValue) {
        let mut names = vec![(Name::clone(name), value)];
        let mut size = 1;
        while let Some(below) = self.sizes.pop_if(|it| *it <= size) {
            let layer = self.scope.0.take().expect("it is one of its own");
            names.splice(0..0, layer.names.iter().cloned());
            size += below;
            self.scope = layer.below.clone();
        }
        self.sizes.push(size);
        self.scope = self.scope.with(names);
    }
}

#[cfg(test)]
mod tests {
    use travertine_lang::feel::Scope as _;

    use super::*;

    fn layers(scope: &Scope) -> usize {
        std::iter::successors(scope.0.as_deref(), |it| it.below.0.as_deref()).count()
    }

    #[test]
    fn a_scope_that_grows_has_few_layers_and_the_last_of_each_name() {
        let mut growing = Growing::on(&Scope::default().with_one(&"n0".into(), 7_usize.into()));
        for number in 0..1_000_usize {
            growing.add(&format!("n{}", number % 700).into(), number.into());
        }
        assert!(layers(growing.scope()) <= 12, "{}", layers(growing.scope()));
        let get = |name: &str| growing.scope().get(name).map(|it| it.to_string());
        assert_eq!(get("n0").as_deref(), Some("700"));
        assert_eq!(get("n299").as_deref(), Some("999"));
        assert_eq!(get("n300").as_deref(), Some("300"));
        assert_eq!(get("m"), None);
    }
}
