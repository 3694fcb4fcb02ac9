//! What happened to a process, told by its activities: when each began and ended, how, and who did it.
//!
//! All of it is worked out from the events of the log. An activity is a token at an element, or an operation of
//! a function. Beside activities there are notes: what operators did, faults, how it began and ended.

use std::collections::BTreeMap;

use travertine_kernel::{
    Assignments, Ending, Event, Failing, Failure, JournalEntry, LayerId, NodeId, Plan, Post, Reads,
    Role, Slot, State, TokenId, WaitFor, WaitId,
    plan::{Element, WorkKind},
};
use travertine_runtime::{
    Definition, Definitions, Timestamp,
    engine::{History, Step},
    trace,
};
use travertine_store::record::{Edit, Record};
use travertine_value::{Name, Value, time};

use crate::{history::of_change, json, rows, text};

/// What happened to an instance.
#[derive(Debug, Default)]
pub struct Account {
    /// What was done, in the order in which it began.
    pub activities: Vec<Activity>,
    /// In the order in which they happened.
    pub lines: Vec<Line>,
}

/// One time that a token was at an element, or an operation of a function.
#[derive(Debug)]
pub struct Activity {
    token: Option<TokenId>,
    /// Which round of an activity that is repeated, from 0.
    round: Option<u32>,
    element: Name,
    label: Option<Name>,
    kind: &'static str,
    wait: Option<WaitId>,
    /// What it waits for, in a few words.
    waits_for: Option<String>,
    /// The entry of the log in which it began, and when.
    pub began: Moment,
    ended: Option<(Moment, Outcome)>,
    by: Option<Doer>,
    failures: u64,
    variables: Assignments,
}

/// An entry of the log and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the entry.
    pub entry: u64,
    /// Its time.
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Completed,
    Failed(Option<String>),
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Doer {
    Worker(Name),
    Person(Name),
}

/// Something for people to read, at its place in the order of things.
#[derive(Debug)]
pub struct Line {
    /// When.
    pub moment: Moment,
    /// What.
    pub what: What,
}

/// What a line tells.
#[derive(Debug)]
pub enum What {
    /// The activity with this number began.
    Began(usize),
    /// It ended.
    Ended(usize),
    /// A note.
    Note(String),
    /// A note about something that is wrong.
    Fault(String),
}

/// What happened to an instance, from its log.
pub fn account(history: &History, definitions: &Definitions) -> Account {
    let mut teller = Teller::default();
    for step in &history.steps {
        let definition = definitions.get(step.definition).unwrap_or(&history.definition);
        teller.tell(step, definition);
    }
    teller.account
}

#[derive(Default)]
struct Teller {
    account: Account,
    /// The activities that go on, by their tokens.
    tokens: BTreeMap<TokenId, usize>,
    /// Tokens that begin something only when it is triggered: boundary events, compensations.
    guards: BTreeMap<TokenId, NodeId>,
    waits: BTreeMap<WaitId, usize>,
    /// The tokens that host others, by those.
    hosts: BTreeMap<TokenId, TokenId>,
    /// Whose variables are in a layer.
    layers: BTreeMap<LayerId, TokenId>,
    /// What the code of a function has asked for, by the number of the operation.
    operations: Vec<Option<usize>>,
    /// Whether the process has begun: what is set before was given to it.
    begun: bool,
    given: Assignments,
    /// The activity that the events at hand are about.
    current: Option<usize>,
    /// Variables that nobody in the process has set.
    set: Assignments,
    /// The error that is on its way to who catches it.
    error: Option<String>,
    /// When work that has failed is offered again, where that is later.
    pauses: BTreeMap<WaitId, Timestamp>,
}

impl Teller {
    fn tell(&mut self, step: &Step, definition: &Definition) {
        let moment = Moment { entry: step.seq, at: step.at };
        self.pauses = step.records.iter().filter_map(pause).collect();
        for record in &step.records {
            (self.current, self.error) = (None, None);
            self.record(record, moment, definition);
            if !self.set.is_empty() {
                let set = std::mem::take(&mut self.set);
                self.note(moment, format!("variables set: {}", assigned(&set)));
            }
        }
    }

