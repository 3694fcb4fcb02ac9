//! An instance is told something, and what it asks for is seen to.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
    sync::Arc,
};

use travertine_kernel::{
    Command, Effect, Event, Identity, Phase, Post, PostId, Rejection, Turn, WaitFor, WaitId,
    effects, handle_with,
};
use travertine_store::codec::record::{Consume, Created, Letter, Message, Record};
use travertine_value::Name;

use super::{Case, Ended, Seen, Shard, alarm::Alarm, function, outbox::Release};
use crate::{Error, InstanceId, Timestamp};

/// Instances that start others sooner than this after their own start are links of one chain.
const CHAIN_MS: i64 = 1_000;

/// Whether an instance has heard something.
pub(super) enum Heard {
    /// It has, or will as soon as it can.
    Yes,
    /// It does not wait for it any more.
    No,
    /// It waits, but not for so much.
    TooMuch(String),
}

impl Shard {
    /// Has an instance handle a command.
    pub(super) fn turn(&mut self, id: u64, command: Command) -> Result<(), Error> {
        self.turn_with(id, command, Vec::new())
    }

    /// Has an instance handle a command, and has `records` become true with it.
    pub(super) fn turn_with(
        &mut self,
        id: u64,
        command: Command,
        records: Vec<Record>,
    ) -> Result<(), Error> {
        if !self.agenda.quarantine.is_careful() {
            return self.take_turn(id, command, records);
        }
        self.note_turn(id, &command);
        let turned = self.take_turn(id, command, records);
        self.agenda.quarantine.turned();
        turned
    }

