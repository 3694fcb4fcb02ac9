//! The threads of an engine, step by step, in every order.
//!
//! A [`World`] has what the threads of an engine have: shards with their queues, the ways between threads,
//! a store. Nothing in it waits: who would have to is not among those who may go on. [`explore`] takes all
//! orders in which a thread that could go on is held up a few times; a thread that waits gives way as often as it
//! likes. An order in which nobody may go on before all have ended is a deadlock. No time passes, so nothing
//! may depend on a wait that runs out.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

use travertine_func::{Functions, Retry};
use travertine_store::{Append, Error as StoreError, Layer, MemoryStore, ShardId, Store};

use super::{
    Claims, Common, Decider, Input, Pace, Rows, Signal, WRITES_MAX, Wait, Write, Writer, Writes,
    commit,
    write::{Committer, RowKeeper},
    writer,
};
use crate::{
    Begin, Definitions, Engine, Error, Settings,
    engine::{
        File, ManualClock, Options, metrics, one_task,
        queue::Queue,
        recovery::{Read, Recovery, take_all},
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
    Flush,
    Stop,
}

/// Counts what is answered.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Relay for Counted {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        // What is asked of a shard that is lost may be answered so.
        self.0.fetch_add(usize::from(reply.is_ok()), Ordering::Relaxed);
    }
}

fn counted(count: &Arc<AtomicUsize>) -> ReplyTo {
    ReplyTo::Relay(Box::new(Counted(Arc::clone(count))))
}

/// A thread that decides, and where it is.
struct Lane {
    decider: Decider,
    writer: Writer,
    doing: Doing,
}

enum Doing {
    Hear,
    /// Hands a batch over; rows come then.
    Batch(Write),
    Rows(Write),
}

/// A thread that writes, and what it holds in its hands.
struct Scribe {
    shard: ShardId,
    work: Writes,
    views: SyncSender<Rows>,
    holds: Option<(Rows, usize)>,
}

struct World {
    common: Common,
    definitions: Arc<Definitions>,
    actors: Vec<VecDeque<Act>>,
    lanes: Vec<Option<Lane>>,
    scribes: Vec<Option<Scribe>>,
    /// How much is on its way to each scribe, and to the views.
    to_scribes: Vec<usize>,
    to_views: usize,
    views: Option<(RowKeeper, Receiver<Rows>)>,
    stolen: Option<u16>,
    /// Of each shard, how much was accepted and is answered.
    asked: Vec<Asked>,
    flushed: Vec<Asked>,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    accepted: usize,
    answered: Arc<AtomicUsize>,
}

impl Asked {
    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed) == self.accepted
    }
}

/// A store in which somebody else takes a shard just before it is written.
#[derive(Debug)]
struct Thief {
    inner: MemoryStore,
    wants: Option<ShardId>,
}

impl Layer for Thief {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), StoreError>> {
        for it in appends.iter().filter(|it| Some(it.claim.shard) == self.wants) {
            self.inner.take(it.claim.shard, "a thief").expect("it is in memory");
        }
        self.inner.append_all(appends)
    }
}

/// Who may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Actor(usize),
    Lane(usize),
    Scribe(usize),
    Views,
}

/// How long the ways are, and when rows are wanted.
#[derive(Clone, Copy, Debug)]
struct Shape {
    shards: u16,
    batch_entries: usize,
    changed_max: usize,
    /// The shard that is lost when it is written.
    stolen: Option<u16>,
}

