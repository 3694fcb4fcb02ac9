//! What one session knows: the operations of its function, what the journal says comes next, and
//! what the code has decided beyond it.
//!
//! Everything that code does goes through [`Core::decide`], which holds it against the journal.

use std::{
    cell::{RefCell, RefMut},
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
};

use travertine_kernel::{Assignments, Decision, Digest, JournalEntry, Post, WaitFor};
use travertine_value::{Name, Value, time::Timestamp};

use crate::{
    entry::{Brought, Said, Told},
    error::{Blocked, Failure},
    handler::Handlers,
    scope::Scope,
    session::{Identity, SessionSettings},
};

/// What operations of one function share.
pub(crate) struct Core {
    pub(crate) identity: Identity,
    pub(crate) settings: SessionSettings,
    state: RefCell<State>,
    pub(crate) handlers: RefCell<Handlers>,
    /// What the function is polled with.
    pub(crate) waker: Waker,
}

#[derive(Default)]
struct State {
    /// The time of the last entry that told something.
    now: Timestamp,
    /// How many entries were read when the code was last told something: a clock for races.
    position: u64,
    /// What of that clock may be seen, while a race looks for its winner.
    horizon: Option<u64>,
    operations: Vec<Started>,
    /// When operations were done that nobody has taken, in order.
    unclaimed: VecDeque<u64>,
    /// Open operations that are polled by someone in between, who decides when to poll them again.
    behind: BTreeSet<u32>,
    /// What the journal says was decided in this step.
    expected: VecDeque<Said>,
    /// What the journal goes on with after this step.
    goes_on: Option<Told>,
    /// Whether the code may decide anything beyond the journal.
    due: bool,
    decisions: Vec<Decision>,
    /// How the journal will show these decisions, and those that were taken last.
    said: Vec<Said>,
    blocked: Option<Blocked>,
    /// The session is taken out of memory, or its code has ended: nothing is decided any more.
    closed: bool,
    /// A query is being answered.
    reading: bool,
    /// What its handler did that it may not.
    misuse: Option<String>,
    /// How many shields are around what is polled now.
    shields: u32,
    cancelled: Option<u64>,
    interruption: Option<Interruption>,
    /// Answers of markers, which are the same for the rest of the run.
    markers: BTreeMap<String, u32>,
    /// Operations asked in this step.
    asked: usize,
    /// Durable things that were polled in this round and are not ready.
    pending: usize,
    /// Conditions that were polled in this round and are not true.
    conditions: Vec<Waker>,
    /// Grows with everything that lets code go on.
    progress: u64,
}

/// One operation that was asked for.
struct Started {
    key: Name,
    /// When.
    position: u64,
    /// When it was done.
    done: Option<u64>,
    /// What came of it, unless it is being read.
    outcome: Option<Result<Brought, Failure>>,
    /// It was done as it was asked for.
    settled: bool,
    dropped: bool,
    /// What happens to others when it fails.
    attached: bool,
    waker: Option<Waker>,
    /// Nobody will ask what came of it.
    forgotten: bool,
}

/// A child on its own has failed. That interrupts what was open then, or else what comes next.
struct Interruption {
    position: u64,
    failure: Failure,
    delivered: bool,
}

/// What became of a wish for an operation.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It has this number.
    Number(u32),
    /// It was not asked for, and this is its answer.
    Refused(Failure),
    /// Nothing will come: the session is blocked.
    Stuck,
}

impl Core {
    pub(crate) fn new(identity: Identity, settings: SessionSettings, waker: Waker) -> Rc<Self> {
        let (state, handlers) = (RefCell::default(), RefCell::default());
        Rc::new(Self { identity, settings, state, handlers, waker })
    }

    fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    // What code asks for.

    /// Asks for an operation, unless the code was told to end. With it comes what must be the same
    /// when the code runs again.
    pub(crate) fn ask(
        &self,
        scope: &Scope,
        key: &Name,
        on: impl FnOnce() -> Result<(WaitFor, Option<Digest>), Failure>,
    ) -> Asked {
        if let Some(refused) = self.refused(scope, key) {
            return refused;
        }
        let (on, input) = match on() {
            Ok(asked) => asked,
            Err(failure) => return Asked::Refused(failure),
        };
        let said = Said::Asked(Name::clone(key), input);
        self.begin(key, said, false, || Decision::Ask { key: Name::clone(key), input, on })
    }

