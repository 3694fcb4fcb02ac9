//! What somebody was granted: permissions, each with patterns of what it is for.

use std::{collections::BTreeSet, fmt, str::FromStr};

use travertine_store::search::{Column, Condition, Pattern, Test};
use travertine_value::Name;

use super::{Permission, Role, permission::UnknownWord};

/// The most patterns that somebody has for one permission. Each is a condition of searches.
const PATTERNS_MAX: usize = 50;

/// One thing that was granted: a role or a permission, for what a pattern names.
///
/// ```
/// # use travertine_server::{Grant, Role};
/// let orders: Grant = "operator:order-*".parse()?;
/// assert_eq!(orders, Grant::role(Role::Operator).of("order-*")?);
/// assert_eq!(orders.to_string(), "operator:order-*");
/// # Ok::<(), travertine_server::BadGrant>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    what: What,
    /// For everything, where there is none.
    pattern: Option<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Role(Role),
    Permission(Permission),
}

/// A grant that makes no sense.
///
/// ```
/// # use travertine_server::Grant;
/// assert!("boss:order".parse::<Grant>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadGrant {
    /// It names no role and no permission.
    Unknown(UnknownWord),
    /// Its pattern cannot be read.
    Pattern(String),
}

impl fmt::Display for BadGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(word) => word.fmt(f),
            Self::Pattern(pattern) => write!(
                f,
                "{pattern:?} is no pattern: write an id, in which * stands for any characters and ? for one"
            ),
        }
    }
}

impl std::error::Error for BadGrant {}

impl Grant {
    /// A role, for everything.
    ///
    /// ```
    /// # use travertine_server::{Grant, Role};
    /// assert_eq!(Grant::role(Role::Viewer).to_string(), "viewer");
    /// ```
    pub fn role(role: Role) -> Self {
        Self { what: What::Role(role), pattern: None }
    }

    /// A permission, for everything.
    ///
    /// ```
    /// # use travertine_server::{Grant, Permission};
    /// assert_eq!(Grant::permission(Permission::Start).to_string(), "start");
    /// ```
    pub fn permission(permission: Permission) -> Self {
        Self { what: What::Permission(permission), pattern: None }
    }

    /// Only for what the pattern names: `*` stands for any characters, `?` for one.
    ///
    /// ```
    /// # use travertine_server::{Grant, Role};
    /// let grant = Grant::role(Role::Worker).of("mail-*")?;
    /// assert_eq!(grant.to_string(), "worker:mail-*");
    /// # Ok::<(), travertine_server::BadGrant>(())
    /// ```
    pub fn of(self, pattern: &str) -> Result<Self, BadGrant> {
        let wrong = || BadGrant::Pattern(pattern.chars().take(100).collect());
        if pattern.is_empty() || pattern.contains('\0') {
            return Err(wrong());
        }
        Pattern::parse(pattern).map_err(|_| wrong())?;
        Ok(Self { pattern: (pattern != "*").then(|| pattern.into()), ..self })
    }

    fn permissions(&self) -> &[Permission] {
        match &self.what {
            What::Role(role) => role.permissions(),
            What::Permission(permission) => std::slice::from_ref(permission),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Role(role) => role.fmt(f)?,
            What::Permission(permission) => permission.fmt(f)?,
        }
        self.pattern.as_ref().map_or(Ok(()), |it| write!(f, ":{it}"))
    }
}

impl FromStr for Grant {
    type Err = BadGrant;

    /// A role or a permission, and behind a colon the pattern. Where a word is both, the role is meant.
    fn from_str(text: &str) -> Result<Self, BadGrant> {
        let (word, pattern) =
            text.split_once(':').map_or((text, None), |(word, it)| (word, Some(it)));
        let grant = match (word.parse::<Role>(), word.parse::<Permission>()) {
            (Ok(role), _) => Self::role(role),
            (_, Ok(permission)) => Self::permission(permission),
            (Err(_), Err(_)) => {
                let permissions = Permission::ALL.into_iter().filter(|it| it.name() != "admin");
                let known = Role::ALL.map(Role::name).into_iter();
                let known = known.chain(permissions.map(Permission::name));
                return Err(BadGrant::Unknown(UnknownWord::new(word, known)));
            }
        };
        match pattern {
            Some(pattern) => grant.of(pattern),
            None => Ok(grant),
        }
    }
}

