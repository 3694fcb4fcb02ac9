//! What the runtime asks of a place that keeps things.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use travertine_value::{Name, time::Timestamp};

use crate::{
    Address, DefinitionKey, Error, InstanceId,
    search::{Column, Found, Place, Search, Tally},
    view::{Change, Cursor, InstanceRow, Page, Query, Row, Table},
};

/// A slice of the instances, with one writer.
///
/// ```
/// # use travertine_store::ShardId;
/// assert_eq!(ShardId(3).to_string(), "3");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in the log of a shard, from 1. 0 is before the first entry.
///
/// ```
/// # use travertine_store::Seq;
/// let (before_all, first): (Seq, Seq) = (0, 1);
/// assert!(before_all < first);
/// ```
pub type Seq = u64;

/// The right to write a shard, until someone else claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The shard.
    pub shard: ShardId,
    /// The fencing number: greater with each claim.
    pub epoch: u64,
}

/// One entry of a shard's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place.
    pub seq: Seq,
    /// The instance it is about; [`InstanceId::NONE`] for the shard itself.
    pub instance: InstanceId,
    /// The entry before it that is about the same instance; 0 where it is the first.
    pub previous: Seq,
    /// When.
    pub at: Timestamp,
    /// What, as the codec writes it.
    pub body: Vec<u8>,
}

/// Something that one shard asks of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Who sent it, and which of its mails it is.
    pub id: MailId,
    /// For whom.
    pub to: ShardId,
    /// What, as the codec writes it.
    pub body: Vec<u8>,
}

/// The name of a mail. A sender numbers its mails, so that a receiver sees them in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailId {
    /// Who sent it.
    pub from: ShardId,
    /// Which of its mails, from 1, never used twice.
    pub number: u64,
}

/// How a shard is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claiming<'a> {
    /// From whoever has it.
    Take {
        /// The name of the new owner.
        owner: &'a str,
    },
    /// Only where nobody has claimed or released it since its epoch was this.
    If {
        /// The name of the new owner.
        owner: &'a str,
        /// The epoch that was seen.
        epoch: u64,
    },
    /// By its owner once more, who does not know what became of an append: it is there now, or never will be.
    Again(Claim),
}

/// A shard that was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The right to write it.
    pub claim: Claim,
    /// The last place in its log that was ever written. Nothing that was being appended comes after it any more.
    pub last: Seq,
    /// The greatest number of the mails that it has ever sent.
    pub mails: u64,
}

/// The owner of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The epoch of the shard.
    pub epoch: u64,
    /// The name of its owner, where it has one.
    pub name: Option<String>,
}

/// Batches of one shard, which are appended all or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Append<'a> {
    /// By what right.
    pub claim: Claim,
    /// The batches. They follow on each other.
    pub batches: &'a [Batch],
}

/// Changes that bring the views of one shard up to an entry of its log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance<'a> {
    /// By what right.
    pub claim: Claim,
    /// The entry. [`Error::NoSuchEntry`] where the log does not reach so far.
    pub upto: Seq,
    /// What else the shard wants back from [`Store::checkpointed`].
    pub state: &'a [u8],
    /// The changes, in order.
    pub changes: &'a [Change],
}

/// What a store has of an instance, each part as far as it can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Its row.
    pub row: Result<Option<InstanceRow>, Error>,
    /// Its snapshot: the entry after which it was taken, and its bytes.
    pub snapshot: Result<Option<(Seq, Vec<u8>)>, Error>,
    /// Its entries after the snapshot, oldest first, with at least the one that is the last by its row.
    pub chain: Result<Vec<Entry>, Error>,
}

/// What one owner writes at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Entries, following on those that are there.
    pub entries: Vec<Entry>,
    /// Mails that are now on their way.
    pub sent: Vec<Mail>,
    /// Mails to this shard that need not be kept any more: what came of them is in the entries. They may
    /// be among those just sent.
    pub taken: Vec<MailId>,
}

/// What becomes of the entries of an instance that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The last entry about the instance.
    pub last: Seq,
    /// What takes the place of all of them; they are deleted where there is nothing. It has the place
    /// `last`, and nothing before it.
    pub entry: Option<Entry>,
}

