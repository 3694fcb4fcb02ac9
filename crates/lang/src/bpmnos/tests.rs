use std::collections::BTreeMap;

use travertine_value::Value;

use super::{Assignment, Choice, Fault, Formula, Options, Surroundings};

struct Names(BTreeMap<&'static str, Value>);

impl Surroundings for Names {
    fn read(&mut self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
        match (name, arguments) {
            ("price", [Value::String(of)]) if &**of == "lamp" => Ok(30.into()),
            _ => Err(Fault(format!("{name} has no such key"))),
        }
    }
}

fn names() -> Names {
    let list = |text| Value::parse_json(text).unwrap();
    Names(BTreeMap::from([
        ("x", 5.into()),
        ("y", 2.into()),
        ("yes", true.into()),
        ("who", "Ann".into()),
        ("c", list("[3, 1, 2]")),
        ("pairs", list("[[1, 2], [3, 4]]")),
    ]))
}

fn worth(source: &str) -> String {
    match Formula::parse(source) {
        Err(error) => format!("{}:{} {}", error.line, error.column, error.message),
        Ok(formula) => match formula.value(&mut names()) {
            Ok(value) => value.to_json(),
            Err(fault) => format!("fault: {fault}"),
        },
    }
}

#[test]
fn every_level_binds_as_it_should() {
    for (source, expected) in [
        ("1 + 2 * 3", "7"),
        ("2 * 3 ^ 2", "18"),
        ("-x²", "-25"),
        ("2³ / 4", "2"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("!yes", "0"),
        ("¬(x > 9)", "1"),
        ("(x > 1) and (y > 1)", "1"),
        ("(x > 9) or (y > 1)", "1"),
        ("(x > 9) ∨ (y > 1) ∧ (x ≥ 5)", "1"),
        // `and` binds more tightly than a comparison: 5 > (1 and 2).
        ("x > 1 and y", "1"),
        ("1 and 0 + 1", "1"),
        ("if x > 3 then 1 else 2", "1"),
        ("(x > 9) ? 1 : y", "2"),
        ("x < 3 ? 10 : 20", "1"),
        ("(x < 3) ? 10 : (x < 9) ? 20 : 30", "20"),
        ("x ≠ 5", "0"),
        ("x in {1, 5}", "1"),
        ("x not in [1, 5]", "0"),
        ("x ∉ c", "1"),
        ("c[1] + c[3]", "5"),
        ("pairs[2][1]", "3"),
        ("who == \"Ann\"", "1"),
        ("who == \"Bob\"", "0"),
        ("true + true", "2"),
        ("[1, x]", "[1,5]"),
        ("0.1 + 0.2 == 0.3", "1"),
    ] {
        assert_eq!(worth(source), expected, "{source}");
    }
}

#[test]
fn functions_are_over_values_or_one_collection() {
    for (source, expected) in [
        ("abs(-3)", "3"),
        ("pow(2, 10)", "1024"),
        ("sqrt(16) + √9", "7"),
        ("cbrt(27) + ∛(8)", "5"),
        ("sum(c)", "6"),
        ("∑{1, 2, x}", "8"),
        ("∑c", "6"),
        ("avg{1, 2}", "1.5"),
        ("count(c)", "3"),
        ("min{x, y}", "2"),
        ("max(c)", "3"),
        ("{m in c | m > 1}", "[3,2]"),
        ("count{m in c | m > y}", "1"),
        ("sum({m in c | (m > 1) and (m < x)})", "5"),
        ("price(\"lamp\") * 2", "60"),
        ("price{\"lamp\"}", "30"),
        ("count({m in c | m > 9})", "0"),
    ] {
        assert_eq!(worth(source), expected, "{source}");
    }
}

#[test]
fn what_cannot_be_worked_out_is_a_fault() {
    for source in [
        "1 / 0",
        "c[0]",
        "c[4]",
        "price(\"sofa\")",
        "max({m in c | m > 9})",
        "avg({m in c | m > 9})",
        "who + 1",
        "x[1]",
        "[1, \"a\"]",
        "abs(1, 2)",
    ] {
        assert!(worth(source).starts_with("fault: "), "{source}: {}", worth(source));
    }
}

#[test]
fn what_is_no_formula_is_named_with_its_place() {
    for (source, expected) in [
        ("1 +", "1:4 a value is expected, not the end"),
        ("(1", "1:3 `)` is expected, not the end"),
        ("[]", "1:1 a collection has at least one member"),
        ("x := 1", "1:3 the end is expected, not `:=`"),
        ("undefined + 1", "1:1 `undefined` stands only behind `==`, `!=` and `:=`"),
        ("1 == undefined", "1:15 only a name can be undefined"),
        ("x\n§", "2:1 `§` means nothing here"),
        ("\"open", "1:1 the text has no closing quote"),
    ] {
        assert_eq!(worth(source), expected, "{source}");
    }
    assert!(worth(&"(".repeat(5_000)).contains("nested too deeply"));
    assert!(worth(&"-".repeat(5_000)).contains("nested too deeply"));
    assert!(worth(&"1+".repeat(50_000)).contains("at most"));
}

#[test]
fn a_formula_that_reads_what_is_undefined_is_undefined_whole() {
    for (source, expected) in [
        ("none", "null"),
        ("none + 1", "null"),
        ("if true then x else none", "null"),
        ("count{m in c | m > none}", "null"),
        ("none == undefined", "1"),
        ("none != undefined", "0"),
        ("x != undefined", "1"),
        ("(none == undefined) and (x == 5)", "1"),
    ] {
        assert_eq!(worth(source), expected, "{source}");
    }
    assert_eq!(Formula::parse("none > 1").unwrap().holds(&mut names()), Ok(false));
}

#[test]
fn assignments_change_one_name() {
    for (source, target, expected) in [
        ("x := 3", "x", "3"),
        ("x ≔ y", "x", "2"),
        ("x += 2", "x", "7"),
        ("x -= 2", "x", "3"),
        ("x *= y + 1", "x", "15"),
        ("x /= 2", "x", "2.5"),
        ("x := undefined", "x", "null"),
        ("none += 1", "none", "null"),
        ("x := y == 2", "x", "1"),
    ] {
        let assignment = Assignment::parse(source).unwrap();
        let value = assignment.value(&mut names()).unwrap();
        assert_eq!((&*assignment.target, &*value.to_json()), (target, expected), "{source}");
    }
    assert_eq!(Assignment::parse_all("x := max(1, 2), y := 3").unwrap().len(), 2);
    assert!(Assignment::parse("x := 1, y := 2").is_err());
    assert!(Assignment::parse("x").is_err());
    let (name, none) = Assignment::parse_declared(" total ").unwrap();
    assert!(none.is_none() && &*name == "total");
    let (name, some) = Assignment::parse_declared("total := x * 2").unwrap();
    assert!(some.is_some() && &*name == "total");
}

#[test]
fn choices_say_what_is_allowed() {
    let listed = |source: &str, whole| {
        let choice = Choice::parse(source).unwrap();
        let options = choice.options(&mut names()).unwrap();
        Value::from(options.listed(whole).unwrap()).to_json()
    };
    assert_eq!(listed("d in [1, x]", false), "[1,5]");
    assert_eq!(listed("d ∈ {true, false}", false), "[1,0]");
    assert_eq!(listed("d in c", false), "[3,1,2]");
    assert_eq!(listed("1 <= d < x", true), "[1,2,3,4]");
    assert_eq!(listed("0.5 < d <= 2.5", true), "[1,2]");
    assert_eq!(listed("1 <= d <= 10, 3 | d", true), "[3,6,9]");
    assert_eq!(listed("0 ≤ d ≤ 1, 0.5 | d", false), "[0,0.5,1]");
    assert_eq!(listed("0 < d < 1", false), "[0.5]");
    assert_eq!(listed("none <= d < 3", true), "[]");
    let options = Options::Between {
        from: (1.into(), true),
        to: (9.into(), false),
        multiple: Some(2.into()),
    };
    assert!(options.contains(&4.into()) && !options.contains(&5.into()));
    assert!(!options.contains(&9.into()) && !options.contains(&"4".into()));
    for source in ["d", "3 in [1]", "1 <= d", "1 <= d < 2, 2 | e", "d in"] {
        assert!(Choice::parse(source).is_err(), "{source}");
    }
}
