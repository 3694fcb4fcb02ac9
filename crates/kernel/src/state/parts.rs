//! An instance taken apart for whoever keeps it, and put together again.
//!
//! [`Parts`] are what cannot be worked out from the rest: no index, no count, nothing that is said
//! twice. They may come from bytes that were damaged or made up, so [`Parts::assemble`] follows every
//! name and refuses what no run could have led to. It knows no plan: whoever puts an instance together
//! sees to it that the plan is the one it ran by.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use travertine_value::{Name, time::Timestamp};

use crate::{
    answer::{Answer, Answers},
    journal::Journal,
    plan::{FlowId, NodeId},
    scope::DEPTH_MAX,
    table::{Key, Table},
    vocabulary::{Catches, Destination, LayerId, Post, PostId, Slot, TokenId, WaitId},
};

use super::{
    Cue, Failing, Identity, Instance, InstanceState, Layer, Merged, Performer, Phase, ROOT,
    ROOT_LAYER, Raised, Role, Scope, ScopeKind, State, Status, Token, Wait,
};

/// How deep scopes may nest in what is put together. What is undone can stand deeper than where it
/// was done, so it is more than what running allows; taking scopes away recurses.
const NESTING_MAX: u32 = 4 * DEPTH_MAX;

/// No count of an honest instance comes near this, and from here there is room to go on.
const COUNT_MAX: u64 = u64::MAX / 2;

/// An instance as plain data, each list in the order of its names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// How far it is.
    pub phase: Phase,
    /// When it began.
    pub started: Option<Timestamp>,
    /// The elements it begins at.
    pub start: Vec<NodeId>,
    /// What its caller catches.
    pub caller: Option<Catches>,
    /// How many nodes were run.
    pub steps: u64,
    /// How many names have been given out.
    pub names: u64,
    /// How many cues have been given.
    pub cues: u64,
    /// How many visits, variables and incidents have been numbered.
    pub numbers: u64,
    /// Its tokens.
    pub tokens: Vec<(TokenId, TokenPart)>,
    /// Its scopes, by host.
    pub scopes: Vec<(TokenId, ScopePart)>,
    /// Its variables.
    pub layers: Vec<(LayerId, Layer)>,
    /// What its tokens wait for.
    pub waits: Vec<(WaitId, Wait)>,
    /// Tokens that need an operator.
    pub incidents: Vec<(TokenId, Raised)>,
    /// Where inside their container tokens go that an operator has sent there.
    pub bound: Vec<(TokenId, Vec<Destination>)>,
    /// What is not known to have arrived.
    pub posts: Vec<(PostId, Arc<Post>)>,
    /// What a function has asked for and been told.
    pub journal: Option<Box<Journal>>,
    /// What it has answered to updates that have an id, by that.
    pub answers: Vec<(Name, Answer)>,
}

/// A [`Token`] without what others say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenPart {
    /// Where it stands.
    pub node: NodeId,
    /// The number of its stay there; 0 for the token of the process itself.
    pub visit: u64,
    /// How it got there.
    pub via: Option<FlowId>,
    /// The scope it is in; `None` for the token of the process itself.
    pub scope: Option<TokenId>,
    /// How far it is with its node.
    pub state: State,
    /// What it is there for.
    pub role: Role,
    /// The layer its reads begin at.
    pub layer: LayerId,
    /// Its status attributes.
    pub status: Status,
    /// Its place on the agenda, and why.
    pub cue: Option<(u64, Cue)>,
}

/// A [`Scope`] without what its tokens say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopePart {
    /// The node whose inside it is.
    pub node: NodeId,
    /// How many scopes were around it when it was opened.
    pub depth: u32,
    /// What kind of scope.
    pub kind: ScopeKind,
    /// Whether the boundary events of its host have been armed.
    pub watched: bool,
    /// Tokens that stay to undo, oldest first.
    pub compensations: Vec<TokenId>,
    /// Tokens to be recalled, the last one first.
    pub queue: Vec<TokenId>,
    /// Why it is failing.
    pub failing: Option<Failing>,
    /// The token its performer works on, and those that wait for the performer.
    pub performer: Performer,
    /// The merged status of the tokens that are done.
    pub done: Merged,
    /// Tokens at joins, at each in the order they came.
    pub parked: Vec<TokenId>,
    /// Those of the joins that wait for whoever can still come.
    pub inclusive: Vec<NodeId>,
    /// Complex joins that have gone on, by the flows they have.
    pub rounds: Vec<(NodeId, Vec<FlowId>)>,
    /// Whether it counts its tokens by node.
    pub census: bool,
}

/// Why parts are not those of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// The number of what breaks it.
    pub name: u64,
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} breaks the rule that {}", self.name, self.rule)
    }
}

impl std::error::Error for Unsound {}

