//! Every way to say how often an activity runs.

use travertine_kernel::plan::{Count, Each, OnEmpty, OutputItem, Repeat};
use travertine_value::Program;

use crate::model::{around, errors, repeat};

fn several(attributes: &str, content: &str) -> String {
    around(&format!(
        "<userTask id='n'><multiInstanceLoopCharacteristics {attributes}>{content}\
         </multiInstanceLoopCharacteristics></userTask>"
    ))
}

fn each(text: &str) -> Each {
    match repeat(text) {
        Repeat::Each(each) => each,
        Repeat::Loop(_) => panic!("a loop"),
    }
}

fn cardinality(each: &Each) -> &str {
    match &each.count {
        Count::Cardinality(program) => program.source(),
        Count::Collection(_) | Count::Messages => panic!("no cardinality"),
    }
}

fn collection(each: &Each) -> &str {
    match &each.count {
        Count::Collection(program) => program.source(),
        Count::Cardinality(_) | Count::Messages => panic!("no collection"),
    }
}

fn output(each: &Each) -> (&str, &str) {
    match each.output.as_ref().unwrap() {
        (list, OutputItem::Variable(item)) => (list, item),
        (list, OutputItem::Expression(program)) => (list, program.source()),
    }
}

// covers: MULTI-40, MULTI-41, MULTI-44
#[test]
fn a_cardinality_is_read_and_runs_are_parallel_unless_said_otherwise() {
    let parallel = each(&several("", "<loopCardinality>3</loopCardinality>"));
    assert_eq!((cardinality(&parallel), parallel.sequential), ("3", false));
    let one_by_one =
        each(&several("isSequential='true'", "<loopCardinality>${n}</loopCardinality>"));
    assert_eq!((cardinality(&one_by_one), one_by_one.sequential), ("${n}", true));
}

// covers: MULTI-42
#[test]
fn camundas_attributes_are_read() {
    let text = several("camunda:collection='items' camunda:elementVariable='item'", "").replace(
        "targetNamespace",
        "xmlns:camunda='http://camunda.org/schema/1.0/bpmn' targetNamespace",
    );
    let each = each(&text);
    assert_eq!((collection(&each), each.item.as_deref()), ("items", Some("item")));
    assert_eq!(each.on_empty, OnEmpty::Complete);
}

// covers: MULTI-43
#[test]
fn plain_attributes_are_read() {
    let each = each(&several(
        "inputCollection='items' inputDataItem='item' outputCollection='results' \
         outputDataItem='result'",
        "",
    ));
    assert_eq!((collection(&each), each.item.as_deref()), ("items", Some("item")));
    assert_eq!((output(&each), each.on_empty), (("results", "result"), OnEmpty::Error));
}

// covers: MULTI-43
#[test]
fn the_elements_of_the_standard_are_read() {
    let each = each(&several(
        "",
        "<loopDataInputRef>items</loopDataInputRef><loopDataOutputRef>results</loopDataOutputRef>\
         <inputDataItem id='i' name='item'/><outputDataItem id='result'/>",
    ));
    assert_eq!((collection(&each), each.item.as_deref()), ("items", Some("item")));
    assert_eq!(output(&each), ("results", "result"));
}

// covers: MULTI-43
#[test]
fn a_reference_to_declared_data_means_the_variable_behind_it() {
    let text = around(
        "<dataObject id='d' name='orders' isCollection='true'/>\
         <userTask id='n'><ioSpecification><dataInput id='in1' isCollection='true'/>\
         <inputSet><dataInputRefs>in1</dataInputRefs></inputSet><outputSet/></ioSpecification>\
         <dataInputAssociation><sourceRef>d</sourceRef><targetRef>in1</targetRef>\
         </dataInputAssociation><multiInstanceLoopCharacteristics>\
         <loopDataInputRef>in1</loopDataInputRef></multiInstanceLoopCharacteristics></userTask>",
    );
    assert_eq!(collection(&each(&text)), "orders");
}

