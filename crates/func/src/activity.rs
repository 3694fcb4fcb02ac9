//! What an activity sees of the engine while it runs.

use std::{
    any::{Any, TypeId, type_name},
    collections::BTreeMap,
    fmt,
    sync::Arc,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_value::{Value, typed};

use crate::{definition::BoxFuture, error::Failure};

/// The surroundings of one attempt of an activity. Cheap to clone, and free to go to other threads.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::{ActivityContext, Dependencies, Failure};
///
/// struct Bank(&'static str);
///
/// async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
///     let bank = cx.get::<Bank>()?;
///     // The same key on every attempt, so that the bank charges once.
///     Ok(format!("{}: {cents} for {}", bank.0, cx.idempotency_key()))
/// }
///
/// let cx = ActivityContext::test("order-1/0/activity charge", Dependencies::new().with(Bank("b")));
/// let future = charge(cx, 5);
/// # drop(future);
/// ```
#[derive(Clone)]
pub struct ActivityContext {
    attempt: Arc<Attempt>,
}

/// What the engine says about one attempt of an activity.
pub struct Attempt<H: ?Sized = dyn Heart> {
    /// Which attempt, from 1.
    pub number: u32,
    /// What the attempt before told last with its heart.
    pub last_heartbeat: Option<Value>,
    /// What was given to the engine for activities.
    pub dependencies: Dependencies,
    /// How it says that it is alive, and learns that it need not go on.
    pub heart: H,
}

/// The line between an activity that runs and the engine.
pub trait Heart: Send + Sync {
    /// The instance that the activity belongs to.
    fn instance(&self) -> &str;
    /// The key that all attempts of one call share, and no other call has.
    fn idempotency_key(&self) -> &str;
    /// The activity is alive, and this is how far it has come.
    fn beat(&self, details: Value);
    /// Whether nobody needs the activity any more.
    fn is_cancelled(&self) -> bool;
    /// Ends when nobody needs the activity any more.
    fn cancelled(&self) -> BoxFuture<'static, ()>;
}

impl ActivityContext {
    /// For this attempt. The engine makes these.
    #[doc(hidden)] // The engine alone makes these.
    pub fn new(attempt: Attempt<impl Heart + 'static>) -> Self {
        Self { attempt: Arc::new(attempt) }
    }

    /// For tests of an activity on its own: the first attempt, never cancelled, heard by nobody.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies};
    /// let cx = ActivityContext::test("order-1/charge", Dependencies::new().with(7_u32));
    /// assert_eq!(*cx.get::<u32>().unwrap(), 7);
    /// assert_eq!(cx.attempt(), 1);
    /// ```
    pub fn test(idempotency_key: impl Into<String>, dependencies: Dependencies) -> Self {
        let heart = Alone { idempotency_key: idempotency_key.into() };
        Self::new(Attempt { number: 1, last_heartbeat: None, dependencies, heart })
    }

    /// What the instance is called that the activity belongs to; `number:12` where it was given no id.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies};
    /// let cx = ActivityContext::test("order-1/charge", Dependencies::new());
    /// assert_eq!(cx.instance(), "test");
    /// ```
    pub fn instance(&self) -> &str {
        self.attempt.heart.instance()
    }

    /// The key that all attempts of one call share, also after a crash, and no other call has: give it to
    /// services that do a thing once for each key.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies, Failure};
    /// async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
    ///     // A bank that has seen this key charges nothing more.
    ///     Ok(format!("POST /charges/{} {cents}", cx.idempotency_key()))
    /// }
    /// let cx = ActivityContext::test("order-1/charge", Dependencies::new());
    /// assert_eq!(cx.idempotency_key(), "order-1/charge");
    /// ```
    pub fn idempotency_key(&self) -> &str {
        self.attempt.heart.idempotency_key()
    }

    /// Which attempt, from 1.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies};
    /// let cx = ActivityContext::test("order-1/charge", Dependencies::new());
    /// let is_first = cx.attempt() == 1;
    /// # assert!(is_first);
    /// ```
    pub fn attempt(&self) -> u32 {
        self.attempt.number
    }

    /// What was given to the engine for activities, by its type.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies, Failure};
    /// struct Bank { url: String }
    ///
    /// async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
    ///     let bank = cx.get::<Bank>()?;
    ///     Ok(format!("{cents} by {}", bank.url))
    /// }
    /// let cx = ActivityContext::test("order-1/charge", Dependencies::new());
    /// assert_eq!(cx.get::<Bank>().err().map(|it| it.code), Some("dependency".into()));
    /// ```
    pub fn get<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Failure> {
        self.attempt.dependencies.get::<T>().ok_or_else(|| {
            let name = type_name::<T>();
            let text = format!("no `{name}` was given to the engine for activities");
            Failure::terminal("dependency", text)
        })
    }

    /// Says that it is alive and how far it has come. If this attempt is lost, the next one finds
    /// that in [`last_heartbeat`](Self::last_heartbeat).
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Failure};
    /// async fn import(cx: ActivityContext, rows: Vec<u32>) -> Result<(), Failure> {
    ///     let from = cx.last_heartbeat::<usize>()?.unwrap_or(0);
    ///     for (row, _) in rows.iter().enumerate().skip(from) {
    ///         cx.heartbeat(&row);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn heartbeat<T: Serialize>(&self, details: &T) -> Result<(), Failure> {
        let details = typed::to_value(details).map_err(|error| {
            let text = format!("the details of a heartbeat cannot be kept: {error}");
            Failure::terminal(Failure::ENCODE, text)
        })?;
        self.attempt.heart.beat(details);
        Ok(())
    }

    /// How far the attempt before had come, where it said so.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies, Failure};
    /// let cx = ActivityContext::test("import-1", Dependencies::new());
    /// // Nothing, because there was no attempt before this one.
    /// let from = cx.last_heartbeat::<usize>()?.unwrap_or(0);
    /// # assert_eq!(from, 0);
    /// # Ok::<(), Failure>(())
    /// ```
    pub fn last_heartbeat<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let last = self.attempt.last_heartbeat.as_ref();
        last.map(typed::from_value).transpose().map_err(|error| {
            let text = format!("the details of the last heartbeat: {error}");
            Failure::terminal(Failure::DECODE, text)
        })
    }

    /// Whether nobody needs the result any more.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies, Failure};
    /// async fn import(cx: ActivityContext, rows: Vec<u32>) -> Result<usize, Failure> {
    ///     let needed = |_: &&u32| !cx.is_cancelled();
    ///     Ok(rows.iter().take_while(needed).count())
    /// }
    /// # drop(import(ActivityContext::test("import-1", Dependencies::new()), vec![]));
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.attempt.heart.is_cancelled()
    }

    /// Ends when nobody needs the result any more.
    ///
    /// ```
    /// # use travertine_func::{ActivityContext, Dependencies, Failure};
    /// async fn serve(cx: ActivityContext) -> Result<(), Failure> {
    ///     // Until nobody needs it any more.
    ///     cx.cancelled().await;
    ///     Ok(())
    /// }
    /// # drop(serve(ActivityContext::test("serve-1", Dependencies::new())));
    /// ```
    pub async fn cancelled(&self) {
        self.attempt.heart.cancelled().await;
    }
}

