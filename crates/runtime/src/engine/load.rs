//! What a store has deployed becomes definitions again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use travertine_bpmn::{Report, Severity};
use travertine_func::Functions;
use travertine_kernel::Plan;
use travertine_store::{Deployed as StoredOne, DeployedAs, Deployment as Stored, Resource, Store};
use travertine_value::Name;

use crate::{
    DecisionModel, Definition, DefinitionKey, Definitions, Deployed, DeployedKind, Error,
    Timestamp,
    decision::{DmnFile, Partly},
    definition::{StartTrigger, start_triggers},
    model::kind_of,
};

/// What is deployed, as an engine and its shards know it.
#[derive(Debug)]
pub(super) struct Current {
    now: Arc<Definitions>,
    /// What shards were told last. It may bar something that is about to go.
    told: Arc<Definitions>,
    /// What all shards must know before any has it.
    coming: Option<Arc<Definitions>>,
}

impl Current {
    pub(super) fn new(now: &Arc<Definitions>) -> Self {
        Self { now: Arc::clone(now), told: Arc::clone(now), coming: None }
    }

    pub(super) fn now(&self) -> Arc<Definitions> {
        Arc::clone(&self.now)
    }

    /// What a shard has that comes now.
    pub(super) fn told(&self) -> Arc<Definitions> {
        Arc::clone(&self.told)
    }

    /// What it must know besides.
    pub(super) fn coming(&self) -> Option<Arc<Definitions>> {
        self.coming.clone()
    }

    /// Shards are about to be told this.
    pub(super) fn tell(&mut self, told: &Arc<Definitions>) {
        self.told = Arc::clone(told);
    }

    /// This will be deployed in a moment.
    pub(super) fn expect(&mut self, coming: &Arc<Definitions>) {
        self.coming = Some(Arc::clone(coming));
    }
}

/// Everything that a store has deployed, and what of it cannot be read: others go on without it, and its
/// instances are halted. Of functions the versions that this program has come last, so that they are the
/// latest.
pub(super) fn load(
    store: &dyn Store,
    functions: &Functions,
    script_time_max: Duration,
) -> Result<(Definitions, Vec<String>), Error> {
    let mut definitions = Definitions::with_script_time(script_time_max);
    let unreadable = load_new(store, functions, &mut definitions)?;
    Ok((definitions, unreadable))
}

/// Takes over what was deployed since. What is known is not read again.
pub(super) fn load_new(
    store: &dyn Store,
    functions: &Functions,
    definitions: &mut Definitions,
) -> Result<Vec<String>, Error> {
    let mut unreadable = Vec::new();
    for deployment in store.deployments(definitions.last_deployment())? {
        definitions.note_deployment(deployment.number);
        load_others(&deployment, definitions);
        load_decisions(&deployment, definitions);
        load_definitions(&deployment, definitions, &mut unreadable);
    }
    let here = |it: &Definition| functions.find_workflow(&it.id, Some(it.version)).is_some();
    definitions.prefer(|it| it.is_function() && here(it));
    Ok(unreadable)
}

/// Takes over processes and functions of a deployment.
fn load_definitions(
    deployment: &Stored,
    definitions: &mut Definitions,
    unreadable: &mut Vec<String>,
) {
    let mut report = None;
    let at = deployment.at;
    for deployed in of_kind(deployment, DeployedAs::Definition) {
        if deployed.removed {
            let StoredOne { key, id, version, .. } = deployed;
            definitions.note_removed(id, *version, deployment.number, *key);
            continue;
        }
        let resource = deployment.resources.get(deployed.resource as usize);
        let is_function = resource.is_some_and(|it| is_function(&it.name));
        let kind = if is_function { DeployedKind::Function } else { DeployedKind::Process };
        let read = if is_function {
            Ok((Arc::new(Plan::function(&deployed.id)), Vec::new()))
        } else {
            let report = report.get_or_insert_with(|| read(deployment, at));
            plan_of(report, &deployed.id, at)
        };
        let read = read.map(|(plan, starts)| Definition {
            key: deployed.key,
            id: Name::clone(&deployed.id),
            tag: deployed.tag.clone(),
            version: deployed.version,
            deployment: deployment.number,
            plan,
            starts,
        });
        let name = read.as_ref().ok().and_then(Definition::name);
        definitions.note_deployed(row(deployment, deployed, kind, name));
        match read {
            Ok(definition) => definitions.insert(definition),
            Err(why) => {
                let (id, version, number) = (&deployed.id, deployed.version, deployment.number);
                let why = format!(
                    "version {version} of {id}, deployment {number}, cannot be read: {why}"
                );
                definitions.note_unreadable(deployed.key, &why);
                unreadable.push(why);
            }
        }
    }
}

/// What a deployment has brought of a kind.
fn of_kind(deployment: &Stored, what: DeployedAs) -> impl Iterator<Item = &StoredOne> {
    deployment.definitions.iter().filter(move |it| it.what().0 == what)
}

