//! Data: objects and properties that are declared, inputs that are needed, associations that copy.
//!
//! A data item is a variable: of the scope that a data object or a property lies in, or of the
//! activity or event whose input or output it is. Engines of the Camunda family take all of this for
//! drawings, so in models made for them it is one.

use std::sync::Arc;

use travertine_kernel::plan::{Data, NodeId, Payload};
use travertine_value::{
    EvalError, Evaluate, Limits, Map, Name, Outcome, Program, Value, Variables,
};

use super::{Lowering, index};
use crate::{
    expression::{Text, variable_named},
    schema,
    xml::{Node, Ns},
};

/// Nobody nests fields deeper than this.
const PATH_MAX: usize = 32;

impl<'a> Lowering<'a> {
    /// Gives a process or flow node the data that the model says it has.
    pub(super) fn data(&mut self, node: Node<'a>, place: NodeId) {
        if self.dialect.is_camunda() {
            return;
        }
        let inputs = self.associated(node, "dataInputAssociation");
        let data = Data {
            own: self.declared(node),
            needs: self.needs(node),
            contents: self.contents(node),
            outputs: self.associated(node, "dataOutputAssociation"),
            gives_list: node
                .all("dataOutputAssociation")
                .any(|association| feeds_loop(node, association)),
        };
        let nothing = inputs.is_empty()
            && data.own.is_empty()
            && data.needs.is_empty()
            && data.contents.is_empty()
            && data.outputs.is_empty()
            && !data.gives_list;
        if !nothing {
            let extras = self.nodes[index(place)].extras_mut();
            extras.inputs.splice(0..0, inputs);
            extras.data = data;
        }
    }

    /// Whether an activity specifies inputs, or outputs.
    pub(super) fn has_data(&self, node: Node<'a>, kind: &str) -> bool {
        !self.dialect.is_camunda()
            && node.child("ioSpecification").is_some_and(|it| it.child(kind).is_some())
    }

    /// Remembers what references call the data objects that have no name of their own.
    pub(super) fn note_data(&mut self, reference: Node<'a>) {
        let object = reference
            .attr("dataObjectRef")
            .and_then(|it| self.cx.files.resolve_as(reference, it, "dataObject"));
        if let (Some(object), Some(name)) = (object, usable_name(reference)) {
            self.object_names.entry(object.key()).or_insert(name);
        }
    }

