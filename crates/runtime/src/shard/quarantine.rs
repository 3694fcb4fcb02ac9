//! Turns during which the process died.
//!
//! A panic within a turn is caught. A stack that overflows, memory that runs out, an abort in native code or a
//! kill is not: the process ends, nothing of the turn is written, and whoever opens the store next does the same
//! again. So a shard notes beforehand what it is about to do by itself ([`Case`]). After a death with a note the
//! next opening counts it, and what the process has died of twice is not done again by itself: the instance is
//! halted, or the start is refused and kept as a dead letter or an incident.
//!
//! Notes must cost nothing, so one tells of many cases at first. That is suspicion and no proof: a death counts
//! only where the notes of all shards together told of one thing. The death of a process makes the next one
//! *careful*: each shard notes one case at a time, with the instance whose turn it is, and which activities of this
//! program are under way. What is under suspicion waits until it can be done alone ([`Gate`]), and is under suspicion
//! no more where it passes. So nobody is set apart who was not alone at two deaths. A process is careful for some
//! thousand turns: what was left to do has long passed then, and requests that someone repeats have had time to come
//! again.
//!
//! What someone asks for from outside is not repeated by itself, so it is noted only by a careful process. Where it
//! is no turn of an instance it is never to blame, but whoever was under way with it was not alone.

mod gate;
mod note;

use std::{collections::VecDeque, sync::Arc};

use travertine_kernel::{Command, Failure, FailureKind};
use travertine_store::{Mail, MailId, ShardId, Store};
use travertine_value::Name;

use super::{Live, Shard};
use crate::{Address, DefinitionKey, Error, InstanceId};
pub(crate) use gate::Gate;
use gate::{Pass, time_alone};
pub(crate) use note::Case;
use note::{Note, Suspect, Turning};

/// Of so many deaths within the same turn it is the cause.
const DEATHS: u8 = 2;

/// How many cases one note tells of.
const GROUP: usize = 128;

/// Something that the process has died of often enough.
#[derive(Debug)]
struct Verdict {
    case: Case,
    deaths: u8,
    turning: Option<Turning>,
}

/// How closely a shard notes what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Care {
    /// Nothing that it notes would outlive the process.
    #[default]
    None,
    /// Many cases at once.
    Usual,
    /// Each turn.
    Each,
}

