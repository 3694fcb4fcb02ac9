//! What runs in a simulation: processes that use all that the runtime sees to, and random ones.

use std::sync::{Arc, OnceLock};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use travertine_bpmn::{Options, Severity, read};
use travertine_kernel::Plan;
use travertine_value::Name;

use super::functions;
use crate::{block::block, document, random::Random};

/// Messages that someone sends or waits for. Their names are kept by different shards.
pub(super) const MESSAGES: [&str; 4] = ["paid", "ping", "order", "note"];

/// Signals.
pub(super) const SIGNALS: [&str; 3] = ["alarm", "calm", "news"];

/// Processes that a client starts.
const PROCESSES_STARTED: [&str; 11] = [
    "order", "talk", "hear", "caller", "crowd", "booking", "reminder", "fragile", "report", "race",
    "both",
];

/// What is sent and caught, and the processes that do.
const PROCESSES: &str = r#"
<message id="m-paid" name="paid"/> <message id="m-ping" name="ping"/> <message id="m-order" name="order"/> <message id="m-note" name="note"/>
<signal id="s-alarm" name="alarm"/> <signal id="s-calm" name="calm"/> <signal id="s-news" name="news"/>
<escalation id="up" escalationCode="UP"/> <error id="bad" errorCode="BAD"/>

<process id="order" isExecutable="true">
  <startEvent id="start"/> <serviceTask id="pay" tv:jobType="pay" tv:retries="3"/>
  <boundaryEvent id="late" attachedToRef="pay"><timerEventDefinition><timeDuration>PT1H</timeDuration>
  </timerEventDefinition></boundaryEvent>
  <boundaryEvent id="refused" attachedToRef="pay"><errorEventDefinition errorRef="bad"/></boundaryEvent>
  <receiveTask id="paid" messageRef="m-paid">
    <extensionElements><tv:correlation name="order">order</tv:correlation></extensionElements></receiveTask>
  <userTask id="ship" tv:assignee="ann"/>
  <serviceTask id="remind" tv:jobType="mail"/> <endEvent id="end"/>
  <path>start pay paid ship end</path> <path>late remind end</path> <path>refused end</path>
</process>

<process id="talk" isExecutable="true">
  <startEvent id="start"/> <startEvent id="asked"><messageEventDefinition messageRef="m-order"/></startEvent>
  <serviceTask id="think" tv:jobType="mail"/>
  <sendTask id="ping" messageRef="m-ping"/>
  <intermediateThrowEvent id="shout"><signalEventDefinition signalRef="s-alarm"/></intermediateThrowEvent>
  <endEvent id="end"/> <path>start think ping shout end</path> <path>asked think</path>
</process>

<process id="hear" isExecutable="true">
  <startEvent id="start"/> <userTask id="listen"/>
  <subProcess id="alarmed" triggeredByEvent="true">
    <startEvent id="alarm" isInterrupting="false"><signalEventDefinition signalRef="s-alarm"/></startEvent>
    <serviceTask id="look" tv:jobType="look"/> <endEvent id="looked"/> <path>alarm look looked</path>
  </subProcess>
  <boundaryEvent id="pinged" attachedToRef="listen" cancelActivity="false">
    <messageEventDefinition messageRef="m-ping"/></boundaryEvent>
  <intermediateCatchEvent id="calm"><signalEventDefinition signalRef="s-calm"/></intermediateCatchEvent>
  <endEvent id="end"/> <path>start listen calm end</path> <path>pinged end</path>
</process>

<process id="child" isExecutable="true">
  <startEvent id="start"/> <serviceTask id="work" tv:jobType="work" tv:retries="2"/>
  <intermediateThrowEvent id="raise"><escalationEventDefinition escalationRef="up"/></intermediateThrowEvent>
  <receiveTask id="note" messageRef="m-note"/>
  <boundaryEvent id="enough" attachedToRef="note"><timerEventDefinition><timeDuration>PT20M</timeDuration>
  </timerEventDefinition></boundaryEvent>
  <endEvent id="end"/> <path>start work raise note end</path> <path>enough end</path>
