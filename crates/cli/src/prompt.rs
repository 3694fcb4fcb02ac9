//! Where people type.

use std::io;

use anyhow::{Context as _, Result};
use rustyline::{Config, Editor, error::ReadlineError, history::MemHistory};

/// What came of asking for a line.
#[derive(Debug)]
pub(crate) enum Line {
    Text(String),
    /// There will be no more.
    End,
    /// Ctrl-C.
    Interrupted,
}

/// Someone who can be asked for lines.
pub(crate) enum Prompt {
    /// A person at a terminal.
    Terminal(Box<Editor<(), MemHistory>>),
    /// Lines that are known beforehand, shown where they would have been typed.
    #[cfg(test)]
    Script(std::vec::IntoIter<&'static str>, crate::screen::Screen),
}

impl Prompt {
    pub(crate) fn new() -> Result<Self> {
        let config = Config::builder().auto_add_history(true).build();
        let editor = Editor::with_history(config, MemHistory::new());
        Ok(Self::Terminal(Box::new(editor.context("cannot ask at this terminal")?)))
    }

    pub(crate) fn ask(&mut self, prompt: &str) -> Result<Line> {
        match self {
            Self::Terminal(editor) => match editor.readline(prompt) {
                Ok(line) => Ok(Line::Text(line)),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    Ok(Line::End)
                }
                Err(error) => Err(error).context("cannot ask at this terminal"),
            },
            #[cfg(test)]
            Self::Script(lines, screen) => {
                let line = lines.next();
                screen.line(format!("{prompt}{}", line.unwrap_or("^D")).trim_end());
                Ok(line.map_or(Line::End, |it| Line::Text(it.to_owned())))
            }
        }
    }
}
