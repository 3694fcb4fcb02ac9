//! The parts of events about scopes.

use std::sync::Arc;

use serde::Deserialize;
use travertine_kernel::{self as kernel, LayerId, NodeId, TokenId};

use super::{
    Fault, Out, Put,
    failure::Failure,
    puts,
    value::{Assignments, List, Value},
};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum ScopeKind<'a> {
    Process,
    SubProcess,
    EventSubProcess,
    Transaction,
    AdHoc,
    Each(Each<'a>),
    Loop {
        runs: u32,
    },
    FanOut(FanOut),
    Gosub,
    Compensation,
    /// One that has lost runs, and how many.
    EachLost(Each<'a>, u32),
}

impl Put for kernel::ScopeKind {
    fn put(&self, out: &mut Out) {
        match self {
            Self::Process => out.variant(0, ()),
            Self::SubProcess => out.variant(1, ()),
            Self::EventSubProcess => out.variant(2, ()),
            Self::Transaction => out.variant(3, ()),
            Self::AdHoc => out.variant(4, ()),
            Self::Each(each) if each.terminated == 0 => out.variant(5, each),
            Self::Each(each) => out.variant(10, (each, each.terminated)),
            Self::Loop { runs } => out.variant(6, runs),
            Self::FanOut(fan_out) => out.variant(7, fan_out),
            Self::Gosub => out.variant(8, ()),
            Self::Compensation => out.variant(9, ()),
        }
    }
}

impl<'a> ScopeKind<'a> {
    pub(super) fn lift(self) -> Result<kernel::ScopeKind, Fault<'a>> {
        Ok(match self {
            Self::Process => kernel::ScopeKind::Process,
            Self::SubProcess => kernel::ScopeKind::SubProcess,
            Self::EventSubProcess => kernel::ScopeKind::EventSubProcess,
            Self::Transaction => kernel::ScopeKind::Transaction,
            Self::AdHoc => kernel::ScopeKind::AdHoc,
            Self::Each(each) => kernel::ScopeKind::Each(each.lift(0)?),
            Self::EachLost(each, terminated) => kernel::ScopeKind::Each(each.lift(terminated)?),
            Self::Loop { runs } => kernel::ScopeKind::Loop { runs },
            Self::FanOut(fan_out) => kernel::ScopeKind::FanOut(fan_out.lift()),
            Self::Gosub => kernel::ScopeKind::Gosub,
            Self::Compensation => kernel::ScopeKind::Compensation,
        })
    }
}

#[derive(Debug, Deserialize)]
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

impl Put for kernel::Each {
    fn put(&self, out: &mut Out) {
        // Those that were terminated stand beside it.
        let Self { total, window, items, batch_size, begun, completed, terminated: _, outputs } =
            self;
        (total, window, items.as_deref().map(|it| List(it))).put(out);
        (batch_size, begun, completed, List(outputs)).put(out);
    }
}

impl<'a> Each<'a> {
    fn lift(self, terminated: u32) -> Result<kernel::Each, Fault<'a>> {
        Ok(kernel::Each {
            total: self.total,
            window: self.window,
            items: self.items.map(|it| it.lift_list().map(Arc::new)).transpose()?,
            batch_size: self.batch_size,
            begun: self.begun,
            completed: self.completed,
            terminated,
            outputs: self.outputs.lift_list()?,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct FanOut {
    count: u32,
    branches: Vec<u64>,
    fan_in: Option<u32>,
    arrived: Vec<u64>,
}

puts!(struct kernel::FanOut { count, branches, fan_in, arrived });

impl FanOut {
    fn lift(self) -> kernel::FanOut {
        kernel::FanOut {
            count: self.count,
            branches: self.branches.into_iter().map(LayerId).collect(),
            fan_in: self.fan_in.map(NodeId),
            arrived: self.arrived.into_iter().map(TokenId).collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Failing<'a> {
    Error(Failure<'a>, Assignments<'a>),
    Cancelled,
}

puts!(enum kernel::Failing { Error(failure, variables), Cancelled });

impl<'a> Failing<'a> {
    pub(super) fn lift(self) -> Result<kernel::Failing, Fault<'a>> {
        Ok(match self {
            Self::Error(failure, variables) => {
                kernel::Failing::Error(failure.lift(), variables.lift()?)
            }
            Self::Cancelled => kernel::Failing::Cancelled,
        })
    }
}
