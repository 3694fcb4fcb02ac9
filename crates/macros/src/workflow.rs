//! `#[workflow]`: what is written in place of the function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{LitInt, Result, ext::IdentExt, meta::ParseNestedMeta};

use crate::{
    function::{Function, Kind, Parts},
    options,
};

#[derive(Default)]
struct Options {
    name: Option<String>,
    version: Option<u32>,
    path: Option<syn::Path>,
}

impl Options {
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            options::once(&mut self.name, meta, options::name)
        } else if meta.path.is_ident("version") {
            options::once(&mut self.version, meta, version)
        } else if meta.path.is_ident("crate") {
            options::once(&mut self.path, meta, options::path)
        } else {
            Err(options::unknown(meta, "`name`, `version` and `crate`"))
        }
    }
}

fn version(meta: &ParseNestedMeta<'_>) -> Result<u32> {
    let literal: LitInt = meta.value()?.parse()?;
    match literal.base10_parse()? {
        0 => Err(syn::Error::new(literal.span(), "versions are counted from 1")),
        version => Ok(version),
    }
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut read = Options::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    syn::parse::Parser::parse2(parser, options)?;
    let Options { name, version, path } = read;
    let function = Function::read(Kind::Workflow, item)?;
    let name = name.unwrap_or_else(|| function.ident.unraw().to_string());
    let version = version.unwrap_or(1);
    Ok(function.described(&Parts {
        travertine: options::travertine(path),
        name,
        slice: format_ident!("WORKFLOWS"),
        definition: format_ident!("WorkflowDefinition"),
        fields: quote!(version: #version),
        call: format_ident!("Workflow"),
        options: quote!(#version),
    }))
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::expand;

    #[test]
    fn attributes_go_to_the_description_and_to_the_code() {
        let written = expand(
            quote!(),
            quote! {
                #[doc = "Takes an order."]
                #[cfg(feature = "shop")]
                #[expect(clippy::unwrap_used, reason = "why")]
                #[traced]
                pub(crate) async fn order(cx: Context, mut n: u64) -> Flow<u64> { body }
            },
        );
        let written = written.expect("it is right").to_string();
        let (description, code) = written.split_once("const _").expect("the code stands inside");
        let expected = quote! {
            #[allow(dead_code)]
            #[doc = "Takes an order."]
            #[cfg(feature = "shop")]
            #[expect(clippy::unwrap_used, reason = "why")]
            pub(crate) fn order(n: u64) -> ::travertine::Workflow<u64>
        };
        assert_eq!(description.trim_end_matches(['{', ' ']), expected.to_string());
        let expected = quote!(
            async fn __travertine_body(cx: Context, mut n: u64) -> Flow<u64> {
                body
            }
        );
        assert!(code.contains(&quote!(#[traced]).to_string()), "{code}");
        assert!(code.contains(&expected.to_string()), "{code}");
    }
}
