//! What Camunda 8's extensions mean. A text that begins with `=` is FEEL there, any other stands
//! for itself.

use travertine_kernel::{
    EXTERNAL_FORM, FORM_BINDING,
    plan::{Call, Element, FormLink},
};
use travertine_value::{Name, Program, Value};

use super::{Lowering, call::tagged, is_true};
use crate::{
    expression::{Text, nothing},
    xml::{Node, Ns},
};

const NS: &Ns = &Ns::Zeebe;

/// How we call the one key that Camunda 8 correlates messages by.
pub const CORRELATION_KEY: &str = "correlationKey";

/// The field of a job that says how pressing it is. It is no header: workers do not see it.
pub const JOB_PRIORITY: &str = "zeebe:jobPriority";

/// The field of work that says which limit it keeps: `class` or `class/key`.
pub const JOB_LIMIT: &str = "tv:jobLimit";

impl<'a> Lowering<'a> {
    /// A text that is FEEL or stands for itself.
    pub(super) fn feel_or_text(&self, text: Text<'a>) -> Program {
        if text.source.starts_with('=') {
            self.compiler.expression(text)
        } else {
            crate::expression::literal(text.source)
        }
    }

    /// What a task definition means.
    pub(super) fn zeebe_task(&self, node: Node<'a>) -> Option<Element> {
        let job_type = zeebe(node, "taskDefinition", "type")?;
        let mut work = self.work_for(node, self.feel_or_text(job_type));
        work.retries = zeebe(node, "taskDefinition", "retries").map(|it| self.number(it));
        work.fields.extend(zeebe_headers(node));
        if !work.fields.iter().any(|(name, _)| &**name == JOB_PRIORITY) {
            work.fields.extend(self.job_priority(node));
        }
        Some(Element::Work(work))
    }

    /// How pressing a job is: what its task says, else what its process says.
    fn job_priority(&self, node: Node<'a>) -> Option<(Name, Program)> {
        let of = |it| zeebe(it, "jobPriorityDefinition", "priority");
        let process = || node.ancestors().find(|it| it.is("process")).and_then(of);
        Some((Name::from(JOB_PRIORITY), self.number(of(node).or_else(process)?)))
    }

    pub(super) fn zeebe_script(&self, node: Node<'a>) -> Option<Element> {
        if let Some(expression) = zeebe(node, "script", "expression") {
            let result = zeebe(node, "script", "resultVariable").map(|it| it.source.into());
            return Some(Element::Script { program: self.compiler.expression(expression), result });
        }
        self.zeebe_task(node)
    }

    /// The list of activities that an ad-hoc sub-process begins with.
    pub(super) fn active_elements(&self, node: Node<'a>) -> Option<Program> {
        if let Some(definition) = node.extensions(NS, "taskDefinition").next() {
            let message = format!(
                "a worker is to choose what begins in {}, which none can here",
                node.title()
            );
            let help = "name it by activeElementsCollection of zeebe:adHoc, and have a task before it \
                        work out the list";
            self.error("TV0722", definition, message, help);
        }
        for output in ["outputCollection", "outputElement"] {
            if let Some(text) = zeebe(node, "adHoc", output) {
                let message = format!("{output} of {} is not collected here", node.title());
                self.error("TV0723", text.at, message, "let each activity write its own variable");
            }
        }
        let Some(text) = zeebe(node, "adHoc", "activeElementsCollection") else {
            let message = format!("nothing begins in {} by itself", node.title());
            let help = "name what begins by activeElementsCollection of zeebe:adHoc, or activate it by \
                        `travertine modify --add`";
            self.warn("TV0724", node, message, help);
            return None;
        };
        if !text.source.starts_with('=') {
            let message = format!(
                "activeElementsCollection of {} is '{}', which is no expression",
                node.title(),
                text.source
            );
            self.error("TV0725", text.at, message, "write a list of ids, such as =[\"a\", \"b\"]");
        }
        Some(self.feel_or_text(text))
    }

    /// Assignee, due date and so on of a user task.
    pub(super) fn assignment(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        let places = [
            ("assignmentDefinition", "assignee", "assignee"),
            ("assignmentDefinition", "candidateUsers", "candidateUsers"),
            ("assignmentDefinition", "candidateGroups", "candidateGroups"),
            ("taskSchedule", "dueDate", "dueDate"),
            ("taskSchedule", "followUpDate", "followUpDate"),
            ("priorityDefinition", "priority", "priority"),
            ("formDefinition", "formKey", "form"),
            ("formDefinition", "formId", "form"),
            ("formDefinition", "externalReference", "form"),
        ];
        let found = places.into_iter().filter_map(|(element, attribute, field)| {
            let text = zeebe(node, element, attribute)?;
            let program = if field == "priority" {
                self.priority(node, text)
            } else {
                self.feel_or_text(text)
            };
            Some((Name::from(field), program))
        });
        let mut found: Vec<(Name, Program)> = found.collect();
        if let Some(form) = node.extensions(NS, "formDefinition").next() {
            if let Some(binding) = self.zeebe_binding(node, form) {
                let binding = Program::constant(Value::String(binding));
                found.push((Name::from(FORM_BINDING), binding));
            }
            if zeebe(node, "formDefinition", "externalReference").is_some() {
                found.push((Name::from(EXTERNAL_FORM), Program::constant(true.into())));
            }
        }
        found
    }

