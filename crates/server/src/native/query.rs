//! The query line: `state:running def:order amount>100 customer.country="AT" at:charge waiting>2d`.
//!
//! Terms stand side by side and must all hold; `or`, `not` and brackets say otherwise. What the store can find by
//! itself becomes conditions of the search; the rest, which is about values of variables, is looked at row by row.

use std::collections::{BTreeMap, BTreeSet};

use travertine_data::{rows, text, words};
use travertine_kernel::ElementKind;
use travertine_runtime::Timestamp;
use travertine_store::{
    search::{
        Condition, ElementColumn, IncidentColumn, InstanceColumn, LIMIT_MAX, Pattern, Search, Test,
        Value as Cell, VariableColumn,
    },
    view::{Row, Table},
};
use travertine_value::{Name, Value};

use super::{
    call::{Call, known},
    list,
    problem::Problem,
};
use crate::desk::{Refusal, Seen};

/// How deep brackets may be inside of each other, and how many terms there may be.
const DEPTH_MAX: usize = 8;
const TERMS_MAX: usize = 50;

/// Words that stand before a colon.
const WORDS: [&str; 14] = [
    "state", "def", "version", "id", "at", "is", "incident", "caller", "root", "tag", "exists",
    "error", "not", "reason",
];

/// What must hold for an instance.
#[derive(Clone, Debug)]
pub(super) enum Query {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// The store finds it.
    Stored(Condition),
    /// A variable of the process is compared.
    Variable(Comparison),
    /// An id of a definition.
    Definition(Condition),
}

/// A comparison of a variable, or of something inside of it.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    path: Vec<Name>,
    test: Compare,
}

#[derive(Clone, Debug)]
enum Compare {
    Eq(Value),
    Neq(Value),
    Gt(Value),
    Gte(Value),
    Lt(Value),
    Lte(Value),
    Like(Pattern),
    In(Vec<Value>),
    Exists,
}

/// What the store does not know.
#[derive(Debug)]
pub(super) struct Rest(Vec<Query>);

impl Query {
    pub(super) fn read(line: &str, now: Timestamp) -> Result<Self, Problem> {
        let mut reader = Reader { tokens: tokens(line)?, at: 0, now, terms: 0 };
        let query = reader.any(0)?;
        match reader.tokens.get(reader.at) {
            None => Ok(query),
            Some(token) => Err(wrong(&format!("{token:?} closes nothing"))),
        }
    }

    /// Whether it names a definition, so that nothing is left out unasked.
    pub(super) fn names_definition(&self) -> bool {
        match self {
            Self::All(inner) | Self::Any(inner) => inner.iter().any(Self::names_definition),
            Self::Not(inner) => inner.names_definition(),
            Self::Definition(_) => true,
            Self::Stored(_) | Self::Variable(_) => false,
        }
    }

    /// Conditions of a search, and what must be looked at besides.
    pub(super) fn split(self) -> (Vec<Condition>, Option<Rest>) {
        let all = match self {
            Self::All(all) => all,
            other => vec![other],
        };
        let (mut stored, mut rest) = (Vec::new(), Vec::new());
        for it in all {
            match it.stored() {
                Some(condition) => stored.push(condition),
                None => rest.push(it),
            }
        }
        (stored, (!rest.is_empty()).then_some(Rest(rest)))
    }

    /// As a condition of a search, where all of it can be one.
    fn stored(&self) -> Option<Condition> {
        match self {
            Self::All(inner) => {
                inner.iter().map(Self::stored).collect::<Option<_>>().map(Condition::All)
            }
            Self::Any(inner) => {
                inner.iter().map(Self::stored).collect::<Option<_>>().map(Condition::Any)
            }
            Self::Stored(condition) | Self::Definition(condition) => Some(condition.clone()),
            // The store has no denial of what is in another table.
            Self::Not(_) | Self::Variable(_) => None,
        }
    }

