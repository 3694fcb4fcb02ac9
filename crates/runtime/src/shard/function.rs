//! Functions: their code thinks here, on the shard's own thread, in the batch of what it was told.

use std::{fmt, io::Write as _, sync::Arc};

use send_wrapper::SendWrapper;
use travertine_func::{Advance, Arguments, Blocked, EventConfig, Failure, Identity, Session};
use travertine_kernel::{
    self as kernel, Assignments, Command, Decision, FailureKind, Incident, Phase, Post, ROOT_LAYER,
    Rejection, Turn, WaitFor, check_variables, handle_in,
};
use travertine_store::record::{Message, Record};
use travertine_value::{Name, Value};

use super::{
    Case, Shard,
    call::missing,
    code::{answer_of, brings_update, check_room, check_sizes, new_answers, not_deterministic},
    guard::step,
    live::Live,
};
use crate::{Definition, Error, InstanceId, RequestOutcome};

/// The code of a function in the middle of its run. It stays on the thread that it was begun on.
#[derive(Default)]
pub(super) struct CachedSession(Option<SendWrapper<Session>>);

impl fmt::Debug for CachedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a session" } else { "no session" })
    }
}

/// How functions behave.
///
/// ```
/// # use travertine_runtime::engine::Options;
/// let mut options = Options::default();
/// // Every step, which is for tests.
/// options.settings.functions.shadow_every = 1;
/// ```
#[derive(Clone, Debug)]
pub struct FunctionSettings {
    /// What every session is told.
    pub session: travertine_func::SessionSettings,
    /// Every how many steps the whole journal is replayed beside the running code, to see that both
    /// decide the same; never where it is 0.
    pub shadow_every: u64,
    /// Whether a function that cannot go on is told on standard error, where the program listens to no
    /// `tracing`. Who listens is told that way in any case.
    pub prints_incidents: bool,
}

impl Default for FunctionSettings {
    fn default() -> Self {
        Self {
            session: travertine_func::SessionSettings::default(),
            shadow_every: 1_000,
            prints_incidents: true,
        }
    }
}

/// What a function is doing.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, RunStatus};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let has_ended = match engine.query_status("order-1").await? {
///     None | Some(RunStatus::Running | RunStatus::Suspended | RunStatus::Blocked) => false,
///     Some(RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled) => true,
/// };
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Its code or its activities are at work.
    Running,
    /// It waits for a time, an event, or a child.
    Suspended,
    /// Its code cannot go on, and its incident says why. It does when code that can is there.
    Blocked,
    /// It has come to its end.
    Succeeded,
    /// It has failed.
    Failed,
    /// Someone has ended it.
    Cancelled,
}

impl Live {
    /// What people and events call it.
    pub(crate) fn name(&self) -> Name {
        match &self.created.business_id {
            Some(id) => Name::clone(id),
            None => self.id.unnamed(),
        }
    }

    fn identity(&self, run: u32) -> Identity {
        Identity { id: self.name(), seed: self.id.0, run }
    }

    /// Keeps its code, unless that has thought only to be looked at: what it decided then is not written.
    fn keep_decided(&mut self, session: SendWrapper<Session>) {
        if !self.state.journal.as_ref().is_some_and(|it| it.due) {
            self.session = CachedSession(Some(session));
        }
    }

    /// Has the code be read from the journal again, when it is needed.
    pub(super) fn forget_session(&mut self) {
        self.session = CachedSession::default();
    }

    /// What keeps the code of a function from going on.
    fn blocked(&self) -> Option<&Incident> {
        let journal = self.state.journal.as_ref()?;
        self.state.incidents.get(&journal.token).map(|it| &it.incident)
    }

    /// Why a function that has not ended stands still until people or new code see to it.
    pub(super) fn stuck(&self) -> Option<Error> {
        if !self.definition.is_function() || self.has_ended() {
            return None;
        }
        if let Some(reason) = self.halted.clone() {
            return Some(Error::Halted { instance: self.id, reason });
        }
        let kernel::Failure { kind, message, .. } = self.blocked()?.failure.clone();
        Some(Error::Blocked { instance: self.id, id: self.name(), kind, reason: message })
    }

