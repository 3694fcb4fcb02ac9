//! What is refused, by name.

use std::fmt::Write as _;

use expect_test::expect;
use travertine_scenario::{Element, Fate, WORDS};

use super::build::*;

#[test]
fn nothing_of_the_extension_is_ignored() {
    for (extension, expected) in [
        ("<bpmnos:magic/>", "TV0741: bpmnos:magic of task 'A' is not executed here"),
        ("<bpmnos:timer/>", "TV0741: bpmnos:timer means nothing where it stands in task 'A'"),
        (
            "<bpmnos:restrictions><bpmnos:rule/></bpmnos:restrictions>",
            "TV0741: bpmnos:rule of task 'A' is not executed here",
        ),
        (
            "<bpmnos:operator expression='x := 1'/>",
            "TV0741: bpmnos:operator means nothing where it stands in task 'A'",
        ),
    ] {
        let text = with(&["x|integer"], &(start() + &task("A", extension) + &chain(&["S", "A"])));
        assert_eq!(errors(&text), expected);
    }
    let typed = with(
        &[],
        &(start() + &node("task bpmnos:type='Magic'", "A", "", "") + &chain(&["S", "A"])),
    );
    assert_eq!(errors(&typed), "TV0741: bpmnos:type=\"Magic\" of task 'A' is not executed here");
    let other = with(
        &[],
        &(start() + &node("task bpmnos:colour='red'", "A", "", "") + &chain(&["S", "A"])),
    );
    assert_eq!(errors(&other), "TV0741: bpmnos:colour of task 'A' is not executed here");
    let hints = with(
        &[],
        &(start()
            + &task("A", "<bpmnos:guidance type='entry'><bpmnos:restrictions/></bpmnos:guidance>")
            + &chain(&["S", "A"])),
    );
    assert_eq!(errors(&hints), "");
}

#[test]
fn formulas_are_checked_before_anything_runs() {
    for (operator, expected) in [
        ("x = 1", "TV0742: `x = 1` is no formula: `=` means nothing here (1:3)"),
        ("z := 1", "TV0743: there is no attribute 'z' here"),
        ("x := z", "TV0743: there is no attribute 'z' here"),
        ("x := price(1)", "TV0743: there is no function and no table 'price'"),
        ("instance := \"J\"", "TV0743: an operator of task 'A' changes the instance"),
    ] {
        let text = with(&["x|integer"], &(start() + &does("A", &[operator]) + &chain(&["S", "A"])));
        assert_eq!(errors(&text), expected, "{operator}");
    }
    let sends = node(
        "sendTask",
        "A",
        &(message("m", &[], &[]) + &status(&operators(&["timestamp += 1"]))),
        "",
    );
    assert_eq!(
        errors(&with(&[], &(start() + &sends + &chain(&["S", "A"])))),
        "TV0743: an operator of sendTask 'A' changes the timestamp"
    );
    let condition =
        event("intermediateCatchEvent", "A", "conditional", &restrictions(&["timestamp > 3"]));
    assert_eq!(
        errors(&with(&[], &(start() + &condition + &chain(&["S", "A"])))),
        "TV0743: the condition of intermediateCatchEvent 'A' reads the timestamp"
    );
}

#[test]
fn elements_that_are_not_executed_are_named() {
    for kind in ["inclusiveGateway", "complexGateway", "callActivity", "serviceTask"] {
        let text = with(&[], &(start() + &node(kind, "A", "", "")));
        assert!(
            errors(&text).contains(&format!("TV0745: {kind} 'A' is not executed")),
            "{}",
            errors(&text)
        );
    }
    let typed = with(
        &[],
        &(event("startEvent", "T", "message", &message("m", &[], &[]))
            + &task("A", "")
            + &flow("T", "A")),
    );
    assert!(
        errors(&typed).contains("TV0745: startEvent 'T' can start only an event sub-process"),
        "{}",
        errors(&typed)
    );
}

