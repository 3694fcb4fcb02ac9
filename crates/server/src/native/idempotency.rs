//! Requests that are sent again with the same key are done once.
//!
//! What was answered is kept for an hour, in a file beside the store where there is one, so that a restart forgets
//! none of it. A request is written down before it is done: where the server ends in between, nobody knows whether it
//! was done, and whoever sends it again is told so.

use std::{
    collections::BTreeSet,
    future::Future,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use travertine_runtime::engine::{Clock as _, SystemClock};

use super::{
    call::{Answer, Call},
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// How long answers are kept.
const KEPT: Duration = Duration::from_hours(1);

/// The most characters of a key, and the most keys.
const LENGTH_MAX: usize = 255;
const KEYS_MAX: i64 = 100_000;

/// The largest answer that is kept whole.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Requests that were done.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// A statement takes far less time than a request, so they take turns.
    file: Mutex<Connection>,
    /// What this process is at.
    under_way: Mutex<BTreeSet<String>>,
}

/// What a request is recognised by.
#[derive(Clone, Debug)]
pub(super) struct Once {
    name: String,
    /// Of everything that it says, so that a key is not used for something else.
    hash: Vec<u8>,
}

/// What is known of a request.
enum Known {
    /// Nothing: it is to be done now.
    New,
    /// It was answered so.
    Answered { status: u16, kind: String, body: Vec<u8> },
    /// It was begun, and nobody knows more.
    Begun,
    /// Its key was used for another one.
    Other,
}

impl Remembered {
    /// What the file of that name remembers; where there is none, as long as the process lives.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, rusqlite::Error> {
        let connection = match file {
            Some(path) => {
                let connection = Connection::open(path)?;
                narrow(path);
                connection
            }
            None => Connection::open_in_memory()?,
        };
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS requests (
                 name TEXT PRIMARY KEY, hash BLOB NOT NULL, at INTEGER NOT NULL,
                 status INTEGER, kind TEXT, body BLOB
             ) WITHOUT ROWID;
             CREATE INDEX IF NOT EXISTS requests_at ON requests (at);",
        )?;
        Ok(Self { file: Mutex::new(connection), under_way: Mutex::default() })
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Refusal> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        act(&file).map_err(|error| {
            tracing::error!(%error, "idempotency keys cannot be kept");
            let detail = "the idempotency key cannot be kept; nothing was done";
            Refusal::new(Outcome::Overloaded, detail)
        })
    }

    /// Writes down that a request is being done, unless it is known.
    fn begin(&self, once: &Once) -> Result<Known, Refusal> {
        let now = SystemClock.now();
        let known = self.with(|file| {
            let old = now.before(KEPT).as_millis();
            file.execute("DELETE FROM requests WHERE at < ?1", params![old])?;
            let found = file.query_row(
                "SELECT hash, status, kind, body FROM requests WHERE name = ?1",
                params![once.name],
                |row| {
                    let hash: Vec<u8> = row.get(0)?;
                    let status: Option<u16> = row.get(1)?;
                    Ok((
                        hash,
                        status,
                        row.get::<_, Option<String>>(2)?,
                        row.get::<_, Option<Vec<u8>>>(3)?,
                    ))
                },
            );
            match found.optional()? {
                Some((hash, ..)) if hash != once.hash => return Ok(Some(Known::Other)),
                Some((_, Some(status), kind, body)) => {
                    let (kind, body) = (kind.unwrap_or_default(), body.unwrap_or_default());
                    return Ok(Some(Known::Answered { status, kind, body }));
                }
                Some((_, None, ..)) => return Ok(Some(Known::Begun)),
                None => {}
            }
            let count: i64 =
                file.query_row("SELECT count(*) FROM requests", [], |row| row.get(0))?;
            if count >= KEYS_MAX {
                return Ok(None);
            }
            file.execute(
                "INSERT INTO requests (name, hash, at) VALUES (?1, ?2, ?3)",
                params![once.name, once.hash, now.as_millis()],
            )?;
            Ok(Some(Known::New))
        })?;
        known.ok_or_else(|| {
            let detail =
                format!("more than {KEYS_MAX} idempotency keys within an hour; nothing was done");
            Refusal::new(Outcome::Overloaded, detail)
        })
    }

    fn answered(&self, once: &Once, status: u16, kind: &str, body: &[u8]) -> Result<(), Refusal> {
        self.with(|file| {
            let sql = "UPDATE requests SET status = ?2, kind = ?3, body = ?4 WHERE name = ?1";
            file.execute(sql, params![once.name, status, kind, body])?;
            Ok(())
        })
    }

    /// Nothing was done, so it can be sent again.
    fn forget(&self, once: &Once) -> Result<(), Refusal> {
        self.with(|file| {
            file.execute("DELETE FROM requests WHERE name = ?1", params![once.name])?;
            Ok(())
        })
    }
}