impl fmt::Debug for ActivityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityContext")
            .field("idempotency_key", &self.idempotency_key())
            .field("attempt", &self.attempt.number)
            .finish_non_exhaustive()
    }
}

impl<H: Heart + ?Sized> fmt::Debug for Attempt<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("idempotency_key", &self.heart.idempotency_key())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// The heart of an activity that runs without an engine.
struct Alone {
    idempotency_key: String,
}

impl Heart for Alone {
    fn instance(&self) -> &'static str {
        "test"
    }

    fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    fn beat(&self, _: Value) {}

    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// Things that activities use, one of each type: connections, clients, settings. Cheap to clone.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::Dependencies;
///
/// let dependencies = Dependencies::new().with(String::from("https://bank.example"));
/// assert_eq!(*dependencies.get::<String>().unwrap(), "https://bank.example");
/// ```
#[derive(Clone, Default)]
pub struct Dependencies {
    by_type: Arc<BTreeMap<TypeId, Dependency>>,
}

/// One of them, and the name of its type.
type Dependency = (&'static str, Arc<dyn Any + Send + Sync>);

impl Dependencies {
    /// Nothing for activities to use yet.
    ///
    /// ```
    /// # use travertine_func::Dependencies;
    /// assert_eq!(Dependencies::new().get::<u32>(), None);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds this, instead of another of the same type.
    ///
    /// ```
    /// # use travertine_func::Dependencies;
    /// let dependencies = Dependencies::new().with(7_u32).with("https://bank.example").with(8_u32);
    /// assert_eq!(*dependencies.get::<u32>().unwrap(), 8);
    /// ```
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, it: T) -> Self {
        let by_type = Arc::make_mut(&mut self.by_type);
        by_type.insert(TypeId::of::<T>(), (type_name::<T>(), Arc::new(it)));
        self
    }

    /// The one of this type, where there is one.
    ///
    /// ```
    /// # use travertine_func::Dependencies;
    /// let dependencies = Dependencies::new().with(7_u32);
    /// assert_eq!(dependencies.get::<u32>().as_deref(), Some(&7));
    /// assert_eq!(dependencies.get::<u64>(), None);
    /// ```
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let (_, it) = self.by_type.get(&TypeId::of::<T>())?;
        Arc::clone(it).downcast().ok()
    }
}

impl fmt::Debug for Dependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_type.values().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Beats(Mutex<Vec<Value>>);

    impl Heart for Arc<Beats> {
        fn instance(&self) -> &'static str {
            "i"
        }

        fn idempotency_key(&self) -> &'static str {
            "i/0/activity copy"
        }

        fn beat(&self, details: Value) {
            self.0.lock().unwrap().push(details);
        }

        fn is_cancelled(&self) -> bool {
            true
        }

        fn cancelled(&self) -> BoxFuture<'static, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[test]
    fn an_attempt_learns_where_the_last_one_was() {
        let heart = Arc::new(Beats::default());
        let cx = ActivityContext::new(Attempt {
            number: 2,
            last_heartbeat: Some(7.into()),
            dependencies: Dependencies::new(),
            heart: Arc::<Beats>::clone(&heart),
        });
        assert_eq!(cx.last_heartbeat::<u64>(), Ok(Some(7)));
        cx.heartbeat(&8).unwrap();
        assert_eq!(*heart.0.lock().unwrap(), [Value::from(8)]);
        assert!(cx.is_cancelled());
    }

    #[test]
    fn a_missing_dependency_is_named() {
        let cx = ActivityContext::test("k", Dependencies::new().with(5_u8));
        assert_eq!(*cx.get::<u8>().unwrap(), 5);
        let failure = cx.get::<u16>().unwrap_err();
        assert_eq!(failure.message, "no `u16` was given to the engine for activities");
    }
}
