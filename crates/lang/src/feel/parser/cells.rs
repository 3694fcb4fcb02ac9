//! Unary tests: what stands in the cells of a decision table and behind `in`.

use super::{
    super::{
        lexer::Token,
        tree::{Expr, Test, Tests},
        value::FeelValue,
    },
    Parsed, Parser,
};

impl Parser<'_> {
    /// `-`, `not(…)`, or tests in a row. An empty cell is as good as `-`.
    pub(super) fn cell(&mut self) -> Parsed<Tests> {
        let is_anything =
            *self.token() == Token::End || self.is_sign("-") && *self.token_ahead(1) == Token::End;
        if is_anything {
            self.advance(1);
            let anything = Test::Condition(0, Expr::Constant(FeelValue::Boolean(true)));
            return Ok(Tests { is_negated: false, tests: vec![anything] });
        }
        let is_negated = self.is_word("not") && self.is_all_in_brackets();
        if is_negated {
            self.advance(2);
        }
        let mut tests = vec![self.test()?];
        while self.eat_sign(",") {
            tests.push(self.test()?);
        }
        if is_negated {
            self.expect_sign(")")?;
        }
        Ok(Tests { is_negated, tests })
    }

    /// One test.
    pub(super) fn test(&mut self) -> Parsed<Test> {
        let at = self.at();
        if let Some(how) = self.comparison_sign() {
            return Ok(Test::Compare(how, at, self.sum()?));
        }
        let first = self.position;
        let expression = self.expression()?;
        let is_about_input = self.tokens[first..self.position]
            .iter()
            .any(|spot| matches!(&spot.token, Token::Word(word) if &**word == "?"));
        Ok(if is_about_input {
            Test::Condition(at, expression)
        } else {
            Test::Member(at, expression)
        })
    }

    /// Whether the bracket behind this word closes at the very end.
    fn is_all_in_brackets(&self) -> bool {
        if !self.is_sign_ahead(1, "(") {
            return false;
        }
        let mut depth = 0_usize;
        for ahead in 1.. {
            match self.token_ahead(ahead) {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => {
                    // A range such as `[1..5)` closes a bracket that it has not opened.
                    depth = depth.saturating_sub(1);
                    if *self.token_ahead(ahead + 1) == Token::End {
                        return true;
                    }
                    if depth == 0 && !self.is_range_close(ahead) {
                        return false;
                    }
                }
                Token::End => return false,
                _ => {}
            }
        }
        false
    }

    fn is_range_close(&self, ahead: usize) -> bool {
        (0..4).any(|back| ahead > back && self.is_sign_ahead(ahead - back, ".."))
    }
}
