//! Batches: the same done with each of many instances.
//!
//! A batch is itself a durable function. It has the instances from the beginning and offers them as jobs, a few at a time, to a
//! worker of the engine (`engine/batch.rs`). So its progress survives what functions survive, it never has more under
//! way than one job, and it is asked about while it runs and after. What it journals is what came of each job, which
//! names only the instances with which something else happened than what was asked.

use std::{cell::RefCell, rc::Rc, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use travertine_func::{
    Arguments, Context, Failure, Flow, LocalBoxFuture, Workflow, WorkflowDefinition, select,
};
use travertine_value::{Value, typed};

use crate::{InstanceId, Timestamp, millis};

/// The function that every batch is a run of, and the type of the jobs that it offers.
pub const BATCH: &str = "travertine.batch";

/// The most instances that a batch has.
pub const BATCH_MAX: usize = 1_000_000;

pub(crate) const DEFINITION: WorkflowDefinition =
    WorkflowDefinition { name: BATCH, version: 1, parameters: &["batch", "instances"], run };

/// How many instances a job has at least, where there are so many; and how many jobs a batch has about, at most.
const JOB_MIN: usize = 64;
const JOBS_MAX: usize = 1_000;

/// How long a batch that is over can be asked about.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// What is done with each instance of a batch.
///
/// ```
/// # use travertine_runtime::BatchWork;
/// assert_eq!(BatchWork::Cancel.name(), "cancel");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchWork {
    /// It is ended, with all that it has called.
    Cancel,
    /// What has failed in it is tried again.
    Resolve {
        /// Which of its incidents are meant; none of these says all.
        only: BatchCause,
        /// Variables that are set before, where it has failed, as a JSON object.
        variables: String,
    },
    /// It stands still until it is resumed.
    Suspend,
    /// It goes on.
    Resume,
    /// It is forgotten, where it has ended.
    Delete,
    /// Variables of it are set.
    Set {
        /// The variables, as a JSON object.
        variables: String,
    },
    /// It goes on by another version.
    Migrate {
        /// The id of the definition.
        definition: String,
        /// Its version.
        version: u32,
        /// Which element becomes which; others keep their ids.
        mapping: Vec<(String, String)>,
    },
    /// Tokens are taken away, moved and added, by ids of elements: all of it, or nothing.
    Modify {
        /// In this order.
        steps: Vec<BatchStep>,
    },
}

/// What incidents have in common; what is not said is not asked.
///
/// ```
/// # use travertine_runtime::BatchCause;
/// let cause = BatchCause { element: Some("charge".into()), ..BatchCause::default() };
/// # assert!(cause.kind.is_none() && cause.code.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCause {
    /// The id of the element in the model.
    pub element: Option<String>,
    /// What kind of fault.
    pub kind: Option<String>,
    /// The code of the error.
    pub code: Option<String>,
}

/// One step of what is changed in each instance of a batch.
///
/// ```
/// # use travertine_runtime::BatchStep;
/// let step = BatchStep::Move { from: "wait".into(), to: "ship".into() };
/// # assert_eq!(step.clone(), step);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStep {
    /// All tokens at an element are put before another one.
    Move {
        /// Where they are.
        from: String,
        /// Where they go.
        to: String,
    },
    /// A token is put before an element.
    Add {
        /// The element.
        element: String,
    },
    /// All tokens at an element are taken away.
    Withdraw {
        /// The element.
        element: String,
    },
}

impl BatchWork {
    /// All that has failed is tried again, with what variables there are.
    ///
    /// ```
    /// # use travertine_runtime::BatchWork;
    /// assert_eq!(BatchWork::resolve().name(), "resolve");
    /// ```
    pub fn resolve() -> Self {
        Self::Resolve { only: BatchCause::default(), variables: "{}".to_owned() }
    }

    /// The word for it.
    ///
    /// ```
    /// # use travertine_runtime::BatchWork;
    /// assert_eq!(BatchWork::Set { variables: "{}".into() }.name(), "set");
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Resolve { .. } => "resolve",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Delete => "delete",
            Self::Set { .. } => "set",
            Self::Migrate { .. } => "migrate",
            Self::Modify { .. } => "modify",
        }
    }
}

