//! Who sends a request: what it logs in with, verified.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose};
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{Instant, sleep},
};
use travertine_runtime::{
    Timestamp,
    engine::{Clock as _, SystemClock},
};
use travertine_value::Name;

use super::{
    Permission, Principal,
    audit::Audit,
    register::{Changes, Directory, Register},
};
use crate::{Access, Error, Options, net::Refusal};

/// How long a password that was verified needs no verifying.
const REMEMBERED: Duration = Duration::from_mins(1);

/// How many of them are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// How many passwords are verified at once: each takes memory and time, which is the point of it.
const VERIFYING_MAX: usize = 2;

/// How many may wait for that.
const WAITING_MAX: usize = 64;

/// How long somebody waits who could not be let in; twice as long after each time in a row.
const PAUSE: Duration = Duration::from_millis(250);

/// How often that is doubled at most.
const DOUBLED_MAX: u32 = 5;

/// For so many names it is known how often somebody could not be let in. Names share them, so that nobody can tell by
/// the pause which users there are.
const NAMES: usize = 1_024;

/// Lets in who can say who they are.
#[derive(Debug)]
pub(crate) struct Gate {
    register: Register,
    audit: Arc<Audit>,
    verified: Mutex<Verified>,
    failed: Mutex<Vec<u32>>,
    verifying: Semaphore,
    waiting: Semaphore,
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
            failed: Mutex::new(vec![0; NAMES]),
            verifying: Semaphore::new(VERIFYING_MAX),
            waiting: Semaphore::new(WAITING_MAX),
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
        let key = directory.key(who).filter(|(_, expires, _)| is_good(*expires));
        let known = user.into_iter().chain(key.map(|(.., it)| it));
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
                    Some(principal) => Ok(principal),
                    None => self.refuse(None, rest).await,
                }
            }
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("basic") => {
                self.user(sent, rest, &directory).await
            }
            _ => self.refuse(None, "").await,
        }
    }

    /// Nobody is let in, and whoever tried waits. Only who there is is named: others may have typed what is secret.
    async fn refuse(&self, known: Option<Name>, tried: &str) -> Result<Principal, Refusal> {
        self.audit.note(known, "login refused", "");
        let doubled = {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            let times = &mut failed[bucket(tried)];
            *times = times.saturating_add(1);
            (*times - 1).min(DOUBLED_MAX)
        };
        sleep(PAUSE * (1 << doubled)).await;
        Err(Refusal::Login)
    }

    /// Whose user and password these are.
    async fn user(
        &self,
        sent: &HeaderValue,
        rest: &str,
        directory: &Directory,
    ) -> Result<Principal, Refusal> {
        let decoded = general_purpose::STANDARD.decode(rest).ok();
        let decoded = decoded.and_then(|it| String::from_utf8(it).ok());
        let Some((name, password)) = decoded.as_deref().and_then(|it| it.split_once(':')) else {
            return self.refuse(None, "").await;
        };
        let hash: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        let known = directory.user(name);
        if let Some((_, principal)) = known
            && self.is_verified(&hash, directory)
        {
            return Ok(principal.clone());
        }
        let against = known.map(|(it, _)| Arc::clone(it)).or_else(|| directory.nobody());
        let Some(against) = against else { return self.refuse(None, name).await };
        let is_right = {
            let _waits = self.waiting.try_acquire().map_err(|_| Refusal::Full)?;
            let _verifies = self.verifying.acquire().await.map_err(|_| Refusal::Full)?;
            let password = password.to_owned();
            spawn_blocking(move || against.is(password.as_bytes())).await.unwrap_or(false)
        };
        let Some((_, principal)) = known.filter(|_| is_right) else {
            let known = known.and_then(|(_, it)| it.name.clone());
            return self.refuse(known, name).await;
        };
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)[bucket(name)] = 0;
        self.audit.note_rarely(principal.name.clone(), "login", "");
        self.remember(hash, directory);
        Ok(principal.clone())
    }

    fn is_verified(&self, hash: &[u8; 32], directory: &Directory) -> bool {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let found = verified.all.get(hash).filter(|_| verified.changes == directory.changes());
        found.is_some_and(|it| it.elapsed() < REMEMBERED)
    }

    fn remember(&self, hash: [u8; 32], directory: &Directory) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.changes != directory.changes() || verified.all.len() >= REMEMBERED_MAX {
            *verified = Verified { changes: directory.changes(), all: HashMap::new() };
        }
        verified.all.insert(hash, Instant::now());
    }
}

fn bucket(name: &str) -> usize {
    let hash = Sha256::digest(name);
    usize::from(u16::from_be_bytes([hash[0], hash[1]])) % NAMES
}

/// Whose API key this is.
fn key(text: &str, directory: &Directory) -> Option<Principal> {
    // An id may have underscores; the secret may, too, so all ids are tried that it could be.
    let rest = text.strip_prefix("tvk_")?;
    let ends = rest.match_indices('_').map(|(at, _)| at);
    let mut found = ends.filter_map(|at| directory.key(&rest[..at]));
    let (_, expires, principal) = found.find(|(key, ..)| key.is(text))?;
    is_good(*expires).then(|| principal.clone())
}

fn is_good(expires: Option<Timestamp>) -> bool {
    expires.is_none_or(|it| SystemClock.now() < it)
}

/// The scheme of a login, and what follows it.
fn scheme(sent: &HeaderValue) -> Option<(&str, &str)> {
    let (scheme, rest) = sent.to_str().ok()?.split_once(' ')?;
    Some((scheme, rest.trim()))
}
