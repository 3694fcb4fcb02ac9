//! How instances begin: asked for, called, or triggered from outside.

use std::sync::Arc;

use travertine_kernel::{Assignments, Command, NodeId, Rejection, WaitId};
use travertine_store::{
    record::{Created, Labels, Letter, Record, StartKey, StartTimer},
    view::InstanceRow,
};
use travertine_value::{Map, Name};

use super::{Case, Shard, alarm::Alarm, apart::Apart, keeper, live::Live};
use crate::{
    Definition, DefinitionKey, Definitions, Error, InstanceId, Message, Receipt, StartOn,
    StartTrigger, Timestamp, correlates, id, label, message::is_addressed, schedule::SCHEDULE,
};

/// What to start, and how.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// The key of the definition.
    pub definition: DefinitionKey,
    /// What people call the instance. An instance of the same definition that they call so already
    /// is not started again.
    pub business_id: Option<Name>,
    /// Where.
    pub at: At,
    /// What it begins with.
    pub variables: Assignments,
    /// What its starter says of it besides.
    pub labels: Labels,
    /// The elements after which it ends: once one of them is over, all else is cancelled.
    pub ends_after: Vec<Name>,
    /// Whether it is refused, rather than found, where one of the same definition that people call so runs, and
    /// is started where all of those have ended. Functions are found.
    pub unique: bool,
}

/// Where an instance begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// At the plain start.
    #[default]
    Start,
    /// At the elements with these ids, as if a token had come there; as if it had been triggered, for
    /// a start event.
    Elements(Vec<Name>),
}

impl Shard {
    /// Starts an instance. Says whether it was there already.
    pub(super) fn start(&mut self, begin: Begin) -> Result<(InstanceId, bool), Error> {
        let definition = self.env.definition(begin.definition)?;
        if let Some(id) = &begin.business_id {
            id::check(id)?;
            // Whoever asks for it by that name would get another one.
            if InstanceId::numbered(id).is_some() {
                return Err(Error::ReservedId(Name::clone(id)));
            }
        }
        if definition.is_function() {
            if let Some(id) = &begin.business_id
                && let Some(known) = self.run_named(id)?
                && !self.is_past_schedule(known.0, &definition)?
            {
                self.same_start(known.0, &definition, &begin.variables)?;
                return Ok((known, true));
            }
        } else if let Some(id) = &begin.business_id
            && let Some(known) = self.instance_named(&definition.id, id)?
        {
            if !begin.unique {
                return Ok((known, true));
            }
            if !self.live(known)?.has_ended() {
                return Err(Error::AlreadyExists {
                    id: Name::clone(id),
                    instance: known,
                    definition: Name::clone(&definition.id),
                });
            }
        }
        label::check(&begin.labels)?;
        let at = match &begin.at {
            At::Start => Vec::new(),
            At::Elements(names) => {
                names.iter().map(|it| element(&definition, it)).collect::<Result<_, _>>()?
            }
        };
        for name in &begin.ends_after {
            element(&definition, name)?;
        }
        let created = Created {
            definition: definition.key,
            business_id: begin.business_id,
            caller: None,
            root: InstanceId::NONE,
            depth: 0,
        };
        let command = Command::Start { at, variables: begin.variables, caller: None };
        let labels = (begin.labels != Labels::default()).then(|| Box::new(begin.labels));
        let elements = begin.ends_after;
        let ends = (!elements.is_empty()).then_some(Record::EndsAfter { elements });
        let says = labels.map(Record::Labelled).into_iter().chain(ends).collect();
        Ok((self.create_with(created, says, command)?, false))
    }

    /// Whether that was a schedule, whose name another one may have now.
    fn is_past_schedule(&mut self, known: u64, definition: &Definition) -> Result<bool, Error> {
        if &*definition.id != SCHEDULE {
            return Ok(false);
        }
        let known = self.live(InstanceId(known))?;
        Ok(known.has_ended() && known.definition.id == definition.id)
    }

