//! Jobs that a worker may have, of all shards, in the order in which they are given out.

mod crew;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
};

use tokio::sync::{Notify, futures::Notified, mpsc};
use travertine_value::Name;

use crate::{
    Address, Limit, Timestamp,
    awaited::Awaited,
    descendants::Descendants,
    limit::{Key, Line},
    shard::Gate,
    wakes,
};
pub(crate) use crew::{AtWork, Crew, Hand, Handed, Handing};
use crew::{CrewState, Hands, Worked};

/// A job that a worker may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Which workers can do it.
    pub job_type: Name,
    /// Greater comes first.
    pub priority: i64,
    /// Since when it waits: of the same priority the oldest comes first.
    pub since: Timestamp,
    /// What it is called.
    pub job: Address,
    /// The limit that it keeps: `class` or `class/key`.
    pub limit: Option<Name>,
}

/// In which order jobs are given out.
pub(crate) type Order = (Reverse<i64>, Timestamp, Address);

impl Offer {
    fn order(&self) -> Order {
        (Reverse(self.priority), self.since, self.job)
    }
}

/// Jobs that a worker may have.
#[derive(Debug)]
pub struct Board {
    /// The limits by class.
    limits: BTreeMap<Name, Limit>,
    places: Mutex<Places>,
    /// When a limit is to be looked at next; `i64::MAX` where none is.
    due: AtomicI64,
    worked: Arc<Worked>,
    /// Whether anyone has ever held out a hand.
    has_hands: AtomicBool,
    gate: Arc<Gate>,
    /// Messages whose senders wait for what their receivers decide.
    pub(crate) awaited: Awaited,
    /// How many calls are open below instances.
    pub(crate) descendants: Descendants,
}

#[derive(Debug, Default)]
struct Places {
    queues: BTreeMap<Name, Queue>,
    /// What is known of limits, by `class` or `class/key`.
    keys: BTreeMap<Name, Key>,
    /// Jobs that have begun and not ended, and the key of each. Those without a limit are not here.
    begun: BTreeMap<Address, Name>,
    /// When keys are to be looked at.
    due: BTreeSet<(Timestamp, Name)>,
    /// Classes that jobs name and that have no limit.
    unknown: BTreeSet<Name>,
    crews: Vec<Weak<CrewState>>,
    /// The last place in line that was given out, whatever the type.
    place: u64,
    /// Whether nobody need wait any more.
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Queue {
    /// Jobs without a limit.
    jobs: BTreeSet<Order>,
    /// Of the jobs of each key that has room, the first.
    heads: BTreeSet<(Order, Name)>,
    /// Who waits for one, by their places in line.
    line: BTreeMap<u64, Waker>,
    /// Those who were called because there is a job for each of them, and have not come yet.
    called: BTreeSet<u64>,
    hands: Option<Arc<Hands>>,
}

impl Queue {
    /// How many jobs could be taken now, of each key with a limit the first.
    fn ready(&self) -> usize {
        self.jobs.len() + self.heads.len()
    }

    /// Calls those who are first in line, as many as there are jobs for.
    fn call(&mut self) {
        while self.ready() > self.called.len()
            && let Some((place, waker)) = self.line.pop_first()
        {
            self.called.insert(place);
            waker.wake();
        }
    }

    /// How many jobs are left for one who comes, once all others have theirs who were called before.
    fn spare(&self, place: Option<u64>) -> usize {
        let Some(place) = place.filter(|it| self.called.contains(it)) else {
            return self.ready().saturating_sub(self.called.len());
        };
        match self.ready().saturating_sub(self.called.len() - 1) {
            // Jobs may be gone since they were called for.
            0 => usize::from(self.called.range(..place).count() < self.ready()),
            spare => spare,
        }
    }

    fn is_idle(&self) -> bool {
        self.ready() == 0 && self.line.is_empty() && self.called.is_empty() && self.hands.is_none()
    }
}

/// A place in the line of those who wait for a job of a type. Whoever has come first is called first, and
/// keeps the place where the job is gone meanwhile. Dropping it leaves the line: the next one is called.
#[derive(Debug)]
pub(crate) struct Turn {
    board: Arc<Board>,
    job_type: Name,
    /// Given when one first has to wait.
    place: Option<u64>,
}

impl Turn {
    /// Ends when it is this one's turn to take a job, or nobody need wait any more.
    pub(crate) async fn come(&mut self) {
        poll_fn(|cx| {
            let mut places = self.board.lock();
            if places.is_closed {
                return Poll::Ready(());
            }
            let place = *self.place.get_or_insert_with(|| {
                places.place += 1;
                places.place
            });
            places.with(&self.job_type, |queue| {
                if queue.called.contains(&place) {
                    return Poll::Ready(());
                }
                queue.line.insert(place, wakes::after_all(cx.waker().clone()));
                queue.call();
                if queue.called.contains(&place) { Poll::Ready(()) } else { Poll::Pending }
            })
        })
        .await;
    }

