//! A running instance goes on by another plan.
//!
//! [`dry_run`] says what would become of each token and everything that stands against it;
//! [`migrate`] does it, or changes nothing. First what has no place any more is withdrawn by the old
//! plan: boundary events, events behind gateways, pending starts. Then one event,
//! [`Event::Migrated`], gives every place its number in the new plan; `apply` needs no plan for it,
//! and everything in the log behind it is about the new one. Then what is new is armed, and waits
//! whose definition has changed are opened anew.

mod map;
mod same;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use travertine_value::{Name, time::Timestamp};

use self::map::Map;
use crate::{
    plan::{Element, FlowId, NodeId, Plan},
    rules::{NoRules, Rules},
    run::{Run, Turn},
    state::{Cue, Instance, InstanceState, Role, State},
    vocabulary::{Event, Failure, Slot, TokenId, WaitFor},
};

/// Which element of the new plan each element of the old one becomes, by id. Flows can be named too.
/// What is not named becomes what has the same id.
///
/// ```
/// # use travertine_kernel::Mapping;
/// let mapping: Mapping = [("pack".into(), "pack-and-send".into())].into();
/// assert_eq!(&*mapping["pack"], "pack-and-send");
/// ```
pub type Mapping = BTreeMap<Name, Name>;

/// What a migration does, and what stands against it.
///
/// ```
/// # use travertine_kernel::Migration;
/// fn show(migration: &Migration) {
///     migration.changes.iter().for_each(|it| println!("{it}"));
///     migration.problems.iter().for_each(|it| println!("but {it}"));
/// }
/// show(&Migration::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    /// What becomes of tokens, in the order of tokens.
    pub changes: Vec<Change>,
    /// Why it cannot be done. It can where there is none.
    pub problems: Vec<Problem>,
}

/// What becomes of a token.
///
/// ```
/// # use travertine_kernel::{Change, Fate, TokenId};
/// let moved = Change { token: TokenId(3), element: "pack".into(), fate: Fate::Moved("send".into()) };
/// assert_eq!(moved.to_string(), "token 3 goes from pack to send");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The token. For what is armed: whose boundary event, gateway or scope it is.
    pub token: TokenId,
    /// The id of its element in the old plan.
    pub element: Name,
    /// What becomes of it.
    pub fate: Fate,
}

/// What can become of a token.
///
/// ```
/// # use travertine_kernel::Fate;
/// fn goes_on_as_before(fate: &Fate) -> bool {
///     matches!(fate, Fate::Kept | Fate::Moved(_))
/// }
/// assert!(!goes_on_as_before(&Fate::Disarmed));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays at the element of the same id.
    Kept,
    /// It is at the element of this id from now on.
    Moved(Name),
    /// What it waits for is defined differently, and is waited for anew, from now on.
    Renewed(&'static str),
    /// This event is new: it is waited for beside it or in it.
    Armed(Name),
    /// Its event is not there any more, and is not waited for.
    Disarmed,
}

/// Why an instance cannot go on by another plan.
///
/// ```
/// # use travertine_kernel::Problem;
/// let problem = Problem::NotInNew("send".into());
/// assert_eq!(problem.to_string(), "the mapping leads to send, which the new process has not");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It has not been started, or has ended.
    NotRunning,
    /// Its last turn was used up: it must go on first.
    Unfinished,
    /// The status attributes of tokens are others.
    Status,
    /// The mapping names something that the old plan has not.
    NotInOld(Name),
    /// The mapping names something that the new plan has not.
    NotInNew(Name),
    /// A token is at an element that the new plan has not.
    NoSuchElement {
        /// The token.
        token: TokenId,
        /// Its element.
        element: Name,
    },
    /// The element is of another kind.
    OtherKind {
        /// The token.
        token: TokenId,
        /// Its element.
        element: Name,
        /// What that becomes.
        to: Name,
    },
    /// The element lies in another container.
    OtherParent {
        /// The token.
        token: TokenId,
        /// Its element.
        element: Name,
        /// What that becomes.
        to: Name,
    },
    /// The activity is under way, and runs several times in one plan and not so in the other.
    OtherRepeat {
        /// The token.
        token: TokenId,
        /// Its element.
        element: Name,
    },
    /// A token waits at a join and came by a flow that the new plan has not.
    NoSuchFlow {
        /// The token.
        token: TokenId,
        /// The flow.
        flow: Name,
    },
    /// Two events that are waited for become one.
    Twice {
        /// The token of the second one.
        token: TokenId,
        /// The one they become.
        element: Name,
    },
    /// None of the events is left that a token waits for.
    NothingLeft {
        /// The token.
        token: TokenId,
        /// Its element.
        element: Name,
    },
    /// What a token shall wait for cannot be worked out.
    CannotArm {
        /// The token.
        token: TokenId,
        /// The element that is waited at.
        element: Name,
        /// Why.
        failure: Failure,
    },
}

