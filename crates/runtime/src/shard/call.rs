//! Instances that other instances have called.

use travertine_func as func;
use travertine_kernel::{
    Assignments, Catches, Command, Ending, Failure, FailureKind, Over, WaitId,
};
use travertine_store::{
    ShardId,
    record::{Call, Created, Letter},
    search::{Condition, InstanceColumn, Search, Test, Value},
    view::{InstanceState, Table},
};
use travertine_value::Name;

use super::{Live, Shard, guard::Heard};
use crate::{Address, Error, InstanceId, is_own};

impl Shard {
    /// The shard on which a call is started. A plain call of a process stays with its caller; the runs
    /// of a multi-instance activity, and what functions call, are spread.
    pub(super) fn place_of_run(&self, run: u32) -> ShardId {
        ShardId::of(u64::from(self.id().0) + u64::from(run), self.env.shards)
    }

    /// An instance calls a definition.
    pub(super) fn call(
        &mut self,
        live: &Live,
        wait: WaitId,
        definition: &Name,
        binding: Option<&str>,
        variables: &Assignments,
        catches: &Catches,
    ) {
        let from = live.address(wait);
        let definitions = self.env.newest();
        // What is the engine's own, nobody but the engine starts.
        let bound = definitions.bound(definition, binding, &live.definition);
        let Some(definition) = bound.filter(|it| !is_own(&it.id)) else {
            let failure = Failure::of(missing(definition, binding));
            self.outbox.enqueue(Letter::CallFailed { to: from, failure });
            return;
        };
        let call = Call {
            from,
            definition: definition.key,
            variables: variables.clone(),
            catches: catches.clone(),
            root: live.root(),
            depth: live.created.depth + 1,
        };
        let run = live.calls.get(&wait).copied().unwrap_or(0);
        let generation = live.generation;
        self.outbox.send_chained(self.place_of_run(run), Letter::Call(call), generation);
    }

    /// Another instance calls.
    pub(super) fn called_by(&mut self, call: Call) {
        match self.admits(call.definition) {
            Ok(true) => {}
            Ok(false) => return self.start_later(call.definition, Letter::Call(call)),
            Err(error) => {
                let (to, failure) = (call.from, not_created(&error));
                return self.send(self.shard_of(to.instance), Letter::CallFailed { to, failure });
            }
        }
        let Call { from, definition, variables, catches, root, depth } = call;
        let outcome = if depth > self.env.settings.call_depth_max {
            let max = self.env.settings.call_depth_max;
            let message = format!("more than {max} calls within one another");
            Err(Failure::new(FailureKind::Depth, message))
        } else if let Some(max) = self.too_many_descendants(root, depth) {
            let message = format!(
                "more than {max} instances are open below instance {root}: cancel it, or retry when some have \
                 ended"
            );
            let over = Over::Descendants(usize::try_from(max).unwrap_or(usize::MAX));
            Err(Failure::new(FailureKind::Budget(Some(over)), message))
        } else {
            let created =
                Created { definition, business_id: None, caller: Some(from), root, depth };
            let start = Command::Start { at: Vec::new(), variables, caller: Some(catches) };
            // What it sends is sent for its caller, whose chain the letter has brought.
            self.create(created, start).map_err(|error| not_created(&error))
        };
        if let Err(failure) = outcome {
            self.send(self.shard_of(from.instance), Letter::CallFailed { to: from, failure });
        }
    }

    /// How many instances may be open below `root`, where that is exceeded.
    fn too_many_descendants(&self, root: InstanceId, depth: u32) -> Option<u32> {
        let max = self.env.settings.descendants_max;
        let stored = || self.stored_descendants(root).unwrap_or(0);
        (depth > 1 && self.env.board.descendants.of(root, stored) > max).then_some(max)
    }

