//! Turns during which the process died.
//!
//! A panic within a turn is caught. A stack that overflows, memory that runs out, an abort in native code or a
//! kill is not: the process ends, nothing of the turn is written, and whoever opens the store next does the same
//! again. So a shard notes beforehand what it is about to do by itself ([`Case`]). After a death with a note the
//! next opening counts it, and what the process has died of twice is not done again by itself: the instance is
//! halted, or the start is refused and kept as a dead letter or an incident.
//!
//! Notes must cost nothing, so one tells of many cases at first. That is suspicion and no proof: a death counts
//! only where the note told of one case. The death of a process makes the next one *careful*: it notes one case
//! at a time, with the instance whose turn it is, and cases under suspicion are done while no other shard does
//! anything. A case that passes is under suspicion no more. So nobody is set apart who was not in the same turn,
//! alone, at two deaths. A process is careful for some thousand turns: what
//! was left to do has long passed then, and requests that someone repeats have had time to come again.
//!
//! Activities of this program run beside the shard, many at a time. A careful process notes which of them are under
//! way, and begins those under suspicion one at a time; a death counts only where one was under way in all shards
//! together. One that the process has died of is an incident of its job.
//!
//! What someone asks for from outside is not repeated by itself, so it is noted only by a careful process.

mod note;

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use travertine_kernel::{Command, Failure, FailureKind};
use travertine_store::{Mail, MailId, ShardId, Store};
use travertine_value::Name;

use super::{Live, Shard};
use crate::{Address, Error, InstanceId};
pub(crate) use note::Case;
use note::{Note, Suspect, Turning};

/// Of so many deaths within the same turn it is the cause.
const DEATHS: u8 = 2;

/// How many cases one note tells of.
const GROUP: usize = 128;

/// How many turns a process is careful for.
const CAREFUL_TURNS: u32 = 10_000;

/// How long a shard waits at once for an activity of another one.
const A_MOMENT: Duration = Duration::from_millis(10);

/// Something that the process has died of often enough.
#[derive(Debug)]
struct Verdict {
    case: Case,
    deaths: u8,
    turning: Option<Turning>,
}

/// Whether an activity may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admits {
    Now,
    /// Not before one of this shard has ended.
    WhenOneEnds,
    /// Not before one of another shard has ended: it is asked for again.
    Soon,
}

/// How closely a shard notes what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Care {
    /// Nothing that it notes would outlive the process.
    #[default]
    None,
    /// Many cases at once.
    Usual,
    /// Each turn, for so many more.
    Each(u32),
}

/// Lets a shard do something while no other one that asks does anything.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    is_taken: Mutex<bool>,
    freed: Condvar,
    /// How many activities were under way in all shards together when the process before died.
    died_with: OnceLock<usize>,
    /// The activity under suspicion that is under way, of all shards.
    suspect: Mutex<Option<Case>>,
    suspect_ended: Condvar,
}

impl Alone {
    fn take(&self) {
        let taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken =
            self.freed.wait_while(taken, |it| *it).unwrap_or_else(PoisonError::into_inner);
        *taken = true;
    }

    /// What all shards have noted of activities. The first to ask reads it, before any shard notes anything anew.
    fn died_with(&self, store: &dyn Store) -> usize {
        *self.died_with.get_or_init(|| {
            let notes = (0..store.shards()).filter_map(|it| store.noted(ShardId(it)));
            notes.filter_map(|it| Note::decode(&it)).map(|it| it.activities.len()).sum()
        })
    }

    fn suspect(&self) -> MutexGuard<'_, Option<Case>> {
        self.suspect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) {
        *self.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.freed.notify_one();
    }
}

/// By which one shard is alone.
#[derive(Debug, Default)]
struct Turnstile {
    alone: Arc<Alone>,
    is_taken: bool,
}

/// What a shard knows of turns during which the process died.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// Where notes are kept.
    place: Option<(Arc<dyn Store>, ShardId)>,
    turnstile: Turnstile,
    care: Care,
    /// Whether the process before has ended in order.
    was_clean: bool,
    note: Note,
    /// How many cases of the note have come.
    reached: usize,
    /// What will come after them.
    upcoming: VecDeque<Case>,
    /// What is being done, where each case is noted.
    current: Option<Case>,
    /// Whether that is over with the turn.
    is_asked: bool,
    verdicts: Vec<Verdict>,
    bytes: Vec<u8>,
}

