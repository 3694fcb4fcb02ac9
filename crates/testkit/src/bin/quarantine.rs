//! A process that dies in certain turns: `quarantine DIR SHARDS KIND STEP`.
//!
//! The steps: `prepare` puts something on a new store that is due an hour later; `go` opens it then, and dies
//! where something of the definition `bad` takes a turn; `look` only looks; `repair` has everything tried again
//! that stands still, and dies of nothing. Each says what there is, and closes the store in order.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::{
    env,
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Functions, Workflow, WorkflowDefinition, encode,
};
use travertine_kernel::{Budgets, Command, WaitId};
use travertine_runtime::{
    Address, Engine, Error, InstanceId, Settings, Timestamp,
    engine::{File, ManualClock, Observer, Options},
};
use travertine_store::view::{Filter, InstanceState, Query, Row, Table};
use travertine_value::Value;

/// Whether what is bad takes the process with it.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

fn die() {
    if IS_ARMED.load(Ordering::SeqCst) {
        std::process::abort();
    }
}

/// Thinks for the last time after an hour.
const SLEEPER: WorkflowDefinition = WorkflowDefinition {
    name: "sleeper",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_mins(1)).await?;
            die();
            Ok(Value::Null)
        })
    },
};

/// Calls an activity after an hour, and thinks about what it brings.
const CALLER: WorkflowDefinition = WorkflowDefinition {
    name: "asker",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_mins(1)).await?;
            let call: Activity<u64> = Activity::new("answer", ActivityOptions::DEFAULT);
            cx.call(call).await?;
            die();
            Ok(Value::Null)
        })
    },
};

const ANSWER: ActivityDefinition = ActivityDefinition {
    name: "answer",
    parameters: &[],
    options: ActivityOptions::DEFAULT,
    run: |_, _| Box::pin(async { encode("answer", &42_u64) }),
};

/// Calls activities, one of which is bad.
const EMPLOYER: WorkflowDefinition = WorkflowDefinition {
    name: "employer",
    version: 1,
    parameters: &["bad"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let bad: bool = arguments.take("bad")?;
            cx.sleep(Duration::from_mins(1)).await?;
            let name = if bad { "deadly" } else { "answer" };
            cx.call(Activity::<u64>::new(name, ActivityOptions::DEFAULT)).await?;
            Ok(Value::Null)
        })
    },
};

const DEADLY: ActivityDefinition = ActivityDefinition {
    name: "deadly",
    run: |_, _| {
        Box::pin(async {
            die();
            encode("deadly", &42_u64)
        })
    },
    ..ANSWER
};

/// A process with these elements before its user task `done`.
fn process(id: &str, elements: &str, last: &str) -> String {
    format!(
        r#"<process id="{id}" isExecutable="true">{elements}
        <sequenceFlow id="{id}_1" sourceRef="{last}" targetRef="{id}_done"/><userTask id="{id}_done" name="done"/>
        <sequenceFlow id="{id}_2" sourceRef="{id}_done" targetRef="{id}_end"/><endEvent id="{id}_end"/></process>"#
    )
}

/// Waits a minute, then does what `then` says.
fn waits(id: &str, then: &str, last: &str) -> String {
    let elements = format!(
        r#"<startEvent id="{id}_s"/><sequenceFlow id="{id}_3" sourceRef="{id}_s" targetRef="{id}_t"/>
        <intermediateCatchEvent id="{id}_t"><timerEventDefinition><timeDuration>PT1M</timeDuration>
        </timerEventDefinition></intermediateCatchEvent>{then}"#
    );
    process(id, &elements, last)
}

