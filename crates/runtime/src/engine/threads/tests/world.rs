//! What the threads of an engine have, and the steps that they can take.

use std::{
    collections::VecDeque,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

use travertine_func::{Functions, Retry};
use travertine_store::{
    Append, Claimed, Claiming, Error as StoreError, InstanceId, Layer, MemoryStore, ShardId, Store,
    codec::record::{decode_letter, decode_records},
    record::{Letter, Record},
};

use super::super::{
    Claims, Common, Input, Lane, Pace, Rows, Signal, WRITES_MAX, Writer, lane::Wait,
    rows::RowKeeper, write::Committer, writer,
};
use crate::{
    Begin, Definitions, Error, RequestOutcome, Settings,
    engine::{
        ManualClock, Options,
        load::Current,
        metrics,
        open::by_lanes,
        queue::Queue,
        reclaim::Reclaimer,
        recovery::{Read, Recovery},
    },
    request::{Ask, FlushRequest, Relay, Reply, ReplyTo, StartRequest},
};

/// How many rows may be on their way to the views: fewer than in an engine, so that it fills.
const ROWS_MAX: usize = 1;

/// What someone does to the engine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// Starts an instance of the process at a shard.
    Start(&'static str, u16),
    /// Starts one under an id.
    Named(&'static str, u16),
    Flush,
    Stop,
}

/// Counts what is answered.
#[derive(Debug)]
struct Counted(Arc<Answers>);

#[derive(Debug, Default)]
struct Answers {
    done: AtomicUsize,
    refused: AtomicUsize,
    /// Of those, how many of which nobody knows whether they were done.
    unknown: AtomicUsize,
}

impl Relay for Counted {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        let Answers { done, refused, unknown } = &*self.0;
        let count = if reply.is_ok() { done } else { refused };
        count.fetch_add(1, Ordering::Relaxed);
        if reply.is_err_and(|it| it.outcome() == RequestOutcome::Unknown) {
            unknown.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn counted(answers: &Arc<Answers>) -> ReplyTo {
    ReplyTo::Relay(Box::new(Counted(Arc::clone(answers))))
}

/// A thread that writes, and what it holds in its hands.
struct Scribe {
    committer: Committer,
    views: SyncSender<Rows>,
    holds: Option<(Rows, usize)>,
}

pub(super) struct World {
    common: Common,
    store: Arc<Tricky>,
    definitions: Arc<Definitions>,
    actors: Vec<VecDeque<Act>>,
    lanes: Vec<Option<(Lane, Writer)>>,
    scribes: Vec<Option<Scribe>>,
    /// How much is on its way to each scribe, and to the views.
    to_scribes: Vec<usize>,
    to_views: usize,
    views: Option<(RowKeeper, Receiver<Rows>)>,
    reclaimer: Reclaimer,
    /// Of each shard, how much was accepted and is answered.
    asked: Vec<Asked>,
    flushed: Vec<Asked>,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    accepted: usize,
    answers: Arc<Answers>,
}

impl Asked {
    fn done(&self) -> usize {
        self.answers.done.load(Ordering::Relaxed)
    }

    fn is_answered(&self) -> bool {
        self.done() + self.answers.refused.load(Ordering::Relaxed) == self.accepted
    }
}

/// What goes wrong with a shard, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trick {
    /// Somebody else takes it just before it is written.
    Stolen,
    /// It cannot be written.
    Fails,
    /// Nobody knows whether it was written. It was, or it was not.
    Unknown(bool),
    /// Nobody knows, and the shard cannot be claimed again at once.
    Doubted(bool),
    /// The engine fails when it looks for a name.
    Panics,
}

/// A store in which something goes wrong with a shard.
#[derive(Debug)]
struct Tricky {
    inner: MemoryStore,
    trick: Mutex<Option<(Trick, ShardId)>>,
    /// A shard that cannot be claimed the next time.
    unclaimed: Mutex<Option<ShardId>>,
}

impl Tricky {
    fn lock(&self) -> MutexGuard<'_, Option<(Trick, ShardId)>> {
        self.trick.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trick for a shard, if it is one of these. It is not played again.
    fn take(&self, shard: ShardId, is: impl Fn(Trick) -> bool) -> Option<Trick> {
        let taken = self.lock().take_if(|(trick, of)| *of == shard && is(*trick));
        taken.map(|(trick, _)| trick)
    }
}

impl Layer for Tricky {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), StoreError>> {
        let one = |it: &Append<'_>| {
            let append = || self.inner.append(&it.claim, it.batches);
            let reason = "a trick".to_owned();
            match self.take(it.claim.shard, |it| it != Trick::Panics) {
                Some(Trick::Stolen) => {
                    self.inner.take(it.claim.shard, "a thief")?;
                    append()
                }
                Some(Trick::Fails) => Err(StoreError::Failed { reason }),
                Some(trick @ (Trick::Unknown(written) | Trick::Doubted(written))) => {
                    if let Trick::Doubted(_) = trick {
                        *self.unclaimed.lock().expect("nobody fails") = Some(it.claim.shard);
                    }
                    if written {
                        append()?;
                    }
                    Err(StoreError::Unknown { reason })
                }
                Some(Trick::Panics) | None => append(),
            }
        };
        appends.iter().map(one).collect()
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, StoreError> {
        let mut unclaimed = self.unclaimed.lock().expect("nobody fails");
        if unclaimed.take_if(|it| *it == shard).is_some() {
            return Err(StoreError::Failed { reason: "a trick".to_owned() });
        }
        self.inner.claim(shard, how)
    }

    fn named(&self, shard: ShardId, name: &str) -> Result<Vec<InstanceId>, StoreError> {
        if self.take(shard, |it| it == Trick::Panics).is_some() {
            resume_unwind(Box::new("no way out"));
        }
        self.inner.named(shard, name)
    }
}

/// Who may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Actor(usize),
    Lane(usize),
    Scribe(usize),
    Views,
    Reclaimer,
}

/// How long the ways are, when rows are wanted, and what goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) shards: u16,
    pub(super) lanes: usize,
    pub(super) batch_entries: usize,
    pub(super) changed_max: usize,
    pub(super) trick: Option<(Trick, u16)>,
    /// How long requests wait for a shard that is lost.
    pub(super) patience: Duration,
}