impl Instance {
    /// All of it as plain data, between two turns.
    pub fn parts(&self) -> Parts {
        let InstanceState {
            // The world says who it is.
            identity: _,
            phase,
            started,
            start,
            caller,
            tokens,
            scopes,
            layers,
            waits,
            incidents,
            bound,
            journal,
            answers,
            posts,
            steps,
            agenda: _,
            late: _,
            signals: _,
            conditions: _,
            inclusive,
            over: _,
            names,
            cues,
            numbers,
            // Whoever wants it takes it.
            past: _,
        } = &self.state;
        let part = |id: TokenId, scope: &Scope| {
            let joins = inclusive.range((id, NodeId(0))..=(id, NodeId(u32::MAX)));
            ScopePart::of(scope, joins.map(|(_, node)| *node).collect())
        };
        Parts {
            phase: phase.clone(),
            started: *started,
            start: start.clone(),
            caller: caller.clone(),
            steps: *steps,
            names: *names,
            cues: *cues,
            numbers: *numbers,
            tokens: tokens.iter().map(|(id, it)| (*id, TokenPart::of(it))).collect(),
            scopes: scopes.iter().map(|(id, it)| (*id, part(*id, it))).collect(),
            layers: layers.iter().map(|(id, it)| (*id, it.clone())).collect(),
            waits: waits.iter().map(|(id, it)| (*id, it.clone())).collect(),
            incidents: incidents.iter().map(|(id, it)| (*id, it.clone())).collect(),
            bound: bound.iter().map(|(id, it)| (*id, it.clone())).collect(),
            posts: posts.iter().map(|(id, it)| (*id, Arc::clone(it))).collect(),
            journal: journal.clone(),
            answers: answers.iter().map(|(id, it)| (Name::clone(id), it.clone())).collect(),
        }
    }
}

impl TokenPart {
    fn of(token: &Token) -> Self {
        let Token {
            node,
            visit,
            via,
            scope,
            state,
            role,
            layer,
            status,
            waits: _,
            guards: _,
            cue,
            counted: _,
        } = token;
        Self {
            node: *node,
            visit: *visit,
            via: *via,
            scope: *scope,
            state: *state,
            role: *role,
            layer: *layer,
            status: status.clone(),
            cue: *cue,
        }
    }

    fn alone(self) -> Token {
        let Self { node, visit, via, scope, state, role, layer, status, cue } = self;
        Token {
            node,
            visit,
            via,
            scope,
            state,
            role,
            layer,
            status,
            waits: Table::default(),
            guards: Vec::new(),
            cue,
            counted: false,
        }
    }
}

impl ScopePart {
    fn of(scope: &Scope, inclusive: Vec<NodeId>) -> Self {
        let Scope {
            node,
            parent: _,
            depth,
            kind,
            live: _,
            starts: _,
            events: _,
            watched,
            compensations,
            queue,
            failing,
            performer,
            done,
            joins,
            rounds,
            census,
        } = scope;
        Self {
            node: *node,
            depth: *depth,
            kind: kind.clone(),
            watched: *watched,
            compensations: compensations.clone(),
            queue: queue.clone(),
            failing: failing.clone(),
            performer: performer.clone(),
            done: done.clone(),
            parked: joins.values().flat_map(BTreeMap::values).flatten().copied().collect(),
            inclusive,
            rounds: rounds.iter().map(|(at, it)| (*at, it.iter().copied().collect())).collect(),
            census: census.is_some(),
        }
    }

    /// The scope without its tokens, and who is at its joins.
    fn empty(self, parent: Option<TokenId>) -> (Scope, Joins) {
        let Self {
            node,
            depth,
            kind,
            watched,
            compensations,
            queue,
            failing,
            performer,
            done,
            parked,
            inclusive,
            rounds,
            census,
        } = self;
        let scope = Scope {
            node,
            parent,
            depth,
            kind,
            live: [].into(),
            starts: [].into(),
            events: 0,
            watched,
            compensations,
            queue,
            failing,
            performer,
            done,
            joins: [].into(),
            rounds: rounds.into_iter().map(|(at, it)| (at, it.into_iter().collect())).collect(),
            census: census.then(Default::default),
        };
        (scope, Joins { parked, inclusive })
    }
}

/// Who is at the joins of a scope, and which of these are inclusive.
#[derive(Debug)]
struct Joins {
    parked: Vec<TokenId>,
    inclusive: Vec<NodeId>,
}

impl Parts {
    /// The instance it is of.
    pub fn assemble(self) -> Result<Instance, Unsound> {
        self.check_phase()?;
        let Self {
            phase,
            started,
            start,
            caller,
            steps,
            names,
            cues,
            numbers,
            tokens,
            scopes,
            layers,
            waits,
            incidents,
            bound,
            posts,
            journal,
            answers,
        } = self;
        for count in [steps, names, cues, numbers] {
            must(count <= COUNT_MAX, "counts begin at 0", count)?;
        }
        let tokens = tokens.into_iter().map(|(id, it)| (id, it.alone())).collect();
        let mut state = InstanceState {
            identity: Identity::default(),
            phase,
            started,
            start,
            caller,
            steps,
            names,
            cues,
            numbers,
            tokens: table(tokens, names)?,
            layers: table(layers, names)?,
            posts: table(posts, names)?,
            journal,
            answers: take_answers(answers)?,
            ..InstanceState::default()
        };
        let joins = state.take_scopes(scopes)?;
        state.seat_tokens()?;
        for (scope, at_joins) in joins {
            state.park(scope, at_joins)?;
        }
        state.take_waits(waits)?;
        state.take_incidents(incidents)?;
        state.take_bound(bound)?;
        state.check_layers()?;
        state.check_numbers()?;
        state.check_scopes()?;
        state.check_journal()?;
        Ok(Instance { state })
    }

