//! Which node lies in which scope.

use travertine_kernel::plan::Element;

use crate::model::{around, errors, file, inside, node, plan, process};

const NESTED: &str = "\
    <subProcess id='n'>\
      <startEvent id='s1'/><sequenceFlow id='f1' sourceRef='s1' targetRef='deep'/>\
      <subProcess id='deep'>\
        <startEvent id='s2'/><sequenceFlow id='f2' sourceRef='s2' targetRef='task'/>\
        <userTask id='task'/><sequenceFlow id='f3' sourceRef='task' targetRef='e2'/>\
        <endEvent id='e2'/>\
        <boundaryEvent id='inner' attachedToRef='task'><timerEventDefinition>\
          <timeDuration>PT1S</timeDuration></timerEventDefinition></boundaryEvent>\
        <sequenceFlow id='f4' sourceRef='inner' targetRef='e2'/>\
      </subProcess>\
      <sequenceFlow id='f5' sourceRef='deep' targetRef='e1'/><endEvent id='e1'/>\
    </subProcess>\
    <boundaryEvent id='outer' attachedToRef='n'><errorEventDefinition/></boundaryEvent>\
    <sequenceFlow id='f6' sourceRef='outer' targetRef='end'/>";

// covers: SCOPE-48, SCOPE-49
#[test]
fn each_scope_has_its_own_nodes_and_no_others() {
    let plan = plan(&around(NESTED));
    assert_eq!(inside(&plan, "p"), ["start", "n", "outer", "end"]);
    assert_eq!(inside(&plan, "n"), ["s1", "deep", "e1"]);
    assert_eq!(inside(&plan, "deep"), ["s2", "task", "e2", "inner"]);
}

// covers: SCOPE-50, SCOPE-51
#[test]
fn a_boundary_event_lies_beside_its_activity() {
    let plan = plan(&around(NESTED));
    assert_eq!(node(&plan, "outer").parent, plan.find("p"));
    assert_eq!(node(&plan, "n").boundary, [plan.find("outer").unwrap()]);
    assert_eq!(node(&plan, "inner").parent, plan.find("deep"));
    assert_eq!(node(&plan, "task").boundary, [plan.find("inner").unwrap()]);
}

// covers: SCOPE-52
#[test]
fn flows_belong_to_the_scope_they_are_drawn_in() {
    let plan = plan(&around(NESTED));
    let names = |id| {
        let node = node(&plan, id);
        let flows = node.incoming.iter().chain(&node.outgoing);
        flows.map(|it| &*plan.flow(*it).name).collect::<Vec<_>>()
    };
    assert_eq!(names("n"), ["in", "out"]);
    assert_eq!(names("deep"), ["f1", "f5"]);
    assert_eq!(names("task"), ["f2", "f3"]);
}

#[test]
fn a_flow_across_the_border_of_a_scope_is_refused() {
    let text = "<subProcess id='n'><task id='a'/></subProcess><task id='b'/>\
                <sequenceFlow id='f' sourceRef='a' targetRef='b'/>";
    assert_eq!(errors(&process(text)), ["TV0402"]);
}

// covers: TOKEN-24
#[test]
fn a_sub_process_has_at_most_one_start_event_and_it_is_blank() {
    let two = "<subProcess id='n'><startEvent id='a'/><startEvent id='b'/><endEvent id='c'/>\
               <sequenceFlow id='f' sourceRef='a' targetRef='c'/>\
               <sequenceFlow id='g' sourceRef='b' targetRef='c'/></subProcess>";
    assert_eq!(errors(&around(two)), ["TV0415"]);
    let none = "<subProcess id='n'><task id='a'/><task id='b'/></subProcess>";
    let plan = plan(&around(none));
    let container = node(&plan, "n").element.container().unwrap();
    assert_eq!(container.starts, [plan.find("a").unwrap(), plan.find("b").unwrap()]);
}