fn bad_start(definition: &str) -> String {
    process("bad", &format!(r#"<startEvent id="bad_s">{definition}</startEvent>"#), "bad_s")
}

fn sends(definition: &str) -> String {
    let then = format!(
        r#"<sequenceFlow id="x" sourceRef="sender_t" targetRef="throw"/>
        <intermediateThrowEvent id="throw">{definition}</intermediateThrowEvent>"#
    );
    waits("sender", &then, "throw")
}

fn models(kind: &str) -> String {
    let good = waits("good", "", "good_t");
    let message = r#"<messageEventDefinition messageRef="m"/>"#;
    let signal = r#"<signalEventDefinition signalRef="sig"/>"#;
    let bad = match kind {
        "timer" => waits("bad", "", "bad_t"),
        "start-timer" => bad_start(
            "<timerEventDefinition><timeDate>1970-01-01T01:00:00Z</timeDate></timerEventDefinition>",
        ),
        "message" => format!("{}{}", bad_start(message), sends(message)),
        "signal" => format!("{}{}", bad_start(signal), sends(signal)),
        "call" => {
            let then = r#"<sequenceFlow id="x" sourceRef="caller_t" targetRef="call"/>
                <callActivity id="call" calledElement="bad"/>"#;
            format!("{}{}", bad_start(""), waits("caller", then, "call"))
        }
        "loop" => process(
            "bad",
            r#"<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="g"/>
            <exclusiveGateway id="g" default="again"/>
            <sequenceFlow id="again" sourceRef="g" targetRef="w"/><task id="w"/>
            <sequenceFlow id="back" sourceRef="w" targetRef="g"/>
            <sequenceFlow id="out" sourceRef="g" targetRef="o">
            <conditionExpression>enough</conditionExpression></sequenceFlow><task id="o"/>"#,
            "o",
        ),
        "worker" => {
            let then = r#"<sequenceFlow id="x" sourceRef="client_t" targetRef="work"/>
                <serviceTask id="work" tv:jobType="deadly"/>"#;
            waits("client", then, "work")
        }
        "asked" => process(
            "bad",
            r#"<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="ask"/>
            <userTask id="ask"/>"#,
            "ask",
        ),
        _ => String::new(),
    };
    format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
        xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">
        <message id="m" name="m"/><signal id="sig" name="g"/>{good}{bad}</definitions>"#
    )
}

fn open(dir: &Path, shards: u16, at: i64, at_rest: bool) -> Result<Engine, Error> {
    let settings = Settings {
        turns_max: u32::MAX,
        at_rest,
        budgets: Budgets { turn_events: 200, ..Budgets::default() },
        ..Settings::default()
    };
    let observer = Observer(Arc::new(|seen| {
        let is_looping = matches!(seen.command, Command::Continue);
        let may_go = seen.live.definition.starts.is_empty() && is_new(seen.command);
        if &*seen.live.definition.id == "bad" && (!may_go || is_looping) {
            die();
        }
    }));
    let options = Options {
        shards,
        settings,
        observer: Some(observer),
        clock: Arc::new(ManualClock::new(Timestamp::from_millis(at))),
        functions: Functions::new()
            .workflow(SLEEPER)
            .workflow(CALLER)
            .workflow(EMPLOYER)
            .activity(ANSWER)
            .activity(DEADLY),
        ..Options::default()
    };
    Engine::open_with(dir, options)
}

/// Whether someone starts an instance from outside.
fn is_new(command: &Command) -> bool {
    matches!(command, Command::Start { caller: None, .. })
}

fn rows(engine: &Engine, table: Table, filters: Vec<Filter>) -> Result<Vec<Row>, Error> {
    let query = Query { table, filters, descending: false, after: None, limit: 100 };
    Ok(engine.query_now(&query)?.rows)
}

fn step(dir: &Path, shards: u16, kind: &str, step: &str) -> Result<(), Error> {
    const HOUR: i64 = 3_600_000;
    let engine = match step {
        "prepare" => {
            let engine = open(dir, shards, 0, false)?;
            engine.deploy(&[File { name: "m.bpmn".into(), body: models(kind).into_bytes() }])?;
            for id in ["sender", "caller", "client", "bad", "good", "good", "good"] {
                match engine.definitions().find(id).cloned() {
                    Some(it) if it.starts.is_empty() && (id != "bad" || kind != "call") => {
                        engine.start(id).variable("enough", false).wait()?;
                    }
                    _ => {}
                }
            }
            match kind {
                "function" => drop(engine.start(Workflow::<Value>::new("sleeper", 1)).wait()?),
                "outcome" => drop(engine.start(Workflow::<Value>::new("asker", 1)).wait()?),
                "activity" => {
                    for bad in [false, true, false] {
                        let call = Workflow::<Value>::new("employer", 1).argument("bad", &bad);
                        drop(engine.start(call).wait()?);
                    }
                }
                _ => {}
            }
            engine
        }
        "look" => open(dir, shards, 2 * HOUR, true)?,
        "go" | "repair" => {
            IS_ARMED.store(step == "go", Ordering::SeqCst);
            let engine = open(dir, shards, 2 * HOUR, false)?;
            if kind == "asked" && step == "go" {
                ask(&engine)?;
            }
            if step == "repair" {
                repair(&engine, kind)?;
            }
            come_to_rest(&engine)?;
            engine
        }
        other => return Err(Error::Failed { reason: format!("no such step: {other}") }),
    };
    if step != "prepare" {
        engine.flush_now()?;
        report(&engine)?;
    }
    engine.shutdown()
}

/// Waits until nothing goes on any more, and nobody is at an activity or could begin one.
fn come_to_rest(engine: &Engine) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without threads needs nothing");
    runtime.block_on(async {
        loop {
            let worked = engine.worked();
            let rest = engine.rest().await?;
            match (rest.at_work, &rest.jobs[..]) {
                (0, []) => return Ok(()),
                // Whoever does them takes them in a moment.
                (0, _) => tokio::task::yield_now().await,
                _ => worked.await,
            }
        }
    })
}

