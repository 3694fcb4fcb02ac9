//! What happens, for people: a line for each thing.
//!
//! Commands begin with `>`, effects with `!`, events with the thing they are about. Nodes have the
//! ids of the model; tokens, waits and scopes have the numbers of their instance.

use std::{fmt::Write as _, sync::Arc};

use travertine_kernel::{
    Assignments, Command, Cue, Decision, Effect, Ending, Event, Failure, Gate, JournalEntry,
    Modification, NodeId, Plan, Post, Reach, Role, Slot, WaitFor, Which,
    plan::{Element, Node},
};
use travertine_value::{Name, Value};

/// One command with what came of it, line by line.
pub fn trace(plan: &Plan, command: &Command, events: &[Event], effects: &[Effect]) -> String {
    let mut text = format!("> {}\n", of_command(plan, command));
    for event in events {
        text.push_str(&of_event(plan, event));
        text.push('\n');
    }
    for effect in effects {
        writeln!(text, "! {}", of_effect(effect)).expect("a string takes every text");
    }
    text
}

/// A command in a line.
pub fn of_command(plan: &Plan, command: &Command) -> String {
    match command {
        Command::Start { at, variables, .. } if at.is_empty() => {
            format!("start{}", with(variables))
        }
        Command::Start { at, variables, .. } => {
            let at: Vec<&str> = at.iter().map(|it| node(plan, *it)).collect();
            format!("start at {}{}", at.join(" and "), with(variables))
        }
        Command::Complete { wait, variables } => format!("complete {}{}", wait.0, with(variables)),
        Command::Raise { wait, code, variables, .. } => {
            let code = code.as_deref().unwrap_or("without a code");
            format!("raise error {code} at {}{}", wait.0, with(variables))
        }
        Command::Escalate { wait, code, variables } => {
            let code = code.as_deref().unwrap_or("without a code");
            format!("raise escalation {code} at {}{}", wait.0, with(variables))
        }
        Command::Fail { wait, retries, message, variables } => {
            format!("fail {}, {retries} retries left: {message}{}", wait.0, with(variables))
        }
        Command::NotGiven { wait, failure } => format!("keep {} from workers: {failure}", wait.0),
        Command::SetRetries { wait, retries } => format!("give {} {retries} retries", wait.0),
        Command::Modify { steps } => {
            let steps: Vec<String> = steps.iter().map(|it| of_step(plan, it)).collect();
            format!("modify: {}", steps.join(", "))
        }
        Command::Set { token, variables, reach } => {
            let at = token.map_or_else(String::new, |it| format!(" at token {}", it.0));
            let reach = match reach {
                Reach::Layer => "",
                Reach::Propagate => " or above",
                Reach::Local => " alone",
            };
            format!("set{at}{reach}{}", with(variables))
        }
        Command::Retry { token } => format!("retry token {}", token.0),
        Command::Delivered { post } => format!("delivered {}", post.0),
        Command::Continue => "continue".to_owned(),
        Command::Cancel => "cancel".to_owned(),
        Command::Decide { decisions, answers: _ } => {
            let decisions: Vec<String> = decisions.iter().map(of_decision).collect();
            format!("decide: {}", decisions.join(", "))
        }
        Command::NotCalled { wait, failure } => format!("wait {}: not called: {failure}", wait.0),
        Command::Block { failure } => format!("block: {failure}"),
        Command::Update { name, input, id: _ } => format!("update {name} {input}"),
        Command::RefuseUpdate { message } => format!("refuse update: {message}"),
    }
}

pub(crate) fn of_decision(decision: &Decision) -> String {
    match decision {
        Decision::Ask { key, .. } | Decision::Record { key, .. } | Decision::Post { key, .. } => {
            key.to_string()
        }
        Decision::Drop { operation } => format!("call off operation {operation}"),
        Decision::Complete { variables } => format!("complete{}", with(variables)),
        Decision::Fail(failure) => {
            format!("fail: {}", travertine_func::Failure::of_kernel(failure))
        }
        Decision::Cancel => "cancel".to_owned(),
        Decision::ContinueAs { definition, variables } => {
            format!("continue as {definition}{}", with(variables))
        }
    }
}

