//! What an expression sees: the merged variables of a place in the instance.

use std::{collections::BTreeSet, sync::Arc};

use travertine_value::{Fact, Name, Value, Variables, time::Timestamp};

use crate::{
    plan::{LOOP_COUNTER, Plan, Repeat, Tally},
    state::{Each, Instance, Role, ScopeKind, Token},
    vocabulary::{Assignments, LayerId, TokenId},
};

/// The variables that a token sees: names given for this look alone, its status, then layer by
/// layer outwards.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    plan: &'a Plan,
    instance: &'a Instance,
    token: Option<&'a Token>,
    layer: LayerId,
    extra: &'a [(Name, Value)],
    now: Option<Timestamp>,
}

impl<'a> View<'a> {
    /// What the token sees.
    pub fn new(plan: &'a Plan, instance: &'a Instance, token: TokenId) -> Self {
        let it = instance.token(token);
        Self { plan, instance, token: Some(it), layer: it.layer, extra: &[], now: None }
    }

    /// Puts some names on top of what is seen.
    #[must_use]
    pub(crate) fn with(self, extra: &'a Assignments) -> Self {
        Self { extra, ..self }
    }

    /// Sets the time at which it is seen.
    #[must_use]
    pub(crate) fn at(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }

    /// All of it, each name once.
    pub fn all(&self) -> Assignments {
        self.names()
            .into_iter()
            .filter_map(|name| {
                let value = self.get(&name)?;
                Some((name, value))
            })
            .collect()
    }

    /// The value that a run has by being a run.
    pub(crate) fn of_run(&self, owner: TokenId, name: &str) -> Option<Value> {
        let run = self.instance.tokens.get(&owner)?;
        let Role::Run(index) = run.role else { return None };
        let scope = self.instance.scopes.get(&run.scope?)?;
        let counting = self.plan.policy.counting;
        if name == LOOP_COUNTER {
            return Some((i64::from(index) + i64::from(counting.first())).into());
        }
        let ScopeKind::Each(each) = &scope.kind else { return None };
        if let Some((_, tally)) = counting.tallies().find(|(it, _)| *it == name) {
            return Some(each.tally(tally).into());
        }
        let Some(Repeat::Each(plan)) = self.plan.node(run.node).repeat.as_deref() else {
            return None;
        };
        if plan.index.as_deref() == Some(name) {
            return Some((i64::from(index) + 1).into());
        }
        (plan.item.as_deref() == Some(name)).then(|| each.item(index)).flatten()
    }

    fn run_names(&self, owner: TokenId, names: &mut BTreeSet<Name>) {
        let Some(run) = self.instance.tokens.get(&owner) else { return };
        names.insert(LOOP_COUNTER.into());
        let Some(Repeat::Each(each)) = self.plan.node(run.node).repeat.as_deref() else { return };
        names.extend(self.plan.policy.counting.tallies().map(|(name, _)| Name::from(name)));
        names.extend(each.index.clone());
        names.extend(each.item.clone());
    }
}

impl Variables for View<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        if let Some((_, value)) = self.extra.iter().find(|(it, _)| &**it == name) {
            return Some(value.clone());
        }
        if let Some(Token { status: Some(status), .. }) = self.token
            && let Some(value) = status.get(name)
        {
            return Some(value.clone());
        }
        let mut next = Some(self.layer);
        while let Some(id) = next {
            let layer = self.instance.layers.get(&id)?;
            if let Some(value) = layer.variables.get(name) {
                return Some(value.clone());
            }
            if layer.run
                && let Some(value) = self.of_run(layer.owner, name)
            {
                return Some(value);
            }
            next = layer.parent;
        }
        None
    }

    fn names(&self) -> Vec<Name> {
        let mut names: BTreeSet<Name> =
            self.extra.iter().map(|(name, _)| Arc::clone(name)).collect();
        if let Some(Token { status: Some(status), .. }) = self.token {
            names.extend(status.keys().cloned());
        }
        let mut next = Some(self.layer);
        while let Some(id) = next {
            let Some(layer) = self.instance.layers.get(&id) else { break };
            names.extend(layer.variables.keys().cloned());
            if layer.run {
                self.run_names(layer.owner, &mut names);
            }
            next = layer.parent;
        }
        names.into_iter().collect()
    }

    fn fact(&self, fact: Fact) -> Option<Name> {
        let node = self.token.map(|it| self.plan.node(it.node));
        let identity = &self.instance.identity;
        match fact {
            Fact::Instance => identity.id.map(|it| it.to_string().into()),
            Fact::BusinessKey => identity.business_key.clone(),
            Fact::Process => self.plan.nodes.first().map(|it| Name::clone(&it.name)),
            Fact::Element => node.map(|it| Name::clone(&it.name)),
            Fact::ElementName => node.and_then(|it| it.label.clone()),
        }
    }

    fn now(&self) -> Option<Timestamp> {
        self.now
    }
}

impl Each {
    /// One of the numbers that its runs see.
    pub(crate) fn tally(&self, tally: Tally) -> u32 {
        match tally {
            Tally::Total => self.total,
            Tally::Created => self.begun,
            Tally::Active => self.begun - self.ended(),
            Tally::Completed => self.completed,
            Tally::Terminated => self.terminated,
        }
    }

    /// How many runs are over, one way or the other.
    pub(crate) fn ended(&self) -> u32 {
        self.completed + self.terminated
    }

    /// What the run of that index works on: an item, or a slice of them in a batch. Where only the
    /// number of runs is known, it is the index.
    pub(crate) fn item(&self, index: u32) -> Option<Value> {
        let Some(items) = &self.items else { return Some(index.into()) };
        let Some(size) = self.batch_size else { return items.get(index as usize).cloned() };
        let from = index as usize * size as usize;
        let to = items.len().min(from + size as usize);
        items.get(from..to).map(|slice| slice.to_vec().into())
    }
}
