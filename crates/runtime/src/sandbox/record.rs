//! What the sandbox knows about an instance.

use std::{collections::BTreeMap, fmt, sync::Arc};

use travertine_expr::{Name, Value};
use travertine_kernel::{Instance, Phase, Plan, TokenId, WaitId};

use super::settle::Todo;
use crate::Definition;

/// An instance's name. It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u64);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A wait of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The instance.
    pub instance: InstanceId,
    /// The wait.
    pub wait: WaitId,
}

/// An instance, and what is known about it outside the kernel.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub id: InstanceId,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// The call that it answers, where it was called.
    pub caller: Option<Address>,
    /// What people call it.
    pub business_key: Option<Name>,
    /// How it is.
    pub state: Instance,
    /// Calls that cannot be carried out, and why.
    pub(super) stuck: BTreeMap<WaitId, String>,
    /// The instances that its calls have started.
    pub(super) called: BTreeMap<WaitId, InstanceId>,
    /// What could not be told to it because of an incident.
    pub(super) deferred: Vec<Todo>,
}

/// Why an instance cannot go on without help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Where.
    pub token: TokenId,
    /// What is wrong.
    pub message: String,
}

impl Record {
    /// What it runs, as the kernel sees it.
    pub fn plan(&self) -> &Plan {
        &self.definition.plan
    }

    /// How far it is.
    pub fn phase(&self) -> &Phase {
        &self.state.phase
    }

    /// Whether it was started by a call of another instance.
    pub fn is_called(&self) -> bool {
        self.caller.is_some()
    }

    /// The process's own variables. They stay after the end.
    pub fn variables(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.state.variables().into_iter().flatten()
    }

    /// Everything that needs an operator: incidents, and calls that cannot be carried out.
    pub fn troubles(&self) -> Vec<Trouble> {
        let incidents = self.state.incidents.iter().map(|(token, incident)| Trouble {
            token: *token,
            message: incident.failure.to_string(),
        });
        let stuck = self.stuck.iter().filter_map(|(wait, reason)| {
            let token = self.state.waits.get(wait)?.token;
            Some(Trouble { token, message: reason.clone() })
        });
        incidents.chain(stuck).collect()
    }
}
