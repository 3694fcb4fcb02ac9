//! `docs/bpmn-support.md` is what the tables say, and what the tables say is what happens.

use std::{collections::BTreeSet, path::Path};

use travertine_bpmn::{
    Dialect, Options, Verdict, executed_extensions, read,
    schema::{Position, events, kinds},
    support_page,
};
use travertine_kernel::plan::{Element, Trigger};

use crate::{
    documentation::expect_page,
    language::lenient,
    model::{errors, file, plan, process, report},
};

#[test]
fn the_page_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bpmn-support.md");
    expect_page(&path, &support_page());
}

/// An event of that definition in that position, with the id `n`.
fn event(definition: &str, position: Position) -> String {
    let inner = match definition {
        "message" => "<messageEventDefinition messageRef='m'/>".to_owned(),
        "signal" => "<signalEventDefinition signalRef='s'/>".to_owned(),
        "timer" => "<timerEventDefinition><timeDuration>PT1H</timeDuration>\
                    </timerEventDefinition>"
            .to_owned(),
        "conditional" => "<conditionalEventDefinition><condition>x</condition>\
                          </conditionalEventDefinition>"
            .to_owned(),
        "error" => "<errorEventDefinition errorRef='r'/>".to_owned(),
        "escalation" => "<escalationEventDefinition escalationRef='l'/>".to_owned(),
        "link" => "<linkEventDefinition name='k'/>".to_owned(),
        other => format!("<{other}EventDefinition/>"),
    };
    let flow = |id: &str, from: &str, to: &str| {
        format!("<sequenceFlow id='{id}' sourceRef='{from}' targetRef='{to}'/>")
    };
    let body = match position {
        Position::Start => format!(
            "<startEvent id='n'>{inner}</startEvent><endEvent id='z'/>{}",
            flow("f", "n", "z")
        ),
        Position::EventSubProcess => format!(
            "<task id='t'/><subProcess id='e' triggeredByEvent='true'><startEvent id='n'>{inner}\
             </startEvent><endEvent id='z'/>{}</subProcess>",
            flow("f", "n", "z")
        ),
        Position::Catch if definition == "link" => format!(
            "<task id='a'/><intermediateThrowEvent id='o'>{inner}</intermediateThrowEvent>\
             <intermediateCatchEvent id='n'>{inner}</intermediateCatchEvent><task id='t'/>{}{}",
            flow("f", "n", "t"),
            flow("g", "a", "o")
        ),
        Position::Catch => format!(
            "<intermediateCatchEvent id='n'>{inner}</intermediateCatchEvent><task id='t'/>{}",
            flow("f", "n", "t")
        ),
        Position::Boundary => {
            let handler = if definition == "compensate" {
                "<task id='t' isForCompensation='true'/>\
                 <association id='f' sourceRef='n' targetRef='t'/>"
                    .to_owned()
            } else {
                format!("<task id='t'/>{}", flow("f", "n", "t"))
            };
            format!(
                "<transaction id='a'><task id='i'/></transaction>\
                 <boundaryEvent id='n' attachedToRef='a'>{inner}</boundaryEvent>{handler}"
            )
        }
        Position::Throw if definition == "link" => format!(
            "<task id='a'/><intermediateThrowEvent id='n'>{inner}</intermediateThrowEvent>\
             <intermediateCatchEvent id='o'>{inner}</intermediateCatchEvent><task id='t'/>{}{}",
            flow("f", "o", "t"),
            flow("g", "a", "n")
        ),
        Position::Throw => {
            format!("<intermediateThrowEvent id='n'>{inner}</intermediateThrowEvent>")
        }
        Position::End => format!(
            "<transaction id='a'><startEvent id='y'/><endEvent id='n'>{inner}</endEvent>{}\
             </transaction>",
            flow("f", "y", "n")
        ),
    };
    file(&format!(
        "<message id='m'/><signal id='s'/><error id='r' errorCode='R'/>\
         <escalation id='l' escalationCode='L'/><process id='p' isExecutable='true'>{body}\
         </process>"
    ))
}

#[test]
fn events_are_executed_where_the_table_says_so_and_rejected_elsewhere() {
    let definitions = kinds().filter(|it| it.base == "eventDefinition");
    for definition in definitions.map(|it| it.name.trim_end_matches("EventDefinition")) {
        for position in Position::ALL {
            let text = event(definition, position);
            let listed =
                events().iter().any(|it| it.definition == definition && it.position == position);
            assert_eq!(errors(&text).is_empty(), listed, "{definition} in {position:?}");
            if listed {
                assert!(does_something(&text, definition), "{definition} in {position:?}");
            }
        }
    }
}

