//! `travertine decide`: what a decision gives, and by which rules.

mod show;

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use travertine_dmn::{Definitions, Error, Input, Invocable, Report, Severity};
use travertine_lang::feel::Settings;
use travertine_value::{Map, Name};

use crate::{
    args, clock, diagnostic, files::Models, json, pairs, screen::Screen, status::Status, store,
};

/// Makes a decision of the files.
pub(crate) fn decide(args: &args::Decide, out: &Screen, err: &Screen) -> Result<Status> {
    let (models, asked) = match &args.data {
        Some(data) => deployed(args, data)?,
        None => (Models::read(&args.files)?, args.decision.clone()),
    };
    let report = models.decisions();
    let Some(definitions) = &report.definitions else {
        reject(&report, &models, args.json, out, err);
        return Ok(Status::Rejected);
    };
    let invocable = choose(definitions, asked.as_deref())?;
    let known = invocable.id.as_deref().unwrap_or(&invocable.name);
    let given = inputs(args)?;
    let needed = definitions.inputs(known).unwrap_or_default();
    check(&given, &needed, err)?;

    let now = args.now.unwrap_or_else(clock::now);
    let seed = Some(now.as_millis().unsigned_abs());
    let settings = Settings { now: Some(now), seed, ..Settings::default() };
    let inputs = definitions.inputs_from_json(known, &given);
    let result = match definitions.evaluate(known, &inputs, &settings) {
        Ok(result) => result,
        Err(Error::Limit(limit)) => {
            let word = err.paint.red("error:");
            err.line(format!("{word} the {limit} limit was exceeded"));
            return Ok(Status::Failed);
        }
        Err(error) => return Err(error.into()),
    };
    let is_failed = args.strict && !result.problems.is_empty();
    let status = if is_failed { Status::Failed } else { Status::Done };
    if args.json {
        out.json(&show::data(&invocable, &result, status));
        return Ok(status);
    }
    for problem in &result.problems {
        err.line(format!("{} {problem}", word(args.strict, err)));
    }
    if !is_failed {
        show::text(&invocable, &result, out);
    }
    Ok(status)
}

/// The files of a decision that is deployed in a store, and its id.
fn deployed(args: &args::Decide, data: &Path) -> Result<(Models, Option<String>)> {
    let [asked] = &args.files[..] else { bail!("with --data name one decision, by its id") };
    let asked = asked.display().to_string();
    let engine = store::patiently(|| store::open_to_look(data))?;
    let definitions = engine.definitions();
    engine.shutdown().map_err(|error| anyhow!(store::explain(&error, data, None)))?;
    let Some(latest) = definitions.decision(&asked) else {
        let all: Vec<String> = definitions.decisions().map(|it| format!("'{}'", it.id)).collect();
        let there =
            if all.is_empty() { "are none".to_owned() } else { format!("is {}", all.join(", ")) };
        bail!("no decision '{asked}' is deployed in {}; there {there}", data.display());
    };
    let versions = definitions.decision_versions(&latest.id);
    let found = versions.iter().find(|it| it.version == args.version.unwrap_or(latest.version));
    let Some(found) = found else {
        let all: Vec<String> = versions.iter().map(|it| it.version.to_string()).collect();
        bail!("decision '{asked}' has no such version, only {}", all.join(", "));
    };
    let files = found.files().into_iter().map(|(name, body)| (name.to_owned(), body.to_vec()));
    Ok((Models::of_all(files.collect()), Some(found.id.to_string())))
}

/// How a line begins that says what became null.
fn word(is_strict: bool, err: &Screen) -> String {
    if is_strict { err.paint.red("error:") } else { err.paint.yellow("warning:") }
}

fn reject(report: &Report, models: &Models, as_json: bool, out: &Screen, err: &Screen) {
    if as_json {
        out.json(&json::object([
            ("outcome", "rejected".into()),
            ("exit_status", u32::from(Status::Rejected.code()).into()),
            ("diagnostics", report.diagnostics.iter().map(diagnostic::data).collect()),
        ]));
        return;
    }
    for it in report.diagnostics.iter().filter(|it| it.severity == Severity::Error) {
        err.lines(diagnostic::text(it, models, err.paint));
        err.line("");
    }
    err.line(format!("{} the model cannot be used", err.paint.red("rejected:")));
}

/// What was asked for, or what the model is there for.
fn choose(definitions: &Definitions, asked: Option<&str>) -> Result<Invocable> {
    let all = definitions.invocables();
    if let Some(asked) = asked {
        let by_id = all.iter().find(|it| it.id.as_deref() == Some(asked));
        let found = by_id.or_else(|| all.iter().find(|it| *it.name == *asked));
        let none = || anyhow!("there is no decision '{asked}'; there {}", list(&all));
        return found.cloned().ok_or_else(none);
    }
    match definitions.main_decisions().as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!("no decision is the last one; name one with --decision: there {}", list(&all)),
        several => bail!("say which decision is meant with --decision: there {}", list(several)),
    }
}

fn list(all: &[Invocable]) -> String {
    let names: Vec<_> = all.iter().map(|it| format!("'{}'", it.name)).collect();
    match names.as_slice() {
        [] => "are none".to_owned(),
        [only] => format!("is {only}"),
        several => format!("are {}", several.join(", ")),
    }
}

/// The inputs given. Single ones go before those of an object.
fn inputs(args: &args::Decide) -> Result<Map> {
    Ok(pairs::given("--input", args.input.as_deref(), &args.vars)?.into_iter().collect())
}

/// Refuses to decide without something that the decision needs; says what nobody needs.
fn check(given: &Map, needed: &[Input], err: &Screen) -> Result<()> {
    let missing: Vec<_> = needed.iter().filter(|it| !is_given(given, &it.name)).collect();
    if !missing.is_empty() {
        let names = missing.iter().map(|it| match &*it.type_name {
            "Any" => format!("'{}'", it.name),
            of => format!("'{}' ({of})", it.name),
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let example = &missing[0].name;
        bail!("inputs are missing: {names}; give them with --input FILE or --var '{example}=…'");
    }
    let is_needed = |name: &Name| {
        needed.iter().any(|it| it.name == *name || it.name.split('.').any(|step| step == &**name))
    };
    for name in given.keys().filter(|it| !is_needed(it)) {
        let word = err.paint.yellow("warning:");
        err.line(format!("{word} the decision needs no input '{name}'"));
    }
    Ok(())
}

/// Whether an input is given: by its full name, in contexts named like the imports on the way to it,
/// or without those.
fn is_given(given: &Map, name: &str) -> bool {
    let plain = name.rsplit_once('.').map_or(name, |(_, plain)| plain);
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let is_nested =
        given.get(first).and_then(|it| it.as_map()).is_some_and(|it| is_given(it, rest));
    given.contains_key(name) || given.contains_key(plain) || is_nested
}