    fn note(&mut self, moment: Moment, text: impl Into<String>) {
        self.account.lines.push(Line { moment, what: What::Note(text.into()) });
    }

    fn fault(&mut self, moment: Moment, text: impl Into<String>) {
        self.account.lines.push(Line { moment, what: What::Fault(text.into()) });
    }

    fn record(&mut self, record: &Record, moment: Moment, definition: &Definition) {
        match record {
            Record::Happened(events) => {
                for event in events {
                    self.event(event, moment, &definition.plan);
                }
            }
            Record::Created(created) => {
                let called = created.caller.map(|it| it.to_string());
                if let Some(caller) = called {
                    self.note(moment, format!("called by {caller}"));
                }
            }
            Record::Suspended => self.note(moment, "suspended"),
            Record::Resumed => self.note(moment, "resumed"),
            Record::Halted(reason) => self.fault(moment, format!("halted: {reason}")),
            Record::Released => self.note(moment, "released, to be tried again"),
            Record::Leased { wait, worker, .. } => {
                if let Some(activity) = self.at_wait(*wait) {
                    activity.by = Some(Doer::Worker(Name::clone(worker)));
                }
            }
            Record::TaskChanged { wait, change } => {
                let title = self.at_wait(*wait).map(|activity| {
                    match &change.assignee {
                        Edit::Set(who) => activity.by = Some(Doer::Person(Name::clone(who))),
                        Edit::Remove => activity.by = None,
                        Edit::Keep => {}
                    }
                    activity.title()
                });
                let title = title.unwrap_or_else(|| format!("task {}", wait.0));
                self.note(moment, format!("{title} changed: {}", of_change(change)));
            }
            Record::TimerMoved { wait, due } => {
                let title = self.at_wait(*wait).map(|it| it.title());
                let title = title.unwrap_or_else(|| format!("timer {}", wait.0));
                self.note(moment, format!("{title} moved to {due}"));
            }
            Record::Migrated { .. } => {
                let (id, version) = (&definition.id, definition.version);
                self.note(moment, format!("migrated to {id} version {version}"));
            }
            Record::Folded(folded) => {
                self.note(
                    Moment { at: folded.started, ..moment },
                    "started; what happened then is not kept any more",
                );
                self.ended(&folded.ending, moment, &definition.plan);
            }
            Record::Ended(_) => self.note(moment, "cancelled while it was halted"),
            // The rest is about the engine, not about the process.
            _ => {}
        }
    }

