//! Names as people write them and as they are compared.

/// The name with single spaces between its words: line breaks in XML do not make another name.
pub(crate) fn tidy(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}
