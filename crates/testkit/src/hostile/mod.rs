//! What nobody means well with: models, expressions and data that would take a store, its memory or its time.
//!
//! Each [`Case`] runs in a process of its own with little memory; models and data on a store in which a good
//! instance waits as well. Whatever the case does, it is answered: refused, an incident, halted, or simply done.
//! Afterwards an operator can cancel it, the good instance goes on to its end, and the store can be opened again.
//! Expressions run alone, and whatever they give is an answer.
//! A process that dies, runs out of memory or does not come to an answer is a case that was lost.

mod data;
mod expressions;
mod files;
mod instances;

use std::{fmt, path::Path, sync::Arc, time::Duration};

use travertine_kernel::{Assignments, Budgets, WaitId};
use travertine_runtime::{
    Address, Engine, Error, InstanceId, Settings, Timestamp,
    engine::{File, ManualClock, Options},
};
use travertine_store::view::{Filter, InstanceState, Query, Row, Table};

/// One hostile thing.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Files that are deployed; the instance `bad` of the process `bad`, if there is one; how far the clock is then
    /// put forward, in milliseconds.
    Model(fn() -> Vec<File>, fn() -> Assignments, &'static [Duration]),
    /// Expressions of a language.
    Expressions(&'static str, fn() -> Vec<String>),
}

/// All of them.
pub fn cases() -> Vec<(Group, Case)> {
    let of = |group, cases: &[Case]| cases.iter().map(move |it| (group, *it)).collect::<Vec<_>>();
    [
        of(Group::Instances, instances::CASES),
        of(Group::Files, files::CASES),
        of(Group::Data, data::CASES),
        of(Group::Expressions, expressions::CASES),
    ]
    .concat()
}

/// What a case attacks with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Instances that grow, loop or multiply.
    Instances,
    /// Files that are deep, wide or expand.
    Files,
    /// Data that is deep, large or much.
    Data,
    /// Expressions that compute for ever, or make something as large as memory.
    Expressions,
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The files were not taken.
    Refused,
    /// The instance was not started.
    NotStarted,
    /// It has come to its end.
    Ended,
    /// It waits, and nothing is wrong.
    Waits,
    /// It has an incident.
    Incident,
    /// It stands still.
    Halted,
    /// It goes on and on.
    Restless,
    /// It is not known any more.
    Gone,
    /// All expressions were answered.
    Answered,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::NotStarted => "not started",
            Self::Ended => "ended",
            Self::Waits => "waits",
            Self::Incident => "incident",
            Self::Halted => "halted",
            Self::Restless => "restless",
            Self::Gone => "gone",
            Self::Answered => "answered",
        })
    }
}

/// What does not come to rest by then is said to be restless. No case is: budgets end each of them, and this only
/// keeps one that they do not end from hanging.
const PATIENCE: Duration = Duration::from_mins(4);

/// Runs the case on a new store in `dir`. What an error says was not to be.
pub fn run(case: &Case, dir: &Path) -> Result<Fate, String> {
    match case.what {
        What::Model(files, variables, later) => {
            on_store(&files(), variables(), later, dir).map_err(|error| error.to_string())
        }
        What::Expressions(language, sources) => expressions::run(language, &sources()),
    }
}

