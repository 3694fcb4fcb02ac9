//! The parts of events about what is waited for, and what is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use travertine_expr::{
    Name,
    time::{self, Timestamp},
};
use travertine_kernel::{self as kernel, plan};

use super::{Fault, Flaw, value::Assignments};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Slot {
    Own(u16),
    Gate(Gate),
    Listener(Moment, u16),
    Operation(u32),
}

impl Slot {
    pub(super) fn of(slot: kernel::Slot) -> Self {
        match slot {
            kernel::Slot::Own(position) => Self::Own(position),
            kernel::Slot::Gate(gate) => Self::Gate(Gate::of(gate)),
            kernel::Slot::Listener(moment, position) => {
                Self::Listener(Moment::of(moment), position)
            }
            kernel::Slot::Operation(operation) => Self::Operation(operation),
        }
    }

    pub(super) fn lift(self) -> kernel::Slot {
        match self {
            Self::Own(position) => kernel::Slot::Own(position),
            Self::Gate(gate) => kernel::Slot::Gate(gate.lift()),
            Self::Listener(moment, position) => kernel::Slot::Listener(moment.lift(), position),
            Self::Operation(operation) => kernel::Slot::Operation(operation),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Moment {
    BeforeAll,
    Start,
    Completion,
    End,
}

impl Moment {
    pub(super) fn of(moment: plan::Moment) -> Self {
        match moment {
            plan::Moment::BeforeAll => Self::BeforeAll,
            plan::Moment::Start => Self::Start,
            plan::Moment::Completion => Self::Completion,
            plan::Moment::End => Self::End,
        }
    }

    pub(super) fn lift(self) -> plan::Moment {
        match self {
            Self::BeforeAll => plan::Moment::BeforeAll,
            Self::Start => plan::Moment::Start,
            Self::Completion => plan::Moment::Completion,
            Self::End => plan::Moment::End,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Gate {
    Ready,
    Entry,
    Exit,
    Data,
}

impl Gate {
    fn of(gate: kernel::Gate) -> Self {
        match gate {
            kernel::Gate::Ready => Self::Ready,
            kernel::Gate::Entry => Self::Entry,
            kernel::Gate::Exit => Self::Exit,
            kernel::Gate::Data => Self::Data,
        }
    }

    fn lift(self) -> kernel::Gate {
        match self {
            Self::Ready => kernel::Gate::Ready,
            Self::Entry => kernel::Gate::Entry,
            Self::Exit => kernel::Gate::Exit,
            Self::Data => kernel::Gate::Data,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum WaitFor<'a> {
    Work(Job<'a>),
    Timer {
        due_ms: i64,
        repeat: Option<Repeat<'a>>,
    },
    Message {
        name: &'a str,
        correlation: Assignments<'a>,
    },
    Signal {
        name: &'a str,
    },
    Condition,
    Delivery(Post<'a>),
    Child {
        definition: &'a str,
        binding: Option<&'a str>,
        variables: Assignments<'a>,
        catches: Catches<'a>,
    },
    Gate(Gate),
    Choice,
    Data {
        #[serde(borrow)]
        missing: Vec<&'a str>,
    },
    FailedWork(Job<'a>, &'a str),
}

impl<'a> WaitFor<'a> {
    pub(super) fn of(on: &'a kernel::WaitFor) -> Self {
        match on {
            kernel::WaitFor::Work(job) => match &job.failure {
                None => Self::Work(Job::of(job)),
                Some(failure) => Self::FailedWork(Job::of(job), failure),
            },
            kernel::WaitFor::Timer { due, repeat } => {
                Self::Timer { due_ms: due.as_millis(), repeat: repeat.as_ref().map(Repeat::of) }
            }
            kernel::WaitFor::Message { name, correlation } => {
                Self::Message { name, correlation: Assignments::of(correlation) }
            }
            kernel::WaitFor::Signal { name } => Self::Signal { name },
            kernel::WaitFor::Condition => Self::Condition,
            kernel::WaitFor::Delivery(post) => Self::Delivery(Post::of(post)),
            kernel::WaitFor::Child { definition, binding, variables, catches } => Self::Child {
                definition,
                binding: binding.as_deref(),
                variables: Assignments::of(variables),
                catches: Catches::of(catches),
            },
            kernel::WaitFor::Gate(gate) => Self::Gate(Gate::of(*gate)),
            kernel::WaitFor::Choice => Self::Choice,
            kernel::WaitFor::Data { missing } => {
                Self::Data { missing: missing.iter().map(|it| &**it).collect() }
            }
        }
    }

    pub(super) fn lift(self) -> Result<kernel::WaitFor, Fault<'a>> {
        Ok(match self {
            Self::Work(job) => kernel::WaitFor::Work(job.lift(None)?),
            Self::FailedWork(job, failure) => kernel::WaitFor::Work(job.lift(Some(failure))?),
            Self::Timer { due_ms, repeat } => kernel::WaitFor::Timer {
                due: Timestamp::from_millis(due_ms),
                repeat: repeat.map(Repeat::lift).transpose()?,
            },
            Self::Message { name, correlation } => {
                kernel::WaitFor::Message { name: name.into(), correlation: correlation.lift()? }
            }
            Self::Signal { name } => kernel::WaitFor::Signal { name: name.into() },
            Self::Condition => kernel::WaitFor::Condition,
            Self::Delivery(post) => kernel::WaitFor::Delivery(post.lift()?),
            Self::Child { definition, binding, variables, catches } => kernel::WaitFor::Child {
                definition: definition.into(),
                binding: binding.map(Into::into),
                variables: variables.lift()?,
                catches: catches.lift(),
            },
            Self::Gate(gate) => kernel::WaitFor::Gate(gate.lift()),
            Self::Choice => kernel::WaitFor::Choice,
            Self::Data { missing } => {
                kernel::WaitFor::Data { missing: missing.into_iter().map(Into::into).collect() }
            }
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Job<'a> {
    kind: WorkKind,
    #[expect(clippy::struct_field_names, reason = "the word of the kernel")]
    job_type: &'a str,
    retries: u32,
    fields: Assignments<'a>,
}

impl<'a> Job<'a> {
    fn of(job: &'a kernel::Job) -> Self {
        let kernel::Job { kind, job_type, retries, fields, failure: _ } = job;
        Self {
            kind: WorkKind::of(*kind),
            job_type,
            retries: *retries,
            fields: Assignments::of(fields),
        }
    }

    fn lift(self, failure: Option<&str>) -> Result<kernel::Job, Fault<'a>> {
        Ok(kernel::Job {
            kind: self.kind.lift(),
            job_type: self.job_type.into(),
            retries: self.retries,
            fields: self.fields.lift()?,
            failure: failure.map(Into::into),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum WorkKind {
    Job,
    User,
}

impl WorkKind {
    fn of(kind: plan::WorkKind) -> Self {
        match kind {
            plan::WorkKind::Job => Self::Job,
            plan::WorkKind::User => Self::User,
        }
    }

    fn lift(self) -> plan::WorkKind {
        match self {
            Self::Job => plan::WorkKind::Job,
            Self::User => plan::WorkKind::User,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Repeat<'a> {
    rhythm: Rhythm<'a>,
    first_ms: i64,
    fired: u32,
    left: Option<u32>,
    until_ms: Option<i64>,
    zone: Option<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Rhythm<'a> {
    Every { months: i32, days: i32, millis: i64 },
    Cron(&'a str),
}

impl<'a> Repeat<'a> {
    pub(super) fn of(repeat: &'a time::Repeat) -> Self {
        let time::Repeat { rhythm, first, fired, left, until, zone } = repeat;
        Self {
            rhythm: match rhythm {
                time::Rhythm::Every(time::Period { months, days, millis }) => {
                    Rhythm::Every { months: *months, days: *days, millis: *millis }
                }
                time::Rhythm::Cron(cron) => Rhythm::Cron(cron.text()),
            },
            first_ms: first.as_millis(),
            fired: *fired,
            left: *left,
            until_ms: until.map(Timestamp::as_millis),
            zone: zone.as_deref(),
        }
    }

    pub(super) fn lift(self) -> Result<time::Repeat, Fault<'a>> {
        let rhythm = match self.rhythm {
            Rhythm::Every { months, days, millis } => {
                time::Rhythm::Every(time::Period { months, days, millis })
            }
            // It was written with the names of weekdays, so how they are counted is all one.
            Rhythm::Cron(text) => time::Cron::parse(text, time::Weekdays::From0)
                .map(time::Rhythm::Cron)
                .map_err(|_| Fault { place: text.as_bytes(), flaw: Flaw::Cron })?,
        };
        Ok(time::Repeat {
            rhythm,
            first: Timestamp::from_millis(self.first_ms),
            fired: self.fired,
            left: self.left,
            until: self.until_ms.map(Timestamp::from_millis),
            zone: self.zone.map(Into::into),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Catches<'a> {
    all: bool,
    codes: Vec<&'a str>,
    ended_by_all: bool,
    ended_by: Vec<&'a str>,
}

impl<'a> Catches<'a> {
    pub(super) fn of(catches: &'a kernel::Catches) -> Self {
        let kernel::Catches { all, codes, ended_by_all, ended_by } = catches;
        Self {
            all: *all,
            codes: codes.iter().map(Name::as_ref).collect(),
            ended_by_all: *ended_by_all,
            ended_by: ended_by.iter().map(Name::as_ref).collect(),
        }
    }

    pub(super) fn lift(self) -> kernel::Catches {
        kernel::Catches {
            all: self.all,
            codes: self.codes.into_iter().map(Arc::from).collect(),
            ended_by_all: self.ended_by_all,
            ended_by: self.ended_by.into_iter().map(Arc::from).collect(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Post<'a> {
    Message { name: &'a str, correlation: Assignments<'a>, payload: Assignments<'a> },
    Signal { name: &'a str, payload: Assignments<'a> },
    Escalation { code: Option<&'a str>, variables: Assignments<'a> },
    Start { definition: &'a str, id: &'a str, variables: Assignments<'a> },
}

impl<'a> Post<'a> {
    pub(super) fn of(post: &'a kernel::Post) -> Self {
        match post {
            kernel::Post::Message { name, correlation, payload } => Self::Message {
                name,
                correlation: Assignments::of(correlation),
                payload: Assignments::of(payload),
            },
            kernel::Post::Signal { name, payload } => {
                Self::Signal { name, payload: Assignments::of(payload) }
            }
            kernel::Post::Escalation { code, variables } => {
                Self::Escalation { code: code.as_deref(), variables: Assignments::of(variables) }
            }
            kernel::Post::Start { definition, id, variables } => {
                Self::Start { definition, id, variables: Assignments::of(variables) }
            }
        }
    }

    pub(super) fn lift(self) -> Result<kernel::Post, Fault<'a>> {
        Ok(match self {
            Self::Message { name, correlation, payload } => kernel::Post::Message {
                name: name.into(),
                correlation: correlation.lift()?,
                payload: payload.lift()?,
            },
            Self::Signal { name, payload } => {
                kernel::Post::Signal { name: name.into(), payload: payload.lift()? }
            }
            Self::Escalation { code, variables } => kernel::Post::Escalation {
                code: code.map(Into::into),
                variables: variables.lift()?,
            },
            Self::Start { definition, id, variables } => kernel::Post::Start {
                definition: definition.into(),
                id: id.into(),
                variables: variables.lift()?,
            },
        })
    }
}
