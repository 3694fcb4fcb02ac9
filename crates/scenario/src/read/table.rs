//! Every element and attribute of the extension, where it may stand, and what becomes of it.

/// An element of the extension.
#[derive(Debug)]
pub struct Word {
    /// Its name, without a prefix.
    pub name: &'static str,
    /// The elements of the extension that it may stand in; none for `extensionElements` itself.
    pub inside: &'static [&'static str],
    /// What it may belong to.
    pub on: &'static [Owner],
    /// Its attributes that are executed. Others have no effect.
    pub attributes: &'static [&'static str],
    /// What it means; nothing where it has no effect.
    pub meaning: &'static str,
}

/// What an element of the extension may belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process.
    Process,
    /// A sub-process.
    SubProcess,
    /// An event sub-process.
    EventSubProcess,
    /// A plain task.
    Task,
    /// A task with `type="Decision"`.
    DecisionTask,
    /// A task that sends or receives.
    MessageTask,
    /// An event with a message.
    MessageEvent,
    /// An event with a timer.
    TimerEvent,
    /// An event with a condition.
    ConditionalEvent,
    /// An event with a signal.
    SignalEvent,
    /// A sequence flow.
    Flow,
    /// A data object.
    DataObject,
    /// A data store.
    DataStore,
    /// Any other element.
    Other,
}

impl Owner {
    /// How the page of support calls it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::SubProcess => "sub-process",
            Self::EventSubProcess => "event sub-process",
            Self::Task => "task",
            Self::DecisionTask => "decision task",
            Self::MessageTask => "send and receive task",
            Self::MessageEvent => "message event",
            Self::TimerEvent => "timer event",
            Self::ConditionalEvent => "conditional event",
            Self::SignalEvent => "signal event",
            Self::Flow => "sequence flow",
            Self::DataObject => "data object",
            Self::DataStore => "data store",
            Self::Other => "anything",
        }
    }
}

use Owner::{
    ConditionalEvent, DataObject, DataStore, DecisionTask, EventSubProcess, Flow, MessageEvent,
    MessageTask, Process, SignalEvent, SubProcess, Task, TimerEvent,
};

const ACTIVITIES: &[Owner] = &[SubProcess, Task, DecisionTask, MessageTask];
const STATUS: &[Owner] = &[Process, SubProcess, EventSubProcess, Task, DecisionTask, MessageTask];
const CHECKED: &[Owner] = &[
    Process,
    SubProcess,
    EventSubProcess,
    Task,
    DecisionTask,
    MessageTask,
    Flow,
    ConditionalEvent,
];
const DECLARES: &[Owner] =
    &[Process, SubProcess, EventSubProcess, Task, DecisionTask, MessageTask, DataObject, DataStore];
const OPERATES: &[Owner] = &[Task, DecisionTask, MessageTask, EventSubProcess];
const MESSAGES: &[Owner] = &[MessageTask, MessageEvent];

