//! Requests that are sent again with the same key are done once.
//!
//! What was answered is kept for an hour, in a file beside the store where there is one, so that a restart forgets
//! none of it. A request is written down before it is done: where the server ends in between, nobody knows whether it
//! was done, and whoever sends it again is told so.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use travertine_runtime::{
    RequestOutcome,
    engine::{Clock as _, SystemClock},
};

use super::{
    call::{Answer, Call},
    problem::{KIND, Problem},
};
use crate::desk::{Outcome, Refusal, off_the_executor};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// How long answers are kept.
const KEPT: Duration = Duration::from_hours(1);

/// The most characters of a key.
const LENGTH_MAX: usize = 255;

/// The largest answer that is kept whole.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The most that is kept at once: of one who sends requests, and of all.
const OF_ONE_MAX: Used = Used { keys: 100_000, bytes: 64 << 20 };
const OF_ALL_MAX: Used = Used { keys: 1_000_000, bytes: 512 << 20 };

/// How many keys there are, and how many bytes their answers have.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    keys: u64,
    bytes: u64,
}

/// Requests that were done.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// A statement takes far less time than a request, so they take turns.
    kept: Mutex<Kept>,
    of_one_max: Used,
    /// What this process is at.
    under_way: Mutex<BTreeSet<String>>,
}

/// The file, and what is in it: how much of everybody, and of all.
#[derive(Debug)]
struct Kept {
    file: Connection,
    of_one: BTreeMap<String, Used>,
    of_all: Used,
}

/// What a request is recognised by.
#[derive(Clone, Debug)]
pub(super) struct Once {
    name: String,
    /// Of everything that it says, so that a key is not used for something else.
    hash: Vec<u8>,
    path: String,
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
    /// There are so many keys already.
    TooMany(u64),
}

impl Kept {
    /// Counts what is there.
    fn new(file: Connection) -> Result<Self, rusqlite::Error> {
        let mut it = Self { file, of_one: BTreeMap::new(), of_all: Used::default() };
        let all = it.each("SELECT name, coalesce(length(body), 0) FROM requests", None)?;
        for (name, bytes) in all {
            it.count(&name, |it| (it.keys + 1, it.bytes + bytes));
        }
        Ok(it)
    }

    /// Names, and how many bytes each answer has.
    fn each(&self, sql: &str, at: Option<i64>) -> Result<Vec<(String, u64)>, rusqlite::Error> {
        let mut statement = self.file.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        match at {
            Some(at) => statement.query_map([at], read)?.collect(),
            None => statement.query_map([], read)?.collect(),
        }
    }

    fn count(&mut self, name: &str, change: impl Fn(&Used) -> (u64, u64)) {
        let change = |it: &mut Used| (it.keys, it.bytes) = change(it);
        let who = who_of(name);
        let own = self.of_one.entry(who.to_owned()).or_default();
        change(own);
        if own.keys == 0 {
            self.of_one.remove(who);
        }
        change(&mut self.of_all);
    }

    fn gone(&mut self, name: &str, bytes: u64) {
        self.count(name, |it| (it.keys.saturating_sub(1), it.bytes.saturating_sub(bytes)));
    }

    fn of_one(&self, name: &str) -> Used {
        self.of_one.get(who_of(name)).copied().unwrap_or_default()
    }
}