    /// What it is doing, where it is a function.
    pub(crate) fn status(&self) -> RunStatus {
        use travertine_kernel::Ending;
        match &self.state.phase {
            Phase::Ended(Ending::Completed) => RunStatus::Succeeded,
            Phase::Ended(Ending::Failed(_)) => RunStatus::Failed,
            Phase::Ended(Ending::Cancelled) => RunStatus::Cancelled,
            Phase::New | Phase::Running if self.blocked().is_some() || self.halted.is_some() => {
                RunStatus::Blocked
            }
            Phase::New | Phase::Running => {
                let works = |wait: &travertine_kernel::Wait| matches!(*wait.on, WaitFor::Work(_));
                let busy =
                    self.state.is_thoughtful() || self.state.waits.iter().any(|(_, it)| works(it));
                if busy { RunStatus::Running } else { RunStatus::Suspended }
            }
        }
    }
}

impl Shard {
    /// Has the code of a function think about what it was told, if it has to. What it decides becomes
    /// part of the turn. Says why the instance must be halted after that, if it must.
    pub(super) fn think(
        &mut self,
        live: &mut Live,
        turn: &mut Turn,
        records: &mut Vec<Record>,
    ) -> Option<String> {
        if !live.state.is_thoughtful() {
            return None;
        }
        step("think");
        let lost = self.think_through(live, turn, records);
        // One that begins anew lets others have their turn first.
        turn.unfinished |= lost.is_none() && live.state.is_thoughtful();
        lost
    }

    fn think_through(
        &mut self,
        live: &mut Live,
        turn: &mut Turn,
        records: &mut Vec<Record>,
    ) -> Option<String> {
        match self.thought(live, records) {
            Ok((decisions, answers)) => {
                if let Some(Decision::ContinueAs { .. }) = decisions.last() {
                    live.forget_session();
                }
                self.write_down(live, turn, Command::Decide { decisions, answers })
            }
            // One that stands in the journal from before cannot be taken back any more.
            Err(Blocked { message, update: Some(_), .. }) if brings_update(turn) => {
                live.forget_session();
                let failure = format!("{message}; nothing has changed");
                let refused = self.write_down(live, turn, Command::RefuseUpdate { message });
                let lost = refused.or_else(|| self.think(live, turn, records));
                let refused = (Failure::terminal("handler", failure), RequestOutcome::NotDone);
                self.code.answer = Some(Err(refused));
                lost
            }
            Err(Blocked { kind, message, .. }) => {
                live.forget_session();
                let failure = Box::new(kernel::Failure::new(kind, message));
                self.write_down(live, turn, Command::Block { failure })
            }
        }
    }

    /// Has the kernel do what follows from the thoughts of a function, as a part of the turn.
    fn write_down(&mut self, live: &mut Live, turn: &mut Turn, command: Command) -> Option<String> {
        step("decide");
        let buffer = self.outbox.buffer();
        let Live { definition, state, .. } = live;
        let budgets = &self.env.budgets;
        match handle_in(&definition.plan, state, self.now, command, buffer, budgets) {
            Ok(mut next) => {
                turn.events.append(&mut next.events);
                self.outbox.give_back(next.events);
                turn.unfinished |= next.unfinished;
                None
            }
            Err(rejection) => Some(format!("what its code decided cannot be done: {rejection}")),
        }
    }

    /// What a function goes on as, where that is something else than before. Says what is missing of
    /// all that it wants to begin.
    fn next_definition(
        &self,
        live: &Live,
        decisions: &[Decision],
    ) -> Result<Option<Arc<Definition>>, Blocked> {
        for decision in decisions {
            let (definition, binding) = match decision {
                Decision::Post { what: Post::Start { definition, .. }, .. } => (definition, None),
                Decision::Ask { on: WaitFor::Child { definition, binding, .. }, .. } => {
                    (definition, binding.as_deref())
                }
                _ => continue,
            };
            if self.env.definitions.bound(definition, binding, &live.definition).is_none() {
                return Err(not_deployed(definition, binding));
            }
        }
        let Some(Decision::ContinueAs { definition, .. }) = decisions.last() else {
            return Ok(None);
        };
        let Some(next) = self.env.definitions.find(definition).map(Arc::clone) else {
            return Err(not_deployed(definition, None));
        };
        if !next.is_function() {
            let message =
                format!("{definition} is a process, and a function goes on as a function");
            return Err(message.into());
        }
        Ok((live.definition.key != next.key).then_some(next))
    }

