//! Shards, the store under them, and what happens to both.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use travertine_func::Functions;
use travertine_runtime::{
    Board, Checkpoint, Definitions, FunctionSettings, InstanceId, Opening, Remains, Sealed,
    Settings, Shard,
};
use travertine_store::{
    Batch, Claim, Claiming, DefinitionKey, Error as StoreError, Mail, MemoryStore, Seq, ShardId,
    Store,
    codec::record::{decode_letter, decode_records},
    view::{Row, Table},
};
use travertine_value::time::Timestamp;

use super::{Figures, Trace, client::Clients, functions, journal::Journal, models};
use crate::{
    clock::DAWN,
    faulty::{Fault, Faulty, ReadFault, Write},
    random::Random,
};

/// A shard with its owner: what is on its way from memory to the store.
pub(super) struct Seat {
    pub(super) shard: Shard,
    writes: VecDeque<Pending>,
    /// Rows that may be stored.
    rows: VecDeque<Checkpoint>,
    /// Rows that are stored, as the shard will hear.
    stored: VecDeque<Seq>,
    /// What is kept of the shard while it is lost.
    lost: Option<Remains>,
}

enum Pending {
    Batch(Sealed),
    Rows(Checkpoint),
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) store: Arc<Faulty<MemoryStore>>,
    /// What goes wrong at the next call that writes.
    fault: Arc<Mutex<Option<Fault>>>,
    /// What goes wrong at the next call that reads what shards decide by.
    read_fault: Arc<Mutex<Option<ReadFault>>>,
    pub(super) board: Arc<Board>,
    pub(super) definitions: Arc<Definitions>,
    functions: Arc<Functions>,
    /// The key of the first version of `order`.
    pub(super) older: DefinitionKey,
    pub(super) now: Timestamp,
    settings: Settings,
    pub(super) seats: Vec<Seat>,
    /// Owners that do not know yet that their shard was taken over.
    zombies: Vec<Seat>,
    /// Mails on their way, in order, by sender and receiver.
    mails: BTreeMap<(u16, u16), VecDeque<Mail>>,
    pub(super) journal: Journal,
    pub(super) clients: Clients,
    /// Instances of which nothing is kept.
    pub(super) retired: BTreeSet<u64>,
    pub(super) figures: Figures,
    trace: Trace,
    /// How much goes wrong.
    storm: u64,
    /// Whether nothing may go wrong any more.
    quiet: bool,
}

