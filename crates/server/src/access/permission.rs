//! What somebody may do: permissions, and roles, which are sets of them.

use std::{fmt, str::FromStr};

/// What somebody may do, with what a pattern names.
///
/// ```
/// # use travertine_server::Permission;
/// assert_eq!("operate".parse(), Ok(Permission::Operate));
/// assert!(Permission::ALL.contains(&Permission::Deploy));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Deploy definitions, and take them out of use.
    Deploy,
    /// See definitions, and everything about their instances.
    Read,
    /// Start instances.
    Start,
    /// Change instances: cancel, suspend, modify, migrate, set variables, resolve incidents, change any task.
    Operate,
    /// Take jobs, and say what came of them.
    Work,
    /// Do the user tasks that are assigned or offered to oneself or one's groups.
    Task,
    /// Publish messages and signals.
    Message,
    /// Make decisions, and evaluate expressions.
    Decide,
    /// Delete instances, and everything about the server itself.
    Admin,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Deploy,
        Self::Read,
        Self::Start,
        Self::Operate,
        Self::Work,
        Self::Task,
        Self::Message,
        Self::Decide,
        Self::Admin,
    ];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_server::Permission;
    /// assert_eq!(Permission::Work.name(), "work");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Read => "read",
            Self::Start => "start",
            Self::Operate => "operate",
            Self::Work => "work",
            Self::Task => "task",
            Self::Message => "message",
            Self::Decide => "decide",
            Self::Admin => "admin",
        }
    }

    /// What its patterns are matched against.
    ///
    /// ```
    /// # use travertine_server::Permission;
    /// assert_eq!(Permission::Message.of(), "message or signal");
    /// ```
    pub fn of(self) -> &'static str {
        match self {
            Self::Deploy | Self::Read | Self::Start | Self::Operate | Self::Task | Self::Admin => {
                "definition"
            }
            Self::Work => "job type",
            Self::Message => "message or signal",
            Self::Decide => "decision",
        }
    }
}

/// A set of permissions that goes by a name.
///
/// ```
/// # use travertine_server::{Permission, Role};
/// assert_eq!(Role::Viewer.permissions(), [Permission::Read]);
/// assert_eq!("worker".parse(), Ok(Role::Worker));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Who may do everything.
    Admin,
    /// Who sees to it that instances go on.
    Operator,
    /// Who writes models and tries them.
    Developer,
    /// A program that does jobs.
    Worker,
    /// Who does user tasks.
    User,
    /// Who may look, and change nothing.
    Viewer,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Admin, Self::Operator, Self::Developer, Self::Worker, Self::User, Self::Viewer];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_server::Role;
    /// assert_eq!(Role::Operator.name(), "operator");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Developer => "developer",
            Self::Worker => "worker",
            Self::User => "user",
            Self::Viewer => "viewer",
        }
    }

    /// What it may do.
    ///
    /// ```
    /// # use travertine_server::{Permission, Role};
    /// assert!(!Role::Developer.permissions().contains(&Permission::Admin));
    /// ```
    pub fn permissions(self) -> &'static [Permission] {
        use Permission::{Decide, Deploy, Message, Operate, Read, Start, Task, Work};
        match self {
            Self::Admin => &Permission::ALL,
            Self::Operator => &[Read, Start, Operate, Message, Decide],
            Self::Developer => &[Deploy, Read, Start, Operate, Work, Message, Decide],
            Self::Worker => &[Work],
            Self::User => &[Task],
            Self::Viewer => &[Read],
        }
    }
}

/// A word that is neither a permission nor a role.
///
/// ```
/// # use travertine_server::Role;
/// let why = "boss".parse::<Role>().err().map(|it| it.to_string());
/// assert!(why.is_some_and(|it| it.contains("operator")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    word: String,
    known: Vec<&'static str>,
}

impl UnknownWord {
    pub(super) fn new(word: &str, known: impl IntoIterator<Item = &'static str>) -> Self {
        Self { word: word.to_owned(), known: known.into_iter().collect() }
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is none of {}", self.word, self.known.join(", "))
    }
}

impl std::error::Error for UnknownWord {}

impl FromStr for Permission {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|it| it.name() == word);
        found.ok_or_else(|| UnknownWord::new(word, Self::ALL.map(Self::name)))
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|it| it.name() == word);
        found.ok_or_else(|| UnknownWord::new(word, Self::ALL.map(Self::name)))
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
