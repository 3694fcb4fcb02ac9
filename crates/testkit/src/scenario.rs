//! One instance of one small model, step by step, for tests.
//!
//! A model is written as the inside of a `<process>`; `<path>a b c</path>` stands for the sequence
//! flows from `a` to `b` and from `b` to `c`. After every step the laws of the log are checked: the
//! events tell the whole state, and what is owed is what was asked for.
//!
//! ```
//! use travertine_testkit::Scenario;
//!
//! let mut it = Scenario::process(
//!     r#"<startEvent id="start"/> <userTask id="greet"/> <endEvent id="end"/>
//!        <path>start greet end</path>"#,
//! );
//! it.start("{}");
//! assert_eq!(it.waiting(), ["greet"]);
//! it.complete("greet", r#"{"name": "Ada"}"#);
//! assert!(it.is_completed());
//! assert_eq!(it.variables(), r#"{"name":"Ada"}"#);
//! ```

use std::{fmt::Write as _, sync::Arc, time::Duration};

use travertine_bpmn::{Options, Report, Severity, read};
use travertine_kernel::{
    Assignments, Command, Destination, Effect, Ending, Event, Failure, Instance, Mapping,
    Modification, Plan, Problem, Reach, Rejection, Role, State, TokenId, Turn, View, WaitFor,
    WaitId, apply, check_at_rest, dry_run, effects, handle, migrate, outstanding, tree, why,
};
use travertine_runtime::trace;
use travertine_value::{Map, Value, Variables as _, time::Timestamp};

/// One instance, and everything that has happened to it.
#[derive(Debug)]
pub struct Scenario {
    /// The plan it runs.
    pub plan: Arc<Plan>,
    /// Its state.
    pub instance: Instance,
    /// Everything that has happened.
    pub events: Vec<Event>,
    /// The time, which moves only when told.
    pub now: Timestamp,
    shadow: Instance,
    text: String,
}

impl Scenario {
    /// The process with this inside. Panics where it is rejected.
    pub fn process(inside: &str) -> Self {
        Self::definitions(&format!(r#"<process id="p" isExecutable="true">{inside}</process>"#))
    }

    /// The first process of definitions with this inside. Panics where they are rejected.
    pub fn definitions(inside: &str) -> Self {
        Self::read_with(inside, &Options::default())
    }

    /// The first process of definitions with this inside, read with these options. Panics where they are rejected.
    pub fn read_with(inside: &str, options: &Options) -> Self {
        let report = Self::report_with(inside, options);
        let errors: Vec<String> = report
            .diagnostics
            .iter()
            .filter(|it| it.severity == Severity::Error)
            .map(|it| format!("{}: {} ({})", it.code, it.message, it.help))
            .collect();
        assert!(errors.is_empty(), "the model is rejected: {errors:#?}");
        let process = report.processes.first().expect("a model has a process");
        Self::of(&process.plan)
    }

    /// Another instance of the same plan, not started yet.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::of(&self.plan)
    }

    fn of(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            instance: Instance::default(),
            shadow: Instance::default(),
            events: Vec::new(),
            now: Timestamp::default(),
            text: String::new(),
        }
    }

    /// What the reader says of definitions with this inside.
    pub fn report(inside: &str) -> Report {
        Self::report_with(inside, &Options::default())
    }

    fn report_with(inside: &str, options: &Options) -> Report {
        let xml = document(inside);
        read(&[("model.bpmn", xml.as_bytes())], options)
    }

