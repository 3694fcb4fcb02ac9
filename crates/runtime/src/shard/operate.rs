//! What operators ask of an instance.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use travertine_kernel::{
    Answer, Assignments, Command, Ending, Event, Mapping, Migration, Phase, Rejection, TokenId,
    WaitFor, WaitId, dry_run_with,
};
use travertine_store::{
    Entry, Error as StoreError, Fold, Seq,
    codec::record::{Created, Folded, Letter, Record, encode_records},
    view::{Change, Filter, InstanceRow, Query, Row, Table},
};
use travertine_value::Name;

use super::{Ended, Shard, Watcher, live::Live, outbox::Release, turn::panic_text};
use crate::{Address, Error, InstanceId, Timestamp};

impl Shard {
    /// An instance that can be told something.
    pub(super) fn ready(&mut self, id: u64) -> Result<&mut Live, Error> {
        let live = self.live(id)?;
        if let Some(reason) = &live.halted {
            return Err(Error::Halted { instance: live.id, reason: reason.clone() });
        }
        if live.has_ended() {
            return Err(Rejection::Ended.into());
        }
        if live.suspended {
            return Err(Error::Suspended(live.id));
        }
        Ok(live)
    }

    /// Has an instance handle a command, unless it is suspended.
    pub fn command(&mut self, instance: InstanceId, command: Command) -> Result<(), Error> {
        // An operator may end or repair what is suspended.
        if command == Command::Cancel {
            return self.cancel(instance);
        }
        if let Command::Set { .. } | Command::Modify { .. } = command
            && self.live(instance.0)?.is_sound()
        {
            return self.repair_halted(instance.0, command);
        }
        if !matches!(command, Command::Set { .. }) {
            self.ready(instance.0)?;
        } else if self.live(instance.0)?.state.journal.is_some() {
            // Its journal follows from what it was begun with.
            return Err(Rejection::NotAProcess.into());
        }
        self.turn(instance.0, command)
    }

    /// Ends an instance. One that is suspended goes on where it has something to clear up first: nobody would
    /// resume what is to end.
    /// One that is halted ends as it is: neither the kernel nor its code is asked, whichever of them failed.
    pub(super) fn cancel(&mut self, instance: InstanceId) -> Result<(), Error> {
        if self.live(instance.0)?.halted.is_some() {
            return self.end_halted(instance.0);
        }
        self.turn(instance.0, Command::Cancel)?;
        self.resume_to_end(instance);
        Ok(())
    }

    /// Ends an instance that is halted, by a record and nothing else.
    fn end_halted(&mut self, id: u64) -> Result<(), Error> {
        let live = self.live(id)?;
        let is_damaged = live.damage.is_some();
        let waits: BTreeSet<WaitId> = live
            .work
            .keys()
            .chain(live.calls.keys())
            .chain(live.subscribed.keys())
            .copied()
            .collect();
        let folded = Folded {
            created: Created { definition: live.definition.key, ..live.created.clone() },
            started: live.state.started.map_or(live.at, Timestamp::as_millis),
            ending: Ending::Cancelled,
            variables: live
                .variables()
                .map(|(name, value)| (Name::clone(name), value.clone()))
                .collect(),
        };
        let answers = answers(live);
        for wait in waits {
            self.disarm(id, wait);
        }
        self.forget_indexed(id);
        if is_damaged {
            self.cancel_called(id)?;
        }
        let at = self.now.as_millis();
        let live = self.instances.lives.get_mut(&id).expect("it is in memory");
        let deferred = std::mem::take(&mut live.deferred);
        live.end_by(at, &folded);
        let mut records = vec![Record::Ended(Box::new(folded))];
        if !answers.is_empty() {
            live.replay(at, &answers);
            records.push(Record::Happened(answers));
        }
        self.tell(id, &records);
        for letter in deferred {
            self.give_back(letter);
        }
        self.finish(id);
        Ok(())
    }