    /// Sends something that nobody here waits for.
    pub(crate) fn post(
        &self,
        scope: &Scope,
        key: &Name,
        what: impl FnOnce() -> Result<(Post, Option<Digest>), Failure>,
    ) -> Asked {
        if let Some(refused) = self.refused(scope, key) {
            return refused;
        }
        let (what, input) = match what() {
            Ok(sent) => sent,
            Err(failure) => return Asked::Refused(failure),
        };
        let said = Said::Sent(Name::clone(key), input);
        self.begin(key, said, true, || Decision::Post { key: Name::clone(key), input, what })
    }

    /// Answers a wish for an operation at once, where the code was told to end.
    fn refused(&self, scope: &Scope, key: &Name) -> Option<Asked> {
        let mut state = self.state();
        let failure = state.refusal(scope)?;
        let counted = state.count(key, self.settings.operations_max);
        Some(counted.map_or(Asked::Stuck, |()| Asked::Refused(failure)))
    }

    fn begin(
        &self,
        key: &Name,
        said: Said,
        settled: bool,
        decision: impl FnOnce() -> Decision,
    ) -> Asked {
        let mut state = self.state();
        let counted = state.count(key, self.settings.operations_max);
        match counted.and_then(|()| state.decide(said, decision)) {
            Some(()) => Asked::Number(state.start(key, settled)),
            None => Asked::Stuck,
        }
    }

    /// Keeps a value, or finds the one that was kept.
    pub(crate) fn record(
        &self,
        key: &Name,
        make: impl FnOnce() -> Result<Value, String>,
    ) -> Option<Value> {
        self.count_or_panic(key);
        // What is kept already is not made again. Nothing of the state is held meanwhile: it is the
        // user's code that makes the value.
        let kept = self.state().kept(key);
        let value = match kept {
            Some(value) => value,
            None => match make() {
                Ok(value) => value,
                Err(message) => {
                    self.block(format!("the value of `{key}` cannot be kept: {message}"));
                    return None;
                }
            },
        };
        let said = Said::Recorded(Name::clone(key), value.clone());
        let decision = Decision::Record { key: Name::clone(key), value: value.clone() };
        self.state().decide(said, || decision)?;
        self.state().start(key, true);
        Some(value)
    }

    /// The answer of a mark: what the journal has; else the newest, where the code is beyond the
    /// journal; else 0, which stands for code that had no such mark.
    pub(crate) fn mark(&self, key: &Name, newest: u32) -> u32 {
        self.count_or_panic(key);
        let mut state = self.state();
        if let Some(answer) = state.markers.get(&**key) {
            return *answer;
        }
        let answer = match state.expected.front().and_then(Said::marker) {
            Some((it, answer)) if it == &**key => {
                state.skip_marker();
                return answer;
            }
            _ if state.is_beyond() => newest,
            _ => 0,
        };
        if answer > 0 {
            let value = Value::from(answer);
            let said = Said::Recorded(Name::clone(key), value.clone());
            let decision = Decision::Record { key: Name::clone(key), value };
            if state.decide(said, || decision).is_some() {
                state.start(key, true);
            }
        }
        state.markers.insert(key.to_string(), answer);
        answer
    }

    /// Nobody waits for it any more.
    pub(crate) fn drop_operation(&self, number: u32) {
        // A panic of our own while the state was held must not become a second one.
        let Ok(mut state) = self.state.try_borrow_mut() else { return };
        let Some(started) = state.operations.get_mut(number as usize) else { return };
        if let Some(position) = started.done {
            state.claim(position);
        } else if !started.dropped {
            started.dropped = true;
            started.waker = None;
            state.behind.remove(&number);
            let _ = state.decide(Said::Dropped(number), || Decision::Drop { operation: number });
        }
    }

    /// Nobody asks what came of it any more, but it goes on.
    pub(crate) fn forget_operation(&self, number: u32) {
        let Ok(mut state) = self.state.try_borrow_mut() else { return };
        let Some(started) = state.operations.get_mut(number as usize) else { return };
        started.forgotten = true;
        let position = started.done.unwrap_or(0);
        state.claim(position);
        state.behind.remove(&number);
    }

