//! What the extensions of Fleans mean, and its ways with the standard's elements.
//!
//! Its models write the prefixes of several vendors, or none; names of elements may begin with a capital.

use std::sync::Arc;

use travertine_kernel::plan::{
    Count, Counting, Each, Element, Events, OnEmpty, OutputItem, Policy, Results, ScopeOutput,
};
use travertine_value::{
    EvalError, Evaluate, Fact, Limits, Map, Name, Number, Outcome, Program, Value, Variables,
    time::Timestamp,
};

use super::{CORRELATION_KEY, Lowering, is_true, task::job_type_of};
use crate::{
    dialect::{Dialect, FLEANS},
    expression::{Text, is_identifier, literal, variable_named},
    schema,
    xml::{Node, Ns},
};

/// The choices of its models.
pub(super) const POLICY: Policy = Policy {
    scope_output: ScopeOutput::All,
    counting: Counting::Camunda7,
    events: Events::Strict,
    ..Policy::NATIVE
};

/// The code of what fails without naming one.
const FAILED: &str = "500";

/// What a worker's result is called in mappings.
const RESPONSE: &str = "__response";

/// The namespaces that names are looked for in, the first first.
fn namespaces() -> [Ns; 5] {
    let [newer, older] = FLEANS.map(|it| Ns::Other(it.to_owned()));
    [newer, older, Ns::Zeebe, Ns::None, Ns::Bpmn]
}

/// Its extension elements of a name, of the first namespace that has any.
fn extensions<'a>(node: Node<'a>, name: &str) -> Vec<Node<'a>> {
    let all = || node.all("extensionElements").flat_map(Node::children);
    for ns in namespaces() {
        let found: Vec<_> =
            all().filter(|it| *it.ns() == ns && is_called(*it, name)).map(Node::mark).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Whether an element has that name, with a capital or without.
fn is_called(node: Node<'_>, name: &str) -> bool {
    node.name() == name || node.name().len() == name.len() && node.name().eq_ignore_ascii_case(name)
}

/// An attribute with any of its prefixes, or none.
fn attribute<'a>(node: Node<'a>, name: &str) -> Option<&'a str> {
    let found = namespaces().into_iter().find_map(|ns| node.attribute(&ns, name));
    found.map(|it| it.value.trim()).filter(|it| !it.is_empty())
}

/// Whether a call passes all variables on, whatever the prefix of the attribute.
pub(super) fn passes(call: Node<'_>, name: &str) -> bool {
    let written = call.attributes().iter().find(|it| it.name == name);
    let written = written.and_then(|it| call.attribute(&it.ns, name));
    written.is_none_or(|it| !it.value.trim().eq_ignore_ascii_case("false"))
}

/// Whether boundary events are attached to an event.
pub(super) fn is_host(event: Node<'_>) -> bool {
    let Some(around) = event.parent() else { return false };
    event.id().is_some()
        && around
            .all("boundaryEvent")
            .any(|it| it.attr("attachedToRef").map(str::trim) == event.id())
}

/// Whether a cycle goes on: at a boundary event or event sub-process that does not interrupt.
pub(super) fn repeats(definition: Node<'_>) -> bool {
    let Some(event) = definition.parent() else { return false };
    match event.name() {
        "boundaryEvent" => !is_true(event, "cancelActivity", true),
        "startEvent" => {
            !is_true(event, "isInterrupting", true)
                && event.parent().is_some_and(|it| is_true(it, "triggeredByEvent", false))
        }
        _ => false,
    }
}

/// The first time of a cycle.
pub(super) fn once(cycle: &Program) -> Program {
    Program::new(cycle.source(), Arc::new(Once(cycle.clone())))
}

#[derive(Debug)]
struct Once(Program);