    /// How many called instances run below `root` that others have called, as rows have it.
    fn stored_descendants(&self, root: InstanceId) -> Result<u32, Error> {
        let is = |column: InstanceColumn, test| Condition::of(column, test);
        let below = Search::of(Table::Instances)
            .with(is(InstanceColumn::Root, Test::eq(root)))
            .with(is(InstanceColumn::Parent, Test::Neq(Value::from(root))))
            .with(is(InstanceColumn::State, Test::any_of([InstanceState::Running])));
        let counts = self.env.store.tally(&below, &[InstanceColumn::State.into()])?;
        let count: u64 = counts.iter().map(|it| it.count).sum();
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// What an instance called cannot be started.
    pub(super) fn call_failed(&mut self, to: Address, failure: Failure) {
        let letter = Letter::CallFailed { to, failure: failure.clone() };
        self.handle_or_defer(to.instance, &letter, |shard, live| {
            let command = unanswered(live, to.wait, func::Failure::NOT_STARTED, failure);
            shard.turn(live, command)
        });
    }

    /// What an instance called has ended.
    pub(super) fn child_ended(
        &mut self,
        to: Address,
        child: InstanceId,
        ending: Ending,
        variables: Assignments,
    ) {
        let wait = to.wait;
        let letter =
            Letter::Ended { to, child, ending: ending.clone(), variables: variables.clone() };
        let heard = self.handle_or_defer(to.instance, &letter, |shard, live| {
            let command = match ending {
                Ending::Completed => Command::Complete { wait, variables },
                Ending::Failed(failure) => {
                    Command::Raise { wait, code: failure.code, message: failure.message, variables }
                }
                Ending::Cancelled => {
                    let message = format!("the called instance {child} was cancelled");
                    let failure = Failure::new(FailureKind::Call, message);
                    unanswered(live, wait, func::Failure::CANCELLED, failure)
                }
            };
            // There is nobody left to call off.
            let was_open = live.calls.remove(&wait).is_some();
            let told = shard.turn(live, command);
            if was_open && live.created.depth > 0 {
                shard.env.board.descendants.change(live.root(), 1, 0);
            }
            told
        });
        if let Heard::TooMuch(why) = heard {
            let message = format!("the called instance {child} brings too much: {why}");
            self.call_failed(to, Failure::new(FailureKind::Call, message));
        }
    }

    /// What an instance called has raised an escalation.
    pub(super) fn escalated(
        &mut self,
        to: Address,
        code: Option<Name>,
        variables: Assignments,
        confirm: Box<Letter>,
    ) {
        let letter = Letter::Escalated {
            to,
            code: code.clone(),
            variables: variables.clone(),
            confirm: confirm.clone(),
        };
        let command = Command::Escalate { wait: to.wait, code, variables };
        let heard =
            self.handle_or_defer(to.instance, &letter, |shard, live| shard.turn(live, command));
        if let Heard::TooMuch(why) = heard {
            let message = format!("an escalation of the called instance is too much: {why}");
            self.call_failed(to, Failure::new(FailureKind::Call, message));
        }
        let child = if let Letter::Signal { to, .. } = *confirm {
            to.instance
        } else if let Letter::Delivered { instance, .. } = *confirm {
            instance
        } else {
            return;
        };
        self.send(self.shard_of(child), *confirm);
    }

    /// A caller needs its call no more.
    pub(super) fn uncalled(&mut self, from: Address) {
        if let Some(queued) = self.starts.throttle.call_off(from) {
            self.outbox.take(queued.mail);
        } else if let Some(child) = self.child(from) {
            self.cancelled(child);
        }
    }

    /// The instance that a call has started, where it may still run.
    pub(super) fn child(&self, from: Address) -> Option<InstanceId> {
        if let Some(child) = self.instances.started_by(from) {
            return Some(child);
        }
        let found = self.env.called(from).map_err(Error::from);
        match found.and_then(|it| it.map_or(Ok(None), |id| self.row_of(id))) {
            Ok(row) => row.filter(|(it, _)| it.ended.is_none()).map(|(it, _)| InstanceId(it.id)),
            Err(error) => {
                tracing::error!(%error, "cannot look for what was called");
                if let Error::Store(error) = error {
                    self.env.fail(&error);
                }
                None
            }
        }
    }
}

/// How a caller hears that nothing will come: a function by a code, a process by an incident.
fn unanswered(live: &Live, wait: WaitId, code: &str, failure: Failure) -> Command {
    if live.definition.is_function() {
        let (code, message) = (Some(code.into()), failure.message);
        return Command::Raise { wait, code, message, variables: Vec::new() };
    }
    Command::NotCalled { wait, failure: Box::new(failure) }
}

/// What an incident says where something that is to be called or started is not deployed.
pub(super) fn missing(definition: &Name, binding: Option<&str>) -> FailureKind {
    let version = binding.map(|it| it.rsplit_once(':').map_or(it, |(_, it)| it).into());
    FailureKind::MissingDefinition { definition: Name::clone(definition), version }
}

/// What the caller is told where an instance cannot be created.
fn not_created(error: &Error) -> Failure {
    let kind = match error {
        Error::NoSuchDefinition(id) => {
            FailureKind::MissingDefinition { definition: Name::clone(id), version: None }
        }
        _ => FailureKind::Call,
    };
    Failure::new(kind, error.to_string())
}