    /// Offers variables to the conditional start events. Answers with what they started.
    pub(super) fn evaluate_conditions(&mut self, variables: &Assignments) -> Vec<InstanceId> {
        let offered: Map = variables.iter().cloned().collect();
        let holds = |definition: &Definition, on: &StartOn| match on {
            StartOn::Condition(when) => {
                let value = when.value(&offered, &definition.plan.limits);
                value.is_ok_and(|it| it.as_bool() == Some(true))
            }
            StartOn::Message(_) | StartOn::Signal(_) | StartOn::Timer(_) => false,
        };
        self.trigger_starts(holds, variables)
    }

    /// Gets to know what will be deployed in a moment.
    pub(crate) fn expect(&mut self, definitions: &Arc<Definitions>) {
        self.env.coming = Some(Arc::clone(definitions));
    }

    /// Takes over what is deployed now. Only the latest version of a definition is started by
    /// messages, signals, times and conditions.
    pub(crate) fn adopt(&mut self, definitions: &Arc<Definitions>) {
        let before = std::mem::replace(&mut self.env.definitions, Arc::clone(definitions));
        self.env.coming = None;
        let timers: Vec<StartKey> = self.starts.timers.keys().copied().collect();
        for start in timers {
            if definitions.get(start.definition).is_none() {
                self.starts.timers.remove(&start);
            } else if definitions.startable().any(|it| it.key == start.definition) {
                continue;
            }
            // It goes on where the newer version is removed again, or it was not removed after all.
            self.alarms.unset(Alarm::Start(start));
            if !definitions.is_leaving(start.definition) {
                self.starts.changed.insert(start);
            }
        }
        self.starts.noted.retain(|start, _| definitions.is_latest(start.definition));
        for definition in definitions.startable() {
            for trigger in &definition.starts {
                let start = key_of(definition, trigger.node, trigger.position);
                match &trigger.on {
                    StartOn::Timer(due) => {
                        let mine = keeper(&definition.id, self.env.shards) == self.id();
                        if !mine {
                            continue;
                        }
                        if self.starts.timers.contains_key(&start) {
                            self.set_start_timer_again(start, before.is_leaving(definition.key));
                        } else {
                            let (due, repeat) = (Some(due.at), due.repeat.clone());
                            self.set_start_timer(StartTimer { start, due, repeat });
                        }
                    }
                    StartOn::Message(name) => {
                        self.take_held(name, &definition.wanted(trigger), start);
                    }
                    StartOn::Signal(_) | StartOn::Condition(_) => {}
                }
            }
        }
        self.try_refused_starts();
    }

    /// Messages that were held start what has just been deployed.
    fn take_held(&mut self, name: &Name, wanted: &Assignments, start: StartKey) {
        let now = self.now;
        while let Some(number) =
            self.messages.held.find_for_start(name, wanted, now).map(|it| it.number)
        {
            let Some(held) = self.let_go(number) else { return };
            self.agenda.quarantine.begin(Case::Held(number), std::iter::empty());
            match self.trigger_start(start, held.message.variables.clone()) {
                Ok(_) => self.write(&[Record::Gone { message: number }]),
                Err(error) => self.bury(held, &error.to_string()),
            }
        }
    }

    pub(super) fn set_start_timer(&mut self, timer: StartTimer) {
        self.starts.set_timer(timer, &mut self.alarms);
    }

    /// A timer that stood still goes on. What it has missed counts only where it `had` to ring.
    fn set_start_timer_again(&mut self, start: StartKey, had: bool) {
        let Some(StartTimer { due: Some(due), repeat, .. }) = self.starts.timers.get(&start) else {
            return;
        };
        if self.alarms.is_set(Alarm::Start(start)) {
            return;
        }
        let due = *due;
        if had || due > self.now {
            self.set_start_timer(self.starts.timers[&start].clone());
            return;
        }
        let next = repeat.as_ref().and_then(|it| it.next_after(due, self.now));
        let timer = StartTimer {
            start,
            due: next.as_ref().map(|it| it.at),
            repeat: next.and_then(|it| it.repeat),
        };
        self.write(&[Record::StartTimer(timer.clone())]);
        self.set_start_timer(timer);
    }

