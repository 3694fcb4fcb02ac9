//! From characters to tokens.

use travertine_value::{Number, NumberError};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Number(Number),
    /// An operator, a bracket or a separator; operators spelled as words have become signs.
    Sign(&'static str),
    Empty,
    /// The closing brace of the expression, or the end of the text.
    Close,
    End,
}

/// What is wrong, and at which byte.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) at: usize,
    /// Whether it asks for something of a Java application.
    pub(super) foreign: bool,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, at: usize) -> Self {
        Self { message: message.into(), at, foreign: false }
    }

    pub(super) fn foreign(message: impl Into<String>, at: usize) -> Self {
        Self { foreign: true, ..Self::new(message, at) }
    }
}

/// Longer ones first.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    ".", ",", "?", ":", "=",
];

/// The token that begins at or after `at`, where it begins, and where the next may.
pub(super) fn token(source: &str, at: usize) -> Result<(Token, usize, usize), Problem> {
    let rest = &source[at..];
    let start = at + (rest.len() - rest.trim_start().len());
    let rest = &source[start..];
    let Some(first) = rest.chars().next() else { return Ok((Token::End, start, start)) };
    if first == '}' {
        return Ok((Token::Close, start, start + 1));
    }
    if first == '"' || first == '\'' {
        let (text, end) = text(source, start, first)?;
        return Ok((Token::Text(text), start, end));
    }
    if first.is_ascii_digit()
        || (first == '.' && rest[1..].starts_with(|it: char| it.is_ascii_digit()))
    {
        let end = start + number_length(rest);
        let number = source[start..end].parse();
        let number = number.map_err(|error: NumberError| Problem::new(error.to_string(), start))?;
        return Ok((Token::Number(number), start, end));
    }
    if is_name_start(first) {
        let length = rest.find(|it| !is_name_part(it)).unwrap_or(rest.len());
        return Ok((word(&rest[..length]), start, start + length));
    }
    match SIGNS.iter().find(|it| rest.starts_with(**it)) {
        Some(sign) => Ok((Token::Sign(sign), start, start + sign.len())),
        None => Err(Problem::new(format!("unexpected character: {first}"), start)),
    }
}

pub(super) fn is_name_start(it: char) -> bool {
    it.is_alphabetic() || it == '_' || it == '$'
}

pub(super) fn is_name_part(it: char) -> bool {
    is_name_start(it) || it.is_numeric()
}

fn word(word: &str) -> Token {
    Token::Sign(match word {
        "and" => "&&",
        "or" => "||",
        "not" => "!",
        "eq" => "==",
        "ne" => "!=",
        "lt" => "<",
        "gt" => ">",
        "le" => "<=",
        "ge" => ">=",
        "div" => "/",
        "mod" => "%",
        "empty" => return Token::Empty,
        _ => return Token::Name(word.to_owned()),
    })
}

/// Digits, a fraction where digits follow the point, an exponent where digits follow it.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|it| it.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(end + 1 + sign..).map_or(0, |_| digits(end + 1 + sign));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

fn text(source: &str, start: usize, quote: char) -> Result<(String, usize), Problem> {
    let mut text = String::new();
    let mut characters = source[start + 1..].char_indices();
    while let Some((offset, character)) = characters.next() {
        if character == quote {
            return Ok((text, start + 1 + offset + 1));
        }
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next() {
            Some((_, it @ ('\\' | '"' | '\''))) => it,
            Some((_, 'n')) => '\n',
            Some((_, 'r')) => '\r',
            Some((_, 't')) => '\t',
            Some((_, it)) => {
                return Err(Problem::new(format!("unknown escape: \\{it}"), start + 1 + offset));
            }
            None => break,
        });
    }
    Err(Problem::new("the text in quotes does not end", start))
}
