//! The four decisions: when to enter, when to leave, what to choose, and who gets a message.
//!
//! They are made at once, or by somebody outside, who sees which are open and what each would do.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::bpmnos::LISTED_MAX;
use travertine_value::{Name, Number, Value};

use super::{
    Done, Failed, Mode, Simulation,
    state::{MessageId, ScopeId, Status, TokenId},
};
use crate::model::{AttributeKind, Kind, NodeId, RestrictionAt, Type};

/// Which decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionKind {
    /// An activity is let in.
    Entry,
    /// An activity is let out.
    Exit,
    /// Values are chosen.
    Choice,
    /// A message is delivered.
    Message,
}

impl DecisionKind {
    /// What it is called wherever it is data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Exit => "exit",
            Self::Choice => "choice",
            Self::Message => "message",
        }
    }

    /// The kind of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Entry, Self::Exit, Self::Choice, Self::Message]
            .into_iter()
            .find(|it| it.name() == name)
    }
}

/// A decision that is open.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Which.
    pub kind: DecisionKind,
    /// The instance.
    pub instance: Name,
    /// What messages know it by, which tells copies apart.
    pub label: Name,
    /// The node.
    pub node: Name,
    /// What can be decided.
    pub effects: Vec<Effect>,
}

/// One way to decide, and what it does at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The values that are chosen.
    pub values: BTreeMap<Name, Value>,
    /// The sender of the message that is delivered.
    pub sender: Option<Name>,
    /// Whether nothing fails by it.
    pub feasible: bool,
    /// By how much the objective changes.
    pub objective: Number,
}

/// What somebody has decided.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Which decision.
    pub kind: DecisionKind,
    /// The instance, or what messages know it by.
    pub instance: String,
    /// The node.
    pub node: String,
    /// The values that are chosen.
    pub values: BTreeMap<String, Value>,
    /// The sender of the message, where it matters.
    pub sender: Option<String>,
}

/// What is decided, as the run carries it out.
enum Way {
    Grant,
    Values(Vec<Value>),
    Message(MessageId),
}

/// Looks at one combination of values, and says whether to go on.
type Visit<'a> = dyn FnMut(&mut Simulation, &[Value]) -> Result<bool, Failed> + 'a;

/// More combinations of values are not tried.
const TRIES_MAX: usize = 100_000;
/// More of them are not listed.
const SHOWN_MAX: usize = 1_000;

impl Simulation {
    /// A token needs a decision.
    pub(super) fn ask(&mut self, token: TokenId, kind: DecisionKind) {
        let ticket = self.ticket(token);
        self.token_mut(token).asks = Some(kind);
        self.requests.insert(ticket, token);
    }

    /// Makes the next decision that can be made; whether there was one.
    pub(super) fn decide_one(&mut self) -> Result<bool, Failed> {
        while let Some((ticket, token)) = self.requests.pop_first() {
            if !self.is_current(token, ticket) {
                continue;
            }
            match self.token(token).asks {
                Some(DecisionKind::Entry) if self.is_performer_busy(token) => {
                    if let Some(scope) = self.performer(token) {
                        self.scope_mut(scope).performer.waiting.push_back(token);
                    }
                }
                Some(DecisionKind::Choice) => match self.choice(token)? {
                    Some(values) => {
                        self.carry_out(token, &Way::Values(values))?;
                        return Ok(true);
                    }
                    None => {
                        self.stuck.insert(ticket, token);
                    }
                },
                _ => {
                    self.carry_out(token, &Way::Grant)?;
                    return Ok(true);
                }
            }
        }
        self.deliver_one()
    }

    fn carry_out(&mut self, token: TokenId, way: &Way) -> Done {
        if let Way::Message(id) = way {
            let name = self.node_of(token).messages.first().map(|it| Name::clone(&it.name));
            let found = self.messages.iter().find(|(_, all)| all.contains_key(id));
            let name = found.map(|(name, _)| Name::clone(name)).or(name);
            return self.deliver(&name.expect("a message has a name"), *id, token);
        }
        let at = self.token_mut(token);
        let asked = at.asks.take();
        let ticket = std::mem::take(&mut at.ticket);
        self.requests.remove(&ticket);
        self.stuck.remove(&ticket);
        match (asked, way) {
            (Some(DecisionKind::Entry), _) => {
                if let Some(scope) = self.performer(token) {
                    self.scope_mut(scope).performer.busy = Some(token);
                }
                self.let_in(token)
            }
            (Some(DecisionKind::Exit), _) => self.let_out(token),
            (_, Way::Values(values)) => {
                self.choose(token, values)?;
                self.operate(token)?;
                self.work_done(token)
            }
            _ => Ok(()),
        }
    }

