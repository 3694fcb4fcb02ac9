//! Messages whose senders wait until their receivers have decided.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::{Correlated, Error, InstanceId};

/// Who is told what a receiver has decided.
pub(crate) type Teller = oneshot::Sender<Result<Option<Correlated>, Error>>;

/// Messages whose senders wait, by number. They are known in this process only: after a restart nobody waits.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    all: Mutex<BTreeMap<u64, State>>,
}

#[derive(Debug)]
enum State {
    /// Nothing is decided, and the sender has not come to wait.
    Expected,
    /// The sender waits.
    Waits(Teller),
    /// This instance has it, or nobody, and the sender has not come to hear it.
    Decided(Option<InstanceId>),
}

impl Awaited {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody will wait for what becomes of a message.
    pub(crate) fn expect(&self, number: u64) {
        self.lock().insert(number, State::Expected);
    }

    /// It is decided who has a message.
    pub(crate) fn decide(&self, number: u64, by: Option<InstanceId>) {
        let mut all = self.lock();
        match all.remove(&number) {
            // Nobody asks: it was decided before, or in another process.
            None => {}
            Some(State::Waits(teller)) => {
                drop(all);
                tell(teller, number, by);
            }
            Some(State::Expected | State::Decided(_)) => {
                all.insert(number, State::Decided(by));
            }
        }
    }

    /// Tells what becomes of a message, as soon as that is decided.
    pub(crate) fn wait(&self, number: u64, teller: Teller) {
        let mut all = self.lock();
        match all.remove(&number) {
            Some(State::Decided(by)) => {
                drop(all);
                tell(teller, number, by);
            }
            // Where it is not expected the engine has ended meanwhile, and the teller says so.
            None => {}
            Some(State::Expected | State::Waits(_)) => {
                all.insert(number, State::Waits(teller));
            }
        }
    }

    /// Nothing is decided any more: whoever waits is told so.
    pub(crate) fn close(&self) {
        self.lock().clear();
    }
}

fn tell(teller: Teller, message: u64, by: Option<InstanceId>) {
    let answer = by.map(|instance| Correlated { message, instance });
    // Whoever asked may not wait any more.
    let _: Result<(), Result<Option<Correlated>, Error>> = teller.send(Ok(answer));
}
