//! What is left of an instance after its end.

use travertine_value::time::Timestamp;

use crate::{
    answer::Answers,
    plan::NodeId,
    state::{Instance, Layer, Phase, ROOT_LAYER},
    table::Table,
    vocabulary::Catches,
};

/// All that there is of an instance that has ended and has nothing under way: much less room than an
/// instance needs.
#[derive(Debug)]
pub struct Remains {
    phase: Phase,
    started: Option<Timestamp>,
    start: Vec<NodeId>,
    caller: Option<Box<Catches>>,
    variables: Layer,
    answers: Answers,
    steps: u64,
    names: u64,
    cues: u64,
}

impl Instance {
    /// Takes out all that is left of it, where it has ended and what it has sent has arrived.
    pub fn take_remains(&mut self) -> Option<Remains> {
        let over = matches!(self.phase, Phase::Ended(_)) && self.posts.is_empty();
        if !over || self.layers.len() != 1 {
            return None;
        }
        let variables = self.layers.remove(&ROOT_LAYER)?;
        let remains = Remains {
            phase: std::mem::take(&mut self.phase),
            started: self.started.take(),
            start: std::mem::take(&mut self.start),
            caller: self.caller.take().map(Box::new),
            variables,
            answers: std::mem::take(&mut self.answers),
            steps: std::mem::take(&mut self.steps),
            names: std::mem::take(&mut self.names),
            cues: std::mem::take(&mut self.cues),
        };
        debug_assert_eq!(*self, Self::default(), "nothing else is left of an ended instance");
        Some(remains)
    }
}

impl From<Remains> for Instance {
    fn from(it: Remains) -> Self {
        let mut layers = Table::default();
        layers.insert(ROOT_LAYER, it.variables);
        Self {
            phase: it.phase,
            started: it.started,
            start: it.start,
            caller: it.caller.map(|it| *it),
            layers,
            answers: it.answers,
            steps: it.steps,
            names: it.names,
            cues: it.cues,
            ..Self::default()
        }
    }
}
