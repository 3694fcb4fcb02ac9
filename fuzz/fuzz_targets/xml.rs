//! Any bytes as a model: there is a report, in time and memory that suit the size of the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use travertine_bpmn::Options;
use travertine_fuzz::{Counting, within};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| {
    let report = within(1024 * bytes.len() + (1 << 20), || {
        travertine_bpmn::read(&[("fuzz.bpmn", bytes)], &Options::default())
    });
    for diagnostic in &report.diagnostics {
        assert!(!diagnostic.to_string().is_empty());
    }
});
