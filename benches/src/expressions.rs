//! What expressions, decisions and scripts cost, each beside something to compare it with.

use std::{fmt::Write as _, hint::black_box, sync::Arc};

use travertine_dmn::Definitions;
use travertine_lang::{
    Kind, Languages,
    feel::{Context, Settings},
};
use travertine_value::{Limits, Map, Name, Number, Program, Value};

use crate::Comparison;

/// The condition of the classical approval process.
const CONDITION: &str = r#"amount > 1000 and customer.tier = "gold""#;

/// All of them.
pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "feel-many-variables",
        unit: "condition evaluated",
        ways: [("1,000 variables", |it| feel(it, 1_000)), ("10 variables", |it| feel(it, 10))],
        ratio_max: Some(110),
    },
    Comparison {
        name: "feel-closure",
        unit: "condition evaluated",
        ways: [("FEEL", |it| feel(it, 10)), ("Rust closure", closure)],
        ratio_max: None,
    },
    Comparison {
        name: "feel-juel",
        unit: "condition evaluated",
        ways: [("FEEL", |it| feel(it, 10)), ("${…}", juel)],
        ratio_max: None,
    },
    Comparison {
        name: "table-rules",
        unit: "unique-hit table decided",
        ways: [("1,000 rules", |it| table(it, 1_000)), ("10 rules", |it| table(it, 10))],
        ratio_max: None,
    },
    Comparison {
        name: "script-call",
        unit: "condition evaluated",
        ways: [("JavaScript", javascript), ("FEEL", |it| feel(it, 10))],
        ratio_max: None,
    },
];

/// An order and its customer, among as many variables as asked for.
fn variables(count: usize) -> Map {
    let customer: Map = [(Name::from("tier"), Value::from("gold"))].into_iter().collect();
    let mut all: Map = (0..count - 2).map(|it| (Name::from(format!("v{it}")), it.into())).collect();
    all.insert("amount".into(), 1_500.into());
    all.insert("customer".into(), customer.into());
    all
}

fn compile(language: &str, source: &str) -> Program {
    let languages = Languages::standard();
    let language = languages.find(language).expect("it is a standard language");
    language.compile(Kind::Expression, source).expect("the text is right")
}

fn evaluate(program: &Program, variables: &Map, times: u32) -> usize {
    let limits = Limits::default();
    let held = (0..times).filter(|_| {
        let value = program.value(black_box(variables), &limits).expect("it can be evaluated");
        value == Value::Bool(true)
    });
    held.count()
}

fn feel(times: u32, count: usize) -> usize {
    evaluate(&compile("feel", CONDITION), &variables(count), times)
}

fn juel(times: u32) -> usize {
    let source = r#"${amount > 1000 and customer.tier == "gold"}"#;
    evaluate(&compile("juel", source), &variables(10), times)
}

fn javascript(times: u32) -> usize {
    let source = r#"amount > 1000 && customer.tier == "gold""#;
    evaluate(&compile("javascript", source), &variables(10), times)
}

/// The condition by hand, over the same values.
fn closure(times: u32) -> usize {
    let all = variables(10);
    let limit = Number::from(1_000i64);
    let holds = |all: &Map| {
        let amount = all.get("amount")?;
        let customer = all.get("customer")?;
        Some(amount.as_number()? > limit && customer.field("tier")?.as_str()? == "gold")
    };
    (0..times).filter(|_| holds(black_box(&all)) == Some(true)).count()
}

/// A table with one rule for each value of `key`.
fn rules(count: usize) -> Definitions {
    let mut xml = String::from(
        r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d"
        namespace="urn:d"><inputData id="i" name="key"><variable name="key" typeRef="number"/>
        </inputData><decision id="pick" name="pick"><variable name="pick" typeRef="string"/>
        <informationRequirement><requiredInput href="#i"/></informationRequirement>
        <decisionTable hitPolicy="UNIQUE"><input><inputExpression><text>key</text>
        </inputExpression></input><output/>"##,
    );
    for rule in 0..count {
        write!(
            xml,
            "<rule><inputEntry><text>{rule}</text></inputEntry><outputEntry><text>\"r{rule}\"</text>\
             </outputEntry></rule>"
        )
        .expect("text can be written to");
    }
    xml += "</decisionTable></decision></definitions>";
    let report = travertine_dmn::read(&[("table.dmn", xml.as_bytes())]);
    report.definitions.expect("the table is right")
}

fn table(times: u32, count: usize) -> usize {
    let definitions = rules(count);
    let settings = Settings::default();
    let given: Map = [(Name::from("key"), Value::from(7))].into_iter().collect();
    assert!(given.get("key").is_some());
    let inputs: Arc<Context> = Arc::new(definitions.inputs_from_json("pick", &given));
    let decided = (0..times).filter(|_| {
        let result = definitions.evaluate("pick", black_box(&inputs), &settings);
        !result.expect("it can be decided").value.is_null()
    });
    decided.count()
}
