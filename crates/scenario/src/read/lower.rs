//! The tree of a file becomes nodes, flows and attributes.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use travertine_lang::{
    CompileError,
    bpmnos::{Assignment, Choice, Formula, Uses},
};
use travertine_value::Name;
use travertine_xml::{Document, Node as Element, local_part};

use super::{
    Sink,
    attribute::{self, Attributes},
    event, extensions, is_decision, is_true, listed,
};
use crate::model::{
    AttributeId, AttributeKind, Flow, HeaderText, INSTANCE, Kind, Model, Names, Node, NodeId,
    OBJECTIVE, Repeat, Restriction, RestrictionAt, Start, TIMESTAMP, TableSource, Throw, Trigger,
    names_in,
};

/// Reads the whole of a file.
pub(super) fn lower(document: &Document, sink: &mut Sink) -> Model {
    let mut reader = Reader {
        document,
        sink,
        model: Model {
            nodes: Vec::new(),
            flows: Vec::new(),
            attributes: Vec::new(),
            tables: BTreeMap::new(),
            message_flows: Vec::new(),
            globals: Arc::default(),
        },
        attributes: Attributes::new(),
        known: HashMap::new(),
        flows: HashMap::new(),
    };
    reader.globals();
    let processes: Vec<Element<'_>> = document.root().all("process").collect();
    for process in &processes {
        reader.process(*process);
    }
    if processes.is_empty() {
        let message = "there is no process in the file".to_owned();
        reader.sink.error("TV0744", document.root(), message, "add one");
    }
    reader.message_flows();
    reader.model.attributes = reader.attributes.all;
    reader.model
}

pub(super) struct Reader<'a> {
    document: &'a Document,
    pub(super) sink: &'a mut Sink,
    model: Model,
    attributes: Attributes,
    /// Nodes by the place of their elements.
    known: HashMap<usize, NodeId>,
    /// Flows, too.
    flows: HashMap<usize, usize>,
}

/// Flow nodes.
const NODES: &[&str] = &[
    "subProcess",
    "transaction",
    "adHocSubProcess",
    "task",
    "userTask",
    "scriptTask",
    "manualTask",
    "businessRuleTask",
    "sendTask",
    "receiveTask",
    "startEvent",
    "endEvent",
    "intermediateCatchEvent",
    "intermediateThrowEvent",
    "boundaryEvent",
    "exclusiveGateway",
    "parallelGateway",
    "eventBasedGateway",
];

/// What carries data attributes.
const DATA: &[&str] = &["dataObject", "dataObjectReference"];

impl<'a> Reader<'a> {
    /// What all instances share: the attributes and tables of data stores.
    fn globals(&mut self) {
        let mut declared = Vec::new();
        let stores = ["dataStore", "dataStoreReference"];
        for store in self.document.nodes().filter(|it| it.is_any(&stores)) {
            declared.extend(self.attributes.declare(store, AttributeKind::Global, None, self.sink));
            for table in listed(store, "tables", "table") {
                self.table(table);
            }
        }
        if !declared.iter().any(|(name, _)| &**name == "objective") {
            declared.push((Name::clone(&self.attributes.all[OBJECTIVE].name), OBJECTIVE));
        }
        let names = Arc::default();
        let names = attribute::within(&names, &declared, self.document.root(), self.sink);
        for store in self.document.nodes().filter(|it| it.is_any(&stores)) {
            self.formulas(store, &names);
        }
        self.model.globals = names;
    }

    /// Whether the formulas of what an element declares, and of the data in it, can be worked out.
    fn declared(&mut self, element: Element<'_>, names: &Names) {
        self.formulas(element, names);
        let objects = element.children().filter(|it| it.is_any(DATA));
        for object in objects {
            self.formulas(object, names);
        }
    }

    fn formulas(&mut self, element: Element<'_>, names: &Names) {
        for it in listed(element, "attributes", "attribute") {
            let declared = Assignment::parse_declared(it.attr("name").unwrap_or_default());
            let formula = declared.ok().and_then(|(_, it)| it?.formula);
            if let Some(formula) = formula {
                self.uses(formula.uses(), it, names);
            }
        }
    }

