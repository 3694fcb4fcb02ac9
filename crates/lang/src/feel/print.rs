//! Trees as texts that give the same tree again, for the law that they do.
//!
//! Names that the tree has kept stand in backticks; those of loops, which it has not, are made up.
//! Every part stands in brackets. What can mean nothing is printed as something that means nothing,
//! and a built-in function with an argument left out in the middle is not printed as it was.

use std::fmt::Write as _;

use travertine_value::Name;

use super::{
    function::Body as Callable,
    tree::{
        Body, Comparison, Definition, Domain, EndOf, Expr, Loop, Operator, Quantifier, RangeOf,
        Step, Test,
    },
    types::Type,
    value::FeelValue,
};

/// The expression as a text.
pub(super) fn print(expr: &Expr) -> String {
    let mut printer = Printer { frames: vec![Frame::default()] };
    printer.expr(expr)
}

/// The names of slots, by function.
struct Printer<'t> {
    frames: Vec<Frame<'t>>,
}

#[derive(Default)]
struct Frame<'t> {
    slots: Vec<String>,
    captures: &'t [Expr],
    this: Option<Name>,
    calls_itself: bool,
}

impl<'t> Printer<'t> {
    fn expr(&mut self, expr: &'t Expr) -> String {
        match expr {
            Expr::Constant(value) => constant(value),
            Expr::GlobalOr(name, _) => name.to_string(),
            Expr::Global(..)
            | Expr::Local(_)
            | Expr::Captured(_)
            | Expr::Entry(_)
            | Expr::ThisFunction => {
                let frame = self.frames.len() - 1;
                quoted(&self.name(frame, expr))
            }
            Expr::Path(root, steps) => self.path(root, steps),
            Expr::Negate(operand, _) => format!("-{}", self.part(operand)),
            Expr::Arithmetic(first, links) => {
                let mut text = self.part(first);
                for (how, _, operand) in links {
                    write!(text, " {} {}", operator(*how), self.part(operand)).expect("a text");
                }
                text
            }
            Expr::Compare(how, _, sides) => {
                let [left, right] = &**sides;
                format!("{} {} {}", self.part(left), comparison(*how), self.part(right))
            }
            Expr::Between(_, parts) => {
                let [value, low, high] = &**parts;
                let value = self.part(value);
                format!("{value} between {} and {}", self.part(low), self.part(high))
            }
            Expr::In(_, value, tests) => {
                let value = self.part(value);
                let tests: Vec<_> = tests.iter().map(|it| self.test(it)).collect();
                format!("{value} in ({})", tests.join(", "))
            }
            Expr::InstanceOf(value, of) => format!("{} instance of {of}", self.part(value)),
            Expr::And(_, operands) => self.parts(operands).join(" and "),
            Expr::Or(_, operands) => self.parts(operands).join(" or "),
            Expr::Choice(branches, otherwise) => {
                let mut text = String::new();
                for branch in branches {
                    let condition = self.part(&branch.condition);
                    let then = self.part(&branch.then);
                    write!(text, "if {condition} then {then} else ").expect("a text");
                }
                text + &self.part(otherwise)
            }
            Expr::For(over) => self.loop_over("for", over, "return", true),
            Expr::Quantified(Quantifier::Some, over) => {
                self.loop_over("some", over, "satisfies", false)
            }
            Expr::Quantified(Quantifier::Every, over) => {
                self.loop_over("every", over, "satisfies", false)
            }
            Expr::List(items) => format!("[{}]", self.parts(items).join(", ")),
            Expr::Context(entries) => self.context(entries),
            Expr::Range(range) => self.range(range),
            Expr::Function(definition) => self.function(None, definition).0,
            Expr::Builtin(form, _, arguments) => {
                let last = arguments.iter().rposition(Option::is_some).map_or(0, |it| it + 1);
                let arguments: Vec<_> = arguments[..last]
                    .iter()
                    .map(|it| it.as_ref().map_or_else(|| "null".to_owned(), |it| self.part(it)))
                    .collect();
                format!("{}({})", form.name, arguments.join(", "))
            }
            Expr::Call(call) => {
                let callee = match call.otherwise {
                    Some(builtin) => builtin.name.to_owned(),
                    None => format!("({})", self.expr(&call.callee)),
                };
                let mut arguments = Vec::new();
                for (name, value) in &call.arguments {
                    let name = name.as_ref().map(|it| format!("{}: ", quoted(it)));
                    arguments.push(name.unwrap_or_default() + &self.part(value));
                }
                format!("{callee}({})", arguments.join(", "))
            }
            Expr::IsDefined(operand) => format!("is defined({})", self.part(operand)),
            Expr::Nothing(..) => "@\"\"".to_owned(),
        }
    }

