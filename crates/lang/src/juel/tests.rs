//! What expressions mean, and what they may not do.

use proptest::prelude::*;
use travertine_value::{
    EvalError, Fact, Limit, Limits, Map, Name, Outcome, Program, Value, Variables, time::Timestamp,
};

use crate::CompileError;

use super::*;

fn compile(source: &str) -> Result<Program, CompileError> {
    Juel.compile(Kind::Expression, source)
}

fn variables() -> Map {
    let variables = Value::parse_json(
        r#"{
            "amount": 120, "rate": 0.1, "name": "Ada", "numeral": "7", "yes": "true", "flag": true,
            "nothing": null, "blank": "", "none": [], "list": [10, "b", null],
            "order": { "total": 99.5, "lines": [ { "sku": "x" } ], "empty": 1 }
        }"#,
    );
    variables.unwrap().as_map().unwrap().clone()
}

fn run(source: &str) -> Result<Outcome, EvalError> {
    compile(source).unwrap().run(&variables(), &Limits::default())
}

/// The value of an expression as JSON, or what is wrong with it.
fn answer(expression: &str) -> String {
    match compile_bare(expression).map(|it| it.value(&variables(), &Limits::default())) {
        Ok(Ok(value)) => value.to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

fn answers(table: &[(&str, &str)]) {
    for (expression, expected) in table {
        assert_eq!(answer(expression), *expected, "{expression}");
    }
}

#[test]
fn a_single_expression_keeps_its_type() {
    assert_eq!(run("${amount}").unwrap().value, Value::from(120));
    assert_eq!(run("#{order.lines}").unwrap().value.to_string(), r#"[{"sku":"x"}]"#);
    assert_eq!(run("\n  ${amount > 100}\n").unwrap().value, Value::from(true));
}

#[test]
fn text_around_expressions_makes_a_text() {
    assert_eq!(run("Dear ${name}, ${amount} EUR").unwrap().value, "Dear Ada, 120 EUR".into());
    assert_eq!(run("${name}${nothing}${flag}").unwrap().value, "Adatrue".into());
    assert_eq!(run("list: ${list}").unwrap().value, r#"list: [10,"b",null]"#.into());
}

#[test]
fn text_without_braces_is_itself() {
    for text in ["", "plain", " 5 ", "$5 #1 {x} \\n", "a } b"] {
        assert_eq!(run(text).unwrap().value, text.into());
    }
    assert_eq!(run(r"\${name} and \#{x}").unwrap().value, "${name} and #{x}".into());
}

#[test]
fn a_brace_within_quotes_does_not_end_the_expression() {
    assert_eq!(run("<${'}'}>").unwrap().value, "<}>".into());
}

#[test]
fn operators_bind_as_usual() {
    answers(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 3 - 2", "5"),
        ("7 / 2", "3.5"),
        ("7 div 2", "3.5"),
        ("7 % 4", "3"),
        ("7 mod 4 * 2", "6"),
        ("-amount + 1", "-119"),
        ("- - 1", "1"),
        ("2 < 3 == true", "true"),
        ("true or false and false", "true"),
        ("true || false && false", "true"),
        ("not true or true", "true"),
        ("!flag", "false"),
        ("1 lt 2 and 2 gt 1 and 1 le 1 and 1 ge 1 and 1 eq 1 and 1 ne 2", "true"),
        ("false ? 1 : true ? 2 : 3", "2"),
        ("amount > 100 ? 'big' : 'small'", "\"big\""),
        ("1 - -1", "2"),
    ]);
}

#[test]
fn numbers_are_exact() {
    answers(&[
        ("0.1 + 0.2 == 0.3", "true"),
        ("amount * rate", "12"),
        ("9007199254740993 + 0", "9007199254740993"),
        ("1e3 + .5", "1000.5"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        (
            "12345678901234567890123456789012345",
            "a number has at most 34 significant digits (line 1, column 1)",
        ),
    ]);
}

#[test]
fn texts_that_look_like_numbers_or_booleans_are_taken_as_such() {
    answers(&[
        ("'1' + 2", "3"),
        ("numeral * 2", "14"),
        ("numeral == 7", "true"),
        ("numeral > 6.5", "true"),
        ("yes and flag", "true"),
        ("yes == true", "true"),
        ("name == true", "false"),
        ("name + 1", "not a number: 'Ada'"),
        ("name and flag", "not a boolean: 'Ada'"),
        ("list + 1", "a list is not a number"),
        ("flag + 1", "a boolean is not a number"),
        ("amount ? 1 : 2", "a number is not a boolean"),
        ("nothing + 1", "1"),
    ]);
}

#[test]
fn null_compares_as_in_java() {
    answers(&[
        ("null == null", "true"),
        ("nothing == null", "true"),
        ("nothing != null", "false"),
        ("name == null", "false"),
        ("nothing < 1", "false"),
        ("nothing > 1", "false"),
        ("nothing >= 1", "false"),
        ("nothing <= null", "true"),
        ("not nothing", "true"),
    ]);
}

#[test]
fn texts_are_ordered_and_other_things_are_not() {
    answers(&[
        ("'a' < 'b'", "true"),
        ("name == 'Ada'", "true"),
        ("flag < true", "a boolean and a boolean have no order"),
        ("list < none", "a list and a list have no order"),
    ]);
}

#[test]
fn paths_go_into_objects_and_lists() {
    answers(&[
        ("order.total", "99.5"),
        ("order['total']", "99.5"),
        ("order.lines[0].sku", "\"x\""),
        ("order.lines['0'].sku", "\"x\""),
        ("order.empty", "1"),
        ("order.missing", "null"),
        ("order.missing.deeper", "null"),
        ("list[9]", "null"),
        ("list[-1]", "null"),
        ("name.first", "a text has no field first"),
    ]);
}

#[test]
fn an_unknown_variable_is_an_error_unless_one_asks_for_it() {
    answers(&[
        ("x == 1", "unknown variable: x"),
        ("x.y", "unknown variable: x"),
        ("empty x", "true"),
        ("empty x.y", "true"),
        ("not empty(x)", "false"),
        ("execution.getVariable('x')", "null"),
        ("execution.hasVariable('x')", "false"),
        ("execution.hasVariable('nothing')", "true"),
        ("execution.getVariable('order').total", "99.5"),
        ("flag or x", "true"),
    ]);
}

#[test]
fn empty_means_nothing_inside() {
    answers(&[
        ("empty nothing", "true"),
        ("empty blank", "true"),
        ("empty none", "true"),
        ("empty list", "false"),
        ("empty 0", "false"),
        ("empty order.missing", "true"),
        ("!empty name && name.length() == 3", "true"),
    ]);
}

#[test]
fn common_methods_work() {
    answers(&[
        ("list.contains('b')", "true"),
        ("list.contains(10.0)", "true"),
        ("name.contains('d')", "true"),
        ("list.size()", "3"),
        ("order.size()", "3"),
        ("order.containsKey('total')", "true"),
        ("name.length()", "3"),
        ("none.isEmpty()", "true"),
        ("name.equals('Ada')", "true"),
        ("name.startsWith('A')", "true"),
        ("name.endsWith('x')", "false"),
        ("name.toUpperCase()", "\"ADA\""),
        ("name.toLowerCase().indexOf('a')", "0"),
        ("'näh'.indexOf('h')", "2"),
        ("list.indexOf('z')", "-1"),
        ("list.get(1)", "\"b\""),
        ("order.get('total')", "99.5"),
        ("name.substring(1)", "\"da\""),
        ("name.substring(0, 1)", "\"A\""),
        ("' x '.trim()", "\"x\""),
        ("amount.toString()", "\"120\""),
        ("none.get(0)", "the index is out of range: 0"),
        ("list.get(3)", "the index is out of range: 3"),
        ("name.substring(4)", "the index is out of range: 4"),
        ("name.substring(2, 1)", "the index is out of range: 2"),
        ("nothing.size()", "null has no method size"),
        ("amount.length()", "a number has no method length"),
    ]);
}

#[test]
fn quotes_and_escapes() {
    answers(&[
        (r"'it\'s'", "\"it's\""),
        (r#""say \"hi\"\n""#, r#""say \"hi\"\n""#),
        (r"'a\x'", r"unknown escape: \x (line 1, column 3)"),
        ("'open", "the text in quotes does not end (line 1, column 1)"),
    ]);
}

#[test]
fn set_variable_is_a_write_that_the_run_itself_sees() {
    let outcome = run("${execution.setVariable('x', amount + 1)}${x}").unwrap();
    assert_eq!(outcome.value, "121".into());
    assert_eq!(outcome.writes, [("x".into(), Some(Value::from(121)))]);
    let outcome = run("${execution.removeVariable('name')}${empty name}").unwrap();
    assert_eq!(outcome.value, "true".into());
    assert_eq!(outcome.writes, [("name".into(), None)]);
}

#[test]
fn what_cannot_work_is_refused_when_compiling() {
    answers(&[
        (
            "today()",
            "there is no function today(): only now() and dateTime() are there (line 1, column 1)",
        ),
        ("fn:length(name)", "unknown function prefix: fn (line 1, column 1)"),
        (
            "bean.doIt(1)",
            "there is no method doIt(): values have no methods but Java's everyday ones, and beans of a Java application are not here (line 1, column 6)",
        ),
        (
            "name.getClass().forName('x')",
            "there is no method getClass(): values have no methods but Java's everyday ones, and beans of a Java application are not here (line 1, column 6)",
        ),
        ("name.length(1)", "wrong number of arguments: length (line 1, column 6)"),
        (
            "execution.getEngine()",
            "execution has no getEngine outside of Camunda's Java API (line 1, column 11)",
        ),
        (
            "execution.setVariable('x')",
            "wrong number of arguments: setVariable (line 1, column 11)",
        ),
        ("execution", "execution can only be asked: execution.getVariable('x') (line 1, column 1)"),
        ("1 +", "the expression does not end (line 1, column 4)"),
        ("", "the expression does not end (line 1, column 1)"),
        ("a\n  b", "unexpected b (line 2, column 3)"),
        ("a = 1", "unexpected = (line 1, column 3)"),
        ("(1", "the expression does not end (line 1, column 3)"),
        ("a[1", "the expression does not end (line 1, column 4)"),
        ("a.", "the expression does not end (line 1, column 3)"),
        ("1 ? 2", "the expression does not end (line 1, column 6)"),
        ("a & b", "unexpected character: & (line 1, column 3)"),
        ("a instanceof b", "unexpected instanceof (line 1, column 3)"),
    ]);
    for (text, expected) in [
        ("x ${1 + } y", "unexpected } (line 1, column 9)"),
        ("${", "the expression does not end (line 1, column 3)"),
        ("${}", "unexpected } (line 1, column 3)"),
        ("a\n${b", "the expression does not end (line 2, column 4)"),
    ] {
        assert_eq!(compile(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn reads_are_known_unless_a_name_is_computed() {
    let reads = |source| compile(source).unwrap().reads().map(|it| it.join(" "));
    assert_eq!(reads("${a.b > c[d] && a == 1} ${execution.getVariable('e')}").unwrap(), "a c d e");
    assert_eq!(reads("plain").unwrap(), "");
    assert_eq!(reads("${execution.getVariable(a)}"), None);
}

#[test]
fn absurd_nesting_is_a_compile_error() {
    for (open, close) in [
        ("(", ")"),
        ("!", ""),
        ("- ", ""),
        ("empty ", ""),
        ("a[", "]"),
        ("a ? ", ": 1"),
        ("a ? 1 : ", ""),
        ("a.get(", ")"),
    ] {
        let source = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let error = compile_bare(&source).unwrap_err();
        assert_eq!(error.message, "nested deeper than 100", "{open}");
    }
}

#[test]
fn long_chains_are_not_deep() {
    let source = format!("1{}", " + 1".repeat(100_000));
    assert_eq!(answer(&source), "100001");
    let source = format!("order{}", ".x".repeat(100_000));
    assert_eq!(answer(&source), "null");
}

#[test]
fn a_run_is_bounded() {
    let limited = |source: &str, limits: Limits| {
        compile(source).unwrap().value(&variables(), &limits).unwrap_err()
    };
    let steps = Limits { steps_max: 3, ..Limits::default() };
    assert_eq!(limited("${1 + 1 + 1 + 1}", steps), EvalError::Limit(Limit::Steps));
    let depth = Limits { depth_max: 3, ..Limits::default() };
    assert_eq!(limited("${-(-(-(1)))}", depth), EvalError::Limit(Limit::Depth));
    let memory = Limits { memory_bytes_max: 10, ..Limits::default() };
    assert_eq!(limited("${list} and ${order}", memory), EvalError::Limit(Limit::Memory));
}

proptest! {
    #[test]
    fn no_text_makes_the_compiler_panic(text in r#"[${}#()\[\].,?:!<>=&|+*/%'"\\ a-ceé0-9\n-]{0,40}"#) {
        for program in [compile(&text), compile_bare(&text)].into_iter().flatten() {
            let _ = program.value(&variables(), &Limits::default());
        }
    }
}

/// Variables at a time, in an instance.
struct Somewhere(Map);

impl Variables for Somewhere {
    fn get(&self, name: &str) -> Option<Value> {
        Variables::get(&self.0, name)
    }

    fn names(&self) -> Vec<Name> {
        self.0.names()
    }

    fn fact(&self, fact: Fact) -> Option<Name> {
        (fact != Fact::ElementName).then(|| format!("{fact:?}").into())
    }

    fn now(&self) -> Option<Timestamp> {
        Some(Timestamp::from_millis(1_706_659_200_000))
    }
}

#[test]
fn the_everyday_words_of_camunda_7_are_there() {
    let here = Somewhere(Map::from_iter([(Name::from("days"), Value::from(2_i64))]));
    for (text, value) in [
        ("${now()}", "\"2024-01-31T00:00:00Z\""),
        ("${dateTime()}", "\"2024-01-31T00:00:00Z\""),
        ("${dateTime().plusMonths(1).toDate()}", "\"2024-02-29T00:00:00Z\""),
        ("${dateTime().plusDays(days).minusHours(1)}", "\"2024-02-01T23:00:00Z\""),
        ("${execution.id}", "\"Instance\""),
        ("${execution.processInstanceId}", "\"Instance\""),
        ("${execution.getProcessInstanceId()}", "\"Instance\""),
        ("${execution.processBusinessKey}", "\"BusinessKey\""),
        ("${execution.getBusinessKey()}", "\"BusinessKey\""),
        ("${execution.currentActivityId}", "\"Element\""),
        ("${execution.currentActivityName}", "null"),
        ("Order ${execution.businessKey}", "\"Order BusinessKey\""),
        ("${execution.getVariable('days') + 1}", "3"),
    ] {
        let program = Juel.compile(Kind::Expression, text).unwrap();
        let found = program.value(&here, &Limits::default()).map(|it| it.to_string());
        assert_eq!(found.as_deref(), Ok(value), "{text}");
    }
    let now = Juel.compile(Kind::Expression, "${now()}").unwrap();
    let error = now.value(&Map::new(), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no clock here");
    assert!(Juel.compile(Kind::Expression, "${bean.call()}").unwrap_err().foreign);
    assert!(!Juel.compile(Kind::Expression, "${1 +}").unwrap_err().foreign);
}
