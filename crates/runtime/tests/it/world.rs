//! An engine in a directory of its own, which can be shut down and opened again.

use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use travertine_kernel::Assignments;
use travertine_runtime::{
    Ended, Engine, InstanceId, Timestamp,
    engine::{File, ManualClock, Options},
};
use travertine_store::{
    Claim, ShardId, Store,
    view::{Filter, JobRow, Query, Row, Table},
};
use travertine_value::{Name, Value};

pub(crate) struct World {
    dir: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    options: Options,
    engine: Option<Engine>,
}

impl World {
    pub(crate) fn new(shards: u16) -> Self {
        Self::with(Options { shards, ..Options::default() })
    }

    pub(crate) fn with(options: Options) -> Self {
        let dir = tempfile::tempdir().expect("there is room for a directory");
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let options = Options { clock: Arc::clone(&clock) as Arc<_>, ..options };
        let mut world = Self { dir, clock, options, engine: None };
        world.open();
        world
    }

    fn open(&mut self) {
        let engine = Engine::open_with(self.data(), self.options.clone());
        self.engine = Some(engine.expect("the store opens"));
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("the engine is open")
    }

    /// Shuts the engine down and opens it again.
    pub(crate) fn restart(&mut self) {
        self.restart_after(|_| {});
    }

    /// Shuts the engine down, has something done to the directory, and opens it again.
    pub(crate) fn restart_after(&mut self, act: impl FnOnce(&Path)) {
        self.engine.take().expect("the engine is open").shutdown().expect("it shuts down");
        act(&self.data());
        self.open();
    }

    /// The directory of the store.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Shuts the engine down, and has another program open it.
    pub(crate) fn restart_with(&mut self, functions: travertine_func::Functions) {
        self.options.functions = functions;
        self.restart();
    }

    /// Shuts the engine down and opens it again, at rest where someone only looks.
    pub(crate) fn restart_at_rest(&mut self, at_rest: bool) {
        self.options.settings.at_rest = at_rest;
        self.restart();
    }

    pub(crate) fn deploy(&self, process: &str) {
        self.engine().deploy(&[file("model.bpmn", process)]).expect("the model is deployed");
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.clock.set(self.engine().now().after(Duration::from_millis(ms)));
        self.engine().wake();
        self.flush();
        self.flush();
    }

    /// Lets everything that goes on by itself come to its end.
    pub(crate) fn rest(&self) {
        rest(self.engine());
    }

    /// How an instance has ended, once nothing goes on by itself any more.
    pub(crate) fn ended(&self, id: InstanceId) -> Ended {
        ended(self.engine(), id)
    }

    pub(crate) fn flush(&self) {
        self.rows(Table::Instances, Vec::new());
    }

    pub(crate) fn rows(&self, table: Table, filters: Vec<Filter>) -> Vec<Row> {
        let query = Query { table, filters, descending: false, after: None, limit: 1_000 };
        self.engine().query_now(&query).expect("the question makes sense").rows
    }

    pub(crate) fn jobs(&self) -> Vec<JobRow> {
        let rows = self.rows(Table::Jobs, Vec::new()).into_iter();
        rows.filter_map(|it| if let Row::Job(job) = it { Some(job) } else { None }).collect()
    }

    pub(crate) fn check(&self) {
        let verified = self.engine().verify().expect("the store can be read");
        assert_eq!(verified.differences, []);
    }
}

/// How long an engine may go on by itself before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Lets everything that goes on by itself come to its end.
pub(crate) fn rest(engine: &Engine) {
    let rests = engine.settle(PATIENCE).expect("the engine has not failed");
    assert!(rests, "the engine has not come to rest");
}

/// How an instance has ended, once nothing goes on by itself any more. A test fails here, and does
/// not wait for ever, where it has not.
pub(crate) fn ended(engine: &Engine, id: InstanceId) -> Ended {
    let mut result = engine.result(id);
    rest(engine);
    match Pin::new(&mut result).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => ended.expect("it has ended"),
        Poll::Pending => {
            let why = engine.why(id).wait().expect("it can say why");
            panic!("instance {id} has not ended, and nothing goes on: {why:?}")
        }
    }
}

/// What a future brings. A test fails here, and does not wait for ever, where it brings nothing.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("what was awaited has not come")
}

/// Waits until something that other threads see to is so. A test fails here where it never is.
pub(crate) fn within_now(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "what was waited for has not come");
        std::thread::yield_now();
    }
}

/// Throws the views of a store away that nobody has open.
pub(crate) fn reset_views(store: &dyn Store) {
    let take = |it| store.take(ShardId(it), "a test").expect("it can be claimed");
    let claims: Vec<Claim> = (0..store.shards()).map(take).collect();
    store.reset_views(&claims).expect("there is room");
}

pub(crate) fn file(name: &str, process: &str) -> File {
    let text = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">{process}</definitions>"#
    );
    File { name: name.to_owned(), body: text.into_bytes() }
}

pub(crate) fn vars(all: &[(&str, Value)]) -> Assignments {
    all.iter().map(|(name, value)| (Name::from(*name), value.clone())).collect()
}

/// The outcome of a future, on a thread that may be blocked.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("there is a runtime").block_on(future)
}