    /// As part of something larger.
    fn part(&mut self, expr: &'t Expr) -> String {
        let text = self.expr(expr);
        match expr {
            Expr::Global(..) | Expr::GlobalOr(..) | Expr::Local(_) | Expr::List(_) => text,
            _ => format!("({text})"),
        }
    }

    fn parts(&mut self, all: &'t [Expr]) -> Vec<String> {
        all.iter().map(|it| self.part(it)).collect()
    }

    /// By which name a function knows something: its own, or that of the function around it.
    fn name(&mut self, frame: usize, expr: &'t Expr) -> String {
        match expr {
            Expr::Global(name, _) => name.to_string(),
            Expr::Local(slot) => self.frames[frame].slots[*slot].clone(),
            Expr::Captured(index) => {
                let captures = self.frames[frame].captures;
                self.name(frame - 1, &captures[*index])
            }
            Expr::ThisFunction => {
                let frame = &mut self.frames[frame];
                frame.calls_itself = true;
                frame.this.as_ref().expect("only an entry can call itself").to_string()
            }
            Expr::Entry(entry) => {
                self.rename(frame, &entry.otherwise, &entry.name);
                entry.name.to_string()
            }
            other => unreachable!("not a name: {other:?}"),
        }
    }

    /// A name that can also be an entry of an item is the one that the loop had.
    fn rename(&mut self, frame: usize, expr: &'t Expr, name: &Name) {
        match expr {
            Expr::Local(slot) => self.frames[frame].slots[*slot] = name.to_string(),
            Expr::Captured(index) => {
                let captures = self.frames[frame].captures;
                self.rename(frame - 1, &captures[*index], name);
            }
            Expr::Entry(entry) => self.rename(frame, &entry.otherwise, name),
            Expr::ThisFunction => self.frames[frame].calls_itself = true,
            _ => {}
        }
    }

    fn slots(&mut self) -> &mut Vec<String> {
        &mut self.frames.last_mut().expect("the expression itself is always there").slots
    }

    fn path(&mut self, root: &'t Expr, steps: &'t [Step]) -> String {
        let mut text = self.part(root);
        for step in steps {
            match step {
                Step::Field(name, _) => write!(text, ".{}", quoted(name)),
                Step::Filter(filter) => {
                    self.slots().push("item".to_owned());
                    let condition = self.expr(&filter.condition);
                    self.slots().pop();
                    write!(text, "[{condition}]")
                }
            }
            .expect("a text");
        }
        text
    }

    /// Only the end shows whether a name that was made up will do; where not, it begins anew.
    fn loop_over(&mut self, word: &str, over: &'t Loop, last: &str, has_partial: bool) -> String {
        let base = self.slots().len();
        let outer: usize = self.frames.iter().map(|it| it.slots.len()).sum();
        let mut names: Vec<_> =
            (0..over.iterators.len()).map(|it| format!("_v{}", outer + it)).collect();
        loop {
            let mut domains = Vec::new();
            for (iterator, name) in over.iterators.iter().zip(&names) {
                let domain = match &iterator.domain {
                    Domain::Values(values) => self.part(values),
                    Domain::Span(start, end) => format!("{}..{}", self.part(start), self.part(end)),
                };
                domains.push(format!("{} in {domain}", quoted(name)));
                self.slots().push(name.clone());
            }
            if has_partial {
                self.slots().push("partial".to_owned());
            }
            let body = self.part(&over.body);
            let found = self.slots()[base..base + names.len()].to_vec();
            self.slots().truncate(base);
            if found == names {
                return format!("{word} {} {last} {body}", domains.join(", "));
            }
            names = found;
        }
    }

