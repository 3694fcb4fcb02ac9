//! Every node knows which kind of element it was read from.

use travertine_kernel::ElementKind;

use crate::model::{around, node, plan, process};

#[test]
fn a_node_is_of_the_kind_of_the_element_it_was_read_from() {
    let inside = "<startEvent id='i'/>";
    for (element, kind) in [
        ("<task id='n'/>", ElementKind::Task),
        ("<manualTask id='n'/>", ElementKind::ManualTask),
        ("<userTask id='n'/>", ElementKind::UserTask),
        ("<serviceTask id='n' tv:jobType='a'/>", ElementKind::ServiceTask),
        ("<businessRuleTask id='n' tv:jobType='a'/>", ElementKind::BusinessRuleTask),
        ("<sendTask id='n' tv:jobType='a'/>", ElementKind::SendTask),
        ("<scriptTask id='n'><script>1</script></scriptTask>", ElementKind::ScriptTask),
        ("<exclusiveGateway id='n'/>", ElementKind::ExclusiveGateway),
        ("<parallelGateway id='n'/>", ElementKind::ParallelGateway),
        ("<inclusiveGateway id='n'/>", ElementKind::InclusiveGateway),
        ("<intermediateThrowEvent id='n'/>", ElementKind::IntermediateThrowEvent),
    ] {
        let plan = plan(&around(element));
        assert_eq!(node(&plan, "n").kind, kind);
        assert_eq!(node(&plan, "p").kind, ElementKind::Process);
        assert_eq!(node(&plan, "start").kind, ElementKind::StartEvent);
        assert_eq!(node(&plan, "end").kind, ElementKind::EndEvent);
    }
    for (name, kind) in
        [("subProcess", ElementKind::SubProcess), ("transaction", ElementKind::Transaction)]
    {
        let plan = plan(&around(&format!("<{name} id='n'>{inside}</{name}>")));
        assert_eq!(node(&plan, "n").kind, kind);
    }
    let timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
    let plan = plan(&process(&format!(
        "<startEvent id='s'/><sequenceFlow id='f' sourceRef='s' targetRef='n'/>
         <adHocSubProcess id='n'><task id='t'/></adHocSubProcess>
         <boundaryEvent id='b' attachedToRef='n'>{timer}</boundaryEvent>
         <sequenceFlow id='g' sourceRef='b' targetRef='c'/>
         <intermediateCatchEvent id='c'>{timer}</intermediateCatchEvent>
         <subProcess id='e' triggeredByEvent='true'><startEvent id='es'>{timer}</startEvent></subProcess>"
    )));
    for (id, kind) in [
        ("n", ElementKind::AdHocSubProcess),
        ("b", ElementKind::BoundaryEvent),
        ("c", ElementKind::IntermediateCatchEvent),
        ("e", ElementKind::EventSubProcess),
        ("es", ElementKind::StartEvent),
    ] {
        assert_eq!(node(&plan, id).kind, kind);
    }
}
