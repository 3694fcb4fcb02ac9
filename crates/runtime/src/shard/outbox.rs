//! What a shard has to write, and what may be let out once that is durable.
//!
//! Letters to the shard itself wait here too: what is not seen to within a batch is written with it, so
//! that a crash loses nothing of it.

use std::{collections::VecDeque, fmt, sync::Arc};

use travertine_kernel::Event;
use travertine_store::{
    Batch, Claim, Entry, Mail, MailId, Seq, ShardId,
    codec::record::{encode_letter, encode_records, encode_records_by},
    record::{Letter, Record},
};

use super::{Ended, Watcher, settings::Settings};
use crate::{
    Error, InstanceId, Timestamp,
    board::{Board, Handing, Offer},
    request::{Ask, By, Reply, ReplyTo, Request},
    wakes,
};

/// How many events a buffer may have room for that is kept.
const BUFFER_MAX: usize = 256;

/// How many buffers are kept: a turn has one, and another for what its code decides.
const BUFFERS: usize = 2;

/// What is to be written next, and what follows from that.
pub(super) struct Outbox {
    shard: ShardId,
    /// The last entry that was written, or is about to be.
    pub(super) seq: Seq,
    /// Who has asked for what becomes true of instances now, where that is known.
    pub(super) by: Option<Arc<By>>,
    entries: Vec<Entry>,
    bytes: usize,
    sent: Vec<Mail>,
    taken: Vec<MailId>,
    releases: Releases,
    /// What is to be done for this shard's own instances.
    pub(super) letters: VecDeque<Queued>,
    /// How many mails it has numbered.
    mails: u64,
    /// Where entries are put into bytes.
    scratch: Vec<u8>,
    /// Where the events of turns go.
    buffers: Vec<Vec<Event>>,
}

/// A letter that this shard is to see to.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) letter: Letter,
    /// The mail that says so, where the store has one.
    pub(super) mail: Option<MailId>,
    /// How many instances have started one another up to what the letter starts.
    pub(super) generation: u32,
}

/// How far an outbox was filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    seq: Seq,
    entries: usize,
    bytes: usize,
    sent: usize,
    releases: usize,
    letters: usize,
    mails: u64,
}

