//! One run of a script: its own runtime, what it may see, what it may cost, what it leaves behind.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use indexmap::{IndexMap, IndexSet};
use rquickjs::{
    Coerced, Context, Ctx, Exception, FromJs, Function, Object, Runtime,
    context::{EvalOptions, intrinsic},
    object::{Filter, Property},
};
use travertine_value::{EvalError, Fact, Limit, Limits, Name, Outcome, Value, Variables};

use crate::{CompileError, Kind};

use super::{
    Needs, Script,
    aside::{self, Deadline},
    convert::{self, Reader},
};

/// Everything but `Date`, `performance`, typed arrays with their atomics, and weak references.
type Intrinsics = (
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::Promise,
);

const WORLD: &str = include_str!("prelude/world.js");
const VARIABLES: &str = include_str!("prelude/variables.js");
const EXECUTION: &str = include_str!("prelude/execution.js");
const ERRORS: &str = include_str!("prelude/errors.js");
const GUARDS: &str = include_str!("prelude/guards.js");

/// Its names are those of no script: `with` puts the variables between the script and the globals,
/// and the inner function keeps what the script declares out of the variables.
const RUN: &str = "(function () { with (arguments[0]) { return (function () { \
                   return eval(arguments[0]); })(arguments[1]); } })";

/// What the engine counts as one step it asks about only every so often.
const STEPS_PER_INTERRUPT: u64 = 10_000;

/// What an empty context holds, with room to spare.
const EMPTY_BYTES: usize = 512 << 10;

/// How much of the native stack a nested call takes, roughly.
const CALL_BYTES: usize = 2 << 10;

/// The text as it is evaluated.
pub(super) fn text(kind: Kind, source: &str) -> String {
    match kind {
        Kind::Expression => format!("({source}\n)"),
        Kind::Script => source.to_owned(),
    }
}

/// Checks the syntax without running anything.
pub(super) fn check(kind: Kind, source: &str, is_patient: bool) -> Result<(), CompileError> {
    let check_text = |text: &str, before| check_text(text, before, is_patient);
    match kind {
        Kind::Script => check_text(source, ""),
        // Both must hold, so that `1) + (2` is no expression.
        Kind::Expression => {
            let in_list = || check_text(&format!("[{source}\n]"), "[");
            check_text(&text(kind, source), "(").and_then(|()| in_list()).map_err(|error| {
                if is_within(source, &error) {
                    return error;
                }
                // It is about the bracket behind the text, unless another bracket says what is wrong in it.
                let other = in_list().err().filter(|it| is_within(source, it));
                other.unwrap_or_else(|| ends_early(source))
            })
        }
    }
}

/// Whether an error is about a place in the text.
fn is_within(source: &str, error: &CompileError) -> bool {
    usize::try_from(error.line).is_ok_and(|line| line <= source.split('\n').count())
}

fn ends_early(source: &str) -> CompileError {
    let last = source.rsplit('\n').next().unwrap_or_default();
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    CompileError {
        message: "it ends where more is expected".to_owned(),
        line: number(source.split('\n').count()),
        column: number(last.chars().count() + 1),
        foreign: false,
    }
}

/// A text longer than this is no script.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// What is longer than this is read under the eyes of the clock: the engine takes very long for some
/// texts.
const SHORT_BYTES_MAX: usize = 4 << 10;

fn check_text(text: &str, before: &'static str, is_patient: bool) -> Result<(), CompileError> {
    let refused = |message: &str| CompileError {
        message: message.to_owned(),
        line: 1,
        column: 1,
        foreign: false,
    };
    if text.len() > SOURCE_BYTES_MAX {
        return Err(refused("the script is too long: keep data in variables"));
    }
    if is_patient || text.len() <= SHORT_BYTES_MAX {
        return read_text(text, before);
    }
    let deadline = Deadline::after(Limits::default().time_ms_max);
    let text = text.to_owned();
    let read = aside::run(&deadline, move || read_text(&text, before));
    read.unwrap_or_else(|_| Err(refused("the script takes too long to be read")))
}

