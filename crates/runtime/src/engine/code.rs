//! Whether the code that this program has agrees with the journals of its functions, and what becomes of
//! those that stood still because it did not.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use travertine_store::{
    Error as StoreError, ShardId, Store,
    view::{Filter, InstanceState, Page, Query, Row, Table},
};
use travertine_value::Name;

use super::{Engine, Pending};
use crate::{
    Definition, Definitions, Error, InstanceId, Live, Recovered, Shard,
    request::{TryCodeRequest, UnblockRequest, Unblocked},
    shard::print,
};

/// What was found when an engine was opened.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let report = engine.recover()?;
/// println!("{} timers, {} activities to do", report.timers, report.jobs);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// How many entries of the log came after the last checkpoint.
    pub entries: u64,
    /// How many instances they are about.
    pub instances: u64,
    /// How many jobs and activities wait to be done.
    pub jobs: u64,
    /// How many timers are set; those whose time has passed have fired.
    pub timers: u64,
    /// How many waits for messages, events and signals there are.
    pub subscriptions: u64,
    /// How many messages and events nobody has taken yet.
    pub messages: u64,
    /// How many functions go on that stood still because of their code: it was missing, or panicked, or
    /// did not agree with their journal.
    pub resumed: u64,
    /// How many still stand still for that.
    pub blocked: u64,
    /// How many instances have had their rows made again from the log, because some could not be read.
    pub rebuilt: u64,
    /// How many deployed definitions cannot be read. Their instances are halted.
    pub unreadable: u64,
    /// How many entries and mails of shards cannot be read. They stay in the store, and are passed over.
    pub damaged: u64,
    /// How long it took.
    pub took: Duration,
}

/// What came of trying the code of this program against open instances.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Preflight;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let preflight: Preflight = engine.preflight()?;
/// for (instance, problem) in &preflight.problems {
///     println!("{instance}: {problem}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// How many instances were tried.
    pub tried: usize,
    /// Those whose journal the code does not agree with, and why.
    pub problems: Vec<(InstanceId, String)>,
}

impl Engine {
    /// Tries the code of this program against the journals of open instances, without changing
    /// anything: what would block is told before it does.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for (instance, problem) in engine.preflight()?.problems {
    ///     println!("{instance}: {problem}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn preflight(&self) -> Result<Preflight, Error> {
        let mut report = Preflight::default();
        for definition in self.definitions().all().filter(|it| it.is_function()) {
            self.each_row(Table::Instances, &open_runs(definition), |row| {
                let instance = InstanceId(row.key().instance);
                report.tried += 1;
                let tried = self.ask(TryCodeRequest { instance }).wait()?;
                report.problems.extend(tried.err().map(|problem| (instance, problem)));
                Ok(())
            })?;
        }
        Ok(report)
    }

    /// Lets functions go on that their code had blocked, where the code that is here can go on with
    /// them: it was corrected, or came back, or what they want to begin is deployed by now.
    pub(super) fn welcome_code(&self) -> Result<Welcomed, Error> {
        let mut welcomed = Welcomed::default();
        match self.welcome_code_into(&mut welcomed) {
            Err(error) if welcomed.resumed > 0 => Err(error.after_a_part()),
            done => done.map(|()| welcomed),
        }
    }

    fn welcome_code_into(&self, welcomed: &mut Welcomed) -> Result<(), Error> {
        let functions = &self.inner.functions;
        for definition in self.definitions().all().filter(|it| it.is_function()) {
            if functions.find_workflow(&definition.id, Some(definition.version)).is_none() {
                continue;
            }
            let filters = [
                Filter::Definition(Name::clone(&definition.id)),
                Filter::Version(definition.version),
            ];
            let mut asked = VecDeque::new();
            self.each_row(Table::Incidents, &filters, |row| {
                let instance = InstanceId(row.key().instance);
                asked.push_back(self.ask(UnblockRequest { instance }));
                // They are durable together.
                if asked.len() < AT_ONCE { Ok(()) } else { welcomed.take(asked.pop_front()) }
            })?;
            asked.into_iter().try_for_each(|it| welcomed.take(Some(it)))?;
        }
        Ok(())
    }

    /// What was found when the engine was opened, which has then gone on with all of it by itself. Asked
    /// again it runs nothing twice: it only lets functions go on that stand still because of their code
    /// and can go on by now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let found = engine.recover()?;
    /// println!("{} timers, {} jobs", found.timers, found.jobs);
    /// # Ok(()) }
    /// ```
    pub fn recover(&self) -> Result<RecoveryReport, Error> {
        let Welcomed { resumed, blocked, .. } = self.welcome_code()?;
        let opened = self.opened();
        let sum = |of: fn(&Recovered) -> u64| opened.shards.iter().map(of).sum::<u64>();
        Ok(RecoveryReport {
            entries: sum(|it| it.entries),
            instances: sum(|it| it.instances),
            jobs: sum(|it| it.jobs),
            timers: sum(|it| it.timers),
            subscriptions: sum(|it| it.subscriptions),
            messages: sum(|it| it.messages),
            resumed,
            blocked,
            rebuilt: opened.rebuilt.as_ref().map_or(0, |_| sum(|it| it.instances)),
            unreadable: opened.unreadable.len() as u64,
            damaged: sum(|it| it.damaged.len() as u64),
            took: opened.took,
        })
    }

    pub(super) fn each_row(
        &self,
        table: Table,
        filters: &[Filter],
        mut each: impl FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.flush_now()?;
        each_page(table, filters, |query| self.read_views(|it| Ok(it.query(query)?)), &mut each)
    }
}

