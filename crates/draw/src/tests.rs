//! Whole pictures.

use std::{
    fs,
    path::{Path, PathBuf},
};

use travertine_xml::Ns;

use super::*;
use crate::{
    model::{ItemId, Kind},
    sheet::Sheet,
};

fn model(inside: &str) -> String {
    format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
             xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"
             xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"
             xmlns:di="http://www.omg.org/spec/DD/20100524/DI"
             xmlns:bioc="http://bpmn.io/schema/bpmn/biocolor/1.0">{inside}</definitions>"#
    )
}

/// A process with this in it.
fn process(inside: &str) -> String {
    model(&format!("<process id=\"p\">{inside}</process>"))
}

/// A task between two events, with the diagram data given.
fn small(name: &str, diagram: &str) -> String {
    model(&format!(
        r#"<process id="p">
             <startEvent id="start"/>
             <sequenceFlow id="in" sourceRef="start" targetRef="it"/>
             <task id="it" name="{name}"/>
             <sequenceFlow id="out" sourceRef="it" targetRef="end"/>
             <endEvent id="end"/>
           </process>
           <bpmndi:BPMNDiagram><bpmndi:BPMNPlane bpmnElement="p">{diagram}</bpmndi:BPMNPlane></bpmndi:BPMNDiagram>"#
    ))
}

