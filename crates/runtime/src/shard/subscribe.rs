//! Those who wait for messages and signals, and what is delivered to them.

use std::sync::Arc;

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{
    Assignments, Command, WaitFor, WaitId,
    plan::{Correlation, Events, Receivers},
};
use travertine_store::record::{
    Consume, Held, Letter, Record, Shared, Subscription, SubscriptionKind,
};
use travertine_value::Name;

use super::{Live, Shard, guard::Heard};
use crate::{
    Address, Definition, InstanceId, SignalReceipt, StartOn,
    message::{BY_VARIABLES, INSTANCE, KEYED, PROCESS, address, take_awaited},
};

impl Shard {
    /// A message is there for a wait.
    pub(super) fn deliver(&mut self, letter: Letter) {
        let Letter::Deliver { to, message, shared, .. } = &letter else { return };
        let (to, variables) = (*to, message.variables.clone());
        let wait = to.wait;
        let heard = |live: &Live| -> Vec<Record> {
            shared.iter().map(|it| live.after_hearing(&message.name, *it)).collect()
        };
        let told = self.handle_or_defer(to.instance, &letter, |shard, live| {
            let records = heard(live);
            shard.turn_with(live, Command::Complete { wait, variables }, records)
        });
        match told {
            Heard::Yes => {
                let Letter::Deliver { mut message, .. } = letter else { return };
                let awaited = take_awaited(&mut message);
                self.decided(awaited, Some(to.instance));
            }
            Heard::No => self.give_back(letter),
            Heard::TooMuch(why) => {
                self.with_any(to.instance, |shard, live| {
                    let records = heard(live);
                    if !records.is_empty() {
                        shard.learn(live, &records);
                    }
                    shard.listen_again(live, wait);
                });
                self.return_to_keeper(letter, &why);
            }
        }
    }

    /// A message cannot be taken by its receiver, and by no other.
    fn return_to_keeper(&mut self, letter: Letter, why: &str) {
        let Letter::Deliver { to, mut message, published, expires, shared, .. } = letter else {
            return;
        };
        let awaited = take_awaited(&mut message);
        self.decided(awaited, None);
        let name = &message.name;
        tracing::error!(instance = to.instance.0, %name, why, "a message is too much for its receiver");
        // One for all is among the messages still.
        if shared.is_none() {
            let reason = format!("instance {} waited for it, but {why}", to.instance).into();
            let keeper = self.keeper(name);
            self.send(keeper, Letter::Bury { message, published, expires, reason });
        }
    }

    /// Something came that is too much for any instance. Whoever waits goes on waiting.
    fn listen_again(&mut self, live: &mut Live, wait: WaitId) {
        let on = live.state.waits.get(&wait).map(|it| Arc::clone(&it.on));
        if let Some(on) = on {
            self.subscribe(live, wait, &on);
        }
    }

    /// A signal is there for a wait.
    pub(super) fn signalled(&mut self, to: Address, variables: Assignments) {
        let letter = Letter::Signal { to, variables: variables.clone() };
        let wait = to.wait;
        let command = Command::Complete { wait, variables };
        let heard =
            self.handle_or_defer(to.instance, &letter, |shard, live| shard.turn(live, command));
        if let Heard::TooMuch(why) = heard {
            tracing::error!(
                instance = to.instance.0,
                wait = to.wait.0,
                why,
                "a signal is too much for its receiver"
            );
            self.with_any(to.instance, |shard, live| shard.listen_again(live, wait));
        }
    }

    /// Tells all that wait for a signal at this moment, except who sent it.
    pub(super) fn broadcast(
        &mut self,
        name: &Name,
        variables: &Assignments,
        from: Option<InstanceId>,
    ) -> SignalReceipt {
        let mut received = 0;
        for to in self.messages.waiting.signal(name) {
            if Some(to.instance) == from {
                continue;
            }
            received += 1;
            self.forget(to);
            self.send(
                self.shard_of(to.instance),
                Letter::Signal { to, variables: variables.clone() },
            );
        }
        let wanted = |on: &StartOn| matches!(on, StartOn::Signal(it) if it == name);
        let is_bare = |it: &Definition| it.plan.policy.events == Events::Strict;
        let with = self.trigger_starts(|it, on| wanted(on) && !is_bare(it), variables).len();
        let bare = self.trigger_starts(|it, on| wanted(on) && is_bare(it), &Vec::new()).len();
        let started = (with + bare) as u64;
        SignalReceipt { number: 0, received, started }
    }

    /// A wait for messages or signals begins.
    pub(super) fn subscribe(&mut self, live: &mut Live, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = live.subscription(wait, on) else { return };
        let keeper = self.keeper(&subscription.name);
        if keeper == self.id() {
            self.wait_or_take(subscription);
        } else {
            live.subscribed.insert(wait, keeper);
            self.send(keeper, Letter::Subscribe(subscription));
        }
    }

    /// Subscribes a wait again after the log was read: nobody is told and nothing is taken.
    pub(super) fn subscribe_again(&mut self, live: &Live, wait: WaitId, on: &WaitFor) {
        let Some(subscription) = live.subscription(wait, on) else { return };
        if self.keeper(&subscription.name) == self.id() {
            self.messages.subscribe(subscription);
        }
    }

