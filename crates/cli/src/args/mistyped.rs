//! What is told of arguments that make no sense: which option was meant, and no more of a value than people read.
//!
//! clap looks for names that share most of their letters in place. So it misses letters that have changed places in
//! short names, `--nwo` for `--now`, and finds names that nobody meant, `--store` for `--force`.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use travertine_value::brief::abridged;

/// How much is repeated of what makes no sense.
const VALUE_BYTES_MAX: usize = 200;

/// Two letters that have changed places, or one that is wrong, missing or too many; in longer names two of these.
/// Less of a difference is closer; the farthest is where one is only the beginning of the other.
fn is_meant(given: &str, name: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(given, name);
    let most = if name.len() < 6 { 1 } else { 2 };
    if distance <= most {
        return Some(distance);
    }
    let begins = |long: &str, short: &str| short.len() > 2 && long.starts_with(short);
    (begins(given, name) || begins(name, given)).then_some(most + 1)
}

/// An error as people are told it.
pub(super) fn told(mut error: Error, command: &Command, words: &[String]) -> Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error = suggest(error, command, words);
    }
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
    {
        if let Some(ContextValue::String(given)) = error.get(kind)
            && given.len() > VALUE_BYTES_MAX
        {
            let given = abridged(given, VALUE_BYTES_MAX).into_owned();
            // clap's tips repeat it.
            error.remove(ContextKind::Suggested);
            error.insert(kind, ContextValue::String(given));
        }
    }
    error
}

/// Has an error about an unknown option name the one that was probably meant.
fn suggest(mut error: Error, command: &Command, words: &[String]) -> Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(given) = given.strip_prefix("--") else { return error };
    let given = given.split_once('=').map_or(given, |(name, _)| name);
    let mut command = command.clone();
    // So that it knows how its subcommands are called.
    command.build();
    let mut asked = &command;
    for word in words {
        asked = asked.find_subcommand(word).unwrap_or(asked);
    }
    let names = asked.get_arguments().filter_map(|it| it.get_long());
    let meant = names.filter_map(|it| Some((is_meant(given, it)?, it))).min();
    let usage = asked.clone().render_usage();
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    if let Some((_, name)) = meant {
        let name = format!("--{name}");
        error.remove(ContextKind::Suggested);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(name));
    }
    error
}
