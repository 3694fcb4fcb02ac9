//! Operators, from the loosest to the tightest.

use super::super::{lexer::Token, problem::Severity, value::FeelValue};
use super::{
    super::tree::{At, Comparison, Expr, Operator, Test},
    Parsed, Parser,
    typed::{arithmetic_problem, comparison_problem},
};

/// Comparisons in one row; more than a few make no sense, and each makes the tree deeper.
const COMPARISONS_MAX: usize = 30;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(Self::disjunction)
    }

    fn disjunction(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let first = self.conjunction()?;
        if !self.is_word("or") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat_word("or") {
            operands.push(self.conjunction()?);
        }
        Ok(Expr::Or(at, operands))
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let first = self.comparison()?;
        if !self.is_word("and") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat_word("and") {
            operands.push(self.comparison()?);
        }
        Ok(Expr::And(at, operands))
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let mut left = self.sum()?;
        for _ in 0..COMPARISONS_MAX {
            let at = self.at();
            left = if let Some(how) = self.comparison_sign() {
                let right = self.sum()?;
                if let Some(message) = comparison_problem(how, &left, &right) {
                    self.problem(Severity::Warning, message, at);
                }
                Expr::Compare(how, at, Box::new([left, right]))
            } else if self.eat_word("between") {
                let low = self.sum()?;
                self.expect_word("and")?;
                let high = self.sum()?;
                Expr::Between(at, Box::new([left, low, high]))
            } else if self.eat_word("in") {
                let tests = self.membership()?;
                Expr::In(at, Box::new(left), tests)
            } else if self.is_word("instance") {
                self.advance(1);
                self.expect_word("of")?;
                let of = self.type_name()?;
                Expr::InstanceOf(Box::new(left), of)
            } else {
                return Ok(left);
            };
        }
        Err(self.error("too many comparisons in a row"))
    }

    pub(super) fn comparison_sign(&mut self) -> Option<Comparison> {
        let Token::Sign(sign) = self.token() else { return None };
        let how = match *sign {
            "=" => Comparison::Equal,
            "!=" => Comparison::Unequal,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.advance(1);
        Some(how)
    }

    /// What stands behind `in`: one test, or several in brackets.
    fn membership(&mut self) -> Parsed<Vec<Test>> {
        if self.is_sign("(") && !self.is_range_ahead() {
            self.advance(1);
            let mut tests = vec![self.nested(Self::test)?];
            while self.eat_sign(",") {
                tests.push(self.nested(Self::test)?);
            }
            self.expect_sign(")")?;
            return Ok(tests);
        }
        let at = self.at();
        Ok(vec![match self.comparison_sign() {
            Some(how) => Test::Compare(how, at, self.sum()?),
            None => Test::Member(at, self.sum()?),
        }])
    }

    /// Sums, and so everything that binds tighter than a comparison.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        self.row(Self::product, |sign| match sign {
            "+" => Some(Operator::Add),
            "-" => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.row(Self::power, |sign| match sign {
            "*" => Some(Operator::Multiply),
            "/" => Some(Operator::Divide),
            _ => None,
        })
    }

    fn power(&mut self) -> Parsed<Expr> {
        self.row(Self::signed, |sign| (sign == "**").then_some(Operator::Power))
    }

    fn row(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Expr>,
        operator: fn(&str) -> Option<Operator>,
    ) -> Parsed<Expr> {
        let first = operand(self)?;
        let mut links: Vec<(Operator, At, Expr)> = Vec::new();
        loop {
            let at = self.at();
            let how = if let Token::Sign(sign) = self.token() { operator(sign) } else { None };
            let Some(how) = how else { break };
            self.advance(1);
            let right = operand(self)?;
            let left = if links.is_empty() { Some(&first) } else { None };
            if let Some(message) = arithmetic_problem(how, left, &right) {
                self.problem(Severity::Warning, message, at);
            }
            links.push((how, at, right));
        }
        Ok(if links.is_empty() { first } else { Expr::Arithmetic(Box::new(first), links) })
    }

    /// A minus binds tighter than a power: `-5 ** 2` is 25.
    fn signed(&mut self) -> Parsed<Expr> {
        let at = self.at();
        if !self.eat_sign("-") {
            return self.postfix();
        }
        Ok(match self.nested(Self::signed)? {
            Expr::Constant(FeelValue::Number(number)) => Expr::Constant(number.negated().into()),
            operand => Expr::Negate(Box::new(operand), at),
        })
    }
}
