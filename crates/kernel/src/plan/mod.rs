//! A process definition, checked and lowered: what the kernel runs.
//!
//! Whoever lowers a model fills in [`Node`]s and [`Flow`]s and hands them to [`Plan::new`], which
//! works out everything that can be known before running: adjacency, what is attached to what,
//! where a container starts, and from where an inclusive join can be reached.

mod element;
mod kind;
mod reach;

use std::sync::Arc;

use travertine_value::{Limits, Name, Program};

pub use element::{
    Activation, AdHoc, Boundary, BusinessRule, Call, Catch, Changes, Container, Count, Each,
    Element, EventSubProcess, Loop, Merge, Message, OnEmpty, OutputItem, Payload, Repeat, Send,
    Start, TO, Throw, TimerKind, Trigger, When, Work, WorkKind,
};

pub use kind::ElementKind;

/// A position in [`Plan::nodes`].
///
/// ```
/// # use travertine_kernel::{Destination, NodeId};
/// let pack = NodeId(3);
/// assert_eq!(Destination::before(pack).at, pack);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A position in [`Plan::flows`].
///
/// ```
/// # use travertine_kernel::{Destination, FlowId, NodeId};
/// let join = Destination { via: Some(FlowId(4)), ..Destination::before(NodeId(3)) };
/// assert_eq!(join.via, Some(FlowId(4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A graph of nodes. Node 0 is the process itself; processes it calls as gosubs are further
/// container nodes without a parent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The flows between them.
    pub flows: Vec<Flow>,
    /// What people call this version.
    pub version_tag: Option<Name>,
    /// The form that people fill in to start it.
    pub start_form: Option<FormLink>,
    /// The choices that dialects make differently.
    pub policy: Policy,
    /// The status attributes every token carries, with their first values.
    pub status: Vec<(Name, Option<Program>)>,
    /// What messages of one conversation agree on.
    pub keys: Vec<Key>,
    /// How many steps an instance may take before someone must look at it.
    pub steps_max: Option<u64>,
    /// How many tokens an instance may have at a time, where the process says.
    pub tokens_max: Option<u64>,
    /// How many bytes its variables may have in all, where the process says.
    pub data_max: Option<u64>,
    /// How many instances may begin in a second without anyone outside asking, where the process says.
    pub starts_max: Option<u64>,
    /// How many steps one turn may take.
    pub turn_steps_max: u32,
    /// What one run of an expression or script may cost.
    pub limits: Limits,
    /// The names of the messages that somebody in it waits for, in order. What only variables tell is not among them.
    pub hears: Vec<Name>,
    pub(crate) restricted: bool,
}

/// A form that is deployed apart from the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormLink {
    /// Its id.
    pub id: Name,
    /// Which version: see [`Call::binding`].
    pub binding: Option<Name>,
}

/// Where a kind of message has a property that all messages of a conversation agree on.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key of the conversation: the variable of the process that takes the properties.
    pub name: Name,
    /// The name of the message.
    pub message: Name,
    /// The property.
    pub property: Name,
    /// Its value, worked out over what goes with the message.
    pub path: Program,
}

/// A place where a token can stand.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its id in the source.
    pub name: Name,
    /// Its name for people.
    pub label: Option<Name>,
    /// The container it lies in; `None` for processes.
    pub parent: Option<NodeId>,
    /// What it does.
    pub element: Element,
    /// What the model has there.
    pub kind: ElementKind,
    /// Whether it is reached only by compensation.
    pub for_compensation: bool,
    /// The flow to take when no condition holds.
    pub default: Option<FlowId>,
    /// How many tokens it takes to begin.
    pub start_quantity: u32,
    /// How many tokens leave by each flow.
    pub completion_quantity: u32,
    /// Runs the activity several times.
    pub repeat: Option<Box<Repeat>>,
    /// What few nodes have.
    pub extras: Option<Box<Extras>>,

    /// The flows that leave it, in the order they were drawn. Worked out by [`Plan::new`], like
    /// all that follows.
    pub outgoing: Vec<FlowId>,
    /// The flows that arrive at it, in the order they were drawn.
    pub incoming: Vec<FlowId>,
    /// The boundary events attached to it; the compensation boundary apart.
    pub boundary: Vec<NodeId>,
    /// Its compensation boundary event.
    pub compensation: Option<NodeId>,
    /// Whether any flow that leaves it has a condition.
    pub(crate) conditional: bool,
    /// Whether it performs the activities of a sequential ad-hoc sub-process.
    pub(crate) performs: bool,
    /// The flow by which every token leaves at once, where the node can do nothing else.
    pub(crate) straight: Option<FlowId>,
}