    /// Whose hands a child of an ad-hoc sub-process needs: the scope that performs.
    fn performer(&self, token: TokenId) -> Option<ScopeId> {
        let at = self.token(token);
        let scope = at.scope?;
        let around = self.scopes.get(&scope)?;
        let Kind::AdHoc { sequential: true } = self.model.nodes[around.node].kind else {
            return None;
        };
        if !self.model.nodes[at.node].is_activity() {
            return None;
        }
        let mut scopes = std::iter::successors(Some(scope), |it| self.scopes.get(it)?.parent);
        let performs =
            |it: &ScopeId| self.scopes.get(it).is_some_and(|it| self.model.nodes[it.node].performs);
        Some(scopes.find(performs).unwrap_or(scope))
    }

    fn is_performer_busy(&self, token: TokenId) -> bool {
        let performer = self.performer(token).and_then(|it| self.scopes.get(&it));
        performer.is_some_and(|it| it.performer.busy.is_some_and(|busy| busy != token))
    }

    /// The token needs its performer no more, and the next one may.
    pub(super) fn release(&mut self, token: TokenId) {
        let Some(scope) = self.performer(token) else { return };
        let performer = &mut self.scope_mut(scope).performer;
        performer.waiting.retain(|it| *it != token);
        if performer.busy != Some(token) {
            return;
        }
        performer.busy = None;
        if let Some(next) = performer.waiting.pop_front() {
            let ticket = self.token(next).ticket;
            self.requests.insert(ticket, next);
        }
    }

    /// Puts what was chosen into its attributes.
    fn choose(&mut self, token: TokenId, values: &[Value]) -> Done {
        let model = Arc::clone(&self.model);
        for (choice, value) in model.nodes[self.token(token).node].choices.iter().zip(values) {
            if let Some(id) = self.named(token, &choice.target) {
                self.write(token, id, value.clone())?;
            }
        }
        Ok(())
    }

    /// The first values whose restrictions hold, or those that are best.
    fn choice(&mut self, token: TokenId) -> Result<Option<Vec<Value>>, Failed> {
        let mut best: Option<(Number, Vec<Value>)> = None;
        let first = self.settings.mode != Mode::Best;
        let mut tries = 0;
        self.each_choice(token, &mut |run, values| {
            tries += 1;
            if tries > TRIES_MAX {
                let message = format!("none of {TRIES_MAX} choices can be made: allow fewer");
                return Err(run.failed(token, &message));
            }
            let (feasible, objective) = run.try_choice(token, values)?;
            let better = |(known, _): &(Number, Vec<Value>)| objective > *known;
            if feasible && best.as_ref().is_none_or(better) {
                best = Some((objective, values.to_vec()));
            }
            Ok(!(first && best.is_some()))
        })?;
        Ok(best.map(|(_, values)| values))
    }

    /// Goes through all combinations of values, in order; later choices see earlier ones.
    fn each_choice(&mut self, token: TokenId, visit: &mut Visit<'_>) -> Result<bool, Failed> {
        let node = self.token(token).node;
        self.choices_from(token, node, &mut Vec::new(), visit)
    }

