//! What is measured: small processes of known size.
//!
//! Each scenario does `size` units of work and nothing else that grows, so that the difference of
//! two sizes is the cost of the work alone.

pub mod disk;
mod expressions;
mod models;

use std::sync::Arc;

pub use expressions::COMPARISONS;

use travertine_kernel::{
    Command, Decision, Instance, NodeId, Plan, Turn, WaitFor, WaitId, handle,
    plan::{
        self, Container, Count, Each, Element, Flow, Node, OnEmpty, OutputItem, Repeat, Start,
        WorkKind,
    },
    time::Timestamp,
};
use travertine_value::{EvalError, Evaluate, Limits, Outcome, Program, Value, Variables};

/// A scenario: what its unit of work is, and how to do `size` of them.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What one unit is.
    pub unit: &'static str,
    /// The sizes to compare, small and large.
    pub sizes: (u32, u32),
    /// How much more a unit may cost at the large size, in percent.
    pub growth_max: u32,
    /// Whether the cost of a unit is the whole divided by the size, not that of one unit more.
    pub average: bool,
    /// The work.
    pub run: Work,
}

/// Does so many units of work, and answers with a number that depends on it.
pub type Work = fn(u32) -> usize;

/// Two ways to do the same unit of work, measured in one run.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// What is compared.
    pub name: &'static str,
    /// What one unit is.
    pub unit: &'static str,
    /// The two ways, each with what it is called.
    pub ways: [(&'static str, Work); 2],
    /// How much more the first may cost than the second, in percent; `None` where it is only told.
    pub ratio_max: Option<u32>,
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "straight",
        unit: "token move",
        sizes: (1_000, 10_000),
        growth_max: 120,
        average: false,
        run: straight,
    },
    Scenario {
        name: "fork-join",
        unit: "fork and join of two",
        sizes: (1_000, 10_000),
        growth_max: 120,
        average: false,
        run: fork_join,
    },
    Scenario {
        name: "nested",
        unit: "level of sub-process, a hundred times",
        sizes: (1, 64),
        growth_max: 100,
        average: true,
        run: nested,
    },
    Scenario {
        name: "multi-instance-script",
        unit: "run with an item and a result",
        sizes: (1_000, 100_000),
        growth_max: 120,
        average: false,
        run: multi_instance_script,
    },
    Scenario {
        name: "multi-instance-sequential",
        unit: "run with an item and a result",
        sizes: (1_000, 100_000),
        growth_max: 120,
        average: false,
        run: multi_instance_sequential,
    },
    Scenario {
        name: "multi-instance-jobs",
        unit: "job offered and completed",
        sizes: (1_000, 100_000),
        growth_max: 120,
        average: false,
        run: multi_instance_jobs,
    },
    Scenario {
        name: "function-operations",
        unit: "operation asked for, and called off or done",
        sizes: (1_000, 20_000),
        growth_max: 120,
        average: false,
        run: function_operations,
    },
    models::SCENARIOS[0],
    models::SCENARIOS[1],
    models::SCENARIOS[2],
    models::SCENARIOS[3],
];

struct Build {
    nodes: Vec<Node>,
    flows: Vec<Flow>,
}

impl Build {
    fn new() -> Self {
        let process = Node::new("process", None, Element::Process(Container::default()));
        Self { nodes: vec![process], flows: Vec::new() }
    }

    fn add(&mut self, parent: NodeId, element: Element) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("plans are small"));
        self.nodes.push(Node::new(&format!("n{}", id.0), Some(parent), element));
        id
    }

    fn then(&mut self, after: NodeId, element: Element) -> NodeId {
        let parent = self.nodes[after.0 as usize].parent.expect("it is inside the process");
        let id = self.add(parent, element);
        self.flow(after, id);
        id
    }

    fn flow(&mut self, from: NodeId, to: NodeId) {
        let name = format!("f{}", self.flows.len());
        self.flows.push(Flow::new(&name, from, to));
    }

    fn start(&mut self, parent: NodeId) -> NodeId {
        self.add(parent, Element::Start(Start::default()))
    }

    fn plan(self) -> Plan {
        Plan::new(self.nodes, self.flows)
    }
}

const PROCESS: NodeId = NodeId(0);

/// Runs an instance until it rests, and answers with the number of events.
fn run(plan: &Plan, instance: &mut Instance, mut command: Command) -> usize {
    let mut count = 0;
    loop {
        let turn = handle(plan, instance, Timestamp::default(), command);
        let Turn { events, unfinished } = turn.expect("the command can be done");
        count += events.len();
        if !unfinished {
            return count;
        }
        command = Command::Continue;
    }
}

fn start(variables: Vec<(Arc<str>, Value)>) -> Command {
    Command::Start { at: Vec::new(), variables, caller: None }
}

fn straight(size: u32) -> usize {
    let mut build = Build::new();
    let mut last = build.start(PROCESS);
    for _ in 0..100 {
        last = build.then(last, Element::Task);
    }
    let plan = build.plan();
    (0..size / 100).map(|_| run(&plan, &mut Instance::default(), start(Vec::new()))).sum()
}