/// Files that were deployed together, and what they define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// Its number, from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The files.
    pub resources: Vec<Resource>,
    /// What they define.
    pub definitions: Vec<Deployed>,
}

/// A deployed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub body: Vec<u8>,
}

/// A version of a definition, as a deployment brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// Its number, by which instances know it: never used twice in a store, from 1.
    pub key: DefinitionKey,
    /// Its id, shared by all versions. That of anything but a process and a function has what it is before it,
    /// as [`Deployed::stored_id`] says: a process and a decision may have the same.
    pub id: Name,
    /// Which version, from 1.
    pub version: u32,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// The file that defines it, by position among the resources; 0 where it was removed.
    pub resource: u32,
    /// It was removed: only its numbers are still taken.
    pub removed: bool,
    /// Nothing comes to run it any more; what runs it goes on, and what has run it is kept.
    pub retired: bool,
}

/// What a deployed thing is.
///
/// ```
/// # use travertine_store::{Deployed, DeployedAs};
/// assert_eq!(&*Deployed::stored_id(DeployedAs::Form, "address"), "form:address");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeployedAs {
    /// A process or a function.
    Definition,
    /// A decision.
    Decision,
    /// The decisions of a DMN file, all together: a decision requirements graph.
    Requirements,
    /// A form.
    Form,
    /// Any other file.
    Resource,
}

/// A place that keeps the log and the views of all shards.
///
/// Calls block. What a call has answered with `Ok` survives a crash of the process and of the machine,
/// except where it says otherwise. After [`Error::Poisoned`] every call that writes answers the same.
pub trait Store: fmt::Debug + Send + Sync {
    /// How many shards there are. It never changes.
    fn shards(&self) -> u16;

    /// Whether a write is so cheap that a thread with other work may wait for it. A store behind a network is not
    /// near.
    fn is_near(&self) -> bool;

    /// Makes the caller the one who may write the shard. Whoever had it before cannot any more.
    /// [`Error::Stale`] where somebody else has claimed it meanwhile and `how` minds that.
    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error>;

    /// Makes the caller the one who may write the shard, whoever had it before.
    fn take(&self, shard: ShardId, owner: &str) -> Result<Claim, Error> {
        Ok(self.claim(shard, Claiming::Take { owner })?.claim)
    }

    /// Gives a shard up: it has no owner then. [`Error::Stale`] where somebody else has claimed it.
    fn release(&self, claim: &Claim) -> Result<(), Error>;

    /// Who has which shard, in the order of shards.
    fn owners(&self) -> Result<Vec<Owner>, Error>;

    /// Whether claims still hold, for each of them.
    fn fence(&self, claims: &[Claim]) -> Result<Vec<bool>, Error>;

    /// Appends to the logs of one or several shards, and returns once it is durable, with an answer for each.
    /// What is appended to one shard is there as a whole or not at all, and does not depend on what becomes of
    /// the others.
    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>>;

    /// Appends to the log of one shard, all of it or nothing, and returns once it is durable.
    fn append(&self, claim: &Claim, batches: &[Batch]) -> Result<(), Error> {
        let answers = self.append_all(&[Append { claim: *claim, batches }]);
        answers.into_iter().next().expect("there is an answer for each")
    }

    /// The entries of a shard's log after `after`, in order, at most `limit` of them, and fewer where they are
    /// large; none only where there are none. Entries of
    /// deleted instances are missing. One whose checksum is wrong has a body that cannot be decoded.
    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error>;

    /// The last place in the log of a shard that was ever written; 0 where none was.
    fn last(&self, shard: ShardId) -> Result<Seq, Error>;

    /// The entries about one instance, oldest first: back from `last` along [`Entry::previous`], as far
    /// as those after `after`.
    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error>;

    /// Whether the log of a shard has all that was written: [`Error::Lost`] where it has not. It takes as long
    /// as reading the places of all entries.
    fn check_log(&self, shard: ShardId) -> Result<(), Error>;