impl World {
    pub(super) fn new(seed: u64, trace: Trace) -> Self {
        let mut random = Random(seed);
        let shards = u16::try_from(1 + random.below(4)).expect("it is small");
        let fault = Arc::new(Mutex::new(None));
        let planned = Arc::clone(&fault);
        let store = Faulty::new(MemoryStore::new(shards), move |write| {
            let of_rows = matches!(write, Write::Append | Write::Checkpoint | Write::Fold);
            let mut next: MutexGuard<'_, Option<Fault>> =
                planned.lock().unwrap_or_else(PoisonError::into_inner);
            if of_rows { next.take() } else { None }
        });
        let read_fault = Arc::new(Mutex::new(None));
        let planned = Arc::clone(&read_fault);
        store.plan_reads(move |_| planned.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut definitions = Definitions::default();
        let models = models::models(&mut random);
        definitions.add(&models, DAWN).expect("the models can be deployed");
        let older = definitions.find("order").expect("it is among the models").key;
        definitions.add(&models::newer(), DAWN).expect("the models can be deployed");
        let settings = Settings {
            instances_max: [1, 4, 100][random.position(3)],
            batch_entries: [1, 3, 4_096][random.position(3)],
            snapshot_bytes: [0, 200, usize::MAX][random.position(3)],
            // Longer than any run, because the clients rely on it.
            known_for: Duration::from_millis(1 << 50),
            pending_max: [2, 10_000][random.position(2)],
            dead_for: Duration::from_millis([0, 600_000, 1 << 40][random.position(3)]),
            functions: FunctionSettings { shadow_every: 1, ..FunctionSettings::default() },
            ..Settings::default()
        };
        let storm = [1, 3, 8][random.position(3)];
        let mut world = Self {
            random,
            store: Arc::new(store),
            fault,
            read_fault,
            board: Arc::new(Board::default()),
            definitions: Arc::new(definitions),
            functions: Arc::new(functions::functions()),
            older,
            now: DAWN,
            settings,
            seats: Vec::new(),
            zombies: Vec::new(),
            mails: BTreeMap::new(),
            journal: Journal::default(),
            clients: Clients::default(),
            retired: BTreeSet::new(),
            figures: Figures { seeds: 1, ..Figures::default() },
            trace,
            storm,
            quiet: false,
        };
        world.say(|| format!("seed {seed}: {shards} shards"));
        world.open_all().expect("a new store can be read");
        world
    }

    pub(super) fn say(&self, line: impl FnOnce() -> String) {
        self.trace.say(line);
    }

    pub(super) fn shards(&self) -> u16 {
        self.store.shards()
    }

    pub(super) fn seat_of(&mut self, instance: InstanceId) -> &mut Seat {
        let shard = ShardId::of(instance.0, self.shards());
        &mut self.seats[usize::from(shard.0)]
    }

    /// One thing happens.
    pub(super) fn step(&mut self) -> Result<(), String> {
        self.figures.steps += 1;
        let seat = self.random.position(self.seats.len());
        match self.random.below(1_000) {
            0..300 => self.request(),
            300..400 => self.work(seat),
            400..520 => self.seal(seat),
            520..720 => self.write(seat)?,
            720..820 => self.deliver(),
            820..860 => self.checkpoint(seat),
            860..900 => self.store_rows(seat)?,
            900..930 => self.tell_stored(seat),
            930..950 => self.pass_time(),
            950..960 => self.claim_one_again()?,
            960..966 => self.haunt()?,
            966..972 => self.forget_ended(seat)?,
            // Some simulations are calmer than others.
            _ if self.random.below(8) >= self.storm => self.request(),
            972..984 => self.plan_fault(),
            984..992 => self.take_over(seat)?,
            _ => self.crash()?,
        }
        for seat in 0..self.seats.len() {
            let it = &self.seats[seat];
            if it.shard.fault().is_some() && it.lost.is_none() {
                self.lose(seat)?;
            }
        }
        self.clients.check(&self.journal)
    }

    /// Whether nothing can be done for a shard.
    pub(super) fn is_lost(&self, seat: usize) -> bool {
        self.seats[seat].lost.is_some()
    }

    /// Time goes by: a little, or until something is due.
    fn pass_time(&mut self) {
        let due = self.seats.iter().filter_map(|it| it.shard.next_due()).min();
        let jump = self.random.percent(50);
        let some = Duration::from_millis(self.random.below(600_000));
        self.now = match due {
            Some(due) if jump => self.now.max(due),
            _ => self.now.after(some),
        };
        self.say(|| format!("it is {}", self.now));
    }

    pub(super) fn tick(&mut self, seat: usize) {
        // Clocks of owners differ by a little.
        let late = Duration::from_millis(self.random.below(3));
        self.seats[seat].shard.tick(self.now.before(late));
    }

    pub(super) fn work(&mut self, seat: usize) {
        if self.is_lost(seat) {
            return;
        }
        self.tick(seat);
        let more = self.seats[seat].shard.work();
        self.say(|| {
            format!("shard {seat} works{}", if more { ", and has more to do" } else { "" })
        });
    }

    pub(super) fn seal(&mut self, seat: usize) {
        let it = &mut self.seats[seat];
        if it.shard.fault().is_some() || it.lost.is_some() {
            return;
        }
        let Some(sealed) = it.shard.seal() else { return };
        let (entries, sent) = (sealed.batch.entries.len(), sealed.batch.sent.len());
        it.writes.push_back(Pending::Batch(sealed));
        self.say(|| format!("shard {seat} seals {entries} entries and {sent} mails"));
    }

    /// Whatever was durable but not noted yet is noted.
    fn note(&mut self) -> Result<(), String> {
        for shard in 0..self.shards() {
            let after = self.journal.read.get(&shard).copied().unwrap_or(0);
            let new = self.store.inner().entries(ShardId(shard), after, usize::MAX);
            for entry in new.map_err(|error| error.to_string())? {
                self.figures.entries += 1;
                self.say(|| {
                    let records = decode_records(&entry.body);
                    format!("  {} of instance {}: {records:?}", entry.seq, entry.instance)
                });
                self.journal.note(shard, entry, &self.definitions)?;
            }
        }
        Ok(())
    }

    /// Writes some of what is sealed, and lets out what waited for it, unless something goes wrong.
    pub(super) fn write(&mut self, seat: usize) -> Result<(), String> {
        let it = &mut self.seats[seat];
        if let Some(Pending::Rows(_)) = it.writes.front() {
            let Some(Pending::Rows(rows)) = it.writes.pop_front() else { return Ok(()) };
            it.rows.push_back(rows);
            return Ok(());
        }
        let ready = it.writes.iter().take_while(|it| matches!(it, Pending::Batch(_))).count();
        if ready == 0 {
            return Ok(());
        }
        let count = 1 + self.random.position(ready);
        let it = &mut self.seats[seat];
        let mut sealed: Vec<Sealed> = Vec::new();
        for write in it.writes.drain(..count) {
            if let Pending::Batch(batch) = write {
                sealed.push(batch);
            }
        }
        let batches: Vec<_> = sealed.iter().map(|it| it.batch.clone()).collect();
        let outcome = self.store.append(&self.seats[seat].shard.claim(), &batches);
        self.note()?;
        match outcome {
            Ok(()) => {}
            Err(StoreError::Full { .. } | StoreError::Away { .. }) => {
                self.figures.faults += 1;
                self.say(|| format!("shard {seat} cannot write now"));
                let writes = &mut self.seats[seat].writes;
                for batch in sealed.into_iter().rev() {
                    writes.push_front(Pending::Batch(batch));
                }
                return Ok(());
            }
            Err(StoreError::Unknown { .. }) if self.random.percent(50) => {
                self.figures.faults += 1;
                match self.claim_again(seat, &batches) {
                    Some(true) => {}
                    Some(false) => {
                        let writes = &mut self.seats[seat].writes;
                        for batch in sealed.into_iter().rev() {
                            writes.push_front(Pending::Batch(batch));
                        }
                        return Ok(());
                    }
                    None => return self.crash(),
                }
            }
            // Others go on; what is written of it is found out when it is claimed again.
            Err(error @ (StoreError::Unknown { .. } | StoreError::Failed { .. })) => {
                self.figures.faults += 1;
                self.say(|| format!("shard {seat} cannot write: {error}"));
                return self.lose(seat);
            }
            Err(error) => {
                self.figures.faults += 1;
                self.say(|| format!("shard {seat} cannot write: {error}"));
                return self.crash();
            }
        }
        self.say(|| format!("shard {seat} has written {count} batches"));
        if !self.quiet && self.random.below(200) < self.storm {
            self.say(|| "it crashes before it has told anyone".to_owned());
            return if self.random.percent(50) { self.crash() } else { self.take_over(seat) };
        }
        for batch in sealed {
            for mail in batch.release(&self.board) {
                self.mails.entry((mail.id.from.0, mail.to.0)).or_default().push_back(mail);
            }
        }
        Ok(())
    }

    /// An owner who does not know what became of an append claims its shard again, and goes on with what it has in
    /// memory. Answers whether the batches were written; nothing where it cannot be found out.
    fn claim_again(&mut self, seat: usize, batches: &[Batch]) -> Option<bool> {
        let shard = &mut self.seats[seat].shard;
        let again = Claiming::Again(shard.claim());
        let claimed = self.store.claim(shard.id(), again).ok()?;
        shard.claimed(claimed.claim);
        let written = claimed.has(batches);
        self.figures.claimed_again += 1;
        self.say(|| {
            format!("shard {seat} is claimed again; what was in doubt is there: {written}")
        });
        Some(written)
    }

    /// A mail arrives.
    fn deliver(&mut self) {
        let ways: Vec<(u16, u16)> = self.mails.keys().copied().collect();
        let Some(way) = self.random.pick(&ways).copied() else { return };
        if self.is_lost(usize::from(way.1)) && self.random.percent(50) {
            // It stays on its way until somebody hears it again.
            return;
        }
        let queue = self.mails.get_mut(&way).expect("it was there a moment ago");
        let mail = queue.pop_front().expect("no queue is empty");
        if queue.is_empty() {
            self.mails.remove(&way);
        }
        self.receive(&mail);
    }

    fn receive(&mut self, mail: &Mail) {
        let seat = usize::from(mail.to.0);
        if self.is_lost(seat) {
            return;
        }
        self.tick(seat);
        self.figures.mails += 1;
        self.say(|| {
            let (id, letter) = (mail.id, decode_letter(&mail.body));
            format!("shard {} has mail {} from {}: {letter:?}", mail.to, id.number, id.from)
        });
        self.seats[seat].shard.receive(mail);
    }

    pub(super) fn checkpoint(&mut self, seat: usize) {
        self.seal(seat);
        let it = &mut self.seats[seat];
        if it.shard.fault().is_some() || it.lost.is_some() {
            return;
        }
        let Some(rows) = it.shard.checkpoint() else { return };
        let upto = rows.upto;
        it.writes.push_back(Pending::Rows(rows));
        self.say(|| format!("shard {seat} makes a checkpoint at {upto}"));
    }

    pub(super) fn store_rows(&mut self, seat: usize) -> Result<(), String> {
        let Some(rows) = self.seats[seat].rows.pop_front() else { return Ok(()) };
        match rows.store(&*self.store, &self.seats[seat].shard.claim()) {
            Ok(()) => {
                self.figures.checkpoints += 1;
                self.say(|| format!("rows of shard {seat} are stored up to {}", rows.upto));
                self.seats[seat].stored.push_back(rows.upto);
                Ok(())
            }
            Err(error) => {
                self.figures.faults += 1;
                self.say(|| format!("rows of shard {seat} cannot be stored: {error}"));
                if let StoreError::Failed { .. } = error { self.lose(seat) } else { self.crash() }
            }
        }
    }

    pub(super) fn tell_stored(&mut self, seat: usize) {
        let it = &mut self.seats[seat];
        if let Some(upto) = it.stored.pop_front() {
            it.shard.stored(upto);
        }
    }

    fn plan_fault(&mut self) {
        if self.random.percent(25) {
            let faults = [ReadFault::Away, ReadFault::Failed];
            let fault = faults[self.random.position(faults.len())];
            *self.read_fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
            self.say(|| format!("what is read next is {fault:?}"));
            return;
        }
        let faults = [
            Fault::Lost,
            Fault::Kept,
            Fault::Full,
            Fault::Away,
            Fault::Failed,
            Fault::Stolen,
            Fault::PoisonedLost,
            Fault::PoisonedKept,
        ];
        let fault = faults[self.random.position(faults.len())];
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        self.say(|| format!("{fault:?} is next"));
    }

    /// An owner that has lost its shard goes on for a while. Nothing must come of it.
    fn haunt(&mut self) -> Result<(), String> {
        let Some(mut seat) = self.zombies.pop() else { return Ok(()) };
        let (id, claim) = (seat.shard.id(), seat.shard.claim());
        self.say(|| format!("the former owner of shard {id} goes on"));
        seat.shard.tick(self.now);
        seat.shard.work();
        while let Some(write) = seat.writes.pop_front() {
            let refused = match write {
                Pending::Batch(sealed) => {
                    let batch = std::slice::from_ref(&sealed.batch);
                    batch[0].is_empty() || self.store.inner().append(&claim, batch).is_err()
                }
                Pending::Rows(rows) => rows.store(self.store.inner(), &claim).is_err(),
            };
            if !refused {
                return Err(format!("the former owner of shard {id} could still write"));
            }
        }
        Ok(())
    }

    /// Another owner takes a shard over.
    fn take_over(&mut self, seat: usize) -> Result<(), String> {
        self.say(|| format!("shard {seat} is taken over"));
        self.figures.takeovers += 1;
        let shard = u16::try_from(seat).expect("there are few shards");
        self.board.clear(|job| ShardId::of(job.instance.0, self.store.shards()).0 == shard);
        let new = match self.open(ShardId(shard)) {
            Ok(new) => new,
            // Rows are stored while a long log is read.
            Err(travertine_runtime::Error::Store(_)) => {
                self.figures.faults += 1;
                return self.crash();
            }
            Err(error) => return Err(unopened(ShardId(shard), &error)),
        };
        let old = std::mem::replace(&mut self.seats[seat], new);
        self.zombies.push(old);
        self.clients.lost(|it| it == shard, self.store.shards());
        // What was on its way to the former owner is in the store, where the new one finds it.
        self.mails.retain(|(_, to), _| *to != shard);
        self.tell_others(shard)
    }

    /// What the former owner of a shard has sent and nobody was told of is found by asking for it, before mails of the
    /// new owner arrive.
    fn tell_others(&mut self, shard: u16) -> Result<(), String> {
        let others: Vec<u16> = (0..self.shards()).filter(|it| *it != shard).collect();
        for other in others {
            let inbox = self.store.inner().inbox(ShardId(other), &[], usize::MAX);
            let inbox = inbox.map_err(|error| error.to_string())?;
            for mail in inbox.iter().filter(|it| it.id.from.0 == shard) {
                self.receive(mail);
            }
        }
        Ok(())
    }

    /// The owner of a shard lets go of it, and of all that it has in memory. Nothing of what was not handed over is
    /// done, and of the rest nobody is told.
    fn lose(&mut self, seat: usize) -> Result<(), String> {
        self.figures.lost += 1;
        self.say(|| format!("shard {seat} is lost"));
        let (it, shards) = (&mut self.seats[seat], self.store.shards());
        let id = it.shard.id();
        let reason = "the store has failed it".to_owned();
        let error = travertine_runtime::Error::Unavailable { shard: id, reason };
        it.lost = Some(it.shard.lost(&error));
        (it.writes, it.rows, it.stored) = Default::default();
        self.board.clear(|job| ShardId::of(job.instance.0, shards) == id);
        self.clients.check(&self.journal)?;
        self.clients.lost(|it| it == id.0, shards);
        Ok(())
    }

    /// A shard that was lost is claimed again.
    fn claim_one_again(&mut self) -> Result<(), String> {
        let lost: Vec<usize> = (0..self.seats.len()).filter(|it| self.is_lost(*it)).collect();
        let Some(seat) = self.random.pick(&lost).copied() else { return Ok(()) };
        self.come_again(seat)
    }

    fn come_again(&mut self, seat: usize) -> Result<(), String> {
        let shard = &self.seats[seat].shard;
        let (id, epoch) = (shard.id(), shard.claim().epoch);
        let how = Claiming::If { owner: "simulation", epoch };
        let claimed = match self.store.claim(id, how) {
            // Somebody has it now.
            Err(StoreError::Stale { .. }) => return self.take_over(seat),
            claimed => claimed.map_err(|error| error.to_string())?,
        };
        // Whatever comes of it, this is the claim that counts from now on.
        self.seats[seat].shard.claimed(claimed.claim);
        let mut new = match self.open_by(claimed.claim) {
            Ok(new) => new,
            Err(travertine_runtime::Error::Store(error)) => {
                self.figures.faults += 1;
                self.say(|| format!("shard {seat} cannot be read again yet: {error}"));
                if let StoreError::Poisoned { .. } = error {
                    return self.crash();
                }
                self.board.clear(|job| ShardId::of(job.instance.0, self.store.shards()) == id);
                return Ok(());
            }
            Err(error) => return Err(unopened(id, &error)),
        };
        if let Some(remains) = self.seats[seat].lost.take() {
            new.shard.inherit(remains);
        }
        self.seats[seat] = new;
        self.say(|| format!("shard {seat} is here again"));
        self.tell_others(id.0)
    }

    /// The process dies, or the whole machine, and everything is opened again.
    fn crash(&mut self) -> Result<(), String> {
        self.figures.crashes += 1;
        let machine = self.random.percent(50);
        self.say(|| format!("a crash of the {}", if machine { "machine" } else { "process" }));
        self.seats.clear();
        self.zombies.clear();
        self.mails.clear();
        self.clients.lost(|_| true, self.store.shards());
        *self.read_fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if machine {
            let seed = self.random.number();
            self.store.crash(seed);
        } else {
            self.store.reopen();
        }
        self.open_all()
    }

    pub(super) fn open_all(&mut self) -> Result<(), String> {
        self.board = Arc::new(Board::default());
        self.note()?;
        self.seats.clear();
        for shard in 0..self.shards() {
            let shard = ShardId(shard);
            let seat = self.open(shard).map_err(|error| unopened(shard, &error))?;
            self.seats.push(seat);
        }
        Ok(())
    }

    fn open(&self, shard: ShardId) -> Result<Seat, travertine_runtime::Error> {
        self.open_by(self.store.take(shard, "simulation")?)
    }

    fn open_by(&self, claim: Claim) -> Result<Seat, travertine_runtime::Error> {
        let opening = Opening {
            functions: Arc::clone(&self.functions),
            store: Arc::clone(&self.store) as Arc<dyn Store>,
            definitions: Arc::clone(&self.definitions),
            board: Arc::clone(&self.board),
            settings: self.settings.clone(),
            now: self.now,
        };
        let (shard, _) = Shard::recover(claim, opening, &mut |_, _| {})?;
        let (writes, rows, stored) = Default::default();
        Ok(Seat { shard, writes, rows, stored, lost: None })
    }

    /// An ended instance is shortened or forgotten.
    fn forget_ended(&mut self, seat: usize) -> Result<(), String> {
        if self.is_lost(seat) {
            return Ok(());
        }
        let id = self.seats[seat].shard.id();
        let mut ended = Vec::new();
        self.store
            .scan(id, Table::Instances, &mut |row| {
                if let Row::Instance(row) = row
                    && row.ended.is_some()
                {
                    ended.push((InstanceId(row.id), row.last, row.root));
                }
                Ok(())
            })
            .map_err(|error| error.to_string())?;
        let root_ended = |root: u64| self.journal.ended.contains(&root);
        ended.retain(|(it, _, root)| root_ended(*root) && !self.retired.contains(&it.0));
        let Some((instance, last, _)) = self.random.pick(&ended).copied() else { return Ok(()) };
        if self.random.percent(70) {
            let folded = self.seats[seat].shard.fold(instance, last);
            self.say(|| format!("instance {instance} is shortened: {folded:?}"));
            // What is left of it says less, so it is to be so before anybody looks.
            self.checkpoint(seat);
        } else if self.seats[seat].shard.retire(instance, last) {
            self.say(|| format!("instance {instance} is forgotten"));
            self.retired.insert(instance.0);
        }
        Ok(())
    }

    /// Carries everything through until nothing is left that could go on by itself.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        self.quiet = true;
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.read_fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.zombies.clear();
        for seat in 0..self.seats.len() {
            if self.seats[seat].shard.fault().is_some() && !self.is_lost(seat) {
                self.lose(seat)?;
            }
            if self.is_lost(seat) {
                self.come_again(seat)?;
            }
        }
        for _ in 0..10_000 {
            let mut busy = false;
            for seat in 0..self.seats.len() {
                self.seats[seat].shard.tick(self.now);
                busy |= self.seats[seat].shard.work();
                self.seal(seat);
                while !self.seats[seat].writes.is_empty() {
                    busy = true;
                    self.write(seat)?;
                }
                while !self.seats[seat].rows.is_empty() {
                    self.store_rows(seat)?;
                }
                while !self.seats[seat].stored.is_empty() {
                    self.tell_stored(seat);
                }
                if let Some(error) = self.seats[seat].shard.fault() {
                    return Err(format!("shard {seat} has failed: {error}"));
                }
            }
            while !self.mails.is_empty() {
                busy = true;
                self.deliver();
            }
            self.clients.check(&self.journal)?;
            if !busy {
                return Ok(());
            }
        }
        Err("it does not come to rest".to_owned())
    }
}

fn unopened(shard: ShardId, error: &travertine_runtime::Error) -> String {
    format!("shard {shard} cannot be opened: {error}")
}
