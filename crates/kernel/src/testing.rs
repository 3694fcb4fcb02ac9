//! Small plans, and a trace to compare them by.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a trace prints what is not worth a line as it is"
)]

use std::{fmt::Write as _, sync::Arc};

use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Value, Variables};

use travertine_value::time::Timestamp;

use crate::{
    Command, Event, Instance, Plan, Rejection, TokenId, Turn, WaitFor, WaitId, check_at_rest,
    handle,
    plan::{Container, Element, Flow, FlowId, Node, NodeId, Start, Work, WorkKind},
    replay,
};

/// A plan in the making. Node 0 is the process.
#[derive(Debug)]
pub(crate) struct Build {
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Flow>,
}

impl Build {
    pub(crate) fn new() -> Self {
        let process = Node::new("process", None, Element::Process(Container::default()));
        Self { nodes: vec![process], flows: Vec::new() }
    }

    pub(crate) fn add(&mut self, parent: NodeId, name: &str, element: Element) -> NodeId {
        self.nodes.push(Node::new(name, Some(parent), element));
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap())
    }

    pub(crate) fn start(&mut self, parent: NodeId, name: &str) -> NodeId {
        self.add(parent, name, Element::Start(Start::default()))
    }

    pub(crate) fn job(&mut self, parent: NodeId, name: &str) -> NodeId {
        self.add(parent, name, work(name))
    }

    pub(crate) fn flow(&mut self, from: NodeId, to: NodeId) -> FlowId {
        let name =
            format!("{}-{}", self.nodes[from.0 as usize].name, self.nodes[to.0 as usize].name);
        self.flows.push(Flow::new(&name, from, to));
        FlowId(u32::try_from(self.flows.len() - 1).unwrap())
    }

    pub(crate) fn chain(&mut self, nodes: &[NodeId]) {
        for pair in nodes.windows(2) {
            self.flow(pair[0], pair[1]);
        }
    }

    pub(crate) fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(crate) fn plan(self) -> Plan {
        Plan::new(self.nodes, self.flows)
    }
}

pub(crate) fn work(name: &str) -> Element {
    Element::Work(Work {
        kind: WorkKind::Job,
        job_type: Program::constant(name.into()),
        retries: None,
        fields: Vec::new(),
    })
}

/// A program made of a closure.
pub(crate) fn program(
    run: impl Fn(&dyn Variables) -> Result<Outcome, EvalError> + Send + Sync + 'static,
) -> Program {
    struct Closure<F>(F);
    impl<F> std::fmt::Debug for Closure<F> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("closure")
        }
    }
    impl<F> Evaluate for Closure<F>
    where
        F: Fn(&dyn Variables) -> Result<Outcome, EvalError> + Send + Sync,
    {
        fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
            (self.0)(variables)
        }
    }
    Program::new("closure", Arc::new(Closure(run)))
}

pub(crate) fn value(value: impl Fn(&dyn Variables) -> Value + Send + Sync + 'static) -> Program {
    program(move |it| Ok(Outcome { value: value(it), writes: Vec::new() }))
}

pub(crate) fn script(
    write: impl Fn(&dyn Variables) -> (Name, Value) + Send + Sync + 'static,
) -> Element {
    let program = program(move |it| {
        let (name, value) = write(it);
        Ok(Outcome { value: Value::Null, writes: vec![(name, Some(value))] })
    });
    Element::Script { program, result: None }
}

/// An instance at work, and everything that has happened to it.
pub(crate) struct Bench {
    pub(crate) plan: Plan,
    pub(crate) instance: Instance,
    pub(crate) log: Vec<Event>,
    pub(crate) trace: String,
}

