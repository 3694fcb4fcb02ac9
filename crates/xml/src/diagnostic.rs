//! What there is to say about a place in a model.

use std::fmt;

use crate::{Fault, Node, Place};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The files cannot be deployed.
    Error,
    /// They can, but something may not be what its author meant.
    Warning,
    /// Worth knowing, and most likely as it should be.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// Something worth knowing about a place in a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code, such as `TV0301`.
    pub code: &'static str,
    /// The file.
    pub file: String,
    /// The id of the element, where it has one.
    pub element: Option<String>,
    /// Where, from 1.
    pub line: u32,
    /// Where in the line, from 1.
    pub column: u32,
    /// A sentence that names the thing.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, code, file, element: _, line, column, message, help } = self;
        write!(f, "{file}:{line}:{column}: {severity} {code}: {message}")?;
        if help.is_empty() { Ok(()) } else { write!(f, " ({help})") }
    }
}

impl Diagnostic {
    /// Something about an element, at a place in it.
    pub fn about(
        severity: Severity,
        code: &'static str,
        at: Node<'_>,
        place: Place,
        message: String,
        help: &str,
    ) -> Self {
        // What has no id of its own is known by the nearest thing around it that has one.
        let element = std::iter::once(at).chain(at.ancestors()).find_map(Node::id);
        Self {
            severity,
            code,
            file: at.document().file.clone(),
            element: element.map(str::to_owned),
            line: place.line,
            column: place.column,
            message,
            help: help.to_owned(),
        }
    }

    /// All of them once, in the order of the files, of how bad they are, and of the places.
    pub fn in_order(mut found: Vec<Self>, files: &[&str]) -> Vec<Self> {
        found.sort_by(|a, b| {
            let key = |it: &Self| {
                let file = files.iter().position(|file| *file == it.file);
                (file, it.severity, it.line, it.column, it.code)
            };
            key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
        });
        found.dedup();
        found
    }

    /// The diagnostic that a text which is no document deserves.
    pub fn of_fault(file: &str, fault: Fault) -> Self {
        Self {
            severity: Severity::Error,
            code: fault.code,
            file: file.to_owned(),
            element: None,
            line: fault.place.line,
            column: fault.place.column,
            message: fault.message,
            help: fault.help.to_owned(),
        }
    }
}
