//! An instance in a store, and all that it caused, as a run sees them.

use std::time::Duration;

use travertine_data::run::Record;
use travertine_kernel::Why;
use travertine_runtime::{Address, Engine, Error, InstanceId, Timestamp, engine::Look};
use travertine_store::view::{Filter, Query, Row, Table};
use travertine_value::Name;

/// How long a run waits for what it has caused.
const SETTLE: Duration = Duration::from_secs(30);

/// How many instances of one run are seen.
const INSTANCES_MAX: u32 = 1_000;

/// An instance in a store, and all that it caused.
#[derive(Debug)]
pub(crate) struct Kept {
    engine: Engine,
    main: InstanceId,
    /// The definitions that the run has brought, of which messages may start instances.
    definitions: Vec<Name>,
    looks: Vec<Look>,
    held: Vec<Name>,
}

impl Kept {
    pub(crate) fn new(
        engine: Engine,
        main: InstanceId,
        definitions: Vec<Name>,
    ) -> Result<Self, Error> {
        let mut kept = Self { engine, main, definitions, looks: Vec::new(), held: Vec::new() };
        kept.look()?;
        Ok(kept)
    }

    pub(crate) fn main(&self) -> InstanceId {
        self.main
    }

    pub(crate) fn close(self) -> Result<(), Error> {
        self.engine.shutdown()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.engine.now()
    }

    pub(crate) fn instances(&self) -> impl Iterator<Item = Record<'_>> {
        self.looks.iter().map(Record::looked)
    }

    pub(crate) fn held(&self) -> &[Name] {
        &self.held
    }

    /// The last entry of each instance.
    pub(crate) fn mark(&self) -> String {
        let all: Vec<String> =
            self.looks.iter().map(|it| format!("{}:{}", it.row.id, it.row.last)).collect();
        all.join(" ")
    }

    /// Does something, and sees what came of it. What is refused may be so because something else has
    /// happened meanwhile.
    pub(crate) fn act<T>(
        &mut self,
        what: impl FnOnce(&Engine) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let done = what(&self.engine);
        self.look()?;
        done
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.timers().into_iter().map(|(due, _)| due).min()
    }

    /// Has timers ring that would be due by then, in their order.
    pub(crate) fn ring(&mut self, to: Timestamp) -> Result<(), Error> {
        let mut timers = self.timers();
        timers.retain(|(due, _)| *due <= to);
        timers.sort();
        for (_, timer) in timers {
            match self.engine.fire_timer(timer).wait() {
                // One that rang before has taken it away.
                Ok(()) | Err(Error::Rejected(_)) => {}
                Err(error) => return Err(error),
            }
            self.engine.settle(SETTLE)?;
        }
        self.look()
    }

    fn timers(&self) -> Vec<(Timestamp, Address)> {
        let mut all = Vec::new();
        for look in &self.looks {
            for reason in &look.reasons {
                if let Why::Timer { wait, due, .. } = reason.why {
                    all.push((due, Address { instance: InstanceId(look.row.id), wait }));
                }
            }
        }
        all
    }

    /// Sees how things are.
    pub(crate) fn look(&mut self) -> Result<(), Error> {
        self.engine.settle(SETTLE)?;
        let main = self.engine.look(self.main).wait()?;
        let since = main.row.started;
        let mut ids = self.found(vec![Filter::Root(self.main.0)])?;
        for definition in &self.definitions {
            let began = Filter::Started(Some(since), None);
            ids.extend(self.found(vec![Filter::Definition(Name::clone(definition)), began])?);
        }
        ids.retain(|it| *it != self.main.0);
        ids.sort_unstable();
        ids.dedup();
        self.looks = vec![main];
        for id in ids {
            self.looks.push(self.engine.look(InstanceId(id)).wait()?);
        }
        let held = self.query(Table::Messages, vec![Filter::Dead(false)])?;
        self.held = held
            .into_iter()
            .filter_map(|it| if let Row::Message(it) = it { Some(it) } else { None })
            // Those before it were sent by others.
            .filter(|it| it.published >= since)
            .map(|it| it.name)
            .collect();
        Ok(())
    }

    fn found(&self, filters: Vec<Filter>) -> Result<Vec<u64>, Error> {
        let rows = self.query(Table::Instances, filters)?;
        Ok(rows.iter().map(|it| it.key().instance).collect())
    }

    fn query(&self, table: Table, filters: Vec<Filter>) -> Result<Vec<Row>, Error> {
        let query = Query { table, filters, descending: false, after: None, limit: INSTANCES_MAX };
        Ok(self.engine.query_now(&query)?.rows)
    }
}
