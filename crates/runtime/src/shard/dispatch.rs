//! Requests become calls: what each one does, in one place.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use travertine_kernel::{Assignments, Command, Rejection, TokenId, plan::WorkKind, tree};
use travertine_value::Name;

use super::{Live, RunStatus, Shard, Watcher, guard::panic_text, job::for_others};
use crate::{
    Address, Error, InstanceId, JobFailure,
    request::{AwaitRequest, Description, Glance, Look, Origin, Outcome, Reply, ReplyTo, Request},
};

/// How long a job waits for its next try that has brought too much.
const TOO_MUCH_BACKOFF: Duration = Duration::from_secs(1);

impl Shard {
    /// Does what is asked, then all that follows from it here. The reply is let out once that is durable.
    pub fn request(&mut self, request: Request, mut to: ReplyTo) {
        let kind = request.kind();
        tracing::trace!(shard = self.id().0, request = kind.name(), "asked");
        if let Request::Await(AwaitRequest { instance, through_incidents }) = request {
            self.watch(instance, Watcher { to, waits_through: through_incidents });
            return;
        }
        self.outbox.by = to.begin();
        if kind.origin() == Origin::Outside {
            self.agenda.quarantine.asked();
        }
        let handled = catch_unwind(AssertUnwindSafe(|| {
            let reply = self.handle(request, &to);
            // What follows from it nobody has asked for.
            self.outbox.by = None;
            self.handle_letters();
            reply
        }));
        let reply = match handled {
            Ok(reply) => reply,
            Err(panic) => {
                // Nobody knows what is torn. Who has asked is told with all others what becomes of that.
                self.outbox.reply(to, Err(Error::Failed { reason: panic_text(&*panic) }));
                resume_unwind(panic);
            }
        };
        match (to, reply) {
            (ReplyTo::Nobody, Ok(_)) => {}
            (ReplyTo::Nobody, Err(error)) => {
                tracing::warn!(request = kind.name(), %error, "nobody waits for what cannot be done");
            }
            (to, reply) => self.outbox.reply(to, reply),
        }
    }