    /// What its code decides, and what it has answered to updates that were not answered before, by
    /// their ids. What the shard itself must take note of is added to `records`.
    fn thought(
        &mut self,
        live: &mut Live,
        records: &mut Vec<Record>,
    ) -> Result<(Vec<Decision>, Assignments), Blocked> {
        let (decisions, answers) = self.advance(live)?;
        let limits = &live.definition.plan.limits;
        check_variables(&answers, limits).map_err(|why| Blocked {
            update: live.state.journal.as_ref().map(|it| it.entries.len() - 1),
            ..Blocked::from(format!("an update is answered with too much: {why}"))
        })?;
        check_sizes(&decisions, limits)?;
        let journal = live.state.journal.as_ref().expect("only functions think");
        check_room(journal, &decisions, &self.env.budgets)?;
        if let Some(next) = self.next_definition(live, &decisions)? {
            records.push(Record::Migrated { definition: next.key });
            live.definition = next;
        }
        Ok((decisions, answers))
    }

    /// Has the code read what is new in its journal.
    fn advance(&mut self, live: &mut Live) -> Result<(Vec<Decision>, Assignments), Blocked> {
        self.code.thoughts += 1;
        let every = self.env.settings.functions.shadow_every;
        let shadowed = every > 0 && self.code.thoughts.is_multiple_of(every);
        let had_session = live.session.0.is_some();
        let mut session = self.awaken(live)?;
        let journal = live.state.journal.as_ref().expect("only functions think");
        let Advance { decisions, mut answers } = session.advance(journal)?;
        let new = new_answers(&live.state, journal, &answers);
        self.code.answer =
            answers.pop().map(|it| it.result.map_err(|failure| (failure, RequestOutcome::Done)));
        if shadowed && had_session {
            let again = self.session(live)?.advance(journal)?;
            if again.decisions != decisions {
                let message = not_deterministic(&decisions, &again.decisions);
                return Err(Blocked::of(FailureKind::Nondeterminism, message));
            }
        }
        live.session.0 = Some(session);
        Ok((decisions, new))
    }

    /// The code of a function, as far as it has thought.
    fn awaken(&self, live: &mut Live) -> Result<SendWrapper<Session>, Blocked> {
        match live.session.0.take() {
            Some(session) => Ok(session),
            None => self.session(live).map(SendWrapper::new),
        }
    }

    /// The code of a function, at its beginning.
    fn session(&self, live: &Live) -> Result<Session, Blocked> {
        self.session_as(live, &live.definition)
    }

    /// The code of a function in the version of this definition, at its beginning.
    fn session_as(&self, live: &Live, definition: &Definition) -> Result<Session, Blocked> {
        let Definition { id, version, .. } = definition;
        let Some(function) = self.code.functions.find_workflow(id, Some(*version)) else {
            let kind = FailureKind::MissingCode { function: Name::clone(id), version: *version };
            let message = kind.to_string();
            return Err(Blocked::of(kind, message));
        };
        let run = live.state.journal.as_ref().map_or(0, |it| it.run);
        let arguments = Arguments::new(Name::clone(id), arguments(live));
        let settings = self.env.settings.functions.session;
        Ok(Session::new(function, live.identity(run), arguments, settings))
    }

    /// Asks the code of a function about what it has in hand.
    pub(super) fn query_function(
        &mut self,
        id: InstanceId,
        name: &str,
        input: &Value,
    ) -> Result<Value, Error> {
        self.with(id, |shard, live| {
            let session = shard.awaken_to_date(live)?;
            let answer = session.query(name, input);
            live.keep_decided(session);
            answer.map_err(|failure| says_no(id, failure, RequestOutcome::NotDone))
        })
    }

    /// Has the code of a function change what it has in hand. Answers with what the code says to that;
    /// with what it said before, where the sender has sent an update of this id already.
    pub(super) fn update_function(
        &mut self,
        id: InstanceId,
        name: &Name,
        input: Value,
        sent_as: Option<Name>,
    ) -> Result<Value, Error> {
        self.with(id, |shard, live| {
            let known = sent_as.as_ref().and_then(|it| live.state.answer(it));
            if let Some(said) = known {
                return answer_of(said)
                    .map_err(|failure| says_no(id, failure, RequestOutcome::Done));
            }
            let session = shard.awaken_to_date(live)?;
            live.ready()?;
            let journal = live.state.journal.as_ref();
            if let Some(over) = journal.and_then(|it| it.over(&shard.env.budgets)) {
                return Err(Rejection::OverBudget(over).into());
            }
            let valid = session.validate_update(name, &input);
            live.keep_decided(session);
            valid.map_err(|failure| says_no(id, failure, RequestOutcome::NotDone))?;
            shard.code.answer = None;
            shard.turn(live, Command::Update { name: Name::clone(name), input, id: sent_as })?;
            let blocked =
                || Failure::terminal("blocked", "its code cannot go on: see its incident");
            let answer = shard.code.answer.take();
            let answer = answer.unwrap_or_else(|| Err((blocked(), RequestOutcome::Done)));
            answer.map_err(|(failure, outcome)| says_no(id, failure, outcome))
        })
    }

