//! The instances of a shard: those in memory, and what is known of others whose rows are not stored yet.

use std::collections::{HashMap, VecDeque};

use travertine_store::Seq;
use travertine_value::Name;

use super::{Hashed, Live, closing::Closing};
use crate::{Address, Definition, InstanceId};

/// The instances of a shard.
#[derive(Default)]
pub(super) struct Instances {
    /// Those in memory.
    pub(super) lives: HashMap<InstanceId, Box<Live>, Hashed>,
    /// Those in memory, in the order in which they are considered for being evicted.
    pub(super) order: VecDeque<InstanceId>,
    /// How often one was asked for.
    pub(super) ticks: u64,
    /// How many there have been.
    pub(super) count: u64,
    /// Processes with a business key whose rows are not stored yet, by definition and key.
    named: HashMap<(Name, Name), InstanceId>,
    /// Functions with an id whose rows are not stored yet. All definitions share these ids, and one may
    /// go on as another.
    runs: HashMap<Name, InstanceId>,
    /// Instances that were called and whose rows are not stored yet, by the call.
    called: HashMap<Address, InstanceId, Hashed>,
    /// New instances that `named`, `runs` or `called` knows, oldest first: the entry that made them.
    fresh: VecDeque<(Seq, InstanceId)>,
    /// Instances that have just ended.
    pub(super) ending: Vec<InstanceId>,
    /// Those of them of which not more is kept than what is left.
    pub(super) closing: Closing,
    /// Other ended instances whose last row is not stored yet, oldest first: their last entry.
    pub(super) ended: VecDeque<(Seq, InstanceId)>,
}

impl Instances {
    /// None yet, after so many that there have been.
    pub(super) fn after(count: u64) -> Self {
        Self { count, ..Self::default() }
    }

    /// Takes an instance out of memory.
    pub(super) fn take(&mut self, id: InstanceId) -> Option<Box<Live>> {
        self.lives.remove(&id)
    }

    /// Puts an instance into memory.
    pub(super) fn put(&mut self, live: Box<Live>) -> &mut Live {
        self.lives.entry(live.id).insert_entry(live).into_mut()
    }

    /// An instance came to be with that entry.
    pub(super) fn born(&mut self, id: InstanceId, seq: Seq, is_known: bool) {
        if is_known {
            self.fresh.push_back((seq, id));
        }
        self.order.push_back(id);
    }

    /// A call has started an instance.
    pub(super) fn call_started(&mut self, caller: Address, id: InstanceId) {
        self.called.insert(caller, id);
    }

    /// The instance that a call has started, where its row is not stored yet.
    pub(super) fn started_by(&self, caller: Address) -> Option<InstanceId> {
        self.called.get(&caller).copied()
    }

    /// People call an instance so.
    pub(super) fn name(&mut self, definition: &Definition, name: Name, id: InstanceId) {
        if definition.is_function() {
            self.runs.insert(name, id);
        } else {
            self.named.insert((Name::clone(&definition.id), name), id);
        }
    }

    /// The process that people call so, where its row is not stored yet.
    pub(super) fn process_named(&self, definition: &Name, name: &Name) -> Option<InstanceId> {
        self.named.get(&(Name::clone(definition), Name::clone(name))).copied()
    }

    /// The function that people call so, where its row is not stored yet.
    pub(super) fn function_named(&self, name: &Name) -> Option<InstanceId> {
        self.runs.get(name).copied()
    }

    /// All rows up to an entry are stored, so they tell what is known here of new and of ended instances.
    pub(super) fn stored(&mut self, upto: Seq) {
        while let Some((_, id)) = self.fresh.pop_front_if(|(seq, _)| *seq <= upto) {
            self.forget_names(id);
        }
        self.closing.stored(upto);
        while let Some((seq, id)) = self.ended.pop_front_if(|(seq, _)| *seq <= upto) {
            // What it has sent may have arrived since then, which is one more entry.
            if self.lives.get(&id).is_some_and(|it| it.last == seq) {
                self.lives.remove(&id);
            }
        }
        if self.order.len() > 2 * self.lives.len() + 1_024 {
            let lives = &self.lives;
            self.order.retain(|id| lives.contains_key(id));
        }
    }

