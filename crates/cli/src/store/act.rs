//! Commands that ask something of instances, jobs, tasks, timers and messages.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use travertine_kernel::TokenId;
use travertine_runtime::{
    Address, Delivery, Error, InstanceId, JobFailure, Receipt, engine::Pending,
};
use travertine_store::view::{Cursor, Filter, InstanceState, Key, Query, Row, Table};
use travertine_value::{Name, Value};

use super::{Desk, grid, rows, show};
use crate::{
    args::{
        store as args, words,
        words::{Whose, Work},
    },
    clock, json,
    status::Status,
};

/// How many instances are asked something at once.
const TOGETHER: usize = 1_000;

/// Says how it stands with an instance after something was done.
pub(crate) fn tell(instance: InstanceId, desk: &Desk<'_>) -> Result<()> {
    desk.settle_for(Some(instance))?;
    let look = desk.look(instance)?;
    desk.tell(
        || rows::instance(&look.row),
        |out| {
            let title = format!("{} {instance}", look.row.definition);
            let state = rows::state_painted(look.row.state, out.paint);
            out.line(format!("{}, {state}", out.paint.bold(title)));
            if let Some(reason) = &look.row.reason {
                out.line(format!("  {}", out.paint.red(reason)));
            }
            show::few_reasons(&look, desk, out);
        },
    );
    Ok(())
}

/// The work that is meant.
fn meant(work: &Work, desk: &Desk<'_>) -> Result<Address> {
    let instance = match work {
        Work::At(address) => return Ok(*address),
        Work::Only(whose) => desk.instance(whose)?,
    };
    let look = desk.look(instance)?;
    let mut all = Vec::new();
    for it in &look.reasons {
        if let Some(wait) = travertine_data::look::completable(&it.why) {
            all.push((Address { instance, wait }, it));
        }
    }
    match &all[..] {
        [(only, _)] => Ok(*only),
        [] => bail!(
            "nothing in instance {instance} waits to be completed; {} says what it waits for",
            desk.command(&["show", &instance.to_string()])
        ),
        _ => {
            let all: Vec<String> =
                all.iter().map(|(at, it)| format!("{at} ({})", it.element)).collect();
            bail!("several things wait in instance {instance}; say which one: {}", all.join(", "))
        }
    }
}

pub(crate) fn complete(args: &args::Complete, desk: &Desk<'_>) -> Result<Status> {
    let work = meant(&args.work, desk)?;
    let variables = args.variables.given()?;
    desk.ok(desk.engine.complete(work, variables).wait())?;
    tell(work.instance, desk)?;
    Ok(Status::Done)
}

pub(crate) fn fail(args: &args::Fail, desk: &Desk<'_>) -> Result<Status> {
    let work = meant(&args.work, desk)?;
    let variables = args.variables.given()?;
    let failed = match (&args.error, &args.escalate) {
        (Some(code), _) => desk.engine.throw_error(work, code, &args.message, variables).wait(),
        (None, Some(code)) => desk.engine.escalate(work, code, variables).wait(),
        (None, None) => {
            let backoff = args.backoff.unwrap_or_default();
            let (retries, message) = (args.retries, args.message.clone());
            let failure = JobFailure { retries, backoff, message, variables, strict: true };
            desk.engine.fail(work, failure).wait()
        }
    };
    desk.ok(failed)?;
    tell(work.instance, desk)?;
    Ok(Status::Done)
}

pub(crate) fn claim(args: &args::Claim, desk: &Desk<'_>) -> Result<Status> {
    desk.ok(desk.engine.claim(args.task, &args.who).wait())?;
    task(args.task, desk)
}

pub(crate) fn unclaim(args: &args::Unclaim, desk: &Desk<'_>) -> Result<Status> {
    desk.ok(desk.engine.unclaim(args.task).wait())?;
    task(args.task, desk)
}

/// Says who does a task after that was changed.
fn task(task: Address, desk: &Desk<'_>) -> Result<Status> {
    let before = Key {
        instance: task.instance.0,
        number: task.wait.0.saturating_sub(1),
        name: Name::from(""),
    };
    let page = desk.query(&Query {
        table: Table::Tasks,
        filters: vec![Filter::Instance(task.instance.0)],
        descending: false,
        after: Some(Cursor(before)),
        limit: 1,
    })?;
    let Some(Row::Task(row)) = page.rows.first().filter(|it| it.key().number == task.wait.0) else {
        // What has followed from the change may have ended it.
        desk.tell(
            || json::object([("task", task.to_string().into())]),
            |out| out.line(format!("{}: done, and the task has ended", out.paint.bold(task))),
        );
        return Ok(Status::Done);
    };
    desk.tell(
        || rows::task(row),
        |out| {
            let who = match &row.assignee {
                Some(who) => format!("{who} has claimed it"),
                None => "nobody has claimed it".to_owned(),
            };
            out.line(format!("{} {}: {who}", out.paint.bold(task), row.element));
        },
    );
    Ok(Status::Done)
}

