//! Decisions as deployed things: their files, their versions, and which of them a business rule task makes.

use std::sync::{Arc, OnceLock};

use travertine_dmn::{Definitions as Decided, Diagnostic, Outline, OutlinedDecision, Severity};
use travertine_kernel::{Failure, FailureKind, NodeId, Rule, Rules};
use travertine_value::{Name, Program};

use crate::{Definition, DefinitionKey, Definitions, DeployedKind, definition::Versioned};

/// A version of a decision, which business rule tasks make.
///
/// ```no_run
/// # use travertine_runtime::{DecisionDefinition, Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let in_words = |it: &DecisionDefinition| format!("{} version {}", it.id, it.version);
/// if let Some(approver) = engine.definitions().decision("approver") {
///     println!("{} is in {}", in_words(approver), approver.file());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DecisionDefinition {
    /// Its number, by which it can be removed; 0 where the store is older than decisions with versions.
    #[doc(hidden)] // People say id and version.
    pub key: DefinitionKey,
    /// Its id, shared by all versions.
    pub id: Name,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// Which version, from 1.
    pub version: u32,
    /// What was deployed together has the same number.
    pub deployment: u64,
    pub(crate) model: Arc<DecisionModel>,
    pub(crate) program: OnceLock<Result<Program, String>>,
}

impl DecisionDefinition {
    /// What people call it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.definitions().decisions() {
    ///     println!("{}", it.name().unwrap_or_else(|| it.id.clone()));
    /// }
    /// # Ok(()) }
    /// ```
    pub fn name(&self) -> Option<Name> {
        let outline = self.model.own.outline()?;
        let own = outline.decisions.iter().find(|it| it.id == self.id)?;
        Some(Name::clone(&own.name)).filter(|it| !it.is_empty())
    }

    /// The name of the file that it was deployed with. It says nothing about what the decision is.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let files: Vec<String> =
    ///     engine.definitions().decisions().map(|it| it.file().to_owned()).collect();
    /// # Ok(()) }
    /// ```
    pub fn file(&self) -> &str {
        &self.model.own.name
    }

    /// The file that it was deployed with, and those that it imports.
    #[doc(hidden)] // For tools that show how a decision is made.
    pub fn files(&self) -> Vec<(&str, &[u8])> {
        self.model.files().iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect()
    }

    /// The model that it is part of, or why this version of the engine cannot read it.
    pub(crate) fn model(&self) -> Result<Decided, String> {
        let Self { id, version, .. } = self;
        let read = self.model.read().clone();
        read.map_err(|why| format!("decision '{id}', version {version}, cannot be read: {why}"))
    }

    /// What is evaluated, or why this version of the engine cannot read it.
    fn program(&self) -> Result<Program, String> {
        let read = || {
            let Self { id, version, .. } = self;
            let undefined = || {
                format!(
                    "decision '{id}', version {version}, cannot be read: its file does not define it"
                )
            };
            self.model()?.program(id).ok_or_else(undefined)
        };
        self.program.get_or_init(read).clone()
    }
}

/// A version of a decision, apart from what it says.
pub(crate) struct Partly {
    pub(crate) key: DefinitionKey,
    pub(crate) id: Name,
    pub(crate) tag: Option<Name>,
    pub(crate) version: u32,
    pub(crate) deployment: u64,
}

impl Partly {
    pub(crate) fn of(
        deployment: u64,
        version: u32,
        key: DefinitionKey,
        named: &OutlinedDecision,
    ) -> Self {
        let OutlinedDecision { id, tag, .. } = named;
        Self { key, id: Name::clone(id), tag: tag.clone(), version, deployment }
    }

    pub(crate) fn with(self, model: &Arc<DecisionModel>) -> DecisionDefinition {
        let Self { key, id, tag, version, deployment } = self;
        let (model, program) = (Arc::clone(model), OnceLock::new());
        DecisionDefinition { key, id, tag, version, deployment, model, program }
    }
}

impl Versioned for DecisionDefinition {
    fn version(&self) -> u32 {
        self.version
    }

    fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn deployment(&self) -> u64 {
        self.deployment
    }

    fn key(&self) -> DefinitionKey {
        self.key
    }
}

/// A DMN file.
#[derive(Debug)]
pub(crate) struct DmnFile {
    pub(crate) name: String,
    pub(crate) body: Vec<u8>,
    outline: OnceLock<Option<Outline>>,
}

impl DmnFile {
    pub(crate) fn new(name: &str, body: &[u8]) -> Arc<Self> {
        let (name, body) = (name.to_owned(), body.to_vec());
        Arc::new(Self { name, body, outline: OnceLock::new() })
    }

    /// What it says of itself, where it is DMN.
    fn outline(&self) -> Option<&Outline> {
        self.outline.get_or_init(|| travertine_dmn::outline(&self.name, &self.body)).as_ref()
    }

    fn is_called(&self, namespace: &str) -> bool {
        self.outline().is_some_and(|it| it.namespace == namespace)
    }

    fn imports(&self) -> &[String] {
        self.outline().map_or(&[], |it| &it.imports)
    }
}

/// A DMN file with those that it imports: what its decisions mean. It is compiled when it is needed first.
#[derive(Debug)]
pub struct DecisionModel {
    own: Arc<DmnFile>,
    /// Where imports are looked for, in this order.
    others: Vec<Arc<DmnFile>>,
    files: OnceLock<Vec<Arc<DmnFile>>>,
    read: OnceLock<Result<Decided, String>>,
}