impl Evaluate for Once {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let value = self.0.value(variables, limits)?;
        let rest = value.as_str().and_then(|it| it.split_once('/'));
        let first = rest.filter(|(it, _)| it.starts_with('R')).map(|(_, it)| format!("R1/{it}"));
        let value = first.map_or(value, Value::from);
        Ok(Outcome { value, writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        self.0.reads()
    }
}

/// The name of a variable, as mappings and keys write it.
fn variable(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix('=').unwrap_or(text).trim();
    let braced = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
    let text = braced.unwrap_or(text).trim();
    text.strip_prefix("_context.").unwrap_or(text)
}

/// The key that a message is awaited or sent with: the value of a variable, as text. Instances that a
/// message starts have no variables yet.
pub(super) fn key<'a>(
    message: Option<Node<'a>>,
    definition: Node<'a>,
    event: Node<'a>,
) -> Option<(Name, Program)> {
    if event.is("startEvent") && event.parent().is_some_and(|it| it.is("process")) {
        return None;
    }
    let own = message.and_then(|it| {
        attribute(extensions(it, "subscription").into_iter().next()?, "correlationKey")
    });
    let prefixed = own
        .or_else(|| attribute(event, "correlationKey"))
        .or_else(|| attribute(definition, "correlationKey"));
    let name = variable(prefixed?);
    let program = Program::new(name, Arc::new(Key([Name::from(name)])));
    Some((Name::from(CORRELATION_KEY), program))
}

/// Who does a user task, or may: a text, or the value of a variable where there is one. Whatever else Camunda says about
/// user tasks is not read there.
pub(super) fn people(task: Node<'_>, field: &str) -> Option<(Name, Program)> {
    if !["assignee", "candidateUsers", "candidateGroups"].contains(&field) {
        return None;
    }
    let written = task.attributes().iter().find(|it| it.ns == Ns::Camunda && it.name == field)?;
    let text = written.value.trim();
    let whole = text.strip_prefix("${").and_then(|it| it.strip_suffix('}')).map(str::trim);
    let program = match whole {
        Some(name) if is_identifier(variable(name)) => path(text, name, false),
        _ if text.contains("${") || text.contains("#{") => return None,
        _ => literal(text),
    };
    // It is read here.
    task.attribute(&Ns::Camunda, field);
    Some((Name::from(field), program))
}

/// A condition, which is an error where it gives no boolean.
fn boolean(condition: &Program) -> Program {
    Program::new(condition.source(), Arc::new(Boolean(condition.clone())))
}

#[derive(Debug)]
struct Boolean(Program);

impl Evaluate for Boolean {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let value = self.0.value(variables, limits)?;
        if value.as_bool().is_none() {
            let message = format!(
                "the condition `{}` is {}, neither true nor false",
                self.0.quoted(),
                value.kind()
            );
            return Err(EvalError::Thrown { code: FAILED.to_owned(), message });
        }
        Ok(Outcome { value, writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        self.0.reads()
    }
}

impl<'a> Lowering<'a> {
    /// What an attribute of Camunda 7 says, in dialects that read those.
    pub(super) fn camunda_ext(&self, node: Node<'a>, name: &str) -> Option<&'a str> {
        let is_read = self.dialect != Dialect::Fleans;
        is_read.then(|| node.ext(&Ns::Camunda, name)).flatten()
    }

    /// A condition.
    pub(super) fn condition_of(&self, text: Text<'a>) -> Program {
        let condition = self.compiler.expression(text);
        if self.dialect == Dialect::Fleans { boolean(&condition) } else { condition }
    }

    /// Remembers who undoes only because an association says so.
    pub(super) fn note_handler(&mut self, association: Node<'a>) {
        if self.dialect != Dialect::Fleans {
            return;
        }
        let end = |name| self.cx.files.resolve(association, association.attr(name)?);
        let (Some(source), Some(target)) = (end("sourceRef"), end("targetRef")) else { return };
        if source.is("boundaryEvent")
            && self.cx.files.definition(source, "compensateEventDefinition").is_some()
            && schema::is_a(target.name(), "activity")
        {
            self.handlers.insert(target.key());
        }
    }

    /// A script; one that is empty does nothing.
    pub(super) fn fleans_script(&self, node: Node<'a>, format: &str) -> Element {
        let language = node.attr(format).map(str::trim).filter(|it| !it.is_empty());
        let text = node.child("script").map(Text::of).filter(|it| !it.source.is_empty());
        let Some(text) = text else {
            return Element::Script { program: crate::expression::nothing(), result: None };
        };
        if text.source.contains("Console.") {
            let message = format!("the script of {} writes to a console", node.title());
            self.warn(
                "TV0731",
                node,
                message,
                "nobody reads it here; remove it, or write a variable",
            );
        }
        let program = self.compiler.script(text.in_language(language));
        Element::Script { program, result: None }
    }

    /// A service task with a type is a job of that type; one without waits to be completed.
    pub(super) fn fleans_task(&self, node: Node<'a>) -> Option<Element> {
        let definition = extensions(node, "taskDefinition").into_iter().next();
        let named = attribute(node, "type").or_else(|| attribute(definition?, "type"));
        let job_type = named.map_or_else(|| job_type_of(node), literal);
        if named.is_none() && !node.is("serviceTask") {
            return None;
        }
        Some(Element::Work(self.work_for(node, job_type)))
    }

    /// What the work of a task brings.
    pub(super) fn fleans_results(&self, node: Node<'a>) -> Results {
        if self.dialect != Dialect::Fleans {
            return Results::default();
        }
        let maps = || mappings(node, "output").next().is_some();
        let response = (node.is("serviceTask") && maps()).then(|| Name::from(RESPONSE));
        let names = |it: Node<'a>| {
            let all = it
                .children()
                .filter(|it| is_called(*it, "expectedOutput") || is_called(*it, "output"));
            all.map(Node::mark)
        };
        let expected = extensions(node, "expectedOutputs").into_iter().flat_map(names);
        let expected = expected
            .filter(|_| node.is("userTask"))
            .filter_map(|it| it.attribute(&Ns::None, "name").map(|it| it.value.trim()))
            .filter(|it| !it.is_empty())
            .map(Name::from);
        Results { response, expected: expected.collect() }
    }

