//! Things as people type them.

use std::{convert::Infallible, str::FromStr};

pub(crate) use travertine_data::words::{
    cursor, job_state, of_cursor, of_job_state, of_state, span, state,
};
use travertine_runtime::{Address, InstanceId, engine::NUMBER};
use travertine_value::Name;

/// An instance that someone means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// By its number and nothing else.
    Number(InstanceId),
    /// By what people call it; by its number, where nothing is called so.
    Called(Name),
}

impl FromStr for Whose {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let number = text.strip_prefix(NUMBER).and_then(|it| it.parse().ok());
        Ok(number.map_or_else(|| Self::Called(text.into()), Self::Number))
    }
}

/// Work that someone means: by its own name, or as the only one of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    At(Address),
    Only(Whose),
}

impl FromStr for Work {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        match text.parse() {
            Ok(address) => Ok(Self::At(address)),
            Err(_) => text.parse().map(Self::Only),
        }
    }
}

/// `FROM:TO`.
pub(crate) fn both(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.into(), to.into())),
        Some(_) | None => Err(format!("`{text}` does not say from where to where; write FROM:TO")),
    }
}

/// `TYPE=COMMAND`.
pub(crate) fn worker(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((of, by)) if !of.is_empty() && !by.trim().is_empty() => Ok((of.into(), by.into())),
        Some(_) | None => {
            Err(format!("`{text}` does not say which jobs a command does; write TYPE=COMMAND"))
        }
    }
}

/// `OLD=NEW`.
pub(crate) fn mapping(text: &str) -> Result<(Name, Name), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.into(), new.into())),
        Some(_) | None => Err(format!("`{text}` does not say what becomes what; write OLD=NEW")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn spans_are_read_in_both_ways() {
        assert_eq!(span("90d"), Ok(Duration::from_hours(90 * 24)));
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("PT1H"), Ok(Duration::from_hours(1)));
        assert_eq!(span("0s"), Ok(Duration::ZERO));
        assert!(span("soon").unwrap_err().contains("like 30s"));
    }

    #[test]
    fn what_does_not_say_that_it_is_a_number_may_be_what_people_call_it() {
        let at = Work::At("12-7".parse().unwrap());
        assert_eq!("12-7".parse(), Ok(at));
        assert_eq!("12".parse(), Ok(Work::Only(Whose::Called("12".into()))));
        assert_eq!("number:12".parse(), Ok(Work::Only(Whose::Number(InstanceId(12)))));
        assert_eq!("number:x".parse(), Ok(Work::Only(Whose::Called("number:x".into()))));
        assert_eq!("ORD-7".parse(), Ok(Work::Only(Whose::Called("ORD-7".into()))));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in ["12", "12-7", "12-7-some-name"] {
            assert_eq!(of_cursor(&cursor(text).unwrap()), text);
        }
        assert!(cursor("x").unwrap_err().contains("page before"));
    }
}