/// All of them.
pub const WORDS: &[Word] = &[
    Word {
        name: "status",
        inside: &[],
        on: STATUS,
        attributes: &[],
        meaning: "what tokens carry there, what must hold, and what is changed",
    },
    Word {
        name: "attributes",
        inside: &["", "status"],
        on: DECLARES,
        attributes: &[],
        meaning: "status attributes in `status`, data attributes of a data object, global ones of a data store",
    },
    Word {
        name: "attribute",
        inside: &["attributes"],
        on: DECLARES,
        attributes: &["id", "name", "type", "objective", "weight"],
        meaning: "an attribute, with the formula that it is worked out by; what it counts in the objective",
    },
    Word {
        name: "restrictions",
        inside: &["", "status"],
        on: CHECKED,
        attributes: &[],
        meaning: "what must hold; the gatekeepers of a flow, the condition of an event",
    },
    Word {
        name: "restriction",
        inside: &["restrictions"],
        on: CHECKED,
        attributes: &["id", "expression", "scope"],
        meaning: "checked on entry, completion, exit, or all three and inside",
    },
    Word {
        name: "operators",
        inside: &["status"],
        on: OPERATES,
        attributes: &[],
        meaning: "assignments, in order",
    },
    Word {
        name: "operator",
        inside: &["operators"],
        on: OPERATES,
        attributes: &["id", "expression"],
        meaning: "an assignment",
    },
    Word {
        name: "decisions",
        inside: &["status"],
        on: &[DecisionTask],
        attributes: &[],
        meaning: "choices, in order",
    },
    Word {
        name: "decision",
        inside: &["decisions"],
        on: &[DecisionTask],
        attributes: &["id", "condition"],
        meaning: "what may be chosen for an attribute",
    },
    Word {
        name: "timer",
        inside: &[],
        on: &[TimerEvent],
        attributes: &[],
        meaning: "when it fires: its parameter `trigger`",
    },
    Word {
        name: "messages",
        inside: &[],
        on: &[MessageTask],
        attributes: &[],
        meaning: "a message for each copy of a multi-instance task",
    },
    Word {
        name: "message",
        inside: &["", "messages"],
        on: MESSAGES,
        attributes: &["id", "name"],
        meaning: "a message: name, header and content",
    },
    Word {
        name: "signal",
        inside: &[],
        on: &[SignalEvent],
        attributes: &["id", "name"],
        meaning: "a signal: name and content",
    },
    Word {
        name: "content",
        inside: &["message", "signal"],
        on: &[MessageTask, MessageEvent, SignalEvent],
        attributes: &["id", "key", "attribute"],
        meaning: "a value under a key, from an attribute or for one",
    },
    Word {
        name: "parameter",
        inside: &["message", "timer", "loopCharacteristics"],
        on: &[SubProcess, Task, DecisionTask, MessageTask, MessageEvent, TimerEvent],
        attributes: &["id", "name", "value"],
        meaning: "a header of a message, the time of a timer, `cardinality`, `index`, `condition` or `maximum`",
    },
    Word {
        name: "loopCharacteristics",
        inside: &[],
        on: ACTIVITIES,
        attributes: &[],
        meaning: "how often a multi-instance activity or a loop is done",
    },
    Word {
        name: "tables",
        inside: &[],
        on: &[DataStore],
        attributes: &[],
        meaning: "lookup tables",
    },
    Word {
        name: "table",
        inside: &["tables"],
        on: &[DataStore],
        attributes: &["id", "name", "source", "header"],
        meaning: "a function of all columns but the last",
    },
    Word {
        name: "guidance",
        inside: &["", "status"],
        on: &[Owner::Other],
        attributes: &[],
        meaning: "",
    },
];

/// Parameters by the element that they stand in; any in a message.
pub(super) const PARAMETERS: &[(&str, &[&str])] = &[
    ("timer", &["trigger"]),
    ("loopCharacteristics", &["cardinality", "index", "condition", "maximum"]),
];

/// Elements of BPMN that are executed inside a process.
pub(super) const EXECUTED: &[&str] = &[
    "process",
    "subProcess",
    "transaction",
    "adHocSubProcess",
    "task",
    "userTask",
    "scriptTask",
    "manualTask",
    "businessRuleTask",
    "sendTask",
    "receiveTask",
    "startEvent",
    "endEvent",
    "intermediateCatchEvent",
    "intermediateThrowEvent",
    "boundaryEvent",
    "exclusiveGateway",
    "parallelGateway",
    "eventBasedGateway",
    "sequenceFlow",
    "dataObject",
    "dataStore",
    "multiInstanceLoopCharacteristics",
    "standardLoopCharacteristics",
    "messageEventDefinition",
    "signalEventDefinition",
    "timerEventDefinition",
    "conditionalEventDefinition",
    "errorEventDefinition",
    "escalationEventDefinition",
    "compensateEventDefinition",
    "terminateEventDefinition",
    "participant",
    "messageFlow",
    "collaboration",
    "performer",
    "association",
];

/// Elements of BPMN that draw, describe or refer, and change nothing here.
pub(super) const DRAWN: &[&str] = &[
    "definitions",
    "documentation",
    "extensionElements",
    "incoming",
    "outgoing",
    "laneSet",
    "lane",
    "childLaneSet",
    "flowNodeRef",
    "textAnnotation",
    "text",
    "group",
    "category",
    "categoryValue",
    "dataObjectReference",
    "dataStoreReference",
    "dataInputAssociation",
    "dataOutputAssociation",
    "ioSpecification",
    "inputSet",
    "outputSet",
    "dataInput",
    "dataOutput",
    "dataInputRefs",
    "dataOutputRefs",
    "sourceRef",
    "targetRef",
    "property",
    "message",
    "signal",
    "error",
    "escalation",
    "itemDefinition",
    "resource",
    "resourceRef",
    "dataState",
];
