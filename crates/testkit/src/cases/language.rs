//! The languages that only suites use, put in terms of ours.
//!
//! The reader takes texts that name no language for JavaScript, so these go by that name too where
//! a suite is written in them.

use std::sync::{Arc, Mutex};

use travertine_lang::{
    CompileError, Kind, Language, Languages,
    juel::{self, Juel},
};
use travertine_value::{
    EvalError, Evaluate, Limits, Map, Name, Outcome, Program, Value, Variables,
};

use super::format::{Case, Suite};

/// What scripts have written in a case.
pub(super) type Written = Arc<Mutex<Vec<String>>>;

/// The languages of a case, before those of the product.
pub(super) fn languages(suite: &Suite, case: &Case, written: &Written) -> Languages {
    let standard = Languages::standard();
    match (case.script_dialect.as_str(), case.expression_dialect.as_str()) {
        ("betsy-tokens", _) | (_, "betsy-bare") => {
            standard.with(Arc::new(Betsy { written: Arc::clone(written) }))
        }
        // The product has a language for those of Fleans.
        ("python", _) | (_, "python") => standard.with(Arc::new(Table {
            expressions: suite.expressions.clone(),
            scripts: suite.scripts.clone(),
        })),
        _ => standard,
    }
}

/// Scripts that are a single word each, and expressions without braces.
#[derive(Debug)]
struct Betsy {
    written: Written,
}

impl Language for Betsy {
    fn names(&self) -> &[&str] {
        &["javascript", "betsy"]
    }

    fn compile(&self, kind: Kind, source: &str) -> Result<Program, CompileError> {
        match kind {
            Kind::Expression => juel::compile_bare(source.trim()),
            Kind::Script => {
                let token = source.trim();
                if !TOKENS.contains(&token) && !token.starts_with("SCRIPT_task") {
                    return Err(unknown(source));
                }
                let script = Token { token: token.to_owned(), written: Arc::clone(&self.written) };
                Ok(Program::new(source, Arc::new(script)))
            }
        }
    }
}

const TOKENS: [&str; 10] = [
    "CREATE_LOG_FILE",
    "CREATE_MARKER_FILE",
    "INCREMENT_INTEGER_VARIABLE",
    "INCREMENT_INTEGER_VARIABLE_AND_LOG",
    "SET_STRING_DATA",
    "LOG_DATA",
    "THROW_ERROR",
    "CREATE_TIMESTAMP_LOG_1",
    "CREATE_TIMESTAMP_LOG_2",
    "WAIT_TEN_SECONDS",
];

#[derive(Debug)]
struct Token {
    token: String,
    written: Written,
}

impl Evaluate for Token {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let log = |text: &str| {
            self.written.lock().expect("nobody panics with it").push(text.to_owned());
        };
        let set = |name: &str, value: Value| Outcome {
            value: Value::Null,
            writes: vec![(name.into(), Some(value))],
        };
        Ok(match self.token.as_str() {
            "CREATE_MARKER_FILE" => {
                log("MARKER_exists");
                Outcome::default()
            }
            "INCREMENT_INTEGER_VARIABLE" => set("integerVariable", incremented(variables)?),
            "INCREMENT_INTEGER_VARIABLE_AND_LOG" => {
                let value = incremented(variables)?;
                log("INCREMENT_correct");
                set("integerVariable", value)
            }
            "SET_STRING_DATA" => set("data", "String".into()),
            "LOG_DATA" => {
                if variables.get("data").as_ref().and_then(Value::as_str) == Some("String") {
                    log("DATA_correct");
                }
                Outcome::default()
            }
            "THROW_ERROR" => {
                return Err(EvalError::Thrown {
                    code: "ERR_CODE".to_owned(),
                    message: "thrown by a script".to_owned(),
                });
            }
            "CREATE_LOG_FILE" | "CREATE_TIMESTAMP_LOG_1" | "WAIT_TEN_SECONDS" => Outcome::default(),
            // Both run at the same moment of the virtual clock, so their times overlap.
            "CREATE_TIMESTAMP_LOG_2" => {
                log("EXECUTION_parallel");
                Outcome::default()
            }
            script => {
                log(script);
                Outcome::default()
            }
        })
    }
}