    /// What goes into a service task or a call, or comes out of it.
    pub(super) fn fleans_mapping(&self, node: Node<'a>, kind: &'a str) -> Vec<(Name, Program)> {
        let (parts, is_call) = if node.is("callActivity") {
            let all = node.all("extensionElements").flat_map(Node::children);
            let name = format!("{kind}Mapping");
            (all.filter(|it| is_called(*it, &name)).map(Node::mark).collect::<Vec<_>>(), true)
        } else {
            (mappings(node, kind).collect(), false)
        };
        let mut found = Vec::new();
        for it in parts {
            let end = |name| it.attribute(&Ns::None, name).map(|it| it.value.trim());
            let target = end("target").map(variable).filter(|it| !it.is_empty());
            let (Some(source), Some(target)) = (end("source"), target) else {
                let message = format!("a mapping of {} is incomplete", node.title());
                self.error("TV0717", it, message, "add source and target");
                continue;
            };
            let program = if is_call { copied(variable(source)) } else { mapped(source, kind) };
            found.push((Name::from(target), program));
        }
        found
    }

    /// A multi-instance activity: all that it names are variables.
    pub(super) fn fleans_each(&self, node: Node<'a>, several: Node<'a>) -> Option<Each> {
        let named = |name: &str| attribute(several, name).map(variable);
        let collection = named("collection");
        let cardinality = several.child("loopCardinality").map(|it| self.number(Text::of(it)));
        // Where both are there the number wins, and no item is set.
        let item = named("elementVariable").filter(|_| cardinality.is_none());
        let count = match (cardinality, collection) {
            (Some(cardinality), _) => Count::Cardinality(cardinality),
            (None, Some(collection)) => Count::Collection(variable_named(collection)),
            (None, None) => {
                let message = format!(
                    "multi-instance {} says neither how often nor for what it runs",
                    node.title()
                );
                self.error("TV0601", several, message, "add a loopCardinality or a collection");
                return None;
            }
        };
        let output = named("outputCollection").zip(named("outputElement"));
        let completion = several
            .child("completionCondition")
            .map(|it| self.condition_of(Text::of(it)))
            .map(|it| Program::new(it.source(), Arc::new(Counters(it.clone()))));
        Some(Each {
            sequential: is_true(several, "isSequential", false),
            count,
            item: item.map(Name::from),
            index: None,
            output: output
                .map(|(list, item)| (Name::from(list), OutputItem::Variable(Name::from(item)))),
            completion,
            on_empty: OnEmpty::Complete,
            batch: None,
            behavior: Vec::new(),
        })
    }

