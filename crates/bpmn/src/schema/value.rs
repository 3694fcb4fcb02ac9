//! Whether a text is the value that the table asks for.

use super::Type;

/// What is wrong with a value, as the end of a sentence. References are checked elsewhere.
pub(super) fn fault(value: &str, wanted: &Type) -> Option<String> {
    let value = value.trim();
    match wanted {
        Type::Text => None,
        Type::Id => (!is_name(value)).then(|| {
            "is not an id: ids begin with a letter or '_' and have no spaces or colons".to_owned()
        }),
        Type::Bool => (!["true", "false", "1", "0"].contains(&value))
            .then(|| "is neither 'true' nor 'false'".to_owned()),
        Type::Int(min) => match value.parse::<i64>() {
            Ok(number) if number >= *min => None,
            Ok(_) => Some(format!("is less than {min}")),
            Err(_) => Some("is not a whole number".to_owned()),
        },
        Type::Uri => (!is_uri(value)).then(|| "is not a URI".to_owned()),
        Type::OneOf(words) => {
            (!words.contains(&value)).then(|| format!("is not one of {}", words.join(", ")))
        }
        Type::Ref(_) => {
            value.is_empty().then(|| "is empty, but must be the id of an element".to_owned())
        }
    }
}

/// Whether it can be an id: an `NCName` of XML.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next().is_some_and(|it| it.is_alphabetic() || it == '_');
    first && characters.all(|it| it.is_alphanumeric() || "_-.\u{B7}".contains(it))
}

/// Whether it can be a URI reference: what never stands in one is not there, and what stands
/// before the first colon is a scheme.
pub(crate) fn is_uri(text: &str) -> bool {
    // The standard's own words, such as `##Compensate`, stand where a URI may.
    let text = text.strip_prefix("##").unwrap_or(text);
    let characters = text.chars().all(|it| !it.is_whitespace() && !"<>\"{}|\\^`".contains(it));
    let escapes = text.match_indices('%').all(|(at, _)| {
        let digits = text.get(at + 1..at + 3);
        digits.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let scheme = match text.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            let mut letters = scheme.chars();
            letters.next().is_some_and(|it| it.is_ascii_alphabetic())
                && letters.all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
        }
        _ => true,
    };
    characters && escapes && scheme && text.matches('#').count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names() {
        assert!(is_name("_1") && is_name("a-b.c"));
        assert!(!is_name("1") && !is_name("") && !is_name("a b") && !is_name("a:b"));
    }

    #[test]
    fn uris_have_a_scheme_before_the_colon() {
        assert!(is_uri("http://www.w3.org/1999/XPath") && is_uri("feel") && is_uri("urn:a:b"));
        assert!(is_uri("##Compensate") && !is_uri("##a b") && !is_uri("a##b"));
        assert!(!is_uri("http://a b") && !is_uri("1:2") && !is_uri("%zz") && !is_uri(":x"));
    }
}
