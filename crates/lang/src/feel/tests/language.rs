//! Lists, contexts, loops, functions and types.

use super::check;

#[test]
fn filters_choose_by_position_or_condition() {
    check(&[
        ("nums[1]", "1"),
        ("nums[-1]", "5"),
        ("nums[9]", "null"),
        ("nums[item > 3]", "[4, 5]"),
        ("nums[x]", "5"),
        ("nums[a + 1]", "2"),
        ("order.items[qty > 1].sku", "[\"A\"]"),
        ("order.items[price > x * 10][1].sku", "B"),
        ("order.items[item.qty = 1].sku", "[\"B\"]"),
        ("order.items[sku = name]", "[]"),
        ("100[1]", "100"),
        ("[{item: 1}, {item: 2}][item >= 2]", "[{item: 2}]"),
        ("[[1, 2], [3]][count(item) > 1]", "[[1, 2]]"),
        ("order.items[count(nums[item > qty]) > 3].sku", "[\"B\"]"),
    ]);
}

#[test]
fn contexts_see_their_earlier_entries() {
    check(&[
        ("{a: 1, b: a + 1}.b", "2"),
        ("{foo bar: 1, c: foo bar + 1}.c", "2"),
        ("{a: {b: [1, 2]}}.a.b[2]", "2"),
        ("{\"x y\": 1}.`x y`", "1"),
        ("{a: 1, a: 2}", "null"),
        ("[{x: 1}, {y: 2}].y", "[null, 2]"),
    ]);
}

#[test]
fn loops_go_over_lists_ranges_and_each_other() {
    check(&[
        ("for i in [1, 2] return i + 1", "[2, 3]"),
        ("for i in 3..1 return i", "[3, 2, 1]"),
        ("for i in [1..3) return i", "[1, 2]"),
        ("for i in [1, 2], j in [i, 3] return i * j", "[1, 3, 4, 6]"),
        ("for i in 0..4 return if i = 0 then 1 else i * partial[-1]", "[1, 1, 2, 6, 24]"),
        ("for i in @\"2024-02-28\"..@\"2024-03-01\" return i.day", "[28, 29, 1]"),
        ("for i in null return i", "null"),
        ("some i in nums satisfies i > 4", "true"),
        ("every i in nums, j in nums satisfies i + j > 2", "false"),
        ("every i in [] satisfies false", "true"),
        ("for the item in nums return the item * 2", "[2, 4, 6, 8, 10]"),
    ]);
}

#[test]
fn functions_take_along_what_they_name() {
    check(&[
        ("(function(n) n * x)(3)", "15"),
        ("{f: function(n) n * 2, r: f(21)}.r", "42"),
        ("{f: function(n) if n < 2 then 1 else n * f(n - 1), r: f(10)}.r", "3628800"),
        ("{k: 10, add: function(a) function(b) a + b + k, r: add(1)(2)}.r", "13"),
        ("{f: function(a: number, b) [a, b], r: f(b: 1, a: 2)}.r", "[2, 1]"),
        ("{f: function(a: number) a, r: f(\"x\")}.r", "null"),
        ("(function(a) a)(1, 2)", "null"),
        ("sort(nums, function(p, q) p > q)", "[5, 4, 3, 2, 1]"),
        ("for f in [abs, sqrt] return f(4)", "[4, 2]"),
        ("(function(a) external {java: {class: \"x\", method signature: \"y()\"}})(1)", "null"),
    ]);
}

#[test]
fn types_are_asked_for() {
    check(&[
        ("1 instance of number", "true"),
        ("null instance of Any", "false"),
        ("[1, 2] instance of list<number>", "true"),
        ("[1, \"a\"] instance of list<number>", "false"),
        ("{a: 1, b: 2} instance of context<a: number>", "true"),
        ("@\"P1D\" instance of days and time duration", "true"),
        ("@\"2024-01-01T00:00:00\" instance of date and time and true", "true"),
        ("[1..2] instance of range<number>", "true"),
        ("(function(a) a) instance of function<Any> -> Any", "true"),
        ("sqrt instance of function<number> -> number", "true"),
        ("sqrt instance of function<number, number> -> number", "false"),
        ("1 instance of something", "false"),
    ]);
}

#[test]
fn literals_are_read_as_written() {
    check(&[
        (".5", "0.5"),
        ("1.2e3", "1200"),
        ("\"\\u0041\\U01F40E\\n\" = \"A🐎\n\"", "true"),
        ("@\"2024-03-10\" = date(\"2024-03-10\")", "true"),
        ("/* one */ 1 + // two\n 2", "3"),
        ("[1..2].end included", "true"),
        ("{}", "{}"),
    ]);
}
