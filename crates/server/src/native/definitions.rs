//! What is deployed: found, read, drawn, counted, checked, and taken out of use.

use std::{collections::BTreeMap, sync::Arc};

use travertine_bpmn::Report;
use travertine_data::{deployed, json, report};
use travertine_runtime::{
    DecisionDefinition, Definition, Definitions, Deployed, DeployedKind, Error, Timestamp,
    engine::File, kind_of, read_models,
};
use travertine_store::{
    DefinitionKey,
    search::{Condition, ElementColumn, InstanceColumn, Search, Test, Value as Cell},
    view::Table,
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call, known},
    files::Parts,
    picture,
    problem::Problem,
};
use crate::{
    access::Permission,
    desk::{Desk, Outcome, Refusal, off_the_executor},
};

const KINDS: [&str; 5] = ["process", "function", "decision", "form", "resource"];

/// Something that is deployed.
#[derive(Clone, Debug)]
enum Found {
    Definition(Arc<Definition>),
    Decision(Arc<DecisionDefinition>),
    Other(Arc<Deployed>),
}

impl Found {
    fn kind(&self) -> &'static str {
        match self {
            Self::Definition(it) => deployed::kind(it),
            Self::Decision(_) => "decision",
            Self::Other(it) => it.kind.name(),
        }
    }

    fn id(&self) -> &Name {
        match self {
            Self::Definition(it) => &it.id,
            Self::Decision(it) => &it.id,
            Self::Other(it) => &it.id,
        }
    }

    fn version(&self) -> u32 {
        match self {
            Self::Definition(it) => it.version,
            Self::Decision(it) => it.version,
            Self::Other(it) => it.version,
        }
    }

    fn key(&self) -> DefinitionKey {
        match self {
            Self::Definition(it) => it.key,
            Self::Decision(it) => it.key,
            Self::Other(it) => it.key,
        }
    }

    fn document(&self, definitions: &Definitions, used: Option<bool>) -> Value {
        let is_retired = definitions.is_retired(self.key());
        match self {
            Self::Definition(it) => {
                let file = definitions.deployed_as(it.key).filter(|_| !it.is_function());
                let file = file.map(|it| it.file.to_string());
                deployed::definition(it, file.as_deref(), used, is_retired)
            }
            Self::Decision(it) => deployed::decision(it, is_retired),
            Self::Other(it) => deployed::other(it),
        }
    }
}

/// All that is deployed.
fn all(definitions: &Definitions) -> Vec<Found> {
    let other = [DeployedKind::Form, DeployedKind::Resource];
    let is_other = |it: &&Arc<Deployed>| other.contains(&it.kind);
    let mut others: Vec<_> = definitions.deployed().filter(is_other).cloned().collect();
    others.sort_by(|a, b| (a.kind, &a.id, a.version).cmp(&(b.kind, &b.id, b.version)));
    let own = definitions.all().cloned().map(Found::Definition);
    let decisions = definitions.all_decisions().cloned().map(Found::Decision);
    own.chain(decisions).chain(others.into_iter().map(Found::Other)).collect()
}

