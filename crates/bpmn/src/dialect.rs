//! For which engine a model was written.

use crate::{
    report::Sink,
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
}

impl Dialect {
    /// The dialect a file names by what it uses; `other` where it names none.
    pub(crate) fn of(document: &Document, other: Option<Self>, sink: &Sink) -> Self {
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
