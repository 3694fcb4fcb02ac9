//! Events become state. No rule of BPMN is decided here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    journal::Journal,
    plan::{FlowId, NodeId},
    status,
    table::Table,
    vocabulary::{Ending, Event, FailureKind, LayerId, Reads, Slot, TokenId, WaitFor, WaitId},
};

use super::{
    Cue, Instance, InstanceState, Layer, Merged, Performer, Phase, ROOT, Raised, Role, Scope,
    ScopeKind, State, Token, Variables, Wait,
};

/// The instance that `events` tell of.
pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Instance {
    let mut instance = Instance::default();
    for event in events {
        apply(&mut instance, event);
    }
    instance
}

/// Makes `event` true of `instance`. Nothing else writes to an instance.
pub fn apply(instance: &mut Instance, event: &Event) {
    let instance = &mut instance.state;
    match event {
        Event::Started { at, start, caller } => {
            instance.phase = Phase::Running;
            instance.started = Some(*at);
            instance.start.clone_from(start);
            instance.caller.clone_from(caller);
        }
        Event::TokenCreated { token, node, scope, via, role, layer, status } => {
            instance.named(token.0);
            let visit = if scope.is_some() { instance.number() } else { 0 };
            let reads = match *layer {
                Reads::Shared(layer) => layer,
                Reads::Own(parent) => {
                    let run = matches!(role, Role::Run(_));
                    let transparent = run && scope.is_some_and(|it| instance.is_loop(it));
                    let owner = match (role, scope) {
                        (Role::Branch(_), Some(host)) => *host,
                        _ => *token,
                    };
                    let variables = Variables::default();
                    let layer = Layer { owner, parent, variables, transparent, run };
                    instance.layers.insert(LayerId(token.0), layer);
                    LayerId(token.0)
                }
            };
            let state = if via.is_some() { State::Arrived } else { State::Created };
            let created = Token {
                node: *node,
                visit,
                via: *via,
                scope: *scope,
                state,
                role: *role,
                layer: reads,
                status: status.clone(),
                waits: Table::default(),
                guards: Vec::new(),
                cue: None,
                counted: false,
            };
            instance.tokens.insert(*token, created);
            instance.settle_in(*token);
        }
        Event::TokenMoved { token, via, to } => {
            instance.leave_node(*token);
            instance.steps += 1;
            instance.cues += 1;
            let cue = instance.cues;
            let visit = instance.number();
            let it = instance.token_mut(*token);
            assert!(it.waits.is_empty(), "a moving token has left its waits behind");
            assert!(it.guards.is_empty(), "a moving token has left its guards behind");
            it.node = *to;
            it.visit = visit;
            it.via = *via;
            it.state = if via.is_some() { State::Arrived } else { State::Created };
            it.cue = Some((cue, Cue::Arrive));
            if it.counted {
                instance.come_to_node(*token);
            }
            instance.agenda.insert(cue, *token);
        }
        Event::TokenState { token, state } => {
            instance.uncue(*token);
            let it = instance.token_mut(*token);
            assert!(it.state.leads_to(*state), "no way from {:?} to {state:?}", it.state);
            it.state = *state;
        }
        Event::TokenParked { token, inclusive } => {
            instance.uncue(*token);
            let it = instance.token_mut(*token);
            it.state = State::Waiting;
            let (node, via) = (it.node, it.via.expect("tokens come to joins by flows"));
            let scope = it.scope.expect("joins are in scopes");
            let join = instance.scope_mut(scope).joins.entry(node).or_default();
            join.entry(via).or_default().push_back(*token);
            if *inclusive {
                instance.inclusive.insert((scope, node));
            }
        }
        Event::TokenCued { token, cue } => {
            instance.uncue(*token);
            instance.cue(*token, *cue);
        }
        Event::TokenUncued { token } => instance.uncue(*token),
        Event::TokenPromoted { token } => {
            let it = instance.token_mut(*token);
            let Role::Guard(of) = it.role else { panic!("only guards are promoted") };
            it.role = Role::Flow;
            instance.token_mut(of).guards.retain(|it| it != token);
            instance.join_scope(*token);
        }
        Event::TokenRetired { token } => {
            instance.uncue(*token);
            instance.leave_scope(*token);
            let it = instance.token_mut(*token);
            it.role = Role::Compensation;
            it.state = State::Completed;
            let around = it.scope.expect("the process is never compensated");
            let event = matches!(
                instance.scopes.get(token).map(|it| &**it),
                Some(Scope { kind: ScopeKind::EventSubProcess, .. })
            );
            let around = instance.scope_mut(around);
            around.compensations.push(*token);
            around.events -= u32::from(event);
        }
        Event::TokenRecalled { token, scope } => {
            let home = instance.token(*token).scope.expect("the process is never compensated");
            take_out(&mut instance.scope_mut(home).compensations, *token);
            take_out(&mut instance.scope_mut(*scope).queue, *token);
            let visit = instance.number();
            let it = instance.token_mut(*token);
            it.visit = visit;
            it.scope = Some(*scope);
            it.state = State::Created;
            if let Some(inner) = instance.scopes.get_mut(token) {
                inner.parent = Some(*scope);
            }
            instance.join_scope(*token);
        }
        Event::TokenGone { token, state } => instance.remove(*token, *state),
        Event::StatusSet { token, status } => {
            instance.token_mut(*token).status.clone_from(status);
        }
        Event::LayerOpened { token, layer } => {
            instance.named(layer.0);
            let it = instance.token_mut(*token);
            let opened = Layer {
                owner: *token,
                parent: Some(std::mem::replace(&mut it.layer, *layer)),
                variables: Variables::default(),
                transparent: false,
                run: false,
            };
            instance.layers.insert(*layer, opened);
        }
        Event::LayerClosed { token } => {
            let layer = instance.token(*token).layer;
            let closed = instance.layers.remove(&layer).expect("a token's layer is there");
            assert_eq!(closed.owner, *token, "a token closes only layers of its own");
            instance.token_mut(*token).layer = closed.parent.expect("it was opened over another");
        }
        Event::VariableSet { layer, name, value } => {
            let number = instance.numbers + 1;
            let variables = &mut instance.layer_mut(*layer).variables;
            if variables.set(Arc::clone(name), value.clone(), number) {
                instance.numbers = number;
            }
        }
        Event::VariableRemoved { layer, name } => {
            instance.layer_mut(*layer).variables.remove(name);
        }
        Event::ScopeOpened { scope, node, kind, census } => {
            let parent = instance.token(*scope).scope;
            let opened = Scope {
                node: *node,
                parent,
                depth: parent.map_or(0, |it| instance.scope(it).depth + 1),
                kind: (**kind).clone(),
                live: [].into(),
                starts: [].into(),
                events: 0,
                watched: false,
                compensations: Vec::new(),
                queue: Vec::new(),
                failing: None,
                performer: Performer::default(),
                done: Merged::default(),
                joins: [].into(),
                rounds: [].into(),
                census: census.then(Default::default),
            };
            if let (ScopeKind::EventSubProcess, Some(around)) = (&**kind, parent) {
                instance.scope_mut(around).events += 1;
            }
            instance.scopes.insert(*scope, Box::new(opened));
            instance.bound.remove(scope);
        }
        Event::ScopeFailing { scope, cause } => {
            instance.scope_mut(*scope).failing = Some((**cause).clone());
        }
        Event::ScopeClosed { scope } => {
            let closed = instance.scopes.remove(scope).expect("it was opened");
            assert!(closed.live.is_empty(), "a closed scope has no live tokens");
            match (closed.kind, closed.parent) {
                (ScopeKind::FanOut(fan), _) => {
                    for branch in fan.branches {
                        instance.layers.remove(&branch);
                    }
                }
                (ScopeKind::EventSubProcess, Some(around))
                    if instance.token(*scope).role != Role::Compensation =>
                {
                    instance.scope_mut(around).events -= 1;
                }
                _ => {}
            }
        }
        Event::StatusForgotten { scope } => {
            instance.scope_mut(*scope).done = Merged::default();
        }
        Event::CompensationsMoved { from, to } => {
            let moved = std::mem::take(&mut instance.scope_mut(*from).compensations);
            let layer = instance.token(*to).layer;
            for token in &moved {
                // A token that owns layers keeps them, over another one.
                match instance.own_layers(*token).last().map(|(id, _)| id) {
                    Some(own) => instance.layer_mut(own).parent = Some(layer),
                    None => instance.token_mut(*token).layer = layer,
                }
                instance.token_mut(*token).scope = Some(*to);
                if let Some(inner) = instance.scopes.get_mut(token) {
                    inner.parent = Some(*to);
                }
            }
            instance.scope_mut(*to).compensations.extend(moved);
        }
        Event::CompensationQueued { scope, tokens } => {
            instance.scope_mut(*scope).queue.clone_from(tokens);
        }
        Event::RoundChanged { scope, node, flows } => {
            let rounds = &mut instance.scope_mut(*scope).rounds;
            if flows.is_empty() {
                rounds.remove(node);
            } else {
                rounds.insert(*node, flows.iter().copied().collect());
            }
        }
        Event::RunEnded { scope, index, output } => {
            let ScopeKind::Each(each) = &mut instance.scope_mut(*scope).kind else {
                panic!("only multi-instance activities have runs that end")
            };
            each.completed += 1;
            if let Some(output) = output {
                each.outputs[*index as usize] = output.clone();
            }
        }
        Event::RunTerminated { scope, .. } => {
            let ScopeKind::Each(each) = &mut instance.scope_mut(*scope).kind else {
                panic!("only multi-instance activities have runs that are terminated")
            };
            each.terminated += 1;
        }
        Event::BranchArrived { token } => {
            instance.uncue(*token);
            let it = instance.token_mut(*token);
            it.state = State::Waiting;
            let (node, scope) = (it.node, it.scope.expect("branches are in scopes"));
            let ScopeKind::FanOut(fan) = &mut instance.scope_mut(scope).kind else {
                panic!("only branches of a fan-out arrive")
            };
            fan.fan_in = Some(node);
            fan.arrived.push(*token);
        }
        Event::PerformerTaken { scope, token } => {
            let performer = &mut instance.scope_mut(*scope).performer;
            performer.busy = Some(*token);
            performer.waiting.retain(|it| it != token);
        }
        Event::PerformerAwaited { scope, token } => {
            instance.scope_mut(*scope).performer.waiting.push_back(*token);
        }
        Event::PerformerLeft { scope, token } => {
            let performer = &mut instance.scope_mut(*scope).performer;
            performer.busy = performer.busy.filter(|it| it != token);
            performer.waiting.retain(|it| it != token);
        }
        Event::WaitOpened { wait, token, slot, on } => {
            instance.named(wait.0);
            instance.uncue(*token);
            let opened = Wait { token: *token, slot: *slot, on: Arc::clone(on) };
            instance.note_wait(*wait, &opened);
            instance.waits.insert(*wait, opened);
            instance.token_mut(*token).waits.insert(*wait, ());
        }
        Event::RetriesSet { wait, retries } => {
            let it = instance.waits.get_mut(wait).expect("the wait is open");
            if let WaitFor::Work(job) = Arc::make_mut(&mut it.on) {
                job.retries = *retries;
            }
        }
        Event::WorkFailed { wait, retries, message } => {
            let it = instance.waits.get_mut(wait).expect("the wait is open");
            if let WaitFor::Work(job) = Arc::make_mut(&mut it.on) {
                (job.retries, job.failure) = (*retries, Some(Arc::clone(message)));
            }
        }
        Event::WaitClosed { wait } => instance.close(*wait),
        Event::Posted { post, what } => {
            instance.named(post.0);
            instance.posts.insert(*post, Arc::clone(what));
        }
        Event::PostDelivered { post } => {
            instance.posts.remove(post);
        }
        Event::IncidentRaised { token, incident } => {
            instance.uncue(*token);
            let raised = Raised { number: instance.number(), incident: (**incident).clone() };
            instance.incidents.insert(*token, raised);
            instance.over += u32::from(incident.is_over());
        }
        Event::IncidentResolved { token } => {
            instance.leave_incident(*token);
            let incident = instance.incidents.remove(token).expect("there is an incident");
            instance.over -= u32::from(incident.is_over());
            if incident.failure.kind == FailureKind::Steps {
                instance.steps = 0;
            }
            instance.cue(*token, incident.redo);
        }
        Event::TokenBound { token, to } => {
            instance.bound.insert(*token, to.clone());
        }
        Event::Migrated { nodes, flows, counting } => {
            instance.renumber(&nodes.iter().copied().collect(), &flows.iter().copied().collect());
            instance.count_anew(counting);
        }
        Event::FunctionBegan { token, at } => {
            instance.uncue(*token);
            let run = instance.journal.as_ref().map_or(0, |it| it.run + 1);
            instance.journal = Some(Box::new(Journal::new(*token, run, *at)));
            instance.answers.keep_latest();
        }
        Event::Journaled { entry } => {
            let journal = instance.journal.as_mut().expect("it is a function");
            journal.push(Arc::clone(entry));
        }
        Event::FunctionThought { .. } => {
            instance.journal.as_mut().expect("it is a function").due = false;
        }
        Event::UpdateRefused { .. } => {
            instance.journal.as_mut().expect("it is a function").take_back_update();
        }
        Event::UpdateAnswered { id, said } => instance.answers.give(id, said),
        // It says how the variables that follow came to be.
        Event::DecisionMade { .. } => {}
        Event::Finished { ending } => {
            instance.finish(ending.clone());
        }
    }
}

