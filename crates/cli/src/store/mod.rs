//! The commands on a store: each opens it, does one thing, and closes it again.
//!
//! `desk` opens it and knows the way out of what can go wrong; `rows` says what rows look like, for
//! people in a `grid` and as data. What is left is one function for each command.

mod act;
mod batch;
mod care;
mod deploy;
mod desk;
pub(crate) mod grid;
mod history;
mod list;
mod migrate;
mod modify;
mod patience;
mod rows;
mod schedule;
mod show;
mod start;
mod tail;
mod work;
mod worker;

use anyhow::Result;

use crate::{
    args::{
        batch::BatchAct,
        schedule::ScheduleAct,
        store::{Command, DeadLetterAct, Shared, TimerAct},
    },
    control::{self, Served},
    screen::Screen,
    status::Status,
};
pub(crate) use desk::{Desk, Front, Full, Store, Told, explain, open, open_to_look, serve};
pub(crate) use patience::patiently;
pub(crate) use work::work_for;

/// Does what a command on a store asks for: here, on an engine that is open already for others, or by asking the
/// process that has the store.
pub(crate) fn run(
    command: &Command,
    served: Option<&Served>,
    out: &Screen,
    err: &Screen,
) -> Result<Status> {
    match command {
        // It waits for the store itself, once it hears Ctrl-C.
        Command::Work(it) => work::work(it, out, err),
        _ if served.is_some() => perform(command, Front { served, out, err }),
        _ => patiently(|| {
            if let Some(place) = command.place_to_share()
                && let Some(status) = control::ask(&place.data, out, err)?
            {
                return Ok(status);
            }
            perform(command, Front { served, out, err })
        }),
    }
}

