//! The functions and activities of a program, found by name.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use linkme::distributed_slice;
use travertine_value::Value;

use crate::{
    activity::ActivityContext,
    definition::{ActivityDefinition, ActivityOptions, Arguments, BoxFuture, WorkflowDefinition},
    error::Failure,
};

/// The functions that `#[workflow]` has put into this program.
#[distributed_slice]
pub static WORKFLOWS: [WorkflowDefinition];

/// The activities that `#[activity]` has put into this program.
#[distributed_slice]
pub static ACTIVITIES: [ActivityDefinition];

/// A set of functions and activities.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::{ActivityOptions, Failure, Functions};
///
/// let functions = Functions::linked()
///     .replace_activity("charge", |_, mut arguments| async move {
///         let cents: u64 = arguments.take("cents")?;
///         Ok(format!("test-{cents}").into())
///     });
/// functions.check().unwrap();
/// assert!(functions.find_activity("charge").is_some());
/// ```
#[derive(Clone, Default)]
pub struct Functions {
    workflows: BTreeMap<&'static str, BTreeMap<u32, WorkflowDefinition>>,
    activities: BTreeMap<String, RunnableActivity>,
    problem: Option<DuplicateFunction>,
}

type RunActivity =
    dyn Fn(ActivityContext, Arguments) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync;

/// An activity of a set, ready to be run.
///
/// ```
/// # use travertine_func::Functions;
/// let functions = Functions::new().replace_activity("charge", |_, _| async { Ok("paid".into()) });
/// let charge = functions.find_activity("charge").unwrap();
/// assert_eq!(charge.options.retry.attempts, 3);
/// ```
#[derive(Clone)]
pub struct RunnableActivity {
    /// How it is run where the call says nothing else.
    pub options: ActivityOptions,
    run: Arc<RunActivity>,
}

impl RunnableActivity {
    /// One attempt.
    #[doc(hidden)] // Only an engine runs activities, and what stands in for one in tests.
    pub fn run(
        &self,
        cx: ActivityContext,
        arguments: Arguments,
    ) -> BoxFuture<'static, Result<Value, Failure>> {
        (self.run)(cx, arguments)
    }
}

