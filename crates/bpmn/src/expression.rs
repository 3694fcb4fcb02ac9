//! Which language a text is in, and its program.

use std::sync::Arc;

use travertine_lang::{Kind, Languages};
use travertine_value::{
    EvalError, Evaluate, Limits, Map, Name, Outcome, Program, Value, Variables,
};

use crate::{
    report::Sink,
    xml::{Attribute, Node, Ns, Place, Severity},
};

/// The default of the standard, which tools write without meaning it.
const XPATH: &str = "http://www.w3.org/1999/XPath";

/// Compiles the texts of models.
#[derive(Debug)]
pub(crate) struct Compiler<'a> {
    pub(crate) languages: &'a Languages,
    /// The language of texts in models that name none.
    pub(crate) default: Option<&'a str>,
    /// The language that all texts are in which do not name one that is known.
    pub(crate) only: Option<&'static str>,
    pub(crate) sink: &'a Sink,
}

/// A text and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) at: Node<'a>,
    pub(crate) place: Place,
    pub(crate) source: &'a str,
    /// The language it says it is in.
    pub(crate) language: Option<&'a str>,
}

impl<'a> Text<'a> {
    /// The text of an element, without the space around it.
    pub(crate) fn of(node: Node<'a>) -> Self {
        let language = node.attr("language");
        Self { at: node, place: node.text_place(), source: node.text(), language }.trimmed()
    }

    /// The value of an attribute of `node`.
    pub(crate) fn attribute(node: Node<'a>, attribute: &'a Attribute) -> Self {
        let (place, source) = (attribute.value_place, attribute.value.as_str());
        Self { at: node, place, source, language: None }.trimmed()
    }

    /// The value of an attribute of `node`, where it has one.
    pub(crate) fn ext(node: Node<'a>, ns: &Ns, name: &str) -> Option<Self> {
        node.attribute(ns, name).map(|it| Self::attribute(node, it))
    }

    pub(crate) fn in_language(self, language: Option<&'a str>) -> Self {
        Self { language, ..self }
    }

    fn trimmed(self) -> Self {
        let text = self.source.trim_start();
        let mut place = self.place;
        for character in self.source[..self.source.len() - text.len()].chars() {
            if character == '\n' {
                place = Place { line: place.line + 1, column: 1 };
            } else {
                place.column += 1;
            }
        }
        Self { place, source: text.trim_end(), ..self }
    }

    /// Whether it says itself that it is an expression.
    pub(crate) fn is_marked(&self) -> bool {
        self.language.is_some()
            || self.source.contains("${")
            || self.source.contains("#{")
            || self.source.starts_with('=')
    }

    /// A place in it, as a place in the file.
    fn at(&self, line: u32, column: u32) -> Place {
        match line {
            0 | 1 => Place {
                line: self.place.line,
                column: self.place.column + column.saturating_sub(1),
            },
            _ => Place { line: self.place.line + line - 1, column },
        }
    }
}

