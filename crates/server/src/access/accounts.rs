//! Who there is, kept in `server.db` beside the store: users, groups, API keys, what was granted to them, and what
//! became of that.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use travertine_runtime::{
    Timestamp,
    engine::{Clock as _, SystemClock},
};
use travertine_value::Name;

use super::{ApiKey, Grant, Password, grant::Grants};

/// Says that a file is one of ours.
const APPLICATION: i32 = 0x7476_6163;
/// The format of what is in it.
const FORMAT: i32 = 1;

/// The longest name of a user, a group or a key, in bytes.
const NAME_MAX: usize = 200;

const SCHEMA: &str = "
    CREATE TABLE users(name TEXT PRIMARY KEY, password TEXT NOT NULL, disabled INTEGER NOT NULL,
        created INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE members(team TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY(team, user))
        STRICT, WITHOUT ROWID;
    CREATE TABLE keys(id TEXT PRIMARY KEY, hash TEXT NOT NULL, created INTEGER NOT NULL,
        expires INTEGER) STRICT, WITHOUT ROWID;
    CREATE TABLE grants(kind TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL,
        PRIMARY KEY(kind, name, what)) STRICT, WITHOUT ROWID;
    CREATE TABLE facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO facts VALUES('changes', 0), ('closed', 0);
    CREATE TABLE audit(seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT,
        what TEXT NOT NULL, about TEXT NOT NULL, times INTEGER NOT NULL) STRICT;
    CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
    CREATE TRIGGER audit_stays_whole BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
";

/// Users, groups, API keys, what was granted to them, and the audit of all that: the file `server.db` beside a store.
///
/// Once there is an account, nobody comes in without one any more, also when the last one is gone.
///
/// ```
/// # use travertine_server::{AccountError, Accounts, Role, Grant, Subject};
/// # let dir = tempfile::tempdir().unwrap();
/// let accounts = Accounts::open(&dir.path().join("server.db"))?;
/// accounts.add_user("ann", "correct horse", "root")?;
/// accounts.grant(&Subject::User("ann".into()), &Grant::role(Role::Operator), "root")?;
/// assert_eq!(accounts.users()?[0].grants, ["operator".parse().unwrap()]);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug)]
pub struct Accounts {
    connection: Mutex<Connection>,
    path: PathBuf,
}

/// Whom something can be granted to.
///
/// ```
/// # use travertine_server::Subject;
/// assert_eq!(Subject::Group("ops".into()).to_string(), "group ops");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A user.
    User(Name),
    /// All users in a group.
    Group(Name),
    /// Whoever has an API key.
    Key(Name),
}

impl Subject {
    fn parts(&self) -> (&'static str, &Name) {
        match self {
            Self::User(name) => ("user", name),
            Self::Group(name) => ("group", name),
            Self::Key(name) => ("key", name),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind} {name}")
    }
}

/// A user, without their password.
///
/// ```
/// # use travertine_server::User;
/// fn may_log_in(user: &User) -> bool {
///     !user.disabled
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What they are called.
    pub name: Name,
    /// Whether they may not log in.
    pub disabled: bool,
    /// Since when there is this user.
    pub created: Timestamp,
    /// The groups that they are in.
    pub groups: Vec<Name>,
    /// What was granted to them, not counting their groups.
    pub grants: Vec<Grant>,
}

/// A group of users.
///
/// ```
/// # use travertine_server::Group;
/// fn is_alone(group: &Group) -> bool {
///     group.users.len() == 1
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: Name,
    /// Who is in it.
    pub users: Vec<Name>,
    /// What was granted to it.
    pub grants: Vec<Grant>,
}

/// An API key, without its secret.
///
/// ```
/// # use travertine_server::KeyInfo;
/// fn has_expired(key: &KeyInfo, now: travertine_runtime::Timestamp) -> bool {
///     key.expires.is_some_and(|it| it <= now)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    /// Its id.
    pub id: Name,
    /// Since when there is this key.
    pub created: Timestamp,
    /// Until when it is good.
    pub expires: Option<Timestamp>,
    /// What was granted to whoever has it.
    pub grants: Vec<Grant>,
}

