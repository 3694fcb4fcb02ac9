//! Places that operators send tokens to.

use serde::{Deserialize, Serialize};
use travertine_kernel::{self as kernel, FlowId, NodeId};

use super::{Fault, value::Assignments};

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Destination<'a> {
    at: u32,
    via: Option<u32>,
    variables: Vec<(u32, Assignments<'a>)>,
}

impl<'a> Destination<'a> {
    pub(super) fn of(it: &'a kernel::Destination) -> Self {
        Self {
            at: it.at.0,
            via: it.via.map(|it| it.0),
            variables: it
                .variables
                .iter()
                .map(|(node, values)| (node.0, Assignments::of(values)))
                .collect(),
        }
    }

    pub(super) fn lift(self) -> Result<kernel::Destination, Fault<'a>> {
        let lift = |(node, values): (u32, Assignments<'a>)| Ok((NodeId(node), values.lift()?));
        Ok(kernel::Destination {
            at: NodeId(self.at),
            via: self.via.map(FlowId),
            variables: self.variables.into_iter().map(lift).collect::<Result<_, _>>()?,
        })
    }
}
