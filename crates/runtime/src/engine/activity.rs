//! Activities of this process, done on an executor.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    task::Poll,
};

use tokio::runtime::{Handle, Runtime};
use travertine_expr::{Name, Value};
use travertine_func::{
    ActivityContext, Arguments, Attempt, BoxFuture, Dependencies, Failure, Functions, Heart,
    RunnableActivity,
};
use travertine_kernel::Assignments;
use travertine_store::ShardId;

use super::{
    ask_common, tell_common,
    threads::Common,
    worker::{Workers, serve},
};
use crate::{
    Address, Error,
    board::Crew,
    shard::{Calling, Given, panic_text},
};

/// Those who do activities, and where.
#[derive(Debug, Default)]
pub(super) struct Performers {
    workers: Vec<Workers>,
    /// An executor of their own, where the engine was opened outside of any.
    own: Option<Runtime>,
}

impl Performers {
    /// One for each activity that this process has.
    pub(super) fn start(
        common: &Arc<Common>,
        functions: &Functions,
        dependencies: &Dependencies,
        at_once: usize,
    ) -> Result<Self, Error> {
        if functions.activities().next().is_none() {
            return Ok(Self::default());
        }
        let mut own = None;
        let handle = if let Ok(handle) = Handle::try_current() {
            handle
        } else {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .thread_name("activities")
                .enable_all()
                .build()
                .map_err(|error| Error::Failed {
                    reason: format!("no executor for activities can be started: {error}"),
                })?;
            own.insert(runtime).handle().clone()
        };
        let performer = |(name, activity): (&str, &RunnableActivity)| {
            let performer = Arc::new(Performer {
                common: Arc::downgrade(common),
                activity: activity.clone(),
                dependencies: dependencies.clone(),
            });
            let weak = Weak::clone(&performer.common);
            let each = move |job, given| perform(Arc::clone(&performer), job, given);
            let crew = Crew::new(name.into(), at_once);
            let hands = common.board.hold_out_hands(&crew);
            Workers::start(&handle, |stop| serve(weak, crew, Some(hands), stop, each))
        };
        let workers = functions.activities().map(performer).collect();
        Ok(Self { workers, own })
    }

    /// Lets them finish what they have begun, and begin no more.
    pub(super) async fn drain(&mut self) {
        for workers in std::mem::take(&mut self.workers) {
            workers.stop().await;
        }
    }
}

impl Drop for Performers {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            // It may be dropped on an executor, where nothing may block.
            own.shutdown_background();
        }
    }
}

/// Who does one activity. It does not keep the engine open.
struct Performer {
    common: Weak<Common>,
    activity: RunnableActivity,
    dependencies: Dependencies,
}

/// Makes an attempt at a job: one that it was given, or one that it has to ask for.
async fn perform(performer: Arc<Performer>, job: Address, given: Option<Box<Given>>) {
    let Some(common) = performer.common.upgrade() else { return };
    let shard = ShardId::of(job.instance.0, common.store.shards());
    let given = if let Some(given) = given {
        if given.is_timed {
            let calling = Arc::clone(&given.calling);
            tell_common(&common, shard, move |it| it.attempt_begins(job, &calling));
        }
        drop(common);
        given
    } else {
        let given = ask_common(&common, shard, true, move |it| Ok(it.begin_attempt(job)));
        drop(common);
        // It is gone, or the engine is.
        let Ok(Some(given)) = given.await else { return };
        given
    };
    let Given { job: given, number, details, calling, .. } = *given;
    if calling.is_off() {
        return;
    }
    let has = |field: &str| given.headers.iter().any(|(name, _)| &**name == field);
    let is_function = has(KEY) && !has("answer");
    let cx = ActivityContext::new(Attempt {
        instance: given.business_id.as_deref().map_or_else(|| job.instance.to_string(), Into::into),
        idempotency_key: key(&given.headers).unwrap_or_else(|| job.to_string()),
        number,
        last_heartbeat: details,
        dependencies: performer.dependencies.clone(),
        heart: Arc::new(Pulse {
            common: Weak::clone(&performer.common),
            shard,
            job,
            calling: Arc::clone(&calling),
        }),
    });
    let arguments = Arguments::new(Name::clone(&given.job_type), given.variables);
    let span = tracing::debug_span!("activity", %job, name = %given.job_type);
    let doing = performer.activity.run(cx, arguments);
    let doing = unpanicked(tracing::Instrument::instrument(doing, span));
    let outcome = tokio::select! {
        biased;
        outcome = doing => outcome,
        () = calling.off() => return,
    };
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(Failure::new("panic", format!("the activity panicked: {}", panic_text(&*panic))))
    });
    let Some(common) = performer.common.upgrade() else { return };
    let outcome = outcome.map(|value| results(value, is_function));
    let retry = Some(performer.activity.options.retry);
    tell_common(&common, shard, move |it| {
        if let Err(error) = it.end_attempt(job, &calling, outcome, retry) {
            tracing::warn!(%job, %error, "the outcome of an activity could not be told");
        }
    });
}

/// Has a panic not go further than what panics.
async fn unpanicked<T>(doing: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut doing = std::pin::pin!(doing);
    std::future::poll_fn(move |cx| {
        match catch_unwind(AssertUnwindSafe(|| doing.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

const KEY: &str = "idempotencyKey";

fn key(headers: &Assignments) -> Option<String> {
    let found = headers.iter().find(|(name, _)| &**name == KEY);
    found.and_then(|(_, value)| value.as_str().map(str::to_owned))
}

/// What an activity brings: a result to a function, variables to a process.
fn results(value: Value, is_function: bool) -> Assignments {
    match value {
        Value::Null if !is_function => Vec::new(),
        Value::Map(map) if !is_function => {
            map.iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
        }
        value => vec![("result".into(), value)],
    }
}

/// The line between an attempt and its shard.
struct Pulse {
    common: Weak<Common>,
    shard: ShardId,
    job: Address,
    calling: Arc<Calling>,
}

impl Heart for Pulse {
    fn beat(&self, details: Value) {
        let Some(common) = self.common.upgrade() else { return };
        let (job, calling) = (self.job, Arc::clone(&self.calling));
        tell_common(&common, self.shard, move |it| it.beat(job, &calling, details));
    }

    fn is_cancelled(&self) -> bool {
        self.calling.is_off()
    }

    fn cancelled(&self) -> BoxFuture<'static, ()> {
        let calling = Arc::clone(&self.calling);
        Box::pin(async move { calling.off().await })
    }
}
