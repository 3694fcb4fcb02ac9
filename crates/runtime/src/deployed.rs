//! Deployed things: whatever a deployment brings has a key, an id and a version.

use std::sync::Arc;

use travertine_store::DeployedAs;
use travertine_value::Name;

use crate::{DefinitionKey, Named, Timestamp, definition::Versioned};

/// A version of something that was deployed, apart from what is in it.
///
/// ```no_run
/// # use travertine_runtime::{Deployed, Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in engine.definitions().deployed() {
///     let Deployed { key, id, version, file, .. } = &**it;
///     println!("{key}: {} {id} version {version}, out of {file}", it.kind.name());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deployed {
    /// Its number. All kinds of things share one series of numbers, and none is used twice.
    pub key: DefinitionKey,
    /// What it is.
    pub kind: DeployedKind,
    /// Its id, shared by all versions.
    pub id: Name,
    /// Which version, from 1.
    pub version: u32,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// What people call it.
    pub name: Option<Name>,
    /// The name of the file that it was deployed with, as it was given.
    pub file: Name,
    /// What was deployed together has the same number.
    pub deployment: u64,
    /// When.
    pub at: Timestamp,
    /// Of a decision: the key of the decision requirements graph that it is part of.
    pub requirements: Option<DefinitionKey>,
    /// Whether nothing comes to use it any more.
    pub retired: bool,
}

/// What a deployed thing is.
///
/// ```
/// # use travertine_runtime::DeployedKind;
/// assert_eq!(DeployedKind::Form.name(), "form");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DeployedKind {
    /// A process, out of a BPMN file.
    Process,
    /// A durable function, which the program brings.
    Function,
    /// A decision, out of a DMN file.
    Decision,
    /// The decision requirements graph of a DMN file: all of its decisions.
    Requirements,
    /// A form, for people to fill in.
    Form,
    /// Any other file.
    Resource,
}

impl Deployed {
    /// What it is called among all that has a key.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Key};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let keys: Vec<Option<Key>> =
    ///     engine.definitions().deployed().map(|it| Key::of(it.named())).collect();
    /// # Ok(()) }
    /// ```
    pub fn named(&self) -> Named {
        match self.kind {
            DeployedKind::Process | DeployedKind::Function => Named::Definition(self.key),
            DeployedKind::Decision => Named::Decision(self.key),
            DeployedKind::Requirements => Named::DecisionRequirements(self.key),
            DeployedKind::Form => Named::Form(self.key),
            DeployedKind::Resource => Named::Resource(self.key),
        }
    }
}

impl DeployedKind {
    /// Whether it is out of a file that can be checked: BPMN or DMN.
    ///
    /// ```
    /// # use travertine_runtime::DeployedKind;
    /// assert!(DeployedKind::Decision.is_model() && !DeployedKind::Form.is_model());
    /// ```
    pub fn is_model(self) -> bool {
        match self {
            Self::Process | Self::Decision | Self::Requirements => true,
            Self::Function | Self::Form | Self::Resource => false,
        }
    }

    /// What people call it.
    ///
    /// ```
    /// # use travertine_runtime::DeployedKind;
    /// assert_eq!(DeployedKind::Process.name(), "process");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Function => "function",
            Self::Decision => "decision",
            Self::Requirements => "requirements",
            Self::Form => "form",
            Self::Resource => "resource",
        }
    }

    /// What a store calls it.
    pub(crate) fn stored(self) -> DeployedAs {
        match self {
            Self::Process | Self::Function => DeployedAs::Definition,
            Self::Decision => DeployedAs::Decision,
            Self::Requirements => DeployedAs::Requirements,
            Self::Form => DeployedAs::Form,
            Self::Resource => DeployedAs::Resource,
        }
    }
}

impl Versioned for Deployed {
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

/// All versions of one thing, the oldest first. Copies share it until one of them changes.
pub(crate) type Versions<T> = Arc<Vec<Arc<T>>>;

/// Adds a version.
pub(crate) fn add_version<T: Versioned>(versions: &mut Versions<T>, added: Arc<T>) {
    let versions = Arc::make_mut(versions);
    versions.push(added);
    versions.sort_by_key(|it| it.version());
}