/// What few nodes have: gates, mappings, operators, restrictions, listeners.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Where a decision from outside is asked for.
    pub gates: Gates,
    /// Evaluated on entry into a layer of the activity's own.
    pub inputs: Vec<(Name, Program)>,
    /// Evaluated on exit in the activity's layer, written to the layer around it.
    pub outputs: Vec<(Name, Program)>,
    /// Changes of the token's status.
    pub operators: Vec<(Name, Program)>,
    /// Conditions on the token's status.
    pub restrictions: Vec<Restriction>,
    /// The data it declares, and how that flows.
    pub data: Data,
    /// What is called around its work.
    pub listeners: Listeners,
    /// What its work brings.
    pub results: Results,
    /// At a boundary event that does not interrupt: whether what it leads to has variables of its own, which
    /// are gone at its end.
    pub apart: bool,
}

/// What is known of what the work of a node brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The variable that has all of it, from which outputs are mapped. Where the work does not bring it, all
    /// that it brings is written as it is, besides what is mapped.
    pub response: Option<Name>,
    /// What it must bring.
    pub expected: Vec<Name>,
}

/// The data of a node (BPMN 2.0, 10.4). Data is available where it is not null.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Variables of its own with their first values, made on entry unless they are there already.
    /// What its work brings under these names stays with it.
    pub own: Vec<(Name, Option<Program>)>,
    /// Sets of variables; it is not ready before all of one set are available. Without sets it
    /// needs nothing.
    pub needs: Vec<Vec<Name>>,
    /// The variable that takes what comes with each of its triggers.
    pub contents: Vec<Option<Name>>,
    /// Evaluated on exit. What is available is written to the nearest layer that has the name.
    pub outputs: Vec<(Name, Program)>,
    /// Whether the list of results of a multi-instance activity is such an output too.
    pub gives_list: bool,
}

impl Data {
    /// Whether the variable belongs to the node itself.
    pub(crate) fn owns(&self, name: &str) -> bool {
        self.own.iter().any(|(it, _)| &**it == name)
            || self.contents.iter().flatten().any(|it| &**it == name)
    }
}

/// What is called around the work of a node, moment by moment, each in order.
#[derive(Clone, Debug, Default)]
pub struct Listeners {
    /// Before the runs of a multi-instance activity or a loop are opened.
    pub before_all: Vec<Listener>,
    /// After the input mappings, before the work and before its boundary events are armed.
    pub start: Vec<Listener>,
    /// After the work, before the output mappings.
    pub completion: Vec<Listener>,
    /// After the output mappings, before the node is left.
    pub end: Vec<Listener>,
}

impl Listeners {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        let Self { before_all, start, completion, end } = self;
        [before_all, start, completion, end].iter().all(|it| it.is_empty())
    }
}

/// Something that is called around the work of a node.
#[derive(Clone, Debug)]
pub enum Listener {
    /// A job; the token waits until it is done.
    Work(Work),
    /// A script, or an expression whose value nobody asks for.
    Script(Program),
}

/// When a listener is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the runs of a multi-instance activity or a loop are opened.
    BeforeAll,
    /// After the input mappings, before the work.
    Start,
    /// After the work, before the output mappings.
    Completion,
    /// After the output mappings, before the node is left.
    End,
}