fn shape(id: &str, bounds: &str) -> String {
    format!(r#"<bpmndi:BPMNShape bpmnElement="{id}"><dc:Bounds {bounds}/></bpmndi:BPMNShape>"#)
}

fn picture(text: &str) -> Picture {
    draw("test.bpmn", text.as_bytes(), &Options::default()).unwrap()
}

/// The elements that an SVG shows; it must be well-formed XML.
fn shown(svg: &str) -> Vec<(String, String)> {
    let document = travertine_xml::read(Ns::None, "svg", svg.as_bytes()).unwrap();
    let groups = document.nodes().filter(|it| it.name() == "g");
    groups
        .filter_map(|it| {
            // A group without anything in it shows nothing.
            it.children().next()?;
            Some((it.attr("data-element")?.to_owned(), it.attr("class")?.to_owned()))
        })
        .collect()
}

fn texts(svg: &str) -> Vec<String> {
    let document = travertine_xml::read(Ns::None, "svg", svg.as_bytes()).unwrap();
    document.nodes().filter(|it| it.name() == "text").map(|it| it.text().to_owned()).collect()
}

#[test]
fn everything_is_drawn_with_its_name() {
    let svg = picture(&small("Do it", "")).svg();
    let mut found: Vec<String> = shown(&svg).into_iter().map(|(id, _)| id).collect();
    found.sort();
    assert_eq!(found, ["end", "in", "it", "out", "start"]);
    assert_eq!(texts(&svg), ["Do it", "start", "end"]);
}

#[test]
fn every_kind_of_element_draws_something() {
    let definitions = [
        "message",
        "timer",
        "error",
        "escalation",
        "signal",
        "conditional",
        "compensate",
        "cancel",
        "link",
        "terminate",
    ];
    let mut inside = String::new();
    let mut count = 0;
    let mut add = |name: &str, attributes: &str, content: &str| {
        count += 1;
        let element = format!("<{name} id='{name}-{count}' {attributes}>{content}</{name}>");
        inside.push_str(&element);
    };
    for task in [
        "task",
        "userTask",
        "serviceTask",
        "scriptTask",
        "sendTask",
        "receiveTask",
        "manualTask",
        "businessRuleTask",
        "callActivity",
        "subProcess",
        "transaction",
        "adHocSubProcess",
    ] {
        add(task, "", "");
        add(task, "isForCompensation='true'", "<standardLoopCharacteristics/>");
        add(task, "", "<multiInstanceLoopCharacteristics/>");
        add(task, "", "<multiInstanceLoopCharacteristics isSequential='true'/>");
    }
    add("receiveTask", "instantiate='true'", "");
    add("subProcess", "triggeredByEvent='true'", "<startEvent id='inner' isInterrupting='false'/>");
    add("transaction", "", "<task id='undone'/>");
    add("adHocSubProcess", "", "<task id='maybe'/>");
    for event in ["startEvent", "intermediateCatchEvent", "intermediateThrowEvent", "endEvent"] {
        add(event, "", "");
        for definition in definitions {
            add(event, "", &format!("<{definition}EventDefinition/>"));
        }
        let both = "<messageEventDefinition/><signalEventDefinition/>";
        add(event, "", both);
        add(event, "parallelMultiple='true'", both);
    }
    for definition in definitions {
        let content = format!("<{definition}EventDefinition/>");
        add("boundaryEvent", "attachedToRef='task-1'", &content);
        add("boundaryEvent", "attachedToRef='task-1' cancelActivity='false'", &content);
    }
    for gateway in [
        "exclusiveGateway",
        "inclusiveGateway",
        "parallelGateway",
        "complexGateway",
        "eventBasedGateway",
    ] {
        add(gateway, "", "");
    }
    add("eventBasedGateway", "instantiate='true'", "");
    add("eventBasedGateway", "instantiate='true' eventGatewayType='Parallel'", "");
    add("dataObjectReference", "", "");
    add("dataStoreReference", "", "");
    add("textAnnotation", "", "<text>Note</text>");
    let text = model(&format!("<process id='p'>{inside}</process>"));
    let picture = picture(&text);
    let svg = picture.svg();
    let found: Vec<String> = shown(&svg).into_iter().map(|(id, _)| id).collect();
    for id in text.split(" id='").skip(1).filter_map(|it| it.split('\'').next()) {
        assert!(id == "p" || found.iter().any(|it| it == id), "{id} is not drawn");
    }
    #[cfg(feature = "png")]
    assert!(picture.png().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn pools_lanes_messages_and_associations_are_drawn() {
    let svg = picture(&model(
        r#"<process id="p"><laneSet id="lanes"><lane id="a" name="A"><flowNodeRef>one</flowNodeRef></lane>
             <lane id="b" name="B"><flowNodeRef>two</flowNodeRef></lane></laneSet>
             <task id="one"/><task id="two"/><sequenceFlow id="f" sourceRef="one" targetRef="two"/>
             <textAnnotation id="note"><text>Why</text></textAnnotation>
             <association id="to-note" sourceRef="one" targetRef="note"/></process>
           <collaboration id="c"><participant id="pool" name="Us" processRef="p"/>
             <participant id="them" name="Them"/>
             <messageFlow id="m" sourceRef="two" targetRef="them"/></collaboration>"#,
    ))
    .svg();
    let found: Vec<String> = shown(&svg).into_iter().map(|(id, _)| id).collect();
    for id in ["pool", "them", "a", "b", "one", "two", "f", "m", "note", "to-note"] {
        assert!(found.iter().any(|it| it == id), "{id} is not in {found:?}");
    }
    for text in ["Us", "Them", "A", "B", "Why"] {
        assert!(texts(&svg).iter().any(|it| it == text), "{text}");
    }
}

#[test]
fn diagram_data_says_where_things_are_and_in_which_colour() {
    let diagram = [
        shape("start", r#"x="10" y="22" width="36" height="36""#),
        shape("it", r#"x="500" y="0" width="100" height="80""#)
            .replace("bpmnElement", r##"bioc:fill="#aabbcc" bpmnElement"##),
        shape("end", r#"x="700" y="22" width="36" height="36""#),
    ];
    let picture = picture(&small("Do it", &diagram.concat()));
    assert!(picture.notes.is_empty());
    let svg = picture.svg();
    assert!(svg.contains("#aabbcc"));
    // Lines without a way of their own are straight.
    assert!(svg.contains("M36 40"), "{svg}");
    assert_eq!(shown(&svg).len(), 5);
}

#[test]
fn absurd_diagram_data_is_replaced() {
    let fine = r#"x="0" y="0" width="36" height="36""#;
    for absurd in [
        r#"x="NaN" y="0" width="100" height="80""#,
        r#"x="0" y="0" width="-100" height="80""#,
        r#"x="0" y="0" width="0" height="80""#,
        r#"x="1e300" y="0" width="100" height="80""#,
        r#"x="0" y="inf" width="100" height="80""#,
        r#"x="here" y="there""#,
    ] {
        let diagram = [shape("start", fine), shape("it", absurd), shape("end", fine)].concat();
        let picture = picture(&small("Do it", &diagram));
        assert_eq!(picture.notes.len(), 1, "{absurd}");
        assert!(picture.notes[0].contains("it;"), "{}", picture.notes[0]);
        assert_eq!(shown(&picture.svg()).len(), 5, "{absurd}");
    }
    // Each place is possible, but not both in one picture.
    let far = r#"x="190000" y="0" width="36" height="36""#;
    let diagram = [shape("start", fine), shape("it", far), shape("end", fine)].concat();
    assert!(picture(&small("Do it", &diagram)).scene.bounds.width < 1_000.0);
}

#[test]
fn names_are_written_as_they_are_and_stay_in_their_place() {
    let name = "A &lt;b&gt; &amp; &quot;c&quot;";
    assert_eq!(texts(&picture(&small(name, "")).svg()).concat(), "A <b> & \"c\"startend");
    let long = picture(&small(&"Verrechnungsstelle ".repeat(200), ""));
    assert!(long.scene.bounds.height < 300.0);
}

#[test]
fn what_an_instance_has_done_is_marked() {
    let mut marks = Marks::default();
    marks.nodes.insert("it".to_owned(), NodeMark { tokens: 7, visits: 9, incidents: 1 });
    marks.flows.insert("in".to_owned(), 9);
    let options = Options { marks: Some(marks), ..Options::default() };
    let picture = draw("test.bpmn", small("Do it", "").as_bytes(), &options).unwrap();
    let texts = texts(&picture.svg());
    for text in ["7", "9×", "!", "tokens here now", "times entered", "flow taken", "incident"] {
        assert!(texts.iter().any(|it| it == text), "{text} is not in {texts:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refused = |text: &str, options: &Options| {
        draw("test.bpmn", text.as_bytes(), options).unwrap_err().to_string()
    };
    let plain = Options::default();
    assert!(refused("<definitions", &plain).starts_with("test.bpmn:1:"));
    assert_eq!(refused(&model(""), &plain), "there is nothing to draw in test.bpmn");
    let other = Options { process: Some("q".to_owned()), ..Options::default() };
    assert_eq!(refused(&small("", ""), &other), "no such process: q; there is p");
}

/// The models of the shared suites, where they are at hand.
fn suites() -> Vec<PathBuf> {
    let shared = match std::env::var_os("TRAVERTINE_SHARED") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let root = shared.join("suites");
    if !root.is_dir() {
        println!("skipped: there are no suites in {}", root.display());
    }
    let mut found = Vec::new();
    let mut todo = vec![root];
    while let Some(path) = todo.pop() {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries.flatten().map(|it| it.path()) {
            if entry.is_dir() {
                todo.push(entry);
            } else if entry.to_string_lossy().contains(".bpmn") {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

/// Two nodes of which neither lies in the other, and which lie on each other all the same.
fn overlap(model: &Model, sheet: &Sheet) -> Option<(String, String)> {
    let is_node = |id: ItemId| {
        let item = model.item(id);
        item.is_flow_node() && !diagram::is_boundary(item.kind)
            || matches!(item.kind, Kind::Data { .. } | Kind::Store | Kind::Annotation)
    };
    let nodes: Vec<_> = sheet.shapes.iter().filter(|it| is_node(it.item)).collect();
    for (position, one) in nodes.iter().enumerate() {
        for other in &nodes[..position] {
            let nested = model.outwards(one.item).any(|it| it == other.item)
                || model.outwards(other.item).any(|it| it == one.item);
            if !nested && one.bounds.grown(-0.01).overlaps(other.bounds) {
                let id = |it: ItemId| model.item(it).id.clone();
                return Some((id(one.item), id(other.item)));
            }
        }
    }
    None
}

#[test]
fn real_models_are_laid_out_without_overlaps_and_always_alike() {
    let options = Options { anew: true, ..Options::default() };
    for path in suites() {
        let bytes = fs::read(&path).unwrap();
        let Ok(document) = travertine_xml::read(Ns::Bpmn, "test", &bytes) else { continue };
        let model = Model::of(&document);
        let Ok((sheets, _)) = sheet::all(&document, &model, &options) else { continue };
        for sheet in &sheets {
            assert_eq!(overlap(&model, sheet), None, "{}", path.display());
        }
        let svg = draw("test", &bytes, &options).unwrap().svg();
        assert!(svg == draw("test", &bytes, &options).unwrap().svg(), "{}", path.display());
        shown(&svg);
    }
}

#[test]
fn real_diagrams_are_drawn_as_they_are() {
    for path in suites() {
        let bytes = fs::read(&path).unwrap();
        if let Ok(picture) = draw("test", &bytes, &Options::default()) {
            let svg = picture.svg();
            shown(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf "), "{}", path.display());
        }
    }
}

#[test]
fn calls_have_a_plus_and_events_without_a_name_their_id() {
    let text = process(
        "<startEvent id=\"begin\"/><callActivity id=\"c\" name=\"Call\" calledElement=\"q\"/>\
         <sequenceFlow id=\"f\" sourceRef=\"begin\" targetRef=\"c\"/>",
    );
    let svg = picture(&text).svg();
    assert!(texts(&svg).contains(&"begin".to_owned()), "{svg}");
    let marks = |svg: &str| svg.matches("<path").count();
    let bare = picture(&process("<task id=\"c\" name=\"Call\"/>")).svg();
    let call =
        picture(&process("<callActivity id=\"c\" name=\"Call\" calledElement=\"q\"/>")).svg();
    assert_eq!(marks(&call), marks(&bare) + 2);
}

#[test]
fn messages_and_data_do_not_run_through_events() {
    let model = "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\">
      <collaboration id=\"c\"><participant id=\"one\" processRef=\"p\"/><participant id=\"two\" processRef=\"q\"/>
        <messageFlow id=\"m\" sourceRef=\"a\" targetRef=\"r\"/></collaboration>
      <process id=\"p\"><startEvent id=\"s\"/><parallelGateway id=\"g\"/><task id=\"a\"/><intermediateThrowEvent id=\"b\"/>
        <task id=\"d\"/><dataObject id=\"o\"/><dataObjectReference id=\"data\" dataObjectRef=\"o\"/>
        <association id=\"x\" sourceRef=\"a\" targetRef=\"data\"/>
        <sequenceFlow id=\"f1\" sourceRef=\"s\" targetRef=\"g\"/><sequenceFlow id=\"f2\" sourceRef=\"g\" targetRef=\"a\"/>
        <sequenceFlow id=\"f3\" sourceRef=\"g\" targetRef=\"b\"/><sequenceFlow id=\"f4\" sourceRef=\"g\" targetRef=\"d\"/>
      </process><process id=\"q\"><task id=\"r\"/></process></definitions>";
    let document = travertine_xml::read(Ns::Bpmn, "m.bpmn", model.as_bytes()).unwrap();
    let model = Model::of(&document);
    let (sheets, _) = sheet::all(&document, &model, &Options::default()).unwrap();
    let sheet = &sheets[0];
    for edge in &sheet.edges {
        let link = &model.links[edge.link];
        for shape in sheet.shapes.iter().filter(|it| model.item(it.item).is_flow_node()) {
            let is_end = shape.item == link.from || shape.item == link.to;
            let crosses = edge.points.windows(2).any(|it| shape.bounds.is_crossed(it[0], it[1]));
            assert!(is_end || !crosses, "{} {:?}", model.item(shape.item).id, edge.points);
        }
    }
    assert_eq!(sheet.edges.len(), 6);
}

#[test]
fn lines_from_each_to_each_are_bounded() {
    let count = 60;
    let gateway = |it| format!("<exclusiveGateway id=\"g{it}\"/>");
    let flow = |from, to| {
        format!("<sequenceFlow id=\"f{from}-{to}\" sourceRef=\"g{from}\" targetRef=\"g{to}\"/>")
    };
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let flows = pairs.filter(|(from, to)| from != to).map(|(from, to)| flow(from, to));
    let inside = (0..count).map(gateway).chain(flows).collect::<Vec<_>>().concat();
    let svg = picture(&process(&inside)).svg();
    assert!(svg.contains("data-element=\"f0-59\""));
    let many = "<sequenceFlow id=\"f\" sourceRef=\"a\" targetRef=\"a\"/>".repeat(20_001);
    let error =
        draw("m.bpmn", process(&format!("<task id=\"a\"/>{many}")).as_bytes(), &Options::default());
    let error = error.err().map(|it| it.to_string());
    assert_eq!(error.as_deref(), Some("20001 elements are too many to draw; 20000 are the limit"));
}
