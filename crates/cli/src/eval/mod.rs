//! `travertine eval`: what an expression gives.
//!
//! `language` evaluates, `talk` lets people type one expression after the other.

mod language;
mod talk;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use anyhow::{Result, bail};

use crate::{
    args, clock, diagnostic, feel, files, files::Models, pairs, prompt::Prompt, screen::Screen,
    status::Status,
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
        None if args.context.as_deref() == Some("-") => {
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
            show(&evaluated, args.json, out);
            Status::Done
        }
        Err(failure) => tell(&failure, &expression, err),
    })
}

/// The variables at the beginning. Single ones go before those of an object.
fn variables(args: &args::Eval) -> Result<Given> {
    let given = pairs::given("--context", args.context.as_deref(), &args.vars)?;
    Ok(given.into_iter().map(|(name, value)| (name, value.into())).collect())
}

fn show(evaluated: &Evaluated, as_json: bool, out: &Screen) {
    match evaluated.lang {
        args::Lang::Feel if !as_json => out.lines(feel::pretty(&evaluated.value)),
        args::Lang::Feel | args::Lang::Js | args::Lang::Juel => {
            out.json(&evaluated.value.to_value());
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
            err.lines(diagnostic::text(diagnostic, &models, err.paint));
            Status::Rejected
        }
        Failure::Failed(reason) => {
            err.line(format!("{} {reason}", err.paint.red("error:")));
            Status::Failed
        }
    }
}