/// Whether the event `n` became something in the plan.
fn does_something(text: &str, definition: &str) -> bool {
    let plan = plan(text);
    let node = plan.node(plan.find("n").unwrap());
    let triggers = match &node.element {
        Element::Start(it) => &it.triggers[..],
        Element::Catch(it) => &it.triggers,
        Element::Boundary(it) => &it.triggers,
        Element::Throw(throws) => return throws.len() == 1,
        Element::Pass => return definition == "link" && node.outgoing.len() == 1,
        _ => return false,
    };
    let fits = |it: &Trigger| match it {
        Trigger::Message(_) => definition == "message",
        Trigger::Signal { .. } => definition == "signal",
        Trigger::Timer { .. } => definition == "timer",
        Trigger::Condition { .. } => definition == "conditional",
        Trigger::Error { .. } => definition == "error",
        Trigger::Escalation { .. } => definition == "escalation",
        Trigger::Compensation => definition == "compensate",
        Trigger::Cancel => definition == "cancel",
    };
    matches!(triggers, [only] if fits(only))
}

const CAMUNDA7: &str = "
<error id='er' errorCode='E' camunda:errorMessage='no'/><escalation id='es' escalationCode='S'/>
<signal id='si'/>
<process id='p' isExecutable='true' camunda:versionTag='v'>
  <serviceTask id='a' camunda:type='external' camunda:topic='t'><extensionElements>
    <camunda:failedJobRetryTimeCycle>R5/PT5M</camunda:failedJobRetryTimeCycle>
    <camunda:inputOutput>
      <camunda:inputParameter name='i'><camunda:list><camunda:value>1</camunda:value>
      </camunda:list></camunda:inputParameter>
      <camunda:inputParameter name='j'><camunda:map><camunda:entry key='k'>1</camunda:entry>
      </camunda:map></camunda:inputParameter>
      <camunda:outputParameter name='o'><camunda:script scriptFormat='javascript'>1
      </camunda:script></camunda:outputParameter>
    </camunda:inputOutput></extensionElements></serviceTask>
  <serviceTask id='b' camunda:expression='${1}' camunda:resultVariable='r'/>
  <serviceTask id='c' camunda:class='x.Y'/>
  <serviceTask id='d' camunda:delegateExpression='${x}'/>
  <userTask id='d2' camunda:formRef='f'/>
  <businessRuleTask id='e' camunda:decisionRef='d' camunda:mapDecisionResult='resultList'
    camunda:decisionRefBinding='version' camunda:decisionRefVersion='2'/>
  <businessRuleTask id='e2' camunda:decisionRef='d' camunda:decisionRefBinding='versionTag'
    camunda:decisionRefVersionTag='v'/>
  <userTask id='f' camunda:assignee='a' camunda:candidateUsers='b' camunda:candidateGroups='c'
    camunda:dueDate='d' camunda:followUpDate='e' camunda:priority='1' camunda:formKey='f'>
    <extensionElements><camunda:executionListener event='start' class='x'/>
    <camunda:taskListener event='create' expression='${1}'/></extensionElements>
    <multiInstanceLoopCharacteristics camunda:collection='l' camunda:elementVariable='i'/>
  </userTask>
  <boundaryEvent id='g' attachedToRef='f'><errorEventDefinition errorRef='er'
    camunda:errorCodeVariable='c' camunda:errorMessageVariable='m'/></boundaryEvent>
  <boundaryEvent id='h' attachedToRef='f'><escalationEventDefinition escalationRef='es'
    camunda:escalationCodeVariable='c'/></boundaryEvent>
  <boundaryEvent id='i' attachedToRef='f'><conditionalEventDefinition camunda:variableName='x'
    camunda:variableEvents='create'><condition>${x}</condition></conditionalEventDefinition>
  </boundaryEvent>
  <callActivity id='j' calledElement='q' camunda:calledElementBinding='version'
    camunda:calledElementVersion='1'><extensionElements><camunda:in source='a' target='b'/>
    <camunda:out variables='all'/></extensionElements></callActivity>
  <callActivity id='k' calledElement='q' camunda:calledElementBinding='versionTag'
    camunda:calledElementVersionTag='v'/>
  <subProcess id='l'><startEvent id='m' camunda:initiator='who'/><endEvent id='n'><errorEventDefinition errorRef='er'/>
    </endEvent><sequenceFlow id='o' sourceRef='m' targetRef='n'/></subProcess>
</process>";

