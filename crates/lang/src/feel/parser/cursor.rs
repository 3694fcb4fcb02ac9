//! Looking at the words to come, and taking them.

use travertine_value::Name;

use super::{
    super::{lexer::Token, tree::At},
    Parsed, Parser, SyntaxError,
};

/// Words that cannot begin an operand.
const RESERVED: [&str; 10] =
    ["and", "or", "in", "between", "then", "else", "return", "satisfies", "instance", "of"];

impl Parser<'_> {
    pub(super) fn token(&self) -> &Token {
        self.token_ahead(0)
    }

    pub(super) fn token_ahead(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.position + ahead).min(last)].token
    }

    /// Where the next word stands.
    pub(super) fn at(&self) -> At {
        self.tokens[self.position].at
    }

    /// The text of a word to come, where it can be part of a name.
    pub(super) fn word_ahead(&self, ahead: usize) -> Option<&str> {
        let spot = self.tokens.get(self.position + ahead)?;
        match spot.token {
            Token::End | Token::String(_) | Token::Quoted(_) => None,
            Token::Word(_) | Token::Number(_) | Token::Sign(_) | Token::Other(_) => {
                Some(&self.source[spot.at as usize..spot.end as usize])
            }
        }
    }

    pub(super) fn advance(&mut self, tokens: usize) {
        self.position = (self.position + tokens).min(self.tokens.len() - 1);
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.is_sign_ahead(0, sign)
    }

    pub(super) fn is_sign_ahead(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.token_ahead(ahead), Token::Sign(it) if *it == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word(it) if &**it == word)
    }

    /// Whether the next word cannot begin an operand.
    pub(super) fn is_reserved_ahead(&self, ahead: usize) -> bool {
        matches!(self.token_ahead(ahead), Token::Word(it) if RESERVED.contains(&&**it))
    }

    pub(super) fn eat_sign(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(sign);
        self.advance(usize::from(is_there));
        is_there
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.advance(usize::from(is_there));
        is_there
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Parsed<()> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.expected(&format!("'{sign}'"))) }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("'{word}'"))) }
    }

    pub(super) fn expect_end(&self) -> Parsed<()> {
        if *self.token() == Token::End { Ok(()) } else { Err(self.expected("the end")) }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(message, self.at())
    }

    /// Two names in a row are most likely one name that nobody has told us about.
    pub(super) fn expected(&self, what: &str) -> SyntaxError {
        let previous = self.position.checked_sub(1).map(|it| &self.tokens[it].token);
        let found = match (previous, self.token()) {
            (_, Token::End) => "the end".to_owned(),
            (Some(Token::Word(one)), Token::Word(other)) => {
                return self.error(format!(
                    "expected {what}, found '{other}'; a name with spaces stands in backticks: \
                     `{one} {other}`"
                ));
            }
            (_, Token::Word(word)) => format!("'{word}'"),
            (_, Token::Quoted(name)) => format!("`{name}`"),
            (_, Token::Number(number)) => number.to_string(),
            (_, Token::String(_)) => "a string".to_owned(),
            (_, Token::Sign(sign)) => format!("'{sign}'"),
            (_, Token::Other(character)) => format!("'{character}'"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Whether the words to come are a name and a colon; if so, how many words the name has.
    pub(super) fn key_length(&self) -> Option<usize> {
        let is_key_part = |ahead: usize| match self.token_ahead(ahead) {
            Token::Word(_) | Token::Number(_) | Token::Other(_) => true,
            Token::Sign(sign) => matches!(*sign, "." | "/" | "-" | "'" | "+" | "*" | "**"),
            Token::Quoted(_) | Token::String(_) | Token::End => false,
        };
        if matches!(self.token(), Token::Quoted(_) | Token::String(_)) {
            return self.is_sign_ahead(1, ":").then_some(1);
        }
        if !matches!(self.token(), Token::Word(_)) {
            return None;
        }
        let length = self.count_ahead(is_key_part);
        self.is_sign_ahead(length, ":").then_some(length)
    }

    /// How many words to come are of this sort.
    pub(super) fn count_ahead(&self, is_one: impl Fn(usize) -> bool) -> usize {
        let words = self.tokens.len() - 1 - self.position;
        (0..words).take_while(|ahead| is_one(*ahead)).count()
    }

    /// Takes a name of so many words.
    pub(super) fn take_name(&mut self, words: usize) -> Name {
        let name = match self.token() {
            Token::Quoted(name) | Token::String(name) => Name::clone(name),
            Token::Word(word) if words == 1 => Name::clone(word),
            _ => self.spelled(words).into(),
        };
        self.advance(words);
        name
    }

    /// The words as they stand in the text, with one space wherever there is some.
    fn spelled(&self, words: usize) -> String {
        let spots = &self.tokens[self.position..self.position + words];
        let mut text = String::new();
        let mut end = None;
        for spot in spots {
            if end.is_some_and(|it| it < spot.at) {
                text.push(' ');
            }
            text.push_str(&self.source[spot.at as usize..spot.end as usize]);
            end = Some(spot.end);
        }
        text
    }
}
