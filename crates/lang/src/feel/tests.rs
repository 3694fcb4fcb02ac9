//! What FEEL means, by area, and what it does with texts that mean nothing.

mod bounds;
mod functions;
mod language;
mod names;
mod nulls;
mod operators;
mod tables;
mod times;

use travertine_value::{Value, time::Timestamp};

use super::{Context, Evaluation, Expression, FeelValue, Names, Settings};

fn settings() -> Settings {
    let now = Timestamp::from_millis(1_710_064_800_000);
    Settings { now: Some(now), seed: Some(7), ..Settings::default() }
}

fn scope() -> Context {
    let json = r#"{
        "a": 1, "b": 2, "x": 5, "name": "Ada", "flag": true, "nothing": null, "list": [7], "date": "d",
        "nums": [1, 2, 3, 4, 5],
        "order": {"total": 120, "items": [
            {"sku": "A", "qty": 2, "price": 10}, {"sku": "B", "qty": 1, "price": 100}
        ]}
    }"#;
    let value = Value::parse_json(json).unwrap();
    FeelValue::from(value).as_context().cloned().unwrap()
}

fn evaluation(source: &str) -> Evaluation {
    let expression = Expression::parse(source, &Names::new());
    let expression = expression.unwrap_or_else(|error| panic!("{source}: {error}"));
    expression.evaluate(&scope(), &settings()).unwrap_or_else(|limit| panic!("{source}: {limit}"))
}

/// The value as FEEL writes it.
fn value(source: &str) -> String {
    evaluation(source).value.to_string()
}

/// Checks expressions against the values that stand behind them.
fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(value(source), *expected, "{source}");
    }
}

/// The first reason why something became null.
fn warning(source: &str) -> String {
    let warnings = evaluation(source).warnings;
    warnings.first().map(ToString::to_string).unwrap_or_default()
}

fn syntax_error(source: &str) -> String {
    match Expression::parse(source, &Names::new()) {
        Ok(_) => panic!("{source} is an expression"),
        Err(error) => error.to_string(),
    }
}