    /// What is wrong with the logs, in words: entries that were written and are not there, files that are
    /// damaged. It takes as long as reading all of them.
    fn check(&self) -> Result<Vec<String>, Error>;

    /// Whether the views can be read: [`Error::DamagedViews`] where they cannot. It takes as long as
    /// reading all of them.
    fn check_views(&self) -> Result<(), Error>;

    /// Why the views were empty when the store was opened, although the log was not.
    fn rebuilt(&self) -> Option<String>;

    /// Puts something shorter in the place of all entries of instances, or deletes them, as far as they can
    /// be followed back. All of it or nothing, but not necessarily durable at once. Many folds at a time cost little more than one.
    /// [`Error::NoSuchEntry`] where one is deleted already.
    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error>;

    /// What the owner of a shard has noted last; empty where it has closed the store in order. `None` where
    /// nothing is kept that survives the process.
    fn noted(&self, shard: ShardId) -> Option<Vec<u8>> {
        let _ = shard;
        None
    }

    /// Notes what the owner of a shard is about to do, for whoever opens the store after this process has died.
    /// A note takes the place of the one before. It survives the process, not the machine, and needs no sync.
    fn note(&self, shard: ShardId, what: &[u8]) {
        let _ = (shard, what);
    }

    /// The mails to a shard that are not taken yet, by sender, then in order: at most `limit` of them. Of a sender
    /// that `after` names, only those after that mail.
    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error>;

    /// The greatest number of the mails that each shard has ever sent, in the order of shards: where it grows, there
    /// may be something new in an inbox.
    fn mailed(&self) -> Result<Vec<u64>, Error>;

    /// Stores a deployment. All of it or nothing; refused with [`Error::Conflict`] where a number, a key
    /// or a version in it is used already.
    fn deploy(&self, deployment: &Deployment) -> Result<(), Error>;

    /// The deployments with a number over `after`, in order.
    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error>;

    /// The file that a definition was deployed with; `None` where there is no such definition.
    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error>;

    /// Removes versions of definitions, and the files that nothing needs any more. What was removed stays
    /// listed, so that its numbers are not used again.
    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error>;

    /// Retires versions of definitions: all of them are still there, and nothing comes to run them.
    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error>;

    /// A number that grows whenever something is deployed, retired or removed, and at no other time.
    fn revision(&self) -> Result<u64, Error>;

    /// Brings the views of one or several shards up to entries of their logs: of each shard all changes, or none, with
    /// an answer for each. It need not be durable at once, only in order: after a crash the views stand at some
    /// checkpoint.
    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>>;

    /// Brings the views of one shard to the state after the entry `upto`: all changes, or none.
    fn checkpoint(
        &self,
        claim: &Claim,
        upto: Seq,
        state: &[u8],
        changes: &[Change],
    ) -> Result<(), Error> {
        let answers = self.checkpoint_all(&[Advance { claim: *claim, upto, state, changes }]);
        answers.into_iter().next().expect("there is an answer for each")
    }

    /// The entry up to which the views of a shard are stored, and the state that was given then; 0 and
    /// nothing where there is none.
    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error>;

    /// Throws the views of one shard away, and leaves those of others alone. [`Error::DamagedViews`] where they are
    /// damaged in such a way that they do not come apart.
    fn forget_views(&self, claim: &Claim) -> Result<(), Error>;

    /// Throws the views of all shards away, however damaged they are, by the right of claims of all of them:
    /// [`Error::Stale`] where somebody else has a shard, or it is not among them. What owners have in memory counts on
    /// their views.
    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error>;

    /// The row of an instance. [`Error::DamagedRow`] where it cannot be read.
    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error>;

    /// The numbers of the instances of a shard that people call so, newest first.
    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error>;

    /// The number of the instance that a wait of another one has called.
    fn called(&self, call: Address) -> Result<Option<InstanceId>, Error>;

    /// The snapshot of an instance: the entry after which it was taken, and its bytes.
    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error>;

