//! What a file says of itself, without compiling it.

use travertine_value::Name;
use travertine_xml::{self as xml, Node, Ns, Place};

use crate::{files::is_of_dmn, name};

/// What a file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Its id, where it has one.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The namespace that others import it by.
    pub namespace: String,
    /// The namespaces of the DMN files that it imports.
    pub imports: Vec<String>,
    /// Its decisions and decision services, in order.
    pub decisions: Vec<OutlinedDecision>,
}

/// A decision or a decision service, as its file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedDecision {
    /// Its id; its name where it has none.
    pub id: Name,
    /// What people call it.
    pub name: Name,
    /// What its author calls the version.
    pub tag: Option<Name>,
    /// Where it stands in the file, from 1.
    pub line: u32,
    /// Where in the line, from 1.
    pub column: u32,
}

/// What a file says of itself; `None` where it is no DMN model.
pub fn outline(file: &str, bytes: &[u8]) -> Option<Outline> {
    let document = xml::read(Ns::Dmn, file, bytes).ok()?;
    let root = document.root();
    if *root.ns() != Ns::Dmn || !root.is("definitions") {
        return None;
    }
    let imports = root.all("import").filter(|it| is_of_dmn(*it));
    let decisions = root.children().filter(|it| it.is_any(&["decision", "decisionService"]));
    Some(Outline {
        id: root.id().unwrap_or_default().to_owned(),
        name: name::tidy(root.attr("name").unwrap_or_default()),
        namespace: root.attr("namespace").unwrap_or_default().to_owned(),
        imports: imports.filter_map(|it| it.attr("namespace")).map(str::to_owned).collect(),
        decisions: decisions.map(decision).collect(),
    })
}

fn decision(node: Node<'_>) -> OutlinedDecision {
    let title = name::tidy(node.attr("name").unwrap_or_default());
    let id = node.id().filter(|it| !it.is_empty()).unwrap_or(&title);
    let Place { line, column } = node.place();
    OutlinedDecision { id: id.into(), name: title.as_str().into(), tag: tag(node), line, column }
}

/// What the author calls the version: our own word for it, Camunda 7's, and Camunda 8's.
fn tag(node: Node<'_>) -> Option<Name> {
    let element = node.extensions(&Ns::Zeebe, "versionTag").next();
    let tag = node
        .ext(&Ns::Travertine, "versionTag")
        .or_else(|| node.ext(&Ns::Camunda, "versionTag"))
        .or_else(|| element?.attr("value"));
    tag.filter(|it| !it.is_empty()).map(Name::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_decisions_its_tags_and_what_it_imports() {
        let xml = r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" namespace="urn:a"
                xmlns:camunda="http://camunda.org/schema/1.0/dmn"
                xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" name="a">
            <import namespace="urn:b" name="b" importType="https://www.omg.org/spec/DMN/20191111/MODEL/"/>
            <import namespace="urn:p" name="p" importType="http://www.dmg.org/PMML-4_1"/>
            <decision id="one" name="First  one" camunda:versionTag="v1"/>
            <decision name="second"><extensionElements><zeebe:versionTag value="v2"/></extensionElements>
            </decision>
            <decisionService id="three" name="third"/>
            <businessKnowledgeModel id="four" name="fourth"/></definitions>"#;
        let found = outline("a.dmn", xml.as_bytes()).expect("it is DMN");
        let decisions: Vec<(&str, &str, Option<&str>)> =
            found.decisions.iter().map(|it| (&*it.id, &*it.name, it.tag.as_deref())).collect();
        let expected = [
            ("one", "First one", Some("v1")),
            ("second", "second", Some("v2")),
            ("three", "third", None),
        ];
        assert_eq!(decisions, expected);
        assert_eq!(
            (found.namespace.as_str(), &found.imports[..]),
            ("urn:a", &["urn:b".to_owned()][..])
        );
        let bpmn = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"/>"#;
        assert_eq!(outline("a.bpmn", bpmn.as_bytes()), None);
        assert_eq!(outline("a.dmn", b"no xml"), None);
    }
}
