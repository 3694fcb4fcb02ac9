//! How many instances of a definition begin in a second without anyone outside asking. What is beyond that waits.
//!
//! What waits is a mail from the shard to itself, like anything that it has not come to yet, so a crash loses
//! nothing of it. Starts of one definition keep their order. Counts are in memory: they are there to slow down
//! what runs away, and that runs now.

use std::{collections::BTreeMap, time::Duration};

use travertine_store::record::{Letter, StartKey};
use travertine_value::Name;

use super::{Case, Shard, alarm::Alarm, outbox::Queued};
use crate::{Address, DefinitionKey, Error, Timestamp};

/// How many starts wait at most. They are in memory.
const WAITING_MAX: usize = 1_000_000;

/// Starts of this second, and those that wait for another.
#[derive(Default)]
pub(super) struct Throttle {
    /// When it began.
    second: Timestamp,
    /// How many instances of each definition began in this second.
    begun: BTreeMap<DefinitionKey, u64>,
    /// What waits, by definition, in order.
    waiting: BTreeMap<DefinitionKey, BTreeMap<u64, Queued>>,
    /// Which calls wait, by who calls, and where they do.
    calls: BTreeMap<Address, (DefinitionKey, u64)>,
    /// Those that no mail tells of yet.
    unwritten: Vec<(DefinitionKey, u64)>,
    numbered: u64,
    count: usize,
    /// Whether what begins now has waited, and is counted.
    is_admitted: bool,
}

impl Throttle {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Counts a start, if this second has room for it.
    fn count(&mut self, definition: DefinitionKey, max: u64, now: Timestamp) -> bool {
        let second = now.whole_second();
        if self.second != second {
            self.second = second;
            self.begun.clear();
        }
        let begun = self.begun.entry(definition).or_default();
        let has_room = *begun < max;
        *begun += u64::from(has_room);
        has_room
    }

    fn push(&mut self, definition: DefinitionKey, letter: Letter, generation: u32) {
        self.numbered += 1;
        let place = (definition, self.numbered);
        if let Letter::Call(call) = &letter {
            self.calls.insert(call.from, place);
        }
        let queued = Queued { letter, mail: None, generation };
        self.waiting.entry(definition).or_default().insert(place.1, queued);
        self.unwritten.push(place);
        self.count += 1;
    }

    fn remove(&mut self, (definition, number): (DefinitionKey, u64)) -> Option<Queued> {
        let of = self.waiting.get_mut(&definition)?;
        let queued = of.remove(&number)?;
        if of.is_empty() {
            self.waiting.remove(&definition);
        }
        if let Letter::Call(call) = &queued.letter {
            self.calls.remove(&call.from);
        }
        self.count -= 1;
        Some(queued)
    }

    /// Takes the next that may begin, and counts it.
    fn pop(&mut self, max: impl Fn(DefinitionKey) -> u64, now: Timestamp) -> Option<Queued> {
        let definitions: Vec<DefinitionKey> = self.waiting.keys().copied().collect();
        let definition = definitions.into_iter().find(|it| self.count(*it, max(*it), now))?;
        let (number, _) = self.waiting.get(&definition)?.first_key_value()?;
        self.remove((definition, *number))
    }

    /// Takes a call that nobody wants any more.
    pub(super) fn call_off(&mut self, from: Address) -> Option<Queued> {
        let place = *self.calls.get(&from)?;
        self.remove(place)
    }

    /// Those that no mail tells of yet, and are told of from now on.
    pub(super) fn take_unwritten(&mut self, mut write: impl FnMut(&mut Queued)) {
        for (definition, number) in std::mem::take(&mut self.unwritten) {
            let of = self.waiting.get_mut(&definition);
            if let Some(queued) = of.and_then(|it| it.get_mut(&number)) {
                write(queued);
            }
        }
    }
}

impl Shard {
    /// Whether an instance may begin now that nobody outside has asked for; else it is to wait. Refused where
    /// too much waits.
    pub(super) fn admits(&mut self, definition: DefinitionKey) -> Result<bool, Error> {
        let max = self.env.starts_per_second(definition);
        let now = self.now;
        let throttle = &mut self.starts.throttle;
        if std::mem::take(&mut throttle.is_admitted) {
            return Ok(true);
        }
        if !throttle.waiting.contains_key(&definition) && throttle.count(definition, max, now) {
            return Ok(true);
        }
        if throttle.count < WAITING_MAX {
            return Ok(false);
        }
        let reason = format!("{WAITING_MAX} starts wait already, and {max} begin in a second");
        Err(Error::Busy { reason })
    }

