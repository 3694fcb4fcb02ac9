//! From text to words and signs. Which words form a name is for the parser to say.

use std::sync::Arc;

use super::{parser::SyntaxError, tree::At};

/// What stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word: a name, a part of one, or a keyword.
    Word(Arc<str>),
    /// A name in backticks.
    Quoted(Arc<str>),
    /// Digits with an optional point and exponent.
    Number(Arc<str>),
    String(Arc<str>),
    /// An operator or bracket.
    Sign(&'static str),
    /// Any other character. It can only be part of a known name.
    Other(char),
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) token: Token,
    pub(super) at: At,
    pub(super) end: At,
}

/// Longer ones first.
const SIGNS: [&str; 25] = [
    "**", "..", "<=", ">=", "!=", "->", "(", ")", "[", "]", "{", "}", ",", ":", ".", "+", "-", "*",
    "/", "<", ">", "=", "@", "'", ";",
];

/// All tokens of a text, and one [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Spot>, SyntaxError> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.place();
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push(Spot { token, at, end: lexer.place() });
        if is_end {
            return Ok(tokens);
        }
    }
}

/// The words and signs of a name, as they would stand in an expression.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut lexer = Lexer { source: name, at: 0 };
    let mut words = Vec::new();
    loop {
        lexer.at += blanks(lexer.rest());
        let start = lexer.at;
        if lexer.rest().is_empty() {
            return words;
        }
        // A quote or a number at odds with the grammar is still part of the name.
        if !matches!(lexer.token(), Ok(token) if token != Token::End) || lexer.at == start {
            let width = name[start..].chars().next().map_or(1, char::len_utf8);
            lexer.at = start + width;
        }
        words.push(name[start..lexer.at].to_owned());
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn place(&self) -> At {
        At::try_from(self.at).expect("a source text is short")
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.at += blanks(self.rest());
            if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or_else(|| self.rest().len());
            } else if self.rest().starts_with("/*") {
                let Some(length) = self.rest()[2..].find("*/") else {
                    return Err(SyntaxError::new("the comment has no end", self.place()));
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        if first == '"' {
            return self.string();
        }
        if first == '`' {
            return self.quoted();
        }
        let point_and_digit = first == '.' && self.byte(1).is_some_and(|it| it.is_ascii_digit());
        if first.is_ascii_digit() || point_and_digit {
            return Ok(self.number());
        }
        if is_name_start(first) {
            let tail = &self.rest()[first.len_utf8()..];
            let more = tail.find(|it| !is_name_part(it)).unwrap_or(tail.len());
            // The input of a unary test stands alone.
            let more = if first == '?' { 0 } else { more };
            return Ok(Token::Word(self.take(first.len_utf8() + more)));
        }
        if let Some(sign) = SIGNS.into_iter().find(|it| self.rest().starts_with(it)) {
            self.at += sign.len();
            return Ok(Token::Sign(sign));
        }
        self.at += first.len_utf8();
        Ok(Token::Other(first))
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn take(&mut self, length: usize) -> Arc<str> {
        let taken = &self.rest()[..length];
        self.at += length;
        Arc::from(taken)
    }

    /// The point must have a digit behind it: `1..5` is a range.
    fn number(&mut self) -> Token {
        let digits = |from: usize| {
            let tail = self.source.as_bytes().get(self.at + from..).unwrap_or_default();
            tail.iter().take_while(|it| it.is_ascii_digit()).count()
        };
        let mut length = digits(0);
        if self.byte(length) == Some(b'.') {
            let fraction = digits(length + 1);
            length += if fraction > 0 { fraction + 1 } else { 0 };
        }
        if matches!(self.byte(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign);
            length += if exponent > 0 { exponent + 1 + sign } else { 0 };
        }
        Token::Number(self.take(length))
    }

    fn quoted(&mut self) -> Result<Token, SyntaxError> {
        let place = self.place();
        let Some(length) = self.rest()[1..].find('`') else {
            return Err(SyntaxError::new("the name has no closing backtick", place));
        };
        let name = Arc::from(&self.rest()[1..=length]);
        self.at += length + 2;
        Ok(Token::Quoted(name))
    }

    fn string(&mut self) -> Result<Token, SyntaxError> {
        let place = self.place();
        let body = &self.rest()[1..];
        let mut is_escaped = false;
        let end = body.char_indices().find(|(_, character)| {
            let is_end = *character == '"' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            is_end
        });
        let Some((length, _)) = end else {
            return Err(SyntaxError::new("the string has no end", place));
        };
        self.at += length + 2;
        Ok(Token::String(unescape(&body[..length]).into()))
    }
}

/// A backslash before anything it does not escape stands for itself, as regular expressions need it.
fn unescape(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(start) = rest.find('\\') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let (replacement, length) = escape(rest);
        match replacement {
            Some(character) => text.push(character),
            None => text.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// What the escape at the beginning stands for, and how long it is.
fn escape(rest: &str) -> (Option<char>, usize) {
    let simple = match rest.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'"') => '"',
        Some(b'\'') => '\'',
        Some(b'\\') => '\\',
        Some(b'u') => return unicode(rest),
        Some(b'U') => match hex(rest, 2, 6) {
            Some(code) => return (char::from_u32(code).or(Some('\u{fffd}')), 8),
            None => return (None, 2),
        },
        Some(_) | None => return (None, 1),
    };
    (Some(simple), 2)
}

/// Two halves of a surrogate pair are one character.
fn unicode(rest: &str) -> (Option<char>, usize) {
    let Some(first) = hex(rest, 2, 4) else { return (None, 2) };
    if let Some(character) = char::from_u32(first) {
        return (Some(character), 6);
    }
    let second = if rest.get(6..8) == Some("\\u") { hex(rest, 8, 4) } else { None };
    if let (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) = (first, second) {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code), 12);
    }
    (Some('\u{fffd}'), 6)
}