    /// The form that people fill in to start a process.
    pub(super) fn start_form(&self, process: Node<'a>) -> Option<FormLink> {
        let mut starts = process.children().filter(|it| it.is("startEvent"));
        starts.find_map(|start| {
            let form = start.extensions(NS, "formDefinition").next()?;
            let id = form.attr("formId").filter(|it| !it.is_empty())?;
            Some(FormLink { id: id.into(), binding: self.zeebe_binding(start, form) })
        })
    }

    pub(super) fn called_element(&self, node: Node<'a>) -> Option<Call> {
        let called = node.extensions(NS, "calledElement").next()?;
        let definition = if let Some(id) = zeebe(node, "calledElement", "processId") {
            self.feel_or_text(id)
        } else {
            let message = format!("{} does not say what it calls", node.title());
            self.error("TV0430", called, message, "add processId to zeebe:calledElement");
            nothing()
        };
        Some(Call {
            definition,
            binding: self.zeebe_binding(node, called),
            computed: None,
            all_in: is_true(called, "propagateAllParentVariables", true),
            all_out: is_true(called, "propagateAllChildVariables", true),
        })
    }

    /// Which version of a process or a decision is called.
    pub(super) fn zeebe_binding(&self, node: Node<'a>, called: Node<'a>) -> Option<Name> {
        match called.attr("bindingType") {
            None | Some("" | "latest") => None,
            Some("deployment") => Some("deployment".into()),
            Some("versionTag") => {
                let tag = called.attr("versionTag").filter(|it| !it.is_empty());
                if tag.is_none() {
                    let help = format!("add versionTag to zeebe:{}", called.name());
                    self.unversioned(node, called, &help);
                }
                tag.map(tagged)
            }
            Some(_) => {
                let help = "a bindingType is latest, deployment or versionTag";
                self.unversioned(node, called, help);
                None
            }
        }
    }

    /// Input or output mappings.
    pub(super) fn zeebe_mapping(&self, node: Node<'a>, kind: &'a str) -> Vec<(Name, Program)> {
        let mappings = node.extensions(NS, "ioMapping").flat_map(|it| it.parts(kind));
        mappings
            .filter_map(|it| {
                let source = Text::ext(it, &Ns::None, "source").filter(|it| !it.source.is_empty());
                let target = it.attr("target").filter(|it| !it.is_empty());
                let (Some(source), Some(target)) = (source, target) else {
                    let message = format!("a zeebe:{kind} of {} is incomplete", node.title());
                    self.error("TV0717", it, message, "add source and target");
                    return None;
                };
                Some((Name::from(target), self.feel_or_text(source)))
            })
            .collect()
    }

    /// The correlation key of a message.
    pub(super) fn subscription(&self, node: Node<'a>) -> Option<(Name, Program)> {
        let key = zeebe(node, "subscription", "correlationKey")?;
        Some((Name::from(CORRELATION_KEY), self.compiler.expression(key)))
    }
}

/// An attribute of an extension element.
fn zeebe<'a>(node: Node<'a>, element: &'a str, attribute: &str) -> Option<Text<'a>> {
    let element = node.extensions(NS, element).next()?;
    Text::ext(element, &Ns::None, attribute).filter(|it| !it.source.is_empty())
}

/// The headers of a task.
pub(super) fn zeebe_headers(node: Node<'_>) -> impl Iterator<Item = (Name, Program)> {
    node.extensions(NS, "taskHeaders").flat_map(|it| it.parts("header")).filter_map(header)
}

/// The headers of a listener.
pub(super) fn zeebe_header_parts(listener: Node<'_>) -> impl Iterator<Item = (Name, Program)> {
    listener.parts("taskHeaders").flat_map(|it| it.parts("header")).filter_map(header)
}

/// Whether a field of that name is for the engine. No header has such a name, so none changes anything.
pub fn is_inner(name: &str) -> bool {
    [JOB_PRIORITY, JOB_LIMIT].contains(&name)
}

fn header(header: Node<'_>) -> Option<(Name, Program)> {
    let (key, value) = (header.attr("key")?, header.attr("value")?);
    (!is_inner(key)).then(|| (Name::from(key), crate::expression::literal(value)))
}

/// An attribute of the loop characteristics.
pub(super) fn zeebe_loop<'a>(several: Node<'a>, attribute: &str) -> Option<Text<'a>> {
    zeebe(several, "loopCharacteristics", attribute)
}