    /// The variable that a data item is; `None` for data stores, which lie outside, and for what
    /// modelers invent as the end of an association.
    pub(super) fn data_variable(&self, item: Node<'a>) -> Option<&'a str> {
        match item.name() {
            "dataObjectReference" => {
                let object =
                    self.cx.files.resolve_as(item, item.attr("dataObjectRef")?, "dataObject")?;
                self.data_variable(object)
            }
            "dataObject" => usable_name(item)
                .or_else(|| self.object_names.get(&item.key()).copied())
                .or_else(|| item.id()),
            "dataStore" | "dataStoreReference" => None,
            _ if is_invented(item) => None,
            _ => name_of_item(item),
        }
    }

    /// The variables that a node has for itself.
    fn declared(&self, node: Node<'a>) -> Vec<(Name, Option<Program>)> {
        let is_event = schema::is_a(node.name(), "anyEvent");
        let listed =
            node.children().filter(|it| it.is("dataObject") || it.is("property") && !is_event);
        let outputs = if node.is("process") { None } else { node.child("ioSpecification") };
        // The list of results of a multi-instance activity is not one run's.
        let several = node.child("multiInstanceLoopCharacteristics");
        let list = several.and_then(|it| it.child("loopDataOutputRef")).map(|it| it.text().trim());
        let outputs = outputs.into_iter().flat_map(|it| it.all("dataOutput"));
        let outputs = outputs.filter(|it| list.is_none() || it.id() != list);
        let named = listed.chain(outputs).filter_map(|it| Some((self.data_variable(it)?, it)));
        named.map(|(name, it)| (Name::from(name), self.first_value(it))).collect()
    }

    /// The first value, where our extension gives one.
    fn first_value(&self, item: Node<'a>) -> Option<Program> {
        let value = item.extensions(&Ns::Travertine, "value").next()?;
        Some(self.compiler.expression(Text::of(value)))
    }

    /// What must be there before an activity can begin: all that feeds the inputs of one set. An
    /// input that nothing feeds is asked of nobody.
    fn needs(&self, node: Node<'a>) -> Vec<Vec<Name>> {
        let Some(specification) = node.child("ioSpecification") else { return Vec::new() };
        if node.is("process") {
            return Vec::new();
        }
        let mut sets = Vec::new();
        for set in specification.all("inputSet") {
            let is_listed =
                |list: &'static str, id: &str| set.all(list).any(|it| it.text().trim() == id);
            let required = set.all("dataInputRefs").map(|it| it.text().trim()).filter(|id| {
                !is_listed("optionalInputRefs", id) && !is_listed("whileExecutingInputRefs", id)
            });
            let mut needs: Vec<Name> = Vec::new();
            for id in required {
                let feeding = node
                    .all("dataInputAssociation")
                    .filter(|it| it.child("targetRef").is_some_and(|it| it.text().trim() == id));
                for source in feeding.flat_map(|it| it.all("sourceRef")) {
                    let name = self.end(source).map(Name::from);
                    needs.extend(name.filter(|it| !needs.contains(it)));
                }
            }
            sets.push(needs);
        }
        // A set that needs nothing is always there.
        if sets.iter().any(Vec::is_empty) { Vec::new() } else { sets }
    }

    /// The variable that takes what comes with each trigger: the definitions of an event that carry
    /// data have one data output each, a receive task has one for its message.
    fn contents(&self, node: Node<'a>) -> Vec<Option<Name>> {
        let name = |it: Node<'a>| self.data_variable(it).map(Name::from);
        if node.is("receiveTask") {
            let output = node.child("ioSpecification").and_then(|it| it.child("dataOutput"));
            return output.and_then(name).map(Some).into_iter().collect();
        }
        if !schema::is_a(node.name(), "catchEvent") || node.child("dataOutput").is_none() {
            return Vec::new();
        }
        let mut outputs = node.all("dataOutput");
        let definitions = self.definitions(node).into_iter();
        definitions
            .map(|it| carries_data(it).then(|| outputs.next()).flatten().and_then(name))
            .collect()
    }

    /// What a throw event or a send task sends: what our extensions name, and its data input.
    pub(super) fn payload(&self, named: Vec<(Name, Program)>, input: Option<Node<'a>>) -> Payload {
        let native = !self.dialect.is_camunda();
        let name = input.filter(|_| native).and_then(|it| self.data_variable(it));
        let content = name.map(|it| (Name::from(it), variable_named(it)));
        Payload { named, content }
    }

    /// The data input of an event that belongs to one of its definitions.
    pub(super) fn thrown_input(&self, event: Node<'a>, definition: Node<'a>) -> Option<Node<'a>> {
        let carrying = self.definitions(event).into_iter().filter(|it| carries_data(*it));
        carrying.zip(event.all("dataInput")).find(|(it, _)| *it == definition).map(|(_, it)| it)
    }

    /// What the associations of a node copy: the variable, and its value.
    fn associated(&self, node: Node<'a>, kind: &'static str) -> Vec<(Name, Program)> {
        let mut copies: Vec<(Name, Vec<Copied>)> = Vec::new();
        for association in node.all(kind).filter(|it| !feeds_loop(node, *it)) {
            let Some(target) = association.child("targetRef") else { continue };
            let Some(name) = self.end(target).map(Name::from) else { continue };
            let parts = self.parts(association, target);
            if parts.is_empty() {
                continue;
            }
            match copies.iter_mut().find(|(it, _)| *it == name) {
                Some((_, all)) => all.extend(parts),
                None => copies.push((name, parts)),
            }
        }
        let grows = kind == "dataOutputAssociation";
        copies.into_iter().map(|(name, parts)| copied(name, parts, grows)).collect()
    }

    /// What one association copies: what assignments say, else what a transformation gives, else its
    /// source.
    fn parts(&self, association: Node<'a>, target: Node<'a>) -> Vec<Copied> {
        let assignments: Vec<_> = association
            .all("assignment")
            .filter_map(|it| {
                let (from, to) = (it.child("from")?, it.child("to")?);
                let path = self.path(to, target);
                Some(Copied { path, value: self.compiler.expression(Text::of(from)) })
            })
            .collect();
        if !assignments.is_empty() {
            return assignments;
        }
        let value = match association.child("transformation") {
            Some(it) => Some(self.compiler.expression(Text::of(it))),
            None => association.child("sourceRef").and_then(|it| self.end(it)).map(variable_named),
        };
        value.map(|value| Copied { path: Vec::new(), value }).into_iter().collect()
    }

