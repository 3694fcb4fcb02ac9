//! Races, explored: every order in which a few things can happen.
//!
//! A [`Scenario`] is a few functions and processes, and what a few actors ask of them. Three shards run
//! it on a store in memory, without threads. Whatever could come between two others is a [`Step`] of
//! its own: a request of an actor, a mail that arrives, work that is due, time that passes, an attempt
//! at an activity that begins or ends, a crash of everything. These steps are all the points at which an
//! interleaving can be forced: a shard has one writer, and what it does within one step nobody can
//! interrupt. [`explore`] takes every order of steps, [`replay`] forces a single one.
//!
//! After each step it is checked that nothing which has ended has changed and that no event was received
//! twice; at the end of each order, that no acknowledged event is lost, that nobody waits for something
//! that is there, that nobody is still known to wait who does not, and that reading the store again gives
//! the same shards. The scenario adds what must be true of it.
//!
//! Two orders that lead to the same state go on alike, so each state is left once; [`Explored`] counts
//! how many orders that stands for.

mod check;
mod world;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use travertine_func::{Failure, Functions};
use travertine_kernel::{Assignments, Plan};
use travertine_runtime::{Given, InstanceId, Message, Receipt, Settings};
use travertine_value::{Name, Value};

pub use world::{Step, World};

/// What is asked of whom.
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// The functions, all in their first version.
    pub functions: Functions,
    /// The processes.
    pub processes: Vec<(Name, Arc<Plan>)>,
    /// What each actor asks, one after the other.
    pub actors: Vec<Vec<Request>>,
    /// What comes of an attempt at an activity.
    pub outcome: fn(&Given) -> Result<Value, Failure>,
    /// How many times everything may crash.
    pub crashes: u32,
    /// What must be true when nothing is left to happen.
    pub check: fn(&mut World) -> Result<(), String>,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Scenario {
    /// One without anything in it, in which all instances end.
    pub fn new(name: &'static str, functions: Functions) -> Self {
        Self {
            name,
            functions,
            processes: Vec::new(),
            actors: Vec::new(),
            outcome: |given| Ok(format!("{} {}", given.job_type, given.number).into()),
            crashes: 1,
            check: |world| world.all_ended(),
        }
    }

    /// With one more actor.
    #[must_use]
    pub fn actor(mut self, asks: impl IntoIterator<Item = Request>) -> Self {
        self.actors.push(asks.into_iter().collect());
        self
    }

    /// With so many crashes at most.
    #[must_use]
    pub fn crashes(mut self, crashes: u32) -> Self {
        self.crashes = crashes;
        self
    }

    /// With this check at the end of each order.
    #[must_use]
    pub fn check(mut self, check: fn(&mut World) -> Result<(), String>) -> Self {
        self.check = check;
        self
    }
}

/// What an actor asks.
#[derive(Clone, Debug)]
pub enum Request {
    /// Starts something under an id.
    Start {
        /// What.
        definition: Name,
        /// Under which id.
        id: Name,
        /// With what.
        arguments: Assignments,
    },
    /// Sends a message. One with an id is sent again where the answer was lost.
    Send(Message),
    /// Asks a run to end.
    Cancel(Name),
    /// Changes what a run has in hand.
    Update {
        /// Which run.
        id: Name,
        /// What its code calls such changes.
        name: Name,
        /// What is given to it.
        input: Value,
        /// What its sender calls it, where it can be sent again.
        sent_as: Option<Name>,
    },
    /// Has a run stand still.
    Suspend(Name),
    /// Lets it go on.
    Resume(Name),
}

impl Request {
    /// Starts a function under an id.
    pub fn start(definition: &str, id: &str) -> Self {
        Self::Start { definition: definition.into(), id: id.into(), arguments: Vec::new() }
    }

    /// Whether asking twice is as good as asking once.
    fn can_be_repeated(&self) -> bool {
        match self {
            Self::Start { .. } | Self::Cancel(_) => true,
            Self::Send(message) => message.id.is_some(),
            Self::Update { sent_as, .. } => sent_as.is_some(),
            Self::Suspend(_) | Self::Resume(_) => false,
        }
    }
}

/// What an actor was told.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This is the instance, and whether it was there before.
    Started(InstanceId, bool),
    /// This became of the message.
    Sent(Receipt),
    /// Whether it was still running.
    Cancelled(bool),
    /// What the code says.
    Updated(Value),
    /// It is done.
    Done,
    /// It cannot be done.
    Refused(String),
}

/// What was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps from one to another.
    pub steps: u64,
    /// Orders of steps from the first state to a last one.
    pub orders: u128,
    /// The longest of them.
    pub longest: usize,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, orders, longest } = self;
        write!(f, "{orders} orders of up to {longest} steps: {states} states, {steps} ways on")
    }
}

/// Longer than any scenario takes.
const FOR_EVER: Duration = Duration::from_millis(1 << 50);

/// How shards behave while a scenario is explored.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// What they are called.
    pub name: &'static str,
    /// How the shards behave.
    pub settings: Settings,
    /// Whether rows are stored after each step, so that a crash reads them instead of the log.
    pub checkpoints: bool,
}

