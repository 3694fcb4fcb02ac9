//! What the runtime does about events, once they are stored.
//!
//! Every effect stands for something in the state, so none can be lost: [`outstanding`] finds again,
//! after a crash, what [`effects`] asked for before it.

use std::sync::Arc;

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
pub fn effects(events: &[Event]) -> impl Iterator<Item = Effect> {
    // Names ascend: what was opened here comes after all that was open before.
    let opened =
        |it: &Event| if let Event::WaitOpened { wait, .. } = it { Some(*wait) } else { None };
    let first = events.iter().find_map(opened);
    let is_new = move |wait: &WaitId| first.is_some_and(|first| first <= *wait);
    let closed = |it: &Event| if let Event::WaitClosed { wait } = it { Some(*wait) } else { None };
    let mut over: Vec<WaitId> = events.iter().filter_map(closed).filter(is_new).collect();
    over.sort_unstable();
    events.iter().filter_map(move |event| {
        if let Event::WaitOpened { wait, on, .. } = event {
            let asks = is_asked(on) && over.binary_search(wait).is_err();
            asks.then(|| Effect::Arm(*wait, Arc::clone(on)))
        } else if let Event::WaitClosed { wait } = event {
            (!is_new(wait)).then_some(Effect::Disarm(*wait))
        } else if let Event::Posted { post, what } = event {
            Some(Effect::Send(*post, Arc::clone(what)))
        } else {
            None
        }
    })
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