    /// Counts what answers at once, where only a panic can end an endless loop.
    fn count_or_panic(&self, key: &Name) {
        self.state().asked += 1;
        let max = self.settings.operations_max;
        assert!(self.state().asked <= max.saturating_mul(2), "{}", too_many(max, key));
    }

    // What operations learn.

    pub(crate) fn poll_operation<T>(
        &self,
        scope: &Scope,
        number: u32,
        waker: &Waker,
        read: impl FnOnce(Result<&Assignments, &Failure>) -> Result<T, Failure>,
    ) -> Poll<Result<T, Failure>> {
        let mut guard = self.state();
        let state = &mut *guard;
        let started = &mut state.operations[number as usize];
        if let Some(position) = started.done {
            if state.horizon.is_some_and(|it| position > it) {
                // The race that hides it will look again.
                state.pending += 1;
                waker.wake_by_ref();
                return Poll::Pending;
            }
            let outcome =
                started.outcome.take().expect("who panics while it is read does not read on");
            state.claim(position);
            state.progress += 1;
            drop(guard);
            // Nothing of the state is held meanwhile: the user's code may take part in reading.
            let answer = read(outcome.as_ref().map(Brought::variables));
            self.state().operations[number as usize].outcome = Some(outcome);
            return Poll::Ready(answer);
        }
        let since = started.position;
        if let Some(failure) = state.stop_for(scope, since) {
            state.progress += 1;
            drop(guard);
            return Poll::Ready(read(Err(&failure)));
        }
        let started = &mut state.operations[number as usize];
        started.waker = Some(waker.clone());
        if !waker.will_wake(&self.waker) {
            state.behind.insert(number);
        }
        state.pending += 1;
        Poll::Pending
    }

    /// Whether a condition that was begun then must end without having become true.
    pub(crate) fn stop_for(&self, scope: &Scope, since: u64) -> Option<Failure> {
        let mut state = self.state();
        let failure = state.stop_for(scope, since);
        state.progress += u64::from(failure.is_some());
        failure
    }

    pub(crate) fn condition_is_true(&self) {
        self.state().progress += 1;
    }

    pub(crate) fn condition_waits(&self, waker: &Waker) {
        let mut state = self.state();
        state.pending += 1;
        state.conditions.push(waker.clone());
    }

    /// Nothing will come, and that is known.
    pub(crate) fn stuck(&self) {
        self.state().pending += 1;
    }

    pub(crate) fn attach(&self, number: u32, attached: bool) {
        self.state().operations[number as usize].attached = attached;
    }

    pub(crate) fn interrupt(&self, failure: Failure) {
        let mut state = self.state();
        let position = state.position;
        state.interruption.get_or_insert(Interruption { position, failure, delivered: false });
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.state().now
    }

    pub(crate) fn position(&self) -> u64 {
        self.state().position
    }

    /// Whether what is polled now was told to end.
    pub(crate) fn is_cancelled(&self, scope: &Scope) -> bool {
        let state = self.state();
        state.shields == 0 && state.sees_cancel(scope)
    }

    pub(crate) fn shield(self: &Rc<Self>) -> impl Drop + use<> {
        struct Shield(Rc<Core>);
        impl Drop for Shield {
            fn drop(&mut self) {
                self.0.state().shields -= 1;
            }
        }
        self.state().shields += 1;
        Shield(Rc::clone(self))
    }

    /// When, after that point, operations were done that nobody has taken; as far as can be seen.
    pub(crate) fn unclaimed_since(&self, seen: u64) -> (Vec<u64>, u64) {
        let state = self.state();
        let last = state.horizon.unwrap_or(u64::MAX).min(state.position);
        if seen >= last {
            return (Vec::new(), last);
        }
        let from = state.unclaimed.partition_point(|it| *it <= seen);
        let upto = state.unclaimed.partition_point(|it| *it <= last);
        (state.unclaimed.range(from..upto).copied().collect(), last)
    }

    /// Hides what was done later.
    pub(crate) fn horizon(self: &Rc<Self>, position: u64) -> impl Drop + use<> {
        struct Horizon(Rc<Core>, Option<u64>);
        impl Drop for Horizon {
            fn drop(&mut self) {
                self.0.state().horizon = self.1;
            }
        }
        let before = self.state().horizon.replace(position);
        Horizon(Rc::clone(self), before)
    }