impl Bench {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, instance: Instance::default(), log: Vec::new(), trace: String::new() }
    }

    pub(crate) fn started(plan: Plan) -> Self {
        let mut bench = Self::new(plan);
        bench.start(Vec::new());
        bench
    }

    pub(crate) fn start(&mut self, variables: Vec<(Name, Value)>) {
        self.ask(Command::Start { at: Vec::new(), variables, caller: None }).unwrap();
    }

    pub(crate) fn ask(&mut self, command: Command) -> Result<(), Rejection> {
        let before = self.instance.clone();
        let mut command = command;
        loop {
            writeln!(self.trace, "> {}", name(&command)).unwrap();
            let Turn { events, unfinished } =
                match handle(&self.plan, &mut self.instance, Timestamp::default(), command) {
                    Ok(turn) => turn,
                    Err(refusal) => {
                        assert_eq!(self.instance, before, "a refused command changes nothing");
                        return Err(refusal);
                    }
                };
            for event in &events {
                self.write(event);
            }
            self.log.extend(events);
            if !unfinished {
                break;
            }
            command = Command::Continue;
        }
        check_at_rest(&self.instance);
        assert_eq!(replay(&self.log), self.instance, "the log tells the whole state");
        Ok(())
    }

    /// The waits of the tokens at a node, oldest first.
    pub(crate) fn waits(&self, node: &str) -> Vec<WaitId> {
        let at = self.plan.find(node).unwrap();
        let waits = self.instance.waits.iter();
        waits
            .filter(|(_, it)| self.instance.tokens[&it.token].node == at)
            .map(|(id, _)| *id)
            .collect()
    }

    pub(crate) fn complete(&mut self, node: &str) {
        self.complete_with(node, Vec::new());
    }

    pub(crate) fn complete_with(&mut self, node: &str, variables: Vec<(Name, Value)>) {
        let wait = *self.waits(node).first().unwrap_or_else(|| panic!("nothing waits at {node}"));
        self.ask(Command::Complete { wait, variables }).unwrap();
    }

    /// The names of the nodes where something waits, in order of waiting.
    pub(crate) fn waiting(&self) -> Vec<&str> {
        let waits = self.instance.waits.values();
        waits.map(|it| self.at(it.token)).collect()
    }

    pub(crate) fn at(&self, token: TokenId) -> &str {
        &self.plan.node(self.instance.tokens[&token].node).name
    }

    pub(crate) fn is_over(&self) -> bool {
        self.instance.ending().is_some()
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Value> {
        self.instance.variables()?.get(name).cloned()
    }

    fn write(&mut self, event: &Event) {
        let name = |id: NodeId| Arc::clone(&self.plan.node(id).name);
        let out = &mut self.trace;
        match event {
            Event::TokenCreated { token, node, role, .. } => {
                writeln!(out, "token {} at {} ({role:?})", token.0, name(*node))
            }
            Event::TokenMoved { token, to, .. } => {
                writeln!(out, "token {} to {}", token.0, name(*to))
            }
            Event::TokenState { token, state } => writeln!(out, "token {} {state:?}", token.0),
            Event::TokenGone { token, state } => writeln!(out, "token {} gone, {state:?}", token.0),
            Event::WaitOpened { wait, token, on, .. } => {
                let what = match &**on {
                    WaitFor::Work(job) => format!("job {}", job.job_type),
                    other => format!("{other:?}"),
                };
                writeln!(out, "wait {}: token {} for {what}", wait.0, token.0)
            }
            Event::WaitClosed { wait } => writeln!(out, "wait {} closed", wait.0),
            Event::VariableSet { layer, name, value } => {
                writeln!(out, "{name} = {value} in {}", layer.0)
            }
            Event::TokenCued { .. } | Event::TokenUncued { .. } => Ok(()),
            other => writeln!(out, "{other:?}"),
        }
        .unwrap();
    }
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Start { .. } => "start",
        Command::Complete { .. } => "complete",
        Command::Raise { .. } => "raise",
        Command::Escalate { .. } => "escalate",
        Command::Fail { .. } => "fail",
        Command::NotGiven { .. } => "not given",
        Command::SetRetries { .. } => "set retries",
        Command::Modify { .. } => "modify",
        Command::Set { .. } => "set",
        Command::Retry { .. } => "retry",
        Command::Delivered { .. } => "delivered",
        Command::Continue => "continue",
        Command::Cancel => "cancel",
        Command::Decide { .. } => "decide",
        Command::NotCalled { .. } => "not called",
        Command::Block { .. } => "block",
        Command::Update { .. } => "update",
        Command::RefuseUpdate { .. } => "refuse update",
    }
}
