//! FEEL against the cases that were collected before it was written, where they are at hand.

use std::{fs, path::Path};

use travertine_lang::feel::{Context, Expression, FeelValue, Names, Settings, UnaryTests};
use travertine_value::{Value, time::Timestamp};

fn settings() -> Settings {
    let now = Timestamp::from_millis(1_750_000_000_000);
    Settings { now: Some(now), seed: Some(7), ..Settings::default() }
}

fn context(value: &Value) -> Context {
    FeelValue::from(value).as_context().cloned().expect("a context")
}

/// What the case finds instead of what it expects, if so.
fn failure(case: &Value, shared: &Context) -> Option<String> {
    let text = |name| case.field(name).and_then(Value::as_str).unwrap_or_default();
    let scope = case.field("ctx").map_or_else(|| shared.clone(), context);
    let source = text("expr").strip_prefix('=').unwrap_or_else(|| text("expr"));
    let names = Names::new();
    let value = if text("kind") == "unary" {
        let input = scope.get("?").unwrap_or_default();
        let tests = UnaryTests::parse(source, &names).map_err(|it| it.to_string());
        tests.map(|it| it.evaluate(&input, &scope, &settings()))
    } else {
        let expression = Expression::parse(source, &names).map_err(|it| it.to_string());
        expression.map(|it| it.evaluate(&scope, &settings()))
    };
    let expected = case.field("exp").cloned().unwrap_or_default();
    match value {
        Ok(Ok(evaluation)) if evaluation.value.to_value() == expected => None,
        Ok(Ok(evaluation)) => Some(format!(
            "{}: expected {expected}, found {} {:?}",
            text("expr"),
            evaluation.value,
            evaluation.warnings
        )),
        Ok(Err(limit)) => Some(format!("{}: the {limit} limit", text("expr"))),
        Err(error) => Some(format!("{}: {error}", text("expr"))),
    }
}

#[test]
fn feel_holds_to_the_collected_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/suites/feel/cases.json");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return;
    };
    let suite = Value::parse_json(&text).expect("the cases are JSON");
    let shared = context(suite.field("context").expect("a context"));
    let cases = suite.field("cases").and_then(Value::as_list).expect("cases");
    let failures: Vec<_> = cases.iter().filter_map(|case| failure(case, &shared)).collect();
    assert!(
        failures.is_empty(),
        "{} of {} failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
