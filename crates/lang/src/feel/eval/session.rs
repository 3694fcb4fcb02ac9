//! What evaluations share: settings, limits, and what was noticed.

use std::fmt;

use travertine_value::{Limit, Limits, Name, time::Timestamp};

use super::super::{
    collection::{Context, Shape},
    problem::{Place, Reason, Warning},
    temporal::Zone,
    tree::At,
    value::FeelValue,
};

/// More are not kept: the first ones say what is wrong.
const WARNINGS_MAX: usize = 32;

/// What a value in a list takes, roughly.
const VALUE_BYTES: usize = size_of::<FeelValue>();

/// What an expression can see from outside.
pub trait Scope {
    /// The value of that name; `None` where there is none.
    fn get(&self, name: &str) -> Option<FeelValue>;
}

impl Scope for Context {
    fn get(&self, name: &str) -> Option<FeelValue> {
        Self::get(self, name)
    }
}

/// A scope without any names.
pub(in super::super) struct Nowhere;

impl Scope for Nowhere {
    fn get(&self, _: &str) -> Option<FeelValue> {
        None
    }
}

/// What an evaluation gets from outside besides the variables.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The time, for `now()` and `today()`; without it they are null.
    pub now: Option<Timestamp>,
    /// Where `now()` and `today()` are meant; UTC where nothing is said.
    pub zone: Zone,
    /// Where `random number()` and `uuid()` begin; without it they are null.
    pub seed: Option<u64>,
    /// How much it may cost.
    pub limits: Limits,
}

/// One or more evaluations that share settings and limits.
pub struct Session<'s> {
    settings: &'s Settings,
    steps_left: u64,
    depth_left: usize,
    bytes_left: usize,
    random: Option<u64>,
    warnings: Vec<Warning>,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("warnings", &self.warnings).finish_non_exhaustive()
    }
}

impl<'s> Session<'s> {
    /// Everything is still allowed.
    pub fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            steps_left: settings.limits.steps_max,
            depth_left: settings.limits.depth_max,
            bytes_left: settings.limits.memory_bytes_max,
            random: settings.seed,
            warnings: Vec::new(),
        }
    }

    /// The settings it began with.
    pub fn settings(&self) -> &'s Settings {
        self.settings
    }

    /// What became null so far, and why. Of very many only the first are kept.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Takes what became null so far, and why, and leaves none behind.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Notes a reason of the caller's own.
    pub fn note(&mut self, warning: Warning) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(warning);
        }
    }

    /// Counts work of the caller's own as so many steps.
    pub fn charge(&mut self, steps: usize) -> Result<(), Limit> {
        self.charge_steps(steps)
    }

    /// Does something that can contain itself: calls and parts of the caller's own count as depth, as
    /// those of expressions do.
    pub fn within<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Limit>,
    ) -> Result<T, Limit> {
        self.go_deeper()?;
        let value = run(self);
        self.come_back();
        value
    }

    pub(super) fn warn(
        &mut self,
        reason: Reason,
        source: &Name,
        at: At,
        message: impl FnOnce() -> String,
    ) {
        if self.warnings.len() < WARNINGS_MAX {
            let place = Place::of(source, at);
            self.warnings.push(Warning { reason, message: message(), place });
        }
    }

    pub(in super::super) fn warnings_len(&self) -> usize {
        self.warnings.len()
    }

    /// Drops the warnings of a part that was expected to be null.
    pub(in super::super) fn forget_warnings(&mut self, from: usize) {
        self.warnings.truncate(from);
    }

    pub(super) fn is_missing_since(&self, from: usize) -> bool {
        let is_missing = |it: &Warning| {
            matches!(it.reason, Reason::MissingVariable(_) | Reason::MissingEntry(_))
        };
        // Where nothing more is kept, nobody can say; then it is rather missing.
        self.warnings.len() == WARNINGS_MAX || self.warnings[from..].iter().any(is_missing)
    }

    pub(super) fn step(&mut self) -> Result<(), Limit> {
        self.charge_steps(1)
    }

    /// Counts work that is not the evaluation of a part.
    pub(in super::super) fn charge_steps(&mut self, steps: usize) -> Result<(), Limit> {
        self.steps_left = self.steps_left.checked_sub(steps as u64).ok_or(Limit::Steps)?;
        Ok(())
    }

    pub(in super::super) fn charge_bytes(&mut self, bytes: usize) -> Result<(), Limit> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(Limit::Memory)?;
        Ok(())
    }

    /// Counts what a new value takes. Everything ever made counts, for that is easy to predict.
    pub(in super::super) fn charge_for(&mut self, value: &FeelValue) -> Result<(), Limit> {
        let bytes = match value {
            FeelValue::String(text) => text.len(),
            FeelValue::List(list) => list.len().saturating_mul(VALUE_BYTES),
            FeelValue::Context(context) => context.len().saturating_mul(2 * VALUE_BYTES),
            _ => return Ok(()),
        };
        let shape = Shape::of(value);
        if shape.depth as usize > self.settings.limits.depth_max {
            return Err(Limit::Depth);
        }
        if shape.nodes > (self.settings.limits.memory_bytes_max / VALUE_BYTES) as u64 {
            return Err(Limit::Memory);
        }
        self.charge_bytes(bytes)
    }

    pub(in super::super) fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    pub(in super::super) fn go_deeper(&mut self) -> Result<(), Limit> {
        self.depth_left = self.depth_left.checked_sub(1).ok_or(Limit::Depth)?;
        Ok(())
    }

    pub(in super::super) fn come_back(&mut self) {
        self.depth_left += 1;
    }

    /// The next number of the sequence that begins with the seed (`SplitMix64`).
    pub(in super::super) fn next_random(&mut self) -> Option<u64> {
        let state = self.random.as_mut()?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    }
}
