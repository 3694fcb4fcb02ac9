//! Rules about data: models that contradict themselves are refused, and what changes nothing is named.

use crate::{
    files::Files,
    lower::is_true,
    report::Sink,
    schema,
    xml::{Node, Ns, Severity},
};

pub(super) fn check<'a>(root: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let rules = Data { files, sink };
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn) {
        match node.name() {
            "ioSpecification" => rules.specification(node),
            "serviceTask" => rules.operation(node),
            "dataInputAssociation" | "dataOutputAssociation" => rules.association(node),
            "multiInstanceLoopCharacteristics" => rules.loop_data(node),
            "receiveTask" | "sendTask" => rules.message_task(node),
            "dataObject" => rules.object(node),
            "dataObjectReference" => rules.title(node),
            "callActivity" => rules.call(node),
            name if schema::is_a(name, "callableElement") => rules.offered(node),
            name if schema::is_a(name, "anyEvent") => rules.event(node),
            _ => {}
        }
        if ["dataInput", "dataOutput", "dataObject"].iter().any(|it| schema::is_a(node.name(), it))
        {
            rules.collection(node);
        }
    }
}

pub(super) struct Data<'a, 'f> {
    pub(super) files: &'f Files<'a>,
    pub(super) sink: &'f Sink,
}

/// What is said about one direction of data.
pub(super) struct Direction {
    pub(super) data: &'static str,
    pub(super) set: &'static str,
    pub(super) refs: &'static str,
    pub(super) more: [&'static str; 2],
    /// Sets of the other direction that belong to a set, and what these call it.
    others: &'static str,
    other_set: &'static str,
    back: &'static str,
}

pub(super) const INPUT: Direction = Direction {
    data: "dataInput",
    set: "inputSet",
    refs: "dataInputRefs",
    more: ["optionalInputRefs", "whileExecutingInputRefs"],
    others: "outputSetRefs",
    other_set: "outputSet",
    back: "inputSetRefs",
};

pub(super) const OUTPUT: Direction = Direction {
    data: "dataOutput",
    set: "outputSet",
    refs: "dataOutputRefs",
    more: ["optionalOutputRefs", "whileExecutingOutputRefs"],
    others: "inputSetRefs",
    other_set: "inputSet",
    back: "outputSetRefs",
};

impl<'a> Data<'a, '_> {
    /// Data and its type must agree whether it is a list.
    fn collection(&self, data: Node<'a>) {
        let Some(item) = self.item(data, "itemSubjectRef") else { return };
        let is_list = |it: Node<'_>| is_true(it, "isCollection", false);
        if is_list(item) != is_list(data) {
            let message =
                format!("{} and its type {} disagree on isCollection", data.title(), item.title());
            self.sink.error("TV0901", data, message, "set both to the same");
        }
    }