/// The moves that events are made of.
impl InstanceState {
    /// The runs of a loop go on with each other's variables, so they have none of their own.
    fn is_loop(&self, scope: TokenId) -> bool {
        matches!(self.scope(scope).kind, ScopeKind::Loop { .. })
    }

    fn named(&mut self, name: u64) {
        self.names = self.names.max(name);
    }

    /// A number that nothing else in the instance has had.
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn token_mut(&mut self, id: TokenId) -> &mut Token {
        self.tokens.get_mut(&id).expect("events name tokens that exist")
    }

    fn scope_mut(&mut self, id: TokenId) -> &mut Scope {
        self.scopes.get_mut(&id).expect("events name scopes that exist")
    }

    fn layer_mut(&mut self, id: LayerId) -> &mut Layer {
        self.layers.get_mut(&id).expect("events name layers that exist")
    }

    fn cue(&mut self, token: TokenId, cue: Cue) {
        self.cues += 1;
        let turn = self.cues;
        self.token_mut(token).cue = Some((turn, cue));
        self.agenda_of(cue).insert(turn, token);
    }

    fn agenda_of(&mut self, cue: Cue) -> &mut Table<u64, TokenId> {
        if cue == Cue::Throw { &mut self.late } else { &mut self.agenda }
    }

    fn uncue(&mut self, token: TokenId) {
        if let Some((turn, cue)) = self.token_mut(token).cue.take() {
            self.agenda_of(cue).remove(&turn);
        }
    }

