//! Data and correlation.

use super::{many, may, maybe, must, one, silent, some};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Int, Ref, Text},
};

pub(super) const KINDS: &[Kind] = &[
    // Data.
    silent("dataObject", "flowElement")
        .attributes(&[may("itemSubjectRef", Ref(&["itemDefinition"])), may("isCollection", Bool)])
        .children(&[maybe("dataState")])
        .note("variables need no declaration"),
    silent("dataObjectReference", "flowElement")
        .attributes(&[
            may("itemSubjectRef", Ref(&["itemDefinition"])),
            may("dataObjectRef", Ref(&["dataObject"])),
        ])
        .children(&[maybe("dataState")]),
    silent("dataStoreReference", "flowElement")
        .attributes(&[
            may("itemSubjectRef", Ref(&["itemDefinition"])),
            may("dataStoreRef", Ref(&["dataStore"])),
        ])
        .children(&[maybe("dataState")]),
    silent("dataStore", "rootElement")
        .attributes(&[
            may("name", Text),
            may("capacity", Int(0)),
            may("isUnlimited", Bool),
            may("itemSubjectRef", Ref(&["itemDefinition"])),
        ])
        .children(&[maybe("dataState")]),
    silent("dataState", "baseElement").attributes(&[may("name", Text)]),
    silent("property", "baseElement")
        .attributes(&[may("name", Text), may("itemSubjectRef", Ref(&["itemDefinition"]))])
        .children(&[maybe("dataState")])
        .note("variables need no declaration"),
    silent("ioSpecification", "baseElement")
        .children(&[many("dataInput"), many("dataOutput"), some("inputSet"), some("outputSet")])
        .note("variables are read from the scopes around the activity"),
    silent("dataInput", "baseElement")
        .attributes(&[
            may("name", Text),
            may("itemSubjectRef", Ref(&["itemDefinition"])),
            may("isCollection", Bool),
        ])
        .children(&[maybe("dataState")]),
    silent("dataOutput", "baseElement")
        .attributes(&[
            may("name", Text),
            may("itemSubjectRef", Ref(&["itemDefinition"])),
            may("isCollection", Bool),
        ])
        .children(&[maybe("dataState")]),
    silent("inputSet", "baseElement").attributes(&[may("name", Text)]).children(&[
        many("dataInputRefs"),
        many("optionalInputRefs"),
        many("whileExecutingInputRefs"),
        many("outputSetRefs"),
    ]),
    silent("outputSet", "baseElement").attributes(&[may("name", Text)]).children(&[
        many("dataOutputRefs"),
        many("optionalOutputRefs"),
        many("whileExecutingOutputRefs"),
        many("inputSetRefs"),
    ]),
    silent("dataInputRefs", "").content(Content::Ref(&["dataInput"])),
    silent("optionalInputRefs", "").content(Content::Ref(&["dataInput"])),
    silent("whileExecutingInputRefs", "").content(Content::Ref(&["dataInput"])),
    silent("outputSetRefs", "").content(Content::Ref(&["outputSet"])),
    silent("dataOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("optionalOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("whileExecutingOutputRefs", "").content(Content::Ref(&["dataOutput"])),
    silent("inputSetRefs", "").content(Content::Ref(&["inputSet"])),
    silent("dataAssociation", "baseElement").children(&[
        many("sourceRef"),
        one("targetRef"),
        maybe("transformation"),
        many("assignment"),
    ]),
    silent("dataInputAssociation", "dataAssociation").note("mappings are written as extensions"),
    silent("dataOutputAssociation", "dataAssociation").note("mappings are written as extensions"),
    silent("sourceRef", "").content(Content::Ref(&[
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "property",
        "dataInput",
        "dataOutput",
    ])),
    silent("targetRef", "").content(Content::Ref(&[
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "property",
        "dataInput",
        "dataOutput",
    ])),
    silent("transformation", "expression").content(Content::Any),
    silent("assignment", "baseElement").children(&[one("from"), one("to")]),
    silent("from", "expression").content(Content::Any),
    silent("to", "expression").content(Content::Any),
    // Correlation.
    silent("correlationProperty", "rootElement")
        .attributes(&[may("name", Text), may("type", Ref(&["itemDefinition"]))])
        .children(&[some("correlationPropertyRetrievalExpression")])
        .note("correlation is written as an extension"),
    silent("correlationPropertyRetrievalExpression", "baseElement")
        .attributes(&[must("messageRef", Ref(&["message"]))])
        .children(&[one("messagePath")]),
    silent("messagePath", "expression").content(Content::Any),
    silent("correlationKey", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[many("correlationPropertyRef")]),
    silent("correlationPropertyRef", "").content(Content::Ref(&["correlationProperty"])),
    silent("correlationSubscription", "baseElement")
        .attributes(&[must("correlationKeyRef", Ref(&["correlationKey"]))])
        .children(&[many("correlationPropertyBinding")]),
    silent("correlationPropertyBinding", "baseElement")
        .attributes(&[must("correlationPropertyRef", Ref(&["correlationProperty"]))])
        .children(&[one("dataPath")]),
    silent("dataPath", "expression").content(Content::Any),
];
