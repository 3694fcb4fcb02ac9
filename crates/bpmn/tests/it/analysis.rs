//! What is odd about models, and what only looks so. Each kind of warning also has an example in
//! `docs/analysis.md` that gives it, and one that does not; `UPDATE_EXPECT=1` writes the page anew.

use std::{fmt::Write, path::Path};

use travertine_bpmn::Severity;

use crate::{
    documentation::expect_page,
    model::{file, process, report},
};

/// The warnings of the analysis, with what they are about.
fn warnings(text: &str) -> Vec<(&'static str, String)> {
    let report = report(text);
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let found = report.diagnostics.into_iter().filter(|it| it.code >= "TV0920");
    found.map(|it| (it.code, it.element.unwrap_or_default())).collect()
}

/// A process of nodes and flows, the flows as `from-to`, or `from-to:condition`.
fn drawn(nodes: &str, flows: &str) -> String {
    let mut text = nodes.to_owned();
    for (number, flow) in flows.split_whitespace().enumerate() {
        let (ends, condition) = flow.split_once(':').map_or((flow, None), |(a, b)| (a, Some(b)));
        let (from, to) = ends.split_once('-').unwrap();
        write!(text, "<sequenceFlow id='f{number}' sourceRef='{from}' targetRef='{to}'>").unwrap();
        if let Some(condition) = condition {
            write!(text, "<conditionExpression>{condition}</conditionExpression>").unwrap();
        }
        text += "</sequenceFlow>";
    }
    process(&text)
}

fn found(nodes: &str, flows: &str) -> Vec<(&'static str, String)> {
    warnings(&drawn(nodes, flows))
}

fn one(code: &'static str, element: &str) -> Vec<(&'static str, String)> {
    vec![(code, element.to_owned())]
}

#[test]
fn every_example_gives_its_warning_and_the_way_out_gives_none() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysis.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut written = String::new();
    for (number, section) in page.split("\n## ").enumerate() {
        if number == 0 {
            written += section;
            continue;
        }
        let code = section.lines().next().unwrap();
        let models: Vec<_> = section.split("```xml\n").skip(1).collect();
        let [odd, fine] = models[..] else { panic!("{code} has two examples") };
        let read = |model: &str| {
            let mut said = report(&file(model.split("```").next().unwrap())).diagnostics;
            said.retain(|it| it.severity != Severity::Note);
            said
        };
        assert_eq!(read(fine), [], "the way out of {code}");
        let said = read(odd);
        assert!(said.iter().all(|it| it.severity == Severity::Warning), "{said:#?}");
        assert_eq!(said.iter().map(|it| it.code).collect::<Vec<_>>(), [code]);
        let (before, rest) = section.split_once("```text\n").unwrap();
        let (_, after) = rest.split_once("```\n").unwrap();
        write!(written, "\n## {before}```text\n").unwrap();
        for it in said {
            writeln!(written, "warning {}: {}", it.code, it.message).unwrap();
            writeln!(written, "  = help: {}", it.help).unwrap();
        }
        write!(written, "```\n{after}").unwrap();
    }
    expect_page(&path, &written);
}

#[test]
fn the_examples_of_the_project_give_no_warning() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "bpmn") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut found = report(&text).diagnostics;
            // The decisions that some name are in files of another kind, which are not read here.
            found.retain(|it| it.code != "TV0720");
            assert_eq!(found, [], "{}", path.display());
        }
    }
}

#[test]
fn a_compensation_activity_is_reached_by_its_event() {
    let undo = "<task id='a'/><task id='undo' isForCompensation='true'/>\
                <boundaryEvent id='b' attachedToRef='a'><compensateEventDefinition/></boundaryEvent>";
    let association = "<association id='x' sourceRef='b' targetRef='undo'/>";
    assert_eq!(warnings(&process(&format!("{undo}{association}"))), []);
    let lone = "<task id='a'/><task id='undo' isForCompensation='true'/>";
    assert_eq!(warnings(&process(lone)), one("TV0920", "undo"));
}

#[test]
fn a_join_that_leads_to_itself_never_completes() {
    let nodes = "<startEvent id='s'/><parallelGateway id='j'/><userTask id='a'/>\
                 <exclusiveGateway id='x'/><endEvent id='e'/>";
    let flows = "s-j j-a a-x x-j:again x-e:!again";
    assert_eq!(found(nodes, flows), one("TV0921", "j"));
}