    fn table(&mut self, table: Element<'_>) {
        let said = |name| table.attr(name).filter(|it: &&str| !it.trim().is_empty());
        let (Some(name), Some(source)) = (said("name"), said("source")) else {
            let message = "a lookup table has a name and a source".to_owned();
            self.sink.error("TV0744", table, message, "say both");
            return;
        };
        let header = said("header").unwrap_or_default().split(';');
        let header: Vec<String> = header.map(|it| it.trim().to_owned()).collect();
        if header.len() < 2 {
            let message = format!("the table {name} has no columns");
            let help = "its header names the keys and the value, parted by semicolons";
            self.sink.error("TV0744", table, message, help);
            return;
        }
        let source = TableSource { file: source.to_owned(), header };
        self.model.tables.insert(name.into(), source);
    }

    fn process(&mut self, process: Element<'a>) {
        let id = self.add(process, Kind::Process, None, Vec::new(), Arc::default());
        let around = Arc::clone(&self.model.globals);
        let status = self.attributes.declare(process, AttributeKind::Status, Some(id), self.sink);
        let mut declared = status;
        if !declared.iter().any(|(_, it)| *it == TIMESTAMP) {
            let name = Name::clone(&self.attributes.all[TIMESTAMP].name);
            declared.insert(0, (name, TIMESTAMP));
        }
        self.model.nodes[id].status = declared.iter().map(|(_, it)| *it).collect();
        let data = self.data(process, id);
        if !data.iter().any(|(_, it)| *it == INSTANCE) {
            let name = Name::clone(&self.attributes.all[INSTANCE].name);
            declared.push((name, INSTANCE));
            self.model.nodes[id].data.insert(0, INSTANCE);
        }
        declared.extend(data);
        let names = attribute::within(&around, &declared, process, self.sink);
        self.declared(process, &names);
        self.model.nodes[id].formulas = self.worked_out(id, &names);
        self.model.nodes[id].names = names;
        self.inside(process, id);
        self.said(process, id);
    }

    /// The data attributes of a scope.
    fn data(&mut self, scope: Element<'_>, owner: NodeId) -> Vec<(Name, usize)> {
        let objects = scope.children().filter(|it| it.is_any(DATA));
        let mut declared = Vec::new();
        for object in objects {
            let kind = AttributeKind::Data;
            declared.extend(self.attributes.declare(object, kind, Some(owner), self.sink));
        }
        self.model.nodes[owner].data = declared.iter().map(|(_, it)| *it).collect();
        declared
    }

    /// The attributes of a node that have a formula, as they are worked out: data before status, each in the order
    /// of declaration; but the status that a formula of data reads comes before it.
    fn worked_out(&self, node: NodeId, names: &Names) -> Vec<AttributeId> {
        let formula =
            |it: &AttributeId| self.attributes.all[*it].formula.as_ref()?.formula.as_ref();
        let having = |all: &[AttributeId]| -> VecDeque<AttributeId> {
            all.iter().copied().filter(|it| self.attributes.all[*it].formula.is_some()).collect()
        };
        let mut status = having(&self.model.nodes[node].status);
        let mut order = Vec::new();
        for it in having(&self.model.nodes[node].data) {
            let read = formula(&it).into_iter().flat_map(names_in);
            let read: Vec<&AttributeId> = read.filter_map(|it| names.get(it)).collect();
            while status.iter().any(|it| read.contains(&it)) {
                order.extend(status.pop_front());
            }
            order.push(it);
        }
        order.extend(status);
        order
    }

    fn add(
        &mut self,
        element: Element<'_>,
        kind: Kind,
        parent: Option<NodeId>,
        status: Vec<usize>,
        names: Names,
    ) -> NodeId {
        let Some(id) = element.id() else {
            let message = format!("{} has no id", element.title());
            self.sink.error("TV0744", element, message, "give it one");
            return self.push(element, "", kind, parent, status, names);
        };
        self.push(element, id, kind, parent, status, names)
    }

