//! What is deployed.

use std::sync::Arc;

use travertine_runtime::{
    DefinitionKey, Definitions, Deployed, DeployedKind, Key, Named,
    engine::{Deployment, File, Retired},
    read_models,
};

use super::{Desk, Outcome, Refusal, key};
use crate::access::Permission;

impl Desk {
    /// Deploys files together: all of them, or none.
    pub async fn deploy(&self, files: Vec<File>) -> Result<Deployment, Refusal> {
        let desk = self.clone();
        off_the_executor(move || {
            desk.may_deploy(&files)?;
            Ok(desk.engine.deploy(&files)?)
        })
        .await
    }

    /// Refuses files with something in them that whoever asks may not deploy.
    fn may_deploy(&self, files: &[File]) -> Result<(), Refusal> {
        if !self.is_limited() {
            return Ok(());
        }
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|it| (it.name.as_str(), it.body.as_slice())).collect();
        let definitions = self.engine.definitions();
        let models = read_models(&files, Some(&*definitions), self.engine.now());
        models.ids().try_for_each(|it| self.may_name(&it))
    }

    /// What is deployed of a kind, as far as whoever asks may see it.
    pub(crate) fn listed(&self, kind: DeployedKind) -> Vec<Arc<Deployed>> {
        let definitions = self.engine.definitions();
        let all = definitions.deployed().filter(|it| it.kind == kind && self.sees(&it.id));
        all.cloned().collect()
    }

    /// Everything that is deployed.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.engine.definitions()
    }

    /// What is deployed under a key, where it is of this kind.
    pub fn deployed(&self, key: i64, kind: DeployedKind) -> Result<Arc<Deployed>, Refusal> {
        let named = Key::read(key);
        let missing = || key::no_such(what(kind), key, named.filter(|it| !is_of(*it, kind)));
        let number = number(named).ok_or_else(missing)?;
        let definitions = self.engine.definitions();
        let found = definitions.deployed_as(number).filter(|it| it.kind == kind);
        let found = found.cloned().ok_or_else(missing)?;
        self.may(&found.id, missing)?;
        Ok(found)
    }

    /// The file that something was deployed with.
    pub async fn file(&self, deployed: &Deployed) -> Result<File, Refusal> {
        let (engine, key) = (self.engine.clone(), deployed.key);
        off_the_executor(move || Ok(engine.file_of(key)?)).await
    }

    /// Takes something out of use: nothing new comes to use it. What has ended with it is forgotten, where that
    /// is asked.
    pub async fn retire(&self, key: i64, delete_history: bool) -> Result<Retired, Refusal> {
        let named = Key::read(key);
        let number = number(named).ok_or_else(|| key::no_such("resource", key, named))?;
        self.retire_numbered(number, delete_history, || key::no_such("resource", key, None)).await
    }

    /// Takes what has this number out of use, as [`Self::retire`] does.
    pub(crate) async fn retire_numbered(
        &self,
        number: DefinitionKey,
        delete_history: bool,
        missing: impl Fn() -> Refusal,
    ) -> Result<Retired, Refusal> {
        let definitions = self.engine.definitions();
        let found = definitions.deployed_as(number).ok_or_else(&missing)?;
        self.may(&found.id, &missing)?;
        if delete_history {
            self.needing(Permission::Admin)?.may(&found.id, &missing)?;
        }
        let engine = self.engine.clone();
        off_the_executor(move || Ok(engine.retire(number, delete_history)?)).await
    }
}

/// The number that what is deployed has behind its key.
fn number(named: Option<Named>) -> Option<DefinitionKey> {
    match named? {
        Named::Definition(number)
        | Named::Decision(number)
        | Named::DecisionRequirements(number)
        | Named::Form(number)
        | Named::Resource(number) => Some(number),
        _ => None,
    }
}

fn is_of(named: Named, kind: DeployedKind) -> bool {
    match named {
        Named::Definition(_) => matches!(kind, DeployedKind::Process | DeployedKind::Function),
        Named::Decision(_) => kind == DeployedKind::Decision,
        Named::DecisionRequirements(_) => kind == DeployedKind::Requirements,
        Named::Form(_) => kind == DeployedKind::Form,
        Named::Resource(_) => kind == DeployedKind::Resource,
        _ => false,
    }
}

fn what(kind: DeployedKind) -> &'static str {
    match kind {
        DeployedKind::Process => "process definition",
        DeployedKind::Decision => "decision definition",
        DeployedKind::Requirements => "decision requirements graph",
        DeployedKind::Form => "form",
        DeployedKind::Resource => "resource",
        _ => "definition",
    }
}

/// Does what takes a while on a thread that may be blocked.
pub(crate) async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |_| Err(Refusal::new(Outcome::Internal, "the server failed; its log says more"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}