/// A batch as it is now.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for (instance, it) in engine.batches().await? {
///     println!("{instance}: {}, {} of {} instances", it.work.name(), it.seen, it.total);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// What is done with each instance.
    pub work: BatchWork,
    /// Whoever began it, where that is known.
    pub who: Option<String>,
    /// How the instances were found, in words of whoever asked.
    pub filter: String,
    /// How many instances are looked at in a second, at most; as fast as they can be one after the other, where it
    /// does not say.
    pub per_second: Option<u32>,
    /// Whether it goes on with nothing for now.
    pub paused: bool,
    /// Whether someone has ended it before all instances were looked at.
    pub cancelled: bool,
    /// How many instances it has.
    pub total: u64,
    /// How many of them were looked at.
    pub seen: u64,
    /// With how many of these it is done.
    pub done: u64,
    /// How many have refused it.
    pub refused: u64,
    /// How many were not there any more.
    pub gone: u64,
    /// When it began.
    #[serde(with = "millis::time")]
    pub began: Timestamp,
    /// When it was over.
    #[serde(default, with = "millis::maybe_time")]
    pub ended: Option<Timestamp>,
}

impl Batch {
    /// A batch that has not begun.
    ///
    /// ```
    /// # use travertine_runtime::{Batch, BatchWork};
    /// let all = Batch { filter: "def:order".into(), ..Batch::new(BatchWork::Suspend) };
    /// assert!(!all.paused && all.per_second.is_none());
    /// ```
    pub fn new(work: BatchWork) -> Self {
        Self {
            work,
            who: None,
            filter: String::new(),
            per_second: None,
            paused: false,
            cancelled: false,
            total: 0,
            seen: 0,
            done: 0,
            refused: 0,
            gone: 0,
            began: Timestamp::default(),
            ended: None,
        }
    }
}

/// What became of one instance of a batch.
///
/// ```
/// # use travertine_runtime::BatchOutcome;
/// assert_eq!(BatchOutcome::Gone.name(), "gone");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchOutcome {
    /// It was not looked at yet.
    Waiting,
    /// It is done.
    Done,
    /// It was refused.
    Refused,
    /// The instance was not there any more, or had ended.
    Gone,
    /// The batch was ended before it came to this one.
    Skipped,
}

impl BatchOutcome {
    /// All outcomes.
    pub const ALL: [Self; 5] =
        [Self::Waiting, Self::Done, Self::Refused, Self::Gone, Self::Skipped];

    /// The word for it.
    ///
    /// ```
    /// # use travertine_runtime::BatchOutcome;
    /// assert_eq!(BatchOutcome::Done.name(), "done");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Gone => "gone",
            Self::Skipped => "skipped",
        }
    }
}

/// One instance of a batch.
///
/// ```
/// # use travertine_runtime::{BatchItem, BatchOutcome};
/// let item = BatchItem { reason: Some("why".into()), ..BatchItem::of(12, BatchOutcome::Refused) };
/// assert_eq!((item.instance, item.at), (12, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchItem {
    /// The number of the instance.
    pub instance: u64,
    /// What became of it.
    pub outcome: BatchOutcome,
    /// Which kind of refusal it was; the codes are those of errors.
    pub code: Option<String>,
    /// Why it was refused, in words.
    pub reason: Option<String>,
    /// When it was looked at.
    #[serde(default, with = "millis::maybe_time")]
    pub at: Option<Timestamp>,
}

impl BatchItem {
    /// An instance that had this outcome.
    ///
    /// ```
    /// # use travertine_runtime::{BatchItem, BatchOutcome};
    /// assert_eq!(BatchItem::of(12, BatchOutcome::Done).code, None);
    /// ```
    pub fn of(instance: u64, outcome: BatchOutcome) -> Self {
        Self { instance, outcome, code: None, reason: None, at: None }
    }
}

/// What a job of a batch asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) work: BatchWork,
    pub(crate) who: Option<String>,
    pub(crate) per_second: Option<u32>,
    pub(crate) instances: Vec<u64>,
    /// When it was asked for.
    #[serde(with = "millis::time")]
    pub(crate) at: Timestamp,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// With which instances something else happened than what was asked.
    pub(crate) others: Vec<BatchItem>,
}