// covers: MULTI-45
#[test]
fn a_completion_condition_is_read() {
    let text = several(
        "",
        "<loopCardinality>3</loopCardinality>\
         <completionCondition>${nrOfCompletedInstances >= 2}</completionCondition>",
    );
    let condition = each(&text).completion;
    assert_eq!(condition.as_ref().map(Program::source), Some("${nrOfCompletedInstances >= 2}"));
}

// covers: MULTI-8
#[test]
fn neither_count_nor_collection_is_refused() {
    assert_eq!(errors(&several("", "")), ["TV0601"]);
}

// covers: MULTI-10
#[test]
fn both_count_and_collection_are_refused_except_in_camunda_7() {
    let both = several("inputCollection='items'", "<loopCardinality>3</loopCardinality>");
    assert_eq!(errors(&both), ["TV0602"]);
    let camunda = both.replace(
        "targetNamespace",
        "xmlns:camunda='http://camunda.org/schema/1.0/bpmn' targetNamespace",
    );
    assert_eq!(cardinality(&each(&camunda)), "3");
}

// covers: FLOW-4
#[test]
fn a_task_with_several_messages_runs_once_for_each() {
    let with = |content: &str| {
        let text = around(&format!(
            "<sendTask id='n'><extensionElements><tv:message ref='m1'/><tv:message ref='m2'/>\
             </extensionElements><multiInstanceLoopCharacteristics>{content}\
             </multiInstanceLoopCharacteristics></sendTask>"
        ));
        text.replace("</definitions>", "<message id='m1'/><message id='m2'/></definitions>")
    };
    assert!(matches!(each(&with("")).count, Count::Messages));
    assert!(matches!(each(&with("<loopCardinality>2</loopCardinality>")).count, Count::Messages));
    assert_eq!(errors(&with("<loopCardinality>3</loopCardinality>")), ["TV0606"]);
}

#[test]
fn our_extensions_are_read() {
    let each = each(&several(
        "tv:collection='${order.lines}' tv:elementVariable='line' tv:outputCollection='totals' \
         tv:outputElement='${line.price}' tv:loopIndex='i' tv:onEmpty='complete' \
         tv:batchSize='10' tv:parallelBatches='2'",
        "",
    ));
    assert_eq!((collection(&each), each.item.as_deref()), ("${order.lines}", Some("line")));
    assert_eq!((output(&each), each.index.as_deref()), (("totals", "${line.price}"), Some("i")));
    assert_eq!(each.on_empty, OnEmpty::Complete);
    let (size, parallel) = each.batch.unwrap();
    assert_eq!((size.source(), parallel.source()), ("10", "2"));
}

#[test]
fn a_standard_loop_is_read() {
    let text = around(
        "<task id='n'><standardLoopCharacteristics testBefore='true' loopMaximum='5'>\
         <loopCondition>${x}</loopCondition></standardLoopCharacteristics></task>",
    );
    let Repeat::Loop(it) = repeat(&text) else { panic!() };
    assert!(it.test_before);
    assert_eq!(it.maximum.as_ref().map(Program::source), Some("5"));
    assert_eq!(it.condition.as_ref().map(Program::source), Some("${x}"));
}

// covers: FLOW-19
#[test]
fn what_undoes_repeats_like_what_it_undoes() {
    let with = |handler: &str| {
        around(&format!(
            "<task id='n'><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>\
             </multiInstanceLoopCharacteristics></task>\
             <boundaryEvent id='b' attachedToRef='n'><compensateEventDefinition/></boundaryEvent>\
             <task id='undo' isForCompensation='true'>{handler}</task>\
             <association id='a' sourceRef='b' targetRef='undo'/>"
        ))
    };
    let same = "<multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>\
                </multiInstanceLoopCharacteristics>";
    assert_eq!(errors(&with("")), ["TV0472"]);
    assert!(errors(&with(same)).is_empty());
    let again = "<boundaryEvent id='c' attachedToRef='undo'><compensateEventDefinition/>\
                 </boundaryEvent><task id='redo' isForCompensation='true'/>\
                 <association id='d' sourceRef='c' targetRef='redo'/>";
    let text = with(same).replace("<association id='a'", &format!("{again}<association id='a'"));
    assert!(errors(&text).contains(&"TV0473"));
}
