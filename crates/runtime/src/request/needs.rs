//! What requests and mails will have to know that only the store may have, so that it can be read in lots before they
//! are seen to.

use std::collections::BTreeSet;

use travertine_store::record::Letter;
use travertine_value::Name;

use super::{Request, Route};
use crate::{Address, InstanceId};

/// What will be asked of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Instances.
    pub instances: BTreeSet<InstanceId>,
    /// Which instances people call so.
    pub names: BTreeSet<Name>,
    /// Which instances these waits have called.
    pub calls: BTreeSet<Address>,
}

impl Needs {
    /// Takes note of what a request will need.
    pub fn note_request(&mut self, request: &Request) {
        match request.route() {
            Route::Instance(instance) => {
                self.instances.insert(instance);
            }
            Route::Keeper(_) | Route::Number(_) | Route::Any | Route::Each => {}
        }
        // Where several instances are asked, the way is that of the first.
        if let Request::Start(it) = request {
            self.names.extend(it.begin.business_id.clone());
        } else if let Request::FindRun(it) = request {
            self.names.insert(Name::clone(&it.name));
        } else if let Request::FindStuck(it) = request {
            self.calls.insert(it.caller);
        } else if let Request::MatchVariables(it) = request {
            self.instances.extend(it.candidates.iter().map(|(of, _)| of.instance));
        } else if let Request::LeaseAll(it) = request {
            self.instances.extend(it.jobs.iter().map(|job| job.instance));
        } else if let Request::HandBack(it) = request {
            self.instances.extend(it.jobs.iter().map(|(job, _)| job.instance));
        }
    }

    /// Takes note of what a mail will need.
    pub fn note_letter(&mut self, letter: &Letter) {
        match letter {
            Letter::Ended { to, .. }
            | Letter::NotCalled { to, .. }
            | Letter::CallFailed { to, .. }
            | Letter::Escalated { to, .. }
            | Letter::Deliver { to, .. }
            | Letter::Signal { to, .. }
            | Letter::Ring { to }
            | Letter::AskVariables { of: to, .. } => {
                self.instances.insert(to.instance);
            }
            Letter::Delivered { instance, .. } | Letter::Cancel { instance } => {
                self.instances.insert(*instance);
            }
            Letter::Uncall { from } => {
                self.calls.insert(*from);
            }
            Letter::Start { id, .. } => {
                self.names.insert(Name::clone(id));
            }
            Letter::Chained { letter, .. } => self.note_letter(letter),
            Letter::Call(_)
            | Letter::Subscribe(_)
            | Letter::Unsubscribe { .. }
            | Letter::Publish { .. }
            | Letter::Broadcast { .. }
            | Letter::Trigger { .. }
            | Letter::Bury { .. }
            | Letter::Variables { .. } => {}
        }
    }
}