    fn push(
        &mut self,
        element: Element<'_>,
        id: &str,
        kind: Kind,
        parent: Option<NodeId>,
        status: Vec<usize>,
        names: Names,
    ) -> NodeId {
        let position = self.model.nodes.len();
        self.known.insert(element.position(), position);
        let performs = element.all("performer").any(|it| it.attr("name") == Some("Sequential"));
        for it in element.all("performer").filter(|it| it.attr("name") != Some("Sequential")) {
            let name = it.attr("name").unwrap_or_default();
            let message = format!("the performer '{name}' of {} has no effect", element.title());
            self.sink.warn("TV0746", it, message, "only one named Sequential means something");
        }
        self.model.nodes.push(Node {
            id: id.into(),
            label: element.attr("name").map(|it| it.trim().into()),
            kind,
            parent,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            default: None,
            starts: Vec::new(),
            handlers: Vec::new(),
            undone_by: None,
            boundary: Vec::new(),
            status,
            data: Vec::new(),
            formulas: Vec::new(),
            restrictions: Vec::new(),
            operators: Vec::new(),
            choices: Vec::new(),
            repeat: None,
            messages: Vec::new(),
            for_compensation: is_true(element, "isForCompensation", false),
            performs,
            names,
        });
        position
    }

    /// The nodes and flows of a scope.
    fn inside(&mut self, scope: Element<'a>, parent: NodeId) {
        let children: Vec<Element<'a>> = scope.children().filter(|it| it.is_any(NODES)).collect();
        // Boundary events come when their hosts are known.
        for child in children.iter().filter(|it| !it.is("boundaryEvent")) {
            self.node(*child, parent);
        }
        for child in children.iter().filter(|it| it.is("boundaryEvent")) {
            self.boundary(*child, parent);
        }
        for flow in scope.all("sequenceFlow") {
            self.flow(flow, parent);
        }
        for child in &children {
            self.default_flow(*child, scope);
        }
        for association in scope.all("association") {
            self.association(association);
        }
        self.find_starts(parent, scope);
    }

    fn node(&mut self, element: Element<'a>, parent: NodeId) {
        let around = Arc::clone(&self.model.nodes[parent].names);
        let kind = match element.name() {
            "subProcess" if is_true(element, "triggeredByEvent", false) => {
                Kind::EventSubProcess { start: 0 }
            }
            "subProcess" | "transaction" => Kind::SubProcess,
            "adHocSubProcess" => {
                Kind::AdHoc { sequential: element.attr("ordering") == Some("Sequential") }
            }
            "task" if is_decision(element) => Kind::Decision,
            "sendTask" => Kind::Send,
            "receiveTask" => Kind::Receive,
            "startEvent" => {
                let trigger = match event::definition(element, self.sink) {
                    None => None,
                    Some(_) => self.trigger(element, &around),
                };
                let interrupting = self.interrupts(element, "isInterrupting", trigger.as_ref());
                Kind::Start(Start { trigger, interrupting })
            }
            "intermediateCatchEvent" => {
                let Some(trigger) = self.trigger(element, &around) else {
                    return self.useless(element);
                };
                if matches!(trigger, Trigger::Error | Trigger::Escalation | Trigger::Compensation) {
                    return self.useless(element);
                }
                Kind::Catch(trigger)
            }
            "intermediateThrowEvent" | "endEvent" => Kind::Throw(self.throw(element, &around)),
            "exclusiveGateway" => Kind::Exclusive,
            "parallelGateway" => Kind::Parallel,
            "eventBasedGateway" => Kind::EventBased,
            _ => Kind::Task,
        };
        let id = self.add(element, kind, Some(parent), Vec::new(), Arc::clone(&around));
        let status = self.attributes.declare(element, AttributeKind::Status, Some(id), self.sink);
        let mut declared = status;
        self.model.nodes[id].status = declared.iter().map(|(_, it)| *it).collect();
        let scope = self.model.nodes[id].is_scope();
        if scope {
            let data = self.data(element, id);
            declared.extend(data);
        }
        let names = attribute::within(&around, &declared, element, self.sink);
        self.declared(element, &names);
        self.model.nodes[id].formulas = self.worked_out(id, &names);
        self.model.nodes[id].names = names;
        if scope {
            self.inside(element, id);
        }
        self.said(element, id);
        let sends = match &self.model.nodes[id].kind {
            Kind::Send
            | Kind::Receive
            | Kind::Catch(Trigger::Message)
            | Kind::Throw(Throw::Message) => true,
            Kind::Start(start) => matches!(start.trigger, Some(Trigger::Message)),
            _ => false,
        };
        if sends {
            let names = Arc::clone(&self.model.nodes[id].names);
            self.model.nodes[id].messages = self.messages(element, &names);
        }
        if self.model.nodes[id].is_activity() {
            self.model.nodes[id].repeat = self.repeat(element, id);
        }
    }

