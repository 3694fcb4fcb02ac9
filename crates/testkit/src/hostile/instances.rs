//! Instances that grow, loop or multiply.

use std::time::Duration;

use travertine_kernel::Assignments;
use travertine_runtime::engine::File;

use super::{Case, What, bpmn, process};

const TWO_SECONDS: Duration = Duration::from_secs(2);
const DAY: Duration = Duration::from_hours(24);
const YEAR: Duration = Duration::from_hours(365 * 24);

pub(super) const CASES: &[Case] = &[
    Case { name: "a-billion-tokens-at-once", what: What::Model(quantity, none, &[]) },
    Case {
        name: "a-billion-tokens-behind-a-timer",
        what: What::Model(late_quantity, none, &[TWO_SECONDS]),
    },
    Case { name: "a-billion-tasks", what: What::Model(tasks, billion, &[]) },
    Case { name: "a-billion-rounds-in-turn", what: What::Model(rounds, billion, &[]) },
    Case { name: "a-billion-branches-by-data", what: What::Model(branches, none, &[]) },
    Case { name: "calls-itself-ten-times", what: What::Model(calls, none, &[]) },
    Case { name: "calls-itself-once", what: What::Model(call, none, &[]) },
    Case { name: "hears-its-own-signal", what: What::Model(own_signal, none, &[]) },
    Case { name: "starts-itself-by-message", what: What::Model(by_message, none, &[]) },
    Case { name: "starts-itself-by-signal", what: What::Model(by_signal, none, &[]) },
    Case { name: "two-that-start-each-other", what: What::Model(ping_pong, none, &[]) },
    Case { name: "a-timer-of-no-time", what: What::Model(no_time, none, &[]) },
    Case { name: "an-endless-loop", what: What::Model(endless, none, &[]) },
    Case { name: "an-endless-loop-of-steps", what: What::Model(endless_steps, none, &[]) },
    Case { name: "a-large-text-rewritten", what: What::Model(rewritten, none, &[]) },
    Case { name: "a-list-that-doubles", what: What::Model(doubling, none, &[]) },
    Case { name: "new-variables-for-ever", what: What::Model(new_names, none, &[]) },
    Case {
        name: "a-start-every-millisecond-a-year-late",
        what: What::Model(starts, none, &[YEAR]),
    },
    Case { name: "a-cycle-a-year-late", what: What::Model(cycle, none, &[YEAR, DAY]) },
    Case { name: "an-error-that-is-thrown-for-ever", what: What::Model(errors, none, &[]) },
];

fn none() -> Assignments {
    Vec::new()
}

fn billion() -> Assignments {
    vec![("n".into(), 1_000_000_000_i64.into())]
}

fn one(elements: &str, first: &str, last: &str) -> Vec<File> {
    vec![bpmn("bad.bpmn", &process(elements, first, last))]
}

fn quantity() -> Vec<File> {
    one(
        r#"<task id="a" completionQuantity="1000000000"/><sequenceFlow id="f" sourceRef="a" targetRef="u"/>
        <userTask id="u"/>"#,
        "a",
        "u",
    )
}

fn late_quantity() -> Vec<File> {
    one(
        r#"<intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>PT1S</timeDuration>
        </timerEventDefinition></intermediateCatchEvent><sequenceFlow id="f0" sourceRef="t" targetRef="a"/>
        <task id="a" completionQuantity="1000000000"/><sequenceFlow id="f" sourceRef="a" targetRef="u"/>
        <userTask id="u"/>"#,
        "t",
        "u",
    )
}

fn tasks() -> Vec<File> {
    one(
        r#"<userTask id="u"><multiInstanceLoopCharacteristics><loopCardinality>n</loopCardinality>
        </multiInstanceLoopCharacteristics></userTask>"#,
        "u",
        "u",
    )
}

fn rounds() -> Vec<File> {
    one(
        r#"<task id="u"><multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>n</loopCardinality>
        </multiInstanceLoopCharacteristics></task>"#,
        "u",
        "u",
    )
}

fn branches() -> Vec<File> {
    one(
        r#"<subProcess id="u"><multiInstanceLoopCharacteristics><loopCardinality>100000</loopCardinality>
        </multiInstanceLoopCharacteristics><userTask id="v"><multiInstanceLoopCharacteristics>
        <loopCardinality>100000</loopCardinality></multiInstanceLoopCharacteristics></userTask></subProcess>"#,
        "u",
        "u",
    )
}

fn calls() -> Vec<File> {
    one(
        r#"<callActivity id="c" calledElement="bad"><multiInstanceLoopCharacteristics>
        <loopCardinality>10</loopCardinality></multiInstanceLoopCharacteristics></callActivity>"#,
        "c",
        "c",
    )
}

