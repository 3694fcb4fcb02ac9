//! How instances are started from outside.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

use travertine_kernel::Assignments;
use travertine_value::{Name, Value};

use super::{Engine, Pending};
use crate::{At, Begin, DefinitionKey, Error, InstanceId, request::StartRequest};

/// What can be started: a process by its id, a function by a described call.
///
/// ```no_run
/// # use travertine_func::Workflow;
/// # use travertine_runtime::{Engine, Error};
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// // Both can be started: the call of a function, and the id of a process.
/// let run = engine.start(order(1_200)).await?;
/// let instance = engine.start("delivery").await?;
/// # Ok(()) }
/// ```
pub trait Startable {
    /// What starts it when it is awaited.
    type Starting<'a>;

    /// Prepares the start.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// # use travertine_runtime::engine::Startable;
    /// let run = order(1_200).starting(&engine).await?; // As `engine.start(order(1_200))`.
    /// # Ok(()) }
    /// ```
    fn starting(self, engine: &Engine) -> Self::Starting<'_>;
}

/// Which version of a definition is meant.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Target;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let latest = engine.start("delivery").await?;
/// let second = engine.start(Target::Version("delivery".into(), 2)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The latest.
    Latest(Name),
    /// This one.
    Version(Name, u32),
    /// The latest that its author calls so.
    Tag(Name, Name),
    /// The version that has this key.
    Key(DefinitionKey),
}

impl Startable for Target {
    type Starting<'a> = Starting<'a>;

    fn starting(self, engine: &Engine) -> Starting<'_> {
        Starting { engine, target: self, begin: Begin::default() }
    }
}

impl Startable for &str {
    type Starting<'a> = Starting<'a>;

    fn starting(self, engine: &Engine) -> Starting<'_> {
        Target::from(self).starting(engine)
    }
}

impl From<&str> for Target {
    fn from(id: &str) -> Self {
        Self::Latest(id.into())
    }
}

/// An instance that is about to be started. Awaiting it, or [`Starting::wait`], starts it.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let delivery = engine.start("delivery").id("delivery-1").variable("town", "Rome").await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is started before it is awaited"]
pub struct Starting<'a> {
    engine: &'a Engine,
    target: Target,
    /// All but the key of the definition.
    begin: Begin,
}

impl Starting<'_> {
    /// What people call the instance. An instance of the same definition that they call so already is
    /// not started again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").id("delivery-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: &str) -> Self {
        self.begin.business_id = Some(id.into());
        self
    }

    /// A variable that it begins with.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").variable("town", "Rome").variable("parcels", 2).await?;
    /// # Ok(()) }
    /// ```
    pub fn variable(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.begin.variables.push((name.into(), value.into()));
        self
    }

    /// Variables that it begins with.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").variables(vec![("town".into(), "Rome".into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn variables(mut self, variables: Assignments) -> Self {
        self.begin.variables.extend(variables);
        self
    }

    /// Begins at this element instead of the plain start; may be said again for several.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // As if the parcel had been packed.
    /// let delivery = engine.start("delivery").at("send").await?;
    /// # Ok(()) }
    /// ```
    pub fn at(mut self, element: &str) -> Self {
        if let At::Elements(elements) = &mut self.begin.at {
            elements.push(element.into());
        } else {
            self.begin.at = At::Elements(vec![element.into()]);
        }
        self
    }

    /// Refuses to start it with [`Error::AlreadyExists`] while an instance of the same definition runs that people
    /// call so, and starts another one once all of those have ended.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// match engine.start("delivery").id("delivery-1").unique().await {
    ///     Err(Error::AlreadyExists { instance, .. }) => println!("{instance} is on its way"),
    ///     started => println!("{}", started?),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn unique(mut self) -> Self {
        self.begin.unique = true;
        self
    }

    /// Ends the instance once this element is over, whether it was done or cut short: all else is cancelled, and
    /// nothing that comes after it begins. May be said again for several; whichever is over first ends it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // Only that parcels are packed is tried.
    /// let delivery = engine.start("delivery").ends_after("pack").await?;
    /// # Ok(()) }
    /// ```
    pub fn ends_after(mut self, element: &str) -> Self {
        self.begin.ends_after.push(element.into());
        self
    }

    /// A tag, by which it can be found and which its jobs are handed; may be said again for up to ten. A tag
    /// begins with a letter and goes on with letters, digits, `_`, `-`, `:` or `.`.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").tag("urgent").tag("team:north").await?;
    /// # Ok(()) }
    /// ```
    pub fn tag(mut self, tag: &str) -> Self {
        self.begin.labels.tags.push(tag.into());
        self
    }

    /// The trace that it belongs to, as a `traceparent` of the W3C. Its jobs are handed it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let delivery = engine.start("delivery").trace(parent).await?;
    /// # Ok(()) }
    /// ```
    pub fn trace(mut self, parent: &str) -> Self {
        self.begin.labels.trace = Some(parent.into());
        self
    }

    /// Starts it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery: InstanceId = engine.start("delivery").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<InstanceId, Error> {
        self.begin().wait().map(|(id, _)| id)
    }

    /// Starts it. Answers whether it was there already, too.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let (delivery, was_there) = engine.start("delivery").id("delivery-1").begin().await?;
    /// # Ok(()) }
    /// ```
    pub fn begin(self) -> Pending<(InstanceId, bool)> {
        let definition = match self.engine.target(&self.target) {
            Ok(key) => key,
            Err(error) => return Pending::refused(error),
        };
        self.engine.ask(StartRequest { begin: Begin { definition, ..self.begin } })
    }
}

impl<'a> IntoFuture for Starting<'a> {
    type Output = Result<InstanceId, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let begun = self.begin();
        Box::pin(async move { begun.await.map(|(id, _)| id) })
    }
}

impl Engine {
    /// Starts a process, of its latest version where only an id is named, or a function: awaiting
    /// what this answers with starts it.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).id("order-1").await?;
    /// let delivery = engine.start("delivery").variable("town", "Rome").await?;
    /// # Ok(()) }
    /// ```
    pub fn start<S: Startable>(&self, what: S) -> S::Starting<'_> {
        what.starting(self)
    }

    pub(super) fn target(&self, target: &Target) -> Result<DefinitionKey, Error> {
        let definitions = self.definitions();
        let (id, found) = match target {
            Target::Key(key) => {
                let known = definitions.get(*key).map(|it| it.key);
                let missing = || Error::no_such_definition(&format!("with key {key}"));
                return known.ok_or_else(missing);
            }
            Target::Latest(id) => (id, definitions.find(id)),
            Target::Version(id, version) => {
                (id, definitions.versions(id).iter().find(|it| it.version == *version))
            }
            Target::Tag(id, tag) => {
                let mut newest_first = definitions.versions(id).iter().rev();
                (id, newest_first.find(|it| it.tag.as_ref() == Some(tag)))
            }
        };
        found.map(|it| it.key).ok_or_else(|| match target {
            Target::Latest(_) | Target::Key(_) => Error::no_such_definition(id),
            Target::Version(_, version) => {
                Error::no_such_definition(&format!("{id} version {version}"))
            }
            Target::Tag(_, tag) => Error::no_such_definition(&format!("{id} tagged {tag}")),
        })
    }
}
