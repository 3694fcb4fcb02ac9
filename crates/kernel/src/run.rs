//! The answer to one command, as it is being worked out.
//!
//! A [`Run`] takes the tokens on the agenda in turn until none is left or the turn is used up.
//! [`Run::emit`] is the only way in which an instance changes.

use std::sync::Arc;

use travertine_value::time::Timestamp;
use travertine_value::{EvalError, Excess, Name, Program, VALUE_DEPTH_MAX, Value};

use crate::{
    budget::Budgets,
    handle::{MESSAGE_BYTES_MAX, shortened},
    plan::{Changes, Each, Node, NodeId, OutputItem, Plan, Repeat, ScopeOutput, Write},
    rules::Rules,
    scribe::Scribe,
    state::{Cue, Instance, Role, State, Status},
    view::View,
    vocabulary::{
        Assignments, Ending, Event, Failure, FailureKind, Incident, LayerId, Part, PostId, Reads,
        Slot, TokenId, WaitFor, WaitId,
    },
};

/// How deep the value of a variable may be. A list of such values must be storable, too.
pub(crate) const KEPT_DEPTH_MAX: usize = VALUE_DEPTH_MAX - 1;

/// So many events have room from the beginning: enough for most turns, and less than a KiB, up to which
/// allocators are quickest.
pub(crate) const EVENTS: usize = 1024 / size_of::<Event>();

/// After so many bytes of values the variables are weighed: much more than most turns write.
const WEIGHED_EVERY: usize = 256 << 10;

/// The number of cues at which variables are weighed next, where so many have been given: many turns may
/// write little each. That is seldom enough to cost little, however much there is to weigh.
fn next_weighing(cues: u64) -> u64 {
    (cues + 1).next_power_of_two().max(1 << 10)
}

/// The answer to a command.
#[derive(Debug, PartialEq)]
pub struct Turn {
    /// What happened.
    pub events: Vec<Event>,
    /// Whether the turn was used up: someone should say [`Command::Continue`](crate::Command).
    pub unfinished: bool,
}

#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) rules: &'a dyn Rules,
    pub(crate) now: Timestamp,
    pub(crate) instance: Scribe<'a>,
    pub(crate) budgets: Budgets,
    /// The variables are weighed once so many bytes of values have been written in this turn.
    weigh_after: usize,
    /// Or once so many cues have been given.
    weigh_at_cue: u64,
    /// Whether the variables are to be weighed.
    pub(crate) weighs: bool,
    /// The variables that have changed since conditions were last looked at.
    pub(crate) changed: Vec<(Name, Changes)>,
    /// Conditions nobody has looked at yet.
    pub(crate) fresh: Vec<WaitId>,
    /// The token that was entered last, with the status it had before.
    pub(crate) entered: Option<(TokenId, Status)>,
    /// The nodes after which the instance ends.
    last: &'a [NodeId],
    /// Whether a token has left one of these.
    is_over: bool,
}

impl<'a> Run<'a> {
    /// `room` is where the events go.
    pub(crate) fn new(
        plan: &'a Plan,
        rules: &'a dyn Rules,
        instance: &'a mut Instance,
        now: Timestamp,
        room: Vec<Event>,
    ) -> Self {
        Self::within(plan, rules, instance, now, room, &Budgets::DEFAULT)
    }

    /// A run within these budgets; `room` is where the events go.
    pub(crate) fn within(
        plan: &'a Plan,
        rules: &'a dyn Rules,
        instance: &'a mut Instance,
        now: Timestamp,
        room: Vec<Event>,
        budgets: &Budgets,
    ) -> Self {
        let budgets = budgets.of(plan);
        Self {
            plan,
            rules,
            now,
            weighs: instance.over > 0,
            weigh_after: WEIGHED_EVERY.min(budgets.data_bytes / 16),
            weigh_at_cue: next_weighing(instance.cues),
            budgets,
            instance: Scribe::new(instance, room),
            changed: Vec::new(),
            fresh: Vec::new(),
            entered: None,
            last: rules.ends_after(),
            is_over: false,
        }
    }