    /// A new token takes its place.
    fn settle_in(&mut self, id: TokenId) {
        let token = self.token(id);
        let (node, role, scope) = (token.node, token.role, token.scope);
        match (role, scope) {
            (_, None) => {}
            (Role::Flow | Role::Run(_) | Role::Branch(_), Some(scope)) => {
                self.join_scope(id);
                match (role, &mut self.scope_mut(scope).kind) {
                    (Role::Run(index), ScopeKind::Each(each)) => each.begun = index + 1,
                    (Role::Run(index), ScopeKind::Loop { runs }) => *runs = index + 1,
                    (Role::Branch(_), ScopeKind::FanOut(fan)) => fan.branches.push(LayerId(id.0)),
                    _ => {}
                }
                self.steps += 1;
                self.cue(id, Cue::Arrive);
            }
            (Role::Guard(of), Some(_)) => {
                self.token_mut(of).guards.push(id);
                if let Some(scope) = self.scopes.get_mut(&of) {
                    scope.watched = true;
                }
            }
            (Role::Start, Some(scope)) => {
                self.scope_mut(scope).starts.insert(node, id);
            }
            (Role::Compensation, Some(scope)) => self.scope_mut(scope).compensations.push(id),
        }
    }

    /// A token is one that its scope must wait for.
    pub(super) fn join_scope(&mut self, id: TokenId) {
        let scope = self.token(id).scope.expect("only the process's token is in no scope");
        let scope = self.scope_mut(scope);
        scope.live.insert(id);
        if scope.census.is_some() {
            self.token_mut(id).counted = true;
            self.come_to_node(id);
        }
    }