    /// Goes away from the line, and comes back at its end.
    pub(crate) fn leave(&mut self) {
        let Some(place) = self.place.take() else { return };
        let mut places = self.board.lock();
        let Some(queue) = places.queues.get_mut(&self.job_type) else { return };
        queue.line.remove(&place);
        queue.called.remove(&place);
        queue.call();
        if queue.is_idle() {
            places.queues.remove(&self.job_type);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Default for Board {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}

impl Board {
    /// A board that keeps these limits, which are given by class.
    pub fn new(limits: BTreeMap<Name, Limit>) -> Self {
        Self {
            limits,
            places: Mutex::default(),
            due: AtomicI64::new(i64::MAX),
            worked: Arc::default(),
            has_hands: AtomicBool::new(false),
            gate: Arc::default(),
            awaited: Awaited::default(),
            descendants: Descendants::default(),
        }
    }

    /// How a shard does something while no other one does anything.
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers of this process who can do jobs of a type, so many at once.
    pub(crate) fn crew(&self, job_type: Name, at_once: usize) -> Crew {
        let crew = Arc::new(CrewState {
            job_type,
            at_once,
            at_work: AtomicUsize::new(0),
            is_leaving: AtomicBool::new(false),
            free: Notify::new(),
            worked: Arc::clone(&self.worked),
        });
        let mut places = self.lock();
        places.crews.retain(|it| it.strong_count() > 0);
        places.crews.push(Arc::downgrade(&crew));
        Crew(crew)
    }

    /// Puts a job up.
    pub fn offer(&self, offer: &Offer) {
        let mut places = self.lock();
        let Some((name, limit)) = self.limit(&mut places, offer.limit.as_ref()) else {
            return places.with(&offer.job_type, |it| {
                it.jobs.insert(offer.order());
                it.call();
            });
        };
        // It may have been put up before anyone knew of its limit.
        places.with(&offer.job_type, |it| it.jobs.remove(&offer.order()));
        let lines = &mut places.key(name, limit).lines;
        lines.entry(Name::clone(&offer.job_type)).or_default().jobs.insert(offer.order());
        self.look(&mut places, name);
    }

    /// Takes a job down, if it is there.
    pub fn withdraw(&self, offer: &Offer) {
        let mut places = self.lock();
        places.with(&offer.job_type, |it| it.jobs.remove(&offer.order()));
        if let Some(name) = &offer.limit
            && let Some(key) = places.keys.get_mut(name)
            && let Some(line) = key.lines.get_mut(&offer.job_type)
        {
            line.jobs.remove(&offer.order());
            self.look(&mut places, name);
        }
    }

    /// Takes the first jobs of a type, at most so many, and none for which another one was called. Those that
    /// keep a limit have begun with that.
    pub fn take(&self, job_type: &Name, most: usize, now: Timestamp) -> Vec<Offer> {
        self.take_and(job_type, None, most, now, |_| ())
    }

    /// A place in line for jobs of a type, for one who will wait where there is none.
    pub(crate) fn turn(self: &Arc<Self>, job_type: &Name) -> Turn {
        Turn { board: Arc::clone(self), job_type: Name::clone(job_type), place: None }
    }

    /// Takes the first jobs of its type for one in line, at most so many.
    pub(crate) fn take_in_turn(&self, turn: &Turn, most: usize, now: Timestamp) -> Vec<Offer> {
        self.take_and(&turn.job_type, turn.place, most, now, |_| ())
    }

    /// As many of the first jobs of its type as a crew can do. It has them in hand from now on.
    pub(crate) fn take_in_hand(
        &self,
        crew: &Crew,
        turn: &mut Turn,
        now: Timestamp,
    ) -> Vec<(Offer, AtWork)> {
        let free = crew.free();
        if free == 0 {
            turn.leave();
            return Vec::new();
        }
        let mut in_hand = Vec::new();
        let taken = self.take_and(crew.job_type(), turn.place, free, now, |count| {
            in_hand.extend((0..count).map(|_| AtWork::begin(crew)));
        });
        taken.into_iter().zip(in_hand).collect()
    }

    /// Nobody need wait for a job any more.
    pub(crate) fn close(&self) {
        let mut places = self.lock();
        places.is_closed = true;
        for queue in places.queues.values_mut() {
            std::mem::take(&mut queue.line).into_values().for_each(Waker::wake);
        }
    }

    /// Has jobs without a limit that nobody has to wait for go straight to a crew.
    pub(crate) fn hold_out_hands(&self, crew: &Crew) -> mpsc::UnboundedReceiver<Vec<Handed>> {
        let (to, handed) = mpsc::unbounded_channel();
        let hands = Arc::new(Hands { crew: crew.clone(), to });
        self.lock().with(crew.job_type(), |it| it.hands = Some(hands));
        self.has_hands.store(true, Ordering::SeqCst);
        handed
    }

    /// From now on jobs of that type go up before anyone has them.
    pub(crate) fn withdraw_hands(&self, job_type: &Name) {
        self.lock().with(job_type, |it| it.hands = None);
    }

    /// A worker of this process for a job of a type that is not up yet, where no other comes first.
    pub(crate) fn hand(&self, job_type: &Name) -> Option<Hand> {
        if !self.has_hands.load(Ordering::SeqCst) {
            return None;
        }
        let places = self.lock();
        let queue = places.queues.get(job_type)?;
        let hands = queue.hands.as_ref()?;
        let Hands { crew, to } = &**hands;
        let is_free = queue.jobs.is_empty() && queue.heads.is_empty() && crew.free() > 0;
        (is_free && !to.is_closed())
            .then(|| Hand { hands: Arc::clone(hands), at_work: AtWork::begin(crew) })
    }

    /// Has `and` know how many are taken before anyone can see that they are not up any more.
    fn take_and(
        &self,
        job_type: &Name,
        place: Option<u64>,
        most: usize,
        now: Timestamp,
        and: impl FnOnce(usize),
    ) -> Vec<Offer> {
        let mut taken = Vec::new();
        let offer = |(Reverse(priority), since, job): Order, limit| Offer {
            job_type: Name::clone(job_type),
            priority,
            since,
            job,
            limit,
        };
        let mut places = self.lock();
        while taken.len() < most {
            let Some(queue) = places.queues.get_mut(job_type) else { break };
            // Where a key has room for more than one, more may be there after each.
            let spare = queue.spare(place).min(most - taken.len());
            if spare == 0 {
                break;
            }
            let Some((head, name)) = queue.heads.first().cloned() else {
                let first = std::iter::from_fn(|| queue.jobs.pop_first());
                taken.extend(first.take(spare).map(|it| offer(it, None)));
                break;
            };
            if let Some(first) = queue.jobs.first().copied().filter(|it| *it < head) {
                queue.jobs.remove(&first);
                taken.push(offer(first, None));
                continue;
            }
            let key = places.keys.get_mut(&name).expect("whatever has a head is known");
            key.pass(now);
            if let Some(line) = key.lines.get_mut(job_type) {
                line.jobs.remove(&head);
            }
            if places.begun.insert(head.2, Name::clone(&name)).is_none() {
                places.begin(&name, now);
            }
            self.look(&mut places, &name);
            taken.push(offer(head, Some(name)));
        }
        and(taken.len());
        if let Some(queue) = places.queues.get_mut(job_type) {
            if let Some(place) = place {
                queue.called.remove(&place);
            }
            queue.call();
        }
        taken
    }

    /// Whether a job may begin as far as its limit goes; where it has begun, it may.
    pub(crate) fn enter(&self, job: Address, limit: &Name, now: Timestamp) -> bool {
        let mut places = self.lock();
        let Some((name, limit)) = self.limit(&mut places, Some(limit)) else { return true };
        if places.begun.contains_key(&job) {
            return true;
        }
        let key = places.key(name, limit);
        key.pass(now);
        let may = key.has_room();
        if may {
            places.begun.insert(job, Name::clone(name));
            places.begin(name, now);
        }
        self.look(&mut places, name);
        may
    }

    /// A job had begun before the engine was opened.
    pub(crate) fn hold(&self, job: Address, limit: &Name) {
        let mut places = self.lock();
        let Some((name, limit)) = self.limit(&mut places, Some(limit)) else { return };
        if places.begun.insert(job, Name::clone(name)).is_none() {
            places.key(name, limit).hold();
        }
        self.look(&mut places, name);
    }

    /// Nobody does a job any more. One that has not begun may be told, too.
    pub(crate) fn leave(&self, job: Address) {
        if self.has_limits() {
            let mut places = self.lock();
            if let Some(name) = places.end(job) {
                self.look(&mut places, &name);
            }
        }
    }

    /// Whether there are any limits.
    pub(crate) fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// When a limit is to be looked at next, because time gives room.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let due = self.due.load(Ordering::SeqCst);
        (due < i64::MAX).then(|| Timestamp::from_millis(due))
    }

    /// Looks at the limits to which time has given room.
    pub(crate) fn pass(&self, now: Timestamp) {
        let mut places = self.lock();
        while let Some((due, name)) = places.due.first().cloned()
            && due <= now
        {
            places.due.pop_first();
            if let Some(key) = places.keys.get_mut(&name) {
                key.due = None;
                key.pass(now);
            }
            self.look(&mut places, &name);
        }
    }

    /// How many jobs of each type are up, also those that their limit keeps back.
    pub fn counts(&self) -> Vec<(Name, usize)> {
        let places = self.lock();
        let mut counts: BTreeMap<&Name, usize> =
            places.queues.iter().map(|(name, it)| (name, it.jobs.len())).collect();
        for (name, line) in places.keys.values().flat_map(|it| &it.lines) {
            *counts.entry(name).or_default() += line.jobs.len();
        }
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts.map(|(name, count)| (Name::clone(name), count)).collect()
    }

    /// How many jobs of each type could be taken now, of each key with a limit the first, and how many
    /// workers of this process have in hand, at one moment.
    pub(crate) fn ready_and_at_work(&self) -> (Vec<(Name, usize)>, usize) {
        let places = self.lock();
        let ready = places.queues.iter();
        let ready = ready.map(|(name, it)| (Name::clone(name), it.ready()));
        let ready = ready.filter(|(_, count)| *count > 0).collect();
        let crews = places.crews.iter().filter_map(Weak::upgrade);
        (ready, crews.map(|it| it.at_work.load(Ordering::SeqCst)).sum())
    }

    /// Ends when a worker of this process, after the call, has one job less in hand.
    pub(crate) fn worked(&self) -> Notified<'_> {
        self.worked.is_asked_for.store(true, Ordering::SeqCst);
        self.worked.news.notified()
    }

    /// Takes everything down that belongs to instances for which `gone`.
    pub fn clear(&self, gone: impl Fn(Address) -> bool) {
        let mut places = self.lock();
        for queue in places.queues.values_mut() {
            queue.jobs.retain(|(_, _, job)| !gone(*job));
        }
        let ended: Vec<Address> = places.begun.keys().copied().filter(|it| gone(*it)).collect();
        for job in ended {
            places.end(job);
        }
        let names: Vec<Name> = places.keys.keys().cloned().collect();
        for name in names {
            let lines = places.keys.get_mut(&name).into_iter().flat_map(|it| it.lines.values_mut());
            lines.for_each(|it| it.jobs.retain(|(_, _, job)| !gone(*job)));
            self.look(&mut places, &name);
        }
    }

    /// The limit of a job, where there is one for its class.
    fn limit<'a>(&self, places: &mut Places, name: Option<&'a Name>) -> Option<(&'a Name, Limit)> {
        let name = name?;
        let class = name.split_once('/').map_or(&**name, |(class, _)| class);
        let limit = self.limits.get(class).copied();
        if limit.is_none() && places.unknown.insert(class.into()) {
            tracing::warn!(
                class,
                "jobs name a limit that this engine was not given: they run without; add it to \
                 the limits that the engine is opened with"
            );
        }
        Some((name, limit?))
    }

