//! The words of a text.

use travertine_value::Number;

/// A problem, and how many bytes before it.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) at: usize,
    pub(super) message: String,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Number(Number),
    Text(String),
    Name(String),
    /// A sign, in its plain spelling.
    Sign(&'static str),
    End,
}

/// The signs, longer ones first, and their plain spellings.
const SIGNS: &[(&str, &str)] = &[
    (":=", ":="),
    ("≔", ":="),
    ("+=", "+="),
    ("-=", "-="),
    ("*=", "*="),
    ("/=", "/="),
    ("<=", "<="),
    ("≤", "<="),
    (">=", ">="),
    ("≥", ">="),
    ("==", "=="),
    ("!=", "!="),
    ("≠", "!="),
    ("&&", "and"),
    ("∧", "and"),
    ("||", "or"),
    ("∨", "or"),
    ("∈", "in"),
    ("∉", "not in"),
    ("²", "²"),
    ("³", "³"),
    ("√", "√"),
    ("∛", "∛"),
    ("∑", "∑"),
    ("¬", "!"),
    ("!", "!"),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("^", "^"),
    ("?", "?"),
    (":", ":"),
    ("|", "|"),
    ("∣", "|"),
    (",", ","),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
];

/// Names that are signs.
const KEYWORDS: &[(&str, &str)] = &[
    ("and", "and"),
    ("or", "or"),
    ("in", "in"),
    ("not", "not"),
    ("if", "if"),
    ("then", "then"),
    ("else", "else"),
    ("true", "true"),
    ("false", "false"),
    ("undefined", "undefined"),
];

/// All words of a text, each with where it begins; the last is [`Word::End`].
pub(super) fn words(source: &str) -> Result<Vec<(usize, Word)>, Problem> {
    let mut all: Vec<(usize, Word)> = Vec::new();
    let mut at = 0;
    while let Some(letter) = source[at..].chars().next() {
        let rest = &source[at..];
        if letter.is_whitespace() {
            at += letter.len_utf8();
        } else if letter == '"' {
            let Some(length) = rest[1..].find('"') else {
                return Err(Problem { at, message: "the text has no closing quote".to_owned() });
            };
            all.push((at, Word::Text(rest[1..=length].to_owned())));
            at += length + 2;
        } else if letter.is_ascii_digit()
            || letter == '.' && rest[1..].starts_with(|it: char| it.is_ascii_digit())
        {
            let length = number_length(rest);
            let text = &rest[..length];
            let number = Number::parse_rounded(text);
            let number = number
                .map_err(|_| Problem { at, message: format!("`{text}` is too large a number") })?;
            all.push((at, Word::Number(number)));
            at += length;
        } else if letter.is_alphabetic() || letter == '_' {
            let ends = |it: char| !(it.is_alphabetic() || it.is_ascii_digit() || it == '_');
            let length = rest.find(ends).unwrap_or(rest.len());
            let name = &rest[..length];
            let keyword = KEYWORDS.iter().find(|(known, _)| *known == name);
            match (keyword, all.last_mut()) {
                (Some((_, "in")), Some((_, Word::Sign(last)))) if *last == "not" => {
                    *last = "not in";
                }
                (Some((_, sign)), _) => all.push((at, Word::Sign(sign))),
                (None, _) => all.push((at, Word::Name(name.to_owned()))),
            }
            at += length;
        } else if let Some((text, sign)) = SIGNS.iter().find(|(text, _)| rest.starts_with(text)) {
            all.push((at, Word::Sign(sign)));
            at += text.len();
        } else {
            return Err(Problem { at, message: format!("`{letter}` means nothing here") });
        }
    }
    all.push((source.len(), Word::End));
    Ok(all)
}

/// How long the number is that a text begins with.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
