//! A slice of the instances, with one writer: the engine without threads.
//!
//! A [`Shard`] is asked for something, carries it through as far as it can by itself, and gathers
//! what there is to write. [`Shard::seal`] hands that over as a batch, with what may be let out once
//! the batch is durable: replies, offers of jobs, mails to other shards. So whoever drives it decides
//! when to write and on which thread; the order of things never depends on that.
//!
//! What an instance asks of another, or of the world, is a [`Letter`]. Letters to the shard itself
//! are seen to at once, in the same batch. Letters to other shards go out as mails, and the store
//! keeps them until the receiver has written what came of them.

mod alarm;
mod apart;
mod attempt;
mod call;
mod checkpoint;
mod closing;
mod function;
mod inventory;
mod job;
mod live;
mod load;
mod message;
mod operate;
mod recover;
mod start;
mod turn;
mod verify;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use tokio::sync::oneshot;
use travertine_kernel::{Assignments, Budgets, Command};
use travertine_store::{
    Batch, Claim, Entry, Mail, MailId, Seq, ShardId, Store,
    codec::record::{
        Letter, Record, StartKey, StartTimer, decode_letter, encode_letter, encode_records,
    },
};
use travertine_value::{Name, time::Timestamp};

pub use attempt::Given;
pub(crate) use attempt::Outcome;
pub use checkpoint::Checkpoint;
pub use function::{FunctionSettings, RunStatus};
pub(crate) use function::{Unblocked, configure, print};
pub use job::{Activated, Lease};
pub(crate) use live::unfolded;
pub use live::{Live, Trouble};
pub(crate) use message::{Candidate, Looked, Publishing};
pub use recover::{Opening, Recovered};
pub use start::{At, Begin};
pub use travertine_store::codec::record::{Edit, TaskChange};
pub(crate) use turn::panic_text;
pub use verify::{Difference, Verified};

use crate::{
    Definitions, Error, InstanceId,
    board::{Board, Handing, Offer},
    message::{Held, MessageKey, Waiting},
    wakes,
};
use alarm::Alarms;
use apart::Apart;
use attempt::Attempt;
use closing::Closing;
use travertine_func::Functions;

/// How a shard behaves.
///
/// ```
/// # use travertine_runtime::{Engine, Error, Settings};
/// # use travertine_runtime::engine::Options;
/// let settings = Settings { call_depth_max: 16, ..Settings::default() };
/// let engine = Engine::in_memory(Options { settings, ..Options::default() })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many instances it keeps in memory, besides those that have changed lately.
    pub instances_max: usize,
    /// How many entries make a batch full.
    pub batch_entries: usize,
    /// How many bytes make a batch full.
    pub batch_bytes: usize,
    /// How many callers an instance may have, one around the other.
    pub call_depth_max: u32,
    /// How many instances may be open under one that nobody has called, besides those that it has called
    /// itself, for each shard.
    pub descendants_max: u32,
    /// How many instances may start one another by messages and signals, each within a second.
    pub generations_max: u32,
    /// How many timers in a row may ring for an instance that were due when they were set.
    pub instant_timers_max: u32,
    /// How long a message is recognised when it is sent again, in milliseconds, if it is not held
    /// longer.
    pub known_for: i64,
    /// How many messages of a name are held before those that nobody waits for are refused. What
    /// instances send is always held.
    pub pending_max: usize,
    /// How long a message for one receiver that nobody has taken before it expired is kept as a dead
    /// letter, in milliseconds; 0 for not at all.
    pub dead_for: i64,
    /// How many turns in a row an instance may take without coming to rest.
    pub turns_max: u32,
    /// How many bytes of entries an instance gathers before it gets a snapshot.
    pub snapshot_bytes: usize,
    /// Whether instances stay in memory after their end until their rows are stored, where people look
    /// for them.
    pub keeps_ended: bool,
    /// How much an instance may have, and what one turn may write.
    pub budgets: Budgets,
    /// How functions behave.
    pub functions: FunctionSettings,
    /// Whether nothing goes on by itself: no timer rings, nothing that is on its way arrives, no function
    /// thinks, and no activity begins. For those who only look. What someone asks for all the same is
    /// written, and what follows from it happens when the store is opened otherwise.
    pub at_rest: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instances_max: 50_000,
            batch_entries: 4_096,
            batch_bytes: 4 << 20,
            call_depth_max: 256,
            descendants_max: 100_000,
            generations_max: 1_000,
            instant_timers_max: 100_000,
            known_for: 3_600_000,
            pending_max: 10_000,
            dead_for: 7 * 24 * 3_600_000,
            turns_max: 1_000,
            snapshot_bytes: 16 << 10,
            keeps_ended: false,
            budgets: Budgets::default(),
            functions: FunctionSettings::default(),
            at_rest: false,
        }
    }
}

