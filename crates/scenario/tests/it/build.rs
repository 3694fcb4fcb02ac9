//! Models and runs in few words.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use travertine_scenario::{Mode, Model, Report, Scenario, Settings, Simulation, Tables, read};
use travertine_value::{Name, Value};

pub(crate) const HEADER: &str = "INSTANCE_ID; NODE_ID; INITIALIZATION";

/// Escapes what stands in an attribute of XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(crate) fn ext(inner: &str) -> String {
    format!("<bpmn:extensionElements>{inner}</bpmn:extensionElements>")
}

/// Attributes, as `name:type`, `name := formula:type` or `name:type:objective:weight`.
pub(crate) fn attributes(all: &[&str]) -> String {
    let mut text = "<bpmnos:attributes>".to_owned();
    for it in all {
        let (rest, last) = it.rsplit_once('|').unwrap();
        let mut parts = last.split(' ');
        let of = parts.next().unwrap();
        let id = match rest {
            "timestamp" => "Timestamp".to_owned(),
            "instance" => "Instance".to_owned(),
            "objective" => "Objective".to_owned(),
            other => format!("id{other}").replace(|it: char| !it.is_alphanumeric(), ""),
        };
        write!(text, "<bpmnos:attribute id='{id}' name=\"{}\" type='{of}'", escaped(rest)).unwrap();
        if let (Some(objective), Some(weight)) = (parts.next(), parts.next()) {
            write!(text, " objective='{objective}' weight='{weight}'").unwrap();
        }
        text += "/>";
    }
    text + "</bpmnos:attributes>"
}

/// Restrictions, as `expression` or `scope|expression`.
pub(crate) fn restrictions(all: &[&str]) -> String {
    let mut text = "<bpmnos:restrictions>".to_owned();
    for (n, it) in all.iter().enumerate() {
        let (scope, expression) = it.split_once('|').unwrap_or(("full", it));
        let expression = escaped(expression);
        write!(text, "<bpmnos:restriction id='r{n}' expression=\"{expression}\" scope='{scope}'/>")
            .unwrap();
    }
    text + "</bpmnos:restrictions>"
}

pub(crate) fn operators(all: &[&str]) -> String {
    let mut text = "<bpmnos:operators>".to_owned();
    for (n, it) in all.iter().enumerate() {
        write!(text, "<bpmnos:operator id='o{n}' expression=\"{}\"/>", escaped(it)).unwrap();
    }
    text + "</bpmnos:operators>"
}

pub(crate) fn choices(all: &[&str]) -> String {
    let mut text = "<bpmnos:decisions>".to_owned();
    for (n, it) in all.iter().enumerate() {
        write!(text, "<bpmnos:decision id='d{n}' condition=\"{}\"/>", escaped(it)).unwrap();
    }
    text + "</bpmnos:decisions>"
}

pub(crate) fn status(inner: &str) -> String {
    format!("<bpmnos:status>{inner}</bpmnos:status>")
}

pub(crate) fn parameters(of: &str, all: &[(&str, &str)]) -> String {
    let mut text = format!("<bpmnos:{of}>");
    for (name, value) in all {
        let value = escaped(value);
        write!(text, "<bpmnos:parameter name='{name}' value=\"{value}\"/>").unwrap();
    }
    write!(text, "</bpmnos:{of}>").unwrap();
    text
}

/// A message: its name, header parameters, content as pairs of key and attribute.
pub(crate) fn message(name: &str, header: &[(&str, &str)], content: &[(&str, &str)]) -> String {
    let mut text = format!("<bpmnos:message name='{name}'>");
    for (key, value) in header {
        write!(text, "<bpmnos:parameter name='{key}' value=\"{}\"/>", escaped(value)).unwrap();
    }
    for (key, attribute) in content {
        write!(text, "<bpmnos:content key='{key}' attribute='{attribute}'/>").unwrap();
    }
    text + "</bpmnos:message>"
}

/// An element with an id, extensions, and more.
pub(crate) fn node(kind: &str, id: &str, extension: &str, inner: &str) -> String {
    let name = kind.split(' ').next().unwrap();
    let extension = if extension.is_empty() { String::new() } else { ext(extension) };
    format!("<bpmn:{kind} id='{id}'>{extension}{inner}</bpmn:{name}>")
}

pub(crate) fn task(id: &str, extension: &str) -> String {
    node("task", id, extension, "")
}

/// A task with operators.
pub(crate) fn does(id: &str, all: &[&str]) -> String {
    task(id, &status(&operators(all)))
}

pub(crate) fn start() -> String {
    node("startEvent", "S", "", "")
}

pub(crate) fn end(id: &str) -> String {
    node("endEvent", id, "", "")
}

pub(crate) fn event(kind: &str, id: &str, definition: &str, extension: &str) -> String {
    node(kind, id, extension, &format!("<bpmn:{definition}EventDefinition id='{id}D'/>"))
}

