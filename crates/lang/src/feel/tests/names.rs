//! Names with spaces and operators in them, and names that built-in functions have too.

use super::{
    super::{Context, Expression, Names, Settings, Type},
    check, syntax_error,
};

fn with_names(source: &str, names: &[&str]) -> String {
    let mut known = Names::new();
    let mut scope = Context::default();
    for (index, name) in names.iter().enumerate() {
        known.add(name);
        scope = scope.with((*name).into(), (index + 1).into());
    }
    let expression = Expression::parse(source, &known).unwrap();
    expression.evaluate(&scope, &Settings::default()).unwrap().value.to_string()
}

#[test]
fn unknown_names_do_not_swallow_operators() {
    check(&[
        ("unknown + 1", "null"),
        ("a < b and b < x", "true"),
        ("x-a", "4"),
        ("a in [1..b]", "true"),
    ]);
}

#[test]
fn the_longest_known_name_wins() {
    let names = ["rate", "monthly rate", "debt-to-income", "days in weekend", "debt"];
    assert_eq!(with_names("monthly rate * 2 + rate", &names), "5");
    assert_eq!(with_names("debt-to-income + debt - rate", &names), "7");
    assert_eq!(with_names("for i in days in weekend return i", &names), "[4]");
    assert_eq!(with_names("monthly   rate", &names), "2");
}

#[test]
fn variables_do_not_break_functions_of_the_same_name() {
    check(&[
        ("list contains(nums, 2)", "true"),
        ("list[1]", "7"),
        ("date(\"2024-01-01\")", "2024-01-01"),
        ("date", "d"),
        ("{date: 5, r: date(\"2024-01-01\")}.r", "2024-01-01"),
        ("{abs: function(n) 7, r: abs(1)}.r", "7"),
        ("count", "function count"),
    ]);
    assert_eq!(with_names("string length(\"abc\") + string", &["string"]), "4");
    assert_eq!(with_names("date(\"2024-01-01\")", &["date"]), "2024-01-01");
}

#[test]
fn components_of_types_have_names_too() {
    let mut names = Names::new();
    names.add("employees");
    let entries = vec![("full name".into(), Type::String), ("age".into(), Type::Number)];
    names.add_type("Employee", Type::Context(entries.into()));
    for source in ["employees[full name = \"x\"].age", "employees.full name"] {
        let expression = Expression::parse(source, &names).unwrap();
        assert!(expression.problems().is_empty(), "{source}");
    }
    assert_eq!(
        Type::parse("list<Employee>", &names).unwrap().to_string(),
        "list<context<full name: string, age: number>>"
    );
}

#[test]
fn a_name_of_two_words_that_nobody_knows_is_explained() {
    assert_eq!(
        syntax_error("1 + full name"),
        "expected the end, found 'name'; a name with spaces stands in backticks: `full name` \
         (line 1, column 10)"
    );
    check(&[("{`a b`: 1}.`a b`", "1"), ("`unknown thing` = null", "true")]);
}

#[test]
fn it_is_known_what_an_expression_reads() {
    let source = "for i in items return {k: i.a + total, r: k}.r + `my var`";
    let expression = Expression::parse(source, &Names::new()).unwrap();
    let reads: Vec<&str> = expression.reads().iter().map(|it| &**it).collect();
    assert_eq!(reads, ["items", "total", "my var"]);
    let expression = Expression::parse("items[price > limit] + limit", &Names::new()).unwrap();
    let needs: Vec<&str> = expression.needs().iter().map(|it| &**it).collect();
    assert_eq!(needs, ["items", "limit"]);
}
