//! What becomes of the extensions we know: our own, Camunda 7's and Camunda 8's.
//!
//! Whether one is executed is found out by lowering, which marks what it honours; these tables are
//! what the documentation says about it, and tests compare the two.

use crate::xml::Ns;

/// An extension that is executed: its kind as answers call it, where it stands, what it does.
pub(crate) type Executed = (&'static str, &'static str, &'static str);

/// Our own. `docs/extensions.md` has an example of each.
pub(crate) const NATIVE: &[Executed] = &[
    ("@tv:write", "process", "where a write goes"),
    ("@tv:scopeOutput", "process", "what of a sub-process its parent sees"),
    ("@tv:unhandledError", "process", "what becomes of an error nobody catches"),
    ("@tv:compensateOnError", "process", "which failing scopes undo what they did"),
    ("@tv:stepLimit", "process", "how many steps an instance may take"),
    ("@tv:tokenLimit", "process", "how many tokens an instance may have at a time"),
    ("@tv:dataLimit", "process", "how many bytes its variables may have in all"),
    ("@tv:startLimit", "process", "how many instances may begin in a second by themselves"),
    ("@tv:versionTag", "process", "what the version is called; calls can be bound to it"),
    ("tv:status", "process", "the attributes that every token carries"),
    ("tv:attribute", "tv:status", "one of them, with its first value"),
    ("tv:input", "flow nodes", "a variable made on entry"),
    ("tv:output", "flow nodes", "a variable written on exit"),
    ("tv:value", "data objects and properties", "the first value"),
    ("tv:operator", "processes and flow nodes", "changes the status of a token"),
    ("tv:restriction", "processes and flow nodes", "what the status must keep"),
    ("tv:listener", "processes and flow nodes", "a job or script called around its work"),
    ("@tv:gate", "activities", "points at which a decision from outside is awaited"),
    ("@tv:jobType", "service, send, business rule and script tasks", "which workers do it"),
    ("@tv:retries", "the same", "how often it may fail"),
    ("@tv:limit", "the same", "the limit that it keeps: a class, or a class and a key"),
    ("tv:header", "tasks", "something for workers to read"),
    ("@tv:assignee", "user tasks", "who does it"),
    ("@tv:candidateUsers", "user tasks", "who may do it"),
    ("@tv:candidateGroups", "user tasks", "which groups may do it"),
    ("@tv:dueDate", "user tasks", "until when"),
    ("@tv:followUpDate", "user tasks", "when to look again"),
    ("@tv:priority", "tasks that someone does", "how pressing it is"),
    ("@tv:form", "user tasks", "the form to show"),
    (
        "@tv:resultVariable",
        "script and business rule tasks",
        "takes the value of the script or the decision",
    ),
    ("@tv:decisionRef", "business rule tasks", "the decision that is made, by id or name"),
    ("@tv:decision", "plain tasks", "the task waits for a choice"),
    ("tv:correlation", "messages, and what sends or receives them", "a property that must match"),
    ("tv:payload", "throw events and send tasks", "what goes with a message or signal"),
    ("tv:message", "multi-instance send and receive tasks", "the message of one run"),
    ("@tv:codeVariable", "error and escalation definitions", "takes the code"),
    ("@tv:messageVariable", "error definitions", "takes the message"),
    ("@tv:variables", "conditional definitions", "the variables worth a look"),
    (
        "@tv:changes",
        "conditional definitions",
        "which of their changes are: `create`, `update`, `delete`",
    ),
    ("@tv:collection", "multi-instance", "what it runs for"),
    ("@tv:elementVariable", "multi-instance", "takes the item"),
    ("@tv:outputCollection", "multi-instance", "takes the results"),
    ("@tv:outputElement", "multi-instance", "what each run adds to them"),
    ("@tv:loopIndex", "multi-instance", "counts from 1"),
    ("@tv:onEmpty", "multi-instance", "what becomes of nothing to do"),
    ("@tv:batchSize", "multi-instance", "slices of so many items"),
    ("@tv:parallelBatches", "multi-instance", "how many slices run at a time"),
    ("@tv:gosub", "call activities", "runs the process within this instance"),
    ("@tv:binding", "call activities and business rule tasks", "which version is meant"),
    ("@tv:allIn", "call activities", "whether all variables go in"),
    ("@tv:allOut", "call activities", "whether all variables come back"),
    ("@tv:fork", "parallel and inclusive gateways", "gives branches variables of their own"),
    ("@tv:merge", "parallel and inclusive gateways", "how they become one again"),
    ("@tv:path", "gateways with `tv:merge`", "the list that takes the branches"),
];

/// Camunda 7's.
pub(crate) const CAMUNDA7: &[Executed] = &[
    (
        "@camunda:type",
        "service, send and business rule tasks, message events",
        "`external`, or `external-worker` of Flowable: a job of the topic; anything else, such as `mail`: a job \
         of that type, with a warning",
    ),
    ("@camunda:topic", "the same", "the type of the job"),
    ("@camunda:expression", "the same", "evaluated in place"),
    ("@camunda:resultVariable", "the same, and script tasks", "takes the value"),
    ("@camunda:class", "the same", "a job of that type, with a warning"),
    ("@camunda:delegateExpression", "the same", "a job of that type, with a warning"),
    (
        "@camunda:decisionRef",
        "business rule tasks",
        "the decision that is made, by id or name; DMN files are deployed with the model or apart from it",
    ),
    (
        "@camunda:decisionRefBinding",
        "business rule tasks",
        "which version is made: `latest` when the task is entered, `deployment`, `version`, `versionTag`",
    ),
    ("@camunda:decisionRefVersion", "business rule tasks", "the number of the version"),
    ("@camunda:decisionRefVersionTag", "business rule tasks", "the tag of the version"),
    (
        "@camunda:mapDecisionResult",
        "business rule tasks",
        "`resultList` gives a list, anything else the result",
    ),
    ("@camunda:assignee", "user tasks", "who does it"),
    ("@camunda:candidateUsers", "user tasks", "who may do it"),
    ("@camunda:candidateGroups", "user tasks", "which groups may do it"),
    ("@camunda:dueDate", "user tasks", "until when"),
    ("@camunda:followUpDate", "user tasks", "when to look again"),
    ("@camunda:priority", "user tasks", "how pressing it is"),
    ("@camunda:formKey", "user tasks", "the form to show"),
    ("@camunda:formRef", "user tasks", "the form to show"),
    ("@camunda:collection", "multi-instance", "what it runs for"),
    ("@camunda:elementVariable", "multi-instance", "takes the item"),
    ("@camunda:calledElementBinding", "call activities", "which version is called"),
    ("@camunda:calledElementVersion", "call activities", "the number of the version"),
    ("@camunda:calledElementVersionTag", "call activities", "the tag of the version"),
    ("@camunda:versionTag", "process", "what the version is called; calls can be bound to it"),
    (
        "@camunda:initiator",
        "start events",
        "the variable that says who started the instance: what is given along, else null",
    ),
    ("@camunda:variableName", "conditional definitions", "the variable worth a look"),
    (
        "@camunda:variableEvents",
        "conditional definitions",
        "which of its changes are: `create`, `update`, `delete`",
    ),
    ("@camunda:errorCodeVariable", "error definitions", "takes the code"),
    ("@camunda:errorMessageVariable", "error definitions", "takes the message"),
    ("@camunda:escalationCodeVariable", "escalation definitions", "takes the code"),
    ("@camunda:errorMessage", "errors", "what the error says"),
    (
        "camunda:failedJobRetryTimeCycle",
        "what becomes a job",
        "how often it may fail; workers say how long to wait",
    ),
    ("camunda:inputOutput", "flow nodes", "input and output parameters"),
    ("camunda:inputParameter", "camunda:inputOutput", "a variable made on entry"),
    ("camunda:outputParameter", "camunda:inputOutput", "a variable written on exit"),
    ("camunda:list", "parameters", "a list"),
    ("camunda:value", "camunda:list", "an item of it"),
    ("camunda:map", "parameters", "an object"),
    ("camunda:entry", "camunda:map", "a field of it"),
    (
        "camunda:script",
        "parameters and listeners",
        "a script in the model; one that lies outside is rejected",
    ),
    (
        "camunda:executionListener",
        "processes and flow nodes",
        "on `start` and `end`: a script or an expression is run, anything else is a job of that type, \
         with a warning; what is interrupted has no end",
    ),
    (
        "camunda:taskListener",
        "user tasks",
        "the same on `create`, `complete`, and `assignment` where the model assigns the task",
    ),
    ("camunda:in", "call activities and signal events", "a variable that goes in"),
    ("camunda:out", "call activities", "a variable that comes back"),
];

/// Camunda 8's.
pub(crate) const CAMUNDA8: &[Executed] = &[
    ("zeebe:taskDefinition", "tasks and message events", "a job: its type and retries"),
    ("zeebe:taskHeaders", "the same", "something for workers to read"),
    ("zeebe:header", "zeebe:taskHeaders", "one of them"),
    ("zeebe:ioMapping", "flow nodes", "input and output mappings"),
    ("zeebe:input", "zeebe:ioMapping", "a variable made on entry"),
    ("zeebe:output", "zeebe:ioMapping", "a variable written on exit"),
    (
        "zeebe:calledElement",
        "call activities",
        "what is called, which version, and what goes in and out",
    ),
    (
        "zeebe:calledDecision",
        "business rule tasks",
        "the decision that is made, by id or name, and which version; DMN files are deployed with the \
         model or apart from it",
    ),
    ("zeebe:versionTag", "process", "what the version is called; calls can be bound to it"),
    ("zeebe:script", "script tasks", "an expression, evaluated in place"),
    ("zeebe:loopCharacteristics", "multi-instance", "collections and items"),
    ("zeebe:subscription", "messages", "the correlation key"),
    (
        "zeebe:conditionalFilter",
        "conditional definitions",
        "the variables worth a look, and which of their changes",
    ),
    ("zeebe:assignmentDefinition", "user tasks", "who does it"),
    ("zeebe:taskSchedule", "user tasks", "until when"),
    ("zeebe:priorityDefinition", "user tasks", "how pressing it is"),
    ("zeebe:jobPriorityDefinition", "process and tasks", "how pressing its jobs are"),
    ("zeebe:executionListeners", "processes and flow nodes", "what is called around their work"),
    (
        "zeebe:executionListener",
        "zeebe:executionListeners",
        "a job on `start`, `end`, or `beforeAll` of a multi-instance activity",
    ),
    ("zeebe:taskListeners", "user tasks", "what is called around their work"),
    (
        "zeebe:taskListener",
        "zeebe:taskListeners",
        "a job on `creating`, `completing`, and `assigning` where the model assigns the task",
    ),
    ("zeebe:formDefinition", "user tasks and start events", "the form to show"),
    (
        "zeebe:adHoc",
        "ad-hoc sub-processes",
        "which activities begin when it is entered; nothing else begins by itself",
    ),
];

/// Those of Fleans: in its namespaces, the prefix of Camunda 8, or none. They are answered for by their own
/// prefixes.
pub(crate) const FLEANS: &[Executed] = &[
    (
        "subscription/@correlationKey",
        "messages",
        "the name of a variable, whose value as text is the key of the message",
    ),
    ("@correlationKey", "events that catch messages", "the same, where the message has none"),
    ("@type", "service tasks", "a job of that type; one without type waits to be completed"),
    ("taskDefinition/@type", "service tasks", "the same"),
    (
        "ioMapping/input, ioMapping/output",
        "service tasks",
        "`=` and a text, a number, `true`, `false`, `null` or a path; anything else is the text itself. \
         Inputs are all that a worker gets; `__response` is what it answered",
    ),
    ("inputMapping, outputMapping", "call activities", "copies of variables"),
    (
        "@propagateAllParentVariables, @propagateAllChildVariables",
        "call activities",
        "whether all variables go in, or come back; both do where nothing is said",
    ),
    (
        "@collection, @elementVariable, @outputCollection, @outputElement",
        "multi-instance",
        "names of variables; a `loopCardinality` counts before a collection",
    ),
    (
        "@activationCondition",
        "complex gateways",
        "asked at each arrival; `_nroftoken` is how many have come",
    ),
    (
        "@camunda:assignee, @camunda:candidateUsers, @camunda:candidateGroups",
        "user tasks",
        "who does it, and who may: a text, or the value of `${name}`",
    ),
    (
        "expectedOutputs/expectedOutput, expectedOutputs/output",
        "user tasks",
        "completing it without these names is refused",
    ),
];

/// Of both: known to say nothing about what happens, with the reason.
pub(crate) const NO_EFFECT: &[(&str, &str)] = &[
    ("asyncBefore", "every step is durable, so there is nothing to ask for"),
    ("asyncAfter", "every step is durable, so there is nothing to ask for"),
    ("async", "every step is durable, so there is nothing to ask for"),
    ("exclusive", "one instance never runs on two threads"),
    ("jobPriority", "jobs are handed out in the order they came"),
    ("taskPriority", "jobs are handed out in the order they came"),
    ("historyTimeToLive", "retention is a setting of the engine"),
    ("isStartableInTasklist", "for user interfaces"),
    ("candidateStarterGroups", "who may start is a setting of the engine"),
    ("candidateStarterUsers", "who may start is a setting of the engine"),
    ("modelerTemplate", "for the modeler"),
    ("modelerTemplateVersion", "for the modeler"),
    ("modelerTemplateIcon", "for the modeler"),
    ("diagramRelationId", "for the modeler"),
    ("errorMessage", "for people"),
    ("formData", "forms belong to the user interface"),
    ("formProperty", "forms belong to the user interface"),
    ("userTaskForm", "forms belong to the user interface"),
    ("properties", "for tools"),
    ("modelerProperties", "for the modeler"),
    ("userTask", "every user task is one that the engine keeps"),
];

/// Of both: what would change something there and does not here. It is warned about each time, like
/// everything that stands in no table, with this way out.
pub(crate) const IGNORED: &[(&str, &str)] = &[
    (
        "executionListener",
        "listeners are called on the start and the end of nodes, not on flows, joins of inclusive \
         gateways or other events; put a task into the flow instead",
    ),
    (
        "taskListener",
        "listeners are called when a task is created, completed, or assigned by the model; do the \
         rest where the task is changed, or beside it by a boundary event",
    ),
    ("connector", "connectors are not called; use a worker"),
    ("field", "workers read headers and variables, not fields"),
    (
        "failedJobRetryTimeCycle",
        "only jobs can fail and be tried again; say how often by tv:retries",
    ),
    ("formRefBinding", "the form is found by its name"),
    ("formRefVersion", "the form is found by its name"),
    ("variableMappingClass", "map variables by camunda:in and camunda:out"),
    ("variableMappingDelegateExpression", "map variables by camunda:in and camunda:out"),
    ("caseRef", "cases are not executed; call a process"),
    ("errorEventDefinition", "let the worker raise the error"),
    ("publishMessage", "refer to the message by messageRef"),
    ("linkedResources", "workers find their resources themselves"),
];

/// Why an extension has no effect; `None` where it is not one of those we know.
pub(crate) fn note(ns: &Ns, name: &str) -> Option<&'static str> {
    if !matches!(ns, Ns::Camunda | Ns::Zeebe) {
        return None;
    }
    NO_EFFECT.iter().find(|(known, _)| *known == name).map(|(_, note)| *note)
}

/// The way out for an extension that has no effect.
pub(crate) fn help(ns: &Ns, name: &str) -> &'static str {
    let ignored = IGNORED.iter().find(|(known, _)| *known == name);
    match (ns, ignored) {
        (Ns::Camunda | Ns::Zeebe, Some((_, help))) => help,
        (Ns::Travertine, _) => "docs/extensions.md says which extension stands where",
        (Ns::Camunda | Ns::Zeebe, None) => "remove it if you do not need it",
        _ => "",
    }
}
