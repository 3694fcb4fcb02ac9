//! What is deployed: definitions with their versions, and what starts them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use travertine_kernel::{
    Assignments, FlowId, NodeId, Plan,
    plan::{Element, Start, TO, Trigger},
};
use travertine_value::{Map, Name, Program, Value, time};

use travertine_store::Deployed;

use crate::{
    DecisionDefinition, Error, Message, Timestamp,
    decision::{DecisionModel, DmnFile, Partly, RulesFor},
};

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
    pub key: u64,
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

/// One trigger of a start event.
#[derive(Clone, Debug)]
pub struct StartTrigger {
    /// The start event.
    pub node: NodeId,
    /// Which of its triggers.
    pub position: usize,
    /// What must happen.
    pub on: StartOn,
}

/// What starts an instance from outside.
#[derive(Clone, Debug)]
pub enum StartOn {
    /// A message of this name.
    Message(Name),
    /// A signal of this name.
    Signal(Name),
    /// A time.
    Timer(time::Due),
    /// A condition on variables that someone offers.
    Condition(Program),
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
    versions: BTreeMap<Name, Vec<Arc<Definition>>>,
    by_key: BTreeMap<u64, Arc<Definition>>,
    deployments: u64,
    keys: u64,
    /// The one that is about to be removed.
    leaving: Option<u64>,
    decisions: BTreeMap<Name, Vec<Arc<DecisionDefinition>>>,
    /// The DMN files, oldest first: what others may import.
    decision_files: Vec<Arc<DmnFile>>,
    /// The versions that were removed, and the deployments that they came with, by the ids that a store knows.
    removed: BTreeMap<Name, Vec<(u32, u64)>>,
    /// How long a script may take, in milliseconds, where that is not what plans say.
    script_ms_max: Option<u64>,
}

/// What has versions.
pub(crate) trait Versioned {
    fn version(&self) -> u32;
    fn tag(&self) -> Option<&str>;
    fn deployment(&self) -> u64;
}

impl Versioned for Definition {
    fn version(&self) -> u32 {
        self.version
    }

    fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn deployment(&self) -> u64 {
        self.deployment
    }
}

