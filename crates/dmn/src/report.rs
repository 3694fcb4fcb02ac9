//! What reading a model answers: diagnostics, and the decisions where there is no error among them.

use std::cell::RefCell;

use travertine_xml::{Diagnostic, Fault, Node, Place, Severity};

use crate::definitions::Definitions;

/// What came of reading files that belong together.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything worth knowing, in document order.
    pub diagnostics: Vec<Diagnostic>,
    /// The decisions, ready to be made; none where any diagnostic is an error.
    pub definitions: Option<Definitions>,
}

impl Report {
    /// Whether the files cannot be used.
    pub fn is_rejected(&self) -> bool {
        self.definitions.is_none()
    }
}

/// Collects diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: RefCell<Vec<Diagnostic>>,
}

impl Sink {
    pub(crate) fn error(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.add(Severity::Error, code, at, at.place(), message, help);
    }

    pub(crate) fn warn(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.add(Severity::Warning, code, at, at.place(), message, help);
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
        let diagnostic = Diagnostic::about(severity, code, at, place, message, help);
        self.found.borrow_mut().push(diagnostic);
    }

    pub(crate) fn fault(&self, file: &str, fault: Fault) {
        self.found.borrow_mut().push(Diagnostic::of_fault(file, fault));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|it| it.severity == Severity::Error)
    }

    pub(crate) fn into_diagnostics(self, files: &[&str]) -> Vec<Diagnostic> {
        Diagnostic::in_order(self.found.into_inner(), files)
    }
}
