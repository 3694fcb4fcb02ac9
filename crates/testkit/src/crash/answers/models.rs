//! What the load runs.

use std::time::Duration;

use travertine_func::{Functions, WorkflowDefinition};
use travertine_runtime::engine::File;
use travertine_value::Value;

/// How many clients there are. Each has jobs of a type of its own.
pub(super) const CLIENTS: u64 = 4;

/// A process that can be migrated, in two versions.
pub(super) const RESTS: [&str; 2] = ["rests for long", "rests for longer"];

const PROCESSES: &str = r#"
<message id="paid" name="paid"><extensionElements>
  <tv:correlation name="key">key</tv:correlation></extensionElements></message>
<signal id="go" name="go"/><error id="torn" errorCode="torn"/>
<process id="work" isExecutable="true"><startEvent id="s1"/><serviceTask id="do" tv:jobType="work"/>
  <boundaryEvent id="torn1" attachedToRef="do"><errorEventDefinition errorRef="torn"/></boundaryEvent>
  <userTask id="look"/><userTask id="mend"/>
  <sequenceFlow id="f11" sourceRef="s1" targetRef="do"/>
  <sequenceFlow id="f12" sourceRef="do" targetRef="look"/>
  <sequenceFlow id="f13" sourceRef="torn1" targetRef="mend"/></process>
<process id="hear" isExecutable="true"><startEvent id="s2"/><receiveTask id="r" messageRef="paid"/>
  <userTask id="heard"/>
  <sequenceFlow id="f21" sourceRef="s2" targetRef="r"/>
  <sequenceFlow id="f22" sourceRef="r" targetRef="heard"/></process>
<process id="listen" isExecutable="true"><startEvent id="s3"/>
  <intermediateCatchEvent id="c"><signalEventDefinition signalRef="go"/></intermediateCatchEvent>
  <userTask id="listened"/>
  <sequenceFlow id="f31" sourceRef="s3" targetRef="c"/>
  <sequenceFlow id="f32" sourceRef="c" targetRef="listened"/></process>
<process id="watch" isExecutable="true"><startEvent id="s4"><conditionalEventDefinition>
  <condition>start</condition></conditionalEventDefinition></startEvent><userTask id="watched"/>
  <sequenceFlow id="f41" sourceRef="s4" targetRef="watched"/></process>
<process id="stuck" isExecutable="true"><startEvent id="s5"/><exclusiveGateway id="g"/><userTask id="free"/>
  <sequenceFlow id="f51" sourceRef="s5" targetRef="g"/>
  <sequenceFlow id="f52" sourceRef="g" targetRef="free">
    <conditionExpression>ok</conditionExpression></sequenceFlow></process>
<process id="spin" isExecutable="true"><startEvent id="s6"/><task id="a"/>
  <sequenceFlow id="f61" sourceRef="s6" targetRef="a"/>
  <sequenceFlow id="f62" sourceRef="a" targetRef="a"/></process>
<process id="short" isExecutable="true"><startEvent id="s7"/><endEvent id="e7"/>
  <sequenceFlow id="f71" sourceRef="s7" targetRef="e7"/></process>"#;

/// All that does not change, and for each client a process with jobs that nobody else takes.
pub(super) fn processes() -> File {
    let lent = |client: u64| {
        format!(
            r#"<process id="lent-{client}" isExecutable="true"><startEvent id="ls{client}"/>
            <serviceTask id="l{client}" tv:jobType="lent-{client}"/>
            <sequenceFlow id="lf{client}" sourceRef="ls{client}" targetRef="l{client}"/></process>"#
        )
    };
    let lent: String = (0..CLIENTS).map(lent).collect();
    file("processes.bpmn", &format!("{PROCESSES}{lent}"))
}

/// A process that waits for a timer.
pub(super) fn rests(name: &str) -> File {
    file(
        "rest.bpmn",
        &format!(
            r#"<process id="rest" name="{name}" isExecutable="true"><startEvent id="s"/>
            <intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>P9000D</timeDuration>
            </timerEventDefinition></intermediateCatchEvent><endEvent id="e"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
            <sequenceFlow id="f2" sourceRef="t" targetRef="e"/></process>"#
        ),
    )
}

/// The process of an ask, by its number.
pub(super) fn spare(number: u64) -> String {
    format!("spare-{number}")
}

/// A file with a process of its own, which may be deployed or not.
pub(super) fn deployable(number: u64, is_valid: bool) -> File {
    let id = spare(number);
    let start = if is_valid { "s" } else { "nowhere" };
    file(
        "spare.bpmn",
        &format!(
            r#"<process id="{id}" isExecutable="true"><startEvent id="s"/><endEvent id="e"/>
            <sequenceFlow id="f" sourceRef="{start}" targetRef="e"/></process>"#
        ),
    )
}

fn file(name: &str, inside: &str) -> File {
    let text = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">{inside}</definitions>"#
    );
    File { name: name.to_owned(), body: text.into_bytes() }
}

/// Keeps what it is told, until it is cancelled.
const KEEPER: WorkflowDefinition = WorkflowDefinition {
    name: "keeper",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.on_update("put", |_: &u64| Ok(()), |number: u64| Ok(number));
            cx.sleep(Duration::from_hours(24 * 9_000)).await?;
            Ok(Value::Null)
        })
    },
};

const BRIEF: WorkflowDefinition = WorkflowDefinition {
    name: "brief",
    version: 1,
    parameters: &[],
    run: |_, _| Box::pin(async { Ok(Value::Null) }),
};

pub(super) fn functions() -> Functions {
    Functions::new().workflow(KEEPER).workflow(BRIEF)
}