fn incremented(variables: &dyn Variables) -> Result<Value, EvalError> {
    let value = variables.get("integerVariable").as_ref().and_then(Value::as_i64);
    let value =
        value.ok_or_else(|| EvalError::Failed("integerVariable is no number".to_owned()))?;
    Ok((value + 1).into())
}

/// Texts that a suite says the meaning of.
#[derive(Debug)]
struct Table {
    expressions: Map,
    scripts: Map,
}

impl Language for Table {
    fn names(&self) -> &[&str] {
        &["javascript", "python", "c#", "csharp", "http://groovy.codehaus.org/"]
    }

    fn compile(&self, kind: Kind, source: &str) -> Result<Program, CompileError> {
        match kind {
            Kind::Expression => {
                let meaning = look_up(&self.expressions, source).and_then(Value::as_str);
                Juel.compile(Kind::Expression, meaning.ok_or_else(|| unknown(source))?)
            }
            Kind::Script => {
                let all = look_up(&self.scripts, source).and_then(Value::as_list);
                let operations: Result<_, _> =
                    all.ok_or_else(|| unknown(source))?.iter().map(operation).collect();
                Ok(Program::new(source, Arc::new(Script(operations?))))
            }
        }
    }
}

/// The meaning of a text, whatever the space around it and at the ends of its lines.
pub(super) fn look_up<'a>(table: &'a Map, source: &str) -> Option<&'a Value> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    table.get(source.trim()).or_else(|| {
        let wanted = plain(source);
        table.iter().find(|(text, _)| plain(text) == wanted).map(|(_, value)| value)
    })
}

#[derive(Debug)]
struct Script(Vec<Operation>);

#[derive(Debug)]
enum Operation {
    Set(Name, Program),
    Unset(Name),
    Throw(String),
}

fn operation(json: &Value) -> Result<Operation, CompileError> {
    let text = |name| json.field(name).and_then(Value::as_str);
    if let Some(name) = text("set") {
        let program = match (text("to"), json.field("value")) {
            (Some(expression), _) => Juel.compile(Kind::Expression, expression)?,
            (None, value) => Program::constant(value.cloned().unwrap_or_default()),
        };
        return Ok(Operation::Set(name.into(), program));
    }
    if let Some(name) = text("unset") {
        return Ok(Operation::Unset(name.into()));
    }
    text("throw").map(|it| Operation::Throw(it.to_owned())).ok_or_else(|| unknown(&json.to_json()))
}

impl Evaluate for Script {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let mut so_far = Over { variables, writes: Vec::new() };
        for operation in &self.0 {
            match operation {
                Operation::Set(name, program) => {
                    let value = program.value(&so_far, limits)?;
                    so_far.writes.push((Name::clone(name), Some(value)));
                }
                Operation::Unset(name) => so_far.writes.push((Name::clone(name), None)),
                Operation::Throw(code) => {
                    let message = format!("error {code} was raised");
                    return Err(EvalError::Thrown { code: code.clone(), message });
                }
            }
        }
        Ok(Outcome { value: Value::Null, writes: so_far.writes })
    }
}

/// Variables as a script has left them so far.
struct Over<'a> {
    variables: &'a dyn Variables,
    writes: Vec<(Name, Option<Value>)>,
}

impl Variables for Over<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        match self.writes.iter().rfind(|(it, _)| &**it == name) {
            Some((_, value)) => value.clone(),
            None => self.variables.get(name),
        }
    }

    fn names(&self) -> Vec<Name> {
        self.variables.names()
    }
}

fn unknown(source: &str) -> CompileError {
    let message = format!("the suite does not say what this means: {source}");
    CompileError { message, line: 1, column: 1, foreign: false }
}