impl Quarantine {
    /// Looks at what the process before has left.
    pub(super) fn new(store: &Arc<dyn Store>, shard: ShardId, alone: &Arc<Alone>) -> Self {
        let left = store.noted(shard);
        let was_clean = left.as_ref().is_none_or(Vec::is_empty);
        let care = match &left {
            None => Care::None,
            Some(_) if was_clean => Care::Usual,
            Some(_) => Care::Each(CAREFUL_TURNS),
        };
        let found = left.and_then(|it| Note::decode(&it)).unwrap_or_default();
        alone.died_with(&**store);
        let mut it = Self {
            place: Some((Arc::clone(store), shard)),
            turnstile: Turnstile { alone: Arc::clone(alone), is_taken: false },
            care,
            was_clean,
            note: Note { suspects: found.suspects, ..Note::default() },
            ..Self::default()
        };
        // Of several cases nobody knows which it was: they are under suspicion, and none of them is to blame yet.
        let deaths = u8::from(found.cases.len() == 1);
        let has_cases = !found.cases.is_empty();
        for case in found.cases {
            it.count(case, deaths, found.turning.clone());
        }
        // Activities of other shards may be to blame as well.
        let is_only = found.activities.len() == 1 && alone.died_with(&**store) == 1;
        let deaths = u8::from(!has_cases && is_only);
        for case in found.activities {
            it.count(case, deaths, None);
        }
        it
    }

    /// The process has died while it did this, or something that was noted with it.
    fn count(&mut self, case: Case, more: u8, turning: Option<Turning>) {
        let suspects = &mut self.note.suspects;
        let known = suspects.iter_mut().find(|it| it.case == case);
        let deaths = if let Some(known) = known {
            known.deaths = known.deaths.saturating_add(more);
            known.deaths
        } else {
            if suspects.len() == GROUP {
                suspects.remove(0);
            }
            suspects.push(Suspect { case, deaths: more, barred: Vec::new() });
            more
        };
        if deaths >= DEATHS {
            self.verdicts.push(Verdict { case, deaths, turning });
        }
    }

    /// Whether every turn is noted.
    pub(super) fn is_careful(&self) -> bool {
        matches!(self.care, Care::Each(_))
    }

    /// The shard goes on by itself from now on.
    fn open(&mut self) {
        if self.care != Care::None {
            self.write();
        }
    }

    /// The shard has done everything. `goes` says whether it did also what was due.
    pub(super) fn close(&mut self, goes: bool) {
        self.end();
        self.note.cases.clear();
        match &self.place {
            Some((store, shard)) if goes || self.was_clean => store.note(*shard, &[]),
            _ => self.write(),
        }
    }

    /// What will be done after what is done now.
    pub(super) fn foresee(&mut self, cases: impl Iterator<Item = Case>) {
        if self.care == Care::Usual {
            self.upcoming.clear();
            self.upcoming.extend(cases);
        }
    }

    /// Something begins that the shard does by itself, and these come after it.
    pub(super) fn begin(&mut self, case: Case, next: impl Iterator<Item = Case>) {
        match self.care {
            Care::None => {}
            Care::Usual => {
                if !self.is_noted(case) {
                    self.note_all(case, next);
                }
            }
            Care::Each(_) => self.begin_alone(case),
        }
    }

    /// Notes a case and those that come after it.
    fn note_all(&mut self, case: Case, next: impl Iterator<Item = Case>) {
        let cases = &mut self.note.cases;
        cases.clear();
        cases.push(case);
        cases.extend(next.take(GROUP - 1));
        let left = (GROUP - cases.len()).min(self.upcoming.len());
        cases.extend(self.upcoming.drain(..left).filter(|it| *it != case));
        self.reached = 1;
        self.write();
    }

    /// Whether a note would tell of more than this case.
    fn wants(&self, case: Case) -> bool {
        self.care == Care::Usual && !self.note.cases.contains(&case)
    }

