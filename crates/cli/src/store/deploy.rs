//! `travertine deploy`, `definitions` and `undeploy`.

use std::sync::Arc;

use anyhow::{Result, bail};
use travertine_bpmn::{Diagnostic, NOT_EXECUTABLE, Severity};
use travertine_expr::{Name, Value};
use travertine_runtime::{Definition, Error, engine::Deployment};
use travertine_store::view::{Filter, Query, Table};

use super::{Desk, Store, grid, grid::Cell, grid::Tone};
use crate::{
    args::store as args, diagnostic, files::Models, json, run, screen::Screen, status::Status,
};

pub(crate) fn deploy(args: &args::Deploy, out: &Screen, err: &Screen) -> Result<Status> {
    let models = Models::read(&args.files)?;
    let (place, json) = (&args.shared.place, args.shared.json);
    Desk::at(place, Store::New(args.shards), json, out, err, |desk| {
        match desk.engine.deploy(&models.files()) {
            Ok(deployment) => {
                desk.settle()?;
                deployed(&deployment, desk);
                Ok(Status::Done)
            }
            Err(Error::Refused { diagnostics }) => {
                rejected(&diagnostics, &models, desk);
                Ok(Status::Rejected)
            }
            Err(error) => desk.ok(Err(error)),
        }
    })
}

fn deployed(deployment: &Deployment, desk: &Desk<'_>) {
    desk.tell(
        || {
            let number = deployment.number.map(json::key);
            json::object([
                ("deployment", number.into()),
                ("definitions", deployment.definitions.iter().map(|it| data(it, None)).collect()),
                ("diagnostics", deployment.diagnostics.iter().map(diagnostic::data).collect()),
            ])
        },
        |out| {
            let (known, word) = match deployment.number {
                Some(_) => (deployment.number, "deployed"),
                None => (None, "unchanged"),
            };
            for it in &deployment.definitions {
                // What was there before has the number of another deployment.
                let word = if known == Some(it.deployment) { word } else { "unchanged" };
                let id = out.paint.bold(&it.id);
                out.line(format!("{} {id} version {}", out.paint.green(word), it.version));
            }
            if deployment.definitions.is_empty() {
                out.line(format!("{word}: decisions only"));
            }
            let idle = deployment.diagnostics.iter().filter(|it| it.code == NOT_EXECUTABLE);
            for it in idle {
                let note = desk.err.paint.cyan("note:");
                desk.err.line(format!("{note} {}; nothing of that is deployed", it.message));
            }
            let counts = |it: &&Diagnostic| it.severity == Severity::Warning;
            let warnings = deployment.diagnostics.iter().filter(counts).count();
            if warnings > 0 {
                let warning = desk.err.paint.yellow("warning:");
                let what =
                    if warnings == 1 { "1 warning" } else { &format!("{warnings} warnings") };
                desk.err.line(format!("{warning} {what}; `travertine check` shows them"));
            }
        },
    );
}

/// Says why files cannot be deployed: with the places in them, where they show that by themselves.
fn rejected(diagnostics: &[String], models: &Models, desk: &Desk<'_>) {
    let report = models.report();
    if report.is_rejected() {
        run::reject(&report, models, desk.json, desk.out, desk.err);
        return;
    }
    desk.tell(
        || {
            let all = diagnostics.iter().map(|it| Value::from(it.as_str())).collect();
            json::object([("outcome", "rejected".into()), ("diagnostics", all)])
        },
        |_| {
            for it in diagnostics {
                desk.err.line(it);
            }
            let word = desk.err.paint.red("rejected:");
            desk.err.line(format!("{word} the model cannot run; nothing was deployed"));
        },
    );
}

fn data(it: &Definition, instances: Option<bool>) -> Value {
    json::object([
        ("definition", Name::clone(&it.id).into()),
        ("version", it.version.into()),
        ("kind", kind(it).into()),
        ("tag", it.tag.clone().into()),
        ("name", title(it).into()),
        ("key", json::key(it.key)),
        ("deployment", json::key(it.deployment)),
        ("used", instances.into()),
    ])
}

fn kind(it: &Definition) -> &'static str {
    if it.is_function() { "function" } else { "process" }
}

/// What people call the process.
fn title(it: &Definition) -> Option<Name> {
    it.plan.nodes.first().and_then(|it| it.label.clone())
}

pub(crate) fn definitions(args: &args::Definitions, desk: &Desk<'_>) -> Result<Status> {
    let definitions = desk.engine.definitions();
    let all: Vec<&Arc<Definition>> = match &args.id {
        Some(id) => definitions.versions(id).iter().collect(),
        None => definitions.all().collect(),
    };
    if let (Some(id), true) = (&args.id, all.is_empty()) {
        desk.ok(Err(Error::NoSuchDefinition(id.as_str().into())))?;
    }
    let mut used = Vec::new();
    for it in &all {
        let page = desk.query(&Query {
            table: Table::Instances,
            filters: vec![Filter::Definition(Name::clone(&it.id)), Filter::Version(it.version)],
            descending: false,
            after: None,
            limit: 1,
        })?;
        used.push(!page.rows.is_empty());
    }
    desk.tell(
        || {
            let all = all.iter().zip(&used).map(|(it, used)| data(it, Some(*used)));
            json::object([("definitions", all.collect())])
        },
        |out| {
            if all.is_empty() {
                out.line("no definitions");
                return;
            }
            let rows = all.iter().zip(&used).map(|(it, used)| {
                vec![
                    Cell::new(it.id.to_string(), Tone::Strong),
                    it.version.to_string().into(),
                    kind(it).into(),
                    it.tag.as_ref().map(ToString::to_string).unwrap_or_default().into(),
                    title(it).map(|it| it.to_string()).unwrap_or_default().into(),
                    it.deployment.to_string().into(),
                    if *used { "yes" } else { "no" }.into(),
                ]
            });
            let heads = ["definition", "version", "kind", "tag", "name", "deployment", "used"];
            grid::print(&heads, rows.collect(), out);
        },
    );
    Ok(Status::Done)
}

pub(crate) fn undeploy(args: &args::Undeploy, desk: &Desk<'_>) -> Result<Status> {
    if args.version == 0 {
        bail!("versions begin at 1");
    }
    desk.ok(desk.engine.undeploy(&args.id, args.version))?;
    desk.tell(
        || {
            json::object([
                ("definition", args.id.as_str().into()),
                ("version", args.version.into()),
                ("removed", true.into()),
            ])
        },
        |out| out.line(format!("removed {} version {}", out.paint.bold(&args.id), args.version)),
    );
    Ok(Status::Done)
}
