//! What there is to say about models, as data. `docs/cli.md` promises the names of the fields.

use travertine_bpmn::{Answer, Diagnostic, Process, Report, Severity, Verdict};
use travertine_value::Value;

use crate::json;

/// The whole report. Where none of the files is a model, nothing `can_run`.
pub fn report<'a>(
    report: &Report,
    files: impl Iterator<Item = &'a str>,
    has_models: bool,
) -> Value {
    json::object([
        ("can_run", (report.can_run() && has_models).into()),
        ("files", files.map(|it| file(report, it)).collect()),
        ("processes", report.processes.iter().map(process).collect()),
        ("diagnostics", report.diagnostics.iter().map(diagnostic).collect()),
        ("elements", report.elements.iter().map(element).collect()),
    ])
}

fn file(report: &Report, name: &str) -> Value {
    let elements = || report.elements.iter().filter(|it| it.file == name);
    let count = |verdict| elements().filter(|it| it.verdict == verdict).count();
    let diagnostics = || report.diagnostics.iter().filter(|it| it.file == name);
    let found = |severity| diagnostics().filter(|it| it.severity == severity).count();
    json::object([
        ("file", name.into()),
        ("executed", count(Verdict::Executed).into()),
        ("no_effect", count(Verdict::NoEffect).into()),
        ("rejected", count(Verdict::Rejected).into()),
        ("errors", found(Severity::Error).into()),
        ("warnings", found(Severity::Warning).into()),
        ("notes", found(Severity::Note).into()),
    ])
}

fn process(process: &Process) -> Value {
    let Process { id, name, executable, plan: _, file } = process;
    json::object([
        ("id", id.as_str().into()),
        ("name", name.as_deref().into()),
        ("executable", (*executable).into()),
        ("file", file.as_str().into()),
    ])
}

/// What becomes of an element, as data.
pub fn element(answer: &Answer) -> Value {
    let Answer { file, id, kind, line, column, verdict, note } = answer;
    let verdict = match verdict {
        Verdict::Executed => "executed",
        Verdict::NoEffect => "no_effect",
        Verdict::Rejected => "rejected",
    };
    json::object([
        ("file", file.as_str().into()),
        ("line", (*line).into()),
        ("column", (*column).into()),
        ("kind", kind.as_str().into()),
        ("id", id.as_deref().into()),
        ("verdict", verdict.into()),
        ("note", note.as_str().into()),
    ])
}

/// The diagnostic as data.
pub fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let Diagnostic { severity, code, file, element, line, column, message, help } = diagnostic;
    json::object([
        ("severity", severity.to_string().into()),
        ("code", (*code).into()),
        ("file", file.as_str().into()),
        ("line", (*line).into()),
        ("column", (*column).into()),
        ("element", element.as_deref().into()),
        ("message", message.as_str().into()),
        ("help", help.as_str().into()),
    ])
}
