//! What has happened to an instance, from its log.

use std::sync::Arc;

use travertine_kernel::{Instance, apply};
use travertine_store::{
    Entry, Error as StoreError, Seq, ShardId, Store, codec::record::decode_records, record::Record,
    view::InstanceRow,
};

use super::Engine;
use crate::{
    Definition, DefinitionKey, Definitions, Error, InstanceId, Timestamp, shard::unfolded,
};

/// What has happened to an instance.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, InstanceId};
/// # use travertine_runtime::engine::History;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let history: History = engine.history(InstanceId(12))?;
/// println!("{} steps of {}", history.steps.len(), history.definition.id);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct History {
    /// The instance.
    pub instance: InstanceId,
    /// What it runs, or ran at the end.
    pub definition: Arc<Definition>,
    /// What has happened, oldest first.
    pub steps: Vec<Step>,
}

/// What became true of an instance at once.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, InstanceId};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for step in engine.history(InstanceId(12))?.steps {
///     println!("entry {} of the log, at {}", step.seq, step.at);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its place in the log.
    pub seq: Seq,
    /// When.
    pub at: Timestamp,
    /// The key of what the instance ran then.
    pub definition: DefinitionKey,
    /// What.
    #[doc(hidden)] // For the command line, which puts it into words; it is of the kernel.
    pub records: Vec<Record>,
}

impl Engine {
    /// What has happened to an instance. Of one that ended long ago only the end is known.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let history = engine.history(InstanceId(12))?;
    /// let began = history.steps.first().map(|it| it.at);
    /// # Ok(()) }
    /// ```
    pub fn history(&self, instance: InstanceId) -> Result<History, Error> {
        self.flush_now()?;
        let definitions = self.definitions();
        self.read_views(|store| history(store, &definitions, instance))
    }
}

pub(super) fn history(
    store: &dyn Store,
    definitions: &Definitions,
    instance: InstanceId,
) -> Result<History, Error> {
    let row = store.instance(instance)?.ok_or(Error::NoSuchInstance(instance))?;
    let mut steps = Vec::new();
    let mut key = row.definition_key;
    for entry in entries(store, &row)? {
        let records = decode_records(&entry.body)
            .map_err(|error| Error::damaged_instance(instance, &error))?;
        for record in &records {
            if let Record::Created(created) = record {
                key = created.definition;
            } else if let Record::Migrated { definition } = record {
                key = *definition;
            }
        }
        let at = entry.at;
        steps.push(Step { seq: entry.seq, at, definition: key, records });
    }
    let definition = definitions
        .get(row.definition_key)
        .map(Arc::clone)
        .ok_or_else(|| Error::no_such_definition(&row.definition))?;
    Ok(History { instance, definition, steps })
}

/// The entries about an instance, which may be shortened or forgotten meanwhile. Its row goes first.
fn entries(store: &dyn Store, row: &InstanceRow) -> Result<Vec<Entry>, Error> {
    let shard = ShardId::of(row.id, store.shards());
    let missing = Err(Error::NoSuchInstance(InstanceId(row.id)));
    match store.chain(shard, row.last, 0) {
        Err(StoreError::NoSuchEntry { .. }) => {}
        other => return Ok(other?),
    }
    let Some(row) = store.instance(InstanceId(row.id))? else { return missing };
    match store.chain(shard, row.last, 0) {
        // It was forgotten, and a crash has brought its row back; unless the log has lost it.
        Err(StoreError::NoSuchEntry { .. }) if row.ended.is_some() => {
            store.check_log(shard)?;
            missing
        }
        other => Ok(other?),
    }
}

impl History {
    /// The instance as it was after the entry `seq`, or after the last one before it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let history = engine.history(InstanceId(12))?;
    /// if let Some(first) = history.steps.first() {
    ///     println!("{:?}", history.state_at(first.seq));
    /// }
    /// # Ok(()) }
    /// ```
    #[doc(hidden)] // For the command line; it is of the kernel.
    pub fn state_at(&self, seq: Seq) -> Instance {
        let mut state = Instance::default();
        for step in self.steps.iter().take_while(|it| it.seq <= seq) {
            for record in &step.records {
                if let Record::Ended(folded) = record {
                    state = Instance::default();
                    for event in &unfolded(folded) {
                        apply(&mut state, event);
                    }
                } else if let Record::Happened(events) = record {
                    for event in events {
                        apply(&mut state, event);
                    }
                }
            }
        }
        state
    }
}
