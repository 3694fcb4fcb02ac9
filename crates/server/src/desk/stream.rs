//! Jobs that come one after the other.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use travertine_runtime::{Activated, engine::JobStream};

use super::{Ask, Desk, Refusal};

/// Jobs for a worker, as they come. What the worker has not been given goes back when this is dropped.
pub struct Jobs {
    stream: JobStream,
    /// Ends when the worker gets no more.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Desk {
    /// Gives jobs to a worker as they come, until it is gone or must log in anew.
    pub fn stream(&self, ask: Ask) -> Result<Jobs, Refusal> {
        ask.check()?;
        self.may_name(&ask.job_type)?;
        let credit = ask.most;
        let stream = self.engine.job_stream(ask.of(Duration::MAX), credit);
        let desk = self.clone();
        Ok(Jobs { stream, over: Box::pin(async move { desk.is_over().await }) })
    }
}

impl Jobs {
    /// The next job; none once there will be no more.
    pub async fn next(&mut self) -> Result<Option<Activated>, Refusal> {
        tokio::select! {
            job = self.stream.next() => Ok(job?),
            () = &mut self.over => Ok(None),
        }
    }
}