/// The version that a binding names, for someone who came with `deployment`. What was deployed together is
/// the latest that was there then: what is deployed again unchanged keeps its version.
fn bound<'a, T: Versioned>(
    versions: &'a [Arc<T>],
    removed: &[(u32, u64)],
    binding: Option<&str>,
    deployment: u64,
) -> Option<&'a Arc<T>> {
    let numbered = |number: Option<u32>| versions.iter().find(|it| Some(it.version()) == number);
    let tagged = |tag: &str| versions.iter().rev().find(|it| it.tag() == Some(tag));
    match binding {
        None | Some("latest") => versions.last(),
        Some("deployment") => {
            let found = versions.iter().filter(|it| it.deployment() <= deployment);
            let found = found.max_by_key(|it| it.version())?;
            let gone = removed.iter().filter(|(_, at)| *at <= deployment).map(|(it, _)| *it).max();
            Some(found).filter(|it| gone.is_none_or(|gone| gone < it.version()))
        }
        Some(name) => {
            if let Some(number) = name.strip_prefix("version:") {
                return numbered(number.parse().ok());
            }
            if let Some(tag) = name.strip_prefix("versionTag:") {
                return tagged(tag);
            }
            tagged(name).or_else(|| numbered(name.parse().ok()))
        }
    }
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
        self.versions.values().filter_map(|it| it.last())
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
        self.versions.get(id)?.last()
    }

    /// The definition with that key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let definitions = engine.definitions();
    /// let key = definitions.find("order").map_or(0, |it| it.key);
    /// assert_eq!(definitions.get(key).map(|it| &*it.id), Some("order"));
    /// # Ok(()) }
    /// ```
    pub fn get(&self, key: u64) -> Option<&Arc<Definition>> {
        self.by_key.get(&key)
    }

    /// Whether that is the latest version of its definition.
    pub(crate) fn is_latest(&self, key: u64) -> bool {
        let definition = self.get(key);
        definition.is_some_and(|it| self.find(&it.id).is_some_and(|it| it.key == key))
    }

    /// The latest version of each that messages, signals, times and conditions start, by id. One that is
    /// about to be removed is none, and none takes its place before it is gone.
    pub(crate) fn startable(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.latest().filter(|it| self.leaving != Some(it.key))
    }

    /// Whether that one is about to be removed.
    pub(crate) fn is_leaving(&self, key: u64) -> bool {
        self.leaving == Some(key)
    }

    /// The same definitions, but nothing more comes to run this one.
    pub(crate) fn leaving(&self, key: u64) -> Self {
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
        self.versions.get(id).map(Vec::as_slice).unwrap_or_default()
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
        self.versions.values().flatten()
    }

    /// None, whose scripts may take so long.
    pub(crate) fn with_script_time(most: Duration) -> Self {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        Self { script_ms_max: Some(most), ..Self::default() }
    }

    /// None, whose scripts may take as long as those of these.
    pub(crate) fn like(&self) -> Self {
        Self { script_ms_max: self.script_ms_max, ..Self::default() }
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
        let versions = self.versions.entry(Name::clone(&definition.id)).or_default();
        versions.push(definition);
        versions.sort_by_key(|it| it.version);
    }

    /// Puts some versions behind all others of the same id, so that they count as later.
    pub(crate) fn prefer(&mut self, preferred: impl Fn(&Definition) -> bool) {
        for versions in self.versions.values_mut() {
            versions.sort_by_key(|it| (preferred(it), it.version));
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
        let removed = self.removed.get(id).map_or(&[][..], Vec::as_slice);
        bound(self.versions.get(id)?, removed, binding, caller.deployment)
    }

    /// The latest version of each decision, by id.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.definitions().decisions() {
    ///     println!("{} version {} of {}", it.id, it.version, it.file());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn decisions(&self) -> impl Iterator<Item = &Arc<DecisionDefinition>> {
        self.decisions.values().filter_map(|it| it.last())
    }

    /// The latest version of the decision of that id; of that name, where none has the id.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let latest = engine.definitions().decision("approver").map(|it| it.version);
    /// # Ok(()) }
    /// ```
    pub fn decision(&self, id: &str) -> Option<&Arc<DecisionDefinition>> {
        let by_id = self.decisions.get(id).and_then(|it| it.last());
        by_id.or_else(|| self.decisions().find(|it| it.name().is_some_and(|it| &*it == id)))
    }

    /// All versions of the decision of that id, oldest first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.definitions().decision_versions("approver") {
    ///     println!("version {} of deployment {}", it.version, it.deployment);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn decision_versions(&self, id: &str) -> &[Arc<DecisionDefinition>] {
        self.decisions.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// All versions of all decisions, by id, oldest version first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// println!("{} versions of all decisions", engine.definitions().all_decisions().count());
    /// # Ok(()) }
    /// ```
    pub fn all_decisions(&self) -> impl Iterator<Item = &Arc<DecisionDefinition>> {
        self.decisions.values().flatten()
    }

    /// The version of a decision that `binding` names, for someone who came with `deployment`.
    pub(crate) fn bound_decision(
        &self,
        id: &str,
        binding: Option<&str>,
        deployment: u64,
    ) -> Option<&Arc<DecisionDefinition>> {
        let removed = self.removed.get(&*format!("{}{id}", Deployed::DECISION));
        let removed = removed.map_or(&[][..], Vec::as_slice);
        bound(self.decisions.get(id)?, removed, binding, deployment)
    }

    /// The decisions that instances of a definition can make.
    pub(crate) fn rules<'a>(&'a self, maker: &'a Definition) -> RulesFor<'a> {
        RulesFor { definitions: self, maker }
    }

    /// What people and models call decisions.
    pub(crate) fn decision_names(&self) -> impl Iterator<Item = String> {
        self.decisions().flat_map(|it| {
            let name = it.name().map(|it| it.to_string());
            std::iter::once(it.id.to_string()).chain(name)
        })
    }

    /// The DMN files that were deployed, oldest first.
    pub(crate) fn decision_files(&self) -> &[Arc<DmnFile>] {
        &self.decision_files
    }

    /// Whether the first of these files was deployed, as it is.
    pub(crate) fn has_file(&self, files: &[Arc<DmnFile>]) -> bool {
        let own = files.first();
        own.is_none_or(|own| self.decision_files.iter().any(|it| it.body == own.body))
    }

    pub(crate) fn keep_file(&mut self, file: &Arc<DmnFile>) {
        self.decision_files.push(Arc::clone(file));
    }

    /// Adds a version of a decision as a store knows it.
    pub(crate) fn insert_decision(&mut self, decision: Arc<DecisionDefinition>) {
        self.deployments = self.deployments.max(decision.deployment);
        self.keys = self.keys.max(decision.key);
        let versions = self.decisions.entry(Name::clone(&decision.id)).or_default();
        versions.push(decision);
        versions.sort_by_key(|it| it.version);
    }

    /// Takes note of a version that is not there any more.
    pub(crate) fn note_removed(&mut self, id: &Name, version: u32, deployment: u64) {
        self.removed.entry(Name::clone(id)).or_default().push((version, deployment));
    }

    /// The number of the next version of a decision.
    pub(crate) fn next_decision(&self, id: &str) -> u32 {
        let last = self.decision_versions(id).last().map_or(0, |it| it.version);
        let removed = self.removed.get(&*format!("{}{id}", Deployed::DECISION));
        let removed = removed.into_iter().flatten().map(|(it, _)| *it).max();
        last.max(removed.unwrap_or(0)) + 1
    }

    /// The latest version of a decision, where a model says the same of it.
    pub(crate) fn unchanged_decision(
        &self,
        id: &str,
        model: &DecisionModel,
    ) -> Option<&Arc<DecisionDefinition>> {
        self.decision_versions(id).last().filter(|it| it.model.is_same(model))
    }

    /// Adds a version of each decision that has changed. Answers with all of them as they are now.
    #[doc(hidden)] // Programs deploy files, with `Engine::deploy`.
    pub fn add_decisions(&mut self, models: &[Arc<DecisionModel>]) -> Vec<Arc<DecisionDefinition>> {
        let deployment = self.deployments + 1;
        let mut all = Vec::new();
        for model in models {
            for named in model.decisions() {
                if let Some(same) = self.unchanged_decision(&named.id, model) {
                    all.push(Arc::clone(same));
                    continue;
                }
                let (version, key) = (self.next_decision(&named.id), self.keys + 1);
                let added = Partly::of(deployment, version, key, named).with(model);
                let added = Arc::new(added);
                self.insert_decision(Arc::clone(&added));
                all.push(added);
            }
        }
        all
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
            let version = self.find(&id).map_or(1, |it| it.version + 1);
            let key = self.keys + 1;
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

impl Definition {
    /// What a message must say to be heard by a trigger of a start event, besides its name.
    pub(crate) fn wanted(&self, trigger: &StartTrigger) -> Assignments {
        let triggers = self.start(trigger.node).map_or(&[][..], |it| &it.triggers);
        let Some(Trigger::Message(message)) = triggers.get(trigger.position) else {
            return Vec::new();
        };
        // Other properties are about variables, and there are none yet.
        let ends = message.correlation.iter().filter(|(name, _)| &**name == TO);
        let values = ends.filter_map(|(name, ends)| {
            Some((Name::clone(name), ends.value(&Map::new(), &self.plan.limits).ok()?))
        });
        values.collect()
    }

    pub(crate) fn start(&self, node: NodeId) -> Option<&Start> {
        match &self.plan.node(node).element {
            Element::Start(start) => Some(start),
            _ => None,
        }
    }
}

pub(crate) fn start_triggers(
    id: &Name,
    plan: &Plan,
    now: Timestamp,
) -> Result<Vec<StartTrigger>, Error> {
    let mut triggers = Vec::new();
    for &node in &plan.root().typed_starts {
        let Element::Start(start) = &plan.node(node).element else { continue };
        for (position, trigger) in start.triggers.iter().enumerate() {
            let on = start_on(plan, trigger, now).map_err(|reason| Error::BadStart {
                definition: Name::clone(id),
                start: Name::clone(&plan.node(node).name),
                reason,
            })?;
            triggers.extend(on.map(|on| StartTrigger { node, position, on }));
        }
    }
    Ok(triggers)
}

/// What a trigger waits for before there are any variables; `None` for one that only happens within.
fn start_on(plan: &Plan, trigger: &Trigger, now: Timestamp) -> Result<Option<StartOn>, String> {
    let text = |program: &Program| match program.value(&Map::new(), &plan.limits) {
        Ok(Value::String(text)) => Ok(text),
        Ok(other) => Err(format!("`{}` is {}, not a text", program.source(), other.kind())),
        Err(error) => Err(format!("`{}`: {error}", program.source())),
    };
    Ok(match trigger {
        Trigger::Message(message) => Some(StartOn::Message(text(&message.name)?)),
        Trigger::Signal { name } => Some(StartOn::Signal(text(name)?)),
        Trigger::Timer { kind, when } => {
            let text = text(when)?;
            let wrong = |error| format!("`{text}` is no time: {error}");
            Some(StartOn::Timer(time::due(*kind, &text, now).map_err(wrong)?))
        }
        Trigger::Condition { when, .. } => Some(StartOn::Condition(when.clone())),
        Trigger::Error { .. }
        | Trigger::Escalation { .. }
        | Trigger::Compensation
        | Trigger::Cancel => None,
    })
}