    fn leave_scope(&mut self, id: TokenId) {
        self.leave_node(id);
        let token = self.token_mut(id);
        token.counted = false;
        if let Some(scope) = token.scope {
            self.scope_mut(scope).live.remove(&id);
        }
    }

    /// A token that is counted has come to its node.
    fn come_to_node(&mut self, id: TokenId) {
        let token = self.token(id);
        let (node, scope) = (token.node, token.scope.expect("who is counted is in a scope"));
        let census = &mut self.scope_mut(scope).census;
        *census.get_or_insert_default().entry(node).or_default() += 1;
    }

    fn leave_node(&mut self, id: TokenId) {
        self.uncue(id);
        let &Token { node, via, state, scope: Some(scope_id), counted, .. } = self.token(id) else {
            return;
        };
        if counted && let Some(census) = &mut self.scope_mut(scope_id).census {
            let count = census.get_mut(&node).expect("it was counted when it came");
            *count -= 1;
            if *count == 0 {
                census.remove(&node);
            }
        }
        if state == State::Waiting
            && let Some(via) = via
        {
            let scope = self.scope_mut(scope_id);
            unpark(scope, node, via, id);
            if !scope.joins.contains_key(&node) {
                self.inclusive.remove(&(scope_id, node));
            }
        }
    }

