//! What stands in the brackets of an attribute: `name = "order", version = 2`. Each option once, and only those there are.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Path, Result, meta::ParseNestedMeta};

/// Takes the value of an option, unless it was given before.
pub(crate) fn once<T>(
    place: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    read: impl FnOnce(&ParseNestedMeta<'_>) -> Result<T>,
) -> Result<()> {
    if place.is_some() {
        return Err(meta.error(format!("`{}` is given twice", name_of(meta))));
    }
    *place = Some(read(meta)?);
    Ok(())
}

/// No such option, but `there_are`.
pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, there_are: &str) -> Error {
    meta.error(format!("there is no option `{}`: there are {there_are}", name_of(meta)))
}

fn name_of(meta: &ParseNestedMeta<'_>) -> String {
    let path = &meta.path;
    quote!(#path).to_string().replace(' ', "")
}

/// The name under which something is stored. It goes into keys such as `pack[2]/activity charge#2`, so it has none
/// of their signs.
pub(crate) fn name(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let literal: LitStr = meta.value()?.parse()?;
    let name = literal.value();
    if name.is_empty() {
        return Err(Error::new(
            literal.span(),
            "the name is empty: give one, or leave the option out",
        ));
    }
    if let Some(sign) = name.chars().find(|it| !it.is_alphanumeric() && !".-_:".contains(*it)) {
        return Err(Error::new(
            literal.span(),
            format!(
                "{sign:?} cannot be in a name: it is made of letters, digits, `.`, `-`, `_` and `:`"
            ),
        ));
    }
    Ok(name)
}

/// A time span in milliseconds.
pub(crate) fn milliseconds(meta: &ParseNestedMeta<'_>) -> Result<u64> {
    crate::duration::milliseconds(&meta.value()?.parse()?)
}

/// Where the crate `travertine` is.
pub(crate) fn path(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    meta.value()?.call(Path::parse_mod_style)
}

pub(crate) fn travertine(path: Option<Path>) -> TokenStream {
    path.map_or_else(|| quote!(::travertine), |path| quote!(#path))
}