fn read_text(text: &str, before: &str) -> Result<(), CompileError> {
    let problem = |message: String, line: u32, column: u32| {
        let shift = if line == 1 { u32::try_from(before.len()).unwrap_or(0) } else { 0 };
        CompileError { message, line, column: column.saturating_sub(shift).max(1), foreign: false }
    };
    let (_, context) = empty(&Limits::default())
        .map_err(|error| problem(format!("no room for a script: {error}"), 1, 1))?;
    context.with(|ctx| {
        // It is read as a whole, and then thrown away before anything in it runs.
        let checked = eval::<rquickjs::Value<'_>>(&ctx, format!("throw 0;\n{text}"), "check");
        match checked {
            Ok(_) => Ok(()),
            Err(rquickjs::Error::Exception) => {
                let thrown = ctx.catch();
                if thrown.is_int() {
                    return Ok(());
                }
                let exception = thrown.as_exception();
                let message = exception.and_then(Exception::message).unwrap_or_default();
                let stack = exception.and_then(Exception::stack).unwrap_or_default();
                let (line, column) = place(&stack, "check").unwrap_or((2, 1));
                Err(problem(message, line.saturating_sub(1).max(1), column))
            }
            Err(error) => Err(problem(error.to_string(), 1, 1)),
        }
    })
}

/// Runs a script that has been checked.
pub(super) fn run(
    script: &Script,
    variables: &dyn Variables,
    limits: &Limits,
) -> Result<Outcome, EvalError> {
    let deadline = Deadline::after(limits.time_ms_max);
    let known = script.words.iter().map(|it| (Name::clone(it), variables.get(it))).collect();
    let asks = |needs: Needs| needs.execution.then(|| Fact::ALL.map(|it| variables.fact(it)));
    let facts = asks(script.needs).unwrap_or_default();
    let first = Attempt { known: Known::Words(known), facts, needs: script.needs, limits: *limits };
    let is_quick = script.is_short && !first.known.has_big_numbers();
    if let Some(outcome) = first.make(&script.text, &deadline, is_quick)? {
        return outcome;
    }
    // It asked for a name that it does not spell, or spells one that it may not read. Nothing has happened yet, so it can run again, now
    // with everything at hand.
    let all =
        variables.names().into_iter().filter_map(|it| variables.get(&it).map(|value| (it, value)));
    let known = Known::All(all.collect());
    let facts = asks(Needs::EVERYTHING).unwrap_or_default();
    let second = Attempt { known, facts, needs: Needs::EVERYTHING, limits: *limits };
    let outcome = second.make(&script.text, &deadline, false)?;
    outcome.unwrap_or_else(|| Err(EvalError::Failed("a variable is not known".to_owned())))
}

/// What there is to know of the instance, in the order of [`Fact::ALL`].
type Facts = [Option<Name>; Fact::ALL.len()];

/// All that a run takes from its caller.
struct Attempt {
    known: Known,
    /// What `execution` knows of the instance.
    facts: Facts,
    needs: Needs,
    limits: Limits,
}

impl Attempt {
    /// What came of it; `None` where it lacks a name.
    fn make(
        self,
        text: &Name,
        deadline: &Deadline,
        is_quick: bool,
    ) -> Result<Option<Result<Outcome, EvalError>>, Limit> {
        if is_quick {
            return Ok(self.run(text, deadline));
        }
        let (text, until) = (Name::clone(text), deadline.clone());
        aside::run(deadline, move || self.run(&text, &until))
    }

    fn run(self, text: &str, deadline: &Deadline) -> Option<Result<Outcome, EvalError>> {
        let host = Rc::new(Host::new(self.known, self.facts, &self.limits, deadline.clone()));
        let outcome = run_with(text, self.needs, &host, &self.limits);
        (!host.lacks_a_name.get()).then_some(outcome)
    }
}

