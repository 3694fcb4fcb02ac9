//! Cases as files write them.

use travertine_lang::feel::{Context, FeelValue};
use travertine_value::Name;
use travertine_xml::{self as xml, Node, Ns};

use super::value;

const NAMESPACE: &str = "http://www.omg.org/spec/DMN/20160719/testcase";

/// A file of cases about one model.
#[derive(Debug)]
pub(super) struct Cases {
    /// The file of the model.
    pub(super) model: String,
    pub(super) cases: Vec<Case>,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) id: String,
    /// What is evaluated for all results at once; where it is none, each result is a decision.
    pub(super) invocable: Option<String>,
    pub(super) inputs: Result<Context, String>,
    pub(super) results: Vec<Expected>,
}

/// What a result must be.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    pub(super) value: Result<FeelValue, String>,
    /// Whether the evaluation must fail, which is to say, be null.
    pub(super) is_error: bool,
}

impl Cases {
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, String> {
        let document = xml::read(Ns::of(NAMESPACE), file, bytes).map_err(|it| it.message)?;
        let root = document.root();
        if !root.is("testCases") {
            return Err("these are no cases of the DMN TCK".to_owned());
        }
        let model = root.child("modelName").map_or("", |it| it.text().trim()).to_owned();
        Ok(Self { model, cases: root.all("testCase").map(case).collect() })
    }
}

fn case(node: Node<'_>) -> Case {
    let input = |it: Node<'_>| Ok((name(it), value::read(it)?));
    let inputs: Result<Vec<(Name, FeelValue)>, String> = node.all("inputNode").map(input).collect();
    Case {
        id: node.id().unwrap_or_default().to_owned(),
        invocable: node.attr("invocableName").map(str::to_owned),
        inputs: inputs.map(|it| it.into_iter().collect()),
        results: node.all("resultNode").map(expected).collect(),
    }
}

fn expected(node: Node<'_>) -> Expected {
    Expected {
        name: name(node).to_string(),
        value: node.child("expected").map_or(Ok(FeelValue::Null), value::read),
        is_error: node.attr("errorResult").is_some_and(|it| matches!(it.trim(), "true" | "1")),
    }
}

fn name(node: Node<'_>) -> Name {
    let name: Vec<_> = node.attr("name").unwrap_or_default().split_whitespace().collect();
    name.join(" ").into()
}