/// Which items are asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Items {
    /// Behind so many, counted without regard to `only`.
    pub(crate) after: u64,
    pub(crate) limit: u64,
    pub(crate) only: Option<BatchOutcome>,
}

/// Items of a batch, in the order in which they are looked at.
///
/// ```
/// # use travertine_runtime::BatchPage;
/// let page = BatchPage::default();
/// assert!(page.items.is_empty() && page.next.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPage {
    /// The items.
    pub items: Vec<BatchItem>,
    /// Behind how many items the next page begins, where there is one.
    pub next: Option<u64>,
}

/// A described call of the function.
pub(crate) fn call(batch: &Batch, instances: &[InstanceId]) -> Workflow<()> {
    Workflow::new(BATCH, 1).argument("batch", batch).argument("instances", &pack(instances))
}

/// Ascending numbers as a text, each as how much it is more than the one before.
fn pack(instances: &[InstanceId]) -> String {
    use std::fmt::Write as _;
    let (mut text, mut before) = (String::new(), 0);
    for InstanceId(id) in instances {
        let _: std::fmt::Result = write!(text, "{} ", id - before);
        before = *id;
    }
    text
}

fn unpack(text: &str) -> Result<Vec<u64>, Failure> {
    let mut before = 0_u64;
    let next = |it: &str| {
        before = it.parse().ok().and_then(|more: u64| before.checked_add(more))?;
        Some(before)
    };
    let all: Option<Vec<u64>> = text.split_ascii_whitespace().map(next).collect();
    all.ok_or_else(|| Failure::terminal("batch", "its instances cannot be read"))
}

fn run(cx: Context, mut arguments: Arguments) -> LocalBoxFuture<'static, Flow<Value>> {
    Box::pin(async move {
        let batch: Batch = arguments.take("batch")?;
        let instances: String = arguments.take("instances")?;
        keep(cx, batch, unpack(&instances)?).await
    })
}

/// A batch, and what its instances are.
struct Progress {
    batch: Batch,
    instances: Vec<u64>,
    /// Those with which something else happened, by their place.
    others: Vec<(usize, BatchItem)>,
    /// When each job was done, by how many were looked at then.
    times: Vec<(usize, Timestamp)>,
    is_forgotten: bool,
}

impl Progress {
    fn seen(&self) -> usize {
        usize::try_from(self.batch.seen).unwrap_or(usize::MAX)
    }

    /// The next instances to look at.
    fn next(&self) -> &[u64] {
        let left = &self.instances[self.seen()..];
        let mut most = (self.instances.len() / JOBS_MAX).max(JOB_MIN);
        if let Some(per_second) = self.batch.per_second {
            // So that it is heard within a second that it is to stop.
            most = most.min(per_second.max(1) as usize);
        }
        &left[..most.min(left.len())]
    }

    /// Takes note of what came of the next so many.
    fn note(&mut self, count: usize, report: Report, at: Timestamp) {
        let from = self.seen();
        self.times.push((from + count, at));
        for item in report.others {
            let ids = &self.instances[from..from + count];
            let Ok(at) = ids.binary_search(&item.instance) else { continue };
            match item.outcome {
                BatchOutcome::Refused => self.batch.refused += 1,
                BatchOutcome::Gone => self.batch.gone += 1,
                BatchOutcome::Waiting | BatchOutcome::Done | BatchOutcome::Skipped => continue,
            }
            self.others.push((from + at, item));
        }
        self.batch.seen += count as u64;
        self.batch.done = self.batch.seen - self.batch.refused - self.batch.gone;
    }

    fn item(&self, at: usize) -> BatchItem {
        let time = self.times.partition_point(|(upto, _)| *upto <= at);
        let time = self.times.get(time).map(|(_, time)| *time);
        if at < self.seen() {
            let found = self.others.binary_search_by_key(&at, |(place, _)| *place);
            if let Ok(found) = found {
                return BatchItem { at: time, ..self.others[found].1.clone() };
            }
        }
        let outcome = match (at < self.seen(), self.batch.ended) {
            (true, _) => BatchOutcome::Done,
            (false, None) => BatchOutcome::Waiting,
            (false, Some(_)) => BatchOutcome::Skipped,
        };
        BatchItem { at: time, ..BatchItem::of(self.instances[at], outcome) }
    }

