//! Decisions that someone wants made.

use std::sync::atomic::{AtomicU64, Ordering};

use travertine_kernel::Assignments;
use travertine_runtime::{
    DeployedKind, InstanceId, Named,
    engine::{Decided, Target},
};
use travertine_value::Name;

use super::{Desk, Refusal};

/// Which decision is meant.
#[derive(Clone, Debug)]
pub enum Which {
    /// The latest version of this id.
    Id(Name),
    /// The one with this key.
    Key(i64),
}

/// Decisions that no instance makes are numbered as if this one and those after it made them. No instance has such a
/// number.
const NOBODY: u64 = 1 << 48;

impl Desk {
    /// What the next decision that was asked for is called. None of it is kept, so its number is drawn from the time: two
    /// never have the same, before and after a restart.
    pub fn evaluation(&self) -> Named {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // So many can be made in a millisecond; whoever makes more runs ahead of the clock.
        const BITS: u32 = 8;
        let millis = u64::try_from(self.engine.now().as_millis()).unwrap_or(0);
        let next = |last: u64| Some((millis << BITS).max(last + 1));
        let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let number = next(last.unwrap_or_else(|it| it)).unwrap_or_default();
        let instance = NOBODY | (number >> BITS) & (NOBODY - 1);
        Named::Evaluation(InstanceId(instance), number & ((1 << BITS) - 1))
    }

    /// Makes a decision.
    pub async fn decide(&self, which: Which, variables: Assignments) -> Result<Decided, Refusal> {
        let target = match which {
            Which::Id(id) => {
                let missing =
                    || Refusal::not_found(format!("no decision {id} is deployed: deploy it first"));
                self.may(&id, missing)?;
                Target::Latest(id)
            }
            Which::Key(key) => Target::Key(self.deployed(key, DeployedKind::Decision)?.key),
        };
        Ok(self.engine.decide(target, variables).await?)
    }
}
