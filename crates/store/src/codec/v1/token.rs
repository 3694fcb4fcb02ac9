//! The parts of events about tokens.

use serde::{Deserialize, Serialize};
use travertine_kernel::{self as kernel, LayerId, TokenId};

use super::wait::Moment;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Role {
    Flow,
    Run(u32),
    Branch(u32),
    Guard(u64),
    Start,
    Compensation,
}

impl Role {
    pub(super) fn of(role: kernel::Role) -> Self {
        match role {
            kernel::Role::Flow => Self::Flow,
            kernel::Role::Run(index) => Self::Run(index),
            kernel::Role::Branch(index) => Self::Branch(index),
            kernel::Role::Guard(token) => Self::Guard(token.0),
            kernel::Role::Start => Self::Start,
            kernel::Role::Compensation => Self::Compensation,
        }
    }

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

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reads {
    Shared(u64),
    Own(Option<u64>),
}

impl Reads {
    pub(super) fn of(reads: kernel::Reads) -> Self {
        match reads {
            kernel::Reads::Shared(layer) => Self::Shared(layer.0),
            kernel::Reads::Own(over) => Self::Own(over.map(|it| it.0)),
        }
    }

    pub(super) fn lift(self) -> kernel::Reads {
        match self {
            Self::Shared(layer) => kernel::Reads::Shared(LayerId(layer)),
            Self::Own(over) => kernel::Reads::Own(over.map(LayerId)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
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

impl State {
    pub(super) fn of(state: kernel::State) -> Self {
        match state {
            kernel::State::Created => Self::Created,
            kernel::State::Arrived => Self::Arrived,
            kernel::State::Ready => Self::Ready,
            kernel::State::Entered => Self::Entered,
            kernel::State::Busy => Self::Busy,
            kernel::State::Completed => Self::Completed,
            kernel::State::Exiting => Self::Exiting,
            kernel::State::Departed => Self::Departed,
            kernel::State::Waiting => Self::Waiting,
            kernel::State::Done => Self::Done,
            kernel::State::Failing => Self::Failing,
            kernel::State::Failed => Self::Failed,
            kernel::State::Withdrawn => Self::Withdrawn,
        }
    }

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

#[derive(Debug, Serialize, Deserialize)]
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

impl Cue {
    pub(super) fn of(cue: kernel::Cue) -> Self {
        match cue {
            kernel::Cue::Arrive => Self::Arrive,
            kernel::Cue::Enter => Self::Enter,
            kernel::Cue::Spawn => Self::Spawn,
            kernel::Cue::Childless => Self::Childless,
            kernel::Cue::Complete => Self::Complete,
            kernel::Cue::Exit => Self::Exit,
            kernel::Cue::Throw => Self::Throw,
            kernel::Cue::Offer => Self::Offer,
            kernel::Cue::Listen(moment, position) => Self::Listen(Moment::of(moment), position),
            kernel::Cue::Think => Self::Think,
        }
    }

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