/// Whose key it is: neither they nor the key has a line break.
fn who_of(name: &str) -> &str {
    name.split('\n').next().unwrap_or_default()
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
        let kept = Mutex::new(Kept::new(connection)?);
        Ok(Self { kept, of_one_max: OF_ONE_MAX, under_way: Mutex::default() })
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut Kept) -> Result<T, rusqlite::Error>,
    ) -> Result<T, rusqlite::Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut kept).inspect_err(|error| {
            tracing::error!(%error, "idempotency keys cannot be kept");
        })
    }

    /// Writes down that a request is being done, unless it is known.
    fn begin(&self, once: &Once) -> Result<Known, Refusal> {
        let now = SystemClock.now();
        let known = self.with(|it| {
            let old =
                "DELETE FROM requests WHERE at < ?1 RETURNING name, coalesce(length(body), 0)";
            for (name, bytes) in it.each(old, Some(now.before(KEPT).as_millis()))? {
                it.gone(&name, bytes);
            }
            let found = it.file.query_row(
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
                Some((hash, ..)) if hash != once.hash => return Ok(Known::Other),
                Some((_, Some(status), kind, body)) => {
                    let (kind, body) = (kind.unwrap_or_default(), body.unwrap_or_default());
                    return Ok(Known::Answered { status, kind, body });
                }
                Some((_, None, ..)) => return Ok(Known::Begun),
                None => {}
            }
            for (used, most) in [(it.of_one(&once.name), self.of_one_max), (it.of_all, OF_ALL_MAX)]
            {
                if used.keys >= most.keys {
                    return Ok(Known::TooMany(most.keys));
                }
            }
            it.file.execute(
                "INSERT INTO requests (name, hash, at) VALUES (?1, ?2, ?3)",
                params![once.name, once.hash, now.as_millis()],
            )?;
            it.count(&once.name, |it| (it.keys + 1, it.bytes));
            Ok(Known::New)
        });
        known.map_err(|_| {
            let detail = "the idempotency key cannot be kept; nothing was done";
            Refusal::new(Outcome::Overloaded, detail)
        })
    }

    /// Keeps an answer, without its text where that is large, or where there are too many.
    fn answered(&self, once: &Once, status: u16, kind: &str, body: &[u8]) {
        // Where it cannot be kept, whoever sends it again is told that nobody knows more.
        let _: Result<(), _> = self.with(|it| {
            let bytes = body.len() as u64;
            let has_room = |used: Used, most: Used| used.bytes + bytes <= most.bytes;
            let is_kept = body.len() <= ANSWER_BYTES_MAX
                && has_room(it.of_one(&once.name), self.of_one_max)
                && has_room(it.of_all, OF_ALL_MAX);
            let body = if is_kept { body } else { &[] };
            let sql = "UPDATE requests SET status = ?2, kind = ?3, body = ?4 WHERE name = ?1";
            let found = it.file.execute(sql, params![once.name, status, kind, body])?;
            if found > 0 {
                it.count(&once.name, |used| (used.keys, used.bytes + body.len() as u64));
            }
            Ok(())
        });
    }

    /// Nothing was done, so it can be sent again.
    fn forget(&self, once: &Once) {
        let _: Result<(), _> = self.with(|it| {
            it.file.execute("DELETE FROM requests WHERE name = ?1", params![once.name])?;
            it.gone(&once.name, 0);
            Ok(())
        });
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
pub(super) async fn key(call: &Call) -> Result<Option<Once>, Problem> {
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
    let path = call.parts.uri.path().to_owned();
    let (said, boundary, of) = (call.body().clone(), boundary(&call.parts.headers), path.clone());
    let hash = off_the_executor(move || Ok(hash(&of, &said, boundary.as_deref()))).await?;
    // Keys of different people are different ones; neither has a line break.
    Ok(Some(Once { name: format!("{who}\n{text}"), hash, path }))
}

/// What stands between the parts of a body. Clients draw it anew for each request that they send.
fn boundary(headers: &HeaderMap) -> Option<Vec<u8>> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let (_, rest) = kind.split_once("boundary=")?;
    let text = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([';', ' ']).next()?,
    };
    (!text.is_empty()).then(|| ["--", text].concat().into_bytes())
}

fn hash(path: &str, body: &[u8], boundary: Option<&[u8]>) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    add(path.as_bytes());
    let mut rest = body;
    if let Some(boundary) = boundary {
        while let Some(at) = rest.windows(boundary.len()).position(|it| it == boundary) {
            add(&rest[..at]);
            rest = &rest[at + boundary.len()..];
        }
    }
    add(rest);
    hash.finalize().to_vec()
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
    let kept = Arc::clone(remembered);
    let done = tokio::spawn(async move {
        let _under_way = under_way;
        done_once(kept, once, act).await
    });
    done.await.unwrap_or_else(|_| {
        Err(Refusal::new(Outcome::Internal, "the server failed; its log says more").into())
    })
}

