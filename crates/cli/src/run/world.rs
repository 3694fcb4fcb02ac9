//! The world of one run: what is deployed, the instance that was asked for, and all that it caused.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{Result, anyhow};
use travertine_bpmn::Process;
use travertine_data::run::{Act, Pending, Record, Run};
use travertine_kernel::{Assignments, TokenId};
use travertine_runtime::{
    Address, DecisionModel, Error, InstanceId, JobFailure, Message, Receipt, Sandbox, Start,
    Timestamp, Turned,
};
use travertine_value::Name;

use crate::screen::Screen;

use super::{kept::Kept, watch::Watch};

/// So many events in a row take a moment.
const NOTICED: u64 = 100_000;

/// The world of one run.
pub(crate) struct World {
    stage: Stage,
    main: InstanceId,
    restless: Option<(u64, u64)>,
    /// Where people are told what does not come to rest.
    err: Option<Screen>,
    /// The definitions that they were told of.
    throttled: BTreeSet<Name>,
}

/// Where instances are.
#[derive(Debug)]
pub(crate) enum Stage {
    /// In memory, at a time that passes when someone says so.
    Memory(Box<Sandbox>),
    /// In a store, now.
    Store(Box<Kept>),
}

impl World {
    /// A world at that time, in which nothing is deployed.
    pub(crate) fn new(now: Timestamp, mut watch: Watch) -> Self {
        if watch.is_needed() {
            return Self::observed(now, move |turned| watch.see(turned));
        }
        Self::of(Sandbox::new(now))
    }

    /// Says so on `err` where instances go on and on.
    pub(crate) fn tell_restless(&mut self, err: &Screen) {
        if let Stage::Memory(sandbox) = &mut self.stage {
            self.err = Some(err.clone());
            let err = err.clone();
            sandbox.when_restless(NOTICED, move |events, most| {
                err.line(format!(
                    "note: it has not come to rest after {events} events; Ctrl-C ends it, and after {most} it is \
                     given up"
                ));
            });
        }
    }

    /// Such a world, in which someone looks on.
    pub(crate) fn observed(now: Timestamp, look: impl FnMut(Turned<'_>) + Send + 'static) -> Self {
        let mut sandbox = Sandbox::new(now);
        sandbox.observe(look);
        Self::of(sandbox)
    }

    fn of(sandbox: Sandbox) -> Self {
        Self::on(Stage::Memory(Box::new(sandbox)), InstanceId(0))
    }

    /// The world of an instance in a store.
    pub(crate) fn kept(kept: Kept) -> Self {
        let main = kept.main();
        Self::on(Stage::Store(Box::new(kept)), main)
    }

    fn on(stage: Stage, main: InstanceId) -> Self {
        Self { stage, main, restless: None, err: None, throttled: BTreeSet::new() }
    }

    /// Closes the store, where there is one.
    pub(crate) fn close(self) -> Result<(), Error> {
        match self.stage {
            Stage::Memory(_) => Ok(()),
            Stage::Store(kept) => kept.close(),
        }
    }

    pub(crate) fn deploy(
        &mut self,
        processes: &[Process],
        decisions: &[Arc<DecisionModel>],
    ) -> Result<()> {
        let all: Vec<_> =
            processes.iter().map(|it| (Name::from(it.id.as_str()), Arc::clone(&it.plan))).collect();
        self.act(|stage| {
            stage.sandbox().deploy_decisions(decisions)?;
            stage.sandbox().deploy(&all).map(drop)
        })
        .map_err(|it| anyhow!(it))
    }

    /// Starts the instance that was asked for.
    pub(crate) fn start(
        &mut self,
        process: &str,
        at: Option<&str>,
        variables: Assignments,
    ) -> Result<()> {
        let start = Start { at, ..Start::of(process).with(variables) };
        self.act(|stage| stage.sandbox().start(start).map(drop)).map_err(|it| anyhow!(it))?;
        // Whatever it has called or triggered came after it.
        let main = self.instances().find(|it| &*it.definition.id == process && !it.is_called());
        self.main = main.expect("it has just been started").id;
        Ok(())
    }

    /// Does something. Instances that never rest are no fault of whoever asked: they are remembered,
    /// and nothing more can be done here.
    pub(crate) fn act(
        &mut self,
        what: impl FnOnce(&mut Stage) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let done = what(&mut self.stage).and_then(|()| self.start_throttled());
        match done {
            Err(Error::Restless { events, bytes }) => {
                self.restless = Some((events, bytes));
                Ok(())
            }
            other => other,
        }
    }

    /// Has those begin that wait since more would begin than may in a second: time that nobody waits for passes.
    fn start_throttled(&mut self) -> Result<(), Error> {
        let Stage::Memory(sandbox) = &mut self.stage else { return Ok(()) };
        for (definition, _) in sandbox.throttled() {
            if let Some(err) = &self.err
                && self.throttled.insert(Name::clone(&definition))
            {
                err.line(format!(
                    "note: definition {definition} does not come to rest: more instances begin than may in a \
                     second, and wait for their turn"
                ));
            }
        }
        sandbox.start_throttled()
    }

    /// How many events there were when it was given up, and how many bytes they are.
    pub(crate) fn restless(&self) -> Option<(u64, u64)> {
        self.restless
    }

    /// Sees what has happened by itself, where time passes by itself.
    pub(crate) fn look(&mut self) -> Result<(), Error> {
        match &mut self.stage {
            Stage::Memory(_) => Ok(()),
            Stage::Store(kept) => kept.look(),
        }
    }

    /// Whether what happens is kept, at a time that is real.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.stage, Stage::Store(_))
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        match &self.stage {
            Stage::Memory(sandbox) => sandbox.now(),
            Stage::Store(kept) => kept.now(),
        }
    }

