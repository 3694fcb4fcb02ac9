//! Files become definitions.

use std::{
    collections::BTreeSet,
    sync::{Arc, RwLockWriteGuard},
    thread,
};

use travertine_bpmn::{Diagnostic, NOT_EXECUTABLE, Process, Report, Severity};
use travertine_func::WorkflowDefinition;
use travertine_kernel::{FORM, FORM_BINDING, Plan, plan::Element};
use travertine_store::{
    Deployed as StoredOne, Deployment as Stored, Error as StoreError, Resource, ShardId, Store,
    codec::record::decode_records,
    record::Record,
    view::{Filter, Query, Table},
};
use travertine_value::{Map, Name, Program};

use super::{
    Engine,
    load::{Current, is_function, load_new},
};
use crate::{
    DecisionDefinition, DecisionModel, Definition, DefinitionKey, Definitions, Deployed,
    DeployedKind, Error, Models, Timestamp,
    definition::start_triggers,
    is_own,
    model::{OtherFile, kind_of, read_models},
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
    /// Its name, for messages. It may be a whole path. Deploying the same thing under another name changes
    /// nothing. How it ends says what is in it: `.bpmn`, `.dmn`, `.form`, and otherwise a resource, unless it
    /// is a model by its namespace.
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
    /// Its number. It has one also where all of it was deployed before.
    pub number: u64,
    /// Everything in the files, as it is deployed now: processes, decisions, decision requirements graphs,
    /// forms and other files. What has not changed has the number of an earlier deployment.
    pub deployed: Vec<Arc<Deployed>>,
    /// The processes in the files, as they are deployed now.
    pub definitions: Vec<Arc<Definition>>,
    /// The decisions in the files, as they are deployed now.
    pub decisions: Vec<Arc<DecisionDefinition>>,
    /// What there is to say about the files.
    pub diagnostics: Vec<Diagnostic>,
}

/// What came of retiring something.
///
/// ```no_run
/// # use travertine_runtime::{DefinitionKey, Engine, Error};
/// # use travertine_runtime::engine::Retired;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let Retired { keys, deleted } = engine.retire(DefinitionKey(7), true)?;
/// println!("{} retired, {deleted} ended instances deleted", keys.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// The keys of what is retired now: with a decision requirements graph, all of its decisions.
    pub keys: Vec<DefinitionKey>,
    /// How many instances that had ended were deleted.
    pub deleted: u64,
}

/// How often deploying is tried when others deploy at the same time.
const TRIES: usize = 10;

