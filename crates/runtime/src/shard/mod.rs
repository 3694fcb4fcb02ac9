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

mod agenda;
mod alarm;
mod apart;
mod attempt;
mod call;
mod checkpoint;
mod closing;
mod code;
mod dispatch;
mod effects;
mod environment;
mod function;
mod guard;
mod instances;
mod inventory;
mod job;
mod live;
mod load;
mod lost;
mod lots;
mod messages;
mod note;
mod operate;
mod outbox;
mod past;
mod publish;
mod quarantine;
mod recover;
mod rows;
mod settings;
mod snapshot;
mod start;
mod starts;
mod stuck;
mod subscribe;
mod throttle;
mod turn;
mod verify;
mod views;
mod watchers;

use std::{fmt, sync::Arc};

use travertine_kernel::{Failure, FailureKind};
use travertine_store::{
    Claim, Mail, MailId, Seq, ShardId,
    codec::record::decode_letter,
    record::{Letter, Record},
};
use travertine_value::time::Timestamp;

pub use attempt::{AttemptOutcome, Given};
pub use checkpoint::Checkpoint;
pub(crate) use environment::keeper;
pub use function::{FunctionSettings, RunStatus, Unblocked};
pub(crate) use function::{configure, print};
pub(crate) use guard::panic_text;
pub use job::{Activated, JobChange, JobFailure, Lease};
pub use live::{Live, Trouble};
pub use lost::Remains;
pub use outbox::Sealed;
pub use publish::{Candidate, How, Looked, Publishing};
pub(crate) use quarantine::{Case, Gate};
pub use recover::{Opening, Recovered};
pub use rows::Rows;
pub use settings::{Kept, KeptHistory, Settings};
pub(crate) use snapshot::unfolded;
pub use start::{At, Begin};
pub use travertine_store::record::{Edit, TaskChange};
pub use verify::{Difference, Verified};
pub use watchers::{Ended, Seen};
pub(crate) use watchers::{Hook, Watcher};

use crate::{Address, Error, InstanceId, board::Board};
use agenda::{Agenda, Drive};
use alarm::Alarms;
use attempt::Attempts;
use code::Code;
use environment::Environment;
use instances::Instances;
use lost::Had;
use messages::Messages;
use outbox::{Outbox, Queued, Release};
use starts::Starts;
use views::Views;
use watchers::Watchers;

/// How many events instances that used up their turn may cause before whoever asks is heard.
const EVENTS_AT_ONCE: u64 = 50_000;

/// After so many turns in a row an instance does not come to rest.
const RESTLESS: u32 = 5;

/// How names that nobody outside chooses are found.
type Hashed = foldhash::fast::FixedState;

/// A slice of the instances, with one writer.
pub struct Shard {
    env: Environment,
    now: Timestamp,
    agenda: Agenda,
    instances: Instances,
    outbox: Outbox,
    messages: Messages,
    starts: Starts,
    attempts: Attempts,
    alarms: Alarms,
    views: Views,
    watchers: Watchers,
    code: Code,
    had: Had,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("claim", &self.env.claim)
            .field("instances", &self.instances.lives.len())
            .field("seq", &self.outbox.seq)
            .finish_non_exhaustive()
    }
}

impl Shard {
    /// Which one it is.
    pub fn id(&self) -> ShardId {
        self.env.id()
    }

    /// The right by which it writes.
    pub fn claim(&self) -> Claim {
        self.env.claim
    }

    /// It was claimed again by its owner. Mails are counted on.
    pub fn claimed(&mut self, claim: Claim) {
        self.env.claim = claim;
    }

    /// The time it knows.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Why it cannot go on: what it must know it could not read. Nothing more must be written then;
    /// the shard is to be claimed and read again.
    pub fn fault(&self) -> Option<&Error> {
        self.env.fault.get()
    }

    /// The last entry it has written, or is about to.
    pub fn seq(&self) -> Seq {
        self.outbox.seq
    }

