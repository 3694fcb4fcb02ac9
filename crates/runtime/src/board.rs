//! Jobs that a worker may have, of all shards, in the order in which they are given out.

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
    Address, InstanceId, Limit, Timestamp,
    awaited::Awaited,
    descendants::Descendants,
    limit::{Key, Line},
    shard::{Gate, Given},
    wakes,
};

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

/// Workers of this process who do jobs of a type, so many at once.
#[derive(Clone, Debug)]
pub(crate) struct Crew(Arc<CrewState>);

#[derive(Debug)]
struct CrewState {
    job_type: Name,
    at_once: usize,
    /// How many of them are. It grows only while the places are locked, so that no job is neither up
    /// nor in hand.
    at_work: AtomicUsize,
    /// Whether someone waits for the last of them to finish.
    is_leaving: AtomicBool,
    /// Notified when one has finished who was waited for.
    free: Notify,
    worked: Arc<Worked>,
}

/// Notified when a worker has finished, once anyone has asked for that.
#[derive(Debug, Default)]
struct Worked {
    is_asked_for: AtomicBool,
    news: Notify,
}

impl Crew {
    pub(crate) fn job_type(&self) -> &Name {
        &self.0.job_type
    }

    /// How many more jobs it could do.
    pub(crate) fn free(&self) -> usize {
        self.0.at_once.saturating_sub(self.0.at_work.load(Ordering::SeqCst))
    }

    /// Ends when one of a crew that was all at work may have become free.
    pub(crate) async fn one_free(&self) {
        self.0.free.notified().await;
    }

    /// Ends when nobody is at work any more.
    pub(crate) async fn all_free(&self) {
        self.0.is_leaving.store(true, Ordering::SeqCst);
        while self.0.at_work.load(Ordering::SeqCst) > 0 {
            self.0.free.notified().await;
        }
    }
}

/// A job that a worker of this process has in hand, until this is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Crew);