    /// Puts up what a key has room for, after anything about it has changed.
    fn look(&self, places: &mut Places, name: &Name) {
        places.look(name);
        let next = places.due.first().map_or(i64::MAX, |(due, _)| due.as_millis());
        self.due.store(next, Ordering::SeqCst);
    }
}

impl Places {
    fn with<T>(&mut self, job_type: &Name, act: impl FnOnce(&mut Queue) -> T) -> T {
        if let Some(queue) = self.queues.get_mut(job_type) {
            return act(queue);
        }
        act(self.queues.entry(Name::clone(job_type)).or_default())
    }

    fn key(&mut self, name: &Name, limit: Limit) -> &mut Key {
        self.keys.entry(Name::clone(name)).or_insert_with(|| Key::new(limit))
    }

    fn begin(&mut self, name: &Name, now: Timestamp) {
        if let Some(key) = self.keys.get_mut(name) {
            key.begin(now);
        }
    }

    /// Says which key a job had that has begun.
    fn end(&mut self, job: Address) -> Option<Name> {
        let name = self.begun.remove(&job)?;
        if let Some(key) = self.keys.get_mut(&name) {
            key.end();
        }
        Some(name)
    }

    fn look(&mut self, name: &Name) {
        let Some(key) = self.keys.get_mut(name) else { return };
        let has_room = key.has_room();
        for (job_type, line) in &mut key.lines {
            let Line { jobs, head } = line;
            let first = jobs.first().copied().filter(|_| has_room);
            if first == *head {
                continue;
            }
            let queue = self.queues.entry(Name::clone(job_type)).or_default();
            if let Some(head) = head.take() {
                queue.heads.remove(&(head, Name::clone(name)));
            }
            if let Some(first) = first {
                queue.heads.insert((first, Name::clone(name)));
                queue.call();
            }
            *head = first;
        }
        key.lines.retain(|_, line| !line.jobs.is_empty());
        let due = key.next_due();
        if let Some(before) = std::mem::replace(&mut key.due, due) {
            self.due.remove(&(before, Name::clone(name)));
        }
        self.due.extend(due.map(|it| (it, Name::clone(name))));
        if key.is_idle() {
            self.keys.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
