//! The one place in which something happens to an instance.
//!
//! The instance is taken out of memory and given to whoever does something to it. Where that panics, all
//! that it had gathered is dropped, the instance is halted, and nobody else notices: what it was before
//! stands in the log, and is read again when someone resolves it.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use travertine_kernel::Rejection;
use travertine_store::{
    Seq,
    record::{Letter, Record},
    view::Change,
};

use travertine_value::interrupt::Interrupted;

use super::{Live, Shard, outbox};
use crate::{Definition, Error, InstanceId, Timestamp};

/// Whether an instance has heard something.
pub(super) enum Heard {
    /// It has, or will as soon as it can.
    Yes,
    /// It does not wait for it any more.
    No,
    /// It waits, but not for so much.
    TooMuch(String),
}

/// How everything was before something happened to an instance.
struct Mark {
    outbox: outbox::Mark,
    rows: usize,
    last: Seq,
    tail: usize,
    at: Timestamp,
    past: usize,
    definition: Arc<Definition>,
}

impl Shard {
    /// Does something to one instance. Only that one is halted where it panics, and only it must be
    /// touched: it is nowhere else meanwhile.
    pub(super) fn with<T>(
        &mut self,
        id: InstanceId,
        act: impl FnOnce(&mut Self, &mut Live) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut live = self.take_out(id)?;
        let done = self.guarded(&mut live, act);
        self.instances.put(live);
        done
    }

    /// Does something to one instance that cannot be refused, and leaves it alone where it is not there.
    pub(super) fn with_any(&mut self, id: InstanceId, act: impl FnOnce(&mut Self, &mut Live)) {
        let done = self.with(id, |shard, live| {
            act(shard, live);
            Ok(())
        });
        if let Err(error) = done {
            tracing::debug!(instance = id.0, %error, "an instance was left alone");
        }
    }

    /// Has an instance hear something, or keeps it for the instance where it cannot hear it now.
    pub(super) fn handle_or_defer(
        &mut self,
        id: InstanceId,
        letter: &Letter,
        act: impl FnOnce(&mut Self, &mut Live) -> Result<(), Error>,
    ) -> Heard {
        let Ok(mut live) = self.take_out(id) else { return Heard::No };
        let heard = self.handle_or_defer_out(&mut live, letter, act);
        self.instances.put(live);
        heard
    }

    fn handle_or_defer_out(
        &mut self,
        live: &mut Live,
        letter: &Letter,
        act: impl FnOnce(&mut Self, &mut Live) -> Result<(), Error>,
    ) -> Heard {
        // Of one that is halted the log may tell something else.
        if live.has_ended() && live.halted.is_none() {
            return Heard::No;
        }
        if !live.suspended && live.halted.is_none() {
            match self.guarded(live, act) {
                Ok(()) => return Heard::Yes,
                Err(Error::Rejected(Rejection::HasIncident(_)) | Error::Halted { .. }) => {}
                Err(Error::Rejected(
                    why @ (Rejection::TooMuch { .. } | Rejection::OverBudget(_)),
                )) => {
                    return Heard::TooMuch(why.to_string());
                }
                Err(_) => return Heard::No,
            }
        }
        self.defer(live, letter);
        Heard::Yes
    }

    /// Does something to one instance that does not depend on whether it is suspended, or keeps it for the
    /// instance where that is halted.
    pub(super) fn with_or_defer(
        &mut self,
        id: InstanceId,
        letter: &Letter,
        act: impl FnOnce(&mut Self, &mut Live) -> Result<(), Error>,
    ) {
        let Ok(mut live) = self.take_out(id) else { return };
        if let Err(Error::Halted { .. }) = self.guarded(&mut live, act) {
            self.defer(&mut live, letter);
        }
        self.instances.put(live);
    }

    /// Keeps a letter for an instance that cannot hear it now.
    pub(super) fn defer(&mut self, live: &mut Live, letter: &Letter) {
        let kept = self.guarded(live, |shard, live| {
            shard.learn(live, &[Record::Deferred(letter.clone())]);
            Ok(())
        });
        if kept.is_ok() {
            return;
        }
        // What is in memory is torn, and read again when someone resolves it. What the log says counts then.
        let kept = self.guarded(live, |shard, live| {
            shard.append(live, &[Record::Deferred(letter.clone())]);
            Ok(())
        });
        if let Err(error) = kept {
            tracing::error!(instance = live.id.0, %error, "what an instance could not hear stays in the inbox");
            self.outbox.leave(letter);
        }
    }