    fn check_phase(&self) -> Result<(), Unsound> {
        match self.phase {
            Phase::New => must(*self == Self::default(), "what has not begun has nothing", 0),
            Phase::Running => {
                let root = self.tokens.first().is_some_and(|(id, _)| *id == ROOT);
                must(root, "what is running has the token of the process", ROOT.0)?;
                let root = self.layers.first().is_some_and(|(id, _)| *id == ROOT_LAYER);
                must(root, "what is running has the layer of the process", ROOT_LAYER.0)?;
                must(self.started.is_some(), "what is running has begun", 0)
            }
            Phase::Ended(_) => {
                let idle = self.tokens.is_empty()
                    && self.scopes.is_empty()
                    && self.waits.is_empty()
                    && self.incidents.is_empty()
                    && self.bound.is_empty();
                must(idle, "an ended instance does nothing", 0)?;
                let only = self.layers.iter().all(|(id, _)| *id == ROOT_LAYER);
                must(only, "of an ended instance the process's variables stay", 0)?;
                must(self.started.is_some(), "what has ended has begun", 0)
            }
        }
    }
}

/// Putting together, step by step.
impl InstanceState {
    /// Takes the scopes over, without their tokens, and answers with who is at their joins.
    fn take_scopes(
        &mut self,
        scopes: Vec<(TokenId, ScopePart)>,
    ) -> Result<Vec<(TokenId, Joins)>, Unsound> {
        ascending(&scopes, self.names)?;
        let mut joins = Vec::new();
        for (id, part) in scopes {
            let host = self.tokens.get(&id);
            let host = host.ok_or(Unsound { rule: "a scope has a host", name: id.0 })?;
            let (scope, at_joins) = part.empty(host.scope);
            self.scopes.insert(id, Box::new(scope));
            joins.push((id, at_joins));
        }
        Ok(joins)
    }

    /// Every token takes its place: in its scope, beside its host, on the agenda.
    fn seat_tokens(&mut self) -> Result<(), Unsound> {
        let staying = self.staying()?;
        let mut agenda = BTreeMap::new();
        let ids: Vec<TokenId> = self.tokens.keys().copied().collect();
        for id in ids {
            let token = self.token(id);
            let (node, role, cue, scope) = (token.node, token.role, token.cue, token.scope);
            let at_rest = !matches!(
                token.state,
                State::Departed | State::Done | State::Failed | State::Withdrawn
            );
            must(at_rest, "a token that is gone is not there", id.0)?;
            must(self.layers.contains_key(&token.layer), "a token's layer is there", id.0)?;
            if let Some((turn, _)) = cue {
                let fresh = turn <= self.cues && agenda.insert(turn, id).is_none();
                must(fresh, "each cue has its turn", id.0)?;
            }
            let Some(scope) = scope else {
                let is_root = id == ROOT && role == Role::Flow;
                must(is_root, "only the process's token is in no scope", id.0)?;
                continue;
            };
            must(self.scopes.contains_key(&scope), "a token's scope is there", id.0)?;
            match role {
                Role::Compensation if staying.contains(&id) => {}
                Role::Flow | Role::Run(_) | Role::Branch(_) | Role::Compensation => {
                    self.join_scope(id);
                }
                Role::Start => {
                    let scope = self.scopes.get_mut(&scope).expect("it was just there");
                    let alone = scope.starts.insert(node, id).is_none();
                    must(alone, "a start is pending once", id.0)?;
                }
                Role::Guard(of) => {
                    let host = self.tokens.get_mut(&of);
                    let host = host
                        .filter(|it| it.scope == Some(scope) && !matches!(it.role, Role::Guard(_)));
                    let rule = "a guard stands beside its host";
                    host.ok_or(Unsound { rule, name: id.0 })?.guards.push(id);
                }
            }
        }
        for (turn, token) in agenda {
            let late = matches!(self.token(token).cue, Some((_, Cue::Throw)));
            if late { &mut self.late } else { &mut self.agenda }.insert(turn, token);
        }
        Ok(())
    }

    /// The tokens that stay to undo, all of them.
    fn staying(&self) -> Result<BTreeSet<TokenId>, Unsound> {
        let mut staying = BTreeSet::new();
        for (id, scope) in &self.scopes {
            for token in &scope.compensations {
                let stays = self
                    .tokens
                    .get(token)
                    .is_some_and(|it| it.scope == Some(*id) && it.role == Role::Compensation);
                let fits = stays && staying.insert(*token);
                must(fits, "what stays to undo is on record once", token.0)?;
            }
        }
        Ok(staying)
    }