    /// Has a timer that starts instances ring at another time. If it repeats, it goes on from there.
    pub(super) fn move_start_timer(&mut self, timer: WaitId, due: Timestamp) -> Result<(), Error> {
        let (start, _) = self.start_timer(timer)?;
        let moved = StartTimer { due: Some(due), ..self.starts.timers[&start].clone() };
        self.write(&[Record::StartTimer(moved.clone())]);
        self.set_start_timer(moved);
        Ok(())
    }

    /// Has a timer that starts instances ring now. If it repeats, its next time is the one after that
    /// for which it was set.
    pub(super) fn fire_start_timer(&mut self, timer: WaitId) -> Result<(), Error> {
        let (start, due) = self.start_timer(timer)?;
        self.start_timer_rung(start, due);
        Ok(())
    }

    /// The timer that starts instances with that name, and when it is due.
    fn start_timer(&self, timer: WaitId) -> Result<(StartKey, Timestamp), Error> {
        let start = start_named(timer.0 / u64::from(self.env.shards));
        let due = self.starts.timers.get(&start).and_then(|it| it.due);
        let due = due.filter(|_| self.alarms.is_set(Alarm::Start(start)));
        let due = due.ok_or(Rejection::NoSuchWait(timer))?;
        Ok((start, due))
    }

    /// A timer that starts instances rings. Firings that were missed count as this one.
    pub(super) fn start_timer_rung(&mut self, start: StartKey, due: Timestamp) {
        let Some(timer) = self.starts.timers.get(&start) else { return };
        let next = timer.repeat.as_ref().and_then(|it| it.next_after(due, self.now));
        let timer = StartTimer {
            start,
            due: next.as_ref().map(|it| it.at),
            repeat: next.and_then(|it| it.repeat),
        };
        self.write(&[Record::StartTimer(timer.clone())]);
        self.set_start_timer(timer);
        self.trigger_start_or_log(start, Vec::new());
    }

    /// The start events for which `happens`.
    pub(super) fn starts(
        &self,
        happens: impl Fn(&Definition, &StartOn) -> bool,
    ) -> Vec<(StartKey, Arc<Definition>)> {
        let all = self.env.definitions.startable().flat_map(|it| {
            let happens = &happens;
            it.starts
                .iter()
                .filter(move |trigger| happens(it, &trigger.on))
                .map(move |trigger| (key_of(it, trigger.node, trigger.position), Arc::clone(it)))
        });
        all.collect()
    }

    /// The first start event that hears a message.
    pub(super) fn start_for(&self, message: &Message) -> Option<StartKey> {
        self.hears(message).next()
    }

    /// All start events that hear a message, one of each definition.
    pub(super) fn starts_for(&self, message: &Message) -> Vec<StartKey> {
        self.hears(message).collect()
    }

    fn hears(&self, message: &Message) -> impl Iterator<Item = StartKey> {
        let all = self.env.definitions.startable().filter(|_| !is_addressed(message));
        all.filter_map(|it| {
            let hears = |trigger: &&StartTrigger| {
                matches!(&trigger.on, StartOn::Message(name) if *name == message.name)
                    && correlates(&it.wanted(trigger), &message.correlation)
            };
            let trigger = it.starts.iter().find(hears)?;
            Some(key_of(it, trigger.node, trigger.position))
        })
    }

    /// Triggers every start event for which `happens`.
    pub(super) fn trigger_starts(
        &mut self,
        happens: impl Fn(&Definition, &StartOn) -> bool,
        variables: &Assignments,
    ) -> Vec<InstanceId> {
        let mut started = Vec::new();
        for (start, _) in self.starts(happens) {
            let receipt = self.trigger_start_or_log(start, variables.clone());
            if let Some(Receipt::Started(id)) = receipt {
                started.push(id);
            }
        }
        started
    }

