//! Decisions as programs: how processes make them.

use std::sync::Arc;

use travertine_lang::feel::Settings;
use travertine_value::{
    EvalError, Evaluate, Limits, Map, Name, Outcome, Program, Variables, time::Timestamp,
};

use crate::{
    definitions::Definitions,
    result::{DecisionResult, Error},
};

impl Definitions {
    /// A decision, a decision service or a business knowledge model as a program that reads its inputs from
    /// variables; `None` where there is no such thing.
    pub fn program(&self, invocable: &str) -> Option<Program> {
        let names = self.inputs(invocable)?.into_iter().map(|it| it.name).collect();
        let call = Call { model: self.clone(), decision: invocable.into(), names };
        Some(Program::new(invocable, Arc::new(call)))
    }

    /// Evaluates something from inputs as JSON knows them: see [`Definitions::evaluate`].
    pub fn decide(
        &self,
        invocable: &str,
        given: &Map,
        now: Option<Timestamp>,
        limits: &Limits,
    ) -> Result<DecisionResult, Error> {
        let inputs = self.inputs_from_json(invocable, given);
        let settings = Settings { now, limits: *limits, ..Settings::default() };
        self.evaluate(invocable, &inputs, &settings)
    }
}

#[derive(Debug)]
struct Call {
    model: Definitions,
    decision: Name,
    names: Vec<Name>,
}

impl Evaluate for Call {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let given: Map = self
            .names
            .iter()
            .filter_map(|name| Some((Name::clone(name), variables.get(name)?)))
            .collect();
        let result = self.model.decide(&self.decision, &given, variables.now(), limits);
        let result = result.map_err(|error| match error {
            Error::Limit(limit) => EvalError::Limit(limit),
            other => EvalError::Failed(other.to_string()),
        })?;
        // A decision that fell through must not look like one that was made.
        if result.value.is_null()
            && let Some(problem) = result.problems.first()
        {
            return Err(EvalError::Failed(problem.to_string()));
        }
        Ok(Outcome { value: result.value.to_value(), writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(&self.names)
    }
}