    /// When the next timer is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Memory(sandbox) => sandbox.next_due(),
            Stage::Store(kept) => kept.next_due(),
        }
    }

    /// All instances of the run, oldest first.
    pub(crate) fn instances(&self) -> Box<dyn Iterator<Item = Record<'_>> + '_> {
        match &self.stage {
            Stage::Memory(sandbox) => Box::new(sandbox.instances().map(Record::of)),
            Stage::Store(kept) => Box::new(kept.instances()),
        }
    }

    /// The names of the messages that are held.
    pub(crate) fn held(&self) -> Vec<Name> {
        match &self.stage {
            Stage::Memory(sandbox) => sandbox.held().map(|it| Name::clone(&it.name)).collect(),
            Stage::Store(kept) => kept.held().to_vec(),
        }
    }

    /// Something that is different after each change of an instance.
    pub(crate) fn mark(&self) -> String {
        match &self.stage {
            Stage::Memory(_) => String::new(),
            Stage::Store(kept) => kept.mark(),
        }
    }

    /// Whether nothing more can happen in it.
    pub(crate) fn is_over(&self) -> bool {
        self.restless.is_some() || self.instances().all(|it| !it.state.is_running())
    }

    /// The instance that was asked for.
    pub(crate) fn main(&self) -> Record<'_> {
        Run::main(self)
    }

    /// Everything that waits, the most pressing first.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        Run::pending(self)
    }

    /// The variables that a token sees.
    pub(crate) fn visible(&self, pending: &Pending) -> Assignments {
        Run::visible(self, pending)
    }
}

impl Run for World {
    fn act(&mut self, act: Act) -> Result<(), Error> {
        Self::act(self, |stage| stage.act(act))
    }

    fn main_id(&self) -> InstanceId {
        self.main
    }

    fn instances(&self) -> Box<dyn Iterator<Item = Record<'_>> + '_> {
        Self::instances(self)
    }

    fn held(&self) -> Vec<Name> {
        Self::held(self)
    }