pub(crate) fn flow(from: &str, to: &str) -> String {
    flow_if(from, to, &[])
}

pub(crate) fn flow_if(from: &str, to: &str, gatekeepers: &[&str]) -> String {
    let extension =
        if gatekeepers.is_empty() { String::new() } else { ext(&restrictions(gatekeepers)) };
    format!(
        "<bpmn:sequenceFlow id='{from}-{to}' sourceRef='{from}' targetRef='{to}'>{extension}</bpmn:sequenceFlow>"
    )
}

/// A chain of nodes that are there already.
pub(crate) fn chain(ids: &[&str]) -> String {
    ids.windows(2).map(|it| flow(it[0], it[1])).collect()
}

/// A process with status attributes.
pub(crate) fn process(id: &str, extension: &str, inner: &str) -> String {
    node("process", id, extension, inner)
}

/// The usual process `P` with status attributes.
pub(crate) fn with(declared: &[&str], inner: &str) -> String {
    let mut all = vec!["timestamp|decimal"];
    all.extend(declared);
    file(&process("P", &status(&attributes(&all)), inner))
}

pub(crate) fn file(inner: &str) -> String {
    format!(
        "<?xml version='1.0'?><bpmn:definitions \
         xmlns:bpmn='http://www.omg.org/spec/BPMN/20100524/MODEL' \
         xmlns:bpmnos='https://bpmnos.telematique.eu'>{inner}</bpmn:definitions>"
    )
}

pub(crate) fn report(model: &str) -> Report {
    read("model.bpmn", model.as_bytes())
}

pub(crate) fn model(text: &str) -> Arc<Model> {
    let report = report(text);
    let said: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
    Arc::new(report.model.unwrap_or_else(|| panic!("{}", said.join("\n"))))
}

/// The errors about a model.
pub(crate) fn errors(text: &str) -> String {
    let report = report(text);
    let all = report.diagnostics.iter().map(|it| format!("{}: {}", it.code, it.message));
    all.collect::<Vec<_>>().join("\n")
}

pub(crate) fn settings(mode: Mode) -> Settings {
    Settings { mode, states: true, ..Settings::default() }
}

pub(crate) fn begun(text: &str, rows: &[&str], settings: Settings) -> Simulation {
    begun_with(text, rows, settings, &BTreeMap::new())
}

pub(crate) fn begun_with(
    text: &str,
    rows: &[&str],
    settings: Settings,
    files: &BTreeMap<&str, &str>,
) -> Simulation {
    let model = model(text);
    let tables = Tables::read(&model, |name| {
        files.get(name).map(|it| (*it).to_owned()).ok_or_else(|| "there is none".to_owned())
    });
    let tables = tables.unwrap();
    let header = match rows.first() {
        Some(first) if first.starts_with("INSTANCE_ID") => String::new(),
        _ => format!("{HEADER}\n"),
    };
    let scenario = header + &rows.join("\n");
    let scenario = Scenario::read(&scenario, &model, &tables, settings.seed).unwrap();
    Simulation::new(model, scenario, Arc::new(tables), settings)
}

/// What a run was like: states by node, in order, and how it ended.
pub(crate) fn told(text: &str, rows: &[&str]) -> String {
    let mut run = begun(text, rows, settings(Mode::First));
    tell(&mut run)
}

pub(crate) fn tell(run: &mut Simulation) -> String {
    let went = run.run();
    let mut text = String::new();
    let mut last = None;
    for entry in run.take_entries() {
        let who = (entry.time, Name::clone(&entry.label), Name::clone(&entry.node));
        if last.as_ref() == Some(&who) {
            write!(text, " {}", entry.state).unwrap();
        } else {
            let gap = if text.is_empty() { "" } else { "\n" };
            write!(text, "{gap}{} {} {} {}", who.0, who.1, who.2, entry.state).unwrap();
        }
        last = Some(who);
    }
    if let Err(failed) = went {
        write!(text, "\nfailed: {failed}").unwrap();
    }
    text
}

/// The states of one node, in order.
pub(crate) fn states(told: &str, node: &str) -> String {
    let lines = told.lines().filter_map(|it| {
        let mut words = it.splitn(4, ' ').skip(2);
        (words.next()? == node).then(|| words.next())?
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// The attributes of the first instance after a run, or why it failed.
pub(crate) fn result(text: &str, rows: &[&str]) -> String {
    let mut run = begun(text, rows, settings(Mode::First));
    if let Err(failed) = run.run() {
        return format!("failed: {failed}");
    }
    summary(&run)
}

pub(crate) fn summary(run: &Simulation) -> String {
    let all = run.instances().iter().map(|it| {
        let mut attributes = run.attributes(it);
        attributes.retain(|name, _| &**name != "timestamp");
        let attributes: Value = attributes.into_iter().collect();
        format!("{} {} {}", it.id, it.outcome.name(), attributes.to_json())
    });
    all.collect::<Vec<_>>().join("\n")
}