/// What the script can reach outside of its runtime.
struct Host {
    known: Known,
    facts: Facts,
    depth_max: usize,
    steps_max: u64,
    steps: Cell<u64>,
    deadline: Deadline,
    /// Whether it was stopped by the clock.
    is_late: Cell<bool>,
    lacks_a_name: Cell<bool>,
    /// What went wrong in a call out of the script, where its exception does not say it all.
    error: RefCell<Option<EvalError>>,
}

enum Known {
    Words(IndexMap<Name, Option<Value>>),
    All(IndexMap<Name, Value>),
}

impl Known {
    /// Whether a number among them becomes a `BigInt`, from which longer ones can be made.
    fn has_big_numbers(&self) -> bool {
        match self {
            Self::Words(words) => words.values().flatten().any(convert::has_big_numbers),
            Self::All(all) => all.values().any(convert::has_big_numbers),
        }
    }
}

impl Host {
    fn new(known: Known, facts: Facts, limits: &Limits, deadline: Deadline) -> Self {
        Self {
            known,
            facts,
            depth_max: limits.depth_max.min(convert::DEPTH_MAX),
            steps_max: limits.steps_max,
            steps: Cell::new(0),
            deadline,
            is_late: Cell::new(false),
            lacks_a_name: Cell::new(false),
            error: RefCell::new(None),
        }
    }

    /// The variable before the run, or `Err` where that is not known.
    fn original(&self, name: &str) -> Result<Option<&Value>, Unknown> {
        match &self.known {
            Known::Words(words) => words.get(name).map(Option::as_ref).ok_or(Unknown),
            Known::All(all) => Ok(all.get(name)),
        }
    }

    fn load<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<rquickjs::Value<'js>> {
        match self.original(name) {
            Err(Unknown) => Err(self.give_up(ctx)),
            Ok(None) => Ok(rquickjs::Value::new_undefined(ctx.clone())),
            Ok(Some(value)) => convert::to_js(ctx, value, self.depth_max).map_err(|refusal| {
                match refusal.into_error(name) {
                    Ok(error) => {
                        let message = error.to_string();
                        if let EvalError::Limit(_) = error {
                            self.error.replace(Some(error));
                        }
                        Exception::throw_type(ctx, &message)
                    }
                    Err(error) => error,
                }
            }),
        }
    }

    /// The variables there were, as far as they are known.
    fn present_names(&self) -> IndexSet<String> {
        match &self.known {
            Known::Words(words) => {
                words.iter().filter(|it| it.1.is_some()).map(|it| it.0.to_string()).collect()
            }
            Known::All(all) => all.keys().map(ToString::to_string).collect(),
        }
    }

    /// The variables that the script spells, as one object.
    fn spelled<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let target = Object::new(ctx.clone())?;
        let Known::Words(words) = &self.known else { return Ok(target) };
        for (name, value) in words {
            let Some(value) = value else { continue };
            match convert::to_js(ctx, value, self.depth_max) {
                Ok(value) => target.set(&**name, value)?,
                Err(refusal) => match refusal.into_error(name) {
                    // Perhaps it only stands in a comment; so it gets a slot that fails when read.
                    Ok(_) => return Err(self.give_up(ctx)),
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(target)
    }

    fn names(&self, ctx: &Ctx<'_>) -> rquickjs::Result<Vec<String>> {
        match &self.known {
            Known::Words(_) => Err(self.give_up(ctx)),
            Known::All(all) => Ok(all.keys().map(|it| it.as_ref().to_owned()).collect()),
        }
    }

    /// The script may catch this, but whatever it does then is thrown away.
    fn give_up(&self, ctx: &Ctx<'_>) -> rquickjs::Error {
        self.lacks_a_name.set(true);
        Exception::throw_message(ctx, "not all variables are known")
    }

    /// Counts steps; whether there were too many.
    fn count(&self, steps: u64) -> bool {
        self.steps.set(self.steps.get().saturating_add(steps));
        self.steps.get() > self.steps_max
    }

    /// The limit that has ended the run, of those that are counted here.
    fn exceeded(&self) -> Option<Limit> {
        if self.steps.get() > self.steps_max {
            return Some(Limit::Steps);
        }
        self.is_late.get().then_some(Limit::Time)
    }

    /// Whether it is time to end. The clock is looked at.
    fn is_late(&self) -> bool {
        if self.deadline.has_passed() {
            self.is_late.set(true);
        }
        self.is_late.get()
    }

    /// Counts steps before work that counts none by itself. The script may catch the exception, but not
    /// what comes of it.
    fn spend(&self, ctx: &Ctx<'_>, steps: f64) -> rquickjs::Result<()> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        if self.count(steps as u64) {
            return Err(Exception::throw_range(ctx, "the step limit was exceeded"));
        }
        // The clock takes longer to look at than a little work does.
        if steps > 1_000.0 && self.is_late() {
            return Err(Exception::throw_range(ctx, "the time limit was exceeded"));
        }
        Ok(())
    }

    /// Whether it is a true list, whose length, times a factor, has been counted as steps.
    fn charge(
        &self,
        ctx: &Ctx<'_>,
        value: &rquickjs::Value<'_>,
        factor: f64,
    ) -> rquickjs::Result<bool> {
        let Some(list) = value.as_array().filter(|_| !value.is_proxy()) else { return Ok(false) };
        #[expect(clippy::cast_precision_loss, reason = "a length is below 2^32")]
        self.spend(ctx, convert::length(list)? as f64 * factor)?;
        Ok(true)
    }
}