    fn remove(&mut self, id: TokenId, state: State) {
        let token = self.token(id);
        assert!(token.waits.is_empty(), "a token's waits die with it");
        assert!(token.guards.is_empty(), "a token's guards die with it");
        assert!(token.state.leads_to(state), "no way from {:?} to {state:?}", token.state);
        let role = token.role;
        self.leave_incident(id);
        let token = self.token(id);
        let was_live = token.scope.is_some_and(|it| self.scope(it).live.contains(&id));
        self.leave_scope(id);
        // The process's variables stay readable after the end.
        if id != ROOT {
            let layers: Vec<LayerId> = self.own_layers(id).map(|(layer, _)| layer).collect();
            for layer in layers {
                self.layers.remove(&layer);
            }
        }
        let token = self.tokens.remove(&id).expect("it was just there");
        if let Some(incident) = self.incidents.remove(&id) {
            self.over -= u32::from(incident.is_over());
        }
        self.bound.remove(&id);
        let Some(scope) = token.scope else { return };
        if let Role::Guard(of) = role {
            self.token_mut(of).guards.retain(|it| *it != id);
        }
        let scope = self.scope_mut(scope);
        match role {
            Role::Flow | Role::Run(_) | Role::Branch(_) => {
                if state == State::Done {
                    status::fold(&mut scope.done, &token.status);
                }
                if let ScopeKind::FanOut(fan) = &mut scope.kind {
                    fan.arrived.retain(|it| *it != id);
                }
            }
            Role::Guard(_) => {}
            Role::Start => {
                scope.starts.retain(|_, it| *it != id);
            }
            // What was recalled is on no list any more.
            Role::Compensation if was_live => {}
            Role::Compensation => {
                take_out(&mut scope.compensations, id);
                take_out(&mut scope.queue, id);
            }
        }
    }

    /// A wait that is looked up by what it is for.
    pub(super) fn note_wait(&mut self, id: WaitId, wait: &Wait) {
        if let Slot::Operation(number) = wait.slot {
            self.note_operation(number, Some(id));
        }
        if wait.on.is_inner() {
            self.conditions.insert(id);
        } else if let WaitFor::Signal { name } = &*wait.on {
            self.signals.entry(Arc::clone(name)).or_default().insert(id);
        }
    }

    fn note_operation(&mut self, number: u32, wait: Option<WaitId>) {
        if let Some(journal) = &mut self.journal {
            journal.set_wait(number, wait);
        }
    }

