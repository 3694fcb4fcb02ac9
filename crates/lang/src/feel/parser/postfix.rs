//! What follows an operand: `.name`, `[filter]`, `(arguments)`.

use super::{
    super::{
        lexer::Token,
        tree::{Call, Expr, Filter, Step},
    },
    Parsed, Parser,
};

/// Brackets of calls in one row, each of which makes the tree deeper.
const CALLS_MAX: usize = 30;

impl Parser<'_> {
    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let root = self.primary()?;
        self.postfix_of(root, false)
    }

    /// The end of a range: a `[` behind it may close the range.
    pub(super) fn range_end(&mut self) -> Parsed<Expr> {
        if self.is_sign("-") {
            return self.sum();
        }
        let root = self.primary()?;
        self.postfix_of(root, true)
    }

    fn postfix_of(&mut self, mut root: Expr, ends_range: bool) -> Parsed<Expr> {
        let mut steps = Vec::new();
        let mut calls = 0;
        loop {
            let at = self.at();
            if self.is_sign(".") {
                self.advance(1);
                if !matches!(self.token(), Token::Word(_) | Token::Quoted(_)) {
                    return Err(self.expected("a name"));
                }
                let at = self.at();
                let (words, name) = self.component_ahead();
                self.advance(words);
                steps.push(Step::Field(name, at));
            } else if self.is_sign("[") && !(ends_range && self.closes_range()) {
                self.advance(1);
                self.bind_item();
                let condition = self.expression();
                self.unbind();
                steps.push(Step::Filter(Filter { at, condition: condition? }));
                self.expect_sign("]")?;
            } else if self.is_sign("(") {
                calls += 1;
                if calls > CALLS_MAX {
                    return Err(self.error("too many calls in a row"));
                }
                let callee = path(root, std::mem::take(&mut steps));
                let arguments = self.arguments()?;
                root = Expr::Call(Box::new(Call { at, callee, arguments, otherwise: None }));
            } else {
                return Ok(path(root, steps));
            }
        }
    }

    /// Whether the `[` here cannot begin a filter.
    fn closes_range(&self) -> bool {
        match self.token_ahead(1) {
            Token::End => true,
            Token::Sign(sign) => !matches!(*sign, "(" | "[" | "{" | "-" | "@"),
            Token::Word(_) => self.is_reserved_ahead(1),
            Token::Quoted(_) | Token::Number(_) | Token::String(_) | Token::Other(_) => false,
        }
    }
}

fn path(root: Expr, steps: Vec<Step>) -> Expr {
    if steps.is_empty() { root } else { Expr::Path(Box::new(root), steps) }
}