fn of_step(plan: &Plan, step: &Modification) -> String {
    let which = |which: &Which| match which {
        Which::Token(token) => format!("token {}", token.0),
        Which::At(at) => format!("all at {}", node(plan, *at)),
        Which::Visit(visit) => format!("who is on visit {visit}"),
    };
    match step {
        Modification::Withdraw(it) => format!("withdraw {}", which(it)),
        Modification::Add { to, scope: None } => format!("add before {}", node(plan, to.at)),
        Modification::Add { to, scope: Some(scope) } => {
            format!("add before {} in scope {}", node(plan, to.at), scope.0)
        }
        Modification::AddWithin { to, visit } => {
            format!("add before {} within visit {visit}", node(plan, to.at))
        }
        Modification::Move { which: it, to } => {
            format!("move {} before {}", which(it), node(plan, to.at))
        }
    }
}

/// An effect in a line.
pub fn of_effect(effect: &Effect) -> String {
    match effect {
        Effect::Arm(wait, on) => format!("arm {}: {}", wait.0, of_wait(on)),
        Effect::Disarm(wait) => format!("disarm {}", wait.0),
        Effect::Send(post, what) => format!("send {}: {}", post.0, of_post(what)),
    }
}

/// An event in a line.
pub fn of_event(plan: &Plan, event: &Event) -> String {
    match event {
        Event::Started { .. } => "started".to_owned(),
        Event::TokenCreated { token, node: at, role, .. } => {
            format!("token {} at {}{}", token.0, node(plan, *at), of_role(*role))
        }
        Event::TokenMoved { token, to, .. } => format!("token {} to {}", token.0, node(plan, *to)),
        Event::TokenState { token, state } | Event::TokenGone { token, state } => {
            format!("token {} {}", token.0, state)
        }
        Event::TokenParked { token, .. } => format!("token {} waits for others", token.0),
        Event::TokenCued { token, cue } => {
            let what = match cue {
                Cue::Arrive => "is to arrive",
                Cue::Enter => "may be entered",
                Cue::Spawn => "opens its runs",
                Cue::Childless => "has nobody left inside",
                Cue::Complete => "is to complete",
                Cue::Exit => "may leave",
                Cue::Throw => "throws when all others rest",
                Cue::Offer => "offers its work again",
                Cue::Listen(..) => "goes on with its listeners",
                Cue::Think => "thinks again",
            };
            format!("token {} {what}", token.0)
        }
        Event::TokenUncued { token } => format!("token {} rests", token.0),
        Event::TokenPromoted { token } => format!("token {} is triggered", token.0),
        Event::TokenRetired { token } => format!("token {} stays for compensation", token.0),
        Event::TokenRecalled { token, scope } => {
            format!("token {} is recalled in scope {}", token.0, scope.0)
        }
        Event::StatusSet { token, status } => {
            let all = status.iter().flat_map(|it| it.iter());
            let all: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
            format!("token {} status {}", token.0, all.join(" "))
        }
        Event::LayerOpened { token, layer } => format!("layer {} of token {}", layer.0, token.0),
        Event::LayerClosed { token } => format!("layer of token {} closed", token.0),
        Event::VariableSet { layer, name, value } => format!("layer {}: {name} = {value}", layer.0),
        Event::VariableRemoved { layer, name } => format!("layer {}: {name} removed", layer.0),
        Event::ScopeOpened { scope, node: at, kind, .. } => {
            format!("scope {}: {} {}", scope.0, kind.word(), node(plan, *at))
        }
        Event::ScopeFailing { scope, .. } => format!("scope {} failing", scope.0),
        Event::ScopeClosed { scope } => format!("scope {} closed", scope.0),
        Event::StatusForgotten { scope } => {
            format!("scope {} forgets the status of what is done", scope.0)
        }
        Event::CompensationsMoved { from, to } => {
            format!("compensations of scope {} to scope {}", from.0, to.0)
        }
        Event::CompensationQueued { scope, tokens } => {
            let tokens: Vec<String> = tokens.iter().map(|it| it.0.to_string()).collect();
            format!("scope {} will recall {}", scope.0, tokens.join(" "))
        }
        Event::RoundChanged { node: at, flows, .. } => {
            format!("{} has had {} tokens of its round", node(plan, *at), flows.len())
        }
        Event::RunEnded { scope, index, output } => {
            let output = output.as_ref().map_or_else(String::new, |it| format!(": {it}"));
            format!("scope {} run {index} ended{output}", scope.0)
        }
        Event::RunTerminated { scope, index } => {
            format!("scope {} run {index} terminated", scope.0)
        }
        Event::BranchArrived { token } => format!("token {} is at the fan-in", token.0),
        Event::PerformerTaken { scope, token } => {
            format!("performer {} takes token {}", scope.0, token.0)
        }
        Event::PerformerAwaited { scope, token } => {
            format!("token {} waits for performer {}", token.0, scope.0)
        }
        Event::PerformerLeft { scope, token } => {
            format!("performer {} leaves token {}", scope.0, token.0)
        }
        Event::WaitOpened { wait, token, slot, on } => {
            let what = match slot {
                Slot::Own(_) | Slot::Operation(_) => "",
                Slot::Gate(_) => "the ",
                Slot::Listener(..) => "listener ",
            };
            format!("wait {}: token {} for {what}{}", wait.0, token.0, of_wait(on))
        }
        Event::WorkFailed { wait, retries, message } => {
            let tries = if *retries == 1 { "retry" } else { "retries" };
            format!("wait {} failed, {retries} {tries} left: {message}", wait.0)
        }
        Event::RetriesSet { wait, retries } => format!("wait {}: {retries} retries left", wait.0),
        Event::WaitClosed { wait } => format!("wait {} closed", wait.0),
        Event::Posted { post, what } => format!("post {}: {}", post.0, of_post(what)),
        Event::PostDelivered { post } => format!("post {} delivered", post.0),
        Event::IncidentRaised { token, incident } => {
            format!("incident at token {}: {}", token.0, incident.failure)
        }
        Event::IncidentResolved { token } => format!("incident at token {} resolved", token.0),
        Event::TokenBound { token, to } => {
            let to: Vec<&str> = to.iter().map(|it| node(plan, it.at)).collect();
            format!("token {} goes to {}", token.0, to.join(" and "))
        }
        Event::Migrated { .. } => "goes on by another plan".to_owned(),
        Event::FunctionBegan { token, .. } => format!("token {} begins its function", token.0),
        Event::Journaled { entry } => of_entry(entry, &[]),
        Event::FunctionThought { token } => format!("token {} has thought", token.0),
        Event::UpdateRefused { message } => format!("refused: {message}"),
        Event::UpdateAnswered { id, said } => format!("update {id} is answered {said}"),
        Event::DecisionMade { token, decision, version } => {
            format!("token {} made decision {decision} version {version}", token.0)
        }
        Event::Finished { ending } => match ending {
            Ending::Completed => "finished".to_owned(),
            Ending::Failed(failure) => format!("failed: {}", of_failure(plan, failure)),
            Ending::Cancelled => "cancelled".to_owned(),
        },
    }
}

