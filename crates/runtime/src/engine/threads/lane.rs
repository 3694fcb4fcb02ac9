//! The thread that decides, for all shards of a lane.
//!
//! A shard stays in its lane for as long as it is here: the code of functions cannot change threads. One that is lost
//! leaves the lane, and comes back to it once it was claimed and read again.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use travertine_store::ShardId;
use travertine_value::interrupt::{Interrupted, interrupt_by};

use super::{
    super::{
        metrics::add,
        queue::{Queue, Taken},
    },
    Common, ENOUGH, Input, Signal, Write, Writer, refuse_all,
    write::commit,
};
use crate::{
    Error, Sealed, Shard,
    request::{Ask as _, FlushRequest, Needs, ReplyTo, Request},
    shard::{Case, Remains, panic_text},
};

/// How much of what waits is looked at beforehand at most: about as much as a batch can take.
const FORESEEN_MAX: usize = 4_096;

/// How much of it is looked at in any case.
const FORESEEN_MIN: usize = 128;

/// Decides for the shards of a lane, until all of them have ended.
pub(in crate::engine) fn decide(common: &Common, mut lane: Lane, writer: &Writer) {
    interrupt_by(Arc::clone(&common.stopping));
    while common.fault.get().is_none() {
        lane.hear(common);
        lane.act(common, writer);
        while let Some(write) = lane.writes.pop_front() {
            if !writer.tell(write) {
                return;
            }
        }
        if lane.is_over(common) {
            return;
        }
    }
}

/// What decides for the shards of a lane. It hears what there is, acts on it, and has batches and rows to hand over;
/// then it is over, or hears again.
pub(in crate::engine) struct Lane {
    number: usize,
    pub(super) seats: Vec<Seat>,
    /// What was heard and is not done yet, of each shard.
    pub(super) taken: Vec<Taken<Input, Signal>>,
    /// The seat that acts first, for the others to have their turn.
    first: usize,
    /// What is to be handed to the thread that writes, in order.
    pub(super) writes: VecDeque<Write>,
}

impl Lane {
    /// The lane of that number with its shards, in the order of their numbers.
    pub(in crate::engine) fn new(number: usize, shards: Vec<Shard>) -> Self {
        let seats: Vec<Seat> = shards.into_iter().map(Seat::new).collect();
        let taken = seats.iter().map(|_| Taken::default()).collect();
        Self { number, seats, taken, first: 0, writes: VecDeque::new() }
    }

