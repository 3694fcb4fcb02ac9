//! Parts of records that are the kernel's, and records as bytes.

use serde::{Serialize, de::DeserializeOwned};

use super::{Fault, VERSION, offset, read, write};
use crate::codec::error::{DecodeError, EncodeError, Flaw};

/// Appends the version and then `it`. Where that is not possible nothing is appended.
pub(in crate::codec) fn encode_part(
    it: &(impl Serialize + ?Sized),
    bytes: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = bytes.len();
    bytes.push(VERSION);
    let written = write(it, bytes);
    if written.is_err() {
        bytes.truncate(start);
    }
    written
}

pub(in crate::codec) fn decode_part<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let flawed = |place: &[u8], flaw| {
        let offset = if place.is_empty() { bytes.len() } else { offset(bytes, place) };
        DecodeError { event: None, offset, flaw }
    };
    let rest = match bytes.split_first() {
        None => return Err(flawed(bytes, Flaw::CutShort)),
        Some((&VERSION, rest)) => rest,
        Some((&version, _)) => return Err(flawed(bytes, Flaw::UnknownVersion(version))),
    };
    let (it, after) = read(rest).map_err(|Fault { place, flaw }| flawed(place, flaw))?;
    if after.is_empty() { Ok(it) } else { Err(flawed(after, Flaw::TrailingBytes)) }
}

/// A module for `#[serde(with)]`: the kernel's type as the type of this version says.
macro_rules! part {
    (
        $(#[$lint:meta])?
        $name:ident,
        $borrowed:ty,
        $plain:ty,
        $stored:ty,
        |$it:ident| $of:expr,
        |$other:ident| $lift:expr
    ) => {
        pub(in crate::codec) mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

            $(#[$lint])?
            pub(in crate::codec) fn serialize<S: Serializer>(
                $it: $borrowed,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                $of.serialize(serializer)
            }

            pub(in crate::codec) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$plain, D::Error> {
                let $other = <$stored>::deserialize(deserializer)?;
                let lifted: Option<$plain> = $lift;
                lifted.ok_or_else(|| de::Error::custom("a value is damaged"))
            }
        }
    };
}

part!(
    events,
    &[travertine_kernel::Event],
    Vec<travertine_kernel::Event>,
    Vec<crate::codec::v1::event::Event<'de>>,
    |it| crate::codec::v1::event::Events(it),
    |it| it.into_iter().map(|it| it.lift().ok()).collect()
);
part!(
    values,
    &[(travertine_expr::Name, travertine_expr::Value)],
    travertine_kernel::Assignments,
    crate::codec::v1::value::Assignments<'de>,
    |it| crate::codec::v1::value::Assignments::of(it),
    |it| it.lift().ok()
);
part!(
    ending,
    &travertine_kernel::Ending,
    travertine_kernel::Ending,
    crate::codec::v1::failure::Ending<'de>,
    |it| crate::codec::v1::failure::Ending::of(it),
    |it| Some(it.lift())
);
part!(
    catches,
    &travertine_kernel::Catches,
    travertine_kernel::Catches,
    crate::codec::v1::wait::Catches<'de>,
    |it| crate::codec::v1::wait::Catches::of(it),
    |it| Some(it.lift())
);
part!(
    #[expect(clippy::ref_option, reason = "this is how serde hands it over")]
    repeat,
    &Option<travertine_expr::time::Repeat>,
    Option<travertine_expr::time::Repeat>,
    Option<crate::codec::v1::wait::Repeat<'de>>,
    |it| it.as_ref().map(crate::codec::v1::wait::Repeat::of),
    |it| it.map(crate::codec::v1::wait::Repeat::lift).transpose().ok()
);