    fn context(&mut self, entries: &'t [(Name, Expr)]) -> String {
        let base = self.slots().len();
        let mut texts = Vec::new();
        for (name, value) in entries {
            let value = match value {
                Expr::Function(definition) => match self.function(Some(name), definition) {
                    (text, true) => text,
                    (text, false) => format!("({text})"),
                },
                other => self.part(other),
            };
            texts.push(format!("{}: {value}", quoted(name)));
            self.slots().push(name.to_string());
        }
        self.slots().truncate(base);
        format!("{{{}}}", texts.join(", "))
    }

    /// The function, and whether it calls itself.
    fn function(&mut self, this: Option<&Name>, definition: &'t Definition) -> (String, bool) {
        let mut parameters = Vec::new();
        let mut frame = Frame { captures: &definition.captures, ..Frame::default() };
        frame.this = this.cloned();
        for parameter in &definition.parameters {
            frame.slots.push(parameter.name.to_string());
            let name = quoted(&parameter.name);
            parameters.push(match &parameter.of {
                Type::Any => name,
                of => format!("{name}: {of}"),
            });
        }
        self.frames.push(frame);
        let body = match &definition.body {
            Body::Feel(body) => self.part(body),
            Body::External => "external {}".to_owned(),
        };
        let frame = self.frames.pop().expect("it was just pushed");
        (format!("function({}) {body}", parameters.join(", ")), frame.calls_itself)
    }

    fn range(&mut self, range: &'t RangeOf) -> String {
        match (&range.start, &range.end) {
            (EndOf::Open, EndOf::Excluded(end)) => format!("(< {})", self.part(end)),
            (EndOf::Open, EndOf::Included(end)) => format!("(<= {})", self.part(end)),
            (EndOf::Excluded(start), EndOf::Open) => format!("(> {})", self.part(start)),
            (EndOf::Included(start), EndOf::Open) => format!("(>= {})", self.part(start)),
            (EndOf::Included(start), EndOf::Same) => format!("(= {})", self.part(start)),
            (
                start @ (EndOf::Excluded(low) | EndOf::Included(low)),
                end @ (EndOf::Excluded(high) | EndOf::Included(high)),
            ) => {
                let open = if matches!(start, EndOf::Included(_)) { '[' } else { '(' };
                let close = if matches!(end, EndOf::Included(_)) { ']' } else { ')' };
                format!("{open}{}..({}){close}", self.part(low), self.expr(high))
            }
            other => unreachable!("no such range can be written: {other:?}"),
        }
    }

    fn test(&mut self, test: &'t Test) -> String {
        match test {
            Test::Compare(how, _, value) => format!("{} {}", comparison(*how), self.part(value)),
            Test::Condition(_, value) | Test::Member(_, value) => self.part(value),
        }
    }
}

fn constant(value: &FeelValue) -> String {
    match value {
        FeelValue::String(text) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        FeelValue::Date(_)
        | FeelValue::Time(_)
        | FeelValue::DateTime(_)
        | FeelValue::DaysDuration(_)
        | FeelValue::YearsDuration(_) => format!("@\"{value}\""),
        FeelValue::Function(function) => match &function.0 {
            Callable::Builtin(builtin) => builtin.name.to_owned(),
            Callable::Lambda(_) | Callable::Native(_) => unreachable!("these are no literals"),
        },
        FeelValue::Null
        | FeelValue::Boolean(_)
        | FeelValue::Number(_)
        | FeelValue::List(_)
        | FeelValue::Context(_)
        | FeelValue::Range(_) => value.to_string(),
    }
}

/// The input of a test is known by its sign alone.
fn quoted(name: &str) -> String {
    if name == "?" { name.to_owned() } else { format!("`{name}`") }
}

fn operator(how: Operator) -> &'static str {
    match how {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Power => "**",
    }
}