    fn close(&mut self, id: WaitId) {
        self.leave_work(id);
        let wait = self.waits.remove(&id).expect("events close waits that are open");
        if wait.on.is_inner() {
            self.conditions.remove(&id);
        } else if let WaitFor::Signal { name } = &*wait.on
            && let Some(waits) = self.signals.get_mut(name)
        {
            waits.remove(&id);
            if waits.is_empty() {
                self.signals.remove(name);
            }
        }
        if let Slot::Operation(number) = wait.slot {
            self.note_operation(number, None);
        }
        self.token_mut(wait.token).waits.remove(&id);
    }

    /// Every place gets its number in another plan.
    fn renumber(&mut self, nodes: &BTreeMap<NodeId, NodeId>, flows: &BTreeMap<FlowId, FlowId>) {
        let known = |node: &NodeId| *nodes.get(node).expect("every node in use has a new number");
        self.renumber_past(nodes);
        self.start = self.start.iter().filter_map(|it| nodes.get(it)).copied().collect();
        for token in self.tokens.values_mut() {
            token.node = known(&token.node);
            token.via = token.via.and_then(|it| flows.get(&it).copied());
        }
        for place in self.bound.values_mut().flatten() {
            place.at = known(&place.at);
            place.via = place.via.and_then(|it| flows.get(&it).copied());
            for (node, _) in &mut place.variables {
                *node = known(node);
            }
        }
        self.inclusive = self.inclusive.iter().map(|(scope, at)| (*scope, known(at))).collect();
        for scope in self.scopes.values_mut() {
            scope.node = known(&scope.node);
            scope.starts = scope.starts.iter().map(|(at, it)| (known(at), *it)).collect();
            if let ScopeKind::FanOut(fan) = &mut scope.kind {
                fan.fan_in = fan.fan_in.as_ref().map(known);
            }
            for (at, join) in std::mem::take(&mut scope.joins) {
                let parked = scope.joins.entry(known(&at)).or_default();
                for (flow, tokens) in join {
                    let via = *flows.get(&flow).expect("flows to joins in use have a new number");
                    parked.entry(via).or_default().extend(tokens);
                }
            }
            // A join that is gone has no rounds any more.
            let rounds = scope.rounds.iter().filter_map(|(at, had)| {
                let had: BTreeSet<FlowId> =
                    had.iter().filter_map(|it| flows.get(it)).copied().collect();
                Some((*nodes.get(at)?, had)).filter(|(_, had)| !had.is_empty())
            });
            scope.rounds = rounds.collect();
        }
    }

    /// Counts tokens by node in these scopes, and in no others.
    fn count_anew(&mut self, counting: &[TokenId]) {
        let counting: BTreeSet<TokenId> = counting.iter().copied().collect();
        let ids: Vec<TokenId> = self.scopes.keys().copied().collect();
        for id in ids {
            let counts = counting.contains(&id);
            let scope = self.scope_mut(id);
            scope.census = counts.then(BTreeMap::new);
            let live: Vec<TokenId> = scope.live.iter().copied().collect();
            for token in live {
                self.token_mut(token).counted = counts;
                if counts {
                    self.come_to_node(token);
                }
            }
        }
    }

    fn finish(&mut self, ending: Ending) {
        assert!(self.tokens.is_empty(), "an instance ends with its last token");
        self.journal = None;
        self.answers.keep_latest();
        self.phase = Phase::Ended(ending);
        // It may be kept for a while, but not the room that these had.
        self.tokens = Table::default();
        self.waits = Table::default();
        self.agenda = Table::default();
    }
}

/// Takes a token off a list. It is mostly the youngest that goes.
fn take_out(list: &mut Vec<TokenId>, token: TokenId) {
    if let Some(position) = list.iter().rposition(|it| *it == token) {
        list.remove(position);
    }
}

fn unpark(scope: &mut Scope, node: NodeId, via: FlowId, id: TokenId) {
    let Some(join) = scope.joins.get_mut(&node) else { return };
    let Some(parked) = join.get_mut(&via) else { return };
    // It is the oldest that goes on, unless someone interferes.
    if parked.front() == Some(&id) {
        parked.pop_front();
    } else {
        parked.retain(|it| *it != id);
    }
    if parked.is_empty() {
        join.remove(&via);
    }
    if join.is_empty() {
        scope.joins.remove(&node);
    }
}