    /// One trigger of a start event has happened. Where all are needed they come together at one
    /// shard, and the last of them starts an instance with what all of them brought; where it cannot begin,
    /// that is kept as a dead letter.
    pub(super) fn trigger_start(
        &mut self,
        start: StartKey,
        variables: Assignments,
    ) -> Result<Receipt, Error> {
        let definition = self.env.definition(start.definition)?;
        let node = NodeId(start.node);
        let event = definition.start(node).ok_or(Rejection::NoSuchStart)?;
        // What someone outside asks for is not held up by what instances send.
        if self.starts.chain > 0 && !self.admits(start.definition)? {
            self.start_later(start.definition, Letter::Trigger { start, variables });
            return Ok(Receipt::Noted);
        }
        if event.all {
            let keeper = self.keeper(&definition.id);
            if keeper != self.id() {
                let trigger = Letter::Trigger { start, variables };
                self.outbox.send_chained(keeper, trigger, self.starts.chain);
                return Ok(Receipt::Noted);
            }
            self.write(&[Record::Noted { start, variables: variables.clone() }]);
            self.starts.note(start, variables);
            if self.starts.noted(start) < event.triggers.len() {
                return Ok(Receipt::Noted);
            }
            self.write(&[Record::Unnoted { start }]);
            let variables: Assignments =
                self.starts.take_noted(start).into_iter().flatten().collect();
            let started = self.start_at(start, variables.clone());
            return Ok(started.unwrap_or_else(|error| {
                // Who brought the others was told that they are noted.
                let (id, at) = (&definition.id, &definition.plan.node(node).name);
                let (definition, at) = (Name::clone(id), Some(Name::clone(at)));
                self.bury_start(Apart { definition, at, id: None, variables }, &error);
                Receipt::Dropped
            }));
        }
        self.start_at(start, variables)
    }

    /// Starts an instance at a start event.
    fn start_at(&mut self, start: StartKey, variables: Assignments) -> Result<Receipt, Error> {
        self.check_chain(start.definition)?;
        let created = Created {
            definition: start.definition,
            business_id: None,
            caller: None,
            root: InstanceId::NONE,
            depth: 0,
        };
        let at = vec![NodeId(start.node)];
        let command = Command::Start { at, variables, caller: None };
        Ok(Receipt::Started(self.create(created, command)?))
    }

    /// Refuses to start what has been started by one another too often.
    pub(super) fn check_chain(&mut self, definition: DefinitionKey) -> Result<(), Error> {
        self.starts.check_chain(definition, self.env.settings.generations_max, self.now)
    }

    /// Triggers a start event where nobody can be told that it did not start.
    pub(super) fn trigger_start_or_log(
        &mut self,
        start: StartKey,
        variables: Assignments,
    ) -> Option<Receipt> {
        let is_chained = self.starts.chain > 1;
        let may_fail = is_chained || self.agenda.quarantine.is_careful();
        let brought = may_fail.then(|| variables.clone());
        match self.trigger_start(start, variables) {
            Ok(receipt) => Some(receipt),
            Err(error) => {
                let StartKey { definition, node, .. } = start;
                tracing::error!(%error, %definition, node, "a start event did not start");
                let (Some(variables), Ok(it)) = (brought, self.env.definition(definition)) else {
                    return None;
                };
                if let Error::Deadly { .. } = error {
                    let at = Some(Name::clone(&it.plan.node(NodeId(node)).name));
                    let definition = Name::clone(&it.id);
                    self.bury_start(Apart { definition, at, id: None, variables }, &error);
                } else if is_chained {
                    let message = Message { variables, ..Message::new(&it.id) };
                    self.bury_new(message, self.now, None, &error.to_string());
                }
                None
            }
        }
    }

