//! Texts with wildcards.

use super::bad;
use crate::Error;

/// The most characters of a pattern.
const LENGTH_MAX: usize = 500;

/// What a text is like: `*` stands for any characters, `?` for one, and a backslash before a character for that
/// character itself. A text that has the character NUL in it is like nothing.
///
/// ```
/// # use travertine_store::search::Pattern;
/// let pattern = Pattern::parse(r"20\*-??-*")?;
/// assert!(pattern.matches("20*-11-16"));
/// assert!(!pattern.matches("2026-11-16"));
/// # Ok::<(), travertine_store::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Any characters.
    Any,
    /// One character.
    One,
    /// This character.
    Just(char),
}

impl Pattern {
    /// Reads it. A backslash at the end stands for itself.
    ///
    /// ```
    /// # use travertine_store::search::Pattern;
    /// assert!(Pattern::parse("order-*")?.matches("order-12"));
    /// # Ok::<(), travertine_store::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(next) = rest.next() {
            let part = match next {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Just(rest.next().unwrap_or('\\')),
                other => Part::Just(other),
            };
            // Several are as good as one.
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
            if parts.len() > LENGTH_MAX || text.len() > 8 * LENGTH_MAX {
                return Err(bad(format!("a pattern has at most {LENGTH_MAX} characters")));
            }
        }
        Ok(Self(parts))
    }

    /// Whether a text is like it.
    ///
    /// ```
    /// # use travertine_store::search::Pattern;
    /// assert!(!Pattern::parse("order-?")?.matches("order-12"));
    /// # Ok::<(), travertine_store::Error>(())
    /// ```
    pub fn matches(&self, text: &str) -> bool {
        if text.contains('\0') {
            return false;
        }
        let (mut parts, mut rest) = (&self.0[..], text.chars());
        // Where the last `*` was, and how far it has reached. An earlier one need not reach further.
        let mut last = None;
        loop {
            let before = rest.clone();
            match (parts.split_first(), rest.next()) {
                (Some((Part::Any, after)), _) => {
                    rest = before;
                    parts = after;
                    last = Some((parts, rest.clone()));
                }
                (Some((Part::One, after)), Some(_)) => parts = after,
                (Some((Part::Just(wanted), after)), Some(found)) if *wanted == found => {
                    parts = after;
                }
                (None, None) => return true,
                _ => {
                    let Some((after, mut reached)) = last.take() else { return false };
                    if reached.next().is_none() {
                        return false;
                    }
                    (parts, rest) = (after, reached.clone());
                    last = Some((after, reached));
                }
            }
        }
    }

    /// The pattern in the notation of SQLite's `GLOB`.
    pub(crate) fn to_glob(&self) -> String {
        let mut glob = String::new();
        for part in &self.0 {
            match part {
                Part::Any => glob.push('*'),
                Part::One => glob.push('?'),
                Part::Just(it @ ('*' | '?' | '[')) => glob.extend(['[', *it, ']']),
                Part::Just(it) => glob.push(*it),
            }
        }
        glob
    }

    /// The pattern in the notation of `LIKE`. `text` says how a character stands in the database.
    #[cfg(feature = "postgres")]
    pub(crate) fn to_like(&self, text: impl Fn(char) -> String) -> String {
        self.0.iter().map(|it| it.in_like(&text)).collect()
    }

    /// What all texts that are like it begin with, where that is more than nothing, in the notation of `LIKE`.
    #[cfg(feature = "postgres")]
    pub(crate) fn begins_like(
        &self,
        chars: usize,
        text: impl Fn(char) -> String,
    ) -> Option<String> {
        let just = self.0.iter().take(chars).take_while(|it| matches!(it, Part::Just(_)));
        let begin: String = just.map(|it| it.in_like(&text)).collect();
        (!begin.is_empty()).then(|| format!("{begin}%"))
    }

    /// Whether it leaves a single character open.
    #[cfg(feature = "postgres")]
    pub(crate) fn has_one(&self) -> bool {
        self.0.contains(&Part::One)
    }

    /// Whether it wants a character that no text has which is like anything.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.0.contains(&Part::Just('\0'))
    }
}

impl Part {
    #[cfg(feature = "postgres")]
    fn in_like(self, text: &impl Fn(char) -> String) -> String {
        match self {
            Self::Any => String::from("%"),
            Self::One => String::from("_"),
            Self::Just(it @ ('%' | '_' | '\\')) => format!("\\{it}"),
            Self::Just(it) => text(it),
        }
    }
}
