//! Holds a store against what was said about it.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use travertine_kernel::{Event, WaitFor, WaitId};
use travertine_runtime::{Address, Engine, Error, InstanceId, Message, engine::ManualClock};
use travertine_store::{
    ShardId,
    codec::record::decode_records,
    record::{Created, Letter, Record},
    view::{Filter, InstanceRow, InstanceState, JobState, Query, Row, SubscriptionKind, Table},
};

use super::{
    Ledger, at,
    ledger::{Act, Asked, Fate},
    models, open,
};

/// How long something may go on by itself, before it is said that it never ends.
const PATIENCE: Duration = Duration::from_mins(2);

/// How often everything that waits is seen to, before it is said that something waits forever.
const ROUNDS: i64 = 40;

/// Opens the store and says what is not as it must be.
pub fn check(dir: &Path, ledger: &Ledger) -> Result<Vec<String>, Error> {
    let clock = Arc::new(ManualClock::new(at(ledger.time)));
    let engine = open(dir, &clock)?;
    let mut wrong = ledger.wrong.clone();
    compare(&engine, ledger, &mut wrong)?;
    engine.shutdown()?;
    Ok(wrong)
}

/// Sees to everything until all instances have ended as they must, and says what is not as it must be.
pub fn settle(dir: &Path, ledger: &mut Ledger) -> Result<Vec<String>, Error> {
    let clock = Arc::new(ManualClock::new(at(ledger.time)));
    let engine = open(dir, &clock)?;
    let mut wrong = ledger.wrong.clone();
    compare(&engine, ledger, &mut wrong)?;
    stop_hostile(&engine)?;
    let mut left = Vec::new();
    for _ in 0..ROUNDS {
        ledger.time += 10_000;
        clock.set(at(ledger.time));
        engine.wake();
        quiet(&engine)?;
        left = running(&engine)?;
        if left.is_empty() {
            break;
        }
        help(&engine, &left)?;
    }
    for row in left {
        let why = engine.why(InstanceId(row.id)).wait()?;
        wrong.push(format!("{} {} never ends: {:?} {why:?}", row.definition, row.id, row.state));
    }
    compare(&engine, ledger, &mut wrong)?;
    endings(&engine, ledger, &mut wrong)?;
    engine.shutdown()?;
    Ok(wrong)
}

/// Waits until nothing moves any more.
fn quiet(engine: &Engine) -> Result<(), Error> {
    if engine.settle(PATIENCE)? {
        return Ok(());
    }
    Err(Error::Failed { reason: "it never comes to rest".to_owned() })
}

fn running(engine: &Engine) -> Result<Vec<InstanceRow>, Error> {
    let states = vec![InstanceState::Running, InstanceState::Suspended, InstanceState::Halted];
    let rows = rows(engine, Table::Instances, &[Filter::State(states)])?;
    Ok(rows
        .into_iter()
        .filter_map(|it| if let Row::Instance(row) = it { Some(row) } else { None })
        .collect())
}

fn is_hostile(row: &InstanceRow) -> bool {
    models::HOSTILE.contains(&&*row.definition)
}

/// Ends what would never end by itself.
fn stop_hostile(engine: &Engine) -> Result<(), Error> {
    for row in running(engine)?.iter().filter(|it| is_hostile(it)) {
        engine.cancel(InstanceId(row.id)).wait()?;
    }
    Ok(())
}