    /// Makes an instance and starts it; none where it refuses to start.
    pub(super) fn create(&mut self, created: Created, start: Command) -> Result<InstanceId, Error> {
        self.create_with(created, Vec::new(), start)
    }

    /// Makes an instance, writes what its starter says of it, and starts it; none where it refuses to start.
    fn create_with(
        &mut self,
        created: Created,
        says: Vec<Record>,
        start: Command,
    ) -> Result<InstanceId, Error> {
        let definition = self.env.runnable(created.definition)?;
        if self.agenda.quarantine.is_careful() {
            self.note_start(definition.key)?;
        }
        let id = self.id().instance(self.instances.count + 1, self.env.shards);
        let mut live = Box::new(Live::new(InstanceId(id), created.clone(), definition));
        live.generation = self.starts.chain;
        let seq = self.outbox.seq + 1;
        let (caller, name) = (created.caller, created.business_id.clone());
        // Its first turn minds it.
        for it in &says {
            live.learn(it);
        }
        self.guarded(&mut live, |shard, live| shard.turn_first(live, start, created, says))?;
        self.instances.count += 1;
        self.instances.born(InstanceId(id), seq, caller.is_some() || name.is_some());
        if let Some(caller) = caller {
            self.instances.call_started(caller, InstanceId(id));
        }
        if let Some(name) = name {
            self.instances.name(&live.definition, name, InstanceId(id));
        }
        self.instances.put(live);
        Ok(InstanceId(id))
    }

    fn turn_first(
        &mut self,
        live: &mut Live,
        start: Command,
        created: Created,
        mut records: Vec<Record>,
    ) -> Result<(), Error> {
        let seen = self.watchers.hook.is_some().then(|| start.clone());
        let mut turn = self.ask_kernel(live, start)?;
        let lost = self.think(live, &mut turn, &mut records);
        self.happened(live, turn, Some(created), records, seen.as_ref());
        if let Some(reason) = lost {
            self.halt(live, reason);
        }
        Ok(())
    }

    /// The instance of a definition that people call so.
    pub(super) fn instance_named(
        &mut self,
        definition: &Name,
        name: &Name,
    ) -> Result<Option<InstanceId>, Error> {
        if let Some(known) = self.instances.process_named(definition, name) {
            return Ok(Some(known));
        }
        self.find_named(name, |_, row| row.definition == *definition && row.parent.is_none())
    }

    /// The newest instance that people call so and that is meant.
    pub(super) fn find_named(
        &mut self,
        name: &Name,
        is_meant: impl Fn(&Self, &InstanceRow) -> bool,
    ) -> Result<Option<InstanceId>, Error> {
        for id in self.env.named(name)? {
            let Some((row, made_again)) = self.row_of(id)? else { continue };
            if made_again {
                self.mend(id)?;
            }
            if is_meant(self, &row) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// What a timer that starts instances is called in its shard, as long as definitions have fewer than
/// 2^20 nodes with fewer than 2^8 triggers.
pub(super) fn name_of(start: StartKey) -> u64 {
    start.definition.0 << 28 | u64::from(start.node) << 8 | u64::from(start.position)
}

/// Which timer is called so.
fn start_named(name: u64) -> StartKey {
    let part = |bits: u64, shift: u64| {
        u32::try_from(name >> shift & ((1 << bits) - 1)).expect("so few bits fit")
    };
    StartKey { definition: DefinitionKey(name >> 28), node: part(20, 8), position: part(8, 0) }
}

fn key_of(definition: &Definition, node: NodeId, position: usize) -> StartKey {
    let position = u32::try_from(position).expect("an event has fewer than 2^32 triggers");
    StartKey { definition: definition.key, node: node.0, position }
}

fn element(definition: &Definition, name: &Name) -> Result<NodeId, Error> {
    definition.plan.find(name).ok_or_else(|| Error::NoSuchElement {
        definition: Name::clone(&definition.id),
        element: Name::clone(name),
    })
}
