//! A shard as the store has it.

use std::{cell::OnceCell, collections::BTreeSet, sync::Arc};

use travertine_kernel::{Effect, Instance, WaitId, effects};
use travertine_store::{
    Claim, Entry, Error as StoreError, Seq, ShardId, Store,
    codec::record::{decode_held, decode_records, decode_shard, decode_subscription},
    record::{Created, Letter, Record, ShardState},
    view::{JobState, Row, Table},
};
use travertine_value::{Name, time::Timestamp};

use super::{
    Case, Settings, Shard,
    agenda::Agenda,
    alarm::{Alarm, Alarms},
    attempt::Attempts,
    code::Code,
    environment::Environment,
    instances::Instances,
    live::{AT_ONCE, Live, unknown_definition},
    load::{PAGE, damaged, unreadable},
    lost::Had,
    lots::Lots,
    messages::Messages,
    outbox::{Outbox, Release},
    quarantine::Quarantine,
    starts::Starts,
    views::Views,
    watchers::Watchers,
};
use crate::{
    Address, Definitions, Error, InstanceId,
    board::{Board, Offer},
    message::MessageKey,
};

/// How many instances may have changed before their rows are stored, while a log is read.
const CHANGED_MAX: usize = 16_384;

/// What a shard is opened with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Where it is kept.
    pub store: Arc<dyn Store>,
    /// What is deployed.
    pub definitions: Arc<Definitions>,
    /// The functions that this process has.
    pub functions: Arc<travertine_func::Functions>,
    /// Where jobs are put up.
    pub board: Arc<Board>,
    /// How it behaves.
    pub settings: Settings,
    /// The time.
    pub now: Timestamp,
}

/// What was found when a shard was opened.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let timers: u64 = engine.opened().shards.iter().map(|shard| shard.timers).sum();
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// How many entries of the log came after the last checkpoint.
    pub entries: u64,
    /// How many instances they are about.
    pub instances: u64,
    /// How many jobs wait for workers.
    pub jobs: u64,
    /// How many timers are set.
    pub timers: u64,
    /// How many tokens wait for messages or signals.
    pub subscriptions: u64,
    /// How many messages are held.
    pub messages: u64,
    /// How many mails from other shards are seen to now.
    pub mails: u64,
    /// What cannot be read, and why. It stays in the store as it is, and is passed over.
    pub damaged: Vec<String>,
}

impl Shard {
    /// Reads a shard that was claimed. `progress` is told how many entries of how many have been read.
    ///
    /// What is deployed must have been read after it was claimed, and where it has several, all shards of the store must
    /// have been claimed before the first is read: whoever had them may have deployed, started and sent something until
    /// then.
    pub fn recover(
        claim: Claim,
        opening: Opening,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Self, Recovered), Error> {
        let id = claim.shard;
        let definitions = Arc::clone(&opening.definitions);
        // Other shards have put up theirs.
        let others = jobs_of(&opening.board);
        let mut shard = Self::at_checkpoint(claim, opening)?;
        let last = shard.env.store.last(id)?;
        if shard.outbox.seq == 0 {
            // All is made from the log alone, so it must be whole.
            shard.env.store.check_log(id)?;
        }
        let mut found = shard.read_tail(last, progress)?;
        shard.outbox.let_out(&shard.env.board);
        debug_assert!(shard.outbox.len() == 0, "reading the log decides nothing");
        if shard.env.board.has_limits() {
            shard.count_leased();
        }
        let damaged: Vec<InstanceId> =
            shard.in_memory().iter().filter(|it| it.damage.is_some()).map(|it| it.id).collect();
        for id in damaged {
            // It is halted when it is looked at.
            shard.live(id)?;
        }
        let newest = shard.id().instance(shard.instances.count.max(1), shard.env.shards);
        shard.env.board.descendants.found(InstanceId(newest));
        shard.forget_finished();
        shard.agenda.left = shard.agenda.unfinished.len();
        shard.open_quarantine();
        // Others may take some of theirs meanwhile.
        found.jobs = jobs_of(&shard.env.board).saturating_sub(others) as u64;
        found.timers = shard.alarms.timers() as u64;
        found.subscriptions = shard.messages.waiting.len() as u64;
        found.messages = shard.messages.held.iter().count() as u64;
        let mut mails = shard.env.store.inbox(id, &[], usize::MAX)?;
        // What it had left to do comes before what others have asked since then.
        mails.sort_by_key(|it| it.id.from != id);
        // All of it is in its place before anything is done, so that what follows from one does not
        // overtake another.
        for mail in &mails {
            shard.had.note(mail.id);
            match shard.agenda.quarantine.deaths_at(Case::Mail(mail.id)) {
                None => shard.open_mail(mail),
                Some(deaths) => shard.leave_mail(mail, deaths),
            }
        }
        found.mails = shard.outbox.letters.len() as u64;
        found.damaged.clone_from(&shard.agenda.damaged);
        shard.adopt(&definitions);
        if shard.agenda.rests() {
            shard.alarms.mute_due(shard.now);
        }
        Ok((shard, found))
    }

