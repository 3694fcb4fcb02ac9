//! Unary tests, as they stand in decision tables.

use super::{
    super::{FeelValue, Names, UnaryTests},
    scope, settings, value,
};

fn passes(tests: &str, input: impl Into<FeelValue>) -> String {
    let tests = UnaryTests::parse(tests, &Names::new()).unwrap();
    tests.evaluate(&input.into(), &scope(), &settings()).unwrap().value.to_string()
}

#[test]
fn tests_compare_the_input() {
    for (tests, input, expected) in [
        ("-", 1, "true"),
        ("", 1, "true"),
        ("5", 5, "true"),
        ("< 10", 5, "true"),
        ("[1..5)", 5, "false"),
        ("(1..5], 9", 9, "true"),
        ("not(1, [3..4])", 2, "true"),
        ("not([3..5))", 4, "false"),
        ("? > 3 and ? < 9", 5, "true"),
        ("> x", 6, "true"),
        ("nums", 3, "true"),
        ("x - 2, a + b", 3, "true"),
        ("not(a) or true", 3, "true"),
        ("odd(?)", 3, "true"),
        ("x > 3", 99, "true"),
        ("-5", -5, "true"),
    ] {
        assert_eq!(passes(tests, i64::from(input)), expected, "{tests} of {input}");
    }
    assert_eq!(passes("\"a\", \"b\"", "b"), "true");
    assert_eq!(passes("not(\"a\", \"b\")", "c"), "true");
    assert_eq!(passes("< 10", "x"), "null");
    assert_eq!(passes("null", FeelValue::Null), "true");
    assert_eq!(passes("date(\"2024-01-01\")", FeelValue::Null), "false");
    assert_eq!(passes("false", false), "true");
    assert_eq!(passes("? = null", FeelValue::Null), "true");
}

#[test]
fn ranges_know_how_they_lie() {
    for (source, expected) in [
        ("before([1..10), [10..20])", "true"),
        ("meets([1..5], [5..10])", "true"),
        ("overlaps([1..5), [5..8])", "false"),
        ("overlaps before([1..5], (1..5])", "true"),
        ("finishes([5..10), [1..10))", "true"),
        ("includes([1..10], [1..10))", "true"),
        ("during(1, (1..10])", "false"),
        ("started by([1..10], 1)", "true"),
        ("coincides((1..5), [1..5])", "false"),
        ("[3..1]", "null"),
        ("range(\"[1..3]\") = [1..3]", "true"),
        ("range(\"[x..3]\")", "null"),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
}
