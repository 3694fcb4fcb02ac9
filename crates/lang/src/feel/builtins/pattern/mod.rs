//! Regular expressions as `XPath` defines them.
//!
//! They are translated to those of the library: classes, blocks and subtraction are written
//! differently there, and what `XPath` does not know is refused before the library could accept it.

mod blocks;
mod translate;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use fancy_regex::{Regex, RegexBuilder};

/// A pattern with back references can take very long; it gives up after so many steps.
const BACKTRACK_MAX: usize = 200_000;
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Compiled patterns that are kept, since models use few and compiling is slow.
const CACHED_MAX: usize = 128;

type Cache = BTreeMap<(String, String), Arc<Regex>>;
static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Arc<Regex>,
}

impl Pattern {
    /// Compiles a pattern; the flags are `s`, `m`, `i` and `x`.
    pub(super) fn new(pattern: &str, flags: &str) -> Result<Self, String> {
        if let Some(unknown) = flags.chars().find(|it| !"smix".contains(*it)) {
            return Err(format!("there is no flag '{unknown}'"));
        }
        let key = (pattern.to_owned(), flags.to_owned());
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = cache.get(&key) {
            return Ok(Self { regex: Arc::clone(regex) });
        }
        let regex = Arc::new(compile(pattern, flags)?);
        if cache.len() >= CACHED_MAX {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&regex));
        Ok(Self { regex })
    }

    /// Whether it occurs in the text.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, String> {
        self.regex.is_match(text).map_err(too_much)
    }

    /// The text with every occurrence replaced; `$1` stands for what the first group has matched.
    pub(super) fn replace(
        &self,
        text: &str,
        replacement: &str,
        bytes_max: usize,
    ) -> Result<String, String> {
        self.refuse_empty()?;
        let pieces = pieces(replacement, self.regex.captures_len() - 1)?;
        let mut replaced = String::with_capacity(text.len());
        let mut end = 0;
        for captures in self.regex.captures_iter(text) {
            let captures = captures.map_err(too_much)?;
            let whole = captures.get(0).ok_or("the pattern has matched nothing")?;
            replaced.push_str(&text[end..whole.start()]);
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => replaced.push_str(text),
                    Piece::Group(group) => {
                        replaced.push_str(captures.get(*group).map_or("", |it| it.as_str()));
                    }
                }
            }
            if replaced.len() > bytes_max {
                return Err("the result is too long".to_owned());
            }
            end = whole.end();
        }
        replaced.push_str(&text[end..]);
        Ok(replaced)
    }

    /// What stands between the occurrences.
    pub(super) fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, String> {
        self.refuse_empty()?;
        let mut pieces = Vec::new();
        let mut end = 0;
        for found in self.regex.find_iter(text) {
            let found = found.map_err(too_much)?;
            pieces.push(&text[end..found.start()]);
            end = found.end();
        }
        pieces.push(&text[end..]);
        Ok(pieces)
    }

    /// All occurrences.
    pub(super) fn find_all<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, String> {
        self.regex.find_iter(text).map(|it| it.map(|it| it.as_str()).map_err(too_much)).collect()
    }

    /// A pattern that matches nothing at all would match everywhere.
    fn refuse_empty(&self) -> Result<(), String> {
        if self.is_match("")? {
            Err("the pattern matches the empty text".to_owned())
        } else {
            Ok(())
        }
    }
}

fn compile(pattern: &str, flags: &str) -> Result<Regex, String> {
    let stripped;
    let pattern = if flags.contains('x') {
        stripped = translate::without_blanks(pattern);
        &stripped
    } else {
        pattern
    };
    let mut translated = String::new();
    let mut ours: String = flags.chars().filter(|it| "mi".contains(*it)).collect();
    ours.dedup_chars();
    if !ours.is_empty() {
        translated = format!("(?{ours})");
    }
    translated.push_str(&translate::translate(pattern, flags.contains('s'))?);
    RegexBuilder::new(&translated)
        .backtrack_limit(BACKTRACK_MAX)
        .delegate_size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|_| format!("not a regular expression: {pattern}"))
}

