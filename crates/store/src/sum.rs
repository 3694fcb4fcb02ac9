//! Checksums: of each entry, mail and deployment, and of all entries and mails of a shard together.
//!
//! Entries go when instances are folded, so no entry is summed over the one before it. Instead the head of a
//! shard, which is written in the transaction of every append and fold, has the number and the total of the
//! checksums that are there. An entry that is changed, gone, moved, doubled or of another log changes one of
//! them.

use crate::{Deployed, Deployment, Entry, Mail, Resource, Seq, ShardId};

/// What is known of the log of a shard without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The last place that was ever written.
    pub(crate) last: Seq,
    /// The last place that has an entry.
    pub(crate) newest: Seq,
    /// How many entries there are.
    pub(crate) entries: u64,
    /// The total of their checksums.
    pub(crate) digest: u64,
    /// The total of the checksums of the mails to the shard.
    pub(crate) mails: u64,
    /// The greatest number of the mails that the shard has sent.
    pub(crate) mailed: u64,
    /// The entries up to here are of a version that had no checksums.
    pub(crate) plain: Seq,
}

impl Head {
    pub(crate) fn add(&mut self, seq: Seq, sum: Option<u32>) {
        self.last = self.last.max(seq);
        self.newest = self.newest.max(seq);
        self.entries = self.entries.wrapping_add(1);
        self.digest = self.digest.wrapping_add(weight(seq, sum));
    }

    /// `newest` is for the caller to find.
    pub(crate) fn remove(&mut self, seq: Seq, sum: Option<u32>) {
        self.entries = self.entries.wrapping_sub(1);
        self.digest = self.digest.wrapping_sub(weight(seq, sum));
    }

    pub(crate) fn sent(&mut self, number: u64, sum: Option<u32>) {
        self.mails = self.mails.wrapping_add(weight(number, sum));
    }

    pub(crate) fn taken(&mut self, number: u64, sum: Option<u32>) {
        self.mails = self.mails.wrapping_sub(weight(number, sum));
    }

    /// How the entries that were found differ from those that were written, where they do.
    pub(crate) fn differs(&self, found: &Self) -> Option<String> {
        if found.entries != self.entries {
            let (there, written) = (found.entries, self.entries);
            Some(format!("{there} entries are there, and {written} were written"))
        } else if found.newest != self.newest {
            let (there, written) = (found.newest, self.newest);
            Some(format!("the last entry is {there}, and {written} was written"))
        } else if found.digest != self.digest {
            Some(String::from("some entries are not those that were written"))
        } else {
            None
        }
    }
}

/// What an entry or mail adds to a total. One without a checksum counts with its number.
fn weight(seq: Seq, sum: Option<u32>) -> u64 {
    sum.map_or_else(|| u64::from(crc32fast::hash(&seq.to_le_bytes())), u64::from)
}

/// The checksum of an entry, over its place and all that is in it.
pub(crate) fn entry(shard: ShardId, it: &Entry) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&shard.0.to_le_bytes());
    for number in [it.seq, it.instance.0, it.previous, it.at.as_millis().cast_unsigned()] {
        sum.update(&number.to_le_bytes());
    }
    sum.update(&it.body);
    sum.finalize()
}

/// The checksum of a mail.
pub(crate) fn mail(it: &Mail) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&it.to.0.to_le_bytes());
    sum.update(&it.id.from.0.to_le_bytes());
    sum.update(&it.id.number.to_le_bytes());
    sum.update(&it.body);
    sum.finalize()
}

/// The checksum of a deployed file.
pub(crate) fn resource(it: &Resource) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&(it.name.len() as u64).to_le_bytes());
    sum.update(it.name.as_bytes());
    sum.update(&it.body);
    sum.finalize()
}

/// How it stands with a definition, as a byte: it is there, it was removed, or it is retired.
pub(crate) fn standing(it: &Deployed) -> u8 {
    match it {
        Deployed { removed: true, .. } => 1,
        Deployed { retired: true, .. } => 2,
        Deployed { .. } => 0,
    }
}

/// The checksum of a deployment without what is in its files.
pub(crate) fn deployment(it: &Deployment) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let mut text = |bytes: &[u8]| {
        sum.update(&(bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    };
    text(&it.number.to_le_bytes());
    text(&it.at.as_millis().to_le_bytes());
    for it in &it.resources {
        text(it.name.as_bytes());
    }
    for it in &it.definitions {
        text(&it.key.0.to_le_bytes());
        text(it.id.as_bytes());
        text(&it.version.to_le_bytes());
        text(it.tag.as_deref().map_or(&[], str::as_bytes));
        text(&[u8::from(it.tag.is_some()), standing(it)]);
        text(&it.resource.to_le_bytes());
    }
    sum.finalize()
}

/// The checksum of a checkpoint of the views.
pub(crate) fn checkpoint(shard: ShardId, upto: Seq, state: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&shard.0.to_le_bytes());
    sum.update(&upto.to_le_bytes());
    sum.update(state);
    sum.finalize()
}