    /// The code of a running function, as far as its journal goes.
    fn awaken_to_date(&self, live: &mut Live) -> Result<SendWrapper<Session>, Error> {
        if live.has_ended() {
            return Err(Rejection::Ended.into());
        }
        let had_session = live.session.0.is_some();
        let Some(journal) = &live.state.journal else {
            return Err(Rejection::NotAFunction.into());
        };
        let instance = live.id;
        let blocked = |it: Blocked| {
            says_no(instance, Failure::terminal("blocked", it.message), RequestOutcome::NotDone)
        };
        let mut session = match live.session.0.take() {
            Some(session) => session,
            None => SendWrapper::new(self.session(live).map_err(blocked)?),
        };
        if !had_session {
            session.advance(journal).map_err(blocked)?;
        }
        Ok(session)
    }

    /// Whether the code that is here agrees with the journal of an instance.
    pub(crate) fn try_code(&self, id: InstanceId) -> Result<Result<(), String>, Error> {
        // One that is not in memory need not stay there for this.
        let loaded;
        let live = if let Some(live) = self.instances.lives.get(&id) {
            live
        } else {
            loaded = self.load(id)?;
            &loaded
        };
        Ok(self.try_code_of(live).map_err(|it| it.message))
    }

    /// Whether the code that is here could go on with this instance, as far as can be seen without
    /// changing anything.
    fn try_code_of(&self, live: &Live) -> Result<(), Blocked> {
        let Some(journal) = &live.state.journal else { return Ok(()) };
        let advance = self.session(live)?.advance(journal)?;
        check_sizes(&advance.decisions, &live.definition.plan.limits)?;
        check_room(journal, &advance.decisions, &self.env.budgets)?;
        self.next_definition(live, &advance.decisions).map(drop)
    }

    /// Has a function that its code has blocked go on, where the code that is here can. Where it cannot
    /// nothing changes, whatever the incident says, and the answer is why.
    pub(crate) fn unblock(&mut self, id: InstanceId) -> Result<Unblocked, Error> {
        // Those that stay as they are need not stay in memory.
        let loaded;
        let live = if let Some(live) = self.instances.lives.get(&id) {
            live
        } else {
            loaded = self.load(id)?;
            &loaded
        };
        let is_of_code = |it: &&Incident| it.failure.kind.is_of_code();
        let stands_still = live.has_ended() || live.suspended || live.halted.is_some();
        let blocked = live.blocked().filter(|_| !stands_still).filter(is_of_code);
        let Some(token) = blocked.and(live.state.journal.as_ref()).map(|it| it.token) else {
            return Ok(Unblocked::IsNot);
        };
        let case = Case::Turn(id, live.position());
        self.agenda.quarantine.begin(case, std::iter::empty());
        if let Err(blocked) = self.try_code_of(live) {
            return Ok(Unblocked::No { id: live.name(), reason: blocked.message });
        }
        self.command(id, Command::Retry { token }).map(|()| Unblocked::Yes)
    }

    /// A function cannot go on. Whoever waits for it is told, and so are people, once that is durable.
    pub(super) fn report_blocked(&mut self, live: &Live) {
        let Some(incident) = live.blocked() else { return };
        let (instance, name, reason) = (live.id, live.name(), incident.failure.message.clone());
        let (function, prints) =
            (Name::clone(&live.definition.id), self.env.settings.functions.prints_incidents);
        self.outbox.notice(move || {
            tracing::error!(%instance, run = %name, %function, %reason, "a function cannot go on");
            if prints {
                print(&format!("{name} ({function}) cannot go on: {reason}"));
            }
        });
        self.tell_stuck(live);
    }

