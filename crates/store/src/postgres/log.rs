//! The log: entries, owners and mails.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio_postgres::{Error as PgError, Row};
use travertine_value::time::Timestamp;

use super::{
    fault::{self, Of},
    link::{Lines, Link, Param, Pool, Sent, together, wait},
    text::{escape, unescape},
};
use crate::{
    Append, Claim, Claimed, Claiming, Entry, Error, Fold, InstanceId, Mail, MailId, Owner, Seq,
    ShardId, codec, crash_point, sum,
};

/// How many connections write.
const WRITERS: usize = 4;

/// About so many bytes go with one statement; one entry may have more.
const STATEMENT_BYTES: usize = 4 << 20;

/// After so many bytes no more entries are read at once.
const READ_BYTES_MAX: usize = 64 << 20;

/// How often what stands in somebody's way is tried again.
const CLASHES_MAX: u32 = 10;

/// Claims are numbered below this: mails have the number of the claim in their own.
const EPOCHS: i64 = 1 << 23;

/// The one statement of an append: whoever does not have the shard any more, or does not follow on its end, writes
/// nothing, and is not in the answer.
const APPEND: &str = "WITH f AS (
        UPDATE shards s SET last = coalesce(u.upto, s.last), mails = greatest(s.mails, u.mails),
            entries = s.entries + u.entries, digest = s.digest + u.digest
        FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS u(shard, epoch, prior, upto, mails, entries, digest)
        WHERE s.shard = u.shard AND s.epoch = u.epoch AND s.last = coalesce(u.prior, s.last)
        RETURNING s.shard
    ), l AS (
        INSERT INTO log (shard, seq, instance, previous, at, sum, body)
        SELECT e.shard, e.seq, e.instance, e.previous, e.at, e.sum, e.body
        FROM unnest($8::smallint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[])
            AS e(shard, seq, instance, previous, at, sum, body)
        JOIN f ON f.shard = e.shard
    ), i AS (
        INSERT INTO inbox (receiver, sender, number, sum, body)
        SELECT m.receiver, m.sender, m.number, m.sum, m.body
        FROM unnest($15::smallint[], $16::smallint[], $17::smallint[], $18::bigint[], $19::bigint[], $20::bytea[])
            AS m(shard, receiver, sender, number, sum, body)
        JOIN f ON f.shard = m.shard
        ON CONFLICT (receiver, sender, number) DO UPDATE SET sum = excluded.sum, body = excluded.body
    ), d AS (
        DELETE FROM inbox b USING unnest($21::smallint[], $22::smallint[], $23::bigint[]) AS t(shard, sender, number)
        JOIN f ON f.shard = t.shard
        WHERE b.receiver = t.shard AND b.sender = t.sender AND b.number = t.number
    )
    SELECT shard FROM f";

/// The one statement of an append by those that neither send nor take mails.
pub(super) const APPEND_ENTRIES: &str = "WITH f AS (
        UPDATE shards s SET last = coalesce(u.upto, s.last), entries = s.entries + u.entries, digest = s.digest + u.digest
        FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
            AS u(shard, epoch, prior, upto, entries, digest)
        WHERE s.shard = u.shard AND s.epoch = u.epoch AND s.last = coalesce(u.prior, s.last)
        RETURNING s.shard
    ), l AS (
        INSERT INTO log (shard, seq, instance, previous, at, sum, body)
        SELECT e.shard, e.seq, e.instance, e.previous, e.at, e.sum, e.body
        FROM unnest($7::smallint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[])
            AS e(shard, seq, instance, previous, at, sum, body)
        JOIN f ON f.shard = e.shard
    )
    SELECT shard FROM f";

/// Whether a claim holds, with the row of the shard held so that nobody claims it before the end of the transaction.
/// It fails where the claim does not hold.
pub(super) const FENCE: &str = "SELECT 1 / count(*) FROM (
        SELECT 1 FROM shards WHERE shard = $1 AND epoch = $2 AND last >= $3 FOR KEY SHARE) f";

/// Begins what is durable with the next commit that is.
pub(super) const BEGIN_LATER: &str = "BEGIN; SET LOCAL synchronous_commit = off";

