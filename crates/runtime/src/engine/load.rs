//! What a store has deployed becomes definitions again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use travertine_bpmn::{Report, Severity};
use travertine_func::Functions;
use travertine_kernel::Plan;
use travertine_store::{Deployment as Stored, Resource, Store};
use travertine_value::Name;

use crate::{
    DecisionDefinition, DecisionModel, Definition, Definitions, Error, Timestamp,
    decision::{DmnFile, Partly},
    definition::{StartTrigger, start_triggers},
    model::is_decision,
};

/// Everything that a store has deployed, and what of it cannot be read: others go on without it, and its
/// instances are halted. Of functions the versions that this program has come last, so that they are the
/// latest.
pub(super) fn load(
    store: &dyn Store,
    functions: &Functions,
    script_time_max: Duration,
) -> Result<(Definitions, Vec<String>), Error> {
    load_beside(store, functions, &Definitions::with_script_time(script_time_max))
}

/// The same. What is `known` is not read again.
pub(super) fn load_beside(
    store: &dyn Store,
    functions: &Functions,
    known: &Definitions,
) -> Result<(Definitions, Vec<String>), Error> {
    let mut definitions = known.like();
    let mut unreadable = Vec::new();
    for deployment in store.deployments(0)? {
        load_decisions(&deployment, &mut definitions, known);
        let (mut wanted, mut report) = (Vec::new(), None);
        for it in deployment.definitions.iter().filter(|it| it.decision().is_none()) {
            if it.removed {
                definitions.note_removed(&it.id, it.version, deployment.number);
            } else if let Some(known) = known.get(it.key) {
                definitions.insert(Arc::clone(known));
            } else {
                wanted.push(it);
            }
        }
        let at = Timestamp::from_millis(deployment.at);
        for deployed in wanted {
            let resource = deployment.resources.get(deployed.resource as usize);
            if resource.is_some_and(|it| is_function(&it.name)) {
                definitions.insert(Definition {
                    key: deployed.key,
                    id: Name::clone(&deployed.id),
                    tag: None,
                    version: deployed.version,
                    deployment: deployment.number,
                    plan: Arc::new(Plan::function(&deployed.id)),
                    starts: Vec::new(),
                });
                continue;
            }
            let report = report.get_or_insert_with(|| read(&deployment, at));
            match plan_of(report, &deployed.id, at) {
                Ok((plan, starts)) => definitions.insert(Definition {
                    key: deployed.key,
                    id: Name::clone(&deployed.id),
                    tag: deployed.tag.clone(),
                    version: deployed.version,
                    deployment: deployment.number,
                    plan,
                    starts,
                }),
                Err(why) => {
                    let (id, version, number) = (&deployed.id, deployed.version, deployment.number);
                    unreadable.push(format!(
                        "version {version} of {id}, deployment {number}, cannot be read: {why}"
                    ));
                }
            }
        }
    }
    let here = |it: &Definition| functions.find_workflow(&it.id, Some(it.version)).is_some();
    definitions.prefer(|it| it.is_function() && here(it));
    Ok((definitions, unreadable))
}

/// The processes of a deployment.
fn read(deployment: &Stored, at: Timestamp) -> Report {
    let files = deployment.resources.iter();
    let files: Vec<(&str, &[u8])> = files
        .filter(|it| !is_function(&it.name) && !is_decision(&it.name, &it.body))
        .map(|it| (it.name.as_str(), it.body.as_slice()))
        .collect();
    travertine_bpmn::read(&files, &travertine_bpmn::Options { now: at, ..Default::default() })
}

/// Takes over the decisions of a deployment. They are compiled when they are needed.
fn load_decisions(deployment: &Stored, definitions: &mut Definitions, known: &Definitions) {
    let number = deployment.number;
    let is_dmn = |it: &Resource| !is_function(&it.name) && is_decision(&it.name, &it.body);
    let files: Vec<Option<Arc<DmnFile>>> = deployment
        .resources
        .iter()
        .map(|it| is_dmn(it).then(|| DmnFile::new(&it.name, &it.body)))
        .collect();
    let given: Vec<Arc<DmnFile>> = files.iter().flatten().cloned().collect();
    if deployment.definitions.iter().all(|it| it.decision().is_none()) {
        // Older stores list no decisions: all that their files define was deployed.
        let library = definitions.decision_files().iter().rev();
        let others: Vec<Arc<DmnFile>> = given.iter().chain(library).cloned().collect();
        for file in &given {
            let model = DecisionModel::new(file, &others);
            for named in model.decisions() {
                if definitions.unchanged_decision(&named.id, &model).is_none() {
                    let version = definitions.next_decision(&named.id);
                    let added = Partly::of(number, version, 0, named).with(&model);
                    definitions.insert_decision(Arc::new(added));
                }
            }
        }
    }
    let mut models: BTreeMap<u32, Arc<DecisionModel>> = BTreeMap::new();
    for it in &deployment.definitions {
        let Some(id) = it.decision() else { continue };
        if it.removed {
            definitions.note_removed(&it.id, it.version, number);
            continue;
        }
        let is_it = |known: &&Arc<DecisionDefinition>| known.key == it.key;
        if let Some(known) = known.decision_versions(id).iter().find(is_it) {
            definitions.insert_decision(Arc::clone(known));
            continue;
        }
        let Some(file) = files.get(it.resource as usize).and_then(Option::as_ref) else { continue };
        let model = models.entry(it.resource).or_insert_with(|| DecisionModel::new(file, &given));
        let (id, tag) = (Name::from(id), it.tag.clone());
        let part = Partly { key: it.key, id, tag, version: it.version, deployment: number };
        definitions.insert_decision(Arc::new(part.with(model)));
    }
    for it in &given {
        definitions.keep_file(it);
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