#[test]
fn scenarios_are_checked_by_line() {
    let undoes = node("task isForCompensation='true'", "U", "", "");
    let inner = start() + &task("A", "") + &undoes + &chain(&["S", "A"]);
    let text = with(&["x|integer", "y := x|integer"], &inner);
    let model = model(&text);
    let refused = |rows: &str| {
        let scenario = travertine_scenario::Scenario::read(
            rows,
            &model,
            &travertine_scenario::Tables::default(),
            0,
        );
        scenario.unwrap_err().to_string()
    };
    let row = |row: &str| refused(&format!("{HEADER}\n{row}"));
    expect![[r#"
        line 1: the scenario is empty; it begins with INSTANCE_ID; NODE_ID; INITIALIZATION
        line 1: the column INITIALIZATION is missing
        line 1: columns are parted by semicolons, not by commas
        line 1: there is no column COLOUR; there are INSTANCE_ID, NODE_ID, INITIALIZATION, DISCLOSURE, READY, COMPLETION
        line 2: the first row of instance I names its process, and there is no process 'Q'; there are: P
        line 2: P has no attribute 'z'; it has: timestamp, x, y, instance
        line 2: y is worked out, and takes no value from outside
        line 2: x is a whole number, and "one" is not
        line 2: `x :=`: a value is expected, not the end
        line 3: there is no node 'B' in P
        line 2: there is no global attribute 'x'
        line 2: the row has 5 cells, more than columns
        line 2: there is no attribute 'z' at P
        line 2: there is no attribute 'z' at P
        line 2: there is no global attribute 'x'
        line 2: there is no attribute 'z' at P
        line 3: there is no attribute 'z' at A
        line 3: COMPLETION is of tasks, and S is none
        line 3: nothing of S could be disclosed
        line 3: U undoes something, and is never READY
        line 3: nothing of U could be disclosed"#]].assert_eq(&[
        refused(""),
        refused("INSTANCE_ID; NODE_ID"),
        refused("INSTANCE_ID, NODE_ID, INITIALIZATION"),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; COLOUR"),
        row("I; Q;"),
        row("I; P; z := 1"),
        row("I; P; y := 1"),
        row("I; P; x := \"one\""),
        row("I; P; x :="),
        row("I; P;\nI; B; x := 1"),
        row("; ; x := 1"),
        row("I; P; x := 1; 2; 3"),
        row("I; P; x := z + 1"),
        row("I; P; x := if z == undefined then 1 else 2"),
        row("; ; objective := x"),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE\nI; P; x := 1; z + 1"),
        refused(
            "INSTANCE_ID; NODE_ID; INITIALIZATION; READY\nI; P;\nI; A; ; x := if z == undefined then 1 else 2"
        ),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; COMPLETION\nI; P;\nI; S; ; x := 1"),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE\nI; P;\nI; S; ; 4"),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; READY\nI; P;\nI; U; ; x := 1"),
        refused("INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE\nI; P;\nI; U; ; 4"),
    ].join("\n"));
}

/// The table of the page, written from that of the reader.
#[test]
fn the_page_has_the_table_of_the_reader() {
    let mut table =
        "| element | in | on | attributes | meaning |\n|---|---|---|---|---|\n".to_owned();
    for word in WORDS {
        let inside = word.inside.iter().map(|it| match *it {
            "" => "`extensionElements`".to_owned(),
            it => format!("`{it}`"),
        });
        let inside: Vec<String> = inside.collect();
        let inside =
            if inside.is_empty() { "`extensionElements`".to_owned() } else { inside.join(", ") };
        let on: Vec<&str> = word.on.iter().map(|it| it.words()).collect();
        let attributes: Vec<String> = word.attributes.iter().map(|it| format!("`{it}`")).collect();
        let meaning = if word.meaning.is_empty() { "no effect" } else { word.meaning };
        writeln!(
            table,
            "| `{}` | {inside} | {} | {} | {meaning} |",
            word.name,
            on.join(", "),
            attributes.join(", ")
        )
        .unwrap();
    }
    table += "| `@type` | | `task` | | `Decision`: a decision task |\n";
    let page = include_str!("../../../../docs/bpmnos.md");
    let (before, rest) = page.split_once("<!-- table -->\n").unwrap();
    let (_, after) = rest.split_once("\nOf BPMN itself").unwrap();
    let written = format!("{before}<!-- table -->\n{table}\nOf BPMN itself{after}");
    expect_test::expect_file!["../../../../docs/bpmnos.md"].assert_eq(&written);
}

