//! What a batch does with one instance.

use std::sync::Arc;

use tokio::time::sleep;
use travertine_kernel::{
    Assignments, Destination, Mapping, Modification, NodeId, Rejection, TokenId, Which,
};
use travertine_store::view::{InstanceState, Row};
use travertine_value::{Name, Value};

use super::{
    super::{Engine, Target},
    Asked, No, PAUSE, TRIES, aside, no,
};
use crate::{
    Error, InstanceId, Named, Timestamp,
    batch::{BatchCause, BatchStep, BatchWork},
    request::{By, Look},
};

/// What is done with one instance.
pub(super) struct One {
    /// It writes down who began the batch, and which one it is.
    pub(super) engine: Engine,
    pub(super) work: BatchWork,
    pub(super) by: Arc<By>,
    /// Since when this may have been done before, where it may.
    pub(super) since: Option<Timestamp>,
    pub(super) guard: Asked,
}

impl One {
    /// Whether whoever began the batch may do this with the instance now.
    pub(super) async fn allowed(&self, instance: InstanceId) -> Result<(), No> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let Some(Row::Instance(row)) = self.engine.row(Named::Instance(instance)).await? else {
            return Err(Error::NoSuchInstance(instance).into());
        };
        guard.may(&self.by.who, &self.work, &row).map_err(|it| no("forbidden", it))
    }

    pub(super) async fn once(&self, instance: InstanceId) -> Result<(), No> {
        self.allowed(instance).await?;
        // What has failed is asked for by itself: it may have been the half of it.
        let is_asked = matches!(self.work, BatchWork::Resolve { .. });
        if !is_asked && self.was_done(instance).await? {
            return Ok(());
        }
        let mut tries = 0;
        loop {
            match self.act(instance).await {
                Err(Failed::Engine(error)) if error.retry_after().is_some() && tries < TRIES => {
                    tries += 1;
                    sleep(PAUSE).await;
                }
                // It is done again by whoever opens the store next.
                Err(Failed::Engine(Error::Closed { .. } | Error::Unknown { .. }))
                    if self.engine.is_closing() =>
                {
                    std::future::pending::<()>().await;
                }
                Err(Failed::Engine(error)) => return Err(error.into()),
                Err(Failed::No(no)) => return Err(no),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Whether it was done before the process was killed.
    async fn was_done(&self, instance: InstanceId) -> Result<bool, No> {
        let Some(since) = self.since else { return Ok(false) };
        let (engine, ours) = (self.engine.clone(), self.by.record());
        let history = match aside(move || engine.history(instance)).await {
            // What is forgotten has no history.
            Err(Error::NoSuchInstance(_)) => return Ok(false),
            found => found?,
        };
        let steps = history.steps.iter().rev().take_while(|it| it.at >= since);
        Ok(steps.flat_map(|it| &it.records).any(|it| *it == ours))
    }

    async fn act(&self, instance: InstanceId) -> Result<(), Failed> {
        let engine = &self.engine;
        match &self.work {
            BatchWork::Cancel => engine.cancel(instance).await?,
            BatchWork::Suspend => engine.suspend(instance).await?,
            BatchWork::Resume => engine.resume(instance).await?,
            BatchWork::Resolve { only, variables } => {
                self.resolve(instance, only, assignments(variables)?).await?;
            }
            BatchWork::Set { variables } => {
                let variables = assignments(variables)?;
                engine.set_variables(instance, None, variables).await?;
            }
            BatchWork::Migrate { definition, version, mapping } => {
                let to = Target::Version(definition.as_str().into(), *version);
                let mapping: Mapping = mapping
                    .iter()
                    .map(|(from, to)| (Name::from(from.as_str()), Name::from(to.as_str())))
                    .collect();
                engine.migrate(instance, to, mapping).await?;
            }
            BatchWork::Modify { steps } => {
                let steps = self.steps(instance, steps).await?;
                engine.modify(instance, steps).await?;
            }
            // All of them are forgotten together.
            BatchWork::Delete => {}
        }
        Ok(())
    }

    async fn resolve(
        &self,
        instance: InstanceId,
        only: &BatchCause,
        variables: Assignments,
    ) -> Result<(), Failed> {
        let engine = &self.engine;
        if *only == BatchCause::default() {
            let is_set = !variables.is_empty();
            if is_set {
                let row = engine.look(instance).await?.row;
                if row.incidents == 0 && row.state != InstanceState::Halted {
                    return self.resolved(instance).await;
                }
                engine.set_variables(instance, None, variables).await?;
            }
            return match engine.retry(instance, None).await {
                // What was set has let it go on.
                Ok(0) | Err(Error::Rejected(Rejection::Ended)) if is_set => Ok(()),
                Ok(0) => self.resolved(instance).await,
                Ok(_) => Ok(()),
                Err(Error::Halted { .. }) => {
                    let engine = engine.clone();
                    Ok(aside(move || engine.release(instance)).await?)
                }
                Err(error) => Err(error.into()),
            };
        }
        let found = meant(&engine.look(instance).await?, only);
        if found.is_empty() {
            return self.resolved(instance).await;
        }
        for (token, number, _) in found {
            if !variables.is_empty() {
                engine.set_variables(instance, Some(token), variables.clone()).await?;
            }
            match engine.resolve(instance, number, false).await {
                // What was set has let it go on, or it went away with another one.
                Ok(()) | Err(Error::Rejected(Rejection::NoSuchIncident(_) | Rejection::Ended)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match meant(&engine.look(instance).await?, only).pop() {
            Some((_, _, why)) => Err(Failed::No(no("failed_again", why))),
            None => Ok(()),
        }
    }

    /// There is no incident: it was resolved before the process was killed, or there was none.
    async fn resolved(&self, instance: InstanceId) -> Result<(), Failed> {
        if self.was_done(instance).await.map_err(Failed::No)? {
            return Ok(());
        }
        Err(Failed::No(no("no_incident", format!("instance {instance} has no such incident"))))
    }

    async fn steps(
        &self,
        instance: InstanceId,
        steps: &[BatchStep],
    ) -> Result<Vec<Modification>, Failed> {
        let look = self.engine.look(instance).await?;
        let definition = &look.definition;
        let node = |id: &str| -> Result<NodeId, Failed> {
            definition.element(id).ok_or_else(|| {
                Failed::Engine(Error::NoSuchElement {
                    definition: Name::clone(&definition.id),
                    element: id.into(),
                })
            })
        };
        let mut all = Vec::new();
        for step in steps {
            all.push(match step {
                BatchStep::Move { from, to } => Modification::Move {
                    which: Which::At(node(from)?),
                    to: Destination::before(node(to)?),
                },
                BatchStep::Add { element } => {
                    Modification::Add { to: Destination::before(node(element)?), scope: None }
                }
                BatchStep::Withdraw { element } => {
                    Modification::Withdraw(Which::At(node(element)?))
                }
            });
        }
        Ok(all)
    }
}

/// The incidents with that cause: where they are, their numbers, and what they say.
fn meant(look: &Look, only: &BatchCause) -> Vec<(TokenId, u64, String)> {
    let is = |wanted: &Option<String>, found: Option<&str>| {
        wanted.as_deref().is_none_or(|it| found == Some(it))
    };
    let mut all = Vec::new();
    for (token, it) in &look.state.incidents {
        let node = look.state.tokens.get(token).map(|it| it.node);
        let element = node.map(|it| &*look.definition.plan.node(it).name);
        let failure = &it.failure;
        if is(&only.element, element)
            && is(&only.kind, Some(failure.kind.name()))
            && is(&only.code, failure.code.as_deref())
        {
            all.push((*token, it.number, failure.message.clone()));
        }
    }
    all
}

/// Why it was not done: the engine says no, or there was nothing to do.
enum Failed {
    Engine(Error),
    No(No),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

fn assignments(json: &str) -> Result<Assignments, Failed> {
    match Value::parse_json(json) {
        Ok(Value::Map(map)) => {
            Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
        }
        _ => Err(Failed::No(no("bad_variables", "its variables are no JSON object".to_owned()))),
    }
}
