//! What operators do with instances.

use std::{collections::BTreeMap, sync::Arc};

use travertine_kernel::{Assignments, Destination, Modification, NodeId, TokenId, Which};
use travertine_runtime::{Definition, InstanceId, Named, engine::Look};
use travertine_value::Name;

use super::{Desk, Refusal, deploy::off_the_executor, key};

/// One step of an operator's intervention.
#[derive(Clone, Debug)]
pub enum Step {
    /// Begins at an element.
    Activate(Arrival),
    /// Takes away what is there.
    Terminate(Spot),
    /// Takes away what is there, and begins elsewhere instead.
    Move(Spot, Arrival),
}

/// What is meant by a step.
#[derive(Clone, Debug)]
pub enum Spot {
    /// All at this element.
    Element(Name),
    /// The element instance with this key.
    Key(i64),
}

/// Where something begins.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The element.
    pub element: Name,
    /// The element instance that it is in, by key; need not be named where only one can be meant.
    pub within: Option<i64>,
    /// Variables to set, each in the scope of an element; of the process, where none is named.
    pub variables: Vec<(Option<Name>, Assignments)>,
}

impl Desk {
    /// Has an instance stand still until it is resumed.
    pub async fn suspend(&self, key: i64) -> Result<(), Refusal> {
        Ok(self.engine.suspend(self.operable(key).await?).await?)
    }

    /// The instance with this key, where whoever asks may do with it what they were admitted for.
    async fn operable(&self, key: i64) -> Result<InstanceId, Refusal> {
        let instance = key::instance(key)?;
        self.may_instance(instance, || key::no_such("process instance", key, None)).await?;
        Ok(instance)
    }

    /// Lets a suspended instance go on.
    pub async fn resume(&self, key: i64) -> Result<(), Refusal> {
        Ok(self.engine.resume(self.operable(key).await?).await?)
    }

    /// Forgets an instance that has ended.
    pub async fn delete(&self, key: i64) -> Result<(), Refusal> {
        let (engine, instance) = (self.engine.clone(), self.operable(key).await?);
        off_the_executor(move || Ok(engine.delete(instance)?)).await
    }

    /// Lets an instance go on by another version of a definition.
    pub async fn migrate(
        &self,
        key: i64,
        to: i64,
        mapping: BTreeMap<Name, Name>,
    ) -> Result<(), Refusal> {
        let instance = self.operable(key).await?;
        let to = self.definition(to)?;
        // What is not there now never will be.
        if let Some(other) = mapping.values().find(|it| to.plan.find(it).is_none()) {
            let Definition { id, version, .. } = &*to;
            let detail = format!("{id} version {version} has no element {other} to go on at");
            return Err(Refusal::invalid(detail));
        }
        Ok(self.engine.migrate(instance, exactly(&to), mapping).await?)
    }

    /// The version of a definition that instances are to go on by, where whoever asks may do that with it.
    pub(crate) fn successor(&self, id: &str, version: u32) -> Result<Arc<Definition>, Refusal> {
        let missing =
            || Refusal::not_found(format!("nothing is deployed as {id} version {version}"));
        let definitions = self.engine.definitions();
        let found = definitions.versions(id).iter().find(|it| it.version == version);
        let found = found.cloned().ok_or_else(missing)?;
        self.may(id, missing)?;
        Ok(found)
    }

    /// Takes tokens away, adds and moves them: all of it, or nothing.
    pub async fn modify(&self, key: i64, steps: Vec<Step>) -> Result<(), Refusal> {
        let instance = self.operable(key).await?;
        if steps.is_empty() {
            return Err(Refusal::invalid(
                "there is nothing to do: name what to activate, move or terminate",
            ));
        }
        let look = self.engine.look(instance).await?;
        let place = Place { instance, look: &look };
        let steps = steps.into_iter().map(|it| place.step(it)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.engine.modify(instance, steps).await?)
    }
}

/// The version of a definition, by name.
pub(super) fn exactly(definition: &Definition) -> travertine_runtime::engine::Target {
    travertine_runtime::engine::Target::Version(Name::clone(&definition.id), definition.version)
}

struct Place<'a> {
    instance: InstanceId,
    look: &'a Look,
}

impl Place<'_> {
    fn step(&self, step: Step) -> Result<Modification, Refusal> {
        Ok(match step {
            Step::Activate(arrival) => {
                let scope = arrival.within.map(|key| self.token(key)).transpose()?;
                Modification::Add { to: self.destination(arrival)?, scope }
            }
            Step::Terminate(spot) => Modification::Withdraw(self.which(spot)?),
            Step::Move(spot, arrival) => {
                Modification::Move { which: self.which(spot)?, to: self.destination(arrival)? }
            }
        })
    }

    fn which(&self, spot: Spot) -> Result<Which, Refusal> {
        Ok(match spot {
            Spot::Element(id) => Which::At(self.element(&id)?),
            Spot::Key(key) => Which::Visit(self.visit(key)?),
        })
    }

    fn destination(&self, arrival: Arrival) -> Result<Destination, Refusal> {
        let mut to = Destination::before(self.element(&arrival.element)?);
        for (scope, variables) in arrival.variables {
            let scope = match scope {
                Some(id) if id != self.look.definition.id => self.element(&id)?,
                _ => NodeId(0),
            };
            to.variables.push((scope, variables));
        }
        Ok(to)
    }

    fn element(&self, id: &str) -> Result<NodeId, Refusal> {
        let definition = &self.look.definition;
        definition.element(id).ok_or_else(|| {
            Refusal::invalid(format!(
                "version {} of {} has no element {id}",
                definition.version, definition.id
            ))
        })
    }

    /// The token that is on a stay at an element. One that has moved on is not meant any more.
    fn token(&self, key: i64) -> Result<TokenId, Refusal> {
        self.look.state.token_on(self.visit(key)?).ok_or_else(|| self.missing(key))
    }

    fn visit(&self, key: i64) -> Result<u64, Refusal> {
        match key::element(key)? {
            Named::Instance(id) if id == self.instance => Ok(0),
            Named::Visit(id, visit) if id == self.instance => Ok(visit),
            _ => Err(self.missing(key)),
        }
    }

    fn missing(&self, key: i64) -> Refusal {
        let instance = self.instance;
        Refusal::invalid(format!(
            "instance {instance} has no element instance with the key {key} now"
        ))
    }
}
