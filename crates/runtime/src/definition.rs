//! What is deployed: definitions with their versions, and what starts them.

mod decisions;
mod start;
mod version;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use travertine_kernel::{
    FlowId, NodeId, Plan,
    plan::{Element, Events, FormLink},
};
use travertine_value::{Map, Name};

use travertine_store::{Deployed as Stored, DeployedAs};

use crate::{
    DecisionDefinition, DefinitionKey, Deployed, DeployedKind, Error, Message, Timestamp,
    decision::{DecisionModel, DmnFile},
    deployed::{Versions, add_version},
};
pub(crate) use start::start_triggers;
pub use start::{StartOn, StartTrigger};
pub(crate) use version::Versioned;
use version::{bound, drop_version};

/// A version of something that can be run.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// if let Some(order) = engine.definitions().find("order") {
///     println!("{} version {} has the key {}", order.id, order.version, order.key);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its number, by which instances know it.
    pub key: DefinitionKey,
    /// Its id, shared by all versions.
    pub id: Name,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// Which version, from 1.
    pub version: u32,
    /// What was deployed together has the same number.
    pub deployment: u64,
    /// What the kernel runs.
    #[doc(hidden)]
    // The kernel's words are not for programs; they find elements and flows by their ids.
    pub plan: Arc<Plan>,
    /// What starts it from outside.
    #[doc(hidden)] // The engine sees to that.
    pub starts: Vec<StartTrigger>,
}

impl Definition {
    /// Whether it is a function, as opposed to a process.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// let functions = definitions.latest().filter(|it| it.is_function()).count();
    /// # Ok(()) }
    /// ```
    pub fn is_function(&self) -> bool {
        let code = self.plan.nodes.get(1);
        code.is_some_and(|it| matches!(it.element, Element::Function))
    }

    /// What people call it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let title = engine.definitions().find("order").and_then(|it| it.name());
    /// # Ok(()) }
    /// ```
    pub fn name(&self) -> Option<Name> {
        self.plan.nodes.first().and_then(|it| it.label.clone())
    }

    /// The element with that id in the model, for [`Engine::modify`](crate::Engine::modify).
    ///
    /// ```
    /// # use travertine_runtime::Engine;
    /// # use travertine_runtime::engine::{File, Options};
    /// # let engine = Engine::in_memory(Options::default())?;
    /// engine.deploy(&[File {
    ///     name: "order.bpmn".into(),
    ///     body: br#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    ///           targetNamespace="urn:example">
    ///         <process id="order" isExecutable="true">
    ///           <startEvent id="start"/>
    ///           <sequenceFlow id="begun" sourceRef="start" targetRef="end"/>
    ///           <endEvent id="end"/>
    ///         </process></definitions>"#.to_vec(),
    /// }])?;
    /// let definitions = engine.definitions();
    /// let order = definitions.find("order").expect("it has just been deployed");
    /// assert!(order.element("end").is_some());
    /// assert_ne!(order.element("end"), order.element("start"));
    /// assert_eq!(order.element("begun"), None, "it is a flow");
    /// assert!(order.flow("begun").is_some());
    /// assert_eq!(order.flow("end"), None);
    /// # Ok::<(), travertine_runtime::Error>(())
    /// ```
    pub fn element(&self, id: &str) -> Option<NodeId> {
        self.plan.find(id)
    }

    /// The sequence flow with that id in the model, by which a new token can come to a join.
    ///
    /// ```no_run
    /// # use travertine_kernel as travertine;
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::{Destination, Modification};
    ///
    /// let order = InstanceId(12);
    /// let definition = engine.look(order).await?.definition;
    /// if let Some(join) = definition.element("join") {
    ///     let to = Destination { via: definition.flow("packed"), ..Destination::before(join) };
    ///     engine.modify(order, vec![Modification::Add { to, scope: None }]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn flow(&self, id: &str) -> Option<FlowId> {
        let position = self.plan.flows.iter().position(|it| &*it.name == id)?;
        u32::try_from(position).ok().map(FlowId)
    }
}