    fn is_noted(&mut self, case: Case) -> bool {
        if self.note.cases.get(self.reached) == Some(&case) {
            self.reached += 1;
            return true;
        }
        self.note.cases.contains(&case)
    }

    fn begin_alone(&mut self, case: Case) {
        self.end();
        if !self.note.suspects.is_empty() {
            self.turnstile.pass();
        }
        self.current = Some(case);
        self.note.cases.push(case);
        self.write();
    }

    /// What was begun is over, and the process is alive.
    pub(super) fn end(&mut self) {
        let Some(case) = self.current.take() else { return };
        self.is_asked = false;
        self.note.suspects.retain(|it| it.case != case);
        self.note.cases.clear();
        self.note.turning = None;
        if let Care::Each(left) = self.care {
            self.care = left.checked_sub(1).map_or(Care::Usual, Care::Each);
        }
        if self.care == Care::Usual {
            // What they were suspected of has not come again.
            self.note.suspects.retain(|it| it.deaths >= DEATHS);
        }
        self.write();
        self.turnstile.leave();
    }

    /// A worker of this process begins an activity. In a usual process nobody notes that: there are many.
    pub(super) fn activity_begins(&mut self, job: Address) {
        if self.is_careful() {
            self.note.activities.push(Case::Activity(job));
            self.write();
        }
    }

    /// It has come to its end, and the process is alive. Says whether those may begin that wait for that.
    pub(super) fn activity_ends(&mut self, Address { instance, wait }: Address) -> bool {
        let case = Case::Activity(Address { instance, wait });
        let Some(place) = self.note.activities.iter().position(|it| *it == case) else {
            return false;
        };
        self.note.activities.swap_remove(place);
        self.acquit(case);
        self.write();
        self.let_go(case);
        true
    }

    /// Whether an activity may begin now. One under suspicion is alone in its shard, and the only one under suspicion
    /// in all shards: then it has that place until it ends, or until [`Self::activity_stays`].
    pub(super) fn admits_activity(&self, job: Address) -> Admits {
        let case = Case::Activity(job);
        let is_suspect = |case: Case| self.suspect(case).is_some();
        let under_way = &self.note.activities;
        if !is_suspect(case) {
            let waits = under_way.iter().any(|it| is_suspect(*it));
            return if waits { Admits::WhenOneEnds } else { Admits::Now };
        }
        if !under_way.is_empty() {
            return Admits::WhenOneEnds;
        }
        let Alone { suspect_ended, .. } = &*self.turnstile.alone;
        let is_other = |it: &mut Option<Case>| it.is_some_and(|it| it != case);
        let suspect = self.turnstile.alone.suspect();
        // The shard has other things to do, so it waits only so long that asking again costs nothing.
        let waited = suspect_ended.wait_timeout_while(suspect, A_MOMENT, is_other);
        let (mut suspect, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_other(&mut suspect) {
            return Admits::Soon;
        }
        *suspect = Some(case);
        Admits::Now
    }

    /// An activity that was admitted does not begin.
    pub(super) fn activity_stays(&self, job: Address) {
        self.let_go(Case::Activity(job));
    }

    /// Lets another one under suspicion begin.
    fn let_go(&self, case: Case) {
        let mut suspect = self.turnstile.alone.suspect();
        if *suspect == Some(case) {
            *suspect = None;
            self.turnstile.alone.suspect_ended.notify_all();
        }
    }

    /// Whether any activity is under suspicion.
    pub(super) fn suspects_activities(&self) -> bool {
        self.note.suspects.iter().any(|it| matches!(it.case, Case::Activity(..)))
    }

    /// An instance takes a turn.
    fn turns(&mut self, position: u64, turning: Turning) {
        if self.current.is_none() {
            self.begin_alone(Case::Turn(turning.instance, position));
            self.is_asked = true;
        }
        self.note.turning = Some(turning);
        self.write();
    }

    /// It has taken it.
    pub(super) fn turned(&mut self) {
        if self.is_asked {
            self.end();
        }
    }

    /// How often the process has died while it started this for the same reason, where that was often enough.
    fn deaths_at_start(&self, definition: u64) -> Option<u8> {
        let found = self.suspect(self.current?)?;
        found.barred.contains(&definition).then_some(found.deaths)
    }

    fn suspect(&self, case: Case) -> Option<&Suspect> {
        self.note.suspects.iter().find(|it| it.case == case)
    }

    /// How often the process has died of something of which nothing is known that could be set apart, where that
    /// was often enough.
    pub(super) fn deaths_at(&self, case: Case) -> Option<u8> {
        let found = self.suspect(case).filter(|it| it.deaths >= DEATHS)?;
        found.barred.is_empty().then_some(found.deaths)
    }

    fn acquit(&mut self, case: Case) {
        self.note.suspects.retain(|it| it.case != case);
    }

    /// This is not to be started for that reason.
    fn bar(&mut self, case: Case, definition: u64) {
        if let Some(it) = self.note.suspects.iter_mut().find(|it| it.case == case) {
            it.barred.push(definition);
        }
    }

    fn write(&mut self) {
        self.bytes.clear();
        self.note.encode(&mut self.bytes);
        if let Some((store, shard)) = &self.place {
            store.note(*shard, &self.bytes);
        }
    }
}

impl Turnstile {
    fn pass(&mut self) {
        self.alone.take();
        self.is_taken = true;
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.is_taken) {
            self.alone.free();
        }
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        // A shard that ends in the middle does not hold up the others.
        self.leave();
    }
}

