//! Checked files to a model that can be evaluated.
//!
//! Elements are listed first, so that they can require each other; then each gets its logic. Whatever
//! is wrong is reported, and something that is null stands in its place.

mod boxed;
mod graph;
mod reads;
mod table;

use std::collections::{BTreeSet, HashMap, HashSet};

use travertine_lang::feel::Names;
use travertine_value::Name;
use travertine_xml::{Node, Ns};

use crate::{
    files::Files,
    logic::{Boxed, Logic},
    model::{
        Decision, Element, ElementId, FunctionOf, Kind, Knowledge, Model, Requirement, Service,
        Undeclared,
    },
    name,
    report::Sink,
    source,
    types::{TypeId, TypeNames, Types},
};
use reads::Reads;

/// The elements that requirements lead to.
const ELEMENTS: [&str; 4] = ["inputData", "decision", "businessKnowledgeModel", "decisionService"];

/// What else may stand in a model without having an effect.
const SILENT: [&str; 12] = [
    "itemDefinition",
    "import",
    "description",
    "extensionElements",
    "knowledgeSource",
    "performanceIndicator",
    "organizationUnit",
    "elementCollection",
    "businessContextElement",
    "textAnnotation",
    "association",
    "group",
];

/// Compiles files that belong together.
pub(crate) fn compile(files: &Files<'_>, sink: &Sink) -> Model {
    let mut types = Types::new();
    let type_names = TypeNames::read(files, &mut types, sink);
    let nodes: Vec<_> = files.all.iter().flat_map(|it| elements(it.root, sink)).collect();
    let own = nodes.iter().filter(|it| files.index_of(**it) == 0).count();
    let ids = nodes.iter().enumerate().map(|(id, node)| (node.key(), id)).collect();
    let entries = entry_names(files, &types);
    let bases = (0..files.all.len()).map(|it| base_names(it, &type_names, &types, &entries));
    let bases = bases.collect();
    let titles = nodes.iter().copied().map(title).collect();
    let mut compiler =
        Compiler { files, sink, types, type_names, nodes, ids, titles, bases, file: 0 };
    compiler.check_names();
    graph::check(&compiler);
    let elements = (0..compiler.nodes.len()).map(|it| compiler.element(it)).collect();
    Model::new(compiler.types, elements, own)
}

/// The elements of a file. What the standard does not know is reported.
fn elements<'a>(root: Node<'a>, sink: &Sink) -> Vec<Node<'a>> {
    for node in root.children() {
        if *node.ns() == Ns::Dmn && !node.is_any(&ELEMENTS) && !node.is_any(&SILENT) {
            let message = format!("{} is not known and has no effect", node.title());
            sink.warn("TV2003", node, message, "");
        }
    }
    root.children().filter(|it| it.is_any(&ELEMENTS)).collect()
}

/// Names that every expression of a file can use, wherever it stands: types, and what can stand
/// behind a dot.
fn base_names(
    file: usize,
    type_names: &TypeNames<'_>,
    types: &Types,
    entries: &BTreeSet<String>,
) -> Names {
    let mut names = Names::new();
    type_names.declare(file, types, &mut names);
    for entry in entries {
        names.add_component(entry);
    }
    names
}

/// The names of the entries of all contexts that types and boxed expressions speak of.
fn entry_names(files: &Files<'_>, types: &Types) -> BTreeSet<String> {
    let nodes = files.all.iter().flat_map(|it| it.root.descendants());
    let is_entry = |node: &Node<'_>| {
        let is_variable =
            node.is("variable") && node.parent().is_some_and(|it| it.is("contextEntry"));
        is_variable || node.is_any(&["output", "column"])
    };
    nodes.filter(is_entry).map(title).chain(types.entry_names()).collect()
}

/// How messages call an element: its kind and its name.
fn called(node: Node<'_>) -> String {
    match title(node) {
        name if name.is_empty() => node.title(),
        name => format!("{} '{name}'", node.name()),
    }
}

/// The name of an element as expressions use it.
fn title(node: Node<'_>) -> String {
    let own = node.attr("name").or_else(|| node.child("variable")?.attr("name"));
    name::tidy(own.unwrap_or_default())
}

struct Compiler<'a> {
    files: &'a Files<'a>,
    sink: &'a Sink,
    types: Types,
    type_names: TypeNames<'a>,
    nodes: Vec<Node<'a>>,
    ids: HashMap<(usize, usize), ElementId>,
    /// The names of all elements.
    titles: HashSet<String>,
    /// For each file.
    bases: Vec<Names>,
    /// The file that is being compiled.
    file: usize,
}

impl<'a> Compiler<'a> {
    fn check_names(&self) {
        let mut seen = BTreeSet::new();
        for node in &self.nodes {
            let name = title(*node);
            if name.is_empty() {
                let message = format!("{} has no name", called(*node));
                self.sink.error("TV2004", *node, message, "expressions know it by its name");
            } else if !seen.insert((self.files.index_of(*node), name.clone())) {
                let message = format!("there are two elements of the name '{name}'");
                self.sink.error("TV2005", *node, message, "give one of them another name");
            }
        }
    }

    fn element(&mut self, id: ElementId) -> Element {
        let node = self.nodes[id];
        self.file = self.files.index_of(node);
        let kind = match node.name() {
            "inputData" => Kind::Input(self.variable_type(node)),
            "decision" => Kind::Decision(self.decision(node)),
            "businessKnowledgeModel" => Kind::Knowledge(self.knowledge(node)),
            _ => Kind::Service(self.service(node)),
        };
        Element { id: node.id().map(str::to_owned), name: title(node).into(), kind }
    }

