//! Who sends a request: what it logs in with, verified.

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose};
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{Notify, Semaphore},
    task::spawn_blocking,
    time::{Instant, sleep, sleep_until},
};
use travertine_runtime::engine::{Clock as _, SystemClock};

use super::{
    Permission, Principal,
    audit::Audit,
    register::{Changes, Directory, Register},
};
use crate::{Access, Error, Options, net::Refusal};

/// How long a password that was verified, and is sent again and again, needs no verifying.
const REMEMBERED: Duration = Duration::from_mins(10);

/// How many of them are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// How many passwords are verified at once: each takes memory and time, which is the point of it.
const VERIFYING_MAX: usize = 2;

/// How many may wait for that.
const WAITING_MAX: usize = 64;

/// How long nobody may try again under a name under which somebody could not be let in; twice as long after each time in a
/// row.
const PAUSE: Duration = Duration::from_millis(250);

/// How often that is doubled at most.
const DOUBLED_MAX: u32 = 5;

/// How long somebody may have to wait for their turn. Whoever would wait longer is refused at once.
const TURN_MAX: Duration = Duration::from_secs(8);

/// How many may wait for that, or for what comes of the same password.
const PAUSING_MAX: usize = 1_024;

/// How long it is known how often somebody could not be let in.
const KNOWN: Duration = Duration::from_hours(1);

/// Lets in who can say who they are.
#[derive(Debug)]
pub(crate) struct Gate {
    register: Register,
    audit: Arc<Audit>,
    verified: Mutex<Verified>,
    /// By a part of the hash of a name. Names share them, so that nobody can tell by a pause which users there are.
    tries: Mutex<HashMap<u16, Tries>>,
    /// What is tried now, by the hash of what was sent: who sends the same waits for what comes of it.
    trying: Mutex<HashSet<[u8; 32]>>,
    tried: Notify,
    verifying: Semaphore,
    waiting: Semaphore,
    pausing: Semaphore,
}

/// How often somebody has tried in a row and was not let in, and when the next may try.
#[derive(Debug)]
struct Tries {
    times: u32,
    next: Instant,
}

/// Passwords that are right, by the hash of what was sent.
#[derive(Debug, Default)]
struct Verified {
    /// The accounts that they are right for.
    changes: Changes,
    all: HashMap<[u8; 32], Instant>,
}

