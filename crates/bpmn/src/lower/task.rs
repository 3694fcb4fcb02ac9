//! Tasks.

use travertine_kernel::plan::{
    Catch, Element, ElementKind, Message, NodeId, Send, Start, Trigger, Work, WorkKind,
};
use travertine_value::{Name, Program};

use super::{JOB_LIMIT, JOB_PRIORITY, Lowering, index, is_inner, is_true, is_true_ext};
use crate::{
    dialect::Dialect,
    expression::{Text, literal},
    xml::{Node, Ns},
};

/// What `implementation` says where it says nothing.
const UNSPECIFIED: &[&str] = &["", "##unspecified", "##Unspecified", "##WebService"];

/// The priority of user tasks that name none, in models for Camunda.
const PRIORITY: i64 = 50;

impl<'a> Lowering<'a> {
    pub(super) fn plain_task(&self, node: Node<'a>) -> Element {
        if is_true_ext(node, &Ns::Travertine, "decision") == Some(true) {
            return Element::Decision;
        }
        if self.dialect == Dialect::Fleans && node.is("task") {
            return self.user_task(node);
        }
        if self.cx.options.wait_tasks.iter().any(|it| it == node.name()) {
            return self.user_task(node);
        }
        Element::Task
    }

    pub(super) fn user_task(&self, node: Node<'a>) -> Element {
        let mut fields = self.user_fields(node);
        if self.dialect == Dialect::Camunda8 {
            fields.extend(self.assignment(node));
            fields.extend(super::camunda8::zeebe_headers(node));
        }
        fields.extend(self.keyed(node, "header", "key"));
        if self.dialect.is_camunda() && !fields.iter().any(|(name, _)| &**name == "priority") {
            fields.push((Name::from("priority"), Program::constant(PRIORITY.into())));
        }
        Element::Work(Work {
            kind: WorkKind::User,
            job_type: literal(node.name()),
            retries: None,
            fields,
        })
    }

    pub(super) fn script_task(&self, node: Node<'a>, format: &str) -> Element {
        if self.dialect == Dialect::Camunda8
            && let Some(element) = self.zeebe_script(node)
        {
            return element;
        }
        if self.dialect == Dialect::Fleans {
            return self.fleans_script(node, format);
        }
        let result = node
            .ext(&Ns::Travertine, "resultVariable")
            .or_else(|| node.ext(&Ns::Camunda, "resultVariable"))
            .map(Name::from);
        let Some(script) = node.child("script") else {
            if let Some(element) = self.job(node) {
                return element;
            }
            let message = format!("{} has no script", node.title());
            self.error("TV0504", node, message, "add a script");
            return Element::Task;
        };
        let language = node.attr(format).filter(|it| !it.trim().is_empty());
        let text = Text::of(script).in_language(language);
        if self.dialect == Dialect::Camunda7 {
            self.check_script(text);
        }
        Element::Script { program: self.compiler.script(text), result }
    }

    pub(super) fn service_task(&self, node: Node<'a>) -> Element {
        if let Some(element) = self.implementation(node, node) {
            return element;
        }
        Element::Work(self.work_for(node, job_type_of(node)))
    }

    pub(super) fn send_task(&self, node: Node<'a>) -> Element {
        if let Some(element) = self.implementation(node, node) {
            return element;
        }
        let messages = self.messages(node);
        if messages.is_empty() {
            return Element::Work(self.work_for(node, job_type_of(node)));
        }
        let input = node.child("ioSpecification").and_then(|it| it.child("dataInput"));
        Element::Send(Send { messages, payload: self.payload(self.named(node, "payload"), input) })
    }

    pub(super) fn receive_task(&self, node: Node<'a>) -> Element {
        let mut messages = self.messages(node);
        if messages.is_empty() {
            // Whoever knows the element can still complete it.
            let name = literal(node.id().unwrap_or_default());
            messages.push(Message { name, correlation: self.named(node, "correlation") });
        }
        let triggers = messages.into_iter().map(Trigger::Message).collect();
        if is_true(node, "instantiate", false) {
            return Element::Start(Start { triggers, all: false, with: Vec::new() });
        }
        Element::Receive(Catch { triggers, all: false })
    }