    /// Someone waits, unless what is waited for is here already.
    fn wait_or_take(&mut self, it: Subscription) {
        if it.kind == SubscriptionKind::Signal {
            self.messages.subscribe(it);
            return;
        }
        if self.take(&it, &Vec::new()) {
            return;
        }
        let names = self.messages.held.variables_asked(&it, self.now);
        let of = it.address();
        self.messages.subscribe(it);
        if !names.is_empty() {
            let names = names.into_iter().collect();
            self.send(self.shard_of(of.instance), Letter::AskVariables { of, names });
        }
    }

    /// The shard that finds receivers wants to know what a wait sees.
    pub(super) fn reply_variables(&mut self, of: Address, names: &[Name]) {
        let Some((name, values)) = self.seen_by(of, names.iter()) else { return };
        self.send(self.keeper(&name), Letter::Variables { of, values });
    }

    /// Some variables of a wait are known now, and so perhaps which message is for it.
    pub(super) fn variables_known(&mut self, of: Address, values: &Assignments) {
        let Some(it) = self.messages.waiting.get(of).cloned() else { return };
        if self.take(&it, values) {
            self.unsubscribe_logged(of);
        }
    }

    /// Takes the oldest message that is held for a wait, some of whose variables are known. Says whether
    /// there is one.
    fn take(&mut self, it: &Subscription, variables: &Assignments) -> bool {
        let now = self.now;
        let Some(held) = self.messages.held.find(it, variables, now).cloned() else { return false };
        let Held { number, message, published, expires, .. } = held;
        let to = it.address();
        let mut records = Vec::new();
        let shared = match message.consume {
            Consume::One => {
                self.let_go(number);
                records.push(Record::Gone { message: number });
                None
            }
            Consume::All => Some(Shared { number, upto: self.messages.held.had_upto(it, number) }),
        };
        if self.shard_of(to.instance) != self.id() {
            records.push(Record::Unsubscribed { instance: to.instance, wait: to.wait });
        }
        if !records.is_empty() {
            self.write(&records);
        }
        let message = address(message, to.instance);
        let letter = Letter::Deliver { to, message, published, expires, shared };
        self.send(self.shard_of(to.instance), letter);
        true
    }

    /// Someone does not wait any more.
    pub(super) fn forget(&mut self, address: Address) {
        self.unsubscribe_logged(address);
        if self.shard_of(address.instance) != self.id() {
            let Address { instance, wait } = address;
            self.write(&[Record::Unsubscribed { instance, wait }]);
        }
    }

    /// Someone does not wait any more, and the log says so already.
    pub(super) fn unsubscribe_logged(&mut self, address: Address) {
        self.messages.unsubscribe(address, &mut self.views);
    }

    /// A wait for messages or signals is over, if it was one.
    pub(super) fn unsubscribe(&mut self, live: &mut Live, wait: WaitId) {
        let id = live.id;
        if let Some(keeper) = live.subscribed.remove(&wait) {
            self.send(keeper, Letter::Unsubscribe { instance: id, wait });
        } else {
            self.forget(Address { instance: id, wait });
        }
    }

    /// An instance of another shard waits.
    pub(super) fn subscribe_remote(&mut self, subscription: Subscription) {
        self.write(&[Record::Subscribed(subscription.clone())]);
        self.wait_or_take(subscription);
    }

    /// An instance of another shard does not wait any more.
    pub(super) fn unsubscribe_remote(&mut self, address: Address) {
        if self.messages.waiting.get(address).is_some() {
            self.forget(address);
        }
    }
}

impl Live {
    /// How it waits for a message or a signal.
    fn subscription(&self, wait: WaitId, on: &WaitFor) -> Option<Subscription> {
        let (kind, name, correlation) = match on {
            WaitFor::Message { name, correlation } => {
                (SubscriptionKind::Message, name, self.as_receiver(correlation))
            }
            WaitFor::Signal { name } => (SubscriptionKind::Signal, name, Vec::new()),
            WaitFor::Work(_)
            | WaitFor::Timer { .. }
            | WaitFor::Condition
            | WaitFor::Data { .. }
            | WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice => return None,
        };
        let token = self.state.waits.get(&wait)?.token;
        let node = self.state.tokens[&token].node;
        let heard = self.heard.get(name).filter(|_| kind == SubscriptionKind::Message);
        Some(Subscription {
            instance: self.id,
            wait,
            kind,
            name: Name::clone(name),
            correlation,
            element: Name::clone(&self.definition.plan.node(node).name),
            since: self.at,
            place: 0,
            created: self.state.started.unwrap_or(self.at),
            after: heard.map_or(0, |it| it.after),
            had: heard.map_or_else(Vec::new, |it| it.had.clone()),
        })
    }

    /// The properties of a wait for messages: those of its model, and what the instance is called.
    fn as_receiver(&self, correlation: &Assignments) -> Assignments {
        let mut all = correlation.clone();
        let policy = &self.definition.plan.policy;
        if policy.correlation == Correlation::Variables && all.is_empty() {
            all.push((BY_VARIABLES.into(), true.into()));
        }
        let has_key = all.iter().any(|(name, _)| &**name == CORRELATION_KEY);
        if policy.events == Events::Strict || policy.receivers == Receivers::PerProcess && has_key {
            all.push((KEYED.into(), true.into()));
        }
        let process = self.definition.process_of_messages();
        if !process.is_empty() {
            all.push((PROCESS.into(), process.into()));
        }
        if let Some(id) = &self.created.business_id
            && !all.iter().any(|(name, _)| &**name == INSTANCE)
        {
            all.push((INSTANCE.into(), Name::clone(id).into()));
        }
        all
    }
}
