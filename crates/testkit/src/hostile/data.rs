//! Data that is deep, large or much.

use travertine_kernel::Assignments;
use travertine_runtime::engine::File;
use travertine_value::{Name, Value};

use super::{Case, What, bpmn, process};

pub(super) const CASES: &[Case] = &[
    Case { name: "a-deep-value", what: What::Model(waits, deep, &[]) },
    Case { name: "a-large-value", what: What::Model(waits, large, &[]) },
    Case { name: "large-values-together", what: What::Model(waits, together, &[]) },
    Case { name: "a-name-of-megabytes", what: What::Model(waits, long_name, &[]) },
    Case { name: "a-million-names", what: What::Model(waits, many, &[]) },
    Case { name: "a-list-as-wide-as-memory", what: What::Model(over_list, wide, &[]) },
];

fn waits() -> Vec<File> {
    vec![bpmn("bad.bpmn", &process(r#"<userTask id="u"/>"#, "u", "u"))]
}

fn over_list() -> Vec<File> {
    let task = r#"<userTask id="u"><multiInstanceLoopCharacteristics tv:collection="list" tv:elementVariable="it"/>
        </userTask>"#;
    vec![bpmn("bad.bpmn", &process(task, "u", "u"))]
}

fn one(value: Value) -> Assignments {
    vec![("v".into(), value)]
}

fn deep() -> Assignments {
    // Deeper than may be stored, and not so deep that making it is the trouble.
    one((0..5_000).fold(Value::from(1), |inside, _| Value::from(vec![inside])))
}

fn large() -> Assignments {
    one(Value::from("x".repeat(20 << 20).as_str()))
}

fn together() -> Assignments {
    let text = Value::from("x".repeat(15 << 20).as_str());
    (0..40).map(|n| (Name::from(format!("v{n}")), text.clone())).collect()
}

fn long_name() -> Assignments {
    vec![("n".repeat(20 << 20).into(), Value::from(1))]
}

fn many() -> Assignments {
    (0..1_000_000).map(|n| (Name::from(format!("v{n}")), Value::from(n))).collect()
}

fn wide() -> Assignments {
    vec![("list".into(), Value::from((0..2_000_000).map(Value::from).collect::<Vec<_>>()))]
}
