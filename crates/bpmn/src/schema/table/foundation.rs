//! What everything else stands on: definitions, expressions, services, resources.

use super::{executed, idle, many, may, maybe, must, one, silent, some};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Id, OneOf, Ref, Text, Uri},
};

pub(super) const KINDS: &[Kind] = &[
    // Foundation.
    silent("baseElement", "")
        .attributes(&[may("id", Id)])
        .children(&[many("documentation"), maybe("extensionElements")]),
    silent("documentation", "")
        .attributes(&[may("id", Id), may("textFormat", Text)])
        .content(Content::Any)
        .note("for people"),
    silent("extensionElements", "")
        .content(Content::Any)
        .note("each extension is answered on its own"),
    silent("rootElement", "baseElement"),
    executed("definitions", "baseElement")
        .attributes(&[
            may("name", Text),
            must("targetNamespace", Uri),
            may("expressionLanguage", Uri),
            idle("typeLanguage", Uri),
            idle("exporter", Text),
            idle("exporterVersion", Text),
        ])
        .children(&[many("import"), many("extension"), many("rootElement"), many("relationship")]),
    silent("import", "")
        .attributes(&[must("namespace", Uri), must("location", Text), must("importType", Uri)])
        .note("files that belong together are deployed together"),
    silent("extension", "")
        .attributes(&[may("definition", Text), may("mustUnderstand", Bool)])
        .children(&[many("documentation")]),
    silent("relationship", "baseElement")
        .attributes(&[
            must("type", Text),
            may("direction", OneOf(&["None", "Forward", "Backward", "Both"])),
        ])
        .children(&[many("source"), many("target")]),
    silent("source", "").content(Content::Text),
    silent("target", "").content(Content::Text),
    executed("expression", "baseElement")
        .attributes(&[may("language", Uri), idle("evaluatesToTypeRef", Text)])
        .content(Content::Any),
    executed("formalExpression", "expression").content(Content::Any),
    silent("itemDefinition", "rootElement")
        .attributes(&[
            may("structureRef", Text),
            may("isCollection", Bool),
            may("itemKind", OneOf(&["Information", "Physical"])),
        ])
        .note("values carry their own types"),
    // Services and resources.
    silent("interface", "rootElement")
        .attributes(&[must("name", Text), may("implementationRef", Text)])
        .children(&[some("operation")])
        .note("work is done by workers, whatever interface they implement"),
    silent("operation", "baseElement")
        .attributes(&[must("name", Text), may("implementationRef", Text)])
        .children(&[one("inMessageRef"), maybe("outMessageRef"), many("errorRef")]),
    silent("inMessageRef", "").content(Content::Ref(&["message"])),
    silent("outMessageRef", "").content(Content::Ref(&["message"])),
    silent("errorRef", "").content(Content::Ref(&["error"])),
    silent("endPoint", "rootElement"),
    silent("resource", "rootElement")
        .attributes(&[must("name", Text)])
        .children(&[many("resourceParameter")]),
    silent("resourceParameter", "baseElement").attributes(&[
        may("name", Text),
        may("type", Text),
        may("isRequired", Bool),
    ]),
    silent("resourceRole", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[
            maybe("resourceRef"),
            many("resourceParameterBinding"),
            maybe("resourceAssignmentExpression"),
        ])
        .note("assignment is read from user tasks"),
    silent("performer", "resourceRole").note(
        "only the name Sequential has a meaning: the performer of sequential ad-hoc sub-processes",
    ),
    executed("humanPerformer", "performer").note("the assignee of a user task"),
    executed("potentialOwner", "humanPerformer").note("the candidates of a user task"),
    silent("resourceRef", "").content(Content::Ref(&["resource"])),
    silent("resourceParameterBinding", "baseElement")
        .attributes(&[must("parameterRef", Ref(&["resourceParameter"]))])
        .children(&[one("expression")]),
    executed("resourceAssignmentExpression", "baseElement").children(&[one("expression")]),
];