fn on_store(
    files: &[File],
    variables: Assignments,
    later: &[Duration],
    dir: &Path,
) -> Result<Fate, Error> {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_700_000_000_000)));
    let open = || {
        // Of what takes long in a build with checks, less than usual.
        let settings = Settings {
            turns_max: 5,
            descendants_max: 1_000,
            generations_max: 100,
            budgets: Budgets { tokens: 10_000, names: 1_000, ..Budgets::default() },
            ..Settings::default()
        };
        let options =
            Options { settings, clock: Arc::clone(&clock) as Arc<_>, ..Options::default() };
        Engine::open_with(dir, options)
    };
    let engine = open()?;
    engine.deploy(&[good()])?;
    let (good, _) = engine.start("good").id("good").begin().wait()?;
    let mut fate = match engine.deploy(files) {
        Ok(_) => None,
        Err(Error::Refused { .. }) => Some(Fate::Refused),
        Err(error) => return Err(error),
    };
    let mut bad = None;
    if fate.is_none() && engine.definitions().find("bad").is_some() {
        match engine.start("bad").id("bad").variables(variables).begin().wait() {
            Ok((id, _)) => bad = Some(id),
            Err(
                error @ (Error::Store(_)
                | Error::Closed { .. }
                | Error::Unknown { .. }
                | Error::Failed { .. }),
            ) => {
                return Err(error);
            }
            Err(_) => fate = Some(Fate::NotStarted),
        }
    }
    let mut rests = engine.settle(PATIENCE)?;
    for by in later {
        clock.set(engine.now().after(*by));
        engine.wake();
        rests = engine.settle(PATIENCE)?;
    }
    let fate = match (fate, bad) {
        (Some(fate), _) => fate,
        (None, Some(id)) if rests => fate_of(&engine, id)?,
        (None, None) if rests => Fate::Waits,
        (None, _) => Fate::Restless,
    };
    // The next one who opens the store meets all of it again.
    engine.shutdown()?;
    let engine = open()?;
    if let Some(id) = bad
        && !matches!(fate, Fate::Ended | Fate::Gone)
    {
        engine.cancel(id).wait()?;
    }
    if fate == Fate::Restless && bad.is_none() {
        engine.undeploy("bad", 1)?;
    }
    let task = rows(&engine, Table::Tasks, vec![Filter::Instance(good.0)])?;
    let Some(Row::Task(task)) = task.first() else {
        return Err(Error::NoSuchInstance(good));
    };
    let task = Address { instance: good, wait: WaitId(task.wait) };
    engine.complete(task, Vec::new()).wait()?;
    engine.shutdown()?;
    Ok(fate)
}

fn fate_of(engine: &Engine, id: InstanceId) -> Result<Fate, Error> {
    let rows = rows(engine, Table::Instances, vec![Filter::Instance(id.0)])?;
    let Some(Row::Instance(row)) = rows.first() else { return Ok(Fate::Gone) };
    Ok(match row.state {
        InstanceState::Completed | InstanceState::Failed | InstanceState::Cancelled => Fate::Ended,
        InstanceState::Halted => Fate::Halted,
        InstanceState::Running | InstanceState::Suspended => {
            let incidents = vec![Filter::Instance(id.0)];
            let none = self::rows(engine, Table::Incidents, incidents)?.is_empty();
            if none { Fate::Waits } else { Fate::Incident }
        }
    })
}

fn rows(engine: &Engine, table: Table, filters: Vec<Filter>) -> Result<Vec<Row>, Error> {
    let query = Query { table, filters, descending: false, after: None, limit: 10 };
    Ok(engine.query_now(&query)?.rows)
}

/// A file of BPMN with these elements in it.
fn bpmn(name: &str, elements: &str) -> File {
    let body = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:tv="urn:travertine:bpmn:1"
            targetNamespace="t">{elements}</definitions>"#
    );
    File { name: name.to_owned(), body: body.into_bytes() }
}

/// A file of DMN with these elements in it.
fn dmn(elements: &str) -> File {
    let body = format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d"
            namespace="t">{elements}</definitions>"#
    );
    File { name: "bad.dmn".to_owned(), body: body.into_bytes() }
}

/// The process `bad`, with these elements between its start and its end: `first` is where it goes in, `last` where
/// it comes out.
fn process(elements: &str, first: &str, last: &str) -> String {
    format!(
        r#"<process id="bad" isExecutable="true"><startEvent id="start"/>
        <sequenceFlow id="in" sourceRef="start" targetRef="{first}"/>{elements}
        <sequenceFlow id="out" sourceRef="{last}" targetRef="end"/><endEvent id="end"/></process>"#
    )
}

fn good() -> File {
    bpmn(
        "good.bpmn",
        r#"<process id="good" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#,
    )
}