fn call() -> Vec<File> {
    one(r#"<callActivity id="c" calledElement="bad"/>"#, "c", "c")
}

fn own_signal() -> Vec<File> {
    let elements = process(
        r#"<intermediateThrowEvent id="t"><signalEventDefinition signalRef="g"/></intermediateThrowEvent>
        <sequenceFlow id="f" sourceRef="t" targetRef="u"/><userTask id="u"/>
        <subProcess id="h" triggeredByEvent="true"><startEvent id="hs" isInterrupting="false">
        <signalEventDefinition signalRef="g"/></startEvent><sequenceFlow id="h1" sourceRef="hs" targetRef="ht"/>
        <intermediateThrowEvent id="ht"><signalEventDefinition signalRef="g"/></intermediateThrowEvent>
        <sequenceFlow id="h2" sourceRef="ht" targetRef="he"/><endEvent id="he"/></subProcess>"#,
        "t",
        "u",
    );
    vec![bpmn("bad.bpmn", &format!(r#"<signal id="g" name="go"/>{elements}"#))]
}

fn by_message() -> Vec<File> {
    vec![bpmn(
        "bad.bpmn",
        &format!("{}{}", MESSAGE, starter("bad", "messageEventDefinition messageRef", "m", "m")),
    )]
}

fn by_signal() -> Vec<File> {
    vec![bpmn(
        "bad.bpmn",
        &format!("{}{}", SIGNAL, starter("bad", "signalEventDefinition signalRef", "g", "g")),
    )]
}

fn ping_pong() -> Vec<File> {
    let there = starter("bad", "messageEventDefinition messageRef", "m", "n");
    let back = starter("pong", "messageEventDefinition messageRef", "n", "m");
    vec![bpmn("bad.bpmn", &format!("{MESSAGE}{there}{back}"))]
}

const MESSAGE: &str = r#"<message id="m" name="ping"/><message id="n" name="pong"/>"#;
const SIGNAL: &str = r#"<signal id="g" name="go"/>"#;

/// A process that is started plainly or by one thing, and throws another at its end.
fn starter(id: &str, event: &str, hears: &str, throws: &str) -> String {
    format!(
        r#"<process id="{id}" isExecutable="true"><startEvent id="{id}p"/>
        <sequenceFlow id="{id}0" sourceRef="{id}p" targetRef="{id}e"/>
        <startEvent id="{id}s"><{event}="{hears}"/></startEvent>
        <sequenceFlow id="{id}1" sourceRef="{id}s" targetRef="{id}e"/>
        <endEvent id="{id}e"><{event}="{throws}"/></endEvent></process>"#
    )
}

fn no_time() -> Vec<File> {
    one(
        r#"<userTask id="u"/><boundaryEvent id="b" attachedToRef="u"><timerEventDefinition>
        <timeDuration>PT0S</timeDuration></timerEventDefinition></boundaryEvent>
        <sequenceFlow id="f" sourceRef="b" targetRef="u"/>"#,
        "u",
        "u",
    )
}

fn endless() -> Vec<File> {
    one(
        r#"<exclusiveGateway id="g"/><sequenceFlow id="f1" sourceRef="g" targetRef="a"/>
        <task id="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="x"/>
        <exclusiveGateway id="x" default="f3"/><sequenceFlow id="f3" sourceRef="x" targetRef="g"/>
        <sequenceFlow id="f4" sourceRef="x" targetRef="z"><conditionExpression>false</conditionExpression>
        </sequenceFlow><task id="z"/>"#,
        "g",
        "z",
    )
}

fn endless_steps() -> Vec<File> {
    loop_with("_context.n = (typeof n === 'undefined' ? 0 : n) + 1")
}

fn rewritten() -> Vec<File> {
    loop_with("_context.doc = (typeof doc === 'undefined' ? 'x'.repeat(1000000) : doc) + '.'")
}

fn doubling() -> Vec<File> {
    loop_with("_context.list = typeof list === 'undefined' ? [1] : [list, list]")
}

fn new_names() -> Vec<File> {
    loop_with(
        "_context.n = (typeof n === 'undefined' ? 0 : n) + 1; _context['v' + n] = 'x'.repeat(100)",
    )
}

/// A script again and again, without a wait.
fn loop_with(script: &str) -> Vec<File> {
    one(
        &format!(
            r#"<exclusiveGateway id="g"/><sequenceFlow id="f1" sourceRef="g" targetRef="a"/>
            <scriptTask id="a" scriptFormat="javascript"><script>{script}</script></scriptTask>
            <sequenceFlow id="f2" sourceRef="a" targetRef="x"/>
            <exclusiveGateway id="x" default="f3"/><sequenceFlow id="f3" sourceRef="x" targetRef="g"/>
            <sequenceFlow id="f4" sourceRef="x" targetRef="z"><conditionExpression>false</conditionExpression>
            </sequenceFlow><task id="z"/>"#
        ),
        "g",
        "z",
    )
}

fn starts() -> Vec<File> {
    vec![bpmn(
        "bad.bpmn",
        r#"<process id="late" isExecutable="true"><startEvent id="s"><timerEventDefinition>
        <timeCycle>R/PT0.001S</timeCycle></timerEventDefinition></startEvent>
        <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#,
    )]
}

fn cycle() -> Vec<File> {
    one(
        r#"<userTask id="u"/><boundaryEvent id="b" attachedToRef="u" cancelActivity="false"><timerEventDefinition>
        <timeCycle>R/PT0.001S</timeCycle></timerEventDefinition></boundaryEvent>
        <sequenceFlow id="f" sourceRef="b" targetRef="be"/><endEvent id="be"/>"#,
        "u",
        "u",
    )
}

fn errors() -> Vec<File> {
    let elements = process(
        r#"<subProcess id="p"><startEvent id="ps"/><sequenceFlow id="p1" sourceRef="ps" targetRef="pe"/>
        <endEvent id="pe"><errorEventDefinition errorRef="x"/></endEvent></subProcess>
        <boundaryEvent id="b" attachedToRef="p"><errorEventDefinition errorRef="x"/></boundaryEvent>
        <sequenceFlow id="f" sourceRef="b" targetRef="p"/>"#,
        "p",
        "p",
    );
    vec![bpmn("bad.bpmn", &format!(r#"<error id="x" errorCode="X"/>{elements}"#))]
}