    fn leaves<'a>(&'a self, conditions: &mut Vec<&'a Condition>, names: &mut BTreeSet<Name>) {
        match self {
            Self::All(inner) | Self::Any(inner) => {
                for it in inner {
                    it.leaves(conditions, names);
                }
            }
            Self::Not(inner) => inner.leaves(conditions, names),
            Self::Stored(condition) | Self::Definition(condition) => conditions.push(condition),
            Self::Variable(it) => names.extend(it.path.first().cloned()),
        }
    }

    /// Whether it holds, with the answers to conditions in the order of the leaves.
    fn holds(
        &self,
        answers: &mut impl Iterator<Item = bool>,
        variables: &BTreeMap<Name, Value>,
    ) -> bool {
        match self {
            Self::All(inner) => {
                let each: Vec<bool> = inner.iter().map(|it| it.holds(answers, variables)).collect();
                !each.contains(&false)
            }
            Self::Any(inner) => {
                // All leaves are gone through, so that their order stays.
                let each: Vec<bool> = inner.iter().map(|it| it.holds(answers, variables)).collect();
                each.contains(&true)
            }
            Self::Not(inner) => !inner.holds(answers, variables),
            Self::Stored(_) | Self::Definition(_) => answers.next().unwrap_or(false),
            Self::Variable(it) => it.holds(variables),
        }
    }
}

impl Rest {
    /// For which of these instances it holds.
    pub(super) async fn of(&self, call: &Call, seen: &[Seen]) -> Result<Vec<bool>, Problem> {
        let (mut conditions, mut names) = (Vec::new(), BTreeSet::new());
        self.0.iter().for_each(|it| it.leaves(&mut conditions, &mut names));
        let ids: Vec<u64> = seen.iter().filter_map(Seen::instance).map(|it| it.id).collect();
        let mut sets: Vec<BTreeSet<u64>> = Vec::new();
        for condition in conditions {
            let mut search = Search::of(Table::Instances)
                .with(Condition::of(InstanceColumn::Id, Test::any_of(ids.iter().copied())))
                .with(condition.clone())
                .limit(LIMIT_MAX);
            search.relaxed = true;
            let found = call.desk.rows(search).await?.rows;
            sets.push(found.iter().filter_map(list::instance).map(|it| it.id).collect());
        }
        let variables = variables(call, seen, &names).await?;
        let none = BTreeMap::new();
        let holds = |id: u64| {
            let mut answers = sets.iter().map(|it| it.contains(&id));
            let own = variables.get(&id).unwrap_or(&none);
            let each: Vec<bool> = self.0.iter().map(|it| it.holds(&mut answers, own)).collect();
            !each.contains(&false)
        };
        Ok(seen.iter().map(|it| it.instance().is_some_and(|it| holds(it.id))).collect())
    }
}

/// Variables of processes: those that run, and those that have ended, as they were then.
async fn variables(
    call: &Call,
    seen: &[Seen],
    names: &BTreeSet<Name>,
) -> Result<BTreeMap<u64, BTreeMap<Name, Value>>, Problem> {
    let mut all: BTreeMap<u64, BTreeMap<Name, Value>> = BTreeMap::new();
    if names.is_empty() {
        return Ok(all);
    }
    let mut running = Vec::new();
    for row in seen.iter().filter_map(Seen::instance) {
        let Some(result) = &row.result else {
            running.push(row.id);
            continue;
        };
        let result = rows::kept(result);
        let own = all.entry(row.id).or_default();
        own.extend(
            names.iter().filter_map(|it| Some((Name::clone(it), result.field(it)?.clone()))),
        );
    }
    for ids in running.chunks(200) {
        let layers = Test::any_of(ids.iter().map(|it| (*it, 1_u64)));
        let mut search = Search::of(Table::Variables)
            .with(Condition::of(VariableColumn::Layer, layers))
            .with(Condition::of(VariableColumn::Name, Test::any_of(names.iter().cloned())))
            .limit(LIMIT_MAX);
        search.relaxed = true;
        for row in call.desk.rows(search).await?.rows {
            if let Row::Variable(it) = row {
                all.entry(it.instance)
                    .or_default()
                    .insert(Name::clone(&it.name), rows::kept(&it.value));
            }
        }
    }
    Ok(all)
}

