//! From the elements of a file to what there is to draw.

use std::collections::{BTreeMap, BTreeSet};

use travertine_xml::{Document, Node, local_part, one_line};

use super::{
    Activity, DataRole, Event, EventPlace, Gateway, Item, ItemId, Kind, Link, LinkKind, Model,
    Repeat, What, Work,
};

/// Everything that can be drawn in a document.
pub(super) fn model(document: &Document) -> Model {
    let mut reader = Reader::default();
    for node in document.root().children() {
        if node.is("process") {
            reader.process(node);
        }
    }
    for node in document.root().children() {
        if node.is_any(&["collaboration", "choreography", "globalConversation"]) {
            reader.collaboration(node);
        }
    }
    reader.connect(document);
    reader.model
}

#[derive(Default)]
struct Reader {
    model: Model,
    /// The flows that are taken when no other is.
    defaults: BTreeSet<String>,
    /// The host that each boundary event names.
    hosts: BTreeMap<ItemId, String>,
}

impl Reader {
    fn add(&mut self, node: Node<'_>, kind: Kind, parent: Option<ItemId>) -> ItemId {
        let id = self.model.items.len();
        let key = node.id().map_or_else(|| format!("{} {id}", node.name()), str::to_owned);
        self.model.ids.entry(key.clone()).or_insert(id);
        self.model.items.push(Item {
            id: key,
            name: one_line(node.attr("name").unwrap_or_default()),
            kind,
            class: node.name().to_owned(),
            parent,
            host: None,
            lane: None,
        });
        id
    }

    fn process(&mut self, node: Node<'_>) {
        let process = self.add(node, Kind::Process, None);
        self.inside(node, process);
    }

    /// What lies in a process or sub-process. Lanes come first: they lie under all else.
    fn inside(&mut self, node: Node<'_>, parent: ItemId) {
        for set in node.all("laneSet") {
            self.lanes(set, parent, None);
        }
        for child in node.children() {
            if let Some(kind) = kind(child) {
                let id = self.add(child, kind, Some(parent));
                if let Some(default) = child.attr("default") {
                    self.defaults.insert(default.to_owned());
                }
                if let Some(host) = child.attr("attachedToRef") {
                    self.hosts.insert(id, local_part(host).to_owned());
                }
                self.name(child, id);
                if child.is_any(SUB_PROCESSES) {
                    self.inside(child, id);
                }
            }
            if child.is("ioSpecification") {
                self.data_of_process(child, parent);
            }
        }
    }

    /// Names that are not in an attribute, or are better elsewhere.
    fn name(&mut self, node: Node<'_>, id: ItemId) {
        let document = node.document();
        let refers = |name: &str| document.by_id(local_part(node.attr(name)?));
        let item = &mut self.model.items[id];
        match item.kind {
            Kind::Annotation => {
                let text = node.child("text").map_or("", |it| it.text());
                text.trim().clone_into(&mut item.name);
            }
            Kind::Group => {
                let value = refers("categoryValueRef").and_then(|it| it.attr("value"));
                value.unwrap_or_default().clone_into(&mut item.name);
            }
            Kind::Data { .. } | Kind::Store => {
                let meant = refers("dataObjectRef").or_else(|| refers("dataStoreRef"));
                if item.name.is_empty()
                    && let Some(name) = meant.and_then(|it| it.attr("name"))
                {
                    item.name = one_line(name);
                }
                let state = node.child("dataState").and_then(|it| it.attr("name"));
                if let Some(state) =
                    state.filter(|it| !it.is_empty() && !item.name.contains(&format!("[{it}]")))
                {
                    item.name = format!("{}\n[{state}]", item.name);
                }
            }
            Kind::Process
            | Kind::Pool { .. }
            | Kind::Lane
            | Kind::Activity(_)
            | Kind::Event(_)
            | Kind::Gateway(_)
            | Kind::Conversation
            | Kind::Choreography => {}
        }
    }

    fn data_of_process(&mut self, node: Node<'_>, parent: ItemId) {
        if self.model.items[parent].kind != Kind::Process {
            return;
        }
        for data in node.children() {
            let role = match data.name() {
                "dataInput" => DataRole::Input,
                "dataOutput" => DataRole::Output,
                _ => continue,
            };
            let collection = data.attr("isCollection") == Some("true");
            self.add(data, Kind::Data { role, collection }, Some(parent));
        }
    }

    fn lanes(&mut self, set: Node<'_>, parent: ItemId, around: Option<ItemId>) {
        for lane in set.all("lane") {
            let id = self.add(lane, Kind::Lane, Some(parent));
            self.model.items[id].lane = around;
            for inner in lane.all("childLaneSet") {
                self.lanes(inner, parent, Some(id));
            }
        }
    }