    /// A complex join asks its condition at each arrival; without one it awaits all that can come.
    pub(super) fn fleans_complex(&self, node: Node<'a>) -> Element {
        match activation(node) {
            Some(text) => {
                let program = self.condition_of(text);
                let source = program.source().to_owned();
                Element::Complex { activation: Program::new(&source, Arc::new(Arrivals(program))) }
            }
            None => Element::Inclusive,
        }
    }
}

/// The activation condition of a complex gateway.
fn activation(node: Node<'_>) -> Option<Text<'_>> {
    let text = node
        .child("activationCondition")
        .map(Text::of)
        .or_else(|| namespaces().iter().find_map(|ns| Text::ext(node, ns, "activationCondition")));
    text.filter(|it| !it.source.is_empty())
}

/// Whether a gateway goes on by what its activation condition says of the tokens that have come.
pub(super) fn counts(gateway: Node<'_>) -> bool {
    gateway.is("complexGateway") && activation(gateway).is_some()
}

/// The mappings of a service task.
fn mappings<'a>(node: Node<'a>, kind: &'a str) -> impl Iterator<Item = Node<'a>> {
    let all = extensions(node, "ioMapping").into_iter().flat_map(Node::children);
    all.filter(move |it| is_called(*it, kind)).map(Node::mark)
}

/// The source of a mapping: a constant or a path behind `=`, and the text itself otherwise.
fn mapped(source: &str, kind: &str) -> Program {
    let Some(text) = source.strip_prefix('=').map(str::trim) else { return literal(source) };
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    if let Some(text) = quoted {
        return literal(text);
    }
    let constant = match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" => Some(Value::Null),
        _ => text.parse::<Number>().ok().map(Value::from),
    };
    if let Some(constant) = constant {
        return Program::constant(constant);
    }
    path(source, text, kind == "output")
}

/// A copy of a variable; a missing one is left out.
fn copied(source: &str) -> Program {
    path(source, source, true)
}

fn path(source: &str, text: &str, skips: bool) -> Program {
    let path: Vec<Name> = variable(text).split('.').map(Name::from).collect();
    Program::new(source, Arc::new(Path { path, skips }))
}

/// A value inside of a variable; null where something on the way is missing.
#[derive(Debug)]
struct Path {
    path: Vec<Name>,
    /// Whether there is nothing to give where the variable itself is missing.
    skips: bool,
}

impl Evaluate for Path {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let mut path = self.path.iter();
        let first = path.next().expect("a text has a part");
        let value = variables.get(first);
        if value.is_none() && self.skips {
            return Err(EvalError::Absent);
        }
        let mut value = value.unwrap_or_default();
        for field in path {
            value = value.field(field).cloned().unwrap_or_default();
        }
        Ok(Outcome { value, writes: Vec::new() })
    }
}

/// The value of a variable as text, which must be there.
#[derive(Debug)]
struct Key([Name; 1]);

impl Evaluate for Key {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let text = match variables.get(&self.0[0]) {
            None | Some(Value::Null) => {
                let message = format!("there is no {} to correlate by", self.0[0]);
                return Err(EvalError::Thrown { code: FAILED.to_owned(), message });
            }
            Some(Value::String(text)) => text.to_string(),
            Some(other) => other.to_string(),
        };
        Ok(Outcome { value: text.into(), writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(&self.0)
    }
}

/// A completion condition, which sees the counts of runs and nothing else. One that fails does not hold.
#[derive(Debug)]
struct Counters(Program);

const COUNTERS: &[&str] = &["nrOfInstances", "nrOfActiveInstances", "nrOfCompletedInstances"];

impl Evaluate for Counters {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let seen: Map =
            COUNTERS.iter().filter_map(|it| Some((Name::from(*it), variables.get(it)?))).collect();
        match self.0.value(&seen, limits) {
            Ok(value) => Ok(Outcome { value, writes: Vec::new() }),
            Err(limit @ EvalError::Limit(_)) => Err(limit),
            Err(_) => Ok(Outcome { value: false.into(), writes: Vec::new() }),
        }
    }
}

/// A condition on how many tokens have come to a join.
#[derive(Debug)]
struct Arrivals(Program);

impl Evaluate for Arrivals {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        self.0.run(&Counted(variables), limits)
    }
}

/// Variables, with the count of tokens under the name that these models have for it.
struct Counted<'a>(&'a dyn Variables);

impl Variables for Counted<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let name = if name == "_nroftoken" { "activationCount" } else { name };
        self.0.get(name)
    }

    fn names(&self) -> Vec<Name> {
        self.0.names()
    }

    fn fact(&self, fact: Fact) -> Option<Name> {
        self.0.fact(fact)
    }

    fn now(&self) -> Option<Timestamp> {
        self.0.now()
    }
}
