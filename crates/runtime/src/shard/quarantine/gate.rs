//! What is under way in all shards of a careful process, and what may begin beside it.
//!
//! A turn under suspicion is the only turn while it lasts: the others wait for it, which is short. Activities may take
//! any time, and no shard can wait for that, since it is the one that hears of their ends. So turns go first: where
//! any are under suspicion, activities begin once the shards have done what they found. What is under suspicion and
//! comes later may meet activities; if the process dies of it then, that counts for nobody, and the next process
//! begins with it.
//!
//! An activity under suspicion begins while nothing else is under way. For some time nothing else begins, neither an
//! activity nor a turn. That time is short, as turns cannot wait for long, but each death that a suspect has shared
//! with others doubles what it has for itself. So whatever kills dies alone after a few deaths.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use travertine_store::{ShardId, Store};

use super::{Case, GROUP, note::Note};

/// How many turns of each shard a process is careful for.
const CAREFUL_TURNS: u32 = 10_000;

/// How long a suspect has for itself that has never died with others.
const A_MOMENT: Duration = Duration::from_millis(250);

/// How often that time doubles at most.
const DOUBLED_MAX: u8 = 6;

/// How long activities wait for turns under suspicion that do not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long activities wait for one under suspicion, which waits for those that have begun before.
const HOLD: Duration = Duration::from_mins(1);

/// How long a shard that has nothing else to do waits at once for room.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a suspect has for itself that was under way with others at so many deaths.
pub(super) fn time_alone(shared: u8) -> Duration {
    A_MOMENT * (1 << shared.min(DOUBLED_MAX))
}

/// What the process before has left, in all shards together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// Whether it has ended in order.
    pub(super) is_clean: bool,
    /// Whether only one thing was under way, be it a turn or an activity.
    pub(super) is_one: bool,
}

impl Left {
    fn read(store: &dyn Store) -> Self {
        let notes = (0..store.shards()).filter_map(|it| store.noted(ShardId(it)));
        let notes: Vec<Vec<u8>> = notes.filter(|it| !it.is_empty()).collect();
        // Of a note that cannot be read nobody knows what it told of.
        let count = |it: &Vec<u8>| {
            Note::decode(it).map_or(usize::MAX, |it| it.cases.len() + it.activities.len())
        };
        let under_way = notes.iter().map(count).fold(0, usize::saturating_add);
        Self { is_clean: notes.is_empty(), is_one: under_way == 1 }
    }
}

/// Where the shards of a process ask whether something may begin.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    left: OnceLock<Left>,
    /// How many turns are taken carefully before none is.
    careful_turns: AtomicU32,
    under_way: Mutex<UnderWay>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct UnderWay {
    /// The shards that take a turn.
    turns: BTreeSet<ShardId>,
    /// The shard whose turn is under suspicion, from when it waits for the others on.
    suspect_turn: Option<ShardId>,
    activities: Vec<(ShardId, Case)>,
    /// The activity under suspicion that has begun last, and how long nothing else begins.
    suspect: Option<(Case, Instant)>,
    /// How long activities wait for one under suspicion.
    hold: Option<Instant>,
    /// How long activities wait for the turns under suspicion of a shard.
    opening: BTreeMap<ShardId, Instant>,
}

impl UnderWay {
    /// How long nothing else begins.
    fn quiet(&self, now: Instant) -> Option<Duration> {
        let (_, until) = self.suspect?;
        until.checked_duration_since(now).filter(|it| !it.is_zero())
    }

    fn has_room(&self, is_suspect: bool, now: Instant) -> bool {
        let is_over = |it: &Instant| *it <= now;
        let may = self.opening.values().all(is_over)
            && self.suspect_turn.is_none()
            && self.quiet(now).is_none();
        if is_suspect {
            return may && self.turns.is_empty() && self.activities.is_empty();
        }
        // More would not fit into the notes.
        may && self.hold.as_ref().is_none_or(is_over) && self.activities.len() < GROUP
    }

    fn end_activity(&mut self, case: Case) {
        self.activities.retain(|(_, it)| *it != case);
        self.suspect.take_if(|(it, _)| *it == case);
    }
}

