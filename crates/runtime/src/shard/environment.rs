//! What a shard stands on: its claim, the store, what is deployed, and how it is to behave.

use std::{cell::OnceCell, sync::Arc};

use travertine_kernel::Budgets;
use travertine_store::{Claim, Error as StoreError, ShardId, Store};

use super::{lots::Lots, settings::Settings};
use crate::{Definition, DefinitionKey, Definitions, Error, InstanceId, board::Board};

/// What a shard stands on. Little of it ever changes.
pub(super) struct Environment {
    pub(super) claim: Claim,
    /// How many shards there are.
    pub(super) shards: u16,
    pub(super) store: Arc<dyn Store>,
    pub(super) definitions: Arc<Definitions>,
    /// What will be deployed in a moment: other shards may ask for it already.
    pub(super) coming: Option<Arc<Definitions>>,
    /// Where jobs are put up.
    pub(super) board: Arc<Board>,
    pub(super) settings: Settings,
    pub(super) budgets: Arc<Budgets>,
    /// What was read beforehand for the batch that is being made.
    pub(super) lots: Lots,
    /// Why the shard cannot go on: what it must know it could not read.
    pub(super) fault: OnceCell<Error>,
}

impl Environment {
    /// Which shard it is.
    pub(super) fn id(&self) -> ShardId {
        self.claim.shard
    }

    /// The shard must know something that cannot be read.
    pub(super) fn fail(&self, error: &StoreError) {
        self.fault.get_or_init(|| error.clone().into());
    }

    /// The shard of an instance.
    pub(super) fn shard_of(&self, instance: InstanceId) -> ShardId {
        ShardId::of(instance.0, self.shards)
    }

    /// The shard that finds receivers for messages and signals of a name.
    pub(super) fn keeper(&self, name: &str) -> ShardId {
        keeper(name, self.shards)
    }

    /// The definition with that key.
    pub(super) fn definition(&self, key: DefinitionKey) -> Result<Arc<Definition>, Error> {
        let coming = || self.coming.as_ref()?.get(key);
        let found = self.definitions.get(key).or_else(coming).map(Arc::clone);
        found.ok_or_else(|| Error::no_such_definition(&format!("key {key}")))
    }

    /// How many instances of a definition may begin in a second without anyone outside asking.
    pub(super) fn starts_per_second(&self, definition: DefinitionKey) -> u64 {
        let of = self.definitions.get(definition).and_then(|it| it.plan.starts_max);
        let all = u64::from(self.settings.starts_per_second);
        of.unwrap_or(if all > 0 { all } else { u64::MAX })
    }

    /// All that is deployed, also what will be taken over in a moment: an instance may be of that.
    pub(super) fn newest(&self) -> Arc<Definitions> {
        Arc::clone(self.coming.as_ref().unwrap_or(&self.definitions))
    }

    /// The definition with that key, where an instance may come to run it.
    pub(super) fn runnable(&self, key: DefinitionKey) -> Result<Arc<Definition>, Error> {
        if self.definitions.is_leaving(key) {
            return Err(Error::no_such_definition(&format!("key {key}")));
        }
        let found = self.definition(key)?;
        if self.definitions.is_retired(key) {
            let what = format!("{} version {}, which is retired", found.id, found.version);
            return Err(Error::no_such_definition(&what));
        }
        Ok(found)
    }
}

/// The shard that finds receivers for messages and signals of a name. Every process that opens the
/// store must find the same one, so the hash is written down here: FNV-1a.
pub(crate) fn keeper(name: &str, shards: u16) -> ShardId {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ShardId::of(hash, shards)
}
