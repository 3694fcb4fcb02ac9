//! Holds a store against what was answered.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use travertine_kernel::{Event, JournalEntry};
use travertine_runtime::{
    Engine, Error, InstanceId, Timestamp, engine::ManualClock, request::Kind,
};
use travertine_store::{
    ShardId,
    codec::record::decode_records,
    record::{Edit, Record},
};

use super::{
    super::at,
    ledger::{Asked, Fate, Ledger, Trace},
    load::number,
    models, open,
};

/// How long something may go on by itself, before it is said that it never ends.
const PATIENCE: Duration = Duration::from_mins(2);

/// Opens the store at this time and says what is not as it was answered.
pub fn check(dir: &Path, now: u64, ledger: &Ledger) -> Result<Vec<String>, Error> {
    let now = i64::try_from(now).expect("it is small");
    let engine = open(dir, &Arc::new(ManualClock::new(at(now))))?;
    let mut wrong = ledger.wrong.clone();
    if !engine.settle(PATIENCE)? {
        wrong.push("it never comes to rest".to_owned());
    }
    engine.flush_now()?;
    let found = Found::read(&engine)?;
    // How often each was done, and how often it may have been besides.
    let mut wanted: BTreeMap<Trace, (u32, u32)> = BTreeMap::new();
    for asked in ledger.asked.values() {
        let (done, maybe) = wanted.entry(asked.trace()).or_default();
        match asked.fate {
            Fate::Done => *done += 1,
            Fate::Unknown => *maybe += 1,
            Fate::NotDone => {}
        }
    }
    let gone = gone(ledger);
    for (trace, (done, maybe)) in wanted {
        let count = found.count(&engine, trace)?;
        let most = done + maybe;
        let least = if gone.contains(&trace) { 0 } else { done };
        if count < least || count > most {
            let (kind, instance, mark) = trace;
            wrong.push(format!(
                "{} of {instance} by {mark}: done {least} to {most} times, found {count} times",
                kind.name()
            ));
        }
    }
    engine.shutdown()?;
    Ok(wrong)
}

/// What may be found no more although it was done, because somebody has wanted that to be forgotten, or removed.
fn gone(ledger: &Ledger) -> BTreeSet<Trace> {
    let mut forgotten = BTreeSet::new();
    let mut gone = BTreeSet::new();
    for it in ledger.asked.values().filter(|it| it.fate != Fate::NotDone) {
        if it.kind == Kind::Retire {
            forgotten.insert(it.instance);
        } else if it.kind == Kind::Expect {
            gone.insert((Kind::Adopt, 0, it.mark));
        }
    }
    let is_forgotten = |it: &&Asked| it.answer.is_some_and(|it| forgotten.contains(&it));
    gone.extend(ledger.asked.values().filter(is_forgotten).map(Asked::trace));
    gone
}

/// What the logs say.
#[derive(Debug, Default)]
struct Found {
    /// In which instances the variable of an ask was set, and how often.
    marks: BTreeMap<u64, BTreeMap<u64, u32>>,
    /// What else was done.
    done: BTreeMap<Trace, u32>,
}

impl Found {
    fn read(engine: &Engine) -> Result<Self, Error> {
        let mut found = Self::default();
        for shard in (0..engine.store().shards()).map(ShardId) {
            let mut after = 0;
            loop {
                let entries = engine.store().entries(shard, after, 1_000)?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in entries {
                    let records = decode_records(&entry.body);
                    let records = records.map_err(|error| Error::Failed {
                        reason: format!("entry {} of shard {shard}: {error}", entry.seq),
                    })?;
                    for record in &records {
                        found.hear(entry.instance.0, record);
                    }
                }
            }
        }
        Ok(found)
    }

    fn note(&mut self, kind: Kind, instance: u64, mark: u64) {
        *self.done.entry((kind, instance, mark)).or_default() += 1;
    }

    fn hear(&mut self, instance: u64, record: &Record) {
        match record {
            Record::Happened(events) => {
                for event in events {
                    self.event(instance, event);
                }
            }
            Record::Suspended => self.note(Kind::Suspend, instance, 0),
            Record::Resumed => self.note(Kind::Resume, instance, 0),
            Record::Released => self.note(Kind::ReleaseHalted, instance, 0),
            Record::Migrated { .. } => self.note(Kind::Migrate, instance, 0),
            Record::Paused { until, .. } if *until == Timestamp::default() => {
                self.note(Kind::HandBack, instance, 0);
            }
            Record::Leased { worker, .. } => {
                let worker = number(worker);
                if self.done.contains_key(&(Kind::LeaseAll, 0, worker)) {
                    self.note(Kind::Extend, instance, worker);
                } else {
                    self.note(Kind::LeaseAll, 0, worker);
                }
            }
            Record::TaskChanged { change, .. } => {
                if let Edit::Set(assignee) = &change.assignee {
                    self.note(Kind::ClaimTask, instance, number(assignee));
                }
                if let Edit::Set(due) = &change.due {
                    self.note(Kind::ChangeTask, instance, due.as_millis().unsigned_abs());
                }
            }
            Record::TimerMoved { due, .. } => {
                self.note(Kind::MoveTimer, instance, due.as_millis().unsigned_abs());
            }
            Record::Gone { message } => {
                self.note(Kind::Replay, 0, *message);
                self.note(Kind::Discard, 0, *message);
            }
            _ => {}
        }
    }

    fn event(&mut self, instance: u64, event: &Event) {
        match event {
            Event::VariableSet { name, .. } => {
                *self.marks.entry(number(name)).or_default().entry(instance).or_default() += 1;
            }
            Event::RetriesSet { retries, .. } => {
                self.note(Kind::UpdateJob, instance, u64::from(*retries));
            }
            Event::WorkFailed { message, .. } => {
                self.note(Kind::Fail, instance, number(message));
            }
            Event::IncidentResolved { .. } => {
                self.note(Kind::Retry, instance, 0);
                self.note(Kind::Resolve, instance, 0);
            }
            Event::Journaled { entry } => match &**entry {
                JournalEntry::Cancelled { .. } => self.note(Kind::CancelRun, instance, 0),
                JournalEntry::Updated { input, .. } => {
                    let input = input.as_i64().and_then(|it| u64::try_from(it).ok());
                    self.note(Kind::UpdateFunction, instance, input.unwrap_or(0));
                }
                _ => {}
            },
            Event::Finished { .. } => self.note(Kind::FireTimer, instance, 0),
            _ => {}
        }
    }

    /// How often something was done.
    fn count(&self, engine: &Engine, trace: Trace) -> Result<u32, Error> {
        let (kind, instance, mark) = trace;
        Ok(match kind {
            Kind::Retire => u32::from(engine.store().instance(InstanceId(instance))?.is_none()),
            Kind::Adopt => u32::from(engine.definitions().find(&models::spare(mark)).is_some()),
            Kind::Expect => u32::from(engine.definitions().find(&models::spare(mark)).is_none()),
            Kind::Start
            | Kind::Command
            | Kind::Set
            | Kind::TryPublish
            | Kind::FinishPublish
            | Kind::Signal
            | Kind::EvaluateConditions
            | Kind::Complete
            | Kind::CompleteWork
            | Kind::ThrowError => {
                let of = |(it, count): (&u64, &u32)| {
                    (instance == 0 || *it == instance).then_some(*count)
                };
                let marks = self.marks.get(&mark);
                // A signal is for all who wait.
                marks.and_then(|it| it.iter().filter_map(of).max()).unwrap_or(0)
            }
            _ => self.done.get(&trace).copied().unwrap_or(0),
        })
    }
}
