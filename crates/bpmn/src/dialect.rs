//! For which engine a model was written.

use crate::{
    report::Sink,
    schema,
    xml::{Document, Node, Ns},
};

/// For which engine a model was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// For this one, or for none in particular.
    Native,
    /// For Camunda 7.
    Camunda7,
    /// For Camunda 8.
    Camunda8,
    /// For Fleans.
    Fleans,
}

impl Dialect {
    /// Whether it is one of Camunda's, in which data and conversations are drawings.
    pub(crate) fn is_camunda(self) -> bool {
        match self {
            Self::Camunda7 | Self::Camunda8 => true,
            Self::Native | Self::Fleans => false,
        }
    }

    /// The dialect a file names by what it uses; `other` where it names none.
    pub(crate) fn of(document: &Document, other: Option<Self>, sink: &Sink) -> Self {
        if is_fleans(document) {
            return Self::Fleans;
        }
        let root = document.root();
        match root.ext(&Ns::Modeler, "executionPlatform").unwrap_or_default() {
            "Camunda Cloud" => return Self::Camunda8,
            "Camunda Platform" => return Self::Camunda7,
            _ => {}
        }
        let camunda = first(document, &Ns::Camunda);
        let zeebe = first(document, &Ns::Zeebe);
        if let (Some(camunda), Some(zeebe)) = (camunda, zeebe) {
            let message = format!(
                "the model is written for two engines: it uses camunda: extensions in line {} and \
                 zeebe: extensions in line {}",
                camunda.place().line,
                zeebe.place().line
            );
            sink.error("TV0701", zeebe, message, "keep the extensions of one of them");
        }
        match (camunda, zeebe) {
            (_, Some(_)) => Self::Camunda8,
            (Some(_), None) => Self::Camunda7,
            (None, None) => {
                other.or_else(|| declares(root).then_some(Self::Camunda7)).unwrap_or(Self::Native)
            }
        }
    }
}

/// The first element that is, or has an attribute, of a namespace.
fn first<'a>(document: &'a Document, ns: &Ns) -> Option<Node<'a>> {
    // What stands at the outermost element is the modeler's, not the model's.
    document
        .nodes()
        .skip(1)
        .find(|it| it.ns() == ns || it.attributes().iter().any(|it| it.ns == *ns))
}

/// Whether it declares Camunda 7's namespace, used or not.
fn declares(root: Node<'_>) -> bool {
    root.declared().iter().any(|(_, uri)| uri == "http://camunda.org/schema/1.0/bpmn")
}

/// The namespaces of Fleans: that of its editor, and an older one.
pub(crate) const FLEANS: [&str; 2] =
    ["https://fleans.io/schema/bpmn/1.0", "http://fleans.io/schema/bpmn/fleans"];

/// Attributes that only Fleans writes on loops, without a prefix or with that of others.
const FLEANS_LOOP: &[&str] =
    &["collection", "elementVariable", "outputCollection", "outputElement"];

/// Whether something in a file was written for Fleans, whatever prefixes of others it has besides.
fn is_fleans(document: &Document) -> bool {
    let root = document.root();
    let is_ours = |uri: &str| FLEANS.contains(&uri);
    root.attr("targetNamespace").is_some_and(|it| it.starts_with("http://fleans"))
        || document.nodes().any(|it| {
            it.declared().iter().any(|(_, uri)| is_ours(uri)) || is_written_for_fleans(it)
        })
}

fn is_written_for_fleans(node: Node<'_>) -> bool {
    if *node.ns() != Ns::Bpmn {
        return false;
    }
    let has =
        |name: &str, ns: &Ns| node.attributes().iter().any(|it| it.name == name && it.ns == *ns);
    match node.name() {
        "cancelEndEvent" => true,
        "serviceTask" => has("type", &Ns::None),
        "scriptTask" => {
            let format = node.attr("scriptFormat").unwrap_or_default().trim();
            ["csharp", "c#"].iter().any(|it| format.eq_ignore_ascii_case(it))
        }
        // Ours are called otherwise, but for one of them.
        "multiInstanceLoopCharacteristics" => {
            let own = ["inputCollection", "inputDataItem", "outputDataItem"];
            let is_ours = own.iter().any(|it| has(it, &Ns::None));
            FLEANS_LOOP.iter().any(|it| has(it, &Ns::Zeebe) || has(it, &Ns::None) && !is_ours)
        }
        // Ours has such an object in JavaScript, too.
        name => {
            let language = match name {
                "script" => node.parent().and_then(|it| it.attr("scriptFormat")),
                _ => node.attr("language"),
            };
            let says = |names: &[&str]| {
                let said = language.unwrap_or_default().trim();
                names.iter().any(|it| said.eq_ignore_ascii_case(it))
            };
            (name == "script" || schema::is_a(name, "expression"))
                && node.text().contains("_context.")
                && (says(&["csharp", "c#"]) || says(&[""]) && !is_native(node))
        }
    }
}

/// Whether a file declares the namespace of our own extensions.
fn is_native(node: Node<'_>) -> bool {
    let declared = node.document().root().declared();
    declared.iter().any(|(_, uri)| Ns::of(uri) == Ns::Travertine)
}