    /// Makes the views of a shard from its log alone, up to an entry. Its owner may go on meanwhile.
    pub(crate) fn make_views(claim: Claim, opening: Opening, upto: Seq) -> Result<(), Error> {
        let mut shard = Self::at_checkpoint(claim, opening)?;
        shard.read_tail(upto, &mut |_, _| {})?;
        shard.forget_finished();
        shard.views.want();
        shard.store_rows()
    }

    /// Keeps of the instances that had something to do those that still have, once each.
    fn forget_finished(&mut self) {
        let (mut seen, lives) = (BTreeSet::new(), &self.instances.lives);
        // Others may have gone on since then.
        let has_work = |it: &Live| it.state.has_work() && !it.has_ended();
        self.agenda
            .unfinished
            .retain(|it| seen.insert(*it) && lives.get(it).is_none_or(|live| has_work(live)));
    }

    /// Stores the rows of what has been read, so that it need not stay in memory.
    fn store_rows(&mut self) -> Result<(), Error> {
        if let Some(checkpoint) = self.checkpoint() {
            checkpoint.store(&*self.env.store, &self.env.claim)?;
            self.stored(checkpoint.upto);
        }
        Ok(())
    }

    /// A shard as its last checkpoint has it.
    fn at_checkpoint(claim: Claim, opening: Opening) -> Result<Self, Error> {
        let Opening { store, definitions, functions, board, settings, now } = opening;
        let id = claim.shard;
        let (upto, state) = store.checkpointed(id)?;
        let state = if state.is_empty() {
            ShardState::default()
        } else {
            decode_shard(&state).map_err(|error| damaged_views(id, "what it knows", &error))?
        };
        let shards = store.shards();
        let mut shard = Self {
            now,
            agenda: Agenda {
                quarantine: Quarantine::new(&store, id, board.gate()),
                ..Agenda::new(settings.at_rest, state.unfinished)
            },
            instances: Instances::after(state.instances),
            outbox: Outbox::new(claim, upto),
            messages: Messages::after(state.messages),
            starts: Starts::default(),
            attempts: Attempts::default(),
            alarms: Alarms::default(),
            views: Views::at(upto),
            watchers: Watchers::default(),
            code: Code::new(functions),
            had: Had::default(),
            env: Environment {
                claim,
                shards,
                store,
                definitions,
                coming: None,
                board,
                budgets: Arc::new(settings.budgets.clone()),
                lots: Lots::default(),
                fault: OnceCell::new(),
                settings,
            },
        };
        for it in state.noted {
            shard.starts.note(it.start, it.variables);
        }
        for timer in state.timers {
            shard.set_start_timer(timer);
        }
        shard.starts.changed.clear();
        shard.load_rows()?;
        Ok(shard)
    }

