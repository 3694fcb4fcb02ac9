//! A command becomes events, or is refused.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::time::Timestamp;
use travertine_value::{Limits, Name, Value};

use crate::{
    budget::{self, Budgets},
    journal::function_token,
    plan::{Element, NodeId, Plan, Trigger},
    rules::{NoRules, Rules},
    run::{EVENTS, KEPT_DEPTH_MAX, Run, Turn},
    state::{Cue, Instance, Phase, ROOT, ROOT_LAYER, Role, ScopeKind, State, Status, Wait},
    status::TIMESTAMP,
    vocabulary::{
        Assignments, Catches, Command, Destination, Ending, Event, Failure, FailureKind, Gate,
        Part, Reach, Reads, Rejection, Slot, TokenId, WaitFor, WaitId,
    },
};

/// Whether values are small enough to be handed to an instance.
pub fn check_variables<'a>(
    variables: impl IntoIterator<Item = &'a (Name, Value), IntoIter: Clone>,
    limits: &Limits,
) -> Result<(), Rejection> {
    check_all(variables, limits, &Budgets::DEFAULT)
}

fn check_all<'a>(
    variables: impl IntoIterator<Item = &'a (Name, Value), IntoIter: Clone>,
    limits: &Limits,
    budgets: &Budgets,
) -> Result<(), Rejection> {
    let variables = variables.into_iter();
    budget::check(variables.clone(), budgets).map_err(Rejection::OverBudget)?;
    for (name, value) in variables {
        // All that comes with an event may become one value.
        let fits = value.fits(KEPT_DEPTH_MAX - 1, limits.value_bytes_max);
        fits.map_err(|why| Rejection::TooMuch { name: Arc::clone(name), why })?;
    }
    Ok(())
}

/// Answers `command`: applies what follows from it to `instance` and returns it as events.
///
/// A refused command leaves `instance` as it was.
pub fn handle(
    plan: &Plan,
    instance: &mut Instance,
    now: Timestamp,
    command: Command,
) -> Result<Turn, Rejection> {
    let room = Vec::with_capacity(EVENTS);
    handle_in(plan, instance, now, command, room, &Budgets::DEFAULT)
}

/// Answers `command` within budgets. The events go into `room`, which the caller may have used before.
pub fn handle_in(
    plan: &Plan,
    instance: &mut Instance,
    now: Timestamp,
    command: Command,
    room: Vec<Event>,
    budgets: &Budgets,
) -> Result<Turn, Rejection> {
    handle_with(plan, &NoRules, instance, now, command, room, budgets)
}

