//! What would become of an instance by another version, as data.

use travertine_kernel::Migration;
use travertine_runtime::InstanceId;
use travertine_store::view::InstanceRow;
use travertine_value::{Name, Value};

use crate::json;

/// A migration that was tried.
pub fn migration(
    instance: InstanceId,
    row: &InstanceRow,
    (id, version): (&Name, u32),
    tried: &Migration,
) -> Value {
    let changes: Value = tried
        .changes
        .iter()
        .map(|it| {
            json::object([
                ("token", json::key(it.token.0)),
                ("element", Name::clone(&it.element).into()),
                ("change", it.to_string().into()),
            ])
        })
        .collect();
    let problems = tried.problems.iter().map(|it| Value::from(it.to_string()));
    json::object([
        ("instance", json::key(instance.0)),
        ("definition", Name::clone(id).into()),
        ("from", row.version.into()),
        ("to", version.into()),
        ("possible", tried.problems.is_empty().into()),
        ("changes", changes),
        ("problems", problems.collect()),
    ])
}