/// Which versions of processes and functions have instances, found without reading those.
async fn used(
    call: &Call,
    definitions: &Definitions,
) -> Result<BTreeMap<DefinitionKey, bool>, Problem> {
    let mut used = BTreeMap::new();
    for it in definitions.all() {
        let search = Search::of(Table::Instances)
            .with(Condition::of(InstanceColumn::DefinitionKey, Test::eq(it.key)))
            .limit(1);
        used.insert(it.key, !call.desk.rows(search).await?.rows.is_empty());
    }
    Ok(used)
}

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let definitions = call.desk.definitions();
    let (id, kind) = (call.parameter("id"), call.parameter("kind"));
    if let Some(kind) = kind {
        known("kind", kind, &KINDS)?;
    }
    let mut found = all(&definitions);
    found.retain(|it| {
        call.desk.sees(it.id())
            && id.is_none_or(|id| **it.id() == *id)
            && kind.is_none_or(|kind| it.kind() == kind)
    });
    if call.flag("latest")? {
        let mut latest: BTreeMap<(&str, Name), u32> = BTreeMap::new();
        for it in found.iter().filter(|it| !definitions.is_retired(it.key())) {
            let version = latest.entry((it.kind(), Name::clone(it.id()))).or_default();
            *version = (*version).max(it.version());
        }
        let is_latest =
            |it: &Found| latest.get(&(it.kind(), Name::clone(it.id()))) == Some(&it.version());
        let kept: Vec<bool> = found.iter().map(is_latest).collect();
        let mut kept = kept.into_iter();
        found.retain(|_| kept.next().unwrap_or(false));
    }
    let used = used(&call, &definitions).await?;
    let documents = found.iter().map(|it| it.document(&definitions, used.get(&it.key()).copied()));
    Ok(Answer::Document(json::object([("definitions", documents.collect())])))
}

/// What the path means: an id, of which the latest version is meant where none is named, or a key.
fn found(call: &Call) -> Result<Found, Problem> {
    let version = call.whole("version")?;
    let kind = call.parameter("kind").map(str::to_owned);
    meant(call, version, kind.as_deref())
}

fn meant(call: &Call, version: Option<u64>, kind: Option<&str>) -> Result<Found, Problem> {
    let (definitions, text) = (call.desk.definitions(), call.path("definition"));
    if let Some(kind) = kind {
        known("kind", kind, &KINDS)?;
    }
    let all = all(&definitions);
    let of = |it: &&Found| {
        **it.id() == *text
            && kind.is_none_or(|kind| it.kind() == kind)
            && version.is_none_or(|version| u64::from(it.version()) == version)
    };
    // What is out of use is meant only by its version.
    let current = |it: &&Found| version.is_some() || !definitions.is_retired(it.key());
    let newest = all.iter().filter(of).filter(current).max_by_key(|it| it.version());
    let named = newest.or_else(|| all.iter().filter(of).max_by_key(|it| it.version()));
    let key = text.parse::<DefinitionKey>().ok();
    let found = named.or_else(|| key.and_then(|key| all.iter().find(|it| it.key() == key)));
    let missing = || {
        let version = version.map(|it| format!(" version {it}")).unwrap_or_default();
        let seen = all.iter().map(|it| &**it.id()).filter(|it| call.desk.sees(it));
        let near = seen.map(|it| (strsim::jaro_winkler(it, text), it));
        let near = near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.filter(|(_, it)| *it != text).map(|(_, it)| format!("; is {it} meant?"));
        let hint = hint.unwrap_or_default();
        Refusal::not_found(format!("nothing is deployed as {text}{version}{hint}"))
    };
    let found = found.ok_or_else(missing)?;
    call.desk.may(found.id(), missing)?;
    Ok(found.clone())
}

/// A process that the path means.
fn process(call: &Call) -> Result<Arc<Definition>, Problem> {
    match found(call)? {
        Found::Definition(it) if !it.is_function() => Ok(it),
        other => Err(Refusal::new(
            Outcome::InvalidState,
            format!("{} is a {}, which has no elements", other.id(), other.kind()),
        )
        .into()),
    }
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    let (found, definitions) = (found(&call)?, call.desk.definitions());
    let used = used(&call, &definitions).await?.get(&found.key()).copied();
    let document = found.document(&definitions, used);
    let mut fields = document.as_map().cloned().unwrap_or_default();
    if let Found::Definition(it) = &found {
        let elements = it.plan.nodes.iter().map(|node| {
            json::object([
                ("element", Name::clone(&node.name).into()),
                ("label", node.label.clone().into()),
                ("kind", node.kind.name().into()),
            ])
        });
        fields.insert("elements".into(), elements.collect());
        let form = definitions.start_form(it).map(|it| Name::clone(&it.id));
        fields.insert("start_form".into(), form.into());
    }
    Ok(Answer::Document(fields.into()))
}

