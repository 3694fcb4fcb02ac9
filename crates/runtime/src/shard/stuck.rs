//! Functions that stand still: whoever waits for one to end is told, and so is whoever waits for what has called it.
//!
//! Nothing of this is written. A function that comes to stand still is told from caller to caller, and whoever comes
//! to wait later has what was called looked through from there on.

use super::{Live, Shard};
use crate::{
    Address, Error, InstanceId,
    request::{CalledIsStuckRequest, FindStuckRequest},
};

impl Shard {
    /// Tells those who wait for a function to end, or for what has called it, that it stands still, unless they wait
    /// through that.
    pub(super) fn tell_stuck(&mut self, live: &Live) {
        if let Some(error) = live.stuck() {
            self.tell_impatient(live.id, live.created.caller, error);
        }
    }

    fn tell_impatient(&mut self, instance: InstanceId, caller: Option<Address>, error: Error) {
        for watcher in self.watchers.take_impatient(instance) {
            self.reply_to_watcher(watcher, Err(error.clone()));
        }
        if let Some(caller) = caller {
            let error = Box::new(error);
            let to = self.shard_of(caller.instance);
            self.outbox.ask(to, CalledIsStuckRequest { caller, error });
        }
    }

    /// What a wait has called stands still, or what that has called.
    pub(super) fn called_is_stuck(&mut self, caller: Address, error: Error) {
        let Ok(live) = self.look(caller.instance) else { return };
        // It may have gone on without what it had called.
        if live.calls.contains_key(&caller.wait) {
            let above = live.created.caller;
            self.tell_impatient(caller.instance, above, error);
        }
    }

    /// Asks whether something stands still that an instance has called.
    pub(super) fn ask_called(&mut self, instance: InstanceId) {
        let Ok(live) = self.look(instance) else { return };
        let calls: Vec<_> =
            live.calls.iter().map(|(wait, run)| (live.address(*wait), *run)).collect();
        for (caller, run) in calls {
            self.outbox.ask(self.place_of_run(run), FindStuckRequest { caller, run });
        }
    }

    /// Has whoever waits for a caller told where what it has called stands still, or what that has called.
    pub(super) fn find_stuck(&mut self, caller: Address) {
        let Some(child) = self.child(caller) else { return };
        let Ok(live) = self.look(child) else { return };
        match live.stuck() {
            Some(error) => self.tell_impatient(child, Some(caller), error),
            None => self.ask_called(child),
        }
    }
}