#[test]
fn tokens_of_non_interrupting_events_may_meet_at_a_join() {
    let boundary = |cancel: &str| {
        format!(
            "<startEvent id='s'/><userTask id='a'/><boundaryEvent id='b' attachedToRef='a' \
             cancelActivity='{cancel}'><timerEventDefinition><timeDuration>PT1H</timeDuration>\
             </timerEventDefinition></boundaryEvent><parallelGateway id='j'/><endEvent id='e'/>"
        )
    };
    assert_eq!(found(&boundary("false"), "s-a a-j b-j j-e"), []);
    assert_eq!(found(&boundary("true"), "s-a a-j b-j j-e"), one("TV0921", "j"));
}

#[test]
fn two_tokens_that_choose_differently_may_meet_at_a_join() {
    // Both branches come to the exclusive split, so both ways behind it can be taken.
    let nodes = "<startEvent id='s'/><parallelGateway id='o'/><exclusiveGateway id='m'/>\
                 <exclusiveGateway id='x' default='f5'/><parallelGateway id='j'/><endEvent id='e'/>";
    assert_eq!(found(nodes, "s-o o-m o-m m-x x-j:first x-j j-e"), []);
}

#[test]
fn what_follows_a_stuck_join_is_not_reported_too() {
    let nodes = "<startEvent id='s'/><exclusiveGateway id='x' default='f2'/>\
                 <parallelGateway id='j'/><parallelGateway id='o'/><userTask id='a'/>\
                 <userTask id='b'/><parallelGateway id='k'/><endEvent id='e'/>";
    let flows = "s-x x-j:vip x-j j-o o-a o-b a-k b-k k-e";
    assert_eq!(found(nodes, flows), one("TV0921", "j"));
}

#[test]
fn branches_that_may_end_elsewhere_are_not_certain_to_meet() {
    let nodes = "<startEvent id='s'/><parallelGateway id='o'/><userTask id='a'/>\
                 <exclusiveGateway id='x' default='f5'/><userTask id='t'/><endEvent id='e'/>\
                 <endEvent id='other'/>";
    assert_eq!(found(nodes, "s-o o-a o-x a-t x-t:vip x-other t-e"), []);
}

#[test]
fn a_shared_end_event_is_fine_and_a_shared_task_is_not() {
    let nodes = "<startEvent id='s'/><userTask id='a'/><userTask id='b'/>";
    let end = format!("{nodes}<endEvent id='e'/>");
    assert_eq!(found(&end, "s-a s-b a-e b-e"), []);
    let task = format!("{nodes}<userTask id='t'/><endEvent id='e'/>");
    assert_eq!(found(&task, "s-a s-b a-t b-t t-e"), one("TV0922", "t"));
}

#[test]
fn an_inclusive_gateway_may_find_no_flow_either() {
    let nodes = "<startEvent id='s'/><inclusiveGateway id='i'/><userTask id='a'/>\
                 <userTask id='b'/><endEvent id='e'/>";
    assert_eq!(found(nodes, "s-i i-a:left i-b:right a-e b-e"), one("TV0923", "i"));
    assert_eq!(found(nodes, "s-i i-a:left i-b:size(x)>2 a-e b-e"), [], "it is not understood");
    assert_eq!(found(nodes, "s-i i-a:left i-b a-e b-e"), [], "one is always taken");
}

#[test]
fn conditions_that_never_hold_are_found_in_events_and_loops() {
    let event = "<userTask id='a'/><boundaryEvent id='b' attachedToRef='a'>\
                 <conditionalEventDefinition><condition>WHEN</condition>\
                 </conditionalEventDefinition></boundaryEvent><task id='c'/>";
    assert_eq!(found(&event.replace("WHEN", "1 == 2"), "b-c"), one("TV0924", "b"));
    assert_eq!(found(&event.replace("WHEN", "late"), "b-c"), []);
    let task = "<userTask id='a'><standardLoopCharacteristics><loopCondition>WHILE</loopCondition>\
                </standardLoopCharacteristics></userTask>";
    assert_eq!(found(&task.replace("WHILE", "false"), ""), one("TV0924", "a"));
    assert_eq!(found(&task.replace("WHILE", "more"), ""), []);
}

