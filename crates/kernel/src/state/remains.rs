//! What is left of an instance after its end.

use travertine_value::time::Timestamp;

use crate::{answer::Answers, plan::NodeId, table::Table, vocabulary::Catches};

use super::{Instance, InstanceState, Layer, Phase, ROOT_LAYER};

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
    numbers: u64,
}

impl Instance {
    /// Takes out all that is left of it, where it has ended and what it has sent has arrived.
    pub fn take_remains(&mut self) -> Option<Remains> {
        let state = &mut self.state;
        let over = matches!(state.phase, Phase::Ended(_)) && state.posts.is_empty();
        if !over || state.layers.len() != 1 {
            return None;
        }
        let variables = state.layers.remove(&ROOT_LAYER)?;
        let remains = Remains {
            phase: std::mem::take(&mut state.phase),
            started: state.started.take(),
            start: std::mem::take(&mut state.start),
            caller: state.caller.take().map(Box::new),
            variables,
            answers: std::mem::take(&mut state.answers),
            steps: std::mem::take(&mut state.steps),
            names: std::mem::take(&mut state.names),
            cues: std::mem::take(&mut state.cues),
            numbers: std::mem::take(&mut state.numbers),
        };
        debug_assert_eq!(*self, Self::default(), "nothing else is left of an ended instance");
        Some(remains)
    }
}

impl From<Remains> for Instance {
    fn from(it: Remains) -> Self {
        let mut layers = Table::default();
        layers.insert(ROOT_LAYER, it.variables);
        let state = InstanceState {
            phase: it.phase,
            started: it.started,
            start: it.start,
            caller: it.caller.map(|it| *it),
            layers,
            answers: it.answers,
            steps: it.steps,
            names: it.names,
            cues: it.cues,
            numbers: it.numbers,
            ..InstanceState::default()
        };
        Self { state }
    }
}