    /// The variable at one end of an association.
    fn end(&self, reference: Node<'a>) -> Option<&'a str> {
        self.data_variable(self.cx.files.resolve(reference, reference.text())?)
    }

    /// Which field of its target an assignment sets: `order.total`, or all of it for `order`.
    fn path(&self, to: Node<'a>, target: Node<'a>) -> Vec<Name> {
        let text = Text::of(to);
        let bare =
            text.source.trim_start_matches(['$', '#', '=', '{', ' ']).trim_end_matches(['}', ' ']);
        let mut path: Vec<&str> = bare.split(['.', '/']).map(str::trim).collect();
        let is_name = |it: &&str| {
            !it.is_empty() && !it.contains(|it: char| it.is_whitespace() || "()[]'\"".contains(it))
        };
        if path.len() > PATH_MAX || !path.iter().all(is_name) {
            let message = format!("'{}' is no place in {}", text.source, target.text().trim());
            let help = "write the name of the data, or the path of a field of it: order.total";
            self.error("TV0914", to, message, help);
            return Vec::new();
        }
        if path[0] == target.text().trim() || Some(path[0]) == self.end(target) {
            path.remove(0);
        }
        path.into_iter().map(Name::from).collect()
    }
}

/// A value for data, or for a field of it.
#[derive(Clone, Debug)]
struct Copied {
    path: Vec<Name>,
    value: Program,
}

/// One program for all that is copied to a variable. Fields are set in what is there already where
/// it `grows`, and in an empty object otherwise.
fn copied(name: Name, mut parts: Vec<Copied>, grows: bool) -> (Name, Program) {
    if let Some(last) = parts.pop_if(|it| it.path.is_empty()) {
        return (name, last.value);
    }
    let source: Vec<_> = parts.iter().map(|it| it.value.source()).collect();
    let source = source.join("; ");
    let base = grows.then(|| Arc::clone(&name));
    (name, Program::new(&source, Arc::new(Fields { base, parts })))
}

/// An object with some fields set.
#[derive(Debug)]
struct Fields {
    base: Option<Name>,
    parts: Vec<Copied>,
}

impl Evaluate for Fields {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let mut value = self.base.as_ref().and_then(|it| variables.get(it)).unwrap_or_default();
        for part in &self.parts {
            let field = part.value.value(variables, limits)?;
            value = with_field(value, &part.path, field);
        }
        Ok(Outcome { value, writes: Vec::new() })
    }
}

fn with_field(value: Value, path: &[Name], field: Value) -> Value {
    let Some((first, rest)) = path.split_first() else { return field };
    let mut map = match value {
        Value::Map(map) => Arc::unwrap_or_clone(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::List(_) => {
            Map::new()
        }
    };
    let inner = map.get(first).cloned().unwrap_or_default();
    map.insert(Arc::clone(first), with_field(inner, rest, field));
    Value::Map(Arc::new(map))
}

/// A name that a variable could have; people also write prose there.
fn usable_name(node: Node<'_>) -> Option<&str> {
    node.attr("name").filter(|it| !it.is_empty() && !it.contains(char::is_whitespace))
}

/// How a variable is called that an item of a model is.
pub(super) fn name_of_item(node: Node<'_>) -> Option<&str> {
    usable_name(node).or_else(|| node.id()).or_else(|| node.attr("name"))
}

/// Modelers invent a property for the end of an association that nobody named.
pub(crate) fn is_invented(item: Node<'_>) -> bool {
    let named = item.attr("name").or_else(|| item.id()).unwrap_or_default();
    item.is("property") && (named.starts_with("__") || named.starts_with("Property_"))
}

fn carries_data(definition: Node<'_>) -> bool {
    definition.is_any(&[
        "messageEventDefinition",
        "signalEventDefinition",
        "errorEventDefinition",
        "escalationEventDefinition",
    ])
}

/// Whether a loop reads or writes its list through the association.
pub(crate) fn feeds_loop(activity: Node<'_>, association: Node<'_>) -> bool {
    let Some(several) = activity.child("multiInstanceLoopCharacteristics") else { return false };
    let lists = ["loopDataInputRef", "loopDataOutputRef"];
    let mut lists = lists.into_iter().filter_map(|it| several.child(it)).map(|it| it.text().trim());
    let ends = ["sourceRef", "targetRef"];
    let ends: Vec<_> = ends
        .into_iter()
        .filter_map(|it| association.child(it))
        .map(|it| it.text().trim())
        .collect();
    lists.any(|it| ends.contains(&it))
}
