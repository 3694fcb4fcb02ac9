//! Files become definitions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_bpmn::{Diagnostic, NOT_EXECUTABLE, Severity};
use travertine_expr::Name;
use travertine_func::{Functions, WorkflowDefinition};
use travertine_kernel::Plan;
use travertine_store::{
    Deployed, Deployment as Stored, Error as StoreError, Resource, ShardId, Store,
    codec::record::{Record, decode_records},
    view::{Filter, Query, Table},
};

use super::{Engine, Pending, threads::Input};
use crate::{
    Definition, Definitions, Error, Timestamp,
    definition::{StartTrigger, start_triggers},
    model::{is_decision, read_models},
};

/// A file to deploy.
///
/// ```
/// # use travertine_runtime::engine::File;
/// let file = File { name: "order.bpmn".into(), body: b"<definitions/>".to_vec() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name; `.dmn` for decisions, anything else for processes.
    pub name: String,
    /// What is in it.
    pub body: Vec<u8>,
}

/// What came of deploying files together.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Deployment, File};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let body = std::fs::read("order.bpmn").unwrap_or_default();
/// let deployment: Deployment = engine.deploy(&[File { name: "order.bpmn".into(), body }])?;
/// for it in &deployment.definitions {
///     println!("{} version {}", it.id, it.version);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its number; `None` where all of it was deployed before.
    pub number: Option<u64>,
    /// What the files define, as it is deployed now.
    pub definitions: Vec<Arc<Definition>>,
    /// What there is to say about the files.
    pub diagnostics: Vec<Diagnostic>,
}

/// How often deploying is tried when others deploy at the same time.
const TRIES: usize = 10;

/// How many entries are looked at together.
const PAGE: usize = 4_096;

impl Engine {
    /// Deploys files together: all of them, or none. What has not changed since it was last deployed
    /// keeps its version.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::File;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let read = |name: &str| File { name: name.into(), body: std::fs::read(name).unwrap_or_default() };
    /// engine.deploy(&[read("order.bpmn"), read("discount.dmn")])?;
    /// # Ok(()) }
    /// ```
    #[tracing::instrument(skip_all, fields(files = files.len()))]
    pub fn deploy(&self, files: &[File]) -> Result<Deployment, Error> {
        let mut names = BTreeSet::new();
        if let Some(twice) = files.iter().find(|it| !names.insert(&it.name)) {
            let reason = format!("two files are called {}; rename one of them", twice.name);
            return Err(Error::Refused { diagnostics: vec![reason] });
        }
        let inner = &self.inner;
        let _one_at_a_time =
            inner.deploying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for _ in 0..TRIES {
            match self.try_deploy(files) {
                Err(Error::Store(StoreError::Conflict { .. })) => self.reload()?,
                Ok(deployment) => {
                    self.welcome_code()?;
                    return Ok(deployment);
                }
                refused => return refused,
            }
        }
        Err(Error::Busy { reason: "others deploy the same definitions; try again".to_owned() })
    }

