//! An instance handles a command, and what has happened is written.

use std::slice;

use travertine_kernel::{Command, Effect, Event, Identity, Phase, Turn, effects, handle_with};
use travertine_store::record::{Consume, Created, Letter, Record};

use super::{Ended, Live, Seen, Shard, guard::step, outbox::Release};
use crate::Error;

impl Shard {
    /// Has an instance handle a command.
    pub(super) fn turn(&mut self, live: &mut Live, command: Command) -> Result<(), Error> {
        self.turn_with(live, command, Vec::new())
    }

    /// Has an instance handle a command, and has `records` become true with it.
    pub(super) fn turn_with(
        &mut self,
        live: &mut Live,
        command: Command,
        records: Vec<Record>,
    ) -> Result<(), Error> {
        if !self.agenda.quarantine.is_careful() {
            return self.take_turn(live, command, records);
        }
        self.note_turn(live, &command);
        let turned = self.take_turn(live, command, records);
        self.agenda.quarantine.turned();
        turned
    }

    fn take_turn(
        &mut self,
        live: &mut Live,
        command: Command,
        mut records: Vec<Record>,
    ) -> Result<(), Error> {
        let _span = tracing::trace_span!("turn", instance = live.id.0).entered();
        if let Some(reason) = &live.halted {
            return Err(Error::Halted { instance: live.id, reason: reason.clone() });
        }
        let seen = self.watchers.hook.is_some().then(|| command.clone());
        let is_told = matches!(command, Command::Delivered { .. });
        live.count_turn(&command);
        let mut turn = self.ask_kernel(live, command)?;
        let lost = if is_told {
            // Where it has something to do it stands in line already.
            turn.unfinished = false;
            None
        } else {
            self.think(live, &mut turn, &mut records)
        };
        self.happened(live, turn, None, records, seen.as_ref());
        lost.map_or(Ok(()), |reason| Err(self.halt(live, reason)))
    }

    /// Has the kernel handle a command.
    pub(super) fn ask_kernel(&mut self, live: &mut Live, command: Command) -> Result<Turn, Error> {
        step("kernel");
        live.state.keep_past(self.env.settings.history.wanted());
        let introduction = live.introduction();
        live.state.introduce(introduction);
        let buffer = self.outbox.buffer();
        let definitions = self.env.newest();
        let Live { definition, state, ends_after, .. } = live;
        let mut rules = definitions.rules(definition);
        if let Some(elements) = ends_after {
            // A model that it was migrated to need not have them all.
            rules.last = elements.iter().filter_map(|it| definition.plan.find(it)).collect();
        }
        let budgets = &self.env.budgets;
        let plan = &definition.plan;
        let turned = handle_with(plan, &rules, state, self.now, command, buffer, budgets);
        state.introduce(Identity::default());
        Ok(turned?)
    }

    /// Writes what has happened to an instance, and sees to what it asks for.
    pub(super) fn happened(
        &mut self,
        live: &mut Live,
        turn: Turn,
        created: Option<Created>,
        more: Vec<Record>,
        command: Option<&Command>,
    ) {
        let Turn { mut events, unfinished } = turn;
        // Those it has called itself are as many as its tokens at most.
        let root = (live.created.depth > 0).then(|| live.root());
        let calls = live.calls.len();
        step("note");
        live.note(self.now, &events, self.outbox.by.as_ref().map(|it| &it.who));
        self.agenda.events += events.len() as u64 + 1;
        for record in &more {
            live.learn(record);
        }
        if let (Some(hook), Some(command)) = (&mut self.watchers.hook, command) {
            let wanted: Vec<Effect> = effects(&events).collect();
            hook(Seen { now: self.now, live, command, events: &events, effects: &wanted });
        }
        let offered = live.reconsidered(&events);
        let repaired = events.iter().any(|it| matches!(it, Event::IncidentResolved { .. }));
        let blocked = live.definition.is_function()
            && events.iter().any(|it| matches!(it, Event::IncidentRaised { .. }));
        self.append_happened(live, created, &mut events, more);
        for effect in effects(&events) {
            self.act(live, effect);
        }
        // What began and ended in one turn has no effect.
        live.forget_closed(&events);
        self.outbox.give_back(events);
        for wait in offered {
            self.offer(live, wait);
        }
        if live.has_ended() {
            self.finish(live);
        } else if repaired {
            self.recall(live);
        }
        if blocked {
            self.report_blocked(live);
        }
        step("finished");
        let (before, after) = (calls, live.calls.len());
        if let Some(root) = root.filter(|_| before != after) {
            self.env.board.descendants.change(root, before, after);
        }
        self.go_on_or_halt(live, unfinished);
    }