    /// Whether an event takes away what it happens to. An error always does.
    fn interrupts(&mut self, event: Element<'_>, by: &str, trigger: Option<&Trigger>) -> bool {
        let interrupts = is_true(event, by, true);
        if matches!(trigger, Some(Trigger::Error)) && !interrupts {
            let message = format!("{by} of {} has no effect: an error interrupts", event.title());
            self.sink.warn("TV0747", event, message, "leave it away");
            return true;
        }
        interrupts
    }

    fn useless(&mut self, element: Element<'_>) {
        let message = format!("{} waits for nothing that could happen", element.title());
        let help = "a catch event waits for a message, a signal, a timer or a condition";
        self.sink.error("TV0744", element, message, help);
    }

    fn boundary(&mut self, element: Element<'a>, parent: NodeId) {
        let host = element.attr("attachedToRef").map(local_part);
        let host = host.and_then(|it| self.document.by_id(it));
        let host = host.and_then(|it| self.known.get(&it.position()).copied());
        let host = host.filter(|it| self.model.nodes[*it].is_activity());
        let Some(host) = host else {
            let message = format!("{} is attached to no activity", element.title());
            self.sink.error("TV0746", element, message, "attach it to one");
            return;
        };
        let names = Arc::clone(&self.model.nodes[parent].names);
        let Some(trigger) = self.trigger(element, &names) else { return self.useless(element) };
        let interrupting = self.interrupts(element, "cancelActivity", Some(&trigger));
        let undoes = matches!(trigger, Trigger::Compensation);
        let message = matches!(trigger, Trigger::Message);
        let kind = Kind::Boundary { trigger, interrupting, leads_to: None };
        let id = self.add(element, kind, Some(parent), Vec::new(), Arc::clone(&names));
        self.said(element, id);
        if message {
            self.model.nodes[id].messages = self.messages(element, &names);
        }
        if !undoes {
            self.model.nodes[host].boundary.push(id);
            return;
        }
        if self.model.nodes[host].undone_by.replace(id).is_some() {
            let message = format!("{} is one of several that undo its activity", element.title());
            self.sink.error("TV0746", element, message, "keep one of them");
        }
    }

    fn flow(&mut self, flow: Element<'_>, parent: NodeId) {
        let end = |name| {
            let found = self.document.by_id(local_part(flow.attr(name)?))?;
            let id = *self.known.get(&found.position())?;
            (self.model.nodes[id].parent == Some(parent)).then_some(id)
        };
        let (Some(from), Some(to)) = (end("sourceRef"), end("targetRef")) else {
            let message = format!("{} leads nowhere, or to another scope", flow.title());
            self.sink.error("TV0746", flow, message, "connect two elements of one scope");
            return;
        };
        let names = Arc::clone(&self.model.nodes[parent].names);
        let gatekeepers = listed(flow, "restrictions", "restriction");
        if let (Kind::Parallel | Kind::EventBased, Some(it)) =
            (&self.model.nodes[from].kind, gatekeepers.first())
        {
            let message =
                format!("{} of a gateway that takes all its flows is restricted", flow.title());
            let help = "only an exclusive gateway chooses; put one behind it";
            self.sink.error("TV0741", *it, message, help);
        }
        for it in &gatekeepers {
            self.has_no_scope(*it, flow);
        }
        let gatekeepers =
            gatekeepers.into_iter().filter_map(|it| self.formula(it, "expression", &names));
        let gatekeepers = gatekeepers.collect();
        let id = self.model.flows.len();
        self.flows.insert(flow.position(), id);
        self.model.flows.push(Flow { to, gatekeepers });
        self.model.nodes[from].outgoing.push(id);
        self.model.nodes[to].incoming.push(id);
    }

    /// Flows and events have no points at which something is checked.
    fn has_no_scope(&mut self, restriction: Element<'_>, of: Element<'_>) {
        if restriction.attr("scope").is_some_and(|it| !["", "full"].contains(&it)) {
            let message = format!("the scope of a restriction of {} has no effect", of.title());
            self.sink.warn("TV0747", restriction, message, "leave it away");
        }
    }