    /// What there is of instances of a shard, in the order in which they are asked for.
    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded> {
        let one = |id: &InstanceId| {
            let (row, snapshot) = (self.instance(*id), self.snapshot(*id));
            let after = snapshot.as_ref().ok().and_then(Option::as_ref).map_or(0, |it| it.0);
            let last = row.as_ref().ok().and_then(Option::as_ref).map_or(0, |it| it.last);
            let chain = self.chain(shard, last, after.min(last.saturating_sub(1)));
            Loaded { row, snapshot, chain }
        };
        instances.iter().map(one).collect()
    }

    /// [`Store::named`] for many names.
    fn named_many(&self, shard: ShardId, names: &[&str]) -> Result<Vec<Vec<InstanceId>>, Error> {
        names.iter().map(|it| self.named(shard, it)).collect()
    }

    /// [`Store::called`] for many callers and waits.
    fn called_many(&self, calls: &[Address]) -> Result<Vec<Option<InstanceId>>, Error> {
        calls.iter().map(|it| self.called(*it)).collect()
    }

    /// Every row of a table that belongs to a shard, in the order of keys, handed to `each` one by one.
    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Rows that someone searches for. [`Error::DamagedRow`] where one of them cannot be read, and
    /// [`Error::TooBroad`] where too many rows would have to be looked at.
    fn search(&self, search: &Search) -> Result<Found, Error>;

    /// How many rows a search finds, by what they have in these columns, in the order of that. Its order, place and
    /// limit do not matter.
    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>, Error>;

    /// Rows that someone asks for, in the order of their keys.
    fn query(&self, query: &Query) -> Result<Page, Error> {
        query.check()?;
        let mut search = Search::from(query);
        let mut page = Page::default();
        loop {
            let mut found = self.search(&search)?;
            page.rows.append(&mut found.rows);
            let left = (query.limit as usize).saturating_sub(page.rows.len());
            let end = found.end.filter(|_| found.has_more);
            match end {
                Some(end) if left > 0 => search.place = Place::After(end),
                end => {
                    page.next = end.and_then(|_| page.rows.last()).map(|row| Cursor(row.key()));
                    return Ok(page);
                }
            }
            search.limit = search.limit.min(u32::try_from(left).unwrap_or(u32::MAX));
        }
    }

    /// How many bytes it takes on its medium, and how many of them could be given back.
    fn size(&self) -> Result<(u64, u64), Error>;

    /// Gives back the room that nothing uses.
    fn compact(&self) -> Result<(), Error>;

    /// Writes a copy that can be opened like the original. It is the log of one moment; what is
    /// derived from it is made again when the copy is opened.
    fn backup(&self, to: &std::path::Path) -> Result<(), Error>;
}

impl Append<'_> {
    /// The end of a log after these batches, which must follow on `last`.
    pub(crate) fn follow(&self, last: Seq) -> Result<Seq, Error> {
        let mut end = last;
        for entry in self.batches.iter().flat_map(|it| &it.entries) {
            if entry.seq != end + 1 {
                let (shard, seq) = (self.claim.shard, entry.seq);
                return Err(Error::Misplaced { shard, seq, last: end });
            }
            end = entry.seq;
        }
        Ok(end)
    }
}

impl Claimed {
    /// Whether batches, whose outcome nobody knew, are among what the shard had when it was claimed again. Those that
    /// only take mails may be written twice.
    pub fn has(&self, batches: &[Batch]) -> bool {
        let last = batches.iter().rev().find_map(|it| it.entries.last()).map(|it| it.seq);
        let mail = batches.iter().flat_map(|it| &it.sent).map(|it| it.id.number).max();
        match (last, mail) {
            (Some(last), _) => self.last >= last,
            (None, Some(mail)) => self.mails >= mail,
            (None, None) => false,
        }
    }
}

impl Claim {
    /// Claims of all shards, in the order of shards, as far as they are among these.
    pub(crate) fn of_all(claims: &[Self], shards: u16) -> Result<Vec<Self>, Error> {
        let by_shard: BTreeMap<ShardId, Self> = claims.iter().map(|it| (it.shard, *it)).collect();
        let one = |shard| by_shard.get(&shard).copied().ok_or(Error::Stale { shard });
        (0..shards).map(ShardId).map(one).collect()
    }
}

