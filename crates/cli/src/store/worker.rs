//! Jobs of a store done by commands.
//!
//! The engine takes a job from the board and holds it as long as this process lives; where that ends before the
//! command does, the job is offered again.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;
use travertine_runtime::{
    Engine,
    engine::{Job, Outcome, Workers},
};
use travertine_value::{Name, Value};

use crate::{
    json,
    worker::command::{self, GRACE, Running, Settings},
};

/// The commands at work for an engine.
pub(crate) struct Commands {
    runtime: Runtime,
    workers: Vec<Workers>,
    running: Arc<Running>,
}

impl Commands {
    /// Has the jobs of these types done by their commands, so many of each at once.
    pub(crate) fn start(
        engine: &Engine,
        all: impl IntoIterator<Item = (String, Settings)>,
        at_once: u16,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.context("workers cannot be started")?;
        let running = Arc::new(Running::default());
        let mut workers = Vec::new();
        for (job_type, settings) in all {
            let settings = Arc::new(settings);
            let running = Arc::clone(&running);
            let worker = engine.worker(&job_type, move |job| {
                let (settings, running) = (Arc::clone(&settings), Arc::clone(&running));
                async move {
                    let stopping = Arc::clone(&running);
                    let done = tokio::task::spawn_blocking(move || {
                        command::run(&settings, &job.job.to_string(), &input(&job), &running)
                    });
                    let outcome = done.await;
                    if stopping.is_stopping() {
                        // It was ended with the engine, which is nobody's failure. Its job is put back.
                        std::future::pending::<()>().await;
                    }
                    outcome.unwrap_or_else(|error| Outcome::Failed {
                        message: format!("the worker failed: {error}"),
                        backoff: Duration::ZERO,
                    })
                }
            });
            let _in_runtime = runtime.enter();
            workers.push(worker.at_once(at_once.into()).start());
        }
        Ok(Self { runtime, workers, running })
    }

    /// Ends all commands, and gives their jobs back.
    pub(crate) fn stop(self) {
        let Self { runtime, workers, running } = self;
        running.stop();
        drop(workers);
        running.end();
        runtime.shutdown_timeout(GRACE);
    }
}

/// What a command reads.
fn input(job: &Job) -> Value {
    json::object([
        ("job", job.job.to_string().into()),
        ("type", Name::clone(&job.job_type).into()),
        ("instance", json::key(job.job.instance.0)),
        ("business_id", job.business_id.clone().into()),
        ("definition", Name::clone(&job.definition).into()),
        ("version", job.version.into()),
        ("element", Name::clone(&job.element).into()),
        ("retries", job.retries.into()),
        ("headers", job.headers.iter().cloned().collect()),
        ("idempotency_key", job.idempotency_key.clone().into()),
        ("variables", job.variables.iter().cloned().collect()),
    ])
}