/// Where a decision from outside is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// Before it is ready: all that it needs to know is known.
    pub ready: bool,
    /// Before it is entered.
    pub entry: bool,
    /// Before it is left.
    pub exit: bool,
}

/// A condition that a token's status must keep.
#[derive(Clone, Debug)]
pub struct Restriction {
    /// Its id, for people.
    pub name: Name,
    /// When it is checked.
    pub scope: RestrictionScope,
    /// What must hold.
    pub condition: Program,
}

/// When a restriction is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestrictionScope {
    /// On entry.
    Entry,
    /// On completion and on exit.
    Completion,
    /// On exit.
    Exit,
    /// On entry, completion and exit, of the node and of everything inside it.
    Full,
}

/// A way from one node to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its id in the source.
    pub name: Name,
    /// Where it leaves.
    pub from: NodeId,
    /// Where it arrives.
    pub to: NodeId,
    /// When it may be taken; `None` is always.
    pub condition: Option<Program>,
}

/// The choices that dialects make differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where a write goes.
    pub write: Write,
    /// What of a sub-process's variables its parent sees at the end.
    pub scope_output: ScopeOutput,
    /// What becomes of an error nobody catches.
    pub unhandled_error: UnhandledError,
    /// Which failing scopes compensate what they had completed.
    pub compensate_on_error: CompensateOnError,
    /// How many compensations run at a time.
    pub compensation: Compensation,
    /// How runs are counted.
    pub counting: Counting,
    /// What the properties of a message are about, where who receives it names none.
    pub correlation: Correlation,
    /// How events reach those who wait.
    pub events: Events,
    /// Who has a message that is not for all.
    pub receivers: Receivers,
}

impl Policy {
    /// The choices of models that name no dialect.
    pub const NATIVE: Self = Self {
        write: Write::Local,
        scope_output: ScopeOutput::Mapped,
        unhandled_error: UnhandledError::Incident,
        compensate_on_error: CompensateOnError::Transaction,
        compensation: Compensation::InTurn,
        counting: Counting::Native,
        correlation: Correlation::Properties,
        events: Events::Standard,
        receivers: Receivers::One,
    };

    /// The choices of models made for Camunda 7.
    pub const CAMUNDA7: Self = Self {
        write: Write::Propagate { mapped: true },
        compensation: Compensation::Together,
        counting: Counting::Camunda7,
        correlation: Correlation::Variables,
        ..Self::NATIVE
    };

    /// The choices of models made for Camunda 8.
    pub const CAMUNDA8: Self = Self {
        write: Write::Propagate { mapped: false },
        counting: Counting::Camunda8,
        correlation: Correlation::Properties,
        receivers: Receivers::PerProcess,
        ..Self::CAMUNDA7
    };
}

/// How events reach those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// As the standard says; a message that nobody waits for may be held.
    Standard,
    /// A message that nobody waits for is refused, and of two waits of an instance for the same message the
    /// second fails. A condition beside an activity happens each time it begins to hold. Signals bring no
    /// variables, escalations those of who throws them. A transaction is not cancelled while one in it has
    /// failed: it fails with the code 503, and is not undone. One that was cancelled hands over its variables
    /// where sub-processes do, and so do branches that end without a join.
    Strict,
}

/// Who has a message that is not for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// One of all who wait for it.
    One,
    /// One of each process, whatever its version.
    PerProcess,
}

/// How the runs of loops and multi-instance activities are counted, for the expressions in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// `loopCounter` from 0; the counts under the standard's names and under Camunda 7's.
    Native,
    /// `loopCounter` from 0, `nrOfInstances` and so on.
    Camunda7,
    /// `loopCounter` from 1, `numberOfInstances` and so on: the standard's names.
    Camunda8,
}

/// The variable that has the number of a run.
pub(crate) const LOOP_COUNTER: &str = "loopCounter";

