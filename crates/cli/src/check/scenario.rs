//! Models that are run as scenarios, and are no processes.

use travertine_bpmn::{Answer, Severity, Verdict};
use travertine_scenario::{Element, Fate, Model, is_meant, read};
use travertine_value::Value;

use super::text;
use crate::{args, diagnostic, files::Models, json, screen::Screen, status::Status};

/// Reads a file that is meant for scenarios, and reports; `None` where it is none, or one of several.
pub(super) fn check(args: &args::Check, models: &Models, out: &Screen) -> Option<Status> {
    let (name, bytes) = models.first();
    if models.names().count() != 1 || !is_meant(name, bytes) {
        return None;
    }
    let report = read(name, bytes);
    let found = &report.diagnostics;
    let count = |severity| found.iter().filter(|it| it.severity == severity).count();
    let processes: Vec<&str> = report.model.iter().flat_map(Model::processes).collect();
    let runs = report.model.is_some() && !(args.strict && count(Severity::Warning) > 0);
    let status = if runs { Status::Done } else { Status::Rejected };
    let elements: Vec<Answer> = report.elements.iter().map(|it| answer(name, it)).collect();
    let verdicts = [Verdict::Executed, Verdict::NoEffect, Verdict::Rejected];
    let [executed, no_effect, rejected] =
        verdicts.map(|verdict| elements.iter().filter(|it| it.verdict == verdict).count());
    if args.json {
        let process = |id: &&str| {
            json::object([
                ("id", (*id).into()),
                ("name", Value::Null),
                ("executable", true.into()),
                ("file", name.into()),
            ])
        };
        let file = json::object([
            ("file", name.into()),
            ("executed", executed.into()),
            ("no_effect", no_effect.into()),
            ("rejected", rejected.into()),
            ("errors", count(Severity::Error).into()),
            ("warnings", count(Severity::Warning).into()),
            ("notes", count(Severity::Note).into()),
        ]);
        out.json(&json::object([
            ("can_run", runs.into()),
            ("runs_as", "scenario".into()),
            ("files", [file].into_iter().collect()),
            ("processes", processes.iter().map(process).collect()),
            ("diagnostics", found.iter().map(diagnostic::data).collect()),
            ("elements", elements.iter().map(travertine_data::report::element).collect()),
        ]));
        return Some(status);
    }
    out.line(out.paint.bold(name));
    for it in processes {
        out.line(format!("  process {it}"));
    }
    let all: Vec<&Answer> = elements.iter().collect();
    for verdict in verdicts {
        text::summary(&all, verdict, out);
    }
    for it in found {
        out.gap();
        out.lines(diagnostic::text(it, models, out.paint));
    }
    out.gap();
    if runs {
        let what = "the model can run as a scenario: travertine run MODEL --scenario FILE";
        out.line(format!("{} {what}", out.paint.green("ok:")));
    } else {
        let errors = match count(Severity::Error) {
            0 => "a warning counts as an error with --strict".to_owned(),
            1 => "1 error".to_owned(),
            errors => format!("{errors} errors"),
        };
        out.line(format!("{} the model cannot run: {errors}", out.paint.red("rejected:")));
    }
    Some(status)
}

/// What becomes of an element, in the words of all reports.
fn answer(file: &str, element: &Element) -> Answer {
    let Element { id, kind, place, fate } = element;
    Answer {
        file: file.to_owned(),
        id: id.clone(),
        kind: kind.clone(),
        line: place.line,
        column: place.column,
        verdict: match fate {
            Fate::Executed => Verdict::Executed,
            Fate::NoEffect => Verdict::NoEffect,
            Fate::Rejected => Verdict::Rejected,
        },
        note: String::new(),
    }
}
