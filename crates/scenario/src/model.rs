//! A model that was read: nodes, flows, attributes, and what the extension says about them.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::bpmnos::{Assignment, Choice, Formula};
use travertine_value::{Name, Number};

/// The position of a node.
pub(crate) type NodeId = usize;
/// The position of a flow.
pub(crate) type FlowId = usize;
/// The position of an attribute.
pub(crate) type AttributeId = usize;

/// The attribute that tells a token's time.
pub(crate) const TIMESTAMP: AttributeId = 0;
/// The attribute that names an instance.
pub(crate) const INSTANCE: AttributeId = 1;
/// The attribute in which everything weighted adds up.
pub(crate) const OBJECTIVE: AttributeId = 2;

/// A model that can be run as a scenario.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) tables: BTreeMap<Name, TableSource>,
    /// Message flows, each between two nodes or processes.
    pub(crate) message_flows: Vec<(NodeId, NodeId)>,
    /// Global attributes by name.
    pub(crate) globals: Names,
}

/// Which attribute each name means at a place.
pub(crate) type Names = Arc<BTreeMap<Name, AttributeId>>;

/// A process, an activity, an event or a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: Name,
    /// The name that people gave it, by which compensation finds it.
    pub(crate) label: Option<Name>,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<NodeId>,
    pub(crate) incoming: Vec<FlowId>,
    pub(crate) outgoing: Vec<FlowId>,
    pub(crate) default: Option<FlowId>,
    /// The nodes in which something begins by itself.
    pub(crate) starts: Vec<NodeId>,
    /// Event sub-processes in it, but for the one that undoes it.
    pub(crate) handlers: Vec<NodeId>,
    /// The event sub-process in it that undoes it, or the boundary event that leads to what does.
    pub(crate) undone_by: Option<NodeId>,
    pub(crate) boundary: Vec<NodeId>,
    pub(crate) status: Vec<AttributeId>,
    pub(crate) data: Vec<AttributeId>,
    /// Those of its status and data attributes that have a formula, in the order in which they are worked out.
    pub(crate) formulas: Vec<AttributeId>,
    pub(crate) restrictions: Vec<Restriction>,
    pub(crate) operators: Vec<Assignment>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) messages: Vec<MessageText>,
    pub(crate) for_compensation: bool,
    /// Whether children of ad-hoc sub-processes in it are done by it, one at a time.
    pub(crate) performs: bool,
    pub(crate) names: Names,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Process,
    SubProcess,
    AdHoc { sequential: bool },
    EventSubProcess { start: NodeId },
    Task,
    Send,
    Receive,
    Decision,
    Start(Start),
    Catch(Trigger),
    Boundary { trigger: Trigger, interrupting: bool, leads_to: Option<NodeId> },
    Throw(Throw),
    Exclusive,
    Parallel,
    EventBased,
}

/// A start event: plain, or that of an event sub-process.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) trigger: Option<Trigger>,
    pub(crate) interrupting: bool,
}

/// What an event waits for.
#[derive(Clone, Debug)]
pub(crate) enum Trigger {
    Message,
    Signal {
        name: Name,
        content: Vec<(Name, Name)>,
    },
    Timer(Option<Formula>),
    /// The restrictions of its node hold.
    Condition,
    Error,
    Escalation,
    Compensation,
}

/// What an event throws. An end event may throw nothing.
#[derive(Clone, Debug)]
pub(crate) enum Throw {
    None,
    Message,
    Signal { name: Name, content: Vec<(Name, Name)> },
    Error,
    Escalation,
    Compensation,
    Terminate,
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) to: NodeId,
    pub(crate) gatekeepers: Vec<Formula>,
}

#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Name,
    pub(crate) kind: AttributeKind,
    pub(crate) of: Type,
    /// What it counts in the objective; 0 for nothing.
    pub(crate) weight: Number,
    /// What it is worked out by.
    pub(crate) formula: Option<Assignment>,
    /// The node whose tokens, or in whose scope, it lives; none for a global.
    pub(crate) owner: Option<NodeId>,
    /// Ids under which a scenario may name where it belongs, besides that of its owner.
    pub(crate) carriers: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeKind {
    Status,
    Data,
    Global,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Whole,
    Decimal,
    Truth,
    Collection,
}

