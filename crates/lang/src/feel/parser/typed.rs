//! Types: how they are written, and what can be known of the types of operands before running.

use std::sync::Arc;

use super::{
    super::{
        lexer::Token,
        problem::Severity,
        tree::{Comparison, Expr, Operator},
        types::Type,
        value::FeelValue,
    },
    Parsed, Parser,
};

/// The longest names of types have as many words.
const TYPE_WORDS_MAX: usize = 8;

impl Parser<'_> {
    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        self.nested(Self::type_here)
    }

    fn type_here(&mut self) -> Parsed<Type> {
        let at = self.at();
        if !matches!(self.token(), Token::Word(_) | Token::Quoted(_)) {
            return Err(self.expected("a type"));
        }
        if self.is_sign_ahead(1, "<") {
            if self.eat_word("list") {
                return Ok(Type::List(Arc::new(self.type_argument()?)));
            } else if self.eat_word("range") {
                return Ok(Type::Range(Arc::new(self.type_argument()?)));
            } else if self.eat_word("context") {
                return self.context_type();
            } else if self.eat_word("function") {
                return self.function_type();
            }
        }
        if let Some((words, of)) = self.type_ahead() {
            self.advance(words);
            return Ok(of);
        }
        let words = self.qualified_length();
        let name = self.take_name(words);
        self.problem(Severity::Warning, format!("there is no type {name}"), at);
        Ok(Type::Unknown(name))
    }

    /// The longest name of a type in the words to come.
    fn type_ahead(&self) -> Option<(usize, Type)> {
        (1..=TYPE_WORDS_MAX).rev().find_map(|words| {
            let parts: Option<Vec<&str>> = (0..words).map(|it| self.word_ahead(it)).collect();
            let parts = parts?;
            let spaced = parts.join(" ");
            let known = self.names.type_named(&spaced);
            let known = known.or_else(|| self.names.type_named(&parts.concat())).cloned();
            known.or_else(|| Type::named(&spaced)).map(|of| (words, of))
        })
    }

    fn qualified_length(&self) -> usize {
        let mut words = 1;
        while self.is_sign_ahead(words, ".")
            && matches!(self.token_ahead(words + 1), Token::Word(_))
        {
            words += 2;
        }
        words
    }

    fn type_argument(&mut self) -> Parsed<Type> {
        self.expect_sign("<")?;
        let of = self.type_name()?;
        self.expect_sign(">")?;
        Ok(of)
    }

    fn context_type(&mut self) -> Parsed<Type> {
        self.expect_sign("<")?;
        let mut entries = Vec::new();
        while !self.eat_sign(">") {
            let Some(words) = self.key_length() else { return Err(self.expected("a key")) };
            let name = self.take_name(words);
            self.expect_sign(":")?;
            entries.push((name, self.type_name()?));
            if !self.is_sign(">") {
                self.expect_sign(",")?;
            }
        }
        Ok(Type::Context(Arc::new(entries)))
    }

    fn function_type(&mut self) -> Parsed<Type> {
        self.expect_sign("<")?;
        let mut parameters = Vec::new();
        while !self.eat_sign(">") {
            parameters.push(self.type_name()?);
            if !self.is_sign(">") {
                self.expect_sign(",")?;
            }
        }
        self.expect_sign("->")?;
        let result = self.type_name()?;
        Ok(Type::Function(Arc::new(parameters), Arc::new(result)))
    }
}

/// What an operand is for certain, whatever the variables are.
fn certain(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Constant(FeelValue::Null) => None,
        Expr::Constant(value) => Some(value.kind()),
        Expr::List(_) => Some("a list"),
        Expr::Context(_) => Some("a context"),
        Expr::Function(_) => Some("a function"),
        _ => None,
    }
}

/// Why this arithmetic can only give null.
pub(super) fn arithmetic_problem(
    how: Operator,
    left: Option<&Expr>,
    right: &Expr,
) -> Option<String> {
    let (verb, never): (_, &[&str]) = match how {
        Operator::Add => ("added", &["a boolean", "a list", "a context", "a function"]),
        Operator::Subtract => {
            ("subtracted", &["a boolean", "a string", "a list", "a context", "a function"])
        }
        Operator::Multiply => {
            ("multiplied", &["a boolean", "a string", "a list", "a context", "a function"])
        }
        Operator::Divide => {
            ("divided", &["a boolean", "a string", "a list", "a context", "a function"])
        }
        Operator::Power => {
            ("raised", &["a boolean", "a string", "a list", "a context", "a function"])
        }
    };
    let left = left.and_then(certain);
    let right = certain(right);
    let wrong = [left, right].into_iter().flatten().find(|it| never.contains(it));
    if let Some(kind) = wrong {
        return Some(format!("{kind} cannot be {verb}"));
    }
    match (how, left, right) {
        (Operator::Add, Some("a string"), Some("a number"))
        | (Operator::Add, Some("a number"), Some("a string")) => {
            Some("a string and a number cannot be added".to_owned())
        }
        _ => None,
    }
}

/// Why this comparison can only give null.
pub(super) fn comparison_problem(how: Comparison, left: &Expr, right: &Expr) -> Option<String> {
    let (left, right) = (certain(left)?, certain(right)?);
    let is_equality = matches!(how, Comparison::Equal | Comparison::Unequal);
    let has_no_order = ["a boolean", "a list", "a context", "a function"].contains(&left);
    let list = left == "a list" || right == "a list";
    (left != right && !list || !is_equality && has_no_order)
        .then(|| format!("{left} and {right} cannot be compared"))
}
