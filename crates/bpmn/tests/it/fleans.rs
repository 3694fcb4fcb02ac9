//! Models made for Fleans: how they are recognised, and what is made of them.

use travertine_bpmn::{Options, Report, Severity, read};
use travertine_kernel::plan::{Count, Element, OnEmpty, OutputItem, Repeat, ScopeOutput, Trigger};

use crate::model::{node, report};

const BPMN: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";

/// A file of a vendor's editor, without a targetNamespace.
fn file(body: &str) -> String {
    format!(
        "<definitions xmlns='{BPMN}' xmlns:fleans='https://fleans.io/schema/bpmn/1.0' \
         xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' \
         xmlns:camunda='http://camunda.org/schema/1.0/bpmn'>{body}</definitions>"
    )
}

fn process(body: &str) -> String {
    file(&format!("<process id='p' isExecutable='true'>{body}</process>"))
}

/// `start`, then the node `n`, then `end`.
fn around(body: &str) -> String {
    process(&format!(
        "<startEvent id='start'/><sequenceFlow id='in' sourceRef='start' targetRef='n'/>{body}\
         <sequenceFlow id='out' sourceRef='n' targetRef='end'/><endEvent id='end'/>"
    ))
}

fn codes(report: &Report, severity: Severity) -> Vec<&'static str> {
    report.diagnostics.iter().filter(|it| it.severity == severity).map(|it| it.code).collect()
}

#[track_caller]
fn accepted(text: &str) -> Report {
    let report = report(text);
    assert!(!report.is_rejected(), "{:#?}\n{text}", report.diagnostics);
    report
}

/// Whether a file is taken for one of Fleans, which shows in what becomes of sub-processes.
fn is_fleans(text: &str) -> bool {
    let report = read(&[("model.bpmn", text.as_bytes())], &Options::default());
    report.processes.first().is_some_and(|it| it.plan.policy.scope_output == ScopeOutput::All)
}

#[test]
fn each_of_its_marks_makes_a_file_fleans() {
    let plain = |attributes: &str, body: &str| {
        format!(
            "<definitions xmlns='{BPMN}' xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' {attributes}>\
             <process id='p' isExecutable='true'>{body}</process></definitions>"
        )
    };
    let t = "targetNamespace='t'";
    let task = "<task id='t'/>";
    let gateway = "<task id='a'/><task id='b'/><task id='c'/><sequenceFlow id='x' sourceRef='a' targetRef='c'/>\
                   <sequenceFlow id='y' sourceRef='a' targetRef='b'><conditionExpression>_context.x == 1\
                   </conditionExpression></sequenceFlow>";
    for (attributes, body) in [
        ("xmlns:f='https://fleans.io/schema/bpmn/1.0'", task),
        ("xmlns:f='http://fleans.io/schema/bpmn/fleans'", task),
        ("targetNamespace='http://fleans.io/x'", task),
        (t, "<scriptTask id='s' scriptFormat='csharp'><script>x = 1</script></scriptTask>"),
        (t, "<scriptTask id='s' scriptFormat='C#'><script>x = 1</script></scriptTask>"),
        (t, "<scriptTask id='s'><script>_context.x = 1</script></scriptTask>"),
        (t, gateway),
        (t, "<serviceTask id='s' type='rest'/>"),
        (
            t,
            "<transaction id='s'><startEvent id='u'/><sequenceFlow id='f' sourceRef='u' targetRef='v'/>\
             <cancelEndEvent id='v'/></transaction>",
        ),
        (t, "<task id='s'><multiInstanceLoopCharacteristics collection='all'/></task>"),
        (
            t,
            "<task id='s'><multiInstanceLoopCharacteristics zeebe:collection='all' \
             zeebe:elementVariable='one'/></task>",
        ),
        (
            t,
            "<task id='s'><multiInstanceLoopCharacteristics zeebe:outputCollection='all'>\
             <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></task>",
        ),
    ] {
        assert!(is_fleans(&plain(attributes, body)), "{attributes} {body}");
    }
    for (attributes, body) in [
        (t, task),
        (t, "<serviceTask id='s'/>"),
        (t, "<scriptTask id='s' scriptFormat='javascript'><script>x = 1</script></scriptTask>"),
        (
            t,
            "<task id='s'><multiInstanceLoopCharacteristics inputCollection='all' \
             outputCollection='some' outputDataItem='one'/></task>",
        ),
    ] {
        assert!(!is_fleans(&plain(attributes, body)), "{attributes} {body}");
    }
}