pub(crate) fn retries(args: &args::Retries, desk: &Desk<'_>) -> Result<Status> {
    desk.ok(desk.engine.set_retries(args.job, args.count).wait())?;
    tell(args.job.instance, desk)?;
    Ok(Status::Done)
}

pub(crate) fn conditions(args: &args::Conditions, desk: &Desk<'_>) -> Result<Status> {
    let variables = args.variables.given()?;
    let started = desk.ok(desk.engine.evaluate_conditions(variables).wait())?;
    desk.settle()?;
    desk.tell(
        || json::object([("started", started.iter().map(|it| json::key(it.0)).collect())]),
        |out| {
            if started.is_empty() {
                out.line("no condition holds");
            }
            for instance in &started {
                out.line(format!("started instance {}", out.paint.bold(instance)));
            }
        },
    );
    Ok(Status::Done)
}

pub(crate) fn message(args: &args::Message, desk: &Desk<'_>) -> Result<Status> {
    let mut message = desk.engine.message(&args.name).variables(args.variables.given()?);
    for (name, value) in &args.correlate {
        message = message.correlate(name, value.clone());
    }
    if let Some(key) = &args.key {
        message = message.key(key.as_str());
    }
    if let Some(instance) = &args.instance {
        message = message.to_instance(desk.instance(instance)?);
    }
    if let Some(key) = &args.business_key {
        message = message.business_key(key);
    }
    for (name, value) in &args.variable {
        message = message.where_variable(name, value.clone());
    }
    if let Some(id) = &args.id {
        message = message.id(id);
    }
    if let Some(ttl) = args.ttl {
        message = message.ttl(ttl);
    }
    if args.all {
        message = message.for_all();
    }
    let message = message.delivery(match args.delivery {
        args::Delivery::AfterWait => Delivery::AfterWait,
        args::Delivery::AfterCreate => Delivery::AfterCreate,
        args::Delivery::All => Delivery::All,
    });
    let receipt = desk.ok(message.wait())?;
    desk.settle()?;
    let told = Told::of(receipt, desk)?;
    desk.tell(
        || told.json(args.name.as_str().into()),
        |out| out.line(format!("message {} {}", out.paint.bold(&args.name), told.text)),
    );
    Ok(Status::Done)
}

/// What became of a message, for people and programs.
struct Told {
    outcome: &'static str,
    text: String,
    instance: Option<InstanceId>,
    wait: Option<Address>,
    business_key: Option<Name>,
    count: Option<u64>,
}

impl Told {
    fn of(receipt: Receipt, desk: &Desk<'_>) -> Result<Self> {
        let (mut wait, mut count) = (None, None);
        let (outcome, mut text, instance) = match receipt {
            Receipt::Received(at) => {
                wait = Some(at);
                ("received", format!("received by {at}"), Some(at.instance))
            }
            Receipt::Shared(all) => {
                count = Some(all);
                let text = format!("received by {all}, and buffered for others until it expires");
                ("shared", text, None)
            }
            Receipt::Started(id) => ("started", format!("started instance {id}"), Some(id)),
            Receipt::Noted => {
                ("noted", "noted; its start event needs other messages as well".to_owned(), None)
            }
            Receipt::Held => ("held", "buffered: nobody waits for it yet".to_owned(), None),
            Receipt::Dropped => {
                let text = "dropped: nobody waits for it, and it is not to be buffered";
                ("dropped", text.to_owned(), None)
            }
            Receipt::Known => (
                "known",
                "already published: a message with this id has come before, and counts once"
                    .to_owned(),
                None,
            ),
        };
        let business_key = match instance {
            Some(instance) => desk.look(instance)?.row.business_id,
            None => None,
        };
        if let Some(key) = &business_key {
            text = format!("{text} ({key})");
        }
        Ok(Self { outcome, text, instance, wait, business_key, count })
    }

    /// What became of a message, and who has it.
    fn json(&self, message: Value) -> Value {
        json::object([
            ("message", message),
            ("outcome", self.outcome.into()),
            ("instance", self.instance.map(|it| json::key(it.0)).into()),
            ("wait", self.wait.map(|it| it.to_string()).into()),
            ("business_key", self.business_key.clone().into()),
            ("count", self.count.into()),
        ])
    }
}