/// A number that the runs of a multi-instance activity see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tally {
    /// How many runs there will be.
    Total,
    /// How many have begun. In all: those that are active, completed and terminated.
    Created,
    /// How many are under way.
    Active,
    /// How many are complete.
    Completed,
    /// How many were taken away.
    Terminated,
}

/// The standard's names (BPMN 2.0, table 10.30).
const STANDARD: [(&str, Tally); 4] = [
    ("numberOfInstances", Tally::Created),
    ("numberOfActiveInstances", Tally::Active),
    ("numberOfCompletedInstances", Tally::Completed),
    ("numberOfTerminatedInstances", Tally::Terminated),
];

/// Camunda 7's.
const CAMUNDA7: [(&str, Tally); 3] = [
    ("nrOfInstances", Tally::Total),
    ("nrOfActiveInstances", Tally::Active),
    ("nrOfCompletedInstances", Tally::Completed),
];

impl Counting {
    /// The number of the first run.
    pub(crate) fn first(self) -> u32 {
        match self {
            Self::Native | Self::Camunda7 => 0,
            Self::Camunda8 => 1,
        }
    }

    /// The names of all that runs of a multi-instance activity can ask for.
    pub(crate) fn tallies(self) -> impl Iterator<Item = (&'static str, Tally)> {
        let (standard, camunda7): (&[_], &[_]) = match self {
            Self::Native => (&STANDARD, &CAMUNDA7),
            Self::Camunda7 => (&[], &CAMUNDA7),
            Self::Camunda8 => (&STANDARD, &[]),
        };
        standard.iter().chain(camunda7).copied()
    }
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// To the layer of the writer.
    Local,
    /// To the nearest layer that has the name, else to the outermost.
    Propagate {
        /// Whether that holds for the results of an activity with output mappings too. Otherwise
        /// they stay with the activity, and only what is mapped goes on.
        mapped: bool,
    },
}

/// What of a scope's variables its parent sees at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeOutput {
    /// What output mappings name.
    Mapped,
    /// Everything in the scope's own layer.
    All,
}

/// What becomes of an error nobody catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnhandledError {
    /// It stays as an incident on its token.
    Incident,
    /// The whole instance fails.
    Fail,
}

/// How many compensations run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compensation {
    /// One, the youngest first.
    InTurn,
    /// All that were asked for.
    Together,
}

/// What the properties of a message are about, where who receives it names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correlation {
    /// Nothing: the receiver has it whatever they are.
    Properties,
    /// Variables that the receiver must see, with the same values.
    Variables,
}

/// Which failing scopes compensate what they had completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompensateOnError {
    /// None.
    Never,
    /// Transactions.
    Transaction,
    /// All.
    Always,
}

impl Node {
    /// A node that does `element` and nothing else.
    pub fn new(name: &str, parent: Option<NodeId>, element: Element) -> Self {
        Self {
            name: Arc::from(name),
            label: None,
            parent,
            kind: ElementKind::of(&element),
            element,
            for_compensation: false,
            default: None,
            start_quantity: 1,
            completion_quantity: 1,
            repeat: None,
            extras: None,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            boundary: Vec::new(),
            compensation: None,
            conditional: false,
            performs: false,
            straight: None,
        }
    }

    /// What few nodes have, made on demand.
    pub fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    pub(crate) fn data(&self) -> Option<&Data> {
        self.extras.as_ref().map(|it| &it.data)
    }

    /// What is called at a moment.
    pub(crate) fn listeners(&self, moment: Moment) -> &[Listener] {
        let Some(extras) = &self.extras else { return &[] };
        let Listeners { before_all, start, completion, end } = &extras.listeners;
        match moment {
            Moment::BeforeAll => before_all,
            Moment::Start => start,
            Moment::Completion => completion,
            Moment::End => end,
        }
    }

    pub(crate) fn gates(&self) -> Gates {
        self.extras.as_ref().map(|it| it.gates).unwrap_or_default()
    }

