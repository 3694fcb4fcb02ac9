//! JSON texts and values.
//!
//! The parser is our own because numbers must stay exact, a number that cannot is refused at its
//! place, and depth is bounded. It reads exactly RFC 8259.

use std::fmt;

use crate::{
    number::{Number, NumberError},
    value::{Map, Value},
};

/// How deep lists and objects may nest. The parser recurses, and so does everyone after it.
pub(crate) const DEPTH_MAX: usize = 256;

/// Why a text is not JSON. Lines and columns count from 1, columns in characters.
///
/// ```
/// # use travertine_value::{JsonError, Value};
/// let error: JsonError = Value::parse_json("{\n  town: 1\n}").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub line: u32,
    /// Where in the line.
    pub column: u32,
    is_malformed: bool,
}

impl JsonError {
    /// Whether it is no JSON at all. Otherwise it is, but holds a number that cannot be kept exactly, or is
    /// nested too deeply.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert!(Value::parse_json("[1,").unwrap_err().is_malformed());
    /// assert!(!Value::parse_json("1e7000").unwrap_err().is_malformed());
    /// ```
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)
    }
}

impl std::error::Error for JsonError {}

/// Line and column of a byte of `text`, both from 1.
pub fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|it| *it != '\n').count() + 1;
    let small = |it| u32::try_from(it).unwrap_or(u32::MAX);
    (small(line), small(column))
}

pub(crate) fn parse(text: &str) -> Result<Value, JsonError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.document();
    value.map_err(|Problem { message, at, is_malformed }| {
        let (line, column) = position(text, at);
        JsonError { message, line, column, is_malformed }
    })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

struct Problem {
    message: String,
    at: usize,
    is_malformed: bool,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Value, Problem> {
        let value = self.value()?;
        match self.next_token() {
            None => Ok(value),
            Some(_) => Err(self.problem("text after the value")),
        }
    }

