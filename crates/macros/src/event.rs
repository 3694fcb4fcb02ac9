//! `#[derive(Event)]`: a type that workflows wait for.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{DeriveInput, Error, LitStr, Path, Result, ext::IdentExt, meta::ParseNestedMeta};

use crate::{duration, options};

#[derive(Default)]
struct Options {
    name: Option<String>,
    consume: Option<TokenStream>,
    delivery: Option<TokenStream>,
    expire_after_ms: Option<u64>,
    path: Option<Path>,
}

pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = syn::parse2(item)?;
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &item.generics.params,
            "an event has no generic parameters or lifetimes: it is sent under one name, with one form; \
             write a type for each",
        ));
    }
    let mut options = Options::default();
    for attribute in item.attrs.iter().filter(|it| it.path().is_ident("event")) {
        attribute.parse_nested_meta(|meta| options.read(&meta))?;
    }
    let Options { name, consume, delivery, expire_after_ms, path } = options;
    let ident = &item.ident;
    let name = name.unwrap_or_else(|| kebab(&ident.unraw().to_string()));
    let travertine = options::travertine(path);
    let default = quote!(#travertine::__macros::EventConfig::DEFAULT);
    let consume = consume
        .map_or_else(|| quote!(#default.consume), |it| quote!(#travertine::__macros::Consume::#it));
    let delivery = delivery.map_or_else(
        || quote!(#default.delivery),
        |it| quote!(#travertine::__macros::Delivery::#it),
    );
    let expire_after = duration::optional(expire_after_ms);
    Ok(quote! {
        impl #travertine::Event for #ident {
            const NAME: &'static str = #name;
            const CONFIG: #travertine::__macros::EventConfig = #travertine::__macros::EventConfig {
                consume: #consume,
                delivery: #delivery,
                expire_after: #expire_after,
            };
        }
    })
}

impl Options {
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            options::once(&mut self.name, meta, options::name)
        } else if meta.path.is_ident("consume") {
            options::once(&mut self.consume, meta, |meta| {
                choose(meta, &[("one", "One"), ("all", "All")])
            })
        } else if meta.path.is_ident("delivery") {
            options::once(&mut self.delivery, meta, |meta| {
                choose(
                    meta,
                    &[("after_wait", "AfterWait"), ("after_create", "AfterCreate"), ("all", "All")],
                )
            })
        } else if meta.path.is_ident("expire_after") {
            options::once(&mut self.expire_after_ms, meta, options::milliseconds)
        } else if meta.path.is_ident("crate") {
            options::once(&mut self.path, meta, options::path)
        } else {
            Err(options::unknown(meta, "`name`, `consume`, `delivery`, `expire_after` and `crate`"))
        }
    }
}

/// The variant that one of some words stands for.
fn choose(meta: &ParseNestedMeta<'_>, among: &[(&str, &str)]) -> Result<TokenStream> {
    let literal: LitStr = meta.value()?.parse()?;
    let Some((_, variant)) = among.iter().find(|(word, _)| *word == literal.value()) else {
        let words = among.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>();
        let (last, others) = words.split_last().expect("there is something to choose from");
        let problem = format!("write {} or {last}", others.join(", "));
        return Err(Error::new(literal.span(), problem));
    };
    let variant = Ident::new(variant, literal.span());
    Ok(quote!(#variant))
}

/// `CancelOrder` as `cancel-order`, `HTTPRequest` as `http-request`.
fn kebab(name: &str) -> String {
    let signs: Vec<char> = name.chars().collect();
    let mut kebab = String::new();
    for (at, sign) in signs.iter().enumerate() {
        let before = at.checked_sub(1).map(|it| signs[it]);
        let ends_a_word = |before: char| {
            !before.is_uppercase() || signs.get(at + 1).is_some_and(|it| it.is_lowercase())
        };
        let begins_a_word = *sign == '_' || sign.is_uppercase() && before.is_some_and(ends_a_word);
        if begins_a_word && !kebab.is_empty() && !kebab.ends_with('-') {
            kebab.push('-');
        }
        if *sign != '_' {
            kebab.extend(sign.to_lowercase());
        }
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::kebab;

    #[test]
    fn names_of_types_become_kebab_case() {
        for (name, expected) in [
            ("Paid", "paid"),
            ("CancelOrder", "cancel-order"),
            ("HTTPRequest", "http-request"),
            ("RequestHTTP", "request-http"),
            ("Order2Paid", "order2-paid"),
            ("Snake_Case", "snake-case"),
            ("_Hidden", "hidden"),
            ("ÄnderungDa", "änderung-da"),
            ("X", "x"),
        ] {
            assert_eq!(kebab(name), expected, "{name}");
        }
    }
}