/// How many events instances that used up their turn may cause before whoever asks is heard.
const EVENTS_AT_ONCE: u64 = 50_000;

/// After so many turns in a row an instance does not come to rest.
const RESTLESS: u32 = 5;

/// What a shard does without anyone asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drive {
    /// Nothing.
    Rests,
    /// What follows from what someone has asked: nothing that was due, or left to do, when it was opened.
    Follows,
    /// All there is to do.
    Goes,
}

/// How names that nobody outside chooses are found.
type Hashed = foldhash::fast::FixedState;

/// A slice of the instances, with one writer.
pub struct Shard {
    claim: Claim,
    shards: u16,
    store: Arc<dyn Store>,
    definitions: Arc<Definitions>,
    /// What will be deployed in a moment: other shards may ask for it already.
    coming: Option<Arc<Definitions>>,
    board: Arc<Board>,
    /// The functions that this process has.
    functions: Arc<Functions>,
    settings: Settings,
    budgets: Arc<Budgets>,
    drive: Drive,
    now: Timestamp,
    /// Instances in memory.
    lives: HashMap<u64, Box<Live>, Hashed>,
    /// The same, in the order in which they are considered for being forgotten.
    order: VecDeque<u64>,
    /// Those that have changed since rows were written.
    dirty: Vec<u64>,
    /// Processes that people call so and whose rows are not stored yet, by definition and name.
    named: HashMap<(Name, Name), u64>,
    /// Functions that people call so and whose rows are not stored yet: their names are shared by all
    /// definitions, and one may go on as another.
    runs: HashMap<Name, u64>,
    /// Instances that were called and whose rows are not stored yet, by the call.
    called: HashMap<(u64, u64), u64, Hashed>,
    alarms: Alarms,
    waiting: Waiting,
    held: Held,
    /// Messages that are recognised when they come again.
    known: BTreeMap<MessageKey, u64>,
    /// The same by number, with until when.
    known_until: BTreeMap<u64, (MessageKey, i64)>,
    /// Those of them that have no row yet.
    fresh_known: BTreeSet<u64>,
    /// Triggers of start events that wait for others: what each brought, oldest first.
    noted: BTreeMap<StartKey, VecDeque<Assignments>>,
    timers: BTreeMap<StartKey, StartTimer>,
    /// Those of them whose row is not up to date.
    changed_timers: BTreeSet<StartKey>,
    /// What is to be done for this shard's own instances, and the mails that say so, where the store
    /// has any.
    /// The last number says how many instances have started one another up to what the letter starts.
    letters: VecDeque<(Letter, Option<MailId>, u32)>,
    /// Instances that used up their turn.
    unfinished: VecDeque<u64>,
    /// How many of them had when it was opened; they are the first.
    left: usize,
    /// What is in the store and cannot be read, besides instances.
    damaged: Vec<String>,
    /// Attempts that workers of this process are making, by instance and wait.
    attempts: HashMap<(u64, u64), Attempt, Hashed>,
    /// What such attempts have told of themselves last.
    details: HashMap<(u64, u64), travertine_value::Value, Hashed>,
    /// What code has answered to an update last.
    answer: Option<Result<travertine_value::Value, travertine_func::Failure>>,
    /// How often code has thought.
    thoughts: u64,
    /// What a function calls the result of an activity.
    result: Name,
    /// How many events there have been since this was set to 0.
    events: u64,
    /// Those who wait for an instance to end.
    watchers: HashMap<u64, Vec<Watcher>, Hashed>,
    /// How many calls of what others have called are open, by the outermost caller.
    descendants: HashMap<u64, u32, Hashed>,
    /// How many instances have started one another up to what is seen to now.
    chain: u32,
    /// The second for which chained starts are counted, and how many there were of each definition.
    chained: (i64, BTreeMap<u64, u32>),
    /// Whether the timer that rings was due when it was set.
    hurries: bool,
    /// How many more of them may come before those are forgotten who do not wait any more.
    watchers_left: usize,
    /// Held messages and subscriptions that have no row yet.
    fresh_messages: BTreeSet<u64>,
    fresh_subscriptions: BTreeSet<(u64, u64)>,
    /// New instances that `named`, `runs` or `called` knows, oldest first: the entry that made them.
    fresh: VecDeque<(Seq, u64)>,
    /// Instances that have just ended.
    ending: Vec<u64>,
    /// Those of them of which not more is kept than what is left.
    closing: Closing,
    /// Other ended instances whose last row is not stored yet, oldest first: their last entry.
    ended: VecDeque<(Seq, u64)>,
    /// Why it cannot go on.
    fault: Option<Error>,
    /// Changes of rows that belong to no instance.
    rows: Vec<travertine_store::view::Change>,
    /// Entries of the log that go once these rows are stored.
    folds: Vec<travertine_store::Fold>,
    seq: Seq,
    /// The entry up to which rows are stored.
    stored: Seq,
    /// The entry up to which rows were handed over.
    checkpointed: Seq,
    counts: Counts,
    ticks: u64,
    pending: Pending,
    /// Where entries are put into bytes.
    scratch: Vec<u8>,
    /// Where the events of turns go.
    rooms: Vec<Vec<travertine_kernel::Event>>,
    hook: Option<Hook>,
}

