//! Any bytes as a decision model: there is a report, and everything in it that can be decided is
//! decided without inputs, in time and memory that suit the size of the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use travertine_lang::feel::{Context, Settings};
use travertine_value::Limits;
use travertine_fuzz::{Counting, within};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More than these are decided by other inputs.
const INVOCABLES_MAX: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    within(1024 * bytes.len() + (8 << 20), || {
        let report = travertine_dmn::read(&[("fuzz.dmn", bytes)]);
        for diagnostic in &report.diagnostics {
            assert!(!diagnostic.to_string().is_empty());
        }
        let Some(definitions) = report.definitions else { return };
        let limits = Limits { steps_max: 10_000, memory_bytes_max: 1 << 20, depth_max: 64, ..Limits::default() };
        let settings = Settings { limits, ..Settings::default() };
        for invocable in definitions.invocables().into_iter().take(INVOCABLES_MAX) {
            drop(definitions.evaluate(&invocable.name, &Context::default(), &settings));
        }
    });
});