#[test]
fn what_its_files_have_is_tolerated() {
    for body in [
        // Prefixes of several vendors.
        "<userTask id='n' camunda:assignee='joe'><extensionElements><zeebe:taskHeaders/></extensionElements>\
         </userTask>",
        // Boundary events of events.
        "<intermediateCatchEvent id='n'><timerEventDefinition><timeDuration>PT1H</timeDuration>\
         </timerEventDefinition></intermediateCatchEvent><boundaryEvent id='b' attachedToRef='n'>\
         <timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition></boundaryEvent>\
         <sequenceFlow id='f' sourceRef='b' targetRef='end'/>",
        // Compensation, drawn their way.
        "<task id='n'/><boundaryEvent id='b' attachedToRef='n' cancelActivity='false'>\
         <compensateEventDefinition/></boundaryEvent><task id='undo'/>\
         <association id='o' sourceRef='b' targetRef='undo'/>",
        "<scriptTask id='n' scriptFormat='csharp'/>",
        "<scriptTask id='n' scriptFormat='csharp'><script> </script></scriptTask>",
        "<scriptTask id='n'><script>x = 1</script></scriptTask>",
        "<serviceTask id='n' type='rest'/>",
        "<task id='n'/><endEvent id='lonely'/>",
        "<task id='n'><incoming>in</incoming></task>",
        "<task id='n'><multiInstanceLoopCharacteristics collection='all' elementVariable='one' \
         outputCollection='some' outputElement='it'/></task>",
    ] {
        accepted(&around(body));
    }
}

#[test]
fn a_handler_is_one_because_an_association_says_so() {
    let text = around(
        "<task id='n'/><boundaryEvent id='b' attachedToRef='n'><compensateEventDefinition/></boundaryEvent>\
         <task id='undo'/><association id='o' sourceRef='b' targetRef='undo'/>",
    );
    let plan = std::sync::Arc::clone(&accepted(&text).processes[0].plan);
    assert!(node(&plan, "undo").for_compensation);
    let Element::Boundary(boundary) = &node(&plan, "b").element else { panic!() };
    assert_eq!(boundary.handler, plan.find("undo"));
}

#[test]
fn a_cancel_end_event_cancels_its_transaction() {
    let text = around(
        "<transaction id='n'><startEvent id='s'/><sequenceFlow id='f' sourceRef='s' targetRef='e'/>\
         <cancelEndEvent id='e'/></transaction><boundaryEvent id='b' attachedToRef='n'>\
         <cancelEventDefinition/></boundaryEvent><sequenceFlow id='g' sourceRef='b' targetRef='end'/>",
    );
    let plan = std::sync::Arc::clone(&accepted(&text).processes[0].plan);
    assert!(matches!(&node(&plan, "e").element, Element::Throw(all) if all.len() == 1));
}

#[test]
fn tasks_wait_and_service_tasks_are_jobs_of_their_type() {
    for (body, wanted) in [
        ("<task id='n'/>", "task"),
        ("<serviceTask id='n'/>", "n"),
        ("<serviceTask id='n' type='rest'/>", "rest"),
        (
            "<serviceTask id='n'><extensionElements><fleans:taskDefinition type='mail'/>\
             </extensionElements></serviceTask>",
            "mail",
        ),
        (
            "<serviceTask id='n'><extensionElements><zeebe:TaskDefinition type='mail'/>\
             </extensionElements></serviceTask>",
            "mail",
        ),
    ] {
        let plan = std::sync::Arc::clone(&accepted(&around(body)).processes[0].plan);
        let Element::Work(work) = &node(&plan, "n").element else { panic!("{body}") };
        assert_eq!(work.job_type.source().trim_matches('"'), wanted, "{body}");
    }
}

#[test]
fn loops_are_about_variables_and_a_number_wins() {
    let each = |attributes: &str, inner: &str| {
        let text = around(&format!(
            "<task id='n'><multiInstanceLoopCharacteristics {attributes}>{inner}\
             </multiInstanceLoopCharacteristics></task>"
        ));
        let plan = std::sync::Arc::clone(&accepted(&text).processes[0].plan);
        match node(&plan, "n").repeat.as_deref() {
            Some(Repeat::Each(each)) => each.clone(),
            other => panic!("{other:?}"),
        }
    };
    for attributes in [
        "collection='all' elementVariable='one' outputCollection='some' outputElement='it'",
        "zeebe:collection='all' zeebe:elementVariable='one' zeebe:outputCollection='some' \
         zeebe:outputElement='it'",
        "fleans:collection='= all' fleans:elementVariable='one' fleans:outputCollection='some' \
         fleans:outputElement='=it'",
    ] {
        let it = each(attributes, "");
        assert!(matches!(&it.count, Count::Collection(program) if program.source() == "all"));
        assert_eq!(it.item.as_deref(), Some("one"));
        let (list, item) = it.output.unwrap();
        assert_eq!(&*list, "some");
        assert!(matches!(item, OutputItem::Variable(name) if &*name == "it"));
        assert_eq!(it.on_empty, OnEmpty::Complete);
    }
    let it = each("collection='all' elementVariable='one'", "<loopCardinality>3</loopCardinality>");
    assert!(matches!(it.count, Count::Cardinality(_)));
    assert_eq!(it.item, None);
}

