//! Who there is, as the configuration and the file of accounts say it together, and when that changes.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, TryLockError},
    time::{Duration, Instant},
};

use travertine_value::Name;

use super::{
    Access, AccountError, Accounts, ApiKey, Grants, Password, Principal, accounts::Loaded,
    audit::Audit,
};

/// How often the file is looked at, at most.
const LOOK: Duration = Duration::from_millis(100);

/// How long a look may wait for who writes it. Until then, what was known is good.
const WAIT: Duration = Duration::from_millis(50);

/// The password of nobody. Making it takes as long as verifying one.
static NOBODY: OnceLock<Arc<Password>> = OnceLock::new();

/// Who there is now.
#[derive(Debug)]
pub(super) struct Register {
    access: RwLock<Arc<Access>>,
    path: Option<PathBuf>,
    audit: Arc<Audit>,
    known: RwLock<Arc<Directory>>,
    look: Mutex<Look>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    accounts: Option<Accounts>,
    /// What the file was at.
    version: i64,
}

/// Who there is at one moment.
#[derive(Debug)]
pub(super) struct Directory {
    users: HashMap<Name, (Arc<Password>, Principal)>,
    keys: HashMap<Name, (ApiKey, Principal)>,
    /// Takes as long as a password that somebody has, so that nobody can tell which users there are.
    nobody: Option<Arc<Password>>,
    anybody: Option<Principal>,
    changes: Changes,
}

/// How often accounts had changed, and how often the configuration was read.
pub(super) type Changes = (u64, u64);

impl Directory {
    fn new(access: &Access, reads: u64, loaded: Loaded, audit: &Arc<Audit>) -> Self {
        let Loaded { changes, is_closed, users, keys } = loaded;
        let changes = (changes, reads);
        let anybody =
            || Principal { audit: Some(Arc::clone(audit)), changes, ..Principal::anybody() };
        let somebody = |name: Name, groups: Vec<Name>, grants: Grants| Principal {
            name: Some(name),
            groups: groups.into(),
            grants: Arc::new(grants),
            ..anybody()
        };
        let mut all = Self {
            users: HashMap::new(),
            keys: HashMap::new(),
            nobody: None,
            anybody: (access.is_open() && !is_closed).then(anybody),
            changes,
        };
        for (name, password, groups, grants) in users {
            let it = (Arc::new(password), somebody(Name::clone(&name), groups, grants));
            all.users.insert(name, it);
        }
        for (id, key, expires, grants) in keys {
            let who = somebody(Name::clone(&id), Vec::new(), grants);
            all.keys.insert(id, (key, Principal { expires, ..who }));
        }
        // Whoever writes the configuration has the last word.
        for (name, it) in &access.users {
            let name = Name::from(name.as_str());
            let who = somebody(Name::clone(&name), it.groups.clone(), it.granted());
            all.users.insert(name, (Arc::new(it.secret.clone()), who));
        }
        for (id, it) in &access.keys {
            let id = Name::from(id.as_str());
            let who = somebody(Name::clone(&id), it.groups.clone(), it.granted());
            all.keys.insert(id, (it.secret.clone(), Principal { expires: it.expires, ..who }));
        }
        all.nobody = (!all.users.is_empty())
            .then(|| Arc::clone(NOBODY.get_or_init(|| Arc::new(Password::hash("")))));
        all
    }

    pub(super) fn is_open(&self) -> bool {
        self.anybody.is_some()
    }

    /// Whoever asks, where everybody may do everything.
    pub(super) fn anybody(&self) -> Option<Principal> {
        self.anybody.clone()
    }

    pub(super) fn user(&self, name: &str) -> Option<&(Arc<Password>, Principal)> {
        self.users.get(name)
    }

    pub(super) fn key(&self, id: &str) -> Option<&(ApiKey, Principal)> {
        self.keys.get(id)
    }

    pub(super) fn nobody(&self) -> Option<Arc<Password>> {
        self.nobody.clone()
    }

    /// What it is made from. What was found out about another one need not hold for it.
    pub(super) fn changes(&self) -> Changes {
        self.changes
    }
}

impl Register {
    pub(super) fn new(
        access: &Access,
        path: Option<PathBuf>,
        audit: &Arc<Audit>,
    ) -> Result<Self, AccountError> {
        let known = Directory::new(access, 0, Loaded::default(), audit);
        let look = Look { at: Instant::now(), accounts: None, version: 0 };
        let it = Self {
            access: RwLock::new(Arc::new(access.clone())),
            path,
            audit: Arc::clone(audit),
            known: RwLock::new(Arc::new(known)),
            look: Mutex::new(look),
        };
        it.look_at_file(&mut it.look.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(it)
    }

    /// From now on the configuration names others. Says whether it does: not where everybody could do everything, and
    /// must not.
    pub(super) fn reload(&self, access: &Access, may_be_open: bool) -> Result<bool, AccountError> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        self.look_at_file(&mut look)?;
        let loaded = look.accounts.as_ref().map(Accounts::load).transpose()?.unwrap_or_default();
        if access.is_open() && !loaded.is_closed && !may_be_open {
            return Ok(false);
        }
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access.clone());
        self.know(loaded, 1);
        Ok(true)
    }

    /// Who there is by the configuration and these accounts.
    fn know(&self, loaded: Loaded, more_reads: u64) {
        let access = Arc::clone(&self.access.read().unwrap_or_else(PoisonError::into_inner));
        let (_, reads) = self.known.read().unwrap_or_else(PoisonError::into_inner).changes;
        let directory = Directory::new(&access, reads + more_reads, loaded, &self.audit);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(directory);
    }

    /// Who there is. The file is looked at now and then, so that who is removed is soon gone.
    pub(super) fn now(&self) -> Arc<Directory> {
        // Whoever finds somebody looking takes what was known before.
        let look = match self.look.try_lock() {
            Ok(look) => Some(look),
            Err(TryLockError::Poisoned(look)) => Some(look.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut look) = look.filter(|it| it.at.elapsed() >= LOOK) {
            look.at = Instant::now();
            if let Err(error) = self.look_at_file(&mut look) {
                tracing::error!(%error, "accounts cannot be read; those that were known stay");
            }
        }
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn look_at_file(&self, look: &mut Look) -> Result<(), AccountError> {
        let Some(path) = &self.path else { return Ok(()) };
        if look.accounts.is_none() {
            if !path.exists() {
                return Ok(());
            }
            look.accounts = Some(Accounts::open_within(path, WAIT)?);
            // Another one than any file has.
            look.version = -1;
        }
        let Some(accounts) = &look.accounts else { return Ok(()) };
        let version = accounts.version()?;
        if version == look.version {
            return Ok(());
        }
        let (known, _) = self.known.read().unwrap_or_else(PoisonError::into_inner).changes;
        // The audit is in the same file, and grows without anything changing.
        if look.version == -1 || accounts.changes()? != known {
            self.know(accounts.load()?, 0);
        }
        look.version = version;
        Ok(())
    }
}