    /// Whether an instance could go on as another version of a function: whether the code of that
    /// agrees with its journal.
    pub(super) fn check_code(&self, live: &Live, new: &Definition) -> Result<(), Error> {
        let refused =
            |problem: String| Error::NotMigrated { instance: live.id, problems: vec![problem] };
        let Some(journal) = live.state.journal.as_ref().filter(|_| new.is_function()) else {
            let problem = "a function goes on as a function, and a process as a process";
            return Err(refused(problem.to_owned()));
        };
        self.session_as(live, new)
            .and_then(|mut session| session.advance(journal).map(drop))
            .map_err(|it| refused(it.message))
    }

    /// Has a function go on as another version.
    pub(super) fn change_code(&mut self, live: &mut Live, new: Arc<Definition>) {
        let record = Record::Migrated { definition: new.key };
        live.definition = new;
        live.forget_session();
        self.learn(live, &[record]);
    }

    /// The function instance that people call so.
    pub(super) fn run_named(&mut self, name: &Name) -> Result<Option<InstanceId>, Error> {
        if let Some(known) = self.instances.function_named(name) {
            return Ok(Some(known));
        }
        self.find_named(name, |shard, row| {
            shard.env.definition(row.definition_key).is_ok_and(|it| it.is_function())
        })
    }

    /// Whether an instance that people call so is what someone wants to start.
    pub(super) fn same_start(
        &mut self,
        known: u64,
        definition: &Definition,
        given: &Assignments,
    ) -> Result<(), Error> {
        let definitions = Arc::clone(&self.env.definitions);
        let live = self.live(InstanceId(known))?;
        let first = definitions.get(live.created.definition).map(|it| &it.id);
        let mut was = [Some(&live.definition.id), first, live.began_as.as_ref()].into_iter();
        let is_so = was.any(|it| it == Some(&definition.id));
        // At its end there is the result besides what it was started with; only the result, where it
        // had begun anew.
        let (mut has, ended) = (arguments(live), live.has_ended());
        has.retain(|(name, _)| !ended || &**name != "result");
        let run = live.state.journal.as_ref().map_or(0, |it| it.run);
        let anew = run > 0 || (ended && has.is_empty());
        let same = |(name, value): &(Name, Value)| {
            (ended && &**name == "result")
                || has.iter().any(|(it, other)| it == name && other == value)
        };
        if is_so && (anew || given.iter().all(same)) {
            return Ok(());
        }
        Err(Error::AlreadyExists {
            id: live.name(),
            instance: live.id,
            definition: Name::clone(&live.definition.id),
        })
    }
}

/// What came of trying to let a function go on that its code has blocked.
#[derive(Debug)]
pub enum Unblocked {
    /// It goes on.
    Yes,
    /// The code that is here cannot go on with it either.
    No {
        /// What it is called.
        id: Name,
        /// Why.
        reason: String,
    },
    /// It is not blocked, or stands still for another reason.
    IsNot,
}

/// The code of a function says no.
fn says_no(instance: InstanceId, failure: Failure, outcome: RequestOutcome) -> Error {
    Error::Function { instance, failure, outcome }
}

/// Tells people something on standard error, where nobody listens to `tracing`.
pub(crate) fn print(line: &str) {
    if !tracing::dispatcher::has_been_set() {
        // Whoever has closed it does not want to know.
        let _: std::io::Result<()> = writeln!(std::io::stderr(), "travertine: {line}");
    }
}

/// What keeps a function from going on where something that it wants to begin is not deployed.
fn not_deployed(definition: &Name, binding: Option<&str>) -> Blocked {
    let kind = missing(definition, binding);
    let message = format!("{kind}; it goes on when that is deployed");
    Blocked::of(kind, message)
}

/// What a function was begun with, by the names of its parameters.
fn arguments(live: &Live) -> Assignments {
    let layer = live.state.layers.get(&ROOT_LAYER);
    let all = layer.into_iter().flat_map(|it| it.variables.iter());
    all.map(|(name, value)| (Name::clone(name), value.clone())).collect()
}

/// A message that a function sends is an event: what its type says of it travels with it.
pub(super) fn as_event(message: &mut Message) {
    let config = EventConfig::from_properties(&message.correlation);
    message.correlation.retain(|(name, _)| !EventConfig::is_property(name));
    configure(message, config);
}

/// Has a message go to whom the type of an event says, and stay as long.
pub(crate) fn configure(message: &mut Message, config: EventConfig) {
    message.consume = config.consume;
    message.delivery = config.delivery;
    message.ttl = config.expire_after;
}