    fn park(&mut self, id: TokenId, joins: Joins) -> Result<(), Unsound> {
        let mut seen = BTreeSet::new();
        for token in joins.parked {
            let rule = "a token waits at one join of its scope";
            let wrong = Unsound { rule, name: token.0 };
            let scope = self.scopes.get_mut(&id).expect("its joins were just taken out of it");
            must(scope.live.contains(&token) && seen.insert(token), rule, token.0)?;
            let it = self.tokens.get(&token).filter(|it| it.state == State::Waiting);
            let it = it.ok_or(wrong)?;
            let join = scope.joins.entry(it.node).or_default();
            join.entry(it.via.ok_or(wrong)?).or_default().push_back(token);
        }
        for node in joins.inclusive {
            let scope = self.scope(id);
            let fits = scope.census.is_some() && scope.joins.contains_key(&node);
            must(fits, "an inclusive join has tokens, and they are counted", id.0)?;
            self.inclusive.insert((id, node));
        }
        Ok(())
    }

    fn check_journal(&self) -> Result<(), Unsound> {
        let journal = self.journal.as_deref();
        if let Some(journal) = journal {
            let token = journal.token;
            must(self.tokens.contains_key(&token), "a function has a token", token.0)?;
            must(journal.is_sound(), "a journal has a beginning", token.0)?;
        }
        let operations = journal.map_or(0, Journal::operations);
        let may_answer = self.journal.is_some() || matches!(self.phase, Phase::Ended(_));
        must(may_answer || self.answers.is_empty(), "functions answer", 0)?;
        for (id, wait) in &self.waits {
            if let Slot::Operation(operation) = wait.slot {
                must(operation < operations, "operations are asked for first", id.0)?;
                let only = journal.and_then(|it| it.wait_of(operation)) == Some(*id);
                must(only, "an operation waits once", id.0)?;
            }
        }
        Ok(())
    }

    fn take_waits(&mut self, waits: Vec<(WaitId, Wait)>) -> Result<(), Unsound> {
        ascending(&waits, self.names)?;
        for (id, wait) in &waits {
            let token = self.tokens.get_mut(&wait.token);
            let token = token.ok_or(Unsound { rule: "a wait has a token", name: id.0 })?;
            token.waits.insert(*id, ());
            self.note_wait(*id, wait);
        }
        self.waits = table(waits, self.names)?;
        Ok(())
    }

    fn take_incidents(&mut self, incidents: Vec<(TokenId, Raised)>) -> Result<(), Unsound> {
        ascending(&incidents, self.names)?;
        for (id, _) in &incidents {
            let stuck = self.tokens.get(id).is_some_and(|it| it.cue.is_none());
            must(stuck, "an incident has a token, which rests", id.0)?;
        }
        let over = incidents.iter().filter(|(_, it)| it.is_over()).count();
        self.over = u32::try_from(over).unwrap_or(u32::MAX);
        self.incidents = incidents.into_iter().collect();
        Ok(())
    }

    fn take_bound(&mut self, bound: Vec<(TokenId, Vec<Destination>)>) -> Result<(), Unsound> {
        ascending(&bound, self.names)?;
        for (id, to) in &bound {
            let outside = self.tokens.contains_key(id) && !self.scopes.contains_key(id);
            must(outside && !to.is_empty(), "who is on the way in is a token, not in yet", id.0)?;
        }
        self.bound = bound.into_iter().collect();
        Ok(())
    }

    fn check_layers(&self) -> Result<(), Unsound> {
        for (id, layer) in &self.layers {
            match layer.parent {
                None => {
                    let is_root = *id == ROOT_LAYER && layer.owner == ROOT;
                    must(is_root, "only the process's layer is over none", id.0)?;
                }
                Some(parent) => {
                    let known = self.layers.contains_key(&parent);
                    must(known, "the layer around a layer is there", id.0)?;
                    let owned = self.tokens.contains_key(&layer.owner);
                    must(owned, "a layer has an owner", id.0)?;
                }
            }
        }
        // Most layers are younger than the one around them, and then there is nothing to follow.
        let moved = self.layers.iter().filter(|(id, it)| it.parent.is_some_and(|at| at >= **id));
        let moved: Vec<LayerId> = moved.map(|(id, _)| *id).collect();
        bounded(&moved, self.layers.len(), |id| self.layers[&id].parent)
    }

    fn check_numbers(&self) -> Result<(), Unsound> {
        let mut seen: Vec<u64> = self.numbered().collect();
        seen.sort_unstable();
        let mut last = 0;
        for number in seen {
            must(last < number && number <= self.numbers, "a number is given out once", number)?;
            last = number;
        }
        let root = self.tokens.get(&ROOT).is_none_or(|it| it.visit == 0);
        must(root, "the visit of the process is the instance", ROOT.0)
    }