trait DedupChars {
    fn dedup_chars(&mut self);
}

impl DedupChars for String {
    /// Each character once.
    fn dedup_chars(&mut self) {
        let mut seen = Self::new();
        self.retain(|it| {
            let is_new = !seen.contains(it);
            seen.push(it);
            is_new
        });
    }
}

fn too_much(_: fancy_regex::Error) -> String {
    "the pattern takes too long".to_owned()
}

enum Piece {
    Text(String),
    Group(usize),
}

/// The parts of a replacement. Only `$` and `\` are special, and must be escaped to stand for
/// themselves.
fn pieces(replacement: &str, groups: usize) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut chars = replacement.chars().peekable();
    while let Some(character) = chars.next() {
        match character {
            '\\' => match chars.next() {
                Some(it @ ('\\' | '$')) => text.push(it),
                _ => {
                    return Err("a backslash in a replacement escapes only '\\' and '$'".to_owned());
                }
            },
            '$' => {
                let digit = |it: Option<&char>| it.and_then(|it| it.to_digit(10));
                let Some(mut group) = digit(chars.peek()) else {
                    return Err("a '$' in a replacement needs a number".to_owned());
                };
                chars.next();
                // As many digits as there are groups for; the rest is text.
                while let Some(next) = digit(chars.peek()) {
                    if (group * 10 + next) as usize > groups {
                        break;
                    }
                    group = group * 10 + next;
                    chars.next();
                }
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Group(group as usize));
            }
            other => text.push(other),
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(text: &str, pattern: &str, flags: &str) -> Result<bool, String> {
        Pattern::new(pattern, flags)?.is_match(text)
    }

    #[test]
    fn classes_can_be_subtracted() {
        assert_eq!(is_match("x", "[A-Z-[OI]]", "i"), Ok(true));
        assert_eq!(is_match("O", "[A-Z-[OI]]", "i"), Ok(false));
        assert_eq!(is_match("Q", "[^Q]", "i"), Ok(false));
        assert_eq!(is_match("-", "[a-]", ""), Ok(true));
    }

    #[test]
    fn blanks_are_left_out_of_patterns_but_not_of_classes() {
        assert_eq!(is_match("hello world", r"hello\ sworld", "x"), Ok(true));
        assert_eq!(is_match("hello world", "hello[ ]world ", "x"), Ok(true));
        assert_eq!(is_match("hello world", r"\p{ IsBasicLatin}+", "x"), Ok(true));
        assert!(is_match("hello world", r"\p{ IsBasicLatin}+", "").is_err());
    }

    #[test]
    fn a_group_can_be_repeated_once_it_is_closed() {
        assert_eq!(is_match("abcabc", r"(abc)\1", ""), Ok(true));
        for pattern in
            [r"(.)\2", r"(asd)[\1]", r"(asd)[asd\0]", r"(a\1)", r"\bfoo", "(?=a)", "[", "a)"]
        {
            assert!(is_match("abcd", pattern, "").is_err(), "{pattern}");
        }
    }

    #[test]
    fn replacements_refer_to_groups() {
        let pattern = Pattern::new("(ab)|(a)", "").unwrap();
        assert_eq!(pattern.replace("abcd", "[1=$1][2=$2]", 100).unwrap(), "[1=ab][2=]cd");
        assert_eq!(pattern.replace("ab", r"\$$0$11", 100).unwrap(), "$abab1");
        assert!(pattern.replace("ab", "$", 100).is_err());
    }

    #[test]
    fn a_pattern_that_would_take_forever_gives_up() {
        let text = "a".repeat(40);
        assert!(
            is_match(&text, r"(a*)*\1b", "").is_err() || !is_match(&text, r"(a*)*\1b", "").unwrap()
        );
    }
}
