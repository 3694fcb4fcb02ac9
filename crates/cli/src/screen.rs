//! Where a command writes.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use clap::ColorChoice;

use crate::paint::Paint;

/// Where a command writes. Shared by whoever drives a run and whoever watches it.
///
/// Writing never fails in the middle of something: the first fault is kept, what comes after it is
/// dropped, and [`Screen::finish`] tells.
#[derive(Clone)]
pub(crate) struct Screen {
    to: Arc<Mutex<To>>,
    pub(crate) paint: Paint,
}

struct To {
    writer: Box<dyn Write + Send>,
    fault: Option<io::Error>,
    begun: bool,
}

impl Screen {
    pub(crate) fn stdout(color: ColorChoice) -> Self {
        let out = io::stdout();
        let paint = Paint::new(color, out.is_terminal());
        Self::new(Box::new(out), paint)
    }

    pub(crate) fn stderr(color: ColorChoice) -> Self {
        let err = io::stderr();
        let paint = Paint::new(color, err.is_terminal());
        Self::new(Box::new(err), paint)
    }

    pub(crate) fn new(writer: Box<dyn Write + Send>, paint: Paint) -> Self {
        Self { to: Arc::new(Mutex::new(To { writer, fault: None, begun: false })), paint }
    }

    fn to(&self) -> MutexGuard<'_, To> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line, or several.
    pub(crate) fn line(&self, text: impl Display) {
        let to = &mut *self.to();
        to.begun = true;
        if to.fault.is_none() {
            to.fault = writeln!(to.writer, "{text}").err();
        }
    }

    /// Leaves a line empty, where there is something above it.
    pub(crate) fn gap(&self) {
        let begun = self.to().begun;
        if begun {
            self.line("");
        }
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.to().fault.is_some()
    }

    /// Whether all was written. A reader that went away on purpose is no fault.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let to = &mut *self.to();
        let fault = to.fault.take().or_else(|| to.writer.flush().err());
        match fault {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            Some(_) | None => Ok(()),
        }
    }
}