async fn file(call: &Call, key: DefinitionKey) -> Result<File, Problem> {
    let engine = call.desk.engine().clone();
    Ok(off_the_executor(move || Ok(engine.file_of(key)?)).await?)
}

pub(super) async fn xml(call: Call) -> Result<Answer, Problem> {
    let found = found(&call)?;
    let kind = match found {
        Found::Definition(_) | Found::Decision(_) => "application/xml",
        Found::Other(_) => "application/octet-stream",
    };
    let file = file(&call, found.key()).await?;
    Ok(Answer::Text(kind, file.body.into()))
}

pub(super) async fn picture(call: Call) -> Result<Answer, Problem> {
    let process = process(&call)?;
    let file = file(&call, process.key).await?;
    picture::drawn(file, Some(process.id.to_string()), picture::how(&call)?, None).await
}

pub(super) async fn diagram(call: Call) -> Result<Answer, Problem> {
    let process = process(&call)?;
    let file = file(&call, process.key).await?;
    let anew = call.flag("layout")?;
    Ok(Answer::Document(picture::diagram(file, Some(process.id.to_string()), anew).await?))
}

/// How many tokens and incidents there are now at each element, and how many instances are in each state.
pub(super) async fn statistics(call: Call) -> Result<Answer, Problem> {
    let definition = match found(&call)? {
        Found::Definition(it) => it,
        other => {
            let detail = format!("{} is a {}, which has no instances", other.id(), other.kind());
            return Err(Refusal::new(Outcome::InvalidState, detail).into());
        }
    };
    let of = |table| {
        let condition = Condition::of(InstanceColumn::DefinitionKey, Test::eq(definition.key));
        Search::of(table).with(condition)
    };
    let columns = vec![ElementColumn::Element.into(), ElementColumn::HasIncident.into()];
    let mut elements: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    for it in call.desk.tally(of(Table::Elements), columns).await? {
        let [Some(Cell::Text(element)), has_incident] = &it.of[..] else { continue };
        let counts = elements.entry(Name::clone(element)).or_default();
        counts.0 += it.count;
        if *has_incident == Some(Cell::Bool(true)) {
            counts.1 += it.count;
        }
    }
    let mut states = Vec::new();
    for it in call.desk.tally(of(Table::Instances), vec![InstanceColumn::State.into()]).await? {
        if let [Some(Cell::Text(state))] = &it.of[..] {
            states.push((Name::clone(state), Value::from(it.count)));
        }
    }
    let elements = elements.into_iter().map(|(element, (now, incidents))| {
        json::object([
            ("element", element.into()),
            ("now", now.into()),
            ("incidents", incidents.into()),
        ])
    });
    Ok(Answer::Document(json::object([
        ("definition", Name::clone(&definition.id).into()),
        ("version", definition.version.into()),
        ("instances", states.into_iter().collect()),
        ("elements", elements.collect()),
    ])))
}

/// The files that a version of a process was deployed with, of which it is one, for whoever may see it: its own, and those
/// of the processes and decisions that it is bound to come from what is deployed.
pub(super) async fn files_of(
    desk: &Desk,
    id: &str,
    version: Option<u64>,
) -> Result<Vec<File>, Problem> {
    let missing = || Refusal::not_found(format!("nothing is deployed as {id}"));
    desk.needing(Permission::Read)?.may(id, missing)?;
    let definitions = desk.definitions();
    let versions = definitions.versions(id);
    let found = match version {
        None => definitions.find(id),
        Some(version) => versions.iter().find(|it| u64::from(it.version) == version),
    };
    let found = found.filter(|it| !it.is_function()).ok_or_else(missing)?;
    let (engine, key) = (desk.engine().clone(), found.key);
    Ok(vec![off_the_executor(move || Ok(engine.file_of(key)?)).await?])
}

