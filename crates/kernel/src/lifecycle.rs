//! The life of a token at a node: the order of its moments, stated once.
//!
//! | moment | what happens, in this order |
//! |---|---|
//! | [`arrive`](Run::arrive) | as many tokens are gathered as the node begins with; gate `ready`; gate `data` |
//! | [`ready`](Run::ready) | of an activity that is repeated: listeners before all runs, then the runs, each of which is ready in turn; gate `entry` |
//! | [`enter`](Run::enter) | performer; operators of containers; input mappings; declared data; listeners at the start |
//! | [`begin`](Run::begin) | restrictions on entry; boundary events; operators; the work of the element |
//! | [`work_done`](Run::work_done) | restrictions on completion; listeners at completion |
//! | [`completed`](Run::completed) | output mappings, if there are listeners at the end, which see what they wrote; these listeners |
//! | [`ask_to_leave`](Run::ask_to_leave) | gate `exit` |
//! | [`exit`](Run::exit) | restrictions on exit; the choice of flows; output mappings, if they are still to come; status, performer and boundary events end; the token goes on |
//!
//! A token is held at a gate, by the job of a listener, or by its work. The slot of its wait says at which
//! moment, and [`pass_gate`](Run::pass_gate) and [`listen`](Run::listen) go on from there; where something
//! failed, [`resume`](Run::resume) does so by the cue. The process itself has no gates, and its restrictions are
//! looked at before its listeners.
//!
//! What happens at a moment is done elsewhere: `listener`, `mapping`, `data`, `restriction`, `status`,
//! `trigger` (boundary events), `leave` (flows), and `element`, whose answer is a [`Step`].

use std::borrow::Cow;

use crate::{
    element::Step,
    plan::{Element, Moment, Node, RestrictionScope},
    run::Run,
    state::{Cue, ROOT, Role, State},
    vocabulary::{Event, Failure, Gate, Slot, TokenId, WaitFor},
};

impl<'a> Run<'a> {
    /// A token is looked at again, for this reason.
    pub(crate) fn resume(&mut self, token: TokenId, cue: Cue) -> Result<(), Failure> {
        match cue {
            Cue::Arrive => self.arrive(token),
            Cue::Enter => self.enter(token),
            Cue::Spawn => {
                self.spawn_runs(token);
                Ok(())
            }
            Cue::Childless => self.childless(token),
            Cue::Complete => self.work_done(token),
            Cue::Exit => self.exit(token),
            Cue::Throw => self.throw_late(token),
            Cue::Offer => {
                self.offer_again(token);
                Ok(())
            }
            Cue::Listen(moment, from) => self.listen_again(token, moment, from),
            // Whoever runs the code sees that it is due.
            Cue::Think => {
                self.emit(Event::TokenUncued { token });
                Ok(())
            }
        }
    }

    /// A token stands at a new node.
    pub(crate) fn arrive(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        // The main token consumes the ready event for all of its runs.
        let takes_gate = match self.instance.token(token).role {
            Role::Flow | Role::Branch(_) => true,
            Role::Run(_) | Role::Guard(_) | Role::Start | Role::Compensation => false,
        };
        // Who is sent inside by an operator needs nobody else.
        let gathers = node.start_quantity > 1 && !self.instance.bound.contains_key(&token);
        if takes_gate && gathers && !self.gather(token, node) {
            return Ok(());
        }
        if takes_gate && node.gates().ready {
            self.open(token, Slot::Gate(Gate::Ready), WaitFor::Gate(Gate::Ready));
            return Ok(());
        }
        if takes_gate { self.need_data(token) } else { self.ready(token) }
    }

    /// The token may begin once the data that it needs is there.
    fn need_data(&mut self, token: TokenId) -> Result<(), Failure> {
        if self.has_data(token) { self.ready(token) } else { Ok(()) }
    }

