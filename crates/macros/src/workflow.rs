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