    fn choices_from(
        &mut self,
        token: TokenId,
        node: NodeId,
        chosen: &mut Vec<Value>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, Failed> {
        let model = Arc::clone(&self.model);
        let Some(choice) = model.nodes[node].choices.get(chosen.len()) else {
            return visit(self, chosen);
        };
        let before = self.snapshot(token);
        self.choose(token, chosen)?;
        let options = self.options(token, choice);
        self.restore(token, before);
        let of = self.named(token, &choice.target).map(|it| model.attributes[it].of);
        let whole = matches!(of, Some(Type::Whole | Type::Truth));
        let listed = options?.listed(whole).map_err(|it| self.failed(token, &it.0))?;
        if listed.len() >= LISTED_MAX {
            let message = format!("`{}` allows too many values to try them", choice.source());
            return Err(self.failed(token, &message));
        }
        for value in listed {
            chosen.push(value);
            let on = self.choices_from(token, node, chosen, visit)?;
            chosen.pop();
            if !on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether values can be chosen, and what the objective would be.
    fn try_choice(&mut self, token: TokenId, values: &[Value]) -> Result<(bool, Number), Failed> {
        let before = self.snapshot(token);
        let objective = self.objective;
        let tried = self.tried(token, values);
        self.restore(token, before);
        self.objective = objective;
        tried
    }

    fn tried(&mut self, token: TokenId, values: &[Value]) -> Result<(bool, Number), Failed> {
        self.choose(token, values)?;
        self.operate(token)?;
        let holds = self.restrictions_hold(token, RestrictionAt::Completion)?
            && self.restrictions_hold(token, RestrictionAt::Exit)?;
        Ok((holds, self.prospect(token)?))
    }

    /// What a choice can change.
    fn snapshot(&self, token: TokenId) -> Snapshot {
        let at = self.token(token);
        let node = &self.model.nodes[at.node];
        let targets = node.choices.iter().map(|it| &it.target);
        let mut targets = targets.chain(node.operators.iter().map(|it| &it.target));
        let wide = targets.any(|it| {
            let id = node.names.get(it);
            id.is_some_and(|it| self.model.attributes[*it].kind != AttributeKind::Status)
        });
        let mut snapshot = Snapshot {
            status: Arc::clone(&at.status),
            globals: None,
            data: Vec::new(),
            touched: self.touched.clone(),
        };
        if wide {
            snapshot.globals = Some(self.globals.clone());
            let around = |it: &ScopeId| self.scopes.get(it)?.parent;
            let scopes = std::iter::successors(at.scope, around);
            let data = scopes.filter_map(|it| Some((it, self.scopes.get(&it)?.data.clone())));
            snapshot.data = data.collect();
        }
        snapshot
    }

    fn restore(&mut self, token: TokenId, before: Snapshot) {
        self.token_mut(token).status = before.status;
        self.touched = before.touched;
        if let Some(globals) = before.globals {
            self.globals = globals;
        }
        for (scope, data) in before.data {
            self.scope_mut(scope).data = data;
        }
    }

    /// Tokens that need a decision that can be made now.
    pub(super) fn decisions_open(&self) -> Vec<(TokenId, DecisionKind)> {
        let current = self.requests.iter().chain(&self.stuck);
        let current = current.filter(|(ticket, it)| self.is_current(**it, **ticket));
        let mut open: Vec<(TokenId, DecisionKind)> =
            current.filter_map(|(_, it)| Some((*it, self.token(*it).asks?))).collect();
        let messages = self.receiving().filter(|it| !self.messages_for(*it).is_empty());
        open.extend(messages.map(|it| (it, DecisionKind::Message)));
        open
    }

    /// The decisions that are open, and what each way to decide would do at once. Nothing changes by asking.
    /// Each way is tried on a copy of the run.
    pub fn decisions(&self) -> Vec<Decision> {
        let open = self.decisions_open();
        open.into_iter()
            .map(|(token, kind)| {
                let at = self.token(token);
                Decision {
                    kind,
                    instance: Name::clone(&self.instances[at.instance].id),
                    label: Name::clone(&at.label),
                    node: Name::clone(&self.model.nodes[at.node].id),
                    effects: self.effects(token, kind),
                }
            })
            .collect()
    }

    fn effects(&self, token: TokenId, kind: DecisionKind) -> Vec<Effect> {
        match kind {
            DecisionKind::Entry | DecisionKind::Exit => {
                vec![self.effect(token, &Way::Grant, BTreeMap::new(), None)]
            }
            DecisionKind::Message => self
                .messages_for(token)
                .into_iter()
                .take(SHOWN_MAX)
                .map(|(id, sender)| {
                    self.effect(token, &Way::Message(id), BTreeMap::new(), Some(sender))
                })
                .collect(),
            DecisionKind::Choice => {
                let mut all = Vec::new();
                let mut trial = self.clone();
                // What cannot be listed has no effects to tell of.
                let listed = trial.each_choice(token, &mut |_, values| {
                    all.push(values.to_vec());
                    Ok(all.len() < SHOWN_MAX)
                });
                if listed.is_err() {
                    return Vec::new();
                }
                let choices = &self.node_of(token).choices;
                all.into_iter()
                    .map(|values| {
                        let names = choices.iter().map(|it| Name::clone(&it.target));
                        let named = names.zip(values.iter().cloned()).collect();
                        self.effect(token, &Way::Values(values), named, None)
                    })
                    .collect()
            }
        }
    }

    /// What happens at once when something is decided.
    fn effect(
        &self,
        token: TokenId,
        way: &Way,
        values: BTreeMap<Name, Value>,
        sender: Option<Name>,
    ) -> Effect {
        let mut trial = self.clone();
        trial.settings.mode = Mode::Ask;
        trial.settings.states = false;
        let blocked =
            self.token(token).asks == Some(DecisionKind::Entry) && self.is_performer_busy(token);
        let mut done = trial.carry_out(token, way);
        let mut steps = 0;
        while done.is_ok() && steps < TRIES_MAX {
            steps += 1;
            match trial.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(failed) => done = Err(failed),
            }
        }
        let feasible = !blocked && done.is_ok() && trial.failures == self.failures;
        let objective = trial.objective.checked_sub(self.objective).unwrap_or(Number::ZERO);
        Effect { values, sender, feasible, objective }
    }

    /// Makes a decision; whether one is open that it answers. Values that are not allowed are refused.
    pub fn decide(&mut self, answer: &Answer) -> Result<bool, String> {
        let open = self.decisions_open().into_iter().find(|(token, kind)| {
            let at = self.token(*token);
            let of = &*self.instances[at.instance].id;
            *kind == answer.kind
                && (of == answer.instance || *at.label == *answer.instance)
                && *self.model.nodes[at.node].id == *answer.node
        });
        let Some((token, kind)) = open else { return Ok(false) };
        let way = match kind {
            DecisionKind::Entry if self.is_performer_busy(token) => return Ok(false),
            DecisionKind::Entry | DecisionKind::Exit => Way::Grant,
            DecisionKind::Choice => Way::Values(self.allowed(token, answer)?),
            DecisionKind::Message => {
                let all = self.messages_for(token);
                let fits = |it: &&(MessageId, Name)| {
                    answer.sender.as_ref().is_none_or(|sender| *it.1 == **sender)
                };
                match all.iter().find(fits) {
                    Some((id, _)) => Way::Message(*id),
                    None => return Ok(false),
                }
            }
        };
        if let Err(failed) = self.carry_out(token, &way) {
            self.failed = Some(failed);
        }
        Ok(true)
    }

    /// Fails a task that waits; whether there is one. The instance may be given by what messages know it by.
    pub fn give_up(&mut self, instance: &str, node: &str) -> bool {
        let waits = |token: &&TokenId| {
            let at = self.token(**token);
            let place = &self.model.nodes[at.node];
            let of = &*self.instances[at.instance].id;
            at.ticket > 0
                && place.is_activity()
                && *place.id == *node
                && (of == instance || *at.label == *instance)
        };
        let Some(token) = self.tokens.keys().find(waits).copied() else { return false };
        let at = self.token_mut(token);
        at.asks = None;
        at.ticket = 0;
        if let Err(failed) = self.fail(token) {
            self.failed = Some(failed);
        }
        true
    }

    /// The values of an answer, in the order of the choices.
    fn allowed(&mut self, token: TokenId, answer: &Answer) -> Result<Vec<Value>, String> {
        let model = Arc::clone(&self.model);
        let node = &model.nodes[self.token(token).node];
        let mut chosen = Vec::new();
        for choice in &node.choices {
            let Some(value) = answer.values.get(&*choice.target) else {
                return Err(format!("{} needs a value for {}", node.id, choice.target));
            };
            let before = self.snapshot(token);
            let seen = self.choose(token, &chosen).and_then(|()| self.options(token, choice));
            self.restore(token, before);
            let options = seen.map_err(|it| it.to_string())?;
            if !options.contains(value) {
                return Err(format!("{} may not be {value}: `{}`", choice.target, choice.source()));
            }
            chosen.push(value.clone());
        }
        Ok(chosen)
    }

    /// Lets time pass although decisions are open, up to some time at most; whether it moved.
    pub fn pass(&mut self, most: Option<Number>) -> bool {
        let most = match (most, self.settings.until) {
            (Some(most), Some(until)) => Some(most.min(until)),
            (most, until) => most.or(until),
        };
        let next = match (self.next_time(), most) {
            (Some(next), Some(most)) => next.min(most),
            (Some(next), None) => next,
            (None, Some(most)) => most,
            (None, None) => return false,
        };
        if next <= self.now {
            return false;
        }
        self.now = next;
        self.steps = 0;
        true
    }
}

/// What a choice can change, as it was.
struct Snapshot {
    status: Arc<Status>,
    globals: Option<BTreeMap<usize, Value>>,
    data: Vec<(ScopeId, BTreeMap<usize, Value>)>,
    touched: std::collections::BTreeSet<usize>,
}