impl Claiming<'_> {
    /// The name of the new owner, where it is another one.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            Self::Take { owner } | Self::If { owner, .. } => Some(owner),
            Self::Again(_) => None,
        }
    }

    /// The epoch that the shard must still have.
    pub(crate) fn epoch(&self) -> Option<u64> {
        match self {
            Self::Take { .. } => None,
            Self::If { epoch, .. } | Self::Again(Claim { epoch, .. }) => Some(*epoch),
        }
    }
}

impl Owner {
    /// The owner of that name. One without a name is none.
    pub(crate) fn new(epoch: u64, name: &str) -> Self {
        Self { epoch, name: Some(name.to_owned()).filter(|it| !it.is_empty()) }
    }
}

/// Whether a mail comes after those that are named.
pub(crate) fn is_after(id: MailId, after: &[MailId]) -> bool {
    after.iter().all(|it| it.from != id.from || it.number < id.number)
}

impl Entry {
    /// The entry before it, after a look at whether that can be. `later` was read before it.
    pub(crate) fn follows(&self, later: Option<&Self>, shard: ShardId) -> Result<Seq, Error> {
        let place = || format!("entry {} of shard {shard}", self.seq);
        if self.previous >= self.seq {
            let reason = format!("it says that entry {} was before it", self.previous);
            return Err(Error::Corrupt { place: place(), reason });
        }
        match later {
            Some(later) if later.instance != self.instance => {
                let (one, other) = (self.instance, later.instance);
                let reason =
                    format!("it is about instance {one}, and followed by one about {other}");
                Err(Error::Corrupt { place: place(), reason })
            }
            Some(_) | None => Ok(self.previous),
        }
    }
}

impl Fold {
    /// The entries that go, the latest first. To delete what is left of an instance nothing has to be
    /// whole.
    pub(crate) fn chain(
        &self,
        shard: ShardId,
        mut one: impl FnMut(Seq) -> Result<Option<Entry>, Error>,
    ) -> Result<Vec<Entry>, Error> {
        let mut found: Vec<Entry> = Vec::new();
        let mut seq = self.last;
        while seq > 0 {
            let entry = one(seq).and_then(|it| it.ok_or(Error::NoSuchEntry { shard, seq }));
            let followed = entry.and_then(|it| Ok((it.follows(found.last(), shard)?, it)));
            match followed {
                Ok((previous, entry)) => {
                    seq = previous;
                    found.push(entry);
                }
                Err(Error::NoSuchEntry { .. } | Error::Corrupt { .. })
                    if self.entry.is_none() && !found.is_empty() =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Refuses what cannot take the place of these entries, the latest first.
    pub(crate) fn check(&self, shard: ShardId, chain: &[Entry]) -> Result<(), Error> {
        let last = chain.first().ok_or(Error::NoSuchEntry { shard, seq: self.last })?;
        let Some(entry) = &self.entry else { return Ok(()) };
        if (entry.seq, entry.previous, entry.instance) == (last.seq, 0, last.instance) {
            Ok(())
        } else {
            Err(Error::Misplaced { shard, seq: entry.seq, last: self.last })
        }
    }
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.sent.is_empty() && self.taken.is_empty()
    }
}

impl Deployed {
    /// What stands before the id of a decision. No process is called so.
    pub const DECISION: &str = "decision:";

    /// The id of the decision, where it is one.
    pub fn decision(&self) -> Option<&str> {
        self.id.strip_prefix(Self::DECISION)
    }

    /// What it is, and its id.
    pub fn what(&self) -> (DeployedAs, &str) {
        let others = [
            DeployedAs::Decision,
            DeployedAs::Requirements,
            DeployedAs::Form,
            DeployedAs::Resource,
        ];
        let found = others.into_iter().find_map(|it| Some((it, self.id.strip_prefix(it.mark())?)));
        found.unwrap_or((DeployedAs::Definition, &self.id))
    }

    /// The id by which a store knows something.
    pub fn stored_id(what: DeployedAs, id: &str) -> Name {
        format!("{}{id}", what.mark()).into()
    }

    /// Whether it comes out of a DMN file.
    fn is_decided(&self) -> bool {
        matches!(self.what().0, DeployedAs::Decision | DeployedAs::Requirements)
    }
}

impl DeployedAs {
    /// What stands before the ids of such things. No process is called so.
    fn mark(self) -> &'static str {
        match self {
            Self::Definition => "",
            Self::Decision => Deployed::DECISION,
            Self::Requirements => "requirements:",
            Self::Form => "form:",
            Self::Resource => "resource:",
        }
    }
}

impl Deployment {
    /// Refuses what others have used already.
    pub(crate) fn check<'a>(&self, others: impl Iterator<Item = &'a Self>) -> Result<(), Error> {
        let conflict = |what: String| Err(Error::Conflict { what });
        let mut used: Vec<&Deployed> = Vec::new();
        for other in others {
            if other.number == self.number {
                return conflict(format!("deployment {}", self.number));
            }
            used.extend(&other.definitions);
        }
        for it in &self.definitions {
            if let Some(other) = used.iter().find(|other| other.key == it.key) {
                return conflict(format!("definition {} with the key {}", other.id, it.key));
            }
            if used.iter().any(|other| other.id == it.id && other.version == it.version) {
                return conflict(format!("version {} of {}", it.version, it.id));
            }
            used.push(it);
        }
        Ok(())
    }

