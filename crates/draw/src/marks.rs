//! What an instance has done, by the ids of the model.

use std::collections::BTreeMap;

/// What an instance has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// What happened at each node.
    pub nodes: BTreeMap<String, NodeMark>,
    /// How often each flow was taken.
    pub flows: BTreeMap<String, u32>,
}

/// What happened at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeMark {
    /// How many tokens are there now.
    pub tokens: u32,
    /// How often it was entered.
    pub visits: u32,
    /// How many tokens there need an operator.
    pub incidents: u32,
}