    fn try_deploy(&self, files: &[File]) -> Result<Deployment, Error> {
        let common = &self.inner.common;
        let now = common.clock.now();
        let before = common.store.deployments(0)?;
        let known = decisions_of(&before);
        let report = read(files, &known, now);
        if report.is_rejected() {
            let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            return Err(Error::Refused { diagnostics: errors.map(ToString::to_string).collect() });
        }
        if !report.can_run() {
            let said = report.diagnostics.iter().filter(|it| it.code == NOT_EXECUTABLE);
            let said = said.map(ToString::to_string);
            return Err(Error::Refused { diagnostics: said.collect() });
        }
        let definitions = self.definitions();
        let mut unchanged = Vec::new();
        let mut added = Vec::new();
        let number = before.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        let used = before.iter().flat_map(|it| &it.definitions);
        let mut key = used.clone().map(|it| it.key).max().unwrap_or(0);
        let decisions_changed = files
            .iter()
            .filter(|it| is_decision(&it.name))
            .any(|it| known.get(it.name.as_str()) != Some(&it.body.as_slice()));
        for process in report.processes.iter().filter(|it| it.executable) {
            let id = Name::from(process.id.as_str());
            if definitions.find(&id).is_some_and(|it| it.is_function()) {
                return Err(taken(&id));
            }
            let body = files.iter().find(|it| it.name == process.file).map(|it| &it.body);
            let latest = definitions.find(&id);
            let same = latest.filter(|it| {
                !decisions_changed && source(&before, it.key).map(|it| &it.body) == body
            });
            if let Some(same) = same {
                unchanged.push(Arc::clone(same));
                continue;
            }
            key += 1;
            let versions = used.clone().filter(|it| it.id == id).map(|it| it.version);
            let resource = files.iter().position(|it| it.name == process.file).unwrap_or(0);
            added.push(Deployed {
                key,
                id: Name::clone(&id),
                version: versions.max().unwrap_or(0) + 1,
                tag: process.plan.version_tag.clone(),
                resource: u32::try_from(resource).expect("there are fewer than 2^32 files"),
                removed: false,
            });
            // It must be possible to tell when it starts.
            start_triggers(&id, &process.plan, now)?;
        }
        if added.is_empty() && !decisions_changed {
            let diagnostics = report.diagnostics;
            return Ok(Deployment { number: None, definitions: unchanged, diagnostics });
        }
        let keys: Vec<u64> = added.iter().map(|it| it.key).collect();
        let resources =
            files.iter().map(|it| Resource { name: it.name.clone(), body: it.body.clone() });
        common.store.deploy(&Stored {
            number,
            at: now.as_millis(),
            resources: resources.collect(),
            definitions: added,
        })?;
        self.reload()?;
        let definitions = self.definitions();
        let fresh = keys.iter().filter_map(|it| definitions.get(*it)).map(Arc::clone);
        let all = unchanged.into_iter().chain(fresh).collect();
        Ok(Deployment { number: Some(number), definitions: all, diagnostics: report.diagnostics })
    }

    /// Deploys a function that every program has, where the store does not know it yet.
    pub(super) fn deploy_own(&self, function: &WorkflowDefinition) -> Result<(), Error> {
        if self.definitions().find(function.name).is_none() {
            deploy_functions(&**self.store(), &[function], self.now())?;
            self.reload()?;
        }
        Ok(())
    }

    /// Takes over what the store has.
    fn reload(&self) -> Result<(), Error> {
        let (fresh, _) = load(&*self.inner.common.store, &self.inner.functions)?;
        let fresh = Arc::new(fresh);
        // Whoever has it may ask any shard for it, so all shards know of it before any has it.
        let known = self.tell_all(|told| Input::Expect(Arc::clone(&fresh), told));
        known.into_iter().try_for_each(Pending::wait)?;
        let mut definitions =
            self.inner.definitions.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *definitions = Arc::clone(&fresh);
        drop(definitions);
        self.tell_shards(&fresh);
        Ok(())
    }

    fn tell_shards(&self, definitions: &Arc<Definitions>) {
        for queue in &self.inner.common.queues {
            queue.tell(Input::Adopt(Arc::clone(definitions)));
        }
    }

