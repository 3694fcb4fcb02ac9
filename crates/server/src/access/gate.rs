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

use super::{Access, Password, Principal};
use crate::net::Refusal;

/// How long a password that was verified needs no verifying.
const REMEMBERED: Duration = Duration::from_mins(1);

/// How many of them are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// How many passwords are verified at once: each takes memory and time, which is the point of it.
const VERIFYING_MAX: usize = 2;

/// How many may wait for that.
const WAITING_MAX: usize = 64;

/// How long somebody waits who could not be let in.
const PAUSE: Duration = Duration::from_millis(250);

/// Lets in who can say who they are.
#[derive(Debug)]
pub(crate) struct Gate {
    access: Access,
    /// Takes as long as a password that somebody has, so that nobody can tell which users there are.
    nobody: Option<Arc<Password>>,
    /// By the hash of what was sent.
    verified: Mutex<HashMap<[u8; 32], Instant>>,
    verifying: Semaphore,
    waiting: Semaphore,
}

impl Gate {
    pub(crate) fn new(access: &Access) -> Self {
        let has_users = !access.users.is_empty();
        Self {
            access: access.clone(),
            nobody: has_users.then(|| Arc::new(Password::hash(""))),
            verified: Mutex::default(),
            verifying: Semaphore::new(VERIFYING_MAX),
            waiting: Semaphore::new(WAITING_MAX),
        }
    }

    /// Who sends a request.
    pub(crate) async fn who(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        if self.access.is_open() {
            return Ok(Principal { name: None });
        }
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(sent), None) = (sent.next(), sent.next()) else { return Err(Refusal::Login) };
        let who = match scheme(sent) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => self.key(rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("basic") => {
                self.user(sent, rest).await?
            }
            _ => None,
        };
        if who.is_none() {
            sleep(PAUSE).await;
            return Err(Refusal::Login);
        }
        Ok(Principal { name: who })
    }

    /// Whose API key this is.
    fn key(&self, text: &str) -> Option<Arc<str>> {
        // An id may have underscores; the secret may, too, so all ids are tried that it could be.
        let rest = text.strip_prefix("tvk_")?;
        let now = travertine_runtime::engine::Clock::now(&travertine_runtime::engine::SystemClock);
        let ends = rest.match_indices('_').map(|(at, _)| at);
        let id = ends.map(|at| &rest[..at]).find(|id| {
            self.access
                .keys
                .get(*id)
                .is_some_and(|it| it.key.is(text) && it.expires.is_none_or(|expires| now < expires))
        })?;
        Some(Arc::from(id))
    }

    /// Whose user and password these are.
    async fn user(&self, sent: &HeaderValue, rest: &str) -> Result<Option<Arc<str>>, Refusal> {
        let decoded = general_purpose::STANDARD.decode(rest).ok();
        let decoded = decoded.and_then(|it| String::from_utf8(it).ok());
        let Some((name, password)) = decoded.as_deref().and_then(|it| it.split_once(':')) else {
            return Ok(None);
        };
        let known = self.access.users.get(name).cloned().map(Arc::new);
        let hash: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        if known.is_some() && self.is_verified(&hash) {
            return Ok(Some(Arc::from(name)));
        }
        let Some(against) = known.clone().or_else(|| self.nobody.clone()) else { return Ok(None) };
        let _waits = self.waiting.try_acquire().map_err(|_| Refusal::Full)?;
        let _verifies = self.verifying.acquire().await.map_err(|_| Refusal::Full)?;
        let password = password.to_owned();
        let is_right = spawn_blocking(move || against.is(password.as_bytes())).await;
        if known.is_none() || !is_right.unwrap_or(false) {
            return Ok(None);
        }
        self.remember(hash);
        Ok(Some(Arc::from(name)))
    }

    fn is_verified(&self, hash: &[u8; 32]) -> bool {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(hash).is_some_and(|it| it.elapsed() < REMEMBERED)
    }

    fn remember(&self, hash: [u8; 32]) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED_MAX {
            verified.clear();
        }
        verified.insert(hash, Instant::now());
    }
}

/// The scheme of a login, and what follows it.
fn scheme(sent: &HeaderValue) -> Option<(&str, &str)> {
    let (scheme, rest) = sent.to_str().ok()?.split_once(' ')?;
    Some((scheme, rest.trim()))
}