/// Does what everybody waits for.
fn help(engine: &Engine, left: &[InstanceRow]) -> Result<(), Error> {
    for row in left.iter().filter(|it| it.state == InstanceState::Suspended) {
        engine.resume(InstanceId(row.id)).wait()?;
    }
    for row in left.iter().filter(|it| it.incidents > 0) {
        engine.retry(InstanceId(row.id), None).wait()?;
    }
    for job_type in ["work", "first", "second"] {
        let second = Duration::from_secs(1);
        for job in super::load::block_on(engine.activate(job_type, "helper", 10_000, second, &[]))?
        {
            engine.complete(job.job, Vec::new()).wait()?;
        }
    }
    for row in rows(engine, Table::Tasks, &[])? {
        let key = row.key();
        let task = Address { instance: InstanceId(key.instance), wait: WaitId(key.number) };
        engine.complete(task, Vec::new()).wait()?;
    }
    engine.signal("go", Vec::new()).wait()?;
    for row in rows(engine, Table::Subscriptions, &[Filter::Kind(SubscriptionKind::Message)])? {
        let Some(instance) = engine.store().instance(InstanceId(row.key().instance))? else {
            continue;
        };
        let Some(key) = instance.business_id else { continue };
        let correlation = vec![("key".into(), key.into())];
        engine.publish(Message { correlation, ..Message::new("paid") }).wait()?;
    }
    Ok(())
}

fn rows(engine: &Engine, table: Table, filters: &[Filter]) -> Result<Vec<Row>, Error> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let filters = filters.to_vec();
        let query = Query { table, filters, descending: false, after, limit: 1_000 };
        let page = engine.query_now(&query)?;
        all.extend(page.rows);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// What the log says.
#[derive(Debug, Default)]
struct Told {
    /// How instances came to be.
    created: BTreeMap<u64, Created>,
    /// How often the variable of an act was set, by its number and the instance.
    marks: BTreeMap<u64, BTreeMap<u64, u32>>,
    /// How often the second job of an instance was asked for.
    seconds: BTreeMap<u64, u32>,
    /// Messages that instances will hear when they can, by what their senders call them.
    deferred: BTreeMap<u64, Vec<String>>,
    ended: BTreeMap<u64, u32>,
    wrong: Vec<String>,
}

impl Told {
    fn read(engine: &Engine) -> Result<Self, Error> {
        let mut told = Self::default();
        for shard in (0..engine.store().shards()).map(ShardId) {
            let mut after = 0;
            loop {
                let entries = engine.store().entries(shard, after, 1_000)?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in entries {
                    match decode_records(&entry.body) {
                        Ok(records) => {
                            for it in &records {
                                told.hear(entry.instance.0, it);
                            }
                        }
                        Err(error) => told.wrong.push(format!("entry {}: {error}", entry.seq)),
                    }
                }
            }
        }
        Ok(told)
    }

    fn hear(&mut self, instance: u64, record: &Record) {
        if let Record::Created(created) = record {
            if self.created.insert(instance, created.clone()).is_some() {
                self.wrong.push(format!("{instance} was made twice"));
            }
        } else if let Record::Happened(events) = record {
            for event in events {
                self.event(instance, event);
            }
        } else if let Record::Folded(folded) = record {
            self.created.insert(instance, folded.created.clone());
            self.ended.insert(instance, 1);
            folded.variables.iter().for_each(|(name, _)| self.mark(instance, name));
        } else if let Record::Deferred(Letter::Deliver { message, .. }) = record {
            let id = message.id.as_deref().unwrap_or_default().to_owned();
            self.deferred.entry(instance).or_default().push(id);
        } else if matches!(record, Record::Recalled) {
            self.deferred.remove(&instance);
        }
    }

    fn event(&mut self, instance: u64, event: &Event) {
        if self.ended.contains_key(&instance) {
            self.wrong.push(format!("{instance} goes on after its end: {event:?}"));
        }
        if let Event::VariableSet { name, .. } = event {
            self.mark(instance, name);
        } else if let Event::WaitOpened { on, .. } = event
            && let WaitFor::Work(job) = &**on
            && &*job.job_type == "second"
        {
            *self.seconds.entry(instance).or_default() += 1;
        } else if let Event::Finished { .. } = event {
            *self.ended.entry(instance).or_default() += 1;
            // What it could not hear before its end went to others.
            self.deferred.remove(&instance);
        }
    }

    fn mark(&mut self, instance: u64, name: &str) {
        if let Some(number) = name.strip_prefix('x').and_then(|it| it.parse().ok()) {
            *self.marks.entry(number).or_default().entry(instance).or_default() += 1;
        }
    }

