//! What can be asked of instances and timers.

use std::time::Duration;

use travertine_kernel::{
    Assignments, Command, Mapping, Migration, Modification, Reach, Reason, TokenId, check_variables,
};
use travertine_value::Limits;

use super::{Engine, Pending, Target};
use crate::{
    Address, Ended, Error, InstanceId, Named, Timestamp,
    request::{
        AwaitRequest, CommandRequest, EvaluateConditionsRequest, FindVisitRequest,
        FireTimerRequest, MigrateRequest, MoveTimerRequest, ReleaseHaltedRequest, ResolveRequest,
        ResumeRequest, RetryRequest, SetRequest, SuspendRequest, TryMigrationRequest, WhyRequest,
    },
};

impl Engine {
    /// Answers when the instance has ended, and how.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").await?;
    /// let ended = engine.result(delivery).await?;
    /// println!("{:?}", ended.ending);
    /// # Ok(()) }
    /// ```
    pub fn result(&self, instance: InstanceId) -> Pending<Ended> {
        self.ask(AwaitRequest { instance, through_incidents: true })
    }

    /// Answers when a function has ended, and how; or why it stands still, as soon as it does.
    pub(super) fn result_or_incident(&self, instance: InstanceId) -> Pending<Ended> {
        self.ask(AwaitRequest { instance, through_incidents: false })
    }

    /// Tells an instance something, in the kernel's words.
    #[doc(hidden)] // The kernel's words are not for programs; what they need has a method of its own.
    pub fn command(&self, instance: InstanceId, command: Command) -> Pending<()> {
        self.ask(CommandRequest { instance, command })
    }

    /// Ends an instance and all that it has called.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).await?;
    /// engine.cancel(run.instance()).await?;
    /// # Ok(()) }
    /// ```
    pub fn cancel(&self, instance: InstanceId) -> Pending<()> {
        self.command(instance, Command::Cancel)
    }

    /// Has an instance stand still until it is resumed. What comes meanwhile is kept for it.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).await?;
    /// engine.suspend(run.instance()).await?;
    /// # Ok(()) }
    /// ```
    pub fn suspend(&self, instance: InstanceId) -> Pending<()> {
        self.ask(SuspendRequest { instance })
    }

    /// Lets a suspended instance go on.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.suspend(InstanceId(12)).await?;
    /// engine.resume(InstanceId(12)).await?;
    /// # Ok(()) }
    /// ```
    pub fn resume(&self, instance: InstanceId) -> Pending<()> {
        self.ask(ResumeRequest { instance })
    }

    /// Lets an instance on which the engine failed be tried again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // What made the engine fail on it is repaired.
    /// engine.release(InstanceId(12))?;
    /// # Ok(()) }
    /// ```
    pub fn release(&self, instance: InstanceId) -> Result<(), Error> {
        // What the log says of it must be there to be read.
        self.flush_now()?;
        self.ask(ReleaseHaltedRequest { instance }).wait()
    }

