//! One model written in many ways: nested, with other prefixes, other kinds of elements, in another order.
//!
//! A rule of the standard that was read off one way to write something does not find the next. So each model
//! that breaks a rule is written in all the shapes in which it still does, and each neighbour with it.

use std::fmt::{self, Write as _};

use travertine_xml::{Node, Ns};

/// An element as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Self>,
}

/// A way to write a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With a prefix for the standard's elements, as most tools do.
    Prefixed,
    /// With space around all texts, documentation and empty extensions everywhere.
    Wordy,
    /// What stands in the process stands in a sub-process of it.
    InSubProcess,
    /// It stands in a transaction.
    InTransaction,
    /// It stands two levels deep in an event sub-process.
    InEventSubProcess,
    /// It stands in a sub-process of an ad-hoc sub-process.
    InAdHoc,
    /// The process is that of one of two participants, and has lanes.
    InPool,
    /// Beside another process that is executable.
    Beside,
    /// The parts of the file in reverse order, elements of processes too.
    Reversed,
    /// The process is only a drawing; another one can be executed.
    Drawn,
    /// Definitions of events stand for themselves, and events refer to them.
    Referred,
    /// Plain tasks are another kind of task.
    Tasks(&'static str),
}

pub(crate) const SHAPES: &[Shape] = &[
    Shape::Prefixed,
    Shape::Wordy,
    Shape::InSubProcess,
    Shape::InTransaction,
    Shape::InEventSubProcess,
    Shape::InAdHoc,
    Shape::InPool,
    Shape::Beside,
    Shape::Reversed,
    Shape::Drawn,
    Shape::Referred,
    Shape::Tasks("userTask"),
    Shape::Tasks("manualTask"),
    Shape::Tasks("serviceTask"),
    Shape::Tasks("businessRuleTask"),
    Shape::Tasks("subProcess"),
];

/// Tasks and containers, whose first children may be documentation.
const WORDY: &[&str] = &["process", "collaboration", "dataObject", "message", "signal"];

impl Tree {
    pub(crate) fn new(name: &str, attributes: &[(&str, &str)], children: Vec<Self>) -> Self {
        let attributes =
            attributes.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned())).collect();
        Self { name: name.to_owned(), attributes, text: String::new(), children }
    }

    /// What a text says.
    pub(crate) fn read(text: &str) -> Self {
        let document = travertine_xml::read(Ns::Bpmn, "", text.as_bytes()).unwrap();
        Self::of(document.root())
    }

    fn of(node: Node<'_>) -> Self {
        let named = |ns: &Ns, name: &str| match ns {
            Ns::None | Ns::Bpmn => name.to_owned(),
            other => format!("{}{name}", other.prefix()),
        };
        Self {
            name: named(node.ns(), node.name()),
            attributes: node
                .attributes()
                .iter()
                .map(|it| (named(&it.ns, &it.name), it.value.clone()))
                .collect(),
            text: node.text().trim().to_owned(),
            children: node.children().map(Self::of).collect(),
        }
    }

    pub(crate) fn attr(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, it)| it.as_str())
    }

    /// It and all in it.
    pub(crate) fn each(&mut self, act: &mut dyn FnMut(&mut Self)) {
        act(self);
        self.children.iter_mut().for_each(|it| it.each(act));
    }

    /// The text of a file, whose elements have this prefix.
    pub(crate) fn write(&self, prefix: &str, space: &str) -> String {
        let mut text = String::new();
        self.write_into(prefix, space, true, &mut text);
        text
    }

    fn write_into(&self, prefix: &str, space: &str, is_root: bool, text: &mut String) {
        let name = match (prefix, self.name.contains(':')) {
            ("", _) | (_, true) => self.name.clone(),
            _ => format!("{prefix}:{}", self.name),
        };
        write_to(text, format_args!("<{name}"));
        if is_root {
            let own = if prefix.is_empty() { String::new() } else { format!(":{prefix}") };
            write_to(
                text,
                format_args!(
                    " xmlns{own}='http://www.omg.org/spec/BPMN/20100524/MODEL' \
                 xmlns:tv='urn:travertine:bpmn:1' \
                 xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'"
                ),
            );
        }
        for (name, value) in &self.attributes {
            let value = match name.as_str() {
                "xsi:type" if !prefix.is_empty() => format!("{prefix}:{value}"),
                _ => value.clone(),
            };
            write_to(text, format_args!(" {name}=\"{}\"", escaped(&value)));
        }
        *text += ">";
        if !self.text.is_empty() {
            write_to(text, format_args!("{space}{}{space}", escaped(&self.text)));
        }
        for child in &self.children {
            *text += space;
            child.write_into(prefix, space, false, text);
        }
        write_to(text, format_args!("</{name}>"));
    }

    /// The first process that has something in it.
    fn process(&mut self) -> Option<&mut Self> {
        self.children.iter_mut().find(|it| it.name == "process")
    }
}

