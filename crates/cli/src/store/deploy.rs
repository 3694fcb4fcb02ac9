//! `travertine deploy`, `definitions` and `undeploy`.

use std::sync::Arc;

use anyhow::{Result, bail};
use travertine_bpmn::{Diagnostic, NOT_EXECUTABLE, Severity};
use travertine_data::deployed as documents;
use travertine_runtime::{
    DecisionDefinition, Definition, Definitions, Deployed, DeployedKind, Error, engine::Deployment,
};
use travertine_store::view::{Filter, Query, Table};
use travertine_value::{Name, Value};

use super::{Desk, Front, Store, grid, grid::Cell, grid::Tone};
use crate::{
    args::store as args, diagnostic, files::Models, files::NO_DECISION, json, run, status::Status,
};

pub(crate) fn deploy(args: &args::Deploy, front: Front<'_>) -> Result<Status> {
    let models = Models::read(&args.files)?;
    let (place, json) = (&args.shared.place, args.shared.json);
    front.at(place, Store::New(args.shards), json, |desk| {
        if args.strict {
            let report = models.report().strictly();
            if report.is_rejected() {
                let what = "the model breaks rules of the standard; nothing was deployed";
                run::reject_as(what, &report, &models, json, desk.out, desk.err);
                return Ok(Status::Rejected);
            }
        }
        match desk.engine.deploy(&models.files()) {
            Ok(deployment) => {
                desk.settle()?;
                deployed(&deployment, &models, desk);
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

fn deployed(deployment: &Deployment, models: &Models, desk: &Desk<'_>) {
    desk.tell(
        || documents::deployment(deployment),
        |out| {
            let line = |what: &str, id: &str, version: u32, number: u64| {
                // What was there before has the number of another deployment.
                let is_new = deployment.number == number;
                let word = out.paint.green(if is_new { "deployed" } else { "unchanged" });
                out.line(format!("{word} {what}{} version {version}", out.paint.bold(id)));
            };
            for it in &deployment.definitions {
                line("", &it.id, it.version, it.deployment);
            }
            for it in &deployment.decisions {
                line("decision ", &it.id, it.version, it.deployment);
            }
            for kind in [DeployedKind::Form, DeployedKind::Resource] {
                for it in documents::of_kind(deployment, kind) {
                    line(&format!("{} ", kind.name()), &it.id, it.version, it.deployment);
                }
            }
            let idle: Vec<&Diagnostic> =
                deployment.diagnostics.iter().filter(|it| it.code == NOT_EXECUTABLE).collect();
            let is_graph = |it: &Arc<Deployed>| it.kind == DeployedKind::Requirements;
            if deployment.deployed.iter().all(is_graph) && idle.is_empty() {
                let is_new = |it: &Arc<Deployed>| it.deployment == deployment.number;
                let is_new = deployment.deployed.iter().any(is_new);
                let word = if is_new { "deployed" } else { "unchanged" };
                out.line(format!("{word}: files for others to import"));
            }
            for it in idle {
                let note = desk.err.paint.cyan("note:");
                desk.err.line(format!("{note} {}; nothing of that is deployed", it.message));
            }
            // `check` does not know what is deployed.
            let counts = |it: &&Diagnostic| it.severity == Severity::Warning;
            let (missing, warnings): (Vec<_>, Vec<_>) =
                deployment.diagnostics.iter().filter(counts).partition(|it| it.code == NO_DECISION);
            for it in missing {
                desk.err.lines(diagnostic::text(it, models, desk.err.paint));
            }
            let warnings = warnings.len();
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

/// A form, or a resource.
pub(crate) fn definitions(args: &args::Definitions, desk: &Desk<'_>) -> Result<Status> {
    let definitions = desk.engine.definitions();
    let all: Vec<&Arc<Definition>> = match &args.id {
        Some(id) => definitions.versions(id).iter().collect(),
        None => definitions.all().collect(),
    };
    let decisions: Vec<&Arc<DecisionDefinition>> = match &args.id {
        Some(id) => definitions.decision_versions(id).iter().collect(),
        None => definitions.all_decisions().collect(),
    };
    let others = others(&definitions, args.id.as_deref());
    let is_empty = all.is_empty() && decisions.is_empty() && others.is_empty();
    if let (Some(id), true) = (&args.id, is_empty) {
        desk.ok(Err(Error::NoSuchDefinition(id.as_str().into())))?;
    }
    let file = |it: &Definition| {
        let known = definitions.deployed_as(it.key).filter(|_| !it.is_function());
        known.map(|it| it.file.to_string())
    };
    let is_retired = |key| definitions.is_retired(key);
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
            let all = all.iter().zip(&used);
            let all = all.map(|(it, used)| {
                documents::definition(it, file(it).as_deref(), Some(*used), is_retired(it.key))
            });
            let decisions = decisions.iter().map(|it| documents::decision(it, is_retired(it.key)));
            let others = others.iter().map(|it| documents::other(it));
            json::object([("definitions", all.chain(decisions).chain(others).collect())])
        },
        |out| {
            if is_empty {
                out.line("no definitions");
                return;
            }
            let text = |it: Option<&Name>| it.map(ToString::to_string).unwrap_or_default();
            let what = |kind: &str, key| {
                if is_retired(key) { format!("{kind}, retired") } else { kind.to_owned() }
            };
            let rows = all.iter().zip(&used).map(|(it, used)| {
                vec![
                    Cell::new(it.id.to_string(), Tone::Strong),
                    it.version.to_string().into(),
                    what(documents::kind(it), it.key).into(),
                    text(it.tag.as_ref()).into(),
                    text(it.name().as_ref()).into(),
                    it.deployment.to_string().into(),
                    file(it).unwrap_or_default().into(),
                    if *used { "yes" } else { "no" }.into(),
                ]
            });
            let decided = decisions.iter().map(|it| {
                vec![
                    Cell::new(it.id.to_string(), Tone::Strong),
                    it.version.to_string().into(),
                    what("decision", it.key).into(),
                    text(it.tag.as_ref()).into(),
                    text(it.name().as_ref()).into(),
                    it.deployment.to_string().into(),
                    it.file().to_owned().into(),
                    "".into(),
                ]
            });
            let rest = others.iter().map(|it| {
                vec![
                    Cell::new(it.id.to_string(), Tone::Strong),
                    it.version.to_string().into(),
                    what(it.kind.name(), it.key).into(),
                    text(it.tag.as_ref()).into(),
                    text(it.name.as_ref()).into(),
                    it.deployment.to_string().into(),
                    it.file.to_string().into(),
                    "".into(),
                ]
            });
            let heads =
                ["definition", "version", "kind", "tag", "name", "deployment", "file", "used"];
            grid::print(&heads, rows.chain(decided).chain(rest).collect(), out);
        },
    );
    Ok(Status::Done)
}

/// Forms and resources, those of an id where one is asked for: by what they are, id and version.
fn others(definitions: &Definitions, id: Option<&str>) -> Vec<Arc<Deployed>> {
    let kinds = [DeployedKind::Form, DeployedKind::Resource];
    let is_meant =
        |it: &&Arc<Deployed>| kinds.contains(&it.kind) && id.is_none_or(|id| *it.id == *id);
    let mut found: Vec<_> = definitions.deployed().filter(is_meant).cloned().collect();
    found.sort_by(|a, b| (a.kind, &a.id, a.version).cmp(&(b.kind, &b.id, b.version)));
    found
}

pub(crate) fn undeploy(args: &args::Undeploy, desk: &Desk<'_>) -> Result<Status> {
    if args.version == 0 {
        bail!("versions begin at 1");
    }
    let definitions = desk.engine.definitions();
    let is_process = definitions.versions(&args.id).iter().any(|it| it.version == args.version);
    let decisions = definitions.decision_versions(&args.id);
    let is_decision = decisions.iter().any(|it| it.version == args.version);
    if is_process && is_decision && !args.decision && !args.process {
        bail!(
            "{} version {} is a process and a decision; say which with --process or --decision",
            args.id,
            args.version
        );
    }
    let decision = args.decision || is_decision && !is_process && !args.process;
    let removed = if decision {
        desk.engine.undeploy_decision(&args.id, args.version)
    } else {
        desk.engine.undeploy(&args.id, args.version)
    };
    desk.ok(removed)?;
    desk.tell(
        || {
            json::object([
                ("definition", args.id.as_str().into()),
                ("version", args.version.into()),
                ("kind", if decision { "decision".into() } else { Value::Null }),
                ("removed", true.into()),
            ])
        },
        |out| {
            let what = if decision { "decision " } else { "" };
            let id = out.paint.bold(&args.id);
            out.line(format!("removed {what}{id} version {}", args.version));
        },
    );
    Ok(Status::Done)
}