impl Live {
    /// How far it is: a number that grows with what it does, and is the same after a crash.
    pub(super) fn position(&self) -> u64 {
        let told = self
            .state
            .journal
            .as_ref()
            .map_or(0, |it| (u64::from(it.run) << 32).wrapping_add(it.entries.len() as u64));
        self.state.steps.wrapping_add(told)
    }
}

impl Shard {
    /// Begins to note what is done, after what the process before has died of is set apart.
    pub(super) fn open_quarantine(&mut self) {
        self.set_apart();
        if self.agenda.drive == super::Drive::Goes || self.agenda.quarantine.is_careful() {
            self.agenda.quarantine.open();
        }
    }

    /// Leaves a mail in the store that the process has died of, and nobody knows how.
    pub(super) fn leave_mail(&mut self, mail: &Mail, deaths: u8) {
        let MailId { from, number } = mail.id;
        let left = format!(
            "mail {number} from shard {from} in the inbox of shard {}: the process died {deaths} times while it \
             was seen to",
            self.id()
        );
        tracing::error!(left, "it stays in the store and is passed over");
        self.agenda.damaged.push(left);
    }

    /// Sets apart what the process has died of often enough: halts instances, and bars starts.
    fn set_apart(&mut self) {
        for Verdict { case, deaths, turning } in
            std::mem::take(&mut self.agenda.quarantine.verdicts)
        {
            if let Case::Activity(at) = case {
                self.activity_died(at, deaths);
                self.agenda.quarantine.acquit(case);
                continue;
            }
            let instance = match &turning {
                Some(it) => Some(it.instance).filter(|it| *it != InstanceId::NONE),
                None => case.instance(),
            };
            let turning = turning.unwrap_or_default();
            let state = instance.and_then(|id| {
                let live = self.live(id).ok()?;
                Some((id, live.has_ended() || live.halted.is_some()))
            });
            let asked = if turning.asked.is_empty() { "it took a turn" } else { &turning.asked };
            match state {
                Some((_, true)) => self.agenda.quarantine.acquit(case),
                Some((id, false)) => {
                    let reason = format!(
                        "the process died {deaths} times during the same turn of this instance, while {asked}: \
                         find out what became of memory, stack or native code; then resolve it, and it is \
                         tried again; or cancel it, or change its variables or where its tokens are"
                    );
                    self.with_any(id, |shard, live| {
                        shard.halt(live, reason);
                    });
                    self.agenda.quarantine.acquit(case);
                }
                None => {
                    let definition = match case {
                        Case::Start(start, _) => start.definition,
                        _ => turning.definition,
                    };
                    tracing::error!(?case, deaths, definition, "the process died of a start");
                    if definition != 0 {
                        self.agenda.quarantine.bar(case, definition);
                    }
                }
            }
        }
    }