    /// How often an act was done: there where it was asked for, as callers see the variables of what
    /// they have called.
    fn done(&self, number: u64, act: &Act) -> u32 {
        let Some(marks) = self.marks.get(&number) else { return 0 };
        match act.instance() {
            Some(instance) => marks.get(&instance).copied().unwrap_or(0),
            None => marks.values().sum(),
        }
    }
}

fn compare(engine: &Engine, ledger: &Ledger, wrong: &mut Vec<String>) -> Result<(), Error> {
    quiet(engine)?;
    let verified = engine.verify()?;
    wrong.extend(verified.differences.iter().map(ToString::to_string));
    let told = Told::read(engine)?;
    wrong.extend(told.wrong.iter().cloned());
    for (number, asked) in &ledger.asked {
        act(engine, ledger, &told, *number, asked, wrong)?;
    }
    once(ledger, &told, wrong);
    messages(engine, ledger, &told, wrong)?;
    states(engine, ledger, wrong)?;
    jobs(engine, ledger, wrong)
}

/// What was acknowledged is there, once; what was refused is not.
fn act(
    engine: &Engine,
    ledger: &Ledger,
    told: &Told,
    number: u64,
    asked: &Asked,
    wrong: &mut Vec<String>,
) -> Result<(), Error> {
    let marks = told.done(number, &asked.act);
    let mut say = |what: String| wrong.push(format!("{number} {}: {what}", asked.act));
    match (&asked.act, &asked.fate) {
        (Act::Signal, _) => {
            let each = told.marks.get(&number).into_iter().flat_map(BTreeMap::values);
            if each.into_iter().any(|it| *it > 1) {
                say("one instance has heard it twice".to_owned());
            }
        }
        (Act::Start(..), Fate::Done(answer)) => {
            let (instance, how) = answer.split_once(' ').unwrap_or_default();
            let instance: u64 = instance.parse().unwrap_or(0);
            let wanted = u32::from(how == "new");
            if !ledger.may_be_gone(instance) {
                if marks != wanted {
                    say(format!("acknowledged as {answer}, started {marks} times"));
                }
                if !told.created.contains_key(&instance) {
                    say(format!("acknowledged as {answer}, and not there"));
                }
            }
        }
        (Act::Complete(_) | Act::Set(_), Fate::Done(_)) => {
            let gone = asked.act.instance().is_some_and(|it| ledger.may_be_gone(it));
            if marks != 1 && !gone {
                say(format!("acknowledged, done {marks} times"));
            }
        }
        (Act::Deploy, Fate::Done(version)) => {
            let version: u32 = version.parse().unwrap_or(0);
            let removed = ledger.asked.values().any(|it| it.act == Act::Undeploy(version));
            let definitions = engine.definitions();
            let there = definitions.versions("spare").iter().any(|it| it.version == version);
            if !there && !removed {
                say(format!("version {version} is not there"));
            }
        }
        (Act::Undeploy(version), Fate::Done(_))
            if engine.definitions().versions("spare").iter().any(|it| it.version == *version) =>
        {
            say("it is still there".to_owned());
        }
        (Act::Cancel(instance), Fate::Done(_)) => {
            let row = engine.store().instance(InstanceId(*instance))?;
            let gone = row.is_none() && ledger.may_be_gone(*instance);
            if !gone && row.is_none_or(|it| it.state != InstanceState::Cancelled) {
                say("it was not".to_owned());
            }
        }
        (Act::Delete(instance), Fate::Done(_))
            if engine.store().instance(InstanceId(*instance))?.is_some() =>
        {
            say("it is still there".to_owned());
        }
        (_, Fate::Open) if marks > 1 => say(format!("done {marks} times")),
        (_, Fate::Refused) if marks > 0 => say(format!("refused, and done {marks} times")),
        _ => {}
    }
    Ok(())
}

