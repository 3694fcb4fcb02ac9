//! Collaborations, choreographies and artifacts.

use super::{executed, idle, many, may, maybe, must, one, silent, some};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Int, OneOf, Ref, Text},
};

pub(super) const KINDS: &[Kind] = &[
    // Artifacts.
    silent("artifact", "baseElement"),
    executed("association", "artifact")
        .attributes(&[
            must("sourceRef", Ref(&["baseElement"])),
            must("targetRef", Ref(&["baseElement"])),
            idle("associationDirection", OneOf(&["None", "One", "Both"])),
        ])
        .note("executed where it leads from a compensation event to its handler"),
    silent("group", "artifact").attributes(&[may("categoryValueRef", Ref(&["categoryValue"]))]),
    silent("textAnnotation", "artifact")
        .attributes(&[may("textFormat", Text)])
        .children(&[maybe("text")]),
    silent("text", "").content(Content::Any),
    silent("category", "rootElement")
        .attributes(&[may("name", Text)])
        .children(&[many("categoryValue")]),
    silent("categoryValue", "baseElement").attributes(&[may("value", Text)]),
    // Collaborations and choreographies.
    silent("collaboration", "rootElement")
        .attributes(&[may("name", Text), may("isClosed", Bool)])
        .children(&[
            many("participant"),
            many("messageFlow"),
            many("artifact"),
            many("conversationNode"),
            many("conversationAssociation"),
            many("participantAssociation"),
            many("messageFlowAssociation"),
            many("correlationKey"),
            many("choreographyRef"),
            many("conversationLink"),
        ])
        .note("each process runs on its own; messages find each other by name, keys and message flows"),
    silent("globalConversation", "collaboration"),
    executed("participant", "baseElement")
        .attributes(&[may("name", Text), may("processRef", Ref(&["process"]))])
        .children(&[many("interfaceRef"), many("endPointRef"), maybe("participantMultiplicity")])
        .note("an end of message flows"),
    silent("participantMultiplicity", "baseElement")
        .attributes(&[may("minimum", Int(0)), may("maximum", Int(1))]),
    silent("interfaceRef", "").content(Content::Ref(&["interface"])),
    silent("endPointRef", "").content(Content::Ref(&["endPoint"])),
    executed("messageFlow", "baseElement")
        .attributes(&[
            may("name", Text),
            must("sourceRef", Ref(&["participant", "activity", "anyEvent", "conversationNode"])),
            must("targetRef", Ref(&["participant", "activity", "anyEvent", "conversationNode"])),
            may("messageRef", Ref(&["message"])),
        ])
        .note("a message that is sent along flows goes to their ends, where those are known, and nowhere else"),
    silent("participantAssociation", "baseElement")
        .children(&[one("innerParticipantRef"), one("outerParticipantRef")]),
    silent("innerParticipantRef", "").content(Content::Ref(&["participant"])),
    silent("outerParticipantRef", "").content(Content::Ref(&["participant"])),
    silent("participantRef", "").content(Content::Ref(&["participant"])),
    silent("messageFlowAssociation", "baseElement").attributes(&[
        must("innerMessageFlowRef", Ref(&["messageFlow"])),
        must("outerMessageFlowRef", Ref(&["messageFlow"])),
    ]),
    silent("messageFlowRef", "").content(Content::Ref(&["messageFlow"])),
    silent("partnerEntity", "rootElement")
        .attributes(&[may("name", Text)])
        .children(&[many("participantRef")]),
    silent("partnerRole", "rootElement")
        .attributes(&[may("name", Text)])
        .children(&[many("participantRef")]),
    silent("conversationNode", "baseElement").attributes(&[may("name", Text)]).children(&[
        many("participantRef"),
        many("messageFlowRef"),
        many("correlationKey"),
    ]),
    silent("conversation", "conversationNode"),
    silent("subConversation", "conversationNode").children(&[many("conversationNode")]),
    silent("callConversation", "conversationNode")
        .attributes(&[may("calledCollaborationRef", Ref(&["collaboration"]))])
        .children(&[many("participantAssociation")]),
    silent("conversationAssociation", "baseElement").attributes(&[
        must("innerConversationNodeRef", Ref(&["conversationNode"])),
        must("outerConversationNodeRef", Ref(&["conversationNode"])),
    ]),
    silent("conversationLink", "baseElement").attributes(&[
        may("name", Text),
        must("sourceRef", Ref(&["participant", "activity", "anyEvent", "conversationNode"])),
        must("targetRef", Ref(&["participant", "activity", "anyEvent", "conversationNode"])),
    ]),
    silent("choreographyRef", "").content(Content::Ref(&["choreography"])),
    silent("choreography", "collaboration")
        .children(&[many("flowElement")])
        .note("choreographies are not executed"),
    silent("globalChoreographyTask", "choreography")
        .attributes(&[may("initiatingParticipantRef", Ref(&["participant"]))]),
    silent("choreographyActivity", "flowNode")
        .attributes(&[
            must("initiatingParticipantRef", Ref(&["participant"])),
            may(
                "loopType",
                OneOf(&["None", "Standard", "MultiInstanceSequential", "MultiInstanceParallel"]),
            ),
        ])
        .children(&[some("participantRef"), many("correlationKey")]),
    silent("choreographyTask", "choreographyActivity").children(&[some("messageFlowRef")]),
    silent("subChoreography", "choreographyActivity")
        .children(&[many("flowElement"), many("artifact")]),
    silent("callChoreography", "choreographyActivity")
        .attributes(&[may("calledChoreographyRef", Ref(&["choreography"]))])
        .children(&[many("participantAssociation")]),
];
