//! Tables for people: aligned, with colours where they are wanted.

use crate::screen::{Screen, one_line};

/// A text, and how it is painted.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Good,
    Busy,
    Bad,
    Dim,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    fn painted(&self, width: usize, out: &Screen) -> String {
        let text = format!("{:<width$}", self.text);
        match self.tone {
            Tone::Plain => text,
            Tone::Strong => out.paint.bold(text),
            Tone::Good => out.paint.green(text),
            Tone::Busy => out.paint.cyan(text),
            Tone::Bad => out.paint.red(text),
            Tone::Dim => out.paint.dim(text),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// So many of something.
pub(crate) fn count(count: u64, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if count == 1 => format!("1 {what}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {what}s"),
    }
}

/// How much of a text people read in a table.
const CHARS_MAX: usize = 72;

/// Prints a table. Columns in which nothing stands are left out.
pub(crate) fn print(heads: &[&str], mut rows: Vec<Vec<Cell>>, out: &Screen) {
    for cell in rows.iter_mut().flatten() {
        let one_line = one_line(&cell.text);
        cell.text = match one_line.char_indices().nth(CHARS_MAX) {
            Some((end, _)) => format!("{}…", &one_line[..end]),
            None => one_line,
        };
    }
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| rows.iter().map(|row| length(&row[column].text)).max().unwrap_or(0))
        .collect();
    let shown: Vec<usize> = (0..heads.len()).filter(|column| widths[*column] > 0).collect();
    let width = |column: usize| widths[column].max(length(heads[column]));
    let line = |cells: &dyn Fn(usize) -> Cell| {
        let parts: Vec<String> = shown
            .iter()
            .map(|column| {
                // Nothing stands behind the last one.
                let is_last = Some(column) == shown.last();
                cells(*column).painted(if is_last { 0 } else { width(*column) }, out)
            })
            .collect();
        out.line(parts.join("  ").trim_end());
    };
    line(&|column| Cell::new(heads[column].to_uppercase(), Tone::Dim));
    for row in &rows {
        line(&|column| row[column].clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_called_as_many_are() {
        let said = [(1, "entry"), (2, "entry"), (0, "row"), (1, "row")].map(|(n, it)| count(n, it));
        assert_eq!(said, ["1 entry", "2 entries", "0 rows", "1 row"]);
    }
}