impl Comparison {
    fn holds(&self, variables: &BTreeMap<Name, Value>) -> bool {
        let mut steps = self.path.iter();
        let first = steps.next().and_then(|it| variables.get(it));
        let found = steps.try_fold(first, |it, step| Some(it?.field(step))).flatten();
        let ordered = |with: &Value| found.and_then(|it| order(it, with));
        match &self.test {
            Compare::Eq(with) => found == Some(with),
            Compare::Neq(with) => found != Some(with),
            Compare::Gt(with) => ordered(with).is_some_and(std::cmp::Ordering::is_gt),
            Compare::Gte(with) => ordered(with).is_some_and(std::cmp::Ordering::is_ge),
            Compare::Lt(with) => ordered(with).is_some_and(std::cmp::Ordering::is_lt),
            Compare::Lte(with) => ordered(with).is_some_and(std::cmp::Ordering::is_le),
            Compare::Like(pattern) => {
                found.and_then(Value::as_str).is_some_and(|it| pattern.matches(it))
            }
            Compare::In(all) => found.is_some_and(|it| all.contains(it)),
            Compare::Exists => found.is_some(),
        }
    }
}

/// How two values of a kind are ordered; values of different kinds are not.
fn order(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.partial_cmp(other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Or,
    Not,
    Term(String),
}

/// Splits at spaces and brackets, outside of quotes and of values in square or curly brackets.
fn tokens(line: &str) -> Result<Vec<Token>, Problem> {
    let mut all = Vec::new();
    let mut term = String::new();
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let end = |term: &mut String, all: &mut Vec<Token>| {
        let text = std::mem::take(term);
        match text.as_str() {
            "" | "and" | "AND" => {}
            "or" | "OR" => all.push(Token::Or),
            "not" | "NOT" => all.push(Token::Not),
            _ => all.push(Token::Term(text)),
        }
    };
    for letter in line.chars() {
        if !is_quoted && depth == 0 && (letter.is_whitespace() || matches!(letter, '(' | ')')) {
            end(&mut term, &mut all);
            match letter {
                '(' => all.push(Token::Open),
                ')' => all.push(Token::Close),
                _ => {}
            }
            continue;
        }
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        term.push(letter);
    }
    if is_quoted {
        return Err(wrong("a text is not closed: put a quote at its end"));
    }
    end(&mut term, &mut all);
    Ok(all)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    now: Timestamp,
    terms: usize,
}

impl Reader {
    fn any(&mut self, depth: usize) -> Result<Query, Problem> {
        if depth > DEPTH_MAX {
            return Err(wrong(&format!("brackets are at most {DEPTH_MAX} levels deep")));
        }
        let mut all = vec![self.all(depth)?];
        while self.tokens.get(self.at) == Some(&Token::Or) {
            self.at += 1;
            all.push(self.all(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Query::Any(all) })
    }

    fn all(&mut self, depth: usize) -> Result<Query, Problem> {
        let mut all = Vec::new();
        // Where a token is, and since when: both are meant of the same one.
        let (mut at, mut waiting) = (Vec::new(), None);
        loop {
            let token = self.tokens.get(self.at).cloned();
            match token {
                None | Some(Token::Close | Token::Or) => break,
                Some(Token::Open) => {
                    self.at += 1;
                    all.push(self.any(depth + 1)?);
                    if self.tokens.get(self.at) != Some(&Token::Close) {
                        return Err(wrong("a bracket is not closed"));
                    }
                    self.at += 1;
                }
                Some(Token::Not) => {
                    self.at += 1;
                    let inner = match self.tokens.get(self.at).cloned() {
                        Some(Token::Open) => {
                            self.at += 1;
                            let inner = self.any(depth + 1)?;
                            if self.tokens.get(self.at) != Some(&Token::Close) {
                                return Err(wrong("a bracket is not closed"));
                            }
                            inner
                        }
                        Some(Token::Term(text)) => self.alone(&text)?,
                        _ => return Err(wrong("nothing follows `not`")),
                    };
                    self.at += 1;
                    all.push(Query::Not(Box::new(inner)));
                }
                Some(Token::Term(text)) => {
                    self.at += 1;
                    self.counted()?;
                    if let Some(element) = text.strip_prefix("at:") {
                        at.push(cells(element));
                    } else if let Some(span) = text.strip_prefix("waiting>") {
                        waiting = Some(self.span(span)?);
                    } else {
                        all.push(self.term(&text)?);
                    }
                }
            }
        }
        if at.is_empty() && waiting.is_some() {
            all.push(Query::Stored(waits(None, waiting)));
        }
        all.extend(at.into_iter().map(|it| Query::Stored(waits(Some(it), waiting))));
        Ok(if all.len() == 1 { all.remove(0) } else { Query::All(all) })
    }

    fn counted(&mut self) -> Result<(), Problem> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return Err(wrong(&format!("a query has at most {TERMS_MAX} terms")));
        }
        Ok(())
    }

    /// A term by itself.
    fn alone(&mut self, text: &str) -> Result<Query, Problem> {
        self.counted()?;
        if let Some(element) = text.strip_prefix("at:") {
            return Ok(Query::Stored(waits(Some(cells(element)), None)));
        }
        if let Some(span) = text.strip_prefix("waiting>") {
            return Ok(Query::Stored(waits(None, Some(self.span(span)?))));
        }
        self.term(text)
    }

    fn span(&self, text: &str) -> Result<Timestamp, Problem> {
        list::point(text, self.now)
            .ok_or_else(|| wrong(&format!("{text:?} is no span of time such as 2d")))
    }

    fn term(&self, text: &str) -> Result<Query, Problem> {
        if let Some((word, value)) = text.split_once(':')
            && word.chars().all(|it| it.is_ascii_alphabetic())
            && !value.is_empty()
        {
            return Self::word(word, value);
        }
        for operator in [">=", "<=", "!=", "=", ">", "<", "~"] {
            if let Some((name, value)) = outside(text, operator) {
                return self.comparison(name.trim(), operator, value.trim());
            }
        }
        // A word alone is what people call an instance, or its number.
        let mut any = vec![Condition::of(InstanceColumn::BusinessId, like(text)?)];
        if let Ok(number) = text.parse::<u64>() {
            any.push(Condition::of(InstanceColumn::Id, Test::eq(number)));
        }
        Ok(Query::Stored(Condition::Any(any)))
    }

    fn word(word: &str, value: &str) -> Result<Query, Problem> {
        known("word of the query line", word, &WORDS)?;
        let is =
            |column: InstanceColumn, test: Test| Ok(Query::Stored(Condition::of(column, test)));
        let number = || {
            value.parse::<u64>().map_err(|_| wrong(&format!("{word}: is a number, not {value:?}")))
        };
        match word {
            "state" => {
                let all: Result<Vec<_>, _> = value.split(',').map(words::state).collect();
                let all = all.map_err(|it| wrong(&it))?;
                is(InstanceColumn::State, Test::any_of(all))
            }
            "def" => {
                let (id, version) =
                    value.split_once('@').map_or((value, None), |(id, it)| (id, Some(it)));
                let mut all = vec![Condition::of(InstanceColumn::Definition, like(id)?)];
                if let Some(version) = version {
                    let version: u64 = version
                        .parse()
                        .map_err(|_| wrong(&format!("{version:?} is no version")))?;
                    all.push(Condition::of(InstanceColumn::Version, Test::eq(version)));
                }
                Ok(Query::Definition(Condition::All(all)))
            }
            "version" => is(InstanceColumn::Version, Test::eq(number()?)),
            "id" => is(InstanceColumn::BusinessId, like(value)?),
            "tag" => is(InstanceColumn::Tag, like(value)?),
            "reason" => {
                is(InstanceColumn::Reason, like(&format!("*{}*", value.trim_matches('"')))?)
            }
            "caller" => is(InstanceColumn::Parent, Test::eq(number()?)),
            "root" => is(InstanceColumn::Root, Test::eq(number()?)),
            "incident" => {
                let value = value.trim_matches('"');
                let any = vec![
                    Condition::of(IncidentColumn::Kind, Test::eq(value)),
                    Condition::of(IncidentColumn::Code, Test::eq(value)),
                    Condition::of(IncidentColumn::Element, Test::eq(value)),
                ];
                Ok(Query::Stored(Condition::Has(Table::Incidents, vec![Condition::Any(any)])))
            }
            "error" => {
                let pattern = like(&format!("*{}*", value.trim_matches('"')))?;
                let message = Condition::of(IncidentColumn::Message, pattern);
                Ok(Query::Stored(Condition::Has(Table::Incidents, vec![message])))
            }
            "exists" => {
                Ok(Query::Variable(Comparison { path: path(value)?, test: Compare::Exists }))
            }
            "is" => {
                const KINDS: [&str; 4] = ["incident", "top", "ended", "running"];
                known("kind", value, &KINDS)?;
                match value {
                    "incident" => is(InstanceColumn::HasIncidents, Test::eq(true)),
                    "top" => is(InstanceColumn::Parent, Test::Exists(false)),
                    other => is(InstanceColumn::Ended, Test::Exists(other == "ended")),
                }
            }
            // Every other one is read by itself.
            _ => Err(wrong(&format!("{word}:{value} cannot stand here"))),
        }
    }

    fn comparison(&self, name: &str, operator: &str, value: &str) -> Result<Query, Problem> {
        let times = match name {
            "started" => Some(InstanceColumn::Started),
            "ended" => Some(InstanceColumn::Ended),
            _ => None,
        };
        if let Some(column) = times {
            let at = Cell::Time(self.span(value)?);
            let test = match operator {
                ">" => Test::Gt(at),
                ">=" => Test::Gte(at),
                "<" => Test::Lt(at),
                "<=" => Test::Lte(at),
                _ => return Err(wrong(&format!("{name} is compared with <, <=, > or >="))),
            };
            return Ok(Query::Stored(Condition::of(column, test)));
        }
        let path = path(name)?;
        let read = |text: &str| text::value_of(text).map_err(|it| wrong(&it));
        let test = match operator {
            "=" if value.contains(',') && !value.starts_with(['"', '[', '{']) => {
                Compare::In(value.split(',').map(read).collect::<Result<_, _>>()?)
            }
            "=" => Compare::Eq(read(value)?),
            "!=" => Compare::Neq(read(value)?),
            ">" => Compare::Gt(read(value)?),
            ">=" => Compare::Gte(read(value)?),
            "<" => Compare::Lt(read(value)?),
            "<=" => Compare::Lte(read(value)?),
            _ => {
                let pattern = value.trim_matches('"');
                let pattern = Pattern::parse(pattern).map_err(travertine_runtime::Error::from)?;
                Compare::Like(pattern)
            }
        };
        Ok(Query::Variable(Comparison { path, test }))
    }
}