    fn variable_type(&mut self, node: Node<'_>) -> TypeId {
        node.child("variable").map_or(TypeId::ANY, |it| self.type_ref(it))
    }

    fn type_ref(&mut self, node: Node<'_>) -> TypeId {
        self.type_names.attribute(node, &mut self.types, self.sink)
    }

    fn decision(&mut self, node: Node<'a>) -> Decision {
        let of = self.variable_type(node);
        let requires = self.requirements(node);
        let (logic, undeclared) = self.knowing(&requires, |this, names| {
            let mut reads = Reads::default();
            let logic = boxed::find(node).map(|it| this.boxed(it, names, of, &mut reads));
            (logic, this.undeclared(node, reads, names))
        });
        Decision { of, requires, undeclared, logic }
    }

    /// The names that are read without being declared, but for those of elements: not to require
    /// those is a mistake that we only report.
    fn undeclared(&self, node: Node<'_>, reads: Reads, names: &Names) -> Vec<Undeclared> {
        let mut undeclared = Vec::new();
        for (name, is_needed) in reads.into_names().filter(|(name, _)| !names.has_variable(name)) {
            let is_element = self.titles.contains(&*name);
            if is_element && is_needed {
                self.sink.warn(
                    "TV2006",
                    node,
                    format!(
                        "{} reads '{name}' without requiring it, so that it is null",
                        called(node)
                    ),
                    "add an informationRequirement or a knowledgeRequirement",
                );
            }
            if is_needed && !is_element && declares_inputs(node) {
                self.sink.warn(
                    "TV2007",
                    node,
                    format!("nothing declares '{name}'; {} takes it from the inputs", called(node)),
                    "add an inputData of that name and require it",
                );
            }
            if !is_element {
                undeclared.push(Undeclared { name, is_needed });
            }
        }
        undeclared
    }

    fn knowledge(&mut self, node: Node<'a>) -> Knowledge {
        let requires = self.requirements(node);
        let name: Name = title(node).into();
        let of = self.variable_type(node);
        let result = self.types.result_of(of).unwrap_or(TypeId::ANY);
        let mut function = match node.child("encapsulatedLogic") {
            Some(logic) => self.knowing(&requires, |this, names| {
                // A business knowledge model can call itself.
                names.add(&name);
                this.function(logic, &name, names, &mut Reads::default())
            }),
            None => FunctionOf {
                name,
                parameters: Vec::new(),
                result,
                body: nothing(node, format!("{} has no logic", called(node))),
            },
        };
        function.result = result;
        Knowledge { requires, function: function.into() }
    }

    fn service(&mut self, node: Node<'a>) -> Service {
        let mut inputs = self.references(node, "inputData");
        inputs.extend(self.references(node, "inputDecision"));
        let outputs = self.references(node, "outputDecision");
        if outputs.is_empty() {
            let message = format!("{} has no output decision", called(node));
            self.sink.error("TV2008", node, message, "add an outputDecision");
        }
        let of = self.variable_type(node);
        Service { result: self.types.result_of(of).unwrap_or(of), inputs, outputs }
    }

    fn requirements(&self, node: Node<'a>) -> Vec<Requirement> {
        let mut all = Vec::new();
        for requirement in node.all("informationRequirement") {
            all.extend(self.references(requirement, "requiredInput"));
            all.extend(self.references(requirement, "requiredDecision"));
        }
        for requirement in node.all("knowledgeRequirement") {
            all.extend(self.references(requirement, "requiredKnowledge"));
        }
        all
    }

    /// What the children of that name refer to. A reference that leads nowhere is reported.
    fn references(&self, node: Node<'a>, name: &str) -> Vec<Requirement> {
        let children = node.all(name).filter_map(|it| {
            let href = it.attr("href").unwrap_or_default();
            let found = self.requirement(node, href);
            if found.is_none() {
                let message = format!("{name} refers to '{href}', which does not exist");
                let help = "refer to an element by '#' and its id";
                self.sink.error("TV2009", it, message, help);
            }
            found
        });
        children.collect()
    }

    fn requirement(&self, node: Node<'a>, href: &str) -> Option<Requirement> {
        let target = self.files.resolve(self.files.index_of(node), href)?;
        let element = *self.ids.get(&target.node.key())?;
        Some(Requirement { path: target.path.into_iter().map(Name::from).collect(), element })
    }

    /// Compiles something that can use what it requires besides what the whole file can use.
    fn knowing<T>(
        &mut self,
        requires: &[Requirement],
        compile: impl FnOnce(&mut Self, &mut Names) -> T,
    ) -> T {
        let mut names = std::mem::take(&mut self.bases[self.file]);
        let outside = names.mark();
        for requirement in requires {
            requirement.declare(&title(self.nodes[requirement.element]), &mut names);
        }
        let compiled = compile(self, &mut names);
        names.back_to(outside);
        self.bases[self.file] = names;
        compiled
    }
}

/// What stands where there is no logic.
fn nothing(node: Node<'_>, reason: String) -> Boxed {
    Boxed { of: TypeId::ANY, spot: source::spot(node), logic: Logic::Nothing(reason) }
}

/// Whether whoever drew the element says which inputs it has. Modelers write none, and then a name that
/// nothing declares is no mistake.
fn declares_inputs(node: Node<'_>) -> bool {
    node.all("informationRequirement").any(|it| it.child("requiredInput").is_some())
}
