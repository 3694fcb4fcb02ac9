//! What is answered *done* is done, what is answered *not done* never is, and the rest is one of both, at whatever
//! moment the process dies or is told to end.
//!
//! Each kind of request has its place in [`place`]: a step of the load ([`Client`]), which asks for something that can be
//! told from everything else in what is left, or a reason why there is none. The process says what it asks and what it
//! is answered; whoever listens ([`Drive`]) kills it, opens the store and counts ([`check()`]).

mod check;
mod ledger;
mod load;
mod models;

use std::{io, path::Path, path::PathBuf, process::Command, sync::Arc, time::Duration};

use travertine_kernel::Budgets;
use travertine_runtime::{
    Engine, Error, Settings,
    engine::{ManualClock, Options, Pace},
    request::Kind,
};

pub use check::check;
pub use ledger::{Asked, Fate, Ledger};
pub use load::{Client, load};

use super::{Kill, drive::listen};

/// Where a kind of request has its place.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Clients ask for it. Where it is told to be in vain, they ask for what cannot be done.
    Asked(fn(&mut Client, in_vain: bool)),
    /// Nobody asks for it here, for this reason.
    Exempt(&'static str),
}

const LOOKS: &str = "it only looks";
const IN_MEMORY: &str = "what it changes does not outlive the process";
const UNHEARD: &str = "the engine asks it of itself, and no program hears the answer";
const OF_MANY: &str = "programs ask it of all that there is, and no answer is about one";

/// Where each kind of request has its place.
pub fn place(kind: Kind) -> Place {
    use Place::{Asked, Exempt};
    match kind {
        Kind::Start => Asked(Client::start_named),
        Kind::Command => Asked(Client::command),
        Kind::CancelRun => Asked(Client::cancel_run),
        Kind::Suspend => Asked(Client::suspend),
        Kind::Resume => Asked(Client::resume),
        Kind::ReleaseHalted => Asked(Client::release),
        Kind::Retry => Asked(Client::retry),
        Kind::Resolve => Asked(Client::resolve),
        Kind::Set => Asked(Client::set),
        Kind::Migrate => Asked(Client::migrate),
        Kind::UpdateFunction => Asked(Client::update),
        Kind::TryPublish => Asked(Client::publish),
        Kind::FinishPublish => Asked(Client::publish_by_variables),
        Kind::Replay => Asked(Client::replay),
        Kind::Discard => Asked(Client::discard),
        Kind::Signal => Asked(Client::signal),
        Kind::EvaluateConditions => Asked(Client::evaluate_conditions),
        Kind::LeaseAll => Asked(Client::lease),
        Kind::HandBack => Asked(Client::hand_back),
        Kind::Complete => Asked(Client::complete),
        Kind::CompleteWork => Asked(Client::complete_work),
        Kind::Fail => Asked(Client::fail),
        Kind::ThrowError => Asked(Client::throw_error),
        Kind::UpdateJob => Asked(Client::update_job),
        Kind::Extend => Asked(Client::extend),
        Kind::ClaimTask => Asked(Client::claim),
        Kind::ChangeTask => Asked(Client::change_task),
        Kind::MoveTimer => Asked(Client::move_timer),
        Kind::FireTimer => Asked(Client::fire_timer),
        Kind::Retire => Asked(Client::delete),
        // Shards hear both whenever something is deployed or removed.
        Kind::Adopt => Asked(Client::deploy),
        Kind::Expect => Asked(Client::undeploy),
        Kind::FindVisit
        | Kind::TryMigration
        | Kind::Await
        | Kind::Describe
        | Kind::Look
        | Kind::Rows
        | Kind::Why
        | Kind::Result
        | Kind::FindRun
        | Kind::QueryFunction
        | Kind::TryCode
        | Kind::FindStuck
        | Kind::CalledIsStuck
        | Kind::MatchVariables
        | Kind::Verify
        | Kind::Barrier
        | Kind::Glance
        | Kind::IsInMemory => Exempt(LOOKS),
        Kind::Lease | Kind::PutBack | Kind::BeginAttempt | Kind::Follow => Exempt(IN_MEMORY),
        Kind::AttemptBegins
        | Kind::Heartbeat
        | Kind::EndAttempt
        | Kind::FinishJob
        | Kind::ExpirePast => Exempt(UNHEARD),
        Kind::Unblock | Kind::Fold => Exempt(OF_MANY),
        Kind::Mend | Kind::Flush => {
            Exempt("it brings rows up to what the log says, whenever it is asked")
        }
        Kind::Publish => {
            Exempt("only whoever drives a shard by itself asks it; engines ask to try")
        }
    }
}

/// Opens the engine under test: shards that send each other mails, little memory, and little room for requests.
fn open(dir: &Path, clock: &Arc<ManualClock>) -> Result<Engine, Error> {
    let options = Options {
        shards: 3,
        clock: Arc::clone(clock) as Arc<_>,
        pace: Pace { changed: 40, interval: Duration::from_millis(20), ..Pace::default() },
        requests_max: 2,
        settings: Settings {
            instances_max: 30,
            snapshot_bytes: 1_000,
            // What goes round in circles is halted soon.
            turns_max: 3,
            budgets: Budgets { turn_events: 200, ..Budgets::default() },
            ..Settings::default()
        },
        functions: models::functions(),
        ..Options::default()
    };
    Engine::open_with(dir, options)
}

/// A store, and the processes that worked on it.
#[derive(Debug)]
pub struct Drive {
    process: PathBuf,
    dir: PathBuf,
    seed: u64,
    rounds: u64,
    /// How many bytes each instance carries.
    pub body: u64,
    /// What the processes have said.
    pub ledger: Ledger,
}

/// How a process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It is killed.
    Kill(Kill),
    /// It closes the store in order once so many requests were made, while others are under way.
    Close(u64),
}

impl Drive {
    /// With this program as the process under load, on a store in this directory.
    pub fn new(process: &Path, dir: &Path, seed: u64) -> Self {
        let (process, dir) = (process.to_owned(), dir.to_owned());
        Self { process, dir, seed, rounds: 0, body: 10, ledger: Ledger::default() }
    }

    /// Starts a process that ends so. Says whether it came to the point at which it should end.
    pub fn end(&mut self, end: &End) -> io::Result<bool> {
        self.rounds += 1;
        let (close_after, lines_max) = match end {
            End::Close(asks) => (*asks, u64::MAX),
            End::Kill(Kill::After(lines) | Kill::At(_, _, lines)) => (u64::MAX, *lines),
        };
        let mut command = Command::new(&self.process);
        command.arg("asks").arg(&self.dir);
        let numbers = [self.seed, self.first(), close_after, self.body];
        command.args(numbers.map(|it| it.to_string()));
        if let End::Kill(Kill::At(point, nth, _)) = end {
            command.env("TRAVERTINE_CRASH", format!("{point}:{nth}"));
        }
        let ledger = &mut self.ledger;
        let heard = listen(&mut command, lines_max, |line| ledger.hear(line))?;
        let as_told = match end {
            End::Close(_) => heard.status.success(),
            End::Kill(_) => heard.by_signal(),
        };
        if !as_told {
            self.ledger.wrong.push(format!("the process has ended by itself: {}", heard.status));
        }
        Ok(!heard.was_killed)
    }

    /// The first number that the process uses, and the time at which it runs.
    fn first(&self) -> u64 {
        self.rounds * 1_000_000
    }

    /// Opens the store and says what is wrong with it.
    pub fn check(&self) -> Vec<String> {
        check(&self.dir, self.first(), &self.ledger).unwrap_or_else(|error| vec![error.to_string()])
    }
}
