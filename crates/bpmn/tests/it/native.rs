//! Our own extensions.

use std::sync::Arc;

use travertine_bpmn::{Options, read};
use travertine_kernel::plan::{
    CompensateOnError, Element, Merge, Policy, RestrictionScope, ScopeOutput, UnhandledError, Write,
};
use travertine_value::Program;

use crate::model::{around, element, errors, file, node, plan};

#[test]
fn gates_mappings_operators_and_restrictions_are_read() {
    let plan = plan(&around(
        "<userTask id='n' tv:gate='ready exit'><extensionElements>\
         <tv:input target='x'>a + 1</tv:input><tv:output target='y'>b</tv:output>\
         <tv:operator attribute='load'>load + 1</tv:operator>\
         <tv:restriction id='r1' scope='entry'>load &lt; 3</tv:restriction>\
         <tv:restriction>true</tv:restriction></extensionElements></userTask>",
    ));
    let extras = node(&plan, "n").extras.as_ref().unwrap();
    assert_eq!((extras.gates.ready, extras.gates.entry, extras.gates.exit), (true, false, true));
    let first = |list: &[(Arc<str>, Program)]| format!("{}={}", list[0].0, list[0].1.source());
    assert_eq!(first(&extras.inputs), "x=a + 1");
    assert_eq!(first(&extras.outputs), "y=b");
    assert_eq!(first(&extras.operators), "load=load + 1");
    assert_eq!(&*extras.restrictions[0].name, "r1");
    assert_eq!(extras.restrictions[0].scope, RestrictionScope::Entry);
    assert_eq!(extras.restrictions[1].scope, RestrictionScope::Full);
}

#[test]
fn a_process_chooses_its_policies() {
    let text = around("<task id='n'/>").replace(
        "<process id='p' isExecutable='true'>",
        "<process id='p' isExecutable='true' tv:write='propagate' tv:scopeOutput='all' \
         tv:unhandledError='fail' tv:compensateOnError='always' tv:stepLimit='1000'>\
         <extensionElements><tv:status><tv:attribute name='load'>0</tv:attribute>\
         <tv:attribute name='level'/></tv:status></extensionElements>",
    );
    let plan = plan(&text);
    let chosen = Policy {
        write: Write::Propagate { mapped: false },
        scope_output: ScopeOutput::All,
        unhandled_error: UnhandledError::Fail,
        compensate_on_error: CompensateOnError::Always,
        ..Policy::NATIVE
    };
    assert_eq!((plan.policy, plan.steps_max), (chosen, Some(1000)));
    let status: Vec<_> =
        plan.status.iter().map(|(name, first)| (&**name, first.is_some())).collect();
    assert_eq!(status, [("load", true), ("level", false)]);
}

#[test]
fn a_gateway_can_isolate_its_branches_and_another_merge_them() {
    let with = |merge: &str| {
        around(&format!(
            "<parallelGateway id='n' tv:fork='isolate'/><task id='a'/>\
             <parallelGateway id='join' {merge}/><endEvent id='e'/>\
             <sequenceFlow id='f1' sourceRef='n' targetRef='a'/>\
             <sequenceFlow id='f2' sourceRef='n' targetRef='join'/>\
             <sequenceFlow id='f3' sourceRef='a' targetRef='join'/>\
             <sequenceFlow id='f4' sourceRef='join' targetRef='e'/>"
        ))
        .replace("<sequenceFlow id='out' sourceRef='n' targetRef='end'/><endEvent id='end'/>", "")
    };
    let plan = plan(&with("tv:merge='append' tv:path='results'"));
    assert!(matches!(node(&plan, "n").element, Element::FanOut));
    let Element::FanIn(merge) = &node(&plan, "join").element else { panic!() };
    assert_eq!(*merge, Merge::Append("results".into()));
    assert_eq!(errors(&with("tv:merge='append'")), ["TV0703"]);
    assert_eq!(errors(&with("")), ["TV0453"]);
}

#[test]
fn a_gosub_runs_a_process_of_another_file_in_the_same_plan() {
    let caller = around("<callActivity id='n' calledElement='called' tv:gosub='true'/>");
    let called = file(
        "<process id='called'><startEvent id='s'/><endEvent id='e'/>\
         <sequenceFlow id='f' sourceRef='s' targetRef='e2'/>\
         <callActivity id='e2' calledElement='called' tv:gosub='true'/>\
         <sequenceFlow id='g' sourceRef='e2' targetRef='e'/></process>",
    );
    let files = [("a.bpmn", caller.as_bytes()), ("b.bpmn", called.as_bytes())];
    let report = read(&files, &Options::default());
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let plan = &report.processes[0].plan;
    let called = plan.find("called").unwrap();
    for id in ["n", "e2"] {
        let Element::Gosub { process } = node(plan, id).element else { panic!() };
        assert_eq!(process, called);
    }
    assert_eq!(node(plan, "called").parent, None);
    assert_eq!(errors(&caller), ["TV0431"]);
}

#[test]
fn tasks_name_their_workers_and_people() {
    let Element::Work(work) = element(&around(
        "<serviceTask id='n' tv:jobType='mail' tv:retries='5'><extensionElements>\
         <tv:header key='to'>address</tv:header></extensionElements></serviceTask>",
    )) else {
        panic!()
    };
    assert_eq!(work.job_type.source(), "\"mail\"");
    assert_eq!(work.retries.unwrap().source(), "5");
    assert_eq!((&*work.fields[0].0, work.fields[0].1.source()), ("to", "address"));
    let Element::Work(work) =
        element(&around("<userTask id='n' tv:assignee='${boss}' tv:dueDate='P1D'/>"))
    else {
        panic!()
    };
    let fields: Vec<_> = work.fields.iter().map(|(name, it)| (&**name, it.source())).collect();
    assert_eq!(fields, [("assignee", "${boss}"), ("dueDate", "\"P1D\"")]);
    assert!(matches!(element(&around("<task id='n' tv:decision='true'/>")), Element::Decision));
}

#[test]
fn a_misspelt_extension_is_refused() {
    assert_eq!(errors(&around("<userTask id='n' tv:asignee='x'/>")), ["TV0702"]);
    assert_eq!(errors(&around("<userTask id='n' tv:gate='enter'/>")), ["TV0703"]);
}