pub(crate) fn replay(args: &args::SeveralLetters, desk: &Desk<'_>) -> Result<Status> {
    let mut all = Vec::new();
    for letter in &args.letters {
        let receipt = desk.ok(desk.engine.replay(*letter).wait())?;
        all.push((*letter, receipt));
    }
    desk.settle()?;
    let all = all.into_iter().map(|(letter, it)| Ok((letter, Told::of(it, desk)?)));
    let all: Vec<(u64, Told)> = all.collect::<Result<_>>()?;
    desk.tell(
        || {
            let replayed = all.iter().map(|(letter, told)| told.json(json::key(*letter)));
            json::object([("replayed", replayed.collect())])
        },
        |out| {
            for (letter, told) in &all {
                out.line(format!("message {} sent again, {}", out.paint.bold(letter), told.text));
            }
        },
    );
    Ok(Status::Done)
}

pub(crate) fn discard(args: &args::SeveralLetters, desk: &Desk<'_>) -> Result<Status> {
    for letter in &args.letters {
        desk.ok(desk.engine.discard(*letter).wait())?;
    }
    desk.settle()?;
    desk.tell(
        || {
            let letters = args.letters.iter().map(|it| json::key(*it));
            json::object([("discarded", letters.collect())])
        },
        |out| {
            for letter in &args.letters {
                out.line(format!("message {} dropped", out.paint.bold(letter)));
            }
        },
    );
    Ok(Status::Done)
}

pub(crate) fn signal(args: &args::Signal, desk: &Desk<'_>) -> Result<Status> {
    let variables = args.variables.given()?;
    let heard = desk.ok(desk.engine.signal(&args.name, variables).wait())?;
    desk.settle()?;
    desk.tell(
        || {
            json::object([
                ("signal", args.name.as_str().into()),
                ("outcome", "sent".into()),
                ("received", heard.received.into()),
                ("started", heard.started.into()),
            ])
        },
        |out| {
            let mut told = Vec::new();
            if heard.received > 0 {
                told.push(format!("received by {}", heard.received));
            }
            if heard.started > 0 {
                told.push(format!("started {}", grid::count(heard.started, "instance")));
            }
            let told = if told.is_empty() {
                "nobody waits for it, and it is not buffered".to_owned()
            } else {
                told.join(", ")
            };
            out.line(format!("signal {} sent: {told}", out.paint.bold(&args.name)));
        },
    );
    Ok(Status::Done)
}

pub(crate) fn set(args: &args::Set, desk: &Desk<'_>) -> Result<Status> {
    let variables = args.variables.given()?;
    if variables.is_empty() {
        bail!("there is nothing to set; write --var NAME=VALUE");
    }
    let (instance, token) = (desk.instance(&args.instance)?, args.token.map(TokenId));
    desk.ok(desk.engine.set_variables(instance, token, variables).wait())?;
    tell(instance, desk)?;
    Ok(Status::Done)
}

pub(crate) fn move_timer(timer: Address, to: &str, desk: &Desk<'_>) -> Result<Status> {
    let due = match (clock::date(to), words::span(to)) {
        (Ok(due), _) => due,
        (Err(_), Ok(span)) => desk.now().after(span),
        (Err(_), Err(_)) => bail!(
            "neither a point in time nor a time from now: {to}; write it like \
             2026-02-01T09:00:00Z or PT2H"
        ),
    };
    desk.ok(desk.engine.move_timer(timer, due).wait())?;
    desk.settle()?;
    let due = due.to_string();
    desk.tell(
        || json::object([("timer", timer.to_string().into()), ("due", due.as_str().into())]),
        |out| out.line(format!("timer {} fires at {due}", out.paint.bold(timer))),
    );
    Ok(Status::Done)
}

pub(crate) fn fire_timer(timer: Address, desk: &Desk<'_>) -> Result<Status> {
    desk.ok(desk.engine.fire_timer(timer).wait())?;
    if timer.instance.0 != 0 {
        tell(timer.instance, desk)?;
        return Ok(Status::Done);
    }
    desk.settle()?;
    desk.tell(
        || json::object([("timer", timer.to_string().into())]),
        |out| out.line(format!("timer {} has fired", out.paint.bold(timer))),
    );
    Ok(Status::Done)
}

