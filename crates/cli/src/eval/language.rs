//! Expressions of any language, with the variables they see.

use std::collections::BTreeMap;

use travertine_bpmn::{Diagnostic, Severity};
use travertine_lang::{
    CompileError, Kind, Languages,
    feel::{Context, Expression, FeelValue, Names, Settings, Warning},
};
use travertine_runtime::Timestamp;
use travertine_value::{Limits, Map, Name, Value, Variables};

use crate::args::Lang;

/// Variables by their names.
pub(crate) type Given = BTreeMap<Name, FeelValue>;

/// Someone who evaluates expressions of one language after the other.
#[derive(Debug)]
pub(crate) struct Speaker {
    pub(crate) lang: Lang,
    pub(crate) variables: Given,
    settings: Settings,
}

/// What an expression gives.
#[derive(Debug)]
pub(crate) struct Evaluated {
    pub(crate) lang: Lang,
    pub(crate) value: FeelValue,
    pub(crate) warnings: Vec<Warning>,
}

/// Why it gives nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is no expression of its language.
    Refused(Box<Diagnostic>),
    /// It could not be carried through.
    Failed(String),
}

impl Speaker {
    pub(crate) fn new(lang: Lang, now: Timestamp, variables: Given) -> Self {
        let seed = Some(now.as_millis().unsigned_abs());
        Self { lang, variables, settings: Settings { now: Some(now), seed, ..Settings::default() } }
    }

    pub(crate) fn evaluate(&self, source: &str) -> Result<Evaluated, Failure> {
        match self.lang {
            Lang::Feel => self.feel(source),
            Lang::Js => self.program("js", source),
            Lang::Juel => self.program("juel", source),
        }
    }

    fn feel(&self, source: &str) -> Result<Evaluated, Failure> {
        let mut names = Names::new();
        for (name, value) in &self.variables {
            names.add(name);
            add_entries(&mut names, value);
        }
        let expression = Expression::parse(source, &names).map_err(|it| refused("FEEL", &it))?;
        let pairs = self.variables.iter();
        let scope: Context =
            pairs.map(|(name, value)| (Name::clone(name), value.clone())).collect();
        let evaluation = expression.evaluate(&scope, &self.settings);
        let evaluation = evaluation
            .map_err(|limit| Failure::Failed(format!("the {limit} limit was exceeded")))?;
        Ok(Evaluated { lang: self.lang, value: evaluation.value, warnings: evaluation.warnings })
    }

    fn program(&self, language: &str, source: &str) -> Result<Evaluated, Failure> {
        let languages = Languages::standard();
        let found = languages.find(language).expect("the standard languages have it");
        let title = if language == "js" { "JavaScript" } else { "JUEL" };
        let program = found.compile(Kind::Expression, source).map_err(|it| refused(title, &it))?;
        let pairs = self.variables.iter();
        let variables: Map =
            pairs.map(|(name, value)| (Name::clone(name), value.to_value())).collect();
        let here = Here { variables, now: self.settings.now };
        let value: Result<Value, _> = program.value(&here, &Limits::default());
        let value = value.map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Evaluated { lang: self.lang, value: value.into(), warnings: Vec::new() })
    }
}

/// What an expression sees: variables, and what time it is.
#[derive(Debug)]
struct Here {
    variables: Map,
    now: Option<Timestamp>,
}

impl Variables for Here {
    fn get(&self, name: &str) -> Option<Value> {
        self.variables.get(name).cloned()
    }

    fn names(&self) -> Vec<Name> {
        self.variables.keys().cloned().collect()
    }

    fn now(&self) -> Option<Timestamp> {
        self.now
    }
}

/// Names of several words are recognised behind a dot only where they are known.
fn add_entries(names: &mut Names, value: &FeelValue) {
    match value {
        FeelValue::Context(context) => {
            for (name, value) in context.iter() {
                names.add_component(name);
                add_entries(names, &value);
            }
        }
        // Items of a list are mostly alike.
        FeelValue::List(items) => items.iter().take(100).for_each(|it| add_entries(names, &it)),
        _ => {}
    }
}

fn refused(language: &str, error: &CompileError) -> Failure {
    let message = if error.foreign {
        format!("this cannot be evaluated here: {}", error.message)
    } else {
        format!("this is not {language}: {}", error.message)
    };
    Failure::Refused(Box::new(Diagnostic {
        severity: Severity::Error,
        code: "TV2101",
        file: "expression".to_owned(),
        element: None,
        line: error.line,
        column: error.column,
        message,
        help: String::new(),
    }))
}