impl World {
    fn new(definitions: &Arc<Definitions>, shape: Shape, actors: &[&[Act]]) -> Self {
        let wants = shape.stolen.map(ShardId);
        let store =
            Arc::new(Thief { inner: MemoryStore::new(shape.shards), wants }) as Arc<dyn Store>;
        let settings = Settings { batch_entries: shape.batch_entries, ..Settings::default() };
        let options =
            Options { settings, clock: Arc::new(ManualClock::default()), ..Options::default() };
        let functions = Arc::new(Functions::new());
        let claims = &*take_all(&*store).unwrap();
        let recovery = Recovery { store: &store, claims, definitions, functions: &functions };
        let Read { shards, board, .. } = recovery.read(&options).expect("an empty store is read");
        let common = Common {
            store: Arc::clone(&store),
            board,
            clock: Arc::clone(&options.clock),
            written: tokio::sync::Notify::new(),
            counters: metrics::Counters::default(),
            queues: shards.iter().map(|_| Queue::new(4)).collect(),
            claims: Claims::of(&shards),
            next: AtomicU64::new(0),
            naps: Queue::new(usize::MAX),
            pace: Pace {
                changed: 1,
                interval: Duration::from_hours(1),
                changed_max: shape.changed_max,
            },
            storage_retry: Retry::default(),
            waits_for_room: false,
            fault: OnceLock::new(),
            views_fault: OnceLock::new(),
            stopping: Arc::default(),
        };
        let (views, rows) = sync_channel(ROWS_MAX);
        let upto = shards.iter().map(crate::Shard::seq).collect();
        let (mut lanes, mut scribes) = (Vec::new(), Vec::new());
        for shard in shards {
            let id = shard.id();
            let (to, work) = writer();
            // Everything is handed over, as if batches were large.
            to.last.set(usize::MAX);
            lanes.push(Some(Lane { decider: Decider::new(shard), writer: to, doing: Doing::Hear }));
            scribes.push(Some(Scribe { shard: id, work, views: views.clone(), holds: None }));
        }
        Self {
            common,
            definitions: Arc::clone(definitions),
            actors: actors.iter().map(|it| it.iter().copied().collect()).collect(),
            to_scribes: vec![0; lanes.len()],
            to_views: 0,
            lanes,
            scribes,
            views: Some((RowKeeper { upto }, rows)),
            stolen: shape.stolen,
            asked: (0..shape.shards).map(|_| Asked::default()).collect(),
            flushed: (0..shape.shards).map(|_| Asked::default()).collect(),
        }
    }

    fn able(&self) -> Vec<Who> {
        let actors = self.actors.iter().enumerate();
        let mut able: Vec<Who> =
            actors.filter(|(_, it)| !it.is_empty()).map(|(n, _)| Who::Actor(n)).collect();
        for (n, lane) in self.lanes.iter().enumerate() {
            let Some(lane) = lane else { continue };
            let queue = &self.common.queues[n];
            let goes_on = match lane.doing {
                Doing::Hear => match lane.decider.wait(&self.common) {
                    Wait::Signals => queue.has_signals(),
                    Wait::News(Some(Duration::ZERO)) => true,
                    Wait::News(_) => {
                        queue.has_signals() || queue.len() > 0 || !lane.decider.inputs.is_empty()
                    }
                },
                Doing::Batch(_) | Doing::Rows(_) => {
                    self.to_scribes[n] < WRITES_MAX || self.scribes[n].is_none()
                }
            };
            let lost = self.common.claims.is_lost(lane.decider.shard.id());
            able.extend((goes_on || lost).then_some(Who::Lane(n)));
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
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Start(process, shard) => {
                let definition = self.definitions.find(process).expect("it is deployed").key;
                let begin = Begin { definition, ..Begin::default() };
                let asked = &mut self.asked[usize::from(shard)];
                let to = counted(&asked.answered);
                let ask = Input::Ask(StartRequest { begin }.into_request(), to);
                let queue = &self.common.queues[usize::from(shard)];
                asked.accepted += usize::from(queue.request(ask, false).is_ok());
            }
            Act::Flush => {
                for (queue, flushed) in self.common.queues.iter().zip(&mut self.flushed) {
                    flushed.accepted += 1;
                    let to = counted(&flushed.answered);
                    queue.tell(Input::Ask(FlushRequest {}.into_request(), to));
                }
            }
            Act::Stop => {
                for queue in &self.common.queues {
                    queue.refuse("it is shut down");
                    queue.signal(Signal::Stop);
                }
            }
        }
    }

    fn step_lane(&mut self, n: usize) {
        let common = &self.common;
        let lane = self.lanes[n].as_mut().expect("it goes on");
        if common.claims.is_lost(lane.decider.shard.id()) {
            self.lanes[n] = None;
            return;
        }
        match std::mem::replace(&mut lane.doing, Doing::Hear) {
            Doing::Hear => {
                if !lane.decider.hear(common) {
                    return;
                }
                match lane.decider.act(common, &lane.writer).expect("nothing fails") {
                    Some(sealed) if !lane.writer.takes_few(common, &sealed) => {
                        lane.writer.under_way.fetch_add(1, Ordering::AcqRel);
                        lane.doing = Doing::Batch(Write::Batch(sealed));
                        return;
                    }
                    Some(sealed) => {
                        let shard = lane.decider.shard.id();
                        assert!(commit(common, shard, vec![sealed]), "nothing fails");
                    }
                    None => {}
                }
            }
            Doing::Batch(write) => {
                lane.writer.to.try_send(write).expect("there is room");
                self.to_scribes[n] += 1;
            }
            Doing::Rows(write) => {
                lane.writer.to.try_send(write).expect("there is room");
                self.to_scribes[n] += 1;
                if lane.decider.is_over(common) {
                    self.lanes[n] = None;
                }
                return;
            }
        }
        if let Some(rows) = lane.decider.rows(common) {
            lane.writer.under_way.fetch_add(1, Ordering::AcqRel);
            lane.doing = Doing::Rows(rows);
        } else if lane.decider.is_over(common) {
            self.lanes[n] = None;
        }
    }