#[test]
fn the_key_of_a_message_is_a_variable() {
    for (message, event) in [
        (
            "<message id='m' name='hi'><extensionElements><fleans:subscription correlationKey='= order'/>\
             </extensionElements></message>",
            "",
        ),
        (
            "<message id='m' name='hi'><extensionElements><zeebe:subscription correlationKey='order'/>\
             </extensionElements></message>",
            "",
        ),
        ("<message id='m' name='hi'/>", "fleans:correlationKey='order'"),
        ("<message id='m' name='hi'/>", "zeebe:correlationKey='=order'"),
    ] {
        let text = file(&format!(
            "{message}<process id='p' isExecutable='true'><startEvent id='s'/><endEvent id='e'/>\
             <intermediateCatchEvent id='n' {event}><messageEventDefinition messageRef='m'/>\
             </intermediateCatchEvent><sequenceFlow id='a' sourceRef='s' targetRef='n'/>\
             <sequenceFlow id='b' sourceRef='n' targetRef='e'/></process>"
        ));
        let plan = std::sync::Arc::clone(&accepted(&text).processes[0].plan);
        let Element::Catch(catch) = &node(&plan, "n").element else { panic!() };
        let [Trigger::Message(message)] = &catch.triggers[..] else { panic!() };
        let [(name, key)] = &message.correlation[..] else { panic!("{event}") };
        assert_eq!((&**name, key.source()), ("correlationKey", "order"));
    }
}

#[test]
fn branches_that_come_together_have_variables_of_their_own() {
    let branches = |more: &str| {
        process(&format!(
            "<startEvent id='s'/><sequenceFlow id='f0' sourceRef='s' targetRef='fork'/>\
             <parallelGateway id='fork'/><sequenceFlow id='f1' sourceRef='fork' targetRef='a'/>\
             <sequenceFlow id='f2' sourceRef='fork' targetRef='b'/><task id='a'/><task id='b'/>\
             <sequenceFlow id='f3' sourceRef='a' targetRef='join'/>\
             <sequenceFlow id='f4' sourceRef='b' targetRef='join'/><parallelGateway id='join'/>\
             <sequenceFlow id='f5' sourceRef='join' targetRef='e'/><endEvent id='e'/>{more}"
        ))
    };
    let elements = |text: &str| {
        let plan = std::sync::Arc::clone(&accepted(text).processes[0].plan);
        let is_fan_out = matches!(node(&plan, "fork").element, Element::FanOut);
        (is_fan_out, matches!(node(&plan, "join").element, Element::FanIn(_)))
    };
    assert_eq!(elements(&branches("")), (true, true));
    // Where one branch ends on its way and others meet, or something comes beside, all is shared.
    let ends = "<sequenceFlow id='f6' sourceRef='a' targetRef='z'/><endEvent id='z'/>";
    assert_eq!(elements(&branches(ends)), (false, false));
    let beside = "<boundaryEvent id='t' attachedToRef='a' cancelActivity='false'><timerEventDefinition>\
                  <timeDuration>PT1M</timeDuration></timerEventDefinition></boundaryEvent>\
                  <sequenceFlow id='f6' sourceRef='t' targetRef='join'/>";
    assert_eq!(elements(&branches(beside)), (false, false));
    // Complex gateways fork and join like others, unless they say when to go on; a link is a flow.
    let complex = branches("").replace("parallelGateway", "complexGateway");
    assert_eq!(elements(&complex), (true, true));
    let linked = branches(
        "<intermediateThrowEvent id='off'><linkEventDefinition name='l'/></intermediateThrowEvent>\
         <intermediateCatchEvent id='on'><linkEventDefinition name='l'/></intermediateCatchEvent>\
         <sequenceFlow id='f6' sourceRef='on' targetRef='join'/>",
    );
    let linked = linked.replace("sourceRef='a' targetRef='join'", "sourceRef='a' targetRef='off'");
    assert_eq!(elements(&linked), (true, true));
    let counted = complex.replace(
        "<complexGateway id='join'/>",
        "<complexGateway id='join'><activationCondition>_nroftoken == 1</activationCondition>\
         </complexGateway>",
    );
    assert_eq!(elements(&counted), (false, false));
    // Where all end, none needs a join.
    let text = process(
        "<startEvent id='s'/><sequenceFlow id='f0' sourceRef='s' targetRef='fork'/>\
         <parallelGateway id='fork'/><sequenceFlow id='f1' sourceRef='fork' targetRef='a'/>\
         <sequenceFlow id='f2' sourceRef='fork' targetRef='b'/><task id='a'/><task id='b'/>\
         <sequenceFlow id='f3' sourceRef='a' targetRef='e'/>\
         <sequenceFlow id='f4' sourceRef='b' targetRef='e'/><endEvent id='e'/>",
    );
    let plan = std::sync::Arc::clone(&accepted(&text).processes[0].plan);
    assert!(matches!(node(&plan, "fork").element, Element::FanOut));
}