fn perform(command: &Command, front: Front<'_>) -> Result<Status> {
    let at = |shared: &Shared, act: &dyn Fn(&Desk<'_>) -> Result<Status>| {
        front.at(&shared.place, Store::Known, shared.json, act)
    };
    let look = |shared: &Shared, act: &dyn Fn(&Desk<'_>) -> Result<Status>| {
        front.look_at(&shared.place, shared.json, act)
    };
    // An operator reaches an instance before whatever is due: it may be what must be stopped.
    let operate = |shared: &Shared, act: &dyn Fn(&Desk<'_>) -> Result<Status>| {
        front.at_rest(&shared.place, shared.json, act)
    };
    // What ends and forgets instances must work on a full disk, too.
    let make_room = |options, shared: &Shared, act: &dyn Fn(&Desk<'_>) -> Result<Status>| {
        front.make_room_at(&shared.place, options, shared.json, act)
    };
    match command {
        Command::Deploy(it) => deploy::deploy(it, front),
        Command::Definitions(it) => look(&it.shared, &|desk| deploy::definitions(it, desk)),
        Command::Undeploy(it) => operate(&it.shared, &|desk| deploy::undeploy(it, desk)),
        Command::Start(it) => start::start(it, front),
        Command::Instances(it) => look(&it.shared, &|desk| list::instances(it, desk)),
        Command::Show(it) => look(&it.shared, &|desk| show::show(it, desk)),
        Command::History(it) => look(&it.shared, &|desk| history::history(it, desk)),
        Command::Jobs(it) => look(&it.shared, &|desk| list::jobs(it, desk)),
        Command::Tasks(it) => look(&it.shared, &|desk| list::tasks(it, desk)),
        Command::Complete(it) => at(&it.shared, &|desk| act::complete(it, desk)),
        Command::Fail(it) => at(&it.shared, &|desk| act::fail(it, desk)),
        Command::Claim(it) => operate(&it.shared, &|desk| act::claim(it, desk)),
        Command::Unclaim(it) => operate(&it.shared, &|desk| act::unclaim(it, desk)),
        Command::Retries(it) => operate(&it.shared, &|desk| act::retries(it, desk)),
        Command::Message(it) => at(&it.shared, &|desk| act::message(it, desk)),
        Command::Messages(it) => look(&it.shared, &|desk| list::messages(it, desk)),
        Command::DeadLetters(it) => match &it.act {
            None => look(&it.list.shared, &|desk| list::dead_letters(&it.list, desk)),
            Some(DeadLetterAct::List(list)) => {
                look(&list.shared, &|desk| list::dead_letters(list, desk))
            }
            Some(DeadLetterAct::Replay(it)) => at(&it.shared, &|desk| act::replay(it, desk)),
            Some(DeadLetterAct::Discard(it)) => operate(&it.shared, &|desk| act::discard(it, desk)),
        },
        Command::Signal(it) => at(&it.shared, &|desk| act::signal(it, desk)),
        Command::Conditions(it) => at(&it.shared, &|desk| act::conditions(it, desk)),
        Command::Subscriptions(it) => look(&it.shared, &|desk| list::subscriptions(it, desk)),
        Command::Set(it) => operate(&it.shared, &|desk| act::set(it, desk)),
        Command::Timers(it) => match &it.act {
            None => look(&it.list.shared, &|desk| list::timers(&it.list, desk)),
            Some(TimerAct::List(list)) => look(&list.shared, &|desk| list::timers(list, desk)),
            Some(TimerAct::Move { timer, to, shared }) => {
                operate(shared, &|desk| act::move_timer(*timer, to, desk))
            }
            Some(TimerAct::Fire { timer, shared }) => {
                operate(shared, &|desk| act::fire_timer(*timer, desk))
            }
        },
        Command::Schedules(it) => match &it.act {
            None => look(&it.list.shared, &schedule::list),
            Some(ScheduleAct::List(list)) => look(&list.shared, &schedule::list),
            Some(ScheduleAct::Add(it)) => at(&it.shared, &|desk| schedule::add(it, desk)),
            Some(ScheduleAct::Pause(it)) => at(&it.shared, &|desk| schedule::pause(it, desk)),
            Some(ScheduleAct::Resume(it)) => at(&it.shared, &|desk| schedule::resume(it, desk)),
            Some(ScheduleAct::Trigger(it)) => at(&it.shared, &|desk| schedule::trigger(it, desk)),
            Some(ScheduleAct::Remove(it)) => at(&it.shared, &|desk| schedule::remove(it, desk)),
        },
        Command::Batches(it) => match &it.act {
            None => look(&it.list.shared, &batch::list),
            Some(BatchAct::List(list)) => look(&list.shared, &batch::list),
            Some(BatchAct::Begin(it)) => at(&it.shared, &|desk| batch::begin(it, desk)),
            Some(BatchAct::Show(it)) => look(&it.shared, &|desk| batch::show(it, desk)),
            Some(BatchAct::Pause(it)) => operate(&it.shared, &|desk| batch::pause(it, desk)),
            Some(BatchAct::Resume(it)) => at(&it.shared, &|desk| batch::resume(it, desk)),
            Some(BatchAct::Cancel(it)) => operate(&it.shared, &|desk| batch::cancel(it, desk)),
            Some(BatchAct::Forget(it)) => operate(&it.shared, &|desk| batch::forget(it, desk)),
        },
        Command::Incidents(it) => look(&it.shared, &|desk| list::incidents(it, desk)),
        Command::Resolve(it) => operate(&it.shared, &|desk| act::resolve(it, desk)),
        Command::Suspend(it) => operate(&it.several.shared, &|desk| {
            act::each(&it.several.instances, desk, |id| desk.engine.suspend(id).wait())
        }),
        Command::Resume(it) => operate(&it.several.shared, &|desk| {
            act::each(&it.several.instances, desk, |id| desk.engine.resume(id).wait())
        }),
        Command::Cancel(it) => make_room(desk::resting(), &it.several.shared, &|desk| {
            act::each(&it.several.instances, desk, |id| desk.engine.cancel(id).wait())
        }),
        Command::Delete(it) => make_room(desk::resting(), &it.several.shared, &|desk| {
            act::delete(&it.several.instances, desk)
        }),
        Command::Modify(it) => operate(&it.shared, &|desk| modify::modify(it, desk)),
        Command::Migrate(it) => operate(&it.shared, &|desk| migrate::migrate(it, desk)),
        Command::Tail(it) => look(&it.shared, &|desk| tail::tail(it, desk)),
        Command::Work(it) => work::work(it, front.out, front.err),
        Command::Stats(it) => look(&it.shared, &care::stats),
        Command::Compact(it) => {
            make_room(desk::known(), &it.shared, &|desk| care::compact(it, desk))
        }
        Command::Verify(it) => {
            if it.accept_loss {
                care::accept_loss(&it.shared.place.data, front.err)?;
            }
            look(&it.shared, &care::verify)
        }
        Command::Backup(it) => care::backup(it, front.out),
    }
}
