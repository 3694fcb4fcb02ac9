//! Rules about what a file names by text that its schema takes for any text: imports, implementations,
//! types, links, what is called.

use std::collections::HashSet;

use crate::{
    dialect::Dialect,
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns, local_part},
};

/// The namespace of BPMN, as imports name it.
const BPMN: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";

/// The namespaces of the types that XML Schema and FEEL have by themselves, which nobody needs to import.
const BUILT_IN: &[&str] = &[
    "http://www.w3.org/2001/XMLSchema",
    "http://www.omg.org/spec/FEEL/20140401",
    "http://www.omg.org/spec/DMN/20180521/FEEL/",
    "https://www.omg.org/spec/DMN/20191111/FEEL/",
    "https://www.omg.org/spec/DMN/20211108/FEEL/",
    "https://www.omg.org/spec/DMN/20230324/FEEL/",
    "https://www.omg.org/spec/DMN/20240513/FEEL/",
];

/// What names in a file can mean.
struct Names<'a, 'f> {
    files: &'f Files<'a>,
    sink: &'f Sink,
    /// The namespaces that the file imports.
    imported: HashSet<&'a str>,
}

impl Names<'_, '_> {
    /// Whether a prefix stands for the file itself, another that is read with it, or one that it imports.
    fn is_imported(&self, node: Node<'_>, prefix: &str) -> bool {
        let namespace = node.namespace(prefix);
        namespace.is_some_and(|it| self.files.has_namespace(it) || self.imported.contains(it))
    }
}

/// Checks everything in a file.
pub(super) fn check<'a>(root: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let imports = root.all("import").filter_map(|it| it.attr("namespace").map(str::trim));
    let names = Names { files, sink, imported: imports.collect() };
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn) {
        match node.name() {
            "import" => import(node, files, sink),
            "callActivity" => called(node, &names),
            "interface" | "operation" => named(node, "implementationRef", &names),
            "itemDefinition" => structure(node, &names),
            "resourceParameter" => typed(node, "type", &names),
            "lane" => named(node, "partitionElementRef", &names),
            "linkEventDefinition" => link(node, files, sink),
            name if schema::is_a(name, "expression") => {
                typed(node, "evaluatesToTypeRef", &names);
            }
            name if schema::is_a(name, "resourceRole") => parameters(node, files, sink),
            _ => {}
        }
    }
}

/// An import of BPMN means a file that is read together with this one.
fn import<'a>(import: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let location = import.attr("location").unwrap_or_default().trim();
    let namespace = import.attr("namespace").unwrap_or_default().trim();
    if location.is_empty() || !schema::is_uri(location) {
        let message = format!("the location '{location}' of an import is no URI");
        sink.warn("TV0307", import, message, "name the file");
        return;
    }
    if import.attr("importType").map(str::trim) != Some(BPMN) {
        return;
    }
    let name = last_part(location);
    let found = files.documents.iter().find(|(it, _)| last_part(&it.file) == name);
    match found {
        None => {
            let message = format!("the file '{location}' is imported, but is not among these");
            sink.warn("TV0307", import, message, "deploy it together with this one");
        }
        Some((it, _)) if it.root().attr("targetNamespace") != Some(namespace) => {
            let message = format!("'{location}' is imported as '{namespace}', which it is not");
            sink.warn("TV0307", import, message, "write its targetNamespace");
        }
        Some(_) => {}
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a call activity calls is a process or a global task, of this file or of one that is imported.
fn called<'a>(call: Node<'a>, names: &Names<'a, '_>) {
    let Names { files, sink, .. } = names;
    let Some(text) = call.attr("calledElement").map(str::trim) else { return };
    let is_expression = text.contains("${") || text.contains("#{") || text.starts_with('=');
    if is_expression {
        return;
    }
    let found = files.callable(call);
    if found.is_some_and(|it| Files::is_prefix_of(call, text, it)) {
        return;
    }
    if let Some((prefix, _)) = text.split_once(':')
        && !names.is_imported(call, prefix)
    {
        let message = format!("{} calls '{text}', whose namespace is not imported", call.title());
        sink.warn("TV0436", call, message, "import the file that it lies in");
    } else if let Some(other) = call.document().by_id(local_part(text)) {
        let message = format!("{} calls {}, which cannot be called", call.title(), other.title());
        sink.warn("TV0437", call, message, "call a process or a global task");
    } else if found.is_none() && files.dialect(call) == Dialect::Native && !text.is_empty() {
        let message = format!("{} calls '{text}', which is in none of these files", call.title());
        let help = "give the file that it lies in, too, unless it is deployed already";
        sink.warn("TV0437", call, message, help);
    }
}