impl Compiler<'_> {
    /// An expression, evaluated for its value.
    pub(crate) fn expression(&self, text: Text<'_>) -> Program {
        self.compile(Kind::Expression, text)
    }

    /// Statements, run for what they write.
    pub(crate) fn script(&self, text: Text<'_>) -> Program {
        self.compile(Kind::Script, text)
    }

    /// An expression, where it is one that can be evaluated here. Nothing is reported.
    pub(crate) fn understood(&self, text: Text<'_>) -> Option<Program> {
        let (name, source) = self.language(text);
        self.languages.find(name)?.compile(Kind::Expression, source).ok()
    }

    /// An expression where the text says that it is one, and the text itself otherwise.
    pub(crate) fn text(&self, text: Text<'_>) -> Program {
        if text.is_marked() { self.expression(text) } else { literal(text.source) }
    }

    fn compile(&self, kind: Kind, text: Text<'_>) -> Program {
        if text.source.is_empty() {
            let message = format!("{} has no text", text.at.title());
            self.sink.error("TV0501", text.at, message, "write an expression");
            return nothing();
        }
        let (name, source) = self.language(text);
        let Some(language) = self.languages.find(name) else {
            if let Some(variable) = text.source.strip_prefix('=').map(str::trim)
                && is_identifier(variable)
            {
                return variable_named(variable);
            }
            let message = format!("no language '{name}' is known, for: {}", text.source);
            let help = "write it in JavaScript or FEEL, or let a worker do it: as an external task, or a \
                        service task with tv:jobType";
            self.sink.add(Severity::Error, "TV0502", text.at, text.place, message, help);
            return nothing();
        };
        language.compile(kind, source).unwrap_or_else(|error| {
            let place = text.at(error.line, error.column);
            let (message, help) = if error.foreign {
                let help = "let a worker do it, which has the application at hand: as an external task, or \
                            a service task with tv:jobType";
                (format!("this cannot be evaluated here: {}", error.message), help)
            } else {
                let help = match kind {
                    Kind::Expression => "correct the expression",
                    Kind::Script => "correct the script",
                };
                (format!("this is not {name}: {}", error.message), help)
            };
            self.sink.add(Severity::Error, "TV0503", text.at, place, message, help);
            nothing()
        })
    }

    /// The language of a text, and the text as that language wants it.
    fn language<'t>(&'t self, text: Text<'t>) -> (&'t str, &'t str) {
        if let Some(only) = self.only {
            let named = text.language.filter(|it| self.languages.find(it).is_some());
            return (named.unwrap_or(only), text.source);
        }
        if let Some(language) = text.language {
            return (language, text.source);
        }
        if text.source.contains("${") || text.source.contains("#{") {
            return ("juel", text.source);
        }
        if let Some(feel) = text.source.strip_prefix('=') {
            return ("feel", feel.trim_start());
        }
        match text.at.document().root().attr("expressionLanguage") {
            Some(language) if !language.starts_with(XPATH) => (language, text.source),
            _ => (self.default.unwrap_or("javascript"), text.source),
        }
    }
}

/// The value of a variable; null where there is none.
pub(crate) fn variable_named(name: &str) -> Program {
    let names = [Name::from(name)];
    Program::new(name, Arc::new(Variable(names)))
}

/// A text that stands for itself.
pub(crate) fn literal(text: &str) -> Program {
    Program::constant(Value::String(Arc::from(text)))
}

/// What stands where there was an error.
pub(crate) fn nothing() -> Program {
    Program::constant(Value::Null)
}

/// Whether it is the plain name of a variable.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|it| it.is_alphabetic() || it == '_' || it == '$')
        && characters.all(|it| it.is_alphanumeric() || it == '_' || it == '$')
}

#[derive(Debug)]
struct Variable([Name; 1]);

impl Evaluate for Variable {
    fn run(&self, variables: &dyn Variables, _: &Limits) -> Result<Outcome, EvalError> {
        let value = variables.get(&self.0[0]).unwrap_or_default();
        Ok(Outcome { value, writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(&self.0)
    }
}

/// A list of what several programs give.
pub(crate) fn list_of(items: Vec<Program>) -> Program {
    let sources: Vec<_> = items.iter().map(Program::source).collect();
    let source = format!("[{}]", sources.join(", "));
    Program::new(&source, Arc::new(ListOf(items)))
}

#[derive(Debug)]
struct ListOf(Vec<Program>);

impl Evaluate for ListOf {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let items: Result<_, _> = self.0.iter().map(|it| it.value(variables, limits)).collect();
        Ok(Outcome { value: Value::List(Arc::new(items?)), writes: Vec::new() })
    }
}

/// An object of what several programs give.
pub(crate) fn map_of(fields: Vec<(Name, Program)>) -> Program {
    let sources: Vec<_> =
        fields.iter().map(|(name, it)| format!("{name}: {}", it.source())).collect();
    let source = format!("{{{}}}", sources.join(", "));
    Program::new(&source, Arc::new(MapOf(fields)))
}

#[derive(Debug)]
struct MapOf(Vec<(Name, Program)>);

impl Evaluate for MapOf {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let mut map = Map::new();
        for (name, program) in &self.0 {
            map.insert(Arc::clone(name), program.value(variables, limits)?);
        }
        Ok(Outcome { value: Value::Map(Arc::new(map)), writes: Vec::new() })
    }
}
