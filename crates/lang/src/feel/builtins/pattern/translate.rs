//! From the regular expressions of `XPath` to those of the library.

use std::{fmt::Write, iter::Peekable, str::Chars};

use super::blocks::block;

/// The characters that may begin an XML name, and those that may follow.
const NAME_START: &str = r":A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}";
const NAME_MORE: &str = r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}";

type Translated<T> = Result<T, String>;

/// The pattern without white space, except in classes.
pub(super) fn without_blanks(pattern: &str) -> String {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    let mut stripped = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        let is_blank = matches!(character, ' ' | '\t' | '\n' | '\r');
        if is_blank && depth == 0 {
            continue;
        }
        match character {
            '[' if !is_escaped => depth += 1,
            ']' if !is_escaped => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        stripped.push(character);
    }
    stripped
}

/// A point stands for everything, or for everything but the ends of lines.
pub(super) fn translate(pattern: &str, point_is_all: bool) -> Translated<String> {
    let chars = pattern.chars().peekable();
    let mut translator = Translator {
        chars,
        out: String::new(),
        open: Vec::new(),
        groups: 0,
        closed: Vec::new(),
        any: if point_is_all { "(?s:.)" } else { r"[^\n\r]" },
    };
    translator.pattern()?;
    Ok(translator.out)
}

struct Translator<'p> {
    chars: Peekable<Chars<'p>>,
    out: String,
    /// The groups that are open: their numbers, where they have one.
    open: Vec<Option<usize>>,
    groups: usize,
    closed: Vec<usize>,
    /// What a point stands for.
    any: &'static str,
}

