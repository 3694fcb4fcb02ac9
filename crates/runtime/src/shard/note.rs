//! An instance takes note of what has happened to it, and of which rows that changes.

use travertine_kernel::{
    Event, Instance, LayerId, Reads, Role, Slot, Table, TokenId, WaitFor, WaitId, plan::WorkKind,
};
use travertine_store::{record::Record, view};
use travertine_value::{Name, time::Timestamp};

use super::{
    live::{AT_ONCE, Had, Live, Touched, Work},
    past::past_rows,
};

impl Live {
    /// Takes note of what has happened. The kernel's state is as it is after all of it.
    pub(super) fn note(&mut self, at: Timestamp, events: &[Event], by: Option<&Name>) {
        self.at = at;
        let past = self.state.take_past();
        if !past.is_empty() {
            let rows = past_rows(self, past, events, at, by);
            self.past.extend(rows);
        }
        let has_rows = self.rowed > 0;
        for event in events {
            match event {
                Event::TokenCreated { token, layer, .. } => {
                    self.id_given(token.0);
                    self.touched.token(*token, at);
                    if let Reads::Own(_) = layer {
                        let id = LayerId(token.0);
                        let owner = self.state.layers.get(&id).map(|it| it.owner);
                        if let Some(owner) = owner.filter(|it| it != token) {
                            self.opened.entry(owner).or_default().push(id);
                        }
                    }
                }
                Event::TokenMoved { token, .. }
                | Event::TokenState { token, .. }
                | Event::TokenParked { token, .. }
                | Event::TokenPromoted { token }
                | Event::TokenRetired { token }
                | Event::BranchArrived { token } => self.touched.token(*token, at),
                Event::TokenRecalled { token, .. } => {
                    self.touched.token(*token, at);
                    self.note_visit(*token);
                }
                Event::Migrated { .. } => self.note_migration(at),
                Event::TokenGone { token, .. } => {
                    self.touched.token(*token, at);
                    let opened = self.opened.remove(token).into_iter().flatten();
                    if has_rows {
                        self.touched.gone_layers.push(LayerId(token.0));
                        self.touched.gone_layers.extend(opened);
                    }
                }
                Event::LayerOpened { token, layer } => {
                    self.id_given(layer.0);
                    self.opened.entry(*token).or_default().push(*layer);
                }
                Event::LayerClosed { token } => {
                    let closed = self.opened.get_mut(token).and_then(Vec::pop);
                    self.touched.gone_layers.extend(closed.filter(|_| has_rows));
                }
                Event::VariableSet { layer, name, .. } | Event::VariableRemoved { layer, name }
                    if has_rows =>
                {
                    self.touched.variables.push((*layer, Name::clone(name)));
                }
                Event::WaitOpened { wait, token, on, .. } => {
                    self.id_given(wait.0);
                    if has_rows {
                        self.touched.waits.push((*wait, None));
                    }
                    self.note_wait(*wait, *token, on, at);
                }
                Event::RetriesSet { wait, retries } => self.note_retries(*wait, *retries),
                Event::WorkFailed { wait, .. } => self.note_retries(*wait, 0),
                Event::WaitClosed { wait } => self.note_closed(*wait, has_rows),
                Event::IncidentRaised { token, .. } | Event::IncidentResolved { token } => {
                    self.note_incident(*token, at);
                }
                // These change nothing that has a row.
                _ => {}
            }
        }
    }

    /// Everything may have another name.
    fn note_migration(&mut self, at: Timestamp) {
        let tokens = self.state.tokens.keys();
        self.touched.tokens.extend(tokens.map(|token| (*token, at)));
        let waits = self.state.waits.keys();
        self.touched.waits.extend(waits.map(|wait| (*wait, None)));
        self.touched.incidents.extend(self.state.incidents.keys().copied());
    }

    /// A token that has variables of its own is on another visit.
    fn note_visit(&mut self, token: TokenId) {
        let first = [LayerId(token.0)];
        let own = first.iter().chain(self.opened.get(&token).into_iter().flatten());
        for layer in own.filter(|it| self.state.layers.contains_key(it)) {
            let names = self.state.layers[layer].variables.keys();
            self.touched.variables.extend(names.map(|name| (*layer, Name::clone(name))));
        }
    }

    /// Work may be tried so often from now on.
    fn note_retries(&mut self, wait: WaitId, retries: u32) {
        self.touched.waits.push((wait, None));
        match self.work.get_mut(&wait) {
            Some(work) if retries == 0 => work.free(),
            // Whoever has it goes on with it.
            Some(work) => work.paused = AT_ONCE,
            None => {}
        }
    }

    fn note_closed(&mut self, wait: WaitId, has_rows: bool) {
        let table = match self.work.get(&wait).map(|it| it.kind) {
            Some(WorkKind::Job) => view::Table::Jobs,
            Some(WorkKind::User) => view::Table::Tasks,
            None => view::Table::Timers,
        };
        if has_rows {
            self.touched.waits.push((wait, Some(table)));
        }
        self.moved.remove(&wait);
    }

