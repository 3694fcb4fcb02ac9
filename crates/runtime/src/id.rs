//! Ids that people choose for instances.

use travertine_value::Name;

use crate::{BadId, Error};

/// How many bytes an id may have that someone chooses.
const ID_BYTES_MAX: usize = 1_024;

/// Whether something can have an id that someone chooses. People read it in lists, and type it.
pub(crate) fn check(id: &Name) -> Result<(), Error> {
    let control = id.chars().find(|it| it.is_control());
    let reason = match control {
        _ if id.is_empty() => BadId::Empty,
        _ if id.len() > ID_BYTES_MAX => BadId::TooLong { max: ID_BYTES_MAX },
        Some(letter) => BadId::Control(letter),
        None => return Ok(()),
    };
    Err(Error::BadId { id: Name::clone(id), reason })
}
