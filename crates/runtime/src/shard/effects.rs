//! What an instance asks of the world: timers, work, messages, calls.

use std::{sync::Arc, time::Duration};

use travertine_kernel::{Command, Effect, Post, PostId, WaitFor, WaitId, plan::Events};
use travertine_store::record::{Letter, Message};
use travertine_value::Name;

use super::{Case, Live, Shard, alarm::Alarm, function, guard::step, outbox::Release};
use crate::{Address, InstanceId, Timestamp, message::note_sender};

/// Instances that start others sooner than this after their own start are links of one chain.
const CHAIN: Duration = Duration::from_secs(1);

impl Shard {
    /// Sees to one thing that an instance asks for.
    pub(super) fn act(&mut self, live: &mut Live, effect: Effect) {
        match effect {
            Effect::Arm(wait, on) => self.arm(live, wait, &on),
            Effect::Disarm(wait) => self.disarm(live, wait),
            Effect::Send(post, what) => {
                step("send");
                let instance = live.id;
                self.post(live, &what, Letter::Delivered { instance, post });
            }
        }
    }

    fn arm(&mut self, live: &mut Live, wait: WaitId, on: &Arc<WaitFor>) {
        step("arm");
        let id = live.id;
        match &**on {
            WaitFor::Timer { due, .. } => {
                if *due <= self.now {
                    live.hurried.insert(wait);
                }
                self.alarms.set(*due, Alarm::Wait(Address { instance: id, wait }));
            }
            WaitFor::Message { .. } | WaitFor::Signal { .. } => self.subscribe(live, wait, on),
            WaitFor::Delivery(post) => {
                let to = Address { instance: id, wait };
                self.post(live, post, Letter::Signal { to, variables: Vec::new() });
            }
            WaitFor::Child { definition, binding, variables, catches } => {
                self.call(live, wait, definition, binding.as_deref(), variables, catches);
            }
            WaitFor::Work(_) => self.offer_new(live, wait),
            // People find these in the state; conditions are the kernel's own business.
            WaitFor::Gate(_) | WaitFor::Choice | WaitFor::Condition | WaitFor::Data { .. } => {}
        }
        step("armed");
    }

    /// Finds again, after the log was read, what `arm` saw to; what went to others is there already.
    pub(super) fn arm_again(&mut self, live: &mut Live, wait: WaitId, on: &Arc<WaitFor>) {
        match &**on {
            WaitFor::Timer { due, .. } => self.alarms.set(*due, Alarm::Wait(live.address(wait))),
            WaitFor::Message { .. } | WaitFor::Signal { .. } => {
                self.subscribe_again(live, wait, on);
            }
            WaitFor::Work(_) => {
                self.offer(live, wait);
            }
            WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice
            | WaitFor::Condition
            | WaitFor::Data { .. } => {}
        }
    }

    pub(super) fn disarm(&mut self, live: &mut Live, wait: WaitId) {
        step("disarm");
        let id = live.id;
        self.alarms.unset(Alarm::Wait(Address { instance: id, wait }));
        live.hurried.remove(&wait);
        if let Some(work) = live.work.remove(&wait) {
            self.alarms.unset(Alarm::Job(Address { instance: id, wait }));
            if work.limit.is_some() {
                self.env.board.leave(live.address(wait));
            }
            // Also what a worker has may be on its way up: someone may have offered it again meanwhile.
            if work.is_up {
                self.outbox.release(Release::Withdraw(live.any_offer(wait, &work)));
            }
            self.call_off_attempt(id, wait);
        } else if let Some(run) = live.calls.remove(&wait) {
            let to = self.place_of_run(run);
            self.send(to, Letter::Uncall { from: Address { instance: id, wait } });
        } else {
            self.unsubscribe(live, wait);
        }
        step("disarmed");
    }