fn comparison(how: Comparison) -> &'static str {
    match how {
        Comparison::Equal => "=",
        Comparison::Unequal => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use fancy_regex::Regex;
    use proptest::prelude::*;

    use travertine_value::{Limits, Name, Value};

    use super::{
        super::{Context, Expression, FeelValue, Names, Settings, parser},
        Expr, print,
    };

    fn scope() -> Context {
        let json = r#"{"a": 1, "b": 2.5, "s": "text", "t": true, "n": null, "l": [3, 1, 2],
            "m": {"a": 7, "b": {"a": 8}}, "r": [{"a": 1, "b": 2}, {"a": 3, "i": 4}]}"#;
        FeelValue::from(Value::parse_json(json).unwrap()).as_context().cloned().unwrap()
    }

    fn parsed(source: &str) -> Expr {
        let tree = parser::expression(&Name::from(source), &Names::new());
        tree.unwrap_or_else(|error| panic!("{source}: {error}")).root
    }

    fn printed(source: &str) -> String {
        print(&parsed(source))
    }

    /// The tree without the places of its parts and the text it came from: a place is a number
    /// beside something else, while slots stand alone.
    fn shape(source: &str) -> String {
        static PLACES: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"at: \d+|source: "(?:[^"\\]|\\.)*"|(?<=, )\d+(?=[,)])|(?<=\()\d+(?=, )"#)
                .expect("a pattern")
        });
        PLACES.replace_all(&format!("{:?}", parsed(source)), "_").into_owned()
    }

    fn evaluated(source: &str, limits: Limits) -> Result<String, travertine_value::Limit> {
        let expression = Expression::parse(source, &Names::new());
        let expression = expression.unwrap_or_else(|error| panic!("{source}: {error}"));
        let settings = Settings { limits, seed: Some(7), ..Settings::default() };
        Ok(expression.evaluate(&scope(), &settings)?.value.to_string())
    }

    /// A text without brackets that it could do without, so that precedence is at work, too.
    fn expression() -> impl Strategy<Value = String> {
        leaf().prop_recursive(4, 40, 4, |inner| {
            let e = || inner.clone();
            let name = || prop::sample::select(vec!["i", "j", "a", "l", "item"]);
            let sign = prop::sample::select(vec!["+", "-", "*", "/", "**", " and ", " or "]);
            let compare = || prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
            let quantifier = prop::sample::select(vec!["some", "every"]);
            let of = prop::sample::select(vec![
                "number",
                "list<number>",
                "context<a: string>",
                "date and time",
                "range<number>",
                "function<number> -> Any",
            ]);
            let call = prop::sample::select(vec![
                "count",
                "string length",
                "is defined",
                "not",
                "sum",
                "string",
                "reverse",
                "sqrt",
            ]);
            // In brackets, because `[` before a `]` is an empty list.
            let open = prop::sample::select(vec!["[", "(", "]"]);
            let close = prop::sample::select(vec!["]", ")"]);
            prop_oneof![
                3 => (e(), sign, e()).prop_map(|(a, how, b)| format!("({a}){how}({b})")),
                2 => prop::collection::vec(leaf(), 2..5).prop_map(|it| it.join(" * ")),
                2 => prop::collection::vec(leaf(), 2..5).prop_map(|it| it.join(" - ")),
                1 => e().prop_map(|a| format!("-({a})")),
                2 => (e(), compare(), e()).prop_map(|(a, how, b)| format!("({a}) {how} ({b})")),
                1 => (e(), e(), e()).prop_map(|(a, b, c)| format!("({a}) between ({b}) and ({c})")),
                1 => (e(), compare(), e(), e())
                    .prop_map(|(a, how, b, c)| format!("({a}) in ({how} ({b}), {c}, [1..5])")),
                1 => (e(), of).prop_map(|(a, of)| format!("({a}) instance of {of}")),
                2 => (e(), e(), e()).prop_map(|(a, b, c)| format!("if {a} then {b} else {c}")),
                3 => (name(), e(), name(), e(), e())
                    .prop_map(|(x, a, y, b, c)| format!("for {x} in {a}, {y} in {b} return {c}")),
                1 => (name(), e()).prop_map(|(x, a)| {
                    format!("for {x} in 1..3 return [{x}, count(partial), {a}]")
                }),
                2 => (quantifier, name(), e(), e())
                    .prop_map(|(how, x, a, b)| format!("{how} {x} in {a} satisfies {b}")),
                2 => prop::collection::vec(e(), 0..4).prop_map(|it| format!("[{}]", it.join(", "))),
                2 => (e(), e(), e()).prop_map(|(a, b, c)| format!("{{i: {a}, \"j k\": {b}, j: {c}}}")),
                3 => (e(), e()).prop_map(|(a, b)| format!("({a})[{b}]")),
                1 => (e(), name()).prop_map(|(a, x)| format!("({a}).{x}")),
                1 => (open, e(), leaf(), close)
                    .prop_map(|(open, a, b, close)| format!("({open}({a})..{b}{close})")),
                1 => (prop::sample::select(vec!["=", "<", "<=", ">", ">="]), e())
                    .prop_map(|(how, a)| format!("({how} ({a}))")),
                2 => (call, e()).prop_map(|(f, a)| format!("{f}({a})")),
                2 => (name(), e(), e())
                    .prop_map(|(x, a, b)| format!("(function({x}, p: number) {a})({b}, 2)")),
                1 => (name(), e(), e())
                    .prop_map(|(x, a, b)| format!("(function({x}) {a})({x}: {b})")),
                1 => (e(), e()).prop_map(|(a, b)| {
                    format!("{{f: function(i) if i > 0 then f(i - 1) else {a}, i: f({b})}}.i")
                }),
            ]
        })
    }

    fn leaf() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(vec!["a", "b", "s", "t", "n", "l", "m", "r", "i", "j", "item"])
                .prop_map(str::to_owned),
            2 => prop::sample::select(vec![
                "m.a", "m.b.a", "r.a", "r[a > 1]", "l[item > 1]", "l[-1]", "r[i = 4].a", "`j k`",
                "date", "string length",
            ]).prop_map(str::to_owned),
            2 => (-20_i64..20).prop_map(|it| it.to_string()),
            1 => (0_u32..1000).prop_map(|it| format!("{it}.50e-2")),
            1 => "[a-z\u{e4}\"\\\\\n]{0,6}".prop_map(|it| format!("{it:?}")),
            1 => prop::sample::select(vec![
                "true", "false", "null", "@\"2024-02-29\"", "@\"10:00:00+01:00\"", "@\"-P1DT2H\"",
                "@\"P1Y2M\"", "@\"2024-02-29T10:00:00@Europe/Berlin\"", "@\"12:30:00.25Z\"",
            ]).prop_map(str::to_owned),
        ]
    }

    #[test]
    fn printing_keeps_what_brackets_and_names_say() {
        for (source, text) in [
            ("1 - 2 * a", "(1) - ((2) * `a`)"),
            ("for x in 1..2 return x", "for `_v0` in (1)..(2) return `_v0`"),
            ("for x in l return r[x]", "for `x` in `l` return (`r`[`x`])"),
        ] {
            let found = printed(source);
            assert_eq!(printed(&found), found, "{source}");
            assert_eq!(found, text, "{source}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn what_is_printed_is_the_same_tree_again(source in expression()) {
            let once = printed(&source);
            prop_assert_eq!(shape(&once), shape(&source), "{}", once);
            prop_assert_eq!(&printed(&once), &once);
            let limits = Limits { steps_max: 20_000, ..Limits::default() };
            let (written, again) = (evaluated(&source, limits), evaluated(&once, limits));
            prop_assert_eq!(written, again, "{}", once);
        }

        #[test]
        fn an_evaluation_ends_within_its_limits(
            source in expression(), steps_max in 0_u64..300, depth_max in 0_usize..20,
        ) {
            let small = Limits { steps_max, depth_max, memory_bytes_max: 4096, ..Limits::default() };
            let found = evaluated(&source, small);
            // Limits end an evaluation; they never change what it gives.
            if let Ok(value) = found {
                prop_assert_eq!(evaluated(&source, Limits::default()), Ok(value));
            }
        }
    }
}
