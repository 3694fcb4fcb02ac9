//! Random processes made of blocks, so that what they mean can be said without tokens.
//!
//! A [`Block`] can be laid out as a plan for the kernel ([`Block::plan`]); the oracle in
//! [`oracle`](crate::oracle) says independently what such a process offers at any time.

use std::sync::Arc;

use proptest::prelude::*;
use travertine_kernel::plan::{
    Activation, AdHoc, Boundary, Call, Catch, Changes, Container, Count, Data, Each, Element,
    EventSubProcess, Extras, Flow, FlowId, Gates, Listener, Listeners, Loop, Merge, Message, Node,
    NodeId, OnEmpty, Payload, Plan, Repeat, Start, Throw, TimerKind, Trigger, Work, WorkKind,
};
use travertine_value::{EvalError, Evaluate, Limits, Outcome, Program, Value, Variables};

/// A piece of a process with one way in and one way out.
#[derive(Clone, Debug)]
pub enum Block {
    /// Work for someone outside.
    Job,
    /// Nothing.
    Pass,
    /// Work of another process.
    Call,
    /// A condition that holds.
    Holds,
    /// Work that waits for its gates, and for data that nobody gives: four times someone must say
    /// that it goes on, and once that it is done.
    Gated,
    /// One event with several definitions, of which it needs one or all.
    Events {
        /// How many, up to three.
        count: usize,
        /// Whether all of them must happen.
        all: bool,
    },
    /// Work that tells of itself by an escalation, which is work for another beside it.
    Told,
    /// Work that takes several tokens at a time from something that gives many.
    Lots {
        /// How many tokens it takes to begin.
        take: u32,
        /// How often it begins.
        times: u32,
    },
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
    /// A process of its own, called inside.
    Gosub(Box<Self>),
    /// A sub-process with data and mappings of its own, and with a listener before and after.
    Dressed(Box<Self>),
    /// In no order, or one after the other.
    AdHoc {
        /// Whether one at a time.
        sequential: bool,
        /// What.
        bodies: Vec<Self>,
    },
    /// A complex gateway: goes on when so many are done, and lets the others end.
    Enough {
        /// How many.
        need: usize,
        /// Of what.
        branches: Vec<Self>,
        /// What follows.
        then: Box<Self>,
    },
    /// Something that is done, and then undone.
    Undone {
        /// Whether by an event sub-process inside, and not by what a boundary event leads to.
        inside: bool,
        /// Whether whoever undoes waits for it.
        wait: bool,
        /// What is done.
        body: Box<Self>,
        /// What undoes it.
        handler: Box<Self>,
    },
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
    /// A sub-process whose errors are handled, or escalations, or which is cancelled.
    Try {
        /// Which of them.
        alarm: Alarm,
        /// What is inside.
        body: Box<Self>,
        /// What follows an error.
        handler: Box<Self>,
    },
    /// An alarm, for the nearest `Try` around it.
    Throw(Alarm),
    /// The end of everything in the sub-process.
    Stop,
}

/// What ends a sub-process before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// An error.
    Error,
    /// An escalation to a handler that interrupts.
    Escalation,
    /// The cancellation of a transaction.
    Cancel,
}

/// Random processes. Alarms of several kinds and ends of everything do not meet in one process: which
/// of them is first would be a matter of order, not of meaning.
pub fn block() -> impl Strategy<Value = Block> {
    let with = |alarm| {
        tree(Block::Throw(alarm), alarm).prop_map(move |body| Block::Try {
            alarm,
            body: Box::new(body),
            handler: Box::new(Block::Job),
        })
    };
    let with_stops = tree(Block::Stop, Alarm::Error);
    prop_oneof![
        2 => with(Alarm::Error),
        1 => with(Alarm::Escalation),
        1 => with(Alarm::Cancel),
        2 => with_stops.prop_map(|body| Block::Sub(Box::new(body))),
    ]
}

