//! Values in messages.

use travertine_lang::feel::FeelValue;

/// The value in a few characters.
pub(crate) fn short(value: &FeelValue) -> String {
    const CHARS_MAX: usize = 40;
    // Printing a value costs what it is long, so only what is short by nature is printed.
    let text = match value {
        FeelValue::List(_) | FeelValue::Context(_) | FeelValue::Function(_) => {
            return value.kind().to_owned();
        }
        FeelValue::String(text) => format!("\"{text}\""),
        other => other.to_string(),
    };
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
