//! `travertine run --scenario`: all instances of a scenario, on a clock of its own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, anyhow, bail};
use travertine_bpmn::{Diagnostic, Severity};
use travertine_scenario::{
    Answer, Decision, DecisionKind, Effect, Entry, Failed, Instance, Mode, Model, Outcome,
    Scenario, Settings, Simulation, Tables, Waiting, read,
};
use travertine_value::{Name, Number, Value};

use crate::{
    args::{self, Decider},
    diagnostic, files,
    files::Models,
    json,
    screen::Screen,
    status::Status,
};

/// Runs a scenario, and tells how it went.
pub(crate) fn run(
    args: &args::Run,
    file: &Path,
    models: &Models,
    out: &Screen,
    err: &Screen,
) -> Result<Status> {
    if args.files.len() > 1 {
        bail!("a scenario is of one model, and there are {} files", args.files.len());
    }
    let (name, bytes) = models.first();
    let report = read(name, bytes);
    let Some(model) = report.model else {
        reject(&report.diagnostics, models, args.json, out, err);
        return Ok(Status::Rejected);
    };
    let model = Arc::new(model);
    let mut run = begin(args, file, &model)?;
    let mut shown = Shown { states: Vec::new(), lines: args.scenario.states && !args.json };
    let went = drive(args, &mut run, &mut shown, out)?;
    let status = status(&run, went.as_ref());
    if args.json {
        out.json(&data(&run, went.as_ref(), status, &report.diagnostics, shown.states));
    } else {
        text(&run, went.as_ref(), args, out);
    }
    Ok(status)
}

/// Says why a model cannot run.
fn reject(found: &[Diagnostic], models: &Models, json: bool, out: &Screen, err: &Screen) {
    if json {
        out.json(&json::object([
            ("outcome", "rejected".into()),
            ("exit_status", u32::from(Status::Rejected.code()).into()),
            ("diagnostics", found.iter().map(diagnostic::data).collect()),
        ]));
        return;
    }
    for it in found.iter().filter(|it| it.severity == Severity::Error) {
        err.lines(diagnostic::text(it, models, err.paint));
        err.line("");
    }
    err.line(format!("{} the model cannot run", err.paint.red("rejected:")));
}

fn begin(args: &args::Run, file: &Path, model: &Arc<Model>) -> Result<Simulation> {
    let asked = &args.scenario;
    let beside = || file.parent().map(Path::to_path_buf).unwrap_or_default();
    let tables: PathBuf = asked.tables.clone().unwrap_or_else(beside);
    let text_of = |name: &str| files::text(&tables.join(name)).map_err(|it| format!("{it:#}"));
    let tables = Tables::read(model, text_of)?;
    let scenario = Scenario::read(&files::text(file)?, model, &tables, asked.seed)
        .map_err(|it| anyhow!("{}: {it}", files::title(file)))?;
    let settings = Settings {
        mode: match asked.decide {
            Decider::First => Mode::First,
            Decider::Best => Mode::Best,
            Decider::Ask => Mode::Ask,
        },
        seed: asked.seed,
        until: asked.until,
        states: asked.states,
        ..Settings::default()
    };
    Ok(Simulation::new(Arc::clone(model), scenario, Arc::new(tables), settings))
}

/// What is shown of states: lines at once, or data in the end.
struct Shown {
    states: Vec<Value>,
    lines: bool,
}

impl Shown {
    fn show(&mut self, run: &mut Simulation, out: &Screen) {
        for entry in run.take_entries() {
            let status = run.status(&entry);
            if self.lines {
                let Entry { time, instance, node, state, .. } = &entry;
                let status = json::variables(&status);
                out.line(format!("{time} {instance} {node} {state} {status}"));
            } else {
                self.states.push(state_data(&entry, &status));
            }
        }
    }
}

