//! Parts of records that are the kernel's, and reading records from bytes.

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned},
};
use travertine_kernel as kernel;
use travertine_value::time;

use super::{
    Fault, VERSION,
    event::Event,
    failure::{Ending, Failure},
    offset, read,
    value::Assignments,
    wait::{Catches, Repeat},
};
use crate::codec::{
    DAMAGED,
    error::{DecodeError, Flaw},
};

pub(in crate::codec) fn decode_part<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let flawed = |place: &[u8], flaw| {
        let offset = if place.is_empty() { bytes.len() } else { offset(bytes, place) };
        DecodeError { event: None, offset, flaw }
    };
    let rest = match bytes.split_first() {
        None => return Err(flawed(bytes, Flaw::CutShort)),
        Some((&VERSION, rest)) => rest,
        Some((&DAMAGED, [])) => return Err(flawed(bytes, Flaw::Checksum)),
        Some((&version, _)) => return Err(flawed(bytes, Flaw::UnknownVersion(version))),
    };
    let (it, after) = read(rest).map_err(|Fault { place, flaw }| flawed(place, flaw))?;
    if after.is_empty() { Ok(it) } else { Err(flawed(after, Flaw::TrailingBytes)) }
}

/// For `#[serde(deserialize_with)]`: the kernel's type as the type of this version says.
macro_rules! part {
    ($name:ident, $plain:ty, $stored:ty, |$it:ident| $lift:expr) => {
        pub(in crate::codec) fn $name<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<$plain, D::Error> {
            let $it = <$stored>::deserialize(deserializer)?;
            let lifted: Option<$plain> = $lift;
            lifted.ok_or_else(|| de::Error::custom("a value is damaged"))
        }
    };
}

part!(events, Vec<kernel::Event>, Vec<Event<'de>>, |it| {
    it.into_iter().map(|it| it.lift().ok()).collect()
});
part!(values, kernel::Assignments, Assignments<'de>, |it| it.lift().ok());
part!(ending, kernel::Ending, Ending<'de>, |it| Some(it.lift()));
part!(failure, kernel::Failure, Failure<'de>, |it| Some(it.lift()));
part!(catches, kernel::Catches, Catches<'de>, |it| Some(it.lift()));
part!(repeat, Option<time::Repeat>, Option<Repeat<'de>>, |it| {
    it.map(Repeat::lift).transpose().ok()
});
