//! Which webhooks there are and how far each has been told, kept in `webhooks.db` beside the store.

use std::{
    fmt,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use travertine_runtime::{
    Timestamp,
    engine::{Clock as _, SystemClock},
};
use travertine_value::Name;

/// The most webhooks.
const HOOKS_MAX: i64 = 100;
/// The longest name.
const NAME_MAX: usize = 100;

const SCHEMA: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS webhooks(name TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL,
        definitions TEXT NOT NULL, kinds TEXT NOT NULL, state TEXT NOT NULL, reason TEXT,
        attempts INTEGER NOT NULL, positions TEXT, told INTEGER NOT NULL, last INTEGER,
        created INTEGER NOT NULL, changed INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

const COLUMNS: &str = "name, url, secret, definitions, kinds, state, reason, attempts, positions, \
    told, last, created, changed";

/// How it stands with a webhook.
///
/// ```
/// # use travertine_server::HookState;
/// assert_eq!(HookState::Dead.name(), "dead");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookState {
    /// It is told what happens.
    Active,
    /// Somebody has stopped it.
    Paused,
    /// It was given up, as nobody answered.
    Dead,
}

impl HookState {
    const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Dead];

    /// The word for it.
    ///
    /// ```
    /// # use travertine_server::HookState;
    /// assert_eq!(HookState::Active.name(), "active");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Dead => "dead",
        }
    }
}

/// What a webhook is told of, and where.
///
/// ```
/// # use travertine_server::HookSettings;
/// let orders = HookSettings {
///     url: "https://sink.example/orders".into(),
///     definitions: vec!["order".into()],
///     kinds: vec!["incident_raised".into()],
///     secret: None,
/// };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSettings {
    /// Where it is told.
    pub url: Name,
    /// The definitions whose instances it is told of; all where none is named.
    pub definitions: Vec<Name>,
    /// Which kinds of events; the usual ones where nothing is said.
    pub kinds: Vec<Name>,
    /// What its messages are signed with. That which it has, or a new one, where nothing is said.
    pub secret: Option<Name>,
}

/// A webhook, without its secret.
///
/// ```
/// # use travertine_server::{HookState, Webhook};
/// fn needs_help(it: &Webhook) -> bool {
///     it.state == HookState::Dead
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// What it is called.
    pub name: Name,
    /// Where it is told.
    pub url: Name,
    /// The definitions whose instances it is told of.
    pub definitions: Vec<Name>,
    /// Which kinds of events.
    pub kinds: Vec<Name>,
    /// How it stands.
    pub state: HookState,
    /// What went wrong last, where nobody has answered since.
    pub reason: Option<Name>,
    /// How often that was.
    pub attempts: u32,
    /// How far the log was told.
    pub positions: Option<Name>,
    /// How many events were told.
    pub told: u64,
    /// When it was told something last.
    pub last: Option<Timestamp>,
    /// Since when there is this webhook.
    pub created: Timestamp,
    /// One more each time that somebody changes it. A webhook begins with a number of its own, so that it is not taken for
    /// another one that had its name.
    pub(crate) changed: u64,
    pub(super) secret: Name,
}

/// Why webhooks cannot be read or changed.
///
/// ```
/// # use travertine_server::HookError;
/// let error = HookError::Bad { reason: "there is no webhook sink".to_owned() };
/// assert_eq!(error.to_string(), "there is no webhook sink");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookError {
    /// There is none of this name.
    NoSuch {
        /// Which.
        name: Name,
    },
    /// It makes no sense.
    Bad {
        /// Why.
        reason: String,
    },
    /// The file cannot be read or written.
    Failed {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { name } => write!(f, "there is no webhook {name}"),
            Self::Bad { reason } => f.write_str(reason),
            Self::Failed { reason } => write!(f, "webhooks cannot be kept: {reason}"),
        }
    }
}

impl std::error::Error for HookError {}

impl From<rusqlite::Error> for HookError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed { reason: error.to_string() }
    }
}

/// Which webhooks there are: the file `webhooks.db` beside a store. A server that runs takes notice of changes within
/// a second.
///
/// ```
/// # use travertine_server::{HookError, Hooks, HookSettings};
/// let hooks = Hooks::open(None)?;
/// let url = "https://sink.example/".into();
/// let wanted = HookSettings { url, definitions: vec![], kinds: vec![], secret: None };
/// let secret = hooks.put("sink", &wanted, None)?.expect("it is new");
/// assert_eq!(hooks.get("sink")?.url.as_ref(), "https://sink.example/");
/// # Ok::<(), HookError>(())
/// ```
#[derive(Debug)]
pub struct Hooks {
    connection: Mutex<Connection>,
}

