//! Process instances.

use std::{sync::Arc, time::Duration};

use travertine_kernel::{Assignments, Ending};
use travertine_runtime::{
    Definition, InstanceId,
    engine::{Starting, Target},
    is_own,
};
use travertine_value::Name;

use super::{Desk, Outcome, Refusal, WAIT_MAX, key};

/// An instance to start.
#[derive(Clone, Debug)]
pub struct Create {
    /// Which definition.
    pub target: Target,
    /// What it begins with.
    pub variables: Assignments,
    /// The elements that it begins at, instead of the plain start.
    pub at: Vec<Name>,
    /// What people call it. No other that runs may be called so.
    pub business_id: Option<Name>,
    /// Words that people put on it.
    pub tags: Vec<Name>,
    /// The trace that it belongs to, as a `traceparent` of the W3C.
    pub trace: Option<Name>,
    /// The elements after which it ends.
    pub ends_after: Vec<Name>,
}

impl Create {
    /// An instance of which nothing is said but what it runs.
    pub fn of(target: Target) -> Self {
        Self {
            target,
            variables: Assignments::new(),
            at: Vec::new(),
            business_id: None,
            tags: Vec::new(),
            trace: None,
            ends_after: Vec::new(),
        }
    }
}

/// An instance that was started.
#[derive(Clone, Debug)]
pub struct Created {
    /// Its number.
    pub instance: InstanceId,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// What people call it.
    pub business_id: Option<Name>,
    /// Words that people put on it.
    pub tags: Vec<Name>,
}

impl Desk {
    /// The definition with this key.
    pub fn definition(&self, key: i64) -> Result<Arc<Definition>, Refusal> {
        let number = key::definition(key)?;
        let definitions = self.engine.definitions();
        let found = definitions.get(number).filter(|it| !it.is_function());
        let missing = || key::no_such("process definition", key, None);
        let found = found.cloned().ok_or_else(missing)?;
        self.may(&found.id, missing)?;
        Ok(found)
    }

    /// The definition that a target means, where it `is_meant` and whoever asks may start it. What is the engine's own,
    /// nobody but the engine starts.
    fn target(
        &self,
        target: &Target,
        is_meant: impl Fn(&Definition) -> bool,
    ) -> Result<Arc<Definition>, Refusal> {
        let definitions = self.engine.definitions();
        let there = |id: &str| {
            let all = definitions.versions(id).iter().rev();
            all.filter(|it| !definitions.is_retired(it.key)).cloned().collect::<Vec<_>>()
        };
        let (found, what) = match target {
            Target::Latest(id) => (definitions.find(id).cloned(), id.to_string()),
            Target::Version(id, version) => {
                let found = there(id).into_iter().find(|it| it.version == *version);
                (found, format!("{id} version {version}"))
            }
            Target::Tag(id, tag) => {
                let found = there(id).into_iter().find(|it| it.tag.as_ref() == Some(tag));
                (found, format!("{id} tagged {tag}"))
            }
            Target::Key(key) => {
                let found = definitions.get(*key).filter(|it| !definitions.is_retired(it.key));
                (found.cloned(), format!("number {key}"))
            }
        };
        let missing =
            || Refusal::not_found(format!("nothing that can be started is deployed as {what}"));
        let found = found.filter(|it| is_meant(it) && !is_own(&it.id)).ok_or_else(missing)?;
        self.may(&found.id, missing)?;
        Ok(found)
    }

    /// Refuses an id of which whoever asks may start nothing, or of which nothing can be started.
    pub(crate) fn may_start(&self, id: &Name) -> Result<(), Refusal> {
        self.target(&Target::Latest(Name::clone(id)), |_| true).map(drop)
    }

    /// The function that a target means, of which whoever asks may start a run.
    pub(crate) fn function(&self, target: &Target) -> Result<Arc<Definition>, Refusal> {
        self.target(target, Definition::is_function)
    }

    /// Starts an instance. No other that runs may have its business id.
    pub async fn create(&self, create: Create) -> Result<Created, Refusal> {
        let definition = self.target(&create.target, |it| !it.is_function())?;
        let (business_id, tags) = (create.business_id.clone(), create.tags.clone());
        let mut starting = self.starting(&definition, create);
        if business_id.is_some() {
            starting = starting.unique();
        }
        let (instance, _) = starting.begin().await?;
        Ok(Created { instance, definition, business_id, tags })
    }

    /// Starts an instance of a process or a run of a function, unless there is one that people call so. Answers with
    /// its number, and whether it was there.
    pub(crate) async fn start(&self, start: Create) -> Result<(InstanceId, bool), Refusal> {
        let definition = self.target(&start.target, |_| true)?;
        Ok(self.starting(&definition, start).begin().await?)
    }

    fn starting(&self, definition: &Definition, create: Create) -> Starting<'_> {
        let Create { target: _, variables, at, business_id, tags, trace, ends_after } = create;
        let mut starting = self.engine.start(Target::Key(definition.key)).variables(variables);
        for element in &at {
            starting = starting.at(element);
        }
        if let Some(id) = &business_id {
            starting = starting.id(id);
        }
        for tag in &tags {
            starting = starting.tag(tag);
        }
        if let Some(trace) = &trace {
            starting = starting.trace(trace);
        }
        for element in &ends_after {
            starting = starting.ends_after(element);
        }
        starting
    }

    /// Starts an instance and answers with its variables when it has completed; those with these names, or
    /// all where none is named. It goes on where nobody waits for it any more.
    pub async fn create_with_result(
        &self,
        create: Create,
        within: Option<Duration>,
        names: &[Name],
    ) -> Result<(Created, Assignments), Refusal> {
        let created = self.create(create).await?;
        let within = within.filter(|it| !it.is_zero()).unwrap_or(self.result).min(WAIT_MAX);
        let instance = created.instance;
        let ended = tokio::time::timeout(within, self.engine.result(instance)).await;
        let Ok(ended) = ended else {
            let detail = format!(
                "instance {instance} has not ended within {} ms; it goes on",
                within.as_millis()
            );
            return Err(Refusal::new(Outcome::TimedOut, detail));
        };
        let ended = ended.map_err(|it| Refusal::from(it).once_done())?;
        if ended.ending != Ending::Completed {
            let detail = format!("instance {instance} has ended without completing");
            return Err(Refusal::new(Outcome::InvalidState, detail));
        }
        let mut variables = ended.variables;
        if !names.is_empty() {
            variables.retain(|(name, _)| names.contains(name));
        }
        Ok((created, variables))
    }

    /// Cancels an instance. One that another has called is cancelled with its caller only.
    pub async fn cancel(&self, key: i64) -> Result<(), Refusal> {
        let instance = key::instance(key)?;
        let row = self.instance(key).await?;
        if let Some((parent, _)) = row.parent.filter(|_| row.ended.is_none()) {
            let detail = format!(
                "instance {parent} has called instance {instance}: cancel the caller instead"
            );
            return Err(Refusal::new(Outcome::InvalidState, detail));
        }
        Ok(self.engine.cancel(instance).await?)
    }
}