impl Outbox {
    /// An empty one. Mails are numbered by the claim, so that no two owners give the same number.
    pub(super) fn new(claim: Claim, seq: Seq) -> Self {
        Self {
            shard: claim.shard,
            seq,
            by: None,
            entries: Vec::new(),
            bytes: 0,
            sent: Vec::new(),
            taken: Vec::new(),
            releases: Releases::default(),
            letters: VecDeque::new(),
            mails: claim.epoch << 40,
            scratch: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// How many entries are to be written.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a batch should be sealed before anything else is asked.
    pub(super) fn is_full(&self, settings: &Settings) -> bool {
        self.entries.len() >= settings.batch_entries || self.bytes >= settings.batch_bytes
    }

    /// Sends a letter to the shard that it concerns.
    pub(super) fn send(&mut self, to: ShardId, letter: Letter) {
        self.send_chained(to, letter, 0);
    }

    /// Sends a letter that may start instances of that generation.
    pub(super) fn send_chained(&mut self, to: ShardId, letter: Letter, generation: u32) {
        if to == self.shard {
            self.letters.push_back(Queued { letter, mail: None, generation });
        } else {
            self.mail_chained(to, letter, generation);
        }
    }

    fn mail_chained(&mut self, to: ShardId, letter: Letter, generation: u32) -> MailId {
        if generation > 1 {
            self.mail(to, &Letter::Chained { generation, letter: Box::new(letter) })
        } else {
            // Whoever is told nothing takes it for the first.
            self.mail(to, &letter)
        }
    }

    /// Has the shard itself see to a letter.
    pub(super) fn enqueue(&mut self, letter: Letter) {
        self.letters.push_back(Queued { letter, mail: None, generation: 0 });
    }

    /// Has the shard itself see to a mail.
    pub(super) fn enqueue_mail(&mut self, letter: Letter, mail: MailId) {
        let (letter, generation) = match letter {
            Letter::Chained { generation, letter } => (*letter, generation),
            letter => (letter, 1),
        };
        self.letters.push_back(Queued { letter, mail: Some(mail), generation });
    }

    /// The next letter to see to. Its mail goes with this batch.
    pub(super) fn take_letter(&mut self) -> Option<Queued> {
        let queued = self.letters.pop_front()?;
        self.take(queued.mail);
        Some(queued)
    }

    /// What a mail says is seen to with this batch.
    pub(super) fn take(&mut self, mail: Option<MailId>) {
        self.taken.extend(mail);
    }

    /// Sends the shard itself what it has not come to, so that a crash loses nothing of it.
    pub(super) fn write_down(&mut self, queued: &mut Queued) {
        let Queued { letter, generation, .. } = queued;
        queued.mail = Some(if *generation > 1 {
            self.mail_chained(self.shard, letter.clone(), *generation)
        } else {
            self.mail(self.shard, letter)
        });
    }

    /// Leaves a letter in the inbox for whoever opens the store next.
    pub(super) fn leave(&mut self, letter: &Letter) {
        self.mail(self.shard, letter);
    }

    fn mail(&mut self, to: ShardId, letter: &Letter) -> MailId {
        let mut body = Vec::new();
        encode_letter(letter, &mut body).expect("values are checked where they come in");
        self.mails += 1;
        self.bytes += body.len();
        let id = MailId { from: self.shard, number: self.mails };
        self.sent.push(Mail { id, to, body });
        id
    }

    /// Appends what has become true of the shard itself.
    pub(super) fn append_own(&mut self, at: Timestamp, records: &[Record]) {
        let mut body = Vec::new();
        encode_records(records, &mut body).expect("values are checked where they come in");
        self.push(at, InstanceId::NONE, 0, body);
    }

    /// Appends what has become true of an instance, whose last entry was `previous`. Says how many bytes
    /// that takes.
    pub(super) fn append(
        &mut self,
        at: Timestamp,
        instance: InstanceId,
        previous: Seq,
        records: &[Record],
    ) -> usize {
        self.scratch.clear();
        let encoded = match &self.by {
            None => encode_records(records, &mut self.scratch),
            Some(by) => encode_records_by(records, &by.record(), &mut self.scratch),
        };
        if let Err(error) = encoded {
            panic!("what has happened cannot be stored: {error}");
        }
        // Written elsewhere first, it takes no more room than it needs.
        let body = self.scratch.clone();
        let size = body.len();
        self.push(at, instance, previous, body);
        size
    }

    fn push(&mut self, at: Timestamp, instance: InstanceId, previous: Seq, body: Vec<u8>) {
        self.seq += 1;
        self.bytes += body.len();
        self.entries.push(Entry { seq: self.seq, instance, previous, at, body });
    }

    /// Lets something out once what came before it is durable.
    pub(super) fn release(&mut self, release: Release) {
        self.releases.all.push(release);
    }

    /// Replies once what came before is durable.
    pub(super) fn reply(&mut self, to: ReplyTo, reply: Result<Reply, Error>) {
        self.release(Release::Reply(to, reply));
    }

    /// Tells people something once what came before is durable.
    pub(super) fn notice(&mut self, notice: impl FnOnce() + Send + 'static) {
        self.release(Release::Notice(Box::new(notice)));
    }

    /// Asks another shard, or this one, once what came before is durable. A crash forgets it, and nobody waits for an
    /// answer.
    pub(super) fn ask(&mut self, shard: ShardId, ask: impl Ask) {
        self.release(Release::Ask(shard, Box::new(ask.into_request())));
    }

    /// Jobs for workers of this process who wait for them.
    pub(super) fn handing(&mut self) -> &mut Handing {
        &mut self.releases.handing
    }

    /// Lets everything out at once, where nothing is written.
    pub(super) fn let_out(&mut self, board: &Board) {
        std::mem::take(&mut self.releases).let_out(board, |_, _| {});
    }

    /// Nothing of what is to be written will be: those who asked are told.
    pub(super) fn refuse(&mut self, error: &Error) {
        std::mem::take(&mut self.releases).refuse(error);
    }

    /// A place for the events of a turn.
    pub(super) fn buffer(&mut self) -> Vec<Event> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Keeps the place of events that are over for those of another turn.
    pub(super) fn give_back(&mut self, mut events: Vec<Event>) {
        if events.capacity() <= BUFFER_MAX && self.buffers.len() < BUFFERS {
            events.clear();
            self.buffers.push(events);
        }
    }

    /// Hands over what is to be written. What could not be seen to in this batch is sent to the shard
    /// itself, so that a crash loses nothing of it. It stays in its place here: what was asked later
    /// must not overtake it.
    pub(super) fn seal(&mut self) -> Option<Sealed> {
        let mut letters = std::mem::take(&mut self.letters);
        for queued in letters.iter_mut().filter(|it| it.mail.is_none()) {
            self.write_down(queued);
        }
        self.letters = letters;
        self.bytes = 0;
        let entries = std::mem::take(&mut self.entries);
        let (sent, taken) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.taken));
        let releases = std::mem::take(&mut self.releases);
        let writes = !(entries.is_empty() && sent.is_empty() && taken.is_empty());
        if !writes && releases.all.is_empty() && releases.handing.is_empty() {
            return None;
        }
        // The next batch will be about as large.
        self.entries.reserve(entries.len());
        self.releases.all.reserve(releases.all.len());
        let batch = Batch { entries, sent, taken };
        Some(Sealed { shard: self.shard, batch, releases })
    }