/// How many blocked functions are tried at the same time.
const AT_ONCE: usize = 256;

/// How many of those that stay blocked are told one by one when an engine is opened.
const TOLD_MAX: usize = 10;

/// What became of functions that their code had blocked.
#[derive(Debug, Default)]
pub(super) struct Welcomed {
    resumed: u64,
    blocked: u64,
    /// The first of them in words.
    told: Vec<String>,
}

impl Welcomed {
    fn take(&mut self, asked: Option<Pending<Unblocked>>) -> Result<(), Error> {
        match asked.map(Pending::wait) {
            Some(Ok(Unblocked::Yes)) => self.resumed += 1,
            Some(Ok(Unblocked::No { id, reason })) => {
                self.blocked += 1;
                if self.told.len() < TOLD_MAX {
                    self.told.push(format!("{id} still cannot go on: {reason}"));
                }
            }
            // It stands still, or has gone on meanwhile.
            Some(
                Ok(Unblocked::IsNot)
                | Err(Error::Suspended(_) | Error::Halted { .. } | Error::Rejected(_)),
            )
            | None => {}
            Some(Err(error)) => return Err(error),
        }
        Ok(())
    }

    /// Says which functions stand still although their code is here.
    pub(super) fn tell(&self, prints: bool) {
        let Self { resumed, blocked, told } = self;
        if *blocked == 0 {
            return;
        }
        tracing::warn!(blocked, resumed, first = ?told.first(), "functions cannot go on");
        if prints {
            for it in told {
                print(it);
            }
            let more = blocked.saturating_sub(told.len() as u64);
            if more > 0 {
                print(&format!("{more} more cannot go on; `travertine incidents` lists them"));
            }
        }
    }
}

/// The instances of a function that have not ended.
fn open_runs(function: &Definition) -> Vec<Filter> {
    vec![
        Filter::Definition(Name::clone(&function.id)),
        Filter::Version(function.version),
        Filter::State(vec![
            InstanceState::Running,
            InstanceState::Suspended,
            InstanceState::Halted,
        ]),
    ]
}

fn each_page(
    table: Table,
    filters: &[Filter],
    ask: impl Fn(&Query) -> Result<Page, Error>,
    each: &mut dyn FnMut(Row) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after = None;
    loop {
        let query =
            Query { table, filters: filters.to_vec(), descending: false, after, limit: 1_000 };
        let page = ask(&query)?;
        page.rows.into_iter().try_for_each(&mut *each)?;
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Tries the code of this program against the journals of open instances, before anything goes on.
/// Answers with those that it does not agree with, and why.
pub(super) fn try_all(
    store: &dyn Store,
    definitions: &Definitions,
    shards: &[Shard],
) -> Result<Vec<String>, Error> {
    let mut ids = BTreeSet::new();
    for function in definitions.all().filter(|it| it.is_function()) {
        let ask = |query: &Query| {
            store.query(query).map_err(|error| match error {
                StoreError::DamagedRow { .. } => Error::Refused {
                    diagnostics: vec![format!(
                        "{error}; opened once without preflight, the engine makes it again from the log"
                    )],
                },
                other => other.into(),
            })
        };
        each_page(Table::Instances, &open_runs(function), ask, &mut |row| {
            ids.insert(InstanceId(row.key().instance));
            Ok(())
        })?;
    }
    // Of the latest the views may not know yet.
    for shard in shards {
        let is_open = |it: &&Live| it.definition.is_function() && !it.has_ended();
        ids.extend(shard.in_memory().into_iter().filter(is_open).map(|it| it.id));
    }
    let mut problems = Vec::new();
    for id in ids {
        let shard = &shards[usize::from(ShardId::of(id.0, store.shards()).0)];
        if let Err(problem) = shard.try_code(id)? {
            problems.push(format!("instance {id}: {problem}"));
        }
    }
    Ok(problems)
}
