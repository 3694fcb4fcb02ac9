//! Who asks, from where, and what they may do.

mod accounts;
mod audit;
mod gate;
mod grant;
mod guard;
mod permission;
mod register;
mod secret;

use std::{collections::BTreeMap, fmt, sync::Arc};

use travertine_runtime::Timestamp;
use travertine_value::Name;

pub(crate) use accounts::Wanted;
pub use accounts::{AccountError, Accounts, Audited, Group, KeyInfo, Subject, User};
pub(crate) use gate::Gate;
pub use grant::{BadGrant, Grant};
pub(crate) use grant::{Grants, Reach};
pub(crate) use guard::Guard;
pub use permission::{Permission, Role, UnknownWord};
pub use secret::{ApiKey, BadSecret, Password};
pub(crate) use secret::{draw_number, draw_secret};

/// Who may log in, as the configuration says it. Where nobody is named here and there are no [`Accounts`], everybody
/// may do everything. Whoever is named may do everything, unless something is granted to them.
///
/// ```
/// # use travertine_server::{Access, Password};
/// let access = Access::default().user("ann", Password::hash("correct horse"));
/// assert!(!access.is_open());
/// ```
#[derive(Clone, Default)]
pub struct Access {
    users: BTreeMap<String, Login<Password>>,
    keys: BTreeMap<String, Login<ApiKey>>,
}

#[derive(Clone)]
struct Login<S> {
    secret: S,
    expires: Option<Timestamp>,
    groups: Vec<Name>,
    /// Everything, where nothing is said.
    grants: Option<Vec<Grant>>,
}

impl<S> Login<S> {
    fn new(secret: S, expires: Option<Timestamp>) -> Self {
        Self { secret, expires, groups: Vec::new(), grants: None }
    }

    fn granted(&self) -> Grants {
        self.grants.as_ref().map_or_else(Grants::all, Grants::of)
    }
}

/// Who asks for something.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    /// The user, or the id of the key; nobody where no login is needed.
    pub(crate) name: Option<Name>,
    /// The groups that they are in.
    pub(crate) groups: Arc<[Name]>,
    /// What they may do.
    pub(crate) grants: Arc<Grants>,
    /// Where it is written down what they are refused.
    pub(crate) audit: Option<Arc<audit::Audit>>,
    /// As of which accounts all this is.
    changes: register::Changes,
    /// Until when what they have logged in with is good.
    expires: Option<Timestamp>,
}

impl Principal {
    /// Somebody who was not asked who they are, and may do nothing.
    pub(crate) fn stranger() -> Self {
        Self { grants: Arc::new(Grants::of([])), ..Self::anybody() }
    }

    /// Nobody in particular, where everybody may do everything.
    pub(crate) fn anybody() -> Self {
        Self {
            name: None,
            groups: Arc::default(),
            grants: Arc::new(Grants::all()),
            audit: None,
            changes: register::Changes::default(),
            expires: None,
        }
    }
}

impl Access {
    /// With a user who logs in with a password.
    ///
    /// ```
    /// # use travertine_server::{Access, Password};
    /// let access = Access::default().user("ann", Password::hash("correct horse"));
    /// ```
    #[must_use]
    pub fn user(mut self, name: &str, password: Password) -> Self {
        self.users.insert(name.to_owned(), Login::new(password, None));
        self
    }

    /// With an API key, which may expire.
    ///
    /// ```
    /// # use travertine_server::{Access, ApiKey};
    /// let (key, text) = ApiKey::draw("worker");
    /// assert!(text.starts_with("tvk_worker_"));
    /// let access = Access::default().key("worker", key, None);
    /// ```
    #[must_use]
    pub fn key(mut self, id: &str, key: ApiKey, expires: Option<Timestamp>) -> Self {
        self.keys.insert(id.to_owned(), Login::new(key, expires));
        self
    }

    /// Whoever has this name may do only what is granted to them.
    ///
    /// ```
    /// # use travertine_server::{Access, Grant, Password, Role};
    /// let access = Access::default().user("ann", Password::hash("correct horse"));
    /// let access = access.grant("ann", [Grant::role(Role::Viewer)]);
    /// ```
    #[must_use]
    pub fn grant(mut self, name: &str, grants: impl IntoIterator<Item = Grant>) -> Self {
        let grants: Vec<Grant> = grants.into_iter().collect();
        if let Some(user) = self.users.get_mut(name) {
            user.grants.get_or_insert_default().extend(grants);
        } else if let Some(key) = self.keys.get_mut(name) {
            key.grants.get_or_insert_default().extend(grants);
        }
        self
    }

    /// Whoever has this name is in a group, which user tasks can be offered to.
    ///
    /// ```
    /// # use travertine_server::{Access, Password};
    /// let access = Access::default().user("ann", Password::hash("correct horse"));
    /// let access = access.member("ann", "ops");
    /// ```
    #[must_use]
    pub fn member(mut self, name: &str, group: &str) -> Self {
        if let Some(user) = self.users.get_mut(name) {
            user.groups.push(group.into());
        } else if let Some(key) = self.keys.get_mut(name) {
            key.groups.push(group.into());
        }
        self
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = &str> {
        self.users.keys().map(String::as_str)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Whether everybody may do everything.
    ///
    /// ```
    /// # use travertine_server::Access;
    /// assert!(Access::default().is_open());
    /// ```
    pub fn is_open(&self) -> bool {
        self.users.is_empty() && self.keys.is_empty()
    }
}

impl fmt::Debug for Access {
    /// Names, without what they log in with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("users", &self.users.keys())
            .field("keys", &self.keys.keys())
            .finish()
    }
}
