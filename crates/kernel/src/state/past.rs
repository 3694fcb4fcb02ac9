//! What an instance has left behind: work and incidents that are over, for whoever keeps account of them.
//!
//! It follows from the events, so it is no part of an instance: who wants it says so before events are applied, and
//! takes it after them.

use std::{collections::BTreeMap, fmt};

use travertine_value::Name;

use crate::{
    plan::{NodeId, WorkKind},
    vocabulary::{Slot, TokenId, WaitFor, WaitId},
};

use super::{Instance, InstanceState, Raised, Wait};

/// Something that is over.
#[derive(Clone, Debug, PartialEq)]
pub enum Past {
    /// Nobody waits for that work any more.
    Work {
        /// Its name.
        wait: WaitId,
        /// What it was.
        it: Wait,
        /// Where its token stood.
        node: NodeId,
        /// The visit that it belonged to.
        visit: u64,
        /// What the code of a function calls it.
        key: Option<Name>,
    },
    /// An incident was resolved, or is gone with its token.
    Incident {
        /// Whose it was.
        token: TokenId,
        /// What it was.
        it: Raised,
        /// Where the token stood.
        node: NodeId,
        /// The visit that it belonged to.
        visit: u64,
    },
}

/// What of that somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Work for workers.
    pub jobs: bool,
    /// Work for people.
    pub tasks: bool,
    /// Incidents.
    pub incidents: bool,
}

/// What is over since somebody took it, where somebody wants it. It does not make instances different.
#[derive(Clone, Default)]
pub(super) struct Trail {
    wanted: Wanted,
    all: Vec<Past>,
}

/// Two instances that are the same are printed alike.
impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trail")
    }
}

impl PartialEq for Trail {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Instance {
    /// From now on it keeps this of what is over, until that is taken.
    pub fn keep_past(&mut self, wanted: Wanted) {
        self.state.past.wanted = wanted;
    }

    /// What is over since it was told to keep that, in the order in which it came to be over. It keeps nothing any
    /// more.
    pub fn take_past(&mut self) -> Vec<Past> {
        std::mem::take(&mut self.state.past).all
    }
}

impl InstanceState {
    /// A wait is about to be closed.
    pub(super) fn leave_work(&mut self, id: WaitId) {
        let Wanted { jobs, tasks, .. } = self.past.wanted;
        if !jobs && !tasks {
            return;
        }
        let Some(it) = self.waits.get(&id) else { return };
        let WaitFor::Work(job) = &*it.on else { return };
        let wanted = match job.kind {
            WorkKind::Job => jobs,
            WorkKind::User => tasks,
        };
        if !wanted {
            return;
        }
        let node = self.token(it.token).node;
        let visit = self.visit_of(it.token).unwrap_or(0);
        let key = match it.slot {
            Slot::Operation(number) => {
                self.journal.as_ref().and_then(|it| it.key(number)).map(Name::clone)
            }
            Slot::Own(_) | Slot::Gate(_) | Slot::Listener(..) => None,
        };
        let past = Past::Work { wait: id, it: it.clone(), node, visit, key };
        self.past.all.push(past);
    }

    /// An incident of a token is about to go.
    pub(super) fn leave_incident(&mut self, token: TokenId) {
        if !self.past.wanted.incidents {
            return;
        }
        let Some(it) = self.incidents.get(&token) else { return };
        let node = self.token(token).node;
        let visit = self.visit_of(token).unwrap_or(0);
        self.past.all.push(Past::Incident { token, it: it.clone(), node, visit });
    }

    /// What is over stands where it would in another plan. What has no place there is left out.
    pub(super) fn renumber_past(&mut self, nodes: &BTreeMap<NodeId, NodeId>) {
        self.past.all.retain_mut(|it| {
            let (Past::Work { node, .. } | Past::Incident { node, .. }) = it;
            nodes.get(node).map(|new| *node = *new).is_some()
        });
    }
}