    /// Whether a token in it gives its name to a scope.
    pub(crate) fn hosts(&self) -> bool {
        self.repeat.is_some()
            || match &self.element {
                Element::Process(_)
                | Element::SubProcess(_)
                | Element::Transaction(_)
                | Element::EventSubProcess(_)
                | Element::AdHoc(_)
                | Element::Gosub { .. }
                | Element::FanOut => true,
                Element::Throw(throws) => {
                    throws.iter().any(|it| matches!(it, Throw::Compensation { .. }))
                }
                Element::Start(_)
                | Element::Pass
                | Element::Task
                | Element::Script { .. }
                | Element::BusinessRule(_)
                | Element::Work(_)
                | Element::Send(_)
                | Element::Receive(_)
                | Element::Decision
                | Element::Function
                | Element::Catch(_)
                | Element::Boundary(_)
                | Element::Exclusive
                | Element::Parallel
                | Element::Inclusive
                | Element::Complex { .. }
                | Element::EventBased
                | Element::FanIn(_)
                | Element::Call(_) => false,
            }
    }

    /// Whether it is an activity, as opposed to an event or a gateway.
    pub fn is_activity(&self) -> bool {
        match self.element {
            Element::SubProcess(_)
            | Element::Transaction(_)
            | Element::AdHoc(_)
            | Element::Task
            | Element::Script { .. }
            | Element::BusinessRule(_)
            | Element::Work(_)
            | Element::Receive(_)
            | Element::Send(_)
            | Element::Decision
            | Element::Function
            | Element::Call(_)
            | Element::Gosub { .. } => true,
            Element::Process(_)
            | Element::EventSubProcess(_)
            | Element::Start(_)
            | Element::Pass
            | Element::Catch(_)
            | Element::Boundary(_)
            | Element::Throw(_)
            | Element::Exclusive
            | Element::Parallel
            | Element::Inclusive
            | Element::Complex { .. }
            | Element::EventBased
            | Element::FanOut
            | Element::FanIn(_) => false,
        }
    }
}

impl Flow {
    /// A flow without a condition.
    pub fn new(name: &str, from: NodeId, to: NodeId) -> Self {
        Self { name: Arc::from(name), from, to, condition: None }
    }
}

impl Plan {
    /// The plan of a function: nothing but its code. What the code fails with, it fails with.
    pub fn function(name: &str) -> Self {
        let process = Node::new(name, None, Element::Process(Container::default()));
        let code = Node::new("code", Some(NodeId(0)), Element::Function);
        let mut plan = Self::new(vec![process, code], Vec::new());
        plan.policy.unhandled_error = UnhandledError::Fail;
        plan
    }

    /// Works out what can be known before running.
    pub fn new(mut nodes: Vec<Node>, flows: Vec<Flow>) -> Self {
        for (id, flow) in (0..).map(FlowId).zip(&flows) {
            let from = &mut nodes[flow.from.index()];
            from.outgoing.push(id);
            from.conditional |= flow.condition.is_some();
            nodes[flow.to.index()].incoming.push(id);
        }
        for position in 0..nodes.len() {
            let id = NodeId(u32::try_from(position).expect("a plan has fewer than 2^32 nodes"));
            attach(&mut nodes, id);
        }
        for node in &mut nodes {
            // A container that draws its start says where it starts; any other starts wherever
            // nothing leads.
            if let Some(container) = node.element.container_mut()
                && container.typed_starts.is_empty()
                && container.none_starts == 0
            {
                container.starts = std::mem::take(&mut container.unled);
            }
        }
        mark_performers(&mut nodes);
        for position in 0..nodes.len() {
            nodes[position].straight = straight(&nodes, position);
        }
        let restricted =
            nodes.iter().any(|it| it.extras.as_ref().is_some_and(|it| !it.restrictions.is_empty()));
        Self {
            nodes,
            flows,
            version_tag: None,
            start_form: None,
            policy: Policy::NATIVE,
            status: Vec::new(),
            keys: Vec::new(),
            steps_max: None,
            tokens_max: None,
            data_max: None,
            starts_max: None,
            turn_steps_max: 10_000,
            limits: Limits::default(),
            hears: Vec::new(),
            restricted,
        }
    }

