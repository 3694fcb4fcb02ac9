//! Colours, where they are wanted.
//!
//! A painted text has marks around it, not the codes of a terminal: those the screen writes, so that it can
//! tell ours from what a stranger has put into a text. The marks are code points that Unicode keeps for the
//! inner use of programs.

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

    pub(crate) fn of(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { on: false }
    }

    #[cfg(test)]
    pub(crate) fn colourful() -> Self {
        Self { on: true }
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.with('\u{fdd0}', text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.with('\u{fdd1}', text)
    }

    pub(crate) fn red(self, text: impl Display) -> String {
        self.with('\u{fdd2}', text)
    }

    pub(crate) fn green(self, text: impl Display) -> String {
        self.with('\u{fdd3}', text)
    }

    pub(crate) fn yellow(self, text: impl Display) -> String {
        self.with('\u{fdd4}', text)
    }

    pub(crate) fn cyan(self, text: impl Display) -> String {
        self.with('\u{fdd5}', text)
    }

    fn with(self, mark: char, text: impl Display) -> String {
        if self.on { format!("{mark}{text}{END}") } else { text.to_string() }
    }

    /// What a terminal is told for a mark, where colours are wanted.
    pub(crate) fn code(self, mark: char) -> Option<&'static str> {
        let code = match mark {
            '\u{fdd0}' => "\x1b[1m",
            '\u{fdd1}' => "\x1b[2m",
            '\u{fdd2}' => "\x1b[1;31m",
            '\u{fdd3}' => "\x1b[1;32m",
            '\u{fdd4}' => "\x1b[1;33m",
            '\u{fdd5}' => "\x1b[36m",
            END => "\x1b[0m",
            _ => return None,
        };
        self.on.then_some(code)
    }
}

/// The mark where a painted text ends.
const END: char = '\u{fddf}';
