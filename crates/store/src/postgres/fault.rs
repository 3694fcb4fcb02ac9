//! What went wrong, in our words.

use tokio_postgres::{Error as PgError, error::DbError};

use crate::Error;

/// Of what somebody was reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The truth.
    Log,
    /// What can be made again from it.
    Views,
}

/// What PostgreSQL says, for people.
fn words(error: &PgError) -> String {
    if let Some(it) = error.as_db_error() {
        let detail = it.detail().map_or_else(String::new, |it| format!(" ({it})"));
        return format!("PostgreSQL says: {}{detail}", it.message());
    }
    let why = std::error::Error::source(error);
    why.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"))
}

/// Whether the server ends the connection with what it says.
fn is_fatal(it: &DbError) -> bool {
    use tokio_postgres::error::Severity::{Fatal, Panic};
    match it.parsed_severity() {
        Some(severity) => matches!(severity, Fatal | Panic),
        None => matches!(it.severity(), "FATAL" | "PANIC"),
    }
}

/// Whether the connection is of no use any more.
pub(super) fn is_lost(error: &PgError) -> bool {
    match error.as_db_error() {
        // A server that only reads will not write; another one may.
        Some(it) => is_fatal(it) || it.code().code() == "25006",
        None => true,
    }
}

/// Whether the same may be done at once again: it stood in somebody's way, and nothing was written.
pub(super) fn is_clash(error: &PgError) -> bool {
    error.as_db_error().is_some_and(|it| matches!(it.code().code(), "40001" | "40P01" | "55P03"))
}

/// Whether somebody has ended the statement: an administrator, or the time that it may take.
pub(super) fn is_cancelled(error: &PgError) -> bool {
    error.as_db_error().is_some_and(|it| it.code().code() == "57014")
}

/// Whether the statement of a table or column that is not there, or is another.
fn is_strange(code: &str) -> bool {
    matches!(code, "42P01" | "42703" | "42804" | "42883" | "42P10" | "22P02" | "0A000")
}

/// What is wrong where nothing was to be written, or has not been written.
pub(super) fn told(error: &PgError, of: Of) -> Error {
    let reason = words(error);
    let Some(it) = error.as_db_error() else { return Error::Away { reason } };
    let place = || {
        String::from(if of == Of::Log { "the log in PostgreSQL" } else { "a view in PostgreSQL" })
    };
    match it.code().code() {
        "53100" | "53200" => Error::Full { reason },
        "XX001" | "XX002" if of == Of::Log => Error::Corrupt { place: place(), reason },
        "XX001" | "XX002" => Error::DamagedViews { place: place(), reason },
        code if of == Of::Views && is_strange(code) => {
            Error::DamagedViews { place: place(), reason }
        }
        "42501" => Error::ReadOnly { reason },
        "25006" | "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => {
            Error::Away { reason }
        }
        // It was taken back as a whole, and the next try may find its way.
        "57014" | "40001" | "40P01" | "55P03" => Error::Away { reason },
        code if code.starts_with("08") => Error::Away { reason },
        _ if is_fatal(it) && !matches!(it.code().code(), "28000" | "28P01" | "3D000") => {
            Error::Away { reason }
        }
        _ => Error::Failed { reason },
    }
}

/// What is wrong where a statement was to be durable with its answer.
pub(super) fn told_of_write(error: &PgError, of: Of) -> Error {
    if error.as_db_error().is_none_or(is_fatal) {
        return Error::Unknown { reason: words(error) };
    }
    told(error, of)
}