#[test]
fn what_is_not_read_there_is_named() {
    let text = around(
        "<scriptTask id='n' scriptFormat='csharp'><extensionElements><zeebe:script expression='=1'/>\
         </extensionElements><script>Console.WriteLine(\"hi\")</script></scriptTask>",
    );
    let report = accepted(&text);
    assert_eq!(codes(&report, Severity::Warning), ["TV0731", "TV0702"]);
    let text = around(
        "<scriptTask id='n' scriptFormat='csharp'><script>foreach (x) {}</script></scriptTask>",
    );
    assert_eq!(codes(&crate::model::report(&text), Severity::Error), ["TV0503"]);
}

#[test]
fn what_others_say_of_people_calls_and_events_has_no_effect() {
    let user = "<userTask id='n' camunda:assignee='${who}' camunda:candidateUsers='a,b' \
                camunda:candidateGroups='${one}, two' camunda:dueDate='${when}' camunda:priority='high'/>";
    let report = accepted(&around(user));
    assert_eq!(codes(&report, Severity::Warning), ["TV0702"; 3]);
    let Element::Work(work) = &node(&report.processes[0].plan, "n").element else { panic!() };
    let fields: Vec<_> =
        work.fields.iter().map(|(it, program)| (&**it, program.source())).collect();
    assert_eq!(fields, [("assignee", "${who}"), ("candidateUsers", "\"a,b\"")]);
    let call = "<callActivity id='n' calledElement='q' camunda:calledElementBinding='version'/>";
    let report = accepted(&around(call));
    assert_eq!(codes(&report, Severity::Warning), ["TV0702"]);
    let Element::Call(call) = &node(&report.processes[0].plan, "n").element else { panic!() };
    assert_eq!((&call.binding, call.computed.is_some()), (&None, false));
}

#[test]
fn nothing_that_bpmnos_means_is_ignored() {
    let file = |body: &str| {
        format!(
            "<definitions xmlns='{BPMN}' xmlns:b='https://bpmnos.telematique.eu' targetNamespace='t'>{body}\
             </definitions>"
        )
    };
    let plain = "<process id='p' isExecutable='@'><task id='t'/></process>".replace('@', "true");
    accepted(&file(&plain));
    for body in [
        plain.replace("<task id='t'/>", "<task id='t' b:type='Decision'/>"),
        plain.replace(
            "<task id='t'/>",
            "<task id='t'><extensionElements><b:status/></extensionElements></task>",
        ),
        plain.replace("<process ", "<process b:x='1' "),
        format!(
            "<dataStore id='d'><extensionElements><b:tables/></extensionElements></dataStore>{plain}"
        ),
        plain.replace("'true'", "'false'").replace("<task id='t'/>", "<task id='t' b:x='1'/>"),
    ] {
        let report = report(&file(&body));
        assert!(codes(&report, Severity::Error).contains(&"TV0730"), "{body}");
    }
}

#[test]
fn an_expression_in_c_sharp_tells_the_dialect() {
    for language in ["language='csharp'", "language='C#'"] {
        let text = crate::model::process(&format!(
            "<exclusiveGateway id='g' default='f3'/><task id='a'/><task id='b'/>\
             <sequenceFlow id='f2' sourceRef='g' targetRef='a'><conditionExpression {language}>\
             _context.x > 5</conditionExpression></sequenceFlow>\
             <sequenceFlow id='f3' sourceRef='g' targetRef='b'/>"
        ));
        assert_eq!(crate::model::plan(&text).policy.scope_output, ScopeOutput::All, "{language}");
    }
}