    fn page(&self, asked: &Items) -> BatchPage {
        let (mut page, mut at) =
            (BatchPage::default(), usize::try_from(asked.after).unwrap_or(usize::MAX));
        while at < self.instances.len() {
            if page.items.len() as u64 >= asked.limit {
                page.next = Some(at as u64);
                break;
            }
            let is_other = matches!(asked.only, Some(BatchOutcome::Refused | BatchOutcome::Gone));
            if is_other {
                // Only those are looked at that can be meant.
                let next = self.others.partition_point(|(place, _)| *place < at);
                let Some((place, _)) = self.others.get(next) else { break };
                at = *place;
            }
            let item = self.item(at);
            if asked.only.is_none_or(|it| it == item.outcome) {
                page.items.push(item);
            }
            at += 1;
        }
        page
    }
}

async fn keep(cx: Context, batch: Batch, instances: Vec<u64>) -> Flow<Value> {
    let batch = Batch { total: instances.len() as u64, began: cx.now(), ..batch };
    let progress =
        Progress { batch, instances, others: Vec::new(), times: Vec::new(), is_forgotten: false };
    let progress = Rc::new(RefCell::new(progress));
    listen(&cx, &progress);
    loop {
        let (is_over, is_paused) = {
            let it = progress.borrow();
            (it.batch.cancelled || it.next().is_empty(), it.batch.paused)
        };
        if is_over {
            break;
        }
        if is_paused {
            let it = Rc::clone(&progress);
            cx.until(move || {
                let it = it.borrow();
                !it.batch.paused || it.batch.cancelled
            })
            .await?;
            continue;
        }
        let order = {
            let it = progress.borrow();
            let Batch { work, who, per_second, .. } = it.batch.clone();
            Order { work, who, per_second, instances: it.next().to_vec(), at: cx.now() }
        };
        let count = order.instances.len();
        let report = match cx.job::<Report>(BATCH).variable("order", &order).await {
            Ok(report) => report,
            Err(failure) if cx.is_cancelled() => return Err(failure.into()),
            Err(failure) => failed(&order, &failure),
        };
        progress.borrow_mut().note(count, report, cx.now());
    }
    progress.borrow_mut().batch.ended = Some(cx.now());
    let it = Rc::clone(&progress);
    let forgotten = cx.until(move || it.borrow().is_forgotten);
    select! { cx;
        slept = cx.sleep_until(cx.now().after(KEPT)) => slept?,
        told = forgotten => told?,
    }
    let it = progress.borrow();
    typed::to_value(&it.batch).map_err(|error| Failure::terminal("batch", error.to_string()).into())
}

/// The job could not be done as a whole.
fn failed(order: &Order, failure: &Failure) -> Report {
    let refused = |instance: &u64| BatchItem {
        code: Some(failure.code.clone()),
        reason: Some(failure.message.clone()),
        ..BatchItem::of(*instance, BatchOutcome::Refused)
    };
    Report { others: order.instances.iter().map(refused).collect() }
}

fn listen(cx: &Context, progress: &Rc<RefCell<Progress>>) {
    let it = Rc::clone(progress);
    cx.on_query("state", move |()| it.borrow().batch.clone());
    let it = Rc::clone(progress);
    cx.on_query("items", move |asked: Items| it.borrow().page(&asked));
    update(cx, "pause", progress, |it, paused| it.batch.paused = paused);
    update(cx, "cancel", progress, |it, ()| it.batch.cancelled |= it.batch.ended.is_none());
    update(cx, "forget", progress, |it, ()| it.is_forgotten = it.batch.ended.is_some());
}

/// Something that people may ask of a batch. It answers how it stands then.
fn update<T: DeserializeOwned + 'static>(
    cx: &Context,
    name: &str,
    progress: &Rc<RefCell<Progress>>,
    act: impl Fn(&mut Progress, T) + 'static,
) {
    let progress = Rc::clone(progress);
    let done = move |input: T| {
        let mut it = progress.borrow_mut();
        act(&mut it, input);
        Ok(it.batch.clone())
    };
    cx.on_update(name, |_: &T| Ok(()), done);
}

#[cfg(test)]
mod tests;