/// What [`migrate`] would do. Nothing changes.
pub fn dry_run(
    old: &Plan,
    new: &Plan,
    instance: &Instance,
    now: Timestamp,
    mapping: &Mapping,
) -> Migration {
    dry_run_with(old, new, &NoRules, instance, now, mapping)
}

/// What [`migrate_with`] would do. Nothing changes.
pub fn dry_run_with(
    old: &Plan,
    new: &Plan,
    rules: &dyn Rules,
    instance: &Instance,
    now: Timestamp,
    mapping: &Mapping,
) -> Migration {
    let mut copy = instance.clone();
    attempt(old, new, rules, &mut copy, now, mapping).0
}

/// Lets an instance that ran by `old` go on by `new`. The answer's events, from
/// [`Event::Migrated`] on, and all later ones are about `new`.
///
/// Where anything stands against it, nothing changes.
pub fn migrate(
    old: &Plan,
    new: &Plan,
    instance: &mut Instance,
    now: Timestamp,
    mapping: &Mapping,
) -> Result<Turn, Vec<Problem>> {
    migrate_with(old, new, &NoRules, instance, now, mapping)
}

/// Migrates an instance as [`migrate`] does, where business rule tasks can make the decisions of `rules`.
pub fn migrate_with(
    old: &Plan,
    new: &Plan,
    rules: &dyn Rules,
    instance: &mut Instance,
    now: Timestamp,
    mapping: &Mapping,
) -> Result<Turn, Vec<Problem>> {
    let mut copy = instance.clone();
    let (migration, turn) = attempt(old, new, rules, &mut copy, now, mapping);
    match turn {
        Some(turn) if migration.problems.is_empty() => {
            *instance = copy;
            Ok(turn)
        }
        Some(_) | None => Err(migration.problems),
    }
}

fn attempt(
    old: &Plan,
    new: &Plan,
    rules: &dyn Rules,
    instance: &mut Instance,
    now: Timestamp,
    mapping: &Mapping,
) -> (Migration, Option<Turn>) {
    let Map { nodes, flows, counting, gone, stale, fresh, changes, problems, .. } =
        Map::of(old, new, instance, mapping);
    let mut migration = Migration { changes, problems };
    if !migration.problems.is_empty() {
        return (migration, None);
    }
    let mut run = Run::new(old, rules, instance, now, Vec::new());
    for token in gone {
        run.withdraw(token, State::Withdrawn);
    }
    run.plan = new;
    let (nodes, flows) = (nodes.into_iter().collect(), flows.into_iter().collect());
    run.emit(Event::Migrated { nodes, flows, counting });
    for (token, from) in stale {
        run.renew(token, old.node(from), &mut migration);
    }
    for (host, event) in fresh {
        run.arm_new(host, event, &mut migration);
    }
    run.fire_full_joins();
    run.weigh_all_data();
    let turn = run.finish();
    migration.changes.sort_by_key(|it| it.token);
    (migration, Some(turn))
}

