//! Activities and their loops.

use super::{executed, idle, many, may, maybe, one, silent};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Int, OneOf, Ref, Text, Uri},
};

pub(super) const KINDS: &[Kind] =
    &[
        executed("activity", "flowNode")
            .attributes(&[
                may("isForCompensation", Bool),
                may("startQuantity", Int(1)),
                may("completionQuantity", Int(1)),
                may("default", Ref(&["sequenceFlow"])),
            ])
            .children(&[
                maybe("ioSpecification"),
                many("property"),
                many("dataInputAssociation"),
                many("dataOutputAssociation"),
                many("resourceRole"),
                maybe("loopCharacteristics"),
            ]),
        executed("task", "activity"),
        executed("manualTask", "task").note("passes through: nobody tells the engine about it"),
        executed("serviceTask", "task")
            .attributes(&[may("implementation", Text), idle("operationRef", Ref(&["operation"]))]),
        executed("sendTask", "task").attributes(&[
            may("implementation", Text),
            may("messageRef", Ref(&["message"])),
            idle("operationRef", Ref(&["operation"])),
        ]),
        executed("receiveTask", "task").attributes(&[
            idle("implementation", Text),
            may("instantiate", Bool),
            may("messageRef", Ref(&["message"])),
            idle("operationRef", Ref(&["operation"])),
        ]),
        executed("userTask", "task")
            .attributes(&[idle("implementation", Text)])
            .children(&[many("rendering")]),
        silent("rendering", "baseElement").note("forms belong to the user interface"),
        executed("businessRuleTask", "task")
            .attributes(&[may("implementation", Text)])
            .note("makes the decision that it names; where it names none, workers do it"),
        executed("scriptTask", "task")
            .attributes(&[may("scriptFormat", Text)])
            .children(&[maybe("script")]),
        executed("script", "").content(Content::Any),
        executed("callActivity", "activity").attributes(&[may("calledElement", Text)]),
        executed("subProcess", "activity")
            .attributes(&[may("triggeredByEvent", Bool)])
            .children(&[many("laneSet"), many("flowElement"), many("artifact")]),
        executed("transaction", "subProcess")
            .attributes(&[idle("method", Uri)])
            .note("cancelled by compensation, whatever `method` says"),
        executed("adHocSubProcess", "subProcess")
            .attributes(&[
                may("cancelRemainingInstances", Bool),
                may("ordering", OneOf(&["Parallel", "Sequential"])),
            ])
            .children(&[maybe("completionCondition")]),
        executed("completionCondition", "expression").content(Content::Any),
        executed("loopCharacteristics", "baseElement"),
        executed("standardLoopCharacteristics", "loopCharacteristics")
            .attributes(&[may("testBefore", Bool), may("loopMaximum", Int(0))])
            .children(&[maybe("loopCondition")]),
        executed("loopCondition", "expression").content(Content::Any),
        executed("multiInstanceLoopCharacteristics", "loopCharacteristics")
            .attributes(&[
                may("isSequential", Bool),
                may("behavior", OneOf(&["None", "One", "All", "Complex"])),
                may("oneBehaviorEventRef", Ref(&["eventDefinition"])),
                may("noneBehaviorEventRef", Ref(&["eventDefinition"])),
                may("inputCollection", Text),
                may("inputDataItem", Text),
                may("outputCollection", Text),
                may("outputDataItem", Text),
            ])
            .children(&[
                maybe("loopCardinality"),
                maybe("loopDataInputRef"),
                maybe("loopDataOutputRef"),
                maybe("inputDataItem"),
                maybe("outputDataItem"),
                many("complexBehaviorDefinition"),
                maybe("completionCondition"),
            ]),
        executed("loopCardinality", "expression").content(Content::Any),
        executed("loopDataInputRef", "").content(Content::Text),
        executed("loopDataOutputRef", "").content(Content::Text),
        executed("inputDataItem", "dataInput"),
        executed("outputDataItem", "dataOutput"),
        executed("complexBehaviorDefinition", "baseElement")
            .children(&[one("condition"), maybe("event")]),
        executed("event", "throwEvent"),
    ];