/// How often what does nothing twice is tried where the store is away: for about as long as reading waits.
const TRIES_AWAY: u32 = 10;

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
        if files.is_empty() {
            let reason = "there is nothing to deploy; name at least one file".to_owned();
            return Err(Error::Refused { diagnostics: vec![reason] });
        }
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
                Err(Error::Store(StoreError::Conflict { .. })) => self.load_new()?,
                Ok(deployment) => {
                    self.welcome_code().map_err(Error::after_a_part)?;
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
        let definitions = self.definitions();
        let named: Vec<(&str, &[u8])> =
            files.iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect();
        let Models { report, decisions, others } = read_models(&named, Some(&*definitions), now);
        if report.is_rejected() {
            let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            return Err(Error::Refused { diagnostics: errors.map(ToString::to_string).collect() });
        }
        if !report.can_run() {
            let said = report.diagnostics.iter().filter(|it| it.code == NOT_EXECUTABLE);
            let said = said.map(ToString::to_string);
            return Err(Error::Refused { diagnostics: said.collect() });
        }
        let mut key = definitions.last_key();
        let mut add = |kind: DeployedKind, id: &str, tag: Option<Name>, resource: usize| {
            key = key.next();
            let (version, id) =
                (definitions.next_version(kind, id), StoredOne::stored_id(kind.stored(), id));
            let resource = u32::try_from(resource).expect("there are fewer than 2^32 files");
            StoredOne { key, id, version, tag, resource, removed: false, retired: false }
        };
        let processes = self.changed_processes(&report, files, &decisions, &others, now)?;
        let mut fresh = Fresh::default();
        for Candidate { process, same } in &processes {
            if same.is_some() {
                continue;
            }
            let resource = fresh.with_all(files, &process.file);
            let tag = process.plan.version_tag.clone();
            fresh.added.push(add(DeployedKind::Process, &process.id, tag, resource));
        }
        for model in &decisions {
            let changed = model.decisions().iter();
            let changed =
                changed.filter(|it| definitions.unchanged_decision(&it.id, model).is_none());
            let changed: Vec<_> = changed.collect();
            let graph = definitions.unchanged_graph(model).is_none();
            if changed.is_empty() && !graph {
                continue;
            }
            let resource = fresh.with_model(model);
            if graph {
                let (id, _) = model.requirements();
                fresh.added.push(add(DeployedKind::Requirements, &id, None, resource));
            }
            for it in changed {
                fresh.added.push(add(DeployedKind::Decision, &it.id, it.tag.clone(), resource));
            }
        }
        for it in &others {
            if self.is_changed(it, files)? {
                let resource = fresh.with_one(files, &it.file);
                fresh.added.push(add(it.kind, &it.id, it.tag.clone(), resource));
            }
        }
        let Fresh { added, resources } = fresh;
        // One that brings nothing new is noted: it has a number, which no other one has.
        let (number, at) = (definitions.last_deployment() + 1, now);
        common.store.deploy(&Stored { number, at, resources, definitions: added })?;
        self.load_new().map_err(Error::after_a_part)?;
        let now_there = self.definitions();
        let mut deployment = Deployment {
            number,
            deployed: Vec::new(),
            definitions: Vec::new(),
            decisions: Vec::new(),
            diagnostics: report.diagnostics.clone(),
        };
        let latest = |kind, id: &str| now_there.latest_deployed(kind, id).map(Arc::clone);
        for it in &processes {
            deployment.definitions.extend(now_there.find(&it.process.id).map(Arc::clone));
            deployment.deployed.extend(latest(DeployedKind::Process, &it.process.id));
        }
        for model in &decisions {
            deployment.deployed.extend(now_there.unchanged_graph(model).map(Arc::clone));
            for it in model.decisions() {
                deployment.decisions.extend(now_there.decision(&it.id).map(Arc::clone));
                deployment.deployed.extend(latest(DeployedKind::Decision, &it.id));
            }
        }
        deployment.deployed.extend(others.iter().filter_map(|it| latest(it.kind, &it.id)));
        Ok(deployment)
    }

    /// Whether a form or another file is not the same as its latest version.
    fn is_changed(&self, it: &OtherFile, files: &[File]) -> Result<bool, Error> {
        let definitions = self.definitions();
        let Some(latest) = definitions.latest_deployed(it.kind, &it.id) else { return Ok(true) };
        let known = self.store().resource(latest.key)?;
        let given = files.iter().find(|file| file.name == it.file);
        Ok(known.map(|it| it.body).as_ref() != given.map(|it| &it.body))
    }

    /// The processes of a report that can be run, each with the version that says the same, where that is the
    /// latest. One that is bound to what is deployed with it changes with that.
    fn changed_processes<'a>(
        &self,
        report: &'a Report,
        files: &[File],
        decisions: &[Arc<DecisionModel>],
        others: &[OtherFile],
        now: Timestamp,
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let definitions = self.definitions();
        let mut found = Vec::new();
        for process in report.processes.iter().filter(|it| it.executable) {
            let id = Name::from(process.id.as_str());
            let latest = definitions.find(&id);
            if is_own(&id) || latest.is_some_and(|it| it.is_function()) {
                return Err(taken(&id));
            }
            // It must be possible to tell when it starts.
            start_triggers(&id, &process.plan, now)?;
            let body = files.iter().find(|it| it.name == process.file).map(|it| &it.body);
            let known = latest.map(|it| self.store().resource(it.key)).transpose()?.flatten();
            let same = latest.filter(|_| known.as_ref().map(|it| &it.body) == body);
            found.push(Candidate { process, same: same.map(Arc::clone) });
        }
        let changed = decisions.iter().flat_map(|model| {
            let changed = |id: &str| definitions.unchanged_decision(id, model).is_none();
            model.decisions().iter().filter(move |it| changed(&it.id))
        });
        let decisions: BTreeSet<&str> =
            changed.flat_map(|it| [&*it.id, &*it.name]).filter(|it| !it.is_empty()).collect();
        let mut forms = BTreeSet::new();
        for it in others.iter().filter(|it| it.kind == DeployedKind::Form) {
            if self.is_changed(it, files)? {
                forms.insert(&*it.id);
            }
        }
        loop {
            let changed = found.iter().filter(|it| it.same.is_none());
            let processes: BTreeSet<&str> = changed.map(|it| it.process.id.as_str()).collect();
            let follows = |it: &Candidate<'_>| {
                let changed =
                    Changed { decisions: &decisions, processes: &processes, forms: &forms };
                it.same.is_some() && is_bound_to(&it.process.plan, &changed)
            };
            let Some(at) = found.iter().position(follows) else { return Ok(found) };
            found[at].same = None;
        }
    }

    /// Deploys a function that every program has, where the store does not know it yet.
    pub(super) fn deploy_own(&self, function: &WorkflowDefinition) -> Result<(), Error> {
        if self.definitions().find(function.name).is_none() {
            deploy_functions(&**self.store(), &[function], self.now())?;
            self.load_new()?;
        }
        Ok(())
    }

    /// Takes over what the store has since.
    fn load_new(&self) -> Result<(), Error> {
        let mut fresh = Definitions::clone(&self.definitions());
        load_new(&*self.inner.common.store, &self.inner.functions, &mut fresh)?;
        self.take_over(fresh)
    }

    /// Has all shards know what is deployed now.
    fn take_over(&self, definitions: Definitions) -> Result<(), Error> {
        let fresh = Arc::new(definitions);
        // Whoever has it may ask any shard for it, so all shards know of it before any has it. One that is lost looks at
        // what is current once it is told things again, so it misses nothing.
        self.current().expect(&fresh);
        let router = self.router();
        let told = router.ask_each(&ExpectRequest { definitions: Arc::clone(&fresh) });
        for (shard, told) in router.shards().zip(told) {
            match told.wait() {
                // It has it when it comes again.
                Err(Error::Unavailable { .. }) => {}
                Err(_) if self.inner.common.claims.is_lost(shard) => {}
                told => told?,
            }
        }
        *self.current() = Current::new(&fresh);
        self.tell_shards(&fresh);
        Ok(())
    }

    fn current(&self) -> RwLockWriteGuard<'_, Current> {
        let current = &self.inner.common.current;
        current.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Has all shards know what is deployed after a change of it, where that may have been made.
    fn take_over_after(
        &self,
        change: Result<(), Error>,
        definitions: Definitions,
    ) -> Result<(), Error> {
        let taken_over = if may_be_done(&change) { self.take_over(definitions) } else { Ok(()) };
        change?;
        taken_over.map_err(Error::after_a_part)
    }

    fn tell_shards(&self, definitions: &Arc<Definitions>) {
        self.router().tell_each(&AdoptRequest { definitions: Arc::clone(definitions) });
    }

    /// The file that something was deployed with, by its key: a process, a decision, a decision requirements
    /// graph, a form, or a resource, which is the file itself.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(order) = engine.definitions().find("order") {
    ///     println!("{}", engine.file_of(order.key)?.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn file_of(&self, definition: DefinitionKey) -> Result<File, Error> {
        let found = self.store().resource(definition)?;
        let found = found.map(|it| File { name: it.name, body: it.body });
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
        let leaving = Arc::new(definitions.leaving(definition.key));
        self.current().tell(&leaving);
        self.tell_shards(&leaving);
        let gone = self.check_unused(id, version).and_then(|()| {
            self.check_unmentioned(definition)?;
            Ok(self.surely(|store| store.undeploy(&[definition.key]))?)
        });
        let mut left = Definitions::clone(&definitions);
        if may_be_done(&gone) {
            left.remove(definition.key);
        }
        let taken_over = self.take_over(left);
        gone?;
        taken_over.map_err(Error::after_a_part)
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
        if decision.key == DefinitionKey::NONE {
            let reason = format!(
                "decision {id} version {version} was deployed before decisions had versions of their own; it stays"
            );
            return Err(Error::Refused { diagnostics: vec![reason] });
        }
        let (key, mut left) = (decision.key, Definitions::clone(&definitions));
        let mut keys = vec![key];
        left.remove(key);
        // The graph of decisions goes with the last of them.
        let graph = definitions.deployed_as(key).and_then(|it| it.requirements);
        if let Some(graph) = graph
            && !left.deployed().any(|it| it.requirements == Some(graph))
        {
            keys.push(graph);
            left.remove(graph);
        }
        let gone = self.surely(|store| store.undeploy(&keys)).map_err(Error::from);
        self.take_over_after(gone, left)
    }

    /// Retires a process, a decision, a decision requirements graph with all its decisions, a form or a
    /// resource, by its key: nothing comes to use that version any more, and it is not the latest; where it
    /// was, the one before it is again. What uses it goes on, and its file and history stay. With
    /// `delete_history` the instances of a process that have ended are deleted; what is left can be removed
    /// with [`Engine::undeploy`] once no instance needs it. What is retired already stays so.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(order) = engine.definitions().find("order") {
    ///     engine.retire(order.key, false)?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn retire(&self, key: DefinitionKey, delete_history: bool) -> Result<Retired, Error> {
        let one_at_a_time =
            self.inner.deploying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let definitions = self.definitions();
        let Some(known) = definitions.deployed_as(key) else {
            return Err(Error::no_such_definition(&format!("key {key}")));
        };
        if known.kind == DeployedKind::Function {
            let reason = format!("{} is a function; take it out of the program", known.id);
            return Err(Error::Refused { diagnostics: vec![reason] });
        }
        let of_graph = definitions.deployed().filter(|it| it.requirements == Some(key));
        let keys: Vec<DefinitionKey> =
            std::iter::once(key).chain(of_graph.map(|it| it.key)).collect();
        let retired = self.surely(|store| store.retire(&keys)).map_err(Error::from);
        let mut left = Definitions::clone(&definitions);
        left.retire(&keys);
        self.take_over_after(retired, left)?;
        drop(one_at_a_time);
        let deleted = if delete_history && known.kind == DeployedKind::Process {
            // Every shard has taken it over once it has answered after that.
            self.forget_ended(&known.id, known.version).map_err(Error::after_a_part)?
        } else {
            0
        };
        Ok(Retired { keys, deleted })
    }

    /// Changes what the store has deployed, in a way that does nothing twice: so it can be done once more where the store
    /// is away, or nobody knows whether it has been done.
    fn surely(
        &self,
        change: impl Fn(&dyn Store) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let common = &self.inner.common;
        let (mut failed, mut unknown) = (0, None);
        loop {
            let Err(error) = change(&*common.store) else { return Ok(()) };
            failed += 1;
            let passes = matches!(error, StoreError::Away { .. } | StoreError::Unknown { .. });
            if error.is_unknown() {
                unknown.get_or_insert_with(|| error.clone());
            }
            if !passes || failed >= TRIES_AWAY || !common.goes_on() {
                return Err(unknown.unwrap_or(error));
            }
            thread::sleep(common.storage_retry.delay(failed));
        }
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

/// Whether the store may have done it. Then nobody may use any more what was to go: it would have nothing to run after a
/// restart.
fn may_be_done(done: &Result<(), Error>) -> bool {
    match done {
        Ok(()) => true,
        Err(Error::Store(error)) => error.is_unknown(),
        Err(_) => false,
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
        let used: Vec<(&StoredOne, bool)> =
            used.map(|(it, from)| (it, from.is_some_and(|it| is_function(&it.name)))).collect();
        let mut key = used.iter().map(|(it, _)| it.key).max().unwrap_or_default();
        let removed = before.iter().flat_map(|it| &it.definitions).map(|it| it.key).max();
        key = key.max(removed.unwrap_or_default());
        let (mut resources, mut definitions) = (Vec::new(), Vec::new());
        for function in functions {
            let (name, version) = (function.name, function.version);
            if used.iter().any(|(it, function)| &*it.id == name && !function) {
                return Err(taken(name));
            }
            if used.iter().any(|(it, _)| &*it.id == name && it.version == version) {
                continue;
            }
            key = key.next();
            definitions.push(StoredOne {
                key,
                id: name.into(),
                version,
                tag: None,
                resource: u32::try_from(resources.len()).expect("there are few functions"),
                removed: false,
                retired: false,
            });
            let body = function.parameters.join("\n").into_bytes();
            resources.push(Resource { name: format!("{name}.{version}.function"), body });
        }
        if definitions.is_empty() {
            return Ok(());
        }
        let number = before.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        match store.deploy(&Stored { number, at: now, resources, definitions }) {
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
    added: Vec<StoredOne>,
    resources: Vec<Resource>,
}

impl Fresh {
    /// Has all files of processes, which may refer to each other, and says where the one of that name is.
    fn with_all(&mut self, files: &[File], name: &str) -> usize {
        if self.resources.is_empty() {
            let is_process = |it: &&File| kind_of(&it.name, &it.body) == DeployedKind::Process;
            let processes = files.iter().filter(is_process);
            let resource = |it: &File| Resource { name: it.name.clone(), body: it.body.clone() };
            self.resources.extend(processes.map(resource));
        }
        self.resources.iter().position(|it| it.name == name).unwrap_or(0)
    }

    /// Has a file that is one thing, and says where it is.
    fn with_one(&mut self, files: &[File], name: &str) -> usize {
        let found = files.iter().find(|it| it.name == name);
        self.resources
            .extend(found.map(|it| Resource { name: it.name.clone(), body: it.body.clone() }));
        self.resources.len().saturating_sub(1)
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

/// What a deployment changes, by ids.
#[derive(Clone, Copy)]
struct Changed<'a> {
    decisions: &'a BTreeSet<&'a str>,
    processes: &'a BTreeSet<&'a str>,
    forms: &'a BTreeSet<&'a str>,
}

/// Whether a process insists on what is deployed with it, and that is one of these.
fn is_bound_to(plan: &Plan, changed: &Changed<'_>) -> bool {
    let Changed { decisions, processes, forms } = *changed;
    let is_bound = |it: Option<&Name>| it.is_some_and(|it| &**it == "deployment");
    if let Some(form) = &plan.start_form
        && is_bound(form.binding.as_ref())
        && forms.contains(&*form.id)
    {
        return true;
    }
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
        Element::Work(it) => {
            let field = |name| it.fields.iter().find(|(it, _)| &**it == name).map(|(_, it)| it);
            let binding = field(FORM_BINDING).and_then(|it| {
                let said = it.value(&Map::new(), &plan.limits).ok()?;
                said.as_str().map(Name::from)
            });
            let form = field(FORM).filter(|_| is_bound(binding.as_ref()));
            form.is_some_and(|it| is_one(it, forms))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

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
            let waits = || engine.inner.common.lanes.iter().any(|it| it.len() > 0);
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