/// How an instance has failed. A function says its code too: nothing else of what people see tells it.
pub fn of_failure(plan: &Plan, failure: &Failure) -> String {
    let is_code = |it: &Node| matches!(it.element, Element::Function);
    if plan.nodes.get(1).is_some_and(is_code) {
        travertine_func::Failure::of_kernel(failure).to_string()
    } else {
        failure.to_string()
    }
}

/// The journal of a function, a line for each entry, with operations by the names that its code has
/// for them.
pub fn of_journal(entries: &[Arc<JournalEntry>]) -> Vec<String> {
    let keys: Vec<Name> = entries.iter().filter_map(|it| it.key()).map(Name::clone).collect();
    entries.iter().map(|it| of_entry(it, &keys)).collect()
}

/// One thing that a function has asked for or been told. What its code calls its operations, by their
/// numbers, is known as far as `keys` goes.
pub fn of_entry(entry: &JournalEntry, keys: &[Name]) -> String {
    let name = |operation: u32| {
        let key = keys.get(operation as usize);
        key.map_or_else(|| format!("operation {operation}"), ToString::to_string)
    };
    match entry {
        JournalEntry::Began { .. } => "began".to_owned(),
        JournalEntry::Asked { key, input: _ } => format!("asks for {key}"),
        JournalEntry::Recorded { key, value: Value::Null }
        | JournalEntry::Sent { key, input: _ } => key.to_string(),
        JournalEntry::Recorded { key, value } => format!("{key} = {value}"),
        JournalEntry::Done { operation, outcome: Ok(result), .. } => {
            format!("{} done{}", name(*operation), with(result))
        }
        JournalEntry::Done { operation, outcome: Err(failure), .. } => {
            format!("{} failed: {failure}", name(*operation))
        }
        JournalEntry::Dropped { operation } => format!("{} called off", name(*operation)),
        JournalEntry::Cancelled { .. } => "is to end".to_owned(),
        JournalEntry::Updated { name, input, id: None, .. } => format!("update {name} {input}"),
        JournalEntry::Updated { name, input, id: Some(id), .. } => {
            format!("update {id}: {name} {input}")
        }
    }
}