fn tree(special: Block, alarm: Alarm) -> BoxedStrategy<Block> {
    let leaf = prop_oneof![
        8 => Just(Block::Job),
        2 => Just(Block::Pass),
        1 => Just(special),
        1 => Just(Block::Call),
        1 => Just(Block::Holds),
        1 => Just(Block::Gated),
        1 => Just(Block::Told),
        1 => (1..4usize, any::<bool>()).prop_map(|(count, all)| Block::Events { count, all }),
        1 => (1..4u32, 1..3u32).prop_map(|(take, times)| Block::Lots { take, times }),
    ];
    leaf.prop_recursive(5, 24, 3, move |inner| {
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
            1 => one().prop_map(Block::Gosub),
            1 => one().prop_map(Block::Dressed),
            1 => (any::<bool>(), some(1))
                .prop_map(|(sequential, bodies)| Block::AdHoc { sequential, bodies }),
            1 => (any::<prop::sample::Index>(), some(1), one()).prop_map(|(need, of, then)| {
                Block::Enough { need: need.index(of.len()) + 1, branches: of, then }
            }),
            1 => (any::<bool>(), any::<bool>(), one(), one()).prop_map(
                |(inside, wait, body, handler)| Block::Undone { inside, wait, body, handler }
            ),
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
            1 => (one(), one())
                .prop_map(move |(body, handler)| Block::Try { alarm, body, handler }),
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
            Block::Job => self.then(after, "job", Element::Work(work())),
            Block::Pass => self.then(after, "pass", Element::Task),
            Block::Call => {
                let definition = Program::constant("other".into());
                let call =
                    Call { definition, binding: None, computed: None, all_in: true, all_out: true };
                self.then(after, "call", Element::Call(call))
            }
            Block::Holds => {
                let when = Program::constant(true.into());
                let (variables, changes) = (Vec::new(), Changes::ALL);
                let triggers = vec![Trigger::Condition { when, variables, changes }];
                self.then(after, "holds", Element::Catch(Catch { triggers, all: false }))
            }
            Block::Gated => {
                let id = self.then(after, "gated", Element::Work(work()));
                self.node(id).extras = Some(Box::new(Extras {
                    gates: Gates { ready: true, entry: true, exit: true },
                    data: Data { needs: vec![vec!["nothing".into()]], ..Data::default() },
                    ..Extras::default()
                }));
                id
            }
            Block::Events { count, all } => {
                let id = self.then(after, "events", Element::Pass);
                let message = Message { name: Program::constant("m".into()), correlation: vec![] };
                let when = Program::constant("PT1H".into());
                let timer = Trigger::Timer { kind: TimerKind::Duration, when };
                let mut triggers = vec![self.signal(id), Trigger::Message(message), timer];
                triggers.truncate(*count);
                self.node(id).element = Element::Catch(Catch { triggers, all: *all });
                id
            }
            Block::Told => {
                let code = || Some("note".into());
                let (outer, start) = self.open(after, "told");
                let (inner, start) = self.open(start, "tells");
                let throw = Throw::Escalation { code: code(), payload: Payload::default() };
                let throw = self.then(start, "tell", Element::Throw(vec![throw]));
                self.then(throw, "job", Element::Work(work()));
                let boundary = Element::Boundary(Boundary {
                    attached_to: inner,
                    triggers: vec![Trigger::Escalation { code: code(), code_variable: None }],
                    all: false,
                    interrupting: false,
                    handler: None,
                });
                let boundary = self.add(outer, "heard", boundary);
                self.then(boundary, "job", Element::Work(work()));
                outer
            }
            Block::Lots { take, times } => {
                let (sub, start) = self.open(after, "lots");
                let give = self.then(start, "give", Element::Task);
                self.node(give).completion_quantity = take * times;
                let job = self.then(give, "job", Element::Work(work()));
                self.node(job).start_quantity = *take;
                sub
            }
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
            Block::Gosub(body) => {
                let gosub = self.then(after, "gosub", Element::Pass);
                let process = self.add(gosub, "process", Element::Process(Container::default()));
                self.node(process).parent = None;
                self.node(gosub).element = Element::Gosub { process };
                self.inside(process, body);
                gosub
            }
            Block::Dressed(body) => {
                let sub = self.sub(after, "dressed", body);
                let one = || Program::constant(1_i64.into());
                let listener = || vec![Listener::Work(work())];
                self.node(sub).extras = Some(Box::new(Extras {
                    inputs: vec![("given".into(), one())],
                    outputs: vec![("made".into(), one())],
                    data: Data { own: vec![("own".into(), Some(one()))], ..Data::default() },
                    listeners: Listeners {
                        start: listener(),
                        end: listener(),
                        ..Listeners::default()
                    },
                    ..Extras::default()
                }));
                sub
            }
            Block::AdHoc { sequential, bodies } => {
                let ad_hoc = Element::AdHoc(AdHoc {
                    container: Container::default(),
                    activation: Activation::All,
                    sequential: *sequential,
                    completion: None,
                    cancel_remaining: true,
                    performer: None,
                });
                let ad_hoc = self.then(after, "ad-hoc", ad_hoc);
                for body in bodies {
                    let sub = Element::SubProcess(Container::default());
                    let sub = self.add(ad_hoc, "any", sub);
                    self.inside(sub, body);
                }
                ad_hoc
            }
            Block::Enough { need, branches, then } => {
                let (sub, start) = self.open(after, "enough");
                let need = i64::try_from(*need).expect("blocks are small");
                let activation = Program::new(&format!("{need}"), Arc::new(AtLeast(need)));
                let join = Element::Complex { activation };
                let join = self.split(start, Element::Parallel, join, branches);
                self.lay(then, join);
                sub
            }
            Block::Undone { inside, wait, body, handler } => {
                let (outer, start) = self.open(after, "undone");
                let work = self.sub(start, "work", body);
                if *inside {
                    let event = self.add(work, "undo", Element::Pass);
                    let triggers = vec![Trigger::Compensation];
                    let start = Start { triggers, all: false, with: Vec::new() };
                    let start = self.add(event, "undo-start", Element::Start(start));
                    self.node(event).element = Element::EventSubProcess(EventSubProcess {
                        container: Container::default(),
                        start,
                        interrupting: true,
                    });
                    self.lay(handler, start);
                } else {
                    let undo = Element::SubProcess(Container::default());
                    let undo = self.add(outer, "undo", undo);
                    self.node(undo).for_compensation = true;
                    self.inside(undo, handler);
                    let boundary = Element::Boundary(Boundary {
                        attached_to: work,
                        triggers: vec![Trigger::Compensation],
                        all: false,
                        interrupting: false,
                        handler: Some(undo),
                    });
                    self.add(outer, "undo-at", boundary);
                }
                let throw = Throw::Compensation { activity: None, wait: *wait };
                self.then(work, "undoes", Element::Throw(vec![throw]));
                outer
            }
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
                    self.node(catch).element = Element::Catch(Catch { triggers, all: false });
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
            Block::Try { alarm, body, handler } => {
                let sub = self.sub(after, "try", body);
                if *alarm == Alarm::Cancel {
                    self.node(sub).element = Element::Transaction(Container::default());
                }
                let trigger = match alarm {
                    Alarm::Error => {
                        Trigger::Error { code: None, code_variable: None, message_variable: None }
                    }
                    Alarm::Escalation => Trigger::Escalation { code: None, code_variable: None },
                    Alarm::Cancel => Trigger::Cancel,
                };
                let boundary = self.add(
                    self.parent(sub),
                    "catch",
                    Element::Boundary(Boundary {
                        attached_to: sub,
                        triggers: vec![trigger],
                        all: false,
                        interrupting: true,
                        handler: None,
                    }),
                );
                let last = self.lay(handler, boundary);
                self.merge(sub, last)
            }
            Block::Throw(alarm) => {
                let (code, payload) = (Some("oops".into()), Payload::default());
                let throw = match alarm {
                    Alarm::Error => Throw::Error { code, message: None, payload },
                    Alarm::Escalation => Throw::Escalation { code, payload },
                    Alarm::Cancel => Throw::Cancel,
                };
                self.then(after, "throw", Element::Throw(vec![throw]))
            }
            Block::Stop => self.then(after, "stop", Element::Throw(vec![Throw::Terminate])),
        }
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// A sub-process and its start.
    fn open(&mut self, after: NodeId, kind: &str) -> (NodeId, NodeId) {
        let sub = self.then(after, kind, Element::SubProcess(Container::default()));
        (sub, self.add(sub, "start", Element::Start(Start::default())))
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

fn work() -> Work {
    let job_type = Program::constant("work".into());
    Work { kind: WorkKind::Job, job_type, retries: None, fields: Vec::new() }
}

/// Whether so many tokens have come to a complex gateway.
#[derive(Debug)]
struct AtLeast(i64);

impl Evaluate for AtLeast {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let count = variables.get("activationCount").as_ref().and_then(Value::as_i64);
        let value = count.is_some_and(|it| it >= self.0).into();
        Ok(Outcome { value, writes: Vec::new() })
    }
}

/// Whether an inclusive choice takes the branch at `position`.
pub(crate) fn chosen(mask: u8, branches: usize, position: usize) -> bool {
    let all = (1u8 << branches) - 1;
    mask & all == 0 || mask & (1 << position) != 0
}
