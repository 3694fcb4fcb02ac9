//! Reads BPMN 2.0 models: XML to tree, tree to diagnostics, tree to plan.
//!
//! [`read`] takes files that are deployed together and answers for everything in them: what is
//! executed, what has no effect, and what is rejected and why. Whatever differs between dialects
//! of BPMN is settled here; the kernel never learns where a plan came from.

#![forbid(unsafe_code)]

mod analysis;
mod dialect;
mod expression;
mod extension;
mod files;
mod lower;
mod read;
mod report;
pub mod schema;
mod support;
mod validate;

use std::{collections::BTreeSet, time::SystemTime};

use travertine_kernel::plan::Policy;
use travertine_lang::Languages;
use travertine_value::time::Timestamp;
use travertine_xml as xml;

pub use dialect::Dialect;
pub use lower::{CORRELATION_KEY, JOB_LIMIT, JOB_PRIORITY, is_inner};
pub use read::NOT_EXECUTABLE;
pub use read::read;
pub use report::{Answer, Drawing, Process, Report, Verdict};
pub use support::{executed_extensions, support_page};
pub use travertine_xml::{Diagnostic, FILE_BYTES_MAX, Severity};
pub use validate::{Rule, rules};

/// How to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The languages that expressions and scripts may be in.
    pub languages: Languages,
    /// The dialect of models that name none themselves.
    pub dialect: Option<Dialect>,
    /// The language of texts in models that name none, where it is not JavaScript. Times are texts
    /// of that language too then, unless they are ISO 8601.
    pub expression_language: Option<String>,
    /// The choices that dialects make differently, where they are not the dialect's own. What a
    /// process says itself still counts.
    pub policy: Option<Policy>,
    /// Local names of plain tasks, such as `task` and `manualTask`, that wait to be completed
    /// instead of passing through.
    pub wait_tasks: Vec<String>,
    /// Whether [rules] of the standard that change nothing about what is executed must be kept, too.
    pub strict: bool,
    /// The time that dates in models are compared with.
    pub now: Timestamp,
    /// The decisions that business rule tasks can make. Others are warned about.
    pub decisions: KnownDecisions,
}

/// The decisions that someone who reads a model knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownDecisions {
    /// Their ids and names.
    pub names: BTreeSet<String>,
    /// Whether these are all that are deployed, and not only those of some files.
    pub deployed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self::new(Languages::standard())
    }
}

impl Options {
    /// For models that have been accepted before: whether they can be read does not depend on how busy the
    /// machine is.
    pub fn patient() -> Self {
        Self::new(Languages::patient())
    }

    /// The options with these languages and nothing out of the ordinary.
    pub fn new(languages: Languages) -> Self {
        Self {
            languages,
            dialect: None,
            expression_language: None,
            policy: None,
            wait_tasks: Vec::new(),
            strict: false,
            now: now(),
            decisions: KnownDecisions::default(),
        }
    }
}

/// The time of this machine. Only warnings depend on it.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
