//! Operators.

use super::{check, value};

#[test]
fn arithmetic_is_exact_and_binds_as_the_standard_says() {
    check(&[
        ("0.1 + 0.2", "0.3"),
        ("1 + 2 * 3", "7"),
        ("-5 ** 2", "25"),
        ("3 ** 4 ** 2", "6561"),
        ("2 ** -2", "0.25"),
        ("10 - 2 - 3", "5"),
        ("-10--5", "-5"),
        ("1 / 3", "0.3333333333333333333333333333333333"),
        ("1 / 0", "null"),
        ("\"a\" + \"b\"", "ab"),
        ("\"a\" + 1", "null"),
        ("[2] ** 4", "null"),
    ]);
}

#[test]
fn logic_has_three_values() {
    check(&[
        ("true and null", "null"),
        ("false and null", "false"),
        ("null or true", "true"),
        ("null or false", "null"),
        ("123 and false", "false"),
        ("not(null)", "null"),
    ]);
}

#[test]
fn only_like_is_compared_with_like() {
    check(&[
        ("1 = 1.0", "true"),
        ("1 = \"1\"", "null"),
        ("null = null", "true"),
        ("1 = null", "false"),
        ("1 < null", "null"),
        ("[1, 2] = [1, 2]", "true"),
        ("{a: 1, b: 2} = {b: 2, a: 1}", "true"),
        ("\"b\" between \"a\" and \"c\"", "true"),
        ("true = 1", "null"),
    ]);
}

#[test]
fn in_asks_for_ranges_lists_and_comparisons() {
    check(&[
        ("1 in [2, 3, 1]", "true"),
        ("1 in (2..4)", "false"),
        ("2 in [2..4)", "true"),
        ("2 in ]2..4]", "false"),
        ("4 in [2..4[", "false"),
        ("5 in (1, < 3, >= 5)", "true"),
        ("5 in > 3", "true"),
        ("1 in [[2..4], [1..3]]", "true"),
        ("[1, 2] in [[1, 2], [3]]", "true"),
        ("null in [1..10]", "null"),
        ("x in (a + b, 5)", "true"),
    ]);
}

#[test]
fn long_rows_of_operators_are_wide_and_not_deep() {
    let sum = vec!["1"; 20_000].join(" + ");
    assert_eq!(value(&sum), "20000");
    let or = vec!["false"; 20_000].join(" or ");
    assert_eq!(value(&or), "false");
    let choices = "if x = 0 then 0 else ".repeat(5_000) + "7";
    assert_eq!(value(&choices), "7");
}
