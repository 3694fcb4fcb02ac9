//! What operators ask of an instance.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use travertine_kernel::{
    Answer, Assignments, Command, Ending, Event, Mapping, Migration, Phase, Reach, Rejection,
    TokenId, WaitFor, WaitId, dry_run_with, migrate_with,
};
use travertine_store::{
    Entry, Error as StoreError, Fold, Seq,
    codec::record::encode_records,
    record::{Created, Folded, Letter, Record},
    view::{Change, Filter, InstanceRow, Query, Row, Table},
};
use travertine_value::{Name, interrupt::Interrupted};

use super::{
    Ended, Shard, Watcher,
    checkpoint::failed_work,
    guard::{panic_text, step},
    live::Live,
};
use crate::{Address, DefinitionKey, Error, InstanceId, Timestamp};

impl Shard {
    /// Has an instance handle a command, unless it is suspended.
    pub(super) fn command(&mut self, instance: InstanceId, command: Command) -> Result<(), Error> {
        self.with(instance, |shard, live| shard.command_live(live, command))
    }

    /// Sets variables of an instance, or from one of its element instances on; 0 is the process.
    pub(super) fn set(
        &mut self,
        instance: InstanceId,
        visit: u64,
        variables: Assignments,
        reach: Reach,
    ) -> Result<(), Error> {
        self.with(instance, |shard, live| {
            if live.has_ended() {
                return Err(Rejection::Ended.into());
            }
            let token = live.state.token_on(visit);
            if token.is_none() && live.damage.is_none() && !live.torn {
                return Err(Error::NoSuchVisit { instance, visit });
            }
            shard.command_live(live, Command::Set { token, variables, reach })
        })
    }

    fn command_live(&mut self, live: &mut Live, command: Command) -> Result<(), Error> {
        // An operator may end or repair what is suspended.
        if command == Command::Cancel {
            return self.cancel_live(live);
        }
        if let Command::Set { .. } | Command::Modify { .. } = command
            && live.is_sound()
        {
            return self.repair_halted(live, command);
        }
        if !matches!(command, Command::Set { .. }) {
            live.ready()?;
        } else if live.state.journal.is_some() {
            // Its journal follows from what it was begun with.
            return Err(Rejection::NotAProcess.into());
        }
        self.turn(live, command)
    }

    /// Ends an instance. One that is suspended goes on where it has something to clear up first: nobody would
    /// resume what is to end.
    /// One that is halted ends as it is: neither the kernel nor its code is asked, whichever of them failed.
    pub(super) fn cancel_live(&mut self, live: &mut Live) -> Result<(), Error> {
        if live.halted.is_some() {
            return self.end_halted(live);
        }
        self.turn(live, Command::Cancel)?;
        self.resume_live_to_end(live);
        Ok(())
    }

    /// Ends an instance that is halted, by a record and nothing else.
    fn end_halted(&mut self, live: &mut Live) -> Result<(), Error> {
        let id = live.id;
        let waits: BTreeSet<WaitId> = live
            .work
            .keys()
            .chain(live.calls.keys())
            .chain(live.subscribed.keys())
            .copied()
            .collect();
        let folded = folded(live, Ending::Cancelled);
        let answers = answers(live);
        for wait in waits {
            self.disarm(live, wait);
        }
        self.forget_indexed(id);
        if live.damage.is_some() || live.torn {
            self.cancel_called(id)?;
        }
        let at = self.now;
        let deferred = std::mem::take(&mut live.deferred);
        live.end_by(at, &folded);
        let mut records = vec![Record::Ended(Box::new(folded))];
        if !answers.is_empty() {
            live.replay(at, &answers, None);
            records.push(Record::Happened(answers));
        }
        self.append(live, &records);
        for letter in deferred {
            self.give_back(letter);
        }
        self.finish(live);
        Ok(())
    }