const CHAINS: &str = "WITH RECURSIVE c AS (
        SELECT k.nth, k.after, l.seq, l.instance, l.previous, l.at, l.sum, l.body
        FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS k(last, after, nth)
        CROSS JOIN LATERAL (
            SELECT * FROM log WHERE log.shard = $1 AND log.seq = k.last LIMIT 1) l
        WHERE k.last > k.after
        UNION ALL
        SELECT c.nth, c.after, l.seq, l.instance, l.previous, l.at, l.sum, l.body
        FROM c CROSS JOIN LATERAL (
            SELECT * FROM log WHERE log.shard = $1 AND log.seq = c.previous LIMIT 1) l
        WHERE c.previous > c.after AND c.previous < c.seq
    ) SELECT nth, seq, instance, previous, at, sum, body FROM c ORDER BY nth, seq DESC";

/// The log of all shards.
#[derive(Debug)]
pub(super) struct Log {
    writers: Vec<Writer>,
    /// What the next claim of a shard is recognised by, where its answer is lost.
    nonces: Vec<AtomicU64>,
}

/// A connection that appends, and who waits for it.
#[derive(Debug)]
struct Writer {
    pool: Pool,
    queue: Mutex<Queue>,
    turn: Condvar,
}

/// Who waits while someone else commits.
#[derive(Debug, Default)]
struct Queue {
    busy: bool,
    tickets: u64,
    waiting: Vec<Waiting>,
    done: BTreeMap<u64, Vec<Result<(), Error>>>,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    appends: Vec<(Claim, Vec<crate::Batch>)>,
}

/// A number as PostgreSQL has it. What is greater than any was never written.
pub(super) fn number(it: u64) -> i64 {
    i64::try_from(it).unwrap_or(i64::MAX)
}

/// A number that was written as one that is not negative.
pub(super) fn count(row: &Row, column: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or(0)
}

pub(super) fn shard(it: ShardId) -> i16 {
    i16::try_from(it.0).unwrap_or(i16::MAX)
}

pub(super) fn shard_of(row: &Row, column: usize) -> ShardId {
    ShardId(u16::try_from(row.get::<_, i16>(column)).unwrap_or(0))
}

/// An entry, from the column `at` on. Of one whose checksum is wrong nobody gets to see the body.
pub(super) fn entry(shard: ShardId, row: &Row, at: usize) -> (Entry, u32) {
    let mut entry = Entry {
        seq: count(row, at),
        instance: InstanceId(count(row, at + 1)),
        previous: count(row, at + 2),
        at: Timestamp::from_millis(row.get(at + 3)),
        body: row.get(at + 5),
    };
    let sum = u32::try_from(row.get::<_, i64>(at + 4)).unwrap_or(0);
    if sum != sum::entry(shard, &entry) {
        entry.body = codec::damaged();
    }
    (entry, sum)
}

/// What one statement appends.
#[derive(Default)]
struct Statement<'a> {
    shards: Vec<i16>,
    epochs: Vec<i64>,
    priors: Vec<Option<i64>>,
    uptos: Vec<Option<i64>>,
    mails: Vec<i64>,
    entries: Vec<i64>,
    digests: Vec<i64>,
    of: Vec<i16>,
    seqs: Vec<i64>,
    instances: Vec<i64>,
    previous: Vec<i64>,
    ats: Vec<i64>,
    sums: Vec<i64>,
    bodies: Vec<&'a [u8]>,
    sent: BTreeMap<(ShardId, MailId), (i16, &'a Mail)>,
    taken: BTreeSet<(ShardId, MailId)>,
}

