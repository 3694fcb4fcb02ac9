//! The log of a store, read as what functions have gone through.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_kernel::{
    Ending, Event, Instance, JournalEntry, Phase, ROOT_LAYER, Slot, WaitFor, apply,
};
use travertine_runtime::{InstanceId, trace};
use travertine_store::{
    Batch, DefinitionKey, Entry, ShardId, Store, codec::record::decode_records, record::Record,
};

use crate::{Assignments, Name};

/// All instances of a store, by number.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) stories: BTreeMap<u64, Story>,
    /// Those whom its entries are about; 0 for a shard itself.
    pub(super) about: BTreeSet<u64>,
}

/// What an instance has gone through.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// What people call it.
    pub(super) name: Name,
    /// What it is now.
    pub(super) state: Instance,
    /// Its function, from each beginning on; empty where it is a process.
    pub(super) runs: Vec<Told>,
    /// The key of what it runs.
    definition: DefinitionKey,
}

/// A function from a beginning to its end, or to where it begins anew.
#[derive(Debug)]
pub(super) struct Told {
    /// The key of what it runs.
    pub(super) definition: DefinitionKey,
    /// What it was begun with.
    pub(super) arguments: Assignments,
    pub(super) journal: Vec<Arc<JournalEntry>>,
    /// What its operations wait for.
    pub(super) waits: BTreeMap<u32, Arc<WaitFor>>,
}

impl Log {
    pub(super) fn read(store: &dyn Store) -> Self {
        let mut log = Self::default();
        for shard in (0..store.shards()).map(ShardId) {
            let entries = store.entries(shard, 0, usize::MAX);
            for entry in entries.expect("a store in memory can be read") {
                log.add(&entry);
            }
        }
        log
    }

    fn add(&mut self, entry: &Entry) {
        self.about.insert(entry.instance.0);
        if entry.instance == InstanceId(0) {
            return;
        }
        let story = self.stories.entry(entry.instance.0).or_default();
        let records = decode_records(&entry.body).expect("the engine has just written it");
        for record in records {
            match record {
                Record::Created(created) => {
                    let name = created.business_id;
                    story.name = name.unwrap_or_else(|| entry.instance.unnamed());
                    story.definition = created.definition;
                }
                Record::Migrated { definition } => {
                    story.definition = definition;
                    // It is written with the beginning that it is for.
                    if let Some(told) = story.runs.last_mut().filter(|it| it.journal.len() == 1) {
                        told.definition = definition;
                    }
                }
                Record::Happened(events) => events.iter().for_each(|it| story.happen(it)),
                _ => {}
            }
        }
    }

    /// The instance that people call so.
    pub(super) fn find(&self, name: &str) -> Option<(u64, &Story)> {
        let called = |name: &str| self.stories.iter().find(|(_, it)| &*it.name == name);
        // One without an id goes by its number, where nobody is called so.
        let number = || called(&name.parse::<InstanceId>().ok()?.unnamed());
        called(name).or_else(number).map(|(id, story)| (*id, story))
    }

    /// The keys of activities whose outcome is in the log.
    pub(super) fn done(&self) -> BTreeSet<String> {
        let mut done = BTreeSet::new();
        for story in self.stories.values() {
            for (run, told) in story.runs.iter().enumerate() {
                let operations = told.journal.iter().filter_map(|it| match &**it {
                    JournalEntry::Done { operation, .. } => told.key(*operation),
                    _ => None,
                });
                done.extend(operations.map(|key| format!("{}/{run}/{key}", story.name)));
            }
        }
        done
    }
}

impl Story {
    fn happen(&mut self, event: &Event) {
        apply(&mut self.state, event);
        match event {
            Event::FunctionBegan { .. } => {
                let layer = self.state.layers.get(&ROOT_LAYER);
                let variables = layer.into_iter().flat_map(|it| it.variables.iter());
                let began = self.state.journal.as_ref().expect("it has just begun");
                self.runs.push(Told {
                    definition: self.definition,
                    arguments: variables
                        .map(|(name, it)| (Name::clone(name), it.clone()))
                        .collect(),
                    journal: began.entries.clone(),
                    waits: BTreeMap::new(),
                });
            }
            Event::Journaled { entry } => self.told().journal.push(Arc::clone(entry)),
            Event::UpdateRefused { .. } => drop(self.told().journal.pop()),
            Event::WaitOpened { slot: Slot::Operation(number), on, .. } => {
                self.told().waits.insert(*number, Arc::clone(on));
            }
            _ => {}
        }
    }

    fn told(&mut self) -> &mut Told {
        self.runs.last_mut().expect("it has begun")
    }

    /// How it ended, where it has.
    pub(super) fn ending(&self) -> Option<&Ending> {
        match &self.state.phase {
            Phase::Ended(ending) => Some(ending),
            Phase::New | Phase::Running => None,
        }
    }

    /// Its variables.
    pub(super) fn result(&self) -> Assignments {
        let layer = self.state.layers.get(&ROOT_LAYER);
        let all = layer.into_iter().flat_map(|it| it.variables.iter());
        let result = all.filter(|(name, _)| &***name == "result");
        result.map(|(name, it)| (Name::clone(name), it.clone())).collect()
    }

    /// A line for each thing in its journals.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.runs.iter().flat_map(|it| trace::of_journal(&it.journal)).collect();
        lines.extend(self.ending().map(|ending| match ending {
            Ending::Completed => format!("completed{}", with(&self.result())),
            Ending::Failed(failure) => format!("failed: {failure}"),
            Ending::Cancelled => "cancelled".to_owned(),
        }));
        let incidents = self.state.incidents.iter();
        lines.extend(incidents.map(|(_, it)| format!("stands still: {}", it.failure)));
        lines
    }

    /// What it waits for, in words.
    pub(super) fn waits(&self) -> Vec<String> {
        self.state.waits.iter().map(|(_, it)| trace::of_wait(&it.on)).collect()
    }
}

impl Told {
    /// What the code calls an operation.
    pub(super) fn key(&self, operation: u32) -> Option<&Name> {
        let mut keys = self.journal.iter().filter_map(|it| it.key());
        keys.nth(operation as usize)
    }
}

pub(super) fn with(variables: &Assignments) -> String {
    let all: Vec<String> =
        variables.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    all.concat()
}

/// What batches, which follow on a store, say of journals.
pub(super) fn in_words(store: &dyn Store, batches: &[Batch]) -> String {
    let mut log = Log::read(store);
    let mut words = Vec::new();
    for entry in batches.iter().flat_map(|it| &it.entries) {
        let before = log.stories.get(&entry.instance.0).map_or(0, |it| it.lines().len());
        log.add(entry);
        let Some(story) = log.stories.get(&entry.instance.0) else { continue };
        let lines = story.lines().into_iter().skip(before);
        words.extend(lines.map(|it| format!("{}: {it}", story.name)));
    }
    if words.is_empty() { "nothing is in a journal".to_owned() } else { words.join("; ") }
}