    /// The time has come to `now`. It never goes backwards.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// Has `look` called after each accepted command.
    pub(crate) fn observe(&mut self, look: impl FnMut(Seen<'_>) + Send + 'static) {
        self.watchers.hook = Some(Box::new(look));
    }

    pub(crate) fn take_hook(&mut self) -> Option<Hook> {
        self.watchers.hook.take()
    }

    pub(crate) fn set_hook(&mut self, hook: Option<Hook>) {
        self.watchers.hook = hook;
    }

    /// Where jobs are put up.
    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.env.board
    }

    /// A mail has come. One that it has had is not heard again.
    pub fn receive(&mut self, mail: &Mail) {
        if self.had.note(mail.id) {
            self.open_mail(mail);
            self.handle_letters();
        }
    }

    /// Puts what a mail says to what is to be done. One that cannot be read is not taken, so the store
    /// keeps it.
    fn open_mail(&mut self, mail: &Mail) {
        match decode_letter(&mail.body) {
            Ok(letter) => self.outbox.enqueue_mail(letter, mail.id),
            Err(error) => {
                let MailId { from, number } = mail.id;
                self.pass_over(&format!("mail {number} from shard {from} in the inbox"), &error);
            }
        }
    }

    /// Something of the shard itself cannot be read. The rest goes on without it.
    fn pass_over(&mut self, what: &str, error: &dyn fmt::Display) {
        self.agenda.pass_over(&format!("{what} of shard {}", self.id()), error);
    }

    /// Does what is due, and goes on with instances that used up their turn, as far as the batch
    /// has room. Says whether there is more to do at once.
    pub fn work(&mut self) -> bool {
        if self.agenda.rests() {
            return false;
        }
        self.handle_letters();
        while !self.is_full() && self.ring_next() {
            self.handle_letters();
        }
        let before = self.agenda.events;
        let unfinished = self.agenda.unfinished().len();
        for _ in 0..unfinished {
            // Whoever asks waits for some of them at most. They take turns.
            if self.is_full() || self.agenda.events - before > EVENTS_AT_ONCE {
                break;
            }
            self.go_on();
            self.handle_letters();
        }
        if !self.has_work() {
            self.agenda.quarantine.rests();
            self.admit_waiting();
        }
        self.is_busy()
    }

    /// The instances that do not come to rest, where they are all there is to do.
    pub(crate) fn only_restless(&self) -> Option<Vec<InstanceId>> {
        let is_due = self.alarms.next().is_some_and(|it| it <= self.now);
        if !self.outbox.letters.is_empty() || is_due || self.agenda.rests() {
            return None;
        }
        let restless = |id: InstanceId| {
            let live = self.instances.lives.get(&id)?;
            (live.turns >= RESTLESS).then_some(live.id)
        };
        let restless = self.agenda.unfinished().map(restless).collect::<Option<Vec<_>>>();
        restless.filter(|it| !it.is_empty())
    }

    /// Lets what was asked of a shard at rest take its course. What was due or left to do when it was opened
    /// stays as it is.
    pub(crate) fn follow(&mut self) {
        if self.agenda.rests() {
            self.agenda.drive = Drive::Follows;
        }
        self.handle_letters();
    }

    /// Whether there is something to do without anyone asking.
    pub fn is_busy(&self) -> bool {
        (self.has_work() || self.attempts.wait()) && !self.agenda.rests()
    }

    /// Whether there is something to do that nothing holds up.
    fn has_work(&self) -> bool {
        self.agenda.unfinished().len() > 0
            || !self.outbox.letters.is_empty()
            || self.alarms.next().is_some_and(|it| it <= self.now)
    }

    /// How many events there have been since someone asked.
    pub(crate) fn take_events(&mut self) -> u64 {
        std::mem::take(&mut self.agenda.events)
    }