    fn default_flow(&mut self, element: Element<'_>, scope: Element<'_>) {
        let Some(name) = element.attr("default") else { return };
        let Some(id) = self.known.get(&element.position()).copied() else { return };
        let name = local_part(name);
        let flow = scope.all("sequenceFlow").find(|it| it.id() == Some(name));
        let flow = flow.and_then(|it| Some((it, self.flows.get(&it.position()).copied()?)));
        if let Some((at, flow)) = flow.filter(|(_, it)| self.model.nodes[id].outgoing.contains(it))
        {
            self.model.nodes[id].default = Some(flow);
            if let Some(it) = listed(at, "restrictions", "restriction").first() {
                let message =
                    format!("the restrictions of {}, a default flow, have no effect", at.title());
                self.sink.warn("TV0747", *it, message, "it is taken where no other opens");
            }
            return;
        }
        let message = format!("the default flow of {} is none of its flows", element.title());
        self.sink.error("TV0746", element, message, "name one that leaves it");
    }

    /// What a compensation boundary event leads to.
    fn association(&mut self, association: Element<'_>) {
        let end = |name| {
            let found = self.document.by_id(local_part(association.attr(name)?))?;
            self.known.get(&found.position()).copied()
        };
        let (Some(from), Some(to)) = (end("sourceRef"), end("targetRef")) else { return };
        let activity = self.model.nodes[to].is_activity();
        if let Kind::Boundary { trigger: Trigger::Compensation, leads_to, .. } =
            &mut self.model.nodes[from].kind
            && activity
        {
            *leads_to = Some(to);
            self.model.nodes[to].for_compensation = true;
        }
    }

    /// Where a scope begins, and what handles events in it.
    fn find_starts(&mut self, scope: NodeId, element: Element<'_>) {
        let inside: Vec<NodeId> = (scope + 1..self.model.nodes.len())
            .filter(|it| self.model.nodes[*it].parent == Some(scope))
            .collect();
        let mut plain = Vec::new();
        let mut unled = Vec::new();
        let mut typed = Vec::new();
        for id in inside {
            let node = &self.model.nodes[id];
            let at = self.document.by_id(&node.id).unwrap_or(element);
            match &node.kind {
                Kind::EventSubProcess { start } => {
                    let start = &self.model.nodes[*start].kind;
                    let undoes = matches!(
                        start,
                        Kind::Start(Start { trigger: Some(Trigger::Compensation), .. })
                    );
                    let scope = &mut self.model.nodes[scope];
                    if undoes { scope.undone_by = Some(id) } else { scope.handlers.push(id) }
                }
                Kind::Start(start) if start.trigger.is_none() => plain.push(id),
                Kind::Start(_) => typed.push(id),
                Kind::Boundary { trigger: Trigger::Compensation, leads_to: None, .. } => {
                    let message = format!("{} leads to nothing that undoes", at.title());
                    let help = "connect it with an activity by an association";
                    self.sink.error("TV0746", at, message, help);
                }
                Kind::Boundary { .. } => {}
                Kind::EventBased => {
                    let follows = node.outgoing.iter().map(|it| self.model.flows[*it].to);
                    let waits = |it: NodeId| matches!(self.model.nodes[it].kind, Kind::Catch(_));
                    if node.outgoing.is_empty() || !follows.into_iter().all(waits) {
                        let message =
                            format!("{} leads to something that is no catch event", at.title());
                        self.sink.error("TV0746", at, message, "put catch events behind it");
                    }
                }
                _ if node.incoming.is_empty() && !node.for_compensation => unled.push(id),
                _ => {}
            }
        }
        self.check_compensation(scope);
        self.check_repeated(scope);
        let handler = matches!(self.model.nodes[scope].kind, Kind::EventSubProcess { .. });
        if handler {
            if let ([start], []) = (&typed[..], &plain[..]) {
                self.model.nodes[scope].kind = Kind::EventSubProcess { start: *start };
                self.check_awaited(*start, scope);
                // The content of its event is for attributes of the event sub-process.
                return;
            }
            let message = format!("{} needs one start event with a definition", element.title());
            self.sink.error("TV0746", element, message, "add it");
        } else if let Some(start) = typed.first() {
            let at = self.document.by_id(&self.model.nodes[*start].id).unwrap_or(element);
            let message = format!("{} can start only an event sub-process", at.title());
            let help = "instances begin when the scenario says so; use a plain start event";
            self.sink.error("TV0745", at, message, help);
        }
        let starts = if plain.is_empty() { unled } else { plain };
        self.model.nodes[scope].starts = starts;
    }