/// Something that was done, tried or refused.
///
/// ```
/// # use travertine_server::Audited;
/// fn in_words(it: &Audited) -> String {
///     format!("{} {} {}", it.who.as_deref().unwrap_or("somebody"), it.what, it.about)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// Its number; the later, the greater.
    pub seq: u64,
    /// When, or for the first time.
    pub at: Timestamp,
    /// Who; `None` where nobody knows.
    pub who: Option<Name>,
    /// What: `login`, `refused`, `user added`…
    pub what: Name,
    /// About whom or what.
    pub about: Name,
    /// How often the same came within a minute.
    pub times: u64,
}

/// Why accounts cannot be read or changed.
///
/// ```
/// # use travertine_server::AccountError;
/// let error = AccountError::NoSuch { subject: "user ann".to_owned() };
/// assert_eq!(error.to_string(), "there is no user ann");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AccountError {
    /// There is none of this name.
    NoSuch {
        /// Who.
        subject: String,
    },
    /// There is one already.
    Exists {
        /// Who.
        subject: String,
    },
    /// Nobody can be called so.
    BadName {
        /// How.
        name: String,
    },
    /// It was never granted.
    NotGranted {
        /// To whom.
        subject: String,
        /// What.
        grant: Grant,
    },
    /// It would be too much for searches.
    TooMany {
        /// For whom.
        subject: String,
    },
    /// The password is of no use.
    BadPassword,
    /// A new user needs one.
    NoPassword {
        /// Who.
        name: String,
    },
    /// The file cannot be used.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { subject } => write!(f, "there is no {subject}"),
            Self::Exists { subject } => write!(f, "there is a {subject} already"),
            Self::BadName { name } => write!(
                f,
                "{name:?} is no name: it has letters, digits and . _ - @, begins with no sign, and is not longer \
                 than {NAME_MAX} bytes"
            ),
            Self::NotGranted { subject, grant } => {
                write!(f, "{grant} was not granted to {subject}")
            }
            Self::TooMany { subject } => write!(
                f,
                "{subject} would have too many patterns for one permission: grant one pattern that covers several"
            ),
            Self::BadPassword => {
                f.write_str("a password has at least 8 characters, and at most 1,000")
            }
            Self::NoPassword { name } => write!(f, "{name} is a new user: say a password"),
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for AccountError {}

type Result<T> = std::result::Result<T, AccountError>;

/// Everything that is needed to let somebody in.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    /// How often accounts had changed.
    pub(super) changes: u64,
    /// Whether there has ever been an account.
    pub(super) is_closed: bool,
    pub(super) users: Vec<(Name, Password, Vec<Name>, Grants)>,
    pub(super) keys: Vec<(Name, ApiKey, Option<Timestamp>, Grants)>,
}