    fn value(&mut self) -> Result<Value, Problem> {
        match self.next_token() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => self.string().map(Value::from),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.problem("a value is expected here")),
            None => Err(self.problem("the text ends where a value is expected")),
        }
    }

    fn nested(
        &mut self,
        read: impl Fn(&mut Self) -> Result<Value, Problem>,
    ) -> Result<Value, Problem> {
        if self.depth == DEPTH_MAX {
            let message = format!("nested deeper than {DEPTH_MAX}");
            return Err(Problem { message, at: self.at, is_malformed: false });
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, Problem> {
        let mut items = Vec::new();
        if self.skip(b']') {
            return Ok(items.into());
        }
        loop {
            items.push(self.value()?);
            if self.skip(b']') {
                return Ok(items.into());
            }
            if !self.skip(b',') {
                return Err(self.problem("`,` or `]` is expected here"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, Problem> {
        let mut fields = Map::new();
        if self.skip(b'}') {
            return Ok(fields.into());
        }
        loop {
            if self.next_token() != Some(b'"') {
                return Err(self.problem("a field name in quotes is expected here"));
            }
            let name = self.string()?;
            if !self.skip(b':') {
                return Err(self.problem("`:` is expected here"));
            }
            let value = self.value()?;
            fields.insert(name.into(), value);
            if self.skip(b'}') {
                return Ok(fields.into());
            }
            if !self.skip(b',') {
                return Err(self.problem("`,` or `}` is expected here"));
            }
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Problem> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.problem("a value is expected here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, Problem> {
        let start = self.at;
        self.skip_here(b"-");
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(_) | None => return Err(self.problem("a digit is expected here")),
        }
        if self.skip_here(b".") {
            self.some_digits()?;
        }
        if self.skip_here(b"eE") {
            self.skip_here(b"+-");
            self.some_digits()?;
        }
        self.text[start..self.at].parse().map_err(|error: NumberError| Problem {
            message: error.to_string(),
            at: start,
            is_malformed: false,
        })
    }

    fn some_digits(&mut self) -> Result<(), Problem> {
        if !self.peek().is_some_and(|it| it.is_ascii_digit()) {
            return Err(self.problem("a digit is expected here"));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|it| it.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Reads a string from its opening quote on.
    fn string(&mut self) -> Result<String, Problem> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = rest.find(|it: char| it == '"' || it == '\\' || it < ' ') else {
                self.at = self.text.len();
                return Err(self.problem("the text ends within a string"));
            };
            string.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) | None => return Err(self.problem("a control character must be escaped")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            Some(_) | None => {
                return Err(Problem {
                    message: "unknown escape".to_owned(),
                    at: start,
                    is_malformed: true,
                });
            }
        })
    }

    /// One `\uXXXX`, or two that make a pair.
    fn unicode(&mut self, start: usize) -> Result<char, Problem> {
        let alone = || Problem {
            message: "half of a surrogate pair".to_owned(),
            at: start,
            is_malformed: true,
        };
        let first = self.hex(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or_else(alone);
        }
        if first >= 0xDC00 || !self.text[self.at..].starts_with("\\u") {
            return Err(alone());
        }
        self.at += 2;
        let second = self.hex(start)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(alone());
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or_else(alone)
    }

    fn hex(&mut self, start: usize) -> Result<u32, Problem> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let code = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
        self.at += 4;
        code.ok_or_else(|| Problem {
            message: "four hexadecimal digits are expected here".to_owned(),
            at: start,
            is_malformed: true,
        })
    }

    /// The next byte that is not white space.
    fn next_token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.next_token() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_here(&mut self, bytes: &[u8]) -> bool {
        let found = self.peek().is_some_and(|it| bytes.contains(&it));
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn problem(&self, message: &str) -> Problem {
        Problem { message: message.to_owned(), at: self.at, is_malformed: true }
    }
}

/// Prints a value compactly.
pub(crate) fn write(value: &Value, out: &mut impl fmt::Write) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Number(number) => write!(out, "{number}"),
        Value::String(string) => write_string(string, out),
        Value::List(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write(item, out)?;
            }
            out.write_char(']')
        }
        Value::Map(fields) => {
            out.write_char('{')?;
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write_string(name, out)?;
                out.write_char(':')?;
                write(field, out)?;
            }
            out.write_char('}')
        }
    }
}

fn write_string(string: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = string;
    while let Some(at) = rest.find(|it: char| it == '"' || it == '\\' || it < ' ') {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(text: &str) -> String {
        parse(text).unwrap().to_string()
    }

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn json_is_read_and_printed_compactly() {
        assert_eq!(
            round_trip(" { \"b\" : [ 1 , -2.50, 1e2, true, null ], \"a\" : { } , \"c\":\"\" } "),
            r#"{"b":[1,-2.5,100,true,null],"a":{},"c":""}"#
        );
    }

    #[test]
    fn of_equal_names_the_last_one_counts() {
        assert_eq!(round_trip(r#"{"a":1,"a":2}"#), r#"{"a":2}"#);
    }

    #[test]
    fn numbers_stay_exact() {
        for text in [
            "9007199254740993",
            "0.1",
            "12345678901234567890.123456789",
            "100000000000000000000000",
        ] {
            assert_eq!(round_trip(text), text);
        }
        assert_eq!(
            problem("[1,\n  12345678901234567890123456789012345]"),
            "a number has at most 34 significant digits (line 2, column 3)"
        );
    }

    #[test]
    fn escapes_are_read_and_written() {
        assert_eq!(parse(r#""\u00e9\ud83d\ude00\/\b\f""#).unwrap(), Value::from("é😀/\u{8}\u{c}"));
        assert_eq!(Value::from("\"\\\n\r\t\u{1}é").to_string(), r#""\"\\\n\r\t\u0001é""#);
        assert_eq!(problem(r#" "\ud83d" "#), "half of a surrogate pair (line 1, column 3)");
        assert_eq!(problem(r#" "\x" "#), "unknown escape (line 1, column 3)");
        assert_eq!(
            problem("\"\\u12é4\""),
            "four hexadecimal digits are expected here (line 1, column 2)"
        );
    }

    #[test]
    fn a_problem_says_where_it_is() {
        for (text, expected) in [
            ("", "the text ends where a value is expected (line 1, column 1)"),
            ("[1 2]", "`,` or `]` is expected here (line 1, column 4)"),
            ("{\"é\" 1}", "`:` is expected here (line 1, column 6)"),
            ("{a:1}", "a field name in quotes is expected here (line 1, column 2)"),
            ("{\"a\":1,}", "a field name in quotes is expected here (line 1, column 8)"),
            ("[1,]", "a value is expected here (line 1, column 4)"),
            ("\n\ntrue x", "text after the value (line 3, column 6)"),
            ("nul", "a value is expected here (line 1, column 1)"),
            ("\"a", "the text ends within a string (line 1, column 3)"),
            ("\"a\nb\"", "a control character must be escaped (line 1, column 3)"),
            ("01", "text after the value (line 1, column 2)"),
            ("1.", "a digit is expected here (line 1, column 3)"),
            ("-", "a digit is expected here (line 1, column 2)"),
            ("NaN", "a value is expected here (line 1, column 1)"),
        ] {
            assert_eq!(problem(text), expected, "{text}");
        }
    }

    #[test]
    fn absurd_nesting_is_refused() {
        assert!(parse(&format!("{}{}", "[".repeat(256), "]".repeat(256))).is_ok());
        assert_eq!(problem(&"[".repeat(1_000_000)), "nested deeper than 256 (line 1, column 257)");
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|it| Number::from_f64(it).into()),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|it| it
                    .into_iter()
                    .map(|(name, value)| (name.into(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn printing_and_reading_gives_the_same_value(value in any_value()) {
            prop_assert_eq!(parse(&value.to_string()), Ok(value));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn nothing_like_json_makes_the_parser_panic(text in r#"[\[\]{}",:0-9eE.\\u+\- \ntrfalsn]{0,40}"#) {
            let _ = parse(&text);
        }
    }
}
