//! `if`, `for`, `some`, `every` and `function`.

use std::sync::Arc;

use travertine_value::Name;

use super::{
    super::{
        function::Parameter,
        lexer::Token,
        problem::Severity,
        tree::{Body, Branch, Definition, Domain, Expr, Iterator, Loop, Quantifier},
        types::Type,
        value::FeelValue,
    },
    Parsed, Parser,
};

impl Parser<'_> {
    /// A row of `else if` is as flat here as people write it.
    pub(super) fn choice(&mut self) -> Parsed<Expr> {
        let mut branches = Vec::new();
        while self.eat_word("if") {
            let at = self.at();
            let condition = self.expression()?;
            if let Expr::Constant(constant) = &condition
                && !matches!(constant, FeelValue::Boolean(_) | FeelValue::Null)
            {
                let message = format!("{} is not a condition", constant.kind());
                self.problem(Severity::Warning, message, at);
            }
            self.expect_word("then")?;
            let then = self.expression()?;
            self.expect_word("else")?;
            branches.push(Branch { at, condition, then });
        }
        let otherwise = self.expression()?;
        Ok(Expr::Choice(branches, Box::new(otherwise)))
    }

    pub(super) fn loop_over(&mut self) -> Parsed<Expr> {
        let at = self.at();
        self.expect_word("for")?;
        let mut bound = 0;
        let parsed = self.iterators(&mut bound).and_then(|iterators| {
            self.expect_word("return")?;
            self.bind("partial");
            let body = self.expression();
            let reads_partial = self.unbind();
            Ok(Expr::For(Box::new(Loop { at, iterators, reads_partial, body: body? })))
        });
        self.unbind_all(bound);
        parsed
    }

    pub(super) fn quantified(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let quantifier = if self.eat_word("some") {
            Quantifier::Some
        } else {
            self.expect_word("every")?;
            Quantifier::Every
        };
        let mut bound = 0;
        let parsed = self.iterators(&mut bound).and_then(|iterators| {
            self.expect_word("satisfies")?;
            let body = self.expression()?;
            let over = Loop { at, iterators, reads_partial: false, body };
            Ok(Expr::Quantified(quantifier, Box::new(over)))
        });
        self.unbind_all(bound);
        parsed
    }

    fn unbind_all(&mut self, bound: usize) {
        for _ in 0..bound {
            self.unbind();
        }
    }

    /// The domain of each can refer to those before it. The comma is optional for quantifiers in
    /// older versions of the language.
    fn iterators(&mut self, bound: &mut usize) -> Parsed<Vec<Iterator>> {
        let mut iterators = Vec::new();
        loop {
            let at = self.at();
            let name = self.name_before_in()?;
            self.expect_word("in")?;
            let domain = self.domain()?;
            self.bind(&name);
            *bound += 1;
            iterators.push(Iterator { at, domain });
            let goes_on = self.eat_sign(",")
                || matches!(self.token(), Token::Word(_))
                    && !self.is_word("return")
                    && !self.is_word("satisfies");
            if !goes_on {
                return Ok(iterators);
            }
        }
    }

    fn name_before_in(&mut self) -> Parsed<Name> {
        let is_part = |ahead: usize| {
            matches!(self.token_ahead(ahead), Token::Word(word) if &**word != "in")
                || ahead > 0 && matches!(self.token_ahead(ahead), Token::Number(_))
        };
        if matches!(self.token(), Token::Quoted(_)) {
            return Ok(self.take_name(1));
        }
        match self.count_ahead(is_part) {
            0 => Err(self.expected("a name")),
            words => Ok(self.take_name(words)),
        }
    }

    fn domain(&mut self) -> Parsed<Domain> {
        let start = self.expression()?;
        Ok(if self.eat_sign("..") {
            Domain::Span(start, self.expression()?)
        } else {
            Domain::Values(start)
        })
    }

    /// `function(a, b: type) body`. `this` is the name of the entry it becomes, by which it can call
    /// itself.
    pub(super) fn function(&mut self, this: Option<Name>) -> Parsed<Expr> {
        self.expect_word("function")?;
        let ((parameters, body), captures) = self.in_function(this, |parser| {
            let parameters = parser.parameters()?;
            let body = if parser.eat_word("external") {
                parser.expression()?;
                Body::External
            } else {
                Body::Feel(parser.expression()?)
            };
            Ok((parameters, body))
        })?;
        let source = Name::clone(&self.source);
        Ok(Expr::Function(Arc::new(Definition { source, parameters, captures, body })))
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect_sign("(")?;
        let mut parameters = Vec::new();
        if self.eat_sign(")") {
            return Ok(parameters);
        }
        loop {
            let words = match self.key_length() {
                Some(words) => words,
                None => self.count_ahead(|ahead| {
                    !self.is_sign_ahead(ahead, ",") && !self.is_sign_ahead(ahead, ")")
                }),
            };
            if words == 0 || !matches!(self.token(), Token::Word(_) | Token::Quoted(_)) {
                return Err(self.expected("a parameter"));
            }
            let name = self.take_name(words);
            let of = if self.eat_sign(":") { self.type_name()? } else { Type::Any };
            self.bind(&name);
            parameters.push(Parameter { name, of });
            if self.eat_sign(")") {
                return Ok(parameters);
            }
            self.expect_sign(",")?;
        }
    }
}