    fn collaboration(&mut self, node: Node<'_>) {
        for child in node.children() {
            match child.name() {
                "participant" => {
                    let process = child.attr("processRef").map(local_part);
                    let process = process.and_then(|it| self.model.find(it));
                    let process = process.filter(|it| self.model.items[*it].kind == Kind::Process);
                    let multiple = child
                        .child("participantMultiplicity")
                        .is_some_and(|it| it.attr("maximum").is_none_or(|it| it.trim() != "1"));
                    self.add(child, Kind::Pool { process, multiple }, None);
                }
                "conversation" | "subConversation" | "callConversation" => {
                    self.add(child, Kind::Conversation, None);
                }
                "choreographyTask" | "subChoreography" | "callChoreography" => {
                    self.add(child, Kind::Choreography, None);
                }
                _ => {
                    if let Some(kind) = kind(child) {
                        let id = self.add(child, kind, None);
                        self.name(child, id);
                    }
                }
            }
        }
    }

    /// Everything that names something else.
    fn connect(&mut self, document: &Document) {
        for (event, host) in std::mem::take(&mut self.hosts) {
            let known = self.model.find(&host);
            self.model.items[event].host =
                known.filter(|it| matches!(self.model.items[*it].kind, Kind::Activity(_)));
        }
        for node in document.nodes() {
            if node.is("lane") {
                self.members(node);
            } else if let Some(kind) = self.link_kind(node) {
                self.link(node, kind);
            }
        }
    }

    fn members(&mut self, lane: Node<'_>) {
        let Some(id) = lane.id().and_then(|it| self.model.find(it)) else { return };
        for member in lane.all("flowNodeRef") {
            if let Some(item) = self.model.find(local_part(member.text().trim())) {
                // Inner lanes come later in the document and are the better answer.
                self.model.items[item].lane = Some(id);
            }
        }
    }

    fn link_kind(&self, node: Node<'_>) -> Option<LinkKind> {
        Some(match node.name() {
            "sequenceFlow" if node.is("sequenceFlow") => {
                let from = node.attr("sourceRef").and_then(|it| self.model.find(local_part(it)));
                let by_activity =
                    from.is_some_and(|it| matches!(self.model.items[it].kind, Kind::Activity(_)));
                LinkKind::Sequence {
                    default: node.id().is_some_and(|it| self.defaults.contains(it)),
                    conditional: by_activity && node.child("conditionExpression").is_some(),
                }
            }
            "messageFlow" if node.is("messageFlow") => LinkKind::Message,
            "association" if node.is("association") => LinkKind::Association {
                arrows: match node.attr("associationDirection") {
                    Some("One") => (false, true),
                    Some("Both") => (true, true),
                    _ => (false, false),
                },
            },
            "dataInputAssociation" | "dataOutputAssociation" => {
                LinkKind::Association { arrows: (false, true) }
            }
            "conversationLink" => LinkKind::Conversation,
            _ => return None,
        })
    }

    fn link(&mut self, node: Node<'_>, kind: LinkKind) {
        let known = |name: &str| {
            let by_child = node.child(name).map(|it| it.text().trim());
            self.model.find(local_part(node.attr(name).or(by_child)?))
        };
        // Data associations name data inside their activity; the activity itself is meant.
        let activity = || node.parent().and_then(Node::id).and_then(|it| self.model.find(it));
        let (from, to) = match node.name() {
            "dataInputAssociation" => (known("sourceRef"), activity()),
            "dataOutputAssociation" => (activity(), known("targetRef")),
            _ => (known("sourceRef"), known("targetRef")),
        };
        let (Some(from), Some(to)) = (from, to) else { return };
        let id = self.model.links.len();
        let key = node.id().map_or_else(|| format!("{} {id}", node.name()), str::to_owned);
        self.model.link_ids.entry(key.clone()).or_insert(id);
        let name = one_line(node.attr("name").unwrap_or_default());
        self.model.links.push(Link { id: key, name, kind, from, to });
    }
}

const SUB_PROCESSES: &[&str] = &["subProcess", "transaction", "adHocSubProcess"];