async fn done_once(
    kept: Arc<Remembered>,
    once: Once,
    act: impl Future<Output = Result<Answer, Problem>> + Send,
) -> Result<Response, Problem> {
    let (remembered, of) = (Arc::clone(&kept), once.clone());
    match off_the_executor(move || remembered.begin(&of)).await? {
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
        Known::TooMany(most) => {
            let detail =
                format!("more than {most} idempotency keys within an hour; nothing was done");
            return Err(Refusal::new(Outcome::Overloaded, detail).into());
        }
        Known::New => {}
    }
    let ((status, kind), body) = match act.await {
        Ok(answer @ Answer::Stream(_)) => {
            // What goes on for a while changes nothing, so it may be asked again.
            aside(move || kept.forget(&once)).await;
            return Ok(answer.into_response());
        }
        Ok(answer) => answer.into_parts(),
        Err(problem) => match problem.done() {
            RequestOutcome::NotDone => {
                aside(move || kept.forget(&once)).await;
                return Err(problem);
            }
            RequestOutcome::Unknown => return Err(problem),
            // This is the answer, and the only one.
            RequestOutcome::Done => {
                let (status, text) = problem.parts(&once.path);
                ((status, KIND), text.into())
            }
        },
    };
    let text = body.clone();
    aside(move || kept.answered(&once, status.as_u16(), kind, &text)).await;
    Ok(Answer::whole(status, kind, body))
}

