//! What the runtime asks of a place that keeps things.

use std::fmt;

use travertine_expr::Name;

use crate::{
    Error,
    view::{Change, InstanceRow, Page, Query, Row, Table},
};

/// A slice of the instances, with one writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in the log of a shard, from 1. 0 is before the first entry.
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
    /// The instance it is about; 0 for the shard itself.
    pub instance: u64,
    /// The entry before it that is about the same instance; 0 where it is the first.
    pub previous: Seq,
    /// When, in milliseconds since 1970.
    pub at: i64,
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

/// What one owner writes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// By what right.
    pub claim: Claim,
    /// Entries, following on those that are there.
    pub entries: Vec<Entry>,
    /// Mails that are now on their way.
    pub sent: Vec<Mail>,
    /// Mails to this shard that need not be kept any more: what came of them is in the entries.
    pub taken: Vec<MailId>,
}

/// Files that were deployed together, and what they define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// Its number, from 1.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
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
    pub key: u64,
    /// Its id, shared by all versions.
    pub id: Name,
    /// Which version, from 1.
    pub version: u32,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// The file that defines it, by position among the resources.
    pub resource: u32,
}

/// A place that keeps the log and the views of all shards.
///
/// Calls block. What a call has answered with `Ok` survives a crash of the process and of the machine,
/// except where it says otherwise. After [`Error::Poisoned`] every call that writes answers the same.
pub trait Store: fmt::Debug + Send + Sync {
    /// How many shards there are. It never changes.
    fn shards(&self) -> u16;

    /// Makes the caller the one who may write the shard. Whoever had it before cannot any more.
    fn claim(&self, shard: ShardId, owner: &str) -> Result<Claim, Error>;

    /// Appends to the logs of one or several shards, all of it or nothing, and returns once it is
    /// durable.
    fn append(&self, batches: &[Batch]) -> Result<(), Error>;

    /// The entries of a shard's log after `after`, in order, at most `limit` of them. Entries of
    /// deleted instances are missing.
    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error>;

    /// The last place in the log of a shard that was ever written; 0 where none was.
    fn last(&self, shard: ShardId) -> Result<Seq, Error>;

    /// The entries about one instance, oldest first: back from `last` along [`Entry::previous`], as far
    /// as those after `after`.
    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error>;

    /// Puts `fold` in the place of all entries of one instance that are in the chain of `last`, or
    /// deletes them where there is none. Atomic, but not necessarily durable at once.
    fn fold(&self, claim: &Claim, last: Seq, fold: Option<Entry>) -> Result<(), Error>;

    /// The mails to a shard that are not taken yet: by sender, then in order.
    fn inbox(&self, shard: ShardId) -> Result<Vec<Mail>, Error>;

    /// Stores a deployment. All of it or nothing; refused with [`Error::Conflict`] where a number, a key
    /// or a version in it is used already.
    fn deploy(&self, deployment: &Deployment) -> Result<(), Error>;

    /// The deployments with a number over `after`, in order.
    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error>;

    /// Removes versions of definitions, and the files that nothing needs any more.
    fn undeploy(&self, keys: &[u64]) -> Result<(), Error>;

    /// Brings the views of a shard to the state after the entry `upto`: all changes, or none. It need
    /// not be durable at once, only in order: after a crash the views stand at some checkpoint.
    /// `state` is what else the shard wants back from [`Store::checkpointed`].
    fn checkpoint(
        &self,
        claim: &Claim,
        upto: Seq,
        state: &[u8],
        changes: &[Change],
    ) -> Result<(), Error>;

    /// The entry up to which the views of a shard are stored, and the state that was given then; 0 and
    /// nothing where there is none.
    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error>;

    /// Throws the views of all shards away.
    fn forget_views(&self) -> Result<(), Error>;

    /// The row of an instance.
    fn instance(&self, id: u64) -> Result<Option<InstanceRow>, Error>;

    /// The instances of a shard that people call so, newest first.
    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceRow>, Error>;

    /// The instance that a wait of another one has called.
    fn called(&self, caller: u64, wait: u64) -> Result<Option<InstanceRow>, Error>;

    /// The snapshot of an instance: the entry after which it was taken, and its bytes.
    fn snapshot(&self, instance: u64) -> Result<Option<(Seq, Vec<u8>)>, Error>;

    /// Every row of a table that belongs to a shard, in the order of keys, handed to `each` one by one.
    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Rows that someone asks for.
    fn query(&self, query: &Query) -> Result<Page, Error>;

    /// How many bytes it takes on its medium, and how many of them could be given back.
    fn size(&self) -> Result<(u64, u64), Error>;

    /// Gives back the room that nothing uses.
    fn compact(&self) -> Result<(), Error>;

    /// Writes a copy that can be opened like the original. It is the log of one moment; what is
    /// derived from it is made again when the copy is opened.
    fn backup(&self, to: &std::path::Path) -> Result<(), Error>;
}

impl ShardId {
    /// The shard of the instance with that number.
    pub fn of(instance: u64, shards: u16) -> Self {
        let shard = instance % u64::from(shards);
        Self(u16::try_from(shard).expect("it is less than the number of shards"))
    }

    /// The number of the shard's `nth` instance, from 1.
    pub fn instance(self, nth: u64, shards: u16) -> u64 {
        nth * u64::from(shards) + u64::from(self.0)
    }
}