/// Runs as far as it goes, with the answers there are. What cannot go on says why.
fn drive(
    args: &args::Run,
    run: &mut Simulation,
    shown: &mut Shown,
    out: &Screen,
) -> Result<Option<Failed>> {
    let mut answers = match &args.start.answers {
        Some(_) if args.scenario.decide != Decider::Ask => {
            bail!("answers are asked for only with --decide ask")
        }
        Some(path) => answers(path)?,
        None => Vec::new(),
    };
    loop {
        let went = run.run();
        shown.show(run, out);
        if let Err(failed) = went {
            return Ok(Some(failed));
        }
        let mut given = None;
        for (position, (time, answer)) in answers.iter().enumerate() {
            let due = time.is_none_or(|time| time <= run.now());
            let taken = match answer {
                _ if !due => false,
                Reply::Decide(answer) => {
                    run.decide(answer).map_err(|it| anyhow!("answer {}: {it}", position + 1))?
                }
                Reply::GiveUp { instance, node } => run.give_up(instance, node),
            };
            if taken {
                given = Some(position);
                break;
            }
        }
        if let Some(position) = given {
            answers.remove(position);
        } else if answers.is_empty() || !run.pass(answers.iter().filter_map(|it| it.0).min()) {
            break;
        }
    }
    if let [(_, first), ..] = &answers[..] {
        let open: Vec<String> = run
            .decisions()
            .iter()
            .map(|it| format!("{} of {} in {}", it.kind.name(), it.node, it.label))
            .collect();
        let open = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
        match first {
            Reply::Decide(Answer { kind, instance, node, .. }) => bail!(
                "nothing asks for the {} of {node} in {instance}; open decisions: {open}",
                kind.name()
            ),
            Reply::GiveUp { instance, node } => {
                bail!("{node} does not wait in {instance}, so it cannot be failed")
            }
        }
    }
    Ok(None)
}

/// What somebody outside has to say.
enum Reply {
    Decide(Answer),
    /// The task will never go on, and is to fail.
    GiveUp {
        instance: String,
        node: String,
    },
}

/// Answers as they stand in a file: a list of decisions, each perhaps with the time that it waits for.
fn answers(path: &Path) -> Result<Vec<(Option<Number>, Reply)>> {
    let file = files::title(path);
    let value = Value::parse_json(&files::text(path)?).map_err(|it| anyhow!("{file}: {it}"))?;
    let Some(items) = value.as_list() else { bail!("{file} holds no list of answers") };
    let read = |(position, item): (usize, &Value)| {
        answer(item).map_err(|it| anyhow!("{file}, answer {}: {it}", position + 1))
    };
    items.iter().enumerate().map(read).collect()
}

fn answer(item: &Value) -> Result<(Option<Number>, Reply)> {
    let known = ["decision", "instance", "node", "values", "sender", "time"];
    let Some(map) = item.as_map() else { bail!("it is no object") };
    if let Some(other) = map.keys().find(|it| !known.contains(&&***it)) {
        bail!("there is no field {other}; there are {}", known.join(", "));
    }
    let text = |name: &str| match item.field(name) {
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(other) => Err(anyhow!("{name} is {other}, and must be a text")),
        None => Err(anyhow!("{name} is missing")),
    };
    let kind = text("decision")?;
    let time = item
        .field("time")
        .map(|it| it.as_number().ok_or_else(|| anyhow!("the time is {it}, and must be a number")));
    let time = time.transpose()?;
    let (instance, node) = (text("instance")?, text("node")?);
    if kind == "fail" {
        return Ok((time, Reply::GiveUp { instance, node }));
    }
    let Some(kind) = DecisionKind::of(&kind) else {
        bail!("there is no decision {kind}; it is entry, exit, choice, message or fail")
    };
    let values = item.field("values").and_then(Value::as_map);
    let values = values.into_iter().flatten().map(|(name, it)| (name.to_string(), it.clone()));
    let sender = item.field("sender").map(|_| text("sender")).transpose()?;
    let values = values.collect();
    Ok((time, Reply::Decide(Answer { kind, instance, node, values, sender })))
}

/// The worst of what became of the instances.
fn status(run: &Simulation, failed: Option<&Failed>) -> Status {
    let any = |of: Outcome| run.instances().iter().any(|it| it.outcome == of);
    if failed.is_some() || any(Outcome::Failed) {
        Status::Failed
    } else if any(Outcome::Running) || any(Outcome::Announced) {
        Status::Waiting
    } else {
        Status::Done
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Done => "completed",
        Status::Waiting => "waiting",
        _ => "failed",
    }
}

