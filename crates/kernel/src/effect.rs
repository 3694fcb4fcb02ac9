//! What the runtime does about events, once they are stored.
//!
//! Every effect stands for something in the state, so none can be lost: [`outstanding`] finds again,
//! after a crash, what [`effects`] asked for before it.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    state::Instance,
    vocabulary::{Event, Post, PostId, WaitFor, WaitId},
};

/// A request to the world outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// See to what the wait waits for: offer the job, arm the timer, subscribe, start the child.
    Arm(WaitId, Arc<WaitFor>),
    /// Forget the wait: whatever was asked for it is not needed any more.
    Disarm(WaitId),
    /// Send this, then say that it is delivered.
    Send(PostId, Arc<Post>),
}

/// What `events` ask for, in the order they ask. A wait that was opened and closed among them asks
/// for nothing.
pub fn effects(events: &[Event]) -> Vec<Effect> {
    let mut effects: Vec<Option<Effect>> = Vec::new();
    let mut armed: BTreeMap<WaitId, usize> = BTreeMap::new();
    for event in events {
        if let Event::WaitOpened { wait, on, .. } = event {
            if is_asked(on) {
                armed.insert(*wait, effects.len());
                effects.push(Some(Effect::Arm(*wait, Arc::clone(on))));
            }
        } else if let Event::WaitClosed { wait } = event {
            match armed.remove(wait) {
                Some(position) => effects[position] = None,
                None => effects.push(Some(Effect::Disarm(*wait))),
            }
        } else if let Event::Posted { post, what } = event {
            effects.push(Some(Effect::Send(*post, Arc::clone(what))));
        }
    }
    effects.into_iter().flatten().collect()
}

/// What `instance` is still owed.
pub fn outstanding(instance: &Instance) -> Vec<Effect> {
    let waits = instance
        .waits
        .iter()
        .filter(|(_, wait)| is_asked(&wait.on))
        .map(|(id, wait)| Effect::Arm(*id, Arc::clone(&wait.on)));
    let posts = instance.posts.iter().map(|(id, what)| Effect::Send(*id, Arc::clone(what)));
    waits.chain(posts).collect()
}

/// Conditions are the kernel's own business.
fn is_asked(on: &WaitFor) -> bool {
    !on.is_inner()
}
