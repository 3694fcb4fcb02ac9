//! Joins: the parallel, the inclusive and the complex gateway.

use travertine_value::Program;

use crate::{
    element::Step,
    plan::{FlowId, Node, NodeId},
    run::Run,
    state::State,
    status,
    vocabulary::{Event, Failure, TokenId},
};

impl<'a> Run<'a> {
    /// One token of each flow goes on as one. A second one on the same flow stays for the next round.
    pub(crate) fn join_parallel(&mut self, token: TokenId, node: &'a Node) -> Step {
        if node.incoming.len() < 2 {
            return Step::Leave;
        }
        let it = self.instance.token(token);
        let (own, at) = (it.via, it.node);
        let scope = self.instance.scope(self.instance_scope(token));
        let parked = scope.joins.get(&at);
        let others: Option<Vec<TokenId>> = node
            .incoming
            .iter()
            .filter(|flow| Some(**flow) != own)
            .map(|flow| parked.and_then(|it| it.get(flow)).and_then(|it| it.front()).copied())
            .collect();
        let Some(others) = others else {
            self.emit(Event::TokenParked { token, inclusive: false });
            return Step::Settled;
        };
        self.absorb(token, &others);
        Step::Leave
    }

    /// `token` goes on in place of itself and `others`.
    fn absorb(&mut self, token: TokenId, others: &[TokenId]) {
        if !self.plan.status.is_empty() {
            let statuses = others.iter().chain([&token]).map(|it| &self.instance.token(*it).status);
            let merged = status::merge(statuses);
            let status = status::settle(&merged, &self.instance.token(token).status);
            self.emit(Event::StatusSet { token, status });
        }
        for other in others {
            self.emit(Event::TokenGone { token: *other, state: State::Departed });
        }
    }

    /// Whether enough tokens have come for an activity to begin; if so, they go on as one.
    pub(crate) fn gather(&mut self, token: TokenId, node: &'a Node) -> bool {
        let at = self.instance.token(token).node;
        let scope = self.instance.scope(self.instance_scope(token));
        let mut parked: Vec<TokenId> =
            scope.joins.get(&at).into_iter().flatten().flat_map(|(_, it)| it).copied().collect();
        let others = node.start_quantity as usize - 1;
        if parked.len() < others {
            self.emit(Event::TokenParked { token, inclusive: false });
            return false;
        }
        parked.sort_unstable();
        self.absorb(token, &parked[..others]);
        true
    }

    /// Waits for every token that can still come, in `fire_inclusive_joins`.
    pub(crate) fn join_inclusive(&mut self, token: TokenId, node: &'a Node) -> Step {
        if node.incoming.len() < 2 {
            return Step::Leave;
        }
        self.emit(Event::TokenParked { token, inclusive: true });
        Step::Settled
    }

    /// Lets the inclusive joins go on for which no other token can come any more. Asked when all
    /// other tokens rest, so that none is on its way. Answers whether there was one.
    pub(crate) fn fire_inclusive_joins(&mut self) -> bool {
        let ready = self.instance.inclusive.iter().find(|(scope, at)| {
            !self.instance.incidents.contains_key(&self.first_parked(*scope, *at))
                && self.join_is_complete(*scope, *at)
        });
        let Some(&(scope, at)) = ready else { return false };
        let token = self.first_parked(scope, at);
        let join = &self.instance.scope(scope).joins[&at];
        let others: Vec<TokenId> =
            join.values().filter_map(|it| it.front()).copied().filter(|it| *it != token).collect();
        self.absorb(token, &others);
        let node = self.plan.node(at);
        match self.choose(token, node) {
            Ok(flows) => self.leave(token, node, &flows),
            Err(failure) => self.fail(token, failure, crate::state::Cue::Exit),
        }
        true
    }

    fn first_parked(&self, scope: TokenId, at: NodeId) -> TokenId {
        let join = &self.instance.scope(scope).joins[&at];
        *join.values().filter_map(|it| it.front()).min().expect("a join on record has tokens")
    }

    /// BPMN 2.0, 13.4.3: no token can come by an empty flow that could not as well come by one that
    /// has a token already.
    fn join_is_complete(&self, scope: TokenId, at: NodeId) -> bool {
        let scope = self.instance.scope(scope);
        let join = &scope.joins[&at];
        let census = scope.census.as_ref().expect("scopes with inclusive joins count");
        let (marked, empty): (Vec<FlowId>, Vec<FlowId>) =
            self.plan.node(at).incoming.iter().partition(|flow| join.contains_key(flow));
        let to_empty = self.plan.sources(at, empty.into_iter());
        let to_marked = self.plan.sources(at, marked.into_iter());
        census.keys().filter(|from| **from != at).all(|from| {
            let from = from.0 as usize;
            !to_empty[from] || to_marked[from]
        })
    }

    /// Goes on when its condition holds; tokens that come later for the same round are absorbed.
    pub(crate) fn join_complex(
        &mut self,
        token: TokenId,
        node: &'a Node,
        activation: &Program,
    ) -> Result<Step, Failure> {
        if node.incoming.len() < 2 {
            return Ok(Step::Leave);
        }
        let it = self.instance.token(token);
        let (at, via) = (it.node, it.via.expect("tokens come to joins by flows"));
        let scope_id = self.instance_scope(token);
        let scope = self.instance.scope(scope_id);
        if let Some(round) = scope.rounds.get(&at)
            && !round.contains(&via)
        {
            let flows: Vec<FlowId> = round.iter().copied().chain([via]).collect();
            let over = flows.len() == node.incoming.len();
            self.emit(Event::TokenGone { token, state: State::Departed });
            self.round(scope_id, at, if over { Vec::new() } else { flows });
            self.settle(scope_id);
            return Ok(Step::Settled);
        }
        let parked: Vec<(FlowId, TokenId)> = scope
            .joins
            .get(&at)
            .into_iter()
            .flatten()
            .filter_map(|(flow, tokens)| Some((*flow, *tokens.front()?)))
            .filter(|(flow, _)| *flow != via)
            .collect();
        let count = i64::try_from(parked.len()).expect("a node has fewer than 2^63 flows") + 1;
        let extra = vec![("activationCount".into(), count.into())];
        if !self.holds_with(token, activation, &extra)? {
            self.emit(Event::TokenParked { token, inclusive: false });
            return Ok(Step::Settled);
        }
        let (flows, others): (Vec<FlowId>, Vec<TokenId>) = parked.into_iter().unzip();
        self.absorb(token, &others);
        if flows.len() + 1 < node.incoming.len() {
            self.round(scope_id, at, flows.into_iter().chain([via]).collect());
        }
        Ok(Step::Leave)
    }

    fn round(&mut self, scope: TokenId, node: NodeId, flows: Vec<FlowId>) {
        self.emit(Event::RoundChanged { scope, node, flows });
    }
}