/// Attacks on one promise: whatever is written for this dialect is executed, or named.
#[test]
fn what_stands_where_nobody_reads_it_is_refused() {
    let plain = |task: &str| with(&["x|integer"], &(start() + task + &chain(&["S", "A"])));
    let said = |extension: &str, inner: &str| plain(&node("task", "A", extension, inner));
    let own = status(&operators(&["x := 1"]));
    let each = |inner: &str| {
        format!(
            "<bpmn:multiInstanceLoopCharacteristics>{inner}</bpmn:multiInstanceLoopCharacteristics>"
        )
    };
    let number = parameters("loopCharacteristics", &[("cardinality", "2")]);
    for (text, expected) in [
        // Outside of extensionElements.
        (said("", &own), "TV0741: bpmnos:status means nothing where it stands in task 'A'"),
        // In those of somebody else.
        (
            said("", &format!("<bpmn:documentation>{}</bpmn:documentation>", ext(&own))),
            "TV0741: bpmnos:status means nothing where it stands",
        ),
        (said(&format!("<o:o xmlns:o='urn:o'>{own}</o:o>"), ""), "means nothing where it stands"),
        // In those of a loop, which has only the number of runs.
        (said("", &each(&ext(&(own.clone() + &number)))), "bpmnos:operators means nothing"),
        // A second one, and one of the other kind of loop.
        (said(&(number.clone() + &number), &each("")), "the parameter cardinality of task 'A'"),
        (
            said(
                &parameters("loopCharacteristics", &[("cardinality", "2"), ("condition", "x < 3")]),
                &each(""),
            ),
            "TV0741: the parameter condition of task 'A' means nothing here",
        ),
        // Text, prefixes, attributes of drawings.
        (
            said("<bpmnos:status>x := 1</bpmnos:status>", ""),
            "TV0741: the text in bpmnos:status of task 'A' is not executed here",
        ),
        (
            said(
                &status(
                    "<bpmnos:operators><bpmnos:operator bpmnos:expression='x := 1'/></bpmnos:operators>",
                ),
                "",
            ),
            "TV0741: expression of bpmnos:operator has a prefix",
        ),
        (
            file("<bpmn:process id='P'/><d:Shape xmlns:d='urn:d' bpmnos:type='Decision'/>"),
            "TV0741: bpmnos:type of Shape is not executed here",
        ),
        // Of several only one could count.
        (
            plain(&event(
                "intermediateCatchEvent",
                "A",
                "message",
                &(message("m", &[], &[]) + &message("n", &[], &[])),
            )),
            "TV0741: intermediateCatchEvent 'A' has several messages",
        ),
        (
            plain(&event(
                "intermediateCatchEvent",
                "A",
                "timer",
                &parameters("timer", &[("trigger", "3"), ("trigger", "4")]),
            )),
            "TV0741: intermediateCatchEvent 'A' has several times",
        ),
        (
            plain(&event(
                "intermediateThrowEvent",
                "A",
                "signal",
                "<bpmnos:signal name='a'/><bpmnos:signal name='b'/>",
            )),
            "TV0741: intermediateThrowEvent 'A' has several signals",
        ),
        // What is written for this engine, natively.
        (
            said("<tv:operator xmlns:tv='urn:travertine:bpmn:1'/>", ""),
            "TV0747: tv:operator has no effect in models made for BPMNOS",
        ),
        // What an attribute is worked out by.
        (with(&["y := z + 1|integer"], &start()), "TV0743: there is no attribute 'z' here"),
    ] {
        let found = errors(&text);
        assert!(found.contains(expected), "{found}\n{text}");
        assert!(report(&text).model.is_none(), "{text}");
    }
}

#[test]
fn settings_of_bpmn_that_would_change_a_run_are_refused() {
    for (kind, inner, expected) in [
        ("task startQuantity='2'", "", "startQuantity=\"2\" of task 'A'"),
        ("receiveTask instantiate='true'", "", "instantiate=\"true\" of receiveTask 'A'"),
        (
            "task",
            "<bpmn:standardLoopCharacteristics testBefore='true'/>",
            "testBefore=\"true\" of standardLoopCharacteristics",
        ),
        (
            "task",
            "<bpmn:multiInstanceLoopCharacteristics behavior='One'/>",
            "behavior=\"One\" of multiInstanceLoopCharacteristics",
        ),
        (
            "endEvent",
            "<bpmn:compensateEventDefinition activityRef='B'/>",
            "activityRef=\"B\" of compensateEventDefinition",
        ),
    ] {
        let text =
            with(&["x|integer"], &(start() + &node(kind, "A", "", inner) + &chain(&["S", "A"])));
        let found = errors(&text);
        assert!(found.contains(&format!("TV0745: {expected} is not executed")), "{found}");
    }
    let usual = "task startQuantity='1' completionQuantity='1'";
    let text = with(&["x|integer"], &(start() + &node(usual, "A", "", "") + &chain(&["S", "A"])));
    assert_eq!(errors(&text), "");
}