/// Answers `command` as [`handle_in`] does, where business rule tasks can make the decisions of `rules`.
pub fn handle_with(
    plan: &Plan,
    rules: &dyn Rules,
    instance: &mut Instance,
    now: Timestamp,
    command: Command,
    room: Vec<Event>,
    budgets: &Budgets,
) -> Result<Turn, Rejection> {
    check_all(command.variables(), &plan.limits, &budgets.of(plan))?;
    match command {
        Command::Start { at, variables, caller } => {
            if instance.phase != Phase::New {
                return Err(Rejection::AlreadyStarted);
            }
            if at.is_empty() && plan.root().starts.is_empty() {
                return Err(Rejection::NoSuchStart);
            }
            for it in &at {
                plan.check_way(*it, NodeId(0))?;
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.start(at, variables, caller);
            Ok(run.finish())
        }
        // What was sent may arrive after the end.
        Command::Delivered { post } => {
            if !instance.posts.contains_key(&post) {
                return Err(Rejection::NoSuchPost(post));
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.emit(Event::PostDelivered { post });
            Ok(run.stop())
        }
        _ if instance.phase == Phase::New => Err(Rejection::NotRunning),
        _ if !instance.is_running() => Err(Rejection::Ended),
        Command::Complete { wait, variables } => {
            let it = open_wait(instance, wait)?;
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            if it.slot == Slot::Gate(Gate::Entry)
                && let Some(with) = run.performer_busy_for(it.token)
            {
                return Err(Rejection::PerformerBusy { wait, with });
            }
            if let Some(missing) = run.missing(&it, &variables) {
                return Err(Rejection::Incomplete { wait, missing });
            }
            run.complete(wait, &it, variables);
            Ok(run.finish())
        }
        Command::Raise { wait, code, message, variables } => {
            let it = open_wait(instance, wait)?;
            if !matches!(*it.on, WaitFor::Work(_) | WaitFor::Child { .. }) {
                return Err(Rejection::WrongWait { wait, asked: "raise an error" });
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            let failure = Failure { code, ..Failure::new(FailureKind::Error, message) };
            if let Slot::Operation(operation) = it.slot {
                run.emit(Event::WaitClosed { wait });
                run.operation_done(operation, Err(failure));
                return Ok(run.finish());
            }
            if matches!(*it.on, WaitFor::Child { .. }) {
                run.hear_from_child(it.token, variables);
                run.fail_with(it.token, failure, Vec::new(), Cue::Offer);
            } else {
                run.fail_with(it.token, failure, variables, Cue::Offer);
            }
            Ok(run.finish())
        }
        Command::Escalate { wait, code, variables } => {
            let it = open_wait(instance, wait)?;
            // Functions know no escalations; what one has called goes on after it has raised one.
            if !matches!(*it.on, WaitFor::Work(_) | WaitFor::Child { .. })
                || matches!(it.slot, Slot::Operation(_))
            {
                return Err(Rejection::WrongWait { wait, asked: "raise an escalation" });
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            if matches!(*it.on, WaitFor::Child { .. }) {
                run.hear_from_child(it.token, variables);
                run.escalate(it.token, code, Vec::new());
            } else {
                run.escalate(it.token, code, variables);
            }
            Ok(run.finish())
        }
        Command::Fail { wait, retries, message, variables } => {
            let it = open_wait(instance, wait)?;
            let is_work = matches!(*it.on, WaitFor::Work(_));
            if !is_work && !matches!(*it.on, WaitFor::Child { .. }) {
                return Err(Rejection::WrongWait { wait, asked: "fail" });
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            if let Slot::Operation(operation) = it.slot
                && (retries == 0 || !is_work)
            {
                run.emit(Event::WaitClosed { wait });
                run.operation_done(operation, Err(Failure::new(FailureKind::Work, message)));
                return Ok(run.finish());
            }
            run.set_own(it.token, variables);
            if is_work && retries > 0 && !message.is_empty() {
                run.emit(Event::WorkFailed { wait, retries, message: shortened(&message) });
            } else if is_work {
                run.emit(Event::RetriesSet { wait, retries });
            }
            if retries == 0 || !is_work {
                run.incident(it.token, Failure::new(FailureKind::Work, message), Cue::Offer);
            }
            Ok(run.finish())
        }
        // The code has read its variables, and would read others when it is run again.
        Command::Set { .. } | Command::Modify { .. } if instance.journal.is_some() => {
            Err(Rejection::NotAProcess)
        }
        Command::Set { token, variables, reach } => {
            let token = token.unwrap_or(ROOT);
            let Some(it) = instance.tokens.get(&token) else {
                return Err(Rejection::NoSuchToken(token));
            };
            let layer = it.layer;
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            match reach {
                Reach::Local => run.set_own(token, variables),
                Reach::Layer | Reach::Propagate => {
                    for (name, value) in variables {
                        let layer = match reach {
                            Reach::Propagate => run.holder(layer, &name),
                            Reach::Layer | Reach::Local => layer,
                        };
                        run.set(layer, name, Some(value));
                    }
                }
            }
            Ok(run.finish())
        }
        Command::NotGiven { wait, failure } => {
            let it = open_wait(instance, wait)?;
            if !matches!(*it.on, WaitFor::Work(_)) || matches!(it.slot, Slot::Operation(_)) {
                return Err(Rejection::WrongWait { wait, asked: "be kept from workers" });
            }
            if instance.incidents.contains_key(&it.token) {
                return Err(Rejection::HasIncident(it.token));
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.incident(it.token, *failure, Cue::Offer);
            Ok(run.finish())
        }
        Command::Retry { token } => {
            if !instance.incidents.contains_key(&token) {
                return Err(Rejection::NoIncident(token));
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.emit(Event::IncidentResolved { token });
            Ok(run.finish())
        }
        Command::SetRetries { wait, retries } => {
            let it = instance.waits.get(&wait).ok_or(Rejection::NoSuchWait(wait))?;
            if !matches!(*it.on, WaitFor::Work(_)) {
                return Err(Rejection::WrongWait { wait, asked: "be given retries" });
            }
            if retries == 0 {
                return Err(Rejection::NoRetries(wait));
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.emit(Event::RetriesSet { wait, retries });
            Ok(run.finish())
        }
        Command::Modify { steps } => {
            // Tried on a copy: a later step may be refused because of an earlier one.
            let mut copy = instance.clone();
            let mut run = Run::within(plan, rules, &mut copy, now, room, budgets);
            run.modify(steps)?;
            let turn = run.finish();
            *instance = copy;
            Ok(turn)
        }
        Command::Continue => Ok(Run::within(plan, rules, instance, now, room, budgets).finish()),
        Command::Cancel if hears_of_its_end(instance) => {
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.cancel_function();
            Ok(run.finish())
        }
        Command::Decide { decisions, answers } => {
            let token = function_token(instance)?;
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.decide(token, decisions, answers);
            Ok(run.finish())
        }
        Command::NotCalled { wait, failure } => {
            let it = open_wait(instance, wait)?;
            if !matches!(*it.on, WaitFor::Child { .. }) {
                return Err(Rejection::WrongWait { wait, asked: "fail to be called" });
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            if let Slot::Operation(operation) = it.slot {
                run.emit(Event::WaitClosed { wait });
                run.operation_done(operation, Err(*failure));
            } else {
                let failure = run.at(it.token, Part::Call)(*failure);
                run.incident(it.token, failure, Cue::Offer);
            }
            Ok(run.finish())
        }
        Command::Block { failure } => {
            let token = function_token(instance)?;
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.block_function(token, *failure);
            Ok(run.finish())
        }
        Command::Update { name, input, id } => {
            function_token(instance)?;
            let excess = input.fits(KEPT_DEPTH_MAX - 1, plan.limits.value_bytes_max);
            excess.map_err(|why| Rejection::TooMuch { name: Arc::clone(&name), why })?;
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.update_function(name, input, id);
            Ok(run.finish())
        }
        Command::RefuseUpdate { message } => {
            let journal = instance.journal.as_ref().ok_or(Rejection::NotAFunction)?;
            if !journal.ends_with_update() {
                return Err(Rejection::NoUpdate);
            }
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.emit(Event::UpdateRefused { message });
            Ok(run.finish())
        }
        Command::Cancel => {
            let mut run = Run::within(plan, rules, instance, now, room, budgets);
            run.end_process(Ending::Cancelled, State::Withdrawn);
            Ok(run.finish())
        }
    }
}

fn open_wait(instance: &Instance, wait: WaitId) -> Result<Wait, Rejection> {
    let it = instance.waits.get(&wait).cloned().ok_or(Rejection::NoSuchWait(wait))?;
    // Work that has failed for good can still be done after all.
    let settles = matches!(*it.on, WaitFor::Work(_)) && !matches!(it.slot, Slot::Operation(_));
    if instance.incidents.contains_key(&it.token) && !settles {
        return Err(Rejection::HasIncident(it.token));
    }
    Ok(it)
}

/// Whether it is a function whose code can clear up before it ends.
fn hears_of_its_end(instance: &Instance) -> bool {
    let journal = instance.journal.as_ref();
    journal.is_some_and(|it| !it.is_cancelled() && !instance.incidents.contains_key(&it.token))
}

impl Run<'_> {
    fn start(&mut self, at: Vec<NodeId>, variables: Assignments, caller: Option<Catches>) {
        self.emit(Event::Started { at: self.now, start: at, caller });
        self.emit(Event::TokenCreated {
            token: ROOT,
            node: NodeId(0),
            scope: None,
            via: None,
            role: Role::Flow,
            layer: Reads::Own(None),
            status: None,
        });
        let variables = match self.instance.start[..] {
            [at] if matches!(self.plan.node(at).element, Element::Start(_)) => {
                self.hear_at_start(at, &variables);
                self.content(self.plan.node(at), 0, variables)
            }
            _ => variables,
        };
        for (name, value) in variables {
            self.set(ROOT_LAYER, name, Some(value));
        }
        if let Err(failure) = self.enter_process() {
            self.fail(ROOT, failure, Cue::Enter);
        }
    }

    /// A message that starts an instance may start a conversation too.
    fn hear_at_start(&mut self, at: NodeId, payload: &Assignments) {
        for trigger in self.plan.node(at).element.triggers() {
            if let Trigger::Message(message) = trigger
                && let Ok(name) = self.eval_name(ROOT, &message.name)
            {
                self.hear(&name, payload);
            }
        }
    }

    /// The process begins, now that its listeners have been called.
    pub(crate) fn open_process(&mut self) -> Result<(), Failure> {
        let container = self.plan.root();
        let awaited = self.awaited_by(ROOT, &container.events)?;
        let census = container.inclusive_joins;
        let kind = Box::new(ScopeKind::Process);
        self.emit(Event::ScopeOpened { scope: ROOT, node: NodeId(0), kind, census });
        self.emit(Event::TokenState { token: ROOT, state: State::Busy });
        let named = self.instance.start.clone();
        if named.is_empty() {
            for start in &container.starts {
                self.begin_at(ROOT, *start);
            }
        }
        for start in &named {
            self.put(ROOT, Destination::before(*start));
            if let Element::Start(it) = &self.plan.node(*start).element {
                for other in it.with.iter().filter(|it| !named.contains(it)) {
                    self.begin_at(ROOT, *other);
                }
            }
        }
        self.arm_event_sub_processes(ROOT, awaited);
        Ok(())
    }

    /// The status attributes that the instance begins with.
    pub(crate) fn first_status(&self) -> Result<Status, Failure> {
        if self.plan.status.is_empty() {
            return Ok(None);
        }
        let mut status: BTreeMap<Name, Value> = BTreeMap::new();
        for (name, program) in &self.plan.status {
            let value = match program {
                Some(program) => self.eval(ROOT, program).map_err(self.at(ROOT, Part::Status))?,
                None if &**name == TIMESTAMP => self.now.as_millis().into(),
                None => Value::Null,
            };
            status.insert(Arc::clone(name), value);
        }
        Ok(Some(Arc::new(status)))
    }

    fn performer_busy_for(&self, token: TokenId) -> Option<TokenId> {
        let scope = self.performer_of(token)?;
        self.instance.scope(scope).performer.busy.filter(|it| *it != token)
    }

    /// What the work must bring and does not.
    fn missing(&self, wait: &Wait, variables: &Assignments) -> Option<Vec<Name>> {
        let extras = self.node_of(wait.token).extras.as_ref()?;
        if !matches!((wait.slot, &*wait.on), (Slot::Own(_), WaitFor::Work(_))) {
            return None;
        }
        let is_missing = |name: &&Name| !variables.iter().any(|(it, _)| it == *name);
        let missing: Vec<Name> =
            extras.results.expected.iter().filter(is_missing).cloned().collect();
        (!missing.is_empty()).then_some(missing)
    }

    pub(crate) fn complete(&mut self, id: WaitId, wait: &Wait, variables: Assignments) {
        let token = wait.token;
        if self.instance.incidents.contains_key(&token) {
            self.emit(Event::IncidentResolved { token });
            self.emit(Event::TokenUncued { token });
        }
        self.emit(Event::WaitClosed { wait: id });
        if let WaitFor::Message { name, .. } = &*wait.on {
            self.hear(name, &variables);
        }
        let (outcome, redo) = match wait.slot {
            Slot::Gate(gate) => {
                self.take_results(token, variables);
                (self.pass_gate(token, gate), Self::cue_of(gate))
            }
            Slot::Listener(moment, position) => (
                self.answered(token, moment, position, variables),
                Self::cue_after(moment, position),
            ),
            Slot::Operation(operation) => {
                self.operation_done(operation, Ok(variables));
                return;
            }
            Slot::Own(position) => (self.met(wait, position, variables), Cue::Complete),
        };
        if let Err(failure) = outcome {
            self.fail(token, failure, redo);
        }
    }

    /// Work that failed too often is offered once more, and what was called is called again.
    pub(crate) fn offer_again(&mut self, token: TokenId) {
        let waits: Vec<WaitId> = self.instance.token(token).waits.keys().copied().collect();
        for wait in waits {
            let Wait { slot, on, .. } = self.instance.waits[&wait].clone();
            if let WaitFor::Work(job) = &*on
                && job.retries == 0
            {
                self.emit(Event::RetriesSet { wait, retries: 1 });
            } else if let WaitFor::Child { .. } = *on {
                // What was called has ended: another one is started.
                self.emit(Event::WaitClosed { wait });
                self.open(token, slot, (*on).clone());
            }
        }
    }
}

/// How much is kept of what went wrong, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 2_000;

/// As much of a message as people read. It is kept with each attempt and incident.
pub(crate) fn shortened(message: &str) -> Name {
    match message.len() {
        ..=MESSAGE_BYTES_MAX => message.into(),
        _ => format!("{}…", &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)]).into(),
    }
}