/// How many of its things a shard has named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    instances: u64,
    messages: u64,
    mails: u64,
}

/// Who waits for an instance to end, and may not wait any more.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) sender: oneshot::Sender<Result<Ended, Error>>,
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

/// What is to be written next.
#[derive(Default)]
struct Pending {
    entries: Vec<Entry>,
    bytes: usize,
    sent: Vec<Mail>,
    taken: Vec<MailId>,
    releases: Releases,
}

/// Something that may be let out once what came before it is durable.
pub enum Release {
    /// An answer.
    Reply(Box<dyn FnOnce() + Send>),
    /// A job that a worker may have.
    Offer(Offer),
    /// A job that no worker may have any more.
    Withdraw(Offer),
}

impl Release {
    /// Lets it out.
    fn let_out(self, board: &Board) {
        match self {
            Self::Reply(reply) => reply(),
            Self::Offer(offer) => board.offer(&offer),
            Self::Withdraw(offer) => board.withdraw(&offer),
        }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(_) => f.write_str("Reply"),
            Self::Offer(offer) => f.debug_tuple("Offer").field(offer).finish(),
            Self::Withdraw(offer) => f.debug_tuple("Withdraw").field(offer).finish(),
        }
    }
}

/// What may be let out once what came before it is durable.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    all: Vec<Release>,
    /// Jobs for workers of this process who wait for them.
    handing: Handing,
}

impl Releases {
    /// Lets all of it out.
    fn let_out(self, board: &Board) {
        wakes::together(|| {
            self.handing.put();
            self.all.into_iter().for_each(|it| it.let_out(board));
        });
    }
}