/// Something deployed, apart from what is in it.
fn row(deployment: &Stored, it: &StoredOne, kind: DeployedKind, name: Option<Name>) -> Deployed {
    let file = deployment.resources.get(it.resource as usize).map_or("", |it| it.name.as_str());
    Deployed {
        key: it.key,
        kind,
        id: it.what().1.into(),
        version: it.version,
        tag: it.tag.clone(),
        name,
        file: file.into(),
        deployment: deployment.number,
        at: deployment.at,
        requirements: None,
        retired: it.retired,
    }
}

/// The processes of a deployment.
fn read(deployment: &Stored, at: Timestamp) -> Report {
    let files = deployment.resources.iter();
    let files: Vec<(&str, &[u8])> = files
        .filter(|it| kind_of(&it.name, &it.body) == DeployedKind::Process)
        .map(|it| (it.name.as_str(), it.body.as_slice()))
        .collect();
    let options = travertine_bpmn::Options { now: at, ..travertine_bpmn::Options::patient() };
    travertine_bpmn::read(&files, &options)
}

/// Takes over forms and other files of a deployment.
fn load_others(deployment: &Stored, definitions: &mut Definitions) {
    for it in &deployment.definitions {
        let kind = match it.what().0 {
            DeployedAs::Form => DeployedKind::Form,
            DeployedAs::Resource => DeployedKind::Resource,
            DeployedAs::Definition | DeployedAs::Decision | DeployedAs::Requirements => continue,
        };
        if it.removed {
            definitions.note_removed(&it.id, it.version, deployment.number, it.key);
        } else {
            definitions.note_deployed(row(deployment, it, kind, None));
        }
    }
}

/// Takes over the decisions of a deployment. They are compiled when they are needed.
fn load_decisions(deployment: &Stored, definitions: &mut Definitions) {
    let number = deployment.number;
    let is_dmn = |it: &Resource| kind_of(&it.name, &it.body) == DeployedKind::Decision;
    let files: Vec<Option<Arc<DmnFile>>> = deployment
        .resources
        .iter()
        .map(|it| is_dmn(it).then(|| DmnFile::new(&it.name, &it.body)))
        .collect();
    let given: Vec<Arc<DmnFile>> = files.iter().flatten().cloned().collect();
    let of_dmn = [DeployedAs::Decision, DeployedAs::Requirements];
    if !deployment.definitions.iter().any(|it| of_dmn.contains(&it.what().0)) {
        // Older stores list no decisions: all that their files define was deployed.
        let library = definitions.decision_files().rev();
        let others: Vec<Arc<DmnFile>> = given.iter().chain(library).cloned().collect();
        for file in &given {
            let model = DecisionModel::new(file, &others);
            for named in model.decisions() {
                if definitions.unchanged_decision(&named.id, &model).is_none() {
                    let version = definitions.next_decision(&named.id);
                    let key = DefinitionKey::NONE;
                    let added = Partly::of(number, version, key, named).with(&model);
                    definitions.insert_decision(Arc::new(added));
                }
            }
        }
    }
    let mut models: BTreeMap<u32, Arc<DecisionModel>> = BTreeMap::new();
    let mut graphs: BTreeMap<u32, DefinitionKey> = BTreeMap::new();
    let all = of_dmn.iter().rev().flat_map(|what| of_kind(deployment, *what));
    for it in all {
        if it.removed {
            definitions.note_removed(&it.id, it.version, number, it.key);
            continue;
        }
        let Some(file) = files.get(it.resource as usize).and_then(Option::as_ref) else { continue };
        let model = models.entry(it.resource).or_insert_with(|| DecisionModel::new(file, &given));
        let (what, id) = it.what();
        if what == DeployedAs::Requirements {
            graphs.insert(it.resource, it.key);
            let name = model.requirements().1;
            definitions.note_deployed(row(deployment, it, DeployedKind::Requirements, name));
            definitions.keep_model(it.key, model);
            continue;
        }
        let (id, tag) = (Name::from(id), it.tag.clone());
        let part = Partly { key: it.key, id, tag, version: it.version, deployment: number };
        let decision = Arc::new(part.with(model));
        let requirements = graphs.get(&it.resource).copied();
        let requirements = requirements.or_else(|| definitions.graph_of(model).map(|it| it.key));
        let row = row(deployment, it, DeployedKind::Decision, decision.name());
        definitions.note_deployed(Deployed { requirements, ..row });
        definitions.insert_decision(decision);
    }
    for it in &given {
        definitions.keep_file(number, it);
    }
}

/// What a file that was accepted once says of a process, or why this program does not accept it.
fn plan_of(
    report: &Report,
    id: &Name,
    at: Timestamp,
) -> Result<(Arc<Plan>, Vec<StartTrigger>), String> {
    let Some(process) = report.processes.iter().find(|it| *it.id == **id) else {
        let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        return Err(if errors.is_empty() {
            "its file does not define it".to_owned()
        } else {
            errors.join("; ")
        });
    };
    let starts = start_triggers(id, &process.plan, at).map_err(|error| error.to_string())?;
    Ok((Arc::clone(&process.plan), starts))
}

/// Whether a resource of that name is a function.
pub(super) fn is_function(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|it| it == "function")
}
