//! The threads of an engine, step by step, in every order.
//!
//! A [`World`] has what the threads of an engine have: shards with their queues, the ways between threads,
//! a store. Nothing in it waits: who would have to is not among those who may go on. [`explore`] takes all
//! orders in which a thread that could go on is held up a few times; a thread that waits gives way as often as it
//! likes. An order in which nobody may go on before all have ended is a deadlock. No time passes, so nothing
//! may depend on a wait that runs out.

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
    codec::record::decode_records, record::Record,
};

use super::{
    Claims, Common, Input, Lane, Pace, Rows, Signal, WRITES_MAX, Writer, lane::Wait,
    rows::RowKeeper, write::Committer, writer,
};
use crate::{
    Begin, Definitions, Engine, Error, RequestOutcome, Settings,
    engine::{
        File, ManualClock, Options,
        load::Current,
        metrics, one_task,
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
enum Act {
    /// Starts an instance of the process at a shard.
    Start(&'static str, u16),
    /// The same, under an id.
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

struct World {
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
enum Trick {
    /// Somebody else takes it just before it is written.
    Stolen,
    /// It cannot be written.
    Fails,
    /// Nobody knows whether it was written. It was, or it was not.
    Unknown(bool),
    /// The same, and the shard cannot be claimed again at once.
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
enum Who {
    Actor(usize),
    Lane(usize),
    Scribe(usize),
    Views,
    Reclaimer,
}

/// How long the ways are, when rows are wanted, and what goes wrong.
#[derive(Clone, Copy, Debug)]
struct Shape {
    shards: u16,
    lanes: usize,
    batch_entries: usize,
    changed_max: usize,
    trick: Option<(Trick, u16)>,
    /// How long requests wait for a shard that is lost.
    patience: Duration,
}

impl Shape {
    /// A lane for each shard, in which nothing goes wrong.
    fn new(shards: u16, batch_entries: usize, changed_max: usize) -> Self {
        let patience = Duration::from_hours(1);
        let lanes = usize::from(shards);
        Self { shards, lanes, batch_entries, changed_max, trick: None, patience }
    }
}

impl World {
    fn new(definitions: &Arc<Definitions>, shape: Shape, actors: &[&[Act]]) -> Self {
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

    fn able(&mut self) -> Vec<Who> {
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

    fn step(&mut self, who: Who) {
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

    fn is_over(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
            && self.scribes.iter().all(Option::is_none)
            && self.views.is_none()
    }

    /// How many instances of a shard there are, as the log says.
    fn created(&self, shard: ShardId) -> usize {
        let entries = Store::entries(&*self.store, shard, 0, usize::MAX).expect("it is in memory");
        let records = entries.iter().flat_map(|it| decode_records(&it.body).expect("it is whole"));
        records.filter(|it| matches!(it, Record::Created(_))).count()
    }

    /// Every request was answered, and what was done is in the log, once; except that a shard that is lost at the end
    /// may owe answers.
    fn check(&self, shape: Shape) -> Result<(), String> {
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
        Ok(())
    }
}

/// Which way an order went wherever several could go on, and how many could.
#[derive(Default)]
struct Order {
    turns: Vec<(usize, usize)>,
    next: usize,
}

impl Order {
    fn choose(&mut self, among: usize) -> usize {
        if self.next == self.turns.len() {
            self.turns.push((0, among));
        }
        let (chosen, could) = self.turns[self.next];
        assert_eq!(could, among, "the same turns lead to the same place");
        self.next += 1;
        chosen
    }

    /// The next order, if there is one.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((chosen, among)) = self.turns.pop() {
            if chosen + 1 < among {
                self.turns.push((chosen + 1, among));
                return true;
            }
        }
        false
    }
}

/// Takes every order in which somebody who could go on is held up at most `held_up_max` times. Answers how
/// many there were.
fn explore(
    definitions: &Arc<Definitions>,
    shape: Shape,
    actors: &[&[Act]],
    held_up_max: usize,
) -> usize {
    let mut order = Order::default();
    for orders in 1.. {
        let world = World::new(definitions, shape, actors);
        run(world, shape, &mut |among| order.choose(among), held_up_max);
        if !order.advance() {
            return orders;
        }
    }
    unreachable!("an order is the last one");
}

/// Takes so many orders by chance, the same ones each time.
fn try_some(definitions: &Arc<Definitions>, shape: Shape, actors: &[&[Act]], orders: u64) {
    for seed in 1..=orders {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut choose = |among: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("it is small") % among
        };
        run(World::new(definitions, shape, actors), shape, &mut choose, usize::MAX);
    }
}

fn run(mut world: World, shape: Shape, choose: &mut dyn FnMut(usize) -> usize, held_up_max: usize) {
    let mut steps = Vec::new();
    let mut held_up = 0;
    while !world.is_over() {
        let mut able = world.able();
        assert!(!able.is_empty(), "deadlock after {steps:?}, {shape:?}");
        assert!(steps.len() < 1_000, "no end in sight after {steps:?}, {shape:?}");
        let last = steps.last().copied();
        if let Some(here) = able.iter().position(|it| Some(*it) == last) {
            able.swap(0, here);
            if held_up == held_up_max {
                able.truncate(1);
            }
        }
        let chosen = if able.len() == 1 { 0 } else { choose(able.len()) };
        held_up += usize::from(chosen > 0 && Some(able[0]) == last);
        steps.push(able[chosen]);
        world.step(able[chosen]);
    }
    if let Err(wrong) = world.check(shape) {
        panic!("{wrong} after {steps:?}, {shape:?}");
    }
}

/// Processes `p`, which waits, and `q`, which sends a message to whichever shard keeps its name.
fn definitions() -> Arc<Definitions> {
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
        targetNamespace="t"><message id="m" name="news"/><process id="q" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
        <intermediateThrowEvent id="t"><messageEventDefinition messageRef="m"/>
        </intermediateThrowEvent><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
        <endEvent id="e"/></process></definitions>"#;
    let sends = File { name: "q.bpmn".to_owned(), body: model.into() };
    let engine = Engine::in_memory(Options::default()).expect("an engine");
    engine.deploy(&[one_task(), sends]).expect("they are deployed");
    engine.definitions()
}

#[test]
fn no_order_of_deciding_writing_and_storing_rows_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let starts: &[Act] = &[Start("p", 0), Start("p", 0), Start("p", 0)];
    let mut orders = 0;
    for (batch_entries, changed_max) in [(1, 1), (2, 2), (4_096, 1)] {
        let shape = Shape::new(1, batch_entries, changed_max);
        orders += explore(&definitions, shape, &[starts, &[Flush, Stop]], 1);
    }
    assert!(orders > 1_000, "only {orders} orders");
}

#[test]
fn no_order_of_two_shards_in_one_lane_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let shape = Shape { lanes: 1, ..Shape::new(2, 1, 1) };
    let orders =
        explore(&definitions, shape, &[&[Start("p", 0), Start("q", 1)], &[Flush, Stop]], 1);
    assert!(orders > 300, "only {orders} orders");
}

#[test]
fn no_order_by_chance_of_many_requests_to_two_shards_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Start("q", 1), Start("p", 0), Start("q", 0)];
    let other: &[Act] = &[Start("p", 1), Start("q", 1), Flush, Start("p", 1), Start("q", 0), Stop];
    for (batch_entries, changed_max) in [(1, 1), (1, 2), (2, 3), (4_096, 1), (4_096, 4)] {
        for lanes in [1, 2] {
            let shape = Shape { lanes, ..Shape::new(2, batch_entries, changed_max) };
            try_some(&definitions, shape, &[one, other], 300);
        }
    }
}

#[test]
fn a_shard_that_is_lost_holds_up_no_other_one_and_comes_again_unless_somebody_has_it() {
    use Act::{Flush, Named, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Named("q", 1), Start("p", 0)];
    let other: &[Act] =
        &[Named("p", 1), Flush, Start("p", 1), Start("q", 0), Named("p", 1), Flush, Stop];
    let of = |written: bool| [Trick::Unknown(written), Trick::Doubted(written)];
    let tricks = [Trick::Stolen, Trick::Fails, Trick::Panics];
    for trick in tricks.into_iter().chain(of(true)).chain(of(false)) {
        for (batch_entries, changed_max) in [(1, 1), (2, 3), (4_096, 4)] {
            for (lanes, patience) in [(1, 1), (2, 1), (1, 0), (2, 0)] {
                let shape = Shape {
                    lanes,
                    trick: Some((trick, 1)),
                    patience: Duration::from_hours(patience),
                    ..Shape::new(2, batch_entries, changed_max)
                };
                try_some(&definitions, shape, &[one, other], 40);
            }
        }
    }
}
