//! An answer: one thing that is done in a run, as a document.

use std::fmt;

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Assignments, WaitFor};
use travertine_runtime::{Address, Error, Message};
use travertine_value::{
    Map, Name, Value,
    time::{self, Timer},
};

use super::{
    Act, Run,
    pending::{Kind, Pending, What},
};
use crate::text;

macro_rules! bail {
    ($($text:tt)*) => { return Err(format!($($text)*).into()) };
}

/// Why an answer cannot be given.
#[derive(Clone, Debug)]
pub enum Unfit {
    /// It does not fit what waits.
    Text(String),
    /// The engine refuses it.
    Engine(Error),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unfit {}

impl From<String> for Unfit {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// One thing that is done in a run.
#[derive(Clone, Debug)]
pub struct Answer(Does);

#[derive(Clone, Debug)]
enum Does {
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
#[derive(Clone, Debug)]
struct At {
    element: String,
    /// What it must see, where several wait at the element.
    sees: Assignments,
}

/// What an answer can do.
const VERBS: [&str; 10] = [
    "complete",
    "throw_error",
    "escalate",
    "fail",
    "retry",
    "message",
    "signal",
    "advance",
    "set_vars",
    "cancel",
];

impl Answer {
    /// Reads an answer.
    pub fn read(item: &Value) -> Result<Self, String> {
        Does::read(item).map(Self)
    }