    /// An instance that has used up its turn goes on after others had theirs, unless it does not come to
    /// rest.
    fn go_on_or_halt(&mut self, live: &mut Live, unfinished: bool) {
        let Live { turns, hurries, .. } = *live;
        if unfinished && turns >= self.env.settings.turns_max {
            let reason = format!(
                "it has not come to rest after {turns} turns in a row: cancel it, or change its variables \
                 or where its tokens are; resolved as it is, it goes on"
            );
            self.halt(live, reason);
        } else if hurries >= self.env.settings.instant_timers_max {
            let reason = format!(
                "{hurries} of its timers in a row were due when they were set: cancel it, or change its \
                 variables or where its tokens are; resolved as it is, it goes on"
            );
            self.halt(live, reason);
        } else if unfinished {
            self.agenda.unfinished.push_back(live.id);
        }
    }

    /// Appends what has happened to an instance, and what else has become true of it with that.
    fn append_happened(
        &mut self,
        live: &mut Live,
        created: Option<Created>,
        events: &mut Vec<Event>,
        more: Vec<Record>,
    ) {
        let mut happened = (!events.is_empty()).then(|| Record::Happened(std::mem::take(events)));
        if created.is_none() && more.is_empty() {
            // Most turns are nothing else.
            if let Some(happened) = &happened {
                self.append(live, slice::from_ref(happened));
            }
        } else {
            let created = created.map(Record::Created);
            let mut records: Vec<Record> =
                created.into_iter().chain(happened.take()).chain(more).collect();
            self.append(live, &records);
            happened = records.extract_if(.., |it| matches!(it, Record::Happened(_))).next();
        }
        if let Some(Record::Happened(appended)) = happened {
            *events = appended;
        }
    }

    /// Appends what has become true of an instance.
    pub(super) fn append(&mut self, live: &mut Live, records: &[Record]) {
        step("append");
        let size = self.outbox.append(self.now, live.id, live.last, records);
        live.last = self.outbox.seq;
        live.tail += size;
        self.views.mark(live);
    }

    /// Takes note of records that do not come from the kernel, and appends them.
    pub(super) fn learn(&mut self, live: &mut Live, records: &[Record]) {
        step("learn");
        for record in records {
            live.learn(record);
        }
        self.append(live, records);
    }

    /// Gives an instance up until someone has looked at it. Nothing else is touched.
    pub(super) fn halt(&mut self, live: &mut Live, reason: String) -> Error {
        tracing::error!(instance = live.id.0, %reason, "an instance is halted");
        live.halted = Some(reason.clone());
        self.withdraw_all(live);
        self.append(live, &[Record::Halted(reason.clone())]);
        self.tell_stuck(live);
        Error::Halted { instance: live.id, reason }
    }

    /// Takes the offers of all work of an instance back.
    pub(super) fn withdraw_all(&mut self, live: &Live) {
        for (wait, work) in &live.work {
            self.outbox.release(Release::Withdraw(live.any_offer(*wait, work)));
        }
    }

    /// Tells an instance what it could not hear before.
    pub(super) fn recall(&mut self, live: &mut Live) {
        step("recall");
        let letters = std::mem::take(&mut live.deferred);
        if letters.is_empty() {
            return;
        }
        self.append(live, &[Record::Recalled]);
        for letter in letters {
            self.outbox.enqueue(letter);
        }
    }

    /// Goes on with an instance that used up its turn.
    pub(super) fn go_on(&mut self) {
        let Some(id) = self.agenda.take_unfinished() else { return };
        self.with_any(id, |shard, live| {
            if live.has_ended() || live.suspended || live.halted.is_some() {
                return;
            }
            shard.begin_turn(live);
            // What it refuses now it has finished meanwhile.
            let _: Result<(), Error> = shard.turn(live, Command::Continue);
        });
    }

    /// What an ended instance leaves to be done.
    pub(super) fn finish(&mut self, live: &mut Live) {
        step("finish");
        let Phase::Ended(ending) = live.state.phase.clone() else { return };
        live.rest();
        let variables = live.result();
        for letter in std::mem::take(&mut live.deferred) {
            self.give_back(letter);
        }
        if let Some(to) = live.created.caller {
            let (ending, variables) = (ending.clone(), variables.clone());
            let letter = Letter::Ended { to, child: live.id, ending, variables };
            self.send(self.shard_of(to.instance), letter);
        }
        if !self.env.settings.keeps_ended {
            self.instances.ending.push(live.id);
        }
        step("watchers");
        for watcher in self.watchers.take(live.id) {
            let ended = Ended { ending: ending.clone(), variables: variables.clone() };
            self.reply_to_watcher(watcher, Ok(ended));
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
}