/// Everything deployed.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in engine.definitions().latest() {
///     println!("{} version {}", it.id, it.version);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    versions: BTreeMap<Name, Versions<Definition>>,
    by_key: BTreeMap<DefinitionKey, Arc<Definition>>,
    /// Which processes have a message of their own, by its name: see [`Definitions::hearing`].
    hearing: BTreeMap<Name, BTreeSet<Name>>,
    /// Everything, whatever it is.
    deployed: BTreeMap<DefinitionKey, Arc<Deployed>>,
    /// Everything, by what it is and its id.
    by_id: BTreeMap<(DeployedKind, Name), Versions<Deployed>>,
    /// The keys of what nothing comes to use any more.
    retired: BTreeSet<DefinitionKey>,
    /// The greatest number of a deployment.
    deployments: u64,
    /// The greatest key, of what was removed too.
    keys: DefinitionKey,
    /// The one that is about to be removed.
    leaving: Option<DefinitionKey>,
    decisions: BTreeMap<Name, Versions<DecisionDefinition>>,
    /// The DMN files with the numbers of their deployments, oldest first: what others may import.
    decision_files: Vec<(u64, Arc<DmnFile>)>,
    /// What decision requirements graphs are made of, by their keys.
    graphs: BTreeMap<DefinitionKey, Arc<DecisionModel>>,
    /// The versions that were removed, and the deployments that they came with, by the ids that a store knows.
    removed: BTreeMap<Name, Vec<(u32, u64)>>,
    /// Why versions that are deployed cannot be read, by their keys.
    unreadable: BTreeMap<DefinitionKey, Arc<str>>,
    /// How long a script may take, in milliseconds, where that is not what plans say.
    script_ms_max: Option<u64>,
}

impl Definitions {
    /// The latest version of each, by id.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let ids: Vec<_> = engine.definitions().latest().map(|it| it.id.clone()).collect();
    /// # Ok(()) }
    /// ```
    pub fn latest(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.versions.values().filter_map(|it| self.last(it))
    }

    /// The latest version of the definition of that id.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let latest = engine.definitions().find("order").map(|it| it.version);
    /// # Ok(()) }
    /// ```
    pub fn find(&self, id: &str) -> Option<&Arc<Definition>> {
        self.last(self.versions.get(id)?)
    }