    /// Does something to an instance that was taken out.
    pub(super) fn guarded<T>(
        &mut self,
        live: &mut Live,
        act: impl FnOnce(&mut Self, &mut Live) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mark = Mark {
            outbox: self.outbox.mark(),
            rows: self.views.rows.len(),
            last: live.last,
            tail: live.tail,
            at: live.at,
            past: live.past.len(),
            definition: Arc::clone(&live.definition),
        };
        self.alarms.undo.begin();
        self.messages.undo.begin();
        let done = catch_unwind(AssertUnwindSafe(|| act(self, live)));
        match done {
            Ok(done) => {
                self.alarms.undo.end();
                self.messages.undo.end();
                done
            }
            // Nothing of this batch will be written.
            Err(panic) if panic.is::<Interrupted>() => resume_unwind(panic),
            Err(panic) => {
                self.agenda.quarantine.turned();
                let reason = format!("the engine failed: {}", panic_text(&*panic));
                self.roll_back(live, mark);
                if live.last == 0 {
                    return Err(Error::Failed { reason });
                }
                live.torn = true;
                Err(self.halt(live, reason))
            }
        }
    }

    /// Drops what has come of something that happened to an instance.
    fn roll_back(&mut self, live: &mut Live, mark: Mark) {
        for watcher in self.outbox.roll_back(mark.outbox, live.id) {
            self.watchers.add(live.id, watcher);
        }
        self.views.rows.truncate(mark.rows);
        self.alarms.roll_back();
        self.messages.roll_back();
        // Whoever works for it begins again, as after a restart.
        self.forget_attempts(live.id);
        live.last = mark.last;
        live.tail = mark.tail;
        live.at = mark.at;
        // It is read from the log again some time, and these would not be among what follows from that.
        live.past.truncate(mark.past);
        self.views.rows.extend(live.past.drain(..).map(Change::Put));
        live.definition = mark.definition;
    }

    /// The instance of that number, which is nowhere else until it is put back.
    pub(super) fn take_out(&mut self, id: InstanceId) -> Result<Box<Live>, Error> {
        let mut live = self.bring(id)?;
        self.instances.ticks += 1;
        live.used = self.instances.ticks;
        self.halt_damaged(&mut live);
        Ok(live)
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason".into())
}

/// What was changed within one turn, so that it can be taken back.
#[derive(Debug)]
pub(super) struct Undo<T> {
    is_on: bool,
    changes: Vec<T>,
}

impl<T> Default for Undo<T> {
    fn default() -> Self {
        Self { is_on: false, changes: Vec::new() }
    }
}

impl<T> Undo<T> {
    fn begin(&mut self) {
        debug_assert!(!self.is_on, "one instance at a time");
        self.is_on = true;
    }

    fn end(&mut self) {
        self.is_on = false;
        self.changes.clear();
    }

    /// Takes note of a change that may have to be taken back.
    pub(super) fn note(&mut self, change: impl FnOnce() -> T) {
        if self.is_on {
            self.changes.push(change());
        }
    }

    /// What is to be taken back, the last change first. Nothing is noted meanwhile.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.is_on = false;
        std::mem::take(&mut self.changes).into_iter().rev()
    }
}

#[cfg(test)]
mod tests;

/// A step of what happens to an instance. Tests have one of them panic.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn step(_: &'static str) {}

#[cfg(test)]
pub(super) use steps::step;

#[cfg(test)]
pub(super) mod steps {
    use std::{cell::RefCell, panic};

    thread_local! {
        static LEFT: RefCell<(Option<usize>, Vec<&'static str>)> = const { RefCell::new((None, Vec::new())) };
    }

    /// What the message of such a panic begins with.
    const ON_PURPOSE: &str = "a test has";

    /// Has nothing be printed of panics on purpose.
    pub(in crate::shard) fn be_quiet() {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !panic.payload_as_str().is_some_and(|it| it.starts_with(ON_PURPOSE)) {
                usual(panic);
            }
        }));
    }

    /// Has the step after so many panic.
    pub(in crate::shard) fn panic_after(steps: usize) {
        LEFT.with_borrow_mut(|it| *it = (Some(steps), Vec::new()));
    }

    /// The steps that were reached, the last of which has panicked, unless there were fewer.
    pub(in crate::shard) fn reached() -> (bool, Vec<&'static str>) {
        LEFT.with_borrow_mut(|it| (it.0.take().is_none(), std::mem::take(&mut it.1)))
    }

    pub(in crate::shard) fn step(name: &'static str) {
        let panics = LEFT.with_borrow_mut(|(left, names)| {
            let Some(steps) = left else { return false };
            names.push(name);
            if *steps == 0 {
                *left = None;
                return true;
            }
            *steps -= 1;
            false
        });
        assert!(!panics, "{ON_PURPOSE} {name} fail");
    }
}
