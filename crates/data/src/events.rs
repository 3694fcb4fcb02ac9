//! The events of an instance as data: what kind of event, and its fields. `docs/store.md` promises the names.

use travertine_kernel::{
    Assignments, Ending, Event, Failing, Failure, JournalEntry, NodeId, Plan, Post, Role, TokenId,
    WaitFor, plan::WorkKind,
};
use travertine_store::record::Record;
use travertine_value::{Name, Value, time::Timestamp};

use crate::{json, rows};

type Fields = Vec<(&'static str, Value)>;

/// What kind of event it is, and its fields.
pub fn of_event(plan: &Plan, event: &Event) -> (&'static str, Fields) {
    let name = |node: NodeId| Value::from(Name::clone(&plan.node(node).name));
    match event {
        Event::Started { at, .. } => ("started", vec![("at", at.to_string().into())]),
        Event::TokenCreated { token, node, scope, role, .. } => {
            let mut fields =
                vec![("token", id(*token)), ("to", name(*node)), ("scope", scope.map(id).into())];
            fields.extend(of_role(*role));
            ("token_created", fields)
        }
        Event::TokenMoved { token, to, .. } => {
            ("token_moved", vec![("token", id(*token)), ("to", name(*to))])
        }
        Event::TokenState { token, state } => {
            ("token_state", vec![("token", id(*token)), ("state", state.to_string().into())])
        }
        Event::TokenParked { token, .. } => ("token_parked", vec![("token", id(*token))]),
        Event::TokenCued { token, .. } => ("token_cued", vec![("token", id(*token))]),
        Event::TokenUncued { token } => ("token_uncued", vec![("token", id(*token))]),
        Event::TokenPromoted { token } => ("token_triggered", vec![("token", id(*token))]),
        Event::TokenRetired { token } => ("token_retired", vec![("token", id(*token))]),
        Event::TokenRecalled { token, scope } => {
            ("token_recalled", vec![("token", id(*token)), ("scope", id(*scope))])
        }
        Event::TokenGone { token, state } => {
            ("token_ended", vec![("token", id(*token)), ("state", state.to_string().into())])
        }
        Event::StatusSet { token, status } => {
            let status: Value = status
                .iter()
                .flat_map(|it| it.iter())
                .map(|(name, value)| (Name::clone(name), value.clone()))
                .collect();
            ("status_set", vec![("token", id(*token)), ("status", status)])
        }
        Event::LayerOpened { token, layer } => {
            ("layer_opened", vec![("token", id(*token)), ("layer", json::key(layer.0))])
        }
        Event::LayerClosed { token } => ("layer_closed", vec![("token", id(*token))]),
        Event::VariableSet { layer, name, value } => (
            "variable_set",
            vec![
                ("layer", json::key(layer.0)),
                ("name", Name::clone(name).into()),
                ("value", value.clone()),
            ],
        ),
        Event::VariableRemoved { layer, name } => (
            "variable_removed",
            vec![("layer", json::key(layer.0)), ("name", Name::clone(name).into())],
        ),
        Event::ScopeOpened { scope, kind, .. } => {
            ("scope_opened", vec![("scope", id(*scope)), ("of", kind.word().into())])
        }
        Event::ScopeFailing { scope, cause } => {
            let mut fields = vec![("scope", id(*scope))];
            if let Failing::Error(failure, _) = &**cause {
                fields.push(("failure", of_failure(failure)));
            }
            ("scope_failing", fields)
        }
        Event::ScopeClosed { scope } => ("scope_closed", vec![("scope", id(*scope))]),
        Event::StatusForgotten { scope } => ("status_forgotten", vec![("scope", id(*scope))]),
        Event::CompensationsMoved { from, to } => {
            ("compensations_moved", vec![("from", id(*from)), ("scope", id(*to))])
        }
        Event::CompensationQueued { scope, tokens } => {
            let tokens = tokens.iter().map(|it| id(*it)).collect();
            ("compensation_queued", vec![("scope", id(*scope)), ("tokens", tokens)])
        }
        Event::RoundChanged { flows, .. } => {
            ("round_changed", vec![("tokens", flows.len().into())])
        }
        Event::RunEnded { scope, index, output } => (
            "run_ended",
            vec![
                ("scope", id(*scope)),
                ("round", (*index).into()),
                ("output", output.clone().into()),
            ],
        ),
        Event::RunTerminated { scope, index } => {
            ("run_terminated", vec![("scope", id(*scope)), ("round", (*index).into())])
        }
        Event::BranchArrived { token } => ("branch_arrived", vec![("token", id(*token))]),
        Event::PerformerTaken { scope, token } => {
            ("performer_taken", vec![("token", id(*token)), ("scope", id(*scope))])
        }
        Event::PerformerAwaited { scope, token } => {
            ("performer_awaited", vec![("token", id(*token)), ("scope", id(*scope))])
        }
        Event::PerformerLeft { scope, token } => {
            ("performer_left", vec![("token", id(*token)), ("scope", id(*scope))])
        }
        Event::WaitOpened { wait, token, on, .. } => {
            let mut fields = vec![("wait", json::key(wait.0)), ("token", id(*token))];
            fields.extend(of_wait(on));
            ("wait_opened", fields)
        }
        Event::RetriesSet { wait, retries } => {
            ("retries_set", vec![("wait", json::key(wait.0)), ("retries", (*retries).into())])
        }
        Event::WorkFailed { wait, retries, message } => (
            "work_failed",
            vec![
                ("wait", json::key(wait.0)),
                ("retries", (*retries).into()),
                ("message", Name::clone(message).into()),
            ],
        ),
        Event::WaitClosed { wait } => ("wait_closed", vec![("wait", json::key(wait.0))]),
        Event::Posted { post, what } => {
            let mut fields = vec![("post", json::key(post.0))];
            fields.extend(of_post(what));
            ("posted", fields)
        }
        Event::PostDelivered { post } => ("post_delivered", vec![("post", json::key(post.0))]),
        Event::IncidentRaised { token, incident } => (
            "incident_raised",
            vec![("token", id(*token)), ("failure", of_failure(&incident.failure))],
        ),
        Event::IncidentResolved { token } => ("incident_resolved", vec![("token", id(*token))]),
        Event::TokenBound { token, to } => {
            let to = to.iter().map(|it| name(it.at)).collect();
            ("token_bound", vec![("token", id(*token)), ("to", to)])
        }
        Event::Migrated { .. } => ("plan_changed", Vec::new()),
        Event::FunctionBegan { token, at } => {
            ("function_began", vec![("token", id(*token)), ("at", at.to_string().into())])
        }
        Event::Journaled { entry } => of_entry(entry),
        Event::FunctionThought { token } => ("function_decided", vec![("token", id(*token))]),
        Event::UpdateAnswered { id, said } => {
            ("update_answered", vec![("id", Name::clone(id).into()), ("value", said.clone())])
        }
        Event::UpdateRefused { message } => {
            ("update_refused", vec![("message", message.as_str().into())])
        }
        Event::DecisionMade { token, decision, version } => (
            "decision_made",
            vec![
                ("token", id(*token)),
                ("decision", Name::clone(decision).into()),
                ("version", (*version).into()),
            ],
        ),
        Event::Finished { ending } => ("ended", of_ending(ending)),
    }
}

/// What kind of record of the instance it is, and its fields. Events are told one by one.
pub fn of_record(record: &Record) -> (&'static str, Fields) {
    let wait = |wait: &u64| ("wait", json::key(*wait));
    match record {
        Record::Happened(_) => ("events", Vec::new()),
        Record::Created(created) => {
            let caller = created.caller.map(|it| it.to_string());
            let id = ("business_id", created.business_id.clone().into());
            ("created", vec![id, ("caller", caller.into())])
        }
        Record::Suspended => ("suspended", Vec::new()),
        Record::Resumed => ("resumed", Vec::new()),
        Record::Halted(reason) => ("halted", vec![("reason", reason.as_str().into())]),
        Record::Released => ("released", Vec::new()),
        Record::Deferred(_) => ("deferred", Vec::new()),
        Record::Recalled => ("recalled", Vec::new()),
        Record::Leased { wait: at, worker, until } => (
            "leased",
            vec![
                wait(&at.0),
                ("worker", Name::clone(worker).into()),
                ("until", rows::time(*until)),
            ],
        ),
        Record::Paused { wait: at, until } => {
            let from = if *until > Timestamp::default() { rows::time(*until) } else { Value::Null };
            ("offered_again", vec![wait(&at.0), ("from", from)])
        }
        Record::TaskChanged { wait: at, .. } => ("task_changed", vec![wait(&at.0)]),
        Record::TimerMoved { wait: at, due } => {
            ("timer_moved", vec![wait(&at.0), ("due", rows::time(*due))])
        }
        Record::Migrated { .. } => ("migrated", Vec::new()),
        Record::Folded(folded) => {
            let mut fields = vec![("started", rows::time(folded.started))];
            fields.extend(of_ending(&folded.ending));
            fields.push(("variables", object(&folded.variables)));
            ("shortened", fields)
        }
        Record::Heard { name, .. } => ("message_heard", vec![("name", Name::clone(name).into())]),
        Record::Labelled(labels) => {
            let tags: Vec<Value> = labels.tags.iter().map(|it| Name::clone(it).into()).collect();
            ("labelled", vec![("tags", tags.into()), ("trace", labels.trace.clone().into())])
        }
        Record::EndsAfter { elements } => {
            let elements: Vec<Value> = elements.iter().map(|it| Name::clone(it).into()).collect();
            ("ends_after", vec![("elements", elements.into())])
        }
        Record::By { who } => ("by", vec![("who", Name::clone(who).into())]),
        Record::ByBatch { who, batch } => {
            ("by", vec![("who", Name::clone(who).into()), ("batch", json::key(batch.0))])
        }
        Record::BeganAs { definition } => {
            ("began_as", vec![("definition", Name::clone(definition).into())])
        }
        Record::Ended(folded) => ("ended", of_ending(&folded.ending)),
        // The rest is about shards.
        _ => ("other", Vec::new()),
    }
}

fn id(token: TokenId) -> Value {
    json::key(token.0)
}

fn object(variables: &Assignments) -> Value {
    variables.iter().cloned().collect()
}

fn of_role(role: Role) -> Fields {
    match role {
        Role::Flow => Vec::new(),
        Role::Run(round) => vec![("round", round.into())],
        Role::Branch(branch) => vec![("branch", branch.into())],
        Role::Guard(beside) => vec![("beside", id(beside))],
        Role::Start => vec![("role", "start".into())],
        Role::Compensation => vec![("role", "compensation".into())],
    }
}

/// What went wrong, as data.
pub fn of_failure(failure: &Failure) -> Value {
    json::object([
        ("kind", failure.kind.name().into()),
        ("code", failure.code.clone().into()),
        ("message", failure.message.as_str().into()),
        ("part", failure.place.as_ref().map(|it| it.part.name()).into()),
        ("element", failure.place.as_ref().map(|it| Name::clone(&it.element)).into()),
    ])
}

fn of_ending(ending: &Ending) -> Fields {
    match ending {
        Ending::Completed => vec![("outcome", "completed".into())],
        Ending::Failed(failure) => {
            vec![("outcome", "failed".into()), ("failure", of_failure(failure))]
        }
        Ending::Cancelled => vec![("outcome", "cancelled".into())],
    }
}

fn of_wait(on: &WaitFor) -> Fields {
    let name = |name: &Name| ("name", Value::from(Name::clone(name)));
    match on {
        WaitFor::Work(job) => {
            let word = match job.kind {
                WorkKind::User => "user_task",
                WorkKind::Job => "job",
            };
            vec![("for", word.into()), name(&job.job_type), ("retries", job.retries.into())]
        }
        WaitFor::Timer { due, .. } => {
            vec![("for", "timer".into()), ("due", due.to_string().into())]
        }
        WaitFor::Message { name: of, correlation } => {
            vec![("for", "message".into()), name(of), ("correlation", object(correlation))]
        }
        WaitFor::Signal { name: of } => vec![("for", "signal".into()), name(of)],
        WaitFor::Condition => vec![("for", "condition".into())],
        WaitFor::Delivery(_) => vec![("for", "delivery".into())],
        WaitFor::Child { definition, .. } => vec![("for", "call".into()), name(definition)],
        WaitFor::Gate(_) => vec![("for", "gate".into())],
        WaitFor::Choice => vec![("for", "decision".into())],
        WaitFor::Data { missing } => {
            let missing = missing.iter().map(|it| Value::from(Name::clone(it))).collect();
            vec![("for", "data".into()), ("missing", missing)]
        }
    }
}

fn of_post(post: &Post) -> Fields {
    let name = |name: &Name| ("name", Value::from(Name::clone(name)));
    match post {
        Post::Message { name: of, payload, .. } => {
            vec![("what", "message".into()), name(of), ("variables", object(payload))]
        }
        Post::Signal { name: of, payload } => {
            vec![("what", "signal".into()), name(of), ("variables", object(payload))]
        }
        Post::Escalation { code, variables } => vec![
            ("what", "escalation".into()),
            ("code", code.clone().into()),
            ("variables", object(variables)),
        ],
        Post::Start { definition, id, .. } => vec![
            ("what", "start".into()),
            ("definition", Name::clone(definition).into()),
            ("id", Name::clone(id).into()),
        ],
    }
}

fn of_entry(entry: &JournalEntry) -> (&'static str, Fields) {
    let operation = |number: u32| ("operation", Value::from(number));
    match entry {
        JournalEntry::Began { at } => ("journal_began", vec![("at", at.to_string().into())]),
        JournalEntry::Asked { key, input: _ } => {
            ("operation_asked", vec![("key", Name::clone(key).into())])
        }
        JournalEntry::Sent { key, input: _ } => {
            ("operation_sent", vec![("key", Name::clone(key).into())])
        }
        JournalEntry::Recorded { key, value } => {
            ("operation_recorded", vec![("key", Name::clone(key).into()), ("value", value.clone())])
        }
        JournalEntry::Done { operation: number, outcome: Ok(result), .. } => {
            ("operation_done", vec![operation(*number), ("variables", object(result))])
        }
        JournalEntry::Done { operation: number, outcome: Err(failure), .. } => {
            ("operation_failed", vec![operation(*number), ("failure", of_failure(failure))])
        }
        JournalEntry::Dropped { operation: number } => {
            ("operation_cancelled", vec![operation(*number)])
        }
        JournalEntry::Cancelled { .. } => ("cancellation_requested", Vec::new()),
        JournalEntry::Updated { name, input, id, .. } => (
            "update_requested",
            vec![
                ("name", Name::clone(name).into()),
                ("input", input.clone()),
                ("id", id.clone().into()),
            ],
        ),
    }
}
