//! Texts of FEEL where they stand in a model, to compiled ones.

use std::collections::BTreeMap;

use travertine_lang::{
    CompileError,
    feel::{self, Names, Problem},
};
use travertine_value::Name;
use travertine_xml::{Document, Node, Place, Severity};

use crate::{
    logic::Spot,
    report::Sink,
    text::{Tests, Text},
};

/// Compiles the expression in a node. What is wrong with it is reported; `None` where it is none.
pub(crate) fn expression(node: Node<'_>, names: &Names, sink: &Sink) -> Option<Text> {
    if is_foreign(node) {
        return None;
    }
    let compiled = feel::Expression::parse(node.text(), names);
    let compiled = compiled.map_err(|error| refuse(node, &error, sink)).ok()?;
    warn(node, compiled.problems(), sink);
    Some(Text { spot: text_spot(node), compiled })
}

/// Compiles the tests in a node. What is wrong with them is reported; `None` where they are none.
pub(crate) fn tests(node: Node<'_>, names: &Names, sink: &Sink) -> Option<Tests> {
    tests_in(node, node.text(), names, sink)
}

/// Compiles tests that are each a part of the text in a node, separated by commas.
pub(crate) fn tests_apart(node: Node<'_>, names: &Names, sink: &Sink) -> Vec<Tests> {
    parts(node.text()).filter_map(|it| tests_in(node, it, names, sink)).collect()
}

/// Compiles the parts of tests that were compiled as a whole before.
pub(crate) fn tests_of(text: &str, spot: &Spot, names: &Names) -> Vec<Tests> {
    let compiled = parts(text).filter_map(|it| feel::UnaryTests::parse(it, names).ok());
    compiled.map(|compiled| Tests { spot: spot.clone(), compiled }).collect()
}

fn tests_in(node: Node<'_>, text: &str, names: &Names, sink: &Sink) -> Option<Tests> {
    if is_foreign(node) {
        return None;
    }
    let compiled = feel::UnaryTests::parse(text, names);
    let compiled = compiled.map_err(|error| refuse(node, &error, sink)).ok()?;
    warn(node, compiled.problems(), sink);
    Some(Tests { spot: text_spot(node), compiled })
}

/// The attribute that names the language of the texts in an element.
const LANGUAGE: &str = "expressionLanguage";

/// Whether a text says that it is in another language. That is reported for the whole file at once.
fn is_foreign(node: Node<'_>) -> bool {
    let mut around = std::iter::once(node).chain(node.ancestors());
    around.find_map(|it| it.attr(LANGUAGE)).is_some_and(|it| !is_feel(it))
}

/// FEEL goes by many names: all of its versions have a URI, and some tools write S-FEEL.
fn is_feel(language: &str) -> bool {
    let language = language.trim();
    language.is_empty() || language.to_ascii_lowercase().contains("feel")
}

/// Reports the languages of a file that are not FEEL, each once.
pub(crate) fn languages(document: &Document, sink: &Sink) {
    let mut found: BTreeMap<&str, (Node<'_>, usize)> = BTreeMap::new();
    for node in document.nodes() {
        if let Some(language) = node.attr(LANGUAGE).filter(|it| !is_feel(it)) {
            found.entry(language.trim()).or_insert((node, 0)).1 += 1;
        }
    }
    for (language, (first, count)) in found {
        let places = if count == 1 { String::new() } else { format!(", in {count} places") };
        let message =
            format!("the language of expressions is '{language}'{places}; only FEEL is evaluated");
        let help = "write the expressions in FEEL, as `amount > 100` for `${amount > 100}`, and \
                    remove expressionLanguage";
        sink.error("TV2103", first, message, help);
    }
}

/// Where a node begins.
pub(crate) fn spot(node: Node<'_>) -> Spot {
    spot_at(node, node.place())
}

/// Where the text of a node begins.
fn text_spot(node: Node<'_>) -> Spot {
    spot_at(node, node.text_place())
}

fn spot_at(node: Node<'_>, Place { line, column }: Place) -> Spot {
    Spot { file: Name::from(node.document().file.as_str()), line, column }
}

fn refuse(node: Node<'_>, error: &CompileError, sink: &Sink) {
    let place = within(node, error.line, error.column);
    let message = format!("this is not FEEL: {}", error.message);
    sink.add(Severity::Error, "TV2101", node, place, message, "");
}

/// What FEEL calls a mistake is null in DMN, so the model can still be used.
fn warn(node: Node<'_>, problems: &[Problem], sink: &Sink) {
    for problem in problems {
        let place = within(node, problem.place.line, problem.place.column);
        let message = format!("this is always null: {}", problem.message);
        sink.add(Severity::Warning, "TV2102", node, place, message, "");
    }
}

/// A place of a text, as a place of its file.
fn within(node: Node<'_>, line: u32, column: u32) -> Place {
    let Spot { line, column, .. } = text_spot(node).at(line, column);
    Place { line, column }
}

/// The parts of a text between commas outside of quotes and brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut cuts = vec![0];
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => cuts.extend([at, at + 1]),
            _ => {}
        }
    }
    cuts.push(text.len());
    let parts: Vec<_> = cuts.chunks(2).map(|it| text[it[0]..it[1]].trim()).collect();
    parts.into_iter().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_at_commas_outside_of_quotes_and_brackets() {
        let cut = |text| parts(text).collect::<Vec<_>>();
        assert_eq!(
            cut(r#""a, b", [1, 2] , f(x, "\",")"#),
            [r#""a, b""#, "[1, 2]", r#"f(x, "\",")"#]
        );
        assert_eq!(cut(""), Vec::<&str>::new());
    }
}
