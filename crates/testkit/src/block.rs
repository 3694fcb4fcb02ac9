//! Random processes made of blocks, so that what they mean can be said without tokens.
//!
//! A [`Block`] can be laid out as a plan for the kernel ([`Block::plan`]); the oracle in
//! [`oracle`](crate::oracle) says independently what such a process offers at any time.

use proptest::prelude::*;
use travertine_expr::{Program, Value};
use travertine_kernel::plan::{
    Boundary, Catch, Container, Count, Each, Element, EventSubProcess, Flow, FlowId, Loop, Merge,
    Node, NodeId, OnEmpty, Payload, Plan, Repeat, Start, Throw, Trigger, Work, WorkKind,
};

/// A piece of a process with one way in and one way out.
#[derive(Clone, Debug)]
pub enum Block {
    /// Work for someone outside.
    Job,
    /// Nothing.
    Pass,
    /// One after the other.
    Seq(Vec<Self>),
    /// All at once, then go on.
    Par(Vec<Self>),
    /// Only the one at this position.
    Xor(usize, Vec<Self>),
    /// Those whose bit is set; all where none is.
    Or(u8, Vec<Self>),
    /// All at once with variables of their own, then go on.
    Fan(Vec<Self>),
    /// A process within the process.
    Sub(Box<Self>),
    /// Several times.
    Each {
        /// How often.
        count: u32,
        /// Whether one at a time.
        sequential: bool,
        /// What.
        body: Box<Self>,
    },
    /// Several times, one after the other, by a loop.
    Loop {
        /// How often.
        count: u32,
        /// What.
        body: Box<Self>,
    },
    /// The first of several events decides what follows.
    Race(Vec<Self>),
    /// A sub-process with an event at its boundary, which can cut in.
    Guarded {
        /// Whether it ends the sub-process.
        interrupting: bool,
        /// What is inside.
        body: Box<Self>,
        /// What follows the event.
        handler: Box<Self>,
    },
    /// A sub-process with an event sub-process in it.
    Eventful {
        /// Whether it ends everything else in the sub-process.
        interrupting: bool,
        /// What is inside.
        body: Box<Self>,
        /// What the event sub-process does.
        handler: Box<Self>,
    },
    /// A sub-process whose errors are handled.
    Try {
        /// What is inside.
        body: Box<Self>,
        /// What follows an error.
        handler: Box<Self>,
    },
    /// An error, for the nearest `Try` around it.
    Throw,
    /// The end of everything in the sub-process.
    Stop,
}

/// Random processes. Errors and ends of everything do not meet in one process: which of the two is
/// first would be a matter of order, not of meaning.
pub fn block() -> impl Strategy<Value = Block> {
    let with_errors = tree(Just(Block::Throw).boxed());
    let with_stops = tree(Just(Block::Stop).boxed());
    prop_oneof![
        with_errors
            .prop_map(|body| Block::Try { body: Box::new(body), handler: Box::new(Block::Job) }),
        with_stops.prop_map(|body| Block::Sub(Box::new(body))),
    ]
}

fn tree(special: BoxedStrategy<Block>) -> BoxedStrategy<Block> {
    let leaf = prop_oneof![6 => Just(Block::Job), 2 => Just(Block::Pass), 1 => special];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let some = |least| prop::collection::vec(inner.clone(), least..4);
        let one = || inner.clone().prop_map(Box::new);
        prop_oneof![
            3 => some(0).prop_map(Block::Seq),
            2 => some(1).prop_map(Block::Par),
            1 => (any::<prop::sample::Index>(), some(1))
                .prop_map(|(pick, of)| Block::Xor(pick.index(of.len()), of)),
            1 => (any::<u8>(), some(1)).prop_map(|(mask, of)| Block::Or(mask, of)),
            1 => some(1).prop_map(Block::Fan),
            1 => one().prop_map(Block::Sub),
            1 => (1..4u32, any::<bool>(), one())
                .prop_map(|(count, sequential, body)| Block::Each { count, sequential, body }),
            1 => (1..3u32, one()).prop_map(|(count, body)| Block::Loop { count, body }),
            1 => some(1).prop_map(Block::Race),
            1 => (any::<bool>(), one(), one()).prop_map(|(interrupting, body, handler)| {
                Block::Guarded { interrupting, body, handler }
            }),
            1 => (any::<bool>(), one(), one()).prop_map(|(interrupting, body, handler)| {
                Block::Eventful { interrupting, body, handler }
            }),
            1 => (one(), one()).prop_map(|(body, handler)| Block::Try { body, handler }),
        ]
    })
    .boxed()
}