struct Unknown;

fn run_with(
    text: &str,
    needs: Needs,
    host: &Rc<Host>,
    limits: &Limits,
) -> Result<Outcome, EvalError> {
    let (runtime, context) = empty(limits).map_err(|_| EvalError::Limit(Limit::Memory))?;
    let counter = Rc::clone(host);
    runtime.set_interrupt_handler(Some(Box::new(move || {
        counter.lacks_a_name.get() || counter.count(STEPS_PER_INTERRUPT) || counter.is_late()
    })));
    let outcome = context.with(|ctx| {
        let stage = Stage::set(&ctx, needs, host);
        let stage = stage.map_err(|_| {
            let limit = host.exceeded().unwrap_or(Limit::Memory);
            Ending::Failed(limit.into())
        })?;
        stage.play(text, limits)
    });
    match outcome {
        // Whatever waits for a promise would never run.
        Ok(_) if runtime.is_job_pending() => {
            Err(EvalError::Failed("a script cannot wait: its promises never settle".to_owned()))
        }
        Ok(outcome) => Ok(outcome),
        Err(Ending::Failed(error)) => Err(error),
        // Where there is no room left for an exception, the engine throws null.
        Err(Ending::ThrewNull) if !text.contains("throw null") => Err(Limit::Memory.into()),
        Err(Ending::ThrewNull) => Err(EvalError::Failed("null was thrown".to_owned())),
    }
}

enum Ending {
    Failed(EvalError),
    ThrewNull,
}

/// A runtime in which nothing has happened yet.
fn empty(limits: &Limits) -> rquickjs::Result<(Runtime, Context)> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(limits.memory_bytes_max.saturating_add(EMPTY_BYTES));
    // However deep the settings allow, the thread has only so much stack.
    let stack_bytes = limits.depth_max.saturating_mul(CALL_BYTES);
    runtime.set_max_stack_size(stack_bytes.clamp(64 << 10, 1 << 20));
    let context = Context::custom::<Intrinsics>(&runtime)?;
    Ok((runtime, context))
}

fn eval<'js, V: FromJs<'js>>(
    ctx: &Ctx<'js>,
    text: impl Into<Vec<u8>>,
    file: &str,
) -> rquickjs::Result<V> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(text, options)
}