    /// The node of that name in the plan.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The flow of that name in the plan.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.0 as usize]
    }

    /// The node with that id in the source.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|it| &*it.name == name).map(|position| {
            NodeId(u32::try_from(position).expect("a plan has fewer than 2^32 nodes"))
        })
    }

    /// The process.
    pub fn root(&self) -> &Container {
        self.node(NodeId(0)).element.container().expect("node 0 is the process")
    }

    /// Whether a node does not inherit the restrictions around it: what undoes, and what handles
    /// errors.
    pub(crate) fn stands_alone(&self, node: NodeId) -> bool {
        let it = self.node(node);
        if let Element::EventSubProcess(event) = &it.element {
            let mut triggers = self.node(event.start).element.triggers().iter();
            triggers.any(|it| matches!(it, Trigger::Error { .. } | Trigger::Compensation))
        } else {
            it.for_compensation
        }
    }

    /// The container that `node` is.
    pub(crate) fn container(&self, node: NodeId) -> Option<&Container> {
        self.node(node).element.container()
    }
}

impl NodeId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The only flow of a node that lets every token through at once.
fn straight(nodes: &[Node], position: usize) -> Option<FlowId> {
    let node = &nodes[position];
    let [only] = node.outgoing[..] else { return None };
    let in_ad_hoc =
        node.parent.is_some_and(|it| matches!(nodes[it.index()].element, Element::AdHoc(_)));
    // A plain task can take time, in ways that show in its extras.
    let does_nothing = matches!(node.element, Element::Pass | Element::Exclusive | Element::Task)
        || matches!(&node.element, Element::Start(it) if it.with.is_empty())
        || matches!(node.element, Element::Parallel | Element::Inclusive)
            && node.incoming.len() == 1;
    let has_nothing = node.extras.is_none()
        && node.repeat.is_none()
        && node.boundary.is_empty()
        && node.compensation.is_none()
        && !node.for_compensation
        && !node.conditional
        && node.start_quantity == 1
        && node.completion_quantity == 1;
    (does_nothing && has_nothing && !in_ad_hoc).then_some(only)
}

fn mark_performers(nodes: &mut [Node]) {
    for position in 0..nodes.len() {
        if let Element::AdHoc(AdHoc { sequential: true, performer, .. }) = nodes[position].element {
            nodes[performer.map_or(position, NodeId::index)].performs = true;
        }
    }
}

/// Tells the container and the host of a node that it is theirs.
fn attach(nodes: &mut [Node], id: NodeId) {
    enum As {
        NoneStart,
        TypedStart,
        EventSubProcess,
        Unled,
        Nothing,
    }
    let node = &nodes[id.index()];
    if let Element::Boundary(boundary) = &node.element {
        let (host, compensation) = (boundary.attached_to, boundary.is_compensation());
        let host = &mut nodes[host.index()];
        if compensation {
            host.compensation = Some(id);
        } else {
            host.boundary.push(id);
        }
        return;
    }
    let role = if let Element::Start(start) = &node.element {
        if start.triggers.is_empty() { As::NoneStart } else { As::TypedStart }
    } else if let Element::EventSubProcess(_) = node.element {
        As::EventSubProcess
    } else if node.for_compensation || !node.incoming.is_empty() {
        As::Nothing
    } else {
        As::Unled
    };
    let Some(parent) = node.parent else { return };
    let inclusive = matches!(node.element, Element::Inclusive) && node.incoming.len() > 1;
    let Some(container) = nodes[parent.index()].element.container_mut() else { return };
    container.inclusive_joins |= inclusive;
    match role {
        As::NoneStart => {
            container.none_starts += 1;
            container.starts.push(id);
        }
        As::TypedStart => container.typed_starts.push(id),
        As::EventSubProcess => container.events.push(id),
        As::Unled => container.unled.push(id),
        As::Nothing => {}
    }
}
