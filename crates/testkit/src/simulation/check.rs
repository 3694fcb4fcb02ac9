//! What must be true once everything rests.

use std::collections::BTreeSet;

use travertine_kernel::{Incident, WaitFor, plan::WorkKind};
use travertine_runtime::{
    Address, Consume, Delivery, InstanceId, Live, Message, Receipt, correlates,
};
use travertine_store::{Claim, ShardId, Store};

use super::{Figures, client::Clients, world::World};

impl World {
    /// Lets everything come to rest, and looks.
    pub(super) fn finish(mut self) -> Result<Figures, String> {
        self.settle()?;
        self.let_go();
        self.settle()?;
        self.let_time_pass()?;
        self.let_go();
        self.settle()?;
        self.check_states()?;
        self.check_messages()?;
        self.check_log()?;
        let live = self.inventory()?;
        self.check_jobs()?;
        for seat in 0..self.seats.len() {
            self.checkpoint(seat);
        }
        self.settle()?;
        self.same("with rows up to date", &live)?;
        self.verify()?;
        self.open_all()?;
        self.settle()?;
        self.same("read from the views", &live)?;
        self.check_jobs()?;
        let claims: Vec<Claim> = self.seats.iter().map(|it| it.shard.claim()).collect();
        self.store.reset_views(&claims).map_err(|error| error.to_string())?;
        self.open_all()?;
        self.settle()?;
        self.same("read from the log", &live)?;
        self.check_jobs()?;
        for seat in 0..self.seats.len() {
            self.checkpoint(seat);
        }
        self.settle()?;
        self.verify()?;
        self.figures.instances = self.journal.created.len() as u64;
        self.figures.acknowledged = self.clients.acknowledgements;
        Ok(self.figures)
    }

    /// Until nothing is due any more.
    fn let_time_pass(&mut self) -> Result<(), String> {
        for _ in 0..10_000 {
            let due = self.seats.iter().filter_map(|it| it.shard.next_due()).min();
            let Some(due) = due else { return Ok(()) };
            self.now = self.now.max(due);
            self.say(|| format!("it is {}", self.now));
            self.settle()?;
        }
        Err("there is always something due".to_owned())
    }

    /// The instances of a shard that are kept.
    fn kept(&self, seat: usize) -> Vec<InstanceId> {
        let shard = u16::try_from(seat).expect("there are few shards");
        let mut ids = self.journal.of_shard(shard, self.shards());
        ids.retain(|it| !self.retired.contains(&it.0));
        ids
    }

    fn each(&mut self, mut look: impl FnMut(&Live) -> Result<(), String>) -> Result<(), String> {
        for seat in 0..self.seats.len() {
            for id in self.kept(seat) {
                let live = self.seats[seat].shard.look(id);
                look(live.map_err(|error| format!("instance {id} cannot be read: {error}"))?)?;
            }
        }
        Ok(())
    }

    fn check_states(&mut self) -> Result<(), String> {
        let mut calls: BTreeSet<Address> = BTreeSet::new();
        let mut callers: BTreeSet<Address> = BTreeSet::new();
        let ended = self.journal.ended.clone();
        self.each(|live| {
            let id = live.id.0;
            if live.has_ended() != ended.contains(&id) {
                return Err(format!("instance {id} should have ended, or should not have"));
            }
            if live.has_ended() {
                return Ok(());
            }
            if live.state.is_unfinished() {
                return Err(format!("instance {id} is not finished with its turn"));
            }
            let is_function = live.state.journal.is_some();
            let code = |it: &Incident| is_function && it.failure.kind.is_of_code();
            if let Some((_, incident)) = live.state.incidents.iter().find(|(_, it)| code(it)) {
                return Err(format!("the code of {id} cannot go on: {}", incident.failure.message));
            }
            callers.extend(live.caller());
            for (wait, it) in &live.state.waits {
                let broken = live.state.incidents.contains_key(&it.token);
                match &*it.on {
                    // Nothing is due any more.
                    WaitFor::Timer { due, .. } if !broken => {
                        return Err(format!("timer {id}-{} has not rung at {due}", wait.0));
                    }
                    WaitFor::Child { .. } if !broken => {
                        calls.insert(Address { instance: InstanceId(id), wait: *wait });
                    }
                    WaitFor::Delivery(_) if !broken => {
                        return Err(format!("wait {id}-{} was never told", wait.0));
                    }
                    _ => {}
                }
            }
            if !live.state.posts.is_empty() {
                return Err(format!("instance {id} was never told what was delivered"));
            }
            Ok(())
        })?;
        if calls != callers {
            let lost: Vec<_> = calls.difference(&callers).collect();
            let orphans: Vec<_> =
                callers.difference(&calls).map(|it| (it, self.journal.child(*it))).collect();
            return Err(format!("calls without children: {lost:?}; without callers: {orphans:?}"));
        }
        Ok(())
    }

