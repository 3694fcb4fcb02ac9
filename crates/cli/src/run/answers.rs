//! Answers given in advance: a JSON list, in the order in which they are given.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Assignments, WaitFor};
use travertine_runtime::{Address, Message};
use travertine_value::{Map, Name, Value};

use super::{
    notes::Notes,
    pending::{Kind, Pending, What},
    world::World,
};
use crate::{clock, files, pairs, screen::Screen};

/// Answers given in advance.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    file: String,
    all: Vec<(Value, Answer)>,
}

#[derive(Debug)]
enum Answer {
    Complete { at: At, vars: Assignments },
    ThrowError { at: At, code: String, message: String, vars: Assignments },
    Escalate { at: At, code: String, vars: Assignments },
    Fail { at: At, retries: Option<u32>, message: String },
    Retry { at: At },
    Message { at: Option<At>, message: Message },
    Signal { name: Name, vars: Assignments },
    Advance(String),
    SetVars(Assignments),
    Cancel,
}

/// Which of the things that wait is meant.
#[derive(Debug)]
struct At {
    element: String,
    /// What it must see, where several wait at the element.
    sees: Assignments,
}

impl Answers {
    /// Reads and understands all of them before any is given.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = files::title(path);
        let text = files::text(path)?;
        let value = Value::parse_json(&text).map_err(|it| {
            if it.is_malformed() {
                anyhow!("{file} is not JSON: {it}")
            } else {
                anyhow!("the JSON in {file} cannot be taken: {it}")
            }
        })?;
        let Some(items) = value.as_list() else {
            bail!("{file} holds {}, not a list of answers; see docs/cli.md", value.kind());
        };
        let mut all = Vec::new();
        for (position, item) in items.iter().enumerate() {
            let answer = Answer::read(item).with_context(|| heading(&file, position, item))?;
            all.push((item.clone(), answer));
        }
        Ok(Self { file, all })
    }

    /// Gives them, one after the other, each when all before it is carried through.
    pub(crate) fn give(&self, world: &mut World, out: &Screen) -> Result<()> {
        self.give_noted(world, out, None)
    }

    /// The same; what `notes` has as given is not given again.
    pub(crate) fn give_noted(
        &self,
        world: &mut World,
        out: &Screen,
        notes: Option<&Notes>,
    ) -> Result<()> {
        if self.all.is_empty() {
            return Ok(());
        }
        let given = notes.map_or(0, |it| it.given(&self.file, world));
        for (position, (item, answer)) in self.all.iter().enumerate().skip(given) {
            if world.restless().is_some() || out.is_closed() {
                return Ok(());
            }
            let mut name = None;
            if let Some(notes) = notes {
                notes.giving(&self.file, position, world)?;
                name = Some(Name::from(format!("answer {position} to {}", world.main().id)));
            }
            answer.give(world, name).with_context(|| heading(&self.file, position, item))?;
            if let Some(notes) = notes {
                notes.gave(&self.file, position, world)?;
            }
        }
        Ok(())
    }
}

fn heading(file: &str, position: usize, item: &Value) -> String {
    format!("{file}: answer {}, {}", position + 1, pairs::short(item))
}

impl Answer {
    fn read(item: &Value) -> Result<Self> {
        const VERBS: &str = "complete, throw_error, escalate, fail, retry, message, signal, advance, \
                             set_vars, cancel";
        let Some(fields) = item.as_map() else {
            bail!("an answer is an object, not {}", item.kind())
        };
        let mut fields = Fields { left: fields.clone() };
        fields.left.shift_remove("note");
        let verbs = VERBS.split(", ").filter(|it| fields.left.contains_key(*it));
        let verb = match verbs.collect::<Vec<_>>()[..] {
            [verb] => verb.to_owned(),
            [] => bail!("it says nothing to do; one of these is needed: {VERBS}"),
            [one, other, ..] => bail!("it says both {one} and {other}; make two answers of it"),
        };
        let answer = match verb.as_str() {
            "complete" => Self::Complete { at: fields.at(&verb)?, vars: fields.vars("vars")? },
            "throw_error" => Self::ThrowError {
                at: fields.at(&verb)?,
                code: fields.text("code")?,
                message: fields.optional_text("error_message")?.unwrap_or_default(),
                vars: fields.vars("vars")?,
            },
            "escalate" => Self::Escalate {
                at: fields.at(&verb)?,
                code: fields.text("code")?,
                vars: fields.vars("vars")?,
            },
            "fail" => Self::Fail {
                at: fields.at(&verb)?,
                retries: fields.number("retries")?,
                message: fields.optional_text("error_message")?.unwrap_or_default(),
            },
            "retry" => Self::Retry { at: fields.at(&verb)? },
            "message" => fields.message()?,
            "signal" => {
                Self::Signal { name: fields.text("signal")?.into(), vars: fields.vars("vars")? }
            }
            "advance" => Self::Advance(fields.text("advance")?),
            "set_vars" => Self::SetVars(fields.vars("set_vars")?),
            _ => {
                fields.take("cancel");
                Self::Cancel
            }
        };
        match fields.left.keys().next() {
            None => Ok(answer),
            Some(name) => bail!("{verb} knows no field {name}"),
        }
    }