    /// How far it is filled.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            seq: self.seq,
            entries: self.entries.len(),
            bytes: self.bytes,
            sent: self.sent.len(),
            releases: self.releases.all.len(),
            letters: self.letters.len(),
            mails: self.mails,
        }
    }

    /// Drops what has come since the mark, all of it on behalf of one instance, except for those who are
    /// to hear how it ended: they go on waiting. Since then no letter was taken and nothing was sealed.
    /// No worker of this process is given work of that instance.
    pub(super) fn roll_back(&mut self, mark: Mark, instance: InstanceId) -> Vec<Watcher> {
        self.seq = mark.seq;
        self.entries.truncate(mark.entries);
        self.bytes = mark.bytes;
        self.sent.truncate(mark.sent);
        self.releases.handing.forget(instance);
        self.letters.truncate(mark.letters);
        self.mails = mark.mails;
        let dropped = self.releases.all.drain(mark.releases..);
        let watchers = dropped.filter_map(|it| match it {
            Release::Ended(watcher, _) => Some(watcher),
            Release::Reply(..)
            | Release::Notice(_)
            | Release::Ask(..)
            | Release::Offer(_)
            | Release::Withdraw(_) => None,
        });
        watchers.collect()
    }
}

/// Something that may be let out once what came before it is durable.
pub(crate) enum Release {
    /// An answer, and who is told it.
    Reply(ReplyTo, Result<Reply, Error>),
    /// How an instance ended, for someone who waits for that; or why it has not.
    Ended(Watcher, Box<Result<Ended, Error>>),
    /// Something that people are told.
    Notice(Box<dyn FnOnce() + Send>),
    /// What a shard is asked.
    Ask(ShardId, Box<Request>),
    /// A job that a worker may have.
    Offer(Offer),
    /// A job that no worker may have any more.
    Withdraw(Offer),
}

impl Release {
    /// Lets it out.
    fn let_out(self, board: &Board, ask: &mut impl FnMut(ShardId, Request)) {
        match self {
            Self::Reply(to, reply) => to.send(reply),
            Self::Ended(watcher, ended) => watcher.to.send(ended.map(Reply::Await)),
            Self::Notice(notice) => notice(),
            Self::Ask(shard, request) => ask(shard, *request),
            Self::Offer(offer) => board.offer(&offer),
            Self::Withdraw(offer) => board.withdraw(&offer),
        }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(to, _) => f.debug_tuple("Reply").field(to).finish_non_exhaustive(),
            Self::Ended(_, ended) => f.debug_tuple("Ended").field(ended).finish(),
            Self::Notice(_) => f.write_str("Notice"),
            Self::Ask(shard, request) => f.debug_tuple("Ask").field(shard).field(request).finish(),
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
    fn let_out(self, board: &Board, mut ask: impl FnMut(ShardId, Request)) {
        wakes::together(|| {
            self.handing.put();
            self.all.into_iter().for_each(|it| it.let_out(board, &mut ask));
        });
    }

    /// Lets nothing out: those who asked are told why.
    fn refuse(self, error: &Error) {
        for it in self.all {
            match it {
                Release::Reply(to, _) | Release::Ended(Watcher { to, .. }, _) => {
                    to.send(Err(error.clone()));
                }
                Release::Notice(_)
                | Release::Ask(..)
                | Release::Offer(_)
                | Release::Withdraw(_) => {}
            }
        }
    }
}

/// What is to be written, and what may be let out after that.
#[derive(Debug)]
pub struct Sealed {
    /// Whose it is.
    pub(crate) shard: ShardId,
    /// What is to be written.
    pub batch: Batch,
    /// What may be let out once it is.
    pub(crate) releases: Releases,
}

impl Sealed {
    /// Lets out what waited for the batch, and gives the mails it has sent to other shards.
    pub fn release(mut self, board: &Board) -> Vec<Mail> {
        let mails = self.take_mails();
        self.let_out(board, |_, _| {});
        mails
    }