    /// All that the token needs is known.
    pub(crate) fn ready(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        let role = self.instance.token(token).role;
        if node.repeat.is_some() && !matches!(role, Role::Run(_)) {
            return self.listen(token, Moment::BeforeAll, 0);
        }
        if node.gates().entry && role != Role::Compensation {
            self.emit(Event::TokenState { token, state: State::Ready });
            self.open(token, Slot::Gate(Gate::Entry), WaitFor::Gate(Gate::Entry));
            return Ok(());
        }
        self.enter(token)
    }

    /// Someone decided that the token starts.
    pub(crate) fn enter(&mut self, token: TokenId) -> Result<(), Failure> {
        if token == ROOT {
            return self.enter_process();
        }
        if !self.take_performer(token) {
            return Ok(());
        }
        let node = self.node_of(token);
        if let Some(extras) = &node.extras {
            self.entered = Some((token, self.instance.token(token).status.clone()));
            if node.element.container().is_some() {
                self.operate(token, node, true)?;
            }
            self.map_inputs(token, &extras.inputs)?;
            self.declare(token, node)?;
            return self.listen(token, Moment::Start, 0);
        }
        self.begin(token)
    }

    /// The process is entered, as any container is, but it never waits for a decision.
    pub(crate) fn enter_process(&mut self) -> Result<(), Failure> {
        let root = self.node_of(ROOT);
        if self.instance.token(ROOT).status.is_none()
            && let status @ Some(_) = self.first_status()?
        {
            self.emit(Event::StatusSet { token: ROOT, status });
        }
        self.entered = Some((ROOT, self.instance.token(ROOT).status.clone()));
        self.operate(ROOT, root, true)?;
        self.declare(ROOT, root)?;
        self.check_restrictions(ROOT, RestrictionScope::Entry)?;
        self.listen(ROOT, Moment::Start, 0)
    }

    /// The token sets to work, now that the listeners have been called.
    pub(crate) fn begin(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        self.check_restrictions(token, RestrictionScope::Entry)?;
        if !node.boundary.is_empty() {
            self.watch(token, node)?;
        }
        // What comes in is applied before the operators of receive and decision tasks.
        let instant = matches!(node.element, Element::Send(_));
        let lasting = matches!(
            node.element,
            Element::Task
                | Element::Script { .. }
                | Element::BusinessRule(_)
                | Element::Work(_)
                | Element::Call(_)
        );
        if instant || lasting {
            self.operate(token, node, instant)?;
        }
        let step = self.enter_element(token, node)?;
        self.take_step(token, step)
    }

    /// Arms the boundary events of the activity, once for all of its runs.
    fn watch(&mut self, token: TokenId, node: &'a Node) -> Result<(), Failure> {
        let it = self.instance.token(token);
        match (it.role, it.scope) {
            (Role::Run(_), Some(main)) if self.instance.scope(main).watched => Ok(()),
            (Role::Run(_), Some(main)) => self.arm_boundary(main, node),
            _ => self.arm_boundary(token, node),
        }
    }

    /// Acts on what an element answered.
    pub(crate) fn take_step(&mut self, token: TokenId, step: Step) -> Result<(), Failure> {
        match step {
            Step::Wait => {
                self.emit(Event::TokenState { token, state: State::Busy });
                Ok(())
            }
            Step::Settled => Ok(()),
            Step::Leave => {
                // What the work wrote may have made a condition beside it true.
                if !self.instance.token(token).guards.is_empty() {
                    self.weigh_conditions();
                }
                if self.instance.tokens.contains_key(&token) {
                    self.work_done(token)?;
                }
                Ok(())
            }
        }
    }

    /// The token's work is done.
    pub(crate) fn work_done(&mut self, token: TokenId) -> Result<(), Failure> {
        if self.node_of(token).extras.is_none() {
            return self.exit(token);
        }
        self.check_restrictions(token, RestrictionScope::Completion)?;
        self.listen(token, Moment::Completion, 0)
    }

