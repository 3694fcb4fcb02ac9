//! Models from text to results.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod bounds;
mod decide;
mod diagnose;
mod robust;

use travertine_dmn::{DecisionResult, Definitions, read};
use travertine_lang::feel::Settings;
use travertine_value::Value;

/// A model with this in it.
fn model(inside: &str) -> String {
    format!(
        "<definitions xmlns=\"https://www.omg.org/spec/DMN/20230324/MODEL/\" name=\"m\" namespace=\"n\">\n\
         {inside}\n</definitions>"
    )
}

/// A decision of that name with a literal expression, that requires these.
fn decision(name: &str, requires: &[&str], expression: &str) -> String {
    let requires = requires.iter().map(|it| {
        let (kind, id) = it.split_once(' ').unwrap_or(("Decision", it));
        let word = if kind == "Knowledge" { "knowledge" } else { "information" };
        format!("<{word}Requirement><required{kind} href=\"#{id}\"/></{word}Requirement>\n")
    });
    let requires = requires.collect::<Vec<_>>().concat();
    let expression = expression.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<decision id=\"{name}\" name=\"{name}\"><variable name=\"{name}\"/>\n{requires}\
         <literalExpression><text>{expression}</text></literalExpression></decision>\n"
    )
}

fn definitions(inside: &str) -> Definitions {
    let text = model(inside);
    let report = read(&[("m.dmn", text.as_bytes())]);
    report.definitions.unwrap_or_else(|| panic!("{:?}", report.diagnostics))
}

/// What a decision gives with these inputs.
fn decide(definitions: &Definitions, decision: &str, inputs: &str) -> DecisionResult {
    let Ok(Value::Map(inputs)) = Value::parse_json(inputs) else { panic!("an object: {inputs}") };
    let inputs = definitions.inputs_from_json(decision, &inputs);
    definitions.evaluate(decision, &inputs, &Settings::default()).unwrap()
}

/// All that is said about a model, a line each.
fn said(text: &str) -> String {
    let report = read(&[("m.dmn", text.as_bytes())]);
    report.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
