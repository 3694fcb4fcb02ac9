//! Files that are deep, wide or expand.

use std::fmt::Write as _;

use travertine_kernel::Assignments;
use travertine_runtime::engine::File;

use super::{Case, What, bpmn, dmn, process};

pub(super) const CASES: &[Case] = &[
    Case { name: "sub-processes-in-each-other", what: What::Model(nested, none, &[]) },
    Case { name: "tasks-in-a-row", what: What::Model(row, none, &[]) },
    Case { name: "gateways-each-to-each", what: What::Model(mesh, none, &[]) },
    Case { name: "a-condition-of-brackets", what: What::Model(brackets, none, &[]) },
    Case { name: "a-script-of-many-names", what: What::Model(names, none, &[]) },
    Case { name: "decisions-in-a-chain", what: What::Model(chain, none, &[]) },
    Case { name: "decisions-in-a-circle", what: What::Model(circle, none, &[]) },
    Case { name: "decisions-in-a-lattice", what: What::Model(lattice, none, &[]) },
    Case { name: "knowledge-in-a-chain", what: What::Model(knowledge, none, &[]) },
    Case { name: "types-that-double", what: What::Model(types, none, &[]) },
    Case { name: "types-in-a-chain", what: What::Model(type_chain, none, &[]) },
    Case { name: "types-in-a-circle", what: What::Model(type_circle, none, &[]) },
    Case { name: "boxes-in-each-other", what: What::Model(boxes, none, &[]) },
];

fn none() -> Assignments {
    Vec::new()
}

