//! Data and correlation.

use super::{executed, idle, many, may, maybe, must, one, silent, some};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Int, Ref, Text},
};

pub(super) const KINDS: &[Kind] = &[
    // Data.
    executed("dataObject", "flowElement")
        .attributes(&[idle("itemSubjectRef", Ref(&["itemDefinition"])), idle("isCollection", Bool)])
        .children(&[maybe("dataState")])
        .note("a variable of the scope it lies in; `tv:value` gives it its first value"),
    executed("dataObjectReference", "flowElement")
        .attributes(&[
            idle("itemSubjectRef", Ref(&["itemDefinition"])),
            may("dataObjectRef", Ref(&["dataObject"])),
        ])
        .children(&[maybe("dataState")])
        .note("stands for its data object"),
    silent("dataStoreReference", "flowElement")
        .attributes(&[
            may("itemSubjectRef", Ref(&["itemDefinition"])),
            may("dataStoreRef", Ref(&["dataStore"])),
        ])
        .children(&[maybe("dataState")])
        .note("an association with it copies nothing, with a warning: let a worker use the store"),
    silent("dataStore", "rootElement")
        .attributes(&[
            may("name", Text),
            may("capacity", Int(0)),
            may("isUnlimited", Bool),
            may("itemSubjectRef", Ref(&["itemDefinition"])),
        ])
        .children(&[maybe("dataState")])
        .note("lies outside of instances, where workers reach it"),
    silent("dataState", "baseElement").attributes(&[may("name", Text)]).note("for people"),
    executed("property", "baseElement")
        .attributes(&[may("name", Text), idle("itemSubjectRef", Ref(&["itemDefinition"]))])
        .children(&[maybe("dataState")])
        .note("a variable of its process or activity; `tv:value` gives it its first value"),
    executed("ioSpecification", "baseElement")
        .children(&[many("dataInput"), many("dataOutput"), some("inputSet"), some("outputSet")])
        .note("that of a process says which variables it has, and is not enforced"),
    executed("dataInput", "baseElement")
        .attributes(&[
            may("name", Text),
            idle("itemSubjectRef", Ref(&["itemDefinition"])),
            idle("isCollection", Bool),
        ])
        .children(&[maybe("dataState")]),
    executed("dataOutput", "baseElement")
        .attributes(&[
            may("name", Text),
            idle("itemSubjectRef", Ref(&["itemDefinition"])),
            idle("isCollection", Bool),
        ])
        .children(&[maybe("dataState")]),
    executed("inputSet", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[
            many("dataInputRefs"),
            many("optionalInputRefs"),
            many("whileExecutingInputRefs"),
            many("outputSetRefs"),
        ])
        .note("the activity begins once all that feeds the required inputs of one set is there"),
    silent("outputSet", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[
            many("dataOutputRefs"),
            many("optionalOutputRefs"),
            many("whileExecutingOutputRefs"),
            many("inputSetRefs"),
        ])
        .note("what was produced is copied, and nothing must be"),
    executed("dataInputRefs", "").content(Content::Ref(&["dataInput"])),
    executed("optionalInputRefs", "").content(Content::Ref(&["dataInput"])),
    executed("whileExecutingInputRefs", "").content(Content::Ref(&["dataInput"])),
    silent("outputSetRefs", "").content(Content::Ref(&["outputSet"])),
    silent("dataOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("optionalOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("whileExecutingOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("inputSetRefs", "").content(Content::Ref(&["inputSet"])),
    executed("dataAssociation", "baseElement").children(&[
        many("sourceRef"),
        one("targetRef"),
        maybe("transformation"),
        many("assignment"),
    ]),
    executed("dataInputAssociation", "dataAssociation").note("copies before the activity begins"),
    executed("dataOutputAssociation", "dataAssociation")
        .note("copies after it has ended what is not null"),
    executed("sourceRef", "").content(Content::Ref(&[
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "property",
        "dataInput",
        "dataOutput",
    ])),
    executed("targetRef", "").content(Content::Ref(&[
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "property",
        "dataInput",
        "dataOutput",
    ])),
    executed("transformation", "expression").content(Content::Any),
    executed("assignment", "baseElement")
        .children(&[one("from"), one("to")])
        .note("`to` is the target, or the path of a field of it"),
    executed("from", "expression").content(Content::Any),
    executed("to", "expression").content(Content::Any),
    // Correlation.
    executed("correlationProperty", "rootElement")
        .attributes(&[may("name", Text), idle("type", Ref(&["itemDefinition"]))])
        .children(&[some("correlationPropertyRetrievalExpression")]),
    executed("correlationPropertyRetrievalExpression", "baseElement")
        .attributes(&[must("messageRef", Ref(&["message"]))])
        .children(&[one("messagePath")]),
    executed("messagePath", "expression")
        .content(Content::Any)
        .note("sees what goes with the message, and nothing else"),
    executed("correlationKey", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[many("correlationPropertyRef")])
        .note("the first message of a conversation sets it, and later ones must agree"),
    executed("correlationPropertyRef", "").content(Content::Ref(&["correlationProperty"])),
    executed("correlationSubscription", "baseElement")
        .attributes(&[must("correlationKeyRef", Ref(&["correlationKey"]))])
        .children(&[many("correlationPropertyBinding")])
        .note("worked out when the process begins to wait for the message"),
    executed("correlationPropertyBinding", "baseElement")
        .attributes(&[must("correlationPropertyRef", Ref(&["correlationProperty"]))])
        .children(&[one("dataPath")]),
    executed("dataPath", "expression").content(Content::Any),
];