    fn now(&self) -> Timestamp {
        Self::now(self)
    }

    fn next_due(&self) -> Option<Timestamp> {
        Self::next_due(self)
    }

    fn restless(&self) -> Option<(u64, u64)> {
        Self::restless(self)
    }
}

impl Stage {
    fn sandbox(&mut self) -> &mut Sandbox {
        match self {
            Self::Memory(sandbox) => sandbox,
            Self::Store(_) => unreachable!("instances of a store are started there"),
        }
    }

    fn act(&mut self, act: Act) -> Result<(), Error> {
        match act {
            Act::Complete { to, variables } => self.complete(to, variables),
            Act::Raise { to, code, message, variables } => {
                self.raise(to, &code, &message, variables)
            }
            Act::Escalate { to, code, variables } => self.escalate(to, &code, variables),
            Act::Fail { to, retries, message } => self.fail(to, retries, &message),
            Act::Set { instance, token, variables } => {
                self.set_variables(instance, token, variables)
            }
            Act::Retry { instance, token } => self.retry(instance, token),
            Act::Cancel(instance) => self.cancel(instance),
            Act::Publish(message) => self.publish(*message).map(drop),
            Act::Signal { name, variables } => self.signal(&name, &variables),
            Act::Advance(to) => self.advance(to),
        }
    }

    pub(crate) fn complete(&mut self, to: Address, variables: Assignments) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.complete(to, variables),
            Self::Store(it) => it.act(|engine| engine.complete(to, variables).wait()),
        }
    }

    pub(crate) fn raise(
        &mut self,
        to: Address,
        code: &str,
        message: &str,
        variables: Assignments,
    ) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.raise(to, code, message, variables),
            Self::Store(it) => {
                it.act(|engine| engine.throw_error(to, code, message, variables).wait())
            }
        }
    }

    pub(crate) fn escalate(
        &mut self,
        to: Address,
        code: &str,
        variables: Assignments,
    ) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.escalate(to, code, variables),
            Self::Store(it) => it.act(|engine| engine.escalate(to, code, variables).wait()),
        }
    }

    pub(crate) fn fail(&mut self, to: Address, retries: u32, message: &str) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.fail(to, retries, message),
            Self::Store(it) => {
                let failure = JobFailure { retries: Some(retries), ..JobFailure::new(message) };
                it.act(|engine| engine.fail(to, failure).wait())
            }
        }
    }

    pub(crate) fn set_variables(
        &mut self,
        instance: InstanceId,
        token: Option<TokenId>,
        variables: Assignments,
    ) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.set_variables(instance, token, variables),
            Self::Store(it) => {
                it.act(|engine| engine.set_variables(instance, token, variables).wait())
            }
        }
    }

    pub(crate) fn retry(&mut self, instance: InstanceId, token: TokenId) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.retry(instance, token),
            Self::Store(it) => {
                it.act(|engine| engine.retry(instance, Some(token)).wait().map(drop))
            }
        }
    }

    pub(crate) fn cancel(&mut self, instance: InstanceId) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.cancel(instance),
            Self::Store(it) => it.act(|engine| engine.cancel(instance).wait()),
        }
    }

    pub(crate) fn publish(&mut self, message: Message) -> Result<Receipt, Error> {
        match self {
            Self::Memory(it) => it.publish(message),
            Self::Store(it) => it.act(|engine| engine.publish(message).wait()),
        }
    }

    pub(crate) fn signal(&mut self, name: &str, variables: &Assignments) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.signal(name, variables).map(drop),
            Self::Store(it) => {
                it.act(|engine| engine.signal(name, variables.clone()).wait().map(drop))
            }
        }
    }

    /// Lets time pass. In a store, where it passes by itself, what would be due by then happens now.
    pub(crate) fn advance(&mut self, to: Timestamp) -> Result<(), Error> {
        match self {
            Self::Memory(it) => it.advance(to),
            Self::Store(it) => it.ring(to),
        }
    }
}