impl Shape {
    /// A lane for each shard, in which nothing goes wrong.
    pub(super) fn new(shards: u16, batch_entries: usize, changed_max: usize) -> Self {
        let patience = Duration::from_hours(1);
        let lanes = usize::from(shards);
        Self { shards, lanes, batch_entries, changed_max, trick: None, patience }
    }
}

impl World {
    pub(super) fn new(definitions: &Arc<Definitions>, shape: Shape, actors: &[&[Act]]) -> Self {
        let tricky = Arc::new(Tricky {
            inner: MemoryStore::new(shape.shards),
            trick: Mutex::new(shape.trick.map(|(trick, shard)| (trick, ShardId(shard)))),
            unclaimed: Mutex::default(),
        });
        let store = Arc::clone(&tricky) as Arc<dyn Store>;
        let settings = Settings { batch_entries: shape.batch_entries, ..Settings::default() };
        let options =
            Options { settings, clock: Arc::new(ManualClock::default()), ..Options::default() };
        let functions = Arc::new(Functions::new());
        let recovery = Recovery::new(&store, &functions, &options);
        let taken = recovery.take_all().expect("it is in memory");
        let Read { shards, board, .. } =
            recovery.read(&taken, definitions).expect("an empty store is read");
        let upto = shards.iter().map(crate::Shard::seq).collect();
        let claims = Claims::of(&shards);
        let by_lane = by_lanes(shards, shape.lanes);
        let common = Common {
            store,
            board,
            clock: Arc::clone(&options.clock),
            written: tokio::sync::Notify::new(),
            counters: metrics::Counters::default(),
            lanes: by_lane.iter().map(|it| Queue::new(it.len(), 4)).collect(),
            claims,
            lost: Queue::new(1, usize::MAX),
            patience: shape.patience,
            current: RwLock::new(Current::new(definitions)),
            next: AtomicU64::new(0),
            naps: Queue::new(1, usize::MAX),
            pace: Pace {
                changed: 1,
                interval: Duration::from_hours(1),
                changed_max: shape.changed_max,
            },
            storage_retry: Retry { initial: Duration::ZERO, ..Retry::DEFAULT },
            waits_for_room: false,
            fault: OnceLock::new(),
            views_fault: OnceLock::new(),
            stopping: Arc::default(),
        };
        let (views, rows) = sync_channel(ROWS_MAX);
        let (mut lanes, mut scribes) = (Vec::new(), Vec::new());
        for (number, shards) in by_lane.into_iter().enumerate() {
            let (to, work) = writer();
            // Everything is handed over, as if batches were large.
            to.last.set(usize::MAX);
            lanes.push(Some((Lane::new(number, shards), to)));
            let committer = Committer::new(work);
            scribes.push(Some(Scribe { committer, views: views.clone(), holds: None }));
        }
        Self {
            common,
            store: tricky,
            definitions: Arc::clone(definitions),
            actors: actors.iter().map(|it| it.iter().copied().collect()).collect(),
            to_scribes: vec![0; lanes.len()],
            to_views: 0,
            lanes,
            scribes,
            views: Some((RowKeeper::new(upto), rows)),
            reclaimer: Reclaimer::new(recovery),
            asked: (0..shape.shards).map(|_| Asked::default()).collect(),
            flushed: (0..shape.shards).map(|_| Asked::default()).collect(),
        }
    }