/// How far a permission goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Everything,
    /// What one of these names; nothing, where there are none.
    Only(Patterns),
}

/// What is named exactly, and what is like a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    names: BTreeSet<Name>,
    like: Vec<Pattern>,
}

/// How far each permission goes that somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grants([Reach; Permission::ALL.len()]);

impl Reach {
    const NOTHING: Self = Self::Only(Patterns { names: BTreeSet::new(), like: Vec::new() });

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Only(it) if it.names.is_empty() && it.like.is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(Patterns { names, like }) => {
                names.contains(name) || like.iter().any(|it| it.matches(name))
            }
        }
    }

    /// What must hold for rows that have their name in this column; `None` where all are meant.
    pub(crate) fn condition(&self, column: impl Into<Column>) -> Option<Condition> {
        let Self::Only(Patterns { names, like }) = self else { return None };
        let column = column.into();
        let named = (!names.is_empty()).then(|| Test::any_of(names.iter().map(Name::clone)));
        let tests = named.into_iter().chain(like.iter().map(|it| Test::Like(it.clone())));
        Some(Condition::Any(tests.map(|it| Condition::Is(column, it)).collect()))
    }

    fn add(&mut self, pattern: Option<&Name>) {
        let Self::Only(Patterns { names, like }) = self else { return };
        let Some(pattern) = pattern else {
            *self = Self::Everything;
            return;
        };
        if !pattern.contains(['*', '?', '\\']) {
            names.insert(Name::clone(pattern));
        } else if let Ok(pattern) = Pattern::parse(pattern)
            && !like.contains(&pattern)
        {
            like.push(pattern);
        }
    }
}

impl Grants {
    /// Everything.
    pub(crate) fn all() -> Self {
        Self(std::array::from_fn(|_| Reach::Everything))
    }

    /// What these grant together.
    pub(crate) fn of<'a>(grants: impl IntoIterator<Item = &'a Grant>) -> Self {
        let mut all = Self(std::array::from_fn(|_| Reach::NOTHING));
        for grant in grants {
            for permission in grant.permissions() {
                all.0[*permission as usize].add(grant.pattern.as_ref());
            }
        }
        all
    }

    pub(crate) fn reach(&self, permission: Permission) -> &Reach {
        &self.0[permission as usize]
    }

    /// Whether searches can have a condition for each of the patterns.
    pub(crate) fn are_few(&self) -> bool {
        let few = |it: &Reach| match it {
            Reach::Everything => true,
            Reach::Only(it) => it.names.len() + it.like.len() <= PATTERNS_MAX,
        };
        self.0.iter().all(few)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(all: &[&str]) -> Grants {
        let all: Vec<Grant> = all.iter().map(|it| it.parse().expect("it is a grant")).collect();
        Grants::of(&all)
    }

    #[test]
    fn what_was_granted_adds_up() {
        let it = grants(&["viewer:order*", "operate:order-eu", "read:bill"]);
        let read = it.reach(Permission::Read);
        assert!(read.has("order-us") && read.has("order") && read.has("bill"));
        assert!(!read.has("bills") && !read.has("my-order"));
        let operate = it.reach(Permission::Operate);
        assert!(operate.has("order-eu") && !operate.has("order-us"));
        assert!(it.reach(Permission::Admin).is_nothing());
        assert_eq!(*grants(&["read:a", "viewer"]).reach(Permission::Read), Reach::Everything);
        assert_eq!(grants(&["admin"]), Grants::all());
        assert_eq!(grants(&["admin:*"]), Grants::all());
    }

    #[test]
    fn a_grant_that_makes_no_sense_is_refused_with_what_there_is() {
        let why = |text: &str| text.parse::<Grant>().expect_err("it is wrong").to_string();
        assert!(why("boss").contains("operator") && why("boss").contains("deploy"));
        assert!(why("viewer:").contains("write an id"));
        assert!(why(&format!("viewer:{}", "ab".repeat(1_000))).contains("write an id"));
    }

    #[test]
    fn a_character_that_is_quoted_stands_for_itself() {
        let it = grants(&[r"read:a\*"]);
        assert!(it.reach(Permission::Read).has("a*") && !it.reach(Permission::Read).has("ab"));
    }
}
