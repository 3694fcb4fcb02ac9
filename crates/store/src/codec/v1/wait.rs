//! The parts of events about what is waited for, and what is sent.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use travertine_kernel::{self as kernel, plan};
use travertine_value::{
    self as plain,
    time::{self, Timestamp},
};

use super::{
    Fault, Flaw, Out, Put, puts,
    value::{Assignments, Value},
};

#[derive(Debug, Deserialize)]
pub(super) enum Slot {
    Own(u16),
    Gate(Gate),
    Listener(Moment, u16),
    Operation(u32),
}

puts!(enum kernel::Slot { Own(position), Gate(gate), Listener(moment, position), Operation(operation) });

impl Slot {
    pub(super) fn lift(self) -> kernel::Slot {
        match self {
            Self::Own(position) => kernel::Slot::Own(position),
            Self::Gate(gate) => kernel::Slot::Gate(gate.lift()),
            Self::Listener(moment, position) => kernel::Slot::Listener(moment.lift(), position),
            Self::Operation(operation) => kernel::Slot::Operation(operation),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) enum Moment {
    BeforeAll,
    Start,
    Completion,
    End,
}

puts!(enum plan::Moment { BeforeAll, Start, Completion, End });

impl Moment {
    pub(super) fn lift(self) -> plan::Moment {
        match self {
            Self::BeforeAll => plan::Moment::BeforeAll,
            Self::Start => plan::Moment::Start,
            Self::Completion => plan::Moment::Completion,
            Self::End => plan::Moment::End,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) enum Gate {
    Ready,
    Entry,
    Exit,
    Data,
}

puts!(enum kernel::Gate { Ready, Entry, Exit, Data });

impl Gate {
    fn lift(self) -> kernel::Gate {
        match self {
            Self::Ready => kernel::Gate::Ready,
            Self::Entry => kernel::Gate::Entry,
            Self::Exit => kernel::Gate::Exit,
            Self::Data => kernel::Gate::Data,
        }
    }
}

#[derive(Debug, Deserialize)]
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
    /// What a function has asked for.
    Called(Job<'a>, JobOptions<'a>, Option<&'a str>),
    /// Work of a model whose headers look like what a function asked for before that had options.
    Headed(Job<'a>, Option<&'a str>),
}

impl Put for kernel::WaitFor {
    fn put(&self, out: &mut Out) {
        match self {
            Self::Work(job) => match (&job.options, &job.failure) {
                (Some(options), failure) => out.variant(11, (job, &**options, failure)),
                (None, failure) if JobOptions::are_among(&job.fields) => {
                    out.variant(12, (job, failure));
                }
                (None, None) => out.variant(0, job),
                (None, Some(failure)) => out.variant(10, (job, failure)),
            },
            Self::Timer { due, repeat } => out.variant(1, (due, repeat)),
            Self::Message { name, correlation } => out.variant(2, (name, correlation)),
            Self::Signal { name } => out.variant(3, name),
            Self::Condition => out.variant(4, ()),
            Self::Delivery(post) => out.variant(5, post),
            Self::Child { definition, binding, variables, catches } => {
                out.variant(6, (definition, binding, variables, catches));
            }
            Self::Gate(gate) => out.variant(7, gate),
            Self::Choice => out.variant(8, ()),
            Self::Data { missing } => out.variant(9, missing),
        }
    }
}

impl<'a> WaitFor<'a> {
    pub(super) fn lift(self) -> Result<kernel::WaitFor, Fault<'a>> {
        Ok(match self {
            Self::Work(job) => kernel::WaitFor::Work(job.lift_old(None)?),
            Self::FailedWork(job, failure) => kernel::WaitFor::Work(job.lift_old(Some(failure))?),
            Self::Called(job, options, failure) => kernel::WaitFor::Work(kernel::Job {
                options: Some(Box::new(options.lift()?)),
                ..job.lift(failure)?
            }),
            Self::Headed(job, failure) => kernel::WaitFor::Work(job.lift(failure)?),
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

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Job<'a> {
    kind: WorkKind,
    #[expect(clippy::struct_field_names, reason = "the word of the kernel")]
    job_type: &'a str,
    retries: u32,
    fields: Assignments<'a>,
}

impl Put for kernel::Job {
    fn put(&self, out: &mut Out) {
        // Its options and why it failed come after it, where it has them.
        let Self { kind, job_type, retries, fields, options: _, failure: _ } = self;
        (kind, job_type, retries, fields).put(out);
    }
}

impl<'a> Job<'a> {
    fn lift(self, failure: Option<&str>) -> Result<kernel::Job, Fault<'a>> {
        Ok(kernel::Job {
            kind: self.kind.lift(),
            job_type: self.job_type.into(),
            retries: self.retries,
            fields: self.fields.lift()?,
            options: None,
            failure: failure.map(Into::into),
        })
    }

    /// What was written before there were options: those of functions stood among the headers.
    fn lift_old(self, failure: Option<&str>) -> Result<kernel::Job, Fault<'a>> {
        let mut job = self.lift(failure)?;
        job.options = JobOptions::of_headers(&job.fields).map(Box::new);
        if job.options.is_some() {
            job.fields = Vec::new();
        }
        Ok(job)
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct JobOptions<'a> {
    input: Value<'a>,
    idempotency_key: &'a str,
    attempts: u32,
    backoff: Option<Backoff>,
    timeout: Option<Span>,
    deadline_ms: Option<i64>,
    heartbeat: Option<Span>,
    priority: Option<i64>,
    limit: Option<&'a str>,
    brings_variables: bool,
}

impl Put for kernel::JobOptions {
    fn put(&self, out: &mut Out) {
        let Self { input, idempotency_key, attempts, backoff, .. } = self;
        let Self { timeout, deadline, heartbeat, priority, limit, brings_variables, .. } = self;
        plain::Value::Map(Arc::clone(input)).put(out);
        (idempotency_key, attempts, backoff).put(out);
        (timeout, deadline, heartbeat).put(out);
        (priority, limit, brings_variables).put(out);
    }
}

#[derive(Debug, Deserialize)]
struct Backoff {
    initial: Span,
    factor: f64,
    max: Span,
}

puts!(struct kernel::Backoff { initial, factor, max });

impl<'a> JobOptions<'a> {
    fn lift(self) -> Result<kernel::JobOptions, Fault<'a>> {
        let place = self.idempotency_key.as_bytes();
        let plain::Value::Map(input) = self.input.lift()? else {
            return Err(Fault { place, flaw: Flaw::BadEncoding });
        };
        let backoff = self.backoff.map(|Backoff { initial, factor, max }| {
            // Nobody has written another.
            let flawed = Fault { place, flaw: Flaw::BadEncoding };
            let (initial, max) = (initial.lift(), max.lift());
            factor.is_finite().then_some(kernel::Backoff { initial, factor, max }).ok_or(flawed)
        });
        let backoff = backoff.transpose()?;
        Ok(kernel::JobOptions {
            input,
            idempotency_key: self.idempotency_key.into(),
            attempts: self.attempts,
            backoff,
            timeout: self.timeout.map(Span::lift),
            deadline: self.deadline_ms.map(Timestamp::from_millis),
            heartbeat: self.heartbeat.map(Span::lift),
            priority: self.priority,
            limit: self.limit.map(Into::into),
            brings_variables: self.brings_variables,
        })
    }
}

/// A span of time, in milliseconds. One that is negative is over before it begins.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::codec) struct Span(i64);

impl Span {
    pub(in crate::codec) fn lift(self) -> Duration {
        Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl JobOptions<'_> {
    /// Whether headers begin as those did that functions wrote before there were options.
    fn are_among(headers: &kernel::Assignments) -> bool {
        let [(input, _), (key, _), (attempts, _), ..] = &headers[..] else { return false };
        [&**input, &**key, &**attempts] == ["input", "idempotencyKey", "attempts"]
    }

    /// The options that stand among headers.
    fn of_headers(headers: &kernel::Assignments) -> Option<kernel::JobOptions> {
        if !Self::are_among(headers) {
            return None;
        }
        let header = |name: &str| headers.iter().find(|(it, _)| &**it == name).map(|(_, it)| it);
        let number = |name: &str| header(name).and_then(plain::Value::as_i64);
        let span = |name: &str| number(name).map(|it| Span(it).lift());
        let plain::Value::Map(input) = header("input")? else { return None };
        let backoff = header("retry").and_then(|it| {
            let span = |name: &str| {
                it.field(name).and_then(plain::Value::as_i64).map(|it| Span(it).lift())
            };
            let factor = it.field("factor")?.as_number()?.to_f64();
            Some(kernel::Backoff { initial: span("initial")?, factor, max: span("maxDelay")? })
        });
        Some(kernel::JobOptions {
            input: Arc::clone(input),
            idempotency_key: header("idempotencyKey")?.as_str()?.into(),
            attempts: u32::try_from(number("attempts")?).ok()?,
            backoff,
            timeout: span("timeout"),
            deadline: number("deadline").map(Timestamp::from_millis),
            heartbeat: span("heartbeat"),
            priority: number("priority"),
            limit: header("limit").and_then(plain::Value::as_str).map(Into::into),
            brings_variables: header("answer").is_some(),
        })
    }
}

#[derive(Debug, Deserialize)]
enum WorkKind {
    Job,
    User,
}

puts!(enum plan::WorkKind { Job, User });

impl WorkKind {
    fn lift(self) -> plan::WorkKind {
        match self {
            Self::Job => plan::WorkKind::Job,
            Self::User => plan::WorkKind::User,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Repeat<'a> {
    rhythm: Rhythm<'a>,
    first_ms: i64,
    fired: u32,
    left: Option<u32>,
    until_ms: Option<i64>,
    zone: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
pub(super) enum Rhythm<'a> {
    Every { months: i32, days: i32, millis: i64 },
    Cron(&'a str),
}

puts!(struct time::Repeat { rhythm, first, fired, left, until, zone });
puts!(enum time::Rhythm { Every(period), Cron(cron) });
puts!(struct time::Period { months, days, millis });

impl Put for time::Cron {
    fn put(&self, out: &mut Out) {
        self.text().put(out);
    }
}

impl<'a> Repeat<'a> {
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

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Catches<'a> {
    all: bool,
    codes: Vec<&'a str>,
    ended_by_all: bool,
    ended_by: Vec<&'a str>,
}

puts!(struct kernel::Catches { all, codes, ended_by_all, ended_by });

impl Catches<'_> {
    pub(super) fn lift(self) -> kernel::Catches {
        kernel::Catches {
            all: self.all,
            codes: self.codes.into_iter().map(Arc::from).collect(),
            ended_by_all: self.ended_by_all,
            ended_by: self.ended_by.into_iter().map(Arc::from).collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Post<'a> {
    Message { name: &'a str, correlation: Assignments<'a>, payload: Assignments<'a> },
    Signal { name: &'a str, payload: Assignments<'a> },
    Escalation { code: Option<&'a str>, variables: Assignments<'a> },
    Start { definition: &'a str, id: &'a str, variables: Assignments<'a> },
}

puts!(enum kernel::Post {
    Message { name, correlation, payload },
    Signal { name, payload },
    Escalation { code, variables },
    Start { definition, id, variables },
});

impl<'a> Post<'a> {
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
