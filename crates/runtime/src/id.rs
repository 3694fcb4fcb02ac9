//! Names of instances and of what they wait for.

use std::{fmt, str::FromStr};

use travertine_kernel::WaitId;
use travertine_value::Name;

use crate::{BadId, Error};

/// An instance's name. It is never used twice.
///
/// ```
/// # use travertine_runtime::InstanceId;
/// let instance: InstanceId = "12".parse()?;
/// assert_eq!(instance, InstanceId(12));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u64);

/// What stands before the number of an instance, so that it is not taken for an id: `number:12`.
pub const NUMBER: &str = "number:";

/// How many bytes an id may have that someone chooses.
const ID_BYTES_MAX: usize = 1_024;

/// Whether something can have an id that someone chooses. People read it in lists, and type it.
pub(crate) fn check(id: &Name) -> Result<(), Error> {
    let control = id.chars().find(|it| it.is_control());
    let reason = match control {
        _ if id.is_empty() => BadId::Empty,
        _ if id.len() > ID_BYTES_MAX => BadId::TooLong { max: ID_BYTES_MAX },
        Some(letter) => BadId::Control(letter),
        None => return Ok(()),
    };
    Err(Error::BadId { id: Name::clone(id), reason })
}

impl InstanceId {
    /// What an instance is called that was given no id: `number:12`. No run has such an id.
    ///
    /// ```
    /// # use travertine_runtime::InstanceId;
    /// assert_eq!(&*InstanceId(12).unnamed(), "number:12");
    /// ```
    pub fn unnamed(self) -> Name {
        format!("{NUMBER}{self}").into()
    }

    /// The instance that goes by its number in this text, with [`NUMBER`] before it.
    pub(crate) fn numbered(text: &str) -> Option<Self> {
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

/// A wait of an instance: what a job, a user task or a timer is called.
///
/// ```
/// # use travertine_runtime::{Address, InstanceId};
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

impl Address {
    pub(crate) fn new((instance, wait): (u64, u64)) -> Self {
        Self { instance: InstanceId(instance), wait: WaitId(wait) }
    }
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
            Some(Self::new((instance.parse().ok()?, wait.parse().ok()?)))
        });
        parts.ok_or_else(|| format!("not an id such as 12-7: {text}"))
    }
}