    fn note_incident(&mut self, token: TokenId, at: Timestamp) {
        self.touched.incidents.push(token);
        self.touched.token(token, at);
        // What the code of a function stumbles over is not what others do for it.
        let is_of_work = self.state.journal.is_none();
        for wait in self.state.tokens.get(&token).into_iter().flat_map(|it| it.waits.keys()) {
            self.touched.waits.push((*wait, None));
            if let Some(work) = self.work.get_mut(wait).filter(|_| is_of_work) {
                work.free();
            }
        }
    }

    pub(super) fn note_wait(&mut self, wait: WaitId, token: TokenId, on: &WaitFor, at: Timestamp) {
        if let WaitFor::Work(job) = on {
            self.work.insert(wait, Work::new(job, at));
        } else if let WaitFor::Child { .. } = on {
            let role = self.state.tokens.get(&token).map(|it| it.role);
            let slot = self.state.waits.get(&wait).map(|it| it.slot);
            let run = match (role, slot) {
                (Some(Role::Run(run)), _) | (_, Some(Slot::Operation(run))) => run,
                _ => 0,
            };
            self.calls.insert(wait, run);
        }
    }

    /// Takes note that rows tell of its incidents as they are. Answers with those that are over.
    pub(super) fn incidents_over(&mut self) -> Vec<u64> {
        let now = self.state.incidents.values().map(|it| it.number).collect();
        let before = std::mem::replace(&mut self.broken, now);
        before.difference(&self.broken).copied().collect()
    }

    /// Forgets what was known of waits that are over.
    pub(super) fn forget_closed(&mut self, events: &[Event]) {
        for event in events {
            if let Event::WaitClosed { wait } = event {
                self.work.remove(wait);
                self.calls.remove(wait);
            }
        }
    }

    /// All rows must be written again.
    pub(super) fn touch_all(&mut self) {
        let tokens = self.state.tokens.keys().map(|it| (*it, self.at));
        self.touched.tokens.extend(tokens);
        self.touched.all_but_tokens(&self.state);
    }

    /// Gives up what it does not need after its end. It is kept until its row is stored.
    pub(super) fn rest(&mut self) {
        self.touched = Touched { any: self.touched.any, ..Touched::default() };
        if self.work.is_empty() {
            self.work = Table::default();
        }
    }

    pub(super) fn id_given(&mut self, id: u64) {
        self.named = self.named.max(id);
    }

    /// Takes note of a record that does not come from the kernel.
    pub(super) fn learn(&mut self, record: &Record) {
        match record {
            Record::Suspended => self.suspended = true,
            Record::Resumed => self.suspended = false,
            Record::Halted(reason) => self.halted = Some(reason.clone()),
            Record::Released => self.halted = None,
            Record::Deferred(letter) => self.deferred.push(letter.clone()),
            Record::Recalled => self.deferred.clear(),
            Record::Leased { wait, worker, until } => {
                self.touched.waits.push((*wait, None));
                if let Some(work) = self.work.get_mut(wait) {
                    work.lease = Some((Name::clone(worker), *until));
                }
            }
            Record::Paused { wait, until } => {
                self.touched.waits.push((*wait, None));
                if let Some(work) = self.work.get_mut(wait) {
                    work.lease = None;
                    work.paused = *until;
                }
            }
            Record::TaskChanged { wait, change } => {
                self.touched.waits.push((*wait, None));
                if let Some(work) = self.work.get_mut(wait) {
                    if work.kind == WorkKind::Job {
                        work.priority = change.priority.unwrap_or(work.priority);
                    }
                    work.change.get_or_insert_default().merge(change.clone());
                }
            }
            Record::TimerMoved { wait, due } => {
                self.touched.waits.push((*wait, None));
                self.moved.insert(*wait, *due);
            }
            Record::Heard { name, after, had } => {
                let had = Had { after: *after, had: had.clone() };
                self.heard.insert(Name::clone(name), had);
            }
            Record::Labelled(labels) => self.labels = Some(labels.clone()),
            Record::EndsAfter { elements } => self.ends_after = Some(elements.as_slice().into()),
            Record::BeganAs { definition } => self.began_as = Some(Name::clone(definition)),
            // The definition itself is found by whoever has them all.
            Record::Created(_)
            | Record::Happened(_)
            | Record::Migrated { .. }
            | Record::Folded(_)
            | Record::Held(_)
            | Record::Gone { .. }
            | Record::Known { .. }
            | Record::Recognised { .. }
            | Record::Numbered { .. }
            | Record::By { .. }
            | Record::ByBatch { .. }
            | Record::Subscribed(_)
            | Record::Unsubscribed { .. }
            | Record::Noted { .. }
            | Record::Unnoted { .. }
            | Record::StartTimer(_)
            | Record::Ended(_) => {}
        }
    }
}

impl Touched {
    fn token(&mut self, token: TokenId, at: Timestamp) {
        match self.tokens.last_mut() {
            Some(last) if last.0 == token => last.1 = at,
            _ => self.tokens.push((token, at)),
        }
    }

    pub(super) fn all_but_tokens(&mut self, state: &Instance) {
        self.waits.extend(state.waits.keys().map(|it| (*it, None)));
        self.incidents.extend(state.incidents.keys().copied());
        for (layer, it) in &state.layers {
            let names = it.variables.keys().map(|name| (*layer, Name::clone(name)));
            self.variables.extend(names);
        }
    }
}