    fn handle(&mut self, request: Request, to: &ReplyTo) -> Result<Reply, Error> {
        match request {
            Request::Start(it) => self.start(it.begin).map(Reply::Start),
            Request::Command(it) => self.command(it.instance, it.command).map(Reply::Command),
            Request::CancelRun(it) => self.cancel_run(it.instance).map(Reply::CancelRun),
            Request::Suspend(it) => self.suspend(it.instance).map(Reply::Suspend),
            Request::Resume(it) => self.resume(it.instance).map(Reply::Resume),
            Request::ReleaseHalted(it) => {
                self.release_halted(it.instance).map(Reply::ReleaseHalted)
            }
            Request::Retry(it) => self.retry(it.instance, it.token).map(Reply::Retry),
            Request::Resolve(it) => {
                self.resolve(it.instance, it.incident, it.strict).map(Reply::Resolve)
            }
            Request::FindVisit(it) => self.find_visit(it.wait).map(Reply::FindVisit),
            Request::Set(it) => {
                self.set(it.instance, it.visit, it.variables, it.reach).map(Reply::Set)
            }
            Request::Migrate(it) => {
                self.migrate(it.instance, it.to, &it.mapping).map(Reply::Migrate)
            }
            Request::TryMigration(it) => {
                self.try_migration(it.instance, it.to, &it.mapping).map(Reply::TryMigration)
            }
            Request::Await(_) => unreachable!("it is answered later"),
            Request::Describe(it) => self.look(it.instance).map(describe).map(Reply::Describe),
            Request::Look(it) => self.look_at_all(it.instance).map(Box::new).map(Reply::Look),
            Request::Why(it) => self.look(it.instance).map(Live::reasons).map(Reply::Why),
            Request::Result(it) => self.look(it.instance).map(result).map(Reply::Result),
            Request::FindRun(it) => self.run_named(&it.name).map(Reply::FindRun),
            Request::QueryFunction(it) => {
                self.query_function(it.instance, &it.name, &it.input).map(Reply::QueryFunction)
            }
            Request::UpdateFunction(it) => self
                .update_function(it.instance, &it.name, it.input, it.id)
                .map(Reply::UpdateFunction),
            Request::TryCode(it) => self.try_code(it.instance).map(Reply::TryCode),
            Request::Unblock(it) => self.unblock(it.instance).map(Reply::Unblock),
            Request::FindStuck(it) => {
                self.find_stuck(it.caller);
                Ok(Reply::FindStuck(()))
            }
            Request::CalledIsStuck(it) => {
                self.called_is_stuck(it.caller, *it.error);
                Ok(Reply::CalledIsStuck(()))
            }
            Request::Publish(it) => self.publish(it.message).map(Reply::Publish),
            Request::TryPublish(it) => {
                self.begin_publishing(it.message, it.how).map(Reply::TryPublish)
            }
            Request::MatchVariables(it) => Ok(Reply::MatchVariables(self.agreeing(&it.candidates))),
            Request::FinishPublish(it) => {
                let published = self.finish_publishing(it.message, &it.looked, it.how);
                published.map(Reply::FinishPublish)
            }
            Request::Replay(it) => self.replay_message(it.dead_letter).map(Reply::Replay),
            Request::Discard(it) => self.discard(it.dead_letter).map(Reply::Discard),
            Request::Signal(it) => Ok(Reply::Signal(self.signal(&it.name, &it.variables))),
            Request::EvaluateConditions(it) => {
                Ok(Reply::EvaluateConditions(self.evaluate_conditions(&it.variables)))
            }
            Request::Lease(it) => {
                Ok(Reply::Lease(self.lease(it.job, &it.lease, &it.names).map(Box::new)))
            }
            Request::LeaseAll(it) => {
                if to.is_gone() {
                    it.jobs.into_iter().for_each(|job| self.offer_again(job));
                    return Ok(Reply::LeaseAll(Vec::new()));
                }
                let leased = self.lease_all(&it.jobs, &it.lease, &it.names, it.bytes_max);
                Ok(Reply::LeaseAll(leased))
            }
            Request::HandBack(it) => {
                self.hand_back(&it.worker, &it.jobs);
                Ok(Reply::HandBack(()))
            }
            Request::Complete(it) => {
                for_others(self.look(it.to.instance)?, it.to.wait)?;
                self.complete(it.to, it.variables).map(Reply::Complete)
            }
            Request::CompleteWork(it) => self
                .complete_work(it.work, it.kind, it.strict, it.variables)
                .map(Reply::CompleteWork),
            Request::Fail(it) => {
                it.kind.map_or(Ok(()), |kind| self.check_work(it.job, kind))?;
                if it.failure.strict {
                    self.check_retries(it.job)?;
                    self.check_offered(it.job)?;
                }
                self.fail(it.job, *it.failure).map(Reply::Fail)
            }
            Request::ThrowError(it) => {
                self.check_work(it.job, WorkKind::Job)?;
                self.check_retries(it.job)?;
                let (wait, code) = (it.job.wait, Some(it.code));
                let (message, variables) = (it.message, it.variables);
                let raise = Command::Raise { wait, code, message, variables };
                self.command(it.job.instance, raise).map(Reply::ThrowError)
            }
            Request::UpdateJob(it) => self.update_job(it.job, &it.change).map(Reply::UpdateJob),
            Request::FinishJob(it) => self.finish_job(it.job, it.outcome).map(Reply::FinishJob),
            Request::Extend(it) => self.extend(it.job, it.until).map(Reply::Extend),
            Request::PutBack(it) => self.put_back(it.job).map(Reply::PutBack),
            Request::ClaimTask(it) => self.claim_task(it.task, &it.who).map(Reply::ClaimTask),
            Request::ChangeTask(it) => self.change_task(it.task, *it.change).map(Reply::ChangeTask),
            Request::MoveTimer(it) => match it.timer {
                Address { instance: InstanceId(0), wait } => self.move_start_timer(wait, it.due),
                timer => self.move_timer(timer, it.due),
            }
            .map(Reply::MoveTimer),
            Request::FireTimer(it) => match it.timer {
                Address { instance: InstanceId(0), wait } => self.fire_start_timer(wait),
                timer => self.fire_timer(timer),
            }
            .map(Reply::FireTimer),
            Request::BeginAttempt(it) => Ok(Reply::BeginAttempt(self.begin_attempt(it.job))),
            Request::AttemptBegins(it) => {
                self.attempt_begins(&it.given);
                Ok(Reply::AttemptBegins(()))
            }
            Request::Heartbeat(it) => {
                self.beat(&it.given, it.details);
                Ok(Reply::Heartbeat(()))
            }
            Request::EndAttempt(it) => {
                self.end_attempt(it.given, it.outcome).map(Reply::EndAttempt)
            }
            Request::Rows(it) => Ok(Reply::Rows(self.rows_of(it.instance, &it.tables))),
            Request::Mend(it) => self.mend(it.instance).map(Reply::Mend),
            Request::Retire(it) => Ok(Reply::Retire(self.retire(it.instance, it.last))),
            Request::Fold(it) => self.fold(it.instance, it.last).map(Reply::Fold),
            Request::Verify(_) => {
                self.verify(&mut |read, all| to.progress(read, all)).map(Reply::Verify)
            }
            // Whoever drives it stores the rows that it hands over.
            Request::ExpirePast(_) => {
                self.expire_past();
                Ok(Reply::ExpirePast(()))
            }
            Request::Flush(_) => Ok(Reply::Flush(())),
            Request::Barrier(_) => Ok(Reply::Barrier(())),
            Request::Glance(_) => Ok(Reply::Glance(self.glance())),
            Request::IsInMemory(it) => {
                Ok(Reply::IsInMemory(self.in_memory_at(it.instance).is_some()))
            }
            Request::Follow(_) => {
                self.follow();
                Ok(Reply::Follow(()))
            }
            Request::Expect(it) => {
                self.expect(&it.definitions);
                Ok(Reply::Expect(()))
            }
            Request::Adopt(it) => {
                self.adopt(&it.definitions);
                Ok(Reply::Adopt(()))
            }
        }
    }

