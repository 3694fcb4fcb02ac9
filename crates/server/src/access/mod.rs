//! Who asks, and from where.

mod gate;
mod guard;
mod secret;

use std::{collections::BTreeMap, fmt, sync::Arc};

use travertine_runtime::Timestamp;

pub(crate) use gate::Gate;
pub(crate) use guard::Guard;
pub use secret::{ApiKey, BadSecret, Password};

/// Who may log in. Where nobody is named, everybody may do everything.
///
/// ```
/// # use travertine_server::{Access, Password};
/// let access = Access::default().user("ann", Password::hash("correct horse"));
/// assert!(!access.is_open());
/// ```
#[derive(Clone, Default)]
pub struct Access {
    users: BTreeMap<String, Password>,
    keys: BTreeMap<String, Key>,
}

#[derive(Clone)]
struct Key {
    key: ApiKey,
    expires: Option<Timestamp>,
}

/// Who asks for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The user, or the id of the key; nobody where no login is needed.
    pub(crate) name: Option<Arc<str>>,
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
        self.users.insert(name.to_owned(), password);
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
        self.keys.insert(id.to_owned(), Key { key, expires });
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
