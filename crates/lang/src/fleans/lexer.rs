//! From characters to tokens.

use travertine_value::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    /// A number, and whether it is written with a fraction.
    Number(Number, bool),
    Sign(&'static str),
    End,
}

/// What is wrong, and at which byte.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) at: usize,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, at: usize) -> Self {
        Self { message: message.into(), at }
    }
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "${", "==", "!=", "<=", ">=", "&&", "||", "??", "<", ">", "!", "+", "-", "*", "/", "%", "(",
    ")", "[", "]", "{", "}", ".", ",", "?", ":", "=", ";",
];

/// All tokens, each with the byte at which it begins; the last is the end.
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, usize)>, Problem> {
    let mut all = Vec::new();
    let mut at = 0;
    loop {
        at = skip(source, at)?;
        let rest = &source[at..];
        let Some(first) = rest.chars().next() else {
            all.push((Token::End, at));
            return Ok(all);
        };
        let (token, length) = if first == '"' || first == '\'' {
            text(rest, first, at)?
        } else if first.is_ascii_digit() {
            number(rest, at)?
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |it: char| it.is_alphanumeric() || it == '_';
            let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else if let Some(sign) = SIGNS.iter().find(|it| rest.starts_with(**it)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(Problem::new(format!("'{first}' means nothing here"), at));
        };
        all.push((token, at));
        at += length;
    }
}

/// Where the next token begins, behind spaces and comments.
fn skip(source: &str, from: usize) -> Result<usize, Problem> {
    let mut at = from;
    loop {
        let rest = &source[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if trimmed.starts_with("/*") {
            let end = trimmed.find("*/");
            at += end.ok_or_else(|| Problem::new("the comment does not end", at))? + 2;
        } else {
            return Ok(at);
        }
    }
}

fn text(rest: &str, quote: char, at: usize) -> Result<(Token, usize), Problem> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((position, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Ok((Token::Text(text), position + 1)),
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, other)) => text.push(other),
                None => break,
            },
            _ => text.push(letter),
        }
    }
    Err(Problem::new("the text does not end", at))
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Problem> {
    let digits = |text: &str| text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let mut length = digits(rest);
    let mut real = false;
    if let Some(fraction) = rest[length..].strip_prefix('.')
        && digits(fraction) > 0
    {
        real = true;
        length += 1 + digits(fraction);
    }
    let exponent = rest[length..].strip_prefix(['e', 'E']).map_or(0, |it| {
        let sign = usize::from(it.starts_with(['+', '-']));
        let count = digits(&it[sign..]);
        if count > 0 { 1 + sign + count } else { 0 }
    });
    real |= exponent > 0;
    length += exponent;
    let number =
        rest[..length].parse().map_err(|_| Problem::new("this is no number that fits", at))?;
    // The letter behind a number says how it is stored elsewhere.
    if let Some(suffix) = rest[length..].chars().next()
        && "mMdDfFlL".contains(suffix)
    {
        real |= !"lL".contains(suffix);
        length += 1;
    }
    Ok((Token::Number(number, real), length))
}
