//! Rules about what tasks, calls and services give and take.

use super::data::{Data, Direction, INPUT, OUTPUT, same};
use crate::xml::{Node, Severity};

impl<'a> Data<'a, '_> {
    /// What a task sends or receives has the type of the message.
    pub(super) fn message_task(&self, task: Node<'a>) {
        let direction = if task.is("sendTask") { INPUT } else { OUTPUT };
        let Some(specification) = task.child("ioSpecification") else { return };
        let own = self.message(task, task.attr("messageRef"));
        let operation = self.named_operation(task);
        let taken = operation.and_then(|it| self.message_of(it, "inMessageRef"));
        if own.is_none() && taken.is_none() {
            return;
        }
        for kind in [direction.set, direction.data] {
            if let Some(second) = specification.all(kind).nth(1) {
                let message = format!("{} has a second {kind} for one message", task.title());
                self.sink.warn("TV0917", second, message, "keep one of them");
            }
        }
        for data in specification.all(direction.data) {
            if let Some(message) = own {
                self.typed(data, self.item_of_message(message), "TV0909", "the message");
            }
            if let Some(message) = taken.filter(|it| own != Some(*it)) {
                let of = "the message of its operation";
                self.typed(data, self.item_of_message(message), "TV0916", of);
            }
        }
    }

    /// Whether data has the item that something else asks for.
    fn typed(&self, data: Node<'a>, wanted: Option<Node<'a>>, code: &'static str, of: &str) {
        let item = self.item_of(data);
        if same(item, wanted) {
            return;
        }
        // Where nothing is said about the structure, there is nothing that could not fit.
        let structure = wanted.and_then(|it| it.attr("structureRef"));
        let differs = structure.is_some() && code == "TV0909";
        let severity = if differs { Severity::Error } else { Severity::Warning };
        let message = format!("{} has not the type of {of}", data.title());
        let help = format!("give it the item definition of {of}");
        self.sink.add(severity, code, data, data.place(), message, &help);
    }

    /// A task that names an operation gives it the message that the operation takes, and takes what it
    /// answers.
    pub(super) fn operation(&self, task: Node<'a>) {
        let Some(operation) = self.named_operation(task) else { return };
        let specification = task.child("ioSpecification");
        let all = |kind: &'static str| -> Vec<Node<'a>> {
            specification.into_iter().flat_map(|it| it.all(kind)).collect()
        };
        let (inputs, outputs) = (all("inputSet").len(), all("outputSet").len());
        if inputs != 1 || outputs > 1 {
            let message = format!(
                "{} has an operation, with {inputs} input sets and {outputs} output sets",
                task.title()
            );
            let help = "give it one input set, and one output set at most";
            self.sink.warn("TV0915", task, message, help);
        }
        if let Some(message) = self.message_of(operation, "inMessageRef") {
            let item = self.item_of_message(message);
            if let [input] = all("dataInput")[..] {
                self.typed(input, item, "TV0916", "the message of its operation");
            } else {
                let message =
                    format!("{} does not say what it gives to its operation", task.title());
                let help = "add one dataInput, or remove operationRef";
                let severity = if item.is_some() { Severity::Error } else { Severity::Warning };
                self.sink.add(severity, "TV0912", task, task.place(), message, help);
            }
        }
        if let Some(message) = self.message_of(operation, "outMessageRef") {
            if let [output] = all("dataOutput")[..] {
                let item = self.item_of_message(message);
                self.typed(output, item, "TV0916", "what its operation answers");
            } else {
                let message = format!("{} does not say where its operation answers", task.title());
                self.sink.warn("TV0916", task, message, "add one dataOutput");
            }
        } else if operation.child("outMessageRef").is_none() && !all("dataOutput").is_empty() {
            let message = format!("{} has an output, but its operation has none", task.title());
            self.sink.warn("TV0916", task, message, "remove the dataOutput");
        }
    }

    /// The operation that a task or a binding names.
    fn named_operation(&self, node: Node<'a>) -> Option<Node<'a>> {
        self.files.resolve_as(node, node.attr("operationRef")?, "operation")
    }

    /// The message that an operation takes or answers.
    fn message_of(&self, operation: Node<'a>, reference: &str) -> Option<Node<'a>> {
        let reference = operation.child(reference)?;
        self.message(reference, Some(reference.text()))
    }

    /// What can be called through an interface says how its data is bound to each operation.
    pub(super) fn offered(&self, callable: Node<'a>) {
        let supported: Vec<Node<'a>> = callable
            .all("supportedInterfaceRef")
            .filter_map(|it| self.files.resolve_as(it, it.text(), "interface"))
            .collect();
        for (reference, interface) in callable.all("supportedInterfaceRef").zip(&supported) {
            for operation in interface.all("operation") {
                let bound =
                    callable.all("ioBinding").any(|it| self.named_operation(it) == Some(operation));
                if !bound {
                    let message =
                        format!("{} has no ioBinding for {}", callable.title(), operation.title());
                    self.sink.error("TV0913", reference, message, "add one");
                }
            }
        }
        for binding in callable.all("ioBinding") {
            self.binding(callable, binding, &supported);
        }
    }

    fn binding(&self, callable: Node<'a>, binding: Node<'a>, supported: &[Node<'a>]) {
        let resolve = |name: &str| self.files.resolve(binding, binding.attr(name)?);
        let operation = self.named_operation(binding);
        if let Some(operation) = operation
            && !operation.parent().is_some_and(|it| supported.contains(&it))
        {
            let message = format!(
                "{} binds {}, which is no operation of its interfaces",
                callable.title(),
                operation.title()
            );
            let help = "name the interface by a supportedInterfaceRef, or another operation";
            self.sink.warn("TV0941", binding, message, help);
        }
        for (name, direction, reference) in
            [("inputDataRef", INPUT, "inMessageRef"), ("outputDataRef", OUTPUT, "outMessageRef")]
        {
            let Some(bound) = resolve(name) else { continue };
            let owner = bound.parent().filter(|it| it.is("ioSpecification")).and_then(Node::parent);
            let fits = bound.is_any(&[direction.set, direction.data]);
            if owner != Some(callable) || !fits {
                let message = format!(
                    "{name} of a binding is {}, which is none of {}",
                    bound.title(),
                    callable.title()
                );
                let help = format!("name an {} of its own", direction.set);
                self.sink.warn("TV0941", binding, message, &help);
                continue;
            }
            let message = operation.and_then(|it| self.message_of(it, reference));
            if let (Some(data), Some(message)) = (self.only_data(bound, &direction), message)
                && let Some(item) = self.item_of_message(message)
                && !same(self.item_of(data), Some(item))
            {
                let message =
                    format!("{name} of a binding has not the type of {}", message.title());
                self.sink.warn("TV0941", binding, message, "give both the same item definition");
            }
        }
    }

    /// What a binding binds: data itself, or that of a set with no other.
    fn only_data(&self, bound: Node<'a>, direction: &Direction) -> Option<Node<'a>> {
        if bound.is(direction.data) {
            return Some(bound);
        }
        let mut listed = bound.all(direction.refs);
        let (first, None) = (listed.next()?, listed.next()) else { return None };
        self.files.resolve_as(first, first.text(), direction.data)
    }

    /// Whether data may be missing.
    fn is_optional(&self, data: Node<'a>, direction: &Direction) -> bool {
        let sets = data.parent().into_iter().flat_map(|it| it.all(direction.set));
        let [optional, _] = direction.more;
        sets.flat_map(|it| it.all(optional))
            .any(|it| self.files.resolve(it, it.text()) == Some(data))
    }

    /// A call gives what is taken, and takes what is given.
    pub(super) fn call(&self, call: Node<'a>) {
        let Some(callee) = self.files.callable(call) else { return };
        let (own, other) = (call.child("ioSpecification"), callee.child("ioSpecification"));
        if own.is_none() && other.is_none() {
            return;
        }
        for direction in [INPUT, OUTPUT] {
            if let Some(what) = self.difference(own, other, &direction) {
                let message = format!("{} calls {}: {what}", call.title(), callee.title());
                let help = format!("let both have the same {}s", direction.data);
                self.sink.warn("TV0438", call, message, &help);
            }
        }
    }

    /// How the data of a call and of what is called differ in one direction.
    fn difference(
        &self,
        own: Option<Node<'a>>,
        other: Option<Node<'a>>,
        direction: &Direction,
    ) -> Option<String> {
        let all = |of: Option<Node<'a>>, kind: &'static str| -> Vec<Node<'a>> {
            of.into_iter().flat_map(|it| it.all(kind)).collect()
        };
        let kind = direction.data;
        let (mine, theirs) = (all(own, kind), all(other, kind));
        let name = |it: &Node<'a>| it.attr("name").filter(|it| !it.is_empty());
        let named = mine.iter().chain(&theirs).all(|it| name(it).is_some());
        if named {
            let lacks = |these: &[Node<'a>], those: &[Node<'a>]| {
                let missing =
                    those.iter().find(|it| !these.iter().any(|own| name(own) == name(it)));
                missing.and_then(name).map(str::to_owned)
            };
            if let Some(missing) = lacks(&mine, &theirs) {
                return Some(format!("it has no {kind} '{missing}'"));
            }
            if let Some(added) = lacks(&theirs, &mine) {
                return Some(format!("nothing there is called '{added}', as its {kind} is"));
            }
        }
        if mine.len() != theirs.len() {
            return Some(format!("it has {} {kind}, not {}", mine.len(), theirs.len()));
        }
        for (position, data) in mine.iter().enumerate() {
            let partner = if named {
                theirs.iter().find(|it| name(it) == name(data)).copied()
            } else {
                theirs.get(position).copied()
            };
            let optional = |it| self.is_optional(it, direction);
            if partner.is_some_and(|it| optional(it) != optional(*data)) {
                return Some(format!("{} is optional for one of them", data.title()));
            }
            if partner.is_some_and(|it| !same(self.item_of(*data), self.item_of(it))) {
                return Some(format!("{} is of another type there", data.title()));
            }
        }
        let (sets, other_sets) = (all(own, direction.set).len(), all(other, direction.set).len());
        // Whoever has no data may leave out the empty set that the schema asks for.
        (sets != other_sets && !mine.is_empty())
            .then(|| format!("it has {sets} {}, not {other_sets}", direction.set))
    }
}