#[test]
fn loops_that_change_something_or_wait_may_end() {
    let nodes = |middle: &str| {
        format!("<startEvent id='s'/>{middle}<exclusiveGateway id='x'/><endEvent id='e'/>")
    };
    let flows = "s-n n-x x-n:again x-e:!again";
    let script =
        "<scriptTask id='n' scriptFormat='javascript'><script>again = f()</script></scriptTask>";
    assert_eq!(found(&nodes("<task id='n'/>"), flows), one("TV0925", "n"));
    assert_eq!(found(&nodes(script), flows), []);
    assert_eq!(found(&nodes("<serviceTask id='n'/>"), flows), []);
    let inner = "<subProcess id='n'><userTask id='u'/></subProcess>";
    assert_eq!(found(&nodes(inner), flows), []);
    // Without a way out a script changes nothing about it.
    let ring = format!("<startEvent id='s'/>{script}<endEvent id='e'/><parallelGateway id='x'/>");
    assert_eq!(found(&ring, "s-n n-x x-n x-e"), one("TV0925", "n"));
}

#[test]
fn a_task_that_repeats_for_ever_never_ends() {
    let task = "<scriptTask id='a' scriptFormat='javascript'><standardLoopCharacteristics>\
                <loopCondition>true</loopCondition></standardLoopCharacteristics>\
                <script>1</script></scriptTask>";
    assert_eq!(warnings(&process(task)), one("TV0925", "a"));
    let bounded = task
        .replace("<standardLoopCharacteristics>", "<standardLoopCharacteristics loopMaximum='3'>");
    assert_eq!(warnings(&process(&bounded)), []);
}

#[test]
fn the_second_of_two_equal_handlers_catches_nothing() {
    let handlers = |second: &str| {
        file(&format!(
            "<error id='x' errorCode='X'/><process id='p' isExecutable='true'><userTask id='a'/>\
             <boundaryEvent id='b1' attachedToRef='a'><errorEventDefinition errorRef='x'/>\
             </boundaryEvent><boundaryEvent id='b2' attachedToRef='a'><errorEventDefinition \
             {second}/></boundaryEvent><task id='c'/><sequenceFlow id='f1' sourceRef='b1' \
             targetRef='c'/><sequenceFlow id='f2' sourceRef='b2' targetRef='c'/></process>"
        ))
    };
    assert_eq!(warnings(&handlers("errorRef='x'")), one("TV0928", "b2"));
    assert_eq!(warnings(&handlers("")), [], "one with the code goes first");
}

#[test]
fn cycles_go_on_unless_they_have_ended() {
    let timer = |cycle: &str| {
        process(&format!(
            "<startEvent id='s'><timerEventDefinition><timeCycle>{cycle}</timeCycle>\
             </timerEventDefinition></startEvent><task id='a'/><endEvent id='e'/>\
             <sequenceFlow id='f1' sourceRef='s' targetRef='a'/>\
             <sequenceFlow id='f2' sourceRef='a' targetRef='e'/>"
        ))
    };
    assert_eq!(warnings(&timer("R/2020-01-01T00:00:00Z/PT1H")), []);
    assert_eq!(warnings(&timer("R/PT1H/2020-01-01T00:00:00Z")), one("TV0929", "s"));
}

#[test]
fn drawings_are_left_alone() {
    let drawing = file(
        "<process id='p' isExecutable='false'><startEvent id='s'/><task id='a'/>\
         <sequenceFlow id='f' sourceRef='s' targetRef='a'/><sequenceFlow id='g' sourceRef='a' \
         targetRef='a'/></process>",
    );
    assert_eq!(warnings(&drawing), []);
}

#[test]
fn large_models_are_analysed_in_no_time() {
    let mut nodes = String::from("<startEvent id='s'/><endEvent id='e'/><endEvent id='err'/>");
    let mut flows = String::from("s-p0");
    for block in 0..1_000 {
        write!(
            nodes,
            "<parallelGateway id='p{block}'/><userTask id='a{block}'/><userTask id='b{block}'/>\
             <parallelGateway id='j{block}'/><exclusiveGateway id='x{block}'/>\
             <userTask id='c{block}'/><userTask id='d{block}'/><exclusiveGateway id='m{block}'/>\
             <boundaryEvent id='t{block}' attachedToRef='a{block}'><errorEventDefinition/>\
             </boundaryEvent>"
        )
        .unwrap();
        write!(
            flows,
            " p{block}-a{block} p{block}-b{block} a{block}-j{block} b{block}-j{block} \
             j{block}-x{block} x{block}-c{block}:vip x{block}-d{block}:!vip c{block}-m{block} \
             d{block}-m{block} t{block}-err m{block}-{}",
            if block == 999 { "e".to_owned() } else { format!("p{}", block + 1) }
        )
        .unwrap();
    }
    assert_eq!(found(&nodes, &flows), []);
}