/// What a shard knows of turns during which the process died.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// Where notes are kept.
    place: Option<(Arc<dyn Store>, ShardId)>,
    pass: Pass,
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
    pub(super) fn new(store: &Arc<dyn Store>, shard: ShardId, gate: &Arc<Gate>) -> Self {
        let noted = store.noted(shard);
        let left = gate.left(&**store);
        let care = match &noted {
            None => Care::None,
            Some(_) if left.is_clean => Care::Usual,
            Some(_) => Care::Each,
        };
        let was_clean = noted.as_ref().is_none_or(Vec::is_empty);
        let found = noted.and_then(|it| Note::decode(&it)).unwrap_or_default();
        let mut it = Self {
            place: Some((Arc::clone(store), shard)),
            pass: Pass::new(gate, shard),
            care,
            was_clean,
            note: Note { suspects: found.suspects, ..Note::default() },
            ..Self::default()
        };
        for case in found.cases {
            it.count(case, left.is_one, found.turning.clone());
        }
        for case in found.activities {
            it.count(case, left.is_one, None);
        }
        it
    }

    /// The process has died while it did this, and nothing else where it was `alone`. Of several things nobody knows
    /// which it was: they are under suspicion, and none of them is to blame yet.
    fn count(&mut self, case: Case, alone: bool, turning: Option<Turning>) {
        if case == Case::Asked {
            return;
        }
        let suspects = &mut self.note.suspects;
        let known = suspects.iter().position(|it| it.case == case);
        let mut suspect = known.map_or_else(|| Suspect::new(case), |it| suspects.remove(it));
        let died = if alone { &mut suspect.deaths } else { &mut suspect.shared };
        *died = died.saturating_add(1);
        let deaths = suspect.deaths;
        if suspects.len() == GROUP {
            suspects.remove(0);
        }
        suspects.push(suspect);
        if deaths >= DEATHS {
            self.verdicts.push(Verdict { case, deaths, turning });
        }
    }

    /// Whether every turn is noted.
    pub(super) fn is_careful(&self) -> bool {
        self.care == Care::Each
    }

    /// The shard goes on by itself from now on.
    fn open(&mut self) {
        if self.care != Care::None {
            self.write();
        }
        if self.suspect_turns().next().is_some() {
            self.pass.expect_turns();
        }
    }

    /// The turns under suspicion.
    fn suspect_turns(&self) -> impl Iterator<Item = &Suspect> {
        self.note.suspects.iter().filter(|it| !matches!(it.case, Case::Activity(_)))
    }

    /// The shard has nothing to do by itself.
    pub(super) fn rests(&self) {
        if self.is_careful() {
            match self.suspect_turns().map(|it| it.shared).max() {
                Some(shared) => self.pass.rests(time_alone(shared)),
                None => self.pass.expect_no_turns(),
            }
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

    /// The shard is lost, and the process goes on: nothing of what was noted is to blame for that.
    pub(super) fn lose(&mut self) {
        self.current = None;
        self.note = Note { suspects: std::mem::take(&mut self.note.suspects), ..Note::default() };
        match &self.place {
            Some((store, shard)) if self.note.suspects.is_empty() && !self.is_careful() => {
                store.note(*shard, &[]);
            }
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
            Care::Each => self.begin_alone(case, None),
        }
    }

    /// An activity has come to its end, the process is alive, and what came of it is told.
    pub(super) fn begin_outcome(&mut self, job: Address) {
        let case = Case::Attempt(job);
        match self.care {
            Care::None | Care::Usual => self.begin(case, std::iter::empty()),
            Care::Each => {
                let ended = Case::Activity(job);
                self.forget_activity(ended);
                self.write();
                self.begin_alone(case, Some(ended));
            }
        }
    }

    /// Someone outside asks for something.
    pub(super) fn asked(&mut self) {
        if self.is_careful() {
            self.begin_alone(Case::Asked, None);
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

    /// Notes a case by itself, which may be that of an activity that has come to its end.
    fn begin_alone(&mut self, case: Case, ended: Option<Case>) {
        self.end();
        self.pass.begin_turn(self.suspect(case).is_some(), ended);
        self.current = Some(case);
        self.note.cases.push(case);
        self.write();
    }

    /// What was begun is over, and the process is alive.
    pub(super) fn end(&mut self) {
        let Some(case) = self.current.take() else { return };
        self.is_asked = false;
        self.acquit(case);
        self.note.cases.clear();
        self.note.turning = None;
        if self.is_careful() && !self.pass.stays_careful() {
            self.care = Care::Usual;
            // What they were suspected of has not come again.
            self.note.suspects.retain(|it| it.deaths >= DEATHS);
            self.pass.expect_no_turns();
        }
        self.write();
        self.pass.end_turn();
    }

    /// Whether a worker of this process may begin an activity now. It is under way from then on, until it ends.
    pub(super) fn admits_activity(&self, job: Address) -> bool {
        if !self.is_careful() {
            return true;
        }
        let case = Case::Activity(job);
        let alone = self.suspect(case).map(|it| time_alone(it.shared));
        self.pass.begin_activity(case, alone)
    }

    /// It begins. In a usual process nobody notes that: there are many.
    pub(super) fn activity_begins(&mut self, job: Address) {
        if self.is_careful() {
            self.note.activities.push(Case::Activity(job));
            self.write();
        }
    }

    /// It has come to its end, and the process is alive; or it was admitted and does not begin.
    pub(super) fn activity_ends(&mut self, job: Address) {
        let case = Case::Activity(job);
        let was_noted = self.forget_activity(case);
        if was_noted {
            self.write();
        }
        if was_noted || self.is_careful() {
            self.pass.end_activity(case);
        }
    }

    /// Says whether it was noted.
    fn forget_activity(&mut self, case: Case) -> bool {
        let Some(place) = self.note.activities.iter().position(|it| *it == case) else {
            return false;
        };
        self.note.activities.swap_remove(place);
        self.acquit(case);
        true
    }

    /// Waits a little until one of these activities may begin. Says whether one may.
    pub(super) fn wait_for_room(&self, jobs: &[Address]) -> bool {
        let is_suspect = |job: &Address| self.suspect(Case::Activity(*job)).is_some();
        !self.is_careful() || self.pass.wait_for_room(jobs.iter().all(is_suspect))
    }

    /// An instance takes a turn.
    fn turns(&mut self, position: u64, turning: Turning) {
        if self.current.is_none_or(|it| it == Case::Asked) {
            self.begin_alone(Case::Turn(turning.instance, position), None);
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
    fn deaths_at_start(&self, definition: DefinitionKey) -> Option<u8> {
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
    fn bar(&mut self, case: Case, definition: DefinitionKey) {
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
                    tracing::error!(?case, deaths, %definition, "the process died of a start");
                    if definition != DefinitionKey::NONE {
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
    pub(super) fn note_start(&mut self, definition: DefinitionKey) -> Result<(), Error> {
        if let Some(deaths) = self.agenda.quarantine.deaths_at_start(definition) {
            let definition = Arc::clone(&self.env.definition(definition)?.id);
            return Err(Error::Deadly { definition, deaths: u32::from(deaths) });
        }
        if self.agenda.quarantine.current.is_some_and(|it| it != Case::Asked) {
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

#[cfg(test)]
mod tests;
