//! Places that operators send tokens to.

use serde::Deserialize;
use travertine_kernel::{self as kernel, FlowId, NodeId};

use super::{Fault, puts, value::Assignments};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Destination<'a> {
    at: u32,
    via: Option<u32>,
    variables: Vec<(u32, Assignments<'a>)>,
}

puts!(struct kernel::Destination { at, via, variables });

impl<'a> Destination<'a> {
    pub(super) fn lift(self) -> Result<kernel::Destination, Fault<'a>> {
        let lift = |(node, values): (u32, Assignments<'a>)| Ok((NodeId(node), values.lift()?));
        Ok(kernel::Destination {
            at: NodeId(self.at),
            via: self.via.map(FlowId),
            variables: self.variables.into_iter().map(lift).collect::<Result<_, _>>()?,
        })
    }
}
