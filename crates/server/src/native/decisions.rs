//! Expressions and decisions that someone wants to try.

use travertine_data::{decided, json};
use travertine_dmn as dmn;
use travertine_kernel::View;
use travertine_lang::feel::Settings;
use travertine_runtime::Timestamp;
use travertine_value::{Map, Name, Value, time};

use super::{
    call::{Answer, Call, known},
    files::Parts,
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor, run_expression};

pub(super) async fn eval(call: Call) -> Result<Answer, Problem> {
    let expression = call.needed("expression")?;
    let language = call.text("language")?.unwrap_or_else(|| "feel".into());
    known("language", &language, &["feel", "js", "juel"])?;
    let now = match call.text("now")? {
        Some(text) => moment(&text)?,
        None => call.desk.engine().now(),
    };
    let given = call.variables("variables")?;
    let mut variables = Vec::new();
    if let Some(instance) = call.text("instance")? {
        let id = call.instance_to_read(&instance).await?;
        let look = call.desk.engine().look(id).await?;
        variables = match call.count("token")?.map(travertine_kernel::TokenId) {
            None => look.variables,
            Some(token) if look.state.tokens.get(&token).is_some() => {
                View::new(&look.definition.plan, &look.state, token).all()
            }
            Some(token) => {
                return Err(
                    Refusal::not_found(format!("the instance has no token {}", token.0)).into()
                );
            }
        };
    }
    variables.retain(|(name, _)| !given.iter().any(|(it, _)| it == name));
    variables.extend(given);
    let evaluated =
        off_the_executor(move || run_expression(&language, &expression, variables, now));
    let evaluated = evaluated.await?;
    let warnings = evaluated.warnings.iter().map(|it| Value::from(it.as_str()));
    Ok(Answer::Document(json::object([
        ("value", evaluated.value),
        ("warnings", warnings.collect()),
    ])))
}

pub(super) fn moment(text: &str) -> Result<Timestamp, Problem> {
    let wrong = |_| Refusal::invalid(format!("{text:?} is no date such as 2026-05-17T09:30:00Z"));
    Ok(time::due(time::Timer::Date, text, Timestamp::default()).map_err(wrong)?.at)
}

/// Makes a decision that is deployed.
pub(super) async fn decide(call: Call) -> Result<Answer, Problem> {
    let id = Name::from(call.path("decision"));
    let missing = || Refusal::not_found(format!("no decision {id} is deployed"));
    call.desk.may(&id, missing)?;
    let definitions = call.desk.definitions();
    let versions = definitions.decision_versions(&id);
    let version = call.count("version")?;
    let latest = definitions.decision(&id).cloned();
    let found = match version {
        None => latest,
        Some(version) => versions.iter().find(|it| u64::from(it.version) == version).cloned(),
    };
    let found = found.ok_or_else(|| {
        let version = version.map(|it| format!(" version {it}")).unwrap_or_default();
        Refusal::not_found(format!("no decision {id}{version} is deployed"))
    })?;
    let files: Vec<(String, Vec<u8>)> =
        found.files().into_iter().map(|(name, body)| (name.to_owned(), body.to_vec())).collect();
    let given: Map = call.variables("variables")?.into_iter().collect();
    let now = call.desk.engine().now();
    made(files, Some(found.id.to_string()), given, now).await
}

/// Makes a decision of files.
pub(super) async fn decide_files(call: Call) -> Result<Answer, Problem> {
    let parts = Parts::read(call, &["files", "decision", "variables", "now"]).await?;
    let now = match parts.text("now") {
        Some(text) => moment(text)?,
        None => parts.desk.engine().now(),
    };
    let (asked, given) = (parts.text("decision").map(str::to_owned), parts.object("variables")?);
    let files = parts.files.into_iter().map(|it| (it.name, it.body)).collect();
    made(files, asked, given, now).await
}

async fn made(
    files: Vec<(String, Vec<u8>)>,
    asked: Option<String>,
    given: Map,
    now: Timestamp,
) -> Result<Answer, Problem> {
    let made = off_the_executor(move || make(&files, asked.as_deref(), &given, now));
    Ok(Answer::Document(made.await?))
}

fn make(
    files: &[(String, Vec<u8>)],
    asked: Option<&str>,
    given: &Map,
    now: Timestamp,
) -> Result<Value, Refusal> {
    let pairs: Vec<(&str, &[u8])> =
        files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect();
    let report = dmn::read(&pairs);
    let Some(definitions) = &report.definitions else {
        let all: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
        return Err(Refusal::invalid(format!("the model cannot be used: {}", all.join("; "))));
    };
    let all = definitions.invocables();
    let names = || {
        all.iter()
            .map(|it| it.id.clone().unwrap_or_else(|| it.name.to_string()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let found = match asked {
        Some(asked) => all
            .iter()
            .find(|it| it.id.as_deref() == Some(asked))
            .or_else(|| all.iter().find(|it| *it.name == *asked))
            .cloned()
            .ok_or_else(|| {
                Refusal::not_found(format!("there is no decision {asked}; there are {}", names()))
            })?,
        None => match definitions.main_decisions().as_slice() {
            [only] => only.clone(),
            _ => {
                return Err(Refusal::invalid(format!(
                    "which decision? say decision; there are {}",
                    names()
                )));
            }
        },
    };
    let known = found.id.as_deref().unwrap_or(&found.name);
    let seed = Some(now.as_millis().unsigned_abs());
    let settings = Settings { now: Some(now), seed, ..Settings::default() };
    let inputs = definitions.inputs_from_json(known, given);
    let result = definitions
        .evaluate(known, &inputs, &settings)
        .map_err(|error| Refusal::new(Outcome::Invalid, error.to_string()))?;
    Ok(json::object([
        ("decision", Name::clone(&found.name).into()),
        ("id", found.id.as_deref().into()),
        ("value", result.value.to_value()),
        ("decisions", result.decisions.iter().map(decided::decision).collect()),
        ("problems", result.problems.iter().map(decided::problem).collect()),
    ]))
}