    /// The latest of these that is not retired.
    fn last<'a, T: Versioned>(&self, versions: &'a [Arc<T>]) -> Option<&'a Arc<T>> {
        versions.iter().rev().find(|it| !self.is_retired(it.key()))
    }

    /// Whether nothing comes to use that any more.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// for it in definitions.versions("order").iter().filter(|it| definitions.is_retired(it.key)) {
    ///     println!("version {} is retired", it.version);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn is_retired(&self, key: DefinitionKey) -> bool {
        !self.retired.is_empty() && self.retired.contains(&key)
    }

    /// Everything deployed, whatever it is, by key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{DeployedKind, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// let forms = definitions.deployed().filter(|it| it.kind == DeployedKind::Form).count();
    /// # Ok(()) }
    /// ```
    pub fn deployed(&self) -> impl DoubleEndedIterator<Item = &Arc<Deployed>> {
        self.deployed.values()
    }

    /// The deployed thing with that key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{DefinitionKey, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(it) = engine.definitions().deployed_as(DefinitionKey(7)) {
    ///     println!("{} {} version {}", it.kind.name(), it.id, it.version);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn deployed_as(&self, key: DefinitionKey) -> Option<&Arc<Deployed>> {
        self.deployed.get(&key)
    }

    /// All versions of the thing of that kind and id, oldest first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{DeployedKind, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let forms = engine.definitions();
    /// let versions = forms.deployed_versions(DeployedKind::Form, "address").len();
    /// # Ok(()) }
    /// ```
    pub fn deployed_versions(&self, kind: DeployedKind, id: &str) -> &[Arc<Deployed>] {
        let found = self.by_id.get(&(kind, Name::from(id)));
        found.map(|it| it.as_slice()).unwrap_or_default()
    }

    /// The latest version of the thing of that kind and id that is not retired.
    ///
    /// ```no_run
    /// # use travertine_runtime::{DeployedKind, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let forms = engine.definitions();
    /// let latest = forms.latest_deployed(DeployedKind::Form, "address").map(|it| it.version);
    /// # Ok(()) }
    /// ```
    pub fn latest_deployed(&self, kind: DeployedKind, id: &str) -> Option<&Arc<Deployed>> {
        self.last(self.deployed_versions(kind, id))
    }

    /// The form that people fill in to start a definition, as it is now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// if let Some(form) = definitions.find("order").and_then(|it| definitions.start_form(it)) {
    ///     println!("{}", String::from_utf8_lossy(&engine.file_of(form.key)?.body));
    /// }
    /// # Ok(()) }
    /// ```
    pub fn start_form(&self, of: &Definition) -> Option<&Arc<Deployed>> {
        let FormLink { id, binding } = of.plan.start_form.as_ref()?;
        self.bound_deployed(DeployedKind::Form, id, binding.as_deref(), of.deployment)
    }

    /// The version of a thing that `binding` names, for someone who came with `deployment`.
    pub(crate) fn bound_deployed(
        &self,
        kind: DeployedKind,
        id: &str,
        binding: Option<&str>,
        deployment: u64,
    ) -> Option<&Arc<Deployed>> {
        let removed = self.removed_of(kind.stored(), id);
        bound(self.deployed_versions(kind, id), removed, &self.retired, binding, deployment)
    }

    /// The number of the last deployment that these come from.
    pub(crate) fn last_deployment(&self) -> u64 {
        self.deployments
    }

    /// The greatest key that was ever given.
    pub(crate) fn last_key(&self) -> DefinitionKey {
        self.keys
    }

    /// The number of the next version of something.
    pub(crate) fn next_version(&self, kind: DeployedKind, id: &str) -> u32 {
        let kinds = match kind {
            DeployedKind::Process | DeployedKind::Function => {
                &[DeployedKind::Process, DeployedKind::Function][..]
            }
            // Those of older stores have no keys.
            DeployedKind::Decision => return self.next_decision(id),
            _ => &[kind][..],
        };
        let there = kinds.iter().flat_map(|it| self.deployed_versions(*it, id));
        let removed = self.removed_of(kind.stored(), id).iter().map(|(it, _)| *it);
        there.map(|it| it.version).chain(removed).max().unwrap_or(0) + 1
    }

    /// The versions of something that were removed, and their deployments.
    fn removed_of(&self, what: DeployedAs, id: &str) -> &[(u32, u64)] {
        let found = self.removed.get(&Stored::stored_id(what, id));
        found.map_or(&[][..], Vec::as_slice)
    }

    /// Keeps what a decision requirements graph is made of.
    pub(crate) fn keep_model(&mut self, key: DefinitionKey, model: &Arc<DecisionModel>) {
        self.graphs.insert(key, Arc::clone(model));
    }

    /// The decision requirements graph that is made of this, the latest first.
    pub(crate) fn graph_of(&self, model: &DecisionModel) -> Option<&Arc<Deployed>> {
        let versions = self.deployed_versions(DeployedKind::Requirements, &model.requirements().0);
        let is_it = |it: &&Arc<Deployed>| {
            self.graphs.get(&it.key).is_some_and(|known| known.is_same(model))
        };
        versions.iter().rev().find(is_it)
    }

    /// The latest version of the decision requirements graph of a model, where it is made of this.
    pub(crate) fn unchanged_graph(&self, model: &DecisionModel) -> Option<&Arc<Deployed>> {
        let latest = self.latest_deployed(DeployedKind::Requirements, &model.requirements().0)?;
        let known = self.graphs.get(&latest.key)?;
        known.is_same(model).then_some(latest)
    }

    /// Takes note of a deployment, which may have brought nothing.
    pub(crate) fn note_deployment(&mut self, number: u64) {
        self.deployments = self.deployments.max(number);
    }

    /// Takes note of something that a store has deployed.
    pub(crate) fn note_deployed(&mut self, deployed: Deployed) {
        self.deployments = self.deployments.max(deployed.deployment);
        self.keys = self.keys.max(deployed.key);
        if deployed.retired {
            self.retired.insert(deployed.key);
        }
        let deployed = Arc::new(deployed);
        let of_id = (deployed.kind, Name::clone(&deployed.id));
        self.deployed.insert(deployed.key, Arc::clone(&deployed));
        add_version(self.by_id.entry(of_id).or_default(), deployed);
    }

    /// Nothing comes to use these any more.
    pub(crate) fn retire(&mut self, keys: &[DefinitionKey]) {
        for key in keys {
            let Some(known) = self.deployed.get_mut(key) else { continue };
            self.retired.insert(*key);
            *known = Arc::new(Deployed { retired: true, ..Deployed::clone(known) });
            let of_id = (known.kind, Name::clone(&known.id));
            let versions = Arc::make_mut(self.by_id.entry(of_id).or_default());
            for it in versions.iter_mut().filter(|it| it.key == *key) {
                *it = Arc::clone(known);
            }
        }
    }

    /// Takes out what was removed from the store.
    pub(crate) fn remove(&mut self, key: DefinitionKey) {
        self.retired.remove(&key);
        self.graphs.remove(&key);
        let Some(gone) = self.deployed.remove(&key) else { return };
        let Deployed { kind, id, version, deployment, .. } = &*gone;
        drop_version(&mut self.by_id, &(*kind, Name::clone(id)), key);
        self.note_removed(&Stored::stored_id(kind.stored(), id), *version, *deployment, key);
        if self.by_key.remove(&key).is_some() {
            drop_version(&mut self.versions, id, key);
        }
        if *kind == DeployedKind::Decision {
            drop_version(&mut self.decisions, id, key);
        }
        let is_decided = matches!(kind, DeployedKind::Decision | DeployedKind::Requirements);
        let stays = |it: &Arc<Deployed>| {
            it.deployment == *deployment
                && matches!(it.kind, DeployedKind::Decision | DeployedKind::Requirements)
        };
        // As the store does it: a decision may import the file of another.
        if is_decided && !self.deployed.values().any(stays) {
            self.decision_files.retain(|(number, _)| number != deployment);
        }
    }

    /// The definition with that key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// let key = definitions.find("order").map(|it| it.key).unwrap_or_default();
    /// assert_eq!(definitions.get(key).map(|it| &*it.id), Some("order"));
    /// # Ok(()) }
    /// ```
    pub fn get(&self, key: DefinitionKey) -> Option<&Arc<Definition>> {
        self.by_key.get(&key)
    }

    /// Whether that is the latest version of its definition.
    pub(crate) fn is_latest(&self, key: DefinitionKey) -> bool {
        let definition = self.get(key);
        definition.is_some_and(|it| self.find(&it.id).is_some_and(|it| it.key == key))
    }

    /// The latest version of each that messages, signals, times and conditions start, by id. One that is
    /// about to be removed is none, and none takes its place before it is gone.
    pub(crate) fn startable(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.latest().filter(|it| self.leaving != Some(it.key))
    }

    /// Whether that one is about to be removed.
    pub(crate) fn is_leaving(&self, key: DefinitionKey) -> bool {
        self.leaving == Some(key)
    }

    /// These definitions, but nothing more comes to run this one.
    pub(crate) fn leaving(&self, key: DefinitionKey) -> Self {
        Self { leaving: Some(key), ..self.clone() }
    }

    /// All versions of the definition of that id, oldest first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.definitions().versions("order") {
    ///     println!("version {} of deployment {}", it.version, it.deployment);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn versions(&self, id: &str) -> &[Arc<Definition>] {
        self.versions.get(id).map(|it| it.as_slice()).unwrap_or_default()
    }

    /// Everything, by id, oldest version first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// println!("{} versions of all", engine.definitions().all().count());
    /// # Ok(()) }
    /// ```
    pub fn all(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.versions.values().flat_map(|it| it.iter())
    }

    /// A version that is deployed cannot be read.
    pub(crate) fn note_unreadable(&mut self, key: DefinitionKey, why: &str) {
        self.unreadable.insert(key, Arc::from(why));
    }

    /// Why the version of that key cannot be read, where it is deployed and cannot.
    pub(crate) fn why_unreadable(&self, key: DefinitionKey) -> Option<&str> {
        self.unreadable.get(&key).map(|it| &**it)
    }

    /// None, whose scripts may take so long.
    pub(crate) fn with_script_time(most: Duration) -> Self {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        Self { script_ms_max: Some(most), ..Self::default() }
    }

    /// Adds a version as a store knows it.
    pub(crate) fn insert(&mut self, definition: impl Into<Arc<Definition>>) {
        let mut definition: Arc<Definition> = definition.into();
        if self.script_ms_max.is_some() && definition.plan.limits.time_ms_max != self.script_ms_max
        {
            let plan = &mut Arc::make_mut(&mut definition).plan;
            Arc::make_mut(plan).limits.time_ms_max = self.script_ms_max;
        }
        self.deployments = self.deployments.max(definition.deployment);
        self.keys = self.keys.max(definition.key);
        self.by_key.insert(definition.key, Arc::clone(&definition));
        let process = definition.process_of_messages();
        for name in &definition.plan.hears {
            self.hearing.entry(Name::clone(name)).or_default().insert(Name::clone(&process));
        }
        add_version(self.versions.entry(Name::clone(&definition.id)).or_default(), definition);
    }

    /// Puts some versions behind all others of the same id, so that they count as later.
    pub(crate) fn prefer(&mut self, preferred: impl Fn(&Definition) -> bool) {
        for versions in self.versions.values_mut() {
            let order = |it: &Arc<Definition>| (preferred(it), it.version);
            if !versions.is_sorted_by_key(order) {
                Arc::make_mut(versions).sort_by_key(order);
            }
        }
    }

    /// The version of the definition that `binding` names, as `caller` sees it: a number, a tag, or
    /// `deployment` for the one deployed together with the caller; the latest where it names none.
    #[doc(hidden)] // The engine binds calls.
    pub fn bound(
        &self,
        id: &str,
        binding: Option<&str>,
        caller: &Definition,
    ) -> Option<&Arc<Definition>> {
        let removed = self.removed_of(DeployedAs::Definition, id);
        bound(self.versions.get(id)?, removed, &self.retired, binding, caller.deployment)
    }

    /// Completes the properties of a message from what goes with it, as conversations say.
    #[doc(hidden)] // The engine correlates messages.
    pub fn correlate(&self, message: &mut Message) {
        let content: Map = message.variables.iter().cloned().collect();
        for definition in self.latest() {
            for key in definition.plan.keys.iter().filter(|it| it.message == message.name) {
                let given = message.correlation.iter().any(|(it, _)| *it == key.property);
                if !given && let Ok(value) = key.path.value(&content, &definition.plan.limits) {
                    message.correlation.push((Name::clone(&key.property), value));
                }
            }
        }
    }

    /// Whether a message of that name is refused where nobody waits for it, because a model says so.
    #[doc(hidden)] // The engine publishes messages.
    pub fn refuses(&self, message: &Name) -> bool {
        let refuses = |it: &Definition| it.plan.policy.events == Events::Strict;
        self.latest().any(|it| refuses(it) && it.plan.hears.binary_search(message).is_ok())
    }

    /// The processes of which one instance each has a message of that name; an empty id stands for all others together,
    /// of which one has it.
    pub(crate) fn hearing(&self, message: &Name) -> impl Iterator<Item = &Name> {
        let all = self.hearing.get(message).into_iter().flatten();
        all.filter(|it| it.is_empty() || self.versions.contains_key(*it))
    }

    /// Adds a version of each; all of them, or none where the start of one makes no sense.
    #[doc(hidden)] // Programs deploy files, with `Engine::deploy`.
    pub fn add(
        &mut self,
        all: &[(Name, Arc<Plan>)],
        now: Timestamp,
    ) -> Result<Vec<Arc<Definition>>, Error> {
        let mut added = Vec::new();
        for (id, plan) in all {
            added.push((Name::clone(id), Arc::clone(plan), start_triggers(id, plan, now)?));
        }
        let deployment = self.deployments + 1;
        let mut keys = Vec::new();
        for (id, plan, starts) in added {
            let version = self.versions(&id).last().map_or(1, |it| it.version + 1);
            let key = self.keys.next();
            keys.push(key);
            self.insert(Definition {
                key,
                id,
                tag: plan.version_tag.clone(),
                version,
                deployment,
                plan,
                starts,
            });
        }
        Ok(keys.iter().map(|it| Arc::clone(&self.by_key[it])).collect())
    }
}
