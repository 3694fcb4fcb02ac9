//! Activities that run several times: multi-instance, batch and standard loop.
//!
//! The main token hosts a scope; each run is a token of that scope at the same node, with a layer of
//! its own. Only the main token leaves by the activity's flows.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Name, Program, Value};

use crate::{
    element::whole,
    plan::{
        Count, Each as EachPlan, Element, Loop as LoopPlan, Node, OnEmpty, OutputItem, Repeat,
        Tally, Throw, When, Write,
    },
    run::Run,
    state::{Cue, Each, Role, ScopeKind, State},
    vocabulary::{Assignments, Event, Failure, FailureKind, Part, Reads, TokenId},
};

/// What a multi-instance activity runs over, where that is known.
type Items = Option<Arc<Vec<Value>>>;

/// So many runs are opened in one step.
const SPAWN_MAX: u32 = 64;

impl<'a> Run<'a> {
    /// Opens the scope of the runs instead of doing the node's work.
    pub(crate) fn open_repeat(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        match node.repeat.as_deref().expect("the caller has seen it") {
            Repeat::Each(each) => self.open_each(token, node, each),
            Repeat::Loop(it) => self.open_loop(token, node, it),
        }
    }

    fn open_each(
        &mut self,
        token: TokenId,
        node: &'a Node,
        plan: &'a EachPlan,
    ) -> Result<(), Failure> {
        let (count, items) = self.count(token, node, plan)?;
        let batch = match &plan.batch {
            None => None,
            Some((size, parallel)) => {
                let size = self.positive(token, node, size, "batch size")?;
                Some((size, self.positive(token, node, parallel, "number of parallel batches")?))
            }
        };
        let total = batch.map_or(count, |(size, _)| count.div_ceil(size));
        let window = match batch {
            Some((_, parallel)) => parallel,
            None if plan.sequential => 1,
            None => total,
        };
        let open = if plan.output.is_some() { total } else { window.min(total) };
        self.room_for(open as usize, &node.name)?;
        let outputs = vec![Value::Null; if plan.output.is_some() { total as usize } else { 0 }];
        let each = Each {
            total,
            window,
            items,
            batch_size: batch.map(|(size, _)| size),
            begun: 0,
            completed: 0,
            terminated: 0,
            outputs,
        };
        self.open_runs(token, ScopeKind::Each(each));
        if total == 0 {
            self.finish_runs(token);
            return Ok(());
        }
        self.emit(Event::TokenCued { token, cue: Cue::Spawn });
        Ok(())
    }

    fn open_runs(&mut self, token: TokenId, kind: ScopeKind) {
        let at = self.instance.token(token).node;
        let kind = Box::new(kind);
        self.emit(Event::ScopeOpened { scope: token, node: at, kind, census: false });
        self.emit(Event::TokenState { token, state: State::Waiting });
    }

    /// How many items there are, and what they are.
    fn count(&self, token: TokenId, node: &Node, plan: &EachPlan) -> Result<(u32, Items), Failure> {
        self.count_items(token, node, plan).map_err(|it| it.at(Part::Repeat, &node.name))
    }

    fn count_items(
        &self,
        token: TokenId,
        node: &Node,
        plan: &EachPlan,
    ) -> Result<(u32, Items), Failure> {
        let bad = |message: String| Err(Failure::new(FailureKind::Repeat, message));
        let name = &node.name;
        let (count, items, what) = match &plan.count {
            Count::Cardinality(program) => {
                let value = self.eval(token, program)?;
                let what = format!("cardinality `{}`", program.quoted());
                let Some(count) = whole(&value) else {
                    return bad(format!("{name}: the {what} is {value}, not a whole number ≥ 0"));
                };
                (count, None, what)
            }
            Count::Collection(program) => {
                let value = self.eval(token, program)?;
                let what = format!("collection `{}`", program.quoted());
                let Value::List(items) = value else {
                    return bad(format!("{name}: the {what} is {}, not a list", value.kind()));
                };
                let Ok(count) = u32::try_from(items.len()) else {
                    return bad(format!("{name}: the {what} has too many items"));
                };
                (count, Some(items), what)
            }
            Count::Messages => {
                let count = if let Element::Send(send) = &node.element {
                    send.messages.len()
                } else {
                    node.element.triggers().len()
                };
                (u32::try_from(count).unwrap_or(u32::MAX), None, "list of messages".to_owned())
            }
        };
        if count == 0 && plan.on_empty == OnEmpty::Error {
            return bad(format!("{name}: the {what} is empty"));
        }
        Ok((count, items))
    }