    pub(super) fn queue<'a>(&self, common: &'a Common) -> &'a Queue<Input, Signal> {
        &common.lanes[self.number]
    }

    /// How long there is nothing to do, if nobody asks; for ever where nothing is said. Who waits only for signals
    /// takes nothing else.
    pub(super) fn pause(&mut self, common: &Common) -> Option<Duration> {
        let mut most = None;
        for (seat, taken) in self.seats.iter().zip(&mut self.taken) {
            let wait = seat.wait(common);
            taken.is_deaf = wait == Wait::Signals;
            if let Wait::News(Some(pause)) = wait {
                most = Some(most.map_or(pause, |it: Duration| it.min(pause)));
            }
        }
        most
    }

    /// Takes what there is, as soon as there is something.
    pub(super) fn hear(&mut self, common: &Common) {
        let most = self.pause(common);
        for seat in &self.seats {
            // Whoever finds it asleep knows how it stands.
            common.claims.set_behind(seat.id, seat.is_behind());
        }
        self.queue(common).take(&mut self.taken, most);
        for (seat, taken) in self.seats.iter_mut().zip(&mut self.taken) {
            for signal in taken.signals.drain(..) {
                seat.heed(common, signal, &mut taken.items, &mut self.writes);
            }
        }
    }

    /// Has the shards do what was asked and what is due, one after the other, and gathers what there is to write.
    pub(super) fn act(&mut self, common: &Common, writer: &Writer) {
        let mut sealed: Vec<Sealed> = Vec::new();
        let (mut unwritten, seats) = (0, self.seats.len());
        let mut next = self.first;
        for _ in 0..seats {
            if unwritten >= ENOUGH && writer.is_idle() {
                break;
            }
            let (seat, taken) = (&mut self.seats[next], &mut self.taken[next]);
            if !taken.is_deaf
                && let Some(it) =
                    seat.try_act(common, writer, &mut taken.items, unwritten, &mut self.writes)
            {
                unwritten += it.batch.entries.len();
                sealed.push(it);
            }
            next = (next + 1) % seats;
        }
        self.first = next;
        if sealed.is_empty() {
            // There is nothing to write.
        } else if writer.takes_few(common, &sealed) {
            commit(common, sealed);
        } else {
            self.writes.push_back(Write::Batches(sealed));
        }
        for (seat, taken) in self.seats.iter_mut().zip(&self.taken) {
            if !taken.is_deaf {
                self.writes.extend(seat.rows(common));
            }
        }
    }

    /// Whether all shards were stopped and have done everything that was asked before.
    pub(super) fn is_over(&mut self, common: &Common) -> bool {
        let mut all = true;
        for (seat, taken) in self.seats.iter_mut().zip(&self.taken) {
            let has_more = !taken.items.is_empty() || common.queue(seat.id).len() > 0;
            all &= seat.end(has_more);
        }
        all
    }
}

/// The place of a shard in its lane.
pub(super) struct Seat {
    pub(super) id: ShardId,
    /// Not there while it is lost, and at the end.
    shard: Option<Shard>,
    /// What is kept of it while it is lost.
    remains: Option<Remains>,
    flushes: Vec<ReplyTo>,
    /// How many instances were in memory when that was counted last.
    in_memory: u64,
    /// Whether rows were handed over that are not stored yet.
    storing: bool,
    stopping: bool,
    last_rows: Instant,
    /// How much of what waits is looked at beforehand, and taken at most: twice as much as was taken last, so that
    /// looking costs no more than doing, however much waits.
    foreseen: usize,
    /// How often in a row the store was away when it was asked for what a batch needs.
    away: u32,
}

/// What a shard waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Anything, but no longer than that.
    News(Option<Duration>),
    /// A signal: the shard is not here, or so much has changed that nothing more is taken on before rows are stored.
    Signals,
}

impl Seat {
    fn new(shard: Shard) -> Self {
        Self {
            id: shard.id(),
            shard: Some(shard),
            remains: None,
            flushes: Vec::new(),
            in_memory: 0,
            storing: false,
            stopping: false,
            last_rows: Instant::now(),
            foreseen: FORESEEN_MIN,
            away: 0,
        }
    }

    pub(super) fn wait(&self, common: &Common) -> Wait {
        let Some(shard) = &self.shard else { return Wait::Signals };
        if self.storing && shard.changed() >= common.pace.changed_max {
            return Wait::Signals;
        }
        if self.stopping && !self.storing {
            return Wait::News(Some(Duration::ZERO));
        }
        Wait::News(pause(common, shard, self.last_rows, self.storing))
    }

    /// Whether stored rows do not show all there is.
    fn is_behind(&self) -> bool {
        self.storing || self.shard.as_ref().is_none_or(Shard::is_behind)
    }

    /// Acts on a signal.
    fn heed(
        &mut self,
        common: &Common,
        signal: Signal,
        inputs: &mut VecDeque<Input>,
        writes: &mut VecDeque<Write>,
    ) {
        match (signal, &mut self.shard) {
            (Signal::Stored(upto), Some(shard)) => {
                self.storing = false;
                shard.stored(upto);
            }
            (Signal::Unstored, _) => self.storing = false,
            (Signal::Claimed(claim), Some(shard)) => shard.claimed(claim),
            (Signal::Came(shard), None) => self.come(*shard),
            (Signal::Lost, _) => {
                self.leave(common, inputs, writes);
                self.dismiss(common);
            }
            (Signal::Stop, _) => self.stopping = true,
            // What concerns a shard that was lost since does not concern the one that comes.
            (Signal::Stored(_) | Signal::Claimed(_) | Signal::Came(_), _) => {}
        }
    }

