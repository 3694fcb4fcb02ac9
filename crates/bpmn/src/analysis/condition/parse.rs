//! Reads a condition, where it is written as people mostly write them.

use super::{Comparison, Condition, Value, Variables};

/// A longer condition is not understood. This also bounds how deep it can be.
const WORDS_MAX: usize = 256;

/// The condition that a text means; `None` where it is not understood.
pub(in crate::analysis) fn parse(text: &str, variables: &mut Variables) -> Option<Condition> {
    let (text, feel) = unwrapped(text);
    let words = words(text, feel)?;
    if words.len() > WORDS_MAX {
        return None;
    }
    let mut parser = Parser { words, at: 0, variables };
    let condition = parser.or()?;
    let condition = parser.asked(condition)?;
    (parser.at == parser.words.len()).then_some(condition)
}

/// The text without the marks of its language, and whether they are FEEL's.
fn unwrapped(text: &str) -> (&str, bool) {
    let text = text.trim();
    if let Some(feel) = text.strip_prefix('=') {
        return (feel, true);
    }
    let inner = text.strip_prefix("${").or_else(|| text.strip_prefix("#{"));
    (inner.and_then(|it| it.strip_suffix('}')).unwrap_or(text), false)
}

#[derive(Clone, Debug, PartialEq)]
enum Word {
    Name(String),
    Value(Value),
    Compare(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
}

fn words(text: &str, feel: bool) -> Option<Vec<Word>> {
    const SIGNS: &[(&str, Word)] = &[
        ("===", Word::Compare(Comparison::Equal)),
        ("!==", Word::Compare(Comparison::Different)),
        ("==", Word::Compare(Comparison::Equal)),
        ("!=", Word::Compare(Comparison::Different)),
        ("<=", Word::Compare(Comparison::AtMost)),
        (">=", Word::Compare(Comparison::AtLeast)),
        ("<", Word::Compare(Comparison::Less)),
        (">", Word::Compare(Comparison::Greater)),
        ("&&", Word::And),
        ("||", Word::Or),
        ("!", Word::Not),
        ("(", Word::Open),
        (")", Word::Close),
    ];
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if let Some((sign, word)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            // A name before a parenthesis is a function, and nobody knows what that does.
            if *word == Word::Open && matches!(words.last(), Some(Word::Name(_))) {
                return None;
            }
            words.push(word.clone());
            length = sign.len();
        } else if first == '=' && feel {
            words.push(Word::Compare(Comparison::Equal));
            length = 1;
        } else if first == '\'' || first == '"' {
            let inner = &rest[1..];
            let end = inner.find(first)?;
            if inner[..end].contains('\\') {
                return None;
            }
            words.push(Word::Value(Value::Text(inner[..end].to_owned())));
            length = end + 2;
        } else if first.is_ascii_digit() || first == '-' {
            let end = rest[1..].find(|it: char| !it.is_ascii_digit() && it != '.');
            length = end.map_or(rest.len(), |it| it + 1);
            words.push(Word::Value(Value::Number(rest[..length].parse().ok()?)));
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let inside = |it: char| it.is_alphanumeric() || "_$.".contains(it);
            length = rest.find(|it| !inside(it)).unwrap_or(rest.len());
            words.push(named(&rest[..length]));
        } else {
            return None;
        }
        rest = rest[length..].trim_start();
    }
    Some(words)
}

fn named(word: &str) -> Word {
    match word {
        "and" => Word::And,
        "or" => Word::Or,
        "not" => Word::Not,
        "eq" => Word::Compare(Comparison::Equal),
        "ne" => Word::Compare(Comparison::Different),
        "lt" => Word::Compare(Comparison::Less),
        "le" => Word::Compare(Comparison::AtMost),
        "gt" => Word::Compare(Comparison::Greater),
        "ge" => Word::Compare(Comparison::AtLeast),
        "true" | "True" => Word::Value(Value::Bool(true)),
        "false" | "False" => Word::Value(Value::Bool(false)),
        "null" | "None" => Word::Value(Value::Null),
        _ => Word::Name(word.to_owned()),
    }
}

struct Parser<'v> {
    words: Vec<Word>,
    at: usize,
    variables: &'v mut Variables,
}

impl Parser<'_> {
    fn takes(&mut self, word: &Word) -> bool {
        let fits = self.words.get(self.at) == Some(word);
        self.at += usize::from(fits);
        fits
    }

    fn or(&mut self) -> Option<Condition> {
        let mut left = self.and()?;
        while self.takes(&Word::Or) {
            let right = self.and()?;
            left = Condition::Or(Box::new(self.asked(left)?), Box::new(self.asked(right)?));
        }
        Some(left)
    }

    fn and(&mut self) -> Option<Condition> {
        let mut left = self.not()?;
        while self.takes(&Word::And) {
            let right = self.not()?;
            left = Condition::And(Box::new(self.asked(left)?), Box::new(self.asked(right)?));
        }
        Some(left)
    }

    fn not(&mut self) -> Option<Condition> {
        if self.takes(&Word::Not) {
            let inner = self.not()?;
            return Some(Condition::Not(Box::new(self.asked(inner)?)));
        }
        let left = self.atom()?;
        let Some(Word::Compare(how)) = self.words.get(self.at).cloned() else { return Some(left) };
        self.at += 1;
        let right = self.atom()?;
        match (&left, &right) {
            (Condition::Variable(variable), Condition::Value(value))
            | (Condition::Value(value), Condition::Variable(variable)) => {
                self.variables.compared(*variable, value);
            }
            (Condition::Value(_), Condition::Value(_)) => {}
            _ => return None,
        }
        Some(Condition::Compare(how, Box::new(left), Box::new(right)))
    }

    fn atom(&mut self) -> Option<Condition> {
        let word = self.words.get(self.at)?.clone();
        self.at += 1;
        match word {
            Word::Name(name) => Some(Condition::Variable(self.variables.find(&name))),
            Word::Value(value) => Some(Condition::Value(value)),
            Word::Open => {
                let inner = self.or()?;
                self.takes(&Word::Close).then_some(inner)
            }
            Word::Compare(_) | Word::And | Word::Or | Word::Not | Word::Close => None,
        }
    }

    /// What stands where a yes or no is wanted.
    fn asked(&mut self, condition: Condition) -> Option<Condition> {
        match &condition {
            Condition::Variable(variable) => self.variables.is_asked(*variable),
            Condition::Value(Value::Null | Value::Number(_) | Value::Text(_)) => return None,
            Condition::Value(Value::Bool(_))
            | Condition::Compare(..)
            | Condition::And(..)
            | Condition::Or(..)
            | Condition::Not(_) => {}
        }
        Some(condition)
    }
}
