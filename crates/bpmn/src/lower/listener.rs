//! Listeners: ours, Camunda 7's and Camunda 8's.
//!
//! Whatever a listener asks for that is never called is left alone here, so that the reader says of it
//! that it has no effect.

use travertine_kernel::plan::{
    Element, Listener, Listeners, Moment, NodeId, Throw, Work, WorkKind,
};
use travertine_value::{Name, Program};

use super::{
    Lowering,
    camunda8::{is_inner, zeebe_header_parts, zeebe_headers},
    index,
};
use crate::{
    dialect::Dialect,
    expression::{Text, literal},
    xml::{Node, Ns},
};

/// The field of a job that says on what its listener is called.
const LISTENER: &str = "listener";

/// When task listeners of Camunda 7 are called.
const TASK_EVENTS: &[(&str, Moment)] = &[
    ("create", Moment::Start),
    ("complete", Moment::Completion),
    // Where the model itself assigns the task, it does so at the beginning.
    ("assignment", Moment::Start),
];

impl<'a> Lowering<'a> {
    /// The listeners of a node, at the moments at which they can be called.
    pub(super) fn listeners(&self, node: Node<'a>, place: NodeId) -> Listeners {
        let mut listeners = Listeners::default();
        if !self.can_listen(place) {
            return listeners;
        }
        let found = self.native_listeners(node);
        let found = match self.dialect {
            Dialect::Native | Dialect::Fleans => found,
            Dialect::Camunda7 => [found, self.camunda_listeners(node)].concat(),
            Dialect::Camunda8 => [found, self.zeebe_listeners(node)].concat(),
        };
        for (moment, listener) in found {
            let list = match moment {
                Moment::BeforeAll => &mut listeners.before_all,
                Moment::Start => &mut listeners.start,
                Moment::Completion => &mut listeners.completion,
                Moment::End => &mut listeners.end,
            };
            list.push(listener);
        }
        self.settle_moments(place, &mut listeners);
        listeners
    }

    /// An inclusive gateway that waits for several flows goes on as a whole, with nothing around it.
    fn can_listen(&self, place: NodeId) -> bool {
        let joins = self.arriving.get(&place).is_some_and(|it| *it > 1);
        !(joins
            && matches!(self.nodes[index(place)].element, Element::Inclusive | Element::FanIn(_)))
    }

    /// Some nodes have one moment where others have two.
    fn settle_moments(&self, place: NodeId, listeners: &mut Listeners) {
        match &self.nodes[index(place)].element {
            // Before all tokens have come there is nothing to listen to.
            Element::Parallel | Element::Complex { .. } => {
                listeners.completion.splice(0..0, listeners.start.drain(..));
            }
            // Nobody is left to go on after these.
            Element::Throw(throws)
                if throws.iter().any(|it| {
                    matches!(it, Throw::Error { .. } | Throw::Cancel | Throw::Terminate)
                }) =>
            {
                listeners.start.append(&mut listeners.completion);
                listeners.start.append(&mut listeners.end);
            }
            Element::EventBased => {
                listeners.start.append(&mut listeners.completion);
                listeners.start.append(&mut listeners.end);
            }
            _ => {}
        }
    }