const CAMUNDA8: &str = "
<message id='m'><extensionElements><zeebe:subscription correlationKey='=k'/></extensionElements>
</message>
<process id='p' isExecutable='true'><extensionElements><zeebe:versionTag value='v'/>
  </extensionElements>
  <serviceTask id='a'><extensionElements><zeebe:taskDefinition type='t' retries='3'/>
    <zeebe:jobPriorityDefinition priority='7'/>
    <zeebe:taskHeaders><zeebe:header key='k' value='v'/></zeebe:taskHeaders>
    <zeebe:ioMapping><zeebe:input source='=x' target='y'/><zeebe:output source='=y' target='x'/>
    </zeebe:ioMapping></extensionElements>
    <multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics
      inputCollection='=l' inputElement='i' outputCollection='o' outputElement='=i'/>
      </extensionElements></multiInstanceLoopCharacteristics></serviceTask>
  <businessRuleTask id='b'><extensionElements><zeebe:calledDecision decisionId='d'
    resultVariable='r' bindingType='versionTag' versionTag='v'/></extensionElements></businessRuleTask>
  <scriptTask id='c'><extensionElements><zeebe:script expression='=1' resultVariable='r'/>
    </extensionElements></scriptTask>
  <userTask id='d'><extensionElements><zeebe:assignmentDefinition assignee='a'
    candidateUsers='b' candidateGroups='c'/><zeebe:taskSchedule dueDate='d' followUpDate='e'/>
    <zeebe:priorityDefinition priority='1'/><zeebe:formDefinition formId='f'/>
    <zeebe:executionListeners><zeebe:executionListener eventType='start' type='x'/>
    </zeebe:executionListeners><zeebe:taskListeners><zeebe:taskListener eventType='creating'
    type='x'/></zeebe:taskListeners>
    </extensionElements></userTask>
  <callActivity id='e'><extensionElements><zeebe:calledElement processId='q'
    propagateAllChildVariables='false'/></extensionElements></callActivity>
  <adHocSubProcess id='j'><extensionElements><zeebe:adHoc activeElementsCollection='=active'/>
    </extensionElements><task id='k'/></adHocSubProcess>
  <receiveTask id='f' messageRef='m'/>
  <intermediateCatchEvent id='g'><conditionalEventDefinition><extensionElements>
    <zeebe:conditionalFilter variableNames='x' variableEvents='create, update'/>
    </extensionElements><condition>=x</condition></conditionalEventDefinition>
    </intermediateCatchEvent>
</process>";

/// The extensions that reading a text honours.
fn honoured(text: &str, options: &Options) -> BTreeSet<String> {
    let with = "xmlns:camunda='http://camunda.org/schema/1.0/bpmn' \
                xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' targetNamespace";
    let text = file(text).replacen("targetNamespace", with, 1);
    let report = read(&[("model.bpmn", text.as_bytes())], options);
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let executed = report.elements.into_iter().filter(|it| it.verdict == Verdict::Executed);
    executed.map(|it| it.kind).filter(|it| it.contains(':')).collect()
}

#[test]
fn the_extensions_in_the_table_are_those_that_are_executed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/extensions.md");
    let native = std::fs::read_to_string(path).unwrap();
    let native = native.split("```xml\n").skip(1).filter_map(|it| it.split("```").next());
    let mut options = lenient();
    options.dialect = Some(Dialect::Native);
    let mut executed: BTreeSet<_> = native.flat_map(|it| honoured(it, &options)).collect();
    options.dialect = Some(Dialect::Camunda7);
    executed.extend(honoured(CAMUNDA7, &options));
    options.dialect = Some(Dialect::Camunda8);
    executed.extend(honoured(CAMUNDA8, &options));
    let table: BTreeSet<_> = executed_extensions().map(str::to_owned).collect();
    let missing: Vec<_> = executed.difference(&table).collect();
    let wrong: Vec<_> = table.difference(&executed).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "missing: {missing:?}, wrong: {wrong:?}");
}

/// The codes of all that is said about a file.
fn said(text: &str) -> Vec<&'static str> {
    report(text).diagnostics.iter().map(|it| it.code).collect()
}