    pub(super) fn item(&self, node: Node<'a>, attribute: &str) -> Option<Node<'a>> {
        self.files.resolve_as(node, node.attr(attribute)?, "itemDefinition")
    }

    /// The item of data: that of the object behind a reference.
    pub(super) fn item_of(&self, data: Node<'a>) -> Option<Node<'a>> {
        let behind = data.attr("dataObjectRef").or_else(|| data.attr("dataStoreRef"));
        let behind = behind.and_then(|it| self.files.resolve(data, it));
        let own = self.item(data, "itemSubjectRef");
        behind.and_then(|it| self.item(it, "itemSubjectRef")).or(own)
    }

    /// The item of a message.
    pub(super) fn item_of_message(&self, message: Node<'a>) -> Option<Node<'a>> {
        self.item(message, "itemRef")
    }

    /// The message that the text of an element, or an attribute, names.
    pub(super) fn message(&self, at: Node<'a>, reference: Option<&str>) -> Option<Node<'a>> {
        self.files.resolve_as(at, reference?, "message")
    }

    fn structure(&self, data: Node<'a>) -> Option<&'a str> {
        self.item_of(data)?.attr("structureRef")
    }

    fn specification(&self, specification: Node<'a>) {
        let owner = specification.parent();
        if let Some(owner) = owner.filter(|it| schema::is_a(it.name(), "subProcess")) {
            let message = format!("{} has an ioSpecification of its own", owner.title());
            let help =
                "a sub-process sees the data around it; give its activities inputs and outputs";
            self.sink.warn("TV0919", specification, message, help);
        }
        for direction in [INPUT, OUTPUT] {
            self.sets(specification, &direction, Severity::Error);
            self.both_ways(specification, &direction);
        }
    }

    /// Every data input is in a set, and optional ones are in the set that says so.
    fn sets(&self, owner: Node<'a>, direction: &Direction, severity: Severity) {
        let Direction { data, set, refs, more, .. } = direction;
        let sets: Vec<_> = owner.all(set).collect();
        let lists = |set: Node<'a>, id: &str| set.all(refs).any(|it| it.text().trim() == id);
        for data in owner.all(data) {
            if !data.id().is_some_and(|id| sets.iter().any(|it| lists(*it, id))) {
                // What has no id can be filled by nobody.
                let severity = if data.id().is_some() { severity } else { Severity::Warning };
                let message = format!("{} is in no {set}", data.title());
                self.sink.add(severity, "TV0902", data, data.place(), message, "add it to a set");
            }
        }
        for set in &sets {
            for reference in more.iter().flat_map(|it| set.all(it)) {
                if !lists(*set, reference.text().trim()) {
                    let message = format!(
                        "{} '{}' is not among the {refs} of its set",
                        reference.name(),
                        reference.text().trim()
                    );
                    let place = reference.place();
                    self.sink.add(
                        severity,
                        "TV0903",
                        reference,
                        place,
                        message,
                        "add it there too",
                    );
                }
            }
        }
    }

    /// A set that refers to one of the other direction is referred to by that.
    fn both_ways(&self, specification: Node<'a>, direction: &Direction) {
        let Direction { set, others, other_set, back, .. } = direction;
        for set in specification.all(set) {
            for reference in set.all(others) {
                let Some(other) = self.files.resolve_as(reference, reference.text(), other_set)
                else {
                    continue;
                };
                let returned = other.all(back).any(|it| Some(it.text().trim()) == set.id());
                if !returned || set.id().is_none() {
                    let message = format!(
                        "{} refers to {}, which does not refer back",
                        set.title(),
                        other.title()
                    );
                    let help = format!("add it to the {back} of the other");
                    self.sink.warn("TV0940", reference, message, &help);
                }
            }
        }
    }

    fn association(&self, association: Node<'a>) {
        let ends = |name: &'static str| {
            association
                .all(name)
                .filter_map(|it| self.files.resolve(it, it.text()))
                .collect::<Vec<_>>()
        };
        let (sources, targets) = (ends("sourceRef"), ends("targetRef"));
        let transformed = association.child("transformation").is_some();
        if association.all("sourceRef").count() > 1 && association.child("transformation").is_none()
        {
            let message =
                format!("{} has several sources and no transformation", association.title());
            self.sink.error("TV0904", association, message, "add a transformation");
        }
        if let ([source], [target], false) = (&sources[..], &targets[..], transformed) {
            self.joined(association, *source, *target);
        }
        self.own_end(association, &sources, &targets);
        // The inputs of a process are filled before it begins, its outputs are read after it ended.
        let of_process = |it: Node<'a>| {
            it.parent()
                .filter(|it| it.is("ioSpecification"))
                .and_then(Node::parent)
                .is_some_and(|it| schema::is_a(it.name(), "callableElement"))
        };
        let wrong = targets
            .iter()
            .find(|it| it.is("dataInput") && of_process(**it))
            .or_else(|| sources.iter().find(|it| it.is("dataOutput") && of_process(**it)));
        if let Some(wrong) = wrong {
            let message =
                format!("{} uses {} the wrong way round", association.title(), wrong.title());
            self.sink.error("TV0906", association, message, "read inputs, and write outputs");
        }
    }

    /// What flows into an activity or event ends at an input of its own, and what flows out begins at an output.
    /// Some modelers draw a property of the activity there.
    fn own_end(&self, association: Node<'a>, sources: &[Node<'a>], targets: &[Node<'a>]) {
        let (ends, direction) = if association.is("dataInputAssociation") {
            (targets, INPUT)
        } else {
            (sources, OUTPUT)
        };
        let owner = association.parent().filter(|it| !schema::is_a(it.name(), "subProcess"));
        let (Some(owner), [first, ..]) = (owner, ends) else { return };
        let is_own = |it: &Node<'a>| {
            let parent = it.parent();
            let between = parent
                .filter(|it| it.is_any(&["ioSpecification", "multiInstanceLoopCharacteristics"]));
            parent == Some(owner) && (it.is("property") || it.is(direction.data))
                || between.and_then(Node::parent) == Some(owner)
                    && schema::is_a(it.name(), direction.data)
        };
        // What is no data at all is reported as such.
        let is_data = first.is("dataStoreReference") || is_data(*first);
        if is_data && !ends.iter().any(is_own) {
            let message = format!(
                "{} of {} leads {} {}, which is no {} of its own",
                association.name(),
                owner.title(),
                if association.is("dataInputAssociation") { "to" } else { "from" },
                first.title(),
                direction.data
            );
            let help = format!("add a {}, or turn it around", direction.data);
            self.sink.warn("TV0906", association, message, &help);
        }
    }

    /// What is copied without being transformed has the same item at both ends.
    fn joined(&self, association: Node<'a>, source: Node<'a>, target: Node<'a>) {
        let (from, to) = (self.item_of(source), self.item_of(target));
        if same(from, to) {
            return;
        }
        let structure = |it: Option<Node<'a>>| it.and_then(|it| it.attr("structureRef"));
        if let (Some(from), Some(to)) = (structure(from), structure(to))
            && from != to
            // Then parts of one become parts of the other.
            && association.child("assignment").is_none()
        {
            let message = format!("{} leads from {from} to {to}", association.title());
            self.sink.error("TV0905", association, message, "give both the same structure");
            return;
        }
        let called = |it: Option<Node<'a>>| it.map_or_else(|| "no type".to_owned(), Node::title);
        let message =
            format!("{} leads from {} to {}", association.title(), called(from), called(to));
        self.sink.warn("TV0905", association, message, "give both the same item definition");
    }

    fn loop_data(&self, several: Node<'a>) {
        for (list, item, direction) in [
            ("loopDataInputRef", "inputDataItem", INPUT),
            ("loopDataOutputRef", "outputDataItem", OUTPUT),
        ] {
            let Some(reference) = several.child(list) else { continue };
            let Some(data) = self.files.resolve(reference, reference.text()) else {
                let message = format!(
                    "{list} is '{}', which is no data of the model",
                    reference.text().trim()
                );
                let help = "it is taken for the name of a variable; declare it as data";
                self.sink.warn("TV0918", reference, message, help);
                continue;
            };
            if !is_data(data) {
                let message = format!("{list} means {}, which is not data", data.title());
                self.sink.error("TV0907", reference, message, "refer to data of the activity");
            } else if !is_loop_data(several, data, &direction) {
                let message = format!("{list} means {}, which is not for that loop", data.title());
                let help =
                    "refer to an input or output of the task, or a data object of the sub-process";
                self.sink.warn("TV0918", reference, message, help);
            } else if !self.is_list(data) {
                let message = format!("{list} means {}, which is no list", data.title());
                let help = "set isCollection to true for it and for its type";
                self.sink.warn("TV0918", reference, message, help);
            }
            let Some(item) = several.child(item) else { continue };
            let is_list = is_true(item, "isCollection", false)
                || self
                    .item(item, "itemSubjectRef")
                    .is_some_and(|it| is_true(it, "isCollection", false));
            let structures = (self.structure(data), self.structure(item));
            if is_list || structures.0 != structures.1 {
                let message = format!("{} is not an item of {}", item.title(), data.title());
                // What says nothing about its type can be of any.
                let is_told = is_list || structures.0.is_some() && structures.1.is_some();
                let severity = if is_told { Severity::Error } else { Severity::Warning };
                let help = "give it the type of one item";
                self.sink.add(severity, "TV0908", item, item.place(), message, help);
            }
        }
    }

    /// Whether data, or the object behind a reference, holds many.
    fn is_list(&self, data: Node<'a>) -> bool {
        let object = data.attr("dataObjectRef").and_then(|it| self.files.resolve(data, it));
        let item = self.item_of(data);
        [Some(object.unwrap_or(data)), item]
            .into_iter()
            .flatten()
            .any(|it| is_true(it, "isCollection", false))
    }

    /// A data object lies in a process, and leaves states to those that refer to it.
    fn object(&self, object: Node<'a>) {
        let scope = object.parent();
        if let Some(scope) =
            scope.filter(|it| !it.is("process") && !schema::is_a(it.name(), "subProcess"))
        {
            let message = format!("{} lies in {}", object.title(), scope.title());
            self.sink.warn("TV0944", object, message, "move it to a process or sub-process");
        }
        if object.child("dataState").is_some() {
            let message = format!("{} has a state of its own", object.title());
            self.sink.warn("TV0945", object, message, "give the state to a reference to it");
        }
    }

    /// A reference to a data object is called like it, with the state that it is in, and of its type.
    fn title(&self, reference: Node<'a>) {
        if reference.attr("itemSubjectRef").is_some() {
            let message = format!("{} has a type of its own", reference.title());
            self.sink.warn("TV0945", reference, message, "give the type to its data object");
        }
        let object = reference
            .attr("dataObjectRef")
            .and_then(|it| self.files.resolve_as(reference, it, "dataObject"));
        let name = |it: Node<'a>| it.attr("name").map(str::trim).filter(|it| !it.is_empty());
        let (Some(object), Some(title)) = (object.and_then(name), name(reference)) else { return };
        let state = reference.child("dataState").and_then(name);
        let wanted = match state {
            Some(state) => format!("{object} [{state}]"),
            None => object.to_owned(),
        };
        let plain = |it: &str| it.split_whitespace().collect::<String>();
        if plain(title) != plain(&wanted) {
            let message = format!("{} is called '{title}', not '{wanted}'", reference.title());
            let help = "call it like its data object, with the state in brackets";
            self.sink.warn("TV0942", reference, message, help);
        }
    }

    /// The data of an event is that of its definitions, one by one.
    fn event(&self, event: Node<'a>) {
        let direction = if schema::is_a(event.name(), "catchEvent") { OUTPUT } else { INPUT };
        let kind = direction.data;
        let data: Vec<_> = event.all(kind).collect();
        self.sets(event, &direction, Severity::Warning);
        let definitions = super::definitions(event, self.files);
        let carried = definitions.iter().filter(|it| self.carried(**it).is_some()).count();
        // One definition may do without data; more are told apart by the order of their data.
        let too_few = definitions.len() > 1 && carried > 0 && data.len() < definitions.len();
        if too_few || data.len() > definitions.len() {
            let message = format!(
                "{} has {} {kind} for {} definitions",
                event.title(),
                data.len(),
                definitions.len()
            );
            // Where an event has no data at all, what it carries becomes variables.
            let is_short = !data.is_empty() && data.len() < carried;
            let severity = if is_short { Severity::Error } else { Severity::Warning };
            let help = "give each definition one, in their order";
            self.sink.add(severity, "TV0910", event, event.place(), message, help);
        }
        if too_few {
            return;
        }
        for (data, definition) in data.iter().zip(&definitions) {
            let Some(carried) = self.carried(*definition) else { continue };
            let item = self.item_of(*data);
            if same(item, Some(carried)) {
                continue;
            }
            let message = format!("{} has not the type of {}", data.title(), carried.title());
            let structure = item.and_then(|it| it.attr("structureRef"));
            let severity = match structure {
                Some(it) if Some(it) != carried.attr("structureRef") => Severity::Error,
                _ => Severity::Warning,
            };
            self.sink.add(
                severity,
                "TV0911",
                *data,
                data.place(),
                message,
                "give both the same structure",
            );
        }
    }

    /// The item definition of what an event definition carries.
    fn carried(&self, definition: Node<'a>) -> Option<Node<'a>> {
        let (reference, item) = carrier(definition)?;
        let target = self.files.resolve(definition, definition.attr(reference)?)?;
        self.item(target, item)
    }
}

/// How an event definition refers to what it carries, and that to its item.
fn carrier(definition: Node<'_>) -> Option<(&'static str, &'static str)> {
    match definition.name() {
        "messageEventDefinition" => Some(("messageRef", "itemRef")),
        "signalEventDefinition" => Some(("signalRef", "structureRef")),
        "errorEventDefinition" => Some(("errorRef", "structureRef")),
        "escalationEventDefinition" => Some(("escalationRef", "structureRef")),
        _ => None,
    }
}

/// Whether two items are the same: one definition, or two of the same structure.
pub(super) fn same(one: Option<Node<'_>>, other: Option<Node<'_>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let structure = |it: Node<'_>| it.attr("structureRef").map(str::to_owned);
            let is_list = |it: Node<'_>| is_true(it, "isCollection", false);
            one.key() == other.key()
                || structure(one).is_some()
                    && structure(one) == structure(other)
                    && is_list(one) == is_list(other)
        }
        _ => false,
    }
}

/// Whether something holds data of its process.
fn is_data(node: Node<'_>) -> bool {
    let kinds = ["dataInput", "dataOutput", "property", "dataObject", "dataObjectReference"];
    kinds.iter().any(|it| schema::is_a(node.name(), it))
}

/// Whether data is what a loop of that activity may run over: what the task itself takes or gives, or an
/// object that the sub-process sees.
fn is_loop_data(several: Node<'_>, data: Node<'_>, direction: &Direction) -> bool {
    let Some(activity) = several.parent() else { return true };
    if schema::is_a(activity.name(), "subProcess") {
        let is_seen = data.parent().is_some_and(|it| activity.ancestors().any(|scope| scope == it));
        return is_seen && data.is_any(&["dataObject", "dataObjectReference"]);
    }
    let owner = data.parent().filter(|it| it.is("ioSpecification")).and_then(Node::parent);
    data.is(direction.data) && owner == Some(activity)
}