// covers: TOKEN-25
#[test]
fn an_ad_hoc_sub_process_has_no_start_event() {
    let drawn = "<adHocSubProcess id='n'><startEvent id='a'/><task id='b'/>\
                 <sequenceFlow id='f' sourceRef='a' targetRef='b'/></adHocSubProcess>";
    assert_eq!(errors(&around(drawn)), ["TV0418"]);
    let free = "<adHocSubProcess id='n'><task id='a'/><task id='b'/>\
                <sequenceFlow id='f' sourceRef='a' targetRef='b'/><task id='c'/></adHocSubProcess>";
    let plan = plan(&around(free));
    let container = node(&plan, "n").element.container().unwrap();
    assert_eq!(container.starts, [plan.find("a").unwrap(), plan.find("c").unwrap()]);
}

// covers: TOKEN-26
#[test]
fn an_event_sub_process_has_exactly_one_typed_start_event() {
    let with = |starts: &str| {
        let event = format!(
            "<task id='n'/><subProcess id='e' triggeredByEvent='true'>{starts}<endEvent id='z'/>\
             <sequenceFlow id='f' sourceRef='a' targetRef='z'/></subProcess>"
        );
        around(&event)
    };
    let typed = "<startEvent id='a' isInterrupting='false'><timerEventDefinition>\
                 <timeDuration>PT1S</timeDuration></timerEventDefinition></startEvent>";
    assert_eq!(errors(&with("<startEvent id='a'/>")), ["TV0417"]);
    let two = "<startEvent id='b'><errorEventDefinition/></startEvent>\
               <sequenceFlow id='g' sourceRef='b' targetRef='z'/>";
    assert_eq!(errors(&with(&format!("{typed}{two}"))), ["TV0415"]);
    let plan = plan(&with(typed));
    let Element::EventSubProcess(event) = &node(&plan, "e").element else { panic!() };
    assert_eq!((event.start, event.interrupting), (plan.find("a").unwrap(), false));
}

// covers: FLOW-39
#[test]
fn the_performer_is_the_nearest_one_that_says_so() {
    let performer = "<performer name='Sequential'/>";
    let ad_hoc = |id: &str, rest: &str| {
        format!(
            "<adHocSubProcess id='{id}' ordering='Sequential'><task id='{id}t'/>{rest}\
             </adHocSubProcess>"
        )
    };
    let text = process(&format!(
        "{performer}<startEvent id='start'/><endEvent id='end'/>\
         <sequenceFlow id='f' sourceRef='start' targetRef='n'/>\
         <sequenceFlow id='g' sourceRef='n' targetRef='end'/>\
         <subProcess id='n'>{}{}</subProcess>",
        ad_hoc("a", &ad_hoc("b", "")),
        ad_hoc("c", performer)
    ));
    let plan = plan(&text);
    let performer = |id| {
        let Element::AdHoc(it) = &node(&plan, id).element else { panic!() };
        it.performer
    };
    assert_eq!(performer("a"), plan.find("p"));
    assert_eq!(performer("b"), None, "another ad-hoc sub-process comes first");
    assert_eq!(performer("c"), None, "it is its own performer");
}

#[test]
fn events_may_refer_to_what_links_and_compensates() {
    let plan = plan(&file(
        "<linkEventDefinition id='to' name='k'/><linkEventDefinition id='from' name='k'/>\
         <compensateEventDefinition id='undo'/><process id='p' isExecutable='true'><task id='a'/>\
         <boundaryEvent id='b' attachedToRef='a'><eventDefinitionRef>undo</eventDefinitionRef></boundaryEvent>\
         <task id='h' isForCompensation='true'/><association id='o' sourceRef='b' targetRef='h'/>\
         <intermediateThrowEvent id='t'><eventDefinitionRef>to</eventDefinitionRef></intermediateThrowEvent>\
         <sequenceFlow id='x' sourceRef='a' targetRef='t'/>\
         <intermediateCatchEvent id='c'><eventDefinitionRef>from</eventDefinitionRef></intermediateCatchEvent>\
         </process>",
    ));
    let Element::Boundary(boundary) = &node(&plan, "b").element else { panic!() };
    assert_eq!(boundary.handler, plan.find("h"));
    let [flow] = node(&plan, "t").outgoing[..] else { panic!() };
    assert_eq!(Some(plan.flow(flow).to), plan.find("c"));
}