impl Run<'_> {
    /// Waits anew for what is defined differently.
    fn renew(&mut self, token: TokenId, old: &crate::plan::Node, migration: &mut Migration) {
        let node = self.node_of(token);
        let element = Name::clone(&old.name);
        let own: Vec<_> = self.instance.token(token).waits.keys().copied().collect();
        for wait in own {
            if let Slot::Own(_) = self.instance.waits[&wait].slot {
                self.emit(Event::WaitClosed { wait });
            }
        }
        // What failed too often is something else now.
        if self.instance.incidents.get(&token).is_some_and(|it| it.redo == Cue::Offer) {
            self.emit(Event::IncidentResolved { token });
            self.emit(Event::TokenUncued { token });
        }
        let what = if let Element::Work(_) = node.element {
            "work"
        } else if let Element::Send(_) = node.element {
            "message"
        } else {
            "event"
        };
        // Boundary events and starts are not entered, only armed.
        let outcome = if let Element::Boundary(_) | Element::Start(_) = node.element {
            self.open_triggers(token, node.element.triggers())
        } else {
            self.enter_element(token, node).map(|_| ())
        };
        match outcome {
            Ok(()) => {
                migration.changes.push(Change { token, element, fate: Fate::Renewed(what) });
            }
            Err(failure) => {
                migration.problems.push(Problem::CannotArm { token, element, failure });
            }
        }
    }

    /// Waits for an event that is new: beside the host, behind it, or in its scope.
    fn arm_new(&mut self, host: TokenId, event: NodeId, migration: &mut Migration) {
        let name = self.plan.name(event);
        let outcome = if let Element::EventSubProcess(_) = self.plan.node(event).element {
            self.arm_event_sub_process(host, event)
        } else {
            let guard = self.guard(host, event);
            self.open_triggers(guard, self.plan.node(event).element.triggers())
        };
        match outcome {
            Ok(()) => {
                let element = self.plan.name(self.instance.token(host).node);
                let fate = Fate::Armed(name);
                migration.changes.push(Change { token: host, element, fate });
            }
            Err(failure) => {
                migration.problems.push(Problem::CannotArm { token: host, element: name, failure });
            }
        }
    }

    /// Lets tokens begin that need no data any more, or other data.
    fn weigh_all_data(&mut self) {
        let waits = self.instance.waits.iter();
        let waits: Vec<_> = waits
            .filter(|(_, it)| matches!(*it.on, WaitFor::Data { .. }))
            .map(|(id, it)| (*id, it.clone()))
            .collect();
        for (id, wait) in waits {
            self.weigh_data(id, &wait);
        }
    }

    /// Lets parallel joins go on that have lost the flows they still waited for.
    fn fire_full_joins(&mut self) {
        let mut ready = Vec::new();
        for scope in self.instance.scopes.values() {
            for (at, join) in &scope.joins {
                let node = self.plan.node(*at);
                if !matches!(node.element, Element::Parallel) {
                    continue;
                }
                let full = |flow: &FlowId| join.get(flow).map_or(0, VecDeque::len);
                let rounds = node.incoming.iter().map(full).min().unwrap_or(0);
                ready.extend(join.values().next().into_iter().flatten().take(rounds).copied());
            }
        }
        for token in ready {
            self.emit(Event::TokenCued { token, cue: Cue::Arrive });
        }
    }
}

impl InstanceState {
    /// Whether the boundary events of the activity that a token is in are armed, or would be if
    /// there were any.
    fn is_watched(&self, id: TokenId) -> bool {
        let token = self.token(id);
        let at_work = |state: State| matches!(state, State::Busy | State::Completed);
        let runs = self.scopes.get(&id).filter(|it| it.kind.has_runs());
        let of_runs = runs.is_some_and(|scope| {
            scope.watched || scope.live.iter().any(|it| at_work(self.token(*it).state))
        });
        match token.role {
            Role::Run(_) | Role::Guard(_) | Role::Start => false,
            Role::Flow | Role::Branch(_) => of_runs || runs.is_none() && at_work(token.state),
            Role::Compensation => self.is_live(id) && (of_runs || at_work(token.state)),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token: TokenId(token), element, fate } = self;
        match fate {
            Fate::Kept => write!(f, "token {token} stays at {element}"),
            Fate::Moved(to) => write!(f, "token {token} goes from {element} to {to}"),
            Fate::Renewed(what) => {
                write!(
                    f,
                    "token {token} at {element} waits anew: its {what} is defined differently"
                )
            }
            Fate::Armed(event) => write!(f, "token {token} at {element}: {event} is armed"),
            Fate::Disarmed => write!(f, "token {token}: {element} is not there any more"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("the instance is not running"),
            Self::Unfinished => {
                f.write_str("the instance has not come to rest: let it go on first")
            }
            Self::Status => f.write_str("the status attributes of the two processes differ"),
            Self::NotInOld(name) => write!(f, "the mapping names {name}, which is not there"),
            Self::NotInNew(name) => {
                write!(f, "the mapping leads to {name}, which the new process has not")
            }
            Self::NoSuchElement { token, element } => {
                let token = token.0;
                write!(f, "token {token} is at {element}, which the new process has not: map it")
            }
            Self::OtherKind { token, element, to } => {
                let token = token.0;
                write!(
                    f,
                    "token {token} is at {element}, and {to} is something else: move it first"
                )
            }
            Self::OtherParent { token, element, to } => write!(
                f,
                "token {} is at {element}, and {to} lies in another scope: move it first",
                token.0
            ),
            Self::OtherRepeat { token, element } => write!(
                f,
                "token {} is at {element}, which runs several times in another way: let it end first",
                token.0
            ),
            Self::NoSuchFlow { token, flow } => write!(
                f,
                "token {} waits for others and came by {flow}, which the new process has not: map it",
                token.0
            ),
            Self::Twice { token, element } => {
                write!(f, "token {}: another event becomes {element} too", token.0)
            }
            Self::NothingLeft { token, element } => {
                write!(f, "token {} at {element} would have nothing left to wait for", token.0)
            }
            Self::CannotArm { token, element, failure } => {
                write!(f, "token {}: {element} cannot be waited at: {failure}", token.0)
            }
        }
    }
}