/// Does what may block, whatever becomes of it.
async fn aside(act: impl FnOnce() + Send + 'static) {
    let act = move || {
        act();
        Ok(())
    };
    let _: Result<(), Refusal> = off_the_executor(act).await;
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
        let is_first = all.insert(once.name.clone());
        // One that is dropped takes its name away, so there is none where another one has it.
        is_first.then(|| Self { remembered: Arc::clone(remembered), name: once.name.clone() })
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use http_body_util::BodyExt as _;
    use travertine_value::Value;

    use super::*;

    fn of(who: &str, key: &str) -> Once {
        Once { name: format!("{who}\n{key}"), hash: vec![1], path: "/api/1/x".to_owned() }
    }

    fn remembered(of_one_max: Used) -> Arc<Remembered> {
        Arc::new(Remembered { of_one_max, ..Remembered::open(None).unwrap() })
    }

    /// Does something with a key. Answers with the status, the text, and whether it was replayed.
    async fn done(
        remembered: &Arc<Remembered>,
        key: Once,
        came: Result<Answer, Problem>,
        times: &Arc<AtomicU32>,
    ) -> Result<(u16, String, bool), Problem> {
        let times = Arc::clone(times);
        let act = async move {
            times.fetch_add(1, Ordering::SeqCst);
            came
        };
        let response = once(remembered, key, act).await?;
        let (status, replayed) = (response.status(), response.headers().contains_key(REPLAYED));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Ok((status.as_u16(), String::from_utf8(body.to_vec()).unwrap(), replayed))
    }

    fn document(text: &str) -> Answer {
        Answer::Document(Value::from(text))
    }

    #[tokio::test]
    async fn only_what_was_refused_before_it_was_done_is_done_again() {
        let remembered = remembered(OF_ONE_MAX);
        let refused = |outcome| Problem::from(Refusal::new(outcome, "no"));
        for (key, came, again) in [
            ("not there", refused(Outcome::NotFound), true),
            ("busy", refused(Outcome::Overloaded), true),
            ("nobody knows", refused(Outcome::Unknown), false),
            ("it has failed", refused(Outcome::Internal), false),
            ("it goes on", refused(Outcome::TimedOut), false),
            ("done", refused(Outcome::Overloaded).once_done(), false),
        ] {
            let times = Arc::new(AtomicU32::new(0));
            let first = done(&remembered, of("ann", key), Err(came), &times).await;
            let second = done(&remembered, of("ann", key), Ok(document("done")), &times).await;
            assert_eq!(times.load(Ordering::SeqCst), if again { 2 } else { 1 }, "{key}");
            let (status, text, replayed) = match (again, key) {
                (true, _) => {
                    assert_eq!(second.unwrap(), (200, "\"done\"".to_owned(), false));
                    continue;
                }
                // What was answered first is answered again.
                (false, "done") => {
                    assert_eq!(first.unwrap().0, 502);
                    second.unwrap()
                }
                (false, _) => {
                    assert_eq!(second.unwrap_err().done(), RequestOutcome::Unknown, "{key}");
                    continue;
                }
            };
            assert!(status == 502 && replayed && text.contains(r#""outcome":"done""#), "{text}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_kept_is_given_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests.db");
        let remembered = Arc::new(Remembered::open(Some(&path)).unwrap());
        let broken = async move {
            let other = Connection::open(path).unwrap();
            other.execute("ALTER TABLE requests RENAME TO gone", []).unwrap();
            Ok(document("done"))
        };
        let response = once(&remembered, of("ann", "a"), broken).await.unwrap();
        assert_eq!(response.status(), 200);
    }

    #[tokio::test]
    async fn what_a_client_has_begun_that_has_left_is_done_and_known() {
        let remembered = remembered(OF_ONE_MAX);
        let times = Arc::new(AtomicU32::new(0));
        let key = || of("ann", "a");
        tokio::select! {
            biased;
            _ = done(&remembered, key(), Ok(document("done")), &times) => panic!("it is not done yet"),
            () = std::future::ready(()) => {}
        }
        let again = loop {
            match done(&remembered, key(), Ok(document("again")), &times).await {
                // It is being done.
                Err(problem) if problem.done() == RequestOutcome::NotDone => {
                    tokio::task::yield_now().await;
                }
                other => break other.unwrap(),
            }
        };
        assert_eq!(again, (200, "\"done\"".to_owned(), true));
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn nobody_fills_the_file_and_keeps_others_out() {
        let remembered = remembered(Used { keys: 2, bytes: 10 });
        let times = Arc::default();
        let ask = async |who: &str, key: &str, text: &str| {
            done(&remembered, of(who, key), Ok(document(text)), &times).await
        };
        ask("ann", "a", "short").await.unwrap();
        ask("ann", "b", "longer").await.unwrap();
        let refused = ask("ann", "c", "more").await.unwrap_err();
        assert_eq!(refused.done(), RequestOutcome::NotDone);
        ask("bob", "c", "more").await.unwrap();
        // What she has kept goes on, as far as there was room for it.
        assert_eq!(ask("ann", "a", "x").await.unwrap(), (200, "\"short\"".to_owned(), true));
        assert_eq!(ask("ann", "b", "x").await.unwrap(), (200, String::new(), true));
        // Refusals take no room.
        let no = || Err(Refusal::new(Outcome::NotFound, "no").into());
        for key in ["d", "e", "f"] {
            assert!(done(&remembered, of("bob", key), no(), &times).await.is_err());
        }
        ask("bob", "g", "more").await.unwrap();
        let kept = remembered.kept.lock().unwrap();
        assert_eq!((kept.of_all.keys, kept.of_all.bytes), (4, 7 + 6));
    }

    #[test]
    fn what_is_kept_is_counted_again_after_a_restart_and_forgotten_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests.db");
        let open = || Remembered::open(Some(&path)).unwrap();
        let first = open();
        for key in ["a", "b"] {
            assert!(matches!(first.begin(&of("ann", key)), Ok(Known::New)));
        }
        first.answered(&of("ann", "a"), 200, "text/plain", b"four");
        drop(first);
        let counted = |it: &Remembered| {
            let kept = it.kept.lock().unwrap();
            (kept.of_one("ann\n").keys, kept.of_one("ann\n").bytes, kept.of_all.keys)
        };
        let again = open();
        assert_eq!(counted(&again), (2, 4, 2));
        let old = "UPDATE requests SET at = 0 WHERE name = 'ann' || char(10) || 'a'";
        again.with(|it| it.file.execute(old, [])).unwrap();
        assert!(matches!(again.begin(&of("bob", "c")), Ok(Known::New)));
        assert_eq!(counted(&again), (1, 0, 2));
    }

    #[test]
    fn the_same_files_are_the_same_whatever_stands_between_them() {
        let body = |line: &str, file: &str| format!("--{line}\r\n{file}\r\n--{line}--\r\n");
        let of = |(line, file): (&str, &str)| {
            let mut headers = HeaderMap::new();
            let kind = format!("multipart/form-data; boundary=\"{line}\"; charset=x");
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            hash("/p", body(line, file).as_bytes(), boundary(&headers).as_deref())
        };
        let same = |one: (&str, &str), other: (&str, &str)| of(one) == of(other);
        assert!(same(("first", "<a/>"), ("second-1", "<a/>")));
        assert!(!same(("first", "<a/>"), ("first", "<b/>")));
        assert!(!same(("first", "a--first"), ("second", "a--first")));
        let plain = |body: &str| hash("/p", body.as_bytes(), None);
        assert!(plain("a") == plain("a") && plain("a") != plain("b"));
    }
}