/// What is to be written, and what may be let out after that.
#[derive(Debug)]
pub struct Sealed {
    /// What is to be written.
    pub batch: Batch,
    /// What may be let out once it is.
    pub(crate) releases: Releases,
}

impl Sealed {
    /// Lets out what waited for the batch, and gives the mails it has sent to other shards.
    pub fn release(mut self, board: &Board) -> Vec<Mail> {
        let mails = self.take_mails();
        self.releases.let_out(board);
        mails
    }

    /// The mails that it has sent to other shards, once.
    pub(crate) fn take_mails(&mut self) -> Vec<Mail> {
        let mut sent = std::mem::take(&mut self.batch.sent);
        sent.retain(|it| it.to != self.batch.claim.shard);
        sent
    }
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

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("claim", &self.claim)
            .field("instances", &self.lives.len())
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

impl Shard {
    /// Which one it is.
    pub fn id(&self) -> ShardId {
        self.claim.shard
    }

    /// The right by which it writes.
    pub fn claim(&self) -> Claim {
        self.claim
    }

    /// The time it knows.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// What is deployed, as far as it knows.
    pub fn definitions(&self) -> &Arc<Definitions> {
        &self.definitions
    }

    /// Why it cannot go on: what it must know it could not read. Nothing more must be written then;
    /// the shard is to be claimed and read again.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// The last entry it has written, or is about to.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The time has come to `now`. It never goes backwards.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// Has `look` called after each accepted command.
    pub fn observe(&mut self, look: impl FnMut(Seen<'_>) + Send + 'static) {
        self.hook = Some(Box::new(look));
    }

    pub(crate) fn take_hook(&mut self) -> Option<Hook> {
        self.hook.take()
    }

    pub(crate) fn set_hook(&mut self, hook: Option<Hook>) {
        self.hook = hook;
    }

    /// Where jobs are put up.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Does `act`, then all that follows from it here. `reply` is called once that is durable.
    pub fn ask<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, Error>,
        reply: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        let answer = act(self);
        self.settle();
        self.release(Release::Reply(Box::new(move || reply(answer))));
    }

    /// Does `act`, then all that follows from it here. Nobody waits for it.
    pub fn hear(&mut self, act: impl FnOnce(&mut Self)) {
        act(self);
        self.settle();
    }

    /// A mail has come.
    pub fn receive(&mut self, mail: &Mail) {
        self.open_mail(mail);
        self.settle();
    }

    /// Puts what a mail says to what is to be done. One that cannot be read is not taken, so the store
    /// keeps it.
    fn open_mail(&mut self, mail: &Mail) {
        match decode_letter(&mail.body) {
            Ok(letter) => self.letters.push_back((letter, Some(mail.id), 0)),
            Err(error) => {
                let MailId { from, number } = mail.id;
                self.pass_over(&format!("mail {number} from shard {from} in the inbox"), &error);
            }
        }
    }

    /// Something of the shard itself cannot be read. The rest goes on without it.
    fn pass_over(&mut self, what: &str, error: &dyn fmt::Display) {
        let damaged = format!("{what} of shard {} is damaged: {error}", self.id());
        tracing::error!(damaged, "it stays in the store and is passed over");
        self.damaged.push(damaged);
    }

    /// Does what is due, and goes on with instances that used up their turn, as far as the batch
    /// has room. Says whether there is more to do at once.
    pub fn work(&mut self) -> bool {
        if self.drive == Drive::Rests {
            return false;
        }
        self.settle();
        while !self.is_full() && self.ring_next() {
            self.settle();
        }
        let before = self.events;
        for _ in self.first_unfinished()..self.unfinished.len() {
            // Whoever asks waits for some of them at most. They take turns.
            if self.is_full() || self.events - before > EVENTS_AT_ONCE {
                break;
            }
            self.go_on();
            self.settle();
        }
        self.is_busy()
    }

