//! Jobs that come one after the other.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use travertine_runtime::{Activated, engine::JobStream};

use super::{Ask, Desk, Refusal};

/// Jobs for a worker, as they come. What the worker has not been given goes back when this is dropped.
#[derive(Debug)]
pub struct Jobs {
    stream: JobStream,
    ends: CancellationToken,
}

impl Desk {
    /// Gives jobs to a worker as they come, until it is gone.
    pub fn stream(&self, ask: Ask) -> Result<Jobs, Refusal> {
        ask.check()?;
        self.may_name(&ask.job_type)?;
        let credit = ask.most;
        let stream = self.engine.job_stream(ask.of(Duration::MAX), credit);
        Ok(Jobs { stream, ends: self.ends.clone() })
    }
}

impl Jobs {
    /// The next job; none when the server ends.
    pub async fn next(&mut self) -> Result<Option<Activated>, Refusal> {
        tokio::select! {
            job = self.stream.next() => Ok(job?),
            () = self.ends.cancelled() => Ok(None),
        }
    }
}