/// What must be true of the log alone.
fn once(ledger: &Ledger, told: &Told, wrong: &mut Vec<String>) {
    let mut names: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut callers: BTreeMap<Address, Vec<u64>> = BTreeMap::new();
    for (instance, created) in &told.created {
        if let Some(name) = &created.business_id {
            names.entry(name).or_default().push(*instance);
        }
        if let Some(caller) = created.caller {
            callers.entry(caller).or_default().push(*instance);
        }
    }
    for (caller, called) in callers.iter().filter(|(_, it)| it.len() > 1) {
        wrong.push(format!("the call {caller} has started {called:?}"));
    }
    let mut known: BTreeMap<&str, u64> = BTreeMap::new();
    for asked in ledger.asked.values() {
        let (Act::Start(_, Some(id)), Fate::Done(answer)) = (&asked.act, &asked.fate) else {
            continue;
        };
        let instance = answer.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
        let before = known.insert(id, instance);
        let reused = before.is_some_and(|it| it != instance && !ledger.may_be_gone(it));
        if reused {
            wrong.push(format!("{id} is {before:?} and {instance}"));
        }
    }
    for (name, instances) in names.iter().filter(|(_, it)| it.len() > 1) {
        wrong.push(format!("{name} is {instances:?}"));
    }
    for (instance, count) in told.seconds.iter().filter(|(_, it)| **it > 1) {
        wrong.push(format!("{instance} had its second job {count} times"));
    }
    for (instance, count) in told.ended.iter().filter(|(_, it)| **it > 1) {
        wrong.push(format!("{instance} has ended {count} times"));
    }
    let mut completed: BTreeMap<Address, u32> = BTreeMap::new();
    for (number, asked) in &ledger.asked {
        if let Act::Complete(at) = asked.act {
            let acknowledged = u32::from(matches!(asked.fate, Fate::Done(_)));
            *completed.entry(at).or_default() += acknowledged.max(told.done(*number, &asked.act));
        }
    }
    for (at, count) in completed.iter().filter(|(_, it)| **it > 1) {
        wrong.push(format!("{at} was completed {count} times"));
    }
}

/// A message is received by one, or kept.
fn messages(
    engine: &Engine,
    ledger: &Ledger,
    told: &Told,
    wrong: &mut Vec<String>,
) -> Result<(), Error> {
    let mut there: BTreeMap<String, u32> = BTreeMap::new();
    for row in rows(engine, Table::Messages, &[])? {
        if let Row::Message(row) = row {
            *there.entry(row.message_id.unwrap_or_else(|| "".into()).to_string()).or_default() += 1;
        }
    }
    for id in told.deferred.values().flatten() {
        *there.entry(id.clone()).or_default() += 1;
    }
    let mut sent: BTreeMap<&str, (bool, u32)> = BTreeMap::new();
    let mut accepted: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, asked) in &ledger.asked {
        if let Act::Publish(_, id) = &asked.act {
            let it = sent.entry(id).or_default();
            it.0 |= matches!(asked.fate, Fate::Done(_));
            let new = matches!(&asked.fate, Fate::Done(answer) if answer != "known");
            *accepted.entry(id).or_default() += u32::from(new);
            it.1 += told.done(*number, &asked.act);
        }
    }
    for (id, count) in accepted.iter().filter(|(_, it)| **it > 1) {
        wrong.push(format!("message {id} was accepted {count} times"));
    }
    for (id, (acknowledged, received)) in sent {
        let kept = there.get(id).copied().unwrap_or(0);
        let all = kept + received;
        if all > 1 || (acknowledged && all == 0) {
            wrong.push(format!("message {id}: received {received} times, kept {kept} times"));
        }
    }
    Ok(())
}

