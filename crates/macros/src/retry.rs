//! `retry = exponential("100ms", 2.0, max = 5)`, `fixed("1s", max = 3)`, `never`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{
    Error, Lit, LitInt, LitStr, Result, Token, parenthesized,
    parse::{Parse, ParseStream},
    token::Paren,
};

use crate::duration;

/// How often, and after which pauses, an activity is tried.
#[derive(Debug, PartialEq)]
pub(crate) enum Retry {
    Never,
    Fixed { delay_ms: u64, attempts: u32 },
    Exponential { initial_ms: u64, factor: f64, delay_max_ms: Option<u64>, attempts: u32 },
}

const FIXED: &str = "fixed(\"1s\", max = 3)";
const EXPONENTIAL: &str = "exponential(\"100ms\", 2.0, max = 5)";

impl Parse for Retry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word: Ident = input.parse().map_err(|it| no_such(it.span()))?;
        match word.to_string().as_str() {
            "never" if input.peek(Paren) => {
                Err(input.error("nothing follows `never`: write `retry = never`"))
            }
            "never" => Ok(Self::Never),
            "fixed" => within(input, &word, FIXED, |content| {
                let delay_ms = length(content, FIXED)?;
                let Limits { attempts, delay_max_ms: _ } = limits(content, &word, FIXED, false)?;
                Ok(Self::Fixed { delay_ms, attempts })
            }),
            "exponential" => within(input, &word, EXPONENTIAL, |content| {
                let initial_ms = length(content, EXPONENTIAL)?;
                let factor = factor(content)?;
                let Limits { attempts, delay_max_ms } = limits(content, &word, EXPONENTIAL, true)?;
                Ok(Self::Exponential { initial_ms, factor, delay_max_ms, attempts })
            }),
            _ => Err(no_such(word.span())),
        }
    }
}