</process>

<process id="caller" isExecutable="true">
  <startEvent id="start"/>
  <callActivity id="call" calledElement="child" tv:allIn="false" tv:allOut="false"/>
  <boundaryEvent id="raised" attachedToRef="call" cancelActivity="false">
    <escalationEventDefinition escalationRef="up"/></boundaryEvent>
  <boundaryEvent id="failed" attachedToRef="call"><errorEventDefinition/></boundaryEvent>
  <serviceTask id="told" tv:jobType="mail"/> <endEvent id="end"/>
  <path>start call end</path> <path>raised told end</path> <path>failed end</path>
</process>

<process id="crowd" isExecutable="true">
  <startEvent id="start"/>
  <callActivity id="each" calledElement="child" tv:allIn="false" tv:allOut="false">
    <multiInstanceLoopCharacteristics><loopCardinality>4</loopCardinality>
    </multiInstanceLoopCharacteristics></callActivity>
  <boundaryEvent id="stop" attachedToRef="each"><signalEventDefinition signalRef="s-calm"/></boundaryEvent>
  <callActivity id="again" calledElement="caller" tv:allIn="false" tv:allOut="false"/>
  <endEvent id="end"/> <path>start each again end</path> <path>stop end</path>
</process>

<process id="booking" isExecutable="true">
  <startEvent id="start"/>
  <transaction id="trip"> <startEvent id="in"/> <serviceTask id="hotel" tv:jobType="book"/>
    <boundaryEvent id="of-hotel" attachedToRef="hotel"><compensateEventDefinition/></boundaryEvent>
    <serviceTask id="undo-hotel" tv:jobType="undo" isForCompensation="true"/>
    <association id="undoing" sourceRef="of-hotel" targetRef="undo-hotel" associationDirection="One"/>
    <intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT10M</timeDuration>
    </timerEventDefinition></intermediateCatchEvent>
    <endEvent id="no"><cancelEventDefinition/></endEvent> <path>in hotel wait no</path>
  </transaction>
  <boundaryEvent id="cancelled" attachedToRef="trip"><cancelEventDefinition/></boundaryEvent>
  <userTask id="sorry"/> <endEvent id="end"/> <path>start trip end</path> <path>cancelled sorry end</path>
</process>

<process id="reminder" isExecutable="true">
  <startEvent id="start"/>
  <startEvent id="daily"><timerEventDefinition><timeCycle>R5/PT40M</timeCycle></timerEventDefinition></startEvent>
  <userTask id="rest"/>
  <boundaryEvent id="tick" attachedToRef="rest" cancelActivity="false"><timerEventDefinition>
    <timeCycle>R3/PT15M</timeCycle></timerEventDefinition></boundaryEvent>
  <scriptTask id="ticked" scriptFormat="javascript"><script>1</script></scriptTask>
  <endEvent id="end"/> <path>start rest end</path> <path>daily rest</path> <path>tick ticked end</path>
</process>

<process id="fragile" isExecutable="true">
  <startEvent id="start"/> <serviceTask id="try" tv:jobType="try" tv:retries="1"/>
  <exclusiveGateway id="which"/>
  <sequenceFlow id="good" sourceRef="which" targetRef="fine"><conditionExpression>ok</conditionExpression>
  </sequenceFlow>
  <userTask id="fine"/> <endEvent id="end"/> <path>start try which</path> <path>fine end</path>
</process>

<process id="report" isExecutable="true">
  <startEvent id="start"/> <startEvent id="on-news"><signalEventDefinition signalRef="s-news"/></startEvent>
  <parallelGateway id="fork"/> <serviceTask id="a" tv:jobType="work"/> <serviceTask id="b" tv:jobType="mail"/>
  <intermediateThrowEvent id="news"><signalEventDefinition signalRef="s-calm"/></intermediateThrowEvent>
  <parallelGateway id="join"/> <endEvent id="end"/>
  <path>start fork a news join end</path> <path>fork b join</path> <path>on-news fork</path>
</process>