    fn event(&mut self, event: &Event, moment: Moment, plan: &Plan) {
        self.follow(event);
        match event {
            Event::TokenCreated { token, node, role, scope, layer, .. } => {
                self.hosts.extend(scope.map(|it| (*token, it)));
                if matches!(layer, Reads::Own(_)) {
                    // A layer of its own has the number of its token.
                    self.layers.insert(LayerId(token.0), *token);
                }
                match role {
                    Role::Guard(_) | Role::Start | Role::Compensation => {
                        self.guards.insert(*token, *node);
                    }
                    Role::Run(round) => self.begin(*token, *node, Some(*round), moment, plan),
                    Role::Flow | Role::Branch(_) => self.begin(*token, *node, None, moment, plan),
                }
            }
            Event::LayerOpened { token, layer } => {
                self.layers.insert(*layer, *token);
            }
            Event::TokenPromoted { token } | Event::TokenRecalled { token, .. } => {
                if let Some(node) = self.guards.remove(token) {
                    self.begin(*token, node, None, moment, plan);
                }
            }
            Event::TokenMoved { token, to, .. } => {
                self.guards.remove(token);
                self.end(*token, Outcome::Completed, moment);
                self.begin(*token, *to, None, moment, plan);
            }
            Event::TokenRetired { token } => self.end(*token, Outcome::Completed, moment),
            Event::TokenGone { token, state } => {
                self.guards.remove(token);
                let outcome = match state {
                    State::Withdrawn => Outcome::Cancelled,
                    State::Failed | State::Failing => Outcome::Failed(None),
                    State::Created
                    | State::Arrived
                    | State::Ready
                    | State::Entered
                    | State::Busy
                    | State::Completed
                    | State::Exiting
                    | State::Departed
                    | State::Waiting
                    | State::Done => Outcome::Completed,
                };
                self.end(*token, outcome, moment);
                let host = self.hosts.remove(token);
                self.current = host.and_then(|it| self.tokens.get(&it).copied());
            }
            Event::ScopeOpened { .. } if !self.begun => {
                self.begun = true;
                let given = std::mem::take(&mut self.given);
                let with = if given.is_empty() {
                    String::new()
                } else {
                    format!(", {}", assigned(&given))
                };
                self.note(moment, format!("started{with}"));
            }
            Event::ScopeFailing { cause, .. } => {
                if let Failing::Error(failure, _) = &**cause {
                    self.failing(failure, moment);
                }
            }
            Event::VariableSet { layer, name, value } => {
                let owner = self.layers.get(layer).and_then(|it| self.tokens.get(it).copied());
                let to = match owner.or(self.current) {
                    _ if !self.begun => &mut self.given,
                    Some(activity) => &mut self.account.activities[activity].variables,
                    None => &mut self.set,
                };
                to.retain(|(known, _)| known != name);
                to.push((Name::clone(name), value.clone()));
            }
            Event::WaitOpened { wait, token, slot, on } => self.wait(*wait, *token, *slot, on),
            Event::WaitClosed { wait } => {
                self.waits.remove(wait);
            }
            Event::WorkFailed { wait, retries, message } => {
                let title = self.at_wait(*wait).map(|it| {
                    it.failures += 1;
                    it.title()
                });
                let title = title.unwrap_or_else(|| format!("work {}", wait.0));
                let left = retries_left(*retries);
                let again = self.pauses.get(wait).map(|it| format!(", tried again at {it}"));
                let again = again.unwrap_or_default();
                self.fault(moment, format!("{title} failed, {left}{again}: {message}"));
            }
            Event::RetriesSet { wait, retries } => {
                if let Some(title) = self.at_wait(*wait).map(|it| it.title()) {
                    self.note(moment, format!("{title} has {}", retries_left(*retries)));
                }
            }
            Event::Posted { what, .. } => {
                if let Some(sent) = of_post(what) {
                    self.note(moment, sent);
                }
            }
            Event::IncidentRaised { token, incident } => {
                let title = self.titled(*token);
                self.fault(
                    moment,
                    format!("{title} has an incident: {}", incident.failure.uncaught()),
                );
            }
            Event::IncidentResolved { token } => {
                let title = self.titled(*token);
                self.note(moment, format!("{title}: incident resolved"));
            }
            Event::DecisionMade { token, decision, version } => {
                let title = self.titled(*token);
                self.note(moment, format!("{title} made decision {decision} version {version}"));
            }
            Event::FunctionBegan { .. } => self.operations.clear(),
            Event::Journaled { entry } => self.journaled(entry, moment),
            Event::UpdateRefused { message } => {
                self.fault(moment, format!("update refused: {message}"));
            }
            Event::Finished { ending } => self.ended(ending, moment, plan),
            // The rest shows in the engine's events.
            _ => {}
        }
    }

    /// Notices which activity the events at hand are about.
    fn follow(&mut self, event: &Event) {
        let of_wait = |wait: &WaitId| self.waits.get(wait).copied();
        match event {
            Event::WaitClosed { wait } | Event::WorkFailed { wait, .. } => {
                self.current = of_wait(wait);
            }
            _ => {
                if let Some(token) = event.token() {
                    self.current = self.tokens.get(&token).copied();
                }
            }
        }
    }

    fn begin(
        &mut self,
        token: TokenId,
        node: NodeId,
        round: Option<u32>,
        moment: Moment,
        plan: &Plan,
    ) {
        let it = plan.node(node);
        // The process is the instance, and the code of a function is told by its operations.
        if it.parent.is_none() || matches!(it.element, Element::Function) {
            return;
        }
        let activity = Activity {
            token: Some(token),
            round,
            element: Name::clone(&it.name),
            label: it.label.clone(),
            kind: kind(&it.element),
            wait: None,
            waits_for: None,
            began: moment,
            ended: None,
            by: None,
            failures: 0,
            variables: Vec::new(),
        };
        let number = self.push(activity);
        self.tokens.insert(token, number);
        self.current = Some(number);
    }

