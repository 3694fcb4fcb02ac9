//! An instance as the log and its snapshot have it.

use std::{collections::BTreeMap, sync::Arc};

use travertine_kernel::{Event, NodeId, ROOT, ROOT_LAYER, Reads, Role, State, Wait, WaitId, apply};
use travertine_store::{
    codec::{DecodeError, EncodeError, decode_instance, encode_instance},
    record::{Folded, Record, Snapshot},
};
use travertine_value::Name;

use super::live::{AT_ONCE, Live};
use crate::{Definition, InstanceId, Timestamp};

impl Live {
    /// Is what is left of an instance that someone has ended while it was halted, whatever it was before.
    pub(super) fn end_by(&mut self, at: Timestamp, folded: &Folded) {
        let gone = Self::new(self.id, folded.created.clone(), Arc::clone(&self.definition));
        let Self { last, snapshot, snapshot_size, tail, used, began_as, labels, .. } = self;
        *self = Self {
            labels: labels.take(),
            last: *last,
            snapshot: *snapshot,
            snapshot_size: *snapshot_size,
            tail: *tail,
            used: *used,
            began_as: began_as.take(),
            touched: std::mem::take(&mut self.touched),
            past: std::mem::take(&mut self.past),
            // It may have rows of whatever it had.
            rowed: u64::MAX,
            ..gone
        };
        self.replay(at, &unfolded(folded), None);
    }

    /// Replays what has happened.
    pub(super) fn replay(&mut self, at: Timestamp, events: &[Event], by: Option<&Name>) {
        for event in events {
            apply(&mut self.state, event);
        }
        self.note(at, events, by);
        if self.has_ended() {
            // Others were given it in the same batch.
            self.deferred.clear();
        }
    }

    /// All that a snapshot keeps.
    pub(super) fn to_snapshot(&self) -> Result<Snapshot, EncodeError> {
        let mut records: Vec<Record> = self.labels.iter().cloned().map(Record::Labelled).collect();
        let ends_after = self.ends_after.iter();
        records.extend(ends_after.map(|it| Record::EndsAfter { elements: it.to_vec() }));
        if self.suspended {
            records.push(Record::Suspended);
        }
        records.extend(self.halted.iter().map(|it| Record::Halted(it.clone())));
        records.extend(self.deferred.iter().map(|it| Record::Deferred(it.clone())));
        for (&WaitId(wait), work) in &self.work {
            if let Some((worker, until)) = &work.lease {
                let worker = Name::clone(worker);
                records.push(Record::Leased { wait: WaitId(wait), worker, until: *until });
            }
            if work.paused != AT_ONCE {
                records.push(Record::Paused { wait: WaitId(wait), until: work.paused });
            }
            if let Some(change) = &work.change {
                records
                    .push(Record::TaskChanged { wait: WaitId(wait), change: (**change).clone() });
            }
        }
        let moved = self.moved.iter();
        records.extend(moved.map(|(wait, due)| Record::TimerMoved { wait: *wait, due: *due }));
        records.extend(self.heard.iter().map(|(name, it)| Record::Heard {
            name: Name::clone(name),
            after: it.after,
            had: it.had.clone(),
        }));
        let mut state = Vec::new();
        encode_instance(&self.state, &mut state)?;
        Ok(Snapshot {
            created: self.created.clone(),
            definition: self.definition.key,
            records,
            since: self.work.iter().map(|(wait, it)| (*wait, it.since)).collect(),
            state,
        })
    }

    /// The instance as a snapshot says.
    pub(super) fn of_snapshot(
        id: InstanceId,
        snapshot: &Snapshot,
        definition: Arc<Definition>,
    ) -> Result<Self, DecodeError> {
        let mut live = Self::new(id, snapshot.created.clone(), definition);
        live.state = decode_instance(&snapshot.state)?;
        let since: BTreeMap<WaitId, Timestamp> = snapshot.since.iter().copied().collect();
        let waits: Vec<(WaitId, Wait)> =
            live.state.waits.iter().map(|(id, wait)| (*id, wait.clone())).collect();
        for (wait, it) in waits {
            live.id_given(wait.0);
            let since = since.get(&wait).copied().unwrap_or_default();
            live.note_wait(wait, it.token, &it.on, since);
        }
        for (layer, it) in &live.state.layers {
            live.named = live.named.max(layer.0);
            if it.owner.0 != layer.0 {
                live.opened.entry(it.owner).or_default().push(*layer);
            }
        }
        live.named = live.state.tokens.iter().map(|(it, _)| it.0).fold(live.named, u64::max);
        snapshot.records.iter().for_each(|it| live.learn(it));
        Ok(live)
    }
}

/// The events that lead to what is kept of an ended instance.
pub(crate) fn unfolded(folded: &Folded) -> Vec<Event> {
    let started = folded.started;
    let mut events = vec![
        Event::Started { at: started, start: Vec::new(), caller: None },
        Event::TokenCreated {
            token: ROOT,
            node: NodeId(0),
            scope: None,
            via: None,
            role: Role::Flow,
            layer: Reads::Own(None),
            status: None,
        },
    ];
    let variables = folded.variables.iter().cloned();
    events.extend(variables.map(|(name, value)| Event::VariableSet {
        layer: ROOT_LAYER,
        name,
        value,
    }));
    events.push(Event::TokenGone { token: ROOT, state: State::Done });
    events.push(Event::Finished { ending: folded.ending.clone() });
    events
}