    fn positive(
        &self,
        token: TokenId,
        node: &Node,
        program: &Program,
        what: &str,
    ) -> Result<u32, Failure> {
        let at = |failure: Failure| failure.at(Part::Repeat, &node.name);
        let value = self.eval(token, program).map_err(at)?;
        whole(&value).filter(|it| *it > 0).ok_or_else(|| {
            let message = format!("{}: the {what} is {value}, not a whole number ≥ 1", node.name);
            at(Failure::new(FailureKind::Repeat, message))
        })
    }

    /// Opens runs, some at a time. The main token is looked at again before any of them, so that
    /// all of a parallel activity exist before the first completes.
    pub(crate) fn spawn_runs(&mut self, host: TokenId) {
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("only multi-instance activities spawn")
        };
        let open = each.window.min(each.total);
        let until = open.min(each.begun + SPAWN_MAX);
        let begun = each.begun;
        if let Err(failure) = self.room_for((until - begun) as usize, &self.node_of(host).name) {
            self.incident(host, failure, Cue::Spawn);
            return;
        }
        for index in begun..until {
            self.spawn_run(host, index);
        }
        if until == open {
            self.emit(Event::TokenUncued { token: host });
        }
    }

    fn spawn_run(&mut self, host: TokenId, index: u32) {
        let it = self.instance.token(host);
        let (node, layer, status) = (it.node, it.layer, it.status.clone());
        self.create(node, host, Role::Run(index), Reads::Own(Some(layer)), status);
    }

    /// One run is complete.
    pub(crate) fn run_ended(&mut self, run: TokenId, index: u32) -> Result<(), Failure> {
        let host = self.instance_scope(run);
        match self.node_of(host).repeat.as_deref().expect("runs have a main token") {
            Repeat::Each(plan) => self.each_ended(run, host, index, plan),
            Repeat::Loop(plan) => self.loop_ended(run, host, plan),
        }
    }

    fn each_ended(
        &mut self,
        run: TokenId,
        host: TokenId,
        index: u32,
        plan: &'a EachPlan,
    ) -> Result<(), Failure> {
        let output = match &plan.output {
            None => None,
            Some((_, OutputItem::Variable(name))) => {
                let mut own = self.instance.own_layers(run);
                let value = own.find_map(|(_, layer)| layer.variables.get(name));
                Some(value.cloned().unwrap_or_default())
            }
            Some((_, OutputItem::Expression(program))) => {
                Some(self.eval(run, program).map_err(self.at(run, Part::Output))?)
            }
        };
        // Conditions see the run as complete, though a failure here leaves it open.
        let looks = plan.completion.is_some() || !plan.behavior.is_empty();
        let counts = if looks { self.counts_after(host) } else { Assignments::new() };
        let enough = match &plan.completion {
            None => false,
            Some(condition) => self.holds_with(run, condition, &counts)?,
        };
        let throws = self.behavior(run, host, plan, &counts)?;
        self.emit(Event::RunEnded { scope: host, index, output });
        self.end_run(run);
        for throw in throws {
            if self.tell_boundary(host, throw)? {
                continue;
            }
            self.throw_all(host, std::slice::from_ref(throw))?;
            // Whoever heard of it may have taken all of it away.
            if !self.instance.tokens.contains_key(&host) {
                return Ok(());
            }
        }
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        if enough || each.ended() == each.total {
            self.drain(host);
            self.finish_runs(host);
            return Ok(());
        }
        self.spawn_next(host);
        Ok(())
    }

    /// Opens the next run where there is room for one.
    fn spawn_next(&mut self, host: TokenId) {
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        if each.begun < each.total && each.begun - each.ended() < each.window {
            let next = each.begun;
            self.spawn_run(host, next);
        }
    }

    /// What conditions see of the counts once one more run is complete.
    fn counts_after(&self, host: TokenId) -> Assignments {
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        let count = |(name, tally): (&str, Tally)| {
            let now = i64::from(each.tally(tally));
            let then = match tally {
                Tally::Total | Tally::Created | Tally::Terminated => now,
                Tally::Active => now - 1,
                Tally::Completed => now + 1,
            };
            (Name::from(name), then.into())
        };
        self.plan.policy.counting.tallies().map(count).collect()
    }

    /// One run is taken away, and has no result.
    pub(crate) fn skip_run(&mut self, run: TokenId, index: u32, state: State) {
        let host = self.instance_scope(run);
        self.emit(Event::RunTerminated { scope: host, index });
        self.withdraw(run, state);
        self.spawn_next(host);
    }

    /// What the end of a run makes happen.
    fn behavior(
        &self,
        run: TokenId,
        host: TokenId,
        plan: &'a EachPlan,
        counts: &Assignments,
    ) -> Result<Vec<&'a Throw>, Failure> {
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        let mut throws = Vec::new();
        for (when, throw) in &plan.behavior {
            let now = match when {
                When::Each => true,
                When::First => each.completed == 0,
                When::If(condition) => self.holds_with(run, condition, counts)?,
            };
            if now {
                throws.push(throw);
            }
        }
        Ok(throws)
    }

    /// Takes an ended run away, unless it stays for compensation.
    fn end_run(&mut self, run: TokenId) {
        let node = self.node_of(run);
        if !self.keep_for_compensation(run, node) {
            self.cancel_scope(run);
            self.emit(Event::TokenGone { token: run, state: State::Done });
        }
    }

    /// No run is open and none will be. Should the rest fail, it is the main token that can be tried
    /// again: the last run is gone.
    fn finish_runs(&mut self, host: TokenId) {
        if let Err(failure) = self.runs_done(host) {
            self.fail(host, failure, Cue::Childless);
        }
    }

    pub(crate) fn runs_done(&mut self, host: TokenId) -> Result<(), Failure> {
        let node = self.node_of(host);
        match node.repeat.as_deref().expect("runs have a main token") {
            Repeat::Each(_) => self.each_done(host),
            Repeat::Loop(_) => self.repeat_done(host, node),
        }
    }

    /// All runs are complete, or enough of them.
    fn each_done(&mut self, host: TokenId) -> Result<(), Failure> {
        let node = self.node_of(host);
        let Some(Repeat::Each(plan)) = node.repeat.as_deref() else {
            unreachable!("the caller has seen the kind")
        };
        let ScopeKind::Each(each) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        if let Some((name, _)) = &plan.output {
            let list = Value::from(each.outputs.clone());
            self.check_value(&list).map_err(|why| {
                Failure::new(FailureKind::Repeat, format!("variable {name} would be {why}"))
            })?;
            let layer = self.instance.token(host).layer;
            let name = Arc::clone(name);
            if node.data().is_some_and(|it| it.gives_list) {
                self.give_data(layer, vec![(name, list)]);
            } else {
                self.write(layer, name, Some(list));
            }
        }
        self.repeat_done(host, node)
    }

    fn repeat_done(&mut self, host: TokenId, node: &'a Node) -> Result<(), Failure> {
        self.take_merged_status(host);
        if self.instance.token(host).role == Role::Compensation {
            self.undone(host);
            return Ok(());
        }
        let flows = self.choose(host, node)?;
        let enough = self.ad_hoc_is_complete(host, node)?;
        if node.compensation.is_some() && !self.instance.scope(host).compensations.is_empty() {
            let to = self.instance_scope(host);
            self.emit(Event::CompensationsMoved { from: host, to });
        }
        self.hand_back(host);
        self.release_performer(host);
        self.withdraw_guards(host);
        let scope = self.instance_scope(host);
        self.leave(host, node, if enough { &[] } else { &flows });
        if enough {
            self.complete_ad_hoc(scope);
        }
        Ok(())
    }

    fn open_loop(
        &mut self,
        token: TokenId,
        node: &'a Node,
        plan: &'a LoopPlan,
    ) -> Result<(), Failure> {
        if let Some(maximum) = &plan.maximum {
            self.positive(token, node, maximum, "maximum of the loop")?;
        }
        let begin = match &plan.condition {
            Some(condition) if plan.test_before => self.holds(token, condition)?,
            Some(_) | None => true,
        };
        self.open_runs(token, ScopeKind::Loop { runs: 0 });
        if begin {
            self.spawn_run(token, 0);
        } else {
            self.finish_runs(token);
        }
        Ok(())
    }

    /// What one round of a container has written is there for the next, or no round could do anything about
    /// the condition. It goes with the loop.
    fn carry_over(&mut self, run: TokenId, host: TokenId) {
        let mut inside: BTreeMap<Name, Value> = BTreeMap::new();
        for (_, layer) in self.instance.own_layers(run) {
            for (name, value) in &layer.variables {
                inside.entry(Arc::clone(name)).or_insert_with(|| value.clone());
            }
        }
        self.set_own(host, inside.into_iter().collect());
    }

    fn loop_ended(
        &mut self,
        run: TokenId,
        host: TokenId,
        plan: &'a LoopPlan,
    ) -> Result<(), Failure> {
        let node = self.node_of(host);
        let ScopeKind::Loop { runs } = self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        let below = match &plan.maximum {
            Some(maximum) => runs < self.positive(host, node, maximum, "maximum of the loop")?,
            None => true,
        };
        let again = below
            && match &plan.condition {
                Some(condition) => self.holds(run, condition)?,
                // Without a condition only the maximum ends it.
                None => plan.maximum.is_some(),
            };
        if again && node.element.container().is_some() && self.plan.policy.write == Write::Local {
            self.carry_over(run, host);
        }
        self.end_run(run);
        if again {
            self.spawn_run(host, runs);
        } else {
            self.finish_runs(host);
        }
        Ok(())
    }
}