#[test]
fn what_would_change_something_elsewhere_is_never_passed_over() {
    let task = |inner: &str| process(&format!("<userTask id='n'>{inner}</userTask>"));
    let data = "<dataObject id='order'/>";
    let io = "<ioSpecification><dataInput id='in' name='NAME'/><inputSet><dataInputRefs>in\
              </dataInputRefs></inputSet><outputSet/></ioSpecification><dataInputAssociation>\
              <sourceRef>order</sourceRef><targetRef>in</targetRef></dataInputAssociation>";
    let with_data = |name: &str| {
        process(&format!("{data}<userTask id='n'>{}</userTask>", io.replace("NAME", name)))
    };
    assert_eq!(said(&with_data("bill")), [""; 0], "it is copied");
    let camunda = |name: &str| {
        with_data(name).replace(
            "<process ",
            "<process xmlns:c='http://camunda.org/schema/1.0/bpmn' c:versionTag='1' ",
        )
    };
    assert_eq!(said(&camunda("bill")), ["TV0817"], "it is not copied there");
    assert_eq!(said(&camunda("order")), [""; 0], "it is seen anyway");
    let store =
        with_data("bill").replace("<dataObject id='order'/>", "<dataStoreReference id='order'/>");
    assert_eq!(said(&store), ["TV0817"]);
    let owner = "<potentialOwner><resourceRef>boss</resourceRef></potentialOwner>";
    let resource = "<resource id='boss' name='Boss'/>";
    let owned = file(&format!(
        "{resource}<process id='p' isExecutable='true'><userTask id='n'>{owner}</userTask></process>"
    ));
    assert_eq!(said(&owned), ["TV0815"]);
    let expression = "<potentialOwner><resourceAssignmentExpression><formalExpression>a\
                      </formalExpression></resourceAssignmentExpression></potentialOwner>";
    assert_eq!(said(&task(expression)), [""; 0]);
    assert_eq!(said(&task(expression).replace("userTask", "manualTask")), ["TV0815"]);
    let must = "<extension mustUnderstand='true' definition='x:y'/>";
    let body = "<process id='p' isExecutable='true'><task id='n'/></process>";
    assert_eq!(errors(&file(&format!("{must}{body}"))), ["TV0813"]);
    assert_eq!(errors(&file(&format!("{}{body}", must.replace("true", "false")))), [""; 0]);
}

#[test]
fn kinds_of_sub_process_are_not_mixed() {
    let inner = "<startEvent id='s'><signalEventDefinition signalRef='g'/></startEvent>\
                 <endEvent id='e'/><sequenceFlow id='f' sourceRef='s' targetRef='e'/>";
    let text = |kind: &str| {
        file(&format!(
            "<signal id='g'/><process id='p' isExecutable='true'><task id='t'/>\
             <{kind} id='n' triggeredByEvent='true'>{inner}</{kind}></process>"
        ))
    };
    assert_eq!(errors(&text("subProcess")), [""; 0]);
    assert_eq!(errors(&text("transaction")), ["TV0810"]);
    let method = |it: &str| {
        process(&format!("<transaction id='n' method='{it}'><task id='t'/></transaction>"))
    };
    assert_eq!(said(&method("##Compensate")), [""; 0]);
    assert_eq!(said(&method("##Store")), ["TV0811"]);
}

#[test]
fn an_event_catches_errors_of_several_kinds() {
    let text = |second: &str| {
        file(&format!(
            "<error id='a' errorCode='A'/><error id='b' errorCode='B'/><signal id='s'/>\
             <process id='p' isExecutable='true'><userTask id='t'/><boundaryEvent id='n' \
             attachedToRef='t'><errorEventDefinition errorRef='a'/>{second}</boundaryEvent>\
             <task id='u'/><sequenceFlow id='f' sourceRef='n' targetRef='u'/></process>"
        ))
    };
    assert_eq!(errors(&text("<errorEventDefinition errorRef='b'/>")), [""; 0]);
    assert_eq!(errors(&text("<signalEventDefinition signalRef='s'/>")), [""; 0]);
}

#[test]
fn correlation_keys_and_mixed_up_message_flows_are_warned_about() {
    let text = |awaited: &str, key: &str| {
        file(&format!(
            "<message id='a' name='A'/><message id='b' name='B'/><collaboration id='c'>\
             <participant id='x' processRef='p'/><participant id='y' processRef='q'/>\
             <messageFlow id='m' sourceRef='n' targetRef='r'/>{key}</collaboration>\
             <process id='p' isExecutable='true'><sendTask id='n' messageRef='a'/></process>\
             <process id='q' isExecutable='true'><receiveTask id='r' messageRef='{awaited}'/>\
             <receiveTask id='r2' messageRef='a'/></process>"
        ))
    };
    assert_eq!(said(&text("a", "")), [""; 0]);
    assert_eq!(said(&text("b", "")), ["TV0816"]);
    assert_eq!(said(&text("a", "<correlationKey id='k'/>")), ["TV0814"]);
}

#[test]
fn attributes_without_effect_are_answered_too() {
    let report = report(&process(
        "<transaction id='n' method='##Compensate'><serviceTask id='t' implementation='x'/>\
         </transaction>",
    ));
    let answer =
        |kind: &str| report.elements.iter().find(|it| it.kind == kind).map(|it| it.verdict);
    assert_eq!(answer("@method"), Some(Verdict::NoEffect));
    assert_eq!(answer("@implementation"), None, "it is executed, like most");
}
