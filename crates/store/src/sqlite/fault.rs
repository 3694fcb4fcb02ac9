//! What SQLite says went wrong, in our words.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::Error;

/// An error while reading or opening.
pub(super) fn read(place: &str, error: &rusqlite::Error) -> Error {
    let reason = error.to_string();
    let code = error.sqlite_error_code();
    let damaged = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    // Something else is there than was ever written.
    let strange = matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            // A row that is always there is missing.
            | rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::Utf8Error(..)
    );
    if damaged || strange {
        Error::Corrupt { place: place.to_owned(), reason }
    } else if matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied)) {
        Error::ReadOnly { reason: format!("{place}: {reason}") }
    } else if code == Some(ErrorCode::DiskFull) {
        Error::Full { reason: format!("{place}: {reason}") }
    } else {
        Error::Failed { reason: format!("{place}: {reason}") }
    }
}

/// An error while writing. What it leaves open makes the store unusable.
pub(super) fn write(place: &str, error: &rusqlite::Error) -> Error {
    let reason = format!("{place}: {error}");
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::ReadOnly { reason },
        // SQLite has noticed before anything was committed.
        Some(ErrorCode::DiskFull) => Error::Full { reason },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Failed { reason: format!("{place}: another program keeps it locked: {error}") }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt { place: place.to_owned(), reason: error.to_string() }
        }
        // These never came to be written.
        Some(ErrorCode::TooBig) => Error::Failed { reason },
        None if matches!(error, rusqlite::Error::ToSqlConversionFailure(_)) => {
            Error::Failed { reason }
        }
        _ => Error::Poisoned { reason },
    }
}

/// An error of the file system.
pub(super) fn system(path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let reason = format!("{}: {error}", path.display());
    if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) {
        Error::ReadOnly { reason }
    } else if matches!(error.kind(), StorageFull | QuotaExceeded) {
        Error::Full { reason }
    } else {
        Error::Failed { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_always_there_and_is_missing_is_damage() {
        let told = read("log.db", &rusqlite::Error::QueryReturnedNoRows);
        assert!(matches!(told, Error::Corrupt { .. }), "{told:?}");
    }
}
