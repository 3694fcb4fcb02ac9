//! The functions that come with FEEL, and those that authors of BPMN models are used to.
//!
//! A function is registered by its signature, as people would write it; several signatures with one
//! name are its forms. `?` marks a parameter that may be left out, `...` one that may be repeated.

mod args;
mod contexts;
mod conversion;
mod lists;
mod misc;
mod numbers;
mod pattern;
mod ranges;
mod statistics;
mod strings;
mod temporal;

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use super::{
    function::{Body, Function},
    lexer,
    value::FeelValue,
};

pub(super) use args::{Answer, Args, Fault};

type Implementation = fn(&mut Args<'_, '_, '_>) -> Answer;
type Entry = (&'static str, Implementation);

/// A function by its name.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    forms: Vec<Form>,
}

/// One way to call it.
pub(super) struct Form {
    pub(super) name: &'static str,
    parameters: Vec<Parameter>,
    is_variadic: bool,
    /// Whether it is there for values that may be null, so that nobody needs to be told of them.
    pub(super) expects_null: bool,
    /// Whether it is no ordinary function.
    pub(super) special: Option<Special>,
    pub(super) run: Implementation,
}

/// Functions that are not called with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// `is defined` asks about the expression, not about its value.
    IsDefined,
}

#[derive(Debug)]
struct Parameter {
    name: &'static str,
    is_optional: bool,
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form").field("name", &self.name).finish_non_exhaustive()
    }
}

struct Registry {
    builtins: BTreeMap<&'static str, Builtin>,
    /// By their first word, longest first.
    by_first: BTreeMap<String, Vec<(Vec<String>, &'static str)>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut builtins = BTreeMap::new();
    let groups: [&[Entry]; 9] = [
        conversion::FUNCTIONS,
        strings::FUNCTIONS,
        lists::FUNCTIONS,
        statistics::FUNCTIONS,
        numbers::FUNCTIONS,
        temporal::FUNCTIONS,
        ranges::FUNCTIONS,
        contexts::FUNCTIONS,
        misc::FUNCTIONS,
    ];
    for (signature, run) in groups.into_iter().flatten() {
        let form = form(signature, *run);
        let name = form.name;
        builtins
            .entry(name)
            .or_insert_with(|| Builtin { name, forms: Vec::new() })
            .forms
            .push(form);
    }
    let mut by_first: BTreeMap<String, Vec<(Vec<String>, &'static str)>> = BTreeMap::new();
    for name in builtins.keys() {
        let words = lexer::words(name);
        by_first.entry(words[0].clone()).or_default().push((words, name));
    }
    for names in by_first.values_mut() {
        names.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
    }
    Registry { builtins, by_first }
});

fn form(signature: &'static str, run: Implementation) -> Form {
    let (name, rest) = signature.split_once('(').expect("a signature has parameters");
    let parameters = rest.strip_suffix(')').expect("a signature ends with its parameters");
    let is_variadic = parameters.ends_with("...");
    let parameters = parameters.trim_end_matches("...");
    let parameter = |text: &'static str| {
        let text = text.trim();
        Parameter { name: text.trim_end_matches('?'), is_optional: text.ends_with('?') }
    };
    let names = parameters.split(',').filter(|it| !it.trim().is_empty());
    Form {
        name,
        parameters: names.map(parameter).collect(),
        is_variadic,
        expects_null: matches!(name, "get or else" | "is defined"),
        special: (name == "is defined").then_some(Special::IsDefined),
        run,
    }
}

/// The longest name of a built-in function that these words begin with.
pub(super) fn longest<'w>(
    word: impl Fn(usize) -> Option<&'w str>,
) -> Option<(usize, &'static Builtin)> {
    let candidates = REGISTRY.by_first.get(word(0)?)?;
    let fits = |(words, _): &&(Vec<String>, &str)| {
        words.iter().enumerate().skip(1).all(|(index, it)| word(index) == Some(it))
    };
    candidates.iter().find(fits).map(|(words, name)| (words.len(), &REGISTRY.builtins[name]))
}

impl Builtin {
    /// The function as a value.
    pub(super) fn value(&'static self) -> FeelValue {
        Function(Body::Builtin(self)).into()
    }

    /// The form that takes such arguments, and which argument each of its parameters gets.
    pub(super) fn form_for(
        &'static self,
        names: &[Option<&str>],
    ) -> Result<(&'static Form, Vec<Option<usize>>), String> {
        let mut why = None;
        for form in &self.forms {
            match form.order(names) {
                Ok(order) => return Ok((form, order)),
                Err(message) => why.get_or_insert(message),
            };
        }
        Err(why.expect("a function has a form"))
    }
}

impl Form {
    fn order(&self, names: &[Option<&str>]) -> Result<Vec<Option<usize>>, String> {
        let parameters = &self.parameters;
        let required = parameters.iter().filter(|it| !it.is_optional).count();
        let is_named = names.first().is_some_and(Option::is_some);
        if !is_named {
            let fits =
                (names.len() <= parameters.len() || self.is_variadic) && names.len() >= required;
            return if fits {
                Ok((0..names.len().max(parameters.len()))
                    .map(|it| (it < names.len()).then_some(it))
                    .collect())
            } else {
                Err(format!("{} takes {}, not {}", self.name, self.arity(required), names.len()))
            };
        }
        let mut order = vec![None; parameters.len()];
        for (index, name) in names.iter().enumerate() {
            let name = name.unwrap_or_default();
            match parameters.iter().position(|it| it.name == name) {
                Some(at) if order[at].is_none() => order[at] = Some(index),
                Some(_) => return Err(format!("{} gets {name} twice", self.name)),
                None => return Err(format!("{} has no parameter {name}", self.name)),
            }
        }
        let is_missing = |(at, it): (usize, &Parameter)| !it.is_optional && order[at].is_none();
        match parameters.iter().enumerate().find(|(at, it)| is_missing((*at, it))) {
            Some((_, parameter)) => Err(format!("{} needs {}", self.name, parameter.name)),
            None => Ok(order),
        }
    }

    fn arity(&self, required: usize) -> String {
        let count = |number: usize| match number {
            1 => "1 argument".to_owned(),
            _ => format!("{number} arguments"),
        };
        let most = self.parameters.len();
        if self.is_variadic {
            format!("at least {}", count(required))
        } else if required == most {
            count(most)
        } else {
            format!("{required} to {}", count(most))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_is_found() {
        let words = ["date", "and", "time", "("];
        let (length, builtin) = longest(|at| words.get(at).copied()).unwrap();
        assert_eq!((length, builtin.name), (3, "date and time"));
    }

    #[test]
    fn arguments_find_their_parameters() {
        let (_, builtin) = longest(|at| ["substring"].get(at).copied()).unwrap();
        let named = [Some("start position"), Some("string")];
        assert_eq!(builtin.form_for(&named).unwrap().1, [Some(1), Some(0), None]);
        assert_eq!(
            builtin.form_for(&[None]).unwrap_err(),
            "substring takes 2 to 3 arguments, not 1"
        );
        assert_eq!(builtin.form_for(&[Some("x")]).unwrap_err(), "substring has no parameter x");
    }
}