/// The parts around an operator that stands outside of quotes.
fn outside<'a>(text: &'a str, operator: &str) -> Option<(&'a str, &'a str)> {
    let at = text.find(operator)?;
    let is_before_quotes = !text[..at].contains('"');
    (at > 0 && is_before_quotes).then(|| (&text[..at], &text[at + operator.len()..]))
}

fn path(text: &str) -> Result<Vec<Name>, Problem> {
    let all: Vec<Name> = text.split('.').map(Name::from).collect();
    if all.iter().any(|it| it.is_empty()) {
        return Err(wrong(&format!("{text:?} is no variable")));
    }
    Ok(all)
}

fn cells(text: &str) -> Vec<Name> {
    text.split(',').map(Name::from).collect()
}

/// A token that is at one of these elements, since before then.
fn waits(at: Option<Vec<Name>>, since: Option<Timestamp>) -> Condition {
    let mut all = Vec::new();
    if let Some(elements) = at {
        all.push(Condition::of(ElementColumn::Element, Test::any_of(elements)));
    } else {
        // Containers wait for what is inside.
        let containers = [
            ElementKind::Process,
            ElementKind::SubProcess,
            ElementKind::EventSubProcess,
            ElementKind::AdHocSubProcess,
            ElementKind::Transaction,
        ];
        let containers = containers.into_iter().map(Into::into).collect();
        all.push(Condition::of(ElementColumn::Kind, Test::NotIn(containers)));
    }
    all.extend(since.map(|it| Condition::of(ElementColumn::Since, Test::Lt(Cell::Time(it)))));
    Condition::Has(Table::Elements, all)
}

fn like(text: &str) -> Result<Test, Problem> {
    let text = text.trim_matches('"');
    if text.contains(['*', '?']) {
        return Ok(Test::like(text).map_err(travertine_runtime::Error::from)?);
    }
    Ok(if text.contains(',') { Test::any_of(cells(text)) } else { Test::eq(text) })
}

fn wrong(detail: &str) -> Problem {
    Refusal::invalid(format!("the query line: {detail}")).into()
}