    /// The instances that do not come to rest, where they are all there is to do.
    pub(crate) fn only_restless(&self) -> Option<Vec<InstanceId>> {
        let is_due = self.alarms.next().is_some_and(|it| it <= self.now);
        if !self.letters.is_empty() || is_due || self.drive == Drive::Rests {
            return None;
        }
        let left = self.unfinished.iter().skip(self.first_unfinished());
        let restless = |id: &u64| {
            let live = self.lives.get(id)?;
            (live.turns >= RESTLESS).then_some(live.id)
        };
        left.map(restless).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())
    }

    /// Lets what was asked of a shard at rest take its course. What was due or left to do when it was opened
    /// stays as it is.
    pub(crate) fn follow(&mut self) {
        if self.drive == Drive::Rests {
            self.drive = Drive::Follows;
        }
        self.settle();
    }

    /// Where those begin, among the instances that used up their turn, that may go on.
    fn first_unfinished(&self) -> usize {
        match self.drive {
            Drive::Rests => self.unfinished.len(),
            Drive::Follows => self.left.min(self.unfinished.len()),
            Drive::Goes => 0,
        }
    }

    /// Whether there is something to do without anyone asking.
    pub fn is_busy(&self) -> bool {
        let has_work = self.first_unfinished() < self.unfinished.len()
            || !self.letters.is_empty()
            || self.alarms.next().is_some_and(|it| it <= self.now);
        has_work && self.drive != Drive::Rests
    }

    /// How many events there have been since someone asked.
    pub fn take_events(&mut self) -> u64 {
        std::mem::take(&mut self.events)
    }