    /// The listeners that come before the output mappings have been called.
    pub(crate) fn completed(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        if !node.listeners(Moment::End).is_empty() && token != ROOT {
            self.hand_over(token, node)?;
        }
        self.listen(token, Moment::End, 0)
    }

    /// All that can be done in the node is done.
    pub(crate) fn ask_to_leave(&mut self, token: TokenId) -> Result<(), Failure> {
        let it = self.instance.token(token);
        if self.node_of(token).gates().exit && it.role != Role::Compensation {
            if it.state != State::Completed {
                self.emit(Event::TokenState { token, state: State::Completed });
            }
            self.open(token, Slot::Gate(Gate::Exit), WaitFor::Gate(Gate::Exit));
            return Ok(());
        }
        self.exit(token)
    }

    /// Someone decided that the token leaves.
    pub(crate) fn exit(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        self.check_restrictions(token, RestrictionScope::Exit)?;
        // Chosen before anything is taken down, so that a failure leaves all in place.
        let flows = match self.instance.token(token).role {
            Role::Flow | Role::Branch(_) | Role::Guard(_) => self.choose(token, node)?,
            Role::Run(_) | Role::Start | Role::Compensation => Cow::Borrowed(&[][..]),
        };
        // End listeners have seen what was handed over.
        if node.listeners(Moment::End).is_empty() {
            self.hand_over(token, node)?;
        }
        let enough = self.ad_hoc_is_complete(token, node)?;
        self.hand_back(token);
        self.release_performer(token);
        self.withdraw_guards(token);
        match self.instance.token(token).role {
            Role::Run(index) => self.run_ended(token, index),
            Role::Compensation => {
                let scope = self.instance_scope(token);
                self.withdraw(token, State::Done);
                self.settle(scope);
                Ok(())
            }
            Role::Flow | Role::Branch(_) | Role::Guard(_) | Role::Start => {
                let scope = self.instance_scope(token);
                self.leave(token, node, if enough { &[] } else { &flows });
                if enough {
                    self.complete_ad_hoc(scope);
                }
                Ok(())
            }
        }
    }

    /// Calls the listeners of a moment, from a position on, and goes on with what comes after them.
    pub(crate) fn listen(
        &mut self,
        token: TokenId,
        moment: Moment,
        from: u16,
    ) -> Result<(), Failure> {
        if !self.call_listeners(token, moment, from)? {
            return Ok(());
        }
        match moment {
            Moment::BeforeAll => self.open_repeat(token),
            Moment::Start if token == ROOT => self.open_process(),
            Moment::Start if self.has_happened(token) => self.work_done(token),
            Moment::Start => self.begin(token),
            Moment::Completion => self.completed(token),
            Moment::End if token == ROOT => {
                self.finish_process();
                Ok(())
            }
            Moment::End => self.ask_to_leave(token),
        }
    }

    /// Whether the token stands at an event that was waited for beside something else, an activity or
    /// an event-based gateway: it was never entered, it has happened.
    fn has_happened(&self, token: TokenId) -> bool {
        let element = &self.node_of(token).element;
        matches!(element, Element::Boundary(_))
            || matches!(element, Element::Catch(_) | Element::Receive(_))
                && self.instance.token(token).state == State::Busy
    }

    /// Looks at a gate that has been decided.
    pub(crate) fn pass_gate(&mut self, token: TokenId, gate: Gate) -> Result<(), Failure> {
        match gate {
            Gate::Ready => self.need_data(token),
            Gate::Data => self.ready(token),
            Gate::Entry => self.enter(token),
            Gate::Exit => self.exit(token),
        }
    }

