//! Null, and what is said about it: before running, after, and behind the seam.

use travertine_value::{EvalError, Limits};

use crate::{Kind, Language};

use super::{
    super::{Expression, Feel, Names, Severity},
    check, evaluation, warning,
};
use travertine_value::{Map, Value};

#[test]
fn null_comes_with_a_reason_and_a_place() {
    for (source, reason) in [
        ("1 + unknown", "there is no variable unknown (line 1, column 5)"),
        ("order.missing", "the context has no entry missing (line 1, column 7)"),
        ("\n  1 / 0", "division by zero (line 2, column 5)"),
        ("true < 1", "a boolean and a number cannot be compared (line 1, column 6)"),
        ("sqrt(-1)", "sqrt: a negative number has no square root (line 1, column 1)"),
        ("nums[9]", "the list of 5 has no item 9 (line 1, column 5)"),
        ("date(\"x\")", "date: not a date: \"x\" (line 1, column 1)"),
        ("assert(1, false, \"why\")", "assert: why (line 1, column 1)"),
    ] {
        assert_eq!(warning(source), reason, "{source}");
    }
}

#[test]
fn null_that_was_asked_for_needs_no_reason() {
    for source in [
        "unknown = null",
        "unknown.deep != null",
        "get or else(unknown, 1)",
        "is defined(unknown)",
        "unknown > 5 or true",
        "null",
        "nothing",
    ] {
        assert_eq!(evaluation(source).warnings, [], "{source}");
    }
    check(&[
        ("is defined(nothing)", "true"),
        ("is defined(order.missing)", "false"),
        ("is defined(order.total)", "true"),
    ]);
}

#[test]
fn strict_evaluation_fails_with_the_first_reason() {
    let strict = evaluation("if unknown > 5 then 1 else 2").strict();
    assert_eq!(strict.unwrap_err().message, "there is no variable unknown");
    assert_eq!(evaluation("1 + 1").strict().unwrap().to_string(), "2");
}

#[test]
fn much_is_known_before_running() {
    for (source, severity, message) in [
        ("foo(1)", Severity::Error, "there is no function foo"),
        ("abs(1, 2)", Severity::Error, "abs takes 1 argument, not 2"),
        ("substring(string: \"a\", from: 1)", Severity::Error, "substring has no parameter from"),
        ("@\"soon\"", Severity::Error, "neither a date, a time nor a duration: \"soon\""),
        ("x * \"a\"", Severity::Warning, "a string cannot be multiplied"),
        ("\"a\" < 1", Severity::Warning, "a string and a number cannot be compared"),
        ("if 1 then 2 else 3", Severity::Warning, "a number is not a condition"),
        ("x instance of nonsense", Severity::Warning, "there is no type nonsense"),
    ] {
        let expression = Expression::parse(source, &Names::new()).unwrap();
        let problem = expression.problems().first().unwrap_or_else(|| panic!("{source}"));
        assert_eq!((problem.severity, &*problem.message), (severity, message), "{source}");
    }
}

fn run(language: Feel, source: &str) -> Result<Value, EvalError> {
    let program = language.compile(Kind::Expression, source).unwrap();
    let variables: Map = [("x".into(), 5.into())].into_iter().collect();
    program.value(&variables, &Limits::default())
}

#[test]
fn a_condition_without_an_answer_fails_and_a_value_may_be_null() {
    let feel = Feel::default();
    assert_eq!(run(feel, "= x > 3"), Ok(true.into()));
    assert_eq!(run(feel, "missing"), Ok(Value::Null));
    assert_eq!(run(feel, "if missing > 1 then 1 else 2"), Ok(2.into()));
    let error = run(feel, "= missing > 3").unwrap_err();
    assert_eq!(error.to_string(), "there is no variable missing (line 1, column 3)");
    let error = run(feel, "now()").unwrap_err();
    assert_eq!(error.to_string(), "now: there is no clock here (line 1, column 1)");
    let error = run(Feel::strict(), "if missing > 1 then 1 else 2").unwrap_err();
    assert_eq!(error.to_string(), "there is no variable missing (line 1, column 4)");
}

#[test]
fn mistakes_are_found_when_compiling() {
    let compile =
        |source| Feel::default().compile(Kind::Expression, source).unwrap_err().to_string();
    assert_eq!(compile("= fop(1)"), "there is no function fop (line 1, column 3)");
    assert_eq!(compile("1 +"), "expected an expression, found the end (line 1, column 4)");
    assert_eq!(compile("\"a"), "the string has no end (line 1, column 1)");
}

#[test]
fn temporal_values_become_texts_in_variables() {
    let value =
        run(Feel::default(), "{d: @\"2024-01-31\" + @\"P1M\", t: [@\"10:00:00Z\"]}").unwrap();
    assert_eq!(value.to_string(), r#"{"d":"2024-02-29","t":["10:00:00Z"]}"#);
}