    fn push(&mut self, activity: Activity) -> usize {
        let number = self.account.activities.len();
        self.account.lines.push(Line { moment: activity.began, what: What::Began(number) });
        self.account.activities.push(activity);
        number
    }

    fn end(&mut self, token: TokenId, outcome: Outcome, moment: Moment) {
        if let Some(number) = self.tokens.remove(&token) {
            self.end_activity(number, outcome, moment);
        }
    }

    /// An error ends what it comes through: what has just failed, and what fails until it is caught.
    fn failing(&mut self, failure: &Failure, moment: Moment) {
        let text = of_error(failure);
        let mut is_told = false;
        for activity in self.account.activities.iter_mut().rev() {
            if let Some((ended, Outcome::Failed(why @ None))) = &mut activity.ended
                && *ended == moment
            {
                *why = Some(text.clone());
                is_told = true;
            }
        }
        if !is_told {
            self.fault(moment, text.clone());
        }
        self.error = Some(text);
    }

    fn end_activity(&mut self, number: usize, outcome: Outcome, moment: Moment) {
        let outcome = match outcome {
            Outcome::Failed(None) => Outcome::Failed(self.error.clone()),
            other => other,
        };
        let activity = &mut self.account.activities[number];
        if activity.ended.is_none() {
            activity.ended = Some((moment, outcome));
            self.account.lines.push(Line { moment, what: What::Ended(number) });
        }
    }

    fn wait(&mut self, wait: WaitId, token: TokenId, slot: Slot, on: &WaitFor) {
        let number = match slot {
            Slot::Operation(operation) => {
                self.operations.get(operation as usize).copied().flatten()
            }
            Slot::Own(_) | Slot::Gate(_) | Slot::Listener(..) => self.tokens.get(&token).copied(),
        };
        let Some(number) = number else { return };
        self.waits.insert(wait, number);
        let activity = &mut self.account.activities[number];
        if matches!(slot, Slot::Listener(..)) {
            return;
        }
        activity.wait = Some(wait);
        activity.waits_for = Some(waits_for(on));
        if let WaitFor::Work(job) = on
            && job.kind == WorkKind::User
        {
            let assignee = job.fields.iter().find(|(name, _)| &**name == "assignee");
            let assignee = assignee.and_then(|(_, it)| it.as_str()).filter(|it| !it.is_empty());
            activity.by = assignee.map(|it| Doer::Person(it.into()));
        }
    }

    fn at_wait(&mut self, wait: WaitId) -> Option<&mut Activity> {
        let number = *self.waits.get(&wait)?;
        self.account.activities.get_mut(number)
    }

    fn titled(&self, token: TokenId) -> String {
        let found = self.tokens.get(&token).map(|it| self.account.activities[*it].title());
        found.unwrap_or_else(|| "it".to_owned())
    }

    fn journaled(&mut self, entry: &JournalEntry, moment: Moment) {
        match entry {
            JournalEntry::Began { .. } => {}
            JournalEntry::Asked { key, input: _ } => {
                let number = self.push(Activity {
                    token: None,
                    round: None,
                    element: Name::clone(key),
                    label: None,
                    kind: "operation",
                    wait: None,
                    waits_for: None,
                    began: moment,
                    ended: None,
                    by: None,
                    failures: 0,
                    variables: Vec::new(),
                });
                self.operations.push(Some(number));
            }
            JournalEntry::Recorded { key, value } => {
                self.operations.push(None);
                let value = match value {
                    Value::Null => String::new(),
                    value => format!(" = {}", text::short(value)),
                };
                self.note(moment, format!("{key}{value}"));
            }
            JournalEntry::Sent { key, input: _ } => {
                self.operations.push(None);
                self.note(moment, key.to_string());
            }
            JournalEntry::Done { operation, outcome, .. } => {
                let Some(number) = self.operation(*operation) else { return };
                let how = match outcome {
                    Ok(result) => {
                        self.account.activities[number].variables.clone_from(result);
                        Outcome::Completed
                    }
                    Err(failure) => Outcome::Failed(Some(of_failure(failure))),
                };
                self.end_activity(number, how, moment);
            }
            JournalEntry::Dropped { operation } => {
                if let Some(number) = self.operation(*operation) {
                    self.end_activity(number, Outcome::Cancelled, moment);
                }
            }
            JournalEntry::Cancelled { .. } => self.note(moment, "cancellation requested"),
            JournalEntry::Updated { name, input, .. } => {
                self.note(moment, format!("update {name} {}", text::short(input)));
            }
        }
    }

