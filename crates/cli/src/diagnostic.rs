//! A diagnostic with the line it is about, and as data.

use travertine_bpmn::{Diagnostic, Severity};

pub(crate) use travertine_data::report::diagnostic as data;

use crate::{files::Models, paint::Paint, screen::one_line};

/// How much of a long line is shown.
const LINE_CHARS_MAX: usize = 100;

/// The diagnostic over several lines: what, where, the source with a caret, the way out.
pub(crate) fn text(diagnostic: &Diagnostic, models: &Models, paint: Paint) -> String {
    let Diagnostic { severity, code, file, element, line, column, message, help } = diagnostic;
    let title = match severity {
        Severity::Error => paint.red(format!("error {code}")),
        Severity::Warning => paint.yellow(format!("warning {code}")),
        Severity::Note => paint.cyan(format!("note {code}")),
    };
    if *severity == Severity::Note {
        let place = paint.dim(format!("{file}:{line}:{column}"));
        return format!("{title}: {message}  {place}");
    }
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let bar = |text: &str| paint.dim(text);
    let element =
        element.as_ref().map_or_else(String::new, |it| format!("  (element {})", one_line(it)));
    let mut lines = vec![
        format!("{title}: {}", paint.bold(one_line(message))),
        format!("{margin}{} {}:{line}:{column}{}", bar("-->"), one_line(file), paint.dim(element)),
    ];
    if let Some(source) = models.source_line(file, *line) {
        let (shown, caret) = window(&source, *column);
        lines.push(format!("{} {} {shown}", paint.dim(&number), bar("|")));
        lines.push(format!("{margin} {} {}{}", bar("|"), " ".repeat(caret), paint.red("^")));
    }
    if !help.is_empty() {
        lines.push(format!("{margin} {} {} {}", bar("="), paint.cyan("help:"), one_line(help)));
    }
    lines.join("\n")
}

/// What of a line is shown, and how far in it the caret stands.
fn window(source: &str, column: u32) -> (String, usize) {
    let at = (column as usize).saturating_sub(1);
    let letters: Vec<char> = source
        .chars()
        .map(|it| if it.is_control() || it.is_whitespace() { ' ' } else { it })
        .collect();
    let indent = letters.iter().take_while(|it| **it == ' ').count().min(at);
    // A file in a single line is shown around the place that is meant.
    let from = if at - indent < LINE_CHARS_MAX { indent } else { at - LINE_CHARS_MAX / 2 };
    let cut = from > indent;
    let to = letters.len().min(from + LINE_CHARS_MAX);
    let mut shown: String = letters.get(from..to).unwrap_or_default().iter().collect();
    if to < letters.len() {
        shown.push('…');
    }
    let caret = at - from;
    if cut { (format!("…{shown}"), caret + 1) } else { (shown.trim_end().to_owned(), caret) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        assert_eq!(window("    <task/>", 5), ("<task/>".to_owned(), 0));
        assert_eq!(window("\t<task id=\"a\"/>", 8), ("<task id=\"a\"/>".to_owned(), 6));
        assert_eq!(window("", 9), (String::new(), 8));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let line = format!("{}<task/>{}", "x".repeat(500), "y".repeat(500));
        let (shown, caret) = window(&line, 501);
        assert_eq!(shown.chars().count(), LINE_CHARS_MAX + 2);
        assert!(shown.chars().skip(caret).collect::<String>().starts_with("<task/>"), "{shown}");
    }
}
