use travertine_value::{EvalError, Limits, Map, Value};

use super::*;

fn variables(json: &str) -> Map {
    match Value::parse_json(json) {
        Ok(Value::Map(map)) => Arc::unwrap_or_clone(map),
        other => panic!("{other:?}"),
    }
}

fn value(source: &str, json: &str) -> Result<Value, EvalError> {
    let program = Fleans.compile(Kind::Expression, source).expect(source);
    program.value(&variables(json), &Limits::default())
}

fn json(source: &str, variables: &str) -> String {
    value(source, variables).map_or_else(|error| error.to_string(), |it| it.to_string())
}

#[test]
fn expressions_give_what_csharp_gives() {
    for (source, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("7.0 / 2", "3.5"),
        ("7m / 2", "3.5"),
        ("\"a\" + 1", "\"a1\""),
        ("1 + 'b'", "\"1b\""),
        ("'a' + true + null", "\"aTrue\""),
        (r#""say \"hi\" \\""#, r#""say \"hi\" \\""#),
        ("1 < 2 && !(2 >= 3)", "true"),
        ("1 == 1.0 || false", "true"),
        ("'a' == 'a' ? 1 : 2", "1"),
        ("false ? 1 : true ? 2 : 3", "2"),
        ("null ?? 4", "4"),
        ("missing ?? other ?? 5", "5"),
        ("_context.missing == null", "true"),
        ("null != x", "true"),
        ("_context.order.total + 1", "41"),
        ("order.missing ?? 'none'", "\"none\""),
        ("x > 5", "true"),
        ("${x > 5}", "true"),
        ("${x} > 5 && ${flag}", "true"),
        ("new List<object> { 1, 'a' }", "[1,\"a\"]"),
        ("new[] { 1, 2 }", "[1,2]"),
        ("new List<object>()", "[]"),
        ("Math.Max(1, 2) + Math.Floor(2.7)", "4"),
        ("Math.Round(2.345, 2)", "2.34"),
        ("Math.Pow(2, 10)", "1024"),
        ("Math.Exp(0) + Math.Log(1)", "1"),
        ("Math.Log10(1000) + Math.Log(8, 2)", "6"),
        ("Math.Cbrt(-27)", "-3"),
        ("Math.Clamp(7, 1, 5)", "5"),
        ("Math.Floor(Math.PI * 100)", "314"),
        ("Math.E > 2.7 && Math.E < 2.8", "true"),
        ("System.Math.Max(1, 2)", "2"),
        ("${order}.total + ${ order.total }", "80"),
        ("-x", "-6"),
        ("+x - +1", "5"),
        ("1e3 + 2.5E-1", "1000.25"),
        ("5e0 / 2", "2.5"),
        ("new System.Collections.Generic.List<System.Object> { 1, 2, }", "[1,2]"),
        ("/* so */ 1 // and so", "1"),
    ] {
        let variables = r#"{"x": 6, "flag": true, "order": {"total": 40}}"#;
        assert_eq!(
            json(source, variables).replace(", ", ","),
            expected.replace(", ", ","),
            "{source}"
        );
    }
}

#[test]
fn what_fails_has_the_code_500() {
    for source in [
        "missing + 1",
        "1 / 0",
        "1 % 0",
        "1 && true",
        "'a' < 'b'",
        "!1",
        "order.total > 1",
        "Math.Clamp(1, 5, 2)",
        "Math.Log(-1)",
    ] {
        match value(source, r#"{"order": {}}"#) {
            Err(EvalError::Thrown { code, .. }) => assert_eq!(code, "500", "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn scripts_write_all_or_nothing() {
    let run = |source: &str| {
        let program = Fleans.compile(Kind::Script, source).expect(source);
        program.run(&variables(r#"{"x": 6}"#), &Limits::default())
    };
    let outcome =
        run("_context.y = x + 1; z = ${y} * 2;\n${w} = 'a;b'; Console.WriteLine(\"hi\"); \
             System.Console.Write(x)")
        .unwrap();
    let writes: Vec<_> = outcome
        .writes
        .iter()
        .map(|(name, value)| format!("{name}={}", value.clone().unwrap()))
        .collect();
    assert_eq!(writes, ["y=7", "z=14", "w=\"a;b\""]);
    let thrown = |source: &str| match run(source) {
        Err(EvalError::Thrown { code, message }) => (code, message),
        other => panic!("{source}: {other:?}"),
    };
    let is = |code: &str, message: &str| (code.to_owned(), message.to_owned());
    assert_eq!(thrown("_context.y = 1; throw new Exception(\"no\")"), is("500", "no"));
    assert_eq!(thrown("throw new Some.CustomActivityException(\"E1\", \"why\");"), is("E1", "why"));
    assert_eq!(thrown("if (x > 5) throw new Exception('x')"), is("500", "x"));
    assert_eq!(thrown("if (x > 5) { throw new Exception('x'); }"), is("500", "x"));
    assert!(run("if (x > 9) throw new Exception('x'); y = 1").is_ok());
    assert!(run("").is_ok());
}

#[test]
fn everything_else_is_rejected_with_its_place() {
    for (kind, source, line, column) in [
        (Kind::Expression, "x +", 1, 4),
        (Kind::Expression, "foo(1)", 1, 1),
        (Kind::Expression, "a[0]", 1, 1),
        (Kind::Expression, "Math.Sinus(1)", 1, 6),
        (Kind::Expression, "new Thing()", 1, 1),
        (Kind::Expression, "Math.Max(1, 2,)", 1, 15),
        (Kind::Expression, "${x + 1}.y", 1, 9),
        (Kind::Expression, "x # 1", 1, 3),
        (Kind::Expression, "'open", 1, 1),
        (Kind::Script, "for (;;) x = 1", 1, 1),
        (Kind::Script, "y = 1;\n  x.Add(2)", 2, 3),
        (Kind::Script, "if (x) y = 1", 1, 8),
        (Kind::Script, "y = 1 z = 2", 1, 7),
    ] {
        let error = Fleans.compile(kind, source).expect_err(source);
        assert_eq!((error.line, error.column), (line, column), "{source}: {error}");
    }
    let deep = "(".repeat(10_000);
    assert!(Fleans.compile(Kind::Expression, &deep).is_err());
    let long = vec!["1"; 10_000].join("+");
    assert!(Fleans.compile(Kind::Expression, &long).is_err());
}

#[test]
fn a_program_knows_what_it_reads() {
    let program = Fleans.compile(Kind::Expression, "_context.a.b > c && ${a}").unwrap();
    let names: Vec<_> = program.reads().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a", "c"]);
}
