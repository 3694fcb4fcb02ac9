//! From the tree to a plan, one for each process.
//!
//! First every flow node gets its place in the plan, then each is filled in; so that nodes can
//! refer to each other in any order. Lowering never stops at a mistake: it reports it and goes on
//! with something harmless, because all problems of a file are reported at once and no plan of a
//! broken file is ever run.

mod call;
mod camunda7;
mod camunda8;
mod container;
mod conversation;
mod data;
mod decision;
mod event;
mod extras;
mod fan;
mod fields;
mod fleans;
mod flow;
mod listener;
mod process;
mod repeat;
mod route;
mod script;
mod task;
mod throw;
mod timer;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

pub use camunda8::{CORRELATION_KEY, JOB_LIMIT, JOB_PRIORITY, is_inner};
pub(crate) use conversation::Conversations;
pub(crate) use data::{feeds_loop, is_invented};
pub(crate) use route::Routes;
use travertine_kernel::plan::{self, Container, Element, ElementKind, Flow, NodeId, Plan, Trigger};
use travertine_value::{Limits, Map, Name};

use crate::{
    Options,
    dialect::Dialect,
    expression::Compiler,
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns, one_line},
};

/// What lowering needs to know besides the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) files: &'a Files<'a>,
    pub(crate) options: &'a Options,
    pub(crate) sink: &'a Sink,
    pub(crate) routes: &'a Routes<'a>,
    pub(crate) conversations: &'a Conversations<'a>,
}

/// A plan, and where everything in it came from.
#[derive(Debug)]
pub(crate) struct Lowered<'a> {
    pub(crate) plan: Plan,
    /// The element that each node came from.
    pub(crate) nodes: Vec<Node<'a>>,
    /// The element that each flow came from: a sequence flow, or an event that throws a link.
    pub(crate) flows: Vec<Node<'a>>,
}

/// Lowers a process, and the processes it calls as gosubs.
pub(crate) fn lower<'a>(cx: Context<'a>, process: Node<'a>) -> Lowered<'a> {
    let dialect = cx.files.dialect(process);
    let mut lowering = Lowering {
        cx,
        dialect,
        compiler: Compiler {
            languages: &cx.options.languages,
            default: cx.options.expression_language.as_deref(),
            only: (dialect == Dialect::Fleans).then_some("fleans"),
            sink: cx.sink,
        },
        nodes: Vec::new(),
        sources: Vec::new(),
        flows: Vec::new(),
        flow_sources: Vec::new(),
        arriving: HashMap::new(),
        free: HashMap::new(),
        places: HashMap::new(),
        flow_places: HashMap::new(),
        associations: HashMap::new(),
        handlers: HashSet::new(),
        apart: HashSet::new(),
        forks: HashSet::new(),
        joins: HashSet::new(),
        performers: HashSet::new(),
        object_names: HashMap::new(),
        called: VecDeque::new(),
    };
    lowering.callable(process);
    while let Some(callee) = lowering.called.pop_front() {
        lowering.fill_callable(callee);
    }
    lowering.finish(process)
}

/// A plan in the making.
#[derive(Debug)]
struct Lowering<'a> {
    cx: Context<'a>,
    dialect: Dialect,
    compiler: Compiler<'a>,
    nodes: Vec<plan::Node>,
    /// Where each node came from.
    sources: Vec<Node<'a>>,
    flows: Vec<Flow>,
    /// Where each flow came from.
    flow_sources: Vec<Node<'a>>,
    /// How many flows lead to a node.
    arriving: HashMap<NodeId, usize>,
    /// How many flows leave a node without a condition.
    free: HashMap<NodeId, usize>,
    places: HashMap<(usize, usize), NodeId>,
    flow_places: HashMap<(usize, usize), plan::FlowId>,
    /// What associations lead to, by the id they come from.
    associations: HashMap<&'a str, Vec<Node<'a>>>,
    /// Activities that undo only because an association from a compensation event leads to them.
    handlers: HashSet<(usize, usize)>,
    /// Boundary events whose ways have variables of their own.
    apart: HashSet<(usize, usize)>,
    /// Gateways whose branches have variables of their own, and those that bring them together.
    forks: HashSet<(usize, usize)>,
    joins: HashSet<(usize, usize)>,
    /// Elements that say they perform sequentially.
    performers: HashSet<(usize, usize)>,
    /// What references call data objects.
    object_names: HashMap<(usize, usize), &'a str>,
    /// Processes that have a place but no content yet.
    called: VecDeque<Node<'a>>,
}

