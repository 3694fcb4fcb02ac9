//! Functions without an engine: a driver does for their journals what the kernel does.

mod cancel;
mod combine;
mod determinism;
mod driver;
mod handler;
mod law;
mod operation;
mod saga;
mod spawn;
mod version;

use std::time::Duration;

use crate::{Activity, ActivityOptions, Event};

const HOUR: Duration = Duration::from_hours(1);

fn act<O>(name: &'static str) -> Activity<O> {
    Activity::new(name, ActivityOptions::DEFAULT)
}

/// A function without parameters. Its code has no name of its own, so it cannot capture anything.
macro_rules! function {
    (|$cx:ident| $body:block) => {
        $crate::WorkflowDefinition {
            name: "f",
            version: 1,
            parameters: &[],
            run: |$cx, _| {
                Box::pin(async move {
                    let result = async move $body.await?;
                    Ok($crate::encode("f", &result)?)
                })
            },
        }
    };
}
use function;

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Cancel {
    reason: String,
}

impl Event for Cancel {
    const NAME: &'static str = "cancel";
}