    /// Retries what ended in an incident, at one token or everywhere. Says how many there were.
    fn retry(&mut self, instance: InstanceId, token: Option<TokenId>) -> Result<usize, Error> {
        match token {
            Some(token) => self.command(instance, Command::Retry { token }).map(|()| 1),
            None => self.retry_all(instance),
        }
    }

    /// Asks an instance to end. Says whether it was still running.
    fn cancel_run(&mut self, instance: InstanceId) -> Result<bool, Error> {
        if !self.is_halted(instance)? {
            let live = self.look(instance)?;
            if live.has_ended() {
                return Ok(false);
            }
            // Whoever asks again, because nobody has answered, must not interrupt the clearing up. Code
            // that stands still does not clear up.
            if live.state.incidents.is_empty()
                && live.state.journal.as_ref().is_some_and(|it| it.is_cancelled())
            {
                self.resume_to_end(instance);
                return Ok(true);
            }
        }
        self.command(instance, Command::Cancel).map(|()| true)
    }

    /// An instance in full.
    fn look_at_all(&mut self, instance: InstanceId) -> Result<Look, Error> {
        let row = self.row(instance)?;
        let live = self.look(instance)?;
        Ok(Look {
            row,
            tree: tree(&live.definition.plan, &live.state),
            reasons: live.reasons(),
            variables: live.variables().map(|(name, it)| (Name::clone(name), it.clone())).collect(),
            definition: Arc::clone(&live.definition),
            state: live.state.clone(),
        })
    }

    /// A worker of this process has done a job.
    fn finish_job(&mut self, job: Address, outcome: Outcome) -> Result<(), Error> {
        let told = match outcome {
            Outcome::Done(variables) => self.complete(job, variables),
            Outcome::Failed { message, backoff } => {
                self.fail(job, JobFailure { backoff, ..JobFailure::new(&message) })
            }
            Outcome::Incident { message } => {
                self.fail(job, JobFailure { retries: Some(0), ..JobFailure::new(&message) })
            }
            Outcome::Error { code, message, variables } => {
                let code = Some(code.into());
                let raise = Command::Raise { wait: job.wait, code, message, variables };
                self.command(job.instance, raise)
            }
        };
        match told {
            Err(Error::Rejected(why @ Rejection::TooMuch { .. })) => {
                let failure = JobFailure::new(&format!("it brings too much: {why}"));
                self.fail(job, JobFailure { backoff: TOO_MUCH_BACKOFF, ..failure })
            }
            told => told,
        }
    }

    fn glance(&self) -> Glance {
        Glance {
            is_busy: self.is_busy(),
            seq: self.seq(),
            due: self.next_due(),
            restless: self.only_restless(),
            throttled: self.throttled(),
            waiting: self.starts.throttle.len(),
            watched: self.watched(),
        }
    }
}

/// What an instance is, in short.
fn describe(live: &Live) -> Description {
    Description {
        business_id: live.created.business_id.clone(),
        is_function: live.definition.is_function(),
        has_ended: live.has_ended(),
        status: live.status(),
    }
}

/// The variables of a function at its end, where it has succeeded.
fn result(live: &Live) -> Option<Assignments> {
    (live.status() == RunStatus::Succeeded).then(|| live.result())
}
