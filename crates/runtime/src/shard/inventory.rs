//! Everything that a shard knows, in a form that two shards can be compared in.

use travertine_store::record::Subscription;

use super::Shard;
use crate::{Error, InstanceId};

impl Shard {
    /// All that must be the same after a restart, line by line: what it knows of these instances, and
    /// of those who wait for messages, of timers, and of what is held or recognised.
    pub fn inventory(&mut self, instances: &[InstanceId]) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for id in instances {
            let live = self.live(*id)?;
            lines.push(format!(
                "instance {id} of {} with {:?}, suspended {}, halted {:?}, last entry {}",
                live.definition.key, live.created, live.suspended, live.halted, live.last
            ));
            lines.push(format!("instance {id} is {:?}", live.state));
            let work = live.work.iter();
            lines.extend(work.map(|(wait, it)| format!("work {id}-{}: {it:?}", wait.0)));
            let moved = live.moved.iter();
            lines.extend(
                moved.map(|(wait, due)| format!("timer {id}-{} is moved to {due}", wait.0)),
            );
            lines.extend(live.deferred.iter().map(|it| format!("instance {id} will hear {it:?}")));
            lines.extend(live.heard.iter().map(|it| format!("instance {id} has had {it:?}")));
            let kept = live.subscribed.iter();
            lines.extend(
                kept.map(|(wait, at)| format!("wait {id}-{} is kept by shard {at}", wait.0)),
            );
        }
        // Places may differ, if only the order is the same.
        let waiting =
            self.messages.waiting.iter().cloned().map(|it| Subscription { place: 0, ..it });
        lines.extend(waiting.map(|it| format!("waits: {it:?}")));
        lines.extend(self.messages.held.iter().map(|it| format!("held: {it:?}")));
        lines.extend(self.messages.held.all_dead().map(|it| format!("dead: {it:?}")));
        lines.extend(self.alarms.iter().map(|it| format!("due: {it:?}")));
        lines.extend(self.starts.timers.values().map(|it| format!("start timer: {it:?}")));
        lines.extend(self.starts.noted.iter().map(|it| format!("noted: {it:?}")));
        let now = self.now;
        let known = self.messages.known_until.values().filter(|(_, until)| now < *until);
        lines.extend(known.map(|it| format!("known: {it:?}")));
        lines.extend(self.outbox.letters.iter().map(|it| format!("to do: {:?}", it.letter)));
        lines.extend(self.agenda.unfinished.iter().map(|it| format!("unfinished: {it}")));
        Ok(lines)
    }
}
