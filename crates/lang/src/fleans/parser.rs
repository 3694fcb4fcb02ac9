//! From tokens to trees.

use travertine_value::{Name, Number};

use super::{
    Form,
    lexer::{Problem, Token, tokens},
};

/// Nobody nests expressions deeper than this.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Null,
    Bool(bool),
    Text(String),
    /// A number, and whether it is one with a fraction.
    Number(Number, bool),
    /// A variable, and the fields on the way into it.
    Path(Vec<Name>),
    Not(Box<Self>),
    Negate(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    Choice(Box<[Self; 3]>),
    List(Vec<Self>),
    Math(Function, Vec<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Coalesce,
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Cbrt,
    Ceiling,
    Clamp,
    Exp,
    Floor,
    Log,
    Log10,
    Max,
    Min,
    Pow,
    Round,
    Sign,
    Sqrt,
    Truncate,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Assign(Name, Expr),
    /// Throws where the condition holds.
    Throw {
        when: Option<Expr>,
        /// Whether what is thrown has a code of its own.
        coded: bool,
        arguments: Vec<Expr>,
    },
    /// Says something on a console that nobody has here.
    Say,
}

/// From loosest to tightest; those of one level go from left to right.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

const FUNCTIONS: &[(&str, Function, std::ops::RangeInclusive<usize>)] = &[
    ("Abs", Function::Abs, 1..=1),
    ("Cbrt", Function::Cbrt, 1..=1),
    ("Ceiling", Function::Ceiling, 1..=1),
    ("Clamp", Function::Clamp, 3..=3),
    ("Exp", Function::Exp, 1..=1),
    ("Floor", Function::Floor, 1..=1),
    ("Log", Function::Log, 1..=2),
    ("Log10", Function::Log10, 1..=1),
    ("Max", Function::Max, 2..=2),
    ("Min", Function::Min, 2..=2),
    ("Pow", Function::Pow, 2..=2),
    ("Round", Function::Round, 1..=2),
    ("Sign", Function::Sign, 1..=1),
    ("Sqrt", Function::Sqrt, 1..=1),
    ("Truncate", Function::Truncate, 1..=1),
];

const CONSTANTS: &[(&str, &str)] = &[("E", "2.718281828459045"), ("PI", "3.141592653589793")];

/// The object that variables are fields of.
const CONTEXT: &str = "_context";

pub(super) fn expression(source: &str) -> Result<Expr, Problem> {
    let mut parser = Parser::new(source)?;
    let expression = parser.expression()?;
    parser.end()?;
    Ok(expression)
}

pub(super) fn script(source: &str) -> Result<Vec<Statement>, Problem> {
    let mut parser = Parser::new(source)?;
    let mut all = Vec::new();
    loop {
        while parser.take(";") {}
        if *parser.token() == Token::End {
            return Ok(all);
        }
        let is_block = parser.statement(&mut all)?;
        if !is_block && !matches!(parser.token(), Token::Sign(";") | Token::End) {
            return Err(parser.unexpected("';'"));
        }
    }
}

/// The variables that a program may read.
pub(super) fn reads(form: &Form) -> Vec<Name> {
    let mut names = Vec::new();
    match form {
        Form::Expression(it) => collect(it, &mut names),
        Form::Script(all) => {
            for statement in all {
                match statement {
                    Statement::Assign(_, it) => collect(it, &mut names),
                    Statement::Throw { when, arguments, .. } => {
                        when.iter().chain(arguments).for_each(|it| collect(it, &mut names));
                    }
                    Statement::Say => {}
                }
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn collect(expression: &Expr, names: &mut Vec<Name>) {
    match expression {
        Expr::Path(path) => names.extend(path.first().cloned()),
        Expr::Not(it) | Expr::Negate(it) => collect(it, names),
        Expr::Binary(_, left, right) => {
            collect(left, names);
            collect(right, names);
        }
        Expr::Choice(parts) => parts.iter().for_each(|it| collect(it, names)),
        Expr::List(all) | Expr::Math(_, all) => all.iter().for_each(|it| collect(it, names)),
        Expr::Null | Expr::Bool(_) | Expr::Text(_) | Expr::Number(..) => {}
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    position: usize,
    depth: usize,
}

impl Parser {
    fn new(source: &str) -> Result<Self, Problem> {
        Ok(Self { tokens: tokens(source)?, position: 0, depth: 0 })
    }

    fn token(&self) -> &Token {
        &self.tokens[self.position].0
    }

    fn at(&self) -> usize {
        self.tokens[self.position].1
    }

    fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(it) if *it == sign);
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Name(it) if it == word);
        if found {
            self.advance();
        }
        found
    }

    /// Whether these words and signs come next.
    fn is_next(&self, all: &[&str]) -> bool {
        let next = self.tokens[self.position..].iter().map(|(it, _)| match it {
            Token::Name(it) => it.as_str(),
            Token::Sign(it) => it,
            Token::Text(_) | Token::Number(..) | Token::End => "",
        });
        next.take(all.len()).eq(all.iter().copied())
    }

    fn want(&mut self, sign: &str) -> Result<(), Problem> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("'{sign}'"))) }
    }

    fn name(&mut self) -> Result<String, Problem> {
        let Token::Name(name) = self.token() else { return Err(self.unexpected("a name")) };
        let name = name.clone();
        self.advance();
        Ok(name)
    }

    fn end(&self) -> Result<(), Problem> {
        match self.token() {
            Token::End => Ok(()),
            _ => Err(self.unexpected("the end")),
        }
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.token() {
            Token::Name(it) => format!("'{it}'"),
            Token::Text(_) => "a text".to_owned(),
            Token::Number(..) => "a number".to_owned(),
            Token::Sign(it) => format!("'{it}'"),
            Token::End => "the end".to_owned(),
        };
        Problem::new(format!("{wanted} is expected, not {found}"), self.at())
    }

    /// One statement; whether it ends by itself.
    fn statement(&mut self, all: &mut Vec<Statement>) -> Result<bool, Problem> {
        if self.take_word("if") {
            self.want("(")?;
            let condition = self.expression()?;
            self.want(")")?;
            let is_block = self.take("{");
            let thrown = self.throw(Some(condition))?;
            all.push(thrown);
            if is_block {
                while self.take(";") {}
                self.want("}")?;
            }
            return Ok(is_block);
        }
        if matches!(self.token(), Token::Name(it) if it == "throw") {
            let thrown = self.throw(None)?;
            all.push(thrown);
            return Ok(false);
        }
        if self.is_next(&["System", ".", "Console"]) {
            self.advance();
            self.advance();
        }
        if self.take_word("Console") {
            self.want(".")?;
            self.name()?;
            self.arguments()?;
            all.push(Statement::Say);
            return Ok(false);
        }
        let name = self.target()?;
        self.want("=")?;
        let value = self.expression()?;
        all.push(Statement::Assign(name.as_str().into(), value));
        Ok(false)
    }

    /// The variable that an assignment writes.
    fn target(&mut self) -> Result<String, Problem> {
        let at = self.at();
        let is_braced = self.take("${");
        let mut name = self.name()?;
        if name == CONTEXT {
            self.want(".")?;
            name = self.name()?;
        }
        if is_braced {
            self.want("}")?;
        }
        if matches!(self.token(), Token::Sign("." | "(" | "[")) {
            let message = "only assignments to variables, throw and if … throw can be run here";
            return Err(Problem::new(message, at));
        }
        Ok(name)
    }

    fn throw(&mut self, when: Option<Expr>) -> Result<Statement, Problem> {
        if !self.take_word("throw") {
            return Err(self.unexpected("'throw'"));
        }
        if !self.take_word("new") {
            return Err(self.unexpected("'new'"));
        }
        let name = self.qualified()?;
        let arguments = self.arguments()?;
        let coded = name.ends_with("ActivityException") && !arguments.is_empty();
        Ok(Statement::Throw { when, coded, arguments })
    }

    /// The last part of a name with those of its namespaces before it.
    fn qualified(&mut self) -> Result<String, Problem> {
        let mut name = self.name()?;
        while self.take(".") {
            name = self.name()?;
        }
        Ok(name)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Problem> {
        self.want("(")?;
        self.list(")")
    }

    /// Expressions with commas between, up to `close`.
    fn list(&mut self, close: &str) -> Result<Vec<Expr>, Problem> {
        let mut all = Vec::new();
        if self.take(close) {
            return Ok(all);
        }
        loop {
            all.push(self.expression()?);
            if self.take(close) {
                return Ok(all);
            }
            self.want(",")?;
            // A comma may stand behind the last item of a list.
            if close == "}" && self.take(close) {
                return Ok(all);
            }
        }
    }

    fn expression(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Problem::new("this is nested too deeply", self.at()));
        }
        let condition = self.coalesced()?;
        let expression = if self.take("?") {
            let then = self.expression()?;
            self.want(":")?;
            let otherwise = self.expression()?;
            Expr::Choice(Box::new([condition, then, otherwise]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn coalesced(&mut self) -> Result<Expr, Problem> {
        let left = self.binary(LEVELS)?;
        if !self.take("??") {
            return Ok(left);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Problem::new("this is nested too deeply", self.at()));
        }
        let right = self.coalesced()?;
        self.depth -= 1;
        Ok(Expr::Binary(Operator::Coalesce, Box::new(left), Box::new(right)))
    }

    fn binary(&mut self, levels: &[&[(&str, Operator)]]) -> Result<Expr, Problem> {
        let Some((level, tighter)) = levels.split_first() else { return self.unary() };
        let mut left = self.binary(tighter)?;
        let mut links = 0;
        while let Some((_, operator)) = level.iter().find(|(sign, _)| self.take(sign)) {
            links += 1;
            if links > DEPTH_MAX {
                return Err(Problem::new("this is nested too deeply", self.at()));
            }
            let right = self.binary(tighter)?;
            left = Expr::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Problem::new("this is nested too deeply", self.at()));
        }
        let expression = if self.take("!") {
            Expr::Not(Box::new(self.unary()?))
        } else if self.take("-") {
            Expr::Negate(Box::new(self.unary()?))
        } else if self.take("+") {
            self.unary()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        if self.take("(") {
            let inner = self.expression()?;
            self.want(")")?;
            return Ok(inner);
        }
        if self.take("${") {
            let mut inner = self.expression()?;
            self.want("}")?;
            if let Expr::Path(path) = &mut inner {
                self.fields(path)?;
            }
            return Ok(inner);
        }
        let at = self.at();
        match self.token().clone() {
            Token::Text(text) => {
                self.advance();
                Ok(Expr::Text(text))
            }
            Token::Number(number, real) => {
                self.advance();
                Ok(Expr::Number(number, real))
            }
            Token::Name(name) => {
                self.advance();
                self.named(&name, at)
            }
            Token::Sign(_) | Token::End => Err(self.unexpected("an expression")),
        }
    }

    fn named(&mut self, name: &str, at: usize) -> Result<Expr, Problem> {
        match name {
            "true" => return Ok(Expr::Bool(true)),
            "false" => return Ok(Expr::Bool(false)),
            "null" => return Ok(Expr::Null),
            "new" => return self.new_list(at),
            "Math" => return self.math(),
            // A namespace, unless it is a variable.
            "System" if self.is_next(&[".", "Math", "."]) => {
                self.take(".");
                self.take_word("Math");
                return self.math();
            }
            _ => {}
        }
        let mut path: Vec<Name> = Vec::new();
        if name == CONTEXT {
            self.want(".")?;
            path.push(self.name()?.as_str().into());
        } else {
            path.push(name.into());
        }
        self.fields(&mut path)?;
        if matches!(self.token(), Token::Sign("(" | "[")) {
            let message = "there are no calls and no indexes here, besides functions of Math";
            return Err(Problem::new(message, at));
        }
        Ok(Expr::Path(path))
    }

    /// The fields behind a variable.
    fn fields(&mut self, path: &mut Vec<Name>) -> Result<(), Problem> {
        while self.take(".") {
            path.push(self.name()?.as_str().into());
        }
        Ok(())
    }

    /// `new List<object> { a, b }`, `new[] { a, b }`, `new object[] { a, b }`.
    fn new_list(&mut self, at: usize) -> Result<Expr, Problem> {
        let other = || Problem::new("only lists can be made here", at);
        if matches!(self.token(), Token::Name(_)) && self.qualified()? == "List" {
            self.want("<")?;
            self.qualified()?;
            self.want(">")?;
            if self.take("(") {
                self.want(")")?;
            }
        } else {
            if !self.take("[") {
                return Err(other());
            }
            self.want("]")?;
        }
        if self.take("{") { self.list("}").map(Expr::List) } else { Ok(Expr::List(Vec::new())) }
    }

    fn math(&mut self) -> Result<Expr, Problem> {
        self.want(".")?;
        let at = self.at();
        let name = self.name()?;
        if let Some((_, digits)) = CONSTANTS.iter().find(|(it, _)| *it == name) {
            let number = digits.parse().expect("they are digits");
            return Ok(Expr::Number(number, true));
        }
        let known = FUNCTIONS.iter().find(|(it, _, _)| *it == name);
        let Some((_, function, count)) = known else {
            return Err(Problem::new(format!("Math has no function {name} here"), at));
        };
        let arguments = self.arguments()?;
        if !count.contains(&arguments.len()) {
            let message = format!("Math.{name} does not take {} arguments", arguments.len());
            return Err(Problem::new(message, at));
        }
        Ok(Expr::Math(*function, arguments))
    }
}
