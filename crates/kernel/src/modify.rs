//! Operators take tokens away and put tokens elsewhere.
//!
//! Steps are tried in order; none of them ends a scope. When all are done, [`Run::close_emptied`]
//! looks at the scopes that have lost tokens, innermost first.

use std::collections::BTreeSet;

use crate::{
    plan::NodeId,
    run::Run,
    state::{InstanceState, ROOT, Role, ScopeKind, State},
    vocabulary::{Destination, Ending, Modification, Reads, Rejection, TokenId, Which},
};

impl Run<'_> {
    /// Does all steps, or says why one of them cannot be done. Nobody may see what is left then.
    pub(crate) fn modify(&mut self, steps: Vec<Modification>) -> Result<(), Rejection> {
        let mut touched = BTreeSet::new();
        for step in steps {
            match step {
                Modification::Withdraw(which) => {
                    for token in self.chosen(which)? {
                        self.may_withdraw(token)?;
                        self.take_away(token, &mut touched);
                    }
                }
                Modification::Add { to, scope } => self.add(to, scope)?,
                Modification::AddWithin { to, visit } => {
                    let scope = self.on_visit(visit)?;
                    self.add(to, Some(scope))?;
                }
                Modification::Move { which, to } => {
                    for token in self.chosen(which)? {
                        self.move_token(token, to.clone(), &mut touched)?;
                    }
                }
            }
        }
        self.close_emptied(touched);
        Ok(())
    }

    fn chosen(&self, which: Which) -> Result<Vec<TokenId>, Rejection> {
        let at = match which {
            Which::Token(token) => return Ok(vec![token]),
            Which::Visit(visit) => return Ok(vec![self.on_visit(visit)?]),
            Which::At(at) => at,
        };
        if at.0 as usize >= self.plan.nodes.len() {
            return Err(Rejection::NoSuchElement(at));
        }
        // The main token stands for its runs.
        let tokens = self.instance.tokens.iter().filter(|(id, it)| {
            it.node == at && !matches!(it.role, Role::Run(_)) && self.instance.is_live(**id)
        });
        let tokens: Vec<TokenId> = tokens.map(|(id, _)| *id).collect();
        // A process that calls itself can be at the same element inside itself.
        let outermost = |id: &TokenId| !self.instance.hosts(*id).any(|it| tokens.contains(&it));
        let chosen: Vec<TokenId> = tokens.iter().copied().filter(outermost).collect();
        if chosen.is_empty() { Err(Rejection::NoTokenAt(self.plan.name(at))) } else { Ok(chosen) }
    }

    fn on_visit(&self, visit: u64) -> Result<TokenId, Rejection> {
        self.instance.token_on(visit).ok_or(Rejection::NoSuchVisit(visit))
    }

    fn may_withdraw(&self, token: TokenId) -> Result<(), Rejection> {
        let it = self.instance.tokens.get(&token).ok_or(Rejection::NoSuchToken(token))?;
        let refuse = |why: String| Err(Rejection::CannotWithdraw { token, why });
        match it.role {
            _ if token == ROOT => {
                refuse("it is the process itself; cancel the instance".to_owned())
            }
            Role::Flow | Role::Run(_) | Role::Branch(_) => Ok(()),
            Role::Guard(of) => refuse(format!("it stands beside token {} and goes with it", of.0)),
            Role::Start => refuse("it waits to start an event sub-process of its scope".to_owned()),
            Role::Compensation if self.instance.is_live(token) => Ok(()),
            Role::Compensation => refuse("it stays to undo what was completed".to_owned()),
        }
    }

    /// Takes a token away, and keeps in mind which scope has lost it.
    fn take_away(&mut self, token: TokenId, touched: &mut BTreeSet<TokenId>) {
        let (scope, around) = self.instance.scope_of(token);
        match (self.instance.token(token).role, &around.kind) {
            (Role::Run(index), ScopeKind::Each(_)) => self.skip_run(token, index, State::Withdrawn),
            _ => self.withdraw(token, State::Withdrawn),
        }
        touched.insert(scope);
    }

    fn add(&mut self, mut to: Destination, named: Option<TokenId>) -> Result<(), Rejection> {
        let scope = self.scope_for(&to, named)?;
        self.set_around(scope, &mut to);
        self.put(scope, to);
        Ok(())
    }

    fn move_token(
        &mut self,
        token: TokenId,
        mut to: Destination,
        touched: &mut BTreeSet<TokenId>,
    ) -> Result<(), Rejection> {
        self.may_withdraw(token)?;
        if to.at.0 as usize >= self.plan.nodes.len() {
            return Err(Rejection::NoSuchElement(to.at));
        }
        let it = self.instance.token(token);
        let why = match it.role {
            Role::Run(_) => Some("it is one of several runs; move the activity's main token"),
            Role::Compensation => Some("it undoes what was completed, and can only be withdrawn"),
            Role::Flow | Role::Branch(_) | Role::Guard(_) | Role::Start => None,
        };
        if let Some(why) = why {
            return Err(Rejection::CannotWithdraw { token, why: why.to_owned() });
        }
        let (from, status) = (it.node, it.status.clone());
        let scope = self.instance_scope(token);
        let layer = Reads::Shared(self.base_layer(token));
        let around = self.instance.container_scope(token);
        let enclosing = std::iter::once(around).chain(self.instance.hosts(around)).find(|it| {
            self.instance.scopes.get(it).is_some_and(|it| {
                it.kind.is_container() && self.plan.way(to.at).skip(1).any(|id| id == it.node)
            })
        });
        self.take_away(token, touched);
        if self.plan.node(to.at).parent == self.plan.node(from).parent {
            self.plan.check_way(to.at, self.instance.scope(around).node)?;
            self.check_destination(&to)?;
            self.set_around(around, &mut to);
            let via = to.via.or_else(|| self.missing_flow(scope, to.at));
            self.create_via(to.at, via, scope, Role::Flow, layer, status);
            return Ok(());
        }
        self.add(to, enclosing)
    }

    /// The innermost open scope around a place, of those that are, or are in, the named one.
    fn scope_for(&self, to: &Destination, named: Option<TokenId>) -> Result<TokenId, Rejection> {
        if to.at.0 as usize >= self.plan.nodes.len() {
            return Err(Rejection::NoSuchElement(to.at));
        }
        let refuse = |why: String| Err(Rejection::CannotAdd { at: self.plan.name(to.at), why });
        if let Some(named) = named {
            let Some(scope) = self.instance.scopes.get(&named) else {
                return refuse(format!("no scope {} is open", named.0));
            };
            if !self.plan.way(to.at).skip(1).any(|it| it == scope.node) {
                return refuse(format!("it does not lie in scope {}", named.0));
            }
            if !scope.kind.is_container() {
                let kind = scope.kind.word();
                return refuse(format!("scope {} is a {kind}; name one inside it", named.0));
            }
        }
        self.check_destination(to)?;
        for container in self.plan.way(to.at).skip(1) {
            let open: Vec<TokenId> = self
                .instance
                .scopes
                .iter()
                .filter(|(id, scope)| {
                    scope.node == container
                        && scope.kind.is_container()
                        && self.instance.is_live(**id)
                        && named.is_none_or(|named| {
                            **id == named || self.instance.hosts(**id).any(|it| it == named)
                        })
                })
                .map(|(id, _)| *id)
                .collect();
            match open[..] {
                [] => {}
                [scope] => {
                    self.plan.check_way(to.at, container)?;
                    let it = self.instance.scope(scope);
                    let undoes = self.instance.token(scope).role == Role::Compensation;
                    if it.failing.is_some() || undoes {
                        return refuse(format!("scope {} is being undone", scope.0));
                    }
                    // It waits for a gate or a listener before it is left.
                    let state = self.instance.token(scope).state;
                    if matches!(state, State::Completed | State::Exiting) {
                        return refuse(format!("scope {} is complete", scope.0));
                    }
                    return Ok(scope);
                }
                _ => {
                    return Err(Rejection::Ambiguous { at: self.plan.name(to.at), scopes: open });
                }
            }
        }
        self.plan.check_way(to.at, NodeId(0))?;
        refuse("nothing around it is open".to_owned())
    }

    /// Whether the details of a place are right.
    fn check_destination(&self, to: &Destination) -> Result<(), Rejection> {
        let refuse = |why: String| Err(Rejection::CannotAdd { at: self.plan.name(to.at), why });
        if let Some(via) = to.via
            && !self.plan.node(to.at).incoming.contains(&via)
        {
            return match self.plan.flows.get(via.0 as usize) {
                Some(flow) => refuse(format!("flow {} does not lead to it", flow.name)),
                None => refuse(format!("no such flow: {}", via.0)),
            };
        }
        for (container, _) in &to.variables {
            if !self.plan.way(to.at).skip(1).any(|it| it == *container) {
                let name = self.plan.nodes.get(container.0 as usize).map(|it| &*it.name);
                let name = name.unwrap_or("the element that variables are given for");
                return refuse(format!("{name} is not around it"));
            }
        }
        Ok(())
    }

    /// Gives variables to the containers around a place that are open. The others have them when
    /// they are.
    fn set_around(&mut self, scope: TokenId, to: &mut Destination) {
        let around: Vec<TokenId> =
            std::iter::once(scope).chain(self.instance.hosts(scope)).collect();
        for id in around {
            let it = self.instance.scope(id);
            if !it.kind.is_container() {
                continue;
            }
            let (node, layer) = (it.node, self.instance.token(id).layer);
            for (_, variables) in to.variables.extract_if(.., |(of, _)| *of == node) {
                for (name, value) in variables {
                    self.set(layer, name, Some(value));
                }
            }
        }
    }

    /// Ends what has lost its last token, innermost first.
    fn close_emptied(&mut self, mut touched: BTreeSet<TokenId>) {
        loop {
            let depth = |it: &TokenId| self.instance.scopes.get(it).map(|scope| scope.depth);
            let Some(id) = touched.iter().copied().max_by_key(depth) else { return };
            touched.remove(&id);
            let Some(scope) = self.instance.scopes.get(&id) else { continue };
            // Undoing goes on with whatever is next.
            let undoes = scope.failing.is_some()
                || !scope.queue.is_empty()
                || self.instance.token(id).role == Role::Compensation;
            let goes_on = match &scope.kind {
                ScopeKind::Compensation | ScopeKind::Each(_) => true,
                ScopeKind::FanOut(fan) => !fan.arrived.is_empty(),
                ScopeKind::Process
                | ScopeKind::SubProcess
                | ScopeKind::EventSubProcess
                | ScopeKind::Transaction
                | ScopeKind::AdHoc
                | ScopeKind::Loop { .. }
                | ScopeKind::Gosub => false,
            };
            if undoes || goes_on || !scope.is_settled() {
                self.settle(id);
            } else if id == ROOT {
                self.end_process(Ending::Cancelled, State::Withdrawn);
                return;
            } else {
                self.take_away(id, &mut touched);
            }
        }
    }
}

impl InstanceState {
    /// Whether a token is one that its scope waits for.
    pub(crate) fn is_live(&self, token: TokenId) -> bool {
        self.token(token).scope.is_none_or(|scope| self.scope(scope).live.contains(&token))
    }

    /// The hosts of the scopes that a token is in, innermost first.
    pub(crate) fn hosts(&self, token: TokenId) -> impl Iterator<Item = TokenId> {
        std::iter::successors(self.token(token).scope, |it| self.token(*it).scope)
    }
}

impl ScopeKind {
    /// Whether what runs in it are the runs of an activity.
    pub(crate) fn has_runs(&self) -> bool {
        matches!(self, Self::Each(_) | Self::Loop { .. })
    }

    /// Whether it is the inside of a container.
    pub(crate) fn is_container(&self) -> bool {
        match self {
            Self::Process
            | Self::SubProcess
            | Self::EventSubProcess
            | Self::Transaction
            | Self::AdHoc
            | Self::Gosub => true,
            Self::Each(_) | Self::Loop { .. } | Self::FanOut(_) | Self::Compensation => false,
        }
    }
}