pub(crate) fn resolve(args: &args::Resolve, desk: &Desk<'_>) -> Result<Status> {
    let only = desk.instance_of(args.instance.as_ref())?;
    let instances = match only {
        Some(instance) => vec![(instance, desk.look(instance)?.row.state)],
        None => troubled(args.definition.as_deref(), desk)?,
    };
    match (only, args.variables.given()?) {
        (_, none) if none.is_empty() => {}
        (Some(instance), variables) => {
            desk.ok(desk.engine.set_variables(instance, None, variables).wait())?;
        }
        (None, _) => bail!("variables are set in one instance, not in all; name it"),
    }
    // What is tried again must be written before.
    desk.ok(desk.engine.flush_now())?;
    let mut retried = 0;
    for some in instances.chunks(TOGETHER) {
        let asked: Vec<_> = some.iter().map(|(id, state)| retry(*id, *state, args, desk)).collect();
        for asked in asked {
            match asked.wait() {
                Ok(count) => retried += count,
                // Those that stand still for another reason do not keep the others.
                Err(Error::Suspended(_)) if args.all => {}
                Err(error) => return desk.ok(Err(error)),
            }
        }
    }
    desk.settle()?;
    let mut left = Vec::new();
    for (instance, _) in instances {
        let look = desk.look(instance)?;
        if look.row.incidents > 0 || look.row.state == InstanceState::Halted {
            left.push(look);
        }
    }
    if let (0, Some(instance)) = (retried, only) {
        bail!("instance {instance} has no incident");
    }
    desk.tell(
        || {
            let still: Value = left.iter().map(|it| json::key(it.row.id)).collect();
            json::object([("retried", (retried as u64).into()), ("still", still)])
        },
        |out| {
            out.line(format!("{} tried again", grid::count(retried as u64, "incident")));
            for look in &left {
                out.line(format!("{} has one again", out.paint.bold(look.row.id)));
                show::few_reasons(look, desk, out);
            }
        },
    );
    Ok(if left.is_empty() { Status::Done } else { Status::Incident })
}

/// Has an instance try again what went wrong. One that the engine has given up is let go on.
fn retry(
    instance: InstanceId,
    state: InstanceState,
    args: &args::Resolve,
    desk: &Desk<'_>,
) -> Retry {
    if state == InstanceState::Halted {
        // Someone who has changed its variables has had it tried again.
        let released = desk.engine.release(instance);
        Retry::Release(released.or_else(|error| match error {
            Error::NotHalted(_) => Ok(()),
            error => Err(error),
        }))
    } else {
        Retry::Incidents(desk.engine.retry(instance, args.token.map(TokenId)))
    }
}

/// Something that is being tried again.
enum Retry {
    Release(Result<(), Error>),
    Incidents(Pending<usize>),
}

impl Retry {
    /// How much it was.
    fn wait(self) -> Result<usize, Error> {
        match self {
            Self::Release(outcome) => outcome.map(|()| 1),
            Self::Incidents(asked) => asked.wait(),
        }
    }
}

/// The instances that have incidents, or are halted.
fn troubled(definition: Option<&str>, desk: &Desk<'_>) -> Result<Vec<(InstanceId, InstanceState)>> {
    let mut found = BTreeMap::new();
    let kinds = [Filter::HasIncidents(true), Filter::State(vec![InstanceState::Halted])];
    for kind in kinds {
        let mut filters = vec![kind];
        filters.extend(definition.map(|it| Filter::Definition(it.into())));
        let mut after = None;
        loop {
            let query = Query {
                table: Table::Instances,
                filters: filters.clone(),
                descending: false,
                after: after.take(),
                limit: 1_000,
            };
            let page = desk.query(&query)?;
            for row in page.rows {
                let Row::Instance(it) = row else { continue };
                if it.ended.is_none() {
                    found.insert(InstanceId(it.id), it.state);
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Does the same with each of several instances, and tells how it stands with each.
pub(crate) fn each(
    instances: &[Whose],
    desk: &Desk<'_>,
    act: impl Fn(InstanceId) -> Result<(), Error>,
) -> Result<Status> {
    let instances = all(instances, desk)?;
    for instance in &instances {
        desk.ok(act(*instance))?;
    }
    desk.settle()?;
    let mut looks = Vec::new();
    for instance in instances {
        looks.push(desk.look(instance)?);
    }
    desk.tell(
        || {
            let all: Value = looks.iter().map(|it| rows::instance(&it.row)).collect();
            json::object([("instances", all)])
        },
        |out| {
            for it in &looks {
                let title = out.paint.bold(format!("{} {}", it.row.definition, it.row.id));
                out.line(format!("{title}, {}", rows::state_painted(it.row.state, out.paint)));
            }
        },
    );
    Ok(Status::Done)
}

/// The instances that are meant, all of which must be there.
fn all(instances: &[Whose], desk: &Desk<'_>) -> Result<Vec<InstanceId>> {
    instances.iter().map(|it| desk.instance(it)).collect()
}

pub(crate) fn delete(instances: &[Whose], desk: &Desk<'_>) -> Result<Status> {
    let instances = all(instances, desk)?;
    for instance in &instances {
        match desk.engine.delete(*instance) {
            Err(Error::InUse { reason }) => {
                bail!("{reason}; {} ends it", desk.command(&["cancel", &instance.to_string()]))
            }
            other => desk.ok(other)?,
        }
    }
    desk.tell(
        || {
            let all: Value = instances.iter().map(|it| json::key(it.0)).collect();
            json::object([("deleted", all)])
        },
        |out| instances.iter().for_each(|it| out.line(format!("deleted {}", out.paint.bold(it)))),
    );
    Ok(Status::Done)
}