/// What is named without a foreign prefix is an element of these files.
fn named<'a>(node: Node<'a>, attribute: &str, names: &Names<'a, '_>) {
    let Names { files, sink, .. } = names;
    let Some(text) = node.attr(attribute).map(str::trim) else { return };
    if prefixed(node, attribute, names) || text.starts_with("##") || is_address(text) {
        return;
    }
    if files.resolve(node, text).is_none() {
        let message = format!("{attribute} of {} is '{text}', which is nowhere", node.title());
        sink.warn("TV0305", node, message, "correct it, or give it the prefix of what is imported");
    }
}

/// A type that is not of another namespace is an item definition.
fn typed<'a>(node: Node<'a>, attribute: &str, names: &Names<'a, '_>) {
    let Names { files, sink, .. } = names;
    named(node, attribute, names);
    let Some(text) = node.attr(attribute) else { return };
    let is_meant = |it: &Node<'a>| Files::is_prefix_of(node, text, *it);
    let found = files.resolve(node, text).filter(is_meant);
    if let Some(found) = found.filter(|it| !it.is("itemDefinition")) {
        let message = format!(
            "{attribute} of {} means the {}, which is no type",
            node.title(),
            found.title()
        );
        sink.warn("TV0305", node, message, "name an item definition");
    }
}

/// What an item definition names in the namespace of these files is there. A name without a prefix is for
/// people, or for a language that knows it.
fn structure<'a>(item: Node<'a>, names: &Names<'a, '_>) {
    let Names { files, sink, .. } = names;
    let Some(text) = item.attr("structureRef").map(str::trim) else { return };
    let Some((prefix, _)) = text.split_once(':') else { return };
    let is_imported = item.namespace(prefix).is_some_and(|it| names.imported.contains(it));
    if prefixed(item, "structureRef", names) || is_imported {
        return;
    }
    if files.resolve(item, text).is_none() {
        let message = format!("structureRef of {} is '{text}', which is nowhere", item.title());
        sink.warn("TV0305", item, message, "correct it, or import what it lies in");
    }
}

/// Whether an attribute has a prefix of what is not among these files; one that nothing declares or imports
/// is reported.
fn prefixed(node: Node<'_>, attribute: &str, names: &Names<'_, '_>) -> bool {
    let Names { files, sink, imported } = names;
    let Some(text) = node.attr(attribute).map(str::trim) else { return false };
    let Some((prefix, rest)) = text.split_once(':') else { return false };
    if is_address(text) || rest.contains(['/', ':', '#']) {
        return true;
    }
    if let Some(namespace) = node.namespace(prefix) {
        if files.has_namespace(namespace) {
            return false;
        }
        if !BUILT_IN.contains(&namespace) && !imported.contains(namespace) {
            let message = format!(
                "{attribute} of {} is '{text}', whose namespace is not imported",
                node.title()
            );
            sink.warn("TV0305", node, message, "import it, or correct the prefix");
        }
        return true;
    }
    let message =
        format!("{attribute} of {} is '{text}', but nothing declares the prefix", node.title());
    sink.warn("TV0305", node, message, "declare the prefix as a namespace");
    true
}

/// Whether it is the address of something rather than a name with a prefix.
fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("urn:") || text.starts_with("java:")
}

/// Where a link says what it leads to, that is a link.
fn link<'a>(definition: Node<'a>, files: &Files<'a>, sink: &Sink) {
    for end in definition.children().filter(|it| it.is_any(&["source", "target"])) {
        let text = end.text().trim();
        let found = files.resolve(end, text);
        let is_link = |it: Node<'a>| {
            it.is("linkEventDefinition") || files.definition(it, "linkEventDefinition").is_some()
        };
        let is_meant = |it: &Node<'a>| Files::is_prefix_of(end, text, *it);
        if !text.is_empty() && !found.filter(is_meant).is_some_and(is_link) {
            let message = format!("{} of a link is '{text}', which is no link", end.name());
            sink.warn("TV0305", end, message, "correct it, or leave it to the link's name");
        }
    }
}

/// What a role gives its resource is a parameter of that resource.
fn parameters<'a>(role: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let resource =
        role.child("resourceRef").and_then(|it| files.resolve_as(it, it.text(), "resource"));
    for binding in role.all("resourceParameterBinding") {
        let Some(reference) = binding.attr("parameterRef") else { continue };
        let Some(parameter) = files.resolve_as(binding, reference, "resourceParameter") else {
            continue;
        };
        if parameter.parent() != resource {
            let message = format!("{} is no parameter of the resource", parameter.title());
            sink.warn("TV0943", binding, message, "name a parameter of the resource of the role");
        }
    }
    let Some(resource) = resource else { return };
    let required = |it: &Node<'a>| crate::lower::is_true(*it, "isRequired", false);
    for parameter in resource.all("resourceParameter").filter(required) {
        let is_bound = role.all("resourceParameterBinding").any(|it| {
            let target = it.attr("parameterRef").and_then(|id| files.resolve(it, id));
            target == Some(parameter)
        });
        if !is_bound {
            let message = format!("{} gets nothing for {}", resource.title(), parameter.title());
            sink.warn("TV0943", role, message, "add a resourceParameterBinding");
        }
    }
}
