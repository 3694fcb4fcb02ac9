//! The parts of events about scopes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use travertine_kernel::{self as kernel, LayerId, NodeId, TokenId};

use super::{
    Fault,
    failure::Failure,
    value::{Assignments, Value},
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum ScopeKind<'a> {
    Process,
    SubProcess,
    EventSubProcess,
    Transaction,
    AdHoc,
    Each(Each<'a>),
    Loop { runs: u32 },
    FanOut(FanOut),
    Gosub,
    Compensation,
}

impl<'a> ScopeKind<'a> {
    pub(super) fn of(kind: &'a kernel::ScopeKind) -> Self {
        match kind {
            kernel::ScopeKind::Process => Self::Process,
            kernel::ScopeKind::SubProcess => Self::SubProcess,
            kernel::ScopeKind::EventSubProcess => Self::EventSubProcess,
            kernel::ScopeKind::Transaction => Self::Transaction,
            kernel::ScopeKind::AdHoc => Self::AdHoc,
            kernel::ScopeKind::Each(each) => Self::Each(Each::of(each)),
            kernel::ScopeKind::Loop { runs } => Self::Loop { runs: *runs },
            kernel::ScopeKind::FanOut(fan_out) => Self::FanOut(FanOut::of(fan_out)),
            kernel::ScopeKind::Gosub => Self::Gosub,
            kernel::ScopeKind::Compensation => Self::Compensation,
        }
    }

    pub(super) fn lift(self) -> Result<kernel::ScopeKind, Fault<'a>> {
        Ok(match self {
            Self::Process => kernel::ScopeKind::Process,
            Self::SubProcess => kernel::ScopeKind::SubProcess,
            Self::EventSubProcess => kernel::ScopeKind::EventSubProcess,
            Self::Transaction => kernel::ScopeKind::Transaction,
            Self::AdHoc => kernel::ScopeKind::AdHoc,
            Self::Each(each) => kernel::ScopeKind::Each(each.lift()?),
            Self::Loop { runs } => kernel::ScopeKind::Loop { runs },
            Self::FanOut(fan_out) => kernel::ScopeKind::FanOut(fan_out.lift()),
            Self::Gosub => kernel::ScopeKind::Gosub,
            Self::Compensation => kernel::ScopeKind::Compensation,
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Each<'a> {
    total: u32,
    window: u32,
    items: Option<Value<'a>>,
    batch_size: Option<u32>,
    begun: u32,
    completed: u32,
    outputs: Value<'a>,
}

impl<'a> Each<'a> {
    fn of(each: &'a kernel::Each) -> Self {
        let kernel::Each { total, window, items, batch_size, begun, completed, outputs } = each;
        Self {
            total: *total,
            window: *window,
            items: items.as_deref().map(|it| Value::List(it)),
            batch_size: *batch_size,
            begun: *begun,
            completed: *completed,
            outputs: Value::List(outputs),
        }
    }

    fn lift(self) -> Result<kernel::Each, Fault<'a>> {
        Ok(kernel::Each {
            total: self.total,
            window: self.window,
            items: self.items.map(|it| it.lift_list().map(Arc::new)).transpose()?,
            batch_size: self.batch_size,
            begun: self.begun,
            completed: self.completed,
            outputs: self.outputs.lift_list()?,
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FanOut {
    count: u32,
    branches: Vec<u64>,
    fan_in: Option<u32>,
    arrived: Vec<u64>,
}

impl FanOut {
    fn of(fan_out: &kernel::FanOut) -> Self {
        let kernel::FanOut { count, branches, fan_in, arrived } = fan_out;
        Self {
            count: *count,
            branches: branches.iter().map(|it| it.0).collect(),
            fan_in: fan_in.map(|it| it.0),
            arrived: arrived.iter().map(|it| it.0).collect(),
        }
    }

    fn lift(self) -> kernel::FanOut {
        kernel::FanOut {
            count: self.count,
            branches: self.branches.into_iter().map(LayerId).collect(),
            fan_in: self.fan_in.map(NodeId),
            arrived: self.arrived.into_iter().map(TokenId).collect(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Failing<'a> {
    Error(Failure<'a>, Assignments<'a>),
    Cancelled,
}

impl<'a> Failing<'a> {
    pub(super) fn of(failing: &'a kernel::Failing) -> Self {
        match failing {
            kernel::Failing::Error(failure, variables) => {
                Self::Error(Failure::of(failure), Assignments::of(variables))
            }
            kernel::Failing::Cancelled => Self::Cancelled,
        }
    }

    pub(super) fn lift(self) -> Result<kernel::Failing, Fault<'a>> {
        Ok(match self {
            Self::Error(failure, variables) => {
                kernel::Failing::Error(failure.lift(), variables.lift()?)
            }
            Self::Cancelled => kernel::Failing::Cancelled,
        })
    }
}
