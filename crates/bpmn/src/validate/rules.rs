//! The rules of the standard that no schema states, in plain words, and what answers for each.
//!
//! The numbers are those under which studies of the standard list them. Reading with
//! [`strict`](crate::Options::strict) takes whoever breaks one of them for an error.

use crate::xml::Severity;

/// A rule of the standard.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it is about.
    pub area: &'static str,
    /// The numbers under which studies list it.
    pub numbers: &'static [u16],
    /// What it asks for.
    pub words: &'static str,
    /// The codes of the diagnostics that name those who break it.
    pub codes: &'static [&'static str],
    /// How severe the mildest of these is. Where nobody could say what executing a model means, it is
    /// an error.
    pub severity: Severity,
}

/// All of them.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// Whether a diagnostic is about a rule of the standard.
pub(crate) fn is_rule(code: &str) -> bool {
    RULES.iter().any(|it| it.codes.contains(&code))
}

const fn error(
    area: &'static str,
    numbers: &'static [u16],
    words: &'static str,
    codes: &'static [&'static str],
) -> Rule {
    Rule { area, numbers, words, codes, severity: Severity::Error }
}

const fn warning(
    area: &'static str,
    numbers: &'static [u16],
    words: &'static str,
    codes: &'static [&'static str],
) -> Rule {
    Rule { area, numbers, words, codes, severity: Severity::Warning }
}

const ARTIFACTS: &str = "artifacts";
const EXPRESSIONS: &str = "expressions";
const EVENTS: &str = "events";
const GATEWAYS: &str = "gateways";
const FLOWS: &str = "sequence flows";
const COLLABORATION: &str = "collaboration";
const ACTIVITIES: &str = "activities";
const MESSAGES: &str = "messages and operations";
const CONTAINERS: &str = "sub-processes";
const CALLS: &str = "calls and imports";
const LOOPS: &str = "multi-instance";
const DATA: &str = "data";
const START: &str = "start events";
const END: &str = "end events";
const BOUNDARY: &str = "boundary events";
const INTERMEDIATE: &str = "intermediate events";
const CHOICE: &str = "event-based gateways";

