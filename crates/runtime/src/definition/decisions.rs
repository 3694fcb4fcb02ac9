//! The decisions that are deployed, and their versions.

use std::sync::Arc;

use travertine_store::DeployedAs;
use travertine_value::Name;

use super::{Definition, Definitions, bound};
use crate::{
    DecisionDefinition, DefinitionKey,
    decision::{DecisionModel, DmnFile, Partly, RulesFor},
    deployed::add_version,
};

impl Definitions {
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
        self.decisions.values().filter_map(|it| self.last(it))
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
        let by_id = self.decisions.get(id).and_then(|it| self.last(it));
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
        self.decisions.get(id).map(|it| it.as_slice()).unwrap_or_default()
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
        self.decisions.values().flat_map(|it| it.iter())
    }

    /// The version of a decision that `binding` names, for someone who came with `deployment`.
    pub(crate) fn bound_decision(
        &self,
        id: &str,
        binding: Option<&str>,
        deployment: u64,
    ) -> Option<&Arc<DecisionDefinition>> {
        let removed = self.removed_of(DeployedAs::Decision, id);
        bound(self.decisions.get(id)?, removed, &self.retired, binding, deployment)
    }

    /// The decisions that instances of a definition can make.
    pub(crate) fn rules<'a>(&'a self, maker: &'a Definition) -> RulesFor<'a> {
        RulesFor { definitions: self, maker, last: Vec::new() }
    }

    /// What people and models call decisions.
    pub(crate) fn decision_names(&self) -> impl Iterator<Item = String> {
        self.decisions().flat_map(|it| {
            let name = it.name().map(|it| it.to_string());
            std::iter::once(it.id.to_string()).chain(name)
        })
    }

    /// The DMN files that were deployed, oldest first.
    pub(crate) fn decision_files(&self) -> impl DoubleEndedIterator<Item = &Arc<DmnFile>> {
        self.decision_files.iter().map(|(_, it)| it)
    }

    pub(crate) fn keep_file(&mut self, deployment: u64, file: &Arc<DmnFile>) {
        self.decision_files.push((deployment, Arc::clone(file)));
    }

    /// Adds a version of a decision as a store knows it.
    pub(crate) fn insert_decision(&mut self, decision: Arc<DecisionDefinition>) {
        self.deployments = self.deployments.max(decision.deployment);
        self.keys = self.keys.max(decision.key);
        add_version(self.decisions.entry(Name::clone(&decision.id)).or_default(), decision);
    }

    /// Takes note of a version that is not there any more.
    pub(crate) fn note_removed(
        &mut self,
        id: &Name,
        version: u32,
        deployment: u64,
        key: DefinitionKey,
    ) {
        self.keys = self.keys.max(key);
        self.removed.entry(Name::clone(id)).or_default().push((version, deployment));
    }

    /// The number of the next version of a decision.
    pub(crate) fn next_decision(&self, id: &str) -> u32 {
        let last = self.decision_versions(id).last().map_or(0, |it| it.version);
        let removed = self.removed_of(DeployedAs::Decision, id).iter().map(|(it, _)| *it).max();
        last.max(removed.unwrap_or(0)) + 1
    }

    /// The latest version of a decision, where a model says the same of it.
    pub(crate) fn unchanged_decision(
        &self,
        id: &str,
        model: &DecisionModel,
    ) -> Option<&Arc<DecisionDefinition>> {
        self.last(self.decision_versions(id)).filter(|it| it.model.is_same(model))
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
                let (version, key) = (self.next_decision(&named.id), self.keys.next());
                let added = Partly::of(deployment, version, key, named).with(model);
                let added = Arc::new(added);
                self.insert_decision(Arc::clone(&added));
                all.push(added);
            }
        }
        all
    }
}
