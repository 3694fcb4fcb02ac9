//! For every rule of the standard a model that breaks it, and a neighbour that keeps it.

use std::collections::BTreeSet;

use travertine_bpmn::{Dialect, Options, Report, Severity, read, rules};

use crate::{
    model::{around, file, process, report},
    shapes::{SHAPES, Shape, Tree},
};

/// A model that breaks a rule, and one like it that does not.
struct Pair {
    rule: u16,
    broken: String,
    kept: String,
}

fn pair(rule: u16, broken: impl Into<String>, kept: impl Into<String>) -> Pair {
    Pair { rule, broken: broken.into(), kept: kept.into() }
}

/// Pairs that differ by a word.
fn swap(rule: u16, text: &str, broken: &str, kept: &str) -> Pair {
    assert!(text.contains('@'), "{text}");
    pair(rule, text.replace('@', broken), text.replace('@', kept))
}

const FLOW: &str = "<sequenceFlow id='x' sourceRef='a' targetRef='b'/>";
const FORMAL: &str = "xsi:type='tFormalExpression'";

fn strictly(text: &str) -> Report {
    let options = Options { strict: true, ..Options::default() };
    read(&[("model.bpmn", text.as_bytes())], &options)
}

#[test]
fn who_breaks_a_rule_is_named_and_refused_with_strict_and_its_neighbour_is_not() {
    let mut wrong = Vec::new();
    let mut tried = BTreeSet::new();
    for Pair { rule, broken, kept } in pairs() {
        tried.insert(rule);
        let known = rules().iter().find(|it| it.numbers.contains(&rule)).expect("a rule");
        let about = |report: &Report| -> Vec<_> {
            let mut found = report.diagnostics.clone();
            found.retain(|it| known.codes.contains(&it.code));
            found
        };
        let found = about(&report(&broken));
        if found.is_empty() {
            wrong.push(format!(
                "{rule} is broken in silence: {broken}\n{:#?}",
                report(&broken).diagnostics
            ));
        }
        if let Some(mild) = found.iter().find(|it| it.severity > known.severity) {
            wrong.push(format!("{rule} is milder than the table says: {mild}"));
        }
        if !strictly(&broken).is_rejected() {
            wrong.push(format!("{rule} is broken, and not refused: {broken}"));
        }
        let kept_found = about(&report(&kept));
        if !kept_found.is_empty() {
            wrong.push(format!("{rule} is kept, but: {kept_found:#?}\n{kept}"));
        }
    }
    assert!(wrong.is_empty(), "{} of them\n{}", wrong.len(), wrong.join("\n\n"));
    let all: BTreeSet<u16> = rules().iter().flat_map(|it| it.numbers).copied().collect();
    let untried: Vec<_> = all.difference(&tried).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

/// Whether a shape makes something else of what a rule is about.
fn is_other(rule: u16, shape: Shape) -> bool {
    match shape {
        // Then it is about the start events of sub-processes.
        Shape::InSubProcess | Shape::InTransaction | Shape::InEventSubProcess | Shape::InAdHoc
            if rule == 98 =>
        {
            true
        }
        Shape::InTransaction => rule == 106,
        // Rules of executable processes.
        Shape::Drawn => [12, 24, 35, 123, 128].contains(&rule),
        _ => false,
    }
}

#[test]
fn who_breaks_a_rule_is_named_however_it_is_written() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for Pair { rule, broken, kept } in pairs() {
        let known = rules().iter().find(|it| it.numbers.contains(&rule)).expect("a rule");
        let about = |text: &str| {
            let found = strictly(text).diagnostics;
            found.into_iter().filter(|it| known.codes.contains(&it.code)).collect::<Vec<_>>()
        };
        for shape in SHAPES.iter().filter(|it| !is_other(rule, **it)) {
            let (Some(broken), Some(kept)) = (shape.of(&broken), shape.of(&kept)) else { continue };
            tried += 1;
            if !about(&broken).iter().any(|it| it.severity == Severity::Error) {
                wrong.push(format!(
                    "{rule} {shape:?} is broken in silence: {broken}\n{:?}",
                    strictly(&broken).diagnostics.iter().map(|it| it.code).collect::<Vec<_>>()
                ));
            }
            let found = about(&kept);
            if !found.is_empty() {
                wrong.push(format!("{rule} {shape:?} is kept, but: {}\n{kept}", found[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(tried > 2000, "{tried}");
}

/// Attributes and elements that refer to something, where what they refer to may not lie elsewhere.
fn is_reference(name: &str) -> bool {
    name.ends_with("Ref")
        || name.ends_with("Refs")
        || ["default", "incoming", "outgoing"].contains(&name)
}

/// Names for things that are not in these files, which nobody can look up.
const ELSEWHERE: &[&str] =
    &["structureRef", "evaluatesToTypeRef", "partitionElementRef", "implementationRef"];

/// What is said of references that lead nowhere, or to something else.
const DANGLING: &[&str] =
    &["TV0205", "TV0302", "TV0303", "TV0304", "TV0305", "TV0405", "TV0907", "TV0918"];

#[test]
fn whoever_refers_to_nothing_is_named_and_refused_with_strict() {
    let mut wrong = BTreeSet::new();
    let mut tried = 0;
    let mut seen = BTreeSet::new();
    for Pair { kept, .. } in pairs() {
        let mut tree = Tree::read(&kept);
        // Something that nobody can mean.
        tree.children.push(Tree::new("category", &[("id", "category")], Vec::new()));
        let mut places = 0;
        tree.clone().each(&mut |_| places += 1);
        for place in 0..places {
            for nothing in ["nowhere", "other:nowhere", "category", ""] {
                let mut tree = tree.clone();
                let (mut at, mut what) = (0, Vec::new());
                tree.each(&mut |it| {
                    let is_here = at == place;
                    at += 1;
                    // Associations may join anything.
                    if !is_here || it.name == "association" && nothing == "category" {
                        return;
                    }
                    let owner = it.name.clone();
                    if is_reference(&it.name) && !ELSEWHERE.contains(&it.name.as_str()) {
                        nothing.clone_into(&mut it.text);
                        what.push(owner.clone());
                    }
                    for (name, value) in &mut it.attributes {
                        if is_reference(name) && !ELSEWHERE.contains(&name.as_str()) {
                            nothing.clone_into(value);
                            what.push(format!("{owner}/@{name}"));
                        }
                    }
                });
                if what.is_empty() || !seen.insert((what.clone(), nothing)) {
                    continue;
                }
                tried += 1;
                let text = tree.write("", "");
                let named = report(&text).diagnostics;
                if !named.iter().any(|it| DANGLING.contains(&it.code))
                    || !strictly(&text).is_rejected()
                {
                    let codes: Vec<_> = named.iter().map(|it| it.code).collect();
                    wrong.insert(format!("{what:?} '{nothing}': {codes:?}\n{text}"));
                }
            }
        }
    }
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} of {tried}\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(tried > 100, "{tried}");
}

/// Files of namespaces of their own, each with the prefix `own` for it, and of what else they declare.
fn files(all: &[(&str, &str, &str)]) -> Vec<String> {
    let file = |(namespace, declared, body): &(&str, &str, &str)| {
        format!(
            "<definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' xmlns:own='{namespace}' \
             {declared} targetNamespace='{namespace}'>{body}</definitions>"
        )
    };
    all.iter().map(file).collect()
}

fn read_all(files: &[String], strict: bool) -> Report {
    let names: Vec<_> = (0..files.len()).map(|it| format!("{it}.bpmn")).collect();
    let all: Vec<_> =
        names.iter().zip(files).map(|(name, it)| (name.as_str(), it.as_bytes())).collect();
    read(&all, &Options { strict, ..Options::default() })
}

/// A process that waits for that message.
fn waiting(message: &str) -> String {
    format!(
        "<process id='p' isExecutable='true'><receiveTask id='n' messageRef='{message}'/></process>"
    )
}

#[test]
fn a_prefix_stands_for_a_namespace() {
    let declared = "xmlns:other='urn:other'";
    let local = |prefix: &str| {
        files(&[("urn:own", declared, &format!("<message id='m'/>{}", waiting(prefix)))])
    };
    for kept in ["m", "own:m"] {
        let report = read_all(&local(kept), true);
        assert!(!report.is_rejected(), "{kept}: {:?}", report.diagnostics);
    }
    // It runs all the same.
    for broken in ["other:m", "undeclared:m"] {
        let report = read_all(&local(broken), false);
        assert!(!report.is_rejected() && report.processes.len() == 1, "{:?}", report.diagnostics);
        let found = report.diagnostics.iter().find(|it| it.code == "TV0304").expect("a warning");
        assert_eq!(found.element.as_deref(), Some("n"));
        assert!(read_all(&local(broken), true).is_rejected());
    }
}

#[test]
fn a_prefix_says_in_which_file_something_lies() {
    let declared = "xmlns:other='urn:other'";
    let both = |reference: &str, theirs: &str| {
        let own = format!("<signal id='m'/><message id='mine'/>{}", waiting(reference));
        files(&[("urn:own", declared, &own), ("urn:other", "", theirs)])
    };
    // What is called the same here is something else.
    let report = read_all(&both("other:m", "<message id='m'/>"), true);
    assert!(!report.is_rejected(), "{:?}", report.diagnostics);
    // What is only here is not there.
    let found = read_all(&both("other:mine", "<message id='m'/>"), false).diagnostics;
    assert!(found.iter().any(|it| it.code == "TV0304" && it.severity == Severity::Error));
    let found = read_all(&both("own:there", "<message id='there'/>"), false).diagnostics;
    assert!(found.iter().any(|it| it.code == "TV0302" && it.severity == Severity::Error));
}

#[test]
fn types_are_of_these_files_or_of_what_is_imported() {
    let schema = "http://www.w3.org/2001/XMLSchema";
    let declared = format!("xmlns:other='urn:other' xmlns:xsd='{schema}'");
    let found = |inner: &str| {
        let body = format!("{inner}<message id='m'/>{}", waiting("m"));
        let report = read_all(&files(&[("urn:own", &declared, &body)]), false);
        report.diagnostics.iter().any(|it| it.code == "TV0305")
    };
    let item = |of: &str| format!("<itemDefinition id='i' structureRef='{of}'/>");
    let import = format!(
        "<import namespace='urn:other' location='types.xsd' importType='{schema}'/>{}",
        item("other:t")
    );
    for kept in [item("String"), item("xsd:string"), import] {
        assert!(!found(&kept), "{kept}");
    }
    for broken in [item("other:t"), item("own:t"), item("undeclared:t")] {
        assert!(found(&broken), "{broken}");
    }
    let parameter = |of: &str| {
        format!(
            "<itemDefinition id='i'/><resource id='r' name='r'><resourceParameter id='p1' type='{of}'/></resource>"
        )
    };
    assert!(!found(&parameter("i")) && !found(&parameter("xsd:string")));
    assert!(found(&parameter("r")) && found(&parameter("nowhere")) && found(&parameter("other:i")));
}

#[test]
fn a_conversation_is_linked_with_who_takes_part() {
    let linked = |end: &str| {
        file(&format!(
            "<collaboration id='c'><participant id='o'/><conversation id='v'/>\
             <conversationLink id='l' sourceRef='{end}' targetRef='v'/></collaboration>\
             <process id='p' isExecutable='true'><task id='t'/></process>"
        ))
    };
    assert!(!strictly(&linked("o")).is_rejected());
    assert!(strictly(&linked("p")).is_rejected());
    assert!(!report(&linked("p")).is_rejected(), "nothing depends on it");
}

#[test]
fn an_executable_process_has_an_id() {
    let nameless = "<process isExecutable='@'><task id='t'/></process>";
    let found = report(&file(&nameless.replace('@', "true"))).diagnostics;
    assert!(found.iter().any(|it| it.code == "TV0309" && it.severity == Severity::Error));
    let found = report(&file(&nameless.replace('@', "false"))).diagnostics;
    assert!(found.iter().all(|it| it.code != "TV0309"));
}

#[test]
fn each_expression_that_is_not_formal_is_named_except_in_models_for_camunda() {
    let text = process(
        "<task id='a'><standardLoopCharacteristics><loopCondition>x</loopCondition>\
         </standardLoopCharacteristics></task><task id='b'><standardLoopCharacteristics>\
         <loopCondition>x</loopCondition></standardLoopCharacteristics></task>",
    );
    let found = |dialect| {
        let options = Options { dialect: Some(dialect), ..Options::default() };
        let mut found = read(&[("model.bpmn", text.as_bytes())], &options).diagnostics;
        found.retain(|it| it.code == "TV0520");
        found.into_iter().map(|it| (it.severity, it.message)).collect::<Vec<_>>()
    };
    let named = found(Dialect::Native);
    assert_eq!(named.len(), 2);
    for (node, (severity, message)) in ["'a'", "'b'"].iter().zip(&named) {
        assert!(*severity == Severity::Warning && message.contains(node), "{message}");
    }
    let told = found(Dialect::Camunda7);
    assert!(told.len() == 1 && told[0].0 == Severity::Note, "{told:?}");
}

#[test]
fn a_model_that_keeps_all_rules_is_taken_with_strict() {
    let text = around(&format!(
        "<exclusiveGateway id='n' default='out'/><sequenceFlow id='c' sourceRef='n' targetRef='t'>\
         <conditionExpression {FORMAL}>x</conditionExpression></sequenceFlow><task id='t'/>\
         <sequenceFlow id='d' sourceRef='t' targetRef='end'/>"
    ));
    let report = strictly(&text);
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    assert_eq!(report.processes.len(), 1);
}

#[test]
fn strict_is_so_with_processes_that_are_not_executable_too() {
    let text = file(
        "<process id='p' isExecutable='false'><startEvent id='s'/><endEvent id='e'/></process>\
         <process id='q' isExecutable='true'><task id='t'/></process>",
    );
    assert!(!report(&text).is_rejected());
    let report = strictly(&text);
    assert!(report.is_rejected());
    assert!(report.processes.is_empty());
    assert!(report.diagnostics.iter().any(|it| it.severity == Severity::Error));
}

/// A task `n` between start and end, with `inner` in it.
fn task(kind: &str, inner: &str) -> String {
    around(&format!("<{} id='n'>{inner}</{}>", kind, kind.split(' ').next().unwrap_or(kind)))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().concat()
}

/// An ioSpecification with these inputs, `id item` each, in one set.
fn inputs(all: &[(&str, &str)]) -> String {
    let data = joined(all.iter().map(|(id, item)| format!("<dataInput id='{id}' {item}/>")));
    let refs = joined(all.iter().map(|(id, _)| format!("<dataInputRefs>{id}</dataInputRefs>")));
    format!("<ioSpecification>{data}<inputSet>{refs}</inputSet><outputSet/></ioSpecification>")
}

fn outputs(all: &[(&str, &str)]) -> String {
    let data = joined(all.iter().map(|(id, item)| format!("<dataOutput id='{id}' {item}/>")));
    let refs = joined(all.iter().map(|(id, _)| format!("<dataOutputRefs>{id}</dataOutputRefs>")));
    format!("<ioSpecification>{data}<inputSet/><outputSet>{refs}</outputSet></ioSpecification>")
}

const A: &str = "itemSubjectRef='ia'";
const B: &str = "itemSubjectRef='ib'";
const C: &str = "itemSubjectRef='ic'";

/// Items, a message of one of them, an operation that takes and gives one, around a process.
fn typed(body: &str) -> String {
    file(&format!(
        "<itemDefinition id='ia' structureRef='A'/><itemDefinition id='ib' structureRef='B'/>\
         <itemDefinition id='ic' structureRef='A'/>\
         <itemDefinition id='list' structureRef='A' isCollection='true'/>\
         <message id='m' itemRef='ia'/><signal id='s' structureRef='ia'/><signal id='plain'/>\
         <error id='r' errorCode='R' structureRef='ia'/>\
         <escalation id='l' escalationCode='L' structureRef='ia'/>\
         <interface id='face' name='face'><operation id='op' name='op'>\
         <inMessageRef>m</inMessageRef><outMessageRef>m</outMessageRef></operation></interface>\
         <interface id='face2' name='face2'><operation id='op2' name='op2'>\
         <inMessageRef>m</inMessageRef></operation></interface>\
         {body}"
    ))
}

/// Start, what `n` is, end, in a process of a file with items.
fn typed_around(body: &str) -> String {
    typed(&format!(
        "<process id='p' isExecutable='true'><startEvent id='start'/>\
         <sequenceFlow id='in' sourceRef='start' targetRef='n'/>{body}\
         <sequenceFlow id='out' sourceRef='n' targetRef='end'/><endEvent id='end'/></process>"
    ))
}

fn pairs() -> Vec<Pair> {
    let mut all = Vec::new();
    all.extend(connections());
    all.extend(expressions());
    all.extend(collaborations());
    all.extend(containers());
    all.extend(events());
    all.extend(gateways());
    all.extend(messages());
    all.extend(calls());
    all.extend(data());
    all
}

fn connections() -> Vec<Pair> {
    let mut all = Vec::new();
    let nodes = "<task id='a'/><task id='b'/>";
    for (rule, artifact) in [
        (6, "<association id='z' sourceRef='a' targetRef='b'/>"),
        (7, "<group id='z'/>"),
        (6, "<textAnnotation id='z'/>"),
    ] {
        for (from, to) in [("z", "b"), ("a", "z")] {
            let flow = format!("<sequenceFlow id='f' sourceRef='{from}' targetRef='{to}'/>");
            all.push(pair(
                rule,
                process(&format!("{nodes}{artifact}{flow}")),
                process(&format!("{nodes}{artifact}{FLOW}")),
            ));
        }
    }
    for method in ["_no URI", "%zz", "a|b"] {
        for kept in ["##Compensate", "##Image", "http://t.example/method"] {
            let text = "<transaction id='n' method='@'><task id='t'/></transaction>";
            all.push(swap(60, &around(text), method, kept));
        }
    }
    for (rule, artifact) in [(8, "<group id='z'/>"), (9, "<textAnnotation id='z'/>")] {
        let text = format!(
            "<collaboration id='c'><participant id='o'/><participant id='o2' processRef='p'/>{artifact}\
             <messageFlow id='f' sourceRef='@' targetRef='o2'/></collaboration>\
             <process id='p' isExecutable='true'><task id='t'/></process>"
        );
        all.push(swap(rule, &file(&text), "z", "o"));
    }
    let event_sub_process = "<signal id='s'/><process id='p' isExecutable='true'><task id='a'/><task id='b'/>\
         <subProcess id='e' triggeredByEvent='true'><startEvent id='i'><signalEventDefinition \
         signalRef='s'/></startEvent></subProcess>";
    for (rule, from, to) in [(21, "e", "b"), (22, "a", "e"), (57, "a", "e"), (57, "e", "a")] {
        let flow = format!("<sequenceFlow id='x' sourceRef='{from}' targetRef='{to}'/>");
        all.push(pair(
            rule,
            file(&format!("{event_sub_process}{flow}</process>")),
            file(&format!("{event_sub_process}{FLOW}</process>")),
        ));
    }
    let listed = "<task id='a'><outgoing>x</outgoing></task><task id='b'>@</task><task id='c'/>\
                  <sequenceFlow id='x' sourceRef='a' targetRef='b'/>";
    all.push(swap(23, &process(listed), "", "<incoming>x</incoming>"));
    let unlisted = "<task id='a'><outgoing>x</outgoing></task><task id='b'><incoming>x</incoming></task>\
                    <sequenceFlow id='x' sourceRef='a' targetRef='b'/><task id='c'/><task id='d'/>@";
    let nameless = "<sequenceFlow sourceRef='c' targetRef='d'/>";
    all.push(swap(23, &process(unlisted), nameless, ""));
    all.push(swap(
        23,
        &process(unlisted),
        "<sequenceFlow id='y' sourceRef='c' targetRef='d'/>",
        "",
    ));
    let wrong = "<task id='a'/><task id='b'/><task id='c'>@</task>\
                 <sequenceFlow id='x' sourceRef='a' targetRef='b'/>";
    all.push(swap(23, &process(wrong), "<incoming>x</incoming>", ""));
    let wrong = "<task id='a'><outgoing>x</outgoing></task><task id='b'><incoming>x</incoming>@</task>\
                 <sequenceFlow id='x' sourceRef='a' targetRef='b'/>";
    all.push(swap(23, &process(wrong), "<outgoing>x</outgoing>", ""));
    let immediate = "<task id='a'/><task id='b'/>\
                     <sequenceFlow id='x' sourceRef='a' targetRef='b' isImmediate='@'/>";
    all.push(swap(24, &process(immediate), "false", "true"));
    for kind in ["task", "userTask", "subProcess", "callActivity calledElement='q'"] {
        let name = kind.split(' ').next().unwrap_or_default();
        let condition = "<conditionExpression xsi:type='tFormalExpression'>x</conditionExpression>";
        let text = format!(
            "<{kind} id='a'></{name}><task id='b'/><sequenceFlow id='x' sourceRef='a' targetRef='b'>\
             {condition}</sequenceFlow>@"
        );
        let other = "<task id='c'/><sequenceFlow id='y' sourceRef='a' targetRef='c'/>";
        all.push(swap(25, &process(&text), "", other));
    }
    let default = "<exclusiveGateway id='a' default='@'/><task id='b'/><task id='c'/>\
                   <sequenceFlow id='x' sourceRef='a' targetRef='b'/>\
                   <sequenceFlow id='y' sourceRef='b' targetRef='c'/>";
    all.push(swap(26, &process(default), "y", "x"));
    let default = default.replace("exclusiveGateway", "task");
    all.push(swap(26, &process(&default), "y", "x"));
    let crossing = "<task id='a'/><subProcess id='b'><task id='c'/></subProcess>\
                    <sequenceFlow id='x' sourceRef='a' targetRef='@'/>";
    all.push(swap(28, &process(crossing), "c", "b"));
    let pools = "<process id='p' isExecutable='true'><task id='a'/><task id='b'/>\
                 <sequenceFlow id='x' sourceRef='a' targetRef='@'/></process>\
                 <process id='q' isExecutable='true'><task id='c'/></process>";
    all.push(swap(152, &file(pools), "c", "b"));
    for kind in ["task", "exclusiveGateway", "intermediateThrowEvent", "subProcess"] {
        let lonely =
            format!("<sequenceFlow id='z' sourceRef='k' targetRef='end'/><{kind} id='k'/>");
        let led = format!("{lonely}<sequenceFlow id='w' sourceRef='n' targetRef='k'/>");
        all.push(pair(
            150,
            around(&format!("<task id='n'/>{lonely}")),
            around(&format!("<task id='n'/>{led}")),
        ));
        let dead = format!("<sequenceFlow id='z' sourceRef='n' targetRef='k'/><{kind} id='k'/>");
        let alive = format!("{dead}<sequenceFlow id='w' sourceRef='k' targetRef='end'/>");
        all.push(pair(
            151,
            around(&format!("<task id='n'/>{dead}")),
            around(&format!("<task id='n'/>{alive}")),
        ));
    }
    all
}

fn expressions() -> Vec<Pair> {
    let mut all = Vec::new();
    let annotated =
        "<task id='a'/><textAnnotation id='t' textFormat='@'><text>x</text></textAnnotation>";
    all.push(swap(10, &process(annotated), "plain", "text/plain"));
    for text in [
        "<task id='a'/><task id='b'/><task id='c'/><sequenceFlow id='y' sourceRef='a' targetRef='c'/>\
         <sequenceFlow id='x' sourceRef='a' targetRef='b'>\
         <conditionExpression @>x</conditionExpression></sequenceFlow>",
        "<task id='a'><standardLoopCharacteristics><loopCondition @>x</loopCondition>\
         </standardLoopCharacteristics></task>",
        "<task id='a'><multiInstanceLoopCharacteristics><loopCardinality @>3</loopCardinality>\
         </multiInstanceLoopCharacteristics></task>",
        "<adHocSubProcess id='a'><task id='b'/><completionCondition @>x</completionCondition>\
         </adHocSubProcess>",
        "<complexGateway id='a'><activationCondition @>x</activationCondition></complexGateway>",
    ] {
        all.push(swap(12, &process(text), "", FORMAL));
    }
    for kind in ["timeDate", "timeDuration", "timeCycle"] {
        let time = match kind {
            "timeDate" => "2099-01-01T00:00:00Z",
            "timeDuration" => "PT1H",
            _ => "R3/PT1H",
        };
        let text = format!(
            "<intermediateCatchEvent id='n'><timerEventDefinition><{kind} @>{time}</{kind}>\
             </timerEventDefinition></intermediateCatchEvent>"
        );
        all.push(swap(12, &around(&text), "", FORMAL));
        let rule = match kind {
            "timeDate" => 132,
            "timeDuration" => 134,
            _ => 133,
        };
        let text = format!(
            "<intermediateCatchEvent id='n'><timerEventDefinition><{kind} {FORMAL}>@</{kind}>\
             </timerEventDefinition></intermediateCatchEvent>"
        );
        all.push(swap(rule, &around(&text), "soon", time));
    }
    let condition = "<intermediateCatchEvent id='n'><conditionalEventDefinition><condition @>x</condition>\
                     </conditionalEventDefinition></intermediateCatchEvent>";
    all.push(swap(123, &around(condition), "", FORMAL));
    let empty = format!(
        "<task id='a'/><task id='b'/><task id='c'/><sequenceFlow id='y' sourceRef='a' targetRef='c'/>\
         <sequenceFlow id='x' sourceRef='a' targetRef='b'>\
         <conditionExpression {FORMAL}>@</conditionExpression></sequenceFlow>"
    );
    all.push(swap(13, &process(&empty), "", "x"));
    let transformation = format!(
        "<dataObject id='o'/><task id='a'>{}<dataInputAssociation><sourceRef>o</sourceRef>\
         <targetRef>i</targetRef><transformation>@</transformation></dataInputAssociation></task>",
        inputs(&[("i", "")])
    );
    all.push(swap(13, &process(&transformation), "", "o"));
    all.push(swap(
        14,
        &process(&empty.replace(FORMAL, "language='@'").replace(">@<", ">x<")),
        "a b",
        "feel",
    ));
    let script = "<scriptTask id='n' @><script>x = 1</script></scriptTask>";
    all.push(swap(53, &around(script), "", "scriptFormat='javascript'"));
    all.push(swap(53, &around(script), "scriptFormat=' '", "scriptFormat='javascript'"));
    let global = "<globalScriptTask id='g' @><script>x = 1</script></globalScriptTask>\
                  <process id='p' isExecutable='true'><callActivity id='c' calledElement='g'/></process>";
    all.push(swap(53, &file(global), "", "scriptLanguage='javascript'"));
    all
}

fn collaborations() -> Vec<Pair> {
    let mut all = Vec::new();
    let two = "<collaboration id='c'><participant id='o' processRef='p'/><participant id='o2' processRef='q'/>\
               <messageFlow id='f' sourceRef='a' targetRef='@'/></collaboration>\
               <process id='p' isExecutable='true'><sendTask id='a'/><receiveTask id='b'/></process>\
               <process id='q' isExecutable='true'><receiveTask id='d'/></process>";
    all.push(swap(31, &file(two), "b", "d"));
    all.push(swap(31, &file(two), "o", "o2"));
    let many = "<collaboration id='c'><participant id='o'><participantMultiplicity @/></participant>\
                </collaboration><process id='p' isExecutable='true'><task id='t'/></process>";
    all.push(swap(29, &file(many), "minimum='-1'", "minimum='0'"));
    all.push(swap(30, &file(many), "maximum='0'", "maximum='1'"));
    all.push(swap(30, &file(many), "minimum='3' maximum='2'", "minimum='2' maximum='2'"));
    all.push(swap(30, &file(many), "minimum='2'", "minimum='1'"));
    let plain = "<process id='p' isExecutable='true'><task id='t'/></process>";
    for inner in [
        "<conversation id='k'/>",
        "<subConversation id='k'/>",
        "<textAnnotation id='k'/>",
        "<participantAssociation><innerParticipantRef>o</innerParticipantRef>\
         <outerParticipantRef>o</outerParticipantRef></participantAssociation>",
    ] {
        let text = format!(
            "<globalConversation id='g'><participant id='o'/>@</globalConversation>{plain}"
        );
        all.push(swap(32, &file(&text), inner, "<participant id='o2'/>"));
    }
    let chor = "<choreography id='h'><participant id='o'/></choreography>";
    for text in [
        "<globalConversation id='g'>@</globalConversation>",
        "<choreography id='g'>@</choreography>",
    ] {
        let text = format!("{chor}{text}{plain}");
        all.push(swap(27, &file(&text), "<choreographyRef>h</choreographyRef>", ""));
    }
    let call = format!(
        "{chor}<collaboration id='c'><callConversation id='k' calledCollaborationRef='@'/></collaboration>\
         <collaboration id='d'/>{plain}"
    );
    all.push(swap(27, &file(&call), "h", "d"));
    let defined = "<choreography id='h'/><collaboration id='d'/>\
                   <process id='p' isExecutable='true' definitionalCollaborationRef='@'><task id='t'/></process>";
    all.push(swap(27, &file(defined), "h", "d"));
    let closed = format!(
        "<choreography id='h' isClosed='true'/><collaboration id='c' isClosed='@'>\
         <choreographyRef>h</choreographyRef></collaboration>{plain}"
    );
    all.push(swap(33, &file(&closed), "false", "true"));
    let closed = "<collaboration id='d' isClosed='@'/><process id='p' isExecutable='true' isClosed='true' \
                  definitionalCollaborationRef='d'><task id='t'/></process>";
    all.push(swap(33, &file(closed), "false", "true"));
    let public = "<process id='p' isExecutable='true' processType='@'><task id='t'/></process>";
    all.push(swap(35, &file(public), "Public", "Private"));
    for (rule, text) in [
        (36, "<process id='p' isExecutable='true'><task id='t'/>@</process>"),
        (
            56,
            "<process id='p' isExecutable='true'><subProcess id='u'><task id='t'/>@</subProcess></process>",
        ),
        (
            62,
            "<process id='p' isExecutable='true'><adHocSubProcess id='u'><task id='t'/>@</adHocSubProcess></process>",
        ),
    ] {
        let text = format!(
            "<collaboration id='c'><participant id='o'/><participant id='o2'/>\
             <messageFlow id='f' sourceRef='o' targetRef='o2'/></collaboration>{text}"
        );
        for kind in [
            "<choreographyTask id='k' initiatingParticipantRef='o'><participantRef>o</participantRef>\
             <messageFlowRef>f</messageFlowRef></choreographyTask>",
            "<subChoreography id='k' initiatingParticipantRef='o'><participantRef>o</participantRef>\
             </subChoreography>",
            "<callChoreography id='k' initiatingParticipantRef='o'><participantRef>o</participantRef>\
             </callChoreography>",
        ] {
            all.push(swap(rule, &file(&text), kind, "<task id='k'/>"));
        }
    }
    for (from, to, rule, broken, kept) in [
        ("start", "o2", 102, "s", "e"),
        ("o2", "end", 108, "e", "s"),
        ("catch", "o2", 119, "c", "h"),
        ("o2", "throw", 119, "h", "c"),
        ("o2", "boundary", 119, "h", "b"),
    ] {
        let (from, to) = match (from, to) {
            ("o2", _) => ("o2", "@"),
            _ => ("@", "o2"),
        };
        let text = format!(
            "<message id='m'/><collaboration id='k'><participant id='o' processRef='p'/>\
             <participant id='o2'/><messageFlow id='f' sourceRef='{from}' targetRef='{to}'/></collaboration>\
             <process id='p' isExecutable='true'>\
             <startEvent id='s'><messageEventDefinition messageRef='m'/></startEvent>\
             <intermediateCatchEvent id='c'><messageEventDefinition messageRef='m'/></intermediateCatchEvent>\
             <intermediateThrowEvent id='h'><messageEventDefinition messageRef='m'/></intermediateThrowEvent>\
             <task id='t'/><boundaryEvent id='b' attachedToRef='t'><messageEventDefinition messageRef='m'/>\
             </boundaryEvent><endEvent id='e'><messageEventDefinition messageRef='m'/></endEvent>\
             <sequenceFlow id='f1' sourceRef='s' targetRef='c'/><sequenceFlow id='f2' sourceRef='c' targetRef='h'/>\
             <sequenceFlow id='f3' sourceRef='h' targetRef='t'/><sequenceFlow id='f4' sourceRef='t' targetRef='e'/>\
             <sequenceFlow id='f5' sourceRef='b' targetRef='e'/></process>"
        );
        all.push(swap(rule, &file(&text), broken, kept));
    }
    let silent = "<message id='m'/><collaboration id='k'><participant id='o' processRef='p'/>\
         <participant id='o2'/><messageFlow id='f' sourceRef='o2' targetRef='s'/></collaboration>\
         <process id='p' isExecutable='true'><startEvent id='s'>@</startEvent><endEvent id='e'/>\
         <sequenceFlow id='x' sourceRef='s' targetRef='e'/></process>";
    let message = "<messageEventDefinition messageRef='m'/>";
    all.push(swap(103, &file(silent), "", message));
    let timer = "<timerEventDefinition><timeCycle>R/PT1H</timeCycle></timerEventDefinition>";
    all.push(swap(103, &file(silent), timer, message));
    let silent = "<message id='m'/><signal id='g'/><collaboration id='k'><participant id='o' processRef='p'/>\
         <participant id='o2'/><messageFlow id='f' sourceRef='e' targetRef='o2'/></collaboration>\
         <process id='p' isExecutable='true'><startEvent id='s'/><endEvent id='e'>@</endEvent>\
         <sequenceFlow id='x' sourceRef='s' targetRef='e'/></process>";
    all.push(swap(109, &file(silent), "", message));
    all.push(swap(109, &file(silent), "<signalEventDefinition signalRef='g'/>", message));
    all
}

fn containers() -> Vec<Pair> {
    let mut all = Vec::new();
    for (rule, name) in [(37, "startQuantity"), (38, "completionQuantity")] {
        for kind in ["task", "subProcess", "userTask"] {
            all.push(swap(rule, &around(&format!("<{kind} id='n' {name}='@'/>")), "0", "1"));
            all.push(swap(rule, &around(&format!("<{kind} id='n' {name}='@'/>")), "-2", "2"));
        }
    }
    let resource = "<resource id='r' name='r'><resourceParameter id='x' name='x'/></resource>\
                    <resource id='r2' name='r2'><resourceParameter id='y' name='y'/></resource>";
    for role in ["performer", "humanPerformer", "potentialOwner", "resourceRole"] {
        let both = format!(
            "{resource}<process id='p' isExecutable='true'><userTask id='a'><{role}>\
             @</{role}></userTask></process>"
        );
        let expression = "<resourceAssignmentExpression><formalExpression>x</formalExpression>\
                          </resourceAssignmentExpression>";
        let broken = format!("<resourceRef>r</resourceRef>{expression}");
        all.push(swap(39, &file(&both), &broken, expression));
        let binding = |of: &str| {
            format!(
                "<resourceRef>r</resourceRef><resourceParameterBinding parameterRef='{of}'>\
                 <formalExpression>1</formalExpression></resourceParameterBinding>"
            )
        };
        all.push(swap(40, &file(&both), &binding("y"), &binding("x")));
    }
    let loops = "<task id='n'><standardLoopCharacteristics/>@</task>";
    let several = "<multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>\
                   </multiInstanceLoopCharacteristics>";
    all.push(swap(54, &around(loops), several, ""));
    let event = |inner: &str| {
        file(&format!(
            "<signal id='s'/><error id='r' errorCode='R'/><process id='p' isExecutable='true'><task id='a'/>\
             <subProcess id='e' triggeredByEvent='true'>{inner}</subProcess></process>"
        ))
    };
    let start = |id: &str, inner: &str, more: &str| {
        format!("<startEvent id='{id}' {more}>{inner}</startEvent>")
    };
    let signal = "<signalEventDefinition signalRef='s'/>";
    let one = event(&start("i", signal, ""));
    all.push(pair(58, event("<task id='t'/>"), one.clone()));
    all.push(pair(
        58,
        event(&format!("{}{}", start("i", signal, ""), start("j", signal, ""))),
        one.clone(),
    ));
    for definition in ["cancel", "terminate"] {
        all.push(pair(
            59,
            event(&start("i", &format!("<{definition}EventDefinition/>"), "")),
            one.clone(),
        ));
    }
    all.push(pair(59, event(&start("i", "<linkEventDefinition name='k'/>", "")), one.clone()));
    all.push(pair(59, event(&start("i", "", "")), one));
    for definition in ["<errorEventDefinition errorRef='r'/>", "<compensateEventDefinition/>"] {
        let text = event(&start("i", definition, "isInterrupting='@'"));
        all.push(swap(59, &text, "false", "true"));
        all.push(swap(147, &text, "false", "true"));
    }
    let ad_hoc = "<adHocSubProcess id='n'>@</adHocSubProcess>";
    all.push(swap(61, &around(ad_hoc), "", "<task id='t'/>"));
    all.push(swap(61, &around(ad_hoc), "<exclusiveGateway id='g'/>", "<task id='t'/>"));
    for inner in ["<startEvent id='s'/>", "<endEvent id='e'/>", "<conversation id='k'/>"] {
        let text = "<adHocSubProcess id='n'><task id='t'/>@</adHocSubProcess>";
        all.push(swap(62, &around(text), inner, "<task id='u'/>"));
    }
    let condition = "<adHocSubProcess id='n'><task id='t'/><completionCondition xsi:type='tFormalExpression'>@\
                     </completionCondition></adHocSubProcess>";
    all.push(swap(71, &around(condition), "a b c", "x"));
    let several = "<task id='n'><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>\
                   <completionCondition>@</completionCondition></multiInstanceLoopCharacteristics></task>";
    let looped = "<task id='n'><standardLoopCharacteristics><loopCondition>@</loopCondition>\
                  </standardLoopCharacteristics></task>";
    let way = format!(
        "<exclusiveGateway id='n' default='out'/><task id='t'/><sequenceFlow id='f1' sourceRef='n' \
         targetRef='t'><conditionExpression {FORMAL}>@</conditionExpression></sequenceFlow>\
         <sequenceFlow id='f2' sourceRef='t' targetRef='end'/>"
    );
    for text in [condition, several, looped, &way] {
        for never in ["23", "-1.5", "${23}", "= 7", "'yes'", "\"yes\"", "null", "${null}"] {
            all.push(swap(71, &around(text), never, "x"));
        }
        all.push(swap(71, &around(text), "23", "'a' == 'b'"));
        all.push(swap(71, &around(text), "23", "true"));
    }
    all
}

const DEFINITIONS: &[(&str, &str)] = &[
    ("message", "<messageEventDefinition messageRef='m'/>"),
    ("signal", "<signalEventDefinition signalRef='s'/>"),
    ("timer", "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"),
    (
        "condition",
        "<conditionalEventDefinition><condition>x</condition></conditionalEventDefinition>",
    ),
    ("error", "<errorEventDefinition errorRef='r'/>"),
    ("escalation", "<escalationEventDefinition escalationRef='l'/>"),
    ("compensation", "<compensateEventDefinition/>"),
    ("cancel", "<cancelEventDefinition/>"),
    ("terminate", "<terminateEventDefinition/>"),
    ("link", "<linkEventDefinition name='k'/>"),
];

fn eventful(body: &str) -> String {
    file(&format!(
        "<message id='m'/><signal id='s'/><error id='r' errorCode='R'/>\
         <escalation id='l' escalationCode='L'/><escalation id='l2'/>\
         <signalEventDefinition id='shared' signalRef='s'/>\
         <process id='p' isExecutable='true'>{body}</process>"
    ))
}

fn definition(kind: &str) -> &'static str {
    DEFINITIONS.iter().find(|(it, _)| *it == kind).map_or("", |(_, it)| it)
}

fn events() -> Vec<Pair> {
    let mut all = Vec::new();
    let start = eventful(
        "<startEvent id='a'>@</startEvent><endEvent id='e'/>\
         <sequenceFlow id='x' sourceRef='a' targetRef='e'/>",
    );
    for wrong in ["error", "escalation", "compensation", "cancel", "terminate", "link"] {
        all.push(swap(98, &start, definition(wrong), definition("signal")));
    }
    let end = eventful(
        "<startEvent id='a'/><endEvent id='e'>@</endEvent>\
         <sequenceFlow id='x' sourceRef='a' targetRef='e'/>",
    );
    for wrong in ["timer", "condition", "link"] {
        all.push(swap(146, &end, definition(wrong), definition("signal")));
    }
    all.push(swap(106, &end, definition("cancel"), definition("terminate")));
    let node = |kind: &str| {
        eventful(&format!(
            "<startEvent id='a'/><{kind} id='n'>@</{kind}><endEvent id='e'/>\
             <sequenceFlow id='x' sourceRef='a' targetRef='n'/>\
             <sequenceFlow id='y' sourceRef='n' targetRef='e'/>"
        ))
    };
    for wrong in ["error", "escalation", "cancel", "terminate"] {
        all.push(swap(
            148,
            &node("intermediateCatchEvent"),
            definition(wrong),
            definition("timer"),
        ));
    }
    all.push(swap(148, &node("intermediateCatchEvent"), "", definition("timer")));
    all.push(swap(
        122,
        &node("intermediateCatchEvent"),
        definition("compensation"),
        definition("timer"),
    ));
    all.push(swap(
        121,
        &node("intermediateCatchEvent"),
        definition("compensation"),
        definition("timer"),
    ));
    for wrong in ["timer", "condition", "error", "cancel", "terminate"] {
        all.push(swap(
            149,
            &node("intermediateThrowEvent"),
            definition(wrong),
            definition("signal"),
        ));
    }
    let behavior = eventful(
        "<task id='n'><multiInstanceLoopCharacteristics behavior='Complex'><loopCardinality>2\
         </loopCardinality><complexBehaviorDefinition><condition>x</condition><event id='v'>@</event>\
         </complexBehaviorDefinition></multiInstanceLoopCharacteristics></task>",
    );
    all.push(swap(149, &behavior, definition("timer"), definition("signal")));
    all.push(swap(11, &behavior, "<escalationEventDefinition/>", definition("escalation")));
    let referring = eventful(
        "<task id='n'><multiInstanceLoopCharacteristics behavior='One' oneBehaviorEventRef='@'>\
         <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></task>\
         <intermediateThrowEvent id='w'><signalEventDefinition id='own' signalRef='s'/></intermediateThrowEvent>",
    );
    let referring = referring.replace("<process", "<terminateEventDefinition id='stop'/><process");
    all.push(swap(149, &referring, "stop", "shared"));
    all.push(swap(95, &referring, "own", "shared"));
    let boundary = |more: &str| {
        eventful(&format!(
            "<startEvent id='a'/><transaction id='n'><task id='t'/></transaction><endEvent id='e'/>\
             <boundaryEvent id='b' attachedToRef='n' {more}>@</boundaryEvent>\
             <sequenceFlow id='x' sourceRef='a' targetRef='n'/>\
             <sequenceFlow id='y' sourceRef='n' targetRef='e'/>\
             <sequenceFlow id='z' sourceRef='b' targetRef='e'/>"
        ))
    };
    for wrong in ["link", "terminate", ""] {
        all.push(swap(110, &boundary(""), definition(wrong), definition("signal")));
        all.push(swap(
            110,
            &boundary("cancelActivity='false'"),
            definition(wrong),
            definition("signal"),
        ));
    }
    for wrong in ["error", "cancel"] {
        all.push(swap(
            110,
            &boundary("cancelActivity='false'"),
            definition(wrong),
            definition("timer"),
        ));
    }
    for kind in ["task", "subProcess", "userTask"] {
        let text = boundary("").replace("transaction", kind).replace("<task id='t'/>", "");
        all.push(swap(111, &text, definition("cancel"), definition("error")));
    }
    let thrown = "<escalationEventDefinition escalationRef='l2'/>";
    for kind in ["<endEvent id='e'>", "<intermediateThrowEvent id='n'>"] {
        let base =
            if kind.starts_with("<end") { end.clone() } else { node("intermediateThrowEvent") };
        all.push(swap(11, &base, thrown, definition("escalation")));
        all.push(swap(11, &base, "<escalationEventDefinition/>", definition("escalation")));
        let blank =
            base.replace("<escalation id='l2'/>", "<escalation id='l2' escalationCode=' '/>");
        all.push(swap(11, &blank, thrown, definition("escalation")));
    }
    let twice = "<startEvent id='a'/><sequenceFlow id='x' sourceRef='a' targetRef='n'/>\
                 <intermediateThrowEvent id='n'><signalEventDefinition id='own' signalRef='s'/>\
                 </intermediateThrowEvent><sequenceFlow id='y' sourceRef='n' targetRef='e'/>\
                 <endEvent id='e'><eventDefinitionRef>@</eventDefinitionRef></endEvent>";
    all.push(swap(95, &eventful(twice), "own", "shared"));
    let twice = "<startEvent id='a'/><sequenceFlow id='y' sourceRef='a' targetRef='e'/>\
                 <endEvent id='e'><eventDefinitionRef>shared</eventDefinitionRef>@</endEvent>";
    all.push(swap(95, &eventful(twice), "<eventDefinitionRef>shared</eventDefinitionRef>", ""));
    for base in [node("intermediateCatchEvent"), node("intermediateThrowEvent"), start, end] {
        all.push(swap(127, &base, "<messageEventDefinition/>", definition("message")));
        all.push(swap(128, &base, definition("message"), definition("signal")));
    }
    // Ways in and out.
    let ways = "<startEvent id='a'/><task id='n'/><endEvent id='e'/>\
                <sequenceFlow id='x' sourceRef='a' targetRef='n'/>\
                <sequenceFlow id='y' sourceRef='n' targetRef='e'/>@";
    let flow = |from: &str, to: &str| {
        format!("<sequenceFlow id='z' sourceRef='{from}' targetRef='{to}'/>")
    };
    all.push(swap(96, &process(ways), &flow("n", "a"), ""));
    all.push(swap(104, &process(ways), &flow("e", "n"), ""));
    let more_start = format!("<startEvent id='a2'/>{}", flow("a2", "n"));
    all.push(swap(101, &process(ways), "<startEvent id='a2'/>", &more_start));
    all.push(pair(101, process("<startEvent id='a'/>"), process("<task id='t'/>")));
    let more_end = format!("<endEvent id='e2'/>{}", flow("n", "e2"));
    all.push(swap(107, &process(ways), "<endEvent id='e2'/>", &more_end));
    let no_start =
        "@<task id='n'/><endEvent id='e'/><sequenceFlow id='y' sourceRef='n' targetRef='e'/>";
    let begun = "<startEvent id='a'/><sequenceFlow id='x' sourceRef='a' targetRef='n'/>";
    all.push(swap(97, &process(no_start), "", begun));
    all.push(swap(
        97,
        &around(&format!(
            "<subProcess id='n'>{}</subProcess>",
            no_start.replace("'n'", "'w'").replace("'e'", "'v'")
        )),
        "",
        &begun.replace("'n'", "'w'"),
    ));
    let instantiating = "<message id='m'/><process id='p' isExecutable='true'>\
         <receiveTask id='n' instantiate='@' messageRef='m'/><endEvent id='e'/>\
         <sequenceFlow id='y' sourceRef='n' targetRef='e'/></process>";
    all.push(swap(97, &file(instantiating), "false", "true"));
    let no_end =
        "<startEvent id='a'/><task id='n'/><sequenceFlow id='x' sourceRef='a' targetRef='n'/>@";
    let ended = "<endEvent id='e'/><sequenceFlow id='y' sourceRef='n' targetRef='e'/>";
    all.push(swap(105, &process(no_end), "", ended));
    let sub = eventful(
        "<task id='t'/><subProcess id='u' triggeredByEvent='true'><startEvent id='a'>\
         <signalEventDefinition signalRef='s'/></startEvent><task id='n'/>\
         <sequenceFlow id='x' sourceRef='a' targetRef='n'/>@</subProcess>",
    );
    all.push(swap(105, &sub, "", ended));
    let late = instantiating.replace('@', "true").replace("</process>", "@</process>");
    all.push(swap(107, &file(&late), "<endEvent id='e2'/>", ""));
    let ad_hoc = eventful(&format!(
        "<adHocSubProcess id='u'><task id='a'/><task id='b'/><intermediateThrowEvent id='n'>{}\
         </intermediateThrowEvent>@</adHocSubProcess>",
        definition("signal")
    ));
    let (into, out_of) = (
        "<sequenceFlow id='x' sourceRef='a' targetRef='n'/>",
        "<sequenceFlow id='y' sourceRef='n' targetRef='b'/>",
    );
    let through = format!("{into}{out_of}");
    all.push(swap(115, &ad_hoc, out_of, &through));
    all.push(swap(116, &ad_hoc, into, &through));
    let inner = "<subProcess id='n'><startEvent id='s'>@</startEvent><endEvent id='e'/>\
                 <sequenceFlow id='x' sourceRef='s' targetRef='e'/></subProcess>";
    let timer = definition("timer");
    all.push(swap(100, &around(inner), timer, ""));
    all.push(swap(100, &around(&inner.replace("subProcess", "transaction")), timer, ""));
    let attached = eventful(&format!(
        "<task id='n'/><task id='t'/><boundaryEvent id='b' attachedToRef='n'>{}</boundaryEvent>\
         <sequenceFlow id='w' sourceRef='b' targetRef='t'/>@",
        definition("signal")
    ));
    all.push(swap(112, &attached, &flow("t", "b"), ""));
    let dead = eventful(&format!(
        "<task id='n'/><task id='t'/><boundaryEvent id='b' attachedToRef='n'>{}</boundaryEvent>@",
        definition("signal")
    ));
    all.push(swap(113, &dead, "", &flow("b", "t")));
    let undone = "<task id='n'/><boundaryEvent id='b' attachedToRef='n'><compensateEventDefinition/>\
                  </boundaryEvent>@";
    let handled =
        "<task id='h' isForCompensation='true'/><association id='o' sourceRef='b' targetRef='h'/>";
    let leads = format!("{handled}<task id='u'/>{}", flow("b", "u"));
    all.push(swap(114, &process(undone), &leads, handled));
    all.push(swap(143, &process(undone), "<task id='h' isForCompensation='true'/>", handled));
    all.push(swap(144, &process(undone), &handled.replace("true", "false"), handled));
    let call = "<callActivity id='h' calledElement='q' isForCompensation='true'/>\
                <association id='o' sourceRef='b' targetRef='h'/>";
    all.push(swap(144, &process(undone), call, handled));
    for kind in ["intermediateCatchEvent", "intermediateThrowEvent"] {
        let event = format!("<{kind} id='n'>{}</{kind}>", definition("signal"));
        let text = format!("<task id='a'/><task id='b'/>{event}@{}", flow("n", "b"));
        all.push(swap(
            115,
            &eventful(&text),
            "",
            "<sequenceFlow id='w' sourceRef='a' targetRef='n'/>",
        ));
        let text = format!("<task id='a'/><task id='b'/>{event}@{}", flow("a", "n"));
        all.push(swap(
            116,
            &eventful(&text),
            "",
            "<sequenceFlow id='w' sourceRef='n' targetRef='b'/>",
        ));
    }
    let link = |id: &str, kind: &str, name: &str| {
        format!("<{kind} id='{id}'><linkEventDefinition name='{name}'/></{kind}>")
    };
    let (throw, catch) =
        (link("o", "intermediateThrowEvent", "k"), link("c", "intermediateCatchEvent", "k"));
    let linked = format!(
        "<task id='a'/><task id='b'/>{throw}{catch}@\
         <sequenceFlow id='w' sourceRef='a' targetRef='o'/>"
    );
    let out = "<sequenceFlow id='v' sourceRef='c' targetRef='b'/>";
    all.push(swap(117, &process(&linked), "", out));
    all.push(swap(117, &process(&linked), &format!("{out}{}", flow("b", "c")), out));
    all.push(swap(117, &process(&linked), &format!("{out}{}", flow("o", "b")), out));
    let all_linked = format!("{linked}{out}").replace('@', "");
    let other = |from: &str, to: &str| all_linked.replacen(from, to, 1);
    let kept = process(&all_linked);
    let second = format!("{all_linked}{}", link("c2", "intermediateCatchEvent", "k"));
    all.push(pair(118, process(&second), kept.clone()));
    all.push(pair(124, process(&other(&throw, "<intermediateThrowEvent id='o'/>")), kept.clone()));
    all.push(pair(125, process(&other(&catch, "<task id='c'/>")), kept.clone()));
    all.push(pair(126, process(&other("name='k'", "name='j'")), kept));
    all
}

fn gateways() -> Vec<Pair> {
    let mut all = Vec::new();
    for kind in ["exclusiveGateway", "parallelGateway", "inclusiveGateway", "complexGateway"] {
        let text = |flows: &str| {
            process(&format!(
                "<task id='a'/><task id='b'/><task id='c'/><task id='d'/>\
                 <{kind} id='g' gatewayDirection='@'/>{flows}"
            ))
        };
        let two_in = "<sequenceFlow id='x' sourceRef='a' targetRef='g'/><sequenceFlow id='y' sourceRef='b' targetRef='g'/>";
        let two_out = "<sequenceFlow id='z' sourceRef='g' targetRef='c'/><sequenceFlow id='w' sourceRef='g' targetRef='d'/>";
        let one_in = "<sequenceFlow id='x' sourceRef='a' targetRef='g'/>";
        let one_out = "<sequenceFlow id='z' sourceRef='g' targetRef='c'/>";
        all.push(swap(17, &text(&format!("{one_in}{two_out}")), "Converging", "Diverging"));
        all.push(swap(17, &text(&format!("{two_in}{two_out}")), "Converging", "Mixed"));
        all.push(swap(18, &text(&format!("{two_in}{one_out}")), "Diverging", "Converging"));
        all.push(swap(19, &text(&format!("{one_in}{two_out}")), "Mixed", "Unspecified"));
        all.push(swap(19, &text(&format!("{two_in}{one_out}")), "Mixed", "Unspecified"));
        let unspecified = |flows: &str| text(flows).replace('@', "Unspecified");
        all.push(pair(
            135,
            unspecified(&format!("{one_in}{one_out}")),
            unspecified(&format!("{one_in}{two_out}")),
        ));
    }
    let behind = |first: &str, second: &str, more: &str| {
        eventful(&format!(
            "<task id='a'/><eventBasedGateway id='g'/><sequenceFlow id='x' sourceRef='a' targetRef='g'/>\
             {first}{second}{more}"
        ))
    };
    let catch = |id: &str, kind: &str| {
        format!("<intermediateCatchEvent id='{id}'>{}</intermediateCatchEvent>", definition(kind))
    };
    let to = |id: &str, to: &str, inner: &str| {
        format!("<sequenceFlow id='{id}' sourceRef='g' targetRef='{to}'>{inner}</sequenceFlow>")
    };
    let timer = format!("{}{}", catch("t", "timer"), to("y", "t", ""));
    let signal = format!("{}{}", catch("s1", "signal"), to("z", "s1", ""));
    let good = behind(&timer, &signal, "");
    all.push(pair(136, behind(&timer, "", ""), good.clone()));
    let condition = "<conditionExpression>x</conditionExpression>";
    let conditional = format!("{}{}", catch("s1", "signal"), to("z", "s1", condition));
    all.push(pair(137, behind(&timer, &conditional, ""), good.clone()));
    for wrong in [
        "<task id='w'/>".to_owned(),
        "<sendTask id='w'/>".to_owned(),
        "<endEvent id='w'/>".to_owned(),
        "<intermediateThrowEvent id='w'/>".to_owned(),
        catch("w", "compensation"),
    ] {
        all.push(pair(
            138,
            behind(&timer, &format!("{wrong}{}", to("z", "w", "")), ""),
            good.clone(),
        ));
    }
    let receive = format!("<receiveTask id='w' messageRef='m'/>{}", to("z", "w", ""));
    let message = format!("{}{}", catch("t", "message"), to("y", "t", ""));
    let received = behind(&timer, &receive, "");
    all.push(pair(139, behind(&message, &receive, ""), received.clone()));
    let referred = "<intermediateCatchEvent id='t'><eventDefinitionRef>md</eventDefinitionRef>\
                    </intermediateCatchEvent>";
    let referred = behind(&format!("{referred}{}", to("y", "t", "")), &receive, "").replace(
        "<signal id='s'/>",
        "<signal id='s'/><messageEventDefinition id='md' messageRef='m'/>",
    );
    all.push(pair(139, referred, received.clone()));
    let boundary = format!(
        "<boundaryEvent id='b' attachedToRef='w'>{}</boundaryEvent>\
         <sequenceFlow id='q' sourceRef='b' targetRef='a'/>",
        definition("signal")
    );
    all.push(pair(140, behind(&timer, &receive, &boundary), received));
    let other = "<sequenceFlow id='q' sourceRef='a' targetRef='t'/>";
    all.push(pair(141, behind(&timer, &signal, other), good));
    let instantiating = eventful(&format!(
        "<task id='a'/><eventBasedGateway id='g' instantiate='true'/>@{}{}{}{}",
        catch("t", "signal"),
        to("y", "t", ""),
        catch("w", "message"),
        to("z", "w", "")
    ));
    all.push(swap(142, &instantiating, "<sequenceFlow id='x' sourceRef='a' targetRef='g'/>", ""));
    let receiving = "<message id='m'/><process id='p' isExecutable='true'><task id='a'/>\
         <receiveTask id='n' instantiate='true' messageRef='m'/>@</process>";
    all.push(swap(49, &file(receiving), "<sequenceFlow id='x' sourceRef='a' targetRef='n'/>", ""));
    all
}

fn messages() -> Vec<Pair> {
    let mut all = Vec::new();
    let service = "<serviceTask id='n' operationRef='op'>@</serviceTask>";
    let io = |ins: &str, outs: &str| {
        let refs = |text: &str, kind: &str| -> String {
            let ids = text
                .split_whitespace()
                .filter_map(|it| it.strip_prefix("id='")?.strip_suffix('\''));
            joined(ids.map(|it| format!("<{kind}>{it}</{kind}>")))
        };
        format!(
            "<ioSpecification>{ins}{outs}<inputSet>{}</inputSet><outputSet>{}</outputSet></ioSpecification>",
            refs(ins, "dataInputRefs"),
            refs(outs, "dataOutputRefs")
        )
    };
    let good = io(&format!("<dataInput id='i' {A} />"), &format!("<dataOutput id='o' {A} />"));
    let twin = io(&format!("<dataInput id='i' {C} />"), &format!("<dataOutput id='o' {C} />"));
    let service = typed_around(service);
    all.push(swap(42, &service, "", &good));
    let second = |text: &str, set: &str| {
        text.replacen(&format!("<{set}>"), &format!("<{set}></{set}><{set}>"), 1)
    };
    all.push(swap(42, &service, &second(&good, "inputSet"), &good));
    all.push(swap(43, &service, &second(&good, "outputSet"), &good));
    for (rule, broken) in [
        (44, io(&format!("<dataInput id='i' {B} />"), &format!("<dataOutput id='o' {A} />"))),
        (44, io("<dataInput id='i' />", &format!("<dataOutput id='o' {A} />"))),
        (45, io(&format!("<dataInput id='i' {A} />"), &format!("<dataOutput id='o' {B} />"))),
        (45, io(&format!("<dataInput id='i' {A} />"), "<dataOutput id='o' />")),
        (45, io(&format!("<dataInput id='i' {A} />"), "")),
    ] {
        all.push(swap(rule, &service, &broken, &good));
        all.push(swap(rule, &service, &broken, &twin));
    }
    let untyped = |text: &str| text.replace("<message id='m' itemRef='ia'/>", "<message id='m'/>");
    let plain = io("<dataInput id='i' />", "<dataOutput id='o' />");
    for (rule, broken) in [
        (44, io(&format!("<dataInput id='i' {A} />"), "<dataOutput id='o' />")),
        (44, io("", "<dataOutput id='o' />")),
        (45, io("<dataInput id='i' />", &format!("<dataOutput id='o' {A} />"))),
        (45, io("<dataInput id='i' />", "")),
    ] {
        all.push(swap(rule, &untyped(&service), &broken, &plain));
    }
    for (rule, kind, one, other) in [
        (48, "sendTask", inputs(&[("i", B)]), inputs(&[("i", A)])),
        (52, "receiveTask", outputs(&[("i", B)]), outputs(&[("i", A)])),
    ] {
        let text = typed_around(&format!("<{kind} id='n' operationRef='op2'>@</{kind}>"));
        all.push(swap(rule, &text, &one, &other));
        let text = typed_around(&format!("<{kind} id='n' messageRef='m'>@</{kind}>"));
        let bare = other.replace(A, "");
        all.push(swap(rule, &untyped(&text), &other, &bare));
    }
    let send = typed_around("<sendTask id='n' messageRef='m'>@</sendTask>");
    let one = inputs(&[("i", A)]);
    all.push(swap(46, &send, &second(&one, "inputSet"), &one));
    all.push(swap(47, &send, &inputs(&[("i", A), ("j", A)]), &one));
    all.push(swap(48, &send, &inputs(&[("i", B)]), &inputs(&[("i", C)])));
    all.push(swap(48, &send, &inputs(&[("i", "")]), &one));
    let receive = typed_around("<receiveTask id='n' messageRef='m'>@</receiveTask>");
    let one = outputs(&[("i", A)]);
    all.push(swap(50, &receive, &second(&one, "outputSet"), &one));
    all.push(swap(51, &receive, &outputs(&[("i", A), ("j", A)]), &one));
    all.push(swap(52, &receive, &outputs(&[("i", B)]), &outputs(&[("i", C)])));
    all.push(swap(52, &receive, &outputs(&[("i", "")]), &one));
    all
}

fn calls() -> Vec<Pair> {
    let mut all = Vec::new();
    let plain = "<process id='p' isExecutable='true'><task id='t'/></process>";
    let import = format!(
        "<import namespace='u' location='@' importType='http://www.w3.org/2001/XMLSchema'/>{plain}"
    );
    all.push(swap(60, &file(&import), "a b.xsd", "types.xsd"));
    all.push(swap(60, &file(&import), "", "types.xsd"));
    let bpmn = "http://www.omg.org/spec/BPMN/20100524/MODEL";
    let import = format!("<import namespace='t' location='@' importType='{bpmn}'/>{plain}");
    all.push(swap(60, &file(&import), "other.bpmn", "model.bpmn"));
    let import =
        format!("<import namespace='@' location='model.bpmn' importType='{bpmn}'/>{plain}");
    all.push(swap(60, &file(&import), "other", "t"));
    let call = "<process id='p' isExecutable='true'><callActivity id='c' calledElement='@'/></process>\
                <process id='q'><task id='t'/></process><choreography id='h'/><collaboration id='k'/>\
                <globalConversation id='v'/>";
    for wrong in ["h", "k", "v", "t", "other:q2", "other:q", "nowhere"] {
        all.push(swap(60, &file(call), wrong, "q"));
    }
    let callee = format!(
        "<process id='q'>{}<task id='t'/></process>",
        "<ioSpecification><dataInput id='qi' name='in' itemSubjectRef='ia'/><dataOutput id='qo' name='out' \
         itemSubjectRef='ia'/><inputSet><dataInputRefs>qi</dataInputRefs></inputSet><outputSet>\
         <dataOutputRefs>qo</dataOutputRefs></outputSet></ioSpecification>"
    );
    let own = |ins: &str, outs: &str, in_refs: &str, out_refs: &str| {
        format!(
            "<ioSpecification>{ins}{outs}<inputSet>{in_refs}</inputSet><outputSet>{out_refs}</outputSet>\
             </ioSpecification>"
        )
    };
    let (i, o) = (
        "<dataInput id='i' name='in' itemSubjectRef='ia'/>",
        "<dataOutput id='o' name='out' itemSubjectRef='ia'/>",
    );
    let (ir, or) = ("<dataInputRefs>i</dataInputRefs>", "<dataOutputRefs>o</dataOutputRefs>");
    let good = own(i, o, ir, or);
    for target in [
        callee.clone(),
        callee
            .replace("<process id='q'>", "<globalTask id='q'>")
            .replace("<task id='t'/></process>", "</globalTask>"),
    ] {
        let text = typed(&format!(
            "<process id='p' isExecutable='true'><callActivity id='c' calledElement='q'>@</callActivity>\
             </process>{target}"
        ));
        for broken in [
            String::new(),
            own("", o, "", or),
            own(i, "", ir, ""),
            own(
                &format!("{i}<dataInput id='j' name='more'/>"),
                o,
                &format!("{ir}<dataInputRefs>j</dataInputRefs>"),
                or,
            ),
            own(&i.replace("ia", "ib"), o, ir, or),
            own(i, &o.replace("'out'", "'other'"), ir, or),
            good.replace("<inputSet>", "<inputSet></inputSet><inputSet>"),
            good.replace("</inputSet>", "<optionalInputRefs>i</optionalInputRefs></inputSet>"),
        ] {
            all.push(swap(63, &text, &broken, &good));
        }
        let silent =
            target.split("<ioSpecification>").next().map(str::to_owned).unwrap_or_default()
                + target.split("</ioSpecification>").nth(1).unwrap_or_default();
        let text = typed(&format!(
            "<process id='p' isExecutable='true'><callActivity id='c' calledElement='q'>@</callActivity>\
             </process>{silent}"
        ));
        all.push(swap(63, &text, &good, ""));
    }
    for open in ["process id='q' isExecutable='true'", "globalTask id='q'", "globalUserTask id='q'"]
    {
        let name = open.split(' ').next().unwrap_or_default();
        let offered = |inner: &str| {
            typed(&format!(
                "<process id='p' isExecutable='true'><task id='t'/></process>\
                 <{open}><supportedInterfaceRef>face</supportedInterfaceRef>\
                 <ioSpecification><dataInput id='i' {A}/><dataOutput id='o' {A}/><inputSet id='is'>\
                 <dataInputRefs>i</dataInputRefs></inputSet><outputSet id='os'><dataOutputRefs>o\
                 </dataOutputRefs></outputSet></ioSpecification>{inner}</{name}>\
                 <globalTask id='other'><ioSpecification><inputSet id='is2'/><outputSet id='os2'/>\
                 </ioSpecification></globalTask>"
            ))
        };
        let bound = "<ioBinding operationRef='op' inputDataRef='is' outputDataRef='os'/>";
        all.push(pair(64, offered(""), offered(bound)));
        all.push(pair(65, offered(&bound.replace("'is'", "'is2'")), offered(bound)));
        all.push(pair(65, offered(&bound.replace("'os'", "'os2'")), offered(bound)));
        all.push(pair(
            65,
            offered(&format!("{bound}{}", bound.replace("'op'", "'op2'"))),
            offered(bound),
        ));
        all.push(pair(65, offered(&bound.replace("'is'", "'os'")), offered(bound)));
        let data = bound.replace("'is'", "'i'").replace("'os'", "'o'");
        all.push(pair(65, offered(&data.replace("'i'", "'o'")), offered(&data)));
        let of_other_type = |id: &str| {
            offered(bound).replacen(&format!("id='{id}' {A}"), &format!("id='{id}' {B}"), 1)
        };
        all.push(pair(65, of_other_type("i"), offered(bound)));
        all.push(pair(65, of_other_type("o"), offered(bound)));
    }
    let waiting = "<signal id='g'/><process id='p' isExecutable='true'><callActivity id='c' calledElement='q'/>\
         </process><process id='q'><startEvent id='s'>@</startEvent><endEvent id='e'/>\
         <sequenceFlow id='x' sourceRef='s' targetRef='e'/></process>";
    all.push(swap(99, &file(waiting), "<signalEventDefinition signalRef='g'/>", ""));
    let received = "<message id='g'/><process id='p' isExecutable='true'><callActivity id='c' calledElement='q'/>\
         </process><process id='q'>@<endEvent id='e'/><sequenceFlow id='x' sourceRef='s' targetRef='e'/></process>";
    let receive = "<receiveTask id='s' instantiate='true' messageRef='g'/>";
    all.push(swap(99, &file(received), receive, "<startEvent id='s'/>"));
    let referred = waiting.replace(
        "<signal id='g'/>",
        "<signal id='g'/><signalEventDefinition id='d' signalRef='g'/>",
    );
    all.push(swap(99, &file(&referred), "<eventDefinitionRef>d</eventDefinitionRef>", ""));
    all
}

fn data() -> Vec<Pair> {
    let mut all = Vec::new();
    // Loops.
    let several = |inner: &str| {
        format!("<multiInstanceLoopCharacteristics>{inner}</multiInstanceLoopCharacteristics>")
    };
    all.push(swap(
        67,
        &task("task", "@"),
        &several(""),
        &several("<loopCardinality>2</loopCardinality>"),
    ));
    let list = "itemSubjectRef='list' isCollection='true'";
    let looped = |reference: &str, item: &str| {
        typed_around(&format!(
            "<dataObject id='d' {list}/><task id='other'>{}</task><task id='n'>{}{}</task>",
            inputs(&[("oi", list)]),
            inputs(&[("i", list)]),
            several(&format!(
                "<loopDataInputRef>{reference}</loopDataInputRef><inputDataItem id='it' {item}/>"
            ))
        ))
        .replace(
            "<task id='other'>",
            "<sequenceFlow id='f7' sourceRef='start' targetRef='other'/><task id='other'>",
        )
    };
    for wrong in ["d", "oi", "somewhere", "n"] {
        all.push(pair(68, looped(wrong, A), looped("i", A)));
    }
    let sub = |reference: &str| {
        typed_around(&format!(
            "<dataObject id='d' {list}/><property id='q'/><subProcess id='n'>{}</subProcess>",
            several(&format!("<loopDataInputRef>{reference}</loopDataInputRef>"))
        ))
    };
    all.push(pair(68, sub("start"), sub("d")));
    let single = |text: &str| {
        text.replacen(&format!("<dataObject id='d' {list}/>"), "<dataObject id='d'/>", 1)
    };
    all.push(pair(68, single(&sub("d")), sub("d")));
    let hidden = |text: &str| {
        let object = format!("<dataObject id='d' {list}/>");
        text.replacen(&object, "", 1).replacen(
            "</subProcess>",
            &format!("{object}</subProcess>"),
            1,
        )
    };
    all.push(pair(68, hidden(&sub("d")), sub("d")));
    let input = format!("<dataInput id='i' {list}/>");
    all.push(pair(
        68,
        looped("i", A).replace(&input, &format!("<dataInput id='i' {A}/>")),
        looped("i", A),
    ));
    all.push(pair(69, looped("i", ""), looped("i", A)));
    let untyped = looped("i", A).replace(&input, "<dataInput id='i' isCollection='true'/>");
    all.push(pair(69, untyped, looped("i", A)));
    all.push(pair(69, looped("i", B), looped("i", A)));
    all.push(pair(69, looped("i", list), looped("i", C)));
    let output = |item: &str| {
        typed_around(&format!(
            "<task id='n'>{}{}</task>",
            outputs(&[("o", list)]),
            several(&format!(
                "<loopCardinality>2</loopCardinality><loopDataOutputRef>o</loopDataOutputRef>\
                 <outputDataItem id='it' {item}/>"
            ))
        ))
    };
    all.push(pair(70, output(B), output(A)));
    all.push(pair(70, output(list), output(C)));
    all.push(pair(70, output(""), output(C)));
    let complex = "<task id='n'><multiInstanceLoopCharacteristics behavior='@'><loopCardinality>2\
         </loopCardinality><complexBehaviorDefinition><condition>x</condition></complexBehaviorDefinition>\
         </multiInstanceLoopCharacteristics></task>";
    all.push(swap(72, &around(complex), "One", "Complex"));
    // Types.
    let text = typed_around("<task id='n'/><dataObject id='d' itemSubjectRef='@'/>");
    all.push(swap(20, &text, "list", "ia"));
    all.push(pair(
        20,
        looped("i", A).replace(
            "<dataInput id='i' itemSubjectRef='list' isCollection='true'/>",
            "<dataInput id='i' itemSubjectRef='list'/>",
        ),
        looped("i", A),
    ));
    let output =
        |more: &str| typed_around(&format!("<task id='n'>{}</task>", outputs(&[("o", more)])));
    all.push(pair(20, output("itemSubjectRef='ia' isCollection='true'"), output(list)));
    // Names.
    let named = "<task id='n'/><dataObject id='d' name='Order'/>\
                 <dataObjectReference id='r' dataObjectRef='d' name='@'><dataState name='paid'/></dataObjectReference>";
    for wrong in ["Order", "Order [open]", "paid", "Bill [paid]"] {
        all.push(swap(76, &around(named), wrong, "Order [paid]"));
    }
    let stateless = "<task id='n'/><dataObject id='d' name='Order'/>\
                     <dataObjectReference id='r' dataObjectRef='d' name='@'/>";
    all.push(swap(76, &around(stateless), "Order [paid]", "Order"));
    all.push(swap(76, &around(stateless), "Bill", "Order"));
    let referred = "<dataObject id='d'>@</dataObject><task id='n'/>";
    all.push(swap(75, &typed_around(referred), "<dataState name='paid'/>", ""));
    let referred =
        "<dataObject id='d'/><dataObjectReference id='r' dataObjectRef='d' @/><task id='n'/>";
    all.push(swap(74, &typed_around(referred), A, ""));
    let danced = "<choreography id='h'><participant id='o'/>@</choreography>\
                  <process id='p' isExecutable='true'><task id='t'/></process>";
    all.push(swap(77, &file(danced), "<dataObject id='d'/>", ""));
    all.push(swap(78, &around("<task id='n'/><exclusiveGateway id='g'>@</exclusiveGateway>\
        <sequenceFlow id='f1' sourceRef='n' targetRef='g'/><sequenceFlow id='f2' sourceRef='g' targetRef='end'/>"), "<property id='w'/>", ""));
    for kind in ["subProcess", "transaction", "adHocSubProcess"] {
        let text = format!("<{kind} id='n'>@<task id='t'/></{kind}>");
        all.push(swap(79, &around(&text), &inputs(&[("i", "")]), ""));
    }
    let wrong_way = |source: &str, target: &str, kind: &str, spec: &str| {
        file(&format!(
            "<process id='p' isExecutable='true'><ioSpecification><dataInput id='pi'/><dataOutput id='po'/>\
             <inputSet><dataInputRefs>pi</dataInputRefs></inputSet><outputSet><dataOutputRefs>po\
             </dataOutputRefs></outputSet></ioSpecification><task id='n'>{spec}<{kind}>\
             <sourceRef>{source}</sourceRef><targetRef>{target}</targetRef></{kind}></task></process>"
        ))
    };
    let (ins, outs) = (inputs(&[("i", "")]), outputs(&[("o", "")]));
    all.push(pair(
        80,
        wrong_way("po", "i", "dataInputAssociation", &ins),
        wrong_way("pi", "i", "dataInputAssociation", &ins),
    ));
    all.push(pair(
        80,
        wrong_way("o", "pi", "dataOutputAssociation", &outs),
        wrong_way("o", "po", "dataOutputAssociation", &outs),
    ));
    let own = |kind: &str, source: &str, target: &str| {
        file(&format!(
            "<process id='p' isExecutable='true'><dataObject id='d'/><task id='m'>{}</task><task id='n'>\
             <property id='y'/><ioSpecification><dataInput id='i'/><dataOutput id='o'/><inputSet><dataInputRefs>i\
             </dataInputRefs></inputSet><outputSet><dataOutputRefs>o</dataOutputRefs></outputSet>\
             </ioSpecification><{kind}><sourceRef>{source}</sourceRef><targetRef>{target}</targetRef></{kind}>\
             <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality><inputDataItem id='ii'/>\
             <outputDataItem id='oi'/></multiInstanceLoopCharacteristics></task></process>",
            inputs(&[("mi", "")]).replace("<inputSet>", "<dataOutput id='mo'/><inputSet>").replace(
                "<outputSet/>",
                "<outputSet><dataOutputRefs>mo</dataOutputRefs></outputSet>"
            )
        ))
    };
    for kept in ["i", "ii", "y"] {
        for wrong in ["d", "o", "mi"] {
            let kind = "dataInputAssociation";
            all.push(pair(80, own(kind, "d", wrong), own(kind, "d", kept)));
        }
    }
    for kept in ["o", "oi", "y"] {
        for wrong in ["d", "i", "mo"] {
            let kind = "dataOutputAssociation";
            all.push(pair(82, own(kind, wrong, "d"), own(kind, kept, "d")));
        }
    }
    // Sets.
    for (rule, more_rule, executing_rule, data, set) in
        [(84, 85, 86, "Input", "input"), (88, 89, 90, "Output", "output")]
    {
        let other = if set == "input" { "<outputSet id='os'/>" } else { "<inputSet id='os'/>" };
        let spec = |inner: &str| {
            let own = format!("<{set}Set id='ss'>{inner}</{set}Set>");
            let sets =
                if set == "input" { format!("{own}{other}") } else { format!("{other}{own}") };
            task("task", &format!("<ioSpecification><data{data} id='x'/>{sets}</ioSpecification>"))
        };
        let listed = format!("<data{data}Refs>x</data{data}Refs>");
        all.push(pair(rule, spec(""), spec(&listed)));
        let nameless = spec(&listed).replace(
            &format!("<data{data} id='x'/>"),
            &format!("<data{data} id='x'/><data{data}/>"),
        );
        all.push(pair(rule, nameless, spec(&listed)));
        let optional = format!("<optional{data}Refs>x</optional{data}Refs>");
        all.push(pair(more_rule, spec(&optional), spec(&format!("{listed}{optional}"))));
        let executing = format!("<whileExecuting{data}Refs>x</whileExecuting{data}Refs>");
        all.push(pair(executing_rule, spec(&executing), spec(&format!("{listed}{executing}"))));
        let (there, back) = if set == "input" {
            ("outputSetRefs", "inputSetRefs")
        } else {
            ("inputSetRefs", "outputSetRefs")
        };
        let refers = spec(&format!("{listed}<{there}>os</{there}>"));
        let both = refers.replace(
            other,
            &other.replace(
                "/>",
                &format!(
                    "><{back}>ss</{back}>{}",
                    if set == "input" { "</outputSet>" } else { "</inputSet>" }
                ),
            ),
        );
        all.push(pair(85, refers, both));
    }
    let event_set = "<signal id='g'/><process id='p' isExecutable='true'><task id='a'/>\
        <sequenceFlow id='x' sourceRef='a' targetRef='n'/><sequenceFlow id='y' sourceRef='n' targetRef='b'/>\
        <task id='b'/><intermediateThrowEvent id='n'><dataInput id='i'/><inputSet>@</inputSet>\
        <signalEventDefinition signalRef='g'/></intermediateThrowEvent></process>";
    all.push(swap(84, &file(event_set), "", "<dataInputRefs>i</dataInputRefs>"));
    let set = "<inputSet><dataInputRefs>i</dataInputRefs></inputSet>";
    all.push(swap(84, &file(&event_set.replace("<inputSet>@</inputSet>", "@")), "", set));
    // Associations.
    let associated = |object: &str, input: &str, inner: &str| {
        typed_around(&format!(
            "<dataObject id='d' {object}/><dataObject id='d2' {object}/><task id='n'>{}<dataInputAssociation>\
             <sourceRef>d</sourceRef>@<targetRef>i</targetRef>{inner}</dataInputAssociation></task>",
            inputs(&[("i", input)])
        ))
    };
    for (from, to) in [(A, B), (A, ""), ("", A)] {
        all.push(pair(
            91,
            associated(from, to, "").replace('@', ""),
            associated(A, C, "").replace('@', ""),
        ));
        let transformed =
            associated(from, to, "<transformation>d</transformation>").replace('@', "");
        all.push(pair(91, associated(from, to, "").replace('@', ""), transformed));
        let assigned = "<assignment><from>d</from><to>i</to></assignment>";
        all.push(pair(
            91,
            associated(from, to, assigned).replace('@', ""),
            associated(A, A, assigned).replace('@', ""),
        ));
    }
    all.push(swap(92, &associated(A, A, ""), "<sourceRef>d2</sourceRef>", ""));
    // Events.
    let carrying = [
        ("messageEventDefinition messageRef='m'", true),
        ("signalEventDefinition signalRef='s'", true),
        ("errorEventDefinition errorRef='r'", false),
        ("escalationEventDefinition escalationRef='l'", false),
    ];
    for (definition, catches) in carrying {
        let end = |inner: &str| {
            typed(&format!(
                "<process id='p' isExecutable='true'><startEvent id='a'/><sequenceFlow id='x' sourceRef='a' \
                 targetRef='e'/><endEvent id='e'>{inner}<{definition}/></endEvent></process>"
            ))
        };
        let with = |item: &str| {
            format!(
                "<dataInput id='i' {item}/><inputSet><dataInputRefs>i</dataInputRefs></inputSet>"
            )
        };
        let second = "<dataInput id='j'/><inputSet><dataInputRefs>j</dataInputRefs>";
        let both = with(A).replace("<inputSet>", second);
        let other = "<signalEventDefinition signalRef='plain'/>";
        let several =
            |inner: &str| end(inner).replace("</endEvent>", &format!("{other}</endEvent>"));
        all.push(pair(93, several(""), end("")));
        all.push(pair(93, several(&with(A)), several(&both)));
        all.push(pair(93, end(&both), end(&with(A))));
        all.push(pair(94, end(&with(B)), end(&with(C))));
        all.push(pair(94, end(&with("")), end(&with(A))));
        let kinds: &[&str] = if catches {
            &["intermediateCatchEvent", "boundaryEvent", "startEvent"]
        } else {
            &["boundaryEvent"]
        };
        for kind in kinds {
            let catch = |inner: &str| {
                let attached = if *kind == "boundaryEvent" { "attachedToRef='t'" } else { "" };
                let into = if *kind == "intermediateCatchEvent" {
                    "<sequenceFlow id='w' sourceRef='t' targetRef='n'/>"
                } else {
                    ""
                };
                typed(&format!(
                    "<process id='p' isExecutable='true'><task id='t'/><task id='u'/>{into}\
                     <{kind} id='n' {attached}>{inner}<{definition}/></{kind}>\
                     <sequenceFlow id='x' sourceRef='n' targetRef='u'/></process>"
                ))
            };
            let with = |item: &str| {
                format!(
                    "<dataOutput id='i' {item}/><outputSet><dataOutputRefs>i</dataOutputRefs></outputSet>"
                )
            };
            let other =
                "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
            let several = catch("").replace(&format!("</{kind}>"), &format!("{other}</{kind}>"));
            all.push(pair(93, several, catch("")));
            let more = with(A).replace(
                "<outputSet>",
                "<dataOutput id='j'/><outputSet><dataOutputRefs>j</dataOutputRefs>",
            );
            all.push(pair(93, catch(&more), catch(&with(A))));
            all.push(pair(94, catch(&with(B)), catch(&with(C))));
        }
    }
    all
}
