//! Nothing panics, and nothing grows without bounds.

use proptest::prelude::*;
use travertine_value::{Limit, Limits};

use super::{
    super::{Expression, Names, Settings, UnaryTests},
    scope, settings, syntax_error,
};

fn limit(source: &str) -> Limit {
    let expression = Expression::parse(source, &Names::new()).unwrap();
    let limits = Limits { steps_max: 200_000, ..Limits::default() };
    let settings = Settings { limits, ..settings() };
    match expression.evaluate(&scope(), &settings) {
        Ok(evaluation) => panic!("{source} has a value: {:.100}", evaluation.value.to_string()),
        Err(limit) => limit,
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{a:", "}"), ("-", ""), ("abs(", ")"), ("x[", "]")]
    {
        let source = open.repeat(50_000) + "1" + &close.repeat(50_000);
        assert!(syntax_error(&source).starts_with("the expression is nested too deeply"), "{open}");
    }
    for open in
        ["if a then ", "for i in ", "function() ", "a in (", "[1..", "x instance of list<", "not("]
    {
        let source = open.repeat(50_000);
        assert!(Expression::parse(&source, &Names::new()).is_err(), "{open}");
        assert!(UnaryTests::parse(&source, &Names::new()).is_err(), "{open}");
    }
    syntax_error(&("f".to_owned() + &"(1)".repeat(50_000)));
    syntax_error(&("1".to_owned() + &" < 1".repeat(50_000)));
}

#[test]
fn loops_end() {
    for source in [
        "for i in 1..1000000000 return i",
        "every i in 1..1000000000 satisfies true",
        "for i in 1..1000, j in 1..1000 return 1",
        "count(for i in @\"0001-01-01\"..@\"9999-01-01\" return i)",
        "distinct values(for i in 1..5000 return [@\"P1D\" * i])",
    ] {
        assert_eq!(limit(source), Limit::Steps, "{source}");
    }
}

#[test]
fn many_values_are_told_apart() {
    for many in ["{a: i, b: [\"x\", i]}", "[i]", "[i, null]"] {
        let source = format!("count(distinct values(for i in 1..20000 return {many}))");
        assert_eq!(super::value(&source), "20000", "{many}");
    }
    assert_eq!(
        super::value("distinct values([{a: 1, b: 2}, {b: 2.0, a: [1]}, {a: 1}, [[1], 2], [1, 2]])"),
        "[{a: 1, b: 2}, {a: 1}, [[1], 2]]"
    );
    assert_eq!(super::value("count(distinct values(for i in 1..20000 return i))"), "20000");
    assert_eq!(super::value("count(union(for i in 1..20000 return i, [1, 2]))"), "20000");
    assert_eq!(
        super::value("duplicate values([1, \"a\", 1.0, null, \"a\", null, 2])"),
        "[1, \"a\", null]"
    );
    assert_eq!(
        super::value("distinct values([[1], [1], @\"P1D\", @\"PT24H\", 1, true, 1])"),
        "[[1], P1D, 1, true]"
    );
}

#[test]
fn recursion_ends() {
    assert_eq!(limit("{f: function(n) f(n + 1), r: f(0)}"), Limit::Depth);
    assert_eq!(limit("{f: function(g) g(g), r: f(f)}"), Limit::Depth);
}

#[test]
fn values_stay_small_and_flat() {
    assert_eq!(limit("for i in 1..2000 return [partial[-1]]"), Limit::Depth);
    assert_eq!(limit("for i in 1..60 return partial"), Limit::Memory);
    let doubling =
        "for i in 1..60 return if i = 1 then \"0123456789\" else partial[-1] + partial[-1]";
    assert_eq!(limit(doubling), Limit::Memory);
}

/// Words that make something of an expression more likely than random letters do.
fn source() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "1",
        "2.5",
        "x",
        "nums",
        "order",
        "\"a\"",
        "@\"P1D\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ".",
        "..",
        "+",
        "-",
        "*",
        "/",
        "**",
        "<",
        ">=",
        "=",
        "!=",
        "and",
        "or",
        "in",
        "between",
        "if",
        "then",
        "else",
        "for",
        "return",
        "some",
        "satisfies",
        "function",
        "instance of",
        "list",
        "date and time",
        "not",
        "abs",
        "sort",
        "?",
        "`",
        "//",
        "null",
        "true",
        "item",
        "partial",
        "é",
    ]);
    prop::collection::vec(word, 0..25).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn random_texts_never_panic(text in "\\PC{0,60}") {
        if let Ok(expression) = Expression::parse(&text, &Names::new()) {
            drop(expression.evaluate(&scope(), &settings()));
        }
        drop(UnaryTests::parse(&text, &Names::new()));
    }

    #[test]
    fn random_words_never_panic_nor_last(text in source()) {
        let limits = Limits { steps_max: 10_000, ..Limits::default() };
        let settings = Settings { limits, ..settings() };
        if let Ok(expression) = Expression::parse(&text, &Names::new()) {
            drop(expression.evaluate(&scope(), &settings));
        }
        if let Ok(tests) = UnaryTests::parse(&text, &Names::new()) {
            drop(tests.evaluate(&1_i64.into(), &scope(), &settings));
        }
    }

    #[test]
    fn values_read_back_as_they_are_written(a in -1000_i64..1000, b in ".{0,10}", c: bool) {
        let text = format!("[{a}, {c}, {{k: {a}}}]");
        prop_assert_eq!(super::value(&text), text);
        let quoted = super::value(&format!("[{:?}]", b.replace(|it: char| it.is_control(), "")));
        prop_assert_eq!(super::value(&quoted), quoted);
    }
}
