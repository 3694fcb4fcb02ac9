//! Decisions as programs: how processes make them.

use std::sync::Arc;

use travertine_expr::{
    CompileError, EvalError, Evaluate, Kind, Language, Limits, Map, Name, Outcome, Program,
    Variables, feel::Settings,
};

use crate::{definitions::Definitions, result::Error};

/// Decision models as a language in which a text is the id or the name of a decision.
///
/// Register it with [`Languages::with`](travertine_expr::Languages::with): business rule tasks then
/// find the decisions they name.
#[derive(Clone, Debug)]
pub struct Decisions {
    models: Vec<Arc<Definitions>>,
}

impl Decisions {
    /// The decisions of these models. Where several have one of the same id, the first counts.
    pub fn new(models: Vec<Arc<Definitions>>) -> Self {
        Self { models }
    }
}

impl Language for Decisions {
    fn names(&self) -> &[&str] {
        &["dmn"]
    }

    fn compile(&self, _: Kind, source: &str) -> Result<Program, CompileError> {
        let source = source.trim();
        let found = self.models.iter().find_map(|it| Some((it, it.inputs(source)?)));
        let Some((model, inputs)) = found else {
            let known = self.models.iter().flat_map(|it| it.invocables());
            let known: Vec<String> =
                known.map(|it| it.id.unwrap_or_else(|| it.name.to_string())).collect();
            let message = format!("no decision '{source}', only {}", known.join(", "));
            return Err(CompileError { message, line: 1, column: 1 });
        };
        let names = inputs.into_iter().map(|it| it.name).collect();
        let call = Call { model: Arc::clone(model), decision: source.into(), names };
        Ok(Program::new(source, Arc::new(call)))
    }
}

#[derive(Debug)]
struct Call {
    model: Arc<Definitions>,
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
        let inputs = self.model.inputs_from_json(&self.decision, &given);
        let settings = Settings { now: variables.now(), limits: *limits, ..Settings::default() };
        let result = self.model.evaluate(&self.decision, &inputs, &settings);
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
