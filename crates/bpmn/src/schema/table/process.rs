//! Processes, sequence flows and gateways.

use super::{executed, idle, many, may, maybe, must, silent};
use crate::schema::{
    Content, Kind,
    Type::{Bool, OneOf, Ref, Text},
};

pub(super) const KINDS: &[Kind] = &[
    // Processes.
    silent("callableElement", "rootElement").attributes(&[may("name", Text)]).children(&[
        many("supportedInterfaceRef"),
        maybe("ioSpecification"),
        many("ioBinding"),
    ]),
    silent("supportedInterfaceRef", "").content(Content::Ref(&["interface"])),
    silent("ioBinding", "baseElement").attributes(&[
        must("operationRef", Ref(&["operation"])),
        must("inputDataRef", Ref(&["inputSet", "dataInput"])),
        must("outputDataRef", Ref(&["outputSet", "dataOutput"])),
    ]),
    executed("process", "callableElement")
        .attributes(&[
            may("processType", OneOf(&["None", "Public", "Private"])),
            idle("isClosed", Bool),
            may("isExecutable", Bool),
            idle("definitionalCollaborationRef", Ref(&["collaboration"])),
        ])
        .children(&[
            maybe("auditing"),
            maybe("monitoring"),
            many("property"),
            many("laneSet"),
            many("flowElement"),
            many("artifact"),
            many("resourceRole"),
            many("correlationSubscription"),
            many("supports"),
        ]),
    silent("supports", "").content(Content::Ref(&["process"])),
    silent("auditing", "baseElement"),
    silent("monitoring", "baseElement"),
    executed("globalTask", "callableElement")
        .children(&[many("resourceRole")])
        .note("a call activity that calls it is the task itself"),
    executed("globalBusinessRuleTask", "globalTask").attributes(&[may("implementation", Text)]),
    executed("globalManualTask", "globalTask"),
    executed("globalScriptTask", "globalTask")
        .attributes(&[may("scriptLanguage", Text)])
        .children(&[maybe("script")]),
    executed("globalUserTask", "globalTask")
        .attributes(&[idle("implementation", Text)])
        .children(&[many("rendering")]),
    silent("laneSet", "baseElement")
        .attributes(&[may("name", Text)])
        .children(&[many("lane")])
        .note("lanes say who, not what"),
    silent("lane", "baseElement")
        .attributes(&[may("name", Text), may("partitionElementRef", Text)])
        .children(&[maybe("partitionElement"), many("flowNodeRef"), maybe("childLaneSet")]),
    silent("childLaneSet", "laneSet"),
    silent("partitionElement", "baseElement"),
    silent("flowNodeRef", "").content(Content::Ref(&["flowNode"])),
    // Flow elements.
    silent("flowElement", "baseElement").attributes(&[may("name", Text)]).children(&[
        maybe("auditing"),
        maybe("monitoring"),
        many("categoryValueRef"),
    ]),
    silent("flowNode", "flowElement").children(&[many("incoming"), many("outgoing")]),
    silent("incoming", "")
        .content(Content::Ref(&["sequenceFlow"]))
        .note("sequence flows say where they lead"),
    silent("outgoing", "")
        .content(Content::Ref(&["sequenceFlow"]))
        .note("sequence flows say where they begin"),
    silent("categoryValueRef", "").content(Content::Ref(&["categoryValue"])),
    executed("sequenceFlow", "flowElement")
        .attributes(&[
            must("sourceRef", Ref(&["flowNode"])),
            must("targetRef", Ref(&["flowNode"])),
            idle("isImmediate", Bool),
        ])
        .children(&[maybe("conditionExpression")]),
    executed("conditionExpression", "expression").content(Content::Any),
    // Gateways.
    executed("gateway", "flowNode").attributes(&[may(
        "gatewayDirection",
        OneOf(&["Unspecified", "Converging", "Diverging", "Mixed"]),
    )]),
    executed("exclusiveGateway", "gateway").attributes(&[may("default", Ref(&["sequenceFlow"]))]),
    executed("inclusiveGateway", "gateway").attributes(&[may("default", Ref(&["sequenceFlow"]))]),
    executed("parallelGateway", "gateway"),
    executed("complexGateway", "gateway")
        .attributes(&[may("default", Ref(&["sequenceFlow"]))])
        .children(&[maybe("activationCondition")]),
    executed("activationCondition", "expression").content(Content::Any),
    executed("eventBasedGateway", "gateway")
        .attributes(&[
            may("instantiate", Bool),
            may("eventGatewayType", OneOf(&["Exclusive", "Parallel"])),
        ])
        .note(
            "with `instantiate` the events behind it start an instance: any of them, or, where it is \
             `Parallel`, the first one, and the instance waits for the others",
        ),
];
