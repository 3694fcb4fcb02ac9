//! Which process is started, and where.

use anyhow::{Result, bail};
use travertine_bpmn::{Process, Report};
use travertine_kernel::plan::{Element, Trigger};

/// The process to start: the one named, else the only one that can be meant.
pub(crate) fn process<'a>(report: &'a Report, named: Option<&str>) -> Result<&'a Process> {
    let all = &report.processes;
    if let Some(id) = named {
        return match all.iter().find(|it| it.id == id) {
            Some(process) => Ok(process),
            None => bail!("no such process: {id}; there {}", list(all.iter())),
        };
    }
    let candidates: Vec<&Process> = all.iter().filter(|it| it.executable).collect();
    match candidates[..] {
        [process] => Ok(process),
        [] if report.drawings.is_empty() => bail!("there is no process in these files"),
        [] => {
            let ids: Vec<&str> = report.drawings.iter().map(|it| it.id.as_str()).collect();
            let ids = ids.join(", ");
            match &all[..] {
                [] => bail!(
                    "no process in these files is executable: {ids}; set isExecutable to true"
                ),
                [first, ..] => bail!(
                    "no process in these files is executable: {ids}; set isExecutable to true, or try \
                     one all the same with --process {}",
                    first.id
                ),
            }
        }
        _ => bail!(
            "there {}; say which one to start with --process ID",
            list(candidates.into_iter())
        ),
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

/// The start event that counts as triggered; `None` for the plain one.
pub(crate) fn start<'a>(process: &'a Process, named: Option<&'a str>) -> Result<Option<&'a str>> {
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
            bail!("no such start event: {id}; {} has only its plain start", process.id)
        }
        Some(id) => bail!("no such start event: {id}; there is {}", list()),
        None if !root.starts.is_empty() => Ok(None),
        None => match &typed[..] {
            [(id, _)] => Ok(Some(id)),
            [] => bail!("process {} has nothing to start at", process.id),
            _ => bail!(
                "process {} has several start events: {}; say which one with --start ID",
                process.id,
                list()
            ),
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