    /// Has the shard act. It is lost where it fails outside of any instance: what it has in memory is not to be trusted
    /// then, and the others go on.
    fn try_act(
        &mut self,
        common: &Common,
        writer: &Writer,
        inputs: &mut VecDeque<Input>,
        unwritten: usize,
        writes: &mut VecDeque<Write>,
    ) -> Option<Sealed> {
        let acted = catch_unwind(AssertUnwindSafe(|| self.act(common, writer, inputs, unwritten)));
        match acted {
            Ok(Ok(sealed)) => return sealed,
            Ok(Err(error)) => {
                common.lose(self.id, &error);
                self.leave(common, inputs, writes);
            }
            // A script that takes long does not hold up the end. Nothing of the batch is written: who opens the
            // store next begins with what was before it.
            Err(panic) if panic.is::<Interrupted>() => self.close(),
            Err(panic) => {
                let reason = format!("the engine failed: {}", panic_text(&*panic));
                common.lose(self.id, &Error::Failed { reason });
                self.leave(common, inputs, writes);
            }
        }
        None
    }

    /// Does what was asked, as far as one batch has room, and what is due. Other shards of the lane have so many entries
    /// to write.
    fn act(
        &mut self,
        common: &Common,
        writer: &Writer,
        inputs: &mut VecDeque<Input>,
        unwritten: usize,
    ) -> Result<Option<Sealed>, Error> {
        let Some(shard) = &mut self.shard else { return Ok(None) };
        shard.tick(common.clock.now());
        shard.foresee(inputs.iter().take(self.foreseen).filter_map(|it| match it {
            Input::Mail(mail) => Some(Case::Mail(mail.id)),
            Input::Ask(Request::EndAttempt(it), _) => Some(Case::attempt(it.given.job)),
            _ => None,
        }));
        let is_far = !common.store.is_near();
        if is_far && let Err(error) = shard.fetch(needs(inputs.iter().take(self.foreseen))) {
            return self.wait_for_store(common, error);
        }
        self.away = 0;
        let mut taken = 0;
        while taken < self.foreseen
            && let Some(input) = inputs.pop_front()
        {
            taken += 1;
            match input {
                Input::Ask(Request::Flush(_), to) => self.flushes.push(to),
                Input::Ask(request, to) => shard.request(request, to),
                Input::Mail(mail) => shard.receive(&mail),
                Input::Wake => {}
            }
            let enough = unwritten + shard.unwritten() >= ENOUGH && writer.is_idle();
            if shard.is_full() || enough {
                break;
            }
        }
        self.foreseen = (2 * taken).clamp(FORESEEN_MIN, FORESEEN_MAX);
        shard.work();
        if is_far {
            shard.forget_fetched();
        }
        if let Some(error) = shard.fault() {
            return Err(error.clone());
        }
        add(&common.counters.events, shard.take_events());
        Ok(shard.seal())
    }

    /// What a batch needs cannot be read now: nothing of it is begun, and it is tried again.
    fn wait_for_store(&mut self, common: &Common, error: Error) -> Result<Option<Sealed>, Error> {
        if let Some(shard) = &mut self.shard {
            shard.forget_fetched();
        }
        if !common.goes_on() {
            return Err(error);
        }
        self.away += 1;
        common.wait_for_store(&error.to_string(), self.away);
        Ok(None)
    }

