//! Decisions that someone wants made.

use travertine_kernel::Assignments;
use travertine_runtime::{
    DeployedKind,
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

impl Desk {
    /// Makes a decision.
    pub async fn decide(&self, which: Which, variables: Assignments) -> Result<Decided, Refusal> {
        let target = match which {
            Which::Id(id) => Target::Latest(id),
            Which::Key(key) => Target::Key(self.deployed(key, DeployedKind::Decision)?.key),
        };
        Ok(self.engine.decide(target, variables).await?)
    }
}
