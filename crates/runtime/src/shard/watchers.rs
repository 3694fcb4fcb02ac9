//! Those who wait for an instance to end, and those who look on.

use std::collections::HashMap;

use travertine_kernel::{Assignments, Command};
use travertine_value::time::Timestamp;

use super::{Hashed, Live};
use crate::{InstanceId, request::ReplyTo};

/// So few that do not wait any more do no harm.
const WATCHERS_MIN: usize = 64;

/// Those who wait for instances to end, by instance, and who is called after each accepted command.
#[derive(Default)]
pub(super) struct Watchers {
    all: HashMap<InstanceId, Vec<Watcher>, Hashed>,
    /// How many more of them may come before those are forgotten who do not wait any more.
    left: usize,
    pub(super) hook: Option<Hook>,
}

impl Watchers {
    /// Someone waits for an instance to end.
    pub(super) fn add(&mut self, instance: InstanceId, watcher: Watcher) {
        self.forget();
        self.all.entry(instance).or_default().push(watcher);
    }

    /// Those who wait for an instance to end; they do not any more.
    pub(super) fn take(&mut self, instance: InstanceId) -> Vec<Watcher> {
        self.all.remove(&instance).unwrap_or_default()
    }

    /// All who wait, by the instance that they wait for; they do not any more.
    pub(super) fn take_all(&mut self) -> Vec<(InstanceId, Watcher)> {
        let of = |(instance, all): (InstanceId, Vec<Watcher>)| {
            all.into_iter().map(move |it| (instance, it))
        };
        let mut all: Vec<(InstanceId, Watcher)> = self.all.drain().flat_map(of).collect();
        all.sort_by_key(|it| it.0);
        all
    }

    /// Those of them who do not wait on where the instance stands still.
    pub(super) fn take_impatient(&mut self, instance: InstanceId) -> Vec<Watcher> {
        let (stay, go): (Vec<_>, Vec<_>) =
            self.take(instance).into_iter().partition(|it| it.waits_through);
        if !stay.is_empty() {
            self.all.insert(instance, stay);
        }
        go
    }

    /// How many wait, or have waited lately.
    pub(super) fn len(&self) -> usize {
        self.all.values().map(Vec::len).sum()
    }

    /// Forgets now and then who does not wait any more: when as many have come as waited before.
    fn forget(&mut self) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return;
        }
        self.all.retain(|_, it| {
            it.retain(|watcher| !watcher.to.is_gone());
            !it.is_empty()
        });
        self.left = self.len().max(WATCHERS_MIN);
    }
}

/// Who waits for an instance to end, and may not wait any more.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) to: ReplyTo,
    /// Whether it waits on where the instance stands still.
    pub(crate) waits_through: bool,
}

/// How an instance ended, and with which variables.
///
/// ```no_run
/// # use travertine_runtime::{Ended, Engine, Error, InstanceId};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let Ended { ending, variables } = engine.result(InstanceId(12)).await?;
/// println!("{ending:?} with {} variables", variables.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// How.
    pub ending: travertine_kernel::Ending,
    /// Its variables at the end.
    pub variables: Assignments,
}

/// One thing that has happened to an instance, for those who look on.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When.
    pub now: Timestamp,
    /// The instance as it is now.
    pub live: &'a Live,
    /// What was asked of it.
    pub command: &'a Command,
    /// What happened.
    pub events: &'a [travertine_kernel::Event],
    /// What it asks for.
    pub effects: &'a [travertine_kernel::Effect],
}

pub(crate) type Hook = Box<dyn FnMut(Seen<'_>) + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(waits_through: bool) -> (Watcher, impl Sized) {
        let (to, receiver) = ReplyTo::caller();
        (Watcher { to, waits_through }, receiver)
    }

    #[test]
    fn those_who_do_not_wait_any_more_are_forgotten_now_and_then() {
        let mut watchers = Watchers::default();
        let (patient, _stays) = watcher(true);
        watchers.add(InstanceId(1), patient);
        for _ in 0..10 * WATCHERS_MIN {
            watchers.add(InstanceId(2), watcher(false).0);
            assert!(watchers.len() <= 2 * WATCHERS_MIN + 2, "they pile up");
        }
        assert_eq!(watchers.take(InstanceId(1)).len(), 1);
    }

    #[test]
    fn whoever_waits_through_a_standstill_stays() {
        let mut watchers = Watchers::default();
        let ((patient, _one), (impatient, _other)) = (watcher(true), watcher(false));
        watchers.add(InstanceId(1), patient);
        watchers.add(InstanceId(1), impatient);
        assert_eq!(watchers.take_impatient(InstanceId(1)).len(), 1);
        assert_eq!(watchers.take_impatient(InstanceId(1)).len(), 0);
        assert_eq!(watchers.take(InstanceId(1)).len(), 1);
    }
}