impl Conditions {
    /// All of them: everything in one batch and in memory; one entry a batch, so that others come between
    /// what a shard tells itself; nothing in memory that can be read again.
    pub fn all() -> [Self; 3] {
        // Longer than any scenario, which relies on it.
        let settings = Settings { known_for: FOR_EVER, ..Settings::default() };
        let small = Settings { batch_entries: 1, ..settings.clone() };
        let forgetful = Settings { instances_max: 0, snapshot_bytes: 0, ..settings.clone() };
        [
            Self { name: "plain", settings, checkpoints: false },
            Self { name: "small batches", settings: small, checkpoints: false },
            Self { name: "from rows", settings: forgetful, checkpoints: true },
        ]
    }
}

/// An order in which something went wrong.
#[derive(Clone, Debug)]
pub struct Broken {
    /// What went wrong.
    pub what: String,
    /// Under which conditions.
    pub conditions: &'static str,
    /// Which step was taken each time, of those possible.
    pub order: Vec<usize>,
    /// All that happened, line by line.
    pub trace: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, conditions, order, trace } = self;
        write!(f, "{}\n{what}\nconditions: {conditions}; order: {order:?}", trace.join("\n"))
    }
}

/// Takes every order of steps under all conditions.
pub fn explore(scenario: &Scenario) -> Result<Vec<(&'static str, Explored)>, Box<Broken>> {
    let each = |it: Conditions| Ok((it.name, explore_under(scenario, &it)?));
    Conditions::all().into_iter().map(each).collect()
}

/// Takes every order of steps.
pub fn explore_under(
    scenario: &Scenario,
    conditions: &Conditions,
) -> Result<Explored, Box<Broken>> {
    let broken = |order: &[usize], what: String| {
        let (again, trace) = replay(scenario, conditions, order);
        let what = again.err().unwrap_or(what);
        Box::new(Broken { what, conditions: conditions.name, order: order.to_vec(), trace })
    };
    let mut explored = Explored::default();
    // Each state, and where its steps lead to.
    let mut states: HashMap<u64, Vec<u64>> = HashMap::new();
    // What is left to try: where from, and the order that leads there.
    let mut left: Vec<(Option<u64>, Vec<usize>)> = vec![(None, Vec::new())];
    while let Some((mut from, mut order)) = left.pop() {
        let mut world = World::new(scenario, conditions);
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            world.take_all(&order)?;
            loop {
                world.check_step()?;
                let state = world.fingerprint()?;
                if let Some(from) = from {
                    explored.steps += 1;
                    states.entry(from).or_default().push(state);
                }
                if states.contains_key(&state) {
                    return Ok(());
                }
                states.insert(state, Vec::new());
                explored.longest = explored.longest.max(order.len());
                let steps = world.steps();
                if steps.is_empty() {
                    return world.check_rest();
                }
                for number in (1..steps.len()).rev() {
                    let mut other = order.clone();
                    other.push(number);
                    left.push((Some(state), other));
                }
                order.push(0);
                from = Some(state);
                world.take(&steps[0])?;
            }
        }));
        attempt.unwrap_or_else(|it| Err(panic_text(&*it))).map_err(|it| broken(&order, it))?;
    }
    explored.states = states.len() as u64;
    explored.orders = count_orders(&states);
    Ok(explored)
}

/// Takes steps in one order, and then the first that is possible until none is left. Tells all that has
/// happened, and what is wrong with it.
pub fn replay(
    scenario: &Scenario,
    conditions: &Conditions,
    order: &[usize],
) -> (Result<(), String>, Vec<String>) {
    let mut world = World::new(scenario, conditions);
    world.trace = Some(Vec::new());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        world.take_all(order)?;
        world.check_step()?;
        while let Some(step) = world.steps().into_iter().next() {
            world.take(&step)?;
            world.check_step()?;
        }
        world.check_rest()
    }));
    let outcome = outcome.unwrap_or_else(|it| Err(panic_text(&*it)));
    (outcome, world.trace.take().unwrap_or_default())
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a panic: {}", text.unwrap_or("without a text"))
}

/// How many ways lead from the first state to a last one. No step leads back.
fn count_orders(states: &HashMap<u64, Vec<u64>>) -> u128 {
    let mut incoming: BTreeMap<u64, usize> = states.keys().map(|it| (*it, 0)).collect();
    for to in states.values().flatten() {
        *incoming.get_mut(to).expect("every state is known") += 1;
    }
    let mut ways: BTreeMap<u64, u128> = BTreeMap::new();
    let mut ready: Vec<u64> =
        incoming.iter().filter(|(_, count)| **count == 0).map(|(it, _)| *it).collect();
    let (mut orders, mut visited) = (0_u128, 0);
    for first in &ready {
        ways.insert(*first, 1);
    }
    while let Some(state) = ready.pop() {
        visited += 1;
        let count = ways[&state];
        if states[&state].is_empty() {
            orders = orders.saturating_add(count);
        }
        for to in &states[&state] {
            let there = ways.entry(*to).or_default();
            *there = there.saturating_add(count);
            let left = incoming.get_mut(to).expect("every state is known");
            *left -= 1;
            if *left == 0 {
                ready.push(*to);
            }
        }
    }
    assert_eq!(visited, states.len(), "a step leads back to where it came from");
    orders
}
