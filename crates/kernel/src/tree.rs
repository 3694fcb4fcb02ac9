//! The context tree of an instance, for people.

use std::{fmt, sync::Arc};

use travertine_value::Name;

use crate::{
    plan::{Element, EventSubProcess, Plan},
    state::{Instance, ROOT, Role, Scope, ScopeKind, State},
    vocabulary::TokenId,
};

/// A token, and the scope it hosts with the tokens in it.
///
/// ```
/// # use travertine_kernel::Branch;
/// fn show(branch: &Branch, depth: usize) {
///     println!("{:depth$}{} at {}", "", branch.state, branch.node);
///     branch.inside.iter().for_each(|it| show(it, depth + 2));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The token.
    pub token: TokenId,
    /// The node it stands at.
    pub node: Name,
    /// How far it is with it.
    pub state: State,
    /// What it is there for.
    pub role: Role,
    /// What it hosts, in one word; `None` where it hosts nothing.
    pub hosts: Option<&'static str>,
    /// How far a multi-instance activity, a batch or a fan-out is.
    pub progress: Option<String>,
    /// The tokens inside, oldest first: those that are waited for, then those that stay for
    /// compensation.
    pub inside: Vec<Self>,
}

/// The context tree of a running instance; `None` before its start and after its end.
pub fn tree(plan: &Plan, instance: &Instance) -> Option<Branch> {
    instance.tokens.contains_key(&ROOT).then(|| branch(plan, instance, ROOT))
}

/// How a token is called by people: the instance's own id, then each node on the way to it, with the
/// number of its run where it is one of several: `order-7^review#2`. Event sub-processes that do not
/// interrupt are numbered by their tokens.
pub fn address(plan: &Plan, instance: &Instance, id: &str, token: TokenId) -> String {
    let mut steps = Vec::new();
    let mut at = token;
    while let Some(it) = instance.tokens.get(&at) {
        let Some(scope) = it.scope else { break };
        let name = &plan.node(it.node).name;
        // The main token of runs has the same node as they.
        let is_main = plan.node(it.node).repeat.is_some() && !steps.is_empty();
        if let Role::Run(index) = it.role {
            steps.push(format!("{name}#{index}"));
        } else if let Element::EventSubProcess(EventSubProcess { interrupting: false, .. }) =
            plan.node(it.node).element
        {
            // Several of them can run at once.
            steps.push(format!("{name}#{}", at.0));
        } else if !is_main {
            steps.push(name.to_string());
        }
        at = scope;
    }
    steps.push(id.to_owned());
    steps.reverse();
    steps.join("^")
}

fn branch(plan: &Plan, instance: &Instance, id: TokenId) -> Branch {
    let token = instance.token(id);
    let scope = instance.scopes.get(&id);
    let inside = scope.iter().flat_map(|it| it.live.iter().chain(&it.compensations));
    Branch {
        token: id,
        node: Arc::clone(&plan.node(token.node).name),
        state: token.state,
        role: token.role,
        hosts: scope.map(|it| it.kind.word()),
        progress: scope.and_then(|it| progress(it)),
        inside: inside.map(|it| branch(plan, instance, *it)).collect(),
    }
}

pub(crate) fn progress(scope: &Scope) -> Option<String> {
    match &scope.kind {
        ScopeKind::Each(each) => {
            let open = each.begun - each.ended();
            Some(format!("{} of {} done, {open} open", each.completed, each.total))
        }
        ScopeKind::Loop { runs } => Some(format!("run {runs}")),
        ScopeKind::FanOut(fan) => Some(format!("{} of {} arrived", fan.arrived.len(), fan.count)),
        ScopeKind::Process
        | ScopeKind::SubProcess
        | ScopeKind::EventSubProcess
        | ScopeKind::Transaction
        | ScopeKind::AdHoc
        | ScopeKind::Gosub
        | ScopeKind::Compensation => None,
    }
}

impl Branch {
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        write!(f, "{:indent$}", "")?;
        if let Some(kind) = self.hosts {
            write!(f, "{kind} ")?;
        }
        write!(f, "{}", self.node)?;
        match self.role {
            Role::Run(index) => write!(f, "#{index}")?,
            Role::Branch(index) => write!(f, " (branch {index})")?,
            Role::Compensation => write!(f, " (compensation)")?,
            Role::Flow | Role::Guard(_) | Role::Start => {}
        }
        write!(f, " [{} {}]", self.token.0, self.state)?;
        if let Some(progress) = &self.progress {
            write!(f, " {progress}")?;
        }
        writeln!(f)?;
        self.inside.iter().try_for_each(|it| it.write(f, indent + 2))
    }
}

/// One line a token, indented by scope.
impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Arrived => "arrived",
            Self::Ready => "ready",
            Self::Entered => "entered",
            Self::Busy => "busy",
            Self::Completed => "completed",
            Self::Exiting => "exiting",
            Self::Departed => "departed",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failing => "failing",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        })
    }
}

impl ScopeKind {
    /// What people call it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::SubProcess => "sub-process",
            Self::EventSubProcess => "event sub-process",
            Self::Transaction => "transaction",
            Self::AdHoc => "ad-hoc sub-process",
            Self::Each(each) if each.batch_size.is_some() => "batch",
            Self::Each(_) => "multi-instance",
            Self::Loop { .. } => "loop",
            Self::FanOut(_) => "fan-out",
            Self::Gosub => "gosub",
            Self::Compensation => "compensation",
        }
    }
}