impl Retry {
    /// As an expression.
    pub(crate) fn written(&self, travertine: &TokenStream) -> TokenStream {
        let (attempts, initial_ms, factor, delay_max_ms) = match *self {
            Self::Never => return quote!(#travertine::__macros::Retry::never()),
            Self::Fixed { delay_ms, attempts } => (attempts, delay_ms, 1.0, Some(delay_ms)),
            Self::Exponential { initial_ms, factor, delay_max_ms, attempts } => {
                (attempts, initial_ms, factor, delay_max_ms)
            }
        };
        let longest = delay_max_ms.map_or_else(
            || quote!(#travertine::__macros::Retry::DEFAULT.max_delay),
            duration::written,
        );
        let initial = duration::written(initial_ms);
        quote! {
            #travertine::__macros::Retry {
                attempts: #attempts,
                initial: #initial,
                factor: #factor,
                max_delay: #longest,
            }
        }
    }
}

fn no_such(span: Span) -> Error {
    Error::new(span, format!("there is no such retry: write `{EXPONENTIAL}`, `{FIXED}` or `never`"))
}

fn within<T>(
    input: ParseStream<'_>,
    word: &Ident,
    form: &str,
    read: impl FnOnce(ParseStream<'_>) -> Result<T>,
) -> Result<T> {
    if !input.peek(Paren) {
        return Err(Error::new(word.span(), format!("say how, as in `{form}`")));
    }
    let content;
    parenthesized!(content in input);
    read(&content)
}

fn length(content: ParseStream<'_>, form: &str) -> Result<u64> {
    let literal: LitStr = content.parse().map_err(|it| {
        Error::new(it.span(), format!("the first pause comes first, as in `{form}`"))
    })?;
    duration::milliseconds(&literal)
}

fn factor(content: ParseStream<'_>) -> Result<f64> {
    let wrong = |span| {
        Error::new(
            span,
            format!(
                "after the first pause comes what each later one grows by, 1.0 or more, as in `{EXPONENTIAL}`"
            ),
        )
    };
    content.parse::<Token![,]>().map_err(|it| wrong(it.span()))?;
    let literal: Lit = content.parse().map_err(|it| wrong(it.span()))?;
    let factor: f64 = match &literal {
        Lit::Float(it) => it.base10_parse()?,
        Lit::Int(it) => it.base10_parse()?,
        _ => return Err(wrong(literal.span())),
    };
    if factor.is_finite() && factor >= 1.0 { Ok(factor) } else { Err(wrong(literal.span())) }
}

struct Limits {
    attempts: u32,
    delay_max_ms: Option<u64>,
}

fn limits(content: ParseStream<'_>, word: &Ident, form: &str, grows: bool) -> Result<Limits> {
    let (mut attempts, mut delay_max_ms) = (None, None);
    let twice = |option: &Ident| Error::new(option.span(), format!("`{option}` is given twice"));
    while !content.is_empty() {
        content.parse::<Token![,]>()?;
        if content.is_empty() {
            break;
        }
        let option: Ident = content.parse().map_err(|it| {
            Error::new(it.span(), format!("an option is expected here, as in `{form}`"))
        })?;
        content.parse::<Token![=]>()?;
        match option.to_string().as_str() {
            "max" => {
                let literal: LitInt = content.parse()?;
                let max: u32 = literal.base10_parse()?;
                if max == 0 {
                    let problem = "at least one attempt is made: `max` counts the first one too";
                    return Err(Error::new(literal.span(), problem));
                }
                if attempts.replace(max).is_some() {
                    return Err(twice(&option));
                }
            }
            "max_delay" if grows => {
                if delay_max_ms.replace(duration::milliseconds(&content.parse()?)?).is_some() {
                    return Err(twice(&option));
                }
            }
            _ => {
                let there_are = if grows { "`max` and `max_delay`" } else { "`max`" };
                let problem = format!("`{word}` has no option `{option}`: there are {there_are}");
                return Err(Error::new(option.span(), problem));
            }
        }
    }
    let Some(attempts) = attempts else {
        let problem = format!("say how often it is tried at most, as in `{form}`");
        return Err(Error::new(word.span(), problem));
    };
    Ok(Limits { attempts, delay_max_ms })
}

#[cfg(test)]
mod tests {
    use super::Retry;

    #[test]
    fn retries_are_read() {
        let read = |text| syn::parse_str::<Retry>(text).expect(text);
        assert_eq!(read("never"), Retry::Never);
        assert_eq!(read("fixed(\"1s\", max = 3)"), Retry::Fixed { delay_ms: 1000, attempts: 3 });
        assert_eq!(
            read("exponential(\"100ms\", 2.5, max = 5,)"),
            Retry::Exponential { initial_ms: 100, factor: 2.5, delay_max_ms: None, attempts: 5 }
        );
        assert_eq!(
            read("exponential(\"100ms\", 2, max_delay = \"1m\", max = 5)"),
            Retry::Exponential {
                initial_ms: 100,
                factor: 2.0,
                delay_max_ms: Some(60_000),
                attempts: 5
            }
        );
    }

    #[test]
    fn a_retry_that_cannot_be_meant_says_why() {
        for (text, expected) in [
            ("sometimes", "no such retry"),
            ("3", "no such retry"),
            ("never()", "nothing follows `never`"),
            ("fixed", "say how"),
            ("fixed()", "the first pause comes first"),
            ("fixed(max = 3)", "the first pause comes first"),
            ("fixed(\"1s\")", "say how often"),
            ("fixed(\"1s\", max = 0)", "at least one attempt"),
            ("fixed(\"1s\", max = 3, max = 4)", "`max` is given twice"),
            ("fixed(\"1s\", max = 3, max_delay = \"1m\")", "`fixed` has no option `max_delay`"),
            ("fixed(\"1\", max = 3)", "`1` has no unit"),
            ("exponential(\"1s\", max = 3)", "what each later one grows by"),
            ("exponential(\"1s\", 0.5, max = 3)", "1.0 or more"),
            ("exponential(\"1s\", \"2\", max = 3)", "what each later one grows by"),
            ("exponential(\"1s\", 2.0)", "say how often"),
            ("exponential(\"1s\", 2.0, 5)", "an option is expected"),
            ("exponential(\"1s\", 2.0, most = 5)", "`exponential` has no option `most`"),
        ] {
            let problem = syn::parse_str::<Retry>(text).expect_err(text).to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
