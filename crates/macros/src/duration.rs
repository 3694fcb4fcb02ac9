//! Time spans as people write them, checked when the program is compiled: `"100ms"`, `"2s"`, `"7d"`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// The milliseconds of a time span.
pub(crate) fn milliseconds(literal: &LitStr) -> Result<u64> {
    read(&literal.value()).map_err(|problem| Error::new(literal.span(), problem))
}

fn read(text: &str) -> std::result::Result<u64, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("`{text}` is no time span: {FORM}"));
    }
    let size: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(format!("the time span `{text}` has no unit: {FORM}")),
        _ => return Err(format!("`{unit}` is no unit of time: {FORM}")),
    };
    let total = number.parse::<u64>().ok().and_then(|number| number.checked_mul(size));
    match total.filter(|total| i64::try_from(*total).is_ok()) {
        Some(0) => Err(format!("`{text}` is no time at all: write at least \"1ms\"")),
        Some(total) => Ok(total),
        None => Err(format!("the time span `{text}` is too long to be counted in milliseconds")),
    }
}

/// A duration as an expression.
pub(crate) fn written(ms: u64) -> TokenStream {
    quote!(::core::time::Duration::from_millis(#ms))
}

/// A duration that may be missing, as an expression.
pub(crate) fn optional(ms: Option<u64>) -> TokenStream {
    ms.map(written).map_or_else(
        || quote!(::core::option::Option::None),
        |written| quote!(::core::option::Option::Some(#written)),
    )
}

const FORM: &str =
    "write a whole number with its unit, as in \"100ms\", \"2s\", \"5m\", \"1h\" or \"7d\"";

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn time_spans_are_read_with_their_unit() {
        for (text, expected) in [
            ("1ms", 1),
            ("100ms", 100),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000),
            ("9223372036854775807ms", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_span_says_why() {
        for (text, expected) in [
            ("", "`` is no time span"),
            ("s", "`s` is no time span"),
            ("-1s", "`-1s` is no time span"),
            ("PT1H", "`PT1H` is no time span"),
            ("10", "`10` has no unit"),
            ("1.5s", "`.5s` is no unit"),
            ("1 s", "` s` is no unit"),
            ("1min", "`min` is no unit"),
            ("1h30m", "`h30m` is no unit"),
            ("1S", "`S` is no unit"),
            ("0s", "no time at all"),
            ("9223372036854775808ms", "too long"),
            ("18446744073709551616ms", "too long"),
            ("106751991168d", "too long"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