    /// When there is something to do, if nobody asks.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.alarms.next().filter(|_| !self.agenda.rests())
    }

    /// How many entries are to be written.
    pub(crate) fn unwritten(&self) -> usize {
        self.outbox.len()
    }

    /// Whether a batch should be sealed before anything else is asked.
    pub fn is_full(&self) -> bool {
        self.outbox.is_full(&self.env.settings)
    }

    /// Hands over what is to be written. What could not be seen to in this batch is sent to the shard
    /// itself, so that a crash loses nothing of it. It stays in its place here: what was asked later
    /// must not overtake it.
    pub fn seal(&mut self) -> Option<Sealed> {
        let outbox = &mut self.outbox;
        self.starts.throttle.take_unwritten(|it| outbox.write_down(it));
        self.outbox.seal()
    }

    /// Sees to all letters that this batch has room for.
    fn handle_letters(&mut self) {
        while !self.is_full() && !self.agenda.rests() {
            let Some(Queued { letter, mail, generation }) = self.outbox.take_letter() else {
                break;
            };
            if let Some(mail) = mail {
                let next = self.outbox.letters.iter().filter_map(|it| it.mail.map(Case::Mail));
                self.agenda.quarantine.begin(Case::Mail(mail), next);
            }
            self.starts.chain = generation;
            self.carry_out(letter);
            self.starts.chain = 0;
        }
        self.agenda.quarantine.end();
        self.close_ended();
    }

    /// Tells someone how an instance ended, once that is durable.
    fn reply_to_watcher(&mut self, watcher: Watcher, ended: Result<Ended, Error>) {
        self.outbox.release(Release::Ended(watcher, Box::new(ended)));
    }

    /// Sends a letter to whom it concerns.
    fn send(&mut self, to: ShardId, letter: Letter) {
        self.outbox.send(to, letter);
    }

    /// The shard of an instance.
    fn shard_of(&self, instance: InstanceId) -> ShardId {
        self.env.shard_of(instance)
    }

    /// The shard that finds receivers for messages and signals of a name.
    pub fn keeper(&self, name: &str) -> ShardId {
        self.env.keeper(name)
    }

    /// Writes what has become true of the shard itself.
    fn write(&mut self, records: &[Record]) {
        self.outbox.append_own(self.now, records);
    }

    fn carry_out(&mut self, letter: Letter) {
        match letter {
            Letter::Call(call) => self.called_by(call),
            Letter::Ended { to, child, ending, variables } => {
                self.child_ended(to, child, ending, variables);
            }
            Letter::NotCalled { to, reason } => {
                self.call_failed(to, Failure::new(FailureKind::Call, reason));
            }
            Letter::CallFailed { to, failure } => self.call_failed(to, failure),
            Letter::Uncall { from } => self.uncalled(from),
            Letter::Escalated { to, code, variables, confirm } => {
                self.escalated(to, code, variables, confirm);
            }
            Letter::Delivered { instance, post } => self.delivered(instance, post),
            Letter::Subscribe(subscription) => self.subscribe_remote(subscription),
            Letter::Unsubscribe { instance, wait } => {
                self.unsubscribe_remote(Address { instance, wait });
            }
            Letter::Publish { message, again: true, published, expires } => {
                let given = publish::Given { published, expires, number: None, again: true };
                self.give(message, given, &Looked::default());
            }
            Letter::Publish { message, again: false, .. } => {
                self.route(message, &Looked::default(), None);
            }
            letter @ Letter::Deliver { .. } => self.deliver(letter),
            Letter::Broadcast { name, variables, from } => {
                self.broadcast(&name, &variables, from);
            }
            Letter::Signal { to, variables } => self.signalled(to, variables),
            Letter::Ring { to } => self.rung(to),
            Letter::Cancel { instance } => self.cancelled(instance),
            Letter::Start { definition, id, variables } => {
                self.start_sent(definition, id, variables);
            }
            Letter::Trigger { start, variables } => {
                self.trigger_start_or_log(start, variables);
            }
            Letter::Bury { message, published, expires, reason } => {
                self.bury_new(message, published, expires, &reason);
            }
            Letter::AskVariables { of, names } => self.reply_variables(of, &names),
            Letter::Variables { of, values } => self.variables_known(of, &values),
            // What it says of the chain was taken note of when it came.
            Letter::Chained { letter, generation: _ } => self.carry_out(*letter),
        }
    }
}