    /// Ends what an instance has called whose own state does not tell.
    fn cancel_called(&mut self, id: u64) -> Result<(), Error> {
        let mut query = Query {
            table: Table::Instances,
            filters: vec![Filter::Parent(id)],
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
                    self.send(self.shard_of(it.id), Letter::Cancel { instance: it.id });
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Has an operator change an instance that is halted, which is then tried again.
    fn repair_halted(&mut self, id: u64, command: Command) -> Result<(), Error> {
        let live = self.live(id)?;
        let reason = live.halted.take();
        let turned = self.turn_with(id, command, vec![Record::Released]);
        if turned.is_err() {
            let live = self.instances.lives.get_mut(&id).expect("it was here a moment ago");
            live.halted = live.halted.take().or(reason);
            return turned;
        }
        if self.instances.lives.get(&id).is_some_and(|it| !it.has_ended()) {
            self.restore(id);
            self.awake(id);
        }
        Ok(())
    }

    /// Lets an instance that is to end go on, where it is suspended.
    pub(crate) fn resume_to_end(&mut self, instance: InstanceId) {
        let live = self.instances.lives.get(&instance.0);
        if live.is_some_and(|it| it.suspended && !it.has_ended() && it.halted.is_none()) {
            self.resume(instance).expect("it is suspended");
        }
    }

    /// Whether an instance is halted.
    pub(crate) fn is_halted(&mut self, instance: InstanceId) -> Result<bool, Error> {
        self.live(instance.0).map(|it| it.halted.is_some())
    }

    /// What a token waits for has happened: work is done, a decision is made.
    pub fn complete(&mut self, to: Address, variables: Assignments) -> Result<(), Error> {
        self.command(to.instance, Command::Complete { wait: to.wait, variables })
    }

    /// Has an instance stand still until it is resumed. What comes meanwhile is kept for it.
    pub fn suspend(&mut self, instance: InstanceId) -> Result<(), Error> {
        let id = instance.0;
        let live = self.live(id)?;
        // One that is halted stands still anyway, and still does when it is tried again.
        if live.halted.is_none() || live.suspended {
            self.ready(id)?;
        }
        let live = &self.instances.lives[&id];
        let offers: Vec<_> =
            live.work.iter().map(|(wait, work)| live.any_offer(*wait, work)).collect();
        for offer in offers {
            self.outbox.release(Release::Withdraw(offer));
        }
        self.learn(id, &[Record::Suspended]);
        Ok(())
    }

    /// Lets a suspended instance go on.
    pub fn resume(&mut self, instance: InstanceId) -> Result<(), Error> {
        let id = instance.0;
        let live = self.live(id)?;
        if !live.suspended {
            return Err(Error::NotSuspended(instance));
        }
        self.learn(id, &[Record::Resumed]);
        self.awake(id);
        Ok(())
    }

    /// Lets an instance on which the engine failed be tried again, as the log says it was before.
    pub fn release_halted(&mut self, instance: InstanceId) -> Result<(), Error> {
        let id = instance.0;
        let live = self.live(id)?;
        if live.halted.is_none() {
            return Err(Error::NotHalted(instance));
        }
        if live.touched.any || live.last > self.views.stored {
            return Err(Error::Busy {
                reason: format!("instance {id} is being written; try again"),
            });
        }
        self.instances.lives.remove(&id);
        if let Some(error) = self.live(id)?.damage.clone() {
            return Err(error);
        }
        self.learn(id, &[Record::Released]);
        self.restore(id);
        self.awake(id);
        Ok(())
    }

    /// Makes rows and timers of an instance again. While it was halted, none were written.
    pub(super) fn restore(&mut self, id: u64) {
        let live = self.instances.lives.get_mut(&id).expect("whoever was halted is in memory");
        live.touch_all();
        // Its snapshot goes with the rows.
        live.tail += std::mem::take(&mut live.snapshot_size);
        live.snapshot = 0;
        let timers: Vec<(WaitId, i64)> = live.timers().collect();
        for (wait, due) in timers {
            self.set_timer(id, wait, due);
        }
        self.views.rows.push(Change::Clear(id));
    }

    /// An instance that stood still goes on.
    fn awake(&mut self, id: u64) {
        let live = &self.instances.lives[&id];
        if live.suspended || live.halted.is_some() {
            return;
        }
        let waits: Vec<WaitId> = live.work.keys().copied().collect();
        let timers: Vec<(WaitId, i64)> = live.timers().collect();
        if live.state.has_work() {
            self.agenda.unfinished.push_back(id);
        }
        for (wait, due) in timers {
            self.set_timer(id, wait, due);
        }
        for wait in waits {
            self.offer(id, wait);
        }
        self.recall(id);
    }

    /// Has a timer ring at another time.
    pub fn move_timer(&mut self, timer: Address, due: i64) -> Result<(), Error> {
        let (id, wait) = (timer.instance.0, timer.wait);
        self.timer_of(timer)?;
        self.learn(id, &[Record::TimerMoved { wait: wait.0, due }]);
        self.set_timer(id, wait, due);
        Ok(())
    }

    /// Has a timer ring now.
    pub fn fire_timer(&mut self, timer: Address) -> Result<(), Error> {
        self.timer_of(timer)?;
        self.complete(timer, Vec::new())
    }

    fn timer_of(&mut self, timer: Address) -> Result<(), Error> {
        let live = self.ready(timer.instance.0)?;
        let is_timer = |it: &travertine_kernel::Wait| matches!(*it.on, WaitFor::Timer { .. });
        if live.state.waits.get(&timer.wait).is_some_and(is_timer) {
            Ok(())
        } else {
            Err(Rejection::NoSuchWait(timer.wait).into())
        }
    }

    /// Tries again everything in an instance that ended in an incident. Says how many there were.
    pub fn retry_all(&mut self, instance: InstanceId) -> Result<usize, Error> {
        let tokens: Vec<TokenId> =
            self.ready(instance.0)?.state.incidents.keys().copied().collect();
        let mut retried = 0;
        for token in tokens {
            match self.turn(instance.0, Command::Retry { token }) {
                Ok(()) => retried += 1,
                // It went away with another one.
                Err(Error::Rejected(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(retried)
    }

    /// Tells `watcher` how the instance ended, when it has; or that it stands still, where it wants to know.
    pub(crate) fn watch(&mut self, instance: InstanceId, watcher: Watcher) {
        let stuck = |live: &Live| live.stuck().filter(|_| !watcher.waits_through);
        match self.look(instance).map(|live| ended(live).map(Ok).or_else(|| stuck(live).map(Err))) {
            Ok(Some(known)) => self.tell_watcher(watcher, known),
            Err(error) => self.tell_watcher(watcher, Err(error)),
            Ok(None) => {
                self.watchers.add(instance.0, watcher);
            }
        }
    }

    /// Tells those who wait for a function to end that it stands still, unless they wait through that.
    pub(super) fn tell_stuck(&mut self, id: u64) {
        let Some(error) = self.instances.lives.get(&id).and_then(|it| it.stuck()) else { return };
        for watcher in self.watchers.take_impatient(id) {
            self.tell_watcher(watcher, Err(error.clone()));
        }
    }

    /// How many wait for instances to end, or have waited lately.
    pub fn watched(&self) -> usize {
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
    pub fn row(&mut self, instance: InstanceId) -> Result<InstanceRow, Error> {
        self.live(instance.0).map(|it| super::checkpoint::instance_row(it))
    }

    /// Lets an instance go on by another version of its definition.
    pub fn migrate(
        &mut self,
        instance: InstanceId,
        to: u64,
        mapping: &Mapping,
    ) -> Result<(), Error> {
        let id = instance.0;
        let new = self.env.runnable(to)?;
        let now = self.now;
        let live = self.live(id)?;
        if let Some(reason) = &live.halted {
            return Err(Error::Halted { instance, reason: reason.clone() });
        }
        if live.has_ended() {
            return Err(Rejection::Ended.into());
        }
        let old = Arc::clone(&live.definition);
        if old.is_function() || new.is_function() {
            self.check_code(instance, &new)?;
            return self.change_code(instance, new);
        }
        let definitions = self.env.newest();
        let rules = definitions.rules(&new);
        let live = self.live(id)?;
        let state = &mut live.state;
        let turn = match catch_unwind(AssertUnwindSafe(|| {
            travertine_kernel::migrate_with(&old.plan, &new.plan, &rules, state, now, mapping)
        })) {
            Ok(Ok(turn)) => turn,
            Ok(Err(problems)) => {
                let problems = problems.iter().map(ToString::to_string).collect();
                return Err(Error::NotMigrated { instance, problems });
            }
            Err(panic) => {
                live.torn = true;
                return Err(self.halt(id, format!("the engine failed: {}", panic_text(&*panic))));
            }
        };
        live.definition = new;
        live.forget_mind();
        self.happened(id, turn, None, vec![Record::Migrated { definition: to }], None);
        Ok(())
    }

    /// What would happen if an instance went on by another version of its definition.
    pub fn try_migration(
        &mut self,
        instance: InstanceId,
        to: u64,
        mapping: &Mapping,
    ) -> Result<Migration, Error> {
        let (new, now) = (self.env.runnable(to)?, self.now);
        if self.look(instance)?.definition.is_function() || new.is_function() {
            self.check_code(instance, &new)?;
        }
        let definitions = self.env.newest();
        let rules = definitions.rules(&new);
        let live = self.look(instance)?;
        catch_unwind(AssertUnwindSafe(|| {
            dry_run_with(&live.definition.plan, &new.plan, &rules, &live.state, now, mapping)
        }))
        .map_err(|panic| Error::Failed { reason: panic_text(&*panic) })
    }

    /// Forgets an instance that has ended, with that entry, or cannot be read. Says whether it could:
    /// what it has sent may not have arrived yet.
    pub fn retire(&mut self, instance: InstanceId, last: Seq) -> bool {
        match self.live(instance.0) {
            Ok(live) if live.damage.is_some() => self.forget_indexed(instance.0),
            Ok(live) if !live.is_over(last) => return false,
            Ok(_) | Err(_) => {}
        }
        // What it has sent may have arrived since someone looked, which is one more entry.
        let last = match self.instances.lives.remove(&instance.0) {
            Some(live) => last.max(live.last),
            None => match self.row_of(instance.0) {
                Ok(row) => row.map_or(last, |(it, _)| last.max(it.last)),
                Err(_) => last,
            },
        };
        self.instances.closing.forget(instance.0);
        self.views.rows.push(Change::Remove(instance.0));
        self.views.folds.push(Fold { last, entry: None });
        self.views.want();
        true
    }

    /// Keeps of an instance that has ended only how it began and ended. Says whether there was more.
    pub fn fold(&mut self, instance: InstanceId, last: Seq) -> Result<bool, Error> {
        let chain = match self.env.store.chain(self.id(), last, 0) {
            // Someone has forgotten it since.
            Err(StoreError::NoSuchEntry { .. }) => return Ok(false),
            other => other?,
        };
        if chain.len() < 2 {
            return Ok(false);
        }
        let live = match self.live(instance.0) {
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
        let folded = Folded {
            created: Created { definition: live.definition.key, ..live.created.clone() },
            started: live.state.started.map_or(live.at, Timestamp::as_millis),
            ending: ended.ending,
            variables: live
                .variables()
                .map(|(name, value)| (Name::clone(name), value.clone()))
                .collect(),
        };
        let mut records = vec![Record::Folded(Box::new(folded))];
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
            .map_err(|error| Error::damaged(format!("instance {instance}"), &error))?;
        let entry = Entry { seq: last, instance: instance.0, previous: 0, at, body };
        self.instances.lives.remove(&instance.0);
        self.instances.closing.forget(instance.0);
        match self.env.store.fold(&self.env.claim, &[Fold { last, entry: Some(entry) }]) {
            Err(StoreError::NoSuchEntry { .. }) => Ok(false),
            folded => Ok(folded.map(|()| true)?),
        }
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
