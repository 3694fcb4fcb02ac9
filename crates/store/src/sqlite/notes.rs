//! What the owners of shards note for whoever opens the store after this process has died: a slot for each
//! shard, in a file beside the log.
//!
//! Notes are never synced, so they cost no more than a system call. They survive the death of a process, and
//! need not survive more: a machine that stops is nobody's fault. A note that is missing, torn or of another
//! log says nothing.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use crate::ShardId;

/// The name of the file.
pub(super) const NAME: &str = "turns";

/// How many bytes a slot has.
const SLOT: usize = 8_192;

/// How many of them say how long the note is, and its checksum.
const HEAD: usize = 8;

/// The notes of an open store.
#[derive(Debug)]
pub(super) struct Notes {
    file: Option<File>,
    log: Vec<u8>,
}

impl Notes {
    /// The notes for the log of this id. Where there is no room for the file nothing is noted.
    pub(super) fn open(dir: &Path, log: &[u8]) -> Self {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        Self {
            file: super::file::private(&mut options).open(dir.join(NAME)).ok(),
            log: log.to_owned(),
        }
    }

    /// What was noted for a shard last.
    pub(super) fn read(&self, shard: ShardId) -> Vec<u8> {
        let read = || {
            let file = self.file.as_ref()?;
            let mut head = [0; HEAD];
            file.read_exact_at(&mut head, place(shard)).ok()?;
            let (length, sum) = head.split_at(4);
            let length = u32::from_le_bytes(length.try_into().ok()?);
            let length = usize::try_from(length).ok().filter(|it| *it <= SLOT - HEAD)?;
            let mut note = vec![0; length];
            file.read_exact_at(&mut note, place(shard) + HEAD as u64).ok()?;
            (self.sum(&note).to_le_bytes() == sum).then_some(note)
        };
        read().unwrap_or_default()
    }

    /// Notes something for a shard, in the place of what was noted before. What is too long is cut off, and says
    /// nothing then.
    pub(super) fn write(&self, shard: ShardId, note: &[u8]) {
        let Some(file) = &self.file else { return };
        let note = &note[..note.len().min(SLOT - HEAD)];
        let mut bytes = Vec::with_capacity(HEAD + note.len());
        bytes.extend(u32::try_from(note.len()).unwrap_or(0).to_le_bytes());
        bytes.extend(self.sum(note).to_le_bytes());
        bytes.extend(note);
        // Without a note a death counts for nobody.
        let _: io::Result<()> = file.write_all_at(&bytes, place(shard));
    }

    fn sum(&self, note: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&self.log);
        sum.update(note);
        sum.finalize()
    }
}

fn place(shard: ShardId) -> u64 {
    u64::from(shard.0) * SLOT as u64
}