/// The first line and column of `file` in a stack trace.
fn place(stack: &str, file: &str) -> Option<(u32, u32)> {
    let (_, after) = stack.split_once(&format!("{file}:"))?;
    let mut numbers = after.split(|it: char| !it.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A context in which everything is ready for the script.
struct Stage<'js, 'h> {
    ctx: Ctx<'js>,
    host: &'h Host,
    run: Function<'js>,
    /// The variables as the script sees them.
    target: Object<'js>,
    /// Stands between the script and the globals.
    scope: Object<'js>,
    /// Its keys are the names that the script has touched; where there is none, it may have touched
    /// all that it spells.
    settled: Option<Object<'js>>,
    /// Takes a `BpmnError` apart.
    bpmn_error: Option<Function<'js>>,
}

impl<'js, 'h> Stage<'js, 'h> {
    fn set(ctx: &Ctx<'js>, needs: Needs, host: &'h Rc<Host>) -> rquickjs::Result<Self> {
        let () = eval(ctx, WORLD, "prelude")?;
        let bpmn_error = if needs.errors { Some(eval(ctx, ERRORS, "prelude")?) } else { None };
        if needs.guards {
            let guards: Function<'js> = eval(ctx, GUARDS, "prelude")?;
            let charge = Function::new(ctx.clone(), charging(Rc::clone(host)))?;
            let spend = Function::new(ctx.clone(), spending(Rc::clone(host)))?;
            let () = guards.call((charge, spend))?;
        }
        let run = eval(ctx, RUN, "run")?;
        let stage = if needs.all_names {
            let variables: Function<'js> = eval(ctx, VARIABLES, "prelude")?;
            let load = Function::new(ctx.clone(), loading(Rc::clone(host)))?;
            let exists = Function::new(ctx.clone(), existing(Rc::clone(host)))?;
            let names = Function::new(ctx.clone(), naming(Rc::clone(host)))?;
            let made: Object<'js> = variables.call((load, exists, names))?;
            let context: Object<'js> = made.get("context")?;
            if needs.execution {
                let execution: Function<'js> = eval(ctx, EXECUTION, "prelude")?;
                let facts = host.facts.clone().map(|it| it.map(|it| it.to_string()));
                let () = execution.call((context.clone(), Vec::from(facts)))?;
            }
            show(ctx, context)?;
            let (target, scope) = (made.get("target")?, made.get("scope")?);
            let settled = Some(made.get("settled")?);
            Self { ctx: ctx.clone(), host, run, target, scope, settled, bpmn_error }
        } else {
            let target = host.spelled(ctx)?;
            show(ctx, target.clone())?;
            let scope = target.clone();
            Self { ctx: ctx.clone(), host, run, target, scope, settled: None, bpmn_error }
        };
        Ok(stage)
    }

    fn play(&self, text: &str, limits: &Limits) -> Result<Outcome, Ending> {
        let value = self.run.call((self.scope.clone(), text)).map_err(|it| self.explain(&it))?;
        let mut reader = Reader::new(&self.ctx, &self.target, limits);
        let writes = self.writes(&mut reader)?;
        let value = self.read(&mut reader, value, "the value of the script")?.unwrap_or_default();
        // A getter, called just now, may have asked for more.
        if let Some(limit) = self.host.exceeded() {
            return Err(Ending::Failed(limit.into()));
        }
        Ok(Outcome { value, writes })
    }

    /// What differs from before, of all that the script has touched.
    fn writes(&self, reader: &mut Reader<'js>) -> Result<Vec<(Name, Option<Value>)>, Ending> {
        let names = |object: &Object<'js>| {
            let names = object.own_keys::<String>(Filter::new().string());
            names.collect::<rquickjs::Result<Vec<_>>>().map_err(|it| self.explain(&it))
        };
        let present: IndexSet<String> = names(&self.target)?.into_iter().collect();
        let touched = match &self.settled {
            Some(settled) => names(settled)?.into_iter().collect(),
            None => &self.host.present_names() | &present,
        };
        let mut writes = Vec::new();
        for name in touched {
            let after = if present.contains(&name) {
                let value = self.target.get(name.as_str()).map_err(|it| self.explain(&it))?;
                self.read(reader, value, &name)?
            } else {
                None
            };
            let Ok(before) = self.host.original(&name) else {
                return Err(self.explain(&self.host.give_up(&self.ctx)));
            };
            if after.as_ref() != before {
                writes.push((name.into(), after));
            }
        }
        Ok(writes)
    }

    fn read(
        &self,
        reader: &mut Reader<'js>,
        value: rquickjs::Value<'js>,
        name: &str,
    ) -> Result<Option<Value>, Ending> {
        reader.read(value).map_err(|refusal| match refusal.into_error(name) {
            Ok(error) => Ending::Failed(error),
            Err(error) => self.explain(&error),
        })
    }

    /// Why the script ended early. To find out may call code of the script.
    fn explain(&self, error: &rquickjs::Error) -> Ending {
        let thrown = self.ctx.catch();
        let ending = match error {
            rquickjs::Error::Exception if thrown.is_null() => Ending::ThrewNull,
            rquickjs::Error::Exception => Ending::Failed(self.explain_thrown(thrown)),
            rquickjs::Error::Allocation => Ending::Failed(Limit::Memory.into()),
            other => Ending::Failed(EvalError::Failed(other.to_string())),
        };
        if let Some(error) = self.host.error.take() {
            Ending::Failed(error)
        } else if let Some(limit) = self.host.exceeded() {
            Ending::Failed(limit.into())
        } else {
            ending
        }
    }

    fn explain_thrown(&self, thrown: rquickjs::Value<'js>) -> EvalError {
        if let Some(take_apart) = &self.bpmn_error
            && let Ok(Some(parts)) = take_apart.call::<_, Option<Vec<String>>>((thrown.clone(),))
            && let [code, message] = parts.as_slice()
        {
            return EvalError::Thrown { code: code.clone(), message: message.clone() };
        }
        let Some(exception) = thrown.as_exception() else {
            let text = Coerced::<String>::from_js(&self.ctx, thrown).map(|it| it.0);
            let text = text.unwrap_or_else(|_| "something without a text".to_owned());
            return EvalError::Failed(format!("{text} was thrown"));
        };
        let name = exception.get::<_, String>("name").unwrap_or_default();
        let message = exception.message().unwrap_or_default();
        // A script could throw these itself, and would deceive only itself.
        match (name.as_str(), message.as_str()) {
            ("RangeError" | "InternalError", "Maximum call stack size exceeded") => {
                return Limit::Depth.into();
            }
            ("InternalError", "out of memory")
            | ("RangeError" | "InternalError", "invalid string length" | "string too long") => {
                return Limit::Memory.into();
            }
            _ => {}
        }
        let line = place(&exception.stack().unwrap_or_default(), "<input>");
        EvalError::Failed(match line {
            Some((line, _)) => format!("{name}: {message} (line {line})"),
            None => format!("{name}: {message}"),
        })
    }
}

/// Gives the script its `_context`.
fn show<'js>(ctx: &Ctx<'js>, context: Object<'js>) -> rquickjs::Result<()> {
    ctx.globals().prop("_context", Property::from(context).writable().configurable())
}

fn loading<'js>(
    host: Rc<Host>,
) -> impl Fn(Ctx<'js>, String) -> rquickjs::Result<rquickjs::Value<'js>> + 'static {
    move |ctx, name| host.load(&ctx, &name)
}

fn existing<'js>(host: Rc<Host>) -> impl Fn(Ctx<'js>, String) -> rquickjs::Result<bool> + 'static {
    move |ctx, name| match host.original(&name) {
        Ok(value) => Ok(value.is_some()),
        Err(Unknown) => Err(host.give_up(&ctx)),
    }
}

fn naming<'js>(host: Rc<Host>) -> impl Fn(Ctx<'js>) -> rquickjs::Result<Vec<String>> + 'static {
    move |ctx| host.names(&ctx)
}

fn charging<'js>(
    host: Rc<Host>,
) -> impl Fn(Ctx<'js>, rquickjs::Value<'js>, f64) -> rquickjs::Result<bool> + 'static {
    move |ctx, value, factor| host.charge(&ctx, &value, factor)
}

fn spending<'js>(host: Rc<Host>) -> impl Fn(Ctx<'js>, f64) -> rquickjs::Result<()> + 'static {
    move |ctx, steps| host.spend(&ctx, steps)
}
