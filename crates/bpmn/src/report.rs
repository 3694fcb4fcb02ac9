//! What reading a model answers: diagnostics, and a verdict on every element.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    fmt,
    sync::Arc,
};

use travertine_kernel::plan::Plan;

use crate::{
    validate::is_rule,
    xml::{Attribute, Diagnostic, Fault, Node, Place, Severity},
};

/// What came of reading files that are deployed together.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything worth knowing: file by file, errors before warnings before notes, each in the order of
    /// their places.
    pub diagnostics: Vec<Diagnostic>,
    /// What becomes of every element, and of attributes and extensions worth a word.
    pub elements: Vec<Answer>,
    /// The processes, ready to run; none where any diagnostic is an error. A process that is not
    /// meant to be run is missing where it cannot be.
    pub processes: Vec<Process>,
    /// The processes that are not executable, whether they could be run or not.
    pub drawings: Vec<Drawing>,
}

impl Report {
    /// Whether there is something to run, or there are only decisions.
    pub fn can_run(&self) -> bool {
        let idle = !self.drawings.is_empty() && !self.processes.iter().any(|it| it.executable);
        !self.is_rejected() && !idle
    }

    /// Refuses whatever breaks a rule of the standard, whether that would change anything or not, and also
    /// in what is not executable.
    #[must_use]
    pub fn strictly(mut self) -> Self {
        let mut broken = HashSet::new();
        for it in self.diagnostics.iter_mut().filter(|it| is_rule(it.code)) {
            it.severity = Severity::Error;
            broken.insert((it.file.clone(), it.line, it.column));
        }
        if !broken.is_empty() {
            for it in &mut self.elements {
                if broken.contains(&(it.file.clone(), it.line, it.column)) {
                    it.verdict = Verdict::Rejected;
                }
            }
        }
        if self.is_rejected() {
            self.processes.clear();
        }
        let mut files: Vec<String> = Vec::new();
        for it in &self.diagnostics {
            if !files.contains(&it.file) {
                files.push(it.file.clone());
            }
        }
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        self.diagnostics = Diagnostic::in_order(self.diagnostics, &names);
        self
    }

    /// Whether the files cannot be deployed.
    pub fn is_rejected(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }
}

/// A process that is drawn, but not executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Its id in the model.
    pub id: String,
    /// The file it came from.
    pub file: String,
    /// Whether the model says so, as opposed to saying nothing.
    pub explicit: bool,
}

/// A process that can be run.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its id in the model.
    pub id: String,
    /// Its name for people.
    pub name: Option<String>,
    /// Whether it is meant to be run: the model says so, or says nothing and has no other process.
    pub executable: bool,
    /// What the kernel runs.
    pub plan: Arc<Plan>,
    /// The file it came from.
    pub file: String,
}

/// What becomes of an element when the model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does what the standard says.
    Executed,
    /// It does not change what happens: documentation, diagrams, lanes.
    NoEffect,
    /// The model cannot be deployed with it.
    Rejected,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Executed => "executed",
            Self::NoEffect => "no effect",
            Self::Rejected => "rejected",
        })
    }
}

/// What becomes of an element, an attribute or an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The file.
    pub file: String,
    /// The id of the element, where it has one.
    pub id: Option<String>,
    /// The local name of the element, or `@name` for an attribute.
    pub kind: String,
    /// Where, from 1.
    pub line: u32,
    /// Where in the line, from 1.
    pub column: u32,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What there is to say about that.
    pub note: String,
}

/// Collects diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: RefCell<Vec<(Diagnostic, Option<usize>)>>,
    /// Processes that nobody means to run. What is wrong in them is only a warning.
    drawings: RefCell<HashSet<(usize, usize)>>,
    /// Those of them that cannot be run.
    broken: RefCell<HashSet<(usize, usize)>>,
}

impl Sink {
    /// Notes that nobody means to run a process.
    pub(crate) fn spare(&self, process: Node<'_>) {
        self.drawings.borrow_mut().insert(process.key());
    }

    /// Whether nobody means to run a process.
    pub(crate) fn is_drawing(&self, process: Node<'_>) -> bool {
        self.drawings.borrow().contains(&process.key())
    }

    /// Whether something in a process, which nobody means to run, is wrong.
    pub(crate) fn is_broken(&self, process: Node<'_>) -> bool {
        self.broken.borrow().contains(&process.key())
    }

    /// An error in what nobody means to run is a warning, and the end of it.
    fn soften(&self, severity: Severity, at: Node<'_>) -> Severity {
        let process = std::iter::once(at).chain(at.ancestors()).find(|it| it.is("process"));
        let drawing = process.filter(|it| self.drawings.borrow().contains(&it.key()));
        match (severity, drawing) {
            (Severity::Error, Some(process)) => {
                self.broken.borrow_mut().insert(process.key());
                Severity::Warning
            }
            _ => severity,
        }
    }

    pub(crate) fn error(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.add(Severity::Error, code, at, at.place(), message, help);
    }

    pub(crate) fn warn(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.add(Severity::Warning, code, at, at.place(), message, help);
    }

    /// An error about an attribute of `at`.
    pub(crate) fn attribute_error(
        &self,
        code: &'static str,
        at: Node<'_>,
        attribute: &Attribute,
        message: String,
        help: &str,
    ) {
        self.add(Severity::Error, code, at, attribute.place, message, help);
    }

    pub(crate) fn add(
        &self,
        severity: Severity,
        code: &'static str,
        at: Node<'_>,
        place: Place,
        message: String,
        help: &str,
    ) {
        let severity = self.soften(severity, at);
        let diagnostic = Diagnostic::about(severity, code, at, place, message, help);
        self.found.borrow_mut().push((diagnostic, Some(at.position())));
    }

    pub(crate) fn fault(&self, file: &str, fault: Fault) {
        let diagnostic = Diagnostic::of_fault(file, fault);
        self.found.borrow_mut().push((diagnostic, None));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|(it, _)| it.severity == Severity::Error)
    }

    /// The file and position of every element that an error is about.
    pub(crate) fn rejected(&self) -> BTreeSet<(String, usize)> {
        let found = self.found.borrow();
        let errors = found.iter().filter(|(it, _)| it.severity == Severity::Error);
        errors.filter_map(|(it, position)| Some((it.file.clone(), (*position)?))).collect()
    }

    /// Everything once: a process that others call as a gosub is lowered more than once.
    pub(crate) fn into_diagnostics(self, files: &[&str]) -> Vec<Diagnostic> {
        let found = self.found.into_inner().into_iter().map(|(it, _)| it);
        Diagnostic::in_order(found.collect(), files)
    }
}