    /// The rows that are to be stored now.
    fn rows(&mut self, common: &Common) -> Option<Write> {
        let shard = self.shard.as_mut().filter(|_| !common.claims.is_lost(self.id))?;
        let due = shard.is_behind() && self.last_rows.elapsed() >= common.pace.interval;
        let wanted = shard.changed() >= common.pace.changed || due || self.stopping;
        if (!wanted || self.storing) && self.flushes.is_empty() {
            return None;
        }
        let checkpoint = shard.checkpoint();
        let flushed = std::mem::take(&mut self.flushes);
        self.last_rows = Instant::now();
        if checkpoint.is_none() && flushed.is_empty() {
            return None;
        }
        self.storing = checkpoint.is_some() || self.storing;
        let counted = std::mem::replace(&mut self.in_memory, shard.len() as u64);
        add(&common.counters.in_memory, self.in_memory);
        common.counters.in_memory.fetch_sub(counted, Ordering::Relaxed);
        Some(Write::Rows(self.id, checkpoint, flushed))
    }

    /// The shard is lost. What it was asked and has not begun with waits until it comes again.
    fn leave(
        &mut self,
        common: &Common,
        inputs: &mut VecDeque<Input>,
        writes: &mut VecDeque<Write>,
    ) {
        let Some(mut shard) = self.shard.take() else { return };
        let error = common.refusal(self.id);
        self.remains = Some(shard.lost(&error));
        common.clear_jobs(self.id);
        common.counters.in_memory.fetch_sub(std::mem::take(&mut self.in_memory), Ordering::Relaxed);
        self.storing = false;
        let flushes =
            self.flushes.drain(..).map(|it| Input::Ask(FlushRequest {}.into_request(), it));
        let waiting = flushes.chain(inputs.drain(..)).collect();
        if let Err(waiting) = common.queue(self.id).put_back(waiting) {
            refuse_all(waiting, &error);
        }
        writes.push_back(Write::Left(self.id));
    }

    /// Nobody need wait for a shard that somebody else has now.
    fn dismiss(&mut self, common: &Common) {
        if !common.claims.is_gone(self.id) {
            return;
        }
        let error = common.refusal(self.id);
        refuse_all(common.queue(self.id).shut(error.clone()), &error);
        if let Some(remains) = self.remains.take() {
            remains.refuse(&error);
        }
    }

    /// The shard was claimed and read again.
    fn come(&mut self, mut shard: Shard) {
        if let Some(remains) = self.remains.take() {
            shard.inherit(remains);
        }
        self.last_rows = Instant::now();
        self.shard = Some(shard);
    }

    /// Ends the shard, where it was stopped and has done everything. Says whether it has ended.
    fn end(&mut self, has_more: bool) -> bool {
        let is_done = self.shard.as_ref().is_none_or(|it| !has_more && it.changed() == 0);
        let ends = self.stopping && is_done;
        if ends {
            self.close();
        }
        ends
    }

    fn close(&mut self) {
        if let Some(mut shard) = self.shard.take() {
            shard.close();
        }
    }
}

/// What will be needed for this.
fn needs<'a>(inputs: impl Iterator<Item = &'a Input>) -> Needs {
    let mut needs = Needs::default();
    for input in inputs {
        match input {
            Input::Ask(request, _) => needs.note_request(request),
            Input::Mail(mail) => Shard::note_mail(&mut needs, &mail.body),
            Input::Wake => {}
        }
    }
    needs
}

/// How long the shard has nothing to do, if nobody asks.
fn pause(common: &Common, shard: &Shard, last_rows: Instant, storing: bool) -> Option<Duration> {
    if shard.is_busy() {
        return Some(Duration::ZERO);
    }
    let rows = (shard.is_behind() && !storing)
        .then(|| common.pace.interval.saturating_sub(last_rows.elapsed()));
    let due = common.clock.runs().then(|| shard.next_due()).flatten().map(|due| {
        let left = due.as_millis().saturating_sub(common.clock.now().as_millis());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    rows.into_iter().chain(due).min()
}