/// What has ended stays ended, what stands still stands still.
fn states(engine: &Engine, ledger: &Ledger, wrong: &mut Vec<String>) -> Result<(), Error> {
    for (instance, how) in &ledger.ended {
        let row = engine.store().instance(InstanceId(*instance))?;
        let gone = row.is_none() && ledger.may_be_gone(*instance);
        let state = row.map(|it| format!("{:?}", it.state));
        if state.as_ref() != Some(how) && !gone {
            wrong.push(format!("{instance} had ended as {how}, and is {state:?}"));
        }
    }
    for row in rows(engine, Table::Instances, &[])? {
        let Row::Instance(row) = row else { continue };
        if row.state == InstanceState::Halted {
            wrong.push(format!("{} is halted: {:?}", row.id, row.reason));
        }
        let switch = |it: &&Asked| matches!(it.act, Act::Suspend(_) | Act::Resume(_));
        let switches: Vec<&Asked> = ledger.about(row.id).filter(switch).collect();
        let done = |it: &&&Asked| matches!(it.fate, Fate::Done(_));
        let Some(last) = switches.iter().rev().find(done) else { continue };
        let others = switches.iter().filter(|it| it.lines != last.lines);
        let clear = others.clone().all(|it| {
            it.lines.1 < last.lines.0 || (it.fate == Fate::Refused && it.lines.0 > last.lines.1)
        });
        let suspended = matches!(last.act, Act::Suspend(_));
        let stands = row.state == InstanceState::Suspended;
        if clear && row.ended.is_none() && suspended != stands {
            wrong.push(format!("{} after {}: {:?}", row.id, last.act, row.state));
        }
    }
    Ok(())
}

/// Whoever has a job or a task still has it.
fn jobs(engine: &Engine, ledger: &Ledger, wrong: &mut Vec<String>) -> Result<(), Error> {
    for row in rows(engine, Table::Jobs, &[])? {
        let Row::Job(row) = row else { continue };
        let job = Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) };
        let Some(until) = ledger.leases.get(&job) else { continue };
        let again = |it: &Asked| matches!(it.act, Act::Fail(_) | Act::Retry(_));
        if *until > ledger.time && !ledger.about(row.instance).any(again) {
            let found = (row.state, row.until);
            // Whoever was given it later has not said so.
            let leased = row.state == JobState::Leased && row.until >= Some(at(*until));
            if !leased {
                wrong.push(format!("job {job} is with a worker until {until}, found {found:?}"));
            }
        }
    }
    let mut claims: BTreeMap<Address, &str> = BTreeMap::new();
    for asked in ledger.asked.values() {
        if let (Act::Claim(task, who), Fate::Done(_)) = (&asked.act, &asked.fate)
            && let Some(other) = claims.insert(*task, who)
            && other != who
        {
            wrong.push(format!("task {task} was claimed by {other} and {who}"));
        }
    }
    for row in rows(engine, Table::Tasks, &[])? {
        let Row::Task(row) = row else { continue };
        let task = Address { instance: InstanceId(row.instance), wait: WaitId(row.wait) };
        if let Some(who) = claims.get(&task)
            && row.assignee.as_deref() != Some(*who)
        {
            wrong.push(format!("task {task} of {who} is with {:?}", row.assignee));
        }
    }
    Ok(())
}

/// When all is done: what was not cancelled is complete, with all that it called.
fn endings(engine: &Engine, ledger: &Ledger, wrong: &mut Vec<String>) -> Result<(), Error> {
    let mut children: BTreeMap<u64, u32> = BTreeMap::new();
    let all = rows(engine, Table::Instances, &[])?;
    for row in &all {
        if let Row::Instance(row) = row
            && let Some((caller, _)) = row.parent
        {
            *children.entry(caller).or_default() += 1;
        }
    }
    for row in &all {
        let Row::Instance(row) = row else { continue };
        let cancelled = ledger.about(row.root).any(|it| matches!(it.act, Act::Cancel(_)));
        let completed = row.state == InstanceState::Completed;
        let called_off = (cancelled || is_hostile(row)) && row.state == InstanceState::Cancelled;
        if !completed && !called_off {
            wrong.push(format!("{} {} has ended as {:?}", row.definition, row.id, row.state));
        }
        let wanted = match &*row.definition {
            "call" => 1,
            "many" => 3,
            _ => continue,
        };
        let found = children.get(&row.id).copied().unwrap_or(0);
        if completed && found != wanted {
            wrong.push(format!("{} {} has called {found}", row.definition, row.id));
        }
    }
    Ok(())
}
