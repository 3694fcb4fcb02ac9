//! Start events that messages, signals and times trigger.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use travertine_kernel::Assignments;
use travertine_store::record::{StartKey, StartTimer};

use super::{
    alarm::{Alarm, Alarms},
    throttle::Throttle,
};
use crate::{DefinitionKey, Error, Timestamp};

/// How many starts of a definition in a second may be chained, as a multiple of how long a chain may be.
const CHAINED_FOLD: u32 = 10;

/// Start events that messages, signals and times trigger.
#[derive(Default)]
pub(super) struct Starts {
    pub(super) timers: BTreeMap<StartKey, StartTimer>,
    /// Those of them whose row is not up to date.
    pub(super) changed: BTreeSet<StartKey>,
    /// Triggers of start events that wait for others: what each brought, oldest first.
    pub(super) noted: BTreeMap<StartKey, VecDeque<Assignments>>,
    /// How many instances have started one another up to what is seen to now.
    pub(super) chain: u32,
    /// The second for which chained starts are counted, and how many there were of each definition.
    chained: (Timestamp, BTreeMap<DefinitionKey, u32>),
    /// How many begin in a second, and those that wait for another.
    pub(super) throttle: Throttle,
}

impl Starts {
    /// Sets a timer, or unsets it where it is not due any more.
    pub(super) fn set_timer(&mut self, timer: StartTimer, alarms: &mut Alarms) {
        if let Some(due) = timer.due {
            alarms.set(due, Alarm::Start(timer.start));
        } else {
            alarms.unset(Alarm::Start(timer.start));
        }
        self.changed.insert(timer.start);
        self.timers.insert(timer.start, timer);
    }

    /// Notes that one trigger of a start event that needs them all has happened.
    pub(super) fn note(&mut self, start: StartKey, variables: Assignments) {
        self.noted.entry(start).or_default().push_back(variables);
    }

    /// How many of the triggers of a start event are noted.
    pub(super) fn noted(&self, start: StartKey) -> usize {
        let (first, last) = round(start);
        self.noted.range(first..=last).count()
    }

    /// Takes one of each trigger of a start event that needs them all.
    pub(super) fn take_noted(&mut self, start: StartKey) -> Vec<Assignments> {
        let (first, last) = round(start);
        let taken = self.noted.range_mut(first..=last).filter_map(|(_, it)| it.pop_front());
        let taken = taken.collect();
        self.noted.retain(|_, it| !it.is_empty());
        taken
    }

    /// Refuses to start what has been started by one another too often.
    pub(super) fn check_chain(
        &mut self,
        definition: DefinitionKey,
        max: u32,
        now: Timestamp,
    ) -> Result<(), Error> {
        if self.chain <= 1 {
            return Ok(());
        }
        if self.chain > max {
            let reason = format!(
                "{max} instances have started one another by what they sent, each within a second: this would \
                 not end by itself"
            );
            return Err(Error::Failed { reason });
        }
        let second = now.whole_second();
        if self.chained.0 != second {
            self.chained = (second, BTreeMap::new());
        }
        let count = self.chained.1.entry(definition).or_default();
        *count += 1;
        if *count > max.saturating_mul(CHAINED_FOLD) {
            let reason = format!(
                "instances have started one another by what they sent, {count} within a second: this would not \
                 end by itself"
            );
            return Err(Error::Failed { reason });
        }
        Ok(())
    }
}

/// All triggers of the same start event.
fn round(start: StartKey) -> (StartKey, StartKey) {
    (StartKey { position: 0, ..start }, StartKey { position: u32::MAX, ..start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(position: u32) -> StartKey {
        StartKey { definition: DefinitionKey(1), node: 2, position }
    }

    #[test]
    fn one_of_each_trigger_is_taken_oldest_first() {
        let mut starts = Starts::default();
        let brought = |name: &str| vec![(name.into(), true.into())];
        starts.note(start(0), brought("first"));
        starts.note(start(0), brought("second"));
        assert_eq!(starts.noted(start(1)), 1);
        starts.note(start(1), brought("other"));
        assert_eq!(starts.noted(start(0)), 2);
        assert_eq!(starts.take_noted(start(1)), [brought("first"), brought("other")]);
        assert_eq!(starts.noted(start(0)), 1);
    }

    #[test]
    fn a_chain_is_refused_when_it_is_too_long_and_when_too_many_start_in_a_second() {
        let mut starts = Starts::default();
        let at = Timestamp::from_millis;
        starts.chain = 4;
        assert!(starts.check_chain(DefinitionKey(1), 3, at(0)).is_err());
        starts.chain = 3;
        for _ in 0..3 * CHAINED_FOLD {
            assert!(starts.check_chain(DefinitionKey(1), 3, at(0)).is_ok());
        }
        assert!(starts.check_chain(DefinitionKey(1), 3, at(999)).is_err());
        assert!(
            starts.check_chain(DefinitionKey(2), 3, at(999)).is_ok(),
            "another definition has its own count"
        );
        assert!(starts.check_chain(DefinitionKey(1), 3, at(1_000)).is_ok());
    }
}