    /// Moves tokens until all of them rest or the turn is used up, then tells what happened.
    pub(crate) fn finish(mut self) -> Turn {
        let mut steps = self.plan.turn_steps_max;
        loop {
            if std::mem::take(&mut self.is_over) && self.instance.is_running() {
                self.end_process(Ending::Cancelled, State::Withdrawn);
            }
            self.weigh_conditions();
            let next = self.instance.agenda.first().or_else(|| self.instance.late.first());
            let Some((_, &token)) = next else {
                if self.fire_inclusive_joins() {
                    continue;
                }
                break;
            };
            let full = self.instance.written() >= self.budgets.turn_bytes
                || self.instance.events().len() >= self.budgets.turn_events;
            if steps == 0 || full {
                break;
            }
            steps -= 1;
            if let Some(failure) = self.exceeded() {
                // One incident is enough. All others stand where they are, and go on when there is less.
                if self.instance.over == 0 {
                    let (_, cue) = self.instance.token(token).cue.expect("it is on the agenda");
                    self.incident(token, failure, cue);
                }
                return Turn { events: self.instance.into_events(), unfinished: false };
            }
            self.visit(token);
        }
        self.stop()
    }

    /// Tells what happened, and moves no token. One that has used up its turn goes on in a turn of its own: if it went on
    /// whenever something that it has sent arrives, each thing sent would have it send more.
    pub(crate) fn stop(self) -> Turn {
        let unfinished = self.instance.is_unfinished();
        Turn { events: self.instance.into_events(), unfinished }
    }

    /// Whether the variables are to be weighed now.
    pub(crate) fn must_weigh(&mut self) -> bool {
        std::mem::take(&mut self.weighs)
            || self.instance.written() > self.weigh_after
            || self.instance.cues >= self.weigh_at_cue
    }

    /// The variables have so many bytes. They cannot have too many before as many are written as they may
    /// still take.
    pub(crate) fn weighed(&mut self, bytes: usize) {
        let left = self.budgets.data_bytes.saturating_sub(bytes).max(WEIGHED_EVERY);
        self.weigh_after = self.instance.written().saturating_add(left);
        self.weigh_at_cue = next_weighing(self.instance.cues);
    }

    fn visit(&mut self, token: TokenId) {
        let it = self.instance.token(token);
        let (cued, role, at) = (it.cue, it.role, it.node);
        let (_, cue) = cued.expect("tokens on the agenda have a cue");
        if let Some(max) = self.plan.steps_max
            && self.instance.steps > max
        {
            let message = format!("the instance has taken more than {max} steps");
            self.incident(token, Failure::new(FailureKind::Steps, message), cue);
            return;
        }
        if cue == Cue::Arrive
            && role == Role::Flow
            && let Some(via) = self.plan.node(at).straight
        {
            // Nothing can happen here but that the token goes on.
            self.emit(Event::TokenMoved { token, via: Some(via), to: self.plan.flow(via).to });
            return;
        }
        if let Err(failure) = self.resume(token, cue) {
            self.fail(token, failure, cue);
        }
        // A token that opens its runs keeps its place until all of them exist.
        if cue != Cue::Spawn && self.instance.tokens.get(&token).is_some_and(|it| it.cue == cued) {
            self.emit(Event::TokenUncued { token });
        }
    }

    pub(crate) fn emit(&mut self, event: Event) {
        if !self.last.is_empty() {
            self.is_over |= self.leaves_last(&event);
        }
        self.instance.emit(event);
    }

    /// Whether a token leaves a node after which the instance ends. Guards were never there, and a run is part of
    /// what its main token does.
    fn leaves_last(&self, event: &Event) -> bool {
        let (Event::TokenMoved { token, .. }
        | Event::TokenRetired { token }
        | Event::TokenGone { token, .. }) = event
        else {
            return false;
        };
        let token = self.instance.token(*token);
        matches!(token.role, Role::Flow | Role::Branch(_)) && self.last.contains(&token.node)
    }