fn nested() -> Vec<File> {
    let mut open = String::new();
    let mut close = String::new();
    for n in 0..2_000 {
        write!(open, r#"<subProcess id="p{n}">"#).expect("it is a text");
        close.push_str("</subProcess>");
    }
    vec![bpmn("bad.bpmn", &process(&format!(r#"{open}<userTask id="u"/>{close}"#), "p0", "p0"))]
}

fn row() -> Vec<File> {
    let mut tasks = String::from(r#"<task id="t0"/>"#);
    for n in 1..5_000 {
        let before = n - 1;
        write!(
            tasks,
            r#"<task id="t{n}"/><sequenceFlow id="f{n}" sourceRef="t{before}" targetRef="t{n}"/>"#
        )
        .expect("it is a text");
    }
    vec![bpmn("bad.bpmn", &process(&tasks, "t0", "t4999"))]
}

fn mesh() -> Vec<File> {
    let mut all = String::new();
    for n in 0..60 {
        write!(all, r#"<inclusiveGateway id="g{n}"/>"#).expect("it is a text");
        for other in (0..60).filter(|it| *it != n) {
            write!(
                all,
                r#"<sequenceFlow id="f{n}x{other}" sourceRef="g{n}" targetRef="g{other}">
                <conditionExpression>true</conditionExpression></sequenceFlow>"#
            )
            .expect("it is a text");
        }
    }
    vec![bpmn("bad.bpmn", &process(&all, "g0", "g1"))]
}

fn script(text: &str) -> Vec<File> {
    let task = format!(
        r#"<scriptTask id="a" scriptFormat="javascript"><script>{text}</script></scriptTask>"#
    );
    vec![bpmn("bad.bpmn", &process(&task, "a", "a"))]
}

fn brackets() -> Vec<File> {
    script(&format!("_context.x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)))
}

/// Reading them costs the square of their number, and must stay far from the time that a script may take.
fn names() -> Vec<File> {
    let mut text = String::new();
    for n in 0..40_000 {
        write!(text, "var v{n};").expect("it is a text");
    }
    script(&text)
}

/// Decisions `d0` to the last, which the process `bad` asks for; what each says and needs.
fn decisions(count: usize, says: impl Fn(usize) -> (String, Vec<usize>)) -> Vec<File> {
    let mut all = String::new();
    for n in 0..count {
        let (text, needs) = says(n);
        write!(all, r#"<decision id="d{n}" name="d{n}"><variable name="d{n}"/>"#).expect("a text");
        for it in needs {
            write!(
                all,
                r##"<informationRequirement><requiredDecision href="#d{it}"/>
                </informationRequirement>"##
            )
            .expect("a text");
        }
        write!(all, "<literalExpression><text>{text}</text></literalExpression></decision>")
            .expect("a text");
    }
    let last = count - 1;
    let task =
        format!(r#"<businessRuleTask id="a" tv:decisionRef="d{last}" tv:resultVariable="x"/>"#);
    vec![dmn(&all), bpmn("bad.bpmn", &process(&task, "a", "a"))]
}

fn chain() -> Vec<File> {
    decisions(10_000, |n| match n.checked_sub(1) {
        None => ("1".to_owned(), Vec::new()),
        Some(before) => (format!("d{before} + 1"), vec![before]),
    })
}

fn circle() -> Vec<File> {
    decisions(1_000, |n| (format!("d{}", (n + 1) % 1_000), vec![(n + 1) % 1_000]))
}

/// Each needs both of the two before it: paths double, decisions do not.
fn lattice() -> Vec<File> {
    decisions(200, |n| match n {
        0 | 1 => ("1".to_owned(), Vec::new()),
        _ => (format!("d{} + d{}", n - 1, n - 2), vec![n - 1, n - 2]),
    })
}

fn knowledge() -> Vec<File> {
    let mut all = String::new();
    for n in 0..5_000_usize {
        write!(
            all,
            r#"<businessKnowledgeModel id="b{n}" name="b{n}"><variable name="b{n}"/>
            <encapsulatedLogic><formalParameter name="x"/><literalExpression><text>"#
        )
        .expect("a text");
        match n.checked_sub(1) {
            None => all.push('x'),
            Some(before) => write!(all, "b{before}(x) + 1").expect("a text"),
        }
        all.push_str("</text></literalExpression></encapsulatedLogic>");
        if let Some(before) = n.checked_sub(1) {
            write!(
                all,
                r##"<knowledgeRequirement><requiredKnowledge href="#b{before}"/>
                </knowledgeRequirement>"##
            )
            .expect("a text");
        }
        all.push_str("</businessKnowledgeModel>");
    }
    all.push_str(
        r##"<decision id="d" name="d"><variable name="d"/><knowledgeRequirement>
        <requiredKnowledge href="#b4999"/></knowledgeRequirement><literalExpression>
        <text>b4999(1)</text></literalExpression></decision>"##,
    );
    let task = r#"<businessRuleTask id="a" tv:decisionRef="d" tv:resultVariable="x"/>"#;
    vec![dmn(&all), bpmn("bad.bpmn", &process(task, "a", "a"))]
}

/// Item definitions, each with these components, and a decision of the first type.
fn item_types(count: usize, components: impl Fn(usize) -> Vec<String>) -> Vec<File> {
    let mut all = String::new();
    for n in 0..count {
        write!(all, r#"<itemDefinition id="i{n}" name="T{n}">"#).expect("a text");
        for (at, it) in components(n).into_iter().enumerate() {
            write!(all, r#"<itemComponent id="i{n}c{at}" name="c{at}"><typeRef>{it}</typeRef></itemComponent>"#)
                .expect("a text");
        }
        all.push_str("</itemDefinition>");
    }
    all.push_str(
        r#"<decision id="d" name="d"><variable name="d" typeRef="T0"/><literalExpression>
        <text>null</text></literalExpression></decision>"#,
    );
    let task = r#"<businessRuleTask id="a" tv:decisionRef="d" tv:resultVariable="x"/>"#;
    vec![dmn(&all), bpmn("bad.bpmn", &process(task, "a", "a"))]
}

fn types() -> Vec<File> {
    item_types(
        60,
        |n| if n == 59 { vec!["string".to_owned()] } else { vec![format!("T{}", n + 1); 2] },
    )
}

fn type_chain() -> Vec<File> {
    item_types(10_000, |n| {
        vec![if n == 9_999 { "string".to_owned() } else { format!("T{}", n + 1) }]
    })
}

fn type_circle() -> Vec<File> {
    item_types(100, |n| vec![format!("T{}", (n + 1) % 100)])
}

fn boxes() -> Vec<File> {
    let (mut open, mut close) = (String::new(), String::new());
    for _ in 0..5_000 {
        open.push_str("<list>");
        close.push_str("</list>");
    }
    let all = format!(
        r#"<decision id="d" name="d"><variable name="d"/>{open}<literalExpression><text>1</text>
        </literalExpression>{close}</decision>"#
    );
    let task = r#"<businessRuleTask id="a" tv:decisionRef="d" tv:resultVariable="x"/>"#;
    vec![dmn(&all), bpmn("bad.bpmn", &process(task, "a", "a"))]
}