/// Older versions wrote parameters where there are expressions now, and their models keep both.
#[test]
fn what_is_left_of_older_versions_is_told_and_does_no_harm() {
    let both = "<bpmnos:restriction expression='x &lt; 3'><bpmnos:parameter name='linear' value='x &lt; 9'/></bpmnos:restriction>";
    let text = |restriction: &str| {
        let own = status(&format!("<bpmnos:restrictions>{restriction}</bpmnos:restrictions>"));
        with(&["x|integer"], &(start() + &task("A", &own) + &chain(&["S", "A"])))
    };
    assert_eq!(errors(&text(both)), "TV0747: bpmnos:parameter of bpmnos:restriction has no effect");
    assert_eq!(result(&text(both), &["I; P; x := 5"]), r#"I failed {"x":5}"#);
    let old = "<bpmnos:restriction><bpmnos:parameter name='linear' value='x &lt; 9'/></bpmnos:restriction>";
    assert!(report(&text(old)).model.is_none());
}

#[test]
fn a_name_that_hides_a_fixed_attribute_and_a_name_that_undoes_nothing_are_warned_about() {
    let hides = process(
        "P",
        &status(
            "<bpmnos:attributes><bpmnos:attribute id='T' name='timestamp' type='decimal'/></bpmnos:attributes>",
        ),
        &start(),
    );
    assert_eq!(
        errors(&file(&hides)),
        "TV0743: 'timestamp' of process 'P' hides the attribute of that name"
    );
    let undoes = start()
        + &task("A", "")
        + &event("endEvent name='Pack'", "E", "compensate", "")
        + &chain(&["S", "A", "E"]);
    assert_eq!(
        errors(&with(&[], &undoes)),
        "TV0746: endEvent 'E' undoes 'Pack', and no activity has that name"
    );
}

/// The example of the page, run, with what it tells written behind it. It is written alone: the test above writes
/// the same page.
#[test]
fn the_example_of_the_page_runs() {
    let page = include_str!("../../../../docs/bpmnos.md");
    let (before, rest) = page.split_once("## An example\n").unwrap();
    let block = |kind: &str| {
        let (_, rest) = rest.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let rows: Vec<&str> = block("csv").lines().collect();
    let mut run = begun(block("xml"), &rows, settings(travertine_scenario::Mode::First));
    run.run().unwrap();
    let mut text = String::new();
    for entry in run.take_entries() {
        let status: travertine_value::Value = run.status(&entry).into_iter().collect();
        let (time, instance, node, state) = (entry.time, entry.instance, entry.node, entry.state);
        writeln!(text, "{time} {instance} {node} {state} {}", status.to_json()).unwrap();
    }
    writeln!(text, "time {}, objective {}", run.now(), run.objective()).unwrap();
    let (head, tail) = rest.split_once("```text\n").unwrap();
    let (_, tail) = tail.split_once("```").unwrap();
    let written = format!("{before}## An example\n{head}```text\n{text}```{tail}");
    expect_test::expect_file!["../../../../docs/bpmnos.md"].assert_eq(&written);
}

#[test]
fn every_element_of_a_model_is_answered_for() {
    let own =
        status(&operators(&["x := 1"])) + "<bpmnos:guidance type='entry'/><o:o xmlns:o='urn:o'/>";
    let inner =
        start() + &task("A", &own) + &node("serviceTask", "B", "", "") + &chain(&["S", "A"]);
    let report = report(&with(&["x|integer"], &inner));
    let told = |id: &str, kind: &str| {
        let named =
            |it: &&Element| it.kind == kind && (id.is_empty() || it.id.as_deref() == Some(id));
        report.elements.iter().find(named).map(|it| it.fate)
    };
    assert_eq!(told("A", "task"), Some(Fate::Executed));
    assert_eq!(told("o0", "bpmnos:operator"), Some(Fate::Executed));
    assert_eq!(told("", "bpmnos:guidance"), Some(Fate::NoEffect));
    assert_eq!(told("", "o:o"), Some(Fate::NoEffect));
    assert_eq!(told("B", "serviceTask"), Some(Fate::Rejected));
}

#[test]
fn a_gateway_that_takes_all_flows_has_no_gatekeepers() {
    let catch =
        event("intermediateCatchEvent", "A", "timer", &parameters("timer", &[("trigger", "1")]));
    for kind in ["parallelGateway", "eventBasedGateway"] {
        let inner = start() + &node(kind, "G", "", "") + &catch + &flow("S", "G");
        let text = with(&["x|integer"], &(inner.clone() + &flow_if("G", "A", &["x > 0"])));
        assert_eq!(
            errors(&text),
            "TV0741: sequenceFlow 'G-A' of a gateway that takes all its flows is restricted"
        );
        assert_eq!(errors(&with(&[], &(inner + &flow("G", "A")))), "");
    }
    let default = start()
        + &node("exclusiveGateway default='G-A'", "G", "", "")
        + &task("A", "")
        + &flow("S", "G")
        + &flow_if("G", "A", &["x > 0"]);
    assert_eq!(
        errors(&with(&["x|integer"], &default)),
        "TV0747: the restrictions of sequenceFlow 'G-A', a default flow, have no effect"
    );
}

#[test]
fn an_event_cannot_wait_for_what_is_worked_out_when_it_has_happened() {
    for (definition, extension, late) in [
        ("timer", parameters("timer", &[("trigger", "k + 1")]), true),
        ("timer", parameters("timer", &[("trigger", "given + x")]), false),
        ("conditional", restrictions(&["d > k"]), true),
        ("message", message("m", &[("key", "k")], &[]), true),
        ("message", message("m", &[("key", "given")], &[]), false),
        ("message", message("m", &[], &[("n", "given")]), false),
    ] {
        let own = status(&attributes(&["k := x|integer", "given|integer"]));
        let inside =
            event("startEvent", "HS", definition, &extension) + &task("HA", "") + &flow("HS", "HA");
        let data = node("dataObject", "O", &attributes(&["d|integer"]), "");
        let handler = node("subProcess triggeredByEvent='true'", "H", &own, &inside);
        let found = errors(&with(&["x|integer"], &(data + &start() + &handler)));
        let expected =
            "TV0743: startEvent 'HS' reads 'k', which is worked out when it has happened";
        assert_eq!(found, if late { expected } else { "" }, "{extension}");
    }
}

#[test]
fn settings_that_mean_nothing_are_named() {
    let error = |setting: &str| {
        start()
            + &task("A", "")
            + &node(
                &format!("boundaryEvent attachedToRef='A' {setting}"),
                "B",
                "",
                "<bpmn:errorEventDefinition/>",
            )
            + &flow("S", "A")
    };
    let waits = |scope: &str| {
        start()
            + &event("intermediateCatchEvent", "A", "conditional", &restrictions(&[scope]))
            + &flow("S", "A")
    };
    for (inner, expected) in [
        (error("cancelActivity='true'"), ""),
        (
            error("cancelActivity='false'"),
            "TV0747: cancelActivity of boundaryEvent 'B' has no effect: an error interrupts",
        ),
        (
            error("cancelActivity='no'"),
            "TV0745: cancelActivity=\"no\" of boundaryEvent 'B' is not executed in models made for BPMNOS",
        ),
        (waits("full|x > 1"), ""),
        (
            waits("entry|x > 1"),
            "TV0747: the scope of a restriction of intermediateCatchEvent 'A' has no effect",
        ),
        (
            start() + &task("A", "") + &flow("S", "A").replace("'S-A'", "'A'"),
            "TV0744: the id of sequenceFlow 'A' is that of another element, too",
        ),
    ] {
        let data = node("dataObject", "O", &attributes(&["x|integer"]), "");
        assert_eq!(errors(&with(&[], &(data + &inner))), expected);
    }
}
