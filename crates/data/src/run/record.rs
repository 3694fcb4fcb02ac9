//! An instance as a run sees it, wherever it is kept.

use std::sync::Arc;

use travertine_kernel::{Instance, Phase, Plan};
use travertine_runtime::{Address, Definition, InstanceId, Live, engine::Look};
use travertine_store::view::InstanceState;
use travertine_value::{Name, Value};

/// An instance as a run sees it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its number.
    pub id: InstanceId,
    /// What it runs.
    pub definition: &'a Arc<Definition>,
    /// How it is.
    pub state: &'a Instance,
    /// The call that it answers.
    pub caller: Option<Address>,
    /// Why the engine has given it up.
    pub halted: Option<&'a str>,
}

impl<'a> Record<'a> {
    /// An instance in memory.
    pub fn of(live: &'a Live) -> Self {
        let (id, definition, state) = (live.id, &live.definition, &live.state);
        Self { id, definition, state, caller: live.caller(), halted: live.halted.as_deref() }
    }

    /// An instance in a store.
    pub fn looked(look: &'a Look) -> Self {
        let row = &look.row;
        let halted = (row.state == InstanceState::Halted)
            .then(|| row.reason.as_deref().unwrap_or("the engine failed on it"));
        let caller = row.parent.map(|(instance, wait)| Address {
            instance: InstanceId(instance),
            wait: travertine_kernel::WaitId(wait),
        });
        let (definition, state) = (&look.definition, &look.state);
        Self { id: InstanceId(row.id), definition, state, caller, halted }
    }

    /// The plan that it runs.
    pub fn plan(&self) -> &'a Plan {
        &self.definition.plan
    }

    /// Whether it runs, or how it has ended.
    pub fn phase(&self) -> &'a Phase {
        &self.state.phase
    }

    /// Whether another instance has called it.
    pub fn is_called(&self) -> bool {
        self.caller.is_some()
    }

    /// The process's own variables.
    pub fn variables(&self) -> impl Iterator<Item = (&'a Name, &'a Value)> + use<'a> {
        self.state.variables().into_iter().flatten()
    }

    /// Whether someone must help.
    pub fn is_troubled(&self) -> bool {
        self.halted.is_some() || !self.state.incidents.is_empty()
    }
}
