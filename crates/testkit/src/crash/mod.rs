//! An engine in a process of its own that is killed again and again, and a model of what must be left.
//!
//! The process ([`load`]) puts a mix of everything that can be asked of an engine on a store, and says
//! what it asks before it does and what is acknowledged as soon as it is. Whoever listens ([`Drive`])
//! kills it, opens the store and holds it against what was said ([`Ledger`], [`check`]). Time is what
//! the process says it is, so that it stands still while nothing runs. [`answers`] asks less of what becomes of instances,
//! and every kind of request for what it answers.

pub mod answers;
mod check;
mod drive;
mod ledger;
mod load;
mod models;

pub use check::{check, settle};
pub use drive::{Drive, Kill};
pub use ledger::{Act, Asked, Fate, Ledger};
pub use load::load;

use std::{path::Path, sync::Arc, time::Duration};

use travertine_kernel::Budgets;
use travertine_runtime::{
    Engine, Error, Settings, Timestamp,
    engine::{ManualClock, Options, Pace},
};

/// Numbers that look random and are the same for the same seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (it ^ (it >> 31)) % limit
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let count = all.len() as u64;
        (count > 0).then(|| &all[usize::try_from(self.below(count)).expect("it is an index")])
    }
}

/// Opens the engine under test: three shards, views that follow closely, little memory.
fn open(dir: &Path, clock: &Arc<ManualClock>) -> Result<Engine, Error> {
    let options = Options {
        shards: 3,
        clock: Arc::clone(clock) as Arc<_>,
        pace: Pace { changed: 40, interval: Duration::from_millis(20), ..Pace::default() },
        settings: Settings {
            instances_max: 30,
            known_for: Duration::from_millis(1 << 50),
            snapshot_bytes: 1_000,
            // What swells is stopped early.
            budgets: Budgets { data_bytes: 1 << 20, ..Budgets::default() },
            ..Settings::default()
        },
        ..Options::default()
    };
    Engine::open_with(dir, options)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}
