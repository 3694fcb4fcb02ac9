//! Instances that have ended, until their rows are stored.
//!
//! Most instances end soon, and their rows are stored much later. Until then only what is left of them
//! is kept: what instances need while they run is used again by the next ones.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::Arc,
};

use travertine_kernel::Remains;
use travertine_store::{
    Seq,
    record::Created,
    view::{Change, InstanceRow, Row},
};

use super::{Hashed, Shard, checkpoint::instance_row, live::Live};
use crate::{Definition, InstanceId, Timestamp};

/// Instances that have ended, in the order in which they did.
#[derive(Debug, Default)]
pub(super) struct Closing {
    all: VecDeque<Box<Closed>>,
    /// Where each is, counted from the first that there ever was.
    places: HashMap<InstanceId, usize, Hashed>,
    /// How many have left.
    gone: usize,
    /// How many have handed over their rows.
    handed: usize,
}

/// What is kept of an instance that has ended.
#[derive(Debug)]
pub(super) struct Closed {
    id: InstanceId,
    pub(super) created: Created,
    pub(super) definition: Arc<Definition>,
    /// `None` where the instance is in memory again.
    state: Option<Remains>,
    last: Seq,
    at: Timestamp,
    /// Whether there are rows of what it had while it ran.
    has_rows: bool,
    /// Its own row, until that is handed over.
    row: Option<InstanceRow>,
    /// Rows of what was over in it, until they are handed over.
    past: Vec<Row>,
}

impl Closed {
    /// Its own row, until that is handed over.
    pub(super) fn row(&self) -> Option<&InstanceRow> {
        self.row.as_ref()
    }
}

impl Closing {
    fn push(&mut self, closed: Box<Closed>) {
        self.places.insert(closed.id, self.gone + self.all.len());
        self.all.push_back(closed);
    }

    /// What is kept of an instance.
    pub(super) fn get(&self, id: InstanceId) -> Option<&Closed> {
        self.all.get(self.places.get(&id)? - self.gone).map(|it| &**it)
    }

    fn get_mut(&mut self, id: InstanceId) -> Option<&mut Closed> {
        self.all.get_mut(self.places.get(&id)? - self.gone).map(|it| &mut **it)
    }

    /// An instance as it was when it ended.
    pub(super) fn reopen(&mut self, id: InstanceId) -> Option<Live> {
        let closed = self.get_mut(id)?;
        let mut live = Live::new(id, closed.created.clone(), Arc::clone(&closed.definition));
        live.state = closed.state.take()?.into();
        live.last = closed.last;
        live.at = closed.at;
        Some(live)
    }

    /// An instance is not kept any more.
    pub(super) fn forget(&mut self, id: InstanceId) {
        if let Some(closed) = self.get_mut(id) {
            closed.row = None;
            closed.past = Vec::new();
            self.places.remove(&id);
        }
    }

    /// The rows of those that have ended since this was asked last.
    pub(super) fn hand_over(&mut self, changes: &mut Vec<Change>) {
        let new = self.handed.max(self.gone) - self.gone;
        for closed in self.all.range_mut(new..) {
            changes.extend(closed.past.drain(..).map(Change::Put));
            let Some(row) = closed.row.take() else { continue };
            if closed.has_rows {
                changes.push(Change::Clear(closed.id.0));
            }
            changes.push(Change::Put(Row::Instance(row)));
        }
        self.handed = self.gone + self.all.len();
    }

    /// All rows up to an entry are stored.
    pub(super) fn stored(&mut self, upto: Seq) {
        while let Some(closed) = self.all.pop_front_if(|it| it.last <= upto) {
            if self.places.get(&closed.id) == Some(&self.gone) {
                self.places.remove(&closed.id);
            }
            self.gone += 1;
        }
    }
}

impl Shard {
    /// Gives up the room of instances that have ended and to which nothing will happen any more.
    pub(super) fn close_ended(&mut self) {
        let mut ending = std::mem::take(&mut self.instances.ending);
        for id in ending.drain(..) {
            let Entry::Occupied(mut place) = self.instances.lives.entry(id) else { continue };
            let live = place.get_mut();
            if !live.is_plain() {
                continue;
            }
            let row = instance_row(live);
            let Some(state) = live.state.take_remains() else { continue };
            let live = place.remove();
            self.instances.closing.push(Box::new(Closed {
                id,
                created: live.created,
                definition: live.definition,
                state: Some(state),
                last: live.last,
                at: live.at,
                has_rows: live.rowed > 0,
                row: Some(row),
                past: live.past,
            }));
        }
        self.instances.ending = ending;
    }
}

#[cfg(test)]
mod tests {
    use travertine_kernel::Plan;
    use travertine_store::{MemoryStore, ShardId, Store as _};

    use super::*;
    use crate::{
        Begin, Board, Definitions, Opening, Settings,
        request::{Ask, ReplyTo, StartRequest},
    };

    #[test]
    fn nothing_is_known_of_what_has_ended_once_its_row_is_stored() {
        let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>
            </definitions>"#;
        let files = [("p.bpmn", model.as_bytes())];
        let report = travertine_bpmn::read(&files, &travertine_bpmn::Options::default());
        let plan: Arc<Plan> = Arc::clone(&report.processes[0].plan);
        let now = Timestamp::from_millis(0);
        let mut definitions = Definitions::default();
        let key = definitions.add(&[("p".into(), plan)], now).unwrap()[0].key;
        let store = Arc::new(MemoryStore::new(1));
        let claim = store.take(ShardId(0), "test").unwrap();
        let opening = Opening {
            functions: Arc::default(),
            store,
            definitions: Arc::new(definitions),
            board: Arc::new(Board::default()),
            settings: Settings::default(),
            now,
        };
        let (mut shard, _) = Shard::recover(claim, opening, &mut |_, _| {}).unwrap();
        let business_id = Some("mine".into());
        let begin = Begin { definition: key, business_id, ..Begin::default() };
        shard.request(StartRequest { begin }.into_request(), ReplyTo::Nobody);
        assert_eq!((shard.instances.lives.len(), shard.instances.closing.all.len()), (0, 1));
        assert_eq!(shard.instances.unstored(), (1, 1));
        let rows = shard.checkpoint().expect("something has changed");
        assert_eq!(rows.changes.len(), 1);
        shard.stored(rows.upto);
        assert_eq!(
            (shard.instances.closing.all.len(), shard.instances.closing.places.len()),
            (0, 0)
        );
        assert_eq!(shard.instances.unstored(), (0, 0));
    }
}
