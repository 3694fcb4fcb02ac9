//! Words become a tree. Comparisons bind less than `and` and `or`, which bind like `*` and `+`.

use std::{collections::BTreeSet, sync::Arc};

use travertine_value::{Name, Number};

use super::lexer::{Problem, Word, words};

/// Nested deeper, a text is refused.
const DEPTH_MAX: usize = 200;

/// A formula.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Number(Number),
    Text(Arc<str>),
    Read(Name),
    /// Whether a name has no value.
    Undefined(Name),
    List(Vec<Self>),
    /// The member of a collection at a position.
    At(Box<Self>, Box<Self>),
    Call(Name, Vec<Self>),
    /// The members of a collection for which something holds.
    Filter {
        name: Name,
        of: Box<Self>,
        holds: Box<Self>,
    },
    Negative(Box<Self>),
    Not(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    If(Box<Self>, Box<Self>, Box<Self>),
}

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Power,
    Times,
    Over,
    And,
    Plus,
    Minus,
    Or,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
    In,
    NotIn,
}

/// What a choice allows.
#[derive(Clone, Debug)]
pub(super) enum Allowed {
    /// The members of a collection.
    Members(Tree),
    /// Numbers between two, which count or do not, and multiples of a third.
    Between { from: (Tree, bool), to: (Tree, bool), multiple: Option<Tree> },
}

/// Signs that change a name.
const ASSIGN: &[(&str, Option<Operator>)] = &[
    (":=", None),
    ("+=", Some(Operator::Plus)),
    ("-=", Some(Operator::Minus)),
    ("*=", Some(Operator::Times)),
    ("/=", Some(Operator::Over)),
];

const COMPARE: &[(&str, Operator)] = &[
    ("<", Operator::Less),
    ("<=", Operator::LessOrEqual),
    (">", Operator::Greater),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("in", Operator::In),
    ("not in", Operator::NotIn),
];

const SUM: &[(&str, Operator)] =
    &[("+", Operator::Plus), ("-", Operator::Minus), ("or", Operator::Or)];

const PRODUCT: &[(&str, Operator)] =
    &[("*", Operator::Times), ("/", Operator::Over), ("and", Operator::And)];

pub(super) struct Parser {
    words: Vec<(usize, Word)>,
    next: usize,
    depth: usize,
    /// Names that a filter around this place gives.
    bound: Vec<Name>,
    /// Names that are read, and those that are only asked whether they have a value.
    pub(super) reads: BTreeSet<Name>,
    pub(super) asks: BTreeSet<Name>,
    pub(super) calls: BTreeSet<Name>,
}

type Parsed = Result<Tree, Problem>;

impl Parser {
    pub(super) fn new(source: &str) -> Result<Self, Problem> {
        Ok(Self {
            words: words(source)?,
            next: 0,
            depth: 0,
            bound: Vec::new(),
            reads: BTreeSet::new(),
            asks: BTreeSet::new(),
            calls: BTreeSet::new(),
        })
    }