/// What a token waits for, in a few words.
pub fn of_wait(on: &WaitFor) -> String {
    match on {
        WaitFor::Work(job) => format!("work {}", job.job_type),
        WaitFor::Timer { due, .. } => format!("timer {due}"),
        WaitFor::Message { name, correlation } => format!("message {name}{}", with(correlation)),
        WaitFor::Signal { name } => format!("signal {name}"),
        WaitFor::Condition => "condition".to_owned(),
        WaitFor::Delivery(post) => format!("delivery of {}", of_post(post)),
        WaitFor::Child { definition, .. } => format!("child {definition}"),
        WaitFor::Gate(Gate::Ready) => "ready gate".to_owned(),
        WaitFor::Gate(Gate::Entry) => "entry gate".to_owned(),
        WaitFor::Gate(Gate::Exit) => "exit gate".to_owned(),
        WaitFor::Gate(Gate::Data) => "data gate".to_owned(),
        WaitFor::Choice => "choice".to_owned(),
        WaitFor::Data { missing } => format!("data {}", missing.join(" ")),
    }
}

fn of_post(post: &Post) -> String {
    match post {
        Post::Message { name, .. } => format!("message {name}"),
        Post::Signal { name, .. } => format!("signal {name}"),
        Post::Escalation { code, .. } => {
            format!("escalation {}", code.as_deref().unwrap_or_default())
        }
        Post::Start { definition, id, .. } => format!("start of {definition} as {id}"),
    }
}

fn of_role(role: Role) -> String {
    match role {
        Role::Flow => String::new(),
        Role::Run(index) => format!(" run {index}"),
        Role::Branch(index) => format!(" branch {index}"),
        Role::Guard(of) => format!(" beside token {}", of.0),
        Role::Start => " to be triggered".to_owned(),
        Role::Compensation => " for compensation".to_owned(),
    }
}

fn node(plan: &Plan, id: NodeId) -> &str {
    &plan.node(id).name
}

fn with(variables: &Assignments) -> String {
    let all: Vec<String> =
        variables.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use travertine_kernel::{PostId, WaitId};

    #[test]
    fn effects_are_told_by_what_the_world_does() {
        let signal = || Arc::new(WaitFor::Signal { name: "go".into() });
        let message =
            || Post::Message { name: "paid".into(), correlation: Vec::new(), payload: Vec::new() };
        let all = [
            Effect::Arm(WaitId(2), signal()),
            Effect::Disarm(WaitId(3)),
            Effect::Send(PostId(4), Arc::new(message())),
        ];
        let all = all.map(|it| of_effect(&it));
        assert_eq!(all, ["arm 2: signal go", "disarm 3", "send 4: message paid"]);
        let delivery = WaitFor::Delivery(message());
        assert_eq!(of_wait(&delivery), "delivery of message paid");
    }
}