    fn operation(&self, number: u32) -> Option<usize> {
        self.operations.get(number as usize).copied().flatten()
    }

    fn ended(&mut self, ending: &Ending, moment: Moment, plan: &Plan) {
        match ending {
            Ending::Completed => self.note(moment, "completed"),
            Ending::Cancelled => self.note(moment, "cancelled"),
            Ending::Failed(failure) => {
                self.fault(moment, format!("failed: {}", trace::of_failure(plan, failure)));
            }
        }
    }
}

/// Work that is offered again later, and when.
fn pause(record: &Record) -> Option<(WaitId, Timestamp)> {
    match record {
        // A pause that is over is no point in time.
        Record::Paused { wait, until } if *until > Timestamp::default() => Some((*wait, *until)),
        _ => None,
    }
}

fn retries_left(retries: u32) -> String {
    if retries == 1 { "1 retry left".to_owned() } else { format!("{retries} retries left") }
}

fn assigned(variables: &[(Name, Value)]) -> String {
    let all = variables.iter().map(|(name, value)| format!("{name} = {}", text::short(value)));
    all.collect::<Vec<_>>().join(", ")
}

fn of_error(failure: &Failure) -> String {
    match &failure.code {
        Some(code) if failure.message.is_empty() => format!("error {code}"),
        Some(code) => format!("error {code}: {}", failure.message),
        None => format!("error: {}", failure.message),
    }
}

/// What went wrong, with the code that the model has for it.
fn of_failure(failure: &Failure) -> String {
    if failure.code.is_some() { of_error(failure) } else { failure.to_string() }
}

fn of_post(post: &Post) -> Option<String> {
    match post {
        Post::Message { name, .. } => Some(format!("message {name} sent")),
        Post::Signal { name, .. } => Some(format!("signal {name} sent")),
        Post::Escalation { code, .. } => {
            Some(format!("escalation {}", code.as_deref().unwrap_or("without a code")))
        }
        Post::Start { .. } => None,
    }
}

fn waits_for(on: &WaitFor) -> String {
    match on {
        WaitFor::Work(job) => match job.kind {
            WorkKind::User => "for a person".to_owned(),
            WorkKind::Job => format!("for a worker of type {}", job.job_type),
        },
        WaitFor::Timer { due, .. } => format!("until {due}"),
        WaitFor::Message { name, .. } => format!("for message {name}"),
        WaitFor::Signal { name } => format!("for signal {name}"),
        WaitFor::Condition => "for its condition".to_owned(),
        WaitFor::Delivery(_) => "for its message to be taken".to_owned(),
        WaitFor::Child { definition, .. } => format!("for {definition}"),
        WaitFor::Gate(_) | WaitFor::Choice => "for a decision".to_owned(),
        WaitFor::Data { missing } => format!("for data: {}", missing.join(", ")),
    }
}

/// What people call the kind of an element.
fn kind(element: &Element) -> &'static str {
    match element {
        Element::Process(_) => "process",
        Element::SubProcess(_) => "sub_process",
        Element::Transaction(_) => "transaction",
        Element::EventSubProcess(_) => "event_sub_process",
        Element::AdHoc(_) => "ad_hoc_sub_process",
        Element::Start(_) => "start_event",
        Element::Pass | Element::Throw(_) => "event",
        Element::Task => "task",
        Element::Script { .. } => "script_task",
        Element::BusinessRule(_) => "business_rule_task",
        Element::Work(work) => match work.kind {
            WorkKind::User => "user_task",
            WorkKind::Job => "service_task",
        },
        Element::Send(_) => "send_task",
        Element::Receive(_) => "receive_task",
        Element::Decision => "decision",
        Element::Function => "function",
        Element::Catch(_) => "catch_event",
        Element::Boundary(_) => "boundary_event",
        Element::Exclusive
        | Element::Parallel
        | Element::Inclusive
        | Element::Complex { .. }
        | Element::EventBased
        | Element::FanOut
        | Element::FanIn(_) => "gateway",
        Element::Call(_) | Element::Gosub { .. } => "call_activity",
    }
}

