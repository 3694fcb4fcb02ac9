//! The world of one run: what is deployed, the instance that was asked for, and all that it caused.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use travertine_bpmn::Process;
use travertine_expr::Name;
use travertine_kernel::Assignments;
use travertine_runtime::{Error, InstanceId, Live, Sandbox, Start, Timestamp, Turned};

use super::{pending, pending::Pending, watch::Watch};

/// The world of one run.
#[derive(Debug)]
pub(crate) struct World {
    sandbox: Sandbox,
    main: InstanceId,
    restless: Option<u64>,
}

impl World {
    /// A world at that time, in which nothing is deployed.
    pub(crate) fn new(now: Timestamp, mut watch: Watch) -> Self {
        if watch.is_needed() {
            return Self::observed(now, move |turned| watch.see(turned));
        }
        Self { sandbox: Sandbox::new(now), main: InstanceId(0), restless: None }
    }

    /// Such a world, in which someone looks on.
    pub(crate) fn observed(now: Timestamp, look: impl FnMut(Turned<'_>) + Send + 'static) -> Self {
        let mut sandbox = Sandbox::new(now);
        sandbox.observe(look);
        Self { sandbox, main: InstanceId(0), restless: None }
    }

    pub(crate) fn deploy(&mut self, processes: &[Process]) -> Result<()> {
        let all: Vec<_> =
            processes.iter().map(|it| (Name::from(it.id.as_str()), Arc::clone(&it.plan))).collect();
        self.act(|sandbox| sandbox.deploy(&all).map(drop)).map_err(|it| anyhow!(it))
    }

    /// Starts the instance that was asked for.
    pub(crate) fn start(
        &mut self,
        process: &str,
        at: Option<&str>,
        variables: Assignments,
    ) -> Result<()> {
        let start = Start { at, ..Start::of(process).with(variables) };
        self.act(|sandbox| sandbox.start(start).map(drop)).map_err(|it| anyhow!(it))?;
        // Whatever it has called or triggered came after it.
        let mut instances = self.sandbox.instances();
        let main = instances.find(|it| &*it.definition.id == process && !it.is_called());
        self.main = main.expect("it has just been started").id;
        Ok(())
    }

    /// Does something. Instances that never rest are no fault of whoever asked: they are remembered,
    /// and nothing more can be done here.
    pub(crate) fn act(
        &mut self,
        what: impl FnOnce(&mut Sandbox) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match what(&mut self.sandbox) {
            Err(Error::Restless { events }) => {
                self.restless = Some(events);
                Ok(())
            }
            other => other,
        }
    }

    /// How many events there were when it was given up.
    pub(crate) fn restless(&self) -> Option<u64> {
        self.restless
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The instance that was asked for.
    pub(crate) fn main(&self) -> &Live {
        self.sandbox.instance(self.main).expect("instances are kept")
    }

    /// Whether nothing more can happen in it.
    pub(crate) fn is_over(&self) -> bool {
        self.restless.is_some() || self.sandbox.instances().all(|it| !it.state.is_running())
    }

    /// Everything that waits, the most pressing first.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        let mut all: Vec<Pending> = self.sandbox.instances().flat_map(pending::of).collect();
        all.sort_by_key(Pending::kind);
        all
    }

    /// The variables that a token sees.
    pub(crate) fn visible(&self, pending: &Pending) -> Assignments {
        let Some(record) = self.sandbox.instance(pending.instance) else { return Vec::new() };
        travertine_kernel::View::new(record.plan(), &record.state, pending.token).all()
    }
}