    /// The file that a definition was deployed with.
    pub(crate) fn resource_of(&self, key: DefinitionKey) -> Option<&Resource> {
        let found = self.definitions.iter().find(|it| it.key == key && !it.removed)?;
        self.resources.get(found.resource as usize)
    }

    /// Retires definitions. Says whether there were any.
    pub(crate) fn retire(&mut self, keys: &[DefinitionKey]) -> bool {
        let mut any = false;
        for it in self.definitions.iter_mut().filter(|it| keys.contains(&it.key)) {
            any |= !it.removed && !it.retired;
            it.retired |= !it.removed;
        }
        any
    }

    /// Removes definitions, and files that only they needed. Says whether there were any.
    pub(crate) fn remove(&mut self, keys: &[DefinitionKey]) -> bool {
        let (mut files, mut decisions) = (BTreeSet::new(), BTreeSet::new());
        for it in self.definitions.iter_mut().filter(|it| !it.removed && keys.contains(&it.key)) {
            files.insert(it.resource);
            decisions.extend(it.is_decided().then_some(it.resource));
            (it.removed, it.retired) = (true, false);
            it.resource = 0;
        }
        if files.is_empty() {
            return false;
        }
        if self.definitions.iter().all(|it| it.removed) {
            // Decisions were not listed once; their files must not go with a process.
            let listed = self.definitions.iter().any(Deployed::is_decided);
            self.resources.retain(|it| !listed && it.name.to_lowercase().ends_with(".dmn"));
            return true;
        }
        for file in files.into_iter().rev() {
            let rest = || self.definitions.iter().filter(|it| !it.removed);
            // A decision may import the file of another.
            let imported = decisions.contains(&file) && rest().any(Deployed::is_decided);
            let needed = imported || rest().any(|it| it.resource == file);
            if needed || file as usize >= self.resources.len() {
                continue;
            }
            self.resources.remove(file as usize);
            for it in self.definitions.iter_mut().filter(|it| !it.removed && it.resource > file) {
                it.resource -= 1;
            }
        }
        true
    }
}

impl ShardId {
    /// The shard of the instance with that number.
    #[doc(hidden)] // Where it is kept is the business of the engine.
    pub fn of(instance: u64, shards: u16) -> Self {
        let shard = instance % u64::from(shards);
        Self(u16::try_from(shard).expect("it is less than the number of shards"))
    }

    /// The number of the shard's `nth` instance, from 1.
    #[doc(hidden)] // Only shards give numbers to instances.
    pub fn instance(self, nth: u64, shards: u16) -> u64 {
        nth * u64::from(shards) + u64::from(self.0)
    }
}
