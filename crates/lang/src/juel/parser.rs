//! From tokens to trees.
//!
//! Chains (`a + b - c`, `a.b[0].c`) are kept flat, so that the height of a tree is bounded by the
//! nesting that the parser allows.

use travertine_value::{Fact, Name, Value, position};

use crate::{
    CompileError,
    execution::{self, execution_has},
};

use super::{
    Form, Piece, Template,
    lexer::{self, Problem, Token},
};

/// How deep parentheses and the like may nest.
const DEPTH_MAX: usize = 100;

#[derive(Debug)]
pub(super) enum Expr {
    Constant(Value),
    Variable(Name),
    /// What is reached from a value, step by step.
    Path(Box<Self>, Vec<Step>),
    /// The time.
    Now,
    /// What is known of the instance.
    Fact(Fact),
    /// A method of `execution`.
    Execution(ExecutionMethod, Vec<Self>),
    Not(Box<Self>),
    Negate(Box<Self>),
    Empty(Box<Self>),
    /// Operators of one precedence, from left to right.
    Chain(Box<Self>, Vec<(Operator, Self)>),
    Choice(Box<[Self; 3]>),
}

#[derive(Debug)]
pub(super) enum Step {
    Field(Name),
    Index(Expr),
    Call(Method, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Compare(Comparison),
    Calculate(Calculation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calculation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    fn of(sign: &str) -> Option<Self> {
        Some(match sign {
            "||" => Self::Or,
            "&&" => Self::And,
            "==" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Compare(Comparison::Less),
            ">" => Self::Compare(Comparison::Greater),
            "<=" => Self::Compare(Comparison::LessOrEqual),
            ">=" => Self::Compare(Comparison::GreaterOrEqual),
            "+" => Self::Calculate(Calculation::Add),
            "-" => Self::Calculate(Calculation::Subtract),
            "*" => Self::Calculate(Calculation::Multiply),
            "/" => Self::Calculate(Calculation::Divide),
            "%" => Self::Calculate(Calculation::Remainder),
            _ => return None,
        })
    }

    fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::Unequal => 3,
            Self::Compare(_) => 4,
            Self::Calculate(Calculation::Add | Calculation::Subtract) => 5,
            Self::Calculate(
                Calculation::Multiply | Calculation::Divide | Calculation::Remainder,
            ) => 6,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutionMethod {
    Get,
    Set,
    Has,
    Remove,
}

impl ExecutionMethod {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "getVariable" => Self::Get,
            "setVariable" => Self::Set,
            "hasVariable" => Self::Has,
            "removeVariable" => Self::Remove,
            _ => return None,
        })
    }

    fn arguments(self) -> usize {
        match self {
            Self::Get | Self::Has | Self::Remove => 1,
            Self::Set => 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Contains,
    ContainsKey,
    EndsWith,
    Equals,
    Get,
    IndexOf,
    IsEmpty,
    Length,
    Size,
    StartsWith,
    Substring,
    ToLowerCase,
    ToString,
    ToUpperCase,
    Trim,
    /// Something is added to a time.
    Plus(Unit),
    /// Something is taken from a time.
    Minus(Unit),
    /// A time stays one.
    ToDate,
}

/// What times are moved by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Minutes,
    Hours,
    Days,
    Weeks,
    Months,
    Years,
}

impl Unit {
    /// So many of them, as a duration of ISO 8601.
    pub(super) fn duration(self, count: i64) -> String {
        let (sign, count) =
            if count < 0 { ("-", count.unsigned_abs()) } else { ("", count.unsigned_abs()) };
        match self {
            Self::Seconds => format!("{sign}PT{count}S"),
            Self::Minutes => format!("{sign}PT{count}M"),
            Self::Hours => format!("{sign}PT{count}H"),
            Self::Days => format!("{sign}P{count}D"),
            Self::Weeks => format!("{sign}P{count}W"),
            Self::Months => format!("{sign}P{count}M"),
            Self::Years => format!("{sign}P{count}Y"),
        }
    }
}

impl Method {
    const ALL: [Self; 30] = [
        Self::Plus(Unit::Seconds),
        Self::Plus(Unit::Minutes),
        Self::Plus(Unit::Hours),
        Self::Plus(Unit::Days),
        Self::Plus(Unit::Weeks),
        Self::Plus(Unit::Months),
        Self::Plus(Unit::Years),
        Self::Minus(Unit::Seconds),
        Self::Minus(Unit::Minutes),
        Self::Minus(Unit::Hours),
        Self::Minus(Unit::Days),
        Self::Minus(Unit::Weeks),
        Self::Minus(Unit::Months),
        Self::Minus(Unit::Years),
        Self::ToDate,
        Self::Contains,
        Self::ContainsKey,
        Self::EndsWith,
        Self::Equals,
        Self::Get,
        Self::IndexOf,
        Self::IsEmpty,
        Self::Length,
        Self::Size,
        Self::StartsWith,
        Self::Substring,
        Self::ToLowerCase,
        Self::ToString,
        Self::ToUpperCase,
        Self::Trim,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Contains => "contains",
            Self::ContainsKey => "containsKey",
            Self::EndsWith => "endsWith",
            Self::Equals => "equals",
            Self::Get => "get",
            Self::IndexOf => "indexOf",
            Self::IsEmpty => "isEmpty",
            Self::Length => "length",
            Self::Size => "size",
            Self::StartsWith => "startsWith",
            Self::Substring => "substring",
            Self::ToLowerCase => "toLowerCase",
            Self::ToString => "toString",
            Self::ToUpperCase => "toUpperCase",
            Self::Trim => "trim",
            Self::Plus(Unit::Seconds) => "plusSeconds",
            Self::Plus(Unit::Minutes) => "plusMinutes",
            Self::Plus(Unit::Hours) => "plusHours",
            Self::Plus(Unit::Days) => "plusDays",
            Self::Plus(Unit::Weeks) => "plusWeeks",
            Self::Plus(Unit::Months) => "plusMonths",
            Self::Plus(Unit::Years) => "plusYears",
            Self::Minus(Unit::Seconds) => "minusSeconds",
            Self::Minus(Unit::Minutes) => "minusMinutes",
            Self::Minus(Unit::Hours) => "minusHours",
            Self::Minus(Unit::Days) => "minusDays",
            Self::Minus(Unit::Weeks) => "minusWeeks",
            Self::Minus(Unit::Months) => "minusMonths",
            Self::Minus(Unit::Years) => "minusYears",
            Self::ToDate => "toDate",
        }
    }

    fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Contains
            | Self::ContainsKey
            | Self::EndsWith
            | Self::Equals
            | Self::Get
            | Self::IndexOf
            | Self::StartsWith
            | Self::Plus(_)
            | Self::Minus(_) => arguments == 1,
            Self::Substring => arguments == 1 || arguments == 2,
            Self::IsEmpty
            | Self::Length
            | Self::Size
            | Self::ToLowerCase
            | Self::ToString
            | Self::ToUpperCase
            | Self::Trim
            | Self::ToDate => arguments == 0,
        }
    }
}

/// Reads a text in which expressions stand in `${…}` or `#{…}`.
pub(super) fn template(source: &str) -> Result<Template, CompileError> {
    let mut parser = Parser::new(source);
    let pieces = parser.pieces().map_err(|problem| located(source, problem))?;
    Ok(Template { form: form(pieces), reads: parser.into_reads() })
}

/// Reads a text that is one expression.
pub(super) fn bare(source: &str) -> Result<Template, CompileError> {
    let mut parser = Parser::new(source);
    let expression = parser.whole(0, &Token::End).map_err(|problem| located(source, problem))?;
    Ok(Template { form: Form::Typed(expression), reads: parser.into_reads() })
}

fn located(source: &str, problem: Problem) -> CompileError {
    let (line, column) = position(source, problem.at);
    CompileError { message: problem.message, line, column, foreign: problem.foreign }
}

/// White space around a single expression is the indentation of a model, not a text.
fn form(mut pieces: Vec<Piece>) -> Form {
    let is_blank = |it: &Piece| matches!(it, Piece::Literal(text) if text.trim().is_empty());
    let mut meant = pieces.iter().enumerate().filter(|(_, it)| !is_blank(it));
    match (meant.next(), meant.next()) {
        (Some((index, Piece::Computed(_))), None) => {
            let Piece::Computed(expression) = pieces.swap_remove(index) else {
                unreachable!("it was just seen to be computed")
            };
            Form::Typed(expression)
        }
        _ if pieces.iter().any(|it| matches!(it, Piece::Computed(_))) => Form::Text(pieces),
        _ => {
            let literal = |it| match it {
                Piece::Literal(text) => text,
                Piece::Computed(_) => unreachable!("none of them is computed"),
            };
            Form::Literal(pieces.into_iter().map(literal).collect::<String>().into())
        }
    }
}