    fn word(&self) -> &Word {
        &self.words[self.next].1
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.word(), Word::Sign(it) if *it == sign);
        if found {
            self.next += 1;
        }
        found
    }

    fn take_of<T: Copy>(&mut self, known: &[(&str, T)]) -> Option<T> {
        let Word::Sign(sign) = self.word() else { return None };
        let (_, found) = known.iter().find(|(it, _)| it == sign)?;
        self.next += 1;
        Some(*found)
    }

    fn name(&mut self) -> Result<Name, Problem> {
        let Word::Name(name) = self.word() else { return Err(self.unexpected("a name")) };
        let name = Name::from(name.as_str());
        self.next += 1;
        Ok(name)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let (at, word) = &self.words[self.next];
        let found = match word {
            Word::Number(it) => format!("`{it}`"),
            Word::Text(it) => format!("`\"{it}\"`"),
            Word::Name(it) => format!("`{it}`"),
            Word::Sign(it) => format!("`{it}`"),
            Word::End => "the end".to_owned(),
        };
        Problem { at: *at, message: format!("{wanted} is expected, not {found}") }
    }

    pub(super) fn end(&self) -> Result<(), Problem> {
        match self.word() {
            Word::End => Ok(()),
            _ => Err(self.unexpected("the end")),
        }
    }

    /// `name := …`, `name += …` and so on: the name, and what it becomes; `None` is undefined.
    pub(super) fn assignment(&mut self) -> Result<(Name, Option<Tree>), Problem> {
        let name = self.name()?;
        let Some(operator) = self.take_of(ASSIGN) else {
            return Err(self.unexpected("`:=` or another assignment"));
        };
        if operator.is_none() && self.take("undefined") {
            return Ok((name, None));
        }
        let value = self.comparison()?;
        let Some(operator) = operator else { return Ok((name, Some(value))) };
        let old = self.read(Name::clone(&name));
        Ok((name, Some(Tree::Binary(operator, Box::new(old), Box::new(value)))))
    }

    /// Whether an assignment comes next.
    pub(super) fn at_assignment(&self) -> bool {
        let next = self.words.get(self.next + 1).map(|(_, word)| word);
        matches!(self.word(), Word::Name(_))
            && matches!(next, Some(Word::Sign(it)) if ASSIGN.iter().any(|(known, _)| known == it))
    }

    pub(super) fn comma(&mut self) -> bool {
        self.take(",")
    }

    /// `name in […]`, or `from <= name < to, d | name`.
    pub(super) fn choice(&mut self) -> Result<(Name, Allowed), Problem> {
        let first = self.conditional()?;
        if self.take("in") {
            let Tree::Read(name) = first else { return Err(self.unexpected("a name before `in`")) };
            self.reads.remove(&name);
            let members = self.conditional()?;
            return Ok((name, Allowed::Members(members)));
        }
        let bounds: &[(&str, bool)] = &[("<=", true), ("<", false)];
        let Some(from_counts) = self.take_of(bounds) else {
            return Err(self.unexpected("`in`, `<=` or `<`"));
        };
        let name = self.name()?;
        let Some(to_counts) = self.take_of(bounds) else {
            return Err(self.unexpected("`<=` or `<`"));
        };
        let to = self.conditional()?;
        let multiple = if self.take(",") {
            let multiple = self.conditional()?;
            self.expect("|")?;
            let at = self.words[self.next].0;
            if self.name()? != name {
                let message = format!("the multiples are those of `{name}`");
                return Err(Problem { at, message });
            }
            Some(multiple)
        } else {
            None
        };
        Ok((name, Allowed::Between { from: (first, from_counts), to: (to, to_counts), multiple }))
    }

    /// The whole of a formula, without assignments.
    pub(super) fn comparison(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let at = self.words[self.next].0;
            return Err(Problem { at, message: "it is nested too deeply".to_owned() });
        }
        let mut left = self.conditional()?;
        while let Some(operator) = self.take_of(COMPARE) {
            if matches!(operator, Operator::Equal | Operator::Unequal) && self.take("undefined") {
                left = self.undefined(left, operator)?;
                continue;
            }
            let right = self.conditional()?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn undefined(&mut self, left: Tree, operator: Operator) -> Parsed {
        let Tree::Read(name) = left else {
            let at = self.words[self.next].0;
            return Err(Problem { at, message: "only a name can be undefined".to_owned() });
        };
        self.reads.remove(&name);
        self.asks.insert(Name::clone(&name));
        let asked = Tree::Undefined(name);
        Ok(if operator == Operator::Equal { asked } else { Tree::Not(Box::new(asked)) })
    }

    fn conditional(&mut self) -> Parsed {
        if self.take("if") {
            let condition = self.comparison()?;
            self.expect("then")?;
            let yes = self.comparison()?;
            self.expect("else")?;
            let no = self.nested(Self::conditional)?;
            return Ok(Tree::If(Box::new(condition), Box::new(yes), Box::new(no)));
        }
        let condition = self.binary(SUM, |it| it.binary(PRODUCT, Self::unary))?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::conditional)?;
        self.expect(":")?;
        let no = self.nested(Self::conditional)?;
        Ok(Tree::If(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    /// One level deeper, within the limit.
    fn nested(&mut self, part: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let at = self.words[self.next].0;
            return Err(Problem { at, message: "it is nested too deeply".to_owned() });
        }
        let part = part(self)?;
        self.depth -= 1;
        Ok(part)
    }

    fn binary(
        &mut self,
        operators: &[(&str, Operator)],
        operand: impl Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(operator) = self.take_of(operators) {
            let right = operand(self)?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        if self.take("-") {
            return Ok(Tree::Negative(Box::new(self.nested(Self::unary)?)));
        }
        if self.take("!") {
            return Ok(Tree::Not(Box::new(self.nested(Self::unary)?)));
        }
        let mut base = self.postfix()?;
        loop {
            let exponent = if self.take("²") {
                Tree::Number(2.into())
            } else if self.take("³") {
                Tree::Number(3.into())
            } else if self.take("^") {
                // A negative exponent needs no parentheses.
                if self.take("-") {
                    Tree::Negative(Box::new(self.postfix()?))
                } else {
                    self.postfix()?
                }
            } else {
                return Ok(base);
            };
            base = Tree::Binary(Operator::Power, Box::new(base), Box::new(exponent));
        }
    }

    fn postfix(&mut self) -> Parsed {
        let mut base = self.primary()?;
        while self.take("[") {
            let position = self.comparison()?;
            self.expect("]")?;
            base = Tree::At(Box::new(base), Box::new(position));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Parsed {
        let (at, word) = self.words[self.next].clone();
        match word {
            Word::Number(number) => {
                self.next += 1;
                Ok(Tree::Number(number))
            }
            Word::Text(text) => {
                self.next += 1;
                Ok(Tree::Text(text.into()))
            }
            Word::Name(name) => {
                self.next += 1;
                let name = Name::from(name);
                match self.arguments()? {
                    None => Ok(self.read(name)),
                    Some(arguments) => {
                        self.calls.insert(Name::clone(&name));
                        Ok(Tree::Call(name, arguments))
                    }
                }
            }
            Word::Sign("true") => {
                self.next += 1;
                Ok(Tree::Number(1.into()))
            }
            Word::Sign("false") => {
                self.next += 1;
                Ok(Tree::Number(0.into()))
            }
            Word::Sign("(") => {
                self.next += 1;
                let inner = self.comparison()?;
                self.expect(")")?;
                Ok(inner)
            }
            Word::Sign("[") => {
                self.next += 1;
                let members = self.members("]")?;
                if members.is_empty() {
                    let message = "a collection has at least one member".to_owned();
                    return Err(Problem { at, message });
                }
                Ok(Tree::List(members))
            }
            Word::Sign("{") => {
                self.next += 1;
                self.braces(at)
            }
            Word::Sign(sign @ ("√" | "∛" | "∑")) => {
                self.next += 1;
                let name = match sign {
                    "√" => "sqrt",
                    "∛" => "cbrt",
                    _ => "sum",
                };
                let arguments = match self.arguments()? {
                    Some(arguments) => arguments,
                    None => vec![self.nested(Self::postfix)?],
                };
                self.calls.insert(name.into());
                Ok(Tree::Call(name.into(), arguments))
            }
            Word::Sign("undefined") => {
                let message = "`undefined` stands only behind `==`, `!=` and `:=`".to_owned();
                Err(Problem { at, message })
            }
            Word::Sign(_) | Word::End => Err(self.unexpected("a value")),
        }
    }

    /// What stands in parentheses or braces behind the name of a function.
    fn arguments(&mut self) -> Result<Option<Vec<Tree>>, Problem> {
        if self.take("(") {
            return self.members(")").map(Some);
        }
        let at = self.words[self.next].0;
        if !self.take("{") {
            return Ok(None);
        }
        if self.at_filter() {
            return Ok(Some(vec![self.filter()?]));
        }
        let _ = at;
        self.members("}").map(Some)
    }

    fn at_filter(&self) -> bool {
        let following = self.words.get(self.next + 1).map(|(_, word)| word);
        if !matches!(self.word(), Word::Name(_)) || following != Some(&Word::Sign("in")) {
            return false;
        }
        let mut depth = 0_usize;
        for (_, word) in &self.words[self.next..] {
            match word {
                Word::Sign("(" | "[" | "{") => depth += 1,
                Word::Sign("|") if depth == 0 => return true,
                Word::Sign(")" | "]" | "}") if depth == 0 => return false,
                Word::Sign(")" | "]" | "}") => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// `{a, b}` and `{x in c | …}`, behind the brace.
    fn braces(&mut self, at: usize) -> Parsed {
        if self.at_filter() {
            return self.filter();
        }
        let members = self.members("}")?;
        if members.is_empty() {
            return Err(Problem { at, message: "a set has at least one member".to_owned() });
        }
        Ok(Tree::List(members))
    }

    fn filter(&mut self) -> Parsed {
        let name = self.name()?;
        self.expect("in")?;
        let of = self.nested(Self::conditional)?;
        self.expect("|")?;
        self.bound.push(Name::clone(&name));
        let holds = self.comparison()?;
        self.bound.pop();
        self.expect("}")?;
        Ok(Tree::Filter { name, of: Box::new(of), holds: Box::new(holds) })
    }

    fn members(&mut self, end: &str) -> Result<Vec<Tree>, Problem> {
        let mut all = Vec::new();
        if self.take(end) {
            return Ok(all);
        }
        loop {
            all.push(self.comparison()?);
            if !self.take(",") {
                self.expect(end)?;
                return Ok(all);
            }
        }
    }

    fn read(&mut self, name: Name) -> Tree {
        if !self.bound.contains(&name) {
            self.reads.insert(Name::clone(&name));
        }
        Tree::Read(name)
    }
}
