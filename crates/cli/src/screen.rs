//! Where a command writes.
//!
//! Texts come from strangers: the names in a model, ids, messages of workers. What would move a cursor, set a
//! colour or turn the direction of writing is shown as what it is, `\u{1b}`, and does nothing. All output goes
//! through here, and nothing else has to think of it.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use clap::ColorChoice;
use travertine_value::{Name, Value};

use crate::{json, paint::Paint};
pub(crate) use travertine_data::shell::{acts, code};

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

    /// Writes a line. What would break it shows as a space.
    pub(crate) fn line(&self, text: impl Display) {
        self.raw(self.painted(&text.to_string(), " "));
    }

    /// Writes lines, which are broken where the text is.
    pub(crate) fn lines(&self, text: impl Display) {
        self.raw(self.painted(&text.to_string(), "\n"));
    }

    /// Writes JSON over several lines, which reads back as the same.
    pub(crate) fn json(&self, value: &Value) {
        self.escaped(&json::pretty(value));
    }

    /// Writes variables as JSON for people, large ones shortened unless they are wanted in full.
    pub(crate) fn variables(&self, all: &[(Name, Value)], full: bool) {
        if full {
            self.json(&all.iter().cloned().collect());
        } else {
            self.escaped(&json::shortened(all));
        }
    }

    fn escaped(&self, json: &str) {
        self.raw(replace(json, |it, shown| match it {
            '\n' => shown.push(it),
            _ => shown.push_str(&code(it)),
        }));
    }

    /// Writes a document for programs as it is.
    pub(crate) fn raw(&self, text: impl Display) {
        let to = &mut *self.to();
        to.begun = true;
        if to.fault.is_none() {
            to.fault = writeln!(to.writer, "{text}").err();
        }
    }

    /// The text with its colours, and with this for its line breaks.
    fn painted(&self, text: &str, line_break: &str) -> String {
        replace(text, |it, shown| match (self.paint.code(it), it) {
            (Some(code), _) => shown.push_str(code),
            (None, '\n') => shown.push_str(line_break),
            (None, _) => shown.push_str(&escape(it)),
        })
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

/// The text in a line, as [`Screen::line`] shows it where it is not painted: for whoever measures it before.
pub(crate) fn one_line(text: &str) -> String {
    replace(text, |it, shown| shown.push_str(&escape(it)))
}

/// What is shown in place of a character that acts.
fn escape(letter: char) -> String {
    match letter {
        '\n' | '\r' | '\t' => " ".to_owned(),
        _ => letter.escape_unicode().to_string(),
    }
}

/// The text with something else for each character that acts.
fn replace(text: &str, mut with: impl FnMut(char, &mut String)) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if acts(letter) {
            with(letter, &mut shown);
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What is written, to be read afterwards.
    #[derive(Clone, Default)]
    pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        pub(crate) fn text(&self) -> String {
            let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            String::from_utf8(bytes).expect("screens write text")
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(paint: Paint, write: impl FnOnce(&Screen)) -> String {
        let paper = Paper::default();
        write(&Screen::new(Box::new(paper.clone()), paint));
        paper.text()
    }

    #[test]
    fn a_stranger_can_neither_paint_nor_break_a_line() {
        let id = "a\u{1b}[31m\nfake\u{9b}2J\u{202e}\r\u{7f}";
        let shown = "a\\u{1b}[31m fake\\u{9b}2J\\u{202e} \\u{7f}";
        assert_eq!(written(Paint::plain(), |it| it.line(id)), format!("{shown}\n"));
        assert_eq!(one_line(id), shown);
        let painted = written(Paint::colourful(), |it| it.line(it.paint.bold(id)));
        assert_eq!(painted, format!("\u{1b}[1m{shown}\u{1b}[0m\n"));
        let lines = written(Paint::plain(), |it| it.lines("one\n\u{1b}two"));
        assert_eq!(lines, "one\n\\u{1b}two\n");
    }

    #[test]
    fn json_reads_back_as_the_same_and_does_nothing_to_a_terminal() {
        let value: Value = vec![Value::from("\u{1b}[31m\u{9b}\u{202e}é\n")].into();
        let text = written(Paint::plain(), |it| it.json(&value));
        assert!(text.trim_end().chars().all(|it| !acts(it)), "{text:?}");
        assert_eq!(Value::parse_json(&text), Ok(value));
    }
}