    /// Changes the plan before the start, for what models do not say.
    #[must_use]
    pub fn with_plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(Arc::make_mut(&mut self.plan));
        self
    }

    /// Asks, and goes on until nothing is left to do.
    pub fn ask(&mut self, command: Command) -> Result<(), Rejection> {
        let before = self.instance.clone();
        let mut command = command;
        loop {
            let turn = match handle(&self.plan, &mut self.instance, self.now, command.clone()) {
                Ok(turn) => turn,
                Err(rejection) => {
                    assert_eq!(self.instance, before, "a refused command changes nothing");
                    return Err(rejection);
                }
            };
            let Turn { events, unfinished } = turn;
            self.text +=
                &trace::trace(&self.plan, &command, &events, &effects(&events).collect::<Vec<_>>());
            self.follow(events);
            if !unfinished {
                break;
            }
            command = Command::Continue;
        }
        self.check();
        Ok(())
    }

    /// Goes on by the plan of another scenario, where it can.
    pub fn migrate(&mut self, to: &Self, mapping: &[(&str, &str)]) -> Result<(), Vec<Problem>> {
        let before = self.instance.clone();
        let mapping: Mapping = mapping.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        match migrate(&self.plan, &to.plan, &mut self.instance, self.now, &mapping) {
            Err(problems) => {
                assert_eq!(self.instance, before, "a refused migration changes nothing");
                Err(problems)
            }
            Ok(Turn { events, unfinished }) => {
                self.plan = Arc::clone(&to.plan);
                self.text += "> migrate\n";
                for event in &events {
                    self.text = format!("{}{}\n", self.text, trace::of_event(&self.plan, event));
                }
                self.follow(events);
                if unfinished {
                    self.must(Command::Continue);
                }
                self.check();
                Ok(())
            }
        }
    }

    /// What a migration to the plan of another scenario would do, a line for each change or problem.
    pub fn dry_run(&self, to: &Self, mapping: &[(&str, &str)]) -> Vec<String> {
        let mapping: Mapping = mapping.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let it = dry_run(&self.plan, &to.plan, &self.instance, self.now, &mapping);
        let changes = it.changes.iter().map(ToString::to_string);
        changes.chain(it.problems.iter().map(|it| format!("! {it}"))).collect()
    }

    fn follow(&mut self, events: Vec<Event>) {
        for event in &events {
            apply(&mut self.shadow, event);
        }
        assert_eq!(self.shadow, self.instance, "events tell all that changes");
        let kept = self.instance.parts().assemble();
        assert_eq!(kept.as_ref(), Ok(&self.instance), "parts tell all there is");
        self.events.extend(events);
    }

    fn check(&self) {
        check_at_rest(&self.instance);
        let asked: Vec<Effect> =
            effects(&self.events).filter(|it| !matches!(it, Effect::Disarm(_))).collect();
        let owed = outstanding(&self.instance);
        // What was posted stays owed until it is delivered, so only waits can be compared.
        let waits = |all: &[Effect]| -> Vec<Effect> {
            all.iter().filter(|it| matches!(it, Effect::Arm(..))).cloned().collect()
        };
        assert_eq!(waits(&asked).len(), waits(&owed).len(), "a crash loses no request");
    }

    fn must(&mut self, command: Command) {
        self.ask(command).expect("the command is one that can be done");
    }

    /// Starts it with these variables, as JSON.
    pub fn start(&mut self, variables: &str) {
        self.must(Command::Start {
            at: Vec::new(),
            variables: assignments(variables),
            caller: None,
        });
    }

    /// Starts it at an element: a start event that waits for a trigger, or any other.
    pub fn start_at(&mut self, event: &str, variables: &str) {
        let at = vec![self.plan.find(event).expect("there is such a node")];
        self.must(Command::Start { at, variables: assignments(variables), caller: None });
    }

    /// The waits of the tokens at a node, oldest first.
    pub fn waits_at(&self, node: &str) -> Vec<WaitId> {
        let all = self.instance.waits.iter();
        all.filter(|(_, it)| self.node(it.token) == node).map(|(id, _)| *id).collect()
    }

    fn wait(&self, node: &str) -> WaitId {
        let waits = self.waits_at(node);
        *waits.first().unwrap_or_else(|| panic!("nothing waits at {node}; {:?} do", self.waiting()))
    }

    /// Meets the oldest wait at a node: work done, event happened, gate decided, time come.
    pub fn complete(&mut self, node: &str, variables: &str) {
        let wait = self.wait(node);
        self.must(Command::Complete { wait, variables: assignments(variables) });
    }

    /// Meets the wait of the run with this number.
    pub fn complete_run(&mut self, node: &str, run: u32, variables: &str) {
        let of_run = |token: TokenId| {
            let mut next = Some(token);
            while let Some(id) = next {
                let it = &self.instance.tokens[&id];
                if it.role == Role::Run(run) {
                    return true;
                }
                next = it.scope;
            }
            false
        };
        let waits = self.waits_at(node);
        let wait = waits.into_iter().find(|it| of_run(self.instance.waits[it].token));
        let wait = wait.unwrap_or_else(|| panic!("run {run} does not wait at {node}"));
        self.must(Command::Complete { wait, variables: assignments(variables) });
    }

    /// The work at a node raises an error.
    pub fn raise(&mut self, node: &str, code: &str) {
        let wait = self.wait(node);
        let message = format!("{code} was raised");
        self.must(Command::Raise { wait, code: Some(code.into()), message, variables: Vec::new() });
    }

    /// The work at a node raises an escalation.
    pub fn escalate(&mut self, node: &str, code: &str) {
        let wait = self.wait(node);
        self.must(Command::Escalate { wait, code: Some(code.into()), variables: Vec::new() });
    }

    /// The work at a node fails for a technical reason.
    pub fn fail(&mut self, node: &str, retries: u32) {
        let wait = self.wait(node);
        self.must(Command::Fail {
            wait,
            retries,
            message: "it broke".to_owned(),
            variables: Vec::new(),
        });
    }

    /// Takes tokens away and puts tokens elsewhere.
    pub fn modify(&mut self, steps: Vec<Modification>) {
        self.must(Command::Modify { steps });
    }

    /// The place before an element.
    pub fn before(&self, node: &str) -> Destination {
        Destination::before(self.plan.find(node).expect("there is such a node"))
    }

    /// Sets variables of the process.
    pub fn set(&mut self, variables: &str) {
        self.must(Command::Set {
            token: None,
            variables: assignments(variables),
            reach: Reach::Layer,
        });
    }

    /// Tries again what failed at a node.
    pub fn retry(&mut self, node: &str) {
        let token = self.incident_token(node).unwrap_or_else(|| panic!("no incident at {node}"));
        self.must(Command::Retry { token });
    }

    /// Cancels the instance.
    pub fn cancel(&mut self) {
        self.must(Command::Cancel);
    }

    /// Gives a signal to everyone who waits for it now.
    pub fn signal(&mut self, name: &str, variables: &str) {
        let waits = self.instance.waits.iter();
        let met: Vec<WaitId> = waits
            .filter(|(_, it)| matches!(&*it.on, WaitFor::Signal { name: it } if &**it == name))
            .map(|(id, _)| *id)
            .collect();
        for wait in met {
            if self.instance.waits.contains_key(&wait) {
                self.must(Command::Complete { wait, variables: assignments(variables) });
            }
        }
    }

    /// Gives a message to the first who waits for it.
    pub fn message(&mut self, name: &str, variables: &str) {
        let waits = self.instance.waits.iter();
        let is_it = |on: &WaitFor| matches!(on, WaitFor::Message { name: it, .. } if &**it == name);
        let wait = waits.filter(|(_, it)| is_it(&it.on)).map(|(id, _)| *id).next();
        let wait = wait.unwrap_or_else(|| panic!("nobody waits for message {name}"));
        self.must(Command::Complete { wait, variables: assignments(variables) });
    }

    /// Lets time pass; timers that come due fire in order.
    pub fn advance(&mut self, millis: u64) {
        let until = self.now.after(Duration::from_millis(millis));
        loop {
            let due = self.instance.waits.iter().filter_map(|(id, it)| match &*it.on {
                WaitFor::Timer { due, .. } if *due <= until => Some((*due, *id)),
                _ => None,
            });
            let Some((due, wait)) = due.min() else { break };
            self.now = self.now.max(due);
            self.must(Command::Complete { wait, variables: Vec::new() });
        }
        self.now = until;
    }

    /// The names of the nodes where tokens wait for something outside, sorted; boundary events and
    /// starts of event sub-processes apart.
    pub fn waiting(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = self
            .instance
            .waits
            .values()
            .filter(|it| {
                let role = self.instance.tokens[&it.token].role;
                !matches!(role, Role::Guard(_) | Role::Start)
            })
            .map(|it| self.node(it.token))
            .collect();
        nodes.sort_unstable();
        nodes
    }

    /// The names of the nodes where any token waits for something outside, sorted.
    pub fn armed(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> =
            self.instance.waits.values().map(|it| self.node(it.token)).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The name of the node that a token stands at.
    pub fn node(&self, token: TokenId) -> &str {
        &self.plan.node(self.instance.tokens[&token].node).name
    }

    /// The tokens at a node, oldest first.
    pub fn tokens_at(&self, node: &str) -> Vec<TokenId> {
        let all = self.instance.tokens.keys();
        all.copied().filter(|it| self.node(*it) == node).collect()
    }

    /// The state of the only token at a node; `None` where there is none.
    pub fn state(&self, node: &str) -> Option<State> {
        let tokens = self.tokens_at(node);
        assert!(tokens.len() < 2, "{} tokens are at {node}", tokens.len());
        tokens.first().map(|it| self.instance.tokens[it].state)
    }

    /// The process's own variables, as JSON with sorted names.
    pub fn variables(&self) -> String {
        let all = self.instance.variables().into_iter().flatten();
        let map: Map = all.map(|(name, value)| (Arc::clone(name), value.clone())).collect();
        Value::from(map).to_json()
    }

    /// What the only token at a node sees under a name, as JSON.
    pub fn seen_at(&self, node: &str, name: &str) -> Option<String> {
        let tokens = self.tokens_at(node);
        assert_eq!(tokens.len(), 1, "tokens at {node}");
        let view = View::new(&self.plan, &self.instance, tokens[0]);
        view.get(name).map(|it| it.to_json())
    }

    /// A status attribute of the only token at a node, as JSON.
    pub fn status_at(&self, node: &str, name: &str) -> Option<String> {
        let tokens = self.tokens_at(node);
        assert_eq!(tokens.len(), 1, "tokens at {node}");
        let status = self.instance.tokens[&tokens[0]].status.as_ref()?;
        status.get(name).map(Value::to_json)
    }

    fn incident_token(&self, node: &str) -> Option<TokenId> {
        self.instance.incidents.keys().copied().find(|it| self.node(*it) == node)
    }

    /// The incident at a node.
    pub fn incident(&self, node: &str) -> Option<&Failure> {
        self.incident_token(node).map(|it| &self.instance.incidents[&it].failure)
    }

    /// Whether all its tokens are done.
    pub fn is_completed(&self) -> bool {
        self.instance.ending() == Some(&Ending::Completed)
    }

    /// How often a node was completed: left, ended, or done as one run of several. What was
    /// withdrawn or failed does not count.
    pub fn visits(&self, node: &str) -> usize {
        let mut replayed = Instance::default();
        let mut count = 0;
        for event in &self.events {
            let left = match event {
                Event::TokenMoved { token, .. }
                | Event::TokenRetired { token }
                | Event::TokenGone { token, state: State::Done | State::Departed } => Some(*token),
                _ => None,
            };
            if let Some(token) = left {
                let it = &replayed.tokens[&token];
                let at = self.plan.node(it.node);
                // The main token of several runs is not a run itself.
                let main = at.repeat.is_some() && !matches!(it.role, Role::Run(_));
                // Of those that meet at a join, one goes on.
                let merged = it.state == State::Waiting
                    && matches!(event, Event::TokenGone { .. })
                    && at.incoming.len() > 1
                    && !at.is_activity();
                count += usize::from(&*at.name == node && !main && !merged);
            }
            apply(&mut replayed, event);
        }
        count
    }

    /// Why each token rests, a sentence each.
    pub fn why(&self) -> Vec<String> {
        why(&self.plan, &self.instance).iter().map(ToString::to_string).collect()
    }

    /// The scope tree as text.
    pub fn tree(&self) -> String {
        tree(&self.plan, &self.instance).map_or_else(String::new, |it| it.to_string())
    }

    /// Everything that has happened so far, as text: `>` commands, `!` effects, events plain.
    pub fn trace(&self) -> &str {
        &self.text
    }

    /// What has happened since this was last asked, as text.
    pub fn news(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

/// Variables written as a JSON object.
pub fn assignments(json: &str) -> Assignments {
    match Value::parse_json(json).expect("the variables are JSON") {
        Value::Map(map) => {
            map.iter().map(|(name, value)| (Arc::clone(name), value.clone())).collect()
        }
        other => panic!("variables are an object, not {}", other.kind()),
    }
}

/// A whole document around the inside of its definitions, paths written out.
pub fn document(inside: &str) -> String {
    let mut xml = String::from(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:tv="urn:travertine:bpmn:1" id="definitions" targetNamespace="urn:test">"#,
    );
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once("<path>") {
        let (path, behind) = after.split_once("</path>").expect("paths are closed");
        xml += before;
        let nodes: Vec<&str> = path.split_whitespace().collect();
        for pair in nodes.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            write!(xml, r#"<sequenceFlow id="{from}-{to}" sourceRef="{from}" targetRef="{to}"/>"#)
                .expect("text can be written to");
        }
        rest = behind;
    }
    xml + rest + "</definitions>"
}