    // What the session does.

    pub(crate) fn block(&self, message: String) {
        self.state().block(Blocked::new(message));
    }

    pub(crate) fn blocked(&self) -> Option<Blocked> {
        self.state().blocked.clone()
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    /// The last decision: how it ended.
    pub(crate) fn end(&self, decision: Decision) {
        self.state().decisions.push(decision);
    }

    /// What a handler did that it may not.
    pub(crate) fn take_misuse(&self) -> Option<String> {
        self.state().misuse.take()
    }

    /// The journal has told something, once or several times in a row, and then this was decided.
    pub(crate) fn begin_chapter(&self, chapter: Chapter) {
        let mut state = self.state();
        state.expected = chapter.expected;
        state.goes_on = chapter.goes_on;
        state.due = chapter.due;
    }

    /// What the journal tells next, in words.
    pub(crate) fn goes_on(&self) -> Option<String> {
        let state = self.state();
        state.goes_on.as_ref().map(|it| state.describe_told(it))
    }

    /// Something that the code has decided, in words.
    pub(crate) fn describe(&self, said: &Said) -> String {
        self.state().describe(said)
    }

    /// One thing that the journal tells.
    pub(crate) fn begin_step(&self, position: u64, at: Timestamp) {
        let mut state = self.state();
        state.position = position;
        state.now = at;
        state.asked = 0;
    }

    /// The code has thought about it: nothing that the journal has may be left.
    pub(crate) fn end_chapter(&self) {
        let mut state = self.state();
        while state.expected.front().is_some_and(|it| it.marker().is_some()) {
            state.skip_marker();
        }
        if let Some(said) = state.expected.front() {
            let text = format!(
                "the journal has {} where the code asks for nothing more; {WAY_OUT}",
                state.describe(said)
            );
            state.block(Blocked::nondeterministic(text));
        }
    }

    /// An operation is done. Answers whether that is so.
    pub(crate) fn finish(
        &self,
        number: u32,
        outcome: Result<Brought, Failure>,
    ) -> Result<(), String> {
        let mut guard = self.state();
        let state = &mut *guard;
        let position = state.position;
        let Some(started) = state.operations.get_mut(number as usize) else {
            return Err(format!("the journal ends operation {number}, which was never asked for"));
        };
        let waker = started.waker.take();
        if let (true, Err(failure)) = (started.attached, &outcome) {
            let failure = failure.clone().of_child();
            let interruption = Interruption { position, failure, delivered: false };
            state.interruption = Some(interruption);
        }
        if !started.dropped && !started.forgotten {
            state.unclaimed.push_back(position);
        }
        state.behind.remove(&number);
        let started = &mut state.operations[number as usize];
        (started.done, started.outcome) = (Some(position), Some(outcome));
        let interrupts = state.interruption.as_ref().is_some_and(|it| it.position == position);
        drop(guard);
        if let Some(waker) = waker {
            waker.wake();
        }
        if interrupts {
            self.wake_all();
        }
        Ok(())
    }

    pub(crate) fn cancel(&self) {
        let mut state = self.state();
        let position = state.position;
        state.cancelled.get_or_insert(position);
        drop(state);
        self.wake_all();
    }

    /// Whatever was asked may have something to say.
    pub(crate) fn wake_all(&self) {
        let mut state = self.state();
        let wakers: Vec<_> = state.operations.iter_mut().filter_map(|it| it.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The code is polled: once more, or for the first time in this step. Conditions look again.
    pub(crate) fn begin_round(&self) -> u64 {
        let mut state = self.state();
        state.pending = 0;
        let conditions = std::mem::take(&mut state.conditions);
        let progress = state.progress;
        drop(state);
        conditions.into_iter().for_each(Waker::wake);
        progress
    }

    /// Whether some code waits for a condition that may have become true while it was polled.
    pub(crate) fn has_conditions(&self) -> bool {
        !self.state().conditions.is_empty()
    }

    pub(crate) fn progress(&self) -> u64 {
        self.state().progress
    }

    /// Whether the code waits for anything that the journal can tell it.
    pub(crate) fn waits(&self) -> bool {
        let state = self.state();
        state.pending > 0 || !state.behind.is_empty()
    }

    pub(crate) fn take_decisions(&self) -> Vec<Decision> {
        std::mem::take(&mut self.state().decisions)
    }

    /// The journal goes on like this, and must begin with what was decided last. Answers how many
    /// entries that are.
    pub(crate) fn confirm(&self, entries: &[Arc<JournalEntry>]) -> Option<usize> {
        let mut state = self.state();
        let count = state.said.len();
        let written = entries.get(..count)?;
        let is_said = state.said.iter().zip(written).all(|(said, entry)| said.is_written(entry));
        state.said.clear();
        is_said.then_some(count)
    }

    /// Operations that are neither done nor dropped.
    pub(crate) fn open(&self) -> Vec<Name> {
        let state = self.state();
        let open =
            state.operations.iter().filter(|it| it.done.is_none() && !it.settled && !it.dropped);
        open.map(|it| Name::clone(&it.key)).collect()
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.state().reading
    }

    /// While this is held nothing may be asked for.
    pub(crate) fn read_only<T>(&self, read: impl FnOnce() -> T) -> T {
        self.state().reading = true;
        let answer = read();
        self.state().reading = false;
        answer
    }
}

/// The way out of most disagreements.
pub(crate) const WAY_OUT: &str = "go back to the code that wrote the journal, or put the change behind `cx.patched(…)`; it then goes on by itself";

/// The way out where only arguments differ.
const ARGUMENTS_WAY_OUT: &str = "what a function hands over must be the same when it runs again, so it \
    cannot come from a clock, from chance or from the order of a `HashMap`. Go back to the code that \
    wrote the journal, put the change behind `cx.patched(…)`, or say of the call that its \
    `arguments_may_change()`";

fn too_many(max: usize, key: &str) -> String {
    format!(
        "the code asked for more than {max} operations without waiting, `{key}` at last: a loop in \
         it never waits for anything; let it sleep, or continue as a new run"
    )
}

/// What the journal says was decided after the code was told something.
///
/// While a function was blocked it may have been told more, so that several things stand in a row of
/// which the code had not thought. What it decides at each of them then stands behind the last, and
/// that is where it is looked for.
pub(crate) struct Chapter {
    pub(crate) expected: VecDeque<Said>,
    /// What the journal tells next.
    pub(crate) goes_on: Option<Told>,
    /// Whether the code may decide anything beyond it.
    pub(crate) due: bool,
}

impl State {
    /// Counts what is asked in one step. A function that never waits would never give back its thread.
    fn count(&mut self, key: &Name, operations_max: usize) -> Option<()> {
        self.asked += 1;
        if self.asked > operations_max {
            self.block(Blocked::new(too_many(operations_max, key)));
        }
        self.blocked.is_none().then_some(())
    }

    /// Holds what the code does against the journal. `None`: they disagree.
    fn decide(&mut self, said: Said, decision: impl FnOnce() -> Decision) -> Option<()> {
        if self.closed || self.blocked.is_some() {
            return None;
        }
        if self.reading {
            let text = format!("it may only look, and asks for {}", self.describe(&said));
            self.misuse.get_or_insert(text);
            return None;
        }
        while self.expected.front().is_some_and(|it| it.marker().is_some() && !it.is_same(&said)) {
            self.skip_marker();
        }
        if let Some(front) = self.expected.front() {
            if front.is_same(&said) {
                if front.has_other_input(&said) {
                    let text = format!(
                        "the code asks for {} with other arguments than the journal has; \
                         {ARGUMENTS_WAY_OUT}",
                        self.describe(&said)
                    );
                    self.block(Blocked::nondeterministic(text));
                    return None;
                }
                self.expected.pop_front();
                return Some(());
            }
            let text = format!(
                "the journal has {} where the code asks for {}; {WAY_OUT}",
                self.describe(front),
                self.describe(&said)
            );
            self.block(Blocked::nondeterministic(text));
            return None;
        }
        if let Some(told) = &self.goes_on {
            let text = format!(
                "the code asks for {} where the journal goes on with {}; {WAY_OUT}",
                self.describe(&said),
                self.describe_told(told)
            );
            self.block(Blocked::nondeterministic(text));
            return None;
        }
        if !self.due {
            let text = format!(
                "the code asks for {} where it asked for nothing more when it ran before; {WAY_OUT}",
                self.describe(&said)
            );
            self.block(Blocked::nondeterministic(text));
            return None;
        }
        self.decisions.push(decision());
        self.said.push(said);
        Some(())
    }

    /// Someone has taken what was done then, or will not.
    fn claim(&mut self, position: u64) {
        if let Ok(at) = self.unclaimed.binary_search(&position) {
            self.unclaimed.remove(at);
        }
    }

    /// Whether the code has come to the end of the journal and may go on.
    fn is_beyond(&self) -> bool {
        self.expected.is_empty() && self.goes_on.is_none() && self.due
    }

    fn skip_marker(&mut self) {
        let Some(said) = self.expected.pop_front() else { return };
        if let (Said::Recorded(key, _), Some((id, answer))) = (&said, said.marker()) {
            self.markers.insert(id.to_owned(), answer);
            let key = Name::clone(key);
            self.start(&key, true);
        }
    }

    /// The value that the journal has next, where it is of this key.
    fn kept(&mut self, key: &Name) -> Option<Value> {
        let is_marker =
            |it: &Said| it.marker().is_some() && !matches!(it, Said::Recorded(it, _) if it == key);
        while self.expected.front().is_some_and(is_marker) {
            self.skip_marker();
        }
        match self.expected.front() {
            Some(Said::Recorded(it, value)) if it == key => Some(value.clone()),
            _ => None,
        }
    }

    fn start(&mut self, key: &Name, settled: bool) -> u32 {
        let number = u32::try_from(self.operations.len())
            .expect("operations of a run are counted in 32 bits");
        self.operations.push(Started {
            key: Name::clone(key),
            position: self.position,
            done: None,
            outcome: None,
            settled,
            dropped: false,
            attached: false,
            waker: None,
            forgotten: false,
        });
        number
    }

    fn sees_cancel(&self, scope: &Scope) -> bool {
        let visible = |at: u64| self.horizon.is_none_or(|it| at <= it);
        self.cancelled.is_some_and(visible) || scope.cancelled_at().is_some_and(visible)
    }

    /// Why an operation is not even asked for.
    fn refusal(&mut self, scope: &Scope) -> Option<Failure> {
        if self.shields > 0 || self.blocked.is_some() {
            return None;
        }
        if self.sees_cancel(scope) {
            return Some(Failure::cancelled());
        }
        let interruption = self.interruption.as_mut().filter(|it| !it.delivered)?;
        interruption.delivered = true;
        Some(interruption.failure.clone())
    }

    /// Why what was begun then answers now, although it is not done.
    fn stop_for(&mut self, scope: &Scope, since: u64) -> Option<Failure> {
        if self.shields > 0 || self.blocked.is_some() {
            return None;
        }
        if self.sees_cancel(scope) {
            return Some(Failure::cancelled());
        }
        let horizon = self.horizon;
        let applies = |it: &&mut Interruption| {
            since < it.position && horizon.is_none_or(|horizon| it.position <= horizon)
        };
        let interruption = self.interruption.as_mut().filter(applies)?;
        interruption.delivered = true;
        Some(interruption.failure.clone())
    }

    fn block(&mut self, blocked: Blocked) {
        self.blocked.get_or_insert(blocked);
    }

    fn describe(&self, said: &Said) -> String {
        match said {
            Said::Asked(key, _) | Said::Recorded(key, _) | Said::Sent(key, _) => {
                format!("`{key}`")
            }
            Said::Dropped(number) => format!("the drop of {}", self.describe_operation(*number)),
        }
    }

    fn describe_told(&self, told: &Told) -> String {
        match told {
            Told::Began => "another beginning".into(),
            Told::Done(number) => format!("the end of {}", self.describe_operation(*number)),
            Told::Cancelled => "its cancellation".into(),
            Told::Updated(name) => format!("update `{name}`"),
        }
    }

    fn describe_operation(&self, number: u32) -> String {
        match self.operations.get(number as usize) {
            Some(it) => format!("`{}`", it.key),
            None => format!("operation {number}"),
        }
    }
}
