//! The scribe of a turn, by which alone an instance changes.

use std::ops::Deref;

use crate::{
    budget::weight_of_event,
    state::{Instance, apply, check},
    vocabulary::Event,
};

/// An instance during a turn. It can be read; it changes by events alone, and none is forgotten.
#[derive(Debug)]
pub(crate) struct Scribe<'a> {
    instance: &'a mut Instance,
    events: Vec<Event>,
    written: usize,
}

impl Deref for Scribe<'_> {
    type Target = Instance;

    #[inline]
    fn deref(&self) -> &Instance {
        self.instance
    }
}

impl<'a> Scribe<'a> {
    /// `room` is where the events go.
    pub(crate) fn new(instance: &'a mut Instance, room: Vec<Event>) -> Self {
        debug_assert!(room.is_empty(), "a turn begins without events");
        Self { instance, events: room, written: 0 }
    }

    /// Makes an event true, and keeps it.
    pub(crate) fn emit(&mut self, event: Event) {
        apply(self.instance, &event);
        // It looks at the whole instance, so it is for builds that are not for speed.
        if cfg!(debug_assertions) {
            check(self.instance);
        }
        self.written += weight_of_event(&event);
        self.events.push(event);
    }

    /// What has happened in this turn.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many bytes of values have been written in it.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    pub(crate) fn into_events(self) -> Vec<Event> {
        self.events
    }
}