    /// Whether events that undo something by its name can find it.
    fn check_compensation(&mut self, scope: NodeId) {
        let throws = |it: &&Node| {
            it.parent == Some(scope) && matches!(it.kind, Kind::Throw(Throw::Compensation))
        };
        let named = |it: &Node| Some((Name::clone(&it.id), it.label.clone()?));
        let thrown: Vec<(Name, Name)> =
            self.model.nodes.iter().filter(throws).filter_map(named).collect();
        for (id, label) in thrown.into_iter().filter(|(_, label)| !label.is_empty()) {
            // What handles events speaks of the scope around it, too, which is not read to its end yet.
            let around = !matches!(self.model.nodes[scope].kind, Kind::Process | Kind::SubProcess);
            let mut activities = self.model.nodes.iter().filter(|it| it.is_activity());
            let found =
                activities.any(|it| it.parent == Some(scope) && it.label.as_ref() == Some(&label));
            let Some(at) = self.document.by_id(&id).filter(|_| !around && !found) else { continue };
            let message = format!("{} undoes '{label}', and no activity has that name", at.title());
            let help = "take the name of an activity beside it, or none to undo all of them";
            self.sink.warn("TV0746", at, message, help);
        }
    }

    /// Whether it is said how often things are done, and those undone that are done in copies.
    fn check_repeated(&mut self, scope: NodeId) {
        for id in scope + 1..self.model.nodes.len() {
            let node = &self.model.nodes[id];
            if node.parent != Some(scope) {
                continue;
            }
            let Some(at) = self.document.by_id(&node.id) else { continue };
            match (&node.repeat, node.for_compensation) {
                (Some(Repeat::Each { cardinality: None, .. }), false)
                    if listed(at, "messages", "message").is_empty() =>
                {
                    let message = format!("{} says no number of copies", at.title());
                    let help = "add a bpmnos:loopCharacteristics with a parameter cardinality";
                    self.sink.error("TV0744", at, message, help);
                }
                (Some(Repeat::Each { cardinality: Some(_), .. }), true) => {
                    let message =
                        format!("the parameter cardinality of {} means nothing here", at.title());
                    let help = "what undoes copies is done once for each of them";
                    self.sink.error("TV0741", at, message, help);
                }
                (Some(Repeat::Each { .. }), true) if node.messages.len() > 1 => {
                    let message = format!("{} has several messages", at.title());
                    self.sink.error("TV0741", at, message, "what undoes has one for all copies");
                }
                (Some(Repeat::Loop { .. }), true) => {
                    let message = format!("{} undoes something, and is a loop", at.title());
                    let help = "put the loop into a sub-process that undoes";
                    self.sink.error("TV0745", at, message, help);
                }
                _ => {}
            }
            let Some(Kind::Boundary { leads_to: Some(by), .. }) =
                node.undone_by.map(|it| &self.model.nodes[it].kind)
            else {
                continue;
            };
            let is_each = |it: &Node| matches!(it.repeat, Some(Repeat::Each { .. }));
            let by = &self.model.nodes[*by];
            let Some(it) = self.document.by_id(&by.id) else { continue };
            if is_each(node) && !is_each(by) {
                let message = format!(
                    "{} is done in copies, which {} alone cannot undo: the run will fail",
                    at.title(),
                    it.title()
                );
                let help = "mark what undoes as multi-instance, without a number of copies";
                self.sink.warn("TV0746", it, message, help);
            } else if is_each(by) && !is_each(node) {
                let message = format!("{} undoes copies, and {} has none", it.title(), at.title());
                let help = "leave the marker away, or put it into a sub-process that undoes";
                self.sink.error("TV0746", it, message, help);
            }
        }
    }

    /// Whether all that a start event of an event sub-process needs is known before it has happened.
    fn check_awaited(&mut self, start: NodeId, handler: NodeId) {
        let node = &self.model.nodes[start];
        let Some(at) = self.document.by_id(&node.id) else { return };
        let mut formulas: Vec<&Formula> = node.restrictions.iter().map(|it| &it.formula).collect();
        if let Some(Trigger::Timer(Some(formula))) = node.trigger() {
            formulas.push(formula);
        }
        let headers =
            node.messages.iter().flat_map(|it| &it.header).filter_map(|(_, it)| match it {
                HeaderText::Attribute(name) => Some(name),
                HeaderText::Any | HeaderText::Text(_) => None,
            });
        let mut read = formulas.into_iter().flat_map(names_in).chain(headers);
        let is_late = |it: &&Name| {
            let id = node.names.get(*it);
            id.is_some_and(|it| self.model.nodes[handler].formulas.contains(it))
        };
        let Some(late) = read.find(is_late).cloned() else { return };
        let message =
            format!("{} reads '{late}', which is worked out when it has happened", at.title());
        self.sink.error("TV0743", at, message, "write the formula there");
    }