/// Completes the task `ask`, as often as someone asks.
fn ask(engine: &Engine) -> Result<(), Error> {
    for row in rows(engine, Table::Tasks, Vec::new())? {
        if let Row::Task(row) = row
            && &*row.element == "ask"
        {
            let task = Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) };
            match engine.complete(task, Vec::new()).wait() {
                Ok(()) | Err(Error::Halted { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Has everything tried again.
fn repair(engine: &Engine, kind: &str) -> Result<(), Error> {
    for row in rows(engine, Table::Instances, Vec::new())? {
        if let Row::Instance(row) = row
            && row.state == InstanceState::Halted
        {
            let id = InstanceId(row.id);
            if kind == "loop" {
                engine.set_variables(id, None, vec![("enough".into(), true.into())]).wait()?;
            } else {
                engine.release(id)?;
            }
        }
    }
    for row in rows(engine, Table::Incidents, Vec::new())? {
        if let Row::Incident(row) = row {
            engine.retry(InstanceId(row.instance), None).wait()?;
        }
    }
    for it in engine.dead_letters(None, None, 100)? {
        engine.replay(it.number).wait()?;
    }
    Ok(())
}

fn report(engine: &Engine) -> Result<(), Error> {
    let mut lines = Vec::new();
    for row in rows(engine, Table::Instances, Vec::new())? {
        let Row::Instance(row) = row else { continue };
        let mut line = format!("{} {:?}", row.definition, row.state);
        for row in rows(engine, Table::Tasks, vec![Filter::Instance(row.id)])? {
            if let Row::Task(row) = row {
                line.extend([" at ", &row.element]);
            }
        }
        // A halted instance says why to whoever asks something of it.
        let asked = engine.command(InstanceId(row.id), Command::Continue).wait();
        if let Err(Error::Halted { reason, .. }) = asked {
            line.extend([": ", &reason]);
        }
        for row in rows(engine, Table::Incidents, vec![Filter::Instance(row.id)])? {
            if let Row::Incident(row) = row {
                line.extend([": ", &row.message]);
            }
        }
        lines.push(line);
    }
    for it in engine.dead_letters(None, None, 100)? {
        lines.push(format!("dead letter: {}", it.reason));
    }
    lines.sort();
    println!("{}", lines.join("\n"));
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [dir, shards, kind, name] = &words[..] else {
        eprintln!("quarantine DIR SHARDS KIND STEP");
        return ExitCode::from(2);
    };
    match step(Path::new(dir), shards.parse().unwrap_or(1), kind, name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
