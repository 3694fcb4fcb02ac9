//! Files become definitions.

use std::{collections::BTreeSet, sync::Arc};

use travertine_bpmn::{Diagnostic, NOT_EXECUTABLE, Process, Report, Severity};
use travertine_func::WorkflowDefinition;
use travertine_kernel::{Plan, plan::Element};
use travertine_store::{
    Deployed, Deployment as Stored, Error as StoreError, Resource, ShardId, Store,
    codec::record::{Record, decode_records},
    view::{Filter, Query, Table},
};
use travertine_value::{Map, Name, Program};

use super::{
    Engine, Pending,
    load::{is_function, load_beside},
};
use crate::{
    DecisionDefinition, DecisionModel, Definition, Definitions, Error, Models, Timestamp,
    definition::start_triggers,
    model::{is_decision, read_models},
    request::{AdoptRequest, ExpectRequest},
};

/// A file to deploy.
///
/// ```
/// # use travertine_runtime::engine::File;
/// let file = File { name: "order.bpmn".into(), body: b"<definitions/>".to_vec() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, for messages. Deploying the same thing under another name changes nothing.
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
    /// The processes in the files, as they are deployed now.
    pub definitions: Vec<Arc<Definition>>,
    /// The decisions in the files, as they are deployed now.
    pub decisions: Vec<Arc<DecisionDefinition>>,
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
        let definitions = self.definitions();
        let named: Vec<(&str, &[u8])> =
            files.iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect();
        let Models { report, decisions } = read_models(&named, Some(&*definitions), now);
        if report.is_rejected() {
            let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            return Err(Error::Refused { diagnostics: errors.map(ToString::to_string).collect() });
        }
        if !report.can_run() {
            let said = report.diagnostics.iter().filter(|it| it.code == NOT_EXECUTABLE);
            let said = said.map(ToString::to_string);
            return Err(Error::Refused { diagnostics: said.collect() });
        }
        let used = || before.iter().flat_map(|it| &it.definitions);
        let mut key = used().map(|it| it.key).max().unwrap_or(0);
        let mut add = |id: Name, version: u32, tag: Option<Name>, resource: usize| {
            key += 1;
            let resource = u32::try_from(resource).expect("there are fewer than 2^32 files");
            Deployed { key, id, version, tag, resource, removed: false }
        };
        let processes = self.changed_processes(&report, files, &before, &decisions, now)?;
        let mut fresh = Fresh::default();
        for Candidate { process, same } in &processes {
            if same.is_some() {
                continue;
            }
            let id = Name::from(process.id.as_str());
            let versions = used().filter(|it| it.id == id).map(|it| it.version);
            let version = versions.max().unwrap_or(0) + 1;
            let resource = fresh.with_all(files, &process.file);
            fresh.added.push(add(id, version, process.plan.version_tag.clone(), resource));
        }
        for model in &decisions {
            let changed = model.decisions().iter();
            let changed =
                changed.filter(|it| definitions.unchanged_decision(&it.id, model).is_none());
            let changed: Vec<_> = changed.collect();
            let is_new = model.decisions().is_empty() && !definitions.has_file(model.files());
            if changed.is_empty() && !is_new {
                continue;
            }
            let resource = fresh.with_model(model);
            for it in changed {
                let id = format!("{}{}", Deployed::DECISION, it.id);
                let version = definitions.next_decision(&it.id);
                fresh.added.push(add(id.into(), version, it.tag.clone(), resource));
            }
        }
        let Fresh { added, resources } = fresh;
        let number = (!resources.is_empty())
            .then(|| before.iter().map(|it| it.number).max().unwrap_or(0) + 1);
        if let Some(number) = number {
            let (at, definitions) = (now.as_millis(), added);
            common.store.deploy(&Stored { number, at, resources, definitions })?;
            self.reload()?;
        }
        let now_there = self.definitions();
        let latest = |id: &str| now_there.find(id).map(Arc::clone);
        let decided = decisions.iter().flat_map(|it| it.decisions());
        Ok(Deployment {
            number,
            definitions: processes.iter().filter_map(|it| latest(&it.process.id)).collect(),
            decisions: decided
                .filter_map(|it| now_there.decision(&it.id))
                .map(Arc::clone)
                .collect(),
            diagnostics: report.diagnostics,
        })
    }

    /// The processes of a report that can be run, each with the version that says the same, where that is the
    /// latest. One that is bound to what is deployed with it changes with that.
    fn changed_processes<'a>(
        &self,
        report: &'a Report,
        files: &[File],
        before: &[Stored],
        decisions: &[Arc<DecisionModel>],
        now: Timestamp,
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let definitions = self.definitions();
        let mut found = Vec::new();
        for process in report.processes.iter().filter(|it| it.executable) {
            let id = Name::from(process.id.as_str());
            let latest = definitions.find(&id);
            if latest.is_some_and(|it| it.is_function()) {
                return Err(taken(&id));
            }
            // It must be possible to tell when it starts.
            start_triggers(&id, &process.plan, now)?;
            let body = files.iter().find(|it| it.name == process.file).map(|it| &it.body);
            let same = latest.filter(|it| source(before, it.key).map(|it| &it.body) == body);
            found.push(Candidate { process, same: same.map(Arc::clone) });
        }
        let changed = decisions.iter().flat_map(|model| {
            let changed = |id: &str| definitions.unchanged_decision(id, model).is_none();
            model.decisions().iter().filter(move |it| changed(&it.id))
        });
        let decisions: BTreeSet<&str> =
            changed.flat_map(|it| [&*it.id, &*it.name]).filter(|it| !it.is_empty()).collect();
        loop {
            let changed = found.iter().filter(|it| it.same.is_none());
            let processes: BTreeSet<&str> = changed.map(|it| it.process.id.as_str()).collect();
            let follows = |it: &Candidate<'_>| {
                it.same.is_some() && is_bound_to(&it.process.plan, &decisions, &processes)
            };
            let Some(at) = found.iter().position(follows) else { return Ok(found) };
            found[at].same = None;
        }
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
        let known = self.definitions();
        let (fresh, _) = load_beside(&*self.inner.common.store, &self.inner.functions, &known)?;
        let fresh = Arc::new(fresh);
        // Whoever has it may ask any shard for it, so all shards know of it before any has it.
        let known = self.router().ask_each(&ExpectRequest { definitions: Arc::clone(&fresh) });
        known.into_iter().try_for_each(Pending::wait)?;
        let mut definitions =
            self.inner.definitions.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *definitions = Arc::clone(&fresh);
        drop(definitions);
        self.tell_shards(&fresh);
        Ok(())
    }

    fn tell_shards(&self, definitions: &Arc<Definitions>) {
        self.router().tell_each(&AdoptRequest { definitions: Arc::clone(definitions) });
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

    /// Removes a version of a decision. A business rule task that means it becomes an incident; where it was
    /// the latest, the one before it is again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.undeploy_decision("approver", 1)?;
    /// # Ok(()) }
    /// ```
    pub fn undeploy_decision(&self, id: &str, version: u32) -> Result<(), Error> {
        let _one_at_a_time =
            self.inner.deploying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let definitions = self.definitions();
        let versions = definitions.decision_versions(id);
        let Some(decision) = versions.iter().find(|it| it.version == version) else {
            return Err(Error::no_such_definition(&format!("decision {id} version {version}")));
        };
        if decision.key == 0 {
            let reason = format!(
                "decision {id} version {version} was deployed before decisions had versions of their own; it stays"
            );
            return Err(Error::Refused { diagnostics: vec![reason] });
        }
        self.inner.common.store.undeploy(&[decision.key])?;
        self.reload()
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

/// A process that may have changed.
struct Candidate<'a> {
    process: &'a Process,
    /// The latest version, where it says the same.
    same: Option<Arc<Definition>>,
}

/// What is about to be deployed.
#[derive(Default)]
struct Fresh {
    added: Vec<Deployed>,
    resources: Vec<Resource>,
}

impl Fresh {
    /// Has all files of processes, which may refer to each other, and says where the one of that name is.
    fn with_all(&mut self, files: &[File], name: &str) -> usize {
        if self.resources.is_empty() {
            let processes = files.iter().filter(|it| !is_decision(&it.name, &it.body));
            let resource = |it: &File| Resource { name: it.name.clone(), body: it.body.clone() };
            self.resources.extend(processes.map(resource));
        }
        self.resources.iter().position(|it| it.name == name).unwrap_or(0)
    }

    /// Has a DMN file with those that it imports, and says where it is: what a decision means shall not
    /// depend on other deployments.
    fn with_model(&mut self, model: &DecisionModel) -> usize {
        let mut places = model.files().iter().map(|file| {
            let is_it = |it: &Resource| it.name == file.name && it.body == file.body;
            self.resources.iter().position(is_it).unwrap_or_else(|| {
                self.resources.push(Resource { name: file.name.clone(), body: file.body.clone() });
                self.resources.len() - 1
            })
        });
        let own = places.next().unwrap_or(0);
        places.for_each(drop);
        own
    }
}

/// Whether a process insists on what is deployed with it, and that is one of these.
fn is_bound_to(plan: &Plan, decisions: &BTreeSet<&str>, processes: &BTreeSet<&str>) -> bool {
    let is_one = |program: &Program, changed: &BTreeSet<&str>| {
        if !program.reads().is_some_and(<[Name]>::is_empty) {
            // It may be any of them.
            return !changed.is_empty();
        }
        let id = program.value(&Map::new(), &plan.limits);
        id.is_ok_and(|it| it.as_str().is_some_and(|it| changed.contains(it)))
    };
    plan.nodes.iter().any(|it| match &it.element {
        Element::BusinessRule(it) if it.binding.as_deref() == Some("deployment") => {
            is_one(&it.decision, decisions)
        }
        Element::Call(it) if it.binding.as_deref() == Some("deployment") => {
            is_one(&it.definition, processes)
        }
        _ => false,
    })
}

/// The file that a definition was deployed with.
fn source(before: &[Stored], key: u64) -> Option<&Resource> {
    before.iter().find_map(|deployment| {
        let definition = deployment.definitions.iter().find(|it| it.key == key && !it.removed)?;
        deployment.resources.get(definition.resource as usize)
    })
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Mutex, mpsc},
        thread,
    };

    use super::*;
    use crate::engine::{Observer, Options, one_task};

    #[test]
    fn nobody_has_what_is_deployed_before_all_shards_know_it() {
        let ((stands, has_stopped), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
        // A shard that does something stands still until it may go on.
        let gate = Mutex::new((stands, goes_on));
        let observer = Observer(Arc::new(move |_| {
            let (stands, goes_on) = &*gate.lock().unwrap();
            stands.send(()).unwrap();
            goes_on.recv().unwrap();
        }));
        let options = Options { shards: 2, observer: Some(observer), ..Options::default() };
        let engine = Engine::in_memory(options).unwrap();
        engine.deploy(&[one_task()]).unwrap();
        let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            targetNamespace="t"><process id="q" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>
            </definitions>"#;
        let files = [File { name: "q.bpmn".to_owned(), body: model.into() }];
        let slow = engine.start("p").begin();
        has_stopped.recv().unwrap();
        thread::scope(|scope| {
            let deployed = scope.spawn(|| engine.deploy(&files).unwrap());
            let waits = || engine.inner.common.queues.iter().any(|it| it.len() > 0);
            while !waits() {
                assert!(!deployed.is_finished());
                thread::yield_now();
            }
            assert!(engine.definitions().find("q").is_none());
            go_on.send(()).unwrap();
        });
        slow.wait().unwrap();
        go_on.send(()).unwrap();
        engine.start("q").wait().unwrap();
    }
}