    /// The process has died of an activity often enough: that waits for a person.
    fn activity_died(&mut self, Address { instance, wait }: Address, deaths: u8) {
        self.with_any(instance, |shard, live| {
            let Some(activity) = live.job(wait).map(|it| Name::clone(&it.job_type)) else { return };
            let died = format!(
                "the process died {deaths} times while the activity {activity} was at work: find out what became of \
                 memory, stack or native code"
            );
            // The code of a function would take a failure for an answer.
            if live.definition.is_function() {
                if !live.has_ended() && live.halted.is_none() {
                    let ways = "then resolve it, and it is tried again; or cancel it";
                    shard.halt(live, format!("{died}; {ways}"));
                }
                return;
            }
            let failure = Failure::new(FailureKind::Work, format!("{died}; then retry it"));
            let command = Command::NotGiven { wait, failure: Box::new(failure) };
            if let Err(error) = shard.turn(live, command) {
                tracing::debug!(%instance, %error, "an activity has gone since");
            }
        });
    }

    /// Something will be done after what is done now, as soon as it comes to it.
    pub(crate) fn foresee(&mut self, cases: impl Iterator<Item = Case>) {
        self.agenda.quarantine.foresee(cases);
    }

    /// The shard has done everything it was to do, and the process may end.
    pub(crate) fn close(&mut self) {
        self.agenda.quarantine.close(self.agenda.drive == super::Drive::Goes);
    }

    /// The turn of an instance, as something that the shard does by itself.
    pub(super) fn begin_turn(&mut self, live: &Live) {
        let lives = &self.instances.lives;
        let case = |id: InstanceId| lives.get(&id).map(|it| Case::Turn(id, it.position()));
        let this = Case::Turn(live.id, live.position());
        let next: Vec<Case> = if self.agenda.quarantine.wants(this) {
            self.agenda.unfinished().filter_map(case).take(GROUP).collect()
        } else {
            Vec::new()
        };
        self.agenda.quarantine.begin(this, next.into_iter());
    }

    /// Notes whose turn it is.
    pub(super) fn note_turn(&mut self, live: &Live, command: &Command) {
        let (instance, definition) = (live.id, live.definition.key);
        let turning = Turning { instance, definition, asked: asked(command) };
        self.agenda.quarantine.turns(live.position(), turning);
    }

    /// Notes what is started, unless the process has died of that.
    pub(super) fn note_start(&mut self, definition: u64) -> Result<(), Error> {
        if let Some(deaths) = self.agenda.quarantine.deaths_at_start(definition) {
            let definition = Arc::clone(&self.env.definition(definition)?.id);
            return Err(Error::Deadly { definition, deaths: u32::from(deaths) });
        }
        if self.agenda.quarantine.current.is_some() {
            let turning = Turning { instance: InstanceId::NONE, definition, asked: String::new() };
            self.agenda.quarantine.turns(0, turning);
        }
        Ok(())
    }
}

/// What is asked of an instance, in words, without what is the customer's.
fn asked(command: &Command) -> String {
    match command {
        Command::Complete { wait, .. } => format!("what wait {} waited for happened", wait.0),
        Command::Raise { wait, .. } => format!("wait {} ended in an error", wait.0),
        Command::Escalate { wait, .. } => format!("wait {} heard of an escalation", wait.0),
        Command::Fail { wait, .. } => format!("the work of wait {} failed", wait.0),
        Command::NotGiven { wait, .. } => {
            format!("the work of wait {} could be given to nobody", wait.0)
        }
        Command::NotCalled { wait, .. } => format!("what wait {} called could not begin", wait.0),
        Command::SetRetries { wait, .. } => format!("wait {} got more retries", wait.0),
        Command::Retry { token } => format!("token {} was retried", token.0),
        Command::Delivered { post } => format!("what it had sent arrived ({})", post.0),
        Command::Start { .. } => "it started".to_owned(),
        Command::Set { .. } => "its variables were set".to_owned(),
        Command::Modify { .. } => "it was modified".to_owned(),
        Command::Continue => "it went on".to_owned(),
        Command::Cancel => "it was cancelled".to_owned(),
        Command::Update { .. } => "it was updated".to_owned(),
        Command::Decide { .. } | Command::Block { .. } | Command::RefuseUpdate { .. } => {
            "its code thought".to_owned()
        }
    }
}
