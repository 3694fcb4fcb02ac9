//! What a key names. A key of another kind, and a number that is no key, name nothing.

use travertine_runtime::{Address, DefinitionKey, InstanceId, Key, Named};

use super::Refusal;

pub(crate) fn definition(key: i64) -> Result<DefinitionKey, Refusal> {
    match Key::read(key) {
        Some(Named::Definition(number)) => Ok(number),
        other => Err(no_such("definition", key, other)),
    }
}

pub(crate) fn instance(key: i64) -> Result<InstanceId, Refusal> {
    match Key::read(key) {
        Some(Named::Instance(id)) => Ok(id),
        other => Err(no_such("process instance", key, other)),
    }
}

/// A job, a user task, a subscription.
pub(crate) fn wait(key: i64, what: &str) -> Result<Address, Refusal> {
    match Key::read(key) {
        Some(Named::Wait(address)) => Ok(address),
        other => Err(no_such(what, key, other)),
    }
}

pub(crate) fn incident(key: i64) -> Result<(InstanceId, u64), Refusal> {
    match Key::read(key) {
        Some(Named::Incident(instance, number)) => Ok((instance, number)),
        other => Err(no_such("incident", key, other)),
    }
}

pub(crate) fn variable(key: i64) -> Result<(InstanceId, u64), Refusal> {
    match Key::read(key) {
        Some(Named::Variable(instance, number)) => Ok((instance, number)),
        other => Err(no_such("variable", key, other)),
    }
}

/// An element instance; the process instance is one, too.
pub(crate) fn element(key: i64) -> Result<Named, Refusal> {
    match Key::read(key) {
        Some(named @ (Named::Instance(_) | Named::Visit(..))) => Ok(named),
        other => Err(no_such("element instance", key, other)),
    }
}

/// Says what a key is instead, so that whoever has mixed up two keys sees it.
pub(crate) fn no_such(what: &str, key: i64, named: Option<Named>) -> Refusal {
    let is = named.map_or_else(String::new, |it| format!("; that is the key of {}", it.what()));
    Refusal::not_found(format!("no {what} has the key {key}{is}"))
}
