//! Webhooks: what happens, told to others as `CloudEvents`.
//!
//! Each webhook reads the durable log by itself, from a position that is kept: in order, at least once, and without
//! keeping anything for those who are slow. A sink that does not answer is asked again later and later, and given up after
//! so many times; the log goes on, and is shortened, whoever still has to read it. What was forgotten before it
//! was told is a gap, which is told.

mod events;
mod keep;
mod tell;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use travertine_runtime::Engine;
use travertine_value::Name;

pub use events::KINDS;
pub use keep::{HookError, HookSettings, HookState, Hooks, Webhook};

use crate::outbound::{Network, Outbound};

/// How often it is looked whether another process has changed something.
const LOOK: Duration = Duration::from_secs(1);

/// Tells what happens to all webhooks of a server.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) hooks: Hooks,
    pub(crate) outbound: Outbound,
    changed: Notify,
    /// Who is at it, by name, and as of which change.
    running: Mutex<BTreeMap<Name, (u64, JoinHandle<()>)>>,
}

impl Teller {
    /// One whose webhooks are kept in that file; in memory where there is none.
    pub(crate) fn open(path: Option<&Path>, allowed: &[Network]) -> Result<Self, HookError> {
        Ok(Self {
            hooks: Hooks::open(path)?,
            outbound: Outbound::new(allowed),
            changed: Notify::new(),
            running: Mutex::default(),
        })
    }

    /// Webhooks were changed.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Tells until the server ends.
    pub(crate) async fn run(self: Arc<Self>, engine: Engine, ends: CancellationToken) {
        loop {
            match self.hooks.all() {
                Ok(all) => self.begin(&all, &engine, &ends),
                Err(error) => tracing::error!(%error, "webhooks cannot be read"),
            }
            let looked = tokio::time::sleep(LOOK);
            tokio::select! {
                () = ends.cancelled() => break,
                () = self.changed.notified() => {}
                () = looked => {}
            }
        }
        let all = std::mem::take(&mut *self.running());
        for (_, task) in all.into_values() {
            task.abort();
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<Name, (u64, JoinHandle<()>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has those told that want it, as they are now.
    fn begin(self: &Arc<Self>, all: &[Webhook], engine: &Engine, ends: &CancellationToken) {
        let mut running = self.running();
        running.retain(|name, (changed, task)| {
            let stays = all.iter().any(|it| {
                it.name == *name && it.changed == *changed && it.state == HookState::Active
            });
            // One that has ended by itself begins anew, unless it was given up.
            let stays = stays && !task.is_finished();
            if !stays {
                task.abort();
            }
            stays
        });
        for hook in all.iter().filter(|it| it.state == HookState::Active) {
            if running.contains_key(&hook.name) {
                continue;
            }
            let (teller, engine, ends) = (Arc::clone(self), engine.clone(), ends.clone());
            let (name, changed, hook) = (Name::clone(&hook.name), hook.changed, hook.clone());
            let task = tokio::spawn(async move {
                tokio::select! {
                    () = tell::tell(&teller, &engine, hook) => {}
                    () = ends.cancelled() => {}
                }
            });
            running.insert(name, (changed, task));
        }
    }
}