    fn step_scribe(&mut self, n: usize) {
        let scribe = self.scribes[n].as_mut().expect("it goes on");
        let committer = Committer { shard: scribe.shard, work: &scribe.work };
        if let Some((rows, done)) = scribe.holds.take() {
            scribe.views.try_send(rows).expect("there is room");
            self.to_views += 1;
            committer.done(done);
            return;
        }
        match scribe.work.from.try_recv() {
            Ok(first) => {
                let Some((rows, done)) = committer.commit(&self.common, first) else {
                    self.scribes[n] = None;
                    return;
                };
                self.to_scribes[n] -= done;
                match rows {
                    Some(rows) => scribe.holds = Some((rows, done)),
                    None => committer.done(done),
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
fn explore(mut world: impl FnMut() -> World, held_up_max: usize) -> usize {
    let mut order = Order::default();
    for orders in 1.. {
        run(world(), &mut |among| order.choose(among), held_up_max);
        if !order.advance() {
            return orders;
        }
    }
    unreachable!("an order is the last one");
}

/// Takes so many orders by chance, the same ones each time.
fn try_some(mut world: impl FnMut() -> World, orders: u64) {
    for seed in 1..=orders {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut choose = |among: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("it is small") % among
        };
        run(world(), &mut choose, usize::MAX);
    }
}

fn run(mut world: World, choose: &mut dyn FnMut(usize) -> usize, held_up_max: usize) {
    let mut steps = Vec::new();
    let mut held_up = 0;
    while !world.is_over() {
        let mut able = world.able();
        assert!(!able.is_empty(), "deadlock after {steps:?}");
        assert!(steps.len() < 1_000, "no end in sight after {steps:?}");
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
    assert_eq!(world.common.fault.get(), None, "after {steps:?}");
    for (shard, (asked, flushed)) in (0..).zip(world.asked.iter().zip(&world.flushed)) {
        let lost = world.common.claims.is_lost(ShardId(shard));
        assert_eq!(lost, world.stolen == Some(shard), "shard {shard} after {steps:?}");
        let whole = asked.is_answered() && flushed.is_answered();
        assert!(whole || lost, "shard {shard}: {asked:?}, {flushed:?} after {steps:?}");
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
        let shape = Shape { shards: 1, batch_entries, changed_max, stolen: None };
        let world = || World::new(&definitions, shape, &[starts, &[Flush, Stop]]);
        orders += explore(world, 1);
    }
    assert!(orders > 1_000, "only {orders} orders");
}

#[test]
fn no_order_by_chance_of_many_requests_to_two_shards_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Start("q", 1), Start("p", 0), Start("q", 0)];
    let other: &[Act] = &[Start("p", 1), Start("q", 1), Flush, Start("p", 1), Start("q", 0), Stop];
    for (batch_entries, changed_max) in [(1, 1), (1, 2), (2, 3), (4_096, 1), (4_096, 4)] {
        let shape = Shape { shards: 2, batch_entries, changed_max, stolen: None };
        try_some(|| World::new(&definitions, shape, &[one, other]), 500);
    }
}

#[test]
fn a_shard_that_is_lost_holds_up_no_other_one() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Start("q", 1), Start("p", 0)];
    let other: &[Act] = &[Start("p", 1), Flush, Start("p", 1), Start("q", 0), Stop];
    for (batch_entries, changed_max) in [(1, 1), (2, 3), (4_096, 4)] {
        let shape = Shape { shards: 2, batch_entries, changed_max, stolen: Some(1) };
        try_some(|| World::new(&definitions, shape, &[one, other]), 300);
    }
}

#[test]
fn a_shard_that_fails_outside_of_any_instance_is_lost_and_the_others_go_on() {
    let shape = Shape { shards: 2, batch_entries: 4, changed_max: 100, stolen: None };
    let world = World::new(&Arc::new(Definitions::default()), shape, &[]);
    let common = &world.common;
    let quiet = std::panic::resume_unwind;
    super::or_lost(common, ShardId(1), || quiet(Box::new("no way out")));
    assert!(common.claims.is_lost(ShardId(1)) && !common.claims.is_lost(ShardId(0)));
    assert!(common.goes_on());
    let why = common.why_silent().map(|it| it.to_string());
    assert!(why.as_deref().is_some_and(|it| it.contains("no way out")), "{why:?}");
    super::or_lost(common, ShardId(0), || quiet(Box::new("none is left")));
    assert!(!common.goes_on());
}
