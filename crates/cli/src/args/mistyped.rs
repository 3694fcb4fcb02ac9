//! Options that are mistyped by a letter or two.
//!
//! clap looks for names that share most of their letters in place, so it misses letters that have changed places in
//! short names: `--nwo` for `--now`.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Two letters that have changed places, or one that is wrong, missing or too many; in longer names two of these.
fn is_meant(given: &str, name: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(given, name);
    let most = if name.len() < 6 { 1 } else { 2 };
    (distance <= most).then_some(distance)
}

/// Has an error about an unknown option name the one that was probably meant.
pub(super) fn suggest(mut error: Error, command: &Command, words: &[String]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some()
    {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(given) = given.strip_prefix("--") else { return error };
    let given = given.split_once('=').map_or(given, |(name, _)| name);
    let mut asked = command;
    for word in words {
        asked = asked.find_subcommand(word).unwrap_or(asked);
    }
    let globals = command.get_arguments().filter(|it| it.is_global_set());
    let names = asked.get_arguments().chain(globals).filter_map(|it| it.get_long());
    let meant = names.filter_map(|it| Some((is_meant(given, it)?, it))).min();
    if let Some((_, name)) = meant {
        let name = format!("--{name}");
        error.remove(ContextKind::Suggested);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(name));
    }
    error
}
