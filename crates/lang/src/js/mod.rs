//! JavaScript, in a sandbox.
//!
//! A script sees the variables as fields of `_context`, as bare names, and through `execution`, as models
//! made for Camunda 7 expect it. It sees nothing of the world: no clock, no chance, no files, no timers.
//! Each run gets a runtime of its own, so that nothing can leak from one to the next; that costs some
//! 60 µs, and it is what makes the counts of steps and bytes the same every time. The source is kept as
//! text: reading it again takes a few microseconds of those.

mod aside;
mod convert;
mod sandbox;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Variables};

use crate::{CompileError, Kind, Language};

/// The language.
#[derive(Clone, Copy, Debug, Default)]
pub struct JavaScript {
    /// Whether texts are read however long that takes: they have been read before.
    pub(crate) is_patient: bool,
}

impl Language for JavaScript {
    fn names(&self) -> &[&str] {
        &["javascript", "js", "ecmascript", "text/javascript", "application/javascript"]
    }

    fn compile(&self, kind: Kind, source: &str) -> Result<Program, CompileError> {
        sandbox::check(kind, source, self.is_patient)?;
        let words = words::of(source);
        let reads = words::are_all_it_reads(source).then(|| words.clone());
        let is_direct = reads.is_some() && !words::are_inherited(source);
        let needs = Needs {
            all_names: !is_direct,
            execution: words.iter().any(|it| &**it == "execution"),
            errors: !is_direct || words.iter().any(|it| &**it == "BpmnError"),
            guards: !is_direct || !words::need_no_guards(source),
        };
        let is_short = !needs.all_names && !needs.guards && words::are_soon_done(source);
        let text = sandbox::text(kind, source).into();
        let script = Script { text, words, reads, needs, is_short };
        Ok(Program::new(source, Arc::new(script)))
    }
}

/// A script whose syntax has been checked.
#[derive(Debug)]
struct Script {
    text: Name,
    /// Every name that stands in the text. Their values are at hand when it runs; others are fetched
    /// when it turns out that they are needed.
    words: Vec<Name>,
    reads: Option<Vec<Name>>,
    needs: Needs,
    /// It does each thing that it says once at most, and nothing that takes long.
    is_short: bool,
}

/// Which preludes must be there before a script can run. Reading them is what takes longest, so most
/// scripts do without.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// It may ask for names that it does not spell.
    all_names: bool,
    /// It may use `execution`.
    execution: bool,
    /// It may throw a `BpmnError`.
    errors: bool,
    /// It may call what does not count its steps.
    guards: bool,
}

impl Needs {
    const EVERYTHING: Self = Self { all_names: true, execution: true, errors: true, guards: true };
}

impl Evaluate for Script {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        sandbox::run(self, variables, limits)
    }

    fn reads(&self) -> Option<&[Name]> {
        self.reads.as_deref()
    }
}