    /// The messages of a send or receive task: the one it refers to, and one for each run of a
    /// multi-instance task.
    fn messages(&self, node: Node<'a>) -> Vec<Message> {
        let read = |reference: &str| match node.name() {
            "receiveTask" => self.awaited(reference, node, node),
            _ => self.sent(reference, node, node),
        };
        let several: Vec<_> = node
            .extensions(&Ns::Travertine, "message")
            .map(|it| {
                let reference = it.attr("ref").unwrap_or_default();
                if self.cx.files.resolve_as(node, reference, "message").is_none() {
                    let message =
                        format!("tv:message refers to '{reference}', which is no message");
                    self.error("TV0302", it, message, "write the id of a message");
                }
                read(reference)
            })
            .collect();
        if !several.is_empty() {
            return several;
        }
        node.attr("messageRef").map(read).into_iter().collect()
    }

    /// What an implementation in a dialect makes of a task or of a message event; `None` where
    /// there is none.
    pub(super) fn implementation(&self, node: Node<'a>, owner: Node<'a>) -> Option<Element> {
        match self.dialect {
            Dialect::Native => self.job(node),
            Dialect::Camunda7 => self.job(node).or_else(|| self.camunda_task(node, owner)),
            Dialect::Camunda8 => self.job(node).or_else(|| self.zeebe_task(owner)),
            Dialect::Fleans => self.job(node).or_else(|| self.fleans_task(owner)),
        }
    }

    /// A job, where our attribute says so.
    fn job(&self, node: Node<'a>) -> Option<Element> {
        let job_type = Text::ext(node, &Ns::Travertine, "jobType")?;
        Some(Element::Work(self.work_for(node, self.compiler.text(job_type))))
    }

    pub(super) fn work_for(&self, node: Node<'a>, job_type: Program) -> Work {
        let mut retries = Text::ext(node, &Ns::Travertine, "retries").map(|it| self.number(it));
        if retries.is_none() && self.dialect == Dialect::Camunda7 {
            retries = self.camunda_retries(node);
        }
        let mut fields = self.keyed(node, "header", "key");
        fields.retain(|(name, _)| !is_inner(name));
        if let Some(text) = Text::ext(node, &Ns::Travertine, "priority") {
            fields.push((Name::from(JOB_PRIORITY), self.number(text)));
        }
        if let Some(text) = Text::ext(node, &Ns::Travertine, "limit") {
            fields.push((Name::from(JOB_LIMIT), self.compiler.text(text)));
        }
        Work { kind: WorkKind::Job, job_type, retries, fields }
    }

    /// A number, or an expression for one.
    pub(super) fn number(&self, text: Text<'a>) -> Program {
        match text.source.parse::<i64>() {
            Ok(number) => Program::constant(number.into()),
            Err(_) => self.compiler.expression(text),
        }
    }

    /// A task that stands outside all processes: what calls it runs it as a process of its own.
    pub(super) fn global_task(&mut self, node: Node<'a>, place: NodeId) {
        let element = match node.name() {
            "globalScriptTask" => self.script_task(node, "scriptLanguage"),
            "globalUserTask" => self.user_task(node),
            "globalBusinessRuleTask" => {
                self.decision(node).unwrap_or_else(|| self.service_task(node))
            }
            _ => Element::Task,
        };
        let container = travertine_kernel::plan::Container::default();
        self.nodes[index(place)].element = Element::Process(container);
        self.nodes[index(place)].kind = ElementKind::Process;
        let name = format!("{}/task", self.nodes[index(place)].name);
        let kind = super::kind_of(node, &element);
        let mut task = travertine_kernel::plan::Node::new(&name, Some(place), element);
        task.kind = kind;
        self.nodes.push(task);
        self.sources.push(node);
    }
}

/// Where nothing says what a task's workers are called, they are called like its
/// implementation, else like the task.
pub(super) fn job_type_of(node: Node<'_>) -> Program {
    let implementation = node.attr("implementation").unwrap_or_default().trim();
    if UNSPECIFIED.contains(&implementation) {
        literal(node.id().unwrap_or_default())
    } else {
        literal(implementation)
    }
}