    /// Sets variables of the process, or in the layer of one of its tokens.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.set_variables(InstanceId(12), None, vec![("town".into(), "Oslo".into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn set_variables(
        &self,
        instance: InstanceId,
        token: Option<TokenId>,
        variables: Assignments,
    ) -> Pending<()> {
        self.command(instance, Command::Set { token, variables, reach: Reach::Layer })
    }

    /// Sets variables of an instance, or of an element instance: each in the nearest scope around it that has the
    /// name, or in a scope of the element's own, which goes with it.
    ///
    /// ```no_run
    /// # use travertine_kernel as travertine;
    /// # use travertine_runtime::{Engine, Error, InstanceId, Named};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::Reach;
    ///
    /// let element = Named::Visit(InstanceId(12), 3);
    /// engine.set(element, vec![("town".into(), "Oslo".into())], Reach::Propagate).await?;
    /// engine.set(element, vec![("try".into(), 2.into())], Reach::Local).await?;
    /// # Ok(()) }
    /// ```
    pub fn set(&self, of: Named, variables: Assignments, reach: Reach) -> Pending<()> {
        let (instance, visit) = match of {
            Named::Instance(instance) => (instance, 0),
            Named::Visit(instance, visit) => (instance, visit),
            other => return Pending::refused(Error::NoVariables(other)),
        };
        self.ask(SetRequest { instance, visit, variables, reach })
    }

    /// How an instance ended, if it does within that time; it goes on in any case. `None` where it has not. To wait
    /// needs an executor with a clock.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").await?;
    /// match engine.result_within(delivery, Duration::from_secs(10)).await? {
    ///     Some(ended) => println!("{:?}", ended.ending),
    ///     None => println!("it takes longer"),
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn result_within(
        &self,
        instance: InstanceId,
        within: Duration,
    ) -> Result<Option<Ended>, Error> {
        match tokio::time::timeout(within, self.result(instance)).await {
            Ok(ended) => ended.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Takes tokens away and puts tokens elsewhere: all of it, or nothing.
    ///
    /// ```no_run
    /// # use travertine_kernel as travertine;
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::{Modification, TokenId, Which};
    ///
    /// engine.modify(InstanceId(12), vec![Modification::Withdraw(Which::Token(TokenId(3)))]).await?;
    /// # Ok(()) }
    /// ```
    pub fn modify(&self, instance: InstanceId, steps: Vec<Modification>) -> Pending<()> {
        self.command(instance, Command::Modify { steps })
    }

    /// What would happen if an instance went on by another version of its definition.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # use travertine_runtime::engine::Target;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let to = Target::Version("delivery".into(), 2);
    /// let migration = engine.try_migration(InstanceId(12), to, Default::default()).await?;
    /// println!("{migration:?}");
    /// # Ok(()) }
    /// ```
    pub fn try_migration(
        &self,
        instance: InstanceId,
        to: impl Into<Target>,
        mapping: Mapping,
    ) -> Pending<Migration> {
        match self.target(&to.into()) {
            Ok(to) => self.ask(TryMigrationRequest { instance, to, mapping }),
            Err(error) => Pending::refused(error),
        }
    }

    /// Lets an instance go on by another version of its definition.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.migrate(InstanceId(12), "delivery", Default::default()).await?;
    /// # Ok(()) }
    /// ```
    pub fn migrate(
        &self,
        instance: InstanceId,
        to: impl Into<Target>,
        mapping: Mapping,
    ) -> Pending<()> {
        match self.target(&to.into()) {
            Ok(to) => self.ask(MigrateRequest { instance, to, mapping }),
            Err(error) => Pending::refused(error),
        }
    }

    /// Why an instance waits: a reason for each token that rests.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for reason in engine.why(InstanceId(12)).await? {
    ///     println!("{:?}", reason.why);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn why(&self, instance: InstanceId) -> Pending<Vec<Reason>> {
        self.ask(WhyRequest { instance })
    }

    /// Tries again what ended in an incident: at one token, or everywhere in the instance. Says how many
    /// incidents there were.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let incidents = engine.retry(InstanceId(12), None).await?;
    /// # Ok(()) }
    /// ```
    pub fn retry(&self, instance: InstanceId, token: Option<TokenId>) -> Pending<usize> {
        self.ask(RetryRequest { instance, token })
    }

    /// Tries again what one incident is about, by the number that its row tells. A strict caller is refused while
    /// the work that failed has no retries, which someone must set first; any other gives it one.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, Key, Named};
    /// # async fn example(engine: Engine, key: Key) -> Result<(), Error> {
    /// if let Named::Incident(instance, incident) = key.named() {
    ///     engine.resolve(instance, incident, true).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn resolve(&self, instance: InstanceId, incident: u64, strict: bool) -> Pending<()> {
        self.ask(ResolveRequest { instance, incident, strict })
    }

    /// The visit that a job, a user task, a timer, a subscription or a call belongs to: that of its activity for
    /// a boundary event, 0 for the process itself. `None` where it is over.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error, Key, Named};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let job: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// let visit = engine.visit_of(job).await?;
    /// let key = visit.and_then(|it| Key::of(Named::Visit(job.instance, it)));
    /// # Ok(()) }
    /// ```
    pub fn visit_of(&self, wait: Address) -> Pending<Option<u64>> {
        self.ask(FindVisitRequest { wait })
    }

    /// Has a timer ring at another time. Those that start instances are called as their rows say: of
    /// instance 0.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let timer: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.move_timer(timer, engine.now().after(Duration::from_mins(1))).await?;
    /// # Ok(()) }
    /// ```
    pub fn move_timer(&self, timer: Address, due: Timestamp) -> Pending<()> {
        self.ask(MoveTimerRequest { timer, due })
    }

    /// Has a timer ring now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let timer: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.fire_timer(timer).await?;
    /// # Ok(()) }
    /// ```
    pub fn fire_timer(&self, timer: Address) -> Pending<()> {
        self.ask(FireTimerRequest { timer })
    }

    /// Offers variables to the conditional start events. Answers with what they started.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let started = engine.evaluate_conditions(vec![("stock".into(), 3.into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn evaluate_conditions(&self, variables: Assignments) -> Pending<Vec<InstanceId>> {
        if let Err(error) = check_variables(&variables, &Limits::default()) {
            return Pending::refused(error);
        }
        self.ask(EvaluateConditionsRequest { variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{Options, one_task},
        request::GlanceRequest,
    };

    #[test]
    fn who_does_not_wait_any_more_is_forgotten_long_before_the_end() {
        let engine = Engine::in_memory(Options { shards: 1, ..Options::default() }).unwrap();
        engine.deploy(&[one_task()]).unwrap();
        let id = engine.start("p").wait().unwrap();
        let waits = engine.result(id);
        for _ in 0..1_000 {
            drop(engine.result(id));
        }
        let watched = || engine.ask(GlanceRequest {}).wait().unwrap().watched;
        assert!(watched() < 200, "{}", watched());
        engine.cancel(id).wait().unwrap();
        waits.wait().unwrap();
        assert_eq!(watched(), 0);
    }
}