impl Gate {
    /// What the process before has left. The first to ask reads it, before any shard notes anything anew.
    pub(super) fn left(&self, store: &dyn Store) -> Left {
        *self.left.get_or_init(|| {
            let turns = CAREFUL_TURNS.saturating_mul(u32::from(store.shards()));
            self.careful_turns.store(turns, Ordering::Relaxed);
            Left::read(store)
        })
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way of one shard through the gate. What it has begun is over where it is dropped, so that a shard that ends in
/// the middle does not hold up the others.
#[derive(Debug, Default)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    shard: ShardId,
}

impl Pass {
    pub(super) fn new(gate: &Arc<Gate>, shard: ShardId) -> Self {
        Self { gate: Arc::clone(gate), shard }
    }

    /// Has activities of all shards wait for turns under suspicion.
    pub(super) fn expect_turns(&self) {
        self.gate.lock().opening.insert(self.shard, Instant::now() + PATIENCE);
    }

    /// What the shard has found is done. Turns under suspicion that come now are asked for from outside: they have
    /// so long.
    pub(super) fn rests(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut it = self.gate.lock();
        if let Some(opening) = it.opening.get_mut(&self.shard) {
            *opening = until.min(*opening);
        }
    }

    /// No turn of the shard is under suspicion any more.
    pub(super) fn expect_no_turns(&self) {
        if self.gate.lock().opening.remove(&self.shard).is_some() {
            self.gate.changed.notify_all();
        }
    }

    /// Begins a turn, as soon as it may; it may be that of an activity that has come to its end.
    pub(super) fn begin_turn(&self, is_suspect: bool, ended: Option<Case>) {
        let Self { gate, shard } = self;
        let mut it = gate.lock();
        if let Some(ended) = ended {
            it.end_activity(ended);
            gate.changed.notify_all();
        }
        loop {
            if is_suspect {
                it.suspect_turn.get_or_insert(*shard);
            }
            let is_alone = it.suspect_turn == Some(*shard);
            let waits = if is_alone { !it.turns.is_empty() } else { it.suspect_turn.is_some() };
            let quiet = it.quiet(Instant::now());
            if !waits && quiet.is_none() {
                break;
            }
            let most = quiet.unwrap_or(PATIENCE);
            let waited = gate.changed.wait_timeout(it, most);
            (it, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        it.turns.insert(*shard);
    }

    pub(super) fn end_turn(&self) {
        let mut it = self.gate.lock();
        it.turns.remove(&self.shard);
        it.suspect_turn.take_if(|it| *it == self.shard);
        self.gate.changed.notify_all();
    }

    /// Counts a turn. Says whether the next one is taken carefully, too.
    pub(super) fn stays_careful(&self) -> bool {
        let count = |left: u32| left.checked_sub(1);
        let turns = &self.gate.careful_turns;
        turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }

    /// Begins an activity, if it may begin now. One under suspicion has a time for itself.
    pub(super) fn begin_activity(&self, case: Case, alone: Option<Duration>) -> bool {
        let now = Instant::now();
        let mut it = self.gate.lock();
        if !it.has_room(alone.is_some(), now) {
            if alone.is_some() && !it.activities.is_empty() {
                it.hold.get_or_insert(now + HOLD);
            }
            return false;
        }
        it.activities.push((self.shard, case));
        if let Some(time) = alone {
            it.suspect = Some((case, now + time));
            it.hold = None;
        }
        true
    }

    pub(super) fn end_activity(&self, case: Case) {
        self.gate.lock().end_activity(case);
        self.gate.changed.notify_all();
    }

    /// Waits a little until an activity may begin. Says whether one may.
    pub(super) fn wait_for_room(&self, is_suspect: bool) -> bool {
        let it = self.gate.lock();
        let has_none = |it: &mut UnderWay| !it.has_room(is_suspect, Instant::now());
        let waited = self.gate.changed.wait_timeout_while(it, PAUSE, has_none);
        let (mut it, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !has_none(&mut it)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut under_way = self.gate.lock();
        let it = &mut *under_way;
        it.activities.retain(|(shard, _)| *shard != self.shard);
        it.suspect.take_if(|(case, _)| !it.activities.iter().any(|(_, it)| it == case));
        it.turns.remove(&self.shard);
        it.suspect_turn.take_if(|it| *it == self.shard);
        it.opening.remove(&self.shard);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
impl Pass {
    pub(super) fn turns(&self) -> Vec<ShardId> {
        self.gate.lock().turns.iter().copied().collect()
    }

    pub(super) fn suspect_turn(&self) -> Option<ShardId> {
        self.gate.lock().suspect_turn
    }
}