const RULES: &[Rule] = &[
    error(
        ARTIFACTS,
        &[6, 7, 8, 9],
        "an association, a group or an annotation is no end of a sequence flow or message flow",
        &["TV0303"],
    ),
    error(ARTIFACTS, &[10], "the format of a text is a MIME type", &["TV0208"]),
    warning(
        EXPRESSIONS,
        &[12, 123],
        "the expressions of an executable process are formal: of the type `tFormalExpression`; models \
         for Camunda hear of it in one note",
        &["TV0520"],
    ),
    error(
        EXPRESSIONS,
        &[13],
        "a formal expression has a body, that of a data transformation too",
        &["TV0501"],
    ),
    error(EXPRESSIONS, &[14], "a language is named by a URI", &["TV0205"]),
    warning(EXPRESSIONS, &[53], "a script says in which format it is", &["TV0505"]),
    error(
        EXPRESSIONS,
        &[132, 133, 134],
        "a date, a cycle or a duration is written as ISO 8601 asks",
        &["TV0512"],
    ),
    warning(EVENTS, &[11], "what is thrown as an escalation has a code", &["TV0447"]),
    warning(
        EVENTS,
        &[95],
        "a definition in an event belongs to that event, and no event names one twice",
        &["TV0445"],
    ),
    error(EVENTS, &[127], "a message definition names a message", &["TV0442"]),
    warning(
        EVENTS,
        &[128],
        "a message definition of an executable process names an operation; models for Camunda hear of \
         it in one note",
        &["TV0425"],
    ),
    error(
        GATEWAYS,
        &[17, 18, 19],
        "the direction of a gateway agrees with its flows: converging has at most one out, diverging \
         at most one in, mixed several of both",
        &["TV0450"],
    ),
    warning(GATEWAYS, &[135], "a gateway has several flows in, or several out", &["TV0455"]),
    error(
        FLOWS,
        &[21, 22],
        "both ends of a sequence flow are activities, gateways or events, never event sub-processes",
        &["TV0303", "TV0408"],
    ),
    warning(FLOWS, &[23], "`incoming` and `outgoing` agree with the flows", &["TV0405"]),
    warning(FLOWS, &[24], "`isImmediate` is not false in an executable process", &["TV0423"]),
    error(FLOWS, &[25], "a conditional flow is not the only one out of an activity", &["TV0404"]),
    error(FLOWS, &[26], "a default flow leaves the node that names it", &["TV0406"]),
    error(FLOWS, &[28, 152], "a sequence flow stays in its pool and its sub-process", &["TV0402"]),
    warning(FLOWS, &[150], "where there is a start event, each node has a way in", &["TV0409"]),
    warning(FLOWS, &[151], "where there is an end event, each node has a way out", &["TV0410"]),
    error(
        COLLABORATION,
        &[29, 30],
        "participants are 0 or more at least, 1 or more at most, and not fewer at most than at least",
        &["TV0205", "TV0482"],
    ),
    error(COLLABORATION, &[31], "a message flow joins two pools", &["TV0480"]),
    warning(
        COLLABORATION,
        &[32],
        "a global conversation has participants, message flows and keys, and nothing else",
        &["TV0483"],
    ),
    warning(
        COLLABORATION,
        &[27],
        "only a collaboration refers to choreographies; nothing calls one as a conversation, and no \
         process is defined by one",
        &["TV0484"],
    ),
    warning(
        COLLABORATION,
        &[33],
        "`isClosed` is the same of a collaboration and its choreographies, and of a process and the \
         collaboration that defines it",
        &["TV0487"],
    ),
    error(COLLABORATION, &[35], "a public process is not executable", &["TV0413"]),
    error(
        COLLABORATION,
        &[36, 56],
        "there are no choreography activities in processes and sub-processes",
        &["TV0424"],
    ),
    error(
        ACTIVITIES,
        &[37, 38],
        "the start quantity and the completion quantity are 1 or more",
        &["TV0205", "TV0801"],
    ),
    error(
        ACTIVITIES,
        &[39],
        "a role names a resource or gives an expression, not both",
        &["TV0209"],
    ),
    warning(
        ACTIVITIES,
        &[40],
        "what a role gives a resource is a parameter of that resource",
        &["TV0943"],
    ),
    error(ACTIVITIES, &[54], "an activity has one kind of loop at most", &["TV0206"]),
    warning(
        MESSAGES,
        &[42, 43],
        "a service task with an operation has one input set, and one output set at most",
        &["TV0915"],
    ),
    warning(
        MESSAGES,
        &[44, 45],
        "its input has the item of the operation's in-message, its output that of the out-message",
        &["TV0912", "TV0916"],
    ),
    warning(
        MESSAGES,
        &[46, 47, 50, 51],
        "a send task with a message has one input set and one data input at most, a receive task one \
         output set and one data output",
        &["TV0917"],
    ),
    warning(
        MESSAGES,
        &[48, 52],
        "what a send task gives and a receive task takes has the item of the message, and of that of \
         its operation",
        &["TV0909", "TV0916"],
    ),
    error(MESSAGES, &[49], "a receive task that instantiates has no way in", &["TV0408"]),
    error(CONTAINERS, &[57], "no flow leads to or from an event sub-process", &["TV0408"]),
    error(
        CONTAINERS,
        &[58],
        "an event sub-process has exactly one start event",
        &["TV0415", "TV0417"],
    ),
    error(
        CONTAINERS,
        &[59, 147],
        "it has a trigger that is allowed there, and one that interrupts where that is an error or \
         compensation",
        &["TV0417", "TV0440", "TV0441", "TV0443"],
    ),
    error(CONTAINERS, &[61], "an ad-hoc sub-process has an activity", &["TV0419"]),
    error(
        CONTAINERS,
        &[62],
        "it has no start or end events, conversations or choreography",
        &["TV0202", "TV0418", "TV0424"],
    ),
    warning(
        CONTAINERS,
        &[71],
        "a completion condition can be read, and is true or false; so are other conditions",
        &["TV0503", "TV0506"],
    ),
    warning(
        CALLS,
        &[60],
        "an import names something that is there, by a valid URI, and so does the method of a transaction; \
         what is called is a process or a global task, and what lies in another namespace is imported",
        &["TV0205", "TV0307", "TV0436", "TV0437"],
    ),
    warning(
        CALLS,
        &[63],
        "the inputs and outputs of a call are those of what is called: none missing, none added, of the \
         same items",
        &["TV0438"],
    ),
    error(
        CALLS,
        &[64],
        "what is offered as a service binds its inputs and outputs to each operation",
        &["TV0913"],
    ),
    warning(
        CALLS,
        &[65],
        "such a binding means an operation of that service, and inputs and outputs of its own",
        &["TV0303", "TV0941"],
    ),
    error(LOOPS, &[67], "it says how often, or for what it runs", &["TV0601"]),
    warning(
        LOOPS,
        &[68],
        "the collection is a list: a data input of the task, or a data object that the sub-process sees",
        &["TV0907", "TV0918"],
    ),
    warning(
        LOOPS,
        &[69, 70],
        "the item, going in and coming out, has the type of one member of the collection",
        &["TV0908"],
    ),
    error(
        LOOPS,
        &[72],
        "events on conditions are for the behavior that is called complex",
        &["TV0803"],
    ),
    error(DATA, &[20], "`isCollection` agrees with the item definition", &["TV0901"]),
    warning(
        DATA,
        &[74, 75],
        "a data object has a type, and references to it have states, not the other way round",
        &["TV0945"],
    ),
    warning(DATA, &[77], "a data object lies in a process or sub-process", &["TV0944"]),
    warning(
        DATA,
        &[76],
        "a reference to a data object is called like the object, with its state: *order [paid]*",
        &["TV0942"],
    ),
    error(DATA, &[78], "only processes, activities and events have properties", &["TV0202"]),
    warning(DATA, &[79], "a sub-process has no `ioSpecification`", &["TV0919"]),
    warning(
        DATA,
        &[80, 82],
        "what flows into an activity or event ends at an input of its own, what flows out begins at an \
         output of its own; the inputs of a process are read, and its outputs are written",
        &["TV0906"],
    ),
    warning(DATA, &[84, 88], "each input and each output is in a set", &["TV0902"]),
    warning(
        DATA,
        &[85, 86, 89, 90],
        "what is optional or given while executing is among the other references of its set, too; sets \
         that refer to each other do so both ways",
        &["TV0903", "TV0940"],
    ),
    warning(DATA, &[91], "an association joins data of equal items, or transforms", &["TV0905"]),
    error(DATA, &[92], "an association has one source, unless it transforms", &["TV0904"]),
    warning(
        DATA,
        &[93],
        "an event has no more data inputs or outputs than definitions, and one for each of several that \
         carry data, in their order",
        &["TV0910"],
    ),
    warning(DATA, &[94], "it has the item that the definition carries", &["TV0911"]),
    error(START, &[96], "a start event has no way in", &["TV0408"]),
    error(
        START,
        &[97],
        "where there is an end event, there is a start event, or a receive task or gateway that \
         instantiates",
        &["TV0411"],
    ),
    error(
        START,
        &[98],
        "a process starts by a message, a timer, a condition, a signal or nothing",
        &["TV0440"],
    ),
    error(START, &[99], "a process that is called can start by nothing", &["TV0432"]),
    error(START, &[100], "the start event of a sub-process waits for nothing", &["TV0416"]),
    warning(START, &[101], "a start event has a way out", &["TV0410"]),
    error(START, &[102], "no message flow begins at a start event", &["TV0481"]),
    warning(START, &[103], "one that ends there ends at a message definition", &["TV0486"]),
    error(END, &[104], "an end event has no way out", &["TV0408"]),
    warning(END, &[105], "where there is a start event, there is an end event", &["TV0412"]),
    error(END, &[106], "only a transaction is cancelled", &["TV0444"]),
    warning(END, &[107], "an end event has a way in", &["TV0409"]),
    error(END, &[108], "no message flow ends at an end event", &["TV0481"]),
    warning(END, &[109], "one that begins there begins at a message definition", &["TV0486"]),
    error(
        END,
        &[146],
        "what happens there can happen at an end: no timer, condition or link",
        &["TV0440"],
    ),
    error(
        BOUNDARY,
        &[110],
        "it waits for something that can happen there, also by whether it interrupts",
        &["TV0440", "TV0441", "TV0443"],
    ),
    error(BOUNDARY, &[111], "only a transaction has a cancel event", &["TV0444"]),
    error(BOUNDARY, &[112], "it has no way in", &["TV0408"]),
    warning(BOUNDARY, &[113], "it has a way out, unless it compensates", &["TV0410"]),
    error(BOUNDARY, &[114], "one that compensates has no way out", &["TV0408"]),
    error(BOUNDARY, &[143], "but an association with what compensates", &["TV0470"]),
    warning(
        BOUNDARY,
        &[144],
        "which is a task or sub-process, marked for compensation",
        &["TV0471", "TV0475"],
    ),
    warning(
        INTERMEDIATE,
        &[115, 116, 117],
        "it has a way in and a way out; a link that is thrown has the one, a link that is caught the \
         other",
        &["TV0408", "TV0409", "TV0410"],
    ),
    error(
        INTERMEDIATE,
        &[118, 124, 125, 126],
        "for each link that is thrown one of that name is caught in the same scope, and the other way \
         round",
        &["TV0420", "TV0421", "TV0422"],
    ),
    error(
        INTERMEDIATE,
        &[119],
        "no message flow begins where something is caught, none ends where something is thrown",
        &["TV0481"],
    ),
    error(
        INTERMEDIATE,
        &[121, 122, 148, 149],
        "it waits for something, or throws something, that can be waited for or thrown there; \
         compensation is not caught in the normal flow",
        &["TV0440", "TV0441"],
    ),
    error(CHOICE, &[136], "it has two ways or more", &["TV0464"]),
    error(CHOICE, &[137], "these have no conditions", &["TV0403"]),
    error(
        CHOICE,
        &[138],
        "only receive tasks and events that catch a message, a signal, a timer or a condition stand \
         behind it",
        &["TV0460"],
    ),
    error(CHOICE, &[139], "not both receive tasks and message events", &["TV0462"]),
    error(CHOICE, &[140], "these receive tasks have no boundary events", &["TV0463"]),
    error(CHOICE, &[141], "no other flow leads there", &["TV0461"]),
    error(CHOICE, &[142], "where it instantiates, no flow leads to it", &["TV0408"]),
    warning(
        "references",
        &[],
        "what is referred to exists, and is of the right kind: interfaces, implementations, types, \
         links too",
        &["TV0302", "TV0303", "TV0304", "TV0305"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_stands_once() {
        let mut seen = std::collections::BTreeSet::new();
        for number in RULES.iter().flat_map(|it| it.numbers) {
            assert!(seen.insert(number), "{number}");
        }
    }
}