fn hex(text: &str, from: usize, length: usize) -> Option<u32> {
    let digits = text.get(from..from + length)?;
    let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// How many bytes of white space the text begins with.
fn blanks(text: &str) -> usize {
    text.find(|it: char| !is_blank(it)).unwrap_or(text.len())
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{180e}' | '\u{200b}' | '\u{feff}')
}

fn is_name_start(character: char) -> bool {
    match character {
        '?' | '_' | 'A'..='Z' | 'a'..='z' => true,
        '\0'..='\u{bf}' | '\u{d7}' | '\u{f7}' => false,
        _ => {
            !is_blank(character)
                && !matches!(character, '\u{2010}'..='\u{206f}' | '\u{3000}'..='\u{3000}')
        }
    }
}

fn is_name_part(character: char) -> bool {
    is_name_start(character) && character != '?'
        || character.is_ascii_digit()
        || matches!(character, '\u{b7}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        let spots = tokens(source).unwrap();
        spots.into_iter().map(|it| format!("{:?}", it.token)).collect()
    }

    #[test]
    fn a_range_of_numbers_is_not_a_number() {
        assert_eq!(texts("1..2.5"), [r#"Number("1")"#, r#"Sign("..")"#, r#"Number("2.5")"#, "End"]);
        assert_eq!(texts(".5e3"), [r#"Number(".5e3")"#, "End"]);
    }

    #[test]
    fn escapes_are_characters_and_other_backslashes_stay() {
        let spots = tokens(r#""\uD83D\uDCA9\U01F40E\n\s\"\ud83d""#).unwrap();
        assert_eq!(spots[0].token, Token::String("💩🐎\n\\s\"\u{fffd}".into()));
    }

    #[test]
    fn names_fall_into_their_words() {
        assert_eq!(words("debt-to income"), ["debt", "-", "to", "income"]);
        assert_eq!(words("a % \"b"), ["a", "%", "\"", "b"]);
    }
}
