//! Listeners: jobs and scripts that are called around what a node does.
//!
//! A listener that is a job holds the token until it is done; its place in the list is in the slot of
//! its wait, so that the token goes on with the next one. Scripts are run on the way. What was called
//! before a job is not called again when something after that job fails and is tried once more.

use std::sync::Arc;

use travertine_value::{Name, Value};

use crate::{
    plan::{Listener, Moment, Write},
    run::Run,
    state::{Cue, State},
    vocabulary::{Assignments, Event, Failure, Part, Slot, TokenId, WaitFor},
};

impl Run<'_> {
    /// Calls the listeners of the token's node, from a position on. Answers whether all have been called;
    /// otherwise the token waits for a job.
    pub(crate) fn call_listeners(
        &mut self,
        token: TokenId,
        moment: Moment,
        from: u16,
    ) -> Result<bool, Failure> {
        let listeners = self.node_of(token).listeners(moment);
        for (position, listener) in (0..).zip(listeners).skip(usize::from(from)) {
            match listener {
                Listener::Script(program) => {
                    let outcome =
                        self.run_script(token, program).map_err(self.at(token, Part::Listener))?;
                    for (name, value) in outcome.writes {
                        self.take_heard(token, moment, name, value);
                    }
                }
                Listener::Work(work) => {
                    let job = self.job(token, work).map_err(self.at(token, Part::Listener))?;
                    self.rest_for(token, moment);
                    self.open(token, Slot::Listener(moment, position), WaitFor::Work(job));
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The job of a listener is done.
    pub(crate) fn answered(
        &mut self,
        token: TokenId,
        moment: Moment,
        position: u16,
        variables: Assignments,
    ) -> Result<(), Failure> {
        for (name, value) in variables {
            self.take_heard(token, moment, name, Some(value));
        }
        self.listen_again(token, moment, position + 1)
    }

    /// Goes on with the listeners in a later turn.
    pub(crate) fn listen_again(
        &mut self,
        token: TokenId,
        moment: Moment,
        from: u16,
    ) -> Result<(), Failure> {
        self.entered = Some((token, self.instance.token(token).status.clone()));
        self.listen(token, moment, from)
    }

    /// What to try again when the listener after this one cannot be called.
    pub(crate) fn cue_after(moment: Moment, position: u16) -> Cue {
        Cue::Listen(moment, position + 1)
    }

    fn rest_for(&mut self, token: TokenId, moment: Moment) {
        let state = self.instance.token(token).state;
        let next = match moment {
            Moment::BeforeAll | Moment::Start => State::Ready,
            Moment::Completion | Moment::End => State::Completed,
        };
        if state != next && state.leads_to(next) {
            self.emit(Event::TokenState { token, state: next });
        }
    }

    /// What a listener wrote: at first it is the activity's own, at last it is for the world around.
    /// Where writes find their layer themselves, they always do.
    fn take_heard(&mut self, token: TokenId, moment: Moment, name: Name, value: Option<Value>) {
        if self.is_status(&name) {
            self.keep_status(token, name, value.unwrap_or_default());
            return;
        }
        match moment {
            Moment::BeforeAll | Moment::Start => {
                if self.plan.policy.write == (Write::Propagate { mapped: true }) {
                    let layer = self.instance.token(token).layer;
                    self.write(layer, name, value);
                } else {
                    let own = self.own_layer(token);
                    self.set(own, Arc::clone(&name), value);
                }
            }
            Moment::Completion => self.take_result(token, name, value),
            Moment::End => {
                let base = self.base_layer(token);
                self.write(base, name, value);
            }
        }
    }
}