    fn take_turn(&mut self, id: u64, command: Command, records: Vec<Record>) -> Result<(), Error> {
        let (now, budgets) = (self.now, Arc::clone(&self.env.budgets));
        let _span = tracing::trace_span!("turn", instance = id).entered();
        let seen = self.watchers.hook.is_some().then(|| command.clone());
        let room = self.outbox.buffer();
        let definitions = self.env.newest();
        let live = self.live(id)?;
        if let Some(reason) = &live.halted {
            return Err(Error::Halted { instance: live.id, reason: reason.clone() });
        }
        if command == Command::Continue {
            live.turns += 1;
        } else if live.state.is_unfinished() {
            // It has not come to rest. What it sent itself is no reason to think that it has.
            live.turns += u32::from(matches!(command, Command::Delivered { .. }));
        } else {
            live.turns = 0;
            live.hurries = if std::mem::take(&mut live.hurry) { live.hurries + 1 } else { 0 };
        }
        let definition = Arc::clone(&live.definition);
        let introduction = live.introduction();
        live.state.introduce(introduction);
        let state = &mut live.state;
        let (plan, rules) = (&definition.plan, definitions.rules(&definition));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            handle_with(plan, &rules, state, now, command, room, &budgets)
        }));
        live.state.introduce(Identity::default());
        match outcome {
            Ok(Ok(mut turn)) => {
                let mut records = records;
                let lost = self.think(id, &mut turn, &mut records);
                self.happened(id, turn, None, records, seen.as_ref());
                lost.map_or(Ok(()), |reason| Err(self.halt(id, reason)))
            }
            Ok(Err(rejection)) => Err(rejection.into()),
            Err(panic) => {
                live.torn = true;
                let reason = format!("the engine failed: {}", panic_text(&*panic));
                Err(self.halt(id, reason))
            }
        }
    }

    /// Writes what has happened to an instance, and sees to what it asks for.
    pub(super) fn happened(
        &mut self,
        id: u64,
        turn: Turn,
        created: Option<Created>,
        more: Vec<Record>,
        command: Option<&Command>,
    ) {
        let now = self.now;
        let live = self.instances.lives.get_mut(&id).expect("it has just taken a turn");
        // Those it has called itself are as many as its tokens at most.
        let root = (live.created.depth > 0).then(|| live.root());
        let calls = live.calls.len();
        live.note(now.as_millis(), &turn.events);
        self.agenda.events += turn.events.len() as u64 + 1;
        for record in &more {
            live.learn(record);
        }
        if let (Some(hook), Some(command)) = (&mut self.watchers.hook, command) {
            let wanted: Vec<Effect> = effects(&turn.events).collect();
            hook(Seen { now, live, command, events: &turn.events, effects: &wanted });
        }
        let turns = live.turns;
        let offered = live.reconsidered(&turn.events);
        let repaired = turn.events.iter().any(|it| matches!(it, Event::IncidentResolved { .. }));
        let blocked = live.definition.is_function()
            && turn.events.iter().any(|it| matches!(it, Event::IncidentRaised { .. }));
        let ended = live.has_ended();
        let mut events = turn.events;
        if !self.tell_happened(id, created, &mut events, more) {
            return;
        }
        for effect in effects(&events) {
            self.act(id, effect);
        }
        let live = self.instances.lives.get_mut(&id).expect("it was here a moment ago");
        // What began and ended in one turn has no effect.
        live.forget_closed(&events);
        let (before, after) = (calls, live.calls.len());
        let hurries = live.hurries;
        if let Some(root) = root.filter(|_| before != after) {
            self.instances.count_calls(root, before, after);
        }
        self.outbox.give_back(events);
        for wait in offered {
            self.offer(id, wait);
        }
        if blocked {
            self.tell_blocked(id);
        }
        if ended {
            self.finish(id);
        } else if repaired {
            self.recall(id);
        }
        if turn.unfinished && turns >= self.env.settings.turns_max {
            let reason = format!(
                "it has not come to rest after {turns} turns in a row: cancel it, or change its variables \
                 or where its tokens are; resolved as it is, it goes on"
            );
            self.halt(id, reason);
        } else if hurries >= self.env.settings.instant_timers_max {
            let reason = format!(
                "{hurries} of its timers in a row were due when they were set: cancel it, or change its \
                 variables or where its tokens are; resolved as it is, it goes on"
            );
            self.halt(id, reason);
        } else if turn.unfinished {
            self.agenda.unfinished.push_back(id);
        }
    }

    /// Writes what has happened to an instance, and what else has become true of it with that.
    fn tell_happened(
        &mut self,
        id: u64,
        created: Option<Created>,
        events: &mut Vec<Event>,
        more: Vec<Record>,
    ) -> bool {
        let mut happened = (!events.is_empty()).then(|| Record::Happened(std::mem::take(events)));
        let told = if created.is_none() && more.is_empty() {
            // Most turns are nothing else.
            happened.as_ref().is_none_or(|it| self.tell(id, slice::from_ref(it)))
        } else {
            let created = created.map(Record::Created);
            let mut records: Vec<Record> =
                created.into_iter().chain(happened.take()).chain(more).collect();
            let told = self.tell(id, &records);
            happened = records.extract_if(.., |it| matches!(it, Record::Happened(_))).next();
            told
        };
        if let Some(Record::Happened(told)) = happened {
            *events = told;
        }
        told
    }

    /// Writes what has become true of an instance. Says whether that was possible; otherwise the
    /// instance is halted, and one of which nothing was written yet is not to be kept.
    pub(super) fn tell(&mut self, id: u64, records: &[Record]) -> bool {
        let live =
            self.instances.lives.get_mut(&id).expect("whoever tells of an instance has seen it");
        match self.outbox.append(self.now, live.id, live.last, records) {
            Ok(size) => {
                live.last = self.outbox.seq;
                live.tail += size;
                self.views.mark(live);
                true
            }
            Err(error) => {
                let reason = format!("what has happened cannot be stored: {error}");
                if live.last == 0 {
                    live.halted = Some(reason);
                } else {
                    self.halt(id, reason);
                }
                false
            }
        }
    }

    /// Takes note of records that do not come from the kernel, and writes them.
    pub(super) fn learn(&mut self, id: u64, records: &[Record]) {
        let live =
            self.instances.lives.get_mut(&id).expect("whoever learns of an instance has seen it");
        for record in records {
            live.learn(record);
        }
        self.tell(id, records);
    }

    /// The rows of an instance must be written.
    pub(super) fn mark(&mut self, id: u64) {
        let live =
            self.instances.lives.get_mut(&id).expect("whoever changes an instance has seen it");
        self.views.mark(live);
    }

    /// Gives an instance up until someone has looked at it. Nothing else is touched.
    pub(super) fn halt(&mut self, id: u64, reason: String) -> Error {
        tracing::error!(instance = id, %reason, "an instance is halted");
        let live = self.instances.lives.get_mut(&id).expect("it has just failed");
        let name = live.id;
        live.halted = Some(reason.clone());
        let offers: Vec<_> =
            live.work.iter().map(|(wait, work)| live.any_offer(*wait, work)).collect();
        for offer in offers {
            self.outbox.release(Release::Withdraw(offer));
        }
        self.tell(id, &[Record::Halted(reason.clone())]);
        self.tell_stuck(id);
        Error::Halted { instance: name, reason }
    }

    /// Tells an instance something that it may not be able to hear now. It is kept for it then.
    pub(super) fn tell_or_defer(&mut self, id: u64, command: Command, letter: &Letter) -> Heard {
        self.tell_with_or_defer(id, command, Vec::new(), letter)
    }

    /// The same, and has `records` become true once it has heard.
    pub(super) fn tell_with_or_defer(
        &mut self,
        id: u64,
        command: Command,
        records: Vec<Record>,
        letter: &Letter,
    ) -> Heard {
        let Ok(live) = self.live(id) else { return Heard::No };
        let deaf = live.suspended || live.halted.is_some();
        // Of one that is halted the log may tell something else.
        if live.has_ended() && live.halted.is_none() {
            return Heard::No;
        }
        if !deaf {
            match self.turn_with(id, command, records) {
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
        self.learn(id, &[Record::Deferred(letter.clone())]);
        Heard::Yes
    }

    /// Tells an instance what it could not hear before.
    pub(super) fn recall(&mut self, id: u64) {
        let live = self.instances.lives.get_mut(&id).expect("it can hear again");
        let letters = std::mem::take(&mut live.deferred);
        if letters.is_empty() {
            return;
        }
        self.tell(id, &[Record::Recalled]);
        for letter in letters {
            self.outbox.enqueue(letter);
        }
    }

    /// Goes on with an instance that used up its turn.
    pub(super) fn go_on(&mut self) {
        let Some(id) = self.agenda.take_unfinished() else { return };
        let Ok(live) = self.live(id) else { return };
        if live.has_ended() || live.suspended || live.halted.is_some() {
            return;
        }
        self.begin_turn(id);
        // What it refuses now it has finished meanwhile.
        let _: Result<(), Error> = self.turn(id, Command::Continue);
    }

    /// What an ended instance leaves to be done.
    pub(super) fn finish(&mut self, id: u64) {
        let live = self.instances.lives.get_mut(&id).expect("it has just ended");
        let Phase::Ended(ending) = live.state.phase.clone() else { return };
        live.rest();
        if !self.env.settings.keeps_ended {
            self.instances.ending.push(id);
        }
        let variables = live.result();
        let (caller, deferred) = (live.created.caller, std::mem::take(&mut live.deferred));
        for letter in deferred {
            self.give_back(letter);
        }
        for watcher in self.watchers.take(id) {
            let ended = Ended { ending: ending.clone(), variables: variables.clone() };
            self.tell_watcher(watcher, Ok(ended));
        }
        if let Some(to) = caller {
            let letter = Letter::Ended { to, child: id, ending, variables };
            self.send(self.shard_of(to.0), letter);
        }
    }

    /// A message that its receiver did not want goes to another.
    pub(super) fn give_back(&mut self, letter: Letter) {
        // One for all is kept for them anyway.
        if let Letter::Deliver { message, published, expires, shared: None, .. } = letter
            && message.consume == Consume::One
        {
            let keeper = self.keeper(&message.name);
            self.send(keeper, Letter::Publish { message, again: true, published, expires });
        }
    }

    /// Sees to one thing that an instance asks for.
    fn act(&mut self, id: u64, effect: Effect) {
        match effect {
            Effect::Arm(wait, on) => self.arm(id, wait, &on),
            Effect::Disarm(wait) => self.disarm(id, wait),
            Effect::Send(post, what) => {
                self.post(id, &what, Letter::Delivered { instance: id, post: post.0 });
            }
        }
    }

    fn arm(&mut self, id: u64, wait: WaitId, on: &Arc<WaitFor>) {
        match &**on {
            WaitFor::Timer { due, .. } => {
                if *due <= self.now {
                    let live = self.instances.lives.get_mut(&id).expect("it has just asked");
                    live.hurried.insert(wait);
                }
                self.alarms.set(*due, Alarm::Wait(id, wait.0));
            }
            WaitFor::Message { .. } | WaitFor::Signal { .. } => self.subscribe(id, wait, on),
            WaitFor::Delivery(post) => {
                let to = (id, wait.0);
                self.post(id, post, Letter::Signal { to, variables: Vec::new() });
            }
            WaitFor::Child { definition, binding, variables, catches } => {
                self.call(id, wait, definition, binding.as_deref(), variables, catches);
            }
            WaitFor::Work(_) => self.offer_new(id, wait),
            // People find these in the state; conditions are the kernel's own business.
            WaitFor::Gate(_) | WaitFor::Choice | WaitFor::Condition | WaitFor::Data { .. } => {}
        }
    }

    /// Finds again, after the log was read, what `arm` saw to; what went to others is there already.
    pub(super) fn arm_again(&mut self, id: u64, wait: WaitId, on: &Arc<WaitFor>) {
        match &**on {
            WaitFor::Timer { due, .. } => self.alarms.set(*due, Alarm::Wait(id, wait.0)),
            WaitFor::Message { .. } | WaitFor::Signal { .. } => self.subscribe_again(id, wait, on),
            WaitFor::Work(_) => {
                self.offer(id, wait);
            }
            WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice
            | WaitFor::Condition
            | WaitFor::Data { .. } => {}
        }
    }

    pub(super) fn disarm(&mut self, id: u64, wait: WaitId) {
        self.alarms.unset(Alarm::Wait(id, wait.0));
        let live = self.instances.lives.get_mut(&id).expect("it has just asked");
        live.hurried.remove(&wait);
        if let Some(work) = live.work.remove(&wait) {
            let job = live.address(wait);
            // Also what a worker has may be on its way up: someone may have offered it again meanwhile.
            let offer = work.is_up.then(|| live.any_offer(wait, &work));
            self.alarms.unset(Alarm::Job(id, wait.0));
            if work.limit.is_some() {
                self.env.board.leave(job);
            }
            if let Some(offer) = offer {
                self.outbox.release(Release::Withdraw(offer));
            }
            self.call_off_attempt(id, wait);
        } else if let Some(run) = live.calls.remove(&wait) {
            let to = self.place_of_run(run);
            self.send(to, Letter::Uncall { from: (id, wait.0) });
        } else {
            self.unsubscribe(id, wait);
        }
    }

    /// Sends something on behalf of an instance, which then hears `confirm`. Whoever is told of an
    /// escalation says so; all else is on its way with this batch.
    fn post(&mut self, id: u64, what: &Post, confirm: Letter) {
        let (to, letter) = match what {
            Post::Message { name, correlation, payload } => {
                let mut message = Message {
                    correlation: correlation.clone(),
                    variables: payload.clone(),
                    ..Message::new(name)
                };
                if self.instances.lives[&id].definition.is_function() {
                    function::as_event(&mut message);
                }
                let letter = Letter::Publish { message, again: false, published: 0, expires: None };
                (self.keeper(name), letter)
            }
            // The sender has told its own tokens already.
            Post::Signal { name, payload } => {
                let (name, variables) = (Name::clone(name), payload.clone());
                (self.keeper(&name), Letter::Broadcast { name, variables, from: Some(id) })
            }
            Post::Escalation { code, variables } => {
                let Some(to) = self.instances.lives[&id].created.caller else {
                    self.outbox.enqueue(confirm);
                    return;
                };
                let (code, variables, confirm) =
                    (code.clone(), variables.clone(), Box::new(confirm));
                let letter = Letter::Escalated { to, code, variables, confirm };
                self.send(self.shard_of(to.0), letter);
                return;
            }
            Post::Start { definition, id, variables } => {
                let (definition, id, variables) =
                    (Name::clone(definition), Name::clone(id), variables.clone());
                (self.keeper(&id), Letter::Start { definition, id, variables })
            }
        };
        let generation = self.next_generation(id);
        self.outbox.send_chained(to, letter, generation);
        self.outbox.enqueue(confirm);
    }

    /// How many instances have started one another up to those that this one starts by what it sends. One
    /// that has run for a while begins a chain of its own.
    fn next_generation(&self, id: u64) -> u32 {
        let live = &self.instances.lives[&id];
        let ran = live.state.started.map_or(0, |it| self.now.as_millis() - it.as_millis());
        if ran < CHAIN_MS { live.generation.saturating_add(1) } else { 1 }
    }

    /// A timer rings, of whatever kind. Says whether there was one.
    pub(super) fn ring_next(&mut self) -> bool {
        let Some((due, alarm)) = self.alarms.take(self.now) else { return false };
        if let Some(case) = Case::alarm(due, alarm) {
            let next = self.alarms.due(self.now).filter_map(|(due, it)| Case::alarm(*due, *it));
            self.agenda.quarantine.begin(case, next);
        }
        match alarm {
            Alarm::Wait(instance, wait) => self.rung((instance, wait)),
            Alarm::Start(start) => self.start_timer_rung(start, due),
            Alarm::Job(instance, wait) => self.job_again(instance, WaitId(wait)),
            Alarm::Message(number) => self.expire(number),
            Alarm::Attempt(instance, wait) => self.attempt_rang((instance, wait)),
            Alarm::Limit => {
                self.env.board.pass(self.now);
                self.set_limit_alarm();
            }
        }
        true
    }

    pub(super) fn rung(&mut self, to: (u64, u64)) {
        let again = |it: &Letter| matches!(it, Letter::Ring { to: it } if *it == to);
        if self.live(to.0).is_ok_and(|it| it.deferred.iter().any(again)) {
            // It rang before a restart, too.
            return;
        }
        let command = Command::Complete { wait: WaitId(to.1), variables: Vec::new() };
        if let Ok(live) = self.live(to.0) {
            live.hurry = live.hurried.remove(&WaitId(to.1));
        }
        self.tell_or_defer(to.0, command, &Letter::Ring { to });
        if let Ok(live) = self.live(to.0) {
            live.hurry = false;
        }
    }

    /// What an instance has sent is there. The instance may have ended since, or gone on without.
    pub(super) fn delivered(&mut self, id: u64, post: u64) {
        let told = self.turn(id, Command::Delivered { post: PostId(post) });
        if let Err(Error::Halted { .. }) = told {
            self.learn(id, &[Record::Deferred(Letter::Delivered { instance: id, post })]);
        }
    }

    pub(super) fn cancelled(&mut self, id: u64) {
        // It may have ended by itself.
        if let Err(Error::Halted { .. }) = self.cancel(InstanceId(id)) {
            self.learn(id, &[Record::Deferred(Letter::Cancel { instance: id })]);
        }
    }

    /// When a timer is due, as far as anyone has moved it.
    pub(super) fn set_timer(&mut self, id: u64, wait: WaitId, due: i64) {
        self.alarms.set(Timestamp::from_millis(due), Alarm::Wait(id, wait.0));
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason".into())
}
