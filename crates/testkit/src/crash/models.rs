//! What the load runs.

use travertine_runtime::engine::File;

/// What can be started under an id of its own.
pub(super) const KINDS: [&str; 8] =
    ["job", "person", "message", "signal", "timer", "move", "call", "many"];

/// What would take a store with it: each comes to an incident, again and again, and ends only when somebody
/// cancels it.
pub(super) const HOSTILE: [&str; 3] = ["spin", "flood", "swell"];

const PROCESSES: &str = r#"
<message id="paid" name="paid"><extensionElements>
  <tv:correlation name="key">key</tv:correlation></extensionElements></message>
<signal id="go" name="go"/>
<process id="job" isExecutable="true"><startEvent id="s1"/>
  <serviceTask id="work" tv:jobType="work" tv:retries="3"/>
  <boundaryEvent id="late" attachedToRef="work"><timerEventDefinition>
    <timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
  <endEvent id="e1"/><endEvent id="e11"/>
  <sequenceFlow id="f11" sourceRef="s1" targetRef="work"/>
  <sequenceFlow id="f12" sourceRef="work" targetRef="e1"/>
  <sequenceFlow id="f13" sourceRef="late" targetRef="e11"/></process>
<process id="person" isExecutable="true"><startEvent id="s2"/><userTask id="do"/><endEvent id="e2"/>
  <sequenceFlow id="f21" sourceRef="s2" targetRef="do"/>
  <sequenceFlow id="f22" sourceRef="do" targetRef="e2"/></process>
<process id="message" isExecutable="true"><startEvent id="s3"/>
  <receiveTask id="r1" messageRef="paid"/><receiveTask id="r2" messageRef="paid"/><endEvent id="e3"/>
  <sequenceFlow id="f31" sourceRef="s3" targetRef="r1"/>
  <sequenceFlow id="f32" sourceRef="r1" targetRef="r2"/>
  <sequenceFlow id="f33" sourceRef="r2" targetRef="e3"/></process>
<process id="signal" isExecutable="true"><startEvent id="s4"/>
  <intermediateCatchEvent id="c4"><signalEventDefinition signalRef="go"/></intermediateCatchEvent>
  <endEvent id="e4"/>
  <sequenceFlow id="f41" sourceRef="s4" targetRef="c4"/>
  <sequenceFlow id="f42" sourceRef="c4" targetRef="e4"/></process>
<process id="timer" isExecutable="true"><startEvent id="s5"/>
  <intermediateCatchEvent id="c5"><timerEventDefinition>
    <timeDuration>PT5S</timeDuration></timerEventDefinition></intermediateCatchEvent>
  <endEvent id="e5"/>
  <sequenceFlow id="f51" sourceRef="s5" targetRef="c5"/>
  <sequenceFlow id="f52" sourceRef="c5" targetRef="e5"/></process>
<process id="move" isExecutable="true"><startEvent id="s6"/>
  <serviceTask id="first" tv:jobType="first"/><serviceTask id="second" tv:jobType="second"/>
  <endEvent id="e6"/>
  <sequenceFlow id="f61" sourceRef="s6" targetRef="first"/>
  <sequenceFlow id="f62" sourceRef="first" targetRef="second"/>
  <sequenceFlow id="f63" sourceRef="second" targetRef="e6"/></process>
<process id="call" isExecutable="true"><startEvent id="s7"/>
  <callActivity id="c7" calledElement="job" tv:allIn="false" tv:allOut="false"/><endEvent id="e7"/>
  <sequenceFlow id="f71" sourceRef="s7" targetRef="c7"/>
  <sequenceFlow id="f72" sourceRef="c7" targetRef="e7"/></process>
<process id="many" isExecutable="true"><startEvent id="s8"/>
  <callActivity id="c8" calledElement="job" tv:allIn="false" tv:allOut="false">
    <multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>
    </multiInstanceLoopCharacteristics></callActivity><endEvent id="e8"/>
  <sequenceFlow id="f81" sourceRef="s8" targetRef="c8"/>
  <sequenceFlow id="f82" sourceRef="c8" targetRef="e8"/></process>
<process id="spin" isExecutable="true" tv:stepLimit="3000"><startEvent id="s9"/><task id="a9"/>
  <exclusiveGateway id="g9" default="f92"/><endEvent id="e9"/>
  <sequenceFlow id="f90" sourceRef="s9" targetRef="a9"/>
  <sequenceFlow id="f91" sourceRef="a9" targetRef="g9"/>
  <sequenceFlow id="f92" sourceRef="g9" targetRef="a9"/>
  <sequenceFlow id="f93" sourceRef="g9" targetRef="e9">
    <conditionExpression>false</conditionExpression></sequenceFlow></process>
<process id="flood" isExecutable="true"><startEvent id="s10"/>
  <serviceTask id="t10" tv:jobType="nobody">
    <multiInstanceLoopCharacteristics><loopCardinality>1000000000</loopCardinality>
    </multiInstanceLoopCharacteristics></serviceTask><endEvent id="e10"/>
  <sequenceFlow id="f101" sourceRef="s10" targetRef="t10"/>
  <sequenceFlow id="f102" sourceRef="t10" targetRef="e10"/></process>
<process id="swell" isExecutable="true"><startEvent id="s11"/>
  <scriptTask id="a11" scriptFormat="javascript"><script>_context.all = (typeof all === 'undefined' ? '' : all)
    + 'x'.repeat(100000)</script></scriptTask>
  <exclusiveGateway id="g11" default="f112"/><endEvent id="e11s"/>
  <sequenceFlow id="f110" sourceRef="s11" targetRef="a11"/>
  <sequenceFlow id="f111" sourceRef="a11" targetRef="g11"/>
  <sequenceFlow id="f112" sourceRef="g11" targetRef="a11"/>
  <sequenceFlow id="f113" sourceRef="g11" targetRef="e11s">
    <conditionExpression>false</conditionExpression></sequenceFlow></process>"#;

/// All kinds, in one file.
pub(super) fn processes() -> File {
    file("kinds.bpmn", PROCESSES)
}

/// Something that is deployed in the middle, different for each number.
pub(super) fn spare(number: u64) -> File {
    let process = format!(
        r#"<process id="spare" name="{number}" isExecutable="true"><startEvent id="s"/>
        <endEvent id="e"/><sequenceFlow id="f" sourceRef="s" targetRef="e"/></process>"#
    );
    file("spare.bpmn", &process)
}

fn file(name: &str, inside: &str) -> File {
    let text = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">{inside}</definitions>"#
    );
    File { name: name.to_owned(), body: text.into_bytes() }
}
