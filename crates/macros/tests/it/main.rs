//! What the attributes make of functions that are as they should be, and what the compiler says of others.
#![forbid(unsafe_code)]

mod accepted;
mod annotated;

/// `TRYBUILD=overwrite` writes down what the compiler says now; look at each change.
#[test]
fn what_cannot_be_durable_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
