//! What is tried and refused, on its way into the audit: by a thread of its own, so that no request waits for the
//! disk, and counted, so that nobody fills the disk by being refused.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use travertine_runtime::{
    Timestamp,
    engine::{Clock as _, SystemClock},
};
use travertine_value::Name;

use super::Accounts;

/// How long a repeated reason to worry is only counted after it was written.
const OFTEN: Duration = Duration::from_mins(1);

/// How long what is no reason to worry is only counted after it was written.
const RARELY: Duration = Duration::from_hours(1);

/// How many different things are told apart at once. All others are counted together.
const APART_MAX: usize = 1_000;

/// How many may wait to be written.
const WAITING_MAX: usize = 1_024;

/// The longest text about anything.
const ABOUT_MAX: usize = 500;

/// Takes note of what is tried and refused.
#[derive(Debug)]
pub(crate) struct Audit {
    writer: Mutex<Option<(SyncSender<Note>, JoinHandle<()>)>>,
    path: Option<PathBuf>,
}

#[derive(Debug)]
struct Note {
    at: Timestamp,
    what: What,
    for_long: Duration,
}

/// Who, what, and about what.
type What = (Option<Name>, &'static str, Name);

impl Audit {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { writer: Mutex::default(), path }
    }

    /// The file that it is in, beside the accounts.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Takes note of something.
    pub(crate) fn note(&self, who: Option<Name>, what: &'static str, about: &str) {
        self.add((who, what, short(about)), OFTEN);
    }

    /// Takes note of something that need not be written each time.
    pub(super) fn note_rarely(&self, who: Option<Name>, what: &'static str, about: &str) {
        self.add((who, what, short(about)), RARELY);
    }

    fn add(&self, what: What, for_long: Duration) {
        let Some(path) = &self.path else { return };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (to, _) = writer.get_or_insert_with(|| {
            let (to, notes) = sync_channel(WAITING_MAX);
            let path = path.clone();
            let thread = std::thread::Builder::new().name("audit".to_owned());
            let thread = thread.spawn(move || write(&path, &notes));
            (to, thread.expect("the system has threads"))
        });
        let note = Note { at: SystemClock.now(), what, for_long };
        if to.try_send(note).is_err() {
            tracing::warn!("more is refused than the audit can take down");
        }
    }

    /// Waits until all that it has taken note of is written.
    pub(super) fn flush(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((to, thread)) = writer {
            drop(to);
            if thread.join().is_err() {
                tracing::error!("the audit has failed");
            }
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.flush();
    }
}

fn short(text: &str) -> Name {
    text.chars().take(ABOUT_MAX).collect::<String>().into()
}

/// What was written once and is only counted since then.
#[derive(Debug)]
struct Counted {
    until: Instant,
    at: Timestamp,
    times: u64,
}

type Line = (Timestamp, Option<Name>, &'static str, Name, u64);

fn write(path: &Path, notes: &Receiver<Note>) {
    let mut accounts: Option<Accounts> = None;
    let mut counted: BTreeMap<What, Counted> = BTreeMap::new();
    let mut is_over = false;
    while !is_over {
        let mut lines: Vec<Line> = Vec::new();
        match notes.recv_timeout(Duration::from_secs(1)) {
            Ok(note) => lines.extend(take(note, &mut counted)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => is_over = true,
        }
        lines.extend(notes.try_iter().take(WAITING_MAX).filter_map(|it| take(it, &mut counted)));
        let now = Instant::now();
        counted.retain(|(who, what, about), it| {
            let ends = is_over || it.until <= now;
            if ends && it.times > 0 {
                lines.push((it.at, who.clone(), *what, Name::clone(about), it.times));
            }
            !ends
        });
        if lines.is_empty() {
            continue;
        }
        if accounts.is_none() {
            match Accounts::open(path) {
                Ok(it) => accounts = Some(it),
                Err(error) => tracing::error!(%error, "nothing can be audited"),
            }
        }
        if let Some(accounts) = &accounts
            && let Err(error) = accounts.audit(&lines)
        {
            tracing::error!(%error, "something is missing in the audit");
        }
    }
}

/// The line that says it now; none where it is only counted.
fn take(note: Note, counted: &mut BTreeMap<What, Counted>) -> Option<Line> {
    let Note { at, mut what, for_long } = note;
    if counted.len() >= APART_MAX && !counted.contains_key(&what) {
        what = (None, "refused", "much else".into());
    }
    if let Some(known) = counted.get_mut(&what) {
        if known.times == 0 {
            known.at = at;
        }
        known.times += 1;
        return None;
    }
    let line = (at, what.0.clone(), what.1, Name::clone(&what.2), 1);
    counted.insert(what, Counted { until: Instant::now() + for_long, at, times: 0 });
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_often_is_written_once_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.db");
        let audit = Audit::new(Some(path.clone()));
        for _ in 0..100 {
            audit.note(Some("ann".into()), "refused", "operate for order");
        }
        audit.note(None, "login refused", "");
        audit.flush();
        let found = Accounts::open(&path).unwrap().audited(None, 100).unwrap();
        let mut found: Vec<_> =
            found.iter().map(|it| (it.who.as_deref(), &*it.what, it.times)).collect();
        found.sort_unstable();
        let ann = Some("ann");
        let expected = [(None, "login refused", 1), (ann, "refused", 1), (ann, "refused", 99)];
        assert_eq!(found, expected);
    }

    #[test]
    fn many_different_things_take_no_more_room_than_a_thousand() {
        let mut counted = BTreeMap::new();
        let note = |number: u64| Note {
            at: SystemClock.now(),
            what: (None, "refused", number.to_string().into()),
            for_long: OFTEN,
        };
        let lines = (0..100_000).filter_map(|it| take(note(it), &mut counted)).count();
        assert_eq!((lines, counted.len()), (APART_MAX + 1, APART_MAX + 1));
    }
}