    /// Gives it, and all that follows from it is carried through. `name` is what a message is called, so that the same
    /// is not sent twice.
    pub fn give(&self, run: &mut impl Run, name: Option<Name>) -> Result<(), Unfit> {
        self.0.give(run, name)
    }
}

impl Does {
    fn read(item: &Value) -> Result<Self, String> {
        let Some(fields) = item.as_map() else {
            bail!("an answer is an object, not {}", item.kind())
        };
        let mut fields = Fields { left: fields.clone() };
        fields.left.shift_remove("note");
        let verbs = VERBS.into_iter().filter(|it| fields.left.contains_key(*it));
        let verb = match verbs.collect::<Vec<_>>()[..] {
            [verb] => verb,
            [] => bail!("it says nothing to do; one of these is needed: {}", VERBS.join(", ")),
            [one, other, ..] => bail!("it says both {one} and {other}; make two answers of it"),
        };
        let answer = match verb {
            "complete" => Self::Complete { at: fields.at(verb)?, vars: fields.vars("vars")? },
            "throw_error" => Self::ThrowError {
                at: fields.at(verb)?,
                code: fields.text("code")?,
                message: fields.optional_text("error_message")?.unwrap_or_default(),
                vars: fields.vars("vars")?,
            },
            "escalate" => Self::Escalate {
                at: fields.at(verb)?,
                code: fields.text("code")?,
                vars: fields.vars("vars")?,
            },
            "fail" => Self::Fail {
                at: fields.at(verb)?,
                retries: fields.number("retries")?,
                message: fields.optional_text("error_message")?.unwrap_or_default(),
            },
            "retry" => Self::Retry { at: fields.at(verb)? },
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

    fn give(&self, run: &mut impl Run, name: Option<Name>) -> Result<(), Unfit> {
        let act = match self {
            Self::Complete { at, vars } => Act::Complete {
                to: at.wait(run, "be completed", |_| true)?,
                variables: vars.clone(),
            },
            Self::ThrowError { at, code, message, vars } => Act::Raise {
                to: at.wait(run, "throw an error", Pending::is_work)?,
                code: code.clone(),
                message: message.clone(),
                variables: vars.clone(),
            },
            Self::Escalate { at, code, vars } => Act::Escalate {
                to: at.wait(run, "escalate", Pending::is_work)?,
                code: code.clone(),
                variables: vars.clone(),
            },
            Self::Fail { at, retries, message } => {
                let found = at.find(run, "fail", Pending::is_work)?;
                Act::Fail {
                    to: found.address().expect("work is a wait"),
                    retries: retries.unwrap_or_else(|| tries_left(&found)),
                    message: message.clone(),
                }
            }
            Self::Retry { at } => {
                let is_trouble = |it: &Pending| matches!(it.what, What::Incident(_));
                let found = at.find(run, "be retried", is_trouble)?;
                Act::Retry { instance: found.instance, token: found.token }
            }
            Self::Message { at: Some(at), message } => Act::Complete {
                to: at.wait(run, "receive it", |it| it.kind() == Kind::Message)?,
                variables: message.variables.clone(),
            },
            Self::Message { at: None, message } => {
                Act::Publish(Box::new(Message { id: name, ..message.clone() }))
            }
            Self::Signal { name, vars } => {
                Act::Signal { name: Name::clone(name), variables: vars.clone() }
            }
            Self::Advance(text) => return advance(run, text),
            Self::SetVars(vars) => {
                Act::Set { instance: run.main_id(), token: None, variables: vars.clone() }
            }
            Self::Cancel => Act::Cancel(run.main_id()),
        };
        Ok(run.act(act)?)
    }
}

/// Lets time pass: a duration, or until the next timer for `next`.
pub fn advance(run: &mut impl Run, text: &str) -> Result<(), Unfit> {
    let to = if text == "next" {
        let Some(due) = run.next_due() else { bail!("no timer is set") };
        due
    } else {
        time::due(Timer::Duration, text, run.now()).map_err(|error| error.to_string())?.at
    };
    Ok(run.act(Act::Advance(to))?)
}

/// How often work can still be tried after it has failed once more.
pub fn tries_left(pending: &Pending) -> u32 {
    match &pending.what {
        What::Wait(_, on) => match &**on {
            WaitFor::Work(job) => job.retries.saturating_sub(1),
            _ => 0,
        },
        What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => 0,
    }
}

impl At {
    fn wait(
        &self,
        run: &impl Run,
        what: &str,
        fits: impl Fn(&Pending) -> bool,
    ) -> Result<Address, String> {
        let found = self.find(run, what, |it| it.address().is_some() && fits(it))?;
        Ok(found.address().expect("it was looked for"))
    }

    /// The first thing that waits there and fits.
    fn find(
        &self,
        run: &impl Run,
        what: &str,
        fits: impl Fn(&Pending) -> bool,
    ) -> Result<Pending, String> {
        let all = run.pending();
        let here: Vec<&Pending> = all.iter().filter(|it| *it.element == *self.element).collect();
        let fitting: Vec<&Pending> = here.iter().copied().filter(|it| fits(it)).collect();
        if let Some(found) = fitting.iter().find(|it| self.is_seen(run, it)) {
            return Ok((*found).clone());
        }
        let element = &self.element;
        match (here.first(), fitting.is_empty()) {
            (Some(_), false) => {
                bail!("none of what waits at {element} sees {}", text::pairs(&self.sees))
            }
            (Some(it), true) => {
                bail!("{element} cannot {what}: it {}", it.why(run.now()))
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

    fn is_seen(&self, run: &impl Run, pending: &Pending) -> bool {
        let visible = if self.sees.is_empty() { Vec::new() } else { run.visible(pending) };
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

    fn text(&mut self, name: &str) -> Result<String, String> {
        self.optional_text(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    fn optional_text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some((*text).to_owned())),
            Some(other) => bail!("{name} is {}, not a text", other.kind()),
        }
    }

    fn number(&mut self, name: &str) -> Result<Option<u32>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_i64().and_then(|it| u32::try_from(it).ok());
        Ok(Some(number.ok_or_else(|| format!("{name} is {value}, not a whole number"))?))
    }

    fn vars(&mut self, name: &str) -> Result<Assignments, String> {
        let value = self.take(name).unwrap_or_else(|| Map::new().into());
        text::assignments(&value).map_err(|it| format!("{name}: {it}"))
    }

    fn at(&mut self, verb: &str) -> Result<At, String> {
        Ok(At { element: self.text(verb)?, sees: self.vars("where")? })
    }

    fn message(&mut self) -> Result<Does, String> {
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
        Ok(Does::Message { at, message })
    }
}