/// Lets only the owner read a file.
#[cfg(unix)]
pub(crate) fn narrow(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let owner = std::fs::Permissions::from_mode(0o600);
    if let Err(error) = std::fs::set_permissions(path, owner) {
        tracing::warn!(%error, "others may read {}", path.display());
    }
}

#[cfg(not(unix))]
pub(crate) fn narrow(_: &Path) {}

/// What a request is recognised by, where it brings a key.
pub(super) fn key(call: &Call) -> Result<Option<Once>, Problem> {
    let mut all = call.parts.headers.get_all(KEY).iter();
    let (first, second) = (all.next(), all.next());
    let Some(key) = first else { return Ok(None) };
    let text =
        key.to_str().ok().filter(|it| (1..=LENGTH_MAX).contains(&it.len()) && second.is_none());
    let wrong = || {
        Refusal::invalid(format!(
            "Idempotency-Key is one text of 1 to {LENGTH_MAX} printable characters"
        ))
    };
    let text = text.ok_or_else(wrong)?;
    let who = call.principal.name.as_deref().unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(call.parts.uri.path().as_bytes());
    hash.update([0]);
    hash.update(call.body());
    // Keys of different people are different ones; neither has a line break.
    Ok(Some(Once { name: format!("{who}\n{text}"), hash: hash.finalize().to_vec() }))
}

/// Does something, unless that was done before with the same key. It goes on to its end also where the client has
/// gone, so that what it has done is written down.
pub(super) async fn once(
    remembered: &Arc<Remembered>,
    once: Once,
    act: impl Future<Output = Result<Answer, Problem>> + Send + 'static,
) -> Result<Response, Problem> {
    let Some(under_way) = UnderWay::begin(remembered, &once) else {
        let detail = "a request with this idempotency key is being done; ask again when it has been answered";
        return Err(Refusal::new(Outcome::InvalidState, detail).into());
    };
    let (kept, of) = (Arc::clone(remembered), once.clone());
    match off_the_executor(move || kept.begin(&of)).await? {
        Known::Answered { status, kind, body } => return Ok(again(status, &kind, body)),
        Known::Begun => {
            let detail = "a request with this idempotency key was begun, and nobody knows what came of it; look, and \
                          send it again with another key where it was not done";
            return Err(Refusal::new(Outcome::Unknown, detail).into());
        }
        Known::Other => {
            let detail = "this idempotency key was used for another request within the hour; choose another one";
            return Err(Refusal::new(Outcome::InvalidState, detail).into());
        }
        Known::New => {}
    }
    let kept = Arc::clone(remembered);
    let done = tokio::spawn(async move {
        let _under_way = under_way;
        let response = match act.await {
            Ok(answer) => answer,
            Err(problem) if problem.is_unknown() => return Err(problem),
            Err(problem) => {
                off_the_executor(move || kept.forget(&once)).await?;
                return Err(problem);
            }
        };
        let Answer::Stream(_) = &response else {
            let (parts, body) = response.into_parts();
            let (status, kind) = (parts.0.as_u16(), parts.1);
            let small = if body.len() > ANSWER_BYTES_MAX { Bytes::new() } else { body.clone() };
            off_the_executor(move || kept.answered(&once, status, kind, &small)).await?;
            return Ok(Answer::whole(parts.0, kind, body));
        };
        // What goes on for a while changes nothing, so it may be asked again.
        off_the_executor(move || kept.forget(&once)).await?;
        Ok(response.into_response())
    });
    done.await.unwrap_or_else(|_| {
        Err(Refusal::new(Outcome::Internal, "the server failed; its log says more").into())
    })
}

/// A request that this process is at, until it is dropped.
#[derive(Debug)]
struct UnderWay {
    remembered: Arc<Remembered>,
    name: String,
}

impl UnderWay {
    /// Begins, unless another one with the same key is under way.
    fn begin(remembered: &Arc<Remembered>, once: &Once) -> Option<Self> {
        let mut all = remembered.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let (remembered, name) = (Arc::clone(remembered), once.name.clone());
        all.insert(name.clone()).then_some(Self { remembered, name })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = self.remembered.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.name);
    }
}

/// The answer that was given then.
fn again(status: u16, kind: &str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