#[derive(Clone, Debug)]
pub(crate) struct Restriction {
    pub(crate) formula: Formula,
    pub(crate) at: RestrictionAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestrictionAt {
    Entry,
    Completion,
    Exit,
    /// At all three, of the node and of everything inside.
    Full,
}

#[derive(Clone, Debug)]
pub(crate) enum Repeat {
    /// Without a cardinality there is a copy for each message or, of what undoes, for each copy that is undone.
    Each {
        sequential: bool,
        cardinality: Option<Formula>,
        index: Option<Name>,
    },
    Loop {
        condition: Option<Formula>,
        maximum: Option<Formula>,
        index: Option<Name>,
    },
}

/// A message as a model describes it.
#[derive(Clone, Debug)]
pub(crate) struct MessageText {
    pub(crate) name: Name,
    pub(crate) header: Vec<(Name, HeaderText)>,
    /// Keys, and the attributes that give or take their values.
    pub(crate) content: Vec<(Name, Name)>,
}

#[derive(Clone, Debug)]
pub(crate) enum HeaderText {
    Any,
    Text(Name),
    Attribute(Name),
}

/// Where a lookup table is.
#[derive(Clone, Debug)]
pub(crate) struct TableSource {
    pub(crate) file: String,
    pub(crate) header: Vec<String>,
}

/// The names that a formula reads or asks about.
pub(crate) fn names_in(formula: &Formula) -> impl Iterator<Item = &Name> {
    formula.uses().reads.iter().chain(&formula.uses().asks)
}

impl Model {
    /// The tables that formulas look things up in: their names and their files.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tables.iter().map(|(name, table)| (&**name, table.file.as_str()))
    }

    /// The ids of its processes.
    pub fn processes(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|it| matches!(it.kind, Kind::Process)).map(|it| &*it.id)
    }

    pub(crate) fn find(&self, id: &str) -> Option<NodeId> {
        self.nodes.iter().position(|it| &*it.id == id)
    }

    /// The nodes around a node, from itself outwards.
    pub(crate) fn around(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), |it| self.nodes[*it].parent)
    }

    pub(crate) fn process_of(&self, node: NodeId) -> NodeId {
        self.around(node).last().expect("a node is around itself")
    }

    /// Whether messages go from one place to another: not within a process, and along message flows
    /// where either end, or the nearest scope around it, has any.
    pub(crate) fn connects(&self, from: NodeId, to: NodeId) -> bool {
        if self.process_of(from) == self.process_of(to) {
            return false;
        }
        let sends =
            self.around(from).find(|it| self.message_flows.iter().any(|(source, _)| source == it));
        let takes =
            self.around(to).find(|it| self.message_flows.iter().any(|(_, target)| target == it));
        match (sends, takes) {
            (None, None) => true,
            (Some(source), Some(target)) => self.message_flows.contains(&(source, target)),
            (Some(source), None) => {
                let mut around = self.around(to);
                around.any(|it| self.message_flows.contains(&(source, it)))
            }
            (None, Some(target)) => {
                let mut around = self.around(from);
                around.any(|it| self.message_flows.contains(&(it, target)))
            }
        }
    }
}

impl Node {
    pub(crate) fn is_activity(&self) -> bool {
        match self.kind {
            Kind::SubProcess
            | Kind::AdHoc { .. }
            | Kind::Task
            | Kind::Send
            | Kind::Receive
            | Kind::Decision => true,
            Kind::Process
            | Kind::EventSubProcess { .. }
            | Kind::Start(_)
            | Kind::Catch(_)
            | Kind::Boundary { .. }
            | Kind::Throw(_)
            | Kind::Exclusive
            | Kind::Parallel
            | Kind::EventBased => false,
        }
    }

    /// Whether something happens inside.
    pub(crate) fn is_scope(&self) -> bool {
        matches!(
            self.kind,
            Kind::Process | Kind::SubProcess | Kind::AdHoc { .. } | Kind::EventSubProcess { .. }
        )
    }

    /// What an event waits for.
    pub(crate) fn trigger(&self) -> Option<&Trigger> {
        match &self.kind {
            Kind::Start(start) => start.trigger.as_ref(),
            Kind::Catch(trigger) | Kind::Boundary { trigger, .. } => Some(trigger),
            _ => None,
        }
    }
}