pub(super) async fn deploy(call: Call) -> Result<Answer, Problem> {
    let parts = Parts::read(call, &["files", "strict"]).await?;
    let (files, strict) = (parts.files.clone(), parts.flag("strict")?);
    let now = parts.desk.engine().now();
    let checked = off_the_executor(move || Ok(checked(&files, strict, now)));
    let (document, is_refused) = checked.await?;
    if is_refused {
        let detail = "the models cannot be deployed; nothing was";
        return Err(Problem::from(Refusal::invalid(detail)).with("report", document));
    }
    match parts.desk.deploy(parts.files).await {
        Ok(deployment) => Ok(Answer::Made(deployed::deployment(&deployment))),
        Err(refusal) => Err(Problem::from(refusal).with("report", document)),
    }
}

pub(super) async fn check(call: Call) -> Result<Answer, Problem> {
    let parts = Parts::read(call, &["files", "strict"]).await?;
    let (strict, now) = (parts.flag("strict")?, parts.desk.engine().now());
    let checked = off_the_executor(move || Ok(checked(&parts.files, strict, now)));
    Ok(Answer::Document(checked.await?.0))
}

pub(super) async fn check_deployed(call: Call) -> Result<Answer, Problem> {
    let (found, strict) = (found(&call)?, call.flag("strict")?);
    let file = file(&call, found.key()).await?;
    let now = call.desk.engine().now();
    let checked = off_the_executor(move || Ok(checked(&[file], strict, now)));
    Ok(Answer::Document(checked.await?.0))
}

/// The report on files, and whether they are refused.
fn checked(files: &[File], strict: bool, now: Timestamp) -> (Value, bool) {
    let pairs: Vec<(&str, &[u8])> =
        files.iter().map(|it| (it.name.as_str(), &it.body[..])).collect();
    let report: Report = read_models(&pairs, None, now).report;
    let report = if strict { report.strictly() } else { report };
    let names = files.iter().map(|it| it.name.as_str());
    let has_models = pairs.iter().any(|(name, body)| kind_of(name, body).is_model());
    let document = report::report(&report, names, has_models);
    (document, report.is_rejected())
}

pub(super) async fn draw(call: Call) -> Result<Answer, Problem> {
    let mut parts = Parts::read(call, &["files", "layout", "page", "process"]).await?;
    let process = parts.text("process").map(str::to_owned);
    let how = (parts.flag("layout")?, parts.flag("page")?);
    picture::drawn(parts.files.remove(0), process, how, None).await
}

pub(super) async fn retire(call: Call) -> Result<Answer, Problem> {
    let kind = call.text("kind")?;
    let found = meant(&call, call.count("version")?, kind.as_deref())?;
    let missing = || Refusal::not_found(format!("nothing is deployed as {}", found.id()));
    call.desk.retire_numbered(found.key(), call.yes("delete_history")?, missing).await?;
    let definitions = call.desk.definitions();
    Ok(Answer::Document(found.document(&definitions, None)))
}

pub(super) async fn undeploy(call: Call) -> Result<Answer, Problem> {
    let found = found(&call)?;
    if call.parameter("version").is_none() {
        return Err(Refusal::invalid("which version is to be removed? say version").into());
    }
    let engine = call.desk.engine().clone();
    let (id, version) = (Name::clone(found.id()), found.version());
    let is_decision = matches!(found, Found::Decision(_));
    if matches!(found, Found::Other(_)) {
        return Err(Refusal::new(
            Outcome::InvalidState,
            "forms and resources are retired, not removed",
        )
        .into());
    }
    let removed = off_the_executor(move || {
        let removed: Result<(), Error> = if is_decision {
            engine.undeploy_decision(&id, version)
        } else {
            engine.undeploy(&id, version)
        };
        Ok(removed?)
    });
    removed.await?;
    Ok(Answer::Document(json::object([
        ("definition", Name::clone(found.id()).into()),
        ("version", found.version().into()),
        ("kind", if is_decision { "decision".into() } else { Value::Null }),
        ("removed", true.into()),
    ])))
}