    fn check_scopes(&mut self) -> Result<(), Unsound> {
        let all: Vec<TokenId> = self.scopes.keys().copied().collect();
        bounded(&all, NESTING_MAX as usize, |id| self.scope(id).parent)?;
        for id in all {
            let scope = self.scope(id);
            must(scope.depth <= NESTING_MAX, "scopes are not nested deeper", id.0)?;
            let Performer { busy, waiting } = &scope.performer;
            for token in scope.queue.iter().chain(busy).chain(waiting) {
                must(self.tokens.contains_key(token), "a scope names tokens that exist", token.0)?;
            }
            let rounds = scope.rounds.values().all(|it| !it.is_empty());
            must(rounds, "a round has begun with a token", id.0)?;
            self.check_kind(id, scope)?;
            let runs = scope.kind == ScopeKind::EventSubProcess
                && self.token(id).role != Role::Compensation;
            if let Some(parent) = scope.parent.filter(|_| runs) {
                self.scopes.get_mut(&parent).expect("its host is in it").events += 1;
            }
        }
        Ok(())
    }

    fn check_kind(&self, id: TokenId, scope: &Scope) -> Result<(), Unsound> {
        let is_process = scope.kind == ScopeKind::Process;
        must(is_process == (id == ROOT), "one scope is the process's", id.0)?;
        let open = scope.live.iter().filter_map(|it| match self.token(*it).role {
            Role::Run(index) => Some(index),
            Role::Flow | Role::Branch(_) | Role::Guard(_) | Role::Start | Role::Compensation => {
                None
            }
        });
        match &scope.kind {
            ScopeKind::Each(each) => {
                let open: Vec<u32> = open.collect();
                let ended = each.completed.saturating_add(each.terminated) as usize;
                let counts = each.begun <= each.total
                    && ended.saturating_add(open.len()) <= each.begun as usize
                    && open.iter().all(|it| *it < each.begun)
                    && each.batch_size != Some(0);
                must(counts, "runs that are open have begun", id.0)?;
                let items = each.items.as_ref().is_none_or(|it| {
                    let size = each.batch_size.unwrap_or(1) as usize;
                    it.len().div_ceil(size) == each.total as usize
                });
                must(items, "there is a run for each item", id.0)?;
                let outputs = each.outputs.is_empty() || each.outputs.len() == each.total as usize;
                must(outputs, "there is a result for each run", id.0)
            }
            ScopeKind::Loop { runs } => {
                must(open.into_iter().all(|it| it < *runs), "runs that are open have begun", id.0)
            }
            ScopeKind::FanOut(fan) => {
                let arrived: BTreeSet<_> = fan.arrived.iter().collect();
                let came = arrived.len() == fan.arrived.len()
                    && arrived.iter().all(|it| scope.live.contains(it))
                    && (arrived.is_empty() || fan.fan_in.is_some());
                must(came, "branches arrive once, at the fan-in", id.0)?;
                let mut branches = fan.branches.iter();
                let owned = branches.all(|it| self.layers.get(it).is_some_and(|it| it.owner == id));
                must(owned, "the variables of a branch stay until the fan-in", id.0)
            }
            ScopeKind::Process
            | ScopeKind::SubProcess
            | ScopeKind::EventSubProcess
            | ScopeKind::Transaction
            | ScopeKind::AdHoc
            | ScopeKind::Gosub
            | ScopeKind::Compensation => Ok(()),
        }
    }
}

fn must(holds: bool, rule: &'static str, name: u64) -> Result<(), Unsound> {
    if holds { Ok(()) } else { Err(Unsound { rule, name }) }
}

fn take_answers(answers: Vec<(Name, Answer)>) -> Result<Answers, Unsound> {
    for (_, answer) in &answers {
        must((1..=COUNT_MAX).contains(&answer.number), "answers are counted", answer.number)?;
    }
    let ascend = answers.is_sorted_by(|(one, _), (next, _)| one < next);
    must(ascend, "answers are in the order of their ids", 0)?;
    Ok(answers.into_iter().collect())
}

fn ascending<K: Key, V>(rows: &[(K, V)], names: u64) -> Result<(), Unsound> {
    let mut last = 0;
    for (key, _) in rows {
        let name = key.number();
        must(last < name && name <= names, "names ascend and were given out", name)?;
        last = name;
    }
    Ok(())
}

fn table<K: Key, V>(rows: Vec<(K, V)>, names: u64) -> Result<Table<K, V>, Unsound> {
    ascending(&rows, names)?;
    let mut table = Table::default();
    for (key, value) in rows {
        table.insert(key, value);
    }
    Ok(table)
}