    /// When there is something to do, if nobody asks.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.alarms.next().filter(|_| self.drive != Drive::Rests)
    }

    /// How many entries are to be written.
    pub fn unwritten(&self) -> usize {
        self.pending.entries.len()
    }

    /// Whether a batch should be sealed before anything else is asked.
    pub fn is_full(&self) -> bool {
        self.pending.entries.len() >= self.settings.batch_entries
            || self.pending.bytes >= self.settings.batch_bytes
    }

    /// Hands over what is to be written. What could not be seen to in this batch is sent to the shard
    /// itself, so that a crash loses nothing of it. It stays in its place here: what was asked later
    /// must not overtake it.
    pub fn seal(&mut self) -> Option<Sealed> {
        let mut letters = std::mem::take(&mut self.letters);
        let id = self.id();
        for (letter, mail, _) in &mut letters {
            if mail.is_none() {
                *mail = self.mail(id, letter);
            }
        }
        self.letters = letters;
        let Pending { entries, sent, taken, releases, .. } = std::mem::take(&mut self.pending);
        let writes = !(entries.is_empty() && sent.is_empty() && taken.is_empty());
        if !writes && releases.all.is_empty() && releases.handing.is_empty() {
            return None;
        }
        // The next batch will be about as large.
        self.pending.entries.reserve(entries.len());
        self.pending.releases.all.reserve(releases.all.len());
        let batch = Batch { claim: self.claim, entries, sent, taken };
        Some(Sealed { batch, releases })
    }

    fn settle(&mut self) {
        while !self.is_full() && self.drive != Drive::Rests {
            let Some((letter, mail, generation)) = self.letters.pop_front() else { break };
            self.chain = generation;
            self.pending.taken.extend(mail);
            self.carry_out(letter);
            self.chain = 0;
        }
        self.close_ended();
    }

    /// Tells someone how an instance ended, once that is durable.
    fn tell_watcher(&mut self, watcher: Watcher, ended: Result<Ended, Error>) {
        self.release(Release::Reply(Box::new(move || {
            // Whoever asked may not wait any more.
            let _: Result<(), Result<Ended, Error>> = watcher.sender.send(ended);
        })));
    }

    fn release(&mut self, release: Release) {
        self.pending.releases.all.push(release);
    }

    /// Sends a letter to whom it concerns.
    fn send(&mut self, to: ShardId, letter: Letter) {
        if to == self.id() {
            self.letters.push_back((letter, None, 0));
        } else {
            self.mail(to, &letter);
        }
    }

    fn mail(&mut self, to: ShardId, letter: &Letter) -> Option<MailId> {
        self.counts.mails += 1;
        let mut body = Vec::new();
        if let Err(error) = encode_letter(letter, &mut body) {
            // The kernel keeps values within what can be stored; what it was given came from there.
            tracing::error!(%error, "a letter cannot be stored and is lost");
            return None;
        }
        self.pending.bytes += body.len();
        let id = MailId { from: self.id(), number: self.counts.mails };
        self.pending.sent.push(Mail { id, to, body });
        Some(id)
    }

    /// The shard of an instance.
    fn shard_of(&self, instance: u64) -> ShardId {
        ShardId::of(instance, self.shards)
    }

    /// The shard that finds receivers for messages and signals of a name.
    pub fn keeper(&self, name: &str) -> ShardId {
        keeper(name, self.shards)
    }

    /// Writes what has become true of the shard itself.
    fn write(&mut self, records: &[Record]) {
        let mut body = Vec::new();
        if let Err(error) = encode_records(records, &mut body) {
            tracing::error!(%error, "a record cannot be stored and is lost");
            return;
        }
        self.push_entry(0, 0, body);
    }

    fn push_entry(&mut self, instance: u64, previous: Seq, body: Vec<u8>) -> Seq {
        self.seq += 1;
        self.pending.bytes += body.len();
        let at = self.now.as_millis();
        self.pending.entries.push(Entry { seq: self.seq, instance, previous, at, body });
        self.seq
    }

    fn carry_out(&mut self, letter: Letter) {
        match letter {
            Letter::Call(call) => self.called_by(call),
            Letter::Ended { to, child, ending, variables } => {
                self.child_ended(to, child, ending, variables);
            }
            Letter::NotCalled { to, reason } => self.not_called(to, reason),
            Letter::Uncall { from } => self.uncalled(from),
            Letter::Escalated { to, code, variables, confirm } => {
                self.escalated(to, code, variables, confirm);
            }
            Letter::Delivered { instance, post } => self.delivered(instance, post),
            Letter::Subscribe(subscription) => self.subscribe_remote(subscription),
            Letter::Unsubscribe { instance, wait } => self.unsubscribe_remote((instance, wait)),
            Letter::Publish { message, again: true, published, expires } => {
                self.give(message, published, expires, true, &Looked::default());
            }
            Letter::Publish { message, again: false, .. } => {
                self.route(message, &Looked::default());
            }
            letter @ Letter::Deliver { .. } => self.deliver(letter),
            Letter::Broadcast { name, variables, from } => {
                self.broadcast(&name, &variables, from);
            }
            Letter::Signal { to, variables } => self.signalled(to, variables),
            Letter::Ring { to } => self.rung(to),
            Letter::Cancel { instance } => self.cancelled(instance),
            Letter::Start { definition, id, variables } => {
                self.start_apart(Apart { definition, at: None, id: Some(id), variables });
            }
            Letter::Trigger { start, variables } => {
                self.trigger_start_or_log(start, variables);
            }
            Letter::Bury { message, published, expires, reason } => {
                self.bury_new(message, published, expires, &reason);
            }
            Letter::AskVariables { of, names } => self.tell_variables(of, &names),
            Letter::Variables { of, values } => self.variables_told(of, &values),
        }
    }
}

/// The shard that finds receivers for messages and signals of a name. Every process that opens the
/// store must find the same one, so the hash is written down here: FNV-1a.
pub(crate) fn keeper(name: &str, shards: u16) -> ShardId {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ShardId::of(hash, shards)
}