impl<'a> Statement<'a> {
    /// Adds what somebody appends.
    fn add(&mut self, append: &Append<'a>) {
        let own = append.claim.shard;
        let entries = || append.batches.iter().flat_map(|it| &it.entries);
        self.shards.push(shard(own));
        self.epochs.push(number(append.claim.epoch));
        self.priors.push(entries().next().map(|it| number(it.seq) - 1));
        self.uptos.push(entries().last().map(|it| number(it.seq)));
        let (mut digest, mut many) = (0, 0);
        for it in entries() {
            let sum = i64::from(sum::entry(own, it));
            self.of.push(shard(own));
            self.seqs.push(number(it.seq));
            self.instances.push(number(it.instance.0));
            self.previous.push(number(it.previous));
            self.ats.push(it.at.as_millis());
            self.sums.push(sum);
            self.bodies.push(&it.body);
            digest += sum;
            many += 1;
        }
        self.entries.push(many);
        self.digests.push(digest);
        let mut mails = 0;
        for batch in append.batches {
            for it in &batch.sent {
                if it.id.from == own {
                    mails = it.id.number.max(mails);
                }
                self.taken.remove(&(it.to, it.id));
                self.sent.insert((it.to, it.id), (shard(own), it));
            }
            for id in &batch.taken {
                // Parts of one statement do not see each other.
                self.sent.remove(&(own, *id));
                self.taken.insert((own, *id));
            }
        }
        self.mails.push(number(mails));
    }

    async fn send(&self, link: &mut Link) -> Result<Vec<Row>, PgError> {
        let Self { shards, epochs, priors, uptos, mails, entries, digests, .. } = self;
        let Self { of, seqs, instances, previous, ats, sums, bodies, sent, taken, .. } = self;
        if sent.is_empty() && taken.is_empty() {
            let params: [Param<'_>; 13] = [
                shards, epochs, priors, uptos, entries, digests, of, seqs, instances, previous,
                ats, sums, bodies,
            ];
            return link.rows(APPEND_ENTRIES, &params).await;
        }
        let senders: Vec<i16> = sent.values().map(|it| it.0).collect();
        let receivers: Vec<i16> = sent.keys().map(|it| shard(it.0)).collect();
        let from: Vec<i16> = sent.keys().map(|it| shard(it.1.from)).collect();
        let numbers: Vec<i64> = sent.keys().map(|it| number(it.1.number)).collect();
        let mail_sums: Vec<i64> = sent.values().map(|it| i64::from(sum::mail(it.1))).collect();
        let mail_bodies: Vec<&[u8]> = sent.values().map(|it| &*it.1.body).collect();
        let takers: Vec<i16> = taken.iter().map(|it| shard(it.0)).collect();
        let taken_from: Vec<i16> = taken.iter().map(|it| shard(it.1.from)).collect();
        let taken_numbers: Vec<i64> = taken.iter().map(|it| number(it.1.number)).collect();
        let params: [Param<'_>; 23] = [
            shards,
            epochs,
            priors,
            uptos,
            mails,
            entries,
            digests,
            of,
            seqs,
            instances,
            previous,
            ats,
            sums,
            bodies,
            &senders,
            &receivers,
            &from,
            &numbers,
            &mail_sums,
            &mail_bodies,
            &takers,
            &taken_from,
            &taken_numbers,
        ];
        link.rows(APPEND, &params).await
    }
}

/// How many bytes somebody appends.
fn bytes(append: &Append<'_>) -> usize {
    let entries = append.batches.iter().flat_map(|it| &it.entries).map(|it| it.body.len() + 64);
    let mails = append.batches.iter().flat_map(|it| &it.sent).map(|it| it.body.len() + 64);
    entries.chain(mails).sum()
}