    /// The file that a definition was deployed with, by the definition's key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(order) = engine.definitions().find("order") {
    ///     println!("{}", engine.file_of(order.key)?.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn file_of(&self, definition: u64) -> Result<File, Error> {
        let deployments = self.inner.common.store.deployments(0)?;
        let found = source(&deployments, definition);
        let found = found.map(|it| File { name: it.name.clone(), body: it.body.clone() });
        found.ok_or_else(|| Error::no_such_definition(&format!("key {definition}")))
    }

    /// Removes a version of a definition that no instance needs, running or ended.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // It is refused while an instance needs it.
    /// engine.undeploy("order", 1)?;
    /// # Ok(()) }
    /// ```
    pub fn undeploy(&self, id: &str, version: u32) -> Result<(), Error> {
        let _one_at_a_time =
            self.inner.deploying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let definitions = self.definitions();
        let Some(definition) = definitions.versions(id).iter().find(|it| it.version == version)
        else {
            return Err(Error::no_such_definition(&format!("{id} version {version}")));
        };
        self.check_unused(id, version)?;
        // One that is started meanwhile would have nothing to run after a restart.
        self.tell_shards(&Arc::new(definitions.leaving(definition.key)));
        let gone = self.check_unused(id, version).and_then(|()| {
            self.check_unmentioned(definition)?;
            self.inner.common.store.undeploy(&[definition.key]).map_err(Error::from)
        });
        self.reload()?;
        gone
    }

    /// Whether a version has no instances, running or ended.
    fn check_unused(&self, id: &str, version: u32) -> Result<(), Error> {
        self.flush_now()?;
        let users = Query {
            table: Table::Instances,
            filters: vec![Filter::Definition(id.into()), Filter::Version(version)],
            descending: false,
            after: None,
            limit: 1,
        };
        let users = self.read_views(|store| Ok(store.query(&users)?))?;
        if users.rows.is_empty() {
            return Ok(());
        }
        Err(Error::InUse { reason: format!("version {version} of {id} still has instances") })
    }
}