    /// Restrictions, operators and choices.
    fn said(&mut self, element: Element<'_>, id: NodeId) {
        let names = Arc::clone(&self.model.nodes[id].names);
        let condition = element.children().filter(|it| it.name() == "conditionalEventDefinition");
        let said = std::iter::once(element).chain(condition);
        let said = said.flat_map(|it| listed(it, "restrictions", "restriction"));
        for it in said.collect::<Vec<_>>() {
            let at = match it.attr("scope").unwrap_or("full") {
                "entry" => RestrictionAt::Entry,
                "completion" => RestrictionAt::Completion,
                "exit" => RestrictionAt::Exit,
                "full" | "" => RestrictionAt::Full,
                other => {
                    let message = format!("there is no scope {other}");
                    let help = "a restriction holds on entry, completion, exit, or full";
                    self.sink.error("TV0744", it, message, help);
                    continue;
                }
            };
            if at == RestrictionAt::Exit
                && matches!(self.model.nodes[id].kind, Kind::Process | Kind::EventSubProcess { .. })
            {
                let message =
                    format!("{} is never left, so nothing is checked then", element.title());
                self.sink.warn("TV0747", it, message, "check it on completion");
            }
            let Some(formula) = self.formula(it, "expression", &names) else { continue };
            let condition = matches!(self.model.nodes[id].trigger(), Some(Trigger::Condition));
            if condition {
                self.has_no_scope(it, element);
            }
            let reads = |name: &Name| names.get(name) == Some(&TIMESTAMP);
            if condition && formula.uses().reads.iter().any(reads) {
                let message = format!("the condition of {} reads the timestamp", element.title());
                self.sink.error("TV0743", it, message, "wait for a time by a timer");
            }
            self.model.nodes[id].restrictions.push(Restriction { formula, at });
        }
        for it in listed(element, "operators", "operator") {
            let text = it.attr("expression").unwrap_or_default();
            let parsed = Assignment::parse(text);
            let Some(operator) = self.parsed(parsed, text, it) else { continue };
            self.is_known(&operator.target, it, &names);
            if let Some(formula) = &operator.formula {
                self.uses(formula.uses(), it, &names);
            }
            let kind = &self.model.nodes[id].kind;
            match names.get(&operator.target) {
                Some(&INSTANCE) => {
                    let message =
                        format!("an operator of {} changes the instance", element.title());
                    self.sink.error("TV0743", it, message, "it names the instance for good");
                }
                Some(&TIMESTAMP) if !matches!(kind, Kind::Task) => {
                    let message =
                        format!("an operator of {} changes the timestamp", element.title());
                    self.sink.error("TV0743", it, message, "only a plain task may");
                }
                _ => self.model.nodes[id].operators.push(operator),
            }
        }
        for it in listed(element, "decisions", "decision") {
            let text = it.attr("condition").unwrap_or_default();
            let parsed = Choice::parse(text);
            let Some(choice) = self.parsed(parsed, text, it) else { continue };
            self.is_known(&choice.target, it, &names);
            self.uses(choice.uses(), it, &names);
            if names.get(&choice.target).is_some_and(|it| *it <= INSTANCE) {
                let message = format!("{} chooses what nobody can choose", element.title());
                self.sink.error("TV0743", it, message, "choose another attribute");
            }
            self.model.nodes[id].choices.push(choice);
        }
    }