fn fork_join(size: u32) -> usize {
    let mut build = Build::new();
    let mut last = build.start(PROCESS);
    for _ in 0..10 {
        let fork = build.then(last, Element::Parallel);
        let join = build.add(PROCESS, Element::Parallel);
        for _ in 0..2 {
            let task = build.then(fork, Element::Task);
            build.flow(task, join);
        }
        last = join;
    }
    let plan = build.plan();
    (0..size / 10).map(|_| run(&plan, &mut Instance::default(), start(Vec::new()))).sum()
}

fn nested(depth: u32) -> usize {
    let mut build = Build::new();
    let mut parent = PROCESS;
    for _ in 0..depth {
        let start = build.start(parent);
        parent = build.then(start, Element::SubProcess(Container::default()));
    }
    let inner = build.start(parent);
    build.then(inner, Element::Task);
    let plan = build.plan();
    (0..100).map(|_| run(&plan, &mut Instance::default(), start(Vec::new()))).sum()
}

fn each(count: Count, sequential: bool) -> Box<Repeat> {
    Box::new(Repeat::Each(Each {
        sequential,
        count,
        item: Some("item".into()),
        index: None,
        output: Some(("results".into(), OutputItem::Variable("result".into()))),
        completion: None,
        on_empty: OnEmpty::Error,
        batch: None,
        behavior: Vec::new(),
    }))
}

/// `result = item`, without the cost of a language.
#[derive(Debug)]
struct Copy;

impl Evaluate for Copy {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let item = variables.get("item").unwrap_or_default();
        Ok(Outcome { value: Value::Null, writes: vec![("result".into(), Some(item))] })
    }
}

#[derive(Debug)]
struct Read(&'static str);

impl Evaluate for Read {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let value = variables.get(self.0).unwrap_or_default();
        Ok(Outcome { value, writes: Vec::new() })
    }
}

fn scripts(size: u32, sequential: bool) -> usize {
    let mut build = Build::new();
    let begin = build.start(PROCESS);
    let program = Program::new("result = item", Arc::new(Copy));
    let script = build.then(begin, Element::Script { program, result: None });
    let items = Program::new("items", Arc::new(Read("items")));
    build.nodes[script.0 as usize].repeat = Some(each(Count::Collection(items), sequential));
    let plan = build.plan();
    let items: Vec<Value> = (0..i64::from(size)).map(Value::from).collect();
    run(&plan, &mut Instance::default(), start(vec![("items".into(), items.into())]))
}

fn multi_instance_script(size: u32) -> usize {
    scripts(size, false)
}

fn multi_instance_sequential(size: u32) -> usize {
    scripts(size, true)
}

fn multi_instance_jobs(size: u32) -> usize {
    let mut build = Build::new();
    let begin = build.start(PROCESS);
    let work = plan::Work {
        kind: WorkKind::Job,
        job_type: Program::constant("review".into()),
        retries: None,
        fields: Vec::new(),
    };
    let job = build.then(begin, Element::Work(work));
    let count = Count::Cardinality(Program::constant(i64::from(size).into()));
    build.nodes[job.0 as usize].repeat = Some(each(count, false));
    let plan = build.plan();
    let mut instance = Instance::default();
    let mut events = run(&plan, &mut instance, start(Vec::new()));
    let waits: Vec<WaitId> = instance.waits.keys().copied().collect();
    for wait in waits {
        events += complete(&plan, &mut instance, wait);
    }
    assert!(instance.ending().is_some(), "all jobs are done");
    events
}

fn complete(plan: &Plan, instance: &mut Instance, wait: WaitId) -> usize {
    run(plan, instance, Command::Complete { wait, variables: Vec::new() })
}

/// A function asks for all at once, then calls half of them off, the youngest first; the others are done.
fn function_operations(size: u32) -> usize {
    let plan = Plan::function("many");
    let mut instance = Instance::default();
    let mut events = run(&plan, &mut instance, start(Vec::new()));
    let ask = |number: u32| Decision::Ask {
        key: format!("sleep#{number}").as_str().into(),
        input: None,
        on: WaitFor::Timer { due: Timestamp::from_millis(1), repeat: None },
    };
    let drops = (0..size / 2).rev().map(|it| Decision::Drop { operation: 2 * it + 1 });
    for decisions in [(0..size).map(ask).collect(), drops.collect()] {
        events += run(&plan, &mut instance, Command::Decide { decisions, answers: Vec::new() });
    }
    let waits: Vec<WaitId> = instance.waits.keys().copied().collect();
    for wait in waits {
        events += complete(&plan, &mut instance, wait);
    }
    assert!(instance.waits.is_empty(), "all operations are over");
    events
}

#[cfg(test)]
mod tests {
    use super::{COMPARISONS, SCENARIOS};

    #[test]
    fn every_scenario_runs() {
        for scenario in SCENARIOS {
            assert!((scenario.run)(200.min(scenario.sizes.1)) > 0, "{}", scenario.name);
        }
        for (name, way) in COMPARISONS.iter().flat_map(|it| it.ways) {
            assert!(way(20) > 0, "{name}");
        }
    }
}