impl fmt::Debug for RunnableActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnableActivity").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Functions {
    /// A set with nothing in it.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// assert_eq!(Functions::new().workflows().count(), 0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// All that this program has: those of every crate that it is linked from.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// Functions::linked().check().unwrap();
    /// ```
    pub fn linked() -> Self {
        let functions = WORKFLOWS.iter().fold(Self::new(), |it, more| it.workflow(*more));
        ACTIVITIES.iter().fold(functions, |it, more| it.activity(*more))
    }

    /// Adds a function.
    ///
    /// ```
    /// # use travertine_func::{Functions, WorkflowDefinition};
    /// # use std::time::Duration;
    /// let nap = WorkflowDefinition {
    ///     name: "nap",
    ///     version: 1,
    ///     parameters: &[],
    ///     run: |cx, _| Box::pin(async move {
    ///         cx.sleep(Duration::from_hours(1)).await?;
    ///         Ok("rested".into())
    ///     }),
    /// };
    /// assert!(Functions::new().workflow(nap).find_workflow("nap", None).is_some());
    /// ```
    #[must_use]
    pub fn workflow(mut self, definition: WorkflowDefinition) -> Self {
        let versions = self.workflows.entry(definition.name).or_default();
        if versions.insert(definition.version, definition).is_some() {
            let what = format!("function `{}` version {}", definition.name, definition.version);
            self.problem.get_or_insert(DuplicateFunction { what });
        }
        self
    }

    /// Adds an activity.
    ///
    /// ```
    /// # use travertine_func::{ActivityDefinition, ActivityOptions, Functions};
    /// let double = ActivityDefinition {
    ///     name: "double",
    ///     parameters: &["n"],
    ///     options: ActivityOptions::DEFAULT,
    ///     run: |_, mut arguments| Box::pin(async move { Ok((2 * arguments.take::<i64>("n")?).into()) }),
    /// };
    /// assert!(Functions::new().activity(double).find_activity("double").is_some());
    /// ```
    #[must_use]
    pub fn activity(mut self, definition: ActivityDefinition) -> Self {
        let ActivityDefinition { name, options, run, parameters: _ } = definition;
        let activity = RunnableActivity { options, run: Arc::new(run) };
        if self.activities.insert(name.to_owned(), activity).is_some() {
            let what = format!("activity `{name}`");
            self.problem.get_or_insert(DuplicateFunction { what });
        }
        self
    }

    /// Runs this instead of the activity of that name: for tests, without the world outside.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// let functions = Functions::linked().replace_activity("charge", |_, mut arguments| async move {
    ///     let cents: u64 = arguments.take("cents")?;
    ///     Ok(format!("receipt-{cents}").into())
    /// });
    /// assert!(functions.find_activity("charge").is_some());
    /// ```
    #[must_use]
    pub fn replace_activity<F, R>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(ActivityContext, Arguments) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let options = self.activities.get(name).map(|it| it.options).unwrap_or_default();
        let run: Arc<RunActivity> = Arc::new(move |cx, arguments| Box::pin(run(cx, arguments)));
        self.activities.insert(name.to_owned(), RunnableActivity { options, run });
        self
    }

    /// Whether each name stands for one thing.
    ///
    /// ```
    /// # use travertine_func::{Functions, WorkflowDefinition};
    /// # let nap = WorkflowDefinition { name: "nap", version: 1, parameters: &[], run: |_, _| Box::pin(async { Ok("rested".into()) }) };
    /// let twice = Functions::new().workflow(nap).workflow(nap);
    /// assert!(twice.check().unwrap_err().to_string().starts_with("function `nap` version 1 is defined twice"));
    /// ```
    pub fn check(&self) -> Result<(), DuplicateFunction> {
        self.problem.clone().map_or(Ok(()), Err)
    }

    /// The function of this name, in this version or in its highest.
    ///
    /// ```
    /// # use travertine_func::{Functions, WorkflowDefinition};
    /// # let nap = WorkflowDefinition { name: "nap", version: 1, parameters: &[], run: |_, _| Box::pin(async { Ok("rested".into()) }) };
    /// let functions = Functions::new().workflow(nap).workflow(WorkflowDefinition { version: 2, ..nap });
    /// assert_eq!(functions.find_workflow("nap", None).unwrap().version, 2);
    /// assert_eq!(functions.find_workflow("nap", Some(1)).unwrap().version, 1);
    /// ```
    pub fn find_workflow(&self, name: &str, version: Option<u32>) -> Option<&WorkflowDefinition> {
        let versions = self.workflows.get(name)?;
        match version {
            Some(version) => versions.get(&version),
            None => versions.values().next_back(),
        }
    }

    /// The activity of this name.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// assert!(Functions::new().find_activity("charge").is_none());
    /// ```
    pub fn find_activity(&self, name: &str) -> Option<&RunnableActivity> {
        self.activities.get(name)
    }

    /// All functions, by name and then version.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// for it in Functions::linked().workflows() {
    ///     println!("{} version {}", it.name, it.version);
    /// }
    /// ```
    pub fn workflows(&self) -> impl Iterator<Item = &WorkflowDefinition> {
        self.workflows.values().flat_map(BTreeMap::values)
    }

    /// All activities, by name.
    ///
    /// ```
    /// # use travertine_func::Functions;
    /// for (name, activity) in Functions::linked().activities() {
    ///     println!("{name}: tried {} times", activity.options.retry.attempts);
    /// }
    /// ```
    pub fn activities(&self) -> impl Iterator<Item = (&str, &RunnableActivity)> {
        self.activities.iter().map(|(name, it)| (name.as_str(), it))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workflows = self.workflows().collect::<Vec<_>>();
        let activities = self.activities.keys().collect::<Vec<_>>();
        f.debug_struct("Functions")
            .field("workflows", &workflows)
            .field("activities", &activities)
            .finish_non_exhaustive()
    }
}

/// Two definitions of one name.
///
/// ```
/// # use travertine_func::{DuplicateFunction, Functions, WorkflowDefinition};
/// # let nap = WorkflowDefinition { name: "nap", version: 1, parameters: &[], run: |_, _| Box::pin(async { Ok("rested".into()) }) };
/// let twice: DuplicateFunction = Functions::new().workflow(nap).workflow(nap).check().unwrap_err();
/// println!("{twice}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateFunction {
    what: String,
}

impl fmt::Display for DuplicateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what } = self;
        write!(f, "{what} is defined twice; give one of them another name or version")
    }
}

impl std::error::Error for DuplicateFunction {}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &'static str, version: u32) -> WorkflowDefinition {
        WorkflowDefinition { name, version, parameters: &[], run: |_, _| unreachable!() }
    }

    fn activity(name: &'static str) -> ActivityDefinition {
        let options = ActivityOptions::DEFAULT;
        ActivityDefinition { name, parameters: &[], options, run: |_, _| unreachable!() }
    }

    #[test]
    fn the_highest_version_is_the_one_without_a_number() {
        let functions = Functions::new().workflow(workflow("f", 2)).workflow(workflow("f", 1));
        assert_eq!(functions.check(), Ok(()));
        assert_eq!(functions.find_workflow("f", None).unwrap().version, 2);
        assert_eq!(functions.find_workflow("f", Some(1)).unwrap().version, 1);
        assert!(functions.find_workflow("f", Some(3)).is_none());
        assert!(functions.find_workflow("g", None).is_none());
    }

    #[test]
    fn duplicates_are_named() {
        let twice = Functions::new().workflow(workflow("f", 1)).workflow(workflow("f", 1));
        let text = twice.check().unwrap_err().to_string();
        assert!(text.starts_with("function `f` version 1 is defined twice"), "{text}");
        let twice = Functions::new().activity(activity("a")).activity(activity("a"));
        assert!(twice.check().unwrap_err().to_string().starts_with("activity `a` is defined"));
    }
}