    /// Sends something on behalf of an instance, which then hears `confirm`. Whoever is told of an
    /// escalation says so; all else is on its way with this batch.
    fn post(&mut self, live: &Live, what: &Post, confirm: Letter) {
        let (to, letter) = match what {
            Post::Message { name, correlation, payload } => {
                let mut message = Message {
                    correlation: correlation.clone(),
                    variables: payload.clone(),
                    ..Message::new(name)
                };
                if live.definition.plan.policy.events == Events::Strict
                    && let Letter::Delivered { post, .. } = &confirm
                {
                    note_sender(&mut message, live.id, *post);
                }
                if live.definition.is_function() {
                    function::as_event(&mut message);
                }
                let published = Timestamp::default();
                let letter = Letter::Publish { message, again: false, published, expires: None };
                (self.keeper(name), letter)
            }
            // The sender has told its own tokens already.
            Post::Signal { name, payload } => {
                let (name, variables) = (Name::clone(name), payload.clone());
                let from = Some(live.id);
                (self.keeper(&name), Letter::Broadcast { name, variables, from })
            }
            Post::Escalation { code, variables } => {
                let Some(to) = live.created.caller else {
                    self.outbox.enqueue(confirm);
                    return;
                };
                let (code, variables, confirm) =
                    (code.clone(), variables.clone(), Box::new(confirm));
                let letter = Letter::Escalated { to, code, variables, confirm };
                self.send(self.shard_of(to.instance), letter);
                return;
            }
            Post::Start { definition, id, variables } => {
                let (definition, id, variables) =
                    (Name::clone(definition), Name::clone(id), variables.clone());
                (self.keeper(&id), Letter::Start { definition, id, variables })
            }
        };
        self.outbox.send_chained(to, letter, self.next_generation(live));
        self.outbox.enqueue(confirm);
    }

    /// How many instances have started one another up to those that this one starts by what it sends. One
    /// that has run for a while begins a chain of its own.
    fn next_generation(&self, live: &Live) -> u32 {
        let ran = live.state.started.map_or(Duration::ZERO, |it| self.now.since(it));
        if ran < CHAIN { live.generation.saturating_add(1) } else { 1 }
    }

    /// A timer rings, of whatever kind. Says whether there was one.
    pub(super) fn ring_next(&mut self) -> bool {
        let Some((due, alarm)) = self.alarms.take(self.now) else { return false };
        if let Some(case) = Case::alarm(due, alarm) {
            let next = self.alarms.due(self.now).filter_map(|(due, it)| Case::alarm(*due, *it));
            self.agenda.quarantine.begin(case, next);
        }
        match alarm {
            Alarm::Wait(at) => self.rung(at),
            Alarm::Start(start) => self.start_timer_due(start),
            Alarm::Job(Address { instance, wait }) => self.job_again(instance, wait),
            Alarm::Message(number) => self.expire(number),
            Alarm::Attempt(at) => self.attempt_rang(at),
            Alarm::Limit => {
                self.env.board.pass(self.now);
                self.set_limit_alarm();
            }
            Alarm::Throttle => self.start_waiting(),
        }
        true
    }

    pub(super) fn rung(&mut self, to: Address) {
        let letter = Letter::Ring { to };
        let again = |it: &Letter| matches!(it, Letter::Ring { to: it } if *it == to);
        if self.live(to.instance).is_ok_and(|it| it.deferred.iter().any(again)) {
            // It rang before a restart, too.
            return;
        }
        self.handle_or_defer(to.instance, &letter, |shard, live| {
            let wait = to.wait;
            live.hurry = live.hurried.remove(&wait);
            let command = Command::Complete { wait, variables: Vec::new() };
            let told = shard.turn(live, command);
            live.hurry = false;
            told
        });
    }

    /// What an instance has sent is there. The instance may have ended since, or gone on without.
    pub(super) fn delivered(&mut self, id: InstanceId, post: PostId) {
        self.with_or_defer(id, &Letter::Delivered { instance: id, post }, |shard, live| {
            shard.turn(live, Command::Delivered { post })
        });
    }

    pub(super) fn cancelled(&mut self, id: InstanceId) {
        // It may have ended by itself.
        self.with_or_defer(id, &Letter::Cancel { instance: id }, |shard, live| {
            shard.cancel_live(live)
        });
    }

    /// When a timer is due, as far as anyone has moved it.
    pub(super) fn set_timer(&mut self, id: InstanceId, wait: WaitId, due: Timestamp) {
        self.alarms.set(due, Alarm::Wait(Address { instance: id, wait }));
    }
}
