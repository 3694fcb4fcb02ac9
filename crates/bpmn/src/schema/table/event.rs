//! Events and what they are about.

use super::{executed, idle, many, may, maybe, must, one, silent};
use crate::schema::{
    Content, Kind,
    Type::{Bool, Ref, Text},
};

pub(super) const KINDS: &[Kind] = &[
    executed("anyEvent", "flowNode").children(&[many("property")]),
    executed("catchEvent", "anyEvent").attributes(&[may("parallelMultiple", Bool)]).children(&[
        many("dataOutput"),
        many("dataOutputAssociation"),
        maybe("outputSet"),
        many("eventDefinition"),
        many("eventDefinitionRef"),
    ]),
    executed("throwEvent", "anyEvent").children(&[
        many("dataInput"),
        many("dataInputAssociation"),
        maybe("inputSet"),
        many("eventDefinition"),
        many("eventDefinitionRef"),
    ]),
    executed("startEvent", "catchEvent").attributes(&[may("isInterrupting", Bool)]),
    executed("intermediateCatchEvent", "catchEvent"),
    executed("boundaryEvent", "catchEvent")
        .attributes(&[may("cancelActivity", Bool), must("attachedToRef", Ref(&["activity"]))]),
    executed("intermediateThrowEvent", "throwEvent"),
    executed("implicitThrowEvent", "throwEvent"),
    executed("endEvent", "throwEvent"),
    executed("eventDefinition", "rootElement"),
    executed("eventDefinitionRef", "").content(Content::Ref(&["eventDefinition"])),
    executed("messageEventDefinition", "eventDefinition")
        .attributes(&[may("messageRef", Ref(&["message"]))])
        .children(&[maybe("operationRef")]),
    silent("operationRef", "").content(Content::Ref(&["operation"])),
    executed("signalEventDefinition", "eventDefinition")
        .attributes(&[may("signalRef", Ref(&["signal"]))]),
    executed("timerEventDefinition", "eventDefinition").children(&[
        maybe("timeDate"),
        maybe("timeDuration"),
        maybe("timeCycle"),
    ]),
    executed("timeDate", "expression").content(Content::Any),
    executed("timeDuration", "expression").content(Content::Any),
    executed("timeCycle", "expression").content(Content::Any).note(
        "ISO 8601, or cron: 5, 6 or 7 fields, or `@daily` and the like; `[Europe/Berlin]` behind it \
         names the time zone, which is UTC otherwise. Numbers of weekdays begin at 0 for Sunday, in \
         models for Camunda 7 at 1",
    ),
    executed("errorEventDefinition", "eventDefinition")
        .attributes(&[may("errorRef", Ref(&["error"]))]),
    executed("escalationEventDefinition", "eventDefinition")
        .attributes(&[may("escalationRef", Ref(&["escalation"]))]),
    executed("conditionalEventDefinition", "eventDefinition").children(&[one("condition")]),
    executed("condition", "expression").content(Content::Any),
    executed("compensateEventDefinition", "eventDefinition")
        .attributes(&[may("waitForCompletion", Bool), may("activityRef", Ref(&["activity"]))]),
    executed("linkEventDefinition", "eventDefinition")
        .attributes(&[must("name", Text)])
        .children(&[many("source"), maybe("target")]),
    executed("cancelEventDefinition", "eventDefinition"),
    executed("terminateEventDefinition", "eventDefinition"),
    executed("message", "rootElement")
        .attributes(&[may("name", Text), idle("itemRef", Ref(&["itemDefinition"]))]),
    executed("signal", "rootElement")
        .attributes(&[may("name", Text), idle("structureRef", Ref(&["itemDefinition"]))]),
    executed("error", "rootElement").attributes(&[
        may("name", Text),
        may("errorCode", Text),
        idle("structureRef", Ref(&["itemDefinition"])),
    ]),
    executed("escalation", "rootElement").attributes(&[
        may("name", Text),
        may("escalationCode", Text),
        idle("structureRef", Ref(&["itemDefinition"])),
    ]),
];