    /// Forgets an instance in memory that has ended, where all of it is stored.
    pub(super) fn forget_ended(&mut self, id: InstanceId, stored: Seq) {
        let is_stored = |it: &Live| it.has_ended() && !it.touched.any && it.last <= stored;
        if self.lives.get(&id).is_some_and(|it| is_stored(it)) {
            self.lives.remove(&id);
        }
    }

    fn forget_names(&mut self, id: InstanceId) {
        let live = self.lives.get(&id).map(|it| (&it.created, &it.definition));
        let closed = || self.closing.get(id).map(|it| (&it.created, &it.definition));
        let Some((created, definition)) = live.or_else(closed) else { return };
        if let Some(caller) = created.caller {
            self.called.remove(&caller);
        }
        if let Some(name) = &created.business_id {
            let key = (Name::clone(&definition.id), Name::clone(name));
            // Another one may be called so since then.
            if self.named.get(&key) == Some(&id) {
                self.named.remove(&key);
            }
            if self.runs.get(name) == Some(&id) {
                self.runs.remove(name);
            }
        }
    }

    /// Forgets instances that nobody has used for a while, until no more than `most` are in memory. Those
    /// whose rows are not stored stay.
    pub(super) fn evict(&mut self, most: usize, stored: Seq) {
        let mut chances = self.order.len();
        while self.lives.len() > most && chances > 0 {
            chances -= 1;
            let Some(id) = self.order.pop_front() else { return };
            let Some(live) = self.lives.get_mut(&id) else { continue };
            let idle = (live.used == 0 && !live.is_at_work()) || live.has_ended();
            if idle && !live.touched.any && live.last <= stored {
                self.lives.remove(&id);
            } else {
                live.used = 0;
                self.order.push_back(id);
            }
        }
    }

    /// How many instances, names and calls are known whose rows are not stored yet.
    #[cfg(test)]
    pub(super) fn unstored(&self) -> (usize, usize) {
        (self.named.len() + self.runs.len() + self.called.len(), self.fresh.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use travertine_kernel::WaitId;

    fn instances(count: u64) -> Instances {
        let mut instances = Instances::default();
        for id in 1..=count {
            instances.lives.insert(InstanceId(id), Box::new(Live::unknown(InstanceId(id))));
            instances.born(InstanceId(id), id, true);
        }
        instances
    }

    #[test]
    fn what_is_not_stored_or_was_used_lately_stays_in_memory() {
        let mut instances = instances(4);
        instances.lives.get_mut(&InstanceId(1)).expect("it is there").last = 9;
        instances.lives.get_mut(&InstanceId(2)).expect("it is there").touched.any = true;
        instances.lives.get_mut(&InstanceId(3)).expect("it is there").used = 1;
        instances.evict(0, 8);
        let mut left: Vec<InstanceId> = instances.lives.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [1, 2, 3].map(InstanceId));
        instances.evict(0, 9);
        let mut left: Vec<InstanceId> = instances.lives.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [InstanceId(2)]);
    }

    #[test]
    fn a_call_is_forgotten_once_the_row_of_the_called_is_stored() {
        let mut instances = instances(1);
        let call = Address { instance: InstanceId(5), wait: WaitId(2) };
        instances.lives.get_mut(&InstanceId(1)).expect("it is there").created.caller = Some(call);
        instances.call_started(call, InstanceId(1));
        assert_eq!(instances.started_by(call), Some(InstanceId(1)));
        instances.stored(1);
        assert_eq!(instances.started_by(call), None);
        assert_eq!(instances.unstored(), (0, 0));
    }
}