impl AtWork {
    /// The places are locked.
    fn begin(crew: &Crew) -> Self {
        crew.0.at_work.fetch_add(1, Ordering::SeqCst);
        Self(crew.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let crew = &self.0.0;
        let were_at_work = crew.at_work.fetch_sub(1, Ordering::SeqCst);
        if were_at_work >= crew.at_once || crew.is_leaving.load(Ordering::SeqCst) {
            crew.free.notify_one();
        }
        if crew.worked.is_asked_for.load(Ordering::SeqCst) {
            crew.worked.news.notify_waiters();
        }
    }
}

/// A job that was put into a hand.
pub(crate) type Handed = (Arc<Given>, AtWork);

/// A worker of this process who has nothing else to do, for one job, which need not go up first.
#[derive(Debug)]
pub(crate) struct Hand {
    hands: Arc<Hands>,
    at_work: AtWork,
}

/// Jobs on their way to workers of this process, by crew: each crew is given all of its jobs at once.
#[derive(Debug, Default)]
pub(crate) struct Handing(Vec<(Arc<Hands>, Vec<Handed>)>);

impl Handing {
    pub(crate) fn add(&mut self, hand: Hand, given: Arc<Given>) {
        let Hand { hands, at_work } = hand;
        let known = self.0.iter_mut().find(|(it, _)| Arc::ptr_eq(it, &hands));
        match known {
            Some((_, jobs)) => jobs.push((given, at_work)),
            None => self.0.push((hands, vec![(given, at_work)])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the jobs of an instance from going out. Whoever was to have them is free again.
    pub(crate) fn forget(&mut self, instance: InstanceId) {
        for (_, jobs) in &mut self.0 {
            jobs.retain(|(given, _)| given.job.instance != instance);
        }
        self.0.retain(|(_, jobs)| !jobs.is_empty());
    }

    /// Gives them to the workers.
    pub(crate) fn put(self) {
        for (hands, jobs) in self.0 {
            // Where the workers have ended meanwhile, the jobs are begun after a restart, as are those
            // that they did not finish.
            let _: Result<(), mpsc::error::SendError<Vec<Handed>>> = hands.to.send(jobs);
        }
    }
}

/// A crew that takes jobs as they come.
#[derive(Debug)]
struct Hands {
    crew: Crew,
    to: mpsc::UnboundedSender<Vec<Handed>>,
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
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Wake},
    };

    use super::*;

    use travertine_kernel::WaitId;

    fn at(instance: u64, wait: u64) -> Address {
        Address { instance: InstanceId(instance), wait: WaitId(wait) }
    }

    fn offer(priority: i64, since: i64, instance: u64) -> Offer {
        let (job, since) = (at(instance, 1), Timestamp::from_millis(since));
        Offer { job_type: "pay".into(), priority, since, job, limit: None }
    }

    #[test]
    fn the_most_pressing_job_comes_first_and_the_oldest_of_those() {
        let board = Board::default();
        for it in [offer(0, 5, 1), offer(0, 3, 2), offer(9, 7, 3), offer(0, 3, 4)] {
            board.offer(&it);
        }
        board.withdraw(&offer(0, 3, 4));
        let taken = board.take(&"pay".into(), 2, Timestamp::from_millis(0));
        assert_eq!(taken.iter().map(|it| it.job.instance.0).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(board.counts(), [("pay".into(), 1)]);
        assert_eq!(board.take(&"other".into(), 2, Timestamp::from_millis(0)), []);
    }
    fn limited(priority: i64, instance: u64, job_type: &str, limit: &str) -> Offer {
        let job = at(instance, 1);
        let since = Timestamp::default();
        Offer { job_type: job_type.into(), priority, since, job, limit: Some(limit.into()) }
    }

    fn taken(board: &Board, job_type: &str, most: usize, now: i64) -> Vec<u64> {
        let taken = board.take(&job_type.into(), most, Timestamp::from_millis(now));
        taken.iter().map(|it| it.job.instance.0).collect()
    }

    fn board(limit: Limit) -> Board {
        Board::new([("bank".into(), limit)].into())
    }

    #[test]
    fn a_key_without_room_holds_back_its_own_jobs_and_no_others() {
        let board = board(Limit::at_once(1));
        board.offer(&limited(9, 1, "pay", "bank/a"));
        board.offer(&limited(8, 2, "pay", "bank/a"));
        board.offer(&limited(7, 3, "pay", "bank/b"));
        board.offer(&limited(8, 4, "refund", "bank/a"));
        board.offer(&limited(1, 5, "pay", "elsewhere/a"));
        board.offer(&offer(6, 0, 6));
        board.offer(&offer(10, 0, 7));
        assert_eq!(taken(&board, "pay", 9, 0), [7, 1, 3, 6, 5]);
        assert_eq!(taken(&board, "refund", 9, 0), []);
        assert_eq!(board.counts(), [("pay".into(), 1), ("refund".into(), 1)]);
        // The place goes to whoever comes first, of whatever type.
        board.leave(at(1, 1));
        board.leave(at(1, 1));
        board.offer(&limited(9, 8, "pay", "bank/a"));
        assert_eq!(taken(&board, "pay", 9, 0), [8]);
        assert_eq!(taken(&board, "refund", 9, 0), []);
        board.leave(at(8, 1));
        board.withdraw(&limited(8, 2, "pay", "bank/a"));
        assert_eq!(taken(&board, "pay", 9, 0), []);
        assert_eq!(taken(&board, "refund", 9, 0), [4]);
    }

    #[test]
    fn no_more_begin_in_any_time_span_than_the_rate_allows() {
        let board = board(Limit::rate(2, std::time::Duration::from_millis(10)));
        for instance in 1..=6 {
            board.offer(&limited(0, instance, "pay", "bank"));
        }
        assert_eq!(board.due(), None);
        assert_eq!(taken(&board, "pay", 1, 0), [1]);
        assert_eq!(taken(&board, "pay", 9, 7), [2]);
        (1..=2).for_each(|it| board.leave(at(it, 1)));
        let pass = |now| {
            board.pass(Timestamp::from_millis(now));
            (taken(&board, "pay", 9, now), board.due().map(Timestamp::as_millis))
        };
        assert_eq!(pass(9), (vec![], Some(10)));
        assert_eq!(pass(10), (vec![3], Some(17)));
        assert_eq!(pass(16), (vec![], Some(17)));
        assert_eq!(pass(17), (vec![4], Some(20)));
        assert_eq!(pass(100), (vec![5, 6], Some(110)));
        (3..=6).for_each(|it| board.leave(at(it, 1)));
        assert_eq!(pass(110), (vec![], None));
        assert!(board.lock().keys.is_empty(), "what nobody needs is forgotten");
    }

    #[test]
    fn a_job_whose_limit_was_not_known_begins_only_where_there_is_room() {
        let board = board(Limit::at_once(1));
        let now = Timestamp::from_millis(0);
        let (one, other) = (limited(0, 1, "pay", "bank"), limited(0, 2, "pay", "bank"));
        board.hold(one.job, &"bank".into());
        board.offer(&Offer { limit: None, ..other.clone() });
        assert_eq!(taken(&board, "pay", 9, 0), [2]);
        assert!(!board.enter(other.job, &"bank".into(), now));
        board.offer(&other);
        assert_eq!(taken(&board, "pay", 9, 0), []);
        board.clear(|it| it == one.job);
        assert_eq!(taken(&board, "pay", 9, 0), [2]);
        assert!(board.enter(other.job, &"bank".into(), now), "it has begun already");
    }

    #[test]
    fn a_job_in_hand_is_counted_until_it_is_let_go() {
        let board = Arc::new(Board::default());
        board.offer(&offer(0, 5, 1));
        board.offer(&offer(0, 6, 2));
        assert_eq!(board.ready_and_at_work(), (vec![("pay".into(), 2)], 0));
        let crew = board.crew("pay".into(), 1);
        let mut turn = board.turn(&"pay".into());
        let in_hand = board.take_in_hand(&crew, &mut turn, Timestamp::from_millis(0));
        assert_eq!(in_hand[0].0, offer(0, 5, 1));
        assert_eq!(board.ready_and_at_work(), (vec![("pay".into(), 1)], 1));
        drop(in_hand);
        assert_eq!(board.take(&"pay".into(), 1, Timestamp::from_millis(0)), [offer(0, 6, 2)]);
        assert_eq!(board.ready_and_at_work(), (vec![], 0));
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Whether it is someone's turn.
    fn has_come(turn: &mut Turn, waker: &Waker) -> bool {
        pin!(turn.come()).poll(&mut Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn a_job_calls_the_first_of_ten_thousand_in_line_and_no_other() {
        let (board, count) = (Arc::new(Board::default()), Arc::<Count>::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut turns: Vec<Turn> = (0..10_000).map(|_| board.turn(&"pay".into())).collect();
        for turn in &mut turns {
            assert!(!has_come(turn, &waker));
        }
        for number in 1..=3 {
            board.offer(&offer(0, 1, number));
            assert_eq!(count.0.load(Ordering::SeqCst), usize::try_from(number).expect("it fits"));
        }
        let now = Timestamp::from_millis(0);
        assert_eq!(board.take(&"pay".into(), 9, now), [], "others were called for them");
        let come: Vec<bool> = turns[..5].iter_mut().map(|it| has_come(it, &waker)).collect();
        assert_eq!(come, [true, true, true, false, false]);
        assert_eq!(board.take_in_turn(&turns[0], 9, now).len(), 1, "the rest is for others");
        drop(turns);
        assert_eq!(board.take(&"pay".into(), 9, now).len(), 2);
        assert!(board.turn(&"none".into()).place.is_none());
    }

    #[test]
    fn whoever_goes_has_the_next_one_called() {
        let board = Arc::new(Board::default());
        let [mut one, mut two, mut three] = [(); 3].map(|()| board.turn(&"pay".into()));
        for turn in [&mut one, &mut two, &mut three] {
            assert!(!has_come(turn, Waker::noop()));
        }
        board.offer(&offer(0, 1, 1));
        assert!(has_come(&mut one, Waker::noop()));
        assert!(!has_come(&mut two, Waker::noop()));
        drop(one);
        assert!(has_come(&mut two, Waker::noop()));
        assert!(!has_come(&mut three, Waker::noop()));
        drop(three);
        assert_eq!(board.take_in_turn(&two, 9, Timestamp::from_millis(0)).len(), 1);
        drop(two);
        board.close();
        assert!(has_come(&mut board.turn(&"pay".into()), Waker::noop()));
    }

    #[test]
    fn a_job_that_is_withdrawn_costs_nobody_the_place() {
        let board = Arc::new(Board::default());
        let now = Timestamp::from_millis(0);
        let [mut one, mut two] = [(); 2].map(|()| board.turn(&"pay".into()));
        for turn in [&mut one, &mut two] {
            assert!(!has_come(turn, Waker::noop()));
        }
        let (first, second) = (offer(0, 1, 1), offer(0, 2, 2));
        board.offer(&first);
        board.offer(&second);
        board.withdraw(&first);
        // Both were called, and one job is left.
        assert_eq!(board.take_in_turn(&two, 9, now), [], "it is for the other");
        assert!(!has_come(&mut two, Waker::noop()));
        assert_eq!(board.take_in_turn(&one, 9, now), [second]);
        assert!(!has_come(&mut one, Waker::noop()));
        board.offer(&first);
        assert!(has_come(&mut one, Waker::noop()), "it kept its place");
        assert!(!has_come(&mut two, Waker::noop()));
    }

    #[test]
    fn nothing_is_kept_of_a_type_that_nobody_waits_for_any_more() {
        let board = Arc::new(Board::default());
        for number in 0..100 {
            let mut turn = board.turn(&format!("type-{number}").into());
            assert!(!has_come(&mut turn, Waker::noop()));
        }
        assert!(board.lock().queues.is_empty());
    }

    #[test]
    fn a_hand_is_free_only_where_no_job_comes_first() {
        let board = Board::default();
        let pay = Name::from("pay");
        assert!(board.hand(&pay).is_none(), "nobody holds one out");
        let crew = board.crew(Name::clone(&pay), 2);
        let handed = board.hold_out_hands(&crew);
        let hands = [board.hand(&pay), board.hand(&pay), board.hand(&pay)];
        let free = hands.each_ref().map(Option::is_some);
        assert_eq!(free, [true, true, false], "two can be at work at once");
        assert_eq!(board.ready_and_at_work(), (vec![], 2));
        drop(hands);
        assert_eq!(board.ready_and_at_work(), (vec![], 0));
        board.offer(&offer(0, 5, 1));
        assert!(board.hand(&pay).is_none(), "another one comes first");
        board.withdraw(&offer(0, 5, 1));
        assert!(board.hand(&pay).is_some());
        board.withdraw_hands(&pay);
        assert!(board.hand(&pay).is_none());
        drop(handed);
    }
}