/// Whoever follows `next` comes to an end, after at most so many steps.
fn bounded<K: Key>(
    all: &[K],
    steps_max: usize,
    next: impl Fn(K) -> Option<K>,
) -> Result<(), Unsound> {
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    for start in all {
        let mut path = Vec::new();
        let mut at = Some(*start);
        let mut steps = 0;
        while let Some(it) = at {
            if let Some(known) = known.get(&it) {
                steps = *known;
                break;
            }
            path.push(it);
            must(path.len() <= steps_max, "nesting has an end", start.number())?;
            at = next(it);
        }
        for it in path.into_iter().rev() {
            steps += 1;
            known.insert(it, steps);
        }
        must(steps <= steps_max, "nesting has an end", start.number())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use travertine_value::Value;

    use super::{
        super::{Each, FanOut, check, replay},
        *,
    };
    use crate::{
        journal::JournalEntry,
        vocabulary::{Ending, Event, Failure, FailureKind, Incident, Reads, Slot, WaitFor},
    };

    fn created(token: u64, node: u32, scope: Option<u64>, role: Role) -> Event {
        let (layer, via) = match (scope, role) {
            (None, _) => (Reads::Own(None), None),
            (Some(_), Role::Branch(_)) => (Reads::Own(Some(ROOT_LAYER)), Some(FlowId(node))),
            (Some(_), _) => (Reads::Shared(ROOT_LAYER), Some(FlowId(node))),
        };
        Event::TokenCreated {
            token: TokenId(token),
            node: NodeId(node),
            scope: scope.map(TokenId),
            via,
            role,
            layer,
            status: None,
        }
    }

    fn opened(scope: u64, kind: ScopeKind, census: bool) -> Event {
        let (scope, kind) = (TokenId(scope), Box::new(kind));
        Event::ScopeOpened { scope, node: NodeId(0), kind, census }
    }

    /// A process with a task that is guarded, a join with one token, one that stays to undo, an
    /// incident, and a fan-out one of whose branches has arrived.
    fn sample() -> Instance {
        let failure = Failure::new(FailureKind::NoFlow, "no flow");
        let incident = Incident { failure, redo: Cue::Exit, since: Timestamp::default() };
        let wait = |wait, token, on| Event::WaitOpened {
            wait: WaitId(wait),
            token: TokenId(token),
            slot: Slot::Own(0),
            on: Arc::new(on),
        };
        replay(&[
            Event::Started { at: Timestamp::default(), start: Vec::new(), caller: None },
            created(1, 0, None, Role::Flow),
            opened(1, ScopeKind::Process, true),
            created(2, 1, Some(1), Role::Flow),
            wait(3, 2, WaitFor::Condition),
            created(4, 2, Some(1), Role::Guard(TokenId(2))),
            wait(5, 4, WaitFor::Signal { name: "stop".into() }),
            created(6, 3, Some(1), Role::Flow),
            Event::TokenParked { token: TokenId(6), inclusive: true },
            created(7, 4, Some(1), Role::Compensation),
            created(8, 5, Some(1), Role::Flow),
            Event::IncidentRaised { token: TokenId(8), incident: Box::new(incident) },
            created(9, 6, Some(1), Role::Flow),
            opened(9, ScopeKind::FanOut(FanOut::default()), true),
            created(10, 7, Some(9), Role::Branch(0)),
            created(11, 8, Some(9), Role::Branch(1)),
            Event::BranchArrived { token: TokenId(10) },
            created(12, 9, Some(1), Role::Start),
            Event::TokenCued { token: TokenId(9), cue: Cue::Throw },
            Event::TokenBound { token: TokenId(2), to: vec![Destination::before(NodeId(9))] },
        ])
    }

    #[test]
    fn what_is_put_together_is_what_was_taken_apart() {
        for instance in [Instance::default(), sample()] {
            check(&instance);
            assert_eq!(instance.parts().assemble(), Ok(instance));
        }
    }

    #[test]
    fn what_no_run_could_have_led_to_is_refused() {
        let token = |it: &mut Parts, id: u64, change: fn(&mut TokenPart)| {
            let found = it.tokens.iter_mut().find(|(token, _)| token.0 == id);
            change(&mut found.expect("the sample has it").1);
        };
        let refused = |change: &dyn Fn(&mut Parts), rule: &str| {
            let mut parts = sample().parts();
            change(&mut parts);
            assert_eq!(parts.assemble().map_err(|it| it.rule), Err(rule));
        };
        refused(&|it| it.phase = Phase::New, "what has not begun has nothing");
        refused(&|it| it.started = None, "what is running has begun");
        refused(&|it| it.names = u64::MAX, "counts begin at 0");
        refused(&|it| it.names = 5, "names ascend and were given out");
        refused(&|it| it.waits.swap(0, 1), "names ascend and were given out");
        refused(&|it| it.tokens.truncate(3), "a scope has a host");
        refused(&|it| drop(it.tokens.remove(0)), "what is running has the token of the process");
        refused(&|it| it.waits[0].1.token = TokenId(3), "a wait has a token");
        refused(&|it| it.cues = 0, "each cue has its turn");
        refused(&|it| it.numbers = 1, "a number is given out once");
        refused(&|it| token(it, 2, |it| it.visit = 2), "a number is given out once");
        refused(&|it| token(it, 2, |it| it.visit = 0), "a number is given out once");
        refused(&|it| token(it, 1, |it| it.visit = 1), "the visit of the process is the instance");
        refused(&|it| it.incidents[0].1.number = 1, "a number is given out once");
        refused(&|it| it.incidents[0].0 = TokenId(3), "an incident has a token, which rests");
        refused(&|it| it.incidents[0].0 = TokenId(9), "an incident has a token, which rests");
        refused(&|it| it.bound[0].0 = TokenId(1), "who is on the way in is a token, not in yet");
        refused(&|it| token(it, 2, |it| it.layer = LayerId(2)), "a token's layer is there");
        refused(&|it| token(it, 2, |it| it.scope = Some(TokenId(2))), "a token's scope is there");
        refused(
            &|it| token(it, 2, |it| it.state = State::Done),
            "a token that is gone is not there",
        );
        refused(
            &|it| token(it, 2, |it| it.scope = None),
            "only the process's token is in no scope",
        );
        refused(
            &|it| token(it, 2, |it| it.role = Role::Guard(TokenId(4))),
            "a guard stands beside its host",
        );
        refused(
            &|it| token(it, 7, |it| it.role = Role::Flow),
            "what stays to undo is on record once",
        );
        refused(
            &|it| it.scopes[0].1.compensations.push(TokenId(7)),
            "what stays to undo is on record once",
        );
        refused(
            &|it| it.scopes[0].1.parked.push(TokenId(6)),
            "a token waits at one join of its scope",
        );
        refused(
            &|it| it.scopes[0].1.census = false,
            "an inclusive join has tokens, and they are counted",
        );
        refused(&|it| it.scopes[0].1.queue.push(TokenId(3)), "a scope names tokens that exist");
        refused(&|it| it.scopes[0].1.kind = ScopeKind::Gosub, "one scope is the process's");
        refused(&|it| token(it, 9, |it| it.scope = Some(TokenId(9))), "nesting has an end");
        refused(
            &|it| {
                let arrived = vec![TokenId(2)];
                it.scopes[1].1.kind = ScopeKind::FanOut(FanOut { arrived, ..FanOut::default() });
            },
            "branches arrive once, at the fan-in",
        );
        refused(
            &|it| {
                let branches = vec![ROOT_LAYER];
                it.scopes[1].1.kind = ScopeKind::FanOut(FanOut { branches, ..FanOut::default() });
            },
            "the variables of a branch stay until the fan-in",
        );
        refused(&|it| it.layers[1].1.parent = None, "only the process's layer is over none");
        refused(
            &|it| it.layers[1].1.parent = Some(LayerId(9)),
            "the layer around a layer is there",
        );
        refused(&|it| it.layers[1].1.parent = Some(LayerId(10)), "nesting has an end");
    }

    #[test]
    fn what_is_on_record_in_the_wrong_place_is_refused() {
        let refused = |change: &dyn Fn(&mut Parts), rule: &str| {
            let mut parts = sample().parts();
            change(&mut parts);
            assert_eq!(parts.assemble().map_err(|it| it.rule), Err(rule));
        };
        let position = |it: &Parts, id: u64| {
            let found = it.tokens.iter().position(|(token, _)| token.0 == id);
            found.expect("the sample has it")
        };
        refused(
            &|it| {
                it.phase = Phase::Ended(Ending::Completed);
                it.tokens.truncate(1);
                it.scopes.clear();
                it.waits.clear();
                it.incidents.clear();
                it.bound.clear();
            },
            "an ended instance does nothing",
        );
        refused(&|it| it.tokens[0].1.role = Role::Start, "only the process's token is in no scope");
        refused(
            &|it| it.tokens[1].1.cue = it.tokens[position(it, 9)].1.cue,
            "each cue has its turn",
        );
        refused(
            &|it| {
                let start = it.tokens[position(it, 12)].1.clone();
                it.tokens[1].1 = start;
            },
            "a start is pending once",
        );
        refused(
            &|it| {
                it.scopes[0].1.compensations.clear();
                it.scopes[1].1.compensations.push(TokenId(7));
            },
            "what stays to undo is on record once",
        );
        refused(
            &|it| {
                it.scopes[0].1.parked.clear();
                it.scopes[0].1.inclusive.clear();
                it.scopes[1].1.parked.push(TokenId(6));
            },
            "a token waits at one join of its scope",
        );
        refused(&|it| it.bound[0].1.clear(), "who is on the way in is a token, not in yet");
        refused(
            &|it| it.scopes[0].1.rounds.push((NodeId(3), Vec::new())),
            "a round has begun with a token",
        );
        refused(&|it| it.scopes[1].1.depth = NESTING_MAX + 1, "scopes are not nested deeper");
        for (fan_in, arrived) in [(None, 10), (Some(NodeId(7)), 2)] {
            let arrived = vec![TokenId(arrived)];
            let fan = FanOut { fan_in, arrived, ..FanOut::default() };
            refused(
                &|it| it.scopes[1].1.kind = ScopeKind::FanOut(fan.clone()),
                "branches arrive once, at the fan-in",
            );
        }
    }

    /// An activity that runs three times, whose first two runs are open.
    fn with_runs() -> Instance {
        let each = Each {
            total: 3,
            window: 3,
            items: Some(Arc::new(vec![Value::Null; 3])),
            batch_size: None,
            begun: 0,
            completed: 0,
            terminated: 0,
            outputs: vec![Value::Null; 3],
        };
        replay(&[
            Event::Started { at: Timestamp::default(), start: Vec::new(), caller: None },
            created(1, 0, None, Role::Flow),
            opened(1, ScopeKind::Process, false),
            created(2, 1, Some(1), Role::Flow),
            opened(2, ScopeKind::Each(each), false),
            created(3, 1, Some(2), Role::Run(0)),
            created(4, 1, Some(2), Role::Run(1)),
        ])
    }

    #[test]
    fn runs_that_do_not_add_up_are_refused() {
        assert_eq!(with_runs().parts().assemble(), Ok(with_runs()));
        let refused = |change: &dyn Fn(&mut Each), rule: &str| {
            let mut parts = with_runs().parts();
            let ScopeKind::Each(each) = &mut parts.scopes[1].1.kind else { unreachable!() };
            change(each);
            assert_eq!(parts.assemble().map_err(|it| it.rule), Err(rule));
        };
        refused(&|it| it.total = 1, "runs that are open have begun");
        refused(&|it| it.completed = 1, "runs that are open have begun");
        refused(&|it| it.terminated = 1, "runs that are open have begun");
        refused(&|it| it.batch_size = Some(0), "runs that are open have begun");
        refused(&|it| it.batch_size = Some(2), "there is a run for each item");
        refused(&|it| it.items = Some(Arc::default()), "there is a run for each item");
        refused(&|it| it.outputs.truncate(2), "there is a result for each run");
        for (kind, run) in
            [(with_runs().parts().scopes[1].1.kind.clone(), 2), (ScopeKind::Loop { runs: 2 }, 2)]
        {
            let mut parts = with_runs().parts();
            parts.scopes[1].1.kind = kind;
            parts.tokens[3].1.role = Role::Run(run);
            let rule = "runs that are open have begun";
            assert_eq!(parts.assemble().map_err(|it| it.rule), Err(rule));
        }
    }

    /// A function that waits for the first of its two operations, and has answered an update.
    fn with_code() -> Instance {
        let asked = |key: &str| Event::Journaled {
            entry: Arc::new(JournalEntry::Asked { key: key.into(), input: None }),
        };
        replay(&[
            Event::Started { at: Timestamp::default(), start: Vec::new(), caller: None },
            created(1, 0, None, Role::Flow),
            opened(1, ScopeKind::Process, false),
            created(2, 1, Some(1), Role::Flow),
            Event::FunctionBegan { token: TokenId(2), at: Timestamp::default() },
            asked("charge"),
            asked("ship"),
            Event::WaitOpened {
                wait: WaitId(3),
                token: TokenId(2),
                slot: Slot::Operation(0),
                on: Arc::new(WaitFor::Condition),
            },
            Event::UpdateAnswered { id: "u".into(), said: Value::Null },
        ])
    }

    #[test]
    fn a_journal_that_no_code_could_have_written_is_refused() {
        assert_eq!(with_code().parts().assemble(), Ok(with_code()));
        let refused = |change: &dyn Fn(&mut Parts), rule: &str| {
            let mut parts = with_code().parts();
            change(&mut parts);
            assert_eq!(parts.assemble().map_err(|it| it.rule), Err(rule));
        };
        let with = |token: u64, entries: Vec<JournalEntry>| {
            Some(Box::new(Journal::of(TokenId(token), 0, entries, false)))
        };
        let began = || JournalEntry::Began { at: Timestamp::default() };
        let asked = || JournalEntry::Asked { key: "charge".into(), input: None };
        refused(&|it| it.journal = with(9, vec![began(), asked()]), "a function has a token");
        refused(&|it| it.journal = with(2, Vec::new()), "a journal has a beginning");
        refused(&|it| it.journal = with(2, vec![asked(), began()]), "a journal has a beginning");
        refused(&|it| it.journal = with(2, vec![began()]), "operations are asked for first");
        refused(&|it| it.journal = None, "functions answer");
        let silent = |it: &mut Parts| {
            it.journal = None;
            it.answers.clear();
        };
        refused(&silent, "operations are asked for first");
        refused(&|it| it.waits[0].1.slot = Slot::Operation(2), "operations are asked for first");
        let twice = |it: &mut Parts| {
            let again = it.waits[0].1.clone();
            it.waits.push((WaitId(4), again));
            it.names += 1;
        };
        refused(&twice, "an operation waits once");
        // What has ended may have answered, and another operation may be waited for.
        let mut parts = with_code().parts();
        parts.waits[0].1.slot = Slot::Operation(1);
        assert!(parts.assemble().is_ok());
    }
}
