//! Stand-in.
#![allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat;
impl Repeat {
    pub fn next(&self, _: Timestamp) -> Option<Due> {
        None
    }
}
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub at: Timestamp,
    pub repeat: Option<Repeat>,
}
#[derive(Clone, Copy)]
pub enum Timer {
    Date,
    Duration,
    Cycle,
}
pub fn due(_: Timer, _: &str, now: Timestamp) -> Result<Due, String> {
    Ok(Due { at: now, repeat: None })
}
