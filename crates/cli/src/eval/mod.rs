//! `travertine eval`: what an expression gives.
//!
//! `language` evaluates, `talk` lets people type one expression after the other.

mod language;
mod talk;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use anyhow::{Result, anyhow, bail};
use travertine_expr::Name;

use crate::{
    args, clock, diagnostic, feel, files, files::Models, json, pairs, prompt::Prompt,
    screen::Screen, status::Status,
};
use language::{Evaluated, Failure, Given, Speaker};

/// Evaluates an expression, or all that someone types.
pub(crate) fn eval(args: &args::Eval, out: &Screen, err: &Screen) -> Result<Status> {
    let mut speaker =
        Speaker::new(args.lang, args.now.unwrap_or_else(clock::now), variables(args)?);
    let expression = match &args.expression {
        Some(expression) => expression.clone(),
        None if io::stdin().is_terminal() => {
            return talk::talk(&mut speaker, &mut Prompt::new()?, args.strict, out);
        }
        None if args.context.as_deref() == Some(Path::new("-")) => {
            bail!("the expression and --context cannot both be standard input");
        }
        None => files::text(Path::new("-"))?,
    };
    Ok(match speaker.evaluate(&expression) {
        Ok(evaluated) => {
            warn(&evaluated, args.strict, err);
            if args.strict && !evaluated.warnings.is_empty() {
                return Ok(Status::Failed);
            }
            out.line(shown(&evaluated, args.json));
            Status::Done
        }
        Err(failure) => tell(&failure, &expression, err),
    })
}

/// The variables at the beginning. Those of arguments go before those of a file.
fn variables(args: &args::Eval) -> Result<Given> {
    let mut given = Given::default();
    if let Some(path) = &args.context {
        let text = files::text(path)?;
        let variables = pairs::object(&text);
        let variables = variables.map_err(|it| anyhow!("{}: {it}", files::title(path)))?;
        given.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
    }
    given.extend(args.vars.iter().map(|(name, value)| (Name::clone(name), value.into())));
    Ok(given)
}

fn shown(evaluated: &Evaluated, as_json: bool) -> String {
    match evaluated.lang {
        args::Lang::Feel if !as_json => feel::pretty(&evaluated.value),
        args::Lang::Feel | args::Lang::Js | args::Lang::Juel => {
            json::pretty(&evaluated.value.to_value())
        }
    }
}

fn warn(evaluated: &Evaluated, is_strict: bool, err: &Screen) {
    let word = if is_strict { err.paint.red("error:") } else { err.paint.yellow("warning:") };
    for warning in &evaluated.warnings {
        err.line(format!("{word} {warning}"));
    }
}

/// Says why there is no value.
fn tell(failure: &Failure, expression: &str, err: &Screen) -> Status {
    match failure {
        Failure::Refused(diagnostic) => {
            let models = Models::of_text(&diagnostic.file, expression);
            err.line(diagnostic::text(diagnostic, &models, err.paint));
            Status::Rejected
        }
        Failure::Failed(reason) => {
            err.line(format!("{} {reason}", err.paint.red("error:")));
            Status::Failed
        }
    }
}