/// What an element is, where it has a shape.
fn kind(node: Node<'_>) -> Option<Kind> {
    if let Some(activity) = activity(node) {
        return Some(Kind::Activity(activity));
    }
    if let Some(event) = event(node) {
        return Some(Kind::Event(event));
    }
    let is = |name: &str, value: &str| node.attr(name) == Some(value);
    if !node.is(node.name()) {
        return None;
    }
    Some(match node.name() {
        "exclusiveGateway" => Kind::Gateway(Gateway::Exclusive),
        "inclusiveGateway" => Kind::Gateway(Gateway::Inclusive),
        "parallelGateway" => Kind::Gateway(Gateway::Parallel),
        "complexGateway" => Kind::Gateway(Gateway::Complex),
        "eventBasedGateway" => Kind::Gateway(match is("instantiate", "true") {
            true if is("eventGatewayType", "Parallel") => Gateway::ParallelEventBasedStart,
            true => Gateway::EventBasedStart,
            false => Gateway::EventBased,
        }),
        "dataObjectReference" => {
            let meant = node.attr("dataObjectRef").map(local_part);
            let meant = meant.and_then(|it| node.document().by_id(it));
            let collection = meant.and_then(|it| it.attr("isCollection")) == Some("true");
            Kind::Data { role: DataRole::Plain, collection }
        }
        // What other tools than the newest write: the object itself has a shape.
        "dataObject" => {
            Kind::Data { role: DataRole::Plain, collection: is("isCollection", "true") }
        }
        "dataStoreReference" => Kind::Store,
        "textAnnotation" => Kind::Annotation,
        "group" => Kind::Group,
        "choreographyTask" | "subChoreography" | "callChoreography" => Kind::Choreography,
        _ => return None,
    })
}

fn activity(node: Node<'_>) -> Option<Activity> {
    if !node.is(node.name()) {
        return None;
    }
    let is = |name: &str| node.attr(name) == Some("true");
    let work = match node.name() {
        "task" => Work::Plain,
        "userTask" => Work::User,
        "serviceTask" => Work::Service,
        "scriptTask" => Work::Script,
        "sendTask" => Work::Send,
        "receiveTask" => Work::Receive { instantiates: is("instantiate") },
        "manualTask" => Work::Manual,
        "businessRuleTask" => Work::BusinessRule,
        "callActivity" => Work::Call,
        "transaction" => Work::Transaction,
        "subProcess" if is("triggeredByEvent") => Work::EventSubProcess,
        "subProcess" | "adHocSubProcess" => Work::SubProcess,
        _ => return None,
    };
    let repeat = node.children().find_map(|it| match it.name() {
        "standardLoopCharacteristics" => Some(Repeat::Loop),
        "multiInstanceLoopCharacteristics" if it.attr("isSequential") == Some("true") => {
            Some(Repeat::Sequential)
        }
        "multiInstanceLoopCharacteristics" => Some(Repeat::Parallel),
        _ => None,
    });
    Some(Activity {
        work,
        repeat,
        compensates: is("isForCompensation"),
        ad_hoc: node.is("adHocSubProcess"),
        contains: node.is_any(SUB_PROCESSES) && node.children().any(|it| kind(it).is_some()),
    })
}

fn event(node: Node<'_>) -> Option<Event> {
    let place = match node.name() {
        "startEvent" => EventPlace::Start,
        "intermediateCatchEvent" => EventPlace::Catch,
        "intermediateThrowEvent" => EventPlace::Throw,
        "boundaryEvent" => EventPlace::Boundary,
        "endEvent" => EventPlace::End,
        _ => return None,
    };
    let is_false = |name: &str| node.attr(name) == Some("false");
    let interrupting = !is_false("cancelActivity") && !is_false("isInterrupting");
    let definitions: Vec<What> = node
        .children()
        .filter_map(|it| {
            if it.is("eventDefinitionRef") {
                let meant = node.document().by_id(local_part(it.text().trim()));
                // A reference to nothing we know still says that there is something.
                return Some(meant.and_then(|it| what(it.name())).unwrap_or(What::Message));
            }
            what(it.name())
        })
        .collect();
    let what = match definitions[..] {
        [] => What::Nothing,
        [only] => only,
        _ if node.attr("parallelMultiple") == Some("true") => What::ParallelMultiple,
        _ => What::Multiple,
    };
    Some(Event { place, what, interrupting })
}

fn what(definition: &str) -> Option<What> {
    Some(match definition {
        "messageEventDefinition" => What::Message,
        "timerEventDefinition" => What::Timer,
        "errorEventDefinition" => What::Error,
        "escalationEventDefinition" => What::Escalation,
        "signalEventDefinition" => What::Signal,
        "conditionalEventDefinition" => What::Condition,
        "compensateEventDefinition" => What::Compensation,
        "cancelEventDefinition" => What::Cancel,
        "linkEventDefinition" => What::Link,
        "terminateEventDefinition" => What::Terminate,
        _ => return None,
    })
}
