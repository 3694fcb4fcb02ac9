//! Expressions that someone wants to try.

use travertine_kernel::{Assignments, View};
use travertine_lang::{
    Kind, Languages,
    feel::{Context, Expression, FeelValue, Names, Settings, Warning},
};
use travertine_runtime::{Engine, Named, Timestamp};
use travertine_value::{Limits, Map, Name, Value};

use crate::access::Permission;

use super::{Desk, Outcome, Refusal, deploy::off_the_executor, key};

/// What an expression gives.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Its value.
    pub value: Value,
    /// What became null on the way.
    pub warnings: Vec<String>,
}

impl Desk {
    /// What an expression of FEEL gives. It sees the variables of a scope, where one is named, and over them those
    /// that are given.
    pub async fn evaluate(
        &self,
        source: &str,
        scope: Option<i64>,
        given: Assignments,
    ) -> Result<Evaluated, Refusal> {
        let source = source.trim().strip_prefix('=').unwrap_or(source).to_owned();
        let mut variables = match scope {
            Some(scope) => self.visible(scope).await?,
            None => Assignments::new(),
        };
        variables.retain(|(name, _)| !given.iter().any(|(it, _)| it == name));
        variables.extend(given);
        let now = self.engine.now();
        off_the_executor(move || {
            let seed = Some(now.as_millis().unsigned_abs());
            evaluate(&source, variables, &Settings { now: Some(now), seed, ..Settings::default() })
        })
        .await
    }

    /// The variables that an element instance sees.
    pub(crate) async fn visible(&self, scope: i64) -> Result<Assignments, Refusal> {
        let named = key::element(scope)?;
        let missing = || key::no_such("element instance", scope, None);
        let instance = named.instance().ok_or_else(missing)?;
        self.needing(Permission::Read)?.may_instance(instance, missing).await?;
        let visit = if let Named::Visit(_, visit) = named { visit } else { 0 };
        visible(&self.engine, instance, visit).await?.ok_or_else(missing)
    }
}

/// What is seen from a stay at an element, 0 for the process itself; `None` where it is over.
async fn visible(
    engine: &Engine,
    instance: travertine_runtime::InstanceId,
    visit: u64,
) -> Result<Option<Assignments>, Refusal> {
    let look = engine.look(instance).await?;
    let token = look.state.token_on(visit);
    if let Some(token) = token {
        return Ok(Some(View::new(&look.definition.plan, &look.state, token).all()));
    }
    Ok((visit == 0).then_some(look.variables))
}

fn evaluate(
    source: &str,
    variables: Assignments,
    settings: &Settings,
) -> Result<Evaluated, Refusal> {
    let variables: Vec<(Name, FeelValue)> =
        variables.into_iter().map(|(name, value)| (name, value.into())).collect();
    let mut names = Names::new();
    for (name, _) in &variables {
        names.add(name);
    }
    let expression = Expression::parse(source, &names).map_err(|error| {
        let (line, column) = (error.line, error.column);
        Refusal::invalid(format!(
            "this is not FEEL: {} (line {line}, column {column})",
            error.message
        ))
    })?;
    let scope: Context = variables.into_iter().collect();
    let evaluation = expression.evaluate(&scope, settings).map_err(|limit| {
        Refusal::new(
            Outcome::Invalid,
            format!("the expression takes too much: the {limit} limit was exceeded"),
        )
    })?;
    let warnings = evaluation.warnings.iter().map(Warning::to_string).collect();
    Ok(Evaluated { value: evaluation.value.to_value(), warnings })
}

/// What an expression of a language gives: `feel`, `js` or `juel`.
pub(crate) fn run(
    language: &str,
    source: &str,
    variables: Assignments,
    now: Timestamp,
) -> Result<Evaluated, Refusal> {
    if language == "feel" {
        let seed = Some(now.as_millis().unsigned_abs());
        let settings = Settings { now: Some(now), seed, ..Settings::default() };
        let source = source.trim().strip_prefix('=').unwrap_or(source);
        return evaluate(source, variables, &settings);
    }
    let wrong =
        |what: &str, why: &dyn std::fmt::Display| Refusal::invalid(format!("{what}: {why}"));
    let languages = Languages::standard();
    let language = languages
        .find(language)
        .ok_or_else(|| Refusal::invalid(format!("there is no language {language}")))?;
    let program = language.compile(Kind::Expression, source);
    let program = program.map_err(|it| wrong("the expression cannot be read", &it.message))?;
    let variables: Map = variables.into_iter().collect();
    let value = program.value(&variables, &Limits::default());
    let value = value.map_err(|it| wrong("the expression failed", &it))?;
    Ok(Evaluated { value, warnings: Vec::new() })
}
