//! `travertine modify`: tokens are taken away and put elsewhere.

use anyhow::{Result, bail};
use travertine_kernel::{Destination, Modification, NodeId, Plan, TokenId, Which};

use super::{Desk, act};
use crate::{args::store as args, status::Status};

pub(crate) fn modify(args: &args::Modify, desk: &Desk<'_>) -> Result<Status> {
    let instance = desk.instance(&args.instance)?;
    let look = desk.look(instance)?;
    let plan = &look.definition.plan;
    let node = |name: &str| node(plan, name, &look.definition.id);
    let which = |text: &str| -> Result<Which> {
        match text.parse() {
            Ok(token) => Ok(Which::Token(TokenId(token))),
            Err(_) => Ok(Which::At(node(text)?)),
        }
    };
    let mut steps = Vec::new();
    for (from, to) in &args.moves {
        let to = Destination { at: node(to)?, via: None, variables: Vec::new() };
        steps.push(Modification::Move { which: which(from)?, to });
    }
    for element in &args.add {
        let to = Destination { at: node(element)?, via: None, variables: Vec::new() };
        steps.push(Modification::Add { to, scope: None });
    }
    for text in &args.withdraw {
        steps.push(Modification::Withdraw(which(text)?));
    }
    if steps.is_empty() {
        bail!("there is nothing to do; --move, --add and --withdraw say what");
    }
    desk.ok(desk.engine.modify(instance, steps).wait())?;
    act::tell(instance, desk)?;
    Ok(Status::Done)
}

/// The element of that id.
fn node(plan: &Plan, name: &str, definition: &str) -> Result<NodeId> {
    match plan.find(name) {
        Some(node) => Ok(node),
        None => bail!("no such element in {definition}: {name}"),
    }
}
