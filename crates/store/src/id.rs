//! Names of instances, of what they wait for, and of what they run.

use std::{fmt, str::FromStr};

use travertine_kernel::WaitId;
use travertine_value::Name;

/// An instance's number. It is never used twice.
///
/// ```
/// # use travertine_store::InstanceId;
/// let instance: InstanceId = "12".parse()?;
/// assert_eq!(instance, InstanceId(12));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u64);

/// What stands before the number of an instance, so that it is not taken for an id: `number:12`.
pub const NUMBER: &str = "number:";

impl InstanceId {
    /// What stands where an entry or a row is about no instance, but about a shard.
    pub const NONE: Self = Self(0);

    /// What an instance is called that was given no id: `number:12`. No run has such an id.
    ///
    /// ```
    /// # use travertine_store::InstanceId;
    /// assert_eq!(&*InstanceId(12).unnamed(), "number:12");
    /// ```
    pub fn unnamed(self) -> Name {
        format!("{NUMBER}{self}").into()
    }

    /// The instance that goes by its number in this text, with [`NUMBER`] before it.
    pub fn numbered(text: &str) -> Option<Self> {
        text.strip_prefix(NUMBER)?.parse().ok()
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for InstanceId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("not the number of an instance: {text}"))
    }
}

/// The number of a deployed version: of a process, a function, a decision, a decision requirements graph, a form or a
/// file. It is never used twice, whatever it is of.
///
/// ```
/// # use travertine_store::DefinitionKey;
/// let order: DefinitionKey = "7".parse()?;
/// assert_eq!(order, DefinitionKey(7));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionKey(pub u64);

impl DefinitionKey {
    /// What stands where a version has no key, or nobody knows which it is.
    pub const NONE: Self = Self(0);

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for DefinitionKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("not the key of a definition: {text}"))
    }
}

/// A wait of an instance: what a job, a user task or a timer is called.
///
/// ```
/// # use travertine_store::{Address, InstanceId};
/// let job: Address = "12-7".parse()?;
/// assert_eq!((job.instance, job.wait.0), (InstanceId(12), 7));
/// assert_eq!(job.to_string(), "12-7");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The instance.
    pub instance: InstanceId,
    /// The wait.
    pub wait: WaitId,
}

impl fmt::Display for Address {
    /// `12-7`: wait 7 of instance 12.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.instance, self.wait.0)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('-').and_then(|(instance, wait)| {
            Some(Self { instance: instance.parse().ok()?, wait: WaitId(wait.parse().ok()?) })
        });
        parts.ok_or_else(|| format!("not an id such as 12-7: {text}"))
    }
}
