//! The report for people: a summary of each file, and in full what is wrong with it.

use std::collections::BTreeMap;

use travertine_bpmn::{Answer, Process, Report, Severity, Verdict};
use travertine_runtime::DeployedKind;

use crate::{diagnostic, files::Models, paint::Paint, screen::Screen};

/// Of what is said very often, only the first are shown.
const OF_A_KIND_MAX: usize = 100;

/// How wide a line of kinds may become.
const LINE_CHARS_MAX: usize = 90;

/// Reports on each file, and says at last whether all of them can run.
pub(crate) fn report(report: &Report, models: &Models, all: bool, out: &Screen) {
    for name in models.names() {
        out.gap();
        file(report, models, name, all, out);
    }
    let found = |severity| report.diagnostics.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (found(Severity::Error), found(Severity::Warning));
    out.gap();
    out.line(verdict(report, models, errors, warnings, out.paint));
}

fn verdict(
    report: &Report,
    models: &Models,
    errors: usize,
    warnings: usize,
    paint: Paint,
) -> String {
    let (files, has_models) = (models.names().count(), models.has_models());
    let what = if files == 1 { "the model".to_owned() } else { format!("the {files} models") };
    let warned = match warnings {
        0 => String::new(),
        n => format!(", with {}", count(n, "warning")),
    };
    if !has_models {
        let them = if files == 1 { "the file is no model" } else { "none of the files is a model" };
        format!("{} {them}", paint.red("rejected:"))
    } else if report.can_run() {
        format!("{} {what} can run{warned}", paint.green("ok:"))
    } else if errors == 0 {
        let why = "no process is executable";
        format!("{} {what} cannot run: {why}{warned}", paint.red("rejected:"))
    } else {
        format!("{} {what} cannot run: {}{warned}", paint.red("rejected:"), count(errors, "error"))
    }
}

fn file(report: &Report, models: &Models, name: &str, all: bool, out: &Screen) {
    let paint = out.paint;
    let elements: Vec<&Answer> = report.elements.iter().filter(|it| it.file == name).collect();
    out.line(paint.bold(name));
    for process in report.processes.iter().filter(|it| it.file == name) {
        out.line(format!("  {}", title(process)));
    }
    let kind = models.kind(name);
    if kind == Some(DeployedKind::Decision) {
        out.line("  decisions, for business rule tasks; `travertine decide` tries them");
    } else if kind == Some(DeployedKind::Form) {
        out.line("  a form, which is deployed as it is");
    } else if kind == Some(DeployedKind::Resource) {
        out.line("  neither BPMN nor DMN; it is deployed as it is, for workers to read");
    } else if elements.is_empty() {
        out.line("  nothing in it could be read");
    } else if all {
        list(&elements, out);
    } else {
        for verdict in [Verdict::Executed, Verdict::NoEffect, Verdict::Rejected] {
            summary(&elements, verdict, out);
        }
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before = None;
    for it in report.diagnostics.iter().filter(|it| it.file == name) {
        let shown = shown.entry(it.code).or_default();
        *shown += 1;
        if !all && *shown > OF_A_KIND_MAX {
            continue;
        }
        // Notes take a line each.
        if it.severity != Severity::Note || before != Some(Severity::Note) {
            out.gap();
        }
        before = Some(it.severity);
        out.lines(diagnostic::text(it, models, paint));
    }
    let more = shown.into_iter().filter(|(_, it)| !all && *it > OF_A_KIND_MAX);
    for (index, (code, shown)) in more.enumerate() {
        if index == 0 {
            out.gap();
        }
        let more = shown - OF_A_KIND_MAX;
        out.line(format!("and {more} more of {code}; `--all` shows them"));
    }
}

fn title(process: &Process) -> String {
    let name = process.name.as_ref().map_or_else(String::new, |it| format!(" \"{it}\""));
    let note = if process.executable { "" } else { "  (not executable)" };
    format!("process {}{name}{note}", process.id)
}

/// How many elements have that verdict, and of which kinds they are.
pub(super) fn summary(elements: &[&Answer], verdict: Verdict, out: &Screen) {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for it in elements.iter().filter(|it| it.verdict == verdict) {
        let place = *places.entry(&it.kind).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push((&it.kind, 0));
        }
        kinds[place].1 += 1;
    }
    let total: usize = kinds.iter().map(|(_, count)| count).sum();
    let head = format!("  {:<9} {total:>4}", verdict.to_string());
    let head_width = head.chars().count() + 2;
    let kinds = kinds.into_iter().map(|(kind, count)| match count {
        1 => kind.to_owned(),
        _ => format!("{count} {kind}"),
    });
    let lines = wrapped(kinds, LINE_CHARS_MAX - head_width);
    let mut lines = lines.iter().map(|it| out.paint.dim(it));
    let first = lines.next().unwrap_or_default();
    out.line(format!("{}  {first}", paint(verdict, total, &head, out.paint)).trim_end());
    for line in lines {
        out.line(format!("{:head_width$}{line}", ""));
    }
}

fn paint(verdict: Verdict, total: usize, text: &str, paint: Paint) -> String {
    match verdict {
        _ if total == 0 => paint.dim(text),
        Verdict::Executed => paint.green(text),
        Verdict::NoEffect => text.to_owned(),
        Verdict::Rejected => paint.red(text),
    }
}

fn wrapped(words: impl Iterator<Item = String>, chars_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() + 2 <= chars_max => {
                line.push_str(", ");
                line.push_str(&word);
            }
            Some(line) => {
                line.push(',');
                lines.push(word);
            }
            None => lines.push(word),
        }
    }
    lines
}

/// Every element in a line of its own.
fn list(elements: &[&Answer], out: &Screen) {
    let place = |it: &Answer| format!("{}:{}", it.line, it.column);
    let widest =
        |of: &dyn Fn(&Answer) -> usize| elements.iter().map(|it| of(it)).max().unwrap_or(0);
    let places = widest(&|it| place(it).len());
    let kinds = widest(&|it| it.kind.chars().count()).min(40);
    let ids = widest(&|it| it.id.as_ref().map_or(0, |it| it.chars().count())).min(40);
    for it in elements {
        let verdict = format!("{:<9}", it.verdict.to_string());
        let line = format!(
            "  {:>places$}  {}  {:<kinds$}  {:<ids$}  {}",
            place(it),
            paint(it.verdict, 1, &verdict, out.paint),
            it.kind,
            it.id.as_deref().unwrap_or_default(),
            out.paint.dim(&it.note),
        );
        out.line(line.trim_end());
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