impl Activity {
    /// What people call it.
    fn title(&self) -> String {
        let round = self.round.map(|it| format!(" #{it}")).unwrap_or_default();
        match &self.label {
            Some(label) => format!("\"{label}\"{round}"),
            None => format!("{}{round}", self.element),
        }
    }

    /// Whether nobody needs to read of it: gateways only show the way.
    fn is_plain(&self) -> bool {
        self.kind == "gateway"
    }

    /// Whether it began and ended at once.
    fn is_instant(&self) -> bool {
        self.ended.as_ref().is_some_and(|(ended, _)| ended.entry == self.began.entry)
    }

    /// That it began, where that is not said with its end.
    pub fn began(&self) -> Option<String> {
        if self.is_plain() || self.is_instant() {
            return None;
        }
        let waits = self.waits_for.as_ref().map(|it| format!(", waits {it}")).unwrap_or_default();
        Some(format!("{} started{waits}", self.title()))
    }

    /// How it ended, who did it, how long it took and what it brought; and whether it went well.
    pub fn ended(&self) -> Option<(String, bool)> {
        let (ended, outcome) = self.ended.as_ref()?;
        if self.is_plain() {
            return None;
        }
        let (word, why) = match (outcome, self.kind) {
            (Outcome::Completed, "start_event" | "catch_event" | "boundary_event") => {
                ("occurred", "")
            }
            (Outcome::Completed, "event") => ("reached", ""),
            (Outcome::Completed, _) => ("completed", ""),
            (Outcome::Failed(why), _) => ("failed", why.as_deref().unwrap_or_default()),
            (Outcome::Cancelled, _) => ("cancelled", ""),
        };
        let by = match (&self.by, outcome) {
            (_, Outcome::Cancelled) | (None, _) => String::new(),
            (Some(Doer::Worker(worker)), _) => format!(" by worker {worker}"),
            (Some(Doer::Person(who)), _) => format!(" by {who}"),
        };
        let after = if self.is_instant() {
            String::new()
        } else {
            format!(" after {}", text::between(self.began.at, ended.at))
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        let brought = if self.variables.is_empty() {
            String::new()
        } else {
            format!(", {}", assigned(&self.variables))
        };
        let text = format!("{} {word}{by}{after}{why}{brought}", self.title());
        Some((text, !matches!(outcome, Outcome::Failed(_))))
    }

    /// It as data.
    pub fn data(&self, instance: u64) -> Value {
        let ended = self.ended.as_ref();
        let duration = ended.map(|(ended, _)| time::millis(ended.at.since(self.began.at)));
        let (outcome, failure) = match ended {
            None => ("active", None),
            Some((_, Outcome::Completed)) => ("completed", None),
            Some((_, Outcome::Failed(why))) => ("failed", why.clone()),
            Some((_, Outcome::Cancelled)) => ("cancelled", None),
        };
        let (worker, person) = match &self.by {
            None => (None, None),
            Some(Doer::Worker(worker)) => (Some(Name::clone(worker)), None),
            Some(Doer::Person(who)) => (None, Some(Name::clone(who))),
        };
        json::object([
            ("element", Name::clone(&self.element).into()),
            ("label", self.label.clone().into()),
            ("kind", self.kind.into()),
            ("round", self.round.into()),
            ("token", self.token.map(|it| json::key(it.0)).into()),
            ("wait", self.wait.map(|it| rows::address(instance, it.0)).into()),
            ("started", self.began.at.to_string().into()),
            ("ended", ended.map(|(ended, _)| ended.at.to_string()).into()),
            ("duration_ms", duration.into()),
            ("outcome", outcome.into()),
            ("failure", failure.into()),
            ("worker", worker.into()),
            ("assignee", person.into()),
            ("failures", self.failures.into()),
            ("variables", self.variables.iter().cloned().collect()),
        ])
    }
}