    /// Whether a thread that decides has something to hear or to do.
    fn has_news(common: &Common, lane: &mut Lane) -> bool {
        let pause = lane.pause(common);
        let seats = lane.seats.iter().zip(&lane.taken);
        let mut news = seats.map(|(seat, taken)| {
            let way = common.queue(seat.id);
            let waits = seat.wait(common) == Wait::Signals;
            way.has_signals() || (!waits && (way.len() > 0 || !taken.items.is_empty()))
        });
        pause == Some(Duration::ZERO) || news.any(|it| it)
    }

    pub(super) fn able(&mut self) -> Vec<Who> {
        let actors = self.actors.iter().enumerate();
        let mut able: Vec<Who> =
            actors.filter(|(_, it)| !it.is_empty()).map(|(n, _)| Who::Actor(n)).collect();
        for (n, lane) in self.lanes.iter_mut().enumerate() {
            let Some((lane, _)) = lane else { continue };
            let goes_on = if lane.writes.is_empty() {
                Self::has_news(&self.common, lane)
            } else {
                self.to_scribes[n] < WRITES_MAX
            };
            able.extend(goes_on.then_some(Who::Lane(n)));
        }
        for (n, scribe) in self.scribes.iter().enumerate() {
            let Some(scribe) = scribe else { continue };
            let goes_on = match scribe.holds {
                Some(_) => self.to_views < ROWS_MAX,
                None => self.to_scribes[n] > 0 || self.lanes[n].is_none(),
            };
            able.extend(goes_on.then_some(Who::Scribe(n)));
        }
        let all_written = self.scribes.iter().all(Option::is_none);
        if self.views.is_some() && (self.to_views > 0 || all_written) {
            able.push(Who::Views);
        }
        let has_lost = self.common.lost.len() > 0 || !self.reclaimer.has_nothing();
        if self.common.goes_on() && has_lost {
            able.push(Who::Reclaimer);
        }
        able
    }