    /// Ends what an instance has called whose own state does not tell.
    fn cancel_called(&mut self, id: InstanceId) -> Result<(), Error> {
        let mut query = Query {
            table: Table::Instances,
            filters: vec![Filter::Parent(id.0)],
            descending: false,
            after: None,
            limit: 1_000,
        };
        loop {
            let page = self.env.store.query(&query)?;
            for row in page.rows {
                if let Row::Instance(it) = row
                    && it.ended.is_none()
                {
                    self.send(
                        self.shard_of(InstanceId(it.id)),
                        Letter::Cancel { instance: InstanceId(it.id) },
                    );
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Has an operator change an instance that is halted, which is then tried again.
    fn repair_halted(&mut self, live: &mut Live, command: Command) -> Result<(), Error> {
        let reason = live.halted.take();
        let turned = self.turn_with(live, command, vec![Record::Released]);
        if turned.is_err() {
            live.halted = live.halted.take().or(reason);
            return turned;
        }
        if !live.has_ended() {
            self.restore(live);
            self.awake(live);
        }
        Ok(())
    }

    /// Lets an instance that is to end go on, where it is suspended.
    fn resume_live_to_end(&mut self, live: &mut Live) {
        if live.suspended && !live.has_ended() && live.halted.is_none() {
            self.resume_live(live);
        }
    }

    /// Lets a function that was asked to end go on, where it is suspended.
    pub(crate) fn resume_to_end(&mut self, instance: InstanceId) {
        self.with_any(instance, Self::resume_live_to_end);
    }

    /// Whether an instance is halted.
    pub(crate) fn is_halted(&mut self, instance: InstanceId) -> Result<bool, Error> {
        self.live(instance).map(|it| it.halted.is_some())
    }

    /// What a token waits for has happened: work is done, a decision is made.
    pub(super) fn complete(&mut self, to: Address, variables: Assignments) -> Result<(), Error> {
        self.command(to.instance, Command::Complete { wait: to.wait, variables })
    }

    /// Has an instance stand still until it is resumed. What comes meanwhile is kept for it.
    pub(super) fn suspend(&mut self, instance: InstanceId) -> Result<(), Error> {
        self.with(instance, |shard, live| {
            // One that is halted stands still anyway, and still does when it is tried again.
            if live.halted.is_none() || live.suspended {
                live.ready()?;
            }
            shard.withdraw_all(live);
            shard.learn(live, &[Record::Suspended]);
            Ok(())
        })
    }

    /// Lets a suspended instance go on.
    pub(super) fn resume(&mut self, instance: InstanceId) -> Result<(), Error> {
        self.with(instance, |shard, live| {
            if !live.suspended {
                return Err(Error::NotSuspended(instance));
            }
            shard.resume_live(live);
            Ok(())
        })
    }

    fn resume_live(&mut self, live: &mut Live) {
        self.learn(live, &[Record::Resumed]);
        self.awake(live);
    }

    /// Lets an instance on which the engine failed be tried again, as the log says it was before.
    pub(super) fn release_halted(&mut self, instance: InstanceId) -> Result<(), Error> {
        let id = instance;
        let live = self.live(id)?;
        if live.halted.is_none() {
            return Err(Error::NotHalted(instance));
        }
        if live.touched.any || live.last > self.views.stored {
            return Err(Error::Busy {
                reason: format!("instance {id} is being written; try again"),
            });
        }
        self.instances.take(id);
        self.with(id, |shard, live| {
            if let Some(error) = live.damage.clone() {
                return Err(error);
            }
            shard.learn(live, &[Record::Released]);
            shard.restore(live);
            shard.awake(live);
            Ok(())
        })
    }

    /// Makes rows and timers of an instance again. While it was halted, none were written.
    pub(super) fn restore(&mut self, live: &mut Live) {
        live.touch_all();
        // Its snapshot goes with the rows.
        live.tail += std::mem::take(&mut live.snapshot_size);
        live.snapshot = 0;
        self.set_timers(live);
        self.views.rows.push(Change::Clear(live.id.0));
    }

    fn set_timers(&mut self, live: &Live) {
        for (wait, due) in live.timers() {
            self.set_timer(live.id, wait, due);
        }
    }

    /// An instance that stood still goes on.
    fn awake(&mut self, live: &mut Live) {
        if live.suspended || live.halted.is_some() {
            return;
        }
        if live.state.has_work() {
            self.agenda.unfinished.push_back(live.id);
        }
        self.set_timers(live);
        self.offer_all(live);
        self.recall(live);
    }

    /// Has a timer ring at another time.
    pub(super) fn move_timer(&mut self, timer: Address, due: Timestamp) -> Result<(), Error> {
        let wait = timer.wait;
        self.with(timer.instance, |shard, live| {
            check_timer(live, wait)?;
            shard.learn(live, &[Record::TimerMoved { wait, due }]);
            shard.set_timer(timer.instance, wait, due);
            Ok(())
        })
    }

    /// Has a timer ring now.
    pub(super) fn fire_timer(&mut self, timer: Address) -> Result<(), Error> {
        let wait = timer.wait;
        self.with(timer.instance, |shard, live| {
            check_timer(live, wait)?;
            shard.turn(live, Command::Complete { wait, variables: Vec::new() })
        })
    }

    /// Tries again everything in an instance that ended in an incident. Says how many there were.
    pub(super) fn retry_all(&mut self, instance: InstanceId) -> Result<usize, Error> {
        self.with(instance, |shard, live| {
            live.ready()?;
            let tokens: Vec<TokenId> = live.state.incidents.keys().copied().collect();
            let mut retried = 0;
            for token in tokens {
                match shard.turn(live, Command::Retry { token }) {
                    Ok(()) => retried += 1,
                    // It went away with another one.
                    Err(Error::Rejected(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(retried)
        })
    }

    /// Tries again what one incident is about. A strict caller is refused while its work has no retries.
    pub(super) fn resolve(
        &mut self,
        instance: InstanceId,
        incident: u64,
        strict: bool,
    ) -> Result<(), Error> {
        self.with(instance, |shard, live| {
            live.ready()?;
            let mut all = live.state.incidents.iter();
            let found = all.find(|(_, it)| it.number == incident).map(|(token, _)| *token);
            let token = found.ok_or(Rejection::NoSuchIncident(incident))?;
            let exhausted = |wait: &WaitId| live.job(*wait).is_some_and(|it| it.retries == 0);
            if let Some(wait) = failed_work(live, token).filter(|it| strict && exhausted(it)) {
                return Err(Rejection::Exhausted(wait).into());
            }
            shard.turn(live, Command::Retry { token })
        })
    }

    /// The visit that a wait belongs to, where it is open.
    pub(super) fn find_visit(&mut self, wait: Address) -> Result<Option<u64>, Error> {
        let state = &self.look(wait.instance)?.state;
        Ok(state.waits.get(&wait.wait).and_then(|it| state.visit_of(it.token)))
    }

    /// Tells `watcher` how the instance ended, when it has; or that it stands still, or something that it has
    /// called, where it wants to know.
    pub(crate) fn watch(&mut self, instance: InstanceId, watcher: Watcher) {
        let waits_through = watcher.waits_through;
        let stuck = |live: &Live| live.stuck().filter(|_| !waits_through);
        match self.look(instance).map(|live| ended(live).map(Ok).or_else(|| stuck(live).map(Err))) {
            Ok(Some(known)) => self.reply_to_watcher(watcher, known),
            Err(error) => self.reply_to_watcher(watcher, Err(error)),
            Ok(None) => {
                self.watchers.add(instance, watcher);
                if !waits_through {
                    self.ask_called(instance);
                }
            }
        }
    }

    /// How many wait for instances to end, or have waited lately.
    pub(super) fn watched(&self) -> usize {
        self.watchers.len()
    }
}

/// How an instance ended, where it has.
pub(super) fn ended(live: &Live) -> Option<Ended> {
    let ending: Ending = match &live.state.phase {
        Phase::Ended(ending) => ending.clone(),
        Phase::New | Phase::Running => return None,
    };
    Some(Ended { ending, variables: live.result() })
}

impl Shard {
    /// The row of an instance, as it is now.
    pub(super) fn row(&mut self, instance: InstanceId) -> Result<InstanceRow, Error> {
        self.live(instance).map(|it| super::checkpoint::instance_row(it))
    }

    /// Lets an instance go on by another version of its definition.
    pub(super) fn migrate(
        &mut self,
        instance: InstanceId,
        to: DefinitionKey,
        mapping: &Mapping,
    ) -> Result<(), Error> {
        let new = self.env.runnable(to)?;
        self.with(instance, |shard, live| {
            if let Some(reason) = &live.halted {
                return Err(Error::Halted { instance, reason: reason.clone() });
            }
            if live.has_ended() {
                return Err(Rejection::Ended.into());
            }
            if live.definition.is_function() || new.is_function() {
                shard.check_code(live, &new)?;
                shard.change_code(live, new);
                return Ok(());
            }
            step("migrate");
            let definitions = shard.env.newest();
            let rules = definitions.rules(&new);
            let (old, state) = (&live.definition.plan, &mut live.state);
            let turn = migrate_with(old, &new.plan, &rules, state, shard.now, mapping).map_err(
                |problems| {
                    let problems = problems.iter().map(ToString::to_string).collect();
                    Error::NotMigrated { instance, problems }
                },
            )?;
            live.definition = new;
            live.forget_session();
            shard.happened(live, turn, None, vec![Record::Migrated { definition: to }], None);
            Ok(())
        })
    }

    /// What would happen if an instance went on by another version of its definition.
    pub(super) fn try_migration(
        &mut self,
        instance: InstanceId,
        to: DefinitionKey,
        mapping: &Mapping,
    ) -> Result<Migration, Error> {
        let (new, now) = (self.env.runnable(to)?, self.now);
        let definitions = self.env.newest();
        let live = self.take_out(instance)?;
        // Nothing happens to it, so it need not be halted where this fails.
        let tried = catch_unwind(AssertUnwindSafe(|| {
            if let Some(damage) = &live.damage {
                return Err(damage.clone());
            }
            if live.definition.is_function() || new.is_function() {
                self.check_code(&live, &new)?;
            }
            let rules = definitions.rules(&new);
            let old = &live.definition.plan;
            Ok(dry_run_with(old, &new.plan, &rules, &live.state, now, mapping))
        }));
        self.instances.put(live);
        if let Err(panic) = &tried
            && panic.is::<Interrupted>()
        {
            Interrupted::unwind();
        }
        tried.unwrap_or_else(|panic| Err(Error::Failed { reason: panic_text(&*panic) }))
    }

    /// Forgets an instance that has ended, with that entry, or cannot be read. Says whether it could:
    /// what it has sent may not have arrived yet.
    pub fn retire(&mut self, instance: InstanceId, last: Seq) -> bool {
        match self.live(instance) {
            Ok(live) if live.damage.is_some() => self.forget_indexed(instance),
            Ok(live) if !live.is_over(last) => return false,
            Ok(_) | Err(_) => {}
        }
        // What it has sent may have arrived since someone looked, which is one more entry.
        let last = match self.instances.lives.remove(&instance) {
            Some(live) => last.max(live.last),
            None => match self.row_of(instance) {
                Ok(row) => row.map_or(last, |(it, _)| last.max(it.last)),
                Err(_) => last,
            },
        };
        self.instances.closing.forget(instance);
        self.views.remove(instance);
        self.views.folds.push(Fold { last, entry: None });
        self.views.want();
        true
    }

    /// Forgets rows of what was over too long ago.
    pub(super) fn expire_past(&mut self) {
        for (table, kept) in self.env.settings.history.tables() {
            if let Some(before) = kept.horizon(self.now) {
                self.views.rows.push(Change::Expire(table, before));
                self.views.want();
            }
        }
    }

    /// Keeps of an instance that has ended only how it began and ended, as soon as rows are stored. Says whether there
    /// was more.
    pub fn fold(&mut self, instance: InstanceId, last: Seq) -> Result<bool, Error> {
        let chain = match self.env.store.chain(self.id(), last, 0) {
            // Someone has forgotten it since.
            Err(StoreError::NoSuchEntry { .. }) => return Ok(false),
            other => other?,
        };
        if chain.len() < 2 {
            return Ok(false);
        }
        let live = match self.live(instance) {
            Err(Error::NoSuchInstance(_) | Error::Damaged { .. }) => return Ok(false),
            live => live?,
        };
        if !live.is_over(last) {
            return Ok(false);
        }
        if live.last != last || live.touched.any {
            // What it has sent has arrived since; next time.
            return Ok(false);
        }
        let Some(ended) = ended(live) else { return Ok(false) };
        let folded = folded(live, ended.ending);
        let mut records = vec![Record::Folded(Box::new(folded))];
        records.extend(live.labels.iter().cloned().map(Record::Labelled));
        let answers = answers(live);
        if !answers.is_empty() {
            records.push(Record::Happened(answers));
        }
        let (at, first, last_id) =
            (live.at, live.created.definition, Name::clone(&live.definition.id));
        if let Some(first) = self.env.definitions.get(first).filter(|it| it.id != last_id) {
            records.push(Record::BeganAs { definition: Name::clone(&first.id) });
        }
        let mut body = Vec::new();
        encode_records(&records, &mut body)
            .map_err(|error| Error::damaged_instance(instance, &error))?;
        let entry = Entry { seq: last, instance, previous: 0, at, body };
        self.instances.lives.remove(&instance);
        self.instances.closing.forget(instance);
        self.views.shorten(instance, Fold { last, entry: Some(entry) });
        Ok(true)
    }
}

/// What is kept of an instance that has ended.
fn folded(live: &Live, ending: Ending) -> Folded {
    let variables = live.variables();
    Folded {
        created: Created { definition: live.definition.key, ..live.created.clone() },
        started: live.state.started.unwrap_or(live.at),
        ending,
        variables: variables.map(|(name, value)| (Name::clone(name), value.clone())).collect(),
    }
}

/// Refuses what is not for a timer.
fn check_timer(live: &Live, wait: WaitId) -> Result<(), Error> {
    live.ready()?;
    let is_timer = |it: &travertine_kernel::Wait| matches!(*it.on, WaitFor::Timer { .. });
    if live.state.waits.get(&wait).is_some_and(is_timer) {
        Ok(())
    } else {
        Err(Rejection::NoSuchWait(wait).into())
    }
}

/// What an ended function has answered to updates that may be sent again, in order.
fn answers(live: &Live) -> Vec<Event> {
    let mut answers: Vec<_> = live.state.answers.iter().collect();
    answers.sort_by_key(|(_, it)| it.number);
    let again = |(id, it): (&Name, &Answer)| Event::UpdateAnswered {
        id: Name::clone(id),
        said: it.said.clone(),
    };
    answers.into_iter().map(again).collect()
}