    /// `name` is what a message is called, so that the same is not sent twice.
    fn give(&self, world: &mut World, name: Option<Name>) -> Result<()> {
        match self {
            Self::Complete { at, vars } => {
                let to = at.wait(world, "be completed", |_| true)?;
                Ok(world.act(|it| it.complete(to, vars.clone()))?)
            }
            Self::ThrowError { at, code, message, vars } => {
                let to = at.wait(world, "throw an error", Pending::is_work)?;
                Ok(world.act(|it| it.raise(to, code, message, vars.clone()))?)
            }
            Self::Escalate { at, code, vars } => {
                let to = at.wait(world, "escalate", Pending::is_work)?;
                Ok(world.act(|it| it.escalate(to, code, vars.clone()))?)
            }
            Self::Fail { at, retries, message } => {
                let found = at.find(world, "fail", Pending::is_work)?;
                let to = found.address().expect("work is a wait");
                let retries = retries.unwrap_or_else(|| tries_left(&found));
                Ok(world.act(|it| it.fail(to, retries, message))?)
            }
            Self::Retry { at } => {
                let found =
                    at.find(world, "be retried", |it| matches!(it.what, What::Incident(_)))?;
                Ok(world.act(|it| it.retry(found.instance, found.token))?)
            }
            Self::Message { at: Some(at), message } => {
                let to = at.wait(world, "receive it", |it| it.kind() == Kind::Message)?;
                Ok(world.act(|it| it.complete(to, message.variables.clone()))?)
            }
            Self::Message { at: None, message } => {
                let message = Message { id: name, ..message.clone() };
                Ok(world.act(|it| it.publish(message).map(drop))?)
            }
            Self::Signal { name, vars } => Ok(world.act(|it| it.signal(name, vars))?),
            Self::Advance(text) => advance(world, text),
            Self::SetVars(vars) => {
                let main = world.main().id;
                Ok(world.act(|it| it.set_variables(main, None, vars.clone()))?)
            }
            Self::Cancel => {
                let main = world.main().id;
                Ok(world.act(|it| it.cancel(main))?)
            }
        }
    }
}

/// Lets time pass: a duration, or until the next timer for `next`.
pub(crate) fn advance(world: &mut World, text: &str) -> Result<()> {
    let to = if text == "next" {
        let Some(due) = world.next_due() else { bail!("no timer is set") };
        due
    } else {
        clock::after(world.now(), text)?
    };
    Ok(world.act(|it| it.advance(to))?)
}

/// How often work can still be tried after it has failed once more.
pub(crate) fn tries_left(pending: &Pending) -> u32 {
    match &pending.what {
        What::Wait(_, on) => match &**on {
            WaitFor::Work(job) => job.retries.saturating_sub(1),
            _ => 0,
        },
        What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => 0,
    }
}

impl At {
    fn wait(&self, world: &World, what: &str, fits: impl Fn(&Pending) -> bool) -> Result<Address> {
        let found = self.find(world, what, |it| it.address().is_some() && fits(it))?;
        Ok(found.address().expect("it was looked for"))
    }

    /// The first thing that waits there and fits.
    fn find(&self, world: &World, what: &str, fits: impl Fn(&Pending) -> bool) -> Result<Pending> {
        let all = world.pending();
        let here: Vec<&Pending> = all.iter().filter(|it| *it.element == *self.element).collect();
        let fitting: Vec<&Pending> = here.iter().copied().filter(|it| fits(it)).collect();
        if let Some(found) = fitting.iter().find(|it| self.is_seen(world, it)) {
            return Ok((*found).clone());
        }
        let element = &self.element;
        match (here.first(), fitting.is_empty()) {
            (Some(_), false) => {
                bail!("none of what waits at {element} sees {}", pairs::show(&self.sees))
            }
            (Some(it), true) => {
                bail!("{element} cannot {what}: it {}", it.why(world.now()))
            }
            (None, _) if all.is_empty() => bail!("nothing waits at {element}; the run has ended"),
            (None, _) => {
                let names = all.iter().map(|it| format!("{} ({})", it.element, it.kind()));
                let mut names: Vec<String> = names.collect();
                names.dedup();
                bail!("nothing waits at {element}; what waits is {}", names.join(", "))
            }
        }
    }

    fn is_seen(&self, world: &World, pending: &Pending) -> bool {
        let visible = if self.sees.is_empty() { Vec::new() } else { world.visible(pending) };
        self.sees.iter().all(|it| visible.contains(it))
    }
}

/// The fields of an answer that nobody has looked at yet.
struct Fields {
    left: Map,
}

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.left.shift_remove(name)
    }

    fn text(&mut self, name: &str) -> Result<String> {
        self.optional_text(name)?.with_context(|| format!("{name} is missing"))
    }

    fn optional_text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some((*text).to_owned())),
            Some(other) => bail!("{name} is {}, not a text", other.kind()),
        }
    }

    fn number(&mut self, name: &str) -> Result<Option<u32>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_i64().and_then(|it| u32::try_from(it).ok());
        Ok(Some(number.with_context(|| format!("{name} is {value}, not a whole number"))?))
    }

    fn vars(&mut self, name: &str) -> Result<Assignments> {
        let value = self.take(name).unwrap_or_else(|| Map::new().into());
        pairs::of_value(&value).map_err(|it| anyhow!("{name}: {it}"))
    }

    fn at(&mut self, verb: &str) -> Result<At> {
        Ok(At { element: self.text(verb)?, sees: self.vars("where")? })
    }

    fn message(&mut self) -> Result<Answer> {
        let mut correlation = self.vars("correlation")?;
        if let Some(key) = self.take("key") {
            correlation.push((CORRELATION_KEY.into(), key));
        }
        let at = match self.optional_text("element")? {
            Some(element) => Some(At { element, sees: self.vars("where")? }),
            None => None,
        };
        let mut message = Message::new(&self.text("message")?);
        message.correlation = correlation;
        message.variables = self.vars("vars")?;
        Ok(Answer::Message { at, message })
    }
}