    /// Has something begin when it may.
    pub(super) fn start_later(&mut self, definition: DefinitionKey, letter: Letter) {
        if !self.starts.throttle.waiting.contains_key(&definition) {
            let max = self.env.starts_per_second(definition);
            let id = self.env.definitions.get(definition).map(|it| Name::clone(&it.id));
            tracing::warn!(
                definition = id.as_deref(),
                max,
                "more starts than may begin in a second wait"
            );
        }
        self.starts.throttle.push(definition, letter, self.starts.chain);
        if !self.alarms.is_set(Alarm::Throttle) {
            self.alarms.set(next_second(self.now), Alarm::Throttle);
        }
    }

    /// Has one of those begin that waited, if one may.
    pub(super) fn start_waiting(&mut self) {
        let now = self.now;
        let next = self.starts.throttle.pop(|it| self.env.starts_per_second(it), now);
        let is_over = next.is_none();
        if let Some(queued) = next {
            if let Some(mail) = queued.mail {
                self.agenda.quarantine.begin(Case::Mail(mail), std::iter::empty());
            }
            self.outbox.take(queued.mail);
            self.starts.throttle.is_admitted = true;
            self.starts.chain = queued.generation;
            self.carry_out(queued.letter);
            self.starts.chain = 0;
            self.starts.throttle.is_admitted = false;
        }
        if self.starts.throttle.count > 0 {
            let at = if is_over { next_second(now) } else { now };
            self.alarms.set(at, Alarm::Throttle);
        }
    }

    /// A timer that starts instances is due. It rings when this second has room for that; what it misses
    /// meanwhile counts as one.
    pub(super) fn start_timer_due(&mut self, start: StartKey) {
        let max = self.env.starts_per_second(start.definition);
        if !self.starts.throttle.count(start.definition, max, self.now) {
            self.alarms.set(next_second(self.now), Alarm::Start(start));
            return;
        }
        let due = self.starts.timers.get(&start).and_then(|it| it.due);
        let due = due.unwrap_or(self.now);
        self.start_timer_rung(start, due);
    }

    /// The definitions of which starts wait, and how many; at rest, all that are on their way.
    pub(crate) fn throttled(&self) -> Vec<(Name, u64)> {
        let mut all: BTreeMap<Name, u64> = BTreeMap::new();
        let name = |definition: DefinitionKey| {
            Some(Name::clone(&self.env.definitions.get(definition)?.id))
        };
        for (definition, of) in &self.starts.throttle.waiting {
            if let Some(name) = name(*definition) {
                *all.entry(name).or_default() += of.len() as u64;
            }
        }
        let letters = self.outbox.letters.iter().filter(|_| self.agenda.rests());
        for queued in letters {
            let of = match &queued.letter {
                Letter::Call(call) => name(call.definition),
                Letter::Trigger { start, .. } => name(start.definition),
                Letter::Start { definition, .. } => Some(Name::clone(definition)),
                _ => None,
            };
            if let Some(name) = of {
                *all.entry(name).or_default() += 1;
            }
        }
        all.into_iter().collect()
    }
}

fn next_second(now: Timestamp) -> Timestamp {
    now.whole_second().after(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    use travertine_kernel::WaitId;

    use crate::InstanceId;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn call(from: u64) -> Letter {
        Letter::Uncall { from: Address { instance: InstanceId(from), wait: WaitId(1) } }
    }

    #[test]
    fn a_second_has_room_for_so_many_of_each_definition() {
        let mut throttle = Throttle::default();
        assert!(throttle.count(DefinitionKey(1), 2, at(5_000)));
        assert!(throttle.count(DefinitionKey(1), 2, at(5_999)));
        assert!(!throttle.count(DefinitionKey(1), 2, at(5_999)));
        assert!(
            throttle.count(DefinitionKey(2), 2, at(5_999)),
            "another definition has its own count"
        );
        assert!(throttle.count(DefinitionKey(1), 2, at(6_000)));
    }

    #[test]
    fn what_waits_begins_in_order_as_each_second_has_room() {
        let mut throttle = Throttle::default();
        for from in 1..=3 {
            throttle.push(DefinitionKey(7), call(from), 4);
        }
        let pop = |throttle: &mut Throttle, now| {
            throttle.pop(|_| 2, at(now)).map(|it| (it.letter, it.generation))
        };
        assert_eq!(pop(&mut throttle, 0), Some((call(1), 4)));
        assert_eq!(pop(&mut throttle, 0), Some((call(2), 4)));
        assert_eq!(pop(&mut throttle, 999), None);
        assert_eq!(pop(&mut throttle, 1_000), Some((call(3), 4)));
        assert_eq!((throttle.len(), throttle.waiting.len()), (0, 0));
    }
}
