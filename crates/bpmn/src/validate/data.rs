//! Rules about data: models that contradict themselves are refused.

use crate::{
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns},
};

pub(super) fn check<'a>(root: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let rules = Data { files, sink };
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn) {
        match node.name() {
            "ioSpecification" => rules.sets(node),
            "serviceTask" => rules.operation(node),
            "supportedInterfaceRef" => rules.bindings(node),
            "dataInputAssociation" | "dataOutputAssociation" => rules.association(node),
            "multiInstanceLoopCharacteristics" => rules.loop_data(node),
            "receiveTask" | "sendTask" => rules.message_task(node),
            name if schema::is_a(name, "anyEvent") => rules.event(node),
            _ => {}
        }
        if node.is_any(&["dataInput", "dataOutput", "dataObject"]) {
            rules.collection(node);
        }
    }
}

struct Data<'a, 'f> {
    files: &'f Files<'a>,
    sink: &'f Sink,
}

impl<'a> Data<'a, '_> {
    /// Data and its type must agree whether it is a list.
    fn collection(&self, data: Node<'a>) {
        let Some(item) = self.item(data, "itemSubjectRef") else { return };
        let is_list = |it: Node<'_>| crate::lower::is_true(it, "isCollection", false);
        if is_list(item) != is_list(data) {
            let message =
                format!("{} and its type {} disagree on isCollection", data.title(), item.title());
            self.sink.error("TV0901", data, message, "set both to the same");
        }
    }

    fn item(&self, node: Node<'a>, attribute: &str) -> Option<Node<'a>> {
        self.files.resolve_as(node, node.attr(attribute)?, "itemDefinition")
    }

    /// The type of data: that of the object behind a reference.
    fn structure(&self, data: Node<'a>) -> Option<&'a str> {
        let behind = data.attr("dataObjectRef").or_else(|| data.attr("dataStoreRef"));
        let behind = behind.and_then(|it| self.files.resolve(data, it)).unwrap_or(data);
        self.item(behind, "itemSubjectRef")?.attr("structureRef")
    }

    /// Every data input is in a set, and optional ones are in the set that says so.
    fn sets(&self, specification: Node<'a>) {
        for (kind, set, refs, more) in [
            (
                "dataInput",
                "inputSet",
                "dataInputRefs",
                ["optionalInputRefs", "whileExecutingInputRefs"],
            ),
            (
                "dataOutput",
                "outputSet",
                "dataOutputRefs",
                ["optionalOutputRefs", "whileExecutingOutputRefs"],
            ),
        ] {
            let sets: Vec<_> = specification.all(set).collect();
            let lists = |set: Node<'a>, id: &str| set.all(refs).any(|it| it.text().trim() == id);
            for data in specification.all(kind) {
                let Some(id) = data.id() else { continue };
                if !sets.iter().any(|it| lists(*it, id)) {
                    let message = format!("{} is in no {set}", data.title());
                    self.sink.error("TV0902", data, message, "add it to a set");
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
                        self.sink.error("TV0903", reference, message, "add it there too");
                    }
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
        let transformed = association.child("transformation").is_some()
            || association.child("assignment").is_some();
        if association.all("sourceRef").count() > 1 && association.child("transformation").is_none()
        {
            let message =
                format!("{} has several sources and no transformation", association.title());
            self.sink.error("TV0904", association, message, "add a transformation");
        }
        if let ([source], [target], false) = (&sources[..], &targets[..], transformed)
            && let (Some(from), Some(to)) = (self.structure(*source), self.structure(*target))
            && from != to
        {
            let message = format!("{} leads from {from} to {to}", association.title());
            self.sink.error("TV0905", association, message, "give both the same structure");
        }
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

    fn loop_data(&self, several: Node<'a>) {
        for (list, item) in
            [("loopDataInputRef", "inputDataItem"), ("loopDataOutputRef", "outputDataItem")]
        {
            let Some(reference) = several.child(list) else { continue };
            let Some(data) = self.files.resolve(reference, reference.text()) else { continue };
            let is_data =
                ["dataInput", "dataOutput", "property", "dataObject", "dataObjectReference"];
            if !is_data.iter().any(|it| schema::is_a(data.name(), it)) {
                let message = format!("{list} means {}, which is not data", data.title());
                self.sink.error("TV0907", reference, message, "refer to data of the activity");
            }
            let Some(item) = several.child(item) else { continue };
            let is_list = self
                .item(item, "itemSubjectRef")
                .is_some_and(|it| crate::lower::is_true(it, "isCollection", false));
            let differs = match (self.structure(data), self.structure(item)) {
                (Some(list), Some(item)) => list != item,
                _ => false,
            };
            if is_list || differs {
                let message = format!("{} is not an item of {}", item.title(), data.title());
                self.sink.error("TV0908", item, message, "give it the type of one item");
            }
        }
    }

    /// What a task sends or receives has the type of the message.
    fn message_task(&self, task: Node<'a>) {
        let kind = if task.is("sendTask") { "dataInput" } else { "dataOutput" };
        let message =
            task.attr("messageRef").and_then(|it| self.files.resolve_as(task, it, "message"));
        let structure =
            message.and_then(|it| self.item(it, "itemRef")).and_then(|it| it.attr("structureRef"));
        let Some(structure) = structure else { return };
        for data in task.all("ioSpecification").flat_map(Node::children).filter(|it| it.is(kind)) {
            if self.structure(data) != Some(structure) {
                let message = format!("{} has not the type of the message", data.title());
                self.sink.error("TV0909", data, message, "give it the message's item definition");
            }
        }
    }

    /// The data of an event is that of its definitions, one by one.
    fn event(&self, event: Node<'a>) {
        let kind =
            if schema::is_a(event.name(), "catchEvent") { "dataOutput" } else { "dataInput" };
        let data: Vec<_> = event.all(kind).collect();
        if data.is_empty() {
            return;
        }
        let carried: Vec<_> = event
            .children()
            .filter(|it| schema::is_a(it.name(), "eventDefinition"))
            .filter_map(|it| self.carried(it))
            .collect();
        if carried.len() > data.len() {
            let message = format!(
                "{} has {} {kind} for {} definitions that carry data",
                event.title(),
                data.len(),
                carried.len()
            );
            self.sink.error("TV0910", event, message, "give each definition one");
            return;
        }
        for (data, carried) in data.iter().zip(carried) {
            if self.structure(*data).is_some_and(|it| Some(it) != carried.attr("structureRef")) {
                let message = format!("{} has not the type of {}", data.title(), carried.title());
                self.sink.error("TV0911", *data, message, "give both the same structure");
            }
        }
    }

    /// The item definition of what an event definition carries.
    fn carried(&self, definition: Node<'a>) -> Option<Node<'a>> {
        let (reference, item) = match definition.name() {
            "messageEventDefinition" => ("messageRef", "itemRef"),
            "signalEventDefinition" => ("signalRef", "structureRef"),
            "errorEventDefinition" => ("errorRef", "structureRef"),
            "escalationEventDefinition" => ("escalationRef", "structureRef"),
            _ => return None,
        };
        let target = self.files.resolve(definition, definition.attr(reference)?)?;
        self.item(target, item)
    }

    /// A task that names an operation gives it the message that the operation takes.
    fn operation(&self, task: Node<'a>) {
        let operation =
            task.attr("operationRef").and_then(|it| self.files.resolve_as(task, it, "operation"));
        let Some(operation) = operation else { return };
        let message = operation
            .child("inMessageRef")
            .and_then(|it| self.files.resolve_as(it, it.text(), "message"));
        if message.and_then(|it| self.item(it, "itemRef")).is_none() {
            return;
        }
        let inputs = task.all("ioSpecification").flat_map(Node::children);
        if inputs.filter(|it| it.is("dataInput")).count() != 1 {
            let message = format!("{} does not say what it gives to its operation", task.title());
            self.sink.error("TV0912", task, message, "add one dataInput, or remove operationRef");
        }
    }

    /// What can be called through an interface says how its data is bound to each operation.
    fn bindings(&self, reference: Node<'a>) {
        let Some(callable) = reference.parent() else { return };
        let Some(interface) = self.files.resolve_as(reference, reference.text(), "interface")
        else {
            return;
        };
        for operation in interface.all("operation") {
            let bound =
                callable.all("ioBinding").any(|it| it.attr("operationRef") == operation.id());
            if !bound {
                let message =
                    format!("{} has no ioBinding for {}", callable.title(), operation.title());
                self.sink.error("TV0913", reference, message, "add one");
            }
        }
    }
}
