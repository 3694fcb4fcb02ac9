//! Which process is started, and where.

use travertine_bpmn::{Process, Report};
use travertine_kernel::plan::{Element, Trigger};

/// The process to start: the one named, else the only one that can be meant. `how` is how it is named.
pub fn process<'a>(
    report: &'a Report,
    named: Option<&str>,
    how: &str,
) -> Result<&'a Process, String> {
    let all = &report.processes;
    if let Some(id) = named {
        return match all.iter().find(|it| it.id == id) {
            Some(process) => Ok(process),
            None => Err(format!("no such process: {id}; there {}", list(all.iter()))),
        };
    }
    let candidates: Vec<&Process> = all.iter().filter(|it| it.executable).collect();
    match candidates[..] {
        [process] => Ok(process),
        [] if report.drawings.is_empty() => Err("there is no process in these files".to_owned()),
        [] => {
            let ids: Vec<&str> = report.drawings.iter().map(|it| it.id.as_str()).collect();
            let ids = ids.join(", ");
            match &all[..] {
                [] => Err(format!(
                    "no process in these files is executable: {ids}; set isExecutable to true"
                )),
                [first, ..] => Err(format!(
                    "no process in these files is executable: {ids}; set isExecutable to true, or try \
                     one all the same with {how} {}",
                    first.id
                )),
            }
        }
        _ => Err(format!(
            "there {}; say which one to start with {how} ID",
            list(candidates.into_iter())
        )),
    }
}

fn list<'a>(all: impl Iterator<Item = &'a Process>) -> String {
    let all: Vec<String> = all
        .map(|it| match &it.name {
            Some(name) => format!("{} \"{name}\"", it.id),
            None => it.id.clone(),
        })
        .collect();
    match &all[..] {
        [] => "is none".to_owned(),
        [only] => format!("is only {only}"),
        _ => format!("are {} processes: {}", all.len(), all.join(", ")),
    }
}

/// The start event that counts as triggered; `None` for the plain one. `how` is how it is named.
pub fn start<'a>(
    process: &'a Process,
    named: Option<&'a str>,
    how: &str,
) -> Result<Option<&'a str>, String> {
    let plan = &process.plan;
    let root = plan.root();
    let typed: Vec<(&str, String)> = root
        .typed_starts
        .iter()
        .map(|it| (&*plan.node(*it).name, triggers(&plan.node(*it).element)))
        .collect();
    let list = || {
        let all: Vec<String> = typed.iter().map(|(id, by)| format!("{id} ({by})")).collect();
        all.join(", ")
    };
    match named {
        Some(id) if typed.iter().any(|(known, _)| *known == id) => Ok(named),
        Some(id) if root.starts.iter().any(|it| &*plan.node(*it).name == id) => Ok(None),
        Some(id) if typed.is_empty() => {
            Err(format!("no such start event: {id}; {} has only its plain start", process.id))
        }
        Some(id) => Err(format!("no such start event: {id}; there is {}", list())),
        None if !root.starts.is_empty() => Ok(None),
        None => match &typed[..] {
            [(id, _)] => Ok(Some(id)),
            [] => Err(format!("process {} has nothing to start at", process.id)),
            _ => Err(format!(
                "process {} has several start events: {}; say which one with {how} ID",
                process.id,
                list()
            )),
        },
    }
}

fn triggers(element: &Element) -> String {
    let Element::Start(start) = element else { return String::new() };
    let words = start.triggers.iter().map(|it| match it {
        Trigger::Message(message) => format!("message {}", message.name.source()),
        Trigger::Signal { name } => format!("signal {}", name.source()),
        Trigger::Timer { when, .. } => format!("timer {}", when.source()),
        Trigger::Condition { when, .. } => format!("condition {}", when.source()),
        Trigger::Error { .. } => "error".to_owned(),
        Trigger::Escalation { .. } => "escalation".to_owned(),
        Trigger::Compensation => "compensation".to_owned(),
        Trigger::Cancel => "cancel".to_owned(),
    });
    words.collect::<Vec<_>>().join(if start.all { " and " } else { " or " })
}