    /// What the rows say of jobs, timers, messages and who waits for them.
    fn load_rows(&mut self) -> Result<(), Error> {
        let store = Arc::clone(&self.env.store);
        let id = self.id();
        let scan = |table, each: &mut dyn FnMut(Row) -> Result<(), StoreError>| {
            store.scan(id, table, each).map_err(|error| match error {
                StoreError::Corrupt { place, reason }
                | StoreError::DamagedViews { place, reason } => damaged_views(id, &place, &reason),
                error @ StoreError::DamagedRow { .. } => {
                    Error::DamagedViews { shard: id, reason: error.to_string() }
                }
                other => other.into(),
            })
        };
        let corrupt = |place: String, error: &travertine_store::codec::DecodeError| {
            StoreError::Corrupt { place, reason: error.to_string() }
        };
        scan(Table::Jobs, &mut |row| {
            let Row::Job(row) = row else { return Ok(()) };
            match (row.state, row.until) {
                (
                    JobState::Failed | JobState::Completed | JobState::Cancelled | JobState::Raised,
                    _,
                ) => {}
                (JobState::Available, None) => self.env.board.offer(&Offer {
                    job_type: row.job_type,
                    priority: row.priority,
                    since: row.created,
                    job: Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) },
                    // Who leases it finds out.
                    limit: None,
                }),
                (JobState::Available | JobState::Leased, until) => {
                    let until = until.unwrap_or(AT_ONCE);
                    self.alarms.set(
                        until,
                        Alarm::Job(Address {
                            instance: InstanceId(row.instance),
                            wait: WaitId(row.wait),
                        }),
                    );
                }
            }
            Ok(())
        })?;
        scan(Table::Timers, &mut |row| {
            let Row::Timer(row) = row else { return Ok(()) };
            if row.instance != 0 {
                self.set_timer(InstanceId(row.instance), WaitId(row.wait), row.due);
            }
            Ok(())
        })?;
        scan(Table::Subscriptions, &mut |row| {
            let Row::Subscription(row) = row else { return Ok(()) };
            let it = decode_subscription(&row.body).map_err(|error| {
                corrupt(format!("the subscription {}-{}", row.instance, row.wait), &error)
            })?;
            self.messages.waiting.add(it);
            Ok(())
        })?;
        scan(Table::Messages, &mut |row| {
            let Row::Message(row) = row else { return Ok(()) };
            if row.body.is_empty() {
                let id = row.message_id.unwrap_or_else(|| "".into());
                let key = MessageKey { name: row.name, receiver: row.correlation, id };
                self.recognise(row.id, key, row.expires.unwrap_or_default());
                return Ok(());
            }
            let held = decode_held(&row.body)
                .map_err(|error| corrupt(format!("the message {}", row.id), &error))?;
            self.hold(held);
            Ok(())
        })?;
        self.messages.fresh_held.clear();
        self.messages.fresh_known.clear();
        Ok(())
    }

    /// Reads the log from the checkpoint on, up to an entry. Memory is bounded: as soon as many instances
    /// have changed, their rows are stored.
    fn read_tail(
        &mut self,
        last: Seq,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Recovered, Error> {
        let mut found = Recovered::default();
        let changed_max = self.env.settings.instances_max.clamp(1, CHANGED_MAX);
        let mut after = self.outbox.seq;
        let total = last - after.min(last);
        while after < last {
            let entries = self.env.store.entries(self.id(), after, PAGE)?;
            let Some(end) = entries.last().map(|it| it.seq) else { break };
            for entry in entries.iter().take_while(|it| it.seq <= last) {
                self.read(entry)?;
                found.entries += 1;
                if self.views.dirty.len() >= changed_max {
                    found.instances += self.views.dirty.len() as u64;
                    self.forget_finished();
                    self.store_rows()?;
                }
            }
            after = end;
            progress(found.entries, total);
        }
        found.instances += self.views.dirty.len() as u64;
        self.outbox.seq = last;
        Ok(found)
    }

    /// Takes over what an entry says.
    fn read(&mut self, entry: &Entry) -> Result<(), Error> {
        self.outbox.seq = entry.seq;
        // Times are those of then, but the clock of this process may be behind.
        self.tick(entry.at);
        let records = decode_records(&entry.body);
        if entry.instance == InstanceId::NONE {
            match records {
                Ok(records) => records.into_iter().for_each(|it| self.read_own(it)),
                Err(error) => self.pass_over(&format!("entry {}", entry.seq), &error),
            }
            return Ok(());
        }
        let records = records.map_err(|error| unreadable(entry, &error));
        let read = records.and_then(|records| self.read_of(entry, &records));
        match read {
            Err(error @ Error::Damaged { .. }) => self.read_damaged(entry, error),
            read => read,
        }
    }

    /// Takes over what an entry says of an instance.
    fn read_of(&mut self, entry: &Entry, records: &[Record]) -> Result<(), Error> {
        let id = entry.instance;
        if let Some(Record::Created(created)) = records.first() {
            let live = self.read_created(id, entry.seq, created);
            self.instances.put(live);
        } else if let Some(Record::Folded(_)) = records.first() {
            // It has ended, and its row says all there is to say, unless rows are made again.
            return self.read_folded(entry, records);
        }
        let missing = |last: Seq| {
            let Entry { seq, previous, .. } = entry;
            damaged(id, &format!("entry {seq} follows on {previous}, and the last there is {last}"))
        };
        let mut live = match self.bring(id) {
            Err(Error::NoSuchInstance(_)) => return Err(missing(0)),
            brought => brought?,
        };
        let ends = matches!(records.first(), Some(Record::Ended(_)));
        if live.damage.is_some() && !ends {
            live.learn_readable(entry);
            self.views.mark(&mut live);
            self.instances.put(live);
            return Ok(());
        }
        if live.last != entry.previous && !ends {
            let error = missing(live.last);
            self.instances.put(live);
            return Err(error);
        }
        let replayed = self.replay(&mut live, entry, records);
        if replayed.is_ok() {
            self.views.mark(&mut live);
            for record in records {
                self.index(&mut live, record);
            }
            if live.state.has_work() && !live.has_ended() {
                self.agenda.unfinished.push_back(id);
            }
        }
        self.instances.put(live);
        replayed
    }

    /// An entry about an instance cannot be read, so nobody knows how the instance is now.
    fn read_damaged(&mut self, entry: &Entry, error: Error) -> Result<(), Error> {
        let id = entry.instance;
        let mut live = match self.bring(id) {
            Ok(live) => live,
            Err(Error::NoSuchInstance(_)) => {
                self.born(id, entry.seq);
                Box::new(Live::unknown(id))
            }
            // Of one that has ended the rows say enough.
            Err(Error::Damaged { .. }) => return Ok(()),
            Err(other) => return Err(other),
        };
        live.learn_readable(entry);
        live.damage.get_or_insert(error);
        live.state = Instance::default();
        self.views.mark(&mut live);
        self.instances.put(live);
        self.agenda.unfinished.retain(|it| *it != id);
        Ok(())
    }

    /// An instance of that number came to be with that entry.
    fn born(&mut self, id: InstanceId, seq: Seq) {
        let nth = id.0 / u64::from(self.env.shards);
        self.instances.count = self.instances.count.max(nth);
        self.instances.born(id, seq, true);
    }

    /// An instance that came to be with that entry.
    fn read_created(&mut self, id: InstanceId, seq: Seq, created: &Created) -> Box<Live> {
        let definition = self.definition_of(id, created.definition).unwrap_or_else(|_| {
            Arc::new(unknown_definition(created.definition, "unknown".into(), 0))
        });
        self.born(id, seq);
        if let Some(caller) = created.caller {
            self.instances.call_started(caller, id);
        }
        if let Some(name) = &created.business_id {
            self.instances.name(&definition, Name::clone(name), id);
        }
        Box::new(Live::new(id, created.clone(), definition))
    }

    fn read_folded(&mut self, entry: &Entry, records: &[Record]) -> Result<(), Error> {
        let Some(Record::Folded(folded)) = records.first() else { return Ok(()) };
        let id = entry.instance;
        let has_rows = self.row_of(id)?.is_some();
        let mut live = self.read_created(id, entry.seq, &folded.created);
        if has_rows {
            // They may be older than its end.
            self.forget_indexed(id);
            live.rowed = u64::MAX;
        }
        self.replay(&mut live, entry, records)?;
        self.views.mark(&mut live);
        self.instances.put(live);
        Ok(())
    }

    /// Finds again what a record had asked for.
    fn index(&mut self, live: &mut Live, record: &Record) {
        match record {
            Record::Happened(events) => {
                for effect in effects(events) {
                    match effect {
                        Effect::Arm(wait, on) => {
                            if live.state.waits.contains_key(&wait) {
                                self.arm_again(live, wait, &on);
                            }
                        }
                        Effect::Disarm(wait) => self.disarm_again(live, wait),
                        Effect::Send(..) => {}
                    }
                }
                live.forget_closed(events);
                for wait in live.reconsidered(events) {
                    self.offer(live, wait);
                }
            }
            Record::Leased { wait, .. } | Record::Paused { wait, .. } => {
                let wait = *wait;
                self.withdraw(live, wait);
                self.offer(live, wait);
            }
            Record::TimerMoved { wait, due } => self.set_timer(live.id, *wait, *due),
            Record::Ended(_) => self.forget_indexed(live.id),
            Record::Deferred(Letter::Deliver { to, .. } | Letter::Signal { to, .. }) => {
                self.unsubscribe_logged(*to);
            }
            Record::Suspended | Record::Halted(_) => {
                let waits: Vec<WaitId> = live.work.keys().copied().collect();
                for wait in waits {
                    self.withdraw(live, wait);
                }
            }
            Record::Resumed | Record::Released => {
                if let Record::Released = record {
                    self.restore(live);
                }
                self.offer_all(live);
            }
            _ => {}
        }
    }

    fn withdraw(&mut self, live: &Live, wait: WaitId) {
        let Some(work) = live.work.get(&wait) else { return };
        self.alarms.unset(Alarm::Job(live.address(wait)));
        self.outbox.release(Release::Withdraw(live.any_offer(wait, work)));
    }

    /// Forgets what a wait had asked for; whoever else was told has heard of its end too.
    fn disarm_again(&mut self, live: &Live, wait: WaitId) {
        let address = live.address(wait);
        self.alarms.unset(Alarm::Wait(address));
        self.withdraw(live, wait);
        if self.messages.waiting.get(address).is_some() {
            self.forget(address);
        }
    }

    fn message_numbered(&mut self, number: u64) {
        let nth = number / u64::from(self.env.shards);
        self.messages.numbered(nth);
    }

    fn read_own(&mut self, record: Record) {
        match record {
            Record::Held(held) => {
                self.message_numbered(held.number);
                // It was held before, if it is dead now, and may have a row that says so.
                self.let_go(held.number);
                self.hold(held);
            }
            Record::Gone { message } => {
                self.let_go(message);
                self.unrecognise(message);
            }
            // What older stores have recognised counts for every receiver.
            Record::Known { number, name, id, until } => {
                self.message_numbered(number);
                self.recognise(number, MessageKey { name, receiver: "".into(), id }, until);
            }
            Record::Recognised { number, name, receiver, id, until } => {
                self.message_numbered(number);
                self.recognise(number, MessageKey { name, receiver, id }, until);
            }
            Record::Numbered { messages } => self.messages.numbered(messages),
            Record::Subscribed(subscription) => self.messages.subscribe(subscription),
            Record::Unsubscribed { instance, wait } => {
                self.unsubscribe_logged(Address { instance, wait });
            }
            Record::Noted { start, variables } => {
                self.starts.note(start, variables);
            }
            Record::Unnoted { start } => {
                self.starts.take_noted(start);
            }
            Record::StartTimer(timer) => self.set_start_timer(timer),
            _ => {}
        }
    }
}

/// How many jobs a board has.
fn jobs_of(board: &Board) -> usize {
    board.counts().iter().map(|(_, count)| count).sum()
}

/// What a checkpoint has stored cannot be read.
fn damaged_views(shard: ShardId, place: &str, error: &dyn std::fmt::Display) -> Error {
    Error::DamagedViews { shard, reason: format!("{place} is damaged: {error}") }
}
