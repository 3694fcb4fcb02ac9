//! Texts of FEEL in a model: compiled, and evaluated so that what becomes null is known by its place.

use travertine_lang::feel::{self, FeelValue, Session};
use travertine_value::Limit;

use crate::{eval::Record, logic::Spot, scope::Scope};

/// An expression.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) spot: Spot,
    pub(crate) compiled: feel::Expression,
}

/// Tests of an input.
#[derive(Debug)]
pub(crate) struct Tests {
    pub(crate) spot: Spot,
    pub(crate) compiled: feel::UnaryTests,
}

impl Text {
    pub(crate) fn evaluate(
        &self,
        scope: &Scope,
        session: &mut Session<'_>,
        record: &Record,
    ) -> Result<FeelValue, Limit> {
        record.watch(&self.spot, session, |session| self.compiled.evaluate_in(scope, session))
    }
}

impl Tests {
    /// Whether a value passes; what cannot be said is no.
    pub(crate) fn pass(
        &self,
        value: &FeelValue,
        scope: &Scope,
        session: &mut Session<'_>,
        record: &Record,
    ) -> Result<bool, Limit> {
        let test = |session: &mut Session<'_>| self.compiled.evaluate_in(value, scope, session);
        let answer = if value.is_null() {
            // That null is neither less nor more than something is no news.
            record.ignore(session, test)
        } else {
            record.watch(&self.spot, session, test)
        };
        answer.map(|it| it.as_bool() == Some(true))
    }

    /// What stands in the model.
    pub(crate) fn source(&self) -> &str {
        self.compiled.source()
    }
}