impl Gate {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let audit = Arc::new(Audit::new(options.accounts.clone()));
        let failed = |error| Error::Accounts { source: Box::new(error) };
        Ok(Self {
            register: Register::new(&options.access, options.accounts.clone(), &audit)
                .map_err(failed)?,
            audit,
            verified: Mutex::default(),
            tries: Mutex::default(),
            trying: Mutex::default(),
            tried: Notify::new(),
            verifying: Semaphore::new(VERIFYING_MAX),
            waiting: Semaphore::new(WAITING_MAX),
            pausing: Semaphore::new(PAUSING_MAX),
        })
    }

    /// Waits until all that was tried and refused is in the audit.
    pub(crate) fn flush(&self) {
        self.audit.flush();
    }

    /// Whether everybody may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.register.now().is_open()
    }

    /// From now on the configuration names others. Says whether it does: not where everybody could do everything, and
    /// must not.
    pub(crate) fn reload(&self, access: &Access, may_be_open: bool) -> Result<bool, Error> {
        let failed = |error| Error::Accounts { source: Box::new(error) };
        self.register.reload(access, may_be_open).map_err(failed)
    }

    /// Whether somebody may do something with a definition now, though it is not them who sends a request.
    pub(crate) fn may_later(
        &self,
        who: &str,
        permission: Permission,
        definition: &str,
    ) -> Result<(), String> {
        let directory = self.register.now();
        if directory.anybody().is_some() {
            return Ok(());
        }
        let user = directory.user(who).map(|(_, it)| it);
        let key = directory.key(who).map(|(_, it)| it).filter(|it| is_good(it));
        let known = user.into_iter().chain(key);
        // A key may have the name of a user; nobody can say then who it was, so both must have the right.
        let (mut anybody, mut all) = (false, true);
        for it in known {
            (anybody, all) = (true, all && it.grants.reach(permission).has(definition));
        }
        let name = permission.name();
        match (anybody, all) {
            (true, true) => Ok(()),
            (true, false) => {
                Err(format!("{who} has no permission {name} for {definition} any more"))
            }
            (false, _) => Err(format!("{who} has no account any more")),
        }
    }

    /// Whether all is as it was when somebody was let in.
    pub(crate) fn is_current(&self, principal: &Principal) -> bool {
        self.register.now().changes() == principal.changes && is_good(principal)
    }

    /// Who sends a request.
    pub(crate) async fn who(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let directory = self.register.now();
        if let Some(anybody) = directory.anybody() {
            return Ok(anybody);
        }
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(sent), None) = (sent.next(), sent.next()) else { return Err(Refusal::Login) };
        match scheme(sent) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => {
                match key(rest, &directory) {
                    Some(principal) => Ok(principal.clone()),
                    None => self.refuse().await,
                }
            }
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("basic") => {
                self.user(sent, rest).await
            }
            _ => self.refuse().await,
        }
    }

    /// Nobody is let in who has sent what nobody can guess. Whoever sends that again and again does so a little slower,
    /// where there is room to wait.
    async fn refuse(&self) -> Result<Principal, Refusal> {
        self.audit.note(None, "login refused", "");
        if let Ok(_pauses) = self.pausing.try_acquire() {
            sleep(PAUSE).await;
        }
        Err(Refusal::Login)
    }

    /// Whose user and password these are.
    async fn user(&self, sent: &HeaderValue, rest: &str) -> Result<Principal, Refusal> {
        let decoded = general_purpose::STANDARD.decode(rest).ok();
        let decoded = decoded.and_then(|it| String::from_utf8(it).ok());
        let Some((name, password)) = decoded.as_deref().and_then(|it| it.split_once(':')) else {
            return self.refuse().await;
        };
        let hash: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        loop {
            let mut tried = pin!(self.tried.notified());
            tried.as_mut().enable();
            if let Some(known) = self.known(name, &hash) {
                return Ok(known);
            }
            if let Some(_trying) = Trying::begin(self, hash) {
                return self.try_one(name, password, hash).await;
            }
            let _pauses = self.pausing.try_acquire().map_err(|_| Refusal::Rate(PAUSE))?;
            tried.await;
        }
    }

    /// Whether that is the password of whoever has this name; tried when it is its turn.
    async fn try_one(
        &self,
        name: &str,
        password: &str,
        hash: [u8; 32],
    ) -> Result<Principal, Refusal> {
        self.turn(name).await?;
        let directory = self.register.now();
        let known = directory.user(name);
        let against = known.map(|(it, _)| Arc::clone(it)).or_else(|| directory.nobody());
        let is_right = if let Some(against) = against {
            let _waits = self.waiting.try_acquire().map_err(|_| Refusal::Full)?;
            let _verifies = self.verifying.acquire().await.map_err(|_| Refusal::Full)?;
            let password = password.to_owned();
            spawn_blocking(move || against.is(password.as_bytes())).await.unwrap_or(false)
        } else {
            false
        };
        let Some((_, principal)) = known.filter(|_| is_right) else {
            // Only who there is is named: others may have typed what is secret.
            let known = known.and_then(|(_, it)| it.name.clone());
            self.audit.note(known, "login refused", "");
            return Err(Refusal::Login);
        };
        self.tries().remove(&bucket(name));
        self.audit.note_rarely(principal.name.clone(), "login", "");
        self.remember(hash, &directory);
        Ok(principal.clone())
    }

    fn tries(&self) -> MutexGuard<'_, HashMap<u16, Tries>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it may be tried under this name. Until somebody was let in, each counts as one who was not, so those
    /// who come together have their turns, too.
    async fn turn(&self, name: &str) -> Result<(), Refusal> {
        let now = Instant::now();
        let at = {
            let mut tries = self.tries();
            let it = tries.entry(bucket(name)).or_insert(Tries { times: 0, next: now });
            if now.duration_since(it.next) > KNOWN {
                it.times = 0;
            }
            let at = it.next.max(now);
            let wait = at.duration_since(now);
            if wait > TURN_MAX {
                return Err(Refusal::Rate(wait));
            }
            it.next = at + PAUSE * (1 << it.times.min(DOUBLED_MAX));
            it.times = it.times.saturating_add(1);
            at
        };
        if at > now {
            let full = |_| Refusal::Rate(at.duration_since(now));
            let _pauses = self.pausing.try_acquire().map_err(full)?;
            sleep_until(at).await;
        }
        Ok(())
    }

    /// Whose password was verified a moment ago.
    fn known(&self, name: &str, hash: &[u8; 32]) -> Option<Principal> {
        let directory = self.register.now();
        let (_, principal) = directory.user(name)?;
        self.is_verified(hash, &directory).then(|| principal.clone())
    }

    fn is_verified(&self, hash: &[u8; 32], directory: &Directory) -> bool {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.changes != directory.changes() {
            return false;
        }
        let Some(last) = verified.all.get_mut(hash) else { return false };
        let is_known = last.elapsed() < REMEMBERED;
        if is_known {
            *last = Instant::now();
        }
        is_known
    }

    fn remember(&self, hash: [u8; 32], directory: &Directory) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.changes != directory.changes() || verified.all.len() >= REMEMBERED_MAX {
            *verified = Verified { changes: directory.changes(), all: HashMap::new() };
        }
        verified.all.insert(hash, Instant::now());
    }
}

/// Something that is tried until this is dropped.
#[derive(Debug)]
struct Trying<'a> {
    gate: &'a Gate,
    hash: [u8; 32],
}

impl<'a> Trying<'a> {
    /// Begins, unless it is being tried.
    fn begin(gate: &'a Gate, hash: [u8; 32]) -> Option<Self> {
        let mut all = gate.trying.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is dropped takes its hash away, so there is none where another one has it.
        let is_first = all.insert(hash);
        is_first.then(|| Self { gate, hash })
    }
}

impl Drop for Trying<'_> {
    fn drop(&mut self) {
        self.gate.trying.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.hash);
        self.gate.tried.notify_waiters();
    }
}

fn bucket(name: &str) -> u16 {
    let hash = Sha256::digest(name);
    u16::from_be_bytes([hash[0], hash[1]])
}

/// The longest API key, and how much of it is the secret.
const KEY_MAX: usize = 300;
const SECRET: usize = 43;

/// Whose API key this is. An id may have underscores, and the secret, too.
fn key<'a>(text: &str, directory: &'a Directory) -> Option<&'a Principal> {
    let rest = text.strip_prefix("tvk_").filter(|it| it.len() <= KEY_MAX)?;
    let (id, _) = rest.split_at_checked(rest.len().checked_sub(SECRET)?)?;
    let (key, principal) = directory.key(id.strip_suffix('_')?)?;
    (key.is(text) && is_good(principal)).then_some(principal)
}

/// Whether what somebody has logged in with has not expired.
fn is_good(principal: &Principal) -> bool {
    principal.expires.is_none_or(|it| SystemClock.now() < it)
}

/// The scheme of a login, and what follows it.
fn scheme(sent: &HeaderValue) -> Option<(&str, &str)> {
    let (scheme, rest) = sent.to_str().ok()?.split_once(' ')?;
    Some((scheme, rest.trim()))
}