impl<'a> Lowering<'a> {
    /// The place of a process in the plan; it is filled in later.
    fn callable(&mut self, process: Node<'a>) -> NodeId {
        if let Some(&place) = self.places.get(&process.key()) {
            return place;
        }
        self.called.push_back(process);
        let place = self.declare(process, None);
        self.declare_children(process, place);
        place
    }

    /// Gives a flow node its place.
    fn declare(&mut self, source: Node<'a>, parent: Option<NodeId>) -> NodeId {
        let place = NodeId(u32::try_from(self.nodes.len()).expect("files are limited in size"));
        let mut node = plan::Node::new(&name_of(source), parent, Element::Pass);
        node.label = label(source).map(Name::from);
        self.nodes.push(node);
        self.sources.push(source);
        self.places.insert(source.key(), place);
        place
    }

    fn declare_children(&mut self, container: Node<'a>, place: NodeId) {
        for child in container.children() {
            if let (true, Some(source)) = (child.is("association"), child.attr("sourceRef")) {
                self.associations.entry(source).or_default().push(child);
                self.note_handler(child);
            }
            if child.is("dataObjectReference") {
                self.note_data(child);
            }
            if child.is("performer") && child.attr("name") == Some("Sequential") {
                self.performers.insert(container.key());
            }
        }
        if self.dialect == Dialect::Fleans {
            let branches = fan::branches(container, self.cx.files);
            for (fork, join) in branches.pairs {
                self.forks.insert(fork);
                self.joins.insert(join);
            }
            self.forks.extend(branches.loose);
            self.apart.extend(branches.apart);
        }
        for child in flow_nodes(container) {
            let place = self.declare(child, Some(place));
            if schema::is_a(child.name(), "subProcess") {
                self.declare_children(child, place);
            }
        }
    }

    fn fill_callable(&mut self, process: Node<'a>) {
        let place = self.places[&process.key()];
        if process.is("process") {
            self.nodes[index(place)].element = Element::Process(Container::default());
            self.nodes[index(place)].kind = ElementKind::Process;
            self.process_extras(process, place);
            self.data(process, place);
            self.fill_children(process);
        } else {
            self.global_task(process, place);
        }
    }

    fn fill_children(&mut self, container: Node<'a>) {
        self.flows_of(container);
        for child in flow_nodes(container) {
            let place = self.places[&child.key()];
            let element = self.element(child, place);
            let default = self.default_flow(child, place);
            let repeat = if schema::is_a(child.name(), "activity") {
                self.repeat(child, &element)
            } else {
                None
            };
            let node = &mut self.nodes[index(place)];
            node.kind = kind_of(child, &element);
            node.element = element;
            node.default = default;
            node.repeat = repeat.map(Box::new);
            node.for_compensation =
                is_true(child, "isForCompensation", false) || self.handlers.contains(&child.key());
            self.extras(child, place);
            self.data(child, place);
            if schema::is_a(child.name(), "subProcess") {
                self.fill_children(child);
            }
        }
    }

    /// What a flow node does.
    fn element(&mut self, node: Node<'a>, place: NodeId) -> Element {
        let start = self.quantity(node, "startQuantity");
        let completion = self.quantity(node, "completionQuantity");
        let it = &mut self.nodes[index(place)];
        it.start_quantity = start;
        it.completion_quantity = completion;
        match node.name() {
            "subProcess" | "transaction" | "adHocSubProcess" => self.sub_process(node),
            "callActivity" => self.call(node),
            "task" | "manualTask" => self.plain_task(node),
            "scriptTask" => self.script_task(node, "scriptFormat"),
            "userTask" => self.user_task(node),
            "businessRuleTask" => self.decision(node).unwrap_or_else(|| self.service_task(node)),
            "serviceTask" => self.service_task(node),
            "sendTask" => self.send_task(node),
            "receiveTask" => self.receive_task(node),
            "startEvent" => self.start_event(node),
            "intermediateCatchEvent" => self.catch_event(node),
            "boundaryEvent" => self.boundary_event(node),
            "intermediateThrowEvent" | "endEvent" | "implicitThrowEvent" => self.throw_event(node),
            "exclusiveGateway" => Element::Exclusive,
            "parallelGateway" | "inclusiveGateway" => self.forking_gateway(node),
            "complexGateway" => self.complex_gateway(node),
            "eventBasedGateway" => flow::event_gateway(node),
            // Choreographies; nothing of them is ever reached from a process.
            _ => Element::Pass,
        }
    }

