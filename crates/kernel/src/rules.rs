//! Where business rule tasks find the decisions that they make, and user tasks their forms; and after which
//! elements the instance ends, because its starter said so.
//!
//! A decision is deployed apart from the process, and has versions of its own: which of them a task makes
//! is found out when the task is entered. So decisions come with the command, as the plan and the time do,
//! and what was made by which version is an event. Replaying it needs no decision.

use std::fmt;

use travertine_value::{Name, Program};

use crate::{
    plan::NodeId,
    vocabulary::{Failure, FailureKind},
};

/// Decisions that business rule tasks can make.
pub trait Rules: fmt::Debug {
    /// The version of a decision that a task means: see [`Call::binding`](crate::plan::Call::binding). Why there is
    /// none, and what helps, otherwise.
    fn find(&self, decision: &str, binding: Option<&str>) -> Result<Rule, Failure>;

    /// The key of the version of a form that a task means, where it is there.
    fn form(&self, id: &str, binding: Option<&str>) -> Option<u64> {
        let _ = (id, binding);
        None
    }

    /// The nodes after which the instance ends, once a token has left one of them or was taken away there. What
    /// follows is an event like any other, so replaying needs to know none of them.
    fn ends_after(&self) -> &[NodeId] {
        &[]
    }
}

/// The field of a user task that names its form.
pub const FORM: &str = "form";

/// The field of a user task that says which version of the form is meant; the latest where there is none. It is
/// not among the fields of what waits.
pub const FORM_BINDING: &str = "formBinding";

/// The field of a user task whose form is somewhere else, and not deployed.
pub const EXTERNAL_FORM: &str = "externalForm";

/// The field of a user task with the key of its form, as it was when the task began.
pub const FORM_KEY: &str = "formKey";

/// A version of a decision.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its id.
    pub decision: Name,
    /// Which version.
    pub version: u32,
    /// What is evaluated.
    pub program: Program,
}

/// No decisions at all.
#[derive(Clone, Copy, Debug)]
pub struct NoRules;

impl Rules for NoRules {
    fn find(&self, decision: &str, _: Option<&str>) -> Result<Rule, Failure> {
        Err(Failure::of(FailureKind::MissingDecision { decision: decision.into(), version: None }))
    }
}
