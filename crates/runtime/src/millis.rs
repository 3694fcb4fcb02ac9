//! Times and spans as the journals of functions have them: in milliseconds.

#![expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde gives them so")]

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use travertine_value::time::Timestamp;

/// A point in time, in milliseconds since 1970.
pub(crate) mod time {
    use super::{Deserialize as _, Deserializer, Serialize as _, Serializer, Timestamp};

    pub(crate) fn serialize<S: Serializer>(it: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        it.as_millis().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_millis)
    }
}

/// A point in time, where there is one.
pub(crate) mod maybe_time {
    use super::{Deserialize as _, Deserializer, Serialize as _, Serializer, Timestamp};

    pub(crate) fn serialize<S: Serializer>(
        it: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        it.map(Timestamp::as_millis).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Timestamp::from_millis))
    }
}

/// A span of time.
pub(crate) mod span {
    use super::{Deserialize as _, Deserializer, Duration, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(it: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(it.as_millis()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