impl Hooks {
    /// Those in that file, which is made where there is none; in memory where no file is named.
    ///
    /// ```
    /// # use travertine_server::Hooks;
    /// assert_eq!(Hooks::open(None).unwrap().all().unwrap(), []);
    /// ```
    pub fn open(path: Option<&Path>) -> Result<Self, HookError> {
        let connection = match path {
            Some(path) => {
                let connection = Connection::open(path)?;
                crate::native::narrow(path);
                connection
            }
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, by name.
    ///
    /// ```
    /// # use travertine_server::{HookError, Hooks};
    /// fn dead(hooks: &Hooks) -> Result<usize, HookError> {
    ///     Ok(hooks.all()?.iter().filter(|it| it.reason.is_some()).count())
    /// }
    /// ```
    pub fn all(&self) -> Result<Vec<Webhook>, HookError> {
        let connection = self.lock();
        let sql = format!("SELECT {COLUMNS} FROM webhooks ORDER BY name");
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_map([], read)?.collect::<Result<Vec<_>, _>>()?;
        Ok(found)
    }

    /// The one of that name.
    ///
    /// ```
    /// # use travertine_server::Hooks;
    /// let why = Hooks::open(None).unwrap().get("sink").unwrap_err();
    /// assert_eq!(why.to_string(), "there is no webhook sink");
    /// ```
    pub fn get(&self, name: &str) -> Result<Webhook, HookError> {
        let connection = self.lock();
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE name = ?1");
        let found = connection.query_row(&sql, [name], read).optional()?;
        found.ok_or_else(|| HookError::NoSuch { name: name.into() })
    }

    /// Makes a webhook, or changes the one of that name, which goes on from where it is. One that is new is told what
    /// happens from a position of the log on, or from now on. Answers with the secret, where it is a new one that nobody else has.
    ///
    /// ```
    /// # use travertine_server::{HookError, Hooks, HookSettings};
    /// fn aside(hooks: &Hooks, wanted: &HookSettings) -> Result<(), HookError> {
    ///     hooks.put("sink", wanted, None)?;
    ///     hooks.pause("sink")
    /// }
    /// ```
    pub fn put(
        &self,
        name: &str,
        wanted: &HookSettings,
        from: Option<&str>,
    ) -> Result<Option<Name>, HookError> {
        let letters = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(letters) {
            let reason = format!(
                "the name of a webhook has letters, digits, - _ and ., and no more than {NAME_MAX}: not {name:?}"
            );
            return Err(HookError::Bad { reason });
        }
        if let Some(wrong) = wanted.kinds.iter().find(|it| !super::KINDS.contains(&&***it)) {
            let reason =
                format!("there is no kind of event {wrong}; docs/webhooks.md has them all");
            return Err(HookError::Bad { reason });
        }
        let mut connection = self.lock();
        // Other processes change the file, too.
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Option<Name> = change
            .query_row("SELECT secret FROM webhooks WHERE name = ?1", [name], |row| row.get(0))
            .optional()?;
        let count: i64 = change.query_row("SELECT count(*) FROM webhooks", [], |row| row.get(0))?;
        if known.is_none() && count >= HOOKS_MAX {
            let reason = format!("there are {HOOKS_MAX} webhooks already; remove one first");
            return Err(HookError::Bad { reason });
        }
        let fresh = match (&wanted.secret, &known) {
            (None, None) => Some(Name::from(crate::access::draw_secret().as_str())),
            _ => None,
        };
        let secret = wanted.secret.clone().or_else(|| fresh.clone()).or(known);
        change.execute(
            "INSERT INTO webhooks VALUES(?1, ?2, ?3, ?4, ?5, 'active', NULL, 0, ?7, 0, NULL, ?6, ?8)
             ON CONFLICT(name) DO UPDATE SET url = ?2, secret = ?3, definitions = ?4, kinds = ?5,
                 state = 'active', reason = NULL, attempts = 0, changed = changed + 1",
            params![
                name,
                wanted.url,
                secret,
                words(&wanted.definitions),
                words(&wanted.kinds),
                now(),
                from,
                crate::access::draw_number()
            ],
        )?;
        change.commit()?;
        Ok(fresh)
    }

    /// Removes a webhook.
    ///
    /// ```
    /// # use travertine_server::Hooks;
    /// assert!(Hooks::open(None).unwrap().remove("sink").is_err());
    /// ```
    pub fn remove(&self, name: &str) -> Result<(), HookError> {
        let gone = self.lock().execute("DELETE FROM webhooks WHERE name = ?1", [name])?;
        if gone == 0 { Err(HookError::NoSuch { name: name.into() }) } else { Ok(()) }
    }

    /// A webhook is told nothing until it is resumed. It goes on from where it is then.
    ///
    /// ```
    /// # use travertine_server::Hooks;
    /// assert!(Hooks::open(None).unwrap().pause("sink").is_err());
    /// ```
    pub fn pause(&self, name: &str) -> Result<(), HookError> {
        self.set_state(name, HookState::Paused)
    }

    /// A webhook goes on from where it is, also one that was given up.
    ///
    /// ```
    /// # use travertine_server::Hooks;
    /// assert!(Hooks::open(None).unwrap().resume("sink").is_err());
    /// ```
    pub fn resume(&self, name: &str) -> Result<(), HookError> {
        self.set_state(name, HookState::Active)
    }

    fn set_state(&self, name: &str, state: HookState) -> Result<(), HookError> {
        let sql = "UPDATE webhooks SET state = ?2, reason = NULL, attempts = 0, \
            changed = changed + 1 WHERE name = ?1";
        let found = self.lock().execute(sql, params![name, state.name()])?;
        if found == 0 { Err(HookError::NoSuch { name: name.into() }) } else { Ok(()) }
    }

    /// So much was told, and the log up to there.
    pub(super) fn told(
        &self,
        hook: &Webhook,
        positions: &str,
        events: u64,
    ) -> Result<(), HookError> {
        let last = (events > 0).then(now);
        let sql = "UPDATE webhooks SET positions = ?3, told = told + ?4, last = coalesce(?5, last), \
            reason = NULL, attempts = 0 WHERE name = ?1 AND changed = ?2";
        let values = params![hook.name, hook.changed, positions, events, last];
        self.lock().execute(sql, values)?;
        Ok(())
    }

    /// It could not be told, so often now; it is given up where it is dead.
    pub(super) fn failed(
        &self,
        hook: &Webhook,
        attempts: u32,
        reason: &str,
        is_dead: bool,
    ) -> Result<(), HookError> {
        let state = if is_dead { HookState::Dead } else { HookState::Active };
        let sql = "UPDATE webhooks SET attempts = ?3, reason = ?4, state = ?5 \
            WHERE name = ?1 AND changed = ?2";
        let values = params![hook.name, hook.changed, attempts, reason, state.name()];
        self.lock().execute(sql, values)?;
        Ok(())
    }
}

/// Names as a text, which none of them has a line end in.
fn words(all: &[Name]) -> String {
    all.iter().map(|it| &**it).collect::<Vec<_>>().join("\n")
}

fn read(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    let names = |at: usize| -> rusqlite::Result<Vec<Name>> {
        let text: String = row.get(at)?;
        Ok(text.lines().map(Name::from).collect())
    };
    let state: String = row.get(5)?;
    let state = HookState::ALL.into_iter().find(|it| it.name() == state);
    Ok(Webhook {
        name: row.get(0)?,
        url: row.get(1)?,
        secret: row.get(2)?,
        definitions: names(3)?,
        kinds: names(4)?,
        state: state.unwrap_or(HookState::Dead),
        reason: row.get(6)?,
        attempts: row.get(7)?,
        positions: row.get(8)?,
        told: row.get(9)?,
        last: row.get::<_, Option<i64>>(10)?.map(Timestamp::from_millis),
        created: Timestamp::from_millis(row.get(11)?),
        changed: row.get(12)?,
    })
}

fn now() -> i64 {
    SystemClock.now().as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(url: &str) -> HookSettings {
        HookSettings { url: url.into(), definitions: vec![], kinds: vec![], secret: None }
    }

    #[test]
    fn a_webhook_is_not_another_one_that_had_its_name() {
        let hooks = Hooks::open(None).unwrap();
        hooks.put("sink", &to("https://old.example/"), None).unwrap();
        let old = hooks.get("sink").unwrap();
        hooks.remove("sink").unwrap();
        hooks.put("sink", &to("https://new.example/"), None).unwrap();
        let new = hooks.get("sink").unwrap();
        assert_ne!(old.changed, new.changed);
        // What became of the old one says nothing of the new one.
        hooks.told(&old, "7", 3).unwrap();
        hooks.failed(&old, 20, "nobody answers", true).unwrap();
        assert_eq!(hooks.get("sink").unwrap(), new);
        // Whoever changes one changes that one.
        hooks.put("sink", &to("https://newer.example/"), None).unwrap();
        assert_eq!(hooks.get("sink").unwrap().changed, new.changed + 1);
    }
}