impl Engine {
    /// Whether no instance has run it before it went on by another version: its log is read by it.
    fn check_unmentioned(&self, definition: &Definition) -> Result<(), Error> {
        let store = self.store();
        let mentions = |it: &Record| match it {
            Record::Created(it) => it.definition == definition.key,
            Record::Migrated { definition: key } => *key == definition.key,
            _ => false,
        };
        for shard in (0..self.shards()).map(ShardId) {
            let mut after = 0;
            loop {
                let entries = store.entries(shard, after, PAGE)?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in &entries {
                    let place = || format!("entry {} of shard {shard}", entry.seq);
                    let records = decode_records(&entry.body)
                        .map_err(|error| Error::damaged(place(), &error))?;
                    if records.iter().any(mentions) {
                        let Definition { id, version, .. } = definition;
                        let instance = entry.instance;
                        let reason = format!(
                            "instance {instance} ran version {version} of {id} once, and its history needs it"
                        );
                        return Err(Error::InUse { reason });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Something else has that id.
fn taken(id: &str) -> Error {
    let reason = format!("{id} is a process and a function; give one of them another name");
    Error::Refused { diagnostics: vec![reason] }
}

fn is_function(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|it| it == "function")
}

/// Deploys those functions that the store does not know.
pub(super) fn deploy_functions(
    store: &dyn Store,
    functions: &[&WorkflowDefinition],
    now: Timestamp,
) -> Result<(), Error> {
    for _ in 0..TRIES {
        let before = store.deployments(0)?;
        let used = before.iter().flat_map(|deployment| {
            let all = deployment.definitions.iter().filter(|it| !it.removed);
            all.map(|it| (it, deployment.resources.get(it.resource as usize)))
        });
        let used: Vec<(&Deployed, bool)> =
            used.map(|(it, from)| (it, from.is_some_and(|it| is_function(&it.name)))).collect();
        let mut key = used.iter().map(|(it, _)| it.key).max().unwrap_or(0);
        let removed = before.iter().flat_map(|it| &it.definitions).map(|it| it.key).max();
        key = key.max(removed.unwrap_or(0));
        let (mut resources, mut definitions) = (Vec::new(), Vec::new());
        for function in functions {
            let (name, version) = (function.name, function.version);
            if used.iter().any(|(it, function)| &*it.id == name && !function) {
                return Err(taken(name));
            }
            if used.iter().any(|(it, _)| &*it.id == name && it.version == version) {
                continue;
            }
            key += 1;
            definitions.push(Deployed {
                key,
                id: name.into(),
                version,
                tag: None,
                resource: u32::try_from(resources.len()).expect("there are few functions"),
                removed: false,
            });
            let body = function.parameters.join("\n").into_bytes();
            resources.push(Resource { name: format!("{name}.{version}.function"), body });
        }
        if definitions.is_empty() {
            return Ok(());
        }
        let number = before.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        match store.deploy(&Stored { number, at: now.as_millis(), resources, definitions }) {
            Err(StoreError::Conflict { .. }) => {}
            outcome => return outcome.map_err(Error::from),
        }
    }
    Err(Error::Busy { reason: "others deploy the same functions; try again".to_owned() })
}

/// Everything that a store has deployed, and what of it cannot be read: others go on without it, and its
/// instances are halted. Of functions the versions that this program has come last, so that they are the
/// latest.
pub(super) fn load(
    store: &dyn Store,
    functions: &Functions,
) -> Result<(Definitions, Vec<String>), Error> {
    let mut definitions = Definitions::default();
    let mut unreadable = Vec::new();
    let mut decisions: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for deployment in store.deployments(0)? {
        for file in deployment.resources.iter().filter(|it| is_decision(&it.name)) {
            decisions.insert(file.name.clone(), file.body.clone());
        }
        let wanted: Vec<&Deployed> =
            deployment.definitions.iter().filter(|it| !it.removed).collect();
        if wanted.is_empty() {
            continue;
        }
        let files: Vec<File> = deployment
            .resources
            .iter()
            .filter(|it| !is_function(&it.name))
            .map(|it| File { name: it.name.clone(), body: it.body.clone() })
            .collect();
        let known: BTreeMap<&str, &[u8]> =
            decisions.iter().map(|(name, body)| (name.as_str(), body.as_slice())).collect();
        let at = Timestamp::from_millis(deployment.at);
        let report = read(&files, &known, at);
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
            match plan_of(&report, &deployed.id, at) {
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

/// What a file that was accepted once says of a process, or why this program does not accept it.
fn plan_of(
    report: &travertine_bpmn::Report,
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

/// The latest decisions that were deployed, by the name of their file.
fn decisions_of(before: &[Stored]) -> BTreeMap<&str, &[u8]> {
    let files = before.iter().flat_map(|it| &it.resources).filter(|it| is_decision(&it.name));
    files.map(|it| (it.name.as_str(), it.body.as_slice())).collect()
}

/// The file that a definition was deployed with.
fn source(before: &[Stored], key: u64) -> Option<&Resource> {
    before.iter().find_map(|deployment| {
        let definition = deployment.definitions.iter().find(|it| it.key == key && !it.removed)?;
        deployment.resources.get(definition.resource as usize)
    })
}

fn read(files: &[File], known: &BTreeMap<&str, &[u8]>, now: Timestamp) -> travertine_bpmn::Report {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect();
    read_models(&files, known, now)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::engine::Options;

    #[test]
    fn nobody_has_what_is_deployed_before_all_shards_know_it() {
        let engine = Engine::in_memory(Options { shards: 2, ..Options::default() }).unwrap();
        let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>
            </definitions>"#;
        let files = [File { name: "p.bpmn".to_owned(), body: model.into() }];
        let ((stands, has_stopped), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
        let slow = engine.ask(ShardId(1), move |_| {
            stands.send(()).unwrap();
            goes_on.recv().unwrap();
            Ok(())
        });
        has_stopped.recv().unwrap();
        thread::scope(|scope| {
            let deployed = scope.spawn(|| engine.deploy(&files).unwrap());
            while engine.inner.common.queues[1].len() == 0 {
                assert!(!deployed.is_finished());
                thread::yield_now();
            }
            assert!(engine.definitions().find("p").is_none());
            go_on.send(()).unwrap();
        });
        slow.wait().unwrap();
        engine.start("p").wait().unwrap();
    }
}
