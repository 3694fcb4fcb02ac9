//! The parts of events about tokens.

use serde::Deserialize;
use travertine_kernel::{self as kernel, LayerId, TokenId};

use super::{puts, wait::Moment};

#[derive(Debug, Deserialize)]
pub(super) enum Role {
    Flow,
    Run(u32),
    Branch(u32),
    Guard(u64),
    Start,
    Compensation,
}

puts!(enum kernel::Role { Flow, Run(index), Branch(index), Guard(token), Start, Compensation });

impl Role {
    pub(super) fn lift(self) -> kernel::Role {
        match self {
            Self::Flow => kernel::Role::Flow,
            Self::Run(index) => kernel::Role::Run(index),
            Self::Branch(index) => kernel::Role::Branch(index),
            Self::Guard(token) => kernel::Role::Guard(TokenId(token)),
            Self::Start => kernel::Role::Start,
            Self::Compensation => kernel::Role::Compensation,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) enum Reads {
    Shared(u64),
    Own(Option<u64>),
}

puts!(enum kernel::Reads { Shared(layer), Own(over) });

impl Reads {
    pub(super) fn lift(self) -> kernel::Reads {
        match self {
            Self::Shared(layer) => kernel::Reads::Shared(LayerId(layer)),
            Self::Own(over) => kernel::Reads::Own(over.map(LayerId)),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) enum State {
    Created,
    Arrived,
    Ready,
    Entered,
    Busy,
    Completed,
    Exiting,
    Departed,
    Waiting,
    Done,
    Failing,
    Failed,
    Withdrawn,
}

puts!(enum kernel::State {
    Created,
    Arrived,
    Ready,
    Entered,
    Busy,
    Completed,
    Exiting,
    Departed,
    Waiting,
    Done,
    Failing,
    Failed,
    Withdrawn,
});

impl State {
    pub(super) fn lift(self) -> kernel::State {
        match self {
            Self::Created => kernel::State::Created,
            Self::Arrived => kernel::State::Arrived,
            Self::Ready => kernel::State::Ready,
            Self::Entered => kernel::State::Entered,
            Self::Busy => kernel::State::Busy,
            Self::Completed => kernel::State::Completed,
            Self::Exiting => kernel::State::Exiting,
            Self::Departed => kernel::State::Departed,
            Self::Waiting => kernel::State::Waiting,
            Self::Done => kernel::State::Done,
            Self::Failing => kernel::State::Failing,
            Self::Failed => kernel::State::Failed,
            Self::Withdrawn => kernel::State::Withdrawn,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) enum Cue {
    Arrive,
    Enter,
    Spawn,
    Childless,
    Complete,
    Exit,
    Throw,
    Offer,
    Listen(Moment, u16),
    Think,
}

puts!(enum kernel::Cue {
    Arrive,
    Enter,
    Spawn,
    Childless,
    Complete,
    Exit,
    Throw,
    Offer,
    Listen(moment, position),
    Think,
});

impl Cue {
    pub(super) fn lift(self) -> kernel::Cue {
        match self {
            Self::Arrive => kernel::Cue::Arrive,
            Self::Enter => kernel::Cue::Enter,
            Self::Spawn => kernel::Cue::Spawn,
            Self::Childless => kernel::Cue::Childless,
            Self::Complete => kernel::Cue::Complete,
            Self::Exit => kernel::Cue::Exit,
            Self::Throw => kernel::Cue::Throw,
            Self::Offer => kernel::Cue::Offer,
            Self::Listen(moment, position) => kernel::Cue::Listen(moment.lift(), position),
            Self::Think => kernel::Cue::Think,
        }
    }
}
