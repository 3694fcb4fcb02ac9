//! The namespaces we know.

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ns {
    /// No namespace at all.
    None,
    /// BPMN itself.
    Bpmn,
    /// DMN itself, in any of its versions.
    Dmn,
    /// Our own extensions.
    Travertine,
    /// Camunda 7, Activiti from which it came, or Flowable, which came from there too.
    Camunda,
    /// Camunda 8.
    Zeebe,
    /// What the Camunda Modeler says about the model.
    Modeler,
    /// XML Schema's instance attributes, such as `xsi:type`.
    Xsi,
    /// Diagrams, colours and other things of tools that say nothing about execution.
    Tool,
    /// Any other.
    Other(String),
}

/// The namespace of our own extensions.
const TRAVERTINE: &str = "urn:travertine:bpmn:1";

const KNOWN: &[(&str, Ns)] = &[
    ("http://www.omg.org/spec/BPMN/20100524/MODEL", Ns::Bpmn),
    ("http://www.omg.org/spec/DMN/20130901", Ns::Dmn),
    ("http://www.omg.org/spec/DMN/20151101/dmn.xsd", Ns::Dmn),
    ("http://www.omg.org/spec/DMN/20151101/dmn11.xsd", Ns::Dmn),
    ("http://www.omg.org/spec/DMN/20180521/MODEL/", Ns::Dmn),
    ("https://www.omg.org/spec/DMN/20191111/MODEL/", Ns::Dmn),
    ("https://www.omg.org/spec/DMN/20211108/MODEL/", Ns::Dmn),
    ("https://www.omg.org/spec/DMN/20230324/MODEL/", Ns::Dmn),
    (TRAVERTINE, Ns::Travertine),
    ("http://camunda.org/schema/1.0/bpmn", Ns::Camunda),
    ("http://camunda.org/schema/1.0/dmn", Ns::Camunda),
    ("http://activiti.org/bpmn", Ns::Camunda),
    ("http://www.activiti.org/bpmn", Ns::Camunda),
    ("http://flowable.org/bpmn", Ns::Camunda),
    ("http://camunda.org/schema/zeebe/1.0", Ns::Zeebe),
    ("http://camunda.org/schema/modeler/1.0", Ns::Modeler),
    ("http://www.w3.org/2001/XMLSchema-instance", Ns::Xsi),
    ("http://www.w3.org/XML/1998/namespace", Ns::Tool),
    ("http://www.omg.org/spec/BPMN/20100524/DI", Ns::Tool),
    ("http://www.omg.org/spec/DD/20100524/DI", Ns::Tool),
    ("http://www.omg.org/spec/DD/20100524/DC", Ns::Tool),
    ("http://bpmn.io/schema/bpmn/biocolor/1.0", Ns::Tool),
    ("http://www.omg.org/spec/BPMN/non-normative/color/1.0", Ns::Tool),
    ("http://www.omg.org/spec/BPMN/non-normative/extendedColor/1.0", Ns::Tool),
    ("http://www.signavio.com", Ns::Tool),
    ("http://bpmn.io/schema/bpmn", Ns::Tool),
    ("http://www.trisotech.com/2015/triso/modeling", Ns::Tool),
];

impl Ns {
    /// The namespace with that URI.
    pub fn of(uri: &str) -> Self {
        if uri.is_empty() {
            return Self::None;
        }
        KNOWN
            .iter()
            .find(|(known, _)| *known == uri)
            .map_or_else(|| Self::Other(uri.to_owned()), |(_, ns)| ns.clone())
    }

    /// The prefix under which people know it.
    pub fn prefix(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bpmn => "bpmn:",
            Self::Dmn => "dmn:",
            Self::Travertine => "tv:",
            Self::Camunda => "camunda:",
            Self::Zeebe => "zeebe:",
            Self::Modeler => "modeler:",
            Self::Xsi => "xsi:",
            Self::Tool => "tool:",
            Self::Other(_) => "other:",
        }
    }
}

/// A name for people in one line: modelers write line breaks into names, for their pictures.
pub fn one_line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A `QName` without its prefix.
pub fn local_part(qname: &str) -> &str {
    qname.rsplit_once(':').map_or(qname, |(_, local)| local)
}