    pub(super) fn step(&mut self, who: Who) {
        match who {
            Who::Actor(n) => {
                let act = self.actors[n].pop_front().expect("it has something to do");
                self.act(act);
            }
            Who::Lane(n) => self.step_lane(n),
            Who::Scribe(n) => self.step_scribe(n),
            Who::Views => {
                let (keeper, rows) = self.views.as_mut().expect("it goes on");
                match rows.try_recv() {
                    Ok(rows) => {
                        self.to_views -= 1;
                        keeper.store(&self.common, rows);
                    }
                    Err(TryRecvError::Empty) => panic!("there were rows"),
                    Err(TryRecvError::Disconnected) => self.views = None,
                }
            }
            Who::Reclaimer => {
                self.reclaimer.hear(&self.common);
                self.reclaimer.act(&self.common);
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Start(process, shard) => self.start(process, shard, None),
            Act::Named(process, shard) => {
                let name = format!("n{}", self.asked[usize::from(shard)].accepted);
                self.start(process, shard, Some(name));
            }
            Act::Flush => {
                for (shard, flushed) in (0..).map(ShardId).zip(&mut self.flushed) {
                    let to = counted(&flushed.answers);
                    let flush = Input::Ask(FlushRequest {}.into_request(), to);
                    flushed.accepted += usize::from(self.common.queue(shard).tell(flush).is_ok());
                }
            }
            Act::Stop => {
                self.common.stopping.store(true, Ordering::SeqCst);
                for way in self.common.queues() {
                    way.refuse(Error::Closed { reason: "it is shut down".to_owned() });
                    way.signal(Signal::Stop);
                }
            }
        }
    }

    fn start(&mut self, process: &str, shard: u16, name: Option<String>) {
        let definition = self.definitions.find(process).expect("it is deployed").key;
        let business_id = name.map(Into::into);
        let begin = Begin { definition, business_id, ..Begin::default() };
        let asked = &mut self.asked[usize::from(shard)];
        let ask = Input::Ask(StartRequest { begin }.into_request(), counted(&asked.answers));
        let accepted = self.common.queue(ShardId(shard)).request(ask, false);
        asked.accepted += usize::from(accepted.is_ok());
    }

    fn step_lane(&mut self, n: usize) {
        let common = &self.common;
        let (lane, writer) = self.lanes[n].as_mut().expect("it goes on");
        if let Some(write) = lane.writes.pop_front() {
            writer.to.try_send(write).expect("there is room");
            self.to_scribes[n] += 1;
        } else {
            lane.hear(common);
            lane.act(common, writer);
        }
        if !lane.writes.is_empty() {
            // It counts from when it is to be handed over.
            writer.under_way.fetch_add(1, Ordering::AcqRel);
        } else if lane.is_over(common) {
            self.lanes[n] = None;
        }
    }

    fn step_scribe(&mut self, n: usize) {
        let scribe = self.scribes[n].as_mut().expect("it goes on");
        if let Some((rows, done)) = scribe.holds.take() {
            scribe.views.try_send(rows).expect("there is room");
            self.to_views += 1;
            scribe.committer.done(done);
            return;
        }
        match scribe.committer.work.from.try_recv() {
            Ok(first) => {
                let (rows, done) = scribe.committer.commit(&self.common, first);
                self.to_scribes[n] -= done;
                match rows {
                    Some(rows) => scribe.holds = Some((rows, done)),
                    None => scribe.committer.done(done),
                }
            }
            Err(TryRecvError::Empty) => panic!("there was something to write"),
            Err(TryRecvError::Disconnected) => self.scribes[n] = None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
            && self.scribes.iter().all(Option::is_none)
            && self.views.is_none()
    }

    /// All that the log of a shard says.
    fn records(&self, shard: ShardId) -> Vec<Record> {
        let entries = Store::entries(&*self.store, shard, 0, usize::MAX).expect("it is in memory");
        entries.iter().flat_map(|it| decode_records(&it.body).expect("it is whole")).collect()
    }

    /// How many instances of a shard there are, as the log says.
    fn created(&self, shard: ShardId) -> usize {
        self.records(shard).iter().filter(|it| matches!(it, Record::Created(_))).count()
    }

    /// Each message that an instance has sent is held once, or on its way.
    fn check_messages(&self) -> Result<(), String> {
        let sends = self.definitions.find("q").expect("it is deployed").key;
        let (mut sent, mut held) = (0, 0);
        for shard in (0..).map(ShardId).take(self.asked.len()) {
            for record in self.records(shard) {
                sent +=
                    usize::from(matches!(&record, Record::Created(it) if it.definition == sends));
                held += usize::from(matches!(record, Record::Held(_)));
            }
            let inbox = Store::inbox(&*self.store, shard, &[], usize::MAX);
            for mail in inbox.expect("it is in memory") {
                let letter = decode_letter(&mail.body).expect("it is whole");
                held += usize::from(matches!(letter, Letter::Publish { .. }));
            }
        }
        if sent == held { Ok(()) } else { Err(format!("{sent} were sent, and {held} are there")) }
    }

    /// Every request was answered, and what was done is in the log, once; except that a shard that is lost at the end
    /// may owe answers.
    pub(super) fn check(&self, shape: Shape) -> Result<(), String> {
        if let Some(error) = self.common.fault.get() {
            return Err(error.to_string());
        }
        for (shard, (asked, flushed)) in
            (0..).map(ShardId).zip(self.asked.iter().zip(&self.flushed))
        {
            let lost = self.common.claims.loss(shard);
            let told = |what: &str| Err(format!("shard {shard} {what}: {asked:?}, {flushed:?}"));
            let trick = shape.trick.filter(|(_, of)| *of == shard.0).map(|(trick, _)| trick);
            if lost.is_some() && matches!(trick, None | Some(Trick::Unknown(_))) {
                return told("is lost");
            }
            let is_played = self.store.lock().is_none();
            let is_stolen = trick == Some(Trick::Stolen) && is_played;
            if lost.as_ref().is_some_and(|it| it.for_good) != is_stolen {
                return told("is lost or not for good");
            }
            if lost.is_none() && !(asked.is_answered() && flushed.is_answered()) {
                return told("has not answered");
            }
            let unknown = asked.answers.unknown.load(Ordering::Relaxed);
            if !(asked.done()..=asked.done() + unknown).contains(&self.created(shard)) {
                return told(&format!("has {} instances", self.created(shard)));
            }
        }
        self.check_messages()
    }
}