impl Translator<'_> {
    fn pattern(&mut self) -> Translated<()> {
        let mut was_quantifier = false;
        while let Some(character) = self.chars.next() {
            let is_quantifier = matches!(character, '*' | '+' | '?') && !was_quantifier;
            match character {
                '\\' => self.escape()?,
                '[' => self.class(0)?,
                '(' => self.open_group()?,
                ')' => {
                    let group = self.open.pop().ok_or("a ')' closes nothing")?;
                    self.closed.extend(group);
                    self.out.push(')');
                }
                ']' => return Err("a ']' closes nothing".to_owned()),
                '+' | '*' if was_quantifier => {
                    return Err("a quantifier follows a quantifier".to_owned());
                }
                '.' => self.out.push_str(self.any),
                other => self.out.push(other),
            }
            was_quantifier = is_quantifier || character == '}' && !was_quantifier;
        }
        if self.open.is_empty() { Ok(()) } else { Err("a '(' is not closed".to_owned()) }
    }

    fn open_group(&mut self) -> Translated<()> {
        if self.chars.peek() != Some(&'?') {
            self.groups += 1;
            self.open.push(Some(self.groups));
            self.out.push('(');
            return Ok(());
        }
        self.chars.next();
        if self.chars.next() != Some(':') {
            return Err("a group cannot begin with '?'".to_owned());
        }
        self.open.push(None);
        self.out.push_str("(?:");
        Ok(())
    }

    /// An escape outside of classes.
    fn escape(&mut self) -> Translated<()> {
        let Some(character) = self.chars.peek().copied() else {
            return Err("the pattern ends with a backslash".to_owned());
        };
        if !character.is_ascii_digit() {
            let set = self.set()?;
            match set {
                Set::Character(it) => push_literal(&mut self.out, it),
                Set::Class(it) => write!(self.out, "[{it}]").expect("a string takes every text"),
            }
            return Ok(());
        }
        let mut group = 0_usize;
        while let Some(digit) = self.chars.peek().and_then(|it| it.to_digit(10)) {
            let next = group * 10 + digit as usize;
            if group > 0 && next > self.groups {
                break;
            }
            group = next;
            self.chars.next();
        }
        if !self.closed.contains(&group) {
            return Err(format!("there is no group {group} to refer back to"));
        }
        write!(self.out, "(?:\\{group})").expect("a string takes every text");
        Ok(())
    }

    /// What an escape stands for, whether in a class or not. The backslash is already taken.
    fn set(&mut self) -> Translated<Set> {
        let character = self.chars.next().ok_or("the pattern ends with a backslash")?;
        Ok(match character {
            'n' => Set::Character('\n'),
            'r' => Set::Character('\r'),
            't' => Set::Character('\t'),
            '\\' | '|' | '.' | '-' | '^' | '?' | '*' | '+' | '{' | '}' | '(' | ')' | '[' | ']'
            | '$' | '/' => Set::Character(character),
            's' => Set::Class(r" \t\n\r".to_owned()),
            'S' => Set::Class(r"^ \t\n\r".to_owned()),
            'd' => Set::Class(r"\p{Nd}".to_owned()),
            'D' => Set::Class(r"\P{Nd}".to_owned()),
            'w' => Set::Class(r"^\p{P}\p{Z}\p{C}".to_owned()),
            'W' => Set::Class(r"\p{P}\p{Z}\p{C}".to_owned()),
            'i' => Set::Class(NAME_START.to_owned()),
            'I' => Set::Class(format!("^{NAME_START}")),
            'c' => Set::Class(format!("{NAME_START}{NAME_MORE}")),
            'C' => Set::Class(format!("^{NAME_START}{NAME_MORE}")),
            'p' => Set::Class(self.property("")?),
            'P' => Set::Class(self.property("^")?),
            other => return Err(format!("there is no escape '\\{other}'")),
        })
    }

    /// `{Lu}` or `{IsBasicLatin}`.
    fn property(&mut self, negation: &str) -> Translated<String> {
        if self.chars.next() != Some('{') {
            return Err("a property stands in braces".to_owned());
        }
        let name: String = self.chars.by_ref().take_while(|it| *it != '}').collect();
        if let Some(block_name) = name.strip_prefix("Is") {
            let (first, last) =
                block(block_name).ok_or_else(|| format!("there is no block {block_name}"))?;
            return Ok(format!("{negation}\\x{{{first:X}}}-\\x{{{last:X}}}"));
        }
        let is_category = (1..=2).contains(&name.len()) && "LMNPZSC".contains(&name[..1]);
        if is_category {
            return Ok(format!("{negation}\\p{{{name}}}"));
        }
        Err(format!("there is no property {name}"))
    }

    /// A class in square brackets. The opening one is already taken.
    fn class(&mut self, depth: usize) -> Translated<()> {
        if depth > 20 {
            return Err("classes are nested too deeply".to_owned());
        }
        self.out.push('[');
        if self.chars.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_empty = true;
        loop {
            let character = self.chars.next().ok_or("a '[' is not closed")?;
            match character {
                ']' if !is_empty => break,
                ']' => return Err("a class is empty".to_owned()),
                '[' => return Err("a '[' in a class needs a backslash".to_owned()),
                '-' if self.chars.peek() == Some(&'[') && !is_empty => {
                    self.chars.next();
                    self.out.push_str("--");
                    self.class(depth + 1)?;
                    if self.chars.next() != Some(']') {
                        return Err("a subtraction ends its class".to_owned());
                    }
                    break;
                }
                '-' => {
                    // A hyphen is itself at either end, and between two characters spans a range.
                    let is_range = !is_empty && self.chars.peek().is_some_and(|it| *it != ']');
                    self.out.push_str(if is_range { "-" } else { r"\-" });
                }
                '\\' => match self.set()? {
                    Set::Character(it) => push_literal(&mut self.out, it),
                    Set::Class(it) => {
                        write!(self.out, "[{it}]").expect("a string takes every text");
                    }
                },
                other => push_literal(&mut self.out, other),
            }
            is_empty = false;
        }
        self.out.push(']');
        Ok(())
    }
}

enum Set {
    Character(char),
    /// The inside of a class.
    Class(String),
}

/// A character that stands for itself, wherever it stands.
fn push_literal(out: &mut String, character: char) {
    if character.is_ascii_punctuation() && character != '_' && character != '<' && character != '>'
    {
        out.push('\\');
    }
    out.push(character);
}