    /// Takes what may be let out, beside a batch that was taken before. Nothing is left of it here.
    pub(crate) fn take_with(&mut self, batch: Batch) -> Self {
        Self { shard: self.shard, batch, releases: std::mem::take(&mut self.releases) }
    }

    /// It is not written: those who asked are told why.
    pub(crate) fn refuse(self, error: &Error) {
        self.releases.refuse(error);
    }

    /// Lets out what waited for the batch; `ask` asks shards.
    pub(crate) fn let_out(self, board: &Board, ask: impl FnMut(ShardId, Request)) {
        self.releases.let_out(board, ask);
    }

    /// The mails that it has sent to other shards, once.
    pub(crate) fn take_mails(&mut self) -> Vec<Mail> {
        let mut sent = std::mem::take(&mut self.batch.sent);
        sent.retain(|it| it.to != it.id.from);
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use travertine_kernel::WaitId;

    use crate::Address;

    fn outbox() -> Outbox {
        let claim = Claim { shard: ShardId(1), epoch: 3 };
        Outbox::new(claim, 7)
    }

    fn ring(instance: InstanceId) -> Letter {
        Letter::Ring { to: Address { instance, wait: WaitId(1) } }
    }

    #[test]
    fn what_came_since_a_mark_is_dropped_and_nothing_else() {
        let at = Timestamp::from_millis(5);
        let mut outbox = outbox();
        outbox.append(at, InstanceId(4), 0, &[Record::Suspended]);
        outbox.send(ShardId(0), ring(InstanceId(4)));
        outbox.enqueue(ring(InstanceId(5)));
        outbox.notice(|| {});
        let mark = outbox.mark();
        outbox.append(at, InstanceId(6), 0, &[Record::Suspended]);
        outbox.append_own(at, &[Record::Gone { message: 1 }]);
        outbox.send(ShardId(0), ring(InstanceId(6)));
        outbox.send(ShardId(1), ring(InstanceId(6)));
        outbox.notice(|| {});
        assert!(outbox.roll_back(mark, InstanceId(6)).is_empty());
        outbox.append(at, InstanceId(8), 0, &[Record::Suspended]);
        let Sealed { batch, releases, .. } = outbox.seal().expect("something is to be written");
        let entries: Vec<_> = batch.entries.iter().map(|it| (it.seq, it.instance.0)).collect();
        assert_eq!(entries, [(8, 4), (9, 8)]);
        let sent: Vec<_> = batch.sent.iter().map(|it| (it.to, it.id.number - (3 << 40))).collect();
        assert_eq!(sent, [(ShardId(0), 1), (ShardId(1), 2)]);
        assert_eq!(releases.all.len(), 1);
    }

    #[test]
    fn a_letter_that_is_left_over_is_mailed_to_the_shard_itself_once() {
        let mut outbox = outbox();
        outbox.enqueue(ring(InstanceId(5)));
        let first = outbox.seal().expect("the letter is kept").batch;
        assert_eq!((first.sent.len(), first.taken.len()), (1, 0));
        assert!(outbox.seal().is_none());
        let queued = outbox.take_letter().expect("it stays in its place");
        assert_eq!(queued.mail, Some(first.sent[0].id));
        let second = outbox.seal().expect("it is seen to").batch;
        assert_eq!((second.sent.len(), second.taken.len()), (0, 1));
    }
}
