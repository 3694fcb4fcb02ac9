//! `#[activity]`: what is written in place of the function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Result, ext::IdentExt, meta::ParseNestedMeta};

use crate::{
    duration,
    function::{Function, Kind, Parts},
    options,
    retry::Retry,
};

#[derive(Default)]
struct Options {
    name: Option<String>,
    retry: Option<Retry>,
    timeout_ms: Option<u64>,
    deadline_ms: Option<u64>,
    heartbeat_ms: Option<u64>,
    limit: Option<String>,
    path: Option<syn::Path>,
}

impl Options {
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            options::once(&mut self.name, meta, options::name)
        } else if meta.path.is_ident("retry") {
            options::once(&mut self.retry, meta, |meta| meta.value()?.parse())
        } else if meta.path.is_ident("timeout") {
            options::once(&mut self.timeout_ms, meta, options::milliseconds)
        } else if meta.path.is_ident("deadline") {
            options::once(&mut self.deadline_ms, meta, options::milliseconds)
        } else if meta.path.is_ident("heartbeat") {
            options::once(&mut self.heartbeat_ms, meta, options::milliseconds)
        } else if meta.path.is_ident("limit") {
            options::once(&mut self.limit, meta, options::name)
        } else if meta.path.is_ident("crate") {
            options::once(&mut self.path, meta, options::path)
        } else {
            let there_are =
                "`name`, `retry`, `timeout`, `deadline`, `heartbeat`, `limit` and `crate`";
            Err(options::unknown(meta, there_are))
        }
    }
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut read = Options::default();
    let parser = syn::meta::parser(|meta| read.read(&meta));
    syn::parse::Parser::parse2(parser, options)?;
    let Options { name, retry, timeout_ms, deadline_ms, heartbeat_ms, limit, path } = read;
    let function = Function::read(Kind::Activity, item)?;
    let name = name.unwrap_or_else(|| function.ident.unraw().to_string());
    let travertine = options::travertine(path);
    let [timeout, deadline, heartbeat] =
        [timeout_ms, deadline_ms, heartbeat_ms].map(duration::optional);
    let retry = retry.map_or_else(
        || quote!(#travertine::__macros::Retry::DEFAULT),
        |it| it.written(&travertine),
    );
    let limit = limit.map_or_else(
        || quote!(::core::option::Option::None),
        |it| quote!(::core::option::Option::Some(#it)),
    );
    let options = quote! {
        #travertine::__macros::ActivityOptions {
            retry: #retry,
            timeout: #timeout,
            deadline: #deadline,
            heartbeat: #heartbeat,
            limit: #limit,
        }
    };
    Ok(function.described(&Parts {
        travertine,
        name,
        slice: format_ident!("ACTIVITIES"),
        definition: format_ident!("ActivityDefinition"),
        fields: quote!(options: #options),
        call: format_ident!("Activity"),
        options,
    }))
}
