//! Built-in functions.

use super::check;

#[test]
fn strings() {
    check(&[
        ("substring(\"foobar\", -2, 1)", "a"),
        ("substring(string: \"foobar\", start position: 3)", "obar"),
        ("string length(\"💩a\")", "2"),
        ("substring before(\"foobar\", \"bar\")", "foo"),
        ("substring after(\"foobar\", \"x\")", ""),
        ("replace(\"abcd\", \"(ab)|(a)\", \"[1=$1][2=$2]\")", "[1=ab][2=]cd"),
        ("split(\"John Doe\", \"\\s\")", "[\"John\", \"Doe\"]"),
        ("string join([\"a\", null, \"c\"], \"-\")", "a-c"),
        ("matches(\"a\\nb\", \"a.b\")", "false"),
        ("matches(\"a\\nb\", \"a.b\", \"s\")", "true"),
        ("matches(\"a\", \"a\", \"q\")", "null"),
        ("extract(\"a1b22\", \"[0-9]+\")", "[\"1\", \"22\"]"),
        ("trim(\"  a \")", "a"),
        ("is blank(\" \")", "true"),
        ("to base64(\"FEEL\")", "RkVFTA=="),
        ("from base64(to base64(\"día 💩\"))", "día 💩"),
        ("upper case([\"a\"])", "A"),
        ("string({a: [1, \"x\"]})", "{a: [1, \"x\"]}"),
        ("string(null)", "null"),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("decimal(2.5, 0)", "2"),
        ("round half up(-2.5, 0)", "-3"),
        ("round half down(2.5, 0)", "2"),
        ("round up(1.121, 2)", "1.13"),
        ("floor(-1.56, 1)", "-1.6"),
        ("modulo(-10.1, 4.5)", "3.4"),
        ("sqrt(16)", "4"),
        ("exp(0)", "1"),
        ("log(1)", "0"),
        ("odd(-3)", "true"),
        ("even(1.5)", "null"),
        ("abs(@\"-P1D\")", "P1D"),
        ("number(\"1.000,5\", \".\", \",\")", "1000.5"),
        ("number(\"x\")", "null"),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("min(3, 1, 2)", "1"),
        ("max([\"a\", \"c\"])", "c"),
        ("sum([])", "null"),
        ("sum(@\"P1D\", @\"PT12H\")", "P1DT12H"),
        ("mean([1, 2])", "1.5"),
        ("median(6, 1, 2, 3)", "2.5"),
        ("mode([6, 3, 9, 6, 3])", "[3, 6]"),
        ("count(null)", "null"),
        ("sublist(nums, -2)", "[4, 5]"),
        ("append([1], 2, [3])", "[1, 2, [3]]"),
        ("concatenate([1], 2)", "[1, 2]"),
        ("insert before([1, 3], 2, 2)", "[1, 2, 3]"),
        ("remove([1, 2], -1)", "[1]"),
        ("list replace(nums, function(item, new) item > 3, 0)", "[1, 2, 3, 0, 0]"),
        ("index of([1, 2, 1], 1)", "[1, 3]"),
        ("union([1, 2], [2, 3])", "[1, 2, 3]"),
        ("duplicate values([1, 2, 1, 2, 3])", "[1, 2]"),
        ("flatten([1, [2, [3]]])", "[1, 2, 3]"),
        ("sort([3, 1, 2])", "[1, 2, 3]"),
        ("sort(order.items, function(a, b) a.price > b.price).sku", "[\"B\", \"A\"]"),
        ("partition(nums, 2)", "[[1, 2], [3, 4], [5]]"),
        ("all([true, null])", "null"),
        ("any([null, true])", "true"),
        ("is empty([])", "true"),
    ]);
}

#[test]
fn contexts() {
    check(&[
        ("get value({a: {b: 1}}, [\"a\", \"b\"])", "1"),
        ("get entries({a: 1})", "[{key: \"a\", value: 1}]"),
        ("context([{key: \"a\", value: 1}])", "{a: 1}"),
        ("context put({x: 1, y: {a: 0}}, [\"y\", \"b\"], 2)", "{x: 1, y: {a: 0, b: 2}}"),
        ("context put(context: {y: {}}, keys: [\"y\", \"b\"], value: 2)", "{y: {b: 2}}"),
        ("context put(context: {}, key: \"b\", value: 2)", "{b: 2}"),
        ("context put(context: {y: {}}, key: [\"y\", \"b\"], value: 2)", "null"),
        ("(=10) = (=10)", "true"),
        ("(=10) = [10..10]", "false"),
        ("10 in (=10)", "true"),
        ("context merge([{a: 1}, {a: 2, b: 3}])", "{a: 2, b: 3}"),
        ("put({}, \"a\", 1)", "{a: 1}"),
        ("put all({a: 1}, {b: 2})", "{a: 1, b: 2}"),
        ("to json({a: [1, @\"2024-01-01\"]})", "{\"a\":[1,\"2024-01-01\"]}"),
        ("from json(\"{\\\"a\\\": 1}\").a", "1"),
    ]);
}

#[test]
fn chance_repeats_itself_for_the_same_seed() {
    check(&[
        ("random number() < 1", "true"),
        ("string length(uuid())", "36"),
        ("substring(uuid(), 15, 1)", "4"),
        ("uuid() = uuid()", "false"),
    ]);
    assert_eq!(super::value("uuid()"), super::value("uuid()"));
}

#[test]
fn functions_can_come_from_outside() {
    use super::super::{
        Expression, FeelValue, Function, Names, Parameter, Session, Settings, Type,
    };

    let twice = Function::native(
        "twice".into(),
        vec![Parameter { name: "n".into(), of: Type::Number }],
        Type::Number,
        Box::new(|arguments: &[FeelValue], _: &mut Session<'_>| {
            let number = arguments[0].as_number().expect("it was coerced to a number");
            Ok(number.checked_add(number).ok().into())
        }),
    );
    let mut names = Names::new();
    names.add("twice");
    let scope = super::scope().with("twice".into(), twice.clone().into());
    let value = |source| {
        let expression = Expression::parse(source, &names).unwrap();
        expression.evaluate(&scope, &Settings::default()).unwrap().value.to_string()
    };
    assert_eq!(value("twice(21)"), "42");
    assert_eq!(value("twice(n: [21])"), "42");
    assert_eq!(value("twice(\"x\")"), "null");
    assert_eq!(value("for i in nums return twice(i)"), "[2, 4, 6, 8, 10]");
    let settings = Settings::default();
    let called = twice.call(vec![4_i64.into()], &mut Session::new(&settings));
    assert_eq!(called.unwrap(), 8_i64.into());
}
