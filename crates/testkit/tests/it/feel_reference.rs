//! Every example of `docs/feel.md` gives what the page says.

use std::fmt::Write as _;

use travertine_lang::feel::{Context, Expression, FeelValue, Names, Settings};
use travertine_value::{Value, time::Timestamp};

const PAGE: &str = include_str!("../../../../docs/feel.md");

/// The texts between three backticks and this word, and three backticks.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(&begin).skip(1).filter_map(|it| it.split("```").next()).collect()
}

struct World {
    names: Names,
    scope: Context,
    settings: Settings,
}

impl World {
    fn new() -> Self {
        let json = blocks("json")[0];
        let json = Value::parse_json(json).expect("the page has JSON in it");
        let FeelValue::Context(scope) = FeelValue::from(json) else { panic!("an object") };
        let mut names = Names::new();
        for (name, value) in scope.iter() {
            names.add(name);
            if let FeelValue::Context(inner) = &value {
                inner.iter().for_each(|(name, _)| names.add_component(name));
            }
        }
        let now = Timestamp::from_millis(1_767_603_600_000);
        let settings = Settings { now: Some(now), seed: Some(1), ..Settings::default() };
        Self { names, scope, settings }
    }

    fn value(&self, text: &str) -> FeelValue {
        let expression = Expression::parse(text, &self.names);
        let expression = expression.unwrap_or_else(|error| panic!("{text}: {error}"));
        expression.evaluate(&self.scope, &self.settings).expect("no example is costly").value
    }
}

#[test]
fn every_example_gives_what_the_page_says() {
    let world = World::new();
    let mut count = 0;
    let mut wrong = String::new();
    for line in blocks("feel").into_iter().flat_map(str::lines).filter(|it| !it.trim().is_empty()) {
        let (example, result) = line.rsplit_once("// ").unwrap_or_else(|| panic!("{line}"));
        let (found, expected) = (world.value(example), world.value(result));
        if found.kind() != expected.kind() || found != expected && !found.is_null() {
            writeln!(wrong, "{} gives {found}", example.trim()).expect("text can be written to");
        }
        count += 1;
    }
    assert_eq!(wrong, "");
    assert!(count > 150, "{count} examples");
}

#[test]
fn every_function_of_the_language_has_an_example() {
    let text = blocks("feel").concat();
    for name in FUNCTIONS {
        assert!(text.contains(&format!("{name}(")), "{name} has no example");
    }
}

/// The functions of DMN 1.5.
const FUNCTIONS: [&str; 88] = [
    "date",
    "time",
    "date and time",
    "number",
    "string",
    "duration",
    "years and months duration",
    "not",
    "substring",
    "string length",
    "upper case",
    "lower case",
    "substring before",
    "substring after",
    "replace",
    "contains",
    "starts with",
    "ends with",
    "matches",
    "split",
    "string join",
    "list contains",
    "count",
    "min",
    "max",
    "sum",
    "mean",
    "all",
    "any",
    "sublist",
    "append",
    "concatenate",
    "insert before",
    "remove",
    "list replace",
    "reverse",
    "index of",
    "union",
    "distinct values",
    "flatten",
    "product",
    "median",
    "stddev",
    "mode",
    "decimal",
    "floor",
    "ceiling",
    "round up",
    "round down",
    "round half up",
    "round half down",
    "abs",
    "modulo",
    "sqrt",
    "log",
    "exp",
    "odd",
    "even",
    "is",
    "before",
    "after",
    "meets",
    "met by",
    "overlaps",
    "overlaps before",
    "overlaps after",
    "finishes",
    "finished by",
    "includes",
    "during",
    "starts",
    "started by",
    "coincides",
    "day of year",
    "day of week",
    "month of year",
    "week of year",
    "sort",
    "get value",
    "get entries",
    "context",
    "context put",
    "context merge",
    "now",
    "today",
    "range",
    "is defined",
    "get or else",
];