impl Block {
    /// The block as a process of its own.
    pub fn plan(&self) -> Plan {
        let process = Node::new("process", None, Element::Process(Container::default()));
        let mut layout = Layout { nodes: vec![process], flows: Vec::new() };
        layout.inside(NodeId(0), self);
        Plan::new(layout.nodes, layout.flows)
    }
}

struct Layout {
    nodes: Vec<Node>,
    flows: Vec<Flow>,
}

/// Where a block comes out: a node, and whether anything can follow it.
impl Layout {
    fn add(&mut self, parent: NodeId, kind: &str, element: Element) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("blocks are small"));
        self.nodes.push(Node::new(&format!("{kind}{}", id.0), Some(parent), element));
        id
    }

    fn then(&mut self, after: NodeId, kind: &str, element: Element) -> NodeId {
        let parent = self.nodes[after.0 as usize].parent.expect("blocks are inside a process");
        let id = self.add(parent, kind, element);
        self.flow(after, id);
        id
    }

    fn flow(&mut self, from: NodeId, to: NodeId) -> FlowId {
        let id = FlowId(u32::try_from(self.flows.len()).expect("blocks are small"));
        self.flows.push(Flow::new(&format!("f{}", id.0), from, to));
        id
    }

    fn inside(&mut self, parent: NodeId, block: &Block) {
        let start = self.add(parent, "start", Element::Start(Start::default()));
        self.lay(block, start);
    }

    /// Lays a block behind `after` and answers with its last node.
    fn lay(&mut self, block: &Block, after: NodeId) -> NodeId {
        match block {
            Block::Job => {
                let id = self.then(after, "job", Element::Pass);
                let name = self.nodes[id.0 as usize].name.to_string();
                self.nodes[id.0 as usize].element = Element::Work(Work {
                    kind: WorkKind::Job,
                    job_type: Program::constant(Value::from(name.as_str())),
                    retries: None,
                    fields: Vec::new(),
                });
                id
            }
            Block::Pass => self.then(after, "pass", Element::Task),
            Block::Seq(blocks) => blocks.iter().fold(after, |last, it| self.lay(it, last)),
            Block::Par(blocks) => self.split(after, Element::Parallel, Element::Parallel, blocks),
            Block::Fan(blocks) => {
                self.split(after, Element::FanOut, Element::FanIn(Merge::Last), blocks)
            }
            Block::Xor(pick, blocks) => {
                let (fork, flows, join) =
                    self.choice(after, Element::Exclusive, Element::Exclusive, blocks);
                for (position, flow) in flows.iter().enumerate() {
                    self.condition(*flow, position == *pick);
                }
                self.nodes[fork.0 as usize].default = None;
                join
            }
            Block::Or(mask, blocks) => {
                let (_, flows, join) =
                    self.choice(after, Element::Inclusive, Element::Inclusive, blocks);
                for (position, flow) in flows.iter().enumerate() {
                    self.condition(*flow, chosen(*mask, blocks.len(), position));
                }
                join
            }
            Block::Sub(body) => self.sub(after, "sub", body),
            Block::Each { count, sequential, body } => {
                let sub = self.sub(after, "each", body);
                self.nodes[sub.0 as usize].repeat = Some(Box::new(Repeat::Each(Each {
                    sequential: *sequential,
                    count: Count::Cardinality(Program::constant(i64::from(*count).into())),
                    item: None,
                    index: None,
                    output: None,
                    completion: None,
                    on_empty: OnEmpty::Complete,
                    batch: None,
                    behavior: Vec::new(),
                })));
                sub
            }
            Block::Loop { count, body } => {
                let sub = self.sub(after, "loop", body);
                self.nodes[sub.0 as usize].repeat = Some(Box::new(Repeat::Loop(Loop {
                    condition: None,
                    test_before: false,
                    maximum: Some(Program::constant(i64::from(*count).into())),
                })));
                sub
            }
            Block::Race(blocks) => {
                let race = self.then(after, "race", Element::EventBased);
                let merge = self.add(self.parent(race), "merge", Element::Exclusive);
                for block in blocks {
                    let catch = self.then(race, "event", Element::Pass);
                    let triggers = vec![self.signal(catch)];
                    self.nodes[catch.0 as usize].element =
                        Element::Catch(Catch { triggers, all: false });
                    let last = self.lay(block, catch);
                    self.flow(last, merge);
                }
                merge
            }
            Block::Guarded { interrupting, body, handler } => {
                // A handler that does not interrupt runs beside what follows, so it is kept inside.
                let outer = (!interrupting).then(|| {
                    let sub = self.then(after, "outer", Element::SubProcess(Container::default()));
                    let start = self.add(sub, "start", Element::Start(Start::default()));
                    (sub, start)
                });
                let guarded = self.sub(outer.map_or(after, |(_, start)| start), "guarded", body);
                let boundary = self.add(self.parent(guarded), "boundary", Element::Pass);
                let triggers = vec![self.signal(boundary)];
                self.nodes[boundary.0 as usize].element = Element::Boundary(Boundary {
                    attached_to: guarded,
                    triggers,
                    all: false,
                    interrupting: *interrupting,
                    handler: None,
                });
                let last = self.lay(handler, boundary);
                match outer {
                    Some((sub, _)) => sub,
                    None => self.merge(guarded, last),
                }
            }
            Block::Eventful { interrupting, body, handler } => {
                let sub = self.sub(after, "eventful", body);
                let event = self.add(sub, "event-sub", Element::Pass);
                let start = self.add(event, "event-start", Element::Pass);
                let triggers = vec![self.signal(start)];
                self.nodes[start.0 as usize].element =
                    Element::Start(Start { triggers, all: false, with: Vec::new() });
                self.nodes[event.0 as usize].element = Element::EventSubProcess(EventSubProcess {
                    container: Container::default(),
                    start,
                    interrupting: *interrupting,
                });
                self.lay(handler, start);
                sub
            }
            Block::Try { body, handler } => {
                let sub = self.sub(after, "try", body);
                let boundary = self.add(
                    self.parent(sub),
                    "catch",
                    Element::Boundary(Boundary {
                        attached_to: sub,
                        triggers: vec![Trigger::Error {
                            code: None,
                            code_variable: None,
                            message_variable: None,
                        }],
                        all: false,
                        interrupting: true,
                        handler: None,
                    }),
                );
                let last = self.lay(handler, boundary);
                self.merge(sub, last)
            }
            Block::Throw => {
                let error = Throw::Error {
                    code: Some("oops".into()),
                    message: None,
                    payload: Payload::default(),
                };
                self.then(after, "throw", Element::Throw(vec![error]))
            }
            Block::Stop => self.then(after, "stop", Element::Throw(vec![Throw::Terminate])),
        }
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node.0 as usize].parent.expect("blocks are inside a process")
    }

    fn sub(&mut self, after: NodeId, kind: &str, body: &Block) -> NodeId {
        let sub = self.then(after, kind, Element::SubProcess(Container::default()));
        self.inside(sub, body);
        sub
    }

    fn merge(&mut self, left: NodeId, right: NodeId) -> NodeId {
        let merge = self.then(left, "merge", Element::Exclusive);
        self.flow(right, merge);
        merge
    }

    fn split(&mut self, after: NodeId, fork: Element, join: Element, blocks: &[Block]) -> NodeId {
        self.choice(after, fork, join, blocks).2
    }

    fn choice(
        &mut self,
        after: NodeId,
        fork: Element,
        join: Element,
        blocks: &[Block],
    ) -> (NodeId, Vec<FlowId>, NodeId) {
        let fork = self.then(after, "fork", fork);
        let join = self.add(self.parent(fork), "join", join);
        let mut flows = Vec::new();
        for block in blocks {
            // A node at the head of each branch, so that even an empty one has a flow of its own.
            let head = self.then(fork, "head", Element::Pass);
            flows.push(FlowId(u32::try_from(self.flows.len() - 1).expect("blocks are small")));
            let last = self.lay(block, head);
            self.flow(last, join);
        }
        (fork, flows, join)
    }

    fn condition(&mut self, flow: FlowId, holds: bool) {
        self.flows[flow.0 as usize].condition = Some(Program::constant(holds.into()));
    }

    fn signal(&self, node: NodeId) -> Trigger {
        let name = Value::from(&*self.nodes[node.0 as usize].name);
        Trigger::Signal { name: Program::constant(name) }
    }
}

/// Whether an inclusive choice takes the branch at `position`.
pub(crate) fn chosen(mask: u8, branches: usize, position: usize) -> bool {
    let all = (1u8 << branches) - 1;
    mask & all == 0 || mask & (1 << position) != 0
}