struct Parser<'a> {
    source: &'a str,
    token: Token,
    /// Where the token begins, and where the next may.
    at: usize,
    next: usize,
    depth: usize,
    reads: Vec<Name>,
    reads_are_known: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            token: Token::End,
            at: 0,
            next: 0,
            depth: 0,
            reads: Vec::new(),
            reads_are_known: true,
        }
    }

    fn into_reads(self) -> Option<Vec<Name>> {
        self.reads_are_known.then_some(self.reads)
    }

    fn pieces(&mut self) -> Result<Vec<Piece>, Problem> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(found) = self.source[at..].find(['$', '#', '\\']) {
            let sign = at + found;
            let rest = &self.source[sign..];
            literal.push_str(&self.source[at..sign]);
            if rest.starts_with("\\${") || rest.starts_with("\\#{") {
                literal.push_str(&rest[1..3]);
                at = sign + 3;
            } else if rest.starts_with("${") || rest.starts_with("#{") {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Computed(self.whole(sign + 2, &Token::Close)?));
                at = self.next;
            } else {
                literal.push_str(&rest[..1]);
                at = sign + 1;
            }
        }
        literal.push_str(&self.source[at..]);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(pieces)
    }

    /// One expression from `start` up to the token that ends it.
    fn whole(&mut self, start: usize, end: &Token) -> Result<Expr, Problem> {
        self.next = start;
        self.advance()?;
        let expression = self.expression()?;
        if self.token != *end {
            return Err(self.unexpected());
        }
        Ok(expression)
    }

    /// Every recursion goes through here, and so none goes too deep.
    fn deeper<T>(&mut self, parse: impl Fn(&mut Self) -> Result<T, Problem>) -> Result<T, Problem> {
        if self.depth == DEPTH_MAX {
            return Err(Problem::new(format!("nested deeper than {DEPTH_MAX}"), self.at));
        }
        self.depth += 1;
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn expression(&mut self) -> Result<Expr, Problem> {
        self.deeper(|it| {
            let condition = it.operators(1)?;
            if !it.skip("?")? {
                return Ok(condition);
            }
            let then = it.expression()?;
            it.expect(":")?;
            let otherwise = it.expression()?;
            Ok(Expr::Choice(Box::new([condition, then, otherwise])))
        })
    }

    /// Operands joined by operators that bind at least as tightly as `precedence_min`.
    fn operators(&mut self, precedence_min: u8) -> Result<Expr, Problem> {
        let mut left = self.operand()?;
        let mut level = 0;
        while let Some(operator) = self.operator()
            && operator.precedence() >= precedence_min
        {
            self.advance()?;
            let right = self.operators(operator.precedence() + 1)?;
            match &mut left {
                Expr::Chain(_, links) if level == operator.precedence() => {
                    links.push((operator, right));
                }
                _ => left = Expr::Chain(Box::new(left), vec![(operator, right)]),
            }
            level = operator.precedence();
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Operator> {
        if let Token::Sign(sign) = self.token { Operator::of(sign) } else { None }
    }

    fn operand(&mut self) -> Result<Expr, Problem> {
        if self.skip("!")? {
            return Ok(Expr::Not(Box::new(self.deeper(Self::operand)?)));
        }
        if self.skip("-")? {
            return Ok(Expr::Negate(Box::new(self.deeper(Self::operand)?)));
        }
        if self.token == Token::Empty {
            self.advance()?;
            return Ok(Expr::Empty(Box::new(self.deeper(Self::operand)?)));
        }
        let root = self.primary()?;
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        Ok(if steps.is_empty() { root } else { Expr::Path(Box::new(root), steps) })
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        let at = self.at;
        match self.take()? {
            Token::Text(text) => Ok(Expr::Constant(text.into())),
            Token::Number(number) => Ok(Expr::Constant(number.into())),
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Name(name) => self.named(name, at),
            token @ (Token::Sign(_) | Token::Empty | Token::Close | Token::End) => {
                self.token = token;
                self.at = at;
                Err(self.unexpected())
            }
        }
    }

    fn named(&mut self, name: String, at: usize) -> Result<Expr, Problem> {
        if self.token == Token::Sign("(") {
            if ["now", "dateTime"].contains(&name.as_str()) {
                self.advance()?;
                self.expect(")")?;
                return Ok(Expr::Now);
            }
            return Err(Problem::foreign(
                format!("there is no function {name}(): only now() and dateTime() are there"),
                at,
            ));
        }
        if self.token == Token::Sign(":") && self.is_prefixed_function() {
            return Err(Problem::new(format!("unknown function prefix: {name}"), at));
        }
        Ok(match name.as_str() {
            "true" => Expr::Constant(true.into()),
            "false" => Expr::Constant(false.into()),
            "null" => Expr::Constant(Value::Null),
            "execution" => return self.execution(at),
            "instanceof" => return Err(Problem::new("instanceof is not supported", at)),
            _ => {
                let name = Name::from(name);
                self.note_read(&name);
                Expr::Variable(name)
            }
        })
    }

    /// Whether `prefix:function(` stands here. As the second half of a choice it would be as wrong.
    fn is_prefixed_function(&self) -> bool {
        let rest = &self.source[self.next..];
        let name = rest.trim_start_matches(lexer::is_name_part);
        name.len() < rest.len() && name.starts_with('(')
    }

    fn execution(&mut self, at: usize) -> Result<Expr, Problem> {
        if !self.skip(".")? {
            return Err(Problem::new(
                "execution can only be asked: execution.getVariable('x')",
                at,
            ));
        }
        let at = self.at;
        let name = self.field_name()?;
        let Some(method) = ExecutionMethod::of(&name) else {
            return self.fact(&name, at);
        };
        self.expect("(")?;
        let arguments = self.arguments()?;
        if arguments.len() != method.arguments() {
            return Err(Problem::new(format!("wrong number of arguments: {name}"), at));
        }
        match method {
            ExecutionMethod::Get | ExecutionMethod::Has => match &arguments[0] {
                Expr::Constant(Value::String(name)) => self.note_read(&Name::clone(name)),
                _ => self.reads_are_known = false,
            },
            ExecutionMethod::Set | ExecutionMethod::Remove => {}
        }
        Ok(Expr::Execution(method, arguments))
    }

    /// `execution.businessKey`, or `execution.getBusinessKey()`.
    fn fact(&mut self, name: &str, at: usize) -> Result<Expr, Problem> {
        if !execution_has(name) {
            let message = format!("execution has no {name} outside of Camunda's Java API");
            return Err(Problem::foreign(message, at));
        }
        if let Some(fact) = execution::fact(name) {
            return Ok(Expr::Fact(fact));
        }
        self.expect("(")?;
        self.expect(")")?;
        let rest = &name["get".len()..];
        let property = rest[..1].to_lowercase() + &rest[1..];
        execution::fact(&property)
            .map(Expr::Fact)
            .ok_or_else(|| Problem::foreign(format!("execution has no {name}"), at))
    }

    fn step(&mut self) -> Result<Option<Step>, Problem> {
        if self.skip("[")? {
            let index = self.expression()?;
            self.expect("]")?;
            return Ok(Some(Step::Index(index)));
        }
        if !self.skip(".")? {
            return Ok(None);
        }
        let at = self.at;
        let name = self.field_name()?;
        if !self.skip("(")? {
            return Ok(Some(Step::Field(name.into())));
        }
        let Some(method) = Method::ALL.into_iter().find(|it| it.name() == name) else {
            let message = format!(
                "there is no method {name}(): values have no methods but Java's everyday ones, and \
                 beans of a Java application are not here"
            );
            return Err(Problem::foreign(message, at));
        };
        let arguments = self.arguments()?;
        if !method.takes(arguments.len()) {
            return Err(Problem::new(format!("wrong number of arguments: {name}"), at));
        }
        Ok(Some(Step::Call(method, arguments)))
    }

    /// After a point even `empty` and `and` are names.
    fn field_name(&mut self) -> Result<String, Problem> {
        let text = &self.source[self.at..self.next];
        if !text.starts_with(lexer::is_name_start) {
            return Err(self.unexpected());
        }
        let name = text.to_owned();
        self.advance()?;
        Ok(name)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Problem> {
        let mut arguments = Vec::new();
        if self.skip(")")? {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.skip(")")? {
                return Ok(arguments);
            }
            self.expect(",")?;
        }
    }

    fn note_read(&mut self, name: &Name) {
        if !self.reads.contains(name) {
            self.reads.push(Name::clone(name));
        }
    }

    fn skip(&mut self, sign: &str) -> Result<bool, Problem> {
        let found = matches!(self.token, Token::Sign(it) if it == sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.skip(sign)? { Ok(()) } else { Err(self.unexpected()) }
    }

    fn take(&mut self) -> Result<Token, Problem> {
        let token = self.token.clone();
        if token != Token::End && token != Token::Close {
            self.advance()?;
        }
        Ok(token)
    }

    fn advance(&mut self) -> Result<(), Problem> {
        (self.token, self.at, self.next) = lexer::token(self.source, self.next)?;
        Ok(())
    }

    fn unexpected(&self) -> Problem {
        let message = match &self.token {
            Token::End => "the expression does not end".to_owned(),
            Token::Close => "unexpected }".to_owned(),
            Token::Name(name) => format!("unexpected {name}"),
            Token::Text(text) => format!("unexpected '{text}'"),
            Token::Number(number) => format!("unexpected {number}"),
            Token::Sign(sign) => format!("unexpected {sign}"),
            Token::Empty => "unexpected empty".to_owned(),
        };
        Problem::new(message, self.at)
    }
}