    fn finish(mut self, process: Node<'a>) -> Lowered<'a> {
        self.instantiating_gateways();
        let settings = self.settings(process);
        let keys = self.keys();
        let mut plan = Plan::new(self.nodes, self.flows);
        plan.policy = settings.policy;
        plan.status = settings.status;
        plan.steps_max = settings.steps_max;
        plan.tokens_max = settings.tokens_max;
        plan.data_max = settings.data_max;
        plan.starts_max = settings.starts_max;
        plan.version_tag = settings.version_tag;
        plan.start_form = settings.start_form;
        plan.keys = keys;
        plan.hears = heard(&plan);
        Lowered { plan, nodes: self.sources, flows: self.flow_sources }
    }

    /// The place of the element that a reference means.
    fn target(&self, from: Node<'a>, reference: &str) -> Option<NodeId> {
        let target = self.cx.files.resolve(from, reference)?;
        self.places.get(&target.key()).copied()
    }

    fn error(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.cx.sink.error(code, at, message, help);
    }

    fn warn(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.cx.sink.warn(code, at, message, help);
    }

    /// How many tokens an activity takes, or gives.
    fn quantity(&self, node: Node<'a>, name: &str) -> u32 {
        let Some(text) = node.attr(name) else { return 1 };
        text.trim().parse().ok().filter(|it| *it > 0).unwrap_or_else(|| {
            let message = format!("{name} of {} is '{text}'", node.title());
            self.error("TV0801", node, message, "write a whole number of 1 or more");
            1
        })
    }
}

fn index(place: NodeId) -> usize {
    place.0 as usize
}

/// The flow nodes directly in a container.
fn flow_nodes(container: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    container.children().filter(|it| *it.ns() == Ns::Bpmn && schema::is_a(it.name(), "flowNode"))
}

/// What a flow node is called where people look at it.
fn kind_of(node: Node<'_>, element: &Element) -> ElementKind {
    match node.name() {
        "subProcess" if matches!(element, Element::EventSubProcess(_)) => {
            ElementKind::EventSubProcess
        }
        "subProcess" => ElementKind::SubProcess,
        "transaction" => ElementKind::Transaction,
        "adHocSubProcess" => ElementKind::AdHocSubProcess,
        "callActivity" => ElementKind::CallActivity,
        "task" | "globalTask" => ElementKind::Task,
        "manualTask" | "globalManualTask" => ElementKind::ManualTask,
        "scriptTask" | "globalScriptTask" => ElementKind::ScriptTask,
        "userTask" | "globalUserTask" => ElementKind::UserTask,
        "serviceTask" => ElementKind::ServiceTask,
        "businessRuleTask" | "globalBusinessRuleTask" => ElementKind::BusinessRuleTask,
        "sendTask" => ElementKind::SendTask,
        "receiveTask" => ElementKind::ReceiveTask,
        "startEvent" => ElementKind::StartEvent,
        "intermediateCatchEvent" => ElementKind::IntermediateCatchEvent,
        "boundaryEvent" => ElementKind::BoundaryEvent,
        "intermediateThrowEvent" | "implicitThrowEvent" => ElementKind::IntermediateThrowEvent,
        "endEvent" => ElementKind::EndEvent,
        "exclusiveGateway" => ElementKind::ExclusiveGateway,
        "parallelGateway" => ElementKind::ParallelGateway,
        "inclusiveGateway" => ElementKind::InclusiveGateway,
        "complexGateway" => ElementKind::ComplexGateway,
        "eventBasedGateway" => ElementKind::EventBasedGateway,
        _ => ElementKind::Unspecified,
    }
}

/// What people call it.
pub(crate) fn label(node: Node<'_>) -> Option<String> {
    node.attr("name").map(one_line).filter(|it| !it.is_empty())
}

/// Its id, or one made from where it stands.
fn name_of(node: Node<'_>) -> Arc<str> {
    if let Some(id) = node.id() {
        Arc::from(id)
    } else {
        let place = node.place();
        Arc::from(format!("{}@{}:{}", node.name(), place.line, place.column))
    }
}

/// A yes-or-no attribute.
pub(crate) fn is_true(node: Node<'_>, name: &str, other: bool) -> bool {
    node.attr(name).map_or(other, |it| matches!(it.trim(), "true" | "1"))
}

/// A yes-or-no attribute in another namespace.
fn is_true_ext(node: Node<'_>, ns: &Ns, name: &str) -> Option<bool> {
    node.ext(ns, name).map(|it| matches!(it.trim(), "true" | "1"))
}

/// The names of the messages that a process waits for, as far as the model tells them.
fn heard(plan: &Plan) -> Vec<Name> {
    let triggers = plan.nodes.iter().flat_map(|it| it.element.triggers());
    let mut names: Vec<Name> = triggers
        .filter_map(|it| {
            let Trigger::Message(message) = it else { return None };
            let name = message.name.value(&Map::new(), &Limits::default()).ok()?;
            name.as_str().map(Name::from)
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
