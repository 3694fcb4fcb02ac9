//! Colours, where they are wanted.

use std::{env, fmt::Display};

use clap::ColorChoice;

/// Paints texts, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// As asked for; on a terminal that has colours and no `NO_COLOR` where that is left to us.
    pub(crate) fn new(choice: ColorChoice, is_terminal: bool) -> Self {
        let on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let refused = env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty())
                    || env::var_os("TERM").is_some_and(|it| it == "dumb");
                is_terminal && !refused
            }
        };
        Self { on }
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { on: false }
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: impl Display) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn green(self, text: impl Display) -> String {
        self.with("1;32", text)
    }

    pub(crate) fn yellow(self, text: impl Display) -> String {
        self.with("1;33", text)
    }

    pub(crate) fn cyan(self, text: impl Display) -> String {
        self.with("36", text)
    }

    fn with(self, code: &str, text: impl Display) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}