    /// `<tv:listener on="start" jobType="audit"/>`, or with a script inside.
    fn native_listeners(&self, node: Node<'a>) -> Vec<(Moment, Listener)> {
        let listener = |it: Node<'a>| {
            let on = it.attr("on").unwrap_or_default();
            let repeats = self.repeats(node);
            let moment = match on {
                "beforeAll" if repeats => Moment::BeforeAll,
                "start" => Moment::Start,
                "completion" => Moment::Completion,
                "end" => Moment::End,
                _ => {
                    let message = format!("tv:listener of {} is called on '{on}'", node.title());
                    let help = "write start, completion or end, or beforeAll where there are runs";
                    self.error("TV0703", it, message, help);
                    return None;
                }
            };
            let Some(job_type) = Text::ext(it, &Ns::None, "jobType") else {
                let text = Text::of(it);
                return Some((moment, Listener::Script(self.compiler.script(text))));
            };
            let mut work = listener_work(self.compiler.text(job_type), on);
            work.retries = Text::ext(it, &Ns::None, "retries").map(|it| self.number(it));
            for header in it.parts("header") {
                let key = Name::from(header.attr("key").unwrap_or_default());
                work.fields.push((key, self.compiler.expression(Text::of(header))));
            }
            work.fields.retain(|(name, _)| !is_inner(name));
            Some((moment, Listener::Work(work)))
        };
        node.extensions(&Ns::Travertine, "listener").filter_map(listener).collect()
    }

    fn zeebe_listeners(&self, node: Node<'a>) -> Vec<(Moment, Listener)> {
        let mut found = Vec::new();
        let is_work = node.is("userTask");
        for (list, name) in
            [("executionListeners", "executionListener"), ("taskListeners", "taskListener")]
        {
            let lists = node.extensions(&Ns::Zeebe, list).flat_map(Node::children);
            for it in lists.filter(|it| it.name() == name) {
                let event = it.attr("eventType").unwrap_or_default();
                let moment = match (name, event) {
                    ("executionListener", "beforeAll") if self.repeats(node) => Moment::BeforeAll,
                    ("executionListener", "start") => Moment::Start,
                    ("executionListener", "end") => Moment::End,
                    ("taskListener", "creating") if is_work => Moment::Start,
                    // The model itself assigns it, when it is created.
                    ("taskListener", "assigning") if self.is_assigned(node) => Moment::Start,
                    ("taskListener", "completing") if is_work => Moment::Completion,
                    _ => continue,
                };
                let Some(job_type) = Text::ext(it.mark(), &Ns::None, "type") else {
                    let message = format!("zeebe:{name} of {} has no type", node.title());
                    self.error("TV0718", it, message, "add the attribute type");
                    continue;
                };
                let mut work = listener_work(self.feel_or_text(job_type), event);
                work.retries = Text::ext(it, &Ns::None, "retries").map(|it| self.number(it));
                for (key, value) in zeebe_headers(node).chain(zeebe_header_parts(it)) {
                    work.fields.retain(|(it, _)| *it != key);
                    work.fields.push((key, value));
                }
                found.push((moment, Listener::Work(work)));
            }
        }
        found
    }

    fn camunda_listeners(&self, node: Node<'a>) -> Vec<(Moment, Listener)> {
        let called = |name: &'static str, events: &'static [(&str, Moment)]| {
            let all = node.all("extensionElements").flat_map(Node::children);
            let all = all.filter(move |it| *it.ns() == Ns::Camunda && it.name() == name);
            all.filter_map(move |it| {
                let (event, moment) =
                    events.iter().find(|(event, _)| it.attr("event") == Some(event))?;
                let listener = self.camunda_listener(node, it, event)?;
                it.mark().attr("id");
                Some((*moment, listener))
            })
        };
        // The output mappings come last there.
        let events = &[("start", Moment::Start), ("end", Moment::Completion)];
        let found: Vec<_> = called("executionListener", events).collect();
        if !node.is("userTask") {
            return found;
        }
        let events = if self.is_assigned(node) { TASK_EVENTS } else { &TASK_EVENTS[..2] };
        // The task is created within the activity, and complete before that ends.
        let (start, end): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(it, _)| *it == Moment::Start);
        start.into_iter().chain(called("taskListener", events)).chain(end).collect()
    }

    fn camunda_listener(&self, node: Node<'a>, it: Node<'a>, event: &str) -> Option<Listener> {
        if let Some(script) =
            it.children().find(|it| *it.ns() == Ns::Camunda && it.name() == "script")
        {
            return Some(Listener::Script(self.camunda_script(script.mark())));
        }
        if let Some(text) = Text::ext(it, &Ns::None, "expression")
            && let Some(program) = self.compiler.understood(text)
        {
            return Some(Listener::Script(program));
        }
        let job_type = ["class", "delegateExpression", "expression"]
            .into_iter()
            .find_map(|name| Text::ext(it, &Ns::None, name))?;
        let message = format!(
            "camunda:{} of {} is not run here; workers do it, as jobs of the type '{}'",
            it.name(),
            node.title(),
            job_type.source
        );
        self.warn("TV0711", it, message, "provide a worker, or write a script");
        Some(Listener::Work(listener_work(literal(job_type.source), event)))
    }

    /// Whether a user task is assigned to someone from the beginning.
    fn is_assigned(&self, node: Node<'a>) -> bool {
        let place = self.places.get(&node.key()).map(|it| &self.nodes[index(*it)].element);
        matches!(place, Some(Element::Work(work)) if work.kind == WorkKind::User
            && work.fields.iter().any(|(name, _)| &**name == "assignee"))
    }

    fn repeats(&self, node: Node<'a>) -> bool {
        self.places.get(&node.key()).is_some_and(|it| self.nodes[index(*it)].repeat.is_some())
    }
}

/// The job of a listener, which tells workers what it is called on.
fn listener_work(job_type: Program, on: &str) -> Work {
    let fields = vec![(Name::from(LISTENER), literal(on))];
    Work { kind: WorkKind::Job, job_type, retries: None, fields }
}
