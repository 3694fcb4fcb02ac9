//! Records, letters and what else a shard stores as bytes.

use super::{
    DecodeError, EncodeError, append,
    v1::{
        self,
        record::{self as stored, Lift},
    },
};
use crate::record::{Held, Letter, Record, ShardState, Snapshot, Subscription};

macro_rules! stored {
    ($(#[$doc:meta])* $encode:ident, $given:ty, $decode:ident, $type:ty, $stored:ty) => {
        $(#[$doc])*
        pub fn $encode(it: $given, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
            append(it, bytes)
        }

        /// Reads it back, whatever the version of the format. The bytes are not trusted.
        pub fn $decode(bytes: &[u8]) -> Result<$type, DecodeError> {
            v1::decode_part::<$stored>(bytes).map(Lift::lift)
        }
    };
}

stored!(
    /// Appends what an entry tells.
    encode_records, &[Record], decode_records, Vec<Record>, Vec<stored::Record>
);
/// Appends what an entry tells, and at its end who has asked for that.
pub fn encode_records_by(
    records: &[Record],
    by: &Record,
    bytes: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    append(&v1::record::RecordsBy(records, by), bytes)
}

stored!(
    /// Appends what a mail says.
    encode_letter, &Letter, decode_letter, Letter, stored::Letter
);
stored!(
    /// Appends what a shard knows.
    encode_shard, &ShardState, decode_shard, ShardState, stored::ShardState
);
stored!(
    /// Appends a held message.
    encode_held, &Held, decode_held, Held, stored::Held
);
stored!(
    /// Appends a subscription.
    encode_subscription, &Subscription, decode_subscription, Subscription, stored::Subscription
);
stored!(
    /// Appends a snapshot.
    encode_snapshot, &Snapshot, decode_snapshot, Snapshot, stored::Snapshot
);