impl DecisionModel {
    /// The file among those that it may import, the likeliest first.
    pub(crate) fn new(own: &Arc<DmnFile>, others: &[Arc<DmnFile>]) -> Arc<Self> {
        let (own, others) = (Arc::clone(own), others.to_vec());
        Arc::new(Self { own, others, files: OnceLock::new(), read: OnceLock::new() })
    }

    /// Its decisions and decision services.
    pub(crate) fn decisions(&self) -> &[OutlinedDecision] {
        self.own.outline().map_or(&[], |it| &it.decisions)
    }

    /// The id and the name of the graph that its decisions make up.
    pub(crate) fn requirements(&self) -> (Name, Option<Name>) {
        let outline = self.own.outline();
        let (id, name) = outline.map_or(("", ""), |it| (it.id.as_str(), it.name.as_str()));
        let given = [id, name, self.file()].into_iter().find(|it| !it.is_empty());
        (given.unwrap_or_default().into(), Some(Name::from(name)).filter(|it| !it.is_empty()))
    }

    /// What models may call its decisions: ids and names.
    #[doc(hidden)] // For those who read models without deploying them.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.decisions().iter().flat_map(|it| [it.id.to_string(), it.name.to_string()])
    }

    /// The name of its file.
    pub(crate) fn file(&self) -> &str {
        &self.own.name
    }

    /// The file, then all that it imports.
    pub(crate) fn files(&self) -> &[Arc<DmnFile>] {
        self.files.get_or_init(|| {
            let mut files = vec![Arc::clone(&self.own)];
            let mut at = 0;
            while let Some(file) = files.get(at).map(Arc::clone) {
                for namespace in file.imports() {
                    let is_it = |it: &&Arc<DmnFile>| it.is_called(namespace);
                    let is_new =
                        |it: &&Arc<DmnFile>| !files.iter().any(|known| Arc::ptr_eq(known, it));
                    if files.iter().skip(1).any(|it| it.is_called(namespace)) {
                        continue;
                    }
                    if let Some(found) = self.others.iter().filter(is_it).find(is_new) {
                        files.push(Arc::clone(found));
                    }
                }
                at += 1;
            }
            files
        })
    }

    /// Whether both mean the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (these, those) = (self.files(), other.files());
        these.len() == those.len() && these.iter().zip(those).all(|(a, b)| a.body == b.body)
    }

    /// What there is to say about its file, whether or not it can be read.
    pub(crate) fn check(&self) -> Vec<Diagnostic> {
        let files = self.files();
        let named: Vec<(&str, &[u8])> =
            files.iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect();
        let mut report = travertine_dmn::read(&named);
        // The others have been warned about when they were deployed, or are in their own turn.
        let is_error = |it: &Diagnostic| it.severity == Severity::Error;
        report.diagnostics.retain(|it| it.file == self.own.name || is_error(it));
        let errors = report.diagnostics.iter().filter(|it| is_error(it));
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        let read = report.definitions.ok_or_else(|| errors.join("; "));
        // Whoever was quicker has read the same.
        let _: Result<(), _> = self.read.set(read);
        report.diagnostics
    }

    fn read(&self) -> &Result<Decided, String> {
        if self.read.get().is_none() {
            self.check();
        }
        self.read.get().expect("it has just been read")
    }
}

/// The decisions that an instance of one definition can make.
#[derive(Debug)]
pub(crate) struct RulesFor<'a> {
    pub(crate) definitions: &'a Definitions,
    pub(crate) maker: &'a Definition,
    /// The nodes after which the instance ends.
    pub(crate) last: Vec<NodeId>,
}

impl Rules for RulesFor<'_> {
    fn form(&self, id: &str, binding: Option<&str>) -> Option<u64> {
        let Self { definitions, maker, .. } = self;
        let found = definitions.bound_deployed(DeployedKind::Form, id, binding, maker.deployment);
        found.map(|it| it.key.0)
    }

    fn ends_after(&self) -> &[NodeId] {
        &self.last
    }

    fn find(&self, decision: &str, binding: Option<&str>) -> Result<Rule, Failure> {
        let missing = |version: Option<&str>, message: String| {
            let (decision, version) = (decision.into(), version.map(Into::into));
            Failure::new(FailureKind::MissingDecision { decision, version }, message)
        };
        let Self { definitions, maker, .. } = self;
        let Some(latest) = definitions.decision(decision) else {
            let message = format!(
                "no decision '{decision}' is deployed; deploy its DMN file, then try again"
            );
            return Err(missing(None, message));
        };
        let Some(found) = definitions.bound_decision(&latest.id, binding, maker.deployment) else {
            let all = definitions.decision_versions(&latest.id).iter();
            let all: Vec<String> = all.map(|it| in_words(it)).collect();
            let meant = match binding.unwrap_or("latest") {
                "deployment" => {
                    format!(
                        "that was there when version {} of {} was deployed",
                        maker.version, maker.id
                    )
                }
                other => other.split_once(':').map_or_else(
                    || format!("'{other}'"),
                    |(kind, it)| match kind {
                        "version" => it.to_owned(),
                        _ => format!("with the tag '{it}'"),
                    },
                ),
            };
            let message = format!(
                "decision '{decision}' has no version {meant}, only {}; deploy it, then try again",
                all.join(", ")
            );
            return Err(missing(binding, message));
        };
        let (decision, version) = (Name::clone(&found.id), found.version);
        let program = found.program().map_err(|why| Failure::new(FailureKind::Script, why))?;
        Ok(Rule { decision, version, program })
    }
}

fn in_words(it: &DecisionDefinition) -> String {
    match &it.tag {
        Some(tag) => format!("{} ({tag})", it.version),
        None => it.version.to_string(),
    }
}