    fn repeat(&mut self, element: Element<'_>, id: NodeId) -> Option<Repeat> {
        let names = Arc::clone(&self.model.nodes[id].names);
        let each = element.child("multiInstanceLoopCharacteristics");
        let round = element.child("standardLoopCharacteristics");
        let mut said: Vec<Element<'_>> = extensions(element, "loopCharacteristics").collect();
        for it in [each, round].into_iter().flatten() {
            said.extend(extensions(it, "loopCharacteristics"));
        }
        // An empty one says nothing.
        let parameters: Vec<Element<'_>> = said
            .iter()
            .flat_map(|it| it.parts("parameter"))
            .filter(|it| it.attr("value").is_some_and(|it| !it.trim().is_empty()))
            .collect();
        let parameter =
            |name: &str| parameters.iter().find(|it| it.attr("name") == Some(name)).copied();
        let meant: &[&str] = match each {
            Some(_) => &["cardinality", "index"],
            None => &["condition", "maximum", "index"],
        };
        for it in parameters.iter().filter(|_| each.is_some() || round.is_some()) {
            let name = it.attr("name").unwrap_or_default();
            if meant.contains(&name) && parameter(name) == Some(*it) {
                continue;
            }
            let message = format!("the parameter {name} of {} means nothing here", element.title());
            let help = format!("it has {}, each once", meant.join(", "));
            self.sink.error("TV0741", *it, message, &help);
        }
        let index = parameter("index").and_then(|it| {
            let name = it.attr("value").unwrap_or_default().trim();
            self.is_known(name, it, &names).then(|| Name::from(name))
        });
        if let Some(each) = each {
            let sequential = is_true(each, "isSequential", false);
            let cardinality = match parameter("cardinality") {
                Some(it) => Some(self.formula(it, "value", &names)?),
                None => None,
            };
            return Some(Repeat::Each { sequential, cardinality, index });
        }
        if round.is_none() {
            if let Some(it) = said.first() {
                let message = format!("{} is not repeated", element.title());
                let help = "make it a multi-instance activity or a loop";
                self.sink.error("TV0741", *it, message, help);
            }
            return None;
        }
        let condition = parameter("condition").map(|it| self.formula(it, "value", &names));
        let maximum = parameter("maximum").map(|it| self.formula(it, "value", &names));
        if condition.is_none() && maximum.is_none() {
            let message = format!("{} does not say how often it is done", element.title());
            let help = "add a bpmnos:loopCharacteristics with a parameter condition or maximum";
            self.sink.error("TV0744", element, message, help);
        }
        Some(Repeat::Loop { condition: condition.flatten(), maximum: maximum.flatten(), index })
    }

    fn message_flows(&mut self) {
        let flows = self.document.root().all("collaboration");
        for flow in flows.flat_map(|it| it.all("messageFlow")) {
            let end = |name| {
                let found = self.document.by_id(local_part(flow.attr(name)?))?;
                let found = match found.attr("processRef").filter(|_| found.is("participant")) {
                    Some(process) => self.document.by_id(local_part(process))?,
                    None => found,
                };
                self.known.get(&found.position()).copied()
            };
            // One end may be a participant of which nothing is known.
            if let (Some(from), Some(to)) = (end("sourceRef"), end("targetRef")) {
                self.model.message_flows.push((from, to));
            }
        }
    }

    /// The formula in an attribute.
    pub(super) fn formula(
        &mut self,
        at: Element<'_>,
        attribute: &str,
        names: &Names,
    ) -> Option<Formula> {
        let text = at.attr(attribute).unwrap_or_default();
        let parsed = Formula::parse(text);
        let formula = self.parsed(parsed, text, at)?;
        self.uses(formula.uses(), at, names);
        Some(formula)
    }

    fn parsed<T>(
        &mut self,
        parsed: Result<T, CompileError>,
        text: &str,
        at: Element<'_>,
    ) -> Option<T> {
        match parsed {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let CompileError { message, line, column, .. } = error;
                let message = format!("`{text}` is no formula: {message} ({line}:{column})");
                self.sink.error("TV0742", at, message, "docs/bpmnos.md explains formulas");
                None
            }
        }
    }

    /// Whether all that a formula needs is there.
    fn uses(&mut self, uses: &Uses, at: Element<'_>, names: &Names) {
        for name in uses.reads.iter().chain(&uses.asks) {
            self.is_known(name, at, names);
        }
        for call in &uses.calls {
            if !self.model.tables.contains_key(call) {
                let message = format!("there is no function and no table '{call}'");
                self.sink.error("TV0743", at, message, "declare the table in a data store");
            }
        }
    }

    pub(super) fn is_known(&mut self, name: &str, at: Element<'_>, names: &Names) -> bool {
        if names.contains_key(name) {
            return true;
        }
        let known: Vec<&str> = names.keys().map(|it| &**it).collect();
        let message = format!("there is no attribute '{name}' here");
        let help = format!("there are: {}", known.join(", "));
        self.sink.error("TV0743", at, message, &help);
        false
    }
}