    /// Where to go on after a failure at this gate was repaired.
    pub(crate) fn cue_of(gate: Gate) -> Cue {
        match gate {
            Gate::Ready | Gate::Data => Cue::Arrive,
            Gate::Entry => Cue::Enter,
            Gate::Exit => Cue::Exit,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use travertine_value::{Outcome, Program, Value};

    use crate::{
        Command, NodeId, Reach, WaitFor,
        plan::{
            Boundary, Data, Element, Extras, Gates, Listener, Listeners, Restriction,
            RestrictionScope, Results, Trigger,
        },
        testing::{Bench, Build, program},
    };

    /// A node with something at each moment says what is done in which order, gates and work included.
    #[test]
    fn a_node_goes_through_its_moments_in_one_order() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let say = |what: &str, value: Value| -> Program {
            let (what, said) = (what.to_owned(), Arc::clone(&said));
            program(move |_| {
                said.lock().unwrap().push(what.clone());
                Ok(Outcome { value: value.clone(), writes: Vec::new() })
            })
        };
        let listener = |what: &str| vec![Listener::Script(say(what, Value::Null))];
        let restriction = |what: &str, scope| Restriction {
            name: what.into(),
            scope,
            condition: say(what, true.into()),
        };
        let mut build = Build::new();
        let start = build.start(NodeId(0), "start");
        let task = build.job(NodeId(0), "task");
        let end = build.add(NodeId(0), "end", Element::Pass);
        build.chain(&[start, task]);
        let out = build.flow(task, end);
        build.flows[out.0 as usize].condition = Some(say("choice of flows", true.into()));
        let boundary = Boundary {
            attached_to: task,
            triggers: vec![Trigger::Signal { name: say("boundary event", "late".into()) }],
            all: false,
            interrupting: true,
            handler: None,
        };
        let boundary = build.add(NodeId(0), "late", Element::Boundary(boundary));
        build.flow(boundary, end);
        build.node(task).extras = Some(Box::new(Extras {
            gates: Gates { ready: true, entry: true, exit: true },
            inputs: vec![("in".into(), say("input mapping", 1.into()))],
            outputs: vec![("out".into(), say("output mapping", 2.into()))],
            operators: vec![("status".into(), say("operator", 3.into()))],
            restrictions: vec![
                restriction("restriction on entry", RestrictionScope::Entry),
                restriction("restriction on completion", RestrictionScope::Completion),
                restriction("restriction on exit", RestrictionScope::Exit),
            ],
            data: Data {
                own: vec![("own".into(), Some(say("declared data", 4.into())))],
                needs: vec![vec!["order".into()]],
                ..Data::default()
            },
            listeners: Listeners {
                before_all: listener("listener before all runs"),
                start: listener("listener at the start"),
                completion: listener("listener at completion"),
                end: listener("listener at the end"),
            },
            results: Results::default(),
            apart: false,
        }));
        let mut plan = build.plan();
        plan.status = vec![("status".into(), None)];
        let mut bench = Bench::started(plan);
        while let [wait, ..] = bench.waits("task")[..] {
            let on = Arc::clone(&bench.instance.waits[&wait].on);
            let what = if let WaitFor::Work(_) = &*on {
                "work".to_owned()
            } else if let WaitFor::Data { .. } = &*on {
                "gate for data".to_owned()
            } else {
                format!("{on:?}")
            };
            said.lock().unwrap().push(what);
            if let WaitFor::Data { .. } = &*on {
                let variables = vec![("order".into(), 1.into())];
                bench.ask(Command::Set { token: None, variables, reach: Reach::Layer }).unwrap();
            } else {
                bench.complete("task");
            }
        }
        assert!(bench.is_over(), "{}", bench.trace);
        expect_test::expect![[r"
            Gate(Ready)
            gate for data
            Gate(Entry)
            input mapping
            declared data
            listener at the start
            restriction on entry
            boundary event
            operator
            work
            restriction on completion
            listener at completion
            output mapping
            listener at the end
            Gate(Exit)
            restriction on completion
            restriction on exit
            choice of flows"]]
        .assert_eq(&said.lock().unwrap().join("\n"));
    }
}