impl Accounts {
    /// Opens the file; makes it where there is none, for its owner's eyes only.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, Duration::from_secs(30))
    }

    /// Opens the file, and waits so long for others who write it.
    pub(super) fn open_within(path: &Path, wait: Duration) -> Result<Self> {
        let file = |reason: String| AccountError::File { path: path.to_owned(), reason };
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        drop(options.open(path).map_err(|it| file(it.to_string()))?);
        let failed = |it: rusqlite::Error| file(it.to_string());
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(wait).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        let change =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let of = |name| change.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        match (of("application_id").map_err(failed)?, of("user_version").map_err(failed)?) {
            (APPLICATION, FORMAT) => {}
            (APPLICATION, other) => {
                return Err(file(format!(
                    "it has format {other}, which this version cannot read: use the version that wrote it"
                )));
            }
            (0, 0) => {
                change.execute_batch(SCHEMA).map_err(failed)?;
                change.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
                change.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
            }
            _ => return Err(file("it is not a file of accounts: move it away".to_owned())),
        }
        change.commit().map_err(failed)?;
        Ok(Self { connection: Mutex::new(connection), path: path.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> AccountError + Copy + '_ {
        |it| AccountError::File { path: self.path.clone(), reason: it.to_string() }
    }

    /// Changes something, and audits it in the same breath: all of it, or nothing.
    fn change<T>(&self, by: &str, change: impl FnOnce(&mut Change<'_>) -> Result<T>) -> Result<T> {
        let failed = self.failed();
        let mut connection = self.lock();
        let behavior = TransactionBehavior::Immediate;
        let transaction = connection.transaction_with_behavior(behavior).map_err(failed)?;
        let mut making = Change { it: &transaction, path: &self.path, done: Vec::new() };
        let done = change(&mut making)?;
        let audited = making.done;
        if !audited.is_empty() {
            transaction
                .execute("UPDATE facts SET value = value + 1 WHERE name = 'changes'", [])
                .map_err(failed)?;
        }
        for (what, about) in audited {
            transaction.execute(AUDIT, params![now(), by, what, about, 1]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Adds a user who logs in with a password. `by` says who does, for the audit, as everywhere here.
    pub fn add_user(&self, name: &str, password: &str, by: &str) -> Result<()> {
        named(name)?;
        let password = hashed(password)?;
        self.change(by, |it| it.add_user(name, &password))
    }

    /// Gives a user another password. Who is logged in with the old one is not any more.
    pub fn set_password(&self, name: &str, password: &str, by: &str) -> Result<()> {
        let password = hashed(password)?;
        self.change(by, |it| it.set_password(name, &password))
    }

    /// Keeps a user from logging in, or lets them again.
    pub fn set_disabled(&self, name: &str, disabled: bool, by: &str) -> Result<()> {
        self.change(by, |it| it.set_disabled(name, disabled))
    }

    /// Makes a user, or changes the one of that name: all that is said, or nothing.
    pub(crate) fn put_user(&self, name: &str, wanted: &Wanted, by: &str) -> Result<()> {
        named(name)?;
        let password = wanted.password.as_deref().map(hashed).transpose()?;
        self.change(by, |it| {
            match (it.is_there(&Subject::User(name.into()))?, password) {
                (true, Some(password)) => it.set_password(name, &password)?,
                (false, Some(password)) => it.add_user(name, &password)?,
                (true, None) => {}
                (false, None) => return Err(AccountError::NoPassword { name: name.to_owned() }),
            }
            if let Some(groups) = &wanted.groups {
                it.set_groups(name, groups)?;
            }
            if let Some(grants) = &wanted.grants {
                it.set_grants(&Subject::User(name.into()), grants)?;
            }
            if let Some(disabled) = wanted.disabled
                && it.is_disabled(name)? != disabled
            {
                it.set_disabled(name, disabled)?;
            }
            Ok(())
        })
    }

    /// Removes a user, with all that was granted to them.
    pub fn remove_user(&self, name: &str, by: &str) -> Result<()> {
        self.change(by, |it| {
            it.done("user removed", name);
            let gone = it.run("DELETE FROM users WHERE name = ?1", [name])?;
            it.run("DELETE FROM members WHERE user = ?1", [name])?;
            it.run("DELETE FROM grants WHERE kind = 'user' AND name = ?1", [name])?;
            if gone > 0 { Ok(()) } else { Err(no_such(&Subject::User(name.into()))) }
        })
    }

    /// Puts a user into a group, which need not be there before.
    pub fn add_member(&self, group: &str, user: &str, by: &str) -> Result<()> {
        self.change(by, |it| it.add_member(group, user))
    }

    /// Takes a user out of a group.
    pub fn remove_member(&self, group: &str, user: &str, by: &str) -> Result<()> {
        self.change(by, |it| it.remove_member(group, user))
    }

    /// Removes a group, with all that was granted to it. Its users stay.
    pub fn remove_group(&self, name: &str, by: &str) -> Result<()> {
        self.change(by, |it| {
            it.done("group removed", name);
            let members = it.run("DELETE FROM members WHERE team = ?1", [name])?;
            let grants = it.run("DELETE FROM grants WHERE kind = 'group' AND name = ?1", [name])?;
            let there = members + grants > 0;
            if there { Ok(()) } else { Err(no_such(&Subject::Group(name.into()))) }
        })
    }

    /// Says what a group is granted.
    pub(crate) fn put_group(&self, name: &str, grants: &[Grant], by: &str) -> Result<()> {
        self.change(by, |it| it.set_grants(&Subject::Group(name.into()), grants))
    }

    /// Draws an API key. Its text is answered once and never again.
    pub fn add_key(&self, id: &str, expires: Option<Timestamp>, by: &str) -> Result<String> {
        self.add_key_for(id, expires, &[], by)
    }

    /// Draws an API key to which this is granted. Its text is answered once and never again.
    pub(crate) fn add_key_for(
        &self,
        id: &str,
        expires: Option<Timestamp>,
        grants: &[Grant],
        by: &str,
    ) -> Result<String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
        if id.is_empty() || id.len() > 64 || !id.chars().all(is_plain) {
            return Err(AccountError::BadName { name: id.to_owned() });
        }
        let (key, text) = ApiKey::draw(id);
        self.change(by, |it| {
            it.done("key added", id);
            let sql = "INSERT OR IGNORE INTO keys VALUES(?1, ?2, ?3, ?4)";
            let expires = expires.map(Timestamp::as_millis);
            let added = it.run(sql, params![id, key.to_string(), now(), expires])?;
            it.close()?;
            if it.is_there(&Subject::User(id.into()))? {
                return Err(exists(&Subject::User(id.into())));
            }
            if added == 0 {
                return Err(exists(&Subject::Key(id.into())));
            }
            it.set_grants(&Subject::Key(id.into()), grants)
        })?;
        Ok(text)
    }

    /// Removes an API key: nobody comes in with it any more.
    pub fn remove_key(&self, id: &str, by: &str) -> Result<()> {
        self.change(by, |it| {
            it.done("key removed", id);
            let gone = it.run("DELETE FROM keys WHERE id = ?1", [id])?;
            it.run("DELETE FROM grants WHERE kind = 'key' AND name = ?1", [id])?;
            if gone > 0 { Ok(()) } else { Err(no_such(&Subject::Key(id.into()))) }
        })
    }

    /// Grants something. Granting it again changes nothing.
    pub fn grant(&self, to: &Subject, grant: &Grant, by: &str) -> Result<()> {
        self.change(by, |it| it.grant(to, grant))
    }

    /// Takes back what was granted.
    pub fn revoke(&self, from: &Subject, grant: &Grant, by: &str) -> Result<()> {
        self.change(by, |it| it.revoke(from, grant))
    }

    /// All users, by name.
    pub fn users(&self) -> Result<Vec<User>> {
        let read = |it: &Connection| {
            let mut users =
                it.prepare("SELECT name, disabled, created FROM users ORDER BY name")?;
            let users = users.query_map([], |row| {
                let name: Name = row.get(0)?;
                Ok(User {
                    disabled: row.get(1)?,
                    created: Timestamp::from_millis(row.get(2)?),
                    groups: groups_of(it, &name)?,
                    grants: grants_of(it, &Subject::User(Name::clone(&name)))?,
                    name,
                })
            })?;
            users.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.lock()).map_err(self.failed())
    }

    /// All groups, by name.
    pub fn groups(&self) -> Result<Vec<Group>> {
        let read = |it: &Connection| {
            let sql = "SELECT team FROM members UNION SELECT name FROM grants WHERE kind = 'group' ORDER BY 1";
            let mut groups = it.prepare(sql)?;
            let groups = groups.query_map([], |row| {
                let name: Name = row.get(0)?;
                let mut users =
                    it.prepare("SELECT user FROM members WHERE team = ?1 ORDER BY user")?;
                let users =
                    users.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
                let grants = grants_of(it, &Subject::Group(Name::clone(&name)))?;
                Ok(Group { name, users, grants })
            })?;
            groups.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.lock()).map_err(self.failed())
    }

    /// All API keys, by id.
    pub fn keys(&self) -> Result<Vec<KeyInfo>> {
        let read = |it: &Connection| {
            let mut keys = it.prepare("SELECT id, created, expires FROM keys ORDER BY id")?;
            let keys = keys.query_map([], |row| {
                let id: Name = row.get(0)?;
                Ok(KeyInfo {
                    created: Timestamp::from_millis(row.get(1)?),
                    expires: row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis),
                    grants: grants_of(it, &Subject::Key(Name::clone(&id)))?,
                    id,
                })
            })?;
            keys.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.lock()).map_err(self.failed())
    }

    /// The newest of the audit before that number, the newest first.
    pub fn audited(&self, before: Option<u64>, most: u32) -> Result<Vec<Audited>> {
        let read = |it: &Connection| {
            let sql = "SELECT seq, at, who, what, about, times FROM audit WHERE seq < ?1 \
                       ORDER BY seq DESC LIMIT ?2";
            let before = before.and_then(|it| i64::try_from(it).ok()).unwrap_or(i64::MAX);
            let mut all = it.prepare(sql)?;
            let all = all.query_map(params![before, most], |row| {
                Ok(Audited {
                    seq: row.get(0)?,
                    at: Timestamp::from_millis(row.get(1)?),
                    who: row.get(2)?,
                    what: row.get(3)?,
                    about: row.get(4)?,
                    times: row.get(5)?,
                })
            })?;
            all.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.lock()).map_err(self.failed())
    }

    /// Adds to the audit.
    pub(super) fn audit(&self, all: &[(Timestamp, Option<Name>, &str, Name, u64)]) -> Result<()> {
        let failed = self.failed();
        let mut connection = self.lock();
        let behavior = TransactionBehavior::Immediate;
        let transaction = connection.transaction_with_behavior(behavior).map_err(failed)?;
        for (at, who, what, about, times) in all {
            let values = params![at.as_millis(), who, what, about, times];
            transaction.execute(AUDIT, values).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// A number that is another one once another program has written something.
    pub(super) fn version(&self) -> Result<i64> {
        let read = |it: &Connection| it.pragma_query_value(None, "data_version", |row| row.get(0));
        read(&self.lock()).map_err(self.failed())
    }

    /// How often accounts have changed.
    pub(super) fn changes(&self) -> Result<u64> {
        fact(&self.lock(), "changes").map_err(self.failed())
    }

    /// All that is needed to let somebody in, as of one moment.
    pub(super) fn load(&self) -> Result<Loaded> {
        let mut connection = self.lock();
        let read = |it: &mut Connection| {
            let it = it.transaction()?;
            let mut users = it.prepare("SELECT name, password FROM users WHERE disabled = 0")?;
            let users = users.query_map([], |row| {
                let (name, password): (Name, String) = (row.get(0)?, row.get(1)?);
                let groups = groups_of(&it, &name)?;
                let mut all = grants_of(&it, &Subject::User(Name::clone(&name)))?;
                for group in &groups {
                    all.extend(grants_of(&it, &Subject::Group(Name::clone(group)))?);
                }
                Ok(password.parse().ok().map(|it| (name, it, groups, Grants::of(&all))))
            })?;
            let mut keys = it.prepare("SELECT id, hash, expires FROM keys")?;
            let keys = keys.query_map([], |row| {
                let (id, hash): (Name, String) = (row.get(0)?, row.get(1)?);
                let expires = row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis);
                let all = grants_of(&it, &Subject::Key(Name::clone(&id)))?;
                Ok(hash.parse().ok().map(|it| (id, it, expires, Grants::of(&all))))
            })?;
            Ok(Loaded {
                changes: fact(&it, "changes")?,
                is_closed: fact(&it, "closed")? > 0,
                users: users
                    .filter_map(std::result::Result::transpose)
                    .collect::<rusqlite::Result<_>>()?,
                keys: keys
                    .filter_map(std::result::Result::transpose)
                    .collect::<rusqlite::Result<_>>()?,
            })
        };
        read(&mut connection).map_err(self.failed())
    }
}

/// What a user is to be; what is not said stays.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Needed of one who is new.
    pub(crate) password: Option<String>,
    pub(crate) groups: Option<Vec<Name>>,
    pub(crate) grants: Option<Vec<Grant>>,
    pub(crate) disabled: Option<bool>,
}

/// Something that is changed, with what the audit will say of it.
struct Change<'a> {
    it: &'a Transaction<'a>,
    path: &'a Path,
    done: Vec<(&'static str, String)>,
}

impl Change<'_> {
    fn done(&mut self, what: &'static str, about: &str) {
        self.done.push((what, about.to_owned()));
    }

    fn asked<T>(&self, asked: rusqlite::Result<T>) -> Result<T> {
        let failed = |it: rusqlite::Error| AccountError::File {
            path: self.path.to_owned(),
            reason: it.to_string(),
        };
        asked.map_err(failed)
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize> {
        self.asked(self.it.execute(sql, values))
    }

    /// Nobody comes in without an account any more.
    fn close(&self) -> Result<usize> {
        self.run("UPDATE facts SET value = 1 WHERE name = 'closed'", [])
    }

    fn is_there(&self, subject: &Subject) -> Result<bool> {
        Ok(self.asked(there(self.it, subject))?.is_ok())
    }

    fn is_disabled(&self, user: &str) -> Result<bool> {
        let sql = "SELECT disabled FROM users WHERE name = ?1";
        self.asked(self.it.query_row(sql, [user], |row| row.get(0)))
    }

    fn add_user(&mut self, name: &str, password: &str) -> Result<()> {
        self.done("user added", name);
        let sql = "INSERT OR IGNORE INTO users VALUES(?1, ?2, 0, ?3)";
        let added = self.run(sql, params![name, password, now()])?;
        self.close()?;
        // What is granted to a name, and what is audited of it, must be one's alone.
        if self.is_there(&Subject::Key(name.into()))? {
            return Err(exists(&Subject::Key(name.into())));
        }
        if added > 0 { Ok(()) } else { Err(exists(&Subject::User(name.into()))) }
    }

    fn set_password(&mut self, name: &str, password: &str) -> Result<()> {
        self.done("password set", name);
        let sql = "UPDATE users SET password = ?2 WHERE name = ?1";
        let changed = self.run(sql, params![name, password])?;
        if changed > 0 { Ok(()) } else { Err(no_such(&Subject::User(name.into()))) }
    }

    fn set_disabled(&mut self, name: &str, disabled: bool) -> Result<()> {
        self.done(if disabled { "user disabled" } else { "user enabled" }, name);
        let sql = "UPDATE users SET disabled = ?2 WHERE name = ?1";
        let changed = self.run(sql, params![name, disabled])?;
        if changed > 0 { Ok(()) } else { Err(no_such(&Subject::User(name.into()))) }
    }

    fn add_member(&mut self, group: &str, user: &str) -> Result<()> {
        named(group)?;
        self.done("member added", &format!("{group}: {user}"));
        self.asked(there(self.it, &Subject::User(user.into())))??;
        self.run("INSERT OR IGNORE INTO members VALUES(?1, ?2)", [group, user])?;
        self.asked(few(self.it, &Subject::User(user.into())))?
    }

    fn remove_member(&mut self, group: &str, user: &str) -> Result<()> {
        self.done("member removed", &format!("{group}: {user}"));
        let sql = "DELETE FROM members WHERE team = ?1 AND user = ?2";
        let gone = self.run(sql, [group, user])?;
        let subject = format!("user {user} in group {group}");
        if gone > 0 { Ok(()) } else { Err(AccountError::NoSuch { subject }) }
    }

    /// A user is in these groups and in no other.
    fn set_groups(&mut self, user: &str, groups: &[Name]) -> Result<()> {
        let before = self.asked(groups_of(self.it, &user.into()))?;
        // What goes makes room for what comes.
        before
            .iter()
            .filter(|it| !groups.contains(it))
            .try_for_each(|it| self.remove_member(it, user))?;
        groups.iter().filter(|it| !before.contains(it)).try_for_each(|it| self.add_member(it, user))
    }

    fn grant(&mut self, to: &Subject, grant: &Grant) -> Result<()> {
        self.done("granted", &format!("{to}: {grant}"));
        let (kind, name) = to.parts();
        named(name)?;
        self.asked(there(self.it, to))??;
        let sql = "INSERT OR IGNORE INTO grants VALUES(?1, ?2, ?3)";
        self.run(sql, params![kind, name, grant.to_string()])?;
        self.asked(few(self.it, to))?
    }

    fn revoke(&mut self, from: &Subject, grant: &Grant) -> Result<()> {
        self.done("revoked", &format!("{from}: {grant}"));
        let (kind, name) = from.parts();
        let sql = "DELETE FROM grants WHERE kind = ?1 AND name = ?2 AND what = ?3";
        let gone = self.run(sql, params![kind, name, grant.to_string()])?;
        let refused =
            || AccountError::NotGranted { subject: from.to_string(), grant: grant.clone() };
        if gone > 0 { Ok(()) } else { Err(refused()) }
    }

    /// This is granted to somebody, and nothing else.
    fn set_grants(&mut self, to: &Subject, grants: &[Grant]) -> Result<()> {
        let before = self.asked(grants_of(self.it, to))?;
        before.iter().filter(|it| !grants.contains(it)).try_for_each(|it| self.revoke(to, it))?;
        grants.iter().filter(|it| !before.contains(it)).try_for_each(|it| self.grant(to, it))
    }
}

const AUDIT: &str = "INSERT INTO audit(at, who, what, about, times) VALUES(?1, ?2, ?3, ?4, ?5)";

fn now() -> i64 {
    SystemClock.now().as_millis()
}

fn fact(it: &Connection, name: &str) -> rusqlite::Result<u64> {
    it.query_row("SELECT value FROM facts WHERE name = ?1", [name], |row| row.get(0))
}

fn named(name: &str) -> Result<()> {
    let begins = |it: char| it.is_alphanumeric();
    let has = |it: char| it.is_alphanumeric() || "._-@".contains(it);
    if name.len() <= NAME_MAX && name.starts_with(begins) && name.chars().all(has) {
        return Ok(());
    }
    Err(AccountError::BadName { name: name.chars().take(100).collect() })
}

fn hashed(password: &str) -> Result<String> {
    if !(8..=1_000).contains(&password.chars().count()) {
        return Err(AccountError::BadPassword);
    }
    Ok(Password::hash(password).to_string())
}

fn no_such(subject: &Subject) -> AccountError {
    AccountError::NoSuch { subject: subject.to_string() }
}

fn exists(subject: &Subject) -> AccountError {
    AccountError::Exists { subject: subject.to_string() }
}

/// Refuses a subject that is not there. A group is there as soon as something is granted to it.
fn there(it: &Connection, subject: &Subject) -> rusqlite::Result<Result<()>> {
    let (sql, name) = match subject {
        Subject::User(name) => ("SELECT 1 FROM users WHERE name = ?1", name),
        Subject::Key(id) => ("SELECT 1 FROM keys WHERE id = ?1", id),
        Subject::Group(_) => return Ok(Ok(())),
    };
    let found = it.query_row(sql, [name], |_| Ok(())).optional()?;
    Ok(found.ok_or_else(|| no_such(subject)))
}

/// Refuses more patterns than searches can have conditions for.
fn few(it: &Connection, subject: &Subject) -> rusqlite::Result<Result<()>> {
    let subjects = match subject {
        // Each by itself: a user is in few groups.
        Subject::Group(group) => {
            let mut users = it.prepare("SELECT user FROM members WHERE team = ?1")?;
            let users = users.query_map([group], |row| Ok(Subject::User(row.get(0)?)))?;
            users.chain([Ok(subject.clone())]).collect::<rusqlite::Result<Vec<_>>>()?
        }
        Subject::User(_) | Subject::Key(_) => vec![subject.clone()],
    };
    for one in subjects {
        let mut all = grants_of(it, &one)?;
        if let Subject::User(name) = &one {
            for group in groups_of(it, name)? {
                all.extend(grants_of(it, &Subject::Group(group))?);
            }
        }
        if !Grants::of(&all).are_few() {
            return Ok(Err(AccountError::TooMany { subject: one.to_string() }));
        }
    }
    Ok(Ok(()))
}

fn groups_of(it: &Connection, user: &Name) -> rusqlite::Result<Vec<Name>> {
    let mut all = it.prepare_cached("SELECT team FROM members WHERE user = ?1 ORDER BY team")?;
    all.query_map([user], |row| row.get(0))?.collect()
}

/// What cannot be read grants nothing.
fn grants_of(it: &Connection, subject: &Subject) -> rusqlite::Result<Vec<Grant>> {
    let (kind, name) = subject.parts();
    let sql = "SELECT what FROM grants WHERE kind = ?1 AND name = ?2 ORDER BY what";
    let mut all = it.prepare_cached(sql)?;
    let all = all.query_map(params![kind, name], |row| row.get::<_, String>(0))?;
    let all = all.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(all.iter().filter_map(|it| it.parse().ok()).collect())
}
