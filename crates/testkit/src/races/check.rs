//! What must be true after each step, and when nothing is left to happen.

use std::collections::BTreeSet;

use travertine_kernel::{Event, Phase, WaitFor};
use travertine_runtime::{
    Address, Consume, InstanceId, Message, Receipt, Shard, correlates, is_for,
};
use travertine_store::record::{Held, Subscription};

use super::{Answer, Request, World};

impl World {
    /// What must be true after each step.
    pub(super) fn check_step(&mut self) -> Result<(), String> {
        for id in self.instances.clone() {
            let live = self.look(id)?;
            let Phase::Ended(ending) = &live.state.phase else {
                if let Some(before) = self.endings.get(&id) {
                    return Err(format!("{id} has ended and goes on: {before}"));
                }
                continue;
            };
            if !live.state.waits.is_empty() {
                return Err(format!("{id} has ended and waits"));
            }
            let now = format!("{ending:?} with {:?}", live.result());
            let written = self.happened.iter().rposition(|(it, event)| *it == id && counts(event));
            let now = format!("{now}, after {written:?}");
            let before = self.endings.entry(id).or_insert_with(|| now.clone());
            if *before != now {
                return Err(format!("{id} has ended and changes: {before}, now {now}"));
            }
        }
        for ((mark, id), times) in self.received() {
            if times > 1 {
                return Err(format!("instance {id} has received {mark} {times} times"));
            }
        }
        Ok(())
    }

    /// What must be true when nothing is left to happen.
    pub(super) fn check_rest(&mut self) -> Result<(), String> {
        self.check_waits()?;
        self.check_events()?;
        self.check_log()?;
        let before = self.inventory()?;
        self.open();
        let after = self.inventory()?;
        if before != after {
            return Err(format!("opened again it differs:\n{before:#?}\n{after:#?}"));
        }
        (self.check)(self)
    }

    /// Nobody waits for what is there, and nobody is known to wait who does not.
    fn check_waits(&mut self) -> Result<(), String> {
        let mut waits: BTreeSet<Address> = BTreeSet::new();
        let mut callers: BTreeSet<Address> = BTreeSet::new();
        let mut calls: BTreeSet<Address> = BTreeSet::new();
        for id in self.instances.clone() {
            let live = self.look(id)?;
            if live.has_ended() {
                continue;
            }
            callers.extend(live.caller());
            if live.state.has_work() {
                return Err(format!("{id} has something to think about"));
            }
            if !live.state.posts.is_empty() {
                return Err(format!("{id} was never told what was delivered"));
            }
            for (wait, it) in &live.state.waits {
                let at = Address { instance: id, wait: *wait };
                match &*it.on {
                    WaitFor::Message { .. } | WaitFor::Signal { .. } => {
                        waits.insert(at);
                    }
                    WaitFor::Timer { due, .. } if !live.suspended => {
                        return Err(format!("{id} still waits until {due}"));
                    }
                    WaitFor::Child { .. } => {
                        calls.insert(at);
                    }
                    _ => {}
                }
            }
        }
        if calls != callers {
            return Err(format!("{calls:?} are called, {callers:?} were asked to run"));
        }
        let known: BTreeSet<Address> =
            self.shards.iter().flat_map(|it| it.waiting().map(Subscription::address)).collect();
        if known != waits {
            return Err(format!("{known:?} are known to wait, but {waits:?} do"));
        }
        for wait in self.shards.iter().flat_map(Shard::waiting) {
            let fits = |held: &&Held| {
                let Held { message, published, .. } = held;
                message.name == wait.name
                    && message.consume == Consume::One
                    && correlates(&wait.correlation, &message.correlation)
                    && is_for(wait, message.delivery, *published)
            };
            if let Some(held) = self.shards.iter().flat_map(Shard::held).find(fits) {
                return Err(format!("{wait:?} waits for what is there: {held:?}"));
            }
        }
        Ok(())
    }

    /// An event that was acknowledged was received once, or is still there.
    fn check_events(&mut self) -> Result<(), String> {
        let received = self.received();
        let mark = |message: &Message| {
            let found = message.variables.iter().find(|(name, _)| &**name == "mark");
            found.and_then(|(_, it)| it.as_str()).map(str::to_owned)
        };
        let held: Vec<String> =
            self.shards.iter().flat_map(Shard::held).filter_map(|it| mark(&it.message)).collect();
        for (request, answer) in &self.answers {
            let Request::Send(message) = request else { continue };
            let Some(mark) = mark(message) else { continue };
            let times: u32 =
                received.iter().filter(|((it, _), _)| *it == mark).map(|(_, times)| times).sum();
            let kept = held.iter().filter(|it| **it == mark).count();
            let all = times as usize + kept;
            let lost = match (answer, message.consume) {
                (Answer::Sent(Receipt::Dropped) | Answer::Refused(_), _) => all != 0,
                (_, Consume::One) => all != 1,
                (_, Consume::All) => kept > 1,
            };
            if lost {
                return Err(format!("{mark} was received {times} times and is held {kept} times"));
            }
        }
        Ok(())
    }

    /// Nothing was written of an instance after its end.
    fn check_log(&self) -> Result<(), String> {
        let mut ended: BTreeSet<InstanceId> = BTreeSet::new();
        for (id, event) in &self.happened {
            if ended.contains(id) && counts(event) {
                return Err(format!("{id} has ended, then {event:?}"));
            }
            if let Event::Finished { .. } = event {
                ended.insert(*id);
            }
        }
        Ok(())
    }

    /// Whether every instance has ended, and nothing is due any more.
    pub fn all_ended(&mut self) -> Result<(), String> {
        for id in self.instances.clone() {
            let live = self.look(id)?;
            if !live.has_ended() {
                return Err(format!("{id} goes on for ever: {:?}", live.state));
            }
        }
        Ok(())
    }
}

/// That something sent has arrived may be written after the end of who sent it.
fn counts(event: &Event) -> bool {
    !matches!(event, Event::PostDelivered { .. })
}