    /// The node that a token stands at.
    pub(crate) fn node_of(&self, token: TokenId) -> &'a Node {
        self.plan.node(self.instance.token(token).node)
    }

    pub(crate) fn view(&self, token: TokenId) -> View<'_> {
        View::new(self.plan, &self.instance, token).at(self.now)
    }

    /// Says of a failure in which part of the token's element it happened.
    pub(crate) fn at(&self, token: TokenId, part: Part) -> impl FnOnce(Failure) -> Failure {
        move |failure| failure.at(part, &self.node_of(token).name)
    }

    pub(crate) fn eval(&self, token: TokenId, program: &Program) -> Result<Value, Failure> {
        let value = program
            .value(&self.view(token), &self.plan.limits)
            .map_err(|error| script_failure(program, &error))?;
        self.kept(program, value)
    }

    /// A value that a program has given, where it can be kept.
    fn kept(&self, program: &Program, value: Value) -> Result<Value, Failure> {
        self.check_value(&value).map_err(|why| {
            let message = format!("`{}`: the value is {why}", program.quoted());
            Failure::new(FailureKind::Script, message)
        })?;
        Ok(value)
    }

    /// Whether a value can be kept.
    pub(crate) fn check_value(&self, value: &Value) -> Result<(), Excess> {
        value.fits(KEPT_DEPTH_MAX, self.plan.limits.value_bytes_max)
    }

    /// The values of programs, without those that there is nothing for.
    pub(crate) fn eval_present(
        &self,
        token: TokenId,
        programs: &[(Name, Program)],
    ) -> Result<Assignments, Failure> {
        let mut values = Vec::new();
        for (name, program) in programs {
            match program.value(&self.view(token), &self.plan.limits) {
                Err(EvalError::Absent) => {}
                Ok(value) => values.push((Arc::clone(name), self.kept(program, value)?)),
                Err(error) => return Err(script_failure(program, &error)),
            }
        }
        Ok(values)
    }

    pub(crate) fn eval_all(
        &self,
        token: TokenId,
        programs: &[(Name, Program)],
    ) -> Result<Assignments, Failure> {
        programs
            .iter()
            .map(|(name, program)| Ok((Arc::clone(name), self.eval(token, program)?)))
            .collect()
    }

    pub(crate) fn eval_name(&self, token: TokenId, program: &Program) -> Result<Name, Failure> {
        match self.eval(token, program)? {
            Value::String(name) => Ok(name),
            Value::Number(number) => Ok(number.to_string().into()),
            other @ (Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_)) => {
                Err(Failure::new(
                    FailureKind::Script,
                    format!("`{}` is {}, not a text", program.quoted(), other.kind()),
                ))
            }
        }
    }

    pub(crate) fn holds(&self, token: TokenId, program: &Program) -> Result<bool, Failure> {
        self.holds_with(token, program, &Vec::new())
    }

    pub(crate) fn holds_with(
        &self,
        token: TokenId,
        program: &Program,
        extra: &Assignments,
    ) -> Result<bool, Failure> {
        let view = self.view(token).with(extra);
        let value = program
            .value(&view, &self.plan.limits)
            .map_err(|error| script_failure(program, &error))
            .map_err(self.at(token, Part::Condition))?;
        // Forms and older models write truth as a text.
        let holds = value.as_bool().or_else(|| match value.as_str()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
        holds.ok_or_else(|| {
            let (source, kind) = (program.quoted(), value.kind());
            let message = format!("the condition `{source}` is {kind}, neither true nor false");
            self.at(token, Part::Condition)(Failure::new(FailureKind::Script, message))
        })
    }

    /// Writes a variable as the policy says, from where `layer` is.
    pub(crate) fn write(&mut self, layer: LayerId, name: Name, value: Option<Value>) {
        let mut target = match self.plan.policy.write {
            Write::Local => self.solid(layer),
            Write::Propagate { .. } => self.holder(layer, &name),
        };
        while let Some(around) = self.handed_on(target, &name) {
            self.set(target, Arc::clone(&name), value.clone());
            target = around;
        }
        self.set(target, name, value);
    }

    /// Where else a write to a scope goes that was complete and is being undone: it handed over all that was written
    /// inside when it ended, and what undoes it adds to that.
    fn handed_on(&self, layer: LayerId, name: &str) -> Option<LayerId> {
        let it = &self.instance.layers[&layer];
        if self.plan.policy.scope_output != ScopeOutput::All
            || it.run
            || !self.instance.tokens.contains_key(&it.owner)
            || !self.is_retired(it.owner)
        {
            return None;
        }
        let node = self.node_of(it.owner);
        let is_own = node.data().is_some_and(|own| own.owns(name));
        let hands_over = node.element.container().is_some() && !is_own;
        it.parent.filter(|_| hands_over).map(|it| self.solid(it))
    }

    pub(crate) fn write_all(&mut self, layer: LayerId, values: Assignments) {
        for (name, value) in values {
            self.write(layer, name, Some(value));
        }
    }

    /// Sets or removes a variable in exactly this layer.
    pub(crate) fn set(&mut self, layer: LayerId, name: Name, value: Option<Value>) {
        if !self.instance.conditions.is_empty() {
            let known = self.instance.layers[&layer].variables.contains_key(&name);
            let change = Changes {
                create: value.is_some() && !known,
                update: value.is_some() && known,
                delete: value.is_none() && known,
            };
            let change = (Arc::clone(&name), change);
            if !self.changed.contains(&change) {
                self.changed.push(change);
            }
        }
        match value {
            Some(value) => {
                self.emit(Event::VariableSet { layer, name, value });
                self.weighs |= self.instance.layers[&layer].variables.len() > self.budgets.names;
            }
            None if self.instance.layers[&layer].variables.contains_key(&name) => {
                self.emit(Event::VariableRemoved { layer, name });
            }
            None => {}
        }
    }

    /// The nearest layer that keeps what is written to it.
    fn solid(&self, mut layer: LayerId) -> LayerId {
        while let it = &self.instance.layers[&layer]
            && it.transparent
            && let Some(parent) = it.parent
        {
            layer = parent;
        }
        layer
    }

    /// The nearest layer that has the name, else the outermost.
    pub(crate) fn holder(&self, mut layer: LayerId, name: &str) -> LayerId {
        loop {
            let it = &self.instance.layers[&layer];
            let holds = it.variables.contains_key(name) || it.run && self.is_output(it.owner, name);
            match it.parent {
                Some(parent) if !holds => layer = parent,
                _ => return layer,
            }
        }
    }

    /// Whether a run adds the variable to the list of results, so that it is the run's own.
    fn is_output(&self, run: TokenId, name: &str) -> bool {
        let Some(Repeat::Each(Each { output: Some((_, item)), .. })) =
            self.node_of(run).repeat.as_deref()
        else {
            return false;
        };
        match item {
            OutputItem::Variable(it) => &**it == name,
            // An expression that is a variable, or a field of one, is about the run's own.
            OutputItem::Expression(program) => program.reads().is_some_and(|reads| {
                matches!(reads, [only] if &**only == name && program.source().contains(name))
            }),
        }
    }

    /// The layer that the token's activity works for: that of its run, else the one around all
    /// layers of its own.
    pub(crate) fn base_layer(&self, token: TokenId) -> LayerId {
        let mut layer = self.instance.token(token).layer;
        while let it = &self.instance.layers[&layer]
            && it.owner == token
            && !it.run
            && let Some(parent) = it.parent
        {
            layer = parent;
        }
        layer
    }

    /// The layer of the activity's own, for mappings and for what is inside; opened on demand.
    pub(crate) fn own_layer(&mut self, token: TokenId) -> LayerId {
        let layer = self.instance.token(token).layer;
        let it = &self.instance.layers[&layer];
        if it.owner == token && !it.run {
            return layer;
        }
        let layer = LayerId(self.next_name());
        self.emit(Event::LayerOpened { token, layer });
        layer
    }

    /// Leaves the layers behind that the activity had for its own.
    pub(crate) fn close_layers(&mut self, token: TokenId) {
        while self.instance.layers[&self.instance.token(token).layer].owner == token {
            self.emit(Event::LayerClosed { token });
        }
    }

    pub(crate) fn next_name(&self) -> u64 {
        self.instance.names + 1
    }

    pub(crate) fn create(
        &mut self,
        node: NodeId,
        scope: TokenId,
        role: Role,
        layer: Reads,
        status: Status,
    ) -> TokenId {
        self.create_via(node, None, scope, role, layer, status)
    }

    pub(crate) fn create_via(
        &mut self,
        node: NodeId,
        via: Option<crate::plan::FlowId>,
        scope: TokenId,
        role: Role,
        layer: Reads,
        status: Status,
    ) -> TokenId {
        let token = TokenId(self.next_name());
        let scope = Some(scope);
        self.emit(Event::TokenCreated { token, node, scope, via, role, layer, status });
        token
    }

    pub(crate) fn open(&mut self, token: TokenId, slot: Slot, on: WaitFor) -> WaitId {
        let wait = WaitId(self.next_name());
        let fresh = on == WaitFor::Condition;
        self.emit(Event::WaitOpened { wait, token, slot, on: Arc::new(on) });
        if fresh {
            self.fresh.push(wait);
        }
        wait
    }

    pub(crate) fn post(&mut self, what: crate::vocabulary::Post) {
        let post = PostId(self.next_name());
        self.emit(Event::Posted { post, what: Arc::new(what) });
    }

    pub(crate) fn incident(&mut self, token: TokenId, mut failure: Failure, redo: Cue) {
        if failure.message.len() > MESSAGE_BYTES_MAX {
            failure.message = shortened(&failure.message).to_string();
        }
        // Entering again applies the operators again.
        if let Some((_, status)) = self.entered.take_if(|(it, _)| *it == token)
            && self.instance.token(token).status != status
        {
            self.emit(Event::StatusSet { token, status });
        }
        let incident = Box::new(Incident { failure, redo, since: self.now });
        self.emit(Event::IncidentRaised { token, incident });
    }
}

pub(crate) fn script_failure(program: &Program, error: &EvalError) -> Failure {
    if let EvalError::Thrown { code, message } = error {
        let code = Some(code.as_str().into());
        Failure { code, ..Failure::new(FailureKind::Error, message.clone()) }
    } else {
        Failure::new(FailureKind::Script, format!("`{}`: {error}", program.quoted()))
    }
}
