//! What is deployed, as data.

use std::sync::Arc;

use travertine_runtime::{
    DecisionDefinition, Definition, Deployed, DeployedKind, engine::Deployment,
};
use travertine_value::{Name, Value};

use crate::{json, report};

/// A form or a resource.
pub fn other(it: &Deployed) -> Value {
    json::object([
        ("definition", Name::clone(&it.id).into()),
        ("version", it.version.into()),
        ("kind", it.kind.name().into()),
        ("tag", it.tag.clone().into()),
        ("name", it.name.clone().into()),
        ("key", json::key(it.key.0)),
        ("deployment", json::key(it.deployment)),
        ("file", Name::clone(&it.file).into()),
        ("used", Value::Null),
        ("retired", it.retired.into()),
    ])
}

/// A process or a function, and whether it has instances.
pub fn definition(it: &Definition, file: Option<&str>, used: Option<bool>, retired: bool) -> Value {
    json::object([
        ("definition", Name::clone(&it.id).into()),
        ("version", it.version.into()),
        ("kind", kind(it).into()),
        ("tag", it.tag.clone().into()),
        ("name", it.name().into()),
        ("key", json::key(it.key.0)),
        ("deployment", json::key(it.deployment)),
        ("file", file.into()),
        ("used", used.into()),
        ("retired", retired.into()),
    ])
}

/// A decision.
pub fn decision(it: &DecisionDefinition, retired: bool) -> Value {
    json::object([
        ("definition", Name::clone(&it.id).into()),
        ("version", it.version.into()),
        ("kind", "decision".into()),
        ("tag", it.tag.clone().into()),
        ("name", it.name().into()),
        ("key", json::key(it.key.0)),
        ("deployment", json::key(it.deployment)),
        ("file", it.file().into()),
        ("used", Value::Null),
        ("retired", retired.into()),
    ])
}

/// Whether it is a process or a function.
pub fn kind(it: &Definition) -> &'static str {
    if it.is_function() { "function" } else { "process" }
}

/// What is deployed of a kind.
pub fn of_kind(
    deployment: &Deployment,
    kind: DeployedKind,
) -> impl Iterator<Item = &Arc<Deployed>> {
    deployment.deployed.iter().filter(move |it| it.kind == kind)
}

/// What a deployment has brought.
pub fn deployment(it: &Deployment) -> Value {
    json::object([
        ("deployment", json::key(it.number)),
        (
            "definitions",
            it.definitions.iter().map(|it| definition(it, None, None, false)).collect(),
        ),
        ("decisions", it.decisions.iter().map(|it| decision(it, false)).collect()),
        ("forms", of_kind(it, DeployedKind::Form).map(|it| other(it)).collect()),
        ("resources", of_kind(it, DeployedKind::Resource).map(|it| other(it)).collect()),
        ("diagnostics", it.diagnostics.iter().map(report::diagnostic).collect()),
    ])
}