<process id="race" isExecutable="true">
  <startEvent id="start"/> <eventBasedGateway id="first"/>
  <intermediateCatchEvent id="by-note"><messageEventDefinition messageRef="m-note"/></intermediateCatchEvent>
  <intermediateCatchEvent id="by-alarm"><signalEventDefinition signalRef="s-alarm"/></intermediateCatchEvent>
  <intermediateCatchEvent id="by-time"><timerEventDefinition><timeDuration>PT30M</timeDuration>
  </timerEventDefinition></intermediateCatchEvent>
  <serviceTask id="won" tv:jobType="look"/> <endEvent id="end"/>
  <path>start first by-note won end</path> <path>first by-alarm won</path> <path>first by-time won</path>
</process>

<process id="both" isExecutable="true">
  <startEvent id="start"/>
  <callActivity id="each" calledElement="f-child" tv:allIn="false" tv:allOut="false">
    <multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>
    </multiInstanceLoopCharacteristics></callActivity>
  <boundaryEvent id="failed" attachedToRef="each"><errorEventDefinition/></boundaryEvent>
  <boundaryEvent id="stop" attachedToRef="each"><signalEventDefinition signalRef="s-calm"/></boundaryEvent>
  <endEvent id="end"/> <path>start each end</path> <path>failed end</path> <path>stop end</path>
</process>"#;

/// How many random processes there are.
const RANDOM: usize = 3;

/// All that is deployed: `order` and the others, and `random-0` and so on.
pub(super) fn models(random: &mut Random) -> Vec<(Name, Arc<Plan>)> {
    static WRITTEN: OnceLock<Vec<(Name, Arc<Plan>)>> = OnceLock::new();
    let mut all = WRITTEN.get_or_init(|| read_all(PROCESSES)).clone();
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&random.number().to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let blocks = block();
    for number in 0..RANDOM {
        let tree = blocks.new_tree(&mut runner).expect("blocks can always be made");
        all.push((random_name(number).into(), Arc::new(tree.current().plan())));
    }
    let functions = functions::functions();
    for it in functions.workflows() {
        all.push((it.name.into(), Arc::new(Plan::function(it.name))));
    }
    for (_, plan) in &mut all {
        // Some take several turns for one command.
        if random.percent(30) {
            let steps = u32::try_from(1 + random.below(8)).expect("it is small");
            Arc::make_mut(plan).turn_steps_max = steps;
        }
    }
    all
}

/// Each process in a file of its own, with all messages, signals and errors.
fn read_all(written: &str) -> Vec<(Name, Arc<Plan>)> {
    let (shared, processes) = written.split_once("<process").expect("there are processes");
    let mut all = Vec::new();
    for process in processes.split("<process") {
        let xml = document(&format!("{shared}<process{process}"));
        let report = read(&[("simulation.bpmn", xml.as_bytes())], &Options::default());
        let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        assert!(errors.is_empty(), "the models are rejected: {errors:#?}");
        let read = report.processes.iter();
        all.extend(read.map(|it| (Name::from(it.id.as_str()), Arc::clone(&it.plan))));
    }
    all
}

/// Another version of `order`, in which `ship` is called `deliver`.
pub(super) fn newer() -> Vec<(Name, Arc<Plan>)> {
    static NEWER: OnceLock<Vec<(Name, Arc<Plan>)>> = OnceLock::new();
    let of_order = |(id, _): &(Name, Arc<Plan>)| &**id == "order";
    let newer = || {
        let all = read_all(&PROCESSES.replace("ship", "deliver"));
        all.into_iter().filter(of_order).collect()
    };
    NEWER.get_or_init(newer).clone()
}

fn random_name(number: usize) -> String {
    format!("random-{number}")
}

/// The id of something that a client may start.
pub(super) fn startable(random: &mut Random) -> String {
    let mut written = PROCESSES_STARTED.iter().chain(&functions::STARTED);
    let count = PROCESSES_STARTED.len() + functions::STARTED.len();
    let number = random.position(count + RANDOM);
    written.nth(number).map_or_else(|| random_name(number - count), |it| (*it).to_owned())
}
