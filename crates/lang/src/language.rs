//! Languages: how the texts of models become programs.

use std::{fmt, sync::Arc};

use travertine_value::Program;

use crate::{feel::Feel, fleans::Fleans, js::JavaScript, juel::Juel};

/// An expression has a value; a script also writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One expression, evaluated for its value.
    Expression,
    /// Statements, run for what they write.
    Script,
}

/// Why a source text is not a program. Lines and columns count from 1, within the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// What is wrong, naming the thing.
    pub message: String,
    /// Where.
    pub line: u32,
    /// Where in the line.
    pub column: u32,
    /// Whether it asks for something of a Java application, which is not there.
    pub foreign: bool,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)
    }
}

impl std::error::Error for CompileError {}

/// A language: how its texts become programs.
pub trait Language: fmt::Debug + Send + Sync {
    /// The names and URIs it goes by in models, in lower case.
    fn names(&self) -> &[&str];

    /// Compiles a text.
    fn compile(&self, kind: Kind, source: &str) -> Result<Program, CompileError>;
}

/// The languages a reader of models knows.
#[derive(Clone, Debug, Default)]
pub struct Languages {
    known: Vec<Arc<dyn Language>>,
}

impl Languages {
    /// None at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// All that come with the engine.
    pub fn standard() -> Self {
        Self::with_script(JavaScript::default())
    }

    /// All that come with the engine, for texts that have been accepted before: they are read however long that
    /// takes, so that it does not depend on the machine whether they can be.
    pub fn patient() -> Self {
        Self::with_script(JavaScript { is_patient: true })
    }

    fn with_script(script: JavaScript) -> Self {
        Self::empty()
            .with(Arc::new(Fleans))
            .with(Arc::new(Juel))
            .with(Arc::new(script))
            .with(Arc::new(Feel::default()))
    }

    /// Adds a language. It goes before those already there that share a name with it.
    #[must_use]
    pub fn with(mut self, language: Arc<dyn Language>) -> Self {
        self.known.insert(0, language);
        self
    }

    /// The language of that name, in whatever case it is written.
    pub fn find(&self, name: &str) -> Option<&dyn Language> {
        let name = name.to_lowercase();
        self.known.iter().find(|it| it.names().contains(&name.as_str())).map(|it| &**it)
    }
}

#[cfg(test)]
mod tests {
    use travertine_value::{Limits, Map};

    use super::*;

    #[test]
    fn languages_go_by_all_their_names_in_any_case() {
        let languages = Languages::standard();
        for name in [
            "juel",
            "EL",
            "FEEL",
            "https://www.omg.org/spec/DMN/20230324/FEEL/",
            "JavaScript",
            "js",
            "ECMAScript",
            "text/javascript",
            "application/javascript",
        ] {
            assert!(languages.find(name).is_some(), "{name}");
        }
        assert!(languages.find("groovy").is_none());
        assert!(Languages::empty().find("js").is_none());
    }

    #[test]
    fn the_language_added_last_wins() {
        #[derive(Debug)]
        struct Mine;
        impl Language for Mine {
            fn names(&self) -> &[&str] {
                &["js"]
            }
            fn compile(&self, _: Kind, _: &str) -> Result<Program, CompileError> {
                Ok(Program::constant("mine".into()))
            }
        }
        let languages = Languages::standard().with(Arc::new(Mine));
        let program = languages.find("js").unwrap().compile(Kind::Expression, "1").unwrap();
        assert_eq!(program.value(&Map::new(), &Limits::default()), Ok("mine".into()));
        assert_eq!(program.reads(), Some(&[][..]));
    }
}