/// Those that go with one statement: of each shard one, none that takes what another one sends, not too much.
fn together_of(appends: &[(usize, Append<'_>)]) -> Vec<usize> {
    let (mut shards, mut sent) = (BTreeSet::new(), BTreeSet::new());
    let (mut size, mut chosen) = (0, Vec::new());
    for (at, (_, append)) in appends.iter().enumerate() {
        let own = append.claim.shard;
        let mut taken = append.batches.iter().flat_map(|it| &it.taken);
        let bytes = bytes(append);
        if size > 0 && size + bytes > STATEMENT_BYTES {
            break;
        }
        if shards.insert(own) && !taken.any(|it| sent.contains(&(own, *it))) {
            size += bytes;
            let mails = append.batches.iter().flat_map(|it| &it.sent);
            sent.extend(mails.map(|it| (it.to, it.id)));
            chosen.push(at);
        }
    }
    // In one order for all who write, so that nobody waits in a circle.
    chosen.sort_by_key(|at| appends[*at].1.claim.shard);
    chosen
}

impl Writer {
    /// Appends, together with whoever asks for it at the same time.
    fn append(&self, lines: &Lines, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let lock = || self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queue = lock();
        let mut ticket = None;
        loop {
            if let Some(done) = ticket.and_then(|it| queue.done.remove(&it)) {
                return done;
            }
            if !queue.busy {
                break;
            }
            if ticket.is_none() {
                queue.tickets += 1;
                ticket = Some(queue.tickets);
                let ticket = queue.tickets;
                let copy = |it: &Append<'_>| (it.claim, it.batches.to_vec());
                queue.waiting.push(Waiting { ticket, appends: appends.iter().map(copy).collect() });
            }
            queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        // It is this thread's turn, for all who wait.
        queue.busy = true;
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        let mut all: Vec<Append<'_>> = waiting
            .iter()
            .flat_map(|it| &it.appends)
            .map(|(claim, batches)| Append { claim: *claim, batches })
            .collect();
        if ticket.is_none() {
            all.extend_from_slice(appends);
        }
        let mut answers = self.commit(lines, &all).into_iter();
        let mut queue = lock();
        for it in &waiting {
            let own = answers.by_ref().take(it.appends.len()).collect();
            queue.done.insert(it.ticket, own);
        }
        queue.busy = false;
        let own = match ticket {
            None => answers.collect(),
            Some(ticket) => queue.done.remove(&ticket).expect("whoever waits has an answer"),
        };
        drop(queue);
        self.turn.notify_all();
        own
    }

    /// Commits what it can of them, each shard's in order.
    fn commit(&self, lines: &Lines, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let mut answers = vec![Ok(()); appends.len()];
        let mut left: Vec<(usize, Append<'_>)> = Vec::new();
        for (at, append) in appends.iter().enumerate() {
            // What does not follow on itself need not be sent.
            let first = append.batches.iter().find_map(|it| it.entries.first());
            match first.map_or(Ok(0), |it| append.follow(it.seq.saturating_sub(1))) {
                Ok(_) => left.push((at, *append)),
                Err(error) => answers[at] = Err(self.why(lines, append).unwrap_or(error)),
            }
        }
        while !left.is_empty() {
            let chosen = together_of(&left);
            let now: Vec<Append<'_>> = chosen.iter().map(|at| left[*at].1).collect();
            let done = match self.write(lines, &now) {
                // One that finds no room, or cannot be written at all, does not stand in the way of others.
                Err(Error::Full { .. } | Error::Failed { .. }) if now.len() > 1 => {
                    now.iter().flat_map(|it| self.commit(lines, &[*it])).collect()
                }
                Err(error) => now.iter().map(|_| Err(error.clone())).collect(),
                Ok(done) => done,
            };
            for (at, answer) in chosen.iter().zip(done) {
                answers[left[*at].0] = answer;
            }
            let mut nth = 0;
            left.retain(|_| {
                nth += 1;
                !chosen.contains(&(nth - 1))
            });
        }
        answers
    }

    /// One statement for all of them, and an answer for each.
    fn write(
        &self,
        lines: &Lines,
        appends: &[Append<'_>],
    ) -> Result<Vec<Result<(), Error>>, Error> {
        let mut statement = Statement::default();
        for it in appends {
            statement.add(it);
        }
        let mut clashes = 0;
        let written = loop {
            crash_point("append.begin");
            let sent = self.pool.with(
                lines,
                async |link| {
                    link.take_doubt();
                    let rows = statement.send(link).await?;
                    Ok((rows, link.take_doubt()))
                },
                |error| {
                    if fault::is_clash(error) && clashes < CLASHES_MAX {
                        return Error::Conflict { what: String::new() };
                    }
                    fault::told_of_write(error, Of::Log)
                },
            );
            match sent {
                Err(Error::Conflict { .. }) => clashes += 1,
                Ok((_, true)) => {
                    let reason = String::from("PostgreSQL says that it may not be replicated");
                    return Err(Error::Unknown { reason });
                }
                Ok((rows, false)) => break rows,
                Err(error) => return Err(error),
            }
        };
        crash_point("append.committed");
        let written: BTreeSet<ShardId> = written.iter().map(|it| shard_of(it, 0)).collect();
        let one = |it: &Append<'_>| {
            if written.contains(&it.claim.shard) {
                return Ok(());
            }
            Err(self.why(lines, it)?)
        };
        Ok(appends.iter().map(one).collect())
    }

    /// Why something was refused.
    fn why(&self, lines: &Lines, append: &Append<'_>) -> Result<Error, Error> {
        let Claim { shard: own, epoch } = append.claim;
        let row = self.pool.read(lines, Of::Log, async |link| {
            link.row("SELECT epoch, last FROM shards WHERE shard = $1", &[&shard(own)]).await
        })?;
        let Some(row) = row else { return Ok(Error::Stale { shard: own }) };
        if count(&row, 0) != epoch {
            return Ok(Error::Stale { shard: own });
        }
        Ok(match append.follow(count(&row, 1)) {
            Err(error) => error,
            // It was another's then.
            Ok(_) => Error::Stale { shard: own },
        })
    }
}

impl Log {
    pub(super) fn new(shards: u16, seed: u64) -> Self {
        let writers = WRITERS.min(usize::from(shards));
        let writer = |nth: usize| Writer {
            pool: Pool::new(["writer 0", "writer 1", "writer 2", "writer 3"][nth], 1),
            queue: Mutex::default(),
            turn: Condvar::new(),
        };
        let nonces = (0..u64::from(shards)).map(|it| AtomicU64::new(seed.wrapping_add(it << 40)));
        Self { writers: (0..writers).map(writer).collect(), nonces: nonces.collect() }
    }

    pub(super) fn append(&self, lines: &Lines, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let shards = self.nonces.len();
        let exists = |it: ShardId| assert!(usize::from(it.0) < shards, "there is no shard {it}");
        for append in appends {
            exists(append.claim.shard);
            for mail in append.batches.iter().flat_map(|it| &it.sent) {
                exists(mail.to);
                exists(mail.id.from);
            }
        }
        let Some(first) = appends.first() else { return Vec::new() };
        // What is asked for together goes together, also where it is of many shards.
        let writer = usize::from(first.claim.shard.0) % self.writers.len();
        self.writers[writer].append(lines, appends)
    }

    pub(super) fn claim(
        &self,
        lines: &Lines,
        control: &Pool,
        own: ShardId,
        how: Claiming<'_>,
    ) -> Result<Claimed, Error> {
        let nonce = &self.nonces[usize::from(own.0)];
        let mine = nonce.load(Ordering::SeqCst).cast_signed();
        let (owner, epoch) = (how.owner().map(escape), how.epoch().map(number));
        // With the same nonce it is the same claim, however often it is asked for.
        let sql = "UPDATE shards SET epoch = CASE WHEN nonce = $2 THEN epoch ELSE epoch + 1 END, nonce = $2,
                owner = coalesce($3, owner), claimed = clock_timestamp()
            WHERE shard = $1 AND (nonce = $2 OR epoch = coalesce($4, epoch)) RETURNING epoch, last, mails";
        crash_point("claim.changed");
        let row = control.read(lines, Of::Log, async |link| {
            link.row(sql, &[&shard(own), &mine, &owner.as_deref(), &epoch]).await
        })?;
        nonce.fetch_add(1, Ordering::SeqCst);
        crash_point("claim.committed");
        let row = row.ok_or(Error::Stale { shard: own })?;
        if row.get::<_, i64>(0) >= EPOCHS {
            let reason =
                format!("shard {own} was claimed {EPOCHS} times, which is as often as it can be");
            return Err(Error::Failed { reason });
        }
        let claim = Claim { shard: own, epoch: count(&row, 0) };
        Ok(Claimed { claim, last: count(&row, 1), mails: count(&row, 2) })
    }

    pub(super) fn release(lines: &Lines, control: &Pool, claim: &Claim) -> Result<(), Error> {
        let sql =
            "UPDATE shards SET epoch = epoch + 1, owner = NULL WHERE shard = $1 AND epoch = $2";
        let done = control.with(
            lines,
            async |link| link.run(sql, &[&shard(claim.shard), &number(claim.epoch)]).await,
            |error| fault::told_of_write(error, Of::Log),
        )?;
        if done == 0 { Err(Error::Stale { shard: claim.shard }) } else { Ok(()) }
    }

    pub(super) fn owners(lines: &Lines, readers: &Pool) -> Result<Vec<Owner>, Error> {
        let rows = readers.read(lines, Of::Log, async |link| {
            link.rows("SELECT epoch, coalesce(owner, '') FROM shards ORDER BY shard", &[]).await
        })?;
        Ok(rows.iter().map(|it| Owner::new(count(it, 0), &unescape(it.get(1)))).collect())
    }

    pub(super) fn fence(
        lines: &Lines,
        readers: &Pool,
        claims: &[Claim],
    ) -> Result<Vec<bool>, Error> {
        if claims.is_empty() {
            return Ok(Vec::new());
        }
        let shards: Vec<i16> = claims.iter().map(|it| shard(it.shard)).collect();
        let sql = "SELECT shard, epoch FROM shards WHERE shard = ANY($1)";
        let rows = readers.read(lines, Of::Log, async |link| link.rows(sql, &[&shards]).await)?;
        let found: BTreeMap<ShardId, u64> =
            rows.iter().map(|it| (shard_of(it, 0), count(it, 1))).collect();
        Ok(claims.iter().map(|it| found.get(&it.shard) == Some(&it.epoch)).collect())
    }

    /// Holds the rows of shards so that nobody claims them before the end of the transaction. Answers with one whose
    /// claim does not hold, where there is any.
    pub(super) async fn hold(
        link: &mut Link,
        claims: &[Claim],
    ) -> Result<Option<ShardId>, PgError> {
        let shards: Vec<i16> = claims.iter().map(|it| shard(it.shard)).collect();
        let epochs: Vec<i64> = claims.iter().map(|it| number(it.epoch)).collect();
        let sql = "SELECT s.shard FROM shards s JOIN unnest($1::smallint[], $2::bigint[]) AS c(shard, epoch)
            ON s.shard = c.shard AND s.epoch = c.epoch FOR KEY SHARE OF s";
        let rows = link.rows(sql, &[&shards, &epochs]).await?;
        let held: BTreeSet<ShardId> = rows.iter().map(|it| shard_of(it, 0)).collect();
        Ok(claims.iter().map(|it| it.shard).find(|it| !held.contains(it)))
    }

    pub(super) fn mailed(lines: &Lines, readers: &Pool) -> Result<Vec<u64>, Error> {
        let rows = readers.read(lines, Of::Log, async |link| {
            link.rows("SELECT mails FROM shards ORDER BY shard", &[]).await
        })?;
        Ok(rows.iter().map(|it| count(it, 0)).collect())
    }

    pub(super) fn last(lines: &Lines, readers: &Pool, own: ShardId) -> Result<Seq, Error> {
        let row = readers.read(lines, Of::Log, async |link| {
            link.row("SELECT last FROM shards WHERE shard = $1", &[&shard(own)]).await
        })?;
        Ok(row.map_or(0, |it| count(&it, 0)))
    }

    pub(super) fn entries(
        lines: &Lines,
        readers: &Pool,
        own: ShardId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT seq, instance, previous, at, sum, body FROM log
            WHERE shard = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        readers.read(lines, Of::Log, async |link| {
            let statement = link.prepare(sql).await?;
            link.count();
            let (own_shard, after) = (shard(own), number(after));
            let params: [Param<'_>; 3] = [&own_shard, &after, &limit];
            let mut rows = pin!(link.client.query_raw(&statement, params).await?);
            let (mut found, mut bytes) = (Vec::new(), 0);
            // What is left of the answer is passed over.
            while bytes < READ_BYTES_MAX
                && let Some(row) = next(rows.as_mut()).await
            {
                let (entry, _) = entry(own, &row?, 0);
                bytes += entry.body.len();
                found.push(entry);
            }
            Ok(found)
        })
    }

    /// The chains of several instances, each the latest first, with the checksums.
    async fn chains(
        link: &mut Link,
        own: ShardId,
        wanted: &[(Seq, Seq)],
    ) -> Result<Vec<Vec<(Entry, u32)>>, PgError> {
        let lasts: Vec<i64> = wanted.iter().map(|it| number(it.0)).collect();
        let afters: Vec<i64> = wanted.iter().map(|it| number(it.1)).collect();
        let mut found: Vec<Vec<(Entry, u32)>> = wanted.iter().map(|_| Vec::new()).collect();
        for row in link.rows(CHAINS, &[&shard(own), &lasts, &afters]).await? {
            let nth = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(0);
            found[nth].push(entry(own, &row, 1));
        }
        Ok(found)
    }

    /// What there is of several instances, from `last` back as far as those after `after`, oldest first.
    pub(super) fn chains_of(
        lines: &Lines,
        readers: &Pool,
        own: ShardId,
        wanted: &[(Seq, Seq)],
    ) -> Result<Vec<Result<Vec<Entry>, Error>>, Error> {
        let found =
            readers.read(lines, Of::Log, async |link| Self::chains(link, own, wanted).await)?;
        let one = |(chain, (last, after)): (Vec<(Entry, u32)>, &(Seq, Seq))| {
            let mut whole: Vec<Entry> = Vec::with_capacity(chain.len());
            let mut seq = *last;
            for (entry, _) in chain {
                seq = entry.follows(whole.last(), own)?;
                whole.push(entry);
            }
            if seq > *after {
                return Err(Error::NoSuchEntry { shard: own, seq });
            }
            whole.reverse();
            Ok(whole)
        };
        Ok(found.into_iter().zip(wanted).map(one).collect())
    }

    /// What is wrong with the log of a shard, where anything is.
    pub(super) fn check(lines: &Lines, readers: &Pool, own: ShardId) -> Result<(), Error> {
        let sql = "SELECT s.last, s.entries, s.digest, l.newest, l.entries, l.digest FROM shards s,
            LATERAL (SELECT coalesce(max(seq), 0) AS newest, count(*) AS entries,
                coalesce(sum(sum), 0)::bigint AS digest FROM log WHERE log.shard = $1) l
            WHERE s.shard = $1";
        let row = readers.read(lines, Of::Log, async |link| link.row(sql, &[&shard(own)]).await)?;
        let place = lines.target.to_string();
        let lost = |reason: String| Err(Error::Lost { place: place.clone(), reason });
        let Some(row) = row else { return lost(format!("shard {own} is not there")) };
        let [last, written, digest, newest, there, found] =
            [0, 1, 2, 3, 4, 5].map(|it| row.get::<_, i64>(it));
        if there != written {
            return lost(format!(
                "of shard {own} {there} entries are there, and {written} were written"
            ));
        }
        if newest > last {
            return lost(format!("shard {own} ends with entry {last}, and {newest} is there"));
        }
        if digest != found {
            return lost(format!("of shard {own} some entries are not those that were written"));
        }
        Ok(())
    }

    pub(super) fn fold(
        lines: &Lines,
        writers: &Pool,
        claim: &Claim,
        folds: &[Fold],
    ) -> Result<(), Error> {
        let mut lent = writers.lend(lines)?;
        let link = lent.link();
        let done = wait(Self::fold_on(link, claim, folds));
        match done {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                if wait(link.script("ROLLBACK")).is_err() {
                    lent.lose();
                }
                Err(error)
            }
            Err(error) => {
                // Whatever it was in the middle of, it is not used again.
                lent.lose();
                if error.as_db_error().is_some_and(|it| it.code().code() == "22012") {
                    return Err(Error::Stale { shard: claim.shard });
                }
                Err(fault::told_of_write(&error, Of::Log))
            }
        }
    }

    async fn fold_on(
        link: &mut Link,
        claim: &Claim,
        folds: &[Fold],
    ) -> Result<Result<(), Error>, PgError> {
        let own = claim.shard;
        let wanted: Vec<(Seq, Seq)> = folds.iter().map(|it| (it.last, 0)).collect();
        link.script(BEGIN_LATER).await?;
        link.row(FENCE, &[&shard(own), &number(claim.epoch), &0_i64]).await?;
        let (mut gone, mut digest) = (Vec::new(), 0_i64);
        let mut left = Statement::default();
        for (fold, chain) in folds.iter().zip(Self::chains(link, own, &wanted).await?) {
            let found: BTreeMap<Seq, &(Entry, u32)> =
                chain.iter().map(|it| (it.0.seq, it)).collect();
            let followed = fold.chain(own, |seq| Ok(found.get(&seq).map(|it| it.0.clone())));
            let checked = followed.and_then(|it| fold.check(own, &it).map(|()| it));
            let entries = match checked {
                Ok(entries) => entries,
                Err(error) => return Ok(Err(error)),
            };
            for it in &entries {
                gone.push(number(it.seq));
                digest -= found.get(&it.seq).map_or(0, |it| i64::from(it.1));
            }
            if let Some(it) = &fold.entry {
                let sum = i64::from(sum::entry(own, it));
                digest += sum;
                left.seqs.push(number(it.seq));
                left.instances.push(number(it.instance.0));
                left.previous.push(number(it.previous));
                left.ats.push(it.at.as_millis());
                left.sums.push(sum);
                left.bodies.push(&it.body);
            }
        }
        let delete = link.prepare("DELETE FROM log WHERE shard = $1 AND seq = ANY($2)").await?;
        let insert = link
            .prepare(
                "INSERT INTO log (shard, seq, instance, previous, at, sum, body)
                 SELECT $1::smallint, e.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bytea[]) AS e",
            )
            .await?;
        let update = link
            .prepare(
                "UPDATE shards SET entries = entries + $2, digest = digest + $3 WHERE shard = $1",
            )
            .await?;
        let many =
            i64::try_from(left.seqs.len()).unwrap_or(0) - i64::try_from(gone.len()).unwrap_or(0);
        let (client, own) = (&link.client, shard(own));
        let deleted: [Param<'_>; 2] = [&own, &gone];
        let inserted: [Param<'_>; 7] = [
            &own,
            &left.seqs,
            &left.instances,
            &left.previous,
            &left.ats,
            &left.sums,
            &left.bodies,
        ];
        let updated: [Param<'_>; 3] = [&own, &many, &digest];
        let mut sent: Vec<Sent<'_>> = vec![Box::pin(client.execute(&delete, &deleted))];
        if !left.seqs.is_empty() {
            sent.push(Box::pin(client.execute(&insert, &inserted)));
        }
        sent.push(Box::pin(client.execute(&update, &updated)));
        together(sent).await?;
        crash_point("fold.changed");
        link.script("COMMIT").await?;
        crash_point("fold.committed");
        Ok(Ok(()))
    }

    pub(super) fn inbox(
        lines: &Lines,
        readers: &Pool,
        own: ShardId,
        after: &[MailId],
        limit: usize,
    ) -> Result<Vec<Mail>, Error> {
        let mut seen: BTreeMap<i16, i64> = BTreeMap::new();
        for it in after {
            let most = seen.entry(shard(it.from)).or_default();
            *most = number(it.number).max(*most);
        }
        let (senders, numbers): (Vec<i16>, Vec<i64>) = seen.into_iter().unzip();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT b.sender, b.number, b.sum, b.body FROM inbox b
            LEFT JOIN unnest($2::smallint[], $3::bigint[]) AS a(sender, number) ON a.sender = b.sender
            WHERE b.receiver = $1 AND (a.number IS NULL OR b.number > a.number)
            ORDER BY b.sender, b.number LIMIT $4";
        let rows = readers.read(lines, Of::Log, async |link| {
            link.rows(sql, &[&shard(own), &senders, &numbers, &limit]).await
        })?;
        let mail = |row: &Row| {
            let id = MailId { from: shard_of(row, 0), number: count(row, 1) };
            let mut mail = Mail { id, to: own, body: row.get(3) };
            if row.get::<_, i64>(2) != i64::from(sum::mail(&mail)) {
                mail.body = codec::damaged();
            }
            mail
        };
        Ok(rows.iter().map(mail).collect())
    }
}

/// The next row of an answer.
pub(super) async fn next(
    rows: std::pin::Pin<&mut tokio_postgres::RowStream>,
) -> Option<Result<Row, PgError>> {
    use futures_core::Stream as _;
    let mut rows = rows;
    std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await
}