fn write_to(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("text can be written to");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// What belongs to a process itself and not to what is in it.
fn is_own(child: &Tree) -> bool {
    ["ioSpecification", "ioBinding", "supportedInterfaceRef", "property", "documentation"]
        .contains(&child.name.as_str())
}

impl Shape {
    /// The model in this shape; nothing where it makes no difference.
    pub(crate) fn of(self, text: &str) -> Option<String> {
        let mut tree = Tree::read(text);
        let before = tree.write("", "");
        let (mut prefix, mut space) = ("", "");
        match self {
            Self::Prefixed => prefix = "semantic",
            Self::Wordy => {
                space = "\n  ";
                tree.each(&mut |it| {
                    let is_event = it.name.ends_with("Event") || it.name.ends_with("Gateway");
                    let is_work = it.name.ends_with("ask") || it.name.ends_with("Process");
                    if is_event || is_work || WORDY.contains(&it.name.as_str()) {
                        let mut words = Tree::new("documentation", &[], Vec::new());
                        "some words".clone_into(&mut words.text);
                        it.children.insert(0, Tree::new("extensionElements", &[], Vec::new()));
                        it.children.insert(0, words);
                    }
                });
            }
            Self::InSubProcess => nest(&mut tree, |inner| vec![within("subProcess", inner)])?,
            Self::InTransaction => nest(&mut tree, |inner| vec![within("transaction", inner)])?,
            Self::InEventSubProcess => nest(&mut tree, |inner| {
                let mut event = Tree::new(
                    "subProcess",
                    &[("id", "shapeEvent"), ("triggeredByEvent", "true")],
                    Vec::new(),
                );
                let timer = Tree::read(
                    "<startEvent xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' id='shapeTimer'>\
                     <timerEventDefinition><timeDuration xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' \
                     xsi:type='tFormalExpression'>PT1H</timeDuration></timerEventDefinition></startEvent>",
                );
                let flow = Tree::new(
                    "sequenceFlow",
                    &[("id", "shapeFlow"), ("sourceRef", "shapeTimer"), ("targetRef", "shapeIn")],
                    Vec::new(),
                );
                event.children = vec![timer, flow, within("subProcess", inner)];
                event.children.push(Tree::new("endEvent", &[("id", "shapeEnd")], Vec::new()));
                event.children.push(Tree::new(
                    "sequenceFlow",
                    &[("id", "shapeFlow2"), ("sourceRef", "shapeIn"), ("targetRef", "shapeEnd")],
                    Vec::new(),
                ));
                vec![Tree::new("task", &[("id", "shapeTask")], Vec::new()), event]
            })?,
            Self::InAdHoc => nest(&mut tree, |inner| {
                vec![Tree::new(
                    "adHocSubProcess",
                    &[("id", "shapeAdHoc")],
                    vec![within("subProcess", inner)],
                )]
            })?,
            Self::InPool => {
                if tree.children.iter().any(|it| it.name.ends_with("ollaboration")) {
                    return None;
                }
                let process = tree.process()?;
                let id = process.attr("id")?.to_owned();
                let nodes = process.children.iter().filter(|it| {
                    ["ask", "Event", "Gateway"].iter().any(|end| it.name.ends_with(end))
                });
                let refs = nodes.filter_map(|it| {
                    let mut named = Tree::new("flowNodeRef", &[], Vec::new());
                    it.attr("id")?.clone_into(&mut named.text);
                    Some(named)
                });
                let lane = Tree::new("lane", &[("id", "shapeLane")], refs.collect());
                let lanes = Tree::new("laneSet", &[("id", "shapeLanes")], vec![lane]);
                let at = process.children.iter().position(|it| !is_own(it)).unwrap_or(0);
                process.children.insert(at, lanes);
                let participant = |id: &str, of: &str| {
                    Tree::new("participant", &[("id", id), ("processRef", of)], Vec::new())
                };
                let both = vec![participant("shapeO", &id), participant("shapeO2", "shapeBeside")];
                let at = tree.children.iter().position(|it| it.name != "import").unwrap_or(0);
                let collaboration = Tree::new("collaboration", &[("id", "shapeC")], both);
                tree.children.insert(at, collaboration);
                tree.children.push(beside());
            }
            Self::Beside => tree.children.insert(0, beside()),
            Self::Reversed => {
                // Imports stand first, and what a process has of its own before its nodes.
                tree.children.sort_by_key(|it| it.name != "import");
                let at = tree.children.iter().take_while(|it| it.name == "import").count();
                tree.children[at..].reverse();
                for process in tree.children.iter_mut().filter(|it| it.name == "process") {
                    let at = process.children.iter().take_while(|it| is_own(it)).count();
                    process.children[at..].reverse();
                }
            }
            Self::Drawn => {
                for process in tree.children.iter_mut().filter(|it| it.name == "process") {
                    for (name, value) in &mut process.attributes {
                        if name == "isExecutable" {
                            "false".clone_into(value);
                        }
                    }
                }
                tree.children.push(beside());
            }
            Self::Referred => {
                let mut moved = Vec::new();
                tree.process()?.each(&mut |event| {
                    if !event.name.ends_with("Event") {
                        return;
                    }
                    for child in &mut event.children {
                        // Not where something in the model means the definition by its id.
                        if child.name.ends_with("EventDefinition") && child.attr("id").is_none() {
                            let id = format!("shapeDefinition{}", moved.len());
                            let mut reference = Tree::new("eventDefinitionRef", &[], Vec::new());
                            reference.text.clone_from(&id);
                            let mut definition = std::mem::replace(child, reference);
                            definition.attributes.push(("id".to_owned(), id));
                            moved.push(definition);
                        }
                    }
                });
                let at = tree.children.iter().position(|it| it.name == "process")?;
                tree.children.splice(at..at, moved);
            }
            Self::Tasks(kind) => {
                tree.each(&mut |it| {
                    let has_data = it.children.iter().any(|it| it.name == "ioSpecification");
                    if it.name == "task" && !(has_data && kind == "subProcess") {
                        kind.clone_into(&mut it.name);
                    }
                });
            }
        }
        let after = tree.write(prefix, space);
        (after != before).then_some(after)
    }
}

/// A sub-process, alone in its scope.
fn within(kind: &str, inner: Vec<Tree>) -> Tree {
    Tree::new(kind, &[("id", "shapeIn")], inner)
}

fn nest(tree: &mut Tree, around: impl FnOnce(Vec<Tree>) -> Vec<Tree>) -> Option<()> {
    let process = tree.process()?;
    let (own, inner): (Vec<_>, Vec<_>) =
        std::mem::take(&mut process.children).into_iter().partition(is_own);
    process.children = own;
    process.children.extend(around(inner));
    Some(())
}

fn beside() -> Tree {
    Tree::new(
        "process",
        &[("id", "shapeBeside"), ("isExecutable", "true")],
        vec![Tree::new("task", &[("id", "shapeBesideTask")], Vec::new())],
    )
}
