//! Folders of the kit, and how their cases are run.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use travertine_dmn::{DecisionResult, Definitions};
use travertine_lang::feel::{Context, FeelValue, Settings};
use travertine_value::time::Timestamp;

use super::{
    Failure, LoadError, Summary,
    case::{Case, Cases, Expected},
    compare::is_as_expected,
};

/// A folder with models and cases, and all folders in it.
#[derive(Debug)]
pub struct Kit {
    folder: PathBuf,
    /// Files of cases, in order.
    files: Vec<PathBuf>,
}

impl Kit {
    /// Finds all files of cases.
    pub fn find(folder: &Path) -> Result<Self, LoadError> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.sort();
        Ok(Self { folder: folder.to_owned(), files })
    }

    /// Runs the cases whose ids contain one of these texts; all where none is given.
    pub fn run(&self, only: &[String]) -> Result<Summary, LoadError> {
        let mut summary = Summary::default();
        for file in &self.files {
            self.run_file(file, only, &mut summary)?;
        }
        Ok(summary)
    }

    fn run_file(
        &self,
        file: &Path,
        only: &[String],
        summary: &mut Summary,
    ) -> Result<(), LoadError> {
        let title = self.title(file);
        let cases = Cases::parse(&title, &bytes(file)?).map_err(|reason| error(file, reason))?;
        let id = |case: &Case| format!("{title}/{}", case.id);
        let is_chosen =
            |case: &&Case| only.is_empty() || only.iter().any(|it| id(case).contains(it.as_str()));
        let chosen: Vec<_> = cases.cases.iter().filter(is_chosen).collect();
        if chosen.is_empty() {
            return Ok(());
        }
        let model = load(&file.with_file_name(&cases.model));
        for case in chosen {
            let failure = match &model {
                Ok(model) => run_case(model, case).err(),
                Err(reason) => Some(Failure {
                    id: String::new(),
                    result: None,
                    expected: "a model that can be loaded".to_owned(),
                    found: reason.clone(),
                }),
            };
            let tally = summary.levels.entry(self.level(file)).or_default();
            match failure {
                None => tally.passed += 1,
                Some(failure) => {
                    tally.failed += 1;
                    summary.failures.push(Failure { id: id(case), ..failure });
                }
            }
        }
        Ok(())
    }

    /// The path from the folder that was given.
    fn title(&self, file: &Path) -> String {
        let within = file.strip_prefix(&self.folder).unwrap_or(file);
        within.display().to_string()
    }

    /// The folder that was given, or the one in it where the file lies deeper.
    fn level(&self, file: &Path) -> String {
        let within = file.strip_prefix(&self.folder).unwrap_or(file);
        let mut steps = within.components();
        match (steps.next(), steps.next(), steps.next()) {
            (Some(first), Some(_), Some(_)) => first.as_os_str().to_string_lossy().into_owned(),
            _ => self.folder.display().to_string(),
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let entries = fs::read_dir(folder).map_err(|it| error(folder, it.to_string()))?;
    for entry in entries {
        let path = entry.map_err(|it| error(folder, it.to_string()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, files)?;
        } else if name.contains("-test-") && path.extension().is_some_and(|it| it == "xml") {
            files.push(path);
        }
    }
    Ok(())
}

/// The model in a file, with those beside it that it imports.
fn load(file: &Path) -> Result<Definitions, String> {
    let own = fs::read(file).map_err(|it| format!("{}: {it}", file.display()))?;
    let mut all = vec![(name_of(file), own)];
    if String::from_utf8_lossy(&all[0].1).contains("import ") {
        let beside = file.parent().and_then(|it| fs::read_dir(it).ok()).into_iter().flatten();
        let beside = beside.flatten().map(|it| it.path());
        let mut beside: Vec<_> = beside
            .filter(|it| it != file && it.extension().is_some_and(|it| it == "dmn"))
            .collect();
        beside.sort();
        for path in beside {
            all.push((name_of(&path), fs::read(&path).map_err(|it| it.to_string())?));
        }
    }
    let files: Vec<_> = all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let report = travertine_dmn::read(&files);
    report.definitions.ok_or_else(|| {
        let errors = report.diagnostics.iter();
        let errors = errors.filter(|it| it.severity == travertine_dmn::Severity::Error);
        errors.map(ToString::to_string).collect::<Vec<_>>().join("; ")
    })
}

/// Runs a case: every result must be as expected.
fn run_case(model: &Definitions, case: &Case) -> Result<(), Failure> {
    let broken = |reason: &String| Failure {
        id: String::new(),
        result: None,
        expected: "a case that can be read".to_owned(),
        found: reason.clone(),
    };
    let inputs = case.inputs.as_ref().map_err(broken)?;
    for result in &case.results {
        let expected = result.value.as_ref().map_err(broken)?;
        let found = match &case.invocable {
            Some(invocable) => {
                evaluate(model, invocable, inputs).map(|it| of_service(it, case, result))
            }
            None => evaluate(model, &result.name, inputs).map(|it| (it.value.clone(), it)),
        };
        let is_good = |value: &FeelValue| {
            is_as_expected(expected, value) || result.is_error && value.is_null()
        };
        let found = match found {
            Ok((value, _)) if is_good(&value) => continue,
            Ok((value, result)) => {
                let problems: Vec<_> = result.problems.iter().map(ToString::to_string).collect();
                match problems.as_slice() {
                    [] => show(&value),
                    _ => format!("{} ({})", show(&value), problems.join("; ")),
                }
            }
            Err(reason) => reason,
        };
        return Err(Failure {
            id: String::new(),
            result: Some(result.name.clone()),
            expected: if result.is_error { "an error".to_owned() } else { show(expected) },
            found,
        });
    }
    Ok(())
}

/// A service with several outputs gives a context of them.
fn of_service(
    result: DecisionResult,
    case: &Case,
    expected: &Expected,
) -> (FeelValue, DecisionResult) {
    let several = result.value.as_context().filter(|context| {
        context.len() > 1 && case.results.iter().all(|it| context.get(&it.name).is_some())
    });
    let value = several.and_then(|it| it.get(&expected.name));
    (value.unwrap_or_else(|| result.value.clone()), result)
}

/// A panic is a failure of its case, not of the run.
fn evaluate(
    model: &Definitions,
    invocable: &str,
    inputs: &Context,
) -> Result<DecisionResult, String> {
    // Any time will do; the kit only asks that there is one.
    let now = Timestamp::from_millis(1_700_000_000_000);
    let settings = Settings { now: Some(now), seed: Some(1), ..Settings::default() };
    let run = || model.evaluate(invocable, inputs, &settings);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|it| it.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("a panic: {}", text.unwrap_or("without a text")))
        }
    }
}

/// The value, and what it is.
fn show(value: &FeelValue) -> String {
    match value {
        FeelValue::Null => "null".to_owned(),
        FeelValue::String(text) => format!("{text:?}"),
        FeelValue::Boolean(_) | FeelValue::Number(_) => value.to_string(),
        _ => format!("{} {value}", value.kind()),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn bytes(file: &Path) -> Result<Vec<u8>, LoadError> {
    fs::read(file).map_err(|it| error(file, it.to_string()))
}

fn error(path: &Path, reason: String) -> LoadError {
    LoadError { path: path.to_owned(), reason }
}
