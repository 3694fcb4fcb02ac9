//! Operands: literals, names, lists, contexts, ranges, and whatever stands in brackets.

use std::sync::Arc;

use travertine_value::Number;

use super::{
    super::{
        builtins,
        lexer::Token,
        temporal::{Date, DateTime, DaysDuration, Time, YearsDuration},
        tree::{At, Comparison, EndOf, Expr, RangeOf},
        value::FeelValue,
    },
    Parsed, Parser,
};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let at = self.at();
        match self.token().clone() {
            Token::Number(text) => {
                self.advance(1);
                let number = Number::parse_rounded(&text);
                let number = number.map_err(|it| super::SyntaxError::new(it.to_string(), at))?;
                Ok(Expr::Constant(number.into()))
            }
            Token::String(text) => {
                self.advance(1);
                Ok(Expr::Constant(text.into()))
            }
            Token::Sign("@") => {
                self.advance(1);
                let Token::String(text) = self.token().clone() else {
                    return Err(self.expected("a string"));
                };
                self.advance(1);
                Ok(match at_literal(&text) {
                    Some(value) => Expr::Constant(value),
                    None => self
                        .nothing(format!("neither a date, a time nor a duration: \"{text}\""), at),
                })
            }
            Token::Sign("(") => self.nested(Self::bracketed),
            Token::Sign("[") => self.nested(Self::list_or_range),
            Token::Sign("]") => self.nested(Self::range_from_outside),
            Token::Sign("{") => self.nested(Self::context),
            Token::Quoted(_) => self.name(),
            Token::Word(word) => self.word(&word),
            Token::Sign(_) | Token::Other(_) | Token::End => Err(self.expected("an expression")),
        }
    }

    fn word(&mut self, word: &str) -> Parsed<Expr> {
        if self.variable_ahead().0 > 1 {
            return self.name();
        }
        let constant = match word {
            "null" => FeelValue::Null,
            "true" => true.into(),
            "false" => false.into(),
            "if" => return self.nested(Self::choice),
            "for" => return self.nested(Self::loop_over),
            "some" | "every" => return self.nested(Self::quantified),
            "function" if self.is_sign_ahead(1, "(") => {
                return self.nested(|parser| parser.function(None));
            }
            _ if self.is_reserved_ahead(0) && !self.knows_variable(word) => {
                return Err(self.expected("an expression"));
            }
            _ => return self.name(),
        };
        self.advance(1);
        Ok(Expr::Constant(constant))
    }

    /// The longest name wins, be it a variable or a built-in function.
    fn name(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let is_quoted = matches!(self.token(), Token::Quoted(_));
        let (words, name) = self.variable_ahead();
        let builtin = if is_quoted {
            None
        } else {
            builtins::longest(|ahead| self.word_ahead(ahead)).filter(|it| it.0 >= words)
        };
        let Some((builtin_words, builtin)) = builtin else {
            self.advance(words);
            return self.variable(&name, at);
        };
        let is_known = builtin_words == words && self.knows_variable(&name);
        if self.is_sign_ahead(builtin_words, "(") {
            self.advance(builtin_words);
            return if is_known {
                self.call_variable_or(&name, builtin, at)
            } else {
                self.call_builtin(builtin, at)
            };
        }
        // A word that is no call is a variable, unless nobody can have meant one.
        if builtin_words == words {
            self.advance(words);
            return Ok(if is_known {
                self.resolve(&name, at)
            } else {
                self.variable_or_builtin(&name, builtin, at)
            });
        }
        self.advance(builtin_words);
        Ok(Expr::Constant(builtin.value()))
    }

    /// `(a)`, `(a..b)`, `(< a)`.
    fn bracketed(&mut self) -> Parsed<Expr> {
        let at = self.at();
        self.expect_sign("(")?;
        if let Some(how) = self.comparison_sign() {
            let value = self.sum()?;
            self.expect_sign(")")?;
            return Ok(one_sided(how, value, at));
        }
        let inner = self.expression()?;
        if self.is_sign("..") {
            return self.range_to(EndOf::Excluded(inner), at);
        }
        self.expect_sign(")")?;
        Ok(inner)
    }

    /// `[a, b]`, `[a..b]`.
    fn list_or_range(&mut self) -> Parsed<Expr> {
        let at = self.at();
        self.expect_sign("[")?;
        if self.eat_sign("]") {
            return Ok(Expr::List(Vec::new()));
        }
        let first = self.list_item()?;
        if self.is_sign("..") {
            return self.range_to(EndOf::Included(first), at);
        }
        let mut items = vec![first];
        while self.eat_sign(",") {
            items.push(self.list_item()?);
        }
        self.expect_sign("]")?;
        Ok(Expr::List(items))
    }

    /// An expression, or a range that is open to one side, such as `< 5`.
    fn list_item(&mut self) -> Parsed<Expr> {
        let at = self.at();
        match self.comparison_sign() {
            Some(how) => Ok(one_sided(how, self.sum()?, at)),
            None => self.expression(),
        }
    }

    /// `]a..b]`.
    fn range_from_outside(&mut self) -> Parsed<Expr> {
        let at = self.at();
        self.expect_sign("]")?;
        let start = self.sum()?;
        self.range_to(EndOf::Excluded(start), at)
    }

    fn range_to(&mut self, start: EndOf, at: At) -> Parsed<Expr> {
        self.expect_sign("..")?;
        let end = self.range_end()?;
        let end = if self.eat_sign("]") {
            EndOf::Included(end)
        } else if self.eat_sign(")") || self.eat_sign("[") {
            EndOf::Excluded(end)
        } else {
            return Err(self.expected("']' or ')'"));
        };
        Ok(Expr::Range(Box::new(RangeOf { at, start, end })))
    }

    /// Whether the bracket here begins a range such as `(1..5)`: two points come before anything
    /// that separates or closes.
    pub(super) fn is_range_ahead(&self) -> bool {
        let mut depth = 0;
        for ahead in 1.. {
            match self.token_ahead(ahead) {
                Token::Sign("(" | "{" | "[") => depth += 1,
                Token::Sign(")" | "}" | "]" | ",") if depth == 0 => return false,
                Token::Sign(")" | "}" | "]") => depth -= 1,
                Token::Sign("..") if depth == 0 => return true,
                Token::End => return false,
                _ => {}
            }
        }
        false
    }

    /// Each entry can refer to those before it.
    fn context(&mut self) -> Parsed<Expr> {
        let at = self.at();
        self.expect_sign("{")?;
        let mut entries: Vec<(Arc<str>, Expr)> = Vec::new();
        let mut twice = None;
        let parsed = self.entries(&mut entries, &mut twice);
        for _ in &entries {
            self.unbind();
        }
        parsed?;
        Ok(match twice {
            Some(name) => self.nothing(format!("the context has two entries {name}"), at),
            None => Expr::Context(entries),
        })
    }

    fn entries(
        &mut self,
        entries: &mut Vec<(Arc<str>, Expr)>,
        twice: &mut Option<Arc<str>>,
    ) -> Parsed<()> {
        if self.eat_sign("}") {
            return Ok(());
        }
        loop {
            let Some(words) = self.key_length() else { return Err(self.expected("a key")) };
            let name = self.take_name(words);
            self.expect_sign(":")?;
            let is_function = self.is_word("function") && self.is_sign_ahead(1, "(");
            let value = if is_function {
                self.nested(|parser| parser.function(Some(Arc::clone(&name))))?
            } else {
                self.expression()?
            };
            if entries.iter().any(|(known, _)| *known == name) {
                *twice = Some(Arc::clone(&name));
            }
            self.remember_component(&name);
            self.bind(&name);
            entries.push((name, value));
            if self.eat_sign("}") {
                return Ok(());
            }
            self.expect_sign(",")?;
        }
    }
}

/// `(< 5)` and its like. `(= 5)` holds one value; everything but one value is no range.
fn one_sided(how: Comparison, value: Expr, at: At) -> Expr {
    let (start, end) = match how {
        Comparison::Less => (EndOf::Open, EndOf::Excluded(value)),
        Comparison::LessOrEqual => (EndOf::Open, EndOf::Included(value)),
        Comparison::Greater => (EndOf::Excluded(value), EndOf::Open),
        Comparison::GreaterOrEqual => (EndOf::Included(value), EndOf::Open),
        Comparison::Equal => (EndOf::Included(value), EndOf::Same),
        Comparison::Unequal => {
            return Expr::Nothing(at, "everything but one value is no range".into());
        }
    };
    Expr::Range(Box::new(RangeOf { at, start, end }))
}

/// What `@"…"` stands for.
pub(in super::super) fn at_literal(text: &str) -> Option<FeelValue> {
    Date::parse(text)
        .map(FeelValue::from)
        .or_else(|| DateTime::parse(text).map(Into::into))
        .or_else(|| Time::parse(text).map(Into::into))
        .or_else(|| DaysDuration::parse(text).map(Into::into))
        .or_else(|| YearsDuration::parse(text).map(Into::into))
}
