//! What is deployed.

use travertine_runtime::engine::{Deployment, File};

use super::{Desk, Outcome, Refusal};

impl Desk {
    /// Deploys files together: all of them, or none.
    pub async fn deploy(&self, files: Vec<File>) -> Result<Deployment, Refusal> {
        if files.is_empty() {
            return Err(Refusal::invalid("there is nothing to deploy: send at least one file"));
        }
        let engine = self.engine.clone();
        off_the_executor(move || Ok(engine.deploy(&files)?)).await
    }
}

/// Does what takes a while on a thread that may be blocked.
pub(super) async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Refusal::new(Outcome::Internal, "the server failed; its log says more"))
    })
}
