//! Activities of this process, done on an executor.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, Weak},
    task::Poll,
};

use tokio::runtime::{Handle, Runtime};
use tracing::Instrument;
use travertine_func::{
    ActivityContext, Arguments, Attempt, BoxFuture, Dependencies, Failure, Functions, Heart,
    RunnableActivity,
};
use travertine_value::{Name, Value};

use super::{
    router::Router,
    threads::Common,
    worker::{Workers, serve},
};
use crate::{
    Address, Error,
    board::AtWork,
    request::{
        Ask, AttemptBeginsRequest, BeginAttemptRequest, EndAttemptRequest, HeartbeatRequest,
    },
    shard::{Given, panic_text},
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
                name: name.into(),
                activity: activity.clone(),
                dependencies: dependencies.clone(),
            });
            let weak = Weak::clone(&performer.common);
            let each =
                move |job, given, at_work| perform(Arc::clone(&performer), job, given, at_work);
            let crew = common.board.crew(name.into(), at_once);
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
    name: Name,
    activity: RunnableActivity,
    dependencies: Dependencies,
}

impl Performer {
    /// Asks for an attempt at a job; `None` where it is gone, or the engine is.
    async fn ask(&self, job: Address) -> Option<Arc<Given>> {
        let given = {
            let common = self.common.upgrade()?;
            Router::new(&common).ask(BeginAttemptRequest { job })
        };
        given.await.ok().flatten()
    }

    /// Tells the shard of a job something. Nobody hears it where the engine is gone.
    fn tell(&self, what: impl Ask) {
        if let Some(common) = self.common.upgrade() {
            Router::new(&common).tell(what);
        }
    }

    fn run(self: &Arc<Self>, given: &Arc<Given>) -> Doing {
        let job = given.job;
        let cx = ActivityContext::new(Attempt {
            number: given.number,
            last_heartbeat: given.details.clone(),
            dependencies: self.dependencies.clone(),
            heart: Pulse {
                performer: Arc::clone(self),
                given: Arc::clone(given),
                instance: OnceLock::new(),
                idempotency_key: OnceLock::new(),
            },
        });
        let span = tracing::debug_span!("activity", %job, name = %self.name);
        let arguments = Arguments::new(Name::clone(&self.name), given.variables());
        let doing = self.activity.run(cx, arguments);
        if span.is_disabled() { doing } else { Box::pin(doing.instrument(span)) }
    }
}

/// An attempt that is being made.
type Doing = BoxFuture<'static, Result<Value, Failure>>;

/// Makes an attempt at a job: one that it was given, or one that it has to ask for. The future is kept
/// small, because each is moved about before it begins.
async fn perform(
    performer: Arc<Performer>,
    job: Address,
    given: Option<Arc<Given>>,
    _at_work: AtWork,
) {
    let given = if let Some(given) = given {
        if given.is_timed {
            performer.tell(AttemptBeginsRequest { given: Arc::clone(&given) });
        }
        given
    } else {
        let Some(given) = Box::pin(performer.ask(job)).await else { return };
        given
    };
    if given.is_off() {
        return;
    }
    let doing = performer.run(&given);
    let Some(outcome) = unless_off(doing, &given).await else { return };
    let retry = performer.activity.options.retry;
    let outcome = outcome.map_err(|failure| Box::new((failure, Some(retry))));
    performer.tell(EndAttemptRequest { given, outcome });
}

/// What comes of an attempt; `None` where nobody needs it any more. A panic goes no further.
fn unless_off(
    mut doing: Doing,
    given: &Arc<Given>,
) -> impl Future<Output = Option<Result<Value, Failure>>> {
    let mut off: Option<BoxFuture<'static, ()>> = None;
    poll_fn(move |cx| {
        match catch_unwind(AssertUnwindSafe(|| doing.as_mut().poll(cx))) {
            Ok(Poll::Ready(outcome)) => return Poll::Ready(Some(outcome)),
            Ok(Poll::Pending) => {}
            Err(panic) => {
                let text = format!("the activity panicked: {}", panic_text(&*panic));
                return Poll::Ready(Some(Err(Failure::new("panic", text))));
            }
        }
        let off = off.get_or_insert_with(|| is_off(given));
        off.as_mut().poll(cx).map(|()| None)
    })
}

/// Ends when nobody needs an attempt any more.
fn is_off(given: &Arc<Given>) -> BoxFuture<'static, ()> {
    let given = Arc::clone(given);
    Box::pin(async move { given.off().await })
}

/// The line between an attempt and its shard.
struct Pulse {
    performer: Arc<Performer>,
    given: Arc<Given>,
    /// Most activities do not ask what the instance is called.
    instance: OnceLock<Name>,
    idempotency_key: OnceLock<Name>,
}

impl Heart for Pulse {
    fn instance(&self) -> &str {
        let Given { business_id, job, .. } = &*self.given;
        let unnamed = || self.instance.get_or_init(|| job.instance.unnamed());
        business_id.as_ref().unwrap_or_else(unnamed)
    }

    fn idempotency_key(&self) -> &str {
        let Given { idempotency_key, job, .. } = &*self.given;
        let unsaid = || self.idempotency_key.get_or_init(|| job.to_string().into());
        idempotency_key.as_ref().unwrap_or_else(unsaid)
    }

    fn beat(&self, details: Value) {
        self.performer.tell(HeartbeatRequest { given: Arc::clone(&self.given), details });
    }

    fn is_cancelled(&self) -> bool {
        self.given.is_off()
    }

    fn cancelled(&self) -> BoxFuture<'static, ()> {
        is_off(&self.given)
    }
}