/// Tells people.
fn text(run: &Simulation, failed: Option<&Failed>, args: &args::Run, out: &Screen) {
    let paint = out.paint;
    let waiting = run.waiting();
    for instance in run.instances() {
        out.gap();
        let Instance { id, process, outcome, .. } = instance;
        let word = match outcome {
            Outcome::Completed => paint.green(outcome.name()),
            Outcome::Failed => paint.red(outcome.name()),
            Outcome::Announced | Outcome::Running => paint.yellow(outcome.name()),
        };
        out.line(format!("{word} {}", paint.bold(format!("{process} {id}"))));
        for it in waiting.iter().filter(|it| it.instance == *id) {
            let name = it.name.as_ref().map_or_else(String::new, |it| format!(" {it}"));
            let due = it.due.map_or_else(String::new, |it| format!(", due at {it}"));
            out.line(format!("  {} {}: {}{name}{due}", paint.cyan("waits"), it.node, it.what));
        }
        let all: Vec<(Name, Value)> = run.attributes(instance).into_iter().collect();
        out.variables(&all, args.full);
    }
    if args.scenario.decide == Decider::Ask {
        for decision in run.decisions() {
            out.gap();
            let Decision { kind, label, node, effects, .. } = &decision;
            let kind = paint.yellow(kind.name());
            out.line(format!("{kind} {} is open in {label}", paint.bold(node)));
            for effect in effects.iter().take(20) {
                out.line(format!("  {}", way(effect)));
            }
        }
    }
    for message in run.held() {
        out.gap();
        out.line(format!("{} message {message}: nobody received it", paint.yellow("held")));
    }
    out.gap();
    if let Some(failed) = failed {
        out.line(format!("{} {failed}", paint.red("the run has failed:")));
    }
    out.line(format!("time {}, objective {}", run.now(), run.objective()));
}

fn way(effect: &Effect) -> String {
    let Effect { values, sender, feasible, objective } = effect;
    let what = match sender {
        Some(sender) => format!("message of {sender}: "),
        None if values.is_empty() => String::new(),
        None => format!("{}: ", json::variables(values)),
    };
    let feasible = if *feasible { "feasible" } else { "infeasible" };
    format!("{what}{feasible}, objective changes by {objective}")
}

/// All of it as data. `docs/bpmnos.md` promises the names of the fields.
fn data(
    run: &Simulation,
    failed: Option<&Failed>,
    status: Status,
    diagnostics: &[Diagnostic],
    states: Vec<Value>,
) -> Value {
    let decisions = if failed.is_none() { run.decisions() } else { Vec::new() };
    let mut known = BTreeMap::new();
    for it in &decisions {
        known.insert((it.kind.name(), Name::clone(&it.label), Name::clone(&it.node)), it);
    }
    let pending = run.waiting();
    let pending = pending.iter().map(|it| {
        let key = (it.what, Name::clone(&it.label), Name::clone(&it.node));
        pending_data(it, known.get(&key).copied())
    });
    let failure = failed.map(|it| {
        json::object([
            ("instance", it.instance.clone().into()),
            ("node", it.node.clone().into()),
            ("message", it.message.as_str().into()),
        ])
    });
    json::object([
        ("outcome", word(status).into()),
        ("exit_status", u32::from(status.code()).into()),
        ("time", run.now().into()),
        ("objective", run.objective().into()),
        ("failure", failure.into()),
        ("instances", run.instances().iter().map(|it| instance_data(run, it)).collect()),
        ("globals", json::variables(&run.globals())),
        ("pending", pending.collect()),
        ("held_messages", run.held().into_iter().map(Value::from).collect()),
        ("diagnostics", diagnostics.iter().map(diagnostic::data).collect()),
        ("states", states.into()),
    ])
}

fn instance_data(run: &Simulation, instance: &Instance) -> Value {
    json::object([
        ("instance", Name::clone(&instance.id).into()),
        ("process", Name::clone(&instance.process).into()),
        ("outcome", instance.outcome.name().into()),
        ("attributes", json::variables(&run.attributes(instance))),
    ])
}

fn pending_data(waiting: &Waiting, decision: Option<&Decision>) -> Value {
    let effects = decision.map(|it| it.effects.iter().map(effect_data).collect::<Value>());
    json::object([
        ("instance", Name::clone(&waiting.instance).into()),
        ("label", Name::clone(&waiting.label).into()),
        ("node", Name::clone(&waiting.node).into()),
        ("waits_for", waiting.what.into()),
        ("name", waiting.name.clone().into()),
        ("due", waiting.due.into()),
        ("ways", effects.into()),
    ])
}

fn effect_data(effect: &Effect) -> Value {
    json::object([
        ("values", json::variables(&effect.values)),
        ("sender", effect.sender.clone().into()),
        ("feasible", effect.feasible.into()),
        ("objective", effect.objective.into()),
    ])
}

fn state_data(entry: &Entry, status: &BTreeMap<Name, Value>) -> Value {
    json::object([
        ("time", entry.time.into()),
        ("instance", Name::clone(&entry.instance).into()),
        ("label", Name::clone(&entry.label).into()),
        ("node", Name::clone(&entry.node).into()),
        ("state", entry.state.name().into()),
        ("status", json::variables(status)),
    ])
}