    fn check_messages(&mut self) -> Result<(), String> {
        let (mut held, mut dead) = (Vec::new(), Vec::new());
        for seat in &self.seats {
            held.extend(seat.shard.held().cloned());
            dead.extend(seat.shard.dead_letters().cloned());
        }
        for (number, sent) in self.clients.messages.iter().enumerate() {
            let mark = Clients::mark(number);
            let is_held = held.iter().filter(|it| mark_of(&it.message) == Some(&*mark)).count();
            let received = self.journal.received(&mark) as usize;
            let Message { ttl, consume, delivery, .. } = sent.message;
            let kept = sent.receipt.is_some_and(|it| it != Receipt::Dropped)
                && ttl.is_none()
                && delivery != Delivery::AfterWait;
            let wrong = match consume {
                Consume::One => {
                    let is_dead = dead.iter().filter(|it| mark_of(&it.message) == Some(&*mark));
                    let times = is_held + received + is_dead.count();
                    times > 1 || kept && times != 1
                }
                Consume::All => is_held > 1 || kept && is_held != 1,
            };
            if wrong {
                return Err(format!(
                    "message {number} was received {received} times and is held {is_held} times: {sent:?}"
                ));
            }
        }
        let mut had: BTreeSet<(u64, String)> = BTreeSet::new();
        for id in self.journal.created.keys() {
            let marks = held.iter().filter_map(|it| mark_of(&it.message));
            had.extend(
                marks
                    .filter(|mark| self.journal.has_had(*id, mark))
                    .map(|mark| (*id, mark.to_owned())),
            );
        }
        self.each(|live| {
            for (wait, it) in &live.state.waits {
                let WaitFor::Message { name, correlation } = &*it.on else { continue };
                let id = live.id.0;
                let fits = held.iter().find(|held| {
                    let message = &held.message;
                    let mark = mark_of(message);
                    let after = match message.delivery {
                        // Those who waited have it.
                        Delivery::AfterWait => false,
                        Delivery::AfterCreate => {
                            live.state.started.is_some_and(|it| it <= held.published)
                        }
                        Delivery::All => true,
                    };
                    after
                        && message.name == *name
                        && correlates(correlation, &message.correlation)
                        && mark.is_none_or(|it| !had.contains(&(id, it.to_owned())))
                });
                // Who has an incident will hear of it once that is resolved.
                if let Some(message) = fits {
                    let address = Address { instance: live.id, wait: *wait };
                    return Err(format!("{address} waits for what is held: {message:?}"));
                }
            }
            Ok(())
        })
    }

    /// Every job that a worker may have is up, and nothing else.
    fn check_jobs(&mut self) -> Result<(), String> {
        let mut wanted: BTreeSet<Address> = BTreeSet::new();
        self.each(|live| {
            for (wait, it) in &live.state.waits {
                if let WaitFor::Work(job) = &*it.on
                    && job.kind == WorkKind::Job
                    && job.retries > 0
                    && !live.has_ended()
                    && !live.state.incidents.contains_key(&it.token)
                {
                    wanted.insert(Address { instance: live.id, wait: *wait });
                }
            }
            Ok(())
        })?;
        let mut up = BTreeSet::new();
        let mut offers = Vec::new();
        for (job_type, _) in self.board.counts() {
            offers.extend(self.board.take(&job_type, usize::MAX, self.now));
        }
        for offer in offers {
            self.board.offer(&offer);
            // Rows of what was forgotten may be back after a crash, until someone looks.
            if self.retired.contains(&offer.job.instance.0) {
                continue;
            }
            if !up.insert(offer.job) {
                return Err(format!("job {} is up twice", offer.job));
            }
        }
        if wanted == up {
            return Ok(());
        }
        let lost: Vec<String> = wanted.difference(&up).map(ToString::to_string).collect();
        let extra: Vec<String> = up.difference(&wanted).map(ToString::to_string).collect();
        Err(format!("jobs that nobody is offered: {lost:?}; jobs that are none: {extra:?}"))
    }

    /// The log is what was durable, except for what was shortened or forgotten.
    fn check_log(&self) -> Result<(), String> {
        for shard in 0..self.shards() {
            let log = self.store.entries(ShardId(shard), 0, usize::MAX);
            for entry in log.map_err(|error| error.to_string())? {
                let written = self.journal.entries.get(&(shard, entry.seq));
                let ended = self.journal.ended.contains(&entry.instance.0);
                if written != Some(&entry) && !ended {
                    return Err(format!("entry {} of shard {shard} has changed", entry.seq));
                }
            }
        }
        let gone = |shard: u16, seq| {
            let chain = self.store.entries(ShardId(shard), seq - 1, 1);
            chain.is_ok_and(|it| it.first().is_none_or(|it| it.seq != seq))
        };
        for ((shard, seq), entry) in &self.journal.entries {
            if !self.journal.ended.contains(&entry.instance.0) && gone(*shard, *seq) {
                return Err(format!("entry {seq} of shard {shard} is gone"));
            }
        }
        Ok(())
    }

    fn inventory(&mut self) -> Result<Vec<Vec<String>>, String> {
        let mut all = Vec::new();
        for seat in 0..self.seats.len() {
            let kept = self.kept(seat);
            let lines = self.seats[seat].shard.inventory(&kept);
            all.push(lines.map_err(|error| error.to_string())?);
        }
        Ok(all)
    }

    /// Whether all shards know what they knew.
    fn same(&mut self, when: &str, before: &[Vec<String>]) -> Result<(), String> {
        let now = self.inventory()?;
        for (shard, (before, now)) in before.iter().zip(&now).enumerate() {
            if before == now {
                continue;
            }
            let lost: Vec<&String> = before.iter().filter(|it| !now.contains(it)).take(3).collect();
            let new: Vec<&String> = now.iter().filter(|it| !before.contains(it)).take(3).collect();
            if lost.is_empty() && new.is_empty() {
                let moved = before.iter().zip(now).find(|(a, b)| a != b);
                return Err(format!("shard {shard} has another order {when}: {moved:#?}"));
            }
            return Err(format!("shard {shard} differs {when}:\n- {lost:#?}\n+ {new:#?}"));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), String> {
        for seat in &mut self.seats {
            let found = seat.shard.verify(&mut |_, _| {}).map_err(|error| error.to_string())?;
            if let Some(difference) = found.differences.first() {
                return Err(format!("the views of shard {} differ: {difference}", seat.shard.id()));
            }
        }
        Ok(())
    }
}

/// The variable by which a message of a client is known.
fn mark_of(message: &Message) -> Option<&str> {
    message.variables.first().map(|(name, _)| &**name)
}
